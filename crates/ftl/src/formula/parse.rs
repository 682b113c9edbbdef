//! Reads a formula: recursive descent, one function for each level of precedence.

use base::suggest::nearest;

use super::{Binary, DEPTH, FormulaError, Instruction, Unary};

/// The largest nesting depth of brackets and functions.
const NESTING: usize = 50;

const UNARY: [(&str, Unary); 5] =
    [("abs", f64::abs), ("sqrt", f64::sqrt), ("ln", f64::ln), ("exp", f64::exp), ("floor", f64::floor)];

/// The functions of two values.
const BINARY: [(&str, Binary); 2] = [("min", f64::min), ("max", f64::max)];

const IF: &str = "if";

/// The comparisons. A comparison comes before its own prefixes: `<=` before `<`.
#[allow(clippy::float_cmp)] // The user asks for the exact comparison.
const COMPARISONS: [(&str, Binary); 6] = [
    ("<=", |a, b| f64::from(a <= b)),
    ("<", |a, b| f64::from(a < b)),
    (">=", |a, b| f64::from(a >= b)),
    (">", |a, b| f64::from(a > b)),
    ("==", |a, b| f64::from(a == b)),
    ("!=", |a, b| f64::from(a != b)),
];

pub(super) fn parse(text: &str, names: &[&str]) -> Result<Vec<Instruction>, FormulaError> {
    let mut reader = FormulaReader { text, at: 0, names, steps: Vec::new(), nesting: 0 };
    reader.skip_blanks();
    if reader.remainder().is_empty() {
        return Err(reader.error("nothing is there"));
    }
    reader.comparison()?;
    match reader.remainder().chars().next() {
        None if depth(&reader.steps) > DEPTH => Err(reader.error_at(0, "has too many open brackets; use fewer")),
        None => Ok(reader.steps),
        Some(')') => Err(reader.error("`)` has no `(`")),
        Some(_) if COMPARISONS.iter().any(|(sign, _)| reader.remainder().starts_with(sign)) => {
            let sign = reader.remainder().chars().next().unwrap_or_default();
            Err(reader.error(format!("`{sign}` follows a comparison; put one of them in brackets")))
        }
        Some(other) if other.is_alphanumeric() || "._(".contains(other) => {
            let word = reader.word().to_owned();
            let word = if word.is_empty() { other.to_string() } else { word };
            Err(reader.error(format!("`{word}` follows a value without an operator")))
        }
        Some(other) => Err(reader.error(format!("`{other}` has no meaning"))),
    }
}

/// The most numbers that an evaluation keeps on its stack.
fn depth(steps: &[Instruction]) -> usize {
    let heights = steps.iter().scan(0, |height, step| {
        *height = match step {
            Instruction::Number(_) | Instruction::Name(_) => *height + 1,
            Instruction::Unary(_) => *height,
            Instruction::Binary(_) => *height - 1,
            Instruction::If => *height - 2,
        };
        Some(*height)
    });
    heights.max().unwrap_or(0)
}

struct FormulaReader<'a> {
    text: &'a str,
    /// The index of the byte that is read next.
    at: usize,
    names: &'a [&'a str],
    steps: Vec<Instruction>,
    nesting: usize,
}

