//! Mean latencies of MQSim (its commit 7ec40e3, built from source) over a grid of drives and loads, beside those of the converted
//! files.
//!
//! MQSim reports whole microseconds, so its sums were printed in nanoseconds. Reads are those of a drive that MQSim has
//! preconditioned, writes and mixes those of a new drive, before it collects. A read point is missing where MQSim ends with an error.
//! Writes to a drive that collects are the sixth and seventh time that MQSim writes its whole capacity. MQSim loses the requests that
//! meet a page under collection, so for them it was mended to serve these when the page has its new place. Mixes of reads and writes on a
//! drive that collects have no figures: MQSim ends with a segmentation fault, or with an error of its map.

use serde_json::Value;

use super::{CONFIG, FLOWS, with};
use crate::common::WorkFolder;

/// Requests of 4 KiB at random addresses, in a closed loop.
#[derive(Clone, Copy, PartialEq, Eq)]
enum GridLoad {
    Reads,
    Writes,
    /// Writes through MQSim's cache.
    CachedWrites,
    /// Seven reads to three writes.
    Mixed,
    /// Writes while the drive collects.
    Collecting,
}

impl GridLoad {
    /// Chips on each channel, and blocks of a plane. Drives that collect have larger planes, because MQSim's small ones run out of
    /// blocks.
    fn size(self) -> (u32, u32) {
        if self == Self::Collecting { (2, 256) } else { (4, 128) }
    }

    /// The share of reads in per cent.
    fn reads(self) -> u32 {
        match self {
            Self::Reads => 100,
            Self::Mixed => 70,
            Self::Writes | Self::CachedWrites | Self::Collecting => 0,
        }
    }
}

/// A drive, and the number of requests under way.
struct Point {
    channels: u32,
    planes: u32,
    depth: u32,
    /// MQSim's mean latency in microseconds. For a mix, the latencies of reads and writes are weighted by their nominal shares,
    /// because MQSim draws other requests.
    mqsim_us: f64,
    /// MQSim's write amplification if it collects; and the difference of the converted drive in per cent, if it exceeds the goal of
    /// 5 %.
    mqsim_waf: Option<(f64, Option<f64>)>,
    /// The difference of the converted drive in per cent, if it exceeds the goal of 3 %. Reasons: with two planes and many
    /// outstanding requests MQSim joins commands to both planes of a die; and MQSim's cache keeps data that is written twice within
    /// a second, which on these small drives is much.
    known: Option<f64>,
}

const fn point(channels: u32, planes: u32, depth: u32, mqsim_us: f64, known: Option<f64>) -> Point {
    Point { channels, planes, depth, mqsim_us, mqsim_waf: None, known }
}

const fn mixed(channels: u32, planes: u32, depth: u32, [read_us, write_us]: [f64; 2], known: Option<f64>) -> Point {
    point(channels, planes, depth, 0.7 * read_us + 0.3 * write_us, known)
}

const fn collecting(channels: u32, planes: u32, depth: u32, us: f64, waf: f64, known: Option<f64>) -> Point {
    Point { mqsim_waf: Some((waf, None)), ..point(channels, planes, depth, us, known) }
}

/// A drive whose copies MQSim joins over both planes of a die, so that it also collects other blocks.
const fn joined(depth: u32, us: f64, waf: (f64, Option<f64>), known: f64) -> Point {
    Point { mqsim_waf: Some(waf), ..point(2, 2, depth, us, Some(known)) }
}

const READS: [Point; 23] = [
    point(4, 1, 1, 88.25, None),
    point(4, 1, 16, 165.46, None),
    point(4, 1, 64, 530.53, None),
    point(4, 2, 1, 88.25, None),
    point(4, 2, 16, 164.79, None),
    point(4, 2, 64, 507.18, Some(4.0)),
    point(4, 2, 512, 3322.89, Some(19.7)),
    point(8, 1, 1, 88.25, None),
    point(8, 1, 16, 120.02, None),
    point(8, 1, 64, 284.99, None),
    point(8, 1, 512, 2028.24, None),
    point(8, 2, 1, 88.25, None),
    point(8, 2, 16, 119.51, None),
    point(8, 2, 64, 280.03, None),
    point(8, 2, 512, 1777.88, Some(13.2)),
    point(16, 1, 1, 88.25, None),
    point(16, 1, 16, 102.23, None),
    point(16, 1, 64, 169.23, None),
    point(16, 1, 512, 1025.97, None),
    point(16, 2, 1, 88.25, None),
    point(16, 2, 16, 102.18, None),
    point(16, 2, 64, 165.88, None),
    point(16, 2, 512, 948.9, Some(7.8)),
];

