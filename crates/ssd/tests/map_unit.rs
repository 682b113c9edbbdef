//! Drives with a map unit: the time of its answers, the cost of its pages, and its recovery after a power loss.

use std::collections::VecDeque;

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Bytes, Lba, Lpn, Psn, Sectors, Span, Time};
use flash::backend::{Cause, Op};
use flash::nand::{Image, Stamp};
use ssd::map_unit::{Answer, AnyMapUnit, Ask, Asker, Counters, MapUnit, Output, SPAN, Ticket};
use ssd::{Completion, Drive, MapSpec, Precondition, QueueId, Request, Spec, Ssd};

/// Two dies of 24 blocks of 16 pages of 2 KB, mapped by 1 KiB: 256 entries in a translation page.
fn spec(map: &str) -> Spec {
    let text = format!(
        r#"name = "small"
[flash]
part = "dirik-2009"
channels = 2
chips = 1
blocks = 24
pages = 16
[ftl]
map-unit = "1KiB"
over-provisioning = "50%"
map = {map}
"#
    );
    toml::from_str(&text).expect("a description")
}

fn drive(map: &str) -> Ssd<Stamp> {
    Ssd::new(&spec(map).resolve().expect("valid"), 1)
}

const TABLE: &str = "{ kind = \"table\", service = \"1ms\" }";
const UNCACHED: &str = "{ kind = \"uncached\" }";

fn one(drive: &mut Ssd<Stamp>, tag: u64, kind: IoKind, start: u64, sectors: u64) -> Completion<Stamp> {
    let io = Io::new(kind, Lba::new(start), Sectors::new(sectors));
    let data = vec![Stamp(tag); if kind == IoKind::Write { sectors as usize } else { 0 }];
    drive.submit(drive.now(), Request { tag, queue: QueueId::default(), io, data });
    let mut done = Vec::new();
    while done.is_empty() {
        drive.advance(Time::MAX, &mut done);
    }
    done.remove(0)
}

fn commands(drive: &Ssd<Stamp>, op: Op, cause: Cause) -> u64 {
    drive.counters().flash.of(op, cause).commands
}

#[test]
fn requests_wait_for_the_answers_of_the_map_unit() {
    let mut ram = drive("{ kind = \"ram\" }");
    let mut table = drive(TABLE);
    let service = Span::from_ms(1);
    for (kind, start, sectors, questions) in [
        // Programmed first, and acknowledged after the map's answer.
        (IoKind::Write, 0, 2, 1),
        (IoKind::Read, 0, 2, 1),
        // A part of a mapping unit: the FTL looks it up as well, before it places it.
        (IoKind::Write, 0, 1, 2),
        // Sixteen neighbours are one question, from the one at which the block of entries begins.
        (IoKind::Read, 0, 32, 1),
        (IoKind::Read, 30, 4, 2),
        (IoKind::Discard, 0, 4, 2),
    ] {
        let ideal = one(&mut ram, 1, kind, start, sectors).latency();
        let asked = one(&mut table, 1, kind, start, sectors).latency();
        assert_eq!(asked, ideal + service * questions, "{kind:?} of {sectors} sectors at {start}");
    }
}

#[test]
fn each_piece_of_a_chopped_request_asks_the_map_unit() {
    let questions = |chop: Option<u64>, buffered: bool| {
        let mut spec = spec(TABLE);
        spec.host.chop = chop.map(base::units::Bytes::new);
        spec.buffer = buffered.then(|| ssd::BufferSpec::new(base::units::Bytes::new(4096)));
        let mut drive = Ssd::<Stamp>::new(&spec.resolve().expect("valid"), 1);
        drive.precondition(Precondition::Fill, &mut |_, _| {});
        // Across the ends of pieces: sectors 30 to 93 touch seventeen pieces of 2 KiB.
        let done = one(&mut drive, 1, IoKind::Read, 30, 64);
        assert_eq!((done.data.len(), done.status), (64, ssd::Status::Done));
        let asked = drive.counters().map.expect("a map unit").questions;
        one(&mut drive, 2, IoKind::Write, 30, 64);
        let read = one(&mut drive, 3, IoKind::Read, 28, 68).data;
        assert!(read[..2].iter().chain(&read[66..]).all(|stamp| stamp.as_preconditioned().is_some()));
        assert!(read[2..66].iter().all(|stamp| *stamp == Stamp(2)), "{read:?}");
        drive.drain(&mut Vec::new());
        drive.check();
        asked
    };
    for buffered in [false, true] {
        // Sixteen neighbours of 1 KiB are one question.
        assert_eq!(questions(None, buffered), 3);
        assert_eq!(questions(Some(2048), buffered), 17);
        assert_eq!(questions(Some(1024), buffered), 32);
    }
}

