//! Hydra's array against the arithmetic of its paper: superchips, controllers, and the latency of a host read.
//!
//! Model: the B buses of a superchip are one channel of 8 B bits with chips whose pages are B x 2 KB, and its C chips
//! on each bus are C such dies. A superpage is a row of each of these dies. Seong et al., IEEE Trans. Computers 59(7),
//! 2010.

use super::*;

/// Rows of a block.
pub(super) const ROWS: u32 = 64;

/// Host reads first at the dies and on the channels, so that the forwarder works.
pub(super) const FORWARDED: Arbitration =
    Arbitration { commands: Order::ReadFirst, bus: BusOrder::ReadFirst, hold: false, between_pages: true };

/// A bus group of the prototype: `buses` of its four buses with eight chips on each.
#[derive(Clone, Copy)]
pub(super) struct Hydra {
    pub buses: u32,
    /// Chips of a superchip on each bus.
    pub chips: u32,
    pub lane: Rate,
    pub spare: bool,
    pub command: Span,
    pub erase: Span,
    pub controllers: Controllers,
    pub arbitration: Arbitration,
    pub software: Option<Span>,
}

impl Default for Hydra {
    fn default() -> Self {
        Self {
            buses: 4,
            chips: 2,
            lane: Rate::new(40_000_000),
            spare: true,
            command: Span::ZERO,
            erase: Span::from_ms(2),
            controllers: Controllers::Background(4),
            arbitration: FORWARDED,
            software: None,
        }
    }
}

impl Hydra {
    /// Builds the backend with four blocks in a die. The first block of each die is full, and its slots hold their own
    /// numbers.
    pub(super) fn build(&self) -> Bench {
        self.seeded(SectorKind::Nothing, 1)
    }

    pub(super) fn seeded(&self, kind: SectorKind, seed: u64) -> Bench {
        let mut part = Part::preset("K9K8G08U0M").expect("a preset").clone();
        part.bus.command = self.command;
        part.bus.transfer_spare = self.spare;
        part.timing.erase = self.erase;
        let geometry = Geometry::new(1, 8, 1, 1, 1, 4, ROWS, 1, 4 * self.buses).expect("a small array");
        let rate = Rate::new(self.lane.get() * u64::from(self.buses));
        let timing = Timing::new(&part, &geometry, rate, true).expect("a valid part");
        let config = Config {
            controllers: self.controllers,
            arbitration: self.arbitration,
            software: self.software,
            ..Config::new(timing)
        };
        let mut bench = Bench::with_content(kind, geometry, &config, seed);
        bench.backend.set_timed(false);
        for die in 0..8 {
            let list = bench.backend.open_list(Class::Other, 0);
            (0..ROWS).for_each(|row| bench.program(list, die, 0, row));
            bench.submit(list);
        }
        bench.run();
        bench.backend.reset_account();
        bench.backend.set_timed(true);
        bench
    }

    pub(super) fn dies(&self, superchip: u32) -> std::ops::Range<u32> {
        superchip * self.chips..(superchip + 1) * self.chips
    }
}

pub(super) fn block_of(die: u32, block: u32) -> SuperblockId {
    SuperblockId::new(die * 4 + block)
}

impl Bench {
    pub(super) fn psn(&self, die: u32, block: u32, row: u32) -> Psn {
        self.backend.geometry().slot(block_of(die, block), row)
    }

    pub(super) fn background(&mut self, tag: u32) -> Handle<List> {
        self.backend.open_list(Class::Other, tag)
    }

    pub(super) fn program(&mut self, list: Handle<List>, die: u32, block: u32, row: u32) {
        let psn = self.psn(die, block, row).get();
        let target = Target { superblock: block_of(die, block), offset: row };
        let command = self.backend.add_program(list, Cause::Merge, target, Stream::HOST);
        self.backend.push_slot(command, slot(psn, psn));
    }

