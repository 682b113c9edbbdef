//! The commands of a simple FTL that have not ended.

use base::engine::Handle;
use base::units::{Psn, SuperblockId};
use flash::backend::{Cause, Class, Command, List};
use flash::nand::Geometry;

use crate::port::Flash;
use crate::sabotage::{PlantedBug, Sabotage};
use crate::toolkit::Gates;

/// The kind of a command list, which is its tag.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ListTag {
    Read,
    Write,
    Copy,
    Erase,
}

impl ListTag {
    pub(super) fn of(list: &List) -> Self {
        [Self::Read, Self::Write, Self::Copy, Self::Erase][list.tag() as usize]
    }
}

/// The numbers of commands of one block that have not ended.
#[derive(Clone, Copy, Debug, Default)]
struct BlockTraffic {
    reads: u32,
    programs: u32,
    /// The latest program, until it has ended.
    last: Option<Handle<Command>>,
}

/// The commands that have not ended, by block, and the blocks whose erase waits for reads.
#[derive(Clone, Debug)]
pub(super) struct Traffic {
    blocks: Vec<BlockTraffic>,
    /// The programs that wait for a read, by block: later programs of the block wait for them, so that its pages are
    /// programmed in order.
    gates: Gates<SuperblockId>,
    /// Blocks that are erased when the last read of them has ended.
    unread: Vec<SuperblockId>,
    /// Blocks that are retired without an erase, because a program has failed there.
    retired: Vec<SuperblockId>,
    dies: u32,
    planted: PlantedBug,
    /// Programs and erases that have not ended.
    under_way: u32,
}

impl Traffic {
    pub(super) fn new(geometry: &Geometry, planted: PlantedBug) -> Self {
        let blocks = vec![BlockTraffic::default(); geometry.superblock_count() as usize];
        let dies = geometry.die_count();
        Self { blocks, gates: Gates::default(), unread: Vec::new(), retired: Vec::new(), dies, planted, under_way: 0 }
    }

    pub(super) const fn dies(&self) -> u32 {
        self.dies
    }

    /// Bytes of the tables of an array of `blocks` blocks.
    pub(super) const fn memory(blocks: u32) -> u64 {
        blocks as u64 * size_of::<BlockTraffic>() as u64
    }

    pub(super) const fn under_way(&self) -> u32 {
        self.under_way
    }

    pub(super) fn programs(&self, block: SuperblockId) -> u32 {
        self.blocks[block.index()].programs
    }

    /// Counts a read of a page that begins.
    pub(super) fn begin_read(&mut self, flash: &Flash<'_>, psn: Psn) {
        let (block, _) = flash.backend.geometry().locate(psn);
        self.blocks[block.index()].reads += 1;
    }

    /// Submits the list of a program, with the read of a source page if there is one.
    pub(super) fn begin(
        &mut self,
        flash: &mut Flash<'_>,
        list: Handle<List>,
        (program, block): (Handle<Command>, SuperblockId),
        source: Option<Psn>,
    ) {
        self.under_way += 1;
        let under = &mut self.blocks[block.index()];
        under.programs += 1;
        // The read of this list may take a controller before an earlier program of the block has one. So the program of
        // this list waits for that program in any case.
        let last = under.last.replace(program).filter(|_| source.is_some());
        let gate = self.gates.of(block).or(last).filter(|_| !self.planted.is(Sabotage::GateForgotten));
        if let Some(gate) = gate {
            flash.backend.depend(gate, program);
        }
        if source.is_some() || gate.is_some() {
            self.gates.set(block, program);
        }
        if let Some(psn) = source {
            self.begin_read(flash, psn);
        }
        flash.submit(list);
    }

    pub(super) fn end_program(&mut self, program: Handle<Command>, block: SuperblockId) {
        self.under_way -= 1;
        self.gates.done(program);
        let under = &mut self.blocks[block.index()];
        under.programs -= 1;
        under.last.take_if(|last| *last == program);
    }

    /// Counts the end of a read of a page, and erases its block if the erase waited for it.
    pub(super) fn end_read(&mut self, flash: &mut Flash<'_>, psn: Psn) {
        let (block, _) = flash.backend.geometry().locate(psn);
        self.blocks[block.index()].reads -= 1;
        if self.blocks[block.index()].reads == 0
            && let Some(place) = self.unread.iter().position(|waits| *waits == block)
        {
            self.unread.swap_remove(place);
            self.erase_unread(flash, block);
        }
    }

    /// Erases a block as soon as no read of it is under way. A block in which a program has failed is retired instead.
    pub(super) fn erase(&mut self, flash: &mut Flash<'_>, block: SuperblockId) {
        self.under_way += 1;
        self.erase_unread(flash, block);
    }

    fn erase_unread(&mut self, flash: &mut Flash<'_>, block: SuperblockId) {
        if self.blocks[block.index()].reads > 0 {
            return self.unread.push(block);
        }
        if flash.backend.media().is_failing(block) {
            flash.backend.media_mut().retire(block);
            return self.retired.push(block);
        }
        let list = flash.backend.open_list(Class::Other, ListTag::Erase as u32);
        flash.backend.add_erase(list, Cause::Gc, block);
        flash.submit(list);
    }

    pub(super) const fn end_erase(&mut self) {
        self.under_way -= 1;
    }

    /// The next block that has been retired without an erase, to tell the FTL.
    pub(super) fn next_retired(&mut self) -> Option<SuperblockId> {
        let block = self.retired.pop()?;
        self.end_erase();
        Some(block)
    }
}
