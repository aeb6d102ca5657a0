//! Members of structs: functions, constructors, constants and types; and operators of structs.

use std::rc::Rc;

use super::conversions::Context;
use super::expressions::Checked;
use super::instances::Argument;
use super::templates::FunctionTemplate;
use super::{Entity, Environment, Sema, Signature};
use crate::ast::{self, BinaryOp, Item, Role};
use crate::hir::{Expr, ExprKind, FunctionId, Place, PlaceKind, Stmt, StmtKind};
use crate::interner::{Symbol, words};
use crate::source::Span;
use crate::types::{StructId, StructType, Type, TypeId, TypeTable};
use rustc_hash::FxHashMap;

/// What belongs to structs beside their fields.
#[derive(Debug, Default)]
pub(super) struct Members<'a> {
    /// Overload sets.
    functions: FxHashMap<(TypeId, Symbol), usize>,
    constructors: FxHashMap<TypeId, usize>,
    statics: FxHashMap<(TypeId, Symbol), Entity>,
    environments: FxHashMap<TypeId, Environment>,
    /// Names of the functions and of the types and constants of each struct.
    names: FxHashMap<TypeId, Vec<Symbol>>,
    static_names: FxHashMap<TypeId, Vec<Symbol>>,
    destructors: FxHashMap<TypeId, FunctionId>,
    /// `operator type()`.
    conversions: FxHashMap<TypeId, Vec<FunctionId>>,
    /// Initial values of fields, by offset.
    starts: FxHashMap<(TypeId, u64), &'a ast::Expr>,
}

impl Signature<'_> {
    /// Parameters that the source does not write.
    pub(super) fn hidden_count(&self) -> usize {
        usize::from(matches!(
            self.role,
            Role::Method | Role::ConstMethod | Role::Destructor
        ))
    }
}

impl<'a> Sema<'a> {
    /// A struct without fields yet.
    pub(super) fn new_struct(&mut self, name: String) -> TypeId {
        let index = StructId(self.types.structs.len() as u32);
        self.types.structs.push(StructType {
            name,
            fields: Vec::new(),
            bytes: 1,
            align: 1,
            is_union: false,
        });
        let id = self.types.intern(Type::Struct(index));
        self.remember_namespace(id);
        id
    }

    /// The parts of a struct. Types and constants come first, since fields may use them; then functions.
    pub(super) fn define_struct(
        &mut self,
        id: TypeId,
        structure: &'a ast::Struct,
        is_instance: bool,
    ) {
        if structure.members.is_empty() {
            self.layout(id, structure);
            if structure.fields.iter().any(|field| field.start.is_some()) {
                let environment = self.snapshot();
                self.members.environments.insert(id, environment);
            }
            return;
        }
        self.scopes.enter();
        for item in &structure.members {
            match item {
                Item::Alias { ty, .. } if ty.has_volatile() => {
                    self.refuse(ty.span, "a name for a volatile type inside of a struct");
                }
                Item::Alias { .. } | Item::Enum(_) | Item::Struct(_) => self.type_item(item),
                Item::Variable(variable) if variable.ty.is_const || variable.is_constexpr => {
                    self.global_variable(variable);
                }
                Item::Variable(variable) => {
                    self.refuse(variable.span, "a static field that is not constexpr");
                }
                _ => {}
            }
        }
        for (name, entity) in self.scopes.bindings_here() {
            self.members.statics.insert((id, name), entity);
            self.members.static_names.entry(id).or_default().push(name);
        }
        self.layout(id, structure);
        if structure.fields.iter().any(|field| field.is_transparent) {
            for base in self.bases_of(id) {
                self.bind_inherited(id, base.0);
            }
            for (name, entity) in self.statics_of(id) {
                self.scopes.bind(name, entity);
            }
            self.bind_inherited(id, id);
        }
        for field in structure
            .fields
            .iter()
            .filter(|field| !field.is_transparent)
        {
            self.scopes.bind(field.name, Entity::Member(id));
        }
        for item in &structure.members {
            if let Some(function) = member_function(item)
                && !matches!(
                    function.role,
                    Role::Free | Role::Constructor | Role::Destructor
                )
            {
                self.scopes.bind(function.name, Entity::Member(id));
            }
        }
        let environment = self.snapshot();
        self.members
            .environments
            .insert(id, Rc::clone(&environment));
        for item in &structure.members {
            match item {
                Item::Function(function) => {
                    self.declare_member(id, function, &environment, is_instance);
                }
                Item::Template(template) => {
                    if let Item::Function(function) = &template.item {
                        self.add_function_template(FunctionTemplate {
                            parameters: &template.parameters,
                            function,
                            owner: (function.role != Role::Free).then_some(id),
                            environment: Rc::clone(&environment),
                            has_instance: false,
                        });
                    }
                }
                Item::StaticAssert { .. } => self.type_item(item),
                _ => {}
            }
        }
        self.scopes.leave();
    }

