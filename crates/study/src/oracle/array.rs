//! The flat array: the content that each sector must have.
//!
//! The sectors of one write have consecutive stamps. So a mapping unit that one write filled takes one word, its first
//! stamp, and the comparison of a read touches few cache lines. A mapping unit with sectors of several writes takes a
//! word for each sector. Nothing is computed or stored for a mapping unit that no request has touched: the history of
//! preconditioning determines it.

use base::io::Io;
use base::prefetch::prefetch;
use base::units::{Divisor, Lba, Sectors};
use flash::nand::Stamp;
use ssd::History;

/// Unknown content: written before the run, or by a write that failed. The first read of such a sector determines its
/// content; later reads must return the same.
pub(super) const UNKNOWN: u64 = u64::MAX;

/// The word of a mapping unit that no request has touched.
const UNTOUCHED: u64 = 0;
/// The word of a mapping unit whose sectors are stored one by one.
const SINGLE: u64 = 1;
/// The word of a mapping unit that reads as zeros. Any other word is the stamp of the first sector; stamps of writes
/// are larger than these constants.
const ZEROS: u64 = 2;

/// An index that no word has.
const NOWHERE: usize = usize::MAX;

/// The number of sectors of one chunk of the array, if mapping units divide it.
const CHUNK: u64 = 1024;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RequestContent {
    /// Consecutive stamps of a write; this is the first.
    Stamps(u64),
    /// Sectors that were never written or that were discarded, which read as zeros.
    Zeros,
    /// Unknown: the next read decides.
    Unknown,
}

impl RequestContent {
    pub(super) const fn at(self, offset: u64) -> u64 {
        match self {
            Self::Stamps(first) => first + offset,
            Self::Zeros => 0,
            Self::Unknown => UNKNOWN,
        }
    }

    /// The word of a whole mapping unit whose first sector has this offset in the request.
    const fn word(self, offset: u64) -> u64 {
        match self {
            Self::Zeros => ZEROS,
            Self::Stamps(_) | Self::Unknown => self.at(offset),
        }
    }
}

/// The sectors of one mapping unit that a request covers.
#[derive(Clone, Copy, Debug)]
struct UnitPiece {
    unit: u64,
    /// The first sector and the one behind the last, counted from the start of the mapping unit.
    from: u64,
    until: u64,
    /// The offset of the first sector in the request.
    offset: u64,
}

/// The flat array of a device's sectors.
#[derive(Clone, Debug)]
pub(super) struct SectorArray {
    /// The number of each chunk among the touched ones, counted from 1; 0 for an untouched chunk. Runs rarely touch all
    /// of a device of terabytes.
    chunks: Vec<u32>,
    /// A word for each mapping unit of touched chunks: its first stamp, or one of the constants.
    words: Vec<u64>,
    /// The sectors of mapping units that are stored one by one, for each touched chunk; empty while it has none.
    sectors: Vec<Box<[u64]>>,
    unit: u64,
    by_unit: Divisor,
    /// The number of mapping units of a chunk, as a power of two.
    shift: u32,
    /// The content of all untouched sectors, if there is no history.
    untouched: u64,
    history: Option<History>,
}

impl SectorArray {
    /// Creates an array with mapping units of `unit` sectors, in which every sector has the content `untouched`: zeros
    /// or [`UNKNOWN`].
    pub(super) fn new(unit: Sectors, untouched: u64) -> Self {
        let shift = (CHUNK / unit.get()).max(1).ilog2();
        let by_unit = Divisor::new(unit.get() as u32);
        let (chunks, words, sectors) = (Vec::new(), Vec::new(), Vec::new());
        Self { chunks, words, sectors, unit: unit.get(), by_unit, shift, untouched, history: None }
    }

