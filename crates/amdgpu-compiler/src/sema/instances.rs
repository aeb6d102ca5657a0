//! Instances of templates: their arguments, their limits, and the bodies checked on the spot.

use std::collections::HashMap;
use std::rc::Rc;

use super::{Entity, Environment, Sema};
use crate::hir::{Constant, Expr, FunctionId};
use crate::source::Span;
use crate::types::TypeId;

/// Instances made by instances made by …: what C++ compilers allow is 900 to 1024; a mistake shows long before.
const MAX_INSTANCE_DEPTH: u32 = 200;
/// Instances of one source.
const MAX_INSTANCES: usize = 10_000;
/// Work that an instance makes beside that of its body.
const INSTANCE_UNITS: usize = 200;
/// Stack that nested checks may use, a third of what a compile has, so that one more check of the deepest function fits.
const MAX_NESTED_STACK_BYTES: usize = 80 * 1024 * 1024;
/// Longest text of an instance's name; nested arguments would grow it without end.
const MAX_NAME_BYTES: usize = 400;
/// Names that may be put away and remembered, all instances together: what takes about a second.
const MAX_MOVED_NAMES: usize = 50_000_000;
/// Default arguments and initial values of fields that need others.
const MAX_DEFAULT_DEPTH: u32 = 64;
/// Instances shown with an error: the innermost ones and the outermost.
const MAX_SHOWN_INSTANCES: usize = 5;

/// An argument of a template.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Argument {
    Type(TypeId, /* is_const */ bool),
    Value(i64, TypeId),
}

impl Argument {
    pub fn entity(self) -> Entity {
        match self {
            Self::Type(ty, false) => Entity::Type(ty),
            Self::Type(ty, true) => Entity::ConstType(ty),
            Self::Value(value, ty) => Entity::Constant(Constant::Integer(value), ty),
        }
    }
}

/// An instance, and the one whose body asked for it.
#[derive(Debug)]
pub(super) struct Origin {
    shown: Rc<Vec<(String, Span)>>,
    depth: u32,
}

/// What was made already.
#[derive(Debug, Default)]
pub(super) struct Instances {
    pub functions: HashMap<(usize, Vec<Argument>), Option<FunctionId>>,
    pub types: HashMap<(usize, Vec<Argument>), TypeId>,
    pub variables: HashMap<(usize, Vec<Argument>), Entity>,
    /// The template and arguments of a struct.
    pub arguments: HashMap<TypeId, (usize, Vec<Argument>)>,
    count: usize,
    /// Names put away and remembered for the sake of instances.
    moved: usize,
    last_span: Span,
    /// Default values that are being checked for the sake of others.
    default_depth: u32,
    is_over_limit: bool,
}

/// About where the stack is.
pub(super) fn stack_position() -> usize {
    let here = 0u8;
    std::ptr::from_ref(&here).addr()
}

