//! Records the run of a described workload in simulated time: this tests the drive itself, without other software.

use std::collections::VecDeque;
use std::fmt;
use std::io::{self, Write};

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Span, Time};
use flash::nand::Stamp;
use ssd::{Completion, Drive, Precondition, QueueId, Request, Ssd, Status};
use study::catalogue::Device;
use workload::{Pacing, Source, SourceError};

use crate::journal::{JournalHeader, RequestKind, RunEnd};
use crate::laboratory::{OpenError, prepared};
use crate::recorder::Recorder;
use crate::stamp::stamps;

/// The reason for which a run cannot be recorded.
#[derive(Debug)]
pub enum PlayError {
    /// The journal cannot be written.
    Io(io::Error),
    /// The workload cannot be read.
    Source(SourceError),
    /// The drive cannot be prepared.
    Open(OpenError),
}

impl fmt::Display for PlayError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Io(error) => write!(f, "the journal cannot be written: {error}"),
            Self::Source(error) => error.fmt(f),
            Self::Open(error) => write!(f, "the run {error}"),
        }
    }
}

impl std::error::Error for PlayError {}

impl From<io::Error> for PlayError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl From<SourceError> for PlayError {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

/// The sectors of one request that writes zeros: a client may ask for gigabytes of them without sending any.
const ZEROS: u64 = 1024;

/// A request under way.
#[derive(Clone, Copy, Debug, Default)]
struct ActiveRequest {
    /// The number of the request's parts that the drive has not completed.
    parts: u32,
    /// True if a flush follows before the answer.
    flush_follows: bool,
    failed: bool,
}

/// A request that has its answer.
#[derive(Clone, Debug)]
pub(crate) struct PlayedRequest {
    pub(crate) of: u32,
    pub(crate) good: bool,
    /// The content that a read returns.
    pub(crate) data: Vec<Stamp>,
}

/// A drive whose requests are recorded, one event after another.
#[derive(Debug)]
pub struct Play<W> {
    drive: Ssd<Stamp>,
    recorder: Recorder<W>,
    /// The state of each request.
    active: Vec<ActiveRequest>,
    /// Requests whose flush is submitted next.
    next: VecDeque<u32>,
    /// Requests answered since the last [`Self::take_ended`].
    ended: Vec<PlayedRequest>,
    /// The offset of the newest request's content in the journal.
    content: u64,
    /// The time of the last submission, and the number of events that the drive had handled then.
    submitted: Option<(Time, u64)>,
    outstanding: usize,
    completions: Vec<Completion<Stamp>>,
}

impl<W: Write> Play<W> {
    /// Begins a run on a new drive.
    ///
    /// # Errors
    /// If a step of preconditioning does not fit the device, or the journal cannot be written.
    pub fn begin(device: &Device, seed: u64, steps: &[Precondition], to: W) -> Result<Self, PlayError> {
        let drive = prepared(device, seed, steps).map_err(PlayError::Open)?;
        let header = JournalHeader {
            device: device.config().to_string(),
            seed,
            precondition: steps.iter().map(ToString::to_string).collect(),
        };
        let recorder = Recorder::begin(to, &header)?;
        Ok(Self {
            drive,
            recorder,
            active: Vec::new(),
            next: VecDeque::new(),
            ended: Vec::new(),
            content: 0,
            submitted: None,
            outstanding: 0,
            completions: Vec::new(),
        })
    }

    /// The drive, with the time and the counters of the run so far.
    #[must_use]
    pub const fn drive(&self) -> &Ssd<Stamp> {
        &self.drive
    }

    /// The number of client requests without an answer.
    #[must_use]
    pub const fn outstanding(&self) -> usize {
        self.outstanding
    }

    /// Submits a client's request now. `data` is the content of a write.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn ask(&mut self, kind: RequestKind, start: Lba, sectors: Sectors, data: &[u8]) -> io::Result<u32> {
        let now = self.arrival()?;
        let (of, content) = self.recorder.asked(now, kind, (start, sectors), data)?;
        self.content = content;
        self.outstanding += 1;
        self.active.push(ActiveRequest { flush_follows: kind.is_fua(), ..ActiveRequest::default() });
        let io = |kind, start, sectors| Io::new(kind, start, sectors);
        match kind {
            RequestKind::Read => self.submit(of, io(IoKind::Read, start, sectors), 0)?,
            RequestKind::Write { .. } => self.submit(of, io(IoKind::Write, start, sectors), 0)?,
            RequestKind::Flush => self.submit(of, Io::FLUSH, 0)?,
            RequestKind::Discard => self.submit(of, io(IoKind::Discard, start, sectors), 0)?,
            RequestKind::WriteZeroes { .. } => {
                for offset in (0..sectors.get()).step_by(ZEROS as usize) {
                    let part = Sectors::new(ZEROS.min(sectors.get() - offset));
                    self.submit(of, io(IoKind::Write, start + Sectors::new(offset), part), offset)?;
                }
            }
        }
        Ok(of)
    }

