//! The places of the data of a RAID on its drives.
//!
//! The address space is cut into chunks, and a stripe is one chunk of every drive at one address. Parity moves from
//! stripe to stripe as in the layout "left-symmetric", the default of Linux: the last drive has the parity of the first
//! stripe, and data begin after parity.

use base::engine::Interval;
use base::units::Sectors;
use ssd::{RaidLevel, RaidSpec};

/// The rule for the places of data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Layout {
    level: RaidLevel,
    drives: u32,
    chunk: u64,
    stripes: u64,
}

/// A part of a stripe: sectors at equal positions in the chunks of successive data shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Band {
    pub(crate) stripe: u64,
    /// The first of the sectors, counted in the chunk.
    pub(crate) from: u64,
    pub(crate) to: u64,
    /// The first of the data shards.
    pub(crate) first: u32,
    pub(crate) last: u32,
}

impl Layout {
    /// Creates the layout over drives of this capacity. A remainder that does not fill a chunk is not used.
    #[must_use]
    pub const fn new(spec: &RaidSpec, of_drive: Sectors) -> Self {
        let chunk = spec.chunk.get() / base::units::SECTOR.get();
        Self { level: spec.level, drives: spec.drives, chunk, stripes: of_drive.get() / chunk }
    }

    /// The number of sectors that the host can address.
    #[must_use]
    pub const fn capacity(&self) -> Sectors {
        Sectors::new(self.stripes * self.stripe_width())
    }

    /// The number of sectors of data in a stripe.
    #[must_use]
    pub const fn stripe_width(&self) -> u64 {
        self.chunk * self.data() as u64
    }

    /// The number of drives, without spares.
    pub(crate) const fn drives(&self) -> u32 {
        self.drives
    }

    pub(crate) const fn chunk(&self) -> u64 {
        self.chunk
    }

    pub(crate) const fn stripes(&self) -> u64 {
        self.stripes
    }

    /// The number of data shards of a stripe.
    pub(crate) const fn data(&self) -> u32 {
        self.level.data_of(self.drives)
    }

    /// The number of parity shards of a stripe.
    pub(crate) const fn parities(&self) -> u32 {
        self.level.parities()
    }

    /// The number of copies of each data shard.
    pub(crate) const fn copies(&self) -> u32 {
        match self.level {
            RaidLevel::Raid1 => self.drives,
            RaidLevel::Raid10 => 2,
            RaidLevel::Raid0 | RaidLevel::Raid5 | RaidLevel::Raid6 => 1,
        }
    }

    pub(crate) const fn place(&self, stripe: u64, shard: u32, copy: u32) -> u32 {
        match self.level {
            RaidLevel::Raid0 => shard,
            RaidLevel::Raid1 => copy,
            RaidLevel::Raid10 => 2 * shard + copy,
            RaidLevel::Raid5 | RaidLevel::Raid6 => {
                (self.place_of_parity(stripe, 0) + self.parities() + shard) % self.drives
            }
        }
    }

    /// The place of a parity shard: P for number 0, Q for number 1.
    pub(crate) const fn place_of_parity(&self, stripe: u64, number: u32) -> u32 {
        (self.drives - 1 - (stripe % self.drives as u64) as u32 + number) % self.drives
    }

