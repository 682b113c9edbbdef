//! Who watches the backend. Nobody by default, at no cost.

use crate::units::Time;

use super::{Cause, Op};

/// What was busy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Resource {
    /// The array of a die.
    Array(u32),
    /// A channel.
    Channel(u32),
}

/// What a command is made of (Seong et al., Sec. 3.3.2, call it a primitive).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Primitive {
    /// Command and address cycles of an operation without data to send.
    Command,
    /// Data in, with its command and address cycles.
    DataIn,
    /// Data out.
    DataOut,
    /// Nothing crosses the channel, but it is kept.
    Hold,
    /// An array reads.
    Read,
    /// An array programs.
    Program,
    /// An array erases.
    Erase,
    /// An array reads and then programs what it read.
    CopyBack,
}

/// A stretch of time in which a resource works for one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// What works.
    pub resource: Resource,
    /// The die for whose command it works.
    pub die: u32,
    /// What it does.
    pub primitive: Primitive,
    /// What the command does.
    pub op: Op,
    /// Why.
    pub cause: Cause,
    /// From when.
    pub from: Time,
    /// Until when.
    pub until: Time,
}

/// Hears of every phase as it begins.
pub trait Observer {
    /// A phase begins.
    fn phase(&mut self, phase: Phase);
}

impl Observer for () {
    #[inline]
    fn phase(&mut self, _: Phase) {}
}

/// Keeps everything: for tests and for small runs that are drawn.
impl Observer for Vec<Phase> {
    fn phase(&mut self, phase: Phase) {
        self.push(phase);
    }
}
