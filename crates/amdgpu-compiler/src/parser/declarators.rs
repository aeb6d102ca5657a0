//! Declarators: what stands around a name to make its type, `*`, `&`, `[N]` and the parentheses of `(*rows)[4]`.

use super::specifiers::is_specifier;
use super::{Parse, Parser};
use crate::ast::{Expr, TypeExpr, TypeKind};
use crate::interner::{Symbol, words};
use crate::source::Span;
use crate::token::TokenKind;

/// Pointers to pointers, and dimensions of an array: what a reader can follow.
const MAX_LEVELS: usize = 16;

/// A name with the type it declares.
pub(super) struct Declared {
    pub name: Option<Symbol>,
    pub span: Span,
    pub ty: TypeExpr,
}

/// `*`, `&` or `&&`.
struct Level {
    token: TokenKind,
    is_const: bool,
    is_volatile: bool,
    is_restrict: bool,
    site: Span,
}

impl Level {
    fn around(self, ty: TypeExpr) -> TypeExpr {
        let span = ty.span.to(self.site);
        let inner = Box::new(ty);
        let kind = match self.token {
            TokenKind::Star => TypeKind::Pointer {
                pointee: inner,
                is_restrict: self.is_restrict,
            },
            TokenKind::Amp => TypeKind::Reference(inner),
            _ => TypeKind::Forwarding(inner),
        };
        TypeExpr {
            kind,
            is_const: self.is_const,
            is_volatile: self.is_volatile,
            span,
        }
    }
}

