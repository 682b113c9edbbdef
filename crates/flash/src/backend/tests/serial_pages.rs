//! Pages without commands in serial lists do what commands would do, whatever comes in between.

use super::*;
use crate::nand::Stamp;
use base::units::Lba;
use proptest::prelude::*;

/// Two chips whose pages have times of their own: three pages of each superblock are used.
fn backend<S: Sector>() -> Backend<S, ()> {
    let mut part = Part::preset("dirik-2009").expect("a preset").clone();
    part.bus.command = Span::from_us(1);
    let geometry = Geometry::new(1, 2, 1, 1, 1, 16, 64, 1, 4).expect("a small array");
    let timing = Timing::new(&part, &geometry, Rate::new(100_000_000), false).expect("a valid part");
    let config = Config {
        timing,
        controllers: Controllers::PerDie,
        transfer: Transfer::Bus,
        completion: Completion::default(),
        ecc: None,
        arbitration: Arbitration::default(),
        suspend: None,
        variation: None,
        software: None,
    };
    let media = Media::new(geometry, 100, 1, Faults::new(&FaultSpec::default(), 7));
    Backend::new(media, &config, ())
}

/// A page of a list: a program of the next page of a superblock, or a read of the last page that was programmed there.
#[derive(Clone, Copy, Debug)]
struct Page {
    superblock: u32,
    is_read: bool,
}

/// Adds a list. `in_bulk` pages have no commands.
fn add<S: Sector>(
    backend: &mut Backend<S, ()>,
    next: &mut [u32; 32],
    pages: &[Page],
    scans: bool,
    in_bulk: bool,
) -> Handle<List> {
    let list = backend.open_list(Class::Other, 0);
    if scans {
        backend.add_scan(list, Cause::Map, SuperblockId::new(3), 2);
    }
    for Page { superblock, is_read } in pages.iter().copied() {
        let (at, id) = (&mut next[superblock as usize], SuperblockId::new(superblock));
        let is_read = is_read && *at > 0;
        *at += u32::from(!is_read);
        let target = Target { superblock: id, offset: *at - 1 };
        let psn = backend.geometry().slot(id, target.offset);
        let (lpn, version) = (Lpn::new(psn.get()), 5 + superblock);
        // Of some pages other content than preconditioning has.
        let first = S::preconditioned(Lba::new(u64::from(psn.get()) * 4), version + psn.get() % 2);
        match (in_bulk, is_read) {
            (true, true) => backend.push_serial_read(list, Cause::Merge, psn, lpn),
            (true, false) => {
                backend.push_serial_program(list, Cause::Merge, psn, (lpn, HostPage { version, first }));
            }
            (false, true) => {
                let command = backend.add_read(list, Cause::Merge, id);
                backend.push_slot(command, Slot { psn, lpn, expected: true, ..Slot::default() });
            }
            (false, false) => {
                let command = backend.add_program(list, Cause::Merge, target, Stream::Host);
                let slot = backend.push_slot(command, Slot { psn, lpn, version, expected: true, ..Slot::default() });
                first.fill_run(backend.payload_of(slot));
            }
        }
    }
    list
}

/// What is on the media and in the books.
fn state<S: Sector>(backend: &Backend<S, ()>, now: Time) -> String {
    let busy: Vec<_> = backend.die_busy(now).chain(backend.channel_busy(now)).collect();
    format!("{:?} {:?} {busy:?}", backend.media(), backend.account(now))
}

/// The end of a run of lists.
#[derive(Clone, Copy, Debug)]
enum End {
    /// All lists end.
    Done,
    /// The power is cut in the last list, this share of a thousandth of its time after its begin.
    Cut(u64),
    /// The power is cut there, and the list is completed before.
    Saved(u64),
    /// A fault is planned while the last list, of programs, is under way.
    Fault,
}

