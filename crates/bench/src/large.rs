//! A large drive without payload: its memory, and the time to fill and overwrite it once.

use base::units::SECTOR;
use ssd::{Drive, Precondition};

use crate::{drives, memory};
use floor::clock::timed;
use floor::report::{Row, Spread};

/// Goal: the most bytes of state for each physical mapping unit of 4 KiB.
const BYTES_PER_UNIT: f64 = 12.0;
/// Goal: the most seconds of processor time to fill and overwrite a drive of 1 TB.
const SECONDS_PER_TB: f64 = 240.0;
/// Goal: the most seconds of processor time to bring a new drive of 1 TB to its steady state.
const STEADY_PER_TB: f64 = 120.0;
/// Goal: the most bytes of memory for a drive of 1 TB.
const PEAK_PER_TB: f64 = 6e9;

/// Builds a drive of 1 TB, or of a sixteenth of it, fills it, and overwrites it once at random.
pub(crate) fn measure(full: bool) -> Vec<Row> {
    memory::forget_peak();
    let before = memory::allocated();
    let (mut drive, built) = timed(|| if full { drives::large(16, 8) } else { drives::large(8, 1) });
    let (_, filled) = timed(|| drive.precondition(Precondition::Fill, &mut |_, _| {}));
    let (result, overwritten) = timed(|| drive.precondition(Precondition::RandomOverwrite(1.0), &mut |_, _| {}));
    let cpu = built.cpu + filled.cpu + overwritten.cpu;
    let wall = built.wall + filled.wall + overwritten.wall;
    let capacity = (drive.capacity().get() * SECTOR.get()) as f64;
    let tb = capacity / 1e12;
    let mut note = format!(
        "built in {:.1} s, filled in {:.1} s, overwritten in {:.1} s of CPU, write amplification {:.2}, padding included",
        built.cpu, filled.cpu, overwritten.cpu, result.write_amplification
    );
    let what = format!("{:.0} GB drive filled and overwritten once", capacity / 1e9);
    if !full {
        note += "; the tables of a whole drive miss the caches more often: --full measures one";
    }
    let mut rows = Vec::new();
    // The time of a drive below 1 TB is extrapolated to 1 TB.
    let (name, unit) = if tb >= 1.0 { (what, "CPU s") } else { (format!("{what}, EXTRAPOLATED"), "CPU s/TB") };
    let scale = if tb >= 1.0 { 1.0 } else { 1.0 / tb };
    rows.push(Row {
        name: name.clone(),
        unit,
        value: Spread::one(cpu * scale),
        wall: Some(wall * scale),
        ratio: None,
        reads: None,
        target: Some(format!("< {SECONDS_PER_TB} s for 1 TB")),
        met: Some(cpu * scale < SECONDS_PER_TB),
        note,
    });
    let (Some(before), Some(after), Some(peak)) = (before, memory::allocated(), memory::peak()) else { return rows };
    rows.push(Row {
        name: if tb >= 1.0 { "its peak memory".to_owned() } else { "its peak memory, EXTRAPOLATED".to_owned() },
        unit: if tb >= 1.0 { "GB" } else { "GB/TB" },
        value: Spread::one(peak as f64 * scale / 1e9),
        wall: None,
        ratio: None,
        reads: None,
        target: Some(format!("< {} GB for 1 TB", PEAK_PER_TB / 1e9)),
        met: Some(peak as f64 * scale < PEAK_PER_TB),
        note: format!("{:.2} GB at most, all of this process", peak as f64 / 1e9),
    });
    let units = f64::from(drive.resolved().geometry.slot_count());
    let state = after.saturating_sub(before) as f64 / units;
    rows.push(Row {
        name: "its state for each 4 KiB of flash".to_owned(),
        unit: "bytes",
        value: Spread::one(state),
        wall: None,
        ratio: None,
        reads: None,
        target: Some(format!("<= {BYTES_PER_UNIT} bytes")),
        met: Some(state <= BYTES_PER_UNIT),
        note: format!(
            "{:.2} GB allocated after that for {:.1} Mi units",
            after as f64 / 1e9,
            units / f64::from(1 << 20)
        ),
    });
    drop(drive);
    rows.push(steady(full));
    rows
}

/// Brings a new drive of 1 TB, or of a sixty-fourth of it, to its steady state.
fn steady(full: bool) -> Row {
    let mut drive = if full { drives::large(16, 8) } else { drives::large(2, 1) };
    let (_, filled) = timed(|| drive.precondition(Precondition::Fill, &mut |_, _| {}));
    let (result, settled) = timed(|| drive.precondition(Precondition::Steady, &mut |_, _| {}));
    let capacity = (drive.capacity().get() * SECTOR.get()) as f64;
    let extrapolated = capacity < 1e12;
    let scale = if extrapolated { 1e12 / capacity } else { 1.0 };
    let (cpu, wall) = (filled.cpu + settled.cpu, filled.wall + settled.wall);
    let times = result.units as f64 / (drive.capacity().get() as f64 * SECTOR.get() as f64 / 4096.0);
    Row {
        name: format!(
            "{:.0} GB drive brought to its steady state{}",
            capacity / 1e9,
            if extrapolated { ", EXTRAPOLATED" } else { "" }
        ),
        unit: if extrapolated { "CPU s/TB" } else { "CPU s" },
        value: Spread::one(cpu * scale),
        wall: Some(wall * scale),
        ratio: None,
        reads: None,
        target: Some(format!("< {STEADY_PER_TB} s for 1 TB")),
        met: Some(cpu * scale < STEADY_PER_TB),
        note: format!(
            "filled in {:.1} s, overwritten {times:.1} times in {:.1} s of CPU, write amplification {:.2}",
            filled.cpu, settled.cpu, result.write_amplification
        ),
    }
}
