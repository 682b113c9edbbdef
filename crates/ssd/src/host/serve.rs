//! The life of a request: queue, order, link, buffer or FTL, link, completion.

use base::engine::Handle;
use base::io::{Io, IoKind, PlacementId};
use base::units::{Bytes, Lpn, Sectors, Span, Time};
use flash::backend::{CauseSet, Level, RequestStep};
use flash::nand::{Sector, SectorMask};

use super::active::Active;
use super::overlap::Extent;
use super::request::{Completion, Request, Status};
use super::side::{Due, HostSide};
use crate::Ssd;
use ftl::{
    Background, Direction, Event, Ftl, HostEvent, OldPlace, PageRead, PageWrite, Sabotage, ZoneAction, full_mask,
};

/// The last version in a spare area with which the drive still takes writes: the drive becomes read-only before its
/// versions of 32 bits are used up. The remaining versions are for data that the drive still has to store by itself:
/// its buffer, its map, its records.
pub(crate) const LAST_VERSION: u32 = u32::MAX - (1 << 24);

impl<S: Sector> Ssd<S> {
    /// Does all work that is possible at this moment.
    #[inline]
    pub(crate) fn run_ready(&mut self) {
        loop {
            if let Some(list) = self.backend.take_finished() {
                let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
                self.ftl.finished(&mut flash, &mut self.host, list);
            } else if let Some(list) = self.slc_array.as_mut().and_then(|slc_array| slc_array.take_finished()) {
                let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
                background(&mut self.ftl).finished_slc(&mut flash, &mut self.host, list);
            } else if self.ftl.is_due(self.backend.is_timed()) {
                let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
                background(&mut self.ftl).run_due(&mut flash, &mut self.host);
            } else if self.continue_requests() {
                // The end of the processor's work may have made flash or FTL work due, so the loop goes on.
            } else if let Some(token) = self.backend.take_cpu_done() {
                let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
                background(&mut self.ftl).on_cpu_done(&mut flash, token);
            } else if !(self.has_waiting() && self.admit() || self.on_idle()) {
                if self.power.is_some() {
                    self.note_power_condition();
                }
                return;
            }
        }
    }

    /// True if nothing is left to do at this moment, as after most requests that begin: the checks of
    /// [`Self::run_ready`] in one condition.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Every request asks once.
    pub(crate) fn is_quiet(&self) -> bool {
        !self.backend.has_ready()
            && self.slc_array.is_none()
            && self.host.is_quiet()
            && !self.host.active.is_empty()
            && self.host.queues.waiting() == 0
            && !self.ftl.is_due(self.backend.is_timed())
    }

    /// Does the host side's work that flash has made due. Returns true if anything else may be due then. The begin of a
    /// transfer makes nothing due: neither the FTL nor another request sees it before it ends.
    #[inline]
    fn continue_requests(&mut self) -> bool {
        while let Some(due) = self.host.next_due() {
            match due {
                Due::Part(handle) => self.send_part(handle),
                Due::Finished(handle) => {
                    if self.respond(handle) {
                        return true;
                    }
                }
                Due::Buffer => {
                    self.buffer_drained();
                    return true;
                }
            }
        }
        false
    }

    /// False if no request waits to be admitted. Cheaper than [`Self::may_admit`], and asked first.
    #[inline]
    fn has_waiting(&self) -> bool {
        self.host.queues.waiting() > 0 || !self.ready
    }

    /// Lets the FTL work on its own while no request is under way. Returns true if the FTL does.
    #[inline]
    fn on_idle(&mut self) -> bool {
        if !self.host.active.is_empty() || !self.ready {
            return false;
        }
        let Some(background) = self.ftl.background() else { return false };
        let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
        background.on_idle(&mut flash, &mut self.host)
    }

    /// Takes the next request, if fewer requests are under way than the queue depth. Returns false if none is taken.
    #[inline]
    pub(crate) fn admit(&mut self) -> bool {
        if !self.may_admit() {
            return false;
        }
        let Some((arrival, request)) = self.host.queues.take() else { return false };
        self.accept_waiting(arrival, request);
        true
    }

    /// True if the device takes a further request.
    #[inline]
    pub(crate) fn may_admit(&mut self) -> bool {
        if !self.ready {
            self.ready = self.scanned && !self.ftl.power_cycle().is_some_and(|ftl| ftl.is_recovering());
        }
        self.ready
            && self.host.active.len() < self.resolved.host.queue_depth as usize
            && (self.power.is_none() || self.power_admits_request())
    }

