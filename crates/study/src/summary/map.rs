//! The map unit in a summary.

use base::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use ssd::map_unit::{Counters, HmbCounters};

/// The work of the map unit during the run, if the device has one.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct MapSummary {
    /// The number of lookups and updates that the map unit answered.
    pub questions: u64,
    /// The number of questions whose block of entries was in the first level of cache (CMT); all questions if the full
    /// table is in RAM.
    pub hits: u64,
    /// The number of questions whose block was missing or still being loaded.
    pub misses: u64,
    /// The share of hits in all questions.
    pub hit_ratio: Option<f64>,
    /// The number of requests to the second level (CTP) that found their translation page.
    pub page_hits: u64,
    /// The number of requests whose page was missing or still being loaded.
    pub page_misses: u64,
    /// The share of page hits; missing without a second level.
    pub page_hit_ratio: Option<f64>,
    /// The number of translation pages loaded, from the host's memory or from flash.
    pub loads: u64,
    /// The number of translation pages stored.
    pub stores: u64,
    /// The number of flushes: each writes back all dirty blocks of one translation page.
    pub flushes: u64,
    /// The number of blocks that flushes wrote back.
    pub flushed_blocks: u64,
    /// The maximum number of concurrent loads since power-on.
    pub loads_at_most: u64,
    /// The maximum number of miss status registers in use since power-on.
    pub mshrs_at_most: Mshrs,
    /// Mean busy time of a question, including the command that follows it; loads from flash do not count.
    pub time_us: Option<f64>,
    /// Mean busy time of a flush, including its stores.
    pub flush_time_us: Option<f64>,
    /// The host memory buffer, if the drive asks for one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hmb: Option<HmbSummary>,
}

/// The work of the host memory buffer (HMB) during the run.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
pub struct HmbSummary {
    /// The number of loads of translation pages that the host's memory had.
    pub hits: u64,
    /// The number of loads of pages that the host's memory did not have while the drive used it.
    pub misses: u64,
    /// The share of hits in all loads.
    pub hit_ratio: Option<f64>,
    /// Bytes read from the host's memory over the link.
    pub read_bytes: u64,
    /// Bytes written to the host's memory over the link.
    pub written_bytes: u64,
    /// Mean time of a load from the host's memory: wait for the link, transfer and latency.
    pub time_us: Option<f64>,
}

impl HmbSummary {
    fn new(of: &HmbCounters) -> Self {
        let all = of.hits + of.misses;
        Self {
            hits: of.hits,
            misses: of.misses,
            hit_ratio: (all > 0).then(|| of.hits as f64 / all as f64),
            read_bytes: of.read.get(),
            written_bytes: of.written.get(),
            time_us: (of.hits > 0).then(|| of.time.as_us_f64() / of.hits as f64),
        }
    }
}

/// Miss status registers of the two levels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
pub struct Mshrs {
    /// Registers of the first level; in software, the number of questions that wait for a load.
    pub cmt: u64,
    /// Registers of the second level.
    pub ctp: u64,
}

impl MapSummary {
    pub(super) fn new(map: &Counters) -> Self {
        let share = |hits: u64, misses: u64| (hits + misses > 0).then(|| hits as f64 / (hits + misses) as f64);
        let mean = |time: Span, of: u64| (of > 0).then(|| time.as_us_f64() / of as f64);
        let [cmt, ctp] = map.mshrs_at_most;
        Self {
            questions: map.questions,
            hits: map.cmt_hits,
            misses: map.cmt_misses,
            hit_ratio: share(map.cmt_hits, map.cmt_misses),
            page_hits: map.ctp_hits,
            page_misses: map.ctp_misses,
            page_hit_ratio: share(map.ctp_hits, map.ctp_misses),
            loads: map.loads,
            stores: map.stores,
            flushes: map.flushes,
            flushed_blocks: map.flushed_blocks,
            loads_at_most: map.loads_at_most,
            mshrs_at_most: Mshrs { cmt, ctp },
            time_us: mean(map.question_time, map.questions),
            flush_time_us: mean(map.flush_time, map.flushes),
            hmb: map.hmb.as_ref().map(HmbSummary::new),
        }
    }
}

