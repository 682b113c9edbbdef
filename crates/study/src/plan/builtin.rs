//! The studies that come with Flashloom.

/// One file per study. A new study is a new file and a line here; its name begins with the paper's name.
const BUILTIN: &[(&str, &str)] = &[
    ("chang/buckets", include_str!("../../studies/chang/buckets.toml")),
    ("chang/density", include_str!("../../studies/chang/density.toml")),
    ("chang/hash", include_str!("../../studies/chang/hash.toml")),
    ("chang/model", include_str!("../../studies/chang/model.toml")),
    ("chang/pass", include_str!("../../studies/chang/pass.toml")),
    ("chang/replay", include_str!("../../studies/chang/replay.toml")),
    ("chang/saturation", include_str!("../../studies/chang/saturation.toml")),
    ("chang/sizes", include_str!("../../studies/chang/sizes.toml")),
    ("chang/small-log", include_str!("../../studies/chang/small-log.toml")),
    ("chang/throttle", include_str!("../../studies/chang/throttle.toml")),
    ("chang/traces", include_str!("../../studies/chang/traces.toml")),
    ("chang/wear", include_str!("../../studies/chang/wear.toml")),
    ("dirik/bus", include_str!("../../studies/dirik/bus.toml")),
    ("dirik/channels", include_str!("../../studies/dirik/channels.toml")),
    ("dirik/concurrency", include_str!("../../studies/dirik/concurrency.toml")),
    ("dirik/fixed-bandwidth", include_str!("../../studies/dirik/fixed-bandwidth.toml")),
    ("dirik/orthogonal", include_str!("../../studies/dirik/orthogonal.toml")),
    ("dirik/pair", include_str!("../../studies/dirik/pair.toml")),
    ("dirik/priority", include_str!("../../studies/dirik/priority.toml")),
    ("dirik/single", include_str!("../../studies/dirik/single.toml")),
    ("fmmu/agreement", include_str!("../../studies/fmmu/agreement.toml")),
    ("fmmu/associativity", include_str!("../../studies/fmmu/associativity.toml")),
    ("fmmu/capacity", include_str!("../../studies/fmmu/capacity.toml")),
    ("fmmu/channels", include_str!("../../studies/fmmu/channels.toml")),
    ("fmmu/chop", include_str!("../../studies/fmmu/chop.toml")),
    ("fmmu/collection", include_str!("../../studies/fmmu/collection.toml")),
    ("fmmu/flush", include_str!("../../studies/fmmu/flush.toml")),
    ("fmmu/footprint", include_str!("../../studies/fmmu/footprint.toml")),
    ("fmmu/packing", include_str!("../../studies/fmmu/packing.toml")),
    ("fmmu/scalability", include_str!("../../studies/fmmu/scalability.toml")),
    ("fmmu/scan", include_str!("../../studies/fmmu/scan.toml")),
    ("fmmu/synthetic", include_str!("../../studies/fmmu/synthetic.toml")),
    ("fmmu/traces", include_str!("../../studies/fmmu/traces.toml")),
    ("hydra/buffer", include_str!("../../studies/hydra/buffer.toml")),
    ("hydra/calibration", include_str!("../../studies/hydra/calibration.toml")),
    ("hydra/ceilings", include_str!("../../studies/hydra/ceilings.toml")),
    ("hydra/degrees", include_str!("../../studies/hydra/degrees.toml")),
    ("hydra/energy", include_str!("../../studies/hydra/energy.toml")),
    ("hydra/flush", include_str!("../../studies/hydra/flush.toml")),
    ("hydra/interleave", include_str!("../../studies/hydra/interleave.toml")),
    ("hydra/iometer", include_str!("../../studies/hydra/iometer.toml")),
    ("hydra/priority", include_str!("../../studies/hydra/priority.toml")),
    ("hydra/processor", include_str!("../../studies/hydra/processor.toml")),
    ("hydra/score", include_str!("../../studies/hydra/score.toml")),
    ("hydra/tpcc", include_str!("../../studies/hydra/tpcc.toml")),
    ("hydra/units", include_str!("../../studies/hydra/units.toml")),
    ("hydra/wear", include_str!("../../studies/hydra/wear.toml")),
    ("mix/mount", include_str!("../../studies/mix/mount.toml")),
    ("mix/parents", include_str!("../../studies/mix/parents.toml")),
    ("mix/traces", include_str!("../../studies/mix/traces.toml")),
    ("sung/baseline", include_str!("../../studies/sung/baseline.toml")),
    ("sung/freedom", include_str!("../../studies/sung/freedom.toml")),
    ("sung/load", include_str!("../../studies/sung/load.toml")),
    ("sung/merges", include_str!("../../studies/sung/merges.toml")),
    ("sung/spread", include_str!("../../studies/sung/spread.toml")),
    ("sung/traces", include_str!("../../studies/sung/traces.toml")),
    ("today/collection", include_str!("../../studies/today/collection.toml")),
    ("today/fdp", include_str!("../../studies/today/fdp.toml")),
    ("today/host-memory", include_str!("../../studies/today/host-memory.toml")),
    ("today/large", include_str!("../../studies/today/large.toml")),
    ("today/placement", include_str!("../../studies/today/placement.toml")),
    ("today/raid", include_str!("../../studies/today/raid.toml")),
    ("today/rated", include_str!("../../studies/today/rated.toml")),
    ("today/reads", include_str!("../../studies/today/reads.toml")),
    ("today/slc-cliff", include_str!("../../studies/today/slc-cliff.toml")),
    ("today/steady-writes", include_str!("../../studies/today/steady-writes.toml")),
    ("today/suspend", include_str!("../../studies/today/suspend.toml")),
];

