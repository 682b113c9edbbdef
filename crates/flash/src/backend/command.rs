//! Command lists, commands and slots.

use std::num::NonZeroU32;

use crate::nand::{Mode, SectorMask, Stream, Target};
use base::engine::Handle;
use base::nonmax::NonMaxU32;
use base::units::{DieId, Lpn, Psn, Span, Time};

use super::copy_set::{CopySet, ListPart};
use super::links::Links;
use super::{Cause, CauseSet, Op, Primitive};

/// The urgency of a list, for arbitrations that use it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Class {
    /// A host waits for data.
    HostRead,
    /// A host waits for data, and no program or erase is suspended for it.
    PatientRead,
    /// Everything else.
    Other,
}

impl Class {
    /// True if a host waits for data.
    #[must_use]
    #[inline]
    pub const fn is_host_read(self) -> bool {
        matches!(self, Self::HostRead | Self::PatientRead)
    }
}

/// The wait of a list none of whose commands has started.
const NOT_STARTED: Span = Span::MAX;

/// The dependences between a list and others: commands of other lists depend on commands of this list, or the other way
/// round. One byte for both, because a list has no room for two.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Relation(u8);

impl Relation {
    const LEADS: u8 = 1;
    const FOLLOWS: u8 = 2;

    /// Notes that commands of another list depend on this list.
    pub(super) const fn lead(&mut self) {
        self.0 |= Self::LEADS;
    }

    /// Notes that this list depends on another list.
    pub(super) const fn follow(&mut self) {
        self.0 |= Self::FOLLOWS;
    }

    #[inline]
    pub(super) const fn leads(self) -> bool {
        self.0 & Self::LEADS != 0
    }

    #[inline]
    pub(super) const fn follows(self) -> bool {
        self.0 & Self::FOLLOWS != 0
    }
}

/// A list of commands with dependencies. The FTL builds the list once; the backend executes it without the FTL.
///
/// Every phase of a command reads its list, so a list must fit into one cache line.
#[derive(Clone, Debug)]
#[repr(align(64))]
pub struct List {
    pub(super) class: Class,
    pub(super) first: Option<Handle<Command>>,
    pub(super) last: Option<Handle<Command>>,
    /// The set of page copies that the list belongs to, if it has no commands.
    copies: Option<CopySet>,
    /// The index of the list in the set.
    part: u16,
    pub(super) remaining: u32,
    controller: Option<NonMaxU32>,
    pub(super) next: Option<Handle<List>>,
    pub(super) submitted: Time,
    pub(super) dispatched: bool,
    pub(super) relation: Relation,
    /// True if the commands are for more than one die.
    pub(super) spreads: bool,
    tag: u32,
    /// The number of reports of failed programs that the FTL had received when it opened the list.
    pub(super) known: u32,
    pub(super) wait: Span,
    /// The time from the list's submission to the start of its first command; [`NOT_STARTED`] before that.
    start_wait: Span,
    pub(super) waited_for: CauseSet,
}

impl List {
    pub(super) const fn new(class: Class, tag: u32, known: u32) -> Self {
        Self {
            class,
            first: None,
            last: None,
            copies: None,
            part: 0,
            remaining: 0,
            controller: None,
            next: None,
            submitted: Time::ZERO,
            dispatched: false,
            relation: Relation(0),
            spreads: false,
            tag,
            known,
            wait: Span::ZERO,
            start_wait: NOT_STARTED,
            waited_for: CauseSet::EMPTY,
        }
    }

    /// The copies of the list, if it has no commands.
    #[inline]
    pub(super) fn copies(&self) -> Option<ListPart> {
        self.copies.map(|set| ListPart { set, part: self.part })
    }

    /// Makes the list one of page copies.
    pub(super) const fn join(&mut self, ListPart { set, part }: ListPart) {
        (self.copies, self.part) = (Some(set), part);
    }

    /// Makes the list one of commands again.
    pub(super) const fn leave_copies(&mut self) {
        self.copies = None;
    }

    #[inline]
    pub(super) fn controller(&self) -> Option<u32> {
        self.controller.map(NonMaxU32::get)
    }

    #[inline]
    pub(super) const fn take_controller(&mut self, controller: u32) {
        self.controller = Some(NonMaxU32::new(controller));
    }

