//! Controllers: discovery, refusals, health, events, keep alive, shutdown.

use nvme::{DISCOVERY_NQN, HostCommand, HostConfig, Status, discovery_records, opcode};
use serve::engine::Pace;

use super::host::{
    ENABLE, HOST_NQN, HostConnection, SMALL, ServerSettings, SubsystemServer, connect, group_page, patient, smart,
};

#[test]
fn discovery_names_the_subsystem_and_its_port() {
    let served = SubsystemServer::small();
    let mut discovery = HostConnection::open(served.address, HostConfig::default());
    discovery.done(HostCommand::connect(&connect(DISCOVERY_NQN, 0, u16::MAX)));
    discovery.done(HostCommand::property_set(0x14, ENABLE));
    let records = discovery_records(&discovery.done(HostCommand::log_page(0x70, 0, 0, 2048)).data);
    assert_eq!(records.len(), 1);
    assert_eq!((records[0].transport, &records[0].nqn), (3, &served.nqn));
    assert_eq!((records[0].address.as_str(), &records[0].service), ("127.0.0.1", &served.address.port().to_string()));
}

#[test]
fn hosts_that_are_not_listed_are_refused() {
    let other = "nqn.2014-08.org.nvmexpress:uuid:other".to_owned();
    let served = SubsystemServer::new(ServerSettings { hosts: Some(vec![other.clone()]), ..ServerSettings::default() });
    let mut link = HostConnection::open(served.address, HostConfig::default());
    let refused = link.run(HostCommand::connect(&connect(&served.nqn, 0, u16::MAX)));
    assert_eq!(refused.status.bare(), Status::CONNECT_INVALID_HOST);
    let listed = nvme::ConnectRequest { host_nqn: other, ..connect(&served.nqn, 0, u16::MAX) };
    link.done(HostCommand::connect(&listed));
    assert!(HOST_NQN != listed.host_nqn);
}

#[test]
fn controllers_and_queues_have_their_limits() {
    let limits = nvme_limits(2, 2);
    let served = SubsystemServer::new(ServerSettings { limits, ..ServerSettings::default() });
    let (_first, controller) = HostConnection::admin(&served);
    let (second, _) = HostConnection::admin(&served);
    let mut third = HostConnection::open(served.address, HostConfig::default());
    let request = HostCommand::connect(&connect(&served.nqn, 0, u16::MAX));
    assert_eq!(third.fails(request.clone()), Status::CONNECT_CONTROLLER_BUSY);
    let mut io = HostConnection::open(served.address, HostConfig::default());
    let refused = io.fails(HostCommand::connect(&connect(&served.nqn, 3, controller)));
    assert_eq!(refused, Status::CONNECT_INVALID_PARAMETERS);
    io.done(HostCommand::connect(&connect(&served.nqn, 2, controller)));
    // The place of a controller that has ended is free again.
    drop(second);
    served.await_end("the host has gone");
    third.done(request);
}

fn nvme_limits(controllers: u16, io_queues: u16) -> serve::nvme_tcp::NvmeLimits {
    serve::nvme_tcp::NvmeLimits { controllers, io_queues, ..patient() }
}

