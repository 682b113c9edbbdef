//! The owners of data that the FTL moves: requests under way and entries of the write buffer.

use std::num::NonZeroU32;

use base::engine::{Handle, Slab};
use base::io::{Io, IoKind};
use base::units::{Bytes, Lba, Lpn, Span, Time};
use flash::backend::{CauseSet, Class, Slot, SlotContent, SlotMut};
use flash::nand::{Sector, Stamp};
use ftl::{Direction, Origin, Owner, Owners, PageWrite, Service, ZoneError};

use crate::buffer::{Buffer, BufferEntry};
use crate::spec::{ResolvedQueue, ResolvedQueues};

use super::link::Link;
use super::overlap::{Extent, Overlaps};
use super::request::{QueueId, Status, Tag};

/// A request that the device has taken from its queue and not completed.
#[derive(Clone, Debug)]
pub(crate) struct Active<S> {
    pub(crate) tag: Tag,
    pub(crate) queue: QueueId,
    /// The NVM set to whose dies the request's writes are confined.
    pub(crate) set: u32,
    pub(crate) io: Io,
    pub(crate) arrival: Time,
    pub(crate) start: Time,
    pub(crate) extent: Extent,
    pub(crate) status: Status,
    /// The number of mapping units that flash still works on.
    pub(crate) pending: u32,
    /// The number of sectors of a read that have come from flash and wait for the link.
    pub(crate) came: u32,
    pub(crate) sent: u32,
    /// The time at which the RAM has moved the sectors that a read takes from the buffer.
    pub(crate) from_ram: Option<Time>,
    /// The number of earlier unfinished requests that overlap this one.
    pub(crate) blockers: u32,
    /// True if later requests wait for this one.
    pub(crate) blocks: bool,
    /// True if the request is in the lists of overlapping requests.
    pub(crate) listed: bool,
    /// The next mapping unit of the request for the buffer to take.
    pub(crate) next_unit: u32,
    /// Position of the request in the list of all requests under way.
    pub(crate) position: u32,
    pub(crate) commands: u32,
    pub(crate) wait: Span,
    pub(crate) start_wait: Span,
    pub(crate) waited_for: CauseSet,
    pub(crate) data: Vec<S>,
}

impl<S> Active<S> {
    /// Creates an empty place for a request.
    pub(crate) const fn blank() -> Self {
        Self {
            tag: 0,
            queue: QueueId::new(0),
            set: 0,
            io: Io::FLUSH,
            arrival: Time::ZERO,
            start: Time::ZERO,
            extent: Extent::new(IoKind::Flush, 0, 0),
            status: Status::Done,
            pending: 0,
            came: 0,
            sent: 0,
            from_ram: None,
            blockers: 0,
            blocks: false,
            listed: false,
            next_unit: 0,
            position: 0,
            commands: 0,
            wait: Span::ZERO,
            start_wait: Span::ZERO,
            waited_for: CauseSet::EMPTY,
            data: Vec::new(),
        }
    }

    /// The properties of the request that an FTL may ask for.
    #[inline]
    pub(crate) const fn origin(&self) -> Origin {
        let Io { sectors, placement, .. } = self.io;
        Origin { sectors: sectors.get() as u32, queue: self.queue.get(), placement }
    }

    /// Replaces the request that the place held before, field by field: see
    /// [`Request::apart`](super::request::Request::apart).
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller.
    pub(crate) fn begin(&mut self, new: Self) {
        let Self {
            tag,
            queue,
            set,
            io,
            arrival,
            start,
            extent,
            status,
            pending,
            came,
            sent,
            from_ram,
            blockers,
            blocks,
            listed,
            next_unit,
            position,
            commands,
            wait,
            start_wait,
            waited_for,
            data,
        } = new;
        let Io { kind, start: first, sectors, placement } = io;
        (self.tag, self.queue, self.set, self.io) = (tag, queue, set, Io { kind, start: first, sectors, placement });
        (self.arrival, self.start, self.extent, self.status) = (arrival, start, extent, status);
        (self.pending, self.came, self.sent, self.from_ram) = (pending, came, sent, from_ram);
        (self.blockers, self.blocks, self.listed) = (blockers, blocks, listed);
        (self.next_unit, self.position, self.commands) = (next_unit, position, commands);
        (self.wait, self.start_wait, self.waited_for, self.data) = (wait, start_wait, waited_for, data);
    }
}

