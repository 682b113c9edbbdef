//! The choice of a free block: the allocation method of Sung, Sec. 4.2 and 4.3.
//!
//! The method tells *areas* apart. With a controller for each bus (TMCD) an area is a bus with its chips; otherwise
//! (PMCD) it is a chip. Within a chip the allocator takes the least worn block, or the one that was freed first.

use std::cmp::Reverse;

use base::units::{DieId, SuperblockId};
use flash::backend::Controllers;
use flash::nand::Geometry;

use super::spec::Allocation;
use crate::toolkit::FreeList;

/// The purpose of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Data,
    Log,
    Merge,
}

/// The free blocks, and the rotation among areas.
#[derive(Clone, Debug)]
pub(super) struct Allocator {
    allocation: Allocation,
    /// The free blocks of each die.
    free: Vec<FreeList>,
    count: u32,
    dies_per_area: u32,
    areas: u32,
    /// The next area in rotation, for each purpose.
    turn: [u32; 3],
    /// A mark for each area: 2 if the method forbids the area, 1 if the method prefers other areas.
    avoided: Vec<u8>,
}

impl Allocator {
    /// Bytes of the free lists of all dies.
    pub(super) fn memory(geometry: &Geometry) -> u64 {
        let blocks = u64::from(geometry.superblock_count());
        FreeList::memory(blocks) + u64::from(geometry.die_count()) * (size_of::<FreeList>() as u64 + 1)
    }

    pub(super) fn new(allocation: Allocation, dynamic: bool, units: Controllers, geometry: &Geometry) -> Self {
        let dies_per_area = if units == Controllers::PerChannel { geometry.chips * geometry.dies } else { 1 };
        let dies = geometry.die_count();
        let areas = dies / dies_per_area;
        Self {
            allocation,
            free: (0..dies).map(|_| FreeList::new(dynamic, geometry.superblock_count() / dies)).collect(),
            count: 0,
            dies_per_area,
            areas,
            turn: [0; 3],
            avoided: vec![0; areas as usize],
        }
    }

    /// Number of free blocks.
    pub(super) const fn count(&self) -> u32 {
        self.count
    }

