//! An empty crate: only its dependencies matter.
//!
//! Cargo compiles a crate with the features that the selected packages ask for. So `cargo test -p flashloom-ssd` alone
//! would select fewer features than `cargo test --workspace`, and compile the shared dependencies again. The tests of
//! each crate depend on this crate, and so do `make demo` and the package for Python that is tested: all of them select
//! the same features. `.ci/features` checks that.
