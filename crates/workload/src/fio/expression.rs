//! Arithmetic in parentheses, which fio takes in place of a number: `size=(8*1024k)`.

/// The value of an expression of integers with `+ - * / % ^` and parentheses. `number` reads an operand.
pub(super) fn evaluate(text: &str, number: &dyn Fn(&str) -> Option<u64>) -> Option<u64> {
    let mut rest = ExpressionReader { text, number };
    let value = rest.sum()?;
    rest.text.trim().is_empty().then_some(value)?.try_into().ok()
}

/// The part of an expression that has not been read yet.
struct ExpressionReader<'a> {
    text: &'a str,
    number: &'a dyn Fn(&str) -> Option<u64>,
}

impl ExpressionReader<'_> {
    /// Takes one of these operators, if it is next.
    fn operator(&mut self, among: &[char]) -> Option<char> {
        let text = self.text.trim_start();
        let next = text.chars().next().filter(|c| among.contains(c))?;
        self.text = &text[next.len_utf8()..];
        Some(next)
    }

    fn sum(&mut self) -> Option<i128> {
        let mut value = self.product()?;
        while let Some(operator) = self.operator(&['+', '-']) {
            let other = self.product()?;
            value = if operator == '+' { value.checked_add(other)? } else { value.checked_sub(other)? };
        }
        Some(value)
    }

    fn product(&mut self) -> Option<i128> {
        let mut value = self.power()?;
        while let Some(operator) = self.operator(&['*', '/', '%']) {
            let other = self.power()?;
            value = match operator {
                '*' => value.checked_mul(other)?,
                '/' => value.checked_div(other)?,
                _ => value.checked_rem(other)?,
            };
        }
        Some(value)
    }

    fn power(&mut self) -> Option<i128> {
        let base = self.operand()?;
        match self.operator(&['^']) {
            Some(_) => base.checked_pow(self.power()?.try_into().ok()?),
            None => Some(base),
        }
    }

    fn operand(&mut self) -> Option<i128> {
        if self.operator(&['(']).is_some() {
            let value = self.sum()?;
            return self.operator(&[')']).map(|_| value);
        }
        if self.operator(&['-']).is_some() {
            return self.operand()?.checked_neg();
        }
        let text = self.text.trim_start();
        let end = text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
        self.text = &text[end..];
        (self.number)(&text[..end]).map(i128::from)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Option<u64> {
        evaluate(text, &|operand| match operand.strip_suffix('k') {
            Some(number) => number.parse::<u64>().ok().map(|n| n * 1024),
            None => operand.parse().ok(),
        })
    }

    #[test]
    fn arithmetic_has_the_usual_precedence() {
        for (text, expected) in [
            ("(4*8)", 32),
            ("(2+3*4)", 14),
            ("((2+3)*4k)", 20_480),
            ("(2^3^2)", 512),
            ("(17%5)", 2),
            ("(8 / 2 - 1)", 3),
        ] {
            assert_eq!(value(text), Some(expected), "{text}");
        }
        for text in ["(4*8", "(4*)", "(1/0)", "(1-2)", "(9^99)", "(4*x)", "(1) 2", ""] {
            assert_eq!(value(text), None, "{text}");
        }
        assert_eq!(value("(3- -2)"), Some(5));
    }
}
