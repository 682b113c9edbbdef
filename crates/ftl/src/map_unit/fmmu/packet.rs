//! The packets from the CMT to the CTP.

/// A request that the CMT sends to the CTP.
#[derive(Clone, Copy, Debug)]
pub(super) struct CtpRequest {
    pub(super) tvpn: u32,
    /// The offset of the block in its page.
    pub(super) at: usize,
    pub(super) kind: PacketKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PacketKind {
    /// Asks for the entries of the page, to fill this block of the CMT.
    Load(usize),
    /// Brings the entries of a block of the CMT; they follow the request.
    Flush,
}
