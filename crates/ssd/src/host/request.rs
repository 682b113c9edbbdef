//! Requests of a host, and their completions.

use base::io::{Io, IoKind};
use base::units::{Span, Time};
use flash::backend::CauseSet;
use ftl::ZoneError;

/// The host's own number for a request; the device returns it unchanged.
pub type Tag = u64;

/// A submission queue, counted from zero. The device takes commands of one queue in order, and the queues take turns.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct QueueId(u16);

impl QueueId {
    /// Creates the identifier of the queue with this number, from 0.
    #[must_use]
    pub const fn new(number: u16) -> Self {
        Self(number)
    }

    /// The index of the queue among the drive's submission queues, from 0.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }

    /// The index into a table.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl std::fmt::Display for QueueId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "queue {}", self.0)
    }
}

/// A request to the device. `S` is the content of one sector, see `flash::nand::Sector`.
#[derive(Clone, Debug)]
pub struct Request<S> {
    /// The host's number for the request.
    pub tag: Tag,
    /// The submission queue of the request.
    pub queue: QueueId,
    /// The operation and the extent.
    pub io: Io,
    /// One entry per sector for a write, empty otherwise. A device without payload takes `()`s.
    pub data: Vec<S>,
}

/// The status with which a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Status {
    /// The request succeeded; data of a read is valid.
    Done,
    /// At least one sector could not be read from flash.
    Uncorrectable,
    /// The device no longer takes writes: it has lost too many blocks, or has taken 2^32 - 2^24 writes, so that the
    /// versions in its spare areas run out.
    ReadOnly,
    /// The extent ends beyond the capacity.
    OutOfRange,
    /// The drive does not know the command: a zone command to a drive without zones, a discard to one with zones, or the update of a
    /// handle without Flexible Data Placement.
    InvalidOpcode,
    /// A field of the command is wrong: a write to a zone that is not of whole mapping units, an address that is not a zone's, or the
    /// update of a handle that the drive does not have.
    InvalidField,
    /// A write or an append ends behind the zone's capacity.
    ZoneBoundary,
    /// A write or an append to a full zone.
    ZoneFull,
    /// A write or an append to a zone that is read only, because a program has failed in it.
    ZoneReadOnly,
    /// A command to a zone that is offline, because no flash is left for it.
    ZoneOffline,
    /// A write that does not begin at the write pointer of its zone, or does not lie in the zone's random write area.
    ZoneInvalidWrite,
    /// The drive would have more active zones than it can have.
    TooManyActiveZones,
    /// The drive would have more open zones than it can have.
    TooManyOpenZones,
    /// An action that the state of the zone does not allow.
    InvalidZoneTransition,
    /// A random write area for a zone that is not empty, a flush of a range outside such an area, or an append to a zone with one.
    InvalidZoneOperation,
    /// The drive would have more zones with a random write area than it can have.
    ZrwaUnavailable,
}

/// The part of a write or a discard that has been carried out. Every checker of data takes its rule from here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completeness {
    /// Every sector has the new content.
    Whole,
    /// Every sector has the old content or the new one, each sector by itself. The first read of a sector decides, and
    /// later reads return the same. After a power cut both are possible until a later write of the sector is durable.
    Partial,
    /// The content of every sector is unknown. The first read of a sector decides.
    Unknown,
    /// Every sector has the old content.
    Nothing,
}

impl Status {
    /// The number of statuses.
    pub const COUNT: usize = 16;

    /// Every status, in the order of a table by status.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Done,
        Self::Uncorrectable,
        Self::ReadOnly,
        Self::OutOfRange,
        Self::InvalidOpcode,
        Self::InvalidField,
        Self::ZoneBoundary,
        Self::ZoneFull,
        Self::ZoneReadOnly,
        Self::ZoneOffline,
        Self::ZoneInvalidWrite,
        Self::TooManyActiveZones,
        Self::TooManyOpenZones,
        Self::InvalidZoneTransition,
        Self::InvalidZoneOperation,
        Self::ZrwaUnavailable,
    ];

    /// True for the statuses that only a command of zones, a discard to a drive with zones, or the update of a handle can
    /// have. Results list them only if they occurred.
    #[must_use]
    pub const fn is_of_zones(self) -> bool {
        self as u8 >= Self::InvalidOpcode as u8
    }

    /// The status's name in results and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Uncorrectable => "uncorrectable",
            Self::ReadOnly => "read_only",
            Self::OutOfRange => "out_of_range",
            Self::InvalidOpcode => "invalid_opcode",
            Self::InvalidField => "invalid_field",
            Self::ZoneBoundary => "zone_boundary",
            Self::ZoneFull => "zone_full",
            Self::ZoneReadOnly => "zone_read_only",
            Self::ZoneOffline => "zone_offline",
            Self::ZoneInvalidWrite => "zone_invalid_write",
            Self::TooManyActiveZones => "too_many_active_zones",
            Self::TooManyOpenZones => "too_many_open_zones",
            Self::InvalidZoneTransition => "invalid_zone_transition",
            Self::InvalidZoneOperation => "invalid_zone_operation",
            Self::ZrwaUnavailable => "zrwa_unavailable",
        }
    }

    /// The part of a write or a discard with this status that has been carried out. A drive may notice that it has no
    /// room left when it has carried out a part of a request, so a refused request may be done in part.
    #[must_use]
    pub const fn completeness(self) -> Completeness {
        match self {
            Self::Done => Completeness::Whole,
            // A zone may fail while a write to it waits for its turn.
            Self::ReadOnly | Self::ZoneReadOnly => Completeness::Partial,
            Self::Uncorrectable => Completeness::Unknown,
            Self::OutOfRange
            | Self::InvalidOpcode
            | Self::InvalidField
            | Self::ZoneBoundary
            | Self::ZoneFull
            | Self::ZoneOffline
            | Self::ZoneInvalidWrite
            | Self::TooManyActiveZones
            | Self::TooManyOpenZones
            | Self::InvalidZoneTransition
            | Self::InvalidZoneOperation
            | Self::ZrwaUnavailable => Completeness::Nothing,
        }
    }
}

