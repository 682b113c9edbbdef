//! Tests of the backend against the papers' timings of single operations, and of its arbitration against arithmetic.

use super::*;
use crate::nand::{FaultSpec, Faults, Part, Stream, Target};
use base::engine::{EventHash, EventQueue};
use base::units::{Lpn, Psn, Rate, SuperblockId};

mod cache;
mod charges;
mod copy_back;
mod cycles;
mod diagrams;
mod ecc;
mod errors;
mod hydra;
mod lanes;
mod memory;
mod pages;
mod planes;
mod refuse;
mod serial;
mod software;
mod status;
mod suspend;

/// A bench: a backend with its event queue and clock.
struct Bench {
    backend: Backend,
    events: EventQueue<Event>,
    hash: EventHash,
    now: Time,
}

struct Shape {
    channels: u32,
    chips: u32,
    stripe: u32,
    rate: Rate,
    cache: bool,
    command: Span,
    controllers: Controllers,
    arbitration: Arbitration,
}

impl Default for Shape {
    fn default() -> Self {
        Self {
            channels: 1,
            chips: 1,
            stripe: 1,
            rate: Rate::new(25_000_000),
            cache: true,
            command: Span::ZERO,
            controllers: Controllers::PerDie,
            arbitration: Arbitration::default(),
        }
    }
}

impl Shape {
    fn build(&self) -> Bench {
        let mut part = Part::preset("dirik-2009").expect("a preset").clone();
        part.bus.command = self.command;
        let geometry = Geometry::new(self.channels, self.chips, 1, self.stripe, self.stripe, 16, 64, 1, 4);
        let geometry = geometry.expect("a small array");
        let timing = Timing::new(&part, &geometry, self.rate, self.cache).expect("a valid part");
        let config = Config { controllers: self.controllers, arbitration: self.arbitration, ..Config::new(timing) };
        Bench::new(geometry, &config, 1)
    }
}

fn slot(lpn: u32, psn: u32) -> Slot {
    Slot { lpn: Lpn::new(lpn), psn: Psn::new(psn), expected: true, ..Slot::default() }
}

/// A backend that records its phases.
fn observed(media: Media, config: &Config) -> Backend {
    let mut backend = Backend::new(media, config);
    backend.observe(Box::new(Vec::<Phase>::new()));
    backend
}

impl Bench {
    fn new(geometry: Geometry, config: &Config, seed: u64) -> Self {
        Self::with_content(SectorKind::Nothing, geometry, config, seed)
    }

    fn with_content(kind: SectorKind, geometry: Geometry, config: &Config, seed: u64) -> Self {
        let media = Media::new(geometry, 100, 1, Faults::new(&FaultSpec::default(), seed)).with_content(kind);
        Self {
            backend: observed(media, config),
            events: EventQueue::default(),
            hash: EventHash::default(),
            now: Time::ZERO,
        }
    }

    /// The phases that the observer has recorded.
    fn phases(&mut self) -> &mut Vec<Phase> {
        self.backend.observer_mut().and_then(<dyn Observer>::downcast_mut).expect("phases are recorded")
    }

    /// Builds a list that programs or reads `pages` pages of a superblock from `offset` on, row by row.
    fn list(&mut self, op: Op, superblock: u32, offset: u32, pages: u32) -> Handle<List> {
        let class = if op == Op::Read { Class::HostRead } else { Class::Other };
        let list = self.backend.open_list(class, superblock);
        let row = self.backend.geometry().row_slots();
        let superblock = SuperblockId::new(superblock);
        let mut at = offset;
        while at < offset + pages {
            let end = (at / row * row + row).min(offset + pages);
            let target = Target { superblock, offset: at };
            let command = match op {
                Op::Program => self.backend.add_program(list, Cause::Host, target, Stream::HOST),
                _ => self.backend.add_read(list, Cause::Host, superblock),
            };
            for i in at..end {
                let psn = self.backend.geometry().slot(superblock, i).get();
                self.backend.push_slot(command, slot(psn, psn));
            }
            at = end;
        }
        list
    }

    fn submit(&mut self, list: Handle<List>) {
        self.backend.submit(self.now, list, &mut self.events);
    }

    /// Runs all lists and returns (tag, end) of each.
    fn run(&mut self) -> Vec<(u32, Span)> {
        let begin = self.now;
        let mut ends = Vec::new();
        loop {
            while let Some(list) = self.backend.take_finished() {
                ends.push((self.backend.list(list).tag(), self.now - begin));
                self.backend.release(list);
            }
            let Some((at, event)) = self.events.pop() else { return ends };
            self.now = at;
            self.backend.handle(at, event, &mut self.events, &mut self.hash);
        }
    }

