//! The description of devices as a subsystem: names made from the devices' names and the seed, capacities, zones, data placement, power.

use std::fmt;
use std::net::SocketAddr;

use base::units::{Power, Span, Temperature};
use nvme::{
    Access, Description, Identity, Namespace, OptionalCommands, Placement, Port, PowerState, RandomWriteArea, Zones,
};
use sha2::{Digest, Sha256};
use ssd::{HostStreamsSpec, ResolvedDevice};
use study::catalogue::Device;

use super::NvmeLimits;

/// Binary logarithm of the bytes of a sector.
const SECTOR_SHIFT: u8 = 9;

/// The binary logarithms of the bytes of mapping units that can be blocks.
const BLOCKS: std::ops::RangeInclusive<u8> = SECTOR_SHIFT..=16;

/// The reason for which a device cannot be described.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DescriptionError {
    /// The mapping unit of a device with zones cannot be a block, but zones are written in whole mapping units.
    Unit {
        /// The name of the device.
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

/// A source of names that depend only on the devices, their order and the seed.
struct Names {
    digest: [u8; 32],
}

impl Names {
    fn new(devices: &[&Device], seed: u64) -> Self {
        Self { digest: Sha256::digest(Self::text(devices, seed)).into() }
    }

    /// The names of a namespace; the only namespace has the names of the subsystem.
    fn of_namespace(devices: &[&Device], seed: u64, id: u32) -> Self {
        let text = Self::text(devices, seed);
        let text = if devices.len() > 1 { format!("{text}\n{id}") } else { text };
        Self { digest: Sha256::digest(text).into() }
    }

    fn text(devices: &[&Device], seed: u64) -> String {
        let names: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
        format!("flashloom\n{}\n{seed}", names.join("\n"))
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

/// The presentation of devices to hosts.
#[derive(Clone, Debug)]
pub struct Presentation {
    /// The seed of all names.
    pub seed: u64,
    /// The address of the subsystem, for the discovery log page.
    pub address: SocketAddr,
    /// The limits of hosts.
    pub limits: NvmeLimits,
    /// The hosts that may connect; none for all.
    pub hosts: Option<Vec<String>>,
    /// Binary logarithm of the bytes of a block, for namespaces without zones: 9 to 16.
    pub block_shift: u8,
}

impl Presentation {
    /// A presentation to all hosts, with the default limits and blocks of 512 bytes.
    #[must_use]
    pub fn at(address: SocketAddr, seed: u64) -> Self {
        Self { seed, address, limits: NvmeLimits::default(), hosts: None, block_shift: SECTOR_SHIFT }
    }
}

/// Describes devices that are served as the namespaces of one subsystem.
///
/// # Errors
/// If a device has zones and its mapping unit cannot be a block.
pub fn description(devices: &[&Device], presentation: &Presentation) -> Result<Description, DescriptionError> {
    let Presentation { seed, address, limits, hosts, block_shift } = presentation;
    let seed = *seed;
    let names = Names::new(devices, seed);
    let namespaces = (1..).zip(devices).map(|(id, device)| {
        let names = Names::of_namespace(devices, seed, id);
        namespace(device, id, &names, *block_shift)
    });
    // The name of a model is printable ASCII.
    let all: Vec<&str> = devices.iter().map(|device| device.name.as_str()).collect();
    let model = format!("Flashloom {}", all.join(", "));
    let model = model.chars().map(|c| if c.is_ascii_graphic() || c == ' ' { c } else { '?' }).take(40).collect();
    let [warning_temperature, critical_temperature] = temperatures(devices);
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
            hosts: hosts.clone(),
            controllers: limits.controllers,
            io_queues: limits.io_queues,
            shared: true,
        },
        // A drive has no command that erases blocks with old data, so Sanitize is not supported.
        sanitize: false,
        namespaces: namespaces.collect::<Result<_, _>>()?,
        power_states: power_states(devices),
        write_cache: devices.iter().any(|device| device.resolved.buffer.is_some()),
        warning_temperature,
        critical_temperature,
    })
}

