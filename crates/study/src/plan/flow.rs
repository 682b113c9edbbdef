//! The workloads that run beside the first workload of a point: the tables `run.flows.NAME`.

use std::path::{Path, PathBuf};

use base::fault::Fault;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use toml::{Table, Value};
use workload::trace::TraceOptions;
use workload::{MOST_DEPTH, Pacing};

use super::part::PlanPart;
use super::point::{ConcurrentWorkload, Point};
use super::{ReadingSpec, RunSpec, StudySpec, UnknownRule};
use crate::catalogue::{self, Device, WorkloadFile};
use crate::config::{Document, Faults, did_you_mean};
use crate::metric::Metric;

/// A workload that runs beside the study's own, with a queue, a pacing and results of its own.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct FlowSpec {
    /// The workload, which every flow needs: a file (its path is relative to the study), or the name of a workload that
    /// comes with Flashloom.
    #[schemars(extend("examples" = ["oltp", "random-read-4k"]))]
    pub workload: PathBuf,
    /// The submission queue of the drive for the flow's requests; see `host.queue` in device files.
    #[serde(skip_serializing_if = "is_zero")]
    pub queue: u16,
    /// The placement identifier of the flow's writes that have none of their own; see the policy `placement-id` of
    /// `ftl.streams.host` in device files.
    #[serde(skip_serializing_if = "is_zero")]
    pub placement_id: u16,
    /// The weight of that queue, in place of the drive's own.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// The number of requests to keep outstanding, in place of the workload's pacing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// True to issue the flow's requests at their arrival times, in place of the workload's pacing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// Changes of keys of the workload.
    #[serde(skip_serializing_if = "Table::is_empty")]
    #[schemars(with = "std::collections::BTreeMap<String, serde_json::Value>")]
    pub set: Table,
    /// The most requests to read of the flow's trace.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u64>,
    /// Options for reading the flow's trace, in place of the options of `run`.
    #[serde(flatten)]
    pub reading: ReadingSpec,
}

/// True if the number is the default, which is not written.
#[allow(clippy::trivially_copy_pass_by_ref)] // serde calls it with a reference.
pub(super) const fn is_zero(number: &u16) -> bool {
    *number == 0
}

/// The pacing that a depth and a flag ask for, if any.
pub(crate) const fn pacing(depth: Option<u32>, open: bool) -> Option<Pacing> {
    match (depth, open) {
        (Some(depth), _) => Some(Pacing::Closed { depth }),
        (None, true) => Some(Pacing::Open),
        (None, false) => None,
    }
}

impl FlowSpec {
    /// Creates the flow of a workload, with all defaults.
    #[must_use]
    pub fn new(workload: impl Into<PathBuf>) -> Self {
        Self { workload: workload.into(), ..Self::default() }
    }

    /// The pacing of the flow's requests, if it is not the workload's own.
    pub(crate) const fn pacing(&self) -> Option<Pacing> {
        pacing(self.depth, self.open)
    }

    /// The options with which to read the flow's trace: the flow's own keys, and the keys of the run for the rest.
    pub(crate) fn trace_options(&self, run: &RunSpec) -> Result<TraceOptions, UnknownRule> {
        Ok(TraceOptions { limit: self.limit, ..self.reading.or(&run.reading).options()? })
    }

    /// Removes the options for reading a trace, because the flow reads none.
    pub(super) fn forget_traces(&mut self) {
        (self.limit, self.reading) = (None, ReadingSpec::default());
    }

    /// The options for reading a trace that the study gives for the flow.
    fn of_traces(&self) -> Vec<String> {
        let limit = self.limit.map(|_| "limit".to_owned());
        limit.into_iter().chain(self.reading.given()).collect()
    }
}

/// The faults of the pacing and queues of a run, and of the keys of its flows.
pub(super) fn faults(run: &RunSpec, device: Option<&Device>) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut issue = |key: &str, depth: Option<u32>, open: bool, queue: u16| {
        let at = |name: &str| format!("{key}{name}");
        if depth.is_some_and(|depth| depth > MOST_DEPTH) {
            let message = format!("{} requests outstanding at once", depth.unwrap_or_default());
            faults.push(Fault::new(at("depth"), message, format!("use 1 to {MOST_DEPTH}")));
        }
        if depth == Some(0) {
            faults.push(Fault::new(at("depth"), "a closed loop of depth 0 never issues a request", "use 1 or more"));
        }
        if open && depth.is_some() {
            let message = "requests cannot be issued both at their arrival times and as others complete";
            faults.push(Fault::new(at("open"), message, "leave out `open` or `depth`"));
        }
        let queues = device.map_or(usize::MAX, |device| device.resolved.host.queues.queues.len());
        if usize::from(queue) >= queues {
            let message = format!("there is no queue {queue}: the drive has {queues}, counted from 0");
            faults.push(Fault::new(at("queue"), message, "use a smaller number, or set device.host.queues"));
        }
    };
    issue("", run.depth, run.open, run.queue);
    for (name, flow) in &run.flows {
        issue(&format!("flows.{name}."), flow.depth, flow.open, flow.queue);
    }
    for (name, flow) in &run.flows {
        if let Some((message, remedy)) = wrong_name(name) {
            faults.push(Fault::new(format!("flows.{name}"), message, remedy));
        }
        if flow.workload.as_os_str().is_empty() {
            let remedy = "name a file or a built-in workload, e.g. workload = \"oltp\"";
            faults.push(Fault::new(format!("flows.{name}.workload"), "is missing", remedy));
        }
        // An unknown rule of the run is reported once, for the run.
        if let Err(unknown) = flow.reading.options() {
            let fault = unknown.fault(&flow.reading);
            faults.push(Fault::new(format!("flows.{name}.{}", fault.path), fault.message, fault.remedy));
        }
    }
    if let Some((message, remedy)) = run.name.as_deref().and_then(wrong_name) {
        faults.push(Fault::new("name", message, remedy));
    }
    faults
}

