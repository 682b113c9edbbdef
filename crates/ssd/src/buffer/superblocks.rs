//! The superblock policy: all units of one superblock leave the buffer together (Seong et al., Sec. 3.2).
//!
//! Dirty units are listed by superblock, and the superblocks by age. Writing back begins when the buffer is above its
//! watermark or holds units of too many superblocks. It goes on until only the superblock that the host wrote last is
//! left (Sec. 4.1). The paper gives no order; here the oldest goes first.

use std::collections::HashMap;
use std::hash::BuildHasherDefault;

use base::engine::Handle;
use base::steps;

use super::BufferEntry;
use super::multiply::Multiply;

/// The dirty units of one superblock, and the number of its units on their way to flash.
#[derive(Clone, Debug, Default)]
struct SuperblockGroup {
    dirty: Vec<Handle<BufferEntry>>,
    flushing: u32,
    /// The epoch of the oldest dirty unit, or an earlier epoch.
    epoch: u64,
    /// The next older superblock with dirty units, `None` if this superblock is the oldest.
    older: Option<u32>,
    younger: Option<u32>,
}

/// All superblocks that have units in the buffer.
#[derive(Clone, Debug)]
pub(super) struct Superblocks {
    units: u32,
    /// The buffer writes back if it has units of more superblocks than this.
    most: u32,
    groups: HashMap<u32, SuperblockGroup, BuildHasherDefault<Multiply>>,
    dirty: u32,
    oldest: Option<u32>,
    youngest: Option<u32>,
    /// The superblock that the host wrote last.
    latest: Option<u32>,
    draining: bool,
    /// Unused lists, so that a superblock that comes and goes takes no new memory.
    spare: Vec<Vec<Handle<BufferEntry>>>,
}

impl Superblocks {
    pub(super) fn new(units: u32, most: u32) -> Self {
        Self {
            units,
            most,
            groups: HashMap::default(),
            dirty: 0,
            oldest: None,
            youngest: None,
            latest: None,
            draining: false,
            spare: Vec::new(),
        }
    }

    const fn of(&self, unit: u32) -> u32 {
        unit / self.units
    }

    /// Notes the superblock of a unit as the superblock that the host wrote last.
    pub(super) fn touch(&mut self, unit: u32) {
        self.latest = Some(self.of(unit));
    }

    pub(super) fn add(&mut self, unit: u32, entry: Handle<BufferEntry>, epoch: u64) {
        let superblock = self.of(unit);
        let spare = &mut self.spare;
        let group = self.groups.entry(superblock).or_insert_with(|| SuperblockGroup {
            dirty: spare.pop().unwrap_or_default(),
            ..SuperblockGroup::default()
        });
        let first = group.dirty.is_empty();
        group.epoch = if first { epoch } else { group.epoch.min(epoch) };
        group.dirty.push(entry);
        if first {
            self.link(superblock);
        }
    }

    /// Lists a superblock as the youngest with dirty units.
    fn link(&mut self, superblock: u32) {
        let older = self.youngest.replace(superblock);
        match older {
            None => self.oldest = Some(superblock),
            Some(older) => self.group(older).younger = Some(superblock),
        }
        let group = self.group(superblock);
        (group.older, group.younger) = (older, None);
        self.dirty += 1;
    }

    /// Takes a superblock without dirty units from the list.
    fn unlink(&mut self, superblock: u32) {
        let SuperblockGroup { older, younger, .. } = *self.group(superblock);
        match older {
            None => self.oldest = younger,
            Some(older) => self.group(older).younger = younger,
        }
        match younger {
            None => self.youngest = older,
            Some(younger) => self.group(younger).older = older,
        }
        self.dirty -= 1;
    }

    fn group(&mut self, superblock: u32) -> &mut SuperblockGroup {
        self.groups.get_mut(&superblock).expect("a listed superblock has units")
    }

    /// The superblocks with dirty units, the oldest first.
    fn order(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::successors(self.oldest, |superblock| self.groups[superblock].younger).inspect(|_| steps::count())
    }

