//! The errors of a part: the raw bit error rate, and the retry table.

use base::units::{Ratio, Span, Temperature};
use libm::pow;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::PartError;
use crate::nand::spread::spread;

/// The most retry steps of a part.
const MOST_STEPS: usize = 32;

/// The longest step of a retry table: a thousand times the longest of existing flash.
const LONGEST_STEP: Span = Span::from_ms(100);

/// The raw bit errors of a part and its retry table.
///
/// A page of a block with C erases, t hours after its program and r reads of each page of its block has the raw bit error
/// rate `base + wear C^wear_exponent + retention C^retention_cycles t^retention_time + disturb C^disturb_cycles
/// r^disturb_reads`, times the factors of its page type, its layer and its block.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ErrorTable {
    /// The raw bit error rate of a new block.
    pub base: f64,
    /// The coefficient of wear.
    pub wear: f64,
    /// The exponent of the erases in wear.
    pub wear_exponent: f64,
    /// The coefficient of retention.
    pub retention: f64,
    /// The exponent of the erases in retention.
    pub retention_cycles: f64,
    /// The exponent of the hours in retention.
    pub retention_time: f64,
    /// The coefficient of read disturb.
    pub disturb: f64,
    /// The exponent of the erases in read disturb.
    pub disturb_cycles: f64,
    /// The exponent of the reads in read disturb.
    pub disturb_reads: f64,
    /// The temperature for which the hours of retention hold.
    pub temperature: Temperature,
    /// The activation energy of retention loss, in electronvolts: times at other temperatures follow Arrhenius.
    pub activation_ev: f64,
    /// The factor of each page type, lower page first, or a single factor for all.
    pub page_types: Vec<f64>,
    /// The factor of a page in SLC mode, in place of the factors of its type and its layer; 1 if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub slc_mode: Option<f64>,
    /// The share by which the worst block has more errors than the mean; the best has as much less.
    pub block_spread: Ratio,
    /// Layers of cells in a block; the pages of the block fill one layer after another.
    pub layers: u32,
    /// The share by which the worst layer has more errors than the mean; the best has as much less.
    pub layer_spread: Ratio,
    /// The retry table: the share of a read's errors that is left with each step's reference voltages.
    pub retry_rber: Vec<Ratio>,
    /// Array time of each step to set the voltages, in addition to the time of a read; or a single time for all steps.
    pub retry_time: Vec<Span>,
}

impl ErrorTable {
    /// The raw bit error rate after `cycles` erases, `hours` hours and `reads` reads of each page, before the factors.
    #[must_use]
    pub fn rber(&self, cycles: f64, hours: f64, reads: f64) -> f64 {
        self.rber_of(self.cycle_powers(cycles), self.hours_power(hours), self.reads_power(reads))
    }

    /// The raw bit error rate from the powers of the three numbers.
    pub(crate) fn rber_of(&self, [wear, retention, disturb]: [f64; 3], hours: f64, reads: f64) -> f64 {
        self.base + self.wear * wear + self.retention * retention * hours + self.disturb * disturb * reads
    }

    /// The powers of the erases, for wear, retention and disturb.
    pub(crate) fn cycle_powers(&self, cycles: f64) -> [f64; 3] {
        [self.wear_exponent, self.retention_cycles, self.disturb_cycles].map(|exponent| pow(cycles, exponent))
    }

    /// The power of the time since the program.
    pub(crate) fn hours_power(&self, hours: f64) -> f64 {
        pow(hours, self.retention_time)
    }

    /// The power of the reads of each page.
    pub(crate) fn reads_power(&self, reads: f64) -> f64 {
        pow(reads, self.disturb_reads)
    }

    /// The factor of a page of a block of `pages` pages.
    #[must_use]
    pub fn page_factor(&self, page: u32, pages: u32) -> f64 {
        let layer = u64::from(page) * u64::from(self.layers) / u64::from(pages);
        self.page_types[page as usize % self.page_types.len()] * (1.0 + self.layer_spread.get() * draw(layer << 1 | 1))
    }

    /// The factor on the raw bit error rate of a block, by its number.
    #[must_use]
    pub fn block_factor(&self, block: u32) -> f64 {
        1.0 + self.block_spread.get() * draw(u64::from(block) << 1)
    }

