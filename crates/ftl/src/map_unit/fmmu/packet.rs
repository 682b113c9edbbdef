//! What the CMT sends to the CTP.

/// A request of the CMT.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) tvpn: u32,
    /// Where the block begins in the page.
    pub(super) at: usize,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Fill this block of the CMT.
    Load(usize),
    /// Take a block over; its entries go with the request.
    Flush,
}
