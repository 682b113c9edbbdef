//! The messages of a command while it works, on the standard error: a bar on a terminal, a line every ten seconds for a log, and
//! with `--verbose` each finished step.

use std::io::IsTerminal;
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ssd::Precondition;
use study::run;
use study::session::Progress;

use crate::exit::{Failure, say};

/// How progress is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub(crate) enum Show {
    /// A bar if the standard error is a terminal, else nothing
    #[default]
    Auto,
    /// A line every ten seconds, for logs
    Plain,
    /// A bar; the standard error must be a terminal
    Bar,
    /// Nothing
    None,
}

/// The settings for messages of a command while it works.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Tell {
    pub(crate) show: Show,
    pub(crate) verbose: bool,
}

impl Tell {
    /// The settings of the options `--quiet`, `--progress` and `--verbose`.
    pub(crate) const fn new(quiet: bool, progress: Option<Show>, verbose: bool) -> Self {
        let show = match progress {
            Some(show) => show,
            None if quiet => Show::None,
            None => Show::Auto,
        };
        Self { show, verbose }
    }

    /// Refuses a bar if the standard error is not a terminal.
    pub(crate) fn check(self) -> Result<(), Failure> {
        if self.show == Show::Bar && !std::io::stderr().is_terminal() {
            let remedy = "write --progress plain for a line every ten seconds";
            return Err(Failure::Input(format!("--progress bar: the standard error is no terminal; {remedy}")));
        }
        Ok(())
    }

    /// Prints a message on a finished step with `--verbose`.
    pub(crate) fn done(self, what: impl FnOnce() -> String) {
        if self.verbose {
            say(what());
        }
    }
}

impl From<bool> for Tell {
    fn from(quiet: bool) -> Self {
        Self::new(quiet, None, false)
    }
}

/// The time of the machine's clock, for progress only: no result depends on it.
#[allow(clippy::disallowed_methods)] // How long a command has taken is no result.
pub(crate) fn now() -> Instant {
    Instant::now()
}

/// The time between two lines.
const EVERY: Duration = Duration::from_secs(10);

#[derive(Clone, Debug, Default)]
struct StepProgress {
    name: String,
    done: u64,
    total: Option<u64>,
    /// Further text for the line.
    also: String,
}

impl StepProgress {
    /// The line on the step after the time `elapsed`.
    fn line(&self, elapsed: Duration) -> String {
        let Self { name, done, total, also } = self;
        let also = if also.is_empty() { String::new() } else { format!(", {also}") };
        let after = format!("after {}", seconds(elapsed.as_secs_f64()));
        let total = total.filter(|total| *total > 0);
        let Some(total) = total else { return format!("{name}: {done}{also}, {after}") };
        let share = *done as f64 / total as f64;
        let left = elapsed.as_secs_f64() * (1.0 / share - 1.0);
        let left = if *done == 0 { String::new() } else { format!(", {} left", seconds(left.max(0.0))) };
        format!("{name}: {done} of {total} ({:.0}%){also}, {after}{left}", share * 100.0)
    }
}

/// Seconds of the machine's clock as text.
fn seconds(seconds: f64) -> String {
    match seconds.round() as u64 {
        whole if whole < 120 => format!("{whole} s"),
        whole if whole < 7200 => format!("{} min", whole / 60),
        whole => format!("{} h {} min", whole / 3600, whole / 60 % 60),
    }
}

