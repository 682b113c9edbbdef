//! Suspension: the array of a die stops a program or an erase for reads, and resumes it afterwards.
//!
//! A drive that leaves a read behind an erase of 3.5 ms has a tail of 3.5 ms. So a command that may suspend asks an
//! array at work to stop. The array stops at once, or at the end of a step (a pulse of the program or the erase); or it
//! gives up the step under way and repeats it later. Stopping takes time. Then the die serves the commands that may
//! suspend, one after another, and when none waits the operation resumes. A die has at most one suspended operation.
//!
//! ```text
//! work -- asked --> stops (to a step's end, and the time to suspend) --> suspended -- no read waits --> resumes --> work
//! ```

use base::engine::{EventQueue, Handle};
use base::units::{Span, Time};

use super::planted::Bug;
use super::queue::CLASSES;
use super::{
    Backend, Cause, Class, Command, CommandState, Event, Op, Phase, Primitive, ReadScope, Resource, StopPoint,
    SuspendSpec, SuspensionTarget,
};
use crate::nand::Target;

const HOST_READS: usize = 0;
const ALL_READS: usize = 1;
const HOST_WRITES: usize = 2;
const PATIENT_READS: usize = 3;

impl SuspendSpec {
    /// True if operations of this kind may be suspended.
    const fn covers(&self, op: Op) -> bool {
        match op {
            Op::Program => !matches!(self.operations, SuspensionTarget::Erases),
            Op::Erase => !matches!(self.operations, SuspensionTarget::Programs),
            Op::Read | Op::CopyBack => false,
        }
    }

    /// The queue of a command: host reads, then other reads that may suspend, then host writes that may, then host
    /// reads that may not, then all others.
    pub(super) fn queue(&self, command: &Command) -> usize {
        match command.op {
            Op::Read if command.class == Class::HostRead => HOST_READS,
            Op::Read if command.class == Class::PatientRead => PATIENT_READS,
            Op::Read if self.reads == ReadScope::All => ALL_READS,
            Op::Program if self.writes && command.stream.is_host() => HOST_WRITES,
            _ => CLASSES - 1,
        }
    }

    /// The last queue whose commands may suspend an operation of this kind.
    const fn last_queue(&self, op: Op) -> usize {
        match (op, self.reads) {
            (Op::Erase, _) if self.writes => HOST_WRITES,
            (_, ReadScope::All) => ALL_READS,
            (_, ReadScope::Host) => HOST_READS,
        }
    }

    const fn times(&self, op: Op) -> (Span, Span, u32) {
        match op {
            Op::Erase => (self.erase_time, self.erase_resume, self.erase_steps),
            _ => (self.program_time, self.program_resume, self.program_steps),
        }
    }
}

/// The progress of an operation that the array of a die can stop.
#[derive(Clone, Copy, Debug)]
struct ArrayOperation {
    command: Handle<Command>,
    op: Op,
    /// The operation's work in total, and the part that was done before the phase under way.
    total: Span,
    done: Span,
    /// The time at which the work of the phase under way begins.
    from: Time,
    suspensions: u32,
    /// The time for which the operation has stood still.
    stood: Span,
}

/// The state of the array with respect to suspension.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum ArrayState {
    /// The array works, or has no operation that may be suspended.
    #[default]
    Works,
    /// The array has been asked to stop.
    Stops,
    /// The operation stands still since this time.
    Suspended(Time),
}

/// A suspended operation that a power cut tears.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Tear {
    pub(super) op: Op,
    pub(super) target: Target,
    pub(super) count: u32,
}

/// The suspension of operations on one die.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Suspension {
    operation: Option<ArrayOperation>,
    state: ArrayState,
    /// The operation that a power cut tears in addition to the operation that the array works on.
    pub(super) tear: Option<Tear>,
    /// The cause of the operation, to which the time of standing still is charged.
    cause: Option<Cause>,
}

/// The times of a stop: the end of the array's work, the time at which the array is free, and the gain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct StopTimes {
    pub(super) work_until: Time,
    pub(super) free_at: Time,
    /// The time by which the array would be free later without the stop.
    pub(super) gain: Span,
}

