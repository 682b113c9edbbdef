//! Discards that survive a power cut: trim pages.
//!
//! A discard programs no data, so recovery, which uses the newest copy of each mapping unit, would bring the discarded
//! data back. Trim page number `t` therefore has a bit for each mapping unit of a range of addresses. It is a mapping
//! unit numbered behind those of the host and of the map, so placement, collection, versions and wear treat it like
//! data; a table in RAM holds its place, and its content is an image in the media. A discard takes effect, and is
//! acknowledged, when its trim page is programmed: until then the newest copy must not be erased, or an older one would
//! come back. Discards that come meanwhile share the next program.
//!
//! Versions decide the meaning of a bit: every copy of the mapping unit that is older than the trim page is discarded.
//! A write of a discarded mapping unit may be in progress while the page is stored because of another mapping unit. The
//! page would then be newer than that write, so it lists the write's version beside the bits: only copies older than
//! that version are discarded.

use std::collections::BTreeMap;

use base::units::{Lpn, Psn};
use flash::backend::Slot;
use flash::nand::Media;

use crate::page::block_manager::BlockManager;
use crate::page::mapping::Mapping;
use crate::page::mapping::trim_pages::TrimPages;
use crate::port::{Flash, Owner, Owners, PageWrite};
use crate::sabotage::{PlantedBug, Sabotage};
use crate::toolkit::recovery;
use crate::toolkit::{Map, Versions};

/// A discard that its trim page has yet to record, with the state to restore if the drive refuses the page.
#[derive(Clone, Copy, Debug)]
struct Discard {
    owner: Owner,
    lpn: Lpn,
    /// The mapping unit's bit before the discard.
    was_discarded: bool,
    /// The version of a write in progress that is newer than an earlier discard and older than this discard.
    older_write: Option<u32>,
}

#[derive(Clone, Debug, Default)]
struct TrimPage {
    /// The version on flash.
    durable: Option<u32>,
    /// The version being programmed.
    storing: Option<u32>,
    /// True if a discard is in neither of these versions.
    dirty: bool,
    /// The latest version given out when the latest discard came: writes up to this version are older than the discard.
    latest: u32,
    /// Discards that the version being programmed records, and the discards of the next version.
    stored_for: Vec<Discard>,
    waiting: Vec<Discard>,
}

impl TrimPage {
    /// The discards of a mapping unit that are not recorded, the oldest first.
    fn unrecorded(&mut self, lpn: Lpn) -> impl Iterator<Item = &mut Discard> {
        self.stored_for.iter_mut().chain(&mut self.waiting).filter(move |discard| discard.lpn == lpn)
    }
}

/// All trim pages of a drive.
#[derive(Clone, Debug)]
pub(in crate::page) struct Trims {
    shape: TrimPages,
    /// Mapping units of the host.
    units: u32,
    /// The logical number of the first page.
    first: u32,
    /// The number of the first page's image in the media.
    image: u32,
    /// Mapping units that are discarded, one bit each.
    bits: Vec<u32>,
    pages: Vec<TrimPage>,
    /// Numbers of dirty pages.
    due: Vec<u32>,
    directory: Map,
    /// For each discarded mapping unit, the version of the latest write in progress that came after the discard.
    newer: BTreeMap<Lpn, u32>,
    /// A buffer for an image, kept so that no image allocates.
    words: Vec<u32>,
}

impl Trims {
    /// Bytes of the simulator's memory for the trim pages of a device.
    pub(in crate::page) fn memory(shape: &TrimPages) -> u64 {
        shape.memory(size_of::<TrimPage>())
    }

    /// The place of a trim page; `None` if it is not programmed.
    pub(in crate::page) fn place(&self, page: u32) -> Option<Psn> {
        self.directory.get(Lpn::new(page))
    }

    /// True if a logical number belongs to a trim page.
    pub(in crate::page) const fn holds(&self, lpn: Lpn) -> bool {
        lpn.get() >= self.first && lpn.get() - self.first < self.shape.count
    }

