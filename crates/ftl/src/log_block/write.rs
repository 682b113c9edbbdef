//! Writes of the host: each page goes to a log block or waits, and is programmed with the others of its die.

use base::engine::Handle;
use base::units::{DieId, SuperblockId};
use flash::backend::{Cause, Class, List};
use flash::nand::{Stream, Target};

use super::address::Lbn;
use super::allocate::Use;
use super::awaited::AwaitedEvent;
use super::block_manager::BlockManager;
use super::heap::HeapEntry;
use super::logs::{LogId, Role};
use super::policy::Choice;
use super::waiting::WaitingWrites;
use super::{ListTag, LogBlockConfig, LogBlockFtl};
use crate::port::{Flash, Owners, PageWrite};
use crate::toolkit::{DieLists, Gates, push_unit, read_rest};

/// The writes of the host on their way to the flash.
#[derive(Clone, Debug)]
pub(super) struct Writer {
    pub(super) waiting: WaitingWrites,
    /// The open lists of the current request.
    lists: DieLists<Handle<List>>,
    /// The dies of the current request's data blocks.
    pub(super) request_dies: Vec<DieId>,
    pub(super) gates: Gates<SuperblockId>,
    /// Free blocks that merges need.
    reserve: u32,
}

impl Writer {
    pub(super) fn new(config: &LogBlockConfig) -> Self {
        Self {
            waiting: WaitingWrites::new(config.address().blocks()),
            lists: DieLists::new(config.geometry.die_count()),
            request_dies: Vec::new(),
            gates: Gates::default(),
            reserve: config.spec.reserve(),
        }
    }

    /// Submits the lists of programs, one for each die.
    pub(super) fn send(&mut self, blocks: &mut BlockManager, flash: &mut Flash<'_>) {
        while let Some(list) = self.lists.pop_first() {
            blocks.submit(flash, list);
        }
    }
}

impl LogBlockFtl {
    /// Places the waiting writes for which there is room now.
    pub(super) fn resume(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        let mut last = 0;
        while let Some(HeapEntry { number, lbn }) = self.next_waiting() {
            debug_assert!(last < number, "a pass goes from old to young");
            last = number;
            let unit = self.writer.waiting.take(lbn);
            self.writer.request_dies.clear();
            match self.place(flash, owners, &unit) {
                Ok(()) => self.writer.waiting.placed(lbn),
                Err(awaited) => self.writer.waiting.refuse(lbn, awaited),
            }
        }
        self.writer.waiting.end_pass();
        self.writer.send(&mut self.blocks, flash);
    }

    /// The logical block with the oldest waiting write that is worth an attempt. A heap that is not worth an attempt
    /// stays so during a pass: placed writes and queued merges only take room.
    fn next_waiting(&self) -> Option<HeapEntry> {
        let oldest = |awaited| self.writer.waiting.oldest_in(awaited);
        let mut next = oldest(AwaitedEvent::Nothing);
        for awaited in [AwaitedEvent::Log, AwaitedEvent::Sequential, AwaitedEvent::DataBlock] {
            let older = oldest(awaited).filter(|entry| next.is_none_or(|next| *entry < next));
            next = older.filter(|entry| self.is_worth_trying(awaited, entry.lbn)).or(next);
        }
        next
    }

    /// True if an attempt to place the oldest write of a logical block could place it or queue a merge.
    pub(super) fn is_worth_trying(&self, awaited: AwaitedEvent, lbn: Lbn) -> bool {
        match awaited {
            AwaitedEvent::Nothing | AwaitedEvent::DataBlock => true,
            AwaitedEvent::Merge => false,
            AwaitedEvent::Log | AwaitedEvent::Sequential => {
                let (_, offset) = self.mapping.address.split(self.writer.waiting.first(lbn).lpn);
                self.could_follow(self.mapping.policy.place(&self.mapping.logs, self.blocks.pages, lbn, offset))
            }
        }
    }

    /// True if the policy's choice leads to a place or queues a merge.
    pub(super) fn could_follow(&self, choice: Choice) -> bool {
        match choice {
            Choice::Append(_) | Choice::Merge(_) => true,
            Choice::Open(_) => self.host_may_take(false) || self.merges.could_want_any(&self.mapping.logs),
            Choice::Wait => false,
        }
    }

