//! Faults: each of the first programs and of the first erases fails in a run of its own. A second operation fails a
//! little later, and the power fails in between, with torn pages beside the failed ones. No data is lost. With parity, reads
//! fail as well.

use base::engine::Rng;
use base::units::{DieId, Span};
use flash::nand::Faults;
use ssd::{Drive, PlacementSpec};

use super::{Effort, Trial, Work, script};
use crate::Host;

/// The least over-provisioning of the settings whose drives can do without a die.
const ROOMY: f64 = 0.8;

pub(super) fn program_failures(trial: &Trial<'_>) -> Work {
    each(trial, |faults, nth| faults.fail_program(nth))
}

pub(super) fn erase_failures(trial: &Trial<'_>) -> Work {
    each(trial, |faults, nth| faults.fail_erase(nth))
}

/// Checks that a drive with parity loses no data if one of its first reads fails for good, and another read a little
/// later, and that each rebuild that is counted returned the data.
pub(super) fn read_failures(trial: &Trial<'_>) -> Work {
    let mut work = Work::default();
    if !trial.resolved.ftl.parity {
        return work;
    }
    let mut rebuilt = 0;
    for nth in 0..trial.effort.failures {
        let seed = trial.seed ^ nth << 32;
        let mut rng = Rng::stream(seed, "conformance.faults");
        let mut host = if rng.chance(0.5) { trial.filled() } else { trial.host() };
        let script = script::random(seed, trial.capacity(), trial.effort.cut_requests * 2);
        let (before, after) = script.split_at(rng.below(script.len() as u64) as usize);
        script::play(&mut host, before);
        host.cut();
        host.run_until_idle();
        host.ssd_mut().media_mut().faults_mut().fail_read(rng.below(20 * (nth + 1)));
        script::play(&mut host, after);
        host.run_until_idle();
        host.audit();
        let counters = host.ssd().counters();
        let parity = counters.parity.expect("parity counts");
        assert_eq!(
            (parity.lost, counters.unreadable_copies),
            (0, 0),
            "reads that were not rebuilt, and copies of them"
        );
        rebuilt += parity.rebuilt;
        work += Work { failures: 1, ..Work::of(&host) };
    }
    assert!(rebuilt > 0, "no read failed: the check proves nothing");
    work
}

/// Checks that a drive with parity loses no data if a die fails in the middle of random requests, in half of the cases
/// followed by a power cut. If superblocks can go on without the die, none may keep data there.
pub(super) fn die_failures(trial: &Trial<'_>) -> Work {
    let mut work = Work::default();
    if !trial.resolved.ftl.parity {
        return work;
    }
    // A drive without space for all data in the other dies becomes read-only and leaves data where it is.
    let roomy = trial.resolved.ftl.over_provisioning.is_some_and(|share| share.get() >= ROOMY);
    let mut rebuilt = 0;
    for nth in 0..trial.effort.failures {
        let seed = trial.seed ^ nth << 32;
        let mut rng = Rng::stream(seed, "conformance.dies");
        let mut host = if rng.chance(0.5) { trial.filled() } else { trial.host() }.that_may_wear_out(!roomy);
        let script = script::random(seed, trial.capacity(), trial.effort.cut_requests * 3);
        let (before, after) = script.split_at(rng.below(script.len() as u64) as usize);
        let (after, last) = after.split_at(after.len() / 2);
        script::play(&mut host, before);
        let die = DieId::new(rng.below(u64::from(host.ssd().geometry().die_count())) as u32);
        host.ssd_mut().media_mut().fail_die(die);
        script::play(&mut host, after);
        let moved = |host: &Host| {
            let parity = host.ssd().counters().parity.expect("parity counts");
            parity.rebuilt_superblocks + parity.waiting_superblocks
        };
        while moved(&host) == 0 && host.step() {}
        // After a power cut the parity in RAM of a stripe with data in the failed die is lost. So the test waits until
        // the stripes are complete before it cuts.
        let until = host.ssd().now() + Span::from_ms(60);
        while host.ssd().next_event().is_some_and(|at| at < until) {
            host.step();
        }
        let cuts = moved(&host) > 0 && rng.chance(0.5);
        if cuts {
            host.cut();
        }
        script::play(&mut host, last);
        host.run_until_idle();
        host.audit();
        let counters = host.ssd().counters();
        let parity = counters.parity.expect("parity counts");
        assert_eq!((parity.lost, counters.unreadable_copies), (0, 0), "reads not rebuilt, and copies of them: {die}");
        if roomy {
            assert_eq!(parity.waiting_superblocks, 0, "superblocks that keep data in {die}, which has failed");
        }
        rebuilt += parity.rebuilt;
        work += Work { cuts: u64::from(cuts), failures: 1, ..Work::of(&host) };
    }
    assert!(rebuilt > 0, "nothing was read in a failed die: the check proves nothing");
    work
}

/// The least number of operations between the two failures of a drive. Pools collect in step if the least loaded one
/// takes each SLC superblock: if both have just opened their last free superblock for copies, and both of these fail,
/// neither pool can help the other.
fn apart(trial: &Trial<'_>) -> u64 {
    let ftl = &trial.resolved.ftl;
    let collects_in_step = ftl.slc_cache.is_some() && matches!(ftl.placement, PlacementSpec::LeastLoaded { .. });
    match ftl.gc.shared_log {
        true => trial.effort.apart,
        false if collects_in_step => Effort::WHOLE.apart,
        false => 1,
    }
}

fn each(trial: &Trial<'_>, fail: impl Fn(&mut Faults, u64)) -> Work {
    let mut work = Work::default();
    for nth in 0..trial.effort.failures {
        let seed = trial.seed ^ nth << 32;
        let mut rng = Rng::stream(seed, "conformance.faults");
        // A full drive erases at once, so its first operations differ from those of a new drive.
        let mut host = if rng.chance(0.5) { trial.filled() } else { trial.host() };
        let later = nth + apart(trial) + rng.below(8);
        let ssd = host.ssd_mut();
        for nth in [nth, later] {
            fail(ssd.media_mut().faults_mut(), nth);
            // The SLC array counts its operations separately.
            if let Some(second) = ssd.slc_media_mut() {
                fail(second.faults_mut(), nth);
            }
        }
        // A copy of the SLC log's tail can fail only after the log has wrapped.
        if let Some(second) = ssd.slc_media_mut() {
            fail(second.faults_mut(), trial.effort.failures + 2 * nth);
        }
        let script = script::random(seed, trial.capacity(), trial.effort.cut_requests * 2);
        let (before, after) = script.split_at(rng.below(script.len() as u64) as usize);
        script::play(&mut host, before);
        host.cut();
        script::play(&mut host, after);
        host.run_until_idle();
        host.audit();
        work += Work { cuts: 1, failures: 2, ..Work::of(&host) };
    }
    work
}
