//! The limits that a controller offers to hosts.

use crate::pdu::Digests;

/// The limits that a controller offers on each connection, and the limits of its memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Config {
    /// The most entries of a queue: MQES is one less.
    pub queue_entries: u16,
    /// Bytes of data that a capsule of an I/O queue may have: IOCCSZ without the entry.
    pub in_capsule: u32,
    /// The most bytes of data of an H2CData PDU: MAXH2CDATA.
    pub data_pdu: u32,
    /// The most bytes that one R2T requests.
    pub r2t: u32,
    /// The largest transfer of a command, as a power of two of 4 KiB: MDTS.
    pub mdts: u8,
    /// Room for the data of writes that a connection requests.
    pub bytes: u64,
    /// Alignment of data to the controller in dwords, less one: CPDA. Linux takes 0 only.
    pub alignment: u8,
    /// The digests that hosts may choose.
    pub digests: Digests,
}

impl Config {
    /// Queues as Linux makes them, transfers of 1 MiB, and digests for hosts that ask for them.
    pub const DEFAULT: Self = Self {
        queue_entries: 128,
        in_capsule: 16 << 10,
        data_pdu: 1 << 20,
        r2t: 1 << 20,
        mdts: 8,
        bytes: 16 << 20,
        alignment: 0,
        digests: Digests { header: true, data: true },
    };

    /// The largest transfer of a command in bytes.
    #[must_use]
    pub const fn transfer(&self) -> u32 {
        4096 << self.mdts
    }

    /// The most bytes of data to the controller that a connection keeps in memory.
    #[must_use]
    pub fn memory(&self) -> u64 {
        let capsule = self.in_capsule.max(super::ADMIN_IN_CAPSULE);
        self.bytes + u64::from(self.queue_entries) * u64::from(capsule)
    }

    /// Checks that the values fit together.
    ///
    /// # Panics
    /// If they do not.
    pub fn check(&self) {
        assert!(self.queue_entries >= 2, "a queue has two entries at least");
        // NVMe/TCP 1.0, figure 21: MAXH2CDATA is a multiple of 4, and 4096 at least.
        assert!(self.data_pdu >= 4096 && self.data_pdu.is_multiple_of(4), "MAXH2CDATA is {}", self.data_pdu);
        assert!(self.r2t >= 512 && self.r2t.is_multiple_of(4), "an R2T of {} bytes", self.r2t);
        assert!(self.in_capsule.is_multiple_of(16), "IOCCSZ counts in 16 bytes");
        assert!(self.mdts <= 16, "MDTS of {}", self.mdts);
        assert!(self.alignment <= 31, "CPDA of {}", self.alignment);
        assert!(self.bytes >= u64::from(self.transfer()), "the largest transfer must fit");
    }
}

impl Default for Config {
    fn default() -> Self {
        Self::DEFAULT
    }
}