/// The reason that metrics cannot name a flow of this name.
fn wrong_name(name: &str) -> Option<(String, &'static str)> {
    let plain = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_');
    let wrong = name.is_empty() || !name.chars().all(plain);
    wrong.then(|| (format!("`{name}` is not a name for a flow"), "use letters, digits, `-` and `_`, e.g. reader"))
}

/// Gives the queues of the drive the weights that the run asks for.
pub(super) fn weigh(run: &Document, device: &mut Document) -> Result<(), Faults> {
    let flows = run.table().get("flows").and_then(Value::as_table);
    let named =
        flows.into_iter().flatten().filter_map(|(name, flow)| Some((format!("flows.{name}."), flow.as_table()?)));
    let mut faults = Vec::new();
    for (key, table) in std::iter::once((String::new(), run.table())).chain(named) {
        let Some(weight) = table.get("weight") else { continue };
        let queue = table.get("queue").and_then(Value::as_integer).unwrap_or(0);
        let there = format!("{key}weight");
        if !device.put(&format!("host.queue[{queue}].weight"), weight.clone(), run, &there) {
            let message = format!("the drive does not describe its queue {queue}");
            faults.push(run.fault(&there, message, "describe it in a [[host.queue]] of the device file"));
        }
    }
    if faults.is_empty() { Ok(()) } else { Err(Faults(faults)) }
}

/// Finds a workload of a study. `run` has the key that names it, which is at fault if a trace is missing.
pub(super) fn find(path: &Path, run: &Document, key: &str) -> Result<WorkloadFile, Faults> {
    let file = catalogue::workload(path)?;
    if let WorkloadFile::Trace(trace) = &file
        && trace.is_missing()
    {
        let message = format!("`{}` is neither a file nor a workload that comes with Flashloom", path.display());
        let remedy = "check its name: a file's path is relative to the study's file";
        return Err(run.fault(key, message, remedy).into());
    }
    Ok(file)
}

