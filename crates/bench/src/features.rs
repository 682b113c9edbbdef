//! The cost of the mechanisms of today's drives: a drive with all of them that can be combined, compared with the same
//! flash without them.
//!
//! A power cap is left out, because suspension excludes it. The drive with all mechanisms also does more: it folds its
//! SLC cache, suspends, decodes each codeword and retries reads, with four times as many events per request.

use study::catalogue::Device;

use crate::drives;
use crate::observers::ObservedDrive;
use floor::report::Row;
use floor::rounds::{self, Goal, Load, NamedLoad, Plan};

const PLAIN: &str = r#"
name = "plain"
flash = { part = "tlc-72l", channels = 4, chips = 2, blocks = 64, pages = 192, controllers = "none" }
host = { link = "pcie-3-x4", queue-depth = 64 }
buffer = { size = "8MiB" }
ftl = { map-unit = "4KiB", over-provisioning = "20%" }
"#;

const EVERYTHING: &str = r#"
name = "everything on"

[flash]
channels = 4
chips = 2
blocks = 64
pages = 192
controllers = "none"
arbitration = { commands = "read-first", bus = "read-first" }
suspend = { limit = 4 }
plane-reads = {}
variation = { read = "5%", program = "5%", erase = "10%", program-wear = "10%" }
errors = { cycles = 1_000 }

[flash.ecc]
codeword = "4KiB"
decode = { rate = "1.2GB/s", latency = "4us" }
hard-limit = 180
soft = { sensings = 3, limit = 360, latency = "8us" }

[flash.custom-part]
like = "tlc-72l"
slc_mode = { read = "25us", program = "200us", endurance = 10_000 }
electrical = { idle_current = "1mA", further_plane = "50%" }

[host]
link = { preset = "pcie-3-x4", read-latency = "10us", write-latency = "10us" }
queue-depth = 64

[buffer]
size = "8MiB"

[ram]
rate = "10GB/s"
look-up = "64B"

[ftl]
map-unit = "4KiB"
over-provisioning = "20%"
wear.threshold = 8
refresh = { age = "30d", reads = 100_000 }
slc-cache = { size = "200MiB", overflow = "fold-beside" }

[ftl.gc]
start = 3
stop = 4
throttle = true
idle = { after = "10ms", free = 6 }
pace = { policy = "formula", copies = "if(writes > 0, 1, parallel)" }

[power]
controller = { active = "3W", idle = "1W" }
states = [{ power = "70mW", idle-after = "100ms", entry = "210us", exit = "1200us" }]

[power.thermal]
ambient = "35C"
resistance = "14K/W"
time-constant = "60s"
throttle = { style = "proportional", from = "90C", to = "95C", highest-rate = "2GB/s", lowest-rate = "500MB/s" }
"#;

/// Measures both drives. The goal with all mechanisms is 0.4 of the rate without them.
pub(crate) fn measure(plan: Plan<'_>, bare: fn() -> Box<dyn Load>) -> Vec<Row> {
    let entry = |title: &str, target, device: Device| {
        NamedLoad::new(title, 40_000, target, move || ObservedDrive::plain(&device))
    };
    let title = "reads and writes, TLC";
    let entries = vec![
        entry(title, None, drives::parsed(PLAIN)),
        entry(&format!("{title}, everything on"), Goal::share(0.4), drives::parsed(EVERYTHING)),
    ];
    rounds::run(entries, plan, bare)
}
