//! The operation and the cause of a flash command.

use std::fmt;

/// The operation of a flash command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Op {
    /// Array read and transfer out.
    Read,
    /// Transfer in and array program.
    Program,
    /// Block erase.
    Erase,
    /// Array read and program inside one plane, without the bus.
    CopyBack,
}

impl Op {
    /// The number of operations, for tables with an entry for each.
    pub const COUNT: usize = 4;
    /// All operations in the order of their discriminants.
    pub const ALL: [Self; Self::COUNT] = [Self::Read, Self::Program, Self::Erase, Self::CopyBack];

    /// The operation's name in reports and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Program => "program",
            Self::Erase => "erase",
            Self::CopyBack => "copy-back",
        }
    }
}

/// The reason for a flash command. Reports sum times, counts, energy and write amplification by cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Cause {
    /// Data of the host.
    Host,
    /// Copies and erases of garbage collection.
    Gc,
    /// A merge of log blocks.
    Merge,
    /// Static wear levelling.
    Wear,
    /// Mapping tables kept in flash.
    Map,
    /// A flush that the host requested.
    Flush,
    /// Padding of a program that had too little data.
    Pad,
    /// Rebuilding the FTL's state after a power loss, and saving data from a failing block.
    Recovery,
    /// Folding of an SLC cache: data of blocks in SLC mode go to full blocks.
    Fold,
    /// Refresh of data whose bit errors have grown, and the patrol reads that look for them.
    Refresh,
    /// Parity over several dies, and the reads that rebuild a page from it.
    Parity,
}

impl Cause {
    /// The number of causes, for tables with an entry for each.
    pub const COUNT: usize = 11;
    /// All causes in the order of their discriminants.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Host,
        Self::Gc,
        Self::Merge,
        Self::Wear,
        Self::Map,
        Self::Flush,
        Self::Pad,
        Self::Recovery,
        Self::Fold,
        Self::Refresh,
        Self::Parity,
    ];

    /// True for data of the host and its padding. Commands of all other causes are the FTL's own.
    #[must_use]
    #[inline]
    pub const fn is_of_host(self) -> bool {
        matches!(self, Self::Host | Self::Flush | Self::Pad)
    }

    /// The cause's name in reports and files.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Gc => "gc",
            Self::Merge => "merge",
            Self::Wear => "wear",
            Self::Map => "map",
            Self::Flush => "flush",
            Self::Pad => "pad",
            Self::Recovery => "recovery",
            Self::Fold => "fold",
            Self::Refresh => "refresh",
            Self::Parity => "parity",
        }
    }
}

/// A set of causes, e.g. of all commands that a request waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct CauseSet(u16);

impl CauseSet {
    /// The set without any cause.
    pub const EMPTY: Self = Self(0);

    const fn bit(cause: Cause) -> u16 {
        1 << cause as u16
    }

    /// Adds one cause.
    #[inline]
    pub fn insert(&mut self, cause: Cause) {
        self.0 |= Self::bit(cause);
    }

    /// Adds all causes of `other`.
    #[inline]
    pub fn extend(&mut self, other: Self) {
        self.0 |= other.0;
    }

    /// True if the set contains `cause`.
    #[must_use]
    pub const fn contains(self, cause: Cause) -> bool {
        self.0 & Self::bit(cause) != 0
    }

    /// The causes of the set, in order. It visits only the causes in the set: it is called for each request, and most
    /// sets have one cause or none.
    #[inline]
    pub fn iter(self) -> impl Iterator<Item = Cause> {
        let mut left = self.0;
        std::iter::from_fn(move || {
            let first = left.trailing_zeros() as usize;
            left &= left.wrapping_sub(1);
            Cause::ALL.get(first).copied()
        })
    }
}

impl fmt::Display for CauseSet {
    /// Writes the names, joined by `+`, or `-` for no cause.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.iter().map(Cause::name).collect();
        f.write_str(if names.is_empty() { "-".into() } else { names.join("+") }.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_set_lists_the_causes_that_it_contains() {
        for bits in 0..1 << Cause::COUNT {
            let set = CauseSet(bits);
            let contained: Vec<_> = Cause::ALL.into_iter().filter(|cause| set.contains(*cause)).collect();
            assert_eq!(set.iter().collect::<Vec<_>>(), contained);
        }
    }
}
