//! The status of a completion for each failure of a drive.

use nvme::Status;

use crate::JobFailure;

/// The status of a completion for a failure of a drive. Without power there are completions only if connections outlive a cut: a
/// flush then fails if acknowledged writes were lost.
pub(super) const fn status(failed: JobFailure) -> Status {
    let JobFailure::Drive(ended) = failed else { return Status::POWER_LOSS };
    match ended {
        ssd::Status::Done => Status::SUCCESS,
        ssd::Status::Uncorrectable => Status::UNRECOVERED_READ_ERROR.do_not_retry(),
        ssd::Status::ReadOnly => Status::NAMESPACE_WRITE_PROTECTED.do_not_retry(),
        ssd::Status::OutOfRange => Status::LBA_OUT_OF_RANGE.do_not_retry(),
        ssd::Status::InvalidOpcode => Status::INVALID_OPCODE.do_not_retry(),
        ssd::Status::InvalidField => Status::INVALID_FIELD.do_not_retry(),
        ssd::Status::ZoneBoundary => Status::ZONE_BOUNDARY_ERROR.do_not_retry(),
        ssd::Status::ZoneFull => Status::ZONE_IS_FULL.do_not_retry(),
        ssd::Status::ZoneReadOnly => Status::ZONE_IS_READ_ONLY.do_not_retry(),
        ssd::Status::ZoneOffline => Status::ZONE_IS_OFFLINE.do_not_retry(),
        ssd::Status::ZoneInvalidWrite => Status::ZONE_INVALID_WRITE.do_not_retry(),
        // A host may retry after it has closed or finished another zone.
        ssd::Status::TooManyActiveZones => Status::TOO_MANY_ACTIVE_ZONES,
        ssd::Status::TooManyOpenZones => Status::TOO_MANY_OPEN_ZONES,
        ssd::Status::ZrwaUnavailable => Status::ZRWA_RESOURCES_UNAVAILABLE,
        ssd::Status::InvalidZoneTransition => Status::INVALID_ZONE_STATE_TRANSITION.do_not_retry(),
        ssd::Status::InvalidZoneOperation => Status::INVALID_ZONE_OPERATION.do_not_retry(),
    }
}

/// The status of a failed write. If the rest of a mapping unit could not be read, the status says that the write
/// failed, not the read.
pub(super) const fn status_of_write(failed: JobFailure) -> Status {
    match failed {
        JobFailure::Drive(ssd::Status::Uncorrectable) => Status::WRITE_FAULT.do_not_retry(),
        failed => status(failed),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_failure_of_the_drive_has_a_status_of_its_own() {
        let failures: Vec<_> = ssd::Status::ALL.into_iter().filter_map(JobFailure::of).collect();
        assert_eq!(failures.len(), ssd::Status::COUNT - 1);
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
            (JobFailure::Drive(ssd::Status::ReadOnly), (0, 0x20)),
            (JobFailure::Drive(ssd::Status::OutOfRange), (0, 0x80)),
            (JobFailure::Drive(ssd::Status::ZoneBoundary), (1, 0xb8)),
            (JobFailure::Drive(ssd::Status::ZoneFull), (1, 0xb9)),
            (JobFailure::Drive(ssd::Status::ZoneReadOnly), (1, 0xba)),
            (JobFailure::Drive(ssd::Status::ZoneOffline), (1, 0xbb)),
            (JobFailure::Drive(ssd::Status::ZoneInvalidWrite), (1, 0xbc)),
            (JobFailure::Drive(ssd::Status::TooManyActiveZones), (1, 0xbd)),
            (JobFailure::Drive(ssd::Status::TooManyOpenZones), (1, 0xbe)),
            (JobFailure::Drive(ssd::Status::InvalidZoneTransition), (1, 0xbf)),
            (JobFailure::Drive(ssd::Status::InvalidZoneOperation), (1, 0xb6)),
            (JobFailure::Drive(ssd::Status::ZrwaUnavailable), (1, 0xb7)),
            (JobFailure::Drive(ssd::Status::Uncorrectable), (2, 0x81)),
        ];
        wanted.into_iter().for_each(|(failed, wanted)| assert_eq!(code(failed), wanted, "{failed:?}"));
        assert_eq!(status_of_write(JobFailure::Drive(ssd::Status::Uncorrectable)).bare(), Status::WRITE_FAULT);
    }
}
