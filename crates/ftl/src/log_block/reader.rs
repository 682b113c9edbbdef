//! Reads of the host: a list for each die, and reads that wait for a merge.

use base::engine::Handle;
use base::units::{Lpn, Psn};
use flash::backend::{Cause, List};

use super::ListTag;
use super::block_manager::BlockManager;
use super::mapping::Mapping;
use super::merge::Merges;
use crate::port::{Flash, Owners, PageRead};
use crate::toolkit::{DieLists, add_read};

/// A read that waits for a merge, because the merge has already erased its sources.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeferredRead {
    pub(super) lpn: Lpn,
    pub(super) wanted: PageRead,
}

/// The reads of the host that are not yet submitted.
#[derive(Clone, Debug)]
pub(super) struct Reader {
    pub(super) held: Vec<DeferredRead>,
    /// The open lists of the current request.
    lists: DieLists<Handle<List>>,
}

impl Reader {
    pub(super) fn new(dies: u32) -> Self {
        Self { held: Vec::new(), lists: DieLists::new(dies) }
    }

    /// Adds the read of a page to the list of its die.
    pub(super) fn read_at(
        &mut self,
        blocks: &mut BlockManager,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        wanted: PageRead,
        lpn: Lpn,
        psn: Psn,
    ) {
        let (superblock, _) = blocks.geometry.locate(psn);
        let die = blocks.geometry.die_of(superblock);
        blocks[superblock].pins += 1;
        let list = self.lists.list(flash.backend, die, (owners.read_class(wanted.owner), ListTag::Read.tag(0)));
        add_read(flash.backend, list, Cause::Host, wanted.slot(lpn, psn));
        owners.charge(wanted.owner);
    }

    /// Submits the lists of a complete request, one for each die.
    pub(super) fn submit(&mut self, blocks: &mut BlockManager, flash: &mut Flash<'_>) {
        while let Some(list) = self.lists.pop_last() {
            blocks.submit(flash, list);
        }
    }

    /// Sends the reads whose merge has ended.
    pub(super) fn release(
        &mut self,
        blocks: &mut BlockManager,
        mapping: &Mapping,
        merges: &Merges,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
    ) {
        if self.held.is_empty() {
            return;
        }
        let mut held = std::mem::take(&mut self.held);
        let mut latest = None;
        held.retain(|read| {
            if merges.is_in_buffer(mapping.address.split(read.lpn).0) {
                return true;
            }
            // All reads of a list have one service class.
            let class = owners.read_class(read.wanted.owner);
            if latest.replace(class).is_some_and(|latest| latest != class) {
                self.submit(blocks, flash);
            }
            match mapping.place_of(flash.backend.media(), read.lpn) {
                Some(psn) => self.read_at(blocks, flash, owners, read.wanted, read.lpn, psn),
                None => owners.read_nothing(read.wanted.owner),
            }
            false
        });
        self.held = held;
        self.submit(blocks, flash);
    }
}
