//! Zone descriptors and reports (ZNS 1.1, figures 34, 35 and 37).

use crate::layout::{bytes_of, layout};

/// The state of a zone (ZNS 1.1, figure 37).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneState {
    /// No block is written.
    Empty,
    /// Implicitly opened, by a write.
    ImplicitlyOpened,
    /// Explicitly opened, by a command.
    ExplicitlyOpened,
    /// Active, but not open: a write opens the zone again.
    Closed,
    /// Blocks can be read, and no command changes the state.
    ReadOnly,
    /// No block can be written before a reset.
    Full,
    /// Blocks can neither be read nor written.
    Offline,
}

impl ZoneState {
    const fn field(self) -> u8 {
        match self {
            Self::Empty => 0x1,
            Self::ImplicitlyOpened => 0x2,
            Self::ExplicitlyOpened => 0x3,
            Self::Closed => 0x4,
            Self::ReadOnly => 0xd,
            Self::Full => 0xe,
            Self::Offline => 0xf,
        }
    }

    /// The state with this value in the field of a descriptor.
    #[must_use]
    pub const fn from_field(field: u8) -> Option<Self> {
        Some(match field {
            0x1 => Self::Empty,
            0x2 => Self::ImplicitlyOpened,
            0x3 => Self::ExplicitlyOpened,
            0x4 => Self::Closed,
            0xd => Self::ReadOnly,
            0xe => Self::Full,
            0xf => Self::Offline,
            _ => return None,
        })
    }

    /// True if the write pointer has a meaning.
    const fn has_write_pointer(self) -> bool {
        !matches!(self, Self::ReadOnly | Self::Full | Self::Offline)
    }
}

/// The zones of a report: all, or those in one state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneFilter(Option<ZoneState>);

impl ZoneFilter {
    /// The filter for a report of all zones.
    pub const ALL: Self = Self(None);

    /// The filter for a report of the zones in one state.
    #[must_use]
    pub const fn of(state: ZoneState) -> Self {
        Self(Some(state))
    }

    /// The filter with this value in the field ZRASF (ZNS 1.1, figure 34).
    #[must_use]
    pub const fn from_field(field: u8) -> Option<Self> {
        Some(Self(match field {
            0 => None,
            1 => Some(ZoneState::Empty),
            2 => Some(ZoneState::ImplicitlyOpened),
            3 => Some(ZoneState::ExplicitlyOpened),
            4 => Some(ZoneState::Closed),
            5 => Some(ZoneState::Full),
            6 => Some(ZoneState::ReadOnly),
            7 => Some(ZoneState::Offline),
            _ => return None,
        }))
    }

    /// True if zones in this state are reported.
    #[must_use]
    pub fn takes(self, state: ZoneState) -> bool {
        self.0.is_none_or(|taken| taken == state)
    }
}

/// A Zone Management Receive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneReport {
    /// A block of the first zone of the report.
    pub from: u64,
    /// The states whose zones are reported.
    pub filter: ZoneFilter,
    /// True if the number of zones in the report counts only the zones that fit, instead of all that match.
    pub partial: bool,
    /// Bytes of the report that the host asks for.
    pub length: usize,
}

/// Attributes of a zone (ZNS 1.1, figure 37, byte 2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ZoneAttributes {
    /// ZFC: the controller, not the host, finished the zone (bit 0).
    pub finished_by_controller: bool,
    /// FZR: the controller asks the host to finish the zone (bit 1).
    pub finish_recommended: bool,
    /// RZR: the controller asks the host to reset the zone (bit 2).
    pub reset_recommended: bool,
    /// ZRWAV: the zone has a random write area (bit 3).
    pub random_write_area: bool,
}

/// A zone descriptor of a report.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ZoneDescriptor {
    /// ZS: the state of the zone (byte 1, upper half).
    pub state: ZoneState,
    /// The attributes (byte 2 of the descriptor).
    pub attributes: ZoneAttributes,
    /// The first block of the zone.
    pub start: u64,
    /// Blocks of the zone that can be written.
    pub capacity: u64,
    /// The block that is written next; without a meaning in a zone that is full, read only or offline.
    pub write_pointer: u64,
}

