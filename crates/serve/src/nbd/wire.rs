//! The protocol's numbers, and integers in network byte order.

/// The most bytes of payload of a read or write: 32 MiB.
pub const LARGEST: u32 = 32 << 20;

/// The granularity of addresses and lengths, in bytes.
pub(super) const SECTOR: u32 = 512;

/// Options with more data are skipped: no valid option is longer, because names have at most 4096 bytes.
pub(super) const LONGEST_OPTION: u32 = 16 << 10;

/// The most bytes of the name of an export or a context.
pub(super) const LONGEST_NAME: usize = 4096;

/// The number of the only metadata context, `base:allocation`.
pub(super) const ALLOCATION_ID: u32 = 1;

pub(super) const NBD_MAGIC: u64 = 0x4e42_444d_4147_4943;
pub(super) const OPTION_MAGIC: u64 = 0x4948_4156_454f_5054;
pub(super) const OPTION_REPLY_MAGIC: u64 = 0x0003_e889_0455_65a9;
pub(super) const REQUEST_MAGIC: u32 = 0x2560_9513;
pub(super) const SIMPLE_REPLY_MAGIC: u32 = 0x6744_6698;
pub(super) const STRUCTURED_REPLY_MAGIC: u32 = 0x668e_33ef;

/// Flags of the greeting; the client answers with the same bits.
pub(super) mod greeting {
    pub(in crate::nbd) const FIXED_NEWSTYLE: u16 = 1 << 0;
    pub(in crate::nbd) const NO_ZEROES: u16 = 1 << 1;
}

pub(super) mod option {
    pub(in crate::nbd) const EXPORT_NAME: u32 = 1;
    pub(in crate::nbd) const ABORT: u32 = 2;
    pub(in crate::nbd) const LIST: u32 = 3;
    pub(in crate::nbd) const STARTTLS: u32 = 5;
    pub(in crate::nbd) const INFO: u32 = 6;
    pub(in crate::nbd) const GO: u32 = 7;
    pub(in crate::nbd) const STRUCTURED_REPLY: u32 = 8;
    pub(in crate::nbd) const LIST_META_CONTEXT: u32 = 9;
    pub(in crate::nbd) const SET_META_CONTEXT: u32 = 10;
}

/// Kinds of replies to options.
pub(super) mod answer {
    pub(in crate::nbd) const ACK: u32 = 1;
    pub(in crate::nbd) const SERVER: u32 = 2;
    pub(in crate::nbd) const INFO: u32 = 3;
    pub(in crate::nbd) const META_CONTEXT: u32 = 4;
    const ERROR: u32 = 1 << 31;
    pub(in crate::nbd) const UNSUPPORTED: u32 = ERROR + 1;
    pub(in crate::nbd) const INVALID: u32 = ERROR + 3;
    pub(in crate::nbd) const TLS_REQUIRED: u32 = ERROR + 5;
    pub(in crate::nbd) const UNKNOWN: u32 = ERROR + 6;
    pub(in crate::nbd) const TOO_BIG: u32 = ERROR + 9;
}

/// Kinds of information about an export.
pub(super) mod info {
    pub(in crate::nbd) const EXPORT: u16 = 0;
    pub(in crate::nbd) const NAME: u16 = 1;
    pub(in crate::nbd) const DESCRIPTION: u16 = 2;
    pub(in crate::nbd) const BLOCK_SIZE: u16 = 3;
}

/// Transmission flags of an export.
pub(super) mod transmission {
    pub(in crate::nbd) const HAS_FLAGS: u16 = 1 << 0;
    pub(in crate::nbd) const SEND_FLUSH: u16 = 1 << 2;
    pub(in crate::nbd) const SEND_FUA: u16 = 1 << 3;
    pub(in crate::nbd) const SEND_TRIM: u16 = 1 << 5;
    pub(in crate::nbd) const SEND_WRITE_ZEROES: u16 = 1 << 6;
    pub(in crate::nbd) const SEND_DF: u16 = 1 << 7;
    pub(in crate::nbd) const CAN_MULTI_CONN: u16 = 1 << 8;
    pub(in crate::nbd) const SEND_CACHE: u16 = 1 << 10;
    pub(in crate::nbd) const SEND_FAST_ZERO: u16 = 1 << 11;
}

pub(super) mod command {
    pub(in crate::nbd) const READ: u16 = 0;
    pub(in crate::nbd) const WRITE: u16 = 1;
    pub(in crate::nbd) const DISC: u16 = 2;
    pub(in crate::nbd) const FLUSH: u16 = 3;
    pub(in crate::nbd) const TRIM: u16 = 4;
    pub(in crate::nbd) const CACHE: u16 = 5;
    pub(in crate::nbd) const WRITE_ZEROES: u16 = 6;
    pub(in crate::nbd) const BLOCK_STATUS: u16 = 7;
}

pub(super) mod flag {
    pub(in crate::nbd) const FUA: u16 = 1 << 0;
    pub(in crate::nbd) const NO_HOLE: u16 = 1 << 1;
    pub(in crate::nbd) const DF: u16 = 1 << 2;
    pub(in crate::nbd) const REQ_ONE: u16 = 1 << 3;
    pub(in crate::nbd) const FAST_ZERO: u16 = 1 << 4;
}

/// Chunks of structured replies.
pub(super) mod chunk {
    /// The flag of the last chunk of a reply.
    pub(in crate::nbd) const DONE: u16 = 1 << 0;
    pub(in crate::nbd) const NONE: u16 = 0;
    pub(in crate::nbd) const OFFSET_DATA: u16 = 1;
    pub(in crate::nbd) const BLOCK_STATUS: u16 = 5;
    pub(in crate::nbd) const ERROR: u16 = (1 << 15) + 1;
}

/// Flags of an extent of `base:allocation`.
pub(super) mod state {
    pub(in crate::nbd) const HOLE: u32 = 1 << 0;
    pub(in crate::nbd) const ZERO: u32 = 1 << 1;
}

pub(super) mod error {
    pub(in crate::nbd) const EPERM: u32 = 1;
    pub(in crate::nbd) const EIO: u32 = 5;
    pub(in crate::nbd) const EINVAL: u32 = 22;
    pub(in crate::nbd) const ENOSPC: u32 = 28;
    pub(in crate::nbd) const EOVERFLOW: u32 = 75;
    pub(in crate::nbd) const ENOTSUP: u32 = 95;
    pub(in crate::nbd) const ESHUTDOWN: u32 = 108;
}

/// Appends integers in network byte order.
pub(super) trait Put {
    fn u16(&mut self, value: u16);
    fn u32(&mut self, value: u32);
    fn u64(&mut self, value: u64);
}

impl Put for Vec<u8> {
    fn u16(&mut self, value: u16) {
        self.extend(value.to_be_bytes());
    }

    fn u32(&mut self, value: u32) {
        self.extend(value.to_be_bytes());
    }

    fn u64(&mut self, value: u64) {
        self.extend(value.to_be_bytes());
    }
}

/// Reads fields from the front of bytes; `None` if the bytes end within a field.
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (front, behind) = self.0.split_first_chunk()?;
        self.0 = behind;
        Some(*front)
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_be_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_be_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_be_bytes)
    }

    /// A name, preceded by its length in 32 bits.
    pub(super) fn name(&mut self) -> Option<&'a str> {
        let length = self.u32()? as usize;
        let (name, behind) = self.0.split_at_checked(length)?;
        self.0 = behind;
        std::str::from_utf8(name).ok().filter(|name| name.len() <= LONGEST_NAME)
    }
}