    pub(super) fn erase(&mut self, list: Handle<List>, die: u32, block: u32) {
        self.backend.add_erase(list, Cause::Merge, block_of(die, block));
    }

    /// A read of a row that is full from the beginning.
    pub(super) fn read(&mut self, list: Handle<List>, die: u32, row: u32) -> Handle<Command> {
        let psn = self.psn(die, 0, row).get();
        let command = self.backend.add_read(list, Cause::Host, block_of(die, 0));
        self.backend.push_slot(command, slot(psn, psn));
        command
    }

    /// Adds a copy-back of a row from the first block of a die to another block.
    pub(super) fn copy(&mut self, list: Handle<List>, die: u32, block: u32, row: u32) -> Handle<Command> {
        let target = Target { superblock: block_of(die, block), offset: row };
        let command = self.backend.add_copy_back(list, Cause::Merge, target, Stream::COPIES);
        let psn = self.psn(die, 0, row);
        self.backend.push_slot(command, Slot { psn, ..Slot::default() });
        command
    }

    /// Submits a host read of a few sectors of a row; returns its command.
    pub(super) fn host_read(&mut self, tag: u32, die: u32, row: u32, sectors: u32) -> Handle<Command> {
        let list = self.backend.open_list(Class::HostRead, tag);
        let command = self.read(list, die, row);
        self.backend.set_sectors(command, sectors);
        self.submit(list);
        command
    }

    /// Runs all lists to their ends, and returns the end of the list with this tag.
    pub(super) fn end_of(&mut self, tag: u32) -> Time {
        let begin = self.now;
        let ends = self.run();
        begin + ends.iter().find(|(each, _)| *each == tag).expect("it was submitted").1
    }
}

/// The rate in MB/s of `bytes` in `us` microseconds.
fn rate(bytes: u64, us: f64) -> f64 {
    bytes as f64 / us
}

/// The time in microseconds of a sequential read of `rows` superpages of the first superchip.
fn sequential_read(hydra: Hydra, rows: u32) -> f64 {
    let mut bench = hydra.build();
    let list = bench.backend.open_list(Class::HostRead, 0);
    for row in 0..rows {
        hydra.dies(0).for_each(|die| _ = bench.read(list, die, row));
    }
    bench.submit(list);
    bench.run()[0].1.as_us_f64()
}

#[test]
fn sixteen_sectors_cross_four_buses_in_51_us() {
    // D1: 4 x 12.8 us, or 13.2 us with the spare bytes; 160.0 and 155.2 MB/s.
    for (spare, us, mbps) in [(false, 51.2, 160.0), (true, 52.8, 155.2)] {
        let bench = Hydra { spare, ..Hydra::default() }.build();
        let page = bench.backend.timing().transfer[1].as_us_f64();
        close(page, us);
        assert!((rate(8192, page) - mbps).abs() < 0.05);
        close(bench.backend.timing().sectors[4].as_us_f64(), us / 4.0);
    }
}

#[test]
fn without_chip_interleaving_the_bus_idles_during_the_array_read() {
    // D2: a superpage every 20 + 51.2 us; HY1: the bus stands still for tR between two of them.
    for (spare, page, mbps) in [(false, 51.2, 115.1), (true, 52.8, 112.5)] {
        let us = sequential_read(Hydra { chips: 1, spare, ..Hydra::default() }, ROWS);
        close(us, f64::from(ROWS) * (20.0 + page));
        assert!((rate(8192 * u64::from(ROWS), us) - mbps).abs() < 0.05);
    }
}

