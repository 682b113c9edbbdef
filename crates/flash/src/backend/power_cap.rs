//! A cap on the power of the arrays: an operation begins only while the sum of their powers stays below it.
//!
//! The cap asks when an array is about to begin, after command cycles or data have crossed the channel. An operation that must wait
//! keeps its die, and leaves its channel. Whenever an array ends, and at the begin of each window of the average, operations
//! begin that have waited, in their order.
//!
//! ```text
//!   command or data in --> the cap admits? --yes--> array --> ends: others may begin
//!                                |no                            |
//!                                +--> waits <-------------------+
//! ```

use std::collections::VecDeque;

use base::engine::{EventQueue, Handle};
use base::units::{Power, Span, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::planted::Bug;
use super::{Backend, Command, Event, Op, Order};

/// A cap on the power of the arrays. At least one of `peak` and `average` is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct PowerCapSpec {
    /// The most that the arrays of all dies draw together at any moment; without limit if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peak: Option<Power>,
    /// The most that the operations begun in a window spend, divided by the length of the window; without limit if missing. An
    /// operation that spends more than a window's share begins in a window of its own, and uses the shares of the next ones, too.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub average: Option<Power>,
    /// The length of the windows, which follow each other; only with `average`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Span>,
}

/// The waits that a power cap caused, and the highest power.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PowerCapCounters {
    /// Operations that waited.
    pub waits: u64,
    /// Their waits, all together.
    pub wait_time: Span,
    /// The most that the arrays drew together.
    pub highest: Power,
}

/// An operation that waits.
#[derive(Clone, Copy, Debug)]
struct Waiting {
    command: Handle<Command>,
    /// The copy time of its page from the cache register.
    copy: Span,
    since: Time,
}

/// The power of an operation in microwatts, and its energy in microwatts times picoseconds.
#[derive(Clone, Copy, Debug)]
struct Demand {
    power: u64,
    energy: u128,
}

/// Whether an operation may begin.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Admission {
    Now,
    /// When the array of another one has ended.
    AtAnEnd,
    /// When a window begins.
    At(Time),
}

/// The cap of a backend.
#[derive(Clone, Debug)]
pub(super) struct PowerCap {
    spec: PowerCapSpec,
    reads_first: bool,
    /// The sum of the powers of the arrays at work, and each of them.
    drawn: u64,
    of_unit: Vec<u64>,
    /// The number of the latest window, and what the operations begun in it spend, with what was left over from earlier ones.
    window: u64,
    spent: u128,
    /// Reads that wait, if they go first; all others.
    waiting: [VecDeque<Waiting>; 2],
    /// The begin of the window at which an event lets operations go.
    announced: Option<Time>,
    counters: PowerCapCounters,
}

impl PowerCap {
    pub(super) fn new(spec: PowerCapSpec, order: Order, units: usize) -> Self {
        Self {
            spec,
            reads_first: order == Order::ReadFirst,
            drawn: 0,
            of_unit: vec![0; units],
            window: 0,
            spent: 0,
            waiting: [(); 2].map(|()| VecDeque::with_capacity(units)),
            announced: None,
            counters: PowerCapCounters::default(),
        }
    }

    /// Bytes that a cap takes.
    pub(super) fn memory(units: u64) -> u64 {
        size_of::<Self>() as u64 + units * (size_of::<u64>() + 2 * size_of::<Waiting>()) as u64
    }

    /// Whether an operation may begin.
    fn admit(&mut self, now: Time, demand: Demand) -> Admission {
        if self.spec.peak.is_some_and(|peak| self.drawn + demand.power > peak.as_uw()) {
            return Admission::AtAnEnd;
        }
        let Some((budget, window)) = self.budget() else { return Admission::Now };
        let present = now.as_ps() / window;
        let passed = present - std::mem::replace(&mut self.window, present);
        self.spent = self.spent.saturating_sub(budget.saturating_mul(u128::from(passed)));
        if self.spent == 0 || self.spent + demand.energy <= budget {
            return Admission::Now;
        }
        // The windows after which enough is left, or nothing is owed.
        let left = budget.saturating_sub(demand.energy);
        let windows = u64::try_from((self.spent - left).div_ceil(budget)).unwrap_or(u64::MAX);
        Admission::At(Time::from_ps(present.saturating_add(windows).saturating_mul(window)))
    }

