//! Rules for addresses beyond the capacity.

use std::collections::HashMap;

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors};

use super::record::TraceStats;

/// The rule for requests that do not fit the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ExtentRule {
    /// An error.
    #[default]
    Error,
    /// The first sector is taken modulo the capacity; a request that then crosses the end moves down to end there. Both
    /// are counted. A request longer than the device is an error.
    Wrap,
    /// Aligned chunks of 1 MiB get consecutive places in the order of their first use (by any kind of request), and
    /// each volume has its own chunks: neighbours stay neighbours, and unused chunks take no space. A request over
    /// chunks with separate places is issued in pieces, which are counted. Memory grows with the footprint (some 30
    /// bytes per chunk), not with the length. It is an error only if the chunks used exceed the capacity.
    Compact,
}

impl ExtentRule {
    /// All rules.
    pub const ALL: [Self; 3] = [Self::Error, Self::Wrap, Self::Compact];

    /// The name by which a user selects it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Wrap => "wrap",
            Self::Compact => "compact",
        }
    }
}

/// Sectors of a chunk, which is placed as a whole.
pub(crate) const CHUNK: u64 = 2048;

/// Places extents by a rule.
pub(crate) struct Placer {
    rule: ExtentRule,
    capacity: Option<u64>,
    places: HashMap<(u32, u64), u64>,
    last: Option<((u32, u64), u64)>,
}

/// The reason that an extent has no place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// The extent ends beyond the capacity.
    Beyond,
    /// The extent is longer than the device.
    TooLong,
    /// The chunks used so far fill the device.
    Full,
}

impl Placer {
    pub(crate) fn new(rule: ExtentRule, capacity: Option<Sectors>) -> Self {
        Self { rule, capacity: capacity.map(Sectors::get), places: HashMap::new(), last: None }
    }

    pub(crate) fn keeps_volumes_apart(&self) -> bool {
        self.rule == ExtentRule::Compact
    }

    /// The first piece of `io`, placed, and the number of its remaining sectors.
    #[inline]
    pub(crate) fn place(&mut self, volume: u32, io: Io, stats: &mut TraceStats) -> Result<(Io, Sectors), Misfit> {
        if io.kind == IoKind::Flush {
            return Ok((io, Sectors::new(0)));
        }
        let (start, sectors) = (io.start.get(), io.sectors.get());
        let whole = |start: u64| Ok((Io { start: Lba::new(start), ..io }, Sectors::new(0)));
        match (self.rule, self.capacity) {
            (ExtentRule::Compact, _) => {
                let (at, length) = self.compact(volume, start, sectors)?;
                let piece = Io { kind: io.kind, start: Lba::new(at), sectors: Sectors::new(length) };
                Ok((piece, Sectors::new(sectors - length)))
            }
            (_, None) => whole(start),
            (_, Some(capacity)) if start + sectors <= capacity => whole(start),
            (ExtentRule::Error, Some(_)) => Err(Misfit::Beyond),
            (ExtentRule::Wrap, Some(capacity)) => {
                if sectors > capacity {
                    return Err(Misfit::TooLong);
                }
                stats.wrapped_addresses += 1;
                let wrapped = start % capacity;
                stats.moved_addresses += u64::from(wrapped + sectors > capacity);
                whole(wrapped.min(capacity - sectors))
            }
        }
    }

    /// The start of the longest contiguous piece, and its length.
    fn compact(&mut self, volume: u32, start: u64, sectors: u64) -> Result<(u64, u64), Misfit> {
        // Checked first, so that a damaged size cannot fill the memory with chunks.
        if self.capacity.is_some_and(|capacity| sectors > capacity) {
            return Err(Misfit::TooLong);
        }
        let first = self.chunk(volume, start / CHUNK);
        let mut length = CHUNK - start % CHUNK;
        let mut next = start / CHUNK + 1;
        let mut place = first;
        while length < sectors {
            let following = self.chunk(volume, next);
            if following != place + 1 {
                break;
            }
            place = following;
            next += 1;
            length += CHUNK;
        }
        let length = length.min(sectors);
        let at = first * CHUNK + start % CHUNK;
        match self.capacity {
            Some(capacity) if at + length > capacity => Err(Misfit::Full),
            _ => Ok((at, length)),
        }
    }

