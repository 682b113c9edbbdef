//! Read retry against closed forms: an attempt takes the time of a read on every resource.

use std::sync::Arc;

use super::*;
use crate::backend::SuspendSpec;
use crate::nand::{Decoding, ErrorModel, ErrorSettings, ErrorTable, SoftLimit};
use base::units::{Age, Ratio, Temperature};

/// Time in us of a page of 2 KiB at 25 MB/s.
const PAGE: f64 = 81.92;
const READ: f64 = 25.0;
const LATENCY: f64 = 6.0;
const CODEWORD: f64 = 4.0;
/// Time in us of one attempt: the array, the transfer, the last codeword, and the decoder's pipeline.
const ATTEMPT: f64 = READ + PAGE + CODEWORD + LATENCY;

/// Codewords of 4,096 bits of which 40 may be wrong. At a rate of 3 % the first attempt and the attempt with the first
/// step fail, and the attempt with the second step succeeds, each with near certainty.
fn table() -> ErrorTable {
    let mut table = Part::preset("tlc-72l").expect("a preset").errors.expect("its errors");
    (table.base, table.wear, table.retention, table.disturb) = (0.03, 0.0, 0.0, 0.0);
    (table.page_types, table.block_spread, table.layer_spread) = (vec![1.0], Ratio::ZERO, Ratio::ZERO);
    table.retry_rber = [0.7, 0.15].map(Ratio::new).to_vec();
    table.retry_time = vec![Span::from_us(1), Span::from_us(2)];
    table
}

struct Drive {
    table: ErrorTable,
    limit: u32,
    soft: Option<SoftLimit>,
    remember: bool,
    suspend: Option<SuspendSpec>,
    chips: u32,
}

impl Default for Drive {
    fn default() -> Self {
        Self { table: table(), limit: 40, soft: None, remember: true, suspend: None, chips: 1 }
    }
}

impl Drive {
    fn build(&self) -> Bench {
        let part = Part::preset("dirik-2009").expect("a preset");
        let geometry = Geometry::new(1, self.chips, 1, 1, 1, 16, 64, 1, 4).expect("a small array");
        let decoding = Decoding { bits: 4096, sectors: 1, limit: self.limit, soft: self.soft };
        let settings = ErrorSettings { temperature: self.table.temperature, remember: self.remember, cycles: 0 };
        let errors = Arc::new(ErrorModel::new(&self.table, settings, decoding, 64));
        let ecc = Ecc {
            latency: Span::from_us(LATENCY as u64),
            codeword_time: Span::from_us(CODEWORD as u64),
            codeword: 1,
            decoders: Decoders::PerChannel,
            soft: Span::from_us(10),
        };
        let timing = Timing::new(&part, &geometry, Rate::new(25_000_000), false).expect("a valid part");
        let config =
            Config { ecc: Some(ecc), errors: Some(errors.clone()), suspend: self.suspend, ..Config::new(timing) };
        let media = Media::new(geometry, 100, 1, Faults::new(&FaultSpec::default(), 1)).with_errors(Some(&errors), 1);
        let mut bench = Bench {
            backend: observed(media, &config),
            events: EventQueue::default(),
            hash: EventHash::default(),
            now: Time::ZERO,
        };
        for superblock in (0..self.chips).map(|chip| 16 * chip).chain([1]) {
            let list = bench.list(Op::Program, superblock, 0, 4);
            bench.submit(list);
            bench.run();
        }
        bench.backend.reset_account();
        bench
    }
}

/// Reads one page of a block, and returns the time.
fn read(bench: &mut Bench, superblock: u32, offset: u32) -> f64 {
    let list = bench.list(Op::Read, superblock, offset, 1);
    bench.submit(list);
    bench.run()[0].1.as_us_f64()
}

/// Checks the laws of the accounts: the time that resources worked is the time of the commands.
fn reconciles(bench: &Bench) -> Account {
    let now = bench.now;
    let account = bench.backend.account(now);
    let sum = |busy: &mut dyn Iterator<Item = Span>| busy.sum::<Span>();
    let all = |of: fn(&Tally) -> Span| Op::ALL.into_iter().map(|op| of(&account.op(op))).sum::<Span>();
    assert_eq!(sum(&mut bench.backend.die_busy(now)), all(|tally| tally.array));
    assert_eq!(sum(&mut bench.backend.channel_busy(now)), all(|tally| tally.bus));
    assert_eq!(sum(&mut bench.backend.decoder_busy(now)), all(|tally| tally.decode));
    account
}

