//! Integration tests in one program, because each program would be linked separately.

mod anecdotes;
mod extremes;
mod measured;
mod model;
mod reference;
mod steady;
