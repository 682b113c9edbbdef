//! Two drives as namespaces of one subsystem: one without zones, one with zones.

use nvme::{HostCommand, Status};
use serve::Disk;
use serve::engine::Command;

use super::host::{HostConnection, ServerSettings, SubsystemServer};
use super::zones::ZONED;

fn served() -> SubsystemServer {
    SubsystemServer::new(ServerSettings { second: Some(ZONED), ..ServerSettings::default() })
}

#[test]
fn each_drive_is_a_namespace_with_data_of_its_own() {
    let served = served();
    let (mut admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    let list = admin.done(HostCommand::identify(2, 0, 0)).data;
    assert_eq!(list[..12], [1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    let [first, second] = [1, 2].map(|id| admin.done(HostCommand::identify(3, id, 0)).data);
    // NGUID, UUID and the identifier of the command set.
    assert!(first[4..20] != second[4..20] && first[24..40] != second[24..40]);
    assert_eq!((first[44], second[44]), (0, 2));
    // One connection has outstanding commands for both namespaces, answered in any order.
    let write = io.submit(HostCommand::write(1, 64, 4, vec![1; 4 * 512]));
    let append = io.submit(HostCommand::append(2, 64, 1, vec![2; 2048]));
    let done = [append, write].map(|id| io.wait(id).status);
    assert_eq!(done, [Status::SUCCESS; 2]);
    io.done(HostCommand::flush(None));
    assert_eq!(io.done(HostCommand::read(1, 64, 4, 4 * 512)).data, vec![1; 4 * 512]);
    assert_eq!(io.done(HostCommand::read(2, 64, 1, 2048)).data, vec![2; 2048]);
    assert_eq!(io.done(HostCommand::read(2, 0, 1, 2048)).data, vec![0; 2048]);
    // Only the second namespace has the commands for zones.
    assert_eq!(io.fails(HostCommand::append(1, 64, 1, vec![2; 512])), Status::INVALID_OPCODE);
    assert_eq!(io.fails(HostCommand::read(3, 0, 1, 512)), Status::INVALID_NAMESPACE);
    // Each namespace has counters of its own, and the SMART page has the sums.
    let bytes = |page: &[u8], at: usize| u128::from_le_bytes(page[at..at + 16].try_into().expect("16 bytes"));
    let smart = admin.done(HostCommand::log_page(2, 0xffff_ffff, 0, 512)).data;
    assert_eq!((bytes(&smart, 64), bytes(&smart, 80)), (3, 2), "host reads and writes");
    let [one, two] = [1_u32, 2].map(|group| {
        let page = HostCommand::log_page(9, 0, 0, 512);
        let cdw11 = page.entry.cdw(11) | group << 16;
        let page = HostCommand { entry: page.entry.clone().with_cdw(11, cdw11), ..page };
        let page = admin.done(page).data;
        (bytes(&page, 96), bytes(&page, 112))
    });
    assert_eq!((one, two), ((1, 1), (2, 1)), "host reads and writes of each endurance group");
    // Formatting one namespace leaves the other as it is.
    admin.done(HostCommand::new(nvme::SubmissionEntry::new(0x80).with_namespace(2)));
    assert_eq!(io.done(HostCommand::read(2, 64, 1, 2048)).data, vec![0; 2048]);
    assert_eq!(io.done(HostCommand::read(1, 64, 4, 4 * 512)).data, vec![1; 4 * 512]);
}

#[test]
fn the_subsystem_is_away_until_all_drives_have_power() {
    let served = served();
    let (mut admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    io.done(HostCommand::write(1, 64, 4, vec![1; 4 * 512]));
    io.done(HostCommand::append(2, 64, 1, vec![2; 2048]));
    // A flush of all namespaces makes data in every buffer durable.
    io.done(HostCommand::flush(None));
    let second = served.second.as_ref().expect("two drives");
    for engine in [&served.engine, second] {
        engine.command(Command::PowerCut).expect("it was on");
    }
    assert!(admin.is_closed() && io.is_closed());
    served.engine.command(Command::PowerOn).expect("it was off");
    let mut early = std::net::TcpStream::connect(served.address).expect("the system takes it");
    assert_eq!(std::io::Read::read(&mut early, &mut [0; 1]).unwrap_or(0), 0, "the second has no power");
    second.command(Command::PowerOn).expect("it was off");
    let (mut admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    assert_eq!(io.done(HostCommand::read(1, 64, 4, 4 * 512)).data, vec![1; 4 * 512]);
    assert_eq!(io.done(HostCommand::read(2, 64, 1, 2048)).data, vec![2; 2048]);
    let page = admin.done(HostCommand::log_page(2, 0xffff_ffff, 0, 512)).data;
    assert_eq!((page[112], page[144]), (2, 1), "power cycles and unsafe shutdowns: the subsystem lost its power once");
}

#[test]
fn blocks_may_be_larger_than_mapping_units() {
    let served =
        SubsystemServer::new(ServerSettings { block_shift: 12, second: Some(ZONED), ..ServerSettings::default() });
    let (mut admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    // LBADS of the format in use.
    let [first, second] = [1, 2].map(|id| admin.done(HostCommand::identify(0, id, 0)).data[130]);
    assert_eq!((first, second), (12, 11), "zones have blocks of a mapping unit");
    io.done(HostCommand::write(1, 3, 2, vec![1; 8192]));
    io.done(HostCommand::deallocate(1, &[(4, 1)]));
    let read = io.done(HostCommand::read(1, 2, 3, 12288)).data;
    assert_eq!([&read[..4096], &read[4096..8192], &read[8192..]].map(|block| block[0]), [0, 1, 0]);
    assert_eq!(io.fails(HostCommand::read(1, served.engine.capacity().get() / 8, 1, 4096)), Status::LBA_OUT_OF_RANGE);
}

#[test]
fn a_write_cache_that_is_off_is_off_for_both() {
    let served = SubsystemServer::new(ServerSettings { second: Some(super::host::SMALL), ..ServerSettings::default() });
    let (mut admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    io.done(HostCommand::write(2, 0, 4, vec![1; 4 * 512]));
    admin.done(HostCommand::set_features(6, 0));
    io.done(HostCommand::write(1, 8, 4, vec![2; 4 * 512]));
    let second = served.second.as_ref().expect("two drives");
    for engine in [&served.engine, second] {
        engine.command(Command::PowerCut).expect("it was on");
    }
    for engine in [&served.engine, second] {
        engine.command(Command::PowerOn).expect("it was off");
    }
    let (_admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    assert_eq!(io.done(HostCommand::read(2, 0, 4, 4 * 512)).data, vec![1; 4 * 512]);
    assert_eq!(io.done(HostCommand::read(1, 8, 4, 4 * 512)).data, vec![2; 4 * 512]);
}
