//! Checks the concurrency of map units, the begin and end of flushes, and the turns of host and garbage collection.

use base::units::{Bytes, Lpn, Psn, Span};

use super::super::EvictSpec;
use super::super::{AnyMapUnit, Ask, Asker, CdftlSpec, DftlSpec, FmmuSpec, MapSpec, MapUnit};
use super::equal::Small;
use super::rig::Rig;

fn published(spec: MapSpec, units: u32) -> Rig {
    Rig::new(AnyMapUnit::new(&spec, units, Bytes::new(4096)).expect("a map unit"), units, 1024, Span::from_ms(1), 3)
}

fn lookup(lpn: u32) -> Ask {
    Ask::Lookup { first: Lpn::new(lpn), count: 1 }
}

/// The most loads in progress when 200 questions about as many pages come at once.
fn loads_at_most(spec: MapSpec) -> u64 {
    let mut rig = published(spec, 200 * 1024);
    (0..200).for_each(|page| {
        // The blocks of the pages have different offsets, so that they use different sets of the CMT.
        rig.ask(Asker::Host, lookup(page * 1024 + page * 7 % 64 * 16));
    });
    rig.run_until_idle();
    rig.check();
    rig.counters().loads_at_most
}

#[test]
fn fmmu_has_as_many_misses_outstanding_as_there_are_chips() {
    // Sec. 6: as many loads as flash chips (128 in Sec. 5.1). In software, one load for each core that waits.
    assert_eq!(loads_at_most(MapSpec::Fmmu(FmmuSpec::PUBLISHED)), 200);
    for cores in [1, 2, 4] {
        let dftl = DftlSpec { cores, ..DftlSpec::PUBLISHED };
        let cdftl = CdftlSpec { cores, ..CdftlSpec::PUBLISHED };
        assert_eq!(loads_at_most(MapSpec::Dftl(dftl)), u64::from(cores));
        assert_eq!(loads_at_most(MapSpec::Cdftl(cdftl)), u64::from(cores));
        let many = DftlSpec { outstanding: 128 / cores, ..dftl };
        assert!(loads_at_most(MapSpec::Dftl(many)) >= 128);
    }
}

#[test]
fn one_load_answers_all_requests_that_wait_for_its_page() {
    let mut rig = published(MapSpec::Fmmu(FmmuSpec::PUBLISHED), 1024);
    (0..300).for_each(|i| {
        rig.ask(Asker::Host, lookup(i * 16 % 1024 + i / 64));
    });
    rig.run_until_idle();
    let counters = rig.counters();
    assert_eq!((counters.questions, counters.loads), (300, 1));
    assert_eq!((counters.cmt_misses, counters.ctp_misses), (300, 64));
    assert_eq!(counters.mshrs_at_most, [300, 64]);
}

#[test]
fn each_block_that_misses_is_loaded_by_itself_unless_loads_are_shared() {
    for (shared_loads, loads) in [(false, 4), (true, 1)] {
        let dftl = DftlSpec { outstanding: 64, shared_loads, ..DftlSpec::PUBLISHED };
        let mut rig = published(MapSpec::Dftl(dftl), 1024);
        rig.loads_twice = !shared_loads;
        (0..64).for_each(|lpn| {
            rig.ask(Asker::Host, lookup(lpn));
        });
        rig.run_until_idle();
        let counters = rig.counters();
        assert_eq!((counters.questions, counters.loads, counters.cmt_misses), (64, loads, 4));
    }
}

const SMALL: Small = Small {
    units: 640,
    block: 2,
    blocks_in_page: 2,
    ways: 4,
    cmt_sets: 4,
    ctp_sets: 40,
    cores: 1,
    outstanding: 1,
    buffers: 1,
    queue: 4,
    ctp_dirty: 3,
    low: 4,
    timed: true,
    set_wait_queue: true,
    evict: EvictSpec::SecondChance,
};

fn update(rig: &mut Rig, page: u32) {
    // The block is 2 * page, or 2 * page + 1 for odd pages. Its set is that number modulo 4, so all sets are used.
    let lpn = Lpn::new(page * 4 + page % 2 * 2);
    rig.ask(Asker::Host, Ask::Update { lpn, to: Some(Psn::new(page)) });
    rig.run_until_idle();
}

