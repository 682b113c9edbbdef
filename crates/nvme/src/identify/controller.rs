//! Identify Controller (NVMe base 2.0, figure 275), and its parts for I/O command sets (NVM 1.0, figure 102; ZNS 1.1, figure 50).

use super::Context;
use crate::controller::errors::ENTRIES;
use crate::controller::events::REQUESTS;
use crate::controller::properties::VERSION;
use crate::controller::{Controller, ControllerKind, KEEP_ALIVE_STEP};
use crate::description::PowerState;
use crate::layout::{Field, bytes_of, layout, text};

layout! {
    /// NVMe base 2.0, figure 276.
    struct PowerStateDescriptor [32] {
        /// MP in steps of 0.01 W, because bit 0 of the flags is 0.
        0 maximum_power: u16,
        /// Bit 1: non-operational.
        3 flags: u8,
        /// Microseconds.
        4 entry_latency: u32,
        8 exit_latency: u32,
        12 read_throughput: u8,
        13 read_latency: u8,
        14 write_throughput: u8,
        15 write_latency: u8,
        16 idle_power: u16,
        /// Bits 7:6: 0 for unknown, 2 for 0.01 W.
        18 idle_scale: u8,
        20 active_power: u16,
        22 active_scale: u8,
    }
}

layout! {
    /// NVMe base 2.0, figure 275: the names are those of the figure.
    struct IdentifyController [4096] {
        0 vid: u16,
        2 ssvid: u16,
        4 sn: [u8; 20],
        24 mn: [u8; 40],
        64 fr: [u8; 8],
        72 rab: u8,
        73 ieee: [u8; 3],
        76 cmic: u8,
        77 mdts: u8,
        78 cntlid: u16,
        80 ver: u32,
        92 oaes: u32,
        96 ctratt: u32,
        111 cntrltype: u8,
        256 oacs: u16,
        258 acl: u8,
        259 aerl: u8,
        260 frmw: u8,
        261 lpa: u8,
        262 elpe: u8,
        263 npss: u8,
        266 wctemp: u16,
        268 cctemp: u16,
        280 tnvmcap: u128,
        316 edstt: u16,
        318 dsto: u8,
        320 kas: u16,
        328 sanicap: u32,
        340 endgidmax: u16,
        512 sqes: u8,
        513 cqes: u8,
        514 maxcmd: u16,
        516 nn: u32,
        520 oncs: u16,
        524 fna: u8,
        525 vwc: u8,
        534 ocfs: u16,
        536 sgls: u32,
        768 subnqn: [u8; 256],
        1792 ioccsz: u32,
        1796 iorcsz: u32,
        1800 icdoff: u16,
        1802 fcatt: u8,
        1803 msdbd: u8,
        1804 ofcs: u16,
        1806 dctype: u8,
        2048 psd: [PowerStateDescriptor; 32],
    }
}

/// Bits of CTRATT.
mod attributes {
    pub(super) const HOST_ID_OF_16_BYTES: u32 = 1 << 0;
    pub(super) const ENDURANCE_GROUPS: u32 = 1 << 4;
    /// Every command restarts the keep alive timer.
    pub(super) const TRAFFIC_KEEPS_ALIVE: u32 = 1 << 6;
    pub(super) const PLACEMENT: u32 = 1 << 19;
}

/// Bits of OAES.
mod events {
    pub(super) const NAMESPACES: u32 = 1 << 8;
    pub(super) const ZONES: u32 = 1 << 27;
    pub(super) const DISCOVERY: u32 = 1 << 31;
}

/// Bits of OACS.
mod admin_commands {
    pub(super) const FORMAT: u16 = 1 << 1;
    pub(super) const SELF_TEST: u16 = 1 << 4;
    pub(super) const DIRECTIVES: u16 = 1 << 5;
}

/// Bits of ONCS.
mod io_commands {
    pub(super) const COMPARE: u16 = 1 << 0;
    pub(super) const WRITE_UNCORRECTABLE: u16 = 1 << 1;
    pub(super) const DATASET_MANAGEMENT: u16 = 1 << 2;
    pub(super) const WRITE_ZEROES: u16 = 1 << 3;
    /// The field "select" of Get Features; no feature can be saved.
    pub(super) const SELECT: u16 = 1 << 4;
    pub(super) const TIMESTAMP: u16 = 1 << 6;
    pub(super) const VERIFY: u16 = 1 << 7;
    pub(super) const COPY: u16 = 1 << 8;
}

/// SGLS: supported (bit 0), offsets in capsules (bit 20), data blocks of the transport (bit 21).
const SGLS: u32 = 1 | 1 << 20 | 1 << 21;
/// LPA: commands and effects (bit 1), offsets (bit 2), the log pages 0, 5, 12h and 13h (bit 5).
const LOG_ATTRIBUTES: u8 = 1 << 1 | 1 << 2;
/// SANICAP: block erase.
const BLOCK_ERASE: u32 = 1 << 1;
/// VWC: bits 2:1 say that Flush takes the identifier of all namespaces.
const FLUSH_ALL: u8 = 3 << 1;

