//! Claims as JUnit XML, for the test reports of continuous integration (Jenkins, GitLab, GitHub actions).
//!
//! The form is that of Jenkins' schema (jenkinsci/xunit-plugin, junit-10.xsd), of which GitLab reads a subset:
//! `testsuites`, `testsuite` and `testcase`, each with `name` and the counts or `classname`, and in a case `skipped` or
//! `failure` before `system-out`. The file has neither time nor date, so that equal results give equal files.

use std::borrow::Cow;
use std::fmt::Write as _;

use study::execute::{Claim, ExpectationResult, Verdict};
use study::text::percent;
use study::validity::MOST_FAILED;

use super::tables::said_below;

/// The name in the first element, by which Flashloom recognises its own files.
const NAME: &str = study::output::JUNIT;

/// The result of a claim as a test.
enum Result {
    Passed,
    /// The claim does not hold, for a known reason.
    Skipped,
    Failed(&'static str),
}

impl Result {
    const fn of(claim: &Claim) -> Self {
        match claim.verdict {
            Verdict::Holds => Self::Passed,
            Verdict::Partly | Verdict::Differs => Self::Skipped,
            Verdict::Fails => Self::Failed("fails"),
            Verdict::Stale => Self::Failed("stale"),
        }
    }
}

/// The points of a study at which too many requests failed, by name.
pub type UnsoundPoints = (String, Vec<String>);

/// The claims as a document. It has a suite for each study, with a case for each claim that the study is the first to
/// test; and a suite with a failed case for each study with points at which too many requests failed.
#[must_use]
pub fn junit(claims: &[Claim], unsound: &[UnsoundPoints]) -> String {
    // A study may have only measurements that isolate the reasons of another study's claim; such a claim is left out.
    let claims: Vec<(&str, &Claim)> =
        claims.iter().filter_map(|claim| Some((claim.findings.first()?.study.as_str(), claim))).collect();
    let mut studies: Vec<&str> = Vec::new();
    for (study, _) in &claims {
        if !studies.contains(study) {
            studies.push(study);
        }
    }
    let mut text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n".to_owned();
    let _ = writeln!(text, "<testsuites {NAME} {}>", counts(&claims, unsound.len()));
    for study in studies {
        let here: Vec<(&str, &Claim)> = claims.iter().filter(|(of, _)| *of == study).copied().collect();
        let _ = writeln!(text, "  <testsuite name=\"{}\" {}>", escaped(study), counts(&here, 0));
        here.iter().for_each(|(study, claim)| case(&mut text, study, claim));
        text.push_str("  </testsuite>\n");
    }
    unsound.iter().for_each(|of| unsound_suite(&mut text, of));
    text + "</testsuites>\n"
}

/// The suite that names the points of a study at which too many requests failed.
fn unsound_suite(text: &mut String, (study, points): &UnsoundPoints) {
    let name = escaped(study);
    let _ = writeln!(text, "  <testsuite name=\"{name}: requests\" {}>", counts(&[], 1));
    let _ = writeln!(text, "    <testcase name=\"requests succeed\" classname=\"{name}\">");
    let message = format!("more than {} of the requests failed", percent(MOST_FAILED));
    let points = points.join("\n");
    let _ =
        writeln!(text, "      <failure type=\"failed requests\" message=\"{message}\">{}</failure>", escaped(&points));
    text.push_str("    </testcase>\n  </testsuite>\n");
}

/// The attributes with the counts of these claims, and of this many more cases that failed.
fn counts(claims: &[(&str, &Claim)], more: usize) -> String {
    let of = |is: fn(&Result) -> bool| claims.iter().filter(|(_, claim)| is(&Result::of(claim))).count();
    let (failed, skipped) = (of(|one| matches!(one, Result::Failed(_))), of(|one| matches!(one, Result::Skipped)));
    let (all, failed) = (claims.len() + more, failed + more);
    format!("tests=\"{all}\" failures=\"{failed}\" errors=\"0\" skipped=\"{skipped}\"")
}

fn case(text: &mut String, study: &str, claim: &Claim) {
    let name = format!("{}: {}", claim.id, claim.says);
    let _ = writeln!(text, "    <testcase name=\"{}\" classname=\"{}\">", escaped(&name), escaped(study));
    let message = escaped(&message(claim)).into_owned();
    match Result::of(claim) {
        Result::Passed => {}
        Result::Skipped => {
            let _ = writeln!(text, "      <skipped message=\"{message}\"/>");
        }
        Result::Failed(kind) => {
            let details = claim.findings.iter().flat_map(|finding| &finding.offenders).cloned().collect::<Vec<_>>();
            let details = escaped(&details.join("\n")).into_owned();
            let _ = writeln!(text, "      <failure type=\"{kind}\" message=\"{message}\">{details}</failure>");
        }
    }
    let mut said = String::new();
    for ExpectationResult { metric, paper, measured, sharpness, verdict, .. } in &claim.findings {
        let paper = if paper.is_empty() { String::new() } else { format!("paper: {paper}; ") };
        let _ = writeln!(said, "{metric}: {paper}measured: {measured}; asked: {}; {}", sharpness.band, verdict.name());
    }
    said_below(claim).iter().for_each(|line| said.extend([line, "\n"]));
    let _ = writeln!(text, "      <system-out>{}</system-out>\n    </testcase>", escaped(&said));
}

/// The reason for which a claim does not hold: the known reasons, or the measured values.
fn message(claim: &Claim) -> String {
    let bad = claim.findings.iter().filter(|finding| finding.verdict != Verdict::Holds);
    let known: Vec<&str> = bad.clone().filter_map(|finding| finding.reason.as_deref()).collect();
    let stale = claim.isolated.iter().filter(|one| !one.holds).map(|one| format!("`{}` is out of date", one.shows));
    let measured = bad.map(|finding| format!("{} of {}: {}", finding.metric, finding.study, finding.measured));
    match Result::of(claim) {
        Result::Skipped if !known.is_empty() => known.join("; "),
        _ => measured.chain(stale).collect::<Vec<_>>().join("; "),
    }
}

/// Escapes a text for an element or an attribute. XML 1.0 cannot contain most control characters: they become U+FFFD.
fn escaped(text: &str) -> Cow<'_, str> {
    let escape = |c: char| match c {
        '&' => Some("&amp;"),
        '<' => Some("&lt;"),
        '>' => Some("&gt;"),
        '"' => Some("&quot;"),
        // In an attribute, a reader would turn these characters into blanks.
        '\n' => Some("&#10;"),
        '\t' => Some("&#9;"),
        '\r' => Some("&#13;"),
        '\0'..='\x1f' | '\u{fffe}' | '\u{ffff}' => Some("\u{fffd}"),
        _ => None,
    };
    if !text.contains(|c| escape(c).is_some()) {
        return text.into();
    }
    let mut out = String::with_capacity(text.len() + 16);
    for c in text.chars() {
        match escape(c) {
            Some(instead) => out.push_str(instead),
            None => out.push(c),
        }
    }
    out.into()
}

