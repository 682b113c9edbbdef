//! Report pages in the forms in which they are read: on a desktop and on a phone, light and dark, by keyboard and screen reader, on
//! paper.
//!
//! The pages are compared by the geometry of their parts and not by pixels, which differ with the machine's fonts.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use serde_json::{Value, json};
use study::metric::Dimension;

use crate::browser::{Browser, LOOKS, Look};
use crate::common::{ALL_KINDS, WorkFolder, buffered};
use crate::page::chromium;

const DESKTOP: Look = LOOKS[0];

/// A study with names and with quantities, a figure with stated values, several seeds, and parts of the latency.
const STUDY: &str = r#"name = "reading"
description = "two drives over depth"
device = "d.toml"
workload = "w.toml"
seeds = [1, 2, 3]
run = { limit = 800, explain = true, precondition = ["fill"] }
metrics = ["read.mean", "write.mean", "waf"]
[[axis]]
name = "victim of garbage collection"
key = "device.ftl.gc.victim.policy"
values = ["greedy", "random", "cost-benefit", "fifo"]
[[axis]]
name = "depth"
key = "run.depth"
values = [1, 2, 8]
"#;

const FIGURE: &str = r#"
[[figure]]
number = "Fig. 2(b)"
title = "Reads by victim"
metrics = ["read.mean"]
along = "victim of garbage collection"
by = "depth"
paper = [
    { at = { "victim of garbage collection" = "greedy", depth = 8 }, value = "300us", source = "Sec. 1" },
    { at = { "victim of garbage collection" = "random", depth = 8 }, between = ["200us", "400us"], source = "Sec. 2" },
]
[[figure]]
number = "Fig. 10"
title = "Reads by depth"
metrics = ["read.mean"]
along = "depth"
by = "victim of garbage collection"
"#;

/// The pages of all tests: a run, a comparison, a study with figures and one without.
fn pages() -> &'static [PathBuf; 4] {
    static MADE: OnceLock<(WorkFolder, [PathBuf; 4])> = OnceLock::new();
    let (_, pages) = MADE.get_or_init(|| {
        let device = buffered("controllers = \"per-die\"");
        let drawn = [STUDY, FIGURE].concat();
        let files = [("d.toml", device.as_str()), ("w.toml", ALL_KINDS), ("s.toml", STUDY), ("f.toml", &drawn)];
        let place = WorkFolder::with(&files);
        let run = |arguments: &[&str]| {
            let output = place.flashloom(arguments);
            assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        };
        run(&["run", "d.toml", "w.toml", "--precondition", "fill,random:x1", "--report", "run.html"]);
        let same = ["--limit", "800", "--quiet", "--report", "compare.html"];
        run(&[&["compare", "w.toml", "d.toml", "dirik-1x2", "--precondition", "none"], &same[..]].concat());
        run(&["study", "s.toml", "--quiet", "--report", "study.html"]);
        run(&["study", "f.toml", "--quiet", "--report", "figures.html"]);
        let all = ["run", "compare", "study", "figures"].map(|name| place.path(&format!("{name}.html")));
        (place, all)
    });
    pages
}

/// The JSON inside a page.
fn data(page: &Path) -> Value {
    let html = fs::read_to_string(page).expect("there");
    let (_, rest) = html.split_once("id=\"data\">").expect("the data");
    serde_json::from_str(rest.split_once("</script>").expect("its end").0).expect("JSON")
}

/// The script of axe-core, and the expression that examines a page; none if the script is missing.
pub(crate) fn examination() -> Option<[String; 2]> {
    let axe = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/axe/axe.min.js");
    let Ok(axe) = fs::read_to_string(axe) else {
        println!("NOT TESTED: tests/axe/axe.min.js is not there, so no page was examined with axe-core");
        return None;
    };
    let rules =
        json!({ "type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"] });
    let found =
        "found.violations.map((of) => [of.id, of.help, of.nodes.slice(0, 3).map((node) => node.html.slice(0, 200))])";
    let examine = format!(
        "axe.run(document, {{ runOnly: {rules} }}).then((found) => ({{ found: {found}, passed: found.passes.length }}))"
    );
    Some([axe, examine])
}

