//! The runs of a study for several machines as tables: the runs of a shard, and the runs whose keys are written.

use study::text::memory;

use crate::grid::grid;
use crate::table::{Table, UnitOfMeasure};

/// A run of a shard.
#[derive(Clone, Debug)]
pub struct ShardRow {
    /// Name of the study in its description.
    pub study: String,
    /// The point's labels with the names of their axes.
    pub point: String,
    /// The seed of the run.
    pub seed: u64,
    /// The digest of the run's key.
    pub digest: String,
    /// True if the result was in the store before.
    pub stored: bool,
}

/// A run whose key is written.
#[derive(Clone, Debug)]
pub struct KeyRow {
    /// Name of the file that has the key of the run.
    pub file: String,
    /// The memory that the run needs.
    pub memory_bytes: u64,
    /// The number of the run's requests, if the study determines it.
    pub requests: Option<u64>,
    /// The predicted time of the run in seconds, if anything is known of it.
    pub seconds: Option<f64>,
    /// True if the result is in the store.
    pub stored: bool,
    /// Name of the study in its description.
    pub study: String,
    /// The point's labels with the names of their axes.
    pub point: String,
    /// The seed of the run.
    pub seed: u64,
}

/// The number of digits of a digest in tables.
const SHORT: usize = 12;

/// Cuts a text to at most this many characters.
fn cut(text: &str, most: usize) -> String {
    match text.chars().count() > most {
        true => text.chars().take(most - 1).chain(['\u{2026}']).collect(),
        false => text.to_owned(),
    }
}

/// The table of the runs of a shard. Long names are cut.
#[must_use]
pub fn shard_table(rows: &[ShardRow]) -> String {
    let row = |row: &ShardRow| {
        let from = if row.stored { "stored" } else { "ran" };
        let digest = row.digest.chars().take(SHORT).collect();
        vec![cut(&row.study, 20), cut(&row.point, 26), digest, from.to_owned(), row.seed.to_string()]
    };
    grid(&["study", "point", "digest", "", "seed"], rows.iter().map(row), 4)
}

/// The runs of a shard as a table for other programs.
#[must_use]
pub fn shard_rows(rows: &[ShardRow]) -> Table {
    let mut table = Table::default();
    table.text("study", "The study's name", rows.iter().map(|row| row.study.clone()));
    table.text(
        "point",
        "The point's labels, each behind the name of its axis",
        rows.iter().map(|row| row.point.clone()),
    );
    table.count("seed", UnitOfMeasure::None, "The seed of the run", rows.iter().map(|row| row.seed));
    table.text("digest", "The digest of the key: the name of the result", rows.iter().map(|row| row.digest.clone()));
    let stored = rows.iter().map(|row| u64::from(row.stored));
    table.count(
        "stored",
        UnitOfMeasure::None,
        "1 if the result was in the store before, 0 if the run was done",
        stored,
    );
    table
}

/// A time in words, as for the prediction of a run.
fn duration(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 1.0 => format!("{:.0}ms", (seconds * 1e3).max(1.0)),
        seconds if seconds < 120.0 => format!("{seconds:.1}s"),
        seconds if seconds < 7200.0 => format!("{:.0}min", seconds / 60.0),
        seconds => format!("{:.1}h", seconds / 3600.0),
    }
}

/// The table of the runs whose keys are written. Long names are cut.
#[must_use]
pub fn keys_table(rows: &[KeyRow]) -> String {
    let row = |row: &KeyRow| {
        let time = match row.seconds {
            _ if row.stored => "stored".to_owned(),
            Some(seconds) => duration(seconds),
            None => "unknown".to_owned(),
        };
        let file = row.file.chars().take(SHORT).collect();
        let point = cut(&row.point, 22);
        vec![file, cut(&row.study, 14), point, memory(row.memory_bytes as f64), time, row.seed.to_string()]
    };
    grid(&["key", "study", "point", "memory", "time", "seed"], rows.iter().map(row), 3)
}

/// The runs whose keys are written as a table for other programs.
#[must_use]
pub fn keys_rows(rows: &[KeyRow]) -> Table {
    let mut table = Table::default();
    table.text("file", "The file with the key, in the directory", rows.iter().map(|row| row.file.clone()));
    let about = "The memory that the run needs, as `check` predicts it; the program takes some 100 MiB more";
    table.count("memory_bytes", UnitOfMeasure::Bytes, about, rows.iter().map(|row| row.memory_bytes));
    let about = "The predicted time of the run; empty if nothing is known of it, 0 if its result is in the store";
    table.number("time_s", UnitOfMeasure::Seconds, about, rows.iter().map(|row| row.seconds));
    let requests = rows.iter().map(|row| row.requests.map(|requests| requests as f64));
    table.number("requests", UnitOfMeasure::None, "Its requests; empty if the study does not say them", requests);
    let stored = rows.iter().map(|row| u64::from(row.stored));
    table.count("stored", UnitOfMeasure::None, "1 if the result is in the store, else 0", stored);
    table.text("study", "The study's name", rows.iter().map(|row| row.study.clone()));
    table.text(
        "point",
        "The point's labels, each behind the name of its axis",
        rows.iter().map(|row| row.point.clone()),
    );
    table.count("seed", UnitOfMeasure::None, "The seed of the run", rows.iter().map(|row| row.seed));
    table
}
