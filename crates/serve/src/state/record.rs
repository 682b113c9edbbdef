//! The records of slots and blocks. A record has 32 bytes, so that none crosses a page of the system's cache, and a killed process
//! leaves each record complete or unwritten.
//!
//! A record of zeros was never written: the slot is erased, the block is new. The last four bytes are a checksum of the other
//! bytes, of the record's number and of its file.
//!
//! ```text
//! slot    0 logical number   4 version   8 erases of its block   12 kind, flags   16 opening   24 sum of the content
//! block   0 erases           4 flags     8 openings                 16 erases in SLC mode
//! ```

use base::units::Lpn;
use flash::nand::{BlockRecord, Mode, SlotRecord, Spare, Stream};

pub(super) const BYTES: usize = 32;
/// Bytes of a record before its checksum.
const BODY: usize = 28;

pub(super) type RecordBytes = [u8; BYTES];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum RecordFile {
    Slot = 1,
    Block = 2,
}

const EMPTY: u8 = 1;
const TORN: u8 = 2;
const DATA: u8 = 3;

const LOST: u8 = 1;
const FAILED: u8 = 2;
const COPIES: u8 = 4;
const SLC: u8 = 8;
/// The number of the stream lies above the flags.
const NUMBER: u32 = 4;

const BAD: u8 = 1;
const DEAD: u8 = 2;

/// The checksum of a slot's content. It is never zero, which stands for no content.
pub(super) fn sum(content: &[u8]) -> u32 {
    crc32fast::hash(content).max(1)
}

fn check(of: RecordFile, number: u32, body: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&[of as u8]);
    hasher.update(&number.to_le_bytes());
    hasher.update(body);
    hasher.finalize().to_le_bytes()
}

fn seal(of: RecordFile, number: u32, mut record: RecordBytes) -> RecordBytes {
    let check = check(of, number, &record[..BODY]);
    record[BODY..].copy_from_slice(&check);
    record
}

/// True if a record was never written.
pub(super) fn is_blank(record: &[u8]) -> bool {
    record.iter().all(|byte| *byte == 0)
}

fn is_whole(of: RecordFile, number: u32, record: &[u8]) -> bool {
    check(of, number, &record[..BODY]) == record[BODY..]
}

fn small(record: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(record[at..at + 4].try_into().expect("four bytes"))
}

fn word(record: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(record[at..at + 8].try_into().expect("eight bytes"))
}

/// The record of a slot. `sum` is the checksum of the content; zero if no content is stored.
pub(super) fn of_slot(number: u32, slot: SlotRecord, sum: u32) -> RecordBytes {
    let mut record = [0; BYTES];
    let kind = match slot.spare {
        Spare::Empty => EMPTY,
        Spare::Torn => TORN,
        Spare::Data { lpn, version } => {
            record[..4].copy_from_slice(&lpn.get().to_le_bytes());
            record[4..8].copy_from_slice(&version.to_le_bytes());
            DATA
        }
    };
    record[8..12].copy_from_slice(&slot.erases.to_le_bytes());
    let flags =
        [(slot.lost, LOST), (slot.failed, FAILED), (!slot.stream.is_host(), COPIES), (slot.mode == Mode::Slc, SLC)];
    let flags = flags.into_iter().filter(|(is, _)| *is).fold(0, |all, (_, flag)| all | flag);
    (record[12], record[13]) = (kind, flags | slot.stream.number() << NUMBER);
    record[16..24].copy_from_slice(&slot.opened.to_le_bytes());
    record[24..28].copy_from_slice(&sum.to_le_bytes());
    seal(RecordFile::Slot, number, record)
}

/// The slot of a record, and the checksum of its content; `None` if the record is damaged.
pub(super) fn slot(number: u32, record: &[u8]) -> Option<(SlotRecord, u32)> {
    let flags = record[13];
    if !is_whole(RecordFile::Slot, number, record) {
        return None;
    }
    let stream = if flags & COPIES == 0 { Stream::host } else { Stream::copies };
    let spare = match record[12] {
        EMPTY => Spare::Empty,
        TORN => Spare::Torn,
        DATA => Spare::Data { lpn: Lpn::new(small(record, 0)), version: small(record, 4) },
        _ => return None,
    };
    let slot = SlotRecord {
        spare,
        lost: flags & LOST != 0,
        failed: flags & FAILED != 0,
        erases: small(record, 8),
        opened: word(record, 16),
        stream: stream(flags >> NUMBER),
        mode: if flags & SLC == 0 { Mode::Full } else { Mode::Slc },
    };
    Some((slot, small(record, 24)))
}

pub(super) fn of_block(number: u32, block: BlockRecord) -> RecordBytes {
    let mut record = [0; BYTES];
    record[..4].copy_from_slice(&block.erases.to_le_bytes());
    record[4] = if block.bad { BAD } else { 0 } | if block.dead { DEAD } else { 0 };
    record[8..16].copy_from_slice(&block.openings.to_le_bytes());
    record[16..20].copy_from_slice(&block.slc_erases.to_le_bytes());
    seal(RecordFile::Block, number, record)
}

/// The block of a record; `None` if it is damaged.
pub(super) fn block(number: u32, record: &[u8]) -> Option<BlockRecord> {
    let is_ours = is_whole(RecordFile::Block, number, record) && record[4] <= (BAD | DEAD);
    let (erases, slc_erases) = (small(record, 0), small(record, 16));
    let [bad, dead] = [BAD, DEAD].map(|flag| record[4] & flag != 0);
    let block = BlockRecord { erases, slc_erases, bad, dead, openings: word(record, 8) };
    is_ours.then_some(block)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn any_slot() -> impl Strategy<Value = SlotRecord> {
        let spare = prop_oneof![
            Just(Spare::Empty),
            Just(Spare::Torn),
            (0..u32::MAX - 1, any::<u32>()).prop_map(|(lpn, version)| Spare::Data { lpn: Lpn::new(lpn), version }),
        ];
        (spare, any::<[bool; 4]>(), 0..Stream::MOST, any::<u32>(), any::<u64>()).prop_map(
            |(spare, [lost, failed, copies, slc], number, erases, opened)| {
                let stream = if copies { Stream::copies(number) } else { Stream::host(number) };
                let mode = if slc { Mode::Slc } else { Mode::Full };
                SlotRecord { spare, lost, failed, erases, opened, stream, mode }
            },
        )
    }

    proptest! {
        #[test]
        fn a_record_keeps_its_slot_and_finds_each_changed_bit(number in any::<u32>(), of in any_slot(), sum in any::<u32>(), bit in 0..256_usize) {
            let record = of_slot(number, of, sum);
            prop_assert_eq!(slot(number, &record), Some((of, sum)));
            prop_assert!(!is_blank(&record));
            prop_assert_eq!(slot(number.wrapping_add(1), &record), None, "a record of another slot");
            let mut changed = record;
            changed[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(slot(number, &changed), None);
        }

        #[test]
        fn a_record_keeps_its_block(number in any::<u32>(), [erases, slc_erases] in any::<[u32; 2]>(), [bad, dead] in any::<[bool; 2]>(), openings in any::<u64>(), bit in 0..256_usize) {
            let of = BlockRecord { erases, slc_erases, bad, dead, openings };
            let mut record = of_block(number, of);
            prop_assert_eq!(block(number, &record), Some(of));
            prop_assert_eq!(slot(number, &record), None, "no record of a slot");
            record[bit / 8] ^= 1 << (bit % 8);
            prop_assert_eq!(block(number, &record), None);
        }
    }
}
