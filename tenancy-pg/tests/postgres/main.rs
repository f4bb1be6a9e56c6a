//! Against a real server: see each module. One binary, so that one server serves all of them.

mod attacks;
mod cancel;
mod common;
mod control;
mod executor;
mod inspection;
mod throwaway;
