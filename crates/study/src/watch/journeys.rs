//! Follows every request from its arrival to its completion.
//!
//! The legs divide the time between arrival and completion without gaps. The flash part is the critical path, followed
//! from its end: from the command that finished last to the command of its list that it waited for, and so on up to the
//! submission of the list. The parts therefore add up to the latency exactly. Other commands that finished earlier at
//! the same time do not count.

use std::num::NonZeroU32;

use base::units::{Span, Time};
use flash::backend::{Cause, Moment, Phase, Primitive, RequestStep, Resource, Stop};
use ssd::Tag;

use super::journey::{Journey, Leg, Part};
use super::sums::Sums;
use super::track::Began;

/// The recent activity of a resource, which names the cause of a wait for it.
#[derive(Clone, Debug, Default)]
struct Recent(std::collections::VecDeque<(Time, Time, Cause)>);

/// Enough for all activity between a command's arrival and its start; earlier activity counts as unknown.
const RECENT: usize = 512;

impl Recent {
    fn push(&mut self, from: Time, until: Time, cause: Cause) {
        if self.0.len() == RECENT {
            self.0.pop_front();
        }
        self.0.push_back((from, until, cause));
    }

    /// The same, merged with the previous piece if that is adjacent and has the same cause.
    fn extend(&mut self, from: Time, until: Time, cause: Cause) {
        match self.0.back_mut() {
            Some((_, ended, last)) if *ended == from && *last == cause => *ended = until,
            _ => self.push(from, until, cause),
        }
    }

    /// The activity between two times, in order.
    fn between(&self, from: Time, until: Time) -> impl Iterator<Item = (Time, Time, Cause)> {
        let first = self.0.partition_point(|(_, ended, _)| *ended <= from);
        let some = self.0.range(first..).take_while(move |(began, ..)| *began < until);
        some.map(move |(began, ended, cause)| ((*began).max(from), (*ended).min(until), *cause))
    }

    /// Adds the activity between two times, the later of which is now.
    fn add(&self, from: Time, until: Time, behind: &mut [Span; Cause::COUNT]) {
        if from >= until {
            return;
        }
        for (began, ended, cause) in self.0.iter().rev() {
            if *ended <= from {
                break;
            }
            let (first, last) = ((*began).max(from), (*ended).min(until));
            if first < last {
                behind[*cause as usize] += last - first;
            }
        }
    }
}

/// A command in flight or finished.
#[derive(Clone, Debug)]
struct Track {
    list: u32,
    submitted: Time,
    ready: Time,
    finished: Time,
    /// Its legs, in order, without gaps.
    legs: Vec<Leg>,
    behind: [Span; Cause::COUNT],
    /// Its data has gone out: the rest of its time is decoding.
    out: bool,
    owners: Vec<NonZeroU32>,
}

/// A list and its finished commands.
#[derive(Clone, Debug, Default)]
struct Done {
    under_way: u32,
    submitted: Time,
    /// The activity of its controller while it waited.
    behind: [Span; Cause::COUNT],
    /// In the order in which they finished.
    tracks: Vec<Track>,
}

impl Done {
    /// The command that a command of this list waited for, if there is one: the first that finished at the instant it
    /// became ready.
    fn before(&self, track: &Track) -> Option<usize> {
        if track.ready <= track.submitted {
            return None;
        }
        let place = self.tracks.partition_point(|other| other.finished < track.ready);
        self.tracks.get(place).is_some_and(|other| other.finished == track.ready).then_some(place)
    }
}

/// The state of a request.
#[derive(Clone, Debug, Default)]
struct Stops {
    clear: Time,
    here: Time,
    served: Time,
    /// The critical path of its flash commands, up to the command that finished last.
    path: Vec<Leg>,
    behind: [Span; Cause::COUNT],
    finished: Option<Time>,
    /// That command: its list and its place there. With the time of the list's submission, because numbers are reused.
    last: Option<(u32, Time, usize)>,
    /// Legs at the beginning of the path that belong to lists before the last one, the time at which these finished,
    /// and the causes behind which they waited.
    kept: usize,
    kept_until: Time,
    kept_behind: [Span; Cause::COUNT],
}

