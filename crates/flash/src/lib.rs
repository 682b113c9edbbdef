//! NAND flash and the backend that times it.
//!
//! [`nand`] is the judge: parts, geometry, cells and their rules. [`backend`] says when things happen: command lists over
//! controllers, dies, channels and a processor.

pub mod backend;
pub mod nand;