/// The requests and the buffer.
#[derive(Clone, Debug)]
pub(crate) struct Clients<S> {
    pub(crate) requests: Slab<Active<S>>,
    pub(crate) overlaps: Overlaps<Handle<Active<S>>>,
    pub(crate) buffer: Option<Buffer>,
    /// Requests that flash has finished.
    served: Vec<Handle<Active<S>>>,
    /// True if requests that are served at the same moment complete in this order. Writes to a zone random write area
    /// may overlap, and the area holds the last one. Set when a host opens the first zone with such an area.
    pub(crate) in_order: bool,
    /// Index of the first request in `served` that has not been taken, while requests complete in order.
    first_served: usize,
    /// True if the data of a read crosses the link page by page as it comes from flash, and not after the last page.
    cuts_through: bool,
    /// The service class of the reads of each queue; empty if all reads may suspend programs and erases.
    read_classes: Vec<Class>,
    /// Reads with data that may cross the link ahead of the rest.
    parts: Vec<Handle<Active<S>>>,
    /// The number of mapping units read that were never written, or discarded.
    pub(crate) unmapped: u64,
    /// The number of these mapping units that took a flash read all the same.
    pub(crate) unmapped_flash_reads: u64,
    /// The number of mapping units of writes that the FTL refused.
    pub(crate) refused: u64,
    /// The number of mapping units that newer writes replaced in a zone random write area.
    pub(crate) absorbed: u64,
    /// Mapping units that were discarded on their way to flash.
    dropped: Vec<Lpn>,
    /// Discards under way that took content from the buffer, each with the epoch whose flushes waited for this content
    /// and now wait for the discard.
    discards: Vec<(Handle<Active<S>>, u64)>,
    /// True if a flush may be done, or a write may come into the buffer.
    drained: bool,
    /// True if the buffer could not write a unit back, because too many blocks of the device are bad.
    stuck: bool,
    /// The number of sectors of a mapping unit.
    sectors: u32,
    /// The numbers of mapping units of preconditioning, written and refused.
    pub(crate) before: PreconditioningCounts,
    /// The host link, which the FTL's own data share with the requests.
    pub(crate) link: Link,
}

/// The next work of the host side. The FTL's callbacks only note it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Due<S> {
    /// A part of a read's data has come from flash.
    Part(Handle<Active<S>>),
    /// Flash has finished a request.
    Served(Handle<Active<S>>),
    /// Flushes may be done, and writes may come into the buffer.
    Buffer,
}

/// The numbers of mapping units of preconditioning by their fate. These writes have no owner.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PreconditioningCounts {
    pub(crate) written: u64,
    pub(crate) refused: u64,
}

/// The bit that marks an owner's number as that of a buffer entry.
const ENTRY: u32 = 1 << 31;

enum OwnerKind<S> {
    Request(Handle<Active<S>>),
    Entry(Handle<BufferEntry>),
}

impl<S: Sector> Clients<S> {
    /// The clients of a device with this link and this buffer, with mapping units of `sectors` sectors, and these requests under way.
    pub(crate) fn new(
        link: Link,
        buffer: Option<Buffer>,
        sectors: u32,
        cuts_through: bool,
        overlaps: Overlaps<Handle<Active<S>>>,
    ) -> Self {
        Self {
            requests: Slab::default(),
            overlaps,
            buffer,
            served: Vec::new(),
            in_order: false,
            first_served: 0,
            cuts_through,
            read_classes: Vec::new(),
            parts: Vec::new(),
            unmapped: 0,
            unmapped_flash_reads: 0,
            refused: 0,
            absorbed: 0,
            dropped: Vec::new(),
            discards: Vec::new(),
            drained: false,
            stuck: false,
            sectors,
            before: PreconditioningCounts::default(),
            link,
        }
    }

    /// Adds the service classes of the reads of the device's queues.
    pub(crate) fn with_read_classes(self, queues: &ResolvedQueues) -> Self {
        let class = |queue: &ResolvedQueue| if queue.suspends { Class::HostRead } else { Class::PatientRead };
        let all: Vec<Class> = queues.queues.iter().map(class).collect();
        let differ = all.contains(&Class::PatientRead);
        Self { read_classes: if differ { all } else { Vec::new() }, ..self }
    }

