//! Checks of a part beyond its syntax.

use std::fmt;

use base::units::Bytes;

use super::{Cell, Part};

/// The largest page: a thousand times the largest of existing flash.
const MOST_PAGE: Bytes = Bytes::new(16 << 20);

/// The reason why a part is invalid. Each error names the field and a valid value.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum PartError {
    /// A count or a time is zero, and must not be.
    Zero {
        /// The field, with the name of its table.
        field: &'static str,
    },
    /// The page is not a whole number of sectors.
    PageNotSectors {
        /// The data bytes of a page, as described.
        page: Bytes,
    },
    /// A list of times has neither one time for all page types nor one for each.
    TimesPerType {
        /// The field, with the name of its table.
        field: &'static str,
        /// The number of times in the description.
        given: usize,
        /// The number of page types of the cell.
        types: u32,
    },
    /// The block ends inside a word line.
    PartialWordLine {
        /// Pages of a block, as described.
        pages_per_block: u32,
        /// The number of pages of a word line.
        bits: u32,
    },
    /// The block ends inside a one-shot program.
    PartialOneShot {
        /// Pages of a block, as described.
        pages_per_block: u32,
        /// The number of pages of one program.
        one_shot: u32,
    },
    /// Program times are given by page type, although one operation programs several pages.
    OneShotTimes {
        /// The number of times in the description.
        given: usize,
    },
    /// Multi-plane operations are supported, although a die has one plane.
    MultiPlaneOfOne,
    /// SLC mode is given for a part that stores one bit per cell anyway.
    SlcModeOfSlc,
    /// More blocks may be bad from the factory than there are.
    AllBad,
    /// The page is larger than the pages of any flash.
    PageTooLarge {
        /// The data bytes of a page, as described.
        page: Bytes,
    },
    /// A page has more spare bytes than data.
    SpareTooLarge {
        /// The spare bytes of a page.
        spare: Bytes,
        /// The data bytes of a page.
        page: Bytes,
    },
    /// The transfer energy is negative or no number.
    BusEnergy {
        /// The value in the description.
        given: f64,
    },
    /// The price is zero, negative or no number.
    Cost {
        /// The value in the description.
        given: f64,
    },
    /// A value of the error table is one that no flash has.
    Errors {
        /// The field, with the name of its table.
        field: &'static str,
        /// The fault and the remedy.
        message: String,
    },
    /// A die has more pages than can be numbered.
    TooLarge {
        /// The number of pages of a die.
        pages: u128,
    },
}

impl PartError {
    /// The key of the part's description that has the fault.
    #[must_use]
    pub const fn key(&self) -> &'static str {
        match self {
            Self::Zero { field } | Self::TimesPerType { field, .. } | Self::Errors { field, .. } => field,
            Self::PageNotSectors { .. } | Self::PageTooLarge { .. } => "geometry.page",
            Self::SpareTooLarge { .. } => "geometry.spare",
            Self::PartialWordLine { .. } | Self::PartialOneShot { .. } => "geometry.pages_per_block",
            Self::OneShotTimes { .. } => "timing.program",
            Self::MultiPlaneOfOne => "features.multi_plane",
            Self::SlcModeOfSlc => "slc_mode",
            Self::AllBad => "initial_bad_blocks",
            Self::BusEnergy { .. } => "electrical.bus_pj_per_byte",
            Self::Cost { .. } => "cost_per_gib",
            Self::TooLarge { .. } => "geometry.blocks_per_plane",
        }
    }
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Zero { field } => write!(f, "{field} is zero: give it a value above zero"),
            Self::PageNotSectors { page } => {
                write!(f, "geometry.page of {page} is not a whole number of 512-byte sectors: e.g. \"4KiB\"")
            }
            Self::PageTooLarge { page } => {
                write!(f, "geometry.page is {page}: use 512B to {MOST_PAGE}, e.g. \"16KiB\"")
            }
            Self::SpareTooLarge { spare, page } => {
                write!(f, "geometry.spare is {spare}: use at most the size of a page, {page}")
            }
            Self::TimesPerType { field, given, types } => write!(
                f,
                "{field} has {given} times for {types} page types: give one for all types or one for each, lower page first"
            ),
            Self::PartialWordLine { pages_per_block, bits } => write!(
                f,
                "geometry.pages_per_block of {pages_per_block} is not a multiple of the {bits} pages of a word line: change it or `cell`"
            ),
            Self::PartialOneShot { pages_per_block, one_shot } => write!(
                f,
                "geometry.pages_per_block of {pages_per_block} is not a multiple of timing.one_shot, {one_shot}: change one of them"
            ),
            Self::OneShotTimes { given } => write!(
                f,
                "timing.program has {given} times, but timing.one_shot programs several pages at once: give the one time of the whole operation"
            ),
            Self::MultiPlaneOfOne => f.write_str(
                "features.multi_plane is true, but geometry.planes_per_die is 1: set it to false or give more planes",
            ),
            Self::SlcModeOfSlc => f.write_str("slc_mode is given, but the cells store one bit anyway: leave it out"),
            Self::AllBad => {
                f.write_str("initial_bad_blocks of 100% or more leaves no block: write a smaller share, e.g. \"2%\"")
            }
            Self::BusEnergy { given } => {
                write!(f, "electrical.bus_pj_per_byte is {given}: write picojoules per byte, 0 to 1e9")
            }
            Self::Cost { given } => {
                write!(
                    f,
                    "cost_per_gib is {given}: write the price of a GiB as a multiple of that of MLC flash, above 0 \
                     and at most 1e9, e.g. 3.36 for SLC"
                )
            }
            Self::Errors { field, message } => write!(f, "{field} {message}"),
            Self::TooLarge { pages } => {
                write!(
                    f,
                    "the die has {pages} pages, more than the limit of 2^32 - 1: reduce geometry.blocks_per_plane"
                )
            }
        }
    }
}