#[test]
fn no_page_violates_the_rules_of_accessibility() {
    let (Some(program), Some([axe, examine])) = (chromium(), examination()) else { return };
    let mut browser = Browser::start(program);
    for page in pages() {
        // Together these looks have both sizes and both themes.
        for look in [LOOKS[0], LOOKS[3]] {
            browser.open(page, look);
            // Parts that open must pass, too.
            browser.eval("document.querySelectorAll('details').forEach((of) => (of.open = true))");
            browser.eval(&axe);
            let result = browser.eval(&examine);
            assert_eq!(result["found"], json!([]), "{} {look:?}", page.display());
            assert!(result["passed"].as_u64() > Some(20), "{result}");
        }
    }
    // The examination finds a fault that was added.
    browser.eval("document.querySelector('main').insertAdjacentHTML('beforeend', '<img src=\"x\"><p style=\"color:#ccc;background:#fff\">pale</p>')");
    let result = browser.eval(&examine).to_string();
    assert!(result.contains("image-alt") && result.contains("color-contrast"), "{result}");
    assert!(browser.console.iter().all(|line| !line.contains("exception")), "{:#?}", browser.console);
}

/// The charts of a page: their places, names and the boxes of their texts.
const DRAWN: &str = "[...document.querySelectorAll('[data-figure]')].map((place) => {
  const box = (of) => { const { left, right, top, bottom } = of.getBoundingClientRect(); return [left, top, right, bottom].map(Math.round); };
  const svg = place.querySelector('svg'), texts = [...svg.querySelectorAll('text')];
  return { number: +place.dataset.figure, place: box(place.closest('figure')), svg: box(svg), text: texts.map((of) => of.textContent).join(' '),
    texts: texts.filter((of) => of.textContent.trim()).map((of) => [of.textContent, ...box(of)]),
    fills: [...new Set(texts.map((of) => of.getAttribute('fill')))],
    legend: [...place.parentElement.querySelectorAll('.legend li')].map((of) => of.textContent) };
})";

/// True if the interiors of two boxes overlap.
fn overlap(a: &[f64], b: &[f64]) -> bool {
    let along = |i: usize| a[i + 2].min(b[i + 2]) - a[i].max(b[i]);
    along(0) > 1.5 && along(1) > 2.5
}

/// Checks the charts: every chart inside its place, every name shown, every entry of the legend, no text upon another.
fn check(drawn: &Value, data: &Value, at: &str) {
    for chart in drawn.as_array().expect("charts") {
        let number = chart["number"].as_u64().expect("a number") as usize;
        let figure = &data["figures"][number];
        let at = format!("{at}, {}", figure["heading"]);
        let numbers = |of: &Value| of.as_array().expect("a box").iter().filter_map(Value::as_f64).collect::<Vec<_>>();
        let (place, svg) = (numbers(&chart["place"]), numbers(&chart["svg"]));
        assert!(
            svg[0] >= place[0] && svg[2] <= place[2] + 1.0 && svg[3] <= place[3] + 1.0,
            "{at}: outside of its place"
        );
        let bare = |text: &str| text.split_whitespace().collect::<String>();
        let text = bare(chart["text"].as_str().expect("texts"));
        let list = |of: &Value, key: &str| -> Vec<String> {
            let all = of.as_array().map_or(&[][..], Vec::as_slice);
            all.iter().filter_map(|one| one[key].as_str()).map(ToOwned::to_owned).collect()
        };
        let names: Vec<String> = match figure["chart"].as_str() {
            Some("courses") => serde_json::from_value(figure["x"]["names"].clone()).expect("names"),
            Some("stacks") => list(&figure["rows"], "name"),
            _ => Vec::new(),
        };
        for name in &names {
            assert!(text.contains(&bare(name)), "{at}: {name} is not shown in {text}");
        }
        let mut entries = match figure["chart"].as_str() {
            Some("courses" | "lines" | "paths") => list(&figure["lines"], "name"),
            Some("areas") => list(&figure["layers"], "name"),
            Some("stacks") => {
                figure["rows"].as_array().expect("rows").iter().flat_map(|row| list(&row["parts"], "name")).collect()
            }
            _ => Vec::new(),
        };
        entries.sort();
        entries.dedup();
        let legend: Vec<&str> = chart["legend"].as_array().expect("entries").iter().filter_map(Value::as_str).collect();
        let single = entries.len() == 1 && legend.is_empty();
        for entry in entries.iter().filter(|_| !single) {
            assert!(legend.contains(&entry.as_str()), "{at}: {entry} is not in the legend {legend:?}");
        }
        let texts: Vec<(&str, Vec<f64>)> = chart["texts"]
            .as_array()
            .expect("texts")
            .iter()
            .map(|of| {
                let of = of.as_array().expect("a text");
                (of[0].as_str().expect("a text"), of[1..].iter().filter_map(Value::as_f64).collect())
            })
            .collect();
        for (i, (text, place)) in texts.iter().enumerate() {
            // All numbers of these pages are positive, so no axis may extend below zero to show an interval.
            assert!(!text.starts_with('-') || text.len() == 1, "{at}: {text} is drawn");
            assert!(
                place[0] >= svg[0] - 1.0 && place[2] <= svg[2] + 1.0,
                "{at}: `{text}` is cut at {place:?} of {svg:?}"
            );
            for (other, beside) in &texts[i + 1..] {
                assert!(!overlap(place, beside), "{at}: `{text}` and `{other}` are drawn upon each other");
            }
        }
    }
}