    /// Drops all requests at a power loss, and takes a new buffer.
    pub(crate) fn lose_power(&mut self, buffer: Option<Buffer>) {
        self.requests.clear();
        self.overlaps.clear();
        self.served.clear();
        self.first_served = 0;
        self.parts.clear();
        self.dropped.clear();
        self.discards.clear();
        (self.drained, self.stuck) = (false, false);
        self.buffer = buffer;
    }

    /// Takes the next work: requests first, then the buffer, once for all units that have left it meanwhile.
    #[inline]
    pub(crate) fn next_due(&mut self) -> Option<Due<S>> {
        // The last data of a read crosses the link with the end of its command, not as a part.
        while let Some(handle) = self.parts.pop() {
            if self.requests[handle].pending > 0 {
                return Some(Due::Part(handle));
            }
        }
        if let Some(handle) = self.next_served() {
            return Some(Due::Served(handle));
        }
        std::mem::take(&mut self.drained).then_some(Due::Buffer)
    }

    /// Takes the next request whose flash work is done.
    #[inline]
    fn next_served(&mut self) -> Option<Handle<Active<S>>> {
        if !self.in_order {
            return self.served.pop();
        }
        let handle = *self.served.get(self.first_served)?;
        self.first_served += 1;
        if self.first_served == self.served.len() {
            self.served.clear();
            self.first_served = 0;
        }
        Some(handle)
    }

    /// True if [`Self::next_due`] would return nothing.
    #[inline]
    pub(crate) const fn is_quiet(&self) -> bool {
        self.served.is_empty() && self.parts.is_empty() && !self.drained
    }

    /// True if [`Self::next_due`] will return [`Due::Buffer`].
    pub(crate) const fn is_drained(&self) -> bool {
        self.drained
    }

    /// Notes that a flush may be done, or a write may come into the buffer.
    pub(crate) const fn note_buffer_change(&mut self) {
        self.drained = true;
    }

    /// True if the buffer holds units that flash has no room for.
    pub(crate) const fn is_stuck(&self) -> bool {
        self.stuck
    }

    /// Takes a unit that was discarded on its way to flash, and that the FTL must discard now.
    pub(crate) fn next_dropped(&mut self) -> Option<Lpn> {
        self.dropped.pop()
    }

    /// Discards a mapping unit in the buffer, for a request.
    pub(crate) fn drop_buffered(&mut self, discard: Handle<Active<S>>, lpn: Lpn) {
        let Some(buffer) = &mut self.buffer else { return };
        if let Some(mut awaited) = buffer.discard(lpn) {
            if let Some((_, first)) = self.discards.last_mut().filter(|(handle, _)| *handle == discard) {
                // Flushes of later epochs wait for earlier epochs, too.
                (*first, awaited) = (awaited.min(*first), awaited.max(*first));
                buffer.written(awaited);
            } else {
                self.discards.push((discard, awaited));
            }
        }
        self.note_buffer_change();
    }

    /// Makes the buffer hold the content of a mapping unit until the FTL, which may refuse the discard, has answered.
    pub(crate) fn hold_buffered(&mut self, lpn: Lpn) {
        if let Some(buffer) = &mut self.buffer {
            buffer.hold(lpn);
        }
    }

    /// True if the buffer holds content until the FTL has answered a discard.
    pub(crate) fn holds_any(&self) -> bool {
        self.buffer.as_ref().is_some_and(Buffer::holds_any)
    }

    /// Ends the hold of a mapping unit after the FTL has answered its discard.
    pub(crate) fn answer_discard(&mut self, lpn: Lpn, is_done: bool) {
        let Some(buffer) = &mut self.buffer else { return };
        buffer.answer_discard(lpn, is_done);
        self.note_buffer_change();
    }

    /// Notes that the discards of a request have taken effect, for the flushes that wait for them.
    pub(crate) fn end_discard(&mut self, discard: Handle<Active<S>>) {
        let Some(place) = self.discards.iter().position(|(handle, _)| *handle == discard) else { return };
        let (_, epoch) = self.discards.swap_remove(place);
        self.buffer.as_mut().expect("it took content from the buffer").written(epoch);
        self.note_buffer_change();
    }

    pub(crate) fn request_owner(handle: Handle<Active<S>>) -> Owner {
        debug_assert!(handle.number().get() < ENTRY);
        Some(handle.number())
    }

