//! The whole state of a verifier as bytes.

use std::collections::BTreeMap;
use std::io;
use std::io::{Read, Write};

use super::zones::ZonePromises;
use super::{Promise, Verifier};
use crate::bytes::{NumberReader, NumberWriter, damaged};
use crate::digest::UNKNOWN;
use crate::runs::{Moment, SectorWrite, WriteContent, WriteRun, WriteRuns};
use crate::settled::{SettledSectors, WriteTime};

impl Verifier {
    pub(super) fn write(&self, out: &mut NumberWriter<impl Write>) -> io::Result<()> {
        out.number(self.now)?;
        out.number(self.cut)?;
        self.settled.write_to(out)?;
        self.runs.write_to(out)?;
        self.zones.as_ref().map_or(Ok(()), |zones| zones.write_to(out))
    }

    /// The state of a verifier of a drive of this capacity, without requests under way.
    pub(super) fn read(promise: Promise, capacity: u64, from: &mut NumberReader<impl Read>) -> io::Result<Self> {
        let (now, cut) = (from.number()?, from.number()?);
        let (settled, runs) = (SettledSectors::read_from(from, capacity)?, WriteRuns::read_from(from, capacity)?);
        let zones = promise.zones.map(|shape| ZonePromises::read_from(shape, from, capacity)).transpose()?;
        Ok(Self { now, cut, settled, runs, zones, ..Self::new(promise, true) })
    }
}

impl SectorWrite {
    fn write_to(&self, out: &mut NumberWriter<impl Write>) -> io::Result<()> {
        out.number(self.start)?;
        match &self.content {
            WriteContent::Each(digests) => out.numbers(digests)?,
            WriteContent::Same(digest) => {
                out.numbers(&[])?;
                out.number(*digest)?;
            }
            WriteContent::Appends { unit, writes } => {
                out.numbers(&[])?;
                // No write has this digest: it marks appends.
                out.number(UNKNOWN)?;
                out.number(*unit)?;
                out.number(writes.len() as u64)?;
                for (number, (when, digests)) in writes {
                    out.number(*number)?;
                    out.number(when.code())?;
                    out.numbers(digests)?;
                }
            }
        }
        out.number(self.began)?;
        out.maybe(self.ended)?;
        out.number(self.when.code())?;
        let (answered, durable) = self.at_cut.unwrap_or_default();
        let bits = [self.is_certain, self.is_durable, self.is_loose, self.at_cut.is_some(), answered, durable];
        out.number((0..).zip(bits).map(|(bit, is)| u64::from(is) << bit).sum())
    }

    fn read_from(from: &mut NumberReader<impl Read>, capacity: u64) -> io::Result<Self> {
        let start = from.number()?;
        let digests = from.numbers(capacity)?;
        let content = match digests.is_empty() {
            true => match from.number()? {
                UNKNOWN => Self::read_appends(from, capacity)?,
                digest => WriteContent::Same(digest),
            },
            false => WriteContent::Each(digests.into()),
        };
        let (began, ended, when, bits) = (from.number()?, from.maybe()?, from.number()?, from.number()?);
        let is = |bit: u32| bits >> bit & 1 == 1;
        let mut write = Self::new(start, content, began, WriteTime::of_code(when));
        (write.ended, write.is_certain, write.is_durable, write.is_loose) = (ended, is(0), is(1), is(2));
        write.at_cut = is(3).then_some((is(4), is(5)));
        Ok(write)
    }

    fn read_appends(from: &mut NumberReader<impl Read>, capacity: u64) -> io::Result<WriteContent> {
        let (unit, mut writes) = (from.number()?, BTreeMap::new());
        for _ in 0..from.number()? {
            let (number, when) = (from.number()?, WriteTime::of_code(from.number()?));
            writes.insert(number, (when, from.numbers(capacity)?.into()));
        }
        if unit == 0 { Err(damaged()) } else { Ok(WriteContent::Appends { unit, writes }) }
    }

    /// True if it has a digest for each of these sectors.
    fn covers(&self, start: u64, end: u64) -> bool {
        match &self.content {
            WriteContent::Each(digests) => self.start <= start && end - self.start <= digests.len() as u64,
            WriteContent::Same(_) | WriteContent::Appends { .. } => true,
        }
    }
}

impl WriteRuns {
    fn write_to(&self, out: &mut NumberWriter<impl Write>) -> io::Result<()> {
        out.number(self.writes.len() as u64)?;
        for (number, write) in &self.writes {
            out.number(*number)?;
            write.write_to(out)?;
        }
        out.number(self.runs.len() as u64)?;
        for (start, WriteRun { end, writes, settled, loose }) in &self.runs {
            out.number(*start)?;
            out.number(*end)?;
            out.numbers(writes)?;
            out.maybe(*settled)?;
            out.maybe(*loose)?;
        }
        Ok(())
    }

    fn read_from(from: &mut NumberReader<impl Read>, capacity: u64) -> io::Result<Self> {
        let mut all = Self::default();
        for _ in 0..from.number()? {
            let number = from.number()?;
            all.writes.insert(number, SectorWrite::read_from(from, capacity)?);
        }
        for _ in 0..from.number()? {
            let (start, end) = (from.number()?, from.number()?);
            let (writes, settled, loose) = (from.numbers(capacity)?, from.maybe()?, from.maybe()?);
            let is_sound = start < end && end <= capacity;
            let mut known = writes.iter().map(|of: &Moment| all.writes.get(of));
            if !is_sound || !known.all(|of| of.is_some_and(|of| of.covers(start, end))) {
                return Err(damaged());
            }
            for of in &writes {
                all.writes.get_mut(of).expect("it is known").runs += 1;
            }
            all.runs.insert(start, WriteRun { end, writes, settled, loose });
        }
        all.writes.retain(|_, write| write.runs > 0);
        Ok(all)
    }
}