    /// The most bytes of an array of this capacity in which `touched` mapping units have been touched, or all if
    /// `None`. Most of their sectors are stored one by one, unless writes are of whole mapping units (`is_whole`). In
    /// the worst case each unit is in a chunk of its own.
    pub(super) fn memory(capacity: Sectors, unit: Sectors, touched: Option<u64>, is_whole: bool) -> u64 {
        let units = 1 << Self::new(unit, 0).shift;
        let all: u64 = capacity.get().div_ceil(unit.get()).div_ceil(units);
        let numbers = all * size_of::<u32>() as u64;
        let chunks = touched.unwrap_or(u64::MAX).min(all);
        let words = units * if is_whole { 1 } else { 1 + unit.get() };
        // Each chunk has entries in lists that may have been doubled just before. Reserved, untouched pages take no
        // memory.
        let entries = size_of::<Box<[u64]>>() + size_of::<u32>();
        numbers + chunks * (words * size_of::<u64>() as u64 + 2 * entries as u64)
    }

    /// Makes a history the source of the content of untouched sectors.
    pub(super) fn begin(&mut self, history: Option<History>) {
        self.history = history;
    }

    fn pieces(&self, io: &Io) -> impl Iterator<Item = UnitPiece> + use<> {
        let (start, end, unit) = (io.start.get(), io.end().get(), self.unit);
        (self.by_unit.wide_quotient(start)..self.by_unit.wide_quotient(end + unit - 1)).map(move |number| {
            let base = number * unit;
            let from = start.max(base);
            UnitPiece { unit: number, from: from - base, until: end.min(base + unit) - base, offset: from - start }
        })
    }

    /// The number of the chunk of a mapping unit. An untouched chunk becomes a touched one.
    #[inline]
    fn chunk(&mut self, unit: u64) -> usize {
        match self.touched(unit) {
            Some(chunk) => chunk,
            None => self.add_chunk((unit >> self.shift) as usize),
        }
    }

    #[inline(never)]
    fn add_chunk(&mut self, place: usize) -> usize {
        if self.chunks.len() <= place {
            self.chunks.resize(place + 1, 0);
        }
        let number = self.sectors.len();
        self.chunks[place] = number as u32 + 1;
        self.words.resize((number + 1) << self.shift, UNTOUCHED);
        self.sectors.push(Box::default());
        number
    }

    /// The number of the chunk of a mapping unit, if the chunk is touched.
    #[inline]
    fn touched(&self, unit: u64) -> Option<usize> {
        let number = *self.chunks.get((unit >> self.shift) as usize)?;
        (number as usize).checked_sub(1)
    }

    /// The position of a mapping unit in its chunk.
    #[inline]
    const fn place(&self, unit: u64) -> usize {
        (unit & ((1 << self.shift) - 1)) as usize
    }

    /// The index of a mapping unit's word, if its chunk is touched.
    #[inline]
    fn index(&self, unit: u64) -> Option<usize> {
        self.touched(unit).map(|chunk| (chunk << self.shift) + self.place(unit))
    }

    /// The index of a mapping unit's word, whose chunk becomes touched. Called for consecutive units: `next` is the
    /// expected index of this unit's word, and becomes the index of the next unit's word.
    #[inline]
    fn index_of_next(&mut self, unit: u64, next: &mut usize) -> usize {
        let place = self.place(unit);
        let index = if *next != NOWHERE && place != 0 { *next } else { (self.chunk(unit) << self.shift) + place };
        *next = index + 1;
        index
    }

    fn set_word(&mut self, unit: u64, word: u64) {
        let index = (self.chunk(unit) << self.shift) + self.place(unit);
        self.words[index] = word;
    }

    /// The word of a mapping unit, which becomes touched.
    #[inline]
    fn word(&mut self, unit: u64) -> u64 {
        match self.index(unit).map(|index| self.words[index]) {
            Some(word) if word != UNTOUCHED => word,
            _ => self.touch(unit),
        }
    }