#[cfg(test)]
mod tests {
    use flash::backend::{Cause, Op};
    use testkit::small;

    use crate::metric::Metric;
    use crate::reconcile::reconcile;
    use crate::summary::Summary;
    use crate::testing::{settled, summary};

    fn with(map: &str) -> Summary {
        summary(&settled(small::with_map(map)))
    }

    fn of(summary: &Summary, name: &str) -> Option<f64> {
        name.parse::<Metric>().expect(name).of(summary)
    }

    const DFTL: &str = "{ kind = \"dftl\", cmt = \"1KiB\", ways = 4, cores = 2, write-buffers = 4 }";
    const CDFTL: &str = "{ kind = \"cdftl\", cmt = \"1KiB\", ctp = \"4KiB\", ways = 2, cores = 2 }";
    const FMMU: &str = "{ kind = \"fmmu\", cmt = \"1KiB\", ctp = \"4KiB\", ways = 2 }";
    const TABLE: &str = "{ kind = \"table\", service = \"2us\" }";
    const UNCACHED: &str = "{ kind = \"uncached\", service = \"3us\" }";

    #[test]
    fn the_counters_of_every_map_unit_cover_the_run_alone() {
        for map in [TABLE, UNCACHED, DFTL, CDFTL, FMMU] {
            let result = settled(small::with_map(map));
            assert_eq!(reconcile(&result), Ok(()));
            let (before, counted) = (result.before.map.as_ref().expect("a map unit"), result.counters());
            assert_eq!((before.questions, before.loads, before.stores), (0, 0, 0), "preconditioning does not count");
            let summary = summary(&result);
            let asked = summary.map.as_ref().expect("a map unit");
            // One question per request, and one per mapping unit that garbage collection copied.
            let copies = counted.flash.of(Op::Program, Cause::Gc).slots;
            assert!((2_000..=2_000 + copies).contains(&asked.questions), "{map}: {} questions", asked.questions);
            let begun = asked.hits + asked.misses;
            assert!(begun.abs_diff(asked.questions) <= 8 + copies, "{map}: {begun} of {}", asked.questions);
            let read = counted.flash.of(Op::Read, Cause::Map).commands;
            assert!(asked.loads >= read && (asked.loads > 0) == (asked.misses > 0), "{map}: {asked:?}");
            assert_eq!(of(&summary, "map.hit-ratio"), Some(asked.hits as f64 / begun as f64));
        }
    }

    #[test]
    fn a_drive_without_a_map_unit_reports_none() {
        let summary = with("{ kind = \"ram\" }");
        assert_eq!(summary.map, None);
        assert_eq!([of(&summary, "map.hits"), of(&summary, "busy.ftl")], [None, None]);
        let json: serde_json::Value = serde_json::from_str(&Summary::json(&[summary])).expect("JSON");
        assert!(json.get("map").is_none() && json["utilisation"].get("ftl").is_none());
    }

    #[test]
    fn answers_of_the_map_take_their_specified_times() {
        let close = |value: Option<f64>, to: f64| assert!((value.expect("a time") - to).abs() < 1e-9 * to, "{value:?}");
        close(of(&with(TABLE), "map.time"), 2.0);
        let uncached = with(UNCACHED);
        close(of(&uncached, "map.time"), 3.0);
        assert_eq!(of(&uncached, "map.hits"), Some(0.0));
        assert!(of(&uncached, "map.stores").is_some_and(|stores| stores >= 1_000.0), "each change");
    }