fn namespace(device: &Device, id: u32, names: &Names, plain_shift: u8) -> Result<Namespace, DescriptionError> {
    let resolved = &device.resolved;
    let unit = u64::from(resolved.geometry.sectors);
    let block_shift = match resolved.zones {
        Some(_) => unit_shift(resolved).ok_or(DescriptionError::Unit { device: device.name.clone(), sectors: unit })?,
        None => plain_shift,
    };
    let placement = placement(resolved);
    Ok(Namespace {
        id,
        block_shift,
        blocks: resolved.capacity().get() >> (block_shift - SECTOR_SHIFT),
        uuid: names.uuid(),
        nguid: names.nguid(),
        granularity: (unit >> (block_shift - SECTOR_SHIFT)).clamp(1, u16::MAX.into()) as u16,
        zones: zones(resolved),
        commands: OptionalCommands {
            // The drive has no command that makes sectors unreadable.
            write_uncorrectable: false,
            handle_update: true,
            dataset_management: resolved.zones.is_none(),
        },
        streams: streams(resolved),
        stream_blocks: 0,
        placement_handles: placement.iter().flat_map(|placement| 0..placement.handles.len() as u16).collect(),
        placement,
    })
}

/// The block of a device with zones: the mapping unit, because zones are written in whole mapping units.
fn unit_shift(resolved: &ResolvedDevice) -> Option<u8> {
    let sectors = resolved.geometry.sectors;
    let shift = SECTOR_SHIFT + sectors.trailing_zeros() as u8;
    (sectors.is_power_of_two() && BLOCKS.contains(&shift)).then_some(shift)
}

fn zones(resolved: &ResolvedDevice) -> Option<Zones> {
    let shape = resolved.zones?;
    // A block is a mapping unit, so zones are counted in mapping units.
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

fn placement(resolved: &ResolvedDevice) -> Option<Placement> {
    let fdp = resolved.spec.ftl.fdp.as_ref()?;
    Some(Placement {
        reclaim_groups: fdp.reclaim_groups as u16,
        handles: vec![fdp.isolation == ssd::Isolation::Persistent; fdp.handles.into()],
        reclaim_unit: 0,
    })
}

/// Streams of the streams directive, of a drive that places data by the identifiers of its writes. The identifiers begin with 1: stream 0
/// of the model takes the writes without one.
fn streams(resolved: &ResolvedDevice) -> u16 {
    match &resolved.spec.ftl.streams.host {
        HostStreamsSpec::PlacementId { streams } => streams - 1,
        _ => 0,
    }
}

/// The operational power states, if all drives have equal states; otherwise state 0 alone, in which each drive is as it
/// was described.
fn power_states(devices: &[&Device]) -> Vec<PowerState> {
    let mut states = devices.iter().map(|device| power_states_of(&device.resolved));
    let first = states.next().unwrap_or_else(|| vec![PowerState::default()]);
    if states.all(|other| other == first) { first } else { vec![PowerState::default()] }
}

/// The operational power states of a drive. An idle drive enters the non-operational states by itself, and no host can
/// choose them.
fn power_states_of(resolved: &ResolvedDevice) -> Vec<PowerState> {
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

/// The ends of the band in which a drive throttles, in kelvins: the warning and the critical temperature, of several drives the lowest;
/// 0 without a throttle.
fn temperatures(devices: &[&Device]) -> [u16; 2] {
    let kelvins = |temperature: Temperature| temperature.as_kelvin().round() as u16;
    let thermals = devices.iter().filter_map(|device| device.resolved.spec.power.as_ref()?.thermal.as_ref());
    let throttles = thermals.filter_map(|thermal| thermal.throttle.as_ref());
    let bands = throttles.map(|throttle| [kelvins(throttle.from), kelvins(throttle.to)]);
    bands.reduce(|a, b| [a[0].min(b[0]), a[1].min(b[1])]).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn device(text: &str) -> Device {
        Device::parse(text.to_owned()).unwrap_or_else(|faults| panic!("{faults}"))
    }

    fn described(device: &Device, seed: u64) -> Result<Description, DescriptionError> {
        description(&[device], &Presentation::at("127.0.0.1:4420".parse().expect("an address"), seed))
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
