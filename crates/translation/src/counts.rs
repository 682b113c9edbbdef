//! The counters of the translation.

use base::units::Time;
use ssd::{Counters, HostCounts, TranslationCounters};

use crate::collector::Collector;
use crate::log::Log;

/// Counters of requests of users, and of the translation's own work.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    pub(crate) users: HostCounts,
    /// The number of units that reads asked for and that were not mapped.
    pub(crate) unmapped: u64,
    pub(crate) own: TranslationCounters,
}

impl Counts {
    /// Copies the counters of the drive, with the requests of users in place of the drive's.
    pub(crate) fn all(&self, now: Time, below: Counters, log: &Log, collector: &Collector) -> Counters {
        let translation = TranslationCounters {
            free_zones: log.free_zones(),
            collected_zones: collector.collected,
            dead_zones: collector.dead,
            units: u64::from(log.shape().units),
            mapped: log.mapped(),
            ..self.own.clone()
        };
        Counters {
            at: now,
            absorbed_slots: 0,
            unmapped_slots: self.unmapped,
            unmapped_flash_reads: 0,
            translation: Some(Box::new(translation)),
            ..self.users.above(below)
        }
    }
}
