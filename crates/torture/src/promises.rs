//! The promises of a drive, and the check that it has kept them.
//!
//! * The answer of a flush promises that every write answered before the flush arrived is durable.
//! * The answer of a write with forced unit access promises that this write is durable.
//! * After a power cut a sector holds the newest promised content, or any content that was written later than that or concurrently
//!   with it. Sectors of one write may differ in this.
//! * A discard promises nothing: until the sector is durably written again, any of its former contents may come back.

use std::fmt;

use base::units::{Lba, Sectors};
use flash::nand::Stamp;

use crate::cut::Cut;
use crate::extents::Extents;
use crate::journal::{ClientRequest, Journal, JournalEvent, RequestKind};
use crate::recovered::RecoveredDrive;
use crate::stamp::{Origin, origin};

/// A write that a promise covers.
#[derive(Clone, Copy, Debug)]
struct PromisedWrite {
    /// The index of the record of the answer that promised the write.
    promised: u32,
    /// The index of the record at which the newest write of this and the earlier promises was asked for.
    newest: u32,
}

/// The promises of a recorded drive.
#[derive(Clone, Debug)]
pub struct Promises<'a> {
    journal: &'a Journal,
    pub(crate) extents: Extents,
    /// The covered writes of all sectors, grouped by sector, in the order of promises; and the first of each sector.
    covered: Vec<PromisedWrite>,
    first: Vec<u32>,
    /// The requests that leave zeros.
    zeros: Vec<u32>,
}

/// The content that a sector holds in place of what was promised.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SectorContent {
    /// Zeros, as if the sector had never been written.
    Zeros,
    /// The content that this request wrote there.
    Request(u32),
    /// The content of another sector.
    Other(Lba),
    /// A content that no request had written yet.
    Unknown,
    /// None: the drive could not read the sector.
    Unreadable,
}

/// Consecutive sectors that hold another content than was promised, for the same reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BrokenPromise {
    /// The first sector of the row.
    pub start: Lba,
    /// The number of sectors.
    pub sectors: Sectors,
    /// The content that the sectors hold.
    pub held: SectorContent,
    /// The newest promised write, if any was promised.
    pub promised: Option<u32>,
}

impl fmt::Display for BrokenPromise {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (first, count) = (self.start.get(), self.sectors.get());
        let (read, hold) = match count {
            1 => {
                write!(f, "sector {first} ")?;
                ("reads", "holds")
            }
            _ => {
                write!(f, "sectors {first} to {} ", first + count - 1)?;
                ("read", "hold")
            }
        };
        match self.held {
            SectorContent::Zeros => write!(f, "{read} as zeros")?,
            SectorContent::Request(of) => write!(f, "{hold} the content of request {of}")?,
            SectorContent::Other(sector) => write!(f, "{hold} the content of sector {}", sector.get())?,
            SectorContent::Unknown => write!(f, "{hold} a content that was never written")?,
            SectorContent::Unreadable => f.write_str("cannot be read")?,
        }
        self.promised.map_or(Ok(()), |of| write!(f, "; request {of} was durable"))
    }
}

impl<'a> Promises<'a> {
    /// The promises in a journal of a drive of this capacity.
    #[must_use]
    pub fn new(journal: &'a Journal, capacity: Sectors) -> Self {
        let extents = Extents::written(journal, capacity.get());
        let flushes = Flushes::new(journal);
        let promised: Vec<Option<u32>> = journal.requests.iter().map(|asked| flushes.promise(asked)).collect();
        let spans = || {
            journal.requests.iter().zip(&promised).filter_map(|(asked, promised)| {
                // A request that ends beyond the drive was refused, and promises nothing.
                let first = extents.index(asked.start.get())?;
                Some((first..first + asked.sectors.get() as usize, (*promised)?, asked.position))
            })
        };
        let mut first = vec![0u32; extents.len() + 1];
        for (span, ..) in spans() {
            first[span.start + 1..=span.end].iter_mut().for_each(|count| *count += 1);
        }
        (1..first.len()).for_each(|at| first[at] += first[at - 1]);
        let mut covered = vec![PromisedWrite { promised: 0, newest: 0 }; first.last().map_or(0, |all| *all as usize)];
        let mut next = first.clone();
        for (span, promised, newest) in spans() {
            for at in &mut next[span] {
                covered[*at as usize] = PromisedWrite { promised, newest };
                *at += 1;
            }
        }
        for pair in first.windows(2) {
            let of = &mut covered[pair[0] as usize..pair[1] as usize];
            of.sort_unstable_by_key(|one| one.promised);
            (1..of.len()).for_each(|at| of[at].newest = of[at].newest.max(of[at - 1].newest));
        }
        let leaves_zeros =
            |asked: &ClientRequest| matches!(asked.kind, RequestKind::Discard | RequestKind::WriteZeroes { .. });
        let zeros = (0..).zip(&journal.requests).filter(|(_, asked)| leaves_zeros(asked)).map(|(of, _)| of).collect();
        Self { journal, extents, covered, first, zeros }
    }

