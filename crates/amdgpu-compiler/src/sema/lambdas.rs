//! Lambdas: structs whose fields are what they capture, with one function, `operator()`.

use std::rc::Rc;

use super::expressions::Checked;
use super::templates::FunctionTemplate;
use super::{Entity, Sema};
use crate::ast::{self, CaptureKind};
use crate::hir::{Expr, ExprKind, Place};
use crate::interner::{Symbol, words};
use crate::source::Span;
use crate::types::{Field, StructId, Type, TypeId, TypeTable};

/// A variable that the lambda keeps.
struct Kept {
    name: Symbol,
    value: Expr,
    is_reference: bool,
    /// One of several under a name, which is that of a pack.
    is_of_pack: bool,
}

impl<'a> Sema<'a> {
    pub(super) fn lambda(&mut self, lambda: &'a ast::Lambda, span: Span) -> Expr {
        let kept = self.captured(lambda, span);
        let ty = self.new_struct("lambda".to_owned());
        self.fill_lambda(ty, &kept);
        let mut environment = self.scopes.namespace_bindings();
        for &name in &lambda.all_names {
            if let Some(entity) = self.scopes.find_inner(name).cloned() {
                environment.push((name, self.seen_from_inside(entity)));
            }
        }
        let mut packs: Vec<(Symbol, Vec<Entity>)> = Vec::new();
        for (index, kept) in kept.iter().enumerate() {
            let entity = Entity::Captured {
                index,
                is_reference: kept.is_reference,
            };
            if !kept.is_of_pack {
                environment.push((kept.name, entity));
            } else if let Some((_, pack)) = packs.iter_mut().find(|pack| pack.0 == kept.name) {
                pack.push(entity);
            } else {
                packs.push((kept.name, vec![entity]));
            }
        }
        let packs = packs.into_iter();
        environment.extend(packs.map(|(name, pack)| (name, Entity::Pack(Rc::new(pack)))));
        let environment = Rc::new(environment);
        if lambda.templates.is_empty() {
            let origin = self.origin.clone();
            let mut signature = self.apart(origin, |sema| {
                sema.scopes.enter();
                sema.bind_all(&environment);
                let signature = sema.signature_of(&lambda.function, Some(ty));
                sema.scopes.leave();
                signature
            });
            signature.environment = environment;
            signature.is_lazy = true;
            signature.shown = Some("lambda".to_owned());
            signature.origin.clone_from(&self.origin);
            let set = self.member_set(ty, words::OPERATOR_CALL, lambda.function.role);
            self.add_to_set(set, signature, &lambda.function);
        } else {
            self.add_function_template(FunctionTemplate {
                parameters: &lambda.templates,
                function: &lambda.function,
                owner: Some(ty),
                environment,
                has_instance: false,
            });
        }
        Expr {
            kind: ExprKind::Struct(kept.into_iter().map(|kept| kept.value).collect()),
            ty,
            span,
        }
    }

    /// What a name around a lambda stands for inside of it.
    fn seen_from_inside(&self, entity: Entity) -> Entity {
        match entity {
            Entity::Local(local) => {
                let local = &self.current.locals[local.0 as usize];
                match local.constant {
                    Some(constant) if !local.is_reference => Entity::Constant(constant, local.ty),
                    _ => Entity::NotCaptured,
                }
            }
            Entity::Captured { .. } => Entity::NotCaptured,
            Entity::Pack(pack) => {
                let pack = pack.iter().cloned();
                Entity::Pack(Rc::new(
                    pack.map(|entity| self.seen_from_inside(entity)).collect(),
                ))
            }
            other => other,
        }
    }

    fn captured(&mut self, lambda: &'a ast::Lambda, span: Span) -> Vec<Kept> {
        let mut kept: Vec<Kept> = Vec::new();
        for capture in &lambda.captures {
            let checked = match &capture.start {
                Some(start) => self.check_expr(start),
                None => self.name(capture.name, capture.span),
            };
            let is_reference = capture.kind == CaptureKind::Reference;
            if let Some(one) = self.kept(capture.name, checked, is_reference, capture.span) {
                kept.push(one);
            }
        }
        let mut needs_this = lambda.captures_this;
        let Some(default) = lambda.default_capture else {
            if needs_this {
                self.keep_this(span, &mut kept);
            }
            return kept;
        };
        for &name in &lambda.names {
            let is_parameter = |parameter: &ast::Parameter| parameter.name == Some(name);
            if kept.iter().any(|kept| kept.name == name)
                || lambda.function.parameters.iter().any(is_parameter)
            {
                continue;
            }
            match self.scopes.find(name) {
                Some(Entity::Local(local)) => {
                    let local = &self.current.locals[local.0 as usize];
                    // Known values need no place.
                    if local.constant.is_some() && !local.is_reference
                        || local.ty == TypeTable::ERROR
                    {
                        continue;
                    }
                }
                Some(Entity::Captured { .. }) => {}
                Some(Entity::Pack(pack)) => {
                    let pack = Rc::clone(pack);
                    let is_reference = default == CaptureKind::Reference;
                    self.keep_pack(name, &pack, is_reference, span, &mut kept);
                    continue;
                }
                Some(Entity::Member(_)) => {
                    needs_this = true;
                    continue;
                }
                _ => {
                    needs_this |= name == words::LAMBDA_THIS;
                    continue;
                }
            }
            let checked = self.name(name, span);
            let is_reference = default == CaptureKind::Reference;
            if let Some(one) = self.kept(name, checked, is_reference, span) {
                kept.push(one);
            }
        }
        if needs_this && (self.current.this.is_some() || self.current.outer_this.is_some()) {
            self.keep_this(span, &mut kept);
        }
        kept
    }

