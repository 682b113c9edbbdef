//! Observers of the backend.

use std::any::Any;
use std::fmt::Debug;
use std::num::NonZeroU32;

use base::io::Io;
use base::units::Time;

use super::{Cause, Command, Op, Slot};
use base::engine::Handle;

/// A resource that works in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// The array of a die.
    Array(u32),
    /// A plane that reads by itself. They count through all dies.
    Plane(u32),
    /// A channel.
    Channel(u32),
    /// A decoder of the error correction.
    Decoder(u32),
}

/// A part of a command (a "primitive" in Seong et al., Sec. 3.3.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// Command and address cycles of an operation without data to send.
    Command,
    /// Reading the status of a die.
    Status,
    /// Data in, with its command and address cycles.
    DataIn,
    /// Data out.
    DataOut,
    /// The command keeps the channel, and nothing crosses it.
    Hold,
    /// An array reads.
    Read,
    /// An array reads again what could not be corrected.
    Retry,
    /// An array programs.
    Program,
    /// An array erases.
    Erase,
    /// An array stops a program or an erase.
    Suspend,
    /// An array goes on with a program or an erase.
    Resume,
    /// An array reads and then programs what it read.
    CopyBack,
    /// A decoder takes a codeword in.
    Decode,
}

/// An interval in which a resource works for one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The resource.
    pub resource: Resource,
    /// The die of the command.
    pub die: u32,
    /// The part of the command.
    pub primitive: Primitive,
    /// The operation of the command.
    pub op: Op,
    /// The cause of the command.
    pub cause: Cause,
    /// The number of the command; a later command may have the same number.
    pub command: u32,
    /// When the command requested the resource.
    pub ready: Time,
    /// The begin.
    pub from: Time,
    /// The end.
    pub until: Time,
}

impl Phase {
    /// A phase of a command.
    pub(super) const fn of(
        (handle, command): (Handle<Command>, &Command),
        (resource, primitive): (Resource, Primitive),
        [ready, from, until]: [Time; 3],
    ) -> Self {
        let (op, cause, die) = (command.op, command.cause, command.die.get());
        Self { resource, die, primitive, op, cause, command: handle.number().get(), ready, from, until }
    }
}

/// A point in the life of a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stop {
    /// The FTL submitted its list.
    Submitted,
    /// Its controller has its list, and all its dependencies are done, or its data could not be corrected and it is read
    /// again: it waits for its die.
    Ready,
    /// It is done.
    Finished,
}

/// A command at a stop.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The time.
    pub at: Time,
    /// The stop.
    pub stop: Stop,
    /// The number of the command; a later command may have the same number.
    pub number: u32,
    /// The number of its list.
    pub list: u32,
    /// The command.
    pub command: &'a Command,
    /// The slots of the command.
    pub slots: &'a [Slot],
}

impl<'a> Moment<'a> {
    pub(super) fn new(at: Time, stop: Stop, handle: Handle<Command>, command: &'a Command, slots: &'a [Slot]) -> Self {
        Self { at, stop, number: handle.number().get(), list: command.list.number().get(), command, slots }
    }
}

/// A step in the life of a host request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RequestStep {
    /// The device takes it from its queue.
    Begun {
        /// The host's number for it.
        tag: u64,
        /// When it arrived in the queue.
        arrival: Time,
        /// The operation and the extent.
        io: Io,
    },
    /// No earlier request blocks it any more: its command and the data that it writes begin to cross the host link.
    Clear,
    /// The command and the data have crossed the link.
    Here,
    /// The map has answered for it with the help of the host's memory, which was read in this time, perhaps before it came.
    HostMemory {
        /// When the read began.
        from: Time,
        /// When its data had come.
        until: Time,
    },
    /// The device has done its part; data that was read still has to cross the link.
    Served,
    /// It is complete.
    Ended {
        /// False if it failed.
        succeeded: bool,
    },
}

/// Why a drive takes no request although it works on fewer requests than it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdmissionDelay {
    /// The drive leaves a power state.
    PowerState,
    /// The drive is hot, and its throttle limits the data rate.
    Throttle,
}

/// A quantity that goes up and down.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// Requests in submission queues.
    Waiting,
    /// Requests that the device is working on.
    Active,
    /// Mapping units in the write buffer.
    Buffered,
    /// Free blocks of the FTL.
    FreeBlocks,
}

/// Observes every phase as it begins; by default nothing else.
pub trait Observer: Any + Debug + Send + Sync {
    /// A copy, for a copy of the backend.
    fn boxed(&self) -> Box<dyn Observer>;

    /// A phase begins.
    fn phase(&mut self, phase: Phase);

    /// A phase under way on this resource, of this command and its die, ends earlier than reported.
    fn shortened(&mut self, _resource: Resource, _die: u32, _command: u32, _until: Time) {}

    /// A command has reached a stop.
    fn command(&mut self, _moment: Moment<'_>) {}

    /// The array of a command waits for the power cap.
    fn power_capped(&mut self, _command: u32) {}

    /// A controller takes a list (its number, and the cause of its first command), or finishes it.
    fn controller(&mut self, _at: Time, _unit: u32, _list: Option<(u32, Cause)>) {}

    /// True if each page copy of a serial list is to be reported as the commands that it stands for. Otherwise copies that
    /// are carried out in bulk are reported by [`Observer::serial_copies`] alone.
    fn sees_each_copy(&self) -> bool {
        true
    }

    /// All page copies of a serial list took this time, on one resource after another. None of their commands is reported.
    fn serial_copies(&mut self, _from: Time, _until: Time, _cause: Cause) {}

    /// A command of a serial list took this time. Everything else had to wait meanwhile.
    fn serial(&mut self, _from: Time, _until: Time, _cause: Cause) {}

    /// The request with this owner has reached a step.
    fn request(&mut self, _at: Time, _owner: NonZeroU32, _step: RequestStep) {}

    /// A request waits, and the drive takes none in this time. The times of several calls follow each other without overlap.
    fn admission_delayed(&mut self, _from: Time, _until: Time, _why: AdmissionDelay) {}

    /// A level has changed.
    fn level(&mut self, _at: Time, _level: Level, _value: u64) {}
}

impl dyn Observer {
    /// The observer, if it is a `T`.
    #[must_use]
    pub fn downcast_ref<T: Observer>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }

    /// The observer, if it is a `T`.
    pub fn downcast_mut<T: Observer>(&mut self) -> Option<&mut T> {
        (self as &mut dyn Any).downcast_mut()
    }
}

impl Clone for Box<dyn Observer> {
    fn clone(&self) -> Self {
        self.as_ref().boxed()
    }
}

/// Keeps every phase: for tests and for small runs that are drawn.
impl Observer for Vec<Phase> {
    fn boxed(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }

    fn phase(&mut self, phase: Phase) {
        self.push(phase);
    }

    fn shortened(&mut self, resource: Resource, _: u32, command: u32, until: Time) {
        let all = self.iter_mut().rev();
        let mut same = all.filter(|phase| phase.resource == resource && phase.command == command);
        same.next().expect("a phase that was reported").until = until;
    }
}
