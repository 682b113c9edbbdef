//! A device as a host sees it: times, order, power, faults and wear, on drives small enough to reason about.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Span, Time};
use flash::backend::{Cause, Level, Observer, Op, Phase, Primitive};
use flash::nand::Stamp;
use ssd::{Completion, Drive, Precondition, QueueId, Request, Spec, Ssd, Status};

/// One channel of Dirik's generic part, 25 MB/s, with the test's changes.
fn spec(changes: &str) -> Spec {
    let base = "name = \"small\"\n[flash]\npart = \"dirik-2009\"\nchannels = 1\nchips = 4\nblocks = 48\npages = 16\n";
    toml::from_str(&format!("{base}{changes}")).unwrap_or_else(|error| panic!("{error}"))
}

fn drive(changes: &str) -> Ssd<Stamp> {
    let resolved = spec(changes).resolve().unwrap_or_else(|faults| panic!("{faults:?}"));
    Ssd::new(&resolved, 7)
}

fn io(kind: IoKind, start: u64, sectors: u64) -> Io {
    Io::new(kind, Lba::new(start), Sectors::new(sectors))
}

fn submit(drive: &mut Ssd<Stamp>, tag: u64, io: Io) {
    let data = if io.kind == IoKind::Write { vec![Stamp(tag); io.sectors.get() as usize] } else { Vec::new() };
    drive.submit(drive.now(), Request { tag, queue: QueueId::default(), io, data });
}

fn finish(drive: &mut Ssd<Stamp>) -> Vec<Completion<Stamp>> {
    let mut completions = Vec::new();
    drive.drain(&mut completions);
    completions
}

/// Submits one request and waits for its completion.
fn one(drive: &mut Ssd<Stamp>, tag: u64, what: Io) -> Completion<Stamp> {
    submit(drive, tag, what);
    let mut completions = finish(drive);
    assert_eq!(completions.len(), 1);
    completions.remove(0)
}

#[test]
fn a_single_request_takes_the_time_of_its_flash_commands() {
    // dirik.md, section D, at 25 MB/s: 1-page read 106.9 us, 1-page write 281.9 us, 8 KB read 355.7 us in cache mode, 8
    // KB write 881.9 us.
    let mut d = drive("[ftl]\nplacement = { policy = \"request-round-robin\" }\n");
    let us = |completion: Completion<Stamp>| completion.latency().as_us_f64();
    assert!((us(one(&mut d, 1, io(IoKind::Write, 0, 4))) - 281.92).abs() < 1e-3);
    assert!((us(one(&mut d, 2, io(IoKind::Read, 0, 4))) - 106.92).abs() < 1e-3);
    assert!((us(one(&mut d, 3, io(IoKind::Write, 64, 16))) - 881.92).abs() < 1e-3);
    assert!((us(one(&mut d, 4, io(IoKind::Read, 64, 16))) - 355.68).abs() < 1e-3);
}

#[test]
fn the_link_adds_its_overhead_and_its_transfer_time() {
    let mut plain = drive("");
    let mut linked = drive("[host]\nlink = { rate = \"1MB/s\", overhead = \"10us\", duplex = \"half\" }\n");
    for kind in [IoKind::Write, IoKind::Read] {
        let without = one(&mut plain, 1, io(kind, 0, 4)).latency();
        let with = one(&mut linked, 1, io(kind, 0, 4)).latency();
        assert_eq!(with - without, Span::from_us(2048 + 10), "{kind:?}");
    }
}

#[test]
fn a_latency_of_the_link_delays_each_completion_and_occupies_nothing() {
    let link = |latency: &str| format!("[host]\nlink = {{ rate = \"1GB/s\"{latency} }}\n");
    let (mut plain, mut late) = (drive(&link("")), drive(&link(", read-latency = \"30us\", write-latency = \"70us\"")));
    for (kind, later) in [(IoKind::Write, 70), (IoKind::Read, 30), (IoKind::Discard, 0)] {
        let without = one(&mut plain, 1, io(kind, 0, 4)).latency();
        assert_eq!(one(&mut late, 1, io(kind, 0, 4)).latency() - without, Span::from_us(later), "{kind:?}");
    }
    // Forty reads at once take as long as before, and the last one comes later.
    let [plain, late] = [plain, late].map(|mut drive| {
        let begin = drive.now();
        (0..40).for_each(|i| submit(&mut drive, i, io(IoKind::Read, 0, 4)));
        finish(&mut drive).iter().map(|completion| completion.end - begin).max().expect("forty")
    });
    assert!(late - plain <= Span::from_us(60), "{plain} and {late}");
}

