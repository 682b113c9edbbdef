//! Tests of the backing store's interface, with a store in memory.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::{Arc, Mutex};

use base::units::Lpn;

use super::*;
use crate::nand::{FaultSpec, Faults, SectorKind, Stamp};

/// The calls that a store has received, in their order.
#[derive(Clone, Debug, Default)]
struct StoreCalls {
    slots: BTreeMap<u32, SlotRecord>,
    content: BTreeMap<u32, Vec<u8>>,
    blocks: BTreeMap<u32, BlockRecord>,
    images: BTreeMap<(u32, u8), (u32, Vec<u32>)>,
    calls: Vec<&'static str>,
    damaged: Option<Psn>,
    refused: Option<Psn>,
}

#[derive(Clone, Debug, Default)]
struct Memory(Arc<Mutex<StoreCalls>>);

impl Memory {
    fn kept(&self) -> StoreCalls {
        self.0.lock().expect("no panic").clone()
    }

    fn note<T>(&self, call: &'static str, change: impl FnOnce(&mut StoreCalls) -> T) -> T {
        let mut kept = self.0.lock().expect("no panic");
        kept.calls.push(call);
        change(&mut kept)
    }
}

impl BackingStore for Memory {
    fn program(&mut self, first: Psn, slots: &mut dyn Iterator<Item = ProgrammedSlot<'_>>) {
        self.note("program", |kept| {
            for (psn, (record, content)) in (first.get()..).zip(slots) {
                kept.slots.insert(psn, record);
                kept.content.remove(&psn);
                kept.content.extend(content.map(|content| (psn, content.to_vec())));
            }
        });
    }

    fn change(&mut self, first: Psn, slots: &mut dyn Iterator<Item = SlotRecord>) {
        self.note("change", |kept| kept.slots.extend((first.get()..).zip(slots)));
    }

    fn retire(&mut self, first: BlockId, blocks: &mut dyn Iterator<Item = BlockRecord>) {
        self.note("retire", |kept| kept.blocks.extend((first.get()..).zip(blocks)));
    }

    fn erase(&mut self, first: BlockId, blocks: &mut dyn Iterator<Item = BlockRecord>, slots: Range<u32>) {
        self.note("erase", |kept| {
            kept.blocks.extend((first.get()..).zip(blocks));
            kept.content.retain(|slot, _| !slots.contains(slot));
        });
    }

    fn image(&mut self, image: ImageRecord<'_>) {
        let content = (image.version, image.entries.to_vec());
        self.note("image", |kept| kept.images.insert((image.page, image.place), content));
    }

    fn read(&self, psn: Psn, into: &mut [u8]) -> StoredContent {
        let kept = self.0.lock().expect("no panic");
        match kept.content.get(&psn.get()) {
            _ if kept.damaged == Some(psn) => StoredContent::Damaged,
            Some(content) => {
                into.copy_from_slice(content);
                StoredContent::Stored
            }
            None => StoredContent::Derived,
        }
    }

    fn refuse(&self, psn: Psn) {
        self.0.lock().expect("no panic").refused = Some(psn);
    }

    fn duplicate(&self) -> Box<dyn BackingStore> {
        Box::new(Self(Arc::new(Mutex::new(self.kept()))))
    }
}

const BLOCK: SuperblockId = SuperblockId::new(1);

/// A new array: superblocks of two planes, with rows of four slots in two pages.
fn new() -> Media {
    let geometry = Geometry::new(1, 1, 1, 2, 2, 4, 6, 2, 2).expect("a small array");
    Media::new(geometry, 10, 1, Faults::new(&FaultSpec::default(), 1)).with_content(SectorKind::Stamp)
}

fn kept() -> (Media, Memory) {
    let (mut media, memory) = (new(), Memory::default());
    media.keep_in(Box::new(memory.clone()));
    (media, memory)
}

