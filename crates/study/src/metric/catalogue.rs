//! Every metric and its meaning: the reference page is generated from it.

use base::io::IoKind;
use flash::backend::{Cause, Op};
use ssd::Status;

use super::Metric;

/// A group of metrics with one subject.
#[derive(Clone, Debug)]
pub struct Group {
    /// The subject of the metrics.
    pub title: &'static str,
    /// The runs that have these metrics.
    pub runs: &'static str,
    /// The metrics of the group, in the order of the reference.
    pub entries: Vec<MetricEntry>,
}

/// A metric and its meaning.
#[derive(Clone, Debug)]
pub struct MetricEntry {
    /// The metric's name. `KIND`, `OP` and `CAUSE` stand for the kind of request, the flash operation and its cause,
    /// `OUTCOME` for the result of a request, `NAME` for a flow, `STAT` for a number of the requests of one kind.
    pub name: String,
    /// The meaning of the metric, as a sentence of the reference page.
    pub meaning: &'static str,
}

impl MetricEntry {
    /// The first metric that the name stands for.
    ///
    /// # Panics
    ///
    /// Never: the catalogue names metrics.
    #[must_use]
    pub fn metric(&self) -> Metric {
        let name = self.name.replace("STAT", "mean").replace("KIND", "read").replace("OP", Op::ALL[0].name());
        let name = name.replace("NAME", "reader").replace("OUTCOME", Status::Done.name());
        name.replace("CAUSE", Cause::ALL[0].name()).parse().expect("the catalogue names metrics")
    }

    /// All metrics that the name stands for.
    ///
    /// # Panics
    /// Never: the catalogue names metrics.
    #[must_use]
    pub fn metrics(&self) -> Vec<Metric> {
        let mut names = vec![self.name.clone()];
        let each = |word: &str, all: Vec<&'static str>, names: &mut Vec<String>| {
            let with = |name: &String| all.iter().map(|one| name.replace(word, one)).collect::<Vec<_>>();
            if names.iter().any(|name| name.contains(word)) {
                *names = names.iter().flat_map(with).collect();
            }
        };
        each("KIND", super::KINDS.to_vec(), &mut names);
        each("OP", Op::ALL.map(Op::name).to_vec(), &mut names);
        each("CAUSE", Cause::ALL.map(Cause::name).to_vec(), &mut names);
        each("OUTCOME", Status::ALL.map(Status::name).to_vec(), &mut names);
        names.iter().map(|name| name.parse().expect("the catalogue names metrics")).collect()
    }
}

/// The effect of the flash commands of an operation, in words.
#[must_use]
pub const fn meaning_of_op(op: Op) -> &'static str {
    match op {
        Op::Read => "Array read, and transfer out of the chip",
        Op::Program => "Transfer into the chip, and array program",
        Op::Erase => "Erase of a block",
        Op::CopyBack => "Array read and program inside one plane, without the channel",
    }
}

/// The reason for flash commands of a cause, in words.
#[must_use]
pub const fn meaning_of_cause(cause: Cause) -> &'static str {
    match cause {
        Cause::Host => "Data of the host",
        Cause::Gc => "Garbage collection",
        Cause::Merge => "A merge or a fold of log blocks, replacement blocks, superblocks or chains",
        Cause::Wear => "Static wear levelling",
        Cause::Map => "Map tables in flash: translation pages, block maps",
        Cause::Flush => "A flush by the host",
        Cause::Pad => "Filling of a program that has too little data",
        Cause::Fold => "Folding of an SLC cache",
        Cause::Refresh => "Refresh of data whose bit errors have grown, and patrol reads",
        Cause::Parity => "Parity over several dies, and the reads that rebuild pages from it",
        Cause::Recovery => "Rebuilding of state after power returns, and rescue of data from a failing block",
    }
}

type Meaning = (&'static str, &'static str);

