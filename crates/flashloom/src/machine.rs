//! The memory of this machine.
//!
//! A drive that does not fit would be killed or aborted halfway through its allocation, so the command refuses it
//! before it allocates anything. [`ssd::Memory`] gives the memory that a drive needs. The memory that the machine has
//! is limited by its physical memory, the control groups of this process, and the limits of its address space and its
//! data.

use std::fs;
use std::path::Path;

use base::units::Bytes;
use rustix::process::{Resource, getrlimit};
use study::memory::Limit;

/// The limit that the user gives, or else the machine's memory.
pub(crate) fn memory(given: Option<Bytes>) -> Option<Limit> {
    match given {
        Some(bytes) => Some(Limit { bytes, name: "--memory".into() }),
        None => memory_limit(),
    }
}

/// The memory that the process may use: the smallest of all limits. None if the system reports no limit.
#[must_use]
pub fn memory_limit() -> Option<Limit> {
    limits(Path::new("/")).into_iter().min_by_key(|limit| limit.bytes)
}

/// All limits on the memory of this process, read from the system's files below `root`.
fn limits(root: &Path) -> Vec<Limit> {
    let physical = fs::read_to_string(root.join("proc/meminfo")).ok().and_then(|text| total(&text));
    let limit = |bytes, name: &str| Limit { bytes: Bytes::new(bytes), name: name.to_owned() };
    let mut limits: Vec<Limit> = physical.map(|bytes| limit(bytes, "the memory of this machine")).into_iter().collect();
    limits.extend(groups(root));
    for (resource, name) in [(Resource::As, "the address-space limit"), (Resource::Data, "the data-segment limit")] {
        if let Some(bytes) = getrlimit(resource).current {
            limits.push(limit(bytes, &format!("{name}, see `ulimit`")));
        }
    }
    limits
}

/// The physical memory in bytes, from the text of `/proc/meminfo`.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// The limits of the control groups of this process and of the groups above them. A container may hide the path to its
/// own group; its limits are then those at the top of the hierarchy.
fn groups(root: &Path) -> Vec<Limit> {
    let Ok(mine) = fs::read_to_string(root.join("proc/self/cgroup")) else { return Vec::new() };
    let mut limits = Vec::new();
    for line in mine.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        // Version 2 has one hierarchy for all controllers, version 1 has one for each.
        let (top, file) = match controllers {
            "" => ("sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|name| name == "memory") => {
                ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        for group in Path::new(path.trim_start_matches('/')).ancestors() {
            let folder = root.join(top).join(group);
            let said = fs::read_to_string(folder.join(file)).ok();
            if let Some(bytes) = said.and_then(|said| said.trim().parse().ok()) {
                let bytes = Bytes::new(bytes);
                limits.push(Limit { bytes, name: "the limit of the control group, e.g. of a container".into() });
            }
        }
    }
    limits
}

#[cfg(test)]
mod tests {
    use super::*;

    fn machine(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a directory");
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("made");
            fs::write(path, text).expect("written");
        }
        root
    }

    fn bytes(root: &tempfile::TempDir) -> Vec<u64> {
        let mut bytes: Vec<u64> = limits(root.path()).into_iter().map(|limit| limit.bytes.get()).collect();
        // The limits of this test's own process come last.
        let own = [Resource::As, Resource::Data].iter().filter(|of| getrlimit(**of).current.is_some()).count();
        bytes.truncate(bytes.len() - own);
        bytes
    }

    #[test]
    fn memory_limits_of_machine_and_cgroups_are_found() {
        let meminfo = ("proc/meminfo", "MemTotal:       16384 kB\nMemFree:  100 kB\n");
        assert_eq!(bytes(&machine(&[meminfo])), [16 << 20]);
        // Version 2: each group above counts, and `max` is no limit.
        let second = machine(&[
            meminfo,
            ("proc/self/cgroup", "0::/user/me\n"),
            ("sys/fs/cgroup/user/me/memory.max", "max\n"),
            ("sys/fs/cgroup/user/memory.max", "8388608\n"),
        ]);
        assert_eq!(bytes(&second), [16 << 20, 8 << 20]);
        // Version 1, in a container that sees its own group as the top of the hierarchy.
        let first = machine(&[
            ("proc/self/cgroup", "12:cpu,cpuacct:/docker/x\n5:memory:/docker/x\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "4194304\n"),
        ]);
        assert_eq!(bytes(&first), [4 << 20]);
        assert_eq!(bytes(&machine(&[])), [0; 0]);
    }
}
