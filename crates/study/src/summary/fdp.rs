//! Flexible Data Placement in a summary.

use base::units::{Bytes, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::{FdpCounters, FdpEvent, HandleCounters};

use super::Report;

/// Counters of Flexible Data Placement (NVM Express TP4146): its statistics, its handles and its latest events. Mapping
/// units count with all their bytes.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct FdpSummary {
    /// The size of a reclaim unit: the superblocks that a handle has open in a reclaim group.
    pub reclaim_unit_bytes: u64,
    /// Host bytes with metadata written (HBMW): the bytes of all writes that succeeded.
    pub host_bytes: u64,
    /// Media bytes with metadata written (MBMW), padding and translation pages included.
    pub media_bytes: u64,
    /// Media bytes erased (MBE).
    pub erased_bytes: u64,
    /// Write commands with an identifier that the drive does not have; handle 0 took their data.
    pub invalid_identifiers: u64,
    /// Bytes that collection moved out of superblocks with copies of several handles.
    pub moved_copy_bytes: u64,
    /// Bytes that were copied to superblocks of another handle although handles are persistently isolated.
    pub shared_copy_bytes: u64,
    /// The reclaim unit handles, in the order of their numbers.
    pub handles: Vec<HandleSummary>,
    /// The number of all FDP events, including those that the log no longer has.
    pub events: u64,
    /// The latest events, the oldest first: at most 64.
    pub log: Vec<FdpEventSummary>,
}

/// The counters of a reclaim unit handle.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct HandleSummary {
    /// Bytes that the host wrote with the handle.
    pub written_bytes: u64,
    /// Bytes that were moved out of the handle's superblocks.
    pub moved_bytes: u64,
    /// The number of superblocks that were collected with valid data in them.
    pub victims: u64,
    /// The number of superblocks that the handle filled.
    pub full_superblocks: u64,
    /// The number of superblocks that the handle left before they were full.
    pub partial_superblocks: u64,
    /// Bytes that the handle's open superblocks can still take at the end (RUAMW, over all reclaim groups).
    pub available_bytes: u64,
}

/// An event of Flexible Data Placement.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct FdpEventSummary {
    /// The time of the event, in microseconds of simulated time.
    pub at_us: f64,
    /// The event's type (NVM Express TP4146): 0 for a reclaim unit not fully written, 3 for an invalid placement
    /// identifier, 128 for media reallocated.
    pub code: u8,
    /// Name of the event in the NVMe specification.
    pub event: String,
    /// The handle, or the identifier that the drive does not have; none if superblocks hold copies of several handles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub number: Option<u16>,
    /// The bytes that were moved, or that were not written; 0 for an invalid identifier.
    pub bytes: u64,
}

impl FdpSummary {
    /// Creates the summary; `None` if the array of the drive is not known.
    pub(super) fn new(counters: &FdpCounters, report: &Report<'_>) -> Option<Self> {
        let unit = report.about.array?.unit;
        let media = (report.result.programmed_units() * unit.get() as f64) as u64;
        Some(Self::of(counters, (report.result.written(), Bytes::new(media)), unit))
    }

    fn of(counters: &FdpCounters, (host, media): (Bytes, Bytes), unit: Bytes) -> Self {
        let bytes = |units: u64| units * unit.get();
        let handle = |of: &HandleCounters| HandleSummary {
            written_bytes: bytes(of.written_units),
            moved_bytes: bytes(of.moved_units),
            victims: of.victims,
            full_superblocks: of.full_superblocks,
            partial_superblocks: of.partial_superblocks,
            available_bytes: bytes(of.available_units),
        };
        let event = |event: &FdpEvent| FdpEventSummary {
            at_us: (event.at - Time::ZERO).as_us_f64(),
            code: event.kind as u8,
            event: event.kind.name().to_owned(),
            number: event.number,
            bytes: bytes(event.units.into()),
        };
        Self {
            reclaim_unit_bytes: bytes(counters.unit),
            host_bytes: host.get(),
            media_bytes: media.get(),
            erased_bytes: bytes(counters.erased),
            invalid_identifiers: counters.invalid_identifiers,
            moved_copy_bytes: bytes(counters.moved_copies),
            shared_copy_bytes: bytes(counters.shared_copies),
            handles: counters.handles.iter().map(handle).collect(),
            events: counters.events,
            log: counters.log.iter().map(event).collect(),
        }
    }

    /// Bytes that collection moved, for all handles and for copies of several handles.
    #[must_use]
    pub fn moved_bytes(&self) -> u64 {
        self.handles.iter().map(|handle| handle.moved_bytes).sum::<u64>() + self.moved_copy_bytes
    }

    /// The number of superblocks that any handle left before they were full.
    #[must_use]
    pub fn partial_superblocks(&self) -> u64 {
        self.handles.iter().map(|handle| handle.partial_superblocks).sum()
    }
}

#[cfg(test)]
mod tests {
    use ssd::FdpEventKind;

    use super::*;

    #[test]
    fn units_count_with_all_their_bytes() {
        let handle =
            HandleCounters { written_units: 5, moved_units: 2, available_units: 3, ..HandleCounters::default() };
        let event =
            FdpEvent { at: Time::from_ps(2_000_000), kind: FdpEventKind::MediaReallocated, number: Some(1), units: 2 };
        let counters = FdpCounters {
            unit: 8,
            erased: 4,
            handles: vec![handle, handle],
            moved_copies: 1,
            log: vec![event],
            ..FdpCounters::default()
        };
        let of = FdpSummary::of(&counters, (Bytes::new(40_000), Bytes::new(50_000)), Bytes::new(4096));
        assert_eq!((of.reclaim_unit_bytes, of.erased_bytes, of.moved_bytes()), (8 * 4096, 4 * 4096, 5 * 4096));
        assert_eq!((of.handles[1].written_bytes, of.handles[1].available_bytes), (5 * 4096, 3 * 4096));
        assert_eq!((of.log[0].code, of.log[0].bytes, of.log[0].at_us), (0x80, 2 * 4096, 2.0));
    }
}
