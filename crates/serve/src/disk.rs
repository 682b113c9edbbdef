//! The requests of a connection to a drive, and their results.

use base::io::PlacementId;
use base::units::{Lba, Sectors};
use ssd::{QueueId, ZoneAction};

use crate::{AllocationQuery, JobFailure};

/// The operation that a client asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// Reads the extent; the answer has its bytes.
    Read,
    /// Writes the extent with the bytes of the client.
    Write {
        /// The bytes: 512 for each sector.
        data: Vec<u8>,
        /// Forced unit access: the answer comes once the data is durable.
        fua: bool,
    },
    /// Makes durable every write that was answered before, on any connection. It has no extent.
    Flush,
    /// Discards the extent: its content is unspecified until it is written again.
    Discard,
    /// Makes the extent read as zeros.
    WriteZeroes {
        /// Forced unit access: the answer comes once the zeros are durable.
        fua: bool,
    },
    /// Writes to the zone that begins at the first sector; the answer has the address that the drive chose.
    Append {
        /// The bytes: 512 for each sector.
        data: Vec<u8>,
        /// Forced unit access: the answer comes once the data is durable.
        fua: bool,
    },
    /// An action on the zone that begins at the first sector. For the flush of a random write area, the first sector is one of the
    /// last mapping unit to flush. The operation has no extent.
    ManageZone(ZoneAction),
    /// An action on every zone in a state in which the action does something (Select All of Zone Management Send). It has no
    /// extent.
    ManageZones(ZoneAction),
    /// Gives each reclaim unit handle that a placement identifier names a new reclaim unit (Reclaim Unit Handle Update). It has no
    /// extent.
    UpdateHandles(Vec<PlacementId>),
}

impl Operation {
    /// The bytes that the client brings, if the operation takes any.
    #[must_use]
    pub const fn data(&self) -> Option<&Vec<u8>> {
        match self {
            Self::Write { data, .. } | Self::Append { data, .. } => Some(data),
            _ => None,
        }
    }

    /// True if the answer comes only once the data is durable.
    #[must_use]
    pub const fn is_fua(&self) -> bool {
        matches!(self, Self::Write { fua: true, .. } | Self::WriteZeroes { fua: true } | Self::Append { fua: true, .. })
    }

    /// True if the operation stores data.
    #[must_use]
    pub const fn stores(&self) -> bool {
        matches!(self, Self::Write { .. } | Self::WriteZeroes { .. } | Self::Append { .. })
    }

    /// True if only drives with zones support the operation.
    #[must_use]
    pub const fn is_of_zones(&self) -> bool {
        matches!(self, Self::Append { .. } | Self::ManageZone(_) | Self::ManageZones(_))
    }

    /// True if the operation has no extent.
    #[must_use]
    pub const fn is_bare(&self) -> bool {
        matches!(self, Self::Flush | Self::ManageZone(_) | Self::ManageZones(_) | Self::UpdateHandles(_))
    }
}

/// The result of a job that the drive has carried out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct JobResult {
    /// The bytes of a read; none otherwise.
    pub data: Vec<u8>,
    /// The first sector that an append wrote.
    pub address: Option<Lba>,
}

/// Takes the result of a request: called once, from any thread; must not wait.
pub type ResultCallback = Box<dyn FnOnce(Result<JobResult, JobFailure>) + Send>;

/// A request of a client, as the drive gets it.
pub struct Job {
    /// The submission queue of the drive.
    pub queue: QueueId,
    /// The placement identifier of a write.
    pub placement: PlacementId,
    /// The operation that the client asks for.
    pub operation: Operation,
    /// The first sector; zero for an operation without an extent.
    pub start: Lba,
    /// The number of sectors; zero for an operation without an extent.
    pub sectors: Sectors,
    /// Takes the result. A job that is dropped without a result was lost with its drive.
    pub answer: ResultCallback,
}

impl Job {
    /// A job in the first queue and without a placement identifier, whose `answer` takes only the bytes of a read.
    pub fn new(
        operation: Operation,
        start: Lba,
        sectors: Sectors,
        answer: impl FnOnce(Result<Vec<u8>, JobFailure>) + Send + 'static,
    ) -> Self {
        Self {
            queue: QueueId::default(),
            placement: PlacementId::default(),
            operation,
            start,
            sectors,
            answer: Box::new(move |result| answer(result.map(|returned| returned.data))),
        }
    }
}

/// A drive, as its connections see it.
pub trait Disk: Send + Sync + 'static {
    /// Sectors that a client can address.
    fn capacity(&self) -> Sectors;

    /// The mapping unit in sectors: requests of whole units need no read-modify-write, so servers announce it as the preferred
    /// size.
    fn unit(&self) -> Sectors;

    /// Submits a request and returns at once. The answer comes later, maybe not in the order of the submissions.
    fn submit(&self, job: Job);

    /// Submits requests that arrived together, in this order, and leaves the list empty.
    fn submit_all(&self, jobs: &mut Vec<Job>) {
        jobs.drain(..).for_each(|job| self.submit(job));
    }

    /// Asks for the allocation state of a range, and returns at once. The answer comes later. A drive without that knowledge
    /// answers that all sectors may hold data.
    fn allocation(&self, query: AllocationQuery) {
        query.answer_mapped();
    }
}
