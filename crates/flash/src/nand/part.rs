//! NAND parts as data: one file per part, with a source for every number.

mod errors;
mod own;
mod preset;
mod validate;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use base::units::{Bytes, Current, Energy, LaneRate, Rate, Ratio, Span, Voltage};

pub use errors::ErrorTable;
pub use own::CustomPart;
pub(crate) use own::SlcArrayPart;
pub use validate::PartError;

/// A NAND flash part: geometry, timing, features and currents of one chip.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Part {
    /// The name of the part in device files.
    pub name: String,
    /// The source of each number, one statement per line; inferred and assumed numbers are marked as such.
    pub source: String,
    /// Bits per cell.
    pub cell: Cell,
    /// Program/erase cycles a block is rated for.
    pub endurance: u32,
    /// Standard deviation of the cycles that a block endures, as a share of their mean, `endurance`. The distribution
    /// is log-normal, which is assumed. Each block draws once, from the seed of the run and its number. Zero if
    /// missing: all blocks are equal. It counts with `flash.faults.wear-out`.
    #[serde(default, skip_serializing_if = "is_no_share")]
    pub endurance_spread: Ratio,
    /// Largest share of the blocks that may be bad when the chip leaves the factory.
    pub initial_bad_blocks: Ratio,
    /// Price of a GiB of the part, relative to a GiB of MLC flash; if missing, the price of its kind of cell, see
    /// [`Cell::cost_per_gib`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cost_per_gib: Option<f64>,
    /// Dies, planes, blocks and pages of a chip.
    pub geometry: Geometry,
    /// Times of the array's operations.
    pub timing: Timing,
    /// SLC mode, if the part has it: a block that stores one bit per cell until its next erase. An erase takes as long in either
    /// mode.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc_mode: Option<SlcMode>,
    /// The chip's side of the channel.
    pub bus: Bus,
    /// Optional commands, in addition to read, program and erase.
    pub features: Features,
    /// Voltage and currents, from which energies follow.
    pub electrical: Electrical,
    /// Raw bit errors and the retry table; if missing, they are not known, and `[flash.errors]` needs them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<ErrorTable>,
}

/// The number of bits in a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Cell {
    /// One bit per cell.
    Slc,
    /// Two bits per cell.
    Mlc,
    /// Three bits per cell.
    Tlc,
    /// Four bits per cell.
    Qlc,
}

/// Dies, planes, blocks and pages of a chip.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Geometry {
    /// Data bytes of a page, without the spare area: a multiple of 512 B.
    pub page: Bytes,
    /// Spare bytes of a page, for the error-correcting code and the controller's own data.
    pub spare: Bytes,
    /// Pages of a block, over all word lines and bits per cell.
    pub pages_per_block: u32,
    /// Blocks of a plane, factory bad blocks included.
    pub blocks_per_plane: u32,
    /// Planes of a die, which share its control and can take part in one operation.
    pub planes_per_die: u32,
    /// Dies of a chip, each of which works on an operation of its own.
    pub dies_per_chip: u32,
}

/// Array times of one die.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Timing {
    /// Array read (tR), from the cells to the data register: one time for each page type, lower page first, or a single
    /// time for all. The type of a page is its index in the block modulo the number of times given.
    pub read: Vec<Span>,
    /// Array program (tPROG): one time for each page type, or a single time for all. With `one_shot` above 1, a single
    /// time for the whole operation.
    pub program: Vec<Span>,
    /// Block erase (tBERS).
    pub erase: Span,
    /// Copy from the data register to the cache register: in cache mode, the array spends this time once for each page
    /// read.
    pub cache_read_copy: Span,
    /// Copy from the cache register to the data register: in cache mode, the array spends this time once for each page
    /// programmed.
    pub cache_program_copy: Span,
    /// Consecutive pages of a block that one array operation programs: 1, or the pages of a word line.
    pub one_shot: u32,
}

