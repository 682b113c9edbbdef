//! Checkpoints: the map in RAM, written to flash now and then, so that a mount need not read every spare area.
//!
//! A checkpoint is a run of pages with four bytes for each mapping unit and each trim page, and a record of all
//! superblocks behind them. Its pages are mapping units numbered behind those of the host, of the map and of the trim
//! pages, with two numbers for each page, because the older checkpoint counts until the newer is complete. So
//! placement, collection, failures and wear treat them like data; programs of their own have the cause `map`, which no
//! other command has while the map is in RAM. The record's last page is programmed when all others are durable, and
//! makes the checkpoint count.
//!
//! The drive goes on while a checkpoint is written. At its start the FTL notes which superblocks are *closed*: nothing
//! more is programmed there before an erase. One that a power cut has closed early is none of them, because a
//! [rescue](super::rescue) may continue it. A page's content is the map at the moment it is handed to the flash. An
//! entry that leads to a closed superblock holds as long as that superblock is not erased; a mount resolves every other
//! one by the spare areas of the superblocks that were not closed, or were opened since ([`mount`]). UBI's fastmap (Linux,
//! `drivers/mtd/ubi/fastmap.c`) works alike: its pools are the blocks that it scans although it has a fastmap.
//!
//! The simulator does not store four bytes for each entry. The media keep a bit for each slot instead: at the moment
//! that counts, an entry of the page led there. With the spare area, which names the mapping unit, this is the content
//! of every entry that a mount may use.

pub(super) mod mount;
pub(super) mod record;
#[cfg(test)]
mod tests;

use base::units::{Lpn, Psn, SuperblockId};
use flash::backend::{Cause, Slot};
use flash::nand::Stream;

use super::block_manager::table::State;
use super::mapping::Mapping;
use super::trim::Trims;
use super::{CheckpointPages, PageFtl};
use crate::port::{Flash, OldPlace, Owners, PageWrite, full_mask};
use crate::sabotage::Sabotage;
use crate::toolkit::Map;
use record::Record;

/// A checkpoint that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Complete {
    /// Which of the two numbers of each page it has.
    generation: u32,
    version: u32,
}

/// A checkpoint that is being written. Its pages share a version.
#[derive(Clone, Copy, Debug)]
struct Writing {
    generation: u32,
    version: u32,
    /// The first page that has not been handed over.
    next: u32,
    stored: u32,
}

/// The checkpoints of a drive.
#[derive(Clone, Debug)]
pub(super) struct Checkpoints {
    shape: CheckpointPages,
    /// The logical number of the first page.
    first: u32,
    /// The number of the record's image.
    image: u32,
    directory: Map,
    valid: Option<Complete>,
    writing: Option<Writing>,
    /// The most pages under way at once.
    window: u32,
    /// The count of opened superblocks when the latest checkpoint began.
    began_at: u32,
    /// True if anything but checkpoints was written since: they must not make each other due.
    used: bool,
    /// True if the power is about to go off.
    wanted: bool,
    /// The whole content of the checkpoints of this power cycle, by version, for tests.
    #[cfg(test)]
    stored: std::collections::BTreeMap<u32, Vec<u32>>,
}

impl Checkpoints {
    const fn holds(&self, lpn: Lpn) -> bool {
        lpn.get() >= self.first
    }

    /// The pages that may be handed over now.
    fn next_pages(&self, program: u32) -> Option<std::ops::Range<u32>> {
        let writing = self.writing.as_ref()?;
        let (next, last) = (writing.next, self.shape.each - 1);
        let under_way = next - writing.stored;
        let end = match next < last {
            true => last.min(next + program),
            false => last + 1,
        };
        // The last page says that all others are durable.
        let waits = if next < last { under_way > 0 && under_way + end - next > self.window } else { under_way > 0 };
        (next < end && !waits).then_some(next..end)
    }

    /// True if a checkpoint must be begun now that so many superblocks have been opened.
    const fn begins(&self, opened: u32) -> bool {
        let is_due = opened.wrapping_sub(self.began_at) >= self.shape.every;
        self.writing.is_none() && (self.wanted || (self.used && is_due))
    }
}