    fn declare_member(
        &mut self,
        owner: TypeId,
        function: &'a ast::Function,
        environment: &Environment,
        is_instance: bool,
    ) {
        let is_free = function.role == Role::Free;
        let mut signature = self.signature_of(function, (!is_free).then_some(owner));
        signature.environment = Rc::clone(environment);
        signature.is_lazy = is_instance;
        signature.origin.clone_from(&self.origin);
        if function.role == Role::Destructor {
            let owner_text = self.types.text(owner);
            signature.shown = Some(format!("~{owner_text}"));
            signature.is_lazy = true;
            let id = FunctionId(self.signatures.len() as u32);
            self.signatures.push(signature);
            self.members.destructors.insert(owner, id);
            return;
        }
        if function.is_conversion {
            let id = FunctionId(self.signatures.len() as u32);
            let result = self.types.text(signature.return_type);
            signature.shown = Some(format!("operator {result}"));
            self.signatures.push(signature);
            self.members.conversions.entry(owner).or_default().push(id);
            return;
        }
        let set = if is_free {
            self.global_set(function.name, function.span)
        } else {
            let owner_text = self.types.text(owner);
            signature.shown = Some(if function.role == Role::Constructor {
                owner_text
            } else {
                format!("{owner_text}::{}", self.text(function.name))
            });
            self.note_copy(owner, &signature);
            Some(self.member_set(owner, function.name, function.role))
        };
        if let Some(set) = set {
            self.add_to_set(set, signature, function);
        }
    }

    pub(super) fn member_set(&mut self, owner: TypeId, name: Symbol, role: Role) -> usize {
        let next = self.overloads.len();
        let set = if role == Role::Constructor {
            *self.members.constructors.entry(owner).or_insert(next)
        } else {
            *self.members.functions.entry((owner, name)).or_insert(next)
        };
        if set == next {
            self.overloads.push(Vec::new());
            if role != Role::Constructor {
                self.members.names.entry(owner).or_default().push(name);
            }
        }
        set
    }

    /// Whether a struct or one of its bases has this function.
    pub(super) fn has_method(&self, owner: TypeId, name: Symbol) -> bool {
        self.method_owner(owner, name).is_some()
    }

    pub(super) fn has_own_method(&self, owner: TypeId, name: Symbol) -> bool {
        self.members.functions.contains_key(&(owner, name))
    }

    pub(super) fn has_method_template(&self, owner: TypeId, name: Symbol) -> bool {
        let set = self.members.functions.get(&(owner, name));
        set.is_some_and(|set| self.templates_of.contains_key(set))
    }

    pub(super) fn method_names(&self, owner: TypeId) -> Vec<Symbol> {
        self.members.names.get(&owner).cloned().unwrap_or_default()
    }

    pub(super) fn destructor_of(&self, ty: TypeId) -> Option<FunctionId> {
        self.members.destructors.get(&ty).copied()
    }

    pub(super) fn has_any_destructor(&self) -> bool {
        !self.members.destructors.is_empty()
    }

