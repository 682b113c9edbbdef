//! The submission queue entry (NVMe base 2.0, figures 87 and 88).

use super::opcode;
use crate::layout::{Field, layout};
use crate::status::Status;

layout! {
    /// NVMe base 2.0, figure 88, with an SGL descriptor (section 4.1.2.1) in place of the data pointer.
    struct SubmissionFields [64] {
        0 opcode: u8,
        /// Bits 1:0: fused operation. Bits 7:6: PSDT.
        1 flags: u8,
        2 command_id: u16,
        4 namespace: u32,
        8 cdw2: u32,
        12 cdw3: u32,
        16 metadata: u64,
        24 sgl_address: u64,
        32 sgl_length: u32,
        39 sgl_kind: u8,
        40 cdw10: [u32; 6],
    }
}

/// SGL identifiers: the type of the descriptor in bits 7:4, its sub type in bits 3:0 (NVMe base 2.0, section 4.1.2.1; NVMe/TCP 1.0, section 3.3.2).
mod sgl {
    /// A data block in the capsule, at an offset.
    pub(super) const IN_CAPSULE: u8 = 0x01;
    /// A data block that the transport moves (NVMe/TCP 1.0, figure 14).
    pub(super) const TRANSPORT: u8 = 0x5a;
}

/// The value of PSDT that NVMe over Fabrics allows for SGLs with contiguous metadata.
const PSDT_SGL: u8 = 0x40;

/// The transfer of a command's data: direction, place and length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transfer {
    /// The command has no data.
    None,
    /// To the controller, in the capsule.
    InCapsule {
        /// Offset of the data from the end of the submission queue entry (ICDOFF is 0).
        offset: u64,
        /// Bytes of the data.
        length: u32,
    },
    /// To the controller, on its request.
    ToController(u32),
    /// To the host: this many bytes at most.
    ToHost(u32),
}

/// A submission queue entry: 64 bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubmissionEntry(SubmissionFields);

impl SubmissionEntry {
    /// Bytes of an entry.
    pub const SIZE: usize = 64;

    /// An entry with this opcode whose other fields are zero, but for an empty SGL of the transport, as hosts send it.
    #[must_use]
    pub fn new(opcode: u8) -> Self {
        Self(SubmissionFields { opcode, flags: PSDT_SGL, sgl_kind: sgl::TRANSPORT, ..SubmissionFields::default() })
    }

    /// A Fabrics command of this type.
    #[must_use]
    pub fn fabrics(kind: u8) -> Self {
        Self::new(opcode::FABRICS).with_namespace(u32::from(kind))
    }

