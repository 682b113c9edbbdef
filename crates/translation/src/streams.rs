//! The open zones, and the writes that wait for room in them.

use std::collections::VecDeque;

use base::engine::Handle;
use base::io::IoKind;
use base::units::{Lba, Time};
use ssd::{TranslationSpec, ZoneCommand};

use crate::log::{Log, Usage};
use crate::operation::{Operation, Purpose};

/// Units of an operation that wait for a zone.
#[derive(Clone, Copy, Debug)]
pub(crate) struct UnplacedUnits<S> {
    pub(crate) operation: Handle<Operation<S>>,
    /// The position of the first unit in the operation's data.
    pub(crate) first: u32,
    pub(crate) units: u32,
    pub(crate) since: Time,
}

/// Zones that take data of one kind in turn.
#[derive(Clone, Debug)]
struct ZoneStream<S> {
    zones: Vec<Option<u32>>,
    turn: usize,
    unplaced: VecDeque<UnplacedUnits<S>>,
}

/// All streams; the last is the stream of copies.
#[derive(Clone, Debug)]
pub(crate) struct Streams<S> {
    each: Vec<ZoneStream<S>>,
    command: ZoneCommand,
    /// The number of free zones that only copies may open.
    reserve: u32,
    /// The number of zones that are open or wait for their summary.
    active: u32,
    max_active: u32,
    /// Zones that were partly written at a power cut.
    partial: VecDeque<u32>,
}

impl<S> Streams<S> {
    pub(crate) fn new(spec: &TranslationSpec, max_active: u32) -> Self {
        let stream =
            || ZoneStream { zones: vec![None; spec.zones_per_stream as usize], turn: 0, unplaced: VecDeque::new() };
        Self {
            each: (0..=spec.streams).map(|_| stream()).collect(),
            command: spec.command,
            reserve: spec.zones_per_stream,
            active: 0,
            max_active,
            partial: VecDeque::new(),
        }
    }

    pub(crate) fn copies(&self) -> usize {
        self.each.len() - 1
    }

    /// The number of streams, including the stream of copies.
    pub(crate) fn count(&self) -> usize {
        self.each.len()
    }

    /// The stream for the writes of an operation: the stream of copies, or of its placement identifier.
    pub(crate) fn of(&self, operation: &Operation<S>) -> usize {
        match operation.purpose {
            Purpose::Copy { .. } => self.copies(),
            _ => usize::from(operation.completion.io.placement.get()).min(self.copies() - 1),
        }
    }

    /// Adds a write to those that wait in its stream; at the front if it comes back from a zone that has failed.
    pub(crate) fn push(&mut self, stream: usize, unplaced: UnplacedUnits<S>, in_front: bool) {
        let waiting = &mut self.each[stream].unplaced;
        if in_front { waiting.push_front(unplaced) } else { waiting.push_back(unplaced) }
    }

    /// The command that writes to a zone, and its address for a write that begins at position `at` of the zone.
    pub(crate) fn command(&self, log: &Log, zone: u32, at: u32) -> (IoKind, Lba) {
        match self.command {
            ZoneCommand::Append => (IoKind::Append, log.start(zone)),
            ZoneCommand::Write => (IoKind::Write, log.sector(zone, at)),
        }
    }

    /// True if any write waits.
    pub(crate) fn has_unplaced(&self) -> bool {
        self.each.iter().any(|stream| !stream.unplaced.is_empty())
    }

    /// Removes the waiting writes of users.
    pub(crate) fn take_unplaced_of_users(&mut self) -> Vec<UnplacedUnits<S>> {
        let copies = self.copies();
        self.each[..copies].iter_mut().flat_map(|stream| stream.unplaced.drain(..)).collect()
    }

    /// Gives a zone to the next write of a stream. Returns the zone, and the units that go there.
    pub(crate) fn place(&mut self, stream: usize, log: &mut Log) -> Option<(u32, UnplacedUnits<S>)> {
        self.each[stream].unplaced.front()?;
        let zone = self.zone_for(stream, log)?;
        let ZoneStream { unplaced, .. } = &mut self.each[stream];
        let front = unplaced.front_mut().expect("a write waits");
        let room = log.shape().data - log.zone(zone).taken;
        let placed = UnplacedUnits { units: front.units.min(room), ..*front };
        (front.first, front.units) = (front.first + placed.units, front.units - placed.units);
        if front.units == 0 {
            unplaced.pop_front();
        }
        let data = log.shape().data;
        let of_log = log.zone_mut(zone);
        of_log.taken += placed.units;
        of_log.writes += 1;
        if of_log.taken == data {
            of_log.usage = Usage::Full;
            self.leave(zone);
        }
        Some((zone, placed))
    }

    /// A zone of the stream that takes a write now. The zones of a stream take turns.
    fn zone_for(&mut self, stream: usize, log: &mut Log) -> Option<u32> {
        let (slots, turn) = (self.each[stream].zones.len(), self.each[stream].turn);
        for slot in (0..slots).map(|next| (turn + next) % slots) {
            let zone = match self.each[stream].zones[slot] {
                Some(zone) => zone,
                None => {
                    let Some(zone) = self.open(stream, log) else { continue };
                    self.each[stream].zones[slot] = Some(zone);
                    zone
                }
            };
            if self.command == ZoneCommand::Append || log.zone(zone).writes == 0 {
                self.each[stream].turn = (slot + 1) % slots;
                return Some(zone);
            }
        }
        None
    }

    fn open(&mut self, stream: usize, log: &mut Log) -> Option<u32> {
        if let Some(zone) = self.partial.pop_front() {
            return Some(zone);
        }
        let is_of_copies = stream == self.copies();
        if self.active == self.max_active || !is_of_copies && log.free_zones() <= self.reserve {
            return None;
        }
        // The last free zone is reserved for copies without another zone: the data of a victim fits there, and the
        // reset of the victim frees the next zone.
        let has_one = self.each[stream].zones.iter().any(Option::is_some);
        if is_of_copies && has_one && log.free_zones() <= 1 {
            return None;
        }
        let zone = log.open()?;
        self.active += 1;
        Some(zone)
    }

    /// Removes a zone that takes no more data from its stream.
    pub(crate) fn leave(&mut self, zone: u32) {
        self.partial.retain(|partial| *partial != zone);
        let slots = self.each.iter_mut().flat_map(|stream| &mut stream.zones);
        slots.filter(|slot| **slot == Some(zone)).for_each(|slot| *slot = None);
    }

    /// Counts a zone that is not active any more.
    pub(crate) fn close(&mut self) {
        self.active -= 1;
    }

    /// Drops the work under way at a power loss.
    pub(crate) fn lose_power(&mut self) {
        for stream in &mut self.each {
            stream.zones.fill(None);
            (stream.turn, _) = (0, stream.unplaced.clear());
        }
        self.active = 0;
        self.partial.clear();
    }

    /// Adds an active zone that a mount has found. The zone takes more data if `is_partial`.
    pub(crate) fn found(&mut self, zone: u32, is_partial: bool) {
        self.active += 1;
        if is_partial {
            self.partial.push_back(zone);
        }
    }
}