    pub(super) fn conversions_of(&self, ty: TypeId) -> &[FunctionId] {
        self.members.conversions.get(&ty).map_or(&[], Vec::as_slice)
    }

    pub(super) fn constructors_of(&self, ty: TypeId) -> &[FunctionId] {
        self.members
            .constructors
            .get(&ty)
            .map_or(&[], |&set| &self.overloads[set])
    }

    /// A type, constant or enum value inside of a struct or of its bases.
    pub(super) fn static_member(&self, owner: TypeId, name: Symbol) -> Option<Entity> {
        if let Some(entity) = self.members.statics.get(&(owner, name)) {
            return Some(entity.clone());
        }
        self.bases_of(owner)
            .into_iter()
            .find_map(|(base, _)| self.static_member(base, name))
    }

    /// The types and constants of a struct itself.
    pub(super) fn statics_of(&self, owner: TypeId) -> Vec<(Symbol, Entity)> {
        let names = self.members.static_names.get(&owner);
        names
            .into_iter()
            .flatten()
            .filter_map(|name| Some((*name, self.members.statics.get(&(owner, *name))?.clone())))
            .collect()
    }

    pub(super) fn note_start(&mut self, owner: TypeId, offset: u64, start: &'a ast::Expr) {
        self.members.starts.insert((owner, offset), start);
    }

    pub(super) fn has_starts(&self, owner: TypeId) -> bool {
        !self.members.starts.is_empty()
            && match self.types.get(owner) {
                Type::Struct(index) => self.types.structs[index.0 as usize]
                    .fields
                    .iter()
                    .any(|field| self.members.starts.contains_key(&(owner, field.offset))),
                _ => false,
            }
    }

    /// The initial value that the struct gives a field.
    pub(super) fn field_start(&mut self, owner: TypeId, offset: u64, ty: TypeId) -> Option<Expr> {
        let start = *self.members.starts.get(&(owner, offset))?;
        let environment = self
            .members
            .environments
            .get(&owner)
            .cloned()
            .unwrap_or_default();
        Some(self.default_value(&environment, start.span, |sema| {
            if let ast::ExprKind::List(values) = &start.kind {
                return sema.list_value(values, ty, start.span);
            }
            let value = sema.value(start);
            sema.convert(value, ty, Context::Initialisation)
        }))
    }

    pub(super) fn has_constructor(&self, ty: TypeId) -> bool {
        self.members.constructors.contains_key(&ty)
    }

    /// A struct made by a constructor; `None` when it has none that the arguments could mean.
    pub(super) fn constructed(
        &mut self,
        ty: TypeId,
        checked: Vec<Checked>,
        span: Span,
    ) -> Option<Expr> {
        let set = *self.members.constructors.get(&ty)?;
        let name = self.overloads[set]
            .first()
            .map(|function| self.signatures[function.0 as usize].name)
            .or_else(|| {
                let templates = self.templates_of.get(&set)?;
                Some(self.function_templates[*templates.first()?].function.name)
            })?;
        let result = self.resolve_call(name, &[set], None, checked, span);
        Some(self.loaded(result))
    }

    /// Whether `P()` calls a constructor.
    pub(super) fn has_default_constructor(&self, ty: TypeId) -> bool {
        let Some(set) = self.members.constructors.get(&ty).copied() else {
            return false;
        };
        self.overloads[set]
            .iter()
            .any(|&function| self.takes_nothing(function))
    }

    /// The object before `.` or `->`, when it is a struct; loads and errors are left to the field access otherwise.
    pub(super) fn object_of(
        &mut self,
        object: &'a ast::Expr,
        is_arrow: bool,
        span: Span,
    ) -> Option<Place> {
        let checked = self.check_expr(object);
        if is_arrow {
            let pointer = self.arrow(checked, span);
            let Type::Pointer {
                pointee, is_const, ..
            } = self.types.get(pointer.ty)
            else {
                if pointer.ty != TypeTable::ERROR {
                    let text = self.types.text(pointer.ty);
                    self.error_hint(
                        span,
                        format!("'->' needs a pointer, and this is '{text}'"),
                        "use '.'",
                    );
                }
                return None;
            };
            return Some(Place {
                kind: PlaceKind::Dereference(pointer),
                ty: pointee,
                is_const,
                span,
            });
        }
        let place = match checked {
            Checked::Place(place) => place,
            Checked::Value(value) => {
                let ty = value.ty;
                Place {
                    kind: PlaceKind::Temporary(value),
                    ty,
                    is_const: false,
                    span,
                }
            }
        };
        (place.ty != TypeTable::ERROR).then_some(place)
    }

