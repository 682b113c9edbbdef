//! Formulas of a description, such as the score of a victim: numbers, names, `+ - * / ^`, comparisons and a few functions.
//!
//! A formula is read once, into steps for a stack of numbers, and evaluated for each candidate. It has no loops and no
//! state, so it always ends and has one value for one set of inputs.
//!
//! No expression crate: `exmex` also reads `2 x` and `{u}`, reports no positions and brings a regular-expression engine, so that the
//! checks around it are longer than this module.

mod parse;

use std::fmt;

/// The most numbers that wait on the stack at once.
const DEPTH: usize = 32;

/// A function of one value, and of two.
type Unary = fn(f64) -> f64;
type Binary = fn(f64, f64) -> f64;

/// A step of an evaluation: a step takes its arguments from the stack and leaves its value there.
#[derive(Clone, Copy, Debug)]
enum Instruction {
    Number(f64),
    /// A name, by its index in the list of names.
    Name(usize),
    Unary(Unary),
    Binary(Binary),
    /// The second argument if the first is not zero, else the third.
    If,
}

/// An error in the text of a formula, and its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FormulaError {
    /// The character at which the reading stopped, counted from 1.
    pub at: usize,
    /// The reason why the text is no formula, for the user.
    pub message: String,
}

impl fmt::Display for FormulaError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "character {}: {}", self.at, self.message)
    }
}

/// A formula over a list of names, ready to be evaluated.
#[derive(Clone, Debug)]
pub struct Formula {
    steps: Vec<Instruction>,
}

impl Formula {
    /// Reads a formula over `names`.
    ///
    /// # Errors
    ///
    /// If the text is no formula, or has a name that is not in `names`.
    pub fn parse(text: &str, names: &[&str]) -> Result<Self, FormulaError> {
        parse::parse(text, names).map(|steps| Self { steps })
    }

    /// True if the formula has the name at index `name` of the list.
    #[must_use]
    pub fn uses(&self, name: usize) -> bool {
        self.steps.iter().any(|step| matches!(step, Instruction::Name(used) if *used == name))
    }

    /// The value of the formula. `value_of` gives the value of a name by its index in the list.
    ///
    /// # Panics
    ///
    /// Never: [`Self::parse`] counts the arguments of every step.
    #[must_use]
    pub fn value(&self, value_of: impl Fn(usize) -> f64) -> f64 {
        let mut stack = [0.0; DEPTH];
        let mut top = 0;
        for step in &self.steps {
            match *step {
                Instruction::Number(number) => {
                    stack[top] = number;
                    top += 1;
                }
                Instruction::Name(name) => {
                    stack[top] = value_of(name);
                    top += 1;
                }
                Instruction::Unary(function) => stack[top - 1] = function(stack[top - 1]),
                Instruction::Binary(function) => {
                    top -= 1;
                    stack[top - 1] = function(stack[top - 1], stack[top]);
                }
                Instruction::If => {
                    top -= 2;
                    stack[top - 1] = if stack[top - 1] == 0.0 { stack[top + 1] } else { stack[top] };
                }
            }
        }
        stack[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const NAMES: [&str; 3] = ["u", "age", "erases"];

    fn value(text: &str) -> f64 {
        let formula = Formula::parse(text, &NAMES).unwrap_or_else(|error| panic!("{text}: {error}"));
        formula.value(|name| [0.25, 8.0, 3.0][name])
    }

    fn error(text: &str) -> String {
        Formula::parse(text, &NAMES).expect_err(text).to_string()
    }

    #[test]
    fn formulas_have_the_usual_precedence() {
        for (text, expected) in [
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("8 - 4 - 2", 2.0),
            ("16 / 4 / 2", 2.0),
            ("2 ^ 3 ^ 2", 512.0),
            ("-2 ^ 2", -4.0),
            ("2 ^ -1", 0.5),
            ("--3", 3.0),
            ("1.5e2", 150.0),
            (".5", 0.5),
            ("age * (1 - u) / (2 * u)", 12.0),
            ("age>erases", 1.0),
            ("age <= erases", 0.0),
            ("u == 0.25", 1.0),
            ("u != 0.25", 0.0),
            ("1 + 1 < 3", 1.0),
            ("min(age, 3) + max(u, 1)", 4.0),
            ("if(age > 4, erases, 1/0)", 3.0),
            ("if(0, 1, if(1, 5, 6))", 5.0),
            ("sqrt(16) + abs(-1) + floor(1.9) + ln(exp(2))", 8.0),
        ] {
            assert!((value(text) - expected).abs() < 1e-12, "{text} is {}, not {expected}", value(text));
        }
        assert!(value("1 / 0").is_infinite() && value("0 / 0").is_nan());
    }

    #[test]
    fn errors_say_where_they_are() {
        for (text, expected) in [
            ("", "character 1: nothing is there"),
            ("u +", "character 4: a number, a name or a bracket is missing"),
            ("u + * 2", "character 5: a number, a name or a bracket is missing"),
            ("2 u", "character 3: `u` follows a value without an operator"),
            ("(u", "character 3: `)` is missing"),
            ("u)", "character 2: `)` has no `(`"),
            ("ag * 2", "character 1: `ag` is no name; did you mean `age`? There are u, age, erases"),
            ("zzz", "character 1: `zzz` is no name. There are u, age, erases"),
            ("sqr(u)", "character 1: `sqr` is no function; did you mean `sqrt`?"),
            ("min(u)", "character 1: `min` takes 2 values, and here are 1"),
            ("abs(u, 2)", "character 1: `abs` takes 1 value, and here are 2"),
            ("u \u{a7} 2", "character 3: `\u{a7}` has no meaning"),
            ("1.2.3", "character 1: `1.2.3` is no number"),
            ("1 < u < 2", "character 7: `<` follows a comparison; put one of them in brackets"),
        ] {
            let found = error(text);
            assert!(found.starts_with(expected), "{text}: {found}");
        }
        let nested = |levels: usize| format!("{}u{}", "1+(".repeat(levels), ")".repeat(levels));
        assert!(error(&nested(51)).contains("more than 50 brackets and functions lie within each other"));
        assert!(error(&nested(40)).contains("too many open brackets"));
        assert!((value(&nested(30)) - 30.25).abs() < 1e-12);
    }

    #[test]
    fn a_formula_knows_its_names() {
        let formula = Formula::parse("u + 1", &NAMES).expect("a formula");
        assert_eq!([0, 1, 2].map(|name| formula.uses(name)), [true, false, false]);
    }

    proptest! {
        #[test]
        fn any_text_is_a_formula_or_has_an_error_inside_it(text in "[-u1.e+*/^(),<>=! agifmn\u{a7}]{0,40}") {
            match Formula::parse(&text, &NAMES) {
                // A formula has a value for any inputs: the evaluation must not panic.
                Ok(formula) => drop(formula.value(|name| name as f64)),
                Err(error) => prop_assert!((1..=text.chars().count() + 1).contains(&error.at), "{error}"),
            }
        }
    }
}
