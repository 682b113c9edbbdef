//! Plans a request: the reads that it needs first, and the way in which it updates parity.
//!
//! The choice between old data and the rest of the stripe is that of Linux (`handle_stripe_dirtying` in
//! `drivers/md/raid5.c`): the way with fewer reads; with equal numbers, the rest of the stripe.

use ssd::RaidCounters;

use crate::layout::{Band, Layout};

/// A range of sectors of the drive at a place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Range {
    pub(crate) place: u32,
    pub(crate) from: u64,
    pub(crate) to: u64,
}

impl Range {
    pub(crate) const fn sectors(&self) -> usize {
        (self.to - self.from) as usize
    }

    /// True if the two ranges have a sector in common.
    pub(crate) const fn overlaps(&self, other: &Self) -> bool {
        self.place == other.place && self.from < other.to && other.from < self.to
    }
}

/// The way in which a band's new parity follows from the data read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Update {
    /// There is no parity to update.
    None,
    /// Parity follows from the old data and the old parity.
    Modify,
    /// Parity follows from the data of the whole stripe. Data that the request does not write is read.
    Reconstruct,
    /// Missing data are recovered before parity is computed.
    Recover,
}

impl Update {
    /// Counts a part of a stripe that is written. `reads_nothing` is true if it is written as a whole.
    pub(crate) const fn count(self, counters: &mut RaidCounters, reads_nothing: bool) {
        *match self {
            Self::None => return,
            Self::Modify => &mut counters.modify_updates,
            Self::Reconstruct if reads_nothing => &mut counters.full_updates,
            Self::Reconstruct => &mut counters.reconstruct_updates,
            Self::Recover => &mut counters.recover_updates,
        } += 1;
    }
}

/// The chunks that can be read or written.
pub(crate) struct View<'a> {
    pub(crate) layout: &'a Layout,
    /// True if the drive at a place has its chunk of a stripe.
    pub(crate) holds: &'a dyn Fn(u32, u64) -> bool,
    /// Ranges that could not be read. They can be written nevertheless.
    pub(crate) unreadable: &'a [Range],
    /// Ranges in which a read failed. Each band is read again by itself there, so that exactly the unreadable sectors
    /// are known.
    pub(crate) damaged: &'a [Range],
    /// Places that should not be read, as bits.
    pub(crate) avoided: u64,
    /// The number of requests under way at the drive of a place.
    pub(crate) load: &'a dyn Fn(u32) -> u32,
    /// Rows from this row on may have wrong copies and parity, since a power cut.
    pub(crate) in_doubt: u64,
}

