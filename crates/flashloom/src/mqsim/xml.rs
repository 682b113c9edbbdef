//! Parameters in MQSim's XML files: elements with a text, in groups. All faults are collected, with their lines.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;
use std::str::FromStr;

use roxmltree::{Document, Node};
use study::config::did_you_mean;

/// Repairs a text as MQSim's parser (rapidxml) reads it: a closing tag ends the innermost open element, whatever its name.
pub(super) fn repaired(text: &str) -> String {
    let (mut out, mut rest) = (String::with_capacity(text.len()), text);
    let mut open: Vec<&str> = Vec::new();
    while let Some(at) = rest.find('<') {
        let (before, tag) = rest.split_at(at);
        out.push_str(before);
        // Comments, declarations and CDATA sections have no tags in them.
        let others = [("<!--", "-->"), ("<?", "?>"), ("<![CDATA[", "]]>"), ("<!", ">")];
        let end = others.iter().find(|(begin, _)| tag.starts_with(begin)).map_or(">", |(_, end)| end);
        let Some(length) = tag.find(end).map(|at| at + end.len()) else { break };
        let (tag, after) = tag.split_at(length);
        let name = |of: &'static str| {
            let name = tag.strip_prefix(of)?;
            name.split([' ', '\t', '\r', '\n', '/', '>']).next()
        };
        match (name("</"), name("<")) {
            (Some(name), _) => {
                let name = open.pop().unwrap_or(name);
                let lines = tag.matches('\n').count();
                out.push_str(&format!("</{name}{}>", "\n".repeat(lines)));
            }
            (None, Some(name)) if end == ">" && !tag.starts_with("<!") => {
                if !tag.ends_with("/>") {
                    open.push(name);
                }
                out.push_str(tag);
            }
            _ => out.push_str(tag),
        }
        rest = after;
    }
    out + rest
}

/// All faults of a file, each on a line of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct XmlFaults(Vec<String>);

impl fmt::Display for XmlFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.join("\n"))
    }
}

pub(super) struct XmlFile<'a> {
    path: &'a Path,
    document: Document<'a>,
    faults: RefCell<XmlFaults>,
}

impl<'a> XmlFile<'a> {
    /// Parses a file whose outermost element has this name.
    pub(super) fn parse(path: &'a Path, text: &'a str, root: &str) -> Result<Self, XmlFaults> {
        let document = Document::parse(text).map_err(|error| {
            let line = error.pos().row;
            XmlFaults(vec![format!(
                "{}:{line}: is not XML: {error}; give a file that MQSim reads, e.g. its ssdconfig.xml",
                path.display()
            )])
        })?;
        let file = Self { path, document, faults: RefCell::default() };
        let outermost = file.document.root_element();
        if outermost.has_tag_name(root) {
            return Ok(file);
        }
        let name = outermost.tag_name().name();
        file.fault(outermost, &format!("the file is a <{name}>, not a <{root}>; give MQSim's file of that kind"));
        Err(file.faults.take())
    }

    /// The groups of this name directly in the outermost element.
    pub(super) fn groups<'b>(&'b self, names: &'b [&str]) -> Vec<XmlGroup<'b, 'a>> {
        self.all(self.document.root_element(), names)
    }

    /// The group of this name. If it is missing, `None` is returned and a fault noted.
    pub(super) fn group<'b>(&'b self, name: &'b str) -> Option<XmlGroup<'b, 'a>> {
        let root = self.document.root_element();
        let found = self.all(root, &[name]).into_iter().next();
        if found.is_none() {
            let outer = root.tag_name().name();
            self.fault(root, &format!("<{outer}> has no <{name}>; add it with its parameters"));
        }
        found
    }

    fn all<'b>(&'b self, node: Node<'b, 'a>, names: &[&str]) -> Vec<XmlGroup<'b, 'a>> {
        let group = |node| XmlGroup { file: self, node, asked: RefCell::default() };
        node.children().filter(|node| names.contains(&node.tag_name().name())).map(group).collect()
    }

    /// The file, the line of a parameter in it, and the parameter.
    pub(super) fn place(&self, name: &str) -> String {
        let found = self.document.descendants().find(|node| node.is_element() && node.has_tag_name(name));
        match found {
            Some(node) => format!("{}:{}: {name}", self.path.display(), self.line(node)),
            None => self.path.display().to_string(),
        }
    }

    fn line(&self, node: Node<'_, '_>) -> u32 {
        self.document.text_pos_at(node.range().start).row
    }

    fn fault(&self, node: Node<'_, '_>, what: &str) {
        let line = self.line(node);
        let said = format!("{}:{line}: {what}", self.path.display());
        let faults = &mut self.faults.borrow_mut().0;
        // Several keys may come from one parameter, whose fault is noted once.
        if !faults.contains(&said) {
            faults.push(said);
        }
    }

    /// Fails with all faults found so far, if there are any.
    pub(super) fn check(&self) -> Result<(), XmlFaults> {
        let faults = self.faults.borrow().clone();
        if faults.0.is_empty() { Ok(()) } else { Err(faults) }
    }
}

