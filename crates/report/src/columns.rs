//! Parquet files of a run's distributions and of its course over time.

use std::borrow::Cow;
use std::io::Write;
use std::sync::Arc;

use base::io::IoKind;
use flash::backend::Op;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::Result;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use study::output::COLUMNS;
use study::run::{RunResult, rate, since, write_amplification};
use study::summary::{About, mean, share, shares};

/// The values of one column.
pub(crate) enum Column {
    /// Unsigned whole numbers.
    Count(Vec<u64>),
    /// Numbers, some of which may be missing.
    Number(Vec<Option<f64>>),
    /// Texts.
    Text(Vec<Cow<'static, str>>),
}

/// A Parquet file that is written in groups of rows.
pub(super) struct Rows<W: Write + Send> {
    writer: SerializedFileWriter<W>,
}

impl<W: Write + Send> Rows<W> {
    /// Creates a file. `columns` gives each column's name and an empty column of its type; `creator` names the program
    /// in the file.
    pub(super) fn create(out: W, creator: &str, about: &About, columns: &[(&str, Column)]) -> Result<Self> {
        let fields: String = columns
            .iter()
            .map(|(name, column)| match column {
                Column::Count(_) => format!("required int64 {name} (INTEGER(64,false));\n"),
                Column::Number(_) => format!("optional double {name};\n"),
                Column::Text(_) => format!("required binary {name} (STRING);\n"),
            })
            .collect();
        let schema = parse_message_type(&format!("message flashloom {{\n{fields}}}"))?;
        let entry = |key: &str, value: String| KeyValue::new(key.to_owned(), value);
        let properties = WriterProperties::builder()
            .set_compression(Compression::ZSTD(ZstdLevel::try_new(3)?))
            .set_created_by(creator.to_owned())
            .set_key_value_metadata(Some(vec![
                entry("flashloom.version", about.version.clone()),
                entry("flashloom.commit", about.commit.clone()),
                entry("flashloom.seed", about.seed.to_string()),
                entry("flashloom.config", about.config.to_string()),
            ]))
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
                    // Parquet's logical type says that these are the bits of an unsigned number.
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

pub(crate) fn whole(out: impl Write + Send, about: &About, columns: &[(&str, Column)]) -> Result<()> {
    let mut rows = Rows::create(out, COLUMNS, about, columns)?;
    rows.write(columns.iter().map(|(_, column)| column))?;
    rows.finish()
}

/// Writes every bin of every histogram: `kind`, `metric` (`latency`, `queue_wait`, `service`),
/// `up_to_ps`, `count`.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_histograms(out: impl Write + Send, about: &About, result: &RunResult) -> Result<()> {
    let (mut kinds, mut metrics, mut edges, mut counts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for kind in IoKind::ALL {
        let of = result.kind(kind);
        for (metric, histogram) in [("latency", &of.latency), ("queue_wait", &of.queue_wait), ("service", &of.service)]
        {
            for bin in histogram.bins() {
                kinds.push(kind.name().into());
                metrics.push(metric.into());
                edges.push(bin.up_to.as_ps());
                counts.push(bin.count);
            }
        }
    }
    whole(
        out,
        about,
        &[
            ("kind", Column::Text(kinds)),
            ("metric", Column::Text(metrics)),
            ("up_to_ps", Column::Count(edges)),
            ("count", Column::Count(counts)),
        ],
    )
}

/// Writes the erase count of every block: `block`, `erases`.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_erases(out: impl Write + Send, about: &About, counts: &[u32]) -> Result<()> {
    let blocks = (0..counts.len() as u64).collect();
    let erases = counts.iter().map(|count| u64::from(*count)).collect();
    whole(out, about, &[("block", Column::Count(blocks)), ("erases", Column::Count(erases))])
}

/// Writes the course of the run, one row per interval: `from_ps`, `to_ps`; per kind `read_requests`,
/// `read_bytes_per_s`, `read_latency_mean_us`, `read_latency_max_us` and so on;
/// `write_amplification`; `link_busy`, and the means over all of them `channels_busy`, `dies_busy`,
/// `controllers_busy`, and `processor_busy` (shares); `ftl_busy` (as `busy.ftl`, empty without a map unit);
/// `flash_reads`, `flash_programs`, `flash_erases`, `flash_copy_backs`
/// (commands); `free_blocks`, `bad_blocks`.
///
/// # Errors
/// If the file cannot be written.
pub(crate) fn write_series(out: impl Write + Send, about: &About, result: &RunResult) -> Result<()> {
    let intervals: Vec<_> = result.series.intervals().collect();
    let counted: Vec<_> = intervals.iter().map(|interval| since(interval.to, interval.from)).collect();
    let each = || intervals.iter().zip(&counted);
    let mut columns: Vec<(String, Column)> = vec![
        ("from_ps".into(), Column::Count(intervals.iter().map(|i| i.from.at.as_ps()).collect())),
        ("to_ps".into(), Column::Count(intervals.iter().map(|i| i.to.at.as_ps()).collect())),
    ];
    for kind in IoKind::ALL {
        let (k, name) = (kind as usize, kind.name());
        let requests = intervals.iter().map(|i| i.windows[k].count).collect();
        let mean = intervals.iter().map(|i| i.windows[k].mean().map(|mean| mean.as_us_f64())).collect();
        let max = intervals.iter().map(|i| (i.windows[k].count > 0).then(|| i.windows[k].max.as_us_f64())).collect();
        columns.push((format!("{name}_requests"), Column::Count(requests)));
        if kind != IoKind::Flush {
            let bytes = each().map(|(i, c)| {
                let moved = base::units::Sectors::new(c.sectors[k]).bytes();
                Some(rate(moved, i.span()).map_or(0.0, |rate| rate.get() as f64))
            });
            columns.push((format!("{name}_bytes_per_s"), Column::Number(bytes.collect())));
        }
        columns.push((format!("{name}_latency_mean_us"), Column::Number(mean)));
        columns.push((format!("{name}_latency_max_us"), Column::Number(max)));
    }
    let amplification = intervals.iter().map(|i| write_amplification(i.from, i.to)).collect();
    columns.push(("write_amplification".into(), Column::Number(amplification)));
    columns
        .push(("link_busy".into(), Column::Number(each().map(|(i, c)| Some(share(c.link_busy, i.span()))).collect())));
    let busy = |of: fn(&ssd::Counters) -> &[base::units::Span]| {
        Column::Number(each().map(|(i, c)| mean(&shares(of(c), i.span()))).collect())
    };
    columns.push(("channels_busy".into(), busy(|counters| &counters.channel_busy)));
    columns.push(("dies_busy".into(), busy(|counters| &counters.die_busy)));
    columns.push(("controllers_busy".into(), busy(|counters| &counters.controller_busy)));
    let ftl = each().map(|(i, c)| c.map.as_ref()?.busy_of_all().map(|busy| share(busy, i.span())));
    columns.push(("ftl_busy".into(), Column::Number(ftl.collect())));
    let processor = each().map(|(i, c)| Some(share(c.processor_busy, i.span())));
    columns.push(("processor_busy".into(), Column::Number(processor.collect())));
    for (op, name) in Op::ALL.into_iter().zip(["flash_reads", "flash_programs", "flash_erases", "flash_copy_backs"]) {
        columns.push((name.into(), Column::Count(counted.iter().map(|c| c.flash.op(op).commands).collect())));
    }
    columns.push(("free_blocks".into(), Column::Count(counted.iter().map(|c| c.free_blocks).collect())));
    columns.push(("bad_blocks".into(), Column::Count(counted.iter().map(|c| c.bad_blocks).collect())));
    let named: Vec<_> = columns.iter().map(|(name, _)| name.as_str()).collect();
    let mut rows = {
        let schema: Vec<_> = named.iter().zip(&columns).map(|(name, (_, column))| (*name, column.empty())).collect();
        Rows::create(out, COLUMNS, about, &schema)?
    };
    rows.write(columns.iter().map(|(_, column)| column))?;
    rows.finish()
}

impl Column {
    /// Moves the values out and leaves the column empty.
    pub(crate) fn take(&mut self) -> Self {
        let empty = self.empty();
        std::mem::replace(self, empty)
    }

    /// A column of the same type without values.
    const fn empty(&self) -> Self {
        match self {
            Self::Count(_) => Self::Count(Vec::new()),
            Self::Number(_) => Self::Number(Vec::new()),
            Self::Text(_) => Self::Text(Vec::new()),
        }
    }
}
