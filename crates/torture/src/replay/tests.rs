//! A replay is the recorded run.

use base::engine::Rng;
use flash::nand::Bytes512;

use super::super::laboratory::Laboratory;
use super::super::rig::{BUFFERED, device, recorded};
use super::*;

fn opened(seed: u64, requests: u64) -> (tempfile::NamedTempFile, Laboratory) {
    let file = recorded(&device(BUFFERED), seed, requests, &[]);
    let laboratory = Laboratory::open(file.path()).expect("sound");
    (file, laboratory)
}

fn survey(laboratory: &Laboratory, journal: &Journal) -> Result<(), Divergence> {
    let device = &laboratory.device().resolved;
    let drive = Ssd::new(device, journal.header.seed);
    Replay::new(journal, drive, Honesty::Honest).survey(&mut Sample::new(1, 10))
}

#[test]
fn a_replay_has_the_answers_and_the_hash_of_the_recorded_run() {
    for seed in 0..20 {
        let (_file, laboratory) = opened(seed, 120);
        let journal = laboratory.journal();
        assert!(journal.requests.len() == 120 && journal.end.is_some(), "seed {seed}");
        assert_eq!(survey(&laboratory, journal), Ok(()), "seed {seed}");
    }
}

#[test]
fn a_journal_that_is_another_run_is_found() {
    let (_file, laboratory) = opened(3, 60);
    let mut rng = Rng::stream(3, "changes");
    let (mut by_request, mut by_hash) = (0, 0);
    for _ in 0..40 {
        let mut journal = laboratory.journal().clone();
        match rng.below(3) {
            // The drive was given the request a moment later.
            0 => {
                let place = rng.below(journal.events.len() as u64 - 1) as usize;
                journal.events[place].0 = journal.events[place + 1].0;
                if journal.events[place] == laboratory.journal().events[place] {
                    continue;
                }
                if !matches!(journal.events[place].1, JournalEvent::Submitted(_)) {
                    continue;
                }
            }
            // The request had another result.
            1 => {
                let place = rng.below(journal.requests.len() as u64) as usize;
                let answered = journal.requests[place].answered.as_mut().expect("a run that is over");
                answered.good = !answered.good;
            }
            _ => journal.end.as_mut().expect("a run that is over").hash ^= 1,
        }
        match survey(&laboratory, &journal) {
            Err(Divergence::Request { .. }) => by_request += 1,
            Err(Divergence::Events) => by_hash += 1,
            Ok(()) => panic!("the change was not found"),
        }
    }
    assert!(by_request > 5 && by_hash > 5, "{by_request} and {by_hash}");
}

/// Stamps stand for bytes: a drive that holds bytes does the same, and reads them back as the image has them.
#[test]
fn a_drive_of_bytes_does_the_same_as_a_drive_of_stamps() {
    let (file, laboratory) = opened(5, 80);
    let bytes = std::fs::read(file.path()).expect("the journal");
    let journal = laboratory.journal();
    let mut drive: Ssd<Bytes512> = Ssd::new(&laboratory.device().resolved, journal.header.seed);
    let mut completions = Vec::new();
    let mut pass = |drive: &mut Ssd<Bytes512>, to: Time| {
        while drive.next_event().is_some_and(|next| next <= to) {
            drive.advance(to, &mut completions);
            completions.clear();
        }
        drive.advance(to, &mut completions);
    };
    for (at, event) in &journal.events {
        let JournalEvent::Submitted(number) = event else { continue };
        let part = &journal.submissions[*number as usize];
        let asked = &journal.requests[part.of as usize];
        pass(&mut drive, *at);
        let zeros = vec![0; part.sectors.bytes().get() as usize];
        let content = match asked.kind {
            RequestKind::Write { .. } => &bytes[asked.content as usize..][..part.sectors.bytes().get() as usize],
            _ => &zeros[..],
        };
        let sectors = content.as_chunks::<512>().0.iter().map(|sector| Bytes512(*sector));
        let data = if part.kind == IoKind::Write { sectors.collect() } else { Vec::new() };
        let io = Io::new(part.kind, part.start, part.sectors);
        drive.submit(*at, Request { tag: 0, queue: QueueId::default(), io, data });
    }
    let end = journal.end.expect("a run that is over");
    pass(&mut drive, end.at);
    assert_eq!(drive.counters().event_hash, end.hash);
}
