//! The cost of a measurement: processor time and wall-clock time.

use std::time::{Duration, Instant};

/// The cost of a piece of work.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// Processor time of this process in seconds.
    pub cpu: f64,
    /// Wall-clock time in seconds: more than `cpu` if other programs used the processor.
    pub wall: f64,
}

/// Runs `work` and returns its result and its cost.
pub fn timed<T>(work: impl FnOnce() -> T) -> (T, Cost) {
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

/// Returns the processor time of this process; on systems that do not report it, the wall-clock time.
#[cfg(not(unix))]
fn processor_time() -> Duration {
    static START: std::sync::LazyLock<Instant> = std::sync::LazyLock::new(wall_clock);
    START.elapsed()
}
