//! The page of a run: its charts, its numbers, and its configuration.

use base::units::{Bytes, Energy, Span};

use study::histogram::PERCENTILES;
use study::summary::{KindSummary, Latencies, Report, Summary};
use study::text::{count, decimal_bytes, duration, rate};
use study::validity::is_supported;

use super::figures::figures;
use super::lead::lead;
use super::table::{KINDS, table};
use crate::explained::explained_table;
use crate::page::{Block, Cell, Page, Row, Section, Table, Tile};
use crate::suspensions;

/// The page of a run, with a section for each of its stages, in order.
#[must_use]
pub fn page(stages: &[(Report<'_>, &Summary)]) -> Page {
    let summaries: Vec<Summary> = stages.iter().map(|(_, summary)| (*summary).clone()).collect();
    let several = stages.len() > 1;
    let section = |(i, (report, summary)): (usize, &(Report<'_>, &Summary))| {
        let root = if several { format!("/{i}") } else { String::new() };
        let heading = if several { format!("Stage {}: {}", i + 1, summary.workload) } else { "Results".to_owned() };
        section(report, summary, &root, heading)
    };
    let mut workloads: Vec<&str> = Vec::new();
    for summary in &summaries {
        if !workloads.contains(&summary.workload.as_str()) {
            workloads.push(&summary.workload);
        }
    }
    let last = summaries.last();
    let from = last.map_or_else(String::new, |Summary { version, commit, seed, event_hash, .. }| {
        format!("flashloom {version} ({commit}), seed {seed}, event hash {event_hash}")
    });
    Page {
        title: format!("{} under {}", last.map_or("", |summary| &summary.device), workloads.join(", ")),
        about: from,
        lead: lead(&stages.iter().map(|(_, summary)| *summary).collect::<Vec<_>>()),
        sections: stages.iter().enumerate().map(section).collect(),
        result: Summary::json(&summaries),
    }
}

/// The section of a stage; `root` is the JSON pointer of its summary in the result.
fn section(report: &Report<'_>, summary: &Summary, root: &str, heading: String) -> Section {
    let mut below = vec![Block::Table(requests(summary, root))];
    if summary.flash.iter().any(|row| row.commands > 0) {
        below.push(Block::Table(flash(summary, root)));
    }
    let text = |heading: &str, text: String, open: bool| Block::Text { heading: heading.into(), text, open };
    below.push(text("As the command prints it", table(summary), false));
    if !summary.explained.is_empty() {
        below.push(text("Parts of the latency by percentile", explained_table(&summary.explained), false));
    }
    below.push(text("Configuration", report.about.config.to_string(), false));
    Section {
        heading,
        note: String::new(),
        above: vec![Block::Tiles(tiles(summary, root))],
        figures: figures(report),
        below,
    }
}

/// The most important numbers of a run.
fn tiles(summary: &Summary, root: &str) -> Vec<Tile> {
    let tile =
        |name: &str, text: String, at: &str| Tile { name: name.into(), value: Cell::of(text, root.to_owned() + at) };
    let span = Span::from_secs_f64(summary.simulated_s);
    let mut tiles = Vec::new();
    if let Some(life) = &summary.life {
        let written = if life.worn { "TBW" } else { "written in the life" };
        tiles.push(tile(written, decimal_bytes(life.written_bytes as f64), "/life/written_bytes"));
        let dwpd = life.drive_writes_per_day;
        tiles.extend(dwpd.map(|dwpd| tile("DWPD", count(dwpd), "/life/drive_writes_per_day")));
        let waf = life.write_amplification;
        tiles.extend(waf.map(|waf| tile("WAF over life", format!("{waf:.3}"), "/life/write_amplification")));
        tiles.push(tile("blocks failed", count(life.failed_blocks as f64), "/life/failed_blocks"));
    }
    tiles.extend([
        tile("requests", count(summary.requests as f64), "/requests"),
        tile("simulated time", duration(span.as_us_f64()), "/simulated_s"),
    ]);
    tiles.extend(summary.requests_per_s.map(|rate| tile("requests/s", count(rate), "/requests_per_s")));
    for kind in ["read", "write"] {
        let Some(of) = summary.kinds.get(kind) else { continue };
        for key in ["mean", "p99"] {
            let at = format!("/kinds/{kind}/latency_us/{key}");
            tiles.extend(of.latency_us.get(key).map(|us| tile(&format!("{kind}, {key}"), duration(*us), &at)));
        }
    }
    let waf = summary.write_amplification;
    tiles.extend(waf.map(|waf| tile("write amplification", format!("{waf:.3}"), "/write_amplification")));
    if let Some(energy) = &summary.energy {
        tiles.push(tile("energy", Energy::from_joules(energy.total_j).to_string(), "/energy/total_j"));
    }
    tiles
}

/// True if enough of `count` requests lie beyond the percentile with this key; for other keys always.
fn is_supported_key(key: &str, count: u64) -> bool {
    let known = PERCENTILES.iter().find(|(_, name, _)| *name == key);
    known.is_none_or(|(q, ..)| is_supported(*q, count))
}

/// The latencies in the table, with their headings.
const SHOWN: [(&str, &str); 6] =
    [("mean", "mean"), ("p50", "p50"), ("p99", "p99"), ("p99_9", "p99.9"), ("p99_999", "p99.999"), ("max", "max")];

/// The table of requests by kind, and by flow and kind if there are flows.
fn requests(summary: &Summary, root: &str) -> Table {
    let mut rows = Vec::new();
    let mut add = |name: &str, of: &KindSummary, at: &str| {
        let rate_of = |value: Option<f64>| value.map(|value| Cell::of(rate(value), format!("{at}/bytes_per_s")));
        let per_second = of.requests_per_s.map(|value| Cell::of(count(value), format!("{at}/requests_per_s")));
        let counts = [
            Cell::of(count(of.requests as f64), format!("{at}/requests")),
            per_second.unwrap_or_else(|| "-".into()),
            rate_of(of.bytes_per_s).unwrap_or_else(|| "-".into()),
        ];
        let mut add = |name: String, counts: [Cell; 3], latencies: &Latencies, part: &str| {
            let hidden = |key: &&str| of.requests > 0 && !is_supported_key(key, of.requests);
            let cell = |(key, _): (&str, &str)| {
                let us = latencies.get(key).filter(|_| !hidden(&key));
                us.map_or_else(|| "-".into(), |us| Cell::of(duration(*us), format!("{at}/{part}/{key}")))
            };
            let cells = [Cell::from(name)].into_iter().chain(counts).chain(SHOWN.map(cell)).collect();
            rows.push(Row { cells, notes: Vec::new() });
        };
        add(name.to_owned(), counts, &of.latency_us, "latency_us");
        // The rows about waits appear only if a request waited.
        if of.queue_wait_us.get("max").is_some_and(|us| *us > 0.0) {
            let none = || [const { Cell { text: String::new(), of: None, class: "" } }; 3];
            add(format!("{name}: queue"), none(), &of.queue_wait_us, "queue_wait_us");
            add(format!("{name}: service"), none(), &of.service_us, "service_us");
        }
    };
    for kind in KINDS {
        if let Some(of) = summary.kinds.get(kind) {
            add(kind, of, &format!("{root}/kinds/{kind}"));
        }
    }
    for (i, flow) in summary.flows.iter().enumerate() {
        for kind in KINDS {
            if let Some(of) = flow.kinds.get(kind) {
                add(&format!("{} {kind}", flow.name), of, &format!("{root}/flows/{i}/kinds/{kind}"));
            }
        }
    }
    let header = ["", "requests", "req/s", "rate"].into_iter().chain(SHOWN.map(|(_, heading)| heading));
    Table {
        heading: "Requests".into(),
        header: header.map(ToOwned::to_owned).collect(),
        texts: 1,
        rows,
        ..Table::default()
    }
}

/// The table of flash commands by operation and cause.
fn flash(summary: &Summary, root: &str) -> Table {
    let suspends = suspensions::any(&summary.flash);
    // Padding is not a command of its own; write amplification includes it.
    let rows = summary.flash.iter().enumerate().filter(|(_, row)| row.commands > 0).map(|(i, row)| {
        let at = |key: &str| format!("{root}/flash/{i}/{key}");
        let mut cells = vec![
            row.op.into(),
            row.cause.into(),
            Cell::of(count(row.commands as f64), at("commands")),
            Cell::of(count(row.pages as f64), at("pages")),
            Cell::of(Bytes::new(row.bytes).to_string(), at("bytes")),
            Cell::of(duration(row.array_s * 1e6), at("array_s")),
            Cell::of(duration(row.bus_s * 1e6), at("bus_s")),
        ];
        if suspends {
            let some = |of: Cell| if row.suspensions > 0 { of } else { "-".into() };
            cells.push(some(Cell::of(count(row.suspensions as f64), at("suspensions"))));
            cells.push(some(Cell::of(duration(row.suspended_s * 1e6), at("suspended_s"))));
        }
        Row { cells, notes: Vec::new() }
    });
    let header = ["flash", "cause", "commands", "pages", "bytes", "array time", "bus time"];
    let more = if suspends { &["suspensions", "stood still"][..] } else { &[] };
    Table {
        heading: "Flash commands".into(),
        header: header.iter().chain(more).map(|name| (*name).to_owned()).collect(),
        texts: 2,
        rows: rows.collect(),
        ..Table::default()
    }
}

#[cfg(test)]
mod tests {
    use study::run::RunResult;
    use testkit::small;

    use super::*;
    use crate::figure::{Chart, Figure, Number};
    use crate::testing::{reported, settled, two_flows};

    fn of(result: &RunResult, erase_counts: &[u32], check: impl FnOnce(&Page, &Summary)) {
        reported(result, erase_counts, |report, summary| check(&page(&[(report, summary)]), summary));
    }

    fn named<'a>(page: &'a Page, heading: &str) -> &'a Chart {
        let mut figures = page.sections.iter().flat_map(|section| &section.figures);
        let figure: Option<&Figure> = figures.find(|figure| figure.heading == heading);
        &figure.expect(heading).chart
    }

    #[test]
    fn a_run_page_has_all_its_figures() {
        let erases: Vec<u32> = (0..500).map(|i| 100 + i * i % 97).collect();
        of(&settled(small::with_log_blocks()), &erases, |page, _| {
            let headings: Vec<_> = page.sections[0].figures.iter().map(|figure| figure.heading.as_str()).collect();
            let wanted = [
                "Latency",
                "Share of requests by latency",
                "Throughput",
                "Latency over time",
                "Work of the dies over time",
                "Write amplification",
                "Busy over time",
                "Busy dies",
                "Flash data by cause",
                "Array time by cause",
                "Erases",
            ];
            assert_eq!(headings, wanted);
            let Chart::Grid { x, y, values } = named(page, "Busy dies") else { panic!("a grid") };
            assert_eq!((y.names.len(), x.names.len(), values.len(), values[0].len()), (2, 2, 2, 2));
            let html = page.html();
            // The part before the scripts: the text and the data.
            let (read, _) = html.split_once("<script>\n").expect("the scripts");
            assert!(read.contains("<h1>a &lt;drive&gt; under a mix</h1>") && !read.contains("NaN"), "{}", &read[..900]);
        });
    }

    #[test]
    fn the_charts_draw_the_counted_numbers() {
        let erases = [3, 3, 4, 9];
        of(&settled(small::with_log_blocks()), &erases, |page, summary| {
            let Chart::Lines { lines, .. } = named(page, "Latency") else { panic!("lines") };
            let (of, write) = (&summary.kinds["write"], &lines[0]);
            assert_eq!((lines.len(), write.name.as_str()), (1, "write"));
            let end = |point: &[Number; 2]| point[1].0;
            assert_eq!(write.points.last().map(end), of.latency_us.get("max").copied());
            assert!(write.points.windows(2).all(|two| two[0][0].0 <= two[1][0].0 && two[0][1].0 <= two[1][1].0));

            let Chart::Lines { x, lines, .. } = named(page, "Throughput") else { panic!("lines") };
            let (mut from, mut bytes) = (0.0, 0.0);
            for [to, rate] in &lines[0].points {
                bytes += (to.0 - from) * 1e-6 * rate.0;
                from = to.0;
            }
            assert_eq!(x.to.map(|to| to.0), Some(from));
            assert!((bytes / of.bytes as f64 - 1.0).abs() < 1e-3, "{bytes} bytes drawn of {}", of.bytes);

            let Chart::Stacks { rows, .. } = named(page, "Flash data by cause") else { panic!("stacks") };
            let drawn: f64 = rows.iter().flat_map(|row| &row.parts).map(|part| part.value.0).sum();
            assert_eq!(drawn as u64, summary.flash.iter().map(|row| row.slots).sum::<u64>());

            let Chart::Grid { values, .. } = named(page, "Busy dies") else { panic!("a grid") };
            let drawn: Vec<f64> = values.iter().flatten().map(|share| share.0).collect();
            assert_eq!(drawn, summary.utilisation.dies);

            let Chart::Heat { edges, rows, .. } = named(page, "Busy over time") else { panic!("a heat map") };
            let link = rows.iter().find(|row| row.name == "link").expect("a link");
            let spans = edges.windows(2).map(|two| two[1].0 - two[0].0);
            let busy: f64 = spans.zip(&link.values).map(|(span, share)| span * share.0).sum();
            let (whole, link) = (edges[edges.len() - 1].0, summary.utilisation.link);
            assert!((busy / whole - link).abs() < 1e-9, "{} drawn, {link} counted", busy / whole);

            let Chart::Bars { bars, .. } = named(page, "Erases") else { panic!("bars") };
            let heights: Vec<_> = bars.iter().map(|bar| bar.map(|number| number.0)).collect();
            assert_eq!((heights[0], heights[6], heights.len()), ([3.0, 4.0, 2.0], [9.0, 10.0, 1.0], 7));
        });
    }

    #[test]
    fn every_number_of_a_run_page_is_in_the_result() {
        of(&settled(small::mixed()), &[1, 2], |page, _| {
            let result: serde_json::Value = serde_json::from_str(&page.result).expect("JSON");
            let html = page.html();
            let pointers: Vec<_> = html.split("data-of=\"").skip(1).filter_map(|rest| rest.split('"').next()).collect();
            assert!(pointers.len() > 30, "{pointers:?}");
            for pointer in pointers {
                assert!(result.pointer(pointer).is_some_and(serde_json::Value::is_number), "{pointer}");
            }
        });
    }

    #[test]
    fn flows_have_their_own_lines_and_rows() {
        of(&two_flows(), &[], |page, _| {
            let Chart::Lines { lines, .. } = named(page, "Latency by flow") else { panic!("lines") };
            let names: Vec<_> = lines.iter().map(|line| (line.name.as_str(), line.colour)).collect();
            assert_eq!(names, [("reader read", 0), ("writer write", 1)]);
            assert!(page.html().contains("data-of=\"/flows/1/kinds/write/latency_us/p50\""));
        });
    }

    #[test]
    fn the_parts_of_a_map_unit_have_their_own_rows() {
        for (map, rows) in [("{ kind = \"ram\" }", 0), ("{ kind = \"table\", service = \"2us\" }", 1)] {
            of(&settled(small::with_map(map)), &[], |page, _| {
                let Chart::Heat { rows: all, .. } = named(page, "Busy over time") else { panic!("a heat map") };
                assert_eq!(all.iter().filter(|row| row.name.starts_with("ftl")).count(), rows, "{map}");
            });
        }
    }

    #[test]
    fn stages_are_sections_of_one_page() {
        let page =
            reported(&settled(small::mixed()), &[], |report, summary| page(&[(report, summary), (report, summary)]));
        assert_eq!(page.sections[1].heading, "Stage 2: a mix");
        let html = page.html();
        assert!(html.contains("data-of=\"/1/kinds/read/latency_us/p99\""));
        assert!(serde_json::from_str::<serde_json::Value>(&page.result).expect("JSON").is_array());
    }
}
