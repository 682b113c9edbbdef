//! The number of requests that a run will issue, as far as the study determines it.

use crate::catalogue::WorkloadFile;
use crate::plan::Point;
use crate::run::{Stop, WarmUp};

/// The number of requests of a run of this point: the requests of its warm-up and of its measurement, or all requests
/// of its described workloads. `None` if the study does not determine it: for a trace without a limit, or a run that
/// ends with time, data or steady state.
pub(super) fn requests(point: &Point) -> Option<u64> {
    let window = point.run.window();
    match (window.warm_up, window.stop) {
        (WarmUp::None, Stop::AtEnd) => point.workloads().map(described).sum(),
        (WarmUp::None, Stop::Requests(limit)) => {
            let all: Option<u64> = point.workloads().map(described).sum();
            Some(all.map_or(limit, |all| all.min(limit)))
        }
        // The workload issues requests until the run ends.
        (WarmUp::Requests(before), Stop::Requests(limit)) => Some(before.saturating_add(limit)),
        _ => None,
    }
}

/// The number of requests that a description gives.
fn described(workload: &WorkloadFile) -> Option<u64> {
    let WorkloadFile::Described(document) = workload else { return None };
    let table = document.table();
    let measures = ["warm-up", "measure", "until"].iter().any(|key| table.contains_key(*key));
    let requests = table.get("requests")?.as_integer().filter(|_| !measures)?;
    u64::try_from(requests).ok()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Document;
    use crate::plan::Plan;

    #[test]
    fn requests_are_those_that_the_run_or_the_workload_names() {
        for (run, workload, wanted) in [
            ("", "requests = 700", Some(700)),
            ("limit = 150", "requests = 700", Some(150)),
            ("limit = 900", "requests = 700", Some(700)),
            ("warm-up = 50\nlimit = 900", "requests = 700", Some(950)),
            ("measure = 900\nwarm-up = 50", "requests = 700", Some(950)),
            ("", "duration = \"1s\"", None),
            ("limit = 150", "duration = \"1s\"", Some(150)),
            ("measure = \"1s\"", "requests = 700", None),
            ("until = \"steady\"", "requests = 700", None),
        ] {
            let dir = tempfile::tempdir().expect("a directory");
            let text = format!(
                "name = \"w\"\n{workload}\narrivals = {{ kind = \"closed\", depth = 2 }}\n[[stream]]\nreads = \"50%\"\n\
                 sizes = [{{ size = \"4KiB\" }}]\naddress = {{ pattern = \"uniform\" }}\n"
            );
            std::fs::write(dir.path().join("w.toml"), text).expect("written");
            let text = format!("name = \"s\"\ndevice = \"demo\"\nworkload = \"w.toml\"\n[run]\n{run}\n");
            let document = Document::parse(&dir.path().join("s.toml"), text).expect("TOML");
            let plan = Plan::new(&document).unwrap_or_else(|faults| panic!("{faults}"));
            assert_eq!(requests(&plan.points[0]), wanted, "{run}; {workload}");
        }
        let document = Document::parse(Path::new("s.toml"), testkit::small::STUDY.to_owned()).expect("TOML");
        let plan = Plan::new(&document).unwrap_or_else(|faults| panic!("{faults}"));
        assert!(plan.points.iter().all(|point| requests(point) == Some(150)), "its limit");
    }
}
