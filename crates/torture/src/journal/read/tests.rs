//! Tests of the form of a journal: written journals are read back, damage is refused, and a cut end is reported.

use base::io::Io;
use proptest::prelude::*;

use super::super::super::recorder::Recorder;
use super::*;

/// One call of a recorder.
#[derive(Clone, Debug)]
enum Call {
    Ask(RequestKind, u64, u64),
    Submit(usize),
    Answer(usize, bool),
    Say(String),
}

fn calls() -> impl Strategy<Value = Vec<(u64, Call)>> {
    let kind = prop::sample::select(RequestKind::ALL.to_vec());
    let call = prop_oneof![
        (kind, 0..1u64 << 40, 1..40u64).prop_map(|(kind, start, sectors)| Call::Ask(kind, start, sectors)),
        any::<usize>().prop_map(Call::Submit),
        (any::<usize>(), any::<bool>()).prop_map(|(of, good)| Call::Answer(of, good)),
        ".{0,20}".prop_map(Call::Say),
    ];
    prop::collection::vec((0..1_000u64, call), 0..60)
}

fn header() -> JournalHeader {
    JournalHeader { device: "name = \"x\"\n".into(), seed: 7, precondition: vec!["fill".into(), "steady".into()] }
}

/// The kind of the request that a drive is given for a client's.
const fn io_kind(kind: RequestKind) -> IoKind {
    match kind {
        RequestKind::Read => IoKind::Read,
        RequestKind::Flush => IoKind::Flush,
        RequestKind::Discard => IoKind::Discard,
        RequestKind::Write { .. } | RequestKind::WriteZeroes { .. } => IoKind::Write,
    }
}

/// Writes a journal of these calls; returns its bytes and the expected journal.
fn written(calls: &[(u64, Call)]) -> (Vec<u8>, Journal) {
    let header = header();
    let mut recorder = Recorder::begin(Vec::new(), &header).expect("memory");
    let (requests, submissions, lines, events) = Default::default();
    let mut journal = Journal { header, requests, submissions, lines, events, end: None };
    let mut now = 0;
    let mut waiting: Vec<u32> = Vec::new();
    for (later, call) in calls {
        let at = Time::from_ps(now + later);
        let position = journal.events.len() as u32;
        let pick = |number: usize| (!waiting.is_empty()).then(|| number % waiting.len());
        let event = match call {
            Call::Ask(kind, start, sectors) => {
                let flush = *kind == RequestKind::Flush;
                let (start, sectors) = if flush { (0, 0) } else { (*start, *sectors) };
                let (start, sectors) = (Lba::new(start), Sectors::new(sectors));
                let (content, answered) = (0, None);
                let data: Vec<u8> =
                    (0..kind.content(sectors)).map(|byte| (byte * 7 + u64::from(position)) as u8).collect();
                let (of, _) = recorder.asked(at, *kind, (start, sectors), &data).expect("memory");
                journal.requests.push(ClientRequest { at, kind: *kind, start, sectors, content, position, answered });
                waiting.push(of);
                JournalEvent::Asked(of)
            }
            Call::Submit(number) => {
                let Some(place) = pick(*number) else { continue };
                let of = waiting[place];
                let asked = &journal.requests[of as usize];
                let kind = io_kind(asked.kind);
                let io = Io::new(kind, asked.start, asked.sectors);
                recorder.submitted(at, of, &io).expect("memory");
                journal.submissions.push(DriveRequest { of, kind, start: io.start, sectors: io.sectors });
                JournalEvent::Submitted(journal.submissions.len() as u32 - 1)
            }
            Call::Answer(number, good) => {
                let Some(place) = pick(*number) else { continue };
                let of = waiting.swap_remove(place);
                recorder.answered(at, of, *good).expect("memory");
                journal.requests[of as usize].answered = Some(ClientAnswer { at, position, good: *good });
                JournalEvent::Answered(of)
            }
            Call::Say(line) => {
                recorder.said(line).expect("memory");
                journal.lines.push(line.clone());
                let at = journal.events.last().map_or(Time::ZERO, |(at, _)| *at);
                journal.events.push((at, JournalEvent::Said(journal.lines.len() as u32 - 1)));
                continue;
            }
        };
        now = at.as_ps();
        journal.events.push((at, event));
    }
    let end = RunEnd { at: Time::from_ps(now + 1), hash: 3, events: 4 };
    journal.end = Some(end);
    (recorder.finish(end).expect("memory"), journal)
}

fn read(bytes: &[u8]) -> Result<Journal, JournalError> {
    Journal::read(&mut &bytes[..])
}