    #[test]
    fn the_ftl_is_as_busy_as_the_mean_core_or_the_busier_stage() {
        let dftl = with(DFTL);
        let [one, two] = dftl.utilisation.ftl_parts[..] else { panic!("two cores") };
        assert!((of(&dftl, "busy.ftl").expect("cores") - (one + two) / 2.0).abs() < 1e-9);
        let fmmu = with(FMMU);
        let [cmt, ctp] = fmmu.utilisation.ftl_parts[..] else { panic!("CMT and CTP") };
        let busy = of(&fmmu, "busy.ftl").expect("two machines");
        assert!((busy - cmt.max(ctp)).abs() < 1e-12 && busy > 0.0 && cmt.min(ctp) > 0.0);
        // All busy time belongs to questions or flushes.
        for (summary, parts) in [(&dftl, one + two), (&fmmu, cmt + ctp)] {
            let total = of(summary, "map.time").zip(of(summary, "map.questions")).map_or(0.0, |(each, n)| each * n)
                + of(summary, "map.flush-time").zip(of(summary, "map.flushes")).map_or(0.0, |(each, n)| each * n);
            let worked = parts * summary.simulated_s * 1e6;
            assert!((total / worked - 1.0).abs() < 0.01, "{total} us of {worked} us");
        }
    }

    #[test]
    fn the_host_memory_buffer_has_metrics_of_its_own() {
        let hmb = "hmb = { preferred = \"32KiB\", minimum = \"0B\" }";
        for (map, entries) in [(DFTL, 16), (CDFTL, 256), (FMMU, 256)] {
            let summary = with(&format!("{}, {hmb} }}", map.trim_end_matches(" }")));
            let map = summary.map.as_ref().expect("a map unit");
            let hmb = map.hmb.as_ref().expect("memory of the host");
            for (name, value) in [
                ("map.hmb.hits", hmb.hits),
                ("map.hmb.misses", hmb.misses),
                ("map.hmb.read", hmb.read_bytes),
                ("map.hmb.written", hmb.written_bytes),
            ] {
                assert_eq!(of(&summary, name), Some(value as f64), "{name}");
                assert!(value > 0, "{name} has no value here");
            }
            let share = hmb.hits as f64 / (hmb.hits + hmb.misses) as f64;
            assert_eq!(of(&summary, "map.hmb.hit-ratio"), Some(share));
            // On a link that takes no time, only the latency remains.
            assert_eq!(of(&summary, "map.hmb.time"), Some(1.0));
            assert!(hmb.read_bytes >= hmb.hits * entries, "{hmb:?}");
            assert!(hmb.hits + hmb.misses <= map.loads, "{map:?}");
        }
        assert_eq!(of(&with(FMMU), "map.hmb.hits"), None);
    }

    #[test]
    fn each_map_metric_reads_the_counter_of_its_name() {
        let summary = with(FMMU);
        let map = summary.map.as_ref().expect("a map unit");
        for (name, value) in [
            ("map.questions", map.questions),
            ("map.hits", map.hits),
            ("map.page-hits", map.page_hits),
            ("map.loads", map.loads),
            ("map.stores", map.stores),
            ("map.flushes", map.flushes),
            ("map.flushed-blocks", map.flushed_blocks),
            ("map.loads-at-most", map.loads_at_most),
            ("map.mshrs.cmt", map.mshrs_at_most.cmt),
            ("map.mshrs.ctp", map.mshrs_at_most.ctp),
        ] {
            assert_eq!(of(&summary, name), Some(value as f64), "{name}");
            assert!(value > 0, "{name} has no value here");
        }
        let share = map.page_hits as f64 / (map.page_hits + map.page_misses) as f64;
        assert_eq!(of(&summary, "map.page-hit-ratio"), Some(share));
        for wrong in ["map", "map.misses.cmt", "map.mshrs", "map.mshrs.dtl", "map.hits.cmt", "busy.map"] {
            assert!(wrong.parse::<Metric>().is_err(), "{wrong}");
        }
    }
}
