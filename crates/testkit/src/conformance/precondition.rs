//! Preconditioning with every kind of fault. After a restart or a power cut, the drive must hold what each step wrote,
//! stamp for stamp, and continue from there. A drive that has lost too many blocks must report it, and still hold all
//! data that it accepted.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::engine::Rng;
use base::units::{Bytes, Ratio, SECTOR};
use flash::nand::{FaultSpec, Stamp};
use ssd::{Precondition, ResolvedDevice, Ssd};

use super::{Trial, Work, message_of, script};
use crate::Host;

/// The kinds of faults, each at a rate that a small drive survives and at a higher one.
fn kinds() -> Vec<(&'static str, FaultSpec)> {
    // This pattern has every field, so a new kind of fault does not compile without a line below.
    let FaultSpec {
        program_failures: _,
        erase_failures: _,
        uncorrectable_reads: _,
        initial_bad_blocks: _,
        wear_out: _,
        // Dies fail while requests are under way: `die_failures` checks them.
        dies: _,
    } = FaultSpec::default();
    let none = FaultSpec::default;
    let share = Ratio::new;
    vec![
        ("no faults", none()),
        ("program failures", FaultSpec { program_failures: share(0.01), ..none() }),
        ("many program failures", FaultSpec { program_failures: share(0.08), ..none() }),
        ("erase failures", FaultSpec { erase_failures: share(0.03), ..none() }),
        ("many erase failures", FaultSpec { erase_failures: share(0.3), ..none() }),
        ("uncorrectable reads", FaultSpec { uncorrectable_reads: share(0.03), ..none() }),
        ("bad blocks", FaultSpec { initial_bad_blocks: share(0.05), ..none() }),
        ("wear", FaultSpec { wear_out: true, ..none() }),
        (
            "all faults",
            FaultSpec {
                program_failures: share(0.03),
                erase_failures: share(0.1),
                uncorrectable_reads: share(0.01),
                initial_bad_blocks: share(0.03),
                ..none()
            },
        ),
    ]
}

/// The preconditioning steps, each alone and after each step that may precede it.
fn ways(drive: &ResolvedDevice) -> Vec<Vec<Precondition>> {
    let preload = Precondition::Preload {
        piece: Bytes::new(3 * SECTOR.get() * u64::from(drive.geometry.sectors)),
        extent: Bytes::new(drive.capacity().bytes().get() / 2),
    };
    let (fill, random) = (Precondition::Fill, Precondition::RandomOverwrite);
    let mut ways = vec![
        vec![fill],
        vec![fill, random(0.5)],
        vec![random(1.0), fill],
        vec![preload, random(0.3), preload],
        vec![fill, Precondition::Steady],
    ];
    if drive.family.no_steady_state().is_none() {
        ways.extend([vec![Precondition::SteadyModel], vec![Precondition::SteadyModel, random(0.3)]]);
    }
    ways
}

pub(super) fn precondition(trial: &Trial<'_>) -> Work {
    let mut work = Work::default();
    for (i, (name, faults)) in kinds().into_iter().enumerate() {
        let mut resolved = trial.resolved.clone();
        resolved.spec.flash.faults = faults.clone();
        if faults.wear_out {
            resolved.part.endurance = 4;
        }
        let ways = ways(&resolved);
        for turn in 0..trial.effort.ways {
            let way = &ways[(trial.seed as usize + i + turn as usize) % ways.len()];
            let seed = trial.seed ^ (i as u64) << 32 ^ u64::from(turn) << 40;
            let done = catch_unwind(AssertUnwindSafe(|| one(&resolved, seed, way)));
            work += done.unwrap_or_else(|panic| panic!("{name}, {way:?}: {}", message_of(&*panic)));
        }
    }
    work
}

fn one(resolved: &ResolvedDevice, seed: u64, way: &[Precondition]) -> Work {
    let mut ssd = Ssd::<Stamp>::new(resolved, seed);
    let worn_out = way.iter().any(|step| {
        let refused = ssd.precondition(*step, &mut |_, _| {}).refused;
        ssd.check();
        refused > 0
    });
    let faults = &resolved.spec.flash.faults;
    let fails = *faults != FaultSpec::default();
    assert!(fails || !worn_out, "a drive without faults became read-only");
    let mut host = Host::new(ssd).that_may_wear_out(fails).that_may_lose(faults.uncorrectable_reads.get() > 0.0);
    host.audit();
    let mut host = host.crashed(seed);
    let mut work = Work { cuts: 1, ..Work::default() };
    if !worn_out {
        let capacity = resolved.capacity().get();
        script::play(&mut host, &script::random(seed, capacity, 12));
        if Rng::stream(seed, "conformance.precondition").chance(0.5) {
            host.cut();
            work.cuts += 1;
        }
        host.run_until_idle();
        work.requests = Work::of(&host).requests;
    }
    host.audit();
    work
}
