//! The way of a request through the RAM: a read is looked up, a write goes into the buffer.

use base::engine::Handle;
use base::io::IoKind;
use flash::nand::Sector;
use ftl::{Event, HostEvent};

use super::clients::Active;
use crate::Ssd;

impl<S: Sector> Ssd<S> {
    /// Looks a read up in the map, which takes time of the RAM, and begins it.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller.
    pub(super) fn look_up(&mut self, handle: Handle<Active<S>>) {
        let extent = self.clients.requests[handle].extent;
        match self.ram.look_up(self.now, extent.end - extent.first) {
            Some(at) => self.events.push(at, Event::Host(HostEvent::Ram(handle.number()))),
            None => self.read(handle),
        }
    }

    /// Begins a write. For a drive with a buffer, the data goes through the RAM first.
    #[inline]
    pub(super) fn take_in(&mut self, handle: Handle<Active<S>>) {
        let bytes = self.clients.requests[handle].io.sectors.bytes();
        match self.clients.buffer.as_ref().and_then(|_| self.ram.carry(self.now, bytes)) {
            Some(at) => self.events.push(at, Event::Host(HostEvent::Ram(handle.number()))),
            None => self.write(handle),
        }
    }

    /// Continues a request after its transfer of the RAM: the RAM has looked a read up, taken a write in, or moved the
    /// sectors that a read takes from the buffer.
    pub(crate) fn ram_done(&mut self, handle: Handle<Active<S>>) {
        let request = &self.clients.requests[handle];
        match request.io.kind {
            IoKind::Read if request.from_ram.is_some() => _ = self.served(handle),
            IoKind::Read => self.read(handle),
            kind if kind.brings_data() => self.write(handle),
            kind => unreachable!("no data to move for a {}", kind.name()),
        }
    }
}
