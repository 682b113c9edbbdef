//! The zones of a verified drive: promised write pointers, appends without an address, and resets that a power cut left open.
//!
//! A reset is a write of zeros to its zone. Other commands are verified as on any drive, with three differences:
//!
//! * An append gets its address with its answer. Before the answer, any sector behind the promised write pointer may hold any
//!   sector of any append under way in the zone: one write without places ([`WriteContent::Appends`]) stands for all of them, and after
//!   a power cut still stands for those that were under way. At its answer an append becomes a write at its address.
//! * A reset under way at a power cut happens as a whole or not at all. The first read or write pointer that tells which settles
//!   the zone.
//! * Durable data lies below the write pointer that the drive reports. Data in a zone random write area may lie behind it. Flushes
//!   do not change this promise: a drive with zones has no volatile buffer.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::ops::Range;

use base::units::{Lba, Sectors, Time};
use ssd::{ZoneAction, ZoneState};

use super::{Ticket, Verifier};
use crate::bytes::{NumberReader, NumberWriter, damaged};
use crate::command::CommandOutcome;
use crate::digest::{UNKNOWN, ZEROS};
use crate::runs::{Moment, SectorWrite, WriteContent};
use crate::settled::WriteTime;
use crate::violation::{FoundContent, Violation};

/// The zones of a drive, in sectors.
#[derive(Clone, Copy, Debug)]
pub struct ZoneSectors {
    /// Sectors from the beginning of a zone to that of the next.
    pub size: u64,
    /// Sectors of a zone that can be written.
    pub capacity: u64,
    /// Sectors of a mapping unit.
    pub unit: u64,
    /// Sectors of a zone random write area; 0 if the drive has no such areas.
    pub area: u64,
}

/// The state of a zone that differs from an empty one.
#[derive(Clone, Debug, Default)]
struct ZonePromise {
    /// The promised write pointer, in sectors from the beginning of the zone: all sectors before it are durable.
    pointer: u64,
    /// The write that stands for all appends under way.
    appends: Option<Moment>,
    /// Resets under way.
    resets: Vec<Moment>,
    /// Resets that were under way at a power cut, and of which it is not known whether they happened.
    open_resets: Vec<Moment>,
    /// The moment of the last answer of a reset: commands that began before may have been carried out before the reset.
    reset: Moment,
    /// The moment of the answer since which the zone has a random write area.
    area: Option<Moment>,
    /// The number of commands under way that ask for a random write area.
    asks_for_area: u64,
}

impl ZonePromise {
    /// Raises the promised write pointer to `pointer`, by a command that began at `began`.
    fn promise(&mut self, began: Moment, pointer: u64) {
        if began > self.reset {
            self.pointer = self.pointer.max(pointer);
        }
    }
}

/// The zones of a drive.
#[derive(Clone, Debug)]
pub(super) struct ZonePromises {
    shape: ZoneSectors,
    /// The zones by their first sectors.
    zones: BTreeMap<u64, ZonePromise>,
}

impl ZonePromises {
    pub(super) const fn new(shape: ZoneSectors) -> Self {
        Self { shape, zones: BTreeMap::new() }
    }

    const fn start_of(&self, sector: u64) -> u64 {
        sector / self.shape.size * self.shape.size
    }

    /// The writable sectors of the zone that begins at `start`.
    const fn range(&self, start: u64) -> Range<u64> {
        start..start + self.shape.capacity
    }

    /// The zone of a sector, and the writable sectors of the zone.
    fn at(&mut self, sector: u64) -> (&mut ZonePromise, Range<u64>) {
        let range = self.range(self.start_of(sector));
        (self.zones.entry(range.start).or_default(), range)
    }

    /// Notes that sectors of a zone are durable, by a write that began at `began`.
    fn note_durable(&mut self, began: Moment, sectors: &Range<u64>) {
        let area = self.shape.area;
        let (zone, range) = self.at(sectors.start);
        let behind = if zone.area.is_some() || zone.asks_for_area > 0 { area } else { 0 };
        let end = (sectors.end - range.start).saturating_sub(behind);
        zone.promise(began, end.min(range.end - range.start));
    }

