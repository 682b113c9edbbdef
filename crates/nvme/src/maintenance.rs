//! Format NVM, Sanitize, Device Self-test (NVMe base 2.0, sections 5.10, 5.14 and 5.24), and their log pages.

use std::collections::VecDeque;
use std::time::Duration;

use crate::description::{ALL_NAMESPACES, Description};
use crate::entry::SubmissionEntry;
use crate::layout::{bytes_of, layout};
use crate::status::Status;

/// EDSTT: minutes of an extended self-test. Assumed.
pub(crate) const EXTENDED_TEST_MINUTES: u16 = 1;
/// A short self-test. Assumed.
const SHORT_TEST: Duration = Duration::from_secs(10);
const EXTENDED_TEST: Duration = Duration::from_secs(60 * EXTENDED_TEST_MINUTES as u64);

/// Results that the self-test log has.
const RESULTS: usize = 20;

layout! {
    /// The head of the self-test log (NVMe base 2.0, section 5.16.1, log page 06h).
    struct SelfTestHead [4] {
        /// 0 none, 1 short, 2 extended.
        0 operation: u8,
        /// Progress in percent.
        1 completion: u8,
    }
}

layout! {
    /// A result of a self-test (NVMe base 2.0, section 5.16.1, log page 06h).
    struct SelfTestResult [28] {
        /// Bits 7:4: the test. Bits 3:0: the result, 0 without errors, 1 aborted by a self-test command, Fh for no entry.
        0 status: u8,
        1 segment: u8,
        /// Which of the fields below are valid.
        2 valid: u8,
        4 power_on_hours: u64,
        12 namespace: u32,
    }
}

layout! {
    /// Sanitize status (NVMe base 2.0, section 5.16.1, log page 81h).
    struct SanitizeStatus [512] {
        /// Progress in 65536ths; all ones if none is in progress.
        0 progress: u16,
        /// Bits 2:0: 0 never, 1 completed, 2 in progress, 3 failed. Bit 8: nothing was written since.
        2 status: u16,
        4 cdw10: u32,
        /// Seconds; all ones for not known.
        8 estimates: [u32; 6],
    }
}

#[derive(Clone, Copy, Debug)]
struct SelfTest {
    code: u8,
    namespace: u32,
    begun: Duration,
}

