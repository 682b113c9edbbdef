//! The progress bar: on a terminal only, and never in the way of results.

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use study::run::Progress;

/// A bar on the standard error; nothing in a pipe.
pub(crate) struct Bar {
    bar: ProgressBar,
}

impl Bar {
    /// A bar up to `requests`, or one without an end if that is not known.
    pub(crate) fn new(requests: Option<u64>, quiet: bool) -> Self {
        let template = match requests {
            Some(_) => "{bar:30} {percent:>3}% {human_pos} requests, {per_sec}, {msg}, {eta} left",
            None => "{spinner} {human_pos} requests, {per_sec}, {msg}",
        };
        // Standard error is looked at, and left alone if it is no terminal.
        let target = if quiet { ProgressDrawTarget::hidden() } else { ProgressDrawTarget::stderr_with_hz(10) };
        let style = ProgressStyle::with_template(template).expect("a constant, valid template");
        Self { bar: ProgressBar::with_draw_target(requests, target).with_style(style) }
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