    /// Applies a power cut to the zone.
    fn cut(&mut self, now: Moment) {
        for zone in self.zones.values_mut() {
            zone.appends = None;
            zone.open_resets.append(&mut zone.resets);
            if std::mem::take(&mut zone.asks_for_area) > 0 {
                zone.area = Some(now);
            }
        }
    }

    /// Bytes of memory, without what the allocator adds.
    pub(super) fn memory(&self) -> u64 {
        (self.zones.len() * size_of::<(u64, ZonePromise)>()) as u64
    }

    pub(super) fn write_to(&self, out: &mut NumberWriter<impl Write>) -> io::Result<()> {
        out.number(self.zones.len() as u64)?;
        for (start, zone) in &self.zones {
            let ZonePromise { pointer, appends, resets, open_resets, reset, area, asks_for_area } = zone;
            out.number(*start)?;
            out.number(*pointer)?;
            out.maybe(*appends)?;
            out.numbers(resets)?;
            out.numbers(open_resets)?;
            out.number(*reset)?;
            out.maybe(*area)?;
            out.number(*asks_for_area)?;
        }
        Ok(())
    }

    pub(super) fn read_from(shape: ZoneSectors, from: &mut NumberReader<impl Read>, capacity: u64) -> io::Result<Self> {
        let mut all = Self::new(shape);
        for _ in 0..from.number()? {
            let start = from.number()?;
            let zone = ZonePromise {
                pointer: from.number()?,
                appends: from.maybe()?,
                resets: from.numbers(capacity)?,
                open_resets: from.numbers(capacity)?,
                reset: from.number()?,
                area: from.maybe()?,
                asks_for_area: from.number()?,
            };
            if start >= capacity || !start.is_multiple_of(shape.size) || zone.pointer > shape.capacity {
                return Err(damaged());
            }
            all.zones.insert(start, zone);
        }
        Ok(all)
    }
}

impl Verifier {
    fn zones_mut(&mut self) -> &mut ZonePromises {
        self.zones.as_mut().expect("only a drive with zones takes commands for zones")
    }

    /// Notes that an append to the zone of a sector begins.
    pub(super) fn begin_append(&mut self, ticket: Ticket, when: WriteTime, sector: u64, digests: Box<[u64]>) {
        let number = self.tick();
        let (zone, range) = self.zones_mut().at(sector);
        let is_reset = !zone.resets.is_empty() || !zone.open_resets.is_empty();
        let first = range.start + if is_reset { 0 } else { zone.pointer };
        if first == range.end {
            return;
        }
        let of = *zone.appends.get_or_insert(number);
        let unit = self.zones_mut().shape.unit;
        let content = || WriteContent::Appends { unit, writes: BTreeMap::new() };
        let write = self.runs.writes.entry(of).or_insert_with(|| SectorWrite::new(first, content(), number, when));
        if let WriteContent::Appends { writes, .. } = &mut write.content {
            writes.insert(ticket, (when, digests));
        }
        self.runs.cover(of, &(first..range.end));
    }

    /// The first sector of the zone of an outstanding append, and the write that stands for it. This is the zone of the answered
    /// address, unless that is wrong.
    fn zone_of_append(&self, ticket: Ticket, answered: u64) -> Option<(u64, Moment)> {
        let zones = self.zones.as_ref()?;
        let near = zones.start_of(answered);
        let all = zones.zones.get_key_value(&near).into_iter().chain(&zones.zones);
        let mut appends = all.filter_map(|(start, zone)| Some((*start, zone.appends?)));
        appends.find(|(_, of)| match self.runs.writes.get(of).map(|of| &of.content) {
            Some(WriteContent::Appends { writes, .. }) => writes.contains_key(&ticket),
            _ => false,
        })
    }

