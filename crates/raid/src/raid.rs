//! The RAID as a drive: takes each request through its reads, its parity and its writes.

mod condition;
mod power;
mod records;

use base::engine::{EventHash, EventQueue, Handle, Interval, Order};
use base::io::IoKind;
use base::units::{Lba, SECTOR, Sectors, Time};
use flash::nand::Sector;
use ssd::{
    Completion, Counters, Drive, History, HostCounts, Layer, LayerNotes, RaidCounters, RaidSpec, Request, Sabotage,
    Ssd, Status,
};

use crate::assembly::{Assembly, joined, sectors};
use crate::background::Background;
use crate::content::Content;
use crate::counters;
use crate::journal::{Journal, rounds};
use crate::layout::{Band, Layout};
use crate::members::Members;
use crate::operation::{Operation, OperationPhase, Piece, Purpose, operation_of};
use crate::plan::{Range, Update, View, discarded, distinct, merged};
use crate::writes::Writes;

#[derive(Clone, Copy, Debug)]
enum RaidEvent {
    /// A planned failure of a drive is due.
    Failure { drive: u32 },
    /// The next window of the RAID's own work may begin.
    Background,
}

/// Several drives as one. `S` is the content of a sector, as for [`Ssd`].
#[derive(Clone, Debug)]
pub struct Raid<S> {
    spec: RaidSpec,
    layout: Layout,
    members: Members<S>,
    content: Content,
    background: Background,
    journal: Option<Journal<S>>,
    /// Requests of the host that wait for the replay of the journal.
    held: Vec<Handle<Operation<S>>>,
    now: Time,
    events: EventQueue<RaidEvent>,
    /// The number of times at which a drive, or the RAID itself, had an event.
    steps: u64,
    hash: EventHash,
    operations: Order<Operation<S>>,
    writes: Writes,
    completions: Vec<Completion<S>>,
    notes: LayerNotes,
    /// Completions of one drive; empty between two events.
    reported: Vec<Completion<S>>,
    is_powered: bool,
    counts: HostCounts,
    raid_counts: RaidCounters,
}

impl<S: Sector> Raid<S> {
    /// Creates a RAID over these drives: the drives of the stripes, then the spares, then the drive of the journal.
    /// Data of preconditioning stays on the drives.
    ///
    /// # Panics
    ///
    /// If the number of drives differs from the description.
    #[must_use]
    pub fn new(spec: &RaidSpec, drives: Vec<Ssd<S>>) -> Self {
        assert_eq!(drives.len() as u32, spec.all_drives(), "the drives of the RAID");
        let of_stripes = drives.iter().take((spec.drives + spec.spares) as usize).map(Ssd::capacity);
        let layout = Layout::new(spec, of_stripes.min().expect("a RAID has a drive"));
        let unit = drives[0].discard_granularity().get();
        let histories: Vec<Option<History>> =
            drives.iter().take(spec.drives as usize).map(|drive| drive.history().cloned()).collect();
        let is_as_first =
            |(number, history): (u32, &Option<History>)| *history == histories[spec.first_of_mirror(number) as usize];
        let mirrors_agree = (0..).zip(&histories).all(is_as_first);
        let mut events = EventQueue::default();
        if !mirrors_agree {
            // The copies after the first are rewritten, as after a power cut.
            events.push(Time::ZERO, RaidEvent::Background);
        }
        spec.failures
            .iter()
            .for_each(|failure| events.push(Time::ZERO + failure.at, RaidEvent::Failure { drive: failure.drive }));
        Self {
            spec: spec.clone(),
            content: Content::new(histories, layout.chunk()),
            journal: spec.journal.map(|size| Journal::new(spec.drives + spec.spares, size.get() / SECTOR.get(), unit)),
            held: Vec::new(),
            members: Members::new(drives, spec.drives, spec.spares, layout.stripes()),
            background: Background::new(spec.rebuild_rate, !mirrors_agree),
            layout,
            now: Time::ZERO,
            events,
            steps: 0,
            hash: EventHash::default(),
            operations: Order::default(),
            writes: Writes::default(),
            completions: Vec::new(),
            notes: LayerNotes::default(),
            reported: Vec::new(),
            is_powered: true,
            counts: HostCounts::default(),
            raid_counts: RaidCounters { journal: spec.journal.map(|_| Default::default()), ..RaidCounters::default() },
        }
    }

