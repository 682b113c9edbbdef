//! Snapshots of a flash array: the state that a device keeps without power.
//!
//! A snapshot is a stream of little-endian words in this order: the magic, the version and the geometry; every block;
//! the spare area of every slot (as [runs](crate::nand::write_numbers)); the unreadable slots; the payload block by
//! block; the translation pages, whose entries are such runs, too; and, if reads have errors, the state on which errors
//! depend. The stream comes in pieces, each after its length, so that a reader stops exactly at its end; a checksum of
//! all pieces follows.

mod cells;

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read, Write};
use std::sync::Arc;

use base::units::{BlockId, DieId};

use super::snapshot_error::{SnapshotError, VERSION};
use super::writes::Writes;
use super::{Backing, Block, CellState, Content, Images, Media, Mode, SlcMode, Spares, Stream};
use crate::nand::{ErrorModel, Faults, Geometry, SectorKind, read_numbers, write_numbers};

const MAGIC: [u8; 16] = *b"flashloom media\n";
/// Number of bytes that are hashed and written at once.
const CHUNK: usize = 1 << 16;

/// A checksum over the order, position and content of the words.
#[derive(Clone, Copy)]
struct Checksum(u64);

impl Checksum {
    fn add(&mut self, bytes: &[u8]) {
        for word in bytes.chunks(8) {
            let mut padded = [0; 8];
            padded[..word.len()].copy_from_slice(word);
            self.0 = (self.0 ^ u64::from_le_bytes(padded)).wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29);
        }
    }
}

/// Writes bytes, hashed in chunks.
struct Sink<'a, W> {
    to: &'a mut W,
    buffer: Vec<u8>,
    checksum: Checksum,
}

impl<W: Write> Sink<'_, W> {
    fn put(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let (now, later) = bytes.split_at(bytes.len().min(CHUNK - self.buffer.len()));
            self.buffer.extend_from_slice(now);
            bytes = later;
            if self.buffer.len() == CHUNK {
                self.pass_on()?;
            }
        }
        Ok(())
    }

    fn pass_on(&mut self) -> io::Result<()> {
        if self.buffer.is_empty() {
            return Ok(());
        }
        let len = (self.buffer.len() as u32).to_le_bytes();
        self.checksum.add(&len);
        self.checksum.add(&self.buffer);
        self.to.write_all(&len)?;
        self.to.write_all(&self.buffer)?;
        self.buffer.clear();
        Ok(())
    }

    fn small(&mut self, number: u32) -> io::Result<()> {
        self.put(&number.to_le_bytes())
    }

    fn word(&mut self, number: u64) -> io::Result<()> {
        self.put(&number.to_le_bytes())
    }
}

/// Reads bytes, hashed in the same chunks.
struct Tap<'a, R> {
    from: &'a mut R,
    buffer: Vec<u8>,
    used: usize,
    checksum: Checksum,
}

