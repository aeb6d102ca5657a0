//! The checker: names, types, conversions, overloads, constants. Syntax tree in, typed tree out; goes on after errors.
//!
//! User functions are all checked. Functions of the device library are checked when something calls them.

mod access;
mod bases;
mod builtins;
mod calls;
mod candidates;
mod constants;
mod constructors;
mod conversions;
mod cooperation;
mod copies;
mod deduction;
mod destructors;
mod evaluation;
mod expressions;
mod functions;
mod globals;
mod initialisers;
mod instances;
mod lambdas;
mod lists;
mod loop_hints;
mod members;
mod messages;
mod namespaces;
mod operators;
mod packs;
mod ranges;
mod scope;
mod specialisations;
mod statements;
mod templates;
mod type_names;
mod user_conversions;
mod values;
mod volatile;
mod waves;

use std::collections::VecDeque;
use std::rc::Rc;

use crate::ast;
use crate::diagnostics::Diagnostics;
use crate::hir::{self, Constant, FunctionId, GlobalId, LocalId, SharedId};
use crate::interner::{Interner, Symbol};
use crate::parser;
use crate::source::Span;
use crate::types::{TypeId, TypeTable};
use instances::Origin;
use namespaces::{NamespaceId, Namespaces};
use rustc_hash::{FxHashMap, FxHashSet};
use scope::Scopes;

/// What a name stands for.
#[derive(Clone, Debug)]
enum Entity {
    Local(LocalId),
    Type(TypeId),
    Constant(Constant, TypeId),
    Global(GlobalId, bool),
    Shared(SharedId),
    /// Index into the overload sets.
    Functions(usize),
    /// A type that stands for `const` of it: an alias, or a template parameter.
    ConstType(TypeId),
    /// Index into the templates of structs and aliases.
    TypeTemplate(usize),
    /// Index into the templates of variables.
    VariableTemplate(usize),
    /// What a parameter pack stands for, element by element.
    Pack(Rc<Vec<Entity>>),
    /// A field or function of the struct whose member is being checked.
    Member(TypeId),
    /// A field of the lambda whose body is being checked.
    Captured {
        index: usize,
        is_reference: bool,
    },
    /// A variable around the lambda that it does not capture.
    NotCaptured,
    /// Where names are looked for, under a word that no name can have.
    Namespace(namespaces::NamespaceId),
}

/// What is bound around the body of a function, beside what the source declares outside of functions.
type Environment = Rc<Vec<(Symbol, Entity)>>;

/// A function as its declaration shows it.
#[allow(clippy::struct_excessive_bools)] // Each is a fact of its own.
#[derive(Clone, Debug)]
struct Signature<'a> {
    name: Symbol,
    span: Span,
    is_kernel: bool,
    is_library: bool,
    parameters: Vec<ParameterType>,
    return_type: TypeId,
    definition: Option<&'a ast::Function>,
    /// The first declaration, which has the default arguments.
    declaration: Option<&'a ast::Function>,
    returns_const: bool,
    role: ast::Role,
    /// The struct it is a member of.
    owner: Option<TypeId>,
    /// The result is the address of what is returned.
    returns_reference: bool,
    /// The return type is that of the first `return`, which was not seen yet.
    is_deduced: bool,
    /// Checked only when called: instances and their members.
    is_lazy: bool,
    /// How messages and launches call it, where that is not its name.
    shown: Option<String>,
    /// Other texts that ask for this kernel.
    aliases: Vec<String>,
    environment: Environment,
    /// The template it comes from.
    template: Option<usize>,
    /// Through which instances it came to be.
    origin: Option<Rc<Origin>>,
}

#[allow(clippy::struct_excessive_bools)] // Each is a fact of its own.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct ParameterType {
    ty: TypeId,
    is_reference: bool,
    is_const: bool,
    is_volatile: bool,
    /// `T&&`: values fit too.
    is_forwarding: bool,
}

