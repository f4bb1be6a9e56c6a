//! A closed registry is not built as a struct literal.

use tenancy_tools::{Closed, ToolRegistry};

fn forge(other: ToolRegistry<Closed>) -> ToolRegistry<Closed> {
    ToolRegistry { ..other }
}

fn main() {
    let _ = forge;
}