#[test]
fn every_name_and_legend_is_shown_at_every_size_and_in_both_themes() {
    let Some(program) = chromium() else { return };
    let mut browser = Browser::start(program);
    for page in pages() {
        let data = data(page);
        let mut before: Option<Value> = None;
        for look in LOOKS {
            let at = format!("{} {look:?}", page.file_name().expect("a name").display());
            browser.open(page, look);
            let drawn = browser.eval(DRAWN);
            assert_eq!(drawn.as_array().map(Vec::len), data["figures"].as_array().map(Vec::len), "{at}");
            check(&drawn, &data, &at);
            let wide = browser.eval("document.documentElement.scrollWidth").as_u64();
            assert!(wide <= Some(u64::from(look.width)), "{at}: the page is {wide:?} wide");
            // Tables wider than the page have a hint to scroll, other tables have none.
            let hints = browser.eval(
                "[...document.querySelectorAll('main .hint')].map((hint) => [hint.hidden, hint.nextElementSibling]).filter(([, wide]) => \
                 wide.clientWidth).map(([hidden, wide]) => hidden === (wide.scrollWidth > wide.clientWidth + 1))",
            );
            assert!(hints.as_array().expect("tables").iter().all(|wrong| *wrong == false), "{at}: {hints}");
            // Dark and light pages differ only in their colours.
            let shape = |drawn: &Value| -> Value {
                let keep = |chart: &Value| json!([chart["place"], chart["svg"], chart["texts"], chart["legend"]]);
                drawn.as_array().expect("charts").iter().map(keep).collect()
            };
            if look.dark {
                let light = before.take().expect("light comes first");
                assert_eq!(shape(&light), shape(&drawn), "{at}");
                assert_ne!(light[0]["fills"], drawn[0]["fills"], "{at}");
            } else {
                before = Some(drawn);
            }
        }
    }
    assert!(browser.console.is_empty(), "{:#?}", browser.console);
}

