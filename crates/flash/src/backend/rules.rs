//! The rules of a backend: times and orders that do not change while it runs, and values derived from them.

use std::sync::Arc;

use base::engine::Handle;
use base::units::{Bytes, Span, SuperblockId};

use super::command_table::CommandTable;
use super::load::TransferLoad;
use super::plane_reads::PlaneReads;
use super::planted::PlantedBug;
use super::{
    Arbitration, BusOrder, Command, CommandState, Completion, Config, Op, Order, Supply, SuspendSpec, Timing,
    VariationSpec,
};
use crate::nand::{ErrorModel, Geometry, Media, Mode};

/// The rules of a backend, which its machines share.
#[derive(Clone, Debug)]
pub(super) struct Rules {
    pub(super) timing: Timing,
    pub(super) arbitration: Arbitration,
    /// True if host reads go first at the dies and on the channels, so that the forwarder speeds up commands in their
    /// way.
    pub(super) forwards: bool,
    /// True if the data of a program of several pages crosses the channel page by page.
    pub(super) by_pages: bool,
    /// The time between two polls of a die's status; `None` with R/B#.
    pub(super) polls: Option<Span>,
    /// True if the status is read when an array is done.
    pub(super) reads_status: bool,
    /// True if only data takes time on the channel.
    pub(super) data_only: bool,
    /// The number of slots of a page, or of a page of each chip of a gang.
    pub(super) page_slots: u32,
    /// True if controllers are software, so that the processor issues the commands of background lists.
    pub(super) issues: bool,
    /// The rules of suspension; none if no operation is suspended.
    pub(super) suspend: Option<SuspendSpec>,
    /// Differences of array times between blocks; none if all blocks have the same times.
    pub(super) variation: Option<VariationSpec>,
    /// The units of planes that read by themselves; none if there are no such planes.
    pub(super) plane_reads: Option<PlaneReads>,
    /// The bit errors of reads; none if reads have no errors.
    pub(super) errors: Option<Arc<ErrorModel>>,
    /// The power of the arrays' operations; none if nothing depends on it.
    pub(super) supply: Option<Supply>,
    /// If false, lists finish as soon as they are submitted.
    pub(super) timed: bool,
    pub(super) planted: PlantedBug,
}

impl Arbitration {
    /// True if host reads go first at the dies and on the channels.
    pub(super) fn forwards(self) -> bool {
        self.commands == Order::ReadFirst && self.bus == BusOrder::ReadFirst
    }
}

impl Rules {
    pub(super) fn new(config: &Config, geometry: &Geometry) -> Self {
        let Config { timing, arbitration, .. } = config;
        let pages = geometry.stripe * timing.one_shot;
        Self {
            timing: timing.clone(),
            arbitration: *arbitration,
            forwards: arbitration.forwards(),
            by_pages: arbitration.between_pages && !arbitration.hold && pages > timing.gang,
            polls: match config.completion {
                Completion::Polling(interval) if !arbitration.hold => Some(interval),
                _ => None,
            },
            reads_status: config.completion != Completion::ReadyBusy || !timing.cycles.status.is_zero(),
            data_only: timing.is_data_only(),
            page_slots: geometry.slots * timing.gang,
            issues: config.software.is_some(),
            suspend: config.suspend,
            variation: config.variation,
            plane_reads: PlaneReads::new(config, geometry),
            errors: config.errors.clone(),
            supply: config.supply,
            timed: true,
            planted: PlantedBug::default(),
        }
    }

    /// True if a forwarder or software controllers decide when a waiting command may begin on its die.
    #[inline]
    pub(super) const fn intervenes(&self) -> bool {
        self.forwards || self.issues
    }

    /// Array time of a read of a page, in the superblock's mode.
    #[inline]
    pub(super) fn read_time(&self, media: &Media, superblock: SuperblockId, page: u32) -> Span {
        match self.timing.slc_mode {
            Some(times) if media.mode(superblock) == Mode::Slc => times.read,
            _ => self.timing.read_time(page),
        }
    }

    /// Array time of a program.
    #[inline]
    pub(super) fn program_time(&self, command: &Command, page: u32) -> Span {
        match self.timing.slc_mode {
            Some(times) if command.mode == Mode::Slc => times.program,
            _ => self.timing.program_time(page),
        }
    }

    /// Array time of an operation on one plane of a superblock, or on all its planes, with the superblock's deviation
    /// from the part's time.
    #[inline]
    pub(super) fn vary(&self, media: &Media, operation: (Op, Span), place: (SuperblockId, Option<u32>)) -> Span {
        match &self.variation {
            None => operation.1,
            Some(variation) => variation.time(media, operation, place),
        }
    }

