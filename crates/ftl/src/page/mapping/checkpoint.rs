//! Checkpoints: the map in RAM, written to flash at intervals, so that a mount need not read every spare area.
//!
//! A checkpoint is a run of pages with four bytes for each mapping unit and each trim page, followed by a record of all
//! superblocks. Its pages are mapping units numbered behind those of the host, of the map and of the trim pages, with
//! two numbers for each page, because the older checkpoint counts until the newer is complete. So placement,
//! collection, failures and wear treat them like data; programs of their own have the cause `map`, which no other
//! command has while the map is in RAM. The record's last page is programmed when all others are durable, and makes the
//! checkpoint count.
//!
//! The drive goes on while a checkpoint is written. At the start of the checkpoint the FTL notes which superblocks are
//! *closed*: nothing more is programmed there before an erase. A superblock that a power cut has closed early does not
//! count as closed, because a [rescue](crate::page::collector::rescue) may continue it. A page's content is the map at
//! the moment at which the page is handed to the flash. An entry that leads to a closed superblock holds as long as
//! that superblock is not erased. A mount resolves every other entry by the spare areas of the superblocks that were
//! not closed, or were opened since ([`mount`]). UBI's fastmap (Linux, `drivers/mtd/ubi/fastmap.c`) works alike: its
//! pools are the blocks that it scans although it has a fastmap.
//!
//! The simulator does not store four bytes for each entry. The media keep a bit for each slot instead, which is set if
//! an entry of the page led there when the page was handed over. With the spare area, which names the mapping unit,
//! this gives every entry that a mount may use.

pub(in crate::page) mod mount;
pub(in crate::page) mod record;
#[cfg(test)]
mod tests;

use std::ops::Range;

use base::units::{Lpn, Psn, SuperblockId};
use flash::backend::Slot;
use flash::nand::Media;

use super::trim::Trims;
use crate::page::CheckpointPages;
use crate::page::block_manager::BlockManager;
use crate::page::block_manager::table::SuperblockState;
use crate::page::mapping::{L2p, Mapping};
use crate::port::PageWrite;
use crate::sabotage::Sabotage;
use crate::toolkit::Map;
use record::CheckpointRecord;

/// The checkpoint that counts at present.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Complete {
    /// Which of the two numbers of each page the checkpoint uses: 0 or 1.
    generation: u32,
    version: u32,
}

/// A checkpoint that is being written. Its pages share a version.
#[derive(Clone, Copy, Debug)]
struct CheckpointWrite {
    generation: u32,
    version: u32,
    /// The number of the first page that has not been handed to the flash.
    next: u32,
    stored: u32,
}

/// The checkpoints of a drive: the newest complete checkpoint, and the checkpoint being written.
#[derive(Clone, Debug)]
pub(in crate::page) struct Checkpoints {
    shape: CheckpointPages,
    /// Mapping units of the host.
    units: u32,
    /// The logical number of the first page of a checkpoint.
    first: u32,
    /// The number of the record's image in the media.
    image: u32,
    directory: Map,
    valid: Option<Complete>,
    writing: Option<CheckpointWrite>,
    /// The most pages under way at once.
    window: u32,
    /// The count of opened superblocks when the latest checkpoint began.
    began_at: u32,
    /// True if anything except checkpoints was written since the latest checkpoint: checkpoints must not make each
    /// other due.
    used: bool,
    /// True if the power is about to go off, so that a checkpoint is due.
    wanted: bool,
    /// The whole content of the checkpoints of this power cycle, by version, for tests.
    #[cfg(test)]
    stored: std::collections::BTreeMap<u32, Vec<u32>>,
}

impl Checkpoints {
    /// True if a logical number belongs to a page of a checkpoint.
    pub(in crate::page) const fn holds(&self, lpn: Lpn) -> bool {
        lpn.get() >= self.first
    }

    /// The pages that may be handed to the flash now, in programs of `program` slots.
    fn next_pages(&self, program: u32) -> Option<Range<u32>> {
        let writing = self.writing.as_ref()?;
        let (next, last) = (writing.next, self.shape.each - 1);
        let under_way = next - writing.stored;
        let end = match next < last {
            true => last.min(next + program),
            false => last + 1,
        };
        // The last page waits until all other pages are durable, because it makes the checkpoint count.
        let waits = if next < last { under_way > 0 && under_way + end - next > self.window } else { under_way > 0 };
        (next < end && !waits).then_some(next..end)
    }

