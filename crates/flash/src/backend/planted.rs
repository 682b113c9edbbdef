//! Bugs of the backend that tests plant (see `ftl::sabotage`): a constant `false` in everything that ships.

/// One planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// The data of a program enters the cache register while a page waits there for the array.
    CacheOverwritten,
    /// A program of whose data a page has let a host read pass goes on with the page after the next.
    PageSkipped,
    /// Under collection first, a program of the FTL's own overtakes host data that goes to the same block before it.
    BlockReordered,
    /// Codewords in a decoder's pipeline come out although the power has failed meanwhile.
    CodewordsOutlivePower,
    /// A suspended operation does not go on while no other command waits for its die.
    SuspendedForever,
    /// A read that waits for its plane while the whole die works is not begun behind that.
    PlaneForgotten,
    /// A read that its decoder cannot correct is not read again, and counts as if it were.
    RetryAtTheDecoder,
    /// Operations begin although the arrays then draw more than the power cap.
    CapExceeded,
    /// An operation that waits for the power cap does not begin when another one ends.
    CapForgotten,
    /// A power cut tears an operation that was suspended once, although the operation is done.
    TornAfterResume,
}

/// The planted bug of a backend: none, and without the feature there cannot be one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Planted {
    #[cfg(feature = "sabotage")]
    pub(super) bug: Option<Bug>,
}

#[cfg(feature = "sabotage")]
impl Planted {
    /// True if it is this bug.
    #[inline]
    pub(super) fn is(self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }
}

#[cfg(not(feature = "sabotage"))]
#[allow(clippy::unused_self)] // It stands in for the one above.
impl Planted {
    /// Always false.
    #[inline]
    pub(super) const fn is(self, _: Bug) -> bool {
        false
    }
}
