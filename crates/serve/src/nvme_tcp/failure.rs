//! The status of a completion for each failure of a drive.

use nvme::Status;

use crate::Failed;

/// The status that says why a command was not carried out. Without power there is an answer only where connections outlive a cut:
/// a flush fails then, if acknowledged writes were lost.
pub(super) const fn status(failed: Failed) -> Status {
    match failed {
        Failed::NoPower => Status::POWER_LOSS,
        Failed::Uncorrectable => Status::UNRECOVERED_READ_ERROR.do_not_retry(),
        Failed::ReadOnly => Status::NAMESPACE_WRITE_PROTECTED.do_not_retry(),
        Failed::OutOfRange => Status::LBA_OUT_OF_RANGE.do_not_retry(),
        Failed::InvalidOpcode => Status::INVALID_OPCODE.do_not_retry(),
        Failed::InvalidField => Status::INVALID_FIELD.do_not_retry(),
        Failed::ZoneBoundary => Status::ZONE_BOUNDARY_ERROR.do_not_retry(),
        Failed::ZoneFull => Status::ZONE_IS_FULL.do_not_retry(),
        Failed::ZoneReadOnly => Status::ZONE_IS_READ_ONLY.do_not_retry(),
        Failed::ZoneOffline => Status::ZONE_IS_OFFLINE.do_not_retry(),
        Failed::ZoneInvalidWrite => Status::ZONE_INVALID_WRITE.do_not_retry(),
        // Another zone may be closed or finished meanwhile.
        Failed::TooManyActiveZones => Status::TOO_MANY_ACTIVE_ZONES,
        Failed::TooManyOpenZones => Status::TOO_MANY_OPEN_ZONES,
        Failed::ZrwaUnavailable => Status::ZRWA_RESOURCES_UNAVAILABLE,
        Failed::InvalidZoneTransition => Status::INVALID_ZONE_STATE_TRANSITION.do_not_retry(),
        Failed::InvalidZoneOperation => Status::INVALID_ZONE_OPERATION.do_not_retry(),
    }
}

/// The status of a write: where the rest of a mapping unit could not be read, the write itself is what failed.
pub(super) const fn status_of_write(failed: Failed) -> Status {
    match failed {
        Failed::Uncorrectable => Status::WRITE_FAULT.do_not_retry(),
        failed => status(failed),
    }
}

#[cfg(test)]
mod tests {
    use ssd::Status as Ended;

    use super::*;

    #[test]
    fn each_failure_of_the_drive_has_a_status_of_its_own() {
        let failures: Vec<_> = Ended::ALL.into_iter().filter_map(Failed::of).collect();
        assert_eq!(failures.len(), Ended::COUNT - 1);
        let mut seen: Vec<Status> = failures.iter().map(|failed| status(*failed).bare()).collect();
        assert!(seen.iter().all(|status| !status.is_success()));
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), failures.len());
    }

    #[test]
    fn failures_have_the_codes_of_the_specification() {
        let code = |failed| (status(failed).code_type(), status(failed).code());
        let wanted = [
            (Failed::ReadOnly, (0, 0x20)),
            (Failed::OutOfRange, (0, 0x80)),
            (Failed::ZoneBoundary, (1, 0xb8)),
            (Failed::ZoneFull, (1, 0xb9)),
            (Failed::ZoneReadOnly, (1, 0xba)),
            (Failed::ZoneOffline, (1, 0xbb)),
            (Failed::ZoneInvalidWrite, (1, 0xbc)),
            (Failed::TooManyActiveZones, (1, 0xbd)),
            (Failed::TooManyOpenZones, (1, 0xbe)),
            (Failed::InvalidZoneTransition, (1, 0xbf)),
            (Failed::InvalidZoneOperation, (1, 0xb6)),
            (Failed::ZrwaUnavailable, (1, 0xb7)),
            (Failed::Uncorrectable, (2, 0x81)),
        ];
        wanted.into_iter().for_each(|(failed, wanted)| assert_eq!(code(failed), wanted, "{failed:?}"));
        assert_eq!(status_of_write(Failed::Uncorrectable).bare(), Status::WRITE_FAULT);
    }
}
