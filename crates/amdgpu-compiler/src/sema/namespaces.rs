//! Namespaces: what is declared in them, and which of them a name is looked for in.
//!
//! Names of the program outside of any namespace are bindings of the outermost scope; those inside of one are kept here. Operators are
//! the whole program's wherever they stand: their operands tell them apart.

use super::{Entity, Sema};
use crate::ast;
use crate::interner::{Symbol, words};
use crate::parser::QualifiedName;
use crate::source::Span;
use crate::types::{Type, TypeId};
use rustc_hash::FxHashMap;

/// A namespace; [`GLOBAL`] is what is in none.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct NamespaceId(u32);

pub(super) const GLOBAL: NamespaceId = NamespaceId(0);

#[derive(Debug, Default)]
struct Space {
    parent: u32,
    name: Option<Symbol>,
    /// Namespaces in it and other names for namespaces.
    children: Vec<(Symbol, NamespaceId)>,
    /// Namespaces whose names are found where those of this one are.
    opened: Vec<NamespaceId>,
    members: FxHashMap<Symbol, Entity>,
}

/// All namespaces of a program.
#[derive(Debug)]
pub(super) struct Namespaces {
    spaces: Vec<Space>,
    qualified: FxHashMap<Symbol, QualifiedName>,
}

impl Namespaces {
    pub fn new(qualified: FxHashMap<Symbol, QualifiedName>) -> Self {
        Self {
            spaces: vec![Space::default()],
            qualified,
        }
    }

    /// Whether all names are those of the outermost scope.
    pub fn is_trivial(&self) -> bool {
        self.spaces.len() == 1 && self.qualified.is_empty()
    }

    pub fn qualified(&self, name: Symbol) -> Option<&QualifiedName> {
        self.qualified.get(&name)
    }

    /// A name without the namespaces before it.
    pub fn plain(&self, name: Symbol) -> Symbol {
        self.qualified.get(&name).map_or(name, |full| full.name)
    }

    fn space(&self, id: NamespaceId) -> &Space {
        &self.spaces[id.0 as usize]
    }

    /// What a name stands for in a namespace itself.
    pub fn member(&self, space: NamespaceId, name: Symbol) -> Option<&Entity> {
        self.space(space).members.get(&name)
    }

    pub fn add_member(&mut self, space: NamespaceId, name: Symbol, entity: Entity) {
        self.spaces[space.0 as usize].members.insert(name, entity);
    }

    /// The namespace around; none around the program.
    pub fn parent(&self, space: NamespaceId) -> Option<NamespaceId> {
        (space != GLOBAL).then(|| NamespaceId(self.space(space).parent))
    }

    /// A namespace and those whose names are found in it.
    pub fn with_opened(&self, space: NamespaceId) -> Vec<NamespaceId> {
        let mut found = vec![space];
        let mut next = 0;
        while let Some(&space) = found.get(next) {
            for &opened in &self.space(space).opened {
                if !found.contains(&opened) {
                    found.push(opened);
                }
            }
            next += 1;
        }
        found
    }

    fn child(&self, space: NamespaceId, name: Symbol) -> Option<NamespaceId> {
        let spaces = self.with_opened(space);
        let mut children = spaces.iter().flat_map(|&one| &self.space(one).children);
        children
            .find(|(child, _)| *child == name)
            .map(|(_, child)| *child)
    }

    /// The namespace `path` means inside of `from`.
    pub fn find(
        &self,
        from: NamespaceId,
        path: &[Symbol],
        is_absolute: bool,
    ) -> Option<NamespaceId> {
        let Some((&first, rest)) = path.split_first() else {
            return Some(GLOBAL);
        };
        let mut around = Some(if is_absolute { GLOBAL } else { from });
        let mut found = None;
        while let (Some(space), None) = (around, found) {
            found = self.child(space, first);
            around = self.parent(space);
        }
        rest.iter()
            .try_fold(found?, |space, &name| self.child(space, name))
    }

