//! The progress bar: on a terminal only, and never in the way of results.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use study::run::Progress;

/// A bar on the standard error; nothing in a pipe.
pub(crate) struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// A bar up to `requests`, or one without an end if that is not known.
    pub(crate) fn requests(requests: Option<u64>, quiet: bool) -> Self {
        let template = match requests {
            Some(_) => "{bar:30} {percent:>3}% {human_pos} requests, {per_sec}, {msg}, {eta} left",
            None => "{spinner} {human_pos} requests, {per_sec}, {msg}",
        };
        Self::new(template, requests, quiet)
    }

    /// A bar for something else, called `name`.
    pub(crate) fn steps(name: &str, quiet: bool) -> Self {
        let bar = Self::new("{bar:30} {percent:>3}% {msg}, {eta} left", None, quiet);
        bar.bar.set_message(name.to_owned());
        bar
    }

    fn new(template: &str, length: Option<u64>, quiet: bool) -> Self {
        // Standard error is looked at, and left alone if it is no terminal.
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        let style = ProgressStyle::with_template(template).expect("a constant, valid template");
        Self { bar: ProgressBar::with_draw_target(length, target).with_style(style) }
    }

    /// Shows that `done` of `total` are done.
    pub(crate) fn step(&self, done: u64, total: u64) {
        self.bar.set_length(total);
        self.bar.set_position(done);
    }

    /// Shows how far it has got.
    pub(crate) fn show(&self, progress: Progress) {
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
