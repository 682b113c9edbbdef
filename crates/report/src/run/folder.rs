//! The folder with all results of a run.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use study::output::{MARK, OutFolder, OutputError, TEXT};
use study::summary::{Report, Summary};

use super::page::page;
use super::rerun;
use super::table::table;
use crate::columns::{write_busy, write_erases, write_flow_series, write_histograms, write_life, write_series};

const PAGE: &str = "report.html";

/// The names of all files that a stage may have.
const NAMES: [&str; 10] = [
    "busy.parquet",
    "config.toml",
    "erases.parquet",
    "latencies.parquet",
    "life.parquet",
    PAGE,
    "series-flows.parquet",
    "series.parquet",
    "table.txt",
    MARK,
];

fn stage(number: usize) -> String {
    format!("stage-{number}/")
}

/// All names that the files of a run may have, with `stages` stages and `flows` flows beside the first.
#[must_use]
pub fn names(stages: usize, flows: usize) -> Vec<String> {
    let inside = |folder: String| NAMES.map(|name| format!("{folder}{name}"));
    let all: Vec<_> = match stages {
        1 => inside(String::new()).to_vec(),
        _ => (1..=stages).flat_map(|number| inside(stage(number))).chain([MARK.to_owned()]).collect(),
    };
    all.into_iter().chain(rerun::names(flows)).collect()
}

/// Writes all files about a run into its folder. If there are several stages, each has a folder of its own inside.
/// Returns the path of the first HTML page.
///
/// # Errors
///
/// If a file cannot be written.
pub fn fill(folder: &mut OutFolder, stages: &[(Report<'_>, &Summary)]) -> Result<PathBuf, OutputError> {
    for (name, text) in stages.first().map(|(report, _)| rerun::files(report.about)).into_iter().flatten() {
        folder.add(&name, |out| write!(out, "{TEXT}{text}"))?;
    }
    if let [(report, summary)] = stages {
        fill_stage(folder, "", report, summary)?;
        return Ok(folder.shown().join(PAGE));
    }
    for (number, (report, summary)) in (1..).zip(stages) {
        fill_stage(folder, &stage(number), report, summary)?;
    }
    let summaries: Vec<Summary> = stages.iter().map(|(_, summary)| (*summary).clone()).collect();
    folder.add(MARK, |out| out.write_all(Summary::json(&summaries).as_bytes()))?;
    Ok(folder.shown().join(Path::new("stage-1")).join(PAGE))
}

fn fill_stage(folder: &mut OutFolder, inside: &str, report: &Report<'_>, summary: &Summary) -> Result<(), OutputError> {
    let Report { about, result, erase_counts, power_draw, .. } = report;
    let name = |name: &str| format!("{inside}{name}");
    folder.add(&name("latencies.parquet"), |out| write_histograms(out, about, result).map_err(io::Error::other))?;
    folder
        .add(&name("series.parquet"), |out| write_series(out, about, result, *power_draw).map_err(io::Error::other))?;
    folder.add(&name("busy.parquet"), |out| write_busy(out, about, result).map_err(io::Error::other))?;
    if !result.flows.is_empty() && result.detailed.is_some() {
        let name = name("series-flows.parquet");
        folder.add(&name, |out| write_flow_series(out, about, result).map_err(io::Error::other))?;
    }
    if !erase_counts.is_empty() {
        folder.add(&name("erases.parquet"), |out| write_erases(out, about, erase_counts).map_err(io::Error::other))?;
    }
    if let Some(life) = report.life {
        folder.add(&name("life.parquet"), |out| write_life(out, about, life).map_err(io::Error::other))?;
    }
    folder.add(&name("config.toml"), |out| write!(out, "{TEXT}{}", about.config))?;
    folder.add(&name(PAGE), |out| out.write_all(page(&[(*report, summary)]).html().as_bytes()))?;
    folder.add(&name("table.txt"), |out| write!(out, "{TEXT}{}", table(summary)))?;
    folder.add(&name(MARK), |out| out.write_all(Summary::json(std::slice::from_ref(summary)).as_bytes()))
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use parquet::file::reader::{FileReader, SerializedFileReader};
    use study::output::{Outputs, publish};
    use testkit::small;

    use super::*;
    use crate::testing::{reported, settled};

    #[test]
    fn a_result_folder_holds_every_file() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("result");
        let result = settled(small::mixed());
        for round in 0..2 {
            let mut outputs = Outputs::new([""; 0], false);
            let mut folder = outputs.folder("--out", &path, &super::names(1, 0)).expect("writable");
            let page = reported(&result, &[1, 2, 3], |report, summary| fill(&mut folder, &[(report, summary)]));
            assert_eq!(page.expect("written"), path.join(PAGE));
            let notes = publish(Vec::new(), Some(folder)).expect("named");
            assert_eq!(notes.len(), round, "{notes:?}");
        }
        assert_eq!(testkit::names(dir.path()), ["result"]);
        let wanted = [
            "busy.parquet",
            "config.toml",
            "erases.parquet",
            "latencies.parquet",
            "report.html",
            "series.parquet",
            "summary.json",
            "table.txt",
        ];
        assert_eq!(testkit::names(&path), wanted);

        let open =
            |name: &str| SerializedFileReader::new(File::open(path.join(name)).expect("there")).expect("Parquet");
        let rows = |name: &str| open(name).metadata().file_metadata().num_rows() as usize;
        assert_eq!(rows("erases.parquet"), 3);
        assert_eq!(rows("series.parquet"), result.series.intervals().len());
        // Four servers, each of which counts as a channel and a die.
        assert_eq!(rows("busy.parquet"), 8 * result.series.intervals().len());
        assert!(open("series.parquet").get_row_iter(None).expect("rows").all(|row| row.is_ok()));
        let json: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(path.join(MARK)).expect("there")).expect("JSON");
        assert_eq!(
            (json["seed"].as_u64(), json["kinds"]["read"]["latency_us"]["p50"].as_f64()),
            (Some(7), Some(200.0))
        );
    }
}
