//! Tests of all map units against a plain array, and of what their questions cost.

mod equal;
mod rig;
