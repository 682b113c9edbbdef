//! Writes a timeline in the Trace Event Format (JSON), which Perfetto reads.
//!
//! Dies, channels and controllers are three processes, and each resource is a thread. Requests may overlap, so they are
//! asynchronous events; levels are counters. Times are microseconds since the start of the run, with all digits of a
//! picosecond.

use std::io::{self, Write};

use base::units::{Span, Time};
use flash::backend::{Level, Primitive, Resource};
use serde_json::{Value, json};

use study::output::TIMELINE;
use study::watch::timeline::{LevelReading, Slice, Timeline};

const DIES: u32 = 1;
/// The thread number of the first plane that reads by itself: after the threads of all dies.
const FIRST_PLANE: u32 = 1 << 20;
const CHANNELS: u32 = 2;
const CONTROLLERS: u32 = 3;
const REQUESTS: u32 = 4;
const LEVELS: u32 = 5;
const DECODERS: u32 = 6;

/// Writes events, separated by commas.
struct Events<'a, W> {
    into: &'a mut W,
    first: bool,
}

impl<W: Write> Events<'_, W> {
    fn push(&mut self, event: &Value) -> io::Result<()> {
        self.into.write_all(if std::mem::take(&mut self.first) { b"\n" } else { b",\n" })?;
        serde_json::to_writer(&mut *self.into, event).map_err(io::Error::other)
    }
}

/// A span in microseconds. The result is exact, because a double holds the picoseconds of some hours.
fn us(span: Span) -> f64 {
    span.as_ps() as f64 / 1e6
}

pub(super) const fn label_of(primitive: Primitive) -> &'static str {
    match primitive {
        Primitive::Command => "command",
        Primitive::Status => "status",
        Primitive::DataIn => "data in",
        Primitive::DataOut => "data out",
        Primitive::Hold => "hold",
        Primitive::Read => "read",
        Primitive::Retry => "retry",
        Primitive::Program => "program",
        Primitive::Erase => "erase",
        Primitive::Suspend => "suspend",
        Primitive::Resume => "resume",
        Primitive::CopyBack => "copy-back",
        Primitive::Decode => "decode",
    }
}

const fn level_name(level: Level) -> &'static str {
    match level {
        Level::Waiting => "requests waiting",
        Level::Active => "requests in the device",
        Level::Buffered => "mapping units in the write buffer",
        Level::FreeBlocks => "free blocks",
    }
}

/// Writes the window as a trace in the JSON format that Perfetto (<https://ui.perfetto.dev>) and `chrome://tracing` read.
///
/// # Errors
/// If it cannot be written.
pub fn write_timeline(timeline: &Timeline, into: &mut impl Write) -> io::Result<()> {
    into.write_all(TIMELINE.as_bytes())?;
    into.write_all(b"\"displayTimeUnit\":\"ns\",\"traceEvents\":[")?;
    let mut events = Events { into, first: true };
    names(timeline, &mut events)?;
    let since = |time: Time| us(time.saturating_since(timeline.start()));
    for slice in timeline.slices() {
        events.push(&of_slice(slice, since))?;
    }
    for held in timeline.held() {
        events.push(&json!({
            "ph": "X", "pid": CONTROLLERS, "tid": held.unit + 1, "name": held.cause.name(), "cat": held.cause.name(),
            "ts": since(held.from), "dur": us(held.until - held.from),
        }))?;
    }
    for request in timeline.requests() {
        let name = format!("{} {} of {}", request.io.kind.name(), request.io.start, request.io.sectors);
        let of = |phase: &str, name: &str, at: Time| {
            json!({
                "ph": phase, "pid": REQUESTS, "tid": 1, "cat": request.io.kind.name(), "id": request.tag,
                "name": name, "ts": since(at),
            })
        };
        let mut begin = of("b", &name, request.arrival);
        begin["args"] = json!({ "request": request.tag, "queue_us": us(request.begun - request.arrival) });
        events.push(&begin)?;
        events.push(&of("e", &name, request.end))?;
    }
    for LevelReading { at, level, value } in timeline.levels() {
        events.push(&json!({
            "ph": "C", "pid": LEVELS, "name": level_name(*level), "ts": since(*at), "args": { "value": value },
        }))?;
    }
    into.write_all(b"\n]}\n")
}

