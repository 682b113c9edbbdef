//! Asks a drive for the states of its zones.

use base::units::Lba;
use ssd::ZoneReport;

use crate::JobFailure;

/// Takes the answer to a zone query: called once, from any thread; must not wait.
pub type TakeZones = Box<dyn FnOnce(Result<Vec<ZoneReport>, JobFailure>) + Send>;

/// Asks for the states of zones at the present time of the drive. Every write that was answered before the query has moved its
/// write pointer.
pub struct ZoneQuery {
    /// A sector of the first zone of the answer, which has this zone and all zones behind it.
    pub from: Lba,
    /// Takes the answer. A query that is dropped without an answer was lost with its drive.
    pub answer: TakeZones,
}
