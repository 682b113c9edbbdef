//! The state of the host side, and what the FTL sees of it: the owners of the data that the FTL moves are requests under way
//! and entries of the write buffer.

use std::num::NonZeroU32;

use base::engine::{Handle, Slab};
use base::units::{Bytes, Lba, Lpn, Time};
use flash::backend::{Class, Slot, SlotContent, SlotMut};
use flash::nand::{Sector, Stamp};
use ftl::{Direction, Origin, Owner, Owners, PageWrite, Service, ZoneError};

use crate::buffer::BufferEntry;
use crate::counters::Counts;
use crate::spec::{ReadTransfer, ResolvedDevice, ResolvedQueue, ResolvedQueues};

use super::active::Active;
use super::link::Link;
use super::overlap::Overlaps;
use super::queues::Queues;
use super::ram::Ram;
use super::request::{Completion, Status};
use super::write_buffer::WriteBuffer;

/// The host side of a device: its queues, requests, link, RAM and write buffer. The FTL's callbacks only note here the
/// work that has become due.
#[derive(Clone, Debug)]
pub(crate) struct HostSide<S> {
    /// Requests in the submission queues.
    pub(crate) queues: Queues<S>,
    /// Requests under way.
    pub(crate) requests: Slab<Active<S>>,
    /// Their handles, in no particular order.
    pub(crate) active: Vec<Handle<Active<S>>>,
    pub(crate) overlaps: Overlaps<Handle<Active<S>>>,
    /// Requests that were blocked and continue next, each with the time at which it was unblocked; empty between two events.
    pub(crate) unblocked: Vec<(Time, Handle<Active<S>>)>,
    /// Requests that flash has finished.
    finished: Vec<Handle<Active<S>>>,
    /// True if requests that finish at the same moment complete in this order. Writes to a zone random write area may
    /// overlap, and the area holds the data of the last write. Set when a host opens the first zone with such an area.
    pub(crate) in_order: bool,
    /// Index of the first request in `finished` that has not been taken, while requests complete in order.
    first_finished: usize,
    /// Reads with data that may cross the link ahead of the rest.
    parts: Vec<Handle<Active<S>>>,
    pub(crate) completions: Vec<Completion<S>>,
    pub(crate) buffer: Option<WriteBuffer<S>>,
    /// The host link, which the FTL's own data share with the requests.
    pub(crate) link: Link,
    pub(crate) ram: Ram,
    /// True if the data of a read crosses the link page by page as it comes from flash, and not after the last page.
    cuts_through: bool,
    /// The service class of the reads of each queue; empty if all reads may suspend programs and erases.
    read_classes: Vec<Class>,
    /// The number of sectors of a mapping unit.
    sectors: u32,
    pub(crate) counts: Counts,
    /// The numbers of mapping units of preconditioning, written and refused.
    pub(crate) preconditioning: PreconditioningCounts,
}

/// The next work of the host side. The FTL's callbacks only note it.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Due<S> {
    /// A part of a read's data has come from flash.
    Part(Handle<Active<S>>),
    /// Flash has finished a request.
    Finished(Handle<Active<S>>),
    /// Flushes may be done, and writes may come into the buffer.
    Buffer,
}

/// The numbers of mapping units of preconditioning by their fate. These writes have no owner.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct PreconditioningCounts {
    pub(crate) written: u64,
    pub(crate) refused: u64,
}

/// The bit that marks the owner as a buffer entry.
const ENTRY: u32 = 1 << 31;

enum OwnerKind<S> {
    Request(Handle<Active<S>>),
    Entry(Handle<BufferEntry>),
}

