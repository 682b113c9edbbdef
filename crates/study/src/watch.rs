//! Watches a disk while it runs: what every resource does when ([`timeline`]), and where the time of each request goes
//! ([`journey`]).
//!
//! A [`Watch`] is the observer of a disk's flash. It costs nothing where nobody watches; where somebody does, the
//! results of the run are the same, because an observer is only told.

pub mod explain;
pub mod journey;
mod journeys;
mod sums;
pub mod timeline;
mod track;

use std::num::NonZeroU32;

use base::units::Time;
use flash::backend::{Cause, Level, Moment, Observer, Phase, RequestStep, Stop};
use ssd::Tag;

pub use sums::Sums;

use explain::{Explained, explain};
use journey::{Journey, Leg};
use journeys::Journeys;
use timeline::Timeline;
use track::Requests;

/// Somebody who watches a disk and may have a timeline of it, or know where the time of its requests went.
pub trait Watcher: Observer {
    /// The run begins: what came before, preconditioning for example, is forgotten, and times count from here.
    fn begin(&mut self, _at: Time) {}

    /// The warm-up is over: what is under way goes on, what came before is forgotten, and times count from here.
    fn measure(&mut self, _at: Time) {}

    /// Where the time of the requests went since this was last asked; nothing if that was not watched.
    fn explained(&mut self) -> Vec<Explained> {
        Vec::new()
    }

    /// What happened in a window, if that was to be kept.
    fn timeline(&self) -> Option<&Timeline> {
        None
    }

    /// Gives away all that was seen, if somebody watched.
    fn take(&mut self) -> Option<Watch> {
        None
    }
}

impl Watcher for () {}

impl Watcher for Watch {
    fn begin(&mut self, at: Time) {
        if let Some(timeline) = &mut self.timeline {
            timeline.begin(at);
        }
        if let Some(journeys) = &mut self.journeys {
            journeys.begin();
        }
    }

    fn measure(&mut self, at: Time) {
        if let Some(timeline) = &mut self.timeline {
            timeline.measure(at);
        }
        if let Some(journeys) = &mut self.journeys {
            journeys.measure();
        }
    }

    fn explained(&mut self) -> Vec<Explained> {
        self.journeys.as_mut().map_or_else(Vec::new, |journeys| explain(&journeys.since()))
    }

    fn timeline(&self) -> Option<&Timeline> {
        self.seen()
    }

    fn take(&mut self) -> Option<Watch> {
        Some(std::mem::take(self))
    }
}

/// Watches a disk.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    timeline: Option<Timeline>,
    journeys: Option<Journeys>,
    requests: Requests,
}

impl Watch {
    /// Keeps what happens in a window of time.
    #[must_use]
    pub fn timeline(mut self, timeline: Timeline) -> Self {
        self.timeline = Some(timeline);
        self
    }

    /// Adds up where the time of the requests went.
    #[must_use]
    pub fn explaining(mut self) -> Self {
        self.journeys = Some(Journeys::default());
        self
    }

    /// The same, and keeps where the time of every request went, and of one of them every leg.
    #[must_use]
    pub fn journeys(mut self, one: Option<Tag>) -> Self {
        self.journeys = Some(Journeys::each(one));
        self
    }

    /// What happened in the window, if that was to be kept.
    #[must_use]
    pub const fn seen(&self) -> Option<&Timeline> {
        self.timeline.as_ref()
    }

    /// The requests that have ended, in that order, if each is kept.
    #[must_use]
    pub fn finished(&self) -> &[Journey] {
        self.journeys.as_ref().map_or(&[], Journeys::finished)
    }

    /// What all of them come to, by kind and band of percentiles.
    #[must_use]
    pub fn bands(&self) -> Vec<Explained> {
        self.journeys.as_ref().map_or_else(Vec::new, |journeys| explain(&journeys.all()))
    }

    /// The legs of the one request, in order; none if it has not ended.
    #[must_use]
    pub fn legs(&self) -> &[Leg] {
        self.journeys.as_ref().map_or(&[], Journeys::legs)
    }
}

impl Observer for Watch {
    fn phase(&mut self, phase: Phase) {
        if let Some(timeline) = &mut self.timeline {
            timeline.phase(&phase);
        }
        if let Some(journeys) = &mut self.journeys {
            journeys.phase(&phase);
        }
    }

    fn command(&mut self, moment: Moment<'_>) {
        if let Some(timeline) = self.timeline.as_mut().filter(|_| moment.stop == Stop::Submitted) {
            timeline.submitted(&moment, &self.requests);
        }
        if let Some(journeys) = &mut self.journeys {
            journeys.command(&moment);
        }
    }

    fn controller(&mut self, at: Time, unit: u32, list: Option<(u32, Cause)>) {
        if let Some(timeline) = &mut self.timeline {
            timeline.controller(at, unit, list);
        }
        if let Some(journeys) = &mut self.journeys {
            journeys.controller(at, unit, list);
        }
    }

    fn serial(&mut self, from: Time, until: Time, cause: Cause) {
        if let Some(journeys) = &mut self.journeys {
            journeys.serial(from, until, cause);
        }
    }

    fn request(&mut self, at: Time, owner: NonZeroU32, step: RequestStep) {
        if let RequestStep::Begun { tag, arrival, io } = step {
            self.requests.begin(at, owner, (tag, arrival, io));
        }
        if let Some(journeys) = &mut self.journeys {
            journeys.request(at, owner, step, self.requests.of(owner));
        }
        if step == RequestStep::Ended {
            if let Some(timeline) = &mut self.timeline {
                timeline.ended(at, self.requests.of(owner));
            }
            self.requests.end(owner);
        }
    }

    fn level(&mut self, at: Time, level: Level, value: u64) {
        if let Some(timeline) = &mut self.timeline {
            timeline.level(at, level, value);
        }
    }
}

#[cfg(test)]
mod tests;
