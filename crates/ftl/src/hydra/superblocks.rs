//! Physical superblocks: one block of each die of a superchip, usually all with the same number.
//!
//! A spare of the same die replaces a failing block for good (Seong et al., Sec. 3.3.1). If the die has no spare left,
//! the whole superblock is lost.

use std::collections::{BTreeSet, VecDeque};

use base::nonmax::NonMaxU32;
use base::units::{Divisor, SuperblockId};
use flash::nand::{Geometry, Media};

use super::address::Layout;
use super::free::Free;
use super::spread::EraseSpread;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SuperblockState {
    /// A merge may take the superblock as its target, and then erases the superblock.
    Free,
    /// The target of a merge: being erased or filled, or waiting for its log record to be on flash.
    Target,
    /// The superblock holds a logical superblock.
    Mapped,
    /// The data is obsolete, but reads of it are still under way.
    Leaving,
    /// A block of the superblock has failed, and the die has no spare for it.
    Lost,
}

#[derive(Clone, Copy, Debug)]
struct Superblock {
    state: SuperblockState,
    /// Reads under way.
    readers: u32,
    /// Erases since the drive was new.
    erases: u32,
}

/// All superblocks, numbered superchip by superchip.
#[derive(Clone, Debug)]
pub(super) struct Superblocks {
    layout: Layout,
    by_superblocks: Divisor,
    blocks: u32,
    all: Vec<Superblock>,
    /// The erase counts of all superblocks except lost superblocks.
    spread: EraseSpread,
    free: Vec<Free>,
    /// Superblocks freed so far: the number of the next freeing.
    freed: u64,
    /// The block in use at each position of a superblock, die by die: a spare where the own block failed.
    actual: Vec<u32>,
    /// The position at which each spare is in use, die by die.
    stands_for: Vec<Option<NonMaxU32>>,
    /// The good spares of each die that are not in use.
    spares: Vec<VecDeque<u32>>,
    /// Replacements that are not in the log yet: die, position and spare.
    replaced: Vec<(u32, u32, u32)>,
}

impl Superblocks {
    /// Bytes of the tables of a device with this layout.
    pub(super) fn memory(layout: &Layout) -> u64 {
        let (physical, dies) = (u64::from(layout.physical()), u64::from(layout.dies()));
        let actual = dies * u64::from(layout.superblocks) * size_of::<u32>() as u64;
        let spares = dies * u64::from(layout.spares) * 2 * size_of::<u32>() as u64;
        physical * (size_of::<Superblock>() as u64 + Free::memory_of_superblock()) + actual + spares
    }

    /// The superblocks before recovery: no spare is in use, and the free lists are empty. `least_worn` is true if
    /// merges take the least worn free superblock (implicit wear levelling, Sec. 3.5).
    pub(super) fn new(layout: Layout, geometry: &Geometry, least_worn: bool) -> Self {
        assert!(layout.fits(geometry), "{layout:?} for an array of {geometry:?}");
        let plain = Superblock { state: SuperblockState::Free, readers: 0, erases: 0 };
        Self {
            all: vec![plain; layout.physical() as usize],
            spread: EraseSpread::new(layout.physical()),
            free: (0..layout.superchips).map(|_| Free::new(least_worn, layout.superblocks)).collect(),
            freed: 0,
            actual: (0..layout.dies()).flat_map(|_| 0..layout.superblocks).collect(),
            stands_for: vec![None; (layout.dies() * layout.spares) as usize],
            spares: vec![VecDeque::new(); layout.dies() as usize],
            replaced: Vec::new(),
            blocks: geometry.blocks,
            by_superblocks: Divisor::new(layout.superblocks),
            layout,
        }
    }

    pub(super) const fn block_at(&self, die: u32, block: u32) -> SuperblockId {
        SuperblockId::new(die * self.blocks + block)
    }

    /// The superchip of a superblock, and its position there.
    #[inline]
    pub(super) fn split(&self, superblock: u32) -> (u32, u32) {
        self.by_superblocks.split(superblock)
    }

    pub(super) const fn join(&self, superchip: u32, position: u32) -> u32 {
        superchip * self.layout.superblocks + position
    }

