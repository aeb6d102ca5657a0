//! Calls: overloads, built-ins, arguments.

use super::builtins::{self, Shape};
use super::conversions::{Context, Fit};
use super::expressions::Checked;
use super::{Entity, ParameterType, Sema};
use crate::ast::{self, ExprKind as A};
use crate::hir::{Expr, ExprKind, FunctionId, Place, PlaceKind};
use crate::interner::words;
use crate::source::Span;
use crate::types::{ScalarType, Type, TypeTable};

impl<'a> Sema<'a> {
    pub(super) fn call(
        &mut self,
        function: &'a ast::Expr,
        arguments: &'a [ast::Expr],
        span: Span,
    ) -> Checked {
        if let A::Member {
            object,
            name,
            is_arrow,
            arguments: given,
        } = &function.kind
            && let Some(object) = self.object_of(object, *is_arrow, span)
        {
            let written = given.as_ref().map(|given| self.written_arguments(given));
            return self.member_call(object, *name, written.as_deref(), arguments, span);
        }
        if let A::Scoped(scope, name) = &function.kind
            && let Some(Entity::Type(ty)) = self.scopes.find(*scope).cloned()
        {
            return self.static_call(ty, *name, arguments, span);
        }
        if let A::TypeMember(ty, name) = &function.kind {
            let ty = self.resolve(ty);
            return self.static_call(ty, *name, arguments, span);
        }
        let mut written = None;
        let name = match &function.kind {
            A::Name(name) => *name,
            A::Scoped(scope, name) => {
                if !self.is_in_scope(*scope, *name, span) {
                    self.check_arguments(arguments);
                    return Checked::Value(Self::bad(span));
                }
                *name
            }
            A::TemplateName(name, given) => {
                written = Some(self.written_arguments(given));
                *name
            }
            A::Member { .. } => {
                self.check_arguments(arguments);
                return Checked::Value(Self::bad(span));
            }
            _ => {
                let object = self.check_expr(function);
                return self.call_object(object, arguments, span);
            }
        };
        let name = self.plain_name(name);
        match self.scopes.find(name).cloned() {
            Some(Entity::Member(owner)) if self.has_method(owner, name) => {
                return self.own_call(owner, name, written.as_deref(), arguments, span);
            }
            Some(
                Entity::Local(_)
                | Entity::Captured { .. }
                | Entity::Member(_)
                | Entity::NotCaptured,
            ) => {
                let object = self.name(name, span);
                return self.call_object(object, arguments, span);
            }
            _ => {}
        }
        if let Some(call) = self.message_call(name, arguments, span) {
            return Checked::Value(call);
        }
        let checked = self.check_arguments(arguments);
        let text = self.text(name);
        let set = match self.scopes.find(name) {
            Some(Entity::Functions(set)) => Some(*set),
            Some(_) => {
                self.error(span, format!("'{text}' is not a function"));
                return Checked::Value(Self::bad(span));
            }
            None => None,
        };
        let sets = if self.scopes.spaces.is_trivial() {
            set.into_iter().collect()
        } else {
            let types: Vec<_> = checked.iter().map(type_of).collect();
            self.more_functions(name, set, &types)
        };
        let checked = self.atomic_arguments(&sets, text, checked);
        if !sets.is_empty() {
            return self.resolve_call(name, &sets, written.as_deref(), checked, span);
        }
        if matches!(name, words::FORWARD | words::MOVE) && checked.len() == 1 {
            let Some(moved) = checked.into_iter().next() else {
                return Checked::Value(Self::bad(span));
            };
            if name == words::MOVE {
                self.refuse_move(&moved, span);
            }
            return moved;
        }
        if text == "__ldg" && checked.len() == 1 {
            return self.load_global(checked, span);
        }
        if let Some(call) = super::cooperation::find(text) {
            return Checked::Value(self.cooperative(text, call, checked, span));
        }
        if let Some(access) = super::cooperation::find_nontemporal(text) {
            return Checked::Value(self.nontemporal(text, access, checked, span));
        }
        if let Some(call) = super::waves::find(text) {
            return Checked::Value(self.wave_call(text, call, checked, span));
        }
        if let Some((intrinsic, count, shape)) = builtins::builtin(text) {
            return Checked::Value(self.builtin(intrinsic, count, shape, checked, span));
        }
        if builtins::is_unsupported(text) {
            self.refuse(span, &format!("'{text}'"));
        } else if builtins::is_of_runtime(text) && !self.is_of_host(name) {
            self.refuse(
                span,
                &format!("'{text}', a function of the host's runtime,"),
            );
        } else if self.is_of_host(name) {
            self.error_hint(
                span,
                format!("'{text}' is a host function, which kernels cannot call"),
                &format!("mark it __device__ where it is defined: __device__ … {text}(…)"),
            );
        } else {
            let hint = self
                .name_elsewhere(name)
                .or_else(|| self.similar_name(text))
                .map(|similar| format!("did you mean '{similar}'?"));
            self.error_hint(
                span,
                format!("there is no function '{text}'"),
                hint.as_deref()
                    .unwrap_or("define it as __device__ before this line"),
            );
        }
        Checked::Value(Self::bad(span))
    }

