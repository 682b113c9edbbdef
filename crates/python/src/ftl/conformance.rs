//! The conformance suite of the library's FTLs, applied to an FTL in Python.

use std::collections::BTreeMap;
use std::sync::mpsc::Sender;

use flashloom::ftl::{FtlKind, FtlSpec};
use flashloom::units::Ratio;
use pyo3::prelude::*;
use testkit::conformance::{CHECKS, Effort, Setting, Trial, settings_of};

use super::rule::FtlError;
use crate::detached::followed;
use crate::error::Failure;
use crate::policy::raised;

/// The numbers of requests, power cuts and failed operations of some checks.
type Work = (u64, u64, u64);

/// Applies the checks to small drives with the FTL of this kind: each check to every `step`-th drive, and different
/// checks to different drives. Calls `progress(done, all)`, and returns the numbers of requests, power cuts and failed
/// operations.
#[pyfunction]
pub(crate) fn check_ftl(
    py: Python<'_>,
    kind: &str,
    options: BTreeMap<String, f64>,
    step: usize,
    progress: Option<Py<PyAny>>,
) -> PyResult<Work> {
    let kind = FtlKind::try_from(kind.to_owned())
        .map_err(|error| Failure::argument("kind", error.to_string(), "pass an FTL that is registered"))?;
    let spec = FtlSpec { kind, options, over_provisioning: Some(Ratio::new(0.7)), ..FtlSpec::default() };
    let settings = settings_of(&[spec]);
    if let Some(error) = raised() {
        return Err(error);
    }
    if settings.is_empty() {
        let text = "spare_blocks leaves a drive of 32 blocks no room for data of 9 blocks, so no check can run";
        return Err(FtlError::new_err(text));
    }
    let step = step.clamp(1, settings.len());
    let pairs: Vec<_> = (0..CHECKS.len())
        .flat_map(|check| (0..settings.len()).skip(check % step).step_by(step).map(move |setting| (check, setting)))
        .collect();
    let all = pairs.len();
    followed(
        py,
        |interrupt, sender: Sender<usize>| {
            let mut work = Work::default();
            for (done, (check, number)) in pairs.into_iter().enumerate() {
                if interrupt.load(std::sync::atomic::Ordering::Relaxed) {
                    break;
                }
                let (requests, cuts, failures) = one(check, &settings[number], number as u64)?;
                work = (work.0 + requests, work.1 + cuts, work.2 + failures);
                // The receiver is gone after an interruption.
                let _ = sender.send(done + 1);
            }
            Ok(work)
        },
        |py, done| progress.as_ref().map_or(Ok(()), |progress| progress.call1(py, (done, all)).map(drop)),
    )
}

/// Applies one check to one drive.
fn one(check: usize, setting: &Setting, seed: u64) -> Result<Work, Failure> {
    let resolved = setting.spec.resolve().map_err(Failure::arguments)?;
    let check = CHECKS[check];
    let trial = Trial { resolved: &resolved, seed, effort: Effort::TEST };
    match check.run(&setting.name, &trial) {
        Ok(work) => Ok((work.requests, work.cuts, work.failures)),
        Err(failure) => Err(Failure::Python(Python::attach(|py| {
            let place = format!("check `{}` fails on the drive `{}` with seed {seed}", check.name, setting.name);
            match raised() {
                None => FtlError::new_err(format!("{place}: {}", failure.message)),
                Some(error) => {
                    // Python has exception notes from 3.11 on.
                    let _ = error.value(py).call_method1("add_note", (place,));
                    error
                }
            }
        }))),
    }
}
