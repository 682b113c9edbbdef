//! A test that the predicted memory of the simulator is the memory that it allocates.
//!
//! [`allocation_counter`] records the peak of a thread while a drive is made, filled, overwritten at random, and
//! switched off and on again, with stamps and without. The peak comes when the power returns to a full drive.

use base::engine::Rng;
use base::io::{Io, IoKind};
use base::units::{Lba, Ratio, Sectors, Time};
use flash::nand::{Sector, Stamp};
use ssd::{Drive, FtlKind, FtlSpec, Precondition, Purpose, QueueId, Request, ResolvedDevice, Spec, Ssd};

/// The largest accepted difference of an estimate from the allocated memory, as a share.
const TOLERANCE: f64 = 0.25;
/// The tolerance for drives that are mostly tables, whose sizes are exact.
const OF_TABLES: f64 = 0.1;

trait TestContent: Sector {
    const SOMETHING: Self;
}

impl TestContent for () {
    const SOMETHING: Self = ();
}

impl TestContent for Stamp {
    const SOMETHING: Self = Self(7);
}

fn resolved(text: &str) -> ResolvedDevice {
    let spec: Spec = toml::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    spec.resolve().unwrap_or_else(|faults| panic!("{text}: {faults:?}"))
}

/// Overwrites the whole drive by host requests, so that the buffer and all caches are full.
fn write_on<S: Sector>(drive: &mut Ssd<S>, content: S, requests: u64) {
    let (mut rng, mut completions) = (Rng::stream(1, "memory"), Vec::new());
    let unit = drive.discard_granularity().get();
    let units = drive.capacity().get() / unit;
    let mut outstanding = 0;
    for tag in 0..requests {
        // The first writes cover each mapping unit once; the others are random.
        let place = if requests > units && tag < units { tag } else { rng.below(units) };
        let io = Io::new(IoKind::Write, Lba::new(place * unit), Sectors::new(unit));
        let data = vec![content; unit as usize];
        drive.submit(drive.now(), Request { tag, queue: QueueId::default(), io, data });
        outstanding += 1;
        while outstanding > 16 {
            drive.advance(Time::MAX, &mut completions);
            outstanding -= completions.len();
            completions.clear();
        }
    }
}

fn allocated<S: TestContent>(resolved: &ResolvedDevice, precondition: bool, requests: u64) -> u64 {
    let counted = allocation_counter::measure(|| {
        let mut drive: Ssd<S> = Ssd::new(resolved, 1);
        if precondition {
            drive.precondition(Precondition::Fill, &mut |_, _| {});
            drive.precondition(Precondition::RandomOverwrite(0.5), &mut |_, _| {});
        }
        write_on(&mut drive, S::SOMETHING, requests);
        if precondition {
            // Writes are under way at the cut, because a mount that finds stale translation pages keeps the whole map
            // until they are written.
            drive.cut_power();
            drive.power_on(drive.now());
        }
    });
    counted.bytes_max
}

/// Compares the prediction with the allocated memory: both bounds for a used drive, the upper bound for a new one.
fn compare(name: &str, text: &str, requests: u64) {
    compare_within(TOLERANCE, name, text, requests);
}

