//! The features that NVMe base 2.0 (section 3.1.2), NVM 1.0, ZNS 1.1 and TP4146 make mandatory for a controller for I/O
//! of NVMe over Fabrics: each is announced, is carried out, and is listed on the page on NVMe.

use crate::entry::{
    SubmissionEntry,
    opcode::{admin, io},
};
use crate::host::{HostCommand, HostConfig};
use crate::samples::{ConnectionPair, ENABLE, Target, sample_config};
use crate::status::Status;

/// A mandatory feature: its name, and a command of a host that needs it.
type NamedCommand = (&'static str, HostCommand);

fn fabrics() -> Vec<NamedCommand> {
    vec![
        ("Property Get", HostCommand::property_get(0, true)),
        ("Property Set", HostCommand::property_set(0x14, ENABLE)),
    ]
}

fn admin_commands() -> Vec<NamedCommand> {
    vec![
        ("Get Log Page", HostCommand::log_page(1, 0, 0, 64)),
        ("Identify", HostCommand::identify(1, 0, 0)),
        ("Abort", HostCommand::new(SubmissionEntry::new(admin::ABORT).with_cdw(10, 9 << 16))),
        ("Set Features", HostCommand::set_features(0x0b, 0)),
        ("Get Features", HostCommand::get_features(0x07, 0)),
        ("Keep Alive", HostCommand::keep_alive()),
    ]
}

fn nvm_commands() -> Vec<NamedCommand> {
    vec![
        ("Flush", HostCommand::flush(Some(1))),
        ("Write", HostCommand::write(1, 0, 1, vec![1; 4096])),
        ("Read", HostCommand::read(1, 0, 1, 4096)),
    ]
}

fn zone_commands() -> Vec<NamedCommand> {
    vec![
        ("Zone Management Send", HostCommand::zone_management(2, 3, Some(0))),
        ("Zone Management Receive", HostCommand::zone_report(2, 0, 128)),
    ]
}

fn placement_commands() -> Vec<NamedCommand> {
    vec![
        ("I/O Management Receive", HostCommand::handle_status(1, 64)),
        ("I/O Management Send", HostCommand::handle_update(1, &[0])),
    ]
}

/// Log pages of controllers for I/O, and of those with Flexible Data Placement.
const LOG_PAGES: [u8; 6] = [0x00, 0x01, 0x02, 0x03, 0x05, 0x12];
const PLACEMENT_LOG_PAGES: [u8; 4] = [0x20, 0x21, 0x22, 0x23];
/// Features of controllers for I/O.
const FEATURES: [u8; 8] = [0x01, 0x02, 0x04, 0x05, 0x07, 0x0a, 0x0b, 0x0f];
const PLACEMENT_FEATURES: [u8; 2] = [0x1d, 0x1e];

#[test]
fn mandatory_commands_are_announced_and_carried_out() {
    let mut target = Target::new(sample_config());
    let mut link = ConnectionPair::admin(&mut target, HostConfig::default());
    let mut queue = ConnectionPair::io(&mut target, HostConfig::default(), 1, 1, true);
    let mut page = |set: u32| {
        let page = HostCommand::log_page(5, 0, 0, 4096);
        let entry = page.entry.clone().with_cdw(14, set << 24);
        link.run(&mut target, HostCommand { entry, ..page }).data
    };
    let effects = [page(0), page(2)];
    let is_announced = |first: usize, set: usize, command: &HostCommand| {
        effects[set][first + 4 * usize::from(command.entry.opcode())] & 1 != 0
    };
    let mut check = |link: &mut ConnectionPair, all: Vec<NamedCommand>, first: Option<usize>, set: usize| {
        for (name, command) in all {
            if let Some(first) = first {
                assert!(is_announced(first, set, &command), "{name}");
            }
            let status = link.run(&mut target, command).status;
            // Nothing waits that Abort could end.
            assert_eq!(status, Status::SUCCESS, "{name}");
        }
    };
    check(&mut link, fabrics(), None, 0);
    check(&mut link, admin_commands(), Some(0), 0);
    check(&mut queue, nvm_commands(), Some(1024), 0);
    check(&mut queue, zone_commands(), Some(1024), 1);
    check(&mut queue, placement_commands(), Some(1024), 0);
    for set in [0, 1] {
        for opcode in [io::FLUSH, io::WRITE, io::READ] {
            assert!(is_announced(1024, set, &HostCommand::new(SubmissionEntry::new(opcode))), "{opcode:#x}");
        }
    }
    assert!(is_announced(0, 0, &HostCommand::event_request()), "Asynchronous Event Request");
}

#[test]
fn mandatory_log_pages_and_features_are_announced_and_there() {
    let mut target = Target::new(sample_config());
    let mut link = ConnectionPair::admin(&mut target, HostConfig::default());
    let [pages, features] =
        [0x00, 0x12].map(|page| link.run(&mut target, HostCommand::log_page(page, 0, 0, 1024)).data);
    let of_group = |command: HostCommand, bits: u32| {
        let cdw11 = command.entry.cdw(11) | bits;
        HostCommand { entry: command.entry.clone().with_cdw(11, cdw11), ..command }
    };
    for page in LOG_PAGES.into_iter().chain(PLACEMENT_LOG_PAGES) {
        assert_eq!(pages[4 * usize::from(page)] & 1, 1, "log page {page:#x}");
        let group = if page >= 0x20 { 1 << 16 } else { 0 };
        let read = link.run(&mut target, of_group(HostCommand::log_page(page, 0, 0, 512), group));
        assert_eq!(read.status, Status::SUCCESS, "log page {page:#x}");
    }
    for feature in FEATURES.into_iter().chain(PLACEMENT_FEATURES) {
        assert_eq!(features[4 * usize::from(feature)] & 1, 1, "feature {feature:#x}");
        let get = HostCommand::get_features(feature, u32::from(feature == 0x1d));
        let get = HostCommand { entry: get.entry.clone().with_namespace(1), ..get };
        assert_eq!(link.run(&mut target, get).status, Status::SUCCESS, "feature {feature:#x}");
    }
}
