//! `flashloom trace`: summarises a trace, or converts it to Parquet.

use std::fmt::Write as _;
use std::io::Write;

use base::units::{Bytes, Span};
use report::table::{Table, UnitOfMeasure};
use study::output::{Kind, Outputs, publish};
use workload::trace::{Format, KindInfo, TraceInfo, convert, files, info};

use crate::args::{Form, TraceCommand};
use crate::exit::{Failure, note, print, say};

/// Runs a `flashloom trace` command.
pub(crate) fn trace(command: &TraceCommand, results: &mut dyn Write) -> Result<(), Failure> {
    match command {
        TraceCommand::Info { trace, part, json, csv } => {
            let info = info(trace, &part.options())?;
            let text = match Form::of(*json, *csv) {
                Form::Json => serde_json::to_string_pretty(&info).expect("numbers, texts and lists") + "\n",
                Form::Csv => rows(&info).csv(),
                Form::Text => table(&info),
            };
            print(results, &text)
        }
        TraceCommand::Convert { from, to, part, replace } => {
            let out = Outputs::new(files(from), replace.force).file("TO", to, Kind::Trace)?;
            let converted = convert(from, out.file(), to, &part.options())?;
            converted.notes.iter().for_each(note);
            publish(vec![out], None)?.iter().for_each(note);
            say(format_args!("{}: {} requests", to.display(), converted.requests));
            Ok(())
        }
        TraceCommand::Formats => {
            let lines: String =
                Format::ALL.iter().map(|format| format!("{:<18}{}\n", format.name(), format.about().trim())).collect();
            let more = "\nFlashloom reads any other CSV or Parquet file with --columns, which names the columns, by header \
                        or by number from\n\
                        1, and their units: --columns time=ts:us,op=rw,offset=lba:512B,size=len:B\n\
                        It reads a tar or a zip of traces as one recording, merged by time, and so the files that blktrace \
                        writes for each\n\
                        CPU: name their directory, or NAME.blktrace. `-` is standard input.\n";
            print(results, &(lines + more))
        }
    }
}

fn kinds(info: &TraceInfo) -> impl Iterator<Item = (&'static str, &KindInfo)> {
    let kinds = [("read", &info.reads), ("write", &info.writes), ("flush", &info.flushes), ("discard", &info.discards)];
    kinds.into_iter().filter(|(_, kind)| kind.requests > 0)
}

/// The characteristics as a table for other programs: a row for each kind of request.
pub(crate) fn rows(info: &TraceInfo) -> Table {
    let each = || kinds(info).map(|(_, kind)| kind);
    let mut table = Table::default();
    table.text("kind", "`read`, `write`, `flush` or `discard`", kinds(info).map(|(name, _)| name));
    table.count("requests", UnitOfMeasure::None, "Requests", each().map(|kind| kind.requests));
    table.number("share", UnitOfMeasure::Share, "Share of all requests", each().map(|kind| Some(kind.share)));
    table.count("bytes", UnitOfMeasure::Bytes, "Bytes, in whole sectors", each().map(|kind| kind.bytes));
    table.number("mean_bytes", UnitOfMeasure::Bytes, "Mean request", each().map(|kind| Some(kind.bytes_mean)));
    table.count("max_bytes", UnitOfMeasure::Bytes, "Largest request", each().map(|kind| kind.bytes_max));
    let next = "Share of requests that start where the previous one of their kind and volume ended";
    table.number("sequential", UnitOfMeasure::Share, next, each().map(|kind| Some(kind.sequential)));
    let streams = "Share of requests that continue any of the last 32 of their kind";
    table.number("sequential_streams", UnitOfMeasure::Share, streams, each().map(|kind| Some(kind.sequential_streams)));
    let all = each().count();
    let whole = |value: f64| std::iter::repeat_n(Some(value), all);
    table.number(
        "trace_span_s",
        UnitOfMeasure::Seconds,
        "From the first request of the trace to the last",
        whole(info.span_s),
    );
    let footprint = info.footprint.units * 4096;
    let touched = "Bytes of the trace's addresses that are read or written, in units of 4 KiB";
    table.count("trace_footprint_bytes", UnitOfMeasure::Bytes, touched, std::iter::repeat_n(footprint, all));
    table
}

