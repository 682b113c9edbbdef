//! What a connection asks of a drive, and what it answers.

use base::units::{Lba, Sectors};

use crate::{AllocationQuery, Failed};

/// What a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads the extent; the answer has its bytes.
    Read,
    /// Writes the extent.
    Write {
        /// The bytes: 512 for each sector.
        data: Vec<u8>,
        /// Forced unit access: the answer comes when the data is durable.
        fua: bool,
    },
    /// Makes durable every write that was answered before, on any connection. It has no extent.
    Flush,
    /// Discards the extent: its content is unspecified until it is written again.
    Discard,
    /// Makes the extent read as zeros.
    WriteZeroes {
        /// The answer comes when the zeros are durable.
        fua: bool,
    },
}

/// Takes the result of a request: once, from any thread, and without waiting. Bytes for a read, none otherwise.
pub type Answer = Box<dyn FnOnce(Result<Vec<u8>, Failed>) + Send>;

/// One request of a client.
pub struct Job {
    /// What is asked.
    pub operation: Operation,
    /// The first sector.
    pub start: Lba,
    /// The number of sectors; zero for a flush.
    pub sectors: Sectors,
    /// Where the result goes. A job that is dropped without one was lost with its drive.
    pub answer: Answer,
}

/// A drive, as its connections see it.
pub trait Disk: Send + Sync + 'static {
    /// Sectors that a client can address.
    fn capacity(&self) -> Sectors;

    /// The mapping unit: requests of whole units need no read-modify-write, so servers announce it as the preferred size.
    fn unit(&self) -> Sectors;

    /// Submits a request; it returns at once, and the answer comes later, maybe in another order than the submissions.
    fn submit(&self, job: Job);

    /// Submits requests that came together, in this order, and leaves the list empty.
    fn submit_all(&self, jobs: &mut Vec<Job>) {
        jobs.drain(..).for_each(|job| self.submit(job));
    }

    /// Asks for the allocation of a range. It returns at once, and the answer comes later. A drive that does not know says
    /// that all may be data.
    fn allocation(&self, query: AllocationQuery) {
        query.answer_mapped();
    }
}
