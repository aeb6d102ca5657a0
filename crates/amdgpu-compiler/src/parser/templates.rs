//! Templates: their parameters, their arguments, and requests for instances.

use super::specifiers::is_specifier;
use super::{Parse, Parser};
use crate::ast::{
    Expr, Item, Template, TemplateArgument, TemplateParameter, TemplateParameterKind, TypeExpr,
    TypeKind,
};
use crate::interner::words;
use crate::token::TokenKind;

/// Parameters or arguments of one template.
const MAX_TEMPLATE_ARGUMENTS: usize = 64;
/// Tokens looked at to find the `>` that ends template arguments, when it decides what a statement is.
const MAX_LOOKAHEAD: usize = 4096;

impl Parser<'_> {
    /// At `template`.
    pub(super) fn template(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        if self.peek_at(1).kind != TokenKind::Less {
            return self.instantiation(items);
        }
        let start = self.next;
        let after = self.after_angles(1).unwrap_or(1);
        self.next = start + after;
        let is_host = !self.is_device_template();
        self.next = start;
        if is_host {
            let word = *self.peek();
            self.next = start + after;
            let head = self.head();
            self.next = start;
            self.note_host(head.name, word.site);
            self.skip_declaration();
            return Ok(());
        }
        let changes = self.type_changes.len();
        let result = self.nested(|parser| parser.template_declaration(items));
        self.leave_type_scope(changes);
        let Ok((name, is_type)) = result else {
            // Known from here on all the same: what uses it is not wrong.
            let word = self.tokens.get(start + after).map(|token| token.symbol);
            let name = self.tokens.get(start + after + 1).copied();
            if matches!(word, Some(words::STRUCT | words::CLASS))
                && let Some(name) = name.filter(|name| name.kind == TokenKind::Identifier)
            {
                self.add_template_name(name.symbol);
                self.add_type_name(name.symbol);
            }
            return Err(super::Failed);
        };
        self.add_template_name(name);
        if is_type {
            self.add_type_name(name);
        }
        Ok(())
    }

    fn is_device_template(&self) -> bool {
        match self.peek().symbol {
            words::STRUCT | words::CLASS | words::UNION => !self.is_host_struct(),
            // Templates of members, defined outside of their struct, are refused where they are parsed.
            words::USING | words::TEMPLATE | words::CONCEPT => true,
            _ => {
                let head = self.head();
                head.is_device || head.is_constant && head.starts_value && !head.mentions_std
            }
        }
    }

    /// The template's name, and whether it is one of types.
    fn template_declaration(
        &mut self,
        items: &mut Vec<Item>,
    ) -> Parse<(crate::interner::Symbol, bool)> {
        let word = self.bump();
        let parameters = self.template_parameters()?;
        match self.peek().symbol {
            words::STRUCT | words::CLASS | words::UNION => {
                let word = self.bump();
                let mut specifiers = super::specifiers::Specifiers::default();
                self.struct_attributes(&mut specifiers)?;
                let name = self.expect(TokenKind::Identifier, "as the name of the template")?;
                let mut specialisation = None;
                if self.at(TokenKind::Less) {
                    specialisation = Some(self.template_arguments()?);
                }
                self.add_template_name(name.symbol);
                let kind = self.structure_after_name(&mut specifiers, &word, Some(name), true)?;
                self.expect(TokenKind::Semicolon, "after the struct")?;
                let TypeKind::Named(symbol) = kind else {
                    return self.fail(word.site, "a struct needs a name", None);
                };
                let mut inner = std::mem::take(&mut self.side_items);
                let Some(item) = inner.pop() else {
                    return Err(super::Failed);
                };
                items.append(&mut inner);
                items.push(Item::Template(Box::new(Template {
                    parameters,
                    specialisation,
                    item,
                    span: name.site,
                })));
                Ok((symbol, true))
            }
            words::CONCEPT | words::REQUIRES => self.refuse(
                self.peek().site,
                "a concept",
                Some("use static_assert or std::enable_if_t"),
            ),
            words::TEMPLATE => self.refuse(
                self.peek().site,
                "a member template defined outside of its struct",
                Some("define it inside of the struct"),
            ),
            words::USING => {
                let item = self.alias()?;
                let Item::Alias { name, .. } = &item else {
                    return Err(super::Failed);
                };
                let name = *name;
                items.push(Item::Template(Box::new(Template {
                    parameters,
                    specialisation: None,
                    item,
                    span: word.site,
                })));
                Ok((name, true))
            }
            _ => {
                if let Some((name, _)) = self.head().name.filter(|_| !parameters.is_empty()) {
                    self.add_template_name(name);
                }
                self.template_of_values(&word, &parameters, items)
            }
        }
    }

    /// The function or variable of a template, or a specialisation of one.
    fn template_of_values(
        &mut self,
        word: &crate::token::Token,
        parameters: &[TemplateParameter],
        items: &mut Vec<Item>,
    ) -> Parse<(crate::interner::Symbol, bool)> {
        let mut inner = Vec::new();
        self.name_arguments = None;
        self.is_specialising = parameters.is_empty();
        let result = self.declaration(&mut inner);
        self.is_specialising = false;
        result?;
        let mut arguments = self.name_arguments.take();
        if parameters.is_empty() {
            arguments.get_or_insert_default();
        } else if arguments.is_some() && inner.iter().any(|item| matches!(item, Item::Function(_)))
        {
            return self.refuse(
                word.site,
                "a partial specialisation of a function",
                Some("write an overload, or specialise a struct"),
            );
        }
        let mut found = None;
        for item in inner {
            let (name, span) = match &item {
                Item::Function(function) => (function.name, function.span),
                Item::Variable(variable) => (variable.name, variable.span),
                _ => {
                    items.push(item);
                    continue;
                }
            };
            found = Some(name);
            items.push(Item::Template(Box::new(Template {
                parameters: parameters.to_vec(),
                specialisation: arguments.clone(),
                span,
                item,
            })));
        }
        match found {
            Some(name) => Ok((name, false)),
            None => self.fail(
                word.site,
                "a template belongs to a function, struct or variable",
                None,
            ),
        }
    }

    /// `<typename T, int N = 4>`.
    pub(super) fn template_parameters(&mut self) -> Parse<Vec<TemplateParameter>> {
        self.expect(TokenKind::Less, "after 'template'")?;
        let mut parameters = Vec::new();
        while !self.at(TokenKind::Greater) {
            let token = *self.peek();
            if parameters.len() >= MAX_TEMPLATE_ARGUMENTS {
                return self.fail(
                    token.site,
                    format!("a template has at most {MAX_TEMPLATE_ARGUMENTS} parameters"),
                    None,
                );
            }
            let is_type = matches!(token.symbol, words::TYPENAME | words::CLASS)
                && self.peek_at(2).kind != TokenKind::ColonColon;
            if token.symbol == words::TEMPLATE {
                return self.refuse(token.site, "a template as parameter of a template", None);
            }
            let parameter = if is_type {
                self.bump();
                let is_pack = self.accept(TokenKind::Ellipsis);
                let name = self.parameter_name();
                self.packs.extend(name.filter(|_| is_pack));
                if let Some(name) = name {
                    self.add_type_name(name);
                }
                let default = if self.accept(TokenKind::Equal) {
                    Some(self.type_name()?)
                } else {
                    None
                };
                TemplateParameter {
                    name,
                    is_pack,
                    kind: TemplateParameterKind::Type { default },
                }
            } else {
                let specifiers = self.specifiers(false)?;
                let Some(mut ty) = specifiers.ty else {
                    let found = self.shown(self.peek());
                    return self.fail(
                        token.site,
                        format!("expected 'typename' or a type, found {found}"),
                        None,
                    );
                };
                if self.at(TokenKind::Star) {
                    ty = self.declarator(ty)?.ty;
                }
                let is_pack = self.accept(TokenKind::Ellipsis);
                let name = self.parameter_name();
                self.packs.extend(name.filter(|_| is_pack));
                if let Some(name) = name {
                    self.hide_type_name(name);
                }
                let default = if self.accept(TokenKind::Equal) {
                    Some(self.template_value()?)
                } else {
                    None
                };
                TemplateParameter {
                    name,
                    is_pack,
                    kind: TemplateParameterKind::Value { ty, default },
                }
            };
            if parameters
                .last()
                .is_some_and(|last: &TemplateParameter| last.is_pack)
            {
                return self.refuse(
                    token.site,
                    "a template parameter after a pack",
                    Some("put the pack last"),
                );
            }
            parameters.push(parameter);
            if !self.accept(TokenKind::Comma) {
                break;
            }
        }
        self.close_angle("after the template parameters")?;
        Ok(parameters)
    }

    fn parameter_name(&mut self) -> Option<crate::interner::Symbol> {
        let is_name = self.at(TokenKind::Identifier) && !is_specifier(self.peek().symbol);
        is_name.then(|| self.bump().symbol)
    }

    /// `<float, 4>`, at the `<`.
    pub(super) fn template_arguments(&mut self) -> Parse<Vec<TemplateArgument>> {
        self.nested(|parser| {
            parser.bump();
            let mut arguments = Vec::new();
            while !matches!(
                parser.kind(),
                TokenKind::Greater | TokenKind::ShiftRight | TokenKind::TripleGreater
            ) {
                if arguments.len() >= MAX_TEMPLATE_ARGUMENTS {
                    return parser.fail(
                        parser.peek().site,
                        format!("a template has at most {MAX_TEMPLATE_ARGUMENTS} arguments"),
                        None,
                    );
                }
                let start = parser.next;
                let mut argument = if parser.at_type() {
                    TemplateArgument::Type(parser.type_name()?)
                } else {
                    TemplateArgument::Value(parser.template_value()?)
                };
                if parser.accept(TokenKind::Ellipsis) {
                    let names = parser.names_between(start, parser.next);
                    argument = TemplateArgument::Expansion(Box::new(argument), names);
                }
                arguments.push(argument);
                if !parser.accept(TokenKind::Comma) {
                    break;
                }
            }
            parser.close_angle("after the template arguments")?;
            Ok(arguments)
        })
    }

    /// An expression in which `>` closes the template arguments.
    fn template_value(&mut self) -> Parse<Expr> {
        let outer = std::mem::replace(&mut self.angle_closes, true);
        let value = self.nested(Self::conditional);
        self.angle_closes = outer;
        value
    }

    /// Runs `parse` inside of brackets of another kind, where `>` is an operator again.
    pub(super) fn bracketed<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        let outer = std::mem::replace(&mut self.angle_closes, false);
        let result = parse(self);
        self.angle_closes = outer;
        result
    }

    /// Takes one `>`, also from a `>>` or `>>>`.
    pub(super) fn close_angle(&mut self, context: &str) -> Parse<()> {
        let token = *self.peek();
        let rest = match token.kind {
            TokenKind::ShiftRight => TokenKind::Greater,
            TokenKind::TripleGreater => TokenKind::ShiftRight,
            TokenKind::GreaterEqual => TokenKind::Equal,
            TokenKind::ShiftRightEqual => TokenKind::GreaterEqual,
            _ => {
                self.expect(TokenKind::Greater, context)?;
                return Ok(());
            }
        };
        self.split = Some((
            self.next,
            crate::token::Token {
                kind: rest,
                ..token
            },
        ));
        Ok(())
    }

    /// How far ahead the token after the `>` is that closes the `<` at `ahead`; of a `>>` that closes more, the `>>` itself.
    pub(super) fn after_angles(&self, ahead: usize) -> Option<usize> {
        let mut angles = 0usize;
        let mut brackets = 0usize;
        let mut index = ahead;
        while index < ahead + MAX_LOOKAHEAD {
            let closes = match self.peek_at(index).kind {
                TokenKind::Eof | TokenKind::Semicolon | TokenKind::LeftBrace => return None,
                TokenKind::LeftParen | TokenKind::LeftBracket => {
                    brackets += 1;
                    0
                }
                TokenKind::RightParen | TokenKind::RightBracket => {
                    brackets = brackets.checked_sub(1)?;
                    0
                }
                TokenKind::Less if brackets == 0 => {
                    angles += 1;
                    0
                }
                TokenKind::Greater if brackets == 0 => 1,
                TokenKind::ShiftRight if brackets == 0 => 2,
                TokenKind::TripleGreater if brackets == 0 => 3,
                _ => 0,
            };
            index += 1;
            if closes > 0 {
                if closes > angles {
                    return Some(index - 1);
                }
                if closes == angles {
                    return Some(index);
                }
                angles -= closes;
            }
        }
        None
    }

    /// Whether a template's name with arguments stands here.
    pub(super) fn at_template_name(&self, ahead: usize) -> bool {
        let token = self.peek_at(ahead);
        token.kind == TokenKind::Identifier
            && self.template_names.contains(&token.symbol)
            && self.peek_at(ahead + 1).kind == TokenKind::Less
    }

    /// `Matrix<float>`, at the name.
    pub(super) fn template_type(&mut self) -> Parse<TypeExpr> {
        let name = self.bump();
        let arguments = self.template_arguments()?;
        Ok(TypeExpr {
            kind: TypeKind::Template {
                name: name.symbol,
                arguments,
            },
            is_const: false,
            is_volatile: false,
            span: name.site,
        })
    }

    /// `template __global__ void f<float>(float*);`
    fn instantiation(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        self.bump();
        let mut names_host = false;
        let mut path = Vec::new();
        while !self.at_template_name(0) {
            if self.namespace_prefix(0) > 0 {
                path = self.qualifier();
                continue;
            }
            match self.kind() {
                TokenKind::Semicolon if names_host => {
                    // An instance of a template of the host.
                    self.bump();
                    return Ok(());
                }
                TokenKind::Semicolon | TokenKind::LeftBrace | TokenKind::Eof => {
                    let found = self.shown(self.peek());
                    return self.fail(
                        self.peek().site,
                        format!("expected name<arguments> of a template, found {found}"),
                        Some("write: template __global__ void name<float>(float*);"),
                    );
                }
                TokenKind::LeftParen => {
                    self.bracketed(Self::skip_parens)?;
                }
                _ => {
                    let token = self.bump();
                    names_host |= self.host_names.contains(&token.symbol)
                        || self.host_types.contains(&token.symbol);
                }
            }
        }
        let first = items.len();
        self.request(None, items)?;
        for item in &mut items[first..] {
            if let Item::Instantiate { name, .. } = item {
                *name = self.qualified(&path, false, *name);
            }
        }
        if self.at(TokenKind::LeftParen) {
            self.skip_parens()?;
        }
        self.expect(TokenKind::Semicolon, "after the instantiation")?;
        Ok(())
    }

    /// `name<arguments>`.
    fn request(&mut self, expression: Option<String>, items: &mut Vec<Item>) -> Parse<()> {
        let name = self.bump();
        let is_type = self.type_names.contains(&name.symbol);
        let arguments = self.template_arguments()?;
        if !is_type {
            items.push(Item::Instantiate {
                name: name.symbol,
                arguments,
                expression,
                span: name.site,
            });
        }
        Ok(())
    }

    /// What `name_expressions` of the options become: `__agpu_instantiate name<arguments>;`.
    pub(super) fn requested_instance(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        self.bump();
        let start = self.peek().span;
        self.accept(TokenKind::ColonColon);
        let path = self.qualifier();
        while self.accept(TokenKind::ColonColon)
            || self.at(TokenKind::Identifier) && self.peek_at(1).kind == TokenKind::ColonColon
        {
            if self.at(TokenKind::Identifier) {
                self.bump();
            }
        }
        let name = *self.peek();
        if !self.at_template_name(0) {
            let shown = self.shown(&name);
            return self.fail(
                name.site,
                format!("there is no template {shown} in this source"),
                Some("arguments in <> ask for an instance of a template; other kernels are there without being asked for"),
            );
        }
        let mut inner = Vec::new();
        self.request(Some(String::new()), &mut inner)?;
        let text = self.sources.text(start.to(self.previous_span())).to_owned();
        for item in &mut inner {
            if let Item::Instantiate {
                expression, name, ..
            } = item
            {
                *expression = Some(text.clone());
                *name = self.qualified(&path, false, *name);
            }
        }
        items.append(&mut inner);
        self.expect(TokenKind::Semicolon, "after the name of the kernel")?;
        Ok(())
    }
}
