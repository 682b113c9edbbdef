//! What a measurement costs: processor time, and time on the wall beside it.

use std::time::{Duration, Instant};

/// What something cost.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Cost {
    /// Seconds of processor time of this process.
    pub(crate) cpu: f64,
    /// Seconds on the wall clock: more than `cpu` where other programs took the processor.
    pub(crate) wall: f64,
}

/// Runs something and tells what it cost.
pub(crate) fn timed<T>(work: impl FnOnce() -> T) -> (T, Cost) {
    let (cpu, wall) = (processor_time(), wall_clock());
    let result = work();
    let cost = Cost { cpu: (processor_time() - cpu).as_secs_f64(), wall: wall.elapsed().as_secs_f64() };
    (result, cost)
}

fn wall_clock() -> Instant {
    #[allow(clippy::disallowed_methods)] // A benchmark measures time; nothing simulated depends on it.
    Instant::now()
}

#[cfg(unix)]
fn processor_time() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ProcessCPUTime);
    Duration::try_from(spent).expect("processor time is not negative")
}

/// Where the processor time of a process cannot be had, the wall clock stands in for it.
#[cfg(not(unix))]
fn processor_time() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(wall_clock);
    START.elapsed()
}