    /// The number of pages of a command that have cycles of their own on the channel: the pages of its planes and, for
    /// a program, of its word line. Ganged chips share their lines, so a gang has the cycles of one chip.
    pub(super) fn pages_of(&self, table: &CommandTable, handle: Handle<Command>, geometry: &Geometry) -> u64 {
        let command = &table.commands[handle];
        let gang = self.timing.gang;
        match command.op {
            Op::Erase => u64::from(geometry.stripe / gang),
            // Most commands have one slot: a division would cost as much as the rest of this computation.
            _ if command.count == 1 => 1,
            Op::Program | Op::CopyBack => u64::from(command.count.div_ceil(self.page_slots)),
            Op::Read => {
                let pages = table.slots_of(handle).iter().map(|slot| geometry.page_of(slot.psn).get());
                let (mut count, mut last) = (0, None);
                for page in pages {
                    // Most arrays have no gangs, and need no division.
                    let page = if gang == 1 { page } else { page / gang };
                    count += u64::from(last.replace(page) != Some(page));
                }
                count
            }
        }
    }

    /// Channel time of a command's next transfer in addition to its data: command and address cycles, and ONFI's waits
    /// between these and the data.
    #[inline(never)]
    fn cycles(
        &self,
        table: &CommandTable,
        (handle, state): (Handle<Command>, CommandState),
        geometry: &Geometry,
    ) -> Span {
        let command = &table.commands[handle];
        let pages = || self.pages_of(table, handle, geometry);
        match state {
            // The second phase of a copy-back with data in has cycles of its own.
            CommandState::CommandCycles if command.sectors > 0 => self.timing.commands(Op::Read, pages()),
            CommandState::CommandCycles => self.timing.commands(command.op, pages()),
            CommandState::DataIn | CommandState::Patch => self.timing.before_data_in(pages()),
            CommandState::Status => self.timing.cycles.status,
            CommandState::DataOut => self.timing.around_data_out(pages()),
            CommandState::Queued | CommandState::Array | CommandState::Suspended | CommandState::Done => Span::ZERO,
        }
    }

    /// The transfer of a command in a state, if it crosses the channel in one piece.
    #[inline]
    pub(super) fn load_of(
        &self,
        table: &CommandTable,
        of: (Handle<Command>, CommandState),
        geometry: &Geometry,
    ) -> TransferLoad {
        let (handle, state) = of;
        let command = &table.commands[handle];
        // The most frequent transfer.
        if self.data_only && command.count == 1 && command.sectors == 0 && state == CommandState::DataOut {
            return TransferLoad { time: self.timing.transfer[1], bytes: self.timing.slot_bytes };
        }
        let cycles = if self.data_only { Span::ZERO } else { self.cycles(table, of, geometry) };
        if matches!(state, CommandState::CommandCycles | CommandState::Status) {
            return TransferLoad { time: cycles, bytes: Bytes::default() };
        }
        let (data, bytes) = match command.sectors {
            0 => (self.timing.transfer[command.count as usize], self.timing.slot_bytes * u64::from(command.count)),
            part => (self.timing.sectors[part as usize], self.timing.bytes_of(part)),
        };
        TransferLoad { time: data + cycles, bytes }
    }

    /// The transfer of the slots from `from` to `until` of a program, as pages.
    #[inline]
    pub(super) fn load_of_pages(&self, from: u32, until: u32) -> TransferLoad {
        let slots = until - from;
        let cycles = match self.data_only {
            true => Span::ZERO,
            false => self.timing.before_data_in(1) * u64::from(slots.div_ceil(self.page_slots)),
        };
        let data = self.timing.transfer[until as usize] - self.timing.transfer[from as usize];
        TransferLoad { time: data + cycles, bytes: self.timing.slot_bytes * u64::from(slots) }
    }
}

impl Timing {
    /// Time of the command and address cycles of an operation on `pages` pages.
    #[must_use]
    pub fn commands(&self, op: Op, pages: u64) -> Span {
        // A copy-back has the cycles of a read and of a program.
        self.command * if op == Op::CopyBack { 2 * pages } else { pages }
    }

    /// Time of the command and address cycles of a program of `pages` pages, up to the begin of its data.
    #[must_use]
    pub fn before_data_in(&self, pages: u64) -> Span {
        (self.command + self.cycles.page_in) * pages
    }

    /// Channel time before and after the data of `pages` pages that go out.
    #[must_use]
    pub fn around_data_out(&self, pages: u64) -> Span {
        self.cycles.page_out * pages + self.cycles.turnaround
    }
}