    fn keep_this(&mut self, span: Span, kept: &mut Vec<Kept>) {
        let checked = self.this_pointer(span);
        kept.extend(self.kept(words::LAMBDA_THIS, checked, false, span));
    }

    /// Keeps the variables of a pack, each as a field of its own.
    fn keep_pack(
        &mut self,
        name: Symbol,
        pack: &[Entity],
        is_reference: bool,
        span: Span,
        kept: &mut Vec<Kept>,
    ) {
        for entity in pack {
            if !matches!(entity, Entity::Local(_) | Entity::Captured { .. }) {
                return;
            }
            let checked = self.entity(Some(entity), name, span);
            if let Some(one) = self.kept(name, checked, is_reference, span) {
                kept.push(Kept {
                    is_of_pack: true,
                    ..one
                });
            }
        }
    }

    fn kept(
        &mut self,
        name: Symbol,
        checked: Checked,
        is_reference: bool,
        span: Span,
    ) -> Option<Kept> {
        match checked {
            Checked::Place(place) if is_reference => {
                if place.ty == TypeTable::ERROR {
                    return None;
                }
                self.mark_in_memory(&place);
                let ty = self.pointer_to(&place);
                Some(Kept {
                    name,
                    value: Expr {
                        kind: ExprKind::AddressOf(Box::new(place)),
                        ty,
                        span,
                    },
                    is_reference,
                    is_of_pack: false,
                })
            }
            Checked::Place(place) if self.is_array(place.ty) => Some(Kept {
                name,
                value: self.array_copy(place),
                is_reference: false,
                is_of_pack: false,
            }),
            other => {
                let value = self.loaded(other);
                if matches!(self.types.get(value.ty), Type::Error | Type::Void) {
                    return None;
                }
                Some(Kept {
                    name,
                    value,
                    is_reference: false,
                    is_of_pack: false,
                })
            }
        }
    }

    fn fill_lambda(&mut self, ty: TypeId, kept: &[Kept]) {
        let mut fields = Vec::with_capacity(kept.len());
        let (mut offset, mut align) = (0u64, 1u64);
        for kept in kept {
            let field_align = self.types.align(kept.value.ty);
            offset = offset.next_multiple_of(field_align);
            fields.push(Field {
                name: kept.name,
                ty: kept.value.ty,
                offset,
                bits: None,
                is_transparent: false,
                is_base: false,
                is_mutable: false,
                volatile_pointer: None,
            });
            offset += self.types.bytes(kept.value.ty);
            align = align.max(field_align);
        }
        if let Type::Struct(StructId(index)) = self.types.get(ty) {
            let entry = &mut self.types.structs[index as usize];
            entry.fields = fields;
            entry.bytes = offset.max(1).next_multiple_of(align);
            entry.align = align;
        }
    }

    /// A captured variable, named inside of the lambda.
    pub(super) fn captured_place(
        &mut self,
        index: usize,
        is_reference: bool,
        span: Span,
    ) -> Checked {
        let Some(place) = self.lambda_field(index, span) else {
            return Checked::Value(Self::bad(span));
        };
        if !is_reference {
            return Checked::Place(place);
        }
        self.dereferenced(place, span)
    }

    fn dereferenced(&mut self, place: Place, span: Span) -> Checked {
        let Type::Pointer {
            pointee, is_const, ..
        } = self.types.get(place.ty)
        else {
            return Checked::Value(Self::bad(span));
        };
        let address = self.load(place);
        Checked::Place(Place {
            kind: crate::hir::PlaceKind::Dereference(address),
            ty: pointee,
            is_const,
            span,
        })
    }

    fn lambda_field(&self, index: usize, span: Span) -> Option<Place> {
        let this = self.current.this.clone()?;
        let Type::Struct(structure) = self.types.get(this.ty) else {
            return None;
        };
        let field = self.types.structs[structure.0 as usize].fields.get(index)?;
        Some(Place {
            ty: field.ty,
            is_const: this.is_const,
            kind: crate::hir::PlaceKind::Field(Box::new(this), field.offset),
            span,
        })
    }

    /// Inside of a lambda that keeps `this`: the object it points to.
    pub(super) fn find_outer_this(&mut self, span: Span) {
        let Some(this) = &self.current.this else {
            return;
        };
        let Type::Struct(structure) = self.types.get(this.ty) else {
            return;
        };
        let fields = &self.types.structs[structure.0 as usize].fields;
        let Some(index) = fields
            .iter()
            .position(|field| field.name == words::LAMBDA_THIS)
        else {
            return;
        };
        if let Some(place) = self.lambda_field(index, span)
            && let Checked::Place(outer) = self.dereferenced(place, span)
        {
            self.current.outer_this = Some(outer);
        }
    }
}