impl View<'_> {
    /// True if the sectors of a band can be read from a place.
    fn can_read(&self, band: &Band, place: u32) -> bool {
        let range = self.range(band, place);
        self.avoided >> place & 1 == 0
            && (self.holds)(place, band.stripe)
            && !self.unreadable.iter().any(|unreadable| unreadable.overlaps(&range))
    }

    /// The place from which a data shard is read. Among several copies, one that may be damaged comes first, because
    /// only sectors that were found unreadable are repaired; otherwise the copy on the drive with the fewest requests
    /// under way.
    pub(crate) fn source(&self, band: &Band, shard: u32) -> Option<u32> {
        let copies = (0..self.layout.copies()).map(|copy| self.layout.place(band.stripe, shard, copy));
        let mut held = copies.filter(|place| self.can_read(band, *place));
        // Copies that may differ are always read from the first place, so that all reads agree.
        if band.stripe >= self.in_doubt {
            return held.next();
        }
        let is_damaged = |place: u32| self.damaged.iter().any(|damaged| damaged.overlaps(&self.range(band, place)));
        held.min_by_key(|place| (!is_damaged(*place), (self.load)(*place)))
    }

    /// The places of a stripe that can be read, data before parity, as many as are needed to recover all data; `None`
    /// if too many are missing.
    pub(crate) fn needed_for_recovery(&self, band: &Band) -> Option<Vec<u32>> {
        let data = self.layout.data() as usize;
        let held: Vec<u32> =
            self.layout.places(band.stripe).filter(|place| self.can_read(band, *place)).take(data).collect();
        (held.len() == data).then_some(held)
    }

    /// The ranges to read for a read of a band; `None` if data are lost.
    pub(crate) fn read(&self, band: &Band) -> Option<Vec<Range>> {
        let at = |place| self.range(band, place);
        let sources = (band.first..band.last).map(|shard| self.source(band, shard));
        match sources.collect::<Option<Vec<u32>>>() {
            Some(places) => Some(places.into_iter().map(at).collect()),
            None if self.layout.parities() == 0 => None,
            None => {
                let mut places = self.needed_for_recovery(band)?;
                // Requested data that can be read is read in any case.
                let asked = (band.first..band.last).map(|shard| self.layout.place(band.stripe, shard, 0));
                places.extend(asked.filter(|place| self.can_read(band, *place)));
                places.sort_unstable();
                places.dedup();
                Some(places.into_iter().map(at).collect())
            }
        }
    }

    /// The way in which a write of a band updates parity, and the ranges that it reads; `None` if data would be lost.
    pub(crate) fn write(&self, band: &Band) -> Option<(Update, Vec<Range>)> {
        let (layout, stripe) = (self.layout, band.stripe);
        let at = |place| self.range(band, place);
        let holds = |place: &u32| (self.holds)(*place, stripe);
        if layout.parities() == 0 {
            let is_kept = |shard| (0..layout.copies()).any(|copy| holds(&layout.place(stripe, shard, copy)));
            return (band.first..band.last).all(is_kept).then(|| (Update::None, Vec::new()));
        }
        let can_read = |place: &u32| self.can_read(band, *place);
        let missing = layout.places(stripe).filter(|place| !can_read(place)).count() as u32;
        if missing > layout.parities() {
            return None;
        }
        let parity: Vec<u32> =
            (0..layout.parities()).map(|number| layout.place_of_parity(stripe, number)).filter(holds).collect();
        if parity.is_empty() {
            return Some((Update::None, Vec::new()));
        }
        let is_written = |shard: &u32| (band.first..band.last).contains(shard);
        let place = |shard: u32| layout.place(stripe, shard, 0);
        let written: Vec<u32> = (0..layout.data()).filter(is_written).map(place).collect();
        let others: Vec<u32> = (0..layout.data()).filter(|shard| !is_written(shard)).map(place).collect();
        let reconstruct = others.iter().all(can_read).then_some(others);
        // A parity that may be wrong must not be the base of the new one.
        let modify =
            (written.iter().chain(&parity).all(can_read) && stripe < self.in_doubt).then(|| [written, parity].concat());
        let (update, places) = match (reconstruct, modify) {
            (Some(others), Some(old)) if old.len() < others.len() => (Update::Modify, old),
            (Some(others), _) => (Update::Reconstruct, others),
            (None, Some(old)) => (Update::Modify, old),
            (None, None) => (Update::Recover, self.needed_for_recovery(band)?),
        };
        Some((update, places.into_iter().map(at).collect()))
    }

    /// The ranges to read for the rebuild of the chunk of a place; `None` if the chunk is lost.
    pub(crate) fn rebuild(&self, band: &Band, place: u32) -> Option<Vec<Range>> {
        if self.layout.parities() > 0 {
            let places = self.needed_for_recovery(band)?;
            return Some(places.into_iter().map(|place| self.range(band, place)).collect());
        }
        let has_copy_there =
            |shard: &u32| (0..self.layout.copies()).any(|copy| self.layout.place(band.stripe, *shard, copy) == place);
        let source = |shard| Some(self.range(band, self.source(band, shard)?));
        (0..self.layout.data()).filter(has_copy_there).map(source).collect()
    }

    /// The ranges to read for the repair of the parity of a stripe, or of its copies after the first; `None` if data
    /// are missing.
    pub(crate) fn repair(&self, band: &Band) -> Option<Vec<Range>> {
        let sources = (0..self.layout.data()).map(|shard| self.source(band, shard));
        sources.map(|source| Some(self.range(band, source?))).collect()
    }

    const fn range(&self, band: &Band, place: u32) -> Range {
        let stripe = band.stripe * self.layout.chunk();
        Range { place, from: stripe + band.from, to: stripe + band.to }
    }
}