#[test]
fn each_chip_interleaving_has_its_read_ceiling() {
    // D3, without the host's limit of 75 MB/s: with two chips the bus waits only for the first tR.
    let table = [(1, 1, 28.1), (1, 2, 38.8), (2, 1, 56.3), (2, 2, 77.6), (4, 1, 112.5), (4, 2, 155.2)];
    let ceiling = |buses, chips, lane, mbps: f64| {
        let us = sequential_read(Hydra { buses, chips, lane: Rate::new(lane), ..Hydra::default() }, ROWS);
        let (bytes, page) = (2048 * u64::from(buses * chips * ROWS), 2112.0 / (lane as f64 / 1e6));
        let pages = f64::from(chips * ROWS);
        close(us, if chips == 1 { pages * (20.0 + page) } else { 20.0 + pages * page });
        let sustained = rate(bytes, us - if chips == 1 { 0.0 } else { 20.0 });
        assert!((sustained - mbps).abs() < 0.06, "{buses}x{chips}: {sustained} MB/s, expected {mbps}");
    };
    table.into_iter().for_each(|(buses, chips, mbps)| ceiling(buses, chips, 40_000_000, mbps));
    ceiling(4, 2, 30_000_000, 116.4);
}

#[test]
fn more_chips_hide_a_longer_read() {
    // HY2: full rate if and only if (chips - 1) x transfer >= tR. On buses of 160 MB/s a page takes 13.2 us.
    let fast = |chips| {
        let lane = Rate::new(160_000_000);
        sequential_read(Hydra { chips, lane, ..Hydra::default() }, ROWS)
    };
    close(fast(2), f64::from(ROWS) * (20.0 + 13.2) + 13.2);
    close(fast(4), 20.0 + f64::from(4 * ROWS) * 13.2);
}

/// The time in microseconds until the background controllers have programmed a superblock on each of `superchips`
/// superchips.
fn programs(hydra: Hydra, superchips: u32, erase: bool) -> f64 {
    let mut bench = hydra.build();
    for superchip in 0..superchips {
        let list = bench.background(superchip);
        if erase {
            hydra.dies(superchip).for_each(|die| bench.erase(list, die, 1));
        }
        for row in 0..ROWS {
            hydra.dies(superchip).for_each(|die| bench.program(list, die, 1, row));
        }
        bench.submit(list);
    }
    bench.run().last().expect("all of them").1.as_us_f64()
}

#[test]
fn a_background_controller_programs_65_mbps() {
    // D4: a superpage of 16 KB every 251.2 us (252.8 with spare bytes); the second chip begins a transfer later.
    for (spare, page, mbps) in [(false, 51.2, 65.2), (true, 52.8, 64.8)] {
        let us = programs(Hydra { spare, controllers: Controllers::Background(1), ..Hydra::default() }, 1, false);
        close(us, f64::from(ROWS) * (page + 200.0) + page);
        assert!((rate(16_384 * u64::from(ROWS), us - page) - mbps).abs() < 0.05);
    }
    // With the erase of the superblock: 58.0 MB/s.
    let hydra = Hydra { spare: false, controllers: Controllers::Background(1), ..Hydra::default() };
    let us = programs(hydra, 1, true);
    close(us, 2000.0 + f64::from(ROWS) * 251.2 + 51.2);
    assert!((rate(1 << 20, us - 51.2) - 58.0).abs() < 0.05);
}

#[test]
fn background_controllers_raise_the_program_rate_until_the_bus_saturates() {
    // D4: 65, 130, 155, 155 MB/s. With up to two controllers every chip programs without a pause; from three on the
    // bus does not rest until the last page is programmed.
    let page = 52.8;
    for (count, mbps) in [(1, 65.0), (2, 130.0), (3, 155.0), (4, 155.0)] {
        let us = programs(Hydra { controllers: Controllers::Background(count), ..Hydra::default() }, count, false);
        let pages = f64::from(2 * count * ROWS);
        let (exact, edge) = if count < 3 {
            (f64::from(ROWS) * (page + 200.0) + f64::from(2 * count - 1) * page, f64::from(2 * count - 1) * page)
        } else {
            (pages * page + 200.0, 200.0)
        };
        close(us, exact);
        let sustained = rate(8192 * u64::from(2 * count * ROWS), us - edge);
        assert!((sustained / mbps - 1.0).abs() < 0.005, "{count} controllers: {sustained} MB/s");
    }
    // With four superchips and one controller the superblocks are programmed one after another.
    let one = programs(Hydra { controllers: Controllers::Background(1), ..Hydra::default() }, 4, false);
    close(one, 4.0 * (f64::from(ROWS) * 252.8 + page));
}

