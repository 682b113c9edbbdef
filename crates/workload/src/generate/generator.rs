//! The source of a generated workload.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Sectors, Span, Time};

use super::arrivals::{Arrivals, Process};
use super::resolve;
use super::spec::GeneratorSpec;
use super::stream::{CompanionRequests, RemainingLimits, Stream};
use crate::{Arrival, Pacing, Source, SourceError, Think};
use base::fault::Fault;

/// The number of requests that are drawn together.
const AHEAD: usize = 16;

/// A source of generated requests: the same description, capacity and seed yield the same requests on every machine. It
/// allocates no memory after its construction.
#[derive(Clone, Debug)]
pub struct Generator {
    pub(super) streams: Vec<Stream>,
    /// The sum of the streams' weights.
    pub(super) weight: f64,
    pub(super) choice: Rng,
    pub(super) arrivals: Arrivals,
    pub(super) left: RemainingLimits,
    /// The end of the workload, counted from its beginning.
    pub(super) duration: Option<Span>,
    /// The time before the first request.
    pub(super) start: Span,
    pub(super) think: Option<Think>,
    /// The requests that arrive at `now` after the most recent one.
    pub(super) with: CompanionRequests,
    pub(super) now: Time,
    /// Requests of a closed loop that were drawn ahead.
    pub(super) ahead: DrawnRequests,
}

/// Requests that have been drawn ahead.
#[derive(Clone, Debug)]
pub(super) struct DrawnRequests {
    drawn: [Io; AHEAD],
    first: usize,
    end: usize,
}

impl Default for DrawnRequests {
    fn default() -> Self {
        Self { drawn: [Io::FLUSH; AHEAD], first: 0, end: 0 }
    }
}

impl Generator {
    /// Builds the workload for a device of `capacity` sectors; all randomness derives from `seed`.
    ///
    /// # Errors
    /// All faults of the description, as in [`GeneratorSpec::validate`].
    pub fn new(spec: &GeneratorSpec, capacity: Sectors, seed: u64) -> Result<Self, Vec<Fault>> {
        resolve::generator(spec, capacity, seed)
    }

    /// Removes the workload's own limits. Limits of its streams stay.
    #[must_use]
    pub fn endless(mut self) -> Self {
        (self.left, self.duration) = (RemainingLimits::default(), None);
        self
    }

    /// Removes the workload's own limits, as [`Generator::endless`] does, and ends with the last request that arrives
    /// within simulated time.
    #[must_use]
    pub fn for_all_time(self) -> Self {
        // Closed loops have no times of arrival.
        let duration = (self.pacing() == Pacing::Open).then_some(Span::MAX);
        Self { duration, ..self.endless() }
    }

    /// Raises the workload's own number of requests to `requests`, if it is smaller. Its other limits stay, and so do
    /// those of its streams.
    #[must_use]
    pub fn up_to(mut self, requests: u64) -> Self {
        self.left.requests = self.left.requests.map(|own| own.max(requests));
        self
    }

    #[inline]
    fn choose(&mut self) -> Option<usize> {
        if self.streams.len() <= 1 {
            return (!self.streams.is_empty()).then_some(0);
        }
        let mut x = self.choice.unit() * self.weight;
        let at = self.streams.iter().position(|stream| {
            x -= stream.weight;
            x < 0.0
        });
        Some(at.unwrap_or(self.streams.len() - 1))
    }

    #[inline]
    fn emit(&mut self, io: Io) -> Arrival {
        self.left.requests = self.left.requests.map(|n| n - 1);
        if io.kind != IoKind::Flush {
            self.left.sectors = self.left.sectors.map(|n| n.saturating_sub(io.sectors.get()));
        }
        Arrival::new(self.now, io)
    }
}

