//! The memory of this machine, and whether what is asked for fits into it.
//!
//! A drive that does not fit would end in the middle of its making, killed or aborted, so it is refused before anything of it
//! is allocated. How much it takes is said by the description ([`ssd::Memory`]); how much there is, by the machine: its
//! physical memory, the control groups that this process is in, and the limits of its address space and its data.

use std::fs;
use std::path::Path;

use base::units::Bytes;
use rustix::process::{Resource, getrlimit};
use ssd::Memory;

use crate::exit::Failure;

/// What Flashloom takes besides drives: itself, its reports and what it reads.
const BESIDE: u64 = 96 << 20;

/// Something that says how much memory there is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Limit {
    bytes: u64,
    name: String,
}

/// What takes memory at the same time.
#[derive(Clone, Debug)]
pub(crate) struct Need {
    /// Whose it is.
    pub(crate) name: String,
    /// How much of what.
    pub(crate) memory: Memory,
}

/// Refuses what needs more memory than there is: the largest of the needs, as many as there are runs at once. `given` is
/// what the user says that there is.
pub(crate) fn check(mut needs: Vec<Need>, at_once: usize, given: Option<Bytes>) -> Result<(), Failure> {
    let limit = match given {
        Some(bytes) => Some(Limit { bytes: bytes.get(), name: "--memory".into() }),
        None => limits(Path::new("/")).into_iter().min_by_key(|limit| limit.bytes),
    };
    let Some(limit) = limit else { return Ok(()) };
    needs.sort_by_key(|need| std::cmp::Reverse(need.memory.total()));
    needs.truncate(at_once.max(1));
    let all = needs.iter().fold(BESIDE, |sum, need| sum.saturating_add(need.memory.total().get()));
    match needs.first() {
        Some(first) if all > limit.bytes => Err(Failure::Input(refusal(first, needs.len(), all, &limit))),
        _ => Ok(()),
    }
}

fn refusal(first: &Need, count: usize, all: u64, limit: &Limit) -> String {
    let parts: Vec<String> =
        first.memory.largest(3).iter().map(|(name, bytes)| format!("{bytes} for {name}")).collect();
    let several = if count > 1 { format!(" ({count} runs at once)") } else { String::new() };
    let fewer = if count > 1 { "fewer --jobs, " } else { "" };
    // Enough to be taken, in whole units.
    let enough = Bytes::new(all.div_ceil(1 << 20) << 20);
    format!(
        "{}: the simulation takes {} of memory{several}, {}, and there are {} ({}); use {fewer}a smaller drive or buffer or a \
         larger ftl.map-unit, leave --verify out, or say --memory {} if there is more",
        first.name,
        Bytes::new(all),
        parts.join(", "),
        Bytes::new(limit.bytes),
        limit.name,
        exact(enough)
    )
}

/// A size that can be given to an option.
fn exact(bytes: Bytes) -> String {
    format!("{}MiB", bytes.get() >> 20)
}

/// Everything that limits the memory of this process, with the files of the system below `root`.
fn limits(root: &Path) -> Vec<Limit> {
    let physical = fs::read_to_string(root.join("proc/meminfo")).ok().and_then(|text| total(&text));
    let mut limits: Vec<Limit> =
        physical.map(|bytes| Limit { bytes, name: "the memory of this machine".into() }).into_iter().collect();
    limits.extend(groups(root));
    for (resource, name) in [(Resource::As, "the limit of the address space"), (Resource::Data, "the limit of data")] {
        if let Some(bytes) = getrlimit(resource).current {
            limits.push(Limit { bytes, name: format!("{name}, see `ulimit`") });
        }
    }
    limits
}

/// The physical memory, as the system's table has it.
fn total(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<u64>().ok().map(|kib| kib << 10)
}

/// The limits of the control groups that this process is in, and of those above them. Inside of a container the way to its
/// own group may be hidden, and what is at the top of the hierarchy is its own.
fn groups(root: &Path) -> Vec<Limit> {
    let Ok(mine) = fs::read_to_string(root.join("proc/self/cgroup")) else { return Vec::new() };
    let mut limits = Vec::new();
    for line in mine.lines() {
        let mut fields = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (fields.next(), fields.next()) else { continue };
        // The second version has one hierarchy for all controllers, the first one for each.
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
                limits.push(Limit { bytes, name: "the limit of the control group, as of a container".into() });
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
        let mut bytes: Vec<u64> = limits(root.path()).into_iter().map(|limit| limit.bytes).collect();
        // What limits this test itself comes last.
        let own = [Resource::As, Resource::Data].iter().filter(|of| getrlimit(**of).current.is_some()).count();
        bytes.truncate(bytes.len() - own);
        bytes
    }

    #[test]
    fn limits_are_found_wherever_they_are() {
        let meminfo = ("proc/meminfo", "MemTotal:       16384 kB\nMemFree:  100 kB\n");
        assert_eq!(bytes(&machine(&[meminfo])), [16 << 20]);
        // The second version: each group above counts, and `max` is no limit.
        let second = machine(&[
            meminfo,
            ("proc/self/cgroup", "0::/user/me\n"),
            ("sys/fs/cgroup/user/me/memory.max", "max\n"),
            ("sys/fs/cgroup/user/memory.max", "8388608\n"),
        ]);
        assert_eq!(bytes(&second), [16 << 20, 8 << 20]);
        // The first version, inside of a container whose own group is the top of what it sees.
        let first = machine(&[
            ("proc/self/cgroup", "12:cpu,cpuacct:/docker/x\n5:memory:/docker/x\n"),
            ("sys/fs/cgroup/memory/memory.limit_in_bytes", "4194304\n"),
        ]);
        assert_eq!(bytes(&first), [4 << 20]);
        assert_eq!(bytes(&machine(&[])), [0; 0]);
    }

    fn need(name: &str, mib: u64) -> Need {
        let mut memory = Memory::default();
        memory.add("the map", (mib << 20) / 4);
        memory.add("blocks", (mib << 20) / 4 * 3);
        Need { name: name.into(), memory }
    }

    #[test]
    fn what_does_not_fit_is_refused_with_numbers_and_a_remedy() {
        let given = |mib: u64| Some(Bytes::new(mib << 20));
        assert!(check(vec![need("a", 100)], 1, given(196)).is_ok());
        let message = check(vec![need("a", 100)], 1, given(195)).expect_err("too much").to_string();
        let wanted = "a: the simulation takes 196MiB of memory, 75MiB for blocks, 25MiB for the map, and there are 195MiB \
                      (--memory); use a smaller drive";
        assert!(message.contains(wanted) && message.ends_with("say --memory 196MiB if there is more"), "{message}");
        // The largest count, as many as run at once.
        let needs = || vec![need("a", 100), need("b", 300), need("c", 200)];
        assert!(check(needs(), 1, given(396)).is_ok());
        let message = check(needs(), 2, given(595)).expect_err("too much").to_string();
        assert!(message.contains("b: the simulation takes 596MiB of memory (2 runs at once)"), "{message}");
        assert!(message.contains("use fewer --jobs, a smaller"), "{message}");
        assert!(check(needs(), 2, given(596)).is_ok());
        assert!(check(Vec::new(), 2, given(1)).is_ok());
    }
}
