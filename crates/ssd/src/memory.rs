//! Estimates the memory that the simulator takes for a drive, before it allocates any.
//!
//! Each structure that grows with a description computes its bytes in a `memory` function, and this module adds them
//! up. The estimate assumes that every cache and buffer is full. It also assumes that every mapping unit is written,
//! unless [`Purpose::units`] limits them: tables take their room at once, content only for written units.
//! `crates/testkit/tests/memory.rs` compares the estimate with the real allocations. [`FIXED`] covers the memory that
//! does not depend on the description.

use base::engine::Handle;
use base::units::Bytes;
use flash::backend::Backend;
use flash::nand::{Media, Sector, Stamp};

use crate::ResolvedDevice;
use crate::buffer;
use crate::host::{Active, Overlaps, Queues};

/// Memory that does not depend on the description: above all the commands and requests under way.
const FIXED: u64 = 40 << 10;

/// Bytes for a zone of a translation, without its log.
const ZONE: u64 = 96;

/// Memory by part.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Memory {
    /// The parts and their bytes. Every part has more than zero bytes.
    pub parts: Vec<(&'static str, Bytes)>,
}

impl Memory {
    /// Adds a part, unless it has zero bytes.
    pub fn add(&mut self, name: &'static str, bytes: u64) {
        match self.parts.iter_mut().find(|(part, _)| *part == name) {
            Some((_, part)) => *part = Bytes::new(part.get().saturating_add(bytes)),
            None if bytes > 0 => self.parts.push((name, Bytes::new(bytes))),
            None => {}
        }
    }

    /// The sum of all parts.
    #[must_use]
    pub fn total(&self) -> Bytes {
        Bytes::new(self.parts.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(bytes.get())))
    }

    /// The `count` largest parts, the largest first.
    #[must_use]
    pub fn largest(&self, count: usize) -> Vec<(&'static str, Bytes)> {
        let mut parts = self.parts.clone();
        parts.sort_by_key(|(_, bytes)| std::cmp::Reverse(*bytes));
        parts.truncate(count);
        parts
    }
}

/// The use of a drive, as far as its memory depends on it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Purpose {
    /// True if every sector carries a stamp.
    pub verify: bool,
    /// True if the drive is preconditioned. Preconditioning ends with a power cycle, and its mount takes memory of its
    /// own.
    pub precondition: bool,
    /// The most mapping units that requests touch; `None` if they may touch all.
    pub units: Option<u64>,
}

impl ResolvedDevice {
    /// The memory that the simulator takes for the drive.
    #[must_use]
    pub fn memory(&self, purpose: Purpose) -> Memory {
        if purpose.verify { self.memory_of::<Stamp>(purpose) } else { self.memory_of::<()>(purpose) }
    }

    /// The memory that the simulator takes for the drive if its sectors have this content.
    #[must_use]
    pub fn memory_of<S: Sector>(&self, purpose: Purpose) -> Memory {
        self.memory_with::<S>(purpose, true)
    }

    /// The memory that the simulator takes for the drive if a backing store has the content of its flash.
    #[must_use]
    pub fn memory_of_backed<S: Sector>(&self, purpose: Purpose) -> Memory {
        self.memory_with::<S>(purpose, false)
    }

    fn memory_with<S: Sector>(&self, purpose: Purpose, has_content: bool) -> Memory {
        let mut memory = Memory::default();
        for (group, drives) in self.groups() {
            let of_drive = group.memory_of_drive::<S>(purpose, has_content);
            of_drive.parts.iter().for_each(|(what, bytes)| memory.add(what, bytes.get().saturating_mul(drives.into())));
        }
        memory
    }