    /// Handles all events before a moment, and sets the clock to it.
    fn until(&mut self, at: Time) {
        while let Some((at, event)) = self.events.pop_due(Time::from_ps(at.as_ps() - 1)) {
            self.now = at;
            self.backend.handle(at, event, &mut self.events, &mut self.hash);
        }
        self.now = at;
    }

    fn time(&mut self, op: Op, pages: u32) -> f64 {
        let list = self.list(op, 0, 0, pages);
        self.submit(list);
        self.run()[0].1.as_us_f64()
    }
}

/// Times in microseconds of a write and then a read of `pages` pages.
fn write_read(mbps: u64, cache: bool, pages: u32) -> (f64, f64) {
    let mut bench = Shape { rate: Rate::new(mbps * 1_000_000), cache, ..Shape::default() }.build();
    (bench.time(Op::Program, pages), bench.time(Op::Read, pages))
}

fn close(got: f64, expected: f64) {
    assert!((got - expected).abs() < 1e-3, "{got} us, expected {expected} us");
}

#[test]
fn single_page_times_of_dirik_section_d() {
    for mbps in [25, 50, 100, 200, 400] {
        let transfer = 2048.0 / mbps as f64;
        let (write, read) = write_read(mbps, true, 1);
        close(read, 25.0 + transfer);
        close(write, transfer + 200.0);
    }
}

#[test]
fn multi_page_times_of_dirik_section_d() {
    // dirik.md, table of section D: MB/s, 8 KB read without and with cache mode, 8 KB write, 26 KB read.
    let table = [
        (25, 427.68, 355.68, 881.92, 1092.96),
        (50, 263.84, 191.84, 840.96, 560.48),
        (100, 181.92, 132.48, 820.48, 384.48),
        (200, 140.96, 122.24, 810.24, 374.24),
        (400, 120.48, 117.12, 805.12, 369.12),
    ];
    for (mbps, plain, cached, write, long) in table {
        close(write_read(mbps, false, 4).1, plain);
        close(write_read(mbps, true, 4).1, cached);
        close(write_read(mbps, true, 4).0, write);
        close(write_read(mbps, true, 13).1, long);
    }
}

#[test]
fn command_cycles_do_not_stop_the_overlap_of_cache_mode() {
    // Each later page's command goes before the data of the page ahead, so that the array works during the transfer.
    // At 100 MB/s the array decides: command and tR + copy for each of four pages, and the last page's data.
    let mut bench = Shape { command: Span::from_us(1), rate: Rate::new(100_000_000), ..Shape::default() }.build();
    bench.time(Op::Program, 4);
    close(bench.time(Op::Read, 4), 4.0 * (1.0 + 25.0 + 3.0) + 20.48);
    // At 25 MB/s the bus decides: the first page's command and time, then commands and data without a gap.
    let mut bench = Shape { command: Span::from_us(1), ..Shape::default() }.build();
    bench.time(Op::Program, 4);
    close(bench.time(Op::Read, 4), 1.0 + 28.0 + 3.0 + 4.0 * 81.92);
}

#[test]
fn a_write_takes_two_to_eight_times_a_read() {
    // D1, the ends of the paper's claim: streaming at 25 and at 400 MB/s with infinitely many pages.
    let (write, read) = write_read(25, true, 64);
    assert!((2.4..2.5).contains(&(write / read)), "{}", write / read);
    let mut bench = Shape { rate: Rate::new(400_000_000), ..Shape::default() }.build();
    let ratio = bench.time(Op::Program, 64) / bench.time(Op::Read, 64);
    assert!((7.0..8.0).contains(&ratio), "{ratio}");
}

#[test]
fn a_superblock_reads_a_row_at_a_time() {
    // B8: one array operation covers g pages, their data crosses the bus serially.
    let mut bench = Shape { stripe: 4, cache: false, ..Shape::default() }.build();
    close(bench.time(Op::Program, 4), 4.0 * 81.92 + 200.0);
    close(bench.time(Op::Read, 4), 25.0 + 4.0 * 81.92);
    let mut bench = Shape { stripe: 4, cache: false, ..Shape::default() }.build();
    close(bench.time(Op::Program, 6), 6.0 * 81.92 + 2.0 * 200.0);
}

