//! The results of a torture, as a table and as JSON.

use std::fmt::Write as _;

use base::units::Span;
use schemars::JsonSchema;
use serde::Serialize;
use torture::{CheckOutcome, CutKind, CutResult, Honesty, Laboratory};

/// The version of the keys.
const SCHEMA: &str = "flashloom-torture-1";

/// The last lines of a check's output that are shown.
const LINES: usize = 12;

/// The most losses that the JSON lists.
const MOST_LOSSES: usize = 100;

/// Output of `flashloom torture --json`: the power cuts of a recorded run, and the losses.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[schemars(title = SCHEMA)]
pub(crate) struct TortureResult {
    /// Version of these keys.
    #[schemars(extend("const" = SCHEMA))]
    schema: &'static str,
    /// Name of the torture in its description.
    name: String,
    /// Name of the device in its description.
    device: String,
    /// The honesty of the drive: whether it keeps what it acknowledges.
    drive: Honesty,
    /// Requests of the recorded run.
    requests: usize,
    /// Simulated time of the recorded run in seconds.
    simulated_s: f64,
    /// The number of power cuts.
    cuts: usize,
    /// Power cuts that lost something.
    losses: usize,
    /// The cuts by the kind of moment.
    moments: Vec<Moments>,
    /// Simulated time of the longest scan of the spare areas in microseconds.
    recovery_us: f64,
    /// The first losses, at most 100 of them.
    lost: Vec<LossyCut>,
}

/// The cuts at one kind of moment.
#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
struct Moments {
    /// The kind of moment at which the power is cut.
    kind: CutKind,
    /// The number of power cuts.
    cuts: usize,
    /// Power cuts after which the drive held other data than it had promised, or did not come back.
    promises_broken: usize,
    /// Power cuts after which the user's check failed.
    checks_failed: usize,
}

/// A power cut that lost something.
#[derive(Clone, Debug, Serialize, JsonSchema)]
#[serde(rename = "Lost")]
struct LossyCut {
    /// The number of the power cut, from 0.
    cut: usize,
    /// The kind of moment at which the power is cut.
    kind: CutKind,
    /// The simulated time of the power cut in microseconds.
    at_us: f64,
    /// The number of the journal's records before the power cut.
    after: usize,
    /// False if the drive did not come back.
    came_back: bool,
    /// Sectors with other data than the drive had promised.
    sectors: u64,
    /// The first sectors with other data, in words.
    broken: Vec<String>,
    /// The end of the user's check, if the check failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    check: Option<String>,
    /// The last lines that the check printed.
    #[serde(skip_serializing_if = "Option::is_none")]
    output: Option<String>,
}

impl TortureResult {
    pub(crate) fn new(name: &str, laboratory: &Laboratory, drive: Honesty, tested: &[CutResult]) -> Self {
        let journal = laboratory.journal();
        let moments = CutKind::ALL.into_iter().map(|kind| {
            let of = || tested.iter().filter(move |tested| tested.cut.kind == kind);
            Moments {
                kind,
                cuts: of().count(),
                promises_broken: of().filter(|tested| tested.breaks_promises()).count(),
                checks_failed: of().filter(|tested| tested.fails_check()).count(),
            }
        });
        let recovery = tested.iter().map(|tested| tested.recovery).max().unwrap_or(Span::ZERO);
        let lost = || tested.iter().enumerate().filter(|(_, tested)| tested.is_loss());
        Self {
            schema: SCHEMA,
            name: name.to_owned(),
            device: laboratory.device().name.clone(),
            drive,
            requests: journal.requests.len(),
            simulated_s: journal.last().as_secs_f64(),
            cuts: tested.len(),
            losses: lost().count(),
            moments: moments.filter(|moments| moments.cuts > 0).collect(),
            recovery_us: recovery.as_us_f64(),
            lost: lost().take(MOST_LOSSES).map(|(cut, tested)| LossyCut::of(cut, tested)).collect(),
        }
    }

    pub(crate) fn json(&self) -> String {
        serde_json::to_string_pretty(self).expect("numbers, texts and tables") + "\n"
    }

    pub(crate) fn text(&self) -> String {
        let Self { name, device, drive, requests, simulated_s, cuts, losses, .. } = self;
        let mut text = format!("{name}: {requests} requests in {simulated_s:.3} s of simulated time\n");
        let _ = writeln!(text, "drive {device}, {drive}\n");
        let _ = writeln!(text, "{:<18}{:>8}{:>18}{:>16}", "power cut", "cuts", "promises broken", "checks failed");
        for Moments { kind, cuts, promises_broken, checks_failed } in &self.moments {
            let _ = writeln!(text, "{:<18}{cuts:>8}{promises_broken:>18}{checks_failed:>16}", kind.to_string());
        }
        let recovery = Span::from_ns((self.recovery_us * 1e3).round() as u64);
        let cuts = if *cuts == 1 { "1 cut".to_owned() } else { format!("{cuts} cuts") };
        let _ = writeln!(text, "\n{cuts}, {losses} with a loss; the longest scan of a recovery took {recovery}");
        if let Some(first) = self.lost.first() {
            first.show(&mut text);
        }
        text
    }
}

impl LossyCut {
    fn of(cut: usize, tested: &CutResult) -> Self {
        let failed = tested.checked.as_ref().filter(|checked| checked.ending != CheckOutcome::Good);
        Self {
            cut,
            kind: tested.cut.kind,
            at_us: tested.cut.at.as_secs_f64() * 1e6,
            after: tested.cut.after,
            came_back: tested.is_ready,
            sectors: tested.sectors,
            broken: tested.broken.iter().map(ToString::to_string).collect(),
            check: failed.map(|checked| checked.ending.to_string()),
            output: failed.map(|checked| checked.output.clone()),
        }
    }

    fn show(&self, text: &mut String) {
        let at = Span::from_ns((self.at_us * 1e3).round() as u64);
        let _ = writeln!(text, "\nfirst loss: cut {}, {}, at {at}", self.cut, self.kind);
        if !self.came_back {
            text.push_str("  the drive did not come back\n");
        }
        if self.sectors > 0 {
            let _ = writeln!(text, "  {} with other data than promised", sectors(self.sectors));
        }
        self.broken.iter().for_each(|broken| _ = writeln!(text, "  {broken}"));
        let Some(check) = &self.check else { return };
        let _ = writeln!(text, "  check: {check}");
        let output = self.output.as_deref().unwrap_or_default();
        let skipped = output.lines().count().saturating_sub(LINES);
        output.lines().skip(skipped).for_each(|line| _ = writeln!(text, "  | {line}"));
    }
}

fn sectors(count: u64) -> String {
    if count == 1 { "1 sector".to_owned() } else { format!("{count} sectors") }
}