    /// Stores the derived word of an untouched mapping unit.
    #[inline(never)]
    fn touch(&mut self, unit: u64) -> u64 {
        let word = self.derived(unit);
        self.set_word(unit, word);
        if word == SINGLE {
            let first = unit * self.unit;
            for sector in 0..self.unit {
                let held = self.history.as_ref().map_or(self.untouched, |history| held(history, first + sector));
                self.singles(unit)[sector as usize] = held;
            }
        }
        word
    }

    /// The first and the last mapping unit of a request.
    #[inline]
    fn ends(&self, io: &Io) -> [u64; 2] {
        let first = self.by_unit.wide_quotient(io.start.get());
        // A flush has no sectors.
        [first, self.by_unit.wide_quotient(io.end().get().saturating_sub(1)).max(first)]
    }

    /// Prefetches the words of the first and the last mapping unit of each of these requests. Their chunks are looked
    /// up first, so that the processor waits for all of them together.
    pub(super) fn announce(&self, coming: &[Io]) {
        for io in coming {
            let [first, _] = self.ends(io);
            prefetch(self.chunks.get((first >> self.shift) as usize));
        }
        for io in coming {
            let [first, last] = self.ends(io);
            if let Some(index) = self.index(first) {
                prefetch(self.words.get(index));
                prefetch(self.words.get(index + (last - first) as usize));
            }
        }
    }

    /// Prefetches the history of the untouched mapping units of an announced request.
    #[inline]
    pub(super) fn prefetch(&self, io: &Io) {
        let Some(history) = &self.history else { return };
        for unit in self.ends(io) {
            if self.index(unit).is_none_or(|index| self.words[index] == UNTOUCHED) {
                history.prefetch(Lba::new(unit * self.unit));
            }
        }
    }