    /// The entry in these bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8; Self::SIZE]) -> Self {
        Self(SubmissionFields::load(bytes))
    }

    /// The bytes of the entry, as they are sent.
    #[must_use]
    pub fn to_bytes(&self) -> [u8; Self::SIZE] {
        let mut bytes = [0; Self::SIZE];
        self.0.store(&mut bytes);
        bytes
    }

    /// The opcode, see [`opcode`].
    #[must_use]
    pub const fn opcode(&self) -> u8 {
        self.0.opcode
    }

    /// The type of a Fabrics command (byte 4); `None` for any other opcode.
    #[must_use]
    pub fn fabrics_type(&self) -> Option<u8> {
        (self.0.opcode == opcode::FABRICS).then_some(self.0.namespace as u8)
    }

    /// The command identifier, which is unique among the outstanding commands of a queue.
    #[must_use]
    pub const fn command_id(&self) -> u16 {
        self.0.command_id
    }

    /// The namespace identifier; 0 for commands without one.
    #[must_use]
    pub const fn namespace(&self) -> u32 {
        self.0.namespace
    }

    /// Command dwords 2 and 3.
    #[must_use]
    pub const fn low(&self) -> [u32; 2] {
        [self.0.cdw2, self.0.cdw3]
    }

    /// Command dword `number`, 10 to 15.
    ///
    /// # Panics
    /// If `number` is not 10 to 15.
    #[must_use]
    pub const fn cdw(&self, number: usize) -> u32 {
        self.0.cdw10[number - 10]
    }

    /// Command dwords `number` and `number + 1` as one value.
    #[must_use]
    pub const fn cdw_pair(&self, number: usize) -> u64 {
        self.cdw(number) as u64 | (self.cdw(number + 1) as u64) << 32
    }

    /// The length of the data that the SGL describes.
    #[must_use]
    pub const fn data_length(&self) -> u32 {
        self.0.sgl_length
    }

    /// Sets the command identifier.
    #[must_use]
    pub fn with_command_id(mut self, command_id: u16) -> Self {
        self.0.command_id = command_id;
        self
    }

    /// Sets the namespace identifier.
    #[must_use]
    pub fn with_namespace(mut self, namespace: u32) -> Self {
        self.0.namespace = namespace;
        self
    }

    /// Sets command dword `number`, 10 to 15.
    ///
    /// # Panics
    /// If `number` is not 10 to 15.
    #[must_use]
    pub fn with_cdw(mut self, number: usize, value: u32) -> Self {
        self.0.cdw10[number - 10] = value;
        self
    }

    /// Sets command dwords `number` and `number + 1`: the lower half of `value` first.
    #[must_use]
    pub fn with_cdw_pair(self, number: usize, value: u64) -> Self {
        self.with_cdw(number, value as u32).with_cdw(number + 1, (value >> 32) as u32)
    }

    /// Adds the SGL descriptor for `length` bytes of data that follow the entry in its capsule.
    #[must_use]
    pub fn with_data_in_capsule(mut self, length: u32) -> Self {
        (self.0.sgl_address, self.0.sgl_length, self.0.sgl_kind) = (0, length, sgl::IN_CAPSULE);
        self
    }

    /// Sets the SGL descriptor for data that the transport moves.
    #[must_use]
    pub fn with_transport_data(mut self, length: u32) -> Self {
        (self.0.sgl_address, self.0.sgl_length, self.0.sgl_kind) = (0, length, sgl::TRANSPORT);
        self
    }

    /// Sets the flags: the fused operation, and PSDT.
    #[must_use]
    pub fn with_flags(mut self, flags: u8) -> Self {
        self.0.flags = flags;
        self
    }

    /// The transfer of the command's data.
    ///
    /// # Errors
    /// The status of a command that asks for a transfer which NVMe/TCP does not have, or that is one of a fused pair.
    pub fn transfer(&self) -> Result<Transfer, Status> {
        // Neither fused operations nor PRPs (NVMe base 2.0, figure 88: PSDT 00b is reserved for message-based transports).
        if self.0.flags != PSDT_SGL {
            return Err(Status::INVALID_FIELD.do_not_retry());
        }
        let direction = self.fabrics_type().unwrap_or(self.0.opcode) & 3;
        let length = self.0.sgl_length;
        match (self.0.sgl_kind, direction) {
            (sgl::TRANSPORT, 1) if length > 0 => Ok(Transfer::ToController(length)),
            (sgl::TRANSPORT, 2) if length > 0 => Ok(Transfer::ToHost(length)),
            (sgl::IN_CAPSULE, 1) => Ok(Transfer::InCapsule { offset: self.0.sgl_address, length }),
            (sgl::TRANSPORT, _) if length == 0 => Ok(Transfer::None),
            (sgl::TRANSPORT, 3) | (sgl::IN_CAPSULE, 2 | 3) => Err(Status::INVALID_FIELD.do_not_retry()),
            (sgl::TRANSPORT | sgl::IN_CAPSULE, _) => Ok(Transfer::None),
            (0, _) if length == 0 => Ok(Transfer::None),
            _ => Err(Status::SGL_TYPE_INVALID.do_not_retry()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{SubmissionEntry, Transfer};
    use crate::entry::opcode::{fabrics, io};
    use crate::status::Status;

    #[test]
    fn fields_are_where_the_specification_has_them() {
        let mut bytes: [u8; 64] = std::array::from_fn(|i| i as u8);
        (bytes[1], bytes[39]) = (0x40, 0x5a);
        let entry = SubmissionEntry::from_bytes(&bytes);
        assert_eq!((entry.opcode(), entry.command_id(), entry.namespace()), (0, 0x0302, 0x0706_0504));
        assert_eq!(entry.low(), [0x0b0a_0908, 0x0f0e_0d0c]);
        assert_eq!(entry.data_length(), 0x2322_2120);
        assert_eq!((entry.cdw(10), entry.cdw(15)), (0x2b2a_2928, 0x3f3e_3d3c));
        assert_eq!(entry.cdw_pair(10), 0x2f2e_2d2c_2b2a_2928);
    }

    #[test]
    fn transfers_follow_opcode_and_descriptor() {
        let write = SubmissionEntry::new(io::WRITE);
        assert_eq!(write.transfer(), Ok(Transfer::None));
        assert_eq!(write.clone().with_transport_data(8).transfer(), Ok(Transfer::ToController(8)));
        assert_eq!(write.clone().with_data_in_capsule(8).transfer(), Ok(Transfer::InCapsule { offset: 0, length: 8 }));
        let read = SubmissionEntry::new(io::READ);
        assert_eq!(read.clone().with_transport_data(8).transfer(), Ok(Transfer::ToHost(8)));
        assert_eq!(read.clone().with_data_in_capsule(8).transfer(), Err(Status::INVALID_FIELD.do_not_retry()));
        assert_eq!(read.with_flags(0).transfer(), Err(Status::INVALID_FIELD.do_not_retry()), "PRPs");
        assert_eq!(write.with_flags(0x41).transfer(), Err(Status::INVALID_FIELD.do_not_retry()), "fused");
        let connect = SubmissionEntry::fabrics(fabrics::CONNECT).with_transport_data(1024);
        assert_eq!(connect.transfer(), Ok(Transfer::ToController(1024)));
        let mut bytes = connect.to_bytes();
        bytes[39] = 0x20;
        assert_eq!(
            SubmissionEntry::from_bytes(&bytes).transfer(),
            Err(Status::SGL_TYPE_INVALID.do_not_retry()),
            "a segment"
        );
    }
}
