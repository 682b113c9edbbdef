//! The flat array: the content that each sector must have.
//!
//! The stamps of one write follow each other. So a mapping unit that one write filled takes one word, its first stamp,
//! and the comparison of a read touches few cache lines. A mapping unit with sectors of several writes takes a word for
//! each sector. Nothing is computed or stored for a mapping unit that no request has touched: the history of
//! preconditioning determines it.

use base::io::Io;
use base::prefetch::prefetch;
use base::units::{Lba, Sectors};
use flash::nand::Stamp;
use ssd::History;

/// Unknown content: written before the run, or by a write that failed. The first read of such a sector determines its
/// content; later reads must return the same.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// No request has touched the mapping unit.
const UNTOUCHED: u64 = 0;
/// Its sectors are stored one by one.
const SINGLE: u64 = 1;
/// All its sectors read as zeros. Any other word is the stamp of the first sector; those of writes are larger.
const ZEROS: u64 = 2;

/// Sectors of one chunk of the array, if mapping units divide it.
const CHUNK: u64 = 4096;

/// The content of the sectors of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// The stamps of a write, of which this is the first.
    Stamps(u64),
    /// Zeros.
    Zeros,
    /// Unknown.
    Unknown,
}

impl Content {
    /// The content of a sector by its offset in the request.
    const fn at(self, offset: u64) -> u64 {
        match self {
            Self::Stamps(first) => first + offset,
            Self::Zeros => 0,
            Self::Unknown => UNKNOWN,
        }
    }

    /// The word of a whole mapping unit that begins at this offset in the request.
    const fn word(self, offset: u64) -> u64 {
        match self {
            Self::Zeros => ZEROS,
            Self::Stamps(_) | Self::Unknown => self.at(offset),
        }
    }
}

#[derive(Clone, Debug)]
struct Chunk {
    /// A word for each mapping unit: its first stamp, or one of the constants.
    units: Box<[u64]>,
    /// The sectors of mapping units that are stored one by one; empty while there are none.
    sectors: Box<[u64]>,
}

/// The sectors of one mapping unit that a request covers.
#[derive(Clone, Copy, Debug)]
struct Piece {
    unit: u64,
    /// The first sector and the one behind the last, counted in the mapping unit.
    from: u64,
    until: u64,
    /// The offset of the first sector in the request.
    offset: u64,
}

/// The array.
#[derive(Clone, Debug)]
pub(super) struct Array {
    // Sparse, because runs rarely write all of a device of terabytes.
    chunks: Vec<Option<Chunk>>,
    /// Sectors of a mapping unit.
    unit: u64,
    /// Mapping units of a chunk, as a power of two.
    shift: u32,
    /// The content of all sectors that nothing has touched, without a history.
    untouched: u64,
    history: Option<History>,
}

impl Array {
    /// An array with mapping units of `unit` sectors, in which every sector holds `untouched`: zeros or [`UNKNOWN`].
    pub(super) fn new(unit: Sectors, untouched: u64) -> Self {
        let shift = (CHUNK / unit.get()).max(1).ilog2();
        Self { chunks: Vec::new(), unit: unit.get(), shift, untouched, history: None }
    }

    /// Bytes of an array after every sector of this capacity has been touched, most of them one by one.
    pub(super) fn memory(capacity: Sectors, unit: Sectors) -> u64 {
        let units = 1 << Self::new(unit, 0).shift;
        let chunks = capacity.get().div_ceil(unit.get()).div_ceil(units);
        let words = units * (1 + unit.get());
        // Each chunk has an entry in a list that may have been doubled just before.
        chunks * (words * size_of::<u64>() as u64 + 2 * size_of::<Option<Chunk>>() as u64)
    }

    /// The sectors that nothing has touched yet hold what this history says.
    pub(super) fn begin(&mut self, history: Option<History>) {
        self.history = history;
    }

    fn pieces(&self, io: &Io) -> impl Iterator<Item = Piece> + use<> {
        let (start, end, unit) = (io.start.get(), io.end().get(), self.unit);
        (start / unit..end.div_ceil(unit)).map(move |number| {
            let base = number * unit;
            let from = start.max(base);
            Piece { unit: number, from: from - base, until: end.min(base + unit) - base, offset: from - start }
        })
    }

    fn chunk(&mut self, unit: u64) -> &mut Chunk {
        let (place, units) = ((unit >> self.shift) as usize, 1 << self.shift);
        if self.chunks.len() <= place {
            self.chunks.resize(place + 1, None);
        }
        // Zeroed memory that nothing touches costs nothing.
        self.chunks[place].get_or_insert_with(|| Chunk { units: vec![0; units].into(), sectors: Box::default() })
    }

