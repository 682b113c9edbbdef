//! A comparison as a table for other programs: one row per drive.

use study::compare::{self, Comparison, FLASH, FlowTable, LATENCIES, Row};

use crate::table::{Column, Field, Table, UnitOfMeasure, Values};

/// The end of the name of a column of half-widths.
const HALF_WIDTH: &str = "half_width";

/// The drives in the order of the user. Columns of a flow begin with its name. With several seeds a number is the mean
/// over them, and the next column is the half-width of its 95 % interval.
#[must_use]
pub fn rows(comparison: &Comparison) -> Table {
    let mut table = table(&comparison.rows);
    comparison.flows.iter().for_each(|flow| add(&mut table, flow));
    table
}

/// Adds the columns of a flow, or the columns about all flows together.
fn add(table: &mut Table, of: &FlowTable) {
    for column in of.shown() {
        let (name, about) = match &of.flow {
            Some(flow) => (
                format!("{}_{}", flow.replace(|c: char| !c.is_ascii_alphanumeric(), "_"), column.key),
                format!("{}, of the flow `{flow}`", meaning(column.key)),
            ),
            None => (column.key.to_owned(), meaning(column.key).to_owned()),
        };
        let values = of.rows.iter().map(|row| row.values.get(column.key).copied()).collect();
        let field = Field::named(name, Values::Number, unit(column.key), about);
        let halves = of.rows.iter().map(|row| row.spread.get(column.key)?.half_width);
        push(table, field, values, halves.collect());
    }
}

/// Adds a column. With several seeds, the column of the half-widths follows.
fn push(table: &mut Table, field: Field, values: Vec<Option<f64>>, halves: Vec<Option<f64>>) {
    let name = format!("{}_{HALF_WIDTH}", field.name);
    let about = format!("Half the width of the 95 % interval of the mean over the seeds, of `{}`", field.name);
    let half = Field::named(name, Values::Number, field.unit, about);
    table.push(field, Column::Number(values));
    if halves.iter().any(Option::is_some) {
        table.push(half, Column::Number(halves));
    }
}

/// The columns of every comparison.
#[must_use]
pub fn fields() -> Vec<Field> {
    table(&[]).fields()
}

fn table(rows: &[Row]) -> Table {
    let mut table = Table::default();
    table.text("device", "The drive's name", rows.iter().map(|row| row.device.clone()));
    for column in LATENCIES.iter().chain(&FLASH) {
        let values = rows.iter().map(|row| row.values.get(column.key).copied()).collect();
        let halves = rows.iter().map(|row| row.spread.get(column.key)?.half_width).collect();
        push(&mut table, field(column), values, halves);
    }
    let best =
        "The columns in which the drive may be the best: no other is told from it as better; separated by blanks";
    table.text("best", best, rows.iter().map(|row| row.best.join(" ")));
    table
}

fn field(column: &compare::Column) -> Field {
    Field::new(column.key, Values::Number, unit(column.key), meaning(column.key))
}

/// The unit of measure at the end of a key.
fn unit(key: &str) -> UnitOfMeasure {
    const UNITS: [UnitOfMeasure; 4] =
        [UnitOfMeasure::Microseconds, UnitOfMeasure::BytesPerSecond, UnitOfMeasure::PerSecond, UnitOfMeasure::Bytes];
    UNITS.into_iter().find(|unit| unit.ends(key)).unwrap_or(UnitOfMeasure::None)
}