const WRITES: [Point; 24] = [
    point(4, 1, 1, 763.31, None),
    point(4, 1, 16, 1262.76, None),
    point(4, 1, 64, 3410.47, None),
    point(4, 1, 512, 24661.92, None),
    point(4, 2, 1, 763.31, None),
    point(4, 2, 16, 1264.59, None),
    point(4, 2, 64, 3313.26, Some(4.7)),
    point(4, 2, 512, 13502.26, Some(82.2)),
    point(8, 1, 1, 763.31, None),
    point(8, 1, 16, 976.44, None),
    point(8, 1, 64, 1972.59, None),
    point(8, 1, 512, 12665.05, None),
    point(8, 2, 1, 763.31, None),
    point(8, 2, 16, 974.19, None),
    point(8, 2, 64, 1973.43, None),
    point(8, 2, 512, 9403.6, Some(32.9)),
    point(16, 1, 1, 763.31, None),
    point(16, 1, 16, 859.26, None),
    point(16, 1, 64, 1294.9, None),
    point(16, 1, 512, 6531.22, None),
    point(16, 2, 1, 763.31, None),
    point(16, 2, 16, 855.29, None),
    point(16, 2, 64, 1285.24, None),
    point(16, 2, 512, 5795.76, Some(11.3)),
];

const CACHED_WRITES: [Point; 24] = [
    point(4, 1, 1, 78.05, None),
    point(4, 1, 16, 1094.15, Some(15.3)),
    point(4, 1, 64, 4170.21, Some(20.9)),
    point(4, 1, 512, 36010.87, Some(10.9)),
    point(4, 2, 1, 57.87, None),
    point(4, 2, 16, 897.9, Some(9.1)),
    point(4, 2, 64, 3463.23, Some(13.4)),
    point(4, 2, 512, 27975.16, Some(11.6)),
    point(8, 1, 1, 39.74, None),
    point(8, 1, 16, 597.65, Some(7.5)),
    point(8, 1, 64, 2306.35, Some(11.4)),
    point(8, 1, 512, 18090.09, Some(12.5)),
    point(8, 2, 1, 27.55, Some(5.3)),
    point(8, 2, 16, 481.29, None),
    point(8, 2, 64, 1875.66, Some(5.4)),
    point(8, 2, 512, 14725.39, Some(6.3)),
    point(16, 1, 1, 19.86, Some(-3.9)),
    point(16, 1, 16, 313.22, None),
    point(16, 1, 64, 1235.25, Some(3.8)),
    point(16, 1, 512, 9754.67, Some(4.1)),
    point(16, 2, 1, 13.8, None),
    point(16, 2, 16, 240.94, None),
    point(16, 2, 64, 958.38, None),
    point(16, 2, 512, 7578.23, None),
];

