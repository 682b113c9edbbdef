//! The handle of a set of page copies, by which a list is a part of it.

use base::nonmax::NonMaxU32;

/// The handle of a set of page copies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CopySet(NonMaxU32);

impl CopySet {
    pub(in crate::backend) const fn new(number: u32) -> Self {
        Self(NonMaxU32::new(number))
    }

    pub(in crate::backend) const fn number(self) -> u32 {
        self.0.get()
    }

    pub(in crate::backend) const fn index(self) -> usize {
        self.0.get() as usize
    }
}

#[derive(Clone, Copy, Debug)]
pub(in crate::backend) struct ListPart {
    pub(in crate::backend) set: CopySet,
    pub(in crate::backend) part: u16,
}
