//! The log in the zones: the place of each unit, and the valid units of each zone.

use std::collections::{BTreeSet, VecDeque};

use base::units::{Lba, Sectors};
use ssd::{TranslationShape, ZoneVictim};

/// Stands for no unit, or no place.
pub(crate) const NONE: u32 = u32::MAX;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct UnitMetadata {
    /// The unit's logical address; [`NONE`] in a place without an acknowledged write.
    pub(crate) unit: u32,
    /// The version of the write: the higher of two versions is newer. A copy has the version of its original.
    pub(crate) version: u32,
}

impl UnitMetadata {
    const NOTHING: Self = Self { unit: NONE, version: 0 };
}

/// Adjacent sectors of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SectorRun {
    /// The place of the first unit; `None` if the unit is not mapped.
    pub(crate) place: Option<u32>,
    /// The first sector, counted in the request.
    pub(crate) at: usize,
    /// The number of sectors of the first unit that the request leaves out.
    pub(crate) skipped: u64,
    pub(crate) sectors: u64,
}

/// The use of a zone.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Usage {
    /// The zone is empty.
    #[default]
    Free,
    /// The zone takes data.
    Open,
    /// The zone takes no more data: its summary follows, or has followed.
    Full,
    /// The zone cannot be reset.
    Failed,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct ZoneUse {
    pub(crate) usage: Usage,
    /// The record of each unit by its place in the zone; empty while the zone is free.
    records: Vec<UnitMetadata>,
    /// The number of units in the zone that are the newest copies.
    pub(crate) valid: u32,
    /// The number of units that have been given to writes, ended or not.
    pub(crate) taken: u32,
    /// The number of writes that have not ended.
    pub(crate) writes: u32,
    /// The number of reads that have not ended.
    pub(crate) reads: u32,
    /// The number of zones that were opened before this zone.
    opened: u64,
    /// True if the summary is written, so that a mount need not read the zone's data.
    pub(crate) has_summary: bool,
    /// True if the drive refused a write to the zone, so that it takes no more.
    pub(crate) has_failed: bool,
}

/// The map of the users' units to places in zones. A place is a number: the data units of all zones before its zone,
/// plus those before it in its zone.
#[derive(Clone, Debug)]
pub(crate) struct Log {
    shape: TranslationShape,
    unit: u64,
    map: Vec<u32>,
    zones: Vec<ZoneUse>,
    free: VecDeque<u32>,
    opened: u64,
    version: u32,
    /// Places whose data collection could not read.
    lost: BTreeSet<u32>,
}

impl Log {
    /// Creates empty zones, with units of `unit` sectors.
    pub(crate) fn new(shape: TranslationShape, unit: u64) -> Self {
        Self {
            shape,
            unit,
            map: vec![NONE; shape.units as usize],
            zones: vec![ZoneUse::default(); shape.zones.zones as usize],
            free: (0..shape.zones.zones).collect(),
            opened: 0,
            version: 0,
            lost: BTreeSet::new(),
        }
    }

    pub(crate) const fn shape(&self) -> &TranslationShape {
        &self.shape
    }

    pub(crate) const fn unit(&self) -> u64 {
        self.unit
    }

    pub(crate) fn zone(&self, zone: u32) -> &ZoneUse {
        &self.zones[zone as usize]
    }

    pub(crate) fn zone_mut(&mut self, zone: u32) -> &mut ZoneUse {
        &mut self.zones[zone as usize]
    }

    pub(crate) fn free_zones(&self) -> u32 {
        self.free.len() as u32
    }

    /// The number of units that users have written and not discarded.
    pub(crate) fn mapped(&self) -> u64 {
        self.zones.iter().map(|zone| u64::from(zone.valid)).sum()
    }

    /// A version for a write; `None` if all versions are used up.
    pub(crate) fn next_version(&mut self) -> Option<u32> {
        self.version = self.version.checked_add(1)?;
        Some(self.version)
    }

    // --- places ---

    /// The zone of a place, and the position in it.
    pub(crate) const fn split(&self, place: u32) -> (u32, u32) {
        (place / self.shape.data, place % self.shape.data)
    }

    /// The place of a data unit in a zone.
    pub(crate) const fn place(&self, zone: u32, at: u32) -> u32 {
        zone * self.shape.data + at
    }

    /// The first sector of a zone.
    pub(crate) fn start(&self, zone: u32) -> Lba {
        Lba::new(u64::from(zone) * u64::from(self.shape.zones.size) * self.unit)
    }

    /// The first sector of a unit in a zone.
    pub(crate) fn sector(&self, zone: u32, at: u32) -> Lba {
        self.start(zone) + Sectors::new(u64::from(at) * self.unit)
    }

