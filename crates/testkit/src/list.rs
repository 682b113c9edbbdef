//! A workload from a list of requests.

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Time};
use workload::{Arrival, Pacing, Source, SourceError};

/// A workload that yields the given arrivals, then an error or the end.
#[derive(Clone, Debug)]
pub struct List {
    arrivals: std::vec::IntoIter<Arrival>,
    pacing: Pacing,
    error: Option<SourceError>,
}

impl List {
    /// Creates a workload of these arrivals.
    #[must_use]
    pub fn new(arrivals: Vec<Arrival>, pacing: Pacing) -> Self {
        Self { arrivals: arrivals.into_iter(), pacing, error: None }
    }

    /// Creates `count` consecutive requests of `sectors` sectors, cycling through `kinds`, with an arrival every
    /// `gap_ps` picoseconds.
    #[must_use]
    pub fn cycle(kinds: &[IoKind], count: u64, sectors: u64, within: u64, gap_ps: u64, pacing: Pacing) -> Self {
        let arrival = |i: u64| {
            let kind = kinds[i as usize % kinds.len()];
            let start = Lba::new(i * sectors % within);
            let io = if kind == IoKind::Flush { Io::FLUSH } else { Io::new(kind, start, Sectors::new(sectors)) };
            Arrival::new(Time::from_ps(i * gap_ps), io)
        };
        Self::new((0..count).map(arrival).collect(), pacing)
    }

    /// Makes the workload fail with `error` after the last arrival.
    #[must_use]
    pub fn then(mut self, error: SourceError) -> Self {
        self.error = Some(error);
        self
    }
}

impl Source for List {
    fn next(&mut self) -> Result<Option<Arrival>, SourceError> {
        match (self.arrivals.next(), &self.error) {
            (None, Some(error)) => Err(error.clone()),
            (arrival, _) => Ok(arrival),
        }
    }

    fn pacing(&self) -> Pacing {
        self.pacing
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.arrivals.len() as u64)
    }
}
