//! Faulty files, as people write them.

use flash::units::{Bytes, Ratio, Span};
use serde::Deserialize;

use super::*;

#[derive(Debug, Deserialize, PartialEq)]
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

#[derive(Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
struct Flash {
    page_size: Bytes,
    read: Span,
    program: Span,
}

#[derive(Debug, Deserialize, PartialEq)]
#[serde(tag = "policy", rename_all = "kebab-case", deny_unknown_fields)]
enum Gc {
    Greedy { threshold: Ratio },
    CostBenefit { threshold: Ratio, age: Span },
}

#[derive(Debug, Deserialize, PartialEq)]
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
fn a_good_file_is_read() {
    let document = Document::parse(Path::new("d.toml"), GOOD.into()).expect("TOML");
    assert_eq!(document.decode::<Device>().expect("a device").depth, Some(32));
}

#[test]
fn a_misspelt_key_is_named_with_what_was_meant() {
    assert_eq!(fault_of("depth = 32", "detph = 32"), "d.toml:2: detph: is not a known key; did you mean `depth`?");
    assert_eq!(
        fault_of("depth = 32", "colour = 32"),
        "d.toml:2: colour: is not a known key; the keys here are `name`, `depth`, `flash`, `gc`, `tenants`"
    );
}

#[test]
fn a_number_without_its_unit_is_named_with_what_to_write() {
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
        "d.toml:8: gc.policy: `greeedy` is none of its values; did you mean `greedy`? \
         There are `greedy`, `cost-benefit`"
    );
    assert_eq!(
        fault_of("threshold = \"5%\"", "threshold = \"5%\"\ntreshold = \"5%\""),
        "d.toml:10: gc.treshold: is not a known key; did you mean `threshold`?"
    );
}

#[test]
fn a_missing_key_is_named() {
    assert_eq!(
        fault_of("read = \"25us\"\n", ""),
        "d.toml:3: flash.read: is missing; add it; `flashloom schema` lists all keys"
    );
    assert!(fault_of("name = \"x\"\n", "").starts_with("d.toml: name: is missing"));
}

#[test]
fn all_faults_are_told_at_once_in_the_order_of_their_lines() {
    let source = GOOD
        .replace("depth = 32", "depth = -1")
        .replace("page_size", "pagesize")
        .replace("\"200us\"", "200")
        .replace("\"5%\"", "\"much\"")
        .replace("share = \"30%\"", "share = 30");
    let all = faults(&source);
    let places: Vec<_> = all.iter().map(|text| text.split(": ").take(2).collect::<Vec<_>>().join(" ")).collect();
    let wanted = ["d.toml:2 depth", "d.toml:3 flash.page_size", "d.toml:4 flash.pagesize", "d.toml:6 flash.program"];
    assert_eq!(places[..4], wanted, "{all:#?}");
    assert_eq!(places[4..], ["d.toml:9 gc.threshold", "d.toml:13 tenants[1].share"], "{all:#?}");
}

#[test]
fn broken_toml_is_one_fault_with_its_line() {
    let text = fault_of("read = \"25us\"", "read = 25us");
    assert!(text.starts_with("d.toml:5: "), "{text}");
    assert!(faults("").len() == 1);
}

#[test]
fn a_file_that_is_not_there_is_named() {
    let error = load::<Device>(Path::new("no/such.toml")).expect_err("not there").to_string();
    assert!(error.starts_with("no/such.toml: cannot be read: "), "{error}");
}

#[test]
fn values_of_the_command_line_win_and_are_checked_alike() {
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
    assert!(fault("name.first=x").contains("leads through something that is not a table"));
}
