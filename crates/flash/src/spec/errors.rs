//! The table `[flash.errors]` of a device description.

use std::sync::Arc;

use base::fault::Faults;
use base::units::{SECTOR, Span, Temperature};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::FlashSpec;
use crate::backend::Ecc;
use crate::nand::{Decoding, ErrorModel, ErrorSettings, Geometry, Part, SoftLimit};

/// The most reads of a page for one soft decoding.
const SENSINGS_MAX: u32 = 16;

/// The longest soft decoding of a codeword that a description may give.
const LATENCY_MAX: Span = Span::from_ms(100);

/// Raw bit errors: reads need more attempts with the wear of their block, the time since the program and the reads of
/// the block, as the part's `errors` says. `[flash.ecc]` says how many errors are corrected.
///
/// The state takes four more bytes of memory for each page.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct ErrorSpec {
    /// The temperature of the flash while it has power. The default is for an active client drive (JESD218).
    pub temperature: Temperature,
    /// Whether the reads of a block begin with the highest step of the retry table that a read of the block has needed
    /// since the erase. If not, each read begins without a step.
    pub remember: bool,
    /// Program/erase cycles of every block before the run, which count for errors only.
    pub cycles: u32,
}

impl Default for ErrorSpec {
    fn default() -> Self {
        Self { temperature: Temperature::from_celsius(40), remember: true, cycles: 0 }
    }
}

impl FlashSpec {
    /// Checks that errors have a part and a decoder that support them, and the other way round.
    pub fn check_errors(&self, part: &Part, faults: &mut Faults) {
        let path = "flash.errors";
        let (limit, soft) = self.ecc.map_or((None, None), |ecc| (ecc.hard_limit, ecc.soft));
        let Some(errors) = self.errors else {
            for (key, given) in [("flash.ecc.hard-limit", limit.is_some()), ("flash.ecc.soft", soft.is_some())] {
                if given {
                    let message = "has no effect here: reads have no errors";
                    faults.add(key, message, "leave it out, or add the table [flash.errors]");
                }
            }
            return;
        };
        if errors.temperature > Temperature::HOTTEST {
            let message = format!("is {}", errors.temperature);
            faults.add("flash.errors.temperature", message, format!("use at most {}", Temperature::HOTTEST));
        }
        if part.errors.is_none() {
            let message = format!("nothing is known about the errors of the part {}", part.name);
            let remedy = "use a part that has a table `errors`, or give flash.custom-part one";
            faults.add(path, message, remedy);
        }
        if self.ecc.is_none() {
            let remedy = "add [flash.ecc] with decode and hard-limit, or leave flash.errors out";
            faults.add(path, "nothing corrects the errors", remedy);
        } else if limit.is_none() {
            let message = "is missing: with flash.errors the decoder needs a limit";
            faults.add("flash.ecc.hard-limit", message, "give the bits that it corrects in a codeword, e.g. 180");
        }
        if let Some(soft) = soft {
            if !(1..=SENSINGS_MAX).contains(&soft.sensings) {
                faults.within("flash.ecc.soft.sensings", soft.sensings, 1..=SENSINGS_MAX);
            }
            if soft.latency > LATENCY_MAX {
                let message = format!("is {}", soft.latency);
                faults.add("flash.ecc.soft.latency", message, format!("use at most {LATENCY_MAX}"));
            }
            if limit.is_some_and(|limit| soft.limit <= limit) {
                let message = format!("is {}, and flash.ecc.hard-limit corrects as many", soft.limit);
                faults.add("flash.ecc.soft.limit", message, "use a larger limit, or leave flash.ecc.soft out");
            }
        }
    }

    /// The error model of an array; none if the description has no errors.
    #[must_use]
    pub fn resolved_errors(&self, part: &Part, (geometry, ecc): (&Geometry, Option<&Ecc>)) -> Option<Arc<ErrorModel>> {
        let (errors, table, ecc, spec) = (self.errors?, part.errors.as_ref()?, ecc?, self.ecc?);
        let codeword = SECTOR * u64::from(ecc.codeword);
        // The parity of a codeword is in the spare bytes, and its bits can be wrong, too.
        let spare = part.geometry.spare.get() * codeword.get() / part.geometry.page.get();
        let decoding = Decoding {
            bits: 8 * (codeword.get() + spare) as u32,
            sectors: ecc.codeword,
            limit: spec.hard_limit?,
            soft: spec.soft.map(|soft| SoftLimit { sensings: soft.sensings, limit: soft.limit }),
        };
        let settings =
            ErrorSettings { temperature: errors.temperature, remember: errors.remember, cycles: errors.cycles };
        Some(Arc::new(ErrorModel::new(table, settings, decoding, geometry.pages)))
    }
}