const MIXED: [Point; 24] = [
    mixed(4, 1, 1, [88.25, 763.31], None),
    mixed(4, 1, 16, [271.79, 1136.49], None),
    mixed(4, 1, 64, [419.58, 3393.72], None),
    mixed(4, 1, 512, [556.52, 29268.42], None),
    mixed(4, 2, 1, [88.25, 763.31], None),
    mixed(4, 2, 16, [271.95, 1121.87], None),
    mixed(4, 2, 64, [429.26, 3154.01], Some(4.8)),
    mixed(4, 2, 512, [542.9, 22225.71], Some(29.8)),
    mixed(8, 1, 1, [88.25, 763.31], None),
    mixed(8, 1, 16, [199.68, 920.47], None),
    mixed(8, 1, 64, [359.15, 1758.97], None),
    mixed(8, 1, 512, [503.71, 14402.17], None),
    mixed(8, 2, 1, [88.25, 763.31], None),
    mixed(8, 2, 16, [196.88, 922.13], None),
    mixed(8, 2, 64, [359.89, 1750.01], None),
    mixed(8, 2, 512, [500.53, 11836.21], Some(18.1)),
    mixed(16, 1, 1, [88.25, 763.31], None),
    mixed(16, 1, 16, [150.86, 838.3], None),
    mixed(16, 1, 64, [275.91, 1149.53], None),
    mixed(16, 1, 512, [467.5, 6910.17], None),
    mixed(16, 2, 1, [88.25, 763.31], None),
    mixed(16, 2, 16, [149.38, 835.02], None),
    mixed(16, 2, 64, [274.93, 1152.42], None),
    mixed(16, 2, 512, [469.73, 6031.31], Some(11.1)),
];

const COLLECTING: [Point; 12] = [
    collecting(2, 1, 1, 4049.3, 4.269, None),
    collecting(2, 1, 16, 28208.5, 4.276, None),
    collecting(2, 1, 64, 74646.8, 4.238, Some(5.0)),
    collecting(2, 2, 1, 4025.4, 4.244, None),
    joined(16, 22357.1, (4.231, None), 43.0),
    joined(64, 47767.2, (4.084, Some(5.3)), 73.7),
    collecting(4, 1, 1, 4025.4, 4.244, None),
    collecting(4, 1, 16, 20014.0, 4.257, None),
    collecting(4, 1, 64, 44547.9, 4.251, None),
    collecting(8, 1, 1, 4033.2, 4.252, None),
    collecting(8, 1, 16, 14818.0, 4.26, None),
    collecting(8, 1, 64, 29638.6, 4.264, None),
];

/// The goal for a difference, in per cent.
const GOAL: f64 = 3.0;

/// The goal for a difference of the write amplification, in per cent.
const GOAL_OF_WAF: f64 = 5.0;

/// A small drive of pages of 4 KiB.
fn drive(point: &Point, load: GridLoad) -> String {
    let (chips, blocks) = load.size();
    let numbers = [
        ("PCIe_Lane_Count", "8".to_owned()),
        ("Queue_Fetch_Size", "1024".to_owned()),
        ("Ideal_Mapping_Table", "true".to_owned()),
        ("Overprovisioning_Ratio", "0.2".to_owned()),
        ("Flash_Channel_Count", point.channels.to_string()),
        ("Chip_No_Per_Channel", chips.to_string()),
        ("Die_No_Per_Chip", "1".to_owned()),
        ("Plane_No_Per_Die", point.planes.to_string()),
        ("Block_No_Per_Plane", blocks.to_string()),
        ("GC_Exec_Threshold", "0.1".to_owned()),
        ("GC_Block_Selection_Policy", "GREEDY".to_owned()),
        ("Preemptible_GC_Enabled", "false".to_owned()),
        ("Page_No_Per_Block", "32".to_owned()),
        ("Page_Capacity", "4096".to_owned()),
    ];
    numbers.iter().fold(CONFIG.to_owned(), |text, (name, value)| with(&text, name, value))
}

/// The number of requests: enough that the beginning without waits has little weight; on a drive that collects, also as many as the
/// drive has pages.
fn requests(point: &Point, load: GridLoad) -> u32 {
    if load == GridLoad::Collecting {
        let (chips, blocks) = load.size();
        return point.channels * chips * point.planes * blocks * 32;
    }
    match point.depth {
        1 => 1_000,
        ..64 => 10_000,
        64..512 => 15_000,
        _ => 20_000,
    }
}