    /// The word of a mapping unit that no request has touched, from the history.
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
        let (chunk, place, sectors) = (self.chunk(unit), self.place(unit), self.unit as usize);
        let stored = &mut self.sectors[chunk];
        if stored.is_empty() {
            *stored = vec![0; sectors << self.shift].into();
        }
        &mut stored[place * sectors..][..sectors]
    }

    /// Stores the sectors of a mapping unit one by one.
    fn split(&mut self, unit: u64) -> &mut [u64] {
        let word = self.word(unit);
        if word != SINGLE {
            for sector in 0..self.unit {
                self.singles(unit)[sector as usize] = of_word(word, sector);
            }
            self.set_word(unit, SINGLE);
        }
        self.singles(unit)
    }

    pub(super) fn get(&mut self, sector: u64) -> u64 {
        let (unit, offset) = (sector / self.unit, sector % self.unit);
        match self.word(unit) {
            SINGLE => self.singles(unit)[offset as usize],
            word => of_word(word, offset),
        }
    }

    pub(super) fn put(&mut self, sector: u64, content: u64) {
        let (unit, offset) = (sector / self.unit, sector % self.unit);
        self.split(unit)[offset as usize] = content;
    }

    pub(super) fn set(&mut self, io: &Io, content: RequestContent) {
        let mut next = NOWHERE;
        // Untouched sectors read as zeros already, and a reset of a zone may cover gigabytes of them.
        let keeps_untouched = content == RequestContent::Zeros && self.untouched == 0 && self.history.is_none();
        for UnitPiece { unit, from, until, offset } in self.pieces(io) {
            if keeps_untouched && self.touched(unit).is_none() {
                next = NOWHERE;
                continue;
            }
            let index = self.index_of_next(unit, &mut next);
            if until - from == self.unit {
                self.words[index] = content.word(offset);
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
        let mut next = NOWHERE;
        for UnitPiece { unit, from, until, offset } in self.pieces(io) {
            let data = &data[offset as usize..(offset + until - from) as usize];
            let index = self.index_of_next(unit, &mut next);
            let word = if self.words[index] == UNTOUCHED { self.touch(unit) } else { self.words[index] };
            // Differences are gathered without an early exit, so that several sectors are compared at once.
            let differ = match word {
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

/// The content of a sector, from the word of its mapping unit; the word must not be [`SINGLE`].
const fn of_word(word: u64, sector: u64) -> u64 {
    match word {
        ZEROS => 0,
        UNKNOWN => UNKNOWN,
        first => first + sector,
    }
}

/// The content of a sector after preconditioning.
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
        let mut array = SectorArray::new(Sectors::new(unit), untouched);
        array.begin(history.clone());
        let first = |sector| history.as_ref().map_or(untouched, |history| held(history, sector));
        let mut list: Vec<u64> = (0..sectors).map(first).collect();
        for step in 0..3000 {
            let place = format!("unit {unit}, seed {seed}, step {step}");
            let start = rng.below(sectors);
            let io = Io::new(IoKind::Write, Lba::new(start), Sectors::new(1 + rng.below((sectors - start).min(20))));
            let held = &mut list[start as usize..io.end().get() as usize];
            match rng.below(8) {
                0..3 => {
                    let content = match rng.below(8) {
                        0 => RequestContent::Zeros,
                        1 => RequestContent::Unknown,
                        _ => RequestContent::Stamps((step + 1) << 24),
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
                // The history has units with several versions, never written ones, and refused ones.
                let versions = (0..60).map(|i| if i % 7 == 6 { u32::MAX } else { i % 5 }).collect();
                agrees_with_a_list(unit, Some(History::new(size, versions)), 0, seed);
            }
        }
    }

    #[test]
    fn a_mapping_unit_that_one_write_filled_takes_a_word() {
        let mut array = SectorArray::new(Sectors::new(8), 0);
        let io = |start, sectors| Io::new(IoKind::Write, Lba::new(start), Sectors::new(sectors));
        let singles = |array: &SectorArray| array.sectors.iter().map(|sectors| sectors.len()).sum::<usize>();
        array.set(&io(8, 24), RequestContent::Stamps(1 << 24));
        array.set(&io(0, 8), RequestContent::Zeros);
        assert_eq!((singles(&array), array.get(17), array.get(3)), (0, 1 << 24 | 9, 0));
        array.set(&io(4, 8), RequestContent::Stamps(2 << 24));
        assert_eq!((singles(&array), array.get(11), array.get(12)), (CHUNK as usize, 2 << 24 | 7, 1 << 24 | 4));
        let entries = 2 * (size_of::<Box<[u64]>>() + size_of::<u32>()) as u64;
        let of_chunk = 8 * (CHUNK + CHUNK / 8) + entries;
        let memory = |touched| SectorArray::memory(Sectors::new(3 * CHUNK), Sectors::new(8), touched, false);
        let numbers = 3 * size_of::<u32>() as u64;
        assert_eq!(
            (memory(None), memory(Some(1)), memory(Some(9))),
            (numbers + 3 * of_chunk, numbers + of_chunk, numbers + 3 * of_chunk)
        );
        let whole = SectorArray::memory(Sectors::new(3 * CHUNK), Sectors::new(8), None, true);
        assert_eq!(whole, numbers + 3 * (CHUNK + entries), "a word for each unit");
    }

    #[test]
    fn zeros_touch_nothing_that_holds_zeros() {
        let mut array = SectorArray::new(Sectors::new(8), 0);
        let io = |start, sectors| Io::new(IoKind::ZoneReset, Lba::new(start), Sectors::new(sectors));
        array.set(&io(CHUNK, 8), RequestContent::Stamps(1 << 24));
        array.set(&io(0, 100 * CHUNK), RequestContent::Zeros);
        assert_eq!((array.sectors.len(), array.get(CHUNK + 1)), (1, 0));
        let mut unknown = SectorArray::new(Sectors::new(8), UNKNOWN);
        unknown.set(&io(0, 2 * CHUNK), RequestContent::Zeros);
        assert_eq!((unknown.sectors.len(), unknown.get(CHUNK)), (2, 0));
    }
}
