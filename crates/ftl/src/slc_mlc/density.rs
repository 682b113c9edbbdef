//! Dynamic density control: frequently accessed logical blocks are in SLC mode (Kgil et al., in the comparison of
//! Chang, Sec. 5.1 and 5.3.1).
//!
//! A logical block in SLC mode needs twice the room: its data is in two physical blocks with half the pages each, and
//! its log blocks have half the pages too. The paper does not say how frequent access is detected, nor when a logical
//! block changes its mode. The following rules are ours:
//! * Each logical block has a counter of accesses. After a number of accesses all counters are ranked and halved. The
//!   logical blocks at the top of the ranking, as many as the extra capacity has room for, are frequent.
//! * A fold changes the mode, because it copies everything anyway. A frequent logical block with log blocks is folded
//!   before others.
//! * Garbage collection is otherwise unchanged.

use std::collections::VecDeque;

use base::fault::Fault;
use base::units::{Bytes, Span};
use flash::nand::{Geometry, Mode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::place::block_bytes;
use crate::toolkit::PeriodicTrigger;

/// The keys of dynamic density control, which keeps frequently accessed logical blocks in SLC mode.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DensitySpec {
    /// Flash that the host never sees, a part of the capacity in `flash`. A logical block in SLC mode takes two blocks
    /// of it, one for its data and one for its updates, so this capacity limits the number of logical blocks in SLC
    /// mode.
    pub extra: Bytes,
    /// Array read of a page in SLC mode. Per byte a page of the part takes 1.2 times as long (Chang, Sec. 5.3.1).
    #[serde(default = "read")]
    pub read: Span,
    /// Array program of a page in SLC mode. Per byte a page of the part takes twice as long (Chang, Sec. 5.3.1).
    #[serde(default = "program")]
    pub program: Span,
    /// Accesses between two rankings of the logical blocks, one access for each request and logical block. Assumed.
    #[serde(default = "rank_every")]
    pub rank_every: u32,
}

/// The read time of two 2 KiB pages of the SLC part, which hold one page of 4 KiB.
const fn read() -> Span {
    Span::from_us(50)
}

const fn program() -> Span {
    Span::from_us(400)
}

const fn rank_every() -> u32 {
    100_000
}

impl DensitySpec {
    pub(crate) fn blocks(&self, block: Bytes) -> u32 {
        u32::try_from(self.extra.get() / block.get()).unwrap_or(u32::MAX)
    }

    /// The faults of these parameters on a flash array.
    pub(super) fn faults(&self, geometry: &Geometry) -> Vec<Fault> {
        let mut faults = Vec::new();
        let block = block_bytes(geometry);
        let mut add = |path: &str, message: String, remedy: String| {
            faults.push(Fault::new(format!("ftl.chang.density{path}"), message, remedy));
        };
        if self.blocks(block) < 2 || !self.extra.get().is_multiple_of(block.get()) {
            let message = format!("{} is less than two blocks of {block}, or not a whole number of them", self.extra);
            add(".extra", message, "use a multiple of a block, at least two blocks".into());
        }
        for (path, time) in [(".read", self.read), (".program", self.program)] {
            if time.is_zero() {
                add(path, "is zero".into(), "give it, e.g. \"50us\"".into());
            }
        }
        if self.rank_every == 0 {
            add(".rank-every", "is zero".into(), "there must be at least one".into());
        }
        if !geometry.pages.is_multiple_of(2) {
            let message = format!("a block of {} pages cannot be halved for SLC mode", geometry.pages);
            add("", message, "use an even number of pages".into());
        }
        faults
    }
}

/// Bytes of the counters of `logical` logical blocks.
pub(super) const fn memory(logical: u64) -> u64 {
    logical * 3 * size_of::<u16>() as u64
}

/// The access counters and the ranking of logical blocks.
#[derive(Clone, Debug)]
pub(super) struct Density {
    /// The number of logical blocks that may be in SLC mode.
    pub(super) most: u32,
    /// The number of logical blocks that are in SLC mode.
    pub(super) count: u32,
    rank_every: PeriodicTrigger,
    /// Accesses to each logical block, halved at each ranking.
    counts: Vec<u16>,
    /// The counters at the last ranking, before they were halved; and the count from which a logical block is frequent.
    ranked: Vec<u16>,
    frequent: u16,
    /// A buffer for the sorted counters, kept so that a ranking allocates nothing.
    order: Vec<u16>,
    /// Logical blocks that the last ranking found frequent and that are not in SLC mode.
    waiting: VecDeque<u32>,
    /// The logical block with which the search for rare or frequent logical blocks goes on.
    hand: u32,
    /// True if the last fold changed a mode. The next fold then changes none, because a fold that changes a mode may
    /// free no block, and a write waits until a fold frees one.
    changed: bool,
}