proptest! {
    #[test]
    fn a_journal_reads_as_it_was_written(calls in calls()) {
        let (bytes, expected) = written(&calls);
        let mut journal = read(&bytes).expect("sound");
        for asked in &mut journal.requests {
            let count = asked.kind.content(asked.sectors) as usize;
            let content = &bytes[asked.content as usize..][..count];
            let position = u64::from(asked.position);
            prop_assert!((0..).zip(content).all(|(byte, got)| *got == (byte * 7 + position) as u8));
            asked.content = 0;
        }
        prop_assert_eq!(journal, expected);
    }

    #[test]
    fn a_journal_that_was_cut_short_is_its_beginning(calls in calls(), share in 0.0..1.0) {
        let (bytes, whole) = written(&calls);
        let (end, _) = written(&[]);
        let behind = end.len();
        // Behind the record of the device, which every valid journal has completely.
        let first = end.len() - (HEAD + FOOT + 24);
        let length = first + ((bytes.len() - first) as f64 * share) as usize;
        let short = read(&bytes[..length]).expect("an end that was cut short is no damage");
        prop_assert_eq!(short.end, None);
        prop_assert!(short.events.len() <= whole.events.len());
        prop_assert_eq!(&short.events[..], &whole.events[..short.events.len()]);
        prop_assert!(behind <= bytes.len());
    }

    #[test]
    fn a_changed_byte_is_found(calls in calls(), share in 0.0..1.0, change in 1..=255u8) {
        let (mut bytes, _) = written(&calls);
        let place = ((bytes.len() as f64) * share) as usize;
        bytes[place] ^= change;
        prop_assert!(read(&bytes).is_err(), "byte {} changed by {}", place, change);
    }

    #[test]
    fn bytes_at_random_are_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        prop_assert!(read(&bytes).is_err());
        let behind = [&MAGIC[..], &VERSION.to_le_bytes(), &bytes].concat();
        prop_assert!(read(&behind).is_err());
    }
}

#[test]
fn a_record_that_is_twice_or_missing_is_found() {
    let (bytes, _) = written(&[(5, Call::Say("one".into())), (5, Call::Say("two".into()))]);
    let first = MAGIC.len() + 4;
    let length =
        |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().expect("four bytes")) as usize + HEAD + FOOT;
    let one = first + length(first);
    let two = one + length(one);
    let behind = two + length(two);
    let without = [&bytes[..one], &bytes[two..]].concat();
    let twice = [&bytes[..two], &bytes[one..]].concat();
    let swapped = [&bytes[..one], &bytes[two..behind], &bytes[one..two], &bytes[behind..]].concat();
    for changed in [without, twice, swapped] {
        assert!(matches!(read(&changed), Err(JournalError::Damaged { .. })));
    }
}

#[test]
fn another_file_and_another_version_are_named() {
    assert!(matches!(read(b"dear diary"), Err(JournalError::Foreign)));
    let (mut bytes, _) = written(&[]);
    bytes[MAGIC.len()] = 9;
    let error = read(&bytes).expect_err("another version").to_string();
    assert_eq!(error, "is a journal of version 9, and this program knows 1; record it again");
}

#[test]
fn records_that_contradict_each_other_are_refused() {
    let ask = |recorder: &mut Recorder<Vec<u8>>, kind| {
        recorder.asked(Time::from_ps(5), kind, (Lba::new(8), Sectors::new(2)), &[]).expect("memory").0
    };
    let at = Time::from_ps(6);
    let refused = |wrong: &dyn Fn(&mut Recorder<Vec<u8>>)| {
        let mut recorder = Recorder::begin(Vec::new(), &header()).expect("memory");
        wrong(&mut recorder);
        let bytes = recorder.finish(RunEnd { at, hash: 0, events: 0 }).expect("memory");
        match read(&bytes) {
            Err(JournalError::Damaged { fault, .. }) => fault,
            other => panic!("{other:?}"),
        }
    };
    let part = |kind, start, sectors| Io::new(kind, Lba::new(start), Sectors::new(sectors));
    assert_eq!(refused(&|to| to.answered(at, 0, true).expect("memory")), "is of no request");
    let twice = |to: &mut Recorder<Vec<u8>>| {
        let of = ask(to, RequestKind::Read);
        (0..2).for_each(|_| to.answered(at, of, true).expect("memory"));
    };
    assert_eq!(refused(&twice), "answers a request twice");
    for wrong in
        [part(IoKind::Write, 8, 2), part(IoKind::Read, 8, 3), part(IoKind::Read, 7, 1), part(IoKind::Read, 8, 0)]
    {
        let submit = |to: &mut Recorder<Vec<u8>>| {
            let of = ask(to, RequestKind::Read);
            to.submitted(at, of, &wrong).expect("memory");
        };
        assert_eq!(refused(&submit), "is not a part of its request", "{wrong:?}");
    }
}
