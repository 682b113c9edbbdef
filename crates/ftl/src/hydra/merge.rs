//! Merges: a merge combines new sectors and the old content of a logical superblock in another physical superblock
//! (Seong et al., Sec. 3.3.1, "copy-back superchip").
//!
//! A merge is two command lists that run without the FTL. The first erases the target's blocks; the second programs
//! each row, copies it, or copies it with new sectors. The erase comes at the start of the merge and not when a
//! superblock becomes free, for three reasons: no erase has to wait for the log, the same erase clears what a power cut
//! left behind, and each merge has one erase either way. Each die has one command of a merge at a time, so that host
//! reads and other merges of the superchip can go in between (Sec. 3.3.2, Fig. 7b).

use base::engine::Handle;
use base::nonmax::NonMaxU32;
use base::units::{Psn, SuperblockId};
use flash::backend::{Cause, Class, List, Slot};
use flash::nand::{Stream, Target};

use super::journal::JournalRecord;
use super::merges::{Blocks, Merge, MergeStage};
use super::{HydraFtl, ListPurpose};
use crate::port::{Flash, Owners, PageWrite, Service, full_mask};
use crate::toolkit::{Commands, give_unit};

/// The flash command with which a merge fills a row of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Way {
    Skip,
    Copy(Psn),
    CopyWith(Psn),
    Program,
}

impl HydraFtl {
    /// Begins as many merges as possible, and refuses the merges that can never begin.
    pub(super) fn start(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        while self.merges.working < self.merges.at_once && !self.merges.read_only {
            let Some(place) = self.merges.next(&self.mapping, &self.superblocks) else { break };
            let number = self.merges.waiting.remove(place).expect("it is in the queue");
            self.merges.working += 1;
            let superchip = self.mapping.layout.superchip_of(self.merges[number].logical);
            let target = self.superblocks.take(superchip).expect("one is free");
            self.begin(flash, owners, number, target);
        }
        self.merges.refuse_hopeless(&self.mapping, &self.superblocks, &self.journal, owners);
    }

    /// Begins a merge into a superblock that was free.
    pub(super) fn begin(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, number: u32, target: u32) {
        let merge = &mut self.merges[number];
        merge.target = target;
        merge.chips = u64::MAX >> (u64::BITS - self.mapping.layout.chips);
        merge.failing.clear();
        merge.erased = false;
        merge.service = Service::NONE;
        self.erase(flash, owners, number);
    }

    /// Erases the blocks of the target that hold data, and then copies the rows.
    fn erase(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, number: u32) {
        let merge = &mut self.merges[number];
        merge.stage = MergeStage::Erasing;
        let cause = merge.why();
        let mut list = None;
        for chip in (0..self.mapping.layout.chips).filter(|chip| merge.chips >> chip & 1 != 0) {
            let block = self.superblocks.block(merge.target, chip);
            if !flash.backend.media().is_erased(block) {
                let list =
                    *list.get_or_insert_with(|| flash.backend.open_list(Class::Other, ListPurpose::Erase.tag(number)));
                flash.backend.add_erase(list, cause, block);
            }
        }
        match list {
            Some(list) => {
                self.prefetch_source(flash, number);
                flash.submit(list);
            }
            None => self.copy(flash, owners, number),
        }
    }

    /// Prefetches the spare areas of the source, which the merge reads when the erase of its target has ended.
    fn prefetch_source(&self, flash: &Flash<'_>, number: u32) {
        let Some(source) = self.mapping.place_of(self.merges[number].logical) else { return };
        for chip in 0..self.mapping.layout.chips {
            let block = self.superblocks.block(source, chip);
            // A cache line holds the spare areas of eight pages or more.
            for page in (0..self.mapping.layout.pages).step_by(8) {
                flash.backend.media().prefetch_spare(flash.backend.geometry().slot(block, page));
            }
        }
    }

    pub(super) fn erase_finished(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        number: u32,
        list: Handle<List>,
    ) {
        let target = self.merges[number].target;
        if !std::mem::replace(&mut self.merges[number].erased, true) {
            self.superblocks.erased(target);
            self.wear.note_erase(self.superblocks.split(target).0);
        }
        let failed = failed_chips(flash, list, self.mapping.layout.chips);
        flash.backend.release(list);
        if self.replace_failed(flash, number, failed) {
            self.erase(flash, owners, number);
        } else {
            self.begin_again(flash, owners, number);
        }
    }

