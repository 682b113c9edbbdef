//! Tests of the faults of figures, and of the numbers that they draw.

use std::path::Path;

use super::ScoreSpec;
use crate::config::{Document, Faults};
use crate::label::Label;
use crate::metric::Metric;
use crate::plan::Plan;

const HEAD: &str = r#"name = "s"
device = "dirik-1x1"
workload = "dirik-wd"
[[axis]]
name = "banks"
key = "device.flash.chips"
values = [1, 2]
[[axis]]
name = "depth"
key = "run.depth"
values = [1, 4]
[[figure]]
number = "Fig. 1"
title = "t"
"#;

fn plan(figure: &str) -> Result<Plan, Faults> {
    let document = Document::parse(Path::new("s.toml"), format!("{HEAD}{figure}")).expect("TOML");
    Plan::new(&document)
}

#[test]
fn a_figure_names_axes_and_metrics_of_its_study() {
    let sound = r#"metrics = ["read.mean"]
along = "banks"
by = "depth"
where = { depth = 4 }
scale = "log"
paper = [{ at = { banks = 1, depth = 4 }, value = "2ms", source = "Sec. 1" }]"#;
    let figures = plan(sound).expect("sound").spec.figures;
    assert_eq!(figures[0].stated[0].bounds(&figures[0], &figures[0].metrics[0]), Some((2000.0, 2000.0)));
    for (change, to, wanted) in [
        (
            "along = \"banks\"",
            "along = \"bank\"",
            "figure[0].along: `bank` is no axis of this study; did you mean `banks`? choose one of banks, depth",
        ),
        ("by = \"depth\"", "by = \"deep\"", "figure[0].by: `deep` is no axis"),
        ("by = \"depth\"", "by = \"banks\"", "figure[0].by: is the horizontal axis too; choose another axis"),
        ("read.mean", "raed.mean", "`raed.mean` is not a metric; did you mean `read.mean`?"),
        ("[\"read.mean\"]", "[]", "figure[0].metrics: the list is empty; write e.g."),
        (
            "[\"read.mean\"]",
            "[\"read.mean\", \"write.mean\"]",
            "paper[0].metric: is no metric of the figure, or missing; choose one of read.mean, write.mean",
        ),
        ("where = { depth = 4 }", "where = { depth = 5 }", "figure[0].where.depth: has no point `5`"),
        ("depth = 4 }, value", "depth = [1, 4] }, value", "figure[0].paper[0].at: names no single point of `depth`"),
        (
            "\"2ms\"",
            "2.5",
            "figure[0].paper[0].value: gives no value, or one that the metric cannot have; write value = \"25us\"",
        ),
        ("value = \"2ms\"", "between = [\"2ms\", \"1ms\"]", "figure[0].paper[0].value: gives no value"),
        ("\"Sec. 1\"", "\"\"", "figure[0].paper[0].source: is empty"),
        (
            "scale = \"log\"",
            "per = { depth = 1 }\ngain-over = { depth = 1 }",
            "figure[0].gain-over: stands beside `per`; leave one of them out",
        ),
        ("along = \"banks\"", "", "figure[0].along: is missing; name the horizontal axis: choose one of banks, depth"),
        ("scale = \"log\"", "per-exchanged = [\"banks\", \"deep\"]", "figure[0].per-exchanged: `deep` is no axis"),
        ("scale = \"log\"", "less-than = { depth = 2 }", "figure[0].less-than.depth: has no point `2`"),
        (
            "scale = \"log\"",
            "parts = [{ name = \"p\", metric = \"commands.program\" }]",
            "figure[0].parts: stands beside `metrics`",
        ),
        (
            "metrics = [\"read.mean\"]",
            "parts = [{ name = \"p\", metric = \"commands.program\" }, { name = \"q\", metric = \"read.mean\" }]",
            "figure[0].parts[1].metric: has another dimension than `commands.program`",
        ),
        (
            "metrics = [\"read.mean\"]",
            "parts = [{ name = \"p\", metric = \"commands.program\" }]",
            "figure[0].scale: has no effect on `parts`; leave it out",
        ),
        ("metrics = [\"read.mean\"]", "erases-of = [\"slc\"]", "figure[0].along: has no effect on `erases-of`"),
        (
            "scale = \"log\"",
            "score = { over = \"depth\", unit = \"1us\", times = 300 }",
            "figure[0].score.over: is an axis that the figure draws",
        ),
        (
            "scale = \"log\"",
            "against = \"requests-per-s\"",
            "figure[0].paper: has no effect on a figure `against` a metric; leave it out",
        ),
        (
            "metrics = [\"read.mean\"]",
            "against = \"rate\"\nmetrics = [\"read.mean\", \"waf\"]",
            "figure[0].metrics[1]: has another dimension than `read.mean`; draw it in a figure of its own",
        ),
        ("scale = \"log\"", "against = \"rat\"", "`rat` is not a metric; did you mean `rate`?"),
        (
            "scale = \"log\"",
            "score = { over = \"bank\", unit = 1, times = 0 }",
            "figure[0].score.unit: is none of the metric; write a quantity of the metric",
        ),
        (
            "source = \"Sec. 1\"",
            "source = \"Sec. 1\", over = [\"1ms\"]",
            "figure[0].paper[0].over: divides a value of a figure that draws no quotient",
        ),
        (
            "source = \"Sec. 1\"",
            "source = \"Sec. 1\", name = \"another\"",
            "figure[0].paper[0].name: stands beside `at`; leave one of them out",
        ),
    ] {
        assert!(sound.contains(change), "{change}");
        let text = plan(&sound.replace(change, to)).expect_err(to).to_string();
        assert!(text.contains(wanted), "{to}:\n{text}");
    }
}