    /// Finds a page for a mapping unit, and adds its program to the list of the die. If there is no page now, returns
    /// the event that the unit waits for.
    pub(super) fn place(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        unit: &PageWrite,
    ) -> Result<(), AwaitedEvent> {
        let (lbn, offset) = self.mapping.address.split(unit.lpn);
        let partly = !unit.is_whole(self.blocks.geometry.sectors);
        if partly && self.merges.is_in_buffer(lbn) {
            return Err(AwaitedEvent::Merge);
        }
        let Some(target) = self.in_place(flash, lbn, offset).or_else(|| self.in_log(flash, lbn, offset)) else {
            let has_block = self.mapping.data[lbn as usize].is_some() || self.merges.is_folding(lbn);
            let in_log = self.mapping.policy.awaited(&self.mapping.logs, lbn, offset);
            return Err(if has_block { in_log } else { AwaitedEvent::DataBlock });
        };
        let die = self.blocks.geometry.die_of(target.superblock);
        let list = self.writer.lists.list(flash.backend, die, (Class::Other, ListTag::Write.tag(0)));
        let command = flash.backend.add_program(list, Cause::Host, target, Stream::HOST);
        owners.charge(unit.owner);
        let to = push_unit(flash, owners, command, unit);
        if let Some(gate) = self.writer.gates.of(target.superblock) {
            flash.backend.depend(gate, command);
            self.writer.gates.set(target.superblock, command);
        }
        if partly && let Some(psn) = self.mapping.place_of(flash.backend.media(), unit.lpn) {
            // The controller of the source's die reads the old sectors; another controller may program.
            let (superblock, _) = self.blocks.geometry.locate(psn);
            self.blocks[superblock].pins += 1;
            let list = flash.backend.open_list(Class::Other, ListTag::OldPlace.tag(0));
            read_rest(flash, owners, list, (unit, psn), (command, to));
            self.writer.gates.set(target.superblock, command);
            self.blocks.submit(flash, list);
        }
        Ok(())
    }

    /// The page at the same offset of the data block, if it can still be programmed. The first write of a logical block
    /// allocates its data block.
    fn in_place(&mut self, flash: &Flash<'_>, lbn: Lbn, offset: u32) -> Option<Target> {
        if self.merges.is_folding(lbn) {
            return None;
        }
        let superblock = match self.mapping.data[lbn as usize] {
            Some(superblock) => superblock,
            None => self.new_data_block(flash, lbn)?,
        };
        self.writer.request_dies.push(self.blocks.geometry.die_of(superblock));
        let block = &mut self.blocks[superblock];
        if block.failing || offset < block.next {
            return None;
        }
        block.next = offset + 1;
        block.programs += 1;
        Some(Target { superblock, offset })
    }

    fn new_data_block(&mut self, flash: &Flash<'_>, lbn: Lbn) -> Option<SuperblockId> {
        if !self.host_may_take(!self.mapping.logs.is_empty(lbn)) {
            return None;
        }
        // The data block should be on another bus or chip than the request's other data blocks (Sung, Sec. 4.2).
        self.blocks.allocator.begin();
        self.writer.request_dies.iter().for_each(|die| self.blocks.allocator.avoid(*die, true));
        let superblock = self.blocks.take(flash, Use::Data, None)?;
        self.mapping.with_orphans(lbn, |mapping| mapping.data[lbn as usize] = Some(superblock));
        Some(superblock)
    }

    /// True if the host may take one more free block, because merges and orphans have enough without it. `orphan` is
    /// true if the block is for an orphan, for which one is kept.
    fn host_may_take(&self, orphan: bool) -> bool {
        let kept = self.mapping.orphans - u32::from(orphan) + self.writer.reserve - 1;
        self.blocks.allocator.count() + self.merges.destinations() > kept
    }

