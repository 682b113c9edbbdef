//! Settings with policies of a drive's description: evictions of map entries, placement by a formula, the pace of collection.

use std::borrow::Cow;

use base::units::Span;
use ftl::map_unit::EvictSpec;
use ftl::{CollectionWindow, PaceSpec};
use ssd::{Digits, GcSpec, MapSpec, PlacementSpec, Spec};

use super::{Book, buffer, set_planes};

/// A pace by which a pool never collects before it must.
const NEVER: PaceSpec = PaceSpec::Formula { copies: Cow::Borrowed("0") };

/// Returns the map with an eviction policy; `None` if it has no cache.
#[must_use]
pub(crate) fn evicting(map: MapSpec, evict: EvictSpec) -> Option<MapSpec> {
    Some(match map {
        MapSpec::Dftl(spec) => MapSpec::Dftl(ftl::map_unit::DftlSpec { evict, ..spec }),
        MapSpec::Cdftl(spec) => MapSpec::Cdftl(ftl::map_unit::CdftlSpec { evict, ..spec }),
        MapSpec::Fmmu(spec) => MapSpec::Fmmu(ftl::map_unit::FmmuSpec { evict, ..spec }),
        MapSpec::Ram | MapSpec::Table { .. } | MapSpec::Uncached { .. } | MapSpec::Own(_) => return None,
    })
}

impl Book {
    pub(super) fn evictions(&mut self) {
        for evict in EvictSpec::every().into_iter().filter(|evict| *evict != EvictSpec::default()) {
            let Some(map) = evicting(self.map, evict) else { return };
            let name = format!("{evict:?}").split(' ').next().unwrap_or_default().to_owned();
            self.add(format!("evicts, {name}"), |spec| spec.ftl.map = map);
            self.add(format!("evicts, {name}, buffered"), |spec| {
                (spec.ftl.map, spec.buffer) = (map, Some(buffer(8, 0.5, 0.25)));
            });
        }
    }

    /// Adds settings of placement by a formula. Unlike the formulas of the swarm, one of them sends all data to one
    /// pool as long as it has room.
    pub(super) fn placements(&mut self) {
        let order = Digits::default();
        let sample = PlacementSpec::sample_score(order);
        let uneven = PlacementSpec::Score { score: Cow::Borrowed("-pool"), order };
        self.add("placement by a formula", |spec| spec.ftl.placement = sample.clone());
        self.add("placement by a formula, one pool after another", |spec| spec.ftl.placement = uneven.clone());
        self.add("placement by a formula, buffered", |spec| {
            (spec.ftl.placement, spec.buffer) = (sample.clone(), Some(buffer(8, 0.5, 0.25)));
        });
        self.add("placement by a formula, one pool after another, buffered", |spec| {
            (spec.ftl.placement, spec.buffer) = (uneven.clone(), Some(buffer(8, 1.0, 1.0)));
        });
        self.part("placement by a formula, one-shot programs on two planes", |part, _| {
            part.timing.one_shot = 2;
            set_planes(part, 2);
        });
        self.settings.last_mut().expect("just added").spec.ftl.placement = sample.clone();
        self.add("placement by a formula, chopped requests", |spec| {
            (spec.ftl.placement, spec.host.chop) = (sample, Some(base::units::Bytes::new(2048)));
        });
    }

    pub(super) fn collection_windows(&mut self) {
        let pace = PaceSpec::Window(CollectionWindow { length: Span::from_ms(2), of: 3, turn: 1 });
        let windows =
            |spec: &mut Spec| spec.ftl.gc = GcSpec { pace, start: 3, stop: 4, parallel: 3, ..GcSpec::default() };
        self.add("pace, windows", windows);
    }

    pub(super) fn paces(&mut self) {
        let paced = |pace: PaceSpec| {
            move |spec: &mut Spec| spec.ftl.gc = GcSpec { pace, start: 3, stop: 4, parallel: 3, ..GcSpec::default() }
        };
        self.add("pace, a formula", paced(PaceSpec::sample()));
        self.add("pace, never", paced(NEVER));
        self.add("pace, never, buffered", |spec| {
            paced(NEVER)(spec);
            spec.buffer = Some(buffer(8, 0.5, 0.25));
        });
        if self.map.is_paged() {
            return;
        }
        self.add("pace, never, static wear levelling", |spec| {
            paced(NEVER)(spec);
            spec.ftl.wear.threshold = Some(4);
        });
        self.add("pace, never, a shared log", |spec| {
            spec.ftl.gc = GcSpec { pace: NEVER, shared_log: true, ..GcSpec::default() };
        });
        self.add("pace, never, from zero", |spec| {
            spec.ftl.gc = GcSpec { pace: NEVER, start: 0, stop: 1, ..GcSpec::default() };
        });
        self.part("pace, a formula, one-shot programs", |part, _| part.timing.one_shot = 2);
        paced(PaceSpec::sample())(&mut self.settings.last_mut().expect("just added").spec);
    }
}