/// The data of an operation that resumes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Resumption {
    pub(super) command: Handle<Command>,
    pub(super) delay: Span,
    pub(super) left: Span,
    /// The time for which the operation has stood still this time.
    pub(super) stood: Span,
}

impl Suspension {
    /// Notes that an array begins an operation, or resumes the suspended one: work from `from` to `until`.
    pub(super) fn begin(&mut self, handle: Handle<Command>, command: &Command, from: Time, until: Time) {
        if let Some(operation) = self.operation.as_mut().filter(|operation| operation.command == handle) {
            operation.from = from;
            return;
        }
        // A program during a suspended erase is not suspended itself.
        if matches!(self.state, ArrayState::Suspended(_)) {
            return;
        }
        let (total, done, suspensions, stood) = (until - from, Span::ZERO, 0, Span::ZERO);
        self.operation =
            Some(ArrayOperation { command: handle, op: command.op, total, done, from, suspensions, stood });
        self.cause = Some(command.cause);
    }

    /// Notes that the array is done with a command.
    pub(super) fn end(&mut self, handle: Handle<Command>) {
        self.operation.take_if(|operation| operation.command == handle);
    }

    /// The last queue whose commands are served while the operation is suspended; `None` if no operation is suspended.
    pub(super) fn serves(&self, rules: &SuspendSpec) -> Option<usize> {
        let operation = self.operation?;
        matches!(self.state, ArrayState::Suspended(_)).then(|| rules.last_queue(operation.op))
    }

    /// True if an operation is suspended.
    #[inline]
    pub(super) const fn is_suspended(&self) -> bool {
        matches!(self.state, ArrayState::Suspended(_))
    }

    /// Asks the array to stop, if the rules allow it, because a command of queue `asks` waits while the array works on
    /// `array`.
    pub(super) fn ask(
        &mut self,
        now: Time,
        rules: &SuspendSpec,
        array: Handle<Command>,
        queue: usize,
    ) -> Option<StopTimes> {
        let operation = self.operation.as_mut().filter(|operation| operation.command == array)?;
        let ArrayOperation { op, total, done, from, suspensions, stood, .. } = *operation;
        let (time, _, steps) = rules.times(op);
        let worn_out = rules.limit.is_some_and(|limit| suspensions >= limit)
            || rules.longest.is_some_and(|longest| stood >= longest);
        if self.state != ArrayState::Works || !rules.covers(op) || queue > rules.last_queue(op) || worn_out {
            return None;
        }
        let earliest = now.max(if suspensions > 0 { from + rules.progress } else { from });
        let worked = done + (earliest - from);
        let step = Span::from_ps(total.as_ps().div_ceil(u64::from(steps)).max(1));
        let (work_until, kept) = match rules.stop {
            StopPoint::AnyTime => (earliest, worked),
            StopPoint::Steps => {
                let end = step * worked.as_ps().div_ceil(step.as_ps());
                (earliest + (end - worked), end)
            }
            StopPoint::Cancel => (earliest, step * (worked.as_ps() / step.as_ps())),
        };
        let end = from + (total - done);
        let free_at = work_until + time;
        if work_until + rules.threshold >= end || free_at >= end {
            return None;
        }
        operation.done = kept;
        operation.suspensions += 1;
        self.state = ArrayState::Stops;
        Some(StopTimes { work_until, free_at, gain: end - free_at })
    }

    /// Notes that the array is free. Returns true if it was to stop: its operation stands still from now on.
    pub(super) fn stand_still(&mut self, now: Time, command: &Command) -> bool {
        if self.state != ArrayState::Stops {
            return false;
        }
        self.state = ArrayState::Suspended(now);
        self.tear = Some(Tear { op: command.op, target: command.target, count: command.count });
        true
    }

    /// True if the operation must resume although reads wait.
    pub(super) fn is_overdue(&self, now: Time, rules: &SuspendSpec) -> bool {
        let (Some(operation), ArrayState::Suspended(since)) = (&self.operation, self.state) else { return false };
        rules.longest.is_some_and(|longest| operation.stood + (now - since) >= longest)
    }

