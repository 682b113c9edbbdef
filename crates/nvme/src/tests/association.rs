//! Associations: Connect and its refusals, properties, keep alive, resets, shutdown.

use std::time::Duration;

use crate::connection::End;
use crate::entry::{SubmissionEntry, opcode};
use crate::host::{Completion, ConnectRequest, HostCommand, HostConfig};
use crate::samples::{ConnectionPair, ENABLE, NQN, Target, connect, sample_config};
use crate::status::Status;

fn target() -> Target {
    Target::new(sample_config())
}

/// Sends a Connect on a fresh connection.
fn try_connect(target: &mut Target, request: &ConnectRequest) -> Completion {
    let mut link = ConnectionPair::open(target, HostConfig::default());
    link.run(target, HostCommand::connect(request))
}

/// A refusal for a wrong parameter: its offset, and whether it is in the data.
fn assert_invalid(completion: &Completion, offset: u64, in_data: bool) {
    assert_eq!(completion.status, Status::CONNECT_INVALID_PARAMETERS.do_not_retry());
    assert_eq!(completion.result, offset | u64::from(in_data) << 16);
}

#[test]
fn wrong_parameters_of_an_admin_connect_are_named() {
    let mut target = target();
    let good = connect(NQN);
    let change = |change: &dyn Fn(&mut ConnectRequest)| {
        let mut request = good.clone();
        change(&mut request);
        request
    };
    assert_invalid(&try_connect(&mut target, &change(&|r| r.entries = 1)), 44, false);
    assert_invalid(&try_connect(&mut target, &change(&|r| r.entries = 33)), 44, false);
    assert_invalid(&try_connect(&mut target, &change(&|r| r.controller = 5)), 16, true);
    assert_invalid(&try_connect(&mut target, &change(&|r| r.subsystem_nqn = "nqn.other".to_owned())), 256, true);
    assert_invalid(&try_connect(&mut target, &change(&|r| r.subsystem_nqn = String::new())), 256, true);
    assert_invalid(&try_connect(&mut target, &change(&|r| r.host_nqn = "x".repeat(256))), 512, true);
    let mut format = HostCommand::connect(&good);
    format.entry = format.entry.with_cdw(10, 1);
    let mut link = ConnectionPair::open(&mut target, HostConfig::default());
    assert_eq!(link.run(&mut target, format).status.bare(), Status::CONNECT_INCOMPATIBLE_FORMAT);
    let mut short = HostCommand::connect(&good);
    short.data.truncate(1000);
    assert_eq!(link.run(&mut target, short).status.bare(), Status::SGL_LENGTH_INVALID);
    // After all that the same connection may try again.
    assert_eq!(link.run(&mut target, HostCommand::connect(&good)).status, Status::SUCCESS);
    assert_eq!(target.subsystem.controllers().count(), 1);
}

#[test]
fn wrong_parameters_of_an_io_connect_are_named() {
    let mut target = target();
    let mut admin = ConnectionPair::open(&mut target, HostConfig::default());
    admin.run(&mut target, HostCommand::connect(&connect(NQN)));
    let io = ConnectRequest { queue: 1, controller: 1, keep_alive: 0, ..connect(NQN) };
    assert_eq!(try_connect(&mut target, &io).status.bare(), Status::COMMAND_SEQUENCE_ERROR, "not enabled");
    admin.run(&mut target, HostCommand::property_set(0x14, ENABLE));
    assert_invalid(&try_connect(&mut target, &ConnectRequest { controller: 2, ..io.clone() }), 16, true);
    assert_invalid(&try_connect(&mut target, &ConnectRequest { queue: 5, ..io.clone() }), 42, false);
    assert_invalid(&try_connect(&mut target, &ConnectRequest { entries: 0, ..io.clone() }), 44, false);
    assert_invalid(&try_connect(&mut target, &ConnectRequest { host_id: [8; 16], ..io.clone() }), 512, true);
    let other = ConnectRequest { subsystem_nqn: crate::DISCOVERY_NQN.to_owned(), ..io.clone() };
    assert_invalid(&try_connect(&mut target, &other), 256, true);
    let mut link = ConnectionPair::open(&mut target, HostConfig::default());
    assert_eq!(link.run(&mut target, HostCommand::connect(&io)).result, 1);
    assert_invalid(&try_connect(&mut target, &io), 42, false);
    assert_eq!(link.run(&mut target, HostCommand::connect(&io)).status.bare(), Status::COMMAND_SEQUENCE_ERROR);
    // The queue can be connected again once its connection is gone.
    link.session.close(&mut target.subsystem);
    assert_eq!(try_connect(&mut target, &io).status, Status::SUCCESS);
}