    pub(crate) fn entry_owner(handle: Handle<BufferEntry>) -> Owner {
        NonZeroU32::new(handle.number().get() | ENTRY)
    }

    #[inline]
    fn owner_kind(owner: Owner) -> Option<OwnerKind<S>> {
        let number = owner?;
        if number.get() & ENTRY == 0 {
            return Some(OwnerKind::Request(Handle::from_number(number)));
        }
        NonZeroU32::new(number.get() & !ENTRY).map(|number| OwnerKind::Entry(Handle::from_number(number)))
    }

    /// Puts the content of a mapping unit that was read into the data of its request.
    #[inline]
    fn unit_read(&mut self, slot: &Slot, content: SlotContent<'_>, service: Service) {
        let Some(OwnerKind::Request(handle)) = Self::owner_kind(slot.owner) else { return };
        let request = &mut self.requests[handle];
        if slot.lost {
            request.status = Status::Uncorrectable;
        }
        if S::KIND.is_present() {
            content.copy_into_list(slot.mask, self.sectors, (&mut request.data, slot.at));
        }
        if self.cuts_through {
            if request.came == 0 {
                self.parts.push(handle);
            }
            request.came += slot.mask.count_ones();
        }
        self.unit_done(handle, service);
    }

    #[inline]
    fn unit_done(&mut self, handle: Handle<Active<S>>, service: Service) {
        let request = &mut self.requests[handle];
        request.wait = request.wait.max(service.wait);
        request.start_wait = request.start_wait.max(service.start_wait);
        request.waited_for.extend(service.waited_for);
        request.pending -= 1;
        if request.pending == 0 {
            self.served.push(handle);
        }
    }

    fn entry_done(&mut self, handle: Handle<BufferEntry>) {
        let buffer = self.buffer.as_mut().expect("an entry has a buffer");
        if let Some(dropped) = buffer.flushed(handle) {
            self.dropped.push(dropped);
        }
        self.note_buffer_change();
    }
}

impl<S: Sector> Owners for Clients<S> {
    #[inline]
    fn read_done(&mut self, slot: &Slot, content: SlotContent<'_>, service: Service) {
        self.unit_read(slot, content, service);
    }

    fn read_sector(&mut self, owner: Owner, at: i32, content: SlotContent<'_>, lost: bool) {
        let Some(OwnerKind::Request(handle)) = Self::owner_kind(owner) else { return };
        let request = &mut self.requests[handle];
        if lost {
            request.status = Status::Uncorrectable;
        }
        if S::KIND.is_present() {
            request.data[at as usize] = content.sector(0);
        }
    }

    fn read_nothing(&mut self, owner: Owner) {
        self.unmapped += 1;
        self.discard_done(owner);
    }

    fn note_unmapped(&mut self) {
        self.unmapped += 1;
        self.unmapped_flash_reads += 1;
    }

    #[inline]
    fn give(&self, unit: &PageWrite, into: SlotMut<'_>) {
        match Self::owner_kind(unit.owner) {
            Some(OwnerKind::Request(handle)) => into.put_part(unit.mask, (&self.requests[handle].data, unit.at)),
            Some(OwnerKind::Entry(handle)) => {
                let data = self.buffer.as_ref().expect("an entry has a buffer").data(handle);
                into.put_content(unit.mask, (data, unit.at as u32));
            }
            // Units of preconditioning have no owner, and their sectors are computed. With bytes as payload they stay
            // zeros, as the slot is.
            None if S::KIND.is_stamp() => {
                let first = u64::from(unit.lpn.get()) * u64::from(self.sectors) + unit.at as u64;
                let first = Stamp::preconditioned(Lba::new(first), unit.version);
                into.put_content(unit.mask, (SlotContent::Run(first), 0));
            }
            None => {}
        }
    }

    #[inline]
    fn prefetch(&self, owner: Owner, lpn: Lpn) {
        match (Self::owner_kind(owner), &self.buffer) {
            (Some(OwnerKind::Request(handle)), _) => {
                self.requests.fetch(handle);
                self.overlaps.fetch(lpn.get());
            }
            (Some(OwnerKind::Entry(handle)), Some(buffer)) => buffer.fetch(handle, lpn),
            _ => {}
        }
    }

    #[inline]
    fn prefetch_near(&self, owner: Owner, lpn: Lpn) {
        if let Some(OwnerKind::Request(_)) = Self::owner_kind(owner) {
            self.overlaps.fetch_change(lpn.get());
        }
    }

