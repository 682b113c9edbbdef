//! Groups jobs into stages: jobs that run together, and share the drive in different ways.
//!
//! The jobs between two stonewalls run at the same time. Jobs without a rate, a pause, or a time of their own share one
//! queue; every other job is a workload of its own beside them.

use base::units::{Ratio, Span};

use super::file::{Job, Setting};
use super::job::{ParsedJob, StartRule, job};
use super::options::{Treatment, find, is_off, nearest};
use super::pace::Pace;
use super::reader::note;
use super::{Note, Stage, Workload, engines};
use crate::fault::Faults;
use crate::generate::{ArrivalSpec, GeneratorSpec, RequestRate, StreamSpec};

/// The most clones of a job if each clone is a workload of its own.
const MOST_CLONES: usize = 256;

type Member<'a> = (&'a Job, ParsedJob);

/// The stages of a file, without those that have faults.
pub(super) fn stages(name: &str, jobs: &[Job], notes: &mut Vec<Note>, faults: &mut Faults) -> Vec<Stage> {
    let mut groups: Vec<Vec<Member<'_>>> = Vec::new();
    for written in jobs {
        let Some(parsed) = job(written, notes, faults) else { continue };
        let group = groups.last().map_or(&[][..], Vec::as_slice);
        let begins = begins_a_stage(written, &parsed.begin, group, jobs, faults);
        match groups.last_mut() {
            Some(group) if !begins => group.push((written, parsed)),
            _ => groups.push(vec![(written, parsed)]),
        }
    }
    let several = groups.len() > 1;
    groups.into_iter().enumerate().filter_map(|(i, group)| stage(name, several, i, group, notes, faults)).collect()
}

/// Notes or refuses every option that is not honoured. A default is treated once, not once per job.
pub(super) fn treat(jobs: &[Job], notes: &mut Vec<Note>, faults: &mut Faults) {
    let external = |job: &Job| job.get("ioengine").and_then(|s| s.value.as_deref()).is_some_and(engines::is_external);
    let has_own_engine = jobs.iter().any(external);
    let mut settings: Vec<&Setting> = jobs.iter().flat_map(|job| &job.settings).collect();
    settings.sort_by_key(|setting| setting.line);
    settings.dedup_by_key(|setting| setting.line);
    for setting in settings {
        let is_off = is_off(&setting.key, setting.value.as_deref());
        match find(&setting.key).map(|option| option.treatment) {
            Some(Treatment::Honoured(_)) if setting.is_computed() && setting.key != "filename" => {
                let value = setting.value.as_deref().unwrap_or_default();
                let message = format!(
                    "fio takes `{value}` from its environment or its machine, but a result here depends on its files only"
                );
                faults.add(setting.path(), message, "write the value itself");
            }
            Some(Treatment::Honoured(what)) if setting.key == "verify" && !is_off => notes.push(note(setting, what)),
            Some(Treatment::Honoured(_)) => {}
            Some(Treatment::Noted(reason)) => notes.push(note(setting, format!("has no effect here; {reason}"))),
            Some(Treatment::Refused(..)) if is_off => {}
            Some(Treatment::Refused(reason, remedy)) => faults.add(setting.path(), reason, remedy),
            None if has_own_engine => {
                notes.push(note(setting, "has no effect here; it is taken for an option of the engine"));
            }
            None => {
                let remedy = match nearest(&setting.key) {
                    Some(known) => format!("did you mean `{known}`?"),
                    None => "delete it, or describe the workload in TOML".to_owned(),
                };
                faults.add(setting.path(), "fio has no such option", remedy);
            }
        }
    }
}