fn compare_within(tolerance: f64, name: &str, text: &str, requests: u64) {
    let resolved = resolved(text);
    let units = resolved.capacity().get() / u64::from(resolved.geometry.sectors);
    // A page map takes its full memory only with garbage in all blocks. Block-mapped families merge for nearly every
    // write, which is slow, and their memory no longer grows after the first merges.
    let overwritten = if resolved.family.downcast_ref::<ftl::PageConfig>().is_some() { units } else { 100 };
    let mut wrong = Vec::new();
    for (verify, precondition) in [(false, false), (false, true), (true, true)] {
        let purpose = Purpose { verify, precondition, units: None };
        let memory = resolved.memory(purpose);
        let said = memory.total().get() as f64;
        let found = match (precondition, verify) {
            (false, _) => allocated::<()>(&resolved, false, 0),
            (true, false) => allocated::<()>(&resolved, true, requests),
            // A sector has no content before its first write.
            (true, true) => allocated::<Stamp>(&resolved, true, units + overwritten),
        };
        let off = said / found as f64 - 1.0;
        println!("{name} {purpose:?}: said {said:.0}, allocated {found}: {:+.1} %", off * 100.0);
        if off < -tolerance || (off > tolerance && precondition) {
            wrong.push(format!("{name}, {purpose:?}: {off:+.2}, said {memory:?}, allocated {found}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

const FLASH: &str = "name = 'm'\nflash = { part = 'dirik-2009', ";

/// An array of 32,768 pages of 2 KiB, because block-mapped families fill slowly.
const SMALL: &str = "channels = 2, chips = 2, blocks = 128, pages = 64, planes = 1 }\n";

/// An array of 65,536 pages of 2 KiB.
const ARRAY: &str = "channels = 2, chips = 2, blocks = 256, pages = 64, planes = 1 }\n";

#[test]
fn the_page_mapped_ftl_takes_the_memory_it_predicts() {
    let op = "over-provisioning = '30%'";
    compare("page", &format!("{FLASH}{ARRAY}ftl = {{ {op} }}\n"), 1_000);
    let checkpoints = format!("{FLASH}{ARRAY}ftl = {{ {op}, checkpoint = {{ every = '8MiB' }} }}\n");
    compare("checkpoints", &checkpoints, 1_000);
    let errors = "name = 'e'\nflash = { part = 'tlc-72l', channels = 2, chips = 2, blocks = 40, pages = 192, errors = {}, \
                  ecc = { decode = { rate = '1GB/s' }, hard-limit = 180 } }\n";
    compare("errors", &format!("{errors}ftl = {{ {op}, map-unit = '4KiB' }}\n"), 1_000);
    let table = format!("{FLASH}{ARRAY}ftl = {{ {op}, map = {{ kind = 'table' }} }}\n");
    compare("table", &table, 1_000);
    for host in [
        "policy = 'lru', levels = [65_536, 131_072]",
        "policy = 'interval', limits = ['16MiB', '64MiB'], memory = '1MiB'",
        "policy = 'bloom-filters', bits = 1_048_576",
    ] {
        let streams = format!("streams = {{ host = {{ {host} }}, copies = {{ policy = 'same' }} }}");
        compare("streams", &format!("{FLASH}{ARRAY}ftl = {{ {op}, {streams} }}\n"), 1_000);
    }
    let buffer = "buffer = { size = '64MiB' }\n";
    compare("buffer", &format!("{FLASH}{ARRAY}ftl = {{ {op} }}\n{buffer}"), 40_000);
}

#[test]
fn map_units_take_the_memory_they_predict() {
    for (name, map) in [
        ("uncached", "{ kind = 'uncached' }"),
        ("dftl", "{ kind = 'dftl', cmt = '256KiB', write-buffers = 64 }"),
        ("cdftl", "{ kind = 'cdftl', cmt = '64KiB', ctp = '256KiB', write-buffers = 64 }"),
        ("fmmu", "{ kind = 'fmmu', cmt = '64KiB', ctp = '256KiB' }"),
    ] {
        compare(name, &format!("{FLASH}{ARRAY}ftl = {{ over-provisioning = '40%', map = {map} }}\n"), 5_000);
    }
}

#[test]
fn block_and_log_block_ftls_take_the_memory_they_predict() {
    for (name, ftl, more, requests) in [
        ("bast", "kind = 'bast', log = { blocks = 16 }", "", 300),
        ("fast", "kind = 'fast', log = { blocks = 16 }", "", 300),
        ("chang", "kind = 'chang'", "", 300),
        ("chang-pages", "kind = 'chang', chang = { mapping = 'pages' }", "", 300),
        // The SLC array needs this number of requests to become full.
        ("chang-slc", "kind = 'chang'", "slc = { part = 'K9WAG08U1A', size = '8MiB' }\n", 6_000),
    ] {
        compare(name, &format!("{FLASH}{SMALL}ftl = {{ over-provisioning = '30%', {ftl} }}\n{more}"), requests);
    }
    for ftl in FtlKind::UNZONED.into_iter().flat_map(FtlKind::samples) {
        let plain: Spec = toml::from_str(&format!("{FLASH}{SMALL}")).expect("an array");
        // Reserved free blocks take no memory, so the share may be small.
        let ftl = FtlSpec { over_provisioning: Some(Ratio::new(0.15)), ..ftl };
        let text = toml::to_string(&Spec { ftl, ..plain }).expect("a table");
        compare("sample", &text, 300);
    }
}

#[test]
fn hydra_takes_the_memory_it_predicts() {
    let hydra = r"name = 'h'
[flash]
part = 'K9K8G08U0M'
channels = 1
chips = 8
blocks = 256
gang = 4
width = 32
[ftl]
kind = 'hydra'
over-provisioning = '25%'
";
    compare("hydra", hydra, 100);
    compare("hydra-buffer", &format!("{hydra}[buffer]\nsize = '16MiB'\npolicy = 'superblock'\nflush = 'log'\n"), 500);
}

#[test]
fn unusual_shapes_take_the_memory_they_predict() {
    let op = "ftl = { over-provisioning = '60%' }\n";
    // Shapes with many tiny dies, and with many blocks of few pages.
    compare("dies", &format!("{FLASH}channels = 512, chips = 8, blocks = 8, pages = 2, planes = 1 }}\n{op}"), 1_000);
    compare_within(
        OF_TABLES,
        "blocks",
        &format!("{FLASH}channels = 1, chips = 2, blocks = 40000, pages = 2, planes = 1 }}\n{op}"),
        1_000,
    );
    let queues = "host = { queues = 65535 }\n";
    compare_within(
        OF_TABLES,
        "queues",
        &format!("{FLASH}channels = 1, chips = 2, blocks = 32, pages = 16, planes = 1 }}\n{op}{queues}"),
        100,
    );
}

#[test]
fn a_new_drive_takes_no_more_than_predicted_for_the_units_that_are_written() {
    let op = "over-provisioning = '30%'";
    let large = "channels = 2, chips = 2, blocks = 2048, pages = 64, planes = 1 }\n";
    for (name, ftl) in [("page", ""), ("dftl", ", map = { kind = 'dftl', cmt = '256KiB' }")] {
        let resolved = resolved(&format!("{FLASH}{large}ftl = {{ {op}{ftl} }}\n"));
        let said = |units| resolved.memory(Purpose { verify: true, precondition: false, units }).total().get();
        let all = said(None);
        for units in [0, 100, 2_000, 20_000] {
            let (said, found) = (said(Some(units)), allocated::<Stamp>(&resolved, false, units));
            println!("{name}, {units} units: said {said}, allocated {found}, all {all}");
            assert!(found as f64 <= said as f64 * (1.0 + TOLERANCE), "{name}, {units}: said {said}, allocated {found}");
            assert!(said <= all);
        }
        assert!(said(Some(100)) < said(Some(20_000)) && said(Some(100)) < all / 2, "{} of {all}", said(Some(100)));
    }
    // Block-mapped families may write a block for each unit.
    let blocks = resolved(&format!("{FLASH}{SMALL}ftl = {{ {op}, kind = 'bast' }}\n"));
    let said = |units| blocks.memory(Purpose { verify: true, precondition: false, units }).total();
    assert_eq!(said(Some(1)), said(None));
}

#[test]
fn a_prediction_beyond_any_memory_allocates_nothing() {
    for (array, least) in [
        (
            "channels = 65535, chips = 1, blocks = 16, pages = 16, planes = 1 }\nftl = { over-provisioning = '60%' }\n",
            1_u64 << 27,
        ),
        ("channels = 1, chips = 1, blocks = 8000000, pages = 64, planes = 1 }\n", 1 << 32),
        ("channels = 16, chips = 8, blocks = 16384, pages = 512, planes = 2 }\n", 1 << 33),
        (
            r"channels = 1, chips = 1, blocks = 64, pages = 16, planes = 1 }
ftl = { over-provisioning = '40%' }
buffer = { size = '1TiB' }
",
            1 << 34,
        ),
    ] {
        let mut total = 0;
        let counted = allocation_counter::measure(|| {
            total = resolved(&format!("{FLASH}{array}")).memory(Purpose::default()).total().get();
        });
        assert!(total >= least, "{array}: {total}");
        assert!(counted.bytes_max < 4 << 20, "{array}: {} bytes to say so", counted.bytes_max);
    }
}