    #[inline]
    pub(super) fn start(&mut self, now: Time) {
        if self.start_wait == NOT_STARTED {
            self.start_wait = now - self.submitted;
        }
    }

    /// The number that the FTL gave when it opened the list.
    #[must_use]
    pub const fn tag(&self) -> u32 {
        self.tag
    }

    /// The class of all commands of the list, for arbitration.
    #[must_use]
    pub const fn class(&self) -> Class {
        self.class
    }

    /// The first command; the others follow by [`Command::sibling`].
    #[must_use]
    pub const fn first(&self) -> Option<Handle<Command>> {
        self.first
    }

    /// The longest time that the list waited for a controller, or that one of its commands waited for a die and a
    /// channel. The list's own commands may have caused a part of the wait.
    #[must_use]
    pub const fn wait(&self) -> Span {
        self.wait
    }

    /// The time from the list's submission to the start of its first command.
    #[must_use]
    pub fn start_wait(&self) -> Span {
        if self.start_wait == NOT_STARTED { Span::ZERO } else { self.start_wait }
    }

    /// The causes of the commands that the list waited for.
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

/// The state of a command on its way through its die (ARCHITECTURE.md has a picture).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CommandState {
    /// The command waits for commands that it depends on, for its controller, or for its die in the die's queue.
    Queued,
    /// Command and address cycles of an operation that sends no data cross the channel, or wait for it.
    CommandCycles,
    /// Command cycles and data in cross the channel, or wait for it.
    DataIn,
    /// The array works, or is done and waits for the register.
    Array,
    /// The array has stopped, and will resume later.
    Suspended,
    /// Command cycles and data cross the channel into a register that already holds a page: the second phase of a
    /// copy-back.
    Patch,
    /// The status of the die crosses the channel, or waits for it.
    Status,
    /// Data out crosses the channel, or waits for it.
    DataOut,
    /// The command has ended; its list may still have others.
    Done,
}

impl CommandState {
    /// The kind of transfer that crosses the channel in this state.
    pub(super) const fn primitive(self) -> Primitive {
        match self {
            Self::Status => Primitive::Status,
            Self::DataIn | Self::Patch => Primitive::DataIn,
            Self::DataOut => Primitive::DataOut,
            Self::Queued | Self::CommandCycles | Self::Array | Self::Suspended | Self::Done => Primitive::Command,
        }
    }
}

/// The progress of the processor in issuing a command, if the controllers are software (see
/// [`super::Config::software`]).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preparation {
    /// The processor has not been asked.
    None,
    /// The processor has been asked, because the die is free.
    Asked,
    /// The command is issued: the die may begin it.
    Done,
}

/// A flash command: a read, program, erase or copy-back of a list.
#[derive(Clone, Debug)]
pub struct Command {
    /// The operation that the array carries out.
    pub op: Op,
    /// Cause under which the command is counted.
    pub cause: Cause,
    /// The die of the superblock; for superblocks in several dies, the die of the member.
    pub die: DieId,
    /// The superblock and, for programs, the first slot.
    pub target: Target,
    /// True if a program or an erase failed, or if the backend refused a program because an earlier program of its
    /// block failed. The slots of a failed program may still hold data: see [`crate::nand::Media::holds_data`].
    pub failed: bool,
    /// True if the backend did not begin the program, because an earlier program of the block failed.
    pub(super) refused: bool,
    pub(super) stream: Stream,
    pub(super) mode: Mode,
    pub(super) class: Class,
    pub(super) state: CommandState,
    pub(super) preparation: Preparation,
    /// True if the time of the copy to the cache register has been charged, for a read in cache mode.
    pub(super) copied: bool,
    /// True if a copy-back that merges data of the host has read its source.
    pub(super) begun: bool,
    /// True if the data of the host for a copy-back has crossed the channel.
    pub(super) patched: bool,
    pub(super) count: u32,
    /// The number of sectors that cross the channel; zero stands for all slots or, for a copy-back, for none.
    pub(super) sectors: u32,
    pub(super) padding: u32,
    /// The number of a program's slots whose data has crossed the channel, while the data crosses page by page.
    pub(super) crossed: u32,
    /// The number of a read's codewords that no decoder has taken in, including those that have yet to cross the
    /// channel.
    pub(super) undecoded: u32,
    pub(super) coming: u32,
    /// The number of pages of a scan, whose spare areas the command reads; zero for any other command.
    pub(super) scanned: u32,
    /// True for a blank read, which does not read the media: its slots are cleared.
    pub(super) blank: bool,
    /// The number of pages that a copy-back still has to copy after the present one, and the distance of their mapping
    /// units.
    pub(super) behind: u32,
    pub(super) stride: u32,
    pub(super) waits: u16,
    /// True if the command has been applied to the media.
    pub(super) effected: bool,
    /// The unit of the die whose array and register the command uses (see [`super::planes`]).
    pub(super) unit: u32,
    pub(super) list: Handle<List>,
    pub(super) next: Option<Handle<Command>>,
    pub(super) sibling: Option<Handle<Command>>,
    pub(super) then: [Option<Handle<Command>>; 2],
    pub(super) ready: Time,
    pub(super) wait: Span,
}

