//! Software reads what it has written, and the image of the recorded run has the same data.

use std::sync::mpsc;

use base::engine::Rng;
use base::units::Lba;
use tempfile::NamedTempFile;

use super::super::rig::{BUFFERED, device, tortured};
use super::super::{Honesty, Laboratory};
use super::*;

/// Submits an operation, and waits for its answer.
fn ask(live: &RecordedDrive, operation: Operation, start: u64, sectors: u64) -> Result<Vec<u8>, JobFailure> {
    let (to, answer) = mpsc::channel();
    let answer: (Box<dyn FnOnce(_) + Send>, _) =
        (Box::new(move |result| to.send(result).expect("somebody waits")), answer);
    live.submit(Job::new(operation, Lba::new(start), Sectors::new(sectors), answer.0));
    answer.1.recv().expect("every job is answered")
}

#[test]
fn a_recorded_drive_reads_what_was_written_and_its_recording_is_sound() {
    let file = NamedTempFile::new().expect("a file");
    let to = file.reopen().expect("a file");
    let (live, recordings) = RecordedDrive::begin(&device(BUFFERED), 3, &[], (to, file.path())).expect("it begins");
    let capacity = live.capacity().get();
    let mut flat = vec![0u8; 64 * 512];
    let mut rng = Rng::stream(3, "live");
    for number in 0..200u64 {
        let size = 1 + rng.below(16);
        let start = rng.below(64 - size);
        let span = start as usize * 512..(start + size) as usize * 512;
        let fua = rng.chance(0.2);
        match rng.below(8) {
            0..4 => {
                let data: Vec<u8> = (0..size * 512).map(|_| rng.bits() as u8).collect();
                flat[span].copy_from_slice(&data);
                assert_eq!(ask(&live, Operation::Write { data, fua }, start, size), Ok(Vec::new()));
            }
            4 => {
                flat[span].fill(0);
                assert_eq!(ask(&live, Operation::WriteZeroes { fua }, start, size), Ok(Vec::new()));
            }
            5 => {
                assert_eq!(ask(&live, Operation::Flush, 0, 0), Ok(Vec::new()));
                live.said(format!("flush {number}"));
            }
            _ => assert_eq!(ask(&live, Operation::Read, start, size).as_deref(), Ok(&flat[span]), "request {number}"),
        }
    }
    assert_eq!(ask(&live, Operation::Read, capacity, 1), Err(JobFailure::Drive(ssd::Status::OutOfRange)));
    assert_eq!(ask(&live, Operation::Read, u64::MAX, 2), Err(JobFailure::Drive(ssd::Status::OutOfRange)));
    assert_eq!(ask(&live, Operation::Read, 7, 0), Ok(Vec::new()));
    live.finish();
    recordings.join().expect("written");
    assert_eq!(ask(&live, Operation::Flush, 0, 0), Err(JobFailure::NoPower));

    let laboratory = Laboratory::open(file.path()).expect("sound");
    assert!(laboratory.journal().end.is_some() && !laboratory.journal().lines.is_empty());
    let tested = tortured(&laboratory, Honesty::Honest, 50);
    assert!(tested.len() > 80 && tested.iter().all(|tested| !tested.is_loss()), "{}", tested.len());
    assert!(tortured(&laboratory, Honesty::IgnoresFlush, 0).iter().any(super::super::CutResult::is_loss));
}