    /// Resumes the operation, if it is suspended.
    pub(super) fn resume(&mut self, now: Time, rules: &SuspendSpec) -> Option<Resumption> {
        let (Some(operation), ArrayState::Suspended(since)) = (&mut self.operation, self.state) else { return None };
        let stood = now - since;
        operation.stood += stood;
        (self.state, self.tear) = (ArrayState::Works, None);
        let (_, delay, _) = rules.times(operation.op);
        Some(Resumption { command: operation.command, delay, left: operation.total - operation.done, stood })
    }

    /// The operation that stands still: its kind, its cause, and the time since which it stands still.
    pub(super) fn standing(&self) -> Option<(Op, Cause, Time)> {
        let (Some(operation), ArrayState::Suspended(since)) = (&self.operation, self.state) else { return None };
        Some((operation.op, self.cause?, since))
    }
}

impl Backend {
    /// Called when an array has begun: commands that may suspend it may have come while its own command or data crossed
    /// the channel.
    #[inline]
    pub(super) fn suspend_begun<E: From<Event> + Copy>(&mut self, now: Time, unit: u32, events: &mut EventQueue<E>) {
        if self.rules.suspend.is_some() {
            self.suspend(now, self.rules.die_of(unit), events);
        }
    }

    /// The first queue of a die, or of one of its planes, in which a command waits.
    fn first_queue(&self, die: u32) -> Option<usize> {
        let heads = self.rules.units_of(die).filter_map(|unit| self.dies[unit as usize].queue.peek());
        heads.map(|head| self.class_at_die(head)).min()
    }

    /// Asks the array of an occupied die to stop, if a command waits that may suspend its operation. While the register
    /// is occupied the array is not stopped, because the page in the register waits for it.
    #[cold]
    #[inline(never)]
    pub(super) fn suspend<E: From<Event> + Copy>(&mut self, now: Time, number: u32, events: &mut EventQueue<E>) {
        let waiting = self.first_queue(number);
        let Self { dies, rules, table, observer, .. } = self;
        let die = &mut dies[number as usize];
        let (Some(array), None, Some(queue)) = (die.array, die.register, waiting) else { return };
        let (Some(spec), Some(suspension)) = (&rules.suspend, &mut die.suspension) else { return };
        let Some(StopTimes { work_until, free_at, gain }) = suspension.ask(now, spec, array, queue) else { return };
        let command = &table.commands[array];
        let part = (Resource::Array(number), Primitive::Suspend);
        let phase = Phase { die: number, ..Phase::of((array, command), part, [work_until, work_until, free_at]) };
        if let Some(observer) = observer {
            observer.shortened(phase.resource, number, phase.command, work_until);
            observer.phase(phase);
        }
        let tally = self.account.at(command.op, command.cause);
        tally.suspensions += 1;
        tally.suspend_overhead += free_at - work_until;
        tally.suspend_gain += gain;
        let generation = die.meter.reschedule(free_at);
        events.push(free_at, Event::Array { die: number, generation }.into());
    }

