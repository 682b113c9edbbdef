//! The description of a device as a subsystem: names made from the device's name and the seed, capacities, zones, data placement, power.

use std::fmt;
use std::net::SocketAddr;

use base::units::{Power, Span, Temperature};
use nvme::{
    Access, Description, Identity, Namespace, OptionalCommands, Placement, Port, PowerState, RandomWriteArea, Zones,
};
use sha2::{Digest, Sha256};
use ssd::{HostStreamsSpec, Resolved};
use study::catalogue::Device;

use super::NvmeLimits;

/// The identifier of the only namespace.
pub(super) const NAMESPACE: u32 = 1;

/// A block of a namespace without zones has two to the power of this bytes: a sector of the drive.
const SECTOR_SHIFT: u8 = 9;

/// The mapping units that can be blocks.
const BLOCKS: std::ops::RangeInclusive<u8> = SECTOR_SHIFT..=16;

/// Why a device cannot be described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DescriptionError {
    /// Zones are written in whole mapping units, and a mapping unit of this many sectors cannot be a block.
    Unit {
        /// The device.
        device: String,
        /// Sectors of a mapping unit.
        sectors: u64,
    },
}

impl fmt::Display for DescriptionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self::Unit { device, sectors } = self;
        write!(
            f,
            "{device}: ftl.map-unit: zones are written in whole mapping units, and one of {sectors} sectors cannot be a block \
             of NVM Express; choose a power of two from 512 bytes to 64KiB"
        )
    }
}

impl std::error::Error for DescriptionError {}

/// Names that are the same whenever the device is served with the same seed.
struct Names {
    digest: [u8; 32],
}

impl Names {
    fn new(device: &Device, seed: u64) -> Self {
        let digest = Sha256::digest(format!("flashloom\n{}\n{seed}", device.name));
        Self { digest: digest.into() }
    }

    /// A UUID of version 8, whose bits the vendor chooses (RFC 9562, section 5.8).
    fn uuid(&self) -> [u8; 16] {
        let mut uuid: [u8; 16] = self.digest[..16].try_into().expect("sixteen bytes");
        uuid[6] = uuid[6] & 0x0f | 0x80;
        uuid[8] = uuid[8] & 0x3f | 0x80;
        uuid
    }

    /// A qualified name by UUID (NVMe base 2.0, section 4.5).
    fn nqn(&self) -> String {
        let text: String = self.uuid().iter().map(|byte| format!("{byte:02x}")).collect();
        let (a, b, c, d, e) = (&text[..8], &text[8..12], &text[12..16], &text[16..20], &text[20..]);
        format!("nqn.2014-08.org.nvmexpress:uuid:{a}-{b}-{c}-{d}-{e}")
    }

    fn nguid(&self) -> [u8; 16] {
        self.digest[16..].try_into().expect("sixteen bytes")
    }

    fn serial(&self) -> String {
        let text: String = self.digest[24..].iter().map(|byte| format!("{byte:02X}")).collect();
        format!("FL{text}")
    }
}

