//! Decoding of I/O commands, and the refusals of invalid commands.

use crate::entry::{SubmissionEntry, opcode::io};
use crate::host::{HostCommand, HostConfig};
use crate::io::{BlockRange, Directive, IoCommand, Scope, ZoneAction, ZoneFilter, ZoneSelection, ZoneState, decode};
use crate::samples::{ConnectionPair, Target, sample_config, sample_description};
use crate::status::Status;

/// Decodes a command, with streams enabled.
fn decoded(command: &HostCommand) -> Result<IoCommand, Status> {
    let (description, config) = (sample_description(), sample_config());
    let entry = match command.data.len() as u32 {
        0 => command.entry.clone(),
        length => command.entry.clone().with_transport_data(length),
    };
    let scope = Scope { description: &description, config: &config, streams: true };
    decode(&scope, &entry, &command.data).map(|(_, command)| command).map_err(Status::bare)
}

/// A command without data: opcode, namespace, first block, dwords 12 and 13.
fn plain(opcode: u8, namespace: u32, start: u64, cdw12: u32, cdw13: u32) -> HostCommand {
    let entry = SubmissionEntry::new(opcode).with_namespace(namespace).with_cdw_pair(10, start);
    HostCommand::new(entry.with_cdw(12, cdw12).with_cdw(13, cdw13))
}

fn range(start: u64, count: u64) -> BlockRange {
    BlockRange { start, count }
}

#[test]
fn ranges_are_checked_against_the_namespace() {
    let read = |start, blocks| decoded(&HostCommand::read(1, start, blocks, blocks * 4096));
    assert_eq!(read(510, 2), Ok(IoCommand::Read { range: range(510, 2), fua: false }));
    for (start, blocks) in [(511, 2), (512, 1), (u64::MAX, 1), (u64::MAX - 3, 8)] {
        assert_eq!(read(start, blocks), Err(Status::LBA_OUT_OF_RANGE), "{start}");
    }
    assert_eq!(decoded(&HostCommand::read(1, 0, 2, 4096)), Err(Status::SGL_LENGTH_INVALID));
    assert_eq!(decoded(&HostCommand::read(3, 0, 1, 4096)), Err(Status::INVALID_NAMESPACE));
    assert_eq!(decoded(&HostCommand::flush(None)), Ok(IoCommand::Flush));
    assert_eq!(decoded(&HostCommand::flush(Some(3))), Err(Status::INVALID_NAMESPACE));
    assert_eq!(decoded(&HostCommand::read(u32::MAX, 0, 1, 4096)), Err(Status::INVALID_NAMESPACE));
}

#[test]
fn commands_of_the_nvm_set_are_decoded() {
    let fua = decoded(&HostCommand::write(1, 3, 1, vec![0; 4096]).with_fua());
    let write = |fua, directive| IoCommand::Write { range: range(3, 1), fua, directive };
    assert_eq!(fua, Ok(write(true, Directive::None)));
    let zeroes = |cdw12: u32| decoded(&plain(io::WRITE_ZEROES, 1, 8, 7 | cdw12, 0));
    let expected = |fua, deallocate| IoCommand::WriteZeroes { range: range(8, 8), fua, deallocate };
    assert_eq!(zeroes(0), Ok(expected(false, false)));
    assert_eq!(zeroes(1 << 25 | 1 << 30), Ok(expected(true, true)));
    assert_eq!(decoded(&plain(io::VERIFY, 1, 8, 511, 0)), Err(Status::LBA_OUT_OF_RANGE));
    assert_eq!(decoded(&plain(io::VERIFY, 1, 0, 511, 0)), Ok(IoCommand::Verify(range(0, 512))));
    assert_eq!(decoded(&plain(io::WRITE_UNCORRECTABLE, 1, 1, 0, 0)), Ok(IoCommand::WriteUncorrectable(range(1, 1))));
    let ranges = [(1, 2), (9, 0), (500, 12)];
    let deallocate = HostCommand::deallocate(1, &ranges);
    assert_eq!(decoded(&deallocate), Ok(IoCommand::Deallocate(vec![range(1, 2), range(500, 12)])));
    let hints = HostCommand { entry: deallocate.entry.clone().with_cdw(11, 1), ..deallocate.clone() };
    assert_eq!(decoded(&hints), Ok(IoCommand::Deallocate(Vec::new())));
    let short = HostCommand { data: deallocate.data[..47].to_vec(), ..deallocate };
    assert_eq!(decoded(&short), Err(Status::SGL_LENGTH_INVALID));
    assert_eq!(decoded(&HostCommand::deallocate(1, &[(500, 13)])), Err(Status::LBA_OUT_OF_RANGE));
    for opcode in [0x0d, 0x0e, 0x11, 0x15, 0x20, 0xff] {
        assert_eq!(decoded(&plain(opcode, 1, 0, 0, 0)), Err(Status::INVALID_OPCODE), "{opcode:#x}");
    }
}