    fn pack(&self, unit: &PageWrite, mut into: SlotMut<'_>, first: usize) {
        // Only units of the buffer are packed.
        if let (true, Some(OwnerKind::Entry(handle))) = (S::KIND.is_present(), Self::owner_kind(unit.owner)) {
            let data = self.buffer.as_ref().expect("an entry has a buffer").data(handle);
            let sectors = (0..self.sectors as usize).filter(|i| unit.mask >> i & 1 != 0);
            (first..).zip(sectors).for_each(|(to, i)| into.put_sector(to, data.sector::<S>(i)));
        }
    }

    #[inline]
    fn set(&self, owner: Owner) -> u32 {
        match Self::owner_kind(owner) {
            Some(OwnerKind::Request(handle)) => self.requests[handle].set,
            Some(OwnerKind::Entry(handle)) => self.buffer.as_ref().expect("an entry has a buffer").entry(handle).set,
            // Data without an owner may go to any die: set 0 stands for all.
            None => 0,
        }
    }

    fn origin(&self, owner: Owner) -> Origin {
        match Self::owner_kind(owner) {
            Some(OwnerKind::Request(handle)) => self.requests[handle].origin(),
            Some(OwnerKind::Entry(handle)) => self.buffer.as_ref().expect("an entry has a buffer").origin(handle),
            None => Origin::default(),
        }
    }

    fn discard_done(&mut self, owner: Owner) {
        if let Some(OwnerKind::Request(handle)) = Self::owner_kind(owner) {
            self.unit_done(handle, Service::NONE);
        }
    }

    fn write_done(&mut self, owner: Owner, service: Service) {
        match Self::owner_kind(owner) {
            Some(OwnerKind::Request(handle)) => self.unit_done(handle, service),
            Some(OwnerKind::Entry(handle)) => self.entry_done(handle),
            None => self.before.written += 1,
        }
    }

    fn write_refused(&mut self, owner: Owner) {
        match Self::owner_kind(owner) {
            Some(OwnerKind::Request(handle)) => {
                self.refused += 1;
                self.requests[handle].status = Status::ReadOnly;
                self.unit_done(handle, Service::NONE);
            }
            // The unit stays in the buffer, where reads still find it.
            Some(OwnerKind::Entry(_)) => {
                self.stuck = true;
                self.note_buffer_change();
            }
            None => self.before.refused += 1,
        }
    }

    fn discard_refused(&mut self, owner: Owner) {
        if let Some(OwnerKind::Request(handle)) = Self::owner_kind(owner) {
            self.requests[handle].status = Status::ReadOnly;
            self.unit_done(handle, Service::NONE);
        }
    }

    fn write_absorbed(&mut self) {
        self.absorbed += 1;
    }

    fn zone_done(&mut self, owner: Owner) {
        if let Some(OwnerKind::Request(handle)) = Self::owner_kind(owner) {
            self.unit_done(handle, Service::NONE);
        }
    }

    fn zone_refused(&mut self, owner: Owner, error: ZoneError) {
        let Some(OwnerKind::Request(handle)) = Self::owner_kind(owner) else {
            self.before.refused += 1;
            return;
        };
        let request = &mut self.requests[handle];
        request.status = error.into();
        self.refused += u64::from(request.io.kind.brings_data());
        self.unit_done(handle, Service::NONE);
    }

    fn room(&mut self) {
        self.note_buffer_change();
    }

    fn carry(&mut self, now: Time, direction: Direction, bytes: Bytes) -> Time {
        self.link.carry_memory(now, direction, bytes)
    }

    fn logged(&mut self, well: bool) {
        self.buffer.as_mut().expect("only a buffer is flushed").logged(well);
        self.note_buffer_change();
    }

    #[inline]
    fn charge(&mut self, owner: Owner) {
        if let Some(OwnerKind::Request(handle)) = Self::owner_kind(owner) {
            self.requests[handle].commands += 1;
        }
    }

    #[inline]
    fn read_class(&self, owner: Owner) -> Class {
        match Self::owner_kind(owner) {
            Some(OwnerKind::Request(handle)) if !self.read_classes.is_empty() => {
                self.read_classes[self.requests[handle].queue.index()]
            }
            _ => Class::HostRead,
        }
    }
}
