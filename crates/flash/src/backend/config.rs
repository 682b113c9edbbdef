//! Configuration of the backend: controllers, timing and arbitration.

use std::fmt;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::nand::{ErrorModel, Geometry, Media, Part};
use base::units::{Bytes, Rate, SECTOR, Span};

use super::{Ecc, PlaneReadSpec, Supply, SuspendSpec, VariationSpec};

/// The controllers of the array, each of which executes one command list at a time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Controllers {
    /// No controllers: every command goes to its die as soon as its dependencies allow.
    None,
    /// A controller for each die: a bank accepts one request at a time (Dirik & Jacob, Sec. 3).
    #[default]
    PerDie,
    /// A controller for each channel and the chips on its bus (Sung, TMCD).
    PerChannel,
    /// A number of controllers that each may reach any die (Sung, PMCD).
    Shared(u32),
    /// A foreground controller for the lists of host reads, and a number of background controllers for all other lists;
    /// each controller may reach any die (Seong et al., "Hydra", Sec. 3.3.2 and 3.4).
    Background(u32),
}

impl Controllers {
    /// One value of every kind, for the conformance suite and the swarm.
    pub const EVERY: [Self; 5] = [Self::None, Self::PerDie, Self::PerChannel, Self::Shared(2), Self::Background(2)];
}

/// The path of data between a chip and its controller.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Transfer {
    /// The bus of the channel: all its chips share it, whichever controller commands them.
    #[default]
    Bus,
    /// The link of the controller that executes the command. Commands of different controllers never wait for each
    /// other, and a shared controller takes only lists for chips that no other controller works with (Sung, Sec. 4.1,
    /// PMCD).
    Controller,
}

impl Transfer {
    /// All paths, for the conformance suite and the swarm.
    pub const EVERY: [Self; 2] = [Self::Bus, Self::Controller];
}

impl Order {
    /// All orders, for the conformance suite and the swarm.
    pub const EVERY: [Self; 3] = [Self::Fifo, Self::ReadFirst, Self::CollectionFirst];
}

impl BusOrder {
    /// All orders, for the conformance suite and the swarm.
    pub const EVERY: [Self; 4] = [Self::Fifo, Self::CommandFirst, Self::DataFirst, Self::ReadFirst];
}

/// The order of waiting lists and commands.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Order {
    /// First come, first served.
    #[default]
    Fifo,
    /// Host reads before everything else. Operations in progress are not interrupted (Dirik & Jacob, "Queueing and Read
    /// Priority").
    ReadFirst,
    /// Commands of the FTL before those of the host: copies and erases of collection, wear levelling and rescue, and
    /// reads of translation pages. Then host reads, then host writes. A host command begins only when no command of the
    /// FTL waits for the die. With `ftl.gc.parallel` at the number of pages of a block a host request waits for nearly
    /// a whole victim: garbage collection that is not preemptible. Collection keeps up with the free space that
    /// `ftl.gc.start` asks for. Only the page-mapped FTL takes this order, and not with a shared log.
    CollectionFirst,
}

/// The order of waiting transfers on a channel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BusOrder {
    /// First come, first served. A command of a fraction of a microsecond then waits behind the pages of other chips.
    /// So chips stand still that could have worked meanwhile, and afterwards all want the channel at once (a convoy).
    Fifo,
    /// New commands, with the data they bring, before data that waits in a chip. This keeps the chips busy, and real
    /// controllers do it: the firmware of the Cosmos+ OpenSSD starts reads, erases and programs before it fetches data
    /// that has been read.
    #[default]
    CommandFirst,
    /// Data that waits in a chip before new commands, as in several simulators. This order causes the worst convoys.
    DataFirst,
    /// Commands and data of host reads before everything else. If host reads go first at the dies too, a host read
    /// passes between the primitives of other dies, and between whole operations on its own die (Seong et al., Sec.
    /// 3.4).
    ReadFirst,
}

/// The way in which a controller learns that an array is done.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Completion {
    /// By the pin R/B# of the chip, at once. The controller then reads the status of a program, an erase or a
    /// copy-back.
    #[default]
    ReadyBusy,
    /// By reading the status over the channel: first this time after the array has begun, and again after each further
    /// such time while the status is busy.
    Polling(Span),
}

/// Arbitration: the order of waiting lists, commands and transfers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct Arbitration {
    /// The order in which lists wait for controllers, and commands for dies.
    pub commands: Order,
    /// The order in which transfers wait for a channel.
    pub bus: BusOrder,
    /// Whether a command keeps its channel from its first cycle until its array is done and its data is out, as in the
    /// coarse-grained interleaving of Seong et al., Fig. 7a. In that time nothing else crosses the channel, not even
    /// host reads.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub hold: bool,
    /// Whether a host read that waits for the channel goes between two pages of a program's data. Each page of the
    /// planes and the word line of a program has an address cycle of its own (ONFI: multi-plane program), so a
    /// controller can address another chip between them. If not, all data of a program crosses in one piece. No page is
    /// interrupted, nor the pages of ganged chips, which are one page here.
    pub between_pages: bool,
}

