//! The superblocks of the array: the superblocks of each zone, and the free superblocks of each die.
//!
//! A zone without data has no superblocks. At its first write it takes the least worn free superblocks of its dies, so
//! that resets wear all superblocks of a die alike, whichever zones the host prefers.

use base::units::{DieId, SuperblockId};
use flash::nand::Media;

use super::layout::Layout;
use crate::toolkit::FreeList;

/// The superblocks of the zones, and the free superblocks.
#[derive(Clone, Debug)]
pub(super) struct Blocks {
    /// The superblocks of the zones, zone by zone.
    members: Vec<Option<SuperblockId>>,
    of_zone: usize,
    /// The free superblocks of each die.
    free: Vec<FreeList>,
    /// The number of superblocks of each die that are not bad.
    good: Vec<u32>,
}

impl Blocks {
    /// A table without superblocks, free or not; a mount adds them.
    pub(super) fn new(layout: &Layout, by_wear: bool) -> Self {
        let of_zone = layout.members() as usize;
        let dies = layout.geometry.die_count();
        let of_die = layout.geometry.superblock_count() / dies;
        Self {
            members: vec![None; layout.shape.zones as usize * of_zone],
            of_zone,
            free: (0..dies).map(|_| FreeList::new(by_wear, of_die)).collect(),
            good: vec![0; dies as usize],
        }
    }

    /// Bytes of the tables.
    pub(super) fn memory(layout: &Layout) -> u64 {
        let members = u64::from(layout.shape.zones) * u64::from(layout.members());
        let dies = u64::from(layout.geometry.die_count());
        members * size_of::<Option<SuperblockId>>() as u64
            + FreeList::memory(u64::from(layout.geometry.superblock_count()))
            + dies * (size_of::<FreeList>() + size_of::<u32>()) as u64
    }

    /// The superblocks of a zone by member; `None` for members without one.
    pub(super) fn of_zone(&self, zone: u32) -> &[Option<SuperblockId>] {
        &self.members[zone as usize * self.of_zone..][..self.of_zone]
    }

    /// The superblocks of a zone, to change them.
    pub(super) fn of_zone_mut(&mut self, zone: u32) -> &mut [Option<SuperblockId>] {
        &mut self.members[zone as usize * self.of_zone..][..self.of_zone]
    }

    /// A superblock of a zone; the zone must hold superblocks.
    #[inline]
    pub(super) fn member(&self, zone: u32, member: u32) -> SuperblockId {
        self.members[zone as usize * self.of_zone + member as usize].expect("a zone with data has its superblocks")
    }

    /// Gives a zone the superblocks that it lacks. Returns false, and takes no superblock, if a die has too few free
    /// superblocks.
    pub(super) fn fill(&mut self, layout: &Layout, zone: u32) -> bool {
        let lacking = |die: DieId| {
            let members = (0..).zip(self.of_zone(zone));
            members.filter(|(member, has)| has.is_none() && layout.die_of(zone, *member) == die).count()
        };
        let dies = layout.dies_of_group(layout.group_of(zone));
        if dies.iter().any(|die| lacking(*die) > self.free[die.index()].len() as usize) {
            return false;
        }
        for member in 0..self.of_zone as u32 {
            let place = zone as usize * self.of_zone + member as usize;
            if self.members[place].is_none() {
                self.members[place] = self.free[layout.die_of(zone, member).index()].pop();
            }
        }
        true
    }

    /// Adds an erased superblock to the free superblocks of its die.
    pub(super) fn free(&mut self, layout: &Layout, superblock: SuperblockId, erases: u32) {
        self.free[layout.geometry.die_of(superblock).index()].push(superblock, erases);
    }

    /// Takes a superblock for rows of no zone, from the die with the most free superblocks.
    pub(super) fn take_any(&mut self) -> Option<SuperblockId> {
        self.free.iter_mut().max_by_key(|free| free.len()).and_then(FreeList::pop)
    }

    /// Counts a superblock that a mount has found good.
    pub(super) fn count_good(&mut self, die: DieId) {
        self.good[die.index()] += 1;
    }

    pub(super) fn retire(&mut self, layout: &Layout, media: &mut Media, superblock: SuperblockId) {
        media.retire(superblock);
        self.good[layout.geometry.die_of(superblock).index()] -= 1;
    }

    /// The number of zones of a group for which its dies have superblocks.
    pub(super) fn zones_held(&self, layout: &Layout, group: u32, reserve: u32) -> u32 {
        let dies = layout.dies_of_group(group).iter();
        let of_die = |die: &DieId| self.good[die.index()].saturating_sub(reserve) / layout.on_each_die();
        dies.map(of_die).min().unwrap_or(0)
    }

    /// The number of free superblocks of all dies.
    pub(super) fn free_count(&self) -> u64 {
        self.free.iter().map(|free| u64::from(free.len())).sum()
    }

    pub(super) fn free_ones(&self) -> impl Iterator<Item = SuperblockId> + '_ {
        self.free.iter().flat_map(FreeList::entries).map(|(_, superblock)| superblock)
    }

    /// The superblocks that belong to zones.
    pub(super) fn used(&self) -> impl Iterator<Item = SuperblockId> + '_ {
        self.members.iter().flatten().copied()
    }
}