/// The array that a new process restores from a store.
fn recalled(memory: &Memory) -> Media {
    let (mut media, kept) = (new(), memory.kept());
    kept.blocks.iter().for_each(|(block, record)| media.recall_block(BlockId::new(*block), *record));
    for (psn, record) in &kept.slots {
        media.recall_slot(Psn::new(*psn), *record).expect("no contradiction");
    }
    for ((page, place), (version, entries)) in &kept.images {
        media.recall_image(ImageRecord { page: *page, place: *place, version: *version, entries });
    }
    media.attach(Box::new(memory.clone()));
    media
}

fn program(media: &mut Media, superblock: SuperblockId, offset: u32, version: u32) -> bool {
    let stamps: Vec<Stamp> = (0..8).map(|i| Stamp(u64::from(version * 100 + offset * 2 + i))).collect();
    let spare = |i: usize| (Spare::Data { lpn: Lpn::new(offset + i as u32), version }, false);
    media.program_sectors(Target { superblock, offset }, 4, (Stream::COPIES, Mode::Full), spare, &stamps)
}

/// Compares everything that a mount and a read can observe in two arrays.
fn assert_same(one: &mut Media, other: &mut Media) {
    assert_eq!((&one.blocks, &one.spares, &one.unreadable), (&other.blocks, &other.spares, &other.unreadable));
    assert_eq!((one.births, one.bad, one.failing), (other.births, other.bad, other.failing));
    for psn in (0..one.geometry.slot_count()).map(Psn::new).filter(|psn| one.holds_data(*psn)).collect::<Vec<_>>() {
        let mut data = [[Stamp(0); 2]; 2];
        let reads = (one.read_sectors(psn, &mut data[0]), other.read_sectors(psn, &mut data[1]));
        assert_eq!((reads.0, data[0]), (reads.1, data[1]), "{psn}");
    }
}

#[test]
fn an_array_is_recalled_as_it_was() {
    let (mut media, memory) = kept();
    for step in 0..6 {
        match step {
            0 => assert!(program(&mut media, BLOCK, 0, 1)),
            1 => {
                media.faults_mut().fail_program(1);
                assert!(!program(&mut media, SuperblockId::new(2), 0, 2));
            }
            2 => assert!(media.erase(SuperblockId::new(2)) && program(&mut media, SuperblockId::new(2), 0, 3)),
            3 => {
                media.faults_mut().fail_read(0);
                media.read_page(media.geometry.slot(BLOCK, 0));
            }
            4 => media.retire(SuperblockId::new(3)),
            _ => media.tear_erase(BLOCK),
        }
        assert_same(&mut media.clone(), &mut recalled(&memory));
    }
    media.erase(BLOCK);
    media.erase(SuperblockId::new(2));
    assert_eq!(recalled(&memory).births, 6, "the openings of blocks that have been erased count");
    assert!(memory.kept().content.is_empty(), "what is erased is dropped");
}

#[test]
fn a_torn_program_is_recalled_torn() {
    for seed in 0..20 {
        let (mut media, memory) = kept();
        media = media.with_paired_pages(3);
        media.faults = Faults::new(&FaultSpec::default(), seed);
        (0..2).for_each(|row| assert!(program(&mut media, BLOCK, row * 4, 1)));
        media.tear_program(Target { superblock: BLOCK, offset: 4 }, 4);
        assert_same(&mut media, &mut recalled(&memory).with_paired_pages(3));
    }
}

#[test]
fn translation_pages_are_stored_before_the_program_that_makes_them_count() {
    let (mut media, memory) = kept();
    media.stage_image(7, None, 4, &[1, 2]);
    media.stage_image(9, None, 5, &[]);
    assert!(memory.kept().images.is_empty());
    program(&mut media, BLOCK, 0, 4);
    assert_eq!(memory.kept().calls[1..], ["image", "image", "program"], "behind the record of the first block");
    media.image_to_fill(9, 5, 3)[1] = 6;
    program(&mut media, BLOCK, 4, 4);
    assert_eq!(memory.kept().calls.len(), 5, "it is not complete");
    media.image_is_filled(9, 5);
    media.stage_image(7, Some(4), 6, &[3]);
    program(&mut media, BLOCK, 8, 4);
    let recalled = recalled(&memory);
    let images =
        [(7, 4), (7, 6), (9, 5)].map(|(page, version)| recalled.image(page, version).map(|image| image.to_vec()));
    assert_eq!(images, [Some(vec![1, 2]), Some(vec![3]), Some(vec![0, 6, 0])]);
}

