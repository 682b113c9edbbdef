//! Drives in memory that answer at once, for tests, random input and measurements of the protocol alone.

use std::collections::BTreeMap;

use crate::connection::Response;
use crate::description::{Description, Drives, Health, Namespace, PlacementEvent, PlacementStatistics, Zones};
use crate::io::{
    BlockRange, Directive, HandleStatus, IoCommand, IoRequest, ZoneAction, ZoneAttributes, ZoneDescriptor, ZoneReport,
    ZoneSelection, ZoneState, handle_status, zone_report,
};
use crate::status::Status;
use crate::subsystem::DriveCommand;

#[derive(Clone, Copy, Debug)]
struct Zone {
    state: ZoneState,
    /// Blocks that are written, from the start of the zone on.
    written: u64,
}

#[derive(Debug)]
struct Storage {
    namespace: Namespace,
    /// The blocks that were written; the others are zeros.
    blocks: BTreeMap<u64, Vec<u8>>,
    zones: Vec<Zone>,
}

/// Drives in memory. Zones open and close without limits, and random write areas are not kept apart.
#[derive(Debug)]
pub struct MemoryDrives {
    storage: BTreeMap<u32, Storage>,
    /// The SMART values that the drives report.
    pub health: Health,
    /// The number of commands that the drives have carried out.
    pub commands: u64,
}

impl Drives for MemoryDrives {
    fn health(&self) -> Health {
        self.health
    }

    fn used_blocks(&self, namespace: u32) -> u64 {
        self.storage.get(&namespace).map_or(0, |storage| storage.namespace.blocks)
    }

    fn drive_health(&self, _: u32) -> Health {
        self.health
    }

    fn placement_statistics(&self, _: u32) -> PlacementStatistics {
        let Health { bytes_written, .. } = self.health;
        PlacementStatistics { host_bytes: bytes_written, media_bytes: bytes_written, erased_bytes: 0 }
    }

    fn handles_in_use(&self, namespace: u32) -> Vec<bool> {
        self.handles(namespace).iter().map(|_| true).collect()
    }

    fn placement_events(&self, _: u32, _: bool) -> Vec<PlacementEvent> {
        Vec::new()
    }
}

impl MemoryDrives {
    /// Drives full of zeros, with the namespaces of a description.
    #[must_use]
    pub fn new(description: &Description) -> Self {
        let storage = description.namespaces.iter().map(|namespace| {
            let zones = vec![Zone { state: ZoneState::Empty, written: 0 }; namespace.zone_count() as usize];
            (namespace.id, Storage { namespace: namespace.clone(), blocks: BTreeMap::new(), zones })
        });
        Self {
            storage: storage.collect(),
            health: Health { temperature: 310, spare: 100, spare_threshold: 10, ..Health::default() },
            commands: 0,
        }
    }

    /// Carries out an admin command.
    pub fn administrate(&mut self, command: &DriveCommand) -> Response {
        let erased = match command {
            DriveCommand::Format(namespaces) => namespaces.clone(),
            DriveCommand::Sanitize => self.storage.keys().copied().collect(),
            DriveCommand::WriteCache(_) | DriveCommand::PowerState(_) => Vec::new(),
        };
        for id in erased {
            if let Some(storage) = self.storage.get_mut(&id) {
                storage.blocks.clear();
                storage.zones.fill(Zone { state: ZoneState::Empty, written: 0 });
            }
        }
        Response::success()
    }

    /// Carries out an I/O command.
    pub fn run(&mut self, request: &IoRequest) -> Response {
        self.commands += 1;
        let Some(id) = request.namespace else { return Response::success() };
        let handles: Vec<HandleStatus> = match request.command {
            IoCommand::HandleStatus { .. } => self.handles(id),
            _ => Vec::new(),
        };
        let Some(storage) = self.storage.get_mut(&id) else { return Response::status(Status::INVALID_NAMESPACE) };
        let block = storage.namespace.block();
        if let IoCommand::Write { range, .. } = &request.command {
            self.health.bytes_written += u128::from(range.count * block);
        }
        storage.run(&request.command, &request.data, &handles).unwrap_or_else(Response::status)
    }

    fn handles(&self, namespace: u32) -> Vec<HandleStatus> {
        let handles = self.storage.get(&namespace).map_or(&[][..], |storage| &storage.namespace.placement_handles);
        let status = |(identifier, handle): (u16, &u16)| HandleStatus {
            identifier,
            handle: *handle,
            remaining_blocks: 1024,
            remaining_seconds: 0,
        };
        (0..).zip(handles).map(status).collect()
    }
}

impl Storage {
    fn read(&self, range: BlockRange) -> Vec<u8> {
        let block = self.namespace.block() as usize;
        let mut data = vec![0; range.count as usize * block];
        for (number, written) in self.blocks.range(range.start..range.end()) {
            data[(number - range.start) as usize * block..][..block].copy_from_slice(written);
        }
        data
    }

    fn deallocate(&mut self, range: BlockRange) {
        self.blocks.retain(|block, _| !(range.start..range.end()).contains(block));
    }

