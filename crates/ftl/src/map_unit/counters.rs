//! What a map unit counts.

use base::units::{Span, Time};

/// What the parts of a map unit are to each other.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Parts {
    /// Cores: each has a share of the questions.
    #[default]
    Cores,
    /// Stages: a question may need all of them, one after the other.
    Stages,
}

/// Counts since the map unit was built, which is when the power came, and how long its parts were busy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Questions answered.
    pub questions: u64,
    /// Questions whose block was in the CMT, or all if there is the full table.
    pub cmt_hits: u64,
    /// Questions whose block was not, or was still being loaded.
    pub cmt_misses: u64,
    /// Requests to the CTP whose translation page was there.
    pub ctp_hits: u64,
    /// Requests to the CTP whose page was not, or was still being loaded.
    pub ctp_misses: u64,
    /// Translation pages loaded from flash.
    pub loads: u64,
    /// Translation pages stored.
    pub stores: u64,
    /// Flushes of the CMT: each takes all dirty blocks of one translation page.
    pub flushes: u64,
    /// Blocks that were written back by them.
    pub flushed_blocks: u64,
    /// Miss status registers in use at once, at most: in the CMT and in the CTP. Software has one for each question
    /// that waits.
    pub mshrs_at_most: [u64; 2],
    /// Loads from flash under way at once, at most.
    pub loads_at_most: u64,
    /// Service time of all steps that questions took, each as a whole when it begins.
    pub question_time: Span,
    /// The same of the steps that write back: the search for dirty blocks, their way to the page or to the CTP, and
    /// the storing of pages. What a software core stores because a question needs the room counts for the question.
    pub flush_time: Span,
    /// What the parts are.
    pub parts: Parts,
    /// Busy time of each core, or of the CMT and the CTP; nothing where questions do not wait for a machine.
    pub busy: Vec<Span>,
}

impl Counters {
    /// With so many cores or machines.
    pub(super) fn new(machines: usize, parts: Parts) -> Self {
        Self { busy: vec![Span::ZERO; machines], parts, ..Self::default() }
    }

    /// A machine begins a step.
    pub(super) fn count_work(&mut self, machine: usize, cost: Span, writes_back: bool) {
        self.busy[machine] += cost;
        *(if writes_back { &mut self.flush_time } else { &mut self.question_time }) += cost;
    }

    /// Takes what is still to come of the steps under way, which end at `until`, off the busy times.
    pub(super) fn cut_off(&mut self, now: Time, until: impl Iterator<Item = Option<Time>>) {
        for (busy, until) in self.busy.iter_mut().zip(until) {
            *busy = busy.saturating_sub(until.map_or(Span::ZERO, |until| until.saturating_since(now)));
        }
    }

    /// Adds what another counted; the maxima become sums, as the parts work side by side.
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

    /// What was counted since an earlier moment. The maxima are no counts: they are those of all the time.
    ///
    /// # Panics
    /// If the earlier counts are higher: of another map unit, or of another power-on.
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
            parts: self.parts,
            busy: self.busy.iter().zip(&earlier.busy).map(|(to, from)| *to - *from).collect(),
        }
    }

    /// Busy time of the whole: the mean over cores, and of stages that of the busiest, as it is the one that others wait
    /// for. `None` if it has no parts.
    #[must_use]
    pub fn busy_of_all(&self) -> Option<Span> {
        match self.parts {
            Parts::Cores if self.busy.is_empty() => None,
            Parts::Cores => Some(self.busy.iter().copied().sum::<Span>() / self.busy.len() as u64),
            Parts::Stages => self.busy.iter().copied().max(),
        }
    }
}
