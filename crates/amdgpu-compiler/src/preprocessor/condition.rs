//! Conditions of `#if`: integer expressions over 64 bits, signed until something unsigned takes part, `defined`, unknown names as 0.

use super::{MAX_DEPTH, Preprocessor, headers, macros::terminated};
use crate::interner::words;
use crate::parser::literals;
use crate::source::Span;
use crate::token::{Token, TokenKind};

impl Preprocessor<'_> {
    pub(super) fn evaluate_condition(&mut self, at: Span, line: &[Token]) -> bool {
        let Some(first) = line.first().copied() else {
            self.diagnostics.error(at, "#if needs a condition", None);
            return false;
        };
        let resolved = self.resolve_defined(line);
        let tokens = terminated(self.expand_all(&resolved, first, 0), at);
        let mut reader = Reader {
            preprocessor: self,
            tokens: &tokens,
            next: 0,
            failure: None,
        };
        let value = reader.ternary(0);
        if reader.failure.is_none() && reader.peek() != TokenKind::Eof {
            reader.fail("this does not belong into the condition");
        }
        match reader.failure {
            None => value.bits != 0,
            Some((span, message)) => {
                self.diagnostics
                    .error(span, format!("in the condition of #if: {message}"), None);
                false
            }
        }
    }

    /// Replaces `defined NAME`, `defined(NAME)` and `__has_include(...)` by numbers, before macros are expanded.
    fn resolve_defined(&mut self, line: &[Token]) -> Vec<Token> {
        let mut result = Vec::with_capacity(line.len());
        let mut index = 0;
        while index < line.len() {
            let token = line[index];
            index += 1;
            if token.is_word(words::DEFINED) {
                let has_paren = line
                    .get(index)
                    .is_some_and(|next| next.kind == TokenKind::LeftParen);
                let name = line.get(index + usize::from(has_paren));
                let value = name.is_some_and(|name| {
                    name.kind == TokenKind::Identifier && self.macro_of(name.symbol).is_some()
                });
                index += if has_paren { 3 } else { 1 };
                result.push(truth(value, token));
            } else if token.is_word(words::HAS_INCLUDE) {
                let end = line[index..]
                    .iter()
                    .position(|next| next.kind == TokenKind::RightParen)
                    .map_or(line.len(), |length| index + length + 1);
                let name: String = line[index..end]
                    .iter()
                    .map(|part| self.sources.text(part.span))
                    .collect();
                let name = name.trim_matches(['(', ')', '<', '>', '"']).to_owned();
                index = end;
                result.push(truth(headers::is_built_in(&name), token));
            } else {
                result.push(token);
            }
        }
        result
    }
}

/// `true` and `false` stand for the numbers.
fn truth(value: bool, like: Token) -> Token {
    Token {
        kind: TokenKind::Identifier,
        symbol: if value { words::TRUE } else { words::FALSE },
        is_painted: true,
        ..like
    }
}

/// A number of a condition: `intmax_t`, or `uintmax_t` where something unsigned took part.
#[derive(Clone, Copy, Default)]
struct Number {
    bits: i64,
    is_unsigned: bool,
}

impl From<i64> for Number {
    fn from(bits: i64) -> Self {
        Self {
            bits,
            is_unsigned: false,
        }
    }
}

impl From<bool> for Number {
    fn from(value: bool) -> Self {
        Self::from(i64::from(value))
    }
}

struct Reader<'r, 'p> {
    preprocessor: &'r Preprocessor<'p>,
    tokens: &'r [Token],
    next: usize,
    failure: Option<(Span, String)>,
}

impl Reader<'_, '_> {
    fn peek(&self) -> TokenKind {
        self.tokens
            .get(self.next)
            .map_or(TokenKind::Eof, |token| token.kind)
    }

    fn fail(&mut self, message: &str) {
        let span = self
            .tokens
            .get(self.next)
            .or(self.tokens.last())
            .map_or(Span::default(), |token| token.site);
        if self.failure.is_none() {
            self.failure = Some((span, message.to_owned()));
        }
    }

    fn ternary(&mut self, depth: usize) -> Number {
        if depth > MAX_DEPTH {
            self.fail("nested too deeply");
            return Number::default();
        }
        let condition = self.binary(0, depth + 1);
        if self.peek() != TokenKind::Question {
            return condition;
        }
        self.next += 1;
        let yes = self.ternary(depth + 1);
        if self.peek() == TokenKind::Colon {
            self.next += 1;
        } else {
            self.fail("expected ':'");
            return Number::default();
        }
        let no = self.ternary(depth + 1);
        Number {
            bits: if condition.bits != 0 {
                yes.bits
            } else {
                no.bits
            },
            is_unsigned: yes.is_unsigned || no.is_unsigned,
        }
    }

