//! Writes and flushes through the buffer: data enters as far as there is room, and goes on to the FTL.

use base::engine::Handle;
use base::io::IoKind;
use base::units::{Lpn, Sectors};
use flash::nand::Sector;

use super::active::Active;
use super::request::Status;
use super::side::HostSide;
use super::write_buffer::WriteBuffer;
use crate::Ssd;
use crate::buffer::InsertionResult;
use crate::spec::FlushPolicy;
use ftl::{OldPlace, PageWrite, Sabotage, full_mask};

/// Waiting writes are prefetched this many places before their turn.
const AHEAD: usize = 4;

impl<S: Sector> Ssd<S> {
    /// Puts a write into the line for the buffer. Behind others that wait for room, the write waits until a unit
    /// leaves.
    pub(super) fn queue_for_buffer(&mut self, handle: Handle<Active<S>>) {
        let Some(buffer) = &mut self.host.buffer else { return };
        let waits = buffer.is_filled && !buffer.writes.is_empty() && !buffer.has_changed();
        if self.resolved.planted.is(Sabotage::WriteOvertakes) {
            buffer.writes.push_front(handle);
            return self.fill_buffer();
        }
        buffer.writes.push_back(handle);
        // The log may have become ready for a flush.
        if waits && buffer.flushes.is_empty() {
            debug_assert!(!self.buffer_first_piece() && !self.write_back(true), "nothing has made room");
        } else {
            self.fill_buffer();
        }
    }

    /// Lets waiting writes into the buffer as far as there is room, and writes back the units that are due.
    pub(super) fn fill_buffer(&mut self) {
        let Some(buffer) = &mut self.host.buffer else { return };
        if buffer.has_no_room() {
            return self.refuse_writes();
        }
        buffer.is_filled = false;
        loop {
            while self.buffer_first_piece() {
                let Some(buffer) = &mut self.host.buffer else { return };
                // Requests that end below may bring writes, which set the flag again if they fill the buffer.
                buffer.is_filled = false;
                let Some(handle) = buffer.writes.front().copied() else { return };
                let request = &self.host.requests[handle];
                if request.next_unit < request.extent.end {
                    // Each piece is a separate write: units that are due leave before the next piece comes in.
                    while self.log_flush() || self.write_back(false) {}
                    continue;
                }
                buffer.writes.pop_front();
                if let Some(later) = buffer.writes.get(AHEAD) {
                    self.host.requests.prefetch(*later);
                }
                self.respond(handle);
            }
            let waits = self.host.buffer.as_ref().is_some_and(|buffer| !buffer.writes.is_empty());
            if !self.log_flush() && !self.write_back(waits) {
                if let Some(buffer) = &mut self.host.buffer {
                    let superblocks = self.resolved.buffer.is_some_and(|buffer| buffer.superblocks.is_some());
                    buffer.is_filled = !superblocks && self.ftl.announces_room();
                }
                return;
            }
        }
    }

    /// Logs the units that a flush waits for, if flushes go to the log and the log is ready. Returns false if nothing
    /// is logged.
    fn log_flush(&mut self) -> bool {
        let Some((epoch, handle)) = self.last_flush().filter(|_| self.logs_flushes()) else { return false };
        let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
        let Some(buffer) = &mut self.host.buffer else { return false };
        if buffer.units.is_durable(epoch) || !self.ftl.flush_log().is_some_and(|log| log.is_ready(&mut flash)) {
            return false;
        }
        debug_assert_eq!(self.host.requests[handle].io.kind, IoKind::Flush);
        let version = self.ftl.next_version();
        let Some(log) = self.ftl.flush_log() else { return false };
        buffer.logging.clear();
        for entry in buffer.units.unlogged(epoch) {
            let crate::buffer::BufferEntry { lpn, mask, .. } = *buffer.units.entry(entry);
            let mask = mask & full_mask(self.resolved.geometry.sectors);
            let owner = HostSide::<S>::entry_owner(entry);
            let version = buffer.units.version_under_way(entry).unwrap_or(version);
            if !log.log(PageWrite { lpn, owner, at: 0, mask, version, old_place: OldPlace::Unasked, stream: None }) {
                break;
            }
            buffer.logging.push(entry);
        }
        if buffer.logging.is_empty() {
            return false;
        }
        buffer.units.begin_log();
        buffer.logging.drain(..).for_each(|entry| buffer.units.log(entry));
        log.end_log(&mut flash, &self.host, version);
        true
    }

    /// The newest flush that waits, and its epoch.
    fn last_flush(&self) -> Option<(u64, Handle<Active<S>>)> {
        self.host.buffer.as_ref()?.flushes.back().copied()
    }

    /// True if the units that flushes wait for go to the log. Before an orderly power-off they go to their place on
    /// flash.
    fn logs_flushes(&mut self) -> bool {
        let logs = self.resolved.buffer.is_some_and(|buffer| buffer.flush == FlushPolicy::Log);
        logs && !self.powering_off && self.ftl.flush_log().is_some_and(|log| !log.is_full())
    }