/// The next logical block to fold, and its new mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Change {
    pub(super) lba: u32,
    pub(super) mode: Mode,
}

impl Density {
    pub(super) fn new(spec: &DensitySpec, logical: u32, block: Bytes) -> Self {
        Self {
            most: spec.blocks(block) / 2,
            count: 0,
            rank_every: PeriodicTrigger::new(spec.rank_every),
            counts: vec![0; logical as usize],
            ranked: vec![0; logical as usize],
            frequent: u16::MAX,
            order: vec![0; logical as usize],
            waiting: VecDeque::new(),
            hand: 0,
            changed: false,
        }
    }

    /// Counts an access to a logical block.
    pub(super) fn access(&mut self, lba: u32, is_slc: impl Fn(u32) -> bool) {
        self.counts[lba as usize] = self.counts[lba as usize].saturating_add(1);
        if self.rank_every.tick() {
            self.rank(is_slc);
        }
    }

    fn rank(&mut self, is_slc: impl Fn(u32) -> bool) {
        self.ranked.copy_from_slice(&self.counts);
        self.order.copy_from_slice(&self.counts);
        self.order.sort_unstable_by(|a, b| b.cmp(a));
        // The first count beyond the room is too low for SLC mode, and so is a count of 1.
        let too_few = self.order.get(self.most as usize).copied().unwrap_or(0).max(1);
        self.frequent = too_few.saturating_add(1);
        self.counts.iter_mut().for_each(|count| *count /= 2);
        self.waiting.clear();
        let Self { ranked, frequent, waiting, .. } = self;
        waiting
            .extend((0..).zip(ranked).filter(|(lba, count)| **count >= *frequent && !is_slc(*lba)).map(|(lba, _)| lba));
    }

    fn is_frequent(&self, lba: u32) -> bool {
        self.ranked[lba as usize] >= self.frequent
    }

    /// True if a logical block has less than half the accesses that SLC mode needs. The margin keeps logical blocks
    /// with nearly equal counts from changing places at every ranking.
    fn is_rare(&self, lba: u32) -> bool {
        self.frequent < u16::MAX && self.ranked[lba as usize] < self.frequent / 2
    }

    /// The mode in which a fold should leave a logical block.
    pub(super) fn mode_of(&self, lba: u32, now: Mode) -> Mode {
        match now {
            Mode::Slc if self.is_rare(lba) => Mode::Full,
            Mode::Full if self.is_frequent(lba) && self.count < self.most => Mode::Slc,
            mode => mode,
        }
    }

    /// The next change of mode, which precedes all other folds: a frequent logical block enters SLC mode, or a rare one
    /// leaves it to make room.
    pub(super) fn next_change(
        &mut self,
        has_log: impl Fn(u32) -> bool,
        is_slc: impl Fn(u32) -> bool,
    ) -> Option<Change> {
        if std::mem::take(&mut self.changed) {
            return None;
        }
        let change = self.find_change(has_log, is_slc);
        self.changed = change.is_some();
        change
    }

    fn find_change(&mut self, has_log: impl Fn(u32) -> bool, is_slc: impl Fn(u32) -> bool) -> Option<Change> {
        while let Some(lba) = self.waiting.front().copied() {
            if is_slc(lba) || !has_log(lba) {
                self.waiting.pop_front();
            } else if self.count < self.most {
                self.waiting.pop_front();
                return Some(Change { lba, mode: Mode::Slc });
            } else {
                let rare = self.search(|this, lba| is_slc(lba) && this.is_rare(lba));
                if rare.is_none() {
                    self.waiting.clear();
                }
                return rare.map(|lba| Change { lba, mode: Mode::Full });
            }
        }
        None
    }

    /// The next logical block that leaves SLC mode, because spare blocks have become scarce.
    pub(super) fn raise_density(&mut self, is_slc: impl Fn(u32) -> bool) -> Option<Change> {
        self.search(|_, lba| is_slc(lba)).map(|lba| Change { lba, mode: Mode::Full })
    }

