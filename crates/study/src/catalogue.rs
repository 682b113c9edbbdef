//! From a name to what it stands for: a file, or something that comes with Flashloom.

mod device;
mod workload;

pub use device::{Device, device, device_from};
pub use workload::{Stage, Workload, WorkloadError, WorkloadFile, workload};
