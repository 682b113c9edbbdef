//! Tests of all map units against a plain array, and of what their questions cost.

mod costs;
mod equal;
mod figure8;
mod flow;
mod rig;
mod specs;
