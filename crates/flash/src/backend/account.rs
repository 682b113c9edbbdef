//! Counts and times by operation and cause.

use std::ops::{AddAssign, Sub};

use base::units::{Bytes, Span};

use super::{Cause, Op};

/// The sums over the commands of one operation and one cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Commands finished.
    pub commands: u64,
    /// Physical pages read, programmed or copied, or blocks erased.
    pub pages: u64,
    /// Mapping units of data carried (nothing for an erase).
    pub slots: u64,
    /// Bytes that crossed the channel, spare bytes included.
    pub bytes: Bytes,
    /// Time the array worked, counted once per command for all its planes.
    pub array: Span,
    /// Time the channel was held.
    pub bus: Span,
}

impl AddAssign for Tally {
    fn add_assign(&mut self, rhs: Self) {
        self.commands += rhs.commands;
        self.pages += rhs.pages;
        self.slots += rhs.slots;
        self.bytes += rhs.bytes;
        self.array += rhs.array;
        self.bus += rhs.bus;
    }
}

impl Sub for Tally {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self {
            commands: self.commands - rhs.commands,
            pages: self.pages - rhs.pages,
            slots: self.slots - rhs.slots,
            bytes: self.bytes - rhs.bytes,
            array: self.array - rhs.array,
            bus: self.bus - rhs.bus,
        }
    }
}

/// A tally for every operation and cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Account {
    tallies: [[Tally; Cause::COUNT]; Op::COUNT],
}

impl Account {
    /// The tally of one operation and cause.
    #[must_use]
    pub const fn of(&self, op: Op, cause: Cause) -> Tally {
        self.tallies[op as usize][cause as usize]
    }

    /// The tally of one operation and cause, to be added to.
    #[inline]
    pub const fn at(&mut self, op: Op, cause: Cause) -> &mut Tally {
        &mut self.tallies[op as usize][cause as usize]
    }

    /// The sum over all causes.
    #[must_use]
    pub fn op(&self, op: Op) -> Tally {
        self.tallies[op as usize].iter().fold(Tally::default(), |mut sum, tally| {
            sum += *tally;
            sum
        })
    }

    /// Every (operation, cause) with at least one command, in order.
    pub fn rows(&self) -> impl Iterator<Item = (Op, Cause, Tally)> {
        Op::ALL
            .into_iter()
            .flat_map(|op| Cause::ALL.into_iter().map(move |cause| (op, cause)))
            .map(|(op, cause)| (op, cause, self.of(op, cause)))
            .filter(|(_, _, tally)| *tally != Tally::default())
    }

    /// The difference to `earlier`.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Self {
        let mut difference = *self;
        for op in Op::ALL {
            for cause in Cause::ALL {
                *difference.at(op, cause) = self.of(op, cause) - earlier.of(op, cause);
            }
        }
        difference
    }
}
