//! The metrics of a block-mapped FTL by name.

use crate::summary::MergeSummary;

/// A number of a block-mapped FTL.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MergeStat {
    Merges,
    Copied,
    Given,
    LogPages,
    Maps,
    FlushPages,
    Replaced,
    Spread,
}

impl MergeStat {
    /// The metric whose name has this part after `merges`.
    pub(super) fn parse(name: &str) -> Option<Self> {
        Some(match name {
            "merges" => Self::Merges,
            "copied" => Self::Copied,
            "given" => Self::Given,
            "log-pages" => Self::LogPages,
            "maps" => Self::Maps,
            "flush-pages" => Self::FlushPages,
            "replaced" => Self::Replaced,
            "spread" => Self::Spread,
            _ => return None,
        })
    }

    pub(super) const fn of(self, merges: &MergeSummary) -> f64 {
        let count = match self {
            Self::Merges => merges.merges,
            Self::Copied => merges.copied,
            Self::Given => merges.given,
            Self::LogPages => merges.log_pages,
            Self::Maps => merges.maps,
            Self::FlushPages => merges.flush_pages,
            Self::Replaced => merges.replaced,
            Self::Spread => merges.erase_spread as u64,
        };
        count as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_of_merges_has_its_own_name() {
        let merges = MergeSummary {
            merges: 1,
            copied: 2,
            given: 3,
            log_pages: 4,
            maps: 5,
            flush_pages: 6,
            replaced: 7,
            recovery_us: 0.5,
            erase_spread: 8,
        };
        let names = ["merges", "copied", "given", "log-pages", "maps", "flush-pages", "replaced", "spread"];
        let values = names.map(|name| MergeStat::parse(name).expect(name).of(&merges).to_string());
        assert_eq!(values, ["1", "2", "3", "4", "5", "6", "7", "8"]);
        assert_eq!(MergeStat::parse("log_pages"), None);
    }
}