#[test]
fn copies_are_limited() {
    let expected = |ranges| IoCommand::Copy { ranges, to: 100, fua: false, directive: Directive::None };
    assert_eq!(decoded(&HostCommand::copy(1, &[(0, 2), (8, 32)], 100)), Ok(expected(vec![range(0, 2), range(8, 32)])));
    assert_eq!(decoded(&HostCommand::copy(1, &[(0, 33)], 100)), Err(Status::COMMAND_SIZE_LIMIT_EXCEEDED), "MSSRL");
    assert_eq!(decoded(&HostCommand::copy(1, &[(0, 1); 17], 100)), Err(Status::COMMAND_SIZE_LIMIT_EXCEEDED), "MSRC");
    assert_eq!(decoded(&HostCommand::copy(1, &[(511, 2)], 100)), Err(Status::LBA_OUT_OF_RANGE), "source");
    assert_eq!(decoded(&HostCommand::copy(1, &[(0, 20)], 500)), Err(Status::LBA_OUT_OF_RANGE), "destination");
    assert_eq!(decoded(&HostCommand::copy(2, &[(0, 20)], 60)), Err(Status::ZONE_BOUNDARY_ERROR));
    let copy = HostCommand::copy(1, &[(0, 1)], 100);
    let format = HostCommand { entry: copy.entry.clone().with_cdw(12, 1 << 8), ..copy };
    assert_eq!(decoded(&format), Err(Status::INVALID_FIELD));
}

#[test]
fn directives_are_resolved() {
    let write = |kind, specific| decoded(&HostCommand::write(1, 0, 1, vec![0; 4096]).with_directive(kind, specific));
    let directive = |kind, specific| match write(kind, specific) {
        Ok(IoCommand::Write { directive, .. }) => Ok(directive),
        Ok(other) => panic!("{other:?}"),
        Err(status) => Err(status),
    };
    assert_eq!(directive(0, 9), Ok(Directive::None));
    assert_eq!(directive(1, 0), Ok(Directive::None));
    assert_eq!(directive(1, 4), Ok(Directive::Stream(4)));
    assert_eq!(directive(1, 5), Err(Status::INVALID_FIELD));
    // Reclaim group 1 is the top bit; placement handle 2 has reclaim unit handle 3.
    let placement = |identifier, group, handle| Directive::Placement { identifier, group, handle };
    assert_eq!(directive(2, 2), Ok(placement(2, 0, 3)));
    assert_eq!(directive(2, 0x8001), Ok(placement(0x8001, 1, 1)));
    assert_eq!(directive(2, 3), Ok(Directive::InvalidPlacement(3)));
    assert_eq!(directive(3, 0), Err(Status::INVALID_FIELD));
}

