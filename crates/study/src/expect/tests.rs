//! Tests of every condition, once true and once false.

use super::*;
use crate::config::Document;

/// The axes of a study: response times of drives old and new with 1, 2, 4 and 8 banks.
fn axes() -> Vec<(String, Vec<Label>)> {
    let labels = |all: &[&str]| all.iter().map(|label| Label::from(*label)).collect();
    vec![("drive".into(), labels(&["old", "new"])), ("banks".into(), labels(&["1", "2", "4", "8"]))]
}

const TIMES: [(&str, [f64; 4]); 2] = [("old", [16.0, 8.0, 4.0, 3.9]), ("new", [10.0, 4.0, 2.0, 2.1])];

fn judge(expectation: &str) -> Judgement {
    let axes = axes();
    let points = TIMES.iter().flat_map(|(drive, times)| {
        let label =
            |(banks, time): (&&str, &f64)| (vec![Label::from(*drive), Label::from(*banks)], Some(time * 1000.0));
        ["1", "2", "4", "8"].iter().zip(times).map(label).collect::<Vec<_>>()
    });
    let spec = parse(expectation);
    assert!(spec.faults(&axes).is_empty(), "{:?}", spec.faults(&axes));
    spec.judge(&Values::new(&axes, spec.metric.dimension(), points))
}

pub(super) fn parse(expectation: &str) -> ExpectSpec {
    let text = format!("metric = \"read.mean\"\n{expectation}");
    Document::parse("e.toml".as_ref(), text).and_then(|document| document.decode()).expect("sound")
}

fn holds(expectation: &str, measured: &str) {
    let judgement = judge(expectation);
    assert!(judgement.holds, "{expectation}: {judgement:?}");
    assert_eq!(judgement.measured, measured, "{expectation}");
}

fn fails(expectation: &str, offenders: &[&str]) {
    let judgement = judge(expectation);
    assert!(!judgement.holds, "{expectation}: {judgement:?}");
    assert_eq!(judgement.offenders, offenders, "{expectation}");
}

#[test]
fn an_expected_range_holds_or_fails() {
    holds("where = { drive = \"new\" }\nwithin = { between = [\"2ms\", \"10ms\"] }", "2.00ms to 10.0ms");
    holds("where = { drive = \"new\", banks = 4 }\nwithin = { value = \"2.1ms\", tolerance = \"5%\" }", "2.00ms");
    fails("where = { banks = [1, 2] }\nwithin = { between = [\"0ms\", \"10ms\"] }", &["drive old, banks 1: 16.0ms"]);
    holds("bounded = { most = \"16ms\" }", "2.00ms to 16.0ms");
    fails("where = { drive = \"old\" }\nbounded = { least = \"4ms\" }", &["drive old, banks 8: 3.90ms"]);
}

#[test]
fn a_ratio_is_taken_in_each_combination_of_the_other_axes() {
    holds("ratio = { at = { banks = 2 }, to = { banks = 1 }, between = [0.4, 0.5] }", "-60% to -50%");
    fails(
        "ratio = { at = { banks = 2 }, to = { banks = 1 }, between = [0.45, 0.5] }",
        &["drive new: -60% (10.0ms to 4.00ms)"],
    );
    holds(
        "ratio = { at = { banks = 1, drive = \"old\" }, to = { banks = 8, drive = \"new\" }, between = [7, 8] }",
        "x7.62",
    );
}

#[test]
fn a_difference_is_taken_in_each_combination_of_the_other_axes() {
    holds("difference = { at = { banks = 1 }, to = { banks = 2 }, between = [\"6ms\", \"8ms\"] }", "6.00ms to 8.00ms");
    holds(
        "per = { banks = 1 }\ndifference = { at = { banks = 1 }, to = { banks = 2 }, between = [0.5, 0.6] }",
        "0.50 to 0.60",
    );
    fails(
        "difference = { at = { banks = 1 }, to = { banks = 2 }, between = [\"0ms\", \"7ms\"] }",
        &["drive old: 8.00ms (16.0ms less 8.00ms)"],
    );
    let wrong = "difference = { at = { banks = 1 }, to = { banks = 2 }, between = [\"2ms\", \"1ms\"] }";
    assert_eq!(parse(wrong).faults(&axes())[0].path, "difference.between");
}

