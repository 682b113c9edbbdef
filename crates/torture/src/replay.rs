//! Rebuilds the drive of a journal: its requests are submitted at their times, and the same events follow.

use std::fmt;

use base::io::{Io, IoKind};
use base::units::Time;
use flash::nand::Stamp;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::{Completion, Drive, QueueId, Request, Ssd, Status};

use crate::cut::{Cut, Sample};
use crate::journal::{Journal, JournalEvent, RequestKind};
use crate::stamp::stamps;

/// Whether a drive does what it promises. The drives that do not are there to show that the laboratory finds them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Honesty {
    /// It does.
    #[default]
    Honest,
    /// It answers flushes and carries out none.
    IgnoresFlush,
    /// It answers writes with forced unit access as if they had none.
    IgnoresFua,
}

impl fmt::Display for Honesty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Honest => "honest",
            Self::IgnoresFlush => "ignores flushes",
            Self::IgnoresFua => "ignores forced unit access",
        })
    }
}

/// The difference between a replay and the recorded run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Divergence {
    /// A request completes at another time, with another result, or not at all.
    Request {
        /// The number of the request.
        of: u32,
        /// The time of the answer in the journal.
        recorded: Time,
        /// The completion time in the replay; `None` if the request does not complete.
        replayed: Option<Time>,
    },
    /// All requests complete at their times, but the events on the flash differ.
    Events,
}

impl fmt::Display for Divergence {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |at: Time| at - Time::ZERO;
        match self {
            Self::Request { of, recorded, replayed: Some(replayed) } if recorded == replayed => {
                write!(f, "request {of} ended at {} with another result", shown(*recorded))
            }
            Self::Request { of, recorded, replayed: Some(replayed) } => {
                write!(f, "request {of} ended at {}, not at {}", shown(*replayed), shown(*recorded))
            }
            Self::Request { of, recorded, replayed: None } => {
                write!(f, "request {of} did not end at {}", shown(*recorded))
            }
            Self::Events => f.write_str("the flash did other operations"),
        }
    }
}

impl std::error::Error for Divergence {}

/// The last completion of a request's parts.
#[derive(Clone, Copy, Debug)]
struct ReplayedRequest {
    at: Time,
    good: bool,
}

/// The drive of a journal, advanced to some record.
#[derive(Clone, Debug)]
pub struct Replay<'a> {
    journal: &'a Journal,
    honesty: Honesty,
    drive: Ssd<Stamp>,
    /// The index of the next record.
    next: usize,
    /// The time of the last submission. Further submissions of that time come before any event.
    submitted: Option<Time>,
    completions: Vec<Completion<Stamp>>,
}

impl<'a> Replay<'a> {
    /// A replay on `drive`, which must be in the state before the first request.
    #[must_use]
    pub const fn new(journal: &'a Journal, drive: Ssd<Stamp>, honesty: Honesty) -> Self {
        Self { journal, honesty, drive, next: 0, submitted: None, completions: Vec::new() }
    }

    /// The drive at the present record.
    #[must_use]
    pub const fn drive(&self) -> &Ssd<Stamp> {
        &self.drive
    }

    /// Advances to the time `to`, and handles all events until then, including those at `to`.
    fn pass(&mut self, to: Time) {
        loop {
            let at = self.drive.advance(to, &mut self.completions);
            self.completions.clear();
            if at >= to && self.drive.next_event().is_none_or(|next| next > to) {
                break;
            }
        }
    }

    /// The drive's request; `None` if a dishonest drive ignores it.
    fn request(&self, number: u32) -> Option<Request<Stamp>> {
        let part = &self.journal.submissions[number as usize];
        let asked = &self.journal.requests[part.of as usize];
        let is_ignored = match self.honesty {
            Honesty::Honest => false,
            Honesty::IgnoresFlush => asked.kind == RequestKind::Flush,
            Honesty::IgnoresFua => asked.kind.is_fua() && part.kind == IoKind::Flush,
        };
        let data = match part.kind {
            IoKind::Write => stamps(part.of, part.start.get() - asked.start.get(), part.sectors.get()),
            _ => Vec::new(),
        };
        let io = Io::new(part.kind, part.start, part.sectors);
        (!is_ignored).then(|| Request { tag: u64::from(number), queue: QueueId::default(), io, data })
    }

    /// Submits a request to the drive, unless a dishonest drive ignores it.
    fn submit(&mut self, at: Time, number: u32) {
        self.submitted = Some(at);
        if let Some(request) = self.request(number) {
            self.drive.submit(at, request);
        }
    }

    /// Advances to a cut, which must not lie in the past. The drive then has its state at the cut, with its power still
    /// on.
    pub fn advance_to(&mut self, cut: &Cut) {
        while self.next < cut.after {
            let (at, event) = self.journal.events[self.next];
            self.next += 1;
            let JournalEvent::Submitted(number) = event else { continue };
            if self.submitted != Some(at) {
                self.pass(at);
            }
            self.submit(at, number);
        }
        self.pass(cut.at);
    }

    /// Replays the whole journal, compares the replay with the recorded run, and passes every event to the sample.
    ///
    /// # Errors
    /// At the first difference.
    pub(crate) fn survey(mut self, sample: &mut Sample) -> Result<(), Divergence> {
        let mut done: Vec<Option<ReplayedRequest>> = vec![None; self.journal.requests.len()];
        let mut parts = vec![0u32; self.journal.requests.len()];
        while let Some((at, event)) = self.journal.events.get(self.next).copied() {
            self.next += 1;
            match event {
                JournalEvent::Asked(_) | JournalEvent::Said(_) => {}
                JournalEvent::Submitted(number) => {
                    parts[self.journal.submissions[number as usize].of as usize] += 1;
                    if self.submitted != Some(at) {
                        self.pass_and_note(at, &mut done, sample);
                    }
                    self.submit(at, number);
                }
                JournalEvent::Answered(of) => {
                    let recorded = self.journal.requests[of as usize].answered.map(|answered| answered.good);
                    let same = |done: Option<ReplayedRequest>| {
                        done.is_some_and(|done| done.at == at && Some(done.good) == recorded)
                    };
                    if !same(done[of as usize]) {
                        self.pass_and_note(at, &mut done, sample);
                    }
                    let found = done[of as usize];
                    // A request that was refused before it reached the drive has no parts.
                    let is_refused = parts[of as usize] == 0 && recorded == Some(false);
                    if !same(found) && !is_refused {
                        return Err(Divergence::Request { of, recorded: at, replayed: found.map(|done| done.at) });
                    }
                }
            }
        }
        let Some(end) = self.journal.end else { return Ok(()) };
        self.pass_and_note(end.at, &mut done, sample);
        let counters = self.drive.counters();
        match (counters.event_hash, counters.events) == (end.hash, end.events) {
            true => Ok(()),
            false => Err(Divergence::Events),
        }
    }

    fn pass_and_note(&mut self, to: Time, done: &mut [Option<ReplayedRequest>], sample: &mut Sample) {
        loop {
            let next = self.drive.next_event().filter(|next| *next <= to);
            let at = self.drive.advance(next.unwrap_or(to), &mut self.completions);
            for completion in self.completions.drain(..) {
                let of = self.journal.submissions[completion.tag as usize].of as usize;
                let good = completion.status == Status::Done && done[of].is_none_or(|done| done.good);
                done[of] = Some(ReplayedRequest { at: completion.end, good });
            }
            match next {
                Some(_) => sample.see(at, self.drive.next_event()),
                None => return,
            }
        }
    }
}

#[cfg(test)]
mod tests;
