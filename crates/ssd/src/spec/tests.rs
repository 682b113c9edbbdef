//! Families in whole descriptions.

mod errors;
mod hydra;
mod page;
mod slc_mlc;
mod times;
