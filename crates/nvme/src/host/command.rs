//! Builds the commands of a host, with their data.

use crate::description::ALL_NAMESPACES;
use crate::entry::{SubmissionEntry, opcode};
use crate::layout::{bytes_of, layout, text};

/// A command, with its data to the controller.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostCommand {
    /// The entry, without command identifier and without a descriptor of the data to the controller.
    pub entry: SubmissionEntry,
    /// The data that the command sends to the controller; empty if it sends none.
    pub data: Vec<u8>,
}

/// The parameters of a Connect command, for an admin or an I/O queue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ConnectRequest {
    /// 0 for the admin queue, which makes a new controller.
    pub queue: u16,
    /// Entries of the queue.
    pub entries: u16,
    /// True if responses carry the head of the submission queue.
    pub flow_control: bool,
    /// Keep alive timeout in milliseconds; 0 for none.
    pub keep_alive: u32,
    /// The controller of an I/O queue; all ones for an admin queue.
    pub controller: u16,
    /// The identifier of the host.
    pub host_id: [u8; 16],
    /// The qualified name of the subsystem.
    pub subsystem_nqn: String,
    /// The qualified name of the host.
    pub host_nqn: String,
}

layout! {
    /// The data of Connect (NVMe base 2.0, section 6.3).
    struct ConnectData [1024] {
        0 host_id: [u8; 16],
        16 controller: u16,
        256 subsystem_nqn: [u8; 256],
        512 host_nqn: [u8; 256],
    }
}

/// Bit 30 of command dword 12: force unit access.
const FUA: u32 = 1 << 30;

impl HostCommand {
    /// A command without data to the controller.
    #[must_use]
    pub const fn new(entry: SubmissionEntry) -> Self {
        Self { entry, data: Vec::new() }
    }

    /// A command with data to the controller.
    #[must_use]
    pub const fn with_data(entry: SubmissionEntry, data: Vec<u8>) -> Self {
        Self { entry, data }
    }

    /// Connect, with its parameters in the entry and in the data.
    #[must_use]
    pub fn connect(request: &ConnectRequest) -> Self {
        let flow_control = if request.flow_control { 0 } else { 1 << 2 };
        let entry = SubmissionEntry::fabrics(opcode::fabrics::CONNECT)
            .with_cdw(10, u32::from(request.queue) << 16)
            .with_cdw(11, u32::from(request.entries.wrapping_sub(1)) | flow_control << 16)
            .with_cdw(12, request.keep_alive);
        let data = bytes_of(&ConnectData {
            host_id: request.host_id,
            controller: request.controller,
            subsystem_nqn: text(&request.subsystem_nqn, 0),
            host_nqn: text(&request.host_nqn, 0),
        });
        Self::with_data(entry, data)
    }

    /// Property Get of the property at `offset`, which has four or eight bytes.
    #[must_use]
    pub fn property_get(offset: u32, eight_bytes: bool) -> Self {
        let entry = SubmissionEntry::fabrics(opcode::fabrics::PROPERTY_GET);
        Self::new(entry.with_cdw(10, eight_bytes.into()).with_cdw(11, offset))
    }

    /// Property Set of four bytes at `offset`.
    #[must_use]
    pub fn property_set(offset: u32, value: u32) -> Self {
        let entry = SubmissionEntry::fabrics(opcode::fabrics::PROPERTY_SET);
        Self::new(entry.with_cdw(11, offset).with_cdw(12, value))
    }

    /// Identify: CNS, the namespace, the command set identifier.
    #[must_use]
    pub fn identify(cns: u8, namespace: u32, command_set: u8) -> Self {
        let entry = SubmissionEntry::new(opcode::admin::IDENTIFY).with_namespace(namespace).with_transport_data(4096);
        Self::new(entry.with_cdw(10, cns.into()).with_cdw(11, u32::from(command_set) << 24))
    }

    /// Get Log Page: `length` bytes from `offset` on.
    #[must_use]
    pub fn log_page(page: u8, namespace: u32, offset: u64, length: u32) -> Self {
        let dwords = (length / 4).wrapping_sub(1);
        let entry = SubmissionEntry::new(opcode::admin::GET_LOG_PAGE).with_namespace(namespace);
        let entry = entry.with_transport_data(length).with_cdw_pair(12, offset);
        Self::new(entry.with_cdw(10, u32::from(page) | (dwords & 0xffff) << 16).with_cdw(11, dwords >> 16))
    }

    /// Get Features of a value that fits into dword 0 of the result.
    #[must_use]
    pub fn get_features(feature: u8, cdw11: u32) -> Self {
        let entry = SubmissionEntry::new(opcode::admin::GET_FEATURES);
        Self::new(entry.with_cdw(10, feature.into()).with_cdw(11, cdw11))
    }

    /// Set Features without data: the value is in dword 11.
    #[must_use]
    pub fn set_features(feature: u8, cdw11: u32) -> Self {
        let entry = SubmissionEntry::new(opcode::admin::SET_FEATURES);
        Self::new(entry.with_cdw(10, feature.into()).with_cdw(11, cdw11))
    }

    /// Keep Alive, which restarts the keep alive timer.
    #[must_use]
    pub fn keep_alive() -> Self {
        Self::new(SubmissionEntry::new(opcode::admin::KEEP_ALIVE))
    }

    /// Asynchronous Event Request, which ends when an event happens.
    #[must_use]
    pub fn event_request() -> Self {
        Self::new(SubmissionEntry::new(opcode::admin::ASYNC_EVENT_REQUEST))
    }

    fn blocks(opcode: u8, namespace: u32, start: u64, blocks: u32) -> SubmissionEntry {
        let entry = SubmissionEntry::new(opcode).with_namespace(namespace).with_cdw_pair(10, start);
        entry.with_cdw(12, blocks.wrapping_sub(1) & 0xffff)
    }