#[derive(Clone, Debug, Default)]
pub(super) struct Journeys {
    commands: Vec<Option<Track>>,
    lists: Vec<Done>,
    requests: Vec<Stops>,
    dies: Vec<Recent>,
    channels: Vec<Recent>,
    units: Vec<Recent>,
    /// Lists that ran serially.
    serial: Recent,
    /// The list that a controller holds, with the time since when.
    holds: Vec<Option<(Time, Cause)>>,
    /// All completed requests, if they are kept.
    finished: Option<Vec<Journey>>,
    /// The sums over all requests: those already reported, and those since.
    told: Sums,
    sums: Sums,
    /// The request whose legs are kept, and the legs.
    wanted: Option<Tag>,
    legs: Vec<Leg>,
    /// Unused lists, so that a command takes no new memory.
    spare_legs: Vec<Vec<Leg>>,
    spare_owners: Vec<Vec<NonZeroU32>>,
}

fn at<T: Clone + Default>(all: &mut Vec<T>, index: u32) -> &mut T {
    let index = index as usize;
    if all.len() <= index {
        all.resize(index + 1, T::default());
    }
    &mut all[index]
}

impl Journeys {
    /// Journeys that keep every request, and every leg of one.
    pub(super) fn each(wanted: Option<Tag>) -> Self {
        Self { finished: Some(Vec::new()), wanted, ..Self::default() }
    }

    /// Forgets everything.
    pub(super) fn begin(&mut self) {
        let (finished, wanted) = (self.finished.is_some().then(Vec::new), self.wanted);
        *self = Self { finished, wanted, ..Self::default() };
    }

    /// Forgets completed requests. Those in flight continue.
    pub(super) fn measure(&mut self) {
        self.finished = self.finished.is_some().then(Vec::new);
        (self.told, self.sums) = Default::default();
        self.legs.clear();
    }

    pub(super) fn finished(&self) -> &[Journey] {
        self.finished.as_deref().unwrap_or_default()
    }

    /// The sums over all requests.
    pub(super) fn all(&self) -> Sums {
        let mut all = self.told.clone();
        all.merge(&self.sums);
        all
    }

    /// The sums since the previous call.
    pub(super) fn since(&mut self) -> Sums {
        let sums = std::mem::take(&mut self.sums);
        self.told.merge(&sums);
        sums
    }

    pub(super) fn legs(&self) -> &[Leg] {
        &self.legs
    }

    pub(super) fn command(&mut self, moment: &Moment<'_>) {
        let number = moment.number;
        match moment.stop {
            Stop::Submitted => {
                let list = at(&mut self.lists, moment.list);
                if list.under_way == 0 {
                    self.spare_legs.extend(list.tracks.drain(..).map(|track| track.legs));
                    (list.submitted, list.behind) = (moment.at, Default::default());
                }
                list.under_way += 1;
                let mut owners = self.spare_owners.pop().unwrap_or_default();
                owners.clear();
                owners.extend(moment.slots.iter().filter_map(|slot| slot.owner));
                owners.sort_unstable();
                owners.dedup();
                let mut legs = self.spare_legs.pop().unwrap_or_default();
                legs.clear();
                let track = Track {
                    list: moment.list,
                    submitted: moment.at,
                    ready: moment.at,
                    finished: moment.at,
                    legs,
                    behind: Default::default(),
                    out: false,
                    owners,
                };
                *at(&mut self.commands, number) = Some(track);
            }
            Stop::Ready => {
                if let Some(track) = at(&mut self.commands, number) {
                    track.ready = moment.at;
                }
            }
            Stop::Finished => {
                let Some(mut track) = at(&mut self.commands, number).take() else { return };
                track.finished = moment.at;
                let last = track.legs.last().map_or(track.ready, |leg| leg.until);
                let rest = if track.out { Part::Decode } else { Part::Die };
                fill(&mut track.legs, last, moment.at, rest, None);
                let owners = std::mem::take(&mut track.owners);
                for owner in &owners {
                    self.arrived(*owner, &track);
                }
                self.spare_owners.push(owners);
                let list = at(&mut self.lists, track.list);
                list.under_way -= 1;
                debug_assert!(list.tracks.last().is_none_or(|last| last.finished <= track.finished));
                list.tracks.push(track);
            }
        }
    }