    fn is_discarded(&self, lpn: Lpn) -> bool {
        self.bits[lpn.index() / 32] >> (lpn.get() % 32) & 1 != 0
    }

    fn set(&mut self, lpn: Lpn, discarded: bool) {
        let word = &mut self.bits[lpn.index() / 32];
        *word = *word & !(1 << (lpn.get() % 32)) | u32::from(discarded) << (lpn.get() % 32);
    }

    fn page_of(&mut self, lpn: Lpn) -> (u32, &mut TrimPage) {
        let page = lpn.get() / self.shape.units;
        (page, &mut self.pages[page as usize])
    }

    /// Undoes the discards of a page that the drive has refused.
    fn undo(&mut self, page: usize, refused: &[Discard]) {
        for discard in refused.iter().rev() {
            let Discard { lpn, was_discarded, older_write, .. } = *discard;
            if !self.is_discarded(lpn) {
                // A newer write has been programmed meanwhile, so the mapping unit is no longer discarded.
                continue;
            }
            // The next version of the page may still record a later discard of the mapping unit.
            match self.pages[page].waiting.iter_mut().find(|later| later.lpn == lpn) {
                Some(later) => {
                    later.was_discarded = was_discarded;
                    later.older_write = later.older_write.or(older_write);
                }
                None => {
                    self.set(lpn, was_discarded);
                    if let Some(version) = older_write {
                        self.newer.entry(lpn).or_insert(version);
                    }
                }
            }
        }
    }

