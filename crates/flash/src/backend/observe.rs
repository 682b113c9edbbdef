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

/// A stretch of time in which a resource works for one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Phase {
    /// What works.
    pub resource: Resource,
    /// What it does.
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
