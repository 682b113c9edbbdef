//! The files of a run: the results besides those on the terminal.

use std::io::{self, Write};
use std::path::PathBuf;
use std::time::Instant;

use report::run::page;
use report::{RequestFile, write_timeline};
use study::output::{self, Kind, OutFile, OutFolder, publish};
use study::session::{Flow, Outcome, Session};
use study::summary::{Provenance, Report, Summary};
use workload::trace::files;

use crate::args::RunArgs;
use crate::exit::{Failure, note};
use crate::progress::{Bars, Tell, now};

/// The files of a run, and its progress on the terminal.
pub(crate) struct Outputs {
    about: Provenance,
    tell: Tell,
    start: Instant,
    dir: Option<OutFolder>,
    page: Option<OutFile>,
    log: Option<RequestFile>,
    timeline: Option<OutFile>,
    snapshot: Option<OutFile>,
}

impl Outputs {
    /// Creates the files for a session, before its run: a path that cannot be written ends the command before the long run.
    pub(crate) fn create(args: &RunArgs, session: &Session<'_>) -> Result<Self, Failure> {
        let (about, stages) = (session.about(), session.flows().first().map_or(0, Flow::stages));
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
        let log = log.map(|log| RequestFile::create(log, &about)).transpose()?;
        Ok(Self { about, tell: args.output.notices(), start: now(), dir, page, log, timeline, snapshot })
    }

    pub(crate) const fn provenance(&self) -> &Provenance {
        &self.about
    }

    /// Makes a session write the log of its requests and its snapshot, and show its progress.
    pub(crate) fn attach<'a>(&'a mut self, session: Session<'a>) -> Session<'a> {
        let mut bars = Bars::new(self.tell);
        let mut session = session.progress(move |progress| bars.show(progress));
        if let Some(log) = &mut self.log {
            session = session.log(log);
        }
        if let Some(mut snapshot) = self.snapshot.take() {
            // A snapshot is complete before the run and took long, so it is kept even if the run fails.
            session = session.save_snapshot(move |state| {
                snapshot.fill(|out| state.write(out)).map_err(io::Error::other)?;
                publish(vec![snapshot], None).map_err(io::Error::other)?.iter().for_each(note);
                Ok(())
            });
        }
        self.start = now();
        session
    }

    /// Writes all files, and only then renames them to their final names. Returns the HTML pages.
    pub(crate) fn finish(self, outcome: &Outcome, summaries: &[Summary]) -> Result<Vec<PathBuf>, Failure> {
        self.tell.done(|| {
            let (requests, events) = summaries.iter().fold((0, 0), |(r, e), of| (r + of.requests, e + of.events));
            format!("done in {:.1} s: {requests} requests, {events} events", self.start.elapsed().as_secs_f64())
        });
        let reports: Vec<(Report<'_>, &Summary)> = outcome.reports().into_iter().zip(summaries).collect();
        let Self { mut dir, page: alone, log, timeline: file, snapshot, .. } = self;
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
