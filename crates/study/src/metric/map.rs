//! The metrics of the map unit by name.

use super::dimension::Dimension;
use crate::summary::MapSummary;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MapStat {
    Questions,
    Hits,
    HitRatio,
    PageHits,
    PageHitRatio,
    Loads,
    Stores,
    Flushes,
    FlushedBlocks,
    LoadsAtMost,
    MshrsCmt,
    MshrsCtp,
    Time,
    FlushTime,
    HmbHits,
    HmbMisses,
    HmbHitRatio,
    HmbRead,
    HmbWritten,
    HmbTime,
}

impl MapStat {
    /// The metric whose name has these parts after `map`.
    pub(super) fn parse(name: &[&str]) -> Option<Self> {
        Some(match name {
            ["questions"] => Self::Questions,
            ["hits"] => Self::Hits,
            ["hit-ratio"] => Self::HitRatio,
            ["page-hits"] => Self::PageHits,
            ["page-hit-ratio"] => Self::PageHitRatio,
            ["loads"] => Self::Loads,
            ["stores"] => Self::Stores,
            ["flushes"] => Self::Flushes,
            ["flushed-blocks"] => Self::FlushedBlocks,
            ["loads-at-most"] => Self::LoadsAtMost,
            ["mshrs", "cmt"] => Self::MshrsCmt,
            ["mshrs", "ctp"] => Self::MshrsCtp,
            ["time"] => Self::Time,
            ["flush-time"] => Self::FlushTime,
            ["hmb", "hits"] => Self::HmbHits,
            ["hmb", "misses"] => Self::HmbMisses,
            ["hmb", "hit-ratio"] => Self::HmbHitRatio,
            ["hmb", "read"] => Self::HmbRead,
            ["hmb", "written"] => Self::HmbWritten,
            ["hmb", "time"] => Self::HmbTime,
            _ => return None,
        })
    }

    pub(super) const fn dimension(self) -> Dimension {
        match self {
            Self::HitRatio | Self::PageHitRatio | Self::HmbHitRatio => Dimension::Share,
            Self::Time | Self::FlushTime | Self::HmbTime => Dimension::Time,
            _ => Dimension::Count,
        }
    }

    pub(super) fn of(self, map: &MapSummary) -> Option<f64> {
        let count = match self {
            Self::HitRatio => return map.hit_ratio,
            Self::PageHitRatio => return map.page_hit_ratio,
            Self::Time => return map.time_us,
            Self::FlushTime => return map.flush_time_us,
            Self::HmbHitRatio => return map.hmb.as_ref()?.hit_ratio,
            Self::HmbTime => return map.hmb.as_ref()?.time_us,
            Self::HmbHits => map.hmb.as_ref()?.hits,
            Self::HmbMisses => map.hmb.as_ref()?.misses,
            Self::HmbRead => map.hmb.as_ref()?.read_bytes,
            Self::HmbWritten => map.hmb.as_ref()?.written_bytes,
            Self::Questions => map.questions,
            Self::Hits => map.hits,
            Self::PageHits => map.page_hits,
            Self::Loads => map.loads,
            Self::Stores => map.stores,
            Self::Flushes => map.flushes,
            Self::FlushedBlocks => map.flushed_blocks,
            Self::LoadsAtMost => map.loads_at_most,
            Self::MshrsCmt => map.mshrs_at_most.cmt,
            Self::MshrsCtp => map.mshrs_at_most.ctp,
        };
        Some(count as f64)
    }
}