    /// True if a checkpoint must begin now.
    fn begins(&self, blocks: &BlockManager) -> bool {
        let is_due = blocks.opened.wrapping_sub(self.began_at) >= self.shape.every;
        self.writing.is_none() && (self.wanted || (self.used && is_due))
    }

    /// True if a checkpoint must begin, or pages of one must be stored now.
    pub(in crate::page) fn is_due(&self, blocks: &BlockManager) -> bool {
        self.begins(blocks) || self.next_pages(blocks.program_slots()).is_some()
    }

    /// Asks for one more checkpoint, because the power is about to go off.
    pub(in crate::page) const fn want(&mut self) {
        self.wanted = true;
    }

    /// Notes that a mapping unit is written. Returns true if it is a page of a checkpoint.
    pub(in crate::page) const fn note_write(&mut self, lpn: Lpn) -> bool {
        let stores = self.holds(lpn);
        self.used |= !stores;
        stores
    }

    /// The places of all pages of checkpoints, `None` for pages that are not programmed.
    pub(in crate::page) fn places(&self) -> impl Iterator<Item = Option<Psn>> + '_ {
        (0..self.directory.len()).map(|page| self.directory.get(Lpn::new(page)))
    }

    /// The table of the places of the pages, and the number of a page in it; none if the logical number belongs to no
    /// such page.
    pub(in crate::page) fn entry(&mut self, lpn: Lpn) -> Option<(&mut Map, Lpn)> {
        self.holds(lpn).then(|| Lpn::new(lpn.get() - self.first)).map(|page| (&mut self.directory, page))
    }

    /// Begins a checkpoint: notes the closed superblocks in the media's image of the record.
    fn begin(&mut self, blocks: &BlockManager, media: &mut Media, version: u32) {
        (self.began_at, self.used, self.wanted) = (blocks.opened, false, false);
        let generation = self.valid.map_or(0, |valid| 1 - valid.generation);
        self.writing = Some(CheckpointWrite { generation, version, next: 0, stored: 0 });
        let (superblocks, slots) = (self.shape.superblocks, self.shape.slots);
        let (image, words) = (self.image, CheckpointRecord::words(superblocks, slots));
        let openings = media.openings();
        media.stage_image(image, self.valid.map(|valid| valid.version), version, &[]);
        CheckpointRecord::begin(media.image_to_fill(image, version, words), openings);
        for superblock in (0..superblocks).map(SuperblockId::new) {
            let state = blocks.table.state(superblock);
            // Such a superblock takes no program before its erase, and an erase leaves a trace.
            let closed = matches!(state, SuperblockState::Closed | SuperblockState::Victim | SuperblockState::Erasing);
            // A rescue may continue a superblock that a power cut has closed early.
            let ended = blocks.planted.is(Sabotage::EndVouched) || media.unwritten_from(superblock).is_none();
            let closed = closed && ended && !blocks.table.is_failing(superblock);
            if closed || (state == SuperblockState::Open && blocks.planted.is(Sabotage::OpenVouched)) {
                CheckpointRecord::vouch(media.image_to_fill(image, version, words), superblock);
            }
        }
        #[cfg(test)]
        self.stored.insert(version, Vec::new());
    }

    /// Makes the image of a page and returns the write that stores the page. Returns none if `page` is not the next
    /// page, because a page before it was refused and the checkpoint was given up.
    fn stage(
        &mut self,
        (l2p, trims): (&L2p, Option<&Trims>),
        blocks: &BlockManager,
        media: &mut Media,
        page: u32,
    ) -> Option<PageWrite> {
        let writing = self.writing.as_mut().filter(|writing| writing.next == page)?;
        writing.next += 1;
        let (version, generation, shape) = (writing.version, writing.generation, self.shape);
        if page < shape.maps {
            let words = CheckpointRecord::words(shape.superblocks, shape.slots);
            let words = media.image_to_fill(self.image, version, words);
            for unit in page * shape.entries..shape.covered.min((page + 1) * shape.entries) {
                let place = match l2p {
                    L2p::Ram(map) if unit < self.units => map.get(Lpn::new(unit)),
                    _ => trims.and_then(|trims| trims.place(unit - self.units)),
                };
                #[cfg(test)]
                self.stored.entry(version).or_default().push(crate::map_unit::encode(place));
                let Some(psn) = place else { continue };
                if CheckpointRecord::is_vouched(words, blocks.layout.locate(psn).0) {
                    CheckpointRecord::lead(words, shape.superblocks, psn);
                }
            }
        }
        if page == shape.each - 1 {
            media.image_is_filled(self.image, version);
        }
        let lpn = Lpn::new(self.first + generation * shape.each + page);
        Some(PageWrite::of_ftl(lpn, version, blocks.layout.shape.sectors))
    }

    /// Notes that a page has been programmed. The last page makes the checkpoint count, and the previous checkpoint
    /// garbage.
    fn page_stored(&mut self, blocks: &mut BlockManager, media: &mut Media, slot: &Slot, psn: Psn) {
        let Some(writing) = self.writing.as_mut().filter(|writing| writing.version == slot.version) else {
            // The checkpoint has been given up.
            let pool = blocks.pool_at(psn);
            blocks.pools[pool as usize].live -= 1;
            return;
        };
        writing.stored += 1;
        let complete = writing.stored == self.shape.each;
        let CheckpointWrite { generation, version, .. } = *writing;
        let before = self.directory.set(Lpn::new(slot.lpn.get() - self.first), Some(psn));
        assert!(before.is_none(), "{} was garbage when it was written again", slot.lpn);
        blocks.table.mark_valid(psn);
        if complete {
            media.keep_image(self.image, version);
            #[cfg(test)]
            self.stored.retain(|stored, _| *stored == version);
            self.writing = None;
            self.valid = Some(Complete { generation, version });
            self.drop_generation(blocks, 1 - generation);
        }
    }

    /// Gives up the checkpoint of a page that finds no space; the previous checkpoint still counts.
    pub(in crate::page) fn give_up(&mut self, blocks: &mut BlockManager, unit: &PageWrite) {
        if let Some(writing) = self.writing.take_if(|writing| writing.version == unit.version) {
            self.drop_generation(blocks, writing.generation);
        }
    }

    /// Makes the pages of a checkpoint garbage.
    fn drop_generation(&mut self, blocks: &mut BlockManager, generation: u32) {
        let each = self.shape.each;
        for page in generation * each..(generation + 1) * each {
            if let Some(psn) = self.directory.set(Lpn::new(page), None) {
                blocks.invalidate(psn);
            }
        }
    }
}

