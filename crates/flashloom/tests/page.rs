//! The report page in a real browser: it draws every chart, writes nothing to the console, shows the numbers that
//! `--json` prints, fits a phone, and fetches nothing.
//!
//! Without Chromium the tests print a note and pass; `make test` installs one if it can.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

use serde_json::Value;

use crate::common::{ALL_KINDS, buffered, program};

/// The number of charts of the page: sixteen, and the charts of the waits and of the parts of the latency, by kind of
/// request.
const FIGURES: usize = 24;

/// The browser, if there is one.
pub(crate) fn chromium() -> Option<&'static str> {
    const NAMES: [&str; 5] =
        ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome-headless-shell"];
    static FOUND: OnceLock<Option<&str>> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let works = |name: &&str| Command::new(name).arg("--version").output().is_ok_and(|out| out.status.success());
        let found = NAMES.into_iter().find(works);
        if found.is_none() {
            println!("NOT TESTED: there is no Chromium on this machine, so no report page was opened in one");
        }
        found
    })
}

/// An opened page: its final HTML and its console messages.
struct RenderedPage {
    html: String,
    console: Vec<String>,
}

/// Opens a file, with a query after its name, in a new browser.
fn open(browser: &str, file: &Path, query: &str, options: &[&str]) -> RenderedPage {
    let profile = tempfile::tempdir().expect("a directory");
    let mut command = Command::new(browser);
    command.arg(format!("--user-data-dir={}", profile.path().display())).args(options).args([
        "--headless=new",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-extensions",
        "--no-first-run",
        "--enable-logging=stderr",
        "--v=0",
        "--virtual-time-budget=30000",
        "--dump-dom",
    ]);
    let output = command.arg(format!("file://{}{query}", file.display())).output().expect("it starts");
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    let html = String::from_utf8(output.stdout).expect("a page");
    assert!(html.contains("<html"), "no page: {said}");
    RenderedPage {
        html,
        console: said.lines().filter(|line| line.contains("CONSOLE")).map(ToOwned::to_owned).collect(),
    }
}

/// A folder with the report of a run, and the output of the run.
struct ReportFolder {
    dir: crate::common::WorkFolder,
    json: &'static Value,
}

impl ReportFolder {
    /// The shared run of all tests.
    fn new() -> Self {
        static RUN: OnceLock<(String, Value)> = OnceLock::new();
        let device = buffered("controllers = \"per-die\"");
        let dir = crate::common::WorkFolder::with(&[("d.toml", &device), ("w.toml", ALL_KINDS)]);
        let (html, json) = RUN.get_or_init(|| {
            let steps = ["--precondition", "fill,random:x1"];
            let json =
                dir.json(&[&["run", "d.toml", "w.toml", "--json", "--report", "first.html"], &steps[..]].concat());
            (fs::read_to_string(dir.path("first.html")).expect("a page"), json)
        });
        fs::write(dir.path("r.html"), html).expect("written");
        Self { dir, json }
    }

    fn page(&self) -> PathBuf {
        self.dir.path("r.html")
    }
}

/// The embedded JSON of a page.
fn data(html: &str) -> Value {
    let (_, rest) = html.split_once("id=\"data\">").expect("the data");
    serde_json::from_str(rest.split_once("</script>").expect("its end").0).expect("JSON")
}

/// The kind of each drawn chart of a page, with its numbers of paths and texts.
fn charts(html: &str) -> Vec<(String, usize, usize)> {
    let chart = |place: &str| {
        let drawn = place.split_once("data-drawn=\"").map_or("", |(_, rest)| rest.split('"').next().unwrap_or(""));
        let svg = place.split_once("<svg").and_then(|(_, rest)| rest.split_once("</svg>")).map_or("", |(svg, _)| svg);
        (drawn.to_owned(), svg.matches("<path").count(), svg.matches("<text").count())
    };
    html.split("data-figure=\"").skip(1).map(chart).collect()
}