impl<'a> FormulaReader<'a> {
    fn remainder(&self) -> &'a str {
        &self.text[self.at..]
    }

    fn error(&self, message: impl Into<String>) -> FormulaError {
        self.error_at(self.at, message)
    }

    fn error_at(&self, byte: usize, message: impl Into<String>) -> FormulaError {
        FormulaError { at: self.text[..byte].chars().count() + 1, message: message.into() }
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.remainder().trim_start().len();
    }

    /// Reads `sign`, if it comes next. Returns false, and reads nothing, if it does not.
    fn take(&mut self, sign: &str) -> bool {
        let comes = self.remainder().starts_with(sign);
        if comes {
            self.at += sign.len();
            self.skip_blanks();
        }
        comes
    }

    /// The name or number that begins here.
    fn word(&self) -> &'a str {
        let text = self.remainder();
        let ends = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '.');
        &text[..text.find(ends).unwrap_or(text.len())]
    }

    fn comparison(&mut self) -> Result<(), FormulaError> {
        self.sum()?;
        if let Some((sign, compare)) = COMPARISONS.iter().find(|(sign, _)| self.remainder().starts_with(sign)) {
            self.take(sign);
            self.sum()?;
            self.steps.push(Instruction::Binary(*compare));
        }
        Ok(())
    }

    fn sum(&mut self) -> Result<(), FormulaError> {
        self.product()?;
        loop {
            let add: Binary = match () {
                () if self.take("+") => |a, b| a + b,
                () if self.take("-") => |a, b| a - b,
                () => return Ok(()),
            };
            self.product()?;
            self.steps.push(Instruction::Binary(add));
        }
    }

    fn product(&mut self) -> Result<(), FormulaError> {
        self.negation()?;
        loop {
            let multiply: Binary = match () {
                () if self.take("*") => |a, b| a * b,
                () if self.take("/") => |a, b| a / b,
                () => return Ok(()),
            };
            self.negation()?;
            self.steps.push(Instruction::Binary(multiply));
        }
    }

    fn negation(&mut self) -> Result<(), FormulaError> {
        let mut signs = 0;
        while self.take("-") {
            signs += 1;
        }
        self.power()?;
        if signs % 2 == 1 {
            self.steps.push(Instruction::Unary(|value| -value));
        }
        Ok(())
    }

    fn power(&mut self) -> Result<(), FormulaError> {
        self.operand()?;
        if self.take("^") {
            self.nest(|reader| reader.negation())?;
            self.steps.push(Instruction::Binary(f64::powf));
        }
        Ok(())
    }

    fn operand(&mut self) -> Result<(), FormulaError> {
        let (from, word) = (self.at, self.word());
        if self.take("(") {
            self.nest(|reader| reader.comparison())?;
            return self.close();
        }
        match word.chars().next() {
            None => {
                let unknown = self.remainder().chars().next().filter(|c| !"+*/^)<>=!,".contains(*c));
                let message = unknown.map(|c| format!("`{c}` has no meaning"));
                Err(self.error(message.unwrap_or_else(|| "a number, a name or a bracket is missing".to_owned())))
            }
            Some(first) if first.is_ascii_digit() || first == '.' => self.number(),
            Some(_) => {
                self.at += word.len();
                self.skip_blanks();
                if self.take("(") { self.call(word, from) } else { self.name(word, from) }
            }
        }
    }

    fn number(&mut self) -> Result<(), FormulaError> {
        let mut word = self.word();
        // The sign of an exponent is no operator.
        if word.ends_with(['e', 'E']) && self.remainder()[word.len()..].starts_with(['+', '-']) {
            let behind = &self.remainder()[word.len() + 1..];
            let digits = behind.find(|c: char| !c.is_ascii_digit()).unwrap_or(behind.len());
            word = &self.remainder()[..word.len() + 1 + digits];
        }
        let number = word.parse().map_err(|_| self.error(format!("`{word}` is no number")))?;
        self.steps.push(Instruction::Number(number));
        self.at += word.len();
        self.skip_blanks();
        Ok(())
    }

    fn name(&mut self, word: &str, from: usize) -> Result<(), FormulaError> {
        let Some(place) = self.names.iter().position(|name| *name == word) else {
            let meant = nearest(word, self.names).map(|name| format!("; did you mean `{name}`?"));
            let (meant, known) = (meant.unwrap_or_else(|| ".".to_owned()), self.names.join(", "));
            return Err(self.error_at(from, format!("`{word}` is no name{meant} There are {known}")));
        };
        self.steps.push(Instruction::Name(place));
        Ok(())
    }

    /// Reads the values of a function, whose bracket is open.
    fn call(&mut self, word: &str, from: usize) -> Result<(), FormulaError> {
        let unary = UNARY.iter().find(|(name, _)| *name == word).map(|(_, f)| (1, Instruction::Unary(*f)));
        let binary = BINARY.iter().find(|(name, _)| *name == word).map(|(_, f)| (2, Instruction::Binary(*f)));
        let Some((wanted, step)) = unary.or(binary).or_else(|| (word == IF).then_some((3, Instruction::If))) else {
            let known: Vec<&str> =
                UNARY.iter().map(|(name, _)| *name).chain(BINARY.iter().map(|(name, _)| *name)).chain([IF]).collect();
            let meant = nearest(word, &known).map(|name| format!("; did you mean `{name}`?"));
            let (meant, known) = (meant.unwrap_or_else(|| ".".to_owned()), known.join(", "));
            return Err(self.error_at(from, format!("`{word}` is no function{meant} There are {known}")));
        };
        let mut values = 1;
        self.nest(|reader| reader.comparison())?;
        while self.take(",") {
            values += 1;
            self.nest(|reader| reader.comparison())?;
        }
        self.close()?;
        if values != wanted {
            let s = if wanted == 1 { "" } else { "s" };
            return Err(self.error_at(from, format!("`{word}` takes {wanted} value{s}, and here are {values}")));
        }
        self.steps.push(step);
        Ok(())
    }

    fn close(&mut self) -> Result<(), FormulaError> {
        if self.take(")") { Ok(()) } else { Err(self.error("`)` is missing")) }
    }

    /// Reads with `read` one level of nesting deeper.
    fn nest(&mut self, read: impl FnOnce(&mut Self) -> Result<(), FormulaError>) -> Result<(), FormulaError> {
        if self.nesting == NESTING {
            let message = format!("more than {NESTING} brackets and functions lie within each other");
            return Err(self.error(message));
        }
        self.nesting += 1;
        let done = read(self);
        self.nesting -= 1;
        done
    }
}
