//! The drives of a RAID, and the place at which each stands.

use std::collections::BTreeSet;

use base::io::{Io, IoKind, PlacementId};
use base::units::{Lba, Sectors, Time};
use flash::backend::Op;
use flash::nand::Sector;
use ssd::{Completion, Counters, Drive, QueueId, RaidDriveCounters, RaidSpec, Recovery, Request, Ssd, Tag};

use crate::plan::Range;

/// A place in the stripes: a column of chunks, which one drive holds.
#[derive(Clone, Debug)]
pub struct Place {
    /// The drive at the place; `None` if it has failed and no spare is left.
    pub drive: Option<u32>,
    /// The number of stripes that the drive has: all, unless it is being rebuilt.
    pub stripes: u64,
    /// The number of stripes that the drive would still have after a power cut.
    durable: u64,
    /// Rows at the end of each step of the rebuild since the last flush, with the number of writes that had ended at
    /// that time.
    steps: Vec<(u64, u64)>,
}

impl Place {
    const fn new(drive: Option<u32>, stripes: u64) -> Self {
        Self { drive, stripes, durable: stripes, steps: Vec::new() }
    }
}

/// The drives and their places.
#[derive(Clone, Debug)]
pub(crate) struct Members<S> {
    drives: Vec<Ssd<S>>,
    places: Vec<Place>,
    /// Chunks that a rebuild could not recover.
    lost: BTreeSet<(u32, u64)>,
    /// The spares that have no place.
    spares: std::ops::Range<u32>,
    asked: Vec<RaidDriveCounters>,
    /// The number of requests under way, by drive.
    load: Vec<u32>,
    /// The number of sectors of a mapping unit.
    unit: u64,
}

impl<S: Sector> Members<S> {
    /// Puts the first drives at the places, and keeps the `spares` after them in reserve.
    pub(crate) fn new(drives: Vec<Ssd<S>>, places: u32, spares: u32, stripes: u64) -> Self {
        let unit = drives[0].discard_granularity().get();
        Self {
            places: (0..places).map(|drive| Place::new(Some(drive), stripes)).collect(),
            lost: BTreeSet::new(),
            spares: places..places + spares,
            asked: vec![RaidDriveCounters::default(); drives.len()],
            load: vec![0; drives.len()],
            unit,
            drives,
        }
    }

    pub(crate) fn drives(&self) -> &[Ssd<S>] {
        &self.drives
    }

    pub(crate) fn drives_mut(&mut self) -> &mut [Ssd<S>] {
        &mut self.drives
    }

    pub(crate) const fn unit(&self) -> u64 {
        self.unit
    }

    pub(crate) fn places(&self) -> &[Place] {
        &self.places
    }

    /// The drive at a place; `None` if the place is empty.
    pub(crate) fn drive_at(&self, place: u32) -> Option<u32> {
        self.places[place as usize].drive
    }

    /// The place of a drive; `None` if it has failed or is a spare in reserve.
    pub(crate) fn place_of(&self, drive: u32) -> Option<u32> {
        self.places.iter().position(|place| place.drive == Some(drive)).map(|place| place as u32)
    }

    pub(crate) fn has_failed(&self, drive: u32) -> bool {
        self.asked[drive as usize].has_failed
    }

    /// True if the drive at a place has its chunk of a stripe.
    pub(crate) fn holds(&self, place: u32, stripe: u64) -> bool {
        let Place { drive, stripes, .. } = &self.places[place as usize];
        drive.is_some() && stripe < *stripes && (self.lost.is_empty() || !self.lost.contains(&(place, stripe)))
    }

    /// The number of requests under way at the drive of a place.
    pub(crate) fn load(&self, place: u32) -> u32 {
        self.places[place as usize].drive.map_or(0, |drive| self.load[drive as usize])
    }

    /// A bit for each place whose drive has its turn to collect; zero unless reads avoid such drives.
    pub(crate) fn collecting(&self, spec: &RaidSpec, now: Time) -> u64 {
        if !spec.collection.is_some_and(|collection| collection.reads_around) {
            return 0;
        }
        let is_open = |place: &u32| {
            let window = self.drive_at(*place).and_then(|drive| spec.window_of(drive));
            window.is_some_and(|window| window.is_open(now))
        };
        (0..self.places.len() as u32).filter(is_open).fold(0, |places, place| places | 1 << place)
    }

    /// Removes a drive that has failed from its place, and puts a spare there if one is left. Returns the place.
    pub(crate) fn fail(&mut self, drive: u32) -> Option<u32> {
        self.asked[drive as usize].has_failed = true;
        let place = self.place_of(drive)?;
        let asked = &self.asked;
        let spare = self.spares.by_ref().find(|drive| !asked[*drive as usize].has_failed);
        self.places[place as usize] = Place::new(spare, 0);
        Some(place)
    }

    pub(crate) fn stripes_at(&self, place: u32) -> u64 {
        self.places[place as usize].stripes
    }

    /// Notes that the drive at a place now has all stripes before `stripes`, except chunks that could not be recovered.
    /// `writes` writes have ended so far.
    pub(crate) fn rebuilt(&mut self, place: u32, stripes: u64, writes: u64) {
        let place = &mut self.places[place as usize];
        place.stripes = stripes;
        place.steps.push((stripes, writes));
    }

