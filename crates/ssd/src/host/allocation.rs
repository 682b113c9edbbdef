//! Which mapping units hold data, known without reading them.

use base::units::Lpn;
use flash::nand::Sector;

use crate::Ssd;

impl<S: Sector> Ssd<S> {
    /// True if a mapping unit may hold data; false if it was never written, or was discarded, and reads as zeros. Every
    /// acknowledged write counts, whether flash or the write buffer has it. The answer takes no time and changes nothing.
    ///
    /// # Panics
    /// If the device has no power, or no such mapping unit.
    #[must_use]
    pub fn may_hold(&self, lpn: Lpn) -> bool {
        assert!(self.powered, "a question to a device without power");
        assert!(lpn.get() < self.ftl.units(), "{lpn} is behind the last mapping unit");
        match self.host.buffer.as_ref().and_then(|buffer| buffer.units.find(lpn)) {
            Some(found) => !found.zeros,
            None => self.ftl.may_hold(lpn, self.backend.media(), self.slc_media()),
        }
    }
}