    /// Each free block with its erase count.
    pub(super) fn known_wear(&self) -> impl Iterator<Item = (u32, SuperblockId)> + '_ {
        self.free.iter().flat_map(FreeList::entries)
    }

    /// Adds a block that has been erased `erases` times to the free blocks of its die.
    pub(super) fn put(&mut self, die: DieId, superblock: SuperblockId, erases: u32) {
        self.free[die.index()].push(superblock, erases);
        self.count += 1;
    }

    /// The area of a die: its bus with a controller for each bus, otherwise the chip.
    #[inline]
    pub(super) const fn area(&self, die: DieId) -> u32 {
        die.get() / self.dies_per_area
    }

    /// Clears the marks of the areas, before the choice of another block.
    pub(super) fn begin(&mut self) {
        self.avoided.fill(0);
    }

    /// Marks the area of a die to be avoided; `much` is true if the method forbids the area.
    pub(super) fn avoid(&mut self, die: DieId, much: bool) {
        let area = self.area(die) as usize;
        self.avoided[area] = self.avoided[area].max(1 + u8::from(much));
    }

    /// Takes a free block. `beside` is the die of the data block; `load` gives the commands that wait at a die.
    pub(super) fn take(
        &mut self,
        purpose: Use,
        beside: Option<DieId>,
        load: impl Fn(DieId) -> u32,
    ) -> Option<SuperblockId> {
        if self.count == 0 {
            return None;
        }
        let die = match self.allocation {
            Allocation::Same if purpose == Use::Log => beside.and_then(|die| self.near(die)),
            _ => None,
        };
        let die = die.or_else(|| self.by_turns(purpose, load))?;
        let superblock = self.free[die as usize].pop()?;
        self.count -= 1;
        Some(superblock)
    }

    /// A die with a free block in the area of `die`: `die` itself if it has one.
    fn near(&self, die: DieId) -> Option<u32> {
        let has = |die: &u32| !self.free[*die as usize].is_empty();
        Some(die.get()).filter(has).or_else(|| self.emptiest(self.area(die)))
    }

    /// The die with the most free blocks in an area.
    fn emptiest(&self, area: u32) -> Option<u32> {
        let dies = area * self.dies_per_area..(area + 1) * self.dies_per_area;
        dies.filter(|die| !self.free[*die as usize].is_empty())
            .max_by_key(|die| (self.free[*die as usize].len(), Reverse(*die)))
    }

    /// A die of the next area in rotation. Avoided areas come last (Sung does not say how to choose if no other area
    /// has a free block).
    fn by_turns(&mut self, purpose: Use, load: impl Fn(DieId) -> u32) -> Option<u32> {
        let from = self.turn[purpose as usize];
        let turns = (from..self.areas).chain(0..from);
        let minds = self.allocation != Allocation::Any;
        let least = |die: u32| if self.allocation == Allocation::Idle { load(DieId::new(die)) } else { 0 };
        let candidates = turns.filter_map(|area| {
            let die = match self.allocation {
                Allocation::Idle => self.idlest(area, &load)?,
                _ => self.emptiest(area)?,
            };
            Some((if minds { self.avoided[area as usize] } else { 0 }, least(die), area, die))
        });
        // Equal areas are taken in rotation.
        let (_, _, area, die) = candidates.min_by_key(|(avoided, load, ..)| (*avoided, *load))?;
        self.turn[purpose as usize] = (area + 1) % self.areas;
        Some(die)
    }

    /// The die with the fewest waiting commands in an area, among those with a free block.
    fn idlest(&self, area: u32, load: &impl Fn(DieId) -> u32) -> Option<u32> {
        let dies = area * self.dies_per_area..(area + 1) * self.dies_per_area;
        dies.filter(|die| !self.free[*die as usize].is_empty()).min_by_key(|die| load(DieId::new(*die)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Four buses with two chips each, and four blocks in each chip.
    fn allocator(allocation: Allocation, units: Controllers) -> (Allocator, Geometry) {
        let geometry = Geometry::new(4, 2, 1, 1, 1, 4, 4, 1, 8).expect("small");
        let mut allocator = Allocator::new(allocation, true, units, &geometry);
        for block in (0..32).map(SuperblockId::new) {
            allocator.put(geometry.die_of(block), block, 0);
        }
        (allocator, geometry)
    }

    fn dies(allocator: &mut Allocator, geometry: &Geometry, purpose: Use, beside: u32, count: u32) -> Vec<u32> {
        let block = |_| {
            allocator.begin();
            allocator.avoid(DieId::new(beside), true);
            let block = allocator.take(purpose, Some(DieId::new(beside)), |_| 0).expect("a free block");
            geometry.die_of(block).get()
        };
        (0..count).map(block).collect()
    }

    #[test]
    fn a_log_block_avoids_the_bus_or_the_chip_of_its_data_block() {
        let (mut tmcd, geometry) = allocator(Allocation::Apart, Controllers::PerChannel);
        // Bus 0 is avoided; the others take turns, each with the chip that has more free blocks.
        assert_eq!(dies(&mut tmcd, &geometry, Use::Log, 0, 6), [2, 4, 6, 3, 5, 7]);
        let (mut pmcd, geometry) = allocator(Allocation::Apart, Controllers::Shared(4));
        assert_eq!(dies(&mut pmcd, &geometry, Use::Log, 0, 8), [1, 2, 3, 4, 5, 6, 7, 1]);
    }

    #[test]
    fn allocation_same_puts_a_log_block_beside_its_data_block() {
        let (mut same, geometry) = allocator(Allocation::Same, Controllers::PerChannel);
        assert_eq!(dies(&mut same, &geometry, Use::Log, 2, 5), [2, 2, 2, 2, 3], "then the other chip of the bus");
        assert!(dies(&mut same, &geometry, Use::Merge, 2, 4).iter().all(|die| die / 2 != 1), "Fig. 12a");
    }

    #[test]
    fn a_log_block_beside_its_data_block_is_better_than_none() {
        let (mut apart, geometry) = allocator(Allocation::Apart, Controllers::PerChannel);
        let taken = dies(&mut apart, &geometry, Use::Log, 0, 32);
        assert!(taken[..24].iter().all(|die| *die > 1) && taken[24..].iter().all(|die| *die < 2), "{taken:?}");
        assert_eq!(apart.take(Use::Log, None, |_| 0), None);
    }

    #[test]
    fn allocation_idle_takes_the_idlest_allowed_die() {
        let (mut idle, geometry) = allocator(Allocation::Idle, Controllers::PerChannel);
        idle.begin();
        idle.avoid(DieId::new(5), true);
        let block = idle.take(Use::Merge, None, |die| [3, 3, 3, 2, 0, 0, 3, 3][die.index()]).expect("a free block");
        assert_eq!(geometry.die_of(block).get(), 3, "dies 4 and 5 are idle, but on the bus to keep off");
    }
}
