//! Log pages of Flexible Data Placement (TP4146: FDP Configurations, Reclaim Unit Handle Usage, FDP Statistics, FDP Events).

use crate::description::{Namespace, Placement, PlacementEvent, PlacementEventKind, PlacementStatistics};
use crate::layout::{bytes_of, layout};

layout! {
    /// The head of the FDP configurations.
    struct Configurations [16] {
        /// The number of configurations, less one.
        0 last: u16,
        2 version: u8,
        /// Bytes of the page.
        4 size: u32,
    }
}

layout! {
    /// An FDP configuration descriptor; a descriptor of 4 bytes for each reclaim unit handle follows.
    struct Configuration [64] {
        /// Bytes of the descriptor.
        0 size: u16,
        /// Bits 3:0: RGIF. Bit 4: the volatile write cache holds data with a reclaim unit handle. Bit 7: valid.
        2 attributes: u8,
        4 reclaim_groups: u32,
        8 handles: u16,
        /// The number of placement identifiers of a namespace, less one.
        10 placement_identifiers: u16,
        12 namespaces: u32,
        16 reclaim_unit: u64,
        /// Seconds; 0 for not known.
        24 time_limit: u32,
    }
}

/// Types of reclaim unit handles.
const INITIALLY_ISOLATED: u8 = 1;
const PERSISTENTLY_ISOLATED: u8 = 2;

/// The only configuration of a drive, which has one namespace.
pub(super) fn configurations(placement: &Placement, namespace: &Namespace, write_cache: bool) -> Vec<u8> {
    let handles = placement.handles.len();
    let size = 64 + 4 * handles;
    let cache = u8::from(write_cache) << 4;
    let mut data = bytes_of(&Configurations { last: 0, version: 0, size: 16 + size as u32 });
    data.extend(bytes_of(&Configuration {
        size: size as u16,
        attributes: 1 << 7 | cache | placement.group_bits() as u8,
        reclaim_groups: placement.reclaim_groups.into(),
        handles: handles as u16,
        placement_identifiers: namespace.placement_handles.len().max(1) as u16 - 1,
        namespaces: 1,
        reclaim_unit: placement.reclaim_unit,
        time_limit: 0,
    }));
    for persistent in &placement.handles {
        data.extend([if *persistent { PERSISTENTLY_ISOLATED } else { INITIALLY_ISOLATED }, 0, 0, 0]);
    }
    data
}

/// A descriptor for each handle: 0 if the handle is not used, 1 if hosts use it.
pub(super) fn handles(placement: &Placement, used: &[bool]) -> Vec<u8> {
    let mut data = vec![0; 8];
    data[..2].copy_from_slice(&(placement.handles.len() as u16).to_le_bytes());
    for i in 0..placement.handles.len() {
        let by_host = used.get(i).copied().unwrap_or(false);
        data.extend([by_host.into(), 0, 0, 0, 0, 0, 0, 0]);
    }
    data
}

layout! {
    /// FDP statistics: bytes.
    struct Statistics [64] {
        0 host_bytes: u128,
        16 media_bytes: u128,
        32 erased_bytes: u128,
    }
}

pub(super) fn statistics(statistics: &PlacementStatistics) -> Vec<u8> {
    let PlacementStatistics { host_bytes, media_bytes, erased_bytes } = *statistics;
    bytes_of(&Statistics { host_bytes, media_bytes, erased_bytes })
}

layout! {
    /// An FDP event.
    struct PlacementEventFields [64] {
        0 kind: u8,
        /// Bit 0: the placement identifier is valid. Bit 1: the namespace. Bit 2: reclaim group and handle.
        1 valid: u8,
        2 identifier: u16,
        /// In the format of the feature "timestamp".
        4 milliseconds: [u8; 6],
        10 attributes: u8,
        12 namespace: u32,
        /// Only for a reallocation: bit 0 says that the block is valid.
        16 flags: u8,
        18 moved: u16,
        20 lba: u64,
        32 group: u16,
        34 handle: u8,
    }
}

/// The most events of the page.
const EVENTS: usize = 63;

pub(super) fn events(events: &[PlacementEvent]) -> Vec<u8> {
    let listed = &events[..events.len().min(EVENTS)];
    let mut data = vec![0; 64];
    data[..4].copy_from_slice(&(listed.len() as u32).to_le_bytes());
    data.extend(listed.iter().map(PlacementEventFields::from).flat_map(|event| bytes_of(&event)));
    data.resize(64 + EVENTS * 64, 0);
    data
}

impl From<&PlacementEvent> for PlacementEventFields {
    fn from(event: &PlacementEvent) -> Self {
        let PlacementEvent { kind, milliseconds, identifier, namespace, location } = *event;
        let valid = [identifier.is_some(), namespace.is_some(), location.is_some()];
        let (group, handle) = location.unwrap_or_default();
        let mut wire = Self {
            kind: match kind {
                PlacementEventKind::NotFullyWritten => 0x00,
                PlacementEventKind::InvalidPlacementId => 0x03,
                PlacementEventKind::MediaReallocated { .. } => 0x80,
                PlacementEventKind::ImplicitlyModified => 0x81,
            },
            valid: valid.iter().rev().fold(0, |bits, valid| bits << 1 | u8::from(*valid)),
            identifier: identifier.unwrap_or(0),
            milliseconds: milliseconds.to_le_bytes().first_chunk().copied().unwrap_or_default(),
            // The host has said the time.
            attributes: 1 << 1,
            namespace: namespace.unwrap_or(0),
            group,
            handle,
            ..Self::default()
        };
        if let PlacementEventKind::MediaReallocated { moved, lba } = kind {
            (wire.flags, wire.moved, wire.lba) = (lba.is_some().into(), moved, lba.unwrap_or(0));
        }
        wire
    }
}

#[cfg(test)]
mod tests {
    use super::{Placement, PlacementEvent, PlacementEventKind, events, handles};

    #[test]
    fn events_have_their_fields_at_the_offsets_of_the_proposal() {
        let event = PlacementEvent {
            kind: PlacementEventKind::MediaReallocated { moved: 0x102, lba: Some(0x304) },
            milliseconds: 0x0001_0203_0405_0607,
            identifier: Some(0x0809),
            namespace: Some(7),
            location: Some((0x0a0b, 12)),
        };
        let page = events(&[event]);
        assert_eq!(page.len(), 4096);
        assert_eq!(page[..4], [1, 0, 0, 0]);
        let wire = &page[64..128];
        assert_eq!(wire[..16], [0x80, 7, 9, 8, 7, 6, 5, 4, 3, 2, 2, 0, 7, 0, 0, 0]);
        assert_eq!(wire[16..28], [1, 0, 2, 1, 4, 3, 0, 0, 0, 0, 0, 0]);
        assert_eq!(wire[32..35], [0x0b, 0x0a, 12]);
    }

    #[test]
    fn each_handle_has_eight_bytes() {
        let placement = Placement { reclaim_groups: 1, handles: vec![false; 3], reclaim_unit: 1 };
        let page = handles(&placement, &[true, false]);
        assert_eq!((page.len(), page[0], page[8], page[16]), (32, 3, 1, 0));
    }
}
