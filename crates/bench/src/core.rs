//! Confinement to one core: programs that are compared run there together, so they meet the same noise of other
//! programs.

/// A guard that confines this thread, and the programs that it starts, to one core until it is dropped.
#[derive(Debug)]
pub struct CoreGuard {
    #[cfg(target_os = "linux")]
    before: rustix::thread::CpuSet,
}

/// Confines this thread, and the programs that it starts from now on, to one core. Returns `None` where the system
/// cannot.
#[cfg(target_os = "linux")]
#[must_use]
pub fn confine() -> Option<CoreGuard> {
    use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
    let before = sched_getaffinity(None).ok()?;
    let core = (0..CpuSet::MAX_CPU).find(|core| before.is_set(*core))?;
    let mut one = CpuSet::new();
    one.set(core);
    sched_setaffinity(None, &one).ok()?;
    Some(CoreGuard { before })
}

/// Returns `None`: no such system call is known for this system.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub const fn confine() -> Option<CoreGuard> {
    None
}

#[cfg(target_os = "linux")]
impl Drop for CoreGuard {
    fn drop(&mut self) {
        // If this call fails, later measurements run on one core, too; those that need several then show no speed-up.
        _ = rustix::thread::sched_setaffinity(None, &self.before);
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use rustix::thread::sched_getaffinity;

    #[test]
    fn a_thread_has_one_core_until_the_end() {
        let cores = || sched_getaffinity(None).map(|set| set.count());
        let before = cores().expect("Linux says on which cores a thread may run");
        let confined = confine().expect("Linux confines a thread");
        assert_eq!(cores(), Ok(1));
        drop(confined);
        assert_eq!(cores(), Ok(before));
    }
}