/// Describes a device that is served at an address.
///
/// # Errors
/// If it has zones, and its mapping unit cannot be a block.
pub fn description(
    device: &Device,
    seed: u64,
    address: SocketAddr,
    limits: &NvmeLimits,
    hosts: Option<Vec<String>>,
) -> Result<Description, DescriptionError> {
    let (resolved, names) = (&device.resolved, Names::new(device, seed));
    let unit = u64::from(resolved.geometry.sectors);
    let block_shift =
        block_shift(resolved).ok_or(DescriptionError::Unit { device: device.name.clone(), sectors: unit })?;
    let placement = placement(resolved);
    let namespace = Namespace {
        id: NAMESPACE,
        block_shift,
        blocks: resolved.capacity().get() >> (block_shift - SECTOR_SHIFT),
        uuid: names.uuid(),
        nguid: names.nguid(),
        granularity: (unit >> (block_shift - SECTOR_SHIFT)).clamp(1, u16::MAX.into()) as u16,
        zones: zones(resolved),
        placement_handles: placement.iter().flat_map(|placement| 0..placement.handles.len() as u16).collect(),
    };
    // The name of a model is printable ASCII.
    let model = format!("Flashloom {}", device.name);
    let model = model.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).take(40).collect();
    let [warning_temperature, critical_temperature] = temperatures(resolved);
    Ok(Description {
        identity: Identity {
            nqn: names.nqn(),
            model,
            serial: names.serial(),
            firmware: env!("CARGO_PKG_VERSION").chars().take(8).collect(),
            vendor: 0,
        },
        access: Access {
            ports: vec![Port {
                ipv6: address.is_ipv6(),
                address: address.ip().to_string(),
                service: address.port(),
                tls: false,
            }],
            hosts,
            controllers: limits.controllers,
            io_queues: limits.io_queues,
            shared: true,
        },
        commands: OptionalCommands {
            // The drive has no command that makes sectors unreadable, or erases blocks that hold old data.
            write_uncorrectable: false,
            handle_update: true,
            sanitize: false,
            dataset_management: resolved.zones.is_none(),
        },
        namespaces: vec![namespace],
        placement,
        streams: streams(resolved),
        stream_blocks: 0,
        power_states: power_states(resolved),
        write_cache: resolved.buffer.is_some(),
        warning_temperature,
        critical_temperature,
    })
}

/// The block of a device: of one with zones the mapping unit, because zones are written in whole ones.
fn block_shift(resolved: &Resolved) -> Option<u8> {
    if resolved.zones.is_none() {
        return Some(SECTOR_SHIFT);
    }
    let sectors = resolved.geometry.sectors;
    let shift = SECTOR_SHIFT + sectors.trailing_zeros() as u8;
    (sectors.is_power_of_two() && BLOCKS.contains(&shift)).then_some(shift)
}

fn zones(resolved: &Resolved) -> Option<Zones> {
    let shape = resolved.zones?;
    // A block is a mapping unit.
    Some(Zones {
        size: shape.size.into(),
        capacity: shape.capacity.into(),
        max_active: (shape.max_active < shape.zones).then_some(shape.max_active),
        max_open: (shape.max_open < shape.zones).then_some(shape.max_open),
        append_limit: 0,
        random_write_area: shape.zrwa.map(|area| RandomWriteArea {
            size: area.size as u16,
            granularity: area.granularity as u16,
            resources: area.zones,
        }),
    })
}

fn placement(resolved: &Resolved) -> Option<Placement> {
    let fdp = resolved.spec.ftl.fdp.as_ref()?;
    Some(Placement {
        reclaim_groups: fdp.reclaim_groups as u16,
        handles: vec![fdp.isolation == ssd::Isolation::Persistent; fdp.handles.into()],
        reclaim_unit: 0,
    })
}

/// Streams of the streams directive, of a drive that places data by the identifiers of its writes. The identifiers begin with 1: stream 0
/// of the model takes the writes without one.
fn streams(resolved: &Resolved) -> u16 {
    match &resolved.spec.ftl.streams.host {
        HostStreamsSpec::PlacementId { streams } => streams - 1,
        _ => 0,
    }
}

/// The operational power states. The drive enters the non-operational ones by itself when it is idle, and no host can choose them.
fn power_states(resolved: &Resolved) -> Vec<PowerState> {
    let hundredths = |power: Power| (power.as_uw() / 10_000).min(u16::MAX.into()) as u16;
    let micros = |span: Span| (span.as_ps() / 1_000_000).min(u32::MAX.into()) as u32;
    let Some(power) = &resolved.spec.power else { return vec![PowerState::default()] };
    let operational = power.operational.iter().map(|state| PowerState {
        power: hundredths(state.power),
        entry: micros(state.entry),
        exit: micros(state.exit),
        ..PowerState::default()
    });
    let states: Vec<_> = operational.take(32).collect();
    if states.is_empty() { vec![PowerState::default()] } else { states }
}

