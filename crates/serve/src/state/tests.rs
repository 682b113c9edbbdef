//! Tests of states: with files in memory that die at a chosen write, and with real files.

mod damage;
mod directory;
mod drives;
mod images;
mod killed;
pub(crate) mod memory;
mod process;