#[test]
fn each_attempt_takes_the_array_the_channel_and_the_decoder_again() {
    let mut bench = Drive::default().build();
    close(read(&mut bench, 0, 0), 3.0 * ATTEMPT + 1.0 + 2.0);
    let tally = reconciles(&bench).op(Op::Read);
    assert_eq!((tally.commands, tally.pages, tally.slots, tally.retries), (1, 1, 1, 2));
    close(tally.array.as_us_f64(), 3.0 * READ + 3.0);
    close(tally.bus.as_us_f64(), 3.0 * PAGE);
    close(tally.decode.as_us_f64(), 12.0 * CODEWORD);
    let counters = bench.backend.media().error_counters().expect("errors");
    assert_eq!((&counters.by_retries[..], counters.codewords, counters.soft), (&[0, 0, 1][..], 4, 0));
    close(counters.rber_sum, 4.0 * 0.03);
    let arrays: Vec<_> =
        bench.phases().iter().filter(|phase| phase.op == Op::Read).map(|phase| phase.primitive).collect();
    let retries = arrays.iter().filter(|primitive| **primitive == Primitive::Retry).count();
    assert_eq!((arrays[0], retries), (Primitive::Read, 2));
}

#[test]
fn the_step_of_a_block_is_remembered_until_its_erase() {
    let mut bench = Drive::default().build();
    read(&mut bench, 0, 0);
    close(read(&mut bench, 0, 3), ATTEMPT + 2.0);
    close(read(&mut bench, 1, 0), 3.0 * ATTEMPT + 3.0);
    assert_eq!(reconciles(&bench).op(Op::Read).retries, 4, "of three reads");
    bench.backend.media_mut().erase(SuperblockId::new(0));
    let list = bench.list(Op::Program, 0, 0, 1);
    bench.submit(list);
    bench.run();
    close(read(&mut bench, 0, 0), 3.0 * ATTEMPT + 3.0);
    let mut bench = Drive { remember: false, ..Drive::default() }.build();
    for _ in 0..2 {
        close(read(&mut bench, 0, 0), 3.0 * ATTEMPT + 3.0);
    }
}

#[test]
fn soft_decoding_follows_the_last_step_with_reads_of_its_own() {
    let soft = Some(SoftLimit { sensings: 3, limit: 200 });
    let short = ErrorTable { retry_rber: vec![Ratio::new(0.9)], retry_time: vec![Span::ZERO], ..table() };
    let mut bench = Drive { table: short.clone(), soft, ..Drive::default() }.build();
    // The decoder works 14 us on each codeword of the last sensing, so it keeps up with a codeword in 20.48 us.
    close(read(&mut bench, 0, 0), 5.0 * ATTEMPT + 10.0);
    let tally = reconciles(&bench).op(Op::Read);
    close(tally.decode.as_us_f64(), 20.0 * CODEWORD + 4.0 * 10.0);
    let counters = bench.backend.media().error_counters().expect("errors");
    assert_eq!((counters.soft, counters.uncorrectable, counters.by_retries[4]), (1, 0, 1));
    assert!(!bench.backend.media().is_unreadable(Psn::new(0)));
    // With a limit that soft decoding does not reach either, the data is lost after the same number of attempts.
    let soft = Some(SoftLimit { sensings: 3, limit: 50 });
    let mut bench = Drive { table: short, soft, ..Drive::default() }.build();
    let list = bench.list(Op::Read, 0, 0, 1);
    bench.submit(list);
    while bench.backend.command(bench.backend.list(list).first().expect("a read")).state != CommandState::Done {
        let (at, event) = bench.events.pop().expect("an event");
        bench.now = at;
        bench.backend.handle(at, event, &mut bench.events, &mut bench.hash);
    }
    let command = bench.backend.list(list).first().expect("a read");
    assert!(bench.backend.slots(command).all(|(_, slot)| slot.lost));
    assert!(bench.backend.media().is_unreadable(Psn::new(0)) && !bench.backend.media().is_unreadable(Psn::new(1)));
    let counters = bench.backend.media().error_counters().expect("errors");
    assert_eq!((counters.soft, counters.uncorrectable), (1, 1));
}

