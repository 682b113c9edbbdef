//! The costs of the steps of a map unit, derived from the published execution times (Woo and Min, Sec. 5.2, Fig. 10).
//!
//! A service time is the sum over the steps actually done: packets taken, tags compared, blocks tested by the
//! second-chance algorithm, entries moved. So it grows with the associativity and the block size, and a search of the
//! whole cache grows with the cache. The text does not give all bars of Fig. 10. The single steps are therefore
//! inferred: their sums match the text at four ways and blocks of 64 bytes. A second-chance search counts as two steps,
//! its mean if every block of the set was referenced once. The test of one block in a search of the whole cache has no
//! published time at all, and is calibrated to Fig. 11(c) (`SCAN`).

use std::ops::Deref;

use base::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Answer;

/// The time of each kind of step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Costs {
    /// Taking a question, or a packet from the other cache, and answering it.
    pub packet: Span,
    /// Comparing one tag.
    pub tag: Span,
    /// Testing one block as a victim, or one translation page as the next to flush.
    pub victim: Span,
    /// Moving one map entry.
    pub entry: Span,
    /// One operation on a list: entering or leaving a miss status register (MSHR), a dirty list, or a queue of dirty
    /// pages.
    pub list: Span,
    /// Giving a load or a store to the flash controller.
    pub issue: Span,
    /// Testing one block of the cache in a search for all dirty blocks of a translation page.
    pub scan: Span,
    /// Issuing flash commands for a lookup that found a place (T_FTL_cmd in Woo and Min, Table 2): once for each
    /// lookup, before its answer leaves.
    pub command: Span,
    /// For each further core, the time that a question waits for data that the cores share (Woo and Min, Sec. 3.2).
    #[serde(default)]
    pub sync: Span,
}

/// One cycle at the 400 MHz of both the processor and the hardware (Sec. 5.1).
const CYCLE: u64 = 2_500;

/// The cycles in which DFTL and CDFTL test one block of the cache, searching for the dirty blocks of a map page.
///
/// No text gives them. They are calibrated to one number: CDFTL on four cores writes about 88 % of the ideal case at
/// random (Sec. 5.3, Fig. 11(c)), and 88.5 % here (`fmmu/synthetic`); 20 to 23 cycles stay within 5 % of the paper's
/// number, and 10 give 97 % (`fmmu/scan`). DFTL tests blocks of the same size with the same code. Other results follow
/// from this value and are not fitted: flushes of 932 us for DFTL and 57 us for CDFTL, and the times of traces (Fig.
/// 13, FM7).
const SCAN: u64 = 21;

impl Costs {
    /// The time to issue the flash commands of an answer: none if the answer leads to no read.
    pub(super) fn command_for(&self, answer: &Answer) -> Span {
        let found = matches!(answer, Answer::Places(places) if places.iter().any(Option::is_some));
        if found { self.command } else { Span::ZERO }
    }

    /// All steps take no time: the ideal case of the evaluation, and the default.
    pub const IDEAL: Self = Self::cycles([0; 9]);

    /// DFTL on a Cortex-R4. A hit is packet + 4 tags = 120 + 4 * 120 cycles = 1.5 us (Fig. 10(a)); it grows in
    /// proportion to the ways, so most of it is tags. A miss adds 2 victims, 16 entries and the issue, 1,200 cycles,
    /// and takes three times as long, 4.5 us (Fig. 10(b)). The issue is the 0.2 us stated for a flash command. With the
    /// 21 cycles of `SCAN` one search of 17,408 blocks takes 914 us. The command adds 0.2 us, 80 cycles, to these times
    /// (Sec. 5.2). Four cores take 0.4 us for a hit (Fig. 10(a)), which is 1.6 us on each: 13 cycles for each of the
    /// three others.
    pub const DFTL: Self = Self::cycles([120, 120, 240, 40, 0, 80, SCAN, 80, 13]);

    /// CDFTL on a Cortex-R4. A miss in the first level that hits in the second is packet + 4 tags + 2 victims +
    /// 4 tags + 16 entries = 120 + 480 + 200 + 480 + 320 cycles = 4 us (Fig. 10(a)). A miss in the second level adds 2
    /// victims and the issue, 4.7 us: similar, as stated (Fig. 10(b)). The scan is that of DFTL; one search of 1,024
    /// blocks takes 54 us, a seventeenth, like the ratio of the caches. The command is as for DFTL. Four cores take
    /// exactly a quarter, 1 us (Fig. 10(a)), so they do not wait for each other.
    pub const CDFTL: Self = Self::cycles([120, 120, 100, 20, 0, 80, SCAN, 80, 0]);

    /// FMMU in hardware. A miss in the CMT that hits in the CTP is a request to the CMT (packet, 4 tags, 2 victims,
    /// MSHR), one to the CTP (packet, 4 tags, 16 entries) and a response (packet, 16 entries, MSHR): 15 + 28 + 21 = 64
    /// cycles = 0.16 us (Fig. 10(a)). A miss in the CTP is 74 cycles, 0.185 us: similar (Fig. 10(b)). The longest
    /// flush, all 64 blocks of a page, takes 64 * 21 cycles in the CMT and 64 * 29 in the CTP, 8.1 us and below 10 us
    /// (Fig. 10(c)). The FMMU never scans. It is charged no command either: busy for 17 % of the time at 1,165 KIOPS
    /// (Sec. 5.3), it has 0.146 us for a request, which leaves no time for one.
    pub const FMMU: Self = Self::cycles([4, 2, 1, 1, 1, 2, 0, 0, 0]);

    const fn cycles(of: [u64; 9]) -> Self {
        let [packet, tag, victim, entry, list, issue, scan, command, sync] = of;
        Self {
            packet: Span::from_ps(packet * CYCLE),
            tag: Span::from_ps(tag * CYCLE),
            victim: Span::from_ps(victim * CYCLE),
            entry: Span::from_ps(entry * CYCLE),
            list: Span::from_ps(list * CYCLE),
            issue: Span::from_ps(issue * CYCLE),
            scan: Span::from_ps(scan * CYCLE),
            command: Span::from_ps(command * CYCLE),
            sync: Span::from_ps(sync * CYCLE),
        }
    }
}

/// A time or set of times that counts only while time is on.
#[derive(Clone, Copy, Debug)]
pub(super) struct ConditionalCost<T> {
    timed: T,
    now: T,
}

impl<T: Copy + Default> ConditionalCost<T> {
    /// A cost of a map unit whose time is on.
    pub(super) const fn new(timed: T) -> Self {
        Self { timed, now: timed }
    }

    /// Switches time off or on.
    pub(super) fn set_timed(&mut self, timed: bool) {
        self.now = if timed { self.timed } else { T::default() };
    }
}

impl<T> Deref for ConditionalCost<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.now
    }
}

/// The source of the costs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum CostSpec {
    /// Calibrated to the execution times in Woo and Min, Fig. 10, and the search of a cache to Fig. 11(c).
    #[default]
    Published,
    /// All steps take no time.
    Ideal,
    /// The time of each step, given here.
    Custom(Costs),
}

impl CostSpec {
    pub(super) fn resolve(self, published: Costs) -> Costs {
        match self {
            Self::Published => published,
            Self::Ideal => Costs::IDEAL,
            Self::Custom(costs) => costs,
        }
    }
}
