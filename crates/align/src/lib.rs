//! An empty crate: only its dependencies matter.
//!
//! Cargo compiles a crate with the features that the selected packages ask for. So `cargo test -p flashloom-ssd` alone
//! would select fewer features than `cargo test --workspace`, and compile the shared dependencies again. The tests of
//! each crate depend on this crate, and so do `make demo` and the package for Python that is tested: all of them select
//! the same features. `.ci/features` checks that. Without this crate, the commands on single crates would compile 170 units
//! beside those of the workspace, 94 of them our own, of which the drives take most of the time.
//!
//! Two known ways do without the list and were not taken: Cargo's `feature-unification` is not stable, and `cargo hakari` makes
//! the crate a dependency of all that is published and leaves our own features out.
