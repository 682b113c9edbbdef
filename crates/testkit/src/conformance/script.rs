//! Scripts for the host of a check: a fixed list of requests, each with the events that pass before the next one.

use base::engine::Rng;
use base::io::{Io, IoKind};

use crate::{Host, requests};

#[derive(Clone, Copy, Debug)]
pub(super) struct Line {
    pub(super) io: Io,
    /// The number of events that pass before the next request.
    pub(super) events: u64,
}

/// Draws random requests to a drive of `capacity` sectors.
pub(super) fn random(seed: u64, capacity: u64, lines: u32) -> Vec<Line> {
    let mut rng = Rng::stream(seed, "conformance.script");
    (0..lines).map(|_| Line { io: requests::draw(&mut rng, capacity), events: rng.below(6) }).collect()
}

/// Draws random requests without discards, so that every written mapping unit is programmed or absorbed.
pub(super) fn without_discards(seed: u64, capacity: u64, lines: u32) -> Vec<Line> {
    let mut script = random(seed, capacity, lines);
    script.retain(|line| line.io.kind != IoKind::Discard);
    script
}

/// Submits the requests of a script and checks the tables of the FTL after every request.
pub(super) fn play(host: &mut Host, script: &[Line]) {
    for line in script {
        host.submit(line.io);
        host.steps(line.events);
        host.ssd().check();
    }
}