    /// Notes the end of a flush of all drives that began after `writes` writes.
    pub(crate) fn flushed(&mut self, writes: u64) {
        for place in &mut self.places {
            let flushed = place.steps.partition_point(|(_, after)| *after <= writes);
            place.durable = place.steps.drain(..flushed).next_back().map_or(place.durable, |(stripes, _)| stripes);
        }
    }

    pub(crate) fn lose(&mut self, place: u32, stripe: u64) {
        self.lost.insert((place, stripe));
    }

    /// Sends a request to the drive of a place. Returns the drive.
    pub(crate) fn submit(
        &mut self,
        now: Time,
        (tag, queue): (Tag, QueueId),
        (kind, placement): (IoKind, PlacementId),
        range: Range,
        data: Vec<S>,
    ) -> Option<u32> {
        let drive = self.places[range.place as usize].drive?;
        let io = match kind {
            IoKind::Flush => Io::FLUSH,
            _ => Io { placement, ..Io::new(kind, Lba::new(range.from), Sectors::new(range.to - range.from)) },
        };
        self.submit_to(drive, now, Request { tag, queue, io, data });
        Some(drive)
    }

    pub(crate) fn submit_to(&mut self, drive: u32, now: Time, request: Request<S>) {
        let Io { kind, start, sectors, .. } = request.io;
        let asked = &mut self.asked[drive as usize];
        asked.requests += 1;
        match kind {
            IoKind::Read => asked.read_sectors += sectors.get(),
            IoKind::Write => {
                asked.written_sectors += sectors.get();
                asked.host_slots += (start.get() + sectors.get()).div_ceil(self.unit) - start.get() / self.unit;
            }
            _ => {}
        }
        self.load[drive as usize] += 1;
        self.drives[drive as usize].submit(now, request);
    }

    /// Notes that a request to a drive has ended. Returns false if the drive has failed, so that the request is
    /// ignored.
    pub(crate) fn end(&mut self, drive: u32) -> bool {
        if self.asked[drive as usize].has_failed {
            return false;
        }
        self.load[drive as usize] -= 1;
        true
    }

    /// Notes the drive that a request waited for last, for the counters.
    pub(crate) fn note_last(&mut self, drive: u32, is_of_host: bool) {
        self.asked[drive as usize].last += u64::from(is_of_host);
    }

    /// The drive with the next event, its time, and the time up to which no other drive goes first. Among equal times
    /// the drive with the lowest number goes first, wherever the caller stops in between.
    pub(crate) fn next(&self) -> Option<(Time, u32, Time)> {
        let each = || (0..).zip(&self.drives).filter_map(|(number, drive)| Some((drive.next_event()?, number)));
        let (at, first) = each().min()?;
        let bound = |(at, number): (Time, u32)| if number < first { Time::from_ps(at.as_ps() - 1) } else { at };
        Some((at, first, each().filter(|(_, number)| *number != first).map(bound).min().unwrap_or(Time::MAX)))
    }

    /// Advances a drive to its next completion, at most up to `to`.
    pub(crate) fn advance(&mut self, drive: u32, to: Time, completions: &mut Vec<Completion<S>>) -> Time {
        self.drives[drive as usize].advance(to, completions)
    }

    /// Advances all drives to the present. None of them has an event before.
    pub(crate) fn pass(&mut self, now: Time) {
        let mut none = Vec::new();
        self.drives.iter_mut().for_each(|drive| _ = drive.advance(now, &mut none));
        assert!(none.is_empty(), "a drive had something to report");
    }

    /// Cuts the power of all drives. Requests under way are dropped, and so are steps of a rebuild that no flush made
    /// durable.
    pub(crate) fn cut_power(&mut self) {
        self.drives.iter_mut().for_each(|drive| _ = drive.cut_power());
        self.load.fill(0);
        for place in &mut self.places {
            place.stripes = place.durable;
            place.steps.clear();
        }
    }

    /// Switches all drives off in order. Returns the time at which the last drive is off.
    pub(crate) fn power_off(&mut self) -> Time {
        // A drive that has failed may complete requests, which are ignored.
        self.drives.iter_mut().for_each(|drive| _ = drive.power_off());
        self.load.fill(0);
        self.drives.iter().map(Ssd::now).fold(Time::ZERO, Ord::max)
    }

    /// Switches all drives on. They recover at the same time.
    pub(crate) fn power_on(&mut self, now: Time) -> Recovery {
        let each = self.drives.iter_mut().map(|drive| drive.power_on(now));
        let all = each.reduce(|sum, of| Recovery {
            time: sum.time.max(of.time),
            translation_pages: sum.translation_pages + of.translation_pages,
            units: sum.units.saturating_add(of.units),
        });
        all.expect("a RAID has a drive")
    }

    /// Counters of each drive: the counts of the RAID, and in `own` the counts of the drive itself.
    pub(crate) fn counters(&self, own: &[Counters]) -> Vec<RaidDriveCounters> {
        let each = self.asked.iter().zip(own).map(|(asked, own)| RaidDriveCounters {
            absorbed_slots: own.absorbed_slots,
            programmed_slots: own.flash.op(Op::Program).slots,
            ..asked.clone()
        });
        each.collect()
    }
}
