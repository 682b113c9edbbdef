//! Follows every request from its arrival to its completion.
//!
//! The legs divide the time between arrival and completion without gaps. The flash part is the critical path, followed
//! from its end: from the command that finished last to the command of its list that it waited for, and so on up to the
//! submission of the list. The parts therefore add up to the latency exactly. Other commands that finished earlier at
//! the same time do not count.

use std::num::NonZeroU32;

use base::units::{Span, Time};
use flash::backend::{AdmissionDelay, Cause, Moment, Phase, Primitive, RequestStep, Resource, Stop};
use ssd::Tag;

use super::admission::AdmissionDelays;
use super::host_memory;
use super::journey::{Journey, JourneyPart, Leg};
use super::meanwhile::{DividedWait, RunningSums};
use super::recent::Recent;
use super::sums::Sums;
use super::track::ActiveRequest;
use super::tracks::{Track, Tracks};

/// A list whose commands are finishing.
#[derive(Clone, Debug, Default)]
struct FinishingList {
    under_way: u32,
    submitted: Time,
    /// The activity of the controller while the list waited for it, by cause.
    behind: [Span; Cause::COUNT],
    /// The finished commands, each with the time of its end, in the order of these times.
    tracks: Vec<(Time, u32)>,
}

impl FinishingList {
    /// The command that a command of this list waited for, if any: the first that finished at the instant at which the
    /// command became ready.
    fn before(&self, track: &Track) -> Option<u32> {
        if track.ready <= track.submitted {
            return None;
        }
        // It is usually the last command. So the search begins at the end, and goes back by growing steps.
        let (mut from, mut step) = (self.tracks.len(), 1);
        while from > 0 && self.tracks[from - 1].0 >= track.ready {
            from = from.saturating_sub(step);
            step *= 2;
        }
        let place = from + self.tracks[from..].partition_point(|(finished, _)| *finished < track.ready);
        self.tracks.get(place).filter(|(finished, _)| *finished == track.ready).map(|(_, track)| *track)
    }
}

/// The state of a request.
#[derive(Clone, Debug, Default)]
struct Stops {
    /// True while the request is under way. Owners of buffer entries are not requests, and have no path.
    under_way: bool,
    clear: Time,
    here: Time,
    served: Time,
    /// The critical path of the request's flash commands, up to the command that finished last: the last command of
    /// each list on the path.
    path: Vec<u32>,
    behind: [Span; Cause::COUNT],
    finished: Option<Time>,
    /// The number of commands at the beginning of the path that belong to lists before the last list.
    kept: usize,
    kept_until: Time,
    kept_behind: [Span; Cause::COUNT],
    /// The time in the queue, divided by the drive's work meanwhile.
    queued: DividedWait,
    /// The legs from the arrival of the request until the drive takes it.
    admission: Vec<Leg>,
    /// The times in which the request's look-ups read the host's memory, in the order of their ends.
    host_memory: Vec<(Time, Time)>,
}

#[derive(Clone, Debug, Default)]
pub(super) struct Journeys {
    tracks: Tracks,
    /// The track of each command in flight, by the number of the command.
    commands: Vec<Option<u32>>,
    lists: Vec<FinishingList>,
    requests: Vec<Stops>,
    dies: Vec<Recent>,
    channels: Vec<Recent>,
    units: Vec<Recent>,
    /// The recent lists that ran serially.
    serial: Recent,
    /// The times in which the drive took no requests.
    delays: AdmissionDelays,
    /// The drive's work over time, for waits that no resource explains.
    meanwhile: RunningSums,
    /// For each controller: the time since which it holds a list, and the cause of the list.
    holds: Vec<Option<(Time, Cause)>>,
    /// All completed requests, if they are kept.
    finished: Option<Vec<Journey>>,
    /// The legs of each completed request, if these are kept, too.
    courses: Option<Vec<Vec<Leg>>>,
    /// The sums over all requests that have been reported.
    told: Sums,
    sums: Sums,
    /// The request whose legs are kept.
    wanted: Option<Tag>,
    legs: Vec<Leg>,
    /// A scratch list for the legs of a path, so that no request allocates memory.
    path: Vec<Leg>,
    course: Vec<Leg>,
}

fn at<T: Clone + Default>(all: &mut Vec<T>, index: u32) -> &mut T {
    let index = index as usize;
    if all.len() <= index {
        all.resize(index + 1, T::default());
    }
    &mut all[index]
}

impl Journeys {
    /// Creates journeys that keep every request, and every leg of one.
    pub(super) fn each(wanted: Option<Tag>) -> Self {
        Self { finished: Some(Vec::new()), wanted, ..Self::default() }
    }

