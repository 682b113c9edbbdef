//! Garbage collection: empties one zone after another.
//!
//! A victim goes through four stages: its valid units are copied, a flush makes the copies durable, reads that need the
//! zone end, and the zone is reset. [`Collector::next`] returns the next step; the layer carries it out, and reports
//! its end.

use base::units::SECTOR;
use ssd::{TranslationSpec, ZoneGcSpec};

use crate::log::{Log, UnitMetadata};

/// The stage of the collection of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Stage {
    /// No zone is being collected.
    Idle,
    /// Valid units are copied. The next one to check is at place `next` of the zone.
    Copying { zone: u32, next: u32 },
    /// A flush makes the copies durable.
    Flushing,
    /// Reads of users that began before the copies still need the zone.
    Draining { zone: u32 },
    /// The zone is reset.
    Resetting,
}

/// A step that the layer has to carry out.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum CollectionStep {
    /// Copies units from consecutive places, of which `from` is the first.
    Copy { from: u32, records: Vec<UnitMetadata> },
    /// Makes the copies of a zone durable.
    Barrier { zone: u32 },
    /// Resets the emptied zone.
    Reset { zone: u32 },
}

/// The state of collection.
#[derive(Clone, Debug)]
pub(crate) struct Collector {
    spec: ZoneGcSpec,
    stage: Stage,
    /// The number of copies under way.
    copies: u32,
    /// True if a unit of the zone has been copied.
    has_copied: bool,
    /// True while zones are collected: from `start` free zones on until `stop` are free.
    is_on: bool,
    /// The number of free zones at which collection starts, including those that only copies may use.
    start: u32,
    stop: u32,
    /// The most units of a copy.
    piece: usize,
    /// The number of zones that were emptied by copies.
    pub(crate) collected: u64,
    /// The number of zones without valid units, which were reset at once.
    pub(crate) dead: u64,
    /// True with a planted bug, which does not wait for copies.
    forgets_copies: bool,
}

impl Collector {
    pub(crate) const fn new(spec: &TranslationSpec, log: &Log, forgets_copies: bool) -> Self {
        let ZoneGcSpec { start, stop, piece, victim, parallel } = spec.gc;
        Self {
            spec: ZoneGcSpec { start, stop, piece, victim, parallel },
            stage: Stage::Idle,
            copies: 0,
            has_copied: false,
            is_on: false,
            start: spec.zones_per_stream + start,
            stop: spec.zones_per_stream + stop,
            piece: (piece.get() / (log.unit() * SECTOR.get())) as usize,
            collected: 0,
            dead: 0,
            forgets_copies,
        }
    }

    /// True if a zone must be collected while `free` zones are free.
    const fn is_needed(&mut self, free: u32) -> bool {
        self.is_on = free <= self.start || self.is_on && free < self.stop;
        self.is_on
    }

    /// The next step; `None` if an event must come first.
    pub(crate) fn next(&mut self, log: &Log) -> Option<CollectionStep> {
        loop {
            match self.stage {
                Stage::Idle => {
                    let needed = self.is_needed(log.free_zones());
                    let zone = log.victim(self.spec.victim).filter(|_| needed)?;
                    (self.stage, self.has_copied) = (Stage::Copying { zone, next: 0 }, false);
                }
                Stage::Copying { zone, next } if next == log.shape().data => {
                    if self.copies > 0 && !self.forgets_copies {
                        return None;
                    }
                    *(if self.has_copied { &mut self.collected } else { &mut self.dead }) += 1;
                    self.stage = Stage::Flushing;
                    return Some(CollectionStep::Barrier { zone });
                }
                Stage::Copying { .. } if self.copies == self.spec.parallel => return None,
                Stage::Copying { zone, next } => {
                    let (first, records) = log.valid_run(zone, next, self.piece);
                    self.stage = Stage::Copying { zone, next: first + records.len() as u32 };
                    if !records.is_empty() {
                        (self.copies, self.has_copied) = (self.copies + 1, true);
                        return Some(CollectionStep::Copy { from: log.place(zone, first), records });
                    }
                }
                Stage::Draining { zone } if log.zone(zone).reads == 0 => {
                    self.stage = Stage::Resetting;
                    return Some(CollectionStep::Reset { zone });
                }
                Stage::Flushing | Stage::Draining { .. } | Stage::Resetting => return None,
            }
        }
    }

    /// Reports that a copy has ended.
    pub(crate) const fn has_copied(&mut self) {
        self.copies -= 1;
    }

    /// Reports that the copies of a zone are durable.
    pub(crate) const fn has_flushed(&mut self, zone: u32) {
        self.stage = Stage::Draining { zone };
    }

    /// Reports that the zone has been reset, or could not be.
    pub(crate) const fn has_reset(&mut self) {
        self.stage = Stage::Idle;
    }

    /// Drops the work under way at a power loss.
    pub(crate) const fn lose_power(&mut self) {
        (self.stage, self.copies, self.is_on) = (Stage::Idle, 0, false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssd::{TranslationShape, ZoneShape};

    fn log() -> Log {
        let zones = ZoneShape { zones: 4, size: 8, capacity: 5, max_active: 2, max_open: 2, zrwa: None };
        Log::new(TranslationShape { zones, data: 4, units: 8 }, 8)
    }

    fn collector(start: u32, stop: u32) -> Collector {
        let gc = ZoneGcSpec { start, stop, parallel: 1, piece: SECTOR * 16, ..ZoneGcSpec::default() };
        Collector::new(&TranslationSpec { zones_per_stream: 2, gc, ..TranslationSpec::default() }, &log(), false)
    }

    #[test]
    fn collection_goes_on_until_enough_zones_are_free() {
        let mut collector = collector(1, 3);
        let needed: Vec<bool> = [9, 4, 3, 4, 5, 4, 3].into_iter().map(|free| collector.is_needed(free)).collect();
        assert_eq!(needed, [false, false, true, true, false, false, true]);
    }

    #[test]
    fn a_zone_is_reset_behind_its_copies_a_flush_and_the_last_read() {
        let (mut collector, mut log) = (collector(1, 3), log());
        let zone = log.open().expect("free");
        for unit in [0, 1, 2, 1] {
            let at = log.zone(zone).taken;
            log.zone_mut(zone).taken += 1;
            log.record(log.place(zone, at), UnitMetadata { unit, version: at + 1 });
        }
        (log.zone_mut(zone).usage, log.zone_mut(zone).reads) = (crate::log::Usage::Full, 1);
        let copy = |from, units: &[u32]| {
            let records =
                units.iter().map(|unit| UnitMetadata { unit: *unit, version: if *unit == 1 { 4 } else { unit + 1 } });
            Some(CollectionStep::Copy { from, records: records.collect() })
        };
        // The first version of unit 1 is not valid; copies have at most two units, and one is under way at a time.
        assert_eq!(collector.next(&log), copy(0, &[0]));
        assert_eq!(collector.next(&log), None);
        collector.has_copied();
        assert_eq!(collector.next(&log), copy(2, &[2, 1]));
        assert_eq!(collector.next(&log), None, "the zone is done, and a copy is under way");
        collector.has_copied();
        assert_eq!(collector.next(&log), Some(CollectionStep::Barrier { zone }));
        assert_eq!(collector.next(&log), None);
        collector.has_flushed(zone);
        assert_eq!(collector.next(&log), None, "a read needs the zone");
        log.zone_mut(zone).reads = 0;
        assert_eq!(collector.next(&log), Some(CollectionStep::Reset { zone }));
        assert_eq!((collector.collected, collector.dead), (1, 0));
    }
}
