//! Flushes without merges (Seong et al., Sec. 4.2.2, Fig. 16). The buffer's sectors are packed into a reserved area of
//! flash and the flush completes; the merges happen later, at their usual time.
//!
//! The area is blocks of all dies of one superchip, filled in parallel. A page holds the sectors of as many rows as fit
//! whole, and a directory of them, for which 16 spare bytes to a sector are enough. The newest logged copy of a row is
//! live until the map's log records a merge of that version of the row, or of a newer one. A block is free again when
//! neither it nor an older block has a live page. After a power cut, recovery gives the buffer back the rows that no
//! merge has taken.

use std::collections::VecDeque;

use base::engine::Handle;
use base::units::{Lpn, SuperblockId};
use flash::backend::{Cause, Class, Command, List, Slot};
use flash::nand::{Media, SectorMask, Spare, Stream, Target};

use super::address::Layout;
use super::journal::Areas;
use crate::port::{Flash, Owners, PageWrite, SavedSectors};
use crate::toolkit::Commands;

/// Words for each row in a page's directory: the row's number, its sector mask (two words), and its version.
const ROW: usize = 4;

/// The newest logged copy of a row that no merge has written yet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Live {
    lpn: Lpn,
    /// The version of the row's content: a merge of the same content records this version, a later merge a higher one.
    version: u32,
    /// The version of the flash page that holds the copy.
    page: u32,
}

/// A block with pages, and the newest version among them.
#[derive(Clone, Copy, Debug)]
struct Full {
    block: SuperblockId,
    newest: u32,
}

/// The area's blocks on one die: a strip.
#[derive(Clone, Debug, Default)]
struct Strip {
    /// The die, the first block and the number of blocks.
    place: (u32, u32, u32),
    free: VecDeque<SuperblockId>,
    full: Vec<Full>,
    /// The erased block being filled, and its next page.
    current: Option<(SuperblockId, u32)>,
    erasing: Option<SuperblockId>,
    /// The open list of the flush that is being built, and its latest program.
    list: Option<(Handle<List>, Handle<Command>)>,
}

/// The next flush: rows packed into pages.
#[derive(Clone, Debug, Default)]
struct NextFlush {
    rows: Vec<(PageWrite, u32)>,
    /// The number of sectors used in the last page.
    used: u32,
}

/// The flush under way.
#[derive(Clone, Debug, Default)]
struct Flush {
    rows: Vec<Live>,
    version: u32,
    /// Lists that have not finished.
    left: u32,
    failed: bool,
}

/// The reserved area for flushes.
#[derive(Clone, Debug)]
pub(super) struct FlushLog {
    layout: Layout,
    strips: Vec<Strip>,
    /// The first number of the pages' images in the media.
    first_image: u32,
    /// The first tag of the area's lists; each strip has a tag for erases and a tag for programs.
    first_tag: u32,
    /// The index of the strip that takes the next page.
    turn: usize,
    next: NextFlush,
    flush: Flush,
    /// The live rows, by number.
    live: Vec<Live>,
    /// The rows that recovery has found and the buffer has not taken yet.
    saved: Vec<SavedSectors>,
    words: Vec<u32>,
    /// Pages written since power-on.
    written: u64,
}

impl FlushLog {
    /// Recovers the area from the media, if flushes are logged. Also returns the newest version on flash. `merged(row)`
    /// gives the version of a row in its mapped superblock.
    pub(super) fn mount(
        layout: &Layout,
        areas: &Areas,
        media: &Media,
        merged: impl Fn(Lpn) -> Option<u32>,
    ) -> Option<(Self, u32)> {
        if areas.strips.is_empty() {
            return None;
        }
        let mut log = Self {
            layout: *layout,
            strips: areas.strips.iter().map(|place| Strip { place: *place, ..Strip::default() }).collect(),
            first_image: areas.images(layout),
            first_tag: areas.places.len() as u32,
            turn: 0,
            next: NextFlush::default(),
            flush: Flush::default(),
            live: Vec::new(),
            saved: Vec::new(),
            words: Vec::new(),
            written: 0,
        };
        let newest = log.recover(media, merged);
        Some((log, newest))
    }

