//! The present values of the drive, as log pages have them. They come from the counters of the engine.
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
use ssd::{Counters, FdpEvent, FdpEventKind, Resolved};

use super::description::NAMESPACE;
use crate::engine::{APPEND, Observation, READ, WRITE};

/// Available spare below which the drive warns, in percent. Assumed: what many drives have.
const SPARE_THRESHOLD: u8 = 10;

/// What the log pages of the drive are made from.
#[derive(Clone, Debug, Default)]
pub(super) struct Values {
    health: Health,
    blocks: u64,
    statistics: PlacementStatistics,
    handles: Vec<bool>,
    /// The latest first.
    events: Vec<PlacementEvent>,
}

impl Values {
    /// The values of a moment, of a namespace with so many blocks.
    pub(super) fn of(seen: &Observation, resolved: &Resolved, blocks: u64) -> Self {
        let fdp = seen.counters.fdp.as_deref();
        let events = fdp.map_or(&[][..], |fdp| &fdp.log).iter().rev().map(|event| placement_event(event, resolved));
        Self {
            health: health(seen, resolved),
            blocks,
            statistics: fdp.map_or_else(PlacementStatistics::default, |fdp| PlacementStatistics {
                host_bytes: u128::from(seen.counters.sectors_written()) * u128::from(SECTOR.get()),
                media_bytes: programmed(&seen.counters, resolved),
                erased_bytes: u128::from(fdp.erased) * unit(resolved),
            }),
            // The namespace has all of them.
            handles: fdp.map_or_else(Vec::new, |fdp| vec![true; fdp.handles.len()]),
            events: events.collect(),
        }
    }
}

/// Bytes of a mapping unit.
fn unit(resolved: &Resolved) -> u128 {
    u128::from(resolved.geometry.sectors) * u128::from(SECTOR.get())
}

/// Bytes that the media have programmed and copied.
fn programmed(counters: &Counters, resolved: &Resolved) -> u128 {
    let slots = counters.flash.op(Op::Program).slots + counters.flash.op(Op::CopyBack).slots;
    let slc = counters.slc_array.as_ref().map_or(0, |slc| slc.flash.op(Op::Program).slots);
    // A slot of an SLC array is a sector.
    u128::from(slots) * unit(resolved) + u128::from(slc) * u128::from(SECTOR.get())
}

/// The percentage of the blocks beyond what the host can write that have not gone bad since the drive was served.
fn spare(seen: &Observation, resolved: &Resolved) -> u8 {
    let extra = resolved.raw_capacity().get().saturating_sub(resolved.writable().get());
    let geometry = &resolved.geometry;
    let block = u64::from(geometry.slot_count()) / u64::from(geometry.block_count()).max(1);
    let bad = seen.counters.bad_blocks.saturating_sub(seen.start.bad_blocks);
    let lost = u128::from(bad) * u128::from(block) * unit(resolved);
    let left = u128::from(extra).saturating_sub(lost);
    (left * 100 / u128::from(extra).max(1)).min(100) as u8
}

fn health(seen: &Observation, resolved: &Resolved) -> Health {
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

fn placement_event(event: &FdpEvent, resolved: &Resolved) -> PlacementEvent {
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
        namespace: Some(NAMESPACE),
        location: event.number.filter(|_| !is_identifier).map(|handle| (0, handle as u8)),
    }
}

impl nvme::Drive for Values {
    fn health(&self) -> Health {
        self.health
    }

    /// All, as a drive may always say that does not promise more blocks than it has (NVM 1.0, figure 97, NUSE).
    fn used_blocks(&self, _: u32) -> u64 {
        self.blocks
    }

    fn placement_statistics(&self) -> PlacementStatistics {
        self.statistics
    }

    fn handles_in_use(&self) -> Vec<bool> {
        self.handles.clone()
    }

    fn placement_events(&self, of_host: bool) -> Vec<PlacementEvent> {
        let is_of_host =
            |kind| matches!(kind, PlacementEventKind::NotFullyWritten | PlacementEventKind::InvalidPlacementId);
        self.events.iter().filter(|event| is_of_host(event.kind) == of_host).copied().collect()
    }
}
