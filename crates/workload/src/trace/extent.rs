//! Rules for addresses beyond the capacity.

use std::collections::HashMap;

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors};

use super::record::TraceStats;

/// The rule for requests that do not fit the device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ExtentRule {
    /// A request beyond the capacity is an error.
    #[default]
    Error,
    /// The first sector is taken modulo the capacity; a request that then crosses the end moves down to end there. Both
    /// are counted. A request longer than the device is an error.
    Wrap,
    /// Aligned chunks of 1 MiB get consecutive places in the order of their first use (by any kind of request), and
    /// each volume has its own chunks. Neighbours within a chunk stay neighbours, and unused chunks take no space. A
    /// request over chunks with separate places is issued in pieces, which are counted. Memory grows with the footprint
    /// (some 30 bytes per chunk), not with the length. An error occurs only if the used chunks exceed the capacity.
    Compact,
}

impl ExtentRule {
    /// All rules, in the order of help texts.
    pub const ALL: [Self; 3] = [Self::Error, Self::Wrap, Self::Compact];

    /// The name by which a user selects the rule.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Wrap => "wrap",
            Self::Compact => "compact",
        }
    }
}

/// The number of sectors of a chunk, which is placed as a whole.
pub(crate) const CHUNK: u64 = 2048;

/// Places extents on the device by a rule.
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
        if matches!(io.kind, IoKind::Flush | IoKind::HandleUpdate) {
            return Ok((io, Sectors::new(0)));
        }
        if io.kind.is_zone_management() {
            let is_beyond = self.capacity.is_some_and(|capacity| io.start.get() >= capacity);
            return if is_beyond { Err(Misfit::Beyond) } else { Ok((io, Sectors::new(0))) };
        }
        let (start, sectors) = (io.start.get(), io.sectors.get());
        let whole = |start: u64| Ok((Io { start: Lba::new(start), ..io }, Sectors::new(0)));
        match (self.rule, self.capacity) {
            (ExtentRule::Compact, _) => {
                let (at, length) = self.compact(volume, start, sectors)?;
                let piece = Io { start: Lba::new(at), sectors: Sectors::new(length), ..io };
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
        Io::new(IoKind::Write, Lba::new(start), Sectors::new(sectors))
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

    /// The place of every sector, one by one: chunks get places in the order of their first use.
    fn naive(places: &mut Vec<(u32, u64)>, volume: u32, sector: u64) -> u64 {
        let chunk = (volume, sector / CHUNK);
        let place = places.iter().position(|known| *known == chunk).unwrap_or_else(|| {
            places.push(chunk);
            places.len() - 1
        });
        place as u64 * CHUNK + sector % CHUNK
    }

    #[test]
    fn extents_at_every_boundary_are_those_of_the_rules() {
        for capacity in 1..12_u64 {
            for (start, sectors) in (0..40).flat_map(|start| (1..14).map(move |sectors| (start, sectors))) {
                let place = |rule| {
                    Placer::new(rule, Some(Sectors::new(capacity))).place(
                        0,
                        io(start, sectors),
                        &mut TraceStats::default(),
                    )
                };
                let fits = (start..start + sectors).all(|sector| sector < capacity);
                let error = if fits { Ok(io(start, sectors)) } else { Err(Misfit::Beyond) };
                assert_eq!(place(ExtentRule::Error).map(|(io, _)| io), error, "{start}+{sectors} of {capacity}");
                // The last place at or before the wrapped start from which all sectors fit.
                let wrapped = (0..=start % capacity).rev().find(|at| at + sectors <= capacity);
                let wrap = if fits { Some(start) } else { wrapped }.map(|at| io(at, sectors)).ok_or(Misfit::TooLong);
                assert_eq!(place(ExtentRule::Wrap).map(|(io, _)| io), wrap, "{start}+{sectors} of {capacity}");
            }
        }
    }

    #[test]
    fn a_compacted_piece_may_end_at_the_capacity_and_not_behind_it() {
        for capacity in [1, 5, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 2 * CHUNK + 7] {
            for sectors in [1, 2, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK] {
                for offset in [0, 1, CHUNK - 2, CHUNK - 1] {
                    for end in [capacity.saturating_sub(1), capacity, capacity + 1] {
                        // Chunks are used from the first on, so that the place equals the address.
                        let Some(start) = end.checked_sub(sectors).filter(|start| start % CHUNK == offset) else {
                            continue;
                        };
                        let mut placer = Placer::new(ExtentRule::Compact, Some(Sectors::new(capacity)));
                        for chunk in 0..start / CHUNK {
                            placer.chunk(0, chunk);
                        }
                        let found = placer.place(0, io(start, sectors), &mut TraceStats::default()).map(|(io, _)| io);
                        let wanted = match (sectors > capacity, end > capacity) {
                            (true, _) => Err(Misfit::TooLong),
                            (_, true) => Err(Misfit::Full),
                            _ => Ok(io(start, sectors)),
                        };
                        assert_eq!(found, wanted, "{start}+{sectors} of {capacity}");
                    }
                }
            }
        }
    }

    proptest! {
        #[test]
        fn compaction_is_that_of_each_sector_alone(
            requests in prop::collection::vec((0_u32..2, 0_u64..6, -3_i64..4, 1_u64..5, -3_i64..4), 1..12),
            (chunks, rest) in (1_u64..9, -3_i64..4),
        ) {
            let capacity = (chunks * CHUNK).saturating_add_signed(rest);
            let mut placer = Placer::new(ExtentRule::Compact, Some(Sectors::new(capacity)));
            let mut places = Vec::new();
            'trace: for (volume, chunk, before, length, more) in requests {
                let start = (chunk * CHUNK).saturating_add_signed(before);
                let sectors = (length * CHUNK / 2).saturating_add_signed(more);
                let mut next = start;
                while next < start + sectors {
                    let rest = start + sectors - next;
                    let placed = placer.place(volume, io(next, rest), &mut TraceStats::default());
                    if rest > capacity {
                        prop_assert_eq!(placed, Err(Misfit::TooLong));
                        break 'trace;
                    }
                    let first = naive(&mut places, volume, next);
                    let in_a_row = |sector: &u64| naive(&mut places, volume, *sector) == first + (sector - next);
                    let piece = (next..start + sectors).take_while(in_a_row).count() as u64;
                    if first + piece > capacity {
                        prop_assert_eq!(placed, Err(Misfit::Full));
                        break 'trace;
                    }
                    prop_assert_eq!(placed, Ok((io(first, piece), Sectors::new(rest - piece))));
                    next += piece;
                }
            }
        }

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
