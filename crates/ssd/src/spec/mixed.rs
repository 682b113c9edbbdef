//! A RAID of drives with different descriptions: the RAID's numbers from the numbers of its drives, and the drives that
//! it cannot have.

use base::fault::{Fault, Faults};
use base::units::{Bytes, SECTOR};
use ftl::{FtlKind, PaceSpec};

use super::RaidSpec;
use super::resolve::{ResolvedDevice, ResolvedKind};

impl RaidSpec {
    /// Resolves the drives that have a description of their own.
    pub(super) fn resolved_kinds(&self, faults: &mut Faults) -> Vec<ResolvedKind> {
        let mut named = Vec::new();
        let mut kinds = Vec::new();
        for (number, kind) in self.kind.iter().enumerate() {
            let path = format!("raid.kind[{number}]");
            self.check_numbers(&kind.drives, &format!("{path}.drives"), &mut named, faults);
            let Some(spec) = &kind.spec else {
                let remedy = "open the file as a device, which reads its kinds, or write its `spec`";
                faults.add(&path, "is the name of a description and not the description", remedy);
                continue;
            };
            match spec.resolve() {
                Ok(resolved) => kinds.push(ResolvedKind { drives: kind.drives.clone(), resolved }),
                Err(found) => faults.0.extend(
                    found.into_iter().map(|fault| Fault { path: format!("{path}.spec.{}", fault.path), ..fault }),
                ),
            }
        }
        kinds
    }

    fn check_numbers(&self, drives: &[u32], path: &str, named: &mut Vec<u32>, faults: &mut Faults) {
        if drives.is_empty() {
            faults.add(path, "names no drive", "use the numbers of its drives, e.g. [1]");
        }
        for drive in drives {
            if *drive >= self.all_drives() {
                let last = self.all_drives().saturating_sub(1);
                faults.add(path, format!("there is no drive {drive}"), format!("use 0 to {last}"));
            } else if named.contains(drive) {
                faults.add(path, format!("drive {drive} is named twice"), "leave one of them out");
            }
            named.push(*drive);
        }
    }
}

impl ResolvedDevice {
    /// Checks that the RAID can have the drives with a description of their own.
    pub(super) fn check_kinds(&self, faults: &mut Faults) {
        let Some(raid) = &self.spec.raid else { return };
        for (number, kind) in self.kinds.iter().enumerate() {
            self.check_kind(raid, &kind.resolved, &format!("raid.kind[{number}]"), faults);
        }
    }

    fn check_kind(&self, raid: &RaidSpec, kind: &Self, path: &str, faults: &mut Faults) {
        let spec = &kind.spec;
        if kind.layer().is_some() {
            faults.add(path, "is no single drive", "use a device without [raid] and [translation]");
        }
        if kind.zones.is_some() {
            let message = "the drives have zones, in which nothing is written in place";
            faults.add(path, message, "use drives without zones");
        }
        if kind.slc_array.is_some() {
            faults.add(path, "the drives have an SLC array in front of the other one", "use drives with one array");
        }
        if kind.geometry.sectors != self.geometry.sectors {
            let [unit, others] = [kind, self].map(|of| SECTOR * u64::from(of.geometry.sectors));
            let message = format!("the mapping unit is {unit}, and {others} for the other drives");
            faults.add(path, message, "use drives with the same mapping unit");
        }
        if kind.host.queues.queues.len() != self.host.queues.queues.len() {
            faults.add(path, "the drives have another number of submission queues", "use the same host.queues");
        }
        if spec.ftl.discard != self.spec.ftl.discard {
            faults.add(path, "the drives keep discards differently over a power cut", "use the same ftl.discard");
        }
        if raid.collection.is_some() && (spec.ftl.kind != FtlKind::Page || spec.ftl.gc.pace != PaceSpec::Full) {
            let message = "raid.collection sets the pace of collection of drives with ftl.kind = \"page\"";
            faults.add(path, message, "leave it out, or use such drives without an ftl.gc.pace");
        }
        let size = SECTOR * (u64::from(kind.units) * u64::from(kind.geometry.sectors));
        let least = raid.journal.map_or(raid.chunk, |journal| raid.chunk.max(Bytes::new(journal.get() + (64 << 10))));
        if size < least {
            faults.add(path, format!("a drive holds {size}"), format!("use drives of at least {least}"));
        }
    }
}

