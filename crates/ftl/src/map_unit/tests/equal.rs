//! Checks that every map unit gives the answers of a plain array, in any interleaving, and answers all questions.

use base::units::{Lpn, Psn, Span, Time};
use proptest::prelude::*;
use proptest::sample::select;

use super::super::backing::Plan;
use super::super::evict::EvictSpec;
use super::super::fmmu::{Fmmu, Sizes};
use super::super::layout::MapLayout;
use super::super::uncached::UncachedMap;
use super::super::{AnyMapUnit, Ask, Asker, Costs, MapTable};
use super::rig::Rig;
use crate::own::Name;

/// Sizes of a small map unit; each map unit uses some of them.
#[derive(Clone, Copy, Debug)]
pub(super) struct Small {
    pub(super) units: u32,
    pub(super) block: u32,
    pub(super) blocks_in_page: u32,
    pub(super) ways: u32,
    pub(super) cmt_sets: u32,
    pub(super) ctp_sets: u32,
    pub(super) cores: u32,
    pub(super) outstanding: u32,
    pub(super) buffers: u32,
    pub(super) queue: u32,
    pub(super) ctp_dirty: u32,
    pub(super) low: u32,
    pub(super) timed: bool,
    pub(super) set_wait_queue: bool,
    pub(super) evict: EvictSpec,
}

impl Small {
    fn layout(&self) -> MapLayout {
        MapLayout::new(self.units, self.block * self.blocks_in_page, self.block)
    }

    fn costs(&self, timed: Costs) -> Costs {
        if self.timed { timed } else { Costs::IDEAL }
    }

    fn plan(&self, costs: Costs, shared_loads: bool) -> Plan {
        Plan {
            layout: self.layout(),
            costs: self.costs(costs),
            cores: self.cores,
            outstanding: self.outstanding,
            shared_loads,
            blocks: self.cmt_sets * self.ways,
            ways: self.ways,
            evict: self.evict,
        }
    }

    pub(super) fn dftl(&self, shared_loads: bool) -> AnyMapUnit {
        AnyMapUnit::dftl(&self.plan(Costs::DFTL, shared_loads), self.buffers).into()
    }

    pub(super) fn cdftl(&self) -> AnyMapUnit {
        AnyMapUnit::cdftl(&self.plan(Costs::CDFTL, true), self.ctp_sets * self.ways, self.buffers).into()
    }

    pub(super) fn fmmu(&self) -> Fmmu {
        let (cmt_blocks, ctp_blocks) = (self.cmt_sets * self.ways, self.ctp_sets * self.ways);
        let low = self.low.min(cmt_blocks - 1);
        let sizes = Sizes {
            layout: self.layout(),
            cmt_blocks,
            cmt_ways: self.ways,
            ctp_blocks,
            ctp_ways: self.ways,
            evict: self.evict,
            low,
            high: (2 * low).clamp(low + 1, cmt_blocks),
            batch: 2,
            window: 3,
            ctp_dirty: self.ctp_dirty,
            buffers: self.buffers,
            responses: 4,
            queue: self.queue,
            set_wait_queue: self.set_wait_queue,
        };
        Fmmu::new(&sizes, self.costs(Costs::FMMU))
    }

