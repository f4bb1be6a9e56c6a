//! Nothing to build: the script is there because `links` wants one.

fn main() {}