/// State of the function being checked.
#[allow(clippy::struct_excessive_bools)] // Each is a fact of its own.
#[derive(Debug, Default)]
struct Current {
    locals: Vec<hir::Local>,
    /// How many of them are parameters.
    parameters: usize,
    return_type: Option<TypeId>,
    loops: usize,
    switches: usize,
    is_kernel: bool,
    /// The object of a member function; the new object of a constructor.
    this: Option<hir::Place>,
    /// Inside of a lambda in a member function: the object of that function.
    outer_this: Option<hir::Place>,
    is_constructor: bool,
    returns_reference: bool,
    /// The return type is still to be found.
    is_deduced: bool,
    /// Variables whose destructors are to be called, in the order of their declaration.
    cleanups: Vec<(LocalId, TypeId)>,
    /// For each loop and switch around: how many cleanups there were, and whether it is a loop.
    exits: Vec<(usize, bool)>,
}

/// A checked program.
pub struct Checked {
    pub program: hir::Program,
    pub types: TypeTable,
    /// Templates of kernels, as one would ask for them: `scale<T, N>`.
    pub template_kernels: Vec<String>,
}

/// The checker of one program.
pub struct Sema<'a> {
    interner: &'a Interner,
    diagnostics: &'a mut Diagnostics,
    types: TypeTable,
    scopes: Scopes,
    overloads: Vec<Vec<FunctionId>>,
    signatures: Vec<Signature<'a>>,
    checked: FxHashMap<FunctionId, usize>,
    wanted: VecDeque<FunctionId>,
    program: hir::Program,
    current: Current,
    host_names: &'a FxHashSet<Symbol>,
    enum_values: FxHashMap<(TypeId, Symbol), (Constant, TypeId)>,
    /// Of structs and enums that are declared in one.
    namespaces_of_types: FxHashMap<TypeId, NamespaceId>,
    declared_structs: FxHashSet<TypeId>,
    /// Those of the source that have their fields.
    defined_structs: FxHashSet<TypeId>,
    in_library: bool,
    /// Names of the library that the source has not made its own.
    library_names: FxHashSet<Symbol>,
    /// Constants of the file whose values only the host knows.
    host_constants: FxHashSet<Symbol>,
    /// Names of the current function that were said to be unknown; once is enough.
    unknown_names: FxHashSet<Symbol>,
    function_templates: Vec<templates::FunctionTemplate<'a>>,
    /// Of each overload set.
    templates_of: FxHashMap<usize, Vec<usize>>,
    type_templates: Vec<templates::TypeTemplate<'a>>,
    variable_templates: Vec<specialisations::VariableTemplate<'a>>,
    /// Inside of `decltype` and `sizeof`, where nothing is computed.
    unevaluated: u32,
    instances: instances::Instances,
    members: members::Members<'a>,
    copies: copies::Copies,
    /// `extern` ones, which may be defined later.
    declared_variables: Vec<(NamespaceId, &'a ast::Variable)>,
    started: FxHashSet<FunctionId>,
    origin: Option<Rc<Origin>>,
    /// Where the stack of this thread was when checking began.
    stack_start: usize,
    /// Taken so far by the evaluation of constexpr functions.
    evaluation_steps: std::cell::Cell<u32>,
    /// The limit that the newest evaluation met, for the message about what is not known.
    evaluation_limit: std::cell::Cell<Option<&'static str>>,
}

