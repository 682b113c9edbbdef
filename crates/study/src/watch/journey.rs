//! Where the time of a request went: its parts, its legs, and both of a finished request.

use base::io::Io;
use base::units::{Span, Time};
use flash::backend::{Cause, Resource};
use ssd::Tag;

/// Where time goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[repr(usize)]
pub enum Part {
    /// In the submission queue, while the device works on as much as it can.
    Queue,
    /// Behind an earlier request that overlaps.
    Overlap,
    /// On the host link, waiting for it included.
    Link,
    /// Until flash is asked, and after it has answered: look-ups in the map and changes of it, room to be made.
    Ftl,
    /// For a place in the write buffer, or for what a flush waits for.
    Buffer,
    /// For a high-level unit, or for commands of other lists; where lists are carried out in turn, for those before.
    Controller,
    /// For the die, or for a register in it.
    Die,
    /// The array at work.
    Array,
    /// For the channel.
    Channel,
    /// On the channel.
    Transfer,
}

impl Part {
    /// How many there are.
    pub const COUNT: usize = 10;
    /// All of them, in the order in which a request comes to them.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Queue,
        Self::Overlap,
        Self::Link,
        Self::Ftl,
        Self::Buffer,
        Self::Controller,
        Self::Die,
        Self::Array,
        Self::Channel,
        Self::Transfer,
    ];

    /// The name in tables and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Queue => "queue",
            Self::Overlap => "overlap-wait",
            Self::Link => "link",
            Self::Ftl => "ftl",
            Self::Buffer => "buffer",
            Self::Controller => "controller-wait",
            Self::Die => "die-wait",
            Self::Array => "array",
            Self::Channel => "channel-wait",
            Self::Transfer => "transfer",
        }
    }
}

/// A piece of a request's time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Leg {
    /// Where it went.
    pub part: Part,
    /// From when.
    pub from: Time,
    /// Until when.
    pub until: Time,
    /// The die or the channel, where there is one.
    pub at: Option<Resource>,
}

/// A finished request and where its time went.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Journey {
    /// The host's number for it.
    pub tag: Tag,
    /// What was asked.
    pub io: Io,
    /// When it came.
    pub arrival: Time,
    /// When it was complete.
    pub end: Time,
    /// Its time by [`Part`].
    pub parts: [Span; Part::COUNT],
    /// Of the time for a unit, a die or a channel, what these did meanwhile, by [`Cause`]; the rest is not known.
    pub behind: [Span; Cause::COUNT],
}

impl Journey {
    /// The response time: the sum of the parts.
    #[must_use]
    pub fn latency(&self) -> Span {
        self.end - self.arrival
    }
}
