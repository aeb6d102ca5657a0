//! Memory of the module: constants, `__device__` and `__constant__` variables, static variables of functions.

use super::{Entity, Sema};
use crate::ast::{self, TypeKind};
use crate::hir::{Constant, Expr, ExprKind, Global, GlobalId, Initial};
use crate::ir::GlobalKind;
use crate::signature::symbol_of;
use crate::types::{ScalarType, Type, TypeId, TypeTable};

/// What every device has for `__constant__` variables of one module.
const MAX_CONSTANT_BYTES: u64 = 64 * 1024;
/// Memory of one module: half of what the loader of the CPU takes, code included.
const MAX_MODULE_BYTES: u64 = 128 * 1024 * 1024;

impl<'a> Sema<'a> {
    /// A variable outside of functions.
    pub(super) fn global_variable(&mut self, variable: &'a ast::Variable) {
        if let TypeKind::Reference(_) = variable.ty.kind {
            self.refuse(variable.span, "a global reference");
            return;
        }
        if variable.is_shared {
            self.shared_variable(variable);
            return;
        }
        let is_const = self.is_const(&variable.ty) || variable.is_constexpr;
        let kind = match () {
            () if is_const || self.in_library && variable.is_constant_memory => GlobalKind::Table,
            () if variable.is_constant_memory => GlobalKind::Constant,
            () if variable.is_device || self.in_library => GlobalKind::Variable,
            () => {
                self.refuse(variable.span, "a variable in __managed__ memory");
                return;
            }
        };
        if variable.is_extern && variable.start.is_none() {
            let space = self.scopes.namespace();
            self.declared_variables.push((space, variable));
            return;
        }
        self.module_variable(variable, kind, kind != GlobalKind::Table);
    }

    /// Refuses variables that were declared `extern` and that the source never defines.
    pub(super) fn check_declared_variables(&mut self) {
        for (space, variable) in std::mem::take(&mut self.declared_variables) {
            let entity = self.scopes.member(space, variable.name);
            if !matches!(entity, Some(Entity::Global(..) | Entity::Constant(..))) {
                self.refuse(variable.span, "a variable of another file (extern)");
            }
        }
    }

    /// A static variable of a function: one for all its calls.
    pub(super) fn static_variable(&mut self, variable: &'a ast::Variable) {
        let is_const =
            self.is_const(&variable.ty) || variable.is_constexpr || variable.is_constant_memory;
        let kind = if is_const {
            GlobalKind::Table
        } else {
            GlobalKind::Variable
        };
        if !self.module_variable(variable, kind, false) {
            self.declare_local(variable.name, TypeTable::ERROR, variable.span, false);
        }
    }

