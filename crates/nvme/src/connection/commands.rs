//! The outstanding commands of a connection, and their data on the way to the controller.

use std::collections::{BTreeMap, VecDeque};

use super::config::Config;
use crate::entry::SubmissionEntry;
use crate::pdu::{FatalError, fatal};

/// R2Ts that a command may have outstanding, even if the host allows more.
const MOST_R2TS: u32 = 8;

/// A request for data of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct R2t {
    pub(super) command_id: u16,
    pub(super) tag: u16,
    pub(super) offset: u32,
    pub(super) length: u32,
}

/// An R2T that is outstanding: data from `next` to `end` are due.
#[derive(Clone, Copy, Debug)]
struct DueData {
    tag: u16,
    start: u32,
    next: u32,
    end: u32,
}

#[derive(Debug)]
pub(super) struct OutstandingCommand {
    entry: SubmissionEntry,
    /// Bytes to the controller.
    length: u32,
    received: u32,
    /// The data to the controller; the owner has them once the command runs.
    data: Vec<u8>,
    /// Data up to here are requested or came in the capsule.
    requested: u32,
    due: Vec<DueData>,
    /// The command waits for its first R2T.
    waits: bool,
    /// A digest did not match.
    damaged: bool,
    /// True once all data have arrived and the owner carries out the command.
    runs: bool,
}

impl OutstandingCommand {
    pub(super) fn without_data(entry: SubmissionEntry) -> Self {
        Self { runs: true, ..Self::with_data_in_capsule(entry, 0) }
    }

    pub(super) const fn with_data_in_capsule(entry: SubmissionEntry, length: u32) -> Self {
        Self {
            entry,
            length,
            received: 0,
            data: Vec::new(),
            requested: length,
            due: Vec::new(),
            waits: false,
            damaged: false,
            runs: false,
        }
    }

    pub(super) fn with_requested_data(entry: SubmissionEntry, length: u32) -> Self {
        Self { requested: 0, waits: true, ..Self::with_data_in_capsule(entry, length) }
    }

    /// Puts data at an offset; offsets can come out of order if several R2Ts are outstanding.
    fn put(&mut self, offset: u32, data: &[u8]) {
        let offset = offset as usize;
        if self.data.capacity() == 0 {
            self.data.reserve_exact(self.length as usize);
        }
        if self.data.len() < offset {
            self.data.resize(offset, 0);
        }
        let known = (self.data.len() - offset).min(data.len());
        self.data[offset..offset + known].copy_from_slice(&data[..known]);
        self.data.extend_from_slice(&data[known..]);
        self.received += data.len() as u32;
    }
}

/// The outstanding commands by their identifiers.
#[derive(Debug)]
pub(super) struct Commands {
    config: Config,
    outstanding: BTreeMap<u16, OutstandingCommand>,
    /// Writes that wait for room.
    waiting: VecDeque<u16>,
    /// Writes that may have further R2Ts.
    unfinished: VecDeque<u16>,
    /// R2Ts that a command may have outstanding.
    r2ts: u32,
    next_tag: u16,
    /// Bytes of writes for which data were requested.
    requested: u64,
    /// Bytes of writes with data in the capsule.
    in_capsule: u64,
}

impl Commands {
    pub(super) const fn new(config: Config) -> Self {
        Self {
            config,
            outstanding: BTreeMap::new(),
            waiting: VecDeque::new(),
            unfinished: VecDeque::new(),
            r2ts: 1,
            next_tag: 0,
            requested: 0,
            in_capsule: 0,
        }
    }

    /// Sets the host's limit of R2Ts for a command, as MAXR2T has it: less one.
    pub(super) const fn set_r2ts(&mut self, max_r2t: u32) {
        self.r2ts = if max_r2t < MOST_R2TS { max_r2t + 1 } else { MOST_R2TS };
    }

    pub(super) fn len(&self) -> usize {
        self.outstanding.len()
    }

    /// True if data were requested that have not come.
    pub(super) fn await_data(&self) -> bool {
        self.outstanding.values().any(|command| !command.due.is_empty())
    }

    pub(super) const fn memory(&self) -> u64 {
        self.requested + self.in_capsule
    }

    pub(super) fn contains(&self, command_id: u16) -> bool {
        self.outstanding.contains_key(&command_id)
    }

    pub(super) fn entry(&self, command_id: u16) -> Option<&SubmissionEntry> {
        self.outstanding.get(&command_id).map(|command| &command.entry)
    }

    pub(super) fn insert(&mut self, command: OutstandingCommand) {
        let command_id = command.entry.command_id();
        if command.waits {
            self.waiting.push_back(command_id);
        } else {
            self.in_capsule += u64::from(command.length);
        }
        self.outstanding.insert(command_id, command);
    }

