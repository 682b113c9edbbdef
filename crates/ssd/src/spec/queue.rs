//! Submission queues of a device file: their number, their arbitration, and the dies that their writes go to.

use std::collections::{BTreeMap, BTreeSet};

use base::io::PlacementId;
use base::units::{Bytes, DieId, SECTOR};
use flash::nand::Geometry;
use ftl::{FdpSpec, Site};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Spec;
use crate::QueueId;
use base::fault::Faults;

/// The most queues: NVM Express has queue identifiers of 16 bits, and 0 is the admin queue.
const MOST_QUEUES: usize = 65_535;

/// The order of commands that wait in several submission queues (NVM Express Base Specification 2.0, section 3.4.4,
/// "Command Arbitration").
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum QueueArbitration {
    /// All queues take turns.
    #[default]
    RoundRobin,
    /// Urgent queues go first and take turns. The other queues are served in rounds: in each round, at most as many
    /// commands are taken from a queue as its weight. NVM Express gives weights to three classes of queues; here each
    /// queue is a class of its own.
    Weighted,
}

impl QueueArbitration {
    /// All arbitrations, for the swarm.
    pub const EVERY: [Self; 2] = [Self::RoundRobin, Self::Weighted];
}

/// A submission queue: its weight, depth and dies.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default, rename_all = "kebab-case")]
pub struct QueueSpec {
    /// The weight: commands taken in each round of weighted arbitration; one if missing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub weight: Option<u32>,
    /// Urgent class of weighted arbitration: while an urgent queue has a command to offer, no command of another queue
    /// is taken.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub urgent: bool,
    /// The most commands of this queue that the device works on at once; if missing, only `queue-depth` limits them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub depth: Option<u32>,
    /// Whether reads of this queue suspend programs and erases, where the flash suspends them for host reads
    /// (`flash.suspend`); if missing, they do. Reads that do not suspend still go before programs and erases that have
    /// not begun. A read of a translation page always suspends.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// The channels that writes of this queue go to; all if neither `channels` nor `dies` is given. The data of the
    /// queue must fit there: when it does not, the device refuses further writes of the queue, as if it had become
    /// read-only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub channels: Option<Vec<u32>>,
    /// The dies that writes of this queue go to, counted channel by channel and there chip by chip; instead of
    /// `channels`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dies: Option<Vec<u32>>,
}

/// A resolved submission queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ResolvedQueue {
    /// The number of commands taken in each round of weighted arbitration.
    pub weight: u32,
    /// True if the queue's commands are taken before the commands of all queues that are not urgent.
    pub urgent: bool,
    /// The most commands of this queue that the device works on at once; `None` without a limit.
    pub depth: Option<u32>,
    /// True if the queue's reads may suspend programs and erases.
    pub suspends: bool,
    /// The NVM set that the queue's writes go to.
    pub set: u32,
}

/// The submission queues of a device and the arbitration between them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResolvedQueues {
    /// The queues; at least one.
    pub queues: Vec<ResolvedQueue>,
    /// The arbitration between the queues.
    pub arbitration: QueueArbitration,
    /// The number of commands taken from a queue per turn.
    pub burst: u32,
    /// The NVM sets in ascending order: each is a set of dies to which the writes of some queue or placement identifier
    /// are confined. The first is the whole array.
    pub sets: Vec<Vec<DieId>>,
    /// The meaning of placement identifiers, if they name reclaim groups: group 0 is set 1.
    pub placement: Option<FdpSpec>,
}

impl ResolvedQueues {
    /// The queue of this number.
    ///
    /// # Panics
    /// If the device has no such queue.
    #[must_use]
    pub fn queue(&self, queue: QueueId) -> &ResolvedQueue {
        &self.queues[queue.index()]
    }

    /// The NVM set that a write of this queue is confined to.
    #[inline(always)]
    #[allow(clippy::inline_always)] // One caller.
    pub(crate) fn set(&self, queue: QueueId, id: PlacementId) -> u32 {
        match &self.placement {
            None => self.queue(queue).set,
            Some(fdp) => fdp.target(id).and_then(|target| target.group).map_or(0, |group| group + 1),
        }
    }
}