/// The ends of the band in which the drive throttles, in kelvins: the warning and the critical temperature; 0 for a drive without a
/// throttle.
fn temperatures(resolved: &Resolved) -> [u16; 2] {
    let kelvins = |temperature: Temperature| temperature.as_kelvin().round() as u16;
    let thermal = resolved.spec.power.as_ref().and_then(|power| power.thermal.as_ref());
    let throttle = thermal.and_then(|thermal| thermal.throttle.as_ref());
    throttle.map_or([0; 2], |throttle| [kelvins(throttle.from), kelvins(throttle.to)])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(text: &str) -> Device {
        Device::parse(text.to_owned()).unwrap_or_else(|faults| panic!("{faults}"))
    }

    fn described(device: &Device, seed: u64) -> Result<Description, DescriptionError> {
        description(device, seed, "127.0.0.1:4420".parse().expect("an address"), &NvmeLimits::default(), None)
    }

    const FLASH: &str = "flash = { part = \"dirik-2009\", channels = 2, chips = 2, blocks = 40, pages = 16 }\n";

    #[test]
    fn names_are_a_function_of_device_and_seed() {
        let plain = device(&format!(
            "name = \"an SSD \u{e9}\"\n{FLASH}ftl = {{ map-unit = \"2KiB\", over-provisioning = \"40%\" }}\n"
        ));
        let [one, same, other] = [1, 1, 2].map(|seed| described(&plain, seed).expect("describable").identity);
        assert_eq!(one, same);
        assert!(one.nqn != other.nqn && one.serial != other.serial);
        assert_eq!((one.nqn.len(), one.serial.len(), one.model.as_str()), (68, 18, "Flashloom an SSD ?"));
        // Version and variant of the UUID.
        assert_eq!((&one.nqn[46..47], "89ab".contains(&one.nqn[51..52])), ("8", true), "{}", one.nqn);
    }

    #[test]
    fn zones_want_a_mapping_unit_that_can_be_a_block() {
        let mut zoned = device(&format!("name = \"z\"\n{FLASH}ftl = {{ kind = \"zns\", map-unit = \"2KiB\" }}\n"));
        let namespace = described(&zoned, 0).expect("describable").namespaces.remove(0);
        let zones = namespace.zones.expect("zones");
        assert_eq!((namespace.block_shift, namespace.granularity, zones.size), (11, 1, 64));
        for sectors in [3, 256] {
            zoned.resolved.geometry.sectors = sectors;
            let refused = described(&zoned, 0).expect_err("refused").to_string();
            assert!(refused.contains(&format!("one of {sectors} sectors")) && refused.contains("choose"), "{refused}");
        }
    }

    #[test]
    fn power_states_and_temperatures_are_those_of_the_device() {
        let power = "power = { controller = { active = \"1W\", idle = \"1W\" }, operational = [{ power = \"3W\", entry = \"2ms\" }, \
                     { power = \"2.5W\", exit = \"5us\" }], thermal = { ambient = \"25C\", resistance = \"8K/W\", time-constant = \"60s\", \
                     throttle = { style = \"on-off\", from = \"70C\", to = \"80C\", lowest-rate = \"100MB/s\" } } }\n";
        let hot = device(&format!(
            "name = \"h\"\n{FLASH}ftl = {{ map-unit = \"2KiB\", over-provisioning = \"40%\" }}\n{power}"
        ));
        let described = described(&hot, 0).expect("describable");
        let states: Vec<_> =
            described.power_states.iter().map(|state| (state.power, state.entry, state.exit)).collect();
        assert_eq!(states, [(300, 2000, 0), (250, 0, 5)]);
        assert_eq!((described.warning_temperature, described.critical_temperature), (343, 353));
    }
}