#[test]
fn health_follows_what_the_host_writes_and_reads() {
    let served = SubsystemServer::small();
    let (mut admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    let page = admin.done(HostCommand::log_page(2, 0xffff_ffff, 0, 512)).data;
    assert_eq!(page[0], 0, "no critical warning");
    assert_eq!(page[1..3], [0, 0], "the drive has no thermal model");
    assert_eq!(page[3], 100, "spare");
    assert_eq!(smart(&mut admin), [0; 4]);
    for n in 0..5 {
        io.done(HostCommand::write(1, n * 1000, 1000, vec![n as u8; 512_000]));
    }
    io.done(HostCommand::read(1, 0, 1000, 512_000));
    assert_eq!(smart(&mut admin), [1, 5, 1, 5]);
    // Log page 09h has the bytes that the media wrote.
    io.done(HostCommand::flush(None));
    let group = admin.done(group_page(9, 512)).data;
    assert!(super::host::field(&group, 80) >= 1, "media units written");
}

#[test]
fn wear_is_counted_and_not_assumed() {
    let served = SubsystemServer::of(&SMALL.replace(
        "flash = { part = \"dirik-2009\",",
        "flash = { custom-part = { like = \"dirik-2009\", endurance = 4 },",
    ));
    let (mut admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    let used = |admin: &mut HostConnection| admin.done(HostCommand::log_page(2, 0xffff_ffff, 0, 512)).data[5];
    assert_eq!(used(&mut admin), 0);
    for _ in 0..8 {
        let capacity = serve::Disk::capacity(&served.engine).get();
        for start in (0..capacity - 1024).step_by(1024) {
            io.done(HostCommand::write(1, start, 1024, vec![1; 512 << 10]));
        }
    }
    io.done(HostCommand::flush(None));
    assert!(used(&mut admin) > 50, "blocks rated for four cycles were erased several times: {}", used(&mut admin));
}

#[test]
fn a_write_cache_that_is_switched_off_holds_nothing_back() {
    let served = SubsystemServer::small();
    let (mut admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    assert_eq!(admin.done(HostCommand::get_features(6, 0)).result, 1);
    admin.done(HostCommand::set_features(6, 0));
    io.done(HostCommand::write(1, 0, 1, vec![7; 512]));
    served.engine.command(serve::engine::Command::PowerCut).expect("it was on");
    served.engine.command(serve::engine::Command::PowerOn).expect("it was off");
    let (_admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    assert_eq!(io.done(HostCommand::read(1, 0, 1, 512)).data, vec![7; 512]);
}

#[test]
fn power_states_are_the_drives() {
    let states =
        "power = { controller = { active = '1W', idle = '1W' }, operational = [{ power = '3W' }, { power = '2W' }] }\n";
    let served = SubsystemServer::of(&format!("{SMALL}{states}"));
    let (mut admin, _) = HostConnection::admin(&served);
    let identify = admin.done(HostCommand::identify(1, 0, 0)).data;
    assert_eq!(identify[263], 1, "NPSS");
    assert_eq!(identify[2048..2050], 300_u16.to_le_bytes(), "3 W in hundredths");
    admin.done(HostCommand::set_features(2, 1));
    assert_eq!(admin.done(HostCommand::get_features(2, 0)).result & 0x1f, 1);
    assert_eq!(admin.fails(HostCommand::set_features(2, 2)), Status::INVALID_FIELD);
}

#[test]
fn a_silent_host_loses_its_controller_and_another_queue_learns_it() {
    let served = SubsystemServer::small();
    let request = nvme::ConnectRequest { keep_alive: 200, ..connect(&served.nqn, 0, u16::MAX) };
    let (mut admin, controller) = HostConnection::admin_with(&served, request);
    let mut io = HostConnection::io(&served, controller, 1);
    served.await_end("keep alive timeout has passed");
    assert!(admin.is_closed() && io.is_closed());
}

#[test]
fn a_shutdown_flushes_the_drive() {
    // At this pace the flush takes a while.
    let pace: Pace = "0.05".parse().expect("a pace");
    let served = SubsystemServer::new(ServerSettings { pace, ..ServerSettings::default() });
    let (mut admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    io.done(HostCommand::write(1, 0, 8, vec![5; 4096]));
    admin.done(HostCommand::property_set(0x14, ENABLE | 1 << 14));
    while admin.done(HostCommand::property_get(0x1c, false)).result >> 2 & 3 != 2 {}
    served.engine.command(serve::engine::Command::PowerCut).expect("it was on");
    served.engine.command(serve::engine::Command::PowerOn).expect("it was off");
    let (_admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    assert_eq!(io.done(HostCommand::read(1, 0, 8, 4096)).data, vec![5; 4096]);
}

#[test]
fn an_event_reaches_a_host_that_waits_for_it() {
    let served = SubsystemServer::small();
    let (mut admin, _) = HostConnection::admin(&served);
    let id = admin.submit(HostCommand::event_request());
    let abort = nvme::SubmissionEntry::new(opcode::admin::ABORT).with_cdw(10, u32::from(id) << 16);
    admin.done(HostCommand::new(abort));
    assert_eq!(admin.wait(id).status.bare(), Status::ABORT_REQUESTED);
}