fn names<W: Write>(timeline: &Timeline, events: &mut Events<'_, W>) -> io::Result<()> {
    let processes = [
        (DIES, "dies"),
        (CHANNELS, "channels"),
        (DECODERS, "decoders"),
        (CONTROLLERS, "controllers"),
        (REQUESTS, "requests"),
        (LEVELS, "levels"),
    ];
    let decodes = timeline.slices().iter().any(|slice| matches!(slice.resource, Resource::Decoder(_)));
    for (pid, name) in processes.into_iter().filter(|(pid, _)| *pid != DECODERS || decodes) {
        events.push(&json!({ "ph": "M", "pid": pid, "name": "process_name", "args": { "name": name } }))?;
        events.push(&json!({ "ph": "M", "pid": pid, "name": "process_sort_index", "args": { "sort_index": pid } }))?;
    }
    let mut threads: Vec<(u32, u32, String)> = timeline.slices().iter().map(|slice| thread(slice.resource)).collect();
    threads
        .extend(timeline.held().iter().map(|held| (CONTROLLERS, held.unit + 1, format!("controller {}", held.unit))));
    threads.sort_unstable();
    threads.dedup();
    for (pid, tid, name) in threads {
        events.push(&json!({ "ph": "M", "pid": pid, "tid": tid, "name": "thread_name", "args": { "name": name } }))?;
    }
    Ok(())
}

/// The process, thread and name of a resource. Threads count from one: a viewer may take zero for the process itself.
fn thread(resource: Resource) -> (u32, u32, String) {
    match resource {
        Resource::Array(number) => (DIES, number + 1, format!("die {number}")),
        Resource::Plane(number) => (DIES, FIRST_PLANE + number, format!("plane {number}")),
        Resource::Channel(number) => (CHANNELS, number + 1, format!("channel {number}")),
        Resource::Decoder(number) => (DECODERS, number + 1, format!("decoder {number}")),
    }
}

fn of_slice(slice: &Slice, since: impl Fn(Time) -> f64) -> Value {
    let (pid, tid, _) = thread(slice.resource);
    let mut args = json!({
        "cause": slice.cause.name(), "operation": slice.op.name(), "units": slice.about.units,
        "superblock": slice.about.superblock.get(), "waited_us": us(slice.waited),
    });
    if let Some(offset) = slice.about.offset {
        args["offset"] = offset.into();
    }
    if let Some(lpn) = slice.about.lpn {
        args["lpn"] = lpn.get().into();
    }
    if let Some(psn) = slice.about.psn {
        args["psn"] = psn.get().into();
    }
    if let Some(tag) = slice.about.request {
        args["request"] = tag.into();
    }
    json!({
        "ph": "X", "pid": pid, "tid": tid, "name": label_of(slice.primitive), "cat": slice.cause.name(),
        "ts": since(slice.from), "dur": us(slice.until - slice.from), "args": args,
    })
}

#[cfg(test)]
mod tests {
    use study::watch::Watch;
    use study::watch::timeline::Window;

    use super::*;
    use crate::explained::explained_table;
    use crate::testing::watched;

    #[test]
    fn the_timeline_is_one_json_object_with_paired_requests_and_all_names() {
        let window = Window { from: Span::from_ms(2), until: Span::from_ms(4) };
        let drive = watched(Watch::default().timeline(Timeline::new(window)));
        let timeline = drive.observer::<Watch>().and_then(Watch::seen).expect("a timeline");
        let mut text = Vec::new();
        write_timeline(timeline, &mut text).expect("written");
        let trace: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        let events = trace["traceEvents"].as_array().expect("events");
        let of = |phase: &str| events.iter().filter(|event| event["ph"] == phase).collect::<Vec<_>>();
        let works: Vec<_> = of("X").into_iter().filter(|event| event["args"].is_object()).collect();
        assert_eq!(works.len(), timeline.slices().len());
        assert!(of("X").len() > works.len(), "controllers hold lists");
        assert_eq!(of("b").len(), of("e").len());
        assert!(!of("b").is_empty() && !of("C").is_empty());
        let threads: Vec<_> =
            of("M").iter().filter(|event| event["name"] == "thread_name").map(|e| e["tid"].clone()).collect();
        assert!(of("X").iter().all(|event| threads.contains(&event["tid"])));
        let in_us = |event: &serde_json::Value| event["ts"].as_f64().expect("a time");
        let (start, stop) = (2000.0, 4000.0);
        for event in works {
            let took = event["dur"].as_f64().expect("a time");
            assert!(in_us(event) < stop && in_us(event) + took > start, "{event}");
            assert!(event["args"]["cause"].is_string() && event["args"]["superblock"].is_number(), "{event}");
        }
    }

    #[test]
    fn the_explained_latencies_are_a_table() {
        let mut drive = watched(Watch::default().explaining());
        let text = explained_table(&drive.observer_mut::<Watch>().expect("it is watched").explained());
        assert!(text.contains("beyond p99.9") && text.contains("waited in flash behind"), "{text}");
    }
}
