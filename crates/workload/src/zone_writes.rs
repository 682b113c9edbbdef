//! A workload for a drive with zones: writes or appends fill zones, which are finished and reset.
//!
//! Each zone goes through a cycle: a reset unless it is new, writes from its beginning to the fill level, and a finish
//! if the workload asks for one. The drive keeps the requests to a zone in the order of their submission, so any depth
//! is possible.

use base::engine::Rng;
use base::fault::Fault;
use base::io::{Io, IoKind};
use base::units::{Bytes, Lba, Ratio, SECTOR, Sectors, Time};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Arrival, MOST_DEPTH, Pacing, Source, SourceError};

/// A workload that fills zones.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZoneWritesSpec {
    /// The workload's name in reports.
    pub name: String,
    /// The load that the workload represents, and the source of its numbers.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub description: String,
    /// The number of requests, finishes and resets included.
    pub requests: u64,
    /// The number of requests outstanding.
    #[serde(default = "one")]
    pub depth: u32,
    /// The size of a write. The last write of a zone is smaller if less is left to the fill level.
    pub size: Bytes,
    /// True for appends, for which the drive chooses the address in the zone.
    #[serde(default, skip_serializing_if = "is_false")]
    pub append: bool,
    /// The share of reads. A read has the size of a write, and goes to data in any of the zones.
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub reads: Ratio,
    /// The zones to which the workload writes.
    pub zones: ZoneTable,
}

/// The zones that the workload writes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZoneTable {
    /// The zone size of the drive: zone `n` begins at `n` times this address.
    pub size: Bytes,
    /// The zone capacity of the drive; equal to `size` if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub capacity: Option<Bytes>,
    /// The number of the first zone, from 0.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub first: u32,
    /// The number of zones that the workload writes.
    #[serde(default = "one")]
    pub count: u32,
    /// The order of the writes among the zones.
    #[serde(default)]
    pub order: ZoneOrder,
    /// With `order = "random"`, the number of zones that are written at the same time: when a zone has been filled, the
    /// next zone takes its place. All zones if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<u32>,
    /// The part of the capacity that is written before a zone is finished or reset.
    #[serde(default = "whole")]
    pub fill: Ratio,
    /// True if a zone is finished when it has been written to the fill level.
    #[serde(default, skip_serializing_if = "is_false")]
    pub finish: bool,
    /// True if each zone is reset before its first write, because the drive is not new.
    #[serde(default, rename = "reset-first", skip_serializing_if = "is_false")]
    pub reset_first: bool,
    /// Random write areas (ZRWA): each zone is opened with one before its first write, and a flush of the area fills
    /// the zone. Without random write areas if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub zrwa: Option<ZrwaTable>,
}

/// The use of random write areas.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ZrwaTable {
    /// The distance behind the end of a zone's data that overwrites reach: at most the size of the drive's areas less a
    /// flush granule, because a write behind an area moves the write pointer by whole granules.
    pub window: Bytes,
    /// The share of writes that overwrite a place within the window.
    #[serde(default = "none", skip_serializing_if = "is_none")]
    pub overwrites: Ratio,
}

/// The order of writes among zones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ZoneOrder {
    /// One zone after another: all writes of a zone's cycle follow each other.
    #[default]
    InTurn,
    /// Each request goes to the next zone, so that all zones are written at the same time.
    Interleaved,
    /// Each request goes to any of the zones that are written at the same time.
    #[serde(rename = "random")]
    RandomZone,
}

const fn one() -> u32 {
    1
}

const fn none() -> Ratio {
    Ratio::new(0.0)
}

const fn whole() -> Ratio {
    Ratio::new(1.0)
}

#[allow(clippy::trivially_copy_pass_by_ref)] // Serde passes a reference.
const fn is_false(value: &bool) -> bool {
    !*value
}

fn is_none(share: &Ratio) -> bool {
    *share == Ratio::new(0.0)
}

#[allow(clippy::trivially_copy_pass_by_ref)] // Serde passes a reference.
const fn is_zero(value: &u32) -> bool {
    *value == 0
}

