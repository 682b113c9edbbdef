//! Decodes I/O commands (NVM 1.0, section 3.2; ZNS 1.1, section 3.4; TP4146).

use super::command::{BlockRange, Directive, IoCommand, ZoneAction, ZoneSelection};
use super::zones::{ZoneFilter, ZoneReport};
use super::{COPY_RANGES, append_limit, copy_range_blocks};
use crate::connection::Config;
use crate::description::{ALL_NAMESPACES, Description, Namespace, Zones};
use crate::entry::{SubmissionEntry, opcode::io};
use crate::layout::{Field, layout};
use crate::status::Status;

layout! {
    /// A range of Dataset Management (NVM 1.0, figure 41).
    struct DeallocateRange [16] {
        4 blocks: u32,
        8 start: u64,
    }
}

layout! {
    /// A source range of Copy, format 0 (NVM 1.0, figure 34).
    struct CopyRange [32] {
        8 start: u64,
        /// Blocks of the range, less one.
        16 blocks: u16,
    }
}

/// Bits of command dword 12 of reads and writes (NVM 1.0, figures 48, 63 and 73; ZNS 1.1, figure 26).
mod dword12 {
    pub(super) const BLOCKS: u32 = 0xffff;
    /// PIREMAP of Zone Append.
    pub(super) const REMAP: u32 = 1 << 25;
    /// DEAC of Write Zeroes.
    pub(super) const DEALLOCATE: u32 = 1 << 25;
    pub(super) const FUA: u32 = 1 << 30;
}

/// The state against which a command is checked.
#[derive(Clone, Copy)]
pub(crate) struct Scope<'a> {
    pub(crate) description: &'a Description,
    pub(crate) config: &'a Config,
    /// The host enabled the streams directive for the namespace of the command.
    pub(crate) streams: bool,
}

fn invalid<T>() -> Result<T, Status> {
    Err(Status::INVALID_FIELD.do_not_retry())
}

/// Decodes a command into its namespace, which is `None` for a Flush of all namespaces, and its operation.
pub(crate) fn decode(
    scope: &Scope<'_>,
    entry: &SubmissionEntry,
    data: &[u8],
) -> Result<(Option<u32>, IoCommand), Status> {
    let id = entry.namespace();
    if entry.opcode() == io::FLUSH && id == ALL_NAMESPACES {
        return Ok((None, IoCommand::Flush));
    }
    let namespace = scope.description.namespace(id).ok_or(Status::INVALID_NAMESPACE.do_not_retry())?;
    let command = Decoder { scope, namespace, entry, data }.command()?;
    Ok((Some(id), command))
}

struct Decoder<'a> {
    scope: &'a Scope<'a>,
    namespace: &'a Namespace,
    entry: &'a SubmissionEntry,
    data: &'a [u8],
}

