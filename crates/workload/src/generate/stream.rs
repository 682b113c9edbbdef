//! A stream of requests: its kinds, sizes, addresses, runs and flushes.

use base::engine::Rng;
use base::io::{Io, IoKind, PlacementId};
use base::units::{Lba, Sectors};

use super::address::{Addresses, KINDS, RequestClass};
use super::placement::PlacementTurns;
use super::sizes::Sizes;

/// Draws the kind of a request.
#[derive(Clone, Debug)]
pub(super) struct Kinds {
    /// The probability of a read, and that of a read or a write.
    cumulative: [f64; 2],
    /// The kind of all requests, if they have one kind.
    only: Option<usize>,
    rng: Rng,
}

impl Kinds {
    /// `shares` of reads, writes and discards, which sum to one.
    pub(super) fn new(shares: [f64; 3], rng: Rng) -> Self {
        let only = (0..3).find(|kind| shares[*kind] >= 1.0);
        Self { cumulative: [shares[0], shares[0] + shares[1]], only, rng }
    }

    #[inline]
    fn draw(&mut self) -> usize {
        if let Some(only) = self.only {
            return only;
        }
        let x = self.rng.unit();
        self.cumulative.iter().filter(|c| **c <= x).count()
    }
}

/// The rule by which a request continues at the end of the previous one of its kind.
#[derive(Clone, Copy, Debug)]
pub(super) enum Continue {
    Never,
    Chance(f64),
    Runs { min: u32, max: u32 },
}

/// Sequential runs, separate for each kind.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    rule: Continue,
    /// The end of the previous request of each kind.
    end: [Option<u64>; 3],
    /// The number of remaining requests of the current run, for each kind.
    left: [u32; 3],
    rng: Rng,
}

impl Runs {
    pub(super) const fn new(rule: Continue, rng: Rng) -> Self {
        Self { rule, end: [None; 3], left: [0; 3], rng }
    }

    /// The address at which the run of `kind` continues; `None` for a new address.
    fn next(&mut self, kind: usize) -> Option<u64> {
        match self.rule {
            Continue::Never => None,
            Continue::Chance(p) => {
                if self.rng.chance(p) {
                    self.end[kind]
                } else {
                    None
                }
            }
            Continue::Runs { .. } => {
                self.left[kind] = self.left[kind].checked_sub(1)?;
                self.end[kind]
            }
        }
    }

    fn begin(&mut self, kind: usize) {
        if let Continue::Runs { min, max } = self.rule {
            self.left[kind] = min - 1 + self.rng.below(u64::from(max - min) + 1) as u32;
        }
    }
}

/// The rule by which flushes follow writes.
#[derive(Clone, Debug)]
pub(super) enum Flushes {
    Never,
    Every {
        every: u32,
        left: u32,
    },
    Chance {
        p: f64,
        rng: Rng,
    },
    /// A flush follows the stream's last request.
    End,
}

impl Flushes {
    fn after_write(&mut self) -> bool {
        match self {
            Self::Never | Self::End => false,
            Self::Every { every, left } => {
                *left -= 1;
                let due = *left == 0;
                if due {
                    *left = *every;
                }
                due
            }
            Self::Chance { p, rng } => rng.chance(*p),
        }
    }
}

/// The rest of a stream's limits.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RemainingLimits {
    pub(super) requests: Option<u64>,
    pub(super) sectors: Option<u64>,
}

impl RemainingLimits {
    /// Subtracts a request of `sectors` from the limits.
    #[inline]
    pub(super) fn take(&mut self, sectors: u64) {
        self.take_several(1, sectors);
    }

    /// Subtracts this many requests of `sectors` each from the limits.
    #[inline]
    pub(super) fn take_several(&mut self, requests: u64, sectors: u64) {
        self.requests = self.requests.map(|n| n.saturating_sub(requests));
        self.sectors = self.sectors.map(|n| n.saturating_sub(requests * sectors));
    }

    /// True if this many requests of `sectors` each reach no limit.
    pub(super) fn exceeds(&self, requests: u64, sectors: u64) -> bool {
        self.requests.is_none_or(|n| n > requests) && self.sectors.is_none_or(|n| n > requests * sectors)
    }

    /// True if a limit is reached.
    #[inline]
    pub(super) fn is_over(&self) -> bool {
        self.requests == Some(0) || self.sectors == Some(0)
    }
}

/// The requests that arrive together with another, in this order.
pub(super) type CompanionRequests = [Option<Io>; 2];

/// A stream, ready to run.
#[derive(Clone, Debug)]
pub(super) struct Stream {
    pub(super) weight: f64,
    pub(super) kinds: Kinds,
    pub(super) sizes: [Option<Sizes>; 3],
    pub(super) addresses: Addresses,
    pub(super) runs: Runs,
    pub(super) flushes: Flushes,
    pub(super) discard_first: bool,
    pub(super) placements: PlacementTurns,
    pub(super) left: RemainingLimits,
}

impl Stream {
    /// Draws the next request, which always lies inside the region. Requests that arrive together with it are put into
    /// `others`, which must be empty.
    #[inline]
    pub(super) fn draw(&mut self, others: &mut CompanionRequests) -> Io {
        let kind = self.kinds.draw();
        let sectors = self.sizes[kind].as_mut().expect("a kind that is drawn has sizes").draw();
        let start = match self.runs.rule {
            Continue::Never => self.addresses.draw(kind, sectors),
            _ => self.run(kind, sectors),
        };
        self.left.take(sectors);
        let io = Io::new(KINDS[kind], start, Sectors::new(sectors));
        let is_last = matches!(self.flushes, Flushes::End) && self.left.is_over();
        if io.kind != IoKind::Write {
            others[0] = is_last.then_some(Io::FLUSH);
            return io;
        }
        let discard = Io { kind: IoKind::Discard, ..io };
        let io = Io { placement: self.placements.draw(), ..io };
        let flush = (is_last || self.flushes.after_write()).then_some(Io::FLUSH);
        if self.discard_first {
            *others = [Some(io), flush];
            return discard;
        }
        others[0] = flush;
        io
    }

    fn run(&mut self, kind: usize, sectors: u64) -> Lba {
        let limit = self.addresses.units().end();
        let start = match self.runs.next(kind).filter(|at| at + sectors <= limit) {
            Some(at) => Lba::new(at),
            None => {
                self.runs.begin(kind);
                self.addresses.draw(kind, sectors)
            }
        };
        self.runs.end[kind] = Some(start.get() + sectors);
        start
    }

    /// The common properties of all requests, if they differ only in their addresses and none arrives together with
    /// another.
    pub(super) fn alike(&self) -> Option<RequestClass> {
        let kind = self.kinds.only.filter(|_| matches!(self.runs.rule, Continue::Never))?;
        let placement = match KINDS[kind] {
            IoKind::Write => self.placements.only()?,
            _ => PlacementId::default(),
        };
        Some(RequestClass { kind, sectors: Sectors::new(self.only_size()?), placement })
    }

    /// The size of all requests, if they have one size and none arrives together with another.
    pub(super) fn only_size(&self) -> Option<u64> {
        let mut sizes = self.sizes.iter().flatten();
        let size = sizes.next()?.min();
        let plain = !self.discard_first && matches!(self.flushes, Flushes::Never);
        (plain && self.sizes.iter().flatten().all(|s| s.min() == size && s.max() == size)).then_some(size)
    }
}