const ALL: [Meaning; 17] = [
    ("mean", "Mean response time of reads and writes, from submission to completion"),
    ("accumulated", "Sum of the response times of all reads and writes"),
    ("requests-per-s", "Reads and writes that succeeded per simulated second"),
    ("rate", "Bytes read and written per simulated second"),
    ("simulated", "Simulated time from the first submission to the last completion"),
    ("failed", "Share of the requests that failed; no other number is about them"),
    (
        "outcomes.OUTCOME",
        "Requests by outcome: `done`, `uncorrectable`, `read_only`, `out_of_range`, or a status of zones",
    ),
    ("unmapped", "Share of the mapping units that reads asked for and that held no data"),
    ("unreadable-copies", "Mapping units stored again although their data could not be read"),
    ("mount", "Time of the reads of a mount after a power cut at the end of the run"),
    ("verified", "Reads whose data the oracle compared; with `run.verify` or `--verify` only"),
    (
        "waf",
        "Write amplification: mapping units programmed on all flash per mapping unit that the host wrote, that the drive did not \
         refuse and that no buffer absorbed",
    ),
    (
        "waf-bytes",
        "Write amplification in bytes: bytes programmed on all flash, filling included, per byte that the writes of the host \
         carried. It differs from `waf` where writes are smaller than a mapping unit, because a program stores whole units, and \
         where a buffer absorbs writes, because their bytes count here",
    ),
    (
        "tbw",
        "Bytes that the host can write in the drive's life, if every block reaches its part's rated cycles and `waf-bytes` stays \
         as it is; with runs that erase blocks and one flash array only",
    ),
    ("cost", "Price of the flash, in GiB of MLC flash"),
    ("energy", "Energy of the flash, if the part states its currents"),
    ("energy-per-sector", "Energy per sector of 512 bytes read or written"),
];

const KIND: [Meaning; 21] = [
    ("mean", "Mean response time, from submission to completion"),
    ("min", "Shortest response time"),
    ("p50", "Median of the response time"),
    ("p90", "90th percentile of the response time"),
    ("p95", "95th percentile of the response time"),
    ("p99", "99th percentile of the response time"),
    ("p99_9", "99.9th percentile of the response time"),
    ("p99_99", "99.99th percentile of the response time"),
    ("p99_999", "99.999th percentile of the response time"),
    ("max", "Longest response time"),
    ("wait", "Mean time in the submission queue"),
    ("service", "Mean time from leaving the submission queue to completion"),
    ("flash-wait", "Mean over the requests of the longest wait of a flash command for its die or channel"),
    (
        "start-wait",
        "Mean over the requests of the wait for the start of their flash commands, in each bank if in several",
    ),
    ("access", "`service` less `start-wait`: the physical access with its waits for the channel, and the link"),
    ("gap", "Longest time between two completions"),
    ("requests", "Requests that succeeded"),
    ("failed", "Requests that failed"),
    ("requests-per-s", "Requests that succeeded per simulated second"),
    ("rate", "Bytes per simulated second"),
    ("bytes", "Bytes that the requests asked for"),
];

const BUSY: [Meaning; 8] = [
    ("link", "The host link"),
    ("ram", "The RAM, if it has a rate: for the write buffer and the look-ups of the map"),
    ("channels", "The channels, mean"),
    ("dies", "The dies, mean"),
    ("controllers", "The controllers, mean"),
    ("decoders", "The decoders of the error correction, mean"),
    ("processor", "The processor of software controllers and of the FTL"),
    ("ftl", "The map unit: mean over the cores of DFTL and CDFTL, the busier of CMT and CTP of FMMU"),
];

const ERASES: [Meaning; 4] = [
    ("mean", "Mean erase count of a block at the end"),
    ("min", "Least erase count"),
    ("max", "Greatest erase count"),
    ("deviation", "Standard deviation of the erase counts"),
];