    /// Makes the flushes of this epoch wait for a dirty unit.
    pub(super) fn urge(&mut self, unit: u32, epoch: u64) {
        let group = self.groups.get_mut(&self.of(unit)).expect("a dirty unit has a superblock");
        group.epoch = group.epoch.min(epoch);
    }

    pub(super) fn remove(&mut self, unit: u32, entry: Handle<BufferEntry>) {
        let superblock = self.of(unit);
        let group = self.groups.get_mut(&superblock).expect("a dirty unit has a superblock");
        let place = group.dirty.iter().position(|other| *other == entry).expect("it is dirty");
        group.dirty.swap_remove(place);
        if group.dirty.is_empty() {
            self.unlink(superblock);
            self.forget(superblock);
        }
    }

    /// Notes that a unit is no longer on its way to flash.
    pub(super) fn flushed(&mut self, unit: u32) {
        let superblock = self.of(unit);
        self.groups.get_mut(&superblock).expect("a unit under way has a superblock").flushing -= 1;
        self.forget(superblock);
    }

    /// Drops an empty superblock.
    fn forget(&mut self, superblock: u32) {
        let group = &self.groups[&superblock];
        if group.dirty.is_empty() && group.flushing == 0 {
            let group = self.groups.remove(&superblock).expect("it was there");
            self.spare.push(group.dirty);
        }
    }

    /// The superblock to write back now. Reasons: the buffer is `full` beyond its watermark or has too many
    /// superblocks, a flush waits for an `epoch`, or a write `waits` for room that nothing under way makes. A
    /// superblock with units on their way waits until they have arrived.
    pub(super) fn due(&mut self, full: bool, epoch: Option<u64>, waits: bool) -> Option<u32> {
        if let Some(epoch) = epoch
            && let Some(urgent) = self.ready().find(|superblock| self.groups[superblock].epoch <= epoch)
        {
            return Some(urgent);
        }
        self.draining |= full || self.dirty > self.most;
        let others = self.order().any(|superblock| Some(superblock) != self.latest);
        self.draining &= others;
        let older = self.draining.then(|| self.ready().find(|superblock| Some(*superblock) != self.latest)).flatten();
        older.or_else(|| waits.then(|| self.ready().next()).flatten())
    }