#[test]
fn a_merge_of_copies_alone_takes_64_copy_backs_and_an_erase() {
    // D5: 64 x 220 us and an erase of 2 ms; 62 merges a second on a superchip, 248 on four with four controllers.
    for superchips in [1, 4] {
        let hydra = Hydra::default();
        let mut bench = hydra.build();
        for superchip in 0..superchips {
            let list = bench.background(superchip);
            for die in hydra.dies(superchip) {
                bench.erase(list, die, 1);
                (0..ROWS).for_each(|row| _ = bench.copy(list, die, 1, row));
            }
            bench.submit(list);
        }
        let us = bench.run().last().expect("all of them").1.as_us_f64();
        close(us, 2000.0 + f64::from(ROWS) * 220.0);
        assert_eq!((f64::from(superchips) * 1e6 / us) as u32, [62, 248][usize::from(superchips > 1)]);
    }
}

#[test]
fn the_foreground_controller_reads_one_list_after_another() {
    let mut bench = Hydra::default().build();
    // All background controllers are busy, and lists wait for them.
    for block in 1..3 {
        for superchip in 0..4 {
            let list = bench.background(10 + superchip);
            bench.erase(list, superchip * 2, block);
            bench.submit(list);
        }
    }
    // Three reads of different dies: they would overlap with more foreground controllers.
    for tag in 0..3 {
        bench.host_read(tag, 2 * tag + 1, 0, 16);
    }
    let ends = bench.run();
    for (tag, end) in ends.iter().take(3) {
        close(end.as_us_f64(), f64::from(tag + 1) * 72.8);
    }
    let busy: Vec<u64> = bench.backend.controller_busy(bench.now).map(Span::as_ns).collect();
    assert_eq!(busy, [218_400, 4_000_000, 4_000_000, 4_000_000, 4_000_000]);
}

#[test]
fn background_lists_leave_the_foreground_controller_idle() {
    let mut bench = Hydra { controllers: Controllers::Background(1), ..Hydra::default() }.build();
    for die in 0..3 {
        let list = bench.background(die);
        bench.erase(list, die, 1);
        bench.submit(list);
    }
    let ends: Vec<f64> = bench.run().iter().map(|(_, end)| end.as_us_f64()).collect();
    assert_eq!(ends, [2000.0, 4000.0, 6000.0]);
}

#[test]
fn a_host_read_overtakes_waiting_transfers_on_its_channel() {
    // Dies 0 and 1 send background reads, die 2 wants to begin a program; then a host read of die 3 comes.
    let order = |bus| {
        let arbitration = Arbitration { bus, ..FORWARDED };
        let mut bench = Hydra { controllers: Controllers::None, arbitration, ..Hydra::default() }.build();
        for die in 0..2 {
            let list = bench.background(die);
            bench.read(list, die, 0);
            bench.submit(list);
        }
        bench.until(Time::from_ps(1_000_000));
        let list = bench.background(2);
        (0..2).for_each(|row| bench.program(list, 2, 1, row));
        bench.submit(list);
        bench.host_read(3, 3, 0, 16);
        bench.run();
        let sent = bench.phases().iter().filter(|phase| matches!(phase.resource, Resource::Channel(_)));
        sent.map(|phase| phase.die).collect::<Vec<_>>()
    };
    assert_eq!(order(BusOrder::Fifo), [2, 0, 1, 3, 2]);
    assert_eq!(order(BusOrder::ReadFirst), [2, 3, 0, 1, 2]);
}

