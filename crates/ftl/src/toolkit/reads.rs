//! The time of the reads of a mount: dies work in parallel, and so do channels.

use base::units::{Span, SuperblockId};
use flash::backend::Timing;
use flash::nand::{Geometry, Media, Spare};

/// The reads of one step of a mount; the step ends with the last of them.
pub(crate) struct Reads<'a> {
    geometry: &'a Geometry,
    /// The summed array times of the first rows of a superblock, up to the row after which the times repeat.
    of_rows: Vec<Span>,
    array: Vec<Span>,
    bus: Vec<Span>,
}

impl<'a> Reads<'a> {
    /// A step without reads; `times` are the array times of the rows of a superblock, which repeat.
    pub(crate) fn new(geometry: &'a Geometry, times: &[Span]) -> Self {
        let sums = times.iter().scan(Span::ZERO, |sum, time| {
            *sum += *time;
            Some(*sum)
        });
        Self {
            geometry,
            of_rows: std::iter::once(Span::ZERO).chain(sums).collect(),
            array: vec![Span::ZERO; geometry.die_count() as usize],
            bus: vec![Span::ZERO; geometry.channels as usize],
        }
    }

    pub(crate) fn add(&mut self, superblock: SuperblockId, row: u32, transfer: Span) {
        let row = row as usize % (self.of_rows.len() - 1);
        self.add_times(superblock, self.of_rows[row + 1] - self.of_rows[row], transfer);
    }

    /// Adds the reads of the first `rows` rows, each with a transfer that takes `transfer`.
    pub(crate) fn add_first(&mut self, superblock: SuperblockId, rows: u32, transfer: Span) {
        let repeats = self.of_rows.len() - 1;
        let (whole, rest) = (rows as usize / repeats, rows as usize % repeats);
        let array = self.of_rows[repeats] * whole as u64 + self.of_rows[rest];
        self.add_times(superblock, array, transfer * u64::from(rows));
    }

    /// Adds array time to the superblock's die, and transfer time to its channel.
    pub(crate) fn add_times(&mut self, superblock: SuperblockId, array: Span, transfer: Span) {
        let die = self.geometry.die_of(superblock);
        self.array[die.index()] += array;
        self.bus[self.geometry.channel_of(die).index()] += transfer;
    }

    pub(crate) fn time(self) -> Span {
        self.array.into_iter().chain(self.bus).max().unwrap_or(Span::ZERO)
    }
}

/// The time of a scan of all spare areas with all channels in parallel. The scan reads every programmed row and
/// transfers the spare bytes of its pages.
pub(crate) fn scan_time(timing: &Timing, spare_transfer: Span, media: &Media) -> Span {
    let geometry = media.geometry();
    let mut reads = Reads::new(geometry, &timing.read);
    let (row, spares) = (geometry.row_slots(), spare_transfer * u64::from(geometry.stripe));
    for superblock in (0..geometry.superblock_count()).map(SuperblockId::new) {
        if let Some(rows) = media.first_rows(superblock) {
            reads.add_first(superblock, rows, spares);
            continue;
        }
        for page in 0..geometry.pages {
            let mut slots = (0..row).map(|i| media.spare(geometry.slot(superblock, page * row + i)));
            if slots.any(|spare| spare != Spare::Empty) {
                reads.add(superblock, page, spares);
            }
        }
    }
    reads.time()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_first_rows_take_as_long_as_each_of_them(
            times in prop::collection::vec(1u64..1000, 1..5),
            rows in 0u32..40,
            superblock in 0u32..16,
        ) {
            let geometry = Geometry::new(2, 2, 1, 1, 1, 4, 40, 1, 4).expect("a small array");
            let times: Vec<Span> = times.into_iter().map(Span::from_us).collect();
            let (superblock, transfer) = (SuperblockId::new(superblock), Span::from_us(7));
            let [mut at_once, mut one_by_one] = [(); 2].map(|()| Reads::new(&geometry, &times));
            at_once.add_first(superblock, rows, transfer);
            (0..rows).for_each(|row| one_by_one.add(superblock, row, transfer));
            prop_assert_eq!(at_once.time(), one_by_one.time());
        }
    }
}
