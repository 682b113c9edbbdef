//! Policies that the swarm draws: evictions of map entries, placement by a formula, the pace of collection.

use base::engine::Rng;
use base::units::Span;
use ftl::map_unit::EvictSpec;
use ftl::{CollectionWindow, FtlKind, PaceSpec};
use ssd::{Digits, PlacementSpec, Spec};

use super::pick;
use crate::conformance::evicting;

/// Changes each policy of a page-mapped drive in some of the cases, independently of the others.
pub(super) fn with_policies(spec: &mut Spec, rng: &mut Rng) {
    let [evicts, places, paces] = [0.5, 0.15, 0.3].map(|share| rng.chance(share));
    if spec.ftl.kind != FtlKind::Page {
        return;
    }
    if evicts && let Some(map) = evicting(spec.ftl.map, pick(rng, &EvictSpec::every())) {
        spec.ftl.map = map;
    }
    if places {
        let uneven = PlacementSpec::Score { score: "collecting - pool".into(), order: Digits::default() };
        spec.ftl.placement = pick(rng, &[PlacementSpec::sample_score(Digits::default()), uneven]);
    }
    if paces {
        spec.ftl.gc.pace = pick(
            rng,
            &[
                PaceSpec::sample(),
                PaceSpec::Formula { copies: "0".into() },
                PaceSpec::Window(CollectionWindow { length: Span::from_ms(3), of: 2, turn: 1 }),
            ],
        );
        let start = spec.ftl.gc.start + rng.below(3) as u32;
        (spec.ftl.gc.start, spec.ftl.gc.stop) = (start, start + 1);
    }
}
