//! The throttle and the collection of an idle drive, on one die.

use base::engine::Rng;
use base::units::{Span, Time};
use flash::backend::{Cause, Op};

use crate::page::{PageConfig, PageFtl};
use crate::rig::{Rig, describe};

/// A die of 80 superblocks of 16 mapping units, a fifth of it spare, written once.
fn drive(gc: &str) -> Rig<PageFtl> {
    let (config, array, _) = describe(&format!(
        r"flash = {{ part = 'K9K8G08U0M', channels = 1, chips = 1, blocks = 80, pages = 16, planes = 1 }}
ftl = {{ capacity = '2048KiB', gc = {{ {gc} }} }}"
    ));
    let config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
    let mut rig: Rig<PageFtl> = Rig::with(config, &array);
    (0..rig.units()).for_each(|lpn| write(&mut rig, lpn));
    rig
}

/// Writes a unit, and waits for the acknowledgement.
fn write(rig: &mut Rig<PageFtl>, lpn: u32) {
    let before = rig.host.written;
    rig.write(&[lpn], None);
    while rig.host.written == before {
        assert!(rig.step(), "the write waits for ever");
    }
}

/// The longest time between two acknowledgements of random writes with eight writes at a time, and the copies for each
/// write.
fn longest_gap(gc: &str) -> (Span, f64) {
    let mut rig = drive(gc);
    let mut rng = Rng::stream(1, "throttle");
    let copied = |rig: &Rig<PageFtl>| rig.backend.account(Time::MAX).of(Op::Program, Cause::Gc).slots;
    let (mut sent, mut latest, mut longest, mut before) = (rig.host.written, Time::ZERO, Span::ZERO, 0);
    let steady = 3_000;
    for i in 0..9_000 {
        rig.write(&[rng.below(rig.units().into()) as u32], None);
        sent += 1;
        while sent - rig.host.written >= 8 {
            let written = rig.host.written;
            assert!(rig.step(), "writes wait for ever");
            let now = rig.with_ftl(|_, flash, _| flash.now);
            if rig.host.written > written {
                longest = if i > steady { longest.max(now - latest) } else { Span::ZERO };
                latest = now;
            }
        }
        before = if i == steady { copied(&rig) } else { before };
    }
    let copies = (copied(&rig) - before) as f64 / 6_000.0;
    rig.run_until_idle();
    (longest, copies)
}

#[test]
fn writes_that_pay_wait_evenly() {
    let (plain, copies) = longest_gap("start = 2, stop = 3");
    let (throttled, copies_throttled) = longest_gap("start = 4, stop = 5, throttle = true");
    assert!(throttled * 2 < plain, "{throttled}, and {plain} without the throttle");
    assert!(copies_throttled < copies * 1.2, "{copies_throttled:.2} copies for a write, and {copies:.2} without it");
}

#[test]
fn an_idle_drive_collects_ahead_and_stops() {
    for (gc, wanted) in [("start = 2, stop = 3", 3), ("start = 2, stop = 3, idle = { after = '10ms', free = 6 }", 6)] {
        let mut rig = drive(gc);
        let mut rng = Rng::stream(1, "throttle");
        for _ in 0..1_200 {
            let lpn = rng.below(rig.units().into()) as u32;
            write(&mut rig, lpn);
        }
        rig.run_until_idle();
        let free = rig.ftl.blocks.spare_superblocks(0);
        assert!((wanted - 1..=wanted).contains(&free), "{gc}: {free} superblocks are free");
    }
}