/// The ranges that a discard of the sectors from `start` to `end` discards: chunks of whole stripes if there is parity, all copies otherwise.
pub(crate) fn discarded(layout: &Layout, start: u64, end: u64) -> Vec<Range> {
    if layout.parities() > 0 {
        let stripes = layout.covered_stripes(start, end);
        let (from, to) = (stripes.start * layout.chunk(), stripes.end * layout.chunk());
        let places = (0..layout.drives()).filter(|_| !stripes.is_empty());
        return places.map(|place| Range { place, from, to }).collect();
    }
    let mut ranges = Vec::new();
    for band in layout.bands(start, end) {
        let stripe = band.stripe * layout.chunk();
        let shards = (band.first..band.last)
            .flat_map(|shard| (0..layout.copies()).map(move |copy| (shard, copy)))
            .map(|(shard, copy)| layout.place(band.stripe, shard, copy));
        ranges.extend(shards.map(|place| Range { place, from: stripe + band.from, to: stripe + band.to }));
    }
    ranges
}

/// Removes duplicates.
pub(crate) fn distinct(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_unstable();
    ranges.dedup();
    ranges
}

/// Joins adjacent ranges, and sorts them.
pub(crate) fn merged(mut ranges: Vec<Range>) -> Vec<Range> {
    ranges.sort_unstable();
    let mut merged: Vec<Range> = Vec::with_capacity(ranges.len());
    for range in ranges {
        match merged.last_mut() {
            Some(last) if last.place == range.place && range.from <= last.to => last.to = last.to.max(range.to),
            _ => merged.push(range),
        }
    }
    merged
}

#[cfg(test)]
mod tests {
    use base::units::{Bytes, Sectors};
    use ssd::{RaidLevel, RaidSpec};

    use super::*;

    fn layout(level: RaidLevel, drives: u32) -> Layout {
        let spec = RaidSpec { chunk: Bytes::new(8 * 512), ..RaidSpec::new(level, drives) };
        Layout::new(&spec, Sectors::new(800))
    }

    /// The way of a write of the first `shards` data shards of stripe 0 while these places are missing, and the number
    /// of chunks that it reads.
    fn way(level: RaidLevel, drives: u32, shards: u32, missing: &[u32]) -> Option<(Update, usize)> {
        let layout = layout(level, drives);
        let view = View {
            layout: &layout,
            holds: &|place, _| !missing.contains(&place),
            unreadable: &[],
            damaged: &[],
            avoided: 0,
            load: &|_| 0,
            in_doubt: u64::MAX,
        };
        let band = Band { stripe: 0, from: 0, to: 8, first: 0, last: shards };
        view.write(&band).map(|(update, reads)| (update, reads.len()))
    }

    #[test]
    fn a_write_takes_the_way_that_reads_less() {
        use RaidLevel::{Raid0, Raid1, Raid5, Raid6};
        let five = |shards| way(Raid5, 5, shards, &[]);
        // Of four data shards: a write of one needs 1 + 1 old chunks or 3 others; a write of two needs 3 old chunks or
        // 2 others.
        assert_eq!(five(1), Some((Update::Modify, 2)));
        assert_eq!(five(2), Some((Update::Reconstruct, 2)));
        assert_eq!(five(4), Some((Update::Reconstruct, 0)), "a whole stripe reads nothing");
        // Of three data shards: both ways read two.
        assert_eq!(way(Raid5, 4, 1, &[]), Some((Update::Reconstruct, 2)));
        assert_eq!(way(Raid6, 8, 1, &[]), Some((Update::Modify, 3)));
        assert_eq!(way(Raid0, 3, 2, &[]), Some((Update::None, 0)));
        assert_eq!(way(Raid1, 3, 1, &[0, 2]), Some((Update::None, 0)));
        assert_eq!(way(Raid1, 2, 1, &[0, 1]), None, "no copy is left");
    }

    #[test]
    fn a_degraded_write_keeps_the_data_of_the_missing_drive() {
        use RaidLevel::{Raid5, Raid6};
        // Row 0 of five drives: data at places 0 to 3, P at 4.
        assert_eq!(way(Raid5, 5, 1, &[4]), Some((Update::None, 0)), "without parity there is nothing to update");
        assert_eq!(way(Raid5, 5, 1, &[0]), Some((Update::Reconstruct, 3)), "the written data is missing");
        assert_eq!(way(Raid5, 5, 1, &[2]), Some((Update::Modify, 2)), "other data is missing");
        assert_eq!(way(Raid5, 5, 1, &[1, 2]), None);
        // Row 0 of six: P at 5, Q at 0, data at 1 to 4. The written data and other data are missing.
        assert_eq!(way(Raid6, 6, 1, &[1, 3]), Some((Update::Recover, 4)));
        assert_eq!(way(Raid6, 6, 1, &[5, 0]), Some((Update::None, 0)));
    }

