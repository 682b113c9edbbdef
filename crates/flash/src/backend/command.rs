//! Command lists and what is in them.

use std::num::NonZeroU32;

use crate::nand::{Mode, Stream, Target};
use base::engine::Handle;
use base::units::{DieId, Lpn, Psn, Span, Time};

use super::queue::Links;
use super::{Cause, CauseSet, Op};

/// How urgent a list is, for arbitrations that ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A host waits for data.
    HostRead,
    /// Everything else.
    Other,
}

/// A list of commands with dependencies, built once and executed without the FTL.
#[derive(Clone, Debug)]
pub struct List {
    pub(super) class: Class,
    pub(super) first: Option<Handle<Command>>,
    pub(super) last: Option<Handle<Command>>,
    pub(super) remaining: u32,
    pub(super) controller: Option<u32>,
    pub(super) next: Option<Handle<List>>,
    pub(super) submitted: Time,
    pub(super) dispatched: bool,
    /// Commands of other lists wait for some of its own, or the other way round.
    pub(super) leads: bool,
    pub(super) follows: bool,
    tag: u32,
    /// How much the FTL had heard of failed programs when it opened the list.
    pub(super) known: u32,
    pub(super) wait: Span,
    pub(super) waited_for: CauseSet,
}

impl List {
    pub(super) const fn new(class: Class, tag: u32, known: u32) -> Self {
        Self {
            class,
            first: None,
            last: None,
            remaining: 0,
            controller: None,
            next: None,
            submitted: Time::ZERO,
            dispatched: false,
            leads: false,
            follows: false,
            tag,
            known,
            wait: Span::ZERO,
            waited_for: CauseSet::EMPTY,
        }
    }

    /// The FTL's own number for it.
    #[must_use]
    pub const fn tag(&self) -> u32 {
        self.tag
    }

    /// Its first command; the others follow by [`Command::sibling`].
    #[must_use]
    pub const fn first(&self) -> Option<Handle<Command>> {
        self.first
    }

    /// The longest that it and one of its commands together waited for a unit, a die and a channel.
    #[must_use]
    pub const fn wait(&self) -> Span {
        self.wait
    }

    /// The causes of what it waited behind.
    #[must_use]
    pub const fn waited_for(&self) -> CauseSet {
        self.waited_for
    }
}

impl Links for List {
    fn next(&self) -> Option<Handle<Self>> {
        self.next
    }

    fn set_next(&mut self, next: Option<Handle<Self>>) {
        self.next = next;
    }
}

/// What a command wants from the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stage {
    /// Command and address cycles of an operation that has no data to send.
    Command,
    /// Command, address and data in.
    DataIn,
    /// Data out.
    DataOut,
    /// Command, address and data into a register that holds a page already: the second phase of a copy-back.
    Patch,
}

/// How far the processor is with a command, where it takes part (see [`super::Config::software`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preparation {
    /// Not asked.
    None,
    /// Asked, because the die is free.
    Asked,
    /// Done: the die may begin it.
    Done,
}

/// One flash command.
#[derive(Clone, Debug)]
pub struct Command {
    /// What it does.
    pub op: Op,
    /// Why.
    pub cause: Cause,
    /// Where.
    pub die: DieId,
    /// Its superblock, and for programs the first slot.
    pub target: Target,
    /// True if a program or an erase did not end well, or if a program was not begun because one before it in its block
    /// failed. Slots of a program that failed may hold data nevertheless: see [`crate::nand::Media::holds_data`].
    pub failed: bool,
    /// It was not begun.
    pub(super) refused: bool,
    pub(super) stream: Stream,
    /// For a program.
    pub(super) mode: Mode,
    pub(super) class: Class,
    pub(super) stage: Stage,
    pub(super) preparation: Preparation,
    /// For a copy-back with data in: it has taken effect.
    pub(super) begun: bool,
    pub(super) count: u32,
    /// Sectors that cross the channel; zero if all its slots do, or, for a copy-back, none.
    pub(super) sectors: u32,
    pub(super) padding: u32,
    /// Pages whose spare areas it looks at, where it is no read of slots.
    pub(super) scanned: u32,
    pub(super) waits: u16,
    pub(super) done: bool,
    /// The media have carried it out.
    pub(super) effected: bool,
    pub(super) list: Handle<List>,
    pub(super) next: Option<Handle<Command>>,
    pub(super) sibling: Option<Handle<Command>>,
    pub(super) then: [Option<Handle<Command>>; 2],
    pub(super) ready: Time,
    pub(super) wait: Span,
}

impl Command {
    #[inline]
    pub(super) const fn new(
        op: Op,
        cause: Cause,
        die: DieId,
        target: Target,
        stream: Stream,
        list: Handle<List>,
        class: Class,
    ) -> Self {
        Self {
            op,
            cause,
            die,
            target,
            failed: false,
            refused: false,
            stream,
            mode: Mode::Full,
            class,
            stage: Stage::Command,
            preparation: Preparation::None,
            begun: false,
            count: 0,
            sectors: 0,
            padding: 0,
            scanned: 0,
            waits: 0,
            done: false,
            effected: false,
            list,
            next: None,
            sibling: None,
            then: [None; 2],
            ready: Time::ZERO,
            wait: Span::ZERO,
        }
    }

    /// The next command of its list.
    #[must_use]
    #[inline]
    pub const fn sibling(&self) -> Option<Handle<Self>> {
        self.sibling
    }

    /// Slots it carries.
    #[must_use]
    #[inline]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// True if it is a copy-back in its first phase, with data to come.
    pub(super) const fn wants_data(&self) -> bool {
        self.begun && !matches!(self.stage, Stage::Patch)
    }

    /// Sectors that cross the channel, if they were set: otherwise those of all its slots, or, for a copy-back, none.
    #[must_use]
    pub const fn sectors(&self) -> Option<u32> {
        if self.sectors > 0 { Some(self.sectors) } else { None }
    }

    /// The stream it programs for.
    #[must_use]
    pub const fn stream(&self) -> Stream {
        self.stream
    }
}

impl Links for Command {
    fn next(&self) -> Option<Handle<Self>> {
        self.next
    }

    fn set_next(&mut self, next: Option<Handle<Self>>) {
        self.next = next;
    }
}

/// The place of a slot among all slots of all commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotRef(pub(super) u32);

/// A mapping unit on its way to or from flash.
#[derive(Clone, Copy, Debug, Default)]
pub struct Slot {
    /// The unit. For a read with `expected` it is checked against the spare area; otherwise it comes
    /// from there.
    pub lpn: Lpn,
    /// Its version, see [`crate::nand::Spare`].
    pub version: u32,
    /// For a read or a copy: where from. A program has its place from its target.
    pub psn: Psn,
    /// Whose data it is, in the FTL's own terms.
    pub owner: Option<NonZeroU32>,
    /// Where the unit's first sector stands in the owner's data; negative if the data begins inside.
    pub at: i32,
    /// The sectors that the owner gives or wants, one bit each. For a copy-back those that come from the
    /// payload and not from the source page, if it moves sectors.
    pub mask: u64,
    /// True if `lpn` is known beforehand.
    pub expected: bool,
    /// True if the data cannot be read any more.
    pub lost: bool,
    /// The slot of a program that takes what is read; set by [`super::Backend::forward`].
    pub forward: Option<SlotRef>,
}
