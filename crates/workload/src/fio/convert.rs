//! From jobs to stages: the jobs that run together, their queue, and their duration.

use base::units::{Ratio, Span};

use super::Note;
use super::file::{Job, Setting};
use super::job::{Parsed, job};
use super::options::{Class, class, nearest};
use crate::fault::Faults;
use crate::generate::{ArrivalSpec, GeneratorSpec, RequestRate};
use crate::measure::Amount;

/// A stage, and the line and name of the job of each stream.
type Stage = (GeneratorSpec, Vec<String>);

/// The stages of a file, without the faulty ones.
pub(super) fn stages(name: &str, jobs: &[Job], notes: &mut Vec<Note>, faults: &mut Faults) -> Vec<Stage> {
    classes(jobs, notes, faults);
    let mut groups: Vec<Vec<(&Job, Parsed)>> = Vec::new();
    for written in jobs {
        let Some(parsed) = job(written, notes, faults) else { continue };
        match groups.last_mut() {
            Some(group) if !parsed.stonewall => group.push((written, parsed)),
            _ => groups.push(vec![(written, parsed)]),
        }
    }
    let several = groups.len() > 1;
    groups.into_iter().filter_map(|group| stage(name, several, group, notes, faults)).collect()
}

/// Checks the class of every option; a default is checked once instead of once per job.
fn classes(jobs: &[Job], notes: &mut Vec<Note>, faults: &mut Faults) {
    let mut settings: Vec<&Setting> = jobs.iter().flat_map(|job| &job.settings).collect();
    settings.sort_by_key(|setting| setting.line);
    settings.dedup_by_key(|setting| setting.line);
    for setting in settings {
        match class(&setting.key) {
            Class::Honoured => {}
            Class::Meaningless(reason) => notes.push(note(setting, format!("has no effect here; {reason}"))),
            Class::Unsupported(remedy) => faults.add(setting.path(), "this option of fio is not supported", remedy),
            Class::Unknown => {
                let remedy = match nearest(&setting.key) {
                    Some(known) => format!("did you mean `{known}`?"),
                    None => "delete it, or describe the workload in TOML".to_owned(),
                };
                faults.add(setting.path(), "this option is not known", remedy);
            }
        }
    }
}

pub(super) fn note(setting: &Setting, reason: impl Into<String>) -> Note {
    Note { line: setting.line, job: setting.section.clone(), option: setting.key.clone(), reason: reason.into() }
}

/// The jobs of one stage as one workload.
fn stage(
    name: &str,
    several: bool,
    group: Vec<(&Job, Parsed)>,
    notes: &mut Vec<Note>,
    faults: &mut Faults,
) -> Option<Stage> {
    let before = faults.len();
    let first = group[0].0;
    let count: usize = group.iter().map(|(_, parsed)| parsed.streams.len()).sum();
    let names: Vec<&str> = group.iter().map(|(job, _)| job.name.as_str()).collect();
    let runtime = same(&group, "runtime", |parsed| parsed.runtime, faults);
    let ramp = same(&group, "ramp_time", |parsed| parsed.ramp, faults);
    // fio's ramp_time comes before its runtime.
    let duration = runtime.map(|runtime| runtime + ramp.unwrap_or_default());
    let rates: Vec<Option<f64>> = group.iter().map(|(_, parsed)| parsed.rate).collect();
    let depth: u64 = group.iter().map(|(_, parsed)| u64::from(parsed.depth) * parsed.streams.len() as u64).sum();
    let depth = u32::try_from(depth).unwrap_or_else(|_| {
        let message = format!("{depth} requests outstanding");
        faults.add(format!("line {}, [{}] iodepth", first.line, first.name), message, "lower iodepth or numjobs");
        1
    });
    let total: f64 = group.iter().map(|(_, parsed)| parsed.rate.unwrap_or(0.0) * parsed.streams.len() as f64).sum();
    let rated = rates.iter().flatten().count();
    let path = format!("line {}, [{}]", first.line, first.name);
    let arrivals = if rated == 0 {
        ArrivalSpec::Closed { depth }
    } else {
        let poisson = group.iter().all(|(_, parsed)| parsed.poisson);
        if rated < group.len() {
            let message = "of the jobs that run at the same time, some have a rate and some have none";
            faults.add(path, message, "give all of them rate_iops, or none, or separate them by stonewall");
        } else if count > 1 && !poisson {
            let message = "jobs that run at the same time at different fixed rates have no common interval";
            faults.add(
                path,
                message,
                "add rate_process=poisson, whose jobs merge exactly, or separate them by stonewall",
            );
        }
        let rate = RequestRate::new(total);
        if poisson { ArrivalSpec::Poisson { rate } } else { ArrivalSpec::Fixed { rate } }
    };
    if count > 1 && rated == 0 {
        let reason = format!(
            "{count} jobs run at the same time and share one queue of {depth}; \
             Flashloom draws requests from them in proportion to their depths; fio gives each job its own queue"
        );
        notes.push(Note { line: first.line, job: first.name.clone(), option: "numjobs".to_owned(), reason });
    }
    let mut streams = Vec::with_capacity(count);
    let mut places = Vec::with_capacity(count);
    for (job, parsed) in group.iter() {
        let weight = match parsed.rate {
            Some(rate) => rate / total,
            None => f64::from(parsed.depth) / f64::from(depth),
        };
        for mut stream in parsed.streams.iter().cloned() {
            stream.share = (count > 1).then(|| Ratio::new(weight));
            streams.push(stream);
            places.push(format!("line {}, [{}]", job.line, job.name));
        }
    }
    let spec = GeneratorSpec {
        name: if several { format!("{name}: {}", names.join(" and ")) } else { name.to_owned() },
        description: String::new(),
        requests: None,
        duration,
        total: None,
        warm_up: ramp.map(Amount::Time),
        measure: None,
        until: None,
        round: None,
        arrivals,
        streams,
    };
    (faults.len() == before).then_some((spec, places))
}

/// A time of a stage: jobs that run at the same time begin, are measured and end at the same time.
fn same(group: &[(&Job, Parsed)], option: &str, of: fn(&Parsed) -> Option<Span>, faults: &mut Faults) -> Option<Span> {
    let first = of(&group[0].1);
    for (job, parsed) in group {
        if of(parsed) != first {
            let message = format!("jobs that run at the same time have different values of {option}");
            let remedy = "give them one value, or separate them by stonewall";
            faults.add(format!("line {}, [{}] {option}", job.line, job.name), message, remedy);
        }
    }
    first
}