    /// The drives, spares last. A drive that has failed finishes the requests that it had begun; their results are
    /// ignored.
    #[must_use]
    pub fn drives(&self) -> &[Ssd<S>] {
        self.members.drives()
    }

    /// Makes a drive fail as a whole. A spare takes its place, if there is one, and is rebuilt.
    pub fn fail(&mut self, drive: u32) {
        if self.journal.as_ref().is_some_and(|journal| journal.drive == drive && !journal.has_failed) {
            self.members.fail(drive);
            return self.fail_journal();
        }
        let Some(place) = self.members.fail(drive) else { return };
        for handle in self.operations.handles().collect::<Vec<_>>() {
            let operation = &mut self.operations[handle];
            let mut ended = 0;
            for piece in operation.pieces.iter_mut().filter(|piece| piece.drive == Some(drive)) {
                (piece.drive, ended) = (None, ended + 1);
            }
            operation.under_way -= ended;
            operation.starts_over |= ended > 0 && operation.phase == OperationPhase::Reading;
            if ended > 0 && operation.under_way == 0 {
                self.phase_done(handle);
            }
        }
        if self.members.drive_at(place).is_some() {
            self.wake_background();
        }
    }

    fn has_planted(&self, bug: Sabotage) -> bool {
        self.members.drives()[0].resolved().has_planted(bug)
    }

    // --- requests of the host ---

    /// Enters an operation that touches stripes, and begins it unless an earlier operation goes first.
    fn enter(&mut self, operation: Operation<S>, stripes: Interval) {
        if operation.changes_data() {
            self.writes.begin();
        }
        let (handle, may_begin) = self.operations.enter(operation, stripes);
        if may_begin {
            self.begin(handle);
        }
    }

    fn begin(&mut self, handle: Handle<Operation<S>>) {
        if self.is_replaying() && self.operations[handle].is_of_host() {
            return self.held.push(handle);
        }
        let written = self.writes.ended;
        let operation = &mut self.operations[handle];
        (operation.completion.start, operation.writes_before) = (self.now, written);
        match (operation.purpose, operation.completion.io.kind) {
            (Purpose::Host, IoKind::Read | IoKind::Write) | (Purpose::Rebuild { .. } | Purpose::Repair, _) => {
                self.plan(handle);
            }
            (Purpose::Host, IoKind::Flush) | (Purpose::Flush | Purpose::Checkpoint, _) => {
                let all = (0..self.layout.drives()).map(|place| Range { place, from: 0, to: 0 });
                let pieces = all.map(|range| (range, Vec::new())).collect();
                self.issue(handle, OperationPhase::Writing, IoKind::Flush, pieces);
            }
            (Purpose::Host, IoKind::Discard) => self.discard(handle),
            (Purpose::Replay, _) => self.replay(handle),
            (Purpose::Host, _) => self.end(handle, Status::InvalidOpcode),
        }
    }