/// The value of a text: times in microseconds, other quantities in their base unit.
fn number(text: &str) -> f64 {
    const SUFFIXES: [(&str, f64); 25] = [
        ("", 1.0),
        ("ns", 1e-3),
        ("us", 1.0),
        ("ms", 1e3),
        ("s", 1e6),
        ("B/s", 1.0),
        ("kB/s", 1e3),
        ("KB/s", 1e3),
        ("MB/s", 1e6),
        ("GB/s", 1e9),
        ("B", 1.0),
        ("KiB", 1024.0),
        ("MiB", 1_048_576.0),
        ("GiB", 1_073_741_824.0),
        ("TiB", 1_099_511_627_776.0),
        ("kB", 1e3),
        ("MB", 1e6),
        ("GB", 1e9),
        ("k", 1e3),
        ("M", 1e6),
        ("G", 1e9),
        ("J", 1.0),
        ("mJ", 1e-3),
        ("uJ", 1e-6),
        ("kJ", 1e3),
    ];
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (digits, suffix) = text.split_at(end);
    let factor = SUFFIXES.iter().find(|(name, _)| *name == suffix);
    digits.parse::<f64>().expect(text) * factor.unwrap_or_else(|| panic!("the unit of {text}")).1
}

/// Compares every number that a page shows with the number in the JSON, and returns their count.
#[track_caller]
fn compare(html: &str, json: &Value) -> usize {
    let mut compared = 0;
    for cell in html.split("data-of=\"").skip(1) {
        let (pointer, rest) = cell.split_once("\">").expect("a cell");
        let shown = number(rest.split_once('<').expect("its end").0);
        let seconds = ["simulated_s", "array_s", "bus_s", "suspended_s"].iter().any(|key| pointer.ends_with(key));
        let value = json.pointer(pointer).and_then(Value::as_f64).expect(pointer) * if seconds { 1e6 } else { 1.0 };
        // The page shows three digits; small counts have all digits.
        let counted =
            ["requests_per_s", "requests", "commands", "pages", "suspensions"].iter().any(|key| pointer.ends_with(key));
        let off = if counted { 0.5 } else { 0.0 };
        let most = (0.0051 * value.abs()).max(off);
        assert!((shown - value).abs() <= most, "{pointer}: {shown} is shown for {value}");
        compared += 1;
    }
    compared
}

#[test]
fn the_browser_draws_every_chart_and_shows_the_numbers_of_the_json() {
    let Some(browser) = chromium() else { return };
    let place = ReportFolder::new();
    let opened = open(browser, &place.page(), "", &[]);
    assert!(opened.console.is_empty(), "{:#?}", opened.console);
    let data = data(&opened.html);
    assert_eq!(data["result"], *place.json);
    let wanted: Vec<_> = data["figures"].as_array().expect("figures").iter().map(|f| f["chart"].as_str()).collect();
    let charts = charts(&opened.html);
    assert_eq!(charts.iter().map(|(kind, ..)| Some(kind.as_str())).collect::<Vec<_>>(), wanted);
    assert_eq!(wanted.len(), FIGURES, "{wanted:?}");
    for (kind, paths, texts) in &charts {
        assert!(*paths > 5 && *texts > 3, "{kind}: {paths} paths, {texts} texts");
    }
    assert!(opened.html.contains(&format!("data-drawn=\"{}\"", wanted.len())), "it did not get to its end");
    // A percentile that too few requests support is shown as a dash.
    let numbers = compare(&opened.html, place.json);
    assert!(numbers > 50, "{numbers}");
}

/// A page that prints the state of the frames in it, which the browser itself does not print.
const LOOK: &str = "<p id=\"found\"></p><script>\nonload = () => setTimeout(() => {
  const found = [...document.querySelectorAll('iframe')].map((frame) => {
    const page = frame.contentDocument, drawn = [...page.querySelectorAll('[data-figure] svg')], root = page.documentElement;
    return { theme: root.dataset.theme, drawn: root.dataset.drawn, scroll: root.scrollWidth,
      inks: [...new Set(drawn.flatMap((svg) => [...svg.querySelectorAll('text')].map((text) => text.getAttribute('fill'))))],
      wide: drawn.map((svg) => Math.round(svg.getBoundingClientRect().right)),
      least: Math.min(...drawn.map((svg) => svg.clientWidth)) };
  });
  document.getElementById('found').textContent = JSON.stringify(found);
}, 10000);\n</script>";

