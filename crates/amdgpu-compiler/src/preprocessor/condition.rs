//! Conditions of `#if`: integer expressions over 64 bits, `defined`, unknown names as 0.

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
            None => value != 0,
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

    fn ternary(&mut self, depth: usize) -> i64 {
        if depth > MAX_DEPTH {
            self.fail("nested too deeply");
            return 0;
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
            return 0;
        }
        let no = self.ternary(depth + 1);
        if condition != 0 { yes } else { no }
    }

    fn binary(&mut self, level: u8, depth: usize) -> i64 {
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
                0
            };
        }
        left
    }

    fn unary(&mut self, depth: usize) -> i64 {
        if depth > MAX_DEPTH {
            self.fail("nested too deeply");
            return 0;
        }
        let Some(&token) = self.tokens.get(self.next) else {
            return 0;
        };
        self.next += 1;
        match token.kind {
            TokenKind::Bang => i64::from(self.unary(depth + 1) == 0),
            TokenKind::Minus => self.unary(depth + 1).wrapping_neg(),
            TokenKind::Plus => self.unary(depth + 1),
            TokenKind::Tilde => !self.unary(depth + 1),
            TokenKind::LeftParen => {
                let value = self.ternary(depth + 1);
                if self.peek() == TokenKind::RightParen {
                    self.next += 1;
                } else {
                    self.fail("expected ')'");
                }
                value
            }
            TokenKind::Identifier => i64::from(token.symbol == words::TRUE),
            TokenKind::Character => {
                literals::character(self.preprocessor.sources.text(token.span)).unwrap_or(0)
            }
            TokenKind::Number => {
                if let Ok(literals::Number::Integer { value, .. }) =
                    literals::number(self.preprocessor.sources.text(token.span))
                {
                    value as i64
                } else {
                    self.next -= 1;
                    self.fail("only integers can stand here");
                    0
                }
            }
            _ => {
                self.next -= 1;
                self.fail("expected a number or a name");
                0
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

fn apply(kind: TokenKind, left: i64, right: i64) -> Option<i64> {
    use TokenKind as K;
    Some(match kind {
        K::PipePipe => i64::from(left != 0 || right != 0),
        K::AmpAmp => i64::from(left != 0 && right != 0),
        K::Pipe => left | right,
        K::Caret => left ^ right,
        K::Amp => left & right,
        K::EqualEqual => i64::from(left == right),
        K::BangEqual => i64::from(left != right),
        K::Less => i64::from(left < right),
        K::Greater => i64::from(left > right),
        K::LessEqual => i64::from(left <= right),
        K::GreaterEqual => i64::from(left >= right),
        K::ShiftLeft => left.wrapping_shl(right as u32),
        K::ShiftRight => left.wrapping_shr(right as u32),
        K::Plus => left.wrapping_add(right),
        K::Minus => left.wrapping_sub(right),
        K::Star => left.wrapping_mul(right),
        // `A && B / 0` with a false A evaluates both sides here; a division by zero there counts as an error.
        K::Slash if right != 0 => left.wrapping_div(right),
        K::Percent if right != 0 => left.wrapping_rem(right),
        _ => return None,
    })
}
