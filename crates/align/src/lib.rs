//! An empty crate: only its dependencies matter.
//!
//! Cargo compiles an external crate with the features that the selected crates ask for. So `cargo test -p
//! flashloom-ssd` alone would select fewer features than `cargo test --workspace`, and compile the shared dependencies
//! again. Each crate's tests depend on this crate, so both select the same features. `.ci/features` checks that.
