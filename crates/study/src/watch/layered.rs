//! The requests of a layer over drives: the parts of their time, combined from the parts of the requests that the layer
//! made to its drives.
//!
//! A request of a layer waits for requests to drives one after another; among those under way at the same time, for the
//! last to end. Its parts are those of these requests, and the gaps between them. The parts add up to its latency
//! exactly.

use std::collections::BTreeMap;
use std::marker::PhantomData;

use base::io::Io;
use base::units::{Energy, Sectors, Span, Time};
use flash::backend::Cause;
use flash::nand::Sector;
use ssd::{Completion, Counters, Drive, Layer, LayerRequest, LayerStep, Request, Ssd};

use super::Watch;
use super::explain::KindBands;
use super::journey::{Journey, JourneyPart, Leg};
use crate::inspect::Inspect;

#[derive(Debug)]
struct EndedRequest {
    drive: u32,
    journey: Journey,
    legs: Vec<Leg>,
}

/// A layer with an optional observer of its requests.
#[derive(Debug)]
pub struct ObservedLayer<S, L> {
    layer: L,
    watch: Option<Watch>,
    /// Requests to drives that have ended, by the upper half of their tags, which is the number of the layer's request.
    ended: BTreeMap<u32, Vec<EndedRequest>>,
    sector: PhantomData<S>,
}

impl<S: Sector, L: Layer<S>> ObservedLayer<S, L> {
    /// Creates the observer for a drive of an observed layer.
    #[must_use]
    pub fn member() -> Watch {
        Watch::of_member()
    }

    /// Wraps a layer. If there is an observer, each drive must be observed by a [`ObservedLayer::member`].
    pub fn new(mut layer: L, watch: Option<Watch>) -> Self {
        if watch.is_some() {
            layer.notes().keep();
        }
        Self { layer, watch, ended: BTreeMap::new(), sector: PhantomData }
    }

    fn members(&mut self) -> impl Iterator<Item = &mut Watch> {
        self.layer.drives_mut().iter_mut().filter_map(Ssd::observer_mut::<Watch>)
    }

    /// Computes the parts of the requests that have ended.
    fn compose(&mut self) {
        let Some(watch) = self.watch.as_mut().and_then(|watch| watch.journeys.as_mut()) else { return };
        for (drive, of) in (0..).zip(self.layer.drives_mut()) {
            let member = of.observer_mut::<Watch>().and_then(|watch| watch.journeys.as_mut());
            for (journey, legs) in member.map(|journeys| journeys.take()).unwrap_or_default() {
                let number = (journey.tag >> u32::BITS) as u32;
                self.ended.entry(number).or_default().push(EndedRequest { drive, journey, legs });
            }
        }
        let drives = self.layer.drives_mut().len();
        for request in self.layer.notes().take() {
            let ended = self.ended.entry(request.number).or_default();
            if !request.is_own {
                let (journey, legs, waits) = compose(&request, ended, drives);
                watch.add(journey, &legs, request.succeeded, if drives > 1 { &waits } else { &[] });
            }
            // The number may have been reused since, so later requests to drives are kept.
            ended.retain(|ended| ended.journey.end > request.end);
            if ended.is_empty() {
                self.ended.remove(&request.number);
            }
        }
        // Flushes of a journal belong to no request; their number is 0.
        self.ended.remove(&0);
    }
}

