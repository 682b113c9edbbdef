//! Self-contained HTML pages: the numbers as HTML, the data as JSON, and the script that draws it.
//!
//! All text is in the HTML, so a page without JavaScript lacks only its charts. The content security policy at its head
//! forbids it to load anything.

use std::fmt::Write as _;

use serde::Serialize;

use study::output::PAGE;

use super::escape::escape;
use super::figure::Figure;
use super::words::Words;

/// Style sheet of the colours, light and dark. Other pages of Flashloom use it, too.
pub const COLOURS: &str = include_str!("../assets/colours.css");
/// Script that shows numbers as text. Other pages of Flashloom use it, too.
pub const NUMBERS: &str = include_str!("../assets/numbers.js");

const STYLE: &str = include_str!("../assets/report.css");
const LIBRARY: &str = include_str!("../assets/echarts.min.js");
/// The scripts of a page, in the order of their dependencies.
const SCRIPTS: [&str; 8] = [
    NUMBERS,
    include_str!("../assets/axes.js"),
    include_str!("../assets/options.js"),
    include_str!("../assets/names.js"),
    include_str!("../assets/charts.js"),
    include_str!("../assets/legend.js"),
    include_str!("../assets/describe.js"),
    include_str!("../assets/report.js"),
];

/// A result as an HTML page.
#[derive(Clone, Debug)]
pub struct Page {
    /// Title of the page and of its browser tab.
    pub title: String,
    /// The program that made the page.
    pub about: String,
    /// The result in words.
    pub lead: Lead,
    /// The sections, from the top.
    pub sections: Vec<Section>,
    /// The result in JSON, for programs: the output of `--json`, or the part of it that the page shows.
    pub result: String,
}

/// The first paragraph of a page: the result in words.
#[derive(Clone, Debug, Default)]
pub struct Lead {
    /// A sentence about the run or the comparison.
    pub compared: String,
    /// Sentences about the result.
    pub came_out: Vec<String>,
    /// Sentences with warnings about conclusions.
    pub caution: Vec<String>,
}

/// A part of the page under a heading of its own.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// The heading of the section; empty if it is the only section.
    pub heading: String,
    /// A sentence or two about the content of the section.
    pub note: String,
    /// The blocks above the charts.
    pub above: Vec<Block>,
    /// The charts of the section, in order.
    pub figures: Vec<Figure>,
    /// The blocks below the charts.
    pub below: Vec<Block>,
}

/// A piece of content in a section.
#[derive(Clone, Debug)]
pub enum Block {
    /// The most important numbers.
    Tiles(Vec<Tile>),
    /// A table of text cells.
    Table(Table),
    /// Preformatted text, below a heading that opens and closes it.
    Text {
        /// The heading that stays visible when the text is closed.
        heading: String,
        /// Text that is shown as it is, with its line breaks.
        text: String,
        /// True if the text is open at first; a closed text is not printed.
        open: bool,
    },
}

/// An important number of the page, shown with its name.
#[derive(Clone, Debug)]
pub struct Tile {
    /// Name of the number as shown in its tile.
    pub name: String,
    /// The number, as a cell of the result.
    pub value: Cell,
}

/// A table as wide as the page; it scrolls if the page is narrower.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Heading above the table.
    pub heading: String,
    /// If given, the heading opens and closes the table, which is open at first if the value is true.
    pub fold: Option<bool>,
    /// The headings of the columns.
    pub header: Vec<String>,
    /// Headings that are keys, each with the meaning of the key.
    pub meanings: Vec<(String, String)>,
    /// The number of columns with text, from the left; the others hold numbers.
    pub texts: usize,
    /// The rows below the column names.
    pub rows: Vec<Row>,
}

/// One row of cells, with its notes.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// The cells of the row, one for each column.
    pub cells: Vec<Cell>,
    /// Notes on the row, each a paragraph below it.
    pub notes: Vec<String>,
}