    /// Calls `with` with a view of the stripes, which tells the chunks that can be read and written. The view includes
    /// the damage that the operation `found`.
    fn with_view<T>(&self, found: Option<&Operation<S>>, avoided: u64, with: impl FnOnce(&View<'_>) -> T) -> T {
        let (unreadable, damaged) = found.map_or((&[][..], &[][..]), |found| (&found.unreadable, &found.damaged));
        let holds = |place: u32, stripe: u64| self.members.holds(place, stripe);
        let load = |place: u32| self.members.load(place);
        let in_doubt = self.background.in_doubt;
        with(&View { layout: &self.layout, holds: &holds, unreadable, damaged, avoided, load: &load, in_doubt })
    }

    /// Plans an operation with data, and issues its reads.
    fn plan(&mut self, handle: Handle<Operation<S>>) {
        let operation = &self.operations[handle];
        let bands = match operation.purpose {
            Purpose::Host => {
                self.layout.bands(operation.completion.io.start.get(), operation.completion.io.end().get())
            }
            Purpose::Rebuild { .. } | Purpose::Repair => self.layout.whole_stripes(operation.stripes.clone()),
            Purpose::Flush | Purpose::Checkpoint | Purpose::Replay => unreachable!("it is not planned"),
        };
        let (purpose, kind) = (operation.purpose, operation.completion.io.kind);
        let avoided = if purpose == Purpose::Host && kind == IoKind::Read && operation.damaged.is_empty() {
            self.members.collecting(&self.spec, self.now)
        } else {
            0
        };
        let around = |band: &Band| self.with_view(Some(operation), avoided, |view| view.read(band));
        let planned: Vec<Option<(Update, Vec<Range>)>> = self.with_view(Some(operation), 0, |view| {
            let each = bands.iter().map(|band| match (purpose, kind) {
                (Purpose::Host, IoKind::Read) => Some((Update::None, around(band).or_else(|| view.read(band))?)),
                (Purpose::Host, _) => view.write(band),
                (Purpose::Rebuild { place, .. }, _) => Some((Update::None, view.rebuild(band, place)?)),
                (_, _) => Some((Update::None, view.repair(band)?)),
            });
            each.collect()
        });
        let operation = &mut self.operations[handle];
        let mut reads = Vec::new();
        (operation.bands, operation.lost, operation.reads_apart) =
            (Vec::new(), Vec::new(), !operation.damaged.is_empty());
        for (band, planned) in bands.into_iter().zip(planned) {
            match planned {
                Some((update, ranges)) => {
                    operation.bands.push((band, update));
                    reads.extend(ranges);
                }
                None => operation.lost.push(band.stripe),
            }
        }
        if operation.is_of_host() && !operation.lost.is_empty() {
            return self.end(handle, Status::Uncorrectable);
        }
        let reads = if operation.reads_apart { distinct(reads) } else { merged(reads) };
        let reads = reads.into_iter().map(|range| (range, Vec::new())).collect();
        self.issue(handle, OperationPhase::Reading, IoKind::Read, reads);
    }

    /// Sends requests to drives. Requests to a place without a drive are left out.
    fn issue(
        &mut self,
        handle: Handle<Operation<S>>,
        phase: OperationPhase,
        kind: IoKind,
        requests: Vec<(Range, Vec<S>)>,
    ) {
        if kind == IoKind::Discard && self.layout.parities() > 0 {
            let chunk = self.layout.chunk();
            requests.iter().for_each(|(range, _)| self.content.discard(range.from / chunk..range.to / chunk));
        }
        let operation = &mut self.operations[handle];
        (operation.phase, operation.phase_from, operation.starts_over) = (phase, self.now, false);
        (operation.pieces, operation.under_way) = (Vec::with_capacity(requests.len()), 0);
        let (queue, placement) = (operation.completion.queue, operation.completion.io.placement);
        for (number, (range, data)) in (0_u64..).zip(requests) {
            let tag = u64::from(handle.number().get()) << u32::BITS | number;
            let drive = self.members.submit(self.now, (tag, queue), (kind, placement), range, data);
            operation.pieces.push(Piece { range, has_read: false, data: Vec::new(), drive });
            operation.under_way += u32::from(drive.is_some());
        }
        if operation.under_way == 0 {
            self.phase_done(handle);
        }
    }

    /// Discards the data that a request covers completely: chunks of stripes with parity, mapping units without.
    fn discard(&mut self, handle: Handle<Operation<S>>) {
        let io = self.operations[handle].completion.io;
        let (start, end) = (io.start.get(), io.end().get());
        self.writes.has_discarded = true;
        let ranges = merged(discarded(&self.layout, start, end));
        self.write(handle, ranges.into_iter().map(|range| (range, Vec::new())).collect());
    }

    /// Writes to drives. If there is a journal, each part of the data goes there first, as a record.
    fn write(&mut self, handle: Handle<Operation<S>>, writes: Vec<(Range, Vec<S>)>) {
        let operation = &mut self.operations[handle];
        let kind = if operation.is_change_of_host() { operation.completion.io.kind } else { IoKind::Write };
        match &self.journal {
            Some(journal) if operation.is_change_of_host() && !writes.is_empty() => {
                operation.rounds = rounds(writes, self.layout.chunk(), journal.most_data());
                self.enter_record(handle);
            }
            _ => self.issue(handle, OperationPhase::Writing, kind, joined(writes)),
        }
    }

    // --- what drives report ---

    fn reported(&mut self, drive: u32, completion: Completion<S>) {
        if !self.members.end(drive) {
            return;
        }
        if self.journal.as_ref().is_some_and(|journal| journal.drive == drive) {
            return self.journal_reported(completion);
        }
        let handle = operation_of(&completion).expect("a request of an operation");
        let operation = &mut self.operations[handle];
        let piece = &mut operation.pieces[completion.tag as u32 as usize];
        let range = piece.range;
        piece.drive = None;
        operation.under_way -= 1;
        operation.completion.add_costs(&completion);
        let is_last = operation.under_way == 0;
        if is_last {
            operation.note_step(&self.notes, drive, completion.tag, self.now);
            self.members.note_last(drive, operation.is_of_host());
        }
        let operation = &mut self.operations[handle];
        match (completion.status, operation.phase) {
            (Status::Done, OperationPhase::Reading) => {
                let piece = &mut operation.pieces[completion.tag as u32 as usize];
                (piece.has_read, piece.data) = (true, completion.data);
            }
            (Status::Done, _) => {}
            (_, OperationPhase::Reading) => {
                let found = if operation.reads_apart { &mut operation.unreadable } else { &mut operation.damaged };
                found.push(range);
                operation.starts_over = true;
            }
            // A drive that takes no more writes is removed from a RAID that has redundancy.
            _ if self.layout.copies() > 1 || self.layout.parities() > 0 => self.fail(drive),
            (status, _) => operation.completion.status = status,
        }
        if is_last && self.operations[handle].phase != OperationPhase::Waiting {
            self.phase_done(handle);
        }
    }

    /// Continues an operation when all requests of its phase have ended.
    fn phase_done(&mut self, handle: Handle<Operation<S>>) {
        let operation = &self.operations[handle];
        match (operation.phase, operation.purpose) {
            (OperationPhase::Waiting | OperationPhase::Journaling, _) => {
                unreachable!("no drive of the stripes has been asked")
            }
            (OperationPhase::Reading, _) if operation.starts_over => self.plan(handle),
            (OperationPhase::Reading, _) => self.have_read(handle),
            (OperationPhase::Writing, Purpose::Replay) => self.replay(handle),
            (OperationPhase::Writing, Purpose::Checkpoint) => self.write_tail(handle),
            (OperationPhase::Writing, _) => self.have_written(handle),
        }
    }

    fn have_written(&mut self, handle: Handle<Operation<S>>) {
        if self.next_record(handle) {
            return;
        }
        let operation = &self.operations[handle];
        let is_kept =
            self.with_view(None, 0, |view| operation.bands.iter().all(|(band, _)| view.write(band).is_some()));
        let is_read = operation.completion.io.kind == IoKind::Read;
        let status = if is_kept || is_read { operation.completion.status } else { Status::Uncorrectable };
        self.end(handle, status);
    }

    fn have_read(&mut self, handle: Handle<Operation<S>>) {
        let Self { layout, members, content, operations, .. } = &*self;
        let operation = &operations[handle];
        let assembly = Assembly { layout, members, content, operation };
        let mut counts = self.raid_counts.clone();
        let writes = match (operation.purpose, operation.completion.io.kind) {
            (Purpose::Host, IoKind::Read) => {
                let (data, again) = (assembly.gathered(), assembly.rewrites());
                counts.recovered_sectors += assembly.recovered();
                counts.rewritten_sectors += sectors(&again);
                self.operations[handle].completion.data = data;
                again
            }
            (Purpose::Host, _) => {
                let reads_nothing = operation.pieces.is_empty();
                operation.bands.iter().for_each(|(_, update)| update.count(&mut counts, reads_nothing));
                let mut writes = assembly.updates();
                if self.has_planted(Sabotage::ParityKept) {
                    writes.retain(|(range, _)| !assembly.is_modified_parity(range));
                }
                writes
            }
            (Purpose::Rebuild { place, .. }, _) => {
                let writes = assembly.rebuilt(place);
                counts.rebuilt_sectors += sectors(&writes);
                writes
            }
            _ => {
                let writes = assembly.repaired();
                counts.repaired_sectors += sectors(&writes);
                writes
            }
        };
        self.raid_counts = counts;
        self.write(handle, writes);
    }

    // --- ends ---

    fn end(&mut self, handle: Handle<Operation<S>>, status: Status) {
        let (mut operation, next) = self.operations.leave(handle);
        self.hash.add(self.now, OPERATION | u64::from(handle.number().get()));
        if operation.changes_data() {
            self.writes.end();
        }
        if operation.is_flush() && status == Status::Done {
            self.writes.flushed(operation.writes_before);
            self.members.flushed(operation.writes_before);
        }
        operation.completion.status = status;
        let (number, is_own) = (handle.number().get(), !operation.is_of_host());
        self.notes.end(number, is_own, &operation.completion, self.now, std::mem::take(&mut operation.steps));
        match operation.purpose {
            Purpose::Host => {
                self.counts.count(operation.completion.io, status, self.members.unit());
                self.completions.push(operation.completion.at(self.now));
            }
            Purpose::Rebuild { .. } | Purpose::Repair => self.window_done(&operation.lost),
            Purpose::Flush => {}
            Purpose::Checkpoint => self.checkpointed(),
            Purpose::Replay => self.replayed(),
        }
        next.into_iter().for_each(|handle| self.begin(handle));
    }

    // --- the RAID's own work ---

    fn wake_background(&mut self) {
        let may_work = self.is_powered && !self.is_replaying();
        if let Some(at) = self.background.next(self.now).filter(|_| may_work) {
            self.events.push(at, RaidEvent::Background);
        }
    }

    fn begin_window(&mut self) {
        // An earlier window may have begun in between.
        match self.background.next(self.now) {
            _ if !self.is_powered => return,
            Some(at) if at == self.now => {}
            Some(at) => return self.events.push(at, RaidEvent::Background),
            None => return,
        }
        let Some(window) = self.background.begin(&self.layout, &self.members, self.now) else { return };
        let operation = Operation::own(window.purpose, window.stripes.clone(), self.now);
        let has_order = matches!(window.purpose, Purpose::Repair) || !self.has_planted(Sabotage::RebuildUnordered);
        let stripes = self.layout.interval_of_stripes(window.stripes.start, window.stripes.end, true);
        self.enter(operation, if has_order { stripes } else { Interval::NONE });
    }

    fn window_done(&mut self, lost: &[u64]) {
        let Some(window) = self.background.end(&self.layout) else { return };
        // The spare may have failed meanwhile.
        if let Purpose::Rebuild { place, spare } = window.purpose
            && self.members.drive_at(place) == Some(spare)
        {
            lost.iter().for_each(|stripe| self.members.lose(place, *stripe));
            self.raid_counts.lost_chunks += lost.len() as u64;
            self.members.rebuilt(place, window.stripes.end, self.writes.ended);
            if window.stripes.end == self.layout.stripes() {
                self.raid_counts.rebuilt_at = Some(self.now);
                self.enter(Operation::own(Purpose::Flush, 0..0, self.now), Interval::NONE);
            }
        }
        self.wake_background();
    }

    /// Checks the invariants of all drives. Slow: only tests call this function.
    ///
    /// # Panics
    ///
    /// If an invariant is broken.
    pub fn check(&self) {
        self.members.drives().iter().for_each(Ssd::check);
    }
}

/// Set in the hashed number of an operation's end.
const OPERATION: u64 = 1 << 43;

impl<S: Sector> Layer<S> for Raid<S> {
    fn drives_mut(&mut self) -> &mut [Ssd<S>] {
        self.members.drives_mut()
    }

