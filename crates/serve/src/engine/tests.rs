//! Tests of a served drive: of its core with a clock of their own, and of its thread.

mod allocation;
mod keep;
mod layers;
mod order;
mod placement;
mod power;
mod replay;
mod thread;
mod verification;
pub(crate) mod zones;

use std::sync::{Arc, Mutex};

use base::units::{Bytes, Lba, Sectors, Span, Time};
use flash::nand::Bytes512;
use ssd::{DiscardSpec, Spec, Ssd};
use study::catalogue::Device;

use super::*;
use crate::Operation;

/// Results by the number of their job.
type JobResults = Vec<(u64, Result<Vec<u8>, JobFailure>)>;
type Results = Vec<(u64, Time, Result<Vec<u8>, JobFailure>)>;

/// A core, a clock, and the results of numbered jobs.
struct Bench {
    core: Core,
    now: Time,
    answers: Vec<AnsweredJob>,
    given: Arc<Mutex<JobResults>>,
    jobs: u64,
}

impl Bench {
    fn new(core: Core) -> Self {
        Self { core, now: Time::ZERO, answers: Vec::new(), given: Arc::default(), jobs: 0 }
    }

    /// Submits a job now, and returns its number.
    fn submit(&mut self, operation: Operation, start: u64, sectors: u64) -> u64 {
        let (given, number) = (Arc::clone(&self.given), self.jobs);
        self.jobs += 1;
        let answer = Box::new(move |result| given.lock().expect("no panic").push((number, result)));
        let job = Job::new(operation, Lba::new(start), Sectors::new(sectors), answer);
        self.core.submit(self.now, job, &mut self.answers);
        number
    }

    fn write(&mut self, start: u64, byte: u8, sectors: u64, fua: bool) -> u64 {
        self.submit(Operation::Write { data: vec![byte; sectors as usize * 512], fua }, start, sectors)
    }

    /// The answers so far.
    fn results(&mut self) -> Results {
        let mut results = Vec::new();
        for answered in self.answers.drain(..) {
            let due = answered.due;
            answered.give();
            let given = std::mem::take(&mut *self.given.lock().expect("no panic"));
            results.extend(given.into_iter().map(|(number, result)| (number, due, result)));
        }
        results
    }

    fn advance(&mut self, span: Span) -> Results {
        self.now = (self.now + span).max(self.core.now());
        self.core.advance(self.now, &mut self.answers);
        self.results()
    }

    /// Advances until nothing is under way.
    fn drain(&mut self) -> Results {
        let mut all = self.results();
        while let Some(at) = self.core.next_event() {
            self.now = self.now.max(at);
            self.core.advance(self.now, &mut self.answers);
            all.extend(self.results());
        }
        all
    }

    fn alone(&mut self, operation: Operation, start: u64, sectors: u64) -> Result<Vec<u8>, JobFailure> {
        let number = self.submit(operation, start, sectors);
        let results = self.drain();
        results.into_iter().find(|(of, ..)| *of == number).expect("it is answered").2
    }

    fn byte(&mut self, sector: u64) -> u8 {
        let data = self.alone(Operation::Read, sector, 1).expect("it is readable");
        assert!(data.iter().all(|byte| *byte == data[0]), "a torn sector");
        data[0]
    }
}

const SMALL: &str = r#"name = "small"
flash = { part = "dirik-2009", channels = 2, chips = 2, blocks = 40, pages = 16 }
ftl = { map-unit = "2KiB", over-provisioning = "40%" }
"#;

pub(crate) fn small(more: &str) -> Device {
    Device::parse(format!("{SMALL}{more}")).unwrap_or_else(|faults| panic!("{faults}"))
}

fn core(more: &str, on_cut: CutPolicy) -> Core {
    Core::new(Box::new(Ssd::new(&small(more).resolved, 1)), on_cut)
}

const BUFFER: &str = "buffer = { size = \"256KiB\" }\n";

#[test]
fn what_is_written_is_read() {
    for more in ["", BUFFER] {
        let mut bench = Bench::new(core(more, CutPolicy::End));
        assert_eq!(bench.alone(Operation::Read, 0, 2), Ok(vec![0; 1024]));
        assert_eq!(bench.alone(Operation::Write { data: vec![7; 1536], fua: false }, 1, 3), Ok(Vec::new()));
        let read = bench.alone(Operation::Read, 0, 5).expect("done");
        assert_eq!(read, [vec![0; 512], vec![7; 1536], vec![0; 512]].concat());
        assert_eq!(bench.alone(Operation::Flush, 0, 0), Ok(Vec::new()));
        assert_eq!(bench.alone(Operation::WriteZeroes { fua: true }, 2, 1), Ok(Vec::new()));
        assert_eq!([1, 2, 3].map(|sector| bench.byte(sector)), [7, 0, 7]);
        assert_eq!(bench.alone(Operation::Discard, 0, 4), Ok(Vec::new()));
        assert_eq!(bench.core.outstanding(), 0);
    }
}