#[cfg(test)]
mod tests {
    use base::fault::Fault;
    use base::units::Bytes;

    use crate::{DriveKind, RaidLevel, RaidSpec, ResolvedDevice, Spec};

    fn spec(blocks: u32) -> Spec {
        let text = format!(
            r#"name = "one"
[flash]
part = "K9K8G08U0M"
channels = 1
chips = 1
blocks = {blocks}
[ftl]
over-provisioning = "40%"
"#
        );
        toml::from_str(&text).expect("TOML")
    }

    fn raid(kinds: Vec<DriveKind>) -> Result<ResolvedDevice, Vec<Fault>> {
        let raid = RaidSpec { chunk: Bytes::new(64 << 10), kind: kinds, ..RaidSpec::new(RaidLevel::Raid5, 3) };
        Spec { raid: Some(raid), ..spec(40) }.resolve()
    }

    fn kind(drives: &[u32], spec: Spec) -> DriveKind {
        DriveKind { drives: drives.to_vec(), spec: Some(Box::new(spec)), ..DriveKind::default() }
    }

    #[test]
    fn a_raid_takes_from_each_drive_what_the_smallest_has_and_sums_up_the_flash() {
        let (small, plain) = (spec(32).resolve().expect("sound"), spec(40).resolve().expect("sound"));
        let mixed = raid(vec![kind(&[1], spec(32))]).unwrap_or_else(|faults| panic!("{faults:?}"));
        let chunks = small.capacity().bytes().get() / (64 << 10);
        assert_eq!(mixed.capacity().bytes(), Bytes::new(2 * chunks * (64 << 10)));
        assert_eq!(mixed.raw_capacity(), plain.raw_capacity() * 2 + small.raw_capacity());
        assert_eq!(mixed.table_ram(), plain.table_ram() * 2 + small.table_ram());
        let memory = |of: &ResolvedDevice| of.memory(crate::Purpose::default()).total().get();
        assert_eq!(memory(&mixed), 2 * memory(&plain) + memory(&small));
        let cost = |of: &ResolvedDevice| of.cost().total();
        assert!((cost(&mixed) - 2.0 * cost(&plain) - cost(&small)).abs() < 1e-9);
        assert_eq!([0, 1, 2].map(|drive| mixed.of_drive(drive).units), [plain.units, small.units, plain.units]);
    }

    #[test]
    fn drives_that_a_raid_cannot_have_are_refused() {
        let changed = |change: fn(&mut Spec)| {
            let mut spec = spec(40);
            change(&mut spec);
            kind(&[0], spec)
        };
        for (kinds, wanted) in [
            (vec![kind(&[3], spec(40))], "raid.kind[0].drives: there is no drive 3; use 0 to 2"),
            (vec![kind(&[], spec(40))], "raid.kind[0].drives: names no drive"),
            (vec![kind(&[1], spec(40)), kind(&[1], spec(40))], "raid.kind[1].drives: drive 1 is named twice"),
            (vec![DriveKind { drives: vec![1], ..DriveKind::default() }], "raid.kind[0]: is the name"),
            (vec![changed(|spec| spec.ftl.map_unit = Some(Bytes::new(1024)))], "the mapping unit is 1KiB, and 2KiB"),
            (vec![changed(|spec| spec.host.queues = Some(2))], "another number of submission queues"),
            (vec![changed(|spec| spec.ftl.discard = ftl::DiscardSpec::Durable)], "keep discards differently"),
            (vec![changed(|spec| spec.raid = Some(RaidSpec::new(RaidLevel::Raid1, 2)))], "is no single drive"),
            (vec![changed(|spec| spec.flash.channels = 0)], "raid.kind[0].spec.flash.channels: "),
        ] {
            let faults: Vec<String> = raid(kinds).expect_err(wanted).iter().map(ToString::to_string).collect();
            let faults = faults.join("\n");
            assert!(faults.contains(wanted), "{wanted}: {faults}");
        }
    }
}