impl Default for Arbitration {
    fn default() -> Self {
        Self { commands: Order::default(), bus: BusOrder::default(), hold: false, between_pages: true }
    }
}

/// Times on the channel in addition to command, address and data cycles.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cycles {
    /// Time before the data of each page that comes in: tADL.
    pub page_in: Span,
    /// Time before the data of each page that goes out: Change Read Column and tCCS.
    pub page_out: Span,
    /// Time after data that went out: tRHW.
    pub turnaround: Span,
    /// Time before the array works: tWB.
    pub busy: Span,
    /// Time to read the status of a die.
    pub status: Span,
}

/// The times and the density of SLC mode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SlcTiming {
    /// Array time of a page read in SLC mode.
    pub read: Span,
    /// Array time of a page program in SLC mode.
    pub program: Span,
    /// Bits that a cell stores in full mode.
    pub bits: u32,
    /// The rated cycles of a block that is always in SLC mode; the part's endurance if missing.
    pub endurance: Option<u32>,
}

/// The times of commands and transfers, resolved for one geometry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timing {
    /// Array time of a read, by page type.
    pub read: Vec<Span>,
    /// Array time of a program, by page type.
    pub program: Vec<Span>,
    /// Array time of a block erase.
    pub erase: Span,
    /// Register copy of a cache-mode read; `None` if cache mode is off.
    pub cache_read: Option<Span>,
    /// Register copy of a cache-mode program; `None` if cache mode is off.
    pub cache_program: Option<Span>,
    /// True if cache mode joins commands of different lists and superblocks, too.
    pub cache_across: bool,
    /// The number of rows that one array operation programs.
    pub one_shot: u32,
    /// The number of pages of a word line that are programmed one by one, where a torn page damages those before it; 1
    /// if no page is damaged in this way.
    pub paired: u32,
    /// The number of chips of a gang, which share command and data lines.
    pub gang: u32,
    /// Time of the command and address cycles of one plane.
    pub command: Span,
    /// Further times on the channel and before the array.
    pub cycles: Cycles,
    /// Bytes of a slot on the channel, with its share of the spare bytes.
    pub slot_bytes: Bytes,
    /// Channel time of n slots, at index n.
    pub transfer: Vec<Span>,
    /// Channel time of n sectors, at index n, for commands that move only a part of their slots.
    pub sectors: Vec<Span>,
    /// SLC mode; `None` if no block is ever in it.
    pub slc_mode: Option<SlcTiming>,
    slot_sectors: u32,
}

/// The reason why a timing cannot be resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigError {
    /// The part's block is not a whole number of one-shot groups.
    OneShot {
        /// Rows that one operation programs.
        rows: u32,
        /// Pages of a block.
        pages: u32,
    },
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OneShot { rows, pages } => {
                write!(f, "a block of {pages} pages is not a whole number of {rows}-page word lines")
            }
        }
    }
}

impl Timing {
    /// The times of `part` in a `geometry`, over channels of `rate`. Cache mode is on if `cache_mode` is true and the
    /// part supports it.
    ///
    /// # Errors
    ///
    /// If the block is not a whole number of word lines.
    pub fn new(part: &Part, geometry: &Geometry, rate: Rate, cache_mode: bool) -> Result<Self, ConfigError> {
        let one_shot = part.timing.one_shot;
        if !geometry.pages.is_multiple_of(one_shot) {
            return Err(ConfigError::OneShot { rows: one_shot, pages: geometry.pages });
        }
        // Spare bytes cross with their page; a slot takes its share of them (fmmu.md A1: 4,096 + 384 B).
        let unit = SECTOR * u64::from(geometry.sectors);
        let page = unit * u64::from(geometry.slots);
        let spare = part.geometry.spare.get() * page.get() / part.geometry.page.get();
        let share = if part.bus.transfer_spare { spare / u64::from(geometry.slots) } else { 0 };
        let slot_bytes = unit + Bytes::new(share);
        let slots = geometry.row_slots() * one_shot;
        let sectors = 0..=slots * geometry.sectors;
        let planes = u64::from(geometry.planes_per_unit);
        Ok(Self {
            read: part.timing.read.clone(),
            program: part.timing.program.clone(),
            erase: part.timing.erase,
            cache_read: (cache_mode && part.features.cache_read).then_some(part.timing.cache_read_copy),
            cache_program: (cache_mode && part.features.cache_program).then_some(part.timing.cache_program_copy),
            cache_across: false,
            one_shot,
            paired: 1,
            gang: 1,
            command: part.bus.command * planes,
            cycles: Cycles {
                page_in: part.bus.t_adl * planes,
                page_out: (part.bus.change_column + part.bus.t_ccs) * planes,
                turnaround: part.bus.t_rhw,
                busy: part.bus.t_wb,
                status: part.bus.status,
            },
            transfer: (0..=slots).map(|n| rate.time(slot_bytes * u64::from(n))).collect(),
            sectors: sectors.map(|n| rate.time(part_of(slot_bytes, n, geometry.sectors))).collect(),
            slot_bytes,
            slc_mode: None,
            slot_sectors: geometry.sectors,
        })
    }

