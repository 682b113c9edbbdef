//! Tests of all map units: their answers against a plain array, and the costs of their questions.

mod costs;
mod equal;
mod evictions;
mod figure8;
mod flow;
mod rig;
mod specs;
