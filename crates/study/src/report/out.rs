//! A directory with everything about a run, and the page alone.

use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::stage::{Stage, StageError, StagedFile};
use super::{Page, Report, Summary, page, rerun, table, write_erases, write_histograms, write_series};

/// The file by which a directory is known to hold the result of a run.
const MARK: &str = "summary.json";

/// The same for studies.
pub(crate) const STUDY_MARK: &str = "study.json";

/// The page to look at.
const PAGE: &str = "report.html";

/// The directory of `--out`: prepared before the run, so that a place that cannot be written is known
/// at once, and named when everything is in it.
#[derive(Debug)]
pub struct OutDir {
    stage: Stage,
}

impl OutDir {
    /// Prepares the directory that will be `path`.
    ///
    /// # Errors
    /// If it cannot be created, or if something is there that is not an earlier result.
    pub fn create(path: &Path) -> Result<Self, StageError> {
        let taken = |reason: &str| StageError {
            path: path.to_owned(),
            reason: reason.to_owned(),
            remedy: "choose another name, or remove it",
        };
        if path.is_file() {
            return Err(taken("is a file"));
        }
        if let Ok(mut entries) = fs::read_dir(path)
            && entries.next().is_some()
            && ![MARK, STUDY_MARK].iter().any(|mark| path.join(mark).is_file())
        {
            return Err(taken("holds something that is not a result"));
        }
        // A trailing slash leaves no name to put a temporary one beside.
        let plain: std::path::PathBuf = path.components().collect();
        let stage = Stage::new(&plain)?;
        fs::create_dir(stage.temporary()).map_err(|error| StageError::io(path, &error))?;
        Ok(Self { stage })
    }

