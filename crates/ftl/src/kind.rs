//! The kinds of FTLs, by which descriptions name a family.

use std::fmt;

use base::suggest::nearest;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::own::OwnFtl;

/// The kinds of FTLs: the values of `ftl.kind`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
#[schemars(!try_from, !into, rename_all = "kebab-case")]
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
    /// Zones, which the host writes in order and resets (NVM Express Zoned Namespace Command Set).
    Zns,
    /// An FTL of the program that uses this library, registered under the name behind `own:`.
    #[schemars(untagged)]
    Own(OwnFtl),
}

impl FtlKind {
    /// All kinds of this library, for the conformance suite and the swarm.
    pub const EVERY: [Self; 7] = {
        // A new family does not compile here until its author has read the line above.
        match Self::Page {
            Self::Page
            | Self::Hydra
            | Self::Bast
            | Self::Fast
            | Self::Chang
            | Self::Block
            | Self::Zns
            | Self::Own(_) => [Self::Page, Self::Hydra, Self::Bast, Self::Fast, Self::Chang, Self::Block, Self::Zns],
        }
    };

    /// The kinds whose drives take writes in any order: all but zones.
    pub const UNZONED: [Self; 6] = [Self::Page, Self::Hydra, Self::Bast, Self::Fast, Self::Chang, Self::Block];

    /// The value of `ftl.kind` for this kind; an FTL of the program has its registered name behind `own:`.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            FtlKind::Page => "page",
            FtlKind::Hydra => "hydra",
            FtlKind::Bast => "bast",
            FtlKind::Fast => "fast",
            FtlKind::Chang => "chang",
            FtlKind::Block => "block",
            FtlKind::Zns => "zns",
            FtlKind::Own(own) => own.text(),
        }
    }

    /// The name and the registered version of an FTL of the program; `None` for the kinds of this library.
    #[must_use]
    pub fn own(self) -> Option<(&'static str, Option<String>)> {
        if let Self::Own(own) = self { Some((own.name(), own.version())) } else { None }
    }

    /// True for BAST and FAST, which have log blocks instead of a map of all pages.
    #[must_use]
    pub const fn has_log_blocks(self) -> bool {
        matches!(self, Self::Bast | Self::Fast)
    }
}

impl From<FtlKind> for String {
    fn from(kind: FtlKind) -> Self {
        kind.name().to_owned()
    }
}

/// The reason that a text is no kind of FTL.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownKind {
    text: String,
}

impl fmt::Display for UnknownKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = FtlKind::EVERY.map(FtlKind::name);
        let list = names.map(|name| format!("`{name}`")).join(", ");
        write!(f, "`{}` is not one of its values: ", self.text)?;
        match nearest(&self.text, &names) {
            Some(name) => write!(f, "did you mean `{name}`? Use one of {list}, `own:NAME`"),
            None => write!(f, "use one of {list}, `own:NAME`"),
        }
    }
}

impl std::error::Error for UnknownKind {}

impl TryFrom<String> for FtlKind {
    type Error = UnknownKind;

    fn try_from(text: String) -> Result<Self, UnknownKind> {
        let known = Self::EVERY.into_iter().find(|kind| kind.name() == text);
        known.or_else(|| OwnFtl::of(&text).map(Self::Own)).ok_or(UnknownKind { text })
    }
}
