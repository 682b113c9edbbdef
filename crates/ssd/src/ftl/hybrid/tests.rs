//! The hybrid-mapped FTLs on devices of a few blocks.
