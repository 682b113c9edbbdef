//! Requests on their way from a connection to its drives.
//!
//! A connection has room for a limited number of requests, and submits those that arrived together at once: the thread
//! of a drive then wakes once, and not in the middle of the connection's work.

use std::sync::Arc;

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::Limits;
use crate::{AllocationQuery, Disk, Job};

/// The room that a request takes until its reply is written.
pub(crate) struct AdmissionPermit {
    _request: OwnedSemaphorePermit,
    _bytes: Option<OwnedSemaphorePermit>,
}

/// The room of a connection, and the requests that are not submitted yet.
pub(crate) struct Intake<'a> {
    requests: Arc<Semaphore>,
    bytes: Arc<Semaphore>,
    batches: Vec<Batch<'a>>,
}

/// The requests for one of the drives of a connection.
struct Batch<'a> {
    disk: &'a dyn Disk,
    jobs: Vec<Job>,
}

impl<'a> Intake<'a> {
    /// The intake for a connection to `disks`; requests are pushed to the drives by their index.
    pub(crate) fn new(disks: impl IntoIterator<Item = &'a dyn Disk>, limits: &Limits) -> Self {
        let semaphore = |permits| Arc::new(Semaphore::new(permits));
        let (requests, bytes) = (semaphore(limits.requests as usize), semaphore(limits.bytes.get() as usize));
        let batches = disks.into_iter().map(|disk| Batch { disk, jobs: Vec::new() });
        Self { requests, bytes, batches: batches.collect() }
    }

    /// Takes room for a request. Before it waits for room, it submits the pushed requests, because their ends give room
    /// back.
    pub(crate) async fn admit(&mut self, bytes: u32) -> AdmissionPermit {
        const OPEN: &str = "nobody closes it";
        if let Some(admitted) = self.admit_now(bytes) {
            return admitted;
        }
        self.submit();
        let request = Arc::clone(&self.requests).acquire_owned().await.expect(OPEN);
        let bytes = match bytes {
            0 => None,
            bytes => Some(Arc::clone(&self.bytes).acquire_many_owned(bytes).await.expect(OPEN)),
        };
        AdmissionPermit { _request: request, _bytes: bytes }
    }

    /// The room for a request; none if there is not enough.
    fn admit_now(&self, bytes: u32) -> Option<AdmissionPermit> {
        let request = Arc::clone(&self.requests).try_acquire_owned().ok()?;
        let bytes = match bytes {
            0 => None,
            bytes => Some(Arc::clone(&self.bytes).try_acquire_many_owned(bytes).ok()?),
        };
        Some(AdmissionPermit { _request: request, _bytes: bytes })
    }

    /// Adds a request for a drive. The caller calls [`Intake::submit`] before it awaits anything.
    pub(crate) fn push(&mut self, disk: usize, job: Job) {
        self.batches[disk].jobs.push(job);
    }

    /// Submits the pushed requests, to each drive in the order of the pushes.
    pub(crate) fn submit(&mut self) {
        for Batch { disk, jobs } in &mut self.batches {
            if !jobs.is_empty() {
                disk.submit_all(jobs);
            }
        }
    }

    /// Sends an allocation query to a drive, behind the requests that were pushed before.
    pub(crate) fn ask(&mut self, disk: usize, query: AllocationQuery) {
        self.submit();
        self.batches[disk].disk.allocation(query);
    }
}

#[cfg(test)]
mod tests {
    use std::future::Future;
    use std::pin::pin;
    use std::sync::Mutex;
    use std::task::{Context, Waker};

    use base::units::{Lba, Sectors};

    use super::*;
    use crate::Operation;

    /// A disk that keeps the first sectors of the jobs of each submission.
    #[derive(Default)]
    struct RecordingDisk(Mutex<Vec<Vec<u64>>>);

    impl Disk for RecordingDisk {
        fn capacity(&self) -> Sectors {
            Sectors::new(8)
        }

        fn unit(&self) -> Sectors {
            Sectors::new(1)
        }

        fn submit(&self, job: Job) {
            self.submit_all(&mut vec![job]);
        }

        fn submit_all(&self, jobs: &mut Vec<Job>) {
            let together = jobs.drain(..).map(|job| job.start.get()).collect();
            self.0.lock().expect("no panic").push(together);
        }

        fn allocation(&self, query: AllocationQuery) {
            self.0.lock().expect("no panic").push(vec![100 + query.start.get()]);
        }
    }

    fn job(start: u64) -> Job {
        let (start, sectors) = (Lba::new(start), Sectors::new(1));
        Job::new(Operation::Read, start, sectors, |_| {})
    }

    #[test]
    fn requests_that_came_together_are_submitted_together_and_in_order() {
        let [first, second] = [RecordingDisk::default(), RecordingDisk::default()];
        let mut intake = Intake::new([&first as &dyn Disk, &second], &Limits::default());
        (0..3).for_each(|start| intake.push(0, job(start)));
        (6..8).for_each(|start| intake.push(1, job(start)));
        intake.submit();
        intake.submit();
        intake.push(0, job(3));
        let query = |start| AllocationQuery {
            start: Lba::new(start),
            sectors: Sectors::new(1),
            most: 1,
            answer: Box::new(|_| {}),
        };
        intake.ask(0, query(4));
        intake.ask(1, query(8));
        intake.push(0, job(5));
        intake.submit();
        assert_eq!(*first.0.lock().expect("no panic"), [vec![0, 1, 2], vec![3], vec![104], vec![5]]);
        assert_eq!(*second.0.lock().expect("no panic"), [vec![6, 7], vec![108]]);
    }

    #[test]
    fn whoever_waits_for_room_has_submitted_what_takes_it() {
        for limits in [
            Limits { requests: 1, ..Limits::default() },
            Limits { bytes: base::units::Bytes::new(10), ..Limits::default() },
        ] {
            let disk = RecordingDisk::default();
            let mut intake = Intake::new([&disk as &dyn Disk], &limits);
            let mut context = Context::from_waker(Waker::noop());
            let first = pin!(intake.admit(6)).poll(&mut context);
            assert!(first.is_ready(), "there is room");
            intake.push(0, job(7));
            assert!(disk.0.lock().expect("no panic").is_empty(), "more may come");
            let mut second = pin!(intake.admit(6));
            assert!(second.as_mut().poll(&mut context).is_pending(), "it has no room");
            assert_eq!(*disk.0.lock().expect("no panic"), [[7]]);
            drop(first);
            assert!(second.poll(&mut context).is_ready(), "the room is back");
        }
    }
}