/// The name and the text of every study under `studies/`, by name.
#[must_use]
pub const fn builtin() -> &'static [(&'static str, &'static str)] {
    BUILTIN
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::config::Document;
    use crate::plan::{Assignment, Label, OneOrMany, Plan};

    #[test]
    fn every_study_can_be_planned_and_has_a_claim() {
        for (name, text) in builtin() {
            let document = Document::parse(Path::new(name), (*text).to_owned()).expect(name);
            let plan = Plan::new(&document).unwrap_or_else(|faults| panic!("{faults}"));
            assert_eq!(plan.spec.name, *name);
            assert!(!plan.spec.claims.is_empty() && !plan.spec.metrics.is_empty(), "{name}");
            let of = |paper: &str, id: &str| {
                name.starts_with(paper) && plan.spec.claims.iter().all(|c| c.id.starts_with(id))
            };
            let papers = [
                ("chang/", "CH"),
                ("dirik/", "DJ"),
                ("fmmu/", "FM"),
                ("hydra/", "HY"),
                ("mix/", "MX"),
                ("sung/", "SU"),
                ("today/", "TD"),
            ];
            assert!(papers.into_iter().any(|(paper, id)| of(paper, id)), "{name}: claims of another paper");
        }
        assert!(builtin().is_sorted_by_key(|(name, _)| *name));
    }

    #[test]
    fn every_claim_of_a_paper_is_in_a_study() {
        let ids = |paper, most| (1..=most).map(move |n| format!("id = \"{paper}{n}\""));
        let papers = [("CH", 14), ("DJ", 17), ("FM", 11), ("HY", 20), ("MX", 7), ("SU", 10), ("TD", 30)];
        let mut ids = papers.into_iter().flat_map(|(paper, most)| ids(paper, most)).collect::<Vec<_>>();
        ids.retain(|id| builtin().iter().all(|(_, text)| !text.contains(id)));
        assert_eq!(ids, [""; 0], "missing");
    }

    /// Checks that a figure has no gap that its study could fill, and no mark without a measured number beside it.
    #[test]
    fn figures_draw_points_that_run_and_marks_cite_the_text() {
        let mut figures = 0;
        for (name, text) in builtin() {
            let document = Document::parse(Path::new(name), (*text).to_owned()).expect(name);
            let plan = Plan::new(&document).unwrap_or_else(|faults| panic!("{faults}"));
            let axes = || plan.axes.iter().map(|(name, _)| name.as_str());
            let all: Vec<&[Label]> = plan.points.iter().map(|point| &*point.labels).collect();
            let within = |of: &Assignment, labels: &[Label]| {
                axes().zip(labels).all(|(axis, label)| of.get(axis).is_none_or(|of| of.labels().contains(label)))
            };
            for figure in &plan.spec.figures {
                figures += 1;
                let at = format!("{name}, {}", figure.number);
                let shown: Vec<&[Label]> =
                    all.iter().copied().filter(|labels| within(&figure.filter, labels)).collect();
                assert!(!shown.is_empty(), "{at}: no point runs");
                for labels in figure.filter.values().flat_map(OneOrMany::labels) {
                    assert!(shown.iter().any(|point| point.contains(labels)), "{at}: {labels} does not run");
                }
                for labels in &shown {
                    let other = figure.relation().map(|relation| relation.other(axes(), labels));
                    assert!(other.is_none_or(|other| all.contains(&&*other)), "{at}: nothing beside {labels:?}");
                }
                for stated in &figure.stated {
                    let cites = ["Sec. ", "Abstract", "Table "].iter().any(|place| stated.source.starts_with(place));
                    assert!(cites, "{at}: `{}` names no place of the text", stated.source);
                    let is_there = shown.iter().any(|labels| within(&stated.at, labels));
                    assert!(is_there, "{at}: nothing was measured at {:?}", stated.at);
                }
            }
        }
        assert!(figures > 50, "{figures}");
    }

    /// The papers for which every claim must state its sharpness and the numbers to which it was fitted.
    const SHARP: [&str; 5] = ["chang/", "dirik/", "fmmu/", "hydra/", "sung/"];

    #[test]
    fn claims_say_what_they_ask_for_and_what_isolates_their_reasons() {
        let studies = builtin().iter().filter(|(name, _)| SHARP.iter().any(|paper| name.starts_with(paper)));
        let plan = |(name, text): &(&str, &str)| {
            let document = Document::parse(Path::new(name), (*text).to_owned()).expect("TOML");
            Plan::new(&document).unwrap_or_else(|faults| panic!("{faults}"))
        };
        let claims: Vec<_> = studies.flat_map(|study| plan(study).spec.claims).collect();
        for claim in claims.iter().filter(|claim| !claim.expectations.is_empty()) {
            assert!(claim.calibrated.is_some(), "{}: what its inputs were fitted to", claim.id);
            for expectation in &claim.expectations {
                assert!(!expectation.sharpness().loose, "{}, {}: is loose", claim.id, expectation.paper);
            }
            let is_explained = claim.expectations.iter().any(|expectation| expectation.known.is_some());
            let is_isolated = claims.iter().any(|other| other.id == claim.id && !other.isolations.is_empty());
            assert!(!is_explained || is_isolated, "{}: no measurement isolates its reason", claim.id);
        }
    }
}
