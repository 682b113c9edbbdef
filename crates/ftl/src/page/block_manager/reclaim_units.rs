//! The reclaim units of a drive with Flexible Data Placement: the writes of each handle, the moves by collection, and
//! the log of events.
//!
//! A superblock belongs to the handle whose stream it is in. With initially isolated handles the superblocks of copies
//! belong to no handle.

use std::collections::VecDeque;

use base::engine::Handle;
use base::io::PlacementId;
use base::units::{Psn, SuperblockId, Time};
use flash::backend::Command;
use flash::nand::Stream;

use super::BlockManager;
use super::pool::{Holds, Open};
use crate::page::fdp_counters::LOG;
use crate::page::{FdpCounters, FdpEvent, FdpEventKind, FdpSpec, HandleCounters, Isolation};
use crate::port::Flash;

/// The counters and events of a drive's reclaim units.
#[derive(Clone, Debug)]
pub(in crate::page) struct ReclaimUnits {
    spec: FdpSpec,
    erased: u64,
    handles: Vec<HandleCounters>,
    invalid_identifiers: u64,
    moved_copies: u64,
    shared_copies: u64,
    events: u64,
    log: VecDeque<FdpEvent>,
}

impl ReclaimUnits {
    pub(super) fn new(spec: FdpSpec) -> Box<Self> {
        let handles = vec![HandleCounters::default(); usize::from(spec.handles)];
        let log = VecDeque::with_capacity(LOG);
        Box::new(Self {
            spec,
            erased: 0,
            handles,
            invalid_identifiers: 0,
            moved_copies: 0,
            shared_copies: 0,
            events: 0,
            log,
        })
    }

    /// Bytes of memory of a description's reclaim units.
    pub(super) fn memory(spec: Option<&FdpSpec>) -> u64 {
        let Some(spec) = spec else { return 0 };
        let handles = u64::from(spec.handles) * size_of::<HandleCounters>() as u64;
        size_of::<Self>() as u64 + handles + (LOG * size_of::<FdpEvent>()) as u64
    }

    /// The handle of a stream's superblocks; none if they hold copies of several handles.
    fn handle(&self, stream: Stream) -> Option<u16> {
        let has_own = stream.is_host() || self.spec.isolation == Isolation::Persistent;
        has_own.then(|| u16::from(stream.number()).min(self.spec.handles - 1))
    }

    fn of(&mut self, stream: Stream) -> Option<&mut HandleCounters> {
        let handle = self.handle(stream)?;
        Some(&mut self.handles[usize::from(handle)])
    }

    fn note(&mut self, event: FdpEvent) {
        if self.log.len() == LOG {
            self.log.pop_front();
        }
        self.log.push_back(event);
        self.events += 1;
    }

    /// Counts a host write of a mapping unit with an identifier; handle 0 takes writes with an invalid identifier.
    fn note_write(&mut self, id: PlacementId) {
        let handle = self.spec.target(id).map_or(0, |target| target.handle);
        self.handles[usize::from(handle)].written_units += 1;
    }

    /// Notes the identifier of a write command: an invalid one is an event.
    fn note_identifier(&mut self, at: Time, id: PlacementId) {
        if self.spec.target(id).is_none() {
            self.invalid_identifiers += 1;
            self.note(FdpEvent { at, kind: FdpEventKind::InvalidIdentifier, number: Some(id.get()), units: 0 });
        }
    }

    /// Counts a superblock that is full.
    fn note_filled(&mut self, stream: Stream) {
        if let Some(handle) = self.of(stream) {
            handle.full_superblocks += 1;
        }
    }

    /// Notes the event that a stream leaves its superblock with `units` mapping units not written.
    fn note_left(&mut self, at: Time, stream: Stream, units: u32) {
        if let Some(handle) = self.of(stream) {
            handle.partial_superblocks += 1;
        }
        let number = self.handle(stream);
        self.note(FdpEvent { at, kind: FdpEventKind::NotFullyWritten, number, units });
    }

    /// Notes the event that collection moves the valid mapping units of a superblock.
    fn note_victim(&mut self, at: Time, stream: Stream, units: u32) {
        match self.of(stream) {
            Some(handle) => {
                handle.victims += 1;
                handle.moved_units += u64::from(units);
            }
            None => self.moved_copies += u64::from(units),
        }
        let number = self.handle(stream);
        self.note(FdpEvent { at, kind: FdpEventKind::MediaReallocated, number, units });
    }
}

