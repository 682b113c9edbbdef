//! A comparison as a table for other programs: one row per drive.

use study::compare::{Column as Compared, Comparison, FLASH, FlowTable, LATENCIES, Row};

use crate::table::{Column, Field, Table, UnitOfMeasure, Values};

/// The drives in the order of the user. Columns of a flow begin with its name.
#[must_use]
pub fn rows(comparison: &Comparison) -> Table {
    let mut table = table(&comparison.rows);
    comparison.flows.iter().for_each(|flow| add(&mut table, flow));
    table
}

/// Adds the columns of a flow, or those of the fairness of all.
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
        table.push(Field::named(name, Values::Number, unit(column.key), about), Column::Number(values));
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
        table.push(field(column), Column::Number(values));
    }
    let best = "The columns in which the drive is best, separated by blanks";
    table.text("best", best, rows.iter().map(|row| row.best.join(" ")));
    table
}

/// The column of a comparison.
fn field(column: &Compared) -> Field {
    Field::new(column.key, Values::Number, unit(column.key), meaning(column.key))
}

/// The unit of measure that a key states.
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
        "requests_per_s" => "Requests completed per simulated second",
        "bytes_per_s" => "Bytes read and written per simulated second",
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
