//! Two drives of one description that must agree at every moment: an observed one, whose flash runs every command and
//! every event, and one that runs several together.

use base::io::{Io, IoKind};
use base::units::{Lba, Sectors, Span};
use flash::backend::{Observer, Phase};
use flash::nand::{FaultKind, Sector};
use ssd::{Completion, Drive, QueueId, Request, ResolvedDevice, Spec, Ssd};

/// An observer that asks for every command and records nothing.
#[derive(Clone, Debug)]
pub(crate) struct SilentObserver;

impl Observer for SilentObserver {
    fn boxed(&self) -> Box<dyn Observer> {
        Box::new(self.clone())
    }

    fn phase(&mut self, _: Phase) {}
}

/// The drive of a description.
pub(crate) fn resolve(text: &str) -> ResolvedDevice {
    let spec: Spec = toml::from_str(text).unwrap_or_else(|error| panic!("{error}: {text}"));
    spec.resolve().unwrap_or_else(|faults| panic!("{faults:?}: {text}"))
}

/// A step of a test, done with both drives.
#[derive(Clone, Copy, Debug)]
pub(crate) enum TwinStep {
    /// A request of this kind; the first sector and the number of sectors follow.
    Submit(IoKind, u64, u64),
    Pass(Span),
    /// The power fails and comes back; time passes until the drive takes requests again.
    CutPower,
    Fail(FaultKind, u64),
}

/// Carries out a step on a drive. Each sector of a write gets this content.
pub(crate) fn happens<S: Sector>(drive: &mut Ssd<S>, event: TwinStep, tag: u64, content: S) -> Vec<Completion<S>> {
    let mut completions = Vec::new();
    let mut pass = |drive: &mut Ssd<S>, span: Span| {
        let to = drive.now() + span;
        while drive.advance(to, &mut completions) < to {}
    };
    match event {
        TwinStep::Submit(kind, start, sectors) => {
            let data = if kind == IoKind::Write { vec![content; sectors as usize] } else { Vec::new() };
            let io = Io::new(kind, Lba::new(start), Sectors::new(sectors));
            drive.submit(drive.now(), Request { tag, queue: QueueId::default(), io, data });
        }
        TwinStep::Pass(span) => pass(drive, span),
        TwinStep::CutPower => {
            drive.cut_power();
            let recovery = drive.power_on(drive.now());
            pass(drive, recovery.time);
        }
        TwinStep::Fail(kind, after) => drive.media_mut().faults_mut().fail_soon(kind, after),
    }
    completions
}

/// Finishes the work under way of both drives, and compares their final states.
pub(crate) fn end_alike<S: Sector>(together: &mut Ssd<S>, observed: &mut Ssd<S>, seed: u64) {
    let (mut left, mut right) = (Vec::new(), Vec::new());
    together.drain(&mut left);
    observed.drain(&mut right);
    assert_eq!(format!("{left:?}"), format!("{right:?}"), "seed {seed}");
    together.check();
    assert_eq!(together.counters(), observed.counters(), "seed {seed}");
    assert_eq!(format!("{:?}", together.media()), format!("{:?}", observed.media()), "seed {seed}");
}