/// An element whose children are parameters. A missing or wrong parameter is noted as a fault of the file; the returned value is
/// then a placeholder until [`XmlFile::check`] fails.
pub(super) struct XmlGroup<'b, 'a> {
    file: &'b XmlFile<'a>,
    node: Node<'b, 'a>,
    asked: RefCell<BTreeSet<String>>,
}

impl<'b, 'a> XmlGroup<'b, 'a> {
    pub(super) fn name(&self) -> &'b str {
        self.node.tag_name().name()
    }

    /// The groups of these names inside the element.
    pub(super) fn groups(&self, names: &[&str]) -> Vec<Self> {
        self.asked.borrow_mut().extend(names.iter().map(|name| (*name).to_owned()));
        self.file.all(self.node, names)
    }

    /// The group of this name inside the element. If it is missing, `None` is returned and a fault noted.
    pub(super) fn group(&self, name: &str) -> Option<Self> {
        let found = self.groups(&[name]).into_iter().next();
        if found.is_none() {
            self.file.fault(self.node, &format!("<{}> has no <{name}>; add it with its parameters", self.name()));
        }
        found
    }

    fn find(&self, name: &str) -> Option<(Node<'b, 'a>, &'b str)> {
        self.asked.borrow_mut().insert(name.to_owned());
        let node = self.node.children().find(|node| node.has_tag_name(name))?;
        Some((node, node.text().unwrap_or_default().trim()))
    }

    /// True if the element has this parameter.
    pub(super) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The text of a parameter that must be there, with its element.
    fn text_of(&self, name: &str, example: &str) -> Option<(Node<'b, 'a>, &'b str)> {
        let found = self.find(name);
        if found.is_none() {
            let names = self.node.children().filter(Node::is_element).map(|node| node.tag_name().name());
            let meant = did_you_mean(name, names);
            let (group, tag) = (self.name(), format!("<{name}>{example}</{name}>"));
            self.file.fault(self.node, &format!("<{group}> has no {name}; {meant}add it, e.g. {tag}"));
        }
        found
    }

    pub(super) fn text(&self, name: &str, example: &str) -> &'b str {
        self.text_of(name, example).map(|(_, text)| text).unwrap_or_default()
    }

    fn parsed<T: FromStr + Default>(&self, name: &str, what: &str, example: &str, is_sound: fn(&T) -> bool) -> T {
        let Some((node, text)) = self.text_of(name, example) else { return T::default() };
        let value = text.parse().ok().filter(is_sound);
        value.unwrap_or_else(|| {
            self.file.fault(node, &format!("{name}: `{text}` is not {what}; write e.g. {example}"));
            T::default()
        })
    }

    /// A whole number above zero.
    pub(super) fn count(&self, name: &str, example: &str) -> u64 {
        self.parsed(name, "a whole number above zero", example, |number: &u64| *number > 0).max(1)
    }

    /// A whole number above zero; none without noting a fault, because the part that needs the number notes it.
    pub(super) fn sound_count(&self, name: &str) -> Option<u64> {
        self.find(name)?.1.parse().ok().filter(|number| *number > 0)
    }

    /// A whole number, which may be zero.
    pub(super) fn whole(&self, name: &str, example: &str) -> u64 {
        self.parsed(name, "a whole number", example, |_| true)
    }

    /// A number that is not negative.
    pub(super) fn number(&self, name: &str, example: &str) -> f64 {
        self.parsed(name, "a number", example, |number: &f64| number.is_finite() && *number >= 0.0)
    }

    /// A whole number from 0 to 100.
    pub(super) fn percent(&self, name: &str, example: &str) -> u64 {
        self.parsed(name, "a percentage from 0 to 100", example, |number: &u64| *number <= 100)
    }

    /// `true` or `false`.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.choice(name, &[("TRUE", true), ("FALSE", false)]).unwrap_or_default()
    }

    /// The value of one of several names, in any case. For other texts, `None` is returned and a fault noted.
    pub(super) fn choice<T: Copy>(&self, name: &str, all: &[(&str, T)]) -> Option<T> {
        let (node, text) = self.text_of(name, all.first().map_or("", |(name, _)| *name))?;
        let found = all.iter().find(|(name, _)| name.eq_ignore_ascii_case(text)).map(|(_, value)| *value);
        if found.is_none() {
            let names: Vec<&str> = all.iter().map(|(name, _)| *name).collect();
            let meant = did_you_mean(&text.to_ascii_uppercase(), names.iter().copied());
            let names = names.join(", ");
            self.file.fault(node, &format!("{name}: `{text}` is unknown; {meant}choose one of {names}"));
        }
        found
    }

    /// Whole numbers with commas between them.
    pub(super) fn list(&self, name: &str) -> Vec<u64> {
        let Some((node, text)) = self.text_of(name, "0,1") else { return Vec::new() };
        let numbers: Result<Vec<u64>, _> = text.split(',').map(|number| number.trim().parse()).collect();
        numbers.unwrap_or_else(|_| {
            self.file.fault(node, &format!("{name}: `{text}` is not a list of whole numbers; write e.g. 0,1"));
            Vec::new()
        })
    }

    /// Notes a fault of an existing parameter.
    pub(super) fn fault(&self, name: &str, what: &str) {
        let node = self.find(name).map_or(self.node, |(node, _)| node);
        self.file.fault(node, &format!("{name}: {what}"));
    }

    /// The names of parameters that were never read.
    pub(super) fn others(&self) -> Vec<&'b str> {
        let asked = self.asked.borrow();
        let names = self.node.children().filter(Node::is_element).map(|node| node.tag_name().name());
        names.filter(|name| !asked.contains(*name)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closing_tag_ends_the_innermost_element_whatever_its_name() {
        let text = "<?xml version=\"1.0\"?>\n<!-- </no> -->\n<A>\n<B x=\"1\">1</C>\n<D/>\n</E>\n";
        assert_eq!(repaired(text), text.replace("</C>", "</B>").replace("</E>", "</A>"));
        for sound in ["<A><B>1</B></A>", "<A><![CDATA[</x>]]></A>", "no XML", "<A", "</A>"] {
            assert_eq!(repaired(sound), sound);
        }
    }

    #[test]
    fn faults_name_the_file_the_line_and_what_to_write() {
        let path = Path::new("a.xml");
        let text =
            "<All>\n<G>\n<Size>8k</Size>\n<Kind>raedy</Kind>\n<Shaer>101</Shaer>\n<Ids>0,x</Ids>\n</G>\n</All>\n";
        let file = XmlFile::parse(path, text, "All").unwrap_or_else(|faults| panic!("{faults}"));
        let group = file.group("G").expect("there");
        assert!(file.check().is_ok());
        group.count("Size", "8");
        assert_eq!(group.choice("Kind", &[("READY", 1), ("STEADY", 2)]), None);
        group.percent("Share", "7");
        group.list("Ids");
        assert!(file.group("H").is_none());
        let said = file.check().expect_err("five").to_string();
        let wanted = "a.xml:3: Size: `8k` is not a whole number above zero; write e.g. 8\n\
                      a.xml:4: Kind: `raedy` is unknown; did you mean `READY`? choose one of READY, STEADY\n\
                      a.xml:2: <G> has no Share; did you mean `Shaer`? add it, e.g. <Share>7</Share>\n\
                      a.xml:6: Ids: `0,x` is not a list of whole numbers; write e.g. 0,1\n\
                      a.xml:1: <All> has no <H>; add it with its parameters";
        assert_eq!(said, wanted);
        assert_eq!(group.others(), ["Shaer"]);
        let said = XmlFile::parse(path, "<All>\n<G>\n</All>", "All").err().expect("not XML").to_string();
        assert!(said.starts_with("a.xml:3: is not XML: "), "{said}");
        let said = XmlFile::parse(path, "<Other/>", "All").err().expect("another file").to_string();
        assert!(said.starts_with("a.xml:1: the file is a <Other>, not a <All>"), "{said}");
    }
}