impl BlockManager {
    /// Counts a host write of a mapping unit with an identifier, if the drive has reclaim units.
    #[inline]
    pub(in crate::page) fn note_placement(&mut self, id: PlacementId) {
        if let Some(units) = &mut self.reclaim_units {
            units.note_write(id);
        }
    }

    /// Notes the identifier of a write command of the host.
    pub(in crate::page) fn note_identifier(&mut self, now: Time, id: PlacementId) {
        if let Some(units) = &mut self.reclaim_units {
            units.note_identifier(now, id);
        }
    }

    /// The stream of the handle that an identifier names.
    pub(in crate::page) fn stream_of(&self, id: PlacementId) -> Option<Stream> {
        let target = self.reclaim_units.as_ref()?.spec.target(id)?;
        Some(Stream::host(target.handle as u8))
    }

    /// True if the host places its data in reclaim units.
    pub(in crate::page) const fn has_reclaim_units(&self) -> bool {
        self.reclaim_units.is_some()
    }

    /// Notes that a superblock of a pool is full, or that its stream leaves it at `next`.
    #[inline]
    pub(super) fn note_end(&mut self, pool: u32, stream: Stream, open: Open) {
        if self.kind_in(pool) == Holds::Pages {
            return;
        }
        let left = self.slots_in(open.mode) - open.next;
        match &mut self.reclaim_units {
            None => {}
            Some(units) if left == 0 => units.note_filled(stream),
            Some(units) => units.note_left(self.now, stream, left),
        }
    }

    /// Notes that collection, refresh or another move empties a superblock of its valid mapping units.
    #[inline]
    pub(in crate::page) fn note_reallocated(&mut self, pool: u32, superblock: SuperblockId, valid: u32) {
        let is_data = self.kind_in(pool) == Holds::Data;
        if let Some(units) = self.reclaim_units.as_mut().filter(|_| is_data && valid > 0) {
            units.note_victim(self.now, self.table.stream(superblock), valid);
        }
    }

    /// Counts the copies that have been programmed into a superblock of another handle, although handles are
    /// persistently isolated.
    #[inline]
    pub(in crate::page) fn note_shared_copies(
        &mut self,
        flash: &Flash<'_>,
        command: Handle<Command>,
        to: SuperblockId,
    ) {
        let Some(units) = self.reclaim_units.as_mut().filter(|units| units.spec.isolation == Isolation::Persistent)
        else {
            return;
        };
        let (table, layout, taker) = (&self.table, &self.layout, self.table.stream(to).number());
        let slots = (0..flash.backend.command(command).count()).map(|i| flash.backend.slot(command, i).1);
        let leaves = |psn: Psn| table.stream(layout.locate(psn).0).number() != taker;
        units.shared_copies += slots.filter(|slot| leaves(slot.psn)).count() as u64;
    }

    /// Counts the erase of a superblock.
    #[inline]
    pub(in crate::page) fn note_erased(&mut self) {
        let slots = self.layout.shape.superblock_slots();
        if let Some(units) = &mut self.reclaim_units {
            units.erased += u64::from(slots);
        }
    }

    /// The counters of Flexible Data Placement, if the drive has it.
    pub(in crate::page) fn fdp_counters(&self) -> Option<Box<FdpCounters>> {
        let units = self.reclaim_units.as_deref()?;
        let mut handles = units.handles.clone();
        for (number, handle) in (0..).zip(&mut handles) {
            let open = |pool: u32| self.pools[pool as usize].open[Stream::host(number)];
            let opens = self.pools_for(Holds::Data).filter_map(open);
            handle.available_units = opens.map(|open| u64::from(self.slots_in(open.mode) - open.next)).sum();
        }
        let unit = u64::from(self.layout.shape.superblock_slots() * self.groups / units.spec.reclaim_groups);
        let &ReclaimUnits { erased, invalid_identifiers, moved_copies, shared_copies, events, .. } = units;
        let log = units.log.iter().copied().collect();
        Some(Box::new(FdpCounters {
            unit,
            erased,
            handles,
            invalid_identifiers,
            moved_copies,
            shared_copies,
            events,
            log,
        }))
    }
}

#[cfg(test)]
mod tests {
    use base::engine::Rng;
    use flash::nand::FaultKind;

    use super::*;
    use crate::PageConfig;
    use crate::page::PageFtl;
    use crate::rig::{Rig, describe};

