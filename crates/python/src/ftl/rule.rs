//! The rules that an FTL in Python must keep, and the exception for a broken one.

use std::fmt;

use pyo3::{PyErr, import_exception};

import_exception!(flashloom.errors, FtlError);

/// A rule that an FTL has broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// The flash has only `count` pages.
    NoPage { page: u32, count: u32 },
    /// The flash has only `count` blocks.
    NoBlock { block: u32, count: u32 },
    /// A page lies before one that is already programmed.
    Order { page: u32, block: u32, next: u32 },
    /// A program has failed in the block since its erase.
    Failing { block: u32 },
    /// The block was retired earlier, and takes no operation.
    Broken { block: u32 },
    /// An erase of the block has not ended.
    Erasing { block: u32 },
    /// Programs of the block have not ended.
    Programming { block: u32, programs: u32 },
    /// A page to be copied holds no data.
    Empty { page: u32 },
    /// The map points into a block that is to be erased.
    Lost { block: u32, page: u32, unit: u32 },
    /// A write is programmed or refused twice.
    Used { unit: u32 },
    /// The map points to a page that does not hold the mapping unit.
    Place { unit: u32, page: u32, holds: Option<u32> },
    /// A method returned a value that is no page.
    NoPlace { unit: u32, returned: String },
    /// Writes were neither programmed nor refused, and no Python object refers to them any more.
    Forgotten { writes: u32 },
    /// Writes wait, and no command is under way that could make room for them.
    Stuck { writes: u32 },
}

impl fmt::Display for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoPage { page, count } => {
                write!(f, "there is no page {page}: the flash has pages 0 to {}", count.saturating_sub(1))
            }
            Self::NoBlock { block, count } => {
                write!(f, "there is no block {block}: the flash has blocks 0 to {}", count.saturating_sub(1))
            }
            Self::Order { page, block, next } => write!(
                f,
                "page {page} is programmed out of order: page {next} is the next erased one of block {block}, whose pages \
                 are programmed in ascending order"
            ),
            Self::Failing { block } => {
                write!(f, "a program has failed in block {block}; it takes no more until its erase")
            }
            Self::Broken { block } => {
                write!(f, "block {block} is broken; drive.blocks() lists the blocks that are not")
            }
            Self::Erasing { block } => write!(f, "the erase of block {block} has not ended"),
            Self::Programming { block, programs } => write!(
                f,
                "block {block} is to be erased, and {programs} of its programs have not ended; see flash.programs(block)"
            ),
            Self::Empty { page } => write!(f, "page {page} is to be copied, and holds no data"),
            Self::Lost { block, page, unit } => write!(
                f,
                "the erase of block {block} would lose data: place({unit}) is its page {page}; copy the page and wait for \
                 `copied` first"
            ),
            Self::Used { unit } => write!(f, "the write of unit {unit} has been programmed or refused before"),
            Self::Place { unit, page, holds } => {
                write!(f, "place({unit}) returned page {page}, which holds ")?;
                match holds {
                    Some(other) => write!(f, "unit {other}"),
                    None => f.write_str("no data; a mapping changes when its program has ended"),
                }
            }
            Self::NoPlace { unit, returned } => {
                write!(f, "place({unit}) returned {returned}, which is neither the number of a page nor None")
            }
            Self::Forgotten { writes } => write!(
                f,
                "{writes} writes were neither programmed nor refused, and the FTL does not keep them; program a write, keep \
                 it until there is room, or refuse it"
            ),
            Self::Stuck { writes } => write!(
                f,
                "the FTL keeps {writes} writes while no command is under way, so that nothing will make room for them; \
                 refuse them if the drive is full"
            ),
        }
    }
}

impl From<Rule> for PyErr {
    fn from(rule: Rule) -> Self {
        FtlError::new_err(rule.to_string())
    }
}
