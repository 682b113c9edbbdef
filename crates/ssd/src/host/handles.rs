//! The reclaim unit handles of Flexible Data Placement, as commands name them.

use base::engine::Handle;
use base::io::{Io, PlacementId};
use flash::nand::Sector;

use super::active::Active;
use super::request::Status;
use crate::Ssd;

impl<S: Sector> Ssd<S> {
    /// Tells an FTL with reclaim unit handles that a write command names an identifier other than 0, which is always valid.
    #[inline(never)]
    pub(super) fn note_identifier(&mut self, id: PlacementId) {
        if let Some(handles) = self.ftl.reclaim_unit_handles() {
            handles.note_identifier(self.now, id);
        }
    }

    /// The status with which the drive refuses the update of a handle.
    pub(super) fn refusal_of_update(&mut self, io: &Io) -> Option<Status> {
        match self.ftl.reclaim_unit_handles() {
            None => Some(Status::InvalidOpcode),
            Some(handles) => (!handles.has_handle(io.placement)).then_some(Status::InvalidField),
        }
    }

    /// Gives a handle a new reclaim unit. Data that a write buffer still holds goes to the new one.
    pub(super) fn update_handle(&mut self, handle: Handle<Active<S>>) {
        let Active { io, set, .. } = self.host.requests[handle];
        let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
        let handles = self.ftl.reclaim_unit_handles().expect("an FTL without handles refuses their update");
        handles.update_handle(&mut flash, &mut self.host, set, io.placement);
        self.respond(handle);
    }
}
