//! Compares the share of writes that a write buffer absorbs with closed forms.
//!
//! The buffer's replacement is FIFO: a mapping unit leaves in the order in which it became dirty, however often it is
//! written meanwhile. Under independent writes, a unit that the host writes at rate `p` passes three states: dirty for
//! a time `T`; under way to flash for a time `W`; absent until it is written again (skipped if it was written while
//! under way: it is then dirty at once). So the unit is programmed once in `T + W + exp(-pW) / p`. `T` and `W` follow
//! from Little's law: the units in a full buffer are as many as fit, and the units under way are as many as the dies
//! take. For equal rates, the share absorbed is that of the dirty units in the region.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Span, Time};
use flash::backend::Cause;
use ssd::{Completion, Drive, Precondition, QueueId, Request, Spec, Ssd};

/// Mapping units of the buffer and of the region that the host writes.
const BUFFER: u64 = 1024;
const REGION: u64 = 4096;

/// Bytes of the mapping units of the part.
const UNIT: u64 = 4096;

/// A drive of four dies whose programs have one mapping unit, or sixteen.
fn drive(multi: bool, high: &str, ftl: &str) -> Ssd<()> {
    let planes = if multi { 2 } else { 1 };
    let (part, unit) = if multi { ("FMMU-V2", "map-unit = '4KiB'\n") } else { ("K9XXG08", "") };
    let text = format!(
        "name = 'a'\nflash = {{ part = '{part}', channels = 2, chips = 2, dies = 1, planes = {planes}, blocks = 256, pages = 32 }}\n\
         host = {{ link = 'none', queue-depth = 64 }}\n\
         buffer = {{ size = '{}KiB', high = '{high}', low = '{high}' }}\n[ftl]\n{unit}{ftl}\n",
        BUFFER * UNIT / 1024
    );
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{text}: {faults:?}")), 1)
}

/// Mapping units that are under way while the buffer is full: two programs for each die that may take the next unit;
/// sixteen where the address decides the die.
fn under_way(drive: &Ssd<()>, ftl: &str) -> f64 {
    let geometry = &drive.resolved().geometry;
    let dies = if ftl.contains("block-striping") { 1 } else { geometry.die_count() };
    let programs = if ftl.contains("kind") { 16 } else { 2 };
    f64::from(programs * dies * geometry.row_slots() * drive.resolved().backend.timing.one_shot)
}

fn write(tag: u64, unit: u64) -> Request<()> {
    let sectors = UNIT / 512;
    let io = Io::new(IoKind::Write, Lba::new(unit * sectors), Sectors::new(sectors));
    Request { tag, queue: QueueId::default(), io, data: vec![(); sectors as usize] }
}

/// The times at which the host submits writes.
#[derive(Clone, Copy)]
enum SubmissionPace {
    /// The number of writes that are always under way.
    Depth(u64),
    /// The time from each write to the next.
    Gap(Span),
}

/// Writes single units at random, and returns the share that was absorbed. The first part of the run is not counted.
fn absorbed(mut drive: Ssd<()>, pace: SubmissionPace, unit: impl Fn(&mut Rng) -> u64) -> f64 {
    let (warm_up, writes) = (20_000, 100_000);
    assert_eq!(u64::from(drive.resolved().geometry.sectors) * 512, UNIT);
    assert_eq!(drive.resolved().buffer.expect("there is one").units, BUFFER as u32);
    let mut rng = Rng::stream(1, "absorption");
    let mut completions: Vec<Completion<()>> = Vec::new();
    let (mut submitted, mut done, mut before) = (0, 0, 0);
    while done < warm_up + writes {
        let depth = if let SubmissionPace::Depth(depth) = pace { depth } else { 1 };
        while submitted < done + depth {
            drive.submit(drive.now(), write(submitted, unit(&mut rng)));
            submitted += 1;
        }
        match pace {
            SubmissionPace::Depth(_) => _ = drive.advance(Time::MAX, &mut completions),
            SubmissionPace::Gap(gap) => {
                let next = drive.now() + gap;
                while drive.now() < next {
                    drive.advance(next, &mut completions);
                }
            }
        }
        assert!(!completions.is_empty(), "nothing completes any more");
        let earlier = done;
        done += completions.drain(..).len() as u64;
        if earlier < warm_up && done >= warm_up {
            before = drive.counters().absorbed_slots;
        }
    }
    (drive.counters().absorbed_slots - before) as f64 / writes as f64
}

/// The share that a full buffer absorbs of independent writes with these rates, which add up to one.
fn fifo(rates: &[f64], dirty: f64, under_way: f64) -> f64 {
    let mut whole = (0.0, 1e9);
    let ratio = under_way / dirty;
    let programs = |t: f64| -> f64 {
        let w = ratio * t;
        rates.iter().map(|p| 1.0 / (t + w + (-p * w).exp() / p)).sum()
    };
    // Little's law: the dirty units are those that become dirty in a time T.
    for _ in 0..200 {
        let t = (whole.0 + whole.1) / 2.0;
        whole = if programs(t) * t < dirty { (t, whole.1) } else { (whole.0, t) };
    }
    1.0 - programs(whole.0)
}

/// Che's approximation of a cache with LRU replacement (Che, Tung, Wang, IEEE JSAC 20(7), 2002).
fn lru(rates: &[f64], units: f64) -> f64 {
    let mut time = (0.0, 1e9);
    for _ in 0..200 {
        let t = (time.0 + time.1) / 2.0;
        let held: f64 = rates.iter().map(|p| 1.0 - (-p * t).exp()).sum();
        time = if held < units { (t, time.1) } else { (time.0, t) };
    }
    rates.iter().map(|p| p * (1.0 - (-p * time.0).exp())).sum()
}

