//! A test of the names of types: each is a noun, has few meanings in the workspace, and is the same in every import.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::imports::single_paths;

/// The most definitions of a name in all crates. A reader who meets the name must know which of them it is.
const MOST_MEANINGS: usize = 4;

/// Prepositions, adverbs, conjunctions and pronouns, none of which is a type's name or the last word of one.
const NO_NOUNS: &str = "About Above Across After Again Against Ahead Alike Alone Along Already Also Always Among An And \
    Another Any Around As Aside At Away Before Behind Below Beneath Beside Besides Between Beyond Both But By During \
    Each Either Else Every For From Further Hence Here How However If In Inside Instead Into It Its Itself Like \
    Meanwhile More Most Much Neither Never Nor Not Nothing Now Of Off On Once One Only Onto Or Other Others Otherwise \
    Out Outside Over Own Per Perhaps Same Several Since So Some Such Than That Then There These They This Those Though \
    Through Thus Till To Together Too Toward Towards Under Until Up Upon Via What When Where Whether Which While Who \
    Whose Why With Within Without Yet";

/// A noun whose last word is in [`NO_NOUNS`].
const COMPOUND: [&str; 1] = ["WarmUp"];

/// Participles that do not end in `ed` or `ing`.
const IRREGULAR: &str = "Become Began Begun Bent Broken Brought Built Caught Chosen Come Dealt Done Drawn Driven Fallen \
    Fed Felt Forgotten Found Frozen Given Gone Grown Had Heard Held Hidden Kept Known Laid Led Left Lent Lost Made Meant \
    Met Overwritten Paid Proven Ran Rewritten Risen Run Said Seen Sent Shown Shut Sought Spent Stuck Sunk Swept Taken \
    Thought Thrown Told Torn Understood Unknown Withdrawn Won Worn Written";

/// Nouns that look like participles, each with its meaning.
const NOUNS: [(&str, &str); 14] = [
    ("Backing", "the store behind a cache or an array"),
    ("Decoding", "the correction of codewords"),
    ("Feed", "a stream of messages to subscribers"),
    ("Mapping", "the map from logical to physical addresses"),
    ("Meaning", "the definition of a metric"),
    ("Need", "an amount of memory or space"),
    ("Pacing", "the rule for the times of requests"),
    ("Preconditioning", "writes before a measurement (SNIA)"),
    ("Ranking", "an order by value"),
    ("Recording", "requests that were written down"),
    ("Run", "one execution, or adjacent numbers (run-length coding)"),
    ("Setting", "a choice of the user"),
    ("Striping", "the division of data over dies"),
    ("Timing", "array times of a die (data sheets)"),
];

/// Items of other crates that have another name here, each with the reason.
const ALIASES: [(&str, &str); 1] = [("serde_json::Value as Json", "`toml::Value` is `Value` there")];

/// A file, the number of a line, and a name or the reason of a violation.
type Site = (String, usize, String);

/// Returns the name that a line defines as a type, and whether the line is `type NAME`.
fn definition(line: &str) -> Option<(&str, bool)> {
    let mut rest = line.trim_start();
    if let Some(public) = rest.strip_prefix("pub") {
        let scope = public.strip_prefix('(').map(|scope| scope.split_once(')').map_or("", |(_, after)| after));
        rest = scope.unwrap_or(public).trim_start();
    }
    rest = rest.strip_prefix("unsafe ").unwrap_or(rest);
    let (keyword, rest) = rest.split_once(' ')?;
    let name = rest.split(|c: char| !c.is_alphanumeric() && c != '_').next()?;
    let is_definition = ["struct", "enum", "trait", "type", "union"].contains(&keyword);
    (is_definition && name.starts_with(char::is_uppercase)).then_some((name, keyword == "type"))
}