#[test]
fn the_nth_write_request_goes_to_bank_n_mod_x() {
    // Dirik & Jacob, Sec. 3: eight writes of 8 KB over four banks, two each, each write in one bank.
    let mut d = drive("[ftl]\nplacement = { policy = \"request-round-robin\" }\n");
    (0..8).for_each(|i| submit(&mut d, i, io(IoKind::Write, i * 16, 16)));
    finish(&mut d);
    let busy = d.counters().die_busy;
    assert!(busy.iter().all(|span| *span == Span::from_us(200 * 8)), "{busy:?}");
}

#[test]
fn overlapping_requests_keep_their_order() {
    let mut d = drive("");
    submit(&mut d, 1, io(IoKind::Write, 0, 8));
    submit(&mut d, 2, io(IoKind::Read, 4, 4));
    submit(&mut d, 3, io(IoKind::Write, 2, 4));
    submit(&mut d, 4, io(IoKind::Read, 0, 8));
    submit(&mut d, 5, io(IoKind::Read, 100, 4));
    let completions = finish(&mut d);
    let order: Vec<u64> = completions.iter().map(|c| c.tag).collect();
    assert_eq!(order[0], 5, "a request without overlap does not wait: {order:?}");
    let data = |tag| completions.iter().find(|c| c.tag == tag).map(|c| c.data.iter().map(|s| s.0).collect::<Vec<_>>());
    assert_eq!(data(2), Some(vec![1; 4]));
    assert_eq!(data(4), Some(vec![1, 1, 3, 3, 3, 3, 1, 1]));
}

#[test]
fn the_queue_depth_bounds_the_requests_under_way() {
    let mut d = drive("[host]\nqueue-depth = 1\n");
    submit(&mut d, 1, io(IoKind::Write, 0, 4));
    submit(&mut d, 2, io(IoKind::Write, 64, 4));
    let completions = finish(&mut d);
    assert_eq!(completions[0].queue_wait(), Span::ZERO);
    assert_eq!(completions[1].queue_wait(), completions[0].service());
    assert_eq!(completions[1].latency(), completions[1].queue_wait() + completions[1].service());
}

#[test]
fn an_address_past_the_end_is_refused() {
    let mut d = drive("");
    let end = d.capacity().get();
    assert_eq!(one(&mut d, 1, io(IoKind::Read, end - 4, 4)).status, Status::Done);
    assert_eq!(one(&mut d, 2, io(IoKind::Read, end - 3, 4)).status, Status::OutOfRange);
    assert_eq!(one(&mut d, 3, io(IoKind::Read, u64::MAX, 4)).status, Status::OutOfRange);
}

#[test]
fn unwritten_and_discarded_sectors_read_as_zeros_without_flash() {
    let mut d = drive("");
    assert_eq!(one(&mut d, 1, io(IoKind::Read, 0, 4)).data, [Stamp(0); 4]);
    one(&mut d, 2, io(IoKind::Write, 0, 8));
    one(&mut d, 3, io(IoKind::Discard, 2, 6));
    let read = one(&mut d, 4, io(IoKind::Read, 0, 8));
    // A mapping unit has four sectors: only the second one lies inside the discard.
    assert_eq!(read.data.iter().map(|s| s.0).collect::<Vec<_>>(), [2, 2, 2, 2, 0, 0, 0, 0]);
    assert_eq!(read.commands, 1);
}

#[test]
fn a_buffered_write_is_acknowledged_at_once_and_durable_after_a_flush() {
    let mut d = drive("[buffer]\nsize = \"64KiB\"\n");
    let write = one(&mut d, 1, io(IoKind::Write, 0, 4));
    assert_eq!(write.latency(), Span::ZERO);
    d.cut_power();
    d.power_on(d.now());
    assert_eq!(one(&mut d, 2, io(IoKind::Read, 0, 4)).data, [Stamp(0); 4], "the buffer was volatile");
    one(&mut d, 3, io(IoKind::Write, 0, 4));
    let flush = one(&mut d, 4, Io::FLUSH);
    assert!(flush.latency() >= Span::from_us(281));
    d.cut_power();
    let recovery = d.power_on(d.now());
    assert_eq!(recovery.units, 1);
    assert!(recovery.time >= Span::from_us(25), "a page was read: {}", recovery.time);
    assert_eq!(one(&mut d, 5, io(IoKind::Read, 0, 4)).data, [Stamp(3); 4]);
}

