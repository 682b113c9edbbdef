//! The time of a request: its parts and legs, and the record of a completed request.

use base::io::Io;
use base::units::{Span, Time};
use flash::backend::{Cause, Resource};
use ssd::Tag;

/// A part of a request's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Part {
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
    /// In the array.
    Array,
    /// Waiting for the channel.
    Channel,
    /// On the channel.
    Transfer,
    /// In the error correction, including the wait for a decoder.
    Decode,
    /// Suspended: its program or erase stands still while the die serves reads.
    Suspended,
    /// Read again: in the array, on the channel and in the error correction for attempts behind the first.
    Retry,
    /// Rebuilt: all the time of the reads on other dies from which parity gives what could not be read.
    Rebuild,
    /// Waiting for the power cap: the command has its die, and the array may not begin.
    PowerCap,
    /// The drive leaves a power state before it takes the request.
    PowerState,
    /// The throttle of a hot drive delays the request.
    Throttle,
    /// Reading the map from the host's memory: waiting for the link, transfer and latency.
    HostMemory,
    /// In the journal of a RAID: waiting for room, the record, and the flush behind it.
    Journal,
    /// In a RAID or a host's translation, between requests to drives: for a translation, until a zone takes the data.
    Layer,
}

impl Part {
    /// The number of parts.
    pub const COUNT: usize = 20;
    /// All parts.
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

    /// True for waits behind the queue for which no resource of the flash is known.
    pub(super) const fn is_no_resource(self) -> bool {
        matches!(self, Self::Overlap | Self::Buffer | Self::Ftl)
    }

    /// The name in tables and files.
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

/// One leg of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// Its part.
    pub part: Part,
    /// Its start.
    pub from: Time,
    /// Its end.
    pub until: Time,
    /// The die or the channel, if any.
    pub at: Option<Resource>,
    /// The drive, if a layer has several.
    pub drive: Option<u32>,
}

/// A completed request and the parts of its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Journey {
    /// The host's tag.
    pub tag: Tag,
    /// The request.
    pub io: Io,
    /// Its time of arrival.
    pub arrival: Time,
    /// Its time of completion.
    pub end: Time,
    /// Its time by [`Part`].
    pub parts: [Span; Part::COUNT],
    /// Of the waits for controllers, dies and channels, and of suspensions: what these resources did meanwhile, by
    /// [`Cause`]; the remainder is unknown.
    pub behind: [Span; Cause::COUNT],
    /// Of the time in the queue: the parts of the requests that completed meanwhile.
    pub ahead: [Span; Part::COUNT],
    /// Of the time in the queue, behind an overlapping request, for the buffer and in the FTL: what the dies worked for
    /// meanwhile, by [`Cause`].
    pub meanwhile: [Span; Cause::COUNT],
}

impl Journey {
    /// The response time: the sum of the parts.
    #[must_use]
    pub fn latency(&self) -> Span {
        self.end - self.arrival
    }
}