#[test]
fn an_answer_is_due_when_the_drive_completes_the_request() {
    let mut bench = Bench::new(core("", CutPolicy::End));
    bench.now = Time::from_ps(5_000);
    bench.write(0, 1, 4, false);
    let at = bench.core.next_event().expect("it is under way");
    assert!(bench.advance(Span::ZERO).is_empty() && at > bench.now);
    let results = bench.drain();
    let latency = results[0].1 - Time::from_ps(5_000);
    // A page program of this part takes 200 us.
    assert!(latency > Span::from_us(200) && latency < Span::from_us(400), "{latency}");
    let said = bench.core.status().requests[1].latency.expect("one write").max_us;
    assert_eq!(Span::from_secs_f64(said * 1e-6), latency);
}

#[test]
fn an_extent_behind_the_end_is_refused_and_one_without_sectors_is_done() {
    let mut bench = Bench::new(core("", CutPolicy::End));
    let end = bench.core.capacity().get();
    for (start, sectors) in [(end, 1), (end - 1, 2), (u64::MAX, 1), (1, u64::MAX)] {
        for operation in [Operation::Read, Operation::Discard, Operation::WriteZeroes { fua: false }] {
            assert_eq!(
                bench.alone(operation, start, sectors),
                Err(JobFailure::Drive(ssd::Status::OutOfRange)),
                "{start} {sectors}"
            );
        }
    }
    assert_eq!(bench.alone(Operation::Read, end - 1, 1), Ok(vec![0; 512]));
    assert_eq!(bench.alone(Operation::Read, end, 0), Ok(Vec::new()));
    assert_eq!(bench.alone(Operation::Write { data: Vec::new(), fua: true }, 3, 0), Ok(Vec::new()));
    let status = bench.core.status();
    assert_eq!((status.requests[0].done, status.requests[0].failed), (2, 4));
}

#[test]
fn zeros_beyond_any_request_are_written_in_parts() {
    let mut bench = Bench::new(core(BUFFER, CutPolicy::End));
    let end = bench.core.capacity().get();
    for sector in (0..end).step_by(600) {
        bench.write(sector, 9, 1, false);
        bench.drain();
    }
    assert_eq!(bench.alone(Operation::WriteZeroes { fua: true }, 1, end - 2), Ok(Vec::new()));
    assert_eq!(bench.byte(0), 9);
    for sector in (600..end).step_by(600) {
        assert_eq!(bench.byte(sector), 0, "{sector}");
    }
    assert_eq!(bench.core.status().requests[4].done, 1);
}

#[test]
fn zeros_are_a_discard_where_a_discard_is_durable() {
    let mut spec: Spec = small("").resolved.spec;
    spec.ftl.discard = DiscardSpec::Durable;
    let drive: Box<Ssd<Bytes512>> = Box::new(Ssd::new(&spec.resolve().expect("valid"), 1));
    let mut bench = Bench::new(Core::new(drive, CutPolicy::End));
    bench.write(0, 5, 64, false);
    bench.drain();
    let before = bench.core.drive().drives()[0].media().bad_blocks();
    assert_eq!(bench.alone(Operation::WriteZeroes { fua: false }, 3, 50), Ok(Vec::new()));
    let expected = |sector: u64| if (3..53).contains(&sector) { 0 } else { 5 };
    (0..64).for_each(|sector| assert_eq!(bench.byte(sector), expected(sector), "{sector}"));
    bench.core.cut_power(bench.now, &mut bench.answers).expect("it was on");
    bench.core.power_on(bench.now, &mut bench.answers).expect("it was off");
    (0..64).for_each(|sector| assert_eq!(bench.byte(sector), expected(sector), "{sector}"));
    assert_eq!(bench.core.drive().drives()[0].media().bad_blocks(), before);
}

#[test]
fn a_planned_fault_fails_one_operation() {
    let mut bench = Bench::new(core("", CutPolicy::End));
    bench.write(0, 1, 4, false);
    bench.write(4, 2, 4, false);
    bench.drain();
    bench
        .core
        .plan(Fault { operation: flash::nand::FaultKind::Read, after: 1, count: 1, drive: None })
        .expect("one drive");
    assert_eq!(bench.alone(Operation::Read, 0, 1).map(|data| data[0]), Ok(1));
    assert_eq!(bench.alone(Operation::Read, 4, 1), Err(JobFailure::Drive(ssd::Status::Uncorrectable)));
    assert_eq!(bench.alone(Operation::Read, 0, 1).map(|data| data[0]), Ok(1));
    bench
        .core
        .plan(Fault { operation: flash::nand::FaultKind::Program, after: 0, count: 1, drive: None })
        .expect("one drive");
    bench.write(8, 3, 4, false);
    bench.drain();
    assert_eq!((bench.byte(8), bench.core.status().bad_blocks), (3, 1));
}