impl Spec {
    pub(super) fn check_queues(&self, faults: &mut Faults) {
        let host = &self.host;
        faults.positive("host.burst", host.burst);
        if host.queues.is_some() && !host.queue.is_empty() {
            faults.add("host.queues", "conflicts with [[host.queue]]", "keep one of the two");
        }
        faults.positive("host.queues", host.queues.unwrap_or(1));
        let count = host.queues.map_or(host.queue.len(), |queues| queues as usize);
        if count > MOST_QUEUES {
            faults.add("host.queues", format!("{count} queues"), format!("NVM Express has at most {MOST_QUEUES}"));
        }
        let weighted = host.queue.iter().filter(|queue| !queue.urgent).count();
        for (i, queue) in host.queue.iter().enumerate() {
            let key = |name: &str| format!("host.queue[{i}].{name}");
            faults.positive(&key("weight"), queue.weight.unwrap_or(1));
            faults.positive(&key("depth"), queue.depth.unwrap_or(1));
            if queue.weight.is_some_and(|weight| weight > 1) && host.arbitration != QueueArbitration::Weighted {
                let message = "has no effect under round-robin arbitration";
                faults.add(&key("weight"), message, "set host.arbitration = \"weighted\", or leave it out");
            }
            if queue.urgent && host.arbitration != QueueArbitration::Weighted {
                let message = "has no effect under round-robin arbitration";
                faults.add(&key("urgent"), message, "set host.arbitration = \"weighted\", or leave it out");
            }
            if queue.urgent && queue.weight.is_some() {
                let message = "has no effect: the queue is urgent, and its commands are taken before all weighted ones";
                faults.add(&key("weight"), message, "leave `weight` or `urgent` out");
            }
            if !queue.urgent && queue.weight.is_some_and(|weight| weight > 1) && weighted == 1 && count > 1 {
                let message = "has no effect: every other queue is urgent";
                faults.add(&key("weight"), message, "leave it out, or give more queues a weight");
            }
            if queue.suspend.is_some() && self.flash.suspend.is_none() {
                let message = "has no effect: the flash suspends nothing";
                faults.add(&key("suspend"), message, "describe [flash.suspend], or leave it out");
            }
            if queue.channels.is_some() && queue.dies.is_some() {
                faults.add(&key("dies"), "conflicts with `channels`", "keep one of the two");
            }
            for (name, list) in [("channels", &queue.channels), ("dies", &queue.dies)] {
                if list.as_ref().is_some_and(Vec::is_empty) {
                    let message = "is empty: the queue could write to no die";
                    faults.add(&key(name), message, "name at least one, or leave it out for all of them");
                }
            }
        }
    }

    /// The queues of a device with `units` mapping units for the host.
    pub(super) fn resolved_queues(
        &self,
        site: &Site<'_>,
        geometry: &Geometry,
        units: u32,
        faults: &mut Faults,
    ) -> ResolvedQueues {
        let all: Vec<DieId> = (0..geometry.die_count()).map(DieId::new).collect();
        let mut sets = vec![all];
        let mut queues = Vec::new();
        let plain = vec![QueueSpec::default(); self.host.queues.unwrap_or(1).min(MOST_QUEUES as u32) as usize];
        let described = if self.host.queue.is_empty() { &plain } else { &self.host.queue };
        let mut known = BTreeMap::from([(sets[0].clone(), 0)]);
        for (i, queue) in described.iter().take(MOST_QUEUES).enumerate() {
            let confined = queue.channels.is_some() || queue.dies.is_some();
            let set = if confined {
                let dies = dies(queue, i, geometry, faults);
                *known.entry(dies).or_insert_with_key(|dies| {
                    sets.push(dies.clone());
                    sets.len() as u32 - 1
                })
            } else {
                0
            };
            queues.push(ResolvedQueue {
                weight: queue.weight.unwrap_or(1),
                urgent: queue.urgent,
                depth: queue.depth,
                suspends: queue.suspend.unwrap_or(true),
                set,
            });
        }
        let family = self.ftl.kind.family();
        let groups = family.reclaim_groups(site, geometry);
        let placement = self.ftl.fdp.filter(|_| !groups.is_empty());
        if placement.is_some() && self.confines() {
            let message = "has dies of its own, and so has each reclaim group of ftl.fdp";
            faults.add(
                "host.queue",
                message,
                "leave channels and dies out of [[host.queue]], or set ftl.fdp.reclaim-groups = 1",
            );
        }
        if sets.len() > 1 {
            let used: BTreeSet<u32> = queues.iter().map(|queue| queue.set).collect();
            let reached: BTreeSet<DieId> = used.iter().flat_map(|set| &sets[*set as usize]).copied().collect();
            let dies: Vec<DieId> = reached.into_iter().collect();
            let room = family.room(site, geometry, units, &dies);
            check_reach(geometry, units, dies.len(), room, faults);
        }
        sets.extend(groups);
        ResolvedQueues { queues, arbitration: self.host.arbitration, burst: self.host.burst, sets, placement }
    }
}