    /// The places of all shards of a stripe with parity: data, then P, then Q.
    pub(crate) fn places(&self, stripe: u64) -> impl Iterator<Item = u32> + '_ {
        let data = (0..self.data()).map(move |shard| self.place(stripe, shard, 0));
        data.chain((0..self.parities()).map(move |number| self.place_of_parity(stripe, number)))
    }

    /// The address of sector `offset` of a data shard's chunk.
    pub(crate) const fn address(&self, stripe: u64, shard: u32, offset: u64) -> u64 {
        stripe * self.stripe_width() + shard as u64 * self.chunk + offset
    }

    /// The interval of a request, by which others wait for it. Sectors at equal positions in the chunks of a stripe
    /// share their parity, so they have one unit. Without parity, each sector has its own unit.
    pub(crate) const fn interval(&self, start: u64, end: u64, changes: bool) -> Interval {
        if self.parities() == 0 || start == end {
            return Interval { first: start, end, changes };
        }
        let (width, chunk) = (self.stripe_width(), self.chunk);
        if start / chunk == (end - 1) / chunk {
            let first = start / width * chunk + start % chunk;
            return Interval { first, end: first + (end - start), changes };
        }
        self.interval_of_stripes(start / width, (end - 1) / width + 1, changes)
    }

    /// The interval of work on whole stripes.
    pub(crate) const fn interval_of_stripes(&self, first: u64, end: u64, changes: bool) -> Interval {
        let scale = if self.parities() == 0 { self.stripe_width() } else { self.chunk };
        Interval { first: first * scale, end: end * scale, changes }
    }

    pub(crate) fn whole_stripes(&self, stripes: std::ops::Range<u64>) -> Vec<Band> {
        stripes.map(|stripe| Band { stripe, from: 0, to: self.chunk, first: 0, last: self.data() }).collect()
    }

    /// The stripes that the sectors from `start` to `end` cover completely.
    pub(crate) fn covered_stripes(&self, start: u64, end: u64) -> std::ops::Range<u64> {
        let width = self.stripe_width();
        start.div_ceil(width)..end / width
    }

    /// The bands that the sectors from `start` to `end` cover, in order of stripes.
    pub(crate) fn bands(&self, start: u64, end: u64) -> Vec<Band> {
        let (width, chunk) = (self.stripe_width(), self.chunk);
        let mut bands = Vec::new();
        if start == end {
            return bands;
        }
        for stripe in start / width..end.div_ceil(width) {
            let (from, to) =
                (start.max(stripe * width) - stripe * width, end.min((stripe + 1) * width) - stripe * width);
            let (first, last) = ((from / chunk) as u32, ((to - 1) / chunk) as u32);
            let (begin, finish) = (from % chunk, (to - 1) % chunk + 1);
            if first == last {
                bands.push(Band { stripe, from: begin, to: finish, first, last: last + 1 });
                continue;
            }
            // The first chunk is covered from `begin` on, the last up to `finish`, and those in between completely.
            let mut cuts = [0, begin, finish, chunk];
            cuts.sort_unstable();
            for pair in cuts.windows(2) {
                let (from, to) = (pair[0], pair[1]);
                let first = if from >= begin { first } else { first + 1 };
                let last = if to <= finish { last + 1 } else { last };
                if from < to && first < last {
                    bands.push(Band { stripe, from, to, first, last });
                }
            }
        }
        bands
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use base::units::Bytes;

    use super::*;

    const LEVELS: [(RaidLevel, u32); 9] = [
        (RaidLevel::Raid0, 1),
        (RaidLevel::Raid0, 3),
        (RaidLevel::Raid1, 2),
        (RaidLevel::Raid1, 3),
        (RaidLevel::Raid10, 4),
        (RaidLevel::Raid5, 3),
        (RaidLevel::Raid5, 5),
        (RaidLevel::Raid6, 4),
        (RaidLevel::Raid6, 7),
    ];

    fn layout(level: RaidLevel, drives: u32) -> Layout {
        let spec = RaidSpec { chunk: Bytes::new(4 * 512), ..RaidSpec::new(level, drives) };
        Layout::new(&spec, Sectors::new(4 * 11 + 3))
    }

    #[test]
    fn every_sector_of_a_drive_is_one_copy_of_one_shard() {
        for (level, drives) in LEVELS {
            let layout = layout(level, drives);
            for stripe in 0..layout.stripes() {
                let data = (0..layout.data())
                    .flat_map(|shard| (0..layout.copies()).map(move |copy| (shard, copy)))
                    .map(|(shard, copy)| layout.place(stripe, shard, copy));
                let all: Vec<u32> =
                    data.chain((0..layout.parities()).map(|number| layout.place_of_parity(stripe, number))).collect();
                let distinct: BTreeSet<u32> = all.iter().copied().collect();
                assert_eq!(all.len(), drives as usize, "{level:?} of {drives}, stripe {stripe}");
                assert_eq!(distinct, (0..drives).collect(), "{level:?} of {drives}, stripe {stripe}");
            }
        }
    }

    #[test]
    fn bands_cover_an_extent_once_and_nothing_else() {
        for (level, drives) in LEVELS {
            let layout = layout(level, drives);
            let end = layout.capacity().get();
            for start in 0..end {
                for to in start..end.min(start + 40) {
                    let mut covered = Vec::new();
                    for band in layout.bands(start, to) {
                        for shard in band.first..band.last {
                            covered
                                .extend((band.from..band.to).map(|offset| layout.address(band.stripe, shard, offset)));
                        }
                    }
                    covered.sort_unstable();
                    assert_eq!(covered, (start..to).collect::<Vec<_>>(), "{level:?} of {drives}");
                }
            }
        }
    }

    #[test]
    fn the_rows_of_raid_5_and_raid_6_are_those_of_linux() {
        // Left-symmetric, as `mdadm --detail` prints it: D0 D1 D2 P / D4 D5 P D3 / ...
        let five = layout(RaidLevel::Raid5, 4);
        let stripe = |layout: &Layout, stripe| layout.places(stripe).collect::<Vec<_>>();
        assert_eq!(
            [0, 1, 2, 3, 4].map(|at| stripe(&five, at)[..3].to_vec()),
            [vec![0, 1, 2], vec![3, 0, 1], vec![2, 3, 0], vec![1, 2, 3], vec![0, 1, 2]]
        );
        // P is on the last drive, Q on the one after it, modulo the number of drives.
        let six = layout(RaidLevel::Raid6, 5);
        assert_eq!(stripe(&six, 0), [1, 2, 3, 4, 0]);
        assert_eq!(stripe(&six, 1), [0, 1, 2, 3, 4]);
    }

    #[test]
    fn capacities_are_those_of_the_data() {
        let sectors = |(level, drives)| layout(level, drives).capacity().get() / 44;
        assert_eq!(LEVELS.map(sectors), [1, 3, 1, 1, 2, 2, 4, 2, 5]);
    }
}