    /// Replaces the blocks that failed in these dies with spares. Returns false if a spare is missing and the target is
    /// lost.
    fn replace_failed(&mut self, flash: &mut Flash<'_>, number: u32, failed: u64) -> bool {
        let target = self.merges[number].target;
        let mut whole = true;
        for chip in (0..self.mapping.layout.chips).filter(|chip| failed >> chip & 1 != 0) {
            flash.backend.media_mut().retire(self.superblocks.block(target, chip));
            whole &= self.superblocks.replace(target, chip);
        }
        self.log_replacements();
        whole
    }

    /// Queues log records for the replaced blocks, before a logical superblock is mapped there.
    pub(super) fn log_replacements(&mut self) {
        while let Some((die, position, spare)) = self.superblocks.take_replaced() {
            self.journal.push(JournalRecord::Replaced { die, position, spare });
            self.counters.replaced += 1;
        }
    }

    /// The target is lost: the merge begins again with another target, or waits for one.
    fn begin_again(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, number: u32) {
        let superchip = self.superblocks.split(self.merges[number].target).0;
        self.superblocks.lose(self.merges[number].target);
        if let Some(target) = self.superblocks.take(superchip) {
            return self.begin(flash, owners, number, target);
        }
        self.merges.working -= 1;
        self.merges[number].stage = MergeStage::Waiting;
        self.merges.waiting.push_front(number);
        self.start(flash, owners);
    }

    fn blocks_of(&self, merge: &Merge, chip: u32) -> Blocks {
        let failing = merge.failing.iter().find(|(failing, _)| *failing == chip);
        Blocks {
            is_done: merge.chips >> chip & 1 == 0,
            target: self.superblocks.block(merge.target, chip),
            source: self.mapping.place_of(merge.logical).map(|source| self.superblocks.block(source, chip)),
            failing: failing.map(|(_, block)| *block),
            last: None,
        }
    }

    /// The command for a page of a merge; `unit` is the host's data for the page, if there is any.
    #[inline]
    fn way(
        &self,
        flash: &Flash<'_>,
        blocks: &Blocks,
        page: u32,
        (is_forgotten, unit): (bool, Option<&PageWrite>),
    ) -> Way {
        if let Some(psn) = blocks.failing.and_then(|block| holds(flash, block, page)) {
            return Way::Copy(psn);
        }
        let source = blocks.source.filter(|_| !is_forgotten);
        let old = source.and_then(|block| holds(flash, block, page));
        match (unit, old) {
            (None, None) => Way::Skip,
            (None, Some(psn)) => Way::Copy(psn),
            (Some(unit), Some(psn)) if !unit.is_whole(self.mapping.layout.sectors) => Way::CopyWith(psn),
            (Some(_), _) => Way::Program,
        }
    }

    /// Copies and programs the rows of a merge, in order on each die. Rows without data are left out.
    fn copy(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, number: u32) {
        self.merges[number].stage = MergeStage::Copying;
        let list = flash.backend.open_list(Class::Other, ListPurpose::Copy.tag(number));
        let mut all_blocks = std::mem::take(&mut self.merges.blocks);
        all_blocks.clear();
        let merge = &self.merges[number];
        let mut units = merge.units.iter().peekable();
        all_blocks.extend((0..self.mapping.layout.chips).map(|chip| self.blocks_of(merge, chip)));
        let forgets = self.mapping.forgets(merge.logical);
        let why = merge.why();
        // The first write of the host's sectors counts as the host's, a repetition does not.
        let given = if why == Cause::Merge { Cause::Host } else { why };
        let mut empty = true;
        for row in 0..self.mapping.layout.rows() {
            let lpn = self.mapping.layout.join(merge.logical, row);
            let unit = units.next_if(|unit| unit.lpn == lpn);
            let (chip, page) = self.mapping.layout.chip_and_page(row);
            let blocks = &mut all_blocks[chip as usize];
            if blocks.is_done {
                continue;
            }
            let is_forgotten = forgets && self.mapping.is_forgotten(merge.logical, row);
            let way = self.way(flash, blocks, page, (is_forgotten, unit));
            let target = Target { superblock: blocks.target, offset: page };
            let plain = Slot { lpn, expected: true, mask: full_mask(self.mapping.layout.sectors), ..Slot::default() };
            let command = match way {
                Way::Skip => continue,
                Way::Copy(psn) => {
                    self.counters.copied += 1;
                    let slot = Slot { psn, ..plain };
                    let before = blocks.last;
                    if before.is_some_and(|before| flash.backend.extend_copy_back(before, why, target, &slot)) {
                        continue;
                    }
                    let command = flash.backend.add_copy_back(list, why, target, Stream::COPIES);
                    flash.backend.push_slot(command, slot);
                    command
                }
                Way::CopyWith(_) | Way::Program => {
                    let unit = unit.expect("something is written");
                    let slot = Slot { version: unit.version, owner: unit.owner, mask: unit.mask, ..plain };
                    let (command, slot) = if let Way::CopyWith(psn) = way {
                        let command = flash.backend.add_copy_back(list, given, target, Stream::COPIES);
                        (command, flash.backend.push_slot(command, Slot { psn, ..slot }))
                    } else {
                        let command = flash.backend.add_program(list, given, target, Stream::HOST);
                        (command, flash.backend.push_slot(command, slot))
                    };
                    if !unit.is_whole(self.mapping.layout.sectors) {
                        flash.backend.set_sectors(command, self.mapping.layout.bus_sectors(unit.mask));
                    }
                    give_unit(flash, owners, unit, slot);
                    owners.charge(unit.owner);
                    self.counters.given += 1;
                    command
                }
            };
            empty = false;
            if let Some(before) = blocks.last.replace(command) {
                flash.backend.depend(before, command);
            }
        }
        self.merges.blocks = all_blocks;
        if empty {
            flash.backend.release(list);
            return self.copied(flash, owners, number);
        }
        self.use_cpu(flash, list, super::MERGE);
    }

