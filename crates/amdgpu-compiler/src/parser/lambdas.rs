//! Lambdas.

use super::{Parse, Parser};
use crate::ast::{
    Capture, CaptureKind, Expr, ExprKind, Function, Lambda, Role, TypeExpr, TypeKind,
};
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
        let mut captures_this = false;
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
                TokenKind::Star => {
                    return self.refuse(
                        token.site,
                        "capturing '*this'",
                        Some("capture this, or the fields: [field = this->field]"),
                    );
                }
                TokenKind::Identifier if token.symbol == words::LAMBDA_THIS => {
                    self.bump();
                    captures_this = true;
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
                is_volatile: false,
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
            is_volatile: false,
            is_constexpr: true,
            is_explicit: false,
            is_conversion: false,
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
            captures_this,
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
        let start = match self.kind() {
            TokenKind::Equal => {
                self.bump();
                Some(self.assignment()?)
            }
            TokenKind::Ellipsis => {
                return self.refuse(
                    self.peek().site,
                    "capturing a pack by name",
                    Some("use [=] or [&]"),
                );
            }
            _ => None,
        };
        Ok(Capture {
            name: name.symbol,
            span: name.site,
            kind,
            start,
        })
    }
}
