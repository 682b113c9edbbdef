//! The translation as a drive: takes each request of the user through the map, the log and the drive below.

mod power;
mod read;

use std::collections::VecDeque;
use std::num::NonZeroU32;

use base::engine::{EventHash, Handle, Interval, Order};
use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Time};
use flash::nand::Sector;
use ssd::{
    Completion, Counters, Drive, Layer, LayerNotes, LayerStep, Request, ResolvedDevice, Sabotage, Ssd, Status,
    TranslationSpec,
};

use crate::collector::{CollectionStep, Collector};
use crate::counts::Counts;
use crate::log::{Log, NONE, UnitMetadata, Usage};
use crate::mount::Mount;
use crate::operation::{Operation, OperationPhase, Piece, Purpose};
use crate::streams::{Streams, UnplacedUnits};
use crate::used::UsedZones;

type OperationId<S> = Handle<Operation<S>>;

/// A translation over a drive with zones. `S` is the content of a sector, as for [`Ssd`].
#[derive(Clone, Debug)]
pub struct Translation<S> {
    spec: TranslationSpec,
    drive: Ssd<S>,
    log: Log,
    streams: Streams<S>,
    collector: Collector,
    /// The mount after a power cut, while its reads are under way.
    mount: Option<Mount>,
    /// Operations that wait for the end of the mount.
    held: VecDeque<OperationId<S>>,
    operations: Order<Operation<S>>,
    now: Time,
    hash: EventHash,
    /// The number of times at which the drive had an event.
    steps: u64,
    completions: Vec<Completion<S>>,
    notes: LayerNotes,
    /// The number of requests to the drive that have not ended.
    under_way: u64,
    /// Completions of the drive; empty between two events.
    reported: Vec<Completion<S>>,
    is_powered: bool,
    /// True if no zone takes data any more.
    is_read_only: bool,
    counts: Counts,
}

impl<S: Sector> Translation<S> {
    /// Creates a translation over a new drive.
    ///
    /// # Panics
    ///
    /// If the description has no translation.
    #[must_use]
    pub fn new(resolved: &ResolvedDevice, seed: u64) -> Self {
        let used = UsedZones::new(resolved, seed);
        let drive = Ssd::new(&resolved.of_drive(0), seed);
        let made = Self::over(resolved, drive, used, &mut |_, _| std::ops::ControlFlow::Continue(()));
        made.expect("nobody breaks off").0
    }

    /// Creates a translation over zones in a used state, which it lays out on a new drive. Returns also the number of
    /// units that the drive refused: it has then lost too many blocks, and the rest was not written. `progress` may
    /// cancel; the result is then `None`.
    pub fn over(
        resolved: &ResolvedDevice,
        mut drive: Ssd<S>,
        mut used: UsedZones,
        progress: &mut dyn FnMut(u64, u64) -> std::ops::ControlFlow<()>,
    ) -> Option<(Self, u64)> {
        let refused = used.lay_out(&mut drive, progress)?;
        let spec = resolved.spec.translation.clone().expect("a translation");
        let zones = used.log.shape().zones;
        let mut streams = Streams::new(&spec, zones.max_active.min(zones.max_open));
        if refused > 0 {
            Mount::new(&mut used.log, &mut streams, &drive, true);
        }
        let made = Self {
            streams,
            collector: Collector::new(&spec, &used.log, drive.resolved().has_planted(Sabotage::ResetUncopied)),
            spec,
            now: drive.now(),
            drive,
            log: used.log,
            mount: None,
            held: VecDeque::new(),
            operations: Order::default(),
            hash: EventHash::default(),
            steps: 0,
            completions: Vec::new(),
            notes: LayerNotes::default(),
            under_way: 0,
            reported: Vec::new(),
            is_powered: true,
            is_read_only: false,
            counts: Counts::default(),
        };
        Some((made, refused))
    }

    /// The drive whose zones hold the data.
    #[must_use]
    pub const fn drive(&self) -> &Ssd<S> {
        &self.drive
    }

    /// The drive below, for its observers and its faults.
    pub const fn drive_mut(&mut self) -> &mut Ssd<S> {
        &mut self.drive
    }

    /// Enters an operation that touches units, and begins it unless an earlier operation goes first.
    fn enter(&mut self, operation: Operation<S>, units: Interval) {
        let (handle, may_begin) = self.operations.enter(operation, units);
        if may_begin {
            self.begin(handle);
        }
    }

