//! Submission queues from outside: shares of the device, order, depth, and placement of writes.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Psn, Sectors, Time};
use flash::backend::{Cause, Op};
use flash::nand::Spare;
use ssd::{Completion, Drive, Precondition, QueueId, Request, Spec, Ssd, Status};

const PAGE: u64 = 4;

fn drive(changes: &str) -> Ssd<()> {
    let base = "name = \"q\"\n[flash]\npart = \"dirik-2009\"\nchannels = 2\nchips = 2\nblocks = 24\npages = 16\n";
    let ftl = if changes.contains("[ftl]") { "" } else { "[ftl]\nover-provisioning = \"40%\"\n" };
    let spec: Spec = toml::from_str(&format!("{base}{changes}{ftl}")).unwrap_or_else(|error| panic!("{error}"));
    Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 7)
}

/// One tenant: a closed loop over its own part of the address space.
#[derive(Clone, Copy)]
struct Tenant {
    queue: u16,
    depth: u64,
    kind: IoKind,
    /// The first page of the tenant's part, and the end of the part.
    region: (u64, u64),
}

impl Tenant {
    const fn reader(queue: u16, depth: u64) -> Self {
        Self { queue, depth, kind: IoKind::Read, region: (0, 800) }
    }

    fn next(&self, tag: u64, rng: &mut Rng) -> Request<()> {
        let page = self.region.0 + rng.below(self.region.1 - self.region.0);
        let io = Io::new(self.kind, Lba::new(page * PAGE), Sectors::new(PAGE));
        let items = if self.kind == IoKind::Write { PAGE as usize } else { 0 };
        Request { tag, queue: QueueId::new(self.queue), io, data: vec![(); items] }
    }
}

/// Runs all tenants until `count` requests have completed; returns all completions in order.
fn run(drive: &mut Ssd<()>, tenants: &[Tenant], requests: usize) -> Vec<Completion<()>> {
    let mut rng = Rng::stream(1, "tenants");
    let (mut all, mut some, mut tag) = (Vec::new(), Vec::new(), 0);
    let mut submitters = Vec::new();
    let deepest = tenants.iter().map(|tenant| tenant.depth).max().unwrap_or(0);
    for turn in 0..deepest {
        for (i, tenant) in tenants.iter().enumerate().filter(|(_, tenant)| turn < tenant.depth) {
            drive.submit(drive.now(), tenant.next(tag, &mut rng));
            submitters.push(i);
            tag += 1;
        }
    }
    while all.len() < requests {
        drive.advance(Time::MAX, &mut some);
        assert!(!some.is_empty(), "nothing completes any more");
        for done in some.drain(..) {
            let i = submitters[done.tag as usize];
            drive.submit(drive.now(), tenants[i].next(tag, &mut rng));
            submitters.push(i);
            tag += 1;
            all.push(done);
        }
    }
    all
}

fn count(completions: &[Completion<()>], queue: u16) -> f64 {
    completions.iter().filter(|done| done.queue == QueueId::new(queue)).count() as f64
}

#[test]
fn saturated_queues_share_the_device_by_their_weights() {
    let equal = "[host]\nqueue-depth = 16\nqueues = 3\n";
    let weighted = r#"[host]
queue-depth = 16
arbitration = "weighted"
[[host.queue]]
weight = 5
[[host.queue]]
weight = 2
[[host.queue]]
"#;
    for (changes, weights) in [(equal, [1.0, 1.0, 1.0]), (weighted, [5.0, 2.0, 1.0])] {
        for burst in [1, 4] {
            for kind in [IoKind::Read, IoKind::Write] {
                let mut drive = drive(&changes.replace("queue-depth", &format!("burst = {burst}\nqueue-depth")));
                drive.precondition(Precondition::Fill, &mut |_, _| {});
                // The queue with the least weight has the most outstanding requests, which must not raise its share.
                let tenants = [(0, 32), (1, 40), (2, 64)].map(|(q, d)| Tenant { kind, ..Tenant::reader(q, d) });
                let done = run(&mut drive, &tenants, 16_000);
                for (queue, weight) in (0..).zip(weights) {
                    let share = count(&done, queue) / done.len() as f64;
                    let fair = weight / weights.iter().sum::<f64>();
                    assert!(
                        (share / fair - 1.0).abs() < 0.01,
                        "{kind:?}, burst {burst}, queue {queue}: {share} {fair}"
                    );
                }
            }
        }
    }
}

#[test]
fn an_idle_queue_leaves_its_share_to_the_others() {
    let changes = "[host]\nqueue-depth = 4\narbitration = \"weighted\"\n[[host.queue]]\nweight = 9\n[[host.queue]]\n";
    let (mut shared, mut alone) = (drive(changes), drive("[host]\nqueue-depth = 4\n"));
    let [shared, alone] = [(&mut shared, 1), (&mut alone, 0)].map(|(drive, queue)| {
        drive.precondition(Precondition::Fill, &mut |_, _| {});
        run(drive, &[Tenant::reader(queue, 8)], 1_000).last().expect("some").end
    });
    assert_eq!(shared, alone);
}

