//! Demands of the flows of all scenarios on the drive: submission queues, a cache, and a part of the array.

use super::flow::{Class, Flow, RESOURCES, Resources, union};
use super::sheet::Sheet;
use super::xml::XmlGroup;

/// The submission queues of the flows of all scenarios.
#[derive(Clone, Debug, Default)]
pub(super) struct Queues {
    /// The class and the channels of a flow, by the number of the flow in its scenario.
    queues: Vec<(Class, Vec<u64>)>,
    caches_writes: bool,
    /// True if flows with the same number differ between scenarios.
    differ: bool,
    /// The channels, chips, dies and planes that any flow has. `None` without flows: the drive has the whole array.
    used: Option<Resources>,
}

/// The number of channels, chips, dies or planes of the drive, with its origin.
pub(super) struct Size {
    parameter: &'static str,
    whole: u64,
    pub(super) used: u64,
}

impl Size {
    pub(super) fn origin(&self) -> String {
        match self.used == self.whole {
            true => self.parameter.to_owned(),
            false => format!("{}, of which the flows use so many", self.parameter),
        }
    }
}

impl Queues {
    /// One queue, with a buffer and the whole array, for a configuration without flows.
    pub(super) fn one() -> Self {
        Self { caches_writes: true, ..Self::default() }
    }

    pub(super) fn new(scenarios: &[Vec<Flow>]) -> Self {
        let most = scenarios.iter().map(Vec::len).max().unwrap_or(0);
        let of = |number: usize| scenarios.iter().filter_map(move |flows| flows.get(number));
        let mine = |flow: &Flow| (flow.class, flow.resources[0].clone());
        let queues = (0..most).filter_map(|number| of(number).next().map(mine)).collect();
        let differ = (0..most).any(|number| of(number).any(|flow| of(number).next().map(mine) != Some(mine(flow))));
        let caches_writes = scenarios.iter().flatten().any(|flow| flow.caches_writes);
        let used = union(scenarios.iter().flatten().map(|flow| &flow.resources));
        Self { queues, caches_writes, differ, used: Some(used) }
    }

    pub(super) fn count(&self) -> usize {
        self.queues.len().max(1)
    }

    /// True if the writes of the flows go through the cache.
    pub(super) const fn caches_writes(&self) -> bool {
        self.caches_writes
    }

    /// The channels, the chips on each, the dies of a chip and the planes of a die.
    pub(super) fn sizes(&self, drive: &XmlGroup<'_, '_>, flash: &XmlGroup<'_, '_>) -> [Size; 4] {
        let examples = ["8", "4", "2", "2"];
        std::array::from_fn(|of| {
            let parameter = RESOURCES[of].1;
            let whole = if of < 2 { drive } else { flash }.count(parameter, examples[of]);
            // A flow without channels is a fault that is reported elsewhere.
            let used = self.used.as_ref().map_or(whole, |used| (used[of].len() as u64).max(1));
            Size { parameter, whole, used }
        })
    }

    pub(super) fn planes(&self, drive: &XmlGroup<'_, '_>, flash: &XmlGroup<'_, '_>) -> u64 {
        self.sizes(drive, flash).iter().fold(1_u64, |all, size| all.saturating_mul(size.used))
    }

    /// Writes the queues, each with as many outstanding commands as MQSim fetches.
    pub(super) fn write(&self, depth: u64, are_several: bool, sheet: &mut Sheet) {
        let Some(used) = self.used.as_ref().filter(|_| are_several) else {
            if self.used.is_some() {
                sheet.without("Priority_Class", "there is one queue");
            }
            if self.differ {
                let why = "the scenarios differ; the drive has all that any of them uses";
                sheet.approximated(RESOURCES[0].0, why);
            }
            return;
        };
        let is_weighted = self.queues.iter().any(|(class, _)| *class != self.queues[0].0);
        let with_weight = self.queues.iter().filter(|(class, _)| *class != Class::Urgent).count();
        if is_weighted {
            sheet.line("arbitration = \"weighted\"", "Priority_Class");
            let why = "URGENT goes first; HIGH, MEDIUM and LOW are weights of 4, 2 and 1; it orders requests, in MQSim transactions";
            sheet.approximated("Priority_Class", why);
        }
        if self.differ {
            let why = "the flows of the scenarios differ; the queues are those of the first scenario that has them";
            sheet.approximated(RESOURCES[0].0, why);
        }
        for (class, channels) in &self.queues {
            sheet.table("[[host.queue]]");
            sheet.line(&format!("depth = {}", depth.min(1 << 16)), "Queue_Fetch_Size");
            match class {
                Class::Urgent if is_weighted => sheet.line("urgent = true", "Priority_Class"),
                // If all other queues are urgent, a single queue needs no weight.
                Class::Weighted(weight) if is_weighted && with_weight > 1 => {
                    sheet.line(&format!("weight = {weight}"), "Priority_Class");
                }
                _ => {}
            }
            // The drive's channels are those that any flow uses, counted from zero.
            let mine = (0..used[0].len()).filter(|at| channels.contains(&used[0][*at]));
            if channels.len() < used[0].len() {
                let mine: Vec<String> = mine.map(|at| at.to_string()).collect();
                sheet.line(&format!("channels = [{}]", mine.join(", ")), "Channel_IDs");
            }
        }
        let why = "a queue has whole channels; parts of them are not divided between queues";
        for (name, _) in &RESOURCES[1..] {
            sheet.without(name, why);
        }
    }
}
