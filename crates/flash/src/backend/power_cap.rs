//! A cap on the power of the arrays: an operation of an array begins only if the powers of all operations stay within the cap.
//!
//! The backend asks the cap when an array is about to begin, after command cycles or data have crossed the channel. An operation that
//! has to wait keeps its die and leaves its channel. Waiting operations begin in their order, when an operation of another array ends
//! and at the start of each window of the average.
//!
//! ```text
//!   command or data in --> the cap admits? --yes--> array works --> ends: waiting operations may begin
//!                                |no                            |
//!                                +--> waits <-------------------+
//! ```

use std::collections::VecDeque;

use base::engine::{EventQueue, Handle};
use base::units::{Power, Span, Time};

use super::planted::Bug;
use super::{Backend, Command, Event, Op, Order, PowerCapSpec};

/// The waits that a power cap caused, and the highest power of the arrays.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PowerCapCounters {
    /// Number of operations that waited for the cap.
    pub waits: u64,
    /// Sum of the waiting times.
    pub wait_time: Span,
    /// The highest power that the arrays drew together.
    pub highest: Power,
}

/// An operation that waits for the power cap.
#[derive(Clone, Copy, Debug)]
struct CappedOperation {
    command: Handle<Command>,
    /// The copy time of the operation's page from the cache register.
    copy: Span,
    since: Time,
}

/// The power of an operation in microwatts, and its energy in microwatts times picoseconds.
#[derive(Clone, Copy, Debug)]
struct Demand {
    power: u64,
    energy: u128,
}

/// The time at which an operation may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Admission {
    Immediate,
    /// When an operation of another array ends.
    NextEnd,
    /// At the start of the window that begins at this time.
    Window(Time),
}

/// The power cap of a backend: the powers of the operations under way, and the operations that wait.
#[derive(Clone, Debug)]
pub(super) struct PowerCap {
    spec: PowerCapSpec,
    reads_first: bool,
    /// The sum of the powers in `powers`, which has the power of each die's array in microwatts.
    drawn: u64,
    die_powers: Vec<u64>,
    /// The number of the latest window; and the energy of the operations that began in it, with the excess of earlier
    /// windows.
    window: u64,
    spent: u128,
    /// The queues of waiting operations: reads if reads go first, and all other operations.
    waiting: [VecDeque<CappedOperation>; 2],
    /// The start of the window for which an event is in the queue.
    window_event: Option<Time>,
    counters: PowerCapCounters,
}

impl PowerCap {
    pub(super) fn new(spec: PowerCapSpec, order: Order, units: usize) -> Self {
        Self {
            spec,
            reads_first: order == Order::ReadFirst,
            drawn: 0,
            die_powers: vec![0; units],
            window: 0,
            spent: 0,
            waiting: [(); 2].map(|()| VecDeque::with_capacity(units)),
            window_event: None,
            counters: PowerCapCounters::default(),
        }
    }

    /// Bytes of memory that a cap takes.
    pub(super) fn memory(units: u64) -> u64 {
        size_of::<Self>() as u64 + units * (size_of::<u64>() + 2 * size_of::<CappedOperation>()) as u64
    }

    /// The time at which the first operation of a queue may begin.
    fn admit(&mut self, now: Time, demand: Demand) -> Admission {
        if self.spec.peak.is_some_and(|peak| self.drawn + demand.power > peak.as_uw()) {
            return Admission::NextEnd;
        }
        let Some((budget, window)) = self.budget() else { return Admission::Immediate };
        let present = now.as_ps() / window;
        let passed = present - std::mem::replace(&mut self.window, present);
        self.spent = self.spent.saturating_sub(budget.saturating_mul(u128::from(passed)));
        if self.spent == 0 || self.spent + demand.energy <= budget {
            return Admission::Immediate;
        }
        // Each window pays off one budget. The operation may begin when the excess is at most the part of a budget that
        // the operation leaves over, or zero.
        let rest = budget.saturating_sub(demand.energy);
        let windows = u64::try_from((self.spent - rest).div_ceil(budget)).unwrap_or(u64::MAX);
        Admission::Window(Time::from_ps(present.saturating_add(windows).saturating_mul(window)))
    }

    /// The energy budget of one window, and the length of a window in picoseconds.
    fn budget(&self) -> Option<(u128, u64)> {
        let (average, window) = (self.spec.average?, self.spec.window?.as_ps());
        Some((u128::from(average.as_uw()) * u128::from(window), window))
    }

    fn begin(&mut self, unit: u32, demand: Demand) {
        self.drawn += demand.power;
        self.die_powers[unit as usize] = demand.power;
        self.spent += demand.energy;
        self.counters.highest = self.counters.highest.max(Power::from_uw(self.drawn));
    }

