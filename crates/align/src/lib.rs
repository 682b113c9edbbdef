//! Nothing: only what its manifest depends on matters.
//!
//! Cargo compiles an external crate with the features that the selected crates ask for. So `cargo test -p flashloom-ssd`
//! would select fewer than `cargo test --workspace`, and compile again what both use. Each crate's tests depend on this
//! one, so the selections are the same. `.ci/features` looks that they are.
