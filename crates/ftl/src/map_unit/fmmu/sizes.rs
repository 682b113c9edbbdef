//! How large the two levels are and how much waits between them.

use super::super::layout::Layout;

/// How large everything is, in blocks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sizes {
    pub(crate) layout: Layout,
    pub(crate) cmt_blocks: u32,
    pub(crate) cmt_ways: u32,
    pub(crate) ctp_blocks: u32,
    pub(crate) ctp_ways: u32,
    /// Clean blocks of the CMT at which a flush begins, and at which it ends.
    pub(crate) low: u32,
    pub(crate) high: u32,
    /// Blocks flushed between two packets.
    pub(crate) batch: u32,
    /// Pages compared as victims of a flush.
    pub(crate) window: u32,
    /// Dirty pages of the CTP above which one is stored.
    pub(crate) ctp_dirty: u32,
    /// Pages that can be on their way to flash.
    pub(crate) buffers: u32,
    /// Turns of responses for each one of requests.
    pub(crate) responses: u32,
    /// Requests that wait between CMT and CTP.
    pub(crate) queue: u32,
    /// Whether what finds no block in its set waits aside.
    pub(crate) set_wait_queue: bool,
}