#[test]
fn writes_stay_in_their_zone_and_reads_need_not() {
    let write = |start, blocks: usize| decoded(&HostCommand::write(2, start, blocks as u32, vec![0; blocks * 4096]));
    assert!(write(60, 4).is_ok());
    assert_eq!(write(60, 5), Err(Status::ZONE_BOUNDARY_ERROR));
    assert_eq!(decoded(&plain(io::WRITE_ZEROES, 2, 63, 1, 0)), Err(Status::ZONE_BOUNDARY_ERROR));
    assert!(decoded(&HostCommand::read(2, 60, 5, 20480)).is_ok());
}

#[test]
fn appends_begin_at_a_zone() {
    let append = |zone, blocks: usize| decoded(&HostCommand::append(2, zone, blocks as u32, vec![0; blocks * 4096]));
    let directive = Directive::None;
    assert_eq!(append(64, 3), Ok(IoCommand::Append { zone: 64, blocks: 3, fua: false, directive }));
    assert_eq!(append(65, 3), Err(Status::INVALID_FIELD));
    assert_eq!(append(1024, 1), Err(Status::LBA_OUT_OF_RANGE));
    assert_eq!(append(64, 33), Err(Status::INVALID_FIELD), "ZASL");
    assert_eq!(decoded(&HostCommand::append(1, 0, 1, vec![0; 4096])), Err(Status::INVALID_OPCODE), "no zones");
    let remap = HostCommand::append(2, 64, 1, vec![0; 4096]);
    let remap = HostCommand { entry: remap.entry.clone().with_cdw(12, 1 << 25), ..remap };
    assert_eq!(decoded(&remap), Err(Status::INVALID_PROTECTION_INFORMATION));
}

#[test]
fn zone_management_is_decoded() {
    let send = |start, cdw13| decoded(&plain(io::ZONE_MANAGEMENT_SEND, 2, start, 0, cdw13));
    let command = |action, zones| Ok(IoCommand::ZoneManagement { action, zones });
    let actions = [
        (1, ZoneAction::Close),
        (2, ZoneAction::Finish),
        (3, ZoneAction::Open { random_write_area: false }),
        (3 | 1 << 9, ZoneAction::Open { random_write_area: true }),
        (4, ZoneAction::Reset),
        (5, ZoneAction::Offline),
    ];
    for (bits, action) in actions {
        assert_eq!(send(128, bits), command(action, ZoneSelection::One(128)));
        assert_eq!(send(77, bits | 1 << 8), command(action, ZoneSelection::All), "the block is ignored");
        assert_eq!(send(129, bits), Err(Status::INVALID_FIELD));
        assert_eq!(send(1024, bits), Err(Status::LBA_OUT_OF_RANGE));
    }
    assert_eq!(send(131, 0x11), command(ZoneAction::FlushRandomWriteArea, ZoneSelection::One(131)));
    for invalid in [0, 6, 0x10, 0x11 | 1 << 8, 0xff] {
        assert_eq!(send(128, invalid), Err(Status::INVALID_FIELD), "{invalid:#x}");
    }
    assert_eq!(decoded(&plain(io::ZONE_MANAGEMENT_SEND, 1, 0, 0, 4)), Err(Status::INVALID_OPCODE));
}

#[test]
fn zone_reports_are_decoded() {
    let receive = |start, length: u32, cdw13| {
        let command = plain(io::ZONE_MANAGEMENT_RECEIVE, 2, start, (length / 4).wrapping_sub(1), cdw13);
        decoded(&HostCommand::new(command.entry.with_transport_data(length)))
    };
    let Ok(IoCommand::ZoneReport(report)) = receive(70, 4096, 5 << 8 | 1 << 16) else { panic!("a report") };
    assert_eq!((report.from, report.length, report.partial), (70, 4096, true));
    assert_eq!(report.filter, ZoneFilter::of(ZoneState::Full));
    assert_eq!(receive(70, 60, 0), Err(Status::INVALID_FIELD), "no room for the head");
    assert_eq!(receive(70, 4096, 1), Err(Status::INVALID_FIELD), "extended");
    assert_eq!(receive(70, 4096, 8 << 8), Err(Status::INVALID_FIELD), "filter");
    assert_eq!(receive(1024, 4096, 0), Err(Status::LBA_OUT_OF_RANGE));
    let odd = plain(io::ZONE_MANAGEMENT_RECEIVE, 2, 0, 100, 0);
    let odd = HostCommand::new(odd.entry.with_transport_data(4096));
    assert_eq!(decoded(&odd), Err(Status::SGL_LENGTH_INVALID));
}

