//! What a drive knows of the content of its sectors without reading them.

use base::units::{Lba, Sectors};

use crate::Failed;

/// What a drive knows of sectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Allocation {
    /// They may hold data.
    Mapped,
    /// They were never written, or were discarded, and read as zeros.
    Deallocated,
}

/// Neighbouring sectors of which the drive knows the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AllocatedExtent {
    /// How many they are: at least one.
    pub sectors: Sectors,
    /// What it knows.
    pub allocation: Allocation,
}

/// Takes the answer to a question for allocation: once, from any thread, and without waiting.
pub type TakeExtents = Box<dyn FnOnce(Result<Vec<AllocatedExtent>, Failed>) + Send>;

/// Asks for the allocation of a range. Every write that was answered before the question counts as data.
pub struct AllocationQuery {
    /// The first sector.
    pub start: Lba,
    /// The number of sectors, at least one.
    pub sectors: Sectors,
    /// The most extents of the answer, at least one. The answer begins with the first sector, and may end before the range.
    pub most: usize,
    /// Where the answer goes. A query that is dropped without one was lost with its drive.
    pub answer: TakeExtents,
}

impl AllocationQuery {
    /// The most mapping units that one answer looks at: a drive has more to do.
    pub(crate) const UNITS: u64 = 4096;

    /// Answers that all may be data, which is never wrong.
    pub fn answer_mapped(self) {
        let all = AllocatedExtent { sectors: self.sectors, allocation: Allocation::Mapped };
        (self.answer)(Ok(vec![all]));
    }

    /// Answers from what is known of mapping units of this size. It is called with the number of each, in order.
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
