//! The RAID as a drive: leads each request through its reads, its parity and its writes.

mod condition;
mod power;

use std::num::NonZeroU32;

use base::engine::{EventHash, EventQueue, Handle, Interval, Order};
use base::io::IoKind;
use base::units::{Lba, Sectors, Time};
use flash::nand::Sector;
use ssd::{
    Completion, Counters, Drive, History, HostCounts, RaidCounters, RaidSpec, Recovery, Request, Sabotage, Ssd, Status,
    Tag,
};

use crate::assembly::{Assembly, joined, sectors};
use crate::background::Background;
use crate::content::Content;
use crate::counters;
use crate::layout::{Band, Layout};
use crate::members::Members;
use crate::operation::{Operation, Phase, Piece, Purpose};
use crate::plan::{Range, Update, View, distinct, merged};
use crate::writes::Writes;

/// What happens at a time of its own.
#[derive(Clone, Copy, Debug)]
enum Event {
    /// A drive fails.
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
    now: Time,
    events: EventQueue<Event>,
    /// Times at which a drive, or the RAID itself, had something to do.
    steps: u64,
    hash: EventHash,
    operations: Order<Operation<S>>,
    writes: Writes,
    completions: Vec<Completion<S>>,
    /// Completions of one drive; empty between two events.
    reported: Vec<Completion<S>>,
    is_powered: bool,
    counts: HostCounts,
    raid_counts: RaidCounters,
}

impl<S: Sector> Raid<S> {
    /// A RAID over these drives: first those of the stripes, then the spares. What preconditioning left on a drive stays.
    ///
    /// # Panics
    /// If there are not as many drives as the description says.
    #[must_use]
    pub fn new(spec: &RaidSpec, drives: Vec<Ssd<S>>) -> Self {
        assert_eq!(drives.len() as u32, spec.drives + spec.spares, "the drives of the RAID");
        let layout = Layout::new(spec, drives[0].capacity());
        let histories: Vec<Option<History>> =
            drives.iter().take(spec.drives as usize).map(|drive| drive.history().cloned()).collect();
        let is_as_first =
            |(number, history): (u32, &Option<History>)| *history == histories[spec.first_of_mirror(number) as usize];
        let mirrors_agree = (0..).zip(&histories).all(is_as_first);
        let mut events = EventQueue::default();
        if !mirrors_agree {
            // As after a power cut: the copies behind the first are made anew.
            events.push(Time::ZERO, Event::Background);
        }
        spec.failures
            .iter()
            .for_each(|failure| events.push(Time::ZERO + failure.at, Event::Failure { drive: failure.drive }));
        Self {
            spec: spec.clone(),
            content: Content::new(histories, layout.chunk()),
            members: Members::new(drives, spec.drives, layout.stripes()),
            background: Background::new(spec.rebuild_rate, !mirrors_agree),
            layout,
            now: Time::ZERO,
            events,
            steps: 0,
            hash: EventHash::default(),
            operations: Order::default(),
            writes: Writes::default(),
            completions: Vec::new(),
            reported: Vec::new(),
            is_powered: true,
            counts: HostCounts::default(),
            raid_counts: RaidCounters::default(),
        }
    }

    /// The drives, spares last. One that has failed finishes what it had begun, and nobody sees it.
    #[must_use]
    pub fn drives(&self) -> &[Ssd<S>] {
        self.members.drives()
    }

    /// The drives, for their observers and their faults.
    pub fn drives_mut(&mut self) -> &mut [Ssd<S>] {
        self.members.drives_mut()
    }

