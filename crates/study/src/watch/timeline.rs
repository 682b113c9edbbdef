//! A timeline of every resource in a window of time: each command is a slice with its cause, place and request.

use std::fmt;

use base::io::Io;
use base::units::{Lpn, Psn, Span, SuperblockId, Time};
use flash::backend::{Cause, Level, Moment, Op, Phase, Primitive, Resource};
use ssd::Tag;

use super::track::{ActiveRequest, TrackedRequests};

/// The maximum number of slices: viewers become slow with more.
const MOST: usize = 1_000_000;

/// A window of a run, in time since the start of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// Start of the window, since the start of the run.
    pub from: Span,
    /// End of the window, since the start of the run.
    pub until: Span,
}

impl Default for Window {
    /// The first ten milliseconds.
    fn default() -> Self {
        Self { from: Span::ZERO, until: Span::from_ms(10) }
    }
}

/// The error of a text that is not a window.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseWindowError(String);

impl fmt::Display for ParseWindowError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for ParseWindowError {}

impl std::str::FromStr for Window {
    type Err = ParseWindowError;

    /// Parses `FROM..UNTIL`, e.g. `1s..1010ms`.
    fn from_str(text: &str) -> Result<Self, ParseWindowError> {
        let none = || ParseWindowError("is not a window; write FROM..UNTIL, e.g. 1s..1010ms".into());
        let (from, until) = text.split_once("..").ok_or_else(none)?;
        let parse = |text: &str| text.parse::<Span>().map_err(|error| ParseWindowError(error.to_string()));
        let window = Self { from: parse(from)?, until: parse(until)? };
        if window.from >= window.until {
            return Err(ParseWindowError(format!(
                "is empty: it begins at {from} and ends at {until}; write FROM..UNTIL, e.g. 1s..1010ms"
            )));
        }
        Ok(window)
    }
}

/// An interval in which a die or a channel works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// The die, channel or other resource that worked.
    pub resource: Resource,
    /// The operation of the command.
    pub op: Op,
    /// The step of the command that the slice shows.
    pub primitive: Primitive,
    /// The cause of the command.
    pub cause: Cause,
    /// The simulated time at which it starts.
    pub from: Time,
    /// The simulated time at which it ends.
    pub until: Time,
    /// The time that the command waited before this step.
    pub waited: Span,
    /// The data of the command.
    pub about: CommandContext,
}

/// The place, the mapping units and the request of a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CommandContext {
    /// The superblock of the data.
    pub superblock: SuperblockId,
    /// For a program or a copy, the first slot of the superblock that is written.
    pub offset: Option<u32>,
    /// For a read, the first slot of the array that is read.
    pub psn: Option<Psn>,
    /// The first mapping unit, if the command carries any and it is known in advance.
    pub lpn: Option<Lpn>,
    /// The number of mapping units.
    pub units: u32,
    /// The first request that the command serves.
    pub request: Option<Tag>,
}

/// An interval in which a controller holds a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HoldInterval {
    /// Number of the controller, from 0.
    pub unit: u32,
    /// The cause of the list's first command.
    pub cause: Cause,
    /// The simulated time at which it starts.
    pub from: Time,
    /// The simulated time at which it ends.
    pub until: Time,
}

/// A request in flight during the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The host's tag for the request.
    pub tag: Tag,
    /// Kind, address and length of the request.
    pub io: Io,
    /// The time of the request's submission.
    pub arrival: Time,
    /// The time at which the device took the request from its queue.
    pub begun: Time,
    /// The time of the request's completion.
    pub end: Time,
}

/// The value of a level from some time on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelReading {
    /// Time at which the level changed.
    pub at: Time,
    /// The level that changed.
    pub level: Level,
    /// The value from this time on.
    pub value: u64,
}

/// The record of all resources in a window.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    window: Window,
    start: Time,
    slices: Vec<Slice>,
    held: Vec<HoldInterval>,
    requests: Vec<Request>,
    levels: Vec<LevelReading>,
    /// The latest value of each level before the window begins.
    latest: [Option<u64>; 4],
    commands: Vec<CommandContext>,
    units: Vec<Option<(Time, Cause)>>,
    dropped: u64,
}

impl Timeline {
    /// Creates a timeline of this window of the run.
    #[must_use]
    pub fn new(window: Window) -> Self {
        Self { window, ..Self::default() }
    }

    pub(super) fn begin(&mut self, at: Time) {
        *self = Self { window: self.window, start: at, ..Self::default() };
    }

    /// Counts times from `at`. Requests in flight continue.
    pub(super) fn end_warm_up(&mut self, at: Time) {
        let (commands, units) = (std::mem::take(&mut self.commands), std::mem::take(&mut self.units));
        let latest = self.latest;
        *self = Self { window: self.window, start: at, commands, units, latest, ..Self::default() };
        let first = self.first();
        let all = [Level::Waiting, Level::Active, Level::Buffered, Level::FreeBlocks];
        let known =
            all.into_iter().filter_map(|level| Some(LevelReading { at: first, level, value: latest[level as usize]? }));
        self.levels = known.collect();
    }

