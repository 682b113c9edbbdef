//! A process that is killed in the middle of any write leaves the flash as after a power cut: data acknowledged as durable is
//! complete, and nothing older comes back.

use std::panic::{AssertUnwindSafe, catch_unwind};

use base::engine::Rng;

use super::drives::{FileDrive, named, settings};
use super::memory::Memory;
use crate::state::{Durability, State};

/// One setting of each family, with the caches, arrays and records that it may have.
const FAMILIES: [&str; 12] = [
    "Greedy, PageRoundRobin channel-chip-die-plane",
    "map Dftl(DftlSpec, buffered",
    "map Fmmu(FmmuSpec, durable discards, buffered",
    "checkpoints, buffered",
    "paired pages on two planes",
    "Bast, buffered",
    "Fast, buffered",
    "hydra, buffer",
    "Chang, plain",
    "Chang, buffer",
    "Chang, pages",
    "block, sample 0, buffered",
];

/// Two lives of a drive, of which the first ends in write `dies_at` after it was made. False if it had fewer.
fn lives(resolved: &ssd::ResolvedDevice, seed: u64, requests: u32, dies_at: u64) -> bool {
    lives_with(resolved, seed, requests, dies_at, |_| {})
}

/// Two lives as in [`lives`], with a bug planted into the files.
fn lives_with(
    resolved: &ssd::ResolvedDevice,
    seed: u64,
    requests: u32,
    dies_at: u64,
    plant: impl FnOnce(&Memory),
) -> bool {
    let mut rng = Rng::stream(seed, "serve.lives");
    let mut served = FileDrive::new(resolved, seed, seed.is_multiple_of(2));
    plant(&served.files);
    served.files.die_after(dies_at, seed ^ dies_at << 32);
    let mut dies = !served.serve(&mut rng, requests);
    while !dies && served.host.step_unless(|| served.state.check().is_err()) {}
    dies |= served.state.check().is_err();
    let mut served = served.restart();
    // The next process dies soon after its start.
    served.files.die_after(rng.below(40), seed.rotate_left(9) ^ dies_at);
    served.serve(&mut rng, 6);
    let mut served = served.restart();
    assert!(served.serve(&mut rng, 6));
    served.audit();
    dies
}

/// Prints the name and the seed of a life that panics.
fn replayed(name: &str, seed: u64, dies_at: u64, life: impl FnOnce() -> bool) -> bool {
    catch_unwind(AssertUnwindSafe(life)).unwrap_or_else(|panic| {
        let why = panic.downcast_ref::<String>().cloned().unwrap_or_default();
        panic!("setting {name:?}, seed {seed}, killed in write {dies_at}: {why}")
    })
}

#[test]
fn a_kill_in_any_write_of_each_family_is_a_power_cut() {
    for (name, resolved) in named(&FAMILIES) {
        for seed in [2, 3] {
            let mut kills = 0;
            for dies_at in 0.. {
                if !replayed(&name, seed, dies_at, || lives(&resolved, seed, 24, dies_at)) {
                    break;
                }
                kills += 1;
            }
            assert!(kills > 20, "{name} writes {kills} times");
        }
    }
}

#[test]
fn a_kill_of_a_drive_of_any_setting_is_a_power_cut() {
    for (i, (name, resolved)) in settings().into_iter().enumerate() {
        for seed in [2 * i as u64, 2 * i as u64 + 1] {
            let dies_at = Rng::stream(seed, "serve.moment").below(80);
            replayed(&name, seed, dies_at, || lives(&resolved, seed, 40, dies_at));
        }
    }
}

#[test]
fn a_file_that_is_written_late_is_found() {
    for (name, file) in [
        (FAMILIES[0], "main.content"),
        (FAMILIES[0], "main.slots"),
        (FAMILIES[0], "main.blocks"),
        ("hydra, buffer", "main.images"),
        ("Chang, plain", "slc.slots"),
    ] {
        let (_, resolved) = named(&[name]).remove(0);
        let life = |dies_at| lives_with(&resolved, 2, 24, dies_at, |files| files.write_late(file));
        let found = (0..400).any(|dies_at| catch_unwind(AssertUnwindSafe(|| life(dies_at))).is_err());
        assert!(found, "{name}: {file} is written late, and no check fails");
    }
}

#[test]
fn files_are_synchronised_for_flushes_and_erases_if_the_machine_may_crash() {
    let (_, resolved) = named(&["Chang, buffer"]).remove(0);
    for durability in [Durability::Process, Durability::Machine] {
        let mut ssd = ssd::Ssd::<flash::nand::Stamp>::new(&resolved, 1);
        let files = Memory::default();
        let state = State::create_in(files.folder(), &mut ssd, durability).expect("a state");
        let mut served = FileDrive { state, files, host: testkit::Host::new(ssd), resolved: resolved.clone() };
        assert!(served.serve(&mut Rng::stream(1, "serve.synced"), 100));
        served.host.run_until_idle();
        let (media, slc_array) = (served.host.ssd().media(), served.host.ssd().slc_media().expect("two arrays"));
        let erases: u64 = media.all_erases().chain(slc_array.all_erases()).map(u64::from).sum();
        served.state.sync().expect("memory");
        let files = served.files.lock();
        if durability == Durability::Process {
            assert!(files.synced.is_empty());
            continue;
        }
        // One synchronisation at the creation, one at this flush; blocks of one plane are erased one by one.
        assert_eq!(files.synced.len() as u64, erases + 2);
        let (last, names) = files.synced.last().expect("some");
        assert_eq!((*last, names.len()), (files.writes, 9), "two arrays of four files, and the format");
        assert!(erases > 10 && files.synced[1].1 == *names, "an erase of one array waits for copies in the other");
    }
}