    /// Notes a finished command of a request. If it is the last so far, the request's path leads through it.
    fn arrived(&mut self, owner: NonZeroU32, track: &Track) {
        let done = &self.lists[track.list as usize];
        let Some(stops) = self.requests.get_mut(owner.get() as usize) else { return };
        if stops.finished.is_some_and(|finished| finished > track.finished) {
            return;
        }
        let before = done.before(track);
        let last = stops.last.replace((track.list, track.submitted, done.tracks.len()));
        let follows = last.is_some() && last == before.map(|place| (track.list, track.submitted, place));
        if follows && stops.finished == Some(track.ready) {
            // It waited for the command with which the path ends.
            stops.finished = Some(track.finished);
            track.behind.iter().zip(&mut stops.behind).for_each(|(from, to)| *to += *from);
            stops.path.extend_from_slice(&track.legs);
            return;
        }
        // Commands that finished before the submission of this list belong to the path, too.
        if let Some(finished) = stops.finished.filter(|finished| *finished <= track.submitted) {
            (stops.kept, stops.kept_until, stops.kept_behind) = (stops.path.len(), finished, stops.behind);
        } else if track.submitted < stops.kept_until {
            (stops.kept, stops.kept_until, stops.kept_behind) = Default::default();
        }
        stops.path.truncate(stops.kept);
        stops.finished = Some(track.finished);
        stops.behind = stops.kept_behind;
        track.behind.iter().zip(&mut stops.behind).for_each(|(from, to)| *to += *from);
        let mut current = track;
        loop {
            stops.path.extend(current.legs.iter().rev());
            match done.before(current) {
                Some(before) => {
                    let before = &done.tracks[before];
                    before.behind.iter().zip(&mut stops.behind).for_each(|(from, to)| *to += *from);
                    current = before;
                }
                None => break,
            }
        }
        if current.submitted < current.ready {
            let (from, until) = (current.submitted, current.ready);
            stops.path.push(Leg { part: Part::Controller, from, until, at: None });
            done.behind.iter().zip(&mut stops.behind).for_each(|(from, to)| *to += *from);
        }
        // The loop followed the path from its end.
        stops.path[stops.kept..].reverse();
    }

    /// Notes that a controller takes a list, or has finished one.
    pub(super) fn controller(&mut self, now: Time, unit: u32, list: Option<(u32, Cause)>) {
        let before = std::mem::replace(at(&mut self.holds, unit), list.map(|(_, cause)| (now, cause)));
        if let Some((from, cause)) = before {
            at(&mut self.units, unit).push(from, now, cause);
        }
        if let Some((list, _)) = list {
            let list = at(&mut self.lists, list);
            at(&mut self.units, unit).add(list.submitted, now, &mut list.behind);
        }
    }

    /// Notes a serial command.
    pub(super) fn serial(&mut self, from: Time, until: Time, cause: Cause) {
        self.serial.extend(from, until, cause);
    }

    pub(super) fn phase(&mut self, phase: &Phase) {
        if matches!(phase.resource, Resource::Decoder(_)) {
            return;
        }
        let track = self.commands.get_mut(phase.command as usize).and_then(Option::as_mut);
        // A hold of the channel does not count: the array works meanwhile.
        if let Some(track) = track.filter(|_| phase.primitive != Primitive::Hold) {
            track.out = phase.primitive == Primitive::DataOut;
            let last = track.legs.last().map_or(track.ready, |leg| leg.until);
            let asked = phase.ready.clamp(last, phase.from.max(last));
            at(&mut self.dies, phase.die).add(last, asked, &mut track.behind);
            fill(&mut track.legs, last, asked, Part::Die, Some(Resource::Array(phase.die)));
            let works = match phase.resource {
                Resource::Array(_) | Resource::Decoder(_) => Part::Array,
                Resource::Channel(number) => {
                    at(&mut self.channels, number).add(asked, phase.from, &mut track.behind);
                    fill(&mut track.legs, asked, phase.from, Part::Channel, Some(phase.resource));
                    Part::Transfer
                }
            };
            fill(&mut track.legs, phase.from.max(last), phase.until, works, Some(phase.resource));
        }
        // Filling or emptying its register occupies a die, too.
        at(&mut self.dies, phase.die).push(phase.from, phase.until, phase.cause);
        if let Resource::Channel(number) = phase.resource {
            at(&mut self.channels, number).push(phase.from, phase.until, phase.cause);
        }
    }

