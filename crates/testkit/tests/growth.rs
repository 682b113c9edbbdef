//! A test that a request takes no more steps on a larger drive, with more queues, or with more requests under way.
//!
//! `base::steps` counts each command, request, log block or waiting task that a loop visits. The simulated drive itself
//! does more on some drives, for example more copies for a merge; so the steps of a request are compared with the
//! request and its flash commands.
//!
//! Along each axis the steps of a request may grow by three tenths: depth to 65,536, 1 to 64 queues or flows, 4 to 128
//! chips, 16 to 1,024 log blocks, 8 to 512 writes of BAST or FAST that wait, 16 to 512 look-ups under way in DFTL or
//! CDFTL, FMMU's map four times as large, zones of 32 to 2,048 pages of a die, Chang's drive and Hydra's sixteen times
//! as large, and a page map on 8 GiB to 8 TiB.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::steps;
use base::units::{Bytes, Lba, Sectors, Time};
use flash::backend::Cause;
use flash::nand::Part;
use ssd::{Completion, Drive, Precondition, QueueId, Request, Spec, Ssd};
use study::oracle::Blank;
use study::run::{Flow, Rules};
use testkit::List;
use workload::{Arrival, Pacing};

/// The number of sectors of a request of 4 KiB.
const UNIT: u64 = 8;

/// Steps of a read or program of a merge, as a share of those of any other flash command: copies without an
/// interruption are one object. Derived from BAST with 16 and 1,024 log blocks (33 and no commands of a merge per
/// write): 6.1 steps for a command of a merge, 34 for any other.
const MERGED: f64 = 0.18;

/// The steps of a request, and its flash commands, where a command of a merge counts as `MERGED`.
#[derive(Clone, Copy, Debug)]
struct Cost {
    steps: f64,
    commands: f64,
}

impl Cost {
    fn relative(self) -> f64 {
        self.steps / (1.0 + self.commands)
    }
}

fn commands(drive: &Ssd<()>) -> f64 {
    let weight = |cause| if cause == Cause::Merge { MERGED } else { 1.0 };
    drive.counters().flash.rows().map(|(_, cause, tally)| weight(cause) * tally.commands as f64).sum()
}

/// Runs random requests of 4 KiB in a closed loop, and counts in the second half.
fn count(drive: Ssd<()>, kind: IoKind, depth: u64, requests: u64) -> Cost {
    count_of(drive, kind, UNIT, depth, requests)
}

/// Runs random requests of this number of sectors in a closed loop, and counts in the second half.
fn count_of(mut drive: Ssd<()>, kind: IoKind, sectors: u64, depth: u64, requests: u64) -> Cost {
    let queues = drive.resolved().host.queues.queues.len() as u64;
    let units = drive.capacity().get() / sectors;
    let mut rng = Rng::stream(1, "growth");
    let mut completions: Vec<Completion<()>> = Vec::new();
    let (mut submitted, mut done, mut before) = (0, 0, None);
    while done < 2 * requests {
        while submitted < done + depth {
            let io = Io::new(kind, Lba::new(rng.below(units) * sectors), Sectors::new(sectors));
            let data = vec![(); if kind == IoKind::Write { sectors as usize } else { 0 }];
            let queue = QueueId::new((submitted % queues) as u16);
            drive.submit(drive.now(), Request { tag: submitted, queue, io, data });
            submitted += 1;
        }
        drive.advance(Time::MAX, &mut completions);
        assert!(!completions.is_empty(), "nothing completes any more");
        done += completions.drain(..).len() as u64;
        if done >= requests && before.is_none() {
            before = Some((steps::counted(), commands(&drive), done));
        }
    }
    let (counted, submitted, from) = before.expect("half of the requests");
    let each = |grown: f64| grown / (done - from) as f64;
    Cost { steps: each((steps::counted() - counted) as f64), commands: each(commands(&drive) - submitted) }
}

fn drive(text: &str, steps: &[Precondition]) -> Ssd<()> {
    let spec: Spec = toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let mut drive = Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{text}: {faults:?}")), 1);
    steps.iter().for_each(|step| _ = drive.precondition(*step, &mut |_, _| {}));
    drive
}

/// Checks that the cost grows by three tenths at most from the first value of an axis to any other.
fn judge(name: &str, along: &[(u64, Cost)]) {
    for (value, cost) in along {
        println!("{name} {value}: {:.1} steps, {:.1} commands: {:.1}", cost.steps, cost.commands, cost.relative());
    }
    for (value, cost) in along {
        let grown = cost.relative() / along[0].1.relative();
        assert!(grown < 1.3, "{name} {value}: {grown:.2} times the cost at {}", along[0].0);
    }
}

