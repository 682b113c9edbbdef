//! Admin commands: log pages, features, events, maintenance, directives.

use std::time::Duration;

use crate::entry::{SubmissionEntry, opcode};
use crate::host::{Completion, HostCommand, HostConfig};
use crate::samples::{ConnectionPair, ENABLE, Target, connect, sample_config, sample_description};
use crate::status::Status;

fn admin() -> (Target, ConnectionPair) {
    let mut target = Target::new(sample_config());
    let link = ConnectionPair::admin(&mut target, HostConfig::default());
    (target, link)
}

fn u16_at(data: &[u8], offset: usize) -> u16 {
    u16::from_le_bytes([data[offset], data[offset + 1]])
}

fn u128_at(data: &[u8], offset: usize) -> u128 {
    u128::from_le_bytes(data[offset..offset + 16].try_into().expect("sixteen bytes"))
}

/// An admin command with a namespace and dwords 10 and 11.
fn command(opcode: u8, namespace: u32, cdw10: u32, cdw11: u32) -> HostCommand {
    HostCommand::new(SubmissionEntry::new(opcode).with_namespace(namespace).with_cdw(10, cdw10).with_cdw(11, cdw11))
}

fn with_room(command: HostCommand, length: u32) -> HostCommand {
    HostCommand { entry: command.entry.with_transport_data(length), ..command }
}

/// Get Log Page with LSP and RAE in dword 10, and LSI.
fn log(page: u8, namespace: u32, bits: u32, identifier: u16, length: u32) -> HostCommand {
    let HostCommand { entry, data } = HostCommand::log_page(page, namespace, 0, length);
    let (cdw10, cdw11) = (entry.cdw(10) | bits, entry.cdw(11) | u32::from(identifier) << 16);
    HostCommand { entry: entry.with_cdw(10, cdw10).with_cdw(11, cdw11), data }
}

#[test]
fn smart_values_are_where_smart_log_reads_them() {
    let (mut target, mut link) = admin();
    let health = &mut target.drive.health;
    (health.temperature, health.spare, health.spare_threshold, health.used) = (345, 7, 10, 130);
    (health.bytes_read, health.bytes_written, health.media_bytes_written) = (512_001, 1_024_000, 3_000_000_001);
    (health.reads, health.writes, health.power_cycles, health.power_on_hours) = (3, 4, 5, 6);
    (health.unsafe_shutdowns, health.media_errors, health.busy_minutes) = (7, 8, 9);
    let page = link.run(&mut target, HostCommand::log_page(2, u32::MAX, 0, 512)).data;
    assert_eq!(page[..7], [0b11, 0x59, 0x01, 7, 10, 130, 1], "spare and temperature");
    let values: Vec<u128> = (32..192).step_by(16).map(|offset| u128_at(&page, offset)).collect();
    assert_eq!(values, [2, 2, 3, 4, 9, 5, 6, 7, 8, 0]);
    assert_eq!(u16_at(&page, 200), 345);
    let group = link.run(&mut target, log(9, 0, 0, 1, 512)).data;
    assert_eq!(group[..6], [1, 0, 0, 7, 10, 130]);
    assert_eq!((u128_at(&group, 64), u128_at(&group, 80), u128_at(&group, 96)), (1, 4, 3));
    assert_eq!(u128_at(&group, 160), 2 << 20);
    assert_eq!(link.run(&mut target, log(9, 0, 0, 3, 512)).status.bare(), Status::INVALID_FIELD);
    assert_eq!(link.run(&mut target, HostCommand::log_page(2, 9, 0, 512)).status.bare(), Status::INVALID_NAMESPACE);
}