    /// `__ldg(p)`: a load through the read-only cache, which our targets choose themselves.
    fn load_global(&mut self, checked: Vec<Checked>, span: Span) -> Checked {
        let Some(pointer) = checked
            .into_iter()
            .next()
            .map(|argument| self.loaded(argument))
        else {
            return Checked::Value(Self::bad(span));
        };
        match self.types.get(pointer.ty) {
            Type::Pointer { pointee, .. } if pointee != TypeTable::VOID => Checked::Place(Place {
                kind: PlaceKind::Dereference(pointer),
                ty: pointee,
                is_const: true,
                span,
            }),
            Type::Error => Checked::Value(Self::bad(span)),
            _ => {
                self.error(span, "__ldg needs a pointer");
                Checked::Value(Self::bad(span))
            }
        }
    }

    pub(super) fn check_arguments(&mut self, arguments: &'a [ast::Expr]) -> Vec<Checked> {
        let mut checked = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match &argument.kind {
                A::Expansion { pattern, names } => {
                    let span = argument.span;
                    checked.extend(self.expand(names, span, |sema| sema.check_expr(pattern)));
                }
                _ => checked.push(self.check_expr(argument)),
            }
        }
        checked
    }

    pub(super) fn loaded(&mut self, checked: Checked) -> Expr {
        match checked {
            Checked::Place(place) => self.load(place),
            Checked::Value(value) => value,
        }
    }

    fn builtin(
        &mut self,
        intrinsic: crate::ir::Intrinsic,
        count: usize,
        shape: Shape,
        checked: Vec<Checked>,
        span: Span,
    ) -> Expr {
        let mut values: Vec<Expr> = checked
            .into_iter()
            .map(|argument| self.loaded(argument))
            .collect();
        if values.len() != count {
            self.error(
                span,
                format!(
                    "this built-in takes {count} argument(s), and is given {}",
                    values.len()
                ),
            );
            return Self::bad(span);
        }
        if shape == Shape::Truth {
            return Expr {
                kind: ExprKind::Intrinsic(intrinsic, values),
                ty: TypeTable::BOOL,
                span,
            };
        }
        let Some(first) = values
            .first()
            .and_then(|value| self.types.as_scalar(value.ty))
        else {
            if values.iter().all(|value| value.ty != TypeTable::ERROR) {
                self.error(span, "this built-in works on numbers");
            }
            return Self::bad(span);
        };
        let bits = first.bytes() * 8;
        let (fits, result) = match shape {
            Shape::Float => (first.is_float() && !first.is_narrow_float(), first),
            Shape::Integer => (!first.is_float(), first),
            Shape::Count => (!first.is_float(), ScalarType::Int),
            Shape::ToInt => (bits == 32, ScalarType::Int),
            Shape::ToLong => (bits == 64, ScalarType::LongLong),
            Shape::ToFloat => (bits == 32, ScalarType::Float),
            Shape::ToDouble => (bits == 64, ScalarType::Double),
            Shape::Half | Shape::Truth => (first == ScalarType::Half, first),
            Shape::ToShort => (bits == 16, ScalarType::UnsignedShort),
            Shape::ToHalf => (bits == 16, ScalarType::Half),
            Shape::ToBfloat => (bits == 16, ScalarType::BFloat16),
        };
        if !fits {
            self.error(span, "this built-in does not work on this type");
            return Self::bad(span);
        }
        let first_type = values[0].ty;
        values = values
            .into_iter()
            .map(|value| self.convert(value, first_type, Context::Argument))
            .collect();
        let ty = self.types.scalar(result);
        Expr {
            kind: ExprKind::Intrinsic(intrinsic, values),
            ty,
            span,
        }
    }

    pub(super) fn explain_argument(
        &mut self,
        function: FunctionId,
        checked: &[Checked],
        span: Span,
        hint: &str,
    ) {
        let parameters = self.signatures[function.0 as usize].parameters.clone();
        for (index, (argument, parameter)) in checked.iter().zip(parameters).enumerate() {
            if self.argument_fit(argument, parameter).is_some() {
                continue;
            }
            let place = match argument {
                Checked::Place(place) => place.span,
                Checked::Value(value) => value.span,
            };
            let from = self.types.text(type_of(argument));
            let to = self.types.text(parameter.ty);
            let message = if parameter.is_reference && from == to {
                format!(
                    "argument {} must be a variable that may be written",
                    index + 1
                )
            } else {
                format!(
                    "argument {} has type '{from}', which does not convert to '{to}'",
                    index + 1
                )
            };
            self.error_hint(place, message, hint);
            return;
        }
        self.error_hint(span, "the arguments do not fit", hint);
    }

    pub(super) fn fits_of(
        &mut self,
        function: FunctionId,
        checked: &[Checked],
    ) -> Option<Vec<Fit>> {
        let signature = &self.signatures[function.0 as usize];
        let needed = signature.parameters.len() - default_count(signature);
        if !(needed..=signature.parameters.len()).contains(&checked.len()) {
            return None;
        }
        let mut fits = Vec::with_capacity(checked.len());
        for (index, argument) in checked.iter().enumerate() {
            let parameter = self.signatures[function.0 as usize].parameters[index];
            fits.push(self.argument_fit(argument, parameter)?);
        }
        Some(fits)
    }

    /// Whether a function can be called without arguments.
    pub(super) fn takes_nothing(&self, function: FunctionId) -> bool {
        let signature = &self.signatures[function.0 as usize];
        signature.parameters.len() == default_count(signature)
    }

    /// Whether a function can be called with one argument.
    pub(super) fn takes_one(&self, function: FunctionId) -> bool {
        let signature = &self.signatures[function.0 as usize];
        can_take_one(signature)
    }

    fn argument_fit(&mut self, argument: &Checked, parameter: ParameterType) -> Option<Fit> {
        if parameter.is_reference && !parameter.is_const {
            if let Checked::Place(place) = argument
                && self.is_volatile_place(place)
                && !parameter.is_volatile
            {
                return None;
            }
            return match argument {
                Checked::Value(value) if parameter.is_forwarding && value.ty == parameter.ty => {
                    Some(Fit::Exact)
                }
                Checked::Place(place)
                    if matches!(place.kind, PlaceKind::Bits(..) | PlaceKind::Temporary(_))
                        && !parameter.is_forwarding
                        && matches!(place.kind, PlaceKind::Bits(..)) =>
                {
                    None
                }
                Checked::Place(place) if !place.is_const && place.ty == parameter.ty => {
                    Some(Fit::Exact)
                }
                Checked::Place(place)
                    if !place.is_const && self.base_offset(place.ty, parameter.ty).is_some() =>
                {
                    Some(Fit::Conversion)
                }
                _ => None,
            };
        }
        match argument {
            Checked::Place(place) => match self.types.get(place.ty) {
                Type::Array { .. } if parameter.is_reference && place.ty == parameter.ty => {
                    Some(Fit::Exact)
                }
                Type::Array { element, .. } => {
                    let is_volatile = self.is_volatile_place(place);
                    let pointer =
                        self.types
                            .qualified_pointer(element, place.is_const, is_volatile);
                    self.fit(pointer, parameter.ty, None)
                }
                _ => self.fit(place.ty, parameter.ty, None),
            },
            Checked::Value(value) => self.fit(value.ty, parameter.ty, Some(value)),
        }
    }

    pub(super) fn signature_text(&self, function: FunctionId) -> String {
        let signature = &self.signatures[function.0 as usize];
        let parameters: Vec<String> = signature
            .parameters
            .iter()
            .map(|parameter| {
                let is_const = if parameter.is_const && parameter.is_reference {
                    "const "
                } else {
                    ""
                };
                format!(
                    "{is_const}{}{}",
                    self.types.text(parameter.ty),
                    if parameter.is_reference { "&" } else { "" }
                )
            })
            .collect();
        let name = match &signature.shown {
            Some(shown) => shown.as_str(),
            None => self.text(signature.name),
        };
        format!("{name}({})", parameters.join(", "))
    }

    pub(super) fn call_of(
        &mut self,
        function: FunctionId,
        mut checked: Vec<Checked>,
        span: Span,
    ) -> Checked {
        let signature = self.signatures[function.0 as usize].clone();
        if signature.is_kernel {
            self.refuse(span, "calling a kernel from device code");
            return Checked::Value(Self::bad(span));
        }
        let definition = match self.unevaluated {
            0 => signature.definition,
            _ => signature.definition.or(signature.declaration),
        };
        let Some(definition) = definition else {
            let text = self.text(signature.name);
            self.error_hint(
                span,
                format!("'{text}' is declared but never defined"),
                "give it a body in this source",
            );
            return Checked::Value(Self::bad(span));
        };
        if self.unevaluated == 0 {
            self.want(function);
        }
        let hidden = signature.hidden_count();
        let defaults = signature.declaration.unwrap_or(definition);
        while checked.len() < signature.parameters.len() {
            let parameter = defaults.parameters.get(checked.len() - hidden);
            let Some(start) = parameter.and_then(|parameter| parameter.start.as_ref()) else {
                break;
            };
            let value =
                self.default_value(&signature.environment, start.span, |sema| sema.value(start));
            checked.push(Checked::Value(value));
        }
        let arguments: Vec<Expr> = checked
            .into_iter()
            .zip(&signature.parameters)
            .map(|(argument, parameter)| {
                if parameter.is_reference {
                    return self.reference_to(argument, *parameter, span);
                }
                let value = self.loaded(argument);
                self.convert(value, parameter.ty, Context::Argument)
            })
            .collect();
        if signature.is_deduced
            || definition.is_constexpr && arguments.iter().all(|value| self.is_known(value))
        {
            self.check_now(function, span);
        }
        let signature = &self.signatures[function.0 as usize];
        if signature.is_deduced {
            let text = self.text(signature.name);
            self.error_hint(
                span,
                format!("what '{text}' returns is not known here"),
                "write the return type instead of auto",
            );
            return Checked::Value(Self::bad(span));
        }
        let (ty, returns_reference) = (signature.return_type, signature.returns_reference);
        let is_const = signature.returns_const;
        if returns_reference {
            let pointer = self.types.pointer(ty, is_const);
            return Checked::Place(Place {
                kind: PlaceKind::Dereference(Expr {
                    kind: ExprKind::Call(function, arguments),
                    ty: pointer,
                    span,
                }),
                ty,
                is_const,
                span,
            });
        }
        Checked::Value(Expr {
            kind: ExprKind::Call(function, arguments),
            ty,
            span,
        })
    }

    /// The address handed over for a reference parameter.
    pub(super) fn reference_to(
        &mut self,
        argument: Checked,
        parameter: ParameterType,
        span: Span,
    ) -> Expr {
        let ty = self.types.pointer(parameter.ty, parameter.is_const);
        let place = match argument {
            Checked::Place(place)
                if place.ty == parameter.ty
                    && !matches!(place.kind, PlaceKind::Bits(..))
                    && (parameter.is_volatile || !self.is_volatile_place(&place)) =>
            {
                place
            }
            Checked::Place(place) if self.base_offset(place.ty, parameter.ty).is_some() => {
                self.as_base(place, parameter.ty)
            }
            other => {
                let value = self.loaded(other);
                let value = self.convert(value, parameter.ty, Context::Argument);
                Place {
                    kind: PlaceKind::Temporary(value),
                    ty: parameter.ty,
                    is_const: true,
                    span,
                }
            }
        };
        self.mark_in_memory(&place);
        Expr {
            kind: ExprKind::AddressOf(Box::new(place)),
            ty,
            span,
        }
    }
}

/// Whether one argument is enough, and more need not be given.
pub(super) fn can_take_one(signature: &super::Signature<'_>) -> bool {
    let count = signature.parameters.len();
    count > 0 && count <= default_count(signature) + 1
}

/// Parameters that have a default argument.
fn default_count(signature: &super::Signature<'_>) -> usize {
    signature.declaration.map_or(0, |function| {
        let with_default = function
            .parameters
            .iter()
            .filter(|parameter| parameter.start.is_some());
        with_default.count()
    })
}

pub(super) fn type_of(checked: &Checked) -> crate::types::TypeId {
    match checked {
        Checked::Place(place) => place.ty,
        Checked::Value(value) => value.ty,
    }
}