#[test]
fn requests_wait_until_recovery_is_over() {
    let mut d = drive("");
    one(&mut d, 1, io(IoKind::Write, 0, 4));
    d.cut_power();
    let recovery = d.power_on(d.now());
    let read = one(&mut d, 2, io(IoKind::Read, 0, 4));
    assert_eq!(read.queue_wait(), recovery.time);
}

#[test]
fn an_orderly_power_off_loses_nothing() {
    let mut d = drive("[buffer]\nsize = \"64KiB\"\n");
    (0..20).for_each(|i| submit(&mut d, i + 1, io(IoKind::Write, i * 4, 4)));
    assert_eq!(d.power_off().len(), 20);
    d.power_on(d.now());
    for i in 0..20 {
        assert_eq!(one(&mut d, 100, io(IoKind::Read, i * 4, 4)).data, [Stamp(i + 1); 4]);
    }
}

#[test]
fn every_tag_of_the_host_is_served_alike() {
    let mut d = drive("[buffer]\nsize = \"64KiB\"\nflush = \"ignore\"\n");
    submit(&mut d, u64::MAX, io(IoKind::Write, 0, 4));
    assert_eq!(finish(&mut d).len(), 1);
    // An ignored flush takes no time, for any tag.
    let ignored = [5, u64::MAX].map(|tag| one(&mut d, tag, Io::FLUSH).latency());
    assert_eq!(ignored, [Span::ZERO; 2]);
    submit(&mut d, u64::MAX, io(IoKind::Write, 4, 4));
    let tags: Vec<_> = d.power_off().iter().map(|completion| completion.tag).collect();
    assert_eq!(tags, [u64::MAX], "power-off returns the completions of the host only");
    d.power_on(d.now());
    assert_eq!(one(&mut d, 7, io(IoKind::Read, 0, 8)).data, [Stamp(u64::MAX); 8], "it is written back all the same");
}

#[test]
fn garbage_collection_keeps_an_uncorrectable_page_uncorrectable() {
    let mut d = drive("[ftl]\nover-provisioning = \"40%\"\n");
    one(&mut d, 1, io(IoKind::Write, 0, 4));
    d.media_mut().faults_mut().fail_read(0);
    assert_eq!(one(&mut d, 2, io(IoKind::Read, 0, 4)).status, Status::Uncorrectable);
    // Overwrite all other pages until the page has been moved.
    let units = d.capacity().get() / 4;
    let mut rng = Rng::stream(1, "test");
    for tag in 0..4000 {
        one(&mut d, tag, io(IoKind::Write, (1 + rng.below(units - 1)) * 4, 4));
    }
    assert!(d.counters().flash.of(Op::Program, Cause::Gc).slots > 0);
    assert_eq!(one(&mut d, 3, io(IoKind::Read, 0, 4)).status, Status::Uncorrectable);
    one(&mut d, 4, io(IoKind::Write, 0, 4));
    assert_eq!(one(&mut d, 5, io(IoKind::Read, 0, 4)).data, [Stamp(4); 4], "new data is whole");
}

#[test]
fn a_worn_out_drive_refuses_writes_and_still_reads() {
    let mut d = drive("[flash.faults]\nwear-out = true\n[ftl]\nover-provisioning = \"40%\"\n");
    // The part's 100,000 cycles would take too long: let every erase fail instead.
    (0..2000).for_each(|nth| d.media_mut().faults_mut().fail_erase(nth));
    let units = d.capacity().get() / 4;
    let mut rng = Rng::stream(2, "test");
    let mut newest = vec![0; units as usize];
    let refused = (1..20_000).find(|tag| {
        let unit = rng.below(units);
        let write = one(&mut d, *tag, io(IoKind::Write, unit * 4, 4));
        if write.status == Status::Done {
            newest[unit as usize] = *tag;
        }
        write.status == Status::ReadOnly
    });
    assert!(refused.is_some(), "no write was refused");
    for (unit, tag) in newest.iter().enumerate() {
        assert_eq!(one(&mut d, 0, io(IoKind::Read, unit as u64 * 4, 4)).data, [Stamp(*tag); 4]);
    }
}

