//! Parameter packs in expressions: folds, and the names an expansion stands for.

use super::expressions::binary_operator;
use super::{Parse, Parser};
use crate::ast::{BinaryOp, Expr, ExprKind, Fold};
use crate::interner::Symbol;
use crate::source::Span;
use crate::token::TokenKind;
use rustc_hash::FxHashSet;

impl Parser<'_> {
    /// The names among some tokens, fields and methods after `.` excepted.
    pub(super) fn names_between(&self, first: usize, end: usize) -> Vec<Symbol> {
        let mut seen = FxHashSet::default();
        let mut names = Vec::new();
        let tokens = self.tokens.get(first..end).unwrap_or_default();
        for (index, token) in tokens.iter().enumerate() {
            let follows_dot =
                index > 0 && matches!(tokens[index - 1].kind, TokenKind::Dot | TokenKind::Arrow);
            if token.kind == TokenKind::Identifier && !follows_dot && seen.insert(token.symbol) {
                names.push(token.symbol);
            }
        }
        names
    }

    /// An argument of a call or a value of a list, with `...` after it an expansion.
    pub(super) fn expandable(&mut self) -> Parse<Expr> {
        let start = self.next;
        let value = self.initialiser()?;
        if !self.at(TokenKind::Ellipsis) {
            return Ok(value);
        }
        let span = value.span;
        let height = value.height + 1;
        let names = self.names_between(start, self.next);
        self.bump();
        let kind = ExprKind::Expansion {
            pattern: Box::new(value),
            names,
        };
        self.make(kind, span, height)
    }

    /// `(... op pattern)`, after the `(`.
    pub(super) fn left_fold(&mut self, span: Span) -> Parse<Expr> {
        self.bump();
        let operation = self.fold_operator()?;
        let first = self.next;
        let pattern = self.nested(Self::fold_operand)?;
        let names = self.names_between(first, self.next);
        self.expect(TokenKind::RightParen, "after the fold")?;
        let height = pattern.height + 1;
        let fold = Fold {
            operation,
            pattern,
            names,
            start: None,
            is_right: false,
        };
        self.make(ExprKind::Fold(Box::new(fold)), span, height)
    }

    /// `(left op ...` and perhaps `op right`, at the operator before the `...`; `left` began at token `first`.
    pub(super) fn fold_after(&mut self, left: Expr, first: usize, span: Span) -> Parse<Expr> {
        let left_names = self.names_between(first, self.next);
        let operation = self.fold_operator()?;
        self.bump();
        let mut fold = Fold {
            operation,
            pattern: left,
            names: left_names,
            start: None,
            is_right: true,
        };
        if !self.at(TokenKind::RightParen) {
            self.fold_operator()?;
            let second = self.next;
            let right = self.nested(Self::fold_operand)?;
            let right_names = self.names_between(second, self.next);
            // The side with the pack is the pattern; only the checker knows which one that is, unless one has no names at all.
            if self.mentions_pack(&right_names) {
                fold.start = Some(std::mem::replace(&mut fold.pattern, right));
                fold.names = right_names;
                fold.is_right = false;
            } else {
                fold.start = Some(right);
            }
        }
        self.expect(TokenKind::RightParen, "after the fold")?;
        let height = fold
            .start
            .as_ref()
            .map_or(0, |start| start.height)
            .max(fold.pattern.height)
            + 1;
        self.make(ExprKind::Fold(Box::new(fold)), span, height)
    }

    /// Whether an operator and `...` stand here.
    pub(super) fn at_fold(&self) -> bool {
        self.peek_at(1).kind == TokenKind::Ellipsis
            && (self.at(TokenKind::Comma) || binary_operator(self.kind()).is_some())
    }

    fn fold_operand(&mut self) -> Parse<Expr> {
        self.bracketed(|parser| parser.binary(u8::MAX))
    }

    fn fold_operator(&mut self) -> Parse<Option<BinaryOp>> {
        let token = self.bump();
        if token.kind == TokenKind::Comma {
            return Ok(None);
        }
        match binary_operator(token.kind) {
            Some((operation, _)) => Ok(Some(operation)),
            None => self.refuse(token.site, "a fold with this operator", None),
        }
    }

    fn mentions_pack(&self, names: &[Symbol]) -> bool {
        names.iter().any(|name| self.packs.contains(name))
    }
}