#[test]
fn handles_are_asked_for_and_updated() {
    assert_eq!(decoded(&HostCommand::handle_status(1, 112)), Ok(IoCommand::HandleStatus { length: 112 }));
    let status = HostCommand::handle_status(1, 112);
    let other = HostCommand { entry: status.entry.clone().with_cdw(10, 2), ..status };
    assert_eq!(decoded(&other), Err(Status::INVALID_FIELD));
    assert_eq!(decoded(&HostCommand::handle_update(1, &[0, 0x8002])), Ok(IoCommand::HandleUpdate(vec![0, 0x8002])));
    assert_eq!(decoded(&HostCommand::handle_update(1, &[0, 3])), Err(Status::INVALID_FIELD));
    let update = HostCommand::handle_update(1, &[0, 1]);
    let short = HostCommand { data: update.data[..2].to_vec(), ..update };
    assert_eq!(decoded(&short), Err(Status::SGL_LENGTH_INVALID));
}

#[test]
fn without_placement_and_zones_their_commands_are_unknown() {
    let (mut description, config) = (sample_description(), sample_config());
    description.namespaces[0].placement = None;
    let scope = Scope { description: &description, config: &config, streams: false };
    let refused = |command: HostCommand| decode(&scope, &command.entry, &command.data).map_err(Status::bare).err();
    assert_eq!(refused(HostCommand::handle_status(1, 64)), Some(Status::INVALID_OPCODE));
    assert_eq!(refused(HostCommand::handle_update(1, &[0])), Some(Status::INVALID_OPCODE));
    let write = HostCommand::write(1, 0, 1, vec![0; 4096]).with_directive(2, 0);
    let write = HostCommand { entry: write.entry.clone().with_transport_data(4096), ..write };
    assert_eq!(refused(write), Some(Status::INVALID_FIELD));
}

#[test]
fn a_compare_that_differs_has_the_status_of_the_media() {
    let mut target = Target::new(sample_config());
    let _admin = ConnectionPair::admin(&mut target, HostConfig::default());
    let mut link = ConnectionPair::io(&mut target, HostConfig::default(), 1, 1, true);
    let compare = |byte: u8| {
        let entry = SubmissionEntry::new(io::COMPARE).with_namespace(1);
        HostCommand::with_data(entry, vec![byte; 4096])
    };
    assert_eq!(link.run(&mut target, compare(0)).status, Status::SUCCESS);
    assert_eq!(link.run(&mut target, compare(1)).status.bare(), Status::COMPARE_FAILURE);
}

#[test]
fn commands_that_the_drive_does_not_have_are_not_announced_and_refused() {
    use crate::OptionalCommands;
    for has in [true, false] {
        let mut target = Target::new(sample_config());
        let mut description = target.subsystem.description().clone();
        if !has {
            description.sanitize = false;
            description.namespaces.iter_mut().for_each(|namespace| namespace.commands = OptionalCommands::default());
        }
        target.subsystem = crate::Subsystem::new(description, sample_config());
        let mut admin = ConnectionPair::admin(&mut target, HostConfig::default());
        let mut io = ConnectionPair::io(&mut target, HostConfig::default(), 1, 1, true);
        let identify = admin.run(&mut target, HostCommand::identify(1, 0, 0)).data;
        assert_eq!(identify[520] & 0b110, if has { 0b110 } else { 0 }, "ONCS");
        assert_eq!(identify[328], if has { 2 } else { 0 }, "SANICAP");
        let effects = admin.run(&mut target, HostCommand::log_page(5, 0, 0, 4096)).data;
        for at in [4 * 0x84, 1024 + 4 * 0x04, 1024 + 4 * 0x09, 1024 + 4 * 0x1d] {
            assert_eq!(effects[at] & 1, u8::from(has), "effect at {at}");
        }
        let wanted = if has { Status::SUCCESS } else { Status::INVALID_OPCODE };
        let sanitize = HostCommand::new(SubmissionEntry::new(0x84).with_cdw(10, 2));
        let uncorrectable = HostCommand::new(SubmissionEntry::new(0x04).with_namespace(1));
        for command in [uncorrectable, HostCommand::deallocate(1, &[(0, 1)]), HostCommand::handle_update(1, &[0])] {
            assert_eq!(io.run(&mut target, command).status.bare(), wanted);
        }
        assert_eq!(admin.run(&mut target, sanitize).status.bare(), wanted);
    }
}