    /// Corrects the end of the latest phase of a channel, and of its command and die.
    pub(super) fn shortened(&mut self, resource: Resource, die: u32, command: u32, until: Time) {
        let Resource::Channel(number) = resource else { return };
        let Some(latest) = at(&mut self.channels, number).0.back_mut() else { return };
        let phase = std::mem::replace(latest, (latest.0, until, latest.2));
        // In cache mode the array may have begun to work since.
        let same = at(&mut self.dies, die).0.iter_mut().rev().find(|earlier| **earlier == phase);
        if let Some(same) = same {
            same.1 = until;
        }
        let track = self.commands.get_mut(command as usize).and_then(Option::as_mut);
        if let Some(leg) = track.and_then(|track| track.legs.last_mut()) {
            leg.until = until;
        }
    }

    pub(super) fn request(&mut self, now: Time, owner: NonZeroU32, step: RequestStep, of: &Began) {
        let stops = at(&mut self.requests, owner.get());
        match step {
            RequestStep::Begun { .. } => {
                let mut path = std::mem::take(&mut stops.path);
                path.clear();
                *stops = Stops { path, ..Stops::default() };
            }
            RequestStep::Clear => stops.clear = now,
            RequestStep::Here => stops.here = now,
            RequestStep::Served => stops.served = now,
            RequestStep::Ended => {
                let mut legs = self.spare_legs.pop().unwrap_or_default();
                legs.clear();
                collect(&mut legs, of, stops, now, &self.serial);
                let mut parts = [Span::ZERO; Part::COUNT];
                legs.iter().for_each(|leg| parts[leg.part as usize] += leg.until - leg.from);
                let Began { tag, io, arrival, .. } = *of;
                let journey = Journey { tag, io, arrival, end: now, parts, behind: stops.behind };
                self.sums.add(&journey);
                if let Some(finished) = &mut self.finished {
                    finished.push(journey);
                }
                if self.wanted == Some(tag) {
                    self.legs.clone_from(&legs);
                }
                self.spare_legs.push(legs);
            }
        }
    }
}

/// Adds a leg, unless it is empty.
fn fill(legs: &mut Vec<Leg>, from: Time, until: Time, part: Part, at: Option<Resource>) {
    if from < until {
        legs.push(Leg { part, from, until, at });
    }
}

/// Fills the gap between two legs with `part`, except for the time of serial lists.
fn gap(
    legs: &mut Vec<Leg>,
    (from, until): (Time, Time),
    part: Part,
    serial: &Recent,
    behind: &mut [Span; Cause::COUNT],
) {
    if from >= until {
        return;
    }
    let mut now = from;
    for (began, ended, cause) in serial.between(from, until) {
        fill(legs, now, began, part, None);
        fill(legs, began, ended, Part::Controller, None);
        behind[cause as usize] += ended - began;
        now = ended;
    }
    fill(legs, now, until, part, None);
}

/// Adds all legs of a request, in order.
fn collect(legs: &mut Vec<Leg>, of: &Began, stops: &mut Stops, end: Time, serial: &Recent) {
    fill(legs, of.arrival, of.at, Part::Queue, None);
    fill(legs, of.at, stops.clear, Part::Overlap, None);
    fill(legs, stops.clear, stops.here, Part::Link, None);
    let mut now = stops.here;
    for leg in stops.path.iter().filter(|leg| leg.until > stops.here) {
        // The request may have joined a list that was submitted before it.
        let from = leg.from.max(stops.here);
        gap(legs, (now, from), Part::Ftl, serial, &mut stops.behind);
        fill(legs, from, leg.until, leg.part, leg.at);
        now = leg.until;
    }
    let rest = if stops.path.is_empty() && of.io.kind != base::io::IoKind::Read { Part::Buffer } else { Part::Ftl };
    gap(legs, (now, stops.served), rest, serial, &mut stops.behind);
    fill(legs, stops.served, end, Part::Link, None);
}