#[test]
fn flushes_begin_at_the_low_watermark_and_end_at_the_high_one() {
    let mut rig = Rig::new(SMALL.fmmu(), SMALL.units, 4, Span::from_us(50), 1);
    // 16 blocks, low 4, high 8. Blocks 0, 4, 8... are in set 0, and so on: no set is full before the watermark.
    for block in 0..11 {
        rig.ask(Asker::Host, Ask::Update { lpn: Lpn::new(block * 2), to: Some(Psn::new(block)) });
        rig.run_until_idle();
    }
    assert_eq!(rig.counters().flushed_blocks, 0, "five are clean");
    rig.ask(Asker::Host, Ask::Update { lpn: Lpn::new(22), to: None });
    rig.run_until_idle();
    assert_eq!(rig.counters().flushed_blocks, 4, "eight are clean");
    assert_eq!(rig.counters().flushes, 2, "two pages of two blocks");
    assert_eq!(rig.counters().stores, 0, "at most three pages of the CTP are dirty");
    rig.check();
    rig.flush();
    assert_eq!(rig.counters().stores, 6, "each page once");
}

#[test]
fn dirty_pages_are_stored_first_in_first_out() {
    let mut rig = Rig::new(SMALL.fmmu(), SMALL.units, 4, Span::from_us(50), 1);
    (0..60).for_each(|page| update(&mut rig, page));
    let stores = |rig: &Rig| {
        let pages = rig.issued.iter().filter_map(|job| match job {
            super::super::Job::Store(tvpn) => Some(*tvpn),
            super::super::Job::Load(_) | super::super::Job::LoadPart { .. } => None,
        });
        pages.collect::<Vec<_>>()
    };
    let (first, flushed) = (stores(&rig), rig.counters().flushed_blocks);
    assert_eq!(first.len() as u64, flushed - 3, "three dirty pages are kept");
    rig.flush();
    assert_eq!(stores(&rig)[..first.len()], first);
    assert_eq!(rig.counters().stores, 60);
}

#[test]
fn the_collector_gets_turns_by_its_weight() {
    for (valid, expected) in [(0, 2), (64, 8), (128, 16), (240, 30)] {
        let mut rig = published(MapSpec::Fmmu(FmmuSpec::PUBLISHED), 1024);
        rig.ask(Asker::Host, lookup(0));
        rig.run_until_idle();
        rig.unit.set_collector_weight(valid, 256);
        for i in 0..120 {
            rig.ask(if i < 60 { Asker::Host } else { Asker::Collector }, lookup(0));
        }
        rig.run_until_idle();
        // Of the host's requests, one starts before the others arrive, in the round of the old weights.
        let collected = rig.answered[3..35].iter().filter(|(ticket, _)| ticket.0 > 60).count();
        assert!(collected.abs_diff(expected) <= 2, "{collected} of 32 turns with {valid} valid mapping units");
    }
}

#[test]
fn a_request_in_the_set_wait_queue_delays_no_other_set() {
    // Pages 0 and 2 share the one block of set 0, page 1 has the other set.
    for (set_wait_queue, order) in [(true, [0, 1, 2]), (false, [0, 2, 1])] {
        let small = Small { ways: 1, cmt_sets: 16, ctp_sets: 2, low: 0, set_wait_queue, ..SMALL };
        let mut rig = Rig::new(small.fmmu(), small.units, 4, Span::from_us(50), 1);
        for page in [0, 2, 1] {
            rig.ask(Asker::Host, lookup(page * 4));
        }
        rig.run_until_idle();
        let loads = rig.issued.iter().filter_map(|job| match job {
            super::super::Job::Load(tvpn) | super::super::Job::LoadPart { page: tvpn, .. } => Some(*tvpn),
            super::super::Job::Store(_) => None,
        });
        assert_eq!(loads.collect::<Vec<_>>(), order, "set wait queue: {set_wait_queue}");
        assert_eq!(rig.answered.len(), 3);
    }
}
