//! The merges that have not ended, and the queue of those that have not begun.

use std::collections::VecDeque;
use std::ops::{Index, IndexMut};

use base::engine::Handle;
use base::units::SuperblockId;
use flash::backend::{Cause, Command};

use super::journal::Journal;
use super::mapping::Mapping;
use super::superblocks::{SuperblockState, Superblocks};
use crate::port::{Owners, PageWrite, Service};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MergeStage {
    /// The slot of the table is free.
    Nothing,
    /// The merge waits for a controller, for another merge of the superblock, or for a free superblock.
    Waiting,
    /// The target is being erased.
    Erasing,
    /// The rows are being copied and programmed.
    Copying,
    /// The target is complete; its log record is not on flash yet.
    Logging,
}

/// A merge: an entry of the table of merges. The entry is reused after the merge has ended.
#[derive(Clone, Debug)]
pub(super) struct Merge {
    pub(super) stage: MergeStage,
    pub(super) logical: u32,
    /// The target superblock, once the merge has begun.
    pub(super) target: u32,
    /// The reason for the merge: a host write or wear levelling.
    cause: Cause,
    /// The mapping units to write, by row.
    pub(super) units: Vec<PageWrite>,
    /// The dies whose part of the merge is not done, one bit each.
    pub(super) chips: u64,
    /// Die and block of each failed program: the merge copies the rows of such a block to a spare.
    pub(super) failing: Vec<(u32, SuperblockId)>,
    /// True once the erase of the target has been counted.
    pub(super) erased: bool,
    pub(super) service: Service,
}

impl Merge {
    /// The cause that the merge's erases and copies are accounted to.
    pub(super) fn why(&self) -> Cause {
        match self.cause {
            _ if !self.failing.is_empty() => Cause::Recovery,
            Cause::Wear => Cause::Wear,
            _ => Cause::Merge,
        }
    }
}

#[derive(Clone, Copy, Debug)]
pub(super) struct Blocks {
    /// True if the die has all its pages of the merge.
    pub(super) is_done: bool,
    pub(super) target: SuperblockId,
    /// The block of the old content, if there is any.
    pub(super) source: Option<SuperblockId>,
    /// A block in which a program of this merge failed.
    pub(super) failing: Option<SuperblockId>,
    /// The latest command of the list that is being built.
    pub(super) last: Option<Handle<Command>>,
}

/// The merges that have not ended.
#[derive(Clone, Debug)]
pub(super) struct Merges {
    slots: Vec<Merge>,
    /// Indices of the free entries in `slots`.
    idle: Vec<u32>,
    pub(super) waiting: VecDeque<u32>,
    /// Merges that controllers work on now, and the limit: the number of controllers, or of superchips if that number
    /// is not given.
    pub(super) working: u32,
    pub(super) at_once: u32,
    /// The blocks of the merge that is being built, by die of its superchip.
    pub(super) blocks: Vec<Blocks>,
    /// True if all merges are refused, because the FTL cannot write its log.
    pub(super) read_only: bool,
}

impl Index<u32> for Merges {
    type Output = Merge;

    #[inline]
    fn index(&self, number: u32) -> &Merge {
        &self.slots[number as usize]
    }
}

impl IndexMut<u32> for Merges {
    #[inline]
    fn index_mut(&mut self, number: u32) -> &mut Merge {
        &mut self.slots[number as usize]
    }
}

impl Merges {
    pub(super) const fn new(at_once: u32) -> Self {
        Self {
            slots: Vec::new(),
            idle: Vec::new(),
            waiting: VecDeque::new(),
            working: 0,
            at_once,
            blocks: Vec::new(),
            read_only: false,
        }
    }

    /// The merge of a logical superblock, if that merge is at `stage`.
    pub(super) fn find(&self, logical: u32, stage: MergeStage) -> Option<u32> {
        let is_it = |merge: &Merge| merge.logical == logical && merge.stage == stage;
        self.slots.iter().position(is_it).map(|number| number as u32)
    }

    /// True if a controller is free for another merge.
    pub(super) const fn has_controller(&self) -> bool {
        self.working < self.at_once
    }

    pub(super) fn is_any_waiting(&self) -> bool {
        !self.waiting.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.iter().all(|merge| merge.stage == MergeStage::Nothing)
    }

    /// Queues a merge of mapping units of one logical superblock.
    pub(super) fn queue(&mut self, logical: u32, cause: Cause, units: impl Iterator<Item = PageWrite>) {
        let number = self.add(logical, cause);
        self.slots[number as usize].units.extend(units);
        self.waiting.push_back(number);
    }

