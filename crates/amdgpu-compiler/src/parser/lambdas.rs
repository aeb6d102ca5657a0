//! Lambdas.

use super::{Parse, Parser};
use crate::ast::{
    Capture, CaptureKind, Expr, ExprKind, Function, Lambda, Role, TypeExpr, TypeKind,
};
use crate::hashing::WordSet;
use crate::interner::words;
use crate::token::TokenKind;

impl Parser<'_> {
    /// `[captures](parameters) -> type { body }`.
    pub(super) fn lambda(&mut self) -> Parse<Expr> {
        let changes = self.type_changes.len();
        let result = self.nested(|parser| parser.bracketed(Self::lambda_parts));
        self.leave_type_scope(changes);
        result
    }

    fn lambda_parts(&mut self) -> Parse<Expr> {
        let start = self.next;
        let open = self.bump();
        let mut default_capture = None;
        let mut captures = Vec::new();
        while !self.at(TokenKind::RightBracket) {
            let token = *self.peek();
            let next = self.peek_at(1).kind;
            let is_default = matches!(next, TokenKind::Comma | TokenKind::RightBracket);
            match token.kind {
                TokenKind::Equal if is_default => {
                    self.bump();
                    default_capture = Some(CaptureKind::Value);
                }
                TokenKind::Amp if is_default => {
                    self.bump();
                    default_capture = Some(CaptureKind::Reference);
                }
                TokenKind::Star | TokenKind::Identifier
                    if token.kind == TokenKind::Star || token.symbol == words::LAMBDA_THIS =>
                {
                    return self.refuse(
                        token.site,
                        "capturing 'this'",
                        Some("capture the fields: [field = this->field]"),
                    );
                }
                _ => captures.push(self.capture()?),
            }
            if !self.accept(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RightBracket, "after the captures")?;
        let mut templates = if self.at(TokenKind::Less) {
            self.template_parameters()?
        } else {
            Vec::new()
        };
        let parameters = if self.accept(TokenKind::LeftParen) {
            self.parameters(Some(&mut templates))?
        } else {
            Vec::new()
        };
        let mut is_mutable = false;
        loop {
            match self.peek().symbol {
                words::MUTABLE => is_mutable = true,
                words::CONSTEXPR
                | words::NOEXCEPT
                | words::DEVICE
                | words::HOST
                | words::FORCEINLINE => {}
                words::ATTRIBUTE => {
                    self.bump();
                    self.skip_parens()?;
                    continue;
                }
                _ => break,
            }
            self.bump();
        }
        let return_type = if self.accept(TokenKind::Arrow) {
            self.type_name()?
        } else {
            TypeExpr {
                kind: TypeKind::Auto,
                is_const: false,
                span: open.site,
            }
        };
        if !self.at(TokenKind::LeftBrace) {
            let found = self.shown(self.peek());
            return self.fail(
                self.peek().site,
                format!("expected the body of the lambda, found {found}"),
                None,
            );
        }
        let first = self.next;
        let body = self.scoped_block()?;
        let names = self.names_between(first, self.next);
        let function = Function {
            name: words::OPERATOR_CALL,
            span: open.site,
            is_kernel: false,
            launch_bounds: None,
            return_type,
            parameters,
            body: Some(body),
            is_never_inlined: false,
            is_constexpr: true,
            role: if is_mutable {
                Role::Method
            } else {
                Role::ConstMethod
            },
            initialisers: Vec::new(),
        };
        let lambda = Lambda {
            default_capture,
            captures,
            names,
            all_names: self.names_between(start, self.next),
            templates,
            function,
        };
        self.make(ExprKind::Lambda(Box::new(lambda)), open.site, 1)
    }

    fn capture(&mut self) -> Parse<Capture> {
        let kind = if self.accept(TokenKind::Amp) {
            CaptureKind::Reference
        } else {
            CaptureKind::Value
        };
        let name = self.expect(TokenKind::Identifier, "as the name of a captured variable")?;
        let start = if self.accept(TokenKind::Equal) {
            Some(self.assignment()?)
        } else {
            None
        };
        Ok(Capture {
            name: name.symbol,
            span: name.site,
            kind,
            start,
        })
    }

    /// The names among some tokens, fields and methods after `.` excepted.
    fn names_between(&self, first: usize, end: usize) -> Vec<crate::interner::Symbol> {
        let mut seen = WordSet::default();
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
}