#[test]
fn banks_work_in_parallel_and_the_bus_serves_one_at_a_time() {
    // Two writes of a page each to two banks: the second waits for the bus only.
    let mut bench = Shape { chips: 2, ..Shape::default() }.build();
    for bank in 0..2 {
        let list = bench.list(Op::Program, bank * 16, 0, 1);
        bench.submit(list);
    }
    let ends = bench.run();
    close(ends[0].1.as_us_f64(), 281.92);
    close(ends[1].1.as_us_f64(), 281.92 + 81.92);
    // On two channels neither waits.
    let mut bench = Shape { channels: 2, ..Shape::default() }.build();
    for bank in 0..2 {
        let list = bench.list(Op::Program, bank * 16, 0, 1);
        bench.submit(list);
    }
    bench.run().iter().for_each(|(_, end)| close(end.as_us_f64(), 281.92));
}

#[test]
fn a_list_records_its_wait_and_the_cause_of_the_wait() {
    let mut bench = Shape::default().build();
    let first = bench.list(Op::Program, 0, 0, 1);
    let second = bench.list(Op::Program, 0, 1, 1);
    bench.submit(first);
    bench.submit(second);
    bench.run();
    let list = bench.list(Op::Read, 0, 0, 1);
    bench.submit(list);
    while let Some((at, event)) = bench.events.pop() {
        bench.now = at;
        bench.backend.handle(at, event, &mut bench.events, &mut bench.hash);
    }
    let list = bench.backend.take_finished().expect("the read");
    assert_eq!(bench.backend.list(list).wait(), Span::ZERO);
    assert!(!bench.backend.list(list).waited_for().contains(Cause::Host));
}

#[test]
fn a_list_starts_when_its_controller_is_free_and_does_not_wait_for_itself() {
    // Each page takes 28 us of the array and 81.92 us of the bus, and the pages of a list follow one another.
    for controllers in [Controllers::PerDie, Controllers::PerChannel] {
        let mut bench = Shape { controllers, cache: false, ..Shape::default() }.build();
        bench.time(Op::Program, 3);
        let submitted = bench.now;
        for _ in 0..2 {
            let list = bench.list(Op::Read, 0, 0, 3);
            bench.submit(list);
        }
        let mut ends = Vec::new();
        while let Some((at, event)) = bench.events.pop() {
            bench.now = at;
            bench.backend.handle(at, event, &mut bench.events, &mut bench.hash);
            while let Some(list) = bench.backend.take_finished() {
                let list = bench.backend.list(list);
                ends.push((at - submitted, list.start_wait(), list.wait()));
            }
        }
        let [(first, start, wait), (second, behind, _)] = ends[..] else { panic!("{ends:?}") };
        assert_eq!((start, behind), (Span::ZERO, first), "from the submission to the first command");
        assert!(wait > Span::ZERO, "the second and the third page waited for the die");
        assert_eq!(second, first * 2);
    }
}

/// The order in which three lists end: a write that is under way, and a write and a read that wait.
fn order(controllers: Controllers, commands: Order) -> Vec<u32> {
    let mut bench = Shape {
        controllers,
        arbitration: Arbitration { commands, ..Arbitration::default() },
        cache: false,
        ..Shape::default()
    }
    .build();
    bench.time(Op::Program, 1);
    for (op, superblock) in [(Op::Program, 1), (Op::Program, 2), (Op::Read, 0)] {
        let list = bench.list(op, superblock, 0, if op == Op::Program { 3 } else { 1 });
        bench.submit(list);
    }
    bench.run().into_iter().map(|(tag, _)| tag).collect()
}

#[test]
fn a_read_overtakes_waiting_programs_under_read_first() {
    for controllers in [Controllers::PerDie, Controllers::PerChannel, Controllers::Shared(1)] {
        assert_eq!(order(controllers, Order::Fifo), [1, 2, 0]);
        assert_eq!(order(controllers, Order::ReadFirst), [1, 0, 2], "the list under way is not interrupted");
    }
    assert_eq!(order(Controllers::None, Order::Fifo), [1, 2, 0]);
    assert_eq!(
        order(Controllers::None, Order::ReadFirst),
        [0, 1, 2],
        "without controllers the read goes between pages"
    );
}

