//! Placeholder while the ground floor is laid.
