//! The files of results and the columns of every table in them: `flashloom schema results` and the reference page are
//! generated from it.

use serde::Serialize;
use workload::field::{Field, UnitOfMeasure, Values};
use workload::trace::{self, RECORDED};

use crate::columns::{busy, erases, flow_series, histograms, life, series};
use crate::requests;
use crate::run::seeds_fields;
use crate::study_report;

/// A file that a run or a study writes, with its format and its meaning.
#[derive(Clone, Debug)]
pub struct ResultFile {
    /// The file's name; for a file that the user names, the option.
    pub name: &'static str,
    /// The command that writes the file, and its content.
    pub about: &'static str,
    /// The name for `flashloom schema` that describes the file, if it is JSON.
    pub schema: Option<&'static str>,
    /// The columns of the file, if it is a table.
    pub columns: Vec<Field>,
}

/// Every Parquet file that Flashloom writes.
#[must_use]
pub fn tables() -> Vec<ResultFile> {
    let file = |name, about, columns| ResultFile { name, about, schema: None, columns };
    vec![
        file(
            "--requests FILE",
            "`run` writes it: a row for each request, in the order of completion.",
            requests::table(&[]).fields(),
        ),
        file(
            "latencies.parquet",
            "`run --out DIR` writes it: a row for each bin of each histogram that is not empty.",
            histograms(&[]).fields(),
        ),
        file(
            "series.parquet",
            "`run --out DIR` writes it: a row for each interval of the run.",
            series(&[], None).fields(),
        ),
        file(
            "busy.parquet",
            "`run --out DIR` writes it: a row for each channel and each die in each interval of the run.",
            busy(&[]).fields(),
        ),
        file(
            "series-flows.parquet",
            "`run --flow ... --out DIR` writes it: a row for each flow in each interval of the run.",
            flow_series(&[], &[]).fields(),
        ),
        file("erases.parquet", "`run --out DIR` writes it: a row for each block of the array.", erases(&[]).fields()),
        file(
            "life.parquet",
            "`run --until worn --out DIR` writes it: a row for each point of the curve over the drive's life.",
            life(&[]).fields(),
        ),
        file(
            "STUDY.parquet",
            "`study --out DIR`, `reproduce --out DIR` and `compare --out DIR` write it: a row for each run. `study --csv` prints the same.",
            study_report::fields(),
        ),
        file(
            "seeds.parquet",
            "`run --seeds N --out DIR` writes it: a row for each metric; `SEED` stands for the seeds. `run --seeds N --csv` prints the same.",
            seeds_fields(),
        ),
        file(
            "seeds.series.parquet",
            "`run --seeds N --series INTERVAL --out DIR` writes it: a row for each interval of the run with each seed.",
            study_report::series_fields().into_iter().filter(|field| field.name != "AXIS").collect(),
        ),
        file(
            "STUDY.series.parquet",
            "`study --out DIR` and the like write it for a study with `[run] series`: a row for each interval of each run.",
            study_report::series_fields(),
        ),
        file(
            "Traces",
            "`trace convert` writes it, every command that takes a trace reads it: a row for each request.",
            trace::FIELDS.to_vec(),
        ),
        file(
            "Recordings",
            "`serve --record` writes it, every command that takes a trace reads it: a row for each request of the drive.",
            RECORDED.to_vec(),
        ),
    ]
}

/// Every file that Flashloom writes.
#[must_use]
pub fn files() -> Vec<ResultFile> {
    let file = |name, about, schema| ResultFile { name, about, schema, columns: Vec::new() };
    let mut all = tables();
    all.extend([
        file("summary.json", "`run --out DIR` writes it: what `run --json` prints.", Some("result")),
        file(
            "study.json",
            "`study`, `reproduce` and `compare` with `--out DIR` write it: what `study --json` prints.",
            Some("study-result"),
        ),
        file("table.txt", "`run --out DIR` writes it: what `run` prints.", None),
        file(
            "claims.txt",
            "`study --out DIR` and `reproduce --out DIR` write it: the claims beside the measurements.",
            None,
        ),
        file("config.toml", "`run --out DIR` writes it: the resolved device, workload and run.", None),
        file("device.toml", "`run --out DIR` writes it: the device, for the command in `command.txt`.", Some("device")),
        file(
            "workload.toml",
            "`run --out DIR` writes it if the workload is generated: the workload, for the command in `command.txt`.",
            Some("workload"),
        ),
        file("command.txt", "`run --out DIR` writes it: the command that gives the same result.", None),
        file("STUDY.toml", "`study --out DIR` and `reproduce --out DIR` write it: the study that ran.", Some("study")),
        file("report.html", "`--out DIR` and `--report FILE` write it: charts and numbers on one page.", None),
        file("--junit FILE", "`study` and `reproduce` write it: a test case for each claim, as JUnit XML.", None),
        file("--timeline FILE", "`run` writes it: a window of the run for Perfetto.", None),
        file("--save-snapshot FILE", "`run` writes it: the state of the drive after preconditioning.", None),
    ]);
    all
}