/// Runs random requests of up to four sectors, sixteen at once, on a drive that has been overwritten. Between two
/// completions time advances in one step, or from event to event. Returns the times of the completions and the event
/// hash.
fn mixed(map: &str, by_event: bool) -> (Vec<(u64, Time)>, u64, u64) {
    let mut d = drive(map);
    d.precondition(Precondition::Fill, &mut |_, _| {});
    let (mut rng, sectors) = (Rng::stream(3, "map_unit.mixed"), d.capacity().get());
    let (mut submitted, mut times, mut done) = (0, Vec::new(), Vec::new());
    while times.len() < 1500 {
        while submitted < times.len() as u64 + 16 {
            let kind = if rng.below(2) == 0 { IoKind::Read } else { IoKind::Write };
            let count = 1 + rng.below(4);
            let io = Io::new(kind, Lba::new(rng.below(sectors - count)), Sectors::new(count));
            let data = vec![Stamp(submitted); if kind == IoKind::Write { count as usize } else { 0 }];
            d.submit(d.now(), Request { tag: submitted, queue: QueueId::default(), io, data });
            submitted += 1;
        }
        let to = if by_event { d.next_event().expect("requests are under way") } else { Time::MAX };
        d.advance(to, &mut done);
        times.extend(done.drain(..).map(|completion| (completion.tag, completion.end)));
    }
    d.check();
    (times, d.events(), d.counters().event_hash)
}

#[test]
fn a_map_unit_that_works_alone_takes_the_same_steps_as_with_an_event_for_each() {
    let software = "cmt = \"1KiB\", block = \"64B\", ways = 2, write-buffers = 4, outstanding = 8";
    for map in [
        "{ kind = \"table\", service = \"300ns\" }".to_owned(),
        UNCACHED.to_owned(),
        format!("{{ kind = \"dftl\", cores = 2, {software} }}"),
        format!("{{ kind = \"cdftl\", cores = 1, ctp = \"4KiB\", {software} }}"),
        "{ kind = \"fmmu\", cmt = \"1KiB\", ctp = \"4KiB\", ways = 2 }".to_owned(),
    ] {
        assert_eq!(mixed(&map, false), mixed(&map, true), "{map}");
    }
}

#[test]
fn without_a_cache_each_lookup_loads_and_each_update_stores() {
    let mut d = drive(UNCACHED);
    one(&mut d, 1, IoKind::Write, 0, 2);
    assert_eq!(
        (commands(&d, Op::Read, Cause::Map), commands(&d, Op::Program, Cause::Map)),
        (0, 1),
        "there was nothing"
    );
    one(&mut d, 2, IoKind::Write, 2, 2);
    assert_eq!((commands(&d, Op::Read, Cause::Map), commands(&d, Op::Program, Cause::Map)), (1, 2));
    assert_eq!(one(&mut d, 3, IoKind::Read, 0, 4).data, [Stamp(1), Stamp(1), Stamp(2), Stamp(2)]);
    assert_eq!((commands(&d, Op::Read, Cause::Map), commands(&d, Op::Program, Cause::Map)), (2, 2));
    d.check();
}

#[test]
fn after_an_orderly_power_off_no_translation_page_is_rewritten() {
    let mut d = drive(UNCACHED);
    d.precondition(Precondition::Fill, &mut |_, _| {});
    d.precondition(Precondition::RandomOverwrite(0.5), &mut |_, _| {});
    assert_eq!(d.counters().flash.op(Op::Program).commands, 0, "preconditioning does not count");
    one(&mut d, 7, IoKind::Write, 10, 2);
    d.power_off();
    let recovery = d.power_on(d.now());
    assert_eq!((recovery.translation_pages, recovery.units), (0, 768));
    d.check();
    assert_eq!(one(&mut d, 8, IoKind::Read, 10, 2).data, [Stamp(7); 2]);
    // The same from the media alone, saved and loaded.
    let mut bytes = Vec::new();
    d.media().save(&mut bytes).expect("memory can be written");
    let resolved = d.resolved().clone();
    let faults = flash::nand::Faults::new(&resolved.spec.flash.faults, 1);
    let media = flash::nand::Media::load(
        flash::nand::SectorKind::Stamp,
        resolved.geometry.clone(),
        1000,
        1,
        faults,
        None,
        &mut &bytes[..],
    )
    .expect("a snapshot");
    let mut d = Ssd::with_media(&resolved, 1, media, None);
    d.check();
    assert_eq!(one(&mut d, 8, IoKind::Read, 10, 2).data, [Stamp(7); 2]);
    assert_eq!(commands(&d, Op::Program, Cause::Recovery), 0);
}