impl From<&PowerState> for PowerStateDescriptor {
    fn from(state: &PowerState) -> Self {
        let PowerState { power, non_operational, entry, exit, idle_power, active_power } = *state;
        let scale = |power: u16| if power > 0 { 2 << 6 } else { 0 };
        Self {
            maximum_power: power,
            flags: u8::from(non_operational) << 1,
            entry_latency: entry,
            exit_latency: exit,
            idle_power,
            idle_scale: scale(idle_power),
            active_power,
            active_scale: scale(active_power),
            ..Self::default()
        }
    }
}

/// The data structure of the controller.
pub(crate) fn controller(context: &Context<'_>, controller: &Controller) -> Vec<u8> {
    let Context { description, config, .. } = *context;
    let commands = description.commands_of(|_| true);
    let common = IdentifyController {
        vid: description.identity.vendor,
        ssvid: description.identity.vendor,
        sn: text(&description.identity.serial, b' '),
        mn: text(&description.identity.model, b' '),
        fr: text(&description.identity.firmware, b' '),
        mdts: config.mdts,
        cntlid: controller.id,
        ver: VERSION,
        lpa: LOG_ATTRIBUTES,
        aerl: REQUESTS as u8 - 1,
        elpe: ENTRIES as u8 - 1,
        kas: KEEP_ALIVE_STEP,
        maxcmd: config.queue_entries,
        sgls: SGLS,
        // The admin queue of a discovery controller is all it has.
        ioccsz: (64 + config.in_capsule) / 16,
        iorcsz: 1,
        msdbd: 1,
        ..IdentifyController::default()
    };
    if controller.kind == ControllerKind::Discovery {
        return bytes_of(&IdentifyController {
            cntrltype: 2,
            oaes: events::DISCOVERY,
            ctratt: attributes::HOST_ID_OF_16_BYTES,
            subnqn: text(super::DISCOVERY_NQN, 0),
            ioccsz: 0,
            iorcsz: 0,
            ..common
        });
    }
    let mut psd: [PowerStateDescriptor; 32] = Field::zero();
    for (descriptor, state) in psd.iter_mut().zip(&description.power_states) {
        *descriptor = state.into();
    }
    let placement = if description.has_placement() { attributes::PLACEMENT } else { 0 };
    let zones = if description.has_zones() { events::ZONES } else { 0 };
    let directives = if description.has_directives() { admin_commands::DIRECTIVES } else { 0 };
    bytes_of(&IdentifyController {
        rab: 0,
        // Several controllers; one port.
        cmic: 1 << 1,
        oaes: events::NAMESPACES | zones,
        ctratt: attributes::HOST_ID_OF_16_BYTES
            | attributes::ENDURANCE_GROUPS
            | attributes::TRAFFIC_KEEPS_ALIVE
            | placement,
        cntrltype: 1,
        oacs: admin_commands::FORMAT | admin_commands::SELF_TEST | directives,
        acl: 3,
        // One slot, read only.
        frmw: 1 | 1 << 1,
        lpa: LOG_ATTRIBUTES | 1 << 5,
        npss: description.power_states.len().clamp(1, 32) as u8 - 1,
        wctemp: description.warning_temperature,
        cctemp: description.critical_temperature,
        tnvmcap: description.capacity(),
        edstt: crate::maintenance::EXTENDED_TEST_MINUTES,
        dsto: 1,
        sanicap: if description.sanitize { BLOCK_ERASE } else { 0 },
        endgidmax: description.last_namespace() as u16,
        sqes: 0x66,
        cqes: 0x44,
        nn: description.last_namespace(),
        oncs: io_commands::COMPARE
            | if commands.write_uncorrectable { io_commands::WRITE_UNCORRECTABLE } else { 0 }
            | if commands.dataset_management { io_commands::DATASET_MANAGEMENT } else { 0 }
            | io_commands::WRITE_ZEROES
            | io_commands::SELECT
            | io_commands::TIMESTAMP
            | io_commands::VERIFY
            | io_commands::COPY,
        ocfs: 1,
        vwc: FLUSH_ALL | u8::from(description.write_cache),
        subnqn: text(&description.identity.nqn, 0),
        psd,
        ..common
    })
}

layout! {
    /// Identify Controller for the NVM command set (NVM 1.0, figure 102): limits, of which 0 means no limit.
    struct NvmController [4096] {
        0 vsl: u8,
        1 wzsl: u8,
        2 wusl: u8,
        3 dmrl: u8,
        4 dmrsl: u32,
        8 dmsl: u64,
    }
}

layout! {
    /// Identify Controller for the Zoned Namespace command set (ZNS 1.1, figure 50).
    struct ZonedController [4096] {
        /// ZASL: a power of two of 4 KiB; 0 for MDTS.
        0 zasl: u8,
    }
}

/// Limits of the NVM command set: only the ranges of Dataset Management are limited.
pub(crate) fn nvm() -> Vec<u8> {
    bytes_of(&NvmController { dmrl: crate::io::DEALLOCATE_RANGES as u8, ..NvmController::default() })
}

/// Limits of the Zoned Namespace command set: the lowest of all namespaces.
pub(crate) fn zoned(context: &Context<'_>) -> Vec<u8> {
    bytes_of(&ZonedController { zasl: crate::io::append_limit(context.description, context.config) })
}