#[test]
fn figures_have_their_numbers_and_the_values_that_the_source_states() {
    let Some(program) = chromium() else { return };
    let [.., study, figures] = pages();
    let data = data(figures);
    let headings: Vec<&str> =
        data["figures"].as_array().expect("figures").iter().filter_map(|figure| figure["heading"].as_str()).collect();
    // Figures in the order of their numbers, then the parts of the latency; no chart for each metric.
    assert_eq!(headings[..2], ["Fig. 2(b): Reads by victim", "Fig. 10: Reads by depth"]);
    assert!(
        headings[2..]
            .iter()
            .all(|heading| heading.starts_with("Where the time went") || heading.starts_with("What was waited for"))
            && headings.len() > 2,
        "{headings:?}"
    );
    let marks = &data["figures"][0]["marks"];
    assert_eq!((&marks[0]["low"], &marks[1]["low"], &marks[1]["high"]), (&json!(300), &json!(200), &json!(400)));
    // Several seeds make a spread.
    assert!(data["figures"][0]["lines"][0]["spread"][0].is_array(), "{}", data["figures"][0]);
    let mut browser = Browser::start(program);
    browser.open(figures, DESKTOP);
    let table = "[...document.querySelectorAll('figure')].slice(0, 1).map((figure) => { const of = figure.querySelector('details'); of.open = true; \
        return new Promise((done) => setTimeout(() => done(of.querySelector('table').innerText), 50)); })[0]";
    let text = browser.eval(table);
    let text = text.as_str().expect("a table");
    assert!(text.contains("300us for 8 (Sec. 1)") && text.contains("200us to 400us for 8 (Sec. 2)"), "{text}");
    let words = browser.eval("document.querySelector('[data-figure]').getAttribute('aria-label')");
    assert!(words.as_str().is_some_and(|words| words.contains("2 stated values beside them")), "{words}");
    // The titles of a study without figures are words.
    let html = fs::read_to_string(study).expect("there");
    assert!(html.contains("<h3>Mean response time of reads</h3>") && !html.contains("<h3>read.mean</h3>"));
    assert_eq!(html.matches("reading</h").count(), 1, "the title stands once");
}

#[test]
fn quantities_stand_at_their_numbers_and_values_behind_their_intervals() {
    let Some(program) = chromium() else { return };
    let [.., study, figures] = pages();
    let mut browser = Browser::start(program);
    browser.open(figures, DESKTOP);
    let drawn = browser.eval(DRAWN);
    // The second figure has the depths 1, 2 and 8 on a logarithmic axis: 2 is at a third of the way.
    assert_eq!(data(figures)["figures"][1]["x"]["places"]["scale"], "log");
    let middle = |name: &str| {
        let texts = drawn[1]["texts"].as_array().expect("texts").iter();
        let at = texts.filter(|of| of[0] == name).map(|of| [1, 3].map(|i| of[i].as_f64().expect("a number")));
        at.map(|[left, right]| f64::midpoint(left, right)).next().expect(name)
    };
    let share = (middle("2") - middle("1")) / (middle("8") - middle("1"));
    assert!((share - 1.0 / 3.0).abs() < 0.02, "{share}");
    // The whiskers of bars are strokes in the colour of the text, and no value lies upon a whisker.
    browser.open(study, DESKTOP);
    let whiskers = browser.eval(
        "[...document.querySelectorAll('[data-figure] svg')].map((svg) => {
           const box = (of) => { const { left, right, top, bottom } = of.getBoundingClientRect(); return [left, top, right, bottom]; };
           const ink = getComputedStyle(document.documentElement).getPropertyValue('--ink').trim();
           return [[...svg.querySelectorAll('path')].filter((of) => of.getAttribute('stroke') === ink && of.getAttribute('stroke-width') === '1.2').map(box),
             [...svg.querySelectorAll('text')].map((of) => [of.textContent, ...box(of)])]; })",
    );
    let mut seen = 0;
    for chart in whiskers.as_array().expect("charts") {
        let (strokes, texts) = (chart[0].as_array().expect("boxes"), chart[1].as_array().expect("texts"));
        seen += strokes.len();
        let numbers = |of: &[Value]| of.iter().filter_map(Value::as_f64).collect::<Vec<_>>();
        for stroke in strokes.iter().filter_map(Value::as_array) {
            let stroke = numbers(stroke);
            for text in texts.iter().filter_map(Value::as_array) {
                let place = numbers(&text[1..]);
                let crosses = (0..2).all(|i| stroke[i] < place[i + 2] - 0.5 && stroke[i + 2] > place[i] + 0.5);
                assert!(!crosses, "{} lies on a whisker at {stroke:?}", text[0]);
            }
        }
    }
    assert!(seen > 6, "{seen} strokes of whiskers");
}