    /// The block of a superblock in one die of its superchip.
    #[inline]
    pub(super) fn block(&self, superblock: u32, chip: u32) -> SuperblockId {
        let (superchip, position) = self.split(superblock);
        let die = self.layout.die(superchip, chip);
        self.block_at(die, self.actual[(die * self.layout.superblocks + position) as usize])
    }

    #[inline]
    pub(super) fn of_block(&self, block: SuperblockId) -> u32 {
        let (die, block) = (block.get() / self.blocks, block.get() % self.blocks);
        let position = match block.checked_sub(self.layout.first_spare()) {
            Some(spare) => {
                let position = self.stands_for[(die * self.layout.spares + spare) as usize];
                position.expect("a spare that is used stands in for a block").get()
            }
            None => block,
        };
        self.join(die / self.layout.chips, position)
    }

    pub(super) fn is_any(&self, superchip: u32, state: SuperblockState) -> bool {
        let first = (superchip * self.layout.superblocks) as usize;
        self.all[first..first + self.layout.superblocks as usize].iter().any(|superblock| superblock.state == state)
    }

    pub(super) fn state(&self, superblock: u32) -> SuperblockState {
        self.all[superblock as usize].state
    }

    pub(super) fn erases(&self, superblock: u32) -> u32 {
        self.all[superblock as usize].erases
    }

