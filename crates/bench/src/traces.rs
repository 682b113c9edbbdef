//! Measurement of reading a trace: uncompressed MSR Cambridge CSV, as in the archive.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

use base::engine::Rng;
use workload::trace::{TraceOptions, open};
use workload::{Source, SourceError};

use crate::memory;
use floor::clock::timed;
use floor::report::{Row, Spread};

const LINES: u64 = 2_000_000;
/// Goal: the least number of requests per second of processor time.
const RATE: f64 = 2e6;
/// Goal: the most bytes by which a longer trace may exceed a shorter one in memory, which allows for the noise of the
/// allocator.
const GROWTH: f64 = 1e6;

/// Writes traces of two lengths into a temporary folder and measures reading them.
pub(crate) fn measure(rounds: u32) -> Vec<Row> {
    let folder = tempfile::tempdir().unwrap_or_else(|error| panic!("no temporary folder: {error}"));
    let [short, long] = [LINES / 4, LINES].map(|lines| {
        let path = folder.path().join(format!("{lines}.csv"));
        write(&path, lines).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        (path, lines)
    });
    let grown = [&short, &long].map(|(path, lines)| {
        memory::forget_peak();
        let before = memory::resident();
        read(path, *lines);
        memory::peak().zip(before).map(|(peak, before)| peak.saturating_sub(before) as f64)
    });
    let (mut rates, mut walls) = (Vec::new(), Vec::new());
    for _ in 0..rounds {
        let (path, lines) = &long;
        let ((), cost) = timed(|| read(path, *lines));
        rates.push(*lines as f64 / cost.cpu);
        walls.push(*lines as f64 / cost.wall);
    }
    let value = Spread::of(&rates);
    let mut rows = vec![Row {
        name: format!("MSR trace of {} M lines", LINES / 1_000_000),
        unit: "requests/CPU s",
        value,
        wall: Some(Spread::of(&walls).median),
        ratio: None,
        reads: None,
        target: Some(format!(">= {} M/s", RATE / 1e6)),
        met: Some(value.median >= RATE),
        note: String::new(),
    }];
    if let [Some(short), Some(long)] = grown {
        rows.push(Row {
            name: "memory to read it".to_owned(),
            unit: "MB",
            value: Spread::one(long / 1e6),
            wall: None,
            ratio: None,
            reads: None,
            target: Some("independent of length".to_owned()),
            met: Some(long <= short + GROWTH),
            note: format!("{:.2} MB for a quarter of it, which was read first", short / 1e6),
        });
    }
    rows
}

fn read(path: &Path, lines: u64) {
    let count = || -> Result<u64, SourceError> {
        let mut source = open(path, &TraceOptions::default())?;
        let mut requests = 0;
        while source.next()?.is_some() {
            requests += 1;
        }
        Ok(requests)
    };
    let requests = count().unwrap_or_else(|error| panic!("a trace that was just written: {error}"));
    assert_eq!(requests, lines, "requests of {}", path.display());
}

/// Writes a realistic trace of `lines` requests: growing times, mostly writes, sizes and offsets in multiples of 512
/// bytes.
fn write(path: &Path, lines: u64) -> io::Result<()> {
    let mut file = BufWriter::new(File::create(path)?);
    let mut rng = Rng::stream(1, "bench.trace");
    let mut at = 128_166_372_003_061_629;
    let mut line = String::new();
    for _ in 0..lines {
        at += rng.below(40_000);
        let kind = if rng.chance(0.6) { "Write" } else { "Read" };
        let (offset, size) = (rng.below(1 << 25) * 512, (rng.below(128) + 1) * 512);
        line.clear();
        let written = writeln!(line, "{at},prxy,0,{kind},{offset},{size},{}", rng.below(100_000));
        written.map_err(io::Error::other)?;
        file.write_all(line.as_bytes())?;
    }
    file.flush()
}