    /// Begins a request that has waited in its queue.
    #[inline(never)]
    fn accept_waiting(&mut self, arrival: Time, request: Request<S>) {
        self.accept(arrival, request);
    }

    /// Begins or refuses a request that has left its queue. Each request passes here exactly once, from one of two
    /// callers.
    #[inline(always)]
    #[allow(clippy::inline_always)] // Every request passes here once, from one of two callers.
    pub(crate) fn accept(&mut self, arrival: Time, request: Request<S>) {
        if self.power.is_some() {
            self.throttle_after(&request.io);
        }
        if let Some(status) = self.refusal(&request.io) {
            self.refuse(arrival, request, status);
        } else {
            self.start(arrival, request);
        }
    }

    #[inline]
    fn notify(&mut self, handle: Handle<Active<S>>, step: RequestStep) {
        if let Some(observer) = self.backend.observer_mut() {
            observer.request(self.now, handle.number(), step);
        }
    }

    /// Notifies the observer of the level of every queue and buffer.
    #[inline]
    pub(crate) fn notify_levels(&mut self) {
        if self.backend.observer().is_some() {
            self.tell_levels();
        }
    }

    #[inline(never)]
    fn tell_levels(&mut self) {
        let now = self.now;
        if let Some(observer) = self.backend.observer_mut() {
            let levels = [
                (Level::Waiting, self.host.queues.waiting() as u64),
                (Level::Active, self.host.active.len() as u64),
                (Level::Buffered, self.host.buffer.as_ref().map_or(0, |buffer| buffer.units.len() as u64)),
                (Level::FreeBlocks, self.ftl.free_blocks()),
            ];
            levels.into_iter().for_each(|(level, value)| observer.level(now, level, value));
        }
    }

    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller.
    fn start(&mut self, arrival: Time, request: Request<S>) {
        let Request { tag, queue, io, data } = request;
        let set = self.resolved.host.queues.set(queue, io.placement);
        let extent = self.extent_of(&io);
        if extent.changes() && !self.host.overlaps.lists_reads() {
            self.list_reads();
        }
        let mut blockers = 0;
        if self.host.overlaps.may_conflict(&extent) {
            let planted = self.resolved.planted;
            let HostSide { requests, overlaps, .. } = &mut self.host;
            overlaps.conflicting(&extent, |other| {
                let other = &mut requests[other];
                if other.blockers == 0 || !planted.is(Sabotage::OverlapMissed) {
                    other.blocks = true;
                    blockers += 1;
                }
            });
        }
        let listed = self.host.overlaps.begin(&extent, self.host.active.len());
        let handle = self.host.requests.insert(Active {
            tag,
            queue,
            set,
            io,
            arrival,
            start: self.now,
            extent,
            status: Status::Done,
            pending: 0,
            came: 0,
            sent: 0,
            from_ram: None,
            blockers,
            blocks: false,
            listed,
            next_unit: extent.first,
            position: self.host.active.len() as u32,
            commands: 0,
            wait: Span::ZERO,
            start_wait: Span::ZERO,
            waited_for: CauseSet::EMPTY,
            data,
        });
        if listed {
            self.host.overlaps.add(&extent, handle);
        }
        self.host.active.push(handle);
        self.notify(handle, RequestStep::Begun { tag, arrival, io });
        self.notify_levels();
        if blockers == 0 {
            self.transfer_in(handle);
        }
    }

    /// Indexes the reads under way that are not in the lists of overlapping requests.
    #[cold]
    fn list_reads(&mut self) {
        let HostSide { active, requests, overlaps, .. } = &mut self.host;
        for handle in active {
            let request = &mut requests[*handle];
            if !std::mem::replace(&mut request.listed, true) {
                overlaps.add(&request.extent, *handle);
            }
        }
    }

    /// Continues a request that no earlier request blocks. Most requests come from [`Self::start`]: a call would cost
    /// them 25 instructions.
    #[inline(always)]
    #[allow(clippy::inline_always)]
    fn transfer_in(&mut self, handle: Handle<Active<S>>) {
        let io = self.host.requests[handle].io;
        self.notify(handle, RequestStep::Clear);
        if io.kind == IoKind::Read {
            self.notify(handle, RequestStep::Here);
            return self.look_up(handle);
        }
        let bytes = if io.kind.brings_data() { io.sectors.bytes() } else { Bytes::new(0) };
        match self.host.link.carry(self.now, Direction::In, bytes) {
            Some(at) => self.events.push(at, Event::Host(HostEvent::DataIn(handle.number()))),
            None => self.execute(handle),
        }
    }