    pub(super) fn all_erases(&self) -> impl Iterator<Item = u32> + '_ {
        self.all.iter().map(|superblock| superblock.erases)
    }

    pub(super) fn set_erases(&mut self, superblock: u32, erases: u32) {
        let entry = &mut self.all[superblock as usize];
        let before = std::mem::replace(&mut entry.erases, erases);
        if entry.state != SuperblockState::Lost {
            self.spread.remove(before);
            self.spread.add(erases);
        }
    }

    pub(super) fn erased(&mut self, superblock: u32) {
        self.set_erases(superblock, self.erases(superblock) + 1);
    }

    /// The highest erase count of a superblock less the lowest. Lost superblocks do not count.
    pub(super) fn erase_spread(&self) -> u32 {
        self.spread.get()
    }

    pub(super) fn free_of(&self, superchip: u32) -> &Free {
        &self.free[superchip as usize]
    }

    pub(super) fn free_count(&self) -> u64 {
        self.free.iter().map(|free| free.len() as u64).sum()
    }

    /// Takes a free superblock as a merge's target: the least worn superblock, or the superblock that has been free
    /// longest.
    pub(super) fn take(&mut self, superchip: u32) -> Option<u32> {
        let superblock = self.free[superchip as usize].pop()?;
        self.all[superblock as usize].state = SuperblockState::Target;
        Some(superblock)
    }

    /// Takes `superblock`, which must be free, as a merge's target.
    pub(super) fn take_this(&mut self, superblock: u32) {
        let superchip = self.split(superblock).0;
        self.free[superchip as usize].remove(superblock);
        self.all[superblock as usize].state = SuperblockState::Target;
    }

    /// Marks a merge's target as the place of a logical superblock.
    pub(super) fn map(&mut self, superblock: u32) {
        self.all[superblock as usize].state = SuperblockState::Mapped;
    }

    /// Frees a superblock whose data is obsolete, as soon as no read of it is under way.
    pub(super) fn leave(&mut self, superblock: u32) {
        let readers = self.all[superblock as usize].readers;
        self.all[superblock as usize].state =
            if readers > 0 { SuperblockState::Leaving } else { SuperblockState::Free };
        if readers == 0 {
            let superchip = self.split(superblock).0;
            self.freed += 1;
            let erases = self.erases(superblock);
            self.free[superchip as usize].push(superblock, erases, self.freed);
        }
    }

    /// A read of a superblock begins.
    #[inline]
    pub(super) fn pin(&mut self, superblock: u32) {
        self.all[superblock as usize].readers += 1;
    }

    /// A read of a superblock has ended. Returns true if the superblock is free because of that.
    #[inline]
    pub(super) fn unpin(&mut self, superblock: u32) -> bool {
        let entry = &mut self.all[superblock as usize];
        entry.readers -= 1;
        let free = entry.readers == 0 && entry.state == SuperblockState::Leaving;
        if free {
            self.leave(superblock);
        }
        free
    }

    /// Marks a superblock as lost: no spare can replace its failed block.
    pub(super) fn lose(&mut self, superblock: u32) {
        let entry = &mut self.all[superblock as usize];
        if std::mem::replace(&mut entry.state, SuperblockState::Lost) != SuperblockState::Lost {
            self.spread.remove(entry.erases);
        }
    }

    /// Replaces the block of a superblock on one die with a spare. Returns false if the die has none left.
    pub(super) fn replace(&mut self, superblock: u32, chip: u32) -> bool {
        let (superchip, position) = self.split(superblock);
        let die = self.layout.die(superchip, chip);
        let Some(spare) = self.spares[die as usize].pop_front() else { return false };
        self.stand_in(die, position, spare);
        self.replaced.push((die, position, spare));
        true
    }

    /// Removes and returns the oldest replacement that is not in the log: die, position and spare.
    pub(super) fn take_replaced(&mut self) -> Option<(u32, u32, u32)> {
        (!self.replaced.is_empty()).then(|| self.replaced.remove(0))
    }

    /// Puts a spare in use at a position of a die.
    pub(super) fn stand_in(&mut self, die: u32, position: u32, spare: u32) {
        let first = (die * self.layout.spares) as usize;
        let of_die = &mut self.stands_for[first..first + self.layout.spares as usize];
        let this = Some(NonMaxU32::new(position));
        of_die.iter_mut().filter(|other| **other == this).for_each(|other| *other = None);
        of_die[spare as usize] = this;
        self.actual[(die * self.layout.superblocks + position) as usize] = self.layout.first_spare() + spare;
    }

    /// The position of every spare in use, die by die.
    pub(super) fn stand_ins(&self) -> &[Option<NonMaxU32>] {
        &self.stands_for
    }

    /// Rebuilds the lists of spares and of free superblocks from the map and the spares in use. `mapped` lists the
    /// mapped superblocks, in any order.
    pub(super) fn take_stock(&mut self, media: &Media, mapped: impl Iterator<Item = u32>) {
        for superblock in mapped {
            self.map(superblock);
        }
        for die in 0..self.layout.dies() {
            for spare in 0..self.layout.spares {
                let idle = self.stands_for[(die * self.layout.spares + spare) as usize].is_none();
                if idle && !media.is_bad(self.block_at(die, self.layout.first_spare() + spare)) {
                    self.spares[die as usize].push_back(spare);
                }
            }
        }
        for superblock in 0..self.layout.physical() {
            if self.state(superblock) == SuperblockState::Mapped {
                continue;
            }
            let mut whole = true;
            for chip in 0..self.layout.chips {
                // Bad from the factory, or failed without a replacement in the log.
                if media.is_bad(self.block(superblock, chip)) {
                    whole &= self.replace(superblock, chip);
                }
            }
            if whole { self.leave(superblock) } else { self.lose(superblock) }
        }
    }

    /// Checks the invariants that hold between two events.
    pub(super) fn check(&self, media: &Media) {
        self.free.iter().for_each(|free| free.check(|superblock| self.erases(superblock)));
        let free: BTreeSet<u32> = self.free.iter().flat_map(Free::iter).collect();
        assert_eq!(free.len() as u64, self.free_count(), "a superblock is free twice");
        let used =
            self.all.iter().filter(|superblock| superblock.state != SuperblockState::Lost).map(|used| used.erases);
        let least = used.clone().min().unwrap_or(0);
        assert_eq!(self.spread.get(), used.max().unwrap_or(0) - least, "the spread of the erase counts");
        for superblock in 0..self.layout.physical() {
            let entry = &self.all[superblock as usize];
            let listed = free.contains(&superblock);
            assert_eq!(listed, entry.state == SuperblockState::Free, "superblock {superblock} is {:?}", entry.state);
            assert!(
                entry.state != SuperblockState::Leaving || entry.readers > 0,
                "superblock {superblock} leaves for ever"
            );
            let idle = matches!(entry.state, SuperblockState::Free | SuperblockState::Lost);
            assert!(!idle || entry.readers == 0, "superblock {superblock} is read and {:?}", entry.state);
            if matches!(entry.state, SuperblockState::Mapped | SuperblockState::Free) {
                let bad = (0..self.layout.chips).any(|chip| media.is_bad(self.block(superblock, chip)));
                assert!(!bad, "superblock {superblock}, which is {:?}, has a bad block", entry.state);
            }
        }
        for die in 0..self.layout.dies() {
            let positions = die * self.layout.superblocks..(die + 1) * self.layout.superblocks;
            let mut blocks: Vec<_> = self.actual[positions.start as usize..positions.end as usize].to_vec();
            blocks.extend(self.spares[die as usize].iter().map(|spare| self.layout.first_spare() + spare));
            let count = blocks.len();
            blocks.sort_unstable();
            blocks.dedup();
            assert_eq!(blocks.len(), count, "a block of die {die} is in two places");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use flash::nand::{FaultSpec, Faults};

    const LAYOUT: Layout =
        Layout { buses: 2, chips: 2, superchips: 2, sectors: 4, pages: 4, superblocks: 3, spares: 1, logical: 4 };

    fn stock(least_worn: bool) -> (Superblocks, Media) {
        let geometry = Geometry::new(1, 4, 1, 1, 1, 5, 4, 1, 4).expect("a small array");
        let media = Media::new(geometry.clone(), 100, 1, Faults::new(&FaultSpec::default(), 1));
        (Superblocks::new(LAYOUT, &geometry, least_worn), media)
    }

    #[test]
    fn superblock_tables_take_the_memory_they_predict() {
        let (mut superblocks, media) = stock(true);
        superblocks.take_stock(&media, std::iter::empty());
        let tables = [size_of_val(&*superblocks.actual), size_of_val(&*superblocks.stands_for)];
        let number = size_of::<u32>();
        let spares = superblocks.spares.iter().map(|spares| spares.len() * number).sum::<usize>();
        let free = superblocks.free.iter().map(Free::taken).sum::<usize>();
        let taken = size_of_val(&*superblocks.all) + tables.iter().sum::<usize>() + spares + free;
        assert_eq!(Superblocks::memory(&LAYOUT), taken as u64);
    }

    #[test]
    fn the_least_worn_or_the_oldest_free_superblock_is_taken() {
        for (least_worn, order) in [(true, [4, 3, 5]), (false, [3, 4, 5])] {
            let (mut superblocks, media) = stock(least_worn);
            [2, 1, 5].into_iter().enumerate().for_each(|(i, erases)| superblocks.set_erases(3 + i as u32, erases));
            superblocks.take_stock(&media, std::iter::empty());
            assert_eq!(superblocks.free_count(), 6);
            assert_eq!([0; 3].map(|_| superblocks.take(1)), order.map(Some));
            assert_eq!((superblocks.free_count(), superblocks.take(1)), (3, None));
            superblocks.check(&media);
        }
    }

    #[test]
    fn a_superblock_under_read_is_not_free() {
        let (mut superblocks, media) = stock(true);
        superblocks.take_stock(&media, [4].into_iter());
        superblocks.pin(4);
        superblocks.leave(4);
        let free = |superblocks: &Superblocks| superblocks.free_of(1).iter().collect::<BTreeSet<_>>();
        assert_eq!((superblocks.state(4), free(&superblocks)), (SuperblockState::Leaving, [3, 5].into()));
        superblocks.check(&media);
        assert!(superblocks.unpin(4));
        assert_eq!(free(&superblocks), [3, 4, 5].into());
        superblocks.check(&media);
    }

    #[test]
    fn a_spare_block_replaces_a_bad_one_until_none_is_left() {
        let (mut superblocks, mut media) = stock(true);
        // Die 2 is the first of superchip 1: its blocks 0 and 1 are bad from the factory, and it has one spare.
        media.retire(SuperblockId::new(10));
        media.retire(SuperblockId::new(11));
        superblocks.take_stock(&media, std::iter::empty());
        assert_eq!(superblocks.block(3, 0), SuperblockId::new(13), "the spare");
        assert_eq!(superblocks.block(3, 1), SuperblockId::new(15), "the other die has no need");
        assert_eq!((superblocks.state(3), superblocks.state(4)), (SuperblockState::Free, SuperblockState::Lost));
        superblocks.set_erases(4, 9);
        assert_eq!(superblocks.erase_spread(), 0, "a lost superblock does not count");
        superblocks.take_this(5);
        superblocks.erased(5);
        assert_eq!(superblocks.erase_spread(), 1);
        assert_eq!(superblocks.stand_ins(), [None, None, Some(NonMaxU32::new(0)), None]);
        superblocks.check(&media);
    }
}