/// Counts on a drive of 2,048 blocks of sixteen pages with a log-block FTL.
fn log_blocks(kind: &str, blocks: u64, depth: u64) -> Cost {
    let text = format!(
        r"name = 'g'
flash = {{ part = 'K9XXG08', channels = 2, chips = 2, dies = 1, planes = 1, blocks = 512, pages = 16, controllers = 'per-channel' }}
host = {{ queue-depth = {depth}, link = 'none' }}
ftl = {{ kind = '{kind}', over-provisioning = '60%', log = {{ blocks = {blocks} }} }}
"
    );
    let state = [Precondition::Fill, Precondition::RandomOverwrite(0.3)];
    count(drive(&text, &state), IoKind::Write, depth, 1500)
}

#[test]
fn log_block_ftls_do_no_more_for_a_write_with_more_log_blocks() {
    for kind in ["bast", "fast"] {
        let along = [16, 128, 1024].map(|blocks| (blocks, log_blocks(kind, blocks, 16)));
        judge(&format!("{kind}, log blocks"), &along);
    }
}

#[test]
fn log_block_ftls_do_no_more_for_a_write_when_more_wait() {
    for kind in ["bast", "fast"] {
        let along = [8, 32, 64, 512].map(|depth| (depth, log_blocks(kind, 128, depth)));
        judge(&format!("{kind}, depth"), &along);
    }
}

#[test]
fn hydra_does_no_more_for_a_write_on_a_larger_drive() {
    let text = ssd::builtin().iter().find(|(name, _)| *name == "hydra-prototype").expect("it is built in").1;
    let hydra = |blocks| {
        let mut spec: Spec = toml::from_str(text).expect("a device");
        spec.flash.blocks = Some(blocks);
        spec.ftl.over_provisioning = Some("20%".parse().expect("a share"));
        let drive = Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 1);
        (u64::from(blocks), count(drive, IoKind::Write, 8, 1500))
    };
    judge("hydra, blocks", &[96, 384, 1536].map(hydra));
}

#[test]
fn the_host_side_does_no_more_for_a_write_at_a_greater_depth() {
    let at = |depth| {
        let text = format!(
            r"name = 'g'
flash = {{ part = 'FMMU-V2', channels = 4, chips = 4, blocks = 64, multi-plane = false }}
host = {{ queue-depth = {depth} }}
ftl = {{ map-unit = '4KiB', over-provisioning = '28%' }}
"
        );
        (depth, count(drive(&text, &[]), IoKind::Write, depth, 2 * depth.max(8192)))
    };
    judge("page map, depth", &[1, 32].map(at));
    // At depths of 1,024 and more, writes share programs.
    judge("page map, depth", &[1024, 32768, 65536].map(at));
}

#[test]
fn software_map_units_do_no_more_for_a_question_when_more_wait() {
    let cdftl = ", ctp = '256KiB'";
    for (kind, ctp, io) in [
        ("dftl", "", IoKind::Read),
        ("dftl", "", IoKind::Write),
        ("cdftl", cdftl, IoKind::Read),
        ("cdftl", cdftl, IoKind::Write),
    ] {
        let at = |outstanding| {
            let text = format!(
                r"name = 'g'
flash = {{ part = 'FMMU-V2-page', channels = 4, chips = 4, blocks = 48 }}
host = {{ queue-depth = 512 }}
ftl = {{ map-unit = '4KiB', over-provisioning = '50%', map = {{ kind = '{kind}', cores = 1, outstanding = {outstanding}, write-buffers = 512, cmt = '32KiB'{ctp} }} }}
"
            );
            (outstanding, count(drive(&text, &[Precondition::Fill]), io, 512, 4000))
        };
        judge(&format!("{kind}, {io:?}, outstanding"), &[16, 128, 512].map(at));
    }
}

#[test]
fn a_page_map_does_no_more_for_a_write_with_more_chips_or_queues() {
    // Command cycles are zero: with them 128 writes would wait for two channels, and not for dies, so that four chips
    // would do less work.
    let part = "custom-part = { like = 'FMMU-V2', bus = { command = '0ns' } }";
    let at = |channels: u64, chips: u64, queues: u64| {
        let text = format!(
            r"name = 'g'
flash = {{ {part}, channels = {channels}, chips = {chips}, blocks = 64, pages = 16, multi-plane = false }}
host = {{ queue-depth = 128, queues = {queues} }}
ftl = {{ map-unit = '4KiB', over-provisioning = '28%' }}
"
        );
        let state = [Precondition::Fill, Precondition::RandomOverwrite(0.5)];
        (channels * chips * queues, count(drive(&text, &state), IoKind::Write, 128, 4000))
    };
    judge("page map, chips", &[at(2, 2, 1), at(4, 8, 1), at(8, 16, 1)]);
    judge("page map, queues", &[at(2, 2, 1), at(2, 2, 16), at(2, 2, 64)]);
}

