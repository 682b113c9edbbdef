//! Namespaces and zones that have changed since the host read of them (NVMe base 2.0, section 5.16.1, log page 04h;
//! ZNS 1.1, figure 46).

use std::collections::{BTreeMap, BTreeSet};

/// The most namespaces of a changed namespace list.
const NAMESPACES: usize = 1024;
/// The most zones of a changed zone list.
const ZONES: usize = 511;
/// Bytes of both lists.
const PAGE: usize = 4096;

/// Namespaces, and zones of a namespace by their first block, that have changed.
#[derive(Debug, Default)]
pub(crate) struct Changes {
    namespaces: BTreeSet<u32>,
    zones: BTreeMap<u32, BTreeSet<u64>>,
}

impl Changes {
    pub(crate) fn note_namespaces(&mut self, namespaces: &[u32]) {
        self.namespaces.extend(namespaces);
    }

    pub(crate) fn note_zone(&mut self, namespace: u32, start: u64) {
        let zones = self.zones.entry(namespace).or_default();
        // One more than the list has room for says that there are too many.
        if zones.len() <= ZONES {
            zones.insert(start);
        }
    }

    pub(crate) fn clear_namespaces(&mut self) {
        self.namespaces.clear();
    }

    pub(crate) fn clear_zones(&mut self, namespace: u32) {
        self.zones.remove(&namespace);
    }

    /// The changed namespace list: one entry of all ones stands for too many.
    pub(crate) fn namespace_page(&self) -> Vec<u8> {
        let mut data: Vec<u8> = match self.namespaces.len() {
            0..=NAMESPACES => self.namespaces.iter().flat_map(|id| id.to_le_bytes()).collect(),
            _ => u32::MAX.to_le_bytes().to_vec(),
        };
        data.resize(PAGE, 0);
        data
    }

    /// The changed zone list: a count of all ones stands for too many.
    pub(crate) fn zone_page(&self, namespace: u32) -> Vec<u8> {
        let mut data = vec![0; 8];
        match self.zones.get(&namespace) {
            Some(zones) if zones.len() <= ZONES => {
                data[..2].copy_from_slice(&(zones.len() as u16).to_le_bytes());
                data.extend(zones.iter().flat_map(|zone| zone.to_le_bytes()));
            }
            Some(_) => data[..2].fill(0xff),
            None => {}
        }
        data.resize(PAGE, 0);
        data
    }
}

#[cfg(test)]
mod tests {
    use super::{Changes, NAMESPACES, ZONES};

    #[test]
    fn lists_have_an_end() {
        let mut changes = Changes::default();
        for zone in 0..=ZONES as u64 {
            assert_eq!(changes.zone_page(1)[..2], (zone as u16).to_le_bytes());
            changes.note_zone(1, zone * 8);
        }
        assert_eq!(changes.zone_page(1)[..4], [0xff, 0xff, 0, 0]);
        assert_eq!(changes.zone_page(2), [0; 4096]);
        changes.clear_zones(1);
        changes.note_zone(1, 0x1234);
        assert_eq!(changes.zone_page(1)[..12], [1, 0, 0, 0, 0, 0, 0, 0, 0x34, 0x12, 0, 0]);
        let all: Vec<u32> = (1..=NAMESPACES as u32 + 1).collect();
        changes.note_namespaces(&all[..2]);
        assert_eq!(changes.namespace_page()[..12], [1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
        changes.note_namespaces(&all);
        assert_eq!(changes.namespace_page()[..8], [0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0]);
    }
}
