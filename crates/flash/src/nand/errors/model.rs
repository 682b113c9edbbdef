//! The errors of one array: the part's table, resolved for a geometry and a decoder.

use base::engine::Rng;
use base::units::{Span, Temperature};

use super::acceleration;
use super::powers::{Numbers, Powers};
use super::tail::Tail;
use crate::nand::Mode;
use crate::nand::part::ErrorTable;

/// The conditions of use on which the errors of a drive depend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ErrorSettings {
    /// The temperature of the flash while it has power.
    pub temperature: Temperature,
    /// True if reads of a block begin with the highest retry step that a read of the block has needed.
    pub remember: bool,
    /// Erases of each block before the begin of the simulation.
    pub cycles: u32,
}

/// The soft decoding that follows the last step of the retry table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SoftLimit {
    /// Reads of the page for one soft decoding.
    pub sensings: u32,
    /// The most wrong bits of a codeword that soft decoding corrects.
    pub limit: u32,
}

/// The codewords of an array, and the errors that the decoder corrects.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Decoding {
    /// Bits of a codeword, including its share of the spare area.
    pub bits: u32,
    /// Sectors of a codeword.
    pub sectors: u32,
    /// The most wrong bits of a codeword that are corrected from one read.
    pub limit: u32,
    /// The soft decoding; none if the drive has only hard decoding.
    pub soft: Option<SoftLimit>,
}

/// The attempt that succeeds in reading the data of a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Attempt {
    /// An attempt with this step of the retry table; 0 is a read without a retry step.
    Step(u8),
    /// Soft decoding, after all steps of the retry table.
    Soft,
    /// No attempt succeeds: the data is uncorrectable.
    None,
}

/// The properties of a page on which its errors depend.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PageProperties {
    /// The number of the page's block.
    pub(crate) block: u32,
    /// The page's index in the block.
    pub(crate) index: u32,
    pub(crate) mode: Mode,
    /// Erases of the block.
    pub(crate) cycles: u32,
    /// Seconds since the program of the page, converted to the table's temperature.
    pub(crate) age_s: u32,
    /// Reads of the pages of the block since the block's erase.
    pub(crate) reads: u32,
}

/// The errors of an array: the part's table with the factors of each page and block.
#[derive(Clone, Debug, PartialEq)]
pub struct ErrorModel {
    table: ErrorTable,
    settings: ErrorSettings,
    decoding: Decoding,
    hard: Tail,
    soft: Option<Tail>,
    /// The factor of each page of a block, from the page's type and layer.
    pages: Vec<f64>,
    /// Seconds at the table's temperature that count for a second with power.
    pace: f64,
}

impl ErrorModel {
    /// The errors of an array whose blocks have `pages` pages.
    #[must_use]
    pub fn new(table: &ErrorTable, settings: ErrorSettings, decoding: Decoding, pages: u32) -> Self {
        Self {
            hard: Tail::new(decoding.bits, decoding.limit),
            soft: decoding.soft.map(|soft| Tail::new(decoding.bits, soft.limit)),
            pages: (0..pages).map(|page| table.page_factor(page, pages)).collect(),
            pace: acceleration(table.activation_ev, table.temperature, settings.temperature),
            table: table.clone(),
            settings,
            decoding,
        }
    }

    /// Bytes of the model's tables.
    #[must_use]
    pub fn memory(&self) -> u64 {
        size_of_val(&*self.pages) as u64 + Tail::MEMORY * (1 + u64::from(self.soft.is_some()))
    }

    /// The codewords of the array, and the limits of its decoder.
    #[must_use]
    pub const fn decoding(&self) -> &Decoding {
        &self.decoding
    }

    /// True if reads of a block begin with the highest retry step that a read of the block has needed.
    #[must_use]
    pub const fn remembers(&self) -> bool {
        self.settings.remember
    }

    /// Seconds at the table's temperature that count for a second at `temperature`, or for a second with power if that
    /// is `None`.
    #[must_use]
    pub fn pace(&self, temperature: Option<Temperature>) -> f64 {
        temperature.map_or(self.pace, |at| acceleration(self.table.activation_ev, self.table.temperature, at))
    }

    /// The number of the last step of the retry table.
    #[must_use]
    pub fn last_step(&self) -> u8 {
        self.table.retry_rber.len() as u8
    }

    /// The most attempts of a read, including soft decoding.
    #[must_use]
    pub fn most_attempts(&self) -> usize {
        1 + usize::from(self.last_step()) + self.decoding.soft.map_or(0, |soft| soft.sensings as usize)
    }

    /// The number of attempts after the attempt with `step`, up to `attempt`.
    #[must_use]
    pub fn retries(&self, step: u8, attempt: Attempt) -> u8 {
        let sensings = self.decoding.soft.map_or(0, |soft| soft.sensings as u8);
        match attempt {
            Attempt::Step(last) => last - step,
            Attempt::Soft | Attempt::None => self.last_step() - step + sensings,
        }
    }