    /// The superblocks that can be written back now, the oldest first.
    fn ready(&self) -> impl Iterator<Item = u32> + '_ {
        self.order().filter(|superblock| self.groups[superblock].flushing == 0)
    }

    /// Takes a dirty unit of a superblock to write it back.
    pub(super) fn next(&mut self, superblock: u32) -> Option<Handle<BufferEntry>> {
        let group = self.groups.get_mut(&superblock)?;
        let entry = group.dirty.pop()?;
        group.flushing += 1;
        if group.dirty.is_empty() {
            self.unlink(superblock);
        }
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::buffer::{Buffer, InsertionResult};
    use crate::spec::{ResolvedBuffer, ResolvedSuperblocks};
    use base::units::Lpn;
    use flash::nand::{SectorKind, SectorMask, Stamp};
    use ftl::Origin;
    use proptest::prelude::*;
    use std::num::NonZeroU32;

    /// Superblocks of four mapping units of four sectors. The buffer has 24 sectors and writes back above 16 sectors or
    /// above 3 superblocks.
    fn buffer() -> Buffer {
        let superblocks = ResolvedSuperblocks { units: 4, most: 3, sectors: 24, high: 16 };
        Buffer::new(
            ResolvedBuffer { superblocks: Some(superblocks), ..ResolvedBuffer::default() },
            SectorKind::Stamp,
            4,
            1,
        )
    }

    fn take(buffer: &mut Buffer, unit: u32, mask: SectorMask) -> InsertionResult {
        buffer.put(
            Lpn::new(unit),
            0,
            mask,
            (&[0, 1, 2, 3].map(|i| Stamp(u64::from(unit) * 10 + i)), 0),
            Origin::default(),
        )
    }

    /// Writes back all superblocks that are due, and returns the mapping units of each.
    fn write_back(buffer: &mut Buffer, flush: Option<u64>, waits: bool) -> Vec<Vec<Handle<BufferEntry>>> {
        let mut all = Vec::new();
        while let Some(superblock) = buffer.is_due(1, flush, waits, |_, _| true) {
            all.push(std::iter::from_fn(|| buffer.next_to_write(superblock)).collect());
        }
        all
    }

    fn units(buffer: &Buffer, entries: &[Vec<Handle<BufferEntry>>]) -> Vec<Vec<u32>> {
        let sorted = |entries: &Vec<Handle<BufferEntry>>| {
            let mut units: Vec<_> = entries.iter().map(|entry| buffer.entry(*entry).lpn.get()).collect();
            units.sort_unstable();
            units
        };
        entries.iter().map(sorted).collect()
    }

    #[test]
    fn the_watermark_counts_sectors() {
        let mut b = buffer();
        (0..4).for_each(|unit| assert_eq!(take(&mut b, unit, 0b1111), InsertionResult::New));
        assert_eq!(write_back(&mut b, None, false).len(), 0, "16 sectors of one superblock");
        (4..12).for_each(|unit| assert_eq!(take(&mut b, unit, 0b1), InsertionResult::New));
        assert_eq!(take(&mut b, 4, 0b1), InsertionResult::Absorbed, "nothing new");
        assert_eq!((take(&mut b, 4, 0b11), take(&mut b, 12, 0b1)), (InsertionResult::Full, InsertionResult::Full));
    }

    #[test]
    fn above_the_watermark_all_superblocks_but_the_last_written_go_oldest_first() {
        let mut b = buffer();
        [9, 2, 8, 0, 5].into_iter().for_each(|unit| _ = take(&mut b, unit, 0b111));
        take(&mut b, 1, 0b11);
        assert_eq!(b.is_due(1, None, false, |_, _| true), Some(2), "17 sectors");
        let out = write_back(&mut b, None, false);
        assert_eq!(units(&b, &out), [vec![8, 9], vec![5]], "superblock 0 was written last");
        out.into_iter().flatten().for_each(|entry| assert_eq!(b.flushed(entry), None));
        assert_eq!(b.len(), 3);
        assert_eq!(b.is_due(1, None, false, |_, _| true), None);
    }

    #[test]
    fn write_back_ends_when_only_the_last_written_superblock_is_left() {
        let mut b = buffer();
        [9, 2, 8, 5, 0, 1].into_iter().for_each(|unit| _ = take(&mut b, unit, 0b111));
        let out = write_back(&mut b, None, false);
        out.into_iter().flatten().for_each(|entry| assert_eq!(b.flushed(entry), None));
        take(&mut b, 12, 1);
        assert_eq!(b.is_due(1, None, false, |_, _| true), None, "seven sectors of two superblocks");
    }

    #[test]
    fn too_many_superblocks_start_write_back() {
        let mut b = buffer();
        [0, 4, 8].into_iter().for_each(|unit| _ = take(&mut b, unit, 1));
        assert_eq!(b.is_due(1, None, false, |_, _| true), None);
        take(&mut b, 12, 1);
        let out = write_back(&mut b, None, false);
        assert_eq!(units(&b, &out), [[0], [4], [8]]);
    }

    #[test]
    fn a_flush_writes_back_the_last_written_superblock_too() {
        let mut b = buffer();
        take(&mut b, 0, 1);
        take(&mut b, 4, 1);
        let flush = b.begin_flush();
        take(&mut b, 8, 1);
        let out = write_back(&mut b, Some(flush), false);
        assert_eq!(units(&b, &out), [[0], [4]], "data written after the flush stays");
        assert!(!b.is_durable(flush));
        out.into_iter().flatten().for_each(|entry| _ = b.flushed(entry));
        assert!(b.is_durable(flush));
    }

    #[test]
    fn a_write_without_room_writes_back_the_last_written_superblock() {
        let mut b = buffer();
        (0..4).for_each(|unit| _ = take(&mut b, unit, 0b1111));
        assert_eq!(b.is_due(1, None, true, |_, _| true), Some(0));
        let out = write_back(&mut b, None, true);
        assert_eq!(out[0].len(), 4);
        assert_eq!(b.is_due(1, None, true, |_, _| true), None, "room will come");
    }

    #[test]
    fn a_superblock_under_write_back_is_written_back_again_only_after_it() {
        let mut b = buffer();
        take(&mut b, 0, 1);
        let flush = b.begin_flush();
        let out = write_back(&mut b, Some(flush), false);
        assert_eq!(take(&mut b, 0, 0b10), InsertionResult::New);
        assert_eq!(take(&mut b, 1, 0b10), InsertionResult::New);
        let again = b.begin_flush();
        assert_eq!(b.is_due(1, Some(again), false, |_, _| true), None, "the superblock is being written back");
        b.flushed(out[0][0]);
        assert!(b.is_durable(flush) && !b.is_durable(again));
        let out = write_back(&mut b, Some(again), false);
        assert_eq!(units(&b, &out), [[0, 1]]);
        assert_eq!(b.entry(out[0][0]).mask | b.entry(out[0][1]).mask, 0b11, "both sectors of the first go again");
        out.into_iter().flatten().for_each(|entry| _ = b.flushed(entry));
        assert!(b.is_durable(again));
        assert_eq!(b.len(), 0);
    }

    #[test]
    fn a_superblock_that_the_ftl_does_not_take_stays_and_absorbs() {
        let mut b = buffer();
        [0, 4, 8, 12].into_iter().for_each(|unit| _ = take(&mut b, unit, 1));
        let takes = |_: u32, under_way: u32| under_way == 0;
        let first = b.is_due(1, None, false, takes).expect("too many superblocks");
        let out: Vec<_> = std::iter::from_fn(|| b.next_to_write(first)).collect();
        assert_eq!(b.is_due(1, None, false, takes), None);
        assert_eq!(take(&mut b, 4, 0b10), InsertionResult::Absorbed);
        assert_eq!(b.flushed(out[0]), None);
        assert_eq!(b.is_due(1, None, false, takes), Some(2), "write-back goes on, and 1 was written last");
    }

    proptest! {
        /// Compares the list with a vector of the superblocks with dirty units.
        #[test]
        fn superblocks_leave_in_the_order_in_which_they_became_dirty(
            steps in prop::collection::vec((0..6u32, 0..3u32), 0..80),
        ) {
            let mut superblocks = Superblocks::new(1, 6);
            let (mut order, mut flushing) = (Vec::new(), Vec::new());
            let handle = |unit: u32| Handle::from_number(NonZeroU32::new(unit + 1).expect("above zero"));
            for (unit, step) in steps {
                match (step, order.contains(&unit)) {
                    (0, false) => {
                        superblocks.add(unit, handle(unit), 0);
                        order.push(unit);
                    }
                    (1, true) => superblocks.remove(unit, handle(unit)),
                    (2, true) => {
                        prop_assert_eq!(superblocks.next(unit), Some(handle(unit)));
                        flushing.push(unit);
                    }
                    _ => {
                        if let Some(place) = flushing.iter().position(|other| *other == unit) {
                            flushing.swap_remove(place);
                            superblocks.flushed(unit);
                        }
                        continue;
                    }
                }
                if step > 0 {
                    order.retain(|other| *other != unit);
                }
                prop_assert_eq!(superblocks.order().collect::<Vec<_>>(), order.clone());
                prop_assert_eq!(superblocks.dirty as usize, order.len());
                let ready = order.iter().copied().find(|superblock| !flushing.contains(superblock));
                prop_assert_eq!(superblocks.due(false, None, true), ready);
            }
        }
    }

    #[test]
    fn a_discarded_mapping_unit_leaves_its_superblock() {
        let mut b = buffer();
        take(&mut b, 0, 1);
        take(&mut b, 4, 1);
        let flush = b.begin_flush();
        b.discard(Lpn::new(0)).into_iter().for_each(|epoch| b.written(epoch));
        let out = write_back(&mut b, Some(flush), false);
        assert_eq!(units(&b, &out), [[4]]);
        b.discard(Lpn::new(4)).into_iter().for_each(|epoch| b.written(epoch));
        assert_eq!(b.flushed(out[0][0]), Some(Lpn::new(4)));
        assert!(b.is_durable(flush));
        (0..6).for_each(|unit| assert_eq!(take(&mut b, unit, 0b1111), InsertionResult::New, "all room is free again"));
    }
}