    /// Continues a write whose command and data have arrived.
    pub(crate) fn execute(&mut self, handle: Handle<Active<S>>) {
        self.notify(handle, RequestStep::Here);
        match self.host.requests[handle].io.kind {
            IoKind::Read => unreachable!("a read needs no data from the host"),
            IoKind::Write | IoKind::Append => self.move_to_ram(handle),
            IoKind::Flush => self.flush(handle),
            IoKind::Discard => self.discard(handle),
            IoKind::ZoneOpen => self.manage_zone(handle, ZoneAction::Open),
            IoKind::ZoneClose => self.manage_zone(handle, ZoneAction::Close),
            IoKind::ZoneFinish => self.manage_zone(handle, ZoneAction::Finish),
            IoKind::ZoneReset => self.manage_zone(handle, ZoneAction::Reset),
            IoKind::ZoneOpenZrwa => self.manage_zone(handle, ZoneAction::OpenZrwa),
            IoKind::ZrwaFlush => self.manage_zone(handle, ZoneAction::FlushZrwa),
            IoKind::HandleUpdate => self.update_handle(handle),
        }
    }

    /// The sectors of a mapping unit that a request covers, and the position of the unit's first sector in the
    /// request's data.
    #[inline]
    pub(super) fn cover(&self, io: &Io, unit: u32) -> (i32, SectorMask) {
        let sectors = self.resolved.geometry.sectors;
        let base = u64::from(unit) * u64::from(sectors);
        let from = io.start.get().max(base) - base;
        let to = io.end().get().min(base + u64::from(sectors)) - base;
        let mask = full_mask(sectors) & (SectorMask::MAX << from) & full_mask(to as u32);
        ((base as i64 - io.start.get() as i64) as i32, mask)
    }

    /// The end of the piece that begins with unit `from`, in a request that ends at `end`.
    #[inline]
    pub(super) fn piece(&self, from: u32, end: u32) -> u32 {
        self.resolved.host.chop.map_or(end, |chop| (from / chop + 1).saturating_mul(chop).min(end))
    }

    #[inline]
    pub(super) fn read(&mut self, handle: Handle<Active<S>>) {
        let request = &mut self.host.requests[handle];
        let (extent, io) = (request.extent, request.io);
        if S::KIND.is_present() {
            request.data = vec![S::default(); io.sectors.get() as usize];
        }
        match self.host.buffer.is_none() && extent.end - extent.first == 1 {
            true => self.read_alone(handle, &io, extent.first),
            false => self.read_units(handle, &io, extent),
        }
    }

    /// Reads the mapping units of a request, from the buffer or from flash.
    fn read_units(&mut self, handle: Handle<Active<S>>, io: &Io, extent: Extent) {
        // Units that were discarded on their way to flash may have left the buffer at this very moment; the FTL must
        // discard them before it reads.
        self.discard_dropped();
        let owner = HostSide::request_owner(handle);
        let mut pending = 0;
        let mut buffered = 0;
        let mut from = extent.first;
        while from < extent.end {
            let piece = self.piece(from, extent.end);
            for unit in from..piece {
                let (at, mut mask) = self.cover(io, unit);
                if self.host.buffer.is_some() {
                    let all = mask.count_ones();
                    mask = self.read_buffer(handle, unit, at, mask);
                    buffered += all - mask.count_ones();
                    if mask == 0 {
                        continue;
                    }
                }
                let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
                let mapped = self.ftl.read(&mut flash, &mut self.host, PageRead { owner, at, mask }, Lpn::new(unit));
                pending += u32::from(mapped);
                self.host.counts.unmapped_slots += u64::from(!mapped);
            }
            if pending > 0 {
                let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
                self.ftl.end_read(&mut flash);
            }
            from = piece;
        }
        // No list finishes while it is submitted, so `pending` still has the full number.
        let bytes = Sectors::new(u64::from(buffered)).bytes();
        let from_ram = if buffered > 0 { self.host.ram.carry(self.now, bytes) } else { None };
        let request = &mut self.host.requests[handle];
        request.pending = pending;
        request.from_ram = from_ram;
        if pending == 0 {
            self.respond(handle);
        }
    }

