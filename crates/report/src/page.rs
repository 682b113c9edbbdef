//! Pages that need nothing but themselves: HTML with the numbers, the data as JSON, and the program that draws them.
//!
//! Everything that can be read is in the HTML, so that a page without JavaScript lacks its charts and nothing else.
//! The policy at its head forbids it to load anything from anywhere.

use std::fmt::Write as _;

use serde::Serialize;

use study::output::PAGE;

use super::figure::Figure;

const STYLE: &str = include_str!("../assets/report.css");
const LIBRARY: &str = include_str!("../assets/echarts.min.js");
const CHARTS: &str = include_str!("../assets/charts.js");
const SCRIPT: &str = include_str!("../assets/report.js");

/// A page to look at.
#[derive(Clone, Debug)]
pub struct Page {
    /// What it is about.
    pub title: String,
    /// What made it.
    pub about: String,
    /// Its parts, from the top.
    pub sections: Vec<Section>,
    /// The same for programs, in JSON: what `--json` prints, or the part of it that the page shows.
    pub result: String,
}

/// A part of a page.
#[derive(Clone, Debug, Default)]
pub struct Section {
    /// Its heading; none if it is the only part.
    pub heading: String,
    /// What it is about, in a sentence or two.
    pub note: String,
    /// Above the charts.
    pub above: Vec<Block>,
    /// Its charts.
    pub figures: Vec<Figure>,
    /// Below the charts.
    pub below: Vec<Block>,
}

/// Something to read.
#[derive(Clone, Debug)]
pub enum Block {
    /// A few numbers that say most.
    Tiles(Vec<Tile>),
    /// A table.
    Table(Table),
    /// Text as it is, behind a heading that opens and closes it.
    Text {
        /// The heading.
        heading: String,
        /// The text.
        text: String,
        /// Whether it is open at first; a text that is closed is not printed.
        open: bool,
    },
}

/// A number with what it is.
#[derive(Clone, Debug)]
pub struct Tile {
    /// What it is.
    pub name: String,
    /// The number.
    pub value: Cell,
}

/// A table, one page wide: it scrolls where the page is narrower.
#[derive(Clone, Debug, Default)]
pub struct Table {
    /// Its heading.
    pub heading: String,
    /// If given, the heading opens and closes it, and this says whether it is open at first.
    pub fold: Option<bool>,
    /// The headings of its columns.
    pub header: Vec<String>,
    /// How many columns hold text, from the left; the others hold numbers.
    pub texts: usize,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// A row of a table.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// One for each column.
    pub cells: Vec<Cell>,
    /// What has to be said about it, a paragraph each, below it.
    pub notes: Vec<String>,
}

/// A cell of a table.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    /// What it says.
    pub text: String,
    /// Where the number is in [`Page::result`], as a JSON pointer.
    pub of: Option<String>,
    /// A class of the style sheet: `best` or a verdict.
    pub class: &'static str,
}

impl Cell {
    /// A number of the result.
    pub fn of(text: impl Into<String>, pointer: impl Into<String>) -> Self {
        Self { text: text.into(), of: Some(pointer.into()), class: "" }
    }
}

impl<T: Into<String>> From<T> for Cell {
    fn from(text: T) -> Self {
        Self { text: text.into(), of: None, class: "" }
    }
}

/// Text that may stand in a page.
fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// JSON that may stand in a script: nothing in it ends the script.
fn in_script(json: &str) -> String {
    json.replace('<', "\\u003c")
}

/// What the script draws.
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
        let mut html = format!(
            "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n{PAGE}\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <meta name=\"color-scheme\" content=\"light dark\">\n\
             <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; \
             script-src 'unsafe-inline'; img-src data:\">\n\
             <title>{0}</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<div>\n<h1>{0}</h1>\n\
             <p>{1}</p>\n</div>\n<div id=\"controls\" hidden></div>\n</header>\n\
             <noscript><p>The charts need JavaScript. All numbers can be read without it.</p></noscript>\n<main>\n",
            escape(&self.title),
            escape(&self.about)
        );
        let mut number = 0;
        for section in &self.sections {
            section.html(&mut html, &mut number);
        }
        let _ = write!(
            html,
            "</main>\n<script type=\"application/json\" id=\"data\">{{\"figures\":{},\n\"result\":{}}}</script>\n\
             <script>\n{LIBRARY}</script>\n<script>\n{CHARTS}</script>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n",
            in_script(&figures),
            in_script(self.result.trim_end())
        );
        html
    }
}

impl Section {
    /// Adds it; `number` is that of the next chart.
    fn html(&self, html: &mut String, number: &mut usize) {
        html.push_str("<section>\n");
        if !self.heading.is_empty() {
            let _ = writeln!(html, "<h2>{}</h2>", escape(&self.heading));
        }
        if !self.note.is_empty() {
            let _ = writeln!(html, "<p class=\"note\">{}</p>", escape(&self.note));
        }
        self.above.iter().for_each(|block| block.html(html));
        if !self.figures.is_empty() {
            html.push_str("<div class=\"figures\">\n");
            for Figure { heading, note, .. } in &self.figures {
                let (heading, note) = (escape(heading), escape(note));
                let _ = writeln!(
                    html,
                    "<figure><figcaption><h3>{heading}</h3><p>{note}</p></figcaption>\
                     <div class=\"chart\" data-figure=\"{number}\"></div></figure>"
                );
                *number += 1;
            }
            html.push_str("</div>\n");
        }
        self.below.iter().for_each(|block| block.html(html));
        html.push_str("</section>\n");
    }
}