    /// Creates journeys of a drive below a layer, which takes all completed requests with their legs from time to time.
    pub(super) fn of_member() -> Self {
        Self { finished: Some(Vec::new()), courses: Some(Vec::new()), ..Self::default() }
    }

    /// Takes the requests that have completed since the last call, each with its legs, if these are kept.
    pub(super) fn take(&mut self) -> Vec<(Journey, Vec<Leg>)> {
        let finished = self.finished.as_mut().map(std::mem::take).unwrap_or_default();
        finished.into_iter().zip(self.courses.as_mut().map(std::mem::take).unwrap_or_default()).collect()
    }

    /// Adds a completed request of a layer, with its legs, and the time for which it waited for each drive.
    pub(super) fn add(&mut self, journey: Journey, legs: &[Leg], succeeded: bool, drives: &[Span]) {
        if succeeded {
            self.sums.add(&journey, drives);
        }
        if let Some(courses) = &mut self.courses {
            courses.push(legs.to_vec());
        }
        if self.wanted == Some(journey.tag) {
            self.legs = legs.to_vec();
        }
        if let Some(finished) = &mut self.finished {
            finished.push(journey);
        }
    }

    /// Forgets all events and requests.
    pub(super) fn begin(&mut self) {
        let (finished, courses, wanted) =
            (self.finished.is_some().then(Vec::new), self.courses.is_some().then(Vec::new), self.wanted);
        *self = Self { finished, courses, wanted, ..Self::default() };
    }

    /// Forgets completed requests. Requests in flight continue.
    pub(super) fn end_warm_up(&mut self) {
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
        match moment.stop {
            Stop::Submitted => {
                let list = at(&mut self.lists, moment.list);
                if list.under_way == 0 {
                    list.tracks.drain(..).for_each(|(_, track)| self.tracks.release(track));
                    (list.submitted, list.behind) = (moment.at, Default::default());
                }
                list.under_way += 1;
                let number = self.tracks.add(moment.list, moment.at);
                let owners = &mut self.tracks[number].owners;
                moment.slots.iter().for_each(|slot| owners.extend(slot.owner));
                if owners.len() > 1 {
                    owners.sort_unstable();
                    owners.dedup();
                }
                *at(&mut self.commands, moment.number) = Some(number);
            }
            Stop::Ready => {
                if let Some(track) = *at(&mut self.commands, moment.number) {
                    let track = &mut self.tracks[track];
                    if track.out {
                        // The decoder has failed, so the command waits for its die again.
                        let last = track.legs.last().map_or(track.ready, |leg| leg.until);
                        let decoding = track.decoding();
                        fill(&mut track.legs, last, moment.at, decoding, None);
                        (track.out, track.again) = (false, true);
                    } else {
                        track.ready = moment.at;
                    }
                }
            }
            Stop::Finished => {
                let Some(number) = at(&mut self.commands, moment.number).take() else { return };
                let track = &mut self.tracks[number];
                track.finished = moment.at;
                let last = track.legs.last().map_or(track.ready, |leg| leg.until);
                let rest = if track.out { track.decoding() } else { JourneyPart::Die };
                fill(&mut track.legs, last, moment.at, rest, None);
                if moment.command.cause == Cause::Parity {
                    track.legs.iter_mut().for_each(|leg| leg.part = JourneyPart::Rebuild);
                }
                let (list, own) = (track.list as usize, track.behind);
                let before = self.lists[list].before(&self.tracks[number]);
                self.tracks.finish(number, before);
                for i in 0..self.tracks[number].owners.len() {
                    self.arrived(self.tracks[number].owners[i], number, &own);
                }
                let list = &mut self.lists[list];
                list.under_way -= 1;
                debug_assert!(list.tracks.last().is_none_or(|(last, _)| *last <= moment.at));
                list.tracks.push((moment.at, number));
            }
        }
    }

    /// Notes a finished command of a request. `own` is the activity that the command waited behind. The request's path
    /// ends with the command, unless a later command finishes.
    fn arrived(&mut self, owner: NonZeroU32, number: u32, own: &[Span; Cause::COUNT]) {
        let track = &self.tracks[number];
        let Some(stops) = self.requests.get_mut(owner.get() as usize).filter(|stops| stops.under_way) else { return };
        if stops.finished.is_some_and(|finished| finished > track.finished) {
            return;
        }
        let (submitted, ready, finished) = (track.submitted, track.ready, track.finished);
        if track.before.is_some() && stops.path.last() == track.before.as_ref() && stops.finished == Some(ready) {
            // The command waited for the last command of the path.
            add(&mut stops.behind, own);
        } else {
            // Commands that finished before the submission of this list are an earlier part of the path.
            if let Some(finished) = stops.finished.filter(|finished| *finished <= submitted) {
                (stops.kept, stops.kept_until, stops.kept_behind) = (stops.path.len(), finished, stops.behind);
            } else if submitted < stops.kept_until {
                (stops.kept, stops.kept_until, stops.kept_behind) = Default::default();
            }
            stops.behind = stops.kept_behind;
            add(&mut stops.behind, &track.behind);
            if track.waited {
                add(&mut stops.behind, &self.lists[track.list as usize].behind);
            }
        }
        stops.finished = Some(finished);
        self.tracks.keep(number);
        stops.path.drain(stops.kept..).for_each(|track| self.tracks.release(track));
        stops.path.push(number);
    }