#[test]
fn collection_overtakes_reads_and_reads_overtake_writes_under_collection_first() {
    let ends = |commands| {
        let mut bench = Shape {
            controllers: Controllers::None,
            arbitration: Arbitration { commands, ..Arbitration::default() },
            cache: false,
            ..Shape::default()
        }
        .build();
        for superblock in [0, 2] {
            let list = bench.list(Op::Program, superblock, 0, 1);
            bench.submit(list);
        }
        bench.run();
        // One program is under way; a write, a read and a copy of collection wait.
        for (op, superblock) in [(Op::Program, 1), (Op::Program, 3), (Op::Read, 0)] {
            let list = bench.list(op, superblock, 0, 1);
            bench.submit(list);
        }
        let copy = bench.backend.open_list(Class::Other, 2);
        let read = bench.backend.add_read(copy, Cause::Gc, SuperblockId::new(2));
        let psn = bench.backend.geometry().slot(SuperblockId::new(2), 0).get();
        bench.backend.push_slot(read, slot(psn, psn));
        bench.submit(copy);
        bench.run().into_iter().map(|(tag, _)| tag).collect::<Vec<_>>()
    };
    assert_eq!(ends(Order::Fifo), [1, 3, 0, 2]);
    assert_eq!(ends(Order::ReadFirst), [1, 0, 3, 2]);
    assert_eq!(ends(Order::CollectionFirst), [1, 2, 0, 3]);
}

#[test]
fn dj13_queueing_example_has_its_mean_waits() {
    // DJ13: read x, write 4x. First come, first served: mean (4 + 5)/2 = 4.5x; read first: (1 + 5)/2 = 3x.
    let mean = |commands| {
        let mut bench = Shape {
            arbitration: Arbitration { commands, ..Arbitration::default() },
            cache: false,
            rate: Rate::new(1_000_000_000_000),
            ..Shape::default()
        }
        .build();
        bench.time(Op::Program, 1);
        // A short operation is under way, then a write and a read arrive together.
        let busy = bench.list(Op::Read, 0, 0, 1);
        bench.submit(busy);
        let write = bench.list(Op::Program, 1, 0, 1);
        let read = bench.list(Op::Read, 0, 0, 1);
        bench.submit(write);
        bench.submit(read);
        bench.run().iter().map(|(_, end)| end.as_us_f64()).collect::<Vec<_>>()
    };
    let fifo = mean(Order::Fifo);
    close(fifo[1] - fifo[0], 200.002);
    let first = mean(Order::ReadFirst);
    close(first[1] - first[0], 25.002);
    close(first[2], fifo[2]);
}

#[test]
fn bus_order_decides_between_data_and_commands() {
    // Three chips on one bus: while chip 0 sends, chip 1 has data ready (requested first) and chip 2
    // wants to begin a program.
    let order = |bus| {
        let mut bench = Shape {
            chips: 3,
            arbitration: Arbitration { bus, ..Arbitration::default() },
            cache: false,
            ..Shape::default()
        }
        .build();
        for chip in 0..2 {
            let list = bench.list(Op::Program, chip * 16, 0, 1);
            bench.submit(list);
        }
        bench.run();
        for chip in 0..2 {
            let list = bench.list(Op::Read, chip * 16, 0, 1);
            bench.submit(list);
        }
        // Both arrays finish, and chip 0 then has the bus.
        for _ in 0..2 {
            let (at, event) = bench.events.pop().expect("an array");
            bench.now = at;
            bench.backend.handle(at, event, &mut bench.events, &mut bench.hash);
        }
        let list = bench.list(Op::Program, 32, 0, 1);
        bench.submit(list);
        bench.phases().clear();
        bench.run();
        let on_bus = bench.phases().iter().filter(|phase| matches!(phase.resource, Resource::Channel(_)));
        on_bus.map(|phase| phase.op).collect::<Vec<_>>()
    };
    assert_eq!(order(BusOrder::Fifo), [Op::Read, Op::Program]);
    assert_eq!(order(BusOrder::DataFirst), [Op::Read, Op::Program]);
    assert_eq!(order(BusOrder::CommandFirst), [Op::Program, Op::Read]);
}

#[test]
fn a_copy_list_runs_without_the_ftl() {
    let mut bench = Shape::default().build();
    bench.time(Op::Program, 2);
    let b = &mut bench.backend;
    let list = b.open_list(Class::Other, 9);
    let target = Target { superblock: SuperblockId::new(1), offset: 0 };
    let read = b.add_read(list, Cause::Gc, SuperblockId::new(0));
    let program = b.add_program(list, Cause::Gc, target, Stream::COPIES);
    let erase = b.add_erase(list, Cause::Gc, SuperblockId::new(0));
    let from = b.push_slot(read, Slot { psn: Psn::new(1), ..Slot::default() });
    let to = b.push_slot(program, Slot::default());
    b.forward(read, from, program, to);
    b.depend(program, erase);
    bench.submit(list);
    close(bench.run()[0].1.as_us_f64(), 25.0 + 81.92 + 81.92 + 200.0 + 3000.0);
    let media = bench.backend.media();
    assert!(media.is_erased(SuperblockId::new(0)));
    let copy = media.geometry().slot(SuperblockId::new(1), 0);
    assert_eq!(media.spare(copy), crate::nand::Spare::Data { lpn: Lpn::new(1), version: 0 });
    let account = bench.backend.account(bench.now);
    assert_eq!(account.of(Op::Erase, Cause::Gc).commands, 1);
    assert_eq!(account.of(Op::Read, Cause::Gc).bytes.get(), 2048);
}

