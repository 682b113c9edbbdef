//! The log of translation pages.

use std::collections::BTreeMap;

use base::engine::Rng;
use flash::nand::ImageRecord;

use super::memory::Memory;
use crate::state::error::{DamagedPlace, StateError};
use crate::state::folder::Folder;
use crate::state::images::ImageLog;

const NAME: &str = "main.images";

type ImagePages = BTreeMap<(u32, u8), (u32, Vec<u32>)>;

fn open(files: &Memory) -> Result<(ImageLog, ImagePages), StateError> {
    let mut held = ImagePages::new();
    let log = ImageLog::open(&files.folder(), NAME.to_owned(), false, |image| {
        held.insert((image.page, image.place), (image.version, image.entries.to_vec()));
    })?;
    Ok((log, held))
}

#[test]
fn a_log_keeps_the_last_content_of_each_place_and_stays_short() {
    let files = Memory::default();
    let mut log = ImageLog::create(&files.folder(), NAME.to_owned(), false).expect("memory");
    let (mut rng, mut expected, mut longest) = (Rng::stream(1, "serve.images"), ImagePages::new(), 0);
    for version in 0..4000 {
        let (page, place) = (rng.below(20) as u32, rng.below(2) as u8);
        let entries: Vec<u32> = (0..rng.below(40)).map(|i| version ^ i as u32).collect();
        log.append(ImageRecord { page, place, version, entries: &entries }).expect("memory");
        expected.insert((page, place), (version, entries));
        longest = longest.max(files.lock().file(NAME).len());
        if version % 500 == 0 {
            let (again, held) = open(&files).expect("a log");
            assert_eq!(held, expected, "after version {version}");
            log = again;
        }
    }
    assert!(longest < 20_000, "{longest} bytes, of 4000 entries");
}

#[test]
fn the_end_of_a_log_may_be_cut_off_and_nothing_else() {
    let files = Memory::default();
    let mut log = ImageLog::create(&files.folder(), NAME.to_owned(), false).expect("memory");
    let mut ends = vec![0];
    for version in 0..4 {
        log.append(ImageRecord { page: version, place: 0, version, entries: &[version; 3] }).expect("memory");
        ends.push(files.lock().file(NAME).len());
    }
    let all = files.lock().file(NAME).clone();
    for len in 0..all.len() {
        let files = files.copy();
        files.lock().file(NAME).truncate(len);
        let whole = ends.iter().filter(|end| **end <= len).count() - 1;
        let (mut log, held) = open(&files).expect("a process was killed");
        assert_eq!((held.len(), files.lock().file(NAME).len()), (whole, ends[whole]), "{len} bytes");
        log.append(ImageRecord { page: 9, place: 1, version: 9, entries: &[7] }).expect("memory");
        assert_eq!(open(&files).expect("a log").1.get(&(9, 1)), Some(&(9, vec![7])));
    }
    for bit in 0..all.len() * 8 {
        let files = files.copy();
        files.lock().file(NAME)[bit / 8] ^= 1 << (bit % 8);
        let error = open(&files).map(drop).expect_err("damage");
        let byte = ends.iter().rfind(|end| **end <= bit / 8).map(|end| *end as u64).expect("an entry");
        let place = DamagedPlace::Record { byte };
        assert!(
            matches!(error, StateError::Damaged { path, place: found } if found == place && path == files.path(NAME))
        );
    }
}

#[test]
fn a_new_log_is_on_the_disk_before_it_has_the_name() {
    for is_synced in [false, true] {
        let files = Memory::default();
        let mut log = ImageLog::create(&files.folder(), NAME.to_owned(), is_synced).expect("memory");
        let mut appended = 0;
        // The file becomes shorter when a new log replaces it.
        loop {
            let before = files.lock().file(NAME).len();
            log.append(ImageRecord { page: 1, place: 0, version: appended, entries: &[7; 40] }).expect("memory");
            appended += 1;
            if files.lock().file(NAME).len() < before {
                break;
            }
        }
        let files = files.lock();
        // The last change is the renaming.
        let synced = [(files.writes - 1, vec![format!("{NAME}.new")])];
        assert_eq!(files.synced, synced[..usize::from(is_synced)], "after {appended} pages");
    }
}