const FLASH: [Meaning; 8] = [
    ("commands.OP", "Flash commands of an operation"),
    ("commands.OP.CAUSE", "Flash commands of an operation and a cause"),
    ("slots.OP", "Mapping units that they carried"),
    ("slots.OP.CAUSE", "Mapping units that they carried, of one cause"),
    ("suspensions", "Suspensions of programs and erases, with `flash.suspend`"),
    ("suspended", "Time for which all suspended operations together stood still"),
    ("suspend-overhead", "Time in which arrays stopped suspended operations and went on with them"),
    ("suspend-gain", "How much longer all commands that suspended an operation would have waited for its end"),
];

const ERRORS: [Meaning; 5] = [
    ("retries", "Attempts to read behind the first of each read command"),
    ("retried", "Share of the read commands that took more than one attempt"),
    ("rber", "Mean raw bit error rate of the codewords, as a read without retry meets it"),
    ("soft", "Read commands that took soft decoding"),
    ("uncorrectable", "Mapping units that stayed uncorrectable"),
];

const MAP: [Meaning; 20] = [
    ("questions", "Questions answered: look-ups and changes"),
    ("hits", "Questions that found their entries in the first cache (CMT); all of them with the whole table"),
    ("hit-ratio", "Share of hits in the first cache"),
    ("page-hits", "Requests to the second cache (CTP) that found their translation page"),
    ("page-hit-ratio", "Share of hits in the second cache"),
    ("loads", "Translation pages loaded, from the host's memory or from flash"),
    ("stores", "Translation pages stored to flash"),
    ("flushes", "Flushes: each writes back all dirty blocks of one translation page"),
    ("flushed-blocks", "Cache blocks that flushes wrote back"),
    ("loads-at-most", "Most loads under way at once"),
    (
        "mshrs.cmt",
        "Most miss status registers (MSHRs) of the first cache in use at once; in software, most questions that waited",
    ),
    ("mshrs.ctp", "Most miss status registers of the second cache in use at once"),
    ("time", "Mean busy time of a question; loads from flash are no busy time"),
    ("flush-time", "Mean busy time of a flush and of the stores that it leads to"),
    ("hmb.hits", "Loads of translation pages that the host memory buffer had"),
    ("hmb.misses", "Loads that the host memory buffer did not have"),
    ("hmb.hit-ratio", "Share of hits in the host memory buffer"),
    ("hmb.read", "Bytes read from the host memory buffer"),
    ("hmb.written", "Bytes written to the host memory buffer"),
    ("hmb.time", "Mean time of a load from the host memory buffer: wait for the link, transfer and latency"),
];

const LOG: [Meaning; 9] = [
    ("merges", "Merges of log blocks of all three kinds"),
    ("switch", "Switch merges: the log block becomes the data block"),
    (
        "partial",
        "Partial merges: the rest of the data block is copied into the log block, which becomes the data block",
    ),
    ("full", "Full merges: the valid pages of the log block and its data blocks are copied into new data blocks"),
    ("k", "New data blocks per full merge"),
    ("pages.partial", "Pages copied per partial merge"),
    ("pages.full", "Pages copied per full merge"),
    ("erases", "Erases of merges: one for each, and `k` more for a full one (Sung, Table 3)"),
    ("saving", "Time that merges on controllers of their own save on an idle drive (Sung, Fig. 11 to 13)"),
];

const MERGES: [Meaning; 8] = [
    ("merges", "Merges that ended, those of wear levelling included"),
    ("copied", "Rows that merges copied inside their chips"),
    ("given", "Rows with sectors of the host"),
    ("log-pages", "Pages of the log, replicas excluded"),
    ("maps", "Times the block map was written"),
    ("flush-pages", "Pages of flushes without merges"),
    ("replaced", "Failing blocks that a spare block replaced"),
    ("spread", "Erases of the most erased superblock less those of the least erased one, at the end"),
];