    /// Array time of an attempt in addition to the time of a read without retry. The sensings of soft decoding use the
    /// voltages of the last step.
    #[must_use]
    pub fn retry_time(&self, step: u8) -> Span {
        let times = &self.table.retry_time;
        match (step.min(self.last_step()), times.len()) {
            (0, _) => Span::ZERO,
            (_, 1) => times[0],
            (step, _) => times[usize::from(step) - 1],
        }
    }

    /// The raw bit error rate of a page, read without retry.
    pub(crate) fn rber(&self, page: &PageProperties, powers: &Powers) -> f64 {
        let of_page = match page.mode {
            Mode::Full => self.pages[page.index as usize],
            Mode::Slc => self.table.slc_mode.unwrap_or(1.0),
        };
        let factor = of_page * self.table.block_factor(page.block);
        (powers.rber(&self.table, &self.numbers(page)) * factor).min(0.5)
    }

    /// Remembers the powers of a page, for its next reads, and for reads of pages with equal numbers.
    pub(crate) fn remember_powers(&self, page: &PageProperties, powers: &mut Powers) {
        powers.remember(&self.table, &self.numbers(page));
    }

    fn numbers(&self, page: &PageProperties) -> Numbers {
        let cycles = page.cycles.saturating_add(self.settings.cycles);
        Numbers { cycles, age_s: page.age_s, reads: page.reads, pages: self.pages.len() }
    }

    /// The mean number of wrong bits of a codeword at this error rate, as a share of the wrong bits that the decoder
    /// corrects from one read.
    pub(crate) fn share_of_limit(&self, rber: f64) -> f64 {
        rber * f64::from(self.decoding.bits) / f64::from(self.decoding.limit)
    }

    /// Draws the errors of `codewords` codewords of a page with this error rate, and returns the attempt that corrects
    /// all of them. The first attempt has `step`.
    pub(crate) fn attempt(&self, rber: f64, step: u8, codewords: u32, rng: &mut Rng) -> Attempt {
        // The codeword with the most errors decides.
        let worst = (0..codewords).map(|_| rng.unit()).fold(1.0, f64::min);
        let at = |step: u8| match step {
            0 => rber,
            _ => rber * self.table.retry_rber[usize::from(step) - 1].get(),
        };
        match (step..=self.last_step()).find(|step| !self.hard.exceeds(worst, at(*step))) {
            Some(step) => Attempt::Step(step),
            None if self.soft.as_ref().is_some_and(|soft| !soft.exceeds(worst, at(self.last_step()))) => Attempt::Soft,
            None => Attempt::None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::Part;

    fn model(limit: u32, soft: Option<SoftLimit>) -> ErrorModel {
        let mut table = Part::preset("tlc-72l").expect("a preset").errors.expect("its errors");
        (table.page_types, table.block_spread, table.layer_spread) =
            (vec![1.0; 3], base::units::Ratio::ZERO, base::units::Ratio::ZERO);
        let settings = ErrorSettings { temperature: table.temperature, remember: true, cycles: 0 };
        ErrorModel::new(&table, settings, Decoding { bits: 36_000, sectors: 8, limit, soft }, 864)
    }

    #[test]
    fn attempts_fail_as_often_as_the_tail_says() {
        let model = model(180, Some(SoftLimit { sensings: 3, limit: 260 }));
        let mut rng = Rng::stream(1, "test");
        // 180 errors in 36,000 bits are a rate of 0.5 %.
        let mut tries = |rber, codewords| {
            let all: Vec<_> = (0..4000).map(|_| model.attempt(rber, 0, codewords, &mut rng)).collect();
            let first = all.iter().filter(|attempt| **attempt == Attempt::Step(0)).count();
            (first as f64 / 4000.0, all.iter().max().copied())
        };
        assert_eq!(tries(0.002, 1), (1.0, Some(Attempt::Step(0))));
        let well = 1.0 - model.hard.beyond(0.0052);
        assert!((tries(0.0052, 1).0 - well).abs() < 0.03);
        assert!((tries(0.0052, 4).0 - well.powi(4)).abs() < 0.03, "each codeword draws");
        assert_eq!(tries(0.2, 1), (0.0, Some(Attempt::None)));
        // With the last step the rate is above the hard limit and below the limit of soft decoding.
        let last = model.table.retry_rber.last().expect("steps").get();
        assert_eq!(model.attempt(0.006 / last, 0, 1, &mut rng), Attempt::Soft);
        assert_eq!(model.retries(2, Attempt::Soft), model.last_step() - 2 + 3);
        assert_eq!(model.most_attempts(), 1 + usize::from(model.last_step()) + 3);
    }

    #[test]
    fn a_remembered_step_saves_the_attempts_before_it() {
        let model = model(180, None);
        let mut rng = Rng::stream(1, "test");
        let rber = 0.009;
        let Attempt::Step(needed) = model.attempt(rber, 0, 1, &mut rng) else { panic!("correctable") };
        assert!(needed > 1, "{needed}");
        assert_eq!(model.retries(0, Attempt::Step(needed)), needed);
        let last = model.last_step();
        assert_eq!(model.attempt(rber, last, 1, &mut rng), Attempt::Step(last));
        assert_eq!(model.retries(last, Attempt::Step(last)), 0);
    }
}
