//! Tests of zone random write areas: windows of 16 units, flushed by 4, for two zones.

use super::*;

fn rig() -> Rig {
    Rig::new(
        &TEXT.replace(
            "max-open = 2",
            "max-open = 2, zrwa = { size = '128KiB', flush-granularity = '32KiB', zones = 2 }",
        ),
    )
}

/// A drive whose zone 0 is open with a window.
fn opened() -> Rig {
    let mut rig = rig();
    act(&mut rig, 0, ZoneAction::OpenZrwa).expect("an area is free");
    rig
}

/// Moves the write pointer of a zone behind a unit by an explicit flush.
fn flush(rig: &mut Rig, zone: u32, last: u32) -> Result<(), ZoneError> {
    let place = (NonZeroU32::new(1), Lpn::new(zone * SIZE + last));
    let waits =
        rig.with_ftl(|ftl, flash, _| ftl.zones().expect("zones").manage(flash, place, ZoneAction::FlushZrwa))?;
    assert!(!waits, "a flush ends at once");
    Ok(())
}

fn counts(rig: &Rig) -> crate::ZrwaCounters {
    rig.ftl.counters(Time::ZERO).zones.expect("zones").zrwa.expect("areas")
}

#[test]
fn units_of_a_window_are_written_in_any_order_and_overwritten() {
    let mut rig = opened();
    for (at, units, round) in [(8, 4, 1), (0, 2, 2), (9, 2, 3), (15, 1, 4)] {
        assert_eq!(write(&mut rig, 0, at, units, round), Ok(at));
    }
    assert_eq!(report(&rig, 0), (ZoneState::ExplicitlyOpen, 0));
    let wanted = [2, 2, 0, 0, 0, 0, 0, 0, 1, 3, 3, 1, 0, 0, 0, 4, 0];
    assert_eq!(rounds(&mut rig, 0, 17), wanted);
    assert_eq!(counts(&rig).overwritten, 2);
    rig.run_until_idle();
    assert_eq!(rig.backend.account(Time::MAX).op(Op::Program).commands, 0, "nothing has left the window");
    flush(&mut rig, 0, 15).expect("a granule ends there");
    rig.run_until_idle();
    assert_eq!(report(&rig, 0).1, 16);
    assert_eq!(rounds(&mut rig, 0, 17), wanted, "also from flash");
    let host = rig.backend.account(Time::MAX).of(Op::Program, Cause::Host);
    assert_eq!((host.commands, host.slots), (1, 12), "each unit is programmed once");
    assert_eq!(counts(&rig).unwritten, 9);
}

#[test]
fn a_write_behind_the_window_moves_the_pointer_by_granules() {
    let mut rig = opened();
    write(&mut rig, 0, 0, 16, 1).expect("it fills the window");
    write(&mut rig, 0, 16, 1, 1).expect("it is a granule behind");
    assert_eq!(report(&rig, 0).1, 4);
    assert_eq!(write(&mut rig, 0, 3, 1, 1), Err(ZoneError::InvalidWrite), "below the write pointer");
    assert_eq!(write(&mut rig, 0, 32, 5, 1), Err(ZoneError::InvalidWrite), "two windows behind the pointer");
    assert_eq!(write(&mut rig, 0, 4, 1, 2), Ok(4));
    assert_eq!(write(&mut rig, 0, 20, 16, 3), Ok(20), "up to two windows behind the pointer");
    assert_eq!(report(&rig, 0).1, 20);
    rig.run_until_idle();
    let wanted = [vec![1; 4], vec![2], vec![1; 12], vec![0; 3], vec![3; 16], vec![0; 8]].concat();
    assert_eq!(rounds(&mut rig, 0, CAPACITY), wanted);
    assert_eq!(write(&mut rig, 0, 40, 5, 1), Err(ZoneError::Boundary));
    assert_eq!(write(&mut rig, 0, 43, 1, 4), Ok(43));
    assert_eq!(report(&rig, 0).1, 28, "the last window is flushed by the host only");
    assert_eq!(append(&mut rig, 0, 1, 1), Err(ZoneError::InvalidOperation));
    flush(&mut rig, 0, 43).expect("the end of the zone");
    assert_eq!(report(&rig, 0), (ZoneState::Full, CAPACITY));
    rig.run_until_idle();
    assert_eq!(rounds(&mut rig, 0, CAPACITY), [&wanted[..43], &[4]].concat());
    assert_eq!((counts(&rig).implicit_flushes, counts(&rig).explicit_flushes, counts(&rig).zones), (3, 1, 0));
}