/// SLC mode: a block stores one bit per cell, so its number of pages is divided by the bits per cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SlcMode {
    /// Array read of a page.
    pub read: Span,
    /// Array program of a page.
    pub program: Span,
    /// Program/erase cycles for which a block is rated if it is always in SLC mode. Each erase of a block in SLC mode
    /// takes its share of them, and each other erase its share of the part's `endurance`.
    pub endurance: u32,
}

/// The chip's side of the channel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Bus {
    /// Bytes per second of one 8-bit lane. `1200MT/s` is the same as `1200MB/s`: a lane moves one byte a transfer.
    #[serde(deserialize_with = "LaneRate::rate")]
    #[schemars(with = "LaneRate")]
    pub rate: Rate,
    /// Command and address cycles for one plane: of a read, of an erase, and of each page of a program; may be zero.
    pub command: Span,
    /// Command and address cycles of Change Read Column, once for each page that is sent; zero if missing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub change_column: Span,
    /// ONFI's tCCS, from the end of Change Read Column to the first byte, once for each page that is sent; zero if
    /// missing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub t_ccs: Span,
    /// ONFI's tADL, from the address to the first byte of a page that is programmed; zero if missing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub t_adl: Span,
    /// ONFI's tRHW, from the last byte that is sent to the next command; zero if missing.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub t_rhw: Span,
    /// ONFI's tWB, from the last cycle of a command to the begin of the array's work; zero if missing. The die is
    /// occupied, the channel is not.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub t_wb: Span,
    /// Read Status: its command cycle, ONFI's tWHR and the status byte; zero if missing. A controller reads the status
    /// after each program, erase and copy-back, and again and again if `flash.completion` is polling.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub status: Span,
    /// True if the spare bytes of a page cross the channel with its data; false if they take no time.
    pub transfer_spare: bool,
}

const fn is_zero(span: &Span) -> bool {
    span.is_zero()
}

/// Optional commands, in addition to read, program and erase.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Features {
    /// True if the planes of a die can take part in one operation.
    pub multi_plane: bool,
    /// True if a page can be sent while the next is read.
    pub cache_read: bool,
    /// True if a page can be received while the page before is programmed.
    pub cache_program: bool,
    /// True if a page can be read and programmed elsewhere in its plane without crossing the channel.
    pub copy_back: bool,
}

/// Voltage and currents, from which energies follow.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Electrical {
    /// Supply voltage.
    pub voltage: Voltage,
    /// Average supply current of one die during an array read.
    pub read_current: Current,
    /// Average supply current of one die during an array program.
    pub program_current: Current,
    /// Average supply current of one die during an erase.
    pub erase_current: Current,
    /// Energy to move one byte over one 8-bit lane, in picojoules.
    pub bus_pj_per_byte: f64,
    /// Supply current of a die whose array does not work (bus idle); zero if missing. It counts with `[power]` of a
    /// device.
    #[serde(default, skip_serializing_if = "is_no_current")]
    pub idle_current: Current,
    /// Current of each further plane of a multi-plane operation, as a share of the current of one plane; zero if
    /// missing.
    #[serde(default, skip_serializing_if = "is_no_share")]
    pub further_plane: Ratio,
}

fn is_no_current(current: &Current) -> bool {
    *current == Current::default()
}

fn is_no_share(share: &Ratio) -> bool {
    *share == Ratio::ZERO
}

impl Cell {
    /// Number of bits that a cell stores.
    #[must_use]
    pub const fn bits(self) -> u32 {
        match self {
            Self::Slc => 1,
            Self::Mlc => 2,
            Self::Tlc => 3,
            Self::Qlc => 4,
        }
    }

