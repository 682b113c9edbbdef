//! Turns the options of one job into streams of requests.

use base::units::{Bytes, Ratio};

use super::Note;
use super::address::StreamProperties;
use super::file::Job;
use super::mode::Mode;
use super::pace::Pace;
use super::reader::Reader;
use super::region::Files;
use super::sizes::{Sizes, smallest};
use super::value::whole;
use crate::fault::Faults;
use crate::generate::{Amount, PlacementIds, RegionSpec, SizeRange, SizeSpec, StreamSpec};

/// The condition at which a job begins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum StartRule {
    /// With the jobs before it.
    WithOthers,
    /// When all jobs before it have ended.
    AfterAll,
    /// When the named job has ended.
    AfterJob(String),
}

#[derive(Debug)]
pub(super) struct ParsedJob {
    /// The streams of each clone. The shares of a clone's streams sum to one.
    pub(super) clones: Vec<Vec<StreamSpec>>,
    pub(super) pace: Pace,
    /// The number of the group of jobs that share requests, and the job's weight in it.
    pub(super) flow: Option<(u64, u64)>,
    pub(super) begin: StartRule,
}

/// Parses one job; `None` if it has faults.
pub(super) fn job(job: &Job, notes: &mut Vec<Note>, faults: &mut Faults) -> Option<ParsedJob> {
    let mut own = Faults::default();
    let parsed = Reader { job, notes, faults: &mut own, kb_base: 1024 }.read();
    let is_sound = own.len() == 0;
    faults.append(own);
    parsed.filter(|_| is_sound)
}

/// The properties that all streams of a clone share.
struct ClonePlan {
    mode: Mode,
    sizes: Sizes,
    aligns: [Option<Bytes>; 3],
    percentages: [f64; 3],
    files: Files,
    requests: Option<u64>,
    total: Option<Amount>,
    placement: Option<PlacementIds>,
}

