//! The present values of the drives, for log pages. They are made from the counters of the engine.
//!
//! What the model does not know is 0, which the standard has for "not reported" or for counters that never moved:
//!
//! * the temperature of a drive without a thermal model, and the minutes above its thresholds;
//! * minutes busy, of a drive without `[power]`;
//! * the estimate of the endurance in bytes.
//!
//! Times are simulated. Counters of hosts begin when the drive is served; counters of the media with the drive, preconditioning not
//! included; those of Flexible Data Placement begin anew at power-on. Copy counts as reads and writes, because the drive carries it
//! out as such.

use base::units::{SECTOR, Time};
use flash::backend::Op;
use nvme::{Health, PlacementEvent, PlacementEventKind, PlacementStatistics};
use ssd::{Counters, FdpEvent, FdpEventKind, ResolvedDevice};

use crate::engine::{APPEND, Observation, READ, WRITE};

/// Available spare below which the drive warns, in percent. Assumed: a common value of drives.
const SPARE_THRESHOLD: u8 = 10;

/// The values of all drives, in the order of the identifiers of their namespaces, which begin with 1.
#[derive(Clone, Debug, Default)]
pub(super) struct Values(pub(super) Vec<DriveValues>);

/// The values of a drive for its log pages.
#[derive(Clone, Debug, Default)]
pub(super) struct DriveValues {
    health: Health,
    blocks: u64,
    statistics: PlacementStatistics,
    handles: Vec<bool>,
    /// The placement events, the latest first.
    events: Vec<PlacementEvent>,
}

impl DriveValues {
    pub(super) fn of(seen: &Observation, resolved: &ResolvedDevice, (namespace, blocks): (u32, u64)) -> Self {
        let fdp = seen.counters.fdp.as_deref();
        let events = fdp.map_or(&[][..], |fdp| &fdp.log).iter().rev();
        let events = events.map(|event| placement_event(event, resolved, namespace));
        Self {
            health: health(seen, resolved),
            blocks,
            statistics: fdp.map_or_else(PlacementStatistics::default, |fdp| PlacementStatistics {
                host_bytes: u128::from(seen.counters.sectors_written()) * u128::from(SECTOR.get()),
                media_bytes: programmed(&seen.counters, resolved),
                erased_bytes: u128::from(fdp.erased) * unit(resolved),
            }),
            // The namespace uses all handles.
            handles: fdp.map_or_else(Vec::new, |fdp| vec![true; fdp.handles.len()]),
            events: events.collect(),
        }
    }
}

/// Bytes of a mapping unit.
fn unit(resolved: &ResolvedDevice) -> u128 {
    u128::from(resolved.geometry.sectors) * u128::from(SECTOR.get())
}

/// Bytes that the media have programmed or copied.
fn programmed(counters: &Counters, resolved: &ResolvedDevice) -> u128 {
    let slots = counters.flash.op(Op::Program).slots + counters.flash.op(Op::CopyBack).slots;
    let slc = counters.slc_array.as_ref().map_or(0, |slc| slc.flash.op(Op::Program).slots);
    // A slot of an SLC array is a sector, not a mapping unit.
    u128::from(slots) * unit(resolved) + u128::from(slc) * u128::from(SECTOR.get())
}

/// The spare capacity in percent of the initial one: the capacity that the host cannot write, less the blocks that went bad since
/// the drive was first served.
fn spare(seen: &Observation, resolved: &ResolvedDevice) -> u8 {
    let extra = resolved.raw_capacity().get().saturating_sub(resolved.writable().get());
    let geometry = &resolved.geometry;
    let block = u64::from(geometry.slot_count()) / u64::from(geometry.block_count()).max(1);
    let bad = seen.counters.bad_blocks.saturating_sub(seen.start.bad_blocks);
    let lost = u128::from(bad) * u128::from(block) * unit(resolved);
    let left = u128::from(extra).saturating_sub(lost);
    (left * 100 / u128::from(extra).max(1)).min(100) as u8
}

fn health(seen: &Observation, resolved: &ResolvedDevice) -> Health {
    let power = seen.counters.power.as_deref();
    let kelvins = |celsius: f64| (celsius + 273.15).round().max(0.0) as u16;
    let bytes = |kind: usize| u128::from(seen.kinds[kind].sectors.bytes().get());
    let done = |kind: usize| u128::from(seen.kinds[kind].done);
    let wear = seen.wear.as_ref();
    let used = wear.map_or(0.0, |wear| wear.mean * 100.0 / f64::from(wear.rated.max(1)));
    Health {
        degraded: seen.raid.as_ref().is_some_and(|raid| raid.failed > 0),
        read_only: seen.health.read_only,
        temperature: power.and_then(|power| power.celsius).map_or(0, |[present, _]| kelvins(present)),
        spare: spare(seen, resolved),
        spare_threshold: SPARE_THRESHOLD,
        used: used.min(255.0) as u8,
        bytes_read: bytes(READ),
        bytes_written: bytes(WRITE) + bytes(APPEND),
        media_bytes_written: programmed(&seen.counters, resolved),
        reads: done(READ),
        writes: done(WRITE) + done(APPEND),
        busy_minutes: power.map_or(0, |power| (power.active.as_secs_f64() / 60.0) as u128),
        power_cycles: seen.power_ons.into(),
        power_on_hours: (hours(seen.now)) as u128,
        unsafe_shutdowns: seen.power_cuts.into(),
        media_errors: seen.health.uncorrectable_requests.into(),
        warning_minutes: 0,
        critical_minutes: 0,
        endurance_bytes: 0,
    }
}