impl<S: Sector> HostSide<S> {
    pub(crate) fn new(resolved: &ResolvedDevice) -> Self {
        let ResolvedDevice { host, .. } = resolved;
        Self {
            queues: Queues::new(&host.queues),
            requests: Slab::default(),
            active: Vec::new(),
            overlaps: Overlaps::new(host.queue_depth, resolved.zones.map(|shape| shape.size)),
            unblocked: Vec::new(),
            finished: Vec::new(),
            in_order: false,
            first_finished: 0,
            parts: Vec::new(),
            completions: Vec::new(),
            buffer: WriteBuffer::new(resolved, S::KIND),
            link: Link::new(host.link.clone()),
            ram: Ram::new(resolved.spec.ram),
            cuts_through: host.read_transfer == ReadTransfer::CutThrough,
            read_classes: read_classes(&host.queues),
            sectors: resolved.geometry.sectors,
            counts: Counts::default(),
            preconditioning: PreconditioningCounts::default(),
        }
    }

    /// Drops all requests and the content of the buffer at a power loss.
    pub(crate) fn lose_power(&mut self, now: Time, resolved: &ResolvedDevice) {
        self.queues.clear();
        self.requests.clear();
        self.active.clear();
        self.overlaps.clear();
        self.finished.clear();
        self.first_finished = 0;
        self.parts.clear();
        self.completions.clear();
        self.buffer = WriteBuffer::new(resolved, S::KIND);
        self.link.reset(now);
        self.ram.reset(now);
    }

    /// Takes the next waiting work: first requests, then the buffer, which has one turn for all units that have left it
    /// since its last turn.
    #[inline]
    pub(crate) fn next_due(&mut self) -> Option<Due<S>> {
        // The last data of a read crosses the link with the end of its command, not as a part.
        while let Some(handle) = self.parts.pop() {
            if self.requests[handle].pending > 0 {
                return Some(Due::Part(handle));
            }
        }
        if let Some(handle) = self.next_finished() {
            return Some(Due::Finished(handle));
        }
        self.buffer.as_mut().is_some_and(WriteBuffer::take_change).then_some(Due::Buffer)
    }

    /// Takes the next request whose flash work is done.
    #[inline]
    fn next_finished(&mut self) -> Option<Handle<Active<S>>> {
        if !self.in_order {
            return self.finished.pop();
        }
        let handle = *self.finished.get(self.first_finished)?;
        self.first_finished += 1;
        if self.first_finished == self.finished.len() {
            self.finished.clear();
            self.first_finished = 0;
        }
        Some(handle)
    }

    /// True if [`Self::next_due`] would return nothing.
    #[inline]
    pub(crate) fn is_quiet(&self) -> bool {
        self.finished.is_empty() && self.parts.is_empty() && !self.buffer.as_ref().is_some_and(WriteBuffer::has_changed)
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
            self.finished.push(handle);
        }
    }

    /// The buffer of a device that has buffer entries.
    fn buffer_of_entry(&self) -> &WriteBuffer<S> {
        self.buffer.as_ref().expect("an entry has a buffer")
    }
}

