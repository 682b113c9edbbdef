//! The time that the allocation method saves in a merge on an idle drive (Sung, Sec. 4.4, Fig. 11 to 13). The thesis
//! calls this bound optimal. A run reaches the bound if the controllers that a merge uses are otherwise idle.

use base::units::Span;
use flash::backend::{Op, Timing};

/// The times of a controller's operations on single pages, with their transfers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ideal {
    read: Span,
    program: Span,
    erase: Span,
}

impl Ideal {
    /// Uses the mean of the page types, if their times differ.
    pub(super) fn new(timing: &Timing) -> Self {
        let mean = |times: &[Span]| {
            let sum: u64 = times.iter().map(|time| time.as_ps()).sum();
            Span::from_ps(sum / times.len() as u64)
        };
        let (page, busy) = (timing.transfer[1], timing.cycles.busy);
        let read = timing.commands(Op::Read, 1) + timing.around_data_out(1);
        Self {
            read: mean(&timing.read) + busy + page + read,
            program: mean(&timing.program) + busy + page + timing.before_data_in(1),
            erase: timing.erase,
        }
    }

    /// The time saved in a partial merge of `n` copied pages. Without the method one controller does all the work. With
    /// the method one controller reads and erases while another programs (Fig. 11).
    pub(super) fn saved_by_partial(&self, n: u64) -> Span {
        let without = (self.read + self.program) * n + self.erase;
        let with = (self.read * n + self.erase).max(self.programs(n));
        without.saturating_sub(with)
    }

    /// The time saved in making a data block from `data` pages of the old data block and `log` pages of log blocks, and
    /// in erasing these blocks. Without the method one controller does all reads and erases. With the method one
    /// controller does those of the data block and another those of the log. The destination has its own controller
    /// either way (Fig. 12).
    pub(super) fn saved_by_full(&self, (data, log): (u64, u64), (erase_data, erase_log): (bool, bool)) -> Span {
        let erase = |erased: bool| self.erase * u64::from(erased);
        let programs = self.programs(data + log);
        let (data, log) = (self.read * data + erase(erase_data), self.read * log + erase(erase_log));
        (data + log).max(programs).saturating_sub(data.max(log).max(programs))
    }

    /// The time of `n` programs, each of which overlaps the read of the next page: the first read is not hidden.
    fn programs(&self, n: u64) -> Span {
        if n == 0 { Span::ZERO } else { self.read + self.program * n }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sung, Table 1.
    const SUNG: Ideal = Ideal { read: Span::from_us(75), program: Span::from_us(250), erase: Span::from_us(1500) };

    #[test]
    fn an_ideal_partial_merge_hides_its_programs_or_its_reads_and_the_erase() {
        for (n, us) in [(0, 0), (1, 250), (2, 500), (8, 2000), (32, 3825), (63, 6150)] {
            assert_eq!(SUNG.saved_by_partial(n), Span::from_us(us), "{n} pages");
        }
    }

    #[test]
    fn an_ideal_full_merge_hides_an_erase_and_the_reads_beside_it() {
        assert_eq!(SUNG.saved_by_full((2, 2), (true, true)), Span::from_us(1650), "Fig. 12");
        assert_eq!(SUNG.saved_by_full((2, 0), (true, false)), Span::ZERO, "nothing from the log, no erase of it");
        assert_eq!(SUNG.saved_by_full((60, 4), (true, true)), Span::ZERO, "the programs take longer than all else");
    }
}
