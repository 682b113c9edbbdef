//! Integration tests in one program, because each program would be linked separately.

mod anecdotes;
mod changelog;
mod extremes;
mod failures;
mod life;
mod measured;
mod model;
mod reference;
mod steady;
