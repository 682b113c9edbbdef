//! Host requests in the drive's own terms: 512-byte sectors.

use crate::units::{Lba, Sectors};

/// The kind of a host request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum IoKind {
    /// Reads the sectors of an extent.
    Read,
    /// Writes an extent.
    Write,
    /// Makes every write that completed before it durable; its extent is empty.
    Flush,
    /// Discards (TRIM, deallocate) an extent; it reads as zeros afterwards.
    Discard,
    /// Writes to the zone that begins at the request's first sector; the drive chooses the address (Zone Append). The
    /// completion has the address.
    Append,
    /// Opens the zone that begins at the request's first sector (Zone Management Send). The extents of this kind and of
    /// the kinds below are empty.
    ZoneOpen,
    /// A Zone Management Send command that closes an open zone.
    ZoneClose,
    /// Finishes a zone: the zone takes no more data before a reset.
    ZoneFinish,
    /// Resets a zone: the zone is empty afterwards.
    ZoneReset,
    /// Opens an empty zone with a zone random write area (Zone Management Send, Open Zone with the bit ZRWAA).
    ZoneOpenZrwa,
    /// Moves the write pointer of a zone with a random write area behind the mapping unit that includes the first
    /// sector of the request (Zone Management Send, Flush Explicit ZRWA Range).
    ZrwaFlush,
    /// Gives the reclaim unit handle that its placement identifier names a new reclaim unit (I/O Management Send, Reclaim Unit Handle
    /// Update, of NVM Express TP4146). Its extent is empty.
    HandleUpdate,
}

impl IoKind {
    /// The number of kinds, for arrays by kind.
    pub const COUNT: usize = 12;

    /// All kinds, in the order of their discriminants.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Read,
        Self::Write,
        Self::Flush,
        Self::Discard,
        Self::Append,
        Self::ZoneOpen,
        Self::ZoneClose,
        Self::ZoneFinish,
        Self::ZoneReset,
        Self::ZoneOpenZrwa,
        Self::ZrwaFlush,
        Self::HandleUpdate,
    ];

    /// The kinds that a drive without zones and without Flexible Data Placement knows.
    pub const UNZONED: [Self; 4] = [Self::Read, Self::Write, Self::Flush, Self::Discard];

    /// The kinds that move data. Rates and mean latencies over all requests count only these.
    pub const DATA: [Self; 3] = [Self::Read, Self::Write, Self::Append];

    /// True if requests of this kind bring data from the host.
    #[must_use]
    #[inline]
    pub const fn brings_data(self) -> bool {
        matches!(self, Self::Write | Self::Append)
    }

    /// True if only a drive with zones knows the kind.
    #[must_use]
    #[inline]
    pub const fn is_of_zones(self) -> bool {
        self as u8 >= Self::Append as u8 && !matches!(self, Self::HandleUpdate)
    }

    /// True if only some drives know the kind.
    #[must_use]
    #[inline]
    pub const fn is_optional(self) -> bool {
        self as u8 >= Self::Append as u8
    }

    /// True if a request of this kind has no extent.
    #[must_use]
    pub const fn is_bare(self) -> bool {
        matches!(self, Self::Flush | Self::HandleUpdate) || self.is_zone_management()
    }

    /// True if its placement identifier has a meaning.
    #[must_use]
    pub const fn names_handle(self) -> bool {
        matches!(self, Self::Write | Self::HandleUpdate)
    }

    /// True for an action on a zone, which moves no data.
    #[must_use]
    pub const fn is_zone_management(self) -> bool {
        self as u8 >= Self::ZoneOpen as u8 && !matches!(self, Self::HandleUpdate)
    }

    /// The lower-case name in reports and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Discard => "discard",
            Self::Append => "append",
            Self::ZoneOpen => "zone_open",
            Self::ZoneClose => "zone_close",
            Self::ZoneFinish => "zone_finish",
            Self::ZoneReset => "zone_reset",
            Self::ZoneOpenZrwa => "zone_open_zrwa",
            Self::ZrwaFlush => "zrwa_flush",
            Self::HandleUpdate => "handle_update",
        }
    }
}

/// The placement identifier of a write, by which a host states which data belong together: the identifier of Flexible
/// Data Placement (NVM Express TP4146), or the stream of a stream directive. The host expects to overwrite or discard
/// the data of one identifier together. A request without a directive has number 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PlacementId(u16);

impl PlacementId {
    /// The identifier with this number.
    #[must_use]
    pub const fn new(number: u16) -> Self {
        Self(number)
    }

    /// The number of the identifier.
    #[must_use]
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// A host request: kind, extent and placement identifier. Its time of arrival is stored elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// The kind of request.
    pub kind: IoKind,
    /// The first sector; zero for a flush and the update of a handle; the first sector of the zone for an append and
    /// zone management; a sector of the range's last mapping unit for a flush of a random write area.
    pub start: Lba,
    /// The number of sectors; zero only for a flush, for zone management and for the update of a handle.
    pub sectors: Sectors,
    /// The placement identifier of a write, or of the handle that is updated.
    pub placement: PlacementId,
}

impl Io {
    /// A flush: it has no extent.
    pub const FLUSH: Self = Self::new(IoKind::Flush, Lba::new(0), Sectors::new(0));

    /// Creates a request without a placement identifier.
    #[must_use]
    pub const fn new(kind: IoKind, start: Lba, sectors: Sectors) -> Self {
        Self { kind, start, sectors, placement: PlacementId::new(0) }
    }

    /// The first sector after the extent.
    #[must_use]
    pub fn end(&self) -> Lba {
        self.start + self.sectors
    }
}