/// The next step in the cycle of a zone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ZoneStep {
    Reset,
    /// The zone is opened with a random write area.
    OpenZrwa,
    /// The rest of the random write area is flushed, so that the zone is full.
    Flush,
    /// Writes a number of sectors.
    Write(u64),
    Finish,
}

/// The overwrites in random write areas.
#[derive(Clone, Copy, Debug)]
struct Overwrites {
    /// The window in sectors behind the end of a zone's data.
    window: u64,
    share: f64,
}

/// The source of a description's requests for a drive.
#[derive(Clone, Debug)]
pub struct ZoneWrites {
    zones: Vec<ZoneStep>,
    data: Vec<u64>,
    reads: f64,
    rng: Rng,
    first: u64,
    stride: u64,
    /// The number of sectors of a write.
    size: u64,
    fill: u64,
    /// True if the fill level is the capacity.
    is_filled: bool,
    append: bool,
    finish: bool,
    zrwa: Option<Overwrites>,
    order: ZoneOrder,
    /// In random order: the zones that are written at the same time.
    open: Vec<usize>,
    place: usize,
    /// The zone of the next request.
    at: usize,
    left: u64,
    depth: u32,
}

impl ZoneWrites {
    /// Creates the source for a drive of `capacity`; `seed` decides on the reads.
    ///
    /// # Errors
    ///
    /// All faults of the description.
    pub fn new(spec: &ZoneWritesSpec, capacity: Sectors, seed: u64) -> Result<Self, Vec<Fault>> {
        let ZoneSizes { stride, size, writable, window } = ZoneSizes::new(spec, capacity)?;
        let zones = &spec.zones;
        // The fill level is rounded down to whole writes, if it has room for one.
        let share = (writable as f64 * zones.fill.get()) as u64;
        let fill = if zones.fill.get() < 1.0 { (share / size * size).max(size.min(writable)) } else { writable };
        let zrwa = zones.zrwa.zip(window).map(|(zrwa, window)| Overwrites { window, share: zrwa.overwrites.get() });
        let begin = match (zones.reset_first, zrwa) {
            (true, _) => ZoneStep::Reset,
            (false, Some(_)) => ZoneStep::OpenZrwa,
            (false, None) => ZoneStep::Write(0),
        };
        let open = if zones.order == ZoneOrder::RandomZone { zones.open.unwrap_or(zones.count) as usize } else { 0 };
        Ok(Self {
            zones: vec![begin; zones.count as usize],
            data: vec![0; zones.count as usize],
            reads: spec.reads.get(),
            rng: Rng::stream(seed, "workload.zones"),
            first: u64::from(zones.first),
            stride,
            size,
            fill,
            is_filled: fill == writable,
            append: spec.append,
            finish: zones.finish,
            zrwa,
            order: zones.order,
            open: (0..open).collect(),
            place: 0,
            at: 0,
            left: spec.requests,
            depth: spec.depth,
        })
    }
}

/// The sizes of a description in sectors.
struct ZoneSizes {
    /// The distance from one zone to the next.
    stride: u64,
    /// The size of a write.
    size: u64,
    /// The size of the part of a zone that can be written.
    writable: u64,
    /// The size of the random write area.
    window: Option<u64>,
}

impl ZoneSizes {
    /// The sizes, or all faults of the description.
    fn new(spec: &ZoneWritesSpec, capacity: Sectors) -> Result<Self, Vec<Fault>> {
        let mut faults = Vec::new();
        let mut sectors = |path: &str, size: Bytes| {
            let whole = size.sectors().map(Sectors::get).filter(|sectors| *sectors > 0);
            if whole.is_none() {
                let message = format!("{size} is not a whole number of sectors above zero");
                faults.push(Fault::new(path, message, "use a multiple of 512B"));
            }
            whole.unwrap_or(1)
        };
        let zones = &spec.zones;
        let stride = sectors("zones.size", zones.size);
        let size = sectors("size", spec.size);
        let writable = zones.capacity.map_or(stride, |capacity| sectors("zones.capacity", capacity));
        let window = zones.zrwa.map(|zrwa| sectors("zones.zrwa.window", zrwa.window));
        let sizes = Self { stride, size, writable, window };
        sizes.check(spec, capacity, &mut faults);
        if faults.is_empty() { Ok(sizes) } else { Err(faults) }
    }

