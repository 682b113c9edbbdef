//! The columns of every Parquet file and their meaning: the reference page is generated from it.

use base::io::IoKind;
use study::metric::{Entry, catalogue as metrics};

use crate::study_report::{ALWAYS, column_name};

/// A Parquet file.
#[derive(Clone, Debug)]
pub struct FileColumns {
    /// Its name; of one that the user names, the option.
    pub name: &'static str,
    /// What writes it, and what a row is.
    pub about: &'static str,
    /// Its columns.
    pub columns: Vec<ColumnMeaning>,
}

/// A column and its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ColumnMeaning {
    /// Its name. `KIND` stands for the kind of request, `AXIS` and `METRIC` for those of a study.
    pub name: String,
    /// What its values are.
    pub values: Values,
    /// Its meaning.
    pub meaning: String,
}

/// The values of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Values {
    /// Unsigned whole numbers of 64 bits.
    Count,
    /// Numbers; empty where there is none.
    Number,
    /// Texts.
    Text,
}

impl Values {
    /// As a reference page has it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Count => "whole number",
            Self::Number => "number or empty",
            Self::Text => "text",
        }
    }
}

impl ColumnMeaning {
    /// The columns that the name stands for: one for each kind of request.
    #[must_use]
    pub fn names(&self) -> Vec<String> {
        let kinds = IoKind::ALL.into_iter().filter(|kind| *kind != IoKind::Flush || !self.name.contains("bytes"));
        match self.name.contains("KIND") {
            true => kinds.map(|kind| self.name.replace("KIND", kind.name())).collect(),
            false => vec![self.name.clone()],
        }
    }
}

type Column = (&'static str, Values, &'static str);

const REQUESTS: [Column; 14] = [
    ("request", Values::Count, "Number of the request, from zero, in the order of arrival"),
    ("kind", Values::Text, "`read`, `write`, `flush` or `discard`"),
    ("start_sector", Values::Count, "First sector of 512 bytes"),
    ("sectors", Values::Count, "Number of sectors"),
    ("outcome", Values::Text, "`done`, `uncorrectable`, `read_only` or `out_of_range`"),
    ("arrival_ps", Values::Count, "Submission, in picoseconds of simulated time"),
    ("start_ps", Values::Count, "When it left its submission queue, in picoseconds"),
    ("end_ps", Values::Count, "Completion, in picoseconds"),
    ("queue_wait_ps", Values::Count, "`start_ps` less `arrival_ps`"),
    ("flash_commands", Values::Count, "Flash commands issued for it before its acknowledgement"),
    ("flash_wait_ps", Values::Count, "The longest wait of one of them, in picoseconds"),
    (
        "waited_for_mask",
        Values::Count,
        "Bit n is set if it waited behind commands of the n-th cause: 0 host, 1 gc, 2 merge, 3 wear, 4 map, 5 flush, 6 pad, \
         7 recovery",
    ),
    ("flow", Values::Count, "Number of its flow, from zero"),
    ("queue", Values::Count, "Number of its submission queue, from zero"),
];

const LATENCIES: [Column; 4] = [
    ("kind", Values::Text, "`read`, `write`, `flush` or `discard`"),
    ("metric", Values::Text, "`latency`, `queue_wait` or `service`"),
    ("up_to_ps", Values::Count, "Upper edge of the bin, in picoseconds"),
    ("count", Values::Count, "Requests in the bin"),
];

const ERASES: [Column; 2] = [
    ("block", Values::Count, "Number of the block, from zero"),
    ("erases", Values::Count, "Times that it was erased, those of preconditioning included"),
];

const SERIES: [Column; 19] = [
    ("from_ps", Values::Count, "Begin of the interval, in picoseconds of simulated time"),
    ("to_ps", Values::Count, "End of the interval"),
    ("KIND_requests", Values::Count, "Requests completed"),
    ("KIND_bytes_per_s", Values::Number, "Bytes per second; there is none of flushes"),
    ("KIND_latency_mean_us", Values::Number, "Mean response time in microseconds"),
    ("KIND_latency_max_us", Values::Number, "Longest response time in microseconds"),
    (
        "write_amplification",
        Values::Number,
        "Mapping units programmed per mapping unit that the host wrote and no buffer absorbed",
    ),
    ("link_busy", Values::Number, "Share of the interval for which the host link was busy"),
    ("channels_busy", Values::Number, "The same, mean over the channels"),
    ("dies_busy", Values::Number, "The same, mean over the dies"),
    ("controllers_busy", Values::Number, "The same, mean over the controllers"),
    ("ftl_busy", Values::Number, "The same of the map unit, as the metric `busy.ftl`"),
    ("processor_busy", Values::Number, "The same of the processor"),
    ("flash_reads", Values::Count, "Flash reads"),
    ("flash_programs", Values::Count, "Flash programs"),
    ("flash_erases", Values::Count, "Flash erases"),
    ("flash_copy_backs", Values::Count, "Copy-backs"),
    ("free_blocks", Values::Count, "Free blocks at the end of the interval"),
    ("bad_blocks", Values::Count, "Bad blocks at the end of the interval"),
];

const TRACE: [Column; 5] = [
    ("at_ps", Values::Count, "Arrival, in picoseconds from the first request"),
    ("kind", Values::Text, "`read`, `write`, `flush` or `discard`"),
    ("lba", Values::Count, "First sector of 512 bytes"),
    ("sectors", Values::Count, "Number of sectors"),
    ("volume", Values::Text, "The volume, as the trace names it; a reader takes files without it"),
];