/// Returns true if a line opens the block of an `impl` or a `trait`.
fn opens_block(line: &str) -> bool {
    let code = line.split("//").next().unwrap_or("").trim();
    let mut words =
        code.split(|c: char| !c.is_alphanumeric()).filter(|word| !["pub", "crate", "unsafe"].contains(word));
    let keyword = words.find(|word| !word.is_empty() && !["super", "in"].contains(word));
    matches!(keyword, Some("impl" | "trait")) && !code.ends_with('}') && !code.ends_with(';')
}

/// Returns the types that a file defines, by line. Associated types are not counted: a trait gives them their names.
fn definitions(text: &str) -> Vec<(usize, String)> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let (mut block, mut all) = (None, Vec::new());
    for (i, line) in text.lines().enumerate() {
        if let Some((name, _)) = definition(line).filter(|(_, is_alias)| !(*is_alias && block.is_some())) {
            all.push((i + 1, name.to_owned()));
        }
        match block {
            None if opens_block(line) => block = Some(indent(line)),
            Some(outer) if indent(line) == outer && line.trim_start().starts_with('}') => block = None,
            _ => {}
        }
    }
    all
}

/// Splits a name into its words.
fn words(name: &str) -> Vec<&str> {
    let starts: Vec<usize> = name.char_indices().filter(|(_, c)| c.is_uppercase()).map(|(i, _)| i).collect();
    let ends = starts.iter().skip(1).copied().chain([name.len()]);
    starts.iter().zip(ends).map(|(start, end)| &name[*start..end]).collect()
}

/// Returns the reason why a name is no noun; `None` if it is one.
fn fault(name: &str) -> Option<&'static str> {
    let words = words(name);
    let last = words.last()?;
    let listed = |list: &str| list.split_whitespace().any(|word| word == *last);
    let is_noun = NOUNS.iter().any(|(noun, _)| noun == last);
    if listed(NO_NOUNS) && !COMPOUND.contains(&name) {
        return Some("is or ends in a preposition, an adverb or a pronoun");
    }
    let is_participle = last.ends_with("ed") || last.ends_with("ing") || listed(IRREGULAR);
    (words.len() == 1 && is_participle && !is_noun).then_some("is a participle")
}

/// Returns the imports under another name, by line.
fn aliases(text: &str) -> Vec<(usize, String)> {
    let mut all = Vec::new();
    let mut statement: Option<(usize, String)> = None;
    for (i, line) in text.lines().enumerate() {
        let code = line.split("//").next().unwrap_or("").trim();
        let public = code.strip_prefix("pub").map(|rest| rest.split_once(' ').map_or("", |(_, after)| after));
        match (&mut statement, public.unwrap_or(code).strip_prefix("use ")) {
            (None, Some(path)) => statement = Some((i + 1, path.to_owned())),
            (Some((_, whole)), _) => whole.push_str(code),
            (None, None) => continue,
        }
        if code.ends_with(';')
            && let Some((line, whole)) = statement.take()
        {
            let paths = single_paths(whole.trim_end_matches(';')).into_iter();
            all.extend(paths.filter(|path| path.contains(" as ") && !path.ends_with(" as _")).map(|path| (line, path)));
        }
    }
    all
}

fn walk(folder: &Path, each: &mut dyn FnMut(&Path, &str)) {
    for entry in fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path()) {
        if entry.is_dir() {
            walk(&entry, each);
        } else if entry.extension().is_some_and(|end| end == "rs") {
            each(&entry, &fs::read_to_string(&entry).expect("a source file"));
        }
    }
}

/// Applies a function to each file of all crates.
fn sites(of: fn(&str) -> Vec<(usize, String)>) -> Vec<Site> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("all crates");
    let mut all = Vec::new();
    for one in fs::read_dir(crates).expect("all crates").map(|entry| entry.expect("a crate").path()) {
        for folder in ["src", "tests", "examples", "benches"].map(|name| one.join(name)) {
            if folder.is_dir() {
                walk(&folder, &mut |path, text| {
                    let path = path.strip_prefix(crates).expect("a file of a crate").display().to_string();
                    all.extend(of(text).into_iter().map(|(line, what)| (path.clone(), line, what)));
                });
            }
        }
    }
    all
}

