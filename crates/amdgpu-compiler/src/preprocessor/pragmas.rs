//! Pragmas. What they say about unrolling is kept beside the tokens, so that a pragma may stand anywhere; all others change nothing.

use super::Preprocessor;
use crate::diagnostics::Diagnostics;
use crate::interner::words;
use crate::lexer::Lexer;
use crate::source::Span;
use crate::token::{Token, TokenKind};

/// What is said about the loop that follows.
#[derive(Clone, Debug)]
pub struct Pragma {
    /// Number of the token it stands before.
    pub place: usize,
    /// Its words.
    pub span: Span,
    pub kind: PragmaKind,
}

#[derive(Clone, Debug)]
pub enum PragmaKind {
    /// With the number of iterations at once, macros expanded, or with nothing.
    Unroll(Vec<Token>),
    NoUnroll,
}

impl Preprocessor<'_> {
    /// The rest of a line after `#pragma`, or the text in `_Pragma("…")`; messages go to `site`.
    pub(super) fn pragma(&mut self, text_span: Span, site: Option<Span>) {
        let text = self.sources.text(text_span).to_owned();
        let mut lexer = Lexer::new(&text, text_span.start);
        let mut tokens = Vec::new();
        loop {
            // Pragmas of others may hold anything.
            let token = lexer.next(self.interner, &mut Diagnostics::default());
            if token.kind == TokenKind::Eof {
                break;
            }
            tokens.push(token);
        }
        let Some(kind) = self.about_unrolling(&tokens) else {
            return;
        };
        let (first, last) = (tokens[0].span, tokens[tokens.len() - 1].span);
        let span = site.unwrap_or(Span {
            start: first.start,
            len: last.start + last.len - first.start,
        });
        self.pragmas.push(Pragma {
            place: self.output.len(),
            span,
            kind,
        });
    }

    /// Whether a `)` now ends `_Pragma("…")`.
    pub(super) fn ends_pragma(&self) -> bool {
        matches!(self.output.as_slice(), [.., operator, open, text]
            if operator.is_word(words::PRAGMA_OPERATOR)
                && open.kind == TokenKind::LeftParen
                && text.kind == TokenKind::String)
    }

    /// Takes `_Pragma("…"` from the output.
    pub(super) fn pragma_operator(&mut self) {
        let text = self.output.pop();
        self.output.pop();
        let operator = self.output.pop();
        if let (Some(text), Some(operator)) = (text, operator)
            && text.span.len > 2
        {
            let inside = Span {
                start: text.span.start + 1,
                len: text.span.len - 2,
            };
            self.pragma(inside, Some(operator.site));
        }
    }

    /// The spellings of CUDA, HIP, GCC and Clang.
    fn about_unrolling(&mut self, tokens: &[Token]) -> Option<PragmaKind> {
        let (first, rest) = tokens.split_first()?;
        match (first.symbol, rest) {
            (words::UNROLL, rest) => Some(self.unroll(*first, rest)),
            (words::NOUNROLL, []) => Some(PragmaKind::NoUnroll),
            (words::GCC, [word, rest @ ..]) if word.is_word(words::UNROLL) => {
                Some(self.unroll(*first, rest))
            }
            (words::CLANG, [word, rest @ ..]) if word.is_word(words::LOOP) => {
                self.clang_loop(*first, rest)
            }
            _ => None,
        }
    }

    fn unroll(&mut self, first: Token, times: &[Token]) -> PragmaKind {
        PragmaKind::Unroll(self.expand_all(times, first, 0))
    }

    /// `unroll(full)`, `unroll(enable)`, `unroll(disable)` or `unroll_count(N)`, among other clauses.
    fn clang_loop(&mut self, first: Token, mut clauses: &[Token]) -> Option<PragmaKind> {
        let mut found = None;
        while let [name, open, rest @ ..] = clauses
            && open.kind == TokenKind::LeftParen
        {
            let mut depth = 1;
            let end = rest.iter().position(|token| {
                match token.kind {
                    TokenKind::LeftParen => depth += 1,
                    TokenKind::RightParen => depth -= 1,
                    _ => {}
                }
                depth == 0
            })?;
            let argument = &rest[..end];
            match (name.symbol, argument) {
                (words::UNROLL, [word]) if word.is_word(words::DISABLE) => {
                    found = Some(PragmaKind::NoUnroll);
                }
                (words::UNROLL, [_]) => found = Some(PragmaKind::Unroll(Vec::new())),
                (words::UNROLL_COUNT, times) => found = Some(self.unroll(first, times)),
                _ => {}
            }
            clauses = &rest[end + 1..];
        }
        found
    }
}
