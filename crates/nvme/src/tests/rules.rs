//! The rules of the transport, broken one by one: each has the answer that NVMe/TCP asks for.

use crate::connection::End;
use crate::entry::{CompletionEntry, SubmissionEntry, opcode::io};
use crate::host::{HostCommand, HostConfig};
use crate::pdu::{Digests, FatalError, encode_command, encode_data, fatal, kind};
use crate::samples::{ConnectionPair, Target, sample_config};
use crate::status::Status;

const NONE: Digests = Digests { header: false, data: false };
const BOTH: Digests = Digests { header: true, data: true };

/// An I/O queue of an enabled controller.
fn queue(digests: Digests) -> (Target, ConnectionPair, ConnectionPair) {
    let mut target = Target::new(sample_config());
    let admin = ConnectionPair::admin(&mut target, HostConfig { digests, ..HostConfig::default() });
    let io = ConnectionPair::io(&mut target, HostConfig { digests, ..HostConfig::default() }, 1, 1, true);
    (target, admin, io)
}

/// The controller's answer to bytes of a host.
fn answer(target: &mut Target, link: &mut ConnectionPair, bytes: &[u8]) -> Vec<u8> {
    let mut bytes = bytes.to_vec();
    link.feed_controller(target, &mut bytes);
    link.session.output().take().concat()
}

/// The statuses of the response capsules in an answer without digests.
fn statuses(mut answer: &[u8]) -> Vec<(u16, Status)> {
    let mut all = Vec::new();
    while let Some(length) = answer.get(4..8).map(|length| u32::from_le_bytes(length.try_into().expect("four"))) {
        if answer[0] == kind::RESPONSE {
            let entry = CompletionEntry::from_bytes(answer[8..24].try_into().expect("an entry"));
            all.push((entry.command_id, entry.status.bare()));
        }
        answer = &answer[length as usize..];
    }
    all
}

/// Checks that the controller ends the connection with this error, and repeats the header at fault.
fn assert_fatal(target: &mut Target, link: &mut ConnectionPair, bytes: &[u8], status: u16, information: u32) {
    let answer = answer(target, link, bytes);
    let error = FatalError { status, information };
    assert_eq!(link.end, Some(End::Fatal(error)), "{error}");
    assert_eq!((answer[0], answer[1], answer[2], answer[3]), (kind::CONTROLLER_TERM, 0, 24, 0));
    let length = u32::from_le_bytes(answer[4..8].try_into().expect("four"));
    assert_eq!(length as usize, answer.len());
    assert!((24..=152).contains(&length), "Linux takes no other (NVME_TCP_MAX_C2HTERM_PLEN)");
    assert_eq!(answer[8..10], status.to_le_bytes());
    assert_eq!(answer[10..14], information.to_le_bytes());
    assert!(answer[24..] == bytes[..answer.len() - 24], "the header at fault");
}

fn write(command_id: u16, blocks: u32) -> SubmissionEntry {
    SubmissionEntry::new(io::WRITE)
        .with_command_id(command_id)
        .with_namespace(1)
        .with_cdw(12, blocks - 1)
        .with_transport_data(blocks * 4096)
}

fn data(digests: Digests, command: (u16, u16), offset: u32, length: u32, flags: u8) -> Vec<u8> {
    let mut pdu = encode_data(kind::HOST_DATA, flags, command, (offset, length), (digests, 0));
    pdu.extend(vec![5; length as usize]);
    if digests.data {
        pdu.extend(crc32c::crc32c(&vec![5; length as usize]).to_le_bytes());
    }
    pdu
}

const LAST: u8 = 1 << 2;

/// An initialization request, with changes at offsets.
fn initialize(changes: &[(usize, u8)]) -> Vec<u8> {
    let mut request = vec![0; 128];
    (request[2], request[4]) = (128, 128);
    changes.iter().for_each(|(offset, value)| request[*offset] = *value);
    request
}