/// Version of the keys; higher after a key has changed its meaning or disappeared.
const SCHEMA: &str = "flashloom-files-1";

/// The files as `flashloom schema results` prints them.
#[derive(Serialize)]
struct Files {
    schema: &'static str,
    title: &'static str,
    files: Vec<CatalogueFile>,
}

#[derive(Serialize)]
struct CatalogueFile {
    name: &'static str,
    description: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    schema: Option<&'static str>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    columns: Vec<CatalogueColumn>,
}

#[derive(Serialize)]
struct CatalogueColumn {
    name: String,
    #[serde(rename = "type")]
    of: &'static str,
    #[serde(skip_serializing_if = "str::is_empty")]
    unit: &'static str,
    description: String,
}

/// The description of these files as JSON, indented, with a newline at its end.
///
/// # Panics
/// Never: every value can be written as JSON.
#[must_use]
pub fn json(files: Vec<ResultFile>) -> String {
    let column = |Field { name, values, unit, meaning }: Field| CatalogueColumn {
        name: name.into_owned(),
        of: match values {
            Values::Count => "uint64",
            Values::Number => "double",
            Values::Text => "string",
        },
        unit: if unit == UnitOfMeasure::None { "" } else { unit.symbol() },
        description: meaning.into_owned(),
    };
    let files = files.into_iter().map(|ResultFile { name, about, schema, columns }| CatalogueFile {
        name,
        description: about,
        schema,
        columns: columns.into_iter().map(column).collect(),
    });
    let title =
        "The files that Flashloom writes. `schema` names the argument of `flashloom schema` that describes a file.";
    let all = Files { schema: SCHEMA, title, files: files.collect() };
    serde_json::to_string_pretty(&all).expect("texts and lists") + "\n"
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::path::Path;

    use parquet::basic::Type;
    use parquet::file::metadata::FileMetaData;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use study::summary::Provenance;
    use testkit::small;

    use super::*;
    use crate::columns::{whole, write_busy, write_erases, write_flow_series, write_histograms, write_series};
    use crate::run;
    use crate::testing::{recorded_flows, settled, studied};

    fn listed(name: &str) -> Vec<Field> {
        tables().into_iter().find(|file| file.name == name).expect("a file of this name").columns
    }

    /// The footer of a Parquet file that was written.
    fn footer(path: &Path) -> FileMetaData {
        let reader = SerializedFileReader::new(File::open(path).expect("there")).expect("Parquet");
        reader.metadata().file_metadata().clone()
    }

    /// Checks that a file has these columns, of these types, with a description for each.
    fn has(path: &Path, wanted: &[Field]) {
        let footer = footer(path);
        let fields = footer.schema().get_fields();
        let names: Vec<&str> = fields.iter().map(|field| field.name()).collect();
        assert_eq!(names, wanted.iter().map(|field| &*field.name).collect::<Vec<_>>());
        let said = footer.key_value_metadata().expect("metadata");
        let value = |key: &str| said.iter().find(|entry| entry.key == key).and_then(|entry| entry.value.as_deref());
        assert!(value("ARROW:schema").is_some_and(|text| text.len() > 100));
        for (written, field) in fields.iter().zip(wanted) {
            let values = match written.get_physical_type() {
                Type::INT64 => Values::Count,
                Type::DOUBLE => Values::Number,
                _ => Values::Text,
            };
            assert_eq!(values, field.values, "{}", field.name);
            let about = value(&format!("flashloom.column.{}", field.name)).expect("a description");
            assert!(about.starts_with(&*field.meaning) && about.len() > 5, "{}: {about}", field.name);
            assert_eq!(
                about.ends_with(&format!("[{}]", field.unit.symbol())),
                field.unit != UnitOfMeasure::None,
                "{about}"
            );
        }
    }

    fn written(wanted: &[Field], write: impl FnOnce(File) -> parquet::errors::Result<()>) {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("f.parquet");
        write(File::create(&path).expect("writable")).expect("written");
        has(&path, wanted);
    }

    #[test]
    fn every_file_has_the_columns_that_are_listed() {
        let (about, result) = (Provenance::default(), settled(small::mixed()));
        written(&listed("latencies.parquet"), |out| write_histograms(out, &about, &result));
        written(&listed("series.parquet"), |out| write_series(out, &about, &result, None));
        written(&listed("busy.parquet"), |out| write_busy(out, &about, &result));
        let flows = recorded_flows();
        written(&listed("series.parquet"), |out| write_series(out, &about, &flows, None));
        written(&listed("series-flows.parquet"), |out| write_flow_series(out, &about, &flows));
        written(&listed("erases.parquet"), |out| write_erases(out, &about, &[1, 2]));
        written(&listed("life.parquet"), |out| whole(out, &about, &life(&[])));
        written(&listed("--requests FILE"), |out| whole(out, &about, &requests::table(&[])));
        let dir = tempfile::tempdir().expect("a directory");
        let (from, to) = (dir.path().join("t.csv"), dir.path().join("t.parquet"));
        std::fs::write(&from, "0,0,512,w,1.0\n0,8,4096,r,1.5\n").expect("written");
        let options = workload::trace::TraceOptions::default();
        workload::trace::convert(&from, &File::create(&to).expect("writable"), &to, &options).expect("converted");
        has(&to, &listed("Traces"));
    }

    #[test]
    fn every_column_of_a_study_is_listed() {
        let outcome = studied(small::STUDY);
        let table = study_report::points(&outcome);
        written(&table.fields(), |out| whole(out, &Provenance::default(), &table));
        let listed = listed("STUDY.parquet");
        let of = |name: &str| listed.iter().find(|field| field.name == name);
        let own = outcome.plan.axes.len() + 1 + outcome.plan.spec.metrics.len();
        for (i, field) in table.fields().iter().enumerate() {
            assert!(of(&field.name).is_some_and(|listed| listed == field) || i < own, "{}", field.name);
        }
        for field in listed.iter().filter(|field| !["AXIS", "METRIC"].contains(&&*field.name)) {
            assert!(table.has(&field.name), "{}", field.name);
        }
    }

    #[test]
    fn every_column_of_the_course_of_a_study_is_listed() {
        let text = small::STUDY.replace("limit = 150", "limit = 150, series = \"1ms\"");
        let outcome = studied(&text);
        let table = study_report::series(&outcome).expect("recorded");
        written(&table.fields(), |out| whole(out, &Provenance::default(), &table));
        let listed = listed("STUDY.series.parquet");
        let fields = table.fields();
        let own = &fields[outcome.plan.axes.len()..];
        let all: Vec<&Field> =
            listed.iter().filter(|of| of.name != "AXIS" && !of.name.starts_with("flow_FLOW")).collect();
        assert_eq!(all, own.iter().collect::<Vec<_>>());
    }

    #[test]
    fn names_and_meanings_are_unlike() {
        for file in tables() {
            for (i, field) in file.columns.iter().enumerate() {
                assert!(!field.meaning.is_empty(), "{}: {}", file.name, field.name);
                assert!(
                    file.columns[..i].iter().all(|other| other.name != field.name),
                    "{}: {}",
                    file.name,
                    field.name
                );
                let end = field.unit.suffix();
                assert!(
                    field.name.ends_with(end) || field.name.contains(&format!("{end}_")),
                    "{}: {}",
                    file.name,
                    field.name
                );
            }
        }
    }

    #[test]
    fn every_file_of_a_folder_is_listed() {
        let all = files();
        let plans = [studied(small::STUDY).plan];
        let of_study = study_report::names(&plans)
            .into_iter()
            .map(|name| name.replacen("s.", "STUDY.", usize::from(name.starts_with("s."))));
        for name in run::names(1, 0).into_iter().chain(of_study) {
            assert!(all.iter().any(|file| file.name == name), "{name}");
        }
    }
}
