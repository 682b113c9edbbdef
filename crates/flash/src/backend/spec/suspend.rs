//! The rules of suspension, as a device describes them.

use base::units::Span;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The operations that may be suspended.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum SuspensionTarget {
    /// Programs and erases.
    #[default]
    Both,
    /// Only erases can be suspended.
    Erases,
    /// Only programs can be suspended.
    Programs,
}

/// The reads to which a rule applies.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReadScope {
    /// Reads for which the host waits, except those of queues with `suspend = false` in `[[host.queue]]`.
    #[default]
    Host,
    /// All reads: first reads of the host, then reads of collection and of maps.
    All,
}

/// The point at which an operation stops.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum StopPoint {
    /// At once, at any point of the operation. No work is lost.
    #[default]
    AnyTime,
    /// At the end of the step under way (Kim et al., USENIX ATC 2019: safe points of the erase loop).
    Steps,
    /// At once; the step under way is lost and repeated (Wu and He, FAST 2012: cancellation).
    Cancel,
}

/// Suspension of programs and erases for reads. The commands that may suspend go first in the queue of their die.
///
/// No public data sheet of a NAND part with these times was found. The defaults are those of MQSim's configuration; the
/// numbers of steps are assumed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct SuspendSpec {
    /// The operations that may be suspended.
    pub operations: SuspensionTarget,
    /// The reads that may suspend a program or an erase.
    pub reads: ReadScope,
    /// Whether host writes suspend an erase, too: their program is executed during the suspended erase. Host writes
    /// then go before all other commands except the reads.
    pub writes: bool,
    /// The point at which an operation stops.
    pub stop: StopPoint,
    /// Steps of a program, all equally long.
    #[schemars(range(min = 1))]
    pub program_steps: u32,
    /// Steps of an erase, all equally long.
    #[schemars(range(min = 1))]
    pub erase_steps: u32,
    /// Time from the stop of a program to the first read.
    pub program_time: Span,
    /// Time from the stop of an erase to the first read.
    pub erase_time: Span,
    /// Time before a program resumes.
    pub program_resume: Span,
    /// Time before an erase resumes.
    pub erase_resume: Span,
    /// The most suspensions of one operation; any number if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Time that an operation must work between two suspensions.
    pub progress: Span,
    /// The longest time in total for which one operation stands still. After that the operation resumes although reads
    /// wait; the read under way ends first. Without limit if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub longest: Option<Span>,
    /// An operation with at most this much time left is not suspended, and neither is one that would end before it has
    /// stopped.
    pub threshold: Span,
}

impl Default for SuspendSpec {
    fn default() -> Self {
        Self {
            operations: SuspensionTarget::default(),
            reads: ReadScope::default(),
            writes: false,
            stop: StopPoint::default(),
            program_steps: 8,
            erase_steps: 5,
            program_time: Span::from_us(100),
            erase_time: Span::from_us(700),
            program_resume: Span::ZERO,
            erase_resume: Span::ZERO,
            limit: None,
            progress: Span::ZERO,
            longest: None,
            threshold: Span::ZERO,
        }
    }
}