impl<'a> Sema<'a> {
    /// Checks `program` together with the device library; `roots` are functions of the library that are compiled in any case.
    pub fn check(
        library: &'a parser::Program,
        program: &'a parser::Program,
        roots: &[&str],
        interner: &'a Interner,
        diagnostics: &'a mut Diagnostics,
    ) -> Checked {
        let mut sema = Sema {
            interner,
            diagnostics,
            types: TypeTable::new(),
            scopes: Scopes::new(
                interner.len(),
                Namespaces::new(program.qualified_names.clone()),
            ),
            overloads: Vec::new(),
            signatures: Vec::new(),
            checked: FxHashMap::default(),
            wanted: VecDeque::new(),
            program: hir::Program::default(),
            current: Current::default(),
            host_names: &program.host_names,
            enum_values: FxHashMap::default(),
            namespaces_of_types: FxHashMap::default(),
            declared_structs: FxHashSet::default(),
            defined_structs: FxHashSet::default(),
            in_library: true,
            library_names: FxHashSet::default(),
            host_constants: FxHashSet::default(),
            unknown_names: FxHashSet::default(),
            function_templates: Vec::new(),
            templates_of: FxHashMap::default(),
            type_templates: Vec::new(),
            variable_templates: Vec::new(),
            unevaluated: 0,
            instances: instances::Instances::default(),
            members: members::Members::default(),
            copies: copies::Copies::default(),
            declared_variables: Vec::new(),
            started: FxHashSet::default(),
            origin: None,
            stack_start: instances::stack_position(),
            evaluation_steps: std::cell::Cell::new(0),
            evaluation_limit: std::cell::Cell::new(None),
        };
        for item in &library.items {
            sema.item(item);
        }
        sema.in_library = false;
        sema.library_names = sema.scopes.names().collect();
        for item in &program.items {
            sema.item(item);
        }
        sema.check_declared_variables();
        for index in 0..sema.signatures.len() {
            let signature = &sema.signatures[index];
            if !signature.is_library && !signature.is_lazy && signature.definition.is_some() {
                sema.want(FunctionId(index as u32));
            }
        }
        sema.want_library(roots);
        while let Some(function) = sema.wanted.pop_front() {
            if sema.diagnostics.is_full() {
                break;
            }
            sema.function_body(function);
        }
        Checked {
            template_kernels: sema.template_kernels(),
            program: sema.program,
            types: sema.types,
        }
    }

    /// Asks for a function's body to be checked and compiled.
    fn want(&mut self, function: FunctionId) {
        if let std::collections::hash_map::Entry::Vacant(e) = self.checked.entry(function) {
            e.insert(usize::MAX);
            self.wanted.push_back(function);
        }
    }

    fn want_library(&mut self, roots: &[&str]) {
        let found: Vec<FunctionId> = (0..self.signatures.len())
            .filter(|&index| {
                let signature = &self.signatures[index];
                signature.is_library && roots.contains(&self.text(signature.name))
            })
            .map(|index| FunctionId(index as u32))
            .collect();
        for function in found {
            self.want(function);
        }
    }

    fn item(&mut self, item: &'a ast::Item) {
        if self.namespace_item(item) {
            return;
        }
        match item {
            ast::Item::Function(function) => self.declare_function(function),
            ast::Item::Variable(variable) => self.file_variable(variable),
            ast::Item::Template(template) => self.declare_template(template, None),
            ast::Item::Instantiate {
                name,
                arguments,
                expression,
                span,
            } => self.instantiate_kernel(*name, arguments, expression.as_deref(), *span),
            other => self.type_item(other),
        }
    }

    /// A variable of the file. A plain constant that cannot be known while compiling is the host's.
    fn file_variable(&mut self, variable: &'a ast::Variable) {
        let mark = self.diagnostics.mark();
        self.global_variable(variable);
        let is_plain = !(variable.is_constexpr
            || variable.is_device
            || variable.is_constant_memory
            || variable.is_shared);
        let is_constant = self.is_const(&variable.ty);
        if is_plain && is_constant && !self.in_library && self.diagnostics.has_errors_since(mark) {
            self.diagnostics.forget(mark);
            self.host_constants.insert(variable.name);
        }
    }

    fn is_of_host(&self, name: Symbol) -> bool {
        let name = self.scopes.spaces.plain(name);
        self.host_names.contains(&name) || self.host_constants.contains(&name)
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
