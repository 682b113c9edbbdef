//! The content of a copy of a drive: in memory, so that the copy leaves the files alone.

use std::collections::BTreeMap;
use std::ops::Range;

use base::units::{BlockId, Psn};
use flash::nand::{BackingStore, BlockRecord, ImageRecord, ProgrammedSlot, SlotRecord, StoredContent};

/// The content of each slot; none for damaged content.
#[derive(Clone, Debug, Default)]
pub(super) struct SlotContents(BTreeMap<u32, Option<Box<[u8]>>>);

impl SlotContents {
    pub(super) fn keep(&mut self, psn: Psn, content: &[u8]) {
        self.0.insert(psn.get(), Some(content.into()));
    }

    pub(super) fn lose(&mut self, psn: Psn) {
        self.0.insert(psn.get(), None);
    }
}

impl BackingStore for SlotContents {
    fn program(&mut self, first: Psn, slots: &mut dyn Iterator<Item = ProgrammedSlot<'_>>) {
        for (psn, (_, content)) in (first.get()..).zip(slots) {
            self.0.remove(&psn);
            content.into_iter().for_each(|content| self.keep(Psn::new(psn), content));
        }
    }

    fn change(&mut self, _first: Psn, _slots: &mut dyn Iterator<Item = SlotRecord>) {}

    fn retire(&mut self, _first: BlockId, _blocks: &mut dyn Iterator<Item = BlockRecord>) {}

    fn erase(&mut self, _first: BlockId, _blocks: &mut dyn Iterator<Item = BlockRecord>, slots: Range<u32>) {
        slots.for_each(|slot| drop(self.0.remove(&slot)));
    }

    fn image(&mut self, _image: ImageRecord<'_>) {}

    fn read(&self, psn: Psn, into: &mut [u8]) -> StoredContent {
        match self.0.get(&psn.get()) {
            None => StoredContent::Derived,
            Some(None) => StoredContent::Damaged,
            Some(Some(content)) => {
                into.copy_from_slice(content);
                StoredContent::Stored
            }
        }
    }

    fn refuse(&self, psn: Psn) {
        panic!("the content of slot {} was damaged before the drive was copied", psn.get());
    }

    fn duplicate(&self) -> Box<dyn BackingStore> {
        Box::new(self.clone())
    }
}
