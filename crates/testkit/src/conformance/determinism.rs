//! Determinism: two drives with the same seed that are made, used, cut and used again in the same way have equal
//! counters, event hash included.

use ssd::{Counters, Drive};

use super::{Trial, Work, script};

pub(super) fn determinism(trial: &Trial<'_>) -> Work {
    let (first, work) = run(trial);
    let (second, _) = run(trial);
    assert_eq!(first.event_hash, second.event_hash, "the event hashes of two runs");
    assert_eq!(first, second, "the counters of two runs");
    work
}

fn run(trial: &Trial<'_>) -> (Counters, Work) {
    let mut host = trial.host();
    let script = script::random(trial.seed, trial.capacity(), trial.effort.requests);
    let (before, after) = script.split_at(script.len() / 2);
    script::play(&mut host, before);
    host.cut();
    script::play(&mut host, after);
    host.run_until_idle();
    (host.ssd().counters(), Work { cuts: 1, ..Work::of(&host) })
}
