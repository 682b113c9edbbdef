//! Tests of the pace of collection.

use base::engine::Rng;
use proptest::prelude::*;

use super::*;
use crate::PageConfig;
use crate::page::PageFtl;
use crate::rig::{Rig, describe};

fn rig(gc: &str, map: &str) -> Rig<PageFtl> {
    let (config, array, _) = describe(&format!(
        r"flash = {{ part = 'dirik-2009', channels = 2, chips = 1, blocks = 24, pages = 8, planes = 1 }}
ftl = {{ map-unit = '1KiB', over-provisioning = '70%', map = {{ kind = '{map}' }}, gc = {{ {gc} }} }}"
    ));
    Rig::with(config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone(), &array)
}

/// Fills a drive and overwrites it at random. Returns the copies that were ever in progress at once in a pool, and the most free
/// superblocks of a pool at the end.
fn overwritten(rig: &mut Rig<PageFtl>) -> (u32, u32) {
    let units = rig.units();
    let (mut copies, mut random) = (0, Rng::stream(5, "pace"));
    (0..units).for_each(|lpn| rig.write(&[lpn], None));
    for i in 0..6 * units {
        rig.write(&[random.below(u64::from(units)) as u32], None);
        copies = rig.ftl.blocks.pools.iter().map(|pool| pool.gc.copies).fold(copies, u32::max);
        if i % 8 == 0 {
            rig.run_until_idle();
        }
    }
    rig.run_until_idle();
    rig.with_ftl(|ftl, flash, _| ftl.check(flash.backend.media()));
    assert_eq!(rig.host.refused, 0);
    (copies, rig.ftl.blocks.pools.iter().map(|pool| pool.free.len()).max().unwrap_or(0))
}

fn formula(text: &str) -> String {
    format!("start = 8, stop = 9, parallel = 3, pace = {{ policy = 'formula', copies = '{text}' }}")
}

#[test]
fn no_pace_can_stop_the_drive() {
    for map in ["ram", "table", "uncached", "dftl", "cdftl", "fmmu"] {
        for never in ["0", "0 / 0", "-1", "waiting", "copies - copies"] {
            let (copies, free) = overwritten(&mut rig(&formula(never), map));
            assert!(copies <= 3 && free <= 9, "{map}, {never}: {copies} copies, {free} free");
        }
    }
}

#[test]
fn a_pace_of_zero_leaves_collection_to_the_last_moment() {
    let at_full_pace = overwritten(&mut rig("start = 8, stop = 9, parallel = 3", "ram"));
    let (copies, free) = overwritten(&mut rig(&formula("0"), "ram"));
    assert_eq!((at_full_pace.0, copies), (3, 1));
    assert!(free < 4 && at_full_pace.1 >= 8, "{free} free, at full pace {}", at_full_pace.1);
}

#[test]
fn the_formula_of_the_keys_is_the_full_pace() {
    let hash = |gc: &str| {
        let mut rig = rig(gc, "ram");
        overwritten(&mut rig);
        format!("{:?}", rig.hash)
    };
    assert_eq!(hash(&formula("parallel")), hash("start = 8, stop = 9, parallel = 3"));
    assert_ne!(hash(&formula("1")), hash(&formula("parallel")));
    assert_eq!(hash(&formula("1 + (free > 100)")), hash(&formula("1.9")));
}

#[test]
fn an_idle_drive_collects_what_it_has_put_off() {
    let free = |copies: &str| overwritten(&mut rig(&formula(copies), "ram")).1;
    assert!(free("if(idle > 0.01, parallel, 0)") >= 8);
    assert!(free("if(idle > 100, parallel, 0)") >= 8);
    assert!(free("if(idle > 1e9, parallel, 0)") < 4, "it looks no longer than 14 minutes");
}

#[test]
fn a_policy_of_the_program_has_its_name() {
    register_collection_policy("alone", "1", |pool: &CollectionPool<'_>| {
        assert!(pool.utilization() <= 1.0 && pool.free() < 24 && pool.start() < pool.stop());
        u32::from(pool.writes() == 0 && pool.commands() < 5 && pool.die().get() == pool.number())
    })
    .expect("a new name");
    let own = "start = 8, stop = 9, parallel = 3, pace = { policy = 'own', name = 'alone' }";
    let (copies, free) = overwritten(&mut rig(own, "ram"));
    assert!(copies <= 1 && free >= 8, "it collects after the writes: {copies} copies, {free} free");
    let spec = |version: Option<&str>| PaceSpec::Own { name: "alone".into(), version: version.map(str::to_owned) };
    assert_eq!(spec(None).written_out(), spec(Some("1")));
}

#[test]
fn errors_say_what_to_do() {
    let faults = |spec: PaceSpec| {
        let mut faults = Faults::default();
        spec.check(&mut faults);
        faults.0.into_iter().map(|fault| fault.to_string()).collect::<Vec<_>>().join("; ")
    };
    assert_eq!(faults(PaceSpec::sample()), "");
    assert!(faults(PaceSpec::Formula { copies: "paralel".into() }).contains("did you mean `parallel`?"));
    let unknown = faults(PaceSpec::Own { name: "absent".into(), version: None });
    assert!(unknown.contains("no collection policy `absent` is registered"), "{unknown}");
}

proptest! {
    #[test]
    fn any_formula_leaves_the_drive_writable(
        (a, b) in (0usize..6, 0usize..6),
        (start, parallel) in (1u32..10, 1u32..5),
        map in prop::sample::select(vec!["ram", "uncached", "dftl", "fmmu"]),
    ) {
        let of = ["free - 2", "idle > 0.001", "waiting", "u < 0.3", "1 - writes", "copies < 2"];
        let gc = format!(
            "start = {start}, stop = {}, parallel = {parallel}, \
             pace = {{ policy = 'formula', copies = '({}) * ({})' }}",
            start + 1, of[a], of[b],
        );
        overwritten(&mut rig(&gc, map));
    }
}
