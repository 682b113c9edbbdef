//! Tests of zones alone, on small arrays.

mod zrwa;

use std::num::NonZeroU32;

use base::engine::Rng;
use base::units::{Lpn, Time};
use flash::backend::{Cause, Op};
use flash::nand::Stamp;

use super::ZnsFtl;
use crate::port::{OldPlace, PageWrite, ZoneReport, ZoneWrite, full_mask};
use crate::rig::Rig;
use crate::zone::{ZoneAction, ZoneError, ZoneState};

/// Two dies of TLC: a program writes two planes and three pages of two mapping units each, 12 in all. A superblock has two
/// programs. Six zones of 44 of 64 units.
const TEXT: &str = r"flash = { part = 'kioxia-wd-128l-tlc', channels = 2, chips = 1, blocks = 9, pages = 6, planes = 2 }
[ftl]
kind = 'zns'
map-unit = '8KiB'
capacity = '2112KiB'
zns = { capacity = '352KiB', size = '512KiB', max-active = 3, max-open = 2 }";

const SIZE: u32 = 64;
const CAPACITY: u32 = 44;

fn rig() -> Rig {
    Rig::new(TEXT)
}

fn ftl(rig: &Rig) -> &ZnsFtl {
    rig.ftl.downcast_ref().expect("zones")
}

fn report(rig: &Rig, zone: u32) -> (ZoneState, u32) {
    let ZoneReport { state, write_pointer } = rig.ftl.zone_report(Lpn::new(zone * SIZE)).expect("zones");
    (state, write_pointer.get() - zone * SIZE)
}

fn stamp(lpn: u32, round: u32) -> Stamp {
    Stamp(u64::from(round) << 32 | u64::from(lpn + 1))
}

/// Submits a write or an append, if the drive admits it; does not wait for its end. Returns the first unit.
fn submit(rig: &mut Rig, write: ZoneWrite, round: u32) -> Result<u32, ZoneError> {
    let first = rig.ftl.zones().expect("zones").admit(write)?;
    let version = rig.ftl.next_version();
    let mask = full_mask(rig.backend.geometry().sectors);
    for lpn in (first.get()..first.get() + write.units).map(Lpn::new) {
        rig.host.writing.insert(lpn, stamp(lpn.get(), round));
        let (owner, old_place) = (NonZeroU32::new(1), OldPlace::Unasked);
        let unit = PageWrite { lpn, owner, at: 0, mask, version, old_place, stream: None };
        rig.with_ftl(|ftl, flash, host| ftl.write(flash, host, unit));
    }
    Ok(first.get())
}

fn write(rig: &mut Rig, zone: u32, at: u32, units: u32, round: u32) -> Result<u32, ZoneError> {
    submit(rig, ZoneWrite { first: Lpn::new(zone * SIZE + at), units, is_append: false }, round)
}

fn append(rig: &mut Rig, zone: u32, units: u32, round: u32) -> Result<u32, ZoneError> {
    submit(rig, ZoneWrite { first: Lpn::new(zone * SIZE), units, is_append: true }, round)
}

/// Begins an action on a zone. Returns true if its end follows later.
fn begin(rig: &mut Rig, zone: u32, action: ZoneAction) -> Result<bool, ZoneError> {
    let place = (NonZeroU32::new(1), Lpn::new(zone * SIZE));
    rig.with_ftl(|ftl, flash, _| ftl.zones().expect("zones").manage(flash, place, action))
}

/// Carries out an action on a zone, and waits for its end.
fn act(rig: &mut Rig, zone: u32, action: ZoneAction) -> Result<(), ZoneError> {
    let done = rig.host.zones_done;
    let waits = begin(rig, zone, action)?;
    rig.run_until_idle();
    assert_eq!(rig.host.zones_done - done, u32::from(waits), "every action ends");
    Ok(())
}

/// Cuts the power and mounts.
fn cut(rig: &mut Rig) {
    rig.with_ftl(|ftl, flash, _| ftl.power_cycle().expect("capacitors").power_fails(flash));
    rig.cut_power();
    rig.ftl.check(rig.backend.media(), None);
    rig.with_ftl(|ftl, flash, host| ftl.power_cycle().expect("a mount").recover(flash, host));
    rig.run_until_idle();
    assert!(!rig.ftl.power_cycle().expect("a mount").is_recovering());
}

