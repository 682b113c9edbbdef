//! Hot and cold data in streams of their own, against the fixed points of their classes.
//!
//! With a stream of host data and a stream of copies for each class, a superblock holds units of one class. So each
//! class is a log of its own, and the victim policy decides its share of the closed superblocks:
//!
//! * Greedy takes the emptiest superblock of either class, so that the victims of both classes have the same number of
//!   valid units. This model is exact for many superblocks. With a quarter of the 1024 superblocks of this test, greedy
//!   gains 3 % more than the model says, because it waits for the class that happens to have the emptier victim.
//! * FIFO takes superblocks of both classes in the order in which they closed, so that superblocks of both spend the
//!   same time closed.

use crate::PageConfig;
use base::engine::Rng;

use super::fixed_point::PoolModel;
use crate::page::PageFtl;
use crate::page::victim::Choice;
use crate::rig::{Rig, describe};

const BLOCKS: u32 = 1024;
const SLOTS: u32 = 64;
/// A tenth of the units take 80 % of the writes.
const HOT: f64 = 0.1;
const WRITES: f64 = 0.8;

/// A class: its share of the writes, and its valid units in closed superblocks.
#[derive(Clone, Copy, Debug)]
struct Class {
    share: f64,
    live: f64,
}

/// Writes of a class from one of its victims to the next, if the class has `closed` closed superblocks.
fn between_victims(class: Class, closed: f64, choice: Choice) -> f64 {
    // The model counts whole superblocks, so the units are scaled: only the share of valid ones matters.
    let whole = closed.floor();
    let live = class.live * whole / closed;
    let slots = f64::from(SLOTS);
    if live >= whole * slots {
        return 0.0;
    }
    PoolModel { slots: SLOTS, closed: whole as u32, live, choice, shared_log: false }.solve().host
}

/// The write amplification of two classes that share closed superblocks.
fn expected(classes: [Class; 2], closed: f64, choice: Choice) -> f64 {
    // The classes share the superblocks so that one quantity is equal in both: the valid units of a victim, or, for
    // FIFO, the time that a superblock is closed.
    let level = |class: Class, closed: f64| {
        let host = between_victims(class, closed, choice);
        let of = if choice == Choice::Oldest { closed * host / class.share } else { host };
        (of, host)
    };
    let least = classes[0].live / f64::from(SLOTS) + 1.0;
    let (mut low, mut high) = (least, closed - least.min(closed / 4.0));
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        let higher = level(classes[0], middle).0 > level(classes[1], closed - middle).0;
        if higher { high = middle } else { low = middle }
    }
    let of = [low, closed - low];
    let each = |i: usize| classes[i].share * f64::from(SLOTS) / level(classes[i], of[i]).1;
    each(0) + each(1)
}

/// Measures the write amplification of hot and cold writes, each from a queue of its own, and computes the model's
/// write amplification.
fn compare(victim: &str, choice: Choice, streams: &str) -> [f64; 2] {
    let (config, array, _) = describe(&format!(
        "flash = {{ part = 'K9K8G08U0M', channels = 1, chips = 1, blocks = {BLOCKS}, pages = {SLOTS}, planes = 1 }}\n\
         [ftl]\nover-provisioning = '20%'\ngc = {{ victim = {{ policy = '{victim}' }} }}\n{streams}"
    ));
    let config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
    let open = f64::from(config.streams.count().open());
    let units = f64::from(config.units);
    // Half of the slots of the open superblocks hold units; if the classes are apart, the same number in each class.
    let hot = (units * HOT).round();
    let class = |share, units| Class { share, live: units - open / 4.0 * f64::from(SLOTS) };
    let classes = [class(WRITES, hot), class(1.0 - WRITES, units - hot)];
    let free = f64::from(config.gc.start + config.gc.stop) / 2.0;
    let model = expected(classes, f64::from(BLOCKS) - free - open - 1.0, choice);
    let mut rig: Rig<PageFtl> = Rig::with(config, &array);
    rig.backend.set_timed(false);
    let (hot, units) = (hot as u32, rig.units());
    let mut rng = Rng::stream(7, "classes");
    let write = |rig: &mut Rig<PageFtl>, lpn: u32| {
        rig.host.queue = u16::from(lpn >= hot);
        rig.write(&[lpn], None);
    };
    (0..units).for_each(|lpn| write(&mut rig, lpn));
    let mut overwrite = |rig: &mut Rig<PageFtl>, times: u32| {
        for _ in 0..times * units {
            let is_hot = rng.chance(WRITES);
            let (from, to) = if is_hot { (0, hot) } else { (hot, units) };
            write(rig, from + rng.below(u64::from(to - from)) as u32);
        }
    };
    overwrite(&mut rig, 12);
    let slots = |rig: &Rig<PageFtl>| rig.backend.account(base::units::Time::ZERO).op(flash::backend::Op::Program).slots;
    let before = slots(&rig);
    overwrite(&mut rig, 8);
    rig.ftl.check(rig.backend.media());
    let measured = (slots(&rig) - before) as f64 / f64::from(8 * units);
    [measured, model]
}

const APART: &str = "streams = { host = { policy = 'queue', streams = 2 }, copies = { policy = 'same' } }";

#[test]
fn greedy_victims_of_classes_that_are_apart_are_those_of_a_log_for_each_class() {
    let [apart, expected] = compare("greedy", Choice::Emptiest, APART);
    assert!((expected / apart - 1.0).abs() < 0.02, "measured {apart}, expected {expected}");
    // With both classes in one superblock this model does not hold: the cold units in greedy victims are copied again
    // and again.
    let [together, _] = compare("greedy", Choice::Emptiest, "");
    assert!(apart < 0.9 * together, "apart {apart}, together {together}");
}

#[test]
fn fifo_victims_gain_nothing_from_classes_that_are_apart() {
    // The time for which a superblock is closed does not depend on the class, so separation gains nothing: each unit
    // lives or dies by itself, in whatever superblock.
    for streams in [APART, ""] {
        let [measured, expected] = compare("fifo", Choice::Oldest, streams);
        assert!((expected / measured - 1.0).abs() < 0.02, "{streams}: measured {measured}, expected {expected}");
    }
}