    fn memory_of_drive<S: Sector>(&self, purpose: Purpose, has_content: bool) -> Memory {
        let mut memory = Memory::default();
        let media = |geometry, blocks: Option<u64>| {
            let [state, payload] = Media::memory(geometry, S::KIND);
            let payload =
                blocks.map_or(payload, |blocks| Media::memory_of_content(geometry, S::KIND, blocks).min(payload));
            [state, if has_content { payload } else { 0 }]
        };
        // A translation writes to other places than its users do, so their number of units says nothing.
        let units = purpose.units.filter(|_| self.translation.is_none());
        let blocks = units.and_then(|units| self.family.blocks_written(units));
        let [state, payload] = media(&self.geometry, blocks);
        memory.add("blocks and spare areas", state);
        memory.add("content of the flash", payload);
        memory.add("errors of the flash", Media::memory_of_errors(&self.geometry, self.backend.errors.as_deref()));
        let pages = self.family.images();
        memory.add("translation pages", Media::memory_of_images(pages.count, pages.copies, pages.entries));
        memory.add("dies and channels", Backend::memory(&self.geometry, S::KIND, &self.backend));
        if let Some(slc_array) = &self.slc_array {
            let [state, payload] = media(&slc_array.geometry, None);
            let backend = Backend::memory(&slc_array.geometry, S::KIND, &slc_array.backend);
            memory.add("SLC array", state + payload + backend);
        }
        let ftl = self.family.memory();
        memory.add("map and blocks of the FTL", ftl);
        if purpose.precondition {
            memory.add("mount at a power cycle", self.family.memory_of_mount());
        }
        if let Some(buffer) = &self.buffer {
            memory.add("write buffer", buffer::memory(buffer, S::KIND, self.geometry.sectors));
        }
        if let Some(shape) = self.translation {
            // Four bytes for each unit that users address; an address and a version for each unit of data.
            let zones = u64::from(shape.zones.zones);
            let bytes = 4 * u64::from(shape.units) + zones * (8 * u64::from(shape.data) + ZONE);
            memory.add("map and log of the translation", bytes);
        }
        memory.add("submission queues", Queues::<S>::memory(&self.host.queues));
        memory.add("overlapping requests", Overlaps::<Handle<Active<S>>>::memory(self.host.queue_depth));
        memory.add("all else", FIXED);
        memory
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Spec;

    /// The GiB that the simulator takes for a preconditioned drive of a 4-plane QLC part with this many dies.
    fn gib(chips: u32, ftl: &str) -> f64 {
        let text = format!(
            "name = 'large'\n[flash]\nchannels = 16\nchips = {chips}\ncontrollers = 'none'\n\
             custom-part = {{ like = 'intel-96l-qlc', geometry = {{ dies_per_chip = 1, pages_per_block = 3072, blocks_per_plane = 683 }} }}\n\
             [ftl]\n{ftl}\n"
        );
        let resolved = toml::from_str::<Spec>(&text).expect("a device").resolve().expect("valid");
        let purpose = Purpose { precondition: true, ..Purpose::default() };
        resolved.memory(purpose).total().get() as f64 / f64::from(1 << 30)
    }

    #[test]
    fn drives_of_30_tb_with_large_units_and_of_8_tb_with_small_ones_fit_a_workstation() {
        let large = gib(16, "map-unit = '64KiB'\ncapacity = '30_725_970_919_424B'");
        let small = gib(4, "map-unit = '4KiB'\ncapacity = '7_681_501_126_656B'");
        assert!(large < 6.0 && small < 24.0, "{large} GiB and {small} GiB");
    }

    #[test]
    fn content_takes_the_memory_of_what_is_written() {
        let text = |name: &str| crate::builtin().iter().find(|(of, _)| *of == name).expect("a device").1;
        for name in ["demo", "demo-zones"] {
            let resolved = toml::from_str::<Spec>(text(name)).expect("a device").resolve().expect("valid");
            let content = |units| {
                let memory = resolved.memory_of::<flash::nand::Bytes512>(Purpose { units, ..Purpose::default() });
                memory
                    .parts
                    .iter()
                    .find(|(part, _)| *part == "content of the flash")
                    .map_or(0, |(_, bytes)| bytes.get())
            };
            assert!(content(Some(0)) <= content(Some(1)) && content(Some(1)) < content(None) / 2, "{name}");
            assert_eq!(content(Some(u64::MAX)), content(None), "{name}");
        }
    }
}
