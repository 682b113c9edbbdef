//! The host's side of the host memory buffer: when it gives memory to the drive, and when it takes the memory back.

use base::units::{Bytes, Time};
use flash::nand::Sector;

use crate::Ssd;

impl<S: Sector> Ssd<S> {
    /// Gives the drive the memory that the description names for this time, if the drive asks for host memory. Returns
    /// the time of the next change.
    pub(crate) fn give_described_memory(&mut self) -> Option<Time> {
        let hmb = self.resolved.spec.ftl.map.hmb()?;
        let given = self.resolved.spec.host.hmb.clone().unwrap_or_default();
        let size = self.host_memory.or_else(|| given.size_at(self.now)).unwrap_or(hmb.preferred);
        if let Some(buffer) = self.ftl.host_memory_buffer() {
            buffer.give_host_memory(self.now, size);
        }
        given.next_change(self.now).filter(|_| self.host_memory.is_none())
    }

    /// Sets the size of the memory that the host gives from now on, in place of the description's, also after a power
    /// cut; zero takes the memory back. Returns the time from which on the drive no longer reads the memory that it had
    /// before; `None` if the drive asks for no memory.
    ///
    /// # Panics
    ///
    /// If `now` is in the past.
    pub fn set_host_memory(&mut self, now: Time, size: Bytes) -> Option<Time> {
        assert!(now >= self.now, "the host changes its memory at {now} when it is already {}", self.now);
        let buffer = self.ftl.host_memory_buffer()?;
        self.host_memory = Some(size);
        Some(buffer.give_host_memory(now, size))
    }

    /// The size of the host memory that the drive may use now; `None` if the drive asks for none.
    #[must_use]
    pub fn host_memory_used(&self) -> Option<Bytes> {
        let hmb = self.resolved.spec.ftl.map.hmb()?;
        let given = self.resolved.spec.host.hmb.as_ref().and_then(|given| given.size_at(self.now));
        Some(hmb.used(self.host_memory.or(given).unwrap_or(hmb.preferred)))
    }
}
