//! The examples run and print what they should show.

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
fn a_drive_is_embedded_step_by_step() {
    embed::main().expect("it runs");
}

#[test]
fn an_ftl_of_ones_own_runs_in_the_device_and_loses_nothing() {
    own_ftl::main().expect("it runs");
}

#[test]
fn a_sweep_of_sessions_is_a_study() {
    own_study::main().expect("it runs");
}