    /// The namespace that `namespace path {` inside of `space` goes on with, or begins.
    fn enter(&mut self, space: NamespaceId, path: &[Symbol]) -> NamespaceId {
        path.iter().fold(space, |space, &name| {
            let children = &self.space(space).children;
            if let Some((_, known)) = children.iter().find(|(child, _)| *child == name) {
                return *known;
            }
            let id = NamespaceId(self.spaces.len() as u32);
            self.spaces.push(Space {
                parent: space.0,
                name: Some(name),
                ..Space::default()
            });
            self.spaces[space.0 as usize].children.push((name, id));
            id
        })
    }

    pub fn open(&mut self, space: NamespaceId, opened: NamespaceId) {
        let list = &mut self.spaces[space.0 as usize].opened;
        if opened != space && !list.contains(&opened) {
            list.push(opened);
        }
    }

    /// Names of a namespace and those around it, outer ones first; those without a name are left out.
    fn path(&self, space: NamespaceId) -> Vec<Symbol> {
        let mut path: Vec<Symbol> = std::iter::successors(Some(space), |&space| self.parent(space))
            .filter_map(|space| self.space(space).name)
            .filter(|name| *name != words::NAMESPACE)
            .collect();
        path.reverse();
        path
    }

    /// Namespaces that have a member of this name.
    fn spaces_with(&self, name: Symbol) -> impl Iterator<Item = NamespaceId> + '_ {
        let all = (0..self.spaces.len()).map(|index| NamespaceId(index as u32));
        all.filter(move |&space| self.member(space, name).is_some())
    }
}

/// Whether a function is one of the operators, which belong to no namespace.
pub(super) fn is_operator(name: Symbol) -> bool {
    (words::OPERATOR_ADD..=words::ASSIGN_XOR).contains(&name) || name == words::OPERATOR_ARROW
}

impl<'a> Sema<'a> {
    /// Namespaces and `using`, outside of functions and inside. Tells whether the item was one.
    pub(super) fn namespace_item(&mut self, item: &'a ast::Item) -> bool {
        match item {
            ast::Item::Namespace {
                path,
                is_open,
                items,
            } => {
                let outer = self.scopes.namespace();
                let inner = self.scopes.spaces.enter(outer, path);
                if *is_open {
                    self.scopes.spaces.open(outer, inner);
                }
                let outer = self.scopes.set_namespace(inner);
                for item in items {
                    self.item(item);
                }
                self.scopes.set_namespace(outer);
            }
            ast::Item::NamespaceAlias { name, target } => {
                let here = self.scopes.namespace();
                if let Some(target) = self.scopes.spaces.find(here, target, false) {
                    let space = &mut self.scopes.spaces.spaces[here.0 as usize];
                    space.children.push((*name, target));
                }
            }
            ast::Item::UsingNamespace(path) => {
                let here = self.scopes.namespace();
                if let Some(opened) = self.scopes.spaces.find(here, path, false) {
                    self.scopes.open(opened);
                }
            }
            // What is not there belongs to the host.
            ast::Item::Using { name, target } => {
                if let Some(entity) = self.scopes.find(*target).cloned() {
                    self.scopes.bind(*name, entity);
                }
            }
            _ => return false,
        }
        true
    }

    /// The text of a name that is declared here, with the namespaces before it.
    pub(super) fn declared_text(&self, name: Symbol) -> String {
        let text = self.text(name);
        if !self.scopes.is_outermost() {
            return text.to_owned();
        }
        self.text_in(self.scopes.namespace(), text)
    }

    fn text_in(&self, space: NamespaceId, text: &str) -> String {
        let mut full = String::new();
        for part in self.scopes.spaces.path(space) {
            full.push_str(self.text(part));
            full.push_str("::");
        }
        full.push_str(text);
        full
    }

