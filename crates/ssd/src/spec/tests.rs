//! Families in whole descriptions.

mod chang;
mod hydra;
mod page;