    /// Enters an operation of the translation's own, which only its phases order.
    fn enter_own(&mut self, operation: Operation<S>) {
        self.enter(operation, Interval::NONE);
    }

    fn begin(&mut self, handle: OperationId<S>) {
        if self.mount.is_some() && self.operations[handle].is_of_user() {
            return self.held.push_back(handle);
        }
        let operation = &mut self.operations[handle];
        operation.completion.start = self.now;
        match (operation.purpose, operation.completion.io.kind) {
            (Purpose::User, IoKind::Read) => self.read(handle),
            (Purpose::User, IoKind::Write) => self.read_rest(handle),
            (Purpose::User, IoKind::Discard) => self.discard(handle),
            (Purpose::User, IoKind::Flush) | (Purpose::Barrier { .. }, _) => {
                operation.phase = OperationPhase::Writing;
                self.issue(handle, Io::FLUSH, Piece { zone: NONE, at: 0, sectors: 0 });
            }
            (Purpose::User, _) => self.end_with(handle, Status::InvalidOpcode),
            (Purpose::Copy { from }, _) => {
                let sectors = self.operations[handle].records.len() as u64 * self.log.unit();
                self.operations[handle].completion.data = vec![S::default(); sectors as usize];
                self.operations[handle].phase = OperationPhase::Reading;
                self.issue_read(handle, from, 0, (0, sectors));
            }
            (Purpose::Summary { zone }, _) => self.write_summary(handle, zone),
            (Purpose::Reset { zone }, _) => {
                operation.phase = OperationPhase::Writing;
                let io = Io::new(IoKind::ZoneReset, self.log.start(zone), Sectors::new(0));
                self.issue(handle, io, Piece { zone, at: 0, sectors: 0 });
            }
            (Purpose::Mount, _) => {
                operation.phase = OperationPhase::Reading;
                let io = operation.completion.io;
                let (zone, _) = self.log.at(io.start);
                self.log.zone_mut(zone).reads += 1;
                self.issue(handle, io, Piece { zone, at: 0, sectors: io.sectors.get() });
            }
        }
    }

    /// Sends a request to the drive.
    fn issue(&mut self, handle: OperationId<S>, io: Io, piece: Piece) {
        let operation = &mut self.operations[handle];
        let tag = u64::from(handle.number().get()) << u32::BITS | operation.pieces.len() as u64;
        let data = match io.kind.brings_data() {
            true => operation.completion.data[piece.at..piece.at + piece.sectors as usize].to_vec(),
            false => Vec::new(),
        };
        let queue = operation.completion.queue;
        operation.pieces.push((self.now, piece));
        operation.under_way += 1;
        self.under_way += 1;
        self.drive.submit(self.now, Request { tag, queue, io, data });
    }

    /// Discards the units that the request covers completely.
    fn discard(&mut self, handle: OperationId<S>) {
        let (io, unit) = (self.operations[handle].completion.io, self.log.unit());
        (io.start.get().div_ceil(unit)..io.end().get() / unit).for_each(|unit| self.log.forget(unit as u32));
        self.end_with(handle, Status::Done);
    }

    /// Makes the units of an operation wait for zones.
    fn write(&mut self, handle: OperationId<S>) {
        let (now, unit) = (self.now, self.log.unit());
        let operation = &mut self.operations[handle];
        (operation.phase, operation.pieces) = (OperationPhase::Writing, Vec::new());
        let stream = self.streams.of(operation);
        if operation.is_of_user() {
            let version = self.log.next_version().filter(|_| !self.is_read_only);
            let Some(version) = version else { return self.end_with(handle, Status::ReadOnly) };
            let operation = &mut self.operations[handle];
            let first = (operation.completion.io.start.get() / unit) as u32;
            let units = operation.completion.data.len() as u64 / unit;
            operation.records = (0..units as u32).map(|i| UnitMetadata { unit: first + i, version }).collect();
        }
        let operation = &mut self.operations[handle];
        operation.unplaced = operation.records.len() as u32;
        let unplaced = UnplacedUnits { operation: handle, first: 0, units: operation.unplaced, since: now };
        self.streams.push(stream, unplaced, false);
    }

    /// Writes waiting units for which there is a zone, and continues collection.
    fn go_on(&mut self) {
        if self.mount.is_some() {
            return;
        }
        self.collect();
        for stream in 0..self.streams.count() {
            while let Some((zone, placed)) = self.streams.place(stream, &mut self.log) {
                self.write_to(zone, placed);
            }
        }
        // The writes may have used free zones.
        self.collect();
        if self.under_way == 0 && self.streams.has_unplaced() {
            self.give_up();
        }
    }

