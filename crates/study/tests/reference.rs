//! The reference runs: some sixty small runs over every family, with their event hashes.
//!
//! A change that preserves behaviour keeps every hash of `reference.txt`. A change of results changes hashes, and
//! CHANGELOG lists them (CONTRIBUTING.md, "Result-changing"). A failing test prints the lines that the table needs if
//! the change was intended.

use std::path::Path;
use std::thread;

use base::io::IoKind;
use base::units::Span;
use ssd::{Drive, Precondition, QueueId, Request, Ssd};
use study::catalogue::{self, Device};
use study::session::{Flow, Session, Stop};
use study::summary::Summary;
use study::watch::Watch;
use workload::trace::TraceOptions;
use workload::{Pacing, Source};

/// `hash device workload option...`, one run per line.
pub(crate) const RUNS: &str = include_str!("reference.txt");

/// The number of parallel runs.
const THREADS: usize = 2;

#[derive(Debug)]
pub(crate) struct ReferenceLine<'a> {
    line: &'a str,
    hash: &'a str,
    pub(crate) device: &'a str,
    workload: &'a str,
    /// Changes of the device's description.
    set: Vec<&'a str>,
    precondition: Vec<Precondition>,
    depth: u32,
    requests: u64,
    /// The number of power cuts, spread evenly over the requests.
    pub(crate) cuts: u64,
    seed: u64,
}