#[test]
fn only_listed_hosts_may_connect_and_find_the_subsystem() {
    let mut target = target();
    let mut description = target.subsystem.description().clone();
    description.access.hosts = Some(vec!["nqn.2014-08.org.nvmexpress:uuid:other".to_owned()]);
    target.subsystem = crate::Subsystem::new(description, sample_config());
    assert_eq!(try_connect(&mut target, &connect(NQN)).status.bare(), Status::CONNECT_INVALID_HOST);
    let mut discovery = ConnectionPair::open(&mut target, HostConfig::default());
    discovery.run(&mut target, HostCommand::connect(&connect(crate::DISCOVERY_NQN)));
    discovery.run(&mut target, HostCommand::property_set(0x14, ENABLE));
    let page = discovery.run(&mut target, HostCommand::log_page(0x70, 0, 0, 2048));
    assert_eq!(page.data[8..16], [0; 8], "no records");
}

#[test]
fn controllers_are_limited_and_their_identifiers_return_late() {
    let mut target = target();
    let mut links: Vec<ConnectionPair> =
        (0..8).map(|_| ConnectionPair::admin(&mut target, HostConfig::default())).collect();
    assert_eq!(try_connect(&mut target, &connect(NQN)).status, Status::CONNECT_CONTROLLER_BUSY);
    links.remove(2).session.close(&mut target.subsystem);
    assert_eq!(try_connect(&mut target, &connect(NQN)).result, 9);
    let ids: Vec<u16> = target.subsystem.controllers().map(|(id, _)| id).collect();
    assert_eq!(ids, [1, 2, 4, 5, 6, 7, 8, 9]);
    let listed = links[0].run(&mut target, HostCommand::identify(0x13, 0, 0)).data;
    assert_eq!(listed[..8], [8, 0, 1, 0, 2, 0, 4, 0]);
}

#[test]
fn before_connect_no_other_command_is_taken() {
    let mut target = target();
    let mut link = ConnectionPair::open(&mut target, HostConfig::default());
    for command in [HostCommand::property_get(0, true), HostCommand::identify(1, 0, 0), HostCommand::flush(None)] {
        assert_eq!(link.run(&mut target, command).status.bare(), Status::COMMAND_SEQUENCE_ERROR);
    }
    link.run(&mut target, HostCommand::connect(&connect(NQN)));
    // Before it is enabled, a controller has properties only.
    assert_eq!(link.run(&mut target, HostCommand::identify(1, 0, 0)).status.bare(), Status::COMMAND_SEQUENCE_ERROR);
    assert_eq!(link.run(&mut target, HostCommand::property_get(0x1c, false)).result, 0);
}

#[test]
fn properties_belong_to_the_admin_queue() {
    let mut target = target();
    let mut admin = ConnectionPair::admin(&mut target, HostConfig::default());
    let mut io = ConnectionPair::io(&mut target, HostConfig::default(), 1, 1, true);
    assert_eq!(io.run(&mut target, HostCommand::property_get(0x1c, false)).status.bare(), Status::INVALID_OPCODE);
    for (offset, eight_bytes) in [(0, false), (0x08, true), (0x18, false), (0x20, false)] {
        let read = admin.run(&mut target, HostCommand::property_get(offset, eight_bytes));
        assert_eq!(read.status.bare(), Status::INVALID_FIELD, "{offset:#x}");
    }
    for kind in [opcode::fabrics::AUTHENTICATION_SEND, opcode::fabrics::DISCONNECT, 0x7f] {
        let command = HostCommand::new(SubmissionEntry::fabrics(kind));
        assert_eq!(admin.run(&mut target, command).status.bare(), Status::INVALID_OPCODE);
    }
}

