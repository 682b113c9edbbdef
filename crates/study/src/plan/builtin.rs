//! The studies that come with Flashloom.

/// One file per study. A new study is a new file and a line here; its name begins with that of its paper.
const BUILTIN: &[(&str, &str)] = &[
    ("dirik/bus", include_str!("../../../../studies/dirik/bus.toml")),
    ("dirik/channels", include_str!("../../../../studies/dirik/channels.toml")),
    ("dirik/concurrency", include_str!("../../../../studies/dirik/concurrency.toml")),
    ("dirik/fixed-bandwidth", include_str!("../../../../studies/dirik/fixed-bandwidth.toml")),
    ("dirik/orthogonal", include_str!("../../../../studies/dirik/orthogonal.toml")),
    ("dirik/pair", include_str!("../../../../studies/dirik/pair.toml")),
    ("dirik/priority", include_str!("../../../../studies/dirik/priority.toml")),
    ("dirik/single", include_str!("../../../../studies/dirik/single.toml")),
    ("fmmu/agreement", include_str!("../../../../studies/fmmu/agreement.toml")),
    ("fmmu/associativity", include_str!("../../../../studies/fmmu/associativity.toml")),
    ("fmmu/channels", include_str!("../../../../studies/fmmu/channels.toml")),
    ("fmmu/flush", include_str!("../../../../studies/fmmu/flush.toml")),
    ("fmmu/packing", include_str!("../../../../studies/fmmu/packing.toml")),
    ("fmmu/scalability", include_str!("../../../../studies/fmmu/scalability.toml")),
    ("fmmu/synthetic", include_str!("../../../../studies/fmmu/synthetic.toml")),
    ("fmmu/traces", include_str!("../../../../studies/fmmu/traces.toml")),
];

/// The name and the text of every study under `studies/`, by name.
#[must_use]
pub const fn builtin() -> &'static [(&'static str, &'static str)] {
    BUILTIN
}