    const fn place(&self, unit: u64) -> usize {
        (unit & ((1 << self.shift) - 1)) as usize
    }

    /// The word of a mapping unit, which is touched now.
    #[inline]
    fn word(&mut self, unit: u64) -> u64 {
        match self.chunks.get((unit >> self.shift) as usize) {
            Some(Some(chunk)) if chunk.units[self.place(unit)] != UNTOUCHED => chunk.units[self.place(unit)],
            _ => self.touch(unit),
        }
    }

    /// Stores what an untouched mapping unit holds.
    #[inline(never)]
    fn touch(&mut self, unit: u64) -> u64 {
        let (word, place) = (self.derived(unit), self.place(unit));
        self.chunk(unit).units[place] = word;
        if word == SINGLE {
            let first = unit * self.unit;
            for sector in 0..self.unit {
                let held = self.history.as_ref().map_or(self.untouched, |history| held(history, first + sector));
                self.singles(unit)[sector as usize] = held;
            }
        }
        word
    }

    /// The sectors of a request will be looked at: prefetches the words of the first and the last mapping unit.
    #[inline]
    pub(super) fn fetch(&self, io: &Io) {
        let first = io.start.get() / self.unit;
        // A flush has no sectors.
        let last = (io.end().get().saturating_sub(1) / self.unit).max(first);
        if let Some(Some(chunk)) = self.chunks.get((first >> self.shift) as usize) {
            let place = self.place(first);
            prefetch(chunk.units.get(place));
            prefetch(chunk.units.get(place + (last - first) as usize));
        }
    }

    /// The word of a mapping unit that no request has touched.
    fn derived(&self, unit: u64) -> u64 {
        let first = match &self.history {
            None => self.untouched,
            Some(history) if history.unit().get() == self.unit => held(history, unit * self.unit),
            Some(_) => return SINGLE,
        };
        if first == 0 { ZEROS } else { first }
    }

    /// The sectors of a mapping unit that are stored one by one.
    fn singles(&mut self, unit: u64) -> &mut [u64] {
        let (place, sectors) = (self.place(unit), self.unit as usize);
        let all = sectors << self.shift;
        let chunk = self.chunk(unit);
        if chunk.sectors.is_empty() {
            chunk.sectors = vec![0; all].into();
        }
        &mut chunk.sectors[place * sectors..][..sectors]
    }

    /// Stores the sectors of a mapping unit one by one.
    fn split(&mut self, unit: u64) -> &mut [u64] {
        let (word, place) = (self.word(unit), self.place(unit));
        if word != SINGLE {
            for sector in 0..self.unit {
                self.singles(unit)[sector as usize] = of_word(word, sector);
            }
            self.chunk(unit).units[place] = SINGLE;
        }
        self.singles(unit)
    }

    /// The content of a sector.
    pub(super) fn get(&mut self, sector: u64) -> u64 {
        let (unit, offset) = (sector / self.unit, sector % self.unit);
        match self.word(unit) {
            SINGLE => self.singles(unit)[offset as usize],
            word => of_word(word, offset),
        }
    }

    /// Changes the content of a sector.
    pub(super) fn put(&mut self, sector: u64, content: u64) {
        let (unit, offset) = (sector / self.unit, sector % self.unit);
        self.split(unit)[offset as usize] = content;
    }

    /// Changes the content of the sectors of a request.
    pub(super) fn set(&mut self, io: &Io, content: Content) {
        for Piece { unit, from, until, offset } in self.pieces(io) {
            if until - from == self.unit {
                let (word, place) = (content.word(offset), self.place(unit));
                self.chunk(unit).units[place] = word;
                continue;
            }
            let sectors = &mut self.split(unit)[from as usize..until as usize];
            (offset..).zip(sectors).for_each(|(offset, sector)| *sector = content.at(offset));
        }
    }

    /// True if every sector of a request has known content, and `data` is that content. `value` is the stamp of a sector.
    pub(super) fn holds<S: Copy>(&mut self, io: &Io, data: &[S], value: impl Fn(S) -> u64 + Copy) -> bool {
        if (data.len() as u64) < io.sectors.get() {
            return false;
        }
        for Piece { unit, from, until, offset } in self.pieces(io) {
            let data = &data[offset as usize..(offset + until - from) as usize];
            // Differences are gathered without an early exit, so that several sectors are compared at once.
            let differ = match self.word(unit) {
                UNKNOWN => return false,
                ZEROS => data.iter().fold(0, |differ, got| differ | value(*got)),
                SINGLE => {
                    let sectors = &self.singles(unit)[from as usize..until as usize];
                    let known = sectors.iter().all(|sector| *sector != UNKNOWN);
                    let differ = sectors.iter().zip(data).fold(0, |differ, (held, got)| differ | (held ^ value(*got)));
                    if known { differ } else { UNKNOWN }
                }
                first => (first + from..).zip(data).fold(0, |differ, (held, got)| differ | (held ^ value(*got))),
            };
            if differ != 0 {
                return false;
            }
        }
        true
    }
}