#[test]
fn charts_are_read_by_the_keyboard_in_their_true_values() {
    let Some(program) = chromium() else { return };
    let [run, ..] = pages();
    let data = data(run);
    let mut browser = Browser::start(program);
    browser.open(run, DESKTOP);
    let label = browser.eval("document.querySelector('[data-figure=\"0\"]').getAttribute('aria-label')");
    let label = label.as_str().expect("a label").to_owned();
    let line = &data["figures"][0]["lines"][0];
    let time = |value: &Value| Dimension::Time.show(value.as_f64().expect("a number"));
    let last = line["points"].as_array().expect("points").last().expect("some").clone();
    for wanted in ["on a scale by nines, from 0% to 9", "on a logarithmic scale", &format!(" to {}", time(&last[1]))] {
        assert!(label.contains(wanted), "{wanted} in {label}");
    }
    browser.eval("document.querySelector('[data-figure=\"0\"]').focus()");
    let said = "document.querySelector('[aria-live]').textContent";
    browser.press("ArrowRight");
    let first = format!("{}, 0%: {}", line["name"].as_str().expect("a name"), time(&line["points"][0][1]));
    assert_eq!(browser.eval(said), json!(first));
    assert!(
        browser
            .eval("document.querySelector('[data-figure=\"0\"]').innerText")
            .as_str()
            .is_some_and(|tip| tip.contains("of requests"))
    );
    browser.press("End");
    let end = browser.eval(said).as_str().expect("a text").to_owned();
    assert!(end.ends_with(&format!(": {}", time(&last[1]))), "{end}");
    browser.press("ArrowDown");
    let other = data["figures"][0]["lines"][1]["name"].as_str().expect("a second line");
    assert!(browser.eval(said).as_str().is_some_and(|text| text.starts_with(other)), "{}", browser.eval(said));
    // Every chart has a text for each of its places, none of them a logarithm or empty.
    let all = browser.eval(
        "JSON.parse(document.getElementById('data').textContent).figures.map((figure) => describe.places(figure).flat().map((place) => place.says))",
    );
    for (places, figure) in all.as_array().expect("charts").iter().zip(data["figures"].as_array().expect("figures")) {
        let places = places.as_array().expect("places");
        let odd = places
            .iter()
            .filter_map(Value::as_str)
            .find(|says| ["undefined", "NaN", "null"].iter().any(|odd| says.contains(odd)));
        assert!(!places.is_empty() && odd.is_none(), "{}: {odd:?}", figure["heading"]);
    }
    // A series that is switched off is skipped by the keyboard.
    browser.eval("document.querySelector('figure .legend button').click()");
    let pressed = browser.eval("document.querySelector('figure .legend button').getAttribute('aria-pressed')");
    assert_eq!(pressed, "false");
    browser.eval("document.querySelector('[data-figure=\"0\"]').focus()");
    browser.press("ArrowUp");
    browser.press("Home");
    assert!(browser.eval(said).as_str().is_some_and(|text| text.starts_with(other)), "{}", browser.eval(said));
    assert!(browser.console.is_empty(), "{:#?}", browser.console);
}

#[test]
fn charts_and_tables_write_numbers_alike() {
    let Some(program) = chromium() else { return };
    let mut browser = Browser::start(program);
    browser.open(&pages()[0], DESKTOP);
    let values =
        [0.0, 0.00052, 0.52, 0.9996, 1.0, 9.994, 12.34, 99.96, 999.6, 1234.6, 9999.0, 12345.0, 1.5e6, 2.5e9, 3e12];
    let units = [
        ("time", Dimension::Time),
        ("rate", Dimension::Rate),
        ("per-second", Dimension::PerSecond),
        ("energy", Dimension::Energy),
        ("share", Dimension::Share),
        ("count", Dimension::Count),
        ("plain", Dimension::Plain),
    ];
    for (name, unit) in units {
        let shown = browser.eval(&format!("{}.map((value) => numbers.show({name:?}, value))", json!(values)));
        assert_eq!(shown, json!(values.map(|value| unit.show(value))), "{name}");
    }
    assert_eq!(
        browser.eval("[0, 0.5, 1500, 20, 1e6].map((value) => numbers.tick('time', value))"),
        json!(["0", "500ns", "1.5ms", "20us", "1s"])
    );
}