    /// Every map unit of these sizes, with its name.
    fn every(&self) -> [(&'static str, AnyMapUnit); 6] {
        let service = Span::from_ns(if self.timed { 70 } else { 0 });
        [
            ("table", MapTable::new(self.layout(), service).into()),
            ("uncached", UncachedMap::new(self.layout(), service).into()),
            ("dftl", self.dftl(false)),
            ("dftl, shared loads", self.dftl(true)),
            ("cdftl", self.cdftl()),
            ("fmmu", self.fmmu().into()),
        ]
    }
}

/// Policies to draw from: second chance has twice the weight of each other policy, and a formula evicts the most
/// recently used block.
fn every_policy() -> Vec<EvictSpec> {
    let latest = EvictSpec::Score { score: Name::from("dirty + changes - recency") };
    [EvictSpec::SecondChance, latest].into_iter().chain(EvictSpec::every()).collect()
}

fn small() -> impl Strategy<Value = Small> {
    let map = (1u32..80, 1u32..5, 1u32..5);
    let caches = (1u32..4, 1u32..8, 1u32..5);
    let software = (1u32..4, 1u32..6, 1u32..5);
    (map, caches, software, (1u32..5, 0u32..4, 0u32..6, any::<bool>(), any::<bool>()), select(every_policy())).prop_map(
        |(map, caches, software, rest, evict)| Small {
            units: map.0,
            block: map.1,
            blocks_in_page: map.2,
            ways: caches.0,
            cmt_sets: caches.1,
            ctp_sets: caches.2,
            cores: software.0,
            outstanding: software.1,
            buffers: software.2,
            queue: rest.0,
            ctp_dirty: rest.1,
            low: rest.2,
            timed: rest.3,
            set_wait_queue: rest.4,
            evict,
        },
    )
}

/// A question in numbers: its delay after the previous question, its asker, its kind, its mapping unit and its place.
type Raw = (u64, bool, u8, u32, u32);

fn question(rig: &Rig, small: &Small, (_, _, kind, lpn, place): Raw) -> Ask {
    let lpn = lpn % small.units;
    match kind {
        0 | 1 => {
            let room = (small.block - lpn % small.block).min(small.units - lpn);
            Ask::Lookup { first: Lpn::new(lpn), count: 1 + place % room }
        }
        2..=4 => Ask::Update { lpn: Lpn::new(lpn), to: Some(Psn::new(place)) },
        5 => Ask::Update { lpn: Lpn::new(lpn), to: None },
        _ => {
            let from = if kind == 6 { Some(Psn::new(place % 7)) } else { rig.plain[lpn as usize] };
            Ask::CondUpdate { lpn: Lpn::new(lpn), from: from.unwrap_or(Psn::new(1)), to: Psn::new(place + 1) }
        }
    }
}

/// Asks a map unit all questions, and compares the answers with a plain array.
fn compare(
    (name, unit): (&str, AnyMapUnit),
    small: &Small,
    raw: &[Raw],
    latency: Span,
    written: bool,
    flush_at: usize,
) {
    let rig = Rig::new(unit, small.units, small.block * small.blocks_in_page, latency, raw.len() as u64);
    let mut rig = if written { rig.written(|lpn| lpn + 1_000) } else { rig };
    rig.loads_twice = name == "dftl";
    for (i, one) in raw.iter().enumerate() {
        let at = rig.now + Span::from_ns(one.0);
        assert!((0..100_000).any(|_| !rig.step(at)), "the map unit never becomes idle");
        rig.now = at;
        if i == flush_at {
            rig.begin_flush();
        }
        let ask = question(&rig, small, *one);
        rig.ask(if one.1 { Asker::Host } else { Asker::Collector }, ask);
    }
    rig.run_until_idle();
    rig.check();
    // Pages on their way to flash can be read at any time.
    rig.begin_flush();
    while rig.step(Time::MAX) {
        rig.check();
    }
    rig.flush();
    let counters = rig.counters();
    assert_eq!(counters.questions, raw.len() as u64);
    assert_eq!(counters.cmt_hits + counters.cmt_misses, counters.questions);
}

proptest! {
    #[test]
    fn every_map_unit_answers_like_a_plain_array(
        small in small(),
        raw in prop::collection::vec((0u64..3_000, any::<bool>(), 0u8..8, 0u32..80, 0u32..50), 1..120),
        (together, latency, written, flush_at) in (any::<bool>(), 0u64..100, any::<bool>(), 0usize..200),
    ) {
        // Questions come one by one, or all at once.
        let raw: Vec<_> = raw.into_iter().map(|raw| (if together { 0 } else { raw.0 }, raw.1, raw.2, raw.3, raw.4)).collect();
        for (name, unit) in small.every() {
            let latency = Span::from_us(latency);
            let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| compare((name, unit), &small, &raw, latency, written, flush_at)));
            prop_assert!(result.is_ok(), "{name}");
        }
    }
}