impl Reader<'_> {
    fn read(&mut self) -> Option<ParsedJob> {
        self.kb_base = self.value("kb_base", "1000 or 1024", |t| whole(t).filter(|b| [1000, 1024].contains(b)), 1024);
        if !self.has_device() {
            return None;
        }
        let mode = self.mode()?;
        let sizes = self.sizes()?;
        let kinds: Vec<usize> = (0..3).filter(|kind| mode.shares[*kind] > 0.0).collect();
        let pace = self.pace(&kinds, &sizes);
        let mode = Mode { shares: self.mix_of(&pace, mode.shares), ..mode };
        let loops = self.value("loops", "a number", |t| whole(t).map(|n| n.max(1)), 1);
        let requests = self.value("number_ios", "a number", |t| whole(t).map(Some), None).filter(|n| *n > 0);
        if requests.is_some() && loops > 1 {
            let message = "loops and number_ios together are not supported";
            self.fault("loops", message, "multiply number_ios and delete loops");
        }
        let files = self.files(mode.random)?;
        let block = kinds.iter().map(|kind| smallest(&sizes[*kind])).min().expect("a job does something");
        let region = self.region(files, block)?;
        let total = if self.is_time_based(&pace) { None } else { self.total(loops, files) };
        let (aligns, percentages) = (self.aligns(), self.percentages());
        let placement = self.placement(mode.shares[1] > 0.0);
        let plan = ClonePlan { mode, sizes, aligns, percentages, files, requests, total, placement };
        let streams = self.streams(&plan, &kinds, region)?;
        let clones =
            self.value("numjobs", "a number between 1 and 4096", |t| whole(t).filter(|n| (1..=4096).contains(n)), 1);
        let regions = self.regions(region, clones)?;
        let clone = |region: RegionSpec| streams.iter().map(|stream| StreamSpec { region, ..stream.clone() }).collect();
        Some(ParsedJob {
            clones: regions.into_iter().map(clone).collect(),
            pace,
            flow: self.flow(),
            begin: self.begin(),
        })
    }

    /// The shares of the kinds. If the job has rates, they decide the shares, because fio issues the request that is
    /// due.
    fn mix_of(&self, pace: &Pace, written: [f64; 3]) -> [f64; 3] {
        let Some(rates) = pace.rates else { return written };
        let all: f64 = rates.iter().sum();
        rates.map(|rate| rate / all)
    }

    /// The streams of a clone: one, or one for each kind if the kinds differ in more than their sizes.
    fn streams(&mut self, plan: &ClonePlan, kinds: &[usize], region: RegionSpec) -> Option<Vec<StreamSpec>> {
        let ClonePlan { mode, aligns, percentages, .. } = plan;
        let first = kinds[0];
        let differ = kinds
            .iter()
            .any(|kind| aligns[*kind] != aligns[first] || (percentages[*kind] - percentages[first]).abs() > 1e-9);
        if !mode.random || !differ {
            return Some(vec![self.stream(plan, kinds, region)?]);
        }
        kinds.iter().map(|kind| self.stream(plan, &[*kind], region)).collect()
    }

    /// A stream of these kinds of requests.
    fn stream(&mut self, plan: &ClonePlan, kinds: &[usize], region: RegionSpec) -> Option<StreamSpec> {
        let ClonePlan { mode, sizes, aligns, percentages, files, requests, total, placement } = plan;
        let min = kinds.iter().map(|kind| smallest(&sizes[*kind])).min().expect("a stream does something");
        let is_one_size =
            kinds.iter().all(|kind| sizes[*kind] == [SizeSpec { size: SizeRange::exactly(min), share: None }]);
        if mode.random && kinds.iter().any(|kind| smallest(&sizes[*kind]) != min) {
            let reason = format!("all random requests are aligned to the smallest size, {min}");
            self.remark(&["bssplit", "bsrange", "bs"], &reason);
        }
        let of =
            StreamProperties { size: is_one_size.then_some(min), files: files.rotating, random: percentages[kinds[0]] };
        let (address, sequential) = self.addresses(*mode, of)?;
        // The share of the job's requests in this stream, and the shares of the kinds within it.
        let part: f64 = kinds.iter().map(|kind| mode.shares[*kind]).sum();
        let share = |kind: usize| if kinds.contains(&kind) { mode.shares[kind] / part } else { 0.0 };
        let used = |kind: usize| if kinds.contains(&kind) { sizes[kind].clone() } else { Vec::new() };
        let is_part = part < 1.0 - 1e-9;
        let ends_itself = requests.is_some() || total.is_some();
        Some(StreamSpec {
            name: Some(self.job.name.clone()),
            share: is_part.then(|| Ratio::new(part)),
            requests: requests.map(|all| if is_part { ((all as f64 * part).round() as u64).max(1) } else { all }),
            total: total.map(|all| if is_part { scaled(all, part) } else { all }),
            region,
            align: Some(self.unit(*mode, aligns[kinds[0]], min)),
            reads: Ratio::new(share(0)),
            discards: Ratio::new(share(2)),
            sizes: Vec::new(),
            read_sizes: used(0),
            write_sizes: used(1),
            discard_sizes: used(2),
            address,
            sequential,
            flush: self.flush(share(1) > 0.0, ends_itself),
            discard_first: mode.trim_first,
            placement: placement.clone().filter(|_| share(1) > 0.0),
        })
    }

    /// The address unit of requests of at least `min` bytes.
    fn unit(&self, mode: Mode, align: Option<Bytes>, min: Bytes) -> Bytes {
        if mode.random {
            return align.unwrap_or(min);
        }
        // Holes move addresses by another distance than the length of requests.
        Bytes::new(greatest_common_divisor(min.get(), mode.hole.unsigned_abs()))
    }

    fn flow(&mut self) -> Option<(u64, u64)> {
        let id = self.value("flow_id", "a number", whole, 0);
        let weight = self.value("flow", "a number", whole, 0);
        (weight > 0).then_some((id, weight))
    }

    fn begin(&mut self) -> StartRule {
        if self.flag("stonewall") {
            return StartRule::AfterAll;
        }
        let named = self.job.get("wait_for").and_then(|setting| setting.value.clone());
        named.map_or(StartRule::WithOthers, StartRule::AfterJob)
    }
}

fn greatest_common_divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { greatest_common_divisor(b, a % b) }
}

/// The amount multiplied by `part`; at least one byte.
fn scaled(amount: Amount, part: f64) -> Amount {
    match amount {
        Amount::Bytes(bytes) => Amount::Bytes(Bytes::new(((bytes.get() as f64 * part) as u64).max(1))),
        Amount::Share(share) => Amount::Share(Ratio::new(share.get() * part)),
    }
}
