//! Tests of all map units.
