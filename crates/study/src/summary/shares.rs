//! Shares of the time of a run.

use base::units::Span;

/// The mean over a list of shares.
#[must_use]
pub fn mean(shares: &[f64]) -> Option<f64> {
    (!shares.is_empty()).then(|| shares.iter().sum::<f64>() / shares.len() as f64)
}

/// The share of `span` for which each part was busy.
#[must_use]
pub fn shares(busy: &[Span], span: Span) -> Vec<f64> {
    busy.iter().map(|busy| share(*busy, span)).collect()
}

/// `busy` as a share of `span`, from 0 to 1; 0 if `span` is zero.
#[must_use]
pub fn share(busy: Span, span: Span) -> f64 {
    if span.is_zero() { 0.0 } else { busy.as_ps() as f64 / span.as_ps() as f64 }
}
