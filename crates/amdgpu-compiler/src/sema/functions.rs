//! Functions: declared all, bodies checked when wanted.

use super::{Current, Entity, ParameterType, Sema, Signature};
use crate::ast::{self, TypeKind};
use crate::hir::{
    Expr, ExprKind, Function, FunctionId, Initial, LaunchBounds, Parameter, Place, PlaceKind, Stmt,
    StmtKind,
};
use crate::signature::symbol_of;
use crate::source::Span;
use crate::types::{Type, TypeId, TypeTable};

/// Bytes of a kernel's parameters: what the argument segment of every device holds.
const MAX_ARGUMENT_BYTES: u64 = 4096;

/// Parameters of one kernel: what the 4 KiB argument segment of every device holds.
const MAX_PARAMETERS: usize = 512;

/// Memory for the variables of one function: half of what CUDA allows a work-item, since on the CPU they lie on a thread's stack.
const MAX_LOCAL_BYTES: u64 = 256 * 1024;

impl<'a> Sema<'a> {
    pub(super) fn declare_function(&mut self, function: &'a ast::Function) {
        if function.parameters.len() > MAX_PARAMETERS {
            self.error(
                function.span,
                format!("a function has at most {MAX_PARAMETERS} parameters"),
            );
            return;
        }
        let mut signature = self.signature_of(function, None);
        signature.environment = self.snapshot();
        if function.is_kernel {
            let full = self.declared_text(function.name);
            if full != self.text(function.name) {
                signature.aliases.push(full);
            }
        }
        if let Some(set) = self.global_set(function.name, function.span) {
            self.add_to_set(set, signature, function);
        }
    }