    /// Bytes of the simulator's memory that the tables take.
    #[must_use]
    pub fn memory(&self) -> u64 {
        (self.transfer.len() + self.sectors.len()) as u64 * size_of::<Span>() as u64
    }

    /// Configures media with the SLC mode and the word lines of these times.
    #[must_use]
    pub fn of_media(&self, media: Media) -> Media {
        let media = media.with_paired_pages(self.paired);
        match self.slc_mode {
            Some(mode) => media.with_slc_mode(mode.bits, mode.endurance),
            None => media,
        }
    }

    /// True if only data takes time on the channel.
    pub(super) fn is_data_only(&self) -> bool {
        let Cycles { page_in, page_out, turnaround, status, .. } = self.cycles;
        self.command + page_in + page_out + turnaround + status == Span::ZERO
    }

    /// Bytes of n sectors on the channel, with their share of the spare bytes, rounded down.
    #[must_use]
    pub fn bytes_of(&self, sectors: u32) -> Bytes {
        part_of(self.slot_bytes, sectors, self.slot_sectors)
    }

    pub(super) fn read_time(&self, page: u32) -> Span {
        if self.read.len() == 1 { self.read[0] } else { self.read[page as usize % self.read.len()] }
    }

    pub(super) fn program_time(&self, page: u32) -> Span {
        if self.program.len() == 1 { self.program[0] } else { self.program[page as usize % self.program.len()] }
    }
}

/// The share of `n` sectors in a slot of `of` sectors with `slot` bytes, rounded down.
fn part_of(slot: Bytes, n: u32, of: u32) -> Bytes {
    Bytes::new(slot.get() * u64::from(n) / u64::from(of))
}

/// The configuration of a backend, resolved for one geometry.
#[derive(Clone, Debug, PartialEq)]
pub struct Config {
    /// The times of commands and transfers.
    pub timing: Timing,
    /// The controllers that execute command lists.
    pub controllers: Controllers,
    /// The path of data between chips and controllers; [`Transfer::Controller`] requires controllers.
    pub transfer: Transfer,
    /// How controllers learn that an array is done; a channel that is held carries no polls.
    pub completion: Completion,
    /// The error correction of reads; with none it takes no time.
    pub ecc: Option<Ecc>,
    /// The order of waiting lists, commands and transfers.
    pub arbitration: Arbitration,
    /// Suspension of programs and erases; none if operations are never suspended.
    pub suspend: Option<SuspendSpec>,
    /// Reads by single planes of a die; none if all planes of a die read together.
    pub plane_reads: Option<PlaneReadSpec>,
    /// Differences of array times between blocks; none if all blocks have the same times.
    pub variation: Option<VariationSpec>,
    /// The bit errors of reads; none if reads have no errors. They require error correction.
    pub errors: Option<Arc<ErrorModel>>,
    /// The currents of the arrays, if the power of an operation depends on its number of planes or a cap limits it.
    pub supply: Option<Supply>,
    /// The processor time for each command of a background list, if the controllers are software; hardware
    /// controllers take none (Seong et al., Sec. 4.2.3).
    pub software: Option<Span>,
}

impl Config {
    /// A configuration with these times and no further features: no controllers, completion by R/B#, first come first
    /// served.
    #[must_use]
    pub fn new(timing: Timing) -> Self {
        Self {
            timing,
            controllers: Controllers::None,
            transfer: Transfer::Bus,
            completion: Completion::default(),
            ecc: None,
            arbitration: Arbitration::default(),
            suspend: None,
            plane_reads: None,
            variation: None,
            errors: None,
            supply: None,
            software: None,
        }
    }

    /// The number of paths for data: the buses of the channels, or the links of the controllers.
    pub(super) const fn links(&self, geometry: &Geometry) -> u32 {
        match self.transfer {
            Transfer::Bus => geometry.channels,
            Transfer::Controller => self.controllers.count(geometry),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A new variant does not compile here until it has a number, and the test fails until the variant is in `EVERY`.
    #[test]
    fn every_variant_is_in_its_list() {
        let controllers = |controllers: &Controllers| match controllers {
            Controllers::None => 0,
            Controllers::PerDie => 1,
            Controllers::PerChannel => 2,
            Controllers::Shared(_) => 3,
            Controllers::Background(_) => 4,
        };
        let order = |order: &Order| match order {
            Order::Fifo => 0,
            Order::ReadFirst => 1,
            Order::CollectionFirst => 2,
        };
        let bus = |order: &BusOrder| match order {
            BusOrder::Fifo => 0,
            BusOrder::CommandFirst => 1,
            BusOrder::DataFirst => 2,
            BusOrder::ReadFirst => 3,
        };
        assert!(Controllers::EVERY.iter().map(controllers).eq(0..5));
        assert!(Order::EVERY.iter().map(order).eq(0..3));
        assert!(BusOrder::EVERY.iter().map(bus).eq(0..4));
    }
}