#[test]
fn a_wrong_initialization_is_refused() {
    /// Changes by offset; the error's status and information.
    type Case<'a> = (&'a [(usize, u8)], u16, u32);
    let cases: [Case<'_>; 5] = [
        (&[(0, 0x0b)], fatal::INVALID_HEADER_FIELD, 0),
        (&[(2, 72)], fatal::INVALID_HEADER_FIELD, 2),
        (&[(4, 129)], fatal::INVALID_HEADER_FIELD, 4),
        (&[(8, 1)], fatal::UNSUPPORTED_PARAMETER, 8),
        (&[(10, 32)], fatal::INVALID_HEADER_FIELD, 10),
    ];
    for (changes, status, information) in cases {
        let mut target = Target::new(sample_config());
        let mut link = ConnectionPair::new(&target, HostConfig::default());
        assert_fatal(&mut target, &mut link, &initialize(changes), status, information);
    }
}

#[test]
fn pdus_out_of_sequence_end_the_connection() {
    let mut target = Target::new(sample_config());
    let mut early = ConnectionPair::new(&target, HostConfig::default());
    let command = encode_command(&SubmissionEntry::new(io::FLUSH), 0, NONE, 0);
    assert_fatal(&mut target, &mut early, &command, fatal::SEQUENCE, 0);
    let (mut target, _admin, mut link) = queue(NONE);
    assert_fatal(&mut target, &mut link, &initialize(&[]), fatal::SEQUENCE, 0);
}

#[test]
fn pdus_of_a_controller_are_refused() {
    for kind in [kind::INITIALIZE_RESPONSE, kind::RESPONSE, kind::CONTROLLER_DATA, kind::R2T, 0x08, 0xff] {
        let (mut target, _admin, mut link) = queue(NONE);
        assert_fatal(&mut target, &mut link, &[kind, 0, 24, 0, 24, 0, 0, 0], fatal::INVALID_HEADER_FIELD, 0);
    }
}

#[test]
fn wrong_headers_of_capsules_are_refused() {
    // With data in the capsule: flags, offset of the data, length.
    let good = encode_command(&write(9, 1).with_data_in_capsule(4096), 4096, NONE, 0);
    for (offset, value, status, information) in [
        (1, 1, fatal::INVALID_HEADER_FIELD, 1),
        (1, 2, fatal::INVALID_HEADER_FIELD, 1),
        (3, 68, fatal::INVALID_HEADER_FIELD, 3),
        (3, 71, fatal::INVALID_HEADER_FIELD, 3),
        (3, 74, fatal::INVALID_HEADER_FIELD, 3),
        (7, 1, fatal::INVALID_HEADER_FIELD, 4),
        (6, 1, fatal::INVALID_HEADER_FIELD, 4),
    ] {
        let (mut target, _admin, mut link) = queue(NONE);
        let mut bad = good.clone();
        bad[offset] = value;
        bad.extend([5; 4096]);
        assert_fatal(&mut target, &mut link, &bad, status, information);
    }
}

#[test]
fn a_wrong_header_digest_ends_the_connection() {
    let (mut target, _admin, mut link) = queue(BOTH);
    let mut command = encode_command(&SubmissionEntry::new(io::FLUSH), 0, BOTH, 0);
    command[72] ^= 1;
    let digest = u32::from_le_bytes(command[72..76].try_into().expect("four"));
    assert_fatal(&mut target, &mut link, &command, fatal::HEADER_DIGEST, digest);
}

#[test]
fn a_wrong_data_digest_fails_the_command_only() {
    let (mut target, _admin, mut link) = queue(BOTH);
    let capsule = encode_command(&write(40, 1).with_data_in_capsule(4096), 4096, BOTH, 0);
    let bad = [capsule, vec![5; 4096], vec![1, 2, 3, 4]].concat();
    let response = answer(&mut target, &mut link, &bad);
    let entry = CompletionEntry::from_bytes(response[8..24].try_into().expect("an entry"));
    assert_eq!((entry.command_id, entry.status.bare()), (40, Status::TRANSIENT_TRANSPORT_ERROR));
    assert!(!entry.status.is_do_not_retry());
    // By R2T, too: the first of two PDUs is damaged.
    answer(&mut target, &mut link, &encode_command(&write(41, 2), 0, BOTH, 0));
    let mut bad = data(BOTH, (41, 0), 0, 4096, 0);
    *bad.last_mut().expect("bytes") ^= 1;
    assert!(answer(&mut target, &mut link, &bad).is_empty());
    let response = answer(&mut target, &mut link, &data(BOTH, (41, 0), 4096, 4096, LAST));
    let entry = CompletionEntry::from_bytes(response[8..24].try_into().expect("an entry"));
    assert_eq!((entry.command_id, entry.status.bare()), (41, Status::TRANSIENT_TRANSPORT_ERROR));
    assert_eq!(link.run(&mut target, HostCommand::read(1, 0, 1, 4096)).data, vec![0; 4096], "nothing was written");
}