/// A mark may be the quotient of two stated values only if the figure draws a quotient, and their dimensions must equal
/// the dimensions of dividend and divisor.
#[test]
fn a_stated_value_is_divided_by_what_the_source_states_too() {
    let bounds = |figure: &str| {
        let figure = &plan(figure).unwrap_or_else(|faults| panic!("{faults}")).spec.figures[0];
        let stated = &figure.stated[0];
        (stated.bounds(figure, &figure.metrics[0]), stated.division())
    };
    let (saved, text) = bounds(
        r#"metrics = ["log.saving / log.merges"]
along = "banks"
paper = [{ at = { banks = 1 }, value = "3s", over = [1_000, 2_000], source = "Sec. 1" }]"#,
    );
    assert_eq!((saved, text.as_deref()), (Some((1000.0, 1000.0)), Some("3s by 1000 + 2000")));
    let (share, text) = bounds(
        r#"metrics = ["read.mean"]
along = "banks"
per = { banks = 2 }
paper = [{ at = { banks = 1 }, between = ["2ms", "3ms"], over = ["4ms"], source = "Sec. 1" }]"#,
    );
    assert_eq!((share, text.as_deref()), (Some((0.5, 0.75)), Some("2ms to 3ms by 4ms")));
}

#[test]
fn a_number_stands_beside_that_of_another_point() {
    let labels = ["1", "4"].map(Label::from);
    let draws = |figure: &str| {
        let plan = plan(&format!("metrics = [\"read.mean\"]\nalong = \"banks\"\n{figure}")).expect("sound");
        let relation = plan.spec.figures[0].relation().expect("one");
        let other = relation.other(["banks", "depth"].into_iter(), &labels);
        (other.iter().map(ToString::to_string).collect::<Vec<_>>().join(" "), relation.of(2.0, 8.0))
    };
    assert_eq!(draws("per = { depth = 1 }"), ("1 1".into(), Some(0.25)));
    assert_eq!(draws("gain-over = { banks = 2 }"), ("2 4".into(), Some(4.0)));
    assert_eq!(draws("less-than = { banks = 2 }"), ("2 4".into(), Some(6.0)));
    assert_eq!(draws("per-exchanged = [\"banks\", \"depth\"]"), ("4 1".into(), Some(0.25)));
}

/// Seong et al., Sec. 4.2: the score of PCMark05 is the geometric mean in MB/s, times 300.
#[test]
fn a_score_is_a_geometric_mean_times_a_number() {
    let score: ScoreSpec = toml::from_str("over = \"c\"\nunit = \"1MB/s\"\ntimes = 300").expect("a score");
    let rate: Metric = "rate".parse().expect("a metric");
    let score = |rates: &[f64]| score.of(rates, &rate);
    assert!((score(&[10e6, 40e6]).expect("a score") - 6_000.0).abs() < 1e-6);
    assert_eq!((score(&[]), score(&[0.0, 1e6])), (None, None));
}
