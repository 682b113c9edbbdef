//! Tests with faulty files as users write them.

use base::units::{Bytes, Ratio, Span};
use schemars::JsonSchema;
use serde::Deserialize;

use super::*;

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
struct Device {
    name: String,
    #[serde(default)]
    depth: Option<u32>,
    flash: Flash,
    gc: Gc,
    #[serde(default)]
    tenants: Vec<Tenant>,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
struct Flash {
    page_size: Bytes,
    read: Span,
    program: Span,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
enum Gc {
    Greedy { threshold: Ratio },
    CostBenefit { threshold: Ratio, age: Span },
    Random,
}

#[derive(Debug, Deserialize, JsonSchema, PartialEq)]
#[serde(deny_unknown_fields)]
struct Tenant {
    share: Ratio,
}

const GOOD: &str = r#"name = "x"
depth = 32
[flash]
page_size = "4KiB"
read = "25us"
program = "200us"
[gc]
policy = "greedy"
threshold = "5%"
[[tenants]]
share = "50%"
[[tenants]]
share = "30%"
"#;

fn faults(source: &str) -> Vec<String> {
    let decoded = Document::parse(Path::new("d.toml"), source.into()).and_then(|document| document.decode::<Device>());
    decoded.expect_err("it is faulty").0.iter().map(ToString::to_string).collect()
}

fn fault_of(from: &str, to: &str) -> String {
    assert!(GOOD.contains(from));
    let all = faults(&GOOD.replace(from, to));
    assert_eq!(all.len(), 1, "{all:#?}");
    all[0].clone()
}

#[test]
fn a_valid_file_is_read() {
    let document = Document::parse(Path::new("d.toml"), GOOD.into()).expect("TOML");
    assert_eq!(document.decode::<Device>().expect("a device").depth, Some(32));
}

#[test]
fn a_misspelt_key_is_refused_with_a_suggestion() {
    assert_eq!(fault_of("depth = 32", "detph = 32"), "d.toml:2: detph: is not a known key; did you mean `depth`?");
    assert_eq!(
        fault_of("depth = 32", "colour = 32"),
        "d.toml:2: colour: is not a known key; the keys here are `depth`, `flash`, `gc`, `name`, `tenants`"
    );
}

#[test]
fn a_number_without_its_unit_is_refused_with_the_right_notation() {
    let text = fault_of("\"25us\"", "25");
    assert!(text.starts_with("d.toml:5: flash.read: `25` has no unit; a time is written as text"), "{text}");
    let text = fault_of("\"25us\"", "\"25 parsec\"");
    assert!(text.starts_with("d.toml:5: flash.read: `25 parsec` is not a time; write a number"), "{text}");
}

#[test]
fn a_wrong_value_inside_a_tagged_enum_is_found() {
    let text = fault_of("\"5%\"", "\"5\"");
    assert!(text.starts_with("d.toml:9: gc.threshold: `5` is not a share; write a number"), "{text}");
    assert_eq!(
        fault_of("\"greedy\"", "\"greeedy\""),
        "d.toml:8: gc.policy: `greeedy` is not one of its values; did you mean `greedy`? \
         Use one of `greedy`, `cost-benefit`, `random`"
    );
    assert_eq!(
        fault_of("threshold = \"5%\"", "threshold = \"5%\"\ntreshold = \"5%\""),
        "d.toml:10: gc.treshold: is not a known key; did you mean `threshold`?"
    );
}

#[test]
fn a_key_that_a_choice_without_keys_does_not_have_is_found() {
    let text = GOOD.replace("\"greedy\"\nthreshold = \"5%\"", "\"random\"\nthreshold = \"5%\"");
    assert_eq!(faults(&text), ["d.toml:9: gc.threshold: is not a known key; the keys here are `policy`"]);
    let text = text.replace("threshold = \"5%\"\n", "");
    let document = Document::parse(Path::new("d.toml"), text).expect("TOML");
    assert_eq!(document.decode::<Device>().expect("a device").gc, Gc::Random);
}

#[test]
fn a_missing_key_is_named() {
    assert_eq!(
        fault_of("read = \"25us\"\n", ""),
        "d.toml:3: flash.read: is missing; add it, e.g. read = \"25us\"; `flashloom schema` lists all keys"
    );
    assert!(fault_of("name = \"x\"\n", "").starts_with("d.toml: name: is missing"));
}

#[test]
fn all_faults_are_reported_at_once_in_the_order_of_their_lines() {
    let source = GOOD
        .replace("depth = 32", "depth = -1")
        .replace("page_size", "pagesize")
        .replace("\"200us\"", "200")
        .replace("\"5%\"", "\"much\"")
        .replace("share = \"30%\"", "share = 30");
    let all = faults(&source);
    let places: Vec<_> = all.iter().map(|text| text.split(": ").take(2).collect::<Vec<_>>().join(" ")).collect();
    // A required key with a misspelt name counts as one fault, not two.
    let wanted = ["d.toml:2 depth", "d.toml:4 flash.pagesize", "d.toml:6 flash.program", "d.toml:9 gc.threshold"];
    assert!(all[0].contains("`-1` is not a whole number from 0 to 4294967295; write e.g. depth = 8"), "{all:#?}");
    assert_eq!(places[..4], wanted, "{all:#?}");
    assert_eq!(places[4..], ["d.toml:13 tenants[1].share"], "{all:#?}");
}

#[test]
fn broken_toml_is_one_fault_with_its_line() {
    let text = fault_of("read = \"25us\"", "read = 25us");
    assert!(text.starts_with("d.toml:5: "), "{text}");
    assert_eq!(faults("").len(), 3, "name, flash and gc are missing");
}

#[test]
fn a_missing_file_is_named() {
    let error = load::<Device>(Path::new("no/such.toml")).expect_err("not there").to_string();
    assert!(error.starts_with("no/such.toml: cannot be read: "), "{error}");
}

#[test]
fn values_of_the_command_line_override_the_file_and_are_checked_too() {
    let document = || Document::parse(Path::new("d.toml"), GOOD.into()).expect("TOML");
    let mut set = document();
    for assignment in ["flash.read=50us", "depth = 8", "tenants[1].share=10%", "gc.threshold=\"7%\""] {
        set.set(assignment).expect("it can be set");
    }
    let device: Device = set.decode().expect("a device");
    assert_eq!((device.depth, device.flash.read), (Some(8), Span::from_us(50)));
    assert_eq!(device.tenants[1].share, Ratio::new(0.1));

    let fault = |assignment: &str| {
        let mut set = document();
        set.set(assignment).and_then(|()| set.decode::<Device>()).expect_err("faulty").to_string()
    };
    assert_eq!(fault("flash.raed=5us"), "--set: flash.raed: is not a known key; did you mean `read`?");
    assert!(fault("flash.read=5").starts_with("--set: flash.read: `5` has no unit"));
    assert_eq!(fault("depth"), "--set: `depth` sets nothing; write key=value");
    assert!(fault("name.first=x").contains("passes through a value that is not a table"));
}

#[test]
fn missing_keys_of_all_tables_are_reported_at_once() {
    let source =
        GOOD.replace("name = \"x\"\n", "").replace("page_size = \"4KiB\"\n", "").replace("share = \"30%\"\n", "");
    let all = faults(&source.replace("threshold = \"5%\"\n", ""));
    let keys: Vec<_> = all.iter().map(|text| text.split(": ").nth(1).unwrap_or_default()).collect();
    assert_eq!(keys, ["flash.page_size", "gc.threshold", "tenants[1].share", "name"], "{all:#?}");
    let text = faults("name = \"x\"\n").join("\n");
    assert!(
        text.contains("flash: is missing; add it, e.g. the table [flash] with `page_size`, `read`, `program`;"),
        "{text}"
    );
}

#[test]
fn a_fault_set_by_another_file_names_that_file() {
    let study = "x = 1\n[[axis]]\nvalues = [1,\n  -2]\n[set.device]\ndetph = 3\n";
    let study = Document::parse(Path::new("s.toml"), study.to_owned()).expect("TOML");
    let mut document = Document::parse(Path::new("d.toml"), GOOD.into()).expect("TOML");
    let table = |text: &str| text.parse::<Table>().expect("TOML");
    document.merge(&table("depth = -2"), &study, "axis[0].values[1]", true);
    document.merge(&table("detph = 3"), &study, "set.device", false);
    let text = document.decode::<Device>().expect_err("faulty").to_string();
    let wanted = "s.toml:4: axis[0].values[1]: sets depth of d.toml: `-2` is not a whole number from 0 to 4294967295; \
                  write e.g. depth = 8\n\
                  s.toml:6: set.device.detph: sets detph of d.toml: is not a known key; did you mean `depth`?";
    assert_eq!(text, wanted);
}

#[test]
fn parsing_takes_linear_time() {
    let work = |source: String| {
        let document = Document::parse(Path::new("d.toml"), source).expect("TOML");
        let (faults, work) = document.all_faults::<Device>(&|_| Vec::new());
        (faults.0, work)
    };
    for lines in [1_000, 20_000] {
        let unknown = (0..lines).map(|i| format!("k{i} = {i}\n")).collect::<String>();
        let (faults, spent) = work(format!("{unknown}{GOOD}"));
        assert!(spent.visited < 2 * (lines + 20) && spent.attempts <= 2, "{lines} lines: {spent:?}");
        assert_eq!(faults.len(), MOST_FAULTS + 1);
        assert_eq!(
            faults[MOST_FAULTS].to_string(),
            format!("d.toml: has {} more faults; correct these first", lines - 50)
        );
        // Linear time for tables of an array, too, with values of the wrong type.
        let wrong = "[[tenants]]\nshare = 5\n".repeat(lines);
        let (faults, spent) = work(format!("{GOOD}{wrong}"));
        assert!(spent.visited < 4 * (lines + 20) && spent.attempts <= 2, "{lines} lines: {spent:?}");
        assert!(faults[49].to_string().starts_with("d.toml:113: tenants[51].share: `5` has no unit"), "{}", faults[49]);
    }
    // Linear time for lines that are not TOML.
    let text = faults(&"x = = 1\n".repeat(20_000));
    assert_eq!(text.len(), MOST_FAULTS + 1);
    assert_eq!(text[MOST_FAULTS], "d.toml: has 19950 more faults; correct these first");
}

#[test]
fn a_huge_key_is_shortened_in_the_message() {
    let text = faults(&format!("{} = 1\n{GOOD}", "k".repeat(1 << 20))).join("\n");
    assert!(
        text.starts_with("d.toml:1: kkkk") && text.contains("...: is not a known key") && text.len() < 600,
        "{text}"
    );
    let text = fault_of("\"25us\"", &format!("\"{}\"", "5".repeat(1 << 20)));
    assert!(text.len() < 400, "{text}");
}