    pub(super) fn copy_finished(
        &mut self,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        number: u32,
        list: Handle<List>,
    ) {
        let failed = failed_chips(flash, list, self.mapping.layout.chips);
        let done = flash.backend.list(list);
        let merge = &mut self.merges[number];
        merge.service.wait = merge.service.wait.max(done.wait());
        merge.service.start_wait = merge.service.start_wait.max(done.start_wait());
        merge.service.waited_for.extend(done.waited_for());
        flash.backend.release(list);
        if failed == 0 {
            return self.copied(flash, owners, number);
        }
        // Only the dies that failed repeat their part of the merge, into spare blocks.
        let merge = &mut self.merges[number];
        merge.chips = failed;
        merge.failing.clear();
        for chip in (0..self.mapping.layout.chips).filter(|chip| failed >> chip & 1 != 0) {
            merge.failing.push((chip, self.superblocks.block(merge.target, chip)));
        }
        if self.replace_failed(flash, number, failed) {
            self.erase(flash, owners, number);
        } else {
            self.begin_again(flash, owners, number);
        }
    }

    /// The target is complete: queues the log record of its new place.
    fn copied(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, number: u32) {
        let merge = &mut self.merges[number];
        merge.stage = MergeStage::Logging;
        let (logical, target) = (merge.logical, merge.target);
        let erases = self.superblocks.erases(target);
        let position = self.superblocks.split(target).1;
        self.journal.push(JournalRecord::Mapped { logical, position, erases });
        self.merges.working -= 1;
        self.write_journal(flash);
        owners.room();
        self.start(flash, owners);
    }

    /// A record of a logical superblock is durable: the map now names the target, and the host's writes are done.
    pub(super) fn commit(&mut self, owners: &mut dyn Owners, logical: u32) {
        let Some(number) = self.merges.find(logical, MergeStage::Logging) else {
            assert!(self.merges.read_only, "logical superblock {logical} is logged and was not merged");
            return;
        };
        let target = self.merges[number].target;
        let source = self.mapping.map[logical as usize].replace(NonMaxU32::new(target));
        self.superblocks.map(target);
        if let Some(source) = source {
            self.superblocks.leave(source.get());
        }
        self.counters.merges += 1;
        for i in 0..self.merges[number].units.len() {
            let unit = self.merges[number].units[i];
            self.mapping.remember(unit.lpn);
            if let Some(log) = &mut self.flush_log {
                log.merged(unit.lpn, unit.version);
            }
            owners.write_done(unit.owner, self.merges[number].service);
        }
        self.merges.remove(number);
    }
}

/// The slot of a page, if the page holds data. A real controller would have to read the page to know; here the check
/// takes no time.
fn holds(flash: &Flash<'_>, block: SuperblockId, page: u32) -> Option<Psn> {
    let psn = flash.backend.geometry().slot(block, page);
    flash.backend.media().holds_data(psn).then_some(psn)
}

/// The dies of a superchip on which a command of the list failed, one bit each.
fn failed_chips(flash: &Flash<'_>, list: Handle<List>, chips: u32) -> u64 {
    let mut failed = 0;
    let mut commands = Commands::of(flash.backend, list);
    while let Some((_, command)) = commands.next(flash.backend) {
        if command.failed {
            failed |= 1 << (command.die.get() % chips);
        }
    }
    failed
}