#[test]
fn monotonic_and_saturates_hold_or_fail() {
    holds(
        "where = { drive = \"old\" }\nmonotonic = { along = \"banks\", direction = \"falls\" }",
        "16.0ms, 8.00ms, 4.00ms, 3.90ms",
    );
    fails("monotonic = { along = \"banks\", direction = \"falls\" }", &["drive new: 10.0ms, 4.00ms, 2.00ms, 2.10ms"]);
    holds("monotonic = { along = \"banks\", direction = \"falls\", slack = \"5%\" }", "steps -60% to +5.0%");
    fails(
        "where = { drive = \"old\" }\nmonotonic = { along = \"banks\", direction = \"rises\" }",
        &["drive old: 16.0ms, 8.00ms, 4.00ms, 3.90ms"],
    );
    holds(
        "saturates = { along = \"banks\", from = 4, within = \"6%\", before = \"75%\" }",
        "-80% to -75% up to 4, -2.5% to +5.0% beyond",
    );
    fails(
        "saturates = { along = \"banks\", from = 4, within = \"3%\" }",
        &["drive new: 10.0ms, 4.00ms, 2.00ms, 2.10ms"],
    );
    fails(
        "where = { drive = \"old\" }\nsaturates = { along = \"banks\", from = 4, within = \"5%\", before = \"80%\" }",
        &["drive old: 16.0ms, 8.00ms, 4.00ms, 3.90ms"],
    );
}

#[test]
fn equal_and_order_hold_or_fail() {
    holds("where = { banks = [4, 8] }\nequal = { along = \"banks\", within = \"6%\" }", "within 2.6% to 5.0%");
    fails("where = { banks = [4, 8] }\nequal = { within = \"5%\" }", &["4.00ms, 3.90ms, 2.00ms, 2.10ms"]);
    holds("where = { banks = 8 }\norder = { of = [{ drive = \"new\" }, { drive = \"old\" }] }", "2.10ms < 3.90ms");
    fails(
        "order = { of = [{ drive = \"new\" }, { drive = \"old\" }], by = \"100%\" }",
        &["banks 1: 10.0ms, 16.0ms", "banks 2: 4.00ms, 8.00ms", "banks 4: 2.00ms, 4.00ms", "banks 8: 2.10ms, 3.90ms"],
    );
}

#[test]
fn per_divides_numbers_by_those_of_a_reference_point() {
    let per = "per = { banks = 1 }\nwhere = { banks = [2, 4, 8] }\n";
    holds(&format!("{per}bounded = {{ most = 0.5 }}"), "0.20 to 0.50");
    holds("per = { drive = \"old\" }\nwhere = { drive = \"new\" }\nwithin = { between = [0.4, 0.7] }", "0.50 to 0.62");
}

#[test]
fn linear_holds_or_fails() {
    // Four banks are 3/7 of the way from one to eight: 10.81 ms on the line, which deviates by 56.3 % of the whole
    // fall.
    fails(
        "linear = { along = \"banks\", direction = \"falls\", within = \"50%\" }",
        &["drive old: 16.0ms, 8.00ms, 4.00ms, 3.90ms", "drive new: 10.0ms, 4.00ms, 2.00ms, 2.10ms"],
    );
    holds(
        "where = { drive = \"old\" }\nlinear = { along = \"banks\", direction = \"falls\", within = \"57%\" }",
        "-76%, 56.3% off the line",
    );
    fails(
        "where = { drive = \"old\" }\nlinear = { along = \"banks\", direction = \"rises\", within = \"57%\" }",
        &["drive old: 16.0ms, 8.00ms, 4.00ms, 3.90ms"],
    );
    fails(
        "where = { drive = \"old\", banks = [1, 8] }\nlinear = { along = \"banks\", direction = \"falls\", within = \"0%\" }",
        &["drive old: 16.0ms, 3.90ms"],
    );
}