const SLC: [Meaning; 25] = [
    ("small", "Share of the write requests that were no larger than the threshold"),
    ("accepted", "Share of the write requests that the SLC flash took"),
    ("updates", "Share of the accepted writes that were updates"),
    ("throttled", "Small writes that the throttle turned away"),
    ("unplaced", "Small writes that found no place in the hash table"),
    ("threshold", "The threshold at the end, in sectors"),
    ("k", "Blocks that the SLC log may have at the end"),
    ("alpha", "Share of the written data that the SLC flash took (Chang, Table 3)"),
    ("n1", "Valid pages of an SLC block that becomes the tail"),
    ("n2", "Pages of them that are copied to the head"),
    ("n3", "Pages of a chain that are scanned if the mapping cache misses"),
    ("n4", "Blocks erased when a chain is folded"),
    ("p1", "Share of the page writes whose logical block the mapping cache misses"),
    ("p2", "Folds per page written to the MLC flash"),
    ("expected", "Time of a page write that the closed form expects with these factors"),
    ("switches", "Chains that became a data block without a copy"),
    ("levelled", "Chains that wear levelling moved"),
    ("wear", "Mean erases of an SLC block by those of an MLC block"),
    ("spread", "Erases of the most erased SLC block less those of the least erased one"),
    ("cost", "Price of the flash by that of the MLC flash alone"),
    ("tables", "Bytes of RAM of the tables"),
    ("mode", "Logical blocks in SLC mode at the end, with density control"),
    ("mode-pages", "Pages of the MLC flash programmed in SLC mode"),
    ("commands.OP", "Commands of the SLC flash"),
    ("commands.OP.CAUSE", "Commands of the SLC flash, of one cause"),
];

const PARITY: [Meaning; 4] = [
    ("rebuilt", "Uncorrectable reads of mapping units that were rebuilt from the other dies"),
    ("lost", "Uncorrectable reads of mapping units that could not be rebuilt"),
    (
        "superblocks",
        "Superblocks whose data was moved, or was being moved at the end, because one of their dies had failed",
    ),
    ("waiting", "Superblocks that waited for that at the end"),
];

const TRANSLATION: [Meaning; 16] = [
    ("waf", "Mapping units that the translation wrote to zones for each that users wrote"),
    ("drive-waf", "Mapping units that the drive programmed for each that the translation wrote"),
    ("written", "Mapping units that users wrote"),
    ("copied", "Mapping units that collection copied"),
    ("summaries", "Mapping units of the summaries of zones"),
    ("vain-copies", "Copies of mapping units that users wrote or discarded before they ended"),
    ("rest-reads", "Reads of what a write left of its first or last mapping unit"),
    ("collected-zones", "Zones that collection emptied by copies"),
    ("dead-zones", "Zones in which nothing was valid, and which were reset without a copy"),
    ("failed-zones", "Zones that took no more data before they were full, or could not be reset"),
    ("lost-units", "Mapping units that could not be read for their copy"),
    ("mount-reads", "Mapping units that mounts read"),
    ("stalled-writes", "Writes of users that waited for a zone"),
    ("stall-time", "How long they waited, added up, in us"),
    ("free-zones", "Free zones at the end"),
    ("map-bytes", "Bytes of the map in the host's RAM"),
];

const RAID: [Meaning; 18] = [
    ("waf", "Bytes that the RAID wrote to its drives for each byte that the host wrote"),
    ("read-amplification", "Bytes that the RAID read from its drives for each byte that the host read"),
    ("drive-waf", "Mapping units that the drives programmed for each that was written to them"),
    ("full-updates", "Parts of stripes that were written as a whole"),
    ("modify-updates", "Parts of stripes whose parity came from old data and old parity"),
    ("reconstruct-updates", "Parts of stripes whose parity came from the rest of the stripe"),
    ("recover-updates", "Parts of stripes of which old data had to be recovered first"),
    ("recovered-bytes", "Bytes of reads that were computed from other drives"),
    ("rewritten-bytes", "Bytes that a drive could not read, and that were written again"),
    ("rebuilt-bytes", "Bytes that rebuilds wrote to spares"),
    ("repaired-bytes", "Bytes of parity and mirrors that were repaired after a power cut"),
    ("rebuild-end", "When the last rebuild ended, from the beginning of the run"),
    ("lost-chunks", "Chunks that a rebuild could not bring back"),
    ("failed-drives", "Drives that have failed"),
    ("journal-records", "Records in the journal"),
    ("journal-bytes", "Bytes of the journal: records with their headers, and tails"),
    ("journal-checkpoints", "Flushes of all drives that made room in the journal"),
    ("journal-waits", "Records that waited for room in the journal"),
];

