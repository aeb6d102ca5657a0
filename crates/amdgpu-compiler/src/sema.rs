//! The checker: names, types, conversions, overloads, constants. Syntax tree in, typed tree out; goes on after errors.
//!
//! User functions are all checked. Functions of the device library are checked when something calls them.

mod builtins;
mod calls;
mod constants;
mod conversions;
mod expressions;
mod functions;
mod initialisers;
mod operators;
mod scope;
mod statements;
mod type_names;

use std::collections::VecDeque;

use crate::ast;
use crate::diagnostics::Diagnostics;
use crate::hashing::{WordMap, WordSet};
use crate::hir::{self, Constant, FunctionId, GlobalId, LocalId};
use crate::interner::{Interner, Symbol};
use crate::parser;
use crate::source::Span;
use crate::types::{TypeId, TypeTable};
use scope::Scopes;

/// What a name stands for.
#[derive(Clone, Debug)]
enum Entity {
    Local(LocalId),
    Type(TypeId),
    Constant(Constant, TypeId),
    Global(GlobalId, bool),
    /// Index into the overload sets.
    Functions(usize),
}

/// A function as its declaration shows it.
#[derive(Clone, Debug)]
struct Signature<'a> {
    name: Symbol,
    span: Span,
    is_kernel: bool,
    is_library: bool,
    parameters: Vec<ParameterType>,
    return_type: TypeId,
    definition: Option<&'a ast::Function>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ParameterType {
    ty: TypeId,
    is_reference: bool,
    is_const: bool,
}

/// State of the function being checked.
#[derive(Debug, Default)]
struct Current {
    locals: Vec<hir::Local>,
    return_type: Option<TypeId>,
    loops: usize,
    switches: usize,
    is_kernel: bool,
}

/// The checker of one program.
pub struct Sema<'a> {
    interner: &'a Interner,
    diagnostics: &'a mut Diagnostics,
    types: TypeTable,
    scopes: Scopes,
    overloads: Vec<Vec<FunctionId>>,
    signatures: Vec<Signature<'a>>,
    checked: WordMap<FunctionId, usize>,
    wanted: VecDeque<FunctionId>,
    program: hir::Program,
    current: Current,
    host_names: &'a WordSet<Symbol>,
    enum_values: WordMap<(TypeId, Symbol), (Constant, TypeId)>,
    declared_structs: WordSet<TypeId>,
    in_library: bool,
    /// Names of the current function that were said to be unknown; once is enough.
    unknown_names: WordSet<Symbol>,
}

impl<'a> Sema<'a> {
    /// Checks `program` together with the device library.
    pub fn check(
        library: &'a parser::Program,
        program: &'a parser::Program,
        interner: &'a Interner,
        diagnostics: &'a mut Diagnostics,
    ) -> (hir::Program, TypeTable) {
        let mut sema = Sema {
            interner,
            diagnostics,
            types: TypeTable::new(),
            scopes: Scopes::new(interner.len()),
            overloads: Vec::new(),
            signatures: Vec::new(),
            checked: WordMap::default(),
            wanted: VecDeque::new(),
            program: hir::Program::default(),
            current: Current::default(),
            host_names: &program.host_names,
            enum_values: WordMap::default(),
            declared_structs: WordSet::default(),
            in_library: true,
            unknown_names: WordSet::default(),
        };
        for item in &library.items {
            sema.item(item);
        }
        sema.in_library = false;
        for item in &program.items {
            sema.item(item);
        }
        for index in 0..sema.signatures.len() {
            let signature = &sema.signatures[index];
            if !signature.is_library && signature.definition.is_some() {
                sema.want(FunctionId(index as u32));
            }
        }
        while let Some(function) = sema.wanted.pop_front() {
            if sema.diagnostics.is_full() {
                break;
            }
            sema.function_body(function);
        }
        (sema.program, sema.types)
    }

    /// Asks for a function's body to be checked and compiled.
    fn want(&mut self, function: FunctionId) {
        if let std::collections::hash_map::Entry::Vacant(e) = self.checked.entry(function) {
            e.insert(usize::MAX);
            self.wanted.push_back(function);
        }
    }

    fn item(&mut self, item: &'a ast::Item) {
        match item {
            ast::Item::Function(function) => self.declare_function(function),
            ast::Item::Variable(variable) => self.global_variable(variable),
            other => self.type_item(other),
        }
    }

    fn text(&self, symbol: Symbol) -> &'a str {
        self.interner.text_of(symbol)
    }

    fn error(&mut self, span: Span, message: impl Into<String>) {
        self.diagnostics.error(span, message, None);
    }

    fn error_hint(&mut self, span: Span, message: impl Into<String>, hint: &str) {
        self.diagnostics.error(span, message, Some(hint));
    }

    fn refuse(&mut self, span: Span, feature: &str) {
        self.diagnostics.unsupported(
            span,
            format!("{feature} is not supported"),
            Some("docs/language.md lists what is supported"),
        );
    }

    /// An expression in place of one that has an error.
    fn bad(span: Span) -> hir::Expr {
        hir::Expr {
            kind: hir::ExprKind::Integer(0),
            ty: TypeTable::ERROR,
            span,
        }
    }
}
