//! Tests of placement by a policy.

use base::units::Lpn;

use super::*;
use crate::PageConfig;
use crate::page::PageFtl;
use crate::rig::{Rig, describe};

/// A drive of four pools on two channels, with two mapping units in a page.
fn rig(placement: &str) -> Rig<PageFtl> {
    let (config, array, _) = describe(&format!(
        r"flash = {{ part = 'K9K8G08U0M', channels = 2, chips = 2, blocks = 16, pages = 8, planes = 1 }}
ftl = {{ capacity = '512KiB', map-unit = '1KiB', placement = {placement} }}"
    ));
    Rig::with(config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone(), &array)
}

fn score(text: &str) -> String {
    format!("{{ policy = 'score', score = '{text}' }}")
}

/// Mapping units in each pool after `requests` requests of `units` mapping units, none of which is written again.
fn live(placement: &str, requests: u32, units: u32) -> Vec<u32> {
    let mut rig = rig(placement);
    for request in 0..requests {
        rig.write(&(request * units..(request + 1) * units).collect::<Vec<_>>(), None);
    }
    rig.run_until_idle();
    rig.ftl.blocks.pools.iter().map(|pool| pool.live).collect()
}

#[test]
fn the_highest_score_takes_the_write() {
    assert_eq!(live(&score("-pool"), 3, 4), [12, 0, 0, 0]);
    assert_eq!(live(&score("die == 2"), 3, 4), [0, 0, 12, 0]);
    assert_eq!(live(&score("2 * channel - group"), 1, 4)[..2], [0, 0]);
    assert_eq!(live(&score("if(address < 4096, pool == 1, pool == 3)"), 2, 4), [0, 4, 0, 4]);
    assert_eq!(live(&score("if(size > 1024, pool, -pool)"), 2, 1), [2, 0, 0, 0], "the rig's requests have no size");
    assert_eq!(live(&score("if(stream + queue == 0, pool == 1, 0)"), 2, 1), [0, 2, 0, 0]);
}

#[test]
fn equals_fill_a_program_and_take_turns() {
    for equal in ["0", "0 / 0", "-turn", "free", "-waiting"] {
        assert_eq!(live(&score(equal), 1, 8), [2, 2, 2, 2], "{equal}");
    }
    assert_eq!(live(&score("0"), 4, 1), [1; 4], "each request in turn");
}

#[test]
fn scores_follow_the_state_of_the_pools() {
    for balanced in ["-live", "room", "-promised - live", "-commands - live / 1000", "-channel_commands - live"] {
        let live = live(&score(balanced), 40, 2);
        assert!(live.iter().all(|live| live.abs_diff(20) <= 2), "{balanced}: {live:?}");
    }
}

#[test]
fn a_pool_without_room_is_left_out_and_all_data_survive() {
    for placement in ["-pool", "collecting - filling", "1e9 * (pool == 0) - commands"] {
        let mut rig = rig(&score(placement));
        let units = rig.units();
        (0..units).for_each(|lpn| rig.write(&[lpn], None));
        (0..4 * units).for_each(|i| rig.write(&[i * 7919 % units], None));
        rig.run_until_idle();
        assert_eq!(rig.host.refused, 0, "{placement}");
        rig.with_ftl(|ftl, flash, _| ftl.check(flash.backend.media()));
        let live: u32 = rig.ftl.blocks.pools.iter().map(|pool| pool.live).sum();
        assert_eq!(live, units, "{placement}");
    }
}

#[test]
fn a_policy_of_the_program_has_its_name() {
    struct Last;
    impl PlacementPolicy for Last {
        fn choose<'c>(&self, pools: &'c PlacementPools<'_>) -> Option<PlacementPool<'c>> {
            (pools.lpn() != Lpn::new(0)).then(|| pools.each().max_by_key(PlacementPool::number)).flatten()
        }
    }
    super::super::register_placement_policy("last", "1", Last).expect("a new name");
    super::super::register_placement_policy("third", "1", |pool: &PlacementPool<'_>| {
        f64::from(u8::from(pool.number() == 2 && !pool.is_collecting()))
    })
    .expect("a new name");
    assert_eq!(live("{ policy = 'own', name = 'third' }", 2, 2), [0, 0, 4, 0]);
    let of_last = live("{ policy = 'own', name = 'last' }", 4, 1);
    assert_eq!((of_last.iter().sum::<u32>(), of_last[3]), (4, 3), "for the first write it chooses none");
    let own = |version: Option<&str>| PlacementSpec::Own {
        name: "last".into(),
        version: version.map(str::to_owned),
        order: Digits::default(),
    };
    assert_eq!(own(None).written_out(), own(Some("1")));
}

#[test]
fn errors_say_what_to_do() {
    let faults = |spec: PlacementSpec| {
        let mut faults = Faults::default();
        spec.check(&mut faults);
        faults.0.into_iter().map(|fault| fault.to_string()).collect::<Vec<_>>().join("; ")
    };
    let by = |score: &str| PlacementSpec::Score { score: score.to_owned().into(), order: Digits::default() };
    assert_eq!(faults(by("10 * filling - commands")), "");
    assert_eq!(faults(PlacementSpec::sample_score(Digits::default())), "");
    assert!(faults(by("comands")).contains("did you mean `commands`?"));
    let own = PlacementSpec::Own { name: "absent".into(), version: None, order: Digits::default() };
    assert!(faults(own).contains("no placement policy `absent` is registered"));
    assert!(by("size").asks_for_requests() && by("queue").asks_for_requests() && !by("stream").asks_for_requests());
}
