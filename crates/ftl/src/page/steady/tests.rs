//! Properties of a layout that hold for any numbers of the model.

use super::*;
use crate::PageConfig;
use crate::rig::describe;
use flash::nand::{FaultSpec, Faults};

fn config(text: &str) -> PageConfig {
    let (config, ..) = describe(text);
    config.downcast_ref::<PageConfig>().expect("a page map").clone()
}

fn drawn(text: &str, seed: u64) -> (PageConfig, Vec<SteadySuperblock>) {
    let config = config(text);
    let media = Media::new(config.geometry.clone(), 1000, 1, Faults::new(&FaultSpec::default(), 1));
    let laid = config.draw(&media, &mut Rng::stream(seed, "test")).expect("room");
    (config, laid)
}

const DRIVE: &str = r"flash = { part = 'K9K8G08U0M', channels = 2, chips = 2, blocks = 64, pages = 16, planes = 1 }
[ftl]
over-provisioning = '20%'
";

#[test]
fn every_pool_has_free_and_open_superblocks_and_all_units_have_a_place() {
    let last = "gc = { start = 0, stop = 1, shared-log = true }";
    for (ftl, open) in [("", 2), ("gc = { shared-log = true }", 1), ("gc = { start = 2, stop = 6 }", 2), (last, 1)] {
        for seed in 0..20 {
            let (config, laid) = drawn(&format!("{DRIVE}{ftl}"), seed);
            assert_eq!(laid.iter().map(|laid| laid.valid).sum::<u32>(), config.units);
            assert!(laid.iter().all(|laid| laid.valid <= laid.filled && laid.filled > 0));
            assert!(laid.is_sorted_by(|a, b| a.age >= b.age), "oldest first");
            for pool in 0..4 {
                let here = laid.iter().filter(|laid| config.geometry.group_of(laid.superblock) == pool);
                let (opened, closed): (Vec<&SteadySuperblock>, Vec<&SteadySuperblock>) =
                    here.partition(|laid| laid.age < 0.0);
                let free = 64 - open - closed.len() as u32;
                assert!((config.gc.start + 1..=config.gc.stop).contains(&free), "{free} free superblocks");
                assert!(opened.len() <= open as usize && closed.iter().all(|laid| laid.filled == 16));
            }
        }
    }
}

#[test]
fn older_superblocks_have_fewer_valid_units() {
    let (_, laid) = drawn(DRIVE, 1);
    let mean = |of: &[SteadySuperblock]| f64::from(of.iter().map(|laid| laid.valid).sum::<u32>()) / of.len() as f64;
    let quarter = laid.len() / 4;
    let means = [0, 1, 2].map(|k| mean(&laid[k * quarter..(k + 1) * quarter]));
    assert!(means.is_sorted_by(|a, b| a < b), "{means:?}");
}

#[test]
fn pools_hold_unequal_shares_with_the_variance_of_the_equilibrium() {
    let config = config(DRIVE);
    let mean = f64::from(config.units) / 4.0;
    let expected = f64::from(config.units) * (1.0 - 1.0 / 4.0) / 8.0;
    let squares = (0..500).flat_map(|seed| config.shares(&[64; 4], &mut Rng::stream(seed, "test")).expect("room"));
    let variance = squares.map(|share| (f64::from(share) - mean).powi(2)).sum::<f64>() / 2000.0;
    assert!((variance / expected - 1.0).abs() < 0.1, "{variance} against {expected}");
}

#[test]
fn an_old_version_lies_only_where_a_newer_one_comes_later() {
    let config = config(DRIVE);
    let mut media = Media::new(config.geometry.clone(), 1000, 1, Faults::new(&FaultSpec::default(), 1));
    let mut newest = vec![0; config.units as usize];
    let mut rng = Rng::stream(3, "test");
    assert!(config.lay_out_steady(&mut media, &mut rng, PlantedBug::default(), &mut |batch, version| {
        batch.iter().for_each(|lpn| assert_eq!(std::mem::replace(&mut newest[lpn.index()], version), 0));
    }));
    let (mut old, mut current) = (0, 0);
    for psn in (0..config.geometry.slot_count()).map(base::units::Psn::new) {
        let Spare::Data { lpn, version } = media.spare(psn) else { continue };
        assert!(version <= newest[lpn.index()]);
        *(if version == newest[lpn.index()] { &mut current } else { &mut old }) += 1;
    }
    assert_eq!(current, config.units);
    assert!(old > config.units / 10, "{old} old versions");
}
