//! Parquet files of a run's distributions and of its course over time.

use std::io::Write;
use std::sync::Arc;

use base::io::IoKind;
use flash::backend::{Cause, Op};
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;
use ssd::PowerDraw;

use study::output::COLUMNS;
use study::run::{KindResult, RunResult, array_time_by, programmed_by, rate, since, write_amplification};
use study::series::{Interval, Series};
use study::summary::{LifePointSummary, LifeSummary, Provenance, busy_dies, mean, percentile, share, shares};
use workload::field::{message, metadata};

use crate::table::{Column, Field, Table, UnitOfMeasure, Values};

/// A Parquet file that is written in groups of rows.
pub(super) struct Rows<W: Write + Send> {
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> Rows<W> {
    /// Creates a file with these columns; `creator` names the program in the file.
    pub(super) fn create(out: W, creator: &str, about: &Provenance, fields: &[Field]) -> Result<Self> {
        let schema = parse_message_type(&message(fields))?;
        let entry = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
        let said = [
            entry("flashloom.version", about.version.clone()),
            entry("flashloom.commit", about.commit.clone()),
            entry("flashloom.seed", about.seed.to_string()),
            entry("flashloom.config", about.config.to_string()),
        ];
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_created_by(creator.to_owned())
            .set_key_value_metadata(Some([&said[..], &metadata(fields)].concat()))
            .build();
        Ok(Self { writer: SerializedFileWriter::new(out, Arc::new(schema), Arc::new(properties))? })
    }

    /// Writes one group of rows: the columns of [`Rows::create`], all of the same length.
    pub(super) fn write<'a>(&mut self, columns: impl IntoIterator<Item = &'a Column>) -> Result<()> {
        let mut group = self.writer.next_row_group()?;
        for column in columns {
            let mut writer = group.next_column()?.expect("as many columns as the schema has");
            match column {
                Column::Count(values) => {
                    // By Parquet's logical type, the column has the bits of an unsigned number.
                    let values: Vec<i64> = values.iter().map(|value| value.cast_signed()).collect();
                    writer.typed::<Int64Type>().write_batch(&values, None, None)?;
                }
                Column::Number(values) => {
                    let present: Vec<f64> = values.iter().flatten().copied().collect();
                    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
                    writer.typed::<DoubleType>().write_batch(&present, Some(&levels), None)?;
                }
                Column::Text(values) => {
                    let values: Vec<ByteArray> = values.iter().map(|value| ByteArray::from(value.as_ref())).collect();
                    writer.typed::<ByteArrayType>().write_batch(&values, None, None)?;
                }
            }
            writer.close()?;
        }
        group.close()?;
        Ok(())
    }

    /// Writes the footer of the file.
    pub(super) fn finish(self) -> Result<()> {
        self.writer.close().map(drop)
    }
}

/// Writes a table as a file of results.
pub(crate) fn whole(out: impl Write + Send, about: &Provenance, table: &Table) -> Result<()> {
    let mut rows = Rows::create(out, COLUMNS, about, &table.fields())?;
    rows.write(table.columns())?;
    rows.finish()
}

const KIND: Field = Field::new("kind", Values::Text, UnitOfMeasure::None, "`read`, `write`, `flush` or `discard`");