impl<S: Sector> Owners for HostSide<S> {
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
        self.counts.unmapped_slots += 1;
        self.discard_done(owner);
    }

    fn note_unmapped(&mut self) {
        self.counts.unmapped_slots += 1;
        self.counts.unmapped_flash_reads += 1;
    }

    #[inline]
    fn give(&self, unit: &PageWrite, into: SlotMut<'_>) {
        match Self::owner_kind(unit.owner) {
            Some(OwnerKind::Request(handle)) => into.put_part(unit.mask, (&self.requests[handle].data, unit.at)),
            Some(OwnerKind::Entry(handle)) => {
                let data = self.buffer_of_entry().units.data(handle);
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
                self.requests.prefetch(handle);
                self.overlaps.prefetch(lpn.get());
            }
            (Some(OwnerKind::Entry(handle)), Some(buffer)) => buffer.units.prefetch(handle, lpn),
            _ => {}
        }
    }

    #[inline]
    fn prefetch_near(&self, owner: Owner, lpn: Lpn) {
        if let Some(OwnerKind::Request(_)) = Self::owner_kind(owner) {
            self.overlaps.prefetch_change(lpn.get());
        }
    }

    fn pack(&self, unit: &PageWrite, mut into: SlotMut<'_>, first: usize) {
        // Only units of the buffer are packed.
        if let (true, Some(OwnerKind::Entry(handle))) = (S::KIND.is_present(), Self::owner_kind(unit.owner)) {
            let data = self.buffer_of_entry().units.data(handle);
            let sectors = (0..self.sectors as usize).filter(|i| unit.mask >> i & 1 != 0);
            (first..).zip(sectors).for_each(|(to, i)| into.put_sector(to, data.sector::<S>(i)));
        }
    }

    #[inline]
    fn set(&self, owner: Owner) -> u32 {
        match Self::owner_kind(owner) {
            Some(OwnerKind::Request(handle)) => self.requests[handle].set,
            Some(OwnerKind::Entry(handle)) => self.buffer_of_entry().units.entry(handle).set,
            // Data without an owner may go to any die: set 0 stands for all.
            None => 0,
        }
    }

    fn origin(&self, owner: Owner) -> Origin {
        match Self::owner_kind(owner) {
            Some(OwnerKind::Request(handle)) => self.requests[handle].origin(),
            Some(OwnerKind::Entry(handle)) => self.buffer_of_entry().units.origin(handle),
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
            Some(OwnerKind::Entry(handle)) => self.buffer.as_mut().expect("an entry has a buffer").end_write(handle),
            None => self.preconditioning.written += 1,
        }
    }

    fn write_refused(&mut self, owner: Owner) {
        match Self::owner_kind(owner) {
            Some(OwnerKind::Request(handle)) => {
                self.counts.refused_slots += 1;
                self.requests[handle].status = Status::ReadOnly;
                self.unit_done(handle, Service::NONE);
            }
            // The unit stays in the buffer, where reads still find it.
            Some(OwnerKind::Entry(_)) => {
                self.buffer.as_mut().expect("an entry has a buffer").note_no_room();
            }
            None => self.preconditioning.refused += 1,
        }
    }

    fn discard_refused(&mut self, owner: Owner) {
        if let Some(OwnerKind::Request(handle)) = Self::owner_kind(owner) {
            self.requests[handle].status = Status::ReadOnly;
            self.unit_done(handle, Service::NONE);
        }
    }

    fn write_absorbed(&mut self) {
        self.counts.absorbed_slots += 1;
    }

    fn zone_done(&mut self, owner: Owner) {
        if let Some(OwnerKind::Request(handle)) = Self::owner_kind(owner) {
            self.unit_done(handle, Service::NONE);
        }
    }

    fn zone_refused(&mut self, owner: Owner, error: ZoneError) {
        let Some(OwnerKind::Request(handle)) = Self::owner_kind(owner) else {
            self.preconditioning.refused += 1;
            return;
        };
        let request = &mut self.requests[handle];
        request.status = error.into();
        self.counts.refused_slots += u64::from(request.io.kind.brings_data());
        self.unit_done(handle, Service::NONE);
    }

    fn room(&mut self) {
        if let Some(buffer) = &mut self.buffer {
            buffer.note_change();
        }
    }

    fn carry(&mut self, now: Time, direction: Direction, bytes: Bytes) -> Time {
        self.link.carry_memory(now, direction, bytes)
    }

    fn logged(&mut self, well: bool) {
        let buffer = self.buffer.as_mut().expect("only a buffer is flushed");
        buffer.units.logged(well);
        buffer.note_change();
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

/// The service class of the reads of each queue; empty if all classes are equal.
fn read_classes(queues: &ResolvedQueues) -> Vec<Class> {
    let class = |queue: &ResolvedQueue| if queue.suspends { Class::HostRead } else { Class::PatientRead };
    let all: Vec<Class> = queues.queues.iter().map(class).collect();
    if all.contains(&Class::PatientRead) { all } else { Vec::new() }
}
