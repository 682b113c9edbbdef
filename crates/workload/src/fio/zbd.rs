//! `zonemode=zbd`: a job that writes the zones of a drive at their write pointers, as a [`ZoneWritesSpec`].
//!
//! fio resets a full zone before it writes to it again, and so does the workload. A sequential job fills one zone after
//! another. A random job writes to any of `max_open_zones` zones; when one of them is full, the next zone of the region
//! takes its place, whereas fio draws one. Reads go to data that the job itself has written.
//!
//! Options that depend on measurements, on other jobs or on a clock are refused. So such a job is the only one in its
//! file.

use base::fault::Fault;
use base::units::{Bytes, Ratio, Sectors};

use super::Note;
use super::file::Job;
use super::reader::Reader;
use super::reader::note;
use super::sizes::Sizes;
use super::value::{bytes, percent, whole};
use crate::fault::Faults;
use crate::generate::Amount;
use crate::{ZoneOrder, ZoneTable, ZoneWrites, ZoneWritesSpec};

/// Keys of the workload, and the options of fio that set them. A fault of a key is reported at the first of its options
/// that the job has.
const OPTIONS: [(&str, &[&str]); 6] = [
    ("size", &["bs"]),
    ("depth", &["iodepth"]),
    ("zones.size", &["zonesize"]),
    ("zones.capacity", &["zonecapacity"]),
    ("zones.count", &["size", "offset", "zonesize"]),
    ("zones.open", &["max_open_zones", "job_max_open_zones"]),
];

/// Options that have an effect only with `zonemode=zbd`.
const ONLY_ZBD: [&str; 7] = [
    "zonecapacity",
    "max_open_zones",
    "job_max_open_zones",
    "write_zone_remainder",
    "zone_reset_threshold",
    "zone_reset_frequency",
    "read_beyond_wp",
];

/// A size in bytes, in zones, or as a share of the drive.
#[derive(Clone, Copy, Debug, PartialEq)]
enum ZonedAmount {
    Zones(u64),
    Part(Amount),
}

/// A job with `zonemode=zbd`.
#[derive(Clone, Debug, PartialEq)]
pub struct ZonedJob {
    /// The description of the requests. Their number follows from the size of the drive.
    pub spec: ZoneWritesSpec,
    job: Job,
    start: Option<ZonedAmount>,
    size: Option<ZonedAmount>,
    /// The amount of data that the job transfers, if it is not that of the region, and the number of repetitions.
    total: Option<ZonedAmount>,
    loops: u64,
    most: Option<u64>,
}

/// True if the job writes zones.
pub(super) fn is_zoned(job: &Job) -> bool {
    job.get("zonemode").and_then(|setting| setting.value.as_deref()) == Some("zbd")
}

/// Parses the only job of a file; `None` if it has faults.
pub(super) fn zoned_job(name: &str, jobs: &[Job], notes: &mut Vec<Note>, faults: &mut Faults) -> Option<ZonedJob> {
    let job = jobs.iter().find(|job| is_zoned(job))?;
    if jobs.len() > 1 {
        let message = "a job that writes zones is not translated beside other jobs";
        faults.add(job.path_of("zonemode"), message, "write a file for each job");
        return None;
    }
    let mut own = Faults::default();
    let parsed = Reader { job, notes, faults: &mut own, kb_base: 1024 }.zoned(name);
    let is_sound = own.len() == 0;
    faults.append(own);
    parsed.filter(|_| is_sound)
}

