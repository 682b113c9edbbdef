//! Detects overlapping requests, which the device serves in the order of their submission.
//!
//! Extents are compared in whole mapping units, because two writes to different sectors of one unit both rewrite it. A
//! hash table lists the requests under way by the regions of the address space that they touch, so a request is
//! compared only with those near it, however many are under way.
//!
//! Reads do not conflict with each other, so they are indexed lazily: the first write or discard indexes all active
//! reads; after a long run of reads only, indexing stops again.

use std::ops::Range;

use base::io::IoKind;
use base::prefetch::prefetch;
use base::steps;

/// The mapping units of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    pub(crate) first: u32,
    /// One past the last mapping unit; equal to `first` for a flush.
    pub(crate) end: u32,
    pub(crate) changes: bool,
    /// True for a write or an append to a zone. Such requests do not wait for each other: the extent of each goes from
    /// the write pointer to the end of the zone, so that all waiting requests of a zone wait for the same earlier
    /// requests.
    pub(crate) fills_zone: bool,
}

impl Extent {
    pub(crate) const fn new(kind: IoKind, first: u32, end: u32) -> Self {
        Self { first, end, changes: !matches!(kind, IoKind::Read), fills_zone: false }
    }

    /// True if the order of the two requests matters.
    #[inline]
    pub(crate) const fn conflicts(&self, other: &Self) -> bool {
        self.first < other.end
            && other.first < self.end
            && (self.changes || other.changes)
            && !(self.fills_zone && other.fills_zone)
    }

    /// True if the request changes the data of the extent.
    pub(crate) const fn changes(&self) -> bool {
        self.changes
    }
}

/// Mapping units of a region, as a power of two. On a drive with zones a region is at least as large as a zone, because
/// the extent of a write goes to the end of its zone.
const REGION: u32 = 4;
/// Extents of more regions than this are listed apart: a comparison with all requests then costs less than the request
/// itself.
const WIDE: u32 = 512;
/// The number of lists for each request that may be under way: enough for few regions to share a list.
const LISTS: u32 = 4;
/// The number of nodes for each request at first. More are added only if requests touch several regions.
const NODES: u32 = 2;
/// Reads are indexed until the number of reads begun since the last change reaches this many times the number of
/// requests under way.
const PATIENCE: usize = 4;
const NONE: u32 = u32::MAX;

/// A request in the list of a region.
#[derive(Clone, Copy, Debug)]
struct Node<T> {
    extent: Extent,
    /// The region; `NONE` in an unused node.
    region: u32,
    next: u32,
    request: T,
}

/// The index of the requests under way. A `T` identifies a request.
#[derive(Clone, Debug)]
pub(crate) struct Overlaps<T> {
    /// The first node of each list: one list for requests that only read, one for those that change data.
    lists: Vec<[u32; 2]>,
    nodes: Vec<Node<T>>,
    /// The first unused node.
    free: u32,
    wide: Vec<(Extent, T)>,
    /// The number of requests under way that change data.
    changing: u32,
    /// True if reads are indexed as they begin.
    lists_reads: bool,
    /// The number of reads that have begun since the last change ended, while reads are indexed.
    reads_alone: u32,
    /// Shift that turns a 32-bit hash into a list number.
    shift: u32,
    /// Mapping units of a region, as a power of two.
    region: u32,
}

impl<T: Copy + PartialEq> Overlaps<T> {
    /// Creates an empty index for at most `depth` requests at once. `zone` is the number of mapping units of a zone, if
    /// the drive has zones.
    pub(crate) fn new(depth: u32, zone: Option<u32>) -> Self {
        let lists = Self::lists(depth);
        let shift = 32 - lists.trailing_zeros();
        let nodes = Vec::with_capacity((NODES * depth) as usize);
        Self {
            lists: vec![[NONE; 2]; lists as usize],
            nodes,
            free: NONE,
            wide: Vec::new(),
            changing: 0,
            lists_reads: false,
            reads_alone: 0,
            shift,
            region: zone.map_or(0, |units| units.next_power_of_two().ilog2()).max(REGION),
        }
    }

    fn lists(depth: u32) -> u32 {
        depth.saturating_mul(LISTS).clamp(64, 1 << 30).next_power_of_two()
    }

    /// Bytes of the lists and their nodes for at most `depth` requests.
    pub(crate) fn memory(depth: u32) -> u64 {
        let nodes = u64::from(NODES * depth) * size_of::<Node<T>>() as u64;
        u64::from(Self::lists(depth)) * size_of::<[u32; 2]>() as u64 + nodes
    }

