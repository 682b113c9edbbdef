//! The spare space of a drive: the flash that the host does not see, the part of it that is left for garbage collection, and the
//! write amplification to expect.

use ftl::WorkingSpace;
use schemars::JsonSchema;
use serde::Serialize;
use ssd::ResolvedDevice;

/// The least good ratio of effective to nominal spare space; below it the summary warns.
const ENOUGH: f64 = 0.5;

/// The spare space of a drive.
#[derive(Clone, Debug, JsonSchema, Serialize)]
pub(super) struct Spare {
    /// Share of the flash that the host does not see.
    pub(super) nominal: f64,
    /// Share of the flash that is left to garbage collection, less the superblocks that each pool reserves; `null` if the
    /// FTL has no such pools.
    pub(super) effective: Option<f64>,
    /// Pools of superblocks; garbage collection works in each by itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pools: Option<u32>,
    /// Superblocks of a pool.
    #[serde(skip_serializing_if = "Option::is_none")]
    superblocks: Option<u32>,
    /// Superblocks that each pool reserves: open superblocks, one to copy into, and superblocks of tables.
    #[serde(skip_serializing_if = "Option::is_none")]
    reserved: Option<u32>,
    /// Write amplification to expect in steady state, if the host writes whole mapping units at uniformly random places:
    /// the fixed point of Desnoyers (SYSTOR 2012) and Van Houdt (SIGMETRICS 2013), within a tenth of what a simulation
    /// measures. `null` if no closed form is known.
    pub(super) expected_write_amplification: Option<f64>,
    /// The reason why no closed form is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    no_closed_form: Option<&'static str>,
    /// True if less than half of the nominal share is left to garbage collection.
    tight: bool,
}

impl Spare {
    pub(super) fn new(resolved: &ResolvedDevice) -> Self {
        let nominal = 1.0 - resolved.writable().get() as f64 / resolved.raw_capacity().get() as f64;
        let slots = f64::from(resolved.geometry.slot_count());
        let space = resolved.family.working_space();
        let effective = space.map(|space| space.units as f64 / slots);
        Self {
            nominal,
            effective,
            pools: space.map(|space| space.pools),
            superblocks: space.map(|space| space.superblocks),
            reserved: space.map(|space| space.reserved),
            expected_write_amplification: resolved.family.expected_write_amplification(),
            no_closed_form: resolved.family.no_closed_form(),
            tight: effective.is_some_and(|effective| effective < ENOUGH * nominal),
        }
    }

    /// The lines of the summary: their names and texts.
    pub(super) fn lines(&self, resolved: &ResolvedDevice) -> Vec<(&'static str, String)> {
        let of_host = resolved.raw_capacity().get() as f64 / resolved.writable().get() as f64 - 1.0;
        let percent = |share: f64| format!("{:.2}%", share * 100.0);
        let mut lines = vec![(
            "spare",
            format!("{} of the flash, {} of the host's capacity", percent(self.nominal), percent(of_host)),
        )];
        if let (Some(effective), Some(WorkingSpace { pools, superblocks, reserved, .. })) =
            (self.effective, resolved.family.working_space())
        {
            let each = if pools == 1 { "its pool".to_owned() } else { format!("each of {pools} pools") };
            lines.push((
                "",
                format!("{} for garbage collection: {each} reserves {reserved} of {superblocks}", percent(effective)),
            ));
        }
        if self.tight {
            lines.push(("", "less than half of what is kept back: use planes of more blocks,".to_owned()));
            lines.push(("", "or ftl.gc.shared-log, or a larger ftl.over-provisioning".to_owned()));
        }
        lines.extend(match (self.expected_write_amplification, self.no_closed_form) {
            (Some(waf), _) => vec![
                ("WAF", format!("about {waf:.2} in steady state, if whole mapping units are written at")),
                ("", "uniformly random places (a closed form, right within a tenth)".to_owned()),
            ],
            (None, why) => {
                let text = format!("no closed form: {}", why.unwrap_or_default());
                folded(&text).into_iter().enumerate().map(|(i, line)| (if i == 0 { "WAF" } else { "" }, line)).collect()
            }
        });
        lines
    }
}

/// A text in lines that fit beside the names of the summary on a terminal of 80 columns.
pub(super) fn folded(text: &str) -> Vec<String> {
    const WIDTH: usize = 64;
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is one");
        if line.is_empty() {
            line.push_str(word);
        } else if line.len() + 1 + word.len() <= WIDTH {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.to_owned());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use study::catalogue::Device;

    fn spare(ftl: &str, blocks: u32) -> (Spare, Vec<String>) {
        let text = format!(
            "name = \"x\"\nflash = {{ part = \"dirik-2009\", channels = 2, chips = 2, blocks = {blocks} }}\nftl = {{ {ftl} }}\n"
        );
        let device = Device::parse(text).unwrap_or_else(|faults| panic!("{faults}"));
        let spare = Spare::new(&device.resolved);
        let lines =
            spare.lines(&device.resolved).into_iter().map(|(name, text)| format!("  {name:<12}{text}")).collect();
        (spare, lines)
    }

    #[test]
    fn a_drive_of_few_blocks_says_that_its_spare_space_is_reserved() {
        // 64 superblocks of a die less 7 % are 59.5 for the host, and 3 are reserved.
        let (tight, lines) = spare("over-provisioning = \"7%\"", 64);
        let effective = tight.effective.expect("a page map");
        assert!((effective - (64.0 - 3.0 - 59.52) / 64.0).abs() < 1e-3, "{effective}");
        assert!(tight.tight && tight.expected_write_amplification.is_none());
        let text = lines.join("\n");
        for wanted in [
            "7.00% of the flash",
            "2.31% for garbage collection: each of 4 pools reserves 3 of 64",
            "less than half",
            "expect",
        ] {
            assert!(text.contains(wanted), "{text}");
        }
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{text}");

        let (roomy, lines) = spare("over-provisioning = \"7%\"", 2048);
        assert!(!roomy.tight && roomy.effective.is_some_and(|effective| effective > 0.068));
        let text = lines.join("\n");
        assert!(text.contains(" in steady state") && !text.contains("less than half"), "{text}");
        // The shared log reserves one superblock less.
        let (shared, _) = spare("over-provisioning = \"7%\", gc = { shared-log = true }", 64);
        assert!(shared.effective > tight.effective);
    }

    #[test]
    fn a_drive_without_a_closed_form_says_why() {
        for (ftl, why) in [
            ("kind = \"fast\", over-provisioning = \"40%\", log = { blocks = 6 }", "only the page-mapped FTL"),
            ("over-provisioning = \"40%\", gc = { victim = { policy = \"cost-benefit\" } }", "ftl.gc.victim"),
            ("over-provisioning = \"40%\", wear = { threshold = 4 }", "static wear levelling"),
        ] {
            let (spare, lines) = spare(ftl, 64);
            assert!(spare.expected_write_amplification.is_none());
            assert!(lines.iter().all(|line| line.chars().count() <= 80), "{lines:?}");
            let text = lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ");
            assert!(text.contains("no closed form: ") && text.contains(why), "{text}");
        }
    }
}