    /// `object.name(arguments)`.
    pub(super) fn member_call(
        &mut self,
        object: Place,
        name: Symbol,
        written: Option<&[Argument]>,
        arguments: &'a [ast::Expr],
        span: Span,
    ) -> Checked {
        let owner = object.ty;
        if self.has_method(owner, name) {
            let checked = self.check_arguments(arguments);
            return self.method_of(owner, name, Some(object), written, checked, span);
        }
        if self.field_of(&object, name, span).is_some() {
            let field = self.member_of(&object, name, span);
            return self.call_object(field, arguments, span);
        }
        self.check_arguments(arguments);
        let owner_text = self.types.text(owner);
        let text = self.text(name);
        let hint = if self.is_of_host(name) {
            "mark it __device__ where it is defined"
        } else {
            "write a __device__ function that takes the struct, or add one to it"
        };
        self.error_hint(
            span,
            format!("'{owner_text}' has no member function '{text}'"),
            hint,
        );
        Checked::Value(Self::bad(span))
    }

    fn method_of(
        &mut self,
        owner: TypeId,
        name: Symbol,
        object: Option<Place>,
        written: Option<&[Argument]>,
        mut checked: Vec<Checked>,
        span: Span,
    ) -> Checked {
        let found = self.method_owner(owner, name);
        let Some(&set) = found.and_then(|(owner, _)| self.members.functions.get(&(owner, name)))
        else {
            return Checked::Value(Self::bad(span));
        };
        let object = match (object, found) {
            (Some(object), Some((base, _))) => Some(self.as_base(object, base)),
            (object, _) => object,
        };
        if !self.is_static_set(set) {
            let Some(object) = object else {
                let text = self.text(name);
                self.error_hint(
                    span,
                    format!("'{text}' needs an object"),
                    "call it as object.function(…)",
                );
                return Checked::Value(Self::bad(span));
            };
            checked.insert(0, Checked::Place(object));
        }
        self.resolve_call(name, &[set], written, checked, span)
    }

    fn is_static_set(&self, set: usize) -> bool {
        if let Some(function) = self.overloads[set].first() {
            return self.signatures[function.0 as usize].role == Role::StaticMethod;
        }
        let templates = self.templates_of.get(&set);
        templates
            .and_then(|templates| templates.first())
            .is_some_and(|&index| {
                self.function_templates[index].function.role == Role::StaticMethod
            })
    }

    /// A call, without an object, of a function of the struct one is in.
    pub(super) fn own_call(
        &mut self,
        owner: TypeId,
        name: Symbol,
        written: Option<&[Argument]>,
        arguments: &'a [ast::Expr],
        span: Span,
    ) -> Checked {
        let checked = self.check_arguments(arguments);
        let object = self.this_of(owner);
        self.method_of(owner, name, object, written, checked, span)
    }

    /// `S::name(arguments)`.
    pub(super) fn static_call(
        &mut self,
        owner: TypeId,
        name: Symbol,
        arguments: &'a [ast::Expr],
        span: Span,
    ) -> Checked {
        let checked = self.check_arguments(arguments);
        if owner == TypeTable::ERROR {
            return Checked::Value(Self::bad(span));
        }
        if self.has_method(owner, name) {
            let object = self.this_of(owner);
            return self.method_of(owner, name, object, None, checked, span);
        }
        let message = format!(
            "'{}' has no member function '{}'",
            self.types.text(owner),
            self.text(name)
        );
        self.error(span, message);
        Checked::Value(Self::bad(span))
    }

