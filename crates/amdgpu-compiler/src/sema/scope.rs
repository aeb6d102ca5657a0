//! Which entity a name stands for, here. Lookup, binding and leaving a scope cost constant time a name.

use super::Entity;
use super::namespaces::{GLOBAL, NamespaceId, Namespaces, is_operator};
use crate::interner::{Symbol, words};

const UNBOUND: u32 = u32::MAX;

#[derive(Debug)]
struct Binding {
    name: Symbol,
    entity: Entity,
    /// The binding that this one hides.
    hidden: u32,
}

/// Nested scopes.
#[derive(Debug)]
pub(super) struct Scopes {
    bindings: Vec<Binding>,
    innermost: Vec<u32>,
    starts: Vec<usize>,
    pub spaces: Namespaces,
    /// The namespace of what is declared outside of functions. Inside of them it is a binding, which goes wherever the others go.
    outer_namespace: NamespaceId,
}

/// Scopes taken away for a while.
pub(super) struct Detached(Vec<Vec<(Symbol, Entity)>>);

impl Detached {
    pub fn len(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }
}

impl Scopes {
    pub fn new(symbols: usize, spaces: Namespaces) -> Self {
        Self {
            bindings: Vec::new(),
            innermost: vec![UNBOUND; symbols],
            starts: vec![0],
            spaces,
            outer_namespace: GLOBAL,
        }
    }

    pub fn find(&self, name: Symbol) -> Option<&Entity> {
        let entity = self.find_anywhere(name);
        if self.spaces.is_trivial() || self.find_inner(name).is_some() {
            return entity;
        }
        let plain = self.spaces.plain(name);
        self.spaces_of(name)
            .into_iter()
            .find_map(|space| self.member(space, plain))
    }

    /// The innermost binding.
    fn find_anywhere(&self, name: Symbol) -> Option<&Entity> {
        let index = *self.innermost.get(name.0 as usize)?;
        self.bindings
            .get(index as usize)
            .map(|binding| &binding.entity)
    }

    /// What is declared in a namespace, or outside of all.
    pub fn member(&self, space: NamespaceId, name: Symbol) -> Option<&Entity> {
        if space != GLOBAL {
            return self.spaces.member(space, name);
        }
        let mut index = *self.innermost.get(name.0 as usize)?;
        let inner = self.starts.get(1).copied().unwrap_or(usize::MAX);
        while index != UNBOUND && index as usize >= inner {
            index = self.bindings[index as usize].hidden;
        }
        self.bindings
            .get(index as usize)
            .map(|binding| &binding.entity)
    }

    /// Namespaces that a name is found in: where it is qualified with one, that and what is open in it; else the nearest around that has it, with
    /// what is open there. None where there is no such name.
    pub fn spaces_of(&self, name: Symbol) -> Vec<NamespaceId> {
        let has = |spaces: &[NamespaceId], name| {
            let mut found = spaces.iter().map(|&space| self.member(space, name));
            found.any(|entity| entity.is_some())
        };
        if let Some(full) = self.spaces.qualified(name) {
            let space = self
                .spaces
                .find(self.namespace(), &full.path, full.is_absolute);
            return space.map_or_else(Vec::new, |space| self.spaces.with_opened(space));
        }
        let mut around = Some(self.namespace());
        while let Some(space) = around {
            let mut spaces = self.spaces.with_opened(space);
            around = self.spaces.parent(space);
            if around.is_none() {
                let opened = self.opened().flat_map(|one| self.spaces.with_opened(one));
                spaces.extend(opened);
            }
            if has(&spaces, name) {
                return spaces;
            }
        }
        Vec::new()
    }

    /// The namespace of what is being checked.
    pub fn namespace(&self) -> NamespaceId {
        match self.find_inner(words::NAMESPACE) {
            Some(Entity::Namespace(space)) => *space,
            _ => self.outer_namespace,
        }
    }

    /// Goes on in another namespace, outside of functions, and tells in which it was.
    pub fn set_namespace(&mut self, space: NamespaceId) -> NamespaceId {
        std::mem::replace(&mut self.outer_namespace, space)
    }

    /// `using namespace`, for the rest of the scope.
    pub fn open(&mut self, space: NamespaceId) {
        if self.starts.len() == 1 {
            self.spaces.open(self.outer_namespace, space);
        } else {
            self.bind(words::USING, Entity::Namespace(space));
        }
    }

