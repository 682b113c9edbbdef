//! The parameters of a block-mapped FTL: `[ftl.block]`.

use base::fault::Faults;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The replacement blocks of a block-mapped FTL.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct BlockSpec {
    /// Replacement blocks behind the data block of a logical block, at most. With 0 each overwrite is a merge.
    pub replacements: u32,
}

impl Default for BlockSpec {
    fn default() -> Self {
        Self { replacements: 1 }
    }
}

impl BlockSpec {
    /// The limit on the chain, because a read searches the whole chain.
    const MOST: u32 = 255;

    pub(super) fn check(&self, faults: &mut Faults) {
        if self.replacements > Self::MOST {
            faults.within("ftl.block.replacements", self.replacements, 0..=Self::MOST);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chain_has_255_replacement_blocks_at_most() {
        for (replacements, wrong) in [(0, 0), (255, 0), (256, 1)] {
            let mut faults = Faults::default();
            BlockSpec { replacements }.check(&mut faults);
            assert_eq!(faults.0.len(), wrong, "{replacements}");
        }
    }
}