    /// The writes in progress of a page's discarded mapping units, with their versions.
    fn newer_of(&self, page: u32) -> impl Iterator<Item = (Lpn, u32)> + '_ {
        let first = page * self.shape.units;
        let range = Lpn::new(first)..Lpn::new(first.saturating_add(self.shape.units));
        self.newer.range(range).map(|(lpn, version)| (*lpn, *version))
    }

    /// The number of a dirty page that may be stored now.
    fn next_due(&self) -> Option<usize> {
        self.due.iter().position(|page| {
            self.pages[*page as usize].storing.is_none() && self.newer_of(*page).count() <= self.shape.listed()
        })
    }

    /// The present content of a page: its bits, and the list of writes in progress.
    fn image_of(&mut self, page: u32, planted: PlantedBug) -> &[u32] {
        let mut words = std::mem::take(&mut self.words);
        words.clear();
        let each = self.shape.units as usize / 32;
        words.extend(self.bits.iter().skip(page as usize * each).take(each));
        if !planted.is(Sabotage::DiscardOverrules) {
            for (lpn, version) in self.newer_of(page) {
                words.extend([lpn.get(), version]);
            }
        }
        self.words = words;
        &self.words
    }

    /// For each mapping unit that a page's image discards, the version below which copies are discarded.
    fn limits<'a>(&self, page: u32, version: u32, image: &'a [u32]) -> impl Iterator<Item = (Lpn, u32)> + use<'a> {
        let each =
            (self.shape.units as usize / 32).min(self.bits.len() - page as usize * self.shape.units as usize / 32);
        let (bits, listed) = image.split_at(each.min(image.len()));
        let first = page * self.shape.units;
        let listed: BTreeMap<u32, u32> = listed.chunks_exact(2).map(|pair| (pair[0], pair[1])).collect();
        let set = (0..bits.len() as u32 * 32).filter(|i| bits[*i as usize / 32] >> (i % 32) & 1 != 0);
        set.map(move |i| (Lpn::new(first + i), listed.get(&(first + i)).copied().unwrap_or(version)))
    }

    /// Notes a discard in its page; `latest` is the latest version that has been given out. Returns true if the discard
    /// takes effect later, when the page is programmed.
    pub(in crate::page) fn record(&mut self, owner: Owner, lpn: Lpn, latest: u32) -> bool {
        // A write in progress is older than this discard.
        let older_write = self.newer.remove(&lpn);
        let was_discarded = self.is_discarded(lpn);
        let known = was_discarded && older_write.is_none();
        if known && owner.is_none() {
            // The write buffer repeats a discard that is already durable, because a program was under way.
            return false;
        }
        self.set(lpn, true);
        let discard = Discard { owner, lpn, was_discarded, older_write };
        let (page, state) = self.page_of(lpn);
        match (known, state.dirty, state.storing) {
            (true, false, None) => return false,
            (true, false, Some(_)) => state.stored_for.push(discard),
            (_, dirty, _) => {
                state.waiting.push(discard);
                (state.dirty, state.latest) = (true, latest);
                if !dirty {
                    self.due.push(page);
                }
            }
        }
        true
    }

    /// True if a mapping unit that has just been programmed is older than a durable discard: the map must not point to
    /// the slot.
    pub(in crate::page) fn is_outdated(&mut self, slot: &Slot) -> bool {
        let lpn = slot.lpn;
        if lpn.get() >= self.units || self.newer.contains_key(&lpn) || !self.is_discarded(lpn) {
            return false;
        }
        let (_, state) = self.page_of(lpn);
        state.unrecorded(lpn).all(|discard| discard.was_discarded && discard.older_write != Some(slot.version))
    }

    /// Notes a write that comes to the FTL. If its mapping unit is discarded, the write is newer than the discard,
    /// unless it was in progress when the discard came and is placed again.
    pub(in crate::page) fn note_write(&mut self, unit: &PageWrite) {
        let discarded = unit.lpn.get() < self.units && self.is_discarded(unit.lpn);
        if discarded && unit.version > self.page_of(unit.lpn).1.latest {
            self.newer.insert(unit.lpn, unit.version);
        }
    }

    /// Notes that a mapping unit has been programmed, or refused if not `written`.
    pub(in crate::page) fn note_written(&mut self, lpn: Lpn, version: u32, written: bool) {
        if lpn.get() >= self.units {
            return;
        }
        if self.newer.get(&lpn) == Some(&version) {
            self.newer.remove(&lpn);
            if written {
                self.set(lpn, false);
            }
        } else if self.is_discarded(lpn) {
            // The write is older than the discards that wait for their record, and no longer in progress.
            for discard in self.page_of(lpn).1.unrecorded(lpn) {
                discard.older_write.take_if(|older| *older == version);
                discard.was_discarded &= !written;
            }
        }
    }

    /// True if some page must be stored now.
    #[inline]
    pub(in crate::page) fn is_due(&self) -> bool {
        self.next_due().is_some()
    }

    /// Makes the image of a dirty page that may be stored now. Returns the write that stores it.
    pub(in crate::page) fn stage(
        &mut self,
        media: &mut Media,
        versions: &mut Versions,
        planted: PlantedBug,
        sectors: u32,
    ) -> Option<PageWrite> {
        let page = self.due.remove(self.next_due()?);
        let version = versions.next();
        let state = &mut self.pages[page as usize];
        (state.dirty, state.storing) = (false, Some(version));
        std::mem::swap(&mut state.stored_for, &mut state.waiting);
        let (durable, image, lpn) = (state.durable, self.image + page, Lpn::new(self.first + page));
        media.stage_image(image, durable, version, self.image_of(page, planted));
        Some(PageWrite::of_ftl(lpn, version, sectors))
    }

    /// Refuses the discards of a page that never finds space, like writes.
    pub(in crate::page) fn refuse(&mut self, owners: &mut dyn Owners, lpn: Lpn) {
        let page = (lpn.get() - self.first) as usize;
        self.pages[page].storing = None;
        let refused = std::mem::take(&mut self.pages[page].stored_for);
        self.undo(page, &refused);
        refused.iter().for_each(|discard| owners.discard_refused(discard.owner));
    }

    /// The places of all trim pages, `None` for pages that are not programmed.
    pub(in crate::page) fn places(&self) -> impl Iterator<Item = Option<Psn>> + '_ {
        (0..self.shape.count).map(|page| self.place(page))
    }

    /// The table of the places of the pages, and the number of a page in it; none if the logical number belongs to no
    /// such page.
    pub(in crate::page) fn entry(&mut self, lpn: Lpn) -> Option<(&mut Map, Lpn)> {
        self.holds(lpn).then(|| Lpn::new(lpn.get() - self.first)).map(|page| (&mut self.directory, page))
    }

    /// Takes the trim pages out of the map that recovery found, and with them the copies that they discard. The pages
    /// are numbered behind the mapping units of the host and the translation pages.
    pub(in crate::page) fn recover(
        shape: TrimPages,
        (units, pages): (u32, u32),
        latest: u32,
        media: &Media,
        found: &mut Map,
    ) -> Option<Box<Self>> {
        if shape.count == 0 {
            return None;
        }
        let first = units + pages;
        let mut trims = Self {
            shape,
            units,
            first,
            image: pages,
            bits: vec![0; units.div_ceil(32) as usize],
            pages: vec![TrimPage::default(); shape.count as usize],
            due: Vec::new(),
            directory: Map::new(shape.count),
            newer: BTreeMap::new(),
            words: Vec::new(),
        };
        for page in 0..shape.count {
            let state = &mut trims.pages[page as usize];
            state.latest = latest;
            let Some(psn) = found.get(Lpn::new(first + page)) else { continue };
            let version = recovery::version_of(media, psn).expect("it was found by its version");
            state.durable = Some(version);
            trims.directory.set(Lpn::new(page), Some(psn));
            // A version without an image comes from another drive's trim pages.
            let Some(image) = media.image(pages + page, version) else { continue };
            for (lpn, limit) in trims.limits(page, version, image) {
                let newest = found.get(lpn).and_then(|psn| recovery::version_of(media, psn));
                if newest.is_none_or(|newest| newest < limit) {
                    found.set(lpn, None);
                    trims.set(lpn, true);
                }
            }
        }
        Some(Box::new(trims))
    }
}