#[test]
fn a_flush_names_the_last_unit_of_a_granule_in_the_window() {
    let mut rig = opened();
    for last in [0, 2, 4, 16, 19, CAPACITY, SIZE - 1] {
        assert_eq!(flush(&mut rig, 0, last), Err(ZoneError::InvalidOperation), "unit {last}");
    }
    assert_eq!(flush(&mut rig, 1, 3), Err(ZoneError::InvalidOperation), "no area");
    append(&mut rig, 1, 1, 1).expect("it is empty");
    assert_eq!(flush(&mut rig, 1, 3), Err(ZoneError::InvalidOperation), "no area");
    flush(&mut rig, 0, 7).expect("two granules");
    assert_eq!(flush(&mut rig, 0, 7), Err(ZoneError::InvalidOperation), "below the write pointer");
    act(&mut rig, 0, ZoneAction::Close).expect("it is open");
    flush(&mut rig, 0, 11).expect("it opens the zone");
    assert_eq!(report(&rig, 0), (ZoneState::ImplicitlyOpen, 12));
}

#[test]
fn areas_are_for_so_many_empty_zones() {
    let mut rig = opened();
    assert_eq!(act(&mut rig, 0, ZoneAction::OpenZrwa), Err(ZoneError::InvalidOperation), "not empty");
    act(&mut rig, 0, ZoneAction::Close).expect("it is open");
    assert_eq!(act(&mut rig, 0, ZoneAction::OpenZrwa), Err(ZoneError::InvalidOperation), "not empty");
    write(&mut rig, 0, 5, 1, 1).expect("a closed zone keeps its window");
    act(&mut rig, 1, ZoneAction::OpenZrwa).expect("a second area");
    act(&mut rig, 1, ZoneAction::Close).expect("it is open");
    assert_eq!(act(&mut rig, 2, ZoneAction::OpenZrwa), Err(ZoneError::ZrwaUnavailable));
    assert_eq!(report(&rig, 2).0, ZoneState::Empty, "a refused command opens nothing");
    act(&mut rig, 1, ZoneAction::Reset).expect("it is closed");
    act(&mut rig, 2, ZoneAction::OpenZrwa).expect("a reset gives the area back");
    act(&mut rig, 0, ZoneAction::Finish).expect("it is closed");
    act(&mut rig, 1, ZoneAction::OpenZrwa).expect("a finish gives the area back");
    let mut plain = super::rig();
    assert_eq!(act(&mut plain, 0, ZoneAction::OpenZrwa), Err(ZoneError::InvalidOperation), "a drive without areas");
}

#[test]
fn a_finish_programs_the_window_and_pads_behind_it() {
    let mut rig = opened();
    write(&mut rig, 0, 0, 16, 1).expect("it fills the window");
    write(&mut rig, 0, 20, 3, 1).expect("two granules behind");
    act(&mut rig, 0, ZoneAction::Finish).expect("it is open");
    let wanted = [vec![1; 16], vec![0; 4], vec![1; 3], vec![0; SIZE as usize - 23]].concat();
    assert_eq!((report(&rig, 0), rounds(&mut rig, 0, SIZE)), ((ZoneState::Full, CAPACITY), wanted.clone()));
    assert_eq!(rig.ftl.counters(Time::ZERO).zones.expect("zones").padded, u64::from(CAPACITY) - 23);
    cut(&mut rig);
    assert_eq!((report(&rig, 0), rounds(&mut rig, 0, SIZE)), ((ZoneState::Full, CAPACITY), wanted));
    act(&mut rig, 0, ZoneAction::Reset).expect("it is full");
    assert_eq!(rounds(&mut rig, 0, SIZE), vec![0; SIZE as usize]);
}

#[test]
fn windows_survive_power_cuts_one_after_another() {
    let mut rig = opened();
    act(&mut rig, 1, ZoneAction::OpenZrwa).expect("a second area");
    write(&mut rig, 0, 3, 2, 1).expect("in the window");
    write(&mut rig, 1, 0, 20, 1).expect("a granule behind the window");
    write(&mut rig, 1, 6, 1, 2).expect("in the window");
    let first = [0, 0, 0, 1, 1, 0];
    let second = [vec![1; 6], vec![2], vec![1; 13], vec![0]].concat();
    for round in 0..12 {
        if round % 3 == 2 {
            rig.with_ftl(|ftl, _, _| ftl.power_cycle().expect("zones").power_off(Time::ZERO));
            rig.run_until_idle();
        }
        cut(&mut rig);
        assert_eq!((report(&rig, 0), report(&rig, 1)), ((ZoneState::Closed, 0), (ZoneState::Closed, 4)));
        assert_eq!((rounds(&mut rig, 0, 6), rounds(&mut rig, 1, 21)), (first.to_vec(), second.clone()));
        assert_eq!(counts(&rig).zones, 2, "they still have their areas");
    }
    write(&mut rig, 0, 4, 1, 9).expect("the window is there again");
    assert_eq!(rounds(&mut rig, 0, 6), [0, 0, 0, 1, 9, 0]);
    flush(&mut rig, 1, 19).expect("a granule ends there");
    rig.run_until_idle();
    assert_eq!(rounds(&mut rig, 1, 21), second);
}

