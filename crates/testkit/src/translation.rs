//! Checks of a host's translation over zones: random requests, power cuts and failures of the flash, with a check of
//! every read.

use base::engine::Rng;
use base::units::Time;
use flash::nand::Stamp;
use ssd::{Precondition, ResolvedDevice, Spec, Ssd, Tag};
use translation::{Translation, UsedZones};

use crate::block_host::{BlockHost, Layer};

impl Layer for Translation<Stamp> {
    const FORGETS_DISCARDS: bool = true;

    fn is_volatile(&self) -> bool {
        self.drive().resolved().buffer.is_some()
    }

    fn is_used(&self) -> bool {
        self.drive().history().is_some_and(|history| !history.versions().is_empty())
    }

    fn cut_power(&mut self) -> Vec<Tag> {
        self.cut_power()
    }

    fn power_on(&mut self, now: Time) {
        self.power_on(now);
    }

    fn check(&self) {
        self.check();
    }
}

/// Resolves a small drive with zones and a translation; `flash`, `zns` and `translation` are keys of these tables.
///
/// # Panics
/// If the description is not valid.
#[must_use]
pub fn device(flash: &str, zns: &str, translation: &str) -> ResolvedDevice {
    let text = format!(
        "name = \"small\"\n[flash]\npart = \"dirik-2009\"\nchannels = 2\nchips = 2\nblocks = 24\npages = 8\n{flash}\n\
         [ftl]\nkind = \"zns\"\nover-provisioning = \"30%\"\nzns = {{ {zns} }}\n\
         [translation]\n{translation}\n"
    );
    let spec: Spec = toml::from_str(&text).unwrap_or_else(|error| panic!("{error}: {text}"));
    spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}: {text}"))
}

/// Creates a translation over a drive that these steps have preconditioned.
///
/// # Panics Never: preconditioning fails only if its callback stops it, and this callback does not.
#[must_use]
pub fn translation(resolved: &ResolvedDevice, steps: &[Precondition], seed: u64) -> Translation<Stamp> {
    let go_on = &mut |_, _| std::ops::ControlFlow::Continue(());
    let mut used = UsedZones::new(resolved, seed);
    for step in steps {
        used.precondition(*step, go_on).expect("nobody breaks off");
    }
    Translation::over(resolved, Ssd::new(&resolved.of_drive(0), seed), used, go_on).expect("nobody breaks off").0
}

/// A translation of the suite with its drive.
#[derive(Clone, Debug)]
pub struct TranslationSetting {
    /// Description of the drive and of the translation.
    pub device: ResolvedDevice,
    /// Preconditioning steps of the drive.
    pub steps: Vec<Precondition>,
}

/// Creates the translations of the suite, with new and with used drives.
#[must_use]
pub fn settings() -> Vec<TranslationSetting> {
    let each = [
        (
            "",
            "dies = 1, max-active = 6",
            "over-provisioning = \"50%\"\nstreams = 2\ngc = { parallel = 3, piece = \"4KiB\" }",
        ),
        (
            "",
            "dies = 2, max-active = 3",
            "over-provisioning = \"60%\"\ncommand = \"write\"\ngc = { victim = \"fifo\" }",
        ),
        (
            "",
            "dies = 1, max-active = 8",
            "over-provisioning = \"50%\"\nzones-per-stream = 3\ngc = { victim = \"cost-benefit\" }",
        ),
        (
            "faults = { program-failures = \"0.2%\", erase-failures = \"0.5%\" }",
            "dies = 1, max-active = 4",
            "over-provisioning = \"60%\"\ngc = { parallel = 2 }",
        ),
    ];
    let each = each.into_iter().enumerate().map(|(number, (flash, zns, translation))| TranslationSetting {
        device: device(flash, zns, translation),
        steps: if number % 2 == 0 { Vec::new() } else { vec![Precondition::Fill, Precondition::RandomOverwrite(0.5)] },
    });
    each.collect()
}

/// Draws a random translation.
#[must_use]
pub fn draw(rng: &mut Rng) -> TranslationSetting {
    let mut pick = |of: &[&'static str]| of[rng.below(of.len() as u64) as usize];
    let flash =
        pick(&["", "planes = 1", "faults = { program-failures = \"0.1%\" }", "faults = { erase-failures = \"0.5%\" }"]);
    let zns = pick(&[
        "dies = 1, max-active = 9",
        "dies = 1, max-active = 12, max-open = 9",
        "dies = 2, max-active = 9, programs-per-die = 1",
    ]);
    let victim = pick(&["greedy", "cost-benefit", "fifo"]);
    let command = pick(&["append", "write"]);
    let (streams, zones) = (1 + rng.below(3), 1 + rng.below(2));
    let (start, parallel) = (1 + rng.below(2), 1 + rng.below(6));
    let translation = format!(
        r#"over-provisioning = "70%"
streams = {streams}
zones-per-stream = {zones}
command = "{command}"
gc = {{ victim = "{victim}", start = {start}, stop = {}, parallel = {parallel}, piece = "{}KiB" }}"#,
        start + 1 + rng.below(2),
        4 << rng.below(4),
    );
    let steps = match rng.below(3) {
        0 => Vec::new(),
        1 => vec![Precondition::Fill],
        _ => vec![Precondition::Fill, Precondition::RandomOverwrite(1.5)],
    };
    TranslationSetting { device: device(flash, zns, &translation), steps }
}

/// Runs a translation through requests and power cuts, and checks every read.
///
/// # Panics
/// If a read returns illegal content, or a request is lost.
pub fn check(setting: &TranslationSetting, seed: u64) {
    let mut host = BlockHost::new(translation(&setting.device, &setting.steps, seed), seed);
    let mut rng = Rng::stream(seed, "translation.check");
    let depth = 1 + rng.below(12) as usize;
    for _ in 0..8 {
        host.run(60 + rng.below(200), depth);
        match rng.below(4) {
            0 => {
                // The cut comes in the middle of requests, of collection, and perhaps of the mount after the previous
                // cut.
                host.cut_power();
                host.run(rng.below(20), depth);
                host.cut_power();
                host.run(rng.below(60), depth);
            }
            1 => {
                host.finish();
                host.cut_power();
            }
            _ => {}
        }
        host.read_all();
    }
    host.read_all();
}