#[test]
fn data_outside_of_their_r2t_end_the_connection() {
    /// Command and tag, offset, length and flags of the PDU; the error's status and information.
    type Case = ((u16, u16), u32, u32, u8, u16, u32);
    // The write of 16384 bytes has one R2T, with tag 0, of 8192 bytes.
    let cases: [Case; 8] = [
        ((8, 0), 0, 4096, 0, fatal::INVALID_HEADER_FIELD, 8),
        ((7, 1), 0, 4096, 0, fatal::INVALID_HEADER_FIELD, 10),
        ((7, 0), 4096, 4096, LAST, fatal::SEQUENCE, 0),
        ((7, 0), 8192, 4096, LAST, fatal::DATA_OUT_OF_RANGE, 0),
        ((7, 0), u32::MAX - 3, 4096, LAST, fatal::DATA_OUT_OF_RANGE, 0),
        ((7, 0), 0, 8192, LAST, fatal::LIMIT_EXCEEDED, 0),
        ((7, 0), 0, 4096, LAST, fatal::INVALID_HEADER_FIELD, 1),
        ((7, 0), 0, 2048, LAST, fatal::INVALID_HEADER_FIELD, 1),
    ];
    for (command, offset, length, flags, status, information) in cases {
        let (mut target, _admin, mut link) = queue(NONE);
        let r2t = answer(&mut target, &mut link, &encode_command(&write(7, 4), 0, NONE, 0));
        assert_eq!(r2t, [9, 0, 24, 0, 24, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0x20, 0, 0, 0, 0, 0, 0]);
        assert_fatal(&mut target, &mut link, &data(NONE, command, offset, length, flags), status, information);
    }
    let (mut target, _admin, mut link) = queue(NONE);
    answer(&mut target, &mut link, &encode_command(&write(7, 1), 0, NONE, 0));
    let mut stated = data(NONE, (7, 0), 0, 4096, LAST);
    stated[17] = 8;
    assert_fatal(&mut target, &mut link, &stated, fatal::INVALID_HEADER_FIELD, 16);
}

#[test]
fn data_that_nobody_requested_end_the_connection() {
    let (mut target, _admin, mut link) = queue(NONE);
    assert_fatal(&mut target, &mut link, &data(NONE, (7, 0), 0, 4096, LAST), fatal::INVALID_HEADER_FIELD, 8);
}

#[test]
fn a_command_identifier_in_use_is_refused_and_its_owner_goes_on() {
    let (mut target, _admin, mut link) = queue(NONE);
    answer(&mut target, &mut link, &encode_command(&write(7, 1), 0, NONE, 0));
    let flush = SubmissionEntry::new(io::FLUSH).with_namespace(1).with_command_id(7);
    let refused = answer(&mut target, &mut link, &encode_command(&flush, 0, NONE, 0));
    assert_eq!(statuses(&refused), [(7, Status::COMMAND_ID_CONFLICT)]);
    // With data in the capsule, which are skipped.
    let capsule = encode_command(&write(7, 1).with_data_in_capsule(4096), 4096, NONE, 0);
    let refused = answer(&mut target, &mut link, &[capsule, vec![1; 4096]].concat());
    assert_eq!(statuses(&refused), [(7, Status::COMMAND_ID_CONFLICT)]);
    let response = answer(&mut target, &mut link, &data(NONE, (7, 0), 0, 4096, LAST));
    assert_eq!(statuses(&response), [(7, Status::SUCCESS)]);
}

#[test]
fn more_commands_than_the_queue_has_entries_end_the_connection() {
    let (mut target, _admin, mut link) = queue(NONE);
    for id in 0..32 {
        answer(&mut target, &mut link, &encode_command(&write(id, 1), 0, NONE, 0));
        assert_eq!(link.end, None);
    }
    assert_eq!(link.session.connection().outstanding(), 32);
    assert_fatal(&mut target, &mut link, &encode_command(&write(32, 1), 0, NONE, 0), fatal::SEQUENCE, 0);
}