/// The round in which each of the first units of a zone was written; 0 for zeros.
fn rounds(rig: &mut Rig, zone: u32, units: u32) -> Vec<u32> {
    let read = |unit| {
        let lpn = zone * SIZE + unit;
        let found = rig.read(lpn).expect("not lost").0;
        assert!(found == 0 || found as u32 == lpn + 1, "unit {lpn} holds {found:#x}");
        (found >> 32) as u32
    };
    (0..units).map(read).collect()
}

#[test]
fn a_zone_is_written_to_its_capacity_and_reset() {
    let mut rig = rig();
    let free = rig.ftl.free_blocks();
    for at in (0..CAPACITY).step_by(4) {
        assert_eq!(write(&mut rig, 2, at, 4, 1), Ok(2 * SIZE + at));
        assert_eq!(report(&rig, 2).1, at + 4);
    }
    assert_eq!(report(&rig, 2), (ZoneState::Full, CAPACITY), "also while programs are under way");
    let all = [vec![1; CAPACITY as usize], vec![0; (SIZE - CAPACITY) as usize]].concat();
    assert_eq!(rounds(&mut rig, 2, SIZE), all, "the gap behind the capacity reads as zeros");
    assert_eq!(rig.ftl.free_blocks(), free - 2, "a superblock on each die");
    assert_eq!(rig.backend.account(Time::MAX).op(Op::Program).commands, 4, "one for each row");
    act(&mut rig, 2, ZoneAction::Reset).expect("it is full");
    assert_eq!((report(&rig, 2), rig.ftl.free_blocks()), ((ZoneState::Empty, 0), free));
    assert_eq!(rounds(&mut rig, 2, SIZE), vec![0; SIZE as usize]);
    assert_eq!(rig.backend.account(Time::MAX).op(Op::Erase).commands, 2);
}

#[test]
fn writes_are_admitted_at_the_write_pointer_and_appends_anywhere() {
    let mut rig = rig();
    assert_eq!(write(&mut rig, 0, 1, 1, 1), Err(ZoneError::InvalidWrite));
    assert_eq!(report(&rig, 0), (ZoneState::Empty, 0), "a refused write opens nothing");
    assert_eq!(append(&mut rig, 0, 5, 1), Ok(0));
    assert_eq!(append(&mut rig, 0, 2, 1), Ok(5));
    assert_eq!(write(&mut rig, 0, 5, 1, 1), Err(ZoneError::InvalidWrite), "written already");
    assert_eq!(write(&mut rig, 0, 7, CAPACITY - 6, 1), Err(ZoneError::Boundary));
    assert_eq!(write(&mut rig, 0, 7, CAPACITY - 7, 1), Ok(7));
    assert_eq!(write(&mut rig, 0, CAPACITY, 1, 1), Err(ZoneError::Full));
    assert_eq!(append(&mut rig, 0, 1, 1), Err(ZoneError::Full));
    let inside = ZoneWrite { first: Lpn::new(SIZE + 1), units: 1, is_append: true };
    assert_eq!(submit(&mut rig, inside, 1), Err(ZoneError::InvalidField), "not the first unit of a zone");
    assert_eq!(append(&mut rig, 1, CAPACITY + 1, 1), Err(ZoneError::Boundary));
    let place = (NonZeroU32::new(1), Lpn::new(SIZE + 1));
    let manage = rig.with_ftl(|ftl, flash, _| ftl.zones().expect("zones").manage(flash, place, ZoneAction::Open));
    assert_eq!(manage, Err(ZoneError::InvalidField));
    rig.run_until_idle();
}

#[test]
fn the_limits_hold_for_writes_and_actions() {
    let mut rig = rig();
    (0..2).for_each(|zone| act(&mut rig, zone, ZoneAction::Open).expect("places are free"));
    assert_eq!(write(&mut rig, 2, 0, 1, 1), Err(ZoneError::TooManyOpen));
    act(&mut rig, 0, ZoneAction::Close).expect("it is open");
    assert_eq!(write(&mut rig, 2, 0, 1, 1), Ok(2 * SIZE));
    assert_eq!(append(&mut rig, 3, 1, 1), Err(ZoneError::TooManyActive));
    assert_eq!(write(&mut rig, 2, 1, CAPACITY - 1, 1), Ok(2 * SIZE + 1));
    assert_eq!(append(&mut rig, 3, 1, 1), Ok(3 * SIZE), "a full zone is not active");
    rig.run_until_idle();
}