/// The parts of a request, its legs, and the time for which it waited for each drive.
fn compose(request: &LayerRequest, ended: &[EndedRequest], drives: usize) -> (Journey, Vec<Leg>, Vec<Span>) {
    let LayerRequest { tag, io, arrival, start, end, .. } = *request;
    let mut journey = Journey {
        tag,
        io,
        arrival,
        end,
        parts: [Span::ZERO; JourneyPart::COUNT],
        behind: [Span::ZERO; Cause::COUNT],
        ahead: [Span::ZERO; JourneyPart::COUNT],
        meanwhile: [Span::ZERO; Cause::COUNT],
    };
    let (mut legs, mut waits, mut now) = (Vec::new(), vec![Span::ZERO; drives], start);
    let fill = |legs: &mut Vec<Leg>, from: Time, until: Time, part: JourneyPart, drive: Option<u32>| {
        if from < until {
            legs.push(Leg { part, from, until, at: None, drive });
        }
    };
    fill(&mut legs, arrival, start, JourneyPart::Overlap, None);
    for step in &request.steps {
        let LayerStep { from, until, drive, is_journal, .. } = *step;
        fill(&mut legs, now, from, JourneyPart::Layer, None);
        waits[drive as usize] += until - from;
        let named = (drives > 1).then_some(drive);
        let of_step = ended.iter().find(|ended| {
            ended.drive == drive
                && ended.journey.tag == step.tag
                && (ended.journey.arrival, ended.journey.end) == (from, until)
        });
        match of_step {
            _ if is_journal => fill(&mut legs, from, until, JourneyPart::Journal, named),
            None => fill(&mut legs, from, until, JourneyPart::Layer, named),
            Some(of) => {
                legs.extend(of.legs.iter().map(|leg| Leg { drive: named, ..*leg }));
                add(&mut journey.behind, &of.journey.behind);
                add(&mut journey.ahead, &of.journey.ahead);
                add(&mut journey.meanwhile, &of.journey.meanwhile);
            }
        }
        now = until;
    }
    fill(&mut legs, now, end, JourneyPart::Layer, None);
    legs.iter().for_each(|leg| journey.parts[leg.part as usize] += leg.until - leg.from);
    (journey, legs, waits)
}

fn add<const N: usize>(sum: &mut [Span; N], more: &[Span; N]) {
    sum.iter_mut().zip(more).for_each(|(sum, span)| *sum += *span);
}

impl<S: Sector, L: Layer<S>> Drive<S> for ObservedLayer<S, L> {
    fn capacity(&self) -> Sectors {
        self.layer.capacity()
    }

    fn discard_granularity(&self) -> Sectors {
        self.layer.discard_granularity()
    }

    fn queues(&self) -> usize {
        self.layer.queues()
    }

    fn submit(&mut self, now: Time, request: Request<S>) {
        self.layer.submit(now, request);
    }

    fn announce(&mut self, coming: &[Io]) {
        self.layer.announce(coming);
    }

    fn next_event(&self) -> Option<Time> {
        self.layer.next_event()
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion<S>>) -> Time {
        let now = self.layer.advance(to, completions);
        self.compose();
        now
    }

    fn events(&self) -> u64 {
        self.layer.events()
    }

    fn counters(&self) -> Counters {
        self.layer.counters()
    }
}

impl<S: Sector, L: Layer<S> + Inspect> Inspect for ObservedLayer<S, L> {
    fn begin(&mut self, at: Time) {
        self.members().for_each(|watch| watch.begin(at));
        self.watch.iter_mut().for_each(|watch| watch.begin(at));
        self.ended.clear();
    }

    fn end_warm_up(&mut self, at: Time) {
        self.watch.iter_mut().for_each(|watch| watch.end_warm_up(at));
    }

    fn take_watch(&mut self) -> Option<Watch> {
        self.watch.take()
    }

    fn explained(&mut self) -> Vec<KindBands> {
        self.watch.as_mut().map_or_else(Vec::new, Watch::explained)
    }

    fn check(&self) {
        self.layer.check();
    }

    fn erase_counts(&self) -> Vec<u32> {
        self.layer.erase_counts()
    }

    fn bad_blocks(&self) -> u64 {
        self.layer.bad_blocks()
    }

    fn slc_erase_counts(&self) -> Vec<u32> {
        self.layer.slc_erase_counts()
    }

    fn geometry(&self) -> Option<flash::nand::Geometry> {
        self.layer.geometry()
    }

    fn power_draw(&self) -> Option<ssd::PowerDraw> {
        self.layer.power_draw()
    }

    fn mount_time(&self) -> Option<Span> {
        self.layer.mount_time()
    }

    fn energy(&self, counted: &Counters) -> Vec<(String, Energy)> {
        self.layer.energy(counted)
    }
}

#[cfg(test)]
mod tests;
