//! The bytes that the drivers of Linux send: `linux/*.hex` are derived from the structures of `include/linux/nvme.h` and
//! `nvme-tcp.h` and the functions that each line names, for a host without digests. The answers are checked at the offsets at which
//! the drivers read them.

use std::collections::BTreeMap;

use crate::entry::CompletionEntry;
use crate::host::{HostConfig, discovery_records};
use crate::pdu::kind;
use crate::samples::{ConnectionPair, NQN, Target, sample_config};
use crate::status::Status;

const ADMIN: &str = include_str!("linux/admin.hex");
const DISCOVERY: &str = include_str!("linux/discovery.hex");
const IO: &str = include_str!("linux/io.hex");

#[derive(Debug, Default)]
struct CommandAnswer {
    status: Option<Status>,
    result: u64,
    data: Vec<u8>,
    /// The bytes of the PDU, for the one that answers the initialization.
    bytes: Vec<u8>,
}

impl CommandAnswer {
    fn u16(&self, offset: usize) -> u16 {
        u16::from_le_bytes(self.data[offset..offset + 2].try_into().expect("two bytes"))
    }

    fn u32(&self, offset: usize) -> u32 {
        u32::from_le_bytes(self.data[offset..offset + 4].try_into().expect("four bytes"))
    }

    fn u64(&self, offset: usize) -> u64 {
        u64::from_le_bytes(self.data[offset..offset + 8].try_into().expect("eight bytes"))
    }
}

/// The PDUs of a transcript with their names. A line ` x3` stands for three of the bytes before it.
fn pdus(transcript: &str) -> Vec<(&str, Vec<u8>)> {
    let mut all: Vec<(&str, Vec<u8>)> = Vec::new();
    for line in transcript.lines() {
        if let Some(label) = line.strip_prefix("# ") {
            all.push((label.split(':').next().expect("a name"), Vec::new()));
            continue;
        }
        let (digits, times) = line.split_once(" x").unwrap_or((line, "1"));
        let byte = |i: usize| u8::from_str_radix(&digits[i..i + 2], 16).expect("a byte in hexadecimal digits");
        let bytes: Vec<u8> = (0..digits.len()).step_by(2).map(byte).collect();
        let (_, pdu) = all.last_mut().expect("a name comes first");
        (0..times.parse().expect("a number")).for_each(|_| pdu.extend(&bytes));
    }
    all
}

fn answer(bytes: &[u8]) -> CommandAnswer {
    let mut answer = CommandAnswer { bytes: bytes.to_vec(), ..CommandAnswer::default() };
    let mut left = bytes;
    while !left.is_empty() {
        let length = u32::from_le_bytes(left[4..8].try_into().expect("four bytes")) as usize;
        match left[0] {
            kind::RESPONSE => {
                let entry = CompletionEntry::from_bytes(left[8..24].try_into().expect("an entry"));
                (answer.status, answer.result) = (Some(entry.status), entry.result);
            }
            kind::CONTROLLER_DATA => answer.data.extend(&left[usize::from(left[3])..length]),
            kind::INITIALIZE_RESPONSE => {}
            other => panic!("an unexpected PDU of type {other}"),
        }
        left = &left[length..];
    }
    answer
}

/// Plays a transcript. All commands but those named in `waits` must be answered.
fn play<'a>(
    target: &mut Target,
    transcript: &'a str,
    waits: &[&str],
) -> (ConnectionPair, BTreeMap<&'a str, CommandAnswer>) {
    let mut link = ConnectionPair::new(target, HostConfig::default());
    let mut answers = BTreeMap::new();
    for (name, mut bytes) in pdus(transcript) {
        link.feed_controller(target, &mut bytes);
        assert!(bytes.is_empty(), "{name}: {} bytes are left", bytes.len());
        assert_eq!(link.end, None, "{name}");
        let answer = answer(&link.session.output().take().concat());
        if waits.contains(&name) {
            assert!(answer.bytes.is_empty(), "{name}");
        } else if name != "initialize" {
            assert_eq!(answer.status, Some(Status::SUCCESS), "{name}");
        }
        answers.insert(name, answer);
    }
    (link, answers)
}