impl<R: Read> Tap<'_, R> {
    fn get(&mut self, mut into: &mut [u8]) -> Result<(), SnapshotError> {
        while !into.is_empty() {
            if self.used == self.buffer.len() {
                self.refill()?;
            }
            let n = into.len().min(self.buffer.len() - self.used);
            let (now, later) = into.split_at_mut(n);
            now.copy_from_slice(&self.buffer[self.used..self.used + n]);
            self.used += n;
            into = later;
        }
        Ok(())
    }

    fn refill(&mut self) -> Result<(), SnapshotError> {
        let mut len = [0; 4];
        self.from.read_exact(&mut len)?;
        self.checksum.add(&len);
        let len = u32::from_le_bytes(len) as usize;
        if len == 0 || len > CHUNK {
            return Err(SnapshotError::Damaged);
        }
        self.buffer.resize(len, 0);
        self.from.read_exact(&mut self.buffer)?;
        self.checksum.add(&self.buffer);
        self.used = 0;
        Ok(())
    }

    fn small(&mut self) -> Result<u32, SnapshotError> {
        let mut bytes = [0; 4];
        self.get(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn word(&mut self) -> Result<u64, SnapshotError> {
        let mut bytes = [0; 8];
        self.get(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    /// True if the end of the pieces is reached and their checksum is right.
    fn is_whole(&mut self) -> Result<bool, SnapshotError> {
        let mut sum = [0; 8];
        self.from.read_exact(&mut sum)?;
        Ok(self.used == self.buffer.len() && u64::from_le_bytes(sum) == self.checksum.0)
    }
}

const fn dimensions(g: &Geometry) -> [u32; 9] {
    [g.channels, g.chips, g.dies, g.planes, g.stripe, g.blocks, g.pages, g.slots, g.sectors]
}

fn shape([channels, chips, dies, planes, stripe, blocks, pages, slots, sectors]: [u32; 9]) -> String {
    format!(
        "{channels} channels x {chips} chips x {dies} dies x {planes} planes (worked on {stripe} at a time) x \
         {blocks} blocks x {pages} pages x {slots} mapping units of {sectors} sectors"
    )
}

/// The number of map entries that fit into a sector.
const ENTRIES: u32 = 128;

/// The number of words of a checkpoint's record before its bits.
const HEAD: u32 = 2;

/// A flag in the byte of a block's stream: the block is in SLC mode.
const SLC: u8 = 2;

/// Flags in one byte of a block: the block is bad, a program failed in it, and its die has failed as a whole.
const BAD: u8 = 1;
const FAILING: u8 = 2;
const DEAD: u8 = 4;

/// The ways to store the payload of a block: derived from the spare areas, or as data.
const DERIVED: u8 = 0;
const DATA: u8 = 1;

impl Media {
    /// True if the array is unchanged since it was new, and no block is bad from the factory.
    #[must_use]
    pub fn is_new(&self) -> bool {
        let untouched = |block: &Block| *block == Block::default();
        self.births == 0 && self.images.iter().next().is_none() && self.blocks.iter().all(untouched)
    }

    /// Writes the array's state. Planned faults are not part of it.
    ///
    /// # Errors
    /// If `to` cannot be written.
    pub fn save(&self, to: &mut impl Write) -> io::Result<()> {
        let mut sink = Sink { to, buffer: Vec::with_capacity(CHUNK), checksum: Checksum(0) };
        sink.put(&MAGIC)?;
        sink.small(VERSION)?;
        dimensions(&self.geometry).into_iter().try_for_each(|n| sink.small(n))?;
        sink.small(self.kind.bytes() as u32)?;
        sink.word(self.births)?;
        for (id, block) in (0..).map(BlockId::new).zip(&self.blocks) {
            sink.word(block.opened)?;
            sink.small(block.next_page)?;
            sink.small(block.erases)?;
            sink.small(block.slc_erases)?;
            let slc = if block.mode == Mode::Slc { SLC } else { 0 };
            let dead = self.is_dead(self.geometry.superblock_of(id));
            let flags = [(block.bad, BAD), (block.failing, FAILING), (dead, DEAD)];
            let broken = flags.iter().filter(|(is_set, _)| *is_set).fold(0, |all, (_, flag)| all | flag);
            sink.put(&[block.stream.byte() | slc, broken])?;
        }
        write_numbers(self.spares.words(), &mut |bytes| sink.put(bytes))?;
        sink.word(self.unreadable.len() as u64)?;
        self.unreadable.iter().try_for_each(|slot| sink.small(*slot))?;
        for block in 0..if self.kind.is_present() { self.blocks.len() } else { 0 } {
            match self.payload_of(block)? {
                None => sink.put(&[DERIVED])?,
                Some(data) => {
                    sink.put(&[DATA])?;
                    sink.put(&data)?;
                }
            }
        }
        sink.word(self.images.iter().count() as u64)?;
        for (page, version, entries) in self.images.iter() {
            [page, version, entries.len() as u32].into_iter().try_for_each(|n| sink.small(n))?;
            write_numbers(entries.iter().map(|entry| u64::from(*entry)), &mut |bytes| sink.put(bytes))?;
        }
        cells::save(&mut sink, self.cells.as_deref())?;
        sink.pass_on()?;
        let sum = sink.checksum.0;
        to.write_all(&sum.to_le_bytes())?;
        to.flush()
    }

    /// Loads an array of this shape with sectors of this kind; the other arguments are as for [`Media::new`]. A payload
    /// that this array does not need is skipped. A payload that the snapshot lacks becomes the content that
    /// preconditioning writes.
    ///
    /// # Errors
    ///
    /// If the snapshot cannot be read, is of another version or another array, was cut short or changed.
    pub fn load(
        kind: SectorKind,
        geometry: Geometry,
        endurance: u32,
        one_shot: u32,
        faults: Faults,
        errors: Option<(&Arc<ErrorModel>, u64)>,
        from: &mut impl Read,
    ) -> Result<Self, SnapshotError> {
        let mut tap = Tap { from, buffer: Vec::with_capacity(CHUNK), used: 0, checksum: Checksum(0) };
        let held = head(&mut tap, &geometry, kind)?;
        let births = tap.word()?;
        let (blocks, dead_dies) = blocks(&mut tap, &geometry)?;
        let (spares, writes) = spares(&mut tap, &geometry, kind)?;
        let mut unreadable = BTreeSet::new();
        for _ in 0..tap.word()? {
            unreadable.insert(tap.small()?);
        }
        let payload = payload(&mut tap, &geometry, kind, held)?;
        let images = images(&mut tap, &geometry)?;
        let mut cells = errors.map(|(model, seed)| {
            let pages = geometry.slot_count() / geometry.slots;
            Box::new(CellState::new(model, (pages, geometry.block_count()), seed))
        });
        cells::load(&mut tap, &geometry, cells.as_deref_mut())?;
        if !tap.is_whole()? || unreadable.last().is_some_and(|slot| *slot >= geometry.slot_count()) {
            return Err(SnapshotError::Damaged);
        }
        let bad = blocks.iter().filter(|block| block.bad).count() as u64;
        let failing = blocks.iter().filter(|block| block.failing).count() as u32;
        let mut loaded = Self {
            kind,
            endurance,
            endurance_spread: None,
            one_shot,
            paired: 1,
            slc_mode: SlcMode::NONE,
            blocks,
            spares,
            payload,
            writes,
            backing: Backing::default(),
            images,
            unreadable,
            tentative: BTreeMap::new(),
            unreadable_copies: 0,
            dead_dies,
            faults,
            cells,
            births,
            bad,
            failing,
            geometry,
        };
        loaded.find_sparse();
        Ok(loaded)
    }
}

/// Checks that a snapshot is of such an array. Returns the number of bytes of its sectors; 0 if it has none.
fn head<R: Read>(tap: &mut Tap<'_, R>, geometry: &Geometry, kind: SectorKind) -> Result<u32, SnapshotError> {
    let mut magic = [0; 16];
    tap.get(&mut magic)?;
    if magic != MAGIC {
        return Err(SnapshotError::Foreign);
    }
    let version = tap.small()?;
    if version != VERSION {
        return Err(SnapshotError::Version(version));
    }
    let mut found = [0; 9];
    for dimension in &mut found {
        *dimension = tap.small()?;
    }
    if found != dimensions(geometry) {
        return Err(SnapshotError::Geometry { found: shape(found), expected: shape(dimensions(geometry)) });
    }
    let held = tap.small()?;
    let expected = kind.bytes() as u32;
    if kind.is_present() && held != 0 && held != expected {
        return Err(SnapshotError::Sector { found: held, expected });
    }
    Ok(held)
}

/// Loads all blocks, and the dies that have failed as a whole.
fn blocks<R: Read>(tap: &mut Tap<'_, R>, geometry: &Geometry) -> Result<(Vec<Block>, Vec<DieId>), SnapshotError> {
    let (mut blocks, mut dead_dies) = (Vec::with_capacity(geometry.block_count() as usize), Vec::new());
    for id in (0..geometry.block_count()).map(BlockId::new) {
        let (block, is_dead) = block(tap, geometry)?;
        blocks.push(block);
        dead_dies.extend(is_dead.then(|| geometry.die_of(geometry.superblock_of(id))));
    }
    dead_dies.dedup();
    Ok((blocks, dead_dies))
}

/// Loads all spare areas. The table of writes begins behind their versions.
fn spares<R: Read>(
    tap: &mut Tap<'_, R>,
    geometry: &Geometry,
    kind: SectorKind,
) -> Result<(Spares, Writes), SnapshotError> {
    let (mut spares, mut writes) = (Spares::new(geometry), Writes::new(geometry, kind));
    let mut slot = 0;
    read_numbers(geometry.slot_count().into(), &mut |bytes| tap.get(bytes), &mut |run| {
        // The checksum comes later, so the words may be damaged.
        if !spares.set_run(slot, run) {
            return Err(SnapshotError::Damaged);
        }
        slot += run.count as usize;
        Spares::versions(run).for_each(|version| writes.begin_behind(version));
        Ok(())
    })?;
    Ok((spares, writes))
}

/// Loads a block. Also returns true if its die has failed as a whole.
fn block<R: Read>(tap: &mut Tap<'_, R>, geometry: &Geometry) -> Result<(Block, bool), SnapshotError> {
    let (order, next_page, erases, slc_erases) = (tap.word()?, tap.small()?, tap.small()?, tap.small()?);
    let mut flags = [0; 2];
    tap.get(&mut flags)?;
    let mode = if flags[0] & SLC == 0 { Mode::Full } else { Mode::Slc };
    let stream = Stream::of_byte(flags[0] & !SLC).ok_or(SnapshotError::Damaged)?;
    if flags[1] > (BAD | FAILING | DEAD) || next_page > geometry.pages || slc_erases > erases {
        return Err(SnapshotError::Damaged);
    }
    let [bad, failing, dead] = [BAD, FAILING, DEAD].map(|flag| flags[1] & flag != 0);
    Ok((Block { opened: order, stream, mode, next_page, erases, slc_erases, bad, failing, sparse: false }, dead))
}

fn payload<R: Read>(
    tap: &mut Tap<'_, R>,
    geometry: &Geometry,
    kind: SectorKind,
    held: u32,
) -> Result<Vec<Content>, SnapshotError> {
    let blocks = geometry.block_count() as usize;
    if held == 0 {
        return Ok(if kind.is_present() { vec![Content::Derived; blocks] } else { Vec::new() });
    }
    let slot = (geometry.sectors * held) as usize;
    let mut all = Vec::with_capacity(if kind.is_present() { blocks } else { 0 });
    let mut bytes = vec![0; (geometry.pages * geometry.slots) as usize * slot];
    for _ in 0..blocks {
        let mut form = [0];
        tap.get(&mut form)?;
        if form[0] == DATA {
            tap.get(&mut bytes)?;
        }
        if kind.is_present() {
            all.push(match form[0] {
                DERIVED => Content::Derived,
                DATA => Content::of(kind, bytes.clone().into(), slot),
                _ => return Err(SnapshotError::Damaged),
            });
        }
    }
    Ok(all)
}

fn images<R: Read>(tap: &mut Tap<'_, R>, geometry: &Geometry) -> Result<Images, SnapshotError> {
    let (mut images, mut entries) = (Images::default(), Vec::new());
    let mut before = None;
    for _ in 0..tap.word()? {
        let (page, version, len) = (tap.small()?, tap.small()?, tap.small()?);
        // A damaged length must not be trusted: there are no more pages than slots, and a page has no more entries than
        // fit into its slot. Only the record of a checkpoint has more words, with a bit for each superblock and slot.
        let record = HEAD + geometry.superblock_count().div_ceil(32) + geometry.slot_count().div_ceil(32);
        if page >= geometry.slot_count() || len > record.max(geometry.sectors * ENTRIES) {
            return Err(SnapshotError::Damaged);
        }
        entries.clear();
        read_numbers(len.into(), &mut |bytes| tap.get(bytes), &mut |run| {
            entries.extend(run.numbers().map(|entry| entry as u32));
            Ok(())
        })?;
        let durable = before.take_if(|(last, _)| *last == page).map(|(_, version)| version);
        images.stage(page, durable, version, &entries);
        before = Some((page, version));
    }
    Ok(images)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::{FaultSpec, Sector, Spare, Stamp, Target};
    use base::units::{Lba, Lpn, Psn, SuperblockId};
    use std::borrow::Cow;

    fn geometry(blocks: u32) -> Geometry {
        Geometry::new(1, 1, 1, 2, 2, blocks, 6, 2, 2).expect("a small array")
    }

    fn faults() -> Faults {
        Faults::new(&FaultSpec::default(), 1)
    }

    /// An array with data, content derived from spare areas, a torn page, wear and a bad block.
    fn used<S: Sector>(stamp: impl Fn(u64) -> S) -> Media {
        let mut media = Media::new(geometry(4), 10, 1, faults()).with_content(S::KIND);
        for (superblock, stamped) in [(0, true), (1, false), (2, true)] {
            let derived = |i| S::preconditioned(Lba::new(14 + i), 3);
            let data: Vec<S> = (0..8).map(|i| if stamped { stamp(i + 1) } else { derived(i) }).collect();
            let spare = |i: usize| (Spare::Data { lpn: Lpn::new(7 + i as u32), version: 3 }, i == 2);
            let target = Target { superblock: SuperblockId::new(superblock), offset: 0 };
            // The last superblock is erased again.
            let mode = if superblock == 0 { Mode::Full } else { Mode::Slc };
            media.program_sectors(target, 4, (Stream::COPIES, mode), spare, &data);
        }
        media.erase(SuperblockId::new(2));
        media.faults_mut().fail_program(0);
        let spare = |i: usize| (Spare::Data { lpn: Lpn::new(7 + i as u32), version: 9 }, false);
        let target = Target { superblock: SuperblockId::new(0), offset: 4 };
        assert!(!media.program_sectors(target, 4, (Stream::HOST, Mode::Full), spare, &[stamp(5); 8]), "one page fails");
        media.tear_erase(SuperblockId::new(3));
        media.retire(SuperblockId::new(2));
        media.stage_image(1, None, 4, &[7, u32::MAX, 9]);
        media.stage_image(1, Some(4), 6, &[8]);
        media.stage_image(3, None, 5, &[]);
        media
    }

    fn saved(media: &Media) -> Vec<u8> {
        let mut bytes = Vec::new();
        media.save(&mut bytes).expect("memory can be written");
        bytes
    }

    fn load<S: Sector>(bytes: &[u8]) -> Result<Media, SnapshotError> {
        Media::load(S::KIND, geometry(4), 10, 1, faults(), None, &mut &*bytes)
    }

    #[test]
    fn a_snapshot_keeps_a_block_that_is_bad_and_failing() {
        let mut media = used(Stamp);
        media.retire(SuperblockId::new(0));
        assert!(media.is_failing(SuperblockId::new(0)));
        assert_eq!(load::<Stamp>(&saved(&media)).expect("a snapshot").blocks, media.blocks);
    }

    #[test]
    fn a_saved_snapshot_loads_to_the_same_media() {
        let media = used(Stamp);
        let loaded = load::<Stamp>(&saved(&media)).expect("a snapshot");
        assert_eq!((&loaded.blocks, &loaded.spares), (&media.blocks, &media.spares));
        for block in 0..media.blocks.len() {
            let content = |media: &Media| media.payload_of(block).expect("no store").map(Cow::into_owned);
            assert_eq!(content(&loaded), content(&media), "block {block}");
        }
        assert_eq!(loaded.unreadable, media.unreadable);
        assert_eq!((loaded.births, loaded.bad, loaded.failing), (media.births, media.bad, media.failing));
        assert!(loaded.is_failing(SuperblockId::new(0)) && !loaded.is_failing(SuperblockId::new(1)));
        assert!(loaded.images.iter().eq(media.images.iter()), "translation pages");
        assert_eq!(saved(&loaded), saved(&media));
        let two = [saved(&media), saved(&media)].concat();
        let mut from = &two[..];
        let first = Media::load(SectorKind::Stamp, geometry(4), 10, 1, faults(), None, &mut from).expect("the first");
        assert_eq!((saved(&first), from), (saved(&media), &two[two.len() / 2..]), "nothing behind it is read");
    }

    #[test]
    fn the_record_of_a_checkpoint_may_be_larger_than_a_slot() {
        // The record has a bit for each of 16 superblocks and 8192 slots.
        let large = || Geometry::new(1, 1, 1, 1, 1, 16, 512, 1, 1).expect("an array");
        let load = |words: u32| {
            let mut media = Media::new(large(), 10, 1, faults());
            media.stage_image(1, None, 4, &vec![7; words as usize]);
            Media::load(SectorKind::Nothing, large(), 10, 1, faults(), None, &mut &saved(&media)[..])
        };
        assert_eq!(load(259).expect("a snapshot").image(1, 4).map(|image| image.len()), Some(259));
        assert!(load(260).is_err());
    }

    #[test]
    fn a_load_derives_a_missing_payload_and_skips_an_unwanted_one() {
        let stamped = saved(&used(Stamp));
        let timing = load::<()>(&stamped).expect("a snapshot");
        assert_eq!((&timing.spares, timing.payload.len()), (&used(|_| ()).spares, 0));
        let stamps = load::<Stamp>(&saved(&used(|_| ()))).expect("a snapshot");
        assert!(stamps.payload.iter().all(|block| *block == Content::Derived));
        assert_eq!(stamps.content::<Stamp>(Psn::new(1), 1), Stamp::preconditioned(Lba::new(17), 3));
        let bytes = load::<crate::nand::Bytes512>(&stamped).expect_err("other sectors");
        assert!(bytes.to_string().contains("with 8 bytes per sector, and this run needs 512"), "{bytes}");
    }

    #[test]
    fn a_snapshot_with_a_changed_or_missing_byte_is_refused() {
        let bytes = saved(&used(Stamp));
        for len in 0..bytes.len() {
            assert!(load::<Stamp>(&bytes[..len]).is_err(), "cut to {len} bytes");
        }
        for bit in 0..bytes.len() * 8 {
            let mut changed = bytes.clone();
            changed[bit / 8] ^= 1 << (bit % 8);
            assert!(load::<Stamp>(&changed).is_err(), "bit {bit} changed");
        }
    }

    #[test]
    fn a_foreign_file_and_a_snapshot_of_another_array_are_refused() {
        let foreign = load::<()>(b"\x10\0\0\0PK\x03\x04 and so on, long enough").expect_err("no snapshot");
        assert!(matches!(foreign, SnapshotError::Foreign));
        let other =
            Media::load(SectorKind::Nothing, geometry(5), 10, 1, faults(), None, &mut &saved(&used(|_| ()))[..]);
        let text = other.expect_err("another array").to_string();
        assert!(
            text.contains("x 4 blocks x") && text.contains("this device has") && text.contains("x 5 blocks"),
            "{text}"
        );
    }
}