    /// The next page of the log block that the policy chooses.
    fn in_log(&mut self, flash: &Flash<'_>, lbn: Lbn, offset: u32) -> Option<Target> {
        let id = match self.mapping.policy.place(&self.mapping.logs, self.blocks.pages, lbn, offset) {
            Choice::Append(id) => id,
            Choice::Open(role) => match self.new_log_block(flash, lbn, role) {
                Some(id) => id,
                None => {
                    // Too many blocks have failed: there is no room for as many log blocks as the description asks for.
                    self.merges.want_any(&mut self.mapping);
                    return None;
                }
            },
            Choice::Merge(id) => {
                self.merges.want(&mut self.mapping.logs, id);
                return None;
            }
            Choice::Wait => return None,
        };
        let page = self.mapping.logs.take_page(id, lbn, offset);
        Some(Target { superblock: self.mapping.logs.log(id).superblock, offset: page })
    }

    fn new_log_block(&mut self, flash: &Flash<'_>, lbn: Lbn, role: Role) -> Option<LogId> {
        if !self.host_may_take(false) {
            return None;
        }
        let beside = self.mapping.data[lbn as usize].map(|superblock| self.blocks.geometry.die_of(superblock));
        self.blocks.allocator.begin();
        self.writer.request_dies.iter().for_each(|die| self.blocks.allocator.avoid(*die, false));
        if let Some(die) = beside {
            self.blocks.allocator.avoid(die, true);
        }
        let superblock = self.blocks.take(flash, Use::Log, beside)?;
        let id = self.mapping.logs.open(superblock, role);
        self.blocks[superblock].log = Some(id);
        Some(id)
    }
}

#[cfg(test)]
mod tests {
    use base::engine::Rng;

    use super::*;
    use crate::rig::Rig;

    #[test]
    fn the_host_takes_a_reserved_block_only_for_an_orphan() {
        let mut rig = Rig::new(
            r"flash = { part = 'K9K8G08U0M', channels = 1, chips = 2, blocks = 40, pages = 16, planes = 1 }
[ftl]
kind = 'bast'
over-provisioning = '60%'",
        );
        let ftl = rig.ftl.downcast_mut::<LogBlockFtl>().expect("log blocks");
        // One block for the merge, one to replace a failing block, and one so that the next merge can begin.
        assert_eq!(ftl.writer.reserve, 3);
        while ftl.blocks.allocator.count() > 3 {
            assert!(ftl.host_may_take(false), "{} are free", ftl.blocks.allocator.count());
            ftl.blocks.allocator.take(Use::Data, None, |_| 0).expect("a free block");
        }
        assert!(ftl.host_may_take(false), "it leaves the others");
        ftl.mapping.orphans = 1;
        assert_eq!([true, false].map(|orphan| ftl.host_may_take(orphan)), [true, false], "an orphan has its own");
        ftl.mapping.orphans = 0;
        ftl.blocks.allocator.take(Use::Data, None, |_| 0).expect("a free block");
        assert!(!ftl.host_may_take(false), "merges need them");
    }

    /// Checks after each event that no waiting write has missed the event that it waited for.
    #[test]
    fn writes_that_wait_for_merges_have_a_place_in_the_end() {
        for kind in ["bast", "fast"] {
            let mut rig = Rig::new(&format!(
                r"flash = {{ part = 'K9K8G08U0M', channels = 1, chips = 2, blocks = 40, pages = 8, planes = 1 }}
[ftl]
kind = '{kind}'
over-provisioning = '60%'
log = {{ blocks = 3, parallel = 2 }}",
            ));
            let mut rng = Rng::stream(1, kind);
            let fill = (0..48).map(|lpn| (lpn, 1));
            let overwrites: Vec<_> = (0..400).map(|_| (rng.below(48) as u32, 16)).collect();
            let mut waited = 0;
            for (written, (lpn, at_once)) in (1..).zip(fill.chain(overwrites)) {
                rig.write(&[lpn], None);
                while rig.host.written + at_once <= written && rig.step() {
                    rig.ftl.check(rig.backend.media(), None);
                }
                let ftl = rig.ftl.downcast_ref::<LogBlockFtl>().expect("log blocks");
                waited += u32::from(!ftl.writer.waiting.is_empty());
            }
            rig.run_until_idle();
            assert_eq!((rig.host.written, rig.host.refused), (448, 0), "{kind}");
            assert!(waited > 100, "{kind}: {waited} writes left others waiting");
        }
    }
}
