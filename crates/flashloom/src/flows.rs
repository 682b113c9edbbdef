//! The workloads of `--flow` as the flows of a run.

use study::plan::FlowSpec;

use crate::args::IssueArgs;
use crate::options::FlowArg;
use crate::run::stem;

/// The flows of `--flow` beside a workload named `own`, in the order of the user. A flow without a name gets the name of its file,
/// in the form that `spell` gives it; if the name is taken, the later flow gets a number.
pub(crate) fn named(issue: &IssueArgs, own: &str, spell: fn(String) -> String) -> Vec<(String, FlowSpec)> {
    let mut all: Vec<(String, FlowSpec)> = Vec::new();
    for flow in &issue.flow {
        let name = flow.name.clone().unwrap_or_else(|| spell(stem(&flow.workload)));
        let is_taken = |name: &String| name == own || all.iter().any(|(other, _)| other == name);
        let mut names = std::iter::once(name.clone()).chain((2..).map(|number: u32| format!("{name}-{number}")));
        let name = names.find(|name| !is_taken(name)).unwrap_or(name);
        let FlowArg { queue, placement_id, weight, depth, open, .. } = *flow;
        all.push((name, FlowSpec { queue, placement_id, weight, depth, open, ..FlowSpec::new(&flow.workload) }));
    }
    all
}