#[test]
fn copy_back_stays_off_the_bus_and_in_its_plane() {
    let mut bench = Shape::default().build();
    bench.time(Op::Program, 1);
    let copy = |bench: &mut Bench, to: u32| {
        let list = bench.backend.open_list(Class::Other, 0);
        let target = Target { superblock: SuperblockId::new(to), offset: 0 };
        let command = bench.backend.add_copy_back(list, Cause::Gc, target, Stream::COPIES);
        bench.backend.push_slot(command, Slot { psn: Psn::new(0), ..Slot::default() });
        bench.submit(list);
        bench.run()[0].1.as_us_f64()
    };
    close(copy(&mut bench, 1), 225.0);
    assert_eq!(bench.backend.account(bench.now).op(Op::CopyBack).bus, Span::ZERO);
    let mut other = Shape { chips: 2, ..Shape::default() }.build();
    other.time(Op::Program, 1);
    let aborted = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| copy(&mut other, 16)));
    assert!(aborted.is_err(), "copy-back to another chip");
}

#[test]
#[should_panic(expected = "the map is wrong")]
fn a_read_of_the_wrong_page_aborts() {
    let mut bench = Shape::default().build();
    bench.time(Op::Program, 2);
    let list = bench.backend.open_list(Class::HostRead, 0);
    let read = bench.backend.add_read(list, Cause::Host, SuperblockId::new(0));
    // Without content in sectors, every sixteenth mapping unit is checked; 0 is one of them.
    bench.backend.push_slot(read, slot(0, 1));
    bench.submit(list);
}

#[test]
fn busy_times_equal_the_account_at_any_moment() {
    let mut bench = Shape { channels: 2, chips: 2, ..Shape::default() }.build();
    for die in 0..4 {
        let list = bench.list(Op::Program, die * 16, 0, 5);
        bench.submit(list);
    }
    while let Some((at, event)) = bench.events.pop() {
        // The moment between two events.
        let middle = Time::from_ps((bench.now.as_ps() + at.as_ps()) / 2);
        let account = bench.backend.account(middle);
        assert_eq!(bench.backend.die_busy(middle).sum::<Span>(), account.op(Op::Program).array);
        assert_eq!(bench.backend.channel_busy(middle).sum::<Span>(), account.op(Op::Program).bus);
        bench.now = at;
        bench.backend.handle(at, event, &mut bench.events, &mut bench.hash);
    }
}

#[test]
fn untimed_commands_leave_the_same_flash_as_timed_ones() {
    let mut timed = Shape { stripe: 2, ..Shape::default() }.build();
    let mut untimed = Shape { stripe: 2, ..Shape::default() }.build();
    untimed.backend.set_timed(false);
    for bench in [&mut timed, &mut untimed] {
        let list = bench.list(Op::Program, 3, 0, 9);
        bench.submit(list);
        bench.run();
    }
    assert_eq!(untimed.now, Time::ZERO);
    for psn in 0..timed.backend.geometry().slot_count() {
        let psn = Psn::new(psn);
        assert_eq!(timed.backend.media().spare(psn), untimed.backend.media().spare(psn));
    }
    let programs = |bench: &Bench| bench.backend.account(bench.now).op(Op::Program);
    assert_eq!(programs(&timed).slots, programs(&untimed).slots);
}

#[test]
fn after_a_power_cut_only_the_media_remains() {
    let mut bench = Shape::default().build();
    bench.time(Op::Program, 2);
    let list = bench.list(Op::Program, 1, 0, 3);
    bench.submit(list);
    bench.events.pop(); // The first transfer is not even over.
    bench.backend.cut_power(bench.now + Span::from_us(50));
    assert!(bench.backend.is_idle());
    assert!(bench.backend.media().is_erased(SuperblockId::new(1)), "nothing had reached the array");
    assert!(matches!(bench.backend.media().spare(Psn::new(0)), crate::nand::Spare::Data { .. }));
}