    fn fill(&self, stages: &[(Report<'_>, &Summary)]) -> io::Result<PathBuf> {
        let top = Folder(self.stage.temporary().to_owned());
        for (name, text) in stages.first().map(|(report, _)| rerun::files(report.about)).into_iter().flatten() {
            top.text(&name, &text)?;
        }
        if let [(report, summary)] = stages {
            top.fill(report, summary)?;
            return Ok(PathBuf::from(PAGE));
        }
        for (number, (report, summary)) in (1..).zip(stages) {
            let folder = Folder(top.0.join(format!("stage-{number}")));
            fs::create_dir(&folder.0)?;
            folder.fill(report, summary)?;
        }
        let summaries: Vec<Summary> = stages.iter().map(|(_, summary)| (*summary).clone()).collect();
        top.text(MARK, &Summary::json(&summaries))?;
        Ok(Path::new("stage-1").join(PAGE))
    }

    /// Writes all files and gives the directory its name; an earlier result of that name is replaced. Each
    /// of several stages gets a folder of its own. Returns the page to look at first.
    ///
    /// # Errors
    /// If something cannot be written; then nothing is left behind.
    pub fn finish(self, stages: &[(Report<'_>, &Summary)]) -> Result<PathBuf, StageError> {
        let path = self.stage.path().to_owned();
        let page = self.fill(stages).map_err(|error| StageError::io(&path, &error))?;
        self.rename()?;
        Ok(path.join(page))
    }

    /// The same for whatever `fill` writes into the folder it is given.
    ///
    /// # Errors
    /// If something cannot be written; then nothing is left behind.
    pub(crate) fn finish_with(self, fill: impl FnOnce(&Path) -> io::Result<()>) -> Result<(), StageError> {
        fill(self.stage.temporary()).map_err(|error| StageError::io(self.stage.path(), &error))?;
        self.rename()
    }

    fn rename(self) -> Result<(), StageError> {
        let path = self.stage.path().to_owned();
        if path.is_dir() {
            // Aside first: between the two names there is at most an instant without a result.
            let old = Stage::new(&path.with_extension("old"))?;
            fs::rename(&path, old.temporary()).map_err(|error| StageError::io(&path, &error))?;
        }
        self.stage.finish()
    }
}

/// The file of `--report`: prepared before the run like [`OutDir`], and named when it is whole.
#[derive(Debug)]
pub struct PageFile {
    staged: StagedFile,
    file: File,
    path: PathBuf,
}

impl PageFile {
    /// Prepares the page that will be `path`.
    ///
    /// # Errors
    /// If it cannot be created there.
    pub fn create(path: &Path) -> Result<Self, StageError> {
        let (staged, file) = StagedFile::create(path)?;
        Ok(Self { staged, file, path: path.to_owned() })
    }

    /// Writes the page and gives it its name; what was there before is replaced. Returns where it is.
    ///
    /// # Errors
    /// If it cannot be written; then nothing is left behind.
    pub fn finish(mut self, page: &Page) -> Result<PathBuf, StageError> {
        let written = self.file.write_all(page.html().as_bytes());
        written.map_err(|error| StageError::io(&self.path, &error))?;
        self.staged.finish()?;
        Ok(self.path)
    }
}

/// A folder with everything about one stage.
struct Folder(PathBuf);

impl Folder {
    fn file(&self, name: &str) -> io::Result<BufWriter<File>> {
        File::create(self.0.join(name)).map(BufWriter::new)
    }

    fn text(&self, name: &str, text: &str) -> io::Result<()> {
        let mut file = self.file(name)?;
        file.write_all(text.as_bytes())?;
        file.flush()
    }

    fn fill(&self, report: &Report<'_>, summary: &Summary) -> io::Result<()> {
        let Report { about, result, erase_counts, .. } = report;
        write_histograms(self.file("latencies.parquet")?, about, result).map_err(io::Error::other)?;
        write_series(self.file("series.parquet")?, about, result).map_err(io::Error::other)?;
        if !erase_counts.is_empty() {
            write_erases(self.file("erases.parquet")?, about, erase_counts).map_err(io::Error::other)?;
        }
        self.text("config.toml", &about.config.to_string())?;
        self.text(PAGE, &page(&[(*report, summary)]).html())?;
        self.text("table.txt", &table(summary))?;
        self.text(MARK, &Summary::json(std::slice::from_ref(summary)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::About;
    use crate::testing::a_result;
    use parquet::file::reader::{FileReader, SerializedFileReader};

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).expect("a directory");
        let mut names: Vec<_> =
            entries.map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    #[test]
    fn a_directory_holds_everything_and_replaces_only_results() {
        let dir = tempfile::tempdir().expect("a directory");
        let path = dir.path().join("result");
        let about = About { seed: 7, ..About::default() };
        let result = a_result();
        let report = Report {
            about: &about,
            result: &result,
            timeline: None,
            explained: &[],
            erase_counts: &[1, 2, 3],
            energy: &[],
            verified: None,
            notes: &[],
        };
        let summary = Summary::new(&report);
        for _ in 0..2 {
            OutDir::create(&path).expect("writable").finish(&[(report, &summary)]).expect("written");
        }
        assert_eq!(names(dir.path()), ["result"]);
        let wanted = [
            "config.toml",
            "erases.parquet",
            "latencies.parquet",
            "report.html",
            "series.parquet",
            "summary.json",
            "table.txt",
        ];
        assert_eq!(names(&path), wanted);

        let open =
            |name: &str| SerializedFileReader::new(File::open(path.join(name)).expect("there")).expect("Parquet");
        let rows = |name: &str| open(name).metadata().file_metadata().num_rows() as usize;
        assert_eq!(rows("erases.parquet"), 3);
        assert_eq!(rows("series.parquet"), result.series.intervals().len());
        assert!(open("series.parquet").get_row_iter(None).expect("rows").all(|row| row.is_ok()));
        let json: serde_json::Value =
            serde_json::from_str(&fs::read_to_string(path.join(MARK)).expect("there")).expect("JSON");
        assert_eq!(
            (json["seed"].as_u64(), json["kinds"]["read"]["latency_us"]["p50"].as_f64()),
            (Some(7), Some(200.0))
        );

        let foreign = dir.path().join("foreign");
        fs::create_dir(&foreign).expect("created");
        fs::write(foreign.join("diary"), "dear").expect("written");
        let error = OutDir::create(&foreign).expect_err("not ours").to_string();
        assert!(error.contains("holds something that is not a result; choose another name"), "{error}");
        assert!(OutDir::create(Path::new("no/such/place/out")).is_err());
    }

    #[test]
    fn a_directory_that_is_not_finished_leaves_nothing() {
        let dir = tempfile::tempdir().expect("a directory");
        drop(OutDir::create(&dir.path().join("result")).expect("writable"));
        assert!(names(dir.path()).is_empty());
    }
}