    fn end(&mut self, unit: u32) {
        self.drawn -= std::mem::take(&mut self.die_powers[unit as usize]);
    }

    /// The waiting operation that begins next; none if none waits.
    fn first_waiting(&self) -> Option<CappedOperation> {
        self.waiting.iter().find_map(VecDeque::front).copied()
    }

    /// Removes the [first waiting](Self::first_waiting) operation from its queue.
    fn pop_waiting(&mut self, now: Time) {
        let next = self.waiting.iter_mut().find_map(VecDeque::pop_front).expect("an operation waits");
        self.counters.wait_time += now - next.since;
    }

    /// Forgets all operations at a power cut.
    pub(super) fn cut(&mut self) {
        self.drawn = 0;
        self.die_powers.fill(0);
        self.waiting.iter_mut().for_each(VecDeque::clear);
        self.window_event = None;
    }

    pub(super) fn reset_counters(&mut self) {
        self.counters = PowerCapCounters::default();
    }
}

impl Backend {
    /// Asks the cap whether the array of a command begins now. If not, queues the command.
    #[cold]
    #[inline(never)]
    pub(super) fn begins_under_cap<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        command: Handle<Command>,
        copy: Span,
        events: &mut EventQueue<E>,
    ) -> bool {
        let (demand, planted) = (self.demand(command), self.rules.planted);
        let &Command { op, unit, .. } = &self.table.commands[command];
        let Some(cap) = &mut self.cap else { return true };
        let first = if cap.reads_first && op == Op::Read { 0 } else { 1 };
        let is_alone = cap.waiting[..=first].iter().all(VecDeque::is_empty);
        let admission = if is_alone { cap.admit(now, demand) } else { Admission::NextEnd };
        if admission == Admission::Immediate || planted.is(Bug::CapExceeded) {
            cap.begin(unit, demand);
            return true;
        }
        cap.counters.waits += 1;
        cap.waiting[first].push_back(CappedOperation { command, copy, since: now });
        self.dies[unit as usize].array = Some(command);
        if let Some(observer) = &mut self.observer {
            observer.power_capped(command.number().get());
        }
        self.queue_window_event(admission, events);
        false
    }

    /// Notes that the array of a die has ended its work, and begins waiting operations.
    #[cold]
    #[inline(never)]
    pub(super) fn end_under_cap<E: From<Event> + Copy>(&mut self, now: Time, unit: u32, events: &mut EventQueue<E>) {
        if let Some(cap) = &mut self.cap {
            cap.end(unit);
        }
        if !self.rules.planted.is(Bug::CapForgotten) {
            self.begin_capped(now, events);
        }
    }

    /// Begins the waiting operations that the cap admits now.
    pub(super) fn begin_capped<E: From<Event> + Copy>(&mut self, now: Time, events: &mut EventQueue<E>) {
        while let Some(CappedOperation { command, copy, .. }) = self.cap.as_ref().and_then(|cap| cap.first_waiting()) {
            let demand = self.demand(command);
            let unit = self.table.commands[command].unit;
            let Some(cap) = &mut self.cap else { return };
            let admission = cap.admit(now, demand);
            if admission != Admission::Immediate {
                return self.queue_window_event(admission, events);
            }
            cap.pop_waiting(now);
            cap.begin(unit, demand);
            self.begin_array(now, command, copy, events);
        }
    }

    /// Changes the peak of the cap, if there is a cap. Operations under way go on, even above the new peak; waiting
    /// operations are tested again.
    pub fn set_peak_power<E: From<Event> + Copy>(&mut self, now: Time, peak: Power, events: &mut EventQueue<E>) {
        let Some(cap) = &mut self.cap else { return };
        cap.spec.peak = Some(peak);
        if cap.first_waiting().is_some() {
            events.push(now, Event::PowerWindow.into());
        }
    }

    /// Queues an event for the start of the window for which an operation waits.
    fn queue_window_event<E: From<Event> + Copy>(&mut self, admission: Admission, events: &mut EventQueue<E>) {
        let (Some(cap), Admission::Window(at)) = (&mut self.cap, admission) else { return };
        if cap.window_event.replace(at) != Some(at) {
            events.push(at, Event::PowerWindow.into());
        }
    }

    fn demand(&self, command: Handle<Command>) -> Demand {
        let supply = self.rules.supply.as_ref().expect("a cap knows what the arrays draw");
        let power = supply.power(self.table.commands[command].op, self.planes_of(command)).as_uw();
        let (time, _) = self.array_work(command);
        Demand { power, energy: u128::from(power) * u128::from(time.as_ps()) }
    }

    /// The counters of the power cap; `None` without one.
    #[must_use]
    pub fn power_cap(&self) -> Option<PowerCapCounters> {
        self.cap.as_ref().map(|cap| cap.counters)
    }
}
