//! Who watches the backend. Nobody by default, at no cost.

use std::num::NonZeroU32;

use base::io::Io;
use base::units::Time;

use super::{Cause, Command, Op, Slot};
use base::engine::Handle;

/// What was busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// The array of a die.
    Array(u32),
    /// A channel.
    Channel(u32),
}

/// What a command is made of (Seong et al., Sec. 3.3.2, call it a primitive).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// Command and address cycles of an operation without data to send.
    Command,
    /// Data in, with its command and address cycles.
    DataIn,
    /// Data out.
    DataOut,
    /// Nothing crosses the channel, but it is kept.
    Hold,
    /// An array reads.
    Read,
    /// An array programs.
    Program,
    /// An array erases.
    Erase,
    /// An array reads and then programs what it read.
    CopyBack,
}

/// A stretch of time in which a resource works for one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// What works.
    pub resource: Resource,
    /// The die for whose command it works.
    pub die: u32,
    /// What it does.
    pub primitive: Primitive,
    /// What the command does.
    pub op: Op,
    /// Why.
    pub cause: Cause,
    /// The number of the command; another may have it later.
    pub command: u32,
    /// Since when the command has asked for it.
    pub ready: Time,
    /// From when.
    pub from: Time,
    /// Until when.
    pub until: Time,
}

/// A point in the life of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stop {
    /// Its list was handed in.
    Submitted,
    /// Its unit has it, and everything that it depends on is done: it waits for its die.
    Ready,
    /// It is done.
    Finished,
}

/// A command that has come to such a point.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// When.
    pub at: Time,
    /// Where it is.
    pub stop: Stop,
    /// The number of the command; another may have it later.
    pub number: u32,
    /// The number of its list.
    pub list: u32,
    /// The command.
    pub command: &'a Command,
    /// What it carries.
    pub slots: &'a [Slot],
}

impl<'a> Moment<'a> {
    pub(super) fn new(at: Time, stop: Stop, handle: Handle<Command>, command: &'a Command, slots: &'a [Slot]) -> Self {
        Self { at, stop, number: handle.number().get(), list: command.list.number().get(), command, slots }
    }
}

/// What becomes of a host request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestStep {
    /// The device takes it out of its queue.
    Begun {
        /// The host's number for it.
        tag: u64,
        /// When it came into the queue.
        arrival: Time,
        /// What is asked.
        io: Io,
    },
    /// No request before it is in its way any more: its command and what it writes begin to cross the host link.
    Clear,
    /// They have.
    Here,
    /// The device has done its part: what was read is still to cross the link.
    Served,
    /// It is complete.
    Ended,
}

/// Something that goes up and down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// Requests in submission queues.
    Waiting,
    /// Requests that the device works on.
    Active,
    /// Units in the write buffer.
    Buffered,
    /// Free blocks of the FTL.
    FreeBlocks,
}

/// Hears of every phase as it begins, and of more if it likes.
pub trait Observer {
    /// False if nobody listens, so that what is only to be told need not be known.
    const LISTENS: bool = true;

    /// A phase begins.
    fn phase(&mut self, phase: Phase);

    /// A command has come to a new point of its life.
    fn command(&mut self, _moment: Moment<'_>) {}

    /// A unit takes a list (its number, and the cause of its first command), or has done it.
    fn controller(&mut self, _at: Time, _unit: u32, _list: Option<(u32, Cause)>) {}

    /// A list that is carried out in turn did this and nothing else: everything else that is to be done had to wait.
    fn serial(&mut self, _from: Time, _until: Time, _cause: Cause) {}

    /// Something becomes of the request whose data has this owner.
    fn request(&mut self, _at: Time, _owner: NonZeroU32, _step: RequestStep) {}

    /// Something has gone up or down.
    fn level(&mut self, _at: Time, _level: Level, _value: u64) {}
}

impl Observer for () {
    const LISTENS: bool = false;

    #[inline]
    fn phase(&mut self, _: Phase) {}
}

/// Keeps everything: for tests and for small runs that are drawn.
impl Observer for Vec<Phase> {
    fn phase(&mut self, phase: Phase) {
        self.push(phase);
    }
}
