//! Power cuts under jobs: data acknowledged as durable survives, on every family of FTLs.

use base::engine::Rng;
use ssd::FlushPolicy;
use testkit::conformance::{Setting, settings};

use super::*;

/// The contents of a sector since the newest durable one, oldest first. `None` is a discard: after it the sector may have any
/// content that it ever had, until it is written again.
type SectorContents = Vec<Option<u8>>;

/// A job under way.
struct OpenJob {
    number: u64,
    start: u64,
    end: u64,
    kind: JobKind,
}

#[derive(Clone, Copy, PartialEq)]
enum JobKind {
    Write { fua: bool },
    Flush,
    Discard,
    Read,
}

/// A random life of a drive under jobs and power cuts, beside a model of each sector.
pub(super) struct Life {
    bench: Bench,
    rng: Rng,
    model: Vec<SectorContents>,
    open: Vec<OpenJob>,
    /// For each flush under way, the contents of each sector that were acknowledged when it came.
    flushes: Vec<(u64, Vec<usize>)>,
    /// Contents of each sector that were acknowledged.
    acknowledged: Vec<usize>,
    byte: u8,
    checked: u64,
}

impl Life {
    pub(super) fn new(mut core: Core, seed: u64) -> Self {
        core.verify(true);
        let sectors = core.capacity().get() as usize;
        Self {
            bench: Bench::new(core),
            rng: Rng::stream(seed, "serve.power"),
            model: vec![vec![Some(0)]; sectors],
            open: Vec::new(),
            flushes: Vec::new(),
            acknowledged: vec![1; sectors],
            byte: 0,
            checked: 0,
        }
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.rng.below(bound)
    }

    /// True if a job under way, other than a flush, has sectors in this extent.
    fn is_busy(&self, start: u64, end: u64) -> bool {
        self.open.iter().any(|open| open.start < end && start < open.end)
    }

    fn submit(&mut self) {
        let capacity = self.model.len() as u64;
        let start = self.below(capacity);
        let end = (start + 1 + self.below(8)).min(capacity);
        let dice = self.below(100);
        if dice < 15 {
            let number = self.bench.submit(Operation::Flush, 0, 0);
            self.flushes.push((number, self.acknowledged.clone()));
            self.open.push(OpenJob { number, start: 0, end: 0, kind: JobKind::Flush });
            return;
        }
        // The drive may reorder overlapping jobs, so each sector has one job at a time.
        if self.is_busy(start, end) {
            return;
        }
        let (fua, sectors) = (self.below(4) == 0, end - start);
        let (number, content, kind) = match dice {
            15..65 => {
                self.byte = self.byte % 250 + 1;
                (self.bench.write(start, self.byte, sectors, fua), Some(self.byte), JobKind::Write { fua })
            }
            65..75 => {
                (self.bench.submit(Operation::WriteZeroes { fua }, start, sectors), Some(0), JobKind::Write { fua })
            }
            75..82 => (self.bench.submit(Operation::Discard, start, sectors), None, JobKind::Discard),
            _ => (self.bench.submit(Operation::Read, start, sectors), None, JobKind::Read),
        };
        if kind != JobKind::Read {
            self.model[start as usize..end as usize].iter_mut().for_each(|contents| contents.push(content));
        }
        self.open.push(OpenJob { number, start, end, kind });
    }

    /// Removes the contents that are older than the newest durable content.
    fn settle(&mut self, sector: usize, acknowledged: usize) {
        let old = acknowledged - 1;
        self.model[sector].drain(..old);
        self.acknowledged[sector] -= old;
        for (_, covers) in &mut self.flushes {
            covers[sector] = covers[sector].saturating_sub(old).max(1);
        }
    }

