//! Values of synapses as expressions of their two neurons: a program for a stack, as `docs/plan_schema.md` describes it.

use serde::{Deserialize, Serialize};

use crate::philox::{Stream, unit_interval};

/// A number, or a word: `i`, `j`, a coordinate, an operator or a function.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Token {
    Number(f64),
    Word(String),
}

/// Values on the stack at most: expressions of the language are far flatter.
const MAX_DEPTH: usize = 64;

/// A synapse: its place among those of its projection, and its neurons.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Synapse {
    pub place: usize,
    pub source: u32,
    pub target: u32,
}

/// What a program asks about two neurons beside their numbers.
pub(crate) trait Pair {
    /// Of the source or the target, on an axis.
    fn coordinate(&self, synapse: Synapse, is_target: bool, axis: usize) -> f64;
    fn distance(&self, synapse: Synapse) -> f64;
    /// The entry of the kernel that connects them.
    fn kernel(&self, synapse: Synapse) -> f64;
}

/// What a value of a program depends on.
#[derive(Clone, Copy)]
pub(crate) struct Surroundings<'a> {
    pub pair: Option<&'a dyn Pair>,
    /// Whose random numbers it takes: draw `n` of the program those of step `n`, counted from 1.
    pub seed: u64,
    pub object: u32,
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Number(f64),
    Source,
    Target,
    Coordinate(bool, usize),
    Distance,
    Kernel,
    /// Number of the draw: uniform between two values.
    Random(u32),
    /// Likewise: with a mean and a standard deviation.
    Normal(u32),
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
        "x_pre" => Step::Coordinate(false, 0),
        "y_pre" => Step::Coordinate(false, 1),
        "z_pre" => Step::Coordinate(false, 2),
        "x_post" => Step::Coordinate(true, 0),
        "y_post" => Step::Coordinate(true, 1),
        "z_post" => Step::Coordinate(true, 2),
        "distance" => Step::Distance,
        "kernel" => Step::Kernel,
        "random" => Step::Random(0),
        "normal" => Step::Normal(0),
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
        let mut draws = 0;
        for token in code {
            let step = match token {
                Token::Number(value) => Step::Number(*value),
                Token::Word(word) => step_of(word)?,
            };
            let step = match step {
                Step::Random(_) | Step::Normal(_) => {
                    draws += 1;
                    if matches!(step, Step::Random(_)) {
                        Step::Random(draws)
                    } else {
                        Step::Normal(draws)
                    }
                }
                step => step,
            };
            let taken = match step {
                Step::Number(_)
                | Step::Source
                | Step::Target
                | Step::Coordinate(..)
                | Step::Distance
                | Step::Kernel => 0,
                Step::One(_) => 1,
                Step::Two(_) | Step::Random(_) | Step::Normal(_) => 2,
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

    /// Whether it asks where neurons are; and for the kernel.
    pub fn needs(&self) -> (bool, bool) {
        let has = |wanted: fn(&Step) -> bool| self.steps.iter().any(wanted);
        (
            has(|step| matches!(step, Step::Coordinate(..) | Step::Distance)),
            has(|step| matches!(step, Step::Kernel)),
        )
    }

    /// The highest axis that it asks for.
    pub fn highest_axis(&self) -> Option<usize> {
        let axes = self.steps.iter().filter_map(|step| match step {
            Step::Coordinate(_, axis) => Some(*axis),
            _ => None,
        });
        axes.max()
    }

    /// The value for a synapse. Without a pair, what asks for one is NaN.
    pub fn value(&self, synapse: Synapse, around: &Surroundings<'_>) -> f64 {
        let mut stack = [0.0_f64; MAX_DEPTH];
        let mut top = 0;
        let of_pair = |ask: &dyn Fn(&dyn Pair) -> f64| around.pair.map_or(f64::NAN, ask);
        let words = |draw: u32| {
            let stream = Stream::new(around.seed, around.object, draw);
            stream.block(synapse.place as u64)
        };
        for step in &self.steps {
            match step {
                Step::Number(value) => stack[top] = *value,
                Step::Source => stack[top] = f64::from(synapse.source),
                Step::Target => stack[top] = f64::from(synapse.target),
                Step::Coordinate(is_target, axis) => {
                    stack[top] = of_pair(&|pair| pair.coordinate(synapse, *is_target, *axis));
                }
                Step::Distance => stack[top] = of_pair(&|pair| pair.distance(synapse)),
                Step::Kernel => stack[top] = of_pair(&|pair| pair.kernel(synapse)),
                Step::One(function) => {
                    top -= 1;
                    stack[top] = function(stack[top]);
                }
                Step::Two(function) => {
                    top -= 2;
                    stack[top] = function(stack[top], stack[top + 1]);
                }
                Step::Random(draw) => {
                    top -= 2;
                    let (low, high) = (stack[top], stack[top + 1]);
                    stack[top] = low + (high - low) * unit_interval(words(*draw)[0]);
                }
                Step::Normal(draw) => {
                    top -= 2;
                    let words = words(*draw);
                    // As `Stream::fill_normal`.
                    let radius = (-2.0 * (1.0 - unit_interval(words[0])).ln()).sqrt();
                    let unit = radius * (std::f64::consts::TAU * unit_interval(words[1])).cos();
                    stack[top] += stack[top + 1] * unit;
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

    fn value(expression: &Expression, place: usize, source: u32, target: u32) -> f64 {
        let around = Surroundings {
            pair: None,
            seed: 3,
            object: 1,
        };
        let synapse = Synapse {
            place,
            source,
            target,
        };
        expression.value(synapse, &around)
    }

    #[test]
    fn a_program_gives_the_value_of_its_expression() {
        // 2 * exp(-abs(i - j) / 4), then where(i == j, 0, …).
        let code = r#"["i", "j", "==", 0, 2, "i", "j", "-", "abs", "negate", 4, "/", "exp", "*", "where"]"#;
        let expression = Expression::new(&program(code)).unwrap();
        assert!((value(&expression, 0, 3, 5) - 2.0 * (-0.5_f64).exp()).abs() < 1e-15);
        assert!(value(&expression, 0, 7, 7).abs() < 1e-300);
    }

    /// Values of every word that is a function of numbers, from their definitions.
    #[test]
    fn every_word_is_its_function() {
        let e = std::f64::consts::E;
        let (sinh, cosh) = ((e - 1.0 / e) / 2.0, f64::midpoint(e, 1.0 / e));
        let cases: &[(&str, f64)] = &[
            (r#"[3, "negate"]"#, -3.0),
            (r#"[0, "not", 10, "*", 4, "not", "+"]"#, 10.0),
            (r#"[1, "exp"]"#, e),
            (r#"[2, "log"]"#, std::f64::consts::LN_2),
            (r#"[1000, "log10"]"#, 3.0),
            (r#"[6.25, "sqrt"]"#, 2.5),
            (r#"[0.5235987755982989, "sin"]"#, 0.5),
            (r#"[1.0471975511965976, "cos"]"#, 0.5),
            (r#"[0.7853981633974483, "tan"]"#, 1.0),
            (r#"[1, "sinh"]"#, sinh),
            (r#"[1, "cosh"]"#, cosh),
            (r#"[1, "tanh"]"#, sinh / cosh),
            (r#"[-1.5, "floor"]"#, -2.0),
            (r#"[-1.5, "ceil"]"#, -1.0),
            (r#"[-1.5, "abs"]"#, 1.5),
            (
                r#"[-1.5, "sign", 2.5, "sign", 3, "*", "+", 0, "sign", "+"]"#,
                2.0,
            ),
            (r#"[-0.25, "sign", 0.25, "sign", 3, "*", "+"]"#, 2.0),
            (r#"[0.5, "not", 1, "not", "+", -1, "not", "+"]"#, 0.0),
            (r#"[1, "int"]"#, 1.0),
            (
                r#"[0, "exprel", 1, "exprel", 2, "*", "+"]"#,
                1.0 + 2.0 * (e - 1.0),
            ),
            (r#"[7, 2, "+"]"#, 9.0),
            (r#"[7, 2, "-"]"#, 5.0),
            (r#"[7, 2, "*"]"#, 14.0),
            (r#"[7, 2, "/"]"#, 3.5),
            (r#"[7, 2, "^"]"#, 49.0),
            (r#"[2, 5, "min"]"#, 2.0),
            (r#"[2, 5, "max"]"#, 5.0),
            (r#"[7, 2, 5, "clip", 10, "*", 1, 2, 5, "clip", "+"]"#, 52.0),
            (
                r#"[1, 8, 9, "where", 10, "*", 0, 8, 9, "where", "+"]"#,
                89.0,
            ),
        ];
        for (code, wanted) in cases {
            let found = value(&Expression::new(&program(code)).expect(code), 0, 0, 0);
            assert!((found - wanted).abs() < 1e-12, "{code}: {found}");
        }
        // Digits of a result: for 1 and 2, 2 and 2, 3 and 2.
        for (word, wanted) in [
            ("<", 100.0),
            (">", 1.0),
            ("<=", 110.0),
            (">=", 11.0),
            ("==", 10.0),
            ("!=", 101.0),
        ] {
            let code = format!(
                r#"[1, 2, "{word}", 100, "*", 2, 2, "{word}", 10, "*", "+", 3, 2, "{word}", "+"]"#
            );
            let found = value(&Expression::new(&program(&code)).unwrap(), 0, 0, 0);
            assert!((found - wanted).abs() < 1e-12, "{code}: {found}");
        }
        for (word, wanted) in [("and", 1.0), ("or", 111.0)] {
            let code = format!(
                r#"[0, 5, "{word}", 100, "*", 5, 0, "{word}", 10, "*", "+", 5, 5, "{word}", "+", 0, 0, "{word}", 1000, "*", "+"]"#
            );
            let found = value(&Expression::new(&program(&code)).unwrap(), 0, 0, 0);
            assert!((found - wanted).abs() < 1e-12, "{code}: {found}");
        }
    }

    #[test]
    fn each_draw_of_each_synapse_has_numbers_of_its_own() {
        let code = r#"[0, 1, "random", 0, 1, "random", 2, 0.5, "normal"]"#;
        let two = Expression::new(&program(&code.replace(", 2, 0.5, \"normal\"", r#", "-""#)));
        let two = two.unwrap();
        assert!(value(&two, 3, 0, 0).abs() > 1e-6);
        assert!((value(&two, 3, 0, 0) - value(&two, 4, 0, 0)).abs() > 1e-6);
        let normal = Expression::new(&program(r#"[2, 0.5, "normal"]"#)).unwrap();
        let mean = (0..4000)
            .map(|place| value(&normal, place, 0, 0))
            .sum::<f64>()
            / 4000.0;
        // Four standard errors of 0.5 / sqrt(4000).
        assert!((mean - 2.0).abs() < 0.032, "{mean}");
    }

    #[test]
    fn what_asks_for_positions_says_so_and_is_nan_without_them() {
        let expression = Expression::new(&program(r#"["x_pre", "z_post", "+"]"#)).unwrap();
        assert_eq!(expression.needs(), (true, false));
        assert_eq!(expression.highest_axis(), Some(2));
        assert!(value(&expression, 0, 1, 2).is_nan());
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