#[test]
fn words_say_what_they_mean_on_focus_and_under_the_mouse() {
    let Some(program) = chromium() else { return };
    let mut browser = Browser::start(program);
    browser.open(&pages()[0], DESKTOP);
    let says = "[document.getElementById('says').hidden, document.getElementById('says').textContent]";
    assert_eq!(browser.eval(says)[0], true);
    browser.eval("[...document.querySelectorAll('a.term')].find((term) => /^(WAF|write amplification)$/i.test(term.textContent)).focus()");
    let shown = browser.eval(says);
    assert_eq!(shown[0], false);
    assert!(
        shown[1].as_str().is_some_and(|text| text.starts_with("mapping units programmed per mapping unit")),
        "{shown}"
    );
    browser.press("Escape");
    assert_eq!(browser.eval(says)[0], true);
    let place = browser.eval(
        "(() => { const term = [...document.querySelectorAll('th a.term')][0]; term.scrollIntoView({ block: 'center' }); \
         const { left, top, width, height } = term.getBoundingClientRect(); return [left + width / 2, top + height / 2]; })()",
    );
    browser.call("Input.dispatchMouseEvent", &json!({ "type": "mouseMoved", "x": place[0], "y": place[1] }));
    assert_eq!(browser.eval(says)[0], false, "under the mouse");
    // Each explained word has its line on the page, for paper and for readers without a script.
    let lost = browser.eval(
        "[...document.querySelectorAll('a.term')].filter((term) => !document.querySelector(term.getAttribute('href')) || \
         !document.getElementById(term.getAttribute('aria-describedby'))).length",
    );
    assert_eq!(lost, 0);
}

/// A4 at 96 dots per inch, less the margins of 14 mm.
const PAPER: (f64, f64) = (688.0, 1017.0);

#[test]
fn paper_is_filled_and_cuts_nothing() {
    let Some(program) = chromium() else { return };
    let mut browser = Browser::start(program);
    for page in pages() {
        let name = page.file_name().expect("a name").display();
        let data = data(page);
        browser.open(page, Look { width: PAPER.0 as u32, dark: true });
        browser.call("Emulation.setEmulatedMedia", &json!({ "media": "print" }));
        browser.eval("dispatchEvent(new Event('beforeprint'))");
        let drawn = browser.eval(DRAWN);
        check(&drawn, &data, &format!("{name} on paper"));
        let widest = browser.eval("Math.max(...[...document.querySelectorAll('main *')].filter((of) => !of.closest('.unseen') && of.clientWidth).map((of) => of.getBoundingClientRect().right))");
        assert!(widest.as_f64().is_some_and(|right| right <= PAPER.0 + 1.0), "{name}: {widest}");
        assert_eq!(browser.eval("document.documentElement.dataset.theme"), "light", "{name}");
        let height = browser.eval("document.documentElement.scrollHeight").as_f64().expect("a height");
        browser.eval("dispatchEvent(new Event('afterprint'))");
        browser.call("Emulation.setEmulatedMedia", &json!({ "media": "" }));
        browser.drawn();
        let pdf = browser.call(
            "Page.printToPDF",
            &json!({ "printBackground": true, "preferCSSPageSize": true, "paperWidth": 8.27, "paperHeight": 11.69 }),
        );
        let pages = base64(pdf["data"].as_str().expect("a file"));
        let pages = pages.windows(12).filter(|at| *at == b"/Type /Page\n").count();
        // The rules against breaks within parts make the paper at most a quarter longer.
        let least = (height / PAPER.1).ceil() as usize;
        assert!(
            (least..=least + least.div_ceil(4)).contains(&pages),
            "{name}: {pages} pages, {least} are enough for {height} points"
        );
    }
}

/// Decodes base 64.
fn base64(text: &str) -> Vec<u8> {
    const DIGITS: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for digit in text.bytes().filter_map(|c| DIGITS.iter().position(|digit| *digit == c)) {
        (bits, count) = (bits << 6 | digit as u32, count + 6);
        if count >= 8 {
            count -= 8;
            bytes.push((bits >> count) as u8);
            bits &= (1 << count) - 1;
        }
    }
    bytes
}