#[test]
fn copy_back_keeps_garbage_collection_off_the_bus() {
    let bytes = |copy_back| {
        let part = "[flash.custom-part]";
        let mut spec = spec(&format!("[ftl]\nover-provisioning = \"40%\"\ngc = {{ copy-back = {copy_back} }}\n"));
        let mut custom = flash::nand::Part::preset("dirik-2009").expect(part).clone();
        custom.features.copy_back = true;
        (custom.geometry.blocks_per_plane, custom.geometry.pages_per_block) = (48, 16);
        let flash = &mut spec.flash;
        (flash.part, flash.custom_part, flash.blocks, flash.pages) = (None, Some(custom.into()), None, None);
        let mut d = Ssd::<Stamp>::new(&spec.resolve().expect("valid"), 1);
        d.precondition(Precondition::Fill, &mut |_, _| {});
        let units = d.capacity().get() / 4;
        let mut rng = Rng::stream(3, "test");
        (1..3000).for_each(|tag| drop(one(&mut d, tag, io(IoKind::Write, rng.below(units) * 4, 4))));
        let account = d.counters().flash;
        (account.of(Op::Program, Cause::Gc).bytes.get(), account.of(Op::CopyBack, Cause::Gc).pages)
    };
    let (with, copied) = bytes(true);
    assert_eq!(with, 0);
    assert!(copied > 1000);
    let (without, none) = bytes(false);
    assert!(without > 0 && none == 0);
}

/// Erase counts after a workload that writes four fifths of the space once, and the rest again and again.
fn spread(wear: &str) -> u32 {
    let mut d = drive(&format!("[ftl]\nover-provisioning = \"30%\"\nwear = {{ {wear} }}\n"));
    d.precondition(Precondition::Fill, &mut |_, _| {});
    let units = d.capacity().get() / 4;
    let mut rng = Rng::stream(4, "test");
    for tag in 1..40_000 {
        one(&mut d, tag, io(IoKind::Write, rng.below(units / 5) * 4, 4));
    }
    let counts = d.erase_counts();
    counts.iter().max().expect("blocks") - counts.iter().min().expect("blocks")
}

#[test]
fn static_wear_levelling_bounds_the_spread() {
    let with = spread("threshold = 8, check-every = 4");
    let without = spread("dynamic = true");
    // The threshold, plus the erases between two scans.
    assert!(with <= 8 + 6, "spread of {with} with a threshold of 8");
    assert!(without > 2 * with, "spread of {without} without static wear levelling, {with} with it");
}

#[test]
fn preconditioning_fills_the_flash_in_no_simulated_time() {
    let mut d = drive("[ftl]\nover-provisioning = \"30%\"\n");
    let filled = d.precondition(Precondition::Fill, &mut |_, _| {});
    assert_eq!((filled.units * 4, filled.write_amplification), (d.capacity().get(), 1.0));
    assert_eq!(d.now(), Time::ZERO);
    assert_eq!(d.counters().flash.op(Op::Program).slots, 0, "counters begin after it");
    let steady = d.precondition(Precondition::Steady, &mut |_, _| {});
    assert!(steady.write_amplification > 1.1, "{steady:?}");
    d.check();
    assert_eq!(one(&mut d, 1, io(IoKind::Read, 0, 4)).commands, 1, "everything is mapped");
}

#[test]
fn preconditioning_reports_progress_and_ends_at_the_steady_state() {
    let mut spec = spec("[ftl]\nover-provisioning = \"30%\"\n");
    spec.flash.blocks = Some(2048);
    let mut d = Ssd::<()>::new(&spec.resolve().expect("valid"), 7);
    let units = d.capacity().get() / 4;
    for (step, total) in [(Precondition::RandomOverwrite(1.0), units), (Precondition::Steady, 10 * units)] {
        let mut said = Vec::new();
        let done = d.precondition(step, &mut |done, of| said.push((done, of)));
        assert!(!said.is_empty() && said.is_sorted(), "{said:?}");
        assert!(said.iter().all(|(so_far, of)| *so_far <= done.units && *of == total), "{said:?} of {total}");
        assert!(step != Precondition::Steady || done.units < 5 * units, "{done:?} of {units}");
    }
}