#[test]
fn a_silent_host_loses_its_controller_and_any_command_keeps_it() {
    let mut target = target();
    let mut admin = ConnectionPair::admin(&mut target, HostConfig::default());
    let mut io = ConnectionPair::io(&mut target, HostConfig::default(), 1, 1, true);
    assert_eq!(target.subsystem.deadline(), Some(Duration::from_secs(5)));
    target.now = Duration::from_secs(4);
    io.run(&mut target, HostCommand::flush(None));
    assert_eq!(target.subsystem.deadline(), Some(Duration::from_secs(9)));
    target.now = Duration::from_secs(8);
    admin.run(&mut target, HostCommand::keep_alive());
    target.subsystem.expire(Duration::from_secs(12));
    assert_eq!(io.session.poll(&mut target.subsystem), None);
    // Set Features changes the timeout, in steps of 100 ms.
    admin.run(&mut target, HostCommand::set_features(0x0f, 250));
    assert_eq!(admin.run(&mut target, HostCommand::get_features(0x0f, 0)).result, 300);
    target.subsystem.expire(Duration::from_millis(8301));
    assert_eq!(io.session.poll(&mut target.subsystem), Some(End::KeepAliveExpired));
    assert_eq!(admin.session.poll(&mut target.subsystem), Some(End::KeepAliveExpired));
    assert_eq!(target.subsystem.deadline(), None);
    // An I/O queue cannot join it any more.
    let request = ConnectRequest { queue: 2, controller: 1, ..connect(NQN) };
    assert_invalid(&try_connect(&mut target, &request), 16, true);
    admin.session.close(&mut target.subsystem);
    assert_eq!(target.subsystem.controllers().count(), 0);
}

#[test]
fn without_a_timeout_a_host_may_be_silent() {
    let mut target = target();
    let request = ConnectRequest { keep_alive: 0, ..connect(NQN) };
    let mut link = ConnectionPair::open(&mut target, HostConfig::default());
    link.run(&mut target, HostCommand::connect(&request));
    assert_eq!(target.subsystem.deadline(), None);
    target.subsystem.expire(Duration::MAX);
    assert_eq!(link.session.poll(&mut target.subsystem), None);
}

#[test]
fn a_reset_ends_the_io_queues_and_what_the_host_has_set() {
    let mut target = target();
    let mut admin = ConnectionPair::admin(&mut target, HostConfig::default());
    let mut io = ConnectionPair::io(&mut target, HostConfig::default(), 1, 1, true);
    admin.run(&mut target, HostCommand::set_features(0x0b, 0x100));
    admin.host.submit_as(500, HostCommand::event_request());
    admin.pump(&mut target);
    assert_eq!(admin.session.connection().outstanding(), 1);
    admin.run(&mut target, HostCommand::property_set(0x14, ENABLE & !1));
    assert_eq!(io.session.poll(&mut target.subsystem), Some(End::Reset));
    assert_eq!(admin.session.connection().outstanding(), 0, "the event request is gone");
    assert_eq!(admin.run(&mut target, HostCommand::property_get(0x1c, false)).result, 0);
    admin.run(&mut target, HostCommand::property_set(0x14, ENABLE));
    assert_eq!(admin.run(&mut target, HostCommand::get_features(0x0b, 0)).result, 0);
    // The old session does not take the new one's place away.
    let mut again = ConnectionPair::io(&mut target, HostConfig::default(), 1, 1, true);
    io.session.close(&mut target.subsystem);
    assert_eq!(again.run(&mut target, HostCommand::flush(None)).status, Status::SUCCESS);
}

#[test]
fn with_the_admin_queue_goes_the_controller() {
    let mut target = target();
    let admin = ConnectionPair::admin(&mut target, HostConfig::default());
    let mut io = ConnectionPair::io(&mut target, HostConfig::default(), 1, 1, true);
    admin.session.close(&mut target.subsystem);
    assert_eq!(io.session.poll(&mut target.subsystem), Some(End::Reset));
    let (taken, request) = io.session.receive(&[4; 8], &mut target.subsystem, &target.drive, target.now);
    assert_eq!((taken, request), (0, Some(crate::SessionRequest::End(End::Reset))));
}