const FDP: [Meaning; 6] = [
    ("host-bytes", "Bytes of all writes that succeeded (HBMW)"),
    ("media-bytes", "Bytes programmed, padding and translation pages included (MBMW)"),
    ("erased-bytes", "Bytes erased (MBE)"),
    ("moved-bytes", "Bytes that collection moved out of reclaim units"),
    ("partial-superblocks", "Superblocks that a handle left before they were full"),
    ("invalid-identifiers", "Write commands with a placement identifier that the drive does not have"),
];

const ZONES: [Meaning; 10] = [
    ("resets", "Resets of zones that were not empty"),
    ("finishes", "Finishes of zones that were not full"),
    ("padded-bytes", "Bytes of zones that finishes filled with padding"),
    ("active", "Active zones at the end"),
    ("open", "Open zones at the end"),
    (
        "overwritten-bytes",
        "Bytes that newer writes replaced in a zone random write area, so that they never reached flash",
    ),
    (
        "unwritten-bytes",
        "Bytes that a write pointer passed before the host had written them: they were programmed as zeros",
    ),
    ("implicit-flushes", "Writes behind a zone random write area, which moved the write pointer"),
    ("explicit-flushes", "Commands that moved the write pointer"),
    ("zrwa", "Zones with a random write area at the end"),
];

const REFRESH: [Meaning; 5] = [
    ("superblocks", "Superblocks whose data was moved, or was being moved at the end"),
    ("age", "Superblocks that had a page beyond `ftl.refresh.age`"),
    ("reads", "Superblocks that had a block beyond `ftl.refresh.reads`"),
    ("errors", "Superblocks that had a page beyond `ftl.refresh.errors`"),
    ("patrol-reads", "Patrol reads"),
];

const LIFE: [Meaning; 10] = [
    ("tbw", "Bytes of the host's writes that the drive took until it was worn"),
    ("dwpd", "Capacities that it took for each day of the warranty"),
    ("waf", "Bytes programmed per byte that the host wrote, over the life"),
    ("time", "Simulated time of the life"),
    ("bad-blocks", "Blocks that failed"),
    ("spare", "Share of the spare blocks that is left"),
    ("first-failure", "Bytes written when the first block failed"),
    ("percent-bad", "Bytes written when a hundredth of all blocks had failed"),
    ("half-spare", "Bytes written when blocks as many as half of the spare had failed"),
    ("rounds", "Rounds, between two of which the drive was switched off and on"),
];

const SLC_CACHE: [Meaning; 5] = [
    ("share", "Share of the host's mapping units that were programmed in SLC mode"),
    ("cached", "Mapping units programmed in SLC mode"),
    ("direct", "Mapping units of the host programmed in full blocks"),
    ("superblocks", "Superblocks in SLC mode at the end"),
    ("limit", "Superblocks that may be in SLC mode when the drive is as full as at the end"),
];

