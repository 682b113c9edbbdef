//! Error correction, as a device describes it.

use base::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The number and the assignment of decoders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Decoders {
    /// A decoder for each channel, or for each link if controllers move the data over links.
    #[default]
    PerChannel,
    /// A decoder for each controller, for the commands of the controller's lists.
    PerController,
    /// A number of decoders for the whole array; a codeword goes to the first free decoder.
    Shared(u32),
}

/// Error correction, resolved for one geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ecc {
    /// Time from the moment at which a decoder has taken all of a codeword until the codeword comes out.
    pub latency: Span,
    /// Time in which a decoder takes in a codeword before it can take the next codeword.
    pub codeword_time: Span,
    /// Sectors of a codeword.
    pub codeword: u32,
    /// The number of decoders, and the commands that each serves.
    pub decoders: Decoders,
    /// Further time that a decoder works on a codeword in soft decoding, in addition to taking it.
    pub soft: Span,
}