/// A cell of a table: its text, the number behind the text, and its style.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// Text of the cell as shown.
    pub text: String,
    /// The JSON pointer of the cell's number in [`Page::result`]; `None` for a text.
    pub of: Option<String>,
    /// The class of the cell in the style sheet: `best` or a verdict.
    pub class: &'static str,
}

impl Cell {
    /// Creates a cell with a number of the result, at this JSON pointer.
    pub fn of(text: impl Into<String>, pointer: impl Into<String>) -> Self {
        Self { text: text.into(), of: Some(pointer.into()), class: "" }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), of: None, class: "" }
    }
}

/// Escapes JSON for a script element, so that nothing in it ends the script.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// The charts that the script draws.
#[derive(Serialize)]
struct Figures<'a>(Vec<&'a Figure>);

impl Page {
    /// The page as HTML.
    ///
    /// # Panics
    /// Never: every chart has a form in JSON.
    #[must_use]
    pub fn html(&self) -> String {
        let figures = Figures(self.sections.iter().flat_map(|section| &section.figures).collect());
        let figures = serde_json::to_string(&figures).expect("numbers and texts");
        let mut words = Words::default();
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{PAGE}\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src 'unsafe-inline'; img-src data:\">\n\
             <title>{0}</title>\n<style>\n{COLOURS}{STYLE}</style>\n</head>\n<body>\n<header>\n<div>\n<h1>{0}</h1>\n\
             <p>{1}</p>\n</div>\n<div id=\"controls\" hidden></div>\n</header>\n\
             <noscript><p>The charts need JavaScript. All numbers can be read without it.</p></noscript>\n<main>\n",
            escape(&self.title),
            escape(&self.about)
        );
        html.push_str(&self.lead.html(&mut words));
        let mut number = 0;
        for section in &self.sections {
            section.html(&mut html, &mut number, &mut words);
        }
        html.push_str(&words.html());
        let _ = write!(
            html,
            "</main>\n<script type=\"application/json\" id=\"data\">{{\"figures\":{},\n\"result\":{}}}</script>\n\
             <script>\n{LIBRARY}</script>\n",
            in_script(&figures),
            in_script(self.result.trim_end())
        );
        for script in SCRIPTS {
            let _ = writeln!(html, "<script>\n{script}</script>");
        }
        html.push_str("</body>\n</html>\n");
        html
    }
}

impl Lead {
    fn html(&self, words: &mut Words) -> String {
        let mut html = String::new();
        for (label, text) in [("What ran.", &self.compared), ("What came out.", &self.came_out.join(" "))] {
            if !text.is_empty() {
                let _ = writeln!(html, "<p><b>{label}</b> {}</p>", words.mark_first(text));
            }
        }
        if !self.caution.is_empty() {
            html.push_str("<p><b>What not to conclude.</b></p>\n<ul>\n");
            self.caution.iter().for_each(|text| {
                let _ = writeln!(html, "<li>{}</li>", words.mark_first(text));
            });
            html.push_str("</ul>\n");
        }
        if html.is_empty() { html } else { format!("<div class=\"lead\">\n{html}</div>\n") }
    }
}

impl Section {
    /// Appends the section; `number` is the number of the next chart.
    fn html(&self, html: &mut String, number: &mut usize, words: &mut Words) {
        html.push_str("<section>\n");
        if !self.heading.is_empty() {
            let _ = writeln!(html, "<h2>{}</h2>", escape(&self.heading));
        }
        if !self.note.is_empty() {
            let _ = writeln!(html, "<p class=\"note\">{}</p>", words.mark_first(&self.note));
        }
        self.above.iter().for_each(|block| block.html(html, words));
        if !self.figures.is_empty() {
            html.push_str("<div class=\"figures\">\n");
            for Figure { heading, note, .. } in &self.figures {
                let heading = escape(heading);
                let note = if note.is_empty() { String::new() } else { format!("<p>{}</p>", words.mark_first(note)) };
                let _ = writeln!(
                    html,
                    "<figure><figcaption><h3>{heading}</h3>{note}</figcaption>\
                     <div class=\"chart\" data-figure=\"{number}\"></div></figure>"
                );
                *number += 1;
            }
            html.push_str("</div>\n");
        }
        self.below.iter().for_each(|block| block.html(html, words));
        html.push_str("</section>\n");
    }
}

