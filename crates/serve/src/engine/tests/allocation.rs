//! The allocation state that a drive reports is never wrong, at any moment, and at rest it is exact.

use std::sync::mpsc::channel;

use base::engine::Rng;
use study::session::{Session, SessionError};
use testkit::conformance::settings;

use super::*;
use crate::{AllocatedExtent, Allocation, AllocationQuery};

/// The number of mapping units in use: few, so that some are written again and again; fewer still on the smallest
/// drives.
const UNITS: u64 = 48;

impl Bench {
    /// Sends an allocation query; the answer, if it is there at once.
    pub(super) fn ask(
        &mut self,
        start: u64,
        sectors: u64,
        most: usize,
    ) -> Option<Result<Vec<AllocatedExtent>, JobFailure>> {
        let (to, extents) = channel();
        let answer = Box::new(move |result| to.send(result).expect("the test waits"));
        let (start, sectors) = (Lba::new(start), Sectors::new(sectors));
        self.core.allocation(AllocationQuery { start, sectors, most, answer });
        extents.try_recv().ok()
    }

    /// For each of these sectors from the first on, true if it may hold data.
    fn mapped(&mut self, sectors: u64) -> Vec<bool> {
        let mut mapped = Vec::new();
        while (mapped.len() as u64) < sectors {
            let at = mapped.len() as u64;
            let extents = self.ask(at, sectors - at, 1000).expect("it is answered at once").expect("extents");
            assert!(!extents.is_empty());
            for AllocatedExtent { sectors, allocation } in extents {
                mapped.extend((0..sectors.get()).map(|_| allocation == Allocation::Mapped));
            }
        }
        mapped
    }
}

/// The state of a mapping unit whose last job was answered, as far as the test knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum KnownState {
    Data,
    /// The unit was never written, or was discarded as a whole.
    Nothing,
    /// A job on the unit is under way, or the power was cut.
    Unsure,
}

struct CheckedDrive {
    bench: Bench,
    unit: u64,
    known: Vec<KnownState>,
    /// The jobs under way, with their units and the states after their ends.
    under_way: Vec<(u64, u64, KnownState)>,
    replay: String,
}

impl CheckedDrive {
    fn units(&self) -> u64 {
        self.known.len() as u64
    }

    fn answered(&mut self, results: Results) {
        for (number, _, result) in results {
            let Some(i) = self.under_way.iter().position(|(of, ..)| *of == number) else { continue };
            let (_, unit, then) = self.under_way.swap_remove(i);
            self.known[unit as usize] = if result.is_ok() { then } else { KnownState::Unsure };
        }
    }

    /// Compares the answer with the known states; at rest, holes must be reported as such.
    fn check(&mut self, at_rest: bool) {
        let hash = self.bench.core.drive().counters().event_hash;
        let now = self.bench.core.now();
        let mapped = self.bench.mapped(self.units() * self.unit);
        assert_eq!((self.bench.core.now(), self.bench.core.drive().counters().event_hash), (now, hash));
        for (unit, known) in self.known.iter().enumerate() {
            let part = &mapped[unit * self.unit as usize..][..self.unit as usize];
            assert!(part.iter().all(|sector| *sector == part[0]), "{}: a unit is one piece", self.replay);
            match known {
                KnownState::Data => assert!(part[0], "{}: unit {unit} has data and is said to be a hole", self.replay),
                KnownState::Nothing => {
                    assert!(!at_rest || !part[0], "{}: unit {unit} has no data, and is no hole", self.replay);
                }
                KnownState::Unsure => {}
            }
        }
    }

    fn step(&mut self, rng: &mut Rng) {
        let unit = rng.below(self.units());
        if rng.below(3) > 0 && !self.under_way.iter().any(|(_, of, _)| *of == unit) {
            let (start, sectors) = (unit * self.unit, 1 + rng.below(self.unit));
            let fua = rng.below(4) == 0;
            let (number, then) = match rng.below(10) {
                0..6 => (self.bench.write(start, 1 + rng.below(255) as u8, sectors, fua), KnownState::Data),
                6..9 => (self.bench.submit(Operation::Discard, start, self.unit), KnownState::Nothing),
                _ => (self.bench.submit(Operation::Flush, 0, 0), self.known[unit as usize]),
            };
            self.known[unit as usize] = KnownState::Unsure;
            self.under_way.push((number, unit, then));
        } else if let Some(at) = self.bench.core.next_event() {
            self.bench.now = self.bench.now.max(at);
            self.bench.core.advance(self.bench.now, &mut self.bench.answers);
        }
        let results = self.bench.results();
        self.answered(results);
        self.check(false);
    }