impl std::error::Error for PartError {}

impl Part {
    /// All faults of the part; empty if the part is valid.
    #[must_use]
    pub fn validate(&self) -> Vec<PartError> {
        let Self { geometry, timing, .. } = self;
        let mut faults = Vec::new();
        let zero = [
            ("endurance", self.endurance == 0),
            ("geometry.page", geometry.page.is_zero()),
            ("geometry.pages_per_block", geometry.pages_per_block == 0),
            ("geometry.blocks_per_plane", geometry.blocks_per_plane == 0),
            ("geometry.planes_per_die", geometry.planes_per_die == 0),
            ("geometry.dies_per_chip", geometry.dies_per_chip == 0),
            ("timing.read", timing.read.iter().any(|t| t.is_zero())),
            ("timing.program", timing.program.iter().any(|t| t.is_zero())),
            ("timing.erase", timing.erase.is_zero()),
            ("timing.one_shot", timing.one_shot == 0),
        ];
        let slc = self.slc_mode.as_ref();
        let zero = zero.into_iter().chain([
            ("slc_mode.read", slc.is_some_and(|mode| mode.read.is_zero())),
            ("slc_mode.program", slc.is_some_and(|mode| mode.program.is_zero())),
            ("slc_mode.endurance", slc.is_some_and(|mode| mode.endurance == 0)),
        ]);
        if slc.is_some() && self.cell == Cell::Slc {
            faults.push(PartError::SlcModeOfSlc);
        }
        faults.extend(zero.filter(|(_, zero)| *zero).map(|(field, _)| PartError::Zero { field }));
        if geometry.page.sectors().is_none() {
            faults.push(PartError::PageNotSectors { page: geometry.page });
        }
        if geometry.page > MOST_PAGE {
            faults.push(PartError::PageTooLarge { page: geometry.page });
        } else if geometry.spare > geometry.page {
            faults.push(PartError::SpareTooLarge { spare: geometry.spare, page: geometry.page });
        }
        self.validate_page_types(&mut faults);
        if self.features.multi_plane && geometry.planes_per_die == 1 {
            faults.push(PartError::MultiPlaneOfOne);
        }
        if self.initial_bad_blocks.get() >= 1.0 {
            faults.push(PartError::AllBad);
        }
        if self.endurance_spread.get() > 1.0 {
            let message = format!("is {}: write a share of the rated cycles of at most 100%", self.endurance_spread);
            faults.push(PartError::Errors { field: "endurance_spread", message });
        }
        let given = self.electrical.bus_pj_per_byte;
        if !(0.0..=1e9).contains(&given) {
            faults.push(PartError::BusEnergy { given });
        }
        if let Some(given) = self.cost_per_gib.filter(|given| !(*given > 0.0 && *given <= 1e9)) {
            faults.push(PartError::Cost { given });
        }
        if let Some(errors) = &self.errors {
            errors.validate(self.page_types(), &mut faults);
        }
        let factors = [geometry.pages_per_block, geometry.blocks_per_plane, geometry.planes_per_die];
        let pages = factors.into_iter().map(u128::from).product();
        if pages > u128::from(u32::MAX) {
            faults.push(PartError::TooLarge { pages });
        }
        faults
    }

