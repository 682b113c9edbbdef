//! Workloads of several stages: fio job files, and their resolved descriptions.

use std::path::Path;

use base::fault::Fault;
use base::units::Sectors;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use workload::fio;
use workload::generate::{Generator, GeneratorSpec};

use super::{ConcurrentJobs, Stage, Workload, WorkloadError};
use crate::config::{ConfigFault, Faults};

/// The generators of a job file with several stages, as results write them.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct Stages {
    /// The number of generators in each stage; the generators of a stage begin together. Default: one generator in each
    /// stage.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    together: Vec<usize>,
    /// The generators of all stages, in the order of the stages.
    stage: Vec<GeneratorSpec>,
}

impl Stages {
    fn of(file: &fio::FioFile) -> Self {
        let counts: Vec<usize> = file.stages.iter().map(|stage| stage.workloads.len()).collect();
        let together = if counts.iter().all(|count| *count == 1) { Vec::new() } else { counts };
        Self { together, stage: file.specs().cloned().collect() }
    }

    /// The description of all stages, or of the generator if there is only one.
    pub(super) fn table(&self) -> toml::Table {
        match &self.stage[..] {
            [only] => described(only),
            _ => toml::Table::try_from(self).expect("a description can be written"),
        }
    }

    pub(super) fn open(&self, capacity: Sectors, seed: u64) -> Result<Vec<Stage>, Vec<Fault>> {
        let count = self.stage.len();
        if count == 0 {
            let message = "there is no stage: the workload would issue no request";
            let remedy = "describe at least one as [[stage]], with the keys of a workload";
            return Err(vec![Fault::new("stage", message, remedy)]);
        }
        let each = vec![1; count];
        let together = if self.together.is_empty() { &each } else { &self.together };
        if together.contains(&0) || together.iter().try_fold(0_usize, |sum, n| sum.checked_add(*n)) != Some(count) {
            let message = format!("the numbers do not divide the {count} generators of [[stage]]");
            return Err(vec![Fault::new("together", message, "write numbers above zero that sum to theirs")]);
        }
        let mut stages = Vec::with_capacity(together.len());
        let mut first = 0;
        for (number, size) in (0_u64..).zip(together) {
            // The seeds differ, so that jobs with equal descriptions draw different requests.
            let seed = seed.wrapping_add(number << 32);
            let opened = self.stage[first..first + size].iter().zip(0_u64..).map(|(spec, job)| {
                let generator = Generator::new(spec, capacity, seed.wrapping_add(job << 48));
                generator.map_err(|faults| placed(faults, (count > 1).then_some(first + job as usize)))
            });
            let opened = opened.collect::<Result<Vec<_>, _>>()?;
            stages.push(stage(&self.stage[first..first + size], opened));
            first += size;
        }
        Ok(stages)
    }
}

/// Adds the number of the generator to the keys of its faults; `None` if there is only one.
fn placed(faults: Vec<Fault>, number: Option<usize>) -> Vec<Fault> {
    let inside = |fault: Fault| match number {
        Some(number) => Fault::new(format!("stage[{number}].{}", fault.path), fault.message, fault.remedy),
        None => fault,
    };
    faults.into_iter().map(inside).collect()
}

fn stage(specs: &[GeneratorSpec], opened: Vec<Generator>) -> Stage {
    let names: Vec<&str> = specs.iter().map(|spec| spec.name.as_str()).collect();
    let mut opened = opened.into_iter();
    let own = opened.next().expect("a stage has a generator");
    let named = |(spec, generator): (&GeneratorSpec, Generator)| {
        (spec.name.clone(), Box::new(generator) as Box<dyn workload::Source>)
    };
    let others: Vec<_> = specs[1..].iter().zip(opened).map(named).collect();
    let beside = (!others.is_empty()).then(|| ConcurrentJobs { own: names[0].to_owned(), others });
    Stage { measured: specs[0].measured(), beside, ..Stage::alone(names.join(" and "), own) }
}

/// The description of a generator, with all defaults.
pub(super) fn described(spec: &GeneratorSpec) -> toml::Table {
    toml::Table::try_from(spec).expect("a description can be written")
}

/// Opens a fio job file.
pub(super) fn jobs(path: &Path, text: &str, capacity: Sectors, seed: u64) -> Result<Workload, WorkloadError> {
    let name = path.file_stem().unwrap_or(path.as_os_str()).to_string_lossy();
    let faults = |faults: Vec<Fault>| {
        let fault = |fault: Fault| ConfigFault {
            path: Some(path.to_owned()),
            line: None,
            key: fault.path,
            message: fault.message,
            remedy: fault.remedy,
        };
        Faults(faults.into_iter().map(fault).collect())
    };
    let mut file = fio::parse(&name, text).map_err(faults)?;
    file.fit(capacity).map_err(faults)?;
    let notes = file.notes.iter().map(|note| format!("{}: {note}", path.display())).collect();
    if let Some(zoned) = file.zoned {
        let source = zoned.open(capacity, seed).map_err(faults)?;
        let table = toml::Table::try_from(&zoned.spec).expect("a description can be written");
        let stage = Stage::alone(zoned.spec.name, source);
        return Ok(Workload { notes, verifies: file.verifies, ..Workload::of(vec![stage], table) });
    }
    let described = Stages::of(&file);
    let mut stages = described.open(capacity, seed).map_err(faults)?;
    for (stage, written) in stages.iter_mut().zip(&file.stages) {
        stage.name.clone_from(&written.name);
    }
    Ok(Workload { notes, verifies: file.verifies, ..Workload::of(stages, described.table()) })
}