    /// A die of 16 superblocks of 8 mapping units.
    fn drive(fdp: &str) -> Rig<PageFtl> {
        let (config, array, _) = describe(&format!(
            r"flash = {{ part = 'K9K8G08U0M', channels = 1, chips = 1, blocks = 16, pages = 8, planes = 1 }}
ftl = {{ capacity = '128KiB', fdp = {{ {fdp} }} }}"
        ));
        let config = config.downcast_ref::<PageConfig>().expect("a page-mapped drive").clone();
        Rig::with(config, &array)
    }

    /// Writes mapping units with an identifier, one by one.
    fn write(rig: &mut Rig<PageFtl>, id: u16, lpns: impl IntoIterator<Item = u32>) {
        rig.host.placement = PlacementId::new(id);
        for lpn in lpns {
            rig.write(&[lpn], None);
            rig.run_until_idle();
        }
    }

    fn counters(rig: &Rig<PageFtl>) -> FdpCounters {
        *rig.ftl.blocks.fdp_counters().expect("FDP")
    }

    #[test]
    fn each_handle_fills_superblocks_of_its_own() {
        let mut rig = drive("handles = 3");
        (0..12).for_each(|lpn| write(&mut rig, (lpn % 2) as u16, [lpn]));
        write(&mut rig, 2, 12..22);
        let FdpCounters { unit, handles, events, erased, .. } = counters(&rig);
        let of = |handle: &HandleCounters| (handle.written_units, handle.full_superblocks, handle.available_units);
        assert_eq!(handles.iter().map(of).collect::<Vec<_>>(), [(6, 0, 2), (6, 0, 2), (10, 1, 6)]);
        assert_eq!((unit, events, erased), (8, 0, 0));
    }

    #[test]
    fn an_invalid_identifier_is_an_event_and_handle_0_takes_the_data() {
        let mut rig = drive("handles = 3");
        [2, 3].into_iter().for_each(|id| rig.ftl.blocks.note_identifier(Time::ZERO, PlacementId::new(id)));
        write(&mut rig, 3, [5, 6]);
        let of = counters(&rig);
        assert_eq!((of.invalid_identifiers, of.events, of.handles[0].written_units), (1, 1, 2));
        let FdpEvent { kind, number, units, .. } = of.log[0];
        assert_eq!((kind, number, units), (FdpEventKind::InvalidIdentifier, Some(3), 0));
    }

    #[test]
    fn data_that_collection_moves_are_events_of_their_handle() {
        for (isolation, of_copies) in [("initial", true), ("persistent", false)] {
            let mut rig = drive(&format!("handles = 2, isolation = '{isolation}'"));
            let units = rig.units();
            write(&mut rig, 1, 0..units);
            let mut rng = Rng::stream(1, "reclaim units");
            write(&mut rig, 1, (0..1000).map(|_| rng.below(u64::from(units)) as u32));
            let of = counters(&rig);
            assert_eq!(of.handles[1].written_units, u64::from(units) + 1000, "{isolation}");
            assert_eq!(of.handles[0], HandleCounters::default(), "{isolation}");
            assert!(of.handles[1].victims > 40, "{isolation}: {}", of.handles[1].victims);
            assert!(of.handles[1].moved_units >= of.handles[1].victims, "{isolation}");
            assert_eq!(of.moved_copies > 0, of_copies, "{isolation}: copies that are copied again");
            assert_eq!(of.shared_copies, 0, "{isolation}: there is data of one handle");
            let superblocks = of.erased / of.unit;
            assert!(superblocks >= of.handles[1].victims && of.erased.is_multiple_of(of.unit), "{isolation}");
            assert!(of.log.len() == LOG && of.events > LOG as u64, "{isolation}");
            assert!(of.log.iter().all(|event| event.kind == FdpEventKind::MediaReallocated), "{isolation}");
            assert!(of.log.is_sorted_by_key(|event| event.at), "{isolation}");
        }
    }

    #[test]
    fn a_failed_program_leaves_a_reclaim_unit_before_it_is_full() {
        let mut rig = drive("handles = 2");
        write(&mut rig, 1, 0..3);
        rig.backend.media_mut().faults_mut().fail_soon(FaultKind::Program, 0);
        write(&mut rig, 1, 3..5);
        let of = counters(&rig);
        assert_eq!((of.handles[1].partial_superblocks, of.handles[0].partial_superblocks), (1, 0));
        let event = of.log.iter().find(|event| event.kind == FdpEventKind::NotFullyWritten).expect("an event");
        assert_eq!((event.number, event.units), (Some(1), 4), "three units and the one that failed are written");
        assert_eq!(of.handles[1].written_units, 5, "a write that is made again counts once");
    }
}
