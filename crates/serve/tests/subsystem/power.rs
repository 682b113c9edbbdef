//! A power cut while hosts are connected.

use nvme::{HostCommand, Status};
use serve::engine::{Command, CutPolicy, Pace};

use super::host::{HostConnection, ServerSettings, SubsystemServer};

#[test]
fn a_cut_drops_every_connection_and_what_was_flushed_is_there_afterwards() {
    let pace: Pace = "0.02".parse().expect("a pace");
    let served = SubsystemServer::new(ServerSettings { pace, ..ServerSettings::default() });
    let (mut admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    let mut other = HostConnection::io(&served, controller, 2);
    io.done(HostCommand::write(1, 0, 64, vec![1; 64 * 512]));
    io.done(HostCommand::flush(None));
    io.done(HostCommand::write(1, 64, 4, vec![2; 4 * 512]).with_fua());
    // Outstanding at the power cut: flushes of buffered data, which take long at this pace.
    io.done(HostCommand::write(1, 128, 64, vec![3; 64 * 512]));
    other.submit(HostCommand::flush(None));
    io.submit(HostCommand::write(1, 0, 64, vec![4; 64 * 512]).with_fua());
    served.engine.command(Command::PowerCut).expect("it was on");
    assert!(admin.is_closed() && io.is_closed() && other.is_closed());
    assert_eq!(io.completions().count() + other.completions().count(), 0, "a drive without power answers nothing");
    // Without power a new connection is closed.
    let mut early = std::net::TcpStream::connect(served.address).expect("the system takes it");
    assert_eq!(std::io::Read::read(&mut early, &mut [0; 1]).unwrap_or(0), 0);
    served.engine.command(Command::PowerOn).expect("it was off");
    let (mut admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    let first = io.done(HostCommand::read(1, 0, 64, 64 * 512)).data;
    for sector in first.as_chunks::<512>().0 {
        assert!(*sector == [1; 512] || *sector == [4; 512], "flushed data, or what came over them");
    }
    assert_eq!(io.done(HostCommand::read(1, 64, 4, 4 * 512)).data, vec![2; 4 * 512]);
    let page = admin.done(HostCommand::log_page(2, 0xffff_ffff, 0, 512)).data;
    assert_eq!((page[112], page[144]), (2, 1), "power cycles and unsafe shutdowns");
}

#[test]
fn zones_have_what_was_answered_when_the_power_is_back() {
    let served = SubsystemServer::of(super::zones::ZONED);
    let (_admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    let addresses = [1, 2, 3].map(|n| io.done(HostCommand::append(1, 64, 2, vec![n; 4096])).result);
    assert_eq!(addresses, [64, 66, 68]);
    io.done(HostCommand::zone_management(1, 2, Some(128)));
    served.engine.command(Command::PowerCut).expect("it was on");
    assert!(io.is_closed());
    served.engine.command(Command::PowerOn).expect("it was off");
    let (_admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    for (n, address) in (1..).zip(addresses) {
        assert_eq!(io.done(HostCommand::read(1, address, 2, 4096)).data, vec![n; 4096]);
    }
    let zones = nvme::zone_descriptors(&io.done(HostCommand::zone_report(1, 64, 192)).data);
    // The next append goes behind the written data.
    assert!(zones[0].write_pointer >= 70, "{:?}", zones[0]);
    assert_eq!(zones[1].state, nvme::ZoneState::Full);
    assert_eq!(io.done(HostCommand::append(1, 64, 1, vec![4; 2048])).result, zones[0].write_pointer);
}

#[test]
fn held_commands_wait_for_the_power_and_a_flush_says_that_writes_were_lost() {
    let served = SubsystemServer::new(ServerSettings { on_cut: CutPolicy::Hold, ..ServerSettings::default() });
    let (mut admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    io.done(HostCommand::write(1, 0, 4, vec![1; 4 * 512]));
    io.done(HostCommand::flush(None));
    io.done(HostCommand::write(1, 0, 4, vec![2; 4 * 512]));
    served.engine.command(Command::PowerCut).expect("it was on");
    let held = io.submit(HostCommand::write(1, 4, 4, vec![3; 4 * 512]));
    // The controller outlives the cut, and its host gets no answer to the write.
    admin.done(HostCommand::keep_alive());
    assert_eq!(io.completions().count(), 0);
    served.engine.command(Command::PowerOn).expect("it was off");
    assert_eq!(io.wait(held).status, Status::SUCCESS);
    assert_eq!(io.fails(HostCommand::flush(None)), Status::POWER_LOSS);
    assert_eq!(served.ended(), Vec::<String>::new());
}