#[test]
fn a_program_yields_only_if_host_reads_go_first_at_dies_and_on_channels() {
    // The program of die 0 waits for the bus, which moves the data of die 1's, when a host read of die 0 comes.
    let arrays = |commands, bus| {
        let arbitration = Arbitration { commands, bus, hold: false, between_pages: true };
        let mut bench = Hydra { controllers: Controllers::None, arbitration, ..Hydra::default() }.build();
        for die in [1, 0] {
            let list = bench.background(die);
            bench.program(list, die, 1, 0);
            bench.submit(list);
        }
        bench.until(Time::from_ps(1_000_000));
        bench.host_read(2, 0, 0, 16);
        bench.run();
        let worked = bench.phases().iter().filter(|phase| phase.resource == Resource::Array(0));
        worked.map(|phase| phase.op).collect::<Vec<_>>()
    };
    assert_eq!(arrays(Order::ReadFirst, BusOrder::ReadFirst), [Op::Read, Op::Program]);
    assert_eq!(arrays(Order::Fifo, BusOrder::ReadFirst), [Op::Program, Op::Read]);
    for bus in [BusOrder::Fifo, BusOrder::CommandFirst, BusOrder::DataFirst] {
        assert_eq!(arrays(Order::ReadFirst, bus), [Op::Program, Op::Read], "{bus:?}");
    }
}

/// The longest time that a 4 KB host read takes beyond its 46.4 us alone, and the longest time until the array reads
/// for it. The arrivals are spread over the time that background controllers work on `lists`.
fn worst_wait(hydra: Hydra, die: u32, lists: impl Fn(&mut Bench)) -> (f64, f64) {
    let (mut wait, mut start) = (0.0_f64, 0.0_f64);
    for step in 0..300 {
        let mut bench = hydra.build();
        bench.phases().clear();
        lists(&mut bench);
        // The steps have no common measure with 13.2 us, 20 us or 200 us.
        let at = Time::from_ps(1_000_000 + step * 7_919_311);
        bench.until(at);
        let from = bench.phases().len();
        bench.host_read(99, die, 0, 8);
        let read = bench.end_of(99) - at;
        let begun = bench.phases()[from..]
            .iter()
            .find(|phase| phase.cause == Cause::Host && phase.resource == Resource::Array(die));
        wait = wait.max(read.as_us_f64() - 46.4);
        start = start.max((begun.expect("it read").from - at).as_us_f64());
    }
    (wait, start)
}

/// Submits work for four controllers that program, on dies from `first` on.
fn saturate(bench: &mut Bench, first: u32) {
    for unit in 0..4 {
        let list = bench.background(unit);
        (0..20).for_each(|row| bench.program(list, (first + 2 * unit) % 8, 1, row));
        if unit < 3 {
            (0..20).for_each(|row| bench.program(list, (first + 2 * unit + 1) % 8, 1, row));
        }
        bench.submit(list);
    }
}

#[test]
fn a_host_read_waits_for_one_primitive() {
    // D10: the read takes 46.4 us alone, and at most a page transfer longer while seven other dies keep the bus busy.
    let mut bench = Hydra::default().build();
    bench.host_read(0, 7, 0, 8);
    close((bench.end_of(0) - Time::ZERO).as_us_f64(), 46.4);
    let account = bench.backend.account(bench.now).of(Op::Read, Cause::Host);
    assert_eq!((account.bytes.get(), account.bus.as_ns()), (8 * 528, 26_400));
    let (wait, start) = worst_wait(Hydra::default(), 7, |bench| saturate(bench, 0));
    assert!((0.9 * 52.8..=52.8).contains(&wait), "{wait} us");
    close(start, 0.0);
    // Under first come, first served, the read waits for all earlier work.
    let fifo = Hydra { arbitration: Arbitration::default(), ..Hydra::default() };
    let (wait, _) = worst_wait(fifo, 7, |bench| saturate(bench, 0));
    assert!(wait > 4.0 * 52.8, "{wait} us");
}

