//! Checks that a drive keeps its data, by comparison with a flat array.
//!
//! Every write has a new stamp for every sector. A read must return for every sector the stamp of the newest write that
//! completed before it, or the stamp of preconditioning if there was none. The device handles overlapping requests in
//! order of submission; so writes and discards count from their completion, and reads are checked at theirs.
//! [`Completeness`] defines the content after a request that was not carried out completely.

mod array;

use std::collections::HashMap;
use std::fmt;

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Time};
use flash::nand::Stamp;
use ssd::{Completeness, Completion, History, Status, Tag};

use array::{RequestContent, SectorArray, UNKNOWN};

/// The content of a run's writes, and the check of its reads.
pub trait Payload<S> {
    /// Begins a run on a preconditioned device. `past` is the history of preconditioning, if known.
    fn begin(&mut self, _past: Option<&History>) {}

    /// Announces the next requests, in their order, so that memory can be prefetched.
    fn announce(&mut self, _coming: &[Io]) {}

    /// The content of a request: one entry per sector for a write, empty otherwise.
    fn content(&mut self, tag: Tag, io: &Io) -> Vec<S>;

    /// Checks a completion. Calls come in the order in which the device reports completions.
    ///
    /// # Errors
    /// If a read returned other data than were written.
    fn completed(&mut self, completion: &Completion<S>) -> Result<(), Mismatch>;

    /// The comparisons so far, if the payload makes any.
    fn verified(&self) -> Option<Verification> {
        None
    }
}

/// A payload without content and check, for runs that only measure time.
#[derive(Clone, Copy, Debug, Default)]
pub struct Blank;

impl Payload<()> for Blank {
    #[inline]
    fn content(&mut self, _: Tag, io: &Io) -> Vec<()> {
        // A vector of zero-sized items is only a length and allocates nothing.
        vec![(); if io.kind.brings_data() { io.sectors.get() as usize } else { 0 }]
    }

    #[inline]
    fn completed(&mut self, _: &Completion<()>) -> Result<(), Mismatch> {
        Ok(())
    }
}

/// The content of a sector, which can carry a stamp.
pub trait StampSector: Copy + Eq {
    /// The content with this stamp; zero stands for an unwritten or discarded sector.
    fn stamp(stamp: u64) -> Self;

    /// The stamp of this content: the inverse of [`stamp`](Self::stamp).
    fn value(self) -> u64;
}

impl StampSector for u64 {
    fn stamp(stamp: u64) -> Self {
        stamp
    }

    fn value(self) -> u64 {
        self
    }
}

impl StampSector for flash::nand::Stamp {
    fn stamp(stamp: u64) -> Self {
        Self(stamp)
    }

    fn value(self) -> u64 {
        self.0
    }
}

/// The number of low bits of a stamp that count the sectors of a request. The bits above have its tag plus one, except
/// the highest bit, which only stamps of preconditioning set.
const OFFSET_BITS: u32 = 24;

/// The stamp of the first sector of a request. The stamps of its other sectors follow, because the low bits count the
/// sectors.
fn first_stamp(tag: Tag, sectors: Sectors) -> u64 {
    let sectors = sectors.get();
    assert!(sectors <= 1 << OFFSET_BITS, "a request of more than {} sectors cannot be verified", 1u64 << OFFSET_BITS);
    assert!(tag < (1 << (u64::BITS - 1 - OFFSET_BITS)) - 1, "request {tag} is too far into the run to be verified");
    (tag + 1) << OFFSET_BITS
}

/// A stamp, printed as the request and sector that it encodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin(u64);

impl Origin {
    /// The stamp as a plain number.
    #[must_use]
    pub const fn stamp(self) -> u64 {
        self.0
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((sector, version)) = Stamp(self.0).as_preconditioned().filter(|_| self.0 != UNKNOWN) {
            return write!(f, "what preconditioning wrote to {sector} (version {version})");
        }
        match (self.0 >> OFFSET_BITS).checked_sub(1) {
            _ if self.0 == 0 => f.write_str("zeros (never written, or discarded)"),
            Some(tag) => write!(f, "sector {} of write {tag}", self.0 & ((1 << OFFSET_BITS) - 1)),
            None => write!(f, "{:#x}, which no request wrote", self.0),
        }
    }
}

