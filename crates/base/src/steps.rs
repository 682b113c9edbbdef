//! Counts steps, so that tests can show that a request costs no more on a larger drive.
//!
//! A step is an access to an object that a loop could visit many of: a command, a request, a log block, a waiting task.
//! Nothing is counted, and nothing is compiled in, without the feature `steps`; only tests enable it.

#[cfg(feature = "steps")]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Counts a step.
#[inline]
pub fn count() {
    #[cfg(feature = "steps")]
    STEPS.with(|steps| steps.set(steps.get() + 1));
}

/// The steps that this thread has counted.
#[cfg(feature = "steps")]
#[must_use]
pub fn counted() -> u64 {
    STEPS.with(std::cell::Cell::get)
}