impl Mapping {
    /// True if a logical number belongs to a trim page.
    pub(in crate::page) fn is_trim(&self, lpn: Lpn) -> bool {
        self.trims.as_ref().is_some_and(|trims| trims.holds(lpn))
    }

    /// Handles a trim page that has been programmed: its discards are durable.
    #[inline(never)]
    pub(in crate::page) fn trim_stored(
        &mut self,
        blocks: &mut BlockManager,
        flash: &mut Flash<'_>,
        owners: &mut dyn Owners,
        (slot, psn): (&Slot, Psn),
    ) {
        blocks.table.mark_valid(psn);
        let Some(trims) = self.trims.as_mut() else { return };
        let page = slot.lpn.get() - trims.first;
        let state = &mut trims.pages[page as usize];
        assert!(state.storing.take() == Some(slot.version), "trim page {page} was stored as another version");
        state.durable = Some(slot.version);
        flash.backend.media_mut().keep_image(trims.image + page, slot.version);
        let mut stored_for = std::mem::take(&mut state.stored_for);
        if let Some(old) = trims.directory.set(Lpn::new(page), Some(psn)) {
            blocks.invalidate(old);
        }
        for Discard { owner, lpn, .. } in stored_for.drain(..) {
            let rewritten = self.trims.as_ref().is_some_and(|trims| !trims.is_discarded(lpn));
            if rewritten || !self.give_up_unit(blocks, flash.now, owner, lpn) {
                owners.discard_done(owner);
            }
        }
        // Put back so that its memory is kept; no store begins before the device asks.
        if let Some(trims) = self.trims.as_mut() {
            trims.pages[page as usize].stored_for = stored_for;
        }
    }
}
