//! Bugs of the backend that tests plant (see `ftl::sabotage`). In shipped code every check for one is a constant
//! `false`.

/// A bug that tests plant in the backend, to check that the suites find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Bug {
    /// The data of a program enters the cache register while a page waits there for the array.
    CacheOverwritten,
    /// A program that has let a host read pass between two pages of its data goes on with the page after the next.
    PageSkipped,
    /// Under collection first, a program of the FTL's own overtakes earlier host data for the same block.
    BlockReordered,
    /// Codewords in a decoder's pipeline still come out after the power has failed.
    CodewordsOutlivePower,
    /// A suspended operation does not resume while no other command waits for its die.
    SuspendedForever,
    /// A read that waits for its plane while the whole die works does not begin after that work.
    PlaneForgotten,
    /// A read that its decoder cannot correct is not read again, and is handled as if it had been.
    RetryAtTheDecoder,
    /// Operations begin although the arrays then draw more than the power cap.
    CapExceeded,
    /// An operation that waits for the power cap does not begin when another operation ends.
    CapForgotten,
    /// A power cut tears an operation that was suspended once, although the operation is done.
    TornAfterResume,
}

/// The planted bug of a backend, or none. Without the feature there cannot be one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct PlantedBug {
    #[cfg(feature = "sabotage")]
    pub(super) bug: Option<Bug>,
}

#[cfg(feature = "sabotage")]
impl PlantedBug {
    /// True if the backend has this bug.
    #[inline]
    pub(super) fn is(self, bug: Bug) -> bool {
        self.bug == Some(bug)
    }
}

#[cfg(not(feature = "sabotage"))]
#[allow(clippy::unused_self)] // It has the signature of the method above.
impl PlantedBug {
    /// Always false, because the feature `sabotage` is off.
    #[inline]
    pub(super) const fn is(self, _: Bug) -> bool {
        false
    }
}