    /// What the declaration of a function shows, with names looked up here.
    pub(super) fn signature_of(
        &mut self,
        function: &'a ast::Function,
        owner: Option<TypeId>,
    ) -> Signature<'a> {
        let mut parameters: Vec<ParameterType> = Vec::with_capacity(function.parameters.len());
        for parameter in &function.parameters {
            match &parameter.pack {
                None => parameters.push(self.parameter_type(&parameter.ty)),
                Some(names) => {
                    let span = parameter.span;
                    let pack = self.expand(names, span, |sema| sema.parameter_type(&parameter.ty));
                    parameters.extend(pack);
                }
            }
        }
        let hides_object = owner.is_some()
            && matches!(
                function.role,
                ast::Role::Method | ast::Role::ConstMethod | ast::Role::Destructor
            );
        if let Some(owner) = owner.filter(|_| hides_object) {
            let this = ParameterType {
                ty: owner,
                is_reference: true,
                is_const: function.role == ast::Role::ConstMethod,
                is_forwarding: false,
                is_volatile: function.is_volatile,
            };
            parameters.insert(0, this);
        }
        let (mut returns_reference, mut returns_const, mut is_deduced) = (false, false, false);
        let return_type = match (&function.return_type.kind, function.role, owner) {
            (_, ast::Role::Constructor, Some(owner)) => owner,
            (TypeKind::Reference(target), _, _) => {
                returns_reference = true;
                returns_const = self.is_const(target);
                self.resolve(target)
            }
            (TypeKind::Auto, _, _) => {
                is_deduced = true;
                TypeTable::ERROR
            }
            _ => {
                let hidden = usize::from(hides_object);
                self.return_type(
                    function,
                    &parameters[hidden..],
                    owner.filter(|_| hides_object),
                )
            }
        };
        if function.is_kernel {
            self.check_kernel(function, &parameters, return_type);
        }
        Signature {
            name: function.name,
            span: function.span,
            is_kernel: function.is_kernel,
            is_library: self.in_library,
            parameters,
            return_type,
            definition: function.body.as_ref().map(|_| function),
            declaration: Some(function),
            returns_const,
            role: function.role,
            owner,
            returns_reference,
            is_deduced,
            is_lazy: false,
            shown: None,
            aliases: Vec::new(),
            environment: std::rc::Rc::default(),
            template: None,
            origin: None,
        }
    }

    /// The overload set of a name outside of functions.
    pub(super) fn global_set(
        &mut self,
        name: crate::interner::Symbol,
        span: Span,
    ) -> Option<usize> {
        let space = self.scopes.namespace();
        let detached = self.scopes.detach();
        let outer = self.scopes.set_namespace(space);
        let set = match self.scopes.find_here(name) {
            Some(Entity::Functions(set)) => Some(*set),
            Some(_) if space != super::namespaces::GLOBAL || !self.library_names.remove(&name) => {
                let text = self.text(name);
                self.error(
                    span,
                    format!("'{text}' is declared as something else already"),
                );
                None
            }
            _ => {
                self.overloads.push(Vec::new());
                let set = self.overloads.len() - 1;
                self.scopes.bind(name, Entity::Functions(set));
                Some(set)
            }
        };
        self.scopes.set_namespace(outer);
        self.scopes.attach(detached);
        set
    }

    pub(super) fn add_to_set(
        &mut self,
        set: usize,
        signature: Signature<'a>,
        function: &'a ast::Function,
    ) {
        let text = self.text(function.name);
        let same = self.overloads[set]
            .iter()
            .copied()
            .find(|&other| self.signatures[other.0 as usize].parameters == signature.parameters);
        if let Some(other) = same {
            self.declare_again(other, signature, function);
            return;
        }
        let has_kernel = self.overloads[set]
            .iter()
            .any(|other| self.signatures[other.0 as usize].is_kernel);
        let is_taken = !self.overloads[set].is_empty()
            && (function.is_kernel || has_kernel)
            && !self.is_library_set(set);
        let is_elsewhere = function.is_kernel
            && self
                .signatures
                .iter()
                .any(|other| other.is_kernel && other.name == function.name);
        if is_taken || is_elsewhere {
            self.error_hint(
                function.span,
                format!("two kernels named '{text}'"),
                "kernels are found by name, whatever namespace they are in, so each needs its own",
            );
            return;
        }
        self.overloads[set].push(FunctionId(self.signatures.len() as u32));
        self.signatures.push(signature);
    }

    pub(super) fn is_library_set(&self, set: usize) -> bool {
        !self.templates_of.contains_key(&set)
            && self.overloads[set]
                .iter()
                .all(|function| self.signatures[function.0 as usize].is_library)
    }

    fn declare_again(
        &mut self,
        other: FunctionId,
        signature: Signature<'a>,
        function: &'a ast::Function,
    ) {
        let text = self.text(function.name);
        let existing = &mut self.signatures[other.0 as usize];
        if existing.is_library && !signature.is_library {
            // The user's own version of a library function wins.
            *existing = signature;
            return;
        }
        if existing.return_type != signature.return_type {
            self.error_hint(
                function.span,
                format!("'{text}' is declared with two return types"),
                "overloads differ in their parameters",
            );
        } else if existing.definition.is_some() && signature.definition.is_some() {
            let what = if function.is_kernel {
                "kernel"
            } else {
                "function"
            };
            self.error_hint(
                function.span,
                format!("the {what} '{text}' is defined twice"),
                "remove or rename one of them",
            );
        } else if signature.definition.is_some() {
            let is_kernel = existing.is_kernel || signature.is_kernel;
            let declaration = existing.declaration;
            *existing = signature;
            existing.is_kernel = is_kernel;
            existing.declaration = declaration;
        }
    }

    fn parameter_type(&mut self, ty: &'a ast::TypeExpr) -> ParameterType {
        match &ty.kind {
            TypeKind::Reference(target) => {
                let id = self.resolve(target);
                ParameterType {
                    ty: id,
                    is_reference: true,
                    is_const: self.is_const(target),
                    is_forwarding: false,
                    is_volatile: target.has_volatile(),
                }
            }
            TypeKind::Forwarding(target) => {
                let id = self.resolve(target);
                ParameterType {
                    ty: id,
                    is_reference: true,
                    is_const: self.is_const(target),
                    is_forwarding: true,
                    is_volatile: target.has_volatile(),
                }
            }
            // `float a[]` and `float a[16]` as a parameter are pointers.
            TypeKind::Array { element, .. } => {
                let id = self.resolve(element);
                let ty = if id == TypeTable::ERROR {
                    id
                } else {
                    let (is_const, is_volatile) = (self.is_const(element), element.has_volatile());
                    self.types.qualified_pointer(id, is_const, is_volatile)
                };
                ParameterType {
                    ty,
                    is_reference: false,
                    is_const: false,
                    is_forwarding: false,
                    is_volatile: false,
                }
            }
            _ => {
                let id = self.resolve(ty);
                if id == TypeTable::VOID {
                    self.error(ty.span, "a parameter cannot be void");
                    return ParameterType {
                        ty: TypeTable::ERROR,
                        is_reference: false,
                        is_const: false,
                        is_forwarding: false,
                        is_volatile: false,
                    };
                }
                // Top-level const of a parameter is the function's own business.
                ParameterType {
                    ty: id,
                    is_reference: false,
                    is_const: false,
                    is_forwarding: false,
                    is_volatile: false,
                }
            }
        }
    }

    fn check_kernel(
        &mut self,
        function: &'a ast::Function,
        parameters: &[ParameterType],
        return_type: TypeId,
    ) {
        if return_type != TypeTable::VOID && return_type != TypeTable::ERROR {
            let text = self.types.text(return_type);
            self.error_hint(
                function.span,
                format!("a kernel returns void, and this one returns '{text}'"),
                "give results through a pointer parameter",
            );
        }
        for (parameter, ty) in function.parameters.iter().zip(parameters) {
            if ty.is_reference {
                self.error_hint(
                    parameter.span,
                    "a kernel parameter cannot be a reference",
                    "use a pointer, or pass the value",
                );
            }
        }
        let bytes = parameters.iter().fold(0u64, |end, parameter| {
            let start = end.next_multiple_of(self.types.align(parameter.ty).max(1));
            start.saturating_add(self.types.bytes(parameter.ty))
        });
        if bytes > MAX_ARGUMENT_BYTES {
            self.error_hint(
                function.span,
                format!("the parameters of this kernel take {bytes} bytes; the limit is {MAX_ARGUMENT_BYTES}"),
                "pass a pointer to memory that the host fills",
            );
        }
    }

    pub(super) fn function_body(&mut self, id: FunctionId) {
        if self.started.insert(id) {
            let origin = self.signatures[id.0 as usize].origin.clone();
            self.within(origin, |sema| sema.function_body_here(id));
        }
    }

    fn function_body_here(&mut self, id: FunctionId) {
        let signature = self.signatures[id.0 as usize].clone();
        let Some(function) = signature.definition else {
            return;
        };
        let Some(body) = &function.body else { return };
        self.current = Current {
            return_type: Some(signature.return_type),
            is_kernel: signature.is_kernel,
            is_constructor: signature.role == ast::Role::Constructor,
            returns_reference: signature.returns_reference,
            is_deduced: signature.is_deduced,
            ..Current::default()
        };
        self.unknown_names.clear();
        self.scopes.enter();
        self.bind_all(&signature.environment);
        self.scopes.enter();
        let (mut parameters, mut start) = (Vec::new(), Vec::new());
        self.declare_this(&signature, &mut parameters, &mut start);
        let hidden = parameters.len();
        let mut given = signature.parameters[hidden..].iter();
        let single = function.parameters.iter().filter(|one| one.pack.is_none());
        let rest = given.len().saturating_sub(single.count());
        for parameter in &function.parameters {
            if parameter.pack.is_some() {
                let pack: Vec<ParameterType> = given.by_ref().take(rest).copied().collect();
                self.declare_pack(parameter, &pack, &mut parameters);
                continue;
            }
            let Some(ty) = given.next() else { break };
            let is_restrict = matches!(
                parameter.ty.kind,
                TypeKind::Pointer {
                    is_restrict: true,
                    ..
                }
            );
            let name = parameter.name;
            let is_const = if ty.is_reference {
                ty.is_const
            } else {
                self.is_const(&parameter.ty)
            };
            let local = match name {
                Some(name) => self.declare_local(name, ty.ty, parameter.span, is_const),
                None => self.unnamed_local(ty.ty),
            };
            if ty.is_reference {
                self.current.locals[local.0 as usize].is_volatile = ty.is_volatile;
            } else if parameter.ty.has_volatile() {
                self.make_volatile(local);
            }
            if !ty.is_reference && self.has_any_destructor() && self.has_destructor(ty.ty) {
                self.refuse(
                    parameter.span,
                    "an object with a destructor passed by value",
                );
            }
            if ty.is_reference {
                let local = &mut self.current.locals[local.0 as usize];
                local.is_reference = true;
                local.is_in_memory = false;
            }
            parameters.push(Parameter { local, is_restrict });
        }
        self.current.parameters = self.current.locals.len();
        if signature.role == ast::Role::Constructor {
            self.constructor_start(function, &mut start);
        }
        let mut body = self.block(body);
        body.splice(0..0, start);
        if self.current.is_constructor {
            body.extend(self.constructed_object(signature.span));
        }
        let launch_bounds = function
            .launch_bounds
            .as_ref()
            .and_then(|bounds| self.launch_bounds(bounds));
        self.scopes.leave();
        self.scopes.leave();
        if signature.is_deduced {
            let entry = &mut self.signatures[id.0 as usize];
            entry.is_deduced = false;
            entry.return_type = if self.current.is_deduced {
                TypeTable::VOID
            } else {
                self.current.return_type.unwrap_or(TypeTable::VOID)
            };
        }
        let return_type = self.signatures[id.0 as usize].return_type;
        let return_type = if signature.returns_reference && return_type != TypeTable::ERROR {
            self.types.pointer(return_type, signature.returns_const)
        } else {
            return_type
        };
        if self.has_any_destructor()
            && !signature.returns_reference
            && signature.role != ast::Role::Constructor
            && self.has_destructor(return_type)
        {
            self.refuse(signature.span, "returning an object with a destructor");
        }
        self.check_local_memory(signature.span);
        let current = std::mem::take(&mut self.current);
        let display = signature
            .shown
            .unwrap_or_else(|| self.text(signature.name).to_owned());
        let name = symbol_of(&display);
        self.checked.insert(id, self.program.functions.len());
        self.program.functions.push(Function {
            name,
            display,
            aliases: self.signatures[id.0 as usize].aliases.clone(),
            id,
            is_kernel: signature.is_kernel,
            is_never_inlined: function.is_never_inlined,
            parameters,
            locals: current.locals,
            return_type,
            body,
            launch_bounds,
            span: signature.span,
        });
    }

    /// The object of a member function.
    fn declare_this(
        &mut self,
        signature: &Signature<'a>,
        parameters: &mut Vec<Parameter>,
        start: &mut Vec<Stmt>,
    ) {
        let Some(owner) = signature.owner else { return };
        let span = signature.span;
        let is_const = match signature.role {
            ast::Role::Method | ast::Role::Constructor | ast::Role::Destructor => false,
            ast::Role::ConstMethod => true,
            _ => return,
        };
        let local = self.unnamed_local(owner);
        let entry = &mut self.current.locals[local.0 as usize];
        "this".clone_into(&mut entry.name);
        entry.is_const = is_const;
        let kind = if signature.role == ast::Role::Constructor {
            start.push(Stmt {
                kind: StmtKind::Declare(local, Initial::None),
                span,
            });
            PlaceKind::Local(local)
        } else {
            entry.is_reference = true;
            entry.is_in_memory = false;
            parameters.push(Parameter {
                local,
                is_restrict: false,
            });
            let is_volatile = signature
                .parameters
                .first()
                .is_some_and(|this| this.is_volatile);
            let pointer = self.types.qualified_pointer(owner, is_const, is_volatile);
            PlaceKind::Dereference(Expr {
                kind: ExprKind::Load(Box::new(Place {
                    kind: PlaceKind::Local(local),
                    ty: pointer,
                    is_const: true,
                    span,
                })),
                ty: pointer,
                span,
            })
        };
        self.current.this = Some(Place {
            kind,
            ty: owner,
            is_const,
            span,
        });
        self.find_outer_this(span);
    }

    /// The `return` of a constructor: the new object.
    pub(super) fn constructed_object(&mut self, span: Span) -> Option<Stmt> {
        let this = self.current.this.clone()?;
        let ty = this.ty;
        Some(Stmt {
            kind: StmtKind::Return(Some(Expr {
                kind: ExprKind::Load(Box::new(this)),
                ty,
                span,
            })),
            span,
        })
    }

    fn check_local_memory(&mut self, span: Span) {
        let locals = self
            .current
            .locals
            .iter()
            .filter(|local| local.is_in_memory);
        let bytes = locals
            .map(|local| self.types.bytes(local.ty))
            .fold(0, u64::saturating_add);
        if bytes > MAX_LOCAL_BYTES {
            let message = format!(
                "the variables of this function take {bytes} bytes; the limit is {MAX_LOCAL_BYTES}"
            );
            self.error_hint(
                span,
                message,
                "pass a pointer to memory that the host allocates",
            );
        }
    }

    /// A variable that the source does not know of.
    pub(super) fn temporary(&mut self, ty: TypeId) -> crate::hir::LocalId {
        let local = self.unnamed_local(ty);
        self.current.locals[local.0 as usize].is_const = false;
        local
    }

    pub(super) fn unnamed_local(&mut self, ty: TypeId) -> crate::hir::LocalId {
        let local = crate::hir::LocalId(self.current.locals.len() as u32);
        let is_in_memory = matches!(self.types.get(ty), Type::Struct(_));
        self.current.locals.push(crate::hir::Local {
            name: String::new(),
            ty,
            is_reference: false,
            is_const: true,
            is_volatile: false,
            is_in_memory,
            align: 1,
            constant: None,
        });
        local
    }

    fn launch_bounds(
        &mut self,
        bounds: &'a (ast::Expr, Option<ast::Expr>),
    ) -> Option<LaunchBounds> {
        let mut number = |expr: &'a ast::Expr| match self.constant_integer(expr) {
            Some(value) if (1..=1024).contains(&value) => Some(value as u32),
            Some(_) => {
                self.error(expr.span, "launch bounds lie between 1 and 1024");
                None
            }
            None => {
                self.not_constant(expr.span, "a launch bound");
                None
            }
        };
        let max_threads = number(&bounds.0)?;
        let min_blocks = match &bounds.1 {
            Some(blocks) => number(blocks)?,
            None => 1,
        };
        Some(LaunchBounds {
            max_threads,
            min_blocks,
        })
    }
}
