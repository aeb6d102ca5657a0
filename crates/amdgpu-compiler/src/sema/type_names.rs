//! Types as written become types; structs get their layout (that of C), enums their values.

use super::{Entity, Sema};
use crate::ast::{self, TypeExpr, TypeKind};
use crate::hir::Constant;
use crate::interner::Symbol;
use crate::source::Span;
use crate::types::{EnumId, EnumType, MAX_OBJECT_BYTES, ScalarType, Type, TypeId, TypeTable};

impl<'a> Sema<'a> {
    pub(super) fn type_item(&mut self, item: &'a ast::Item) {
        if self.namespace_item(item) {
            return;
        }
        match item {
            ast::Item::Struct(structure) => self.structure(structure),
            ast::Item::Enum(enumeration) => self.enumeration(enumeration),
            ast::Item::Alias { name, ty } => {
                let id = self.resolve(ty);
                let entity = if self.is_const(ty) {
                    Entity::ConstType(id)
                } else {
                    Entity::Type(id)
                };
                self.bind_type(*name, entity, ty.span);
            }
            ast::Item::StaticAssert { condition, span } => match self.constant_integer(condition) {
                Some(0) => self.error(*span, "this static_assert fails"),
                Some(_) => {}
                None => self.not_constant(condition.span, "the condition of static_assert"),
            },
            ast::Item::Template(template) => self.declare_template(template, None),
            _ => {}
        }
    }

    fn bind_type(&mut self, name: Symbol, entity: Entity, span: Span) {
        match (self.scopes.find_here(name), &entity) {
            (Some(Entity::Type(existing)), Entity::Type(ty)) if existing == ty => {}
            // The user's own float4 hides that of the library.
            (Some(Entity::Type(_) | Entity::ConstType(_)), _)
                if self.in_library || self.scopes_are_global() =>
            {
                self.scopes.bind(name, entity);
            }
            (Some(_), _) => {
                let text = self.text(name);
                self.error(span, format!("'{text}' is declared twice in one scope"));
            }
            (None, _) => self.scopes.bind(name, entity),
        }
    }

    fn scopes_are_global(&self) -> bool {
        self.current.return_type.is_none()
    }

    pub(super) fn resolve(&mut self, ty: &'a TypeExpr) -> TypeId {
        match &ty.kind {
            TypeKind::Unknown => TypeTable::ERROR,
            TypeKind::Void => TypeTable::VOID,
            TypeKind::Scalar(scalar) => self.types.scalar(*scalar),
            TypeKind::Named(name) => match self.scopes.find(*name) {
                Some(Entity::Type(id) | Entity::ConstType(id)) => *id,
                Some(Entity::TypeTemplate(index)) => {
                    let index = *index;
                    self.type_instance(index, &[], ty.span)
                }
                _ => {
                    let text = self.text(*name);
                    let elsewhere = self
                        .name_elsewhere(*name)
                        .map(|elsewhere| format!("did you mean '{elsewhere}'?"));
                    self.error_hint(
                        ty.span,
                        format!("unknown type '{text}'"),
                        elsewhere
                            .as_deref()
                            .unwrap_or("declare it before this line"),
                    );
                    TypeTable::ERROR
                }
            },
            TypeKind::Template { name, arguments } => self.template_type(*name, arguments, ty.span),
            TypeKind::Member { scope, name } => {
                let owner = self.resolve(scope);
                match self.static_member(owner, *name) {
                    Some(Entity::Type(id) | Entity::ConstType(id)) => id,
                    _ if owner == TypeTable::ERROR => owner,
                    _ => {
                        let message = format!(
                            "'{}' has no type '{}'",
                            self.types.text(owner),
                            self.text(*name)
                        );
                        self.error(ty.span, message);
                        TypeTable::ERROR
                    }
                }
            }
            TypeKind::Pointer { pointee, .. } => {
                let id = self.resolve(pointee);
                if id == TypeTable::ERROR {
                    id
                } else {
                    let (is_const, is_volatile) = (self.is_const(pointee), pointee.has_volatile());
                    self.types.qualified_pointer(id, is_const, is_volatile)
                }
            }
            TypeKind::Array { element, length } => self.array(element, length.as_deref(), ty.span),
            TypeKind::Decltype(expr) => self.type_of_expr(expr).0,
            TypeKind::Auto => {
                self.error(
                    ty.span,
                    "'auto' needs an initial value to take its type from",
                );
                TypeTable::ERROR
            }
            TypeKind::Forwarding(_) => {
                self.refuse(ty.span, "an rvalue reference here");
                TypeTable::ERROR
            }
            TypeKind::Reference(_) => {
                self.refuse(ty.span, "a reference here");
                TypeTable::ERROR
            }
        }
    }

    /// The type that `Outer::name` stands for, where it is one.
    pub(super) fn type_of_member(&mut self, expr: &'a ast::Expr) -> Option<TypeId> {
        let (owner, name) = match &expr.kind {
            ast::ExprKind::TypeMember(owner, name) => (self.resolve(owner), *name),
            ast::ExprKind::Scoped(scope, name) => match self.scopes.find(*scope) {
                Some(Entity::Type(owner)) => (*owner, *name),
                _ => return None,
            },
            _ => return None,
        };
        match self.static_member(owner, name) {
            Some(Entity::Type(ty) | Entity::ConstType(ty)) => Some(ty),
            _ => None,
        }
    }

