//! Detects overlapping requests, which the device serves in the order of their submission.
//!
//! Extents are compared in whole mapping units, because two writes to different sectors of one unit both rewrite it.
//! A filter of counters finds in constant time that no request overlaps. Only if it cannot rule this out, the
//! requests under way are compared one by one.

use base::io::IoKind;

/// Mapping units of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) first: u32,
    /// One past the last; equal to `first` for a flush.
    pub(crate) end: u32,
    pub(crate) changes: bool,
}

impl Extent {
    pub(crate) const fn new(kind: IoKind, first: u32, end: u32) -> Self {
        Self { first, end, changes: !matches!(kind, IoKind::Read) }
    }

    /// True if the order of the two matters.
    #[inline]
    pub(crate) const fn conflicts(&self, other: &Self) -> bool {
        self.first < other.end && other.first < self.end && (self.changes || other.changes)
    }

    /// Buckets of the filter that the extent touches; `None` if the extent is too wide.
    #[inline]
    fn buckets(&self) -> Option<impl Iterator<Item = usize> + use<>> {
        let (first, end) = (self.first / REGION, self.end.div_ceil(REGION));
        (end - first <= WIDE)
            .then(|| (first..end).map(|region| (region.wrapping_mul(0x9E37_79B1) >> (32 - BUCKET_BITS)) as usize))
    }
}

/// Mapping units that share a bucket.
const REGION: u32 = 16;
/// Extents of more regions than this are counted apart.
const WIDE: u32 = 512;
const BUCKETS: usize = 1 << BUCKET_BITS;
/// Far more buckets than requests under way, so that the filter is rarely inconclusive.
const BUCKET_BITS: u32 = 15;

/// Counts requests under way by bucket.
#[derive(Clone, Debug)]
pub(crate) struct Filter {
    /// For each bucket: requests that only read, and requests that change data.
    counts: Vec<[u16; 2]>,
    wide: [u32; 2],
}

impl Filter {
    pub(crate) fn new() -> Self {
        Self { counts: vec![[0; 2]; BUCKETS], wide: [0; 2] }
    }

    /// False if no request under way conflicts with the extent.
    #[inline]
    pub(crate) fn may_conflict(&self, extent: &Extent) -> bool {
        let [readers, writers] = self.wide;
        if writers > 0 || (extent.changes && readers > 0) {
            return true;
        }
        match extent.buckets() {
            None => true,
            Some(mut buckets) => buckets.any(|bucket| {
                let [readers, writers] = self.counts[bucket];
                writers > 0 || (extent.changes && readers > 0)
            }),
        }
    }

    #[inline]
    pub(crate) fn add(&mut self, extent: &Extent) {
        match extent.buckets() {
            None => self.wide[usize::from(extent.changes)] += 1,
            Some(buckets) => buckets.for_each(|bucket| self.counts[bucket][usize::from(extent.changes)] += 1),
        }
    }

    #[inline]
    pub(crate) fn remove(&mut self, extent: &Extent) {
        match extent.buckets() {
            None => self.wide[usize::from(extent.changes)] -= 1,
            Some(buckets) => buckets.for_each(|bucket| self.counts[bucket][usize::from(extent.changes)] -= 1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn extent() -> impl Strategy<Value = Extent> {
        (0u32..100_000, prop_oneof![0u32..40, 8000u32..9000], any::<bool>())
            .prop_map(|(first, length, changes)| Extent { first, end: first + length, changes })
    }

    proptest! {
        #[test]
        fn the_filter_never_misses_a_conflict(under_way in prop::collection::vec(extent(), 0..20), new in extent()) {
            let mut filter = Filter::new();
            under_way.iter().for_each(|extent| filter.add(extent));
            if under_way.iter().any(|extent| extent.conflicts(&new)) {
                prop_assert!(filter.may_conflict(&new));
            }
            under_way.iter().for_each(|extent| filter.remove(extent));
            prop_assert!(new.buckets().is_none() || !filter.may_conflict(&new), "an empty filter is empty");
        }
    }
}
