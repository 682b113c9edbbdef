//! Observers of a running drive: the activity of every resource ([`timeline`]), and the parts of each request's time
//! ([`journey`]).
//!
//! A [`Watch`] observes a drive's flash. A run without it has no cost; a run with it has the same results, because an
//! observer cannot act on the drive.

mod admission;
pub mod explain;
mod host_memory;
pub mod journey;
mod journeys;
mod layered;
mod meanwhile;
mod recent;
mod sums;
pub mod timeline;
mod track;
mod tracks;

use std::num::NonZeroU32;

use base::units::Time;
use flash::backend::{AdmissionDelay, Cause, Level, Moment, Observer, Phase, RequestStep, Resource, Stop};
use ssd::Tag;

pub use layered::ObservedLayer;
pub use sums::Sums;

use explain::{KindBands, explain};
use journey::{Journey, Leg};
use journeys::Journeys;
use timeline::Timeline;
use track::TrackedRequests;

/// An observer with optional records.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    timeline: Option<Timeline>,
    journeys: Option<Journeys>,
    requests: TrackedRequests,
}

impl Watch {
    /// Records a timeline of a window.
    #[must_use]
    pub fn timeline(mut self, timeline: Timeline) -> Self {
        self.timeline = Some(timeline);
        self
    }

    /// Adds up the parts of the time of all requests.
    #[must_use]
    pub fn explaining(mut self) -> Self {
        self.journeys = Some(Journeys::default());
        self
    }

    /// Adds up the parts of the time of all requests, and keeps the parts for every request, and every leg of one
    /// request.
    #[must_use]
    pub fn journeys(mut self, one: Option<Tag>) -> Self {
        self.journeys = Some(Journeys::each(one));
        self
    }

    /// Creates the observer of a drive below a layer. The layer combines the parts of the drives' requests.
    fn of_member() -> Self {
        Self { journeys: Some(Journeys::of_member()), ..Self::default() }
    }

    /// True if the watch records a timeline.
    #[must_use]
    pub const fn has_timeline(&self) -> bool {
        self.timeline.is_some()
    }

    /// Begins a run: forgets earlier events, for example preconditioning, and counts times from `at`.
    pub fn begin(&mut self, at: Time) {
        if let Some(timeline) = &mut self.timeline {
            timeline.begin(at);
        }
        if let Some(journeys) = &mut self.journeys {
            journeys.begin();
        }
    }

    /// Ends the warm-up: keeps requests in flight, forgets earlier events, and counts times from `at`.
    pub fn end_warm_up(&mut self, at: Time) {
        if let Some(timeline) = &mut self.timeline {
            timeline.end_warm_up(at);
        }
        if let Some(journeys) = &mut self.journeys {
            journeys.end_warm_up();
        }
    }

    /// The parts of the time of the requests since the previous call; empty if not recorded.
    pub fn explained(&mut self) -> Vec<KindBands> {
        self.journeys.as_mut().map_or_else(Vec::new, |journeys| explain(&journeys.since()))
    }

    /// The timeline of the window, if recorded.
    #[must_use]
    pub const fn seen(&self) -> Option<&Timeline> {
        self.timeline.as_ref()
    }

    /// The requests in order of their completion; empty unless each is kept.
    #[must_use]
    pub fn finished(&self) -> &[Journey] {
        self.journeys.as_ref().map_or(&[], Journeys::finished)
    }

    /// The parts of the time by kind of request and band of percentiles.
    #[must_use]
    pub fn bands(&self) -> Vec<KindBands> {
        self.journeys.as_ref().map_or_else(Vec::new, |journeys| explain(&journeys.all()))
    }

    /// The legs of the request that is kept with its legs, in order; empty before it completes.
    #[must_use]
    pub fn legs(&self) -> &[Leg] {
        self.journeys.as_ref().map_or(&[], Journeys::legs)
    }
}

impl Observer for Watch {
    fn boxed(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }

    fn phase(&mut self, phase: Phase) {
        if let Some(timeline) = &mut self.timeline {
            timeline.phase(&phase);
        }
        if let Some(journeys) = &mut self.journeys {
            journeys.phase(&phase);
        }
    }

    fn shortened(&mut self, resource: Resource, die: u32, command: u32, until: Time) {
        if let Some(timeline) = &mut self.timeline {
            timeline.shortened(resource, until);
        }
        if let Some(journeys) = &mut self.journeys {
            journeys.shortened(resource, die, command, until);
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

    fn sees_each_copy(&self) -> bool {
        self.timeline.is_some()
    }

    fn power_capped(&mut self, command: u32) {
        if let Some(journeys) = &mut self.journeys {
            journeys.power_capped(command);
        }
    }

    fn admission_delayed(&mut self, from: Time, until: Time, why: AdmissionDelay) {
        if let Some(journeys) = &mut self.journeys {
            journeys.admission_delayed(from, until, why);
        }
    }

    fn serial_copies(&mut self, from: Time, until: Time, cause: Cause) {
        if let Some(journeys) = &mut self.journeys {
            journeys.serial_copies(from, until, cause);
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
        if matches!(step, RequestStep::Ended { .. }) {
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