const POWER: [Meaning; 11] = [
    ("mean", "Mean power of the drive in watts"),
    ("active", "Share of the time for which requests or flash commands were under way"),
    ("idle", "Share of the time without work, in no power state"),
    ("states", "Share of the time in power states"),
    ("wakes", "Requests that found the drive in a power state or on its way there"),
    ("wake-time", "Time that they waited for the drive, all together"),
    ("throttled", "Requests that the throttle of a hot drive delayed"),
    ("throttle-time", "Time for which it kept the next request waiting"),
    ("capped", "Array operations that waited for the power cap"),
    ("cap-time", "Time that they waited, all together"),
    ("hottest", "Highest temperature since power-on in degrees Celsius"),
];

const FLOW: [Meaning; 9] = [
    ("mean", "Mean response time of the flow's reads and writes"),
    ("accumulated", "Sum of their response times"),
    (
        "requests-per-s",
        "Its reads and writes that succeeded per second, from its first submission to its last completion",
    ),
    ("rate", "Bytes that it read and wrote per second of that time"),
    ("simulated", "That time"),
    ("KIND.STAT", "A number of its requests of one kind; those of `KIND.STAT` above"),
    ("alone.STAT", "Any of these of the same requests alone on the drive: `flow.reader.alone.read.p99`"),
    (
        "slowdown",
        "Mean response time by that of the same requests alone on a drive with the same seed and preconditioning",
    ),
    ("rate-slowdown", "Requests per second alone by those beside the other flows; of closed loops only"),
];

const FAIRNESS: [Meaning; 5] = [
    ("fairness", "Smallest slowdown by the largest: 1 if all flows are slowed down alike (Tavakkol et al., FAST 2018)"),
    ("unfairness", "Largest slowdown by the smallest (Mutlu and Moscibroda, MICRO 2007)"),
    ("max-slowdown", "Largest slowdown"),
    (
        "weighted-speedup",
        "Sum of the speed-ups, the inverses of the slowdowns: the number of flows if none is slowed down (Snavely and \
         Tullsen, ASPLOS 2000; Eyerman and Eeckhout, IEEE Micro 2008)",
    ),
    ("harmonic-speedup", "Harmonic mean of the speed-ups (Luo et al., ISPASS 2001)"),
];

/// Every metric, in the groups of the reference.
#[must_use]
pub fn catalogue() -> Vec<Group> {
    let group = |title, runs, prefix: &str, all: &[Meaning]| {
        let entry = |(name, meaning): &Meaning| MetricEntry { name: format!("{prefix}{name}"), meaning };
        Group { title, runs, entries: all.iter().map(entry).collect() }
    };
    vec![
        group("All requests together", "all runs", "", &ALL),
        group(
            "Requests of one kind",
            "runs with requests of that kind: `read`, `write`, `flush`, `discard`",
            "KIND.",
            &KIND,
        ),
        group("One of several flows", "runs with `run.flows` or `--flow`", "flow.NAME.", &FLOW),
        group("Fairness", "runs with several flows; each of them runs alone, too", "", &FAIRNESS),
        group("Busy shares", "all runs; `busy.ftl` those with a map unit whose work takes time", "busy.", &BUSY),
        group("Erase counts", "all runs", "erases.", &ERASES),
        group("Flash commands", "all runs", "", &FLASH),
        group("Bit errors", "drives with `flash.errors`", "errors.", &ERRORS),
        group("Map unit", "drives with `ftl.map` other than `ram`", "map.", &MAP),
        group("Merges of log blocks", "drives with `ftl.kind` `bast` or `fast`", "log.", &LOG),
        group("Merges of superblocks", "drives with `ftl.kind` `hydra`", "merges.", &MERGES),
        group("SLC and MLC flash", "drives with `ftl.kind` `chang`", "slc.", &SLC),
        group("Refresh", "drives with `ftl.refresh`", "refresh.", &REFRESH),
        group("Parity", "drives with `ftl.parity`", "parity.", &PARITY),
        group("RAID", "devices with `[raid]`", "raid.", &RAID),
        group("Translation over zones", "devices with `[translation]`", "translation.", &TRANSLATION),
        group("Flexible Data Placement", "drives with `ftl.fdp`", "fdp.", &FDP),
        group("Zones", "drives with `ftl.kind` `zns`; some of them those with `ftl.zns.zrwa`", "zones.", &ZONES),
        group("Power and heat", "drives with `[power]`", "power.", &POWER),
        group("Life", "runs with `run.until = \"worn\"` or `--until worn`", "life.", &LIFE),
        group("SLC cache", "drives with `ftl.slc-cache`", "slc-cache.", &SLC_CACHE),
    ]
}