    /// A call of a lambda, or of another object with `operator()`.
    pub(super) fn call_object(
        &mut self,
        object: Checked,
        arguments: &'a [ast::Expr],
        span: Span,
    ) -> Checked {
        let checked = self.check_arguments(arguments);
        let place = match object {
            Checked::Place(place) => place,
            Checked::Value(value) => {
                let ty = value.ty;
                Place {
                    kind: PlaceKind::Temporary(value),
                    ty,
                    is_const: false,
                    span,
                }
            }
        };
        if place.ty == TypeTable::ERROR {
            return Checked::Value(Self::bad(span));
        }
        if self.has_method(place.ty, words::OPERATOR_CALL) {
            let owner = place.ty;
            return self.method_of(
                owner,
                words::OPERATOR_CALL,
                Some(place),
                None,
                checked,
                span,
            );
        }
        let text = self.types.text(place.ty);
        self.error_hint(
            span,
            format!("'{text}' cannot be called"),
            "functions, lambdas and structs with operator() can",
        );
        Checked::Value(Self::bad(span))
    }

    /// The object that members of `owner` named without one belong to.
    pub(super) fn this_of(&self, owner: TypeId) -> Option<Place> {
        [&self.current.this, &self.current.outer_this]
            .into_iter()
            .flatten()
            .find(|place| self.base_offset(place.ty, owner).is_some())
            .cloned()
            .map(|place| self.as_base(place, owner))
    }

    /// A field of the struct whose function this is, named without an object.
    pub(super) fn own_member(&mut self, owner: TypeId, name: Symbol, span: Span) -> Checked {
        if let Some(place) = self.this_of(owner) {
            return self.member_of(&place, name, span);
        }
        let text = self.text(name);
        self.error_hint(
            span,
            format!("'{text}' belongs to an object, and there is none here"),
            "static functions have no object",
        );
        Checked::Value(Self::bad(span))
    }

    /// `this`.
    pub(super) fn this_pointer(&mut self, span: Span) -> Checked {
        let place = self
            .current
            .outer_this
            .clone()
            .or_else(|| self.current.this.clone());
        let Some(place) = place else {
            self.error(span, "'this' stands outside of a member function");
            return Checked::Value(Self::bad(span));
        };
        let ty = self.pointer_to(&place);
        Checked::Value(Expr {
            kind: ExprKind::AddressOf(Box::new(place)),
            ty,
            span,
        })
    }

    /// The operator function for these operands, called; the operands come back when there is none.
    pub(super) fn operator_call(
        &mut self,
        name: Symbol,
        operands: Vec<Checked>,
        span: Span,
    ) -> Result<Checked, Vec<Checked>> {
        let is_user_type = |sema: &Self, operand: &Checked| {
            let ty = super::calls::type_of(operand);
            matches!(sema.types.get(ty), Type::Struct(_) | Type::Enum(_))
        };
        if !operands.iter().any(|operand| is_user_type(self, operand)) {
            return Err(operands);
        }
        let mut sets = Vec::new();
        if let Some(first) = operands.first() {
            let ty = super::calls::type_of(first);
            if let Some((owner, _)) = self.method_owner(ty, name) {
                sets.extend(self.members.functions.get(&(owner, name)).copied());
            }
        }
        if let Some(Entity::Functions(set)) = self.scopes.find(name) {
            sets.push(*set);
        }
        if sets.is_empty() {
            return Err(operands);
        }
        // An operator may change a temporary object, and enums have their own operators too.
        let is_enum = operands.iter().all(|operand| {
            !matches!(
                self.types.get(super::calls::type_of(operand)),
                Type::Struct(_)
            )
        });
        let converts = operands.iter().any(|operand| {
            let ty = super::calls::type_of(operand);
            !self.conversions_of(ty).is_empty()
        }) && !sets.iter().any(|set| self.templates_of.contains_key(set));
        // Those of the library's own types are no answer to a struct of the user's.
        let is_foreign = sets.iter().all(|&set| self.is_library_set(set));
        if (is_enum || is_foreign || converts) && !self.takes_operands(&sets, &operands) {
            return Err(operands);
        }
        let operands = operands
            .into_iter()
            .enumerate()
            .map(|(index, operand)| match operand {
                Checked::Value(value)
                    if index == 0 && matches!(self.types.get(value.ty), Type::Struct(_)) =>
                {
                    let (ty, span) = (value.ty, value.span);
                    Checked::Place(Place {
                        kind: PlaceKind::Temporary(value),
                        ty,
                        is_const: false,
                        span,
                    })
                }
                other => other,
            })
            .collect();
        Ok(self.resolve_call(name, &sets, None, operands, span))
    }

