//! Reads the answers of a controller.

use crate::io::{ZoneAttributes, ZoneDescriptor, ZoneState};
use crate::layout::{front_of, layout};

layout! {
    /// The fields of Identify Controller that a host needs (NVMe base 2.0, figure 275).
    struct ControllerFields [4096] {
        4 sn: [u8; 20],
        24 mn: [u8; 40],
        64 fr: [u8; 8],
        77 mdts: u8,
        78 cntlid: u16,
        80 ver: u32,
        1792 ioccsz: u32,
    }
}

/// The fields of Identify Controller that a host needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentifiedController {
    /// The identifier of the controller (CNTLID).
    pub id: u16,
    /// Serial number, without the blanks at its end.
    pub serial: String,
    /// Model number, without the blanks at its end.
    pub model: String,
    /// Firmware revision, without the blanks at its end.
    pub firmware: String,
    /// Version: major in bits 31:16, minor in bits 15:8.
    pub version: u32,
    /// The largest transfer in bytes; none for no limit.
    pub transfer: Option<u64>,
    /// Bytes of data in capsules of I/O queues.
    pub in_capsule: u32,
}

fn string(field: &[u8]) -> String {
    String::from_utf8_lossy(field).trim_end_matches([' ', '\0']).to_owned()
}

impl IdentifiedController {
    /// Reads the data of CNS 01h; none if they are too few.
    #[must_use]
    pub fn from_bytes(data: &[u8]) -> Option<Self> {
        let ControllerFields { sn, mn, fr, mdts, cntlid, ver, ioccsz } = front_of(data)?;
        Some(Self {
            id: cntlid,
            serial: string(&sn),
            model: string(&mn),
            firmware: string(&fr),
            version: ver,
            transfer: 4096_u64.checked_shl(mdts.into()).filter(|_| mdts > 0),
            in_capsule: ioccsz.saturating_mul(16).saturating_sub(64),
        })
    }
}

layout! {
    /// The fields of Identify Namespace that a host needs (NVM 1.0, figure 97).
    struct NamespaceFields [4096] {
        0 nsze: u64,
        8 ncap: u64,
        16 nuse: u64,
        130 lbads: u8,
    }
}

/// The fields of Identify Namespace that a host needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IdentifiedNamespace {
    /// Size in blocks (NSZE).
    pub blocks: u64,
    /// Capacity in blocks (NCAP): the most blocks that can hold data.
    pub capacity: u64,
    /// Blocks that hold data.
    pub used: u64,
    /// Binary logarithm of the bytes of a block.
    pub block_shift: u8,
}

impl IdentifiedNamespace {
    /// Reads the data of CNS 00h; none if they are too few.
    #[must_use]
    pub fn from_bytes(data: &[u8]) -> Option<Self> {
        let NamespaceFields { nsze, ncap, nuse, lbads } = front_of(data)?;
        Some(Self { blocks: nsze, capacity: ncap, used: nuse, block_shift: lbads })
    }
}

/// The identifiers of a namespace list (CNS 02h).
#[must_use]
pub fn namespace_list(data: &[u8]) -> Vec<u32> {
    let ids = data.chunks_exact(4).filter_map(front_of::<u32>);
    ids.take_while(|id| *id != 0).collect()
}

layout! {
    /// ZNS 1.1, figure 37.
    struct ZoneFields [64] {
        1 state: u8,
        2 attributes: u8,
        8 capacity: u64,
        16 start: u64,
        24 write_pointer: u64,
    }
}

/// The zones of a partial report; descriptors with an unknown state are left out.
#[must_use]
pub fn zone_descriptors(data: &[u8]) -> Vec<ZoneDescriptor> {
    let count = front_of::<u64>(data).unwrap_or(0);
    let zones = data.get(64..).unwrap_or_default().chunks_exact(64).take(usize::try_from(count).unwrap_or(usize::MAX));
    let zones = zones.filter_map(front_of::<ZoneFields>).filter_map(|zone| {
        let bit = |number: u8| zone.attributes >> number & 1 != 0;
        Some(ZoneDescriptor {
            state: ZoneState::from_field(zone.state >> 4)?,
            attributes: ZoneAttributes {
                finished_by_controller: bit(0),
                finish_recommended: bit(1),
                reset_recommended: bit(2),
                random_write_area: bit(3),
            },
            start: zone.start,
            capacity: zone.capacity,
            write_pointer: zone.write_pointer,
        })
    });
    zones.collect()
}

layout! {
    /// An entry of the discovery log page.
    struct RecordFields [1024] {
        0 transport: u8,
        1 family: u8,
        2 kind: u8,
        32 service: [u8; 32],
        256 nqn: [u8; 256],
        512 address: [u8; 256],
    }
}

/// A record of the discovery log page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiscoveryRecord {
    /// Transport type: 3 for TCP.
    pub transport: u8,
    /// The qualified name of the subsystem.
    pub nqn: String,
    /// The address of the port, as text.
    pub address: String,
    /// The number of the TCP port, as text.
    pub service: String,
}

/// The records of a discovery log page.
#[must_use]
pub fn discovery_records(page: &[u8]) -> Vec<DiscoveryRecord> {
    let count = page.get(8..).and_then(front_of::<u64>).unwrap_or(0);
    let records = page.get(1024..).unwrap_or_default().chunks_exact(1024);
    let records = records.take(usize::try_from(count).unwrap_or(usize::MAX)).filter_map(front_of::<RecordFields>);
    let record = |record: RecordFields| DiscoveryRecord {
        transport: record.transport,
        nqn: string(&record.nqn),
        address: string(&record.address),
        service: string(&record.service),
    };
    records.map(record).collect()
}