impl Parser<'_> {
    /// Pointers, the name, and array lengths.
    pub(super) fn declarator(&mut self, base: TypeExpr) -> Parse<Declared> {
        let ty = self
            .levels()?
            .into_iter()
            .fold(base, |ty, level| level.around(ty));
        if self.at(TokenKind::LeftParen) && self.starts_nested_declarator(0) {
            return self.nested_declarator(ty);
        }
        let (name, span) = self.declared_name()?;
        let lengths = self.array_lengths(span)?;
        Ok(Declared {
            name,
            span,
            ty: array_of(ty, lengths),
        })
    }

    /// `(*rows)[4]`, `(&tile)[N]`.
    fn nested_declarator(&mut self, base: TypeExpr) -> Parse<Declared> {
        let open = self.bump();
        let levels = self.levels()?;
        let (name, span) = self.declared_name()?;
        let inner = self.array_lengths(span)?;
        self.expect(TokenKind::RightParen, "after the name")?;
        if self.at(TokenKind::LeftParen) {
            return self.refuse(
                open.site,
                "a pointer to a function",
                Some("pass a lambda or a struct with operator() to a template"),
            );
        }
        let outer = self.array_lengths(span)?;
        let ty = levels
            .into_iter()
            .fold(array_of(base, outer), |ty, level| level.around(ty));
        Ok(Declared {
            name,
            span,
            ty: array_of(ty, inner),
        })
    }

    /// Whether the `(` so far ahead opens a part of a declarator, where one may stand.
    fn starts_nested_declarator(&self, ahead: usize) -> bool {
        matches!(
            self.peek_at(ahead + 1).kind,
            TokenKind::Star | TokenKind::Amp | TokenKind::AmpAmp
        )
    }

    /// Whether `(*name)[`, `(&name)[` or `(*name)(` stands there, after a type: it declares, and is no call.
    pub(super) fn is_nested_declarator(&self, ahead: usize) -> bool {
        if self.peek_at(ahead).kind != TokenKind::LeftParen || !self.starts_nested_declarator(ahead)
        {
            return false;
        }
        let name = ahead + 2;
        let after = name + usize::from(self.peek_at(name).kind == TokenKind::Identifier);
        self.peek_at(after).kind == TokenKind::RightParen
            && matches!(
                self.peek_at(after + 1).kind,
                TokenKind::LeftBracket | TokenKind::LeftParen
            )
    }

    fn levels(&mut self) -> Parse<Vec<Level>> {
        let mut levels = Vec::new();
        loop {
            let token = *self.peek();
            if !matches!(
                token.kind,
                TokenKind::Star | TokenKind::Amp | TokenKind::AmpAmp
            ) {
                return Ok(levels);
            }
            if levels.len() >= MAX_LEVELS {
                return self.fail(
                    token.site,
                    format!("more than {MAX_LEVELS} levels of pointers"),
                    None,
                );
            }
            self.bump();
            let mut level = Level {
                token: token.kind,
                is_const: false,
                is_volatile: false,
                is_restrict: false,
                site: token.site,
            };
            while self.at(TokenKind::Identifier) {
                match self.peek().symbol {
                    words::CONST if token.kind == TokenKind::Star => level.is_const = true,
                    words::RESTRICT | words::RESTRICT2 => level.is_restrict = true,
                    words::VOLATILE => level.is_volatile = token.kind == TokenKind::Star,
                    _ => break,
                }
                self.bump();
            }
            levels.push(level);
        }
    }

    fn declared_name(&mut self) -> Parse<(Option<Symbol>, Span)> {
        if self.at_word(words::OPERATOR) {
            let span = self.peek().site;
            return Ok((Some(self.operator_name()?), span));
        }
        if !self.at(TokenKind::Identifier) || is_specifier(self.peek().symbol) {
            return Ok((None, self.peek().site));
        }
        let token = self.bump();
        if self.at(TokenKind::Less)
            && (self.is_specialising || self.template_names.contains(&token.symbol))
        {
            self.is_specialising = false;
            self.name_arguments = Some(self.template_arguments()?);
        }
        Ok((Some(token.symbol), token.site))
    }

    fn array_lengths(&mut self, span: Span) -> Parse<Vec<Option<Expr>>> {
        let mut lengths = Vec::new();
        while self.at(TokenKind::LeftBracket) && !self.at_attribute() {
            self.bump();
            let length = if self.at(TokenKind::RightBracket) {
                None
            } else {
                Some(self.bracketed(Self::assignment)?)
            };
            self.expect(TokenKind::RightBracket, "after the array length")?;
            lengths.push(length);
            if lengths.len() > MAX_LEVELS {
                return self.fail(
                    span,
                    format!("more than {MAX_LEVELS} array dimensions"),
                    None,
                );
            }
        }
        Ok(lengths)
    }

    /// At `[[…]]`.
    pub(super) fn at_attribute(&self) -> bool {
        self.at(TokenKind::LeftBracket) && self.peek_at(1).kind == TokenKind::LeftBracket
    }

    /// Passes over `[[likely]]` and its relatives, which change nothing here.
    pub(super) fn skip_attributes(&mut self) -> Parse<()> {
        if self.at_word(words::PRAGMA_OPERATOR) {
            // The preprocessor takes those that are well formed.
            let site = self.peek().site;
            return self.fail(
                site,
                "_Pragma needs one string",
                Some("write _Pragma(\"unroll 4\")"),
            );
        }
        while self.at_attribute() {
            let open = self.bump();
            let mut depth = 1;
            while depth > 0 {
                match self.bump().kind {
                    TokenKind::LeftBracket => depth += 1,
                    TokenKind::RightBracket => depth -= 1,
                    TokenKind::Eof => {
                        return self.fail(open.site, "this '[[' is never closed", None);
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }
}

/// Arrays of a type, the outer length first.
fn array_of(ty: TypeExpr, lengths: Vec<Option<Expr>>) -> TypeExpr {
    lengths.into_iter().rev().fold(ty, |ty, length| TypeExpr {
        span: ty.span,
        is_const: ty.is_const,
        is_volatile: ty.is_volatile,
        kind: TypeKind::Array {
            element: Box::new(ty),
            length: length.map(Box::new),
        },
    })
}
