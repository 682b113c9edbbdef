//! The drive of a recording, for real software: a [`Disk`] whose requests are recorded.
//!
//! Simulated time does not wait for the clock of the machine: while requests are under way, time passes as fast as the drive can be
//! simulated. While no request is under way, time passes with the clock, so that the drive does its background work.

use std::fs::File;
use std::io::{self, BufWriter, Read, Seek, SeekFrom};
use std::path::Path;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::thread::JoinHandle;
use std::time::Instant;

use base::units::{SECTOR, Sectors, Span};
use flash::nand::Stamp;
use serve::{Disk, Job, JobFailure, JobResult, Operation, ResultCallback};
use ssd::{Drive, Precondition};
use study::catalogue::Device;

use crate::journal::RequestKind;
use crate::play::{Play, PlayError, PlayedRequest};
use crate::stamp::{Origin, origin};

/// A message to the thread of the drive.
enum DriveMessage {
    Job(Job),
    Line(String),
    Stop,
}

/// A recorded drive. Its thread ends with [`RecordedDrive::finish`].
pub struct RecordedDrive {
    inbox: Sender<DriveMessage>,
    capacity: Sectors,
    unit: Sectors,
}

/// The thread of a recorded drive.
pub struct RecordingThread(JoinHandle<io::Result<()>>);

impl RecordingThread {
    /// Waits until the journal is complete. [`RecordedDrive::finish`] must be called before.
    ///
    /// # Errors
    /// If the journal cannot be written.
    ///
    /// # Panics
    /// If the thread of the drive has panicked.
    pub fn join(self) -> io::Result<()> {
        self.0.join().expect("the drive does not panic")
    }
}

impl RecordedDrive {
    /// Begins a recording in `file`, the file at `path`.
    ///
    /// # Errors
    /// If a step of preconditioning does not fit the device, or the journal cannot be written or read.
    #[allow(clippy::disallowed_methods)] // A drive that others use at any time has a thread of its own.
    pub fn begin(
        device: &Device,
        seed: u64,
        steps: &[Precondition],
        (file, path): (File, &Path),
    ) -> Result<(Self, RecordingThread), PlayError> {
        let content = File::open(path)?;
        let play = Play::begin(device, seed, steps, BufWriter::new(file))?;
        let (inbox, jobs) = channel();
        let (capacity, unit) = (play.drive().capacity(), play.drive().discard_granularity());
        let server = DriveThread { play, content, places: Vec::new(), answers: Vec::new(), jobs };
        let thread = std::thread::spawn(move || server.run());
        Ok((Self { inbox, capacity, unit }, RecordingThread(thread)))
    }

    /// Notes a line that the workload printed.
    pub fn said(&self, line: String) {
        // The send fails only if the drive has stopped, which records nothing more.
        let _ = self.inbox.send(DriveMessage::Line(line));
    }

    /// Ends the recording when all requests so far are answered.
    pub fn finish(&self) {
        let _ = self.inbox.send(DriveMessage::Stop);
    }
}

impl Disk for RecordedDrive {
    fn capacity(&self) -> Sectors {
        self.capacity
    }

    fn unit(&self) -> Sectors {
        self.unit
    }

    fn submit(&self, job: Job) {
        if let Err(unsent) = self.inbox.send(DriveMessage::Job(job))
            && let DriveMessage::Job(job) = unsent.0
        {
            (job.answer)(Err(JobFailure::NoPower));
        }
    }
}

struct DriveThread {
    play: Play<BufWriter<File>>,
    /// The journal, opened to read the content of writes.
    content: File,
    /// The offset of each write's content in the journal; `None` for other requests.
    places: Vec<Option<u64>>,
    answers: Vec<Option<ResultCallback>>,
    jobs: Receiver<DriveMessage>,
}