/// A read that returned other data than were written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// Address of the wrong sector.
    pub sector: Lba,
    /// The content after the newest completed write, or after the discard that followed it.
    pub expected: Origin,
    /// The content that the device returned; `None` if it returned no data for the sector.
    pub got: Option<Origin>,
    /// Tag of the read that returned the wrong content.
    pub tag: Tag,
    /// The time at which the read completed.
    pub at: Time,
}

impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { sector, expected, got, tag, at } = self;
        write!(f, "read {tag} at {at} returned for {sector} ")?;
        match got {
            Some(got) => write!(f, "{got}")?,
            None => f.write_str("nothing")?,
        }
        write!(f, ", but it holds {expected}")
    }
}

impl std::error::Error for Mismatch {}

/// The comparisons of an [`Oracle`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Verification {
    /// The number of reads compared.
    pub reads: u64,
    /// The number of sectors compared.
    pub sectors: u64,
    /// The number of sectors of unknown content, whose first read was accepted.
    pub adopted: u64,
    /// The number of reads that the device reported as uncorrectable; they are not compared.
    pub uncorrectable: u64,
}

/// The newest completed write of every sector, and any other content that a read may return.
#[derive(Clone, Debug)]
pub struct Oracle {
    array: SectorArray,
    /// Other possible contents of a sector: from writes and discards that may have been carried out in part.
    refused: HashMap<u64, Vec<u64>>,
    granularity: u64,
    /// The number of sectors of a zone that can be written; a reset of the zone changes them.
    zone: Sectors,
    verified: Verification,
    /// The number of announced requests that have not come yet. The memory that they need has been prefetched.
    announced: usize,
}

impl Oracle {
    /// Creates the oracle of a new device: every sector reads as zeros. `granularity` is the granularity of the
    /// device's discards.
    ///
    /// # Panics
    ///
    /// If the granularity is zero.
    #[must_use]
    pub fn blank(granularity: Sectors) -> Self {
        Self::with(granularity, 0)
    }

    /// Creates the oracle of a device with an unknown history. The first read of a sector that this run has not written
    /// determines its content, which must stay the same until the next write.
    #[must_use]
    pub fn adopting(granularity: Sectors) -> Self {
        Self::with(granularity, UNKNOWN)
    }

    fn with(granularity: Sectors, untouched: u64) -> Self {
        assert!(!granularity.is_zero(), "discards of multiples of nothing");
        Self {
            array: SectorArray::new(granularity, untouched),
            refused: HashMap::new(),
            granularity: granularity.get(),
            zone: Sectors::new(0),
            verified: Verification::default(),
            announced: 0,
        }
    }

    /// Makes this the oracle of a drive with zones. `zone` is the number of sectors of a zone that can be written.
    #[must_use]
    pub const fn with_zones(mut self, zone: Sectors) -> Self {
        self.zone = zone;
        self
    }

    /// The most bytes of an oracle for a drive with this capacity and this granularity of discards, if requests touch
    /// at most `units` mapping units, or all if `None`.
    #[must_use]
    pub fn memory(capacity: Sectors, granularity: Sectors, units: Option<u64>) -> u64 {
        SectorArray::memory(capacity, granularity, units, false)
    }

    /// The most bytes of an oracle for a drive with zones, which takes only writes of whole mapping units. `writable`
    /// is the number of sectors of each zone that can be written.
    #[must_use]
    pub fn memory_with_zones(zones: u32, writable: Sectors, granularity: Sectors, units: Option<u64>) -> u64 {
        SectorArray::memory(Sectors::new(u64::from(zones) * writable.get()), granularity, units, true)
    }

    /// The comparisons so far.
    #[must_use]
    pub const fn verified(&self) -> Verification {
        self.verified
    }

    fn set(&mut self, io: &Io, content: RequestContent) {
        self.array.set(io, content);
        if !self.refused.is_empty() {
            (io.start.get()..io.end().get()).for_each(|sector| _ = self.refused.remove(&sector));
        }
    }

