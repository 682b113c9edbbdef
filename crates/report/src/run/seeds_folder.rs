//! The folder with the results of a run with several seeds.

use std::io::{self, Write};
use std::path::PathBuf;

use study::execute::Program;
use study::output::{MARK, OutFolder, OutputError, TEXT};
use study::repeat::RepeatedRuns;
use study::summary::{Provenance, Summary};

use super::rerun;
use super::seeds::{seeds_rows, seeds_table};
use super::seeds_page::seeds_page;
use crate::columns::whole;
use crate::study_report;
use crate::table::Table;

const PAGE: &str = "report.html";

/// The names of the files that every run with several seeds has.
const NAMES: [&str; 6] = ["config.toml", PAGE, "seeds.parquet", "seeds.series.parquet", "table.txt", MARK];

/// All names that the files of a run with several seeds may have, with `flows` flows beside the first.
#[must_use]
pub fn seeds_names(flows: usize) -> Vec<String> {
    NAMES.map(ToOwned::to_owned).into_iter().chain(rerun::names(flows)).collect()
}

/// Writes all files about the runs. `about` is the provenance of the run with the first seed. Returns the path of the
/// page.
///
/// # Errors
///
/// If a file cannot be written.
pub fn seeds_fill(folder: &mut OutFolder, about: &Provenance, stages: &[RepeatedRuns]) -> Result<PathBuf, OutputError> {
    let seeds = stages.first().map_or(0, |of| of.seeds.len());
    for (name, text) in rerun::files_with(about, &["--seeds".to_owned(), seeds.to_string()]) {
        folder.add(&name, |out| write!(out, "{TEXT}{text}"))?;
    }
    let tables: Vec<Table> = stages.iter().map(seeds_rows).collect();
    let metrics = Table::stacked(&tables);
    folder.add("seeds.parquet", |out| whole(out, about, &metrics).map_err(io::Error::other))?;
    let runs: Vec<&Summary> = stages.iter().flat_map(|of| &of.runs).collect();
    if let Some(series) = study_report::series_of(&runs) {
        folder.add("seeds.series.parquet", |out| whole(out, about, &series).map_err(io::Error::other))?;
    }
    let program = Program { version: about.version.clone(), commit: about.commit.clone() };
    folder.add("config.toml", |out| write!(out, "{TEXT}{}", about.config))?;
    folder.add(PAGE, |out| out.write_all(seeds_page(&program, stages).html().as_bytes()))?;
    let text: Vec<String> = stages.iter().map(seeds_table).collect();
    folder.add("table.txt", |out| write!(out, "{TEXT}{}", text.join("\n")))?;
    folder.add(MARK, |out| out.write_all(RepeatedRuns::json(stages).as_bytes()))?;
    Ok(folder.shown().join(PAGE))
}
