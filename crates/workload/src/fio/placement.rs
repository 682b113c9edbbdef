//! Placement identifiers: fio's options for Flexible Data Placement, streams and write hints.
//!
//! fio's `plids` are indices of the drive's placement handles, or numbers of its streams. Both are placement
//! identifiers here. A write hint is the identifier given by its position in the list of hints.

use super::reader::Reader;
use super::value::whole;
use crate::generate::PlacementIds;

/// Write hints. The position in the list is the placement identifier.
const HINTS: [&str; 5] = ["none", "short", "medium", "long", "extreme"];
/// The most identifiers of a job.
const MOST: usize = 2048;

impl Reader<'_> {
    /// The placement identifiers of the job's writes.
    pub(super) fn placement(&mut self, has_writes: bool) -> Option<PlacementIds> {
        let hint = self.value("write_hint", "none, short, medium, long or extreme", hint, 0);
        let kinds = "none, fdp or streams";
        let is_kind = |text: &str| ["none", "fdp", "streams"].contains(&text.trim()).then(|| text.trim() != "none");
        let has_directive = self.flag("fdp") | self.value("dataplacement", kinds, is_kind, false);
        let ids = self.value("plids", "a list of numbers and ranges, such as 1,3-5", |text| ids(text).map(Some), None);
        let round_robin = |text: &str| (text.trim() == "roundrobin").then_some(());
        self.value("plid_select", "roundrobin, the only order that is supported", round_robin, ());
        let given = ["fdp", "dataplacement", "plids", "plid_select", "write_hint"];
        if !has_directive {
            if self.job.get("plids").is_some() {
                self.remark(&["plids"], "has no effect here; it counts with fdp=1 or dataplacement=streams only");
            }
            return (hint > 0 && self.is_written(has_writes, &["write_hint"])).then(|| PlacementIds::new(vec![hint]));
        }
        if hint > 0 {
            let message = "a write carries one placement identifier, and `plids` gives it already";
            self.fault("write_hint", message, "delete it, or delete fdp and dataplacement");
        }
        if ids.is_none() && self.job.get("plids").is_none() {
            let key = if self.job.get("fdp").is_some() { "fdp" } else { "dataplacement" };
            let message = "fio would use all handles of the drive, whose number a workload does not know";
            self.fault(key, message, "write the identifiers, e.g. plids=1 or plids=0-7");
        }
        ids.filter(|_| self.is_written(has_writes, &given)).map(PlacementIds::new)
    }

    /// True if the job writes. If not, notes that the identifiers of `keys` have no effect.
    fn is_written(&mut self, has_writes: bool, keys: &[&str]) -> bool {
        if !has_writes {
            self.remark(keys, "has no effect here; the job has no writes, and other requests carry no identifier");
        }
        has_writes
    }
}

fn hint(text: &str) -> Option<u16> {
    HINTS.iter().position(|hint| *hint == text.trim()).map(|place| place as u16)
}

/// Parses a list of numbers and ranges.
fn ids(text: &str) -> Option<Vec<u16>> {
    let number = |text: &str| whole(text).and_then(|number| u16::try_from(number).ok());
    let mut all = Vec::new();
    for part in text.split([',', ':']) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        if first > last {
            return None;
        }
        all.extend(first..=last);
    }
    (all.len() <= MOST).then_some(all)
}
