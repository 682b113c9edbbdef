//! Decoded I/O commands.

use super::zones::ZoneReport;

/// A range of blocks of a namespace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockRange {
    /// The first block of the range.
    pub start: u64,
    /// The length of the range in logical blocks.
    pub count: u64,
}

impl BlockRange {
    /// The first block behind the range.
    #[must_use]
    pub const fn end(&self) -> u64 {
        self.start + self.count
    }
}

/// The placement that a write asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Directive {
    /// The host does not say. With Flexible Data Placement this is placement handle 0.
    #[default]
    None,
    /// The stream with this identifier (streams directive).
    Stream(u16),
    /// A reclaim group and a placement handle (Flexible Data Placement).
    Placement {
        /// The placement identifier, as the host sent it.
        identifier: u16,
        /// The reclaim group that the identifier names.
        group: u16,
        /// The reclaim unit handle.
        handle: u16,
    },
    /// A placement identifier that the namespace does not have: the write goes to placement handle 0, and TP4146 wants an event.
    InvalidPlacement(u16),
}

/// An action of Zone Management Send (ZNS 1.1, figure 39).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneAction {
    /// Close Zone: the zone stays active, but is not open.
    Close,
    /// Finish Zone: the zone is full afterwards.
    Finish,
    /// Open Zone: the zone stays open until a command closes it.
    Open {
        /// True to allocate a zone random write area.
        random_write_area: bool,
    },
    /// Reset Zone: the zone is empty afterwards.
    Reset,
    /// Offline Zone: a read-only zone can no longer be read.
    Offline,
    /// ZRWA Flush: up to the block that the command names.
    FlushRandomWriteArea,
}

/// The zones of an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ZoneSelection {
    /// The zone that begins at a block, or, for a flush of a random write area, that has it.
    One(u64),
    /// All zones that are in a state in which the action does something.
    All,
}

/// An I/O command whose fields are valid. Ranges are within the namespace.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IoCommand {
    /// Makes all completed writes durable.
    Flush,
    /// Reads blocks: the response carries their data.
    Read {
        /// The logical blocks, within the namespace.
        range: BlockRange,
        /// Force unit access: the data come from non-volatile media.
        fua: bool,
    },
    /// Writes blocks with the data of the request.
    Write {
        /// The logical blocks, within the namespace.
        range: BlockRange,
        /// Force unit access: the data are durable at the response.
        fua: bool,
        /// The placement that the host asks for.
        directive: Directive,
    },
    /// Writes blocks to a zone: the result of the response is the first block.
    Append {
        /// The first block of the zone.
        zone: u64,
        /// The number of logical blocks of the data.
        blocks: u64,
        /// Force unit access: the data are durable at the response.
        fua: bool,
        /// The placement that the host asks for.
        directive: Directive,
    },
    /// Makes blocks read as zeros, without data from the host.
    WriteZeroes {
        /// The blocks that read as zeros afterwards.
        range: BlockRange,
        /// Force unit access: the zeros are durable at the response.
        fua: bool,
        /// The blocks may be deallocated instead.
        deallocate: bool,
    },
    /// Marks blocks so that reads of them fail.
    WriteUncorrectable(BlockRange),
    /// Compares blocks with the data of the command.
    Compare {
        /// The logical blocks, within the namespace.
        range: BlockRange,
        /// Force unit access: the compared data come from non-volatile media.
        fua: bool,
    },
    /// Reads blocks and sends nothing.
    Verify(BlockRange),
    /// Deallocates blocks; none if the host only gave hints.
    Deallocate(Vec<BlockRange>),
    /// Copies blocks, one range after the other, to blocks from `to` on.
    Copy {
        /// The source ranges, which are copied one behind the other.
        ranges: Vec<BlockRange>,
        /// The first block of the destination.
        to: u64,
        /// Force unit access of the writes: the copies are durable at the response.
        fua: bool,
        /// The placement of the copies.
        directive: Directive,
    },
    /// Changes the state of zones.
    ZoneManagement {
        /// The change of state.
        action: ZoneAction,
        /// The zones that the action changes.
        zones: ZoneSelection,
    },
    /// Asks for the state of zones: [`zone_report`](super::zone_report) makes the answer.
    ZoneReport(ZoneReport),
    /// Asks for the state of the reclaim unit handles: [`handle_status`](super::handle_status) makes the answer.
    HandleStatus {
        /// Bytes of the answer.
        length: usize,
    },
    /// Lets the reclaim unit handles of these placement identifiers begin new reclaim units.
    HandleUpdate(Vec<u16>),
}

impl IoCommand {
    /// The first block that the command names, for the error log.
    #[must_use]
    pub fn first_block(&self) -> Option<u64> {
        match self {
            Self::Read { range, .. }
            | Self::Write { range, .. }
            | Self::WriteZeroes { range, .. }
            | Self::WriteUncorrectable(range)
            | Self::Compare { range, .. }
            | Self::Verify(range) => Some(range.start),
            Self::Append { zone, .. } => Some(*zone),
            Self::Copy { to, .. } => Some(*to),
            Self::ZoneManagement { zones: ZoneSelection::One(block), .. } => Some(*block),
            Self::ZoneReport(report) => Some(report.from),
            _ => None,
        }
    }
}

/// An I/O command of a host.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IoRequest {
    /// The command identifier, by which the response finds the command.
    pub command_id: u16,
    /// The namespace; none for a Flush of all.
    pub namespace: Option<u32>,
    /// The decoded command, whose ranges are within the namespace.
    pub command: IoCommand,
    /// The data of a write or Compare.
    pub data: Vec<u8>,
}
