//! Calls: overloads, built-ins, arguments.

use super::builtins::{self, Shape};
use super::conversions::{Context, Fit};
use super::expressions::Checked;
use super::{Entity, ParameterType, Sema};
use crate::ast::{self, ExprKind as A};
use crate::hir::{Expr, ExprKind, FunctionId, Place, PlaceKind};
use crate::interner::Symbol;
use crate::source::Span;
use crate::types::{ScalarType, Type, TypeTable};

impl<'a> Sema<'a> {
    pub(super) fn call(
        &mut self,
        function: &'a ast::Expr,
        arguments: &'a [ast::Expr],
        span: Span,
    ) -> Checked {
        let (A::Name(name) | A::Scoped(_, name)) = function.kind else {
            for argument in arguments {
                self.value(argument);
            }
            self.refuse(span, "a call of something that is not a named function");
            return Checked::Value(Self::bad(span));
        };
        let checked: Vec<Checked> = arguments
            .iter()
            .map(|argument| self.check_expr(argument))
            .collect();
        let text = self.text(name);
        let set = match self.scopes.find(name) {
            Some(Entity::Functions(set)) => Some(*set),
            Some(_) => {
                self.error(span, format!("'{text}' is not a function"));
                return Checked::Value(Self::bad(span));
            }
            None => None,
        };
        if let Some(set) = set {
            return Checked::Value(self.overloaded(name, set, checked, span));
        }
        if text == "__ldg" && checked.len() == 1 {
            return self.load_global(checked, span);
        }
        if let Some((intrinsic, count, shape)) = builtins::builtin(text) {
            return Checked::Value(self.builtin(intrinsic, count, shape, checked, span));
        }
        if builtins::is_unsupported(text) {
            self.refuse(span, &format!("'{text}'"));
        } else if self.host_names.contains(&name) {
            self.error_hint(
                span,
                format!("'{text}' is a host function, which kernels cannot call"),
                &format!("mark it __device__ where it is defined: __device__ … {text}(…)"),
            );
        } else {
            let hint = self
                .similar_name(text)
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

    fn loaded(&mut self, checked: Checked) -> Expr {
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
            Shape::Float => (first.is_float(), first),
            Shape::Integer => (!first.is_float(), first),
            Shape::Count => (!first.is_float(), ScalarType::Int),
            Shape::ToInt => (bits == 32, ScalarType::Int),
            Shape::ToLong => (bits == 64, ScalarType::LongLong),
            Shape::ToFloat => (bits == 32, ScalarType::Float),
            Shape::ToDouble => (bits == 64, ScalarType::Double),
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

    fn overloaded(&mut self, name: Symbol, set: usize, checked: Vec<Checked>, span: Span) -> Expr {
        let candidates = self.overloads[set].clone();
        let has_bad_argument = checked
            .iter()
            .any(|argument| type_of(argument) == TypeTable::ERROR);
        if has_bad_argument {
            return Self::bad(span);
        }
        let viable: Vec<(FunctionId, Vec<Fit>)> = candidates
            .iter()
            .filter_map(|&function| {
                self.fits_of(function, &checked)
                    .map(|fits| (function, fits))
            })
            .collect();
        let best: Vec<FunctionId> = viable
            .iter()
            .filter(|(_, fits)| {
                viable
                    .iter()
                    .all(|(_, other)| fits.iter().zip(other).all(|(one, two)| one <= two))
            })
            .map(|(function, _)| *function)
            .collect();
        match best.as_slice() {
            [only] => return self.call_of(*only, checked, span),
            // sqrt(2) of the C++ library computes in double.
            [_, _, ..] if self.is_library_set(set) => {
                let is_double = |function: &FunctionId| {
                    self.signatures[function.0 as usize]
                        .parameters
                        .iter()
                        .all(|parameter| {
                            self.types.as_scalar(parameter.ty) == Some(ScalarType::Double)
                        })
                };
                if let Some(function) = best.iter().copied().find(is_double) {
                    return self.call_of(function, checked, span);
                }
            }
            _ => {}
        }
        let text = self.text(name);
        let given: Vec<String> = checked
            .iter()
            .map(|argument| self.types.text(type_of(argument)))
            .collect();
        let shown: Vec<String> = candidates
            .iter()
            .take(6)
            .map(|&function| self.signature_text(function))
            .collect();
        let hint = format!("there is {}", shown.join("; "));
        match (candidates.as_slice(), viable.is_empty()) {
            ([only], true) => {
                let wanted = self.signatures[only.0 as usize].parameters.len();
                if wanted == checked.len() {
                    let only = *only;
                    self.explain_argument(only, &checked, span, &hint);
                } else {
                    self.error_hint(
                        span,
                        format!(
                            "'{text}' takes {wanted} argument(s), and is given {}",
                            checked.len()
                        ),
                        &hint,
                    );
                }
            }
            (_, true) => self.error_hint(
                span,
                format!("no '{text}' takes ({})", given.join(", ")),
                &hint,
            ),
            (_, false) => self.error_hint(
                span,
                format!(
                    "the call of '{text}' with ({}) could mean several functions",
                    given.join(", ")
                ),
                "cast the arguments to the type you mean",
            ),
        }
        Self::bad(span)
    }

    fn explain_argument(
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

    fn fits_of(&mut self, function: FunctionId, checked: &[Checked]) -> Option<Vec<Fit>> {
        if self.signatures[function.0 as usize].parameters.len() != checked.len() {
            return None;
        }
        let mut fits = Vec::with_capacity(checked.len());
        for (index, argument) in checked.iter().enumerate() {
            let parameter = self.signatures[function.0 as usize].parameters[index];
            fits.push(self.argument_fit(argument, parameter)?);
        }
        Some(fits)
    }

    fn argument_fit(&mut self, argument: &Checked, parameter: ParameterType) -> Option<Fit> {
        if parameter.is_reference && !parameter.is_const {
            return match argument {
                Checked::Place(place) if !place.is_const && place.ty == parameter.ty => {
                    Some(Fit::Exact)
                }
                _ => None,
            };
        }
        match argument {
            Checked::Place(place) => match self.types.get(place.ty) {
                Type::Array { element, .. } => {
                    let pointer = self.types.pointer(element, place.is_const);
                    self.fit(pointer, parameter.ty, None)
                }
                _ => self.fit(place.ty, parameter.ty, None),
            },
            Checked::Value(value) => self.fit(value.ty, parameter.ty, Some(value)),
        }
    }

    fn signature_text(&self, function: FunctionId) -> String {
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
        format!("{}({})", self.text(signature.name), parameters.join(", "))
    }

    fn call_of(&mut self, function: FunctionId, checked: Vec<Checked>, span: Span) -> Expr {
        let signature = self.signatures[function.0 as usize].clone();
        if signature.is_kernel {
            self.refuse(span, "calling a kernel from device code");
            return Self::bad(span);
        }
        if signature.definition.is_none() {
            let text = self.text(signature.name);
            self.error_hint(
                span,
                format!("'{text}' is declared but never defined"),
                "give it a body in this source",
            );
            return Self::bad(span);
        }
        self.want(function);
        let arguments = checked
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
        Expr {
            kind: ExprKind::Call(function, arguments),
            ty: signature.return_type,
            span,
        }
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
            Checked::Place(place) if place.ty == parameter.ty => place,
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

fn type_of(checked: &Checked) -> crate::types::TypeId {
    match checked {
        Checked::Place(place) => place.ty,
        Checked::Value(value) => value.ty,
    }
}