impl Generator {
    /// Draws the next request.
    #[inline]
    fn draw(&mut self) -> Result<Option<Arrival>, SourceError> {
        if self.left.requests == Some(0) {
            return Ok(None);
        }
        if let Some(io) = self.with[0].take() {
            self.with.swap(0, 1);
            return Ok(Some(self.emit(io)));
        }
        if self.left.is_over() {
            return Ok(None);
        }
        let Some(chosen) = self.choose() else { return Ok(None) };
        let Some(now) = self.arrivals.next().and_then(|at| later(at, self.start)) else {
            if self.duration.is_some() {
                // The workload ends with simulated time.
                self.left.requests = Some(0);
                return Ok(None);
            }
            return Err(SourceError::new(
                "requests arrive after the end of simulated time (213 days)",
                "raise the rate or lower `requests` or `total`, or give a `duration`",
            ));
        };
        self.now = now;
        if self.duration.is_some_and(|end| self.now - Time::ZERO >= end) {
            self.left.requests = Some(0);
            return Ok(None);
        }
        let stream = &mut self.streams[chosen];
        let io = stream.draw(&mut self.with);
        if stream.left.is_over() {
            self.weight -= self.streams.remove(chosen).weight;
        }
        Ok(Some(self.emit(io)))
    }

    /// Draws requests of a closed loop that differ only in their addresses, if no limit ends among them. Returns their
    /// number; zero if there are none.
    fn draw_alike(&mut self) -> usize {
        let [stream] = &mut self.streams[..] else { return 0 };
        let Some(alike) = stream.alike() else { return 0 };
        let free = |left: &RemainingLimits| left.exceeds(AHEAD as u64, alike.sectors.get());
        if self.with[0].is_some() || self.duration.is_some() || !free(&self.left) || !free(&stream.left) {
            return 0;
        }
        stream.addresses.draw_each(alike, &mut self.ahead.drawn);
        for left in [&mut self.left, &mut stream.left] {
            left.take_several(AHEAD as u64, alike.sectors.get());
        }
        AHEAD
    }

    /// The number of requests left to draw, if known.
    fn left_to_draw(&self) -> Option<u64> {
        if self.duration.is_some() {
            return None;
        }
        match &self.streams[..] {
            [] => Some(self.with.iter().flatten().count() as u64),
            [stream] if stream.only_size().is_some() => {
                let size = stream.only_size()?;
                let of = |left: &RemainingLimits| [left.requests, left.sectors.map(|n| n.div_ceil(size))];
                of(&self.left).into_iter().chain(of(&stream.left)).flatten().min()
            }
            streams => {
                let free = streams.iter().all(|s| s.left.requests.is_none() && s.left.sectors.is_none());
                if free && self.left.sectors.is_none() { self.left.requests } else { None }
            }
        }
    }
}

/// Adds `start` to `at`; `None` if the sum is after the end of simulated time.
fn later(at: Time, start: Span) -> Option<Time> {
    at.as_ps().checked_add(start.as_ps()).map(Time::from_ps)
}

impl Source for Generator {
    #[inline]
    fn next(&mut self) -> Result<Option<Arrival>, SourceError> {
        let DrawnRequests { drawn, first, end } = &mut self.ahead;
        if first < end {
            *first += 1;
            return Ok(Some(Arrival::new(Time::ZERO, drawn[*first - 1])));
        }
        self.draw()
    }

    fn ahead(&mut self) -> &[Io] {
        // Only closed loops draw ahead, because times of arrival may come to an end.
        if self.ahead.first == self.ahead.end && matches!(self.arrivals.process(), Process::Closed { .. }) {
            (self.ahead.first, self.ahead.end) = (0, self.draw_alike());
            while self.ahead.end < AHEAD
                && let Ok(Some(next)) = self.draw()
            {
                self.ahead.drawn[self.ahead.end] = next.io;
                self.ahead.end += 1;
            }
        }
        &self.ahead.drawn[self.ahead.first..self.ahead.end]
    }

    fn pass(&mut self, requests: usize) {
        let DrawnRequests { first, end, .. } = &mut self.ahead;
        assert!(requests <= *end - *first, "{requests} requests are passed, of {} drawn ahead", *end - *first);
        *first += requests;
    }

    fn pacing(&self) -> Pacing {
        match self.arrivals.process() {
            Process::Closed { depth } => Pacing::Closed { depth },
            _ => Pacing::Open,
        }
    }

    fn duration(&self) -> Option<Span> {
        self.duration
    }

    fn start(&self) -> Span {
        self.start
    }

    fn think(&self) -> Option<Think> {
        self.think
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.left_to_draw()? + (self.ahead.end - self.ahead.first) as u64)
    }
}
