//! Declarations: specifiers, declarators, functions, structs, enums, aliases.

use super::declarators::Declared;
use super::specifiers::{Specifiers, is_specifier, is_specifier_with_arguments};
use super::{Parse, Parser};
use crate::ast::{
    Expr, ExprKind, Function, Item, Parameter, Role, TemplateParameter, TemplateParameterKind,
    TypeExpr, TypeKind, Variable,
};
use crate::interner::{Symbol, words};
use crate::source::Span;
use crate::token::TokenKind;
use crate::types::ScalarType;

impl Parser<'_> {
    /// A declaration at file level; structs defined inside come before it.
    pub(super) fn declaration(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        let first = *self.peek();
        if self.at_word(words::STATIC_ASSERT) {
            let item = self.static_assert()?;
            items.push(item);
            return Ok(());
        }
        if self.at_word(words::USING) {
            let item = self.alias()?;
            items.push(item);
            return Ok(());
        }
        let specifiers = self.specifiers(true)?;
        items.append(&mut self.side_items);
        if self.accept(TokenKind::Semicolon) {
            return Ok(());
        }
        let Some(base) = specifiers.ty.clone() else {
            let found = self.shown(self.peek());
            return self.fail(
                self.peek().site,
                format!("expected a type, found {found}"),
                None,
            );
        };
        let declared = self.declarator(base.clone())?;
        if specifiers.is_typedef {
            return self.typedefs(&specifiers, declared, items);
        }
        if self.at(TokenKind::LeftParen) {
            if let Some(name) = declared.name {
                self.name_function(name);
            }
            let path = specifiers.qualifier.clone();
            let function = self.function(specifiers, declared)?;
            items.extend(self.inside(path, vec![Item::Function(function)]));
            return Ok(());
        }
        if specifiers.is_kernel {
            return self.fail(
                first.site,
                "__global__ belongs to a function",
                Some("write __global__ void name(parameters) { … }"),
            );
        }
        let variables = self.variables(&specifiers, declared)?;
        self.expect(TokenKind::Semicolon, "after the declaration")?;
        let variables = variables.into_iter().map(Item::Variable).collect();
        items.extend(self.inside(specifiers.qualifier, variables));
        Ok(())
    }

    pub(super) fn typedefs(
        &mut self,
        specifiers: &Specifiers,
        first: Declared,
        items: &mut Vec<Item>,
    ) -> Parse<()> {
        if let Some(align) = &specifiers.align {
            return self.refuse(
                align.span,
                "a typedef with an alignment",
                Some("give the alignment to the struct or the variables"),
            );
        }
        let mut declared = first;
        loop {
            let Some(name) = declared.name else {
                return self.fail(declared.span, "a typedef needs a name", None);
            };
            if self.at(TokenKind::LeftParen) {
                return self.refuse(declared.span, "a function type", None);
            }
            self.add_alias(name, &declared.ty);
            items.push(Item::Alias {
                name,
                ty: declared.ty,
            });
            if !self.accept(TokenKind::Comma) {
                break;
            }
            let Some(base) = specifiers.ty.clone() else {
                break;
            };
            declared = self.declarator(base)?;
        }
        self.expect(TokenKind::Semicolon, "after the typedef")?;
        Ok(())
    }

    pub(super) fn alias(&mut self) -> Parse<Item> {
        self.bump();
        let name = self.expect(TokenKind::Identifier, "after 'using'")?;
        self.expect(TokenKind::Equal, "after the new name")?;
        let ty = self.type_name()?;
        self.expect(TokenKind::Semicolon, "after the alias")?;
        self.add_alias(name.symbol, &ty);
        Ok(Item::Alias {
            name: name.symbol,
            ty,
        })
    }

    pub(super) fn static_assert(&mut self) -> Parse<Item> {
        let word = self.bump();
        self.expect(TokenKind::LeftParen, "after 'static_assert'")?;
        let condition = self.assignment()?;
        if self.accept(TokenKind::Comma) {
            self.expect(TokenKind::String, "as the message")?;
        }
        self.expect(TokenKind::RightParen, "after the condition")?;
        self.expect(TokenKind::Semicolon, "after static_assert")?;
        Ok(Item::StaticAssert {
            condition,
            span: word.site,
        })
    }

    /// Whether a declaration starts here, and not an expression.
    pub(super) fn at_type(&self) -> bool {
        let token = self.peek();
        if token.kind == TokenKind::ColonColon {
            return self.is_type_name_at(1 + self.namespace_prefix(1));
        }
        if token.kind != TokenKind::Identifier {
            return false;
        }
        if is_specifier(token.symbol) {
            // `float(x)` at the start of a statement is an expression.
            return self.peek_at(1).kind != TokenKind::LeftParen
                || is_specifier_with_arguments(token.symbol)
                || self.is_nested_declarator(1);
        }
        self.is_type_name_at(self.namespace_prefix(0))
    }

    /// Whether the name so far ahead is that of a type and starts a declaration.
    fn is_type_name_at(&self, ahead: usize) -> bool {
        if self.type_names.contains(&self.peek_at(ahead).symbol) {
            let after = if self.at_template_name(ahead) {
                self.after_angles(ahead + 1).unwrap_or(ahead + 1)
            } else {
                ahead + 1
            };
            // `Outer::Inner name` declares, `Outer::value + 1` computes.
            if self.peek_at(after).kind == TokenKind::ColonColon {
                return self.peek_at(after + 1).kind == TokenKind::Identifier
                    && self.peek_at(after + 2).kind == TokenKind::Identifier;
            }
            return self.is_nested_declarator(after)
                || !matches!(
                    self.peek_at(after).kind,
                    TokenKind::LeftParen | TokenKind::LeftBrace
                );
        }
        false
    }

    /// The declarators after the first, with their initialisers.
    pub(super) fn variables(
        &mut self,
        specifiers: &Specifiers,
        first: Declared,
    ) -> Parse<Vec<Variable>> {
        let mut variables = Vec::new();
        let mut declared = first;
        loop {
            let Some(name) = declared.name else {
                let found = self.shown(self.peek());
                return self.fail(
                    declared.span,
                    format!("expected a name, found {found}"),
                    None,
                );
            };
            // A variable may hide a type of the same name from here on.
            self.hide_type_name(name);
            let start = match self.kind() {
                TokenKind::Equal => {
                    self.bump();
                    let value = self.initialiser()?;
                    Some(characters(value, &declared.ty))
                }
                TokenKind::LeftBrace => {
                    let value = self.initialiser()?;
                    Some(characters(value, &declared.ty))
                }
                TokenKind::LeftParen => Some(self.parenthesised_initial(&declared.ty)?),
                _ => None,
            };
            variables.push(Variable {
                name,
                span: declared.span,
                ty: declared.ty,
                start,
                is_constexpr: specifiers.is_constexpr,
                is_static: specifiers.is_static,
                is_constant_memory: specifiers.is_constant_memory,
                is_device: specifiers.is_device,
                is_shared: specifiers.is_shared,
                is_extern: specifiers.is_extern,
                align: specifiers.align.clone(),
                bits: None,
                is_transparent: false,
                is_mutable: false,
            });
            if !self.accept(TokenKind::Comma) {
                return Ok(variables);
            }
            let Some(base) = specifiers.ty.clone() else {
                return Ok(variables);
            };
            declared = self.declarator(base)?;
        }
    }

    /// `P a(1, 2);`: one value is that value, several construct.
    fn parenthesised_initial(&mut self, ty: &TypeExpr) -> Parse<Expr> {
        let open = self.bump();
        let mut arguments = self.nested(Self::arguments)?;
        let is_struct = matches!(
            ty.kind,
            TypeKind::Named(_) | TypeKind::Template { .. } | TypeKind::Member { .. }
        );
        match (arguments.len(), arguments.pop()) {
            (1, Some(only)) if !is_struct => Ok(only),
            (_, last) => {
                arguments.extend(last);
                let height = arguments
                    .iter()
                    .map(|value| value.height)
                    .max()
                    .unwrap_or(0)
                    + 1;
                let kind = ExprKind::Construct {
                    ty: Box::new(TypeExpr {
                        is_const: false,
                        is_volatile: false,
                        ..ty.clone()
                    }),
                    arguments,
                };
                self.make(kind, open.site, height)
            }
        }
    }

    /// `(type name = value, …)` after its `(`. With `invented`, `auto` stands for a type parameter that goes there.
    pub(super) fn parameters(
        &mut self,
        mut invented: Option<&mut Vec<TemplateParameter>>,
    ) -> Parse<Vec<Parameter>> {
        let mut parameters = Vec::new();
        if self.at_word(words::VOID) && self.peek_at(1).kind == TokenKind::RightParen {
            self.bump();
        }
        while !self.at(TokenKind::RightParen) {
            if self.at(TokenKind::Ellipsis) {
                return self.refuse(self.peek().site, "a variable number of arguments", None);
            }
            let start = self.peek().site;
            let first = self.next;
            let parameter = self.specifiers(false)?;
            let Some(mut base) = parameter.ty else {
                let found = self.shown(self.peek());
                return self.fail(
                    start,
                    format!("expected the type of a parameter, found {found}"),
                    None,
                );
            };
            if matches!(base.kind, TypeKind::Auto) {
                let Some(invented) = invented.as_deref_mut() else {
                    return self.refuse(
                        start,
                        "'auto' as the type of a parameter",
                        Some("write template <typename T> and T"),
                    );
                };
                let name = self
                    .interner
                    .intern(&format!("auto:{}", invented.len() + 1));
                base.kind = TypeKind::Named(name);
                invented.push(TemplateParameter {
                    name: Some(name),
                    is_pack: false,
                    kind: TemplateParameterKind::Type { default: None },
                });
            }
            let mut declared = self.declarator(base)?;
            let mut pack = None;
            if self.accept(TokenKind::Ellipsis) {
                pack = Some(self.names_between(first, self.next));
                if self.at(TokenKind::Identifier) {
                    let name = self.bump();
                    (declared.name, declared.span) = (Some(name.symbol), name.site);
                    self.packs.insert(name.symbol);
                }
            }
            if let Some(name) = declared.name {
                self.hide_type_name(name);
            }
            let value = if self.accept(TokenKind::Equal) {
                Some(self.initialiser()?)
            } else {
                None
            };
            parameters.push(Parameter {
                name: declared.name,
                span: declared.span,
                ty: declared.ty,
                start: value,
                pack,
            });
            if !self.accept(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RightParen, "after the parameters")?;
        Ok(parameters)
    }

    pub(super) fn function(
        &mut self,
        specifiers: Specifiers,
        declared: Declared,
    ) -> Parse<Function> {
        let Some(name) = declared.name else {
            return self.fail(declared.span, "a function needs a name", None);
        };
        self.bump();
        let changes = self.type_changes.len();
        let function = self.function_after_name(specifiers, declared.ty, name, declared.span);
        self.leave_type_scope(changes);
        function
    }

    fn function_after_name(
        &mut self,
        specifiers: Specifiers,
        result: TypeExpr,
        name: Symbol,
        span: Span,
    ) -> Parse<Function> {
        let parameters = self.parameters(None)?;
        let mut role = Role::Free;
        let mut is_volatile = false;
        while matches!(
            self.peek().symbol,
            words::NOEXCEPT | words::ATTRIBUTE | words::CONST | words::VOLATILE
        ) && self.at(TokenKind::Identifier)
        {
            match self.bump().symbol {
                words::ATTRIBUTE => self.skip_parens()?,
                words::NOEXCEPT if self.at(TokenKind::LeftParen) => self.skip_parens()?,
                words::CONST => role = Role::ConstMethod,
                words::VOLATILE => is_volatile = true,
                _ => {}
            }
        }
        let mut return_type = result;
        if matches!(return_type.kind, TypeKind::Auto) && self.accept(TokenKind::Arrow) {
            return_type = self.type_name()?;
        }
        let initialisers = self.initialisers()?;
        let body = if self.accept(TokenKind::Semicolon) {
            None
        } else if self.at(TokenKind::LeftBrace) {
            Some(self.scoped_block()?)
        } else if self.at(TokenKind::Equal)
            && matches!(self.peek_at(1).symbol, words::DEFAULT | words::DELETE)
        {
            self.bump();
            self.bump();
            self.expect(TokenKind::Semicolon, "after the declaration")?;
            None
        } else {
            let found = self.shown(self.peek());
            return self.fail(
                self.peek().site,
                format!("expected '{{' or ';' after the parameters, found {found}"),
                None,
            );
        };
        Ok(Function {
            name,
            span,
            is_kernel: specifiers.is_kernel,
            launch_bounds: specifiers.launch_bounds,
            return_type,
            parameters,
            body,
            is_never_inlined: specifiers.is_never_inlined,
            is_volatile,
            is_constexpr: specifiers.is_constexpr,
            is_explicit: specifiers.is_explicit,
            is_conversion: false,
            role,
            initialisers,
        })
    }

    /// A type in a cast, in `sizeof`, in an alias.
    pub(super) fn type_name(&mut self) -> Parse<TypeExpr> {
        let start = self.peek().site;
        let specifiers = self.specifiers(false)?;
        let Some(base) = specifiers.ty else {
            let found = self.shown(self.peek());
            return self.fail(start, format!("expected a type, found {found}"), None);
        };
        let declared = self.declarator(base)?;
        if declared.name.is_some() {
            return self.fail(declared.span, "a name cannot stand here, only a type", None);
        }
        Ok(declared.ty)
    }
}

/// A string that starts an array of characters is the list of its bytes and a zero; anything else stays what it is.
fn characters(value: Expr, ty: &TypeExpr) -> Expr {
    let TypeKind::Array { element, .. } = &ty.kind else {
        return value;
    };
    let is_character = matches!(
        element.kind,
        TypeKind::Scalar(ScalarType::Char | ScalarType::SignedChar | ScalarType::UnsignedChar)
    );
    let text = match &value.kind {
        ExprKind::String(text) => text,
        // `{"text"}` is the same as `"text"`.
        ExprKind::List(values) => match values.as_slice() {
            [
                Expr {
                    kind: ExprKind::String(text),
                    ..
                },
            ] => text,
            _ => return value,
        },
        _ => return value,
    };
    if !is_character {
        return value;
    }
    let span = value.span;
    let values = text
        .iter()
        .chain(&[0])
        .map(|&byte| Expr {
            kind: ExprKind::Integer {
                value: u64::from(byte),
                ty: ScalarType::UnsignedChar,
            },
            span,
            height: 1,
        })
        .collect();
    Expr {
        kind: ExprKind::List(values),
        span,
        height: 2,
    }
}