impl Decoder<'_> {
    fn command(&self) -> Result<IoCommand, Status> {
        let (opcode, cdw12) = (self.entry.opcode(), self.entry.cdw(12));
        let fua = cdw12 & dword12::FUA != 0;
        let placement = self.namespace.placement.is_some();
        let commands = self.namespace.commands;
        match (opcode, self.namespace.zones) {
            (io::FLUSH, _) => Ok(IoCommand::Flush),
            (io::READ, _) => Ok(IoCommand::Read { range: self.range_with_data()?, fua }),
            (io::COMPARE, _) => Ok(IoCommand::Compare { range: self.range_with_data()?, fua }),
            (io::WRITE, _) => {
                let range = self.in_one_zone(self.range_with_data()?)?;
                Ok(IoCommand::Write { range, fua, directive: self.directive()? })
            }
            (io::VERIFY, _) => Ok(IoCommand::Verify(self.range()?)),
            (io::WRITE_UNCORRECTABLE, _) if commands.write_uncorrectable => {
                Ok(IoCommand::WriteUncorrectable(self.in_one_zone(self.range()?)?))
            }
            (io::WRITE_ZEROES, _) => {
                let deallocate = cdw12 & dword12::DEALLOCATE != 0;
                Ok(IoCommand::WriteZeroes { range: self.in_one_zone(self.range()?)?, fua, deallocate })
            }
            (io::DATASET_MANAGEMENT, _) if commands.dataset_management => self.deallocate(),
            (io::COPY, _) => self.copy(fua),
            (io::ZONE_APPEND, Some(zones)) => self.append(zones, fua),
            (io::ZONE_MANAGEMENT_SEND, Some(zones)) => self.zone_management(zones),
            (io::ZONE_MANAGEMENT_RECEIVE, Some(_)) => self.zone_report(),
            (io::IO_MANAGEMENT_RECEIVE, _) if placement => self.handle_status(),
            (io::IO_MANAGEMENT_SEND, _) if placement && commands.handle_update => self.handle_update(),
            _ => Err(Status::INVALID_OPCODE.do_not_retry()),
        }
    }

    /// The range of the command, within the namespace.
    fn range(&self) -> Result<BlockRange, Status> {
        let count = u64::from(self.entry.cdw(12) & dword12::BLOCKS) + 1;
        self.inside(BlockRange { start: self.entry.cdw_pair(10), count })
    }

    fn inside(&self, range: BlockRange) -> Result<BlockRange, Status> {
        let end = range.start.checked_add(range.count);
        if end.is_none_or(|end| end > self.namespace.blocks) {
            return Err(Status::LBA_OUT_OF_RANGE.do_not_retry());
        }
        Ok(range)
    }

    /// The range of the command, whose data must have exactly the bytes of its blocks.
    fn range_with_data(&self) -> Result<BlockRange, Status> {
        let range = self.range()?;
        self.check_length(range.count)?;
        Ok(range)
    }

    fn check_length(&self, blocks: u64) -> Result<(), Status> {
        if blocks << self.namespace.block_shift != u64::from(self.entry.data_length()) {
            return Err(Status::SGL_LENGTH_INVALID.do_not_retry());
        }
        Ok(())
    }

    /// Refuses a range that leaves its zone.
    fn in_one_zone(&self, range: BlockRange) -> Result<BlockRange, Status> {
        match self.namespace.zones {
            Some(Zones { size, .. }) if range.start / size != (range.end() - 1) / size => {
                Err(Status::ZONE_BOUNDARY_ERROR.do_not_retry())
            }
            _ => Ok(range),
        }
    }

    /// DTYPE and DSPEC (NVMe base 2.0, section 8.7; TP4146).
    fn directive(&self) -> Result<Directive, Status> {
        let specific = (self.entry.cdw(13) >> 16) as u16;
        match (self.entry.cdw(12) >> 20 & 0xf, &self.namespace.placement) {
            (0, _) => Ok(Directive::None),
            (1, _) if self.scope.streams && specific <= self.namespace.streams => {
                Ok(if specific == 0 { Directive::None } else { Directive::Stream(specific) })
            }
            (2, Some(placement)) => {
                let (group, place) = placement.split(specific);
                let handle = self.namespace.placement_handles.get(usize::from(place));
                Ok(match handle {
                    Some(handle) if group < placement.reclaim_groups => {
                        Directive::Placement { identifier: specific, group, handle: *handle }
                    }
                    _ => Directive::InvalidPlacement(specific),
                })
            }
            _ => invalid(),
        }
    }

    /// Dataset Management. Linux brings a page of 4 KiB, however few the ranges are (nvme_setup_discard).
    fn deallocate(&self) -> Result<IoCommand, Status> {
        let count = (self.entry.cdw(10) & 0xff) as usize + 1;
        let ranges = self.ranges::<DeallocateRange>(count)?;
        let ranges = ranges.filter(|range| range.blocks > 0);
        let ranges = ranges.map(|range| self.inside(BlockRange { start: range.start, count: range.blocks.into() }));
        let ranges: Vec<_> = ranges.collect::<Result<_, _>>()?;
        // Bit 2: deallocate. Without it the ranges are hints.
        let deallocates = self.entry.cdw(11) >> 2 & 1 != 0;
        Ok(IoCommand::Deallocate(if deallocates { ranges } else { Vec::new() }))
    }

    /// The descriptors at the front of the data.
    fn ranges<T: Field>(&self, count: usize) -> Result<impl Iterator<Item = T>, Status> {
        let bytes = self.data.get(..count * T::SIZE).ok_or(Status::SGL_LENGTH_INVALID.do_not_retry())?;
        Ok(bytes.chunks_exact(T::SIZE).map(T::load))
    }

    fn copy(&self, fua: bool) -> Result<IoCommand, Status> {
        let (cdw12, to) = (self.entry.cdw(12), self.entry.cdw_pair(10));
        let count = (cdw12 & 0xff) as usize + 1;
        if cdw12 >> 8 & 0xf != 0 {
            return invalid();
        }
        let most = u64::from(copy_range_blocks(self.namespace, self.scope.config));
        let too_much = Err(Status::COMMAND_SIZE_LIMIT_EXCEEDED.do_not_retry());
        if count > COPY_RANGES {
            return too_much;
        }
        let mut ranges = Vec::new();
        for CopyRange { start, blocks } in self.ranges(count)? {
            let range = BlockRange { start, count: u64::from(blocks) + 1 };
            if range.count > most {
                return too_much;
            }
            ranges.push(self.inside(range)?);
        }
        let total = ranges.iter().map(|range| range.count).sum();
        self.in_one_zone(self.inside(BlockRange { start: to, count: total })?)?;
        Ok(IoCommand::Copy { ranges, to, fua, directive: self.directive()? })
    }

    fn append(&self, zones: Zones, fua: bool) -> Result<IoCommand, Status> {
        let cdw12 = self.entry.cdw(12);
        let BlockRange { start: zone, count: blocks } = self.range()?;
        self.check_length(blocks)?;
        // Without protection information there is no reference tag to remap.
        if cdw12 & dword12::REMAP != 0 {
            return Err(Status::INVALID_PROTECTION_INFORMATION.do_not_retry());
        }
        let limit = 4096_u64 << append_limit(self.scope.description, self.scope.config);
        if !zone.is_multiple_of(zones.size) || u64::from(self.entry.data_length()) > limit {
            return invalid();
        }
        if blocks > zones.capacity {
            return Err(Status::ZONE_BOUNDARY_ERROR.do_not_retry());
        }
        Ok(IoCommand::Append { zone, blocks, fua, directive: self.directive()? })
    }

    fn zone_management(&self, zones: Zones) -> Result<IoCommand, Status> {
        let (cdw13, start) = (self.entry.cdw(13), self.entry.cdw_pair(10));
        // Bit 8: select all. Bit 9: an option of the action.
        let (all, option) = (cdw13 >> 8 & 1 != 0, cdw13 >> 9 & 1 != 0);
        let action = match cdw13 & 0xff {
            0x01 => ZoneAction::Close,
            0x02 => ZoneAction::Finish,
            0x03 if option && zones.random_write_area.is_none() => return invalid(),
            0x03 => ZoneAction::Open { random_write_area: option },
            0x04 => ZoneAction::Reset,
            0x05 => ZoneAction::Offline,
            0x11 if zones.random_write_area.is_some() && !all => ZoneAction::FlushRandomWriteArea,
            // Set Zone Descriptor Extension, too: zones have none.
            _ => return invalid(),
        };
        if all {
            return Ok(IoCommand::ZoneManagement { action, zones: ZoneSelection::All });
        }
        self.inside(BlockRange { start, count: 1 })?;
        if action != ZoneAction::FlushRandomWriteArea && !start.is_multiple_of(zones.size) {
            return invalid();
        }
        Ok(IoCommand::ZoneManagement { action, zones: ZoneSelection::One(start) })
    }

    /// The number of dwords in the answer, less one, against the length of the data.
    fn answer_length(&self, dwords: u32) -> Result<usize, Status> {
        let length = (u64::from(dwords) + 1) * 4;
        if length != u64::from(self.entry.data_length()) {
            return Err(Status::SGL_LENGTH_INVALID.do_not_retry());
        }
        Ok(length as usize)
    }

    fn zone_report(&self) -> Result<IoCommand, Status> {
        let (cdw13, from) = (self.entry.cdw(13), self.entry.cdw_pair(10));
        self.inside(BlockRange { start: from, count: 1 })?;
        let length = self.answer_length(self.entry.cdw(12))?;
        // Action 0: Report Zones. The extended report has descriptor extensions, which zones do not have.
        if cdw13 & 0xff != 0 || length < 64 {
            return invalid();
        }
        let Some(filter) = ZoneFilter::from_field((cdw13 >> 8) as u8) else { return invalid() };
        Ok(IoCommand::ZoneReport(ZoneReport { from, filter, partial: cdw13 >> 16 & 1 != 0, length }))
    }

    fn handle_status(&self) -> Result<IoCommand, Status> {
        let length = self.answer_length(self.entry.cdw(11))?;
        // Management operation 1: reclaim unit handle status.
        if self.entry.cdw(10) & 0xff == 1 { Ok(IoCommand::HandleStatus { length }) } else { invalid() }
    }

    fn handle_update(&self) -> Result<IoCommand, Status> {
        let (cdw10, placement) = (self.entry.cdw(10), self.namespace.placement.as_ref());
        let (1, Some(placement)) = (cdw10 & 0xff, placement) else { return invalid() };
        let identifiers: Vec<u16> = self.ranges::<u16>((cdw10 >> 16) as usize + 1)?.collect();
        let is_valid = |identifier: &u16| {
            let (group, place) = placement.split(*identifier);
            group < placement.reclaim_groups && usize::from(place) < self.namespace.placement_handles.len()
        };
        if identifiers.iter().all(is_valid) { Ok(IoCommand::HandleUpdate(identifiers)) } else { invalid() }
    }
}