    /// Called at the end of an array's phase. Returns true if the operation is suspended from now on.
    #[cold]
    #[inline(never)]
    pub(super) fn stands_still<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        number: u32,
        handle: Handle<Command>,
        events: &mut EventQueue<E>,
    ) -> bool {
        let die = &mut self.dies[number as usize];
        let Some(suspension) = &mut die.suspension else { return false };
        let command = &mut self.table.commands[handle];
        if !suspension.stand_still(now, command) {
            suspension.end(handle);
            return false;
        }
        command.state = CommandState::Suspended;
        die.array = None;
        self.next_command(now, number, events);
        true
    }

    /// Called for a free die whose operation is suspended: resumes it if no command waits that may go before it.
    /// Returns true if the operation resumes.
    #[cold]
    #[inline(never)]
    pub(super) fn resume<E: From<Event> + Copy>(&mut self, now: Time, number: u32, events: &mut EventQueue<E>) -> bool {
        let next = self.first_queue(number);
        let Self { dies, rules, table, account, observer, .. } = self;
        let die = &mut dies[number as usize];
        let (Some(spec), Some(suspension)) = (&rules.suspend, &mut die.suspension) else { return false };
        if suspension.serves(spec) >= next && next.is_some() && !suspension.is_overdue(now, spec) {
            return false;
        }
        if next.is_none() && rules.planted.is(Bug::SuspendedForever) {
            return true;
        }
        let torn = suspension.tear.filter(|_| rules.planted.is(Bug::TornAfterResume));
        let Some(Resumption { command: handle, delay, left, stood }) = suspension.resume(now, spec) else {
            return false;
        };
        suspension.tear = torn;
        let command = &mut table.commands[handle];
        command.wait += stood;
        let tally = account.at(command.op, command.cause);
        tally.suspended += stood;
        tally.suspend_overhead += delay;
        die.last = Some(command.cause);
        let primitive = if command.op == Op::Erase { Primitive::Erase } else { Primitive::Program };
        if let Some(observer) = observer.as_mut().filter(|_| !delay.is_zero()) {
            let part = (Resource::Array(number), Primitive::Resume);
            let phase = Phase::of((handle, command), part, [now, now, now + delay]);
            observer.phase(Phase { die: number, ..phase });
        }
        self.start_array(now, handle, (delay, left), primitive, (None, events));
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::Stream;
    use base::engine::Slab;
    use base::units::{DieId, SuperblockId};

    const fn at(us: u64) -> Time {
        Time::from_ps(us * 1_000_000)
    }

    /// A die whose array has begun an erase of 1 ms at time 0.
    fn erase() -> (Suspension, Handle<Command>, Command) {
        let mut lists = Slab::default();
        let list = lists.insert(super::super::List::new(Class::Other, 0, 0));
        let target = Target { superblock: SuperblockId::new(0), offset: 0 };
        let command = Command::new(Op::Erase, Cause::Gc, DieId::new(0), target, Stream::HOST, list, Class::Other);
        let handle = Slab::default().insert(command.clone());
        let mut suspension = Suspension::default();
        suspension.begin(handle, &command, at(0), at(1000));
        (suspension, handle, command)
    }

    fn rules(stop: StopPoint) -> SuspendSpec {
        SuspendSpec { stop, erase_time: Span::from_us(10), erase_resume: Span::from_us(5), ..SuspendSpec::default() }
    }

    /// Suspends the erase at 250 us and resumes it at 400 us. Returns the times of the stop, and the work that is left.
    fn stop_and_go(rules: &SuspendSpec) -> Option<(StopTimes, Span)> {
        let (mut suspension, handle, command) = erase();
        let stop = suspension.ask(at(250), rules, handle, 0)?;
        assert_eq!(suspension.ask(at(251), rules, handle, 0), None, "it stops already");
        assert!(suspension.stand_still(stop.free_at, &command) && suspension.is_suspended());
        let on = suspension.resume(at(500), rules).expect("it is suspended");
        assert_eq!((on.command, on.delay, on.stood), (handle, Span::from_us(5), at(500) - stop.free_at));
        assert!(!suspension.is_suspended() && suspension.tear.is_none());
        Some((stop, on.left))
    }

    #[test]
    fn an_operation_stops_at_once_or_behind_a_step_or_loses_the_step() {
        // The erase would end at 1 ms.
        let stop =
            |until| StopTimes { work_until: at(until), free_at: at(until + 10), gain: Span::from_us(990 - until) };
        let left = Span::from_us;
        assert_eq!(stop_and_go(&rules(StopPoint::AnyTime)), Some((stop(250), left(750))));
        // Five steps of 200 us.
        assert_eq!(stop_and_go(&rules(StopPoint::Steps)), Some((stop(400), left(600))));
        assert_eq!(stop_and_go(&rules(StopPoint::Cancel)), Some((stop(250), left(800))));
    }

    #[test]
    fn an_operation_that_is_about_to_end_is_left_alone() {
        let (suspension, handle, _) = erase();
        let asked = |us, rules: &SuspendSpec| { suspension }.ask(at(us), rules, handle, 0).is_some();
        let any = rules(StopPoint::AnyTime);
        assert!(asked(989, &any) && !asked(990, &any), "stopping takes 10 us");
        let threshold = SuspendSpec { threshold: Span::from_us(300), ..any };
        assert!(asked(699, &threshold) && !asked(700, &threshold));
        let last = rules(StopPoint::Steps);
        assert!(asked(800, &last) && !asked(801, &last), "the last step ends with the erase");
        assert!(!asked(100, &SuspendSpec { operations: SuspensionTarget::Programs, ..any }));
    }

    #[test]
    fn limits_bound_how_often_and_how_long_an_operation_stands_still() {
        let (mut suspension, handle, command) = erase();
        let rules = SuspendSpec {
            limit: Some(2),
            progress: Span::from_us(50),
            longest: Some(Span::from_us(200)),
            ..rules(StopPoint::AnyTime)
        };
        let first = suspension.ask(at(100), &rules, handle, 0).expect("the first");
        assert!(suspension.stand_still(first.free_at, &command));
        assert!(!suspension.is_overdue(at(309), &rules) && suspension.is_overdue(at(310), &rules));
        let on = suspension.resume(at(200), &rules).expect("suspended");
        suspension.begin(handle, &command, at(200) + on.delay, at(200) + on.delay + on.left);
        let second = suspension.ask(at(210), &rules, handle, 0).expect("the second");
        assert_eq!(second.work_until, at(255), "50 us of table behind 5 us to resume");
        assert!(suspension.stand_still(second.free_at, &command));
        let on = suspension.resume(at(300), &rules).expect("suspended");
        assert_eq!(on.left, Span::from_us(1000 - 100 - 50));
        suspension.begin(handle, &command, at(300) + on.delay, at(300) + on.delay + on.left);
        assert_eq!(suspension.ask(at(500), &rules, handle, 0), None, "two suspensions are the limit");
    }

    #[test]
    fn host_writes_go_into_an_erase_only_if_told() {
        let (suspension, handle, _) = erase();
        let asked = |rules: &SuspendSpec, queue| { suspension }.ask(at(100), rules, handle, queue).is_some();
        let reads = rules(StopPoint::AnyTime);
        let writes = SuspendSpec { writes: true, ..reads };
        assert_eq!([asked(&reads, HOST_READS), asked(&reads, HOST_WRITES)], [true, false]);
        let queues = [HOST_READS, ALL_READS, HOST_WRITES, PATIENT_READS, CLASSES - 1];
        assert_eq!(queues.map(|queue| asked(&writes, queue)), [true, true, true, false, false]);
    }

    #[test]
    fn host_reads_go_before_other_reads_that_may_suspend() {
        let mut slab = Slab::default();
        let list = slab.insert(super::super::List::new(Class::HostRead, 0, 0));
        let target = Target { superblock: SuperblockId::new(0), offset: 0 };
        let of = |op, cause, class| Command::new(op, cause, DieId::new(0), target, Stream::HOST, list, class);
        let host = of(Op::Read, Cause::Host, Class::HostRead);
        let collection = of(Op::Read, Cause::Gc, Class::Other);
        let write = of(Op::Program, Cause::Host, Class::Other);
        let patient = of(Op::Read, Cause::Host, Class::PatientRead);
        for (scope, queue) in [(ReadScope::Host, CLASSES - 1), (ReadScope::All, ALL_READS)] {
            let rules = SuspendSpec { reads: scope, writes: true, ..rules(StopPoint::AnyTime) };
            assert_eq!([&host, &collection, &write].map(|of| rules.queue(of)), [HOST_READS, queue, HOST_WRITES]);
            assert_eq!(rules.queue(&patient), PATIENT_READS);
            let last = if scope == ReadScope::All { ALL_READS } else { HOST_READS };
            assert_eq!([Op::Program, Op::Erase].map(|op| rules.last_queue(op)), [last, HOST_WRITES]);
        }
    }
}