    /// Hands the rows that recovery has found to the buffer.
    pub(super) fn take_saved(&mut self) -> Vec<SavedSectors> {
        std::mem::take(&mut self.saved)
    }

    fn recover(&mut self, media: &Media, merged: impl Fn(Lpn) -> Option<u32>) -> u32 {
        let mut found: Vec<(Live, SavedSectors)> = Vec::new();
        for strip in 0..self.strips.len() {
            for i in 0..self.strips[strip].place.2 {
                let block = self.block(media, strip, i);
                let newest =
                    (0..self.layout.pages).filter_map(|page| self.scan(media, strip, i, page, &mut found)).max();
                match newest {
                    Some(newest) => self.strips[strip].full.push(Full { block, newest }),
                    None if media.is_bad(block) => {}
                    None => self.strips[strip].free.push_back(block),
                }
            }
        }
        let newest = self.strips.iter().flat_map(|strip| &strip.full).map(|full| full.newest).max().unwrap_or(0);
        // The last copy of each row in this order is the newest.
        found.sort_by_key(|(live, _)| (live.lpn, live.page, live.version));
        for same in found.chunk_by(|(a, _), (b, _)| a.lpn == b.lpn) {
            let (live, content) = same[same.len() - 1];
            if merged(live.lpn).is_none_or(|version| version < live.version) {
                self.live.push(live);
                self.saved.push(content);
            }
        }
        self.release(media);
        newest
    }

    /// Appends the rows of a page to `found`. Returns the version of the page, if it holds any.
    fn scan(
        &self,
        media: &Media,
        strip: usize,
        block: u32,
        page: u32,
        found: &mut Vec<(Live, SavedSectors)>,
    ) -> Option<u32> {
        let psn = media.geometry().slot(self.block(media, strip, block), page);
        let Spare::Data { version: newest, .. } = media.spare(psn) else { return None };
        let image = media.image(self.image(strip, block, page), newest).expect("a page of the log has its content");
        let mut first = 0;
        for row in image.chunks_exact(ROW) {
            let (lpn, mask) = (Lpn::new(row[0]), SectorMask::from(row[1]) | SectorMask::from(row[2]) << 32);
            found.push((Live { lpn, version: row[3], page: newest }, SavedSectors { lpn, mask, psn, first }));
            first += mask.count_ones();
        }
        Some(newest)
    }

    fn block(&self, media: &Media, strip: usize, i: u32) -> SuperblockId {
        let (die, first, _) = self.strips[strip].place;
        SuperblockId::new(die * media.geometry().blocks + first + i)
    }

    /// The number of a page, unique in the area.
    fn page_number(&self, strip: usize, block: u32, page: u32) -> u32 {
        let before: u32 = self.strips[..strip].iter().map(|strip| strip.place.2).sum();
        (before + block) * self.layout.pages + page
    }

    fn image(&self, strip: usize, block: u32, page: u32) -> u32 {
        self.first_image + self.page_number(strip, block, page)
    }

    /// Pages written since power-on.
    pub(super) const fn written(&self) -> u64 {
        self.written
    }

    /// True while programs are under way.
    pub(super) const fn is_writing(&self) -> bool {
        self.flush.left > 0
    }

    /// Pages that fit into the erased blocks, without another erase.
    pub(super) fn room(&self) -> u32 {
        let left = self.strips.iter().filter_map(|strip| strip.current);
        left.map(|(_, next)| self.layout.pages - next).sum()
    }

    /// True if the log has no room, and only merges can make some.
    pub(super) fn is_full(&self) -> bool {
        let hope = |strip: &Strip| strip.current.is_some() || strip.erasing.is_some() || !strip.free.is_empty();
        !self.is_writing() && !self.strips.iter().any(hope)
    }

    /// Starts an erase on each strip that has no erased block and has a free one.
    pub(super) fn prepare(&mut self, flash: &mut Flash<'_>) {
        for strip in 0..self.strips.len() {
            let tag = self.tag(strip, false);
            let strip = &mut self.strips[strip];
            if strip.current.is_some() || strip.erasing.is_some() {
                continue;
            }
            let Some(block) = strip.free.pop_front() else { continue };
            if flash.backend.media().is_erased(block) {
                strip.current = Some((block, 0));
                continue;
            }
            strip.erasing = Some(block);
            let list = flash.backend.open_list(Class::Other, tag);
            flash.backend.add_erase(list, Cause::Flush, block);
            flash.submit(list);
        }
    }

