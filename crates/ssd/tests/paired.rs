//! Paired pages: the places where the page FTL puts data, and the descriptions that refuse the key.

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, SuperblockId};
use flash::backend::Op;
use flash::nand::{Spare, Stamp};
use ssd::{Drive, QueueId, Request, Spec, Ssd};

/// Sectors of a mapping unit, which is a page.
const UNIT: u64 = 8;

fn spec(text: &str) -> Spec {
    let part = if text.contains("part = ") { "" } else { "part = \"K9GAG08U0M\", " };
    let text = format!("name = \"paired\"\nflash = {{ {part}channels = 1, chips = 1, blocks = 16, {text}");
    toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The mapping units of each non-empty word line after writes of these numbers of units. Each write begins when the
/// writes before it have ended, or all begin at once.
fn word_lines(writes: &[u64], at_once: bool) -> Vec<Vec<u32>> {
    let spec = spec("paired-pages = true }\nftl = { over-provisioning = \"40%\" }\n");
    let mut drive: Ssd<Stamp> = Ssd::new(&spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}")), 7);
    let mut unit = 0;
    for (tag, units) in (0..).zip(writes) {
        let io = Io::new(IoKind::Write, Lba::new(unit * UNIT), Sectors::new(units * UNIT));
        let data = vec![Stamp(1); io.sectors.get() as usize];
        drive.submit(drive.now(), Request { tag, queue: QueueId::default(), io, data });
        unit += units;
        if !at_once {
            drive.drain(&mut Vec::new());
        }
    }
    drive.drain(&mut Vec::new());
    assert_eq!(drive.counters().flash.op(Op::Program).commands, unit, "a program for each page, and none for padding");
    let (media, geometry) = (drive.media(), drive.media().geometry());
    let pages = (0..geometry.superblock_count()).map(SuperblockId::new).flat_map(|superblock| {
        (0..geometry.pages).map(move |page| match media.spare(geometry.slot(superblock, page)) {
            Spare::Data { lpn, .. } => Some(lpn.get()),
            Spare::Empty | Spare::Torn => None,
        })
    });
    let pages: Vec<_> = pages.collect();
    pages
        .chunks(2)
        .map(|line| line.iter().flatten().copied().collect())
        .filter(|line: &Vec<_>| !line.is_empty())
        .collect()
}

#[test]
fn a_write_never_joins_a_word_line_that_holds_an_acknowledged_one() {
    assert_eq!(word_lines(&[1, 1, 1], false), [[0], [1], [2]]);
    assert_eq!(word_lines(&[2, 3, 1], false), [vec![0, 1], vec![2, 3], vec![4], vec![5]]);
    // Writes that come while the die works fill word lines.
    assert_eq!(word_lines(&[1, 1, 1, 1, 1, 1], true), [vec![0], vec![1, 2], vec![3, 4], vec![5]]);
}

#[test]
fn the_key_is_refused_where_it_has_no_effect_or_the_ftl_no_answer() {
    for (text, wanted) in [
        (
            "part = \"dirik-2009\", paired-pages = true }",
            "flash.paired-pages: has no effect here: a cell of the part has one bit",
        ),
        (
            "part = \"sk-hynix-176l-tlc\", paired-pages = true }",
            "flash.paired-pages: has no effect here: a program covers all pages of its word line",
        ),
        (
            "pages = 127, paired-pages = true }",
            "flash.paired-pages: a block of 127 pages is not a whole number of word",
        ),
        (
            "paired-pages = true }\nftl = { kind = \"fast\" }",
            "flash.paired-pages: a power cut would damage pages that this FTL has acknowledged",
        ),
        (
            "paired-pages = true }\nftl = { kind = \"chang\" }",
            "flash.paired-pages: a power cut would damage pages that this FTL has acknowledged",
        ),
    ] {
        let faults = spec(text).resolve().map_or_else(|faults| faults, |_| Vec::new());
        let faults: Vec<_> = faults.iter().map(ToString::to_string).collect();
        assert!(faults.iter().any(|fault| fault.starts_with(wanted)), "{text}: {faults:?}");
    }
}