    fn binary(&mut self, level: u8, depth: usize) -> Number {
        let mut left = self.unary(depth);
        while self.failure.is_none() {
            let kind = self.peek();
            let Some(precedence) = precedence(kind).filter(|&precedence| precedence > level) else {
                break;
            };
            if depth > MAX_DEPTH {
                self.fail("nested too deeply");
                break;
            }
            self.next += 1;
            let right = self.binary(precedence, depth + 1);
            left = if let Some(value) = apply(kind, left, right) {
                value
            } else {
                self.fail("division by zero");
                Number::default()
            };
        }
        left
    }

    fn unary(&mut self, depth: usize) -> Number {
        if depth > MAX_DEPTH {
            self.fail("nested too deeply");
            return Number::default();
        }
        let Some(&token) = self.tokens.get(self.next) else {
            return Number::default();
        };
        self.next += 1;
        match token.kind {
            TokenKind::Bang => Number::from(self.unary(depth + 1).bits == 0),
            TokenKind::Minus => {
                let value = self.unary(depth + 1);
                Number {
                    bits: value.bits.wrapping_neg(),
                    ..value
                }
            }
            TokenKind::Plus => self.unary(depth + 1),
            TokenKind::Tilde => {
                let value = self.unary(depth + 1);
                Number {
                    bits: !value.bits,
                    ..value
                }
            }
            TokenKind::LeftParen => {
                let value = self.ternary(depth + 1);
                if self.peek() == TokenKind::RightParen {
                    self.next += 1;
                } else {
                    self.fail("expected ')'");
                }
                value
            }
            TokenKind::Identifier => Number::from(token.symbol == words::TRUE),
            TokenKind::Character => {
                let text = self.preprocessor.sources.text(token.span);
                Number::from(literals::character(text).unwrap_or(0))
            }
            TokenKind::Number => {
                if let Ok(literals::Number::Integer { value, ty }) =
                    literals::number(self.preprocessor.sources.text(token.span))
                {
                    Number {
                        bits: value as i64,
                        is_unsigned: !ty.is_signed(),
                    }
                } else {
                    self.next -= 1;
                    self.fail("only integers can stand here");
                    Number::default()
                }
            }
            _ => {
                self.next -= 1;
                self.fail("expected a number or a name");
                Number::default()
            }
        }
    }
}

fn precedence(kind: TokenKind) -> Option<u8> {
    use TokenKind as K;
    Some(match kind {
        K::PipePipe => 1,
        K::AmpAmp => 2,
        K::Pipe => 3,
        K::Caret => 4,
        K::Amp => 5,
        K::EqualEqual | K::BangEqual => 6,
        K::Less | K::Greater | K::LessEqual | K::GreaterEqual => 7,
        K::ShiftLeft | K::ShiftRight => 8,
        K::Plus | K::Minus => 9,
        K::Star | K::Slash | K::Percent => 10,
        _ => return None,
    })
}

fn apply(kind: TokenKind, left: Number, right: Number) -> Option<Number> {
    use TokenKind as K;
    let (a, b) = (left.bits, right.bits);
    let is_unsigned = left.is_unsigned || right.is_unsigned;
    let order = if is_unsigned {
        (a as u64).cmp(&(b as u64))
    } else {
        a.cmp(&b)
    };
    let truth = match kind {
        K::PipePipe => Some(a != 0 || b != 0),
        K::AmpAmp => Some(a != 0 && b != 0),
        K::EqualEqual => Some(a == b),
        K::BangEqual => Some(a != b),
        K::Less => Some(order.is_lt()),
        K::Greater => Some(order.is_gt()),
        K::LessEqual => Some(order.is_le()),
        K::GreaterEqual => Some(order.is_ge()),
        _ => None,
    };
    if let Some(truth) = truth {
        return Some(Number::from(truth));
    }
    let bits = match kind {
        K::Pipe => a | b,
        K::Caret => a ^ b,
        K::Amp => a & b,
        K::ShiftLeft => a.wrapping_shl(b as u32),
        K::ShiftRight if left.is_unsigned => (a as u64).wrapping_shr(b as u32) as i64,
        K::ShiftRight => a.wrapping_shr(b as u32),
        K::Plus => a.wrapping_add(b),
        K::Minus => a.wrapping_sub(b),
        K::Star => a.wrapping_mul(b),
        // `A && B / 0` with a false A evaluates both sides here; a division by zero there counts as an error.
        K::Slash | K::Percent if b == 0 => return None,
        K::Slash if is_unsigned => (a as u64 / b as u64) as i64,
        K::Percent if is_unsigned => (a as u64 % b as u64) as i64,
        K::Slash => a.wrapping_div(b),
        K::Percent => a.wrapping_rem(b),
        _ => return None,
    };
    // The left operand alone says what a shift is.
    let is_unsigned = match kind {
        K::ShiftLeft | K::ShiftRight => left.is_unsigned,
        _ => is_unsigned,
    };
    Some(Number { bits, is_unsigned })
}
