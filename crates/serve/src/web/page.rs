//! The page, put together from its parts into one file.

use std::sync::OnceLock;

use hyper::body::Bytes;
use report::page::{COLOURS, NUMBERS};

const HTML: &str = include_str!("../../assets/live.html");
const STYLE: &str = include_str!("../../assets/live.css");
/// The scripts in order: each uses those before it.
const SCRIPTS: [&str; 4] = [
    NUMBERS,
    include_str!("../../assets/lines.js"),
    include_str!("../../assets/maps.js"),
    include_str!("../../assets/live.js"),
];

pub(super) fn html() -> Bytes {
    static PAGE: OnceLock<Bytes> = OnceLock::new();
    let whole = || {
        let scripts: String = SCRIPTS.iter().map(|script| format!("<script>\n{script}</script>\n")).collect();
        let html = HTML.replace("<!-- style -->", &format!("<style>\n{COLOURS}{STYLE}</style>"));
        html.replace("<!-- scripts -->\n", &scripts).into()
    };
    PAGE.get_or_init(whole).clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_is_whole_and_loads_nothing() {
        let html = String::from_utf8(html().to_vec()).expect("text");
        assert!(!html.contains("<!-- s") && html.contains("--c0: #0072b2") && html.contains("new EventSource"));
        for load in ["src=", "rel=\"stylesheet", "@import", "url(", "https://", "import("] {
            assert!(!html.contains(load), "{load}");
        }
    }
}