#[test]
fn resets_wear_all_superblocks_of_a_die_alike() {
    let mut rig = rig();
    for _ in 0..90 {
        append(&mut rig, 0, CAPACITY, 1).expect("it is empty");
        rig.run_until_idle();
        act(&mut rig, 0, ZoneAction::Reset).expect("it is full");
    }
    let erases: Vec<u32> = rig.backend.media().all_erases().collect();
    assert!(erases.iter().all(|erases| *erases == 10), "{erases:?}");
}

#[test]
fn a_finish_pads_the_rest_of_the_zone() {
    for written in [0, 1, 12, 13, 30] {
        let mut rig = rig();
        if written > 0 {
            append(&mut rig, 1, written, 1).expect("it is empty");
        }
        act(&mut rig, 1, ZoneAction::Finish).expect("it is active");
        assert_eq!(report(&rig, 1), (ZoneState::Full, CAPACITY));
        let account = rig.backend.account(Time::MAX);
        let pads = account.of(Op::Program, Cause::Pad).commands;
        assert_eq!(account.op(Op::Program).commands, 4, "{written} units written");
        assert_eq!(pads, u64::from(4 - written.div_ceil(12)), "{written} units written");
        let data = |rig: &mut Rig| rounds(rig, 1, SIZE).iter().filter(|round| **round == 1).count() as u32;
        assert_eq!(data(&mut rig), written, "padding reads as zeros");
        cut(&mut rig);
        assert_eq!((report(&rig, 1), data(&mut rig)), ((ZoneState::Full, CAPACITY), written), "after a power cut");
        act(&mut rig, 1, ZoneAction::Reset).expect("it is full");
        append(&mut rig, 1, CAPACITY, 2).expect("it is empty");
        assert_eq!(rounds(&mut rig, 1, CAPACITY), vec![2; CAPACITY as usize]);
    }
}

/// Gives random commands, and cuts the power after `events` events. Returns true if work was under way at the cut.
fn survive(seed: u64, events: u64) -> bool {
    let mut rng = Rng::stream(seed, "zns.cuts");
    let mut rig = rig();
    // For each zone: its units with data, their round, and true if it is finished.
    let mut zones = [(0u32, 0u32, false); 6];
    let mut left = events;
    for round in 1..60 {
        let zone = rng.below(4) as u32;
        let (data, _, finished) = zones[zone as usize];
        let units = 1 + rng.below(20) as u32;
        // The device lets no request overlap an action on its zone, so actions wait only for the rows under way.
        match rng.below(12) {
            0 => {
                if begin(&mut rig, zone, ZoneAction::Reset).is_ok() {
                    zones[zone as usize] = (0, 0, false);
                    rig.run_until_idle();
                }
            }
            1 if !finished => {
                if begin(&mut rig, zone, ZoneAction::Finish).is_ok() {
                    zones[zone as usize].2 = true;
                    rig.run_until_idle();
                }
            }
            _ => {
                let before = rig.host.written;
                let admitted = append(&mut rig, zone, units, if data == 0 { round } else { zones[zone as usize].1 });
                if admitted.is_ok() {
                    assert_eq!(admitted, Ok(zone * SIZE + data));
                    let round = if data == 0 { round } else { zones[zone as usize].1 };
                    let placed = rig.host.written - before;
                    zones[zone as usize] = (data + units, round, data + units == CAPACITY);
                    if placed < units || left < 40 {
                        // Some units wait for their row: the cut comes here, or after all of them.
                        while left > 0 && rig.step() {
                            left -= 1;
                        }
                        if left == 0 {
                            // Only acknowledged units must be there.
                            let acknowledged = data + (rig.host.written - before);
                            zones[zone as usize].0 = acknowledged.min(data + units);
                            break;
                        }
                    }
                }
            }
        }
        left = left.saturating_sub(1);
    }
    let works = rig.backend.is_at_work();
    cut(&mut rig);
    for (zone, (data, round, finished)) in (0..).zip(zones) {
        let (state, pointer) = report(&rig, zone);
        let found = rounds(&mut rig, zone, SIZE);
        let kept = found.iter().take_while(|found| **found == round && round > 0).count() as u32;
        assert!(kept >= data, "seed {seed}, {events} events: zone {zone} keeps {kept} of {data} units");
        assert!(found[kept as usize..].iter().all(|round| *round == 0), "zone {zone}: {found:?}");
        let expected = match kept {
            _ if finished || kept == CAPACITY => (ZoneState::Full, CAPACITY),
            0 => (ZoneState::Empty, 0),
            _ => (ZoneState::Closed, kept),
        };
        assert_eq!((state, pointer), expected, "seed {seed}, {events} events: zone {zone}");
    }
    // The zones continue from the state before the cut.
    for (zone, (_, round, _)) in (0..).zip(zones) {
        let (state, pointer) = report(&rig, zone);
        let round = round.max(100);
        if state == ZoneState::Closed {
            let kept = rounds(&mut rig, zone, pointer);
            write(&mut rig, zone, pointer, CAPACITY - pointer, round).expect("it is closed");
            rig.run_until_idle();
            let rest = vec![round; (CAPACITY - pointer) as usize];
            assert_eq!(rounds(&mut rig, zone, CAPACITY), [kept, rest].concat());
        }
    }
    works
}

