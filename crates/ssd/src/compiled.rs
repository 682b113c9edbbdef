//! The drives that nearly everybody drives, compiled here: without a payload and with stamps, unobserved.
//!
//! A drive is generic, so each crate, test program and binary that makes one would compile it for itself, 20 seconds
//! each. Where generics are shared between crates (`opt-level` 1 and below) they take it from here. Where they are not
//! this would only be compiled besides, so optimised builds leave it out.

use base::units::Time;
use flash::nand::{Sector, Stamp};

use crate::{Completion, Drive, Precondition, Request, Resolved, Ssd};

/// A life in which everything is used that a drive can do.
fn life<S: Sector>(resolved: &Resolved, seed: u64, requests: Vec<Request<S>>) -> (Ssd<S>, Vec<Completion<S>>) {
    let mut drive = Ssd::<S>::new(resolved, seed).noting(None);
    drive.precondition(Precondition::Fill, &mut |_, _| {});
    let mut completions = Vec::new();
    for request in requests {
        drive.submit(drive.now(), request);
        drive.advance(drive.next_event().unwrap_or(Time::MAX), &mut completions);
    }
    drive.clone().cut_power();
    completions.append(&mut drive.power_off());
    drive.power_on(drive.now());
    drive.check();
    drive.reset_counters();
    (drive, completions)
}

/// A life without a payload.
#[doc(hidden)]
#[must_use]
pub fn bare_life(resolved: &Resolved, seed: u64, requests: Vec<Request<()>>) -> (Ssd<()>, Vec<Completion<()>>) {
    life(resolved, seed, requests)
}

/// A life with stamps.
#[doc(hidden)]
#[must_use]
pub fn stamped_life(
    resolved: &Resolved,
    seed: u64,
    requests: Vec<Request<Stamp>>,
) -> (Ssd<Stamp>, Vec<Completion<Stamp>>) {
    life(resolved, seed, requests)
}