fn run<S: Sector>(lists: &[(Vec<Page>, bool)], timed: bool, end: End, in_bulk: bool) -> String {
    let mut backend = backend::<S>();
    backend.set_timed(timed);
    assert!(backend.takes_serial_pages());
    let (mut next, mut now, mut hash) = ([0; 32], Time::ZERO, EventHash::default());
    let mut ends = Vec::new();
    for (i, (pages, scans)) in lists.iter().enumerate() {
        let is_last = i + 1 == lists.len();
        let mut pages = pages.clone();
        if is_last && matches!(end, End::Fault) {
            // What has failed cannot be read.
            pages.iter_mut().for_each(|page| page.is_read = false);
        }
        // Capacitors complete no scan.
        let scans = *scans && !matches!(end, End::Saved(_));
        let list = add(&mut backend, &mut next, &pages, scans, in_bulk);
        let over = backend.begin_serial(now, list);
        ends.push(over);
        if let Some(at) = over {
            let cut = |part: u64| now + Span::from_ps((at - now).as_ps() / 1000 * part);
            match end {
                End::Cut(part) if is_last => {
                    backend.cut_power(cut(part));
                    return format!("{ends:?} {}", state(&backend, cut(part)));
                }
                End::Saved(part) if is_last => {
                    backend.save(cut(part), &[list]);
                    return format!("{ends:?} {:?}", backend.media());
                }
                End::Fault if is_last => backend.media_mut().faults_mut().fail_program(2),
                _ => {}
            }
            now = at;
            backend.end_serial(now, &mut hash);
        }
        assert_eq!(backend.take_finished(), Some(list));
        backend.release(list);
    }
    assert!(backend.is_idle());
    format!("{ends:?} {hash:?} {}", state(&backend, now))
}

fn pages() -> impl Strategy<Value = Vec<Page>> {
    let page = (0..4_u32, any::<bool>());
    // Of both chips.
    let page = page.prop_map(|(which, is_read)| Page { superblock: [0, 1, 16, 17][which as usize], is_read });
    prop::collection::vec(page, 1..8)
}

proptest! {
    #[test]
    fn pages_without_commands_do_what_commands_do(
        lists in prop::collection::vec((pages(), any::<bool>()), 1..6),
        timed in any::<bool>(),
        end in prop_oneof![
            Just(End::Done),
            (0..1_000_u64).prop_map(End::Cut),
            (0..1_000_u64).prop_map(End::Saved),
            Just(End::Fault),
        ],
    ) {
        prop_assert_eq!(run::<()>(&lists, timed, end, true), run::<()>(&lists, timed, end, false));
        prop_assert_eq!(run::<Stamp>(&lists, timed, end, true), run::<Stamp>(&lists, timed, end, false));
    }
}

/// The FTL adds a scan behind pages that have no commands yet.
#[test]
fn pages_become_commands_before_more_commands_come() {
    let of = |in_bulk| {
        let mut backend = backend::<Stamp>();
        let mut next = [0; 32];
        let page = |is_read| Page { superblock: 0, is_read };
        let list = add(&mut backend, &mut next, &[page(false), page(false), page(true)], false, in_bulk);
        backend.write_serial_pages_out(list);
        backend.add_scan(list, Cause::Map, SuperblockId::new(1), 1);
        let end = backend.begin_serial(Time::ZERO, list).expect("time is on");
        backend.end_serial(end, &mut EventHash::default());
        (end, state(&backend, end))
    };
    assert_eq!(of(true), of(false));
}

#[test]
#[should_panic(expected = "holds no data")]
fn a_read_of_an_erased_page_is_refused() {
    let mut backend = backend::<()>();
    let list = backend.open_list(Class::Other, 0);
    backend.push_serial_read(list, Cause::Host, Psn::new(5), Lpn::new(5));
    let end = backend.begin_serial(Time::ZERO, list).expect("time is on");
    backend.end_serial(end, &mut EventHash::default());
}

#[test]
#[should_panic(expected = "the map is wrong")]
fn a_read_is_compared_with_its_spare_area() {
    let mut backend = backend::<()>();
    let mut next = [0; 32];
    let list = add(&mut backend, &mut next, &[Page { superblock: 0, is_read: false }], false, true);
    // Mapping units in sixteenths are compared.
    backend.push_serial_read(list, Cause::Merge, Psn::new(0), Lpn::new(16));
    let end = backend.begin_serial(Time::ZERO, list).expect("time is on");
    backend.end_serial(end, &mut EventHash::default());
}

#[test]
fn the_content_of_a_page_is_that_of_its_program() {
    let mut backend = backend::<Stamp>();
    let mut next = [0; 32];
    let page = |is_read| Page { superblock: 0, is_read };
    let list = add(&mut backend, &mut next, &[page(false), page(false), page(true)], false, true);
    let end = backend.begin_serial(Time::ZERO, list).expect("time is on");
    backend.end_serial(end, &mut EventHash::default());
    for psn in 0..2 {
        let first = Stamp::preconditioned(Lba::new(psn * 4), 5 + psn as u32 % 2);
        let content: Vec<Stamp> = (0..4).map(|i| first.following(i)).collect();
        assert_eq!(backend.serial_content(Psn::new(psn as u32)), content);
    }
}
