//! Gives placement identifiers to the writes of a source that has none, such as a trace without a column for them.

use base::io::{Io, IoKind, PlacementId};
use base::units::Span;

use crate::{Arrival, Pacing, Source, SourceError, Think};

/// The most requests that are shown ahead, because each is copied.
const AHEAD: usize = 64;

/// A source whose writes have a placement identifier, unless they have one of their own above 0.
pub struct PlacementSource<'a> {
    source: Box<dyn Source + 'a>,
    placement: PlacementId,
    ahead: Vec<Io>,
}

impl<'a> PlacementSource<'a> {
    /// Gives the writes of `source` this identifier.
    #[must_use]
    pub const fn new(source: Box<dyn Source + 'a>, placement: PlacementId) -> Self {
        Self { source, placement, ahead: Vec::new() }
    }
}

/// Returns the request with the identifier, if it is a write without one.
fn placed(io: Io, placement: PlacementId) -> Io {
    let is_bare = io.kind == IoKind::Write && io.placement == PlacementId::default();
    if is_bare { Io { placement, ..io } } else { io }
}

impl Source for PlacementSource<'_> {
    fn next(&mut self) -> Result<Option<Arrival>, SourceError> {
        let next = self.source.next()?;
        Ok(next.map(|next| Arrival { io: placed(next.io, self.placement), ..next }))
    }

    fn ahead(&mut self) -> &[Io] {
        self.ahead.clear();
        let ahead = self.source.ahead().iter().take(AHEAD);
        self.ahead.extend(ahead.map(|io| placed(*io, self.placement)));
        &self.ahead
    }

    fn pass(&mut self, requests: usize) {
        self.source.pass(requests);
    }

    fn pacing(&self) -> Pacing {
        self.source.pacing()
    }

    fn len_hint(&self) -> Option<u64> {
        self.source.len_hint()
    }

    fn fault(&self, message: String, remedy: String) -> SourceError {
        self.source.fault(message, remedy)
    }

    fn notes(&self) -> Vec<String> {
        self.source.notes()
    }

    fn duration(&self) -> Option<Span> {
        self.source.duration()
    }

    fn start(&self) -> Span {
        self.source.start()
    }

    fn think(&self) -> Option<Think> {
        self.source.think()
    }
}

#[cfg(test)]
mod tests {
    use base::units::Sectors;

    use super::*;
    use crate::generate::{Generator, GeneratorSpec};

    const TEXT: &str = r#"name = "t"
requests = 1000
arrivals = { kind = "closed", depth = 1 }
[[stream]]
reads = "50%"
sizes = [{ size = "4KiB" }]
address = { pattern = "uniform" }
[[stream]]
reads = "0%"
sizes = [{ size = "4KiB" }]
address = { pattern = "uniform" }
placement-id = 7
"#;

    fn source() -> PlacementSource<'static> {
        let spec = GeneratorSpec::from_toml(TEXT).expect("TOML");
        let generator = Generator::new(&spec, Sectors::new(1 << 20), 3).expect("sound");
        PlacementSource::new(Box::new(generator), PlacementId::new(2))
    }

    #[test]
    fn writes_without_an_identifier_carry_that_of_the_source() {
        let mut source = source();
        let mut counts = [0; 3];
        while let Some(Arrival { io, .. }) = source.next().expect("no file") {
            counts[match (io.kind, io.placement.get()) {
                (IoKind::Read, 0) => 0,
                (IoKind::Write, 2) => 1,
                (IoKind::Write, 7) => 2,
                other => panic!("{other:?}"),
            }] += 1;
        }
        assert!(counts.iter().all(|count| *count > 200), "{counts:?}");
    }

    #[test]
    fn requests_shown_ahead_are_the_next() {
        let (mut one, mut other) = (source(), source());
        let mut drawn = 0;
        loop {
            let ahead = one.ahead().to_vec();
            if ahead.is_empty() {
                break;
            }
            one.pass(ahead.len());
            for io in &ahead {
                assert_eq!(other.next().expect("no file").map(|next| next.io), Some(*io));
            }
            drawn += ahead.len();
        }
        assert_eq!((drawn, other.next()), (1000, Ok(None)));
    }
}