#[test]
fn pages_are_read_in_parts() {
    let (mut target, mut link) = admin();
    let whole = link.run(&mut target, HostCommand::log_page(5, 0, 0, 4096)).data;
    let part = link.run(&mut target, HostCommand::log_page(5, 0, 1020, 16)).data;
    assert_eq!(part, whole[1020..1036]);
    let behind = link.run(&mut target, HostCommand::log_page(5, 0, 4092, 8)).data;
    assert_eq!(behind, [0; 8]);
    for (offset, status) in [(2, Status::INVALID_FIELD), (1 << 40, Status::INVALID_FIELD)] {
        assert_eq!(link.run(&mut target, HostCommand::log_page(5, 0, offset, 8)).status.bare(), status);
    }
    let mut wrong = HostCommand::log_page(5, 0, 0, 16);
    wrong.entry = wrong.entry.with_transport_data(20);
    assert_eq!(link.run(&mut target, wrong).status.bare(), Status::SGL_LENGTH_INVALID);
    for page in [0x07, 0x0c, 0x70, 0x24, 0xc0] {
        let read = link.run(&mut target, HostCommand::log_page(page, 0, 0, 16));
        assert_eq!(read.status.bare(), Status::LOG_PAGE_INVALID, "{page:#x}");
    }
    // Page 0 lists what the other pages answer.
    let supported = link.run(&mut target, HostCommand::log_page(0, 0, 0, 1024)).data;
    for page in 0..=255_u8 {
        let read = link.run(&mut target, log(page, 2, 0, 1, 16));
        assert_eq!(read.status.is_success(), supported[usize::from(page) * 4] == 1, "{page:#x}: {:?}", read.status);
    }
}