    /// Lets all jobs end, and compares the holes with the data of reads.
    fn wait_until_idle(&mut self) {
        let results = self.bench.drain();
        self.answered(results);
        self.check(true);
        let mapped = self.bench.mapped(self.units() * self.unit);
        for unit in (0..self.units()).filter(|unit| !mapped[(unit * self.unit) as usize]) {
            let read = self.bench.alone(Operation::Read, unit * self.unit, self.unit).expect("it is readable");
            assert!(read.iter().all(|byte| *byte == 0), "{}: unit {unit} is no hole", self.replay);
        }
    }
}

#[test]
fn every_drive_tells_data_from_holes_at_any_moment() {
    for (seed, setting) in (0..).zip(settings()) {
        let resolved = setting.spec.resolve().expect("valid");
        let device = Device { name: setting.name.clone(), resolved, replaced: Vec::new() };
        let drive = match Session::new(&device).seed(seed).prepare() {
            // A drive whose preconditioning must know the workload cannot be served.
            Err(SessionError::Foresight { .. }) => continue,
            drive => drive.unwrap_or_else(|error| panic!("{error}")),
        };
        let core = Core::new(Box::new(drive), CutPolicy::End);
        let unit = core.unit().get();
        let units = UNITS.min(core.capacity().get() / unit) as usize;
        let replay = format!("seed {seed}, {}", setting.name);
        let known = vec![KnownState::Nothing; units];
        let mut checked = CheckedDrive { bench: Bench::new(core), unit, known, under_way: Vec::new(), replay };
        checked.check(true);
        let mut rng = Rng::stream(seed, "serve.allocation");
        for round in 0..4 {
            (0..120).for_each(|_| checked.step(&mut rng));
            if round % 2 == 0 {
                checked.wait_until_idle();
                continue;
            }
            checked.bench.core.cut_power(checked.bench.now, &mut checked.bench.answers).expect("it is on");
            assert!(matches!(checked.bench.ask(0, 1, 1), Some(Err(JobFailure::NoPower))));
            checked.bench.results();
            checked.under_way.clear();
            // Recovery may find older contents, so no state is known until the next job on a unit.
            checked.known.fill(KnownState::Unsure);
            checked.bench.core.power_on(checked.bench.now, &mut checked.bench.answers).expect("it is off");
            checked.wait_until_idle();
        }
    }
}

#[test]
fn questions_wait_for_the_power_with_the_requests() {
    let mut bench = Bench::new(core(BUFFER, CutPolicy::Hold));
    bench.alone(Operation::Write { data: vec![1; 512], fua: true }, 4, 1).expect("written");
    let end = bench.core.capacity().get();
    for (start, sectors) in [(end, 1), (end - 1, 2), (u64::MAX, 1)] {
        assert!(matches!(bench.ask(start, sectors, 1), Some(Err(JobFailure::Drive(ssd::Status::OutOfRange)))));
    }
    let wait = |bench: &mut Bench| {
        let (to, extents) = channel();
        let answer = Box::new(move |result| to.send(result).expect("the test waits"));
        let query = AllocationQuery { start: Lba::new(0), sectors: Sectors::new(12), most: 9, answer };
        bench.core.cut_power(bench.now, &mut bench.answers).expect("it is on");
        bench.core.allocation(query);
        assert!(extents.try_recv().is_err(), "it waits");
        extents
    };
    let extents = wait(&mut bench);
    bench.core.power_on(bench.now, &mut bench.answers).expect("it is off");
    let extents = extents.try_recv().expect("it is answered").expect("extents");
    let lengths: Vec<_> = extents.iter().map(|extent| extent.sectors.get()).collect();
    assert_eq!(lengths, [4, 4, 4]);
    assert_eq!(extents[1].allocation, Allocation::Mapped);
    let lost = wait(&mut bench);
    bench.core.end(&mut bench.answers);
    assert_eq!(lost.try_recv(), Ok(Err(JobFailure::NoPower)));
}
