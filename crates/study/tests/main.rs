//! Integration tests in one program, because each program would be linked separately.

mod anecdotes;
mod extremes;
mod model;
mod reference;
mod steady;