    /// Stores the content that a request gives to the sectors of `io`, as far as the request was carried out.
    fn change(&mut self, io: &Io, content: RequestContent, completeness: Completeness) {
        match completeness {
            Completeness::Whole => self.set(io, content),
            Completeness::Partial => {
                for offset in 0..io.sectors.get() {
                    self.refused.entry(io.start.get() + offset).or_default().push(content.at(offset));
                }
            }
            Completeness::Unknown => self.set(io, RequestContent::Unknown),
            Completeness::Nothing => {}
        }
    }

    /// True if `got` is a possible content after a refused request. The sector then has this content from now on.
    fn decide(&mut self, sector: u64, got: u64) -> bool {
        !self.refused.is_empty() && self.refused.remove(&sector).is_some_and(|stamps| stamps.contains(&got))
    }

    /// The part of a discard that the device carries out: the whole multiples of its granularity; `None` if there are
    /// none.
    fn inward(&self, io: &Io) -> Option<Io> {
        let start = io.start.get().next_multiple_of(self.granularity);
        let end = io.end().get() / self.granularity * self.granularity;
        (end > start).then(|| Io { start: Lba::new(start), sectors: Sectors::new(end - start), ..*io })
    }

    fn compare<S: StampSector>(&mut self, read: &Completion<S>) -> Result<(), Mismatch> {
        self.verified.reads += 1;
        if self.refused.is_empty() && self.array.holds(&read.io, &read.data, S::value) {
            self.verified.sectors += read.io.sectors.get();
            return Ok(());
        }
        self.compare_sectors(read)
    }

    fn compare_sectors<S: StampSector>(&mut self, read: &Completion<S>) -> Result<(), Mismatch> {
        for offset in 0..read.io.sectors.get() {
            let sector = read.io.start.get() + offset;
            let got = read.data.get(offset as usize).map(|content| content.value());
            let brought = got.is_some_and(|got| self.decide(sector, got));
            let expected = self.array.get(sector);
            match got {
                Some(got) if expected == UNKNOWN => {
                    self.array.put(sector, got);
                    self.verified.adopted += 1;
                }
                Some(got) if got == expected || brought => {
                    if got != expected {
                        self.array.put(sector, got);
                    }
                    self.verified.sectors += 1;
                }
                _ => {
                    return Err(Mismatch {
                        sector: Lba::new(sector),
                        expected: Origin(expected),
                        got: got.map(Origin),
                        tag: read.tag,
                        at: read.end,
                    });
                }
            }
        }
        Ok(())
    }
}

impl<S: StampSector> Payload<S> for Oracle {
    fn begin(&mut self, history: Option<&History>) {
        self.announced = 0;
        self.array.begin(history.cloned());
    }

    fn announce(&mut self, coming: &[Io]) {
        self.announced = coming.len();
        self.array.announce(coming);
    }

