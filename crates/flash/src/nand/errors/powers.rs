//! Remembered powers of the power law. Pages with equal wear, age and reads share them, and `pow` takes longer than the
//! rest of a read's errors.
//!
//! The bases are whole numbers, so a remembered power is exactly the computed one.

use crate::nand::part::ErrorTable;

/// Number of entries of each table, a power of two.
const ENTRIES: usize = 1 << 10;

/// A direct-mapped cache from whole numbers to `V`.
#[derive(Clone, Debug)]
struct PowerCache<V>(Box<[Option<(u32, V)>]>);

impl<V: Copy> PowerCache<V> {
    fn new() -> Self {
        Self(vec![None; ENTRIES].into())
    }

    const fn slot(key: u32) -> usize {
        key as usize % ENTRIES
    }

    fn find(&self, key: u32) -> Option<V> {
        self.0[Self::slot(key)].filter(|(of, _)| *of == key).map(|(_, value)| value)
    }

    fn store(&mut self, key: u32, value: V) {
        self.0[Self::slot(key)] = Some((key, value));
    }
}

/// The remembered powers for the pages of one array.
#[derive(Clone, Debug)]
pub(crate) struct Powers {
    cycles: PowerCache<[f64; 3]>,
    hours: PowerCache<f64>,
    reads: PowerCache<f64>,
}

impl Powers {
    pub(crate) fn new() -> Self {
        Self { cycles: PowerCache::new(), hours: PowerCache::new(), reads: PowerCache::new() }
    }

    /// Bytes of all tables.
    pub(crate) const fn memory() -> u64 {
        (ENTRIES * (size_of::<Option<(u32, [f64; 3])>>() + 2 * size_of::<Option<(u32, f64)>>())) as u64
    }

    /// Computes and keeps the powers of a page that are not in the tables yet.
    pub(super) fn remember(&mut self, table: &ErrorTable, numbers: &Numbers) {
        if self.cycles.find(numbers.cycles).is_none() {
            self.cycles.store(numbers.cycles, numbers.cycle_powers(table));
        }
        if self.hours.find(numbers.age_s).is_none() {
            self.hours.store(numbers.age_s, numbers.hours_power(table));
        }
        if self.reads.find(numbers.reads).is_none() {
            self.reads.store(numbers.reads, numbers.reads_power(table));
        }
    }

    /// The raw bit error rate of a page before the factors, with remembered powers as far as they are in the tables.
    pub(super) fn rber(&self, table: &ErrorTable, numbers: &Numbers) -> f64 {
        let cycles = self.cycles.find(numbers.cycles).unwrap_or_else(|| numbers.cycle_powers(table));
        let hours = self.hours.find(numbers.age_s).unwrap_or_else(|| numbers.hours_power(table));
        let reads = self.reads.find(numbers.reads).unwrap_or_else(|| numbers.reads_power(table));
        table.rber_of(cycles, hours, reads)
    }
}

/// The whole numbers on which the errors of a page depend.
#[derive(Clone, Copy, Debug)]
pub(super) struct Numbers {
    /// Erases of the block.
    pub(super) cycles: u32,
    /// Seconds since the program, converted to the table's temperature.
    pub(super) age_s: u32,
    /// Reads of all pages of the block since the erase.
    pub(super) reads: u32,
    pub(super) pages: usize,
}

impl Numbers {
    fn cycle_powers(&self, table: &ErrorTable) -> [f64; 3] {
        table.cycle_powers(f64::from(self.cycles))
    }

    fn hours_power(&self, table: &ErrorTable) -> f64 {
        table.hours_power(f64::from(self.age_s) / 3600.0)
    }

    fn reads_power(&self, table: &ErrorTable) -> f64 {
        table.reads_power(f64::from(self.reads) / self.pages as f64)
    }
}