impl From<ZoneError> for Status {
    fn from(error: ZoneError) -> Self {
        match error {
            ZoneError::InvalidField => Self::InvalidField,
            ZoneError::Boundary => Self::ZoneBoundary,
            ZoneError::Full => Self::ZoneFull,
            ZoneError::ReadOnly => Self::ZoneReadOnly,
            ZoneError::Offline => Self::ZoneOffline,
            ZoneError::InvalidWrite => Self::ZoneInvalidWrite,
            ZoneError::TooManyActive => Self::TooManyActiveZones,
            ZoneError::TooManyOpen => Self::TooManyOpenZones,
            ZoneError::InvalidTransition => Self::InvalidZoneTransition,
            ZoneError::InvalidOperation => Self::InvalidZoneOperation,
            ZoneError::ZrwaUnavailable => Self::ZrwaUnavailable,
        }
    }
}

/// A finished request with its status, data and times.
#[derive(Clone, Debug)]
pub struct Completion<S> {
    /// The host's number for the request.
    pub tag: Tag,
    /// The submission queue of the request.
    pub queue: QueueId,
    /// The operation and the extent.
    pub io: Io,
    /// Success, or the reason of the failure.
    pub status: Status,
    /// The time of submission.
    pub arrival: Time,
    /// The time at which the device took the request from its submission queue: `start - arrival` is the queue wait.
    pub start: Time,
    /// The time at which the last byte or the acknowledgement had crossed the host link.
    pub end: Time,
    /// The number of flash commands issued for the request before it was acknowledged.
    pub commands: u32,
    /// The longest time that one of the request's flash commands waited for a controller or a die.
    pub flash_wait: Span,
    /// The longest time that one of the request's command lists waited for the start of its first command.
    pub start_wait: Span,
    /// The causes of the commands that the request waited for.
    pub waited_for: CauseSet,
    /// One entry per sector for a read, empty otherwise.
    pub data: Vec<S>,
}

impl<S> Completion<S> {
    /// Creates the completion of a request that has just arrived, for a layer over drives to fill in.
    #[must_use]
    pub fn of(request: Request<S>, now: Time) -> Self {
        let Request { tag, queue, io, data } = request;
        Self {
            tag,
            queue,
            io,
            status: Status::Done,
            arrival: now,
            start: now,
            end: now,
            commands: 0,
            flash_wait: Span::ZERO,
            start_wait: Span::ZERO,
            waited_for: CauseSet::default(),
            data,
        }
    }

    /// Adds the costs of a request that a layer made to a drive for this request.
    pub fn add_costs<T>(&mut self, part: &Completion<T>) {
        self.commands += part.commands;
        self.flash_wait = self.flash_wait.max(part.flash_wait);
        self.start_wait = self.start_wait.max(part.start_wait);
        self.waited_for.extend(part.waited_for);
    }

    /// Ends the completion at this time. Only a read that has succeeded returns data.
    #[must_use]
    pub fn at(self, end: Time) -> Self {
        let has_data = self.io.kind == IoKind::Read && self.status == Status::Done;
        Self { end, data: if has_data { self.data } else { Vec::new() }, ..self }
    }

    /// The response time: queue wait plus service.
    #[must_use]
    pub fn latency(&self) -> Span {
        self.end - self.arrival
    }

    /// The time in the submission queue.
    #[must_use]
    pub fn queue_wait(&self) -> Span {
        self.start - self.arrival
    }

    /// The time from leaving the submission queue to the end.
    #[must_use]
    pub fn service(&self) -> Span {
        self.end - self.start
    }
}