fn table(info: &TraceInfo) -> String {
    let mut text = String::new();
    let percent = |share: f64| format!("{:.1}%", share * 100.0);
    let span =
        if info.span_s < 1e7 { Span::from_secs_f64(info.span_s).to_string() } else { format!("{} s", info.span_s) };
    let _ =
        writeln!(text, "{} requests ({}) in {span}, {:.1} per second\n", info.requests, info.format, info.rate_per_s);
    let _ = writeln!(text, "         requests   share      bytes  mean size  max size  sequential  in streams");
    for (name, kind) in kinds(info) {
        let _ = writeln!(
            text,
            "{name:<8}{:>9}{:>8}{:>11}{:>11}{:>10}{:>12}{:>12}",
            kind.requests,
            percent(kind.share),
            Bytes::new(kind.bytes).to_string(),
            Bytes::new(kind.bytes_mean as u64).to_string(),
            Bytes::new(kind.bytes_max).to_string(),
            percent(kind.sequential),
            percent(kind.sequential_streams),
        );
    }
    let touched = |units: u64| Bytes::new(units * 4096);
    let footprint = &info.footprint;
    let _ = writeln!(
        text,
        "\nfootprint {} (read {}, written {}), up to byte {}",
        touched(footprint.units),
        touched(footprint.units_read),
        touched(footprint.units_written),
        info.end_byte
    );
    let _ = writeln!(text, "updates: {} of the written data overwrites earlier data", percent(info.update_ratio));
    if info.volumes.len() > 1 {
        let names: Vec<_> =
            info.volumes.iter().take(8).map(|(name, requests)| format!("{name} ({requests})")).collect();
        let more = info.volumes.len().saturating_sub(8);
        let rest = if more > 0 { format!(" and {more} more") } else { String::new() };
        let _ = writeln!(text, "volumes: {}{rest}", names.join(", "));
    }
    alternatives(info, &mut text);
    for note in info.doubts.iter().map(ToString::to_string).chain(info.stats.notes()) {
        let _ = writeln!(text, "note: {note}");
    }
    text
}

/// The numbers under other units of measure, if the trace leaves a unit in doubt.
fn alternatives(info: &TraceInfo, text: &mut String) {
    let taken = |taken: bool| if taken { "  taken" } else { "" };
    if !info.times.is_empty() {
        let _ = writeln!(text, "\n--time-unit    duration        per second");
    }
    for time in &info.times {
        let span = if time.span_s < 1e7 {
            Span::from_secs_f64(time.span_s).to_string()
        } else {
            format!("{:.4e}s", time.span_s)
        };
        let absurd = if time.absurd { "  more than any drive can serve" } else { "" };
        let rate = significant(time.rate_per_s);
        let _ = writeln!(text, "{:<15}{span:<16}{rate}{}{absurd}", time.unit.name(), taken(time.taken));
    }
    if !info.sizes.is_empty() {
        let _ = writeln!(text, "\n--size-unit    mean size       bytes per second");
    }
    for size in &info.sizes {
        let mean = Bytes::new(size.bytes_mean as u64).to_string();
        let rate = significant(size.bytes_per_s);
        let _ = writeln!(text, "{:<15}{mean:<16}{rate}{}", size.unit.to_string(), taken(size.taken));
    }
}

/// A number in at most four digits, with a power of ten if it is large or small.
fn significant(value: f64) -> String {
    if (0.1..1e6).contains(&value) { format!("{value:.1}") } else { format!("{value:.3e}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{ExcerptArgs, ReplaceArgs};
    use std::path::PathBuf;

    fn part() -> ExcerptArgs {
        ExcerptArgs { limit: Some(100), ..ExcerptArgs::default() }
    }

    fn recorded() -> PathBuf {
        PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/recorded/programs.parquet"))
    }

    #[test]
    fn a_recorded_trace_is_summarised_and_converted() {
        let mut results = Vec::new();
        let asked = TraceCommand::Info { trace: recorded(), part: part(), json: false, csv: false };
        trace(&asked, &mut results).expect("a trace");
        let text = String::from_utf8(results).expect("text");
        assert!(text.starts_with("100 requests (parquet)") && text.contains("footprint"), "{text}");

        let dir = tempfile::tempdir().expect("a directory");
        let to = dir.path().join("some.parquet");
        let asked =
            TraceCommand::Convert { from: recorded(), to: to.clone(), part: part(), replace: ReplaceArgs::default() };
        trace(&asked, &mut Vec::new()).expect("converted");
        assert!(to.is_file());
    }

    #[test]
    fn a_missing_trace_is_refused() {
        let asked = TraceCommand::Info { trace: "no/such".into(), part: part(), json: true, csv: false };
        let failure = trace(&asked, &mut Vec::new()).expect_err("not there");
        assert!(failure.code() == 2 && failure.to_string().contains("no/such"), "{failure}");
    }
}