    /// Reads the only mapping unit of a request, on a drive whose buffer cannot have a part of it.
    #[inline]
    fn read_alone(&mut self, handle: Handle<Active<S>>, io: &Io, unit: u32) {
        let (at, mask) = self.cover(io, unit);
        let wanted = PageRead { owner: HostSide::request_owner(handle), at, mask };
        let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
        if self.ftl.read_alone(&mut flash, &mut self.host, wanted, Lpn::new(unit)) {
            // No list finishes while it is submitted.
            self.host.requests[handle].pending = 1;
        } else {
            self.host.counts.unmapped_slots += 1;
            self.respond(handle);
        }
    }

    /// Copies the sectors that the buffer has of a unit; returns the missing sectors.
    fn read_buffer(&mut self, handle: Handle<Active<S>>, unit: u32, at: i32, mask: SectorMask) -> SectorMask {
        if self.resolved.planted.is(Sabotage::BufferMissed) {
            return mask;
        }
        let HostSide { requests, buffer: Some(buffer), .. } = &mut self.host else { return mask };
        let Some(found) = buffer.units.find(Lpn::new(unit)) else { return mask };
        if S::KIND.is_present() && !found.zeros {
            let sectors = self.resolved.geometry.sectors;
            let content = buffer.units.data(found.entry);
            content.copy_into_list(mask & found.mask, sectors, (&mut requests[handle].data, at));
        }
        mask & !found.mask
    }

    pub(super) fn write(&mut self, handle: Handle<Active<S>>) {
        let Some(extent) = self.admitted(handle) else { return };
        let Active { io, set, .. } = self.host.requests[handle];
        let units = u64::from(extent.end - extent.first);
        self.host.counts.host_slots += units;
        if self.ftl.latest_version() >= LAST_VERSION {
            self.host.counts.refused_slots += units;
            self.host.requests[handle].status = Status::ReadOnly;
            self.respond(handle);
            return;
        }
        if io.placement != PlacementId::default() {
            self.note_identifier(io.placement);
        }
        if self.host.buffer.is_some() {
            return self.queue_for_buffer(handle);
        }
        if extent.first == extent.end {
            self.respond(handle);
            return;
        }
        self.host.requests[handle].pending = extent.end - extent.first;
        let owner = HostSide::request_owner(handle);
        let mut from = extent.first;
        while from < extent.end {
            let piece = self.piece(from, extent.end);
            let version = self.ftl.next_version();
            self.ftl.begin_write(set);
            for unit in from..piece {
                let (at, mask) = self.cover(&io, unit);
                let unit = PageWrite {
                    lpn: Lpn::new(unit),
                    owner,
                    at,
                    mask,
                    version,
                    old_place: OldPlace::Unasked,
                    stream: None,
                };
                let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
                self.ftl.write(&mut flash, &mut self.host, unit);
            }
            let mut flash = Self::flash(self.now, &mut self.backend, &mut self.slc_array, &mut self.events);
            self.ftl.end_write(&mut flash, &mut self.host);
            from = piece;
        }
    }

    /// Discards the units inside the extent. Units that it covers only in part keep their content. The buffer gives up
    /// its content of a unit only once the FTL cannot refuse the discard any more.
    fn discard(&mut self, handle: Handle<Active<S>>) {
        let Active { extent, io, .. } = self.host.requests[handle];
        let mut pending = 0;
        for unit in extent.first..extent.end {
            if !self.is_discarded_by(&io, unit) {
                continue;
            }
            let waits = self.ftl.discard(self.now, HostSide::request_owner(handle), Lpn::new(unit));
            pending += u32::from(waits);
            let hasty = self.resolved.planted.is(Sabotage::DiscardHasty);
            let holds = waits && self.ftl.may_refuse_discards() && !hasty;
            match &mut self.host.buffer {
                Some(buffer) if holds => buffer.units.hold(Lpn::new(unit)),
                Some(buffer) => buffer.discard(handle, Lpn::new(unit)),
                None => {}
            }
        }
        self.host.requests[handle].pending = pending;
        if pending == 0 {
            self.respond(handle);
        }
    }

    /// True if a discard covers the whole unit.
    fn is_discarded_by(&self, io: &Io, unit: u32) -> bool {
        self.cover(io, unit).1 == full_mask(self.resolved.geometry.sectors)
    }

    /// Ends a discard that the FTL has answered: the buffer discards the units that it holds for the discard, or keeps
    /// all of them if the FTL has refused a unit.
    fn end_discard(&mut self, handle: Handle<Active<S>>) {
        let Active { extent, io, status, .. } = self.host.requests[handle];
        if self.host.buffer.as_ref().is_some_and(|buffer| buffer.units.holds_any()) {
            for unit in extent.first..extent.end {
                if self.is_discarded_by(&io, unit)
                    && let Some(buffer) = &mut self.host.buffer
                {
                    buffer.answer_discard(Lpn::new(unit), status == Status::Done);
                }
            }
        }
        if let Some(buffer) = &mut self.host.buffer {
            buffer.end_discard(handle);
        }
    }

