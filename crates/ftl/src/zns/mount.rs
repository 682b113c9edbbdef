//! Recovery: the state of the zones from the media alone.
//!
//! The spare area of a row names its mapping units, so each superblock tells its zone, and its place there. The data of
//! a zone are its rows from the first one on, without a gap, because capacitors have carried all programs through. A
//! row of padding, or one that is programmed in part, means that the zone was finished.
//!
//! A zone with data, or with a random write area that holds some, and with room for more is closed afterwards, whatever
//! its state was before (the standard's rule for a power cycle). A zone is read only if a program has failed in it.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use base::units::{Lpn, SuperblockId};
use flash::nand::{Media, Spare, Stream, Target};

use super::config::ZnsConfig;
use super::layout::WindowName;
use super::power::{SavedAreas, SavedRow, SavedUnit};
use super::states::ZoneStates;
use super::window::Windows;
use super::zone::Zone;
use super::{Blocks, DiePrograms, ZnsFtl, ZoneCounters};
use crate::port::Mount;
use crate::toolkit::recovery::{self, MountState};
use crate::toolkit::{DieLists, Versions};
use crate::zone::ZoneState;

/// The part of a superblock's spare areas that tells its zone.
#[derive(Clone, Copy, Debug, Default)]
struct SpareContents {
    /// The mapping unit of some slot, and the offset of that slot.
    unit: Option<(Lpn, u32)>,
    /// The zone of a row of padding, if the superblock has one.
    padded: Option<u32>,
}

impl ZnsFtl {
    /// Recovers the FTL from the media.
    pub(super) fn mount(config: &ZnsConfig, from: &Mount<'_>) -> Self {
        let layout = config.layout.clone();
        let shape = layout.shape;
        let dies = layout.geometry.die_count();
        let mut ftl = Self {
            states: ZoneStates::new(shape, from.planted),
            zones: vec![Zone::default(); shape.zones as usize],
            blocks: Blocks::new(&layout, config.wear.dynamic),
            dies: vec![DiePrograms::default(); dies as usize],
            programs: config.programs,
            reserve: config.reserve,
            versions: Versions::default(),
            reading: DieLists::new(dies),
            ram_reads: Vec::new(),
            erasing: Vec::new(),
            saved: SavedAreas::default(),
            windows: Windows::new(shape.zrwa),
            counters: ZoneCounters::new(shape),
            found: 0,
            planted: from.planted,
            layout,
        };
        let padded = ftl.find_superblocks(from);
        ftl.find_data(from.media, &padded);
        for group in 0..ftl.layout.groups() {
            ftl.close_short_group(group);
        }
        ftl
    }

    /// Gives each superblock to its zone, or to the free superblocks. Returns for each zone true if it has a row of
    /// padding.
    fn find_superblocks(&mut self, from: &Mount<'_>) -> Vec<bool> {
        let media = from.media;
        let mut padded = vec![false; self.zones.len()];
        let mut padding = Vec::new();
        for (superblock, found) in recovery::survey(media, from.planted) {
            if found != MountState::Bad {
                self.blocks.count_good(self.layout.geometry.die_of(superblock));
            }
            match found {
                MountState::Bad => {}
                MountState::Erased(erases) => self.blocks.free(&self.layout, superblock, erases),
                MountState::Programmed(birth) if birth.stream == Stream::COPIES => {
                    self.find_saved(media, superblock);
                    self.saved.useless.push(superblock);
                }
                MountState::Programmed(_) => {
                    let SpareContents { unit, padded: pads } = self.scan(media, superblock);
                    if let Some(zone) = pads {
                        padded[zone as usize] = true;
                    }
                    match (unit, pads) {
                        (Some((lpn, offset)), _) => self.attach(lpn, offset, superblock),
                        (None, Some(zone)) => padding.push((zone, superblock)),
                        (None, None) => self.saved.useless.push(superblock),
                    }
                }
            }
        }
        // A superblock with nothing but padding may be any of its zone's superblocks on the die.
        for (zone, superblock) in padding {
            let die = self.layout.geometry.die_of(superblock);
            let layout = &self.layout;
            let members = (0..).zip(self.blocks.of_zone_mut(zone));
            let place =
                members.filter(|(member, _)| layout.die_of(zone, *member) == die).find(|(_, has)| has.is_none());
            *place.expect("a zone has a place for each of its superblocks").1 = Some(superblock);
        }
        padded
    }

    /// Reads the spare areas of a superblock, and notes every version.
    fn scan(&mut self, media: &Media, superblock: SuperblockId) -> SpareContents {
        let mut contents = SpareContents::default();
        for offset in 0..self.layout.geometry.superblock_slots() {
            let Spare::Data { lpn, version } = media.spare(self.layout.geometry.slot(superblock, offset)) else {
                continue;
            };
            self.versions.note(version);
            match self.layout.padded_zone(lpn) {
                Some(zone) => contents.padded = Some(zone),
                None => _ = contents.unit.get_or_insert((lpn, offset)),
            }
        }
        contents
    }

    /// Gives a superblock to the zone of a mapping unit that one of its slots holds.
    fn attach(&mut self, lpn: Lpn, offset: u32, superblock: SuperblockId) {
        let (zone, unit) = self.layout.split(lpn);
        let (row, inside) = self.layout.row_of(unit);
        let place = self.layout.place_of(row);
        assert_eq!(place.offset + inside, offset, "{superblock} has {lpn} at another place than its zone's");
        let before = self.blocks.of_zone_mut(zone)[place.member as usize].replace(superblock);
        assert_eq!(before, None, "two superblocks at one place of zone {zone}");
    }

