//! A subsystem with zones.

use nvme::{HostCommand, Status, SubmissionEntry, ZoneDescriptor, ZoneState, opcode, zone_descriptors};
use serve::Disk;

use super::host::{HostConnection, SubsystemServer};

pub(super) const ZONED: &str = r#"name = "zoned"
flash = { part = "dirik-2009", channels = 2, chips = 2, blocks = 40, pages = 16 }
ftl = { kind = "zns", map-unit = "2KiB", zns = { max-open = 4, max-active = 6 } }
"#;

/// Bytes of a block, which is a mapping unit.
const BLOCK: usize = 2048;

/// The actions of Zone Management Send.
const CLOSE: u8 = 1;
const FINISH: u8 = 2;
const OPEN: u8 = 3;
const RESET: u8 = 4;
const OFFLINE: u8 = 5;

fn blocks(byte: u8, count: u32) -> Vec<u8> {
    vec![byte; BLOCK * count as usize]
}

fn report(io: &mut HostConnection, from: u64) -> Vec<ZoneDescriptor> {
    zone_descriptors(&io.done(HostCommand::zone_report(1, from, 4096)).data)
}

/// Two queues of a drive with zones, and the size of a zone in blocks.
fn zoned() -> (SubsystemServer, [HostConnection; 2], u64) {
    let served = SubsystemServer::of(ZONED);
    let (mut admin, controller) = HostConnection::admin(&served);
    let format = admin.done(HostCommand::identify(5, 1, 2)).data;
    let size = u64::from_le_bytes(format[2816..2824].try_into().expect("eight bytes"));
    let io = HostConnection::io(&served, controller, 1);
    (served, [admin, io], size)
}

#[test]
fn a_host_finds_zones_with_their_size_and_limits() {
    let (served, [mut admin, mut io], size) = zoned();
    let zoned = admin.done(HostCommand::identify(5, 1, 2)).data;
    assert_eq!((zoned[4], zoned[8]), (5, 3), "MAR and MOR, less one");
    let namespace =
        nvme::IdentifiedNamespace::from_bytes(&admin.done(HostCommand::identify(0, 1, 0)).data).expect("whole");
    assert_eq!(namespace.block_shift, 11);
    assert_eq!(namespace.blocks, served.engine.capacity().get() / 4);
    let zones = report(&mut io, 0);
    assert_eq!(zones.len() as u64, (namespace.blocks / size).min(63));
    assert!(zones.iter().enumerate().all(|(n, zone)| zone.start == n as u64 * size && zone.state == ZoneState::Empty));
    assert_eq!(admin.done(HostCommand::identify(1, 0, 0)).data[520] & 4, 0, "no Dataset Management");
    assert_eq!(io.fails(HostCommand::deallocate(1, &[(0, 1)])), Status::INVALID_OPCODE);
}

#[test]
fn appends_tell_their_addresses_and_reports_follow() {
    let (_served, [_admin, mut io], size) = zoned();
    let ids: Vec<u16> = (1..5_u32).map(|n| io.submit(HostCommand::append(1, size, n, blocks(n as u8, n)))).collect();
    let mut next = size;
    for (n, id) in (1..5_u16).zip(ids) {
        let completion = io.wait(id);
        assert_eq!((completion.status, completion.result), (Status::SUCCESS, next));
        next += u64::from(n);
    }
    let read = io.done(HostCommand::read(1, size, 10, 10 * BLOCK as u32)).data;
    let wanted: Vec<u8> = (1..5).flat_map(|n| blocks(n, u32::from(n))).collect();
    assert_eq!(read, wanted);
    let zone = report(&mut io, size)[0];
    assert_eq!((zone.state, zone.write_pointer), (ZoneState::ImplicitlyOpened, size + 10));
    io.done(HostCommand::write(1, next, 1, blocks(9, 1)));
    assert_eq!(report(&mut io, size + 3)[0].write_pointer, size + 11);
}