/// Families, and placements of the page map but for address striping, whose dies have no bound.
const FTLS: [&str; 7] = [
    "over-provisioning = '40%'",
    "over-provisioning = '40%'\nplacement = { policy = 'request-round-robin' }",
    "over-provisioning = '40%'\nplacement = { policy = 'block-striping' }",
    "over-provisioning = '40%'\nplacement = { policy = 'least-loaded' }",
    "kind = 'bast'\nover-provisioning = '60%'\nlog = { blocks = 64 }",
    "kind = 'fast'\nover-provisioning = '60%'\nlog = { blocks = 64 }",
    "kind = 'block'\nover-provisioning = '60%'",
];

#[test]
fn a_full_buffer_absorbs_the_share_of_uniform_writes_that_it_holds() {
    for (multi, ftl) in FTLS.map(|ftl| (false, ftl)).into_iter().chain(FTLS[..4].iter().map(|ftl| (true, *ftl))) {
        let drive = drive(multi, "50%", ftl);
        let expected = 1.0 - (BUFFER as f64 - under_way(&drive, ftl)) / REGION as f64;
        let measured = 1.0 - absorbed(drive, SubmissionPace::Depth(32), |rng| rng.below(REGION));
        println!("{ftl}: {measured:.4} written back, {expected:.4} expected");
        assert!((measured / expected - 1.0).abs() < 0.02, "{ftl}: {measured} instead of {expected}");
    }
}

/// A host that is slower than the dies leaves the buffer at its watermark.
#[test]
fn a_buffer_at_its_watermark_absorbs_the_share_of_uniform_writes_that_it_holds() {
    for (high, share) in [("30%", 0.3), ("80%", 0.8)] {
        let drive = drive(false, high, FTLS[0]);
        let expected = 1.0 - share * BUFFER as f64 / REGION as f64;
        let measured = 1.0 - absorbed(drive, SubmissionPace::Gap(Span::from_us(400)), |rng| rng.below(REGION));
        println!("{high}: {measured:.4} written back, {expected:.4} expected");
        assert!((measured / expected - 1.0).abs() < 0.02, "{high}: {measured} instead of {expected}");
    }
}

/// Dies with a long collection make the other dies neither idle nor waiting. A program's data take 98 of 1,658 us, in
/// which its die's array does nothing.
#[test]
fn a_full_buffer_keeps_all_dies_busy_while_some_collect_garbage() {
    for ftl in &FTLS[..2] {
        let mut drive = drive(true, "50%", &ftl.replace("40%", "15%"));
        for step in [Precondition::Fill, Precondition::RandomOverwrite(0.5)] {
            drive.precondition(step, &mut |_, _| {});
        }
        let units = drive.capacity().get() * 512 / UNIT;
        let mut rng = Rng::stream(1, "busy");
        let (mut submitted, mut done, mut begin) = (0, 0, None);
        let mut completions = Vec::new();
        let busy = |drive: &Ssd<()>| drive.counters().die_busy.iter().map(|busy| busy.as_ps() as f64).sum::<f64>();
        while done < 40_000 {
            while submitted < done + 32 {
                drive.submit(drive.now(), write(submitted, rng.below(units)));
                submitted += 1;
            }
            drive.advance(Time::MAX, &mut completions);
            assert!(!completions.is_empty(), "nothing completes any more");
            done += completions.drain(..).len() as u64;
            if done >= 8_000 && begin.is_none() {
                begin = Some((drive.now(), busy(&drive)));
            }
        }
        let (from, before) = begin.expect("it has begun");
        let dies = f64::from(drive.resolved().geometry.die_count());
        let share = (busy(&drive) - before) / ((drive.now() - from).as_ps() as f64 * dies);
        println!("{ftl}: arrays busy {share:.3} of the time");
        let copies = drive.counters().flash.rows().any(|(_, cause, tally)| cause == Cause::Gc && tally.commands > 100);
        assert!(copies, "nothing was collected");
        assert!(share > 0.9, "{ftl}: arrays busy {share} of the time");
        drive.check();
    }
}

#[test]
fn a_full_buffer_absorbs_zipf_writes_as_fifo_does_and_lru_does_not() {
    let weights: Vec<f64> = (1..=REGION).map(|rank| (rank as f64).powf(-0.9)).collect();
    let sum: f64 = weights.iter().sum();
    let rates: Vec<f64> = weights.iter().map(|weight| weight / sum).collect();
    let mut sum = 0.0;
    let mut add = |p: &f64| {
        sum += p;
        sum
    };
    let cumulated: Vec<f64> = rates.iter().map(&mut add).collect();
    // Neighbours in rank lie apart, so that striping spreads them.
    let unit = |rng: &mut Rng| {
        let at = rng.below(1 << 52) as f64 / (1u64 << 52) as f64;
        cumulated.partition_point(|sum| *sum <= at) as u64 * 1_031 % REGION
    };
    for multi in [false, true] {
        let drive = drive(multi, "50%", FTLS[0]);
        let under_way = under_way(&drive, FTLS[0]);
        let dirty = BUFFER as f64 - under_way;
        let expected = fifo(&rates, dirty, under_way);
        let measured = absorbed(drive, SubmissionPace::Depth(32), unit);
        println!("{measured:.4} absorbed, {expected:.4} expected, LRU {:.4}", lru(&rates, dirty));
        assert!((measured / expected - 1.0).abs() < 0.02, "{measured} instead of {expected}");
        assert!(lru(&rates, dirty) / expected > 1.04, "the test could not tell LRU");
    }
}
