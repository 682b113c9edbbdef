//! The content of each sector as far as a power cut cannot change it: a digest, and the time of its write.
//!
//! The store is sparse: a region of 2 MiB takes memory once a client writes to it, or reads unknown content of it.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::ops::Range;

use base::units::{Span, Time};

use crate::bytes::{NumberReader, NumberWriter, damaged};
use crate::digest::UNKNOWN;

/// Sectors of a region.
const REGION: u64 = 4096;

/// Flag of a sector that may hold anything after the next power cut.
const LOOSE: u32 = 1 << 31;
/// Flag of a sector whose last read failed.
const UNREADABLE: u32 = 1 << 30;
/// The other bits: milliseconds of simulated time, plus one.
const WHEN: u32 = UNREADABLE - 1;

/// A simulated time in milliseconds; none for content from before the verification.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct WriteTime(u32);

impl WriteTime {
    pub(crate) fn new(at: Time) -> Self {
        Self(u32::try_from(at.as_ps() / Span::from_ms(1).as_ps() + 1).unwrap_or(WHEN).min(WHEN))
    }

    /// The time as a number, for the files.
    pub(crate) fn code(self) -> u64 {
        u64::from(self.0)
    }

    pub(crate) const fn of_code(code: u64) -> Self {
        Self(code as u32 & WHEN)
    }

    /// The time in milliseconds.
    pub(crate) fn ms(self) -> Option<u32> {
        self.0.checked_sub(1)
    }
}

#[derive(Clone, Debug)]
struct Region {
    digests: Box<[u64]>,
    flags: Box<[u32]>,
}

/// The digests of all sectors.
#[derive(Clone, Debug)]
pub(crate) struct SettledSectors {
    regions: BTreeMap<u64, Region>,
    /// The digest of the sectors in all other regions.
    others: u64,
    unreadable: u64,
}

impl SettledSectors {
    /// A store in which all sectors have this digest.
    pub(crate) const fn all(others: u64) -> Self {
        Self { regions: BTreeMap::new(), others, unreadable: 0 }
    }

    pub(crate) fn get(&self, sector: u64) -> u64 {
        self.regions.get(&(sector / REGION)).map_or(self.others, |of| of.digests[(sector % REGION) as usize])
    }

    /// True if the sectors from `start` on have these digests.
    pub(crate) fn holds(&self, start: u64, digests: &[u64]) -> bool {
        let (mut sector, mut left) = (start, digests);
        while !left.is_empty() {
            let place = (sector % REGION) as usize;
            let (now, later) = left.split_at(left.len().min(REGION as usize - place));
            let same = match self.regions.get(&(sector / REGION)) {
                Some(region) => region.digests[place..][..now.len()] == *now,
                None => now.iter().all(|digest| *digest == self.others),
            };
            if !same {
                return false;
            }
            (sector, left) = (sector + now.len() as u64, later);
        }
        true
    }

    /// The time at which the sector was written.
    pub(crate) fn when(&self, sector: u64) -> WriteTime {
        let flags = self.regions.get(&(sector / REGION)).map_or(0, |of| of.flags[(sector % REGION) as usize]);
        WriteTime(flags & WHEN)
    }

    /// True if the sector may hold anything after the next power cut.
    pub(crate) fn is_loose(&self, sector: u64) -> bool {
        self.regions.get(&(sector / REGION)).is_some_and(|of| of.flags[(sector % REGION) as usize] & LOOSE != 0)
    }

    fn region(&mut self, number: u64) -> &mut Region {
        let others = self.others;
        self.regions.entry(number).or_insert_with(|| Region {
            digests: vec![others; REGION as usize].into(),
            flags: vec![0; REGION as usize].into(),
        })
    }

    /// Calls `each` with each sector of a range, its digest and its flags, both of which `each` may change.
    fn each(&mut self, range: Range<u64>, mut each: impl FnMut(u64, &mut u64, &mut u32)) {
        let mut sector = range.start;
        while sector < range.end {
            let region = self.region(sector / REGION);
            let until = range.end.min((sector / REGION + 1) * REGION);
            for at in sector..until {
                let place = (at % REGION) as usize;
                each(at, &mut region.digests[place], &mut region.flags[place]);
            }
            sector = until;
        }
    }

