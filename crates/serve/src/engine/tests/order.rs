//! The order of a served drive's operations on its files: the promises of an answer are on the disk before the answer
//! is given.

use std::sync::mpsc::channel;

use super::super::keep::DriveFiles;
use super::super::thread::{DriveServer, Message};
use super::*;
use crate::state::Durability;
use crate::state::tests::memory::Memory;

/// The state of the files at an answer: synchronisations before it, and changes since the last of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SyncState {
    syncs: usize,
    unsynced: u64,
}

/// Carries out jobs one after another, and notes the state of the files at each answer.
fn given(more: &str, durability: Durability, jobs: Vec<(Operation, u64, u64)>) -> Vec<SyncState> {
    let files = Memory::default();
    let mut drive = Box::new(Ssd::<Bytes512>::new(&small(more).resolved, 1));
    let state = files.create(&mut drive, durability);
    let inbox = Arc::new(inbox::Inbox::new());
    let mut server = DriveServer::new(Core::new(drive, CutPolicy::End), Arc::clone(&inbox), Pace::Max);
    server.files = Some(DriveFiles::new(state, None));
    std::thread::scope(|scope| {
        scope.spawn(move || server.run());
        let all = jobs.into_iter().map(|(operation, start, sectors)| {
            let (to, answered) = channel();
            let files = files.clone();
            // The thread of the drive gives the answer.
            let answer = Box::new(move |result: Result<Vec<u8>, JobFailure>| {
                result.expect("the drive is sound");
                let files = files.lock();
                let synced = files.synced.last().map_or(0, |(writes, names)| {
                    assert_eq!(names.len(), 5, "four files of the array, and the format");
                    *writes
                });
                to.send(SyncState { syncs: files.synced.len(), unsynced: files.writes - synced })
                    .expect("somebody waits");
            });
            let job = Job::new(operation, Lba::new(start), Sectors::new(sectors), answer);
            assert!(inbox.put(Message::Job(job)).is_ok(), "it is served");
            answered.recv_timeout(Duration::from_secs(60)).expect("it is answered")
        });
        let all = all.collect();
        let (to, stopped) = channel();
        assert!(inbox.put(Message::Stop(to)).is_ok(), "it is served");
        assert!(stopped.recv_timeout(Duration::from_secs(60)).expect("it stops").1.is_none());
        all
    })
}

fn write(byte: u8, fua: bool) -> Operation {
    Operation::Write { data: vec![byte; 2048], fua }
}

#[test]
fn flushes_and_forced_writes_are_on_the_disk_before_they_are_answered() {
    for more in ["", BUFFER] {
        let promises = [
            (Operation::Flush, 0, 0),
            (write(2, true), 4, 4),
            (Operation::WriteZeroes { fua: true }, 9, 5),
            (Operation::WriteZeroes { fua: true }, 0, 2_000),
        ];
        for (promise, start, sectors) in promises {
            let what = format!("{promise:?} with {more:?}").chars().take(60).collect::<String>();
            let jobs = || {
                let plain = (write(1, false), 0, 4);
                let zeros = (Operation::WriteZeroes { fua: false }, 40, 4);
                vec![plain, zeros, (promise.clone(), start, sectors), (Operation::Read, 0, 4)]
            };
            let of = given(more, Durability::Machine, jobs());
            // One synchronisation is that of the creation of the files.
            assert_eq!([of[0].syncs, of[1].syncs], [1, 1], "{what}: a plain write waits for no disk");
            assert_eq!((of[2], of[3]), (SyncState { syncs: 2, unsynced: 0 }, of[2]), "{what}");
            let of = given(more, Durability::Process, jobs());
            assert!(of.iter().all(|of| of.syncs == 0 && of.unsynced > 0), "{what}: {of:?}");
        }
    }
}