    fn run(&mut self, command: &IoCommand, data: &[u8], handles: &[HandleStatus]) -> Result<Response, Status> {
        match command {
            IoCommand::Flush | IoCommand::Verify(_) | IoCommand::WriteUncorrectable(_) | IoCommand::HandleUpdate(_) => {
            }
            IoCommand::Read { range, .. } => return Ok(Response::data(self.read(*range))),
            IoCommand::Compare { range, .. } => {
                if self.read(*range) != data {
                    return Err(Status::COMPARE_FAILURE);
                }
            }
            IoCommand::Write { range, directive, .. } => {
                debug_assert!(!matches!(directive, Directive::Stream(0)));
                self.write(*range, data)?;
            }
            IoCommand::WriteZeroes { range, .. } => {
                let zeros = vec![0; (range.count << self.namespace.block_shift) as usize];
                self.write(*range, &zeros)?;
            }
            IoCommand::Append { zone, blocks, .. } => {
                let start = self.write_pointer(*zone);
                self.write(BlockRange { start, count: *blocks }, data)?;
                return Ok(Response::result(start));
            }
            IoCommand::Deallocate(ranges) => ranges.iter().for_each(|range| self.deallocate(*range)),
            IoCommand::Copy { ranges, to, .. } => {
                let data: Vec<u8> = ranges.iter().flat_map(|range| self.read(*range)).collect();
                self.write(BlockRange { start: *to, count: data.len() as u64 >> self.namespace.block_shift }, &data)?;
            }
            IoCommand::ZoneManagement { action, zones } => self.manage(*action, *zones)?,
            IoCommand::ZoneReport(report) => return Ok(Response::data(self.report(report))),
            IoCommand::HandleStatus { length } => return Ok(Response::data(handle_status(handles, *length))),
        }
        Ok(Response::success())
    }

    fn zone_layout(&self) -> Option<Zones> {
        self.namespace.zones
    }

    fn write_pointer(&self, block: u64) -> u64 {
        let size = self.zone_layout().map_or(1, |zones| zones.size);
        block / size * size + self.zones.get((block / size) as usize).map_or(0, |zone| zone.written)
    }

    fn write(&mut self, range: BlockRange, data: &[u8]) -> Result<(), Status> {
        if let Some(Zones { size, capacity, .. }) = self.zone_layout() {
            let pointer = self.write_pointer(range.start);
            let zone = &mut self.zones[(range.start / size) as usize];
            match zone.state {
                ZoneState::Full => return Err(Status::ZONE_IS_FULL),
                ZoneState::ReadOnly => return Err(Status::ZONE_IS_READ_ONLY),
                ZoneState::Offline => return Err(Status::ZONE_IS_OFFLINE),
                _ if range.start != pointer => return Err(Status::ZONE_INVALID_WRITE),
                _ if zone.written + range.count > capacity => return Err(Status::ZONE_BOUNDARY_ERROR),
                ZoneState::Empty | ZoneState::Closed => zone.state = ZoneState::ImplicitlyOpened,
                ZoneState::ImplicitlyOpened | ZoneState::ExplicitlyOpened => {}
            }
            zone.written += range.count;
            if zone.written == capacity {
                zone.state = ZoneState::Full;
            }
        }
        let blocks = data.chunks_exact(self.namespace.block() as usize).map(<[u8]>::to_vec);
        self.blocks.extend((range.start..).zip(blocks));
        Ok(())
    }

    fn manage(&mut self, action: ZoneAction, zones: ZoneSelection) -> Result<(), Status> {
        let Some(Zones { size, .. }) = self.zone_layout() else { return Err(Status::INVALID_OPCODE) };
        let (first, count) = match zones {
            ZoneSelection::One(block) => ((block / size) as usize, 1),
            ZoneSelection::All => (0, self.zones.len()),
        };
        for number in first..first + count {
            let zone = &mut self.zones[number];
            let next = match (action, zone.state) {
                (ZoneAction::Reset, _) => ZoneState::Empty,
                (ZoneAction::Finish, ZoneState::Empty) if zones == ZoneSelection::All => ZoneState::Empty,
                (ZoneAction::Finish, _) => ZoneState::Full,
                (ZoneAction::Open { .. }, ZoneState::Full) if zones != ZoneSelection::All => {
                    return Err(Status::INVALID_ZONE_STATE_TRANSITION);
                }
                (ZoneAction::Open { .. }, ZoneState::Empty | ZoneState::Full) if zones == ZoneSelection::All => {
                    zone.state
                }
                (ZoneAction::Open { .. }, _) => ZoneState::ExplicitlyOpened,
                (ZoneAction::Close, ZoneState::ImplicitlyOpened | ZoneState::ExplicitlyOpened) => ZoneState::Closed,
                (ZoneAction::Close, ZoneState::Empty | ZoneState::Full) if zones != ZoneSelection::All => {
                    return Err(Status::INVALID_ZONE_STATE_TRANSITION);
                }
                (_, state) => state,
            };
            zone.state = next;
            if action == ZoneAction::Reset {
                zone.written = 0;
                self.deallocate(BlockRange { start: number as u64 * size, count: size });
            }
        }
        Ok(())
    }

    fn report(&self, report: &ZoneReport) -> Vec<u8> {
        let Zones { size, capacity, .. } = self.zone_layout().expect("only zoned namespaces have reports");
        let zones = self.zones.iter().enumerate().skip((report.from / size) as usize);
        let zones = zones.map(|(number, zone)| ZoneDescriptor {
            state: zone.state,
            attributes: ZoneAttributes::default(),
            start: number as u64 * size,
            capacity,
            write_pointer: number as u64 * size + zone.written,
        });
        zone_report(report, zones)
    }
}