#[test]
fn arbitration_takes_a_burst_from_each_queue_in_order() {
    // With one request at a time the order of completion is that of arbitration.
    let mut d = drive("[host]\nqueue-depth = 1\nqueues = 2\nburst = 3\n");
    d.precondition(Precondition::Fill, &mut |_, _| {});
    let mut rng = Rng::stream(1, "burst");
    // The first command is taken before any other exists, so its burst has one command.
    for (tag, queue) in [0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1].into_iter().enumerate() {
        d.submit(d.now(), Tenant::reader(queue, 1).next(tag as u64, &mut rng));
    }
    let mut done = Vec::new();
    d.drain(&mut done);
    assert_eq!(done.iter().map(|done| done.tag).collect::<Vec<_>>(), [0, 1, 2, 3, 7, 8, 9, 4, 5, 6, 10]);
}

#[test]
fn an_urgent_queue_takes_all_that_it_can_and_the_others_the_rest() {
    let urgent = "[host]\nqueue-depth = 4\narbitration = \"weighted\"\n[[host.queue]]\nurgent = true\n[[host.queue]]\n";
    let bounded = urgent.replace("urgent = true", "urgent = true\ndepth = 3");
    let served = [urgent, &bounded].map(|changes| {
        let mut d = drive(changes);
        d.precondition(Precondition::Fill, &mut |_, _| {});
        run(&mut d, &[Tenant::reader(0, 16), Tenant::reader(1, 16)], 4_000)
    });
    // The drive takes the first request of the other queue before the urgent queue has requests.
    assert!(count(&served[0], 1) <= 4.0, "the weighted queue starves: {}", count(&served[0], 1));
    let share = count(&served[1], 1) / served[1].len() as f64;
    assert!((share - 0.25).abs() < 0.02, "one request of four at once is left: {share}");
}

#[test]
fn a_queue_keeps_its_own_depth() {
    let mut d = drive("[host]\nqueue-depth = 16\n[[host.queue]]\ndepth = 2\n[[host.queue]]\n");
    d.precondition(Precondition::Fill, &mut |_, _| {});
    let done = run(&mut d, &[Tenant::reader(0, 8), Tenant::reader(1, 8)], 2_000);
    for (queue, most) in [(0, 2), (1, 8)] {
        let of = || done.iter().filter(|done| done.queue == QueueId::new(queue));
        let at_once = |at: Time| of().filter(|done| done.start <= at && at < done.end).count();
        assert_eq!(of().map(|done| at_once(done.start)).max(), Some(most), "queue {queue}");
        // Commands of one queue begin in the order of their arrival.
        let mut starts: Vec<_> = of().map(|done| (done.tag, done.start)).collect();
        starts.sort_unstable();
        assert!(starts.windows(2).all(|pair| pair[0].1 <= pair[1].1));
    }
}

#[test]
fn a_thousand_commands_may_be_outstanding() {
    let mut d = drive("[host]\nqueue-depth = 1024\nqueues = 64\n");
    d.precondition(Precondition::Fill, &mut |_, _| {});
    let tenants: Vec<_> = (0..64).map(|queue| Tenant::reader(queue, 32)).collect();
    let done = run(&mut d, &tenants, 10_000);
    assert_eq!(d.outstanding(), 2048);
    let last: Vec<_> = done.iter().rev().take(64).map(|done| done.end - done.start).collect();
    assert!(last.iter().all(|service| service.as_us_f64() > 10_000.0), "a thousand are in the device");
}

#[test]
#[should_panic(expected = "a request to queue 2, of 2 queues")]
fn an_unknown_queue_is_refused() {
    let mut d = drive("[host]\nqueues = 2\n");
    d.submit(Time::ZERO, Tenant::reader(2, 1).next(0, &mut Rng::stream(1, "x")));
}

/// Two writers, each confined to a channel and a half of the addresses.
const CONFINED: &str = r#"[host]
[[host.queue]]
channels = [0]
[[host.queue]]
dies = [2, 3]
[ftl]
over-provisioning = "40%"
"#;

fn halves(drive: &Ssd<()>) -> [Tenant; 2] {
    let pages = drive.capacity().get() / PAGE;
    let writer = |queue, region| Tenant { queue, depth: 12, kind: IoKind::Write, region };
    [writer(0, (0, pages / 2)), writer(1, (pages / 2, pages))]
}