/// Every metric once, with all kinds of requests and operations, and with these flows. Metrics by cause are left out,
/// and so are metrics of a flow that runs alone, except its slowdown.
pub(crate) fn every(flows: &[String]) -> Vec<Metric> {
    let entries = catalogue().into_iter().flat_map(|group| group.entries).map(|entry| entry.name);
    let each = |name: String, key: &str, values: &mut dyn Iterator<Item = &str>| -> Vec<String> {
        if name.contains(key) { values.map(|value| name.replace(key, value)).collect() } else { vec![name] }
    };
    let names = entries.filter(|name| !name.contains("CAUSE") && !name.contains("alone."));
    let names = names.flat_map(|name| each(name, "STAT", &mut KIND.iter().map(|(stat, _)| *stat)));
    let names = names.flat_map(|name| each(name, "KIND", &mut IoKind::ALL.iter().map(|kind| kind.name())));
    let names = names.flat_map(|name| each(name, "OUTCOME", &mut Status::ALL.iter().map(|status| status.name())));
    let names = names.flat_map(|name| each(name, "OP", &mut Op::ALL.iter().map(|op| op.name())));
    let names = names.flat_map(|name| each(name, "NAME", &mut flows.iter().map(String::as_str)));
    names.map(|name| name.parse().expect("the catalogue names metrics")).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;
    use crate::metric::{HELP, names};

    fn listed() -> BTreeSet<String> {
        catalogue().into_iter().flat_map(|group| group.entries).map(|entry| entry.name).collect()
    }

    #[test]
    fn every_metric_is_listed_once() {
        let entries: Vec<MetricEntry> = catalogue().into_iter().flat_map(|group| group.entries).collect();
        let listed = listed();
        assert_eq!(entries.len(), listed.len(), "no name twice");
        for entry in &entries {
            assert_eq!(entry.metric().to_string().split('.').count(), entry.name.split('.').count(), "{}", entry.name);
        }
        for name in names() {
            let (group, stat) = name.split_once('.').unwrap_or(("", &name));
            let general = match group {
                kind if crate::metric::KINDS.contains(&kind) => format!("KIND.{stat}"),
                "commands" | "slots" => format!("{group}.OP"),
                "outcomes" => "outcomes.OUTCOME".to_owned(),
                _ => name.clone(),
            };
            assert!(listed.contains(&general), "{name} is not in the catalogue");
        }
    }

    /// Compares the names in the help of metrics with those in the catalogue.
    #[test]
    fn the_catalogue_and_the_help_agree() {
        let listed = listed();
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
        for group in [
            "map",
            "log",
            "merges",
            "slc",
            "slc-cache",
            "refresh",
            "parity",
            "raid",
            "translation",
            "zones",
            "life",
            "power",
            "errors",
        ] {
            let starts = format!("{group}.STAT");
            let help = HELP.iter().find(|line| line.starts_with(&starts)).expect("a line of the help");
            let words: BTreeSet<&str> = help.split(|c| !is_name(c)).collect();
            let named = words.iter().filter(|word| format!("{group}.{word}").parse::<Metric>().is_ok());
            for word in named {
                assert!(listed.contains(&format!("{group}.{word}")), "{group}.{word} is not in the catalogue");
            }
            for name in listed.iter().filter_map(|name| name.strip_prefix(&format!("{group}."))) {
                assert!(words.contains(name), "{group}.{name} is not in the help");
            }
        }
    }
}