layout! {
    /// ZNS 1.1, figure 37.
    struct ZoneDescriptorFields [64] {
        /// 2: sequential write required.
        0 kind: u8,
        /// Bits 7:4.
        1 state: u8,
        2 attributes: u8,
        3 information: u8,
        8 capacity: u64,
        16 start: u64,
        24 write_pointer: u64,
    }
}

/// Bytes of a report before its descriptors.
const HEAD: usize = 64;

impl From<&ZoneDescriptor> for ZoneDescriptorFields {
    fn from(zone: &ZoneDescriptor) -> Self {
        let ZoneDescriptor { state, attributes, start, capacity, write_pointer } = *zone;
        let bits = [
            attributes.finished_by_controller,
            attributes.finish_recommended,
            attributes.reset_recommended,
            attributes.random_write_area,
        ];
        Self {
            kind: 2,
            state: state.field() << 4,
            attributes: bits.iter().rev().fold(0, |all, bit| all << 1 | u8::from(*bit)),
            information: 0,
            capacity,
            start,
            write_pointer: if state.has_write_pointer() { write_pointer } else { u64::MAX },
        }
    }
}

/// The data of a zone report. `zones` are the namespace's zones in order, from the zone that has the block
/// `report.from`.
#[must_use]
pub fn zone_report(report: &ZoneReport, zones: impl IntoIterator<Item = ZoneDescriptor>) -> Vec<u8> {
    let room = (report.length - HEAD) / 64;
    let mut data = vec![0; HEAD];
    let mut matching = 0;
    for zone in zones.into_iter().filter(|zone| report.filter.takes(zone.state)) {
        if matching < room as u64 {
            data.extend(bytes_of(&ZoneDescriptorFields::from(&zone)));
        } else if report.partial {
            break;
        }
        matching += 1;
    }
    data[..8].copy_from_slice(&matching.to_le_bytes());
    data.resize(report.length, 0);
    data
}

#[cfg(test)]
mod tests {
    use super::{ZoneAttributes, ZoneDescriptor, ZoneFilter, ZoneReport, ZoneState, zone_report};

    fn zone(number: u64, state: ZoneState) -> ZoneDescriptor {
        let attributes = ZoneAttributes { reset_recommended: true, ..ZoneAttributes::default() };
        ZoneDescriptor { state, attributes, start: number << 16, capacity: 0xc000, write_pointer: (number << 16) + 5 }
    }

    #[test]
    fn a_descriptor_has_its_fields_at_the_offsets_of_the_specification() {
        let report = ZoneReport { from: 0, filter: ZoneFilter::ALL, partial: true, length: 192 };
        let data = zone_report(&report, [zone(1, ZoneState::Closed), zone(2, ZoneState::Full)]);
        assert_eq!(data.len(), 192);
        assert_eq!(data[..9], [2, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(data[64..68], [2, 0x40, 4, 0]);
        assert_eq!(data[72..96], [0, 0xc0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 5, 0, 1, 0, 0, 0, 0, 0]);
        assert_eq!(data[129], 0xe0);
        assert_eq!(data[152..160], [0xff; 8], "the write pointer of a full zone");
    }

    #[test]
    fn a_partial_report_counts_what_fits() {
        let zones = || (0..10).map(|i| zone(i, if i % 2 == 0 { ZoneState::Empty } else { ZoneState::Full }));
        let report = |partial| ZoneReport { from: 0, filter: ZoneFilter::of(ZoneState::Full), partial, length: 200 };
        let data = zone_report(&report(true), zones());
        assert_eq!((data[0], data[64 + 18], data[128 + 18]), (2, 1, 3));
        assert_eq!(data.len(), 200);
        assert_eq!(zone_report(&report(false), zones())[0], 5);
    }

    #[test]
    fn each_filter_takes_its_state() {
        let takes = |field, state| ZoneFilter::from_field(field).is_some_and(|filter| filter.takes(state));
        assert!(takes(0, ZoneState::Offline) && takes(5, ZoneState::Full) && takes(6, ZoneState::ReadOnly));
        assert!(!takes(5, ZoneState::ReadOnly) && !takes(8, ZoneState::Full));
    }
}
