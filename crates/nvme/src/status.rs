//! Status codes of completions (NVMe base 2.0, section 3.3.3.2.1; NVM 1.0, ZNS 1.1, figure 11, and TP4146 for their own codes).

use std::fmt;

/// The status field of a completion: the type and the number of the status code, and two flags.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Status(u16);

/// Status code types (NVMe base 2.0, section 3.3.3.2.1).
const GENERIC: u16 = 0;
const SPECIFIC: u16 = 1;
const MEDIA: u16 = 2;
const PATH: u16 = 3;

/// Bit of "more": the error log has an entry for the command.
const MORE: u16 = 1 << 13;
/// Bit of "do not retry": the command would fail again.
const DO_NOT_RETRY: u16 = 1 << 14;

impl Status {
    const fn new(kind: u16, code: u16) -> Self {
        Self(kind << 8 | code)
    }

    /// The status whose field has these bits; bit 0 is the phase tag, which NVMe over Fabrics does not use.
    #[must_use]
    pub const fn from_field(field: u16) -> Self {
        Self(field >> 1)
    }

    /// The bits of the field in a completion.
    #[must_use]
    pub const fn field(self) -> u16 {
        self.0 << 1
    }

    /// The status code type: 0 generic, 1 specific to the command, 2 media and data integrity, 3 path.
    #[must_use]
    pub const fn code_type(self) -> u8 {
        (self.0 >> 8 & 7) as u8
    }

    /// The number of the status code within its type.
    #[must_use]
    pub const fn code(self) -> u8 {
        self.0 as u8
    }

    /// True for a command that succeeded.
    #[must_use]
    pub const fn is_success(self) -> bool {
        self.0 & 0x7ff == 0
    }

    /// True if a retry would fail, too.
    #[must_use]
    pub const fn is_do_not_retry(self) -> bool {
        self.0 & DO_NOT_RETRY != 0
    }

    /// Adds the flag "do not retry".
    #[must_use]
    pub const fn do_not_retry(self) -> Self {
        Self(self.0 | DO_NOT_RETRY)
    }

    /// True if the error log has an entry for the command.
    #[must_use]
    pub const fn has_more(self) -> bool {
        self.0 & MORE != 0
    }

    /// Adds the flag "more".
    #[must_use]
    pub const fn more(self) -> Self {
        Self(self.0 | MORE)
    }

    /// Clears the flags, to compare with a constant.
    #[must_use]
    pub const fn bare(self) -> Self {
        Self(self.0 & 0x7ff)
    }
}

