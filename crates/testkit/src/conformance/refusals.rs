//! Refusals: programs fail until the drive is read-only. It then refuses discards, writes and flushes, and reads still
//! return what it has acknowledged, before a power cut and after it.

use base::engine::Rng;
use base::io::IoKind;
use flash::nand::FaultKind;
use ftl::EraseTiming;

use super::script::Line;
use super::{Trial, Work, script};
use crate::Host;

/// The number of requests before the first failure, after the first refusal, and after a power cut.
const LINES: u32 = 24;
/// The number of programs among which some fail: more failures than any drive of the suite survives.
const PROGRAMS: u64 = 4096;
/// The number of requests after which a drive whose programs fail must have refused one.
const MOST: u32 = 4000;

pub(super) fn refusals(trial: &Trial<'_>) -> Work {
    let mut work = Work::default();
    if trial.resolved.ftl.log.erase == EraseTiming::Read {
        // A merge whose destinations have all failed has the only copy of its pages in RAM, and reads wait for its end.
        return work;
    }
    for turn in 0..trial.effort.refusals {
        let seed = trial.seed ^ u64::from(turn) << 32;
        let mut rng = Rng::stream(seed, "conformance.refusals");
        let mut host = if rng.chance(0.5) { trial.filled() } else { trial.host() }.that_may_wear_out(true);
        let mut script = requests(&mut rng, trial.capacity()).into_iter();
        let mut play = |host: &mut Host, lines: u32| {
            (0..lines).for_each(|_| script::play(host, &[script.next().expect("enough requests")]));
        };
        play(&mut host, LINES);
        // With a share below 1, some records and programs succeed after the drive has noticed the failures.
        let share = [1.0, 0.9, 0.6][rng.below(3) as usize];
        work.failures += fail(&mut host, &mut rng, share);
        for _ in 0..MOST {
            if host.worn_out() {
                break;
            }
            play(&mut host, 1);
        }
        assert!(host.worn_out(), "a drive without programs refuses nothing");
        for _ in 0..2 {
            play(&mut host, LINES);
            host.run_until_idle();
            host.audit();
            host.cut();
        }
        work += Work { cuts: 2, ..Work::of(&host) };
    }
    work
}

/// Makes a share of the next programs fail. Returns the number of failures.
fn fail(host: &mut Host, rng: &mut Rng, share: f64) -> u64 {
    let mut failures = 0;
    for nth in (0..PROGRAMS).filter(|_| rng.chance(share)).collect::<Vec<_>>() {
        let ssd = host.ssd_mut();
        ssd.media_mut().faults_mut().fail_soon(FaultKind::Program, nth);
        if let Some(second) = ssd.slc_media_mut() {
            second.faults_mut().fail_soon(FaultKind::Program, nth);
        }
        failures += 1;
    }
    failures
}

/// Draws random requests, many of them discards and flushes.
fn requests(rng: &mut Rng, capacity: u64) -> Vec<Line> {
    let mut script = script::random(rng.bits(), capacity, LINES * 3 + MOST);
    for line in script.iter_mut().filter(|line| line.io.kind == IoKind::Write) {
        match rng.below(10) {
            0 | 1 => line.io.kind = IoKind::Discard,
            2 => line.io = base::io::Io::FLUSH,
            _ => {}
        }
    }
    script
}