#[test]
fn a_full_buffer_does_no_more_for_a_write_with_more_chips_or_a_larger_buffer() {
    let at = |channels: u64, chips: u64, buffer: u64| {
        let text = format!(
            r"name = 'g'
flash = {{ part = 'FMMU-V2', channels = {channels}, chips = {chips}, blocks = 64, pages = 16, multi-plane = false }}
host = {{ queue-depth = 128 }}
buffer = {{ size = '{buffer}MiB' }}
ftl = {{ map-unit = '4KiB', over-provisioning = '28%' }}
"
        );
        let state = [Precondition::Fill, Precondition::RandomOverwrite(0.5)];
        let requests = 2 * (buffer << 20) / 4096 + 4000;
        (channels * chips * buffer, count(drive(&text, &state), IoKind::Write, 128, requests))
    };
    judge("buffer, chips", &[at(2, 2, 8), at(4, 8, 8), at(8, 16, 8)]);
    judge("buffer, MiB", &[at(2, 2, 1), at(2, 2, 4), at(2, 2, 16)]);
}

/// Returns the cost of a write on a new drive with this number of blocks in a plane. A mapping unit is a page of 32
/// KiB, the largest size, so that the state of a TiB takes 400 MB.
fn capacity(blocks: u64) -> (u64, Cost) {
    const PAGE: u64 = 32 << 10;
    let mut part = Part::preset("FMMU-V2").expect("a part that comes with Flashloom");
    part.name = "large pages".into();
    part.geometry.page = Bytes::new(PAGE);
    let text = format!(
        r"name = 'g'
flash = {{ part = 'FMMU-V2', channels = 4, chips = 4, blocks = {blocks}, multi-plane = false }}
host = {{ queue-depth = 32 }}
ftl = {{ map-unit = '32KiB', over-provisioning = '28%' }}
"
    );
    let mut spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
    (spec.flash.part, spec.flash.custom_part) = (None, Some(part.into()));
    let drive = Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{text}: {faults:?}")), 1);
    let gib = (u64::from(drive.resolved().geometry.slot_count()) * PAGE) >> 30;
    (gib, count_of(drive, IoKind::Write, PAGE / 512, 32, 4000))
}

#[test]
fn a_page_map_does_no_more_for_a_write_on_a_larger_drive() {
    let along = [32, 256, 2048].map(capacity);
    assert_eq!(along.map(|(gib, _)| gib), [8, 64, 512]);
    judge("page map, GiB", &along);
}

#[test]
#[ignore = "make soak"] // 3 GB of state.
fn a_page_map_does_no_more_for_a_write_on_a_drive_of_8_tib() {
    let along = [32, 32768].map(capacity);
    assert_eq!(along.map(|(gib, _)| gib), [8, 8192]);
    judge("page map, GiB", &along);
}

#[test]
fn fmmu_does_no_more_for_a_request_with_more_under_way_or_a_larger_map() {
    let at = |kind, depth: u64, blocks: u64| {
        let text = format!(
            r"name = 'g'
flash = {{ part = 'FMMU-V2-page', channels = 4, chips = 4, blocks = {blocks}, pages = 64 }}
host = {{ queue-depth = {depth} }}
ftl = {{ map-unit = '4KiB', over-provisioning = '50%', map = {{ kind = 'fmmu' }} }}
"
        );
        count(drive(&text, &[Precondition::Fill]), kind, depth, 3000)
    };
    for kind in [IoKind::Read, IoKind::Write] {
        judge(&format!("fmmu, {kind:?}, depth"), &[32, 128, 512].map(|depth| (depth, at(kind, depth, 64))));
        judge(&format!("fmmu, {kind:?}, blocks"), &[64, 256].map(|blocks| (blocks, at(kind, 128, blocks))));
    }
}

