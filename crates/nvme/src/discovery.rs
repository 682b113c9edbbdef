//! The discovery log page (NVMe base 2.0, section 5.16.1, log page 70h).

use crate::description::Description;
use crate::layout::{bytes_of, layout, text};

layout! {
    /// The head of the page.
    struct DiscoveryHead [1024] {
        /// Changes with the entries.
        0 generation: u64,
        8 records: u64,
        16 format: u16,
    }
}

layout! {
    /// An entry; TSAS after NVMe/TCP 1.0, figure 17.
    struct DiscoveryEntry [1024] {
        /// TRTYPE: 3 for TCP.
        0 transport: u8,
        /// ADRFAM: 1 for IPv4, 2 for IPv6.
        1 family: u8,
        /// SUBTYPE: 2 for an NVM subsystem.
        2 kind: u8,
        /// TREQ. Bits 1:0: secure channel, 0 not specified, as Linux's own target says (libnvme 1.3 asks for TLS where it is "not required"),
        /// 1 required. Bit 2: flow control can be disabled.
        3 requirements: u8,
        4 port: u16,
        /// All ones: controllers are made at a Connect.
        6 controller: u16,
        8 admin_queue_entries: u16,
        32 service: [u8; 32],
        256 nqn: [u8; 256],
        512 address: [u8; 256],
        /// SECTYPE: 0 none, 2 TLS 1.3.
        768 security: u8,
    }
}

/// Entries of the admin queue that hosts should make.
const ADMIN_QUEUE_ENTRIES: u16 = 32;

/// The page, as `host` sees it.
pub(crate) fn page(description: &Description, host: &str, generation: u64) -> Vec<u8> {
    let ports = if description.allows(host) { description.access.ports.as_slice() } else { &[] };
    let mut data = bytes_of(&DiscoveryHead { generation, records: ports.len() as u64, format: 0 });
    for (i, port) in ports.iter().enumerate() {
        data.extend(bytes_of(&DiscoveryEntry {
            transport: 3,
            family: if port.ipv6 { 2 } else { 1 },
            kind: 2,
            requirements: 1 << 2 | u8::from(port.tls),
            port: i as u16 + 1,
            controller: u16::MAX,
            admin_queue_entries: ADMIN_QUEUE_ENTRIES,
            service: text(&port.service.to_string(), 0),
            nqn: text(&description.identity.nqn, 0),
            address: text(&port.address, 0),
            security: if port.tls { 2 } else { 0 },
        }));
    }
    data
}