#[test]
fn zones_go_through_their_states_and_failures_have_their_codes() {
    let (_served, [_admin, mut io], size) = zoned();
    assert_eq!(io.fails(HostCommand::write(1, 1, 1, blocks(1, 1))), Status::ZONE_INVALID_WRITE);
    assert_eq!(io.fails(HostCommand::write(1, size - 1, 2, blocks(1, 2))), Status::ZONE_BOUNDARY_ERROR);
    assert_eq!(io.fails(HostCommand::zone_management(1, CLOSE, Some(0))), Status::INVALID_ZONE_STATE_TRANSITION);
    assert_eq!(io.fails(HostCommand::zone_management(1, OFFLINE, Some(0))), Status::INVALID_ZONE_STATE_TRANSITION);
    io.done(HostCommand::zone_management(1, OFFLINE, None));
    io.done(HostCommand::zone_management(1, FINISH, Some(0)));
    assert_eq!(io.fails(HostCommand::write(1, 0, 1, blocks(1, 1))), Status::ZONE_IS_FULL);
    (1..5).for_each(|zone| _ = io.done(HostCommand::zone_management(1, OPEN, Some(zone * size))));
    assert_eq!(io.fails(HostCommand::zone_management(1, OPEN, Some(5 * size))), Status::TOO_MANY_OPEN_ZONES);
    (1..5).for_each(|zone| _ = io.done(HostCommand::write(1, zone * size, 1, blocks(zone as u8, 1))));
    io.done(HostCommand::zone_management(1, CLOSE, None));
    (5..7).for_each(|zone| _ = io.done(HostCommand::write(1, zone * size, 1, blocks(zone as u8, 1))));
    assert_eq!(io.fails(HostCommand::append(1, 7 * size, 1, blocks(7, 1))), Status::TOO_MANY_ACTIVE_ZONES);
    let states: Vec<ZoneState> = report(&mut io, 0).iter().map(|zone| zone.state).take(8).collect();
    use ZoneState::{Closed, Empty, Full, ImplicitlyOpened};
    assert_eq!(states, [Full, Closed, Closed, Closed, Closed, ImplicitlyOpened, ImplicitlyOpened, Empty]);
    // A report of the zones in one state, and the number of these zones.
    let closed = SubmissionEntry::new(opcode::io::ZONE_MANAGEMENT_RECEIVE).with_namespace(1);
    let closed = closed.with_cdw(12, 4096 / 4 - 1).with_cdw(13, 4 << 8).with_transport_data(4096);
    let data = io.done(HostCommand::new(closed)).data;
    assert_eq!(u64::from_le_bytes(data[..8].try_into().expect("eight")), 4);
    io.done(HostCommand::zone_management(1, RESET, Some(2 * size)));
    assert_eq!(report(&mut io, 2 * size)[0].state, ZoneState::Empty);
    assert_eq!(io.done(HostCommand::read(1, 2 * size, 1, BLOCK as u32)).data, blocks(0, 1));
    io.done(HostCommand::zone_management(1, RESET, None));
    assert!(report(&mut io, 0).iter().all(|zone| zone.state == ZoneState::Empty));
}

#[test]
fn copy_and_zeroes_go_behind_the_write_pointer_and_format_empties_all_zones() {
    let (_served, [mut admin, mut io], size) = zoned();
    io.done(HostCommand::write(1, 0, 2, blocks(5, 2)));
    io.done(HostCommand::copy(1, &[(0, 2), (1, 1)], size));
    io.done(HostCommand::write_zeroes(1, size + 3, 4));
    assert_eq!(io.fails(HostCommand::copy(1, &[(0, 1)], size + 3)), Status::ZONE_INVALID_WRITE);
    let read = io.done(HostCommand::read(1, size, 7, 7 * BLOCK as u32)).data;
    assert_eq!(read, [blocks(5, 3), blocks(0, 4)].concat());
    admin.done(HostCommand::new(SubmissionEntry::new(opcode::admin::FORMAT_NVM).with_namespace(1)));
    assert!(report(&mut io, 0).iter().all(|zone| zone.state == ZoneState::Empty));
}

#[test]
fn a_random_write_area_is_written_anywhere_and_flushed() {
    let served = SubsystemServer::of(&ZONED.replace("max-active = 6", "max-active = 6, zrwa = { size = \"32KiB\" }"));
    let (mut admin, controller) = HostConnection::admin(&served);
    let zoned = admin.done(HostCommand::identify(5, 1, 2)).data;
    assert_eq!((zoned[2] & 2, u16::from_le_bytes([zoned[50], zoned[51]])), (2, 16), "OZCS and ZRWASZ");
    let mut io = HostConnection::io(&served, controller, 1);
    let open =
        SubmissionEntry::new(opcode::io::ZONE_MANAGEMENT_SEND).with_namespace(1).with_cdw(13, u32::from(OPEN) | 1 << 9);
    io.done(HostCommand::new(open));
    io.done(HostCommand::write(1, 3, 1, blocks(1, 1)));
    io.done(HostCommand::write(1, 0, 3, blocks(2, 3)));
    io.done(HostCommand::write(1, 3, 1, blocks(3, 1)));
    assert_eq!(report(&mut io, 0)[0].write_pointer, 0);
    let flush = SubmissionEntry::new(opcode::io::ZONE_MANAGEMENT_SEND).with_namespace(1);
    io.done(HostCommand::new(flush.with_cdw_pair(10, 3).with_cdw(13, 0x11)));
    assert!(report(&mut io, 0)[0].write_pointer >= 4);
    let read = io.done(HostCommand::read(1, 0, 4, 4 * BLOCK as u32)).data;
    assert_eq!(read, [blocks(2, 3), blocks(3, 1)].concat());
}