#[test]
fn a_geometric_mean_replaces_the_points_of_its_axis() {
    let mean = "geomean = \"banks\"\nwhere = { banks = [1, 2, 4] }\n";
    // The cube roots of 16 x 8 x 4 and of 10 x 4 x 2.
    holds(&format!("{mean}within = {{ between = [\"4.3ms\", \"8.1ms\"] }}"), "4.31ms to 8.00ms");
    holds(
        &format!("{mean}ratio = {{ at = {{ drive = \"new\" }}, to = {{ drive = \"old\" }}, between = [0.5, 0.6] }}"),
        "-46%",
    );
    fails(&format!("{mean}bounded = {{ most = \"5ms\" }}"), &["drive old: 8.00ms"]);
    holds(
        "geomean = \"banks\"\nper = { drive = \"old\" }\nwhere = { drive = \"new\" }\nwithin = { between = [0.5, 0.6] }",
        "0.54",
    );
}

#[test]
fn a_combination_that_lacks_a_point_has_no_mean() {
    let axes = axes();
    let spec = parse("geomean = \"banks\"\nbounded = { least = \"1us\" }");
    let point = |drive: &str, banks: &str, time: f64| (vec![Label::from(drive), Label::from(banks)], Some(time));
    let points = [point("old", "1", 2.0), point("old", "2", 8.0), point("new", "1", 9.0)];
    assert_eq!(spec.judge(&Values::new(&axes, Dimension::Time, points)).measured, "4.00us");
    let zero = [point("old", "1", 0.0), point("old", "2", -8.0)];
    assert!(!spec.judge(&Values::new(&axes, Dimension::Time, zero)).holds, "there is no mean of these");
}

#[test]
fn an_expectation_without_points_fails() {
    let axes = axes();
    let conditions = [
        "bounded = { most = \"1s\" }",
        "ratio = { at = { banks = 2 }, to = { banks = 1 }, between = [0, 9] }",
        "monotonic = { along = \"banks\", direction = \"falls\" }",
        "saturates = { along = \"banks\", from = 4, within = \"5%\" }",
        "equal = { within = \"5%\" }",
        "linear = { along = \"banks\", direction = \"rises\", within = \"5%\" }",
        "order = { of = [{ banks = 1 }, { banks = 2 }] }",
        "geomean = \"drive\"\nbounded = { most = \"1s\" }",
    ];
    for condition in conditions {
        let spec = parse(condition);
        assert!(!spec.judge(&Values::new(&axes, Dimension::Time, Vec::new())).holds, "{condition}");
        let one = (vec![Label::from("old"), Label::from("1")], Some(f64::NAN));
        assert!(!spec.judge(&Values::new(&axes, Dimension::Time, [one])).holds, "{condition}");
    }
    // A single point has no direction, and no other point to equal.
    let one = (vec![Label::from("old"), Label::from("1")], Some(1.0));
    for condition in &conditions[2..6] {
        assert!(!parse(condition).judge(&Values::new(&axes, Dimension::Time, [one.clone()])).holds, "{condition}");
    }
}

#[test]
fn faults_of_expectations_are_found() {
    let wrong = [
        ("", "metric"),
        ("equal = { within = \"5%\" }\nbounded = { most = \"1s\" }", "metric"),
        ("within = { between = [2, 8] }", "within"),
        ("within = { value = \"2ms\" }", "within"),
        ("within = { between = [\"8ms\", \"2ms\"] }", "within"),
        ("bounded = {}", "bounded"),
        ("monotonic = { along = \"chips\", direction = \"falls\" }", "monotonic.along"),
        ("saturates = { along = \"banks\", from = 3, within = \"5%\" }", "saturates.from"),
        ("ratio = { at = { banks = 1 }, to = { banks = 2 }, between = [2, 1] }", "ratio.between"),
        ("order = { of = [{ banks = 1 }] }", "order.of"),
        ("linear = { along = \"chips\", direction = \"falls\", within = \"5%\" }", "linear.along"),
        ("linear = { along = \"drive\", direction = \"falls\", within = \"5%\" }", "linear.along"),
        ("geomean = \"chips\"\nbounded = { most = \"1s\" }", "geomean"),
        ("geomean = \"banks\"\nmonotonic = { along = \"banks\", direction = \"falls\" }", "geomean"),
        ("geomean = \"drive\"\norder = { of = [{ drive = \"new\" }, { drive = \"old\" }] }", "geomean"),
    ];
    for (text, key) in wrong {
        let faults = parse(text).faults(&axes());
        assert_eq!(faults.iter().map(|fault| fault.path.as_str()).collect::<Vec<_>>(), [key], "{text}");
    }
}
