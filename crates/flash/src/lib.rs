//! NAND flash and the backend that times it.
//!
//! [`nand`] is the judge: parts, geometry, cells and their rules. [`backend`] says when things happen: command lists over
//! controllers, dies, channels and a processor. [`spec`] is the array as a file describes it.

pub mod backend;
pub mod nand;
pub mod spec;