    pub(crate) fn clear(&mut self) {
        self.lists.fill([NONE; 2]);
        self.nodes.clear();
        self.wide.clear();
        self.free = NONE;
        (self.changing, self.lists_reads, self.reads_alone) = (0, false, 0);
    }

    #[inline]
    const fn regions(&self, extent: &Extent) -> Range<u32> {
        let is_within = extent.end & ((1 << self.region) - 1) != 0;
        extent.first >> self.region..(extent.end >> self.region) + is_within as u32
    }

    /// True if the extent has too many regions to be in their lists.
    #[inline]
    const fn is_wide(&self, extent: &Extent) -> bool {
        let Range { start, end } = self.regions(extent);
        end - start > WIDE
    }

    #[inline]
    const fn list(&self, region: u32) -> usize {
        (region.wrapping_mul(0x9E37_79B1) >> self.shift) as usize
    }

    /// Prefetches the lists of a mapping unit's region, in which a request will be looked up or entered.
    #[inline]
    pub(crate) fn prefetch(&self, unit: u32) {
        prefetch(self.lists.get(self.list(unit >> self.region)));
    }

    /// Prefetches the second node of these lists, which the removal of a request that changes this mapping unit will
    /// look at.
    #[inline]
    pub(crate) fn prefetch_change(&self, unit: u32) {
        prefetch(self.nodes.get(self.lists[self.list(unit >> self.region)][1] as usize));
    }

    /// Calls `found` for every request that conflicts with an extent.
    #[inline]
    pub(crate) fn conflicting(&self, extent: &Extent, mut found: impl FnMut(T)) {
        for (other, request) in &self.wide {
            steps::count();
            if other.conflicts(extent) {
                found(*request);
            }
        }
        if self.is_wide(extent) {
            return self.conflicting_with_wide(extent, found);
        }
        for region in self.regions(extent) {
            let lists = self.lists[self.list(region)];
            // Two reads do not conflict, so a read skips the lists of reads.
            for first in &lists[usize::from(!extent.changes)..] {
                let mut at = *first;
                while at != NONE {
                    steps::count();
                    let node = &self.nodes[at as usize];
                    // A conflict is reported in the first region that both extents touch, so it is reported once.
                    let counts = region == self.regions(&node.extent).start.max(self.regions(extent).start);
                    if node.region == region && counts && node.extent.conflicts(extent) {
                        found(node.request);
                    }
                    at = node.next;
                }
            }
        }
    }

    /// Compares a wide extent with all requests in lists, each at its first region.
    fn conflicting_with_wide(&self, extent: &Extent, mut found: impl FnMut(T)) {
        for node in
            self.nodes.iter().inspect(|_| steps::count()).filter(|node| node.region == self.regions(&node.extent).start)
        {
            if node.extent.conflicts(extent) {
                found(node.request);
            }
        }
    }

    /// Notes that a request begins while `under_way` others are under way. Returns true if the request must be indexed.
    #[inline]
    pub(crate) const fn begin(&mut self, extent: &Extent, under_way: usize) -> bool {
        if extent.changes {
            (self.changing, self.lists_reads, self.reads_alone) = (self.changing + 1, true, 0);
        } else if self.lists_reads && self.changing == 0 {
            self.reads_alone += 1;
            self.lists_reads = (self.reads_alone as usize) <= PATIENCE * under_way;
        }
        self.lists_reads
    }

    #[inline]
    pub(crate) const fn end(&mut self, extent: &Extent) {
        self.changing -= extent.changes as u32;
    }

    /// True if all reads under way are indexed.
    #[inline]
    pub(crate) const fn lists_reads(&self) -> bool {
        self.lists_reads
    }