    fn write_to(&mut self, zone: u32, placed: UnplacedUnits<S>) {
        let unit = self.log.unit();
        let waited = self.now - placed.since;
        let operation = &mut self.operations[placed.operation];
        operation.unplaced -= placed.units;
        if !waited.is_zero() && operation.is_of_user() && !std::mem::replace(&mut operation.has_stalled, true) {
            self.counts.own.stalled_writes += 1;
            self.counts.own.stalled += waited;
        }
        let sectors = u64::from(placed.units) * unit;
        let (kind, start) = self.streams.command(&self.log, zone, self.log.zone(zone).taken - placed.units);
        let piece = Piece { zone, at: (u64::from(placed.first) * unit) as usize, sectors };
        self.issue(placed.operation, Io::new(kind, start, Sectors::new(sectors)), piece);
    }

    /// Makes the writes of users fail from now on: no zone takes data, and none can be emptied.
    fn give_up(&mut self) {
        self.is_read_only = true;
        for unplaced in self.streams.take_unplaced_of_users() {
            let operation = &mut self.operations[unplaced.operation];
            operation.unplaced -= unplaced.units;
            operation.completion.status = Status::ReadOnly;
            self.end_phase(unplaced.operation);
        }
    }

    /// Handles the end of a write to a zone.
    fn written(&mut self, handle: OperationId<S>, piece: Piece, completion: &Completion<S>) {
        self.log.zone_mut(piece.zone).writes -= 1;
        let unit = self.log.unit();
        let (first, units) = ((piece.at as u64 / unit) as usize, (piece.sectors / unit) as u32);
        if completion.status == Status::Done {
            let (zone, at) = self.log.at(completion.io.start);
            debug_assert_eq!(zone, piece.zone, "an append stays in its zone");
            for i in 0..units {
                let record = self.operations[handle].records[first + i as usize];
                let place = self.log.place(zone, at + i);
                let purpose = self.operations[handle].purpose;
                match purpose {
                    Purpose::Copy { from } if !self.drive.resolved().has_planted(Sabotage::CopyOverWrite) => {
                        let is_newest = self.log.record_copy(from + first as u32 + i, place, record);
                        self.counts.own.vain_copies += u64::from(!is_newest);
                    }
                    _ => self.log.record(place, record),
                }
            }
            match self.operations[handle].is_of_user() {
                true => self.counts.own.written += u64::from(units),
                false => self.counts.own.copied += u64::from(units),
            }
        } else if completion.status == Status::ReadOnly {
            self.is_read_only = true;
            self.operations[handle].completion.status = Status::ReadOnly;
        } else {
            self.zone_failed(piece.zone);
            let operation = &mut self.operations[handle];
            operation.unplaced += units;
            let stream = self.streams.of(operation);
            let unplaced = UnplacedUnits { operation: handle, first: first as u32, units, since: self.now };
            self.streams.push(stream, unplaced, true);
        }
        let zone = self.log.zone(piece.zone);
        if zone.usage == Usage::Full && zone.writes == 0 && !zone.has_failed {
            self.enter_own(Operation::own(Purpose::Summary { zone: piece.zone }, Io::FLUSH, self.now));
        }
    }

    /// Handles a zone that takes no more data although it is not full.
    fn zone_failed(&mut self, zone: u32) {
        let of_log = self.log.zone_mut(zone);
        of_log.usage = Usage::Full;
        if !std::mem::replace(&mut of_log.has_failed, true) {
            self.counts.own.failed_zones += 1;
            self.streams.leave(zone);
            self.streams.close();
        }
    }

    /// Writes the summary into the rest of a full zone.
    fn write_summary(&mut self, handle: OperationId<S>, zone: u32) {
        let written = self.drive.zone_report(self.log.start(zone)).map_or(0, |report| report.write_pointer.get());
        let (_, at) = self.log.at(Lba::new(u64::from(written) * self.log.unit()));
        let units = self.log.shape().zones.capacity - at.max(self.log.shape().data);
        let sectors = u64::from(units) * self.log.unit();
        let operation = &mut self.operations[handle];
        (operation.phase, operation.completion.data) = (OperationPhase::Writing, vec![S::default(); sectors as usize]);
        self.log.zone_mut(zone).writes += 1;
        self.counts.own.summaries += u64::from(units);
        let (kind, start) = self.streams.command(&self.log, zone, at);
        self.issue(handle, Io::new(kind, start, Sectors::new(sectors)), Piece { zone, at: 0, sectors });
    }

