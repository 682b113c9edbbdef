//! Zones with requests under way.

use base::io::Io;
use ssd::Status;

use super::areas::AreaZone;

/// A zone as its completed requests have left it, and the expected state after all submitted requests.
#[derive(Clone, Debug, Default)]
pub(super) struct ExpectedZone {
    pub(super) data: Vec<u64>,
    pub(super) finished: bool,
    /// The number of sectors below the write pointer, and whether the zone is full, after all submitted requests.
    pub(super) ahead: u64,
    pub(super) full_ahead: bool,
    /// True if flash has failed, so that the zone takes no requests but reads.
    pub(super) failed: bool,
    /// The model of a zone that is opened with a random write area: as completed requests have left it, and as all
    /// submitted requests will leave it. With it, `data` and the fields beside it are unused.
    pub(super) area: Option<[AreaZone; 2]>,
}

#[derive(Clone, Copy, Debug)]
pub(super) struct OutstandingRequest {
    pub(super) io: Io,
    pub(super) zone: u64,
    pub(super) wanted: Status,
}
