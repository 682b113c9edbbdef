//! The registers of the CTP's blocks: the requests that wait for a page, with the entries of the flushes among them.

use std::collections::VecDeque;

use super::super::mshrs::{CTP_REQUEST, Mshrs};
use super::packet::{CtpRequest, PacketKind};
use super::requests::newest;

/// The registers of all blocks, which hold requests until their page has arrived.
#[derive(Clone, Debug)]
pub(super) struct Registers {
    /// Entries of a flushed block.
    width: usize,
    mshrs: Mshrs<CtpRequest>,
    /// The entries of the flushes among the registers of each block.
    flushed: Vec<VecDeque<u32>>,
}

impl Registers {
    /// Registers for `blocks` pages of `page` entries each, and flushes of `width` entries.
    pub(super) fn new(width: usize, blocks: u32, page: u32) -> Self {
        Self { width, mshrs: Mshrs::new(blocks, page * 4), flushed: vec![VecDeque::new(); blocks as usize] }
    }

    /// Adds a request to a block. Returns false if the block has no room.
    #[inline]
    pub(super) fn push(&mut self, block: usize, request: CtpRequest) -> bool {
        let entries = if request.kind == PacketKind::Flush { self.width } else { 0 };
        self.mshrs.push(block, CTP_REQUEST + entries as u32 * 4, request)
    }

    /// Adds the entries of the flush whose request was last added to a block.
    pub(super) fn extend(&mut self, block: usize, entries: impl Iterator<Item = u32>) {
        self.flushed[block].extend(entries);
    }

    /// The requests of a block, in order.
    #[inline]
    pub(super) fn of(&self, block: usize) -> &[CtpRequest] {
        self.mshrs.of(block)
    }

    /// The entries of the first flush of a block.
    #[inline]
    pub(super) fn entries(&mut self, block: usize) -> impl Iterator<Item = u32> + '_ {
        self.flushed[block].drain(..self.width)
    }

    /// Removes the requests of a block after all are served.
    pub(super) fn clear(&mut self, block: usize) {
        self.mshrs.clear(block);
    }

    /// The most registers in use at once since power-on.
    pub(super) fn at_most(&self) -> u64 {
        self.mshrs.at_most()
    }

    /// The newest value of an entry among the requests of a block that have not been served.
    pub(super) fn peek(&self, block: usize, served: usize, entry: (u32, usize)) -> Option<u32> {
        newest(self.width, self.mshrs.of(block)[served..].iter(), &self.flushed[block], entry)
    }
}
