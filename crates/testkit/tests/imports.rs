//! The import declarations of a source file, as text.

/// Splits the tree of a `use` into its single paths, each with its alias.
pub(crate) fn single_paths(text: &str) -> Vec<String> {
    let Some((before, inside)) = text.trim().split_once('{') else {
        return vec![text.split_whitespace().collect::<Vec<_>>().join(" ")];
    };
    let inside = inside.trim_end().strip_suffix('}').unwrap_or(inside);
    let (mut depth, mut part, mut all) = (0, String::new(), Vec::new());
    for c in inside.chars().chain([',']) {
        match c {
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => {
                let whole = std::mem::take(&mut part);
                if !whole.trim().is_empty() {
                    all.extend(single_paths(&whole).into_iter().map(|rest| format!("{before}{rest}")));
                }
                continue;
            }
            _ => {}
        }
        part.push(c);
    }
    all
}