impl<'a> ReferenceLine<'a> {
    /// All lines of the table.
    pub(crate) fn all() -> Vec<ReferenceLine<'static>> {
        RUNS.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(ReferenceLine::parse).collect()
    }

    fn parse(line: &'a str) -> Self {
        let mut words = line.split_whitespace();
        let mut word = || words.next().unwrap_or_else(|| panic!("hash, device, workload: {line}"));
        let (hash, device, workload) = (word(), word(), word());
        let mut run = Self {
            line,
            hash,
            device,
            workload,
            set: Vec::new(),
            precondition: Vec::new(),
            depth: 8,
            requests: 2000,
            cuts: 0,
            seed: 1,
        };
        for option in words {
            let number = |text: &str| text.parse().unwrap_or_else(|_| panic!("a number in `{option}`: {line}"));
            match option.split_once('=') {
                None => run.precondition.push(option.parse().unwrap_or_else(|error| panic!("{line}: {error}"))),
                Some(("depth", text)) => run.depth = u32::try_from(number(text)).expect("a small depth"),
                Some(("requests", text)) => run.requests = number(text),
                Some(("cuts", text)) => run.cuts = number(text),
                Some(("seed", text)) => run.seed = number(text),
                Some(_) => run.set.push(option),
            }
        }
        run
    }

    /// True if the device suspends programs or erases.
    pub(crate) fn suspends(&self) -> bool {
        self.set.iter().any(|key| key.starts_with("flash.suspend."))
    }

    fn device(&self) -> Result<Device, String> {
        let mut document = catalogue::device(Path::new(self.device)).map_err(|faults| faults.to_string())?;
        for assignment in &self.set {
            document.set(assignment).map_err(|faults| faults.to_string())?;
        }
        catalogue::device_from(&document).map_err(|faults| faults.to_string())
    }

    /// The result of the first requests of the run, with all numbers of an observer and the oracle.
    pub(crate) fn summary(&self, requests: u64) -> Summary {
        let device = self.device().unwrap_or_else(|faults| panic!("{faults}"));
        let session = Session::new(&device).seed(self.seed).precondition(self.precondition.clone()).verify(true);
        let session = session.watch(Watch::default().explaining()).stop(Stop::Requests(requests));
        let file = catalogue::workload(Path::new(self.workload)).unwrap_or_else(|faults| panic!("{faults}"));
        let flow = session.open(&file, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
        let flow = flow.first_stage().pacing(Pacing::Closed { depth: self.depth });
        let outcome = session.flow(flow).run().unwrap_or_else(|error| panic!("{}: {error}", self.line));
        outcome.first().summary()
    }

    /// Runs the workload as a closed loop and returns the event hash.
    fn play_to_hash(&self) -> Result<String, String> {
        let device = self.device()?;
        let file = catalogue::workload(Path::new(self.workload)).map_err(|faults| faults.to_string())?;
        let workload = file.open(&TraceOptions::default(), device.capacity(), self.seed);
        let mut workload = workload.map_err(|error| error.to_string())?;
        let hash = if self.cuts == 0 {
            let session = Session::new(&device).seed(self.seed).precondition(self.precondition.clone());
            let flow = Flow::new(workload).first_stage().pacing(Pacing::Closed { depth: self.depth });
            // The hash includes background work.
            let session = session.flow(flow).stop(Stop::Requests(self.requests)).settle(Span::MAX).check_drive(true);
            let outcome = session.run().map_err(|error| error.to_string())?;
            outcome.first().result.settled.as_ref().ok_or("background work without an end")?.event_hash
        } else {
            // Done step by step, because a session refuses a drive that preconditioning wore out.
            let mut ssd = Ssd::<()>::new(&device.resolved, self.seed);
            for step in &self.precondition {
                ssd.precondition(*step, &mut |_, _| {});
            }
            self.play(&mut ssd, &mut *workload.stages[0].source);
            ssd.check();
            ssd.counters().event_hash
        };
        Ok(format!("{hash:016x}"))
    }

    /// Runs the workload as a closed loop with power cuts, which sessions do not support.
    fn play(&self, ssd: &mut Ssd<()>, source: &mut dyn Source) {
        let mut completions = Vec::new();
        let (mut submitted, mut done, mut outstanding, mut cuts) = (0, 0, 0, 0);
        loop {
            while submitted < self.requests && outstanding < self.depth {
                let Some(next) = source.next().expect("the workload is described") else { break };
                let written = if next.io.kind == IoKind::Write { next.io.sectors.get() as usize } else { 0 };
                let (tag, queue) = (submitted, QueueId::default());
                ssd.submit(ssd.now(), Request { tag, queue, io: next.io, data: vec![(); written] });
                (submitted, outstanding) = (submitted + 1, outstanding + 1);
            }
            // The hash includes background work.
            let Some(at) = ssd.next_event() else { break };
            ssd.advance(at, &mut completions);
            done += completions.len() as u64;
            outstanding -= u32::try_from(completions.len()).expect("no more than are outstanding");
            completions.clear();
            if cuts < self.cuts && done >= (cuts + 1) * self.requests / (self.cuts + 1) {
                let lost = ssd.cut_power();
                done += lost.len() as u64;
                (cuts, outstanding) = (cuts + 1, 0);
                ssd.power_on(ssd.now());
            }
        }
        assert_eq!((outstanding, cuts, done), (0, self.cuts, submitted), "{}", self.line);
    }
}

#[test]
fn every_reference_run_has_its_hash() {
    let runs = ReferenceLine::all();
    assert!(runs.len() >= 60, "{} runs", runs.len());
    let judge = |run: &ReferenceLine<'_>| match run.play_to_hash() {
        Ok(hash) if hash == run.hash => None,
        Ok(hash) => Some(run.line.replacen(run.hash, &hash, 1)),
        Err(error) => Some(format!("{}: {error}", run.line)),
    };
    let changed: Vec<String> = thread::scope(|scope| {
        let parts: Vec<_> = runs
            .chunks(runs.len().div_ceil(THREADS))
            .map(|runs| scope.spawn(|| runs.iter().filter_map(judge).collect::<Vec<_>>()))
            .collect();
        parts.into_iter().flat_map(|part| part.join().expect("a run aborted, see above")).collect()
    });
    assert!(changed.is_empty(), "these runs have other hashes than before:\n{}", changed.join("\n"));
}
