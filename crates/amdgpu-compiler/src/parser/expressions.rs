//! Expressions, by precedence climbing.

use super::specifiers::is_specifier;
use super::{Parse, Parser, literals};
use crate::ast::{BinaryOp, Expr, ExprKind, TypeExpr, TypeKind, UnaryOp};
use crate::interner::words;
use crate::source::Span;
use crate::token::TokenKind;
use crate::types::ScalarType;

impl Parser<'_> {
    pub(super) fn expression(&mut self) -> Parse<Expr> {
        let mut left = self.assignment()?;
        while self.at(TokenKind::Comma) && !self.at_fold() {
            let span = self.bump().site;
            let right = self.assignment()?;
            let height = left.height.max(right.height) + 1;
            left = self.make(
                ExprKind::Comma(Box::new(left), Box::new(right)),
                span,
                height,
            )?;
        }
        Ok(left)
    }

    pub(super) fn assignment(&mut self) -> Parse<Expr> {
        self.nested(|parser| {
            let left = parser.conditional()?;
            let Some(operation) = assignment_operator(parser.kind()) else {
                return Ok(left);
            };
            let span = parser.bump().site;
            let right = parser.initialiser()?;
            let height = left.height.max(right.height) + 1;
            parser.make(
                ExprKind::Assign(operation, Box::new(left), Box::new(right)),
                span,
                height,
            )
        })
    }

    /// An expression, or `{a, b}`.
    pub(super) fn initialiser(&mut self) -> Parse<Expr> {
        if !self.at(TokenKind::LeftBrace) {
            return self.assignment();
        }
        let span = self.peek().site;
        let values = self.braced_list()?;
        let height = tallest(&values) + 1;
        self.make(ExprKind::List(values), span, height)
    }

    pub(super) fn braced_list(&mut self) -> Parse<Vec<Expr>> {
        self.nested(|parser| parser.bracketed(Self::braced_values))
    }

    fn braced_values(&mut self) -> Parse<Vec<Expr>> {
        let parser = self;
        {
            let open = parser.bump();
            let mut values = Vec::new();
            while !parser.at(TokenKind::RightBrace) {
                if parser.at(TokenKind::Eof) {
                    return parser.fail(
                        open.site,
                        "this '{' is never closed",
                        Some("add the missing '}'"),
                    );
                }
                let value = if parser.at(TokenKind::Dot) {
                    parser.designated()?
                } else {
                    parser.expandable()?
                };
                values.push(value);
                if !parser.accept(TokenKind::Comma) {
                    break;
                }
            }
            parser.expect(TokenKind::RightBrace, "after the values")?;
            Ok(values)
        }
    }

    /// `.field = value`
    fn designated(&mut self) -> Parse<Expr> {
        self.bump();
        let name = self.expect(TokenKind::Identifier, "as the name of a field")?;
        if !self.at(TokenKind::LeftBrace) {
            self.expect(TokenKind::Equal, "after the field")?;
        }
        let value = self.initialiser()?;
        let height = value.height + 1;
        let kind = ExprKind::Designated(name.symbol, Box::new(value));
        self.make(kind, name.site, height)
    }

    pub(super) fn conditional(&mut self) -> Parse<Expr> {
        let condition = self.binary(0)?;
        if !self.at(TokenKind::Question) {
            return Ok(condition);
        }
        let span = self.bump().site;
        self.nested(|parser| {
            let yes = parser.expression()?;
            parser.expect(TokenKind::Colon, "between the two values of '?'")?;
            let no = parser.assignment()?;
            let height = condition.height.max(yes.height).max(no.height) + 1;
            parser.make(
                ExprKind::Conditional(Box::new(condition), Box::new(yes), Box::new(no)),
                span,
                height,
            )
        })
    }

    pub(super) fn binary(&mut self, level: u8) -> Parse<Expr> {
        let mut left = self.unary()?;
        loop {
            if self.at(TokenKind::TripleLess) {
                return self.refuse(self.peek().site, "a kernel launch from device code", None);
            }
            if self.angle_closes
                && matches!(
                    self.kind(),
                    TokenKind::Greater | TokenKind::ShiftRight | TokenKind::GreaterEqual
                )
            {
                return Ok(left);
            }
            let Some((operation, precedence)) =
                binary_operator(self.kind()).filter(|&(_, precedence)| precedence > level)
            else {
                return Ok(left);
            };
            if self.at_fold() {
                return Ok(left);
            }
            let span = self.bump().site;
            let right = self.binary(precedence)?;
            let height = left.height.max(right.height) + 1;
            left = self.make(
                ExprKind::Binary(operation, Box::new(left), Box::new(right)),
                span,
                height,
            )?;
        }
    }

    fn unary(&mut self) -> Parse<Expr> {
        let token = *self.peek();
        let operation = match token.kind {
            TokenKind::Plus => Some(UnaryOp::Plus),
            TokenKind::Minus => Some(UnaryOp::Minus),
            TokenKind::Bang => Some(UnaryOp::Not),
            TokenKind::Tilde => Some(UnaryOp::Complement),
            TokenKind::Amp => Some(UnaryOp::AddressOf),
            TokenKind::Star => Some(UnaryOp::Dereference),
            TokenKind::PlusPlus | TokenKind::MinusMinus => None,
            TokenKind::LeftParen if self.is_cast() => return self.cast(),
            _ => return self.postfix(),
        };
        self.nested(|parser| {
            parser.bump();
            let value = parser.unary()?;
            let height = value.height + 1;
            let kind = match operation {
                Some(operation) => ExprKind::Unary(operation, Box::new(value)),
                None => ExprKind::Step {
                    object: Box::new(value),
                    is_increment: token.kind == TokenKind::PlusPlus,
                    is_prefix: true,
                },
            };
            parser.make(kind, token.site, height)
        })
    }

    fn is_cast(&self) -> bool {
        let next = self.peek_at(1);
        if next.kind != TokenKind::Identifier {
            return false;
        }
        if next.symbol == words::DECLTYPE {
            let after = self.after_parens(2);
            return self.peek_at(after).kind == TokenKind::RightParen;
        }
        let mut after = self.peek_at(2).kind;
        let name = 1 + self.namespace_prefix(1);
        let is_type = self.type_names.contains(&self.peek_at(name).symbol);
        if name > 1 || self.at_template_name(name) {
            after = if self.at_template_name(name) {
                self.after_angles(name + 1)
                    .map_or(TokenKind::LeftParen, |after| self.peek_at(after).kind)
            } else {
                self.peek_at(name + 1).kind
            };
        }
        let is_word = matches!(
            next.symbol,
            words::VOID
                | words::BOOL
                | words::CHAR
                | words::SHORT
                | words::INT
                | words::LONG
                | words::FLOAT
                | words::DOUBLE
                | words::HALF
                | words::BFLOAT16
                | words::SIGNED
                | words::UNSIGNED
                | words::CONST
                | words::STRUCT
                | words::ENUM
                | words::VOLATILE
                | words::TYPENAME
        );
        if (is_type || is_word)
            && after == TokenKind::LeftParen
            && self.is_nested_declarator(name + 1)
        {
            return true;
        }
        // `(float(x))` and `(P{1})` are values in parentheses.
        (is_type || is_word)
            && !matches!(
                after,
                TokenKind::LeftParen | TokenKind::LeftBrace | TokenKind::ColonColon
            )
    }

    /// How far ahead the token after the `)` is that closes the `(` at `ahead`.
    fn after_parens(&self, ahead: usize) -> usize {
        let (mut index, mut depth) = (ahead, 0usize);
        loop {
            match self.peek_at(index).kind {
                TokenKind::LeftParen => depth += 1,
                TokenKind::RightParen => depth = depth.saturating_sub(1),
                TokenKind::Eof => return index,
                _ => {}
            }
            index += 1;
            if depth == 0 {
                return index;
            }
        }
    }

    fn cast(&mut self) -> Parse<Expr> {
        self.nested(|parser| {
            let open = parser.bump();
            let ty = parser.type_name()?;
            parser.expect(TokenKind::RightParen, "after the type of the cast")?;
            if parser.at(TokenKind::LeftBrace) {
                let arguments = parser.braced_list()?;
                let height = tallest(&arguments) + 1;
                return parser.make(
                    ExprKind::Construct {
                        ty: Box::new(ty),
                        arguments,
                    },
                    open.site,
                    height,
                );
            }
            let value = parser.unary()?;
            let height = value.height + 1;
            parser.make(
                ExprKind::Cast {
                    ty: Box::new(ty),
                    value: Box::new(value),
                    is_reinterpret: false,
                },
                open.site,
                height,
            )
        })
    }

    fn postfix(&mut self) -> Parse<Expr> {
        let mut value = self.primary()?;
        loop {
            let token = *self.peek();
            let height = value.height + 1;
            let (kind, span, height) = match token.kind {
                TokenKind::LeftBracket => {
                    self.bump();
                    let index = self.bracketed(Self::expression)?;
                    self.expect(TokenKind::RightBracket, "after the index")?;
                    let height = height.max(index.height + 1);
                    (
                        ExprKind::Index(Box::new(value), Box::new(index)),
                        token.site,
                        height,
                    )
                }
                TokenKind::LeftParen => {
                    self.bump();
                    let arguments = self.arguments()?;
                    let height = height.max(tallest(&arguments) + 1);
                    let span = value.span;
                    (ExprKind::Call(Box::new(value), arguments), span, height)
                }
                TokenKind::Dot | TokenKind::Arrow => {
                    self.bump();
                    let is_template = self.accept_word(words::TEMPLATE);
                    if self.at_word(words::OPERATOR) {
                        let name = self.operator_name()?;
                        value = self.make(
                            ExprKind::Member {
                                object: Box::new(value),
                                name,
                                is_arrow: token.kind == TokenKind::Arrow,
                                arguments: None,
                            },
                            token.site,
                            height,
                        )?;
                        continue;
                    }
                    let name = self.expect(TokenKind::Identifier, "as the name of a field")?;
                    let arguments = if self.at(TokenKind::Less)
                        && (is_template || self.member_templates.contains(&name.symbol))
                    {
                        Some(self.template_arguments()?)
                    } else {
                        None
                    };
                    (
                        ExprKind::Member {
                            object: Box::new(value),
                            name: name.symbol,
                            is_arrow: token.kind == TokenKind::Arrow,
                            arguments,
                        },
                        name.site,
                        height,
                    )
                }
                TokenKind::PlusPlus | TokenKind::MinusMinus => {
                    self.bump();
                    let is_increment = token.kind == TokenKind::PlusPlus;
                    (
                        ExprKind::Step {
                            object: Box::new(value),
                            is_increment,
                            is_prefix: false,
                        },
                        token.site,
                        height,
                    )
                }
                _ => return Ok(value),
            };
            value = self.make(kind, span, height)?;
        }
    }

    pub(super) fn arguments(&mut self) -> Parse<Vec<Expr>> {
        self.bracketed(Self::argument_list)
    }

    fn argument_list(&mut self) -> Parse<Vec<Expr>> {
        let mut arguments = Vec::new();
        while !self.at(TokenKind::RightParen) {
            arguments.push(self.expandable()?);
            if !self.accept(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RightParen, "after the arguments")?;
        Ok(arguments)
    }

    fn primary(&mut self) -> Parse<Expr> {
        let token = *self.peek();
        let span = token.site;
        match token.kind {
            TokenKind::Number => {
                self.bump();
                match literals::number(self.sources.text(token.span)) {
                    Ok(literals::Number::Integer { value, ty }) => {
                        self.make(ExprKind::Integer { value, ty }, span, 1)
                    }
                    Ok(literals::Number::Float { value, ty }) => {
                        self.make(ExprKind::Float { value, ty }, span, 1)
                    }
                    Err(message) => self.fail(span, message, None),
                }
            }
            TokenKind::Character => {
                self.bump();
                match literals::character(self.sources.text(token.span)) {
                    Some(value) => self.make(
                        ExprKind::Integer {
                            value: value as u64,
                            ty: ScalarType::Char,
                        },
                        span,
                        1,
                    ),
                    None => self.fail(
                        span,
                        "this is not one ASCII character",
                        Some("for example 'a', '\\n' or '\\x41'"),
                    ),
                }
            }
            TokenKind::String => {
                let mut bytes = Vec::new();
                while self.at(TokenKind::String) {
                    let part = self.bump();
                    match literals::string(self.sources.text(part.span)) {
                        Some(more) => bytes.extend(more),
                        // One that is not closed was told of by the lexer.
                        None if !self.sources.text(part.span).ends_with('"') => {
                            return Err(super::Failed);
                        }
                        None => {
                            return self.fail(
                                part.site,
                                "this string has an escape that is not known",
                                Some("a backslash is written twice"),
                            );
                        }
                    }
                }
                self.make(ExprKind::String(bytes), span, 1)
            }
            TokenKind::LeftParen => {
                self.bump();
                if self.at(TokenKind::Ellipsis) {
                    return self.left_fold(span);
                }
                let first = self.next;
                let mut value = self.nested(|parser| parser.bracketed(Self::expression))?;
                if self.at_fold() {
                    return self.fold_after(value, first, span);
                }
                self.expect(TokenKind::RightParen, "after the expression")?;
                value.height += 1;
                Ok(value)
            }
            TokenKind::LeftBracket => self.lambda(),
            TokenKind::ColonColon => {
                self.bump();
                let mut value = self.nested(Self::primary)?;
                self.qualify(&mut value, &[], true);
                Ok(value)
            }
            TokenKind::TripleLess => self.refuse(span, "a kernel launch from device code", None),
            TokenKind::Identifier => self.name(),
            _ => {
                let found = self.shown(&token);
                if token.starts_line && self.next > 0 {
                    let before = self.previous_span();
                    return self.fail(
                        before,
                        format!("an expression is missing after this, found {found}"),
                        None,
                    );
                }
                self.fail(span, format!("expected an expression, found {found}"), None)
            }
        }
    }

    fn name(&mut self) -> Parse<Expr> {
        let token = *self.peek();
        let span = token.site;
        match token.symbol {
            words::TRUE | words::FALSE => {
                self.bump();
                return self.make(ExprKind::Bool(token.symbol == words::TRUE), span, 1);
            }
            words::NULLPTR => {
                self.bump();
                return self.make(ExprKind::Null, span, 1);
            }
            words::SIZEOF | words::ALIGNOF => return self.size_of(span),
            words::STATIC_CAST | words::REINTERPRET_CAST | words::CONST_CAST => {
                self.bump();
                self.expect(TokenKind::Less, "after the cast")?;
                let ty = self.type_name()?;
                self.close_angle("after the type of the cast")?;
                self.expect(TokenKind::LeftParen, "before the value of the cast")?;
                let value = self.nested(|parser| parser.bracketed(Self::expression))?;
                self.expect(TokenKind::RightParen, "after the value of the cast")?;
                let height = value.height + 1;
                let is_reinterpret = token.symbol == words::REINTERPRET_CAST;
                return self.make(
                    ExprKind::Cast {
                        ty: Box::new(ty),
                        value: Box::new(value),
                        is_reinterpret,
                    },
                    span,
                    height,
                );
            }
            words::IS_SAME => {
                self.bump();
                self.expect(TokenKind::LeftParen, "after '__is_same'")?;
                let first = self.type_name()?;
                self.expect(TokenKind::Comma, "between the types")?;
                let second = self.type_name()?;
                self.expect(TokenKind::RightParen, "after the types")?;
                let kind = ExprKind::SameType(Box::new(first), Box::new(second));
                return self.make(kind, span, 1);
            }
            words::DYNAMIC_CAST => return self.refuse(span, "dynamic_cast", None),
            words::TYPEID => return self.refuse(span, "typeid", Some("use std::is_same")),
            words::NEW | words::DELETE => {
                return self.refuse(
                    span,
                    "memory allocation in device code",
                    Some("allocate on the host and pass a pointer"),
                );
            }
            words::THROW => return self.refuse(span, "an exception", None),
            words::LAMBDA_THIS => {
                self.bump();
                return self.make(ExprKind::This, span, 1);
            }
            words::TYPENAME | words::DECLTYPE => return self.construct(span),
            _ if self.namespace_prefix(0) > 0 => {
                let path = self.qualifier();
                if path == [words::STD] && self.at_foreign_template() {
                    let feature = format!("'std::{}'", self.text(self.peek().symbol));
                    return self.refuse(span, &feature, None);
                }
                if !self.at(TokenKind::Identifier) {
                    let found = self.shown(self.peek());
                    let message = format!("expected a name after '::', found {found}");
                    return self.fail(self.peek().site, message, None);
                }
                let mut value = self.name()?;
                self.qualify(&mut value, &path, false);
                return Ok(value);
            }
            _ => {}
        }
        let is_type = self.type_names.contains(&token.symbol)
            || matches!(
                token.symbol,
                words::BOOL
                    | words::CHAR
                    | words::SHORT
                    | words::INT
                    | words::LONG
                    | words::FLOAT
                    | words::DOUBLE
                    | words::HALF
                    | words::BFLOAT16
                    | words::SIGNED
                    | words::UNSIGNED
            );
        if is_type && self.at_template_name(0) {
            let after = self.after_angles(1);
            let is_scope =
                after.is_some_and(|after| self.peek_at(after).kind == TokenKind::ColonColon);
            if is_scope {
                let ty = self.template_type()?;
                self.bump();
                let site = self.peek().site;
                let member = if self.at_word(words::OPERATOR) {
                    self.operator_name()?
                } else {
                    self.expect(TokenKind::Identifier, "after '::'")?.symbol
                };
                let kind = ExprKind::TypeMember(Box::new(ty), member);
                return self.make(kind, site, 1);
            }
        }
        if is_type && self.peek_at(1).kind != TokenKind::ColonColon {
            return self.construct(span);
        }
        if self.at_template_name(0) || self.at_typed_arguments() {
            self.bump();
            let arguments = self.template_arguments()?;
            return self.make(ExprKind::TemplateName(token.symbol, arguments), span, 1);
        }
        if self.peek_at(1).kind == TokenKind::Less
            && let Some(name) = self.value_of_trait(token.symbol)
        {
            self.bump();
            let arguments = self.template_arguments()?;
            let ty = TypeExpr {
                kind: TypeKind::Template { name, arguments },
                is_const: false,
                is_volatile: false,
                span,
            };
            let value = self.interner.intern("value");
            return self.make(ExprKind::TypeMember(Box::new(ty), value), span, 1);
        }
        if token.symbol == words::FORWARD && self.peek_at(1).kind == TokenKind::Less {
            self.bump();
            let arguments = self.template_arguments()?;
            return self.make(ExprKind::TemplateName(token.symbol, arguments), span, 1);
        }
        if token.symbol <= words::LAMBDA_THIS && token.symbol < words::THREAD_IDX {
            let found = self.shown(&token);
            return self.fail(span, format!("expected an expression, found {found}"), None);
        }
        self.bump();
        if self.at(TokenKind::ColonColon) && self.peek_at(1).kind == TokenKind::Identifier {
            self.bump();
            let site = self.peek().site;
            let member = if self.at_word(words::OPERATOR) {
                self.operator_name()?
            } else {
                self.bump().symbol
            };
            return self.make(ExprKind::Scoped(token.symbol, member), site, 1);
        }
        self.make(ExprKind::Name(token.symbol), span, 1)
    }

    /// Whether a type of the standard library that is unknown here declares something: `vector<int> v`.
    fn at_foreign_template(&self) -> bool {
        if self.at_template_name(0) || self.peek_at(1).kind != TokenKind::Less {
            return false;
        }
        self.after_angles(1).is_some_and(|after| {
            matches!(
                self.peek_at(after).kind,
                TokenKind::Identifier | TokenKind::ColonColon
            )
        })
    }

    /// The trait `is_same` behind `is_same_v`.
    fn value_of_trait(&mut self, name: crate::interner::Symbol) -> Option<crate::interner::Symbol> {
        let text = self.text(name).strip_suffix("_v")?.to_owned();
        let name = self.interner.intern(&text);
        (self.template_names.contains(&name) && self.type_names.contains(&name)).then_some(name)
    }

    /// `float(x)`, `P{…}`, `P()`.
    fn construct(&mut self, span: Span) -> Parse<Expr> {
        let specifiers = self.specifiers(false)?;
        let Some(ty) = specifiers.ty else {
            let found = self.shown(self.peek());
            return self.fail(span, format!("expected a type, found {found}"), None);
        };
        let arguments = match self.kind() {
            TokenKind::LeftParen => {
                self.bump();
                self.nested(Self::arguments)?
            }
            TokenKind::LeftBrace => self.braced_list()?,
            _ => {
                return self.fail(
                    span,
                    "a type cannot stand here; a value is needed",
                    Some("a cast is written (type)value or type(value)"),
                );
            }
        };
        let height = tallest(&arguments) + 1;
        self.make(
            ExprKind::Construct {
                ty: Box::new(ty),
                arguments,
            },
            span,
            height,
        )
    }

    /// `min<int>(`: a type after the `<` and a call after the `>` leave no other meaning.
    fn at_typed_arguments(&self) -> bool {
        let after = self.peek_at(2);
        self.peek_at(1).kind == TokenKind::Less
            && after.kind == TokenKind::Identifier
            && (is_specifier(after.symbol) || self.type_names.contains(&after.symbol))
            && self
                .after_angles(1)
                .is_some_and(|after| self.peek_at(after).kind == TokenKind::LeftParen)
    }

    fn size_of(&mut self, span: Span) -> Parse<Expr> {
        let word = self.bump();
        if word.symbol == words::ALIGNOF {
            self.expect(TokenKind::LeftParen, "after 'alignof'")?;
            let ty = self.type_name()?;
            self.expect(TokenKind::RightParen, "after the type")?;
            return self.make(ExprKind::AlignofType(Box::new(ty)), span, 1);
        }
        if self.accept(TokenKind::Ellipsis) {
            self.expect(TokenKind::LeftParen, "after 'sizeof...'")?;
            let name = self.expect(TokenKind::Identifier, "as the name of a pack")?;
            self.expect(TokenKind::RightParen, "after the name")?;
            return self.make(ExprKind::SizeofPack(name.symbol), name.site, 1);
        }
        if self.at(TokenKind::LeftParen)
            && (self.is_cast() || self.is_type_in_parens())
            && !self.is_member_in_parens()
        {
            self.bump();
            let ty = self.type_name()?;
            self.expect(TokenKind::RightParen, "after the type")?;
            return self.make(ExprKind::SizeofType(Box::new(ty)), span, 1);
        }
        self.nested(|parser| {
            let value = parser.unary()?;
            let height = value.height + 1;
            parser.make(ExprKind::SizeofValue(Box::new(value)), span, height)
        })
    }

    /// At `(Outer<int>::name)`, where only the checker knows whether that is a type.
    fn is_member_in_parens(&self) -> bool {
        let after = if self.at_template_name(1) {
            self.after_angles(2).unwrap_or(2)
        } else {
            2 + self.namespace_prefix(1)
        };
        self.peek_at(after).kind == TokenKind::ColonColon
            && self.peek_at(after + 2).kind == TokenKind::RightParen
    }

    fn is_type_in_parens(&self) -> bool {
        self.at_template_name(1) && self.type_names.contains(&self.peek_at(1).symbol)
            || self.type_names.contains(&self.peek_at(1).symbol)
                && self.peek_at(2).kind == TokenKind::RightParen
    }
}