impl Block {
    fn html(&self, html: &mut String, words: &mut Words) {
        match self {
            Self::Tiles(tiles) => {
                html.push_str("<dl class=\"tiles\">\n");
                for Tile { name, value } in tiles {
                    let _ = writeln!(html, "<div><dt>{}</dt>{}</div>", words.mark(name), value.html("dd"));
                }
                html.push_str("</dl>\n");
            }
            Self::Table(table) => table.html(html, words),
            Self::Text { heading, text, open } => {
                let (heading, text) = (escape(heading), escape(text));
                let open = if *open { " open" } else { "" };
                let _ = writeln!(
                    html,
                    "<details{open}><summary>{heading}</summary>\
                     <pre tabindex=\"0\" role=\"region\" aria-label=\"{heading}\">{text}</pre></details>"
                );
            }
        }
    }
}

impl Table {
    fn html(&self, html: &mut String, words: &mut Words) {
        let heading = escape(&self.heading);
        // The summary of a table that opens and closes is its heading; the caption repeats it only for screen readers.
        let unseen = match self.fold {
            Some(open) => {
                let _ = writeln!(html, "<details{}><summary>{heading}</summary>", if open { " open" } else { "" });
                " class=\"unseen\""
            }
            None => "",
        };
        let _ = writeln!(
            html,
            "<p class=\"hint\" hidden>This table goes on to the right: scroll it sideways.</p>\n\
             <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"{heading}\"><table>\n\
             <caption{unseen}>{heading}</caption>"
        );
        html.push_str("<thead><tr>");
        for (i, name) in self.header.iter().enumerate() {
            // A corner without a text is not the heading of a column.
            let element = if name.is_empty() { "td" } else { "th" };
            let scope = if name.is_empty() { "" } else { " scope=\"col\"" };
            let text = match self.meanings.iter().find(|(key, _)| key == name) {
                Some((_, says)) => words.explain(name, says),
                None => words.mark(name),
            };
            let _ = write!(html, "<{element}{scope}{}>{text}</{element}>", self.kind(i));
        }
        html.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            html.push_str("<tr>");
            for (i, cell) in row.cells.iter().enumerate() {
                let heads = i == 0 && self.texts > 0 && !cell.text.is_empty();
                let element = if heads { "th scope=\"row\"" } else { "td" };
                html.push_str(&cell.html(&format!("{element}{}", self.kind(i))));
            }
            html.push_str("</tr>\n");
            if !row.notes.is_empty() {
                let notes: String = row.notes.iter().map(|note| format!("<p>{}</p>", escape(note))).collect();
                let _ = writeln!(html, "<tr class=\"notes\"><td colspan=\"{}\">{notes}</td></tr>", self.header.len());
            }
        }
        html.push_str("</tbody>\n</table></div>\n");
        if self.fold.is_some() {
            html.push_str("</details>\n");
        }
    }

    /// The attribute that marks the cells of a text column.
    const fn kind(&self, column: usize) -> &'static str {
        if column < self.texts { " data-text" } else { "" }
    }
}