    /// The faults of the table, for cells of `types` page types.
    pub(super) fn validate(&self, types: u32, faults: &mut Vec<PartError>) {
        let mut fault = |field, message: String| faults.push(PartError::Errors { field, message });
        for (field, given) in [
            ("errors.base", self.base),
            ("errors.wear", self.wear),
            ("errors.wear_exponent", self.wear_exponent),
            ("errors.retention", self.retention),
            ("errors.retention_cycles", self.retention_cycles),
            ("errors.retention_time", self.retention_time),
            ("errors.disturb", self.disturb),
            ("errors.disturb_cycles", self.disturb_cycles),
            ("errors.disturb_reads", self.disturb_reads),
            ("errors.slc_mode", self.slc_mode.unwrap_or_default()),
        ] {
            if !(0.0..=1e3).contains(&given) {
                fault(field, format!("is {given}: write a number of at least 0 and at most 1000"));
            }
        }
        let given = self.activation_ev;
        if !(0.0..=5.0).contains(&given) {
            fault("errors.activation_ev", format!("is {given}: write electronvolts, 0 to 5, e.g. 1.1"));
        }
        if self.temperature > Temperature::HOTTEST {
            let message = format!("is {}: write at most {}", self.temperature, Temperature::HOTTEST);
            fault("errors.temperature", message);
        }
        let given = self.page_types.len();
        if given != 1 && given != types as usize {
            let message = format!("has {given} factors for {types} page types: give one for all types or one for each");
            fault("errors.page_types", message);
        } else if self.page_types.iter().any(|factor| !(0.0..=1e3).contains(factor)) {
            fault("errors.page_types", "has a factor that is below 0 or above 1000: change it".into());
        }
        for (field, spread) in [("errors.block_spread", self.block_spread), ("errors.layer_spread", self.layer_spread)]
        {
            if spread.get() > 1.0 {
                fault(field, format!("is {spread}: write at most 100%"));
            }
        }
        if self.layers == 0 {
            fault("errors.layers", "is zero: write at least 1".into());
        }
        let steps = self.retry_rber.len();
        if steps > MOST_STEPS {
            fault("errors.retry_rber", format!("has {steps} steps: write at most {MOST_STEPS}"));
        }
        let shares = || self.retry_rber.iter().map(|share| share.get());
        if std::iter::once(1.0).chain(shares()).zip(shares()).any(|(before, next)| next > before) {
            let message = "leaves more errors in a step than in the one before: give shares that fall from 100% on";
            fault("errors.retry_rber", message.into());
        }
        if self.retry_time.iter().any(|time| *time > LONGEST_STEP) {
            fault("errors.retry_time", format!("has a time beyond {LONGEST_STEP}: make it shorter"));
        }
        let times = self.retry_time.len();
        if times != 1 && times != steps {
            let message = format!("has {times} times for {steps} steps: give one for all steps or one for each");
            fault("errors.retry_time", message);
        }
    }
}

/// A number from -1 to 1 for a block or a layer. It differs from the number for the array times of blocks.
fn draw(of: u64) -> f64 {
    spread(of.wrapping_add(0x6572_726F))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::Part;

    fn table() -> ErrorTable {
        Part::preset("tlc-72l").expect("a preset").errors.expect("its errors")
    }

    #[test]
    fn rates_are_those_of_the_power_law() {
        let table = table();
        for (cycles, hours, reads, wanted) in [
            (0.0, 0.0, 0.0, 1.48e-3),
            (0.0, 720.0, 1000.0, 1.48e-3),
            (1000.0, 0.0, 0.0, 2.0e-3),
            (1000.0, 24.0, 0.0, 3.0e-3),
            (1000.0, 720.0, 0.0, 7.8e-3),
            (3000.0, 720.0, 0.0, 1.3e-2),
            (1000.0, 0.0, 1000.0, 7.0e-3),
        ] {
            let found = table.rber(cycles, hours, reads);
            assert!((found / wanted - 1.0).abs() < 0.04, "{cycles} erases, {hours} h, {reads} reads: {found}");
        }
    }

    #[test]
    fn blocks_and_layers_spread_about_the_mean() {
        let table = table();
        let mean = |factors: &[f64]| factors.iter().sum::<f64>() / factors.len() as f64;
        let blocks: Vec<f64> = (0..20_000).map(|block| table.block_factor(block)).collect();
        let spread = table.block_spread.get();
        assert!((mean(&blocks) - 1.0).abs() < 0.01);
        assert!(blocks.iter().all(|factor| (factor - 1.0).abs() <= spread));
        assert!(blocks.iter().any(|factor| *factor > 1.0 + 0.95 * spread));
        let pages: Vec<f64> = (0..864).map(|page| table.page_factor(page, 864)).collect();
        assert_eq!(pages[0].to_bits(), pages[9].to_bits(), "one page type in one layer of twelve pages");
        assert!((mean(&pages) - 1.0).abs() < table.layer_spread.get() / 4.0, "{}", mean(&pages));
    }

    #[test]
    fn faults_of_a_table_name_their_keys() {
        let found = |change: fn(&mut ErrorTable)| {
            let (mut table, mut faults) = (table(), Vec::new());
            change(&mut table);
            table.validate(3, &mut faults);
            faults.iter().map(PartError::key).collect::<Vec<_>>()
        };
        assert_eq!(found(|_| {}), Vec::<&str>::new());
        assert_eq!(found(|table| table.wear = -1.0), ["errors.wear"]);
        assert_eq!(found(|table| table.activation_ev = f64::NAN), ["errors.activation_ev"]);
        assert_eq!(found(|table| table.page_types = vec![1.0; 2]), ["errors.page_types"]);
        assert_eq!(found(|table| table.page_types = vec![-1.0]), ["errors.page_types"]);
        assert_eq!(found(|table| table.block_spread = Ratio::new(1.5)), ["errors.block_spread"]);
        assert_eq!(found(|table| table.layers = 0), ["errors.layers"]);
        assert_eq!(found(|table| table.retry_rber.reverse()), ["errors.retry_rber"]);
        assert_eq!(found(|table| table.retry_rber = vec![Ratio::new(0.5); 40]), ["errors.retry_rber"]);
        assert_eq!(found(|table| table.retry_time = vec![Span::ZERO; 3]), ["errors.retry_time"]);
        assert_eq!(found(|table| table.retry_time = vec![Span::from_secs(1)]), ["errors.retry_time"]);
        assert_eq!(found(|table| table.temperature = Temperature::from_celsius(151)), ["errors.temperature"]);
    }
}
