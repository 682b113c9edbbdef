//! The one processor that software controllers and the FTL share (Seong et al., Sec. 4.2.3, Fig. 17).
//!
//! The processor executes its jobs in the order of their arrival. A command of a background list requests it when its
//! die could begin the command: a software controller waits until then for the previous operation.

use std::collections::VecDeque;

use base::engine::{EventQueue, Handle, Slab};
use base::units::{Span, Time};

use super::command::Preparation;
use super::meter::{Generation, Meter};
use super::{Command, Event};

/// A piece of work that occupies the processor for a fixed time.
#[derive(Clone, Copy, Debug)]
enum Job {
    Command(Handle<Command>),
    Ftl { token: u32, span: Span },
}

#[derive(Clone, Debug, Default)]
pub(super) struct Processor {
    /// Processor time for a command of a background list; `None` if the controllers are hardware.
    pub(super) cost: Option<Span>,
    current: Option<Job>,
    queue: VecDeque<Job>,
    cpu_done: VecDeque<u32>,
    meter: Meter,
}

impl Processor {
    pub(super) fn new(cost: Option<Span>) -> Self {
        Self { cost, ..Self::default() }
    }

    /// True if the processor has no job, and no finished job of the FTL waits to be taken.
    pub(super) fn is_idle(&self) -> bool {
        self.current.is_none() && self.cpu_done.is_empty()
    }

    /// True if a finished job of the FTL waits to be taken.
    #[inline]
    pub(super) fn has_cpu_done(&self) -> bool {
        !self.cpu_done.is_empty()
    }

    pub(super) fn reset(&mut self) {
        self.meter.reset();
    }

    pub(super) fn cut(&mut self, now: Time) {
        self.meter.end(now);
        self.current = None;
        self.queue.clear();
        self.cpu_done.clear();
    }

    /// True if the end of the phase with this number is still to come.
    pub(super) const fn awaits(&self, generation: Generation) -> bool {
        self.meter.awaits(generation)
    }

    fn take_on<E: From<Event> + Copy>(&mut self, now: Time, job: Job, events: &mut EventQueue<E>) {
        if self.current.is_some() {
            return self.queue.push_back(job);
        }
        let span = match job {
            Job::Command(_) => self.cost.expect("only software units ask for a command"),
            Job::Ftl { span, .. } => span,
        };
        self.current = Some(job);
        let generation = self.meter.begin(now, now + span);
        events.push(now + span, Event::Processor { generation }.into());
    }

    /// The token of the next finished job of the FTL, in the order of finishing.
    pub(super) fn take_cpu_done(&mut self) -> Option<u32> {
        self.cpu_done.pop_front()
    }

    /// Time that the processor worked until `now`.
    pub(super) fn busy(&self, now: Time) -> Span {
        self.meter.busy(now)
    }

    /// True if a die may begin a command: a software controller has issued the command, or it needs no issue.
    #[inline]
    pub(super) fn has_issued(&self, command: &Command) -> bool {
        self.cost.is_none() || command.class.is_host_read() || command.preparation == Preparation::Done
    }

    /// For a command that is the next of a free die: true if the die may begin it. Otherwise asks the processor to
    /// issue the command, once.
    pub(super) fn issues<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        handle: Handle<Command>,
        commands: &mut Slab<Command>,
        events: &mut EventQueue<E>,
    ) -> bool {
        let command = &mut commands[handle];
        if self.has_issued(command) {
            return true;
        }
        if command.preparation == Preparation::None {
            command.preparation = Preparation::Asked;
            self.take_on(now, Job::Command(handle), events);
        }
        false
    }

    /// Ends the job under way, and begins the next. Returns the unit of the die if the job has issued a command.
    pub(super) fn end_job<E: From<Event> + Copy>(
        &mut self,
        now: Time,
        commands: &mut Slab<Command>,
        events: &mut EventQueue<E>,
    ) -> Option<u32> {
        self.meter.end(now);
        let job = self.current.take().expect("a processor that finishes was busy");
        if let Some(next) = self.queue.pop_front() {
            self.take_on(now, next, events);
        }
        match job {
            Job::Ftl { token, .. } => {
                self.cpu_done.push_back(token);
                None
            }
            Job::Command(handle) => {
                commands[handle].preparation = Preparation::Done;
                Some(commands[handle].unit)
            }
        }
    }

    /// Occupies the processor for `span`, behind its earlier jobs; with time off the job is done at once.
    pub(super) fn add_job<E: From<Event> + Copy>(
        &mut self,
        (now, timed): (Time, bool),
        (span, token): (Span, u32),
        events: &mut EventQueue<E>,
    ) {
        if timed {
            self.take_on(now, Job::Ftl { token, span }, events);
        } else {
            self.cpu_done.push_back(token);
        }
    }
}