    fn answered(&mut self, results: Results) {
        for (number, _, result) in results {
            let at = self.open.iter().position(|open| open.number == number).expect("a job under way");
            let OpenJob { start, end, kind, .. } = self.open.remove(at);
            let flush = self.flushes.iter().position(|(of, _)| *of == number).map(|at| self.flushes.remove(at).1);
            match (kind, result) {
                (JobKind::Read, Ok(data)) => self.check(start, &data),
                (JobKind::Write { .. } | JobKind::Discard, Ok(_)) => {
                    for sector in start as usize..end as usize {
                        self.acknowledged[sector] = self.model[sector].len();
                        if kind == (JobKind::Write { fua: true }) {
                            self.settle(sector, self.acknowledged[sector]);
                        }
                    }
                }
                (JobKind::Flush, Ok(_)) => {
                    let covers = flush.expect("it was noted");
                    (0..covers.len()).for_each(|sector| self.settle(sector, covers[sector]));
                }
                // The drive has failed so often that it takes no more writes, or was off: nothing is promised.
                (
                    _,
                    Err(
                        JobFailure::Drive(ssd::Status::ReadOnly)
                        | JobFailure::NoPower
                        | JobFailure::Drive(ssd::Status::Uncorrectable),
                    ),
                ) => {}
                (_, Err(failed)) => panic!("an extent inside a drive without zones: {failed}"),
            }
        }
    }

    fn check(&mut self, start: u64, data: &[u8]) {
        for (sector, data) in (start as usize..).zip(data.chunks(512)) {
            assert!(data.iter().all(|byte| *byte == data[0]), "sector {sector} is torn");
            let newest = &self.model[sector][self.acknowledged[sector] - 1..];
            let is_right = newest.contains(&Some(data[0])) || newest.contains(&None);
            assert!(is_right, "sector {sector} has {}, not one of {newest:?}", data[0]);
            self.checked += 1;
        }
    }

    /// Cuts the power, switches it on again, and reads everything.
    fn cut(&mut self) {
        let on_cut = self.bench.core.on_cut;
        let cut = self.bench.core.cut_power(self.bench.now, &mut self.bench.answers).expect("it is on");
        let results = self.bench.results();
        self.answered(results);
        assert_eq!(self.open.len(), cut.held, "held and no others are left");
        if on_cut == CutPolicy::End {
            assert_eq!(cut.held, 0);
        }
        let refused = self.bench.submit(Operation::Flush, 0, 0);
        if on_cut == CutPolicy::End {
            assert_eq!(
                self.bench.results().pop().map(|(of, _, result)| (of, result)),
                Some((refused, Err(JobFailure::NoPower)))
            );
        }
        let wait = Span::from_us(self.below(50));
        self.bench.advance(wait);
        // Any content that was submitted and is not older than a durable one may have survived.
        self.acknowledged.iter_mut().for_each(|acknowledged| *acknowledged = 1);
        self.bench.core.power_on(self.bench.now, &mut self.bench.answers).expect("it is off");
        if on_cut == CutPolicy::Hold {
            let covers = vec![1; self.model.len()];
            self.flushes.iter_mut().for_each(|(_, of)| of.clone_from(&covers));
            self.flushes.push((refused, covers));
            self.open.push(OpenJob { number: refused, start: 0, end: 0, kind: JobKind::Flush });
        }
        let results = self.bench.drain();
        if cut.lost_writes {
            let failed = results.iter().find(|(of, ..)| *of == refused).expect("it was held");
            assert_eq!(failed.2, Err(JobFailure::NoPower), "a flush although writes were lost");
        }
        self.answered(results);
        assert!(self.open.is_empty());
        if on_cut == CutPolicy::Hold {
            // The flush above began with the held writes, and does not cover writes that had to wait for room in the buffer.
            drop(self.bench.alone(Operation::Flush, 0, 0));
        }
        self.read_all();
        if self.bench.core.status().lost_writes {
            self.bench.core.power_off(self.bench.now, &mut self.bench.answers).expect("it is on");
            self.bench.core.power_on(self.bench.now, &mut self.bench.answers).expect("it is off");
            self.bench.drain();
            self.read_all();
        }
    }

    /// Reads every sector; the read content is from then on the only possible content.
    fn read_all(&mut self) {
        for sector in 0..self.model.len() {
            match self.bench.alone(Operation::Read, sector as u64, 1) {
                Ok(data) => {
                    self.check(sector as u64, &data);
                    // A discarded content may come back after any later cut, too.
                    let is_discarded = self.model[sector].contains(&None);
                    self.model[sector] = vec![if is_discarded { None } else { Some(data[0]) }];
                }
                // The page of the sector failed: its content is lost, and any next content is right.
                Err(error) => {
                    assert_eq!(error, JobFailure::Drive(ssd::Status::Uncorrectable), "sector {sector}");
                    self.model[sector] = vec![None];
                }
            }
            self.acknowledged[sector] = 1;
        }
        // The verifier knows less than this test, and must find no violation either.
        let violations = self.bench.core.take_violations();
        assert!(violations.is_empty(), "{}", violations[0]);
    }