fn shown(sites: &[Site]) -> String {
    sites.iter().map(|(path, line, what)| format!("{path}:{line}: {what}\n")).collect()
}

#[test]
fn a_name_of_a_type_has_few_meanings() {
    let all = sites(definitions);
    assert!(all.len() > 1_000, "only {} types were read", all.len());
    let mut by_name: BTreeMap<&str, Vec<Site>> = BTreeMap::new();
    for site in &all {
        by_name.entry(&site.2).or_default().push(site.clone());
    }
    let many: Vec<Site> = by_name.into_values().filter(|sites| sites.len() > MOST_MEANINGS).flatten().collect();
    assert!(many.is_empty(), "more than {MOST_MEANINGS} types have each of these names, say which:\n{}", shown(&many));
}

#[test]
fn a_name_of_a_type_is_a_noun() {
    let wrong = sites(definitions).into_iter();
    let wrong = wrong.filter_map(|(path, line, name)| fault(&name).map(|why| (path, line, format!("`{name}` {why}"))));
    let wrong: Vec<Site> = wrong.collect();
    assert!(wrong.is_empty(), "name each after the thing that it is:\n{}", shown(&wrong));
}

#[test]
fn every_exception_is_needed() {
    let (types, imports) = (sites(definitions), sites(aliases));
    let is_in = |sites: &[Site], wanted: &str| sites.iter().any(|(.., what)| what == wanted);
    for (noun, _) in NOUNS {
        assert!(is_in(&types, noun), "no type is named `{noun}`");
    }
    assert!(is_in(&types, COMPOUND[0]) && is_in(&imports, ALIASES[0].0), "an exception names nothing");
}

#[test]
fn no_import_renames() {
    let mut all = sites(aliases);
    all.retain(|(.., path)| !ALIASES.iter().any(|(alias, _)| alias == path));
    assert!(all.is_empty(), "name the module instead (`account::Cause`):\n{}", shown(&all));
}

#[test]
fn definitions_are_found_and_associated_types_are_not() {
    let text = "pub(in crate::page) struct Step<'a> {\n    one: u8,\n}\nimpl Iterator for Step<'_> {\n    type Item = u8;\n\
        \x20   fn next(&mut self) -> Option<u8> {\n        struct Inner;\n        None\n    }\n}\nunsafe trait Mark {}\n\
        pub trait Load {\n    type Output;\n}\ntype Alias = u8;\n// struct Comment;\nlet kind = structure;\nenum Two {}\n";
    let names: Vec<(usize, String)> = definitions(text);
    let wanted = [(1, "Step"), (7, "Inner"), (11, "Mark"), (12, "Load"), (15, "Alias"), (18, "Two")];
    assert_eq!(names, wanted.map(|(line, name)| (line, name.to_owned())));
}

#[test]
fn nouns_are_told_from_other_words() {
    for name in ["On", "Beside", "PointOf", "LookUp", "Told", "Ran", "Failing", "Dealt", "Keyed"] {
        assert!(fault(name).is_some(), "{name}");
    }
    for name in ["Step", "WarmUp", "Mapping", "Run", "OpenRun", "Onset", "KeyedRun", "ServedDrive", "Lba"] {
        assert_eq!(fault(name), None, "{name}");
    }
}

#[test]
fn renaming_imports_are_found() {
    let text = "use a::b;\npub use a::{b as c, d::{\n    e,\n    f as g, // why\n}};\nuse h::Trait as _;\n    pub(crate) use i as j;\n\
        let x = 1 as u8;\n";
    let wanted = [(2, "a::b as c"), (2, "a::d::f as g"), (7, "i as j")];
    assert_eq!(aliases(text), wanted.map(|(line, path)| (line, path.to_owned())));
}
