//! Observers of the backend and of a device, which see each phase, command and request.

use std::any::Any;
use std::fmt::Debug;
use std::num::NonZeroU32;

use base::io::Io;
use base::units::Time;

use super::{Cause, Command, Op, Primitive, Slot};
use base::engine::Handle;

/// A resource that works in a phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Resource {
    /// The array of the die with this number.
    Array(u32),
    /// A plane that reads by itself. Planes are numbered through all dies.
    Plane(u32),
    /// The bus of the channel with this number.
    Channel(u32),
    /// The decoder of the error correction with this number.
    Decoder(u32),
}

/// An interval in which a resource works for one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// The array, plane, channel or decoder that works.
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
    /// The begin of the interval.
    pub from: Time,
    /// The scheduled end of the interval.
    pub until: Time,
}

impl Phase {
    /// The phase of a command from `from` to `until`.
    pub(super) const fn of(
        (handle, command): (Handle<Command>, &Command),
        (resource, primitive): (Resource, Primitive),
        [ready, from, until]: [Time; 3],
    ) -> Self {
        let (op, cause, die) = (command.op, command.cause, command.die.get());
        Self { resource, die, primitive, op, cause, command: handle.number().get(), ready, from, until }
    }
}

/// A point in the life of a command, for [`Moment`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stop {
    /// The FTL submitted the list of the command.
    Submitted,
    /// The command waits for its die. Its controller has its list and all its dependencies are done; or its data could
    /// not be corrected, so that it is read again.
    Ready,
    /// The command is done.
    Finished,
}

/// A command at a stop.
#[derive(Clone, Copy, Debug)]
pub struct Moment<'a> {
    /// The simulated time of the stop.
    pub at: Time,
    /// The point that the command has reached.
    pub stop: Stop,
    /// The number of the command; a later command may have the same number.
    pub number: u32,
    /// The number of the command's list.
    pub list: u32,
    /// The state of the command at the stop.
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
    /// The device takes the request from its queue.
    Begun {
        /// The host's number for the request.
        tag: u64,
        /// The time at which the request arrived in the queue.
        arrival: Time,
        /// The operation and the extent of the request.
        io: Io,
    },
    /// No earlier request blocks the request any more: its command and the data that it writes begin to cross the host
    /// link.
    Clear,
    /// The command and the data have crossed the link.
    Here,
    /// The map has answered for the request with the help of the host's memory. The map read that memory in this time,
    /// perhaps before the request came.
    HostMemory {
        /// The time at which the read of the host's memory began.
        from: Time,
        /// The time at which the data of the host's memory had arrived.
        until: Time,
    },
    /// The device has done its part; data that was read has still to cross the link.
    Served,
    /// The host receives the completion of the request.
    Ended {
        /// False if the request failed.
        succeeded: bool,
    },
}

/// The reason why a drive takes no request although it works on fewer requests than it can.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AdmissionDelay {
    /// The drive leaves a power state.
    PowerState,
    /// The drive is hot, and its throttle limits the data rate.
    Throttle,
}

/// A quantity of a drive that rises and falls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Level {
    /// Requests in submission queues.
    Waiting,
    /// Requests that the device is working on.
    Active,
    /// Mapping units in the write buffer.
    Buffered,
    /// The number of free blocks of the FTL.
    FreeBlocks,
}

/// Observes the phases of a backend, which are reported as they begin. All other reports are optional.
pub trait Observer: Any + Debug + Send + Sync {
    /// A copy, for a copy of the backend.
    fn boxed(&self) -> Box<dyn Observer>;

    /// Reports a phase that begins.
    fn phase(&mut self, phase: Phase);

    /// Reports that a phase under way on this resource, of this command and its die, ends earlier than reported.
    fn shortened(&mut self, _resource: Resource, _die: u32, _command: u32, _until: Time) {}

    /// Reports that a command has reached a stop.
    fn command(&mut self, _moment: Moment<'_>) {}

    /// Reports that the array of a command waits for the power cap.
    fn power_capped(&mut self, _command: u32) {}

    /// Reports that a controller takes a list (the list's number, and the cause of its first command), or finishes it.
    fn controller(&mut self, _at: Time, _unit: u32, _list: Option<(u32, Cause)>) {}

    /// True if each page copy of a serial list is to be reported as the commands for which it stands. Otherwise copies
    /// that are carried out in bulk are reported only by [`Observer::serial_copies`].
    fn sees_each_copy(&self) -> bool {
        true
    }

    /// Reports that all page copies of a serial list took this time, on one resource after another. None of their
    /// commands is reported.
    fn serial_copies(&mut self, _from: Time, _until: Time, _cause: Cause) {}

    /// Reports that a command of a serial list took this time, in which all other work had to wait.
    fn serial(&mut self, _from: Time, _until: Time, _cause: Cause) {}

    /// Reports that the request with this owner has reached a step.
    fn request(&mut self, _at: Time, _owner: NonZeroU32, _step: RequestStep) {}

    /// Reports that a request waits and the drive takes none in this time. The times of several calls follow each other
    /// without overlap.
    fn admission_delayed(&mut self, _from: Time, _until: Time, _why: AdmissionDelay) {}

    /// Reports that a quantity has changed.
    fn level(&mut self, _at: Time, _level: Level, _value: u64) {}
}

impl dyn Observer {
    /// The observer as a `T`; `None` if it has another type.
    #[must_use]
    pub fn downcast_ref<T: Observer>(&self) -> Option<&T> {
        (self as &dyn Any).downcast_ref()
    }

    /// The observer as a `T`, to change it; `None` if it has another type.
    pub fn downcast_mut<T: Observer>(&mut self) -> Option<&mut T> {
        (self as &mut dyn Any).downcast_mut()
    }
}

impl Clone for Box<dyn Observer> {
    fn clone(&self) -> Self {
        self.as_ref().boxed()
    }
}

/// Keeps every phase: for tests, and for small runs that are drawn.
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
