//! Writes the files about studies into a folder.

use std::io::{self, Write};

use study::execute::{Claim, Program, StudyOutcome, json};
use study::output::{OutFolder, OutputError, STUDY_MARK, TEXT};
use study::plan::{Plan, StudySpec};
use study::summary::Provenance;

use super::points::points;
use super::series::series;
use super::tables::claims_table;
use crate::columns::whole;
use crate::page::Page;

const CLAIMS: &str = "claims.txt";
const PAGE: &str = "report.html";

/// The end of the name of the file with the course of the runs.
const SERIES: &str = "series.parquet";

/// The name of a file about one study.
fn name(spec: &StudySpec, extension: &str) -> String {
    format!("{}.{extension}", spec.name.replace('/', "-"))
}

/// The names of all files about these studies.
#[must_use]
pub fn names(plans: &[Plan]) -> Vec<String> {
    let each = plans.iter().flat_map(|plan| ["toml", "parquet", SERIES].map(|extension| name(&plan.spec, extension)));
    [STUDY_MARK, CLAIMS, PAGE].map(ToOwned::to_owned).into_iter().chain(each).collect()
}

/// Fills a folder with all results of the studies: `study.json`, `claims.txt`, the page as `report.html`, and for each
/// study its points as Parquet, the course of its runs if the study asks for it, and the study itself as TOML.
///
/// # Errors
///
/// If a file cannot be written.
pub fn write_all(
    dir: &mut OutFolder,
    program: &Program,
    outcomes: &[StudyOutcome],
    claims: &[Claim],
    page: &Page,
) -> Result<(), OutputError> {
    dir.add(STUDY_MARK, |out| out.write_all(json(program, outcomes, claims).as_bytes()))?;
    dir.add(CLAIMS, |out| write!(out, "{TEXT}{}", claims_table(claims)))?;
    dir.add(PAGE, |out| out.write_all(page.html().as_bytes()))?;
    for outcome in outcomes {
        let spec = &outcome.plan.spec;
        let config = toml::Table::try_from(spec).expect("a study can be written");
        dir.add(&name(spec, "toml"), |out| write!(out, "{TEXT}{config}"))?;
        let about = Provenance {
            version: program.version.clone(),
            commit: program.commit.clone(),
            seed: spec.seeds.first().copied().unwrap_or_default(),
            device: spec.device.display().to_string(),
            workload: spec.workload.display().to_string(),
            cost: None,
            array: None,
            config,
        };
        dir.add(&name(spec, "parquet"), |out| whole(out, &about, &points(outcome)).map_err(io::Error::other))?;
        if let Some(series) = series(outcome) {
            dir.add(&name(spec, SERIES), |out| whole(out, &about, &series).map_err(io::Error::other))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::{self, File};

    use parquet::file::reader::{FileReader, SerializedFileReader};
    use study::config::Document;
    use study::execute::claims;
    use study::output::{Outputs, publish};
    use testkit::small::{CLAIMS, STUDY};

    use super::*;
    use crate::grid::WIDTH;
    use crate::study_report::{Charts, page};
    use crate::testing::studied;

    #[test]
    fn the_course_of_the_runs_is_a_file_beside_the_points() {
        let outcomes = [studied(&STUDY.replace("limit = 150", "limit = 150, series = \"1ms\""))];
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("out");
        let plans = [outcomes[0].plan.clone()];
        for _ in 0..2 {
            let mut outputs = Outputs::new([""; 0], false);
            let mut out = outputs.folder("--out", &path, &names(&plans)).expect("writable");
            let page = page(&Program::default(), &outcomes, &[], Charts::Each);
            write_all(&mut out, &Program::default(), &outcomes, &[], &page).expect("written");
            publish(Vec::new(), Some(out)).expect("named");
        }
        let file = File::open(path.join("s.series.parquet")).expect("there");
        let reader = SerializedFileReader::new(file).expect("Parquet");
        let runs = outcomes[0].runs.iter().flatten();
        let intervals: usize = runs.map(|run| run.series.as_ref().expect("recorded").intervals.len()).sum();
        assert_eq!(reader.metadata().file_metadata().num_rows(), intervals as i64);
        assert!(reader.get_row_iter(None).expect("rows").all(|row| row.is_ok()));
    }

    #[test]
    fn the_folder_of_a_study_holds_its_claims() {
        let outcomes = [studied(&[STUDY, CLAIMS].concat())];
        let claims = claims(&outcomes);
        let text = claims_table(&claims);
        for wanted in ["2 claims: 1 hold, 1 FAIL", "they do not", "B1 "] {
            assert!(text.contains(wanted), "{text}");
        }
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH), "{text}");

        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("out");
        let plans = [outcomes[0].plan.clone()];
        let mut outputs = Outputs::new([""; 0], false);
        let mut out = outputs.folder("--out", &path, &names(&plans)).expect("writable");
        let page = page(&Program::default(), &outcomes, &claims, Charts::Each);
        write_all(&mut out, &Program::default(), &outcomes, &claims, &page).expect("written");
        publish(Vec::new(), Some(out)).expect("named");
        let mut there: Vec<_> =
            fs::read_dir(&path).expect("there").map(|entry| entry.expect("an entry").file_name()).collect();
        there.sort();
        assert_eq!(there, ["claims.txt", "report.html", "s.parquet", "s.toml", "study.json"]);
        let text = fs::read_to_string(path.join("study.json")).expect("there");
        assert_eq!(text, json(&Program::default(), &outcomes, &claims));
        let reader = SerializedFileReader::new(File::open(path.join("s.parquet")).expect("there")).expect("Parquet");
        assert_eq!(reader.metadata().file_metadata().num_rows(), 6);
        assert!(reader.get_row_iter(None).expect("rows").all(|row| row.is_ok()));
        assert!(!path.join("s.series.parquet").exists(), "nobody asked for it");
        // The written study equals the study that ran.
        let written = Document::read(&path.join("s.toml")).expect("TOML").decode::<StudySpec>();
        assert_eq!(written.expect("sound"), outcomes[0].plan.spec);
    }
}
