//! A check of the order of transfers on a channel, against an event loop of one page that shares no code with the
//! backend.
//!
//! The system is closed: a fixed number of reads is under way, each of a die drawn at random; a read that ends is
//! followed by another. A read is command cycles on the channel, an array time, and data on the channel. When data has
//! been sent, its die asks for the channel for the command of its next waiting read, and then the channel chooses.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use base::engine::{EventHash, EventQueue, Rng};
use base::units::{Lpn, Psn, Rate, Span, SuperblockId, Time};
use flash::backend::{
    Arbitration, Backend, BusOrder, Cause, Class, Completion, Config, Controllers, Order, Slot, Timing, Transfer,
};
use flash::nand::{FaultSpec, Faults, Geometry, Media, Part, Stream, Target};

#[derive(Clone, Copy, Debug)]
struct Shape {
    channels: u32,
    dies: u32,
    reads: u32,
    /// Times of the command cycles (`command`) and of the array read (`array`).
    command: Span,
    array: Span,
    order: BusOrder,
}

/// Time of 4 KiB with their spare bytes at 667 MB/s, as on FMMU's part.
const DATA: Span = Span::from_ps(6_717_000);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum ModelEvent {
    CommandSent,
    ArrayDone,
    DataSent,
}

/// A channel with the dies that wait for it, each with the number of its arrival.
#[derive(Clone, Debug, Default)]
struct Bus {
    sends: bool,
    commands: VecDeque<(u64, u32)>,
    data: VecDeque<(u64, u32)>,
}

struct Model {
    shape: Shape,
    now: Time,
    /// Count of events and arrivals, from which each gets its number.
    number: u64,
    queued: Vec<u32>,
    busy: Vec<bool>,
    buses: Vec<Bus>,
    events: BinaryHeap<Reverse<(Time, u64, u32, ModelEvent)>>,
}

impl Model {
    fn new(shape: Shape) -> Self {
        let dies = (shape.channels * shape.dies) as usize;
        Self {
            shape,
            now: Time::ZERO,
            number: 0,
            queued: vec![0; dies],
            busy: vec![false; dies],
            buses: vec![Bus::default(); shape.channels as usize],
            events: BinaryHeap::new(),
        }
    }

    fn happen_in(&mut self, time: Span, die: u32, what: ModelEvent) {
        self.number += 1;
        self.events.push(Reverse((self.now + time, self.number, die, what)));
    }

    /// Makes a die without a read under way wait for the channel with its next command.
    fn ask(&mut self, die: u32) {
        if self.queued[die as usize] > 0 && !self.busy[die as usize] {
            self.busy[die as usize] = true;
            self.number += 1;
            self.buses[(die / self.shape.dies) as usize].commands.push_back((self.number, die));
        }
    }

    /// Starts the next transfer on the channel of a die, if the channel is free.
    fn choose(&mut self, die: u32) {
        let Shape { order, command: cycles, .. } = self.shape;
        let bus = &mut self.buses[(die / self.shape.dies) as usize];
        let (command, page) = (bus.commands.front(), bus.data.front());
        let takes_command = match (command, page) {
            (None, None) => return,
            (Some(_), None) => true,
            (None, Some(_)) => false,
            (Some(command), Some(page)) => match order {
                BusOrder::CommandFirst => true,
                BusOrder::DataFirst => false,
                _ => command < page,
            },
        };
        if std::mem::replace(&mut bus.sends, true) {
            return;
        }
        let queue = if takes_command { &mut bus.commands } else { &mut bus.data };
        let (_, die) = queue.pop_front().expect("it is there");
        let (time, what) = if takes_command { (cycles, ModelEvent::CommandSent) } else { (DATA, ModelEvent::DataSent) };
        self.happen_in(time, die, what);
    }

    fn submit(&mut self, die: u32) {
        self.queued[die as usize] += 1;
        self.ask(die);
        self.choose(die);
    }

    /// Returns the ends of the first `ends` reads.
    fn run(mut self, ends: usize) -> Vec<Time> {
        let mut rng = Rng::stream(7, "dies");
        let all = u64::from(self.shape.channels * self.shape.dies);
        let first: Vec<u32> = (0..self.shape.reads).map(|_| rng.below(all) as u32).collect();
        first.into_iter().for_each(|die| self.submit(die));
        let mut out = Vec::new();
        while out.len() < ends {
            let Reverse((at, _, die, what)) = self.events.pop().expect("reads are under way");
            self.now = at;
            let bus = (die / self.shape.dies) as usize;
            match what {
                ModelEvent::CommandSent => {
                    self.buses[bus].sends = false;
                    self.happen_in(self.shape.array, die, ModelEvent::ArrayDone);
                    self.choose(die);
                }
                ModelEvent::ArrayDone => {
                    self.number += 1;
                    self.buses[bus].data.push_back((self.number, die));
                    self.choose(die);
                }
                ModelEvent::DataSent => {
                    self.buses[bus].sends = false;
                    (self.queued[die as usize], self.busy[die as usize]) = (self.queued[die as usize] - 1, false);
                    out.push(at);
                    self.ask(die);
                    self.choose(die);
                    self.submit(rng.below(all) as u32);
                }
            }
        }
        out
    }
}

