//! A drive for the tests of connections: bytes in memory, answers from another thread, late and in any order.

use std::collections::BTreeSet;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Condvar, Mutex, MutexGuard};
use std::time::Duration;

use base::engine::Rng;
use base::units::Sectors;
use serve::{Disk, Job, JobResult, Operation};

const SECTOR: usize = 512;

/// A timeout that only a failed test reaches.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

#[derive(Default)]
struct MemoryState {
    bytes: Vec<u8>,
    /// The content that a power cut would leave.
    durable: Vec<u8>,
    /// Sectors whose present and durable content differ.
    dirty: BTreeSet<usize>,
    /// True while jobs are not carried out.
    held: bool,
    waiting: Vec<Job>,
    /// The operations so far, by kind.
    reads: u64,
    writes: u64,
    flushes: u64,
    /// The most jobs, and bytes of them, that were under way at a time.
    most_jobs: usize,
    most_bytes: u64,
}

/// A drive in memory that answers late and in any order.
pub(crate) struct Memory {
    state: Mutex<MemoryState>,
    /// Signals that jobs have come or were released.
    changed: Condvar,
    wake: Mutex<Sender<()>>,
    sectors: u64,
}

impl Memory {
    /// The seed draws the order of the answers.
    pub(crate) fn new(bytes: usize, seed: u64) -> Arc<Self> {
        let (wake, woken) = channel();
        let state = MemoryState { bytes: vec![0; bytes], durable: vec![0; bytes], ..MemoryState::default() };
        let memory = Arc::new(Self {
            state: Mutex::new(state),
            changed: Condvar::new(),
            wake: Mutex::new(wake),
            sectors: (bytes / SECTOR) as u64,
        });
        let weak = Arc::downgrade(&memory);
        let worker = move || answer(&woken, seed, || weak.upgrade());
        // The thread ends when the drive is dropped.
        std::thread::Builder::new().name("memory".to_owned()).spawn(worker).expect("a thread");
        memory
    }

    fn state(&self) -> MutexGuard<'_, MemoryState> {
        self.state.lock().expect("no test panics with it")
    }

    fn wake(&self) {
        // The send fails only at the end of the test.
        let _ = self.wake.lock().expect("no test panics with it").send(());
    }

    /// Holds jobs back until they are released.
    pub(crate) fn hold(&self) {
        self.state().held = true;
    }

    pub(crate) fn release(&self) {
        self.state().held = false;
        self.wake();
    }

    /// Drops all jobs without an answer, as at a power cut.
    pub(crate) fn lose(&self) {
        let lost = std::mem::take(&mut self.state().waiting);
        drop(lost);
    }

    /// Waits until `count` jobs have come.
    #[track_caller]
    pub(crate) fn await_jobs(&self, count: usize) {
        let waited = self.changed.wait_timeout_while(self.state(), PATIENCE, |state| state.waiting.len() < count);
        let (state, timeout) = waited.expect("no test panics with it");
        assert!(!timeout.timed_out(), "{} of {count} jobs came", state.waiting.len());
    }

    pub(crate) fn durable(&self) -> Vec<u8> {
        self.state().durable.clone()
    }

    pub(crate) fn bytes(&self) -> Vec<u8> {
        self.state().bytes.clone()
    }

    /// The numbers of reads, writes and flushes so far.
    pub(crate) fn counts(&self) -> (u64, u64, u64) {
        let state = self.state();
        (state.reads, state.writes, state.flushes)
    }

    /// The most jobs that were outstanding at a time, and the most bytes of them.
    pub(crate) fn most(&self) -> (usize, u64) {
        let state = self.state();
        (state.most_jobs, state.most_bytes)
    }
}

impl Disk for Memory {
    fn capacity(&self) -> Sectors {
        Sectors::new(self.sectors)
    }

    fn unit(&self) -> Sectors {
        Sectors::new(8)
    }

    fn submit(&self, job: Job) {
        let mut state = self.state();
        state.waiting.push(job);
        state.most_jobs = state.most_jobs.max(state.waiting.len());
        let carried = |job: &Job| matches!(job.operation, Operation::Read | Operation::Write { .. });
        let bytes = state.waiting.iter().filter(|job| carried(job)).map(|job| job.sectors.bytes().get()).sum();
        state.most_bytes = state.most_bytes.max(bytes);
        drop(state);
        self.changed.notify_all();
        self.wake();
    }
}

/// Answers jobs until the drive is dropped.
fn answer(woken: &Receiver<()>, seed: u64, drive: impl Fn() -> Option<Arc<Memory>>) {
    let mut rng = Rng::stream(seed, "answers");
    while woken.recv().is_ok() {
        let Some(drive) = drive() else { return };
        while let Some((job, result)) = drive.state().next(&mut rng) {
            (job.answer)(Ok(JobResult { data: result, address: None }));
        }
    }
}

impl MemoryState {
    /// Carries out a random outstanding job.
    fn next(&mut self, rng: &mut Rng) -> Option<(Job, Vec<u8>)> {
        if self.held || self.waiting.is_empty() {
            return None;
        }
        let job = self.waiting.swap_remove(rng.below(self.waiting.len() as u64) as usize);
        let start = job.start.get() as usize;
        let sectors = start..start + job.sectors.get() as usize;
        let range = sectors.start * SECTOR..sectors.end * SECTOR;
        let mut result = Vec::new();
        match &job.operation {
            Operation::Read => {
                self.reads += 1;
                result = self.bytes[range].to_vec();
            }
            Operation::Write { data, fua } => {
                self.writes += 1;
                self.bytes[range].copy_from_slice(data);
                self.wrote(sectors, *fua);
            }
            Operation::WriteZeroes { fua } => {
                self.bytes[range].fill(0);
                self.wrote(sectors, *fua);
            }
            Operation::Discard => {
                self.bytes[range].fill(0xdd);
                self.wrote(sectors, false);
            }
            Operation::Append { .. }
            | Operation::ManageZone(_)
            | Operation::ManageZones(_)
            | Operation::UpdateHandles(_) => {
                unreachable!("NBD has no such command")
            }
            Operation::Flush => {
                self.flushes += 1;
                let dirty = std::mem::take(&mut self.dirty);
                dirty.into_iter().for_each(|sector| self.persist(sector));
            }
        }
        Some((job, result))
    }

    fn wrote(&mut self, sectors: std::ops::Range<usize>, fua: bool) {
        for sector in sectors {
            if fua {
                self.dirty.remove(&sector);
                self.persist(sector);
            } else {
                self.dirty.insert(sector);
            }
        }
    }

    fn persist(&mut self, sector: usize) {
        let range = sector * SECTOR..(sector + 1) * SECTOR;
        self.durable[range.clone()].copy_from_slice(&self.bytes[range]);
    }
}
