//! The table `[flash.ecc]` of a device description.

use base::fault::Faults;
use base::units::{Bytes, Rate, SECTOR, Span};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{FlashSpec, is_default};
use crate::backend::{Controllers, Decoders, Ecc};
use crate::nand::Geometry;

/// The most decoders: more than any array has channels for. Each takes memory.
const DECODERS_MAX: u32 = 65_536;

/// Error correction: the time to decode data that has been read and, with `[flash.errors]`, the number of errors that
/// it corrects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct EccSpec {
    /// The rate and the latency of decoding in hardware.
    pub decode: DecodeSpec,
    /// Data of a codeword, which must divide the mapping unit; the whole mapping unit if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub codeword: Option<Bytes>,
    /// The number of decoders, and the channels or controllers that they serve.
    #[serde(default, skip_serializing_if = "is_default")]
    pub decoders: Decoders,
    /// The most wrong bits of a codeword that the decoder corrects from one read, for `[flash.errors]`. A code that
    /// corrects a bit error rate of 0.5 % corrects 180 bits of a codeword of 4 KiB with its parity.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("examples" = [180, 72]))]
    pub hard_limit: Option<u32>,
    /// Soft decoding after the last step of the part's retry table, for `[flash.errors]`; none if missing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub soft: Option<SoftSpec>,
}

/// Soft decoding: the page is read several times more, and the decoder corrects more errors from all these reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct SoftSpec {
    /// Reads of the page for one soft decoding. Each takes its array time and its transfer.
    #[schemars(range(min = 1, max = 16))]
    pub sensings: u32,
    /// The most wrong bits of a codeword that soft decoding corrects.
    #[schemars(extend("examples" = [360]))]
    pub limit: u32,
    /// Further time that a decoder works on a codeword, in addition to taking it.
    #[serde(default, skip_serializing_if = "is_default")]
    pub latency: Span,
}

/// The times of a pipelined decoder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct DecodeSpec {
    /// Data that a decoder takes in a second, not counting parity.
    #[schemars(extend("examples" = ["1.2GB/s", "400MB/s"]))]
    pub rate: Rate,
    /// Time from the moment at which a decoder has taken all of a codeword until the codeword comes out.
    #[serde(default, skip_serializing_if = "is_default")]
    pub latency: Span,
}

impl FlashSpec {
    /// Checks the error correction and resolves it.
    pub fn resolved_ecc(&self, geometry: &Geometry, faults: &mut Faults) -> Option<Ecc> {
        let ecc = self.ecc?;
        let unit = SECTOR * u64::from(geometry.sectors);
        let codeword = ecc.codeword.unwrap_or(unit);
        let sectors = codeword.get() / SECTOR.get();
        let whole = sectors > 0 && codeword == SECTOR * sectors && unit.get().is_multiple_of(codeword.get());
        if !whole {
            let message = format!("a codeword of {codeword} does not divide the mapping unit of {unit}");
            faults.add("flash.ecc.codeword", message, "use the mapping unit, or half or a quarter of it");
        }
        match ecc.decoders {
            Decoders::PerController if self.controllers == Controllers::None => {
                let remedy = "use per-channel or { shared = 2 }";
                faults.add("flash.ecc.decoders", "there are no controllers to have decoders", remedy);
            }
            Decoders::Shared(0) => {
                faults.add("flash.ecc.decoders", "no decoder: no read would ever end", "use at least one");
            }
            Decoders::Shared(count) if count > DECODERS_MAX => {
                faults.add("flash.ecc.decoders", format!("{count} decoders"), format!("use at most {DECODERS_MAX}"));
            }
            _ => {}
        }
        whole.then(|| Ecc {
            latency: ecc.decode.latency,
            codeword_time: ecc.decode.rate.time(codeword),
            codeword: sectors as u32,
            decoders: ecc.decoders,
            soft: ecc.soft.map_or(Span::ZERO, |soft| soft.latency),
        })
    }
}