    fn takes_operands(&mut self, sets: &[usize], operands: &[Checked]) -> bool {
        let functions: Vec<FunctionId> = sets
            .iter()
            .flat_map(|&set| self.overloads[set].clone())
            .collect();
        functions
            .into_iter()
            .any(|function| self.fits_of(function, operands).is_some())
    }
}

pub(super) fn assignment(place: Place, value: Expr) -> Stmt {
    let (ty, span) = (place.ty, place.span);
    Stmt {
        kind: StmtKind::Expr(Expr {
            kind: ExprKind::Assign(Box::new(place), Box::new(value)),
            ty,
            span,
        }),
        span,
    }
}

fn member_function(item: &Item) -> Option<&ast::Function> {
    match item {
        Item::Function(function) => Some(function),
        Item::Template(template) => match &template.item {
            Item::Function(function) => Some(function),
            _ => None,
        },
        _ => None,
    }
}

/// The name of the function behind a binary operator.
pub(super) fn operator_name(operation: BinaryOp) -> Option<Symbol> {
    Some(match operation {
        BinaryOp::Add => words::OPERATOR_ADD,
        BinaryOp::Subtract => words::OPERATOR_SUBTRACT,
        BinaryOp::Multiply => words::OPERATOR_MULTIPLY,
        BinaryOp::Divide => words::OPERATOR_DIVIDE,
        BinaryOp::Remainder => words::OPERATOR_REMAINDER,
        BinaryOp::ShiftLeft => words::OPERATOR_SHIFT_LEFT,
        BinaryOp::ShiftRight => words::OPERATOR_SHIFT_RIGHT,
        BinaryOp::And => words::OPERATOR_AND,
        BinaryOp::Or => words::OPERATOR_OR,
        BinaryOp::Xor => words::OPERATOR_XOR,
        BinaryOp::Less => words::OPERATOR_LESS,
        BinaryOp::LessEqual => words::OPERATOR_LESS_EQUAL,
        BinaryOp::Greater => words::OPERATOR_GREATER,
        BinaryOp::GreaterEqual => words::OPERATOR_GREATER_EQUAL,
        BinaryOp::Equal => words::OPERATOR_EQUAL,
        BinaryOp::NotEqual => words::OPERATOR_NOT_EQUAL,
        BinaryOp::LogicalAnd | BinaryOp::LogicalOr => return None,
    })
}

/// The name of the function behind `+=` and its relatives.
pub(super) fn assignment_name(operation: BinaryOp) -> Option<Symbol> {
    Some(match operation {
        BinaryOp::Add => words::ASSIGN_ADD,
        BinaryOp::Subtract => words::ASSIGN_SUBTRACT,
        BinaryOp::Multiply => words::ASSIGN_MULTIPLY,
        BinaryOp::Divide => words::ASSIGN_DIVIDE,
        BinaryOp::Remainder => words::ASSIGN_REMAINDER,
        BinaryOp::ShiftLeft => words::ASSIGN_SHIFT_LEFT,
        BinaryOp::ShiftRight => words::ASSIGN_SHIFT_RIGHT,
        BinaryOp::And => words::ASSIGN_AND,
        BinaryOp::Or => words::ASSIGN_OR,
        BinaryOp::Xor => words::ASSIGN_XOR,
        _ => return None,
    })
}