#[test]
fn a_failed_program_in_the_last_free_superblock_refuses_no_write() {
    // The failed program may be any, even one in the superblock kept for collection: collection goes on, and no write
    // is refused.
    let run = |fail: &dyn Fn(&mut Ssd<Stamp>)| {
        let mut spec = spec(
            "[ftl]\nover-provisioning = \"55%\"\ngc = { start = 1, stop = 2, victim = { policy = \"random\" } }\n",
        );
        (spec.flash.chips, spec.flash.blocks, spec.flash.pages) = (2, Some(10), Some(4));
        let mut d = Ssd::new(&spec.resolve().expect("valid"), 7);
        fail(&mut d);
        let units = d.capacity().get() / 4;
        let mut rng = Rng::stream(5, "test");
        for tag in 1..400 {
            for _ in 0..4 {
                submit(&mut d, tag, io(IoKind::Write, rng.below(units) * 4, 4));
            }
            assert!(finish(&mut d).iter().all(|write| write.status == Status::Done), "write {tag} is refused");
        }
        d.check();
    };
    for nth in 0..200 {
        run(&|d| d.media_mut().faults_mut().fail_program(nth));
        run(&|d| (nth..nth + 2).for_each(|nth| d.media_mut().faults_mut().fail_erase(nth)));
    }
}

/// A drive of one pool that is overwritten at random, with the causes of its page programs in order. The `nth`
/// program fails, if `nth` is given.
fn overwritten(nth: Option<usize>) -> (Ssd<Stamp>, Vec<Cause>) {
    let mut spec = spec("[ftl]\nover-provisioning = \"55%\"\n");
    (spec.flash.chips, spec.flash.blocks, spec.flash.pages) = (1, Some(16), Some(8));
    let mut d = Ssd::new(&spec.resolve().expect("valid"), 7).observed_by(Vec::<Phase>::new());
    if let Some(nth) = nth {
        d.media_mut().faults_mut().fail_program(nth as u64);
    }
    let units = d.capacity().get() / 4;
    let mut rng = Rng::stream(5, "test");
    for tag in 1..300 {
        submit(&mut d, tag, io(IoKind::Write, rng.below(units) * 4, 4));
        assert!(finish(&mut d).iter().all(|write| write.status == Status::Done), "write {tag} is refused");
    }
    d.check();
    let phases = d.observer::<Vec<Phase>>().expect("it is observed");
    let programs = phases.iter().filter(|phase| phase.primitive == Primitive::Program);
    let causes = programs.map(|phase| phase.cause).collect();
    (d, causes)
}

#[test]
fn a_failing_superblock_takes_no_program_of_host_or_collector() {
    // The media refuse every program behind a failed one, so the test only provokes it: the first program of either
    // stream fails, and the FTL must not use the remaining pages of its superblock.
    let (sound, causes) = overwritten(None);
    assert_eq!(sound.media().bad_blocks(), 0);
    for cause in [Cause::Host, Cause::Gc] {
        let all = causes.iter().filter(|of| **of == cause).count();
        assert!(all > 16, "{all} programs for {}, of eight a superblock", cause.name());
        let first = causes.iter().position(|of| *of == cause).expect("there are some");
        let (d, causes) = overwritten(Some(first));
        assert_eq!(causes[first], cause);
        assert!(causes[first + 1..].iter().filter(|of| **of == cause).count() > 16, "it goes on elsewhere");
        assert_eq!(d.media().bad_blocks(), 1, "and the superblock is retired");
    }
}

#[derive(Clone, Debug, Default)]
struct Levels(Vec<(Level, u64)>);

impl Observer for Levels {
    fn boxed(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }

    fn phase(&mut self, _: Phase) {}

    fn level(&mut self, _: Time, level: Level, value: u64) {
        self.0.push((level, value));
    }
}

#[test]
fn observers_see_the_levels_of_queues_buffer_and_free_blocks() {
    // One request is active, and two wait for it.
    let resolved = spec("[host]\nqueue-depth = 1\n").resolve().expect("valid");
    let mut d = Ssd::new(&resolved, 7).observed_by(Levels::default());
    (0..3).for_each(|i| submit(&mut d, i, io(IoKind::Write, i * 4, 4)));
    finish(&mut d);
    let levels = d.observer::<Levels>().expect("it is observed");
    let of = |wanted| levels.0.iter().filter(move |(level, _)| *level == wanted).map(|(_, value)| *value);
    for (level, most) in [(Level::Waiting, 2), (Level::Active, 1), (Level::Buffered, 0)] {
        assert_eq!((of(level).max(), of(level).next_back()), (Some(most), Some(0)), "{level:?}");
    }
    let blocks = of(Level::FreeBlocks).collect::<Vec<_>>();
    // Each write goes to a bank of its own, and opens a block there.
    assert_eq!(blocks.first().zip(blocks.last()).map(|(first, last)| first - last), Some(3), "{blocks:?}");
}
