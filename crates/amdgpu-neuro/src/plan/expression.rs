//! Weights as expressions of the positions of their two neurons: a program for a stack, as `docs/plan_schema.md` describes it.

use serde::{Deserialize, Serialize};

/// A number, or a word: `i`, `j`, an operator or a function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Token {
    Number(f64),
    Word(String),
}

/// Values on the stack at most: expressions of the language are far flatter.
const MAX_DEPTH: usize = 64;

#[derive(Clone, Copy, Debug)]
enum Step {
    Number(f64),
    Source,
    Target,
    One(fn(f64) -> f64),
    Two(fn(f64, f64) -> f64),
    Three(fn(f64, f64, f64) -> f64),
}

/// A program that was found right.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    steps: Vec<Step>,
}

fn truth(condition: bool) -> f64 {
    f64::from(u8::from(condition))
}

/// The same functions as `evaluate` of `nim/src/network/formula.nim`.
#[expect(
    clippy::float_cmp,
    reason = "the language's comparisons are those of numbers"
)]
fn step_of(word: &str) -> Option<Step> {
    Some(match word {
        "i" => Step::Source,
        "j" => Step::Target,
        "negate" => Step::One(|x| -x),
        "not" => Step::One(|x| truth(x == 0.0)),
        "exp" => Step::One(f64::exp),
        "log" => Step::One(f64::ln),
        "log10" => Step::One(f64::log10),
        "sqrt" => Step::One(f64::sqrt),
        "sin" => Step::One(f64::sin),
        "cos" => Step::One(f64::cos),
        "tan" => Step::One(f64::tan),
        "sinh" => Step::One(f64::sinh),
        "cosh" => Step::One(f64::cosh),
        "tanh" => Step::One(f64::tanh),
        "floor" => Step::One(f64::floor),
        "ceil" => Step::One(f64::ceil),
        "abs" => Step::One(f64::abs),
        "sign" => Step::One(|x| truth(x > 0.0) - truth(x < 0.0)),
        "int" => Step::One(|x| x),
        "exprel" => Step::One(|x| if x == 0.0 { 1.0 } else { x.exp_m1() / x }),
        "+" => Step::Two(|a, b| a + b),
        "-" => Step::Two(|a, b| a - b),
        "*" => Step::Two(|a, b| a * b),
        "/" => Step::Two(|a, b| a / b),
        "^" => Step::Two(f64::powf),
        "<" => Step::Two(|a, b| truth(a < b)),
        ">" => Step::Two(|a, b| truth(a > b)),
        "<=" => Step::Two(|a, b| truth(a <= b)),
        ">=" => Step::Two(|a, b| truth(a >= b)),
        "==" => Step::Two(|a, b| truth(a == b)),
        "!=" => Step::Two(|a, b| truth(a != b)),
        "and" => Step::Two(|a, b| truth(a != 0.0 && b != 0.0)),
        "or" => Step::Two(|a, b| truth(a != 0.0 || b != 0.0)),
        "min" => Step::Two(f64::min),
        "max" => Step::Two(f64::max),
        "clip" => Step::Three(|x, low, high| x.min(high).max(low)),
        "where" => Step::Three(|condition, a, b| if condition == 0.0 { b } else { a }),
        _ => return None,
    })
}

impl Expression {
    /// `None` for a program that has an unknown word or does not leave one value.
    pub fn new(code: &[Token]) -> Option<Self> {
        let mut steps = Vec::with_capacity(code.len());
        let mut depth = 0_usize;
        for token in code {
            let step = match token {
                Token::Number(value) => Step::Number(*value),
                Token::Word(word) => step_of(word)?,
            };
            let taken = match step {
                Step::Number(_) | Step::Source | Step::Target => 0,
                Step::One(_) => 1,
                Step::Two(_) => 2,
                Step::Three(_) => 3,
            };
            depth = depth.checked_sub(taken)? + 1;
            if depth > MAX_DEPTH {
                return None;
            }
            steps.push(step);
        }
        (depth == 1).then_some(Self { steps })
    }

    /// The value for the synapse from neuron `source` to neuron `target`.
    pub fn value(&self, source: u32, target: u32) -> f64 {
        let mut stack = [0.0_f64; MAX_DEPTH];
        let mut top = 0;
        for step in &self.steps {
            match step {
                Step::Number(value) => stack[top] = *value,
                Step::Source => stack[top] = f64::from(source),
                Step::Target => stack[top] = f64::from(target),
                Step::One(function) => {
                    top -= 1;
                    stack[top] = function(stack[top]);
                }
                Step::Two(function) => {
                    top -= 2;
                    stack[top] = function(stack[top], stack[top + 1]);
                }
                Step::Three(function) => {
                    top -= 3;
                    stack[top] = function(stack[top], stack[top + 1], stack[top + 2]);
                }
            }
            top += 1;
        }
        stack[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn program(text: &str) -> Vec<Token> {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn a_program_gives_the_value_of_its_expression() {
        // 2 * exp(-abs(i - j) / 4), then where(i == j, 0, …).
        let code = r#"["i", "j", "==", 0, 2, "i", "j", "-", "abs", "negate", 4, "/", "exp", "*", "where"]"#;
        let expression = Expression::new(&program(code)).unwrap();
        assert!((expression.value(3, 5) - 2.0 * (-0.5_f64).exp()).abs() < 1e-15);
        assert!(expression.value(7, 7).abs() < 1e-300);
    }

    #[test]
    fn programs_that_leave_no_value_or_have_unknown_words_are_none() {
        for wrong in [
            "[]",
            r#"["+"]"#,
            "[1, 2]",
            r#"[1, "sinc"]"#,
            r#"[1, 2, "clip"]"#,
        ] {
            assert!(Expression::new(&program(wrong)).is_none(), "{wrong}");
        }
        let deep: Vec<Token> = (0..65).map(|_| Token::Number(1.0)).collect();
        assert!(Expression::new(&deep).is_none());
    }
}