    /// Notes that a controller takes a list; with `None`, that it has finished one.
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

    /// Notes that a command has its die and waits for the power cap.
    pub(super) fn power_capped(&mut self, command: u32) {
        let number = self.commands.get(command as usize).copied().flatten();
        if let Some(number) = number {
            self.tracks[number].capped = true;
        }
    }

    /// Notes a time in which the drive takes no requests.
    pub(super) fn admission_delayed(&mut self, from: Time, until: Time, why: AdmissionDelay) {
        self.delays.push(from, until, why);
    }

    /// Notes the time of a serial command.
    pub(super) fn serial(&mut self, from: Time, until: Time, cause: Cause) {
        self.serial.extend(from, until, cause);
    }

    /// Notes the page copies of a serial list. No request owns such a list, and later commands wait for its end.
    pub(super) fn serial_copies(&mut self, from: Time, until: Time, cause: Cause) {
        self.serial(from, until, cause);
        self.meanwhile.worked(until - from, cause);
    }

    pub(super) fn phase(&mut self, phase: &Phase) {
        if matches!(phase.resource, Resource::Decoder(_)) {
            return;
        }
        let number = self.commands.get(phase.command as usize).copied().flatten();
        let track = number.map(|number| &mut self.tracks[number]);
        // A hold of the channel is not counted as a leg: the array works meanwhile.
        if let Some(track) = track.filter(|_| phase.primitive != Primitive::Hold) {
            track.out = phase.primitive == Primitive::DataOut;
            let last = track.legs.last().map_or(track.ready, |leg| leg.until);
            let asked = phase.ready.clamp(last, phase.from.max(last));
            at(&mut self.dies, phase.die).add(last, asked, &mut track.behind);
            let stopped = std::mem::replace(&mut track.stopped, phase.primitive == Primitive::Suspend);
            let waits = match std::mem::take(&mut track.capped) {
                true => JourneyPart::PowerCap,
                false if stopped => JourneyPart::Suspended,
                false => JourneyPart::Die,
            };
            fill(&mut track.legs, last, asked, waits, Some(Resource::Array(phase.die)));
            let works = match phase.resource {
                Resource::Array(_) | Resource::Plane(_) | Resource::Decoder(_) => JourneyPart::Array,
                Resource::Channel(number) => {
                    at(&mut self.channels, number).add(asked, phase.from, &mut track.behind);
                    fill(&mut track.legs, asked, phase.from, JourneyPart::Channel, Some(phase.resource));
                    JourneyPart::Transfer
                }
            };
            let works = if track.again { JourneyPart::Retry } else { works };
            fill(&mut track.legs, phase.from.max(last), phase.until, works, Some(phase.resource));
        }
        self.meanwhile.worked(phase.until - phase.from, phase.cause);
        // To fill or empty the register of a die occupies the die, too.
        at(&mut self.dies, phase.die).push(phase.from, phase.until, phase.cause);
        if let Resource::Channel(number) = phase.resource {
            at(&mut self.channels, number).push(phase.from, phase.until, phase.cause);
        }
    }

    /// Corrects the end of the latest phase of a channel or an array, and of the command and the die to which it
    /// belongs.
    pub(super) fn shortened(&mut self, resource: Resource, die: u32, command: u32, until: Time) {
        let dies = at(&mut self.dies, die);
        match resource {
            Resource::Decoder(_) => return,
            Resource::Channel(number) => {
                let Some(phase) = at(&mut self.channels, number).shorten_last(until) else { return };
                dies.shorten(phase, until);
            }
            // While an array is stopped, its die does no other work.
            Resource::Array(_) | Resource::Plane(_) => {
                if let Some((_, ended, cause)) = dies.shorten_last(until) {
                    self.meanwhile.stopped(ended - until, cause);
                }
            }
        }
        let number = self.commands.get(command as usize).copied().flatten();
        let Some(legs) = number.map(|number| &mut self.tracks[number].legs) else { return };
        let Some(leg) = legs.last_mut() else { return };
        leg.until = until;
        legs.pop_if(|leg| leg.from == leg.until);
    }