    /// The index of the record at which the newest promised write of a sector was asked for.
    fn newest(&self, index: usize, cut: &Cut) -> Option<u32> {
        let of = &self.covered[self.first[index] as usize..self.first[index + 1] as usize];
        let before = of.partition_point(|one| (one.promised as usize) < cut.after);
        before.checked_sub(1).map(|last| of[last].newest)
    }

    /// The contents of a recovered drive that break a promise made before the cut.
    #[must_use]
    pub fn broken(&self, cut: &Cut, recovered: &RecoveredDrive) -> Vec<BrokenPromise> {
        let mut all: Vec<BrokenPromise> = Vec::new();
        let each = self.extents.sectors().zip(recovered.stamps()).enumerate();
        for (index, (sector, stamp)) in each {
            let newest = self.newest(index, cut);
            let Some(held) = self.wrong(sector.get(), *stamp, newest, cut) else { continue };
            let promised = newest.and_then(|position| match self.journal.events[position as usize].1 {
                JournalEvent::Asked(of) => Some(of),
                _ => None,
            });
            match all.last_mut() {
                Some(last) if last.start + last.sectors == sector && (last.held, last.promised) == (held, promised) => {
                    last.sectors += Sectors::new(1);
                }
                _ => all.push(BrokenPromise { start: sector, sectors: Sectors::new(1), held, promised }),
            }
        }
        all
    }

    /// The wrong content of a sector; `None` if it may have this content.
    fn wrong(&self, sector: u64, stamp: Option<Stamp>, newest: Option<u32>, cut: &Cut) -> Option<SectorContent> {
        let Some(stamp) = stamp else { return Some(SectorContent::Unreadable) };
        match origin(stamp) {
            Origin::Preconditioned(of) if of != sector => Some(SectorContent::Other(Lba::new(of))),
            Origin::Preconditioned(_) | Origin::Zeros => {
                let may = newest.is_none() || self.zeros_since(sector, newest, cut, |_| true);
                (!may).then_some(SectorContent::Zeros)
            }
            Origin::Request { of, offset } => {
                let asked =
                    self.journal.requests.get(of as usize).filter(|asked| (asked.position as usize) < cut.after);
                let Some(asked) = asked else { return Some(SectorContent::Unknown) };
                if asked.start.get() + offset != sector {
                    return Some(SectorContent::Other(asked.start + Sectors::new(offset)));
                }
                let may = !is_older(asked, newest)
                    || self.zeros_since(sector, newest, cut, |asked| asked.kind == RequestKind::Discard);
                (!may).then_some(SectorContent::Request(of))
            }
        }
    }

    /// True if a request that leaves zeros and is not older than the newest promised write concerns the sector.
    fn zeros_since(&self, sector: u64, newest: Option<u32>, cut: &Cut, which: impl Fn(&ClientRequest) -> bool) -> bool {
        self.zeros.iter().map(|of| &self.journal.requests[*of as usize]).any(|asked| {
            (asked.position as usize) < cut.after
                && (asked.start.get()..asked.end().get()).contains(&sector)
                && !is_older(asked, newest)
                && which(asked)
        })
    }
}

/// True if a request was answered before the newest promised write was asked for, and is so overwritten by it.
fn is_older(asked: &ClientRequest, newest: Option<u32>) -> bool {
    newest.is_some_and(|newest| asked.answered.is_some_and(|answered| answered.position < newest))
}

/// The flushes of a journal: the record at which each was asked for, and the first answer of this flush or a later one.
struct Flushes(Vec<(u32, u32)>);

impl Flushes {
    fn new(journal: &Journal) -> Self {
        let flushes = journal.requests.iter().filter(|asked| asked.kind == RequestKind::Flush);
        let good =
            |asked: &ClientRequest| Some((asked.position, asked.answered.filter(|answered| answered.good)?.position));
        let mut all: Vec<_> = flushes.filter_map(good).collect();
        let mut first = u32::MAX;
        for (_, answered) in all.iter_mut().rev() {
            first = first.min(*answered);
            *answered = first;
        }
        Self(all)
    }

    /// The record of the first answer that promises a write.
    fn promise(&self, asked: &ClientRequest) -> Option<u32> {
        let answered = asked.answered.filter(|answered| answered.good && asked.kind.writes())?;
        let later = self.0.get(self.0.partition_point(|(flush, _)| *flush < answered.position));
        let flush = later.map(|(_, answered)| *answered);
        let own = asked.kind.is_fua().then_some(answered.position);
        own.into_iter().chain(flush).min()
    }
}

#[cfg(test)]
mod tests;
