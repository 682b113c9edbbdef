//! A disk with a volatile cache that keeps its promises in every order that it may choose, and disks that break them.

use base::engine::Rng;

use super::*;

const SECTORS: u64 = 12;

/// The fault of a dishonest disk.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Lie {
    None,
    IgnoresFlushes,
    IgnoresForcedAccess,
    DropsWrites,
    ReadsOldData,
    SwapsSectors,
    TearsSectors,
}

/// An outstanding request.
struct OpenRequest {
    ticket: Ticket,
    request: TestRequest,
    start: u64,
    sectors: u64,
    /// The effect of the request, or the content that it found.
    is_done: bool,
    data: Vec<u8>,
}

/// A disk with a byte for each sector: in the cache, on flash, and before its last write.
struct ModelDisk {
    rng: Rng,
    lie: Lie,
    bench: Bench,
    cache: [u8; SECTORS as usize],
    flash: [u8; SECTORS as usize],
    older: [u8; SECTORS as usize],
    /// True if the cache has zeros that are never written to flash.
    is_discarded: [bool; SECTORS as usize],
    open: Vec<OpenRequest>,
    byte: u8,
}

impl ModelDisk {
    fn new(seed: u64, lie: Lie) -> Self {
        let zeros = [0; SECTORS as usize];
        Self {
            rng: Rng::stream(seed, "honest"),
            lie,
            bench: Bench::new(VOLATILE),
            cache: zeros,
            flash: zeros,
            older: zeros,
            is_discarded: [false; SECTORS as usize],
            open: Vec::new(),
            byte: 0,
        }
    }

    fn range(open: &OpenRequest) -> std::ops::Range<usize> {
        open.start as usize..(open.start + open.sectors) as usize
    }

    fn begin(&mut self) {
        let start = self.rng.below(SECTORS);
        let sectors = 1 + self.rng.below(SECTORS - start);
        self.byte = self.byte % 250 + 1;
        let fua = self.rng.chance(0.2);
        let (request, sectors) = match self.rng.below(10) {
            0..4 => (READ, sectors),
            4..7 => (
                TestRequest { command: ClientCommand::Write { fua }, data: data(&vec![self.byte; sectors as usize]) },
                sectors,
            ),
            7 => (bare(ClientCommand::WriteZeroes { fua }), sectors),
            8 => (FLUSH, 0),
            _ => (DISCARD, sectors),
        };
        let start = if sectors == 0 { 0 } else { start };
        let ticket = self.bench.begin(&request, start, sectors);
        self.open.push(OpenRequest { ticket, request, start, sectors, is_done: false, data: Vec::new() });
    }

    /// Carries out a request.
    fn act(&mut self, at: usize) {
        let open = &mut self.open[at];
        if std::mem::replace(&mut open.is_done, true) {
            return;
        }
        let range = Self::range(open);
        let lies = |rng: &mut Rng| rng.chance(0.05);
        match open.request.command {
            ClientCommand::Read => {
                let mut found = data(&self.cache[range.clone()]);
                match self.lie {
                    Lie::ReadsOldData if lies(&mut self.rng) => found = data(&self.older[range]),
                    Lie::SwapsSectors if lies(&mut self.rng) => found.rotate_left(512),
                    Lie::TearsSectors if lies(&mut self.rng) => found[..8].fill(251),
                    _ => {}
                }
                open.data = found;
            }
            ClientCommand::Write { .. } if self.lie == Lie::DropsWrites && lies(&mut self.rng) => {}
            ClientCommand::Write { fua } => {
                let byte = open.request.data[0];
                self.older[range.clone()].copy_from_slice(&self.cache[range.clone()]);
                self.cache[range.clone()].fill(byte);
                self.is_discarded[range.clone()].fill(false);
                if fua && self.lie != Lie::IgnoresForcedAccess {
                    self.flash[range].fill(byte);
                }
            }
            ClientCommand::Append { .. } | ClientCommand::Zone(_) => unreachable!("it is never begun"),
            ClientCommand::WriteZeroes { fua } => {
                self.older[range.clone()].copy_from_slice(&self.cache[range.clone()]);
                self.cache[range.clone()].fill(0);
                self.is_discarded[range.clone()].fill(false);
                if fua {
                    self.flash[range].fill(0);
                }
            }
            ClientCommand::Flush if self.lie == Lie::IgnoresFlushes => {}
            ClientCommand::Flush => (0..SECTORS as usize).for_each(|sector| self.write_back(sector)),
            // Flash keeps the old content.
            ClientCommand::Discard => {
                let inner = range.start.next_multiple_of(4)..range.end / 4 * 4;
                if !inner.is_empty() {
                    self.cache[inner.clone()].fill(0);
                    self.is_discarded[inner].fill(true);
                }
            }
        }
    }