#[test]
fn failures_are_in_the_error_log() {
    let (mut target, mut link) = admin();
    let mut io = ConnectionPair::io(&mut target, HostConfig::default(), 1, 3, true);
    let failed = io.run(&mut target, HostCommand::read(2, 1024, 1, 4096));
    assert_eq!(failed.status, Status::LBA_OUT_OF_RANGE.do_not_retry().more());
    let page = link.run(&mut target, HostCommand::log_page(1, 0, 0, 128)).data;
    assert_eq!(page[..8], [1, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!((u16_at(&page, 8), u16_at(&page, 10)), (3, failed.command_id));
    assert_eq!(u16_at(&page, 12), failed.status.field());
    assert_eq!((u16_at(&page, 16), page[24], page[30], page[31]), (1024, 2, 2, opcode::io::READ));
    assert_eq!(page[64..128], [0; 64]);
    // The error log also has failures of the drive.
    io.run(&mut target, HostCommand::write(2, 3, 1, vec![0; 4096]));
    let page = link.run(&mut target, HostCommand::log_page(1, 0, 0, 64)).data;
    assert_eq!((page[0], page[31]), (2, opcode::io::WRITE));
    let smart = link.run(&mut target, HostCommand::log_page(2, 0, 0, 512)).data;
    assert_eq!(u128_at(&smart, 176), 2);
}

#[test]
fn features_are_set_got_and_described() {
    let (mut target, mut link) = admin();
    let select =
        |feature: u8, select: u32| command(opcode::admin::GET_FEATURES, 0, u32::from(feature) | select << 8, 0);
    for (feature, value) in [(0x01, 0x0102_0304), (0x05, 0x77), (0x0a, 1), (0x0b, 0x901)] {
        assert_eq!(link.run(&mut target, HostCommand::set_features(feature, value)).status, Status::SUCCESS);
        assert_eq!(link.run(&mut target, HostCommand::get_features(feature, 0)).result, u64::from(value));
        assert_eq!(link.run(&mut target, select(feature, 1)).result, 0, "the default");
        assert_eq!(link.run(&mut target, select(feature, 3)).result & 0b101, 0b100, "changeable, not saveable");
    }
    let saved = command(opcode::admin::SET_FEATURES, 0, 1 << 31 | 0x0b, 1);
    assert_eq!(link.run(&mut target, saved).status.bare(), Status::FEATURE_NOT_SAVEABLE);
    // Not more queues than there are, and none below one.
    assert_eq!(link.run(&mut target, HostCommand::set_features(7, 9 | 1 << 16)).result, 1 | 1 << 16);
    assert_eq!(link.run(&mut target, HostCommand::set_features(7, 0xffff)).status.bare(), Status::INVALID_FIELD);
    assert_eq!(link.run(&mut target, HostCommand::set_features(7, 99 | 99 << 16)).result, 3 | 3 << 16);
    let _io = ConnectionPair::io(&mut target, HostConfig::default(), 1, 1, true);
    let late = link.run(&mut target, HostCommand::set_features(7, 0));
    assert_eq!(late.status.bare(), Status::COMMAND_SEQUENCE_ERROR);
    assert_eq!(link.run(&mut target, HostCommand::get_features(6, 0)).result, 1, "the write cache");
    assert_eq!(link.run(&mut target, HostCommand::set_features(6, 0)).status, Status::SUCCESS);
    assert_eq!(link.run(&mut target, HostCommand::get_features(6, 0)).result, 0);
    assert_eq!(link.run(&mut target, HostCommand::set_features(2, 1)).status, Status::SUCCESS);
    assert_eq!(link.run(&mut target, HostCommand::set_features(2, 2)).status.bare(), Status::INVALID_FIELD);
    // The host memory buffer, interrupts, thermal management and vendor features are not there.
    for feature in [0x0d, 0x08, 0x09, 0x10, 0x03, 0xc0] {
        assert_eq!(link.run(&mut target, HostCommand::get_features(feature, 0)).status.bare(), Status::INVALID_FIELD);
        assert_eq!(link.run(&mut target, HostCommand::set_features(feature, 0)).status.bare(), Status::INVALID_FIELD);
    }
    let identifier = with_room(command(opcode::admin::GET_FEATURES, 0, 0x81, 1), 16);
    assert_eq!(link.run(&mut target, identifier).data, [7; 16]);
    let set = link.run(&mut target, HostCommand::set_features(0x81, 1));
    assert_eq!(set.status.bare(), Status::COMMAND_SEQUENCE_ERROR);
}

#[test]
fn the_timestamp_goes_on() {
    let (mut target, mut link) = admin();
    let mut set = HostCommand::set_features(0x0e, 0);
    set.data = vec![0x10, 0x27, 0, 0, 0, 1, 0, 0];
    assert_eq!(link.run(&mut target, set).status, Status::SUCCESS);
    target.now = Duration::from_millis(1234);
    let get = with_room(HostCommand::get_features(0x0e, 0), 8);
    let value = 10_000 + 1234_u16;
    let [low, high] = value.to_le_bytes();
    assert_eq!(link.run(&mut target, get).data, [low, high, 0, 0, 0, 1, 2, 0]);
    let short = HostCommand { data: vec![1; 4], ..HostCommand::set_features(0x0e, 0) };
    assert_eq!(link.run(&mut target, short).status.bare(), Status::SGL_LENGTH_INVALID);
}

#[test]
fn temperature_thresholds_raise_events_once() {
    let (mut target, mut link) = admin();
    link.run(&mut target, HostCommand::set_features(0x0b, 0b10));
    assert_eq!(link.run(&mut target, HostCommand::get_features(4, 0)).result, 343, "the warning temperature");
    link.run(&mut target, HostCommand::set_features(4, 320));
    link.host.submit_as(900, HostCommand::event_request());
    link.pump(&mut target);
    let check = |target: &mut Target, link: &mut ConnectionPair, temperature: u16| -> Option<u64> {
        target.drive.health.temperature = temperature;
        let Target { subsystem, drive, .. } = target;
        subsystem.check_health(drive);
        link.session.poll(subsystem);
        link.pump(target);
        link.completions.pop().map(|Completion { result, .. }| result)
    };
    assert_eq!(check(&mut target, &mut link, 319), None);
    assert_eq!(check(&mut target, &mut link, 320), Some(1 | 1 << 8 | 2 << 16));
    link.host.submit_as(901, HostCommand::event_request());
    assert_eq!(check(&mut target, &mut link, 330), None, "the page was not read");
    link.run(&mut target, log(2, u32::MAX, 1 << 15, 0, 512));
    assert_eq!(check(&mut target, &mut link, 330), None, "it was read without clearing the event");
    link.run(&mut target, HostCommand::log_page(2, u32::MAX, 0, 512));
    assert_eq!(check(&mut target, &mut link, 330), Some(1 | 1 << 8 | 2 << 16));
}

#[test]
fn changed_zones_and_namespaces_are_told_to_who_asked() {
    let (mut target, mut link) = admin();
    link.run(&mut target, HostCommand::set_features(0x0b, 1 << 27 | 1 << 8));
    link.host.submit_as(900, HostCommand::event_request());
    link.host.submit_as(901, HostCommand::event_request());
    link.pump(&mut target);
    target.subsystem.note_zone_changed(2, 128);
    target.subsystem.note_zone_changed(2, 64);
    let mut grown = sample_description().namespaces;
    grown[0].blocks = 400;
    target.subsystem.set_namespaces(grown);
    link.session.poll(&mut target.subsystem);
    link.pump(&mut target);
    let results: Vec<u64> = link.completions.drain(..).map(|completion| completion.result).collect();
    assert_eq!(results, [2 | 0xef << 8 | 0xbf << 16 | 2 << 32, 2 | 4 << 16]);
    let zones = link.run(&mut target, HostCommand::log_page(0xbf, 2, 0, 4096)).data;
    assert_eq!(zones[..24], [2, 0, 0, 0, 0, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 128, 0, 0, 0, 0, 0, 0, 0]);
    assert_eq!(link.run(&mut target, HostCommand::log_page(0xbf, 2, 0, 4096)).data, [0; 4096], "read once");
    let unzoned = link.run(&mut target, HostCommand::log_page(0xbf, 1, 0, 4096));
    assert_eq!(unzoned.status.bare(), Status::INVALID_NAMESPACE);
    let namespaces = link.run(&mut target, HostCommand::log_page(4, 0, 0, 4096)).data;
    assert_eq!(namespaces[..8], [1, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn event_requests_are_limited_and_can_be_aborted() {
    let (mut target, mut link) = admin();
    (900..904).for_each(|id| link.host.submit_as(id, HostCommand::event_request()));
    let limited = link.run(&mut target, HostCommand::event_request());
    assert_eq!(limited.status.bare(), Status::ASYNC_EVENT_LIMIT_EXCEEDED);
    let abort = |id: u32| command(opcode::admin::ABORT, 0, id << 16, 0);
    let aborted = link.run(&mut target, abort(902));
    assert_eq!((aborted.status, aborted.result), (Status::SUCCESS, 0));
    let ended = link.completions.pop().expect("the request ended");
    assert_eq!((ended.command_id, ended.status), (902, Status::ABORT_REQUESTED));
    let missing = link.run(&mut target, abort(902));
    assert_eq!((missing.status, missing.result), (Status::SUCCESS, 1), "not aborted");
}

#[test]
fn format_and_sanitize_erase() {
    let (mut target, mut link) = admin();
    let mut io = ConnectionPair::io(&mut target, HostConfig::default(), 1, 1, true);
    let mut fill = |target: &mut Target| {
        io.run(target, HostCommand::write(1, 0, 1, vec![1; 4096]));
        io.run(target, HostCommand::append(2, 0, 1, vec![1; 4096]));
        let mut read = |namespace| io.run(target, HostCommand::read(namespace, 0, 1, 4096)).data[0];
        (read(1), read(2))
    };
    let format = |namespace, cdw10| command(opcode::admin::FORMAT_NVM, namespace, cdw10, 0);
    assert_eq!(fill(&mut target), (1, 1));
    assert_eq!(link.run(&mut target, format(2, 1 << 9)).status, Status::SUCCESS);
    let read = |target: &mut Target, link: &mut ConnectionPair, namespace| {
        let read = link.run(target, HostCommand::read(namespace, 0, 1, 4096));
        (read.status.bare(), read.data.first().copied())
    };
    let mut second = ConnectionPair::io(&mut target, HostConfig::default(), 1, 2, true);
    assert_eq!(read(&mut target, &mut second, 1).1, Some(1));
    assert_eq!(read(&mut target, &mut second, 2).1, Some(0));
    for (cdw10, status) in
        [(1, Status::FORMAT_INVALID), (1 << 5, Status::FORMAT_INVALID), (2 << 9, Status::INVALID_FIELD)]
    {
        assert_eq!(link.run(&mut target, format(1, cdw10)).status.bare(), status);
    }
    assert_eq!(link.run(&mut target, format(7, 0)).status.bare(), Status::INVALID_NAMESPACE);
    let sanitize = |action| command(opcode::admin::SANITIZE, 0, action, 0);
    assert_eq!(link.run(&mut target, sanitize(3)).status.bare(), Status::INVALID_FIELD, "overwrite");
    assert_eq!(link.run(&mut target, sanitize(2)).status, Status::SUCCESS);
    assert_eq!(read(&mut target, &mut second, 1), (Status::SANITIZE_IN_PROGRESS, None));
    let state = |target: &mut Target, link: &mut ConnectionPair| {
        let page = link.run(target, HostCommand::log_page(0x81, 0, 0, 32)).data;
        (u16_at(&page, 0), u16_at(&page, 2), page[4])
    };
    assert_eq!(state(&mut target, &mut link), (0, 2, 2));
    assert_eq!(link.run(&mut target, format(1, 0)).status.bare(), Status::SANITIZE_IN_PROGRESS);
    target.subsystem.finish_sanitize(true);
    assert_eq!(state(&mut target, &mut link), (u16::MAX, 1, 2));
    assert_eq!(read(&mut target, &mut second, 1), (Status::SUCCESS, Some(0)));
}

#[test]
fn a_self_test_takes_its_time() {
    let (mut target, mut link) = admin();
    let test = |code| command(opcode::admin::DEVICE_SELF_TEST, u32::MAX, code, 0);
    let page = |target: &mut Target, link: &mut ConnectionPair, seconds: u64| {
        target.now = Duration::from_secs(seconds);
        link.run(target, HostCommand::log_page(6, 0, 0, 564)).data
    };
    assert_eq!(link.run(&mut target, test(1)).status, Status::SUCCESS);
    assert_eq!(link.run(&mut target, test(2)).status.bare(), Status::SELF_TEST_IN_PROGRESS);
    assert_eq!(page(&mut target, &mut link, 3)[..5], [1, 30, 0, 0, 0xf]);
    assert_eq!(page(&mut target, &mut link, 10)[..5], [0, 0, 0, 0, 0x10]);
    link.run(&mut target, test(2));
    assert_eq!(link.run(&mut target, test(0xf)).status, Status::SUCCESS);
    let listed = page(&mut target, &mut link, 11);
    assert_eq!((listed[4], listed[4 + 28], listed[4 + 56]), (0x21, 0x10, 0xf));
    assert_eq!(link.run(&mut target, test(3)).status.bare(), Status::INVALID_FIELD);
}

#[test]
fn commands_that_the_drive_does_not_have_are_refused() {
    let (mut target, mut link) = admin();
    let refused = [
        opcode::admin::CREATE_IO_SQ,
        opcode::admin::DELETE_IO_SQ,
        opcode::admin::NAMESPACE_MANAGEMENT,
        opcode::admin::NAMESPACE_ATTACHMENT,
        opcode::admin::FIRMWARE_COMMIT,
        opcode::admin::FIRMWARE_DOWNLOAD,
        0x7c,
        0x81,
        0x82,
        0xc0,
    ];
    for opcode in refused {
        assert_eq!(
            link.run(&mut target, command(opcode, 1, 0, 0)).status.bare(),
            Status::INVALID_OPCODE,
            "{opcode:#x}"
        );
    }
    let mut discovery = ConnectionPair::open(&mut target, HostConfig::default());
    discovery.run(&mut target, HostCommand::connect(&connect(crate::DISCOVERY_NQN)));
    discovery.run(&mut target, HostCommand::property_set(0x14, ENABLE));
    for opcode in [opcode::admin::FORMAT_NVM, opcode::admin::SANITIZE, opcode::admin::DIRECTIVE_SEND] {
        let status = discovery.run(&mut target, command(opcode, 1, 0, 0)).status;
        assert_eq!(status.bare(), Status::INVALID_OPCODE);
    }
    assert_eq!(discovery.run(&mut target, HostCommand::identify(0, 1, 0)).status.bare(), Status::INVALID_FIELD);
    let log = discovery.run(&mut target, HostCommand::log_page(2, 0, 0, 512));
    assert_eq!(log.status.bare(), Status::LOG_PAGE_INVALID);
}

#[test]
fn placement_is_described_and_stays_enabled() {
    let (mut target, mut link) = admin();
    let configurations = link.run(&mut target, log(0x20, 0, 0, 1, 96)).data;
    assert_eq!(configurations[..8], [0, 0, 0, 0, 96, 0, 0, 0]);
    // Size, attributes (valid, cache, one bit of reclaim group), groups, handles, identifiers less one, namespaces.
    assert_eq!(configurations[16..24], [80, 0, 0x91, 0, 2, 0, 0, 0]);
    assert_eq!(configurations[24..32], [4, 0, 2, 0, 1, 0, 0, 0]);
    assert_eq!(configurations[32..40], (1_u64 << 20).to_le_bytes());
    assert_eq!(configurations[80..84], [1, 0, 0, 0], "initially isolated");
    assert_eq!(link.run(&mut target, log(0x21, 0, 0, 1, 16)).data[..9], [4, 0, 0, 0, 0, 0, 0, 0, 1]);
    assert_eq!(link.run(&mut target, log(0x22, 0, 0, 1, 64)).status, Status::SUCCESS);
    assert_eq!(link.run(&mut target, log(0x20, 0, 0, 2, 64)).status.bare(), Status::INVALID_FIELD);
    let set = |enabled: u32| {
        let command = HostCommand::set_features(0x1d, 1);
        HostCommand { entry: command.entry.with_cdw(12, enabled), ..command }
    };
    assert_eq!(link.run(&mut target, set(1)).status, Status::SUCCESS);
    assert_eq!(link.run(&mut target, set(0)).status.bare(), Status::COMMAND_SEQUENCE_ERROR);
    // Events of placement handle 1: reallocation and invalid identifiers are enabled.
    let access = |opcode, count: u32, cdw12| {
        let entry = SubmissionEntry::new(opcode).with_namespace(1).with_cdw(10, 0x1e);
        HostCommand::new(entry.with_cdw(11, 1 | count << 16).with_cdw(12, cdw12))
    };
    let events = HostCommand { data: vec![0x80, 0x03], ..access(opcode::admin::SET_FEATURES, 2, 1) };
    assert_eq!(link.run(&mut target, events).status, Status::SUCCESS);
    let get = link.run(&mut target, with_room(access(opcode::admin::GET_FEATURES, 255, 0), 510));
    assert_eq!((get.result, get.data), (6, vec![0, 0, 1, 0, 2, 0, 3, 1, 0x80, 1, 0x81, 0]));
}

#[test]
fn streams_are_enabled_allocated_and_released() {
    let (mut target, mut link) = admin();
    let mut io = ConnectionPair::io(&mut target, HostConfig::default(), 1, 1, true);
    let stream = |id| HostCommand::write(1, 0, 1, vec![0; 4096]).with_directive(1, id);
    assert_eq!(io.run(&mut target, stream(3)).status.bare(), Status::INVALID_FIELD, "not enabled");
    let send = |kind: u32, operation: u32, cdw12| {
        let command = command(opcode::admin::DIRECTIVE_SEND, 1, 0, operation | kind << 8);
        HostCommand { entry: command.entry.with_cdw(12, cdw12), ..command }
    };
    let receive = |kind: u32, operation: u32, cdw12, length| {
        let command = command(opcode::admin::DIRECTIVE_RECEIVE, 1, 0, operation | kind << 8);
        with_room(HostCommand { entry: command.entry.with_cdw(12, cdw12), ..command }, length)
    };
    let directives = link.run(&mut target, receive(0, 1, 0, 4096)).data;
    assert_eq!((directives[0], directives[32]), (0b111, 0b101));
    assert_eq!(link.run(&mut target, send(0, 1, 1 | 1 << 8)).status, Status::SUCCESS);
    assert_eq!(link.run(&mut target, receive(1, 3, 9, 0)).result, 4, "all that there are");
    assert_eq!(io.run(&mut target, stream(3)).status, Status::SUCCESS);
    assert_eq!(io.run(&mut target, stream(5)).status.bare(), Status::INVALID_FIELD, "more than there are");
    let parameters = link.run(&mut target, receive(1, 1, 0, 32)).data;
    assert_eq!(parameters[..6], [4, 0, 0, 0, 1, 0]);
    assert_eq!(parameters[16..26], [16, 0, 0, 0, 1, 0, 4, 0, 1, 0]);
    assert_eq!(link.run(&mut target, receive(1, 2, 0, 64)).data, [1, 0, 3, 0]);
    assert_eq!(link.run(&mut target, send(1, 1 | 3 << 16, 0)).status, Status::SUCCESS);
    assert_eq!(link.run(&mut target, receive(1, 2, 0, 64)).data, [0; 4], "a multiple of four bytes");
    assert_eq!(link.run(&mut target, send(2, 1, 0)).status.bare(), Status::INVALID_FIELD);
}

#[test]
fn a_host_without_all_command_sets_sees_no_zones() {
    let mut target = Target::new(sample_config());
    let mut link = ConnectionPair::open(&mut target, HostConfig::default());
    link.run(&mut target, HostCommand::connect(&connect(crate::samples::NQN)));
    link.run(&mut target, HostCommand::property_set(0x14, ENABLE & !(7 << 4)));
    let list = |link: &mut ConnectionPair, target: &mut Target| {
        crate::host::namespace_list(&link.run(target, HostCommand::identify(2, 0, 0)).data)
    };
    assert_eq!(list(&mut link, &mut target), [1]);
    assert_eq!(link.run(&mut target, HostCommand::identify(0, 2, 0)).data, [0; 4096]);
    let mut modern = ConnectionPair::admin(&mut target, HostConfig::default());
    assert_eq!(list(&mut modern, &mut target), [1, 2]);
    let zoned = modern.run(&mut target, HostCommand::identify(7, 0, 2)).data;
    assert_eq!(crate::host::namespace_list(&zoned), [2]);
    let sets = modern.run(&mut target, HostCommand::identify(0x1c, 0, 0)).data;
    assert_eq!(sets[..9], [0b101, 0, 0, 0, 0, 0, 0, 0, 0]);
    for (cns, namespace, set, status) in [
        (0x00, 0, 0, Status::INVALID_NAMESPACE),
        (0x00, 3, 0, Status::INVALID_NAMESPACE),
        (0x02, u32::MAX, 0, Status::INVALID_NAMESPACE),
        (0x03, 3, 0, Status::INVALID_NAMESPACE),
        (0x05, 1, 2, Status::INVALID_FIELD),
        (0x06, 0, 1, Status::INVALID_FIELD),
        (0x14, 0, 0, Status::INVALID_FIELD),
    ] {
        let identify = modern.run(&mut target, HostCommand::identify(cns, namespace, set));
        assert_eq!(identify.status.bare(), status, "{cns:#x}");
    }
}
