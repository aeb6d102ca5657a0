//! Namespaces: what stands in them, names qualified with them, and `using`.

use super::{Parse, Parser, QualifiedName};
use crate::ast::{Expr, ExprKind, Item, TypeExpr, TypeKind};
use crate::interner::{Symbol, words};
use crate::token::TokenKind;

impl Parser<'_> {
    /// `namespace a::b { … }`, `namespace { … }`, `inline namespace a { … }`, `namespace a = b;`
    pub(super) fn namespace(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        let mut is_open = self.accept_word(words::INLINE);
        self.bump();
        self.skip_attributes()?;
        let mut path = Vec::new();
        while matches!(self.kind(), TokenKind::Identifier | TokenKind::ColonColon) {
            let token = self.bump();
            if token.kind != TokenKind::Identifier || token.symbol == words::INLINE {
                continue;
            }
            if !self.type_names.contains(&token.symbol) {
                self.namespaces.insert(token.symbol);
            }
            path.push(token.symbol);
        }
        if self.accept(TokenKind::Equal) {
            return self.namespace_alias(&path, items);
        }
        if path.is_empty() {
            is_open = true;
            path.push(words::NAMESPACE);
        }
        if self.is_transparent(&path) {
            return self.scope(items);
        }
        let mut inner = Vec::new();
        self.has_namespaces = true;
        let result = self.scope(&mut inner);
        items.push(Item::Namespace {
            path,
            is_open,
            items: inner,
        });
        result
    }

    fn namespace_alias(&mut self, name: &[Symbol], items: &mut Vec<Item>) -> Parse<()> {
        let mut target = Vec::new();
        self.accept(TokenKind::ColonColon);
        while self.at(TokenKind::Identifier) {
            target.push(self.bump().symbol);
            self.accept(TokenKind::ColonColon);
        }
        self.expect(TokenKind::Semicolon, "after the namespace")?;
        let Some(&name) = name.last() else {
            return Ok(());
        };
        if self.is_transparent(&target) {
            self.transparent_namespaces.insert(name);
        } else {
            items.push(Item::NamespaceAlias { name, target });
        }
        Ok(())
    }

    /// `using namespace a;`, `using a::f, b::g;`
    pub(super) fn using(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        self.bump();
        let is_directive = self.accept_word(words::NAMESPACE);
        loop {
            self.accept_word(words::TYPENAME);
            let is_absolute = self.accept(TokenKind::ColonColon);
            let mut path = self.qualifier();
            if self.at(TokenKind::Identifier) {
                let name = if self.at_word(words::OPERATOR) {
                    self.operator_name()?
                } else {
                    self.bump().symbol
                };
                if is_directive {
                    path.push(name);
                    // Of the host's namespaces nothing was seen.
                    if self.namespaces.contains(&path[0]) && !self.is_transparent(&path) {
                        items.push(Item::UsingNamespace(path));
                    }
                } else if !path.is_empty() || is_absolute {
                    let target = self.qualified(&path, is_absolute, name);
                    if target != name {
                        items.push(Item::Using { name, target });
                    }
                }
            }
            if !self.accept(TokenKind::Comma) {
                break;
            }
        }
        // `using host::type::name;` is none of ours.
        if !self.at(TokenKind::Semicolon) {
            self.skip_declaration();
            return Ok(());
        }
        self.bump();
        Ok(())
    }

    /// Takes `a::b::` before a name.
    pub(super) fn qualifier(&mut self) -> Vec<Symbol> {
        let mut path = Vec::new();
        while self.namespace_prefix(0) > 0 {
            path.push(self.bump().symbol);
            self.bump();
        }
        path
    }

    /// What is declared with namespaces before its name.
    pub(super) fn inside(&self, path: Vec<Symbol>, items: Vec<Item>) -> Vec<Item> {
        if path.is_empty() || self.is_transparent(&path) {
            return items;
        }
        vec![Item::Namespace {
            path,
            is_open: false,
            items,
        }]
    }

    /// Whether the names of this namespace are the program's own: those of the library are not kept apart.
    fn is_transparent(&self, path: &[Symbol]) -> bool {
        path.first()
            .is_some_and(|first| self.transparent_namespaces.contains(first))
    }

    /// The name that stands for `path::name`.
    pub(super) fn qualified(&mut self, path: &[Symbol], is_absolute: bool, name: Symbol) -> Symbol {
        if self.is_transparent(path) || path.is_empty() && !(is_absolute && self.has_namespaces) {
            return name;
        }
        // `::` before what is qualified already.
        let mut full = match self.qualified_names.get(&name) {
            Some(known) => known.clone(),
            None => QualifiedName {
                path: Vec::new(),
                is_absolute: false,
                name,
            },
        };
        full.path.splice(0..0, path.iter().copied());
        full.is_absolute |= is_absolute;
        let mut text = String::new();
        for part in &full.path {
            if *part != words::NAMESPACE {
                text.push_str(self.interner.text_of(*part));
            }
            text.push_str("::");
        }
        if full.is_absolute {
            text.insert_str(0, "::");
        }
        text.push_str(self.interner.text_of(full.name));
        let symbol = self.interner.intern(&text);
        self.qualified_names.insert(symbol, full);
        symbol
    }

    /// Puts the namespaces before the name of a type.
    pub(super) fn qualify_type(&mut self, ty: &mut TypeKind, path: &[Symbol], is_absolute: bool) {
        match ty {
            TypeKind::Named(name) | TypeKind::Template { name, .. } => {
                *name = self.qualified(path, is_absolute, *name);
            }
            TypeKind::Member { scope, .. } => {
                let scope: &mut TypeExpr = scope;
                self.qualify_type(&mut scope.kind, path, is_absolute);
            }
            _ => {}
        }
    }

    /// Puts the namespaces before the name that an expression begins with.
    pub(super) fn qualify(&mut self, value: &mut Expr, path: &[Symbol], is_absolute: bool) {
        match &mut value.kind {
            ExprKind::Name(name) | ExprKind::TemplateName(name, _) | ExprKind::Scoped(name, _) => {
                *name = self.qualified(path, is_absolute, *name);
            }
            ExprKind::TypeMember(ty, _) | ExprKind::Construct { ty, .. } => {
                self.qualify_type(&mut ty.kind, path, is_absolute);
            }
            _ => {}
        }
    }
}