#[test]
fn the_browser_draws_dark_pages_and_narrow_screens() {
    let Some(browser) = chromium() else { return };
    let place = ReportFolder::new();
    let (light, dark) = ("#1c1c1c", "#ececea");
    // The query asks for dark, the system prefers light.
    let opened = open(browser, &place.page(), "?theme=dark", &[]);
    assert!(opened.console.is_empty(), "{:#?}", opened.console);
    assert!(opened.html.contains("data-theme=\"dark\"") && opened.html.contains(&format!("fill=\"{dark}\"")));
    assert!(opened.html.contains("#ffffff") && opened.html.contains("#141416"), "the style sheet has both");

    // The system prefers dark, the query asks for light. Headless windows are at least 500 wide, so a frame has the
    // width of a phone.
    let frames = place.dir.path("frames.html");
    let frame = |query| format!("<iframe src=\"r.html{query}\" style=\"width:390px;height:800px;border:0\"></iframe>");
    let text = format!("<!doctype html><html><body>{}{}{LOOK}</body></html>\n", frame(""), frame("?theme=light"));
    fs::write(&frames, text).expect("written");
    let options = ["--allow-file-access-from-files", "--blink-settings=preferredColorScheme=0"];
    let opened = open(browser, &frames, "", &options);
    assert!(opened.console.is_empty(), "{:#?}", opened.console);
    let (_, found) = opened.html.split_once("id=\"found\">").expect("the place");
    let found: Value = serde_json::from_str(found.split_once('<').expect("its end").0).expect("what was found");
    assert_eq!(found.as_array().map(Vec::len), Some(2), "{found}");
    for (found, theme, ink, other) in [(&found[0], "dark", dark, light), (&found[1], "light", light, dark)] {
        assert_eq!(found["theme"], theme, "{found}");
        let inks: Vec<_> = found["inks"].as_array().expect("colours").iter().filter_map(Value::as_str).collect();
        assert!(inks.contains(&ink) && !inks.contains(&other), "{found}");
        assert_eq!(found["drawn"], FIGURES.to_string(), "{found}");
        assert!(found["scroll"].as_u64().is_some_and(|wide| wide <= 390), "{found}");
        let wide = found["wide"].as_array().expect("widths");
        let fits = |right: &Value| right.as_u64().is_some_and(|right| right <= 390);
        assert!(wide.len() == FIGURES && wide.iter().all(fits), "{found}");
        assert!(found["least"].as_u64().is_some_and(|least| least > 300), "{found}");
    }
}

#[test]
fn the_browser_draws_a_comparison() {
    let Some(browser) = chromium() else { return };
    let place = ReportFolder::new();
    let mut command = program();
    let options = ["--precondition", "none", "--limit", "500", "--quiet", "--report", "c.html"];
    let run = command.current_dir(place.dir.0.path()).args(["compare", "w.toml", "d.toml", "dirik-1x2"]).args(options);
    assert!(run.output().expect("it starts").status.success());
    let opened = open(browser, &place.dir.0.path().join("c.html"), "", &[]);
    assert!(opened.console.is_empty(), "{:#?}", opened.console);
    let data = data(&opened.html);
    let figures = data["figures"].as_array().expect("figures");
    let seen = |figure: &&Value| figure["heading"].as_str().is_some_and(|text| text.starts_with("Where the time went"));
    assert_eq!(figures.iter().filter(seen).count(), 5);
    let charts = charts(&opened.html);
    let (drawn, wanted): (Vec<_>, Vec<_>) =
        charts.iter().zip(figures).map(|((kind, ..), figure)| (Some(kind.as_str()), figure["chart"].as_str())).unzip();
    assert!(drawn == wanted && charts.len() == figures.len(), "{drawn:?}");
    // Each bar of shares has a label with its latency, although the shares may add up to more than the whole.
    let labels = figures.iter().filter(seen).flat_map(|figure| figure["rows"].as_array().expect("rows"));
    for label in labels.map(|row| row["label"].as_str().expect("a latency")) {
        assert!(opened.html.contains(&format!(">{label}</text>")), "{label} is not drawn");
    }
}