impl Mapping {
    /// True if a logical number belongs to a page of a checkpoint.
    #[inline]
    pub(in crate::page) fn is_checkpoint(&self, lpn: Lpn) -> bool {
        self.checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.holds(lpn))
    }

    pub(in crate::page) fn begin_due_checkpoint(&mut self, blocks: &BlockManager, media: &mut Media) {
        if let Some(checkpoints) = self.checkpoints.as_mut().filter(|checkpoints| checkpoints.begins(blocks)) {
            checkpoints.begin(blocks, media, self.versions.next());
        }
    }

    /// The pages of the checkpoint under way that may be stored now.
    pub(in crate::page) fn next_checkpoint_pages(&self, blocks: &BlockManager) -> Option<Range<u32>> {
        self.checkpoints.as_ref()?.next_pages(blocks.program_slots())
    }

    /// The write that stores a page of the checkpoint under way; none if the checkpoint has been given up.
    pub(in crate::page) fn stage_checkpoint_page(
        &mut self,
        blocks: &BlockManager,
        media: &mut Media,
        page: u32,
    ) -> Option<PageWrite> {
        let Self { l2p, trims, checkpoints, .. } = self;
        checkpoints.as_mut()?.stage((l2p, trims.as_deref()), blocks, media, page)
    }

    /// Notes that a page of a checkpoint has been programmed.
    #[cold]
    pub(in crate::page) fn checkpoint_stored(
        &mut self,
        blocks: &mut BlockManager,
        media: &mut Media,
        slot: &Slot,
        psn: Psn,
    ) {
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.page_stored(blocks, media, slot, psn);
        }
    }
}
