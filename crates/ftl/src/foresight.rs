//! Knowledge of the writes to come, for bounds that no real drive can reach.
//!
//! A run is made twice. In the first run the FTL notes the mapping units that the host writes ([`WriteLog`]). In the
//! second run the FTL knows for each write when the next write of the same mapping unit comes ([`NextWrites`]). Writes
//! are looked up by their number among the writes of one unit: the times of the two runs differ, so the order of writes
//! to different units may change, but the order of one unit's writes does not.

use std::sync::{Arc, Mutex, PoisonError};

use base::units::Lpn;

/// The knowledge that an FTL has of later writes.
#[derive(Clone, Debug, Default)]
pub enum Foresight {
    /// The FTL knows nothing of the writes to come.
    #[default]
    None,
    /// The first of two runs: the FTL notes its writes.
    Log(Arc<WriteLog>),
    /// The second run: the FTL knows when each mapping unit is written next.
    NextWrites(Arc<NextWrites>),
}

/// The mapping units that the host writes in a run, in the order in which the FTL takes them.
#[derive(Debug, Default)]
pub struct WriteLog(Mutex<Vec<u32>>);

impl WriteLog {
    /// Appends a write of the host to the log.
    pub(crate) fn note(&self, lpn: Lpn) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(lpn.get());
    }
}

/// For each write, the number of mapping units that the host writes before it writes the same unit again.
#[derive(Debug, PartialEq, Eq)]
pub struct NextWrites {
    /// The index of each unit's first entry in `distances`; the last element is the length of `distances`.
    first: Vec<u32>,
    /// The distances of each unit's writes, in their order; a unit's last entry is [`NEVER`].
    distances: Vec<u32>,
}

/// The distance of a unit's last write.
const NEVER: u32 = u32::MAX;

impl NextWrites {
    /// Counts the distances in a log of a drive with `units` mapping units.
    #[must_use]
    pub fn of(log: &WriteLog, units: u32) -> Self {
        let log = log.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut first = vec![0_u32; units as usize + 1];
        log.iter().for_each(|lpn| first[*lpn as usize + 1] += 1);
        (1..first.len()).for_each(|i| first[i] += first[i - 1]);
        let mut distances = vec![NEVER; log.len()];
        // The index and the number of each unit's latest write, for the write that follows it.
        let mut next: Vec<(u32, Option<usize>)> = first.iter().map(|place| (*place, None)).collect();
        for (number, lpn) in log.iter().enumerate() {
            let (place, latest) = &mut next[*lpn as usize];
            if let Some(latest) = latest {
                distances[*place as usize - 1] = (number - *latest) as u32;
            }
            (*place, *latest) = (*place + 1, Some(number));
        }
        Self { first, distances }
    }

    /// Mapping units that the host writes after a unit's write number `nth`, counted from 0, and before the unit's next
    /// write; `None` if the unit has no such write or no next one.
    pub(crate) fn distance(&self, lpn: Lpn, nth: u32) -> Option<u64> {
        let (first, end) = (self.first[lpn.index()], self.first[lpn.index() + 1]);
        let place = first.checked_add(nth).filter(|place| *place < end)?;
        Some(self.distances[place as usize]).filter(|distance| *distance != NEVER).map(u64::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_write_knows_how_far_the_next_one_of_its_unit_is() {
        let log = WriteLog::default();
        [3, 1, 3, 3, 0, 1].into_iter().for_each(|lpn| log.note(Lpn::new(lpn)));
        let next = NextWrites::of(&log, 4);
        let of = |lpn, nth| next.distance(Lpn::new(lpn), nth);
        assert_eq!([of(3, 0), of(3, 1), of(3, 2), of(3, 3)], [Some(2), Some(1), None, None]);
        assert_eq!([of(1, 0), of(1, 1)], [Some(4), None]);
        assert_eq!([of(0, 0), of(2, 0)], [None, None]);
    }
}