    /// The zone of a sector, and the position of its unit in the zone.
    pub(crate) const fn at(&self, sector: Lba) -> (u32, u32) {
        let unit = (sector.get() / self.unit) as u32;
        (unit / self.shape.zones.size, unit % self.shape.zones.size)
    }

    /// The place of a unit; `None` if it was never written, or discarded.
    pub(crate) fn place_of(&self, unit: u32) -> Option<u32> {
        Some(self.map[unit as usize]).filter(|place| *place != NONE)
    }

    /// True if the data of a place could not be read for a copy.
    pub(crate) fn is_lost(&self, place: u32) -> bool {
        self.lost.contains(&place)
    }

    /// The record at a place, if it is the newest copy of a unit.
    pub(crate) fn valid_at(&self, place: u32) -> Option<UnitMetadata> {
        let (zone, at) = self.split(place);
        let record = *self.zone(zone).records.get(at as usize)?;
        (record.unit != NONE && self.map[record.unit as usize] == place).then_some(record)
    }

    /// The next run of adjacent valid units of a zone, from position `from` on, at most `most` units. Returns the
    /// position of the first, and the records.
    pub(crate) fn valid_run(&self, zone: u32, from: u32, most: usize) -> (u32, Vec<UnitMetadata>) {
        let valid = |at: u32| self.valid_at(self.place(zone, at));
        let first = (from..self.shape.data).find(|at| valid(*at).is_some()).unwrap_or(self.shape.data);
        (first, (first..self.shape.data).map_while(valid).take(most).collect())
    }

    /// The places of sectors of users: runs of adjacent units in one zone, and units that are not mapped.
    pub(crate) fn runs(&self, sectors: std::ops::Range<u64>) -> Vec<SectorRun> {
        let mut runs: Vec<SectorRun> = Vec::new();
        let mut sector = sectors.start;
        while sector < sectors.end {
            let unit = sector / self.unit;
            let end = ((unit + 1) * self.unit).min(sectors.end);
            let place = self.place_of(unit as u32);
            let goes_on = |run: &SectorRun| {
                let next = run.place.map(|place| place + (run.skipped + run.sectors).div_ceil(self.unit) as u32);
                let is_lost = |place: Option<u32>| place.is_some_and(|place| self.is_lost(place));
                let is_behind = next.is_some() && next == place && place.is_some_and(|place| self.split(place).1 > 0);
                is_behind && !is_lost(run.place) && !is_lost(place)
            };
            match runs.last_mut().filter(|run| goes_on(run)) {
                Some(run) => run.sectors += end - sector,
                None => runs.push(SectorRun {
                    place,
                    at: (sector - sectors.start) as usize,
                    skipped: sector % self.unit,
                    sectors: end - sector,
                }),
            }
            sector = end;
        }
        runs
    }

    /// The parts of the first and the last unit that these sectors leave out: for each, the unit, the sectors of it to
    /// skip, and the number of sectors left out.
    pub(crate) fn rests(&self, start: u64, end: u64) -> Vec<(u64, u64, u64)> {
        let (first, last) = (start / self.unit, end.div_ceil(self.unit) - 1);
        let head = (first, 0, start - first * self.unit);
        let tail = (last, end - last * self.unit, (last + 1) * self.unit - end);
        [head, tail].into_iter().filter(|(.., sectors)| *sectors > 0).collect()
    }

    // --- changes ---

    /// Opens a free zone; `None` if no zone is free.
    pub(crate) fn open(&mut self) -> Option<u32> {
        let zone = self.free.pop_front()?;
        self.opened += 1;
        let records = vec![UnitMetadata::NOTHING; self.shape.data as usize];
        *self.zone_mut(zone) = ZoneUse { usage: Usage::Open, records, ..ZoneUse::default() };
        self.zone_mut(zone).opened = self.opened;
        Some(zone)
    }

    /// Records that a unit has been written to a place.
    pub(crate) fn record(&mut self, place: u32, record: UnitMetadata) {
        let (zone, at) = self.split(place);
        self.zone_mut(zone).records[at as usize] = record;
        self.forget(record.unit);
        self.map[record.unit as usize] = place;
        self.zone_mut(zone).valid += 1;
    }

    /// Records that a unit has been copied from one place to another. Returns false if the user has changed it
    /// meanwhile.
    pub(crate) fn record_copy(&mut self, from: u32, to: u32, record: UnitMetadata) -> bool {
        let is_newest = self.map[record.unit as usize] == from;
        if is_newest {
            let is_lost = self.is_lost(from);
            self.record(to, record);
            if is_lost {
                self.lost.insert(to);
            }
        } else {
            let (zone, at) = self.split(to);
            self.zone_mut(zone).records[at as usize] = record;
        }
        is_newest
    }

    /// Removes a unit from the map.
    pub(crate) fn forget(&mut self, unit: u32) {
        let place = std::mem::replace(&mut self.map[unit as usize], NONE);
        if place != NONE {
            let (zone, _) = self.split(place);
            self.zone_mut(zone).valid -= 1;
        }
    }

