//! Identify Namespace (NVM 1.0, figure 97; NVMe base 2.0, figure 280; ZNS 1.1, figures 48 and 49), descriptors and lists.

use super::Context;
use crate::description::{Namespace, Zones};
use crate::io::{COPY_RANGES, copy_range_blocks};
use crate::layout::{Field, bytes_of, layout};

/// Command set identifiers (NVMe base 2.0, section 5.17).
pub(crate) const NVM: u8 = 0;
pub(crate) const ZONED: u8 = 2;

layout! {
    /// An LBA format (NVM 1.0, figure 98).
    struct LbaFormat [4] {
        0 metadata: u16,
        /// LBADS: a power of two.
        2 data: u8,
        3 performance: u8,
    }
}

layout! {
    /// NVM 1.0, figure 97: the names are those of the figure.
    struct IdentifyNamespace [4096] {
        0 nsze: u64,
        8 ncap: u64,
        16 nuse: u64,
        24 nsfeat: u8,
        25 nlbaf: u8,
        26 flbas: u8,
        30 nmic: u8,
        33 dlfeat: u8,
        48 nvmcap: u128,
        64 npwg: u16,
        66 npwa: u16,
        68 npdg: u16,
        70 npda: u16,
        72 nows: u16,
        74 mssrl: u16,
        76 mcl: u32,
        80 msrc: u8,
        102 endgid: u16,
        104 nguid: [u8; 16],
        128 lbaf: [LbaFormat; 64],
    }
}

layout! {
    /// I/O command set independent Identify Namespace (NVMe base 2.0, figure 280).
    struct Independent [4096] {
        0 nsfeat: u8,
        1 nmic: u8,
        12 endgid: u16,
        /// Bit 0: ready.
        14 nstat: u8,
    }
}

layout! {
    /// ZNS 1.1, figure 49.
    struct ZoneFormat [16] {
        /// Blocks.
        0 zsze: u64,
        8 zdes: u8,
    }
}

layout! {
    /// Identify Namespace for the Zoned Namespace command set (ZNS 1.1, figure 48).
    struct ZonedNamespace [4096] {
        0 zoc: u16,
        2 ozcs: u16,
        /// The limit of active zones, less one; all ones for no limit.
        4 mar: u32,
        8 mor: u32,
        44 numzrwa: u32,
        48 zrwafg: u16,
        50 zrwasz: u16,
        52 zrwacap: u8,
        2816 lbafe: [ZoneFormat; 64],
    }
}

/// NSFEAT: identifiers are not used again (bit 3), the preferred sizes are valid (bit 4).
const FEATURES: u8 = 1 << 3 | 1 << 4;
/// DLFEAT: deallocated blocks read as zeros (001b), Write Zeroes can deallocate (bit 3).
const DEALLOCATED: u8 = 1 | 1 << 3;

pub(crate) const fn command_set(namespace: &Namespace) -> u8 {
    if namespace.zones.is_some() { ZONED } else { NVM }
}

/// The data structure of a namespace.
pub(crate) fn namespace(context: &Context<'_>, namespace: &Namespace) -> Vec<u8> {
    let Namespace { id, block_shift, blocks, nguid, granularity, zones, .. } = namespace;
    let ncap = zones.map_or(*blocks, |zones| zones.capacity * namespace.zone_count());
    let preferred = granularity.saturating_sub(1);
    let range = copy_range_blocks(namespace, context.config);
    let mut lbaf: [LbaFormat; 64] = Field::zero();
    lbaf[0].data = *block_shift;
    bytes_of(&IdentifyNamespace {
        nsze: *blocks,
        ncap,
        nuse: context.drives.used_blocks(*id).min(ncap),
        nsfeat: FEATURES,
        nmic: context.description.access.shared.into(),
        dlfeat: DEALLOCATED,
        nvmcap: namespace.capacity(),
        npwg: preferred,
        npwa: preferred,
        npdg: preferred,
        npda: preferred,
        nows: preferred,
        mssrl: range,
        mcl: u32::from(range) * COPY_RANGES as u32,
        msrc: COPY_RANGES as u8 - 1,
        endgid: *id as u16,
        nguid: *nguid,
        lbaf,
        ..IdentifyNamespace::default()
    })
}

pub(crate) fn independent(context: &Context<'_>, namespace: &Namespace) -> Vec<u8> {
    let nmic = context.description.access.shared.into();
    bytes_of(&Independent { nsfeat: 1 << 3, nmic, endgid: namespace.id as u16, nstat: 1 })
}

pub(crate) fn zoned(zones: &Zones) -> Vec<u8> {
    let limit = |limit: Option<u32>| limit.map_or(u32::MAX, |limit| limit.saturating_sub(1));
    let mut lbafe: [ZoneFormat; 64] = Field::zero();
    lbafe[0].zsze = zones.size;
    let mut structure = ZonedNamespace {
        // Reads across the boundaries of zones.
        ozcs: 1,
        mar: limit(zones.max_active),
        mor: limit(zones.max_open),
        lbafe,
        ..ZonedNamespace::default()
    };
    if let Some(area) = zones.random_write_area {
        structure.ozcs |= 1 << 1;
        structure.numzrwa = area.resources.saturating_sub(1);
        structure.zrwafg = area.granularity;
        structure.zrwasz = area.size;
        // Explicit flushes.
        structure.zrwacap = 1;
    }
    bytes_of(&structure)
}

/// The namespace identification descriptors (NVMe base 2.0, figure 277): NGUID, UUID, command set.
pub(crate) fn descriptors(namespace: &Namespace) -> Vec<u8> {
    let mut data = Vec::new();
    let mut descriptor = |kind: u8, value: &[u8]| {
        data.extend([kind, value.len() as u8, 0, 0]);
        data.extend_from_slice(value);
    };
    descriptor(2, &namespace.nguid);
    descriptor(3, &namespace.uuid);
    descriptor(4, &[command_set(namespace)]);
    data.resize(4096, 0);
    data
}
