//! Controller properties (NVMe base 2.0, section 3.1.3).

use crate::status::Status;

/// Offsets of the properties that NVMe over Fabrics has.
pub(crate) mod offset {
    pub(crate) const CAP: u32 = 0x00;
    pub(crate) const VS: u32 = 0x08;
    pub(crate) const CC: u32 = 0x14;
    pub(crate) const CSTS: u32 = 0x1c;
    pub(crate) const CRTO: u32 = 0x68;
}

/// NVMe 2.0.0.
pub(crate) const VERSION: u32 = 0x0002_0000;

/// The time to become ready, in steps of 500 ms (CAP.TO and CRTO.CRWMT).
const READY_TIMEOUT: u64 = 15;

/// A bit field: its lowest bit and its width.
#[derive(Clone, Copy)]
pub(crate) struct Bits(u32, u32);

impl Bits {
    pub(crate) const fn get(self, value: u32) -> u32 {
        value >> self.0 & ((1 << self.1) - 1)
    }
}

/// Fields of CC (NVMe base 2.0, figure 46).
mod cc {
    use super::Bits;

    pub(super) const EN: Bits = Bits(0, 1);
    pub(super) const CSS: Bits = Bits(4, 3);
    pub(super) const MPS: Bits = Bits(7, 4);
    pub(super) const AMS: Bits = Bits(11, 3);
    pub(super) const SHN: Bits = Bits(14, 2);
    pub(super) const IOSQES: Bits = Bits(16, 4);
    pub(super) const IOCQES: Bits = Bits(20, 4);
}

/// Bits of CSTS (NVMe base 2.0, section 3.1.3).
mod csts {
    pub(super) const RDY: u32 = 1 << 0;
    pub(super) const CFS: u32 = 1 << 1;
    /// SHST: shutdown processing is occurring.
    pub(super) const SHUTTING_DOWN: u32 = 1 << 2;
    /// SHST: shutdown processing is complete.
    pub(super) const SHUT_DOWN: u32 = 2 << 2;
}

/// The change that a write to CC asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    None,
    Enable,
    /// A Controller Level Reset.
    Disable,
    Shutdown,
}

#[derive(Debug)]
pub(crate) struct Properties {
    cap: u64,
    cc: u32,
    csts: u32,
    /// False for a discovery controller, whose sizes of queue entries are not checked.
    has_io_queues: bool,
}

impl Properties {
    /// The properties of a controller with queues of up to `queue_entries`.
    pub(crate) const fn new(queue_entries: u16, has_io_queues: bool) -> Self {
        // CSS: the NVM command set (bit 37), one or more I/O command sets by identifier (bit 43).
        // CRMS: controllers are ready with media (bit 59).
        let cap = (queue_entries - 1) as u64 | 1 << 16 | READY_TIMEOUT << 24 | 1 << 37 | 1 << 43 | 1 << 59;
        Self { cap, cc: 0, csts: 0, has_io_queues }
    }

    pub(crate) const fn is_ready(&self) -> bool {
        self.csts & csts::RDY != 0
    }

    /// All I/O command sets are enabled, not only the NVM command set.
    pub(crate) const fn has_all_command_sets(&self) -> bool {
        cc::CSS.get(self.cc) == 6
    }

    /// Answers Property Get of a property with four or eight bytes.
    pub(crate) const fn get(&self, offset: u32, eight_bytes: bool) -> Result<u64, Status> {
        match (offset, eight_bytes) {
            (offset::CAP, true) => Ok(self.cap),
            (offset::VS, false) => Ok(VERSION as u64),
            (offset::CC, false) => Ok(self.cc as u64),
            (offset::CSTS, false) => Ok(self.csts as u64),
            (offset::CRTO, false) => Ok(READY_TIMEOUT),
            _ => Err(Status::INVALID_FIELD.do_not_retry()),
        }
    }