    fn write_back(&mut self, sector: usize) {
        if !self.is_discarded[sector] {
            self.flash[sector] = self.cache[sector];
        }
    }

    fn end(&mut self, at: usize) {
        self.act(at);
        let OpenRequest { ticket, request, start, sectors, data, .. } = self.open.swap_remove(at);
        let at = self.bench.at();
        self.bench.0.end(at, ticket, request.command, start..start + sectors, Ok(&data));
    }

    fn step(&mut self) {
        let any = self.rng.below(self.open.len().max(1) as u64) as usize;
        match self.rng.below(100) {
            0..35 if self.open.len() < 8 => self.begin(),
            0..60 if !self.open.is_empty() => self.act(any),
            60..90 if !self.open.is_empty() => self.end(any),
            90..98 => {
                let sector = self.rng.below(SECTORS) as usize;
                self.write_back(sector);
            }
            98 => {
                // Outstanding requests may have reached flash.
                for _ in 0..self.rng.below(4) {
                    if !self.open.is_empty() {
                        let any = self.rng.below(self.open.len() as u64) as usize;
                        self.act(any);
                        let sector = self.rng.below(SECTORS) as usize;
                        self.write_back(sector);
                    }
                }
                self.open.clear();
                self.cache = self.flash;
                self.is_discarded.fill(false);
                self.bench.0.power_cut();
            }
            99 if self.rng.chance(0.2) => {
                (0..self.open.len()).rev().for_each(|at| self.end(at));
                (0..SECTORS as usize).for_each(|sector| self.write_back(sector));
                self.cache = self.flash;
                self.is_discarded.fill(false);
                self.bench.0.power_off();
            }
            _ => {}
        }
    }

    /// Runs `steps` steps; returns the violations.
    fn live(mut self, steps: u32) -> (Vec<Violation>, VerifyStatus) {
        (0..steps).for_each(|_| self.step());
        (self.bench.0.take_violations(), self.bench.0.status())
    }
}

#[test]
fn a_disk_that_keeps_its_promises_is_never_accused() {
    let (mut compared, mut adopted) = (0, 0);
    for seed in 0..3000 {
        let (violations, status) = ModelDisk::new(seed, Lie::None).live(400);
        assert!(violations.is_empty(), "seed {seed}: {}", violations[0]);
        compared += status.sectors;
        adopted += status.adopted;
    }
    // Only sectors that were discarded before a cut are accepted without comparison.
    assert!(compared > 200_000 && adopted < compared / 10, "{compared} and {adopted}");
}

#[test]
fn each_lie_is_found() {
    for lie in [
        Lie::IgnoresFlushes,
        Lie::IgnoresForcedAccess,
        Lie::DropsWrites,
        Lie::ReadsOldData,
        Lie::SwapsSectors,
        Lie::TearsSectors,
    ] {
        let found = (0..100).filter(|seed| !ModelDisk::new(*seed, lie).live(400).0.is_empty()).count();
        assert!(found > 20, "{lie:?} is found in {found} lives of 100");
    }
}