    pub(super) fn request(&mut self, now: Time, owner: NonZeroU32, step: RequestStep, of: &ActiveRequest) {
        let stops = at(&mut self.requests, owner.get());
        match step {
            RequestStep::HostMemory { from, until } => stops.host_memory.push((from, until)),
            RequestStep::Begun { .. } => {
                let (path, mut admission) = (std::mem::take(&mut stops.path), std::mem::take(&mut stops.admission));
                admission.clear();
                let mut host_memory = std::mem::take(&mut stops.host_memory);
                host_memory.clear();
                let mut queued = DividedWait::default();
                self.delays.legs((of.arrival, now), |leg| {
                    if leg.part == JourneyPart::Queue {
                        queued.add(&self.meanwhile.divide((leg.from, leg.until), now));
                    }
                    admission.push(leg);
                });
                *stops = Stops { under_way: true, path, queued, admission, host_memory, ..Stops::default() };
            }
            RequestStep::Clear => stops.clear = now,
            RequestStep::Here => stops.here = now,
            RequestStep::Served => stops.served = now,
            RequestStep::Ended { succeeded } => {
                stops.under_way = false;
                let (path, legs) = (&mut self.path, &mut self.course);
                path.clear();
                legs.clear();
                for track in stops.path.drain(..) {
                    self.tracks.legs(track, path);
                    self.tracks.release(track);
                }
                collect(legs, of, stops, path, now, &self.serial);
                host_memory::part(legs, &stops.host_memory);
                let mut parts = [Span::ZERO; JourneyPart::COUNT];
                legs.iter().for_each(|leg| parts[leg.part as usize] += leg.until - leg.from);
                let ActiveRequest { tag, io, arrival, .. } = *of;
                let DividedWait { parts: ahead, causes: mut meanwhile } = stops.queued;
                for leg in legs.iter().filter(|leg| leg.part.is_no_resource()) {
                    add(&mut meanwhile, &self.meanwhile.divide((leg.from, leg.until), now).causes);
                }
                self.meanwhile.completed(now, &parts);
                let journey = Journey { tag, io, arrival, end: now, parts, behind: stops.behind, ahead, meanwhile };
                let legs = std::mem::take(&mut self.course);
                self.add(journey, &legs, succeeded, &[]);
                self.course = legs;
            }
        }
    }
}

fn add(to: &mut [Span; Cause::COUNT], more: &[Span; Cause::COUNT]) {
    to.iter_mut().zip(more).for_each(|(sum, span)| *sum += *span);
}

/// Adds a leg, unless it is empty.
fn fill(legs: &mut Vec<Leg>, from: Time, until: Time, part: JourneyPart, at: Option<Resource>) {
    if from < until {
        legs.push(Leg { part, from, until, at, drive: None });
    }
}

/// Fills the gap between two legs with `part`, except the time in which serial lists ran.
fn gap(
    legs: &mut Vec<Leg>,
    (from, until): (Time, Time),
    part: JourneyPart,
    serial: &Recent,
    behind: &mut [Span; Cause::COUNT],
) {
    if from >= until {
        return;
    }
    let mut now = from;
    for (began, ended, cause) in serial.between(from, until) {
        fill(legs, now, began, part, None);
        fill(legs, began, ended, JourneyPart::Controller, None);
        behind[cause as usize] += ended - began;
        now = ended;
    }
    fill(legs, now, until, part, None);
}

/// Adds all legs of a request, in order. `path` are the legs of its flash commands.
fn collect(legs: &mut Vec<Leg>, of: &ActiveRequest, stops: &mut Stops, path: &[Leg], end: Time, serial: &Recent) {
    legs.append(&mut stops.admission);
    fill(legs, of.at, stops.clear, JourneyPart::Overlap, None);
    fill(legs, stops.clear, stops.here, JourneyPart::Link, None);
    let mut now = stops.here;
    for leg in path.iter().filter(|leg| leg.until > stops.here) {
        // The request may have joined a list that was submitted before it.
        let from = leg.from.max(stops.here);
        gap(legs, (now, from), JourneyPart::Ftl, serial, &mut stops.behind);
        fill(legs, from, leg.until, leg.part, leg.at);
        now = leg.until;
    }
    let rest =
        if path.is_empty() && of.io.kind != base::io::IoKind::Read { JourneyPart::Buffer } else { JourneyPart::Ftl };
    gap(legs, (now, stops.served), rest, serial, &mut stops.behind);
    fill(legs, stops.served, end, JourneyPart::Link, None);
}
