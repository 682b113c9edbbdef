//! A point of a study: a device, its workloads and the options of its runs.

use super::{Label, RunSpec};
use crate::catalogue::{Device, WorkloadFile};

/// One combination of the axes.
#[derive(Clone, Debug)]
pub struct Point {
    /// The point's label on each axis, in the order of the axes.
    pub labels: Vec<Label>,
    /// The device, with the changes of the point applied.
    pub device: Device,
    /// The workload, with the changes of the point applied.
    pub workload: WorkloadFile,
    /// The workloads that run at the same time, in the order of their names.
    pub beside: Vec<ConcurrentWorkload>,
    /// The options of the point's runs.
    pub run: RunSpec,
}

/// A workload beside the first workload of a point, found but not opened.
#[derive(Clone, Debug)]
pub struct ConcurrentWorkload {
    /// Name of the flow in results.
    pub name: String,
    /// The workload, with the changes of its keys.
    pub workload: WorkloadFile,
}