impl Sema<'_> {
    /// The text of an instance.
    pub(super) fn instance_text(&self, name: &str, arguments: &[Argument]) -> String {
        let texts: Vec<String> = arguments
            .iter()
            .map(|argument| match argument {
                Argument::Type(ty, true) => format!("const {}", self.types.text(*ty)),
                Argument::Type(ty, false) => self.types.text(*ty),
                Argument::Value(value, ty) if *ty == crate::types::TypeTable::BOOL => {
                    (*value != 0).to_string()
                }
                Argument::Value(value, _) => value.to_string(),
            })
            .collect();
        let mut text = format!("{name}<{}>", texts.join(", "));
        if text.len() > MAX_NAME_BYTES {
            let mut end = MAX_NAME_BYTES;
            while !text.is_char_boundary(end) {
                end -= 1;
            }
            text.truncate(end);
            text.push_str("…>");
        }
        text
    }

    /// The origin of an instance made here; `None`, with an error, when there are too many.
    pub(super) fn new_origin(&mut self, text: &str, span: Span) -> Option<Rc<Origin>> {
        let depth = self.origin.as_ref().map_or(0, |origin| origin.depth) + 1;
        crate::effort::spend(INSTANCE_UNITS);
        self.instances.count += 1;
        self.instances.last_span = span;
        if depth > MAX_INSTANCE_DEPTH || self.is_stack_short() {
            if !std::mem::replace(&mut self.instances.is_over_limit, true) {
                self.error_hint(
                    span,
                    format!("templates are nested more than {MAX_INSTANCE_DEPTH} instances deep"),
                    "an instance that ends the recursion may be missing",
                );
            }
            return None;
        }
        if self.instances.count > MAX_INSTANCES {
            if !std::mem::replace(&mut self.instances.is_over_limit, true) {
                self.error_hint(
                    span,
                    format!("more than {MAX_INSTANCES} instances of templates"),
                    "an instance that ends the recursion may be missing",
                );
            }
            return None;
        }
        let mut shown = vec![(text.to_owned(), span)];
        if let Some(origin) = &self.origin {
            shown.extend(origin.shown.iter().cloned());
            // The outermost one, which the user wrote, is the last.
            if shown.len() > MAX_SHOWN_INSTANCES {
                shown.remove(MAX_SHOWN_INSTANCES - 1);
            }
        }
        Some(Rc::new(Origin {
            shown: Rc::new(shown),
            depth,
        }))
    }

    pub(super) fn is_over_limit(&self) -> bool {
        self.instances.is_over_limit
    }

    pub(super) fn is_stack_short(&self) -> bool {
        self.stack_start.abs_diff(stack_position()) > MAX_NESTED_STACK_BYTES
    }

    /// Where the innermost instance was asked for.
    pub(super) fn origin_span(&self) -> Span {
        self.instances.last_span
    }

    fn count_moved(&mut self, names: usize) {
        self.instances.moved += names;
        if self.instances.moved > MAX_MOVED_NAMES
            && !std::mem::replace(&mut self.instances.is_over_limit, true)
        {
            let span = self.instances.last_span;
            self.error_hint(
                span,
                "too many templates and lambdas in functions with too many variables",
                "split the function",
            );
        }
    }

    /// What is bound here beside the declarations outside of functions.
    pub(super) fn snapshot(&mut self) -> Environment {
        if self.is_over_limit() {
            return Environment::default();
        }
        let bindings = self.scopes.inner_bindings();
        self.count_moved(bindings.len());
        Rc::new(bindings)
    }

    /// Checks a default argument or the initial value of a field, where its names mean what they mean at its place.
    pub(super) fn default_value(
        &mut self,
        environment: &Environment,
        span: Span,
        work: impl FnOnce(&mut Self) -> Expr,
    ) -> Expr {
        if self.instances.default_depth >= MAX_DEFAULT_DEPTH {
            self.error(span, "this default value needs itself");
            return Self::bad(span);
        }
        self.instances.default_depth += 1;
        let origin = self.origin.clone();
        let value = self.apart(origin, |sema| {
            sema.scopes.enter();
            sema.bind_all(environment);
            let value = work(sema);
            sema.scopes.leave();
            value
        });
        self.instances.default_depth -= 1;
        value
    }

    /// Runs `work` as part of an instance, outside of the function being checked.
    pub(super) fn apart<T>(
        &mut self,
        origin: Option<Rc<Origin>>,
        work: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let detached = self.scopes.detach();
        let outer = self.scopes.set_namespace(super::namespaces::GLOBAL);
        self.count_moved(detached.len());
        let current = std::mem::take(&mut self.current);
        let unknown_names = std::mem::take(&mut self.unknown_names);
        let result = self.within(origin, work);
        self.unknown_names = unknown_names;
        self.current = current;
        self.scopes.set_namespace(outer);
        self.scopes.attach(detached);
        result
    }

    /// Runs `work` as part of an instance.
    pub(super) fn within<T>(
        &mut self,
        origin: Option<Rc<Origin>>,
        work: impl FnOnce(&mut Self) -> T,
    ) -> T {
        let shown = origin
            .as_ref()
            .map_or_else(Rc::default, |origin| Rc::clone(&origin.shown));
        let shown = self.diagnostics.set_instances(shown);
        let origin = std::mem::replace(&mut self.origin, origin);
        let result = work(self);
        self.origin = origin;
        self.diagnostics.set_instances(shown);
        result
    }

    /// Checks the body of a function now, because its type or its value is needed.
    pub(super) fn check_now(&mut self, function: FunctionId, span: Span) {
        if self.started.contains(&function) {
            return;
        }
        if self.is_stack_short() {
            if !std::mem::replace(&mut self.instances.is_over_limit, true) {
                self.error_hint(
                    span,
                    "functions whose results are needed at compile time are nested too deep",
                    "give the functions a return type",
                );
            }
            return;
        }
        self.want(function);
        let origin = self.origin.clone();
        self.apart(origin, |sema| sema.function_body(function));
    }
}