#[test]
fn a_host_read_waits_for_one_operation_on_its_die() {
    // D10: a program that has begun is finished first, and a program that only waits for the bus steps back. Then the
    // read's data waits for a primitive of another die.
    let hydra = Hydra::default();
    let (wait, start) = worst_wait(hydra, 0, |bench| saturate(bench, 0));
    assert!((0.9 * 252.8..=252.8).contains(&start), "{start} us until the array read");
    assert!(wait <= 252.8 + 52.8, "{wait} us");
    let (wait, _) = worst_wait(hydra, 0, |bench| {
        let list = bench.background(0);
        (0..20).for_each(|row| bench.program(list, 0, 1, row));
        bench.submit(list);
    });
    assert!((0.9 * 252.8..=252.8).contains(&wait), "{wait} us");
    // An erase is not interrupted.
    let (wait, _) = worst_wait(hydra, 0, |bench| {
        let list = bench.background(0);
        bench.erase(list, 0, 1);
        bench.submit(list);
    });
    assert!((1900.0..=2000.0).contains(&wait), "{wait} us");
}

#[test]
fn a_host_read_speeds_up_the_copy_back_it_waits_for() {
    // The copy-back's second phase does not queue behind the other controllers' data. The read waits for: the array's
    // read, at most one transfer of another die, data in, and the program.
    let lists = |bench: &mut Bench| {
        let list = bench.background(9);
        for row in 0..20 {
            let command = bench.copy(list, 0, 1, row);
            bench.backend.set_sectors(command, 16);
        }
        bench.submit(list);
        saturate(bench, 1);
    };
    let hydra = Hydra { controllers: Controllers::Background(5), ..Hydra::default() };
    let (_, start) = worst_wait(hydra, 0, lists);
    assert!((0.9 * 272.8..=272.8 + 52.8).contains(&start), "{start} us until the array read");
}

#[test]
fn a_preempted_list_resumes_after_the_host_reads_of_its_die() {
    // B9(b): two host reads of one die are in one list; the next background program of that die comes after both.
    let mut bench = Hydra::default().build();
    let list = bench.background(0);
    (0..3).for_each(|row| bench.program(list, 0, 1, row));
    bench.submit(list);
    bench.until(Time::from_ps(100_000_000));
    let list = bench.backend.open_list(Class::HostRead, 1);
    (0..2).for_each(|row| _ = bench.read(list, 0, row));
    bench.submit(list);
    bench.run();
    let arrays = bench.phases().iter().filter(|phase| phase.resource == Resource::Array(0));
    let ops: Vec<Op> = arrays.map(|phase| phase.op).collect();
    assert_eq!(ops, [Op::Program, Op::Read, Op::Read, Op::Program, Op::Program]);
}

#[test]
fn a_held_channel_is_busy_until_its_command_is_done() {
    // Fig. 7a: with four controllers, one operation at a time, including its array work.
    let hold = Arbitration { hold: true, ..FORWARDED };
    let hydra = Hydra { arbitration: hold, ..Hydra::default() };
    let us = programs(hydra, 4, false);
    close(us, f64::from(8 * ROWS) * 252.8);
    let mut bench = hydra.build();
    let list = bench.background(0);
    bench.erase(list, 0, 1);
    bench.submit(list);
    bench.until(Time::from_ps(5_000_000));
    bench.host_read(1, 7, 0, 8);
    // The accounts balance half way, too.
    let middle = Time::from_ps(1_000_000_000);
    bench.until(middle);
    assert_eq!(bench.backend.account(middle).op(Op::Erase).bus, Span::from_ms(1));
    assert_eq!(bench.backend.channel_busy(middle).next(), Some(Span::from_ms(1)));
    close((bench.end_of(1) - Time::ZERO).as_us_f64(), 2046.4);
    assert_eq!(bench.backend.account(bench.now).op(Op::Read).bus.as_ns(), 46_400);
    let busy = bench.backend.channel_busy(bench.now).sum::<Span>();
    assert_eq!(busy.as_ns(), 2_046_400);
}
