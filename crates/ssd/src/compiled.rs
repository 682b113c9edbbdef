//! The most common drive types, compiled in this crate: without a payload and with stamps, without an observer.
//!
//! A drive is generic, so each crate, test program and binary that creates one would compile it again, 20 seconds each.
//! With shared generics (`opt-level` 1 and below) they take it from this crate. Optimised builds do not share generics
//! and would compile it once more, so they leave this module out.

use base::units::Time;
use flash::nand::{Sector, Stamp};

use crate::{Completion, Drive, Precondition, Request, ResolvedDevice, Ssd};

/// Runs a drive through a life that uses every function of a drive, so that all of them are compiled here.
fn life<S: Sector>(resolved: &ResolvedDevice, seed: u64, requests: Vec<Request<S>>) -> (Ssd<S>, Vec<Completion<S>>) {
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

/// Runs a drive without a payload.
#[doc(hidden)]
#[must_use]
pub fn bare_life(resolved: &ResolvedDevice, seed: u64, requests: Vec<Request<()>>) -> (Ssd<()>, Vec<Completion<()>>) {
    life(resolved, seed, requests)
}

/// Runs a drive with stamps.
#[doc(hidden)]
#[must_use]
pub fn stamped_life(
    resolved: &ResolvedDevice,
    seed: u64,
    requests: Vec<Request<Stamp>>,
) -> (Ssd<Stamp>, Vec<Completion<Stamp>>) {
    life(resolved, seed, requests)
}
