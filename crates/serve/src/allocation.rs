//! The allocation state of sectors, which a drive knows without reading them.

use base::units::{Lba, Sectors};

use crate::JobFailure;

/// The allocation state of sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// The sectors may hold data.
    Mapped,
    /// The sectors were never written, or were discarded, and read as zeros.
    Deallocated,
}

/// Neighbouring sectors with the same allocation state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocatedExtent {
    /// The number of sectors, at least one.
    pub sectors: Sectors,
    /// The state of all these sectors.
    pub allocation: Allocation,
}

/// Takes the answer to an allocation query: called once, from any thread; must not wait.
pub type TakeExtents = Box<dyn FnOnce(Result<Vec<AllocatedExtent>, JobFailure>) + Send>;

/// Asks for the allocation state of a range. Every write that was answered before the query counts as data.
pub struct AllocationQuery {
    /// The first sector of the range.
    pub start: Lba,
    /// The number of sectors, at least one.
    pub sectors: Sectors,
    /// The most extents of the answer, at least one. The answer begins with the first sector, and may end before the range.
    pub most: usize,
    /// Takes the answer. A query that is dropped without an answer was lost with its drive.
    pub answer: TakeExtents,
}

impl AllocationQuery {
    /// The most mapping units that one answer looks at, so that a query does not keep the drive's thread for long.
    pub(crate) const UNITS: u64 = 4096;

    /// Answers that all sectors may hold data, which is never wrong.
    pub fn answer_mapped(self) {
        let all = AllocatedExtent { sectors: self.sectors, allocation: Allocation::Mapped };
        (self.answer)(Ok(vec![all]));
    }

    /// Answers from the allocation state of mapping units of `unit` sectors. `allocation` is called with the number of each unit,
    /// in order.
    pub(crate) fn answer_by(self, unit: Sectors, allocation: impl Fn(u64) -> Allocation) {
        let Self { start, sectors, most, answer } = self;
        let (unit, end) = (unit.get(), start.get() + sectors.get());
        let mut extents: Vec<AllocatedExtent> = Vec::new();
        let mut at = start.get();
        for number in (at / unit..).take(Self::UNITS as usize).take_while(|number| number * unit < end) {
            let (allocation, next) = (allocation(number), end.min((number + 1) * unit));
            let more = next - at;
            let count = extents.len();
            match extents.last_mut() {
                Some(last) if last.allocation == allocation => last.sectors = Sectors::new(last.sectors.get() + more),
                _ if count == most => break,
                _ => extents.push(AllocatedExtent { sectors: Sectors::new(more), allocation }),
            }
            at = next;
        }
        answer(Ok(extents));
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use super::*;

    /// The lengths of the extents of a range, in units of four sectors of which every third is a hole.
    fn lengths(start: u64, sectors: u64, most: usize) -> Vec<i64> {
        let (to, extents) = channel();
        let answer = Box::new(move |result| to.send(result).expect("the test waits"));
        let query = AllocationQuery { start: Lba::new(start), sectors: Sectors::new(sectors), most, answer };
        query.answer_by(Sectors::new(4), |unit| match unit % 3 {
            0 => Allocation::Deallocated,
            _ => Allocation::Mapped,
        });
        let signed = |extent: &AllocatedExtent| match extent.allocation {
            Allocation::Mapped => extent.sectors.get() as i64,
            Allocation::Deallocated => -(extent.sectors.get() as i64),
        };
        extents.recv().expect("an answer").expect("extents").iter().map(signed).collect()
    }

    #[test]
    fn neighbours_of_one_kind_are_one_extent_within_the_range() {
        assert_eq!(lengths(0, 24, 9), [-4, 8, -4, 8]);
        assert_eq!(lengths(1, 22, 9), [-3, 8, -4, 7]);
        assert_eq!(lengths(5, 2, 9), [2]);
        assert_eq!(lengths(11, 1, 9), [1]);
    }

    #[test]
    fn an_answer_is_short_and_makes_progress() {
        assert_eq!(lengths(1, 22, 1), [-3]);
        assert_eq!(lengths(1, 22, 3), [-3, 8, -4]);
        let all = lengths(2, 1 << 30, usize::MAX);
        assert_eq!(all.iter().map(|length| length.unsigned_abs()).sum::<u64>(), AllocationQuery::UNITS * 4 - 2);
    }
}