    /// The time at which the window's times begin to count.
    #[must_use]
    pub const fn start(&self) -> Time {
        self.start
    }

    /// The window that the user chose to record.
    #[must_use]
    pub const fn window(&self) -> Window {
        self.window
    }

    /// The work of dies and channels, in order of start.
    #[must_use]
    pub fn slices(&self) -> &[Slice] {
        &self.slices
    }

    /// The lists that controllers held, in order of release.
    #[must_use]
    pub fn held(&self) -> &[HoldInterval] {
        &self.held
    }

    /// The requests, in order of completion.
    #[must_use]
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// The changes of levels, in order.
    #[must_use]
    pub fn levels(&self) -> &[LevelReading] {
        &self.levels
    }

    /// The number of slices dropped beyond the maximum.
    #[must_use]
    pub const fn dropped(&self) -> u64 {
        self.dropped
    }

    pub(super) fn first(&self) -> Time {
        self.start + self.window.from
    }

    pub(super) fn last(&self) -> Time {
        self.start + self.window.until
    }

    fn overlaps(&self, from: Time, until: Time) -> bool {
        from < self.last() && until > self.first()
    }

    pub(super) fn submitted(&mut self, moment: &Moment<'_>, requests: &TrackedRequests) {
        let index = moment.number as usize;
        if self.commands.len() <= index {
            self.commands.resize(index + 1, CommandContext::default());
        }
        let carries = moment.slots.first().filter(|_| moment.command.op != Op::Erase);
        let request = moment.slots.iter().filter_map(|slot| slot.owner).find_map(|owner| requests.get(owner));
        let (target, op) = (moment.command.target, moment.command.op);
        self.commands[index] = CommandContext {
            superblock: target.superblock,
            offset: matches!(op, Op::Program | Op::CopyBack).then_some(target.offset),
            psn: carries.filter(|_| op == Op::Read).map(|slot| slot.psn),
            lpn: carries.filter(|slot| slot.expected).map(|slot| slot.lpn),
            units: moment.slots.len() as u32,
            request: request.map(|began| began.tag),
        };
    }

    pub(super) fn phase(&mut self, phase: &Phase) {
        if !self.overlaps(phase.from, phase.until) {
            return;
        }
        if self.slices.len() == MOST {
            self.dropped += 1;
            return;
        }
        let about = self.commands.get(phase.command as usize).copied().unwrap_or_default();
        let Phase { resource, op, primitive, cause, from, until, ready, .. } = *phase;
        let waited = from.saturating_since(ready);
        self.slices.push(Slice { resource, op, primitive, cause, from, until, waited, about });
    }

    /// Corrects the end of the latest phase of a resource. A phase that now ends before the window, or has no length,
    /// is dropped.
    pub(super) fn shortened(&mut self, resource: Resource, until: Time) {
        let Some(i) = self.slices.iter().rposition(|slice| slice.resource == resource) else { return };
        // The phase may be one that the timeline did not keep.
        if self.slices[i].until <= until {
            return;
        }
        self.slices[i].until = until;
        if !self.overlaps(self.slices[i].from, until) || self.slices[i].from == until {
            self.slices.remove(i);
        }
    }

    pub(super) fn controller(&mut self, at: Time, unit: u32, list: Option<(u32, Cause)>) {
        let index = unit as usize;
        if self.units.len() <= index {
            self.units.resize(index + 1, None);
        }
        let before = std::mem::replace(&mut self.units[index], list.map(|(_, cause)| (at, cause)));
        if let Some((from, cause)) = before.filter(|(from, _)| self.overlaps(*from, at) && self.held.len() < MOST) {
            self.held.push(HoldInterval { unit, cause, from, until: at });
        }
    }

    pub(super) fn ended(&mut self, at: Time, request: &ActiveRequest) {
        if self.overlaps(request.arrival, at) && self.requests.len() < MOST {
            let ActiveRequest { tag, arrival, at: begun, io } = *request;
            self.requests.push(Request { tag, io, arrival, begun, end: at });
        }
    }

    pub(super) fn level(&mut self, at: Time, level: Level, value: u64) {
        let latest = &mut self.latest[level as usize];
        if *latest == Some(value) {
            return;
        }
        if at < self.start + self.window.from {
            *latest = Some(value);
            // The value at the beginning of the window replaces earlier ones.
            self.levels.retain(|reading| reading.level != level);
            self.levels.push(LevelReading { at: self.start + self.window.from, level, value });
        } else if at < self.start + self.window.until && self.levels.len() < MOST {
            *latest = Some(value);
            self.levels.push(LevelReading { at, level, value });
        }
    }
}
