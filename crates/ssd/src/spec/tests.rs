//! Families in whole descriptions.

mod hydra;
mod page;
mod slc_mlc;
mod times;