#[test]
fn an_area_without_data_ends_with_the_power() {
    let mut rig = opened();
    cut(&mut rig);
    assert_eq!((report(&rig, 0), counts(&rig).zones), ((ZoneState::Empty, 0), 0));
}

#[test]
fn resets_and_finishes_of_windows_are_done_whole_or_not_at_all() {
    let mut states = [0; 2];
    for action in [ZoneAction::Reset, ZoneAction::Finish] {
        for events in 0..60 {
            let mut rig = opened();
            write(&mut rig, 0, 0, 30, 1).expect("up to two windows");
            write(&mut rig, 0, 20, 2, 2).expect("in the window");
            begin(&mut rig, 0, action).expect("it is open");
            (0..events).for_each(|_| _ = rig.step());
            cut(&mut rig);
            let kept = rounds(&mut rig, 0, SIZE);
            let whole = [vec![1; 20], vec![2; 2], vec![1; 8], vec![0; SIZE as usize - 30]].concat();
            match report(&rig, 0) {
                (ZoneState::Closed, pointer) => {
                    assert_eq!((action, pointer, kept), (ZoneAction::Reset, 16, whole), "after {events} events");
                    write(&mut rig, 0, 31, 1, 3).expect("it has its window");
                    states[0] += 1;
                }
                (ZoneState::Empty, _) => {
                    assert_eq!((action, kept), (ZoneAction::Reset, vec![0; SIZE as usize]), "after {events} events");
                    states[1] += 1;
                }
                (state, _) => {
                    assert_eq!((action, state), (ZoneAction::Finish, ZoneState::Full), "after {events} events");
                    assert_eq!(kept, whole, "after {events} events");
                }
            }
        }
    }
    assert!(states.iter().all(|count| *count > 0), "resets are cut before and after their erases begin: {states:?}");
}

#[test]
fn a_failed_program_leaves_the_window_readable() {
    for failing in 0..12 {
        let mut rig = opened();
        rig.backend.media_mut().faults_mut().fail_program(failing);
        write(&mut rig, 0, 0, 30, 1).expect("up to two windows");
        write(&mut rig, 0, 28, 2, 2).expect("in the window");
        rig.run_until_idle();
        assert_eq!(report(&rig, 0).0, if failing < 6 { ZoneState::ReadOnly } else { ZoneState::ExplicitlyOpen });
        let kept = [vec![1; 28], vec![2; 2]].concat();
        for _ in 0..3 {
            assert_eq!(rounds(&mut rig, 0, 30), kept, "page {failing}");
            cut(&mut rig);
        }
        if failing < 6 {
            assert_eq!(write(&mut rig, 0, 20, 1, 3), Err(ZoneError::ReadOnly));
            assert_eq!(flush(&mut rig, 0, 19), Err(ZoneError::InvalidTransition));
            assert_eq!(counts(&rig).zones, 0, "a read-only zone has no area");
        }
    }
}

#[test]
fn writes_wait_while_the_window_is_full_of_units_for_busy_dies() {
    let text = TEXT.replace("max-open = 2", "max-open = 2, programs-per-die = 1, zrwa = { size = '128KiB' }");
    let mut rig = Rig::new(&text);
    act(&mut rig, 1, ZoneAction::OpenZrwa).expect("an area is free");
    append(&mut rig, 0, CAPACITY, 1).expect("it is empty");
    let before = rig.host.written;
    for at in 0..CAPACITY {
        write(&mut rig, 1, at, 1, 1).expect("at most a unit behind the window");
    }
    let written = rig.host.written - before;
    assert!((12..CAPACITY).contains(&written), "{written} units: RAM holds a window and a row beside it");
    assert_eq!(report(&rig, 1), (ZoneState::ExplicitlyOpen, 28), "the write pointer counts what is admitted");
    rig.run_until_idle();
    assert_eq!(rig.host.written, 2 * CAPACITY);
    assert_eq!(rounds(&mut rig, 1, CAPACITY), vec![1; CAPACITY as usize]);
}
