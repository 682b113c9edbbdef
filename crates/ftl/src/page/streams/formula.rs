//! The stream by a formula of the description: its value is the number of the stream.

use base::units::{Bytes, SECTOR};

use super::interval::LastWriteTable;
use super::{HostWrite, StreamPolicy};
use crate::formula::{Formula, FormulaError};

/// The names that a formula may use: the numbers of a write.
const NAMES: [&str; 8] = ["size", "address", "interval", "written", "queue", "partial", "sequential", "placement"];

const INTERVAL: usize = 2;

/// The policy that takes the value of a formula as the number of the stream.
#[derive(Clone, Debug)]
pub(super) struct ByFormula {
    formula: Formula,
    /// The latest writes, if the formula has `interval`.
    table: Option<LastWriteTable>,
    /// Bytes of a mapping unit.
    unit: f64,
    /// The mapping unit behind the latest write: a write of it is sequential.
    next: u32,
}

impl ByFormula {
    /// Checks the text of a formula, without allocating its table.
    pub(super) fn check(text: &str) -> Result<(), FormulaError> {
        Formula::parse(text, &NAMES).map(drop)
    }

    /// The policy of a formula, for mapping units of `sectors` sectors.
    pub(super) fn parse(text: &str, memory: Bytes, sectors: u64) -> Result<Self, FormulaError> {
        let formula = Formula::parse(text, &NAMES)?;
        let table = formula.uses(INTERVAL).then(|| LastWriteTable::new(memory));
        Ok(Self { formula, table, unit: (sectors * SECTOR.get()) as f64, next: 0 })
    }

    pub(super) fn memory(text: &str, memory: Bytes) -> u64 {
        let asks = Formula::parse(text, &NAMES).is_ok_and(|formula| formula.uses(INTERVAL));
        text.len() as u64 * 24 + if asks { LastWriteTable::memory(memory) } else { 0 }
    }
}

impl StreamPolicy for ByFormula {
    fn stream(&mut self, write: &HostWrite) -> u8 {
        let interval = self.table.as_mut().and_then(|table| table.interval(write));
        let is_sequential = write.lpn.get() == self.next;
        self.next = write.lpn.get() + 1;
        let number = self.formula.value(|name| match name {
            0 => (write.request.get() * SECTOR.get()) as f64,
            1 => f64::from(write.lpn.get()) * self.unit,
            INTERVAL => interval.map_or(f64::INFINITY, |units| units as f64 * self.unit),
            3 => write.written as f64 * self.unit,
            4 => f64::from(write.queue),
            5 => f64::from(u8::from(write.is_partial)),
            6 => f64::from(u8::from(is_sequential)),
            _ => f64::from(write.placement.get()),
        });
        // A value that is not a number, or below zero, becomes 0, and a large one the last stream.
        number as u8
    }
}

#[cfg(test)]
mod tests {
    use base::units::Sectors;

    use super::super::write_of;
    use super::*;

    /// The streams of writes of mapping units of 4 KiB, each given as a unit and the size of its request in sectors.
    fn streams<const N: usize>(formula: &str, writes: [(u32, u64); N]) -> [u8; N] {
        let mut policy = ByFormula::parse(formula, Bytes::new(1 << 16), 8).expect("a formula");
        let mut written = 0;
        writes.map(|(lpn, sectors)| {
            let write = HostWrite { request: Sectors::new(sectors), ..write_of(lpn, written) };
            written += 1;
            policy.stream(&write)
        })
    }

    #[test]
    fn the_value_is_the_number_of_the_stream() {
        assert_eq!(streams("(size >= 8192) + (size >= 65536)", [(1, 8), (2, 16), (3, 200)]), [0, 1, 2]);
        assert_eq!(streams("address / 8192", [(0, 8), (1, 8), (2, 8), (5, 8)]), [0, 0, 1, 2]);
        assert_eq!(streams("if(interval < 9000, 0, 1)", [(7, 8), (7, 8), (9, 8), (7, 8), (9, 8)]), [1, 0, 1, 0, 0]);
        assert_eq!(streams("sequential", [(0, 8), (1, 8), (5, 8), (6, 8)]), [1, 1, 0, 1]);
        assert_eq!(streams("written / 4096", [(9, 8), (9, 8), (9, 8)]), [0, 1, 2]);
        assert_eq!(streams("-1", [(0, 8)]), [0]);
        assert_eq!(streams("0/0", [(0, 8)]), [0]);
        assert_eq!(streams("interval", [(0, 8)]), [255], "the last");
    }

    #[test]
    fn only_a_formula_with_intervals_keeps_a_table() {
        let memory = |text| ByFormula::memory(text, Bytes::new(1 << 16));
        assert!(memory("interval > 5") > 1 << 16 && memory("size > 5") < 1 << 12);
    }
}