/// Refuses sets that together have too little room: no queue could write the rest of the addresses.
fn check_reach(geometry: &Geometry, units: u32, dies: usize, room: Option<u64>, faults: &mut Faults) {
    let Some(room) = room.filter(|room| u64::from(units) > *room) else { return };
    let unit = u64::from(geometry.sectors) * SECTOR.get();
    let message = format!(
        "all queues together write to {dies} of {} dies, which hold {}, less than the capacity of {}",
        geometry.die_count(),
        Bytes::new(room * unit),
        Bytes::new(u64::from(units) * unit)
    );
    let remedy = "give the queues more channels or dies, or raise ftl.over-provisioning";
    faults.add("host.queue", message, remedy);
}

/// The dies that a queue's writes go to.
fn dies(queue: &QueueSpec, number: usize, geometry: &Geometry, faults: &mut Faults) -> Vec<DieId> {
    let mut unknown = |name: &str, what: &str, list: &[u32], count: u32| {
        for wrong in list.iter().filter(|one| **one >= count) {
            let message = format!("there is no {what} {wrong}: the device has {count}");
            faults.add(&format!("host.queue[{number}].{name}"), message, format!("use 0 to {}", count - 1));
        }
    };
    let all = 0..geometry.die_count();
    match (&queue.channels, &queue.dies) {
        (Some(channels), _) => {
            unknown("channels", "channel", channels, geometry.channels);
            let channels: BTreeSet<u32> = channels.iter().copied().collect();
            all.map(DieId::new).filter(|die| channels.contains(&geometry.channel_of(*die).get())).collect()
        }
        (None, Some(dies)) => {
            unknown("dies", "die", dies, geometry.die_count());
            let dies: BTreeSet<u32> = dies.iter().copied().collect();
            dies.into_iter().filter(|die| all.contains(die)).map(DieId::new).collect()
        }
        (None, None) => all.map(DieId::new).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resolve(host: &str) -> Result<ResolvedQueues, Vec<base::fault::Fault>> {
        let text = format!(
            "name = \"q\"\nflash = {{ part = \"dirik-2009\", channels = 2, chips = 2, blocks = 32, pages = 16 }}\n\
             ftl = {{ over-provisioning = \"40%\" }}\n{host}"
        );
        let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{host}: {error}"));
        spec.resolve().map(|resolved| resolved.host.queues)
    }

    #[test]
    fn queues_are_given_by_number_or_as_a_list() {
        let one = resolve("").expect("sound");
        assert_eq!((one.queues.len(), one.sets.len(), one.burst), (1, 1, 1));
        assert_eq!(resolve("host = { queues = 5 }").expect("sound").queues.len(), 5);
        let written = r#"[host]
arbitration = "weighted"
[[host.queue]]
weight = 3
depth = 4
channels = [1]
[[host.queue]]
dies = [3, 2]
[[host.queue]]
channels = [0, 1]
[[host.queue]]
dies = [0]
"#;
        let queues = resolve(written).expect("sound");
        let sets: Vec<u32> = queues.queues.iter().map(|queue| queue.set).collect();
        assert_eq!(sets, [1, 1, 0, 2], "equal sets are one, and all dies are no confinement");
        assert_eq!(queues.sets[1], [DieId::new(2), DieId::new(3)]);
        assert_eq!(
            queues.queues[0],
            ResolvedQueue { weight: 3, urgent: false, depth: Some(4), suspends: true, set: 1 }
        );
    }

    #[test]
    fn each_reclaim_group_is_a_set_of_dies() {
        let drive = |ftl: &str, host: &str| {
            let text = format!(
                "name = \"f\"\nflash = {{ part = \"dirik-2009\", channels = 2, chips = 2, blocks = 32, pages = 16, controllers = \"none\" }}\n\
                 ftl = {{ over-provisioning = \"60%\", {ftl} }}\n{host}"
            );
            let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            spec.resolve().map(|resolved| resolved.host.queues)
        };
        let sets = |ftl: &str| {
            let queues = drive(ftl, "").expect("sound");
            let set = |id| queues.set(QueueId::default(), PlacementId::new(id));
            assert_eq!([0, 1, 0x8000, 0x8001, 0xc000].map(set), [0, 1, 2, 2, 0], "{ftl}");
            let numbers = |set: &Vec<DieId>| set.iter().map(|die| die.get()).collect();
            queues.sets[1..].iter().map(numbers).collect::<Vec<Vec<u32>>>()
        };
        assert_eq!(sets("fdp = { handles = 2, reclaim-groups = 2 }"), [[0, 1], [2, 3]]);
        assert_eq!(sets("superblock-dies = 2, fdp = { handles = 2, reclaim-groups = 2 }"), [[0, 2], [1, 3]]);
        let fault = |ftl: &str, host: &str| drive(ftl, host).expect_err(ftl)[0].path.clone();
        assert_eq!(fault("fdp = { handles = 2, reclaim-groups = 3 }", ""), "ftl.fdp.reclaim-groups");
        assert_eq!(fault("fdp = { handles = 2, reclaim-groups = 2 }", "[[host.queue]]\ndies = [0]\n"), "host.queue");
        let one = drive("fdp = { handles = 2 }", "[[host.queue]]\ndies = [0]\n[[host.queue]]\n").expect("one group");
        assert_eq!(one.set(QueueId::default(), PlacementId::new(1)), 1, "one group leaves the queue its dies");
    }

    #[test]
    fn faults_of_queues_are_found() {
        for (host, wanted) in [
            ("host = { queues = 0 }", "host.queues: is zero"),
            ("host = { queues = 70000 }", "at most 65535"),
            ("host = { burst = 0 }", "host.burst: is zero"),
            ("host = { queues = 2, queue = [{ }] }", "host.queues: conflicts with"),
            ("[[host.queue]]\nweight = 2", "host.queue[0].weight: has no effect under round-robin"),
            ("[[host.queue]]\nurgent = true", "host.queue[0].urgent: has no effect under round-robin"),
            (
                "[host]\narbitration = \"weighted\"\n[[host.queue]]\nurgent = true\nweight = 1\n[[host.queue]]",
                "host.queue[0].weight: has no effect: the queue is urgent",
            ),
            (
                "[host]\narbitration = \"weighted\"\n[[host.queue]]\nurgent = true\n[[host.queue]]\nurgent = true",
                "host.arbitration: has no effect here: every queue is urgent",
            ),
            (
                "[host]\narbitration = \"weighted\"\n[[host.queue]]\nurgent = true\n[[host.queue]]\nweight = 2",
                "host.queue[1].weight: has no effect: every other queue is urgent",
            ),
            ("[[host.queue]]\nweight = 0", "host.queue[0].weight: is zero"),
            ("[[host.queue]]\ndepth = 0", "host.queue[0].depth: is zero"),
            ("[[host.queue]]\nsuspend = false", "host.queue[0].suspend: has no effect: the flash suspends nothing"),
            ("[[host.queue]]\n[[host.queue]]\nchannels = [2]", "host.queue[1].channels: there is no channel 2"),
            ("[[host.queue]]\ndies = [0, 9]", "host.queue[0].dies: there is no die 9: the device has 4; use 0 to 3"),
            ("[[host.queue]]\ndies = []", "host.queue[0].dies: is empty"),
            ("[[host.queue]]\ndies = [0]\nchannels = [0]", "host.queue[0].dies: conflicts with `channels`"),
            ("[[host.queue]]\ndies = [0, 1]", "host.queue: all queues together write to 2 of 4 dies"),
        ] {
            let faults = resolve(host).expect_err(host).into_iter();
            let faults: Vec<_> = faults.map(|f| format!("{}: {}; {}", f.path, f.message, f.remedy)).collect();
            assert!(faults.iter().any(|fault| fault.contains(wanted)), "{host}: {faults:?}");
        }
    }
}
