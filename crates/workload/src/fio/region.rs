//! The part of the drive that a job uses, its files, and the amount of data that it transfers.

use base::units::{Bytes, Ratio, SECTOR};

use super::reader::Reader;
use super::value::{bytes, percent, whole};
use crate::generate::{Amount, RegionSpec};

/// The most files of a job, because each takes memory.
const MOST_FILES: u64 = 1 << 20;

/// The files of a job, which lie one after another in its region.
#[derive(Clone, Copy, Debug)]
pub(super) struct Files {
    pub(super) count: u32,
    /// The number of files that take turns in a sequential job.
    pub(super) rotating: u32,
    /// The size of each file, if it is given.
    size: Option<Bytes>,
}

impl Reader<'_> {
    /// A size in bytes or a percentage; `None` if it is zero, as in fio, or not given.
    pub(super) fn amount(&mut self, key: &str) -> Option<Amount> {
        let kb_base = self.kb_base;
        if let Some(setting) = self.job.get(key)
            && let Some(value) = setting.value.as_deref().filter(|value| value.ends_with(['z', 'Z']))
        {
            let message = format!("`{value}` counts zones, which only a drive with zonemode=zbd has");
            self.faults.add(setting.path(), message, "write a size such as 10g, or a percentage");
            return None;
        }
        let parse = move |text: &str| match text.trim().strip_suffix('%') {
            Some(number) => percent(number).map(|p| Some(Amount::Share(Ratio::new(p / 100.0)))),
            None => bytes(text, kb_base).map(|n| Some(Amount::Bytes(Bytes::new(n)))),
        };
        let amount = self.value(key, "a size such as 10g, or a percentage", parse, None);
        amount.filter(|amount| !matches!(amount, Amount::Bytes(bytes) if bytes.get() == 0))
    }

    pub(super) fn files(&mut self, random: bool) -> Option<Files> {
        let most = |text: &str| whole(text).filter(|n| (1..=MOST_FILES).contains(n));
        let numbered = self.value("nrfiles", "a number between 1 and 1048576", most, 1);
        let name = self.job.get("filename").and_then(|setting| setting.value.as_deref()).unwrap_or_default();
        // A backslash precedes a colon that is part of a name.
        let listed = name.replace("\\:", "").split(':').filter(|name| !name.is_empty()).count() as u64;
        let count = if listed > 1 { listed } else { numbered };
        let open = self.value("openfiles", "a number of files", whole, 0);
        let kb_base = self.kb_base;
        let parse = |text: &str| bytes(text, kb_base).map(|n| Some(Bytes::new(n)));
        let is_range = |text: &str| text.contains('-');
        let ranged = self.job.get("filesize").and_then(|s| s.value.as_deref()).is_some_and(is_range);
        if ranged {
            self.fault("filesize", "files of random sizes are not supported", "write one size");
            return None;
        }
        let size = self.value("filesize", "a size such as 1g", parse, None).filter(|size| size.get() > 0);
        let service = self.job.get("file_service_type").and_then(|setting| setting.value.as_deref());
        let (rule, turns) =
            service.unwrap_or("roundrobin").split_once(':').unwrap_or((service.unwrap_or("roundrobin"), "1"));
        let rotating = match (rule, turns) {
            _ if count == 1 => 1,
            // Random addresses are equally likely in each file, whatever the order of files.
            ("roundrobin" | "random" | "sequential", _) if random => 1,
            ("sequential", _) => 1,
            ("roundrobin", "1") if open == 1 => 1,
            ("roundrobin", "1") => count,
            _ => {
                let message = "this order of files is not supported";
                self.fault("file_service_type", message, "write roundrobin or sequential");
                return None;
            }
        };
        if count > 1 {
            self.remark(&["filename", "nrfiles"], &format!("{count} files: equal parts of the job's region"));
        }
        Some(Files { count: count as u32, rotating: rotating as u32, size })
    }

    /// The job's region on a drive of any capacity, in whole blocks of the smallest size `block`.
    pub(super) fn region(&mut self, files: Files, block: Bytes) -> Option<RegionSpec> {
        let start = self.amount("offset");
        if let Some(Amount::Bytes(start)) = start
            && !start.get().is_multiple_of(SECTOR.get())
        {
            self.fault("offset", format!("{start} is not a multiple of a sector"), "write a multiple of 512");
            return None;
        }
        let size = match files.size {
            Some(size) => {
                let offset = if let Some(Amount::Bytes(start)) = start { start.get() } else { 0 };
                let Some(each) = size.get().checked_sub(offset).filter(|each| *each >= block.get()) else {
                    let message = format!("files of {size} leave no room for a request behind the offset");
                    self.fault("filesize", message, "write a larger size, or a smaller offset");
                    return None;
                };
                let all = each.checked_mul(u64::from(files.count));
                let Some(all) = all else {
                    self.fault("filesize", "all files together exceed 64 bits", "write a smaller size");
                    return None;
                };
                Some(Amount::Bytes(Bytes::new(all)))
            }
            None if self.flag("fill_device") => None,
            None => self.amount("size").filter(|size| !is_all(size)),
        };
        let size = match size {
            // fio uses only whole blocks.
            Some(Amount::Bytes(bytes)) => match bytes.get() / block.get() {
                0 => {
                    let message = format!("{bytes} is smaller than a request of {block}");
                    self.fault(if files.size.is_some() { "filesize" } else { "size" }, message, "make it larger");
                    return None;
                }
                blocks => Some(Amount::Bytes(Bytes::new(blocks * block.get()))),
            },
            other => other,
        };
        Some(RegionSpec { start, size })
    }

    /// The amount that one clone transfers: `io_size` or the size of its region, times `loops`. With `filesize`, `size`
    /// is only the default of `io_size`.
    pub(super) fn total(&mut self, loops: u64, files: Files) -> Option<Amount> {
        let size = files.size.and_then(|_| self.amount("size"));
        match self.amount("io_size").or(size) {
            Some(Amount::Bytes(bytes)) => match bytes.get().checked_mul(loops) {
                Some(total) => Some(Amount::Bytes(Bytes::new(total))),
                None => {
                    self.fault("loops", "more bytes than a counter of 64 bits holds", "write fewer loops");
                    None
                }
            },
            Some(Amount::Share(share)) => Some(Amount::Share(Ratio::new(share.get() * loops as f64))),
            None => Some(Amount::Share(Ratio::new(loops as f64))),
        }
    }

    /// The regions of `clones` clones, each shifted by `offset_increment`.
    pub(super) fn regions(&mut self, region: RegionSpec, clones: u64) -> Option<Vec<RegionSpec>> {
        let increment = self.amount("offset_increment");
        let mut made = Vec::with_capacity(clones as usize);
        for i in 0..clones {
            let start = match (region.start, increment) {
                (start, None) => start,
                (None, Some(Amount::Bytes(step))) => Some(Amount::Bytes(Bytes::new(step.get().checked_mul(i)?))),
                (None, Some(Amount::Share(step))) => Some(Amount::Share(Ratio::new(step.get() * i as f64))),
                (Some(Amount::Bytes(start)), Some(Amount::Bytes(step))) => {
                    Some(Amount::Bytes(Bytes::new(start.get().checked_add(step.get().checked_mul(i)?)?)))
                }
                (Some(Amount::Share(start)), Some(Amount::Share(step))) => {
                    Some(Amount::Share(Ratio::new(start.get() + step.get() * i as f64)))
                }
                _ => {
                    let message = "a percentage and a number of bytes cannot be added";
                    self.fault("offset_increment", message, "write offset and offset_increment alike");
                    return None;
                }
            };
            made.push(RegionSpec { start, ..region });
        }
        Some(made)
    }
}

fn is_all(amount: &Amount) -> bool {
    matches!(amount, Amount::Share(share) if share.get() >= 1.0)
}
