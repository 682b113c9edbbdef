//! The number of translation pages of a map, and the superblocks reserved for them.
//!
//! Each plane group gives a fixed number of its superblocks to a second pool, which holds translation pages: room for
//! the pages and a quarter more, the three superblocks that every pool needs, and one or two that may fail. The free
//! superblocks come from the group and return to it when they are erased, so both pools wear alike. With a shared log
//! the second pool has two superblocks if its pages fill no more than half of one.

use base::units::DieId;
use flash::nand::Geometry;

use crate::family::Site;
use crate::page::block_manager::reserve::reserved;
use crate::page::block_manager::slc_cache::set_aside;
use crate::page::streams::StreamCount;

/// The translation pages of a device; none if its map is in RAM.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MapPages {
    pub(crate) count: u32,
    /// Map entries of four bytes in each translation page.
    pub(crate) entries: u32,
    /// True if each pool has one open superblock for host writes and copies.
    pub(crate) shared_log: bool,
    /// The streams of the pools of data.
    pub(crate) streams: StreamCount,
    /// Number of superblocks that each pool sets aside for the SLC cache.
    pub(crate) set_aside: u32,
}

impl Default for MapPages {
    fn default() -> Self {
        Self { count: 0, entries: 0, shared_log: false, streams: StreamCount::ONE, set_aside: 0 }
    }
}

impl MapPages {
    /// The translation pages of a map of `units` mapping units; none if RAM holds the map.
    pub(crate) fn of(site: &Site<'_>, geometry: &Geometry, units: u32) -> Self {
        let ftl = site.ftl;
        let entries = if ftl.map.is_paged() { geometry.sectors * 128 } else { 0 };
        let count = if entries > 0 { units.div_ceil(entries) } else { 0 };
        let bits = site.part.bits_per_cell();
        let set_aside = ftl.slc_cache.as_ref().map_or(0, |cache| set_aside::each(cache, geometry, bits));
        Self { count, entries, shared_log: ftl.gc.shared_log, streams: ftl.write_streams().count(), set_aside }
    }

    /// The number of superblocks that each plane group reserves for translation pages; empty if there are no pages. The
    /// number is the sum of:
    /// * superblocks for the group's share of the pages and a quarter more;
    /// * the open superblocks, and one to collect into;
    /// * one superblock in case a block fails, or two if no other group has pages.
    ///
    /// With a shared log two superblocks are enough if the pages are few: the open one, and one to collect into. The
    /// data of the group then gives up a superblock if a block fails.
    pub(crate) fn quotas(&self, geometry: &Geometry) -> Vec<u32> {
        if self.count == 0 {
            return Vec::new();
        }
        let groups = geometry.die_count() * geometry.groups();
        let failing = if self.count == 1 { 2 } else { 1 };
        let (slots, one) = (geometry.superblock_slots(), StreamCount::ONE);
        let quota = |group: u32| match self.room_of(group, groups) {
            0 => 0,
            room if self.shared_log => reserved(true, one) + room.saturating_sub(slots / 2).div_ceil(slots),
            room => reserved(false, one) + failing + room.div_ceil(slots),
        };
        (0..groups).map(quota).collect()
    }

    /// Slots for the pages of a plane group: one for each page, and a quarter more.
    pub(crate) const fn room_of(&self, group: u32, groups: u32) -> u32 {
        let pages = (self.count + groups - 1 - group) / groups;
        pages + pages / 4
    }

    /// The most mapping units that the pools of some dies hold while garbage collection still has room.
    /// * Each pool reserves its open superblocks, one to copy into, and those of its translation pages.
    /// * A mapping unit exists twice while it is overwritten, so one superblock of all pools together cannot be
    ///   promised.
    /// * Superblocks set aside for the SLC cache hold no promised unit, and each pool with such superblocks keeps
    ///   another one for folds.
    pub(crate) fn room(&self, geometry: &Geometry, dies: &[DieId]) -> u64 {
        let (quotas, groups) = (self.quotas(geometry), geometry.groups());
        let data = |group: u32| {
            let quota = quotas.get(group as usize).copied().unwrap_or(0);
            let reserved = reserved(self.shared_log, self.streams) + self.set_aside + u32::from(self.set_aside > 0);
            u64::from(geometry.blocks.saturating_sub(reserved).saturating_sub(quota))
        };
        let of_die = |die: &DieId| (die.get() * groups..(die.get() + 1) * groups).map(data).sum::<u64>();
        let slots = u64::from(geometry.superblock_slots());
        (dies.iter().map(of_die).sum::<u64>() * slots).saturating_sub(slots)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dies_with_translation_pages_have_less_room_for_data() {
        // Four dies of 12 superblocks of 8 mapping units; both pages are in the first two dies.
        let geometry = Geometry::new(2, 2, 1, 1, 1, 12, 8, 1, 4).expect("small");
        let pages = MapPages { count: 2, entries: 512, ..MapPages::default() };
        assert_eq!(pages.quotas(&geometry), [5, 5, 0, 0]);
        let room = |pages: MapPages, dies: &[u32]| {
            pages.room(&geometry, &dies.iter().copied().map(DieId::new).collect::<Vec<_>>())
        };
        assert_eq!(room(pages, &[0]), (12 - 3 - 5) * 8 - 8);
        assert_eq!(room(pages, &[3]), (12 - 3) * 8 - 8);
        assert_eq!(room(pages, &[0, 3]), (4 + 9) * 8 - 8);
        assert_eq!(room(MapPages::default(), &[0, 1, 2, 3]), 4 * 9 * 8 - 8);
        let streams = MapPages { streams: StreamCount { host: 3, copies: 2 }, ..pages };
        assert_eq!((streams.quotas(&geometry), room(streams, &[3])), (vec![5, 5, 0, 0], (12 - 6) * 8 - 8));
        let set_aside = MapPages { set_aside: 2, ..MapPages::default() };
        assert_eq!(room(set_aside, &[3]), (12 - 3 - 2 - 1) * 8 - 8, "folds need one more superblock");
        let shared = MapPages { shared_log: true, ..pages };
        assert_eq!(shared.quotas(&geometry), [2, 2, 0, 0]);
        assert_eq!(room(shared, &[0, 3]), (8 + 10) * 8 - 8);
        // Twelve pages and a quarter more in each die; half a superblock of garbage is kept beside them.
        assert_eq!(MapPages { count: 48, ..shared }.quotas(&geometry), [4, 4, 4, 4]);
    }
}