    /// Price of a GiB, relative to a GiB of MLC flash.
    ///
    /// SLC: inferred from Chang (IEEE Trans. Computers 59(10), 2010, Sec. 5.6), where 256 MiB of SLC flash beside 21
    /// GiB of MLC flash make the flash 4 % dearer; the text calls MLC about a third of the price. TLC and QLC:
    /// assumed, the price of a cell divided by its bits.
    #[must_use]
    pub const fn cost_per_gib(self) -> f64 {
        match self {
            Self::Slc => 3.36,
            Self::Mlc => 1.0,
            Self::Tlc => 2.0 / 3.0,
            Self::Qlc => 0.5,
        }
    }
}

impl Geometry {
    /// Blocks of a die over all its planes, factory bad blocks included.
    #[must_use]
    pub const fn blocks_per_die(&self) -> u32 {
        self.blocks_per_plane * self.planes_per_die
    }

    /// Data bytes of a block.
    #[must_use]
    pub const fn block(&self) -> Bytes {
        Bytes::new(self.page.get().saturating_mul(self.pages_per_block as u64))
    }

    /// Data bytes of a die, factory bad blocks included.
    #[must_use]
    pub const fn die(&self) -> Bytes {
        Bytes::new(self.block().get() * self.blocks_per_plane as u64 * self.planes_per_die as u64)
    }

    /// Data bytes of a chip, factory bad blocks included.
    #[must_use]
    pub const fn chip(&self) -> Bytes {
        Bytes::new(self.die().get() * self.dies_per_chip as u64)
    }
}

impl Part {
    /// Number of bits that a cell of the part stores.
    #[must_use]
    pub const fn bits_per_cell(&self) -> u32 {
        self.cell.bits()
    }

    /// Price of `size` bytes of the part, in units of the price of a GiB of MLC flash: only ratios of prices have a
    /// meaning.
    #[must_use]
    pub fn cost(&self, size: Bytes) -> f64 {
        let per_gib = self.cost_per_gib.unwrap_or_else(|| self.cell.cost_per_gib());
        per_gib * (size.get() as f64 / f64::from(1_u32 << 30))
    }

    /// Page types of a word line: one per bit of a cell, whether or not their times differ.
    #[must_use]
    pub const fn page_types(&self) -> u32 {
        self.cell.bits()
    }

    /// Array time of reading page `page` of a block.
    ///
    /// # Panics
    /// If the part has no read time (see [`Part::validate`]).
    #[must_use]
    #[inline]
    pub fn read_time(&self, page: u32) -> Span {
        self.timing.read[page as usize % self.timing.read.len()]
    }

    /// Array time of the operation that programs page `page` of a block. With `one_shot` above 1 it is the time of the
    /// operation that programs the page together with others.
    ///
    /// # Panics
    ///
    /// If the part has no program time (see [`Part::validate`]).
    #[must_use]
    #[inline]
    pub fn program_time(&self, page: u32) -> Span {
        self.timing.program[page as usize % self.timing.program.len()]
    }

    /// Bytes that cross the channel when a whole page is moved.
    #[must_use]
    pub const fn page_transfer(&self) -> Bytes {
        let spare = if self.bus.transfer_spare { self.geometry.spare.get() } else { 0 };
        Bytes::new(self.geometry.page.get() + spare)
    }

    /// Energy of reading page `page` of a block out of the array.
    #[must_use]
    pub fn read_energy(&self, page: u32) -> Energy {
        Energy::of(self.electrical.voltage, self.electrical.read_current, self.read_time(page))
    }

    /// Energy of the array operation that programs page `page` of a block.
    #[must_use]
    pub fn program_energy(&self, page: u32) -> Energy {
        Energy::of(self.electrical.voltage, self.electrical.program_current, self.program_time(page))
    }

    /// Energy of erasing a block.
    #[must_use]
    pub fn erase_energy(&self) -> Energy {
        Energy::of(self.electrical.voltage, self.electrical.erase_current, self.timing.erase)
    }

    /// Energy of moving `bytes` over the channel.
    #[must_use]
    pub fn bus_energy(&self, bytes: Bytes) -> Energy {
        Energy::from_joules(self.electrical.bus_pj_per_byte * 1e-12 * bytes.get() as f64)
    }
}