    /// Read of `blocks` from block `start` on. `bytes` is the size of their data.
    #[must_use]
    pub fn read(namespace: u32, start: u64, blocks: u32, bytes: u32) -> Self {
        Self::new(Self::blocks(opcode::io::READ, namespace, start, blocks).with_transport_data(bytes))
    }

    /// Write of `blocks` from block `start` on; `data` has their bytes.
    #[must_use]
    pub fn write(namespace: u32, start: u64, blocks: u32, data: Vec<u8>) -> Self {
        Self::with_data(Self::blocks(opcode::io::WRITE, namespace, start, blocks), data)
    }

    /// Sets the flag force unit access.
    #[must_use]
    pub fn with_fua(self) -> Self {
        let cdw12 = self.entry.cdw(12) | FUA;
        Self { entry: self.entry.with_cdw(12, cdw12), ..self }
    }

    /// Sets the directive: its type and DSPEC.
    #[must_use]
    pub fn with_directive(self, kind: u8, specific: u16) -> Self {
        let cdw12 = self.entry.cdw(12) | u32::from(kind) << 20;
        Self { entry: self.entry.with_cdw(12, cdw12).with_cdw(13, u32::from(specific) << 16), ..self }
    }

    /// Flush of one namespace, or of all namespaces without one.
    #[must_use]
    pub fn flush(namespace: Option<u32>) -> Self {
        Self::new(SubmissionEntry::new(opcode::io::FLUSH).with_namespace(namespace.unwrap_or(ALL_NAMESPACES)))
    }

    /// Write Zeroes: `blocks` logical blocks from `start` on read as zeros afterwards.
    #[must_use]
    pub fn write_zeroes(namespace: u32, start: u64, blocks: u32) -> Self {
        Self::new(Self::blocks(opcode::io::WRITE_ZEROES, namespace, start, blocks))
    }

    /// Dataset Management: deallocates ranges, each of first block and blocks.
    #[must_use]
    pub fn deallocate(namespace: u32, ranges: &[(u64, u32)]) -> Self {
        let entry = SubmissionEntry::new(opcode::io::DATASET_MANAGEMENT).with_namespace(namespace);
        let mut data = Vec::new();
        for (start, blocks) in ranges {
            data.extend([0; 4]);
            data.extend(blocks.to_le_bytes());
            data.extend(start.to_le_bytes());
        }
        Self::with_data(entry.with_cdw(10, (ranges.len() as u32).wrapping_sub(1) & 0xff).with_cdw(11, 1 << 2), data)
    }

    /// Copy of ranges, each of first block and blocks, to blocks from `to` on.
    #[must_use]
    pub fn copy(namespace: u32, ranges: &[(u64, u16)], to: u64) -> Self {
        let entry = SubmissionEntry::new(opcode::io::COPY).with_namespace(namespace).with_cdw_pair(10, to);
        let mut data = Vec::new();
        for (start, blocks) in ranges {
            data.extend([0; 8]);
            data.extend(start.to_le_bytes());
            data.extend(blocks.wrapping_sub(1).to_le_bytes());
            data.extend([0; 14]);
        }
        Self::with_data(entry.with_cdw(12, (ranges.len() as u32).wrapping_sub(1) & 0xff), data)
    }

    /// Zone Append to the zone that begins at `zone`.
    #[must_use]
    pub fn append(namespace: u32, zone: u64, blocks: u32, data: Vec<u8>) -> Self {
        Self::with_data(Self::blocks(opcode::io::ZONE_APPEND, namespace, zone, blocks), data)
    }

    /// Zone Management Send: the number of the action; all zones if there is no `zone`.
    #[must_use]
    pub fn zone_management(namespace: u32, action: u8, zone: Option<u64>) -> Self {
        let entry = SubmissionEntry::new(opcode::io::ZONE_MANAGEMENT_SEND).with_namespace(namespace);
        let all = u32::from(zone.is_none()) << 8;
        Self::new(entry.with_cdw_pair(10, zone.unwrap_or(0)).with_cdw(13, u32::from(action) | all))
    }

    /// Zone Management Receive: a partial report of `length` bytes on all zones from `from` on.
    #[must_use]
    pub fn zone_report(namespace: u32, from: u64, length: u32) -> Self {
        let entry = SubmissionEntry::new(opcode::io::ZONE_MANAGEMENT_RECEIVE).with_namespace(namespace);
        let entry = entry.with_cdw_pair(10, from).with_cdw(12, (length / 4).wrapping_sub(1)).with_cdw(13, 1 << 16);
        Self::new(entry.with_transport_data(length))
    }

    /// I/O Management Receive: the status of the reclaim unit handles, in `length` bytes.
    #[must_use]
    pub fn handle_status(namespace: u32, length: u32) -> Self {
        let entry = SubmissionEntry::new(opcode::io::IO_MANAGEMENT_RECEIVE).with_namespace(namespace);
        Self::new(entry.with_cdw(10, 1).with_cdw(11, (length / 4).wrapping_sub(1)).with_transport_data(length))
    }

    /// I/O Management Send: new reclaim units for placement identifiers.
    #[must_use]
    pub fn handle_update(namespace: u32, identifiers: &[u16]) -> Self {
        let entry = SubmissionEntry::new(opcode::io::IO_MANAGEMENT_SEND).with_namespace(namespace);
        let last = (identifiers.len() as u32).wrapping_sub(1);
        let data = identifiers.iter().flat_map(|identifier| identifier.to_le_bytes()).collect();
        Self::with_data(entry.with_cdw(10, 1 | last << 16), data)
    }
}
