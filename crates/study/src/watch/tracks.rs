//! The commands on the critical paths of requests.
//!
//! A finished command refers to the command of its list that it waited for. So a path is the number of its last
//! command, and a command that finishes extends the paths of all its requests at once. The legs of a path are collected
//! when its request completes. References are counted: a command is kept while its list, a later command or a request
//! refers to it.

use std::num::NonZeroU32;

use base::units::{Span, Time};
use flash::backend::Cause;

use super::journey::{JourneyPart, Leg};

/// A command in flight or finished.
#[derive(Clone, Debug, Default)]
pub(super) struct Track {
    pub(super) list: u32,
    pub(super) submitted: Time,
    pub(super) ready: Time,
    pub(super) finished: Time,
    /// The legs of the command, in order, without gaps.
    pub(super) legs: Vec<Leg>,
    /// The activity that the command waited behind, by cause; after the command has finished, summed over all commands
    /// of the path up to it.
    pub(super) behind: [Span; Cause::COUNT],
    /// True if the command's data has left the die: the rest of its time is decoding.
    pub(super) out: bool,
    /// True if the command reads its page again.
    pub(super) again: bool,
    /// True if the command's array is suspended.
    pub(super) stopped: bool,
    /// True if the command has its die, and waits for the power cap.
    pub(super) capped: bool,
    /// The requests that the command serves.
    pub(super) owners: Vec<NonZeroU32>,
    /// The command that this command waited for.
    pub(super) before: Option<u32>,
    /// True if the first command of the path up to this command waited for its controller.
    pub(super) waited: bool,
    users: u32,
}

impl Track {
    /// The part to which time in the error correction belongs: a retry if the page is read again.
    pub(super) const fn decoding(&self) -> JourneyPart {
        if self.again { JourneyPart::Retry } else { JourneyPart::Decode }
    }
}

/// All commands with references.
#[derive(Clone, Debug, Default)]
pub(super) struct Tracks {
    all: Vec<Track>,
    free: Vec<u32>,
    /// A scratch list of [`Tracks::legs`].
    way: Vec<u32>,
}

impl std::ops::Index<u32> for Tracks {
    type Output = Track;

    fn index(&self, track: u32) -> &Track {
        &self.all[track as usize]
    }
}

impl std::ops::IndexMut<u32> for Tracks {
    fn index_mut(&mut self, track: u32) -> &mut Track {
        &mut self.all[track as usize]
    }
}

impl Tracks {
    /// Adds a command that was submitted to this list, with one reference.
    pub(super) fn add(&mut self, list: u32, at: Time) -> u32 {
        let number = self.free.pop().unwrap_or_else(|| {
            self.all.push(Track::default());
            self.all.len() as u32 - 1
        });
        let track = &mut self.all[number as usize];
        (track.list, track.submitted, track.ready, track.finished) = (list, at, at, at);
        track.legs.clear();
        track.owners.clear();
        (track.behind, track.out, track.again) = (Default::default(), false, false);
        (track.stopped, track.capped) = (false, false);
        (track.before, track.waited, track.users) = (None, false, 1);
        number
    }

    /// Adds a reference to the command.
    pub(super) fn keep(&mut self, track: u32) {
        self[track].users += 1;
    }

    /// Removes a reference to the command. A command without references is dropped.
    pub(super) fn release(&mut self, track: u32) {
        let mut next = Some(track);
        while let Some(number) = next {
            let track = &mut self[number];
            track.users -= 1;
            if track.users > 0 {
                return;
            }
            next = track.before;
            self.free.push(number);
        }
    }

    /// Ends a command that waited for `before`.
    pub(super) fn finish(&mut self, track: u32, before: Option<u32>) {
        if let Some(before) = before {
            self.keep(before);
            let (behind, waited) = (self[before].behind, self[before].waited);
            let track = &mut self[track];
            track.behind.iter_mut().zip(behind).for_each(|(sum, span)| *sum += span);
            (track.before, track.waited) = (Some(before), waited);
        } else {
            let track = &mut self[track];
            track.waited = track.submitted < track.ready;
        }
    }

    /// Adds the legs of the path that ends with this command.
    pub(super) fn legs(&mut self, last: u32, legs: &mut Vec<Leg>) {
        let mut way = std::mem::take(&mut self.way);
        way.extend(std::iter::successors(Some(last), |track| self[*track].before));
        for track in way.drain(..).rev().map(|number| &self[number]) {
            if track.before.is_none() && track.waited {
                let (from, until) = (track.submitted, track.ready);
                legs.push(Leg { part: JourneyPart::Controller, from, until, at: None, drive: None });
            }
            legs.extend_from_slice(&track.legs);
        }
        self.way = way;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const US: fn(u64) -> Time = |us| Time::ZERO + Span::from_us(us);

    /// Adds a command that was ready, and worked, at these times.
    fn add(tracks: &mut Tracks, submitted: u64, (from, until): (u64, u64), before: Option<u32>) -> u32 {
        let number = tracks.add(0, US(submitted));
        let track = &mut tracks[number];
        (track.ready, track.finished) = (US(from), US(until));
        track.behind[Cause::Gc as usize] = Span::from_us(1);
        track.legs.push(Leg { part: JourneyPart::Array, from: US(from), until: US(until), at: None, drive: None });
        tracks.finish(number, before);
        number
    }

    #[test]
    fn a_path_leads_from_the_first_command_to_the_last() {
        let mut tracks = Tracks::default();
        let first = add(&mut tracks, 0, (2, 5), None);
        let second = add(&mut tracks, 0, (5, 6), Some(first));
        let other = add(&mut tracks, 0, (5, 9), Some(first));
        let path = |tracks: &mut Tracks, last| {
            let mut legs = Vec::new();
            tracks.legs(last, &mut legs);
            legs.iter().map(|leg| (leg.part, leg.until.as_ps() / 1_000_000)).collect::<Vec<_>>()
        };
        let begin = [(JourneyPart::Controller, 2), (JourneyPart::Array, 5)];
        assert_eq!(path(&mut tracks, second), [&begin[..], &[(JourneyPart::Array, 6)]].concat());
        assert_eq!(path(&mut tracks, other), [&begin[..], &[(JourneyPart::Array, 9)]].concat());
        assert_eq!(tracks[other].behind[Cause::Gc as usize], Span::from_us(2));
    }

    #[test]
    fn a_command_is_kept_while_something_leads_to_it() {
        let mut tracks = Tracks::default();
        let first = add(&mut tracks, 0, (0, 1), None);
        let second = add(&mut tracks, 0, (1, 2), Some(first));
        tracks.keep(second);
        // The list releases both commands.
        [first, second].into_iter().for_each(|track| tracks.release(track));
        assert!(tracks.free.is_empty(), "a request leads to the second, and that to the first");
        tracks.release(second);
        assert_eq!(tracks.free.len(), 2);
        add(&mut tracks, 3, (3, 4), None);
        assert_eq!(tracks.all.len(), 2, "the room is used again");
    }
}