/// True if the job begins when `group` has ended.
fn begins_a_stage(job: &Job, begin: &StartRule, group: &[Member<'_>], jobs: &[Job], faults: &mut Faults) -> bool {
    match begin {
        StartRule::WithOthers => false,
        StartRule::AfterAll => true,
        StartRule::AfterJob(name) => {
            let is_earlier = |other: &Job| other.line < job.line && other.name == *name;
            if !jobs.iter().any(is_earlier) {
                let message = format!("no job [{name}] stands before this one");
                faults.add(job.path_of("wait_for"), message, "write the name of an earlier job");
                return false;
            }
            let waits_for = |member: &Member<'_>| member.0.name == *name;
            let (any, all) = (group.iter().any(waits_for), group.iter().all(waits_for));
            if any && !all {
                let message =
                    format!("other jobs run beside [{name}], which this job does not wait for: not supported");
                faults.add(job.path_of("wait_for"), message, "write stonewall to wait for all of them");
            }
            // A job of an earlier stage has ended already.
            any && all
        }
    }
}

/// Jobs that become one workload.
struct JobLoad<'a> {
    members: Vec<Member<'a>>,
    sharing: QueueSharing,
}

/// The rule by which the jobs of a load share a queue.
#[derive(Clone, Copy, Debug, PartialEq)]
enum QueueSharing {
    /// By their depths, all for this time.
    Depth(Option<Span>),
    /// By the weights of a flow.
    Flow(u64),
    /// No sharing: a single job.
    Alone,
}

impl QueueSharing {
    fn of(parsed: &ParsedJob, starts_late: bool) -> Self {
        let Pace { rates, think, runtime, .. } = parsed.pace;
        match parsed.flow {
            Some((id, _)) => Self::Flow(id),
            None if rates.is_some() || think.is_some() || starts_late => Self::Alone,
            None => Self::Depth(runtime),
        }
    }
}

/// The jobs of one stage. `number` counts stages.
fn stage(
    name: &str,
    several: bool,
    number: usize,
    group: Vec<Member<'_>>,
    notes: &mut Vec<Note>,
    faults: &mut Faults,
) -> Option<Stage> {
    let before = faults.len();
    for (job, parsed) in &group {
        if parsed.pace.ramp != group[0].1.pace.ramp {
            let message = "jobs that run at the same time are measured from one moment on";
            let key = if job.get("ramp_size").is_some() { "ramp_size" } else { "ramp_time" };
            faults.add(job.path_of(key), message, "give them one value, or separate them by stonewall");
        }
    }
    let names = joined(group.iter().map(|(job, _)| job.name.as_str()));
    // A stage begins with the begin of its first job.
    let earliest = group.iter().map(|(_, parsed)| parsed.pace.delay).min().unwrap_or_default();
    if let Some((job, _)) = group.iter().find(|_| !earliest.is_zero()) {
        let reason = match number {
            0 => "time begins with the first job",
            _ => "the stage begins when the one before it has ended, and its time with its first job",
        };
        notes.push(note(job.get("startdelay").expect("it delays the job"), reason));
    }
    let mut loads: Vec<JobLoad<'_>> = Vec::new();
    for (job, parsed) in group {
        let sharing = QueueSharing::of(&parsed, parsed.pace.delay > earliest);
        match loads.iter_mut().find(|load| load.sharing == sharing && sharing != QueueSharing::Alone) {
            Some(load) => load.members.push((job, parsed)),
            None => loads.push(JobLoad { members: vec![(job, parsed)], sharing }),
        }
    }
    let alone = loads.len() == 1;
    let mut workloads: Vec<Workload> = Vec::new();
    for load in loads {
        workloads.extend(WorkloadBuilder { earliest, notes, faults }.workloads(load));
    }
    let stage_name = if several { format!("{name}: {names}") } else { name.to_owned() };
    if alone && let [only] = &mut workloads[..] {
        only.spec.name.clone_from(&stage_name);
    }
    number_duplicates(&mut workloads);
    if faults.len() > before || workloads.is_empty() {
        return None;
    }
    Some(Stage { name: stage_name, workloads })
}

/// Joins names to a list with commas; of many names, only the first are written.
fn joined<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let names: Vec<&str> = names.collect();
    match names.len() {
        0..=4 => names.join(" and "),
        all => format!("{} and {} more", names[..3].join(", "), all - 3),
    }
}

