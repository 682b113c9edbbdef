//! Fits a job file to a drive of a given capacity.

use base::units::{Bytes, Ratio, Sectors};

use super::reader::note;
use super::{FioFile, Job, Note, Workload};
use crate::fault::Faults;
use crate::generate::{Amount, RegionSpec};
use base::fault::Fault;

/// Keys of a described stream, and the options of fio that set them. A fault of a key is reported at the first of its
/// options that the job has.
const OPTIONS: [(&str, &[&str]); 8] = [
    ("region.start", &["offset", "offset_increment"]),
    ("region.size", &["size", "filesize"]),
    ("region", &["size", "filesize", "offset"]),
    ("total", &["io_size", "size"]),
    ("align", &["blockalign", "bs"]),
    ("address.zone", &["zonerange", "zonesize"]),
    ("address.step", &["zoneskip", "rw"]),
    ("address.streams", &["nrfiles", "filename"]),
];

impl FioFile {
    /// Fits the jobs to a drive of `capacity`: a region that reaches beyond its end stops there, as on a block device. A
    /// note says so. A job that begins beyond the end is at fault, as it is in fio.
    ///
    /// # Errors
    /// All faults at once, with the line, job and option of each.
    pub fn fit(&mut self, capacity: Sectors) -> Result<(), Vec<Fault>> {
        let mut notes = Vec::new();
        let mut faults = Faults::default();
        for workload in self.stages.iter_mut().flat_map(|stage| &mut stage.workloads) {
            workload.fit(capacity, &mut notes, &mut faults);
        }
        if let Some(zoned) = &mut self.zoned {
            zoned.fit(capacity, &mut notes, &mut faults);
        }
        self.notes.extend(notes);
        self.notes.sort_by_key(|note| note.line);
        self.notes.dedup();
        faults.or(())?;
        self.validate(capacity)
    }

    /// Checks the workloads against a drive of `capacity`, as in
    /// [`GeneratorSpec::validate`](crate::generate::GeneratorSpec::validate).
    ///
    /// # Errors
    /// All faults at once, with the line, job and option of each.
    pub fn validate(&self, capacity: Sectors) -> Result<(), Vec<Fault>> {
        let mut faults = Faults::default();
        for workload in self.stages.iter().flat_map(|stage| &stage.workloads) {
            for fault in workload.spec.validate(capacity).err().unwrap_or_default() {
                let path = place(&fault.path, &workload.places).unwrap_or(fault.path);
                faults.add(path, fault.message, fault.remedy);
            }
        }
        if let Some(zoned) = &self.zoned {
            zoned.validate(capacity, &mut faults);
        }
        faults.or(())
    }
}

impl Workload {
    fn fit(&mut self, capacity: Sectors, notes: &mut Vec<Note>, faults: &mut Faults) {
        let all = capacity.bytes().get();
        for (stream, job) in self.spec.streams.iter_mut().zip(&self.places) {
            let bytes = |amount: Amount| match amount {
                Amount::Bytes(bytes) => bytes.get(),
                Amount::Share(share) => (all as f64 * share.get()) as u64,
            };
            let start = stream.region.start.map_or(0, bytes);
            if start >= all {
                let keys = ["offset_increment", "offset"];
                let key = keys.into_iter().find(|key| job.get(key).is_some()).unwrap_or("offset");
                let message = format!("a job begins at {}, beyond the drive's {}", Bytes::new(start), Bytes::new(all));
                faults.add(job.path_of(key), message, "choose a larger drive, or make it smaller");
                // Further clones of the job begin beyond the end as well.
                break;
            }
            if stream.region.size.is_none_or(|size| start.saturating_add(bytes(size)) <= all) {
                continue;
            }
            stream.region = RegionSpec { size: None, ..stream.region };
            let Some(setting) = ["filesize", "size"].into_iter().find_map(|key| job.get(key)) else { continue };
            let (here, room) = (Bytes::new(all), Bytes::new(all - start));
            let reason = format!(
                "reaches beyond the drive's {here}: the job uses the {room} that are there, as on a block device of fio"
            );
            notes.push(note(setting, reason));
            // An amount larger than the region would cause more passes than fio makes.
            if let Some(Amount::Bytes(total)) = stream.total
                && job.get("io_size").is_none()
                && total.get() > all - start
            {
                stream.total = Some(Amount::Share(Ratio::new(1.0)));
            }
        }
    }
}

/// The place in the job file that causes the key `path` of a description.
fn place(path: &str, places: &[Job]) -> Option<String> {
    let (index, key) = path.strip_prefix("stream[")?.split_once(']')?;
    let job = places.get(index.parse::<usize>().ok()?)?;
    let key = key.trim_start_matches('.');
    let options = OPTIONS.iter().find(|(name, _)| *name == key).map_or(&[][..], |(_, options)| options);
    let given = options.iter().find(|option| job.get(option).is_some());
    Some(match (given.or(options.first()), key) {
        (Some(option), _) => job.path_of(option),
        (None, "") => job.path(),
        (None, key) => format!("{} {key}", job.path()),
    })
}