#[test]
fn what_is_acknowledged_survives_a_power_cut_at_any_event() {
    let working = (0..400).filter(|seed| survive(*seed, seed % 80)).count();
    assert!(working > 100, "{working} cuts came while programs or erases were under way");
}

#[test]
fn actions_cut_by_the_power_are_done_whole_or_not_at_all() {
    let mut states = [0; 2];
    for action in [ZoneAction::Reset, ZoneAction::Finish] {
        for events in 0..60 {
            let mut rig = rig();
            append(&mut rig, 0, 20, 1).expect("it is empty");
            begin(&mut rig, 0, action).expect("it is open");
            (0..events).for_each(|_| _ = rig.step());
            cut(&mut rig);
            let kept = rounds(&mut rig, 0, SIZE).iter().filter(|round| **round == 1).count();
            let (state, pointer) = report(&rig, 0);
            match (state, kept) {
                (ZoneState::Closed, 20) => assert_eq!(pointer, 20),
                (ZoneState::Empty, 0) => assert_eq!(action, ZoneAction::Reset),
                (ZoneState::Full, 20) => assert_eq!(action, ZoneAction::Finish),
                other => panic!("{action:?} after {events} events: {other:?}"),
            }
            states[usize::from(state == ZoneState::Closed)] += 1;
        }
    }
    assert!(states[0] > 40, "the actions do take effect: {states:?}");
}

#[test]
fn rows_in_ram_survive_power_cuts_one_after_another() {
    let mut rig = rig();
    append(&mut rig, 0, 5, 1).expect("it is empty");
    append(&mut rig, 1, 17, 1).expect("it is empty");
    for _ in 0..30 {
        cut(&mut rig);
        assert_eq!((report(&rig, 0), report(&rig, 1)), ((ZoneState::Closed, 5), (ZoneState::Closed, 17)));
    }
    assert_eq!(rounds(&mut rig, 1, 18), [vec![1; 17], vec![0]].concat());
    // The same holds for an orderly power-off, and for a cut before the mount has read the rows back.
    rig.with_ftl(|ftl, _, _| ftl.power_cycle().expect("zones").power_off(Time::ZERO));
    rig.run_until_idle();
    rig.cut_power();
    rig.with_ftl(|ftl, flash, _| ftl.power_cycle().expect("capacitors").power_fails(flash));
    cut(&mut rig);
    assert_eq!(rounds(&mut rig, 0, 6), [vec![1; 5], vec![0]].concat());
    assert_eq!(rounds(&mut rig, 1, 18), [vec![1; 17], vec![0]].concat());
}