/// Every bin of every histogram that is not empty.
pub(crate) fn histograms(kinds: &[(IoKind, &KindResult)]) -> Table {
    let (mut of, mut metrics, mut edges, mut counts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for (kind, result) in kinds {
        let all = [("latency", &result.latency), ("queue_wait", &result.queue_wait), ("service", &result.service)];
        for (metric, histogram) in all {
            for bin in histogram.bins() {
                of.push(kind.name().into());
                metrics.push(metric);
                edges.push(bin.up_to.as_ps());
                counts.push(bin.count);
            }
        }
    }
    let mut table = Table::default();
    table.push(KIND, Column::Text(of));
    table.text("metric", "`latency`, `queue_wait` or `service`", metrics);
    table.count("up_to_ps", UnitOfMeasure::Picoseconds, "Upper edge of the bin", edges);
    table.count("count", UnitOfMeasure::None, "Requests in the bin", counts);
    table
}

/// The [`histograms`] of all kinds of requests.
pub(crate) fn run_histograms(result: &RunResult) -> Table {
    histograms(&IoKind::ALL.map(|kind| (kind, result.kind(kind))))
}

/// Writes [`run_histograms`].
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_histograms(out: impl Write + Send, about: &Provenance, result: &RunResult) -> Result<()> {
    whole(out, about, &run_histograms(result))
}

pub(crate) fn erases(counts: &[u32]) -> Table {
    let mut table = Table::default();
    table.count("block", UnitOfMeasure::None, "Number of the block, from zero", 0..counts.len() as u64);
    let about = "Times that it was erased, those of preconditioning included";
    table.count("erases", UnitOfMeasure::None, about, counts.iter().map(|count| u64::from(*count)));
    table
}

/// Writes [`erases`].
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_erases(out: impl Write + Send, about: &Provenance, counts: &[u32]) -> Result<()> {
    whole(out, about, &erases(counts))
}

/// The curve of a drive's life.
pub(crate) fn life(points: &[LifePointSummary]) -> Table {
    let (mut table, none) = (Table::default(), UnitOfMeasure::None);
    let written = points.iter().map(|point| point.written_bytes);
    table.count("written_bytes", UnitOfMeasure::Bytes, "Bytes of the host's writes so far", written);
    let seconds = points.iter().map(|point| Some(point.seconds));
    table.number("life_s", UnitOfMeasure::Seconds, "Simulated time since the life began", seconds);
    let waf = points.iter().map(|point| point.write_amplification);
    table.number("write_amplification", none, "Bytes programmed per byte written since the point before", waf);
    table.count("failed_blocks", none, "Blocks that have failed", points.iter().map(|point| point.failed_blocks));
    let spare = points.iter().map(|point| Some(point.spare_left));
    table.number("spare_left", UnitOfMeasure::Share, "Share of the spare blocks that is left", spare);
    let mean = points.iter().map(|point| Some(point.mean_erases));
    table.number("mean_erases", none, "Mean erases of a block", mean);
    table.count("max_erases", none, "Most erases of a block", points.iter().map(|point| u64::from(point.max_erases)));
    table
}

/// Writes [`life`].
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_life(out: impl Write + Send, about: &Provenance, of: &LifeSummary) -> Result<()> {
    whole(out, about, &life(&of.curve))
}

/// The course of a run, one row per interval.
pub(crate) fn series(intervals: &[Interval<'_>], draw: Option<&PowerDraw>) -> Table {
    let counted: Vec<_> = intervals.iter().map(|interval| since(interval.to, interval.from)).collect();
    let each = || intervals.iter().zip(&counted);
    let mut table = Table::default();
    let begin = "Begin of the interval in simulated time";
    table.count("from_ps", UnitOfMeasure::Picoseconds, begin, intervals.iter().map(|i| i.from.at.as_ps()));
    table.count("to_ps", UnitOfMeasure::Picoseconds, "End of the interval", intervals.iter().map(|i| i.to.at.as_ps()));
    let occurs = |kind: &IoKind| {
        let k = *kind as usize;
        !kind.is_optional() || each().any(|(i, c)| i.windows[k].count + c.failed[k] > 0)
    };
    for kind in IoKind::ALL.into_iter().filter(occurs) {
        let (k, name) = (kind as usize, kind.name());
        let mut add = |end: &str, unit, meaning: &str, column: Column| {
            let meaning = format!("{meaning}, of {name} requests");
            table.push(Field::named(format!("{name}_{end}"), column.values(), unit, meaning), column);
        };
        let requests = intervals.iter().map(|i| i.windows[k].count).collect();
        add("requests", UnitOfMeasure::None, "Requests that succeeded in the interval", Column::Count(requests));
        let failed = each().map(|(_, c)| c.failed[k]).collect();
        add("failed", UnitOfMeasure::None, "Requests that failed in the interval", Column::Count(failed));
        if !kind.is_bare() {
            let bytes = each().map(|(i, c)| {
                let moved = base::units::Sectors::new(c.sectors[k]).bytes();
                Some(rate(moved, i.span()).unwrap_or(0.0))
            });
            add(
                "bytes_per_s",
                UnitOfMeasure::BytesPerSecond,
                "Bytes per simulated second",
                Column::Number(bytes.collect()),
            );
        }
        let mean = intervals.iter().map(|i| i.windows[k].mean().map(|mean| mean.as_us_f64())).collect();
        add("latency_mean_us", UnitOfMeasure::Microseconds, "Mean response time", Column::Number(mean));
        let max = intervals.iter().map(|i| (i.windows[k].count > 0).then(|| i.windows[k].max.as_us_f64())).collect();
        add("latency_max_us", UnitOfMeasure::Microseconds, "Longest response time", Column::Number(max));
        for (end, q, meaning) in QUANTILES {
            let of = |i: &Interval<'_>| percentile(&i.detail?.kinds[k], &i.windows[k], q);
            add(end, UnitOfMeasure::Microseconds, meaning, Column::Number(intervals.iter().map(of).collect()));
        }
    }
    let depth = intervals.iter().map(|i| Some(i.detail?.depth.mean(i.span())));
    table.number("queue_depth_mean", UnitOfMeasure::None, "Mean number of requests outstanding", depth);
    let most = intervals.iter().map(|i| Some(i.detail?.depth.max as f64));
    table.number("queue_depth_max", UnitOfMeasure::None, "Most requests outstanding", most);
    let dies = intervals.iter().map(|i| Some(busy_dies(i)));
    table.number("busy_dies", UnitOfMeasure::None, "Mean number of dies that were busy", dies);
    let amplification = "Mapping units programmed per mapping unit that the host wrote, that the drive did not refuse and no buffer absorbed";
    let waf = intervals.iter().map(|i| write_amplification(i.from, i.to));
    table.number("write_amplification", UnitOfMeasure::None, amplification, waf);
    let link = each().map(|(i, c)| Some(share(c.link_busy, i.span())));
    table.number("link_busy", UnitOfMeasure::Share, "Share of the interval for which the host link was busy", link);
    let busy =
        |of: fn(&ssd::Counters) -> &[base::units::Span]| each().map(move |(i, c)| mean(&shares(of(c), i.span())));
    let means = "The same, mean over the";
    let mut add = |name: &'static str, of: &str, values: Vec<Option<f64>>| {
        let field = Field::named(name.to_owned(), Values::Number, UnitOfMeasure::Share, format!("{means} {of}"));
        table.push(field, Column::Number(values));
    };
    add("channels_busy", "channels", busy(|counters| &counters.channel_busy).collect());
    add("dies_busy", "dies", busy(|counters| &counters.die_busy).collect());
    add("controllers_busy", "controllers", busy(|counters| &counters.controller_busy).collect());
    let ftl = each().map(|(i, c)| c.map.as_ref()?.busy_of_all().map(|busy| share(busy, i.span())));
    table.number("ftl_busy", UnitOfMeasure::Share, "The same of the map unit, as the metric `busy.ftl`", ftl);
    let processor = each().map(|(i, c)| Some(share(c.processor_busy, i.span())));
    table.number("processor_busy", UnitOfMeasure::Share, "The same of the processor", processor);
    let names = ["flash_reads", "flash_programs", "flash_erases", "flash_copy_backs"];
    let meanings = ["Flash reads", "Flash programs", "Flash erases", "Copy-backs"];
    for ((op, name), meaning) in Op::ALL.into_iter().zip(names).zip(meanings) {
        table.count(name, UnitOfMeasure::None, meaning, counted.iter().map(|c| c.flash.op(op).commands));
    }
    add_causes(&mut table, intervals);
    let energy = |i: &Interval<'_>| Some(draw?.between(i.from, i.to).as_joules()).filter(|joules| joules.is_finite());
    let drawn = "Energy of the drive in the interval: its flash and channels, and with `[power]` the rest; empty if the parts have no electrical figures";
    table.number("energy_j", UnitOfMeasure::Joules, drawn, intervals.iter().map(energy));
    let power = |i: &Interval<'_>| draw.and_then(|draw| draw.mean_power(i.from, i.to));
    table.number("power_w", UnitOfMeasure::Watts, "Its mean power", intervals.iter().map(power));
    let celsius = |i: &Interval<'_>| i.to.power.as_ref()?.celsius.map(|[now, _]| now);
    let warm = "Temperature of the drive at the end of the interval, empty without `power.thermal`";
    table.number("temperature_celsius", UnitOfMeasure::Celsius, warm, intervals.iter().map(celsius));
    let throttle = each().map(|(i, c)| Some(share(c.power.as_ref()?.throttle_time, i.span())));
    let held = "Share of the interval for which heat kept the next request waiting, empty without `[power]`";
    table.number("throttled", UnitOfMeasure::Share, held, throttle);
    let free = "Free blocks at the end of the interval";
    table.count("free_blocks", UnitOfMeasure::None, free, counted.iter().map(|c| c.free_blocks));
    let bad = "Bad blocks at the end of the interval";
    table.count("bad_blocks", UnitOfMeasure::None, bad, counted.iter().map(|c| c.bad_blocks));
    table
}

/// The work of the flash in each interval by cause: array time, and mapping units programmed.
fn add_causes(table: &mut Table, intervals: &[Interval<'_>]) {
    let mut add = |name: String, values, unit, meaning: String, column: Column| {
        table.push(Field::named(name, values, unit, meaning), column);
    };
    for cause in Cause::ALL {
        let time = |i: &Interval<'_>| Some(array_time_by(i.from, i.to)[cause as usize].as_us_f64());
        let meaning =
            format!("Time that the arrays of all dies worked for the cause `{}`, summed over the dies", cause.name());
        let column = Column::Number(intervals.iter().map(time).collect());
        add(format!("array_{}_us", cause.name()), Values::Number, UnitOfMeasure::Microseconds, meaning, column);
    }
    for cause in Cause::ALL {
        let units = |i: &Interval<'_>| programmed_by(i.from, i.to)[cause as usize];
        let meaning =
            format!("Mapping units programmed and copied for the cause `{}`, without those of SLC flash", cause.name());
        let column = Column::Count(intervals.iter().map(units).collect());
        add(format!("program_slots_{}", cause.name()), Values::Count, UnitOfMeasure::None, meaning, column);
    }
}

/// The busy share of each channel, die and plane that reads by itself, with one row for each of them and each interval.
/// This is a table apart from [`series`] for two reasons: a column has one number in each format of a table, and the
/// number of columns must not depend on the drive.
pub(crate) fn busy(intervals: &[Interval<'_>]) -> Table {
    type Busy = fn(&ssd::Counters) -> &[base::units::Span];
    const RESOURCES: [(&str, Busy); 3] = [
        ("channel", |counters| &counters.channel_busy),
        ("die", |counters| &counters.die_busy),
        ("plane", |counters| &counters.plane_busy),
    ];
    let rows: Vec<_> = intervals
        .iter()
        .flat_map(|i| {
            let of = move |(name, busy): (&'static str, Busy)| {
                let pairs = busy(i.to).iter().zip(busy(i.from)).enumerate();
                pairs.map(move |(number, (to, from))| (i, name, number as u64, share(*to - *from, i.span())))
            };
            RESOURCES.into_iter().flat_map(of)
        })
        .collect();
    let mut table = Table::default();
    let begin = "Begin of the interval in simulated time";
    table.count("from_ps", UnitOfMeasure::Picoseconds, begin, rows.iter().map(|(i, ..)| i.from.at.as_ps()));
    table.count("to_ps", UnitOfMeasure::Picoseconds, "End of the interval", rows.iter().map(|(i, ..)| i.to.at.as_ps()));
    table.text("kind", "`channel` or `die`", rows.iter().map(|(_, name, ..)| *name));
    let number = "Number of the channel or the die, from zero";
    table.count("number", UnitOfMeasure::None, number, rows.iter().map(|(_, _, number, _)| *number));
    let share = "Share of the interval for which it was busy";
    table.number("busy", UnitOfMeasure::Share, share, rows.iter().map(|(.., share)| Some(*share)));
    table
}

/// The [`busy`] table of a run, with the intervals of its [`series`].
pub(crate) fn run_busy(result: &RunResult) -> Table {
    busy(&of(result).intervals().collect::<Vec<_>>())
}

/// Writes [`run_busy`].
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_busy(out: impl Write + Send, about: &Provenance, result: &RunResult) -> Result<()> {
    whole(out, about, &run_busy(result))
}

/// The percentiles of an interval.
const QUANTILES: [(&str, f64, &str); 3] = [
    ("latency_p50_us", 0.5, "Median of the response time"),
    ("latency_p99_us", 0.99, "99th percentile, empty if fewer than ten requests lie beyond it"),
    ("latency_p99_9_us", 0.999, "99.9th percentile, empty if fewer than ten requests lie beyond it"),
];

/// The [`series`] of a run: the detailed one, if the run has it.
pub(crate) fn run_series(result: &RunResult, draw: Option<&PowerDraw>) -> Table {
    series(&of(result).intervals().collect::<Vec<_>>(), draw)
}

/// The detailed series of a run, or its coarse one if it has no other.
fn of(result: &RunResult) -> &Series {
    result.detailed.as_ref().map_or(&result.series, |(_, series)| series)
}

/// Writes [`run_series`].
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_series(
    out: impl Write + Send,
    about: &Provenance,
    result: &RunResult,
    draw: Option<&PowerDraw>,
) -> Result<()> {
    whole(out, about, &run_series(result, draw))
}

/// The course of each flow, one row for each flow and interval.
pub(crate) fn flow_series(names: &[&str], intervals: &[Interval<'_>]) -> Table {
    let each = || {
        intervals.iter().flat_map(|i| {
            let flows = i.detail.map_or(&[][..], |detail| &detail.flows);
            names.iter().zip(flows).map(move |(name, flow)| (i, *name, flow))
        })
    };
    let mut table = Table::default();
    let begin = "Begin of the interval in simulated time";
    table.count("from_ps", UnitOfMeasure::Picoseconds, begin, each().map(|(i, ..)| i.from.at.as_ps()));
    table.count("to_ps", UnitOfMeasure::Picoseconds, "End of the interval", each().map(|(i, ..)| i.to.at.as_ps()));
    table.text("flow", "The flow's name", each().map(|(_, name, _)| name.to_owned()));
    table.count(
        "requests",
        UnitOfMeasure::None,
        "Its requests completed in the interval",
        each().map(|(.., of)| of.window.count),
    );
    let bytes = each().map(|(i, _, of)| Some(rate(of.moved.bytes(), i.span()).unwrap_or(0.0)));
    table.number(
        "moved_bytes_per_s",
        UnitOfMeasure::BytesPerSecond,
        "Bytes that it read and wrote per simulated second",
        bytes,
    );
    let mean = each().map(|(.., of)| of.window.mean().map(|mean| mean.as_us_f64()));
    table.number("latency_mean_us", UnitOfMeasure::Microseconds, "Mean response time", mean);
    for (name, q, meaning) in QUANTILES {
        let of = each().map(|(.., of)| percentile(&of.latencies, &of.window, q));
        table.number(name, UnitOfMeasure::Microseconds, meaning, of);
    }
    let max = each().map(|(.., of)| (of.window.count > 0).then(|| of.window.max.as_us_f64()));
    table.number("latency_max_us", UnitOfMeasure::Microseconds, "Longest response time", max);
    let depth = each().map(|(i, _, of)| Some(of.depth.mean(i.span())));
    table.number("queue_depth_mean", UnitOfMeasure::None, "Mean number of its requests outstanding", depth);
    table.count(
        "queue_depth_max",
        UnitOfMeasure::None,
        "Most of its requests outstanding",
        each().map(|(.., of)| of.depth.max),
    );
    table
}

/// The [`flow_series`] of a run; without rows unless it has several flows and a detailed series.
pub(crate) fn run_flow_series(result: &RunResult) -> Table {
    let names: Vec<&str> = result.flows.iter().map(|flow| flow.name.as_str()).collect();
    flow_series(&names, &of(result).intervals().collect::<Vec<_>>())
}

/// Writes [`run_flow_series`].
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_flow_series(out: impl Write + Send, about: &Provenance, result: &RunResult) -> Result<()> {
    whole(out, about, &run_flow_series(result))
}
