//! The packets from the CMT to the CTP.

/// A request of the CMT.
#[derive(Clone, Copy, Debug)]
pub(super) struct Request {
    pub(super) tvpn: u32,
    /// The offset of the block in its page.
    pub(super) at: usize,
    pub(super) kind: Kind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Fill this block of the CMT.
    Load(usize),
    /// Take a block of the CMT; its entries follow the request.
    Flush,
}