#[test]
fn writes_wait_until_there_is_room_for_their_data() {
    let (mut target, _admin, mut link) = queue(NONE);
    // 192 KiB are room for one write of 128 KiB and one of 64 KiB.
    let first = answer(&mut target, &mut link, &encode_command(&write(1, 32), 0, NONE, 0));
    let second = answer(&mut target, &mut link, &encode_command(&write(2, 32), 0, NONE, 0));
    let third = answer(&mut target, &mut link, &encode_command(&write(3, 1), 0, NONE, 0));
    assert_eq!((first.len(), second.len(), third.len()), (24, 0, 0));
    assert_eq!(link.session.connection().memory(), 128 << 10);
    let mut response = Vec::new();
    for offset in (0..131_072).step_by(4096) {
        let (tag, last) = ((offset / 8192) as u16, offset % 8192 != 0);
        response = answer(&mut target, &mut link, &data(NONE, (1, tag), offset, 4096, if last { LAST } else { 0 }));
    }
    assert_eq!(statuses(&response), [(1, Status::SUCCESS)]);
    assert_eq!(response.len(), 24 * 3, "a response and two R2Ts");
    assert_eq!(link.session.connection().memory(), 132 << 10);
}

#[test]
fn transfers_that_are_too_long_or_of_another_kind_are_refused() {
    let (mut target, _admin, mut link) = queue(NONE);
    let mut refused = |entry: SubmissionEntry, data: usize| {
        let capsule = encode_command(&entry.with_command_id(7), data, NONE, 0);
        let bytes = [capsule, vec![0; data]].concat();
        statuses(&answer(&mut target, &mut link, &bytes))[0].1
    };
    assert_eq!(refused(write(7, 33), 0), Status::INVALID_FIELD, "more than MDTS");
    for present in [2048, 4095] {
        assert_eq!(refused(write(7, 1).with_data_in_capsule(4096), present), Status::SGL_OFFSET_INVALID);
    }
    assert_eq!(refused(write(7, 1), 4096), Status::SGL_TYPE_INVALID, "data in the capsule for a transport descriptor");
    assert_eq!(refused(write(7, 1).with_flags(0x41), 0), Status::INVALID_FIELD, "fused");
    assert_eq!(refused(write(7, 1).with_flags(0), 0), Status::INVALID_FIELD, "PRPs");
    let mut keyed = write(7, 1).to_bytes();
    keyed[39] = 0x40;
    assert_eq!(refused(SubmissionEntry::from_bytes(&keyed), 0), Status::SGL_TYPE_INVALID);
    let too_many = encode_command(&write(7, 4).with_data_in_capsule(16384), 16384, NONE, 0);
    assert_fatal(&mut target, &mut link, &too_many, fatal::INVALID_HEADER_FIELD, 4);
}

#[test]
fn half_pdus_wait_for_the_other_half() {
    let (mut target, _admin, mut link) = queue(NONE);
    let command = encode_command(&SubmissionEntry::new(io::FLUSH).with_namespace(1), 0, NONE, 0);
    let (front, back) = command.split_at(40);
    let mut bytes = front.to_vec();
    link.feed_controller(&mut target, &mut bytes);
    assert_eq!((bytes.len(), link.session.output().len()), (40, 0));
    bytes.extend(back);
    link.feed_controller(&mut target, &mut bytes);
    assert_eq!(statuses(&link.session.output().take().concat()), [(0, Status::SUCCESS)]);
}

#[test]
fn a_wrong_termination_request_is_not_answered() {
    for length in [23, 24 + 129, 200] {
        let (mut target, _admin, mut link) = queue(NONE);
        let mut term = vec![2, 0, 24, 0, length, 0, 0, 0, 1, 0];
        term.resize(24, 0);
        assert!(answer(&mut target, &mut link, &term).is_empty());
        assert!(matches!(link.end, Some(End::Terminated(_))), "{length}");
    }
}

#[test]
fn a_termination_request_ends_the_connection() {
    let (mut target, _admin, mut link) = queue(NONE);
    let mut term = vec![2, 0, 24, 0, 32, 0, 0, 0, 4, 0];
    term.resize(32, 0);
    assert!(answer(&mut target, &mut link, &term).is_empty());
    assert_eq!(link.end, Some(End::Terminated(FatalError { status: fatal::DATA_OUT_OF_RANGE, information: 0 })));
}