impl Reader<'_> {
    /// Notes options that have no effect on a job without `zonemode=zbd`.
    pub(super) fn remark_zbd(&mut self) {
        for key in ONLY_ZBD {
            if let Some(setting) = self.job.get(key) {
                self.notes.push(note(setting, "has no effect here; it counts with zonemode=zbd only"));
            }
        }
    }

    fn zoned(&mut self, name: &str) -> Option<ZonedJob> {
        self.kb_base = self.value("kb_base", "1000 or 1024", |t| whole(t).filter(|b| [1000, 1024].contains(b)), 1024);
        if !self.has_device() {
            return None;
        }
        let mode = self.mode()?;
        let sizes = self.sizes()?;
        let kinds: Vec<usize> = (0..3).filter(|kind| mode.shares[*kind] > 0.0).collect();
        let depth = self.own_depth(&kinds, &sizes)?;
        let size = self.one_size(&kinds, &sizes)?;
        if mode.shares[1] <= 0.0 || mode.shares[2] > 0.0 || mode.trim_first {
            let message = "only jobs that write are translated: reads go to what the job itself has written";
            self.fault("rw", message, "write rw=write, randwrite, rw or randrw, or zonemode=none to read anywhere");
        }
        if mode.run.is_some() || mode.hole != 0 {
            self.fault("rw", "a zone is written without holes and runs", "delete what follows the colon");
        }
        let kb_base = self.kb_base;
        let length = |text: &str| bytes(text, kb_base).filter(|n| *n > 0).map(|n| Some(Bytes::new(n)));
        let zone = self.value("zonesize", "a size such as 256m", length, None);
        let capacity = self.value("zonecapacity", "a size such as 192m", length, None);
        let Some(zone) = zone else {
            if self.faults.len() == 0 {
                let message = "zonemode=zbd needs it: a job file here does not know the zones of the drive";
                self.fault("zonesize", message, "write the drive's zone size, e.g. zonesize=2g");
            }
            return None;
        };
        let open = self.open_zones(mode.random);
        let mut table = ZoneTable {
            size: zone,
            capacity,
            first: 0,
            count: 1,
            order: if mode.random { ZoneOrder::RandomZone } else { ZoneOrder::InTurn },
            open: open.filter(|_| mode.random),
            fill: Ratio::new(1.0),
            finish: false,
            reset_first: false,
            zrwa: None,
        };
        self.end_zones(&mut table, size);
        let spec = ZoneWritesSpec {
            name: name.to_owned(),
            description: String::new(),
            requests: 1,
            depth,
            size,
            append: false,
            reads: Ratio::new(mode.shares[0]),
            zones: table,
        };
        let [start, region, total] = ["offset", "size", "io_size"].map(|key| self.zoned_amount(key));
        let region = if self.flag("fill_device") { None } else { region };
        let loops = self.value("loops", "a number", |t| whole(t).map(|n| n.max(1)), 1);
        let most = self.value("number_ios", "a number", |t| whole(t).map(Some), None).filter(|n| *n > 0);
        Some(ZonedJob { spec, job: self.job.clone(), start, size: region, total, loops, most })
    }

    /// The number of requests outstanding. Refuses options that give the job a pace, an order or data of its own.
    fn own_depth(&mut self, kinds: &[usize], sizes: &Sizes) -> Option<u32> {
        let pace = self.pace(kinds, sizes);
        let clones = self.value("numjobs", "a number", whole, 1);
        let files = self.files(true)?.count;
        let has_placement = self.placement(true).is_some();
        let random = self.percentages();
        let is_skewed = self.job.get("random_distribution").is_some_and(|s| s.value.as_deref() != Some("random"));
        let flushes = ["fsync", "fdatasync", "write_barrier", "sync", "writefua", "end_fsync", "fsync_on_close"];
        let flushes = flushes.into_iter().find(|key| {
            let value = self.job.get(key).map(|setting| setting.value.clone());
            value.is_some_and(|value| !super::options::is_off(key, value.as_deref()))
        });
        let is_given = |key| self.job.get(key).is_some();
        let refused = [
            (pace.rates.is_some(), if is_given("rate") { "rate" } else { "rate_iops" }, "a rate"),
            (pace.think.is_some(), "thinktime", "a pause"),
            (pace.runtime.is_some(), "runtime", "a time limit"),
            (pace.ramp.is_some(), if is_given("ramp_size") { "ramp_size" } else { "ramp_time" }, "a warm-up"),
            (clones > 1, "numjobs", "clones"),
            (files > 1, if is_given("nrfiles") { "nrfiles" } else { "filename" }, "several files"),
            (is_given("filesize"), "filesize", "a size of files"),
            (is_given("blockalign"), "blockalign", "an alignment"),
            (has_placement, if is_given("plids") { "plids" } else { "write_hint" }, "placement identifiers"),
            (random.iter().any(|share| *share < 100.0), "percentage_random", "a part that is sequential"),
            (is_skewed, "random_distribution", "a skew"),
            (is_given("zoneskip"), "zoneskip", "zones that are left out"),
            (is_given("zonerange"), "zonerange", "zones of another length"),
            (flushes.is_some(), flushes.unwrap_or("sync"), "flushes"),
        ];
        for (is_given, key, what) in refused {
            if is_given {
                let remedy = match key {
                    "runtime" => "delete it, and write io_size=",
                    "ramp_time" | "ramp_size" => "delete it, and run with --warm-up",
                    "numjobs" => "delete it, and write iodepth=",
                    _ => "delete it",
                };
                self.fault(key, format!("a job that writes zones is not translated with {what}"), remedy);
            }
        }
        for key in ["zone_reset_threshold", "zone_reset_frequency"] {
            let share = self.value(key, "a fraction between 0 and 1", |t| percent(t).map(|p| p / 100.0), 0.0);
            if share > 0.0 {
                let message = "resets at random times are not made: a full zone is reset before it is written again";
                self.fault(key, message, "delete it");
            }
        }
        if self.flag("read_beyond_wp") {
            self.fault("read_beyond_wp", "reads go to what the job itself has written", "delete it");
        }
        Some(pace.depth)
    }

    /// The size of all requests, if they have one size; other jobs are refused.
    fn one_size(&mut self, kinds: &[usize], sizes: &Sizes) -> Option<Bytes> {
        let first = sizes[*kinds.first()?].first()?.size;
        let is_one = |kind: &usize| sizes[*kind].len() == 1 && sizes[*kind][0].size == first;
        if first.min != first.max || !kinds.iter().all(is_one) {
            let key = ["bssplit", "bsrange", "bs"].into_iter().find(|key| self.job.get(key).is_some()).unwrap_or("bs");
            self.fault(key, "a job that writes zones is not translated with several sizes", "write one size as bs=");
            return None;
        }
        Some(first.min)
    }

    /// The number of zones that are written at the same time.
    fn open_zones(&mut self, random: bool) -> Option<u32> {
        let what = "a number of zones";
        let number = |text: &str| whole(text).and_then(|n| u32::try_from(n).ok()).map(Some);
        let [all, own] = ["max_open_zones", "job_max_open_zones"].map(|key| self.value(key, what, number, None));
        let open = [all, own].into_iter().flatten().filter(|open| *open > 0).min();
        if !random && open.is_some() {
            self.remark(
                &["max_open_zones", "job_max_open_zones"],
                "has no effect: the job writes one zone after another",
            );
        } else if random && open.is_none() {
            let message = "a random job needs it: fio takes the drive's limit, which a job file here does not know";
            self.fault("max_open_zones", message, "write how many zones are written at the same time");
        }
        open
    }

    /// Sets the treatment of zones whose capacity is not a multiple of the request size: fio finishes them, unless it
    /// writes the remainder.
    fn end_zones(&mut self, table: &mut ZoneTable, size: Bytes) {
        let capacity = table.capacity.unwrap_or(table.size).get();
        let rest = capacity % size.get();
        if self.flag("write_zone_remainder") || rest == 0 || capacity < size.get() {
            return;
        }
        // Half of the rest is added, so that rounding does not matter: the workload writes whole requests.
        let filled = capacity - rest + rest / 2;
        (table.fill, table.finish) = (Ratio::new(filled as f64 / capacity as f64), true);
        let reason = format!("{} of each zone remain: the zone is finished, as fio does", Bytes::new(rest));
        self.remark(&["zonecapacity", "zonesize"], &reason);
    }

    /// The value of a size, which may be a number of zones such as `4z`.
    fn zoned_amount(&mut self, key: &str) -> Option<ZonedAmount> {
        let text = self.job.get(key).and_then(|setting| setting.value.clone());
        match text.as_deref().and_then(|text| text.strip_suffix(['z', 'Z'])) {
            Some(zones) => {
                let parsed = whole(zones).filter(|zones| *zones > 0);
                if parsed.is_none() {
                    self.fault(key, format!("`{zones}z` is not a number of zones"), "write e.g. 4z");
                }
                parsed.map(ZonedAmount::Zones)
            }
            None => self.amount(key).map(ZonedAmount::Part),
        }
    }
}