    /// Continues the collection of a zone, or begins the collection of the next zone.
    fn collect(&mut self) {
        // A drive that takes no copies keeps the data of a victim in its place.
        while !self.is_read_only {
            let Some(step) = self.collector.next(&self.log) else { return };
            let own = |purpose| Operation::own(purpose, Io::FLUSH, self.now);
            self.enter_own(match step {
                CollectionStep::Copy { from, records } => Operation { records, ..own(Purpose::Copy { from }) },
                CollectionStep::Barrier { zone } => own(Purpose::Barrier { zone }),
                CollectionStep::Reset { zone } => own(Purpose::Reset { zone }),
            });
        }
    }

    fn completed(&mut self, completion: Completion<S>) {
        let number = NonZeroU32::new((completion.tag >> u32::BITS) as u32).expect("a request of an operation");
        let handle = Handle::from_number(number);
        let operation = &mut self.operations[handle];
        let (from, piece) = operation.pieces[completion.tag as u32 as usize];
        operation.under_way -= 1;
        if operation.under_way == 0 && operation.unplaced == 0 {
            let step = LayerStep { from, until: self.now, drive: 0, tag: completion.tag, is_journal: false };
            self.notes.step(&mut operation.steps, step);
        }
        self.under_way -= 1;
        operation.completion.add_costs(&completion);
        match (operation.phase, operation.purpose) {
            (OperationPhase::Reading, purpose) => {
                self.log.zone_mut(piece.zone).reads -= 1;
                let is_copy = matches!(purpose, Purpose::Copy { .. });
                if completion.status != Status::Done {
                    operation.completion.status = Status::Uncorrectable;
                } else if (operation.is_of_user() || is_copy) && S::KIND.is_present() {
                    operation.completion.data[piece.at..piece.at + piece.sectors as usize]
                        .copy_from_slice(&completion.data);
                }
            }
            (_, Purpose::Summary { zone }) => {
                self.log.zone_mut(zone).writes -= 1;
                match completion.status {
                    Status::Done => {
                        self.log.zone_mut(zone).has_summary = true;
                        self.streams.close();
                    }
                    _ => self.zone_failed(zone),
                }
            }
            (_, Purpose::Reset { zone }) => {
                self.collector.has_reset();
                match completion.status {
                    Status::Done => self.log.reset(zone),
                    _ => {
                        self.counts.own.failed_zones += u64::from(!self.log.zone(zone).has_failed);
                        self.log.fail(zone);
                    }
                }
            }
            (_, Purpose::Barrier { zone }) => self.collector.has_flushed(zone),
            (_, Purpose::User) if piece.zone == NONE => operation.completion.status = completion.status,
            _ => self.written(handle, piece, &completion),
        }
        self.end_phase(handle);
        self.go_on();
    }

    /// Continues an operation when none of its requests is under way.
    fn end_phase(&mut self, handle: OperationId<S>) {
        let operation = &self.operations[handle];
        if operation.under_way > 0 || operation.unplaced > 0 {
            return;
        }
        match (operation.phase, operation.purpose, operation.completion.io.kind) {
            (OperationPhase::Reading, Purpose::User, IoKind::Write) if operation.completion.status == Status::Done => {
                self.write(handle)
            }
            (OperationPhase::Reading, Purpose::Copy { from }, _) => {
                if self.operations[handle].completion.status != Status::Done {
                    // The copies mark every unit as unreadable: otherwise an older version would become the newest.
                    let places = from..from + self.operations[handle].records.len() as u32;
                    let valid: Vec<u32> = places.filter(|place| self.log.valid_at(*place).is_some()).collect();
                    let fresh = valid.iter().filter(|place| !self.log.is_lost(**place)).count();
                    self.counts.own.lost_units += fresh as u64;
                    valid.into_iter().for_each(|place| self.log.lose(place));
                    self.operations[handle].completion.status = Status::Done;
                }
                self.write(handle);
            }
            _ => self.end(handle),
        }
    }

    fn end_with(&mut self, handle: OperationId<S>, status: Status) {
        self.operations[handle].completion.status = status;
        self.end(handle);
    }

