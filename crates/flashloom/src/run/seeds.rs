//! One run with several seeds: the means and their intervals.

use std::io::Write;

use report::run::{seeds_rows, seeds_table};
use study::catalogue::{self, WorkloadFile};
use study::execute::at_once;
use study::memory::{self, Need};
use study::plan::seeds_from;
use study::repeat::{Repeated, with_each};
use study::session::Flow;
use study::summary::Summary;

use super::{Workloads, failure, flows, idle, session};
use crate::args::{Form, RunArgs};
use crate::device::changed;
use crate::exit::{Failure, note, print};
use crate::machine;
use crate::progress::Bar;

/// Runs the workload with each seed, on all cores.
pub(super) fn run(args: &RunArgs, results: &mut dyn Write) -> Result<(), Failure> {
    of_one_run(args)?;
    args.output.notices().check()?;
    let device = catalogue::device_from(&changed(args)?)?;
    let seeds = seeds_from(args.seed, args.seeds);
    let first = session(args, &device, None);
    first.check().map_err(|error| failure(&error, &first.about()))?;
    if let Some(limit) = machine::memory(args.memory) {
        let need = |seed| Need { name: format!("{}, seed {seed}", device.name), memory: first.memory() };
        memory::check(seeds.iter().map(need).collect(), at_once(None), &limit)?;
    }
    let mut files = Workloads::named(args)?;
    // A pipe can be read once, and every seed reads it.
    for file in std::iter::once(&mut files.first).chain(&mut files.others) {
        if let WorkloadFile::Trace(trace) = file
            && trace.is_once()
        {
            trace.keep().map_err(|error| Failure::Input(error.to_string()))?;
        }
    }
    let first = flows(args, first, &files)?;
    idle::check(args, first.flows())?;
    first.flows().iter().flat_map(Flow::doubts).for_each(note);
    let bar = Bar::steps(&format!("{} seeds", args.seeds), args.output.quiet);
    let one = |seed| -> Result<Vec<Summary>, Failure> {
        let session = flows(args, session(args, &device, None).seed(seed), &files)?;
        let about = session.about();
        Ok(session.run().map_err(|error| failure(&error, &about))?.summaries())
    };
    let runs = with_each(&seeds, None, one, &|done, all| bar.step(done, all))?;
    drop(bar);
    let stages = Repeated::stages(runs);
    let text = match Form::of(args.output.json, args.output.csv) {
        Form::Json => Repeated::json(&stages),
        Form::Csv => stages.iter().map(|stage| seeds_rows(stage).csv()).collect(),
        Form::Text => stages.iter().map(seeds_table).collect::<Vec<_>>().join("\n"),
    };
    print(results, &text)
}

/// Refuses outputs that hold one run.
fn of_one_run(args: &RunArgs) -> Result<(), Failure> {
    let output = &args.output;
    let given: Vec<&str> = [
        ("--out", output.out.is_some()),
        ("--report", output.report.is_some()),
        ("--requests", output.requests.is_some()),
        ("--timeline", output.timeline.is_some()),
        ("--save-snapshot", args.state.save_snapshot.is_some()),
    ]
    .into_iter()
    .filter_map(|(option, is)| is.then_some(option))
    .collect();
    match &given[..] {
        [] => Ok(()),
        [one] => Err(Failure::Input(format!("{one}: holds one run; {}", remedy(args)))),
        several => Err(Failure::Input(format!("{}: hold one run; {}", several.join(", "), remedy(args)))),
    }
}

fn remedy(args: &RunArgs) -> String {
    format!("leave out --seeds, or describe a study with `seeds = {}`", args.seeds)
}