#[test]
fn a_command_that_one_namespace_has_is_refused_by_the_others() {
    use crate::OptionalCommands;
    let mut target = Target::new(sample_config());
    let mut description = target.subsystem.description().clone();
    description.namespaces[1].commands = OptionalCommands::default();
    target.subsystem = crate::Subsystem::new(description, sample_config());
    let mut admin = ConnectionPair::admin(&mut target, HostConfig::default());
    let mut io = ConnectionPair::io(&mut target, HostConfig::default(), 1, 1, true);
    let identify = admin.run(&mut target, HostCommand::identify(1, 0, 0)).data;
    assert_eq!(identify[520] & 0b100, 0b100, "ONCS");
    assert_eq!(io.run(&mut target, HostCommand::deallocate(1, &[(0, 1)])).status, Status::SUCCESS);
    assert_eq!(io.run(&mut target, HostCommand::deallocate(2, &[(0, 1)])).status.bare(), Status::INVALID_OPCODE);
    // The zoned command set, of which the second namespace is the only one.
    let page = HostCommand::log_page(5, 0, 0, 4096);
    let of_set = |set: u32| HostCommand { entry: page.entry.clone().with_cdw(14, set << 24), ..page.clone() };
    let [plain, zoned] = [0, 2].map(|set| admin.run(&mut target, of_set(set)).data[1024 + 4 * 0x09] & 1);
    assert_eq!((plain, zoned), (1, 0), "effects");
}

#[test]
fn each_drive_is_an_endurance_group() {
    let mut target = Target::new(sample_config());
    let mut admin = ConnectionPair::admin(&mut target, HostConfig::default());
    let groups = admin.run(&mut target, HostCommand::identify(0x19, 0, 0)).data;
    assert_eq!(groups[..6], [2, 0, 1, 0, 2, 0]);
    let page = |page: u8, group: u32| {
        let command = HostCommand::log_page(page, 0, 0, 512);
        let cdw11 = command.entry.cdw(11) | group << 16;
        HostCommand { entry: command.entry.clone().with_cdw(11, cdw11), ..command }
    };
    for (group, capacity) in [(1, 2 << 20), (2, 4_u128 << 20)] {
        let endurance = admin.run(&mut target, page(0x09, group)).data;
        assert_eq!(endurance[160..176], capacity.to_le_bytes(), "TEGCAP of group {group}");
        let namespace = admin.run(&mut target, HostCommand::identify(0, group, 0)).data;
        assert_eq!(namespace[102..104], (group as u16).to_le_bytes(), "ENDGID");
    }
    assert_eq!(admin.run(&mut target, page(0x09, 3)).status.bare(), Status::INVALID_FIELD);
    // The first has Flexible Data Placement.
    assert_eq!(admin.run(&mut target, page(0x20, 1)).status, Status::SUCCESS);
    assert_eq!(admin.run(&mut target, page(0x20, 2)).status.bare(), Status::INVALID_FIELD);
    let enabled = [1, 2].map(|group| admin.run(&mut target, HostCommand::get_features(0x1d, group)).result);
    assert_eq!(enabled, [1, 0]);
}
