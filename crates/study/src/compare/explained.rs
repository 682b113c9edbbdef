//! The parts of the requests' time on each drive, over all its runs, if an observer attributed it.

use crate::summary::Summary;
use crate::watch::explain::{ALL, Band, KindBands};

/// The band of the slowest 1 %. Small runs have hardly any requests beyond p99.9.
pub const SLOWEST: &str = "beyond p99";

/// The parts for each kind of request over all runs of a drive, and for the slowest of them.
#[must_use]
pub fn explained(runs: &[Summary]) -> Vec<KindBands> {
    let all = || runs.iter().flat_map(|run| &run.explained);
    let mut kinds: Vec<&'static str> = Vec::new();
    for of in all() {
        if !kinds.contains(&of.kind) {
            kinds.push(of.kind);
        }
    }
    let of_kind = |kind: &'static str| {
        let bands = || all().filter(move |of| of.kind == kind).flat_map(|of| &of.bands);
        let slow = |band: &&Band| ["p99 to p99.9", "beyond p99.9"].contains(&band.band);
        let both = [
            Band::together(ALL, bands().filter(|band| band.band == ALL)),
            Band::together(SLOWEST, bands().filter(slow)),
        ];
        KindBands { kind, bands: both.into_iter().flatten().collect() }
    };
    kinds.into_iter().map(of_kind).collect()
}
