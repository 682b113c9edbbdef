//! The token of users who may change the drive's state.

use std::fmt;
use std::io;

/// 128 random bits as text.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Token(String);

impl Token {
    pub(super) fn random() -> io::Result<Self> {
        let mut bytes = [0; 16];
        // The random bits have no effect on the simulation.
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(bytes.iter().map(|byte| format!("{byte:02x}")).collect()))
    }

    /// True if the text is the token. The comparison takes the same time for all texts of one length.
    pub(super) fn is(&self, text: &str) -> bool {
        let Self(token) = self;
        let differ = |all, (a, b): (u8, u8)| all | (a ^ b);
        token.len() == text.len() && token.bytes().zip(text.bytes()).fold(0, differ) == 0
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_itself_and_no_other() {
        let [one, two] = [(); 2].map(|()| Token::random().expect("the system has random numbers"));
        let text = one.to_string();
        assert!(text.len() == 32 && text.bytes().all(|byte| byte.is_ascii_hexdigit()), "{text}");
        assert!(one.is(&text) && one != two && !one.is(&two.to_string()));
        let other = if text.ends_with('0') { '1' } else { '0' };
        let wrong = ["".to_owned(), text[1..].to_owned(), format!("{text}0"), format!("{}{other}", &text[..31])];
        assert!(wrong.iter().all(|wrong| !one.is(wrong)), "{wrong:?}");
    }
}