#[cfg(test)]
mod tests {
    use roxmltree::{Document, Node};
    use testkit::small::{CLAIMS, STUDY};

    use super::*;
    use crate::testing::studied;

    /// The requirements of `jenkinsci/xunit-plugin`'s junit-10.xsd and of GitLab for an element: its children in order,
    /// its required attributes, and all that it may have.
    fn demands(element: &str) -> (&'static [&'static str], &'static [&'static str], &'static [&'static str]) {
        let counts: &[&str] = &["name", "tests", "failures", "errors", "skipped"];
        match element {
            "testsuites" => (&["testsuite"], counts, counts),
            "testsuite" => (&["testcase"], counts, counts),
            "testcase" => (&["skipped", "failure", "system-out"], &["name", "classname"], &["name", "classname"]),
            "failure" => (&[], &["type", "message"], &["type", "message"]),
            "skipped" => (&[], &["message"], &["message"]),
            "system-out" => (&[], &[], &[]),
            other => panic!("<{other}>"),
        }
    }

    fn check(node: Node<'_, '_>) {
        let (children, must, may) = demands(node.tag_name().name());
        assert!(must.iter().all(|name| node.has_attribute(*name)), "{node:?}");
        assert!(node.attributes().all(|attribute| may.contains(&attribute.name())), "{node:?}");
        let places = node.children().filter(Node::is_element).map(|child| {
            let name = child.tag_name().name();
            children.iter().position(|known| *known == name).unwrap_or_else(|| panic!("<{name}> in {node:?}"))
        });
        assert!(places.is_sorted(), "{node:?}");
        node.children().filter(Node::is_element).for_each(check);
    }

    fn judged() -> Vec<Claim> {
        study::execute::claims(&[studied(&[STUDY, CLAIMS].concat())])
    }

    #[test]
    fn every_claim_is_a_case_of_the_form_that_jenkins_and_gitlab_read() {
        let mut claims = judged();
        // A claim for each verdict, with names that XML must escape.
        claims[0].says = "a <b> & \"c\" 'd' ]]> \u{1}\tand\nmore".into();
        for verdict in [Verdict::Partly, Verdict::Differs, Verdict::Stale] {
            let mut more = claims[0].clone();
            more.id = format!("more-{}", verdict.name());
            more.verdict = verdict;
            claims.push(more);
        }
        let text = junit(&claims, &[]);
        let document = Document::parse(&text).expect("well-formed");
        let root = document.root_element();
        check(root);
        let cases: Vec<Node<'_, '_>> = root.descendants().filter(|node| node.has_tag_name("testcase")).collect();
        assert_eq!(cases.len(), claims.len());
        assert_eq!(root.attribute("tests"), Some(&*cases.len().to_string()));
        for (claim, case) in claims.iter().zip(&cases) {
            let says = claim.says.replace('\u{1}', "\u{fffd}");
            assert_eq!(case.attribute("name"), Some(&*format!("{}: {says}", claim.id)));
            let has = |name| case.children().any(|child| child.has_tag_name(name));
            let wanted = match claim.verdict {
                Verdict::Holds => (false, false),
                Verdict::Partly | Verdict::Differs => (true, false),
                Verdict::Fails | Verdict::Stale => (false, true),
            };
            assert_eq!((has("skipped"), has("failure")), wanted, "{}", claim.id);
        }
        let of = |name| root.descendants().filter(|node| node.has_tag_name(name)).count().to_string();
        assert_eq!(root.attribute("failures"), Some(&*of("failure")));
        assert_eq!(root.attribute("skipped"), Some(&*of("skipped")));
    }

    #[test]
    fn a_case_says_why() {
        let claims = judged();
        let text = junit(&claims, &[]);
        let document = Document::parse(&text).expect("well-formed");
        let failure = document.descendants().find(|node| node.has_tag_name("failure")).expect("B1 fails");
        let message = failure.attribute("message").expect("a reason");
        assert!(message.contains("mean of s: "), "{message}");
        let mut known = claims;
        known[0].verdict = Verdict::Differs;
        let text = junit(&known, &[]);
        let document = Document::parse(&text).expect("well-formed");
        let skipped = document.descendants().find(|node| node.has_tag_name("skipped")).expect("it differs");
        assert_eq!(skipped.attribute("message"), Some("they do not"));
    }

    #[test]
    fn points_at_which_too_many_requests_failed_are_failed_cases() {
        let claims = judged();
        let sound = junit(&claims, &[]);
        let text = junit(&claims, &[("s".into(), vec!["drive worn".into(), "drive <b>".into()])]);
        let [sound, document] = [&sound, &text].map(|text| Document::parse(text).expect("well-formed"));
        check(document.root_element());
        let number = |of: &Document<'_>, name: &str| -> u64 {
            of.root_element().attribute(name).and_then(|text| text.parse().ok()).expect("a number")
        };
        assert_eq!(number(&document, "failures"), number(&sound, "failures") + 1);
        assert_eq!(number(&document, "tests"), number(&sound, "tests") + 1);
        let failure = document.descendants().rfind(|node| node.has_tag_name("failure")).expect("one");
        assert_eq!(failure.text(), Some("drive worn\ndrive <b>"));
    }

    #[test]
    fn no_claim_is_an_empty_report() {
        assert!(Document::parse(&junit(&[], &[])).expect("well-formed").root_element().attribute("tests") == Some("0"));
    }
}