#[test]
fn a_failed_program_makes_its_zone_read_only_and_loses_nothing() {
    for failing in 0..24 {
        let mut rig = rig();
        append(&mut rig, 1, 30, 1).expect("it is empty");
        rig.run_until_idle();
        rig.backend.media_mut().faults_mut().fail_program(failing);
        append(&mut rig, 0, 20, 1).expect("it is empty");
        append(&mut rig, 0, 20, 1).expect("there is room");
        rig.run_until_idle();
        let fails = report(&rig, 0).0 == ZoneState::ReadOnly;
        assert_eq!(fails, failing < 18, "the program of page {failing} of those of three rows");
        let kept = |rig: &mut Rig| rounds(rig, 0, SIZE).iter().filter(|round| **round == 1).count();
        assert_eq!(kept(&mut rig), 40);
        let whole = if fails { ZoneState::ReadOnly } else { ZoneState::ImplicitlyOpen };
        assert_eq!(report(&rig, 0).0, whole);
        for _ in 0..3 {
            cut(&mut rig);
            assert_eq!(kept(&mut rig), 40, "page {failing}, after a power cut");
            assert_eq!(report(&rig, 0).0 == ZoneState::ReadOnly, fails, "page {failing}, after a power cut");
        }
        if fails {
            assert_eq!(append(&mut rig, 0, 1, 1), Err(ZoneError::ReadOnly));
            assert_eq!(act(&mut rig, 0, ZoneAction::Reset), Err(ZoneError::InvalidTransition));
        }
        assert_eq!(rounds(&mut rig, 1, 31), [vec![1; 30], vec![0]].concat(), "the other zone");
    }
}

#[test]
fn writes_that_wait_when_their_zone_fails_are_refused() {
    let mut rig = rig();
    rig.backend.media_mut().faults_mut().fail_program(0);
    append(&mut rig, 0, CAPACITY, 1).expect("it is empty");
    rig.run_until_idle();
    assert_eq!(rig.host.written + rig.host.refused, CAPACITY, "each unit has an answer");
    cut(&mut rig);
    let kept = rounds(&mut rig, 0, SIZE).iter().filter(|round| **round == 1).count() as u32;
    assert!(kept >= rig.host.written, "{kept} of {} acknowledged units", rig.host.written);
}

#[test]
fn zones_without_superblocks_go_offline() {
    let mut rig = rig();
    for round in 0..3 {
        append(&mut rig, 0, CAPACITY, 1).expect("it is empty");
        rig.run_until_idle();
        // `fail_erase` counts from the first planned fault on; a reset erases two blocks on each of two dies.
        rig.backend.media_mut().faults_mut().fail_erase(4 * u64::from(round));
        act(&mut rig, 0, ZoneAction::Reset).expect("a reset ends also if an erase fails");
        let offline = (0..6).filter(|zone| report(&rig, *zone).0 == ZoneState::Offline).collect::<Vec<_>>();
        // There are nine superblocks on each die, two of them in reserve: the zones have one to spare.
        assert_eq!(offline, if round < 1 { vec![] } else { (6 - round..6).collect() }, "after {round} failures");
    }
    assert_eq!(append(&mut rig, 5, 1, 1), Err(ZoneError::Offline));
    assert_eq!(act(&mut rig, 5, ZoneAction::Reset), Err(ZoneError::InvalidTransition));
    assert_eq!(
        rig.ftl.zones().expect("zones").check_read(Lpn::new(5 * SIZE), Lpn::new(5 * SIZE + 1)),
        Err(ZoneError::Offline)
    );
    for zone in 0..4 {
        append(&mut rig, zone, CAPACITY, 2).expect("it has superblocks");
        rig.run_until_idle();
    }
    assert_eq!(ftl(&rig).states.counts(), [0, 0]);
}

#[test]
fn zones_take_the_memory_that_they_predict() {
    let rig = Rig::new(
        r"flash = { part = 'K9K8G08U0M', channels = 2, chips = 2, blocks = 400, pages = 64, planes = 1 }
[ftl]
kind = 'zns'
zns = { dies = 2 }",
    );
    let ftl = ftl(&rig);
    let zones = ftl.zones.len();
    let tables = size_of_val(&*ftl.zones) + zones + ftl.blocks.of_zone(0).len() * zones * 8 + 1600 * 8;
    let said = rig.config.memory();
    assert!((tables as u64..tables as u64 + 4096).contains(&said), "{said}, and the tables take {tables}");
}