impl SelfTest {
    const fn time(&self) -> Duration {
        if self.code == 1 { SHORT_TEST } else { EXTENDED_TEST }
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Sanitize {
    #[default]
    Never,
    InProgress,
    Completed,
    Failed,
}

/// The namespaces that a Format NVM command erases: one or all.
pub(crate) fn format(description: &Description, entry: &SubmissionEntry) -> Result<Vec<u32>, Status> {
    let (cdw10, id) = (entry.cdw(10), entry.namespace());
    // LBA format 0, no metadata, no protection information.
    if cdw10 & 0x30ff != 0 {
        return Err(Status::FORMAT_INVALID.do_not_retry());
    }
    // No secure erase, user data erase; a cryptographic erase is not supported.
    if cdw10 >> 9 & 7 > 1 {
        return Err(Status::INVALID_FIELD.do_not_retry());
    }
    if id == ALL_NAMESPACES {
        return Ok(description.namespaces.iter().map(|namespace| namespace.id).collect());
    }
    match description.namespace(id) {
        Some(_) => Ok(vec![id]),
        None => Err(Status::INVALID_NAMESPACE.do_not_retry()),
    }
}

/// The state of sanitize operations and self-tests.
#[derive(Debug, Default)]
pub(crate) struct Maintenance {
    sanitize: Sanitize,
    sanitize_cdw10: u32,
    test: Option<SelfTest>,
    results: VecDeque<SelfTestResult>,
}

impl Maintenance {
    /// Begins the operation that a Sanitize command asks for. True if the drive has to erase its data.
    pub(crate) fn sanitize(&mut self, entry: &SubmissionEntry) -> Result<bool, Status> {
        let cdw10 = entry.cdw(10);
        match cdw10 & 7 {
            _ if self.is_sanitizing() => Err(Status::SANITIZE_IN_PROGRESS.do_not_retry()),
            // Exit failure mode.
            1 => {
                if self.sanitize == Sanitize::Failed {
                    self.sanitize = Sanitize::Never;
                }
                Ok(false)
            }
            2 => {
                (self.sanitize, self.sanitize_cdw10) = (Sanitize::InProgress, cdw10);
                Ok(true)
            }
            _ => Err(Status::INVALID_FIELD.do_not_retry()),
        }
    }

    pub(crate) fn is_sanitizing(&self) -> bool {
        self.sanitize == Sanitize::InProgress
    }

    /// The status with which commands for the media fail after an incomplete sanitize operation; none if they may run.
    pub(crate) fn refusal(&self) -> Option<Status> {
        match self.sanitize {
            Sanitize::InProgress => Some(Status::SANITIZE_IN_PROGRESS),
            Sanitize::Failed => Some(Status::SANITIZE_FAILED.do_not_retry()),
            Sanitize::Never | Sanitize::Completed => None,
        }
    }

    pub(crate) fn finish_sanitize(&mut self, succeeded: bool) {
        self.sanitize = if succeeded { Sanitize::Completed } else { Sanitize::Failed };
    }

    pub(crate) fn sanitize_page(&self) -> Vec<u8> {
        let (progress, status) = match self.sanitize {
            Sanitize::Never => (u16::MAX, 0),
            Sanitize::InProgress => (0, 2),
            Sanitize::Completed => (u16::MAX, 1),
            Sanitize::Failed => (u16::MAX, 3),
        };
        bytes_of(&SanitizeStatus { progress, status, cdw10: self.sanitize_cdw10, estimates: [u32::MAX; 6] })
    }

    /// Answers Device Self-test: begins or aborts a self-test.
    pub(crate) fn self_test(
        &mut self,
        description: &Description,
        entry: &SubmissionEntry,
        now: Duration,
    ) -> Result<(), Status> {
        self.advance(now);
        let (code, namespace) = ((entry.cdw(10) & 0xf) as u8, entry.namespace());
        if ![0, ALL_NAMESPACES].contains(&namespace) && description.namespace(namespace).is_none() {
            return Err(Status::INVALID_NAMESPACE.do_not_retry());
        }
        match code {
            1 | 2 if self.test.is_some() => Err(Status::SELF_TEST_IN_PROGRESS.do_not_retry()),
            1 | 2 => {
                self.test = Some(SelfTest { code, namespace, begun: now });
                Ok(())
            }
            0xf => {
                if let Some(test) = self.test.take() {
                    self.end(test, 1, now);
                }
                Ok(())
            }
            _ => Err(Status::INVALID_FIELD.do_not_retry()),
        }
    }

    fn end(&mut self, test: SelfTest, result: u8, at: Duration) {
        let SelfTest { code, namespace, .. } = test;
        self.results.truncate(RESULTS - 1);
        self.results.push_front(SelfTestResult {
            status: code << 4 | result,
            // The namespace is valid.
            valid: 1,
            power_on_hours: at.as_secs() / 3600,
            namespace,
            ..SelfTestResult::default()
        });
    }

    /// Ends a self-test whose time is over.
    fn advance(&mut self, now: Duration) {
        if let Some(test) = self.test.filter(|test| now >= test.begun + test.time()) {
            self.test = None;
            self.end(test, 0, test.begun + test.time());
        }
    }

    pub(crate) fn self_test_page(&mut self, now: Duration) -> Vec<u8> {
        self.advance(now);
        let head = self.test.map_or_else(SelfTestHead::default, |test| SelfTestHead {
            operation: test.code,
            completion: (now.saturating_sub(test.begun).as_millis() * 100 / test.time().as_millis()) as u8,
        });
        let mut data = bytes_of(&head);
        data.extend(self.results.iter().flat_map(bytes_of));
        // No entry.
        while data.len() < 4 + RESULTS * 28 {
            data.extend(bytes_of(&SelfTestResult { status: 0xf, ..SelfTestResult::default() }));
        }
        data
    }
}
