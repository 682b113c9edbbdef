//! The memory of this process, on systems that report it (Linux).

use std::fs;

pub(crate) fn resident() -> Option<u64> {
    status("VmRSS:")
}

/// Returns the number of resident bytes that the process has allocated: without the pages of its program, more of which
/// become resident as it runs.
pub(crate) fn allocated() -> Option<u64> {
    status("RssAnon:")
}

/// Returns the peak of resident bytes since the last [`forget_peak`].
pub(crate) fn peak() -> Option<u64> {
    status("VmHWM:")
}

/// Resets the peak to the bytes that are resident now. If the system refuses, the peak stays the whole process's peak,
/// which can only make a result look worse.
pub(crate) fn forget_peak() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

fn status(key: &str) -> Option<u64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let value = status.lines().find_map(|line| line.strip_prefix(key))?;
    let kib: u64 = value.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib * 1024)
}