#[test]
fn chang_does_no_more_for_a_write_on_a_larger_drive() {
    let text = ssd::builtin().iter().find(|(name, _)| *name == "compare-chang").expect("it is built in").1;
    let chang = |blocks: u64| {
        let mut spec: Spec = toml::from_str(text).expect("a device");
        spec.flash.blocks = Some(blocks as u32);
        spec.ftl.capacity = Some(Bytes::new((blocks * 6) << 20));
        let drive = Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 1);
        (blocks, count(drive, IoKind::Write, 8, 1500))
    };
    judge("chang, blocks", &[256, 1024, 4096].map(chang));
}

/// Returns the cost of a write of 4 KiB to zones with this number of pages of a die, one zone after the other.
fn zone_writes(pages: u64) -> (u64, Cost) {
    let text = format!(
        r"name = 'g'
flash = {{ part = 'FMMU-V2', channels = 2, chips = 2, blocks = 64, pages = {pages}, multi-plane = false }}
host = {{ queue-depth = 16 }}
ftl = {{ kind = 'zns', map-unit = '4KiB', over-provisioning = '40%', zns = {{ max-active = 4 }} }}
"
    );
    let mut drive = drive(&text, &[]);
    let shape = drive.resolved().zones.expect("zones");
    let place = |unit: u64| {
        let (zone, unit) = (unit / u64::from(shape.capacity), unit % u64::from(shape.capacity));
        Lba::new((zone * u64::from(shape.size) + unit) * UNIT)
    };
    let (mut completions, mut ended, before) = (Vec::new(), 0, (steps::counted(), commands(&drive)));
    const REQUESTS: u64 = 3000;
    for tag in 0..REQUESTS {
        let io = Io::new(IoKind::Write, place(tag), Sectors::new(UNIT));
        let data = vec![(); UNIT as usize];
        drive.submit(drive.now(), Request { tag, queue: QueueId::default(), io, data });
        while tag + 1 - ended >= 16 {
            let at = drive.next_event().expect("requests are under way");
            drive.advance(at, &mut completions);
            ended += completions.drain(..).inspect(|done| assert_eq!(done.status, ssd::Status::Done)).count() as u64;
        }
    }
    let each = |count: f64| count / REQUESTS as f64;
    (pages, Cost { steps: each((steps::counted() - before.0) as f64), commands: each(commands(&drive) - before.1) })
}

#[test]
fn a_write_to_a_zone_costs_no_more_in_a_larger_zone() {
    judge("zones, pages", &[32, 256, 2048].map(zone_writes));
}

fn flows(flows: u64, pacing: Pacing) -> Cost {
    const REQUESTS: u64 = 8192;
    let text = r"name = 'g'
flash = { part = 'FMMU-V2', channels = 2, chips = 2, blocks = 32, pages = 16 }
host = { queue-depth = 128 }
ftl = { map-unit = '4KiB', over-provisioning = '28%' }
";
    let mut drive = drive(text, &[Precondition::Fill]);
    let units = drive.capacity().get() / UNIT;
    let mut rng = Rng::stream(1, "growth.flows");
    let gap = 20_000_000 * flows;
    let mut source = |flow: u64| {
        let arrival = |i: u64| {
            Arrival::new(
                Time::from_ps(i * gap + flow * 20_000_000),
                Io::new(IoKind::Read, Lba::new(rng.below(units) * UNIT), Sectors::new(UNIT)),
            )
        };
        List::new((0..REQUESTS / flows).map(arrival).collect(), pacing)
    };
    let mut sources: Vec<_> = (0..flows).map(&mut source).collect();
    let flow = |(i, source)| Flow { name: format!("{i}"), source, pacing: None, queue: QueueId::default() };
    let all = sources.iter_mut().map(|source| source as &mut dyn workload::Source).enumerate().map(flow).collect();
    let before = (steps::counted(), commands(&drive));
    let result = Rules::default().run_several(&mut drive, all, &mut Blank).expect("it runs");
    let each = |grown: f64| grown / result.completed as f64;
    Cost { steps: each((steps::counted() - before.0) as f64), commands: each(commands(&drive) - before.1) }
}

#[test]
fn a_run_does_no_more_for_a_request_with_more_flows() {
    let depth = |flows: u64| Pacing::Closed { depth: (64 / flows) as u32 };
    judge("closed flows", &[1, 8, 64].map(|count| (count, flows(count, depth(count)))));
    judge("open flows", &[1, 8, 64].map(|count| (count, flows(count, Pacing::Open))));
}

#[test]
#[should_panic(expected = "times the cost at 16")]
fn a_cost_that_grows_is_refused() {
    judge("planted", &[16, 128].map(|waiting| (waiting, Cost { steps: waiting as f64, commands: 4.0 })));
}
