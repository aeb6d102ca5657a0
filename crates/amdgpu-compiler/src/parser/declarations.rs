//! Declarations: specifiers, declarators, functions, structs, enums, aliases.

use super::specifiers::{Specifiers, is_specifier, is_specifier_with_arguments};
use super::{Parse, Parser};
use crate::ast::{
    Expr, ExprKind, Function, Item, Parameter, Role, TemplateParameter, TemplateParameterKind,
    TypeExpr, TypeKind, Variable,
};
use crate::interner::{Symbol, words};
use crate::source::Span;
use crate::token::TokenKind;

/// A name with the type it declares.
pub(super) struct Declared {
    pub name: Option<Symbol>,
    pub span: Span,
    pub ty: TypeExpr,
}

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
            let function = self.function(specifiers, declared)?;
            items.push(Item::Function(function));
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
        items.extend(variables.into_iter().map(Item::Variable));
        Ok(())
    }

    pub(super) fn typedefs(
        &mut self,
        specifiers: &Specifiers,
        first: Declared,
        items: &mut Vec<Item>,
    ) -> Parse<()> {
        let mut declared = first;
        loop {
            let Some(name) = declared.name else {
                return self.fail(declared.span, "a typedef needs a name", None);
            };
            if self.at(TokenKind::LeftParen) {
                return self.refuse(declared.span, "a function type", None);
            }
            self.add_type_name(name);
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
        self.add_type_name(name.symbol);
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
        if token.kind != TokenKind::Identifier {
            return false;
        }
        if is_specifier(token.symbol) {
            // `float(x)` at the start of a statement is an expression.
            return self.peek_at(1).kind != TokenKind::LeftParen
                || is_specifier_with_arguments(token.symbol);
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
            return !matches!(
                self.peek_at(after).kind,
                TokenKind::LeftParen | TokenKind::LeftBrace
            );
        }
        false
    }

    /// Pointers, the name, and array lengths.
    pub(super) fn declarator(&mut self, base: TypeExpr) -> Parse<Declared> {
        let mut ty = base;
        let mut levels = 0usize;
        loop {
            let token = *self.peek();
            let span = ty.span.to(token.site);
            match token.kind {
                TokenKind::Star => {
                    self.bump();
                    let mut is_const = false;
                    let mut is_restrict = false;
                    while self.at(TokenKind::Identifier) {
                        match self.peek().symbol {
                            words::CONST => is_const = true,
                            words::RESTRICT | words::RESTRICT2 => is_restrict = true,
                            words::VOLATILE => {}
                            _ => break,
                        }
                        self.bump();
                    }
                    ty = TypeExpr {
                        kind: TypeKind::Pointer {
                            pointee: Box::new(ty),
                            is_restrict,
                        },
                        is_const,
                        span,
                    };
                }
                TokenKind::Amp => {
                    self.bump();
                    ty = TypeExpr {
                        kind: TypeKind::Reference(Box::new(ty)),
                        is_const: false,
                        span,
                    };
                }
                TokenKind::AmpAmp => {
                    self.bump();
                    ty = TypeExpr {
                        kind: TypeKind::Forwarding(Box::new(ty)),
                        is_const: false,
                        span,
                    };
                }
                _ => break,
            }
            levels += 1;
            if levels > 16 {
                return self.fail(token.site, "more than 16 levels of pointers", None);
            }
        }
        if self.at(TokenKind::LeftParen) && self.peek_at(1).kind == TokenKind::Star {
            return self.refuse(self.peek().site, "a pointer to a function or array", None);
        }
        let (name, span) = if self.at_word(words::OPERATOR) {
            let span = self.peek().site;
            (Some(self.operator_name()?), span)
        } else if self.at(TokenKind::Identifier) && !is_specifier(self.peek().symbol) {
            let token = self.bump();
            (Some(token.symbol), token.site)
        } else {
            (None, self.peek().site)
        };
        let mut lengths = Vec::new();
        while self.at(TokenKind::LeftBracket) {
            self.bump();
            let length = if self.at(TokenKind::RightBracket) {
                None
            } else {
                Some(self.assignment()?)
            };
            self.expect(TokenKind::RightBracket, "after the array length")?;
            lengths.push(length);
            if lengths.len() > 16 {
                return self.fail(span, "more than 16 array dimensions", None);
            }
        }
        for length in lengths.into_iter().rev() {
            let span = ty.span;
            let is_const = ty.is_const;
            ty = TypeExpr {
                kind: TypeKind::Array {
                    element: Box::new(ty),
                    length: length.map(Box::new),
                },
                is_const,
                span,
            };
        }
        Ok(Declared { name, span, ty })
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
                    Some(self.initialiser()?)
                }
                TokenKind::LeftBrace => Some(self.initialiser()?),
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
                    kind: TemplateParameterKind::Type { default: None },
                });
            }
            let declared = self.declarator(base)?;
            let value = if self.accept(TokenKind::Equal) {
                Some(self.assignment()?)
            } else {
                None
            };
            parameters.push(Parameter {
                name: declared.name,
                span: declared.span,
                ty: declared.ty,
                start: value,
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
        let parameters = self.parameters(None)?;
        let mut role = Role::Free;
        while matches!(
            self.peek().symbol,
            words::NOEXCEPT | words::ATTRIBUTE | words::CONST
        ) && self.at(TokenKind::Identifier)
        {
            match self.bump().symbol {
                words::ATTRIBUTE => self.skip_parens()?,
                words::CONST => role = Role::ConstMethod,
                _ => {}
            }
        }
        let mut return_type = declared.ty;
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
            span: declared.span,
            is_kernel: specifiers.is_kernel,
            launch_bounds: specifiers.launch_bounds,
            return_type,
            parameters,
            body,
            is_never_inlined: specifiers.is_never_inlined,
            is_constexpr: specifiers.is_constexpr,
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
