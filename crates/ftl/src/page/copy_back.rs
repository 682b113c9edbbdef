//! Copies of garbage collection that stay inside the chip.

use base::engine::Handle;
use base::units::Psn;
use flash::backend::{Cause, List, Slot};
use flash::nand::{Stream, Target};

use super::PageFtl;
use crate::port::Flash;

impl PageFtl {
    /// True if the gathered mapping units can be copied without the bus: whole pages, each to a page of its own plane.
    #[inline]
    pub(super) fn copies_back(&self, gathered: &[Psn], offset: u32) -> bool {
        let slots = self.blocks.geometry.slots as usize;
        self.copy_back
            && !self.blocks.shape.whole_rows
            && gathered.len().is_multiple_of(slots)
            && gathered.chunks(slots).enumerate().all(|(i, page)| {
                let (superblock, first) = self.blocks.geometry.locate(page[0]);
                let to = offset + (i * slots) as u32;
                first.is_multiple_of(self.blocks.geometry.slots)
                    && page
                        .iter()
                        .enumerate()
                        .all(|(j, psn)| *psn == self.blocks.geometry.slot(superblock, first + j as u32))
                    && self.blocks.geometry.page_and_plane(first).1 == self.blocks.geometry.page_and_plane(to).1
            })
    }

    /// Adds one copy-back. Returns the offset behind it.
    pub(super) fn copy_back_list(
        &mut self,
        flash: &mut Flash<'_>,
        list: Handle<List>,
        cause: Cause,
        (target, stream): (Target, Stream),
        gathered: &[Psn],
    ) -> u32 {
        let command = flash.backend.add_copy_back(list, cause, target, stream);
        let pool = self.blocks.pool_of(target.superblock);
        self.blocks.pass_gate(flash, pool, stream, command);
        for psn in gathered {
            flash.backend.push_slot(command, Slot { psn: *psn, ..Slot::default() });
        }
        target.offset + gathered.len() as u32
    }
}