    #[test]
    fn a_parity_that_cannot_be_read_is_written_all_the_same() {
        let layout = layout(RaidLevel::Raid5, 5);
        let way = |places: &[u32]| {
            let unreadable: Vec<Range> = places.iter().map(|&place| Range { place, from: 3, to: 4 }).collect();
            let view = View {
                layout: &layout,
                holds: &|_, _| true,
                unreadable: &unreadable,
                damaged: &[],
                avoided: 0,
                load: &|_| 0,
                in_doubt: u64::MAX,
            };
            view.write(&Band { stripe: 0, from: 0, to: 8, first: 0, last: 1 })
                .map(|(update, reads)| (update, reads.len()))
        };
        // Stripe 0 has data at 0 to 3 and P at 4. Missing in turn: P, the written data, other data.
        assert_eq!(
            [&[4][..], &[0], &[2]].map(way),
            [Some((Update::Reconstruct, 3)), Some((Update::Reconstruct, 3)), Some((Update::Modify, 2))]
        );
        assert_eq!(way(&[2, 4]), None);
    }

    #[test]
    fn a_parity_in_doubt_is_made_anew() {
        let layout = layout(RaidLevel::Raid5, 5);
        let view = View {
            layout: &layout,
            holds: &|_, _| true,
            unreadable: &[],
            damaged: &[],
            avoided: 0,
            load: &|_| 0,
            in_doubt: 3,
        };
        let way = |stripe| view.write(&Band { stripe, from: 0, to: 8, first: 0, last: 1 }).map(|(update, _)| update);
        assert_eq!([2, 3].map(way), [Some(Update::Modify), Some(Update::Reconstruct)]);
    }

    #[test]
    fn a_degraded_read_takes_as_many_chunks_as_there_are_data() {
        let layout = layout(RaidLevel::Raid6, 6);
        let reads = |missing: &'static [u32], last| {
            let holds = move |place: u32, _| !missing.contains(&place);
            let view = View {
                layout: &layout,
                holds: &holds,
                unreadable: &[],
                damaged: &[],
                avoided: 0,
                load: &|_| 0,
                in_doubt: u64::MAX,
            };
            let ranges = view.read(&Band { stripe: 0, from: 2, to: 4, first: 0, last })?;
            assert!(ranges.iter().all(|range| (range.from, range.to) == (2, 4)));
            Some(ranges.into_iter().map(|range| range.place).collect::<Vec<_>>())
        };
        assert_eq!(reads(&[], 2), Some(vec![1, 2]));
        assert_eq!(reads(&[1], 1), Some(vec![2, 3, 4, 5]), "P and the other data");
        assert_eq!(reads(&[1, 5], 1), Some(vec![0, 2, 3, 4]), "Q and the other data");
        assert_eq!(reads(&[1, 2], 1), Some(vec![0, 3, 4, 5]));
        assert_eq!(reads(&[0, 1, 2], 1), None);
        assert_eq!(reads(&[3], 1), Some(vec![1]), "what is asked for is there");
    }

    #[test]
    fn a_mirror_reads_from_the_drive_with_less_to_do() {
        let layout = layout(RaidLevel::Raid1, 3);
        let source = |damaged: &[u32], in_doubt| {
            let damaged: Vec<Range> = damaged.iter().map(|&place| Range { place, from: 0, to: 800 }).collect();
            let view = View {
                layout: &layout,
                holds: &|_, _| true,
                unreadable: &[],
                damaged: &damaged,
                avoided: 0,
                load: &|place| [4, 2, 3][place as usize],
                in_doubt,
            };
            view.source(&Band { stripe: 5, from: 0, to: 1, first: 0, last: 1 }, 0)
        };
        assert_eq!(source(&[], u64::MAX), Some(1));
        assert_eq!(source(&[0, 2], u64::MAX), Some(2), "a damaged copy is read until what is unreadable is known");
        assert_eq!(source(&[2], 5), Some(0), "copies in doubt are read from the first");
    }

    #[test]
    fn ranges_that_touch_become_one() {
        let range = |place, from, to| Range { place, from, to };
        let ranges = vec![range(1, 0, 8), range(0, 8, 16), range(0, 0, 8), range(0, 20, 24), range(0, 4, 12)];
        assert_eq!(merged(ranges), [range(0, 0, 16), range(0, 20, 24), range(1, 0, 8)]);
    }
}
