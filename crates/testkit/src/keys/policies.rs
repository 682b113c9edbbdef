//! Tables of a description with policies: by a formula, and by a registered policy of this crate.

use super::own;

/// The costs of a map unit's steps, all different, so that a mix-up shows.
pub(super) const COSTS: &str = r#"costs = { custom = { packet = "20ns", tag = "11ns", victim = "12ns", entry = "13ns", list = "14ns", issue = "15ns", scan = "16ns", command = "17ns", sync = "18ns" } }"#;

/// Lists the evictions of a cache of map entries, each with the suffix for its device's name; only the empty one if
/// there is no cache.
pub(super) fn evictions(has_cache: bool) -> Vec<(&'static str, String)> {
    if !has_cache {
        return vec![("", String::new())];
    }
    let score = "evict = { policy = \"score\", score = \"age - recency\" }".to_owned();
    vec![("", score), (", own eviction", format!("evict = {}", own::eviction()))]
}

/// Lists tables `[ftl]` with a placement or a pace.
pub(super) fn tables() -> Vec<(&'static str, String)> {
    let table = |ftl: &str| format!("[host]\nqueue-depth = 12\n[ftl]\nover-provisioning = \"45%\"\n{ftl}\n");
    let placement = |placement: &str| table(&format!("placement = {placement}"));
    let pace = |pace: &str| table(&format!("gc = {{ start = 3, stop = 4, parallel = 3, pace = {pace} }}"));
    vec![
        (
            "page, placement by a formula",
            placement("{ policy = \"score\", score = \"3 * filling - commands\", order = \"channel-chip-die-plane\" }"),
        ),
        ("page, placement by a policy of the program", placement(own::placement())),
        (
            "page, pace by a formula",
            pace("{ policy = \"formula\", copies = \"if(idle > 0.0005, parallel, free < 2)\" }"),
        ),
        ("page, pace by a policy of the program", pace(own::pace())),
        ("page, pace by windows", pace("{ policy = \"window\", length = \"20ms\", of = 3, turn = 1 }")),
    ]
}