impl Command {
    /// True for a command of the FTL's own work. A program in a stream of host data never counts, whatever its cause,
    /// so that programs of one block keep their order.
    #[inline]
    pub(super) fn collects(&self) -> bool {
        let keeps_order = self.op == Op::Program && self.stream.is_host();
        !keeps_order && !self.cause.is_of_host()
    }

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
            state: CommandState::Queued,
            preparation: Preparation::None,
            copied: false,
            begun: false,
            patched: false,
            count: 0,
            sectors: 0,
            padding: 0,
            crossed: 0,
            undecoded: 0,
            coming: 0,
            scanned: 0,
            blank: false,
            behind: 0,
            stride: 0,
            waits: 0,
            effected: false,
            unit: die.get(),
            list,
            next: None,
            sibling: None,
            then: [None; 2],
            ready: Time::ZERO,
            wait: Span::ZERO,
        }
    }

    /// The next command of the list; none behind the last.
    #[must_use]
    #[inline]
    pub const fn sibling(&self) -> Option<Handle<Self>> {
        self.sibling
    }

    /// The number of slots that the command carries.
    #[must_use]
    #[inline]
    pub const fn count(&self) -> u32 {
        self.count
    }

    /// True for a read that takes its time and does not read the media, see [`super::Backend::set_blank`].
    #[must_use]
    #[inline]
    pub const fn is_blank(&self) -> bool {
        self.blank
    }

    #[inline]
    pub(super) fn is_done(&self) -> bool {
        self.state == CommandState::Done
    }

    /// True for a copy-back that has read its source and still waits until data of the host has crossed the channel.
    pub(super) const fn wants_data(&self) -> bool {
        self.begun && !self.patched
    }

    /// The number of sectors that cross the channel, if it is set. Otherwise all slots cross or, for a copy-back, none.
    #[must_use]
    pub const fn sectors(&self) -> Option<u32> {
        if self.sectors > 0 { Some(self.sectors) } else { None }
    }

    /// The stream for which a program opens its block.
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

/// A reference to a slot: its index among all slots of all commands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlotRef(pub(super) u32);

/// A mapping unit on its way to or from flash.
#[derive(Clone, Copy, Debug, Default)]
#[repr(Rust, packed(8))] // With the alignment of its mask, a slot would take a third more memory.
pub struct Slot {
    /// The mapping unit. A read with `expected` is checked against the spare area; any other read takes the mapping
    /// unit from there.
    pub lpn: Lpn,
    /// The version of the mapping unit, see [`crate::nand::Spare`].
    pub version: u32,
    /// The source of a read or a copy. The slots of a program get their places from its target.
    pub psn: Psn,
    /// The owner of the data, in the FTL's own terms.
    pub owner: Option<NonZeroU32>,
    /// The position of the unit's first sector in the owner's data; negative if the data begins inside the unit.
    pub at: i32,
    /// The sectors that the owner writes or reads, one bit each. For a copy-back that moves sectors: those that come
    /// from the payload and not from the source page.
    pub mask: SectorMask,
    /// True if the FTL knows `lpn` before the read.
    pub expected: bool,
    /// True if the data is unreadable.
    pub lost: bool,
    /// The slot of the program that takes the data. [`super::Backend::forward`] sets it, and makes the program wait for
    /// the read.
    pub forward: Option<SlotRef>,
}

#[cfg(test)]
mod tests {
    use super::List;

    #[test]
    fn a_list_takes_one_line_of_the_caches() {
        assert_eq!((size_of::<List>(), align_of::<List>()), (64, 64));
    }
}