impl ZonedAmount {
    fn bytes(self, zone: Bytes, capacity: Sectors) -> u64 {
        match self {
            Self::Zones(zones) => zones.saturating_mul(zone.get()),
            Self::Part(Amount::Bytes(bytes)) => bytes.get(),
            Self::Part(Amount::Share(share)) => (capacity.bytes().get() as f64 * share.get()) as u64,
        }
    }
}

impl ZonedJob {
    /// Fits the job to a drive: its zones, and its number of requests.
    pub(super) fn fit(&mut self, capacity: Sectors, notes: &mut Vec<Note>, faults: &mut Faults) {
        let zone = self.spec.zones.size;
        let all = capacity.bytes().get() / zone.get();
        let start = self.start.map_or(0, |start| start.bytes(zone, capacity));
        if !start.is_multiple_of(zone.get()) {
            let message = format!("{} is no multiple of the zone size", Bytes::new(start));
            faults.add(self.job.path_of("offset"), message, format!("write a multiple of {zone}"));
            return;
        }
        let first = start / zone.get();
        if first >= all {
            let message = format!("a job begins at zone {first}, and the drive has room for {all} zones of {zone}");
            faults.add(self.job.path_of("offset"), message, "choose a larger drive, or make it smaller");
            return;
        }
        let asked = self.size.map_or(all - first, |size| size.bytes(zone, capacity).div_ceil(zone.get()));
        if asked > all - first
            && let Some(setting) = self.job.get("size")
        {
            let reason = format!("reaches beyond the drive: the job uses the {} zones that are there", all - first);
            notes.push(note(setting, reason));
        }
        let count = asked.min(all - first);
        (self.spec.zones.first, self.spec.zones.count) =
            (u32::try_from(first).unwrap_or(u32::MAX), u32::try_from(count).unwrap_or(u32::MAX));
        self.spec.requests = self.requests(count, capacity);
    }