    const fn tag(&self, strip: usize, programs: bool) -> u32 {
        super::ListPurpose::Area.tag(self.first_tag + 2 * strip as u32 + programs as u32)
    }

    /// Takes a row into the next flush. Returns false if the area has no room for its pages.
    pub(super) fn take(&mut self, unit: PageWrite) -> bool {
        let sectors = unit.mask.count_ones();
        let last = self.next.rows.last().map(|(_, page)| *page);
        let page = match last {
            Some(page) if self.next.used + sectors <= self.layout.sectors => page,
            _ => last.map_or(0, |page| page + 1),
        };
        if page >= self.room() {
            return false;
        }
        self.next.used = if last == Some(page) { self.next.used + sectors } else { sectors };
        self.next.rows.push((unit, page));
        true
    }

    /// Writes the rows that were taken into the next flush.
    pub(super) fn write(&mut self, flash: &mut Flash<'_>, owners: &dyn Owners, version: u32) {
        let mut rows = std::mem::take(&mut self.next.rows);
        (self.flush.version, self.flush.failed) = (version, false);
        for page in rows.chunk_by(|a, b| a.1 == b.1) {
            self.write_page(flash, owners, page);
        }
        rows.clear();
        self.next = NextFlush { rows, used: 0 };
        for (list, _) in self.strips.iter_mut().filter_map(|strip| strip.list.take()) {
            self.flush.left += 1;
            flash.submit(list);
        }
    }

    fn write_page(&mut self, flash: &mut Flash<'_>, owners: &dyn Owners, rows: &[(PageWrite, u32)]) {
        let strips = self.strips.len();
        let has_room = |strip: &usize| self.strips[*strip].current.is_some_and(|(_, next)| next < self.layout.pages);
        let strip = (0..strips).map(|i| (self.turn + i) % strips).find(has_room).expect("there was room for the row");
        self.turn = strip + 1;
        let (block, page) = self.strips[strip].current.expect("it has room");
        self.strips[strip].current = Some((block, page + 1));
        let before = self.strips[strip].list;
        let list = match before {
            Some((list, _)) => list,
            None => flash.backend.open_list(Class::Other, self.tag(strip, true)),
        };
        let target = Target { superblock: block, offset: page };
        let program = flash.backend.add_program(list, Cause::Flush, target, Stream::HOST);
        let i = block.get() % flash.backend.geometry().blocks - self.strips[strip].place.1;
        let lpn = Lpn::new(self.layout.first_number() + self.image(strip, i, page));
        let count: u32 = rows.iter().map(|(unit, _)| unit.mask.count_ones()).sum();
        let slot = Slot { lpn, version: self.flush.version, ..Slot::default() };
        let slot = flash.backend.push_slot(program, slot);
        // Packed sectors are spread over all buses evenly.
        flash.backend.set_sectors(program, count.next_multiple_of(self.layout.buses));
        self.words.clear();
        let mut first = 0;
        for (unit, _) in rows {
            owners.pack(unit, flash.backend.content_mut(slot), first);
            first += unit.mask.count_ones() as usize;
            self.words.extend([unit.lpn.get(), unit.mask as u32, (unit.mask >> 32) as u32, unit.version]);
            self.flush.rows.push(Live { lpn: unit.lpn, version: unit.version, page: self.flush.version });
        }
        let image = self.image(strip, i, page);
        flash.backend.media_mut().stage_image(image, None, self.flush.version, &self.words);
        // The programs run one after another, so that host reads can go in between.
        if let Some((_, before)) = before {
            flash.backend.depend(before, program);
        }
        self.strips[strip].list = Some((list, program));
        self.written += 1;
    }

