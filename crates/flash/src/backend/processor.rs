//! The one processor that software controllers and the FTL share (Seong et al., Sec. 4.2.3, Fig. 17).
//!
//! It executes its jobs in the order of their arrival. A command of a background list requests it when its die could
//! begin the command: until then a software controller waits for the operation before.

use std::collections::VecDeque;

use crate::nand::Sector;
use base::engine::{EventQueue, Handle};
use base::units::{Span, Time};

use super::command::Preparation;
use super::meter::{Generation, Meter};
use super::{Backend, Class, Command, Event, Observer};

/// A job of the processor.
#[derive(Clone, Copy, Debug)]
enum Job {
    Command(Handle<Command>),
    Ftl { token: u32, span: Span },
}

/// The processor and its queue.
#[derive(Clone, Debug, Default)]
pub(super) struct Processor {
    /// Time for a command of a background list; `None` if the controllers are hardware.
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

    /// True if it has no job, and no finished FTL job waits to be taken.
    pub(super) fn is_idle(&self) -> bool {
        self.current.is_none() && self.cpu_done.is_empty()
    }

    /// True if a finished FTL job waits to be taken.
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
}

impl<S: Sector, O: Observer> Backend<S, O> {
    /// Occupies the processor for `span`, behind its earlier jobs; then [`Backend::take_cpu_done`] returns `token`.
    /// With time off that is at once.
    pub fn use_cpu<E: From<Event> + Copy>(&mut self, now: Time, span: Span, token: u32, events: &mut EventQueue<E>) {
        if self.timed {
            self.processor.take_on(now, Job::Ftl { token, span }, events);
        } else {
            self.processor.cpu_done.push_back(token);
        }
    }

    /// The token of the next finished FTL job, in the order of finishing.
    pub fn take_cpu_done(&mut self) -> Option<u32> {
        self.processor.cpu_done.pop_front()
    }

    /// Time the processor worked until `now`.
    #[must_use]
    pub fn processor_busy(&self, now: Time) -> Span {
        self.processor.meter.busy(now)
    }

    /// True if a die may begin a command: a software controller has issued it, or the command needs none.
    #[inline]
    pub(super) fn is_prepared(&self, handle: Handle<Command>) -> bool {
        let command = &self.commands[handle];
        self.processor.cost.is_none() || command.class == Class::HostRead || command.preparation == Preparation::Done
    }

    /// Called for a free die: true if it may begin the first command that waits for it. Otherwise asks the processor
    /// to issue that command, once.
    pub(super) fn prepare<E: From<Event> + Copy>(&mut self, now: Time, die: u32, events: &mut EventQueue<E>) -> bool {
        let Some(handle) = self.dies[die as usize].queue.peek() else { return false };
        if self.is_prepared(handle) {
            return true;
        }
        let command = &mut self.commands[handle];
        if command.preparation == Preparation::None {
            command.preparation = Preparation::Asked;
            self.processor.take_on(now, Job::Command(handle), events);
        }
        false
    }

    /// Ends the processor's job and begins the next.
    pub(super) fn processed<E: From<Event> + Copy>(&mut self, now: Time, events: &mut EventQueue<E>) {
        self.processor.meter.end(now);
        let job = self.processor.current.take().expect("a processor that finishes was busy");
        if let Some(next) = self.processor.queue.pop_front() {
            self.processor.take_on(now, next, events);
        }
        match job {
            Job::Ftl { token, .. } => self.processor.cpu_done.push_back(token),
            Job::Command(handle) => {
                self.commands[handle].preparation = Preparation::Done;
                self.next_command(now, self.commands[handle].die.get(), events);
            }
        }
    }
}
