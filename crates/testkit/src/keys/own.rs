//! An FTL of this program, for the keys of such FTLs: one open block, and the oldest block is collected.

use std::collections::VecDeque;

use base::units::{Lpn, Psn, SuperblockId};
use ftl::simple::{Done, SimpleCommands, SimpleDrive, SimpleFtl, SimpleWrite};
use ftl::{RegisterError, register_simple_ftl};

/// The oldest block is collected first.
#[derive(Clone, Debug, Default)]
struct Oldest {
    pages: u32,
    /// Free blocks at which collection begins.
    start: usize,
    map: Vec<Option<Psn>>,
    free: VecDeque<SuperblockId>,
    full: VecDeque<SuperblockId>,
    open: [Option<(SuperblockId, u32)>; 2],
    waiting: VecDeque<SimpleWrite>,
    victim: Option<SuperblockId>,
    to_copy: VecDeque<Psn>,
    copying: u32,
}

impl Oldest {
    /// The next page for the host (0), or for copies (1).
    fn next_page(&mut self, of: usize) -> Option<Psn> {
        if self.open[of].is_none() && self.free.len() > 1 - of {
            self.open[of] = self.free.pop_front().map(|block| (block, 0));
        }
        let (block, page) = self.open[of].take()?;
        if page + 1 < self.pages {
            self.open[of] = Some((block, page + 1));
        } else {
            self.full.push_back(block);
        }
        Some(Psn::new(block.get() * self.pages + page))
    }

    fn go_on(&mut self, flash: &mut SimpleCommands<'_, '_>) {
        while let Some(from) = self.to_copy.front().copied() {
            let Some(to) = self.next_page(1) else { break };
            self.to_copy.pop_front();
            self.copying += 1;
            flash.copy(from, to);
        }
        while !self.waiting.is_empty() {
            let Some(to) = self.next_page(0) else { break };
            let write = self.waiting.pop_front().expect("it waits");
            let old = self.map[write.lpn().index()];
            flash.program(write, to, old);
        }
        let settled = self.full.iter().position(|block| flash.programs(*block) == 0);
        if let (None, true, Some(place)) = (self.victim, self.free.len() <= self.start, settled) {
            self.victim = self.full.remove(place);
            let victim = self.victim.expect("it is there");
            self.to_copy = flash.valid_pages(victim, &self.map).collect();
            if self.to_copy.is_empty() {
                flash.erase(victim);
            } else {
                self.go_on(flash);
            }
        }
        if flash.under_way() == 0 {
            self.waiting.drain(..).for_each(|write| flash.refuse(write));
        }
    }
}

impl SimpleFtl for Oldest {
    fn mount(drive: &SimpleDrive<'_>) -> Self {
        let (free, full): (Vec<_>, Vec<_>) = drive.blocks().partition(|block| drive.is_erased(*block));
        let (pages, start) = (drive.geometry.superblock_slots(), drive.option("start", 2.0) as usize);
        Self { pages, start, map: drive.newest(), free: free.into(), full: full.into(), ..Self::default() }
    }

    fn place(&self, lpn: Lpn) -> Option<Psn> {
        self.map[lpn.index()]
    }

    fn write(&mut self, flash: &mut SimpleCommands<'_, '_>, write: SimpleWrite) {
        self.waiting.push_back(write);
        self.go_on(flash);
    }

    fn discard(&mut self, lpn: Lpn) {
        self.map[lpn.index()] = None;
    }

    fn done(&mut self, flash: &mut SimpleCommands<'_, '_>, done: Done) {
        match done {
            Done::Written { lpn, to } => self.map[lpn.index()] = Some(to),
            Done::Copied { lpn, from, to } => {
                self.copying -= 1;
                if self.map[lpn.index()] == Some(from) {
                    self.map[lpn.index()] = Some(to);
                }
                if let (Some(victim), 0, true) = (self.victim, self.copying, self.to_copy.is_empty()) {
                    flash.erase(victim);
                }
            }
            Done::Failed { superblock, copy } => {
                for open in &mut self.open {
                    self.full.extend(open.take_if(|(block, _)| *block == superblock).map(|(block, _)| block));
                }
                self.copying -= u32::from(copy.is_some());
                self.to_copy.extend(copy);
            }
            Done::Erased(block) => {
                self.free.push_back(block);
                self.victim = None;
            }
            Done::Retired(_) => self.victim = None,
        }
        self.go_on(flash);
    }
}

/// Makes the FTL known to this program as `oldest`.
///
/// # Errors
/// If another program part has taken the name.
pub fn register_oldest() -> Result<(), RegisterError> {
    register_simple_ftl::<Oldest>("oldest", "1")
}