    fn notes(&mut self) -> &mut LayerNotes {
        &mut self.notes
    }
}

impl<S: Sector> Drive<S> for Raid<S> {
    fn capacity(&self) -> Sectors {
        self.layout.capacity()
    }

    fn discard_granularity(&self) -> Sectors {
        if self.layout.parities() > 0 {
            Sectors::new(self.layout.stripe_width())
        } else {
            Sectors::new(self.members.unit())
        }
    }

    fn queues(&self) -> usize {
        self.members.drives()[0].queues()
    }

    fn submit(&mut self, now: Time, request: Request<S>) {
        assert!(now >= self.now, "a request of {now} comes when it is already {}", self.now);
        assert!(self.is_powered, "a request to a RAID without power");
        self.now = now;
        let io = request.io;
        let mut operation = Operation::new(Purpose::Host, request, now);
        if io.end() > Lba::new(self.capacity().get()) {
            self.counts.count(io, Status::OutOfRange, self.members.unit());
            operation.completion.status = Status::OutOfRange;
            return self.completions.push(operation.completion.at(now));
        }
        let stripes = self.layout.interval(io.start.get(), io.end().get(), io.kind != IoKind::Read);
        self.enter(operation, stripes);
    }

    fn next_event(&self) -> Option<Time> {
        if !self.completions.is_empty() {
            return Some(self.now);
        }
        let drives = self.members.next().map(|(at, ..)| at);
        self.events.next_time().into_iter().chain(drives).min()
    }