    fn end(&mut self, handle: OperationId<S>) {
        let (mut operation, next) = self.operations.leave(handle);
        let (number, is_own) = (handle.number().get(), !operation.is_of_user());
        self.notes.end(number, is_own, &operation.completion, self.now, std::mem::take(&mut operation.steps));
        self.hash.add(self.now, OPERATION | u64::from(handle.number().get()));
        match operation.purpose {
            Purpose::User => {
                self.counts.users.count(operation.completion.io, operation.completion.status, self.log.unit());
                self.completions.push(operation.completion.at(self.now));
            }
            Purpose::Copy { .. } => self.collector.has_copied(),
            Purpose::Mount => {
                self.mount.iter_mut().for_each(Mount::end_read);
                self.mount_next();
            }
            _ => {}
        }
        next.into_iter().for_each(|handle| self.begin(handle));
    }

    /// Begins the next read of the mount; at its end, the operations that have waited.
    fn mount_next(&mut self) {
        let Some(mount) = &mut self.mount else { return };
        if let Some(io) = mount.next() {
            self.counts.own.mount_reads += io.sectors.get() / self.log.unit();
            self.enter_own(Operation::own(Purpose::Mount, io, self.now));
        } else if mount.has_ended() {
            self.mount = None;
            for handle in std::mem::take(&mut self.held) {
                self.begin(handle);
            }
            for zone in 0..self.log.shape().zones.zones {
                let of_log = self.log.zone(zone);
                if of_log.usage == Usage::Full && !of_log.has_summary && !of_log.has_failed {
                    self.enter_own(Operation::own(Purpose::Summary { zone }, Io::FLUSH, self.now));
                }
            }
        }
    }

    /// Checks that the map, the zones and the drive agree. Slow: only tests call this function.
    ///
    /// # Panics
    ///
    /// If they do not agree.
    pub fn check(&self) {
        self.log.check();
        self.drive.check();
    }
}

/// Set in the hashed number of an operation's end.
const OPERATION: u64 = 1 << 44;

impl<S: Sector> Layer<S> for Translation<S> {
    fn drives_mut(&mut self) -> &mut [Ssd<S>] {
        std::slice::from_mut(&mut self.drive)
    }

    fn notes(&mut self) -> &mut LayerNotes {
        &mut self.notes
    }
}

impl<S: Sector> Drive<S> for Translation<S> {
    fn capacity(&self) -> Sectors {
        Sectors::new(u64::from(self.log.shape().units) * self.log.unit())
    }

    fn discard_granularity(&self) -> Sectors {
        Sectors::new(self.log.unit())
    }

    fn queues(&self) -> usize {
        self.drive.queues()
    }

    fn submit(&mut self, now: Time, request: Request<S>) {
        assert!(now >= self.now, "a request of {now} comes when it is already {}", self.now);
        assert!(self.is_powered, "a request to a translation whose drive has no power");
        self.now = now;
        let io = request.io;
        let operation = Operation::new(Purpose::User, request, now);
        if io.end() > Lba::new(self.capacity().get()) {
            let (handle, _) = self.operations.enter(operation, Interval::NONE);
            return self.end_with(handle, Status::OutOfRange);
        }
        let unit = self.log.unit();
        let (first, end) = (io.start.get() / unit, io.end().get().div_ceil(unit));
        let units = Interval { first, end, changes: io.kind != IoKind::Read };
        self.enter(operation, if io.sectors.is_zero() { Interval::NONE } else { units });
        self.go_on();
    }

    fn next_event(&self) -> Option<Time> {
        if self.completions.is_empty() { self.drive.next_event() } else { Some(self.now) }
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion<S>>) -> Time {
        assert!(to >= self.now, "time does not go back from {} to {to}", self.now);
        while self.completions.is_empty() && self.drive.next_event().is_some_and(|at| at <= to) {
            let mut reported = std::mem::take(&mut self.reported);
            self.steps += 1;
            self.now = self.drive.advance(to, &mut reported);
            reported.drain(..).for_each(|completion| self.completed(completion));
            self.reported = reported;
        }
        if self.completions.is_empty() {
            self.now = to;
            let mut none = Vec::new();
            self.drive.advance(to, &mut none);
            assert!(none.is_empty(), "the drive had something to report");
        } else {
            completions.append(&mut self.completions);
        }
        self.now
    }

    fn events(&self) -> u64 {
        self.hash.events() + self.drive.events()
    }

    fn counters(&self) -> Counters {
        let all = self.counts.all(self.now, self.drive.counters(), &self.log, &self.collector);
        Counters { event_hash: all.event_hash.wrapping_add(self.hash.value()), events: self.events(), ..all }
    }
}
