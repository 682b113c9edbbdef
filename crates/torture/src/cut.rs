//! The moments at which the power is cut.

use std::fmt;

use base::engine::Rng;
use base::units::Time;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::journal::{Journal, JournalEvent, RequestKind};

/// A moment of a recorded run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Cut {
    /// The number of the journal's records before it.
    pub after: usize,
    /// The simulated time, in picoseconds.
    #[serde(with = "picoseconds")]
    #[schemars(with = "u64")]
    pub at: Time,
    /// The kind of moment.
    pub kind: CutKind,
}

/// The kind of a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CutKind {
    /// One picosecond before a promise: the flush or the write with forced unit access is all but over.
    BeforePromise,
    /// Right after a promise, before anything else happens.
    AfterPromise,
    /// Another moment while the drive works.
    Random,
}

impl CutKind {
    /// All kinds.
    pub const ALL: [Self; 3] = [Self::BeforePromise, Self::AfterPromise, Self::Random];
}

impl fmt::Display for CutKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BeforePromise => "before a promise",
            Self::AfterPromise => "after a promise",
            Self::Random => "at random",
        })
    }
}

mod picoseconds {
    use base::units::Time;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<S: Serializer>(at: &Time, to: S) -> Result<S::Ok, S::Error> {
        at.as_ps().serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Time, D::Error> {
        u64::deserialize(from).map(Time::from_ps)
    }
}

/// The moments at which a laboratory cuts the power.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PointsSpec {
    /// Cut right before and right after every promise: the answer of a flush, and of a write with forced unit access.
    pub promises: bool,
    /// Cut at this many random moments while the drive works.
    pub random: u32,
    /// Cut at no more moments than this, drawn from all of them; 0 for all.
    pub most: u32,
}

impl Default for PointsSpec {
    fn default() -> Self {
        Self { promises: true, random: 100, most: 0 }
    }
}

/// Draws `most` moments at or between events, each equally likely.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    rng: Rng,
    most: usize,
    seen: u64,
    drawn: Vec<Time>,
}

impl Sample {
    pub(crate) fn new(seed: u64, most: u32) -> Self {
        Self { rng: Rng::stream(seed, "torture.moments"), most: most as usize, seen: 0, drawn: Vec::new() }
    }

    /// Adds the time of an event, and that of the next event. Half of the moments are at an event, half between two
    /// events.
    pub(crate) fn see(&mut self, at: Time, next: Option<Time>) {
        if self.most == 0 {
            return;
        }
        self.seen += 1;
        // Reservoir sampling: the first moments fill the places; later moments replace one with the probability of
        // being drawn at all.
        let place = if self.drawn.len() < self.most { self.drawn.len() } else { self.rng.below(self.seen) as usize };
        if place >= self.most {
            return;
        }
        let between = next.filter(|next| *next > at && self.rng.chance(0.5));
        let moment = between.map_or(at, |next| at + (next - at) / 2);
        match self.drawn.get_mut(place) {
            Some(drawn) => *drawn = moment,
            None => self.drawn.push(moment),
        }
    }
}

/// The cuts of a run in the order of time.
pub(crate) fn cuts(journal: &Journal, points: &PointsSpec, sample: Sample) -> Vec<Cut> {
    let Sample { drawn, rng, .. } = sample;
    let until = |at: Time| journal.events.partition_point(|(other, _)| *other <= at);
    let mut all: Vec<Cut> = drawn.into_iter().map(|at| Cut { after: until(at), at, kind: CutKind::Random }).collect();
    if points.promises {
        for (place, (at, event)) in journal.events.iter().enumerate() {
            let JournalEvent::Answered(of) = event else { continue };
            let asked = &journal.requests[*of as usize];
            let promises = asked.kind == RequestKind::Flush || asked.kind.is_fua();
            if !promises || asked.answered.is_none_or(|answered| !answered.good) {
                continue;
            }
            // A preconditioned drive begins with a recovery: there is nothing to cut before the first request.
            let before = at.as_ps().checked_sub(1).map(Time::from_ps);
            if let Some(before) = before.filter(|before| *before >= journal.events[0].0) {
                all.push(Cut { after: until(before), at: before, kind: CutKind::BeforePromise });
            }
            all.push(Cut { after: place + 1, at: *at, kind: CutKind::AfterPromise });
        }
    }
    // Two kinds may have the same moment. The promise then names the cut.
    all.sort_by_key(|cut| (cut.at, cut.after, cut.kind));
    all.dedup_by_key(|cut| (cut.at, cut.after));
    thin(&mut all, points.most as usize, rng);
    all
}

/// Keeps `most` of the cuts, drawn with equal probability; all if `most` is 0.
fn thin(all: &mut Vec<Cut>, most: usize, mut rng: Rng) {
    if most == 0 || all.len() <= most {
        return;
    }
    let (mut left, mut wanted) = (all.len() as u64, most as u64);
    all.retain(|_| {
        let keep = rng.below(left) < wanted;
        left -= 1;
        wanted -= u64::from(keep);
        keep
    });
}
