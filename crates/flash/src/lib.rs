//! NAND flash, and the backend that times it.
//!
//! [`nand`] judges: parts, geometry, cells and the rules of NAND. [`backend`] times: it executes command lists on
//! controllers, dies, channels and a processor. [`spec`] is the flash array of a device file.

pub mod backend;
pub mod nand;
pub mod spec;
