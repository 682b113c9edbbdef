//! What every resource did in a window of time: each command a slice, with why, where and for which request.

use std::fmt;

use base::io::Io;
use base::units::{Lpn, Psn, Span, SuperblockId, Time};
use flash::backend::{Cause, Level, Moment, Op, Phase, Primitive, Resource};
use ssd::Tag;

use super::track::{Began, Requests};

/// Slices that are kept at most: more than that no viewer shows fluently.
const MOST: usize = 1_000_000;

/// A window of a run, in time since its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    /// From when.
    pub from: Span,
    /// Until when.
    pub until: Span,
}

impl Default for Window {
    /// The first ten milliseconds.
    fn default() -> Self {
        Self { from: Span::ZERO, until: Span::from_ms(10) }
    }
}

/// A text that is no window, and what is wrong with it.
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

    /// `FROM..UNTIL`, e.g. `1s..1010ms`.
    fn from_str(text: &str) -> Result<Self, ParseWindowError> {
        let none = || ParseWindowError("is no window; write FROM..UNTIL, e.g. 1s..1010ms".into());
        let (from, until) = text.split_once("..").ok_or_else(none)?;
        let parse = |text: &str| text.parse::<Span>().map_err(|error| ParseWindowError(error.to_string()));
        let window = Self { from: parse(from)?, until: parse(until)? };
        if window.from >= window.until {
            return Err(ParseWindowError(format!(
                "is empty: it ends at {until}, and begins at {from}; write FROM..UNTIL, e.g. 1s..1010ms"
            )));
        }
        Ok(window)
    }
}

/// A resource at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slice {
    /// What works.
    pub resource: Resource,
    /// What the command does.
    pub op: Op,
    /// What it is doing right now.
    pub primitive: Primitive,
    /// Why.
    pub cause: Cause,
    /// From when.
    pub from: Time,
    /// Until when.
    pub until: Time,
    /// How long it had waited for this.
    pub waited: Span,
    /// What the command is about.
    pub about: About,
}

/// What a command is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct About {
    /// Its superblock.
    pub superblock: SuperblockId,
    /// For a program or a copy, the first slot of the superblock that it writes.
    pub offset: Option<u32>,
    /// For a read, the first slot of the array that it reads.
    pub psn: Option<Psn>,
    /// Its first mapping unit, if it carries any and that is known beforehand.
    pub lpn: Option<Lpn>,
    /// Mapping units in it.
    pub units: u32,
    /// The first request that it works for.
    pub request: Option<Tag>,
}

/// A unit that holds a list.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Held {
    /// The unit.
    pub unit: u32,
    /// Why the first command of the list exists.
    pub cause: Cause,
    /// From when.
    pub from: Time,
    /// Until when.
    pub until: Time,
}

/// A request that was under way in the window.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The host's number for it.
    pub tag: Tag,
    /// What was asked.
    pub io: Io,
    /// When it came.
    pub arrival: Time,
    /// When the device took it from its queue.
    pub begun: Time,
    /// When it was complete.
    pub end: Time,
}

/// A level from some moment on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Reading {
    /// From when.
    pub at: Time,
    /// Of what.
    pub level: Level,
    /// How much.
    pub value: u64,
}

/// Keeps what happens in a window.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    window: Window,
    start: Time,
    slices: Vec<Slice>,
    held: Vec<Held>,
    requests: Vec<Request>,
    levels: Vec<Reading>,
    /// The latest value of each level, so that the window does not begin with nothing.
    latest: [Option<u64>; 4],
    commands: Vec<About>,
    units: Vec<Option<(Time, Cause)>>,
    dropped: u64,
}

impl Timeline {
    /// Keeps what happens in this window of the run.
    #[must_use]
    pub fn new(window: Window) -> Self {
        Self { window, ..Self::default() }
    }

    pub(super) fn begin(&mut self, at: Time) {
        *self = Self { window: self.window, start: at, ..Self::default() };
    }

    /// Counts times from `at` on. What is under way goes on.
    pub(super) fn measure(&mut self, at: Time) {
        let (commands, units) = (std::mem::take(&mut self.commands), std::mem::take(&mut self.units));
        let latest = self.latest;
        *self = Self { window: self.window, start: at, commands, units, latest, ..Self::default() };
        let first = self.first();
        let all = [Level::Waiting, Level::Active, Level::Buffered, Level::FreeBlocks];
        let known =
            all.into_iter().filter_map(|level| Some(Reading { at: first, level, value: latest[level as usize]? }));
        self.levels = known.collect();
    }

    /// The moment that times count from.
    #[must_use]
    pub const fn start(&self) -> Time {
        self.start
    }

    /// The window.
    #[must_use]
    pub const fn window(&self) -> Window {
        self.window
    }

    /// What dies and channels did, in the order in which they began.
    #[must_use]
    pub fn slices(&self) -> &[Slice] {
        &self.slices
    }

    /// Which lists units had, in the order in which they gave them back.
    #[must_use]
    pub fn held(&self) -> &[Held] {
        &self.held
    }

    /// The requests, in the order in which they ended.
    #[must_use]
    pub fn requests(&self) -> &[Request] {
        &self.requests
    }

    /// How levels changed, in order.
    #[must_use]
    pub fn levels(&self) -> &[Reading] {
        &self.levels
    }

    /// Slices that there was no room for.
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

    pub(super) fn submitted(&mut self, moment: &Moment<'_>, requests: &Requests) {
        let index = moment.number as usize;
        if self.commands.len() <= index {
            self.commands.resize(index + 1, About::default());
        }
        let carries = moment.slots.first().filter(|_| moment.command.op != Op::Erase);
        let request = moment.slots.iter().filter_map(|slot| slot.owner).find_map(|owner| requests.get(owner));
        let (target, op) = (moment.command.target, moment.command.op);
        self.commands[index] = About {
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

    pub(super) fn controller(&mut self, at: Time, unit: u32, list: Option<(u32, Cause)>) {
        let index = unit as usize;
        if self.units.len() <= index {
            self.units.resize(index + 1, None);
        }
        let before = std::mem::replace(&mut self.units[index], list.map(|(_, cause)| (at, cause)));
        if let Some((from, cause)) = before.filter(|(from, _)| self.overlaps(*from, at) && self.held.len() < MOST) {
            self.held.push(Held { unit, cause, from, until: at });
        }
    }

    pub(super) fn ended(&mut self, at: Time, request: &Began) {
        if self.overlaps(request.arrival, at) && self.requests.len() < MOST {
            let Began { tag, arrival, at: begun, io } = *request;
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
            // What it was when the window began.
            self.levels.retain(|reading| reading.level != level);
            self.levels.push(Reading { at: self.start + self.window.from, level, value });
        } else if at < self.start + self.window.until && self.levels.len() < MOST {
            *latest = Some(value);
            self.levels.push(Reading { at, level, value });
        }
    }
}