#[test]
fn the_driver_connects_and_finds_both_namespaces() {
    let mut target = Target::new(sample_config());
    let (_, answers) = play(&mut target, ADMIN, &["event request"]);
    let initialized = &answers["initialize"].bytes;
    assert_eq!(initialized[..8], [1, 0, 128, 0, 128, 0, 0, 0]);
    // Version, CPDA, digests; MAXH2CDATA of 4096 at least.
    assert_eq!(initialized[8..16], [0, 0, 0, 0, 0, 0x10, 0, 0]);
    assert_eq!(answers["connect"].result, 1, "the controller");
    let cap = answers["cap"].result;
    assert_eq!((cap & 0xffff, cap >> 43 & 1, cap >> 59 & 1), (31, 1, 1), "MQES, CSS, CRMS");
    assert!(answers["crto"].result >= cap >> 24 & 0xff, "no shorter than CAP.TO");
    assert_eq!(answers["csts"].result, 1);
    assert_eq!(answers["vs"].result, 0x2_0000);

    let controller = &answers["identify controller"];
    assert_eq!(controller.data.len(), 4096);
    assert_eq!(&controller.data[24..40], b"Flashloom sample");
    assert_eq!(controller.data[77], 5, "MDTS");
    assert_eq!(controller.u16(78), 1, "cntlid as Connect said");
    assert_eq!(controller.data[111], 1, "an I/O controller");
    assert_eq!(controller.u32(96) >> 19 & 1, 1, "Flexible Data Placement");
    assert_eq!(controller.data[261] & 2, 2, "the page of effects");
    assert!(controller.u16(320) > 0, "KAS: the driver refuses a controller without");
    assert!(controller.u16(514) > 0, "MAXCMD");
    assert_eq!(controller.u32(516), 2, "NN");
    assert_eq!(controller.u32(536) & 3, 1, "SGLS: the driver refuses a controller without");
    assert_eq!(controller.data[768..768 + NQN.len()], *NQN.as_bytes());
    assert_eq!(controller.u32(1792), (64 + 8192) / 16, "IOCCSZ");
    assert_eq!((controller.u32(1796), controller.u16(1800)), (1, 0), "IORCSZ, ICDOFF");
    assert_eq!(controller.u16(2048), 1200, "the first power state");

    assert_eq!(answers["effects"].u32(1024 + 4) & 1, 1, "Write");
    assert_eq!(answers["effects"].u32(1024 + 4 * 0x7d), 0, "no Zone Append in the NVM command set");
    assert_eq!(answers["health"].u16(1), 310);
    assert_eq!(answers["queues"].result, 3 | 3 << 16);

    assert_eq!(answers["namespaces"].data[..12], [1, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0]);
    let descriptors = &answers["descriptors"].data;
    assert_eq!(descriptors[..4], [2, 16, 0, 0], "NGUID");
    assert_eq!(descriptors[20..24], [3, 16, 0, 0], "UUID");
    assert_eq!(descriptors[40..46], [4, 1, 0, 0, 0, 0], "the NVM command set, and the end");
    assert_eq!(answers["independent"].data[14] & 1, 1, "ready");
    let namespace = &answers["namespace"];
    assert_eq!((namespace.u64(0), namespace.u64(8)), (512, 512));
    assert_eq!((namespace.data[25], namespace.data[26]), (0, 0), "NLBAF, FLBAS");
    assert_eq!((namespace.data[130], namespace.u16(128)), (12, 0), "LBADS, metadata");
    assert_eq!((namespace.u16(64), namespace.u16(68)), (3, 3), "NPWG, NPDG");
    assert_eq!(namespace.u16(102), 1, "the endurance group, which has the placement");
    assert_eq!(answers["placement"].result, 1);
    assert_eq!(answers["placement head"].u32(4), 16 + 64 + 4 * 4);

    assert_eq!(answers["zoned descriptors"].data[40..45], [4, 1, 0, 0, 2]);
    assert_eq!(answers["zoned effects"].u32(1024 + 4 * 0x7d) & 1, 1, "without it the driver mounts read only");
    assert_eq!(answers["zone limits"].data[0], 5);
    let zones = &answers["zones"];
    assert_eq!(zones.u16(0), 0, "ZOC: the driver takes no other");
    assert_eq!((zones.u32(4), zones.u32(8)), (7, 3), "MAR, MOR");
    assert_eq!(zones.u64(2816), 64, "the size of zones");
    assert_eq!(answers["shutdown status"].result, 1 | 2 << 2);
}