    fn check(&self, spec: &ZoneWritesSpec, capacity: Sectors, faults: &mut Vec<Fault>) {
        let zones = &spec.zones;
        let mut check = |wrong: bool, path: &str, message: String, remedy: &str| {
            if wrong {
                faults.push(Fault::new(path, message, remedy));
            }
        };
        check(spec.requests == 0, "requests", "the workload issues no request".into(), "use 1 or more");
        check(spec.depth == 0, "depth", "a closed loop of depth 0 never issues a request".into(), "use 1 or more");
        let most = format!("use at most {MOST_DEPTH}");
        check(spec.depth > MOST_DEPTH, "depth", format!("{} requests outstanding", spec.depth), &most);
        check(zones.count == 0, "zones.count", "there is no zone to write to".into(), "use 1 or more");
        let message = format!("is {}, more than the zone size of {}", SECTOR * self.writable, zones.size);
        check(self.writable > self.stride, "zones.capacity", message, "use at most the zone size");
        let open = zones.open.unwrap_or(zones.count);
        let is_random = zones.order == ZoneOrder::RandomZone;
        let message = format!("is {open} of {} zones", zones.count);
        check(is_random && !(1..=zones.count.max(1)).contains(&open), "zones.open", message, "use 1 up to all zones");
        let message = "only a random order of writes has it".into();
        check(!is_random && zones.open.is_some(), "zones.open", message, "leave it out, or set order to random");
        let is_share = zones.fill.get() > 0.0 && zones.fill.get() <= 1.0;
        check(!is_share, "zones.fill", format!("is {}", zones.fill), "use a share above 0%, up to 100%");
        let is_share = (0.0..1.0).contains(&spec.reads.get());
        check(!is_share, "reads", format!("is {}", spec.reads), "use a share from 0%, below 100%");
        let overwrites = zones.zrwa.map_or(Ratio::ZERO, |zrwa| zrwa.overwrites);
        let is_share = (0.0..1.0).contains(&overwrites.get());
        check(!is_share, "zones.zrwa.overwrites", format!("is {overwrites}"), "use a share from 0%, below 100%");
        let is_short = self.window.is_some_and(|window| window < self.size);
        let message = format!("has no room for a write of {}", spec.size);
        check(is_short, "zones.zrwa.window", message, "use at least the size of a write");
        let message = "a zone with a random write area takes no appends".into();
        check(spec.append && zones.zrwa.is_some(), "append", message, "leave one of the two out");
        let (first, count) = (u64::from(zones.first), u64::from(zones.count));
        let last = first + count.max(1) - 1;
        let drive = capacity.bytes();
        let message = format!("zones {first} to {last} of {} end beyond the drive's {drive}", zones.size);
        let end = (first + count).checked_mul(self.stride);
        check(end.is_none_or(|end| end > capacity.get()), "zones.count", message, "use fewer zones, or a larger drive");
    }
}

impl ZoneWrites {
    /// Draws a read of data in a zone; `None` if another request is due.
    fn draw_read(&mut self) -> Option<Io> {
        if self.reads <= 0.0 || !self.rng.chance(self.reads) {
            return None;
        }
        let zone = self.rng.below(self.zones.len() as u64);
        let data = self.data[zone as usize];
        let sectors = self.size.min(data);
        let places = data / self.size;
        if places == 0 {
            return None;
        }
        let start = (self.first + zone) * self.stride + self.rng.below(places) * self.size;
        Some(Io::new(IoKind::Read, Lba::new(start), Sectors::new(sectors)))
    }
}

impl ZoneWrites {
    /// Draws a write to a place in the random write area of the present zone; `None` if another request is due.
    fn draw_overwrite(&mut self) -> Option<Io> {
        let Overwrites { window, share } = self.zrwa?;
        let ZoneStep::Write(written) = self.zones[self.at] else { return None };
        let places = window.min(written) / self.size;
        if places == 0 || share <= 0.0 || !self.rng.chance(share) {
            return None;
        }
        let back = (1 + self.rng.below(places)) * self.size;
        let start = (self.first + self.at as u64) * self.stride + written - back;
        self.next_zone(false);
        Some(Io::new(IoKind::Write, Lba::new(start), Sectors::new(self.size)))
    }