    /// Lets a drive fail as a whole. A spare takes its place, if there is one, and is rebuilt.
    pub fn fail(&mut self, drive: u32) {
        let Some(place) = self.members.fail(drive) else { return };
        for handle in self.operations.handles().collect::<Vec<_>>() {
            let operation = &mut self.operations[handle];
            let mut ended = 0;
            for piece in operation.pieces.iter_mut().filter(|piece| piece.drive == Some(drive)) {
                (piece.drive, ended) = (None, ended + 1);
            }
            operation.under_way -= ended;
            operation.starts_over |= ended > 0 && operation.phase == Phase::Reading;
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

    /// Enters an operation that touches stripes, and begins it if no other goes first.
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
        let written = self.writes.ended;
        let operation = &mut self.operations[handle];
        (operation.completion.start, operation.writes_before) = (self.now, written);
        match (operation.purpose, operation.completion.io.kind) {
            (Purpose::Host, IoKind::Read | IoKind::Write) | (Purpose::Rebuild { .. } | Purpose::Repair, _) => {
                self.plan(handle);
            }
            (Purpose::Host, IoKind::Flush) | (Purpose::Flush, _) => {
                let all = (0..self.layout.drives()).map(|place| Range { place, from: 0, to: 0 });
                let pieces = all.map(|range| (range, Vec::new())).collect();
                self.issue(handle, Phase::Writing, IoKind::Flush, pieces);
            }
            (Purpose::Host, IoKind::Discard) => self.discard(handle),
            (Purpose::Host, _) => self.end(handle, Status::InvalidOpcode),
        }
    }

    /// A view of the stripes for an operation that could not read from some places.
    fn with_view<T>(&self, unreadable: &[Range], avoided: u64, with: impl FnOnce(&View<'_>) -> T) -> T {
        let holds = |place: u32, stripe: u64| self.members.holds(place, stripe);
        let load = |place: u32| self.members.load(place);
        let in_doubt = self.background.in_doubt;
        with(&View { layout: &self.layout, holds: &holds, unreadable, avoided, load: &load, in_doubt })
    }

    /// The place of the drive whose turn it is to collect, as a bit, if reads avoid it.
    fn collecting(&self) -> u64 {
        if !self.spec.collection.is_some_and(|collection| collection.reads_around) {
            return 0;
        }
        let is_open = |place: &u32| {
            let window = self.members.drive_at(*place).and_then(|drive| self.spec.window_of(drive));
            window.is_some_and(|window| window.is_open(self.now))
        };
        (0..self.layout.drives()).filter(is_open).fold(0, |places, place| places | 1 << place)
    }

    /// Plans an operation with data, and issues its reads.
    fn plan(&mut self, handle: Handle<Operation<S>>) {
        let operation = &self.operations[handle];
        let bands = match operation.purpose {
            Purpose::Host => {
                self.layout.bands(operation.completion.io.start.get(), operation.completion.io.end().get())
            }
            Purpose::Rebuild { .. } | Purpose::Repair => self.layout.whole_stripes(operation.stripes.clone()),
            Purpose::Flush => unreachable!("a flush has no data"),
        };
        let (purpose, kind) = (operation.purpose, operation.completion.io.kind);
        let avoided = if purpose == Purpose::Host && kind == IoKind::Read { self.collecting() } else { 0 };
        let around = |band: &Band| self.with_view(&operation.unreadable, avoided, |view| view.read(band));
        let planned: Vec<Option<(Update, Vec<Range>)>> = self.with_view(&operation.unreadable, 0, |view| {
            let each = bands.iter().map(|band| match (purpose, kind) {
                (Purpose::Host, IoKind::Read) => Some((Update::None, around(band).or_else(|| view.read(band))?)),
                (Purpose::Host, _) => view.write(band),
                (Purpose::Rebuild { place, .. }, _) => Some((Update::None, view.rebuild(band, place)?)),
                (Purpose::Repair | Purpose::Flush, _) => Some((Update::None, view.repair(band)?)),
            });
            each.collect()
        });
        let operation = &mut self.operations[handle];
        let mut reads = Vec::new();
        (operation.bands, operation.lost) = (Vec::new(), Vec::new());
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
        self.issue(handle, Phase::Reading, IoKind::Read, reads);
    }

    /// Hands requests to drives. Those to a place without a drive are left out.
    fn issue(&mut self, handle: Handle<Operation<S>>, phase: Phase, kind: IoKind, requests: Vec<(Range, Vec<S>)>) {
        let operation = &mut self.operations[handle];
        (operation.phase, operation.starts_over) = (phase, false);
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

    /// A discard of what it covers wholly: chunks of stripes with parity, mapping units without.
    fn discard(&mut self, handle: Handle<Operation<S>>) {
        let io = self.operations[handle].completion.io;
        let (start, end) = (io.start.get(), io.end().get());
        let mut ranges = Vec::new();
        if self.layout.parities() > 0 {
            let width = self.layout.stripe_width();
            let stripes = start.div_ceil(width)..end / width;
            if !stripes.is_empty() {
                let (from, to) = (stripes.start * self.layout.chunk(), stripes.end * self.layout.chunk());
                ranges.extend((0..self.layout.drives()).map(|place| Range { place, from, to }));
                stripes.for_each(|stripe| self.content.discard(stripe));
            }
        } else {
            for band in self.layout.bands(start, end) {
                let stripe = band.stripe * self.layout.chunk();
                let shards = (band.first..band.last)
                    .flat_map(|shard| (0..self.layout.copies()).map(move |copy| (shard, copy)))
                    .map(|(shard, copy)| self.layout.place(band.stripe, shard, copy));
                ranges.extend(shards.map(|place| Range { place, from: stripe + band.from, to: stripe + band.to }));
            }
        }
        let requests = merged(ranges).into_iter().map(|range| (range, Vec::new())).collect();
        self.writes.has_discarded = true;
        self.issue(handle, Phase::Writing, IoKind::Discard, requests);
    }

    // --- what drives report ---

    fn reported(&mut self, drive: u32, completion: Completion<S>) {
        if !self.members.end(drive) {
            return;
        }
        let number = NonZeroU32::new((completion.tag >> u32::BITS) as u32).expect("a request of an operation");
        let handle = Handle::from_number(number);
        let operation = &mut self.operations[handle];
        let piece = &mut operation.pieces[completion.tag as u32 as usize];
        let range = piece.range;
        piece.drive = None;
        operation.under_way -= 1;
        operation.completion.add_costs(&completion);
        let is_last = operation.under_way == 0;
        if operation.is_of_host() && is_last {
            self.members.note_last(drive);
        }
        let operation = &mut self.operations[handle];
        match (completion.status, operation.phase) {
            (Status::Done, Phase::Reading) => {
                let piece = &mut operation.pieces[completion.tag as u32 as usize];
                (piece.has_read, piece.data) = (true, completion.data);
            }
            (Status::Done, _) => {}
            (_, Phase::Reading) => {
                if std::mem::replace(&mut operation.reads_apart, true) {
                    operation.unreadable.push(range);
                }
                operation.starts_over = true;
            }
            // A drive that does not take writes any more is of no use to a RAID that has others.
            _ if self.layout.copies() > 1 || self.layout.parities() > 0 => self.fail(drive),
            (status, _) => operation.completion.status = status,
        }
        if is_last && self.operations[handle].phase != Phase::Waiting {
            self.phase_done(handle);
        }
    }

    /// All requests of a phase have ended.
    fn phase_done(&mut self, handle: Handle<Operation<S>>) {
        let operation = &self.operations[handle];
        match operation.phase {
            Phase::Waiting => unreachable!("nothing has begun"),
            Phase::Reading if operation.starts_over => self.plan(handle),
            Phase::Reading => self.have_read(handle),
            Phase::Writing => {
                let status = operation.completion.status;
                let is_kept =
                    self.with_view(&[], 0, |view| operation.bands.iter().all(|(band, _)| view.write(band).is_some()));
                self.end(
                    handle,
                    if is_kept || operation.completion.io.kind == IoKind::Read {
                        status
                    } else {
                        Status::Uncorrectable
                    },
                );
            }
        }
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
                operation.bands.iter().for_each(|(_, update)| note_update(&mut counts, *update, reads_nothing));
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
            (Purpose::Repair | Purpose::Flush, _) => {
                let writes = assembly.repaired();
                counts.repaired_sectors += sectors(&writes);
                writes
            }
        };
        self.raid_counts = counts;
        self.issue(handle, Phase::Writing, IoKind::Write, joined(writes));
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
        match operation.purpose {
            Purpose::Host => {
                self.counts.count(operation.completion.io, status, self.members.unit());
                operation.completion.status = status;
                self.completions.push(operation.completion.at(self.now));
            }
            Purpose::Rebuild { .. } | Purpose::Repair => self.window_done(&operation.lost),
            Purpose::Flush => {}
        }
        next.into_iter().for_each(|handle| self.begin(handle));
    }

    // --- the RAID's own work ---

    fn wake_background(&mut self) {
        if let Some(at) = self.background.next(self.now).filter(|_| self.is_powered) {
            self.events.push(at, Event::Background);
        }
    }

    fn begin_window(&mut self) {
        // An earlier window may have come between.
        match self.background.next(self.now) {
            _ if !self.is_powered => return,
            Some(at) if at == self.now => {}
            Some(at) => return self.events.push(at, Event::Background),
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

    // --- power ---

    /// Cuts the power of all drives. Returns the tags of the requests that will never complete.
    pub fn cut_power(&mut self) -> Vec<Tag> {
        let active = self.operations.handles().map(|handle| &self.operations[handle]);
        let of_host = active.filter(|operation| operation.is_of_host()).map(|operation| operation.completion.tag);
        let unseen = self.completions.iter().map(|completion| completion.tag);
        let lost = of_host.chain(unseen).collect();
        self.members.drives_mut().iter_mut().for_each(|drive| _ = drive.cut_power());
        self.members.lose_power();
        let has_one_copy = self.layout.parities() == 0 && self.layout.copies() == 1;
        let is_clean = self.writes.are_durable() || has_one_copy || self.has_planted(Sabotage::RepairForgotten);
        self.background.lose_power(is_clean);
        self.writes.lose_power();
        self.operations = Order::default();
        self.completions.clear();
        self.is_powered = false;
        lost
    }

    /// Switches all drives on. The host may submit requests at once. If the power was cut during writes, or before a flush, copies
    /// and parity are repaired meanwhile.
    ///
    /// # Panics
    /// If the power is on, or `now` is in the past.
    pub fn power_on(&mut self, now: Time) -> Recovery {
        assert!(!self.is_powered, "the power is on already");
        (self.now, self.is_powered) = (now, true);
        let each = self.members.drives_mut().iter_mut().map(|drive| drive.power_on(now));
        let recovery = each.reduce(|sum, of| Recovery {
            time: sum.time.max(of.time),
            translation_pages: sum.translation_pages + of.translation_pages,
            units: sum.units.saturating_add(of.units),
        });
        self.wake_background();
        recovery.expect("a RAID has a drive")
    }

    /// Checks the invariants of all drives. Slow: for tests.
    ///
    /// # Panics
    /// If an invariant is broken.
    pub fn check(&self) {
        self.members.drives().iter().for_each(Ssd::check);
    }
}

/// Set in the number of an operation's end in the hash.
const OPERATION: u64 = 1 << 43;

fn note_update(raid: &mut RaidCounters, update: Update, reads_nothing: bool) {
    *match update {
        Update::None => return,
        Update::Modify => &mut raid.modify_updates,
        Update::Reconstruct if reads_nothing => &mut raid.full_updates,
        Update::Reconstruct => &mut raid.reconstruct_updates,
        Update::Recover => &mut raid.recover_updates,
    } += 1;
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
            // Completions are reported before time goes on.
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
                        Event::Failure { drive } => self.fail(drive),
                        Event::Background => self.begin_window(),
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