/// The first flow of the drive, alone.
fn flow(point: &Point, load: GridLoad) -> String {
    let ids = |count: u32| (0..count).map(|id| id.to_string()).collect::<Vec<_>>().join(",");
    let numbers = [
        ("Channel_IDs", ids(point.channels)),
        ("Chip_IDs", ids(load.size().0)),
        ("Die_IDs", ids(1)),
        ("Plane_IDs", ids(point.planes)),
        (
            "Device_Level_Data_Caching_Mode",
            if load == GridLoad::CachedWrites { "WRITE_CACHE" } else { "TURNED_OFF" }.to_owned(),
        ),
        ("Read_Percentage", load.reads().to_string()),
        ("Initial_Occupancy_Percentage", "100".to_owned()),
        ("Working_Set_Percentage", "100".to_owned()),
        ("Address_Alignment_Unit", "8".to_owned()),
        ("Average_Request_Size", "8".to_owned()),
        ("Average_No_of_Reqs_in_Queue", point.depth.to_string()),
        ("Total_Requests_To_Generate", requests(point, load).to_string()),
    ];
    let text = numbers.iter().fold(FLOWS.to_owned(), |text, (name, value)| with(&text, name, value));
    let end = "</IO_Flow_Parameter_Set_Synthetic>";
    let (first, _) = text.split_once(end).expect("a flow");
    format!("{first}{end}</IO_Scenario></MQSim_IO_Scenarios>")
}

/// The mean latency of a run; for a mix, weighted by the nominal shares of reads and writes.
fn mean_us(result: &Value, load: GridLoad) -> f64 {
    let of = |kind: &str| result["kinds"][kind]["latency_us"]["mean"].as_f64().unwrap_or(0.0);
    let reads = f64::from(load.reads()) / 100.0;
    reads * of("read") + (1.0 - reads) * of("write")
}

/// Runs all points. Fails for points beyond the goal, and for points whose known difference has changed.
fn compare(points: &[Point], load: GridLoad) {
    let place = WorkFolder::new();
    let mut wrong = Vec::new();
    for point in points {
        place.write("ssd.xml", drive(point, load));
        place.write("load.xml", flow(point, load));
        let command = place.printed(&["convert-mqsim", "ssd.xml", "load.xml", "--out", "mq", "--force"]);
        let words = command.split_whitespace().skip(1).take_while(|word| *word != "--precondition");
        let state = match load {
            GridLoad::Reads => vec!["--precondition", "fill"],
            GridLoad::Collecting => vec!["--precondition", "fill,random:x3"],
            GridLoad::Writes | GridLoad::CachedWrites | GridLoad::Mixed => Vec::new(),
        };
        let arguments: Vec<&str> = words.chain(["--json", "--quiet"]).chain(state).collect();
        let result: Value = place.json(&arguments);
        let mean = mean_us(&result, load);
        let difference = (mean / point.mqsim_us - 1.0) * 100.0;
        let is_right = match point.known {
            None => difference.abs() <= GOAL,
            Some(known) => (difference - known).abs() <= 1.5,
        };
        let waf = result["write_amplification"].as_f64().unwrap_or(f64::NAN);
        let waf_is_right = point.mqsim_waf.is_none_or(|(mqsim, known)| {
            let difference = (waf / mqsim - 1.0) * 100.0;
            known.map_or(difference.abs() <= GOAL_OF_WAF, |known| (difference - known).abs() <= 0.5)
        });
        if !is_right || !waf_is_right {
            let Point { channels, planes, depth, mqsim_us, mqsim_waf, known } = point;
            wrong.push(format!(
                "{channels} channels, {planes} planes, depth {depth}: MQSim {mqsim_us:.2} us, ours {mean:.2} us, \
                 {difference:+.1} %; known {known:?}; write amplification {mqsim_waf:?}, ours {waf:.3}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn reads_take_as_long_as_in_mqsim() {
    compare(&READS, GridLoad::Reads);
}

#[test]
fn writes_take_as_long_as_in_mqsim() {
    compare(&WRITES, GridLoad::Writes);
}

#[test]
fn mixes_take_as_long_as_in_mqsim() {
    compare(&MIXED, GridLoad::Mixed);
}

#[test]
fn a_drive_that_collects_writes_as_fast_and_as_much_as_mqsim() {
    compare(&COLLECTING, GridLoad::Collecting);
}

#[test]
fn cached_writes_take_as_long_as_in_mqsim_but_for_what_its_cache_keeps() {
    compare(&CACHED_WRITES, GridLoad::CachedWrites);
}
