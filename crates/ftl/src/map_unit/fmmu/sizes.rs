//! The sizes of the two levels and of the queue between them, and their eviction.

use super::super::evict::EvictSpec;
use super::super::layout::Layout;

/// All sizes, in blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) layout: Layout,
    pub(crate) cmt_blocks: u32,
    pub(crate) cmt_ways: u32,
    pub(crate) ctp_blocks: u32,
    pub(crate) ctp_ways: u32,
    /// Which block of a set leaves, in both.
    pub(crate) evict: EvictSpec,
    /// Clean blocks of the CMT at which a flush begins, and at which it ends.
    pub(crate) low: u32,
    pub(crate) high: u32,
    /// Blocks flushed between two packets.
    pub(crate) batch: u32,
    /// Pages compared as victims of a flush.
    pub(crate) window: u32,
    /// The number of dirty pages of the CTP above which one is stored.
    pub(crate) ctp_dirty: u32,
    /// The most pages on their way to flash.
    pub(crate) buffers: u32,
    /// Turns of responses for each turn of requests.
    pub(crate) responses: u32,
    /// The most requests that wait between CMT and CTP.
    pub(crate) queue: u32,
    /// True if each set has a wait queue.
    pub(crate) set_wait_queue: bool,
}
