//! Failed requests: the rule by which they fail the command.

use clap::Args;

use study::summary::Summary;
use study::text::percent;
use study::validity::MOST_FAILED;

use crate::exit::Failure;

/// Whether failed requests are expected.
#[derive(Args, Clone, Copy, Debug, Default)]
pub(crate) struct FailuresArgs {
    /// End with exit code 0 even if more than 0.1 % of the requests failed
    #[arg(long)]
    pub(crate) allow_failures: bool,
}

impl FailuresArgs {
    /// Fails if in one of these runs more requests failed than its numbers may leave out, unless `--allow-failures` is
    /// given.
    pub(crate) fn check<'a>(self, runs: impl IntoIterator<Item = &'a Summary>) -> Result<(), Failure> {
        let Some(worst) = runs.into_iter().filter(|_| !self.allow_failures).find(|run| run.fails_too_often()) else {
            return Ok(());
        };
        Err(Failure::Unexpected(format!(
            "more than {} of the requests to {} failed under {} (seed {}): its numbers are about the others; \
             --allow-failures accepts that",
            percent(MOST_FAILED),
            worst.device,
            worst.workload,
            worst.seed
        )))
    }
}