    /// The number of requests of the job, with the resets and finishes of its zones.
    fn requests(&self, count: u64, capacity: Sectors) -> u64 {
        let zones = &self.spec.zones;
        let (size, room) = (self.spec.size.get(), zones.capacity.unwrap_or(zones.size).get());
        let in_zone = if zones.finish { room / size } else { room.div_ceil(size) }.max(1);
        let total = self.total.map(|total| total.bytes(zones.size, capacity).div_ceil(size));
        // Reads are a share of the data that the job transfers.
        let reads = self.spec.reads.get();
        let writes_of = |requests: u64| (requests as f64 * (1.0 - reads)).ceil() as u64;
        let all = total.map_or(in_zone.saturating_mul(count), writes_of).saturating_mul(self.loops);
        let writes = self.most.map_or(all, |most| all.min(writes_of(most)));
        let cycles = writes.div_ceil(in_zone);
        let finishes = if zones.finish { writes / in_zone } else { 0 };
        let resets = cycles.saturating_sub(count);
        let data = (writes as f64 / (1.0 - reads)).round() as u64;
        data.saturating_add(finishes).saturating_add(resets).max(1)
    }

    /// Checks the job against a drive.
    pub(super) fn validate(&self, capacity: Sectors, faults: &mut Faults) {
        for fault in self.open(capacity, 0).err().unwrap_or_default() {
            let options = OPTIONS.iter().find(|(name, _)| *name == fault.path).map_or(&[][..], |(_, options)| options);
            let option = options.iter().find(|option| self.job.get(option).is_some()).or(options.first());
            let path = option.map_or(fault.path, |option| self.job.path_of(option));
            faults.add(path, fault.message, fault.remedy);
        }
    }

    /// The requests on a drive of `capacity`; `seed` decides all random choices.
    ///
    /// # Errors
    /// All faults of the job on this drive.
    pub fn open(&self, capacity: Sectors, seed: u64) -> Result<ZoneWrites, Vec<Fault>> {
        ZoneWrites::new(&self.spec, capacity, seed)
    }
}
