//! What stands in the braces of a struct: fields, functions, constructors, operators, types and constants.

use super::declarators::Declared;
use super::{Parse, Parser};
use crate::ast::{Initialiser, Item, Role, Template, TypeExpr, TypeKind, Variable};
use crate::interner::{Symbol, words};
use crate::token::TokenKind;

/// The parts of a struct.
#[derive(Default)]
pub(super) struct Members {
    pub fields: Vec<Variable>,
    pub items: Vec<Item>,
}

impl Parser<'_> {
    /// `{ … }` of the struct `owner`; names of types declared inside end with it.
    pub(super) fn members(&mut self, owner: Symbol) -> Parse<Members> {
        let changes = self.type_changes.len();
        let side_items = std::mem::take(&mut self.side_items);
        let result = self.bracketed(|parser| parser.member_list(owner));
        self.leave_type_scope(changes);
        self.side_items = side_items;
        result
    }

    fn member_list(&mut self, owner: Symbol) -> Parse<Members> {
        let open = self.bump();
        let mut members = Members::default();
        while !self.at(TokenKind::RightBrace) {
            if self.at(TokenKind::Eof) {
                return self.fail(
                    open.site,
                    "this '{' is never closed",
                    Some("add the missing '}'"),
                );
            }
            if self.accept(TokenKind::Semicolon) {
                continue;
            }
            let is_label = matches!(
                self.peek().symbol,
                words::PUBLIC | words::PRIVATE | words::PROTECTED
            ) && self.peek_at(1).kind == TokenKind::Colon;
            if is_label {
                self.bump();
                self.bump();
                continue;
            }
            self.member(owner, &mut members)?;
        }
        self.bump();
        Ok(members)
    }

    fn member(&mut self, owner: Symbol, members: &mut Members) -> Parse<()> {
        match self.peek().symbol {
            words::VIRTUAL => return self.refuse(self.peek().site, "a virtual function", None),
            words::USING if self.peek_at(2).kind != TokenKind::Equal => {
                // `using Base::member;`: members of bases are found anyway.
                while !matches!(self.kind(), TokenKind::Semicolon | TokenKind::Eof) {
                    self.bump();
                }
                self.bump();
                return Ok(());
            }
            words::USING => {
                let item = self.alias()?;
                members.items.push(item);
                return Ok(());
            }
            words::STATIC_ASSERT => {
                let item = self.static_assert()?;
                members.items.push(item);
                return Ok(());
            }
            words::TEMPLATE => return self.member_template(owner, members),
            _ => {}
        }
        self.skip_attributes()?;
        let head = self.head();
        if head.has_function_shape
            && !head.starts_value
            && !head.is_device
            && !self.has_nested_declarator()
        {
            return self.host_member();
        }
        let is_friend = self.has_specifier(words::FRIEND);
        let is_static = self.has_specifier(words::STATIC);
        let is_mutable = self.has_specifier(words::MUTABLE);
        let specifiers = self.specifiers(true)?;
        members.items.append(&mut self.side_items);
        if self.at(TokenKind::Tilde) {
            return self.destructor(specifiers, members);
        }
        let Some(base) = specifiers.ty.clone() else {
            if self.at_word(words::OPERATOR) {
                return self.conversion(specifiers, members);
            }
            let found = self.shown(self.peek());
            return self.fail(
                self.peek().site,
                format!("expected the type of a field, found {found}"),
                None,
            );
        };
        if self.at(TokenKind::Semicolon) {
            let semicolon = self.bump();
            // `union { … };`: what is inside counts as part of this struct.
            if let TypeKind::Named(name) = base.kind
                && self.text(name).starts_with("(unnamed struct")
            {
                members.fields.push(Variable {
                    is_transparent: true,
                    ..field(name, semicolon.site, base)
                });
            }
            return Ok(());
        }
        if self.at(TokenKind::LeftParen)
            && matches!(base.kind, TypeKind::Named(name) if name == owner)
        {
            let declared = Declared {
                name: Some(owner),
                span: base.span,
                ty: TypeExpr {
                    kind: TypeKind::Void,
                    is_const: false,
                    is_volatile: false,
                    span: base.span,
                },
            };
            return self.constructor(specifiers, declared, members);
        }
        let declared = self.declarator(base.clone())?;
        if specifiers.is_typedef {
            return self.typedefs(&specifiers, declared, &mut members.items);
        }
        if self.at(TokenKind::LeftParen) {
            let mut function = self.function(specifiers, declared)?;
            function.role = match (is_friend, is_static, function.role) {
                (true, _, _) => Role::Free,
                (_, true, _) => Role::StaticMethod,
                (_, _, Role::ConstMethod) => Role::ConstMethod,
                _ => Role::Method,
            };
            members.items.push(Item::Function(function));
            return Ok(());
        }
        if self.at(TokenKind::Colon) {
            return self.bit_fields(declared, &base, members);
        }
        let variables = self.variables(&specifiers, declared)?;
        self.expect(TokenKind::Semicolon, "after the field")?;
        if specifiers.is_static {
            let items = variables.into_iter().map(Item::Variable);
            members.items.extend(items);
        } else {
            members
                .fields
                .extend(variables.into_iter().map(|field| Variable {
                    is_mutable,
                    ..field
                }));
        }
        Ok(())
    }

    /// `unsigned low : 4, high : 12;`, at the first `:`.
    fn bit_fields(&mut self, first: Declared, base: &TypeExpr, members: &mut Members) -> Parse<()> {
        let mut declared = first;
        loop {
            let span = self.peek().site;
            let bits = if self.accept(TokenKind::Colon) {
                Some(self.conditional()?)
            } else {
                None
            };
            // Without a name it is padding.
            let name = match declared.name {
                Some(name) => name,
                None => self.interner.intern("(unnamed bits)"),
            };
            let start = match self.kind() {
                TokenKind::Equal => {
                    self.bump();
                    Some(self.initialiser()?)
                }
                TokenKind::LeftBrace => Some(self.initialiser()?),
                _ => None,
            };
            let span = declared.name.map_or(span, |_| declared.span);
            members.fields.push(Variable {
                start,
                bits,
                ..field(name, span, declared.ty)
            });
            if !self.accept(TokenKind::Comma) {
                break;
            }
            declared = self.declarator(base.clone())?;
        }
        self.expect(TokenKind::Semicolon, "after the field")?;
        Ok(())
    }

    /// `~Name() { … }`
    fn destructor(
        &mut self,
        specifiers: super::specifiers::Specifiers,
        members: &mut Members,
    ) -> Parse<()> {
        let tilde = self.bump();
        self.expect(TokenKind::Identifier, "after '~'")?;
        if !self.at(TokenKind::LeftParen) {
            return self.fail(tilde.site, "a destructor has an empty parameter list", None);
        }
        let name = self.interner.intern("(destructor)");
        let declared = Declared {
            name: Some(name),
            span: tilde.site,
            ty: TypeExpr {
                kind: TypeKind::Void,
                is_const: false,
                is_volatile: false,
                span: tilde.site,
            },
        };
        let mut function = self.function(specifiers, declared)?;
        if !function.parameters.is_empty() {
            return self.fail(tilde.site, "a destructor has an empty parameter list", None);
        }
        function.role = Role::Destructor;
        // `= default` does nothing of its own.
        if function.body.is_some() {
            members.items.push(Item::Function(function));
        }
        Ok(())
    }

    /// `operator float() const { … }`
    fn conversion(
        &mut self,
        specifiers: super::specifiers::Specifiers,
        members: &mut Members,
    ) -> Parse<()> {
        let word = self.bump();
        let ty = self.type_name()?;
        if !self.at(TokenKind::LeftParen) {
            return self.fail(
                word.site,
                "a conversion operator has an empty parameter list",
                None,
            );
        }
        let count = members.items.len();
        let name = self.interner.intern(&format!("(conversion {count})"));
        let declared = Declared {
            name: Some(name),
            span: word.site,
            ty,
        };
        let mut function = self.function(specifiers, declared)?;
        if !function.parameters.is_empty() {
            return self.fail(
                word.site,
                "a conversion operator has an empty parameter list",
                None,
            );
        }
        if function.role != Role::ConstMethod {
            function.role = Role::Method;
        }
        function.is_conversion = true;
        members.items.push(Item::Function(function));
        Ok(())
    }

    /// `float (*rows)[4]` among the fields.
    fn has_nested_declarator(&self) -> bool {
        let mut ahead = 0;
        while !matches!(
            self.peek_at(ahead).kind,
            TokenKind::LeftParen | TokenKind::Semicolon | TokenKind::LeftBrace | TokenKind::Eof
        ) {
            ahead += 1;
        }
        self.is_nested_declarator(ahead)
    }

    /// Whether a word is among the specifiers here.
    fn has_specifier(&self, word: Symbol) -> bool {
        let mut ahead = 0;
        while self.peek_at(ahead).kind == TokenKind::Identifier {
            match self.peek_at(ahead).symbol {
                found if found == word => return true,
                words::OPERATOR => return false,
                _ => ahead += 1,
            }
        }
        false
    }

    /// A member function that is neither `__device__` nor `constexpr` belongs to the host.
    fn host_member(&mut self) -> Parse<()> {
        let mut ahead = 0;
        while !matches!(
            self.peek_at(ahead).kind,
            TokenKind::LeftParen | TokenKind::Eof
        ) {
            ahead += 1;
        }
        if self.peek_at(ahead + 1).kind == TokenKind::Star {
            return self.refuse(
                self.peek_at(ahead).site,
                "a pointer to a function",
                Some("pass a lambda or a struct with operator() to a template"),
            );
        }
        let head = self.head();
        self.note_host(head.name, self.peek().site);
        self.skip_member();
        Ok(())
    }

    /// Like `skip_declaration`, past the initialisers of a constructor too.
    fn skip_member(&mut self) {
        let mut parens = 0usize;
        loop {
            match self.kind() {
                TokenKind::Eof => return,
                TokenKind::LeftParen => parens += 1,
                TokenKind::RightParen => parens = parens.saturating_sub(1),
                TokenKind::Semicolon if parens == 0 => {
                    self.bump();
                    return;
                }
                TokenKind::RightBrace if parens == 0 => return,
                TokenKind::LeftBrace => {
                    // After a name it is the value of a field: `: x{1}, y{2} { … }`.
                    let is_value =
                        self.tokens
                            .get(self.next.wrapping_sub(1))
                            .is_some_and(|token| {
                                token.kind == TokenKind::Identifier
                                    && !matches!(token.symbol, words::CONST | words::NOEXCEPT)
                            });
                    self.skip_braces();
                    if !is_value && parens == 0 {
                        return;
                    }
                    continue;
                }
                _ => {}
            }
            self.bump();
        }
    }

    fn member_template(&mut self, owner: Symbol, members: &mut Members) -> Parse<()> {
        let word = self.bump();
        let changes = self.type_changes.len();
        let result = self.nested(|parser| {
            let parameters = parser.template_parameters()?;
            if let Some((name, _)) = parser.head().name {
                parser.add_template_name(name);
            }
            let mut inner = Members::default();
            parser.member(owner, &mut inner)?;
            Ok((parameters, inner))
        });
        self.leave_type_scope(changes);
        let (parameters, inner) = result?;
        for item in inner.items {
            let Item::Function(function) = &item else {
                return self.refuse(word.site, "a member template that is not a function", None);
            };
            if function.name != owner {
                self.add_template_name(function.name);
                self.member_templates.insert(function.name);
            }
            members.items.push(Item::Template(Box::new(Template {
                parameters: parameters.clone(),
                specialisation: None,
                span: function.span,
                item,
            })));
        }
        Ok(())
    }

    fn constructor(
        &mut self,
        specifiers: super::specifiers::Specifiers,
        declared: Declared,
        members: &mut Members,
    ) -> Parse<()> {
        let mut function = self.function(specifiers, declared)?;
        function.role = Role::Constructor;
        // `= default` leaves no body: the fields are what they are without the constructor.
        if function.body.is_some() {
            members.items.push(Item::Function(function));
        }
        Ok(())
    }

    /// `: x(1), y{2}` before the body of a constructor.
    pub(super) fn initialisers(&mut self) -> Parse<Vec<Initialiser>> {
        let mut initialisers = Vec::new();
        if !self.accept(TokenKind::Colon) {
            return Ok(initialisers);
        }
        loop {
            let path = self.qualifier();
            let mut name = self.expect(TokenKind::Identifier, "as the name of a field")?;
            name.symbol = self.qualified(&path, false, name.symbol);
            let arguments = if self.at(TokenKind::Less) {
                Some(self.template_arguments()?)
            } else {
                None
            };
            let values = match self.kind() {
                TokenKind::LeftParen => {
                    self.bump();
                    self.nested(Self::arguments)?
                }
                TokenKind::LeftBrace => self.braced_list()?,
                _ => {
                    let found = self.shown(self.peek());
                    return self.fail(
                        self.peek().site,
                        format!("expected '(' after the field, found {found}"),
                        None,
                    );
                }
            };
            initialisers.push(Initialiser {
                name: name.symbol,
                arguments,
                span: name.site,
                values,
            });
            if !self.accept(TokenKind::Comma) {
                return Ok(initialisers);
            }
        }
    }

    /// `operator+`, as one name.
    pub(super) fn operator_name(&mut self) -> Parse<Symbol> {
        self.bump();
        let token = self.bump();
        let text = match token.kind {
            TokenKind::LeftParen => {
                self.expect(TokenKind::RightParen, "after 'operator('")?;
                "()"
            }
            TokenKind::LeftBracket => {
                self.expect(TokenKind::RightBracket, "after 'operator['")?;
                "[]"
            }
            TokenKind::Identifier | TokenKind::Number | TokenKind::Eof => {
                return self.refuse(
                    token.site,
                    "a conversion operator",
                    Some("write a function with a name"),
                );
            }
            TokenKind::Amp | TokenKind::AmpAmp | TokenKind::PipePipe | TokenKind::Comma => {
                return self.refuse(token.site, "overloading this operator", None);
            }
            kind => kind.text(),
        };
        let name = format!("operator{text}");
        Ok(self.interner.intern(&name))
    }
}

/// A field as it is mostly.
pub(super) fn field(name: Symbol, span: crate::source::Span, ty: TypeExpr) -> Variable {
    Variable {
        name,
        span,
        ty,
        start: None,
        is_constexpr: false,
        is_static: false,
        is_constant_memory: false,
        is_shared: false,
        is_extern: false,
        is_device: false,
        align: None,
        bits: None,
        is_transparent: false,
        is_mutable: false,
    }
}
