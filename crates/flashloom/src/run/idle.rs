//! Refuses options that would have no effect on the run, so that users do not rely on them.

use study::session::Flow;
use workload::trace::TraceOptions;

use crate::args::{RunArgs, TraceArgs};
use crate::exit::Failure;

/// Refuses options without effect.
pub(super) fn check(args: &RunArgs, flows: &[Flow<'_>]) -> Result<(), Failure> {
    let mut lines = Vec::new();
    if !flows.iter().any(Flow::is_recorded) {
        let remedy = "leave it out, or run a trace";
        lines.extend(
            given(&args.trace).map(|option| format!("{option}: has no effect here: no workload is a trace; {remedy}")),
        );
    }
    if args.issue.pace.time_scale.is_some() && flows.iter().all(Flow::is_closed_loop) {
        lines.push(
            "--time-scale: has no effect here: requests are issued as others complete, not at times of arrival; leave \
             it out, or give --open"
                .into(),
        );
    }
    if args.trace.reading.gap_limit.is_some() && flows.iter().all(Flow::is_closed_loop) {
        lines.push(
            "--gap-limit: has no effect here: requests are issued as others complete, not at times of arrival; leave it \
             out, or give --open"
                .into(),
        );
    }
    let output = &args.output;
    let shown = output.json || output.out.is_some() || output.report.is_some();
    if output.series.is_some() && !shown {
        lines.push(
            "--series: has no effect here: a table has no course of the run; add --json, --out or --report".into(),
        );
    }
    if lines.is_empty() { Ok(()) } else { Err(Failure::Input(lines.join("\n"))) }
}

/// The options for reading traces whose values differ from the defaults.
fn given(trace: &TraceArgs) -> impl Iterator<Item = &'static str> {
    let (options, plain) = (trace.options(), TraceOptions::default());
    [
        ("--format", options.format != plain.format),
        ("--columns", options.columns.is_some()),
        ("--time-unit", options.units.time.is_some()),
        ("--size-unit", options.units.size.is_some()),
        ("--address-unit", options.units.address.is_some()),
        ("--volume", options.volume != plain.volume),
        ("--volumes", options.volumes != plain.volumes),
        ("--event", options.event != plain.event),
        ("--tolerance", options.tolerance != plain.tolerance),
        ("--strict", options.strict),
        ("--gap-limit", options.gap_limit != plain.gap_limit),
        ("--skip", options.skip != plain.skip),
        ("--repeat", options.repeat != plain.repeat),
        ("--extent", options.extent != plain.extent),
    ]
    .into_iter()
    .filter_map(|(option, is)| is.then_some(option))
}