fn columns(all: &[Column]) -> Vec<ColumnMeaning> {
    let column = |(name, values, meaning): &Column| ColumnMeaning {
        name: (*name).to_owned(),
        values: *values,
        meaning: (*meaning).to_owned(),
    };
    all.iter().map(column).collect()
}

/// What every file of points has, besides what its study names.
fn points() -> Vec<ColumnMeaning> {
    let known: Vec<_> = metrics().into_iter().flat_map(|group| group.entries).collect();
    let mut all = columns(&[
        ("AXIS", Values::Text, "The label of the point on an axis; one column for each axis of the study"),
        ("seed", Values::Count, "The seed of the run"),
        (
            "METRIC",
            Values::Number,
            "A metric that the study names, in microseconds, bytes or requests per second, joules; what is neither letter nor \
             digit becomes `_`",
        ),
    ]);
    all.extend(ALWAYS.iter().map(|name| {
        let of_kind = name.split_once('.').map(|(_, stat)| format!("KIND.{stat}"));
        let is = |entry: &&Entry| entry.name == *name || Some(&entry.name) == of_kind.as_ref();
        let meaning = known.iter().find(is).map_or("", |entry| entry.meaning);
        ColumnMeaning {
            name: column_name(name),
            values: Values::Number,
            meaning: format!("The metric `{name}`: {}", lower(meaning)),
        }
    }));
    all
}

/// With a small letter at its beginning.
fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_lowercase().chain(letters).collect())
}

/// Every Parquet file that Flashloom writes.
#[must_use]
pub fn files() -> Vec<FileColumns> {
    let file = |name, about, columns| FileColumns { name, about, columns };
    vec![
        file(
            "--requests FILE",
            "`run` writes it: a row for each request, in the order of completion.",
            columns(&REQUESTS),
        ),
        file(
            "latencies.parquet",
            "`run --out DIR` writes it: a row for each bin of each histogram that is not empty.",
            columns(&LATENCIES),
        ),
        file("series.parquet", "`run --out DIR` writes it: a row for each interval of the run.", columns(&SERIES)),
        file("erases.parquet", "`run --out DIR` writes it: a row for each block of the array.", columns(&ERASES)),
        file("STUDY.parquet", "`study --out DIR` and `reproduce --out DIR` write it: a row for each run.", points()),
        file(
            "Traces",
            "`trace convert` writes it, every command that takes a trace reads it: a row for each request.",
            columns(&TRACE),
        ),
    ]
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fs::File;
    use std::path::Path;

    use parquet::basic::Type;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use study::summary::About;
    use testkit::small;

    use super::*;
    use crate::columns::{self as written, write_erases, write_histograms, write_series};
    use crate::testing::{settled, studied};

    type Names = BTreeMap<String, Values>;

    fn listed(name: &str) -> Names {
        let all = files();
        let file = all.iter().find(|file| file.name == name).expect("a file of this name");
        assert!(file.columns.iter().all(|column| !column.meaning.is_empty()));
        file.columns.iter().flat_map(|column| column.names().into_iter().map(|name| (name, column.values))).collect()
    }

    /// The columns of a file that was written.
    fn of(write: impl FnOnce(File) -> parquet::errors::Result<()>) -> Names {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("f.parquet");
        write(File::create(&path).expect("writable")).expect("written");
        columns_of(&path)
    }

    fn columns_of(path: &Path) -> Names {
        let reader = SerializedFileReader::new(File::open(path).expect("there")).expect("Parquet");
        let fields = reader.metadata().file_metadata().schema().get_fields();
        let field = |field: &parquet::schema::types::TypePtr| {
            let values = match field.get_physical_type() {
                Type::INT64 => Values::Count,
                Type::DOUBLE => Values::Number,
                _ => Values::Text,
            };
            (field.name().to_owned(), values)
        };
        fields.iter().map(field).collect()
    }

    #[test]
    fn every_column_that_is_written_is_listed() {
        let (about, result) = (About::default(), settled(small::mixed()));
        assert_eq!(listed("latencies.parquet"), of(|out| write_histograms(out, &about, &result)));
        assert_eq!(listed("series.parquet"), of(|out| write_series(out, &about, &result)));
        assert_eq!(listed("erases.parquet"), of(|out| write_erases(out, &about, &[1, 2])));
        let columns = crate::requests::columns(&[]);
        assert_eq!(listed("--requests FILE"), of(|out| written::whole(out, &about, &columns)));
        let recorded = concat!(env!("CARGO_MANIFEST_DIR"), "/../../workloads/recorded/programs.parquet");
        assert_eq!(listed("Traces"), columns_of(Path::new(recorded)));
    }

    #[test]
    fn every_column_of_a_study_is_listed() {
        let outcome = studied(small::STUDY);
        let written = of(|out| crate::study_report::write_points(out, &About::default(), &outcome));
        let listed = listed("STUDY.parquet");
        let metrics = outcome.plan.spec.metrics.iter().map(|metric| column_name(&metric.to_string()));
        let own: Vec<String> = outcome.axes().map(column_name).chain(metrics).collect();
        for name in written.keys() {
            assert!(listed.contains_key(name) || own.contains(name), "{name}");
        }
        for name in listed.keys().filter(|name| !["AXIS", "METRIC"].contains(&name.as_str())) {
            assert!(written.contains_key(name), "{name}");
        }
    }
}