#[test]
fn planes_that_were_not_erased_together_are_torn() {
    let (mut media, memory) = kept();
    program(&mut media, BLOCK, 0, 1);
    let old = memory.kept();
    media.erase(BLOCK);
    let second = media.geometry.block(BLOCK, 1).get();
    memory.note("", |kept| (kept.blocks.remove(&second), kept.content = old.content));
    for _ in 0..2 {
        let mut media = recalled(&memory);
        assert_eq!((media.erases(BLOCK), media.is_erased(BLOCK)), (1, false));
        assert!((0..24).all(|offset| media.spare(media.geometry.slot(BLOCK, offset)) == Spare::Torn));
        assert_same(&mut media.clone(), &mut media);
    }
    assert!(memory.kept().content.is_empty(), "the erase has been completed");
}

#[test]
fn damaged_content_is_an_uncorrectable_read_or_ends_the_drive() {
    let (mut media, memory) = kept();
    program(&mut media, BLOCK, 0, 1);
    let psn = media.geometry.slot(BLOCK, 1);
    memory.note("", |kept| kept.damaged = Some(psn));
    let mut data = [Stamp(9); 2];
    assert_eq!((media.read_sectors(psn, &mut data).readable, data), (false, [Stamp(0); 2]));
    let error = media.save(&mut Vec::new()).expect_err("no snapshot has such content").to_string();
    assert_eq!(error, format!("the content of slot {} is damaged", psn.get()));
    assert_eq!(memory.kept().refused, None);
    assert_eq!(media.content::<Stamp>(psn, 1), Stamp(0));
    assert_eq!(memory.kept().refused, Some(psn), "content for which no status is returned");
}

#[test]
fn used_flash_moves_into_a_store_and_back_into_a_snapshot() {
    let mut media = new();
    (0..3).for_each(|row| assert!(program(&mut media, BLOCK, row * 4, row)));
    media.erase(SuperblockId::new(2));
    media.retire(SuperblockId::new(3));
    media.stage_image(1, None, 3, &[5]);
    let mut bytes = [Vec::new(), Vec::new()];
    media.save(&mut bytes[0]).expect("memory");
    let (mut before, memory) = (media.clone(), Memory::default());
    media.keep_in(Box::new(memory.clone()));
    assert_same(&mut before, &mut media);
    assert_same(&mut before, &mut recalled(&memory));
    recalled(&memory).save(&mut bytes[1]).expect("memory");
    assert!(bytes[0] == bytes[1]);
}

#[test]
fn a_copy_of_an_array_leaves_its_store_alone() {
    let (mut media, memory) = kept();
    program(&mut media, BLOCK, 0, 1);
    let before = memory.kept().calls.len();
    let mut copy = media.clone();
    copy.erase(BLOCK);
    assert_eq!(memory.kept().calls.len(), before);
    assert!(media.holds_data(media.geometry.slot(BLOCK, 0)) && !copy.holds_data(media.geometry.slot(BLOCK, 0)));
}

#[test]
fn a_record_that_contradicts_the_others_is_refused() {
    let (mut media, memory) = kept();
    program(&mut media, BLOCK, 0, 1);
    let (psn, record) = memory.kept().slots.into_iter().next().expect("a slot");
    let error = new().recall_slot(Psn::new(psn), SlotRecord { erases: 1, ..record }).expect_err("no such erase");
    assert_eq!(error, Contradiction::Erases { slot: 1, block: 0 });
    let geometry = Geometry::new(1, 1, 1, 1, 1, 4, 6, 2, 16).expect("an array with narrow spare areas");
    let mut media = Media::new(geometry, 10, 1, Faults::new(&FaultSpec::default(), 1)).with_content(SectorKind::Stamp);
    let spare = Spare::Data { lpn: Lpn::new(1 << 24), version: 1 };
    assert_eq!(media.recall_slot(Psn::new(0), SlotRecord { spare, ..record }), Err(Contradiction::Spare));
}
