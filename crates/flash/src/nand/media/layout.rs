//! Content that is laid out without commands, for a drive that starts in a computed state.

use super::{Media, Mode, Spare, Stream, Target};
use crate::nand::media::preconditioned::PreconditionedSlot;

impl Media {
    /// Programs the slots from `target` on with these spare areas and the content that preconditioning writes. All
    /// rules of a program hold; the call takes no simulated time, and does not fail.
    ///
    /// # Panics
    ///
    /// Like a program.
    pub fn lay_out(&mut self, target: Target, stream: Stream, spares: &[Spare]) {
        let mut content = vec![0; spares.len() * self.slot_bytes()];
        for (spare, into) in spares.iter().zip(content.chunks_exact_mut(self.slot_bytes().max(1))) {
            PreconditionedSlot::of(*spare, self.geometry.sectors).fill(self.kind, into);
        }
        self.faults.suspend(true);
        let well = self.program(target, spares.len() as u32, (stream, Mode::Full), |i| (spares[i], false), &content);
        self.faults.suspend(false);
        debug_assert!(well, "suspended faults fail nothing");
    }
}