/// Prints a line on the state at regular times, from a thread of its own, because one point of a study may take minutes.
struct Lines {
    state: Arc<Mutex<StepProgress>>,
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Lines {
    #[allow(clippy::disallowed_methods)] // The thread prints, and touches no simulation.
    fn new(state: StepProgress, every: Duration, mut print: impl FnMut(String) + Send + 'static) -> Self {
        let state = Arc::new(Mutex::new(state));
        let (stop, stopped) = mpsc::channel();
        let (shared, start) = (Arc::clone(&state), now());
        let thread = thread::spawn(move || {
            while stopped.recv_timeout(every) == Err(RecvTimeoutError::Timeout) {
                let state = shared.lock().expect("no holder panics").clone();
                print(state.line(start.elapsed()));
            }
        });
        Self { state, stop: Some(stop), thread: Some(thread) }
    }

    fn set(&self, change: impl FnOnce(&mut StepProgress)) {
        change(&mut self.state.lock().expect("no holder panics"));
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

enum ProgressDisplay {
    Bar(ProgressBar),
    Lines(Lines),
    Nothing,
}

pub(crate) struct Bar {
    shown: ProgressDisplay,
    name: String,
    start: Instant,
    verbose: bool,
}

impl Bar {
    /// The progress of a step with `requests` requests; none if their number is unknown.
    fn requests(name: &str, requests: Option<u64>, tell: Tell) -> Self {
        let template = match requests {
            Some(_) => "{bar:30} {percent:>3}% {human_pos} requests, {per_sec}, {msg}, {eta} left",
            None => "{spinner} {human_pos} requests, {per_sec}, {msg}",
        };
        Self::new(template, name, requests, tell)
    }

    pub(crate) fn steps(name: &str, tell: impl Into<Tell>) -> Self {
        let bar = Self::new("{bar:30} {percent:>3}% {msg}, {eta} left", name, None, tell.into());
        if let ProgressDisplay::Bar(bar) = &bar.shown {
            bar.set_message(name.to_owned());
        }
        bar
    }

    fn new(template: &str, name: &str, length: Option<u64>, tell: Tell) -> Self {
        let shown = match tell.show {
            Show::Plain => {
                let state = StepProgress { name: name.to_owned(), total: length, ..StepProgress::default() };
                ProgressDisplay::Lines(Lines::new(state, EVERY, say))
            }
            Show::None => ProgressDisplay::Nothing,
            // The bar appears only if the standard error is a terminal.
            Show::Auto | Show::Bar => {
                let style = ProgressStyle::with_template(template).expect("a constant, valid template");
                let target = ProgressDrawTarget::stderr_with_hz(10);
                ProgressDisplay::Bar(ProgressBar::with_draw_target(length, target).with_style(style))
            }
        };
        Self { shown, name: name.to_owned(), start: now(), verbose: tell.verbose }
    }

    pub(crate) fn step(&self, done: u64, total: u64) {
        match &self.shown {
            ProgressDisplay::Bar(bar) => {
                bar.set_length(total);
                bar.set_position(done);
            }
            ProgressDisplay::Lines(lines) => lines.set(|state| (state.done, state.total) = (done, Some(total))),
            ProgressDisplay::Nothing => {}
        }
    }

    fn show(&self, progress: run::Progress) {
        match &self.shown {
            ProgressDisplay::Bar(bar) if !bar.is_hidden() => {
                bar.set_message(format!("{} simulated", progress.simulated));
                bar.set_position(progress.completed);
            }
            ProgressDisplay::Lines(lines) => lines.set(|state| {
                state.done = progress.completed;
                state.also = format!("{} simulated", progress.simulated);
            }),
            ProgressDisplay::Bar(_) | ProgressDisplay::Nothing => {}
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        if let ProgressDisplay::Bar(bar) = &self.shown {
            bar.finish_and_clear();
        }
        // The thread of lines ends before the last message is printed.
        self.shown = ProgressDisplay::Nothing;
        if self.verbose {
            say(format_args!("{}: done in {:.1} s", self.name, self.start.elapsed().as_secs_f64()));
        }
    }
}

#[derive(Clone, Copy, PartialEq)]
enum SessionPart {
    Step(Precondition),
    Stage(usize),
}

/// The progress of a session, one part after another.
pub(crate) struct Bars {
    tell: Tell,
    shown: Option<(SessionPart, Bar)>,
}

impl Bars {
    pub(crate) fn new(tell: impl Into<Tell>) -> Self {
        Self { tell: tell.into(), shown: None }
    }

    pub(crate) fn show(&mut self, progress: Progress) {
        match progress {
            Progress::Preconditioning { step, done, total } => {
                let new = |tell| Bar::steps(&format!("precondition {step}"), tell);
                self.bar(SessionPart::Step(step), new).step(done, total);
            }
            Progress::Running { stage, run, requests } => {
                let name = if stage == 0 { "run".to_owned() } else { format!("run, stage {}", stage + 1) };
                self.bar(SessionPart::Stage(stage), |tell| Bar::requests(&name, requests, tell)).show(run);
            }
            _ => {}
        }
    }

    fn bar(&mut self, of: SessionPart, new: impl FnOnce(Tell) -> Bar) -> &Bar {
        if self.shown.as_ref().is_none_or(|(part, _)| *part != of) {
            // The bar of the last part is cleared first.
            self.shown = None;
            self.shown = Some((of, new(self.tell)));
        }
        &self.shown.as_ref().expect("it was just made").1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_says_how_far_and_how_long() {
        let mut state = StepProgress { name: "study s".into(), ..StepProgress::default() };
        let at = Duration::from_secs;
        assert_eq!(state.line(at(10)), "study s: 0, after 10 s");
        (state.done, state.total) = (3, Some(12));
        assert_eq!(state.line(at(30)), "study s: 3 of 12 (25%), after 30 s, 90 s left");
        state.also = "1.5s simulated".into();
        assert_eq!(state.line(at(3000)), "study s: 3 of 12 (25%), 1.5s simulated, after 50 min, 2 h 30 min left");
        (state.done, state.total) = (0, Some(0));
        assert_eq!(state.line(at(0)), "study s: 0, 1.5s simulated, after 0 s");
    }

    #[test]
    fn lines_come_while_nothing_happens_and_end_with_the_step() {
        let (sent, lines) = mpsc::channel();
        let progress = Lines::new(
            StepProgress { name: "x".into(), ..StepProgress::default() },
            Duration::from_millis(1),
            move |line| {
                let _ = sent.send(line);
            },
        );
        assert!(lines.recv().expect("a line").starts_with("x: 0, after"));
        progress.set(|state| (state.done, state.total) = (1, Some(4)));
        let later = lines.iter().find(|line| line.starts_with("x: 1 of 4 (25%), after"));
        assert!(later.is_some());
        drop(progress);
        // The thread has ended, and with it the sender.
        assert!(lines.iter().all(|line| line.starts_with("x: ")));
    }

    #[test]
    fn a_bar_needs_a_terminal() {
        assert_eq!(Tell::new(true, None, false).show, Show::None);
        assert_eq!(Tell::new(false, Some(Show::Plain), false).show, Show::Plain);
        assert_eq!(Tell::new(false, None, true).show, Show::Auto);
    }
}
