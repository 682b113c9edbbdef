//! Failures, and the exceptions that they become: the texts equal the command line's.

use std::any::Any;
use std::path::PathBuf;

use base::fault::Fault;
use pyo3::{PyErr, import_exception};
use study::catalogue::WorkloadError;
use study::config::Faults;
use study::execute::{ExecuteError, PointError, TakeError};
use study::memory::TooLarge;
use study::output;
use study::session::SessionError;
use study::store::StoreError;
use workload::SourceError;

use crate::ftl::are_any;
use crate::policy::raised;

// These exceptions are defined in Python, because each is also a subclass of a built-in exception.
import_exception!(flashloom.errors, DescriptionError);
import_exception!(flashloom.errors, RunError);
import_exception!(flashloom.errors, OutputError);
import_exception!(flashloom.errors, BugError);

/// The reason why a function of the module could not do its work.
#[derive(Debug)]
pub(crate) enum Failure {
    Described(Faults),
    /// A run cannot be done, for the reason in the text.
    Run(String),
    /// A file cannot be written, for the reason in the text.
    Output(String),
    /// Flashloom broke an invariant, or panicked with this text.
    Bug(String),
    /// Python code raised an exception.
    Python(PyErr),
}

/// A fault for Python: file, line, key, message, remedy.
type FaultRow = (Option<PathBuf>, Option<usize>, String, String, String);

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        match failure {
            // An exception of an FTL's method during the check of a description takes precedence.
            Failure::Described(faults) => {
                if let Some(error) = raised() {
                    return error;
                }
                let text = faults.to_string();
                let rows = faults
                    .0
                    .into_iter()
                    .map(|fault| -> FaultRow { (fault.path, fault.line, fault.key, fault.message, fault.remedy) });
                DescriptionError::new_err((text, rows.collect::<Vec<_>>()))
            }
            Failure::Run(text) => RunError::new_err((text,)),
            Failure::Output(text) => OutputError::new_err((text,)),
            Failure::Bug(text) if are_any() => BugError::new_err((format!(
                "bug: {text}\nThis is a bug in an FTL that this program has registered, or one in Flashloom: \
                 flashloom.ftl.check tests the FTL"
            ),)),
            Failure::Bug(text) => BugError::new_err((format!(
                "bug: {text}\nThis is a bug in Flashloom. Please report it with the lines that reproduce it"
            ),)),
            Failure::Python(error) => error,
        }
    }
}

impl Failure {
    /// Creates a failure with one fault of an argument.
    pub(crate) fn argument(key: &str, message: impl Into<String>, remedy: impl Into<String>) -> Self {
        let (message, remedy) = (message.into(), remedy.into());
        // Without a file, the text would begin like that of the option --set.
        let path = Some(PathBuf::from("argument"));
        Self::Described(study::config::ConfigFault { path, line: None, key: key.to_owned(), message, remedy }.into())
    }

    /// Returns the exception of a policy or an FTL that ended the work; without one, a bug with the text of the panic.
    pub(crate) fn panicked(payload: &(dyn Any + Send)) -> Self {
        if let Some(error) = raised() {
            return Self::Python(error);
        }
        let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
        let text = text.or_else(|| payload.downcast_ref::<String>().cloned());
        Self::Bug(text.unwrap_or_else(|| "it panicked".to_owned()))
    }

    /// Creates a failure with faults of an argument.
    pub(crate) fn arguments(faults: Vec<Fault>) -> Self {
        let path = Some(PathBuf::from("argument"));
        let fault = |fault: Fault| {
            let Fault { path: key, message, remedy } = fault;
            study::config::ConfigFault { path: path.clone(), line: None, key, message, remedy }
        };
        Self::Described(Faults(faults.into_iter().map(fault).collect()))
    }
}

impl From<Faults> for Failure {
    fn from(faults: Faults) -> Self {
        Self::Described(faults)
    }
}

impl From<WorkloadError> for Failure {
    fn from(error: WorkloadError) -> Self {
        match error {
            WorkloadError::Faults(faults) => Self::Described(faults),
            WorkloadError::Source(error) => Self::Run(error.to_string()),
        }
    }
}

impl From<SessionError> for Failure {
    fn from(error: SessionError) -> Self {
        match error.is_bug() {
            true => Self::Bug(error.to_string()),
            false => Self::Run(error.to_string()),
        }
    }
}

impl From<ExecuteError> for Failure {
    fn from(error: ExecuteError) -> Self {
        match &error {
            ExecuteError::Session(inner, _) if inner.is_bug() => Self::Bug(error.to_string()),
            ExecuteError::Output(..) => Self::Output(error.to_string()),
            _ => Self::Run(error.to_string()),
        }
    }
}

impl From<PointError> for Failure {
    fn from(error: PointError) -> Self {
        match error {
            PointError::Run(error) => error.into(),
            error => Self::Run(error.to_string()),
        }
    }
}

impl From<TakeError> for Failure {
    fn from(error: TakeError) -> Self {
        Self::Run(format!("what a worker returned {error}"))
    }
}

impl From<SourceError> for Failure {
    fn from(error: SourceError) -> Self {
        Self::Run(error.to_string())
    }
}

impl From<TooLarge> for Failure {
    fn from(error: TooLarge) -> Self {
        Self::Run(error.to_string())
    }
}

impl From<output::OutputError> for Failure {
    fn from(error: output::OutputError) -> Self {
        Self::Output(error.to_string())
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Output(error.to_string())
    }
}

impl From<PyErr> for Failure {
    fn from(error: PyErr) -> Self {
        Self::Python(error)
    }
}