fn meaning(key: &str) -> &'static str {
    match key {
        "read_mean_us" => "Mean response time of reads",
        "read_p99_us" => "99th percentile of the response time of reads",
        "read_p99_9_us" => "99.9th percentile of the response time of reads",
        "write_mean_us" => "Mean response time of writes",
        "write_p99_us" => "99th percentile of the response time of writes",
        "write_p99_9_us" => "99.9th percentile of the response time of writes",
        "requests_per_s" => "Reads and writes that succeeded per simulated second",
        "failed" => "Share of the requests that failed; no other number is about them",
        "bytes_per_s" => "Bytes read and written per simulated second",
        "byte_write_amplification" => "Write amplification in bytes (metric `waf-bytes`)",
        "write_amplification" => "Mapping units programmed per mapping unit that the host wrote and no buffer absorbed",
        "erases" => "Erases, those of an SLC flash included",
        "erase_deviation" => "Standard deviation of the erase counts of the blocks",
        "energy_j_per_gb" => "Energy in joules per 10^9 bytes read or written",
        "table_ram_bytes" => "RAM of the FTL's tables",
        "buffer_ram_bytes" => "RAM of the write buffer",
        "flash_bytes" => "Flash, that of an SLC flash included",
        "cost_gib_mlc" => "Price of the flash, in GiB of MLC flash",
        "slowdown" => "Mean response time by that of the same requests alone on the drive",
        "fairness" => "Smallest slowdown of the flows by the largest",
        "unfairness" => "Largest slowdown of the flows by the smallest",
        "max_slowdown" => "Largest slowdown of the flows",
        "weighted_speedup" => "Sum of the speed-ups of the flows, the inverses of their slowdowns",
        "harmonic_speedup" => "Harmonic mean of the speed-ups of the flows",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_over_several_seeds_have_half_widths_beside_them() {
        use std::path::{Path, PathBuf};

        use study::execute::{self, Program};
        use study::plan::{FlowSpec, RunSpec};

        let mut run = RunSpec { limit: Some(300), name: Some("reader".into()), ..RunSpec::default() };
        run.flows.insert("writer".into(), FlowSpec { depth: Some(4), ..FlowSpec::new("random-write-4k") });
        let devices = ["compare-dirik", "compare-fmmu"].map(PathBuf::from);
        let compared = |seeds: &[u64]| {
            let plan = study::compare::plan(Path::new("random-read-4k"), &devices, seeds, &run);
            let plan = plan.unwrap_or_else(|faults| panic!("{faults}"));
            Comparison::new(&execute::run(plan, &Program::default(), None, &|_, _| {}).expect("it runs"))
        };
        let several = compared(&[1, 2, 3]);
        let csv = rows(&several).csv();
        let header: Vec<&str> = csv.lines().next().expect("a header").split(',').collect();
        let first: Vec<&str> = csv.lines().nth(1).expect("a row").split(',').collect();
        for (name, half) in [
            ("read_mean_us", several.rows[0].spread["read_mean_us"].half_width),
            ("requests_per_s", several.rows[0].spread["requests_per_s"].half_width),
            ("writer_write_mean_us", several.flows[1].rows[0].spread["write_mean_us"].half_width),
        ] {
            let at = header.iter().position(|column| *column == name).expect(name);
            assert_eq!(header[at + 1], format!("{name}_half_width"));
            assert_eq!(first[at + 1].parse().ok(), half, "{name}");
        }
        let one = rows(&compared(&[1])).csv();
        assert!(!one.contains(HALF_WIDTH), "one seed has no spread: {one}");
    }

    #[test]
    fn every_column_of_a_comparison_has_a_meaning() {
        let fields = fields();
        assert_eq!(fields.len(), LATENCIES.len() + FLASH.len() + 2);
        for field in fields {
            assert!(!field.meaning.is_empty(), "{}", field.name);
        }
    }

    #[test]
    fn keys_state_their_units() {
        let unit = |key: &str| {
            LATENCIES.iter().chain(&FLASH).find(|column| column.key == key).map(|column| field(column).unit)
        };
        assert_eq!(unit("read_p99_9_us"), Some(UnitOfMeasure::Microseconds));
        assert_eq!(unit("bytes_per_s"), Some(UnitOfMeasure::BytesPerSecond));
        assert_eq!(unit("requests_per_s"), Some(UnitOfMeasure::PerSecond));
        assert_eq!(unit("flash_bytes"), Some(UnitOfMeasure::Bytes));
        assert_eq!(unit("cost_gib_mlc"), Some(UnitOfMeasure::None));
    }
}
