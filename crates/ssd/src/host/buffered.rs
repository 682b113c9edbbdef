//! Writes and flushes through the buffer: data enters as far as there is room, and goes on to the FTL.

use base::engine::Handle;
use base::io::IoKind;
use base::units::{Lpn, Sectors};
use flash::nand::Sector;

use super::clients::{Active, Clients};
use super::request::Status;
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
        let waits = self.buffer_is_filled && !self.buffer_queue.is_empty() && !self.clients.is_drained();
        if self.resolved.planted.is(Sabotage::WriteOvertakes) {
            self.buffer_queue.push_front(handle);
            return self.fill_buffer();
        }
        self.buffer_queue.push_back(handle);
        // The log may have become ready for a flush.
        if waits && self.flushes.is_empty() {
            debug_assert!(!self.take(self.buffer_queue[0]) && !self.write_back(true), "nothing has made room");
        } else {
            self.fill_buffer();
        }
    }

    /// Lets waiting writes into the buffer as far as there is room, and writes back what is due.
    pub(super) fn fill_buffer(&mut self) {
        if self.clients.is_stuck() {
            return self.refuse_writes();
        }
        self.buffer_is_filled = false;
        loop {
            while let Some(handle) = self.buffer_queue.front().copied() {
                if !self.take(handle) {
                    break;
                }
                // Requests that end below may bring writes, which set the flag again if they fill the buffer.
                self.buffer_is_filled = false;
                let request = &self.clients.requests[handle];
                if request.next_unit < request.extent.end {
                    // Each piece is a separate write: units that are due leave before the next piece comes in.
                    while self.log_flush() || self.write_back(false) {}
                    continue;
                }
                self.buffer_queue.pop_front();
                if let Some(later) = self.buffer_queue.get(AHEAD) {
                    self.clients.requests.fetch(*later);
                }
                self.served(handle);
            }
            if !self.log_flush() && !self.write_back(!self.buffer_queue.is_empty()) {
                let superblocks = self.resolved.buffer.is_some_and(|buffer| buffer.superblocks.is_some());
                self.buffer_is_filled = !superblocks && self.ftl.announces_room();
                return;
            }
        }
    }

    /// Logs the units that a flush waits for, if flushes go to the log and the log is ready. Returns false if nothing
    /// is logged.
    fn log_flush(&mut self) -> bool {
        let Some((epoch, handle)) = self.flushes.back().copied().filter(|_| self.logs_flushes()) else { return false };
        let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
        let Some(buffer) = &mut self.clients.buffer else { return false };
        if buffer.is_durable(epoch) || !self.ftl.flush_log().is_some_and(|log| log.is_ready(&mut flash)) {
            return false;
        }
        debug_assert_eq!(self.clients.requests[handle].io.kind, IoKind::Flush);
        let version = self.ftl.next_version();
        let Some(log) = self.ftl.flush_log() else { return false };
        self.logging.clear();
        for entry in buffer.unlogged(epoch) {
            let crate::buffer::BufferEntry { lpn, mask, .. } = *buffer.entry(entry);
            let mask = mask & full_mask(self.resolved.geometry.sectors);
            let owner = Clients::<S>::entry_owner(entry);
            let version = buffer.version_under_way(entry).unwrap_or(version);
            if !log.log(PageWrite { lpn, owner, at: 0, mask, version, old_place: OldPlace::Unasked, stream: None }) {
                break;
            }
            self.logging.push(entry);
        }
        if self.logging.is_empty() {
            return false;
        }
        buffer.begin_log();
        self.logging.drain(..).for_each(|entry| buffer.log(entry));
        log.end_log(&mut flash, &self.clients, version);
        true
    }

    /// True if the units that flushes wait for go to the log. Before an orderly power-off they go to their place on
    /// flash.
    fn logs_flushes(&mut self) -> bool {
        let logs = self.resolved.buffer.is_some_and(|buffer| buffer.flush == FlushPolicy::Log);
        logs && !self.powering_off && self.ftl.flush_log().is_some_and(|log| !log.is_full())
    }

    /// Refuses all writes and flushes, because the buffer holds units that flash has no room for.
    fn refuse_writes(&mut self) {
        let flushes = std::mem::take(&mut self.flushes).into_iter().map(|(_, handle)| handle);
        for handle in flushes.chain(std::mem::take(&mut self.buffer_queue)) {
            let request = &mut self.clients.requests[handle];
            if request.io.kind == IoKind::Write {
                self.counts.refused_slots += u64::from(request.extent.end - request.next_unit);
            }
            request.status = Status::ReadOnly;
            self.served(handle);
        }
    }

    /// Takes the units of a write's next piece into the buffer. Returns false if the buffer is full.
    fn take(&mut self, handle: Handle<Active<S>>) -> bool {
        let request = &self.clients.requests[handle];
        let end = self.piece(request.next_unit, request.extent.end);
        let (io, from) = (request.io, request.next_unit);
        let origin = request.origin();
        for unit in from..end {
            let (at, mask) = self.cover(&io, unit);
            let Clients { requests, buffer: Some(buffer), .. } = &mut self.clients else { return true };
            let Active { data, set, .. } = &requests[handle];
            match buffer.take(Lpn::new(unit), *set, mask, (data, at), origin) {
                InsertionResult::Full => return false,
                InsertionResult::Absorbed => self.counts.absorbed_slots += 1,
                InsertionResult::New => {}
            }
            self.clients.requests[handle].next_unit += 1;
        }
        true
    }

    /// Writes back the units of one program, if this is due or if a write waits for room. Returns false if neither
    /// holds.
    fn write_back(&mut self, waits: bool) -> bool {
        let program = self.backend.slots_per_command() * self.resolved.backend.timing.paired;
        let flush = self.flushes.back().map(|(epoch, _)| *epoch).filter(|_| !self.logs_flushes());
        let Some(buffer) = &mut self.clients.buffer else { return false };
        let most = buffer.at_once(program);
        let ftl = &self.ftl;
        let due = buffer.is_due(program, flush, waits, |set, under_way| ftl.takes_writes(set, under_way));
        let Some(due) = due else { return false };
        if self.ftl.discards_in_order() {
            // Discards of units that were on their way to flash precede newer writes.
            self.discard_dropped();
        }
        let full = full_mask(self.resolved.geometry.sectors);
        let (mut written, mut sectors) = (0, 0);
        let mut version = 0;
        while most.is_none_or(|most| written < most) {
            let Some(buffer) = &mut self.clients.buffer else { break };
            let Some(entry) = buffer.next_to_write(due) else { break };
            let crate::buffer::BufferEntry { lpn, mask, set, .. } = *buffer.entry(entry);
            if written == 0 {
                version = self.ftl.next_version();
                self.ftl.begin_write(set);
            }
            written += 1;
            if let Some(buffer) = &mut self.clients.buffer {
                buffer.set_version(entry, version);
            }
            let mask = mask & full;
            // Most units are whole.
            sectors += u64::from(if mask == full { self.resolved.geometry.sectors } else { mask.count_ones() });
            let unit = PageWrite {
                lpn,
                owner: Clients::<S>::entry_owner(entry),
                at: 0,
                mask,
                version,
                old_place: OldPlace::Unasked,
                stream: None,
            };
            let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
            self.ftl.write(&mut flash, &mut self.clients, unit);
        }
        if written > 0 {
            // Programs take their data from the RAM as they go, so they do not wait for it. Later users of the RAM wait
            // for the transfer.
            self.ram.carry(self.now, Sectors::new(sectors).bytes());
            let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
            self.ftl.end_write(&mut flash, &mut self.clients);
        }
        written > 0
    }

    /// Lets the FTL discard the units that were discarded on their way to flash and are on flash now.
    pub(super) fn discard_dropped(&mut self) {
        while let Some(lpn) = self.clients.next_dropped() {
            self.ftl.discard(self.now, None, lpn);
        }
    }

    /// Completes the flushes whose units are durable, and fills the buffer. Called after units have left the buffer.
    pub(super) fn buffer_drained(&mut self) {
        self.discard_dropped();
        while let Some((epoch, handle)) = self.flushes.front().copied() {
            if !self.clients.buffer.as_ref().is_none_or(|buffer| buffer.is_durable(epoch)) {
                break;
            }
            self.flushes.pop_front();
            self.served(handle);
        }
        self.fill_buffer();
    }

    /// Completes a flush of a drive without a buffer: flash holds every acknowledged write already.
    pub(super) fn flush(&mut self, handle: Handle<Active<S>>) {
        let Some(buffer) = &mut self.clients.buffer else {
            self.served(handle);
            return;
        };
        let ignores = self.resolved.buffer.is_some_and(|buffer| buffer.flush == FlushPolicy::Ignore);
        if (ignores && !self.powering_off) || self.resolved.planted.is(Sabotage::FlushLies) {
            self.served(handle);
            return;
        }
        if self.powering_off {
            buffer.distrust_log();
        }
        let epoch = buffer.begin_flush();
        self.flushes.push_back((epoch, handle));
        self.fill_buffer();
        self.clients.note_buffer_change();
    }
}
