//! A reserved area of flash: pages of the log or of the map, in sequence, in blocks of one die.
//!
//! The area erases a block just before it fills it. A failing block keeps the pages it already holds, so the area keeps
//! it like a full block until those pages are obsolete.

use std::collections::VecDeque;

use base::engine::Handle;
use base::units::{Lpn, SuperblockId};
use flash::backend::{Cause, Class, List, Slot};
use flash::nand::{Media, Spare, Stream, Target};

use crate::port::{Flash, full_mask};
use crate::toolkit::Commands;

/// A page of an area: the number and version that its spare area records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AreaPage {
    pub(super) number: u32,
    pub(super) version: u32,
}

/// A block whose pages may still be needed.
#[derive(Clone, Copy, Debug)]
struct Full {
    block: SuperblockId,
    /// The newest version in the block.
    newest: u32,
}

#[derive(Clone, Debug)]
pub(super) struct Area {
    /// The logical number of the area's first page.
    first_number: u32,
    pages: u32,
    sectors: u32,
    /// Tag of all command lists of the area, by which their ends reach it.
    tag: u32,
    free: VecDeque<SuperblockId>,
    full: Vec<Full>,
    /// The block being filled, its next page, and the newest version in it.
    current: Option<(SuperblockId, u32, u32)>,
    waiting: VecDeque<AreaPage>,
    writing: Vec<AreaPage>,
    erasing: bool,
}

impl Area {
    pub(super) fn new(first_number: u32, pages: u32, sectors: u32, tag: u32) -> Self {
        Self {
            first_number,
            pages,
            sectors,
            tag,
            free: VecDeque::new(),
            full: Vec::new(),
            current: None,
            waiting: VecDeque::new(),
            writing: Vec::new(),
            erasing: false,
        }
    }

    /// Reads the spare areas of a block and returns the pages it holds.
    pub(super) fn scan(&self, media: &Media, block: SuperblockId) -> impl Iterator<Item = AreaPage> {
        let pages = (0..self.pages).filter_map(|page| {
            let psn = media.geometry().slot(block, page);
            let Spare::Data { lpn, version } = media.spare(psn) else { return None };
            Some(AreaPage { number: lpn.get().checked_sub(self.first_number)?, version })
        });
        pages.collect::<Vec<_>>().into_iter()
    }

    /// At power-on: adds a block whose newest page has version `newest`, or a free block if `newest` is `None` because
    /// no page of the block is needed.
    pub(super) fn found(&mut self, media: &Media, block: SuperblockId, newest: Option<u32>) {
        match newest {
            Some(newest) => self.full.push(Full { block, newest }),
            None if media.is_bad(block) => {}
            None => self.free.push_back(block),
        }
    }

    pub(super) fn full(&self) -> usize {
        self.full.len()
    }

    /// Appends a page to the queue of pages to write.
    pub(super) fn push(&mut self, page: AreaPage) {
        self.waiting.push_back(page);
    }

    /// True if pages wait for a block and only the release of full blocks can give them one.
    pub(super) fn is_out_of_blocks(&self) -> bool {
        let idle = self.writing.is_empty() && !self.erasing;
        idle && !self.waiting.is_empty() && self.current.is_none() && self.free.is_empty()
    }

    /// True if the area neither writes nor erases, and no page waits.
    pub(super) fn is_idle(&self) -> bool {
        self.writing.is_empty() && self.waiting.is_empty() && !self.erasing
    }

    /// Frees the full blocks that hold only pages older than `version`.
    pub(super) fn release(&mut self, media: &Media, version: u32) {
        for i in (0..self.full.len()).rev() {
            if self.full[i].newest < version {
                let Full { block, .. } = self.full.remove(i);
                if !media.is_bad(block) {
                    self.free.push_back(block);
                }
            }
        }
    }

    /// Writes the waiting pages, as many as fit in the current block, unless a list of the area is under way.
    pub(super) fn advance(&mut self, flash: &mut Flash<'_>) {
        if self.waiting.is_empty() || !self.writing.is_empty() || self.erasing {
            return;
        }
        let (block, next, _) = match self.current {
            Some(current) => current,
            None => match self.free.pop_front() {
                Some(block) => *self.current.insert((block, 0, 0)),
                None => return,
            },
        };
        let list = flash.backend.open_list(Class::Other, self.tag);
        if next == 0 && !flash.backend.media().is_erased(block) {
            self.erasing = true;
            flash.backend.add_erase(list, Cause::Map, block);
            return flash.submit(list);
        }
        let count = self.waiting.len().min((self.pages - next) as usize);
        let mut before = None;
        for (page, offset) in self.waiting.drain(..count).zip(next..) {
            let target = Target { superblock: block, offset };
            let program = flash.backend.add_program(list, Cause::Map, target, Stream::HOST);
            let lpn = Lpn::new(self.first_number + page.number);
            let mask = full_mask(self.sectors);
            flash.backend.push_slot(program, Slot { lpn, version: page.version, mask, ..Slot::default() });
            // The programs run one after another, so that host reads can go in between.
            if let Some(before) = before.replace(program) {
                flash.backend.depend(before, program);
            }
            self.writing.push(page);
        }
        flash.submit(list);
    }

    /// A list of this area has finished. Calls `written` for every page that is now on flash.
    pub(super) fn finished(&mut self, flash: &mut Flash<'_>, list: Handle<List>, mut written: impl FnMut(AreaPage)) {
        let (block, mut next, mut newest) = self.current.expect("it works on a block");
        let mut commands = Commands::of(flash.backend, list);
        if std::mem::take(&mut self.erasing) {
            let (_, erase) = commands.next(flash.backend).expect("an erase");
            if erase.failed {
                flash.backend.media_mut().retire(block);
                self.current = None;
            }
            return flash.backend.release(list);
        }
        let mut failed = false;
        let mut again = 0;
        for i in 0..self.writing.len() {
            let (_, program) = commands.next(flash.backend).expect("a command for each page");
            let page = self.writing[i];
            next += 1;
            if program.failed {
                failed = true;
                self.waiting.insert(again, page);
                again += 1;
            } else {
                newest = newest.max(page.version);
                written(page);
            }
        }
        self.writing.clear();
        flash.backend.release(list);
        if failed {
            flash.backend.media_mut().retire(block);
        }
        let done = failed || next == self.pages;
        self.current = (!done).then_some((block, next, newest));
        if done {
            self.full.push(Full { block, newest });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_area_is_out_of_blocks_if_pages_wait_and_no_block_is_free() {
        let mut area = Area::new(100, 4, 4, 0);
        assert!(area.is_idle() && !area.is_out_of_blocks(), "nothing waits");
        area.push(AreaPage { number: 0, version: 1 });
        assert!(!area.is_idle() && area.is_out_of_blocks());
        area.free.push_back(SuperblockId::new(7));
        assert!(!area.is_out_of_blocks(), "it is to be written");
        area.current = area.free.pop_front().map(|block| (block, 0, 0));
        assert!(!area.is_out_of_blocks(), "there is room in the block that is being filled");
        (area.current, area.erasing) = (None, true);
        assert!(!area.is_out_of_blocks() && !area.is_idle(), "it waits for an erase");
    }
}
