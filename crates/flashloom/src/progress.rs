//! The progress bar: on a terminal only, and never among the results.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use ssd::Precondition;
use study::run;
use study::session::Progress;

/// A bar on the standard error; nothing in a pipe.
pub(crate) struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// A bar up to `requests`; without an end if the number is unknown.
    fn requests(requests: Option<u64>, quiet: bool) -> Self {
        let template = match requests {
            Some(_) => "{bar:30} {percent:>3}% {human_pos} requests, {per_sec}, {msg}, {eta} left",
            None => "{spinner} {human_pos} requests, {per_sec}, {msg}",
        };
        Self::new(template, requests, quiet)
    }

    /// A bar for other steps, called `name`.
    pub(crate) fn steps(name: &str, quiet: bool) -> Self {
        let bar = Self::new("{bar:30} {percent:>3}% {msg}, {eta} left", None, quiet);
        bar.bar.set_message(name.to_owned());
        bar
    }

    fn new(template: &str, length: Option<u64>, quiet: bool) -> Self {
        // The bar appears only if the standard error is a terminal.
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        let style = ProgressStyle::with_template(template).expect("a constant, valid template");
        Self { bar: ProgressBar::with_draw_target(length, target).with_style(style) }
    }

    /// Shows `done` of `total` steps.
    pub(crate) fn step(&self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(done);
    }

    /// Shows the progress of a run.
    fn show(&self, progress: run::Progress) {
        if !self.bar.is_hidden() {
            self.bar.set_message(format!("{} simulated", progress.simulated));
            self.bar.set_position(progress.completed);
        }
    }
}

impl Drop for Bar {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// The part of a session that a bar shows.
#[derive(Clone, Copy, PartialEq)]
enum Part {
    Step(Precondition),
    Stage(usize),
}

/// The bars of a session, one after another.
pub(crate) struct Bars {
    quiet: bool,
    shown: Option<(Part, Bar)>,
}

impl Bars {
    pub(crate) const fn new(quiet: bool) -> Self {
        Self { quiet, shown: None }
    }

    /// Shows the progress of a session.
    pub(crate) fn show(&mut self, progress: Progress) {
        match progress {
            Progress::Preconditioning { step, done, total } => {
                let new = |quiet| Bar::steps(&format!("precondition {step}"), quiet);
                self.bar(Part::Step(step), new).step(done, total);
            }
            Progress::Running { stage, run, requests } => {
                self.bar(Part::Stage(stage), |quiet| Bar::requests(requests, quiet)).show(run);
            }
            _ => {}
        }
    }

    fn bar(&mut self, of: Part, new: impl FnOnce(bool) -> Bar) -> &Bar {
        if self.shown.as_ref().is_none_or(|(part, _)| *part != of) {
            // The bar of the part before is cleared first.
            self.shown = None;
            self.shown = Some((of, new(self.quiet)));
        }
        &self.shown.as_ref().expect("it was just made").1
    }
}