impl Block {
    fn html(&self, html: &mut String) {
        match self {
            Self::Tiles(tiles) => {
                html.push_str("<dl class=\"tiles\">\n");
                for Tile { name, value } in tiles {
                    let _ = writeln!(html, "<div><dt>{}</dt>{}</div>", escape(name), value.html("dd"));
                }
                html.push_str("</dl>\n");
            }
            Self::Table(table) => table.html(html),
            Self::Text { heading, text, open } => {
                let (heading, text) = (escape(heading), escape(text));
                let open = if *open { " open" } else { "" };
                let _ = writeln!(html, "<details{open}><summary>{heading}</summary><pre>{text}</pre></details>");
            }
        }
    }
}

impl Table {
    fn html(&self, html: &mut String) {
        let heading = escape(&self.heading);
        let _ = match self.fold {
            Some(open) => {
                writeln!(html, "<details{}><summary>{heading}</summary>", if open { " open" } else { "" })
            }
            None if heading.is_empty() => Ok(()),
            None => writeln!(html, "<h3>{heading}</h3>"),
        };
        html.push_str("<div class=\"wide\"><table>\n<thead><tr>");
        for (i, name) in self.header.iter().enumerate() {
            let _ = write!(html, "<th scope=\"col\"{}>{}</th>", self.kind(i), escape(name));
        }
        html.push_str("</tr></thead>\n<tbody>\n");
        for row in &self.rows {
            html.push_str("<tr>");
            for (i, cell) in row.cells.iter().enumerate() {
                html.push_str(&cell.html(&format!("td{}", self.kind(i))));
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

    /// What marks the cells of a column.
    const fn kind(&self, column: usize) -> &'static str {
        if column < self.texts { " data-text" } else { "" }
    }
}

impl Cell {
    /// The cell as an element: its name, and attributes behind it.
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
        Page { title: "a <page>".into(), about: "me".into(), sections: vec![section.clone(), section], result }
    }

    #[test]
    fn the_data_is_json_and_nothing_in_it_leaves_its_place() {
        let html = a_page().html();
        let (_, data) = html.split_once("id=\"data\">").expect("the data");
        let (data, rest) = data.split_once("</script>").expect("its end");
        let json: serde_json::Value = serde_json::from_str(data).expect("JSON");
        assert_eq!(json["figures"].as_array().map(Vec::len), Some(2));
        assert_eq!(json["figures"][1]["x"]["label"], "a </script> b");
        assert_eq!(json["result"]["a"]["us"], 1500.0);
        assert_eq!((rest.matches("</script>").count(), html.matches("</script>").count()), (3, 4));
        assert!(html.contains("data-figure=\"0\"") && html.contains("data-figure=\"1\""));
    }

    #[test]
    fn what_can_be_read_needs_no_script() {
        let html = a_page().html();
        for wanted in [
            "<h1>a &lt;page&gt;</h1>",
            "<h3>&lt;b&gt;</h3><p>&quot;quoted&quot;</p>",
            "<td data-text>a</td><td data-of=\"/a/us\">1.5ms</td>",
            "<tr class=\"notes\"><td colspan=\"2\"><p>a &amp; b</p></td></tr>",
            "<details><summary>Text</summary><pre>1 &lt; 2</pre></details>",
        ] {
            assert!(html.contains(wanted), "{wanted}");
        }
    }

    #[test]
    fn nothing_is_fetched_and_no_part_ends_the_script_it_is_in() {
        let html = a_page().html();
        assert!(html.contains("default-src 'none'"));
        for part in [LIBRARY, CHARTS, SCRIPT] {
            assert!(!part.contains("</script") && !part.contains("<!--"), "it would end its script");
        }
        for (name, part) in [("style", STYLE), ("charts", CHARTS), ("script", SCRIPT)] {
            for call in ["http:", "https:", "url(", "@import", "fetch(", "XMLHttpRequest", "import("] {
                assert!(!part.contains(call), "{call} in the {name}");
            }
        }
    }

    #[test]
    fn the_library_is_the_version_that_is_asked_for() {
        let version = |text: &str, at: &str| {
            let json: serde_json::Value = serde_json::from_str(text).expect("JSON");
            json.pointer(at).and_then(serde_json::Value::as_str).expect("a version").to_owned()
        };
        let asked = version(include_str!("../assets/package.json"), "/dependencies/echarts");
        let locked = version(include_str!("../assets/package-lock.json"), "/packages/node_modules~1echarts/version");
        assert_eq!(asked, locked, "npm install");
        assert!(LIBRARY.starts_with(&format!("/*! Apache ECharts {asked} ")), "rebuild it: see assets/README.md");
        // Not only its heading: the version that the library itself gives.
        assert!(LIBRARY.contains(&format!("\"{asked}\"")), "rebuild it: see assets/README.md");
    }
}
