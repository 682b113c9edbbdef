//! Checks that runs fit into the available memory.
//!
//! The system would kill or abort a program that constructs a drive too large for the memory. Flashloom therefore
//! refuses such a drive before any allocation. The need follows from the device's description ([`ssd::Memory`]).

use std::fmt;

use base::units::Bytes;
use ssd::Memory;

/// Bytes of memory besides drives: Flashloom itself, its reports and its inputs.
const BESIDE: u64 = 96 << 20;

/// The memory that a simulation may take.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limit {
    /// The amount of available memory.
    pub bytes: Bytes,
    /// The origin of the limit, in words for messages.
    pub name: String,
}

/// The memory that a run needs.
#[derive(Clone, Debug)]
pub struct Need {
    /// Name of the run in messages.
    pub name: String,
    /// The memory by purpose.
    pub memory: Memory,
}

/// The error of runs that need more memory than available.
#[derive(Clone, Debug)]
pub struct TooLarge {
    /// The run that needs the most.
    first: Need,
    /// The number of parallel runs.
    count: usize,
    /// The bytes that all parallel runs need together.
    all: u64,
    limit: Limit,
}

/// Checks that any `at_once` of these runs fit at the same time: the check adds up those with the largest needs.
///
/// # Errors
/// If they do not fit.
pub fn check(mut needs: Vec<Need>, at_once: usize, limit: &Limit) -> Result<(), TooLarge> {
    needs.sort_by_key(|need| std::cmp::Reverse(need.memory.total()));
    needs.truncate(at_once.max(1));
    let all = needs.iter().fold(BESIDE, |sum, need| sum.saturating_add(need.memory.total().get()));
    let count = needs.len();
    match needs.into_iter().next() {
        Some(first) if all > limit.bytes.get() => Err(TooLarge { first, count, all, limit: limit.clone() }),
        _ => Ok(()),
    }
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { first, count, all, limit } = self;
        let parts: Vec<String> =
            first.memory.largest(3).iter().map(|(name, bytes)| format!("{bytes} for {name}")).collect();
        let several = if *count > 1 { format!(" ({count} runs at once)") } else { String::new() };
        let fewer = if *count > 1 { "fewer --jobs, " } else { "" };
        // Rounded up to whole MiB, in a form that `--memory` accepts.
        let enough = all.div_ceil(1 << 20);
        write!(
            f,
            "{}: the simulation needs {} of memory{several}, {}, and {} are available ({}); use {fewer}a smaller \
             drive or buffer or a larger ftl.map-unit, leave --verify out, or give --memory {enough}MiB if the \
             machine has it",
            first.name,
            Bytes::new(*all),
            parts.join(", "),
            limit.bytes,
            limit.name,
        )
    }
}

impl std::error::Error for TooLarge {}

#[cfg(test)]
mod tests {
    use super::*;

    fn need(name: &str, mib: u64) -> Need {
        let mut memory = Memory::default();
        memory.add("the map", (mib << 20) / 4);
        memory.add("blocks", (mib << 20) / 4 * 3);
        Need { name: name.into(), memory }
    }

    #[test]
    fn a_drive_beyond_memory_is_refused_with_numbers_and_a_remedy() {
        let given = |mib: u64| Limit { bytes: Bytes::new(mib << 20), name: "--memory".into() };
        assert!(check(vec![need("a", 100)], 1, &given(196)).is_ok());
        let message = check(vec![need("a", 100)], 1, &given(195)).expect_err("too much").to_string();
        let wanted = "a: the simulation needs 196MiB of memory, 75MiB for blocks, 25MiB for the map, and 195MiB are \
                      available (--memory); use a smaller drive";
        assert!(
            message.contains(wanted)
                && message.ends_with(
                    "give --memory 196MiB if the machine has \
                                                               it"
                ),
            "{message}"
        );
        // Only the largest needs count, as many as run at once.
        let needs = || vec![need("a", 100), need("b", 300), need("c", 200)];
        assert!(check(needs(), 1, &given(396)).is_ok());
        let message = check(needs(), 2, &given(595)).expect_err("too much").to_string();
        assert!(message.contains("b: the simulation needs 596MiB of memory (2 runs at once)"), "{message}");
        assert!(message.contains("use fewer --jobs, a smaller"), "{message}");
        assert!(check(needs(), 2, &given(596)).is_ok());
        assert!(check(Vec::new(), 2, &given(1)).is_ok());
    }
}