    /// Refuses all writes and flushes, because the buffer holds units that flash has no room for.
    fn refuse_writes(&mut self) {
        let Some(buffer) = &mut self.host.buffer else { return };
        let flushes = std::mem::take(&mut buffer.flushes).into_iter().map(|(_, handle)| handle);
        for handle in flushes.chain(std::mem::take(&mut buffer.writes)) {
            let request = &mut self.host.requests[handle];
            if request.io.kind == IoKind::Write {
                self.host.counts.refused_slots += u64::from(request.extent.end - request.next_unit);
            }
            request.status = Status::ReadOnly;
            self.respond(handle);
        }
    }

    /// Puts the units of the next piece of the first waiting write into the buffer. Returns false if no write waits or the
    /// buffer is full.
    fn buffer_first_piece(&mut self) -> bool {
        let first = self.host.buffer.as_ref().and_then(|buffer| buffer.writes.front());
        let Some(handle) = first.copied() else { return false };
        let request = &self.host.requests[handle];
        let end = self.piece(request.next_unit, request.extent.end);
        let (io, from) = (request.io, request.next_unit);
        let origin = request.origin();
        for unit in from..end {
            let (at, mask) = self.cover(&io, unit);
            let HostSide { requests, buffer: Some(buffer), .. } = &mut self.host else { return true };
            let Active { data, set, .. } = &requests[handle];
            match buffer.units.put(Lpn::new(unit), *set, mask, (data, at), origin) {
                InsertionResult::Full => return false,
                InsertionResult::Absorbed => self.host.counts.absorbed_slots += 1,
                InsertionResult::New => {}
            }
            self.host.requests[handle].next_unit += 1;
        }
        true
    }

    /// Writes back the units of one program, if this is due or if a write waits for room. Returns false if neither
    /// holds.
    fn write_back(&mut self, waits: bool) -> bool {
        let program = self.backend.slots_per_command() * self.resolved.backend.timing.paired;
        let flush = self.last_flush().map(|(epoch, _)| epoch).filter(|_| !self.logs_flushes());
        let Some(buffer) = &mut self.host.buffer else { return false };
        let most = buffer.units.at_once(program);
        let ftl = &self.ftl;
        let due = buffer.units.is_due(program, flush, waits, |set, under_way| ftl.takes_writes(set, under_way));
        let Some(due) = due else { return false };
        if self.ftl.discards_in_order() {
            // Discards of units that were on their way to flash precede newer writes.
            self.discard_dropped();
        }
        let full = full_mask(self.resolved.geometry.sectors);
        let (mut written, mut sectors) = (0, 0);
        let mut version = 0;
        while most.is_none_or(|most| written < most) {
            let Some(buffer) = &mut self.host.buffer else { break };
            let Some(entry) = buffer.units.next_to_write(due) else { break };
            let crate::buffer::BufferEntry { lpn, mask, set, .. } = *buffer.units.entry(entry);
            if written == 0 {
                version = self.ftl.next_version();
                self.ftl.begin_write(set);
            }
            written += 1;
            if let Some(buffer) = &mut self.host.buffer {
                buffer.units.set_version(entry, version);
            }
            let mask = mask & full;
            // Most units are whole.
            sectors += u64::from(if mask == full { self.resolved.geometry.sectors } else { mask.count_ones() });
            let unit = PageWrite {
                lpn,
                owner: HostSide::<S>::entry_owner(entry),
                at: 0,
                mask,
                version,
                old_place: OldPlace::Unasked,
                stream: None,
            };
            let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
            self.ftl.write(&mut flash, &mut self.host, unit);
        }
        if written > 0 {
            // Programs take their data from the RAM as they go, so they do not wait for it. Later users of the RAM wait
            // for the transfer.
            self.host.ram.carry(self.now, Sectors::new(sectors).bytes());
            let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
            self.ftl.end_write(&mut flash, &mut self.host);
        }
        written > 0
    }

    /// Lets the FTL discard the units that were discarded on their way to flash and are on flash now.
    pub(super) fn discard_dropped(&mut self) {
        while let Some(lpn) = self.host.buffer.as_mut().and_then(WriteBuffer::next_dropped) {
            self.ftl.discard(self.now, None, lpn);
        }
    }

    /// Completes the flushes whose units are durable, and fills the buffer. Called after units have left the buffer.
    pub(super) fn buffer_drained(&mut self) {
        self.discard_dropped();
        while let Some(buffer) = &mut self.host.buffer {
            let first = buffer.flushes.front().copied().filter(|(epoch, _)| buffer.units.is_durable(*epoch));
            let Some((_, handle)) = first else { break };
            buffer.flushes.pop_front();
            self.respond(handle);
        }
        self.fill_buffer();
    }

    /// Begins a flush, which waits for the units that are dirty now. Without a buffer it completes at once: flash holds every
    /// acknowledged write.
    pub(super) fn flush(&mut self, handle: Handle<Active<S>>) {
        let Some(buffer) = &mut self.host.buffer else {
            self.respond(handle);
            return;
        };
        let ignores = self.resolved.buffer.is_some_and(|buffer| buffer.flush == FlushPolicy::Ignore);
        if ignores && !self.powering_off {
            self.respond(handle);
            return;
        }
        if self.powering_off {
            buffer.units.distrust_log();
        }
        let epoch = buffer.units.begin_flush();
        buffer.flushes.push_back((epoch, handle));
        self.fill_buffer();
        if let Some(buffer) = &mut self.host.buffer {
            buffer.note_change();
        }
    }
}
