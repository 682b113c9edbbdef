//! I/O commands of a drive without zones.

use base::engine::Rng;
use nvme::{HostCommand, IdentifiedController, IdentifiedNamespace, Status, namespace_list};

use super::host::{HostConnection, SubsystemServer, digests};

const BLOCK: usize = 512;

fn block(byte: u8) -> Vec<u8> {
    vec![byte; BLOCK]
}

fn read(io: &mut HostConnection, start: u64, blocks: u32) -> Vec<u8> {
    io.done(HostCommand::read(1, start, blocks, blocks * BLOCK as u32)).data
}

#[test]
fn a_host_finds_the_drive_and_its_size() {
    let served = SubsystemServer::small();
    let (mut admin, controller) = HostConnection::admin(&served);
    let identified = IdentifiedController::from_bytes(&admin.done(HostCommand::identify(1, 0, 0)).data).expect("whole");
    assert_eq!((identified.id, identified.model.trim()), (controller, "Flashloom small"));
    assert!(identified.serial.starts_with("FL") && identified.transfer == Some(1 << 20), "{identified:?}");
    let namespaces = namespace_list(&admin.done(HostCommand::identify(2, 0, 0)).data);
    assert_eq!(namespaces, [1]);
    let namespace = IdentifiedNamespace::from_bytes(&admin.done(HostCommand::identify(0, 1, 0)).data).expect("whole");
    let capacity = serve::Disk::capacity(&served.engine).get();
    assert_eq!((namespace.blocks, namespace.capacity, namespace.block_shift), (capacity, capacity, 9));
    let again = SubsystemServer::small();
    assert_eq!(served.nqn, again.nqn, "the name is a function of device and seed");
}

#[test]
fn random_writes_of_several_queues_are_read_back() {
    let served = SubsystemServer::small();
    let (_admin, controller) = HostConnection::admin(&served);
    // More queues than the drive has submission queues, with digests and without.
    let mut queues: Vec<HostConnection> = (1..=3)
        .map(|queue| match queue {
            1 => HostConnection::io_with(&served, controller, queue, digests()),
            _ => HostConnection::io(&served, controller, queue),
        })
        .collect();
    let mut rng = Rng::stream(1, "nvme.io");
    let capacity = serve::Disk::capacity(&served.engine).get();
    let mut flat = vec![0; capacity as usize * BLOCK];
    for round in 0..60 {
        // Commands that are outstanding together do not overlap.
        let share = capacity / 6;
        let mut under_way = Vec::new();
        for place in 0..6 {
            let blocks = 1 + rng.below(70);
            let start = place * share + rng.below(share - blocks);
            let range = start as usize * BLOCK..(start + blocks) as usize * BLOCK;
            let queue = rng.below(3) as usize;
            let link = &mut queues[queue];
            let is_write = rng.below(2) == 0;
            let command = if is_write {
                flat[range.clone()].iter_mut().for_each(|byte| *byte = rng.bits() as u8);
                HostCommand::write(1, start, blocks as u32, flat[range.clone()].to_vec())
            } else {
                HostCommand::read(1, start, blocks as u32, (blocks as usize * BLOCK) as u32)
            };
            let command = if is_write && rng.below(3) == 0 { command.with_fua() } else { command };
            under_way.push((queue, link.submit(command), range, is_write));
        }
        for (queue, id, range, is_write) in under_way {
            let completion = queues[queue].wait(id);
            assert_eq!(completion.status, Status::SUCCESS, "round {round}");
            assert!(is_write || completion.data == flat[range], "round {round} reads what was written");
        }
    }
}