    /// Answers Property Set; returns the change that a write to CC asks for.
    pub(crate) const fn set(&mut self, offset: u32, eight_bytes: bool, value: u64) -> Result<Change, Status> {
        if offset != offset::CC || eight_bytes {
            return Err(Status::INVALID_FIELD.do_not_retry());
        }
        let (before, now) = (self.cc, value as u32);
        self.cc = now;
        if cc::SHN.get(now) != 0 && cc::SHN.get(before) == 0 {
            self.csts |= csts::SHUTTING_DOWN;
            return Ok(Change::Shutdown);
        }
        match (cc::EN.get(before), cc::EN.get(now)) {
            (0, 1) if self.is_valid() => {
                self.csts = csts::RDY;
                Ok(Change::Enable)
            }
            (0, 1) => {
                self.csts = csts::CFS;
                Ok(Change::None)
            }
            (1, 0) => {
                self.csts = 0;
                Ok(Change::Disable)
            }
            _ => Ok(Change::None),
        }
    }

    /// True if the controller can be enabled with the fields of CC: pages of 4 KiB, round robin, known command sets, entries of 64
    /// and 16 bytes.
    const fn is_valid(&self) -> bool {
        let entries = !self.has_io_queues || cc::IOSQES.get(self.cc) == 6 && cc::IOCQES.get(self.cc) == 4;
        let sets = matches!(cc::CSS.get(self.cc), 0 | 6 | 7);
        entries && sets && cc::MPS.get(self.cc) == 0 && cc::AMS.get(self.cc) == 0
    }

    /// Reports in CSTS that the drive is ready to lose its power.
    pub(crate) const fn finish_shutdown(&mut self) {
        self.csts = (self.csts & !csts::SHUTTING_DOWN) | csts::SHUT_DOWN;
    }
}

#[cfg(test)]
mod tests {
    use super::{Change, Properties, offset};
    use crate::status::Status;

    /// The value that Linux 6 writes: EN, CSS of all command sets, 64 and 16 bytes (nvme_enable_ctrl in drivers/nvme/host/core.c).
    const ENABLE: u64 = 1 | 6 << 4 | 6 << 16 | 4 << 20;

    #[test]
    fn a_host_enables_shuts_down_and_resets() {
        let mut properties = Properties::new(128, true);
        let cap = properties.get(offset::CAP, true).expect("CAP");
        assert_eq!(cap & 0xffff, 127, "MQES");
        assert_eq!(cap >> 37 & 0xff, 0b0100_0001, "CSS");
        assert_eq!(cap >> 48 & 0xff, 0, "MPSMIN and MPSMAX");
        assert_eq!(properties.get(offset::CAP, false), Err(Status::INVALID_FIELD.do_not_retry()));
        assert_eq!(properties.get(offset::VS, false), Ok(0x20000));
        assert_eq!(properties.set(offset::CC, false, ENABLE & !1), Ok(Change::None), "Linux writes the fields first");
        assert!(!properties.is_ready());
        assert_eq!(properties.set(offset::CC, false, ENABLE), Ok(Change::Enable));
        assert_eq!(properties.get(offset::CSTS, false), Ok(1));
        assert!(properties.has_all_command_sets());
        assert_eq!(properties.set(offset::CC, false, ENABLE | 1 << 14), Ok(Change::Shutdown));
        assert_eq!(properties.get(offset::CSTS, false), Ok(1 | 1 << 2));
        properties.finish_shutdown();
        assert_eq!(properties.get(offset::CSTS, false), Ok(1 | 2 << 2));
        assert_eq!(properties.set(offset::CC, false, ENABLE & !1), Ok(Change::Disable));
        assert_eq!(properties.get(offset::CSTS, false), Ok(0));
        assert_eq!(properties.set(offset::CSTS, false, 0), Err(Status::INVALID_FIELD.do_not_retry()));
    }

    #[test]
    fn a_controller_with_invalid_fields_reports_a_fatal_status() {
        for invalid in [1 | 6 << 16, ENABLE | 1 << 7, ENABLE | 1 << 11, ENABLE & !(7 << 4) | 1 << 4] {
            let mut properties = Properties::new(128, true);
            assert_eq!(properties.set(offset::CC, false, invalid), Ok(Change::None), "{invalid:#x}");
            assert_eq!(properties.get(offset::CSTS, false), Ok(2), "{invalid:#x}");
        }
        let mut discovery = Properties::new(128, false);
        assert_eq!(discovery.set(offset::CC, false, 1), Ok(Change::Enable));
    }
}