impl Cell {
    fn html(&self, element: &str) -> String {
        let name = element.split(' ').next().unwrap_or(element);
        let of = self.of.as_ref().map_or_else(String::new, |of| format!(" data-of=\"{}\"", escape(of)));
        let class = if self.class.is_empty() { String::new() } else { format!(" class=\"{}\"", self.class) };
        format!("<{element}{class}{of}>{}</{name}>", escape(&self.text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figure::{Axis, Chart, Scale};
    use study::metric::Dimension;

    fn a_page() -> Page {
        let axis = || Axis::new("a </script> b", Dimension::Plain, Scale::Linear);
        let figure = Figure::new("<b>", "\"quoted\"", Chart::Lines { x: axis(), y: axis(), lines: Vec::new() });
        let row = Row { cells: vec!["a".into(), Cell::of("1.5ms", "/a/us")], notes: vec!["a & b".into()] };
        let header = vec!["name".into(), "time".into()];
        let table = Table { heading: "T".into(), header, texts: 1, rows: vec![row], ..Table::default() };
        let text = Block::Text { heading: "Text".into(), text: "1 < 2".into(), open: false };
        let section = Section { figures: vec![figure], below: vec![Block::Table(table), text], ..Section::default() };
        let result = "{\"a\": {\"us\": 1500.0, \"b\": \"</script>\"}}\n".into();
        let lead = Lead { compared: "x & y".into(), came_out: Vec::new(), caution: vec!["no <b>".into()] };
        Page { title: "a <page>".into(), about: "me".into(), lead, sections: vec![section.clone(), section], result }
    }

    #[test]
    fn the_data_is_json_and_cannot_close_its_script() {
        let html = a_page().html();
        let (_, data) = html.split_once("id=\"data\">").expect("the data");
        let (data, rest) = data.split_once("</script>").expect("its end");
        let json: serde_json::Value = serde_json::from_str(data).expect("JSON");
        assert_eq!(json["figures"].as_array().map(Vec::len), Some(2));
        assert_eq!(json["figures"][1]["x"]["label"], "a </script> b");
        assert_eq!(json["result"]["a"]["us"], 1500.0);
        assert_eq!((rest.matches("</script>").count(), html.matches("</script>").count()), (9, 10));
        assert!(html.contains("data-figure=\"0\"") && html.contains("data-figure=\"1\""));
    }

    #[test]
    fn text_and_tables_need_no_script() {
        let html = a_page().html();
        for wanted in [
            "<h1>a &lt;page&gt;</h1>",
            "<h3>&lt;b&gt;</h3><p>&quot;quoted&quot;</p>",
            "<p><b>What ran.</b> x &amp; y</p>\n<p><b>What not to conclude.</b></p>\n<ul>\n<li>no &lt;b&gt;</li>",
            "aria-label=\"T\"><table>\n<caption>T</caption>",
            "<th scope=\"row\" data-text>a</th><td data-of=\"/a/us\">1.5ms</td>",
            "<tr class=\"notes\"><td colspan=\"2\"><p>a &amp; b</p></td></tr>",
            "<details><summary>Text</summary><pre tabindex=\"0\" role=\"region\" aria-label=\"Text\">1 &lt; 2</pre></details>",
        ] {
            assert!(html.contains(wanted), "{wanted}");
        }
    }

    #[test]
    fn the_page_fetches_nothing_and_no_part_closes_its_script() {
        let html = a_page().html();
        assert!(html.contains("default-src 'none'"));
        for part in SCRIPTS.iter().chain([&LIBRARY]) {
            assert!(!part.contains("</script") && !part.contains("<!--"), "it would end its script");
        }
        for part in SCRIPTS.iter().chain([&COLOURS, &STYLE]) {
            for call in ["http:", "https:", "url(", "@import", "fetch(", "XMLHttpRequest", "import("] {
                assert!(!part.contains(call), "{call} in {}", part.lines().next().unwrap_or_default());
            }
        }
    }

    #[test]
    fn the_chart_library_has_the_pinned_version() {
        let version = |text: &str, at: &str| {
            let json: serde_json::Value = serde_json::from_str(text).expect("JSON");
            json.pointer(at).and_then(serde_json::Value::as_str).expect("a version").to_owned()
        };
        let asked = version(include_str!("../assets/package.json"), "/dependencies/echarts");
        let locked = version(include_str!("../assets/package-lock.json"), "/packages/node_modules~1echarts/version");
        assert_eq!(asked, locked, "npm install");
        assert!(LIBRARY.starts_with(&format!("/*! Apache ECharts {asked} ")), "rebuild it: see assets/README.md");
        // The version that the library itself reports, not only the one in its heading.
        assert!(LIBRARY.contains(&format!("\"{asked}\"")), "rebuild it: see assets/README.md");
    }
}