    /// Makes written data the content of a range.
    pub(crate) fn write(&mut self, range: Range<u64>, when: WriteTime, is_loose: bool, digest: impl Fn(u64) -> u64) {
        let loose = if is_loose { LOOSE } else { 0 };
        let mut sector = range.start;
        while sector < range.end {
            let (number, begin) = (sector / REGION, sector / REGION * REGION);
            let until = range.end.min(begin + REGION);
            // Resetting a zone that was never written must take no memory.
            let is_reset =
                sector == begin && until == begin + REGION && !is_loose && !self.regions.contains_key(&number);
            if !(is_reset && (sector..until).all(|at| digest(at) == self.others)) {
                self.each(sector..until, |sector, of, flags| {
                    *of = digest(sector);
                    *flags = *flags & UNREADABLE | loose | when.0;
                });
            }
            sector = until;
        }
    }

    /// Notes the content that a read found in a sector of unknown content. The sector keeps its time.
    pub(crate) fn adopt(&mut self, sector: u64, digest: u64) {
        self.each(sector..sector + 1, |_, of, _| *of = digest);
    }

    /// Marks sectors that may hold anything after the next power cut.
    pub(crate) fn loosen(&mut self, range: Range<u64>) {
        self.each(range, |_, _, flags| *flags |= LOOSE);
    }

    /// Makes the content of sectors unknown; it may change at each power cut.
    pub(crate) fn forget(&mut self, range: Range<u64>) {
        self.each(range, |_, of, flags| {
            *of = UNKNOWN;
            *flags |= LOOSE;
        });
    }

    /// Applies a power cut: marked sectors have unknown content from now on.
    pub(crate) fn cut(&mut self) {
        for Region { digests, flags } in self.regions.values_mut() {
            let loose = flags.iter().map(|flags| flags & LOOSE != 0);
            digests.iter_mut().zip(loose).filter(|(_, is)| *is).for_each(|(of, _)| *of = UNKNOWN);
        }
    }

    /// Notes that the last access to sectors succeeded, or that their read failed.
    pub(crate) fn note_readable(&mut self, range: Range<u64>, is_readable: bool) {
        if is_readable && self.unreadable == 0 {
            return;
        }
        let mut unreadable = self.unreadable;
        self.each(range, |_, _, flags| {
            unreadable -= u64::from(*flags & UNREADABLE != 0);
            *flags = if is_readable { *flags & !UNREADABLE } else { *flags | UNREADABLE };
            unreadable += u64::from(*flags & UNREADABLE != 0);
        });
        self.unreadable = unreadable;
    }

    /// Sectors whose last read failed.
    pub(crate) const fn unreadable(&self) -> u64 {
        self.unreadable
    }

    /// A sector that should have this digest, to explain a violation. Marked sectors are left out.
    pub(crate) fn find(&self, digest: u64) -> Option<u64> {
        let within = |(number, of): (&u64, &Region)| {
            let mut all = of.digests.iter().zip(&of.flags);
            let place = all.position(|(other, flags)| *other == digest && flags & LOOSE == 0)?;
            Some(number * REGION + place as u64)
        };
        self.regions.iter().find_map(within)
    }

    pub(crate) fn write_to(&self, out: &mut NumberWriter<impl Write>) -> io::Result<()> {
        out.number(self.others)?;
        out.number(self.regions.len() as u64)?;
        for (number, Region { digests, flags }) in &self.regions {
            out.number(*number)?;
            out.numbers(digests)?;
            flags.iter().try_for_each(|flags| out.bytes(&flags.to_le_bytes()))?;
        }
        Ok(())
    }

    pub(crate) fn read_from(from: &mut NumberReader<impl Read>, capacity: u64) -> io::Result<Self> {
        let mut all = Self::all(from.number()?);
        for _ in 0..from.number()? {
            let (number, digests) = (from.number()?, from.numbers(REGION)?);
            let mut flags = vec![0; 4 * digests.len()];
            from.bytes(&mut flags)?;
            if digests.len() as u64 != REGION || number > capacity / REGION {
                return Err(damaged());
            }
            let flags: Box<[u32]> = flags.as_chunks::<4>().0.iter().map(|of| u32::from_le_bytes(*of)).collect();
            all.unreadable += flags.iter().filter(|flags| **flags & UNREADABLE != 0).count() as u64;
            all.regions.insert(number, Region { digests: digests.into(), flags });
        }
        Ok(all)
    }

    /// Bytes of memory that the store takes now.
    pub(crate) fn memory(&self) -> u64 {
        self.regions.len() as u64 * Self::region_memory()
    }

    /// Bytes of memory of one region.
    const fn region_memory() -> u64 {
        REGION * (size_of::<u64>() + size_of::<u32>()) as u64
    }

    /// Bytes of memory once all sectors were written.
    pub(crate) const fn memory_of(sectors: u64) -> u64 {
        sectors.div_ceil(REGION) * Self::region_memory()
    }
}
