//! What pragmas say about the loops behind them.

use super::Parser;
use crate::ast::Unrolling;
use crate::interner::words;
use crate::preprocessor::PragmaKind;
use crate::source::Span;
use crate::token::{Token, TokenKind};

impl<'a> Parser<'a> {
    /// What stands before the statement whose attributes start at token `from`; for one that is no loop, a warning.
    pub(super) fn loop_hint(&mut self, from: usize) -> Option<Unrolling> {
        let pragmas = self.pragmas;
        let first = pragmas.partition_point(|pragma| pragma.place < from);
        let last = pragmas.partition_point(|pragma| pragma.place <= self.next);
        let mut hint: Option<Unrolling> = None;
        for pragma in &pragmas[first..last] {
            if !self.at_loop() {
                self.hint_without_loop(pragma.span);
                continue;
            }
            let unrolling = match &pragma.kind {
                PragmaKind::NoUnroll => Some(Unrolling::Never),
                PragmaKind::Unroll(times) if times.is_empty() => Some(Unrolling::Full),
                PragmaKind::Unroll(times) => self.times(times, pragma.span),
            };
            if let Some(unrolling) = unrolling {
                if hint.is_some() {
                    self.diagnostics.warning(
                        pragma.span,
                        "a second pragma about unrolling one loop; the last one counts",
                        None,
                    );
                }
                hint = Some(unrolling);
            }
        }
        hint
    }

    /// At the end of a block: pragmas that stand before it.
    pub(super) fn hints_before_nothing(&mut self) {
        let pragmas = self.pragmas;
        let first = pragmas.partition_point(|pragma| pragma.place < self.next);
        for pragma in &pragmas[first..] {
            if pragma.place > self.next {
                break;
            }
            self.hint_without_loop(pragma.span);
        }
    }

    fn at_loop(&self) -> bool {
        [words::FOR, words::WHILE, words::DO]
            .into_iter()
            .any(|word| self.at_word(word))
    }

    fn hint_without_loop(&mut self, span: Span) {
        self.diagnostics.warning(
            span,
            "a pragma about unrolling stands before a for, while or do loop; here it means nothing",
            None,
        );
    }

    /// The expression that a pragma's tokens are.
    fn times(&mut self, tokens: &'a [Token], span: Span) -> Option<Unrolling> {
        let outer = (self.tokens, self.next, self.split, self.end);
        (self.tokens, self.next, self.split) = (tokens, 0, None);
        (self.end.span, self.end.site) = (span, span);
        let parsed = self.nested(Self::conditional);
        let is_whole = self.kind() == TokenKind::Eof;
        (self.tokens, self.next, self.split, self.end) = outer;
        let times = parsed.ok()?;
        if !is_whole {
            self.diagnostics.error(
                span,
                "this pragma goes on behind its number",
                Some("write #pragma unroll, #pragma unroll 4 or #pragma unroll(N)"),
            );
            return None;
        }
        Some(Unrolling::Times(times))
    }
}
