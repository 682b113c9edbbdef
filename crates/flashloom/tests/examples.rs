//! The examples run and pass their own checks.

#[path = "../examples/embed.rs"]
#[allow(unreachable_pub)] // A program of its own elsewhere.
mod embed;
#[path = "../examples/own_ftl.rs"]
#[allow(unreachable_pub)]
mod own_ftl;
#[path = "../examples/own_study.rs"]
#[allow(unreachable_pub)]
mod own_study;

#[test]
fn the_example_embed_runs() {
    embed::main().expect("it runs");
}

#[test]
fn the_example_own_ftl_runs_and_loses_nothing() {
    own_ftl::main().expect("it runs");
}

#[test]
fn the_example_own_study_runs() {
    own_study::main().expect("it runs");
}
