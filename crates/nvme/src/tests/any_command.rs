//! Any entry, on an admin queue, a discovery controller's and an I/O queue, gets one response, and the controller goes on.

use proptest::prelude::*;

use crate::entry::{SubmissionEntry, opcode};
use crate::host::{HostCommand, HostConfig};
use crate::samples::{ConnectionPair, ENABLE, Target, connect, sample_config};
use crate::status::Status;

/// An entry of fields that are likely to be valid.
fn entry() -> impl Strategy<Value = (SubmissionEntry, usize)> {
    let opcodes = prop::sample::select(vec![
        0x00, 0x01, 0x02, 0x04, 0x05, 0x06, 0x08, 0x09, 0x0a, 0x0c, 0x0d, 0x10, 0x12, 0x14, 0x15, 0x18, 0x19, 0x1a,
        0x1d, 0x79, 0x7a, 0x7d, 0x7f, 0x80, 0x84,
    ]);
    let small =
        || prop_oneof![0..4_u32, 0..0x200_u32, any::<u32>(), Just(u32::MAX), (0..32_u32).prop_map(|bit| 1 << bit)];
    let dwords = prop::array::uniform6(small());
    let lengths = prop::sample::select(vec![0, 4, 16, 64, 512, 1024, 2048, 4096, 8192, 65536]);
    let namespace = prop_oneof![0..4_u32, Just(u32::MAX), any::<u32>()];
    let parts = (prop_oneof![4 => opcodes, 1 => any::<u8>()], namespace, dwords, lengths, any::<u16>());
    parts.prop_map(|(opcode, namespace, dwords, length, page)| {
        let mut entry = SubmissionEntry::new(opcode).with_namespace(namespace);
        for (i, dword) in dwords.into_iter().enumerate() {
            entry = entry.with_cdw(10 + i, dword);
        }
        let to_host = entry.fabrics_type().unwrap_or(opcode) & 3 == 2;
        // A log page's length is in the command, too.
        if opcode == opcode::admin::GET_LOG_PAGE {
            let last = (length as u32 / 4).wrapping_sub(1);
            entry = entry.with_cdw(10, u32::from(page as u8) | u32::from(page & 0x100) << 7 | (last & 0xffff) << 16);
            entry = entry.with_cdw(11, dwords[1] & 0xffff_0000).with_cdw_pair(12, dwords[2].into());
        }
        if to_host { (entry.with_transport_data(length as u32), 0) } else { (entry, length) }
    })
}

/// Commands that wait: they have no response of their own.
fn waits(entry: &SubmissionEntry, admin: bool) -> bool {
    admin && entry.opcode() == opcode::admin::ASYNC_EVENT_REQUEST
}

fn answer_all(target: &mut Target, link: &mut ConnectionPair, entries: &[(SubmissionEntry, usize)], admin: bool) {
    for (entry, length) in entries {
        // Property Set can reset the controller, which drops all outstanding commands.
        if entry.fabrics_type() == Some(opcode::fabrics::PROPERTY_SET) || waits(entry, admin) {
            continue;
        }
        // As large as a transfer can be: MDTS refuses more before any data are sent.
        let length = (*length).min(target.subsystem.config().transfer() as usize);
        let completion = link.run(target, HostCommand::with_data(entry.clone(), vec![1; length]));
        assert!(link.completions.is_empty(), "{entry:?}");
        assert_eq!(link.end, None, "{entry:?}");
        assert_eq!(link.error, None, "{entry:?}");
        if !completion.status.is_success() {
            assert!(completion.data.is_empty(), "{entry:?}");
        }
        if target.subsystem.description().namespaces.len() != 2 {
            unreachable!("no command changes the namespaces");
        }
        target.subsystem.finish_sanitize(true);
    }
}

proptest! {
    #[test]
    fn any_entry_has_one_response(entries in prop::collection::vec(entry(), 1..40)) {
        let config = HostConfig::default();
        let mut target = Target::new(sample_config());
        let mut admin = ConnectionPair::admin(&mut target, config);
        answer_all(&mut target, &mut admin, &entries, true);
        let mut discovery = ConnectionPair::open(&mut target, config);
        discovery.run(&mut target, HostCommand::connect(&connect(crate::DISCOVERY_NQN)));
        discovery.run(&mut target, HostCommand::property_set(0x14, ENABLE));
        answer_all(&mut target, &mut discovery, &entries, true);
        // The number of queues may have been set to one.
        let mut io = ConnectionPair::io(&mut target, config, 1, 1, false);
        answer_all(&mut target, &mut io, &entries, false);
        let read = io.run(&mut target, HostCommand::read(1, 0, 1, 4096));
        prop_assert_eq!(read.status, Status::SUCCESS);
    }
}
