//! Tests of the served drive from outside.