    #[inline]
    fn chunk(&mut self, volume: u32, chunk: u64) -> u64 {
        let key = (volume, chunk);
        match self.last {
            Some((last, place)) if last == key => place,
            _ => {
                let fresh = self.places.len() as u64;
                let place = *self.places.entry(key).or_insert(fresh);
                self.last = Some((key, place));
                place
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn io(start: u64, sectors: u64) -> Io {
        Io { kind: IoKind::Write, start: Lba::new(start), sectors: Sectors::new(sectors) }
    }

    fn pieces(placer: &mut Placer, volume: u32, mut io: Io) -> Result<Vec<Io>, Misfit> {
        let mut out = Vec::new();
        loop {
            let (piece, left) = placer.place(volume, io, &mut TraceStats::default())?;
            out.push(piece);
            if left.is_zero() {
                return Ok(out);
            }
            io = Io { start: io.start + piece.sectors, sectors: left, ..io };
        }
    }

    #[test]
    fn a_request_beyond_the_end_is_an_error_by_default() {
        let mut placer = Placer::new(ExtentRule::Error, Some(Sectors::new(100)));
        assert_eq!(pieces(&mut placer, 0, io(92, 8)), Ok(vec![io(92, 8)]));
        assert_eq!(pieces(&mut placer, 0, io(93, 8)), Err(Misfit::Beyond));
        assert_eq!(pieces(&mut placer, 0, Io::FLUSH), Ok(vec![Io::FLUSH]));
    }

    #[test]
    fn wrapped_requests_stay_inside_and_are_counted() {
        let mut placer = Placer::new(ExtentRule::Wrap, Some(Sectors::new(100)));
        let mut stats = TraceStats::default();
        assert_eq!(placer.place(0, io(250, 8), &mut stats).unwrap().0, io(50, 8));
        assert_eq!(placer.place(0, io(298, 8), &mut stats).unwrap().0, io(92, 8));
        assert_eq!(placer.place(0, io(0, 101), &mut stats), Err(Misfit::TooLong));
        assert_eq!((stats.wrapped_addresses, stats.moved_addresses), (2, 1));
    }

    #[test]
    fn compaction_places_chunks_by_first_touch_and_splits_distant_ones() {
        let mut placer = Placer::new(ExtentRule::Compact, Some(Sectors::new(4 * CHUNK)));
        assert_eq!(pieces(&mut placer, 0, io(10 * CHUNK + 5, 8)), Ok(vec![io(5, 8)]));
        assert_eq!(pieces(&mut placer, 1, io(10 * CHUNK + 5, 8)), Ok(vec![io(CHUNK + 5, 8)]));
        let split = pieces(&mut placer, 0, io(11 * CHUNK - 4, 8));
        assert_eq!(split, Ok(vec![io(CHUNK - 4, 4), io(2 * CHUNK, 4)]));
        assert_eq!(pieces(&mut placer, 0, io(12 * CHUNK, 2 * CHUNK)), Err(Misfit::Full));
    }

    proptest! {
        #[test]
        fn compaction_is_injective(
            requests in prop::collection::vec((0_u32..3, 0_u64..40_000, 1_u64..6_000), 1..60)
        ) {
            let mut placer = Placer::new(ExtentRule::Compact, None);
            let mut there = HashMap::new();
            let mut back = HashMap::new();
            for (volume, start, sectors) in requests {
                let mut from = start;
                for piece in pieces(&mut placer, volume, io(start, sectors)).unwrap() {
                    for n in (0..piece.sectors.get()).step_by(97) {
                        let (sector, place) = ((volume, from + n), piece.start.get() + n);
                        prop_assert_eq!(*there.entry(sector).or_insert(place), place);
                        prop_assert_eq!(*back.entry(place).or_insert(sector), sector);
                    }
                    from += piece.sectors.get();
                }
                prop_assert_eq!(from, start + sectors);
            }
        }
    }
}