    /// Records that the data of a place cannot be read.
    pub(crate) fn lose(&mut self, place: u32) {
        self.lost.insert(place);
    }

    /// Records that a zone is empty again.
    pub(crate) fn reset(&mut self, zone: u32) {
        self.drop_zone(zone, Usage::Free);
        self.free.push_back(zone);
    }

    /// Records that a zone cannot be reset.
    pub(crate) fn fail(&mut self, zone: u32) {
        self.drop_zone(zone, Usage::Failed);
    }

    fn drop_zone(&mut self, zone: u32, usage: Usage) {
        *self.zone_mut(zone) = ZoneUse { usage, ..ZoneUse::default() };
        let places = self.place(zone, 0)..self.place(zone, 0) + self.shape.data;
        self.lost.retain(|place| !places.contains(place));
    }

    // --- collection ---

    /// The full zone to collect; `None` if no zone has units that are not valid.
    pub(crate) fn victim(&self, policy: ZoneVictim) -> Option<u32> {
        let data = self.shape.data;
        let full = (0..)
            .zip(&self.zones)
            .filter(|(_, zone)| zone.usage == Usage::Full && zone.valid < data && zone.writes == 0);
        let of = |least: (u32, &ZoneUse)| least.0;
        match policy {
            ZoneVictim::Greedy => full.min_by_key(|(_, zone)| (zone.valid, zone.opened)).map(of),
            ZoneVictim::Fifo => full.min_by_key(|(_, zone)| zone.opened).map(of),
            ZoneVictim::CostBenefit => {
                let benefit = |zone: &ZoneUse| {
                    let (share, age) = (f64::from(zone.valid) / f64::from(data), self.opened - zone.opened);
                    (1.0 - share) * age as f64 / (1.0 + share)
                };
                full.max_by(|(_, a), (_, b)| benefit(a).total_cmp(&benefit(b)).then(b.opened.cmp(&a.opened))).map(of)
            }
        }
    }

    // --- mount ---

    /// Records the state of a zone after a power cut. `written` units of it are on flash; those that were acknowledged
    /// have records.
    pub(crate) fn found(&mut self, zone: u32, usage: Usage, written: u32) {
        let data = self.shape.data;
        let zone = self.zone_mut(zone);
        zone.usage = usage;
        (zone.writes, zone.reads) = (0, 0);
        zone.taken = written.min(data);
        if matches!(usage, Usage::Free | Usage::Failed) {
            zone.records = Vec::new();
            return;
        }
        zone.records.resize(data as usize, UnitMetadata::NOTHING);
        zone.records[zone.taken as usize..].fill(UnitMetadata::NOTHING);
    }

    /// Rebuilds the map from the records of all zones. Of several copies the newest counts; with a planted bug
    /// (`takes_newest` is false), the last copy found.
    pub(crate) fn rebuild(&mut self, takes_newest: bool) {
        self.map.fill(NONE);
        self.zones.iter_mut().for_each(|zone| zone.valid = 0);
        self.version = 0;
        for number in 0..self.zones.len() as u32 {
            for at in 0..self.zone(number).records.len() as u32 {
                let found = self.zone(number).records[at as usize];
                if found.unit == NONE {
                    continue;
                }
                self.version = self.version.max(found.version);
                let is_newer = self.place_of(found.unit).is_none_or(|place| {
                    let (zone, at) = self.split(place);
                    self.zone(zone).records[at as usize].version < found.version
                });
                if is_newer || !takes_newest {
                    self.record(self.place(number, at), found);
                }
            }
        }
        let is_free = |(number, zone): (u32, &ZoneUse)| (zone.usage == Usage::Free).then_some(number);
        self.free = (0..).zip(&self.zones).filter_map(is_free).collect();
    }

    /// Renumbers the zones that have data, from 0 on in the order in which they were opened, and makes all of them
    /// full. Returns their number.
    pub(crate) fn settle(&mut self) -> u32 {
        let mut used: Vec<ZoneUse> = std::mem::take(&mut self.zones);
        let count = used.len();
        used.retain(|zone| zone.usage != Usage::Free);
        used.sort_by_key(|zone| zone.opened);
        let full = used.len() as u32;
        for zone in &mut used {
            (zone.usage, zone.has_summary, zone.taken) = (Usage::Full, true, self.shape.data);
        }
        used.resize(count, ZoneUse::default());
        self.zones = used;
        self.rebuild(true);
        full
    }