    /// Namespaces that the functions being checked have opened, inner ones first.
    fn opened(&self) -> impl Iterator<Item = NamespaceId> + '_ {
        let first = self.innermost.get(words::USING.0 as usize).copied();
        let binding = |index: u32| self.bindings.get(index as usize);
        std::iter::successors(first.and_then(binding), move |one| binding(one.hidden)).filter_map(
            |one| match one.entity {
                Entity::Namespace(space) => Some(space),
                _ => None,
            },
        )
    }

    /// What the name stands for, unless that is bound in the outermost scope.
    pub fn find_inner(&self, name: Symbol) -> Option<&Entity> {
        let index = *self.innermost.get(name.0 as usize)? as usize;
        let start = *self.starts.get(1)?;
        self.bindings
            .get(index)
            .filter(|_| index >= start)
            .map(|binding| &binding.entity)
    }

    /// What the name stands for in the innermost scope alone.
    pub fn find_here(&self, name: Symbol) -> Option<&Entity> {
        if self.is_in_namespace(name) {
            return self.spaces.member(self.outer_namespace, name);
        }
        let index = *self.innermost.get(name.0 as usize)? as usize;
        let start = self.starts.last().copied().unwrap_or(0);
        self.bindings
            .get(index)
            .filter(|_| index >= start)
            .map(|binding| &binding.entity)
    }

    pub fn is_outermost(&self) -> bool {
        self.starts.len() == 1
    }

    /// Whether a name that is declared here belongs to a namespace.
    fn is_in_namespace(&self, name: Symbol) -> bool {
        self.starts.len() == 1 && self.outer_namespace != GLOBAL && !is_operator(name)
    }

    pub fn bind(&mut self, name: Symbol, entity: Entity) {
        if self.is_in_namespace(name) {
            self.spaces.add_member(self.outer_namespace, name, entity);
            return;
        }
        let index = name.0 as usize;
        if index >= self.innermost.len() {
            self.innermost.resize(index + 1, UNBOUND);
        }
        let hidden = std::mem::replace(&mut self.innermost[index], self.bindings.len() as u32);
        self.bindings.push(Binding {
            name,
            entity,
            hidden,
        });
    }

    pub fn enter(&mut self) {
        self.starts.push(self.bindings.len());
    }

    pub fn leave(&mut self) {
        let start = self.starts.pop().unwrap_or(0);
        while self.bindings.len() > start {
            if let Some(binding) = self.bindings.pop() {
                self.innermost[binding.name.0 as usize] = binding.hidden;
            }
        }
    }

    /// Takes away all scopes but the outermost, for checking what stands outside of the function being checked.
    pub fn detach(&mut self) -> Detached {
        let mut scopes = Vec::new();
        while self.starts.len() > 1 {
            let start = self.starts.pop().unwrap_or(0);
            let mut bindings = Vec::new();
            while self.bindings.len() > start {
                if let Some(binding) = self.bindings.pop() {
                    self.innermost[binding.name.0 as usize] = binding.hidden;
                    bindings.push((binding.name, binding.entity));
                }
            }
            bindings.reverse();
            scopes.push(bindings);
        }
        scopes.reverse();
        Detached(scopes)
    }

    /// Puts back what `detach` took.
    pub fn attach(&mut self, detached: Detached) {
        for bindings in detached.0 {
            self.enter();
            for (name, entity) in bindings {
                self.bind(name, entity);
            }
        }
    }

    /// All that is bound inside of the outermost scope, outer ones first.
    pub fn inner_bindings(&self) -> Vec<(Symbol, Entity)> {
        let start = self.starts.get(1).copied().unwrap_or(self.bindings.len());
        let space = self.namespace();
        let outer = (space != GLOBAL && self.find_inner(words::NAMESPACE).is_none())
            .then_some((words::NAMESPACE, Entity::Namespace(space)));
        let inner = self.bindings[start..]
            .iter()
            .map(|binding| (binding.name, binding.entity.clone()));
        outer.into_iter().chain(inner).collect()
    }

    /// The bindings that say which namespaces names are looked for in, outer ones first.
    pub fn namespace_bindings(&self) -> Vec<(Symbol, Entity)> {
        let mut bindings: Vec<(Symbol, Entity)> = self
            .opened()
            .map(|space| (words::USING, Entity::Namespace(space)))
            .collect();
        bindings.reverse();
        let space = self.namespace();
        if space != GLOBAL {
            bindings.push((words::NAMESPACE, Entity::Namespace(space)));
        }
        bindings
    }

    /// What the innermost scope binds.
    pub fn bindings_here(&self) -> Vec<(Symbol, Entity)> {
        let start = self.starts.last().copied().unwrap_or(0);
        self.bindings[start..]
            .iter()
            .map(|binding| (binding.name, binding.entity.clone()))
            .collect()
    }

    /// Names bound anywhere, for "did you mean".
    pub fn names(&self) -> impl Iterator<Item = Symbol> + '_ {
        self.bindings.iter().map(|binding| binding.name)
    }
}
