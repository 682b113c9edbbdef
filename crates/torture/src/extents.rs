//! The sectors that the requests of a journal write, as runs in the order of addresses. Each sector has an index.

use base::units::Lba;

use crate::journal::Journal;

/// A run of sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SectorRun {
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The index of the first sector.
    pub(crate) first: usize,
}

/// All sectors that a journal's requests write, also those of requests that were never answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Extents {
    runs: Vec<SectorRun>,
}

impl Extents {
    /// The sectors that a journal writes on a drive of this capacity.
    pub(crate) fn written(journal: &Journal, capacity: u64) -> Self {
        let writes = journal.requests.iter().filter(|asked| asked.kind.writes() && asked.end().get() <= capacity);
        let mut all: Vec<_> = writes.map(|asked| (asked.start.get(), asked.end().get())).collect();
        all.sort_unstable();
        let mut runs: Vec<SectorRun> = Vec::new();
        for (start, end) in all {
            match runs.last_mut() {
                Some(last) if start <= last.end => last.end = last.end.max(end),
                _ => runs.push(SectorRun { start, end, first: 0 }),
            }
        }
        let mut first = 0;
        for run in &mut runs {
            run.first = first;
            first += (run.end - run.start) as usize;
        }
        Self { runs }
    }

    pub(crate) fn runs(&self) -> &[SectorRun] {
        &self.runs
    }

    /// The number of sectors.
    pub(crate) fn len(&self) -> usize {
        self.runs.last().map_or(0, |last| last.first + (last.end - last.start) as usize)
    }

    /// The index of a sector; none if no request writes it.
    pub(crate) fn index(&self, sector: u64) -> Option<usize> {
        let run = self.runs[..self.runs.partition_point(|run| run.start <= sector)].last()?;
        (sector < run.end).then(|| run.first + (sector - run.start) as usize)
    }

    /// The sectors in the order of their indices.
    pub(crate) fn sectors(&self) -> impl Iterator<Item = Lba> {
        self.runs.iter().flat_map(|run| (run.start..run.end).map(Lba::new))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_sector_of_a_run_has_an_index() {
        let runs = vec![SectorRun { start: 3, end: 5, first: 0 }, SectorRun { start: 9, end: 10, first: 2 }];
        let extents = Extents { runs };
        assert_eq!(extents.len(), 3);
        let found: Vec<_> = (0..12).map(|sector| extents.index(sector)).collect();
        let expected: Vec<_> =
            (0..12).map(|sector| extents.sectors().position(|other| other.get() == sector)).collect();
        assert_eq!(found, expected);
        assert_eq!(found.iter().flatten().count(), 3);
    }
}
