//! The swarm over fixed seeds: what `make test` runs of it.

use testkit::Swarm;

fn seeds(swarm: &Swarm, seeds: std::ops::Range<u64>) {
    let mut totals = (0, 0, 0);
    for seed in seeds {
        let outcome = std::panic::catch_unwind(|| swarm.run(seed));
        let Ok(outcome) = outcome else { panic!("replay with {swarm:?}.run({seed})") };
        totals = (totals.0 + outcome.completed, totals.1 + outcome.cuts, totals.2 + outcome.erases);
    }
    println!("{} requests, {} power cuts, {} erases", totals.0, totals.1, totals.2);
}

#[test]
fn reads_return_the_newest_write() {
    seeds(&Swarm { requests: 1500, cuts: 0, faults: false }, 0..150);
}

#[test]
fn durable_data_survives_power_cuts() {
    seeds(&Swarm { requests: 1200, cuts: 12, faults: false }, 1000..1150);
}

#[test]
fn failing_blocks_lose_nothing() {
    seeds(&Swarm { requests: 1200, cuts: 0, faults: true }, 2000..2100);
    seeds(&Swarm { requests: 1200, cuts: 8, faults: true }, 3000..3100);
}

#[test]
fn two_runs_are_one() {
    let swarm = Swarm { requests: 800, cuts: 3, faults: true };
    for seed in 0..20 {
        assert_eq!(swarm.run(seed), swarm.run(seed), "seed {seed}");
    }
}
