//! The sizes of the two levels and of the queue between them, and the eviction policy.

use super::super::evict::EvictSpec;
use super::super::layout::MapLayout;

/// The sizes that a description of FMMU gives, resolved to numbers of blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) layout: MapLayout,
    pub(crate) cmt_blocks: u32,
    pub(crate) cmt_ways: u32,
    pub(crate) ctp_blocks: u32,
    pub(crate) ctp_ways: u32,
    /// The policy by which a block leaves its set, in both levels.
    pub(crate) evict: EvictSpec,
    /// Numbers of clean blocks of the CMT: a flush begins at `low`, and ends at `high`.
    pub(crate) low: u32,
    pub(crate) high: u32,
    /// Blocks flushed between two packets.
    pub(crate) batch: u32,
    /// Pages compared in the choice of the page to flush.
    pub(crate) window: u32,
    /// The number of dirty pages in the CTP above which the CTP stores one.
    pub(crate) ctp_dirty: u32,
    /// The most pages on their way to flash at once.
    pub(crate) buffers: u32,
    /// Turns of responses for each turn of requests.
    pub(crate) responses: u32,
    /// The most requests that wait between CMT and CTP.
    pub(crate) queue: u32,
    /// True if each set has a wait queue.
    pub(crate) set_wait_queue: bool,
}
