//! The recent activity of a resource, which names the cause of a wait for it.

use std::collections::VecDeque;

use base::units::{Span, Time};
use flash::backend::Cause;

/// The number of pieces of work that are kept: enough for all activity between a command's arrival and its start.
/// Earlier activity counts as unknown.
const RECENT: usize = 512;

/// A piece of work: its begin, its end, and its cause.
pub(super) type WorkPiece = (Time, Time, Cause);

/// The latest pieces of work of a resource, in the order of their ends. In cache mode a die does two pieces at once, so
/// a piece may begin later than another and end earlier.
#[derive(Clone, Debug, Default)]
pub(super) struct Recent(VecDeque<WorkPiece>);

impl Recent {
    pub(super) fn push(&mut self, from: Time, until: Time, cause: Cause) {
        if self.0.len() == RECENT {
            self.0.pop_front();
        }
        let later = self.0.iter().rev().take_while(|(_, ended, _)| *ended > until).count();
        self.0.insert(self.0.len() - later, (from, until, cause));
    }

    /// Adds a piece, or extends the last piece if that ends at `from` and has the same cause.
    pub(super) fn extend(&mut self, from: Time, until: Time, cause: Cause) {
        match self.0.back_mut() {
            Some((_, ended, last)) if *ended == from && *last == cause => *ended = until,
            _ => self.push(from, until, cause),
        }
    }

    /// Shortens the piece that ends last to this end, if it ends later. Returns the piece as it was.
    pub(super) fn shorten_last(&mut self, until: Time) -> Option<WorkPiece> {
        let piece @ (from, ended, cause) = *self.0.back()?;
        if ended <= until {
            return None;
        }
        self.0.pop_back();
        self.push(from, until, cause);
        Some(piece)
    }

    /// Shortens this piece to an earlier end, if it is still known.
    pub(super) fn shorten(&mut self, piece: WorkPiece, until: Time) {
        if let Some(place) = self.0.iter().rposition(|known| *known == piece) {
            self.0.remove(place);
            self.push(piece.0, until, piece.2);
        }
    }

    /// The activity between two times, in order.
    pub(super) fn between(&self, from: Time, until: Time) -> impl Iterator<Item = WorkPiece> {
        let first = self.0.partition_point(|(_, ended, _)| *ended <= from);
        let some = self.0.range(first..).take_while(move |(began, ..)| *began < until);
        some.map(move |(began, ended, cause)| ((*began).max(from), (*ended).min(until), *cause))
    }

    /// Adds the activity between two times, by cause. An instant counts once, for the piece that ends last.
    pub(super) fn add(&self, from: Time, until: Time, behind: &mut [Span; Cause::COUNT]) {
        // Activity from `low` on has been counted: the remaining pieces end no later than the ones before them.
        let mut low = until;
        for (began, ended, cause) in self.0.iter().rev().take_while(|(_, ended, _)| *ended > from) {
            let (first, last) = ((*began).max(from), (*ended).min(low));
            if first < last {
                behind[*cause as usize] += last - first;
                low = first;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn us(us: u64) -> Time {
        Time::from_ps(us * 1_000_000)
    }

    fn of(pieces: &[(u64, u64, Cause)]) -> Recent {
        let mut recent = Recent::default();
        pieces.iter().for_each(|(from, until, cause)| recent.push(us(*from), us(*until), *cause));
        recent
    }

    /// The microseconds between two times for which the resource worked for the host, and for garbage collection.
    fn behind(recent: &Recent, from: u64, until: u64) -> [u64; 2] {
        let mut behind = Default::default();
        recent.add(us(from), us(until), &mut behind);
        [Cause::Host, Cause::Gc].map(|cause| behind[cause as usize].as_ns() / 1000)
    }

    #[test]
    fn a_long_piece_counts_although_shorter_ones_begin_and_end_meanwhile() {
        let recent = of(&[(0, 100, Cause::Gc), (0, 10, Cause::Host), (40, 50, Cause::Host), (100, 120, Cause::Host)]);
        assert_eq!(behind(&recent, 0, 120), [20, 100]);
        assert_eq!(behind(&recent, 60, 110), [10, 40]);
        assert_eq!(behind(&recent, 20, 20), [0; 2]);
    }

    #[test]
    fn each_instant_counts_once_for_what_ends_last_and_gaps_do_not_count() {
        let recent = of(&[(0, 10, Cause::Host), (20, 40, Cause::Gc), (30, 60, Cause::Host)]);
        assert_eq!(behind(&recent, 0, 100), [40, 10]);
    }

    #[test]
    fn a_shortened_piece_takes_its_place_among_the_ends() {
        let mut recent = of(&[(0, 20, Cause::Host), (10, 50, Cause::Gc)]);
        assert_eq!(recent.shorten_last(us(15)), Some((us(10), us(50), Cause::Gc)));
        assert_eq!(recent.shorten_last(us(30)), None, "it ends by then");
        assert_eq!(behind(&recent, 0, 60), [20, 0]);
        recent.shorten((us(0), us(20), Cause::Host), us(5));
        assert_eq!(behind(&recent, 0, 60), [5, 5]);
    }
}