#[test]
fn confined_writes_stay_in_their_dies() {
    for policy in ["request-round-robin", "page-round-robin", "block-striping", "address-striping", "least-loaded"] {
        for buffer in ["", "[buffer]\nsize = \"64KiB\"\n"] {
            let placement = format!("placement = {{ policy = \"{policy}\" }}\n");
            let mut d = drive(&format!("{CONFINED}{placement}{buffer}"));
            let tenants = halves(&d);
            let done = run(&mut d, &tenants, 20_000);
            assert!(done.iter().all(|done| done.status == Status::Done), "{policy}");
            d.drain(&mut Vec::new());
            d.check();
            let moved = d.counters().flash.of(Op::Program, Cause::Gc).slots;
            assert!(moved > 1_000, "{policy} {buffer}: garbage collection has moved {moved} mapping units");
            let (media, mut seen) = (d.media(), [0; 4]);
            for psn in (0..media.geometry().slot_count()).map(Psn::new) {
                let Spare::Data { lpn, .. } = media.spare(psn) else { continue };
                let die = media.geometry().die_of(media.geometry().locate(psn).0).index();
                let first = u64::from(lpn.get()) < tenants[0].region.1;
                assert_eq!(first, die < 2, "{policy} {buffer}: {lpn} is on die {die}");
                seen[die] += 1;
            }
            assert!(seen.iter().all(|pages| *pages > 100), "{policy} {buffer}: all dies are used: {seen:?}");
        }
    }
}

#[test]
fn a_tenant_that_fills_its_dies_is_refused_and_the_other_is_not() {
    let mut d = drive(CONFINED);
    // The first tenant writes all addresses, for which half of the dies has no room.
    let [mut first, second] = halves(&d);
    first.region.1 = second.region.1;
    first.depth = 4;
    let second = Tenant { region: (second.region.0, second.region.0 + 100), ..second };
    let done = run(&mut d, &[first, second], 20_000);
    let refused = |queue: u16| {
        let of = done.iter().filter(|done| done.queue == QueueId::new(queue));
        of.filter(|done| done.status == Status::ReadOnly).count()
    };
    assert!(refused(0) > 0, "there is no room for all of it");
    assert_eq!(refused(1), 0);
    d.drain(&mut Vec::new());
    d.check();
    let reads = run(&mut d, &[Tenant { kind: IoKind::Read, ..first }], 1_000);
    assert!(reads.iter().all(|read| read.status == Status::Done), "written data can be read");
}

#[test]
fn a_buffer_that_cannot_be_written_back_makes_the_drive_read_only() {
    let mut d = drive(&format!("{CONFINED}[buffer]\nsize = \"64KiB\"\n"));
    let [first, second] = halves(&d);
    let greedy = Tenant { region: (0, second.region.1), ..first };
    let second = Tenant { region: (second.region.0, second.region.0 + 100), ..second };
    let done = run(&mut d, &[greedy, second], 20_000);
    let last = &done[done.len() - 100..];
    assert!(last.iter().all(|done| done.status == Status::ReadOnly), "all writes are refused in the end");
    d.drain(&mut Vec::new());
    assert_eq!(d.outstanding(), 0);
}

#[test]
fn two_runs_with_queues_and_confinement_have_one_hash() {
    let hash = || {
        let mut d = drive(CONFINED);
        let tenants = halves(&d);
        run(&mut d, &tenants, 3_000);
        d.counters().event_hash
    };
    assert_eq!(hash(), hash());
}

#[test]
fn a_queue_that_may_not_suspend_waits_for_programs_and_erases() {
    let suspend = "controllers = \"none\"\nsuspend = { program-time = \"1us\", erase-time = \"1us\" }\n";
    let queues = |flags: [&str; 2]| flags.map(|flag| format!("[[host.queue]]\n{flag}\n")).concat();
    let run = |flags: [&str; 2]| {
        let mut drive = drive(&format!("{suspend}[host]\nqueue-depth = 8\n[[host.queue]]\n{}", queues(flags)));
        drive.precondition(Precondition::Fill, &mut |_, _| {});
        let writer = Tenant { kind: IoKind::Write, ..Tenant::reader(0, 4) };
        let done = run(&mut drive, &[writer, Tenant::reader(1, 1), Tenant::reader(2, 1)], 8_000);
        let mean = |queue| {
            let times = done.iter().filter(|done| done.queue == QueueId::new(queue));
            times.map(|done| (done.end - done.arrival).as_us_f64()).sum::<f64>() / count(&done, queue)
        };
        let suspensions: u64 =
            [Op::Program, Op::Erase].map(|op| drive.counters().flash.op(op).suspensions).iter().sum();
        ([mean(1), mean(2)], suspensions)
    };
    let (both, of_both) = run(["", "suspend = true"]);
    assert!((both[0] / both[1] - 1.0).abs() < 0.1, "{both:?} us");
    let (one, of_one) = run(["", "suspend = false"]);
    assert!(one[0] < both[0] * 1.1 && one[1] > 2.0 * one[0], "{one:?} us, not {both:?}");
    let (neither, of_neither) = run(["suspend = false"; 2]);
    assert!(of_neither == 0 && 0 < of_one && of_one < of_both, "{of_both}, {of_one} and {of_neither} suspensions");
    assert!((neither[0] / neither[1] - 1.0).abs() < 0.1, "{neither:?} us");
}
