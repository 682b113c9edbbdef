//! What leaves the buffer when all that belongs to one superblock leaves together (Seong et al., Sec. 3.2).
//!
//! Dirty units are listed by superblock, and the superblocks by how long they have been there. Writing back begins when
//! the buffer holds more than its watermark or units of more superblocks than it should, and goes on until only the
//! superblock is left that the host wrote last (Sec. 4.1). The paper gives no order; here the oldest goes first.

use std::collections::{HashMap, VecDeque};
use std::hash::BuildHasherDefault;

use flash::engine::Handle;

use super::{Entry, Multiply};

/// The dirty units of one superblock, and how many of its units are on their way to flash.
#[derive(Clone, Debug, Default)]
struct Group {
    dirty: Vec<Handle<Entry>>,
    flushing: u32,
    /// The epoch of the oldest dirty unit, or an older one.
    epoch: u64,
}

/// All superblocks that the buffer has something of.
#[derive(Clone, Debug)]
pub(super) struct Superblocks {
    /// Units in a superblock.
    units: u32,
    /// Above so many superblocks it writes back.
    most: u32,
    groups: HashMap<u32, Group, BuildHasherDefault<Multiply>>,
    /// Superblocks with dirty units, the oldest first.
    order: VecDeque<u32>,
    /// The superblock that was written last.
    latest: Option<u32>,
    draining: bool,
    /// Lists that are not in use, so that a superblock that comes and goes takes no new memory.
    spare: Vec<Vec<Handle<Entry>>>,
}

impl Superblocks {
    pub(super) fn new(units: u32, most: u32) -> Self {
        Self {
            units,
            most,
            groups: HashMap::default(),
            order: VecDeque::new(),
            latest: None,
            draining: false,
            spare: Vec::new(),
        }
    }

    const fn of(&self, unit: u32) -> u32 {
        unit / self.units
    }

    /// The host writes a unit.
    pub(super) fn touch(&mut self, unit: u32) {
        self.latest = Some(self.of(unit));
    }

    /// A unit is dirty.
    pub(super) fn add(&mut self, unit: u32, entry: Handle<Entry>, epoch: u64) {
        let superblock = self.of(unit);
        let spare = &mut self.spare;
        let group = self.groups.entry(superblock).or_insert_with(|| Group {
            dirty: spare.pop().unwrap_or_default(),
            ..Group::default()
        });
        if group.dirty.is_empty() {
            group.epoch = epoch;
            self.order.push_back(superblock);
        }
        group.epoch = group.epoch.min(epoch);
        group.dirty.push(entry);
    }

    /// A dirty unit is gone.
    pub(super) fn remove(&mut self, unit: u32, entry: Handle<Entry>) {
        let superblock = self.of(unit);
        let group = self.groups.get_mut(&superblock).expect("a dirty unit has a superblock");
        let place = group.dirty.iter().position(|other| *other == entry).expect("it is dirty");
        group.dirty.swap_remove(place);
        if group.dirty.is_empty() {
            self.order.retain(|other| *other != superblock);
            self.forget(superblock);
        }
    }

    /// A unit is on its way to flash no longer.
    pub(super) fn flushed(&mut self, unit: u32) {
        let superblock = self.of(unit);
        self.groups.get_mut(&superblock).expect("a unit under way has a superblock").flushing -= 1;
        self.forget(superblock);
    }

    /// Drops a superblock that nothing is left of.
    fn forget(&mut self, superblock: u32) {
        let group = &self.groups[&superblock];
        if group.dirty.is_empty() && group.flushing == 0 {
            let group = self.groups.remove(&superblock).expect("it was there");
            self.spare.push(group.dirty);
        }
    }

    /// The superblock that is to be written back now: if the buffer is `full` beyond its watermark or has too many
    /// superblocks, or because of a flush that waits for an `epoch`, or because a write `waits` for room and nothing
    /// is under way that makes some. A superblock of which units are on their way is left until they have arrived.
    pub(super) fn due(&mut self, full: bool, epoch: Option<u64>, waits: bool) -> Option<u32> {
        let mut ready = self.order.iter().copied().filter(|superblock| self.groups[superblock].flushing == 0);
        if let Some(epoch) = epoch
            && let Some(urgent) = ready.clone().find(|superblock| self.groups[superblock].epoch <= epoch)
        {
            return Some(urgent);
        }
        self.draining |= full || self.order.len() > self.most as usize;
        self.draining &= self.order.iter().any(|superblock| Some(*superblock) != self.latest);
        let older = ready.clone().find(|superblock| self.draining && Some(*superblock) != self.latest);
        older.or_else(|| ready.next().filter(|_| waits))
    }

    /// Takes a dirty unit of a superblock to write it back.
    pub(super) fn next(&mut self, superblock: u32) -> Option<Handle<Entry>> {
        let group = self.groups.get_mut(&superblock)?;
        let entry = group.dirty.pop()?;
        group.flushing += 1;
        if group.dirty.is_empty() {
            self.order.retain(|other| *other != superblock);
        }
        Some(entry)
    }
}