/// Adds numbers to names, so that the workloads of one stage have different names.
fn number_duplicates(workloads: &mut [Workload]) {
    for i in 1..workloads.len() {
        let (before, rest) = workloads.split_at_mut(i);
        let taken = |name: &str| before.iter().any(|other| other.spec.name == name);
        let own = rest[0].spec.name.clone();
        if let Some(name) = (2..).map(|n: u32| format!("{own}-{n}")).find(|name| !taken(name)).filter(|_| taken(&own)) {
            rest[0].spec.name = name;
        }
    }
}

struct WorkloadBuilder<'a> {
    /// The delay of the first job of the stage.
    earliest: Span,
    notes: &'a mut Vec<Note>,
    faults: &'a mut Faults,
}

impl WorkloadBuilder<'_> {
    /// The workloads of jobs that share a queue, or of a job and its clones.
    fn workloads(&mut self, load: JobLoad<'_>) -> Vec<Workload> {
        let JobLoad { mut members, sharing } = load;
        match sharing {
            QueueSharing::Depth(_) => self.shared(&members, |parsed| f64::from(parsed.pace.depth)),
            QueueSharing::Flow(_) => {
                self.check_flow(&members);
                self.shared(&members, |parsed| parsed.flow.map_or(0.0, |(_, weight)| weight as f64))
            }
            QueueSharing::Alone => {
                let (job, parsed) = members.remove(0);
                match parsed.pace.rates {
                    Some(rates) => vec![self.rated(job, &parsed, rates.iter().sum())],
                    None => self.pausing(job, parsed),
                }
            }
        }
    }

    /// Checks that jobs of a flow begin and end together and have the same pace, because they issue requests by their
    /// weights.
    fn check_flow(&mut self, members: &[Member<'_>]) {
        let first = &members[0].1.pace;
        for (job, parsed) in members {
            let pace = &parsed.pace;
            let key = if pace.rates.is_some() {
                "rate_iops"
            } else if pace.think.is_some() {
                "thinktime"
            } else if pace.delay != first.delay {
                "startdelay"
            } else if pace.runtime != first.runtime {
                "runtime"
            } else {
                continue;
            };
            let message = "jobs of a flow issue requests by their weights, and one of them has a pace of its own";
            self.faults.add(job.path_of(key), message, "delete it, or delete `flow`");
        }
    }

    /// Makes one workload of jobs that share a queue, whose depth is the sum of theirs. Each request belongs to a job
    /// with a probability in proportion to its weight.
    fn shared(&mut self, members: &[Member<'_>], weight: impl Fn(&ParsedJob) -> f64) -> Vec<Workload> {
        let (first, pace) = (members[0].0, &members[0].1.pace);
        let count: usize = members.iter().map(|(_, parsed)| parsed.clones.len()).sum();
        let clones = |parsed: &ParsedJob| parsed.clones.len();
        let depth: u64 = members.iter().map(|(_, p)| u64::from(p.pace.depth) * clones(p) as u64).sum();
        let depth = u32::try_from(depth).unwrap_or_else(|_| {
            let message = format!("{depth} requests outstanding");
            self.faults.add(first.path_of("iodepth"), message, "lower iodepth or numjobs");
            1
        });
        if count > 1 {
            let by = if members[0].1.flow.is_some() { "the weights of their flow" } else { "their depths" };
            let reason = format!(
                "{count} jobs run at the same time and share one queue of {depth}; Flashloom draws requests from them in \
                 proportion to {by}; fio gives each job its own queue"
            );
            let line = first.get("numjobs").map_or(first.line, |setting| setting.line);
            self.notes.push(Note { line, job: first.name.clone(), option: "numjobs".to_owned(), reason });
        }
        let all: f64 = members.iter().map(|(_, parsed)| weight(parsed) * clones(parsed) as f64).sum();
        let mut spec = self.spec(&joined(members.iter().map(|(job, _)| job.name.as_str())), pace);
        spec.arrivals = ArrivalSpec::Closed { depth };
        let mut places = Vec::new();
        for (job, parsed) in members {
            for clone in &parsed.clones {
                add(&mut spec.streams, clone, weight(parsed) / all, count > 1);
                places.extend(clone.iter().map(|_| (*job).clone()));
            }
        }
        vec![Workload { spec, places }]
    }

    /// Makes a workload of a job whose requests arrive at `rate` per second for each clone.
    fn rated(&mut self, job: &Job, parsed: &ParsedJob, rate: f64) -> Workload {
        let count = parsed.clones.len();
        let mut spec = self.spec(&job.name, &parsed.pace);
        let rate = RequestRate::new(rate * count as f64);
        spec.arrivals = match parsed.pace.is_poisson {
            true => ArrivalSpec::Poisson { rate },
            false => ArrivalSpec::Fixed { rate },
        };
        if !parsed.pace.is_poisson && (count > 1 || parsed.clones[0].len() > 1) {
            let reason =
                "requests of all clones and kinds together arrive at equal intervals; in fio, those of each do";
            let key = ["rate_iops", "rate"].into_iter().find_map(|key| job.get(key)).expect("the job has a rate");
            self.notes.push(note(key, reason));
        }
        for clone in &parsed.clones {
            add(&mut spec.streams, clone, 1.0 / count as f64, count > 1);
        }
        let places = spec.streams.iter().map(|_| job.clone()).collect();
        Workload { spec, places }
    }

    /// Makes workloads of a job that begins late or pauses. Each of its clones pauses by itself.
    fn pausing(&mut self, job: &Job, parsed: ParsedJob) -> Vec<Workload> {
        if parsed.pace.think.is_none() {
            return self.shared(&[(job, parsed)], |parsed| f64::from(parsed.pace.depth));
        }
        if parsed.clones.len() > MOST_CLONES {
            let message = format!("{} jobs that pause by themselves", parsed.clones.len());
            self.faults.add(job.path_of("numjobs"), message, format!("write at most {MOST_CLONES}"));
            return Vec::new();
        }
        let workload = |clone: &Vec<StreamSpec>| {
            let arrivals = ArrivalSpec::Closed { depth: parsed.pace.depth };
            let spec = GeneratorSpec { arrivals, streams: clone.clone(), ..self.spec(&job.name, &parsed.pace) };
            Workload { places: clone.iter().map(|_| job.clone()).collect(), spec }
        };
        parsed.clones.iter().map(workload).collect()
    }

    /// Creates the description of a workload with this pace, without arrivals and streams.
    fn spec(&self, name: &str, pace: &Pace) -> GeneratorSpec {
        let start = pace.delay.saturating_sub(self.earliest);
        // In fio, ramp_time comes before runtime.
        let ramp = match pace.ramp {
            Some(crate::measure::Amount::Time(ramp)) => ramp,
            _ => Span::ZERO,
        };
        GeneratorSpec {
            name: name.to_owned(),
            description: String::new(),
            requests: None,
            duration: pace.runtime.map(|runtime| runtime + ramp),
            total: None,
            warm_up: pace.ramp,
            measure: None,
            until: None,
            round: None,
            start: (!start.is_zero()).then_some(start),
            think: pace.think,
            arrivals: ArrivalSpec::Closed { depth: 1 },
            streams: Vec::new(),
        }
    }
}

/// Adds the streams of a clone, which has the share `part` of all requests.
fn add(streams: &mut Vec<StreamSpec>, clone: &[StreamSpec], part: f64, is_one_of_several: bool) {
    for stream in clone {
        let share = match stream.share {
            Some(share) => Some(Ratio::new(share.get() * part)),
            None => is_one_of_several.then(|| Ratio::new(part)),
        };
        streams.push(StreamSpec { share, ..stream.clone() });
    }
}
