//! A victim policy of one's own, by its name in every command of `flashloom`.
//!
//! `cargo run --example own_victim -- run demo random-write-4k --set ftl.gc.victim='{policy="own",name="patient"}'`

use flashloom::ftl::{Candidate, RegisterError, register_victim_policy};

// ANCHOR: policy
/// Greedy, but a superblock that has just been closed is left alone: the host may still overwrite its data.
fn patient(block: &Candidate<'_>) -> f64 {
    if block.age() < 8 { 0.0 } else { f64::from(block.invalid()) }
}

/// Makes the policy known to this program. Change the version with the policy: it is in the key of each stored result.
pub fn register() -> Result<(), RegisterError> {
    register_victim_policy("patient", "1", patient)
}

/// All commands of `flashloom`.
pub fn main() -> std::process::ExitCode {
    match register() {
        Ok(()) => flashloom::command(std::env::args_os()).into(),
        Err(taken) => panic!("{taken}"),
    }
}
// ANCHOR_END: policy
