//! Flexible Data Placement.

use base::io::IoKind;
use nvme::{HostCommand, Status, SubmissionEntry, opcode};
use serve::engine::Command;
use serve::record::RecordingTarget;
use workload::trace::TraceOptions;
use workload::{Arrival, Source};

use super::host::{HostConnection, ServerSettings, SubsystemServer, field, group_page};

const PLACED: &str = r#"name = "placed"
flash = { part = "dirik-2009", channels = 2, chips = 2, blocks = 40, pages = 16, controllers = "none" }
ftl = { map-unit = "2KiB", over-provisioning = "40%", superblock-dies = 4, fdp = { handles = 4 } }
"#;

const STREAMS: &str = r#"name = "streams"
flash = { part = "dirik-2009", channels = 2, chips = 2, blocks = 40, pages = 16, controllers = "none" }
ftl = { map-unit = "2KiB", over-provisioning = "40%", streams = { host = { policy = "placement-id", streams = 4 } } }
"#;

/// A write of 64 blocks by a placement identifier.
fn write(start: u64, identifier: u16) -> HostCommand {
    HostCommand::write(1, start, 64, vec![identifier as u8; 64 * 512]).with_directive(2, identifier)
}

/// Placement identifiers with the remaining blocks of their reclaim units.
fn handles(io: &mut HostConnection) -> Vec<(u16, u64)> {
    let data = io.done(HostCommand::handle_status(1, 16 + 32 * 4)).data;
    let count = usize::from(u16::from_le_bytes([data[14], data[15]]));
    let one = |descriptor: &[u8]| {
        let blocks = descriptor[8..16].try_into().expect("eight bytes");
        (u16::from_le_bytes([descriptor[0], descriptor[1]]), u64::from_le_bytes(blocks))
    };
    data[16..].chunks_exact(32).take(count).map(one).collect()
}

