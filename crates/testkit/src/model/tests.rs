//! Tests that compare the second model with Dirik and Jacob's numbers, and of its sensitivity to small differences.

use base::units::{Lba, Sectors};

use super::*;

fn shape(mbps: u64, cache: bool) -> Shape {
    Shape {
        channels: 1,
        banks: 1,
        gang: 1,
        rows: 64,
        sectors: 4,
        read: Span::from_us(25),
        program: Span::from_us(200),
        cache: cache.then_some(Span::from_us(3)),
        command: Span::ZERO,
        transfer: Span::from_ns(2_048_000 / mbps),
        link: None,
        overhead: Span::ZERO,
    }
}

fn io(kind: IoKind, page: u64, pages: u64) -> Io {
    Io::new(kind, Lba::new(page * 4), Sectors::new(pages * 4))
}

fn latencies(shape: &Shape, requests: &[Io], pace: Pace<'_>) -> Vec<Span> {
    let mut second = Model::new(shape.clone(), 1 << 16);
    second.run(requests, pace).into_iter().map(|served| served.end - served.arrival).collect()
}

/// Latencies in nanoseconds of a write and of a read of `pages` pages.
fn write_read(shape: &Shape, pages: u64) -> [u64; 2] {
    let requests = [io(IoKind::Write, 0, pages), io(IoKind::Read, 0, pages)];
    let spans = latencies(shape, &requests, Pace::Closed(1));
    [spans[0].as_ns(), spans[1].as_ns()]
}

#[test]
fn the_second_model_has_the_times_of_dirik_section_d() {
    // dirik.md, section D: MB/s, one page written and read, 8 KB read without and with cache mode, 8 KB written,
    // 26 KB read.
    let table = [
        (25, 281_920, 106_920, 427_680, 355_680, 881_920, 1_092_960),
        (50, 240_960, 65_960, 263_840, 191_840, 840_960, 560_480),
        (100, 220_480, 45_480, 181_920, 132_480, 820_480, 384_480),
        (200, 210_240, 35_240, 140_960, 122_240, 810_240, 374_240),
        (400, 205_120, 30_120, 120_480, 117_120, 805_120, 369_120),
    ];
    for (mbps, write, read, plain, cached, long_write, long_read) in table {
        assert_eq!(write_read(&shape(mbps, true), 1), [write, read]);
        assert_eq!(write_read(&shape(mbps, false), 4)[1], plain);
        assert_eq!(write_read(&shape(mbps, true), 4), [long_write, cached]);
        assert_eq!(write_read(&shape(mbps, true), 13)[1], long_read);
    }
}

#[test]
fn the_second_model_counts_gangs_rows_commands_and_the_link() {
    // Six pages in a gang of four take two operations, and all pages cross the bus.
    let gang = Shape { gang: 4, ..shape(25, false) };
    assert_eq!(write_read(&gang, 6), [6 * 81_920 + 2 * 200_000, 6 * 81_920 + 2 * 25_000]);
    // Each of the three pages has a command of its own.
    let command = Shape { command: Span::from_us(1), ..shape(100, false) };
    assert_eq!(write_read(&command, 3), [3 * (1_000 + 20_480 + 200_000), 3 * (1_000 + 25_000 + 20_480)]);
    // In cache mode the commands of the later pages go before the data of those before them: 1 + 28, twice
    // 1 + 28, and the last page's data.
    let cached = Shape { command: Span::from_us(1), ..shape(100, true) };
    assert_eq!(write_read(&cached, 3)[1], 3 * 29_000 + 20_480);
    let linked = Shape { link: Some(Rate::new(1_000_000)), overhead: Span::from_us(10), ..shape(25, true) };
    assert_eq!(write_read(&linked, 1), [281_920 + 2_058_000, 106_920 + 2_058_000]);
}

#[test]
fn banks_and_buses_overlap_in_the_second_model() {
    let two = [io(IoKind::Write, 0, 1), io(IoKind::Write, 1, 1)];
    let ends = |shape: &Shape| latencies(shape, &two, Pace::Closed(2)).into_iter().map(Span::as_ns).collect::<Vec<_>>();
    assert_eq!(ends(&shape(25, true)), [281_920, 2 * 281_920], "one bank");
    assert_eq!(ends(&Shape { banks: 2, ..shape(25, true) }), [281_920, 281_920 + 81_920], "one bus");
    assert_eq!(ends(&Shape { channels: 2, ..shape(25, true) }), [281_920, 281_920], "nothing in common");
    // The device works on one request at a time, so the second waits outside for the first.
    let arrivals = [Time::ZERO, Time::from_ps(1_000_000)];
    let waits = latencies(&Shape { banks: 2, ..shape(25, true) }, &two, Pace::Open(&arrivals, 1));
    assert_eq!(waits[1].as_ns(), 2 * 281_920 - 1_000);
}

#[test]
fn a_bus_three_percent_slower_changes_the_mean() {
    // Where the bus is the bottleneck, a bus 3 % slower must change the mean by more than 1 %.
    let requests: Vec<_> = (0..200).map(|i| io(IoKind::Write, i * 4, 4)).collect();
    let mean = |shape: &Shape| {
        let spans = latencies(shape, &requests, Pace::Closed(8));
        spans.iter().map(|span| span.as_us_f64()).sum::<f64>() / spans.len() as f64
    };
    let right = Shape { banks: 8, ..shape(25, true) };
    let wrong = Shape { transfer: Span::from_ns(81_920 * 103 / 100), ..right.clone() };
    let off = mean(&wrong) / mean(&right) - 1.0;
    assert!((0.01..0.04).contains(&off), "3 % slower makes {off}");
    // On one bank with a fast bus the difference does not show, so bus rates of both kinds are compared.
    let slow = Shape { transfer: Span::from_ps(5_120 * 1030), ..shape(400, true) };
    assert!(mean(&slow) / mean(&shape(400, true)) - 1.0 < 0.01);
}