#[test]
fn an_orderly_power_off_stores_the_cached_map_entries() {
    let caches = "cmt = \"1KiB\", ways = 2";
    for map in [
        format!("{{ kind = \"dftl\", {caches}, write-buffers = 2 }}"),
        format!("{{ kind = \"cdftl\", {caches}, ctp = \"4KiB\", write-buffers = 2 }}"),
        format!("{{ kind = \"fmmu\", {caches}, ctp = \"4KiB\" }}"),
    ] {
        let mut d = drive(&map);
        (0..8).for_each(|i| _ = one(&mut d, 7, IoKind::Write, i * 64, 2));
        let stored = commands(&d, Op::Program, Cause::Map);
        d.power_off();
        let recovery = d.power_on(d.now());
        assert_eq!((recovery.translation_pages, recovery.units), (0, 8), "{map}, {stored} pages before");
        d.check();
    }
}

#[test]
fn preconditioning_leaves_the_same_flash_whatever_the_map_unit() {
    let left = |map: &str| {
        let mut drive = drive(map);
        for step in [Precondition::Fill, Precondition::RandomOverwrite(0.7)] {
            let mut state = Vec::new();
            drive.precondition_to_rest(step, &mut |_, _| std::ops::ControlFlow::Continue(()), &mut |drive| {
                drive.save(&mut state).expect("memory can be written");
            });
            assert!(drive.is_as_mounted(), "{map}, {step:?}: no translation page was stale");
            drive.check();
            assert!(!state.is_empty());
            if step != Precondition::Fill {
                // From here on the drive's own map unit answers.
                let before = commands(&drive, Op::Read, Cause::Map);
                assert_eq!(one(&mut drive, 1, IoKind::Read, 700, 8).data.len(), 8);
                assert!(commands(&drive, Op::Read, Cause::Map) > before, "{map}: its caches start cold");
                return state;
            }
        }
        unreachable!("two steps")
    };
    let uncached = left(UNCACHED);
    for map in [
        "{ kind = \"dftl\", cmt = \"4KiB\", cores = 2 }",
        "{ kind = \"cdftl\", cmt = \"2KiB\", ctp = \"4KiB\" }",
        "{ kind = \"fmmu\", cmt = \"1KiB\", ctp = \"4KiB\" }",
    ] {
        assert!(left(map) == uncached, "{map}");
    }
}

#[test]
fn requests_wait_until_stale_translation_pages_have_been_written() {
    let mut d = drive(UNCACHED);
    d.precondition(Precondition::Fill, &mut |_, _| {});
    let io = Io::new(IoKind::Write, Lba::new(0), Sectors::new(2));
    d.submit(d.now(), Request { tag: 5, queue: QueueId::default(), io, data: vec![Stamp(5); 2] });
    // The mapping unit is on flash, and its translation page is being read.
    while commands(&d, Op::Program, Cause::Host) == 0 {
        let at = d.next_event().expect("it is under way");
        d.advance(at, &mut Vec::new());
    }
    assert_eq!(d.cut_power(), [5]);
    let recovery = d.power_on(d.now());
    assert_eq!((recovery.translation_pages, recovery.units), (1, 768));
    d.check();
    let read = one(&mut d, 6, IoKind::Read, 0, 2);
    assert_eq!(read.data, [Stamp(5); 2]);
    assert!(read.queue_wait() > recovery.time + Span::from_us(200), "a program more: {}", read.queue_wait());
    assert_eq!(commands(&d, Op::Program, Cause::Recovery), 1);
    d.check();
}

#[test]
fn a_drive_without_room_for_its_translation_pages_is_refused() {
    let mut small = spec(UNCACHED);
    small.flash.blocks = Some(12);
    let faults = small.resolve().expect_err("too little is left");
    assert_eq!(faults.len(), 1);
    assert!(faults[0].to_string().contains("for the 2 translation pages of the map"), "{}", faults[0]);
    small.ftl.map = MapSpec::Ram;
    assert!(small.resolve().is_ok());
}

#[test]
fn translation_pages_gather_while_a_program_of_others_is_under_way() {
    let stores = |gather: Option<u32>| {
        let mut spec = spec(UNCACHED);
        spec.ftl.map_gather = gather;
        let mut drive: Ssd<Stamp> = Ssd::new(&spec.resolve().expect("valid"), 1);
        for page in 0..3 {
            let io = Io::new(IoKind::Write, Lba::new(page * 512), Sectors::new(2));
            let data = vec![Stamp(page); 2];
            drive.submit(Time::ZERO, Request { tag: page, queue: QueueId::default(), io, data });
        }
        let mut done = Vec::new();
        while done.len() < 3 {
            drive.advance(Time::MAX, &mut done);
        }
        drive.check();
        let tally = drive.counters().flash.of(Op::Program, Cause::Map);
        (tally.commands, tally.slots, drive.now())
    };
    let [(two, slots, last), (each, one, _), (at_once, alone, first)] = [Some(2), Some(1), None].map(stores);
    assert_eq!([(two, slots), (each, one), (at_once, alone)], [(2, 3), (3, 3), (3, 3)]);
    assert!(last < first, "two programs are sooner done than three: {last}, {first}");
}