    /// Adds a merge without mapping units to the table.
    pub(super) fn add(&mut self, logical: u32, cause: Cause) -> u32 {
        let number = self.idle.pop().unwrap_or_else(|| {
            self.slots.push(Merge {
                stage: MergeStage::Nothing,
                logical,
                target: 0,
                cause,
                units: Vec::new(),
                chips: 0,
                failing: Vec::new(),
                erased: false,
                service: Service::NONE,
            });
            self.slots.len() as u32 - 1
        });
        let merge = &mut self.slots[number as usize];
        (merge.stage, merge.logical, merge.cause) = (MergeStage::Waiting, logical, cause);
        merge.units.clear();
        number
    }

    pub(super) fn remove(&mut self, number: u32) {
        self.slots[number as usize].stage = MergeStage::Nothing;
        self.idle.push(number);
    }

    /// True if the superchip has a merge at one of these stages.
    fn merging(&self, mapping: &Mapping, superchip: u32, stages: &[MergeStage]) -> bool {
        let of = |merge: &Merge| mapping.layout.superchip_of(merge.logical) == superchip;
        self.slots.iter().any(|merge| stages.contains(&merge.stage) && of(merge))
    }

    /// The queue position of the next merge: the first that can begin on a superchip without merges, or else the first
    /// that can begin.
    pub(super) fn next(&self, mapping: &Mapping, superblocks: &Superblocks) -> Option<usize> {
        let busy = [MergeStage::Erasing, MergeStage::Copying, MergeStage::Logging];
        let can = |number: u32| {
            let logical = self.slots[number as usize].logical;
            let other = self.slots.iter().any(|merge| merge.logical == logical && busy.contains(&merge.stage));
            !other && !superblocks.free_of(mapping.layout.superchip_of(logical)).is_empty()
        };
        let mut able = self.waiting.iter().enumerate().filter(|(_, number)| can(**number));
        let first = able.clone().next()?.0;
        let idle = able.find(|(_, number)| {
            let superchip = mapping.layout.superchip_of(self.slots[**number as usize].logical);
            !self.merging(mapping, superchip, &[MergeStage::Erasing, MergeStage::Copying])
        });
        Some(idle.map_or(first, |(place, _)| place))
    }

    /// Refuses the merges that wait for a superblock or a log that will never be available.
    pub(super) fn refuse_hopeless(
        &mut self,
        mapping: &Mapping,
        superblocks: &Superblocks,
        journal: &Journal,
        owners: &mut dyn Owners,
    ) {
        self.read_only |= journal.is_stuck();
        let under_way = [MergeStage::Erasing, MergeStage::Copying, MergeStage::Logging];
        let mut place = 0;
        while place < self.waiting.len() {
            let number = self.waiting[place];
            let superchip = mapping.layout.superchip_of(self.slots[number as usize].logical);
            let hope = !superblocks.free_of(superchip).is_empty()
                || self.merging(mapping, superchip, &under_way)
                || superblocks.is_any(superchip, SuperblockState::Leaving);
            if hope && !self.read_only {
                place += 1;
                continue;
            }
            self.waiting.remove(place);
            self.refuse(owners, number);
        }
        if self.read_only {
            for number in 0..self.slots.len() {
                if self.slots[number].stage == MergeStage::Logging {
                    self.refuse(owners, number as u32);
                }
            }
        }
    }

    fn refuse(&mut self, owners: &mut dyn Owners, number: u32) {
        for i in 0..self.slots[number as usize].units.len() {
            owners.write_refused(self.slots[number as usize].units[i].owner);
        }
        self.remove(number);
    }

    /// Checks the invariants that hold between two events.
    pub(super) fn check(&self, journal: &Journal, targets: usize) {
        let under_way = |stage| !matches!(stage, MergeStage::Nothing | MergeStage::Waiting);
        let merges: Vec<_> = self.slots.iter().filter(|merge| under_way(merge.stage)).collect();
        assert!(merges.len() == targets || self.read_only, "{targets} targets of {} merges", merges.len());
        let working = merges.iter().filter(|merge| merge.stage != MergeStage::Logging).count();
        assert_eq!(working, self.working as usize, "merges that are worked on");
        let mut logical: Vec<_> = merges.iter().map(|merge| merge.logical).collect();
        logical.sort_unstable();
        assert!(logical.windows(2).all(|pair| pair[0] != pair[1]), "two merges of a logical superblock at once");
        let waiting = self.slots.iter().filter(|merge| merge.stage == MergeStage::Waiting).count();
        assert_eq!(waiting, self.waiting.len(), "merges that wait");
        // If nothing were writing the log, merges at this stage would wait for ever.
        let logging = merges.iter().any(|merge| merge.stage == MergeStage::Logging);
        assert!(!logging || !journal.is_idle(), "a merge waits for a log that is not written");
    }
}