impl PageFtl {
    /// True if a logical number is that of a page of a checkpoint.
    #[inline]
    pub(super) fn is_checkpoint(&self, lpn: Lpn) -> bool {
        self.checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.holds(lpn))
    }

    /// The table of the places of pages numbered behind the map's, and the number of a page in it, if a logical number
    /// is that of one.
    pub(super) fn side_directory<'a>(
        trims: &'a mut Option<Box<Trims>>,
        checkpoints: &'a mut Option<Box<Checkpoints>>,
        lpn: Lpn,
    ) -> Option<(&'a mut Map, Lpn)> {
        match checkpoints.as_mut().filter(|checkpoints| checkpoints.holds(lpn)) {
            Some(checkpoints) => {
                let page = Lpn::new(lpn.get() - checkpoints.first);
                Some((&mut checkpoints.directory, page))
            }
            None => Self::trim_directory(trims, lpn),
        }
    }

    /// The places of all pages of checkpoints.
    pub(super) fn checkpoint_places(&self) -> impl Iterator<Item = Option<Psn>> + '_ {
        let directory = self.checkpoints.iter().map(|checkpoints| &checkpoints.directory);
        directory.flat_map(|directory| (0..directory.len()).map(|page| directory.get(Lpn::new(page))))
    }

    /// The program under assembly in a pool ends if a mapping unit does not belong in it: pages of checkpoints have
    /// programs of their own, and so a cause of their own.
    #[inline]
    pub(super) fn part_programs(&mut self, flash: &mut Flash<'_>, pool: u32, unit: &PageWrite) {
        let Some(checkpoints) = &mut self.checkpoints else { return };
        let stores = checkpoints.holds(unit.lpn);
        checkpoints.used |= !stores;
        self.stores_checkpoint = stores;
        let other = |command| (flash.backend.command(command).cause == Cause::Map) != stores;
        if self.blocks.pools[pool as usize].program.is_some_and(|assembly| other(assembly.command)) {
            self.send(flash, pool);
        }
    }

    /// True if a checkpoint must be begun, or pages of one must be stored now.
    #[inline]
    pub(super) fn checkpoint_is_due(&self) -> bool {
        let program = self.blocks.program_slots();
        self.checkpoints.as_ref().is_some_and(|of| of.begins(self.blocks.opened) || of.next_pages(program).is_some())
    }

    /// The power is about to go off: one more checkpoint.
    pub(super) fn want_checkpoint(&mut self) {
        if let Some(checkpoints) = &mut self.checkpoints {
            checkpoints.wanted = true;
        }
    }

    /// Begins a checkpoint, or stores its next pages.
    pub(super) fn store_checkpoint(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners) {
        let program = self.blocks.program_slots();
        if self.checkpoints.as_ref().is_some_and(|checkpoints| checkpoints.begins(self.blocks.opened)) {
            self.begin_checkpoint(flash);
        }
        let mut stored = false;
        while let Some(pages) = self.checkpoints.as_ref().and_then(|checkpoints| checkpoints.next_pages(program)) {
            self.begin_request(0);
            for page in pages {
                self.store_checkpoint_page(flash, owners, page);
            }
            // They wait for no data of the host.
            for i in 0..self.touched.len() {
                let pool = self.touched[i];
                self.blocks.pools[pool as usize].turn_to(Stream::HOST);
                let of_map = |command| flash.backend.command(command).cause == Cause::Map;
                if self.blocks.pools[pool as usize].program.is_some_and(|assembly| of_map(assembly.command)) {
                    self.send(flash, pool);
                }
            }
            stored = true;
        }
        if stored {
            self.end_write(flash, owners);
        }
    }

    /// Notes which superblocks are closed, in the media's image of the record.
    fn begin_checkpoint(&mut self, flash: &mut Flash<'_>) {
        let version = self.versions.next();
        let (planted, blocks) = (self.blocks.planted, &self.blocks.table);
        let Some(checkpoints) = &mut self.checkpoints else { return };
        (checkpoints.began_at, checkpoints.used, checkpoints.wanted) = (self.blocks.opened, false, false);
        let generation = checkpoints.valid.map_or(0, |valid| 1 - valid.generation);
        checkpoints.writing = Some(Writing { generation, version, next: 0, stored: 0 });
        let (superblocks, slots) = (checkpoints.shape.superblocks, checkpoints.shape.slots);
        let (image, words) = (checkpoints.image, Record::words(superblocks, slots));
        let media = flash.backend.media_mut();
        let openings = media.openings();
        media.stage_image(image, checkpoints.valid.map(|valid| valid.version), version, &[]);
        Record::begin(media.image_to_fill(image, version, words), openings);
        for superblock in (0..superblocks).map(SuperblockId::new) {
            let state = blocks.state(superblock);
            // No program comes before its erase, and an erase leaves a trace.
            let closed = matches!(state, State::Closed | State::Victim | State::Erasing);
            // A rescue may continue one that a power cut has closed early.
            let ended = planted.is(Sabotage::EndVouched) || media.unwritten_from(superblock).is_none();
            let closed = closed && ended && !blocks.is_failing(superblock);
            if closed || (state == State::Open && planted.is(Sabotage::OpenVouched)) {
                Record::vouch(media.image_to_fill(image, version, words), superblock);
            }
        }
        #[cfg(test)]
        checkpoints.stored.insert(version, Vec::new());
    }

    fn store_checkpoint_page(&mut self, flash: &mut Flash<'_>, owners: &mut dyn Owners, page: u32) {
        // A page before this one may have been refused, and the checkpoint given up.
        let Some(checkpoints) = &mut self.checkpoints else { return };
        let Some(writing) = checkpoints.writing.as_mut().filter(|writing| writing.next == page) else { return };
        writing.next += 1;
        let (version, generation, shape) = (writing.version, writing.generation, checkpoints.shape);
        if page < shape.maps {
            let words = flash.backend.media_mut().image_to_fill(
                checkpoints.image,
                version,
                Record::words(shape.superblocks, shape.slots),
            );
            for unit in page * shape.entries..shape.covered.min((page + 1) * shape.entries) {
                let place = match (&self.mapping, unit.checked_sub(self.units)) {
                    (Mapping::Ram(map), None) => map.get(Lpn::new(unit)),
                    (_, trim) => self.trims.as_ref().zip(trim).and_then(|(trims, page)| trims.place(page)),
                };
                #[cfg(test)]
                checkpoints.stored.entry(version).or_default().push(crate::map_unit::encode(place));
                let Some(psn) = place else { continue };
                if Record::is_vouched(words, self.blocks.geometry.locate(psn).0) {
                    Record::lead(words, shape.superblocks, psn);
                }
            }
        }
        if page == shape.each - 1 {
            flash.backend.media_mut().image_is_filled(checkpoints.image, version);
        }
        let lpn = Lpn::new(checkpoints.first + generation * shape.each + page);
        let mask = full_mask(self.blocks.geometry.sectors);
        self.write(
            flash,
            owners,
            PageWrite { lpn, owner: None, at: 0, mask, version, old_place: OldPlace::Unasked, stream: None },
        );
    }

    /// A page of a checkpoint has been programmed. The last makes it count, and the one before it garbage.
    pub(super) fn checkpoint_stored(&mut self, flash: &mut Flash<'_>, slot: &Slot, psn: Psn) {
        let pool = self.blocks.pool_at(psn);
        let Some(checkpoints) = &mut self.checkpoints else { return };
        let Some(writing) = checkpoints.writing.as_mut().filter(|writing| writing.version == slot.version) else {
            // The checkpoint has been given up.
            self.blocks.pools[pool as usize].live -= 1;
            return;
        };
        writing.stored += 1;
        let complete = writing.stored == checkpoints.shape.each;
        let Writing { generation, version, .. } = *writing;
        let before = checkpoints.directory.set(Lpn::new(slot.lpn.get() - checkpoints.first), Some(psn));
        assert!(before.is_none(), "{} was garbage when it was written again", slot.lpn);
        self.blocks.table.mark_valid(psn);
        if complete {
            flash.backend.media_mut().keep_image(checkpoints.image, version);
            #[cfg(test)]
            checkpoints.stored.retain(|stored, _| *stored == version);
            checkpoints.writing = None;
            checkpoints.valid = Some(Complete { generation, version });
            self.drop_generation(1 - generation);
        }
    }

    /// A page of a checkpoint finds no space: the checkpoint is given up, and the one before it still counts.
    pub(super) fn give_up_checkpoint(&mut self, unit: &PageWrite) {
        let Some(checkpoints) = &mut self.checkpoints else { return };
        if let Some(writing) = checkpoints.writing.take_if(|writing| writing.version == unit.version) {
            self.drop_generation(writing.generation);
        }
    }

    /// The pages of a checkpoint become garbage.
    fn drop_generation(&mut self, generation: u32) {
        let Some(each) = self.checkpoints.as_ref().map(|checkpoints| checkpoints.shape.each) else { return };
        for page in generation * each..(generation + 1) * each {
            let dropped = self.checkpoints.as_mut().and_then(|of| of.directory.set(Lpn::new(page), None));
            if let Some(psn) = dropped {
                self.blocks.invalidate(psn);
            }
        }
    }
}
