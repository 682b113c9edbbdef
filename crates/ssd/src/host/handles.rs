//! The reclaim unit handles of Flexible Data Placement, as commands name them.

use base::io::PlacementId;
use flash::nand::Sector;

use crate::Ssd;

impl<S: Sector> Ssd<S> {
    /// Tells an FTL with reclaim unit handles that a write command names an identifier other than 0, which is always valid.
    #[inline(never)]
    pub(super) fn note_identifier(&mut self, id: PlacementId) {
        if let Some(handles) = self.ftl.reclaim_unit_handles() {
            handles.note_identifier(self.now, id);
        }
    }
}