fn tallest(values: &[Expr]) -> u32 {
    values.iter().map(|value| value.height).max().unwrap_or(0)
}

/// The operator of an assignment token; the outer `None` means it is no assignment.
#[allow(clippy::option_option)] // `=` is an assignment without an operator.
fn assignment_operator(kind: TokenKind) -> Option<Option<BinaryOp>> {
    use BinaryOp as B;
    use TokenKind as K;
    Some(match kind {
        K::Equal => None,
        K::PlusEqual => Some(B::Add),
        K::MinusEqual => Some(B::Subtract),
        K::StarEqual => Some(B::Multiply),
        K::SlashEqual => Some(B::Divide),
        K::PercentEqual => Some(B::Remainder),
        K::AmpEqual => Some(B::And),
        K::PipeEqual => Some(B::Or),
        K::CaretEqual => Some(B::Xor),
        K::ShiftLeftEqual => Some(B::ShiftLeft),
        K::ShiftRightEqual => Some(B::ShiftRight),
        _ => return None,
    })
}

/// Operator and precedence of a binary token.
pub(super) fn binary_operator(kind: TokenKind) -> Option<(BinaryOp, u8)> {
    use BinaryOp as B;
    use TokenKind as K;
    Some(match kind {
        K::PipePipe => (B::LogicalOr, 1),
        K::AmpAmp => (B::LogicalAnd, 2),
        K::Pipe => (B::Or, 3),
        K::Caret => (B::Xor, 4),
        K::Amp => (B::And, 5),
        K::EqualEqual => (B::Equal, 6),
        K::BangEqual => (B::NotEqual, 6),
        K::Less => (B::Less, 7),
        K::Greater => (B::Greater, 7),
        K::LessEqual => (B::LessEqual, 7),
        K::GreaterEqual => (B::GreaterEqual, 7),
        K::ShiftLeft => (B::ShiftLeft, 8),
        K::ShiftRight => (B::ShiftRight, 8),
        K::Plus => (B::Add, 9),
        K::Minus => (B::Subtract, 9),
        K::Star => (B::Multiply, 10),
        K::Slash => (B::Divide, 10),
        K::Percent => (B::Remainder, 10),
        _ => return None,
    })
}