#[test]
fn a_power_state_delays_the_next_request_and_lasts_until_the_power_goes() {
    let power = "power = { controller = { active = \"1W\", idle = \"1W\" }, \
                 operational = [{ power = \"3W\", exit = \"2ms\" }, { power = \"1.1W\", entry = \"3ms\" }] }\n";
    let mut bench = Bench::new(core(power, CutPolicy::Hold));
    assert_eq!(bench.core.select_power_state(1).expect("a state"), Span::from_ms(5));
    let before = bench.core.now();
    assert_eq!(bench.alone(Operation::Read, 0, 1).map(|data| data.len()), Ok(512));
    assert!(bench.core.now() >= before + Span::from_ms(5));
    let refused = bench.core.select_power_state(2).expect_err("there are two");
    assert_eq!(refused.to_string(), "power state 2 is none of the 2 operational ones of the drive; use 0 to 1");
    let state =
        |bench: &Bench| bench.core.drive().counters().power.and_then(|power| power.operational).map(|it| it.state);
    assert_eq!(state(&bench), Some(1));
    bench.core.cut_power(bench.core.now(), &mut Vec::new()).expect("it is on");
    assert!(matches!(bench.core.select_power_state(0), Err(CommandRefusal::Power(WrongPower::Off))));
    bench.core.power_on(bench.core.now(), &mut Vec::new()).expect("it is off");
    assert_eq!(state(&bench), Some(0));
    let refused = core("", CutPolicy::End).select_power_state(0).expect_err("the drive describes none");
    assert!(refused.to_string().contains("no operational power states"), "{refused}");
}

#[test]
fn the_host_takes_its_memory_back_and_the_drive_goes_on_without() {
    let map = "ftl = { map = { kind = \"fmmu\", hmb = { preferred = \"64KiB\", minimum = \"16KiB\" } }";
    let device = Device::parse(SMALL.replace("ftl = { map-unit", &format!("{map}, map-unit")));
    let device = device.unwrap_or_else(|faults| panic!("{faults}"));
    let mut bench = Bench::new(Core::new(Box::new(Ssd::new(&device.resolved, 1)), CutPolicy::Hold));
    bench.write(4, 2, 4, false);
    bench.drain();
    for (given, used) in [(1 << 20, 64 << 10), (8 << 10, 0), (32 << 10, 32 << 10), (0, 0)] {
        let (now, _) = bench.core.set_host_memory(Bytes::new(given)).expect("it asks for memory");
        assert_eq!(now, Bytes::new(used), "of {given} bytes");
        assert_eq!(bench.byte(4), 2);
    }
    bench.core.cut_power(bench.core.now(), &mut Vec::new()).expect("it is on");
    assert!(matches!(bench.core.set_host_memory(Bytes::new(0)), Err(CommandRefusal::Power(WrongPower::Off))));
    bench.core.power_on(bench.core.now(), &mut Vec::new()).expect("it is off");
    assert_eq!(
        bench.core.drive().drives()[0].host_memory_used(),
        Some(Bytes::new(0)),
        "the host does not give it again by itself"
    );
    let refused = core("", CutPolicy::End).set_host_memory(Bytes::new(0)).expect_err("it asks for none");
    assert!(refused.to_string().contains("serve a drive with `ftl.map.hmb`"), "{refused}");
}

#[test]
fn a_die_fails_and_nothing_is_lost() {
    let text = r#"name = "striped"
flash = { part = "dirik-2009", channels = 2, chips = 2, blocks = 40, pages = 16, controllers = "none" }
ftl = { map-unit = "2KiB", over-provisioning = "70%", superblock-dies = 4, parity = true }
"#;
    let device = Device::parse(text.to_owned()).unwrap_or_else(|faults| panic!("{faults}"));
    let mut bench = Bench::new(Core::new(Box::new(Ssd::new(&device.resolved, 1)), CutPolicy::End));
    (0..64).for_each(|n| {
        assert_eq!(bench.alone(Operation::Write { data: vec![n as u8; 2048], fua: false }, 4 * n, 4), Ok(Vec::new()))
    });
    let refused = bench.core.fail_die(4, None).expect_err("there are four");
    assert_eq!(refused.to_string(), "die 4 is none of the 4 dies of the drive; use 0 to 3");
    bench.core.fail_die(1, None).expect("there are four");
    (0..64).for_each(|n| assert_eq!(u64::from(bench.byte(4 * n)), n));
    let parity = bench.core.drive().counters().parity.expect("parity");
    assert!(parity.rebuilt > 0 && parity.lost == 0 && parity.rebuilt_superblocks > 0, "{parity:?}");
    let refused = core("", CutPolicy::End).fail_die(0, None).expect_err("nothing would rebuild the data");
    assert!(refused.to_string().contains("without parity"), "{refused}");
}