    /// Sends the data that has come so far for a read to the host, ahead of the rest.
    fn send_part(&mut self, handle: Handle<Active<S>>) {
        let request = &mut self.host.requests[handle];
        let part = std::mem::take(&mut request.came);
        request.sent += part;
        self.host.link.carry_part(self.now, Sectors::new(u64::from(part)).bytes());
    }

    /// Ends the device's part of a request: the data of a read crosses the link, any other request is complete. Returns
    /// true if the request is complete, so that others may follow.
    #[inline]
    pub(super) fn respond(&mut self, handle: Handle<Active<S>>) -> bool {
        let &Active { io, sent, from_ram, .. } = &self.host.requests[handle];
        if let Some(at) = from_ram.filter(|at| *at > self.now) {
            self.events.push(at, Event::Host(HostEvent::Ram(handle.number())));
            return false;
        }
        self.notify(handle, RequestStep::Served);
        let arrival = match io.kind {
            IoKind::Read => {
                let rest = io.sectors - Sectors::new(u64::from(sent));
                self.host.link.carry(self.now, Direction::Out, rest.bytes())
            }
            IoKind::Discard => {
                self.end_discard(handle);
                None
            }
            _ => None,
        };
        let latency = self.host.link.latency(io.kind);
        let end = if latency.is_zero() { arrival } else { Some(arrival.unwrap_or(self.now) + latency) };
        match end {
            Some(at) => self.events.push(at, Event::Host(HostEvent::DataOut(handle.number()))),
            None => _ = self.complete(handle),
        }
        end.is_none()
    }

    /// Completes a request. Returns true if others waited for it and continue.
    #[inline]
    pub(crate) fn complete(&mut self, handle: Handle<Active<S>>) -> bool {
        let succeeded = self.host.requests[handle].status == Status::Done;
        self.notify(handle, RequestStep::Ended { succeeded });
        let request = &mut self.host.requests[handle];
        self.host.counts.complete(request.io, request.status, request.extent);
        let data = std::mem::take(&mut request.data);
        self.host.completions.push(Completion {
            tag: request.tag,
            queue: request.queue,
            io: request.io,
            status: request.status,
            arrival: request.arrival,
            start: request.start,
            end: self.now,
            commands: request.commands,
            flash_wait: request.wait,
            start_wait: request.start_wait,
            waited_for: request.waited_for,
            data: if request.io.kind == IoKind::Read { data } else { Vec::new() },
        });
        let (position, extent, blocks) = (request.position as usize, request.extent, request.blocks);
        self.host.overlaps.end(&extent);
        if request.listed {
            self.host.overlaps.remove(&extent, handle);
        }
        self.host.queues.finished(request.queue);
        self.host.active.swap_remove(position);
        if let Some(moved) = self.host.active.get(position) {
            self.host.requests[*moved].position = position as u32;
        }
        self.host.requests.remove(handle);
        self.notify_levels();
        if blocks {
            self.unblock(&extent);
        }
        blocks
    }

    /// Continues the requests that waited only for a request with this extent, in the order of their arrival.
    fn unblock(&mut self, extent: &Extent) {
        // A request may unblock others at once: each call uses the end of the vector.
        let first = self.host.unblocked.len();
        if first == 0 {
            // At most all active requests are unblocked together, so the vector never needs more room than this.
            self.host.unblocked.reserve(self.host.active.capacity());
        }
        let HostSide { requests, overlaps, unblocked, .. } = &mut self.host;
        overlaps.conflicting(extent, |handle| {
            let request = &mut requests[handle];
            if request.blockers > 0 {
                request.blockers -= 1;
                if request.blockers == 0 {
                    unblocked.push((request.start, handle));
                }
            }
        });
        let end = self.host.unblocked.len();
        self.order_unblocked(first);
        for i in first..end {
            self.transfer_in(self.host.unblocked[i].1);
        }
        self.host.unblocked.truncate(first);
    }
}

/// The FTL's interface for its own work. The caller knows that this FTL has one.
fn background(ftl: &mut Box<dyn Ftl>) -> &mut dyn Background {
    ftl.background().expect("an FTL with work beside requests")
}
