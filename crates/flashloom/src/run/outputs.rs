//! The files of a run: the results besides those on the terminal.

use std::io::Write;
use std::path::PathBuf;

use report::run::page;
use report::{RequestFile, write_timeline};
use study::output::{self, Kind, OutFile, OutFolder, publish};
use study::session::Outcome;
use study::summary::{Provenance, Report, Summary};
use workload::trace::files;

use crate::args::RunArgs;
use crate::exit::{Failure, note};

/// The files of a run.
pub(super) struct Outputs {
    dir: Option<OutFolder>,
    page: Option<OutFile>,
    pub(super) log: Option<RequestFile>,
    timeline: Option<OutFile>,
    pub(super) snapshot: Option<OutFile>,
}

impl Outputs {
    /// Creates the files for a run of `stages` stages.
    pub(super) fn create(args: &RunArgs, about: &Provenance, stages: usize) -> Result<Self, Failure> {
        let RunArgs { output, state, .. } = args;
        let flows = args.issue.flow.iter().map(|flow| &flow.workload);
        let workloads = std::iter::once(&args.workload).chain(flows).flat_map(|path| files(path));
        let inputs = workloads.chain([args.device.clone()]).chain(state.load_snapshot.clone());
        let mut all = output::Outputs::new(inputs, output.replace.force);
        let names = report::run::names(stages, args.issue.flow.len());
        let dir = output.out.as_deref().map(|path| all.folder("--out", path, &names)).transpose()?;
        let mut file = |option: &str, path: &Option<PathBuf>, kind: Kind| {
            path.as_deref().map(|path| all.file(option, path, kind)).transpose()
        };
        let page = file("--report", &output.report, Kind::Page)?;
        let timeline = file("--timeline", &output.timeline, Kind::Timeline)?;
        let snapshot = file("--save-snapshot", &state.save_snapshot, Kind::Snapshot)?;
        let log = file("--requests", &output.requests, Kind::Requests)?;
        let log = log.map(|log| RequestFile::create(log, about)).transpose()?;
        Ok(Self { dir, page, log, timeline, snapshot })
    }

    /// Writes all files, and only then renames them to their final names. Returns the HTML pages.
    pub(super) fn finish(self, outcome: &Outcome, summaries: &[Summary]) -> Result<Vec<PathBuf>, Failure> {
        let reports: Vec<(Report<'_>, &Summary)> = outcome.reports().into_iter().zip(summaries).collect();
        let Self { mut dir, page: alone, log, timeline: file, snapshot } = self;
        let (mut whole, mut pages) = (Vec::from_iter(snapshot), Vec::new());
        whole.extend(log.map(RequestFile::finish).transpose()?);
        if let Some(dir) = &mut dir {
            pages.push(report::run::fill(dir, &reports)?);
        }
        if let Some(mut file) = alone {
            file.fill(|out| out.write_all(page(&reports).html().as_bytes()))?;
            pages.push(file.path().to_owned());
            whole.push(file);
        }
        if let (Some(mut file), Some(timeline)) = (file, outcome.timeline()) {
            file.fill(|out| write_timeline(timeline, out))?;
            whole.push(file);
        }
        publish(whole, dir)?.iter().for_each(note);
        Ok(pages)
    }
}
