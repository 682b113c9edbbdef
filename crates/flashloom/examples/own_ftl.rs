//! An FTL of one's own: a page map over blocks that are written one after another, with garbage collection, partial writes and
//! recovery after a power cut. By its name it runs in every command of `flashloom`, see "Your own FTL" in the guide.

use std::collections::VecDeque;

use flashloom::ftl::simple::{CommandEnd, SimpleCommands, SimpleDrive, SimpleFtl, SimpleWrite};
use flashloom::ftl::{RegisterError, register_simple_ftl};
use flashloom::units::{Lpn, Psn, SuperblockId};

#[derive(Clone, Debug, Default)]
pub(crate) struct LogFtl {
    pages: u32,
    map: Vec<Option<Psn>>,
    /// The number of pages of each block to which the map points.
    valid: Vec<u32>,
    free: VecDeque<SuperblockId>,
    full: Vec<SuperblockId>,
    /// Open blocks, each with its next page: the first is for copies, the others are for the host.
    open: Vec<Option<(SuperblockId, u32)>>,
    /// Writes that wait for a page.
    waiting: VecDeque<SimpleWrite>,
    /// The block under collection, its pages that are still to be copied, and the copies under way.
    victim: Option<SuperblockId>,
    to_copy: VecDeque<Psn>,
    copying: u32,
}

impl LogFtl {
    /// Points a mapping unit to a page, or removes its page.
    fn point(&mut self, lpn: Lpn, to: Option<Psn>) {
        let old = std::mem::replace(&mut self.map[lpn.index()], to);
        old.into_iter().for_each(|psn| self.valid[(psn.get() / self.pages) as usize] -= 1);
        to.into_iter().for_each(|psn| self.valid[(psn.get() / self.pages) as usize] += 1);
    }

    /// The next page of an open block; if there is none, a free block is opened unless only `kept` are left.
    fn next_page(&mut self, open: usize, kept: usize) -> Option<Psn> {
        if self.open[open].is_none() && self.free.len() > kept {
            self.open[open] = self.free.pop_front().map(|block| (block, 0));
        }
        let (block, page) = self.open[open].take()?;
        self.open[open] = (page + 1 < self.pages).then_some((block, page + 1));
        self.full.extend(self.open[open].is_none().then_some(block));
        Some(Psn::new(block.get() * self.pages + page))
    }

    /// Does the work that is possible now: copies pages of the victim, programs writes, chooses the next victim.
    fn go_on(&mut self, flash: &mut SimpleCommands<'_, '_>) {
        while let Some(from) = self.to_copy.front().copied() {
            let Some(to) = self.next_page(0, 0) else { break };
            self.to_copy.pop_front();
            self.copying += 1;
            flash.copy(from, to);
        }
        while let Some(write) = self.waiting.pop_front() {
            let lpn = write.lpn().index();
            // The last two free blocks are for copies, so that collection always ends.
            let Some(to) = self.next_page(1 + lpn % (self.open.len() - 1), 2) else {
                self.waiting.push_front(write);
                break;
            };
            flash.program(write, to, self.map[lpn]);
        }
        if self.victim.is_none() && self.free.len() <= 2 + self.open.len() {
            self.collect(flash);
        }
        if flash.under_way() == 0 {
            // No copy under way and no block to collect will make room.
            self.waiting.drain(..).for_each(|write| flash.refuse(write));
        }
    }

    /// Begins to empty the full block with the fewest valid pages.
    fn collect(&mut self, flash: &mut SimpleCommands<'_, '_>) {
        let settled = self.full.iter().copied().filter(|block| flash.programs(*block) == 0);
        let victim = settled.min_by_key(|block| self.valid[block.index()]);
        let Some(victim) = victim.filter(|block| self.valid[block.index()] < self.pages) else { return };
        self.full.retain(|block| *block != victim);
        self.victim = Some(victim);
        self.to_copy = flash.valid_pages(victim, &self.map).collect();
        if self.to_copy.is_empty() { flash.erase(victim) } else { self.go_on(flash) }
    }
}

impl SimpleFtl for LogFtl {
    /// Rebuilds the map from the newest copies on flash. Copies go on in the block with the most free pages.
    fn mount(drive: &SimpleDrive<'_>) -> Self {
        let pages = drive.geometry.superblock_slots();
        let left = |block: &SuperblockId| drive.next_page(*block).map_or(0, |page| pages - page);
        let (mut free, mut full): (Vec<_>, Vec<_>) = drive.blocks().partition(|block| drive.is_erased(*block));
        // Neighbours in the sorted list are on different dies.
        free.sort_by_key(|block| block.get() % drive.geometry.blocks);
        full.sort_by_key(left);
        let copies = full.pop_if(|block| left(block) > 0).map(|block| (block, pages - left(&block)));
        let open = [copies].into_iter().chain((0..drive.geometry.die_count()).map(|_| None)).collect();
        let (map, valid) = (vec![None; drive.units as usize], vec![0; drive.geometry.superblock_count() as usize]);
        let mut ftl = Self { pages, map, valid, free: free.into(), full, open, ..Self::default() };
        (0..).map(Lpn::new).zip(drive.newest()).for_each(|(lpn, psn)| ftl.point(lpn, psn));
        ftl
    }

    fn place(&self, lpn: Lpn) -> Option<Psn> {
        self.map[lpn.index()]
    }

    fn write(&mut self, flash: &mut SimpleCommands<'_, '_>, write: SimpleWrite) {
        self.waiting.push_back(write);
        self.go_on(flash);
    }

    fn discard(&mut self, lpn: Lpn) {
        self.point(lpn, None);
    }

    fn done(&mut self, flash: &mut SimpleCommands<'_, '_>, done: CommandEnd) {
        match done {
            CommandEnd::Written { lpn, to } => self.point(lpn, Some(to)),
            CommandEnd::Copied { lpn, from, to } => {
                self.copying -= 1;
                // Moves the mapping unit only if the host has not written it again meanwhile.
                (self.map[lpn.index()] == Some(from)).then(|| self.point(lpn, Some(to)));
                let victim = self.victim.filter(|_| self.copying == 0 && self.to_copy.is_empty());
                victim.into_iter().for_each(|block| flash.erase(block));
            }
            CommandEnd::Failed { superblock, copy } => {
                let open = self.open.iter_mut().find(|open| open.is_some_and(|(block, _)| block == superblock));
                self.full.extend(open.and_then(Option::take).map(|(block, _)| block));
                self.copying -= u32::from(copy.is_some());
                self.to_copy.extend(copy);
            }
            CommandEnd::Erased(block) => (self.victim, _) = (None, self.free.push_back(block)),
            CommandEnd::Retired(_) => self.victim = None,
        }
        self.go_on(flash);
    }
}

/// Makes the FTL known to this program. Change the version with the FTL: it is in the key of each stored result.
pub fn register() -> Result<(), RegisterError> {
    register_simple_ftl::<LogFtl>("log", "1")
}

/// All commands of `flashloom`.
pub fn main() -> std::process::ExitCode {
    register().expect("a new name");
    flashloom::command(std::env::args_os()).into()
}
