//! The counters and the event log of a drive with Flexible Data Placement.

use base::units::Time;

/// The number of latest events that a drive keeps.
pub(in crate::page) const LOG: usize = 64;

/// Counters of Flexible Data Placement since the power came on, in mapping units or superblocks, and its latest events.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FdpCounters {
    /// Mapping units of a reclaim unit.
    pub unit: u64,
    /// Mapping units of all superblocks that were erased, including superblocks of translation pages.
    pub erased: u64,
    /// The counters of each reclaim unit handle, by its number.
    pub handles: Vec<HandleCounters>,
    /// Write commands with an identifier that the drive does not have: handle 0 took their data.
    pub invalid_identifiers: u64,
    /// Mapping units that collection moved out of reclaim units that hold copies of several handles.
    pub moved_copies: u64,
    /// Mapping units that were copied to superblocks of another handle although handles are persistently isolated. That
    /// happens if a program would otherwise be padded, or if the copies of a handle have no superblock.
    pub shared_copies: u64,
    /// Number of events, including those no longer in the log.
    pub events: u64,
    /// The latest events, the oldest first.
    pub log: Vec<FdpEvent>,
}

/// Counters of a reclaim unit handle since the power came on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HandleCounters {
    /// Mapping units that the host wrote with this handle.
    pub written_units: u64,
    /// Superblocks that this handle filled.
    pub full_superblocks: u64,
    /// Superblocks that this handle left before they were full.
    pub partial_superblocks: u64,
    /// Superblocks of this handle that collection emptied while they had valid data.
    pub victims: u64,
    /// Mapping units that collection moved out of superblocks of this handle.
    pub moved_units: u64,
    /// Mapping units that the open superblocks of this handle still take.
    pub available_units: u64,
}

/// An event of Flexible Data Placement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FdpEvent {
    /// The simulated time of the event.
    pub at: Time,
    /// The kind of the event, by which `number` and `units` are read.
    pub kind: FdpEventKind,
    /// The handle, or the invalid identifier; none for copies of several handles.
    pub number: Option<u16>,
    /// The mapping units that were moved, or that were not written. 0 for an invalid identifier.
    pub units: u32,
}

/// A kind of event, with the code of NVM Express TP4146.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FdpEventKind {
    /// A handle left a reclaim unit before it was fully written.
    NotFullyWritten = 0x00,
    /// A write command had an invalid placement identifier.
    InvalidIdentifier = 0x03,
    /// Collection moved data out of a reclaim unit.
    MediaReallocated = 0x80,
}

impl FdpEventKind {
    /// The name of the kind in results.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::NotFullyWritten => "reclaim unit not fully written",
            Self::InvalidIdentifier => "invalid placement identifier",
            Self::MediaReallocated => "media reallocated",
        }
    }
}

impl FdpCounters {
    /// The counts since an earlier moment of the same drive, with the events since then that are still in the log.
    #[must_use]
    pub fn since(&self, from: &Self) -> Self {
        let events = self.events.saturating_sub(from.events);
        let kept = self.log.len().min(usize::try_from(events).unwrap_or(usize::MAX));
        Self {
            unit: self.unit,
            erased: self.erased.saturating_sub(from.erased),
            handles: self.handles.iter().zip(&from.handles).map(|(to, from)| to.since(from)).collect(),
            invalid_identifiers: self.invalid_identifiers.saturating_sub(from.invalid_identifiers),
            moved_copies: self.moved_copies.saturating_sub(from.moved_copies),
            shared_copies: self.shared_copies.saturating_sub(from.shared_copies),
            events,
            log: self.log[self.log.len() - kept..].to_vec(),
        }
    }
}

impl HandleCounters {
    const fn since(&self, from: &Self) -> Self {
        Self {
            written_units: self.written_units.saturating_sub(from.written_units),
            full_superblocks: self.full_superblocks.saturating_sub(from.full_superblocks),
            partial_superblocks: self.partial_superblocks.saturating_sub(from.partial_superblocks),
            victims: self.victims.saturating_sub(from.victims),
            moved_units: self.moved_units.saturating_sub(from.moved_units),
            available_units: self.available_units,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_keeps_the_events_since_then() {
        let event =
            |at| FdpEvent { at: Time::from_ps(at), kind: FdpEventKind::MediaReallocated, number: Some(0), units: 3 };
        let handle = HandleCounters {
            written_units: 10,
            moved_units: 3,
            victims: 1,
            available_units: 7,
            ..HandleCounters::default()
        };
        let from = FdpCounters { handles: vec![handle], events: 1, log: vec![event(1)], ..FdpCounters::default() };
        let handle = HandleCounters { written_units: 25, moved_units: 9, victims: 3, available_units: 2, ..handle };
        let to = FdpCounters { handles: vec![handle], events: 3, log: [1, 2, 3].map(event).to_vec(), ..from.clone() };
        let since = to.since(&from);
        let expected = HandleCounters {
            written_units: 15,
            moved_units: 6,
            victims: 2,
            available_units: 2,
            ..HandleCounters::default()
        };
        assert_eq!((since.handles, since.events), (vec![expected], 2));
        assert_eq!(since.log, [2, 3].map(event));
        assert_eq!(to.since(&FdpCounters { events: 0, ..from }).log.len(), 3, "no more than the log has");
    }
}
