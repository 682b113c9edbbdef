//! Finds axes along which no result changes: most likely their keys have no effect.

use super::StudyOutcome;
use crate::plan::Label;
use crate::summary::Summary;

impl StudyOutcome {
    /// Warnings for a reader of the results: one for each axis along which no result changes at any point.
    #[must_use]
    pub fn warnings(&self) -> Vec<String> {
        let axes = self.plan.axes.iter().enumerate();
        let idle = axes.filter(|(axis, _)| self.is_without_effect(*axis));
        idle.map(|(_, (name, _))| {
            format!("along the axis {name} no result changes: its values have no effect on these drives and workloads")
        })
        .collect()
    }

    fn is_without_effect(&self, axis: usize) -> bool {
        let others = |point: usize| -> Vec<&Label> {
            let labels = self.labels(point).iter().enumerate();
            labels.filter(|(other, _)| *other != axis).map(|(_, label)| label).collect()
        };
        let mut pairs = 0;
        for point in 0..self.runs.len() {
            let beside = others(point);
            let Some(first) = (0..point).find(|first| others(*first) == beside) else { continue };
            pairs += 1;
            let runs = || self.runs[first].iter().zip(&self.runs[point]);
            if !runs().all(|(first, run)| results(first) == results(run)) {
                return false;
            }
        }
        pairs > 0
    }
}

/// The results of a run without the names of its device, workload and study, so that only numbers are compared.
fn results(run: &Summary) -> Summary {
    Summary { device: String::new(), workload: String::new(), ..run.clone() }
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use testkit::small::STUDY;

    use super::super::{Program, run};
    use crate::config::Document;
    use crate::plan::Plan;

    fn warnings(axis: &str) -> Vec<String> {
        let document = Document::parse(Path::new("s.toml"), format!("{STUDY}{axis}")).expect("TOML");
        let plan = Plan::new(&document).unwrap_or_else(|faults| panic!("{faults}"));
        run(plan, &Program::default(), None, &|_, _| {}).expect("it runs").warnings()
    }

    #[test]
    fn an_axis_along_which_no_result_changes_is_warned_of() {
        assert_eq!(warnings(""), [""; 0], "each axis of the study has an effect");
        // The closed loop of this study never fills a queue of 64, so longer queues change nothing.
        let axis = "[[axis]]\nname = \"long queue\"\nkey = \"device.host.queue-depth\"\nvalues = [4096, 8192]\n";
        let said = warnings(axis);
        assert!(said.len() == 1 && said[0].starts_with("along the axis long queue no result changes"), "{said:?}");
        let axis = "[[axis]]\nname = \"deep\"\nkey = \"run.limit\"\nvalues = [140, 150]\n";
        assert_eq!(warnings(axis), [""; 0]);
    }
}
