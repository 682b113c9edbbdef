//! The table `[ftl.fdp]` of a description, and the meaning of placement identifiers.

use base::fault::Faults;
use base::io::PlacementId;
use flash::nand::Stream;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Flexible Data Placement (FDP, NVM Express TP4146): the host says with the placement identifier of a write which data
/// belong together, and the drive writes the data of each reclaim unit handle to reclaim units of its own.
///
/// A reclaim unit is the set of superblocks that a handle has open in a reclaim group, one in each pool of the group.
/// Collection erases superblock by superblock. A group with one pool (`ftl.superblock-dies` = its dies) has reclaim
/// units of one superblock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct FdpSpec {
    /// Reclaim unit handles: 2 to 16. Samsung's PM9D3 has 8 (CacheLib with FDP, EuroSys 2025).
    pub handles: u16,
    /// Whether copies stay with their handle.
    #[serde(default)]
    pub isolation: Isolation,
    /// Reclaim groups: the dies of the array in groups of equal size, each of whole superblocks. With several groups
    /// the upper bits of a placement identifier are the number of a group, and its lower bits that of a handle: with 2
    /// groups, identifier 0x8001 is handle 1 in group 1. Identifier 0, and a write without an identifier, is handle 0
    /// in any group. PM9D3: 1.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub reclaim_groups: u32,
}

/// Whether collection keeps data of different handles apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Isolation {
    /// Initially isolated: copies of all handles share reclaim units.
    #[default]
    Initial,
    /// Persistently isolated: copies of each handle have reclaim units of their own. If a program of copies would
    /// otherwise be padded, or no superblock is free for a handle, copies of several handles share a reclaim unit, and
    /// are counted.
    Persistent,
}

impl Isolation {
    /// The isolation's name in a description.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Initial => "initial",
            Self::Persistent => "persistent",
        }
    }
}

/// The reclaim group and the handle that a placement identifier names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlacementTarget {
    /// The reclaim group; none if the drive chooses.
    pub group: Option<u32>,
    /// The number of the reclaim unit handle.
    pub handle: u16,
}

const fn one() -> u32 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref)] // Serde asks for this signature.
const fn is_one(groups: &u32) -> bool {
    *groups == 1
}

/// The most reclaim groups: as many as the upper half of an identifier can name.
const MOST_GROUPS: u32 = 1 << 8;

impl FdpSpec {
    /// A table of each kind, for the conformance suite and the swarm.
    pub const EVERY: [Self; 3] = [
        Self { handles: 3, isolation: Isolation::Initial, reclaim_groups: 1 },
        Self { handles: 3, isolation: Isolation::Persistent, reclaim_groups: 1 },
        Self { handles: 2, isolation: Isolation::Initial, reclaim_groups: 2 },
    ];

    /// The handles of the streams directive, in which an identifier is the number of a stream.
    pub(crate) const fn of_streams(streams: u16) -> Self {
        Self { handles: streams, isolation: Isolation::Initial, reclaim_groups: 1 }
    }

    /// The group and the handle that an identifier names; `None` if the drive has no such group or handle.
    #[must_use]
    pub fn target(&self, id: PlacementId) -> Option<PlacementTarget> {
        let group_bits = self.reclaim_groups.next_power_of_two().trailing_zeros();
        let handle_bits = u16::BITS - group_bits;
        let (group, handle) = (u32::from(id.get()) >> handle_bits, id.get() & u16::MAX >> group_bits);
        if group >= self.reclaim_groups || handle >= self.handles {
            return None;
        }
        Some(PlacementTarget { group: (self.reclaim_groups > 1 && id.get() != 0).then_some(group), handle })
    }

    /// Adds the faults of numbers that no array allows.
    pub(crate) fn check(&self, faults: &mut Faults) {
        faults.within("ftl.fdp.handles", u32::from(self.handles), 2..=u32::from(Stream::MOST));
        faults.within("ftl.fdp.reclaim-groups", self.reclaim_groups, 1..=MOST_GROUPS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(handles: u16, reclaim_groups: u32, id: u16) -> Option<(Option<u32>, u16)> {
        let spec = FdpSpec { handles, isolation: Isolation::Initial, reclaim_groups };
        spec.target(PlacementId::new(id)).map(|PlacementTarget { group, handle }| (group, handle))
    }

    #[test]
    fn an_identifier_of_one_group_is_a_handle() {
        assert_eq!([0, 7].map(|id| target(8, 1, id)), [Some((None, 0)), Some((None, 7))]);
        assert_eq!([8, 0x8000, 0xffff].map(|id| target(8, 1, id)), [None; 3]);
    }

    #[test]
    fn the_upper_bits_are_the_group_if_there_are_several() {
        assert_eq!(target(2, 2, 0), Some((None, 0)), "without a directive the drive chooses the group");
        assert_eq!(target(2, 2, 1), Some((Some(0), 1)));
        assert_eq!(target(2, 2, 0x8000), Some((Some(1), 0)));
        assert_eq!(target(2, 2, 0x8001), Some((Some(1), 1)));
        assert_eq!(target(2, 2, 0x8002), None, "a handle that is not there");
        assert_eq!(target(2, 3, 0x8000), Some((Some(2), 0)), "three groups take two bits");
        assert_eq!(target(2, 3, 0xc000), None, "a group that is not there");
    }

    #[test]
    fn faults_name_their_keys() {
        let faults = |spec: FdpSpec| {
            let mut faults = Faults::default();
            spec.check(&mut faults);
            faults.0.iter().map(|fault| fault.path.clone()).collect::<Vec<_>>()
        };
        assert!(FdpSpec::EVERY.iter().all(|spec| faults(*spec).is_empty()));
        let one = FdpSpec { handles: 1, isolation: Isolation::Persistent, reclaim_groups: 1 };
        assert_eq!(faults(one), ["ftl.fdp.handles"]);
        let many = FdpSpec { handles: 17, isolation: Isolation::Initial, reclaim_groups: 257 };
        assert_eq!(faults(many), ["ftl.fdp.handles", "ftl.fdp.reclaim-groups"]);
    }
}
