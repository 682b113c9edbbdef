//! What a host hands in and gets back.

use flash::backend::CauseSet;
use flash::io::Io;
use flash::units::{Span, Time};

/// The host's own number for a request; the device only hands it back.
pub type Tag = u64;

/// A request on its way to the device. `S` is the content of one sector, see `flash::nand::Sector`.
#[derive(Clone, Debug)]
pub struct Request<S> {
    /// The host's number for it.
    pub tag: Tag,
    /// What is asked.
    pub io: Io,
    /// One entry per sector for a write, empty otherwise. A device without payload takes `()`s.
    pub data: Vec<S>,
}

/// How a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// As asked.
    Done,
    /// At least one sector could not be read from flash.
    Uncorrectable,
    /// The device has lost so many blocks that it no longer takes writes.
    ReadOnly,
    /// The extent ends beyond the capacity.
    OutOfRange,
}

/// A finished request.
#[derive(Clone, Debug)]
pub struct Completion<S> {
    /// The host's number for it.
    pub tag: Tag,
    /// What was asked.
    pub io: Io,
    /// How it ended.
    pub status: Status,
    /// When it was submitted.
    pub arrival: Time,
    /// When it left the host queue: `start - arrival` is the queue wait.
    pub start: Time,
    /// When its last byte or its acknowledgement had crossed the host link.
    pub end: Time,
    /// Flash commands issued on its behalf before it was acknowledged.
    pub commands: u32,
    /// The longest that any of its flash commands waited for a unit or a die.
    pub flash_wait: Span,
    /// The causes of the commands it waited behind.
    pub waited_for: CauseSet,
    /// One entry per sector for a read, empty otherwise.
    pub data: Vec<S>,
}

impl<S> Completion<S> {
    /// The response time: queue wait and service.
    #[must_use]
    pub fn latency(&self) -> Span {
        self.end - self.arrival
    }

    /// Time spent in the host queue before the device took it.
    #[must_use]
    pub fn queue_wait(&self) -> Span {
        self.start - self.arrival
    }

    /// Time from leaving the host queue to the end.
    #[must_use]
    pub fn service(&self) -> Span {
        self.end - self.start
    }
}
