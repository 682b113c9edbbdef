//! Errors of a run.

use std::fmt;
use std::io;

use base::io::Io;
use base::units::{Sectors, Time};
use ssd::{QueueId, Tag};
use workload::{Source, SourceError};

use super::time::{END, LAST};
use crate::oracle::Mismatch;

/// The reason that a run has no result.
#[derive(Debug)]
pub enum RunError {
    /// The workload cannot be read.
    Source(SourceError),
    /// The workload yielded no request.
    Empty,
    /// The workload ended before the warm-up, so that nothing was measured.
    OnlyWarmUp {
        /// The number of requests that had completed.
        requests: u64,
    },
    /// The caller asked the run to stop.
    Interrupted,
    /// A closed loop of depth zero never starts.
    NoDepth,
    /// A request or flow names a queue that the device does not have.
    NoQueue {
        /// The queue that does not exist.
        queue: QueueId,
        /// The number of queues of the device.
        queues: usize,
    },
    /// A request of the workload ends beyond the device.
    BeyondCapacity {
        /// Tag of the request that ends beyond the device.
        tag: Tag,
        /// Kind, address and length of that request.
        io: Io,
        /// The number of sectors that the device has.
        capacity: Sectors,
    },
    /// Simulated time ended before the device finished.
    EndOfTime {
        /// Requests in flight.
        outstanding: u64,
        /// The time of the last submission or completion.
        last_sign: Time,
    },
    /// The sum of the busy times of a part overflowed.
    BusyTime,
    /// The request log cannot be written.
    Log(io::Error),
    /// The device returned wrong data: a bug of the device.
    Mismatch(Mismatch),
}

impl fmt::Display for RunError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Source(error) => error.fmt(f),
            Self::Empty => f.write_str("the workload yields no request; check its file, --skip and --limit"),
            Self::OnlyWarmUp { requests } => write!(
                f,
                "the workload ends after {requests} requests, before the warm-up does, and nothing is measured; make the \
                 workload longer or the warm-up shorter"
            ),
            Self::Interrupted => f.write_str("the run was interrupted; nothing of it is kept"),
            Self::NoDepth => f.write_str("a closed loop of depth 0 never issues a request; use --depth 1 or more"),
            Self::NoQueue { queue, queues } => write!(
                f,
                "a workload is submitted to {queue}, but the device has {queues}, counted from 0; choose another, or give \
                 it more with host.queues or [[host.queue]]"
            ),
            Self::BeyondCapacity { tag, io, capacity } => write!(
                f,
                "request {tag} ({} of {} from {}) ends beyond the device's {} ({}); \
                 use a larger device, or --extent wrap or compact to fit the addresses into it",
                io.kind.name(),
                io.sectors,
                io.start,
                capacity,
                capacity.bytes()
            ),
            Self::EndOfTime { outstanding, last_sign } => write!(
                f,
                "simulated time ends after {:.0} days, and the device still works on {outstanding} requests and its own \
                 tasks (the last request came or was completed at {last_sign}); make the device faster (its data rates, array \
                 times, software-controllers or the map's service), or run fewer requests with --limit",
                END.as_secs_f64() / 86_400.0
            ),
            Self::BusyTime => f.write_str(
                "the busy times of all dies or channels add up to more than 213 days, the limit of simulated time; \
                 run fewer \
                 requests with --limit, or on fewer dies",
            ),
            Self::Log(error) => write!(f, "the request log cannot be written: {error}"),
            Self::Mismatch(mismatch) => mismatch.fmt(f),
        }
    }
}

impl std::error::Error for RunError {}

impl From<SourceError> for RunError {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

/// The error for a request that arrives after the end of simulated time, with its place in the workload.
pub(super) fn too_late<W: Source + ?Sized>(source: &W, number: u64) -> RunError {
    let days = LAST.as_secs_f64() / 86_400.0;
    let message =
        format!("request {number} arrives after the end of simulated time, {days:.0} days after the start of the run");
    let remedy = "scale the times of arrival by less (--time-scale), shorten gaps (--gap-limit), repeat it less often \
                  (--repeat), or stop before it (--limit)";
    source.fault(message, remedy.to_owned()).into()
}