    /// Makes the R2Ts that can be sent now: for writes under way, and for waiting writes whose data fit.
    pub(super) fn requests(&mut self) -> Vec<R2t> {
        let mut all = Vec::new();
        while let Some(command_id) = self.unfinished.pop_front() {
            self.request(command_id, &mut all);
        }
        while let Some(command_id) = self.waiting.front().copied() {
            let command = self.outstanding.get_mut(&command_id).expect("a waiting command is outstanding");
            if self.requested + u64::from(command.length) > self.config.bytes {
                break;
            }
            command.waits = false;
            self.requested += u64::from(command.length);
            self.waiting.pop_front();
            self.request(command_id, &mut all);
        }
        all
    }

    /// Requests more data of a write, as far as the host takes R2Ts.
    fn request(&mut self, command_id: u16, all: &mut Vec<R2t>) {
        let Some(command) = self.outstanding.get_mut(&command_id) else { return };
        while command.requested < command.length && (command.due.len() as u32) < self.r2ts {
            let (tag, offset) = (self.next_tag, command.requested);
            let length = self.config.r2t.min(command.length - offset);
            self.next_tag = self.next_tag.wrapping_add(1);
            command.requested += length;
            command.due.push(DueData { tag, start: offset, next: offset, end: offset + length });
            all.push(R2t { command_id, tag, offset, length });
        }
    }

    /// Checks the header of an H2CData PDU (NVMe/TCP 1.0, section 3.3.2.2 and figure 26).
    pub(super) fn begin_data(
        &self,
        command_id: u16,
        tag: u16,
        (offset, length): (u32, u32),
        last: bool,
    ) -> Result<(), FatalError> {
        let command = self.outstanding.get(&command_id).ok_or(FatalError::field(8))?;
        let due = command.due.iter().find(|due| due.tag == tag).ok_or(FatalError::field(10))?;
        if length > self.config.data_pdu {
            return Err(FatalError::of(fatal::LIMIT_EXCEEDED));
        }
        let end = offset.checked_add(length).filter(|end| offset >= due.start && *end <= due.end);
        let end = end.ok_or(FatalError::of(fatal::DATA_OUT_OF_RANGE))?;
        if offset != due.next {
            return Err(FatalError::of(fatal::SEQUENCE));
        }
        // The flag of the last PDU of an R2T.
        if last != (end == due.end) { Err(FatalError::field(1)) } else { Ok(()) }
    }

    fn get(&mut self, command_id: u16) -> &mut OutstandingCommand {
        self.outstanding.get_mut(&command_id).expect("the command was checked at the PDU's header")
    }

    /// Takes data of a capsule, which may be more than the command's.
    pub(super) fn append(&mut self, command_id: u16, data: &[u8]) {
        let command = self.get(command_id);
        let data = &data[..data.len().min((command.length - command.received) as usize)];
        command.put(command.received, data);
    }

    /// Takes data for an R2T.
    pub(super) fn store(&mut self, command_id: u16, tag: u16, data: &[u8]) {
        let command = self.get(command_id);
        let due = command.due.iter_mut().find(|due| due.tag == tag).expect("the R2T was checked at the PDU's header");
        let offset = due.next;
        due.next += data.len() as u32;
        command.put(offset, data);
    }

    /// An H2CData PDU has ended.
    pub(super) fn end_data(&mut self, command_id: u16, tag: u16) {
        let command = self.get(command_id);
        command.due.retain(|due| due.tag != tag || due.next < due.end);
        if command.requested < command.length {
            self.unfinished.push_back(command_id);
        }
    }

    pub(super) fn mark_damaged(&mut self, command_id: u16) {
        self.get(command_id).damaged = true;
    }

    /// The entry of a command, its data, and whether these are damaged; none before all data have arrived.
    pub(super) fn take_complete(&mut self, command_id: u16) -> Option<(SubmissionEntry, Vec<u8>, bool)> {
        let command = self.get(command_id);
        if command.received < command.length {
            return None;
        }
        command.runs = true;
        Some((command.entry.clone(), std::mem::take(&mut command.data), command.damaged))
    }

    /// Removes a command that runs.
    pub(super) fn remove(&mut self, command_id: u16) -> Option<SubmissionEntry> {
        if !self.outstanding.get(&command_id)?.runs {
            return None;
        }
        let command = self.outstanding.remove(&command_id)?;
        let in_capsule = matches!(command.entry.transfer(), Ok(crate::entry::Transfer::InCapsule { .. }));
        let memory = if in_capsule { &mut self.in_capsule } else { &mut self.requested };
        *memory -= u64::from(command.length);
        Some(command.entry)
    }
}