/// Returns the ends of the first `ends` reads in the backend.
fn backend(shape: &Shape, ends: usize) -> Vec<Time> {
    let mut part = Part::preset("FMMU-V2").expect("a preset").clone();
    part.timing.read = vec![shape.array];
    part.bus.command = shape.command;
    let geometry = Geometry::new(shape.channels, shape.dies, 1, 1, 1, 4, 4, 1, 8).expect("a small array");
    let mut timing = Timing::new(&part, &geometry, Rate::new(667_000_000), false).expect("a valid part");
    timing.transfer[1] = DATA;
    let config = Config {
        timing,
        controllers: Controllers::None,
        transfer: Transfer::Bus,
        completion: Completion::ReadyBusy,
        ecc: None,
        arbitration: Arbitration { commands: Order::Fifo, bus: shape.order, ..Arbitration::default() },
        suspend: None,
        plane_reads: None,
        variation: None,
        errors: None,
        supply: None,
        software: None,
    };
    let media = Media::new(geometry.clone(), 100, 1, Faults::new(&FaultSpec::default(), 1));
    let mut backend = Backend::new(media, &config);
    let mut events = EventQueue::default();
    let page = |die: u32| Psn::new(geometry.slot(SuperblockId::new(die * 4), 0).get());
    backend.set_timed(false);
    for die in 0..shape.channels * shape.dies {
        let list = backend.open_list(Class::Other, 0);
        let target = Target { superblock: SuperblockId::new(die * 4), offset: 0 };
        let program = backend.add_program(list, Cause::Host, target, Stream::HOST);
        backend.push_slot(program, Slot { lpn: Lpn::new(die), expected: true, ..Slot::default() });
        backend.submit(Time::ZERO, list, &mut events);
        let done = backend.take_finished().expect("time is off");
        backend.release(done);
    }
    backend.set_timed(true);
    let (mut rng, mut hash, mut out) = (Rng::stream(7, "dies"), EventHash::default(), Vec::new());
    let submit = |backend: &mut Backend, now, events: &mut EventQueue<_>, die: u32| {
        let list = backend.open_list(Class::HostRead, 0);
        let read = backend.add_read(list, Cause::Host, SuperblockId::new(die * 4));
        backend.push_slot(read, Slot { lpn: Lpn::new(die), psn: page(die), expected: true, ..Slot::default() });
        backend.submit(now, list, events);
    };
    let all = u64::from(shape.channels * shape.dies);
    let first: Vec<u32> = (0..shape.reads).map(|_| rng.below(all) as u32).collect();
    first.into_iter().for_each(|die| submit(&mut backend, Time::ZERO, &mut events, die));
    while let Some((now, event)) = events.pop() {
        backend.handle(now, event, &mut events, &mut hash);
        while let Some(list) = backend.take_finished() {
            backend.release(list);
            out.push(now);
            if out.len() == ends {
                return out;
            }
            submit(&mut backend, now, &mut events, rng.below(all) as u32);
        }
    }
    out
}

#[test]
fn a_channel_chooses_among_all_that_the_end_of_its_transfer_brings() {
    let (command, array) = (Span::from_ns(175), Span::from_us(35));
    for order in [BusOrder::Fifo, BusOrder::CommandFirst, BusOrder::DataFirst] {
        for (channels, dies, reads) in [(1, 8, 40), (16, 8, 512), (4, 3, 20)] {
            let shape = Shape { channels, dies, reads, command, array, order };
            let (left, right) = (backend(&shape, 40_000), Model::new(shape).run(40_000));
            let rates = [&left, &right].map(|ends| 1e6 * 30_000.0 / (ends[39_999] - ends[9_999]).as_us_f64());
            println!("{order:?}, {channels} x {dies}, {reads} reads: {:.0} and {:.0} per second", rates[0], rates[1]);
            assert!((rates[0] / rates[1] - 1.0).abs() < 0.002, "{shape:?}: {rates:?}");
            if channels == 1 {
                assert_eq!(left, right, "{shape:?}: one channel has no ties");
            }
        }
    }
}