/// The mouse actions of a reader, applied to the page's charts.
const ACT: &str = "<script>{ const library = echarts; const made = [];
echarts = { init: (...all) => { const chart = library.init(...all); made.push(chart); return chart; } };
setTimeout(() => {
  const timed = made.filter((chart) => (chart.getOption().xAxis[0].name || '') === 'simulated time');
  timed[0].dispatchAction({ type: 'dataZoom', dataZoomIndex: 0, start: 20, end: 30 });
  made[0].dispatchAction({ type: 'showTip', x: 300, y: 120 });
  const found = { tip: document.querySelector('[data-figure=\"0\"]').textContent };
  found.zoomed = timed.map((chart) => chart.getOption().dataZoom[0]).map(({ start, end }) => [start, end]);
  timed[0].dispatchAction({ type: 'restore' });
  found.restored = timed.map((chart) => chart.getOption().dataZoom[0]).map(({ start, end }) => [start, end]);
  window.dispatchEvent(new Event('beforeprint'));
  found.print = made.map((chart) => chart.getWidth());
  found.paper = document.documentElement.dataset.theme;
  window.dispatchEvent(new Event('afterprint'));
  setTimeout(() => {
    found.after = [document.documentElement.dataset.theme, made[0].getWidth()];
    document.body.append(Object.assign(document.createElement('p'), { id: 'found', textContent: JSON.stringify(found) }));
  }, 5000);
}, 10000); }</script>";

#[test]
fn charts_zoom_together_show_values_and_print_in_light_colours() {
    let Some(browser) = chromium() else { return };
    let place = ReportFolder::new();
    let acted = place.dir.0.path().join("acted.html");
    let html = fs::read_to_string(place.page()).expect("there");
    // After the library, before the script that draws.
    let (before, after) = html.rsplit_once("<script>").expect("scripts");
    fs::write(&acted, format!("{before}{ACT}<script>{after}")).expect("written");
    let opened = open(browser, &acted, "?theme=dark", &["--window-size=1300,900"]);
    assert!(opened.console.is_empty(), "{:#?}", opened.console);
    let (_, found) = opened.html.split_once("id=\"found\">").expect("it got to its end");
    let found: Value = serde_json::from_str(found.split_once('<').expect("its end").0).expect("what was found");
    let all = |key: &str, wanted: Value| {
        let ranges = found[key].as_array().expect(key);
        assert!(ranges.len() == 9 && ranges.iter().all(|range| *range == wanted), "{key}: {found}");
    };
    all("zoomed", serde_json::json!([20, 30]));
    all("restored", serde_json::json!([0, 100]));
    let tip = found["tip"].as_str().expect("a text");
    assert!(tip.contains("% of requests") && tip.contains("write") && tip.contains("us"), "{tip}");
    let widths = found["print"].as_array().expect("widths");
    assert!(widths.len() == FIGURES && widths.iter().all(|width| *width == 322), "{found}");
    assert_eq!(found["paper"], "light");
    assert_eq!(found["after"][0], "dark");
    assert_ne!(found["after"][1], 322);
}

#[test]
fn the_browser_reports_a_broken_page_and_a_fetch() {
    let Some(browser) = chromium() else { return };
    let place = ReportFolder::new();
    let html = fs::read_to_string(place.page()).expect("there");
    let planted = place.dir.0.path().join("planted.html");
    let plantings = "<img src=\"http://example.invalid/a.png\"><script>fetch('http://example.invalid/a.json')</script>\
                     <script>null.x</script>";
    fs::write(&planted, html.replace("</main>", &format!("{plantings}</main>"))).expect("written");
    let opened = open(browser, &planted, "", &[]);
    for (file, wanted) in
        [("a.png", "Content Security Policy"), ("a.json", "Content Security Policy"), ("", "TypeError")]
    {
        let said = opened.console.iter().any(|line| line.contains(wanted) && line.contains(file));
        assert!(said, "{file} {wanted}: {:#?}", opened.console);
    }
    // A number that differs from the JSON is found.
    let wrong = html.replacen("data-of=\"/requests\">20.0k<", "data-of=\"/requests\">21.0k<", 1);
    assert_ne!(wrong, html);
    let result = std::panic::catch_unwind(|| compare(&wrong, place.json));
    assert!(result.is_err(), "a wrong number was taken for a right one");
}
