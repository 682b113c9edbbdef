//! Finds the requests of a list that conflict with a new one. A request is listed at each region that it touches, so it
//! is compared only with requests near it, or with all if it touches many regions.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroU32;

use super::Handle;

/// The number of units of a region.
const REGION: u64 = 128;
/// A request of more regions than this is listed apart.
const WIDE: u64 = 64;

/// The units that a request touches: sectors, or any others that are numbered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval {
    /// The first unit of the interval, which is half-open.
    pub first: u64,
    /// The first unit behind the interval.
    pub end: u64,
    /// True if the request changes data there.
    pub changes: bool,
}

impl Interval {
    /// The interval of a request that touches nothing.
    pub const NONE: Self = Self { first: 0, end: 0, changes: false };

    /// True if the interval has no units.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.first == self.end
    }

    /// True if the order of the two requests matters.
    const fn conflicts(&self, other: &Self) -> bool {
        self.first < other.end && other.first < self.end && (self.changes || other.changes)
    }

    const fn regions(&self) -> std::ops::Range<u64> {
        self.first / REGION..self.end.div_ceil(REGION)
    }

    const fn is_wide(&self) -> bool {
        let regions = self.regions();
        regions.end - regions.start > WIDE
    }
}

type IntervalRequest<T> = (Interval, Handle<T>);

/// The requests with units, each with its interval.
#[derive(Clone, Debug)]
pub(super) struct Conflicts<T> {
    regions: HashMap<u64, Vec<IntervalRequest<T>>>,
    wide: Vec<IntervalRequest<T>>,
    /// All requests, by the numbers of their handles; searched only for a wide interval.
    all: BTreeMap<NonZeroU32, IntervalRequest<T>>,
}

impl<T> Default for Conflicts<T> {
    fn default() -> Self {
        Self { regions: HashMap::new(), wide: Vec::new(), all: BTreeMap::new() }
    }
}

impl<T> Conflicts<T> {
    /// Lists a request. Returns the earlier requests that conflict with the new request, each once.
    pub(super) fn enter(&mut self, interval: Interval, request: Handle<T>) -> Vec<Handle<T>> {
        let conflicts = |(other, _): &&IntervalRequest<T>| other.conflicts(&interval);
        let mut before: Vec<Handle<T>> = Vec::new();
        if interval.is_wide() {
            before.extend(self.all.values().filter(conflicts).map(|(_, request)| *request));
            self.wide.push((interval, request));
        } else {
            before.extend(self.wide.iter().filter(conflicts).map(|(_, request)| *request));
            for region in interval.regions() {
                let listed = self.regions.entry(region).or_default();
                // A conflict is counted in the first region that both touch, so it is counted once.
                let counts =
                    |(other, _): &&IntervalRequest<T>| region == other.regions().start.max(interval.regions().start);
                before.extend(listed.iter().filter(conflicts).filter(counts).map(|(_, request)| *request));
                listed.push((interval, request));
            }
        }
        self.all.insert(request.number(), (interval, request));
        before
    }

    /// Removes a request that has ended.
    ///
    /// # Panics
    ///
    /// If the request is not listed.
    pub(super) fn leave(&mut self, interval: Interval, request: Handle<T>) {
        let remove = |list: &mut Vec<IntervalRequest<T>>| {
            let at = list.iter().position(|(_, other)| *other == request).expect("the request is listed");
            list.swap_remove(at);
        };
        self.all.remove(&request.number());
        if interval.is_wide() {
            return remove(&mut self.wide);
        }
        for region in interval.regions() {
            let listed = self.regions.get_mut(&region).expect("the request is listed there");
            remove(listed);
            if listed.is_empty() {
                self.regions.remove(&region);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::engine::{Rng, Slab};

    use super::*;

    #[test]
    fn exactly_the_earlier_requests_that_conflict_are_found() {
        for seed in 0..50 {
            let mut rng = Rng::stream(seed, "conflicts");
            let (mut conflicts, mut slab) = (Conflicts::default(), Slab::<u8>::default());
            let mut present: Vec<IntervalRequest<u8>> = Vec::new();
            for _ in 0..400 {
                let first = rng.below(1 << 15);
                let size = if rng.chance(0.1) { rng.below(1 << 14) } else { rng.below(200) };
                let interval = Interval { first, end: first + 1 + size, changes: rng.chance(0.5) };
                let handle = slab.insert(0);
                let mut expected: Vec<_> =
                    present.iter().filter(|(other, _)| other.conflicts(&interval)).map(|(_, other)| *other).collect();
                let mut found = conflicts.enter(interval, handle);
                expected.sort_by_key(|handle| handle.number());
                found.sort_by_key(|handle| handle.number());
                assert_eq!(found, expected, "seed {seed}");
                present.push((interval, handle));
                if rng.chance(0.45) {
                    let (interval, gone) = present.swap_remove(rng.below(present.len() as u64) as usize);
                    conflicts.leave(interval, gone);
                    slab.remove(gone);
                }
            }
            present.into_iter().for_each(|(interval, gone)| conflicts.leave(interval, gone));
            assert!(
                conflicts.regions.is_empty() && conflicts.wide.is_empty() && conflicts.all.is_empty(),
                "seed {seed}"
            );
        }
    }
}