    /// The next logical block that is `wanted`, behind the one found last.
    fn search(&mut self, wanted: impl Fn(&Self, u32) -> bool) -> Option<u32> {
        if self.count == 0 {
            return None;
        }
        let all = self.counts.len() as u32;
        let found = (self.hand..all).chain(0..self.hand).find(|lba| wanted(self, *lba))?;
        self.hand = (found + 1) % all;
        Some(found)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NO: fn(u32) -> bool = |_| false;

    fn to(lba: u32, mode: Mode) -> Change {
        Change { lba, mode }
    }

    /// Density control with room for two of six logical blocks, and a ranking after twelve accesses.
    fn density() -> Density {
        let spec = DensitySpec { extra: Bytes::new(16384), read: read(), program: program(), rank_every: 12 };
        Density::new(&spec, 6, Bytes::new(4096))
    }

    fn accesses(density: &mut Density, lbas: &[u32]) {
        lbas.iter().for_each(|lba| density.access(*lba, NO));
    }

    #[test]
    fn an_odd_number_of_pages_cannot_be_halved() {
        let spec = DensitySpec { extra: Bytes::new(30 * 2048), read: read(), program: program(), rank_every: 1 };
        let geometry = Geometry::new(1, 1, 1, 1, 1, 8, 15, 1, 4).expect("a small array");
        let faults = spec.faults(&geometry);
        assert!(faults.len() == 1 && faults[0].message.contains("a block of 15 pages cannot be halved"), "{faults:?}");
    }

    #[test]
    fn the_most_accessed_blocks_are_frequent_up_to_the_room_in_slc_mode() {
        let mut density = density();
        accesses(&mut density, &[0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4, 5]);
        let frequent: Vec<u32> = (0..6).filter(|lba| density.mode_of(*lba, Mode::Full) == Mode::Slc).collect();
        assert_eq!(frequent, [1, 2]);
        assert_eq!(density.next_change(|_| true, NO), Some(to(1, Mode::Slc)));
        assert_eq!(density.next_change(|_| true, NO), None, "not two in a row");
        assert_eq!(density.next_change(|_| true, NO), Some(to(2, Mode::Slc)));
        density.changed = false;
        assert_eq!(density.next_change(|_| true, NO), None);
    }

    #[test]
    fn blocks_with_equal_counts_or_a_single_access_are_not_frequent() {
        let mut density = density();
        accesses(&mut density, &[0, 1, 2, 3, 4, 5, 0, 1, 2, 3, 4, 5]);
        assert!((0..6).all(|lba| density.mode_of(lba, Mode::Full) == Mode::Full));
        let mut density = self::density();
        density.rank_every = PeriodicTrigger::new(2);
        accesses(&mut density, &[0, 1]);
        assert!((0..6).all(|lba| density.mode_of(lba, Mode::Full) == Mode::Full));
    }

    #[test]
    fn a_rarely_accessed_block_leaves_slc_mode_for_a_frequent_one() {
        let mut density = density();
        density.count = 2;
        accesses(&mut density, &[1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
        let is_slc = |lba| lba == 0 || lba == 2;
        density.waiting = [1].into();
        assert_eq!(density.next_change(|_| true, is_slc), Some(to(0, Mode::Full)));
        // Logical block 1 still waits for SLC mode.
        (density.count, density.changed) = (1, false);
        assert_eq!(density.next_change(|_| true, is_slc), Some(to(1, Mode::Slc)));
        assert_eq!((density.mode_of(2, Mode::Slc), density.mode_of(0, Mode::Slc)), (Mode::Slc, Mode::Full));
    }

    #[test]
    fn a_nearly_as_frequent_block_stays_in_slc_mode() {
        let mut density = density();
        density.count = 2;
        accesses(&mut density, &[1, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3]);
        for mode in [Mode::Full, Mode::Slc] {
            assert_eq!(density.mode_of(3, mode), mode);
        }
        let is_slc = |lba| lba == 3 || lba == 2;
        assert_eq!(density.next_change(|_| true, is_slc), None, "no block makes room for 1");
        assert_eq!(density.raise_density(is_slc), Some(to(2, Mode::Full)));
        assert_eq!(density.raise_density(is_slc), Some(to(3, Mode::Full)));
    }
}