/// Finds the workloads beside the first workload of a point, with their changes.
pub(super) fn workloads(
    document: &Document,
    study: &StudySpec,
    parts: &[PlanPart<'_>],
    run: (&Document, &RunSpec),
) -> Result<Vec<ConcurrentWorkload>, Faults> {
    let (of_run, spec) = run;
    let mut faults = Faults::default();
    let found = spec.flows.iter().filter_map(|(name, flow)| {
        let found = one(document, study, parts, of_run, name, flow);
        found.map_err(|found| faults.0.extend(found.0)).ok()
    });
    let found = found.collect();
    if faults.0.is_empty() { Ok(found) } else { Err(faults) }
}

fn one(
    document: &Document,
    study: &StudySpec,
    parts: &[PlanPart<'_>],
    run: &Document,
    name: &str,
    flow: &FlowSpec,
) -> Result<ConcurrentWorkload, Faults> {
    let key = |key: &str| format!("flows.{name}.{key}");
    let mut workload = find(&document.beside(&flow.workload), run, &key("workload"))?;
    match &mut workload {
        WorkloadFile::Described(of) => {
            let changes = |run: &'_ Table| run.get("flows")?.get(name)?.get("set")?.as_table().cloned();
            if let Some(set) = changes(&study.run) {
                of.merge(&set, document, &format!("run.flows.{name}.set"), false);
            }
            for part in parts {
                if let Some(set) = changes(&part.set.run) {
                    let key = if part.whole { part.key.clone() } else { format!("{}.run.flows.{name}.set", part.key) };
                    of.merge(&set, document, &key, part.whole);
                }
            }
        }
        WorkloadFile::Jobs(..) | WorkloadFile::Trace(_) | WorkloadFile::Listed(_) if !flow.set.is_empty() => {
            let message = format!("sets keys of {}, which is a trace or a fio job", flow.workload.display());
            return Err(run.fault(&key("set"), message, "set keys of generators only").into());
        }
        WorkloadFile::Jobs(..) | WorkloadFile::Trace(_) | WorkloadFile::Listed(_) => {}
    }
    if !workload.is_trace() {
        let idle = flow.of_traces().into_iter();
        let why = "has no effect here: the flow plays no trace";
        let idle: Vec<_> = idle.map(|name| run.fault(&key(&name), why, "leave it out, or name a trace")).collect();
        if !idle.is_empty() {
            return Err(Faults(idle));
        }
    }
    Ok(ConcurrentWorkload { name: name.to_owned(), workload })
}

impl Point {
    /// All workloads of the point: the first workload, then the others.
    pub fn workloads(&self) -> impl Iterator<Item = &WorkloadFile> {
        std::iter::once(&self.workload).chain(self.beside.iter().map(|flow| &flow.workload))
    }

    /// All workloads of the point, each with the options to read it if it is a trace.
    ///
    /// # Panics
    ///
    /// Never: a plan checks the names of its rules.
    pub(crate) fn readings(&self) -> impl Iterator<Item = (&WorkloadFile, TraceOptions)> {
        let own = self.run.reading.options();
        let beside = self.beside.iter().map(|flow| self.run.flows[&flow.name].trace_options(&self.run));
        let options = std::iter::once(own).chain(beside).map(|options| options.expect("it was checked"));
        self.workloads().zip(options)
    }

    /// All workloads of the point, for keeping the bytes of pipes.
    pub(crate) fn workloads_mut(&mut self) -> impl Iterator<Item = &mut WorkloadFile> {
        std::iter::once(&mut self.workload).chain(self.beside.iter_mut().map(|flow| &mut flow.workload))
    }

    /// True if each completion triggers the next request, in all flows.
    #[must_use]
    pub fn is_closed_loop(&self) -> bool {
        let closed = |pacing: Option<Pacing>, workload: &WorkloadFile| match pacing {
            Some(pacing) => matches!(pacing, Pacing::Closed { .. }),
            None => workload.is_closed_loop(),
        };
        let beside = self.beside.iter().map(|flow| (self.run.flows[&flow.name].pacing(), &flow.workload));
        let own = (pacing(self.run.depth, self.run.open), &self.workload);
        std::iter::once(own).chain(beside).all(|(pacing, workload)| closed(pacing, workload))
    }

    /// The names of the point's flows, including the first workload's; `None` if a name is known only when the workload
    /// is opened.
    fn flow_names(&self) -> Option<Vec<String>> {
        let first = self.run.name.clone().or_else(|| self.workload.name())?;
        Some(std::iter::once(first).chain(self.beside.iter().map(|flow| flow.name.clone())).collect())
    }
}

/// Checks the flows of all points and the metrics that name flows. Marks the points whose flows must also run alone,
/// because a metric compares the two.
pub(super) fn check(study: &StudySpec, points: &mut [Point]) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut known: Option<Vec<String>> = Some(Vec::new());
    for point in points.iter() {
        let names = point.flow_names();
        if let Some([first, others @ ..]) = names.as_deref()
            && others.contains(first)
        {
            let message = format!("two flows are named `{first}`");
            faults.push(Fault::new("run.flows", message, "give the study's own workload a `name` in [run]"));
        }
        known = known.zip(names).map(|(mut known, names)| {
            known.extend(names);
            known
        });
    }
    faults.dedup();
    let several = points.iter().any(|point| !point.beside.is_empty());
    let claims = study.claims.iter().enumerate().flat_map(|(c, claim)| {
        let expected = claim.expectations.iter().enumerate();
        let expected = expected.map(move |(e, of)| (format!("claim[{c}].expect[{e}].metric"), &of.metric));
        let isolated = claim.isolations.iter().enumerate();
        expected.chain(isolated.map(move |(e, of)| (format!("claim[{c}].isolate[{e}].metric"), &of.metric)))
    });
    let shown = study.metrics.iter().enumerate().map(|(i, metric)| (format!("metrics[{i}]"), metric));
    let all: Vec<(String, &Metric)> = shown.chain(claims).collect();
    for (key, metric) in &all {
        for name in metric.flows() {
            let Some(known) = known.as_deref().filter(|known| !known.iter().any(|other| other == name)) else {
                continue;
            };
            let mut listed: Vec<&str> = known.iter().map(String::as_str).collect();
            listed.sort_unstable();
            listed.dedup();
            let meant = did_you_mean(name, listed.iter().copied());
            let remedy = format!("{meant}the flows are {}", listed.join(", "));
            faults.push(Fault::new(key.clone(), format!("`{metric}`: there is no flow `{name}`"), remedy));
        }
        if metric.compares_with_alone() && !several {
            let message = format!("`{metric}` compares several workloads with each of them alone, and there is one");
            faults.push(Fault::new(key.clone(), message, "add another in [run.flows.NAME]"));
        }
    }
    if points.iter().any(|point| point.run.fairness) && !several {
        let message = "has no effect here: there is one workload";
        faults.push(Fault::new("run.fairness", message, "add another in [run.flows.NAME], or leave it out"));
    }
    let compares = all.iter().any(|(_, metric)| metric.compares_with_alone());
    for point in points {
        point.run.fairness = !point.beside.is_empty() && (point.run.fairness || compares);
    }
    faults
}

#[cfg(test)]
mod tests;