#[test]
fn a_gather_beyond_the_room_of_a_program_is_refused() {
    for (map, gather, wanted) in [
        (UNCACHED, 0, "one program cannot gather 0 translation pages: it holds 2 mapping units"),
        (UNCACHED, 3, "one program cannot gather 3 translation pages: it holds 2 mapping units"),
        (TABLE, 1, "there are no translation pages"),
    ] {
        let mut spec = spec(map);
        spec.ftl.map_gather = Some(gather);
        let faults = spec.resolve().expect_err(wanted);
        assert!(faults.len() == 1 && faults[0].path == "ftl.map-gather", "{faults:?}");
        assert!(faults[0].message.contains(wanted) && !faults[0].remedy.is_empty(), "{faults:?}");
    }
}

/// A map unit as any crate could define one: a plain array that answers after a fixed time.
struct PlainMapUnit {
    places: Vec<Option<Psn>>,
    waiting: VecDeque<(Time, Ticket, Ask)>,
    counters: Counters,
}

impl MapUnit for PlainMapUnit {
    fn ask(&mut self, now: Time, _: Asker, ticket: Ticket, ask: Ask) {
        self.waiting.push_back((now + Span::from_us(1), ticket, ask));
    }

    fn loaded(&mut self, _: Time, _: u32, _: Option<&Image>) {
        unreachable!("it loads nothing");
    }

    fn stored(&mut self, _: Time, _: u32) {
        unreachable!("it stores nothing");
    }

    fn advance(&mut self, now: Time, out: &mut Output) {
        while let Some((_, ticket, ask)) = self.waiting.front().copied().filter(|(at, ..)| *at <= now) {
            self.waiting.pop_front();
            let answer = match ask {
                Ask::Lookup { first, count } => {
                    let mut places = [None; SPAN as usize];
                    places[..count as usize].copy_from_slice(&self.places[first.index()..][..count as usize]);
                    Answer::Places(places)
                }
                Ask::Update { lpn, to } => Answer::Updated(std::mem::replace(&mut self.places[lpn.index()], to)),
                Ask::CondUpdate { lpn, from, to } => {
                    let held = self.places[lpn.index()] == Some(from);
                    self.places[lpn.index()] = if held { Some(to) } else { self.places[lpn.index()] };
                    Answer::Condition(held)
                }
            };
            self.counters.questions += 1;
            out.answers.push((ticket, answer));
        }
    }

    fn next_event(&self) -> Option<Time> {
        self.waiting.front().map(|(at, ..)| *at)
    }

    fn image(&self, _: u32) -> &Image {
        unreachable!("it stores nothing")
    }

    fn counters(&self, _: Time) -> Counters {
        self.counters.clone()
    }

    fn is_clean(&self) -> bool {
        self.waiting.is_empty()
    }

    fn peek<'a>(&'a self, lpn: Lpn, _: &dyn Fn(u32) -> Option<&'a [u32]>) -> Option<Psn> {
        self.places[lpn.index()]
    }
}

/// Asks a map unit a question at some time, and waits for the answer.
fn answer(unit: &mut impl MapUnit, now: Time, ask: Ask) -> (Time, Answer) {
    let mut out = Output::default();
    unit.ask(now, Asker::Host, Ticket(7), ask);
    unit.advance(now, &mut out);
    let mut at = now;
    while out.answers.is_empty() {
        at = unit.next_event().expect("it has yet to answer");
        unit.advance(at, &mut out);
    }
    (at, out.answers.remove(0).1)
}

#[test]
fn another_crate_can_define_a_map_unit() {
    let mut own = PlainMapUnit { places: vec![None; 100], waiting: VecDeque::new(), counters: Counters::default() };
    let spec = MapSpec::Table { service: Span::from_us(1) };
    let mut table = AnyMapUnit::new(&spec, 100, Bytes::new(4096)).expect("it is a map unit");
    let (lpn, from, to) = (Lpn::new(17), Psn::new(3), Psn::new(4));
    let asks = [
        Ask::Update { lpn, to: Some(from) },
        Ask::Lookup { first: Lpn::new(16), count: 3 },
        Ask::CondUpdate { lpn, from, to },
        Ask::CondUpdate { lpn, from, to },
        Ask::Update { lpn, to: None },
    ];
    for (i, ask) in (0..).zip(asks) {
        let now = Time::ZERO + Span::from_us(10) * i;
        assert_eq!(answer(&mut own, now, ask), answer(&mut table, now, ask), "{ask:?}");
    }
    own.flush(Time::MAX);
    own.set_collector_weight(1, 2);
    assert_eq!((own.counters(Time::MAX).questions, table.counters(Time::MAX).questions), (5, 5));
}