    /// Keeps the state of the verifier for the next life.
    pub(super) fn keep_verification(&mut self, dir: &std::path::Path) {
        assert!(self.bench.core.keep_verification(dir, false).expect("files"));
    }

    /// Replaces the drive by a new one with the same flash, as after a kill of its process, and reads every sector.
    pub(super) fn killed(&mut self, mut core: Core, dir: &std::path::Path) {
        core.verify(false);
        assert!(core.keep_verification(dir, true).expect("files"), "the life before has left it");
        self.bench.now = core.now();
        self.bench.core = core;
        self.bench.answers.clear();
        self.open.clear();
        self.flushes.clear();
        self.acknowledged.fill(1);
        self.read_all();
    }

    /// The number of sectors that were compared with their possible contents.
    pub(super) const fn checked(&self) -> u64 {
        self.checked
    }

    pub(super) fn run(&mut self, steps: u32) {
        self.steps(steps);
        let results = self.bench.drain();
        self.answered(results);
        self.cut();
    }

    /// Submits jobs, lets time pass, and cuts the power now and then.
    pub(super) fn steps(&mut self, steps: u32) {
        for _ in 0..steps {
            match self.below(20) {
                0 => self.cut(),
                1..12 => self.submit(),
                _ => {
                    let span = Span::from_ns(self.below(200_000));
                    let results = self.bench.advance(span);
                    self.answered(results);
                }
            }
        }
    }
}

#[test]
fn acknowledged_flushes_survive_power_cuts_on_every_family() {
    let (all, mut checked) = (settings(), 0);
    // Drives that ignore flushes promise nothing.
    let keeps = |setting: &&Setting| setting.spec.buffer.as_ref().is_none_or(|of| of.flush != FlushPolicy::Ignore);
    for (seed, setting) in (0..).zip(all.iter().filter(keeps).step_by(3)) {
        for on_cut in [CutPolicy::End, CutPolicy::Hold] {
            let say = PanicLabel(format!("seed {seed}, {:?}, {on_cut:?}", setting.name));
            let drive = Box::new(Ssd::new(&setting.spec.resolve().expect("valid"), seed));
            let mut life = Life::new(Core::new(drive, on_cut), seed);
            life.run(120);
            checked += life.checked;
            drop(say);
        }
    }
    assert!(checked > 10_000, "only {checked} sectors were checked");
}

#[test]
#[should_panic(expected = "not one of")]
fn a_drive_that_ignores_flushes_is_found() {
    let lies = |setting: &Setting| setting.spec.buffer.as_ref().is_some_and(|of| of.flush == FlushPolicy::Ignore);
    for (seed, setting) in (0..20).flat_map(|seed| settings().into_iter().filter(lies).map(move |of| (seed, of))) {
        let drive = Box::new(Ssd::new(&setting.spec.resolve().expect("valid"), seed));
        Life::new(Core::new(drive, CutPolicy::End), seed).run(120);
    }
}

/// Prints the name of the life if the test panics.
pub(super) struct PanicLabel(pub(super) String);

impl Drop for PanicLabel {
    fn drop(&mut self) {
        if std::thread::panicking() {
            eprintln!("failed: {}", self.0);
        }
    }
}

#[test]
fn a_cut_answers_every_job_or_holds_it() {
    for on_cut in [CutPolicy::End, CutPolicy::Hold] {
        let mut bench = Bench::new(core("", on_cut));
        bench.write(0, 1, 4, false);
        bench.submit(Operation::Read, 0, 1);
        assert!(bench.core.power_on(bench.now, &mut bench.answers).is_err());
        let cut = bench.core.cut_power(bench.now, &mut bench.answers).expect("it is on");
        assert!(bench.core.cut_power(bench.now, &mut bench.answers).is_err());
        assert!(bench.core.power_off(bench.now, &mut bench.answers).is_err());
        bench.submit(Operation::Read, 0, 1);
        let results = bench.results();
        bench.core.power_on(bench.now, &mut bench.answers).expect("it is off");
        let later = bench.drain();
        let of = |all: &Results| all.iter().map(|(number, _, result)| (*number, result.is_ok())).collect::<Vec<_>>();
        match on_cut {
            CutPolicy::End => {
                assert_eq!((cut.failed, cut.held, cut.lost_writes), (2, 0, false));
                assert_eq!((of(&results), of(&later)), (vec![(0, false), (1, false), (2, false)], Vec::new()));
                assert_eq!(bench.byte(0), 0);
            }
            CutPolicy::Hold => {
                assert_eq!((cut.failed, cut.held, cut.lost_writes), (0, 2, false));
                assert_eq!((of(&results), of(&later)), (Vec::new(), vec![(0, true), (1, true), (2, true)]));
                assert_eq!(bench.byte(0), 1, "the held write began anew");
            }
        }
        assert!(bench.alone(Operation::Flush, 0, 0).is_ok());
    }
}

