//! The time of a request: its parts and legs, and the record of a completed request.

use base::io::Io;
use base::units::{Span, Time};
use flash::backend::{Cause, Resource};
use ssd::Tag;

/// A part of a request's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum JourneyPart {
    /// In the submission queue, while the device serves as many requests as it can.
    Queue,
    /// Behind an earlier request that overlaps.
    Overlap,
    /// On the host link, including the wait for it.
    Link,
    /// In the FTL, before and after flash commands: look-ups and changes of the map, waits for free space.
    Ftl,
    /// Waiting for space in the write buffer, or for the data that a flush writes.
    Buffer,
    /// Waiting for a controller, for commands of other lists, or for earlier lists if lists are serial.
    Controller,
    /// Waiting for the die, or for a register in it.
    Die,
    /// In the array of a die: a read, a program or an erase.
    Array,
    /// Waiting for the channel.
    Channel,
    /// On the channel: command, address and data cycles.
    Transfer,
    /// In the error correction, including the wait for a decoder.
    Decode,
    /// Suspended: the program or erase of the request stands still while the die serves reads.
    Suspended,
    /// Read again: in the array, on the channel and in the error correction, for attempts after the first.
    Retry,
    /// Rebuilt: all the time of the reads on other dies from which parity recovers the unreadable data.
    Rebuild,
    /// Waiting for the power cap: the command has its die, but its array must not begin yet.
    PowerCap,
    /// The drive leaves a power state before it takes the request.
    PowerState,
    /// The throttle of a hot drive delays the request.
    Throttle,
    /// Reading the map from the host's memory: waiting for the link, transfer and latency.
    HostMemory,
    /// In the journal of a RAID: waiting for room, the record, and the flush that follows it.
    Journal,
    /// In a RAID or a host's translation, between requests to drives. For a translation this includes the wait until a
    /// zone takes the data.
    Layer,
}

impl JourneyPart {
    /// The number of parts, for tables by part.
    pub const COUNT: usize = 20;
    /// All parts, in the order of tables by part.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Queue,
        Self::Overlap,
        Self::Link,
        Self::Ftl,
        Self::Buffer,
        Self::Controller,
        Self::Die,
        Self::Array,
        Self::Channel,
        Self::Transfer,
        Self::Decode,
        Self::Suspended,
        Self::Retry,
        Self::Rebuild,
        Self::PowerCap,
        Self::PowerState,
        Self::Throttle,
        Self::HostMemory,
        Self::Journal,
        Self::Layer,
    ];

    /// True for waits that no resource of the flash explains, except the queue.
    pub(super) const fn is_no_resource(self) -> bool {
        matches!(self, Self::Overlap | Self::Buffer | Self::Ftl)
    }

    /// The part's name in tables and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Overlap => "overlap-wait",
            Self::Link => "link",
            Self::Ftl => "ftl",
            Self::Buffer => "buffer",
            Self::Controller => "controller-wait",
            Self::Die => "die-wait",
            Self::Array => "array",
            Self::Channel => "channel-wait",
            Self::Transfer => "transfer",
            Self::Decode => "decode",
            Self::Suspended => "suspended",
            Self::Retry => "retry",
            Self::Rebuild => "rebuild",
            Self::PowerCap => "power-cap",
            Self::PowerState => "power-state",
            Self::Throttle => "throttle",
            Self::HostMemory => "host-memory",
            Self::Journal => "journal",
            Self::Layer => "layer",
        }
    }
}

/// A leg of a request: an interval that belongs to one part of the time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// The part of the time to which the leg belongs.
    pub part: JourneyPart,
    /// The start of the leg.
    pub from: Time,
    /// The end of the leg.
    pub until: Time,
    /// The die or the channel at which the leg is spent, if any.
    pub at: Option<Resource>,
    /// The number of the drive, if a layer has several.
    pub drive: Option<u32>,
}

/// A completed request and the parts of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Journey {
    /// The host's tag for the request.
    pub tag: Tag,
    /// Kind and extent of the request.
    pub io: Io,
    /// The time at which the request arrived.
    pub arrival: Time,
    /// The time at which the request completed.
    pub end: Time,
    /// The time of the request by [`JourneyPart`].
    pub parts: [Span; JourneyPart::COUNT],
    /// The waits for controllers, dies and channels, and the suspensions, divided by the [`Cause`] for which these
    /// resources worked meanwhile; the remainder has no known cause.
    pub behind: [Span; Cause::COUNT],
    /// The time in the queue, divided by the parts of the requests that completed meanwhile.
    pub ahead: [Span; JourneyPart::COUNT],
    /// The time in the queue, behind an overlapping request, for the buffer and in the FTL, divided by the [`Cause`]
    /// for which the dies worked meanwhile.
    pub meanwhile: [Span; Cause::COUNT],
}

impl Journey {
    /// The response time: the sum of the parts.
    #[must_use]
    pub fn latency(&self) -> Span {
        self.end - self.arrival
    }
}