    /// Whether the variable could be made; if not, the error is told.
    fn module_variable(
        &mut self,
        variable: &'a ast::Variable,
        kind: GlobalKind,
        is_exported: bool,
    ) -> bool {
        let text = self.text(variable.name);
        if kind == GlobalKind::Table && variable.start.is_none() {
            self.error_hint(
                variable.span,
                format!("'{text}' is const and needs an initial value"),
                "write = value, or leave const out",
            );
            return false;
        }
        let (ty, initial) = self.typed_initial(variable);
        if ty == TypeTable::ERROR {
            return false;
        }
        if ty == TypeTable::VOID {
            self.error(
                variable.span,
                format!("the variable '{text}' cannot be void"),
            );
            return false;
        }
        let parts = match initial {
            Initial::Value(value)
                if kind == GlobalKind::Table && self.types.as_scalar(ty).is_some() =>
            {
                let Some(constant) = self.evaluate(&value) else {
                    self.not_constant(variable.span, "a global constant");
                    return false;
                };
                self.scopes
                    .bind(variable.name, Entity::Constant(constant, ty));
                return true;
            }
            Initial::Value(value) => vec![(0, value)],
            Initial::Parts(parts) => parts,
            Initial::None => Vec::new(),
        };
        if !self.fits_module(variable, kind, ty) {
            return false;
        }
        // Zeros are not kept, and large variables seldom start with anything else.
        let size = if parts.is_empty() {
            0
        } else {
            self.types.bytes(ty) as usize
        };
        let mut bytes = vec![0u8; size];
        for (offset, value) in &parts {
            if !self.store_constant(&mut bytes, *offset, value) {
                self.not_constant(value.span, "the initial value of a global variable");
                return false;
            }
        }
        let used = bytes.iter().rposition(|byte| *byte != 0);
        bytes.truncate(used.map_or(0, |last| last + 1));
        let name = if is_exported {
            symbol_of(text)
        } else {
            text.to_owned()
        };
        if is_exported
            && self
                .program
                .globals
                .iter()
                .any(|other| other.is_exported && other.name == name)
        {
            self.error_hint(
                variable.span,
                format!("two variables named '{text}'"),
                "the host finds them by name, whatever namespace they are in: give one of them another name",
            );
            return false;
        }
        let global = GlobalId(self.program.globals.len() as u32);
        let align = self.alignment(ty, variable.align.as_ref());
        let is_volatile = variable.ty.has_volatile();
        self.program.globals.push(Global {
            name,
            ty,
            kind,
            bytes,
            align,
            is_volatile,
            is_exported,
            is_library: self.in_library,
        });
        let is_const = kind != GlobalKind::Variable;
        self.scopes
            .bind(variable.name, Entity::Global(global, is_const));
        true
    }

    fn fits_module(&mut self, variable: &'a ast::Variable, kind: GlobalKind, ty: TypeId) -> bool {
        let is_same = |global: &&Global| {
            !global.is_library && (kind != GlobalKind::Constant || global.kind == kind)
        };
        let others = self.program.globals.iter().filter(is_same);
        let used: u64 = others.map(|global| self.types.bytes(global.ty)).sum();
        let total = used.saturating_add(self.types.bytes(ty));
        let (limit, what, hint) = if kind == GlobalKind::Constant {
            (
                MAX_CONSTANT_BYTES,
                "__constant__ variables",
                "use a __device__ variable, or pass a pointer",
            )
        } else {
            (
                MAX_MODULE_BYTES,
                "variables outside of functions",
                "pass a pointer to memory that the host allocates",
            )
        };
        if total > limit {
            let message = format!("the {what} take {total} bytes; the limit is {limit}");
            self.error_hint(variable.span, message, hint);
        }
        total <= limit
    }

    fn store_constant(&self, bytes: &mut [u8], offset: u64, value: &Expr) -> bool {
        if let ExprKind::Aggregate(parts) = &value.kind {
            return parts
                .iter()
                .all(|(inner, part)| self.store_constant(bytes, offset + inner, part));
        }
        if let ExprKind::Struct(fields) = &value.kind
            && let Type::Struct(index) = self.types.get(value.ty)
        {
            let types = &self.types.structs[index.0 as usize].fields;
            if types.iter().any(|field| field.bits.is_some()) {
                return false;
            }
            let offsets: Vec<u64> = self.types.structs[index.0 as usize]
                .fields
                .iter()
                .map(|field| field.offset)
                .collect();
            return fields
                .iter()
                .zip(offsets)
                .all(|(field, inner)| self.store_constant(bytes, offset + inner, field));
        }
        if matches!(value.kind, ExprKind::Null) {
            return true;
        }
        let Some(scalar) = self.types.representation(value.ty) else {
            return false;
        };
        let Some(constant) = self.evaluate(value) else {
            return false;
        };
        let bits = match (constant, scalar) {
            (Constant::Float(value), ScalarType::Float) => u64::from((value as f32).to_bits()),
            (Constant::Float(value), ScalarType::Half | ScalarType::BFloat16) => {
                u64::from(crate::narrow_float::bits(scalar, value))
            }
            (Constant::Float(value), _) => value.to_bits(),
            (Constant::Integer(value), _) => value as u64,
        };
        let size = scalar.bytes() as usize;
        bytes[offset as usize..offset as usize + size].copy_from_slice(&bits.to_le_bytes()[..size]);
        true
    }
}
