//! A host and a subsystem talk: commands of all kinds, with digests and without, in any pieces.

use proptest::prelude::*;

use crate::host::{HostCommand, HostConfig, zone_descriptors};
use crate::io::ZoneState;
use crate::pdu::Digests;
use crate::samples::{ConnectionPair, Target, sample_config};
use crate::status::Status;

fn digests(header: bool, data: bool) -> HostConfig {
    HostConfig { digests: Digests { header, data }, ..HostConfig::default() }
}

fn pattern(blocks: usize, seed: u8) -> Vec<u8> {
    (0..blocks * 4096).map(|i| (i / 512 + i % 7) as u8 ^ seed).collect()
}

#[test]
fn data_come_back_by_capsule_and_by_r2t_with_all_digests() {
    for (header, data) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut target = Target::new(sample_config());
        let _admin = ConnectionPair::admin(&mut target, digests(header, data));
        let mut io = ConnectionPair::io(&mut target, digests(header, data), 1, 1, false);
        // 8192 bytes fit into a capsule; 31 blocks need four R2Ts of 8192 bytes, of two PDUs each.
        for (start, blocks) in [(0, 1), (7, 2), (100, 31)] {
            let written = pattern(blocks, start as u8);
            let write = io.run(&mut target, HostCommand::write(1, start, blocks as u32, written.clone()));
            assert_eq!(write.status, Status::SUCCESS);
            let read = io.run(&mut target, HostCommand::read(1, start, blocks as u32, blocks as u32 * 4096));
            assert_eq!((read.status, read.head), (Status::SUCCESS, None), "the data stand for the response");
            assert!(read.data == written, "digests {header} {data}");
        }
        assert_eq!(io.session.connection().memory(), 0);
        assert_eq!(io.session.connection().outstanding(), 0);
    }
}

#[test]
fn with_flow_control_each_response_tells_the_head_of_the_queue() {
    let mut target = Target::new(sample_config());
    let _admin = ConnectionPair::admin(&mut target, HostConfig::default());
    let mut io = ConnectionPair::io(&mut target, HostConfig::default(), 1, 1, true);
    // Connect was the first entry of 32.
    for i in 2..70_u16 {
        let read = io.run(&mut target, HostCommand::read(1, 0, 1, 4096));
        assert_eq!(read.head, Some(i % 32));
    }
}

#[test]
fn zones_are_written_reported_and_reset() {
    let mut target = Target::new(sample_config());
    let _admin = ConnectionPair::admin(&mut target, HostConfig::default());
    let mut io = ConnectionPair::io(&mut target, HostConfig::default(), 1, 2, false);
    let first = io.run(&mut target, HostCommand::append(2, 128, 3, pattern(3, 1)));
    let second = io.run(&mut target, HostCommand::append(2, 128, 2, pattern(2, 2)));
    assert_eq!((first.result, second.result), (128, 131));
    let misplaced = io.run(&mut target, HostCommand::write(2, 140, 1, pattern(1, 0)));
    assert_eq!(misplaced.status.bare(), Status::ZONE_INVALID_WRITE);
    io.run(&mut target, HostCommand::zone_management(2, 2, Some(192)));
    let report = io.run(&mut target, HostCommand::zone_report(2, 130, 64 + 2 * 64));
    let zones = zone_descriptors(&report.data);
    assert_eq!(zones.len(), 2, "from the zone that has the block");
    assert_eq!((zones[0].state, zones[0].write_pointer), (ZoneState::ImplicitlyOpened, 133));
    assert_eq!((zones[1].state, zones[1].start, zones[1].capacity), (ZoneState::Full, 192, 48));
    io.run(&mut target, HostCommand::zone_management(2, 4, None));
    let report = io.run(&mut target, HostCommand::zone_report(2, 0, 64 + 16 * 64));
    let zones = zone_descriptors(&report.data);
    assert_eq!(zones.len(), 16);
    assert!(zones.iter().all(|zone| zone.state == ZoneState::Empty));
}

#[test]
fn ranges_are_copied_and_deallocated_as_linux_asks() {
    let mut target = Target::new(sample_config());
    let _admin = ConnectionPair::admin(&mut target, HostConfig::default());
    let mut io = ConnectionPair::io(&mut target, HostConfig::default(), 1, 1, false);
    io.run(&mut target, HostCommand::write(1, 0, 4, pattern(4, 9)));
    assert_eq!(io.run(&mut target, HostCommand::copy(1, &[(2, 2), (0, 1)], 10)).status, Status::SUCCESS);
    let read = io.run(&mut target, HostCommand::read(1, 10, 3, 12288)).data;
    let expected = pattern(4, 9);
    assert!(read[..8192] == expected[8192..] && read[8192..] == expected[..4096]);
    // Linux brings 4 KiB for one range.
    let mut deallocate = HostCommand::deallocate(1, &[(10, 2)]);
    deallocate.data.resize(4096, 0);
    assert_eq!(io.run(&mut target, deallocate).status, Status::SUCCESS);
    let read = io.run(&mut target, HostCommand::read(1, 10, 3, 12288)).data;
    assert!(read[..8192].iter().all(|byte| *byte == 0) && read[8192..] == expected[..4096]);
}

/// Writes, then reads, with all commands outstanding at a time; true if all data came back.
fn many_at_a_time(config: HostConfig, longest: usize, lengths: &[usize]) -> bool {
    let mut target = Target::new(sample_config());
    let _admin = ConnectionPair::admin(&mut target, config);
    let mut io = ConnectionPair::io(&mut target, config, 1, 1, false);
    io.longest = longest;
    let mut start = 0;
    let mut expected = Vec::new();
    for (i, blocks) in lengths.iter().enumerate() {
        let data = pattern(*blocks, i as u8);
        io.host.submit(HostCommand::write(1, start, *blocks as u32, data.clone()));
        expected.push((start, data));
        start += *blocks as u64;
    }
    io.pump(&mut target);
    let written = std::mem::take(&mut io.completions);
    assert_eq!(written.len(), lengths.len());
    let mut ids = Vec::new();
    for (start, data) in &expected {
        let blocks = (data.len() / 4096) as u32;
        ids.push(io.host.submit(HostCommand::read(1, *start, blocks, data.len() as u32)));
    }
    io.pump(&mut target);
    let came_back = ids.iter().zip(&expected).all(|(id, (_, data))| {
        io.completions.iter().any(|completion| completion.command_id == *id && completion.data == *data)
    });
    came_back && io.session.connection().memory() == 0
}

proptest! {
    #[test]
    fn data_come_back_in_any_pieces(
        header: bool,
        data: bool,
        alignment in 0..32_u8,
        max_r2t in 0..4_u32,
        longest in 1..5000_usize,
        lengths in prop::collection::vec(1..32_usize, 1..12),
    ) {
        let config = HostConfig { alignment, max_r2t, ..digests(header, data) };
        prop_assert!(many_at_a_time(config, longest, &lengths));
    }
}

#[test]
fn data_to_the_controller_are_aligned_as_it_asks() {
    let mut config = sample_config();
    config.alignment = 31;
    let mut target = Target::new(config);
    let _admin = ConnectionPair::admin(&mut target, digests(true, true));
    let mut io = ConnectionPair::io(&mut target, digests(true, true), 1, 1, true);
    for blocks in [1, 20] {
        assert_eq!(
            io.run(&mut target, HostCommand::write(1, 0, blocks, pattern(blocks as usize, 3))).status,
            Status::SUCCESS
        );
        let read = io.run(&mut target, HostCommand::read(1, 0, blocks, blocks * 4096));
        assert!(read.data == pattern(blocks as usize, 3));
    }
}
