//! Runs a drive until it is worn: one round after another, with a power cycle between two rounds.

use std::io::Write;
use std::path::Path;

use base::units::{Age, Temperature};
use ftl::Foresight;
use ssd::{Drive, Ssd};

use super::flow::Flow;
use super::settings::Settings;
use super::state::Snapshot;
use super::{Amount, Outcome, Session, SessionError, Stop};
use crate::life::{Life, LifeError};
use crate::oracle::Blank;
use crate::run::Window;
use crate::snapshot::{self, State};
use crate::summary::LifeSummary;
use crate::watch::Watch;

/// The default length of a round, in capacities that the host writes. Used unless the workload ends by itself.
const ROUND: f64 = 100.0;

/// A round's outcome and the state in which it leaves its drive; no state if no round follows.
type RoundOutcome = (Outcome, Option<State>);

impl Session<'_> {
    /// Ends the session after this many rounds of a life, worn or not. The next session can continue the life from a
    /// snapshot.
    #[must_use]
    pub fn rounds(mut self, rounds: u32) -> Self {
        self.settings.rounds = Some(rounds);
        self
    }

    /// The time over which a life's writes are spread to give drive writes per day: five years by default.
    #[must_use]
    pub fn warranty(mut self, warranty: Age) -> Self {
        self.settings.warranty = warranty;
        self
    }

    /// The length of a round; `None` unless the session runs until the drive is worn.
    pub(super) fn life_round(&self) -> Option<Option<Amount>> {
        match self.window().stop {
            Stop::Worn(round) => Some(round),
            _ => None,
        }
    }

    /// Runs the workload in rounds until the drive is worn.
    pub(super) fn run_life(&mut self, round: Option<Amount>) -> Result<Outcome, SessionError> {
        self.refuse_life()?;
        self.life = self.loaded_life()?;
        let is_endless = self.flows.iter().any(Flow::is_endless);
        let round = round.or_else(|| is_endless.then_some(Amount::Capacities(ROUND)));
        let about = self.about();
        let at_most = self.settings.rounds.unwrap_or(u32::MAX);
        let (mut state, watch, mut done) = (None, self.watch.take(), 0);
        loop {
            let number = self.life.as_ref().map_or(0, |life| life.rounds);
            let flows = match number {
                0 => std::mem::take(&mut self.flows),
                _ => self.flows_of_round(number)?,
            };
            if number == 0 {
                self.flows = flows.iter().map(Flow::outline).collect();
            }
            done += 1;
            let (mut outcome, next) = self.one_round(flows, state.take(), watch.clone(), (round, done == at_most))?;
            let life = self.life.as_ref().expect("a round leaves its life");
            let Some(next) = next else {
                let rounds = life.rounds;
                if let Some(last) = outcome.measurements.last_mut() {
                    last.life = Some(LifeSummary::new(life, self.settings.warranty));
                    last.about.config = about.config;
                    if rounds > 1 {
                        last.notes
                            .push(format!("the numbers outside of the life are about the last of its {rounds} rounds"));
                    }
                }
                return Ok(outcome);
            };
            state = Some(next);
        }
    }

    /// Returns an error if the drive's life cannot be simulated.
    fn refuse_life(&self) -> Result<(), SessionError> {
        let resolved = &self.device.resolved;
        let faults = &resolved.spec.flash.faults;
        let option = |name, why| Err(SessionError::Life(LifeError::Option { name, why }));
        let again = "a life has many runs, and each begins with a restart of the drive";
        if !faults.wear_out && faults.erase_failures.get() == 0.0 && faults.program_failures.get() == 0.0 {
            return Err(SessionError::Life(LifeError::NoWear));
        }
        if resolved.slc_array.is_some() {
            return Err(SessionError::Life(LifeError::SlcArray));
        }
        if self.flows.iter().any(|flow| flow.stages() != 1) {
            return Err(SessionError::Life(LifeError::Stages));
        }
        if resolved.with_foresight(&Foresight::None).is_some() {
            return Err(SessionError::Foresight { cannot: "a life has many runs" });
        }
        match () {
            () if self.settings.verify => option("--verify", again),
            () if self.settings.fairness => option("--fairness", again),
            () if self.log.is_some() => option("--requests", again),
            () if self.watch.as_ref().is_some_and(|watch| watch.seen().is_some()) => option("--timeline", again),
            () => Ok(()),
        }
    }

    /// The life in the snapshot from which the session starts, if it has one.
    fn loaded_life(&self) -> Result<Option<Life>, SessionError> {
        let Some(path) = self.settings.load.as_deref() else { return Ok(None) };
        let Some(mut life) = snapshot::life(path).map_err(SessionError::Load)? else { return Ok(None) };
        let path = || Path::to_owned(path);
        if life.seed() != self.settings.seed {
            return Err(SessionError::Life(LifeError::Seed { path: path(), there: life.seed() }));
        }
        if life.worn {
            return Err(SessionError::Life(LifeError::Ended { path: path() }));
        }
        if !self.settings.steps.is_empty() {
            let why = "the life in the snapshot goes on, and would not count what preconditioning writes";
            return Err(SessionError::Life(LifeError::Option { name: "--precondition", why }));
        }
        if let Some(storage) = self.settings.storage {
            life.age(storage.conditions(self.settings.temperature).0.as_secs());
        }
        Ok(Some(life))
    }

    /// Opens the workloads once more, for the round with this number.
    fn flows_of_round(&self, number: u32) -> Result<Vec<Flow<'static>>, SessionError> {
        self.flows.iter().map(|flow| flow.of_round(number)).collect()
    }

    /// Runs a round. The last one that the session may run leaves no state.
    fn one_round(
        &mut self,
        flows: Vec<Flow<'_>>,
        state: Option<State>,
        watch: Option<Watch>,
        (round, is_last): (Option<Amount>, bool),
    ) -> Result<RoundOutcome, SessionError> {
        let window = Window::default().stopped_by(Stop::Worn(round)).fixed();
        let mut settings = Settings { window, ..self.settings.clone() };
        if state.is_some() {
            settings.steps.clear();
            (settings.load, settings.storage, settings.temperature) = (None, None, None);
            settings.state = state;
        }
        let (device, life) = (self.device, self.life.take());
        let mut session = Session { life, ..self.part(settings, flows) };
        let mut drive: Ssd<()> = session.prepared(watch)?;
        let (resolved, seed) = (&device.resolved, session.settings.seed);
        let mut life = session.life.take().unwrap_or_else(|| Life::new(resolved, seed, drive.media().bad_blocks()));
        life.begin(drive.counters(), &drive.erase_counts());
        session.life = Some(life);
        let outcome = session.run_stages(&mut drive, &mut Blank)?;
        let mut life = session.life.take().expect("the run gives it back");
        drop(session);
        while let Some(end) = life.idle_end().filter(|end| drive.now() < *end) {
            drive.advance(end, &mut Vec::new());
        }
        drop(drive.power_off());
        // Brings the cell clock up to the end of the round.
        drive.age(Age::from_secs(0), Temperature::from_celsius(0));
        life.finish(&drive.counters(), &drive.erase_counts()).map_err(SessionError::Life)?;
        let ends = life.worn || is_last;
        let mut kept = Vec::new();
        if !ends {
            snapshot::save_life(&drive, Some(&life), &mut kept).map_err(SessionError::Save)?;
        } else if let Some(keep) = self.save.take() {
            let save = |to: &mut dyn Write| snapshot::save_life(&drive, Some(&life), to);
            keep(&Snapshot { save: &save, is_exact: true }).map_err(SessionError::Save)?;
        }
        self.life = Some(life);
        Ok((outcome, (!ends).then(|| State::new(kept))))
    }
}