    /// Notes that an append is answered: with its sectors if it succeeded, otherwise with the first sectors of its zone.
    pub(super) fn end_append(
        &mut self,
        (ticket, now): (Ticket, Moment),
        sectors: Range<u64>,
        (outcome, is_durable): (CommandOutcome, bool),
    ) {
        let Some((start, of)) = self.zone_of_append(ticket, sectors.start) else { return };
        let (zone, range) = self.zones_mut().at(start);
        let pointer = range.start + zone.pointer;
        let Some(WriteContent::Appends { writes, unit }) = self.runs.writes.get_mut(&of).map(|of| &mut of.content)
        else {
            return;
        };
        let (unit, taken, is_last) = (*unit, writes.remove(&ticket), writes.is_empty());
        if let Some((when, digests)) = taken {
            match outcome {
                CommandOutcome::Done if digests.len() as u64 == sectors.end - sectors.start => {
                    let write = SectorWrite::new(sectors.start, WriteContent::Each(digests), ticket, when);
                    self.runs.add(ticket, sectors.clone(), write);
                    self.written(now, ticket, sectors, (true, is_durable));
                }
                CommandOutcome::Nothing => {}
                // It is not known where the append was written, and how much of it.
                _ => {
                    let content = WriteContent::Appends { unit, writes: [(ticket, (when, digests))].into() };
                    let mut write = SectorWrite::new(pointer, content, ticket, when);
                    (write.ended, write.is_certain) = (Some(now), false);
                    self.runs.add(ticket, pointer..range.end, write);
                }
            }
        }
        if is_last {
            self.zones_mut().at(start).0.appends = None;
            self.exclude(of, &range);
        }
    }

    /// Removes a write from a range.
    pub(super) fn exclude(&mut self, of: Moment, range: &Range<u64>) {
        self.runs.exclude(of, range, &mut self.settled);
        self.settle(range);
    }

    /// Notes that a write to a zone is answered: no append lies at its sectors.
    pub(super) fn note_written(&mut self, began: Moment, sectors: &Range<u64>, is_durable: bool) {
        let Some(zones) = &mut self.zones else { return };
        if is_durable {
            zones.note_durable(began, sectors);
        }
        let zone = zones.at(sectors.start).0;
        let first_append = |of: &Moment| match self.runs.writes.get(of).map(|of| &of.content) {
            Some(WriteContent::Appends { writes, .. }) => writes.keys().next().copied(),
            _ => None,
        };
        // A reset may lie between the write and an append.
        let may_be_reset = !zone.resets.is_empty() || !zone.open_resets.is_empty();
        let began_after = |of: &Moment| first_append(of).is_none_or(|first| began.min(first) > zone.reset);
        if let Some(of) = zone.appends.filter(|of| !may_be_reset && began_after(of)) {
            self.runs.exclude(of, sectors, &mut self.settled);
        }
    }

    /// Notes that an action on the zone of a sector begins.
    pub(super) fn begin_action(&mut self, ticket: Ticket, when: WriteTime, action: ZoneAction, sector: u64) {
        let (zone, range) = self.zones_mut().at(sector);
        match action {
            ZoneAction::Reset => {
                zone.resets.push(ticket);
                self.runs.add(
                    ticket,
                    range.clone(),
                    SectorWrite::new(range.start, WriteContent::Same(ZEROS), ticket, when),
                );
            }
            ZoneAction::OpenZrwa => zone.asks_for_area += 1,
            _ => {}
        }
    }

    /// Notes that an action on the zone of a sector is answered.
    pub(super) fn end_action(
        &mut self,
        (ticket, now): (Ticket, Moment),
        action: ZoneAction,
        sector: u64,
        outcome: CommandOutcome,
    ) {
        let (zone, range) = self.zones_mut().at(sector);
        let is_done = outcome == CommandOutcome::Done;
        match action {
            ZoneAction::Reset => {
                zone.resets.retain(|of| *of != ticket);
                match outcome {
                    CommandOutcome::Nothing => return self.exclude(ticket, &range),
                    CommandOutcome::Done => {
                        (zone.pointer, zone.reset) = (0, now);
                        zone.area = zone.area.filter(|answered| *answered > ticket);
                        zone.open_resets.clear();
                    }
                    CommandOutcome::Partial => zone.pointer = 0,
                }
                self.overwritten(now, ticket, range, (is_done, true));
            }
            ZoneAction::Finish if is_done => {
                zone.promise(ticket, range.end - range.start);
            }
            ZoneAction::OpenZrwa => {
                zone.asks_for_area = zone.asks_for_area.saturating_sub(1);
                zone.area = if is_done { Some(now) } else { zone.area };
            }
            ZoneAction::FlushZrwa if is_done => {
                let unit = self.zones_mut().shape.unit;
                let (zone, range) = self.zones_mut().at(sector);
                zone.promise(ticket, (sector / unit + 1) * unit - range.start);
            }
            _ => {}
        }
    }