#[test]
fn a_flush_fails_if_held_clients_lost_writes_without_a_word() {
    let mut bench = Bench::new(core(BUFFER, CutPolicy::Hold));
    bench.write(0, 1, 4, true);
    bench.drain();
    assert!(!bench.core.cut_power(bench.now, &mut bench.answers).expect("it is on").lost_writes, "it was durable");
    bench.core.power_on(bench.now, &mut bench.answers).expect("it is off");
    bench.write(4, 2, 4, false);
    bench.drain();
    assert!(bench.core.cut_power(bench.now, &mut bench.answers).expect("it is on").lost_writes);
    bench.core.power_on(bench.now, &mut bench.answers).expect("it is off");
    assert_eq!([0, 4].map(|sector| bench.byte(sector)), [1, 0]);
    for _ in 0..2 {
        assert_eq!(bench.alone(Operation::Flush, 0, 0), Err(JobFailure::NoPower));
    }
    assert!(bench.core.status().lost_writes);
    // Forced unit access promises nothing about other writes.
    assert_eq!(bench.alone(Operation::Write { data: vec![3; 512], fua: true }, 4, 1), Ok(Vec::new()));
    bench.core.power_off(bench.now, &mut bench.answers).expect("it is on");
    bench.core.power_on(bench.now, &mut bench.answers).expect("it is off");
    assert!(bench.alone(Operation::Flush, 0, 0).is_ok());
    assert_eq!(bench.byte(4), 3);
}

#[test]
fn a_flush_makes_durable_what_was_answered_before_it_came_and_nothing_else() {
    for is_fua in [false, true] {
        for is_late in [false, true] {
            let mut bench = Bench::new(core(BUFFER, CutPolicy::Hold));
            bench.write(0, 1, 4, false);
            bench.drain();
            let promise = if is_fua { bench.write(8, 3, 4, true) } else { bench.submit(Operation::Flush, 0, 0) };
            assert!(bench.advance(Span::from_us(1)).is_empty(), "a program takes 200 us");
            let late = is_late.then(|| bench.write(4, 2, 4, false));
            let answered: Vec<_> = bench.drain().into_iter().map(|(number, ..)| number).collect();
            assert_eq!(answered, late.into_iter().chain([promise]).collect::<Vec<_>>());
            let cut = bench.core.cut_power(bench.now, &mut bench.answers).expect("it is on");
            assert_eq!(cut.lost_writes, is_late, "forced unit access: {is_fua}");
            bench.core.power_on(bench.now, &mut bench.answers).expect("it is off");
            assert_eq!([0, 4, 8].map(|sector| bench.byte(sector)), [1, 0, if is_fua { 3 } else { 0 }]);
        }
    }
}

#[test]
fn an_orderly_power_off_answers_when_the_answers_are_due() {
    let mut bench = Bench::new(core(BUFFER, CutPolicy::End));
    let write = bench.write(0, 1, 64, true);
    let took = bench.core.power_off(bench.now, &mut bench.answers).expect("it is on");
    assert!(bench.results().is_empty() && took > Span::from_us(200), "{took}");
    assert!(!bench.core.is_on());
    let due = bench.core.next_event().expect("an answer is due");
    let results = bench.advance(due - bench.now);
    assert_eq!(results.iter().map(|(number, at, _)| (*number, *at)).collect::<Vec<_>>(), [(write, due)]);
    bench.core.power_on(bench.now, &mut bench.answers).expect("it is off");
    assert_eq!(bench.byte(63), 1);
}