    fn validate_page_types(&self, faults: &mut Vec<PartError>) {
        let (types, pages_per_block, one_shot) =
            (self.page_types(), self.geometry.pages_per_block, self.timing.one_shot);
        let fits = |given: usize| given == 1 || given == types as usize;
        for (field, times) in [("timing.read", &self.timing.read), ("timing.program", &self.timing.program)] {
            if !fits(times.len()) {
                faults.push(PartError::TimesPerType { field, given: times.len(), types });
            }
        }
        if !pages_per_block.is_multiple_of(types) {
            faults.push(PartError::PartialWordLine { pages_per_block, bits: types });
        }
        if one_shot > 1 {
            if self.timing.program.len() > 1 {
                faults.push(PartError::OneShotTimes { given: self.timing.program.len() });
            }
            if !pages_per_block.is_multiple_of(one_shot) {
                faults.push(PartError::PartialOneShot { pages_per_block, one_shot });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nand::part::{Cell, SlcMode};
    use base::units::{Ratio, Span};

    fn faults(change: impl FnOnce(&mut Part)) -> Vec<PartError> {
        let mut part = Part::preset("kioxia-wd-128l-tlc").expect("a preset");
        change(&mut part);
        part.validate()
    }

    #[test]
    fn every_fault_of_a_part_names_its_key() {
        let zero = |field| vec![PartError::Zero { field }];
        assert_eq!(faults(|p| p.endurance = 0), zero("endurance"));
        assert_eq!(faults(|p| p.geometry.dies_per_chip = 0), zero("geometry.dies_per_chip"));
        assert_eq!(faults(|p| p.timing.erase = Span::ZERO), zero("timing.erase"));
        assert_eq!(faults(|p| p.timing.one_shot = 0), zero("timing.one_shot"));
        let page = Bytes::new(10_000);
        assert_eq!(faults(|p| p.geometry.page = page), [PartError::PageNotSectors { page }]);
        let page = Bytes::new(32 << 20);
        assert_eq!(faults(|p| p.geometry.page = page), [PartError::PageTooLarge { page }]);
        let spare = Bytes::new(1 << 30);
        let page = Part::preset("kioxia-wd-128l-tlc").expect("a preset").geometry.page;
        assert_eq!(faults(|p| p.geometry.spare = spare), [PartError::SpareTooLarge { spare, page }]);
        let times = |given| [PartError::TimesPerType { field: "timing.read", given, types: 3 }];
        assert_eq!(faults(|p| p.timing.read.truncate(2)), times(2));
        assert_eq!(faults(|p| p.timing.read.clear()), times(0));
        assert_eq!(faults(|p| p.timing.program = vec![Span::from_us(1); 3]), [PartError::OneShotTimes { given: 3 }]);
        let (pages_per_block, one_shot) = (1536, 5);
        assert_eq!(faults(|p| p.timing.one_shot = one_shot), [PartError::PartialOneShot { pages_per_block, one_shot }]);
        assert_eq!(faults(|p| p.geometry.planes_per_die = 1), [PartError::MultiPlaneOfOne]);
        let us = Span::from_us;
        let mode = |read, program, endurance| Some(SlcMode { read: us(read), program: us(program), endurance });
        assert_eq!(faults(|p| p.slc_mode = mode(25, 200, 30_000)), []);
        assert_eq!(faults(|p| p.slc_mode = mode(0, 200, 30_000)), zero("slc_mode.read"));
        assert_eq!(faults(|p| p.slc_mode = mode(25, 0, 30_000)), zero("slc_mode.program"));
        assert_eq!(faults(|p| p.slc_mode = mode(25, 200, 0)), zero("slc_mode.endurance"));
        let slc = |p: &mut Part| {
            (p.cell, p.timing.read, p.slc_mode) = (Cell::Slc, vec![us(25)], mode(25, 200, 30_000));
        };
        assert_eq!(faults(slc), [PartError::SlcModeOfSlc]);
        assert_eq!(faults(|p| p.initial_bad_blocks = Ratio::new(1.0)), [PartError::AllBad]);
        assert_eq!(faults(|p| p.electrical.bus_pj_per_byte = -1.0), [PartError::BusEnergy { given: -1.0 }]);
        for given in [0.0, -1.0, f64::INFINITY] {
            assert_eq!(faults(|p| p.cost_per_gib = Some(given)), [PartError::Cost { given }]);
        }
        assert_eq!(faults(|p| p.geometry.blocks_per_plane = 1 << 20), [PartError::TooLarge { pages: 1536 << 22 }]);
    }

    #[test]
    fn all_faults_of_a_part_are_reported_at_once() {
        let found = faults(|p| {
            p.cell = Cell::Mlc;
            p.geometry.pages_per_block = 511;
            p.endurance = 0;
        });
        assert_eq!(found.len(), 4, "{found:?}");
        assert!(found.contains(&PartError::PartialWordLine { pages_per_block: 511, bits: 2 }));
        assert!(found.iter().all(|fault| fault.to_string().contains(|c: char| c.is_ascii_lowercase())));
    }

    #[test]
    fn an_unknown_key_of_a_part_is_refused() {
        let text = toml::to_string(&Part::preset("K9XXG08").expect("a preset")).expect("TOML");
        let message = toml::from_str::<Part>(&text.replace("erase =", "erasee =")).expect_err("a typo").to_string();
        assert!(message.contains("erasee"), "{message}");
    }
}