    /// Checks that the map and the zones agree.
    ///
    /// # Panics
    ///
    /// If they do not agree.
    pub(crate) fn check(&self) {
        let mut valid = vec![0; self.zones.len()];
        for (unit, place) in (0..).zip(&self.map).filter(|(_, place)| **place != NONE) {
            let (zone, at) = self.split(*place);
            assert_eq!(self.zone(zone).records[at as usize].unit, unit, "the record at place {at} of zone {zone}");
            assert!(at < self.zone(zone).taken, "unit {unit} lies behind what zone {zone} has taken");
            valid[zone as usize] += 1;
        }
        for (number, zone) in self.zones.iter().enumerate() {
            assert_eq!(zone.valid, valid[number], "valid units of zone {number}");
            assert_eq!(zone.usage == Usage::Free, self.free.contains(&(number as u32)), "zone {number} is free");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ssd::ZoneShape;

    fn log() -> Log {
        let zones = ZoneShape { zones: 4, size: 8, capacity: 5, max_active: 2, max_open: 2, zrwa: None };
        Log::new(TranslationShape { zones, data: 4, units: 8 }, 8)
    }

    fn write(log: &mut Log, zone: u32, units: &[u32]) {
        for unit in units {
            let at = log.zone(zone).taken;
            log.zone_mut(zone).taken += 1;
            let record = UnitMetadata { unit: *unit, version: log.next_version().expect("versions") };
            log.record(log.place(zone, at), record);
        }
    }

    #[test]
    fn places_and_sectors_leave_out_the_gap_and_the_summary() {
        let log = log();
        assert_eq!(log.split(log.place(2, 3)), (2, 3));
        assert_eq!(log.sector(2, 3), Lba::new((2 * 8 + 3) * 8));
        assert_eq!(log.at(Lba::new((2 * 8 + 3) * 8)), (2, 3));
    }

    #[test]
    fn runs_end_at_gaps_at_jumps_and_at_the_ends_of_zones() {
        let mut log = log();
        let (zone, other) = (log.open().expect("free"), log.open().expect("free"));
        write(&mut log, zone, &[0, 1, 2, 4]);
        write(&mut log, other, &[5, 6]);
        let runs = log.runs(3..54);
        let run = |place, at, skipped, sectors| SectorRun { place, at, skipped, sectors };
        let expected = [run(Some(0), 0, 3, 21), run(None, 21, 0, 8), run(Some(3), 29, 0, 8), run(Some(4), 37, 0, 14)];
        assert_eq!(runs, expected);
    }

    #[test]
    fn a_write_leaves_the_beginning_of_its_first_unit_and_the_end_of_its_last() {
        let log = log();
        assert_eq!(log.rests(8, 24), []);
        assert_eq!(log.rests(10, 23), [(1, 0, 2), (2, 7, 1)]);
        assert_eq!(log.rests(10, 12), [(1, 0, 2), (1, 4, 4)]);
    }

    #[test]
    fn the_newest_write_is_valid_and_a_late_copy_is_not() {
        let mut log = log();
        let (zone, other) = (log.open().expect("free"), log.open().expect("free"));
        write(&mut log, zone, &[1, 2, 1, 3]);
        assert_eq!((log.zone(zone).valid, log.place_of(1)), (3, Some(log.place(zone, 2))));
        let record = log.valid_at(log.place(zone, 1)).expect("valid");
        assert_eq!(record.unit, 2);
        write(&mut log, other, &[2]);
        assert!(!log.record_copy(log.place(zone, 1), log.place(other, 1), record));
        assert_eq!(log.place_of(2), Some(log.place(other, 0)));
        log.zone_mut(other).taken += 1;
        log.check();
    }

    #[test]
    fn each_policy_has_its_victim() {
        let mut log = log();
        for units in [[0, 1, 2, 3], [4, 5, 6, 0], [7, 4, 5, 6]] {
            let zone = log.open().expect("free");
            write(&mut log, zone, &units);
            log.zone_mut(zone).usage = Usage::Full;
        }
        // Valid units: 3 in the first zone, 1 in the second, 4 in the third.
        assert_eq!(log.victim(ZoneVictim::Greedy), Some(1));
        assert_eq!(log.victim(ZoneVictim::Fifo), Some(0));
        // The benefits are 0.25 * 2 / 1.75 and 0.75 * 1 / 1.25.
        assert_eq!(log.victim(ZoneVictim::CostBenefit), Some(1));
    }

    #[test]
    fn the_map_is_made_anew_from_the_newest_records_that_were_written() {
        let mut log = log();
        let (zone, other) = (log.open().expect("free"), log.open().expect("free"));
        write(&mut log, zone, &[1, 2, 3]);
        write(&mut log, other, &[1, 2]);
        log.forget(3);
        log.found(other, Usage::Open, 1);
        log.rebuild(true);
        assert_eq!(log.place_of(1), Some(log.place(other, 0)));
        assert_eq!(log.place_of(2), Some(log.place(zone, 1)), "its newer copy was lost");
        assert_eq!(log.place_of(3), Some(log.place(zone, 2)), "a discard is not written");
        log.check();
    }
}
