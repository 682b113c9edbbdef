//! The families by name.

use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::block::BlockFamily;
use crate::family::{Config, Family, Setup, Site};
use crate::hydra::HydraFamily;
use crate::log_block::{LogBlockFamily, Policy};
use crate::page::PageFamily;
use crate::slc_mlc::SlcMlcFamily;
use crate::spec::FtlSpec;

/// The families of flash translation layers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum FtlKind {
    /// A page-level map, in RAM or behind a map unit.
    #[default]
    Page,
    /// A superblock-level map, with merges (Seong et al., "Hydra").
    Hydra,
    /// Data blocks with a block-level map, each with a log block of its own while it is updated (Sung, Sec. 2.3).
    Bast,
    /// Data blocks with a block-level map, and shared log blocks for all updates (Sung, Sec. 2.3).
    Fast,
    /// Block chains, with a small SLC flash in front of them if there is one (Chang, "A Hybrid Approach to
    /// NAND-Flash-Based Solid-State Disks").
    Chang,
    /// A block-level map, with replacement blocks for overwritten pages (Ban, US patent 5,937,425).
    Block,
}

impl FtlKind {
    /// All families, for the conformance suite and the swarm.
    pub const EVERY: [Self; 6] = {
        // A new family does not compile here until its author has read the line above.
        match Self::Page {
            Self::Page | Self::Hydra | Self::Bast | Self::Fast | Self::Chang | Self::Block => {
                [Self::Page, Self::Hydra, Self::Bast, Self::Fast, Self::Chang, Self::Block]
            }
        }
    };

    /// The family's name in a description.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            FtlKind::Page => "page",
            FtlKind::Hydra => "hydra",
            FtlKind::Bast => "bast",
            FtlKind::Fast => "fast",
            FtlKind::Chang => "chang",
            FtlKind::Block => "block",
        }
    }

    /// The family's checks and resolution of descriptions.
    #[must_use]
    pub fn family(self) -> &'static dyn Family {
        match self {
            Self::Page => &PageFamily,
            Self::Hydra => &HydraFamily,
            Self::Bast => &LogBlockFamily(Policy::Bast),
            Self::Fast => &LogBlockFamily(Policy::Fast),
            Self::Chang => &SlcMlcFamily,
            Self::Block => &BlockFamily,
        }
    }

    /// Tables `[ftl]` for tests that run on every family; empty if the tests have devices made for it.
    #[must_use]
    pub fn samples(self) -> Vec<FtlSpec> {
        self.family().samples()
    }

    /// The configuration of its FTL, for a description without faults.
    #[must_use]
    pub fn config(self, site: &Site<'_>, setup: Setup) -> Arc<dyn Config> {
        self.family().config(site, setup)
    }

    /// True if it has log blocks instead of a map of all pages.
    #[must_use]
    pub const fn has_log_blocks(self) -> bool {
        matches!(self, Self::Bast | Self::Fast)
    }
}