macro_rules! statuses {
    ($($(#[$meta:meta])* $kind:ident $code:literal $name:ident,)*) => {
        impl Status {
            $($(#[$meta])* pub const $name: Self = Self::new($kind, $code);)*
        }

        /// The codes with their names. A code of the second type can have several, by command.
        const NAMES: &[(Status, &str)] = &[$((Status::$name, stringify!($name)),)*];
    };
}

statuses! {
    /// The command was carried out completely.
    GENERIC 0x00 SUCCESS,
    /// The opcode is unknown or not supported.
    GENERIC 0x01 INVALID_OPCODE,
    /// A field of the command is wrong.
    GENERIC 0x02 INVALID_FIELD,
    /// The command identifier is in use.
    GENERIC 0x03 COMMAND_ID_CONFLICT,
    /// The data could not be transferred.
    GENERIC 0x04 DATA_TRANSFER_ERROR,
    /// Aborted because of a loss of power.
    GENERIC 0x05 POWER_LOSS,
    /// An error inside the controller.
    GENERIC 0x06 INTERNAL_ERROR,
    /// Aborted by an Abort command.
    GENERIC 0x07 ABORT_REQUESTED,
    /// Aborted because its submission queue was deleted.
    GENERIC 0x08 QUEUE_DELETED,
    /// The other command of a fused pair failed.
    GENERIC 0x09 FUSED_FAILED,
    /// The other command of a fused pair is missing.
    GENERIC 0x0a FUSED_MISSING,
    /// The namespace or its format is invalid.
    GENERIC 0x0b INVALID_NAMESPACE,
    /// The command is out of sequence.
    GENERIC 0x0c COMMAND_SEQUENCE_ERROR,
    /// The number of SGL descriptors is invalid.
    GENERIC 0x0e SGL_COUNT_INVALID,
    /// The length of the data is not that of the SGL.
    GENERIC 0x0f SGL_LENGTH_INVALID,
    /// The type of an SGL descriptor is not supported.
    GENERIC 0x11 SGL_TYPE_INVALID,
    /// The operation is denied.
    GENERIC 0x15 OPERATION_DENIED,
    /// The offset of an SGL descriptor is invalid.
    GENERIC 0x16 SGL_OFFSET_INVALID,
    /// The host identifier has an inconsistent format.
    GENERIC 0x18 HOST_ID_FORMAT,
    /// The keep alive timer has expired.
    GENERIC 0x19 KEEP_ALIVE_EXPIRED,
    /// The keep alive timeout is invalid.
    GENERIC 0x1a KEEP_ALIVE_INVALID,
    /// The last sanitize operation failed.
    GENERIC 0x1c SANITIZE_FAILED,
    /// A sanitize operation is in progress.
    GENERIC 0x1d SANITIZE_IN_PROGRESS,
    /// The namespace is write protected.
    GENERIC 0x20 NAMESPACE_WRITE_PROTECTED,
    /// The command was interrupted, and the host may retry it.
    GENERIC 0x21 COMMAND_INTERRUPTED,
    /// An error of the transport, which a retry may pass.
    GENERIC 0x22 TRANSIENT_TRANSPORT_ERROR,
    /// Flexible Data Placement is disabled.
    GENERIC 0x29 FDP_DISABLED,
    /// The list of placement handles is invalid.
    GENERIC 0x2a INVALID_PLACEMENT_HANDLE_LIST,
    /// The range leaves the namespace.
    GENERIC 0x80 LBA_OUT_OF_RANGE,
    /// The capacity of the namespace is exceeded.
    GENERIC 0x81 CAPACITY_EXCEEDED,
    /// The namespace is not ready.
    GENERIC 0x82 NAMESPACE_NOT_READY,
    /// A format is in progress.
    GENERIC 0x84 FORMAT_IN_PROGRESS,
    /// The identifier of the completion queue is invalid.
    SPECIFIC 0x00 COMPLETION_QUEUE_INVALID,
    /// The identifier of the queue is invalid.
    SPECIFIC 0x01 QUEUE_ID_INVALID,
    /// The size of the queue is invalid.
    SPECIFIC 0x02 QUEUE_SIZE_INVALID,
    /// Too many Abort commands are outstanding.
    SPECIFIC 0x03 ABORT_LIMIT_EXCEEDED,
    /// Too many Asynchronous Event Requests are outstanding.
    SPECIFIC 0x05 ASYNC_EVENT_LIMIT_EXCEEDED,
    /// The firmware slot is invalid.
    SPECIFIC 0x06 FIRMWARE_SLOT_INVALID,
    /// The firmware image is invalid.
    SPECIFIC 0x07 FIRMWARE_IMAGE_INVALID,
    /// The log page is invalid or not supported.
    SPECIFIC 0x09 LOG_PAGE_INVALID,
    /// The format is invalid.
    SPECIFIC 0x0a FORMAT_INVALID,
    /// The feature cannot be saved.
    SPECIFIC 0x0d FEATURE_NOT_SAVEABLE,
    /// The feature cannot be changed.
    SPECIFIC 0x0e FEATURE_NOT_CHANGEABLE,
    /// The feature is not one of a namespace.
    SPECIFIC 0x0f FEATURE_NOT_NAMESPACE_SPECIFIC,
    /// The source ranges of the command overlap.
    SPECIFIC 0x14 OVERLAPPING_RANGE,
    /// A Device Self-test is in progress.
    SPECIFIC 0x1d SELF_TEST_IN_PROGRESS,
    /// The I/O command set is not supported.
    SPECIFIC 0x29 COMMAND_SET_NOT_SUPPORTED,
    /// The I/O command set is not enabled.
    SPECIFIC 0x2a COMMAND_SET_NOT_ENABLED,
    /// The combination of I/O command sets is refused.
    SPECIFIC 0x2b COMMAND_SET_COMBINATION_REJECTED,
    /// NVM: the attributes in the command's ranges conflict.
    SPECIFIC 0x80 CONFLICTING_ATTRIBUTES,
    /// NVM: the protection information is invalid.
    SPECIFIC 0x81 INVALID_PROTECTION_INFORMATION,
    /// NVM: the range is read only.
    SPECIFIC 0x82 WRITE_TO_READ_ONLY,
    /// NVM: the limit of the command's size is exceeded (Copy, Dataset Management).
    SPECIFIC 0x83 COMMAND_SIZE_LIMIT_EXCEEDED,
    /// Connect: the format of the record is not supported.
    SPECIFIC 0x80 CONNECT_INCOMPATIBLE_FORMAT,
    /// Connect: the controller is busy, or the queue connected already.
    SPECIFIC 0x81 CONNECT_CONTROLLER_BUSY,
    /// Connect: a parameter is invalid; the result says which.
    SPECIFIC 0x82 CONNECT_INVALID_PARAMETERS,
    /// Connect: discovery is to be restarted.
    SPECIFIC 0x83 CONNECT_RESTART_DISCOVERY,
    /// Connect: the host is not allowed.
    SPECIFIC 0x84 CONNECT_INVALID_HOST,
    /// Disconnect: the queue is no I/O queue.
    SPECIFIC 0x85 INVALID_QUEUE_TYPE,
    /// The queue needs authentication before the command.
    SPECIFIC 0x91 AUTHENTICATION_REQUIRED,
    /// ZNS: the zone or its random write area does not take the operation.
    SPECIFIC 0xb6 INVALID_ZONE_OPERATION,
    /// ZNS: no zone random write area is free.
    SPECIFIC 0xb7 ZRWA_RESOURCES_UNAVAILABLE,
    /// ZNS: the range crosses the boundary of a zone.
    SPECIFIC 0xb8 ZONE_BOUNDARY_ERROR,
    /// ZNS: the zone is full.
    SPECIFIC 0xb9 ZONE_IS_FULL,
    /// ZNS: the zone is read only.
    SPECIFIC 0xba ZONE_IS_READ_ONLY,
    /// ZNS: the zone is offline.
    SPECIFIC 0xbb ZONE_IS_OFFLINE,
    /// ZNS: the write is not at the write pointer.
    SPECIFIC 0xbc ZONE_INVALID_WRITE,
    /// ZNS: too many zones are active.
    SPECIFIC 0xbd TOO_MANY_ACTIVE_ZONES,
    /// ZNS: too many zones are open.
    SPECIFIC 0xbe TOO_MANY_OPEN_ZONES,
    /// ZNS: the zone has no such transition of its state.
    SPECIFIC 0xbf INVALID_ZONE_STATE_TRANSITION,
    /// The write failed on the media.
    MEDIA 0x80 WRITE_FAULT,
    /// The data could not be read from the media.
    MEDIA 0x81 UNRECOVERED_READ_ERROR,
    /// The guard of the protection information does not match.
    MEDIA 0x82 GUARD_CHECK_ERROR,
    /// The data differ from those of the Compare command.
    MEDIA 0x85 COMPARE_FAILURE,
    /// Access to the data is denied.
    MEDIA 0x86 ACCESS_DENIED,
    /// The logical block is deallocated or was never written.
    MEDIA 0x87 UNWRITTEN_BLOCK,
    /// An error on the path inside the controller.
    PATH 0x00 INTERNAL_PATH_ERROR,
    /// The namespace is lost for good on this path.
    PATH 0x01 PERSISTENT_LOSS,
    /// The namespace is not accessible on this path.
    PATH 0x02 INACCESSIBLE,
    /// An error of the path that the controller found.
    PATH 0x60 CONTROLLER_PATH_ERROR,
    /// An error of the path that the host found.
    PATH 0x70 HOST_PATH_ERROR,
    /// The host aborted the command.
    PATH 0x71 ABORTED_BY_HOST,
}

impl fmt::Debug for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut names = NAMES.iter().filter(|(status, _)| *status == self.bare()).map(|(_, name)| *name).peekable();
        if names.peek().is_none() {
            write!(f, "{}/{:#04x}", self.code_type(), self.code())?;
        }
        for (i, name) in names.enumerate() {
            write!(f, "{}{name}", if i == 0 { "" } else { " or " })?;
        }
        f.write_str(if self.has_more() { " (more)" } else { "" })?;
        f.write_str(if self.is_do_not_retry() { " (do not retry)" } else { "" })
    }
}

#[cfg(test)]
mod tests {
    use super::Status;

    #[test]
    fn the_field_has_type_code_and_flags_at_their_bits() {
        assert_eq!(Status::SUCCESS.field(), 0);
        assert!(Status::SUCCESS.is_success() && !Status::INVALID_FIELD.is_success());
        // As Linux prints them, shifted by the phase tag: 0x4002, 0x1b9, 0x281, 0x2000.
        assert_eq!(Status::INVALID_FIELD.do_not_retry().field() >> 1, 0x4002);
        assert_eq!(Status::ZONE_IS_FULL.field() >> 1, 0x01b9);
        assert_eq!(Status::UNRECOVERED_READ_ERROR.field() >> 1, 0x0281);
        assert_eq!(Status::SUCCESS.more().field() >> 1, 0x2000);
        let field = Status::HOST_PATH_ERROR.do_not_retry().more().field();
        let status = Status::from_field(field | 1);
        assert_eq!((status.code_type(), status.code()), (3, 0x70));
        assert!(status.is_do_not_retry() && status.has_more());
        assert_eq!(status.bare(), Status::HOST_PATH_ERROR);
    }

    #[test]
    fn a_status_prints_its_names() {
        assert_eq!(format!("{:?}", Status::ZONE_INVALID_WRITE), "ZONE_INVALID_WRITE");
        assert_eq!(
            format!("{:?}", Status::CONFLICTING_ATTRIBUTES.do_not_retry()),
            "CONFLICTING_ATTRIBUTES or CONNECT_INCOMPATIBLE_FORMAT (do not retry)"
        );
        assert_eq!(format!("{:?}", Status::from_field(0x7f << 1)), "0/0x7f");
    }
}