    /// Finds the saved rows in a superblock of no zone.
    fn find_saved(&mut self, media: &Media, superblock: SuperblockId) {
        let slots = self.layout.row_units();
        for row in 0..self.layout.superblock_rows() {
            let offset = row * slots;
            let spares = (offset..offset + slots).map(|slot| media.spare(self.layout.geometry.slot(superblock, slot)));
            let data = spares.map_while(|spare| match spare {
                Spare::Data { lpn, version } => Some((lpn, version)),
                Spare::Empty | Spare::Torn => None,
            });
            let units: Vec<(Lpn, u32)> = data.collect();
            let Some((lpn, _)) = units.first() else { continue };
            units.iter().for_each(|(_, version)| self.versions.note(*version));
            if self.layout.window_name(*lpn).is_some() {
                self.find_window(superblock, offset, &units);
                continue;
            }
            let (zone, unit) = self.layout.split(*lpn);
            let target = Target { superblock, offset };
            let (row, units) = (self.layout.row_of(unit).0, units.len() as u32);
            self.saved.rows.push(SavedRow { zone, row, target, units });
        }
    }

    /// Notes the saved slots of random write areas in a superblock, from an offset on.
    fn find_window(&mut self, superblock: SuperblockId, offset: u32, slots: &[(Lpn, u32)]) {
        for (slot, (lpn, version)) in (offset..).zip(slots) {
            match self.layout.window_name(*lpn) {
                Some(WindowName::Zone(zone)) => _ = self.saved.windows.insert(zone),
                Some(WindowName::Unit(lpn)) => {
                    let psn = self.layout.geometry.slot(superblock, slot);
                    self.saved.units.push(SavedUnit { lpn, version: *version, psn });
                }
                None => unreachable!("a row of random write areas has nothing else"),
            }
        }
    }

    /// Finds the data and the state of each zone.
    fn find_data(&mut self, media: &Media, padded: &[bool]) {
        // A save that was begun twice has left two copies of a row, of which the longer is complete.
        let mut saved: BTreeMap<(u32, u32), SavedRow> = BTreeMap::new();
        for row in std::mem::take(&mut self.saved.rows) {
            let known = saved.entry((row.zone, row.row)).or_insert(row);
            if known.units < row.units {
                *known = row;
            }
        }
        for zone in 0..self.layout.shape.zones {
            let mut data = 0;
            let mut cut = false;
            for row in 0..self.layout.zone_rows() {
                let kept = saved.get(&(zone, row)).map(|saved| saved.units);
                let units = kept.unwrap_or_else(|| self.units_of_row(media, zone, row));
                data += units;
                if units < self.layout.units_in(row) {
                    cut = units > 0 && kept.is_none();
                    break;
                }
            }
            self.find_state(media, zone, (data, cut || padded[zone as usize]), &saved);
        }
        self.saved.rows = saved.into_values().collect();
        // A save that was begun twice has left two copies of a unit with the same version.
        self.saved.units.sort_by_key(|saved| (saved.lpn, Reverse(saved.version)));
        self.saved.units.dedup_by_key(|saved| saved.lpn);
        self.found += self.saved.units.len() as u32;
    }

    /// The number of mapping units at the begin of a row that flash holds.
    fn units_of_row(&self, media: &Media, zone: u32, row: u32) -> u32 {
        let place = self.layout.place_of(row);
        let Some(superblock) = self.blocks.of_zone(zone)[place.member as usize] else { return 0 };
        let first = row * self.layout.row_units();
        let holds = |inside: &u32| {
            let spare = media.spare(self.layout.geometry.slot(superblock, place.offset + inside));
            let lpn = self.layout.unit(zone, first + inside);
            matches!(spare, Spare::Data { lpn: found, .. } if found == lpn)
        };
        (0..self.layout.units_in(row)).take_while(holds).count() as u32
    }

    fn find_state(
        &mut self,
        media: &Media,
        zone: u32,
        (data, is_finished): (u32, bool),
        saved: &BTreeMap<(u32, u32), SavedRow>,
    ) {
        let capacity = self.layout.shape.capacity;
        let mut rows = saved.range((zone, 0)..=(zone, u32::MAX)).map(|(_, saved)| saved);
        let members = self.blocks.of_zone(zone).iter().flatten();
        // Only the rows of failed programs are saved whole.
        let fails = members.clone().any(|superblock| media.is_failing(*superblock))
            || rows.any(|saved| saved.units == self.layout.units_in(saved.row));
        let state = match data {
            _ if fails => ZoneState::ReadOnly,
            _ if is_finished || data == capacity => ZoneState::Full,
            0 if !self.saved.windows.contains(&zone) => ZoneState::Empty,
            _ => ZoneState::Closed,
        };
        self.states.enter(zone, state);
        self.found += data;
        let of = &mut self.zones[zone as usize];
        let end = if state == ZoneState::Full { capacity } else { data };
        (of.data, of.placed, of.write_pointer) = (data, end, end);
        if state == ZoneState::Closed {
            let filled = self.blocks.fill(&self.layout, zone);
            assert!(filled, "a zone that had its superblocks finds them again");
        }
    }
}
