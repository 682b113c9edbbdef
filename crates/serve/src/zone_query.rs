//! Asks a drive for the states of its zones.

use base::units::Lba;
use ssd::ZoneReport;

use crate::Failed;

/// Takes the answer to a question for zones: once, from any thread, and without waiting.
pub type TakeZones = Box<dyn FnOnce(Result<Vec<ZoneReport>, Failed>) + Send>;

/// Asks for the states of zones at the present time of the drive. Every write that was answered before the question has moved the
/// write pointer.
pub struct ZoneQuery {
    /// A sector of the first zone; the answer has this zone and all behind it.
    pub from: Lba,
    /// Where the answer goes. A query that is dropped without one was lost with its drive.
    pub answer: TakeZones,
}
