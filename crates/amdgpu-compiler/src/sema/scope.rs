//! Which entity a name stands for, here. Lookup, binding and leaving a scope cost constant time a name.

use super::Entity;
use crate::interner::Symbol;

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
}

/// Scopes taken away for a while.
pub(super) struct Detached(Vec<Vec<(Symbol, Entity)>>);

impl Detached {
    pub fn len(&self) -> usize {
        self.0.iter().map(Vec::len).sum()
    }
}

impl Scopes {
    pub fn new(symbols: usize) -> Self {
        Self {
            bindings: Vec::new(),
            innermost: vec![UNBOUND; symbols],
            starts: vec![0],
        }
    }

    pub fn find(&self, name: Symbol) -> Option<&Entity> {
        let index = *self.innermost.get(name.0 as usize)?;
        self.bindings
            .get(index as usize)
            .map(|binding| &binding.entity)
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
        let index = *self.innermost.get(name.0 as usize)? as usize;
        let start = self.starts.last().copied().unwrap_or(0);
        self.bindings
            .get(index)
            .filter(|_| index >= start)
            .map(|binding| &binding.entity)
    }

    pub fn bind(&mut self, name: Symbol, entity: Entity) {
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
        self.bindings[start..]
            .iter()
            .map(|binding| (binding.name, binding.entity.clone()))
            .collect()
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