    fn content(&mut self, tag: Tag, io: &Io) -> Vec<S> {
        if self.announced > 0 {
            self.announced -= 1;
        } else {
            self.array.announce(std::slice::from_ref(io));
        }
        match io.kind {
            IoKind::Write | IoKind::Append => {
                let first = first_stamp(tag, io.sectors);
                (first..first + io.sectors.get()).map(S::stamp).collect()
            }
            IoKind::Read => {
                self.array.prefetch(io);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    fn completed(&mut self, completion: &Completion<S>) -> Result<(), Mismatch> {
        let Completion { io, status, tag, .. } = completion;
        match (io.kind, status) {
            (IoKind::Read, Status::Done) => self.compare(completion)?,
            (IoKind::Read, Status::Uncorrectable) => self.verified.uncorrectable += 1,
            // An append names the address that the drive has chosen.
            (IoKind::Write | IoKind::Append, _) => {
                self.change(io, RequestContent::Stamps(first_stamp(*tag, io.sectors)), status.completeness());
            }
            (IoKind::Discard, _) => {
                if let Some(io) = self.inward(io) {
                    self.change(&io, RequestContent::Zeros, status.completeness());
                }
            }
            (IoKind::ZoneReset, _) => {
                let zone = Io { sectors: self.zone, ..*io };
                self.change(&zone, RequestContent::Zeros, status.completeness());
            }
            (IoKind::Read | IoKind::Flush | IoKind::ZoneOpen | IoKind::ZoneClose | IoKind::ZoneFinish, _)
            | (IoKind::ZoneOpenZrwa | IoKind::ZrwaFlush | IoKind::HandleUpdate, _) => {}
        }
        Ok(())
    }

    fn verified(&self) -> Option<Verification> {
        Some(self.verified)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base::units::Span;
    use flash::backend::CauseSet;

    const ONE: Sectors = Sectors::new(1);

    fn done(tag: Tag, kind: IoKind, start: u64, data: &[u64]) -> Completion<u64> {
        let io = Io::new(kind, Lba::new(start), Sectors::new(data.len() as u64));
        let at = Time::from_ps(tag);
        Completion {
            tag,
            queue: ssd::QueueId::default(),
            io,
            status: Status::Done,
            arrival: at,
            start: at,
            end: at,
            commands: 0,
            flash_wait: Span::ZERO,
            start_wait: Span::ZERO,
            waited_for: CauseSet::EMPTY,
            data: data.to_vec(),
        }
    }

    fn write(oracle: &mut Oracle, tag: Tag, start: u64, sectors: u64) -> Vec<u64> {
        let io = Io::new(IoKind::Write, Lba::new(start), Sectors::new(sectors));
        let content: Vec<u64> = oracle.content(tag, &io);
        oracle.completed(&Completion { io, ..done(tag, IoKind::Write, start, &content) }).expect("a write is no read");
        content
    }

    #[test]
    fn the_oracle_expects_the_newest_write_of_every_sector() {
        let mut oracle = Oracle::blank(ONE);
        let first = write(&mut oracle, 0, 4094, 4);
        let second = write(&mut oracle, 1, 4095, 2);
        oracle.completed(&done(2, IoKind::Read, 4093, &[0, first[0], second[0], second[1], first[3]])).expect("newest");
        assert_eq!(oracle.verified(), Verification { reads: 1, sectors: 5, ..Verification::default() });
    }

    #[test]
    fn an_older_write_that_reappears_is_found() {
        let mut oracle = Oracle::blank(ONE);
        let old = write(&mut oracle, 0, 8, 2);
        let new = write(&mut oracle, 7, 8, 2);
        let mismatch = oracle.completed(&done(9, IoKind::Read, 8, &[new[0], old[1]])).expect_err("stale");
        assert_eq!((mismatch.sector, mismatch.tag), (Lba::new(9), 9));
        let text = mismatch.to_string();
        assert!(text.contains("sector 1 of write 0, but it holds sector 1 of write 7"), "{text}");
    }

    #[test]
    fn a_read_without_data_and_reappearing_discarded_data_are_found() {
        let mut oracle = Oracle::blank(ONE);
        let old = write(&mut oracle, 0, 0, 2);
        let short = Completion { data: vec![old[0]], ..done(1, IoKind::Read, 0, &old) };
        assert_eq!(oracle.completed(&short).expect_err("one sector is missing").got, None);
        oracle.completed(&done(2, IoKind::Discard, 0, &[0, 0])).expect("a discard");
        assert_eq!(oracle.completed(&done(3, IoKind::Read, 0, &old)).expect_err("discarded").expected, Origin(0));
        oracle.completed(&done(4, IoKind::Read, 0, &[0, 0])).expect("zeros");
    }

    #[test]
    fn a_discard_zeroes_whole_mapping_units_only() {
        for (start, sectors, gone) in [(0, 8, 0..8), (1, 6, 0..0), (3, 9, 4..12), (4, 3, 0..0), (5, 7, 8..12)] {
            let mut oracle = Oracle::blank(Sectors::new(4));
            let mut content = write(&mut oracle, 0, 0, 12);
            oracle.completed(&done(1, IoKind::Discard, start, &vec![0; sectors])).expect("a discard");
            content[gone].fill(0);
            oracle
                .completed(&done(2, IoKind::Read, 0, &content))
                .expect("whole mapping units read as zeros, others stay");
        }
    }

    #[test]
    fn a_refused_write_may_be_done_in_part_and_an_uncorrectable_one_makes_its_sectors_unknown() {
        let mut oracle = Oracle::blank(ONE);
        let old = write(&mut oracle, 0, 0, 2);
        let mut write = done(1, IoKind::Write, 0, &[1, 2]);
        let new: Vec<u64> = oracle.content(1, &write.io);
        write.status = Status::ReadOnly;
        oracle.completed(&write).expect("refused");
        oracle.completed(&done(2, IoKind::Read, 0, &[7, 7])).expect_err("neither of the two");
        oracle.completed(&write).expect("refused");
        oracle.completed(&done(2, IoKind::Read, 0, &[old[0], new[1]])).expect("a part was carried out");
        oracle.completed(&done(3, IoKind::Read, 0, &[old[0], new[1]])).expect("the same as before");
        oracle.completed(&done(3, IoKind::Read, 0, &[new[0]])).expect_err("it does not change any more");
        oracle.completed(&done(3, IoKind::Read, 1, &[old[1]])).expect_err("nor back");
        write.status = Status::Uncorrectable;
        oracle.completed(&write).expect("broken");
        oracle.completed(&done(3, IoKind::Read, 0, &[77])).expect("anything");
        oracle.completed(&done(4, IoKind::Read, 0, &old)).expect_err("but always the same");
    }

    #[test]
    fn a_refused_discard_may_be_done_in_part() {
        let mut oracle = Oracle::blank(Sectors::new(2));
        let old = write(&mut oracle, 0, 0, 6);
        let refused = Completion { status: Status::ReadOnly, ..done(1, IoKind::Discard, 1, &[0; 5]) };
        oracle.completed(&refused).expect("refused");
        oracle.completed(&done(2, IoKind::Read, 0, &[0, 0])).expect_err("it covers the first unit only in part");
        oracle.completed(&done(3, IoKind::Read, 2, &[old[2], old[3], 0, 0])).expect("the second of two units is gone");
        oracle.completed(&done(4, IoKind::Read, 2, &[0, 0])).expect_err("the first stays");
        oracle.completed(&done(5, IoKind::Read, 4, &[old[4]])).expect_err("the second does not come back");
        oracle.completed(&refused).expect("refused again");
        let new = write(&mut oracle, 6, 2, 2);
        oracle.completed(&done(7, IoKind::Read, 2, &[0])).expect_err("a write lies over it");
        oracle.completed(&done(8, IoKind::Read, 2, &new)).expect("the write");
    }

    #[test]
    fn a_used_drive_must_return_the_same_unknown_data_again() {
        let mut oracle = Oracle::adopting(ONE);
        oracle.completed(&done(0, IoKind::Read, 5, &[42])).expect("unknown");
        oracle.completed(&done(1, IoKind::Read, 5, &[42])).expect("the same");
        oracle.completed(&done(2, IoKind::Read, 5, &[43])).expect_err("changed without a write");
        assert_eq!(oracle.verified().adopted, 1);
    }

    #[test]
    fn the_oracle_expects_preconditioned_data_until_the_host_writes() {
        let stamp = |sector, version| <Stamp as flash::nand::Sector>::preconditioned(Lba::new(sector), version).0;
        let mut oracle = Oracle::blank(ONE);
        Payload::<u64>::begin(&mut oracle, Some(&History::new(2, vec![3, 0, 9])));
        oracle.completed(&done(0, IoKind::Read, 0, &[stamp(0, 3), stamp(1, 3), 0, 0, stamp(4, 9)])).expect("as noted");
        let stale = oracle.completed(&done(1, IoKind::Read, 4, &[stamp(4, 8)])).expect_err("an older write");
        let text = stale.to_string();
        assert!(text.contains("returned for sector 4 what preconditioning wrote to sector 4 (version 8)"), "{text}");
        assert!(text.ends_with("but it holds what preconditioning wrote to sector 4 (version 9)"), "{text}");
        oracle.completed(&done(2, IoKind::Read, 1, &[stamp(5, 3)])).expect_err("another sector");
        oracle.completed(&done(3, IoKind::Read, 1, &[0])).expect_err("lost");
        let new = write(&mut oracle, 4, 4, 1);
        oracle.completed(&done(5, IoKind::Read, 4, &new)).expect("written since");
    }

    #[test]
    fn an_uncorrectable_read_is_counted_and_not_compared() {
        let mut oracle = Oracle::blank(ONE);
        let mut read = done(0, IoKind::Read, 0, &[9]);
        read.status = Status::Uncorrectable;
        oracle.completed(&read).expect("not compared");
        assert_eq!(oracle.verified(), Verification { uncorrectable: 1, ..Verification::default() });
    }
}