    /// Whether a type is written const, or is a name for a const type.
    pub(super) fn is_const(&self, ty: &TypeExpr) -> bool {
        ty.is_const
            || match &ty.kind {
                TypeKind::Named(name) => {
                    matches!(self.scopes.find(*name), Some(Entity::ConstType(_)))
                }
                TypeKind::Array { element, .. } => self.is_const(element),
                _ => false,
            }
    }

    fn array(
        &mut self,
        element: &'a TypeExpr,
        length: Option<&'a ast::Expr>,
        span: Span,
    ) -> TypeId {
        let element = self.resolve(element);
        let Some(length) = length else {
            self.error_hint(
                span,
                "this array needs a length",
                "write name[N] with a constant N",
            );
            return TypeTable::ERROR;
        };
        if element == TypeTable::ERROR {
            return element;
        }
        if element == TypeTable::VOID {
            self.error(span, "an array of void has no elements");
            return TypeTable::ERROR;
        }
        match self.constant_integer(length) {
            Some(count)
                if count > 0
                    && (count as u64).saturating_mul(self.types.bytes(element))
                        <= MAX_OBJECT_BYTES =>
            {
                self.types.intern(Type::Array {
                    element,
                    length: count as u64,
                })
            }
            Some(count) if count <= 0 => {
                self.error(
                    length.span,
                    format!("an array cannot have {count} elements"),
                );
                TypeTable::ERROR
            }
            Some(count) => {
                self.error(
                    length.span,
                    format!("an array of {count} elements is larger than {MAX_OBJECT_BYTES} bytes"),
                );
                TypeTable::ERROR
            }
            None => {
                self.not_constant(length.span, "the length of an array");
                TypeTable::ERROR
            }
        }
    }

    pub(super) fn not_constant(&mut self, span: Span, what: &str) {
        let limit = self.evaluation_limit.take();
        if self.diagnostics.has_error_at(span) {
            return;
        }
        match limit {
            Some(limit) => self.error_hint(
                span,
                format!("{what} cannot be worked out at compile time: {limit}"),
                "compute less in constexpr functions, or write the value down",
            ),
            None => self.error_hint(
                span,
                format!("{what} must be known at compile time"),
                "use a literal, #define, enum or constexpr",
            ),
        }
    }

    fn structure(&mut self, structure: &'a ast::Struct) {
        let known = match self.scopes.find_here(structure.name) {
            Some(Entity::Type(id))
                if self.declared_structs.contains(id) || self.defined_structs.contains(id) =>
            {
                Some(*id)
            }
            _ => None,
        };
        let id = known.unwrap_or_else(|| {
            let name = self.declared_text(structure.name);
            let id = self.new_struct(name);
            self.declared_structs.insert(id);
            self.scopes.bind(structure.name, Entity::Type(id));
            id
        });
        if !structure.is_declaration {
            // The source may have a struct of its own by the name of one of the library.
            if !self.in_library && !self.defined_structs.insert(id) {
                let text = self.text(structure.name);
                self.error_hint(
                    structure.span,
                    format!("the struct '{text}' is defined twice"),
                    "remove or rename one of them",
                );
                return;
            }
            self.define_struct(id, structure, self.origin.is_some());
        }
    }

    fn enumeration(&mut self, enumeration: &'a ast::Enum) {
        let underlying = match &enumeration.underlying {
            None => ScalarType::Int,
            Some(ty) => {
                let id = self.resolve(ty);
                match self.types.as_scalar(id) {
                    Some(scalar) if !scalar.is_float() => scalar,
                    _ => {
                        self.error(ty.span, "the values of an enum are integers");
                        ScalarType::Int
                    }
                }
            }
        };
        let name = enumeration
            .name
            .map_or_else(String::new, |name| self.declared_text(name));
        let index = EnumId(self.types.enums.len() as u32);
        self.types.enums.push(EnumType {
            name,
            underlying,
            is_scoped: enumeration.is_scoped,
        });
        let id = self.types.intern(Type::Enum(index));
        self.remember_namespace(id);
        if let Some(name) = enumeration.name {
            self.bind_type(name, Entity::Type(id), enumeration.span);
        }
        let mut next = 0i64;
        for (name, span, number) in &enumeration.values {
            if let Some(number) = number {
                match self.constant_integer(number) {
                    Some(value) => next = value,
                    None => self.not_constant(number.span, "the value of an enum"),
                }
            }
            let value = (Constant::Integer(underlying.wrap(next)), id);
            let is_again = self.enum_values.insert((id, *name), value).is_some();
            if is_again {
                let text = self.text(*name);
                self.error(*span, format!("the enum value '{text}' is declared twice"));
            } else if !enumeration.is_scoped {
                if self.scopes.find_here(*name).is_some() && !self.scopes_are_global() {
                    let text = self.text(*name);
                    self.error(*span, format!("'{text}' is declared twice in one scope"));
                }
                self.scopes.bind(*name, Entity::Constant(value.0, id));
            }
            next = next.wrapping_add(1);
        }
    }
}
