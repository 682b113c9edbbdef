//! What the allocation method saves in a merge if nothing else is to be done (Sung, Sec. 4.4, Fig. 11 to 13): the bound
//! that the thesis calls optimal, and that a run comes to as far as the controllers a merge wants are idle.

use base::units::Span;
use flash::backend::Timing;

/// Operations of a controller on single pages, with their transfers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Ideal {
    read: Span,
    program: Span,
    erase: Span,
}

impl Ideal {
    /// Where page types differ, the mean of them.
    pub(super) fn new(timing: &Timing) -> Self {
        let mean = |times: &[Span]| {
            let sum: u64 = times.iter().map(|time| time.as_ps()).sum();
            Span::from_ps(sum / times.len() as u64)
        };
        let page = timing.command + timing.transfer[1];
        Self { read: mean(&timing.read) + page, program: mean(&timing.program) + page, erase: timing.erase }
    }

    /// Of a partial merge that copies `n` pages: one controller for all of it, or one that reads and erases and one
    /// that programs (Fig. 11).
    pub(super) fn saved_by_partial(&self, n: u64) -> Span {
        let without = (self.read + self.program) * n + self.erase;
        let with = (self.read * n + self.erase).max(self.programs(n));
        without.saturating_sub(with)
    }

    /// Of the making of a data block from pages of the old one and of log blocks, and of which blocks are erased then:
    /// one controller that reads and erases, or one for the data block and one for the log; the destination has one
    /// of its own either way (Fig. 12).
    pub(super) fn saved_by_full(&self, (data, log): (u64, u64), (erase_data, erase_log): (bool, bool)) -> Span {
        let erase = |erased: bool| self.erase * u64::from(erased);
        let programs = self.programs(data + log);
        let (data, log) = (self.read * data + erase(erase_data), self.read * log + erase(erase_log));
        (data + log).max(programs).saturating_sub(data.max(log).max(programs))
    }

    /// The pages that are programmed while others are still read.
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
    fn a_partial_merge_saves_its_programs_or_its_reads_and_the_erase() {
        for (n, us) in [(0, 0), (1, 250), (2, 500), (8, 2000), (32, 3825), (63, 6150)] {
            assert_eq!(SUNG.saved_by_partial(n), Span::from_us(us), "{n} pages");
        }
    }

    #[test]
    fn a_full_merge_saves_an_erase_and_the_reads_beside_it() {
        assert_eq!(SUNG.saved_by_full((2, 2), (true, true)), Span::from_us(1650), "Fig. 12");
        assert_eq!(SUNG.saved_by_full((2, 0), (true, false)), Span::ZERO, "nothing from the log, no erase of it");
        assert_eq!(SUNG.saved_by_full((60, 4), (true, true)), Span::ZERO, "the programs take longer than all else");
    }
}
