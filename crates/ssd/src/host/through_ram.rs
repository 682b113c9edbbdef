//! The way of a request through the RAM: a read is looked up, a write goes into the buffer.

use base::engine::Handle;
use base::io::IoKind;
use flash::nand::Sector;
use ftl::{Event, HostEvent};

use super::active::Active;
use crate::Ssd;

impl<S: Sector> Ssd<S> {
    /// Looks a read up in the map, which takes time of the RAM, and begins it.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller.
    pub(super) fn look_up(&mut self, handle: Handle<Active<S>>) {
        let extent = self.host.requests[handle].extent;
        match self.host.ram.look_up(self.now, extent.end - extent.first) {
            Some(at) => self.events.push(at, Event::Host(HostEvent::Ram(handle.number()))),
            None => self.read(handle),
        }
    }

    /// Begins a write. For a drive with a buffer, the data goes through the RAM first.
    #[inline]
    pub(super) fn move_to_ram(&mut self, handle: Handle<Active<S>>) {
        let bytes = self.host.requests[handle].io.sectors.bytes();
        match self.host.buffer.as_ref().and_then(|_| self.host.ram.carry(self.now, bytes)) {
            Some(at) => self.events.push(at, Event::Host(HostEvent::Ram(handle.number()))),
            None => self.write(handle),
        }
    }

    /// Continues a request after its transfer of the RAM: the RAM has looked a read up, taken a write in, or moved the
    /// sectors that a read takes from the buffer.
    pub(crate) fn ram_done(&mut self, handle: Handle<Active<S>>) {
        let request = &self.host.requests[handle];
        match request.io.kind {
            IoKind::Read if request.from_ram.is_some() => _ = self.respond(handle),
            IoKind::Read => self.read(handle),
            kind if kind.brings_data() => self.write(handle),
            kind => unreachable!("no data to move for a {}", kind.name()),
        }
    }
}