    /// Chooses the zone of a request in random order.
    fn choose_zone(&mut self) {
        if self.order == ZoneOrder::RandomZone {
            self.place = self.rng.below(self.open.len() as u64) as usize;
            self.at = self.open[self.place];
        }
    }

    /// Goes to the zone of the next request. `ends_cycle` is true if the last request may have ended the cycle of its
    /// zone.
    fn next_zone(&mut self, ends_cycle: bool) {
        let count = self.zones.len();
        match self.order {
            ZoneOrder::Interleaved => self.at = (self.at + 1) % count,
            ZoneOrder::InTurn if ends_cycle => self.at = (self.at + 1) % count,
            // The next zone that is not being written; this zone if there is none.
            ZoneOrder::RandomZone if ends_cycle => {
                let free = (1..count).map(|i| (self.at + i) % count).find(|zone| !self.open.contains(zone));
                self.open[self.place] = free.unwrap_or(self.at);
            }
            ZoneOrder::InTurn | ZoneOrder::RandomZone => {}
        }
    }

    const fn after_writes(&self) -> ZoneStep {
        match (self.finish, self.zrwa) {
            (true, _) => ZoneStep::Finish,
            // Other zones are reset before they are full.
            (false, Some(_)) if self.is_filled => ZoneStep::Flush,
            (false, _) => ZoneStep::Reset,
        }
    }
}

impl Source for ZoneWrites {
    fn next(&mut self) -> Result<Option<Arrival>, SourceError> {
        if self.left == 0 {
            return Ok(None);
        }
        self.left -= 1;
        if let Some(io) = self.draw_read() {
            return Ok(Some(Arrival::new(Time::ZERO, io)));
        }
        self.choose_zone();
        if let Some(io) = self.draw_overwrite() {
            return Ok(Some(Arrival::new(Time::ZERO, io)));
        }
        let begin = (self.first + self.at as u64) * self.stride;
        let step = self.zones[self.at];
        let bare = |kind, start| Io::new(kind, Lba::new(start), Sectors::new(0));
        let (io, next) = match step {
            ZoneStep::Reset if self.zrwa.is_some() => (bare(IoKind::ZoneReset, begin), ZoneStep::OpenZrwa),
            ZoneStep::Reset => (bare(IoKind::ZoneReset, begin), ZoneStep::Write(0)),
            ZoneStep::OpenZrwa => (bare(IoKind::ZoneOpenZrwa, begin), ZoneStep::Write(0)),
            ZoneStep::Flush => (bare(IoKind::ZrwaFlush, begin + self.fill - 1), ZoneStep::Reset),
            ZoneStep::Finish => (bare(IoKind::ZoneFinish, begin), ZoneStep::Reset),
            ZoneStep::Write(written) => {
                let sectors = self.size.min(self.fill - written);
                let (kind, start) =
                    if self.append { (IoKind::Append, begin) } else { (IoKind::Write, begin + written) };
                let next = match written + sectors {
                    written if written < self.fill => ZoneStep::Write(written),
                    _ => self.after_writes(),
                };
                (Io::new(kind, Lba::new(start), Sectors::new(sectors)), next)
            }
        };
        self.zones[self.at] = next;
        match step {
            ZoneStep::Reset => self.data[self.at] = 0,
            ZoneStep::Write(written) => self.data[self.at] = written + io.sectors.get(),
            ZoneStep::OpenZrwa | ZoneStep::Flush | ZoneStep::Finish => {}
        }
        // A cycle ends before the reset that begins the next one.
        self.next_zone(next == ZoneStep::Reset);
        Ok(Some(Arrival::new(Time::ZERO, io)))
    }

    fn pacing(&self) -> Pacing {
        Pacing::Closed { depth: self.depth }
    }