    /// The energy of a window, and its length in picoseconds.
    fn budget(&self) -> Option<(u128, u64)> {
        let (average, window) = (self.spec.average?, self.spec.window?.as_ps());
        Some((u128::from(average.as_uw()) * u128::from(window), window))
    }

    fn begin(&mut self, unit: u32, demand: Demand) {
        self.drawn += demand.power;
        self.of_unit[unit as usize] = demand.power;
        self.spent += demand.energy;
        self.counters.highest = self.counters.highest.max(Power::from_uw(self.drawn));
    }

    fn end(&mut self, unit: u32) {
        self.drawn -= std::mem::take(&mut self.of_unit[unit as usize]);
    }

    /// The operation that goes next.
    fn next(&self) -> Option<Waiting> {
        self.waiting.iter().find_map(VecDeque::front).copied()
    }

    fn take(&mut self, now: Time) {
        let next = self.waiting.iter_mut().find_map(VecDeque::pop_front).expect("an operation waits");
        self.counters.wait_time += now - next.since;
    }

    /// Forgets what is under way, at a power cut.
    pub(super) fn cut(&mut self) {
        self.drawn = 0;
        self.of_unit.fill(0);
        self.waiting.iter_mut().for_each(VecDeque::clear);
        self.announced = None;
    }

    pub(super) fn reset(&mut self) {
        self.counters = PowerCapCounters::default();
    }
}

impl Backend {
    /// Lets the array of a command begin, or lets it wait for the cap. False if it waits.
    #[cold]
    #[inline(never)]
    pub(super) fn is_below_cap<E: From<Event> + Copy>(
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
        let admission = if is_alone { cap.admit(now, demand) } else { Admission::AtAnEnd };
        if admission == Admission::Now || planted.is(Bug::CapExceeded) {
            cap.begin(unit, demand);
            return true;
        }
        cap.counters.waits += 1;
        cap.waiting[first].push_back(Waiting { command, copy, since: now });
        self.dies[unit as usize].array = Some(command);
        if let Some(observer) = &mut self.observer {
            observer.power_capped(command.number().get());
        }
        self.announce_window(admission, events);
        false
    }

    /// The array of a unit has ended: others may begin.
    #[cold]
    #[inline(never)]
    pub(super) fn end_below_cap<E: From<Event> + Copy>(&mut self, now: Time, unit: u32, events: &mut EventQueue<E>) {
        if let Some(cap) = &mut self.cap {
            cap.end(unit);
        }
        if !self.rules.planted.is(Bug::CapForgotten) {
            self.begin_below_cap(now, events);
        }
    }

    /// Lets operations begin that have waited for the cap.
    pub(super) fn begin_below_cap<E: From<Event> + Copy>(&mut self, now: Time, events: &mut EventQueue<E>) {
        while let Some(Waiting { command, copy, .. }) = self.cap.as_ref().and_then(|cap| cap.next()) {
            let demand = self.demand(command);
            let unit = self.table.commands[command].unit;
            let Some(cap) = &mut self.cap else { return };
            let admission = cap.admit(now, demand);
            if admission != Admission::Now {
                return self.announce_window(admission, events);
            }
            cap.take(now);
            cap.begin(unit, demand);
            self.begin_array(now, command, copy, events);
        }
    }

    /// Lets an event mark the window for which an operation waits.
    fn announce_window<E: From<Event> + Copy>(&mut self, admission: Admission, events: &mut EventQueue<E>) {
        let (Some(cap), Admission::At(at)) = (&mut self.cap, admission) else { return };
        if cap.announced.replace(at) != Some(at) {
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
