//! The counters of a map unit.

use base::units::{Bytes, Span, Time};

/// The division of work among a map unit's machines, for reports of busy times.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parts {
    /// Cores: each has a share of the questions.
    #[default]
    Cores,
    /// Stages: a question may need all of them, one after another.
    Stages,
}

/// Counters of the host memory buffer since the map unit was built, which is at power-on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HmbCounters {
    /// Loads of translation pages that the host memory buffer held.
    pub hits: u64,
    /// Loads that the host memory buffer did not hold while the drive used the buffer.
    pub misses: u64,
    /// Bytes read from the host memory buffer over the link.
    pub read: Bytes,
    /// Bytes written to the host memory buffer over the link.
    pub written: Bytes,
    /// Time of all reads, each from its begin to the end of its latency, with waits for the link.
    pub time: Span,
}

impl HmbCounters {
    fn since(&self, earlier: &Self) -> Self {
        Self {
            hits: self.hits - earlier.hits,
            misses: self.misses - earlier.misses,
            read: self.read - earlier.read,
            written: self.written - earlier.written,
            time: self.time - earlier.time,
        }
    }
}

/// Counters and busy times since the map unit was built, which is at power-on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Questions answered.
    pub questions: u64,
    /// Questions whose block was in the CMT; all questions of the full table.
    pub cmt_hits: u64,
    /// Questions whose block was absent, or still being loaded.
    pub cmt_misses: u64,
    /// Requests to the CTP whose translation page was there.
    pub ctp_hits: u64,
    /// Requests to the CTP whose translation page was absent, or still being loaded.
    pub ctp_misses: u64,
    /// Translation pages loaded, from the host's memory or from flash.
    pub loads: u64,
    /// Translation pages stored.
    pub stores: u64,
    /// Flushes of the CMT: each takes all dirty blocks of one translation page.
    pub flushes: u64,
    /// Blocks that the flushes wrote back.
    pub flushed_blocks: u64,
    /// The most miss status registers in use at once, in the CMT and in the CTP. A software map unit counts its waiting
    /// questions.
    pub mshrs_at_most: [u64; 2],
    /// The most loads from flash in progress at once.
    pub loads_at_most: u64,
    /// Service time of all steps for questions; a step counts as a whole when it begins.
    pub question_time: Span,
    /// Service time of all steps that write back: the search for dirty blocks, their transfer to the page or to the
    /// CTP, and the stores of pages. A store that a software core makes because a question needs the space counts as
    /// `question_time`.
    pub flush_time: Span,
    /// The counters of the host memory buffer, if the drive has such a buffer.
    pub hmb: Option<HmbCounters>,
    /// The division of work among the machines of `busy`.
    pub parts: Parts,
    /// Busy time of each core, or of the CMT and the CTP; empty if questions do not wait for a machine.
    pub busy: Vec<Span>,
}

impl Counters {
    pub(super) fn new(machines: usize, parts: Parts) -> Self {
        Self { busy: vec![Span::ZERO; machines], parts, ..Self::default() }
    }

    /// Counts a step that a machine begins.
    #[inline]
    pub(super) fn count_work(&mut self, machine: usize, cost: Span, writes_back: bool) {
        self.busy[machine] += cost;
        *(if writes_back { &mut self.flush_time } else { &mut self.question_time }) += cost;
    }

    /// Subtracts from the busy times the part after `now` of the steps in progress, which end at `until`.
    pub(super) fn cut_off(&mut self, now: Time, until: impl Iterator<Item = Option<Time>>) {
        for (busy, until) in self.busy.iter_mut().zip(until) {
            *busy = busy.saturating_sub(until.map_or(Span::ZERO, |until| until.saturating_since(now)));
        }
    }

    /// Adds the counters of another part; the maxima become sums, because the parts work in parallel.
    pub(super) fn add(&mut self, other: &Self) {
        self.questions += other.questions;
        self.cmt_hits += other.cmt_hits;
        self.cmt_misses += other.cmt_misses;
        self.ctp_hits += other.ctp_hits;
        self.ctp_misses += other.ctp_misses;
        self.loads += other.loads;
        self.stores += other.stores;
        self.flushes += other.flushes;
        self.flushed_blocks += other.flushed_blocks;
        self.mshrs_at_most[0] += other.mshrs_at_most[0];
        self.mshrs_at_most[1] += other.mshrs_at_most[1];
        self.loads_at_most += other.loads_at_most;
        self.question_time += other.question_time;
        self.flush_time += other.flush_time;
        self.busy.extend_from_slice(&other.busy);
    }

    /// The counters since an earlier moment. The maxima are not differences: they keep their values since power-on.
    ///
    /// # Panics
    ///
    /// If an earlier counter is higher than the present one, because it belongs to another map unit or an earlier
    /// power-on.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        Self {
            questions: self.questions - earlier.questions,
            cmt_hits: self.cmt_hits - earlier.cmt_hits,
            cmt_misses: self.cmt_misses - earlier.cmt_misses,
            ctp_hits: self.ctp_hits - earlier.ctp_hits,
            ctp_misses: self.ctp_misses - earlier.ctp_misses,
            loads: self.loads - earlier.loads,
            stores: self.stores - earlier.stores,
            flushes: self.flushes - earlier.flushes,
            flushed_blocks: self.flushed_blocks - earlier.flushed_blocks,
            mshrs_at_most: self.mshrs_at_most,
            loads_at_most: self.loads_at_most,
            question_time: self.question_time - earlier.question_time,
            flush_time: self.flush_time - earlier.flush_time,
            hmb: self.hmb.map(|hmb| hmb.since(&earlier.hmb.unwrap_or_default())),
            parts: self.parts,
            busy: self.busy.iter().zip(&earlier.busy).map(|(to, from)| *to - *from).collect(),
        }
    }

    /// Busy time of the map unit: the mean over cores, or the time of the busiest stage, which limits the others.
    /// `None` if no machine is counted.
    #[must_use]
    pub fn busy_of_all(&self) -> Option<Span> {
        match self.parts {
            Parts::Cores if self.busy.is_empty() => None,
            Parts::Cores => Some(self.busy.iter().copied().sum::<Span>() / self.busy.len() as u64),
            Parts::Stages => self.busy.iter().copied().max(),
        }
    }
}
