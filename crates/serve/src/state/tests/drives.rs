//! Small drives of all families, and the parts of their lives.

use base::engine::Rng;
use flash::nand::Stamp;
use ftl::EraseTiming;
use ssd::{Drive, Precondition, ResolvedDevice, Ssd};
use testkit::conformance::{self, Setting};
use testkit::{Host, requests};

use super::memory::Memory;
use crate::state::{Durability, State};

/// All settings of the conformance suite whose flash survives without capacitors, and whole.
pub(super) fn settings() -> Vec<(String, ResolvedDevice)> {
    let resolve = |setting: Setting| {
        let resolved = setting.spec.resolve().unwrap_or_else(|error| panic!("{}: {error:?}", setting.name));
        (setting.name, resolved)
    };
    let settings = conformance::settings().into_iter().map(resolve);
    let keeps =
        |resolved: &ResolvedDevice| resolved.ftl.log.erase == EraseTiming::Copied && resolved.backend.errors.is_none();
    settings.filter(|(_, resolved)| keeps(resolved)).collect()
}

/// The settings with these names.
pub(super) fn named(names: &[&str]) -> Vec<(String, ResolvedDevice)> {
    let all = settings();
    let find =
        |name: &&str| all.iter().find(|(other, _)| other == name).unwrap_or_else(|| panic!("no setting {name:?}"));
    names.iter().map(find).cloned().collect()
}

/// A drive that is served from files, and its host.
#[derive(Debug)]
pub(super) struct FileDrive {
    pub(super) state: State,
    pub(super) files: Memory,
    pub(super) host: Host,
    pub(super) resolved: ResolvedDevice,
}

impl FileDrive {
    /// A new drive, or a full one.
    pub(super) fn new(resolved: &ResolvedDevice, seed: u64, fill: bool) -> Self {
        let mut ssd = Ssd::<Stamp>::new(resolved, seed);
        if fill {
            ssd.precondition(Precondition::Fill, &mut |_, _| {});
        }
        let files = Memory::default();
        let state = State::create_in(files.folder(), &mut ssd, Durability::Process).expect("a state");
        // A process that dies before the state is complete leaves no state; the tests of directories cover that.
        Self { state, files, host: Host::new(ssd), resolved: resolved.clone() }
    }

    /// Submits requests until the last is submitted or the process dies. Returns true if the process lives.
    pub(super) fn serve(&mut self, rng: &mut Rng, requests: u32) -> bool {
        let capacity = self.host.ssd().capacity().get();
        for _ in 0..requests {
            self.host.submit(requests::draw(rng, capacity));
            for _ in 0..rng.below(6) {
                self.host.step_unless(|| self.state.check().is_err());
                if self.state.check().is_err() {
                    return false;
                }
            }
            // The process may die within the submission.
            if self.state.check().is_err() {
                return false;
            }
        }
        true
    }

    /// Serves the files in a new process, and lets the host check all sectors.
    pub(super) fn restart(self) -> Self {
        let files = self.files.copy();
        let opened = State::open_in(files.folder(), &self.resolved, Durability::Process);
        let (state, ssd) = opened.unwrap_or_else(|error| panic!("{error}"));
        let host = self.host.restarted(ssd);
        state.check().expect("recovery writes");
        Self { state, files, host, resolved: self.resolved }
    }

    /// Waits until the drive is at rest, and lets the host check all sectors.
    pub(super) fn audit(&mut self) {
        self.host.run_until_idle();
        self.state.check().expect("the process lives");
        self.host.audit();
        assert!(self.state.take_damage().is_empty());
    }
}