    /// Applies a power cut to all zones.
    pub(super) fn cut_zones(&mut self) {
        if let Some(zones) = &mut self.zones {
            zones.cut(self.now);
        }
    }

    /// Settles resets that were under way at a power cut, as far as the content of a read tells whether they happened.
    pub(super) fn tell_resets(&mut self, start: u64, found: &[u64]) {
        let Some(zones) = &self.zones else { return };
        let end = start + found.len() as u64;
        let first = zones.start_of(start);
        let open =
            zones.zones.range(first..end).flat_map(|(zone, of)| of.open_resets.iter().map(|reset| (*zone, *reset)));
        for (zone, reset) in open.collect::<Vec<_>>() {
            let within = |sector: &u64| (zone..zone + self.promise.zones.map_or(0, |of| of.size)).contains(sector);
            let read = (start..).zip(found).filter(|(sector, _)| within(sector));
            let told = read.into_iter().find_map(|(sector, found)| self.tells(reset, sector, *found));
            if let Some(has_happened) = told {
                self.settle_reset(zone, reset, has_happened);
            }
        }
    }

    /// Whether a reset has happened; none if the content of the sector does not tell.
    fn tells(&self, reset: Moment, sector: u64, found: u64) -> Option<bool> {
        let first = *self.runs.within(&(sector..sector + 1)).first()?;
        let run = &self.runs.runs[&first];
        let is_other = |of: &&Moment| **of != reset && self.runs.writes[*of].matches(sector, found);
        if !run.writes.contains(&reset) || run.writes.iter().any(|of| is_other(&of)) {
            return None;
        }
        let held = run.settled.map(|_| self.settled.get(sector));
        match (held, found) {
            (Some(UNKNOWN), _) => None,
            (Some(held), _) if held == found => (held != ZEROS).then_some(false),
            (_, ZEROS) => Some(true),
            _ => None,
        }
    }

    fn settle_reset(&mut self, start: u64, reset: Moment, has_happened: bool) {
        let (zone, range) = self.zones_mut().at(start);
        zone.open_resets.retain(|of| *of != reset);
        if has_happened {
            zone.pointer = 0;
            self.runs.prefer(reset, &range, self.cut, &mut self.settled);
        }
        self.exclude(reset, &range);
    }

    /// Compares the write pointer that the drive reports for a zone with the durable sectors of the zone. `start` is the zone's
    /// first sector.
    pub fn check_pointer(&mut self, at: Time, start: Lba, state: ZoneState, pointer: Lba) {
        let Some(ZonePromises { zones, .. }) = &mut self.zones else { return };
        let Some(zone) = zones.get_mut(&start.get()) else { return };
        let (promised, pointer) = (start.get() + zone.pointer, pointer.get());
        // A reset under way may have moved the write pointer.
        if pointer >= promised || !zone.resets.is_empty() || state == ZoneState::Offline {
            return;
        }
        if let Some(reset) = zone.open_resets.last().copied() {
            return self.settle_reset(start.get(), reset, true);
        }
        // A violation is reported once.
        zone.pointer = pointer - start.get();
        self.violations += promised - pointer;
        self.found.push(Violation {
            start: Lba::new(pointer),
            sectors: Sectors::new(promised - pointer),
            at,
            found: FoundContent::WritePointer,
            expected: Vec::new(),
            is_after_cut: self.cut > 0,
        });
    }
}