#[test]
fn writes_by_handle_fill_its_reclaim_unit_and_are_counted() {
    let served = SubsystemServer::of(PLACED);
    let (mut admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    let configurations = admin.done(group_page(0x20, 512)).data;
    let unit = u64::from_le_bytes(configurations[16 + 16..16 + 24].try_into().expect("eight bytes"));
    // Four dies with a block of 64 pages, or of as many as the device has, of 2 KiB.
    assert_eq!(unit, 4 * 16 * 2048, "a reclaim unit");
    let before = handles(&mut io);
    assert_eq!(before, (0..4).map(|handle| (handle, unit / 512)).collect::<Vec<_>>());
    io.done(write(0, 1));
    io.done(write(64, 1));
    io.done(write(128, 3));
    io.done(HostCommand::flush(None));
    let after = handles(&mut io);
    let taken: Vec<u64> = before.iter().zip(&after).map(|(before, after)| before.1 - after.1).collect();
    assert_eq!(taken, [0, 128, 0, 64]);
    let statistics = admin.done(group_page(0x22, 64)).data;
    assert_eq!((field(&statistics, 0), field(&statistics, 16)), (192 * 512, 192 * 512), "host and media bytes");
}

#[test]
fn a_handle_update_gives_a_new_reclaim_unit_and_is_recorded() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("updates.parquet");
    let record = Some(RecordingTarget { path: path.clone(), force: false, inputs: Vec::new() });
    let served = SubsystemServer::new(ServerSettings { device: PLACED, record, ..ServerSettings::default() });
    let (mut admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    let unit = handles(&mut io)[0].1;
    io.done(write(0, 1));
    io.done(write(64, 3));
    assert_eq!(handles(&mut io)[1].1, unit - 64);
    io.done(HostCommand::handle_update(1, &[1, 2]));
    let remaining: Vec<u64> = handles(&mut io).iter().map(|handle| handle.1).collect();
    assert_eq!(remaining, [unit, unit, unit, unit - 64], "handle 3 keeps its reclaim unit");
    assert_eq!(host_events(&mut admin), (1, 0, 0, 1), "one reclaim unit not fully written, of handle 1");
    io.done(write(128, 1));
    assert_eq!(handles(&mut io)[1].1, unit - 64);
    assert_eq!(io.fails(HostCommand::handle_update(1, &[4])), Status::INVALID_FIELD);
    served.engine.command(Command::PowerCut).expect("it was on");
    served.engine.command(Command::PowerOn).expect("it was off");
    let (_admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    for (start, byte) in [(0, 1), (64, 3), (128, 1)] {
        assert_eq!(io.done(HostCommand::read(1, start, 64, 64 * 512)).data, vec![byte; 64 * 512]);
    }
    served.stop().record.expect("it was asked for").unwrap_or_else(|error| panic!("{error}"));
    let mut source = workload::trace::open(&path, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut updates = Vec::new();
    while let Some(Arrival { io, .. }) = source.next().unwrap_or_else(|error| panic!("{error}")) {
        if io.kind == IoKind::HandleUpdate {
            updates.push(io.placement.get());
        }
    }
    assert_eq!(updates, [1, 2]);
}

/// The number of host events in the log, and the type, the identifier and the handle of the first event.
fn host_events(admin: &mut HostConnection) -> (u32, u8, u16, u8) {
    // Bit 8 of dword 10: events of the host.
    let mut command = group_page(0x23, 512);
    command.entry = command.entry.clone().with_cdw(10, command.entry.cdw(10) | 1 << 8);
    let data = admin.done(command).data;
    let count = u32::from_le_bytes(data[..4].try_into().expect("four bytes"));
    (count, data[64], u16::from_le_bytes([data[66], data[67]]), data[64 + 34])
}

#[test]
fn an_invalid_identifier_is_an_event_and_no_failure() {
    let served = SubsystemServer::of(PLACED);
    let (mut admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    assert_eq!(host_events(&mut admin).0, 0);
    // Four mapping units.
    io.done(HostCommand::write(1, 0, 16, vec![9; 16 * 512]).with_directive(2, 9));
    assert_eq!(host_events(&mut admin), (1, 3, 9, 0), "one event, an invalid placement identifier");
}

#[test]
fn streams_are_those_of_the_drive() {
    let dir = tempfile::tempdir().expect("a folder");
    let path = dir.path().join("streams.parquet");
    let record = Some(RecordingTarget { path: path.clone(), force: false, inputs: Vec::new() });
    let served = SubsystemServer::new(ServerSettings { device: STREAMS, record, ..ServerSettings::default() });
    let (mut admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    let write = |start, stream| HostCommand::write(1, start, 64, vec![1; 64 * 512]).with_directive(1, stream);
    assert_eq!(io.fails(write(0, 2)), Status::INVALID_FIELD, "the directive is not enabled");
    // Enables it: operation 1 of the identify directive, with the streams directive in bits 15:8 of dword 12.
    let enable = SubmissionEntry::new(opcode::admin::DIRECTIVE_SEND).with_namespace(1).with_cdw(11, 1);
    admin.done(HostCommand::new(enable.with_cdw(12, 1 | 1 << 8)));
    io.done(write(0, 2));
    io.done(write(64, 3));
    io.done(HostCommand::write(1, 128, 64, vec![1; 64 * 512]));
    assert_eq!(io.fails(write(0, 4)), Status::INVALID_FIELD, "the drive has streams 1 to 3");
    served.stop().record.expect("it was asked for").unwrap_or_else(|error| panic!("{error}"));
    let mut source = workload::trace::open(&path, &TraceOptions::default()).unwrap_or_else(|error| panic!("{error}"));
    let mut placements = Vec::new();
    while let Some(Arrival { io, .. }) = source.next().unwrap_or_else(|error| panic!("{error}")) {
        placements.push(io.placement.get());
    }
    assert_eq!(placements, [2, 3, 0]);
}
