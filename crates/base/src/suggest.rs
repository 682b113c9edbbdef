//! Suggests the name that was probably meant.

/// The longest name that gets a suggestion, in bytes; all keys and names are shorter.
const LONGEST: usize = 200;

/// The candidate nearest to `name`, if it is near enough to be a typing error, or if one contains the other.
#[must_use]
pub fn nearest<'a>(name: &str, candidates: &[&'a str]) -> Option<&'a str> {
    let plain = |text: &str| text.to_lowercase().replace('-', "_");
    if name.len() > LONGEST {
        return None;
    }
    let name = plain(name);
    let near = |candidate: &&str| {
        let candidate = plain(candidate);
        let part = name.len().min(candidate.len()) >= 3 && (candidate.contains(&name) || name.contains(&candidate));
        let most = 1 + name.len() / 4;
        if !part && name.len().abs_diff(candidate.len()) > most {
            return None;
        }
        // Letters to insert, delete, replace, or swap with their neighbour.
        let slip = strsim::osa_distance(&name, &candidate);
        if slip <= most {
            Some(slip)
        } else if part {
            Some(100 + slip)
        } else {
            None
        }
    };
    candidates.iter().filter_map(|candidate| near(candidate).map(|slip| (slip, *candidate))).min().map(|(_, c)| c)
}

/// The start of a remedy: the name that was probably meant, if there is one.
#[must_use]
pub fn did_you_mean<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let candidates: Vec<&str> = candidates.into_iter().collect();
    nearest(name, &candidates).map_or_else(String::new, |near| format!("did you mean `{near}`? "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_word_finds_the_nearest_key_and_an_unknown_word_finds_none() {
        let keys = ["page_size", "pages_per_block", "planes", "read"];
        assert_eq!(nearest("pagesize", &keys), Some("page_size"));
        assert_eq!(nearest("paeg_size", &keys), Some("page_size"));
        assert_eq!(nearest("page-size", &keys), Some("page_size"));
        assert_eq!(nearest("plane", &keys), Some("planes"));
        assert_eq!(nearest("pages_in_a_block", &["pages"]), Some("pages"));
        assert_eq!(nearest("colour", &keys), None);
    }

    #[test]
    fn a_very_long_name_finds_no_suggestion() {
        let long = "page_size".repeat(200_000);
        assert_eq!(nearest(&long, &["page_size"]), None);
        assert_eq!(did_you_mean("olpt", ["oltp", "demo"]), "did you mean `oltp`? ");
        assert_eq!(did_you_mean("olpt", ["demo"]), "");
    }
}