    fn advance(&mut self, to: Time, completions: &mut Vec<Completion<S>>) -> Time {
        assert!(to >= self.now, "time does not go back from {} to {to}", self.now);
        loop {
            // Completions are reported before time advances.
            let until = if self.completions.is_empty() { to } else { self.now };
            let own = self.events.next_time().unwrap_or(Time::MAX);
            self.steps += 1;
            match self.members.next() {
                Some((at, drive, others)) if at <= own && at <= until => {
                    let mut reported = std::mem::take(&mut self.reported);
                    let at = self.members.advance(drive, until.min(others).min(own).max(at), &mut reported);
                    if !reported.is_empty() {
                        self.now = at;
                        reported.drain(..).for_each(|completion| self.reported(drive, completion));
                    }
                    self.reported = reported;
                }
                _ => {
                    let Some((at, event)) = self.events.pop_due(until) else {
                        self.steps -= 1;
                        break;
                    };
                    self.now = at;
                    match event {
                        RaidEvent::Failure { drive } => self.fail(drive),
                        RaidEvent::Background => self.begin_window(),
                    }
                }
            }
        }
        if self.completions.is_empty() {
            self.now = to;
        } else {
            completions.append(&mut self.completions);
        }
        self.members.pass(self.now);
        self.now
    }

    fn events(&self) -> u64 {
        self.hash.events() + self.members.drives().iter().map(Drive::events).sum::<u64>()
    }

    fn counters(&self) -> Counters {
        let own: Vec<Counters> = self.members.drives().iter().map(Drive::counters).collect();
        let together = self.counts.above(counters::together(&own));
        Counters {
            at: self.now,
            raid: Some(Box::new(RaidCounters { drives: self.members.counters(&own), ..self.raid_counts.clone() })),
            event_hash: together.event_hash.wrapping_add(self.hash.value()),
            events: self.events(),
            ..together
        }
    }
}