    /// A list has finished. After the last list of a flush, returns true if the whole flush is on flash, and false if a
    /// program failed. `merged` is the result of [`FlushLog::mount`].
    pub(super) fn finished(
        &mut self,
        flash: &mut Flash<'_>,
        number: u32,
        list: Handle<List>,
        merged: impl Fn(&Media, Lpn) -> Option<u32>,
    ) -> Option<bool> {
        let strip = ((number - self.first_tag) / 2) as usize;
        let mut failed = false;
        let mut commands = Commands::of(flash.backend, list);
        while let Some((_, command)) = commands.next(flash.backend) {
            failed |= command.failed;
        }
        flash.backend.release(list);
        if let Some(block) = self.strips[strip].erasing.take() {
            if failed {
                flash.backend.media_mut().retire(block);
            } else {
                self.strips[strip].current = Some((block, 0));
            }
            self.prepare(flash);
            return None;
        }
        let (block, page) = self.strips[strip].current.expect("it was being filled");
        if failed {
            flash.backend.media_mut().retire(block);
        }
        if failed || page == self.layout.pages {
            self.strips[strip].full.push(Full { block, newest: self.flush.version });
            self.strips[strip].current = None;
        }
        self.flush.failed |= failed;
        self.flush.left -= 1;
        if self.flush.left > 0 {
            return None;
        }
        let mut writing = std::mem::take(&mut self.flush.rows);
        let well = !self.flush.failed;
        for row in writing.drain(..).filter(|_| well) {
            self.live_again(row, merged(flash.backend.media(), row.lpn));
        }
        self.flush.rows = writing;
        self.release(flash.backend.media());
        self.prepare(flash);
        Some(well)
    }

    /// Makes a logged row live, unless a merge has written the row meanwhile.
    fn live_again(&mut self, row: Live, merged: Option<u32>) {
        let gone = merged.is_some_and(|version| version >= row.version);
        match self.live.binary_search_by_key(&row.lpn, |live| live.lpn) {
            Ok(_) if gone => {}
            Ok(place) => self.live[place] = row,
            Err(_) if gone => {}
            Err(place) => self.live.insert(place, row),
        }
    }

    /// The map's log records a merge of this version of a row.
    pub(super) fn merged(&mut self, lpn: Lpn, version: u32) {
        if let Ok(place) = self.live.binary_search_by_key(&lpn, |live| live.lpn)
            && self.live[place].version <= version
        {
            self.live.remove(place);
        }
    }

    /// The host has discarded a row.
    pub(super) fn forget(&mut self, lpn: Lpn) {
        self.merged(lpn, u32::MAX);
        self.flush.rows.retain(|row| row.lpn != lpn);
    }

    /// Frees the full blocks that have no live page, as long as no older block has a live page.
    pub(super) fn release(&mut self, media: &Media) {
        // The flush under way counts as live until its last page is written.
        let written = self.is_writing().then_some(self.flush.version);
        let oldest = self.live.iter().map(|live| live.page).chain(written).min().unwrap_or(u32::MAX);
        for strip in &mut self.strips {
            let free = &mut strip.free;
            strip.full.retain(|full| {
                let needed = full.newest >= oldest;
                if !needed && !media.is_bad(full.block) {
                    free.push_back(full.block);
                }
                needed
            });
        }
    }

    /// Checks the invariants that hold between two events.
    pub(super) fn check(&self, media: &Media, merged: impl Fn(Lpn) -> Option<u32>) {
        assert!(self.live.is_sorted_by(|a, b| a.lpn < b.lpn), "rows in the log of flushes");
        let mut found = Vec::new();
        for strip in 0..self.strips.len() {
            let Strip { free, full, current, erasing, .. } = &self.strips[strip];
            for i in 0..self.strips[strip].place.2 {
                let block = self.block(media, strip, i);
                let kept = full.iter().any(|full| full.block == block) || current.is_some_and(|(it, _)| it == block);
                let idle = free.contains(&block) || *erasing == Some(block);
                assert_eq!(kept || idle, kept != idle, "{block} of the log of flushes is in two places");
                if kept {
                    for page in 0..self.layout.pages {
                        self.scan(media, strip, i, page, &mut found);
                    }
                }
            }
        }
        for live in &self.live {
            assert!(found.iter().any(|(other, _)| other == live), "the log of flushes has lost {live:?}");
            let gone = merged(live.lpn).is_some_and(|version| version >= live.version);
            assert!(!gone, "{live:?} has been merged");
        }
    }
}