fn hours(at: Time) -> f64 {
    at.as_secs_f64() / 3600.0
}

fn placement_event(event: &FdpEvent, resolved: &ResolvedDevice, namespace: u32) -> PlacementEvent {
    let blocks = u64::from(event.units) * u64::from(resolved.geometry.sectors);
    let kind = match event.kind {
        FdpEventKind::NotFullyWritten => PlacementEventKind::NotFullyWritten,
        FdpEventKind::InvalidIdentifier => PlacementEventKind::InvalidPlacementId,
        FdpEventKind::MediaReallocated => {
            PlacementEventKind::MediaReallocated { moved: blocks.min(u16::MAX.into()) as u16, lba: None }
        }
    };
    let is_identifier = event.kind == FdpEventKind::InvalidIdentifier;
    PlacementEvent {
        kind,
        milliseconds: event.at.as_ps() / 1_000_000_000,
        identifier: event.number.filter(|_| is_identifier),
        namespace: Some(namespace),
        location: event.number.filter(|_| !is_identifier).map(|handle| (0, handle as u8)),
    }
}

/// The SMART values of two drives of one subsystem: sums of the counters of bytes and commands; times and states of the drive that
/// is worse off.
fn together(a: Health, b: Health) -> Health {
    Health {
        degraded: a.degraded || b.degraded,
        read_only: a.read_only || b.read_only,
        temperature: a.temperature.max(b.temperature),
        spare: a.spare.min(b.spare),
        spare_threshold: SPARE_THRESHOLD,
        used: a.used.max(b.used),
        bytes_read: a.bytes_read + b.bytes_read,
        bytes_written: a.bytes_written + b.bytes_written,
        media_bytes_written: a.media_bytes_written + b.media_bytes_written,
        reads: a.reads + b.reads,
        writes: a.writes + b.writes,
        busy_minutes: a.busy_minutes.max(b.busy_minutes),
        power_cycles: a.power_cycles.max(b.power_cycles),
        power_on_hours: a.power_on_hours.max(b.power_on_hours),
        unsafe_shutdowns: a.unsafe_shutdowns.max(b.unsafe_shutdowns),
        media_errors: a.media_errors + b.media_errors,
        warning_minutes: a.warning_minutes.max(b.warning_minutes),
        critical_minutes: a.critical_minutes.max(b.critical_minutes),
        endurance_bytes: a.endurance_bytes + b.endurance_bytes,
    }
}

impl Values {
    /// The values of the drive of a namespace; none for an unknown identifier, and before the first observation.
    fn of(&self, namespace: u32) -> Option<&DriveValues> {
        self.0.get((namespace as usize).checked_sub(1)?)
    }
}

impl nvme::Drives for Values {
    fn health(&self) -> Health {
        self.0.iter().map(|drive| drive.health).reduce(together).unwrap_or_default()
    }

    fn drive_health(&self, namespace: u32) -> Health {
        self.of(namespace).map_or_else(Health::default, |drive| drive.health)
    }

    /// All blocks: a drive may always report its whole size (NVM 1.0, figure 97, NUSE).
    fn used_blocks(&self, namespace: u32) -> u64 {
        self.of(namespace).map_or(0, |drive| drive.blocks)
    }

    fn placement_statistics(&self, namespace: u32) -> PlacementStatistics {
        self.of(namespace).map_or_else(PlacementStatistics::default, |drive| drive.statistics)
    }

    fn handles_in_use(&self, namespace: u32) -> Vec<bool> {
        self.of(namespace).map_or_else(Vec::new, |drive| drive.handles.clone())
    }

    fn placement_events(&self, namespace: u32, of_host: bool) -> Vec<PlacementEvent> {
        let is_of_host =
            |kind| matches!(kind, PlacementEventKind::NotFullyWritten | PlacementEventKind::InvalidPlacementId);
        let events = self.of(namespace).map_or(&[][..], |drive| &drive.events);
        events.iter().filter(|event| is_of_host(event.kind) == of_host).copied().collect()
    }
}