#[test]
fn compare_verify_zeroes_copy_and_deallocate_do_what_they_say() {
    let served = SubsystemServer::small();
    let (mut admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    let two = [block(1), block(2)].concat();
    io.done(HostCommand::write(1, 8, 2, two.clone()));
    let compare = |start: u64, data: Vec<u8>| {
        let write = HostCommand::write(1, start, (data.len() / BLOCK) as u32, data);
        let mut bytes = write.entry.to_bytes();
        bytes[0] = nvme::opcode::io::COMPARE;
        HostCommand::with_data(nvme::SubmissionEntry::from_bytes(&bytes), write.data)
    };
    io.done(compare(8, two.clone()));
    io.done(compare(8, two.clone()).with_fua());
    assert_eq!(io.fails(compare(8, [block(1), block(3)].concat())), Status::COMPARE_FAILURE);
    let verify =
        nvme::SubmissionEntry::new(nvme::opcode::io::VERIFY).with_namespace(1).with_cdw_pair(10, 8).with_cdw(12, 1);
    io.done(HostCommand::new(verify));
    io.done(HostCommand::copy(1, &[(9, 1), (8, 1), (8, 2)], 100));
    assert_eq!(read(&mut io, 100, 4), [block(2), block(1), two.clone()].concat());
    // A copy onto a part of its own source.
    io.done(HostCommand::copy(1, &[(100, 3)], 101));
    assert_eq!(read(&mut io, 100, 4), [block(2), block(2), block(1), block(1)].concat());
    io.done(HostCommand::write_zeroes(1, 100, 3));
    assert_eq!(read(&mut io, 100, 4), [vec![0; 3 * BLOCK], block(1)].concat());
    io.done(HostCommand::write(1, 200, 64, vec![9; 64 * BLOCK]));
    io.done(HostCommand::deallocate(1, &[(200, 16), (240, 8)]));
    let left = read(&mut io, 200, 64);
    assert_eq!(left[..16 * BLOCK], vec![0; 16 * BLOCK]);
    assert_eq!(left[16 * BLOCK..40 * BLOCK], vec![9; 24 * BLOCK]);
    assert_eq!(left[40 * BLOCK..48 * BLOCK], vec![0; 8 * BLOCK]);
    let end = serve::Disk::capacity(&served.engine).get();
    assert_eq!(io.fails(HostCommand::write(1, end, 1, block(1))), Status::LBA_OUT_OF_RANGE);
    io.done(HostCommand::flush(None));
    io.done(HostCommand::read(1, 8, 1, BLOCK as u32).with_fua());
    // Format discards all blocks.
    let format = nvme::SubmissionEntry::new(nvme::opcode::admin::FORMAT_NVM).with_namespace(1);
    admin.done(HostCommand::new(format));
    assert_eq!(read(&mut io, 8, 2), vec![0; 2 * BLOCK]);
}

#[test]
fn a_command_that_the_drive_cannot_carry_out_is_an_invalid_opcode() {
    let served = SubsystemServer::small();
    let (mut admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    let uncorrectable = nvme::SubmissionEntry::new(nvme::opcode::io::WRITE_UNCORRECTABLE).with_namespace(1);
    assert_eq!(io.fails(HostCommand::new(uncorrectable)), Status::INVALID_OPCODE);
    let sanitize = nvme::SubmissionEntry::new(nvme::opcode::admin::SANITIZE).with_cdw(10, 2);
    assert_eq!(admin.fails(HostCommand::new(sanitize)), Status::INVALID_OPCODE);
    let identify = admin.done(HostCommand::identify(1, 0, 0)).data;
    assert_eq!((identify[520] & 2, identify[328]), (0, 0), "neither is announced");
    assert_eq!(io.fails(HostCommand::append(1, 0, 1, block(1))), Status::INVALID_OPCODE);
}

#[test]
fn commands_without_data_may_name_more_blocks_than_a_connection_has_room_for() {
    let served = SubsystemServer::of(&super::host::SMALL.replace("blocks = 40", "blocks = 600"));
    let (_admin, controller) = HostConnection::admin(&served);
    let mut io = HostConnection::io(&served, controller, 1);
    assert!(serve::Disk::capacity(&served.engine).get() > 65_536);
    let all = |opcode| nvme::SubmissionEntry::new(opcode).with_namespace(1).with_cdw(12, 0xffff);
    io.done(HostCommand::write(1, 65_535, 1, block(8)));
    io.done(HostCommand::new(all(nvme::opcode::io::VERIFY)));
    io.done(HostCommand::new(all(nvme::opcode::io::WRITE_ZEROES)));
    assert_eq!(read(&mut io, 65_535, 1), block(0));
}