impl DriveThread {
    fn run(mut self) -> io::Result<()> {
        loop {
            let message = match self.play.outstanding() {
                0 => match self.wait()? {
                    Some(message) => message,
                    None => break,
                },
                _ => match self.jobs.try_recv() {
                    Ok(message) => message,
                    Err(TryRecvError::Empty) => {
                        self.play.step()?;
                        self.answer()?;
                        continue;
                    }
                    Err(TryRecvError::Disconnected) => break,
                },
            };
            match message {
                DriveMessage::Job(job) => self.begin(job)?,
                DriveMessage::Line(line) => self.play.say(&line)?,
                DriveMessage::Stop => break,
            }
            self.answer()?;
        }
        while self.play.outstanding() > 0 && self.play.step()? {
            self.answer()?;
        }
        self.play.finish().map(drop)
    }

    /// Waits for a message while the drive is idle and its time passes with the clock; `None` if no sender is left.
    #[allow(clippy::disallowed_methods)] // The time that software takes to think is a time of the machine.
    fn wait(&mut self) -> io::Result<Option<DriveMessage>> {
        let begun = Instant::now();
        let message = self.jobs.recv().ok();
        let idle = Span::from_secs_f64(begun.elapsed().as_secs_f64());
        self.play.wait_until(self.play.drive().now() + idle)?;
        Ok(message)
    }

    fn begin(&mut self, job: Job) -> io::Result<()> {
        let Job { operation, start, sectors, answer, .. } = job;
        let capacity = self.play.drive().capacity().get();
        if start.get().checked_add(sectors.get()).is_none_or(|end| end > capacity) {
            answer(Err(JobFailure::Drive(ssd::Status::OutOfRange)));
            return Ok(());
        }
        let (kind, data) = match operation {
            Operation::Read => (RequestKind::Read, Vec::new()),
            Operation::Write { data, fua } => (RequestKind::Write { fua }, data),
            Operation::Flush => (RequestKind::Flush, Vec::new()),
            Operation::Discard => (RequestKind::Discard, Vec::new()),
            Operation::WriteZeroes { fua } => (RequestKind::WriteZeroes { fua }, Vec::new()),
            // NBD clients send no such operations.
            Operation::Append { .. }
            | Operation::ManageZone(_)
            | Operation::ManageZones(_)
            | Operation::UpdateHandles(_) => {
                answer(Err(JobFailure::Drive(ssd::Status::InvalidOpcode)));
                return Ok(());
            }
        };
        if sectors.is_zero() && kind != RequestKind::Flush {
            answer(Ok(JobResult::default()));
            return Ok(());
        }
        self.answers.push(Some(answer));
        self.play.ask(kind, start, sectors, &data)?;
        self.places.push(matches!(kind, RequestKind::Write { .. }).then(|| self.play.newest_content()));
        Ok(())
    }

    /// Gives the answers to the completed requests.
    fn answer(&mut self) -> io::Result<()> {
        for PlayedRequest { of, good, data } in self.play.take_ended() {
            let Some(answer) = self.answers[of as usize].take() else { continue };
            if good {
                answer(Ok(JobResult { data: self.bytes(&data)?, address: None }));
            } else {
                answer(Err(JobFailure::Drive(ssd::Status::Uncorrectable)));
            }
        }
        Ok(())
    }

    /// The bytes of sectors: bytes of written sectors are read from the journal, all others are zeros.
    fn bytes(&mut self, stamps: &[Stamp]) -> io::Result<Vec<u8>> {
        let size = SECTOR.get() as usize;
        let mut bytes = vec![0; stamps.len() * size];
        if !bytes.is_empty() {
            self.play.flushed()?;
        }
        let mut at = 0;
        while at < stamps.len() {
            let place = self.place(stamps[at]);
            // Sectors of one write are consecutive in the journal.
            let same = |more: &usize| {
                place.is_some_and(|place| self.place(stamps[at + more]) == Some(place + (*more * size) as u64))
            };
            let run = 1 + (1..stamps.len() - at).take_while(same).count();
            if let Some(place) = place {
                self.content.seek(SeekFrom::Start(place))?;
                self.content.read_exact(&mut bytes[at * size..(at + run) * size])?;
            }
            at += run;
        }
        Ok(bytes)
    }

    fn place(&self, stamp: Stamp) -> Option<u64> {
        let Origin::Request { of, offset } = origin(stamp) else { return None };
        Some((*self.places.get(of as usize)?)? + offset * SECTOR.get())
    }
}

#[cfg(test)]
mod tests;