    /// True if a request that is under way may conflict with this request.
    #[inline]
    pub(crate) const fn may_conflict(&self, extent: &Extent) -> bool {
        extent.changes || self.changing > 0
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // Every write passes here, from one caller.
    pub(crate) fn add(&mut self, extent: &Extent, request: T) {
        if self.is_wide(extent) {
            return self.wide.push((*extent, request));
        }
        for region in self.regions(extent) {
            steps::count();
            let list = self.list(region);
            let first = &mut self.lists[list][usize::from(extent.changes)];
            let node = Node { extent: *extent, region, next: *first, request };
            if self.free == NONE {
                *first = self.nodes.len() as u32;
                self.nodes.push(node);
            } else {
                *first = self.free;
                self.free = std::mem::replace(&mut self.nodes[*first as usize], node).next;
            }
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller, which each request passes.
    pub(crate) fn remove(&mut self, extent: &Extent, request: T) {
        if self.is_wide(extent) {
            let place = self.wide.iter().position(|(_, other)| *other == request).expect("it was added");
            self.wide.swap_remove(place);
            return;
        }
        for region in self.regions(extent) {
            let list = self.list(region);
            let (mut before, mut at) = (NONE, self.lists[list][usize::from(extent.changes)]);
            while self.nodes[at as usize].region != region || self.nodes[at as usize].request != request {
                steps::count();
                (before, at) = (at, self.nodes[at as usize].next);
            }
            let next = self.nodes[at as usize].next;
            match before {
                NONE => self.lists[list][usize::from(extent.changes)] = next,
                before => self.nodes[before as usize].next = next,
            }
            (self.nodes[at as usize].region, self.nodes[at as usize].next) = (NONE, self.free);
            self.free = at;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn extent() -> impl Strategy<Value = Extent> {
        let first = prop_oneof![0u32..100, 0u32..100_000];
        (first, prop_oneof![1u32..40, 8000u32..9000], any::<bool>()).prop_map(|(first, length, changes)| Extent {
            fills_zone: false,
            first,
            end: first + length,
            changes,
        })
    }

    #[test]
    fn reads_are_listed_from_a_change_on_until_enough_of_them_have_begun() {
        let mut overlaps = Overlaps::<usize>::new(8, None);
        let (read, write) =
            ([false, true]).map(|changes| Extent { first: 0, end: 1, changes, fills_zone: false }).into();
        assert!((0..100).all(|_| !overlaps.begin(&read, 5)), "nothing asks for reads alone");
        assert!(overlaps.begin(&write, 5) && overlaps.begin(&read, 6), "a write asks for the reads behind it");
        assert!((0..100).all(|_| overlaps.begin(&read, 7)), "while it is under way");
        overlaps.end(&write);
        assert_eq!((0..100).filter(|_| overlaps.begin(&read, 7)).count(), PATIENCE * 7);
    }

    proptest! {
        /// Compares the index with a search through all requests, while requests come and go.
        #[test]
        fn exactly_the_requests_that_conflict_are_found(
            steps in prop::collection::vec((extent(), any::<prop::sample::Index>(), any::<bool>()), 0..60),
            depth in 1..40u32,
            zone in prop::option::of(1..3000u32),
        ) {
            let (mut overlaps, mut under_way) = (Overlaps::new(depth, zone), Vec::new());
            for (request, (extent, pick, ends)) in steps.into_iter().enumerate() {
                if ends && !under_way.is_empty() {
                    let (extent, request) = under_way.swap_remove(pick.index(under_way.len()));
                    overlaps.remove(&extent, request);
                }
                let expected = under_way.iter().filter(|(other, _): &&(Extent, usize)| other.conflicts(&extent));
                let mut expected: Vec<usize> = expected.map(|(_, request)| *request).collect();
                let mut found = Vec::new();
                overlaps.conflicting(&extent, |request| found.push(request));
                [&mut expected, &mut found].into_iter().for_each(|requests| requests.sort_unstable());
                prop_assert_eq!(found, expected);
                overlaps.add(&extent, request);
                under_way.push((extent, request));
            }
            overlaps.clear();
            overlaps.conflicting(&Extent { first: 0, end: 8000, changes: true, fills_zone: false }, |request| panic!("{request} is left"));
        }

        /// Reads that are not indexed are found all the same, because the first change indexes all of them.
        #[test]
        fn a_change_meets_every_read_under_way(
            steps in prop::collection::vec((0u32..60, any::<prop::sample::Index>(), 0..10u32), 0..120),
        ) {
            let (mut overlaps, mut under_way) = (Overlaps::new(8, None), Vec::<(Extent, usize, bool)>::new());
            for (request, (first, pick, step)) in steps.into_iter().enumerate() {
                if step < 5 && !under_way.is_empty() {
                    let (extent, request, listed) = under_way.swap_remove(pick.index(under_way.len()));
                    overlaps.end(&extent);
                    if listed {
                        overlaps.remove(&extent, request);
                    }
                }
                let extent = Extent { first, end: first + 4, changes: step == 9, fills_zone: false };
                if extent.changes && !overlaps.lists_reads() {
                    for (extent, request, listed) in under_way.iter_mut().filter(|(.., listed)| !listed) {
                        *listed = true;
                        overlaps.add(extent, *request);
                    }
                }
                let expected = under_way.iter().filter(|(other, ..)| other.conflicts(&extent)).count();
                let mut found = 0;
                if overlaps.may_conflict(&extent) {
                    overlaps.conflicting(&extent, |_| found += 1);
                }
                prop_assert_eq!(found, expected);
                let listed = overlaps.begin(&extent, under_way.len());
                if listed {
                    overlaps.add(&extent, request);
                }
                under_way.push((extent, request, listed));
            }
        }
    }
}