/// The content of a sector by the word of its mapping unit, which is not [`SINGLE`].
const fn of_word(word: u64, sector: u64) -> u64 {
    match word {
        ZEROS => 0,
        UNKNOWN => UNKNOWN,
        first => first + sector,
    }
}

/// The content that preconditioning left in a sector.
fn held(history: &History, sector: u64) -> u64 {
    history.content(Lba::new(sector)).map_or(UNKNOWN, |Stamp(stamp)| stamp)
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::engine::Rng;
    use base::io::IoKind;

    /// Compares an array with a list of all sectors, through random requests.
    fn agrees_with_a_list(unit: u64, history: Option<History>, untouched: u64, seed: u64) {
        let mut rng = Rng::stream(seed, "array");
        let sectors = 700;
        let mut array = Array::new(Sectors::new(unit), untouched);
        array.begin(history.clone());
        let first = |sector| history.as_ref().map_or(untouched, |history| held(history, sector));
        let mut list: Vec<u64> = (0..sectors).map(first).collect();
        for step in 0..3000 {
            let place = format!("unit {unit}, seed {seed}, step {step}");
            let start = rng.below(sectors);
            let io = Io {
                kind: IoKind::Write,
                start: Lba::new(start),
                sectors: Sectors::new(1 + rng.below((sectors - start).min(20))),
            };
            let held = &mut list[start as usize..io.end().get() as usize];
            match rng.below(8) {
                0..3 => {
                    let content = match rng.below(8) {
                        0 => Content::Zeros,
                        1 => Content::Unknown,
                        _ => Content::Stamps((step + 1) << 24),
                    };
                    array.set(&io, content);
                    (0..).zip(held).for_each(|(i, sector)| *sector = content.at(i));
                }
                3 => {
                    let stamp = rng.below(3);
                    array.put(start, stamp);
                    held[0] = stamp;
                }
                4 => assert_eq!(array.get(start), held[0], "{place}"),
                5 => {
                    let changed = rng.below(held.len() as u64) as usize;
                    let mut data = held.to_vec();
                    data[changed] ^= 1 << rng.below(64);
                    assert!(!array.holds(&io, &data, |stamp| stamp), "{place}: sector {changed} is another");
                    assert!(!array.holds(&io, &held[1..], |stamp| stamp), "{place}: a sector is missing");
                }
                _ => {
                    let known = held.iter().all(|stamp| *stamp != UNKNOWN);
                    assert_eq!(array.holds(&io, held, |stamp| stamp), known, "{place}");
                }
            }
        }
        assert!((0..sectors).all(|sector| array.get(sector) == list[sector as usize]), "unit {unit}, seed {seed}");
    }

    #[test]
    fn the_array_agrees_with_a_list_of_all_sectors() {
        for (seed, unit) in (1..).zip([1, 2, 3, 8, 16, 64, 5000]) {
            agrees_with_a_list(unit, None, 0, seed);
            agrees_with_a_list(unit, None, UNKNOWN, seed);
            for size in [unit as u32, 4] {
                // Written with several versions, never written, and refused.
                let versions = (0..60).map(|i| if i % 7 == 6 { u32::MAX } else { i % 5 }).collect();
                agrees_with_a_list(unit, Some(History::new(size, versions)), 0, seed);
            }
        }
    }

    #[test]
    fn a_mapping_unit_that_one_write_filled_takes_a_word() {
        let mut array = Array::new(Sectors::new(8), 0);
        let io = |start, sectors| Io { kind: IoKind::Write, start: Lba::new(start), sectors: Sectors::new(sectors) };
        let singles = |array: &Array| array.chunks.iter().flatten().map(|chunk| chunk.sectors.len()).sum::<usize>();
        array.set(&io(8, 24), Content::Stamps(1 << 24));
        array.set(&io(0, 8), Content::Zeros);
        assert_eq!((singles(&array), array.get(17), array.get(3)), (0, 1 << 24 | 9, 0));
        array.set(&io(4, 8), Content::Stamps(2 << 24));
        assert_eq!((singles(&array), array.get(11), array.get(12)), (4096, 2 << 24 | 7, 1 << 24 | 4));
        let most = Array::memory(Sectors::new(4096), Sectors::new(8));
        assert_eq!(most, 8 * (4096 + 512) + 2 * size_of::<Option<Chunk>>() as u64);
    }
}
