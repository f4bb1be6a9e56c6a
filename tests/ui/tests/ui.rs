//! Compiles each file of `fail` and compares the compiler's message with the one on file.

#[test]
fn what_must_not_compile_does_not() {
    trybuild::TestCases::new().compile_fail("fail/*.rs");
}
