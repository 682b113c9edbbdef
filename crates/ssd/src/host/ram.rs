//! The RAM of the drive: one rate for all that the write buffer and the look-ups of the map move, first come, first
//! served.

use base::engine::Handle;
use base::io::IoKind;
use base::units::{Bytes, Span, Time};
use flash::backend::Observer;
use flash::nand::Sector;
use ftl::{Event, Ftl, HostEvent};

use super::clients::Active;
use crate::Ssd;
use crate::spec::RamSpec;

/// A RAM, and the time when it is free; a RAM without a rate takes no time.
#[derive(Clone, Debug)]
pub(crate) struct Ram {
    spec: Option<RamSpec>,
    free: Time,
    busy: Span,
}

impl Ram {
    pub(crate) const fn new(spec: Option<RamSpec>) -> Self {
        Self { spec, free: Time::ZERO, busy: Span::ZERO }
    }

    /// Moves bytes as soon as the RAM is free. Returns the time of their end, or `None` if they take no time.
    #[inline]
    pub(crate) fn carry(&mut self, now: Time, bytes: Bytes) -> Option<Time> {
        let time = self.spec?.rate.time(bytes);
        if time.is_zero() {
            return None;
        }
        self.free = self.free.max(now) + time;
        self.busy += time;
        Some(self.free)
    }

    /// Looks up `units` mapping units.
    #[inline]
    pub(crate) fn look_up(&mut self, now: Time, units: u32) -> Option<Time> {
        let bytes = self.spec?.look_up?;
        self.carry(now, bytes * u64::from(units))
    }

    /// Time the RAM worked until `now`. What is promised beyond `now` follows without a gap.
    pub(crate) fn busy(&self, now: Time) -> Span {
        self.busy.saturating_sub(self.free.saturating_since(now))
    }

    /// Drops what is promised beyond `now`, and keeps the busy time.
    pub(crate) fn reset(&mut self, now: Time) {
        self.busy = self.busy(now);
        self.free = now;
    }

    pub(crate) const fn reset_count(&mut self) {
        self.busy = Span::ZERO;
    }
}

impl<S: Sector, O: Observer, F: Ftl> Ssd<S, O, F> {
    /// Looks a read up and begins it.
    #[inline]
    pub(super) fn look_up(&mut self, handle: Handle<Active<S>>) {
        let extent = self.clients.requests[handle].extent;
        match self.ram.look_up(self.now, extent.end - extent.first) {
            Some(at) => self.events.push(at, Event::Host(HostEvent::Ram(handle.number()))),
            None => self.read(handle),
        }
    }

    /// Begins a write; into a buffer its data goes through the RAM first.
    #[inline]
    pub(super) fn take_in(&mut self, handle: Handle<Active<S>>) {
        let bytes = self.clients.requests[handle].io.sectors.bytes();
        match self.clients.buffer.as_ref().and_then(|_| self.ram.carry(self.now, bytes)) {
            Some(at) => self.events.push(at, Event::Host(HostEvent::Ram(handle.number()))),
            None => self.write(handle),
        }
    }

    /// The RAM has done its part for a request: it has looked a read up, taken a write in, or moved what a read takes
    /// from the buffer.
    pub(crate) fn ram_done(&mut self, handle: Handle<Active<S>>) {
        let request = &self.clients.requests[handle];
        match request.io.kind {
            IoKind::Read if request.from_ram.is_some() => self.served(handle),
            IoKind::Read => self.read(handle),
            IoKind::Write => self.write(handle),
            IoKind::Flush | IoKind::Discard => unreachable!("no data to move"),
        }
    }
}