#[test]
fn nvme_discover_reads_the_page_in_pieces() {
    let mut target = Target::new(sample_config());
    let (_, answers) = play(&mut target, DISCOVERY, &[]);
    assert_eq!(answers["identify controller"].data[111], 2, "a discovery controller");
    let head = &answers["head"];
    assert_eq!((head.data.len(), head.u64(0), head.u64(8), head.u16(16)), (1024, 1, 1, 0));
    let records = discovery_records(&answers["page"].data);
    assert_eq!(records.len(), 1);
    let record = &records[0];
    assert_eq!((record.transport, record.nqn.as_str()), (3, NQN));
    assert_eq!((record.address.as_str(), record.service.as_str()), ("127.0.0.1", "4420"));
    let alone = &answers["records alone"];
    assert!(alone.data == answers["page"].data[1024..]);
    // TRTYPE, ADRFAM, SUBTYPE, TREQ, PORTID, CNTLID, ASQSZ.
    assert_eq!(alone.data[..10], [3, 1, 2, 4, 1, 0, 0xff, 0xff, 32, 0]);
}

#[test]
fn the_driver_uses_an_io_queue() {
    let mut target = Target::new(sample_config());
    let _admin = ConnectionPair::admin(&mut target, HostConfig::default());
    // The controller is one of another host identifier.
    let (_, refused) = {
        let mut link = ConnectionPair::new(&target, HostConfig::default());
        let all = pdus(IO);
        let mut answers = Vec::new();
        for (_, bytes) in &all[..2] {
            link.feed_controller(&mut target, &mut bytes.clone());
            answers.push(answer(&link.session.output().take().concat()));
        }
        (link, answers.pop().expect("an answer"))
    };
    assert_eq!(refused.status, Some(Status::CONNECT_INVALID_PARAMETERS.do_not_retry()));
    assert_eq!(refused.result, 1 << 16 | 512, "the host's name in the data");

    let mut target = Target::new(sample_config());
    let admin = pdus(ADMIN);
    let mut link = ConnectionPair::new(&target, HostConfig::default());
    for (name, bytes) in admin.iter().filter(|(name, _)| ["initialize", "connect", "cc.en"].contains(name)) {
        link.feed_controller(&mut target, &mut bytes.clone());
        assert_eq!(link.end, None, "{name}");
    }
    let (_, answers) = play(&mut target, IO, &[]);
    assert!(answers["read"].data == [0xa5; 4096]);
    assert_eq!(answers["append"].result, 64);
    let report = &answers["report"];
    assert_eq!(report.u64(0), 16);
    // The second zone: sequential write required, implicitly opened, capacity, start, write pointer.
    let zone = 64 + 64;
    assert_eq!((report.data[zone] & 0xf, report.data[zone + 1] >> 4), (2, 2));
    assert_eq!((report.u64(zone + 8), report.u64(zone + 16), report.u64(zone + 24)), (48, 64, 65));
    assert_eq!(answers["handles"].u16(14), 3);
}
