//! Structs and enums.

use super::specifiers::Specifiers;
use super::{Parse, Parser};
use crate::ast::{Enum, Item, Struct, TypeKind, Variable};
use crate::interner::{Symbol, words};
use crate::token::{Token, TokenKind};

impl Parser<'_> {
    /// `struct name`, `struct name { … }`, `struct { … }`.
    pub(super) fn structure(
        &mut self,
        specifiers: &mut Specifiers,
        allows_definition: bool,
    ) -> Parse<TypeKind> {
        let word = self.bump();
        self.struct_attributes(specifiers)?;
        let name = if self.at(TokenKind::Identifier) {
            Some(self.bump())
        } else {
            None
        };
        self.structure_after_name(specifiers, &word, name, allows_definition)
    }

    /// `__align__(16)` and its relatives after `struct`.
    pub(super) fn struct_attributes(&mut self, specifiers: &mut Specifiers) -> Parse<()> {
        loop {
            self.skip_attributes()?;
            if !matches!(
                self.peek().symbol,
                words::ALIGN | words::ALIGNAS | words::ATTRIBUTE
            ) || !self.at(TokenKind::Identifier)
            {
                return Ok(());
            }
            if self.bump().symbol == words::ATTRIBUTE {
                self.skip_parens()?;
            } else {
                self.expect(TokenKind::LeftParen, "after the alignment word")?;
                specifiers.align = Some(self.assignment()?);
                self.expect(TokenKind::RightParen, "after the alignment")?;
            }
        }
    }

    pub(super) fn structure_after_name(
        &mut self,
        specifiers: &mut Specifiers,
        word: &Token,
        name: Option<Token>,
        allows_definition: bool,
    ) -> Parse<TypeKind> {
        let span = name.map_or(word.site, |name| name.site);
        let symbol = if let Some(name) = name {
            name.symbol
        } else {
            let text = format!("(unnamed struct at {})", span.start);
            self.interner.intern(&text)
        };
        self.add_type_name(symbol);
        if name.is_some() && self.at_word(words::FINAL) {
            self.bump();
        }
        let bases = if self.at(TokenKind::Colon) && allows_definition {
            self.bases()?
        } else {
            Vec::new()
        };
        if !self.at(TokenKind::LeftBrace) {
            if name.is_none() {
                return self.fail(word.site, "a struct needs a name or a body", None);
            }
            if self.at(TokenKind::Semicolon) {
                self.side_items.push(Item::Struct(Struct {
                    name: symbol,
                    span,
                    fields: Vec::new(),
                    members: Vec::new(),
                    align: None,
                    bases: 0,
                    is_union: false,
                    is_declaration: true,
                }));
            }
            return Ok(TypeKind::Named(symbol));
        }
        if !allows_definition {
            return self.fail(word.site, "a struct cannot be defined here", None);
        }
        let mut members = self.nested(|parser| parser.members(symbol))?;
        let base_count = bases.len();
        members.fields.splice(0..0, bases);
        let item = Item::Struct(Struct {
            name: symbol,
            span,
            fields: members.fields,
            members: members.items,
            align: specifiers.align.take(),
            bases: base_count,
            is_union: word.symbol == words::UNION,
            is_declaration: false,
        });
        self.side_items.push(item);
        Ok(TypeKind::Named(symbol))
    }

    /// `: public Base, Other<int>`, as fields that come first.
    fn bases(&mut self) -> Parse<Vec<Variable>> {
        self.bump();
        let mut bases = Vec::new();
        loop {
            while matches!(
                self.peek().symbol,
                words::PUBLIC | words::PRIVATE | words::PROTECTED | words::VIRTUAL
            ) {
                let word = self.bump();
                if word.symbol == words::VIRTUAL {
                    return self.refuse(word.site, "virtual inheritance", None);
                }
            }
            let start = self.peek().site;
            let Some(ty) = self.specifiers(false)?.ty else {
                let found = self.shown(self.peek());
                return self.fail(start, format!("expected a base, found {found}"), None);
            };
            let name = match &ty.kind {
                TypeKind::Named(name)
                | TypeKind::Template { name, .. }
                | TypeKind::Member { name, .. } => *name,
                _ => return self.fail(start, "a base is a struct", None),
            };
            if self.at(TokenKind::Ellipsis) {
                return self.refuse(self.peek().site, "a pack of bases", None);
            }
            let span = ty.span;
            bases.push(Variable {
                is_transparent: true,
                ..super::members::field(name, span, ty)
            });
            if !self.accept(TokenKind::Comma) {
                return Ok(bases);
            }
        }
    }

    pub(super) fn enumeration(&mut self) -> Parse<TypeKind> {
        let word = self.bump();
        let is_scoped = self.accept_word(words::CLASS) || self.accept_word(words::STRUCT);
        self.skip_attributes()?;
        let name = if self.at(TokenKind::Identifier) {
            Some(self.bump())
        } else {
            None
        };
        let underlying = if self.accept(TokenKind::Colon) {
            self.specifiers(false)?.ty
        } else {
            None
        };
        if let Some(name) = name {
            self.add_type_name(name.symbol);
        }
        let as_type = |name: Symbol| TypeKind::Named(name);
        if !self.at(TokenKind::LeftBrace) {
            return match name {
                Some(name) => Ok(as_type(name.symbol)),
                None => self.fail(word.site, "an enum needs a name or a body", None),
            };
        }
        self.bump();
        let mut values = Vec::new();
        while !self.at(TokenKind::RightBrace) {
            let value = self.expect(TokenKind::Identifier, "as the name of an enum value")?;
            let number = if self.accept(TokenKind::Equal) {
                Some(self.conditional()?)
            } else {
                None
            };
            values.push((value.symbol, value.site, number));
            if !self.accept(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RightBrace, "after the values of the enum")?;
        let span = name.map_or(word.site, |name| name.site);
        let symbol = if let Some(name) = name {
            name.symbol
        } else {
            let text = format!("(unnamed enum at {})", span.start);
            self.interner.intern(&text)
        };
        self.side_items.push(Item::Enum(Enum {
            name: Some(symbol),
            span,
            is_scoped,
            underlying,
            values,
        }));
        Ok(as_type(symbol))
    }
}