    /// Notes a line that the workload printed.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn say(&mut self, line: &str) -> io::Result<()> {
        self.recorder.said(line)
    }

    /// Submits a part of a request to the drive, now. `offset` is the index of the part's first sector in the request.
    fn submit(&mut self, of: u32, io: Io, offset: u64) -> io::Result<()> {
        let now = self.drive.now();
        self.recorder.submitted(now, of, &io)?;
        let data = match io.kind {
            IoKind::Write => stamps(of, offset, io.sectors.get()),
            _ => Vec::new(),
        };
        self.active[of as usize].parts += 1;
        self.drive.submit(now, Request { tag: u64::from(of), queue: QueueId::default(), io, data });
        self.submitted = Some((now, self.drive.events()));
        Ok(())
    }

    /// Waits for the earliest time at which a request may be submitted: the present, after its events. The journal
    /// cannot express that an event lies between two requests of one time. So a request that follows an event behind
    /// another request of this time is submitted a picosecond later.
    fn arrival(&mut self) -> io::Result<Time> {
        loop {
            let now = self.drive.now();
            if self.submitted == Some((now, self.drive.events())) {
                return Ok(now);
            }
            self.wait_until(now)?;
            match self.submitted {
                Some((last, _)) if last == now => self.wait_until(now + Span::from_ps(1))?,
                _ if self.drive.now() == now => return Ok(now),
                _ => {}
            }
        }
    }

    /// Handles the next event. Returns false if nothing is under way.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn step(&mut self) -> io::Result<bool> {
        let Some(next) = self.drive.next_event() else { return Ok(false) };
        self.advance(next)?;
        Ok(true)
    }

    /// Advances to the time `to`, and handles all events until then.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn wait_until(&mut self, to: Time) -> io::Result<()> {
        while self.drive.next_event().is_some_and(|next| next <= to) {
            self.step()?;
        }
        if self.drive.now() < to {
            self.advance(to)?;
        }
        Ok(())
    }

    fn advance(&mut self, to: Time) -> io::Result<()> {
        self.drive.advance(to, &mut self.completions);
        for completion in self.completions.drain(..) {
            let of = completion.tag as u32;
            let active = &mut self.active[of as usize];
            active.parts -= 1;
            active.failed |= completion.status != Status::Done;
            if active.parts > 0 {
                continue;
            }
            if !active.failed && std::mem::take(&mut active.flush_follows) {
                self.next.push_back(of);
            } else {
                let good = !active.failed;
                self.recorder.answered(completion.end, of, good)?;
                self.outstanding -= 1;
                self.ended.push(PlayedRequest { of, good, data: completion.data });
            }
        }
        // Waiting for the submission time of one request may complete others.
        while let Some(of) = self.next.pop_front() {
            self.arrival()?;
            self.submit(of, Io::FLUSH, 0)?;
        }
        Ok(())
    }

    /// The offset of the newest request's content in the journal.
    pub(crate) const fn newest_content(&self) -> u64 {
        self.content
    }

    /// The requests that were answered since the last call.
    pub(crate) fn take_ended(&mut self) -> Vec<PlayedRequest> {
        std::mem::take(&mut self.ended)
    }

    /// Flushes the writer of the journal and returns it: its file then has all content so far.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub(crate) fn flushed(&mut self) -> io::Result<&mut W> {
        self.recorder.flushed()
    }

    /// Plays the requests of a workload, at most `limit` of them; returns their number.
    ///
    /// # Errors
    /// If the workload cannot be read, or the journal cannot be written.
    pub fn run(&mut self, source: &mut dyn Source, limit: u64) -> Result<u64, PlayError> {
        let begin = self.drive.now();
        let (depth, timed) = match source.pacing() {
            Pacing::Closed { depth } => (Some(depth as usize), false),
            Pacing::Replay { depth } => (Some(depth as usize), true),
            Pacing::Open => (None, true),
        };
        let until = source.duration().map(|duration| begin + duration);
        let mut played = 0;
        while played < limit {
            if until.is_some_and(|until| self.drive.now() >= until) {
                break;
            }
            let Some(arrival) = source.next()? else { break };
            if timed {
                self.wait_until((begin + (arrival.at - Time::ZERO)).max(self.drive.now()))?;
            }
            if let Some(depth) = depth {
                while self.outstanding >= depth && self.step()? {}
            }
            self.play(&arrival.io)?;
            // The workload does not use the answers.
            self.ended.clear();
            played += 1;
        }
        while self.outstanding > 0 && self.step()? {}
        self.ended.clear();
        Ok(played)
    }

    /// Submits a request of a workload. The content of a write has the number of the request and of the sector.
    fn play(&mut self, io: &Io) -> io::Result<u32> {
        let kind = match io.kind {
            IoKind::Read => RequestKind::Read,
            IoKind::Write => RequestKind::Write { fua: false },
            IoKind::Flush => RequestKind::Flush,
            IoKind::Discard => RequestKind::Discard,
            kind => {
                return Err(io::Error::other(format!(
                    "a power cut is tried under reads, writes, flushes and discards, and not under a {}",
                    kind.name()
                )));
            }
        };
        let data = if kind.writes() { self.content(io.sectors.get()) } else { Vec::new() };
        self.ask(kind, io.start, io.sectors, &data)
    }

    /// Content of the next request: each sector is filled with the stamp that the replay gives it.
    #[must_use]
    pub fn content(&self, sectors: u64) -> Vec<u8> {
        let words = base::units::SECTOR.get() as usize / size_of::<u64>();
        let stamps = stamps(self.recorder.requests(), 0, sectors);
        stamps.into_iter().flat_map(|stamp| stamp.0.to_le_bytes().repeat(words)).collect()
    }

    /// Lets all requests complete, and ends the journal.
    ///
    /// # Errors
    /// If the journal cannot be written.
    pub fn finish(mut self) -> io::Result<W> {
        while self.outstanding > 0 && self.step()? {}
        let now = self.drive.now();
        self.wait_until(now)?;
        let counters = self.drive.counters();
        self.recorder.finish(RunEnd { at: now, hash: counters.event_hash, events: counters.events })
    }
}
