//! Faults: each of the first programs and of the first erases fails in a run of its own. A second operation fails a
//! little later, and the power fails in between, with torn pages beside the failed ones. No data is lost.

use base::engine::Rng;
use flash::nand::Faults;

use super::{Trial, Work, script};

pub(super) fn program_failures(trial: &Trial<'_>) -> Work {
    each(trial, |faults, nth| faults.fail_program(nth))
}

pub(super) fn erase_failures(trial: &Trial<'_>) -> Work {
    each(trial, |faults, nth| faults.fail_erase(nth))
}

fn each(trial: &Trial<'_>, fail: impl Fn(&mut Faults, u64)) -> Work {
    let mut work = Work::default();
    for nth in 0..trial.effort.failures {
        let seed = trial.seed ^ nth << 32;
        let mut rng = Rng::stream(seed, "conformance.faults");
        // A full drive erases at once; a new drive has other first operations.
        let mut host = if rng.chance(0.5) { trial.filled() } else { trial.host() };
        let apart = if trial.resolved.ftl.gc.shared_log { trial.effort.apart } else { 1 };
        let later = nth + apart + rng.below(8);
        let ssd = host.ssd_mut();
        for nth in [nth, later] {
            fail(ssd.media_mut().faults_mut(), nth);
            // A second array has its own first operations.
            if let Some(second) = ssd.slc_media_mut() {
                fail(second.faults_mut(), nth);
            }
        }
        // The log of the SLC array must wrap before a copy of its tail can fail.
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
