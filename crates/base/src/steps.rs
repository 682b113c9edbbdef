//! Counts steps, so that tests can show that a request costs no more on a larger drive.
//!
//! A step is an access to an object of which a loop could visit many: a command, a request, a log block, a waiting
//! task. Without the feature `steps`, which only tests enable, no code for counting is compiled in.

#[cfg(feature = "steps")]
thread_local! {
    static STEPS: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Counts a step of this thread; without the feature `steps` it does nothing.
#[inline]
pub fn count() {
    #[cfg(feature = "steps")]
    STEPS.with(|steps| steps.set(steps.get() + 1));
}

/// The number of steps that this thread has counted.
#[cfg(feature = "steps")]
#[must_use]
pub fn counted() -> u64 {
    STEPS.with(std::cell::Cell::get)
}