#[test]
fn a_retry_goes_before_the_commands_that_wait_for_its_die() {
    let mut bench = Drive::default().build();
    let lists = [(0, 0), (1, 0), (0, 1)].map(|(superblock, offset)| bench.list(Op::Read, superblock, offset, 1));
    lists.into_iter().for_each(|list| bench.submit(list));
    // The die reads the second page while the first crosses, and so on; the third read waits for both.
    let ends = bench.run();
    assert_eq!(ends.iter().map(|(tag, _)| *tag).collect::<Vec<_>>(), [0, 1, 0]);
    let phases = bench.phases().clone();
    let arrays = phases.iter().filter(|phase| matches!(phase.resource, Resource::Array(_)) && phase.op == Op::Read);
    let mut numbers: Vec<_> = arrays.map(|phase| phase.command).collect();
    let last = *numbers.last().expect("reads");
    numbers.retain(|number| *number != last);
    assert_eq!(numbers.len(), 6, "three attempts of each before the third page");
    reconciles(&bench);
}

#[test]
fn reads_without_errors_take_the_same_time_with_and_without_the_model() {
    let mut sound = table();
    sound.base = 1e-4;
    let mut bench = Drive { table: sound, ..Drive::default() }.build();
    close(read(&mut bench, 0, 0), ATTEMPT);
    assert_eq!(reconciles(&bench).op(Op::Read).retries, 0);
}

#[test]
fn a_retry_suspends_a_program_like_any_other_read() {
    let suspend = SuspendSpec { program_time: Span::from_us(5), ..SuspendSpec::default() };
    let mut bench = Drive { suspend: Some(suspend), ..Drive::default() }.build();
    let list = bench.list(Op::Read, 0, 0, 1);
    bench.submit(list);
    let program = bench.list(Op::Program, 2, 0, 1);
    bench.submit(program);
    bench.run();
    let account = reconciles(&bench);
    assert_eq!(account.op(Op::Read).retries, 2);
    assert!(account.op(Op::Program).suspensions >= 1, "{account:?}");
}

#[test]
fn data_ages_with_and_without_power() {
    let aging = ErrorTable { base: 1e-4, retention: 1e-3, retention_cycles: 0.0, ..table() };
    let drive = Drive { table: aging, ..Drive::default() };
    let mut bench = drive.build();
    close(read(&mut bench, 0, 0), ATTEMPT);
    // After 545 hours at the table's temperature: 1e-3 x 545^0.54 = 3 %.
    let thirty = Temperature::from_celsius(30);
    bench.backend.media_mut().age(Age::from_secs(545 * 3600), thirty);
    close(read(&mut bench, 0, 1), 3.0 * ATTEMPT + 3.0);
    // A page that is programmed now is new.
    let list = bench.list(Op::Program, 2, 0, 1);
    bench.submit(list);
    bench.run();
    close(read(&mut bench, 2, 0), ATTEMPT);
    // At 40 C the same errors come in a fraction of the time.
    let mut bench = drive.build();
    bench.backend.media_mut().age(Age::from_secs(545 * 3600 * 10 / 38), Temperature::from_celsius(40));
    close(read(&mut bench, 0, 1), 3.0 * ATTEMPT + 3.0);
    let mut bench = drive.build();
    bench.backend.media_mut().age(Age::from_secs(3600), thirty);
    close(read(&mut bench, 0, 1), ATTEMPT);
}

#[test]
fn reads_disturb_their_block_and_no_other() {
    let disturbed = ErrorTable { base: 1e-4, disturb: 0.06, disturb_cycles: 0.0, disturb_reads: 1.0, ..table() };
    let mut bench = Drive { table: disturbed, remember: false, ..Drive::default() }.build();
    // Reads of half the pages of a block count as half a read for each page: a rate of 3 %.
    (0..6).for_each(|_| close(read(&mut bench, 1, 0), ATTEMPT));
    (0..26).for_each(|_| _ = read(&mut bench, 1, 0));
    assert!(read(&mut bench, 1, 1) > 2.0 * ATTEMPT);
    close(read(&mut bench, 0, 0), ATTEMPT);
}