    /// Overload sets that a call of `name` chooses from, beside the first one that was found: those of namespaces that are open where the name
    /// was found, and of the namespaces of the arguments' types.
    pub(super) fn more_functions(
        &self,
        name: Symbol,
        first: Option<usize>,
        types: &[TypeId],
    ) -> Vec<usize> {
        let mut sets: Vec<usize> = first.into_iter().collect();
        let mut spaces = self.scopes.spaces_of(name);
        if self.scopes.spaces.qualified(name).is_none() {
            let of_types = types.iter().filter_map(|&ty| self.namespace_of(ty));
            spaces.extend(of_types);
        }
        let plain = self.scopes.spaces.plain(name);
        for space in spaces {
            if let Some(Entity::Functions(set)) = self.scopes.member(space, plain)
                && !sets.contains(set)
            {
                sets.push(*set);
            }
        }
        sets
    }

    /// The namespace of a struct, an enum, or what a pointer leads to.
    fn namespace_of(&self, mut ty: TypeId) -> Option<NamespaceId> {
        while let Type::Pointer { pointee, .. }
        | Type::Array {
            element: pointee, ..
        } = self.types.get(ty)
        {
            ty = pointee;
        }
        self.namespaces_of_types.get(&ty).copied()
    }

    /// `::name` where that is what `name` alone means: what is built in is found by its name.
    pub(super) fn plain_name(&self, name: Symbol) -> Symbol {
        let plain = match self.scopes.spaces.qualified(name) {
            Some(full) if full.path.is_empty() => full.name,
            _ => return name,
        };
        let is_same = match (self.scopes.find(name), self.scopes.find(plain)) {
            (Some(Entity::Functions(one)), Some(Entity::Functions(other))) => one == other,
            (None, _) => true,
            _ => false,
        };
        if is_same { plain } else { name }
    }

    /// The functions of that name in whatever namespace, where only one has some.
    pub(super) fn only_functions(&self, name: Symbol) -> Option<usize> {
        let mut spaces = self.scopes.spaces.spaces_with(name);
        match (spaces.next(), spaces.next()) {
            (Some(space), None) => match self.scopes.member(space, name) {
                Some(Entity::Functions(set)) => Some(*set),
                _ => None,
            },
            _ => None,
        }
    }

    /// Whether `scope::name` can be `name`: of namespaces that the source does not have, those of libraries are passed over.
    pub(super) fn is_in_scope(&mut self, scope: Symbol, name: Symbol, span: Span) -> bool {
        let is_of_source = match self.scopes.find(name) {
            Some(Entity::Functions(set)) => !self.is_library_set(*set),
            Some(_) => !self.library_names.contains(&name),
            None => false,
        };
        if is_of_source && !self.is_of_host(scope) {
            let message = format!("there is no namespace or struct '{}'", self.text(scope));
            let hint = format!("did you mean '{}'?", self.text(name));
            self.error_hint(span, message, &hint);
        }
        !is_of_source
    }

    /// The name of a template with the namespaces it was declared in.
    pub(super) fn shown_name(&self, name: Symbol, environment: &[(Symbol, Entity)]) -> String {
        let mut found = environment.iter().filter_map(|binding| match binding {
            (words::NAMESPACE, Entity::Namespace(space)) => Some(*space),
            _ => None,
        });
        let space = found.next().unwrap_or(GLOBAL);
        self.text_in(space, self.text(name))
    }

    /// Keeps where a type was declared.
    pub(super) fn remember_namespace(&mut self, ty: TypeId) {
        let space = self.scopes.namespace();
        if space != GLOBAL {
            self.namespaces_of_types.insert(ty, space);
        }
    }

    /// How a name would have to be written that exists in another namespace.
    pub(super) fn name_elsewhere(&self, name: Symbol) -> Option<String> {
        let plain = self.scopes.spaces.plain(name);
        let spaces = &self.scopes.spaces;
        let mut found = spaces.spaces_with(plain).map(|space| spaces.path(space));
        let path = found.find(|path| !path.is_empty())?;
        let path: Vec<&str> = path.into_iter().map(|part| self.text(part)).collect();
        Some(format!("{}::{}", path.join("::"), self.text(plain)))
    }
}