    fn len_hint(&self) -> Option<u64> {
        Some(self.left)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The requests on a drive of 64 sectors: kind, first sector, sectors.
    fn requests(text: &str) -> Result<Vec<(IoKind, u64, u64)>, Vec<String>> {
        let spec: ZoneWritesSpec = toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        let mut source = ZoneWrites::new(&spec, Sectors::new(64), 7)
            .map_err(|faults| faults.into_iter().map(|fault| fault.path).collect::<Vec<_>>())?;
        let all = std::iter::from_fn(|| source.next().expect("no file"));
        Ok(all.map(|Arrival { io, .. }| (io.kind, io.start.get(), io.sectors.get())).collect())
    }

    use IoKind::{Append, Write, ZoneFinish, ZoneOpenZrwa, ZoneReset, ZrwaFlush};

    #[test]
    fn a_zone_is_filled_and_reset_before_it_is_written_again() {
        let text = "name = 'w'\nrequests = 7\nsize = '2KiB'\nzones = { size = '8KiB', capacity = '5KiB', first = 1 }";
        let cycle = [(Write, 16, 4), (Write, 20, 4), (Write, 24, 2)];
        let again = [&cycle[..], &[(ZoneReset, 16, 0)], &cycle].concat();
        assert_eq!(requests(text).expect("sound"), again);
    }

    #[test]
    fn zones_are_written_in_turn_or_at_the_same_time() {
        let text = |order| {
            format!(
                r"name = 'w'
requests = 8
size = '2KiB'
append = true
zones = {{ size = '4KiB', count = 2, order = '{order}', finish = true, fill = '60%' }}"
            )
        };
        let all = |order| requests(&text(order)).expect("sound");
        let zone = |begin| [(Append, begin, 4), (ZoneFinish, begin, 0)];
        let reset = |begin| (ZoneReset, begin, 0);
        assert_eq!(all("in-turn"), [&zone(0)[..], &zone(8), &[reset(0)], &zone(0), &[reset(8)]].concat());
        let [[a, b], [c, d]] = [zone(0), zone(8)];
        assert_eq!(all("interleaved"), [a, c, b, d, reset(0), reset(8), a, c]);
    }

    #[test]
    fn zones_in_random_order_are_written_a_few_at_a_time() {
        let text = r"name = 'w'
requests = 400
size = '1KiB'
zones = { size = '4KiB', count = 7, order = 'random', open = 3 }";
        let (mut written, mut resets, mut changes) = ([0; 7], 0, 0);
        let mut last = 0;
        for (kind, start, sectors) in requests(text).expect("sound") {
            let zone = (start / 8) as usize;
            match kind {
                ZoneReset => {
                    assert_eq!(written[zone], 8, "a zone is reset when it is full");
                    (written[zone], resets) = (0, resets + 1);
                }
                _ => {
                    assert_eq!(start % 8, written[zone], "at the write pointer");
                    written[zone] += sectors;
                }
            }
            changes += usize::from(zone != last);
            last = zone;
            let partly = written.iter().filter(|written| (1..8).contains(*written)).count();
            assert!(partly <= 3, "{written:?}");
        }
        assert!(resets > 50 && changes > 200, "{resets} resets, {changes} changes of the zone");
    }

    #[test]
    fn a_used_drive_is_reset_first() {
        let text = "name = 'w'\nrequests = 2\nsize = '4KiB'\nzones = { size = '4KiB', reset-first = true }";
        assert_eq!(requests(text).expect("sound"), [(ZoneReset, 0, 0), (Write, 0, 8)]);
    }

    #[test]
    fn zones_with_random_write_areas_are_opened_and_flushed() {
        let text = |more: &str| {
            format!(
                r"name = 'w'
requests = 9
size = '2KiB'
zones = {{ size = '8KiB', capacity = '4KiB', first = 1, zrwa = {{ window = '4KiB' }}{more} }}"
            )
        };
        let cycle = [(ZoneOpenZrwa, 16, 0), (Write, 16, 4), (Write, 20, 4)];
        let filled = [&cycle[..], &[(ZrwaFlush, 23, 0), (ZoneReset, 16, 0)], &cycle, &[(ZrwaFlush, 23, 0)]].concat();
        assert_eq!(requests(&text("")).expect("sound"), filled);
        let finished =
            [&cycle[..], &[(ZoneFinish, 16, 0), (ZoneReset, 16, 0)], &cycle, &[(ZoneFinish, 16, 0)]].concat();
        assert_eq!(requests(&text(", finish = true")).expect("sound"), finished);
        let half = requests(&text(", fill = '50%'")).expect("sound");
        assert_eq!(half[1..4], [(Write, 16, 4), (ZoneReset, 16, 0), (ZoneOpenZrwa, 16, 0)]);
    }

    #[test]
    fn overwrites_stay_in_the_window_behind_the_data() {
        let text = r"name = 'w'
requests = 2000
size = '1KiB'
zones = { size = '16KiB', count = 2, order = 'interleaved', zrwa = { window = '3KiB', overwrites = '40%' } }";
        let (mut end, mut overwrites) = ([0; 2], 0);
        for (kind, start, sectors) in requests(text).expect("sound") {
            let zone = (start / 32) as usize;
            match kind {
                Write if start % 32 == end[zone] => end[zone] += sectors,
                Write => {
                    assert!(start % 32 < end[zone] && start % 32 + 6 >= end[zone], "{start} of {end:?}");
                    overwrites += 1;
                }
                ZoneReset => end[zone] = 0,
                _ => assert!(matches!(kind, ZoneOpenZrwa | ZrwaFlush)),
            }
        }
        assert!((500..750).contains(&overwrites), "{overwrites}");
    }

    #[test]
    fn reads_find_data_of_the_same_cycle() {
        let text = r"name = 'w'
requests = 2000
size = '1KiB'
reads = '50%'
zones = { size = '8KiB', count = 3, order = 'interleaved' }";
        let mut written = [0; 3];
        let mut reads = 0;
        for (kind, start, sectors) in requests(text).expect("sound") {
            let zone = (start / 16) as usize;
            match kind {
                Write => written[zone] = start % 16 + sectors,
                ZoneReset => written[zone] = 0,
                _ => {
                    assert!(start % 16 + sectors <= written[zone], "{start} of {written:?}");
                    reads += 1;
                }
            }
        }
        assert!((900..1000).contains(&reads), "{reads}: a zone without data gives its turn to a write");
    }

    #[test]
    fn every_builtin_workload_of_zones_is_valid() {
        let zoned = crate::generate::builtin().iter().filter(|(_, text)| text.contains("\n[zones]"));
        let mut count = 0;
        for (name, text) in zoned {
            let spec: ZoneWritesSpec = toml::from_str(text).expect(name);
            assert_eq!(spec.name, *name);
            assert!(text.contains("# Source: ") && !spec.description.is_empty(), "{name}");
            assert!(ZoneWrites::new(&spec, Sectors::new(1 << 32), 1).is_ok(), "{name}");
            count += 1;
        }
        assert_eq!(count, 2);
    }

    #[test]
    fn every_fault_of_the_description_is_found() {
        let text = r"name = 'w'
requests = 0
depth = 0
size = '100B'
reads = '100%'
zones = { size = '8KiB', capacity = '9KiB', count = 5, fill = '0%' }";
        let wanted = ["size", "requests", "depth", "zones.capacity", "zones.fill", "reads", "zones.count"];
        assert_eq!(requests(text).expect_err("faulty"), wanted);
        let text = r"name = 'w'
requests = 1
size = '8KiB'
append = true
zones = { size = '8KiB', zrwa = { window = '4KiB', overwrites = '100%' } }";
        let wanted = ["zones.zrwa.overwrites", "zones.zrwa.window", "append"];
        assert_eq!(requests(text).expect_err("faulty"), wanted);
        for table in ["order = 'random', open = 3, count = 2", "order = 'random', open = 0", "open = 1"] {
            let text = format!("name = 'w'\nrequests = 1\nsize = '8KiB'\nzones = {{ size = '8KiB', {table} }}");
            assert_eq!(requests(&text).expect_err("faulty"), ["zones.open"], "{table}");
        }
    }
}
