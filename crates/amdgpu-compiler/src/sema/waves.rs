//! Operations of a wave. The device library gives them the names of HIP and CUDA (`device_lib/waves.hip`).

use super::Sema;
use super::conversions::Context;
use super::expressions::Checked;
use crate::hir::{Expr, ExprKind};
use crate::ir::{Cooperation, Special, SpecialKind};
use crate::source::Span;
use crate::types::{ScalarType, TypeTable};

#[derive(Clone, Copy, Debug)]
pub(super) enum Call {
    Special(SpecialKind),
    Operation(Cooperation),
}

pub(super) fn find(name: &str) -> Option<Call> {
    Some(match name {
        "__builtin_wave_lane" => Call::Special(SpecialKind::Lane),
        "__builtin_wave_shuffle" => Call::Operation(Cooperation::WaveShuffle),
        "__builtin_wave_ballot" => Call::Operation(Cooperation::WaveBallot),
        "__builtin_wave_match" => Call::Operation(Cooperation::WaveMatch),
        "__builtin_wave_barrier" => Call::Operation(Cooperation::WaveBarrier),
        _ => return None,
    })
}

impl Sema<'_> {
    /// `warpSize`, and the number of the own lane.
    pub(super) fn wave_value(kind: SpecialKind, span: Span) -> Expr {
        Expr {
            kind: ExprKind::Special(Special { kind, axis: 0 }),
            ty: TypeTable::INT,
            span,
        }
    }

    pub(super) fn wave_call(
        &mut self,
        name: &str,
        call: Call,
        checked: Vec<Checked>,
        span: Span,
    ) -> Expr {
        let values: Vec<Expr> = checked
            .into_iter()
            .map(|argument| self.loaded(argument))
            .collect();
        let wanted = match call {
            Call::Special(_) => 0,
            Call::Operation(operation) => operation.arity(),
        };
        if values.len() != wanted {
            let given = values.len();
            self.error(
                span,
                format!("'{name}' takes {wanted} argument(s), and is given {given}"),
            );
            return Self::bad(span);
        }
        let operation = match call {
            Call::Special(kind) => return Self::wave_value(kind, span),
            Call::Operation(operation) => operation,
        };
        let word = values.get(1).map_or(TypeTable::VOID, |value| value.ty);
        if word == TypeTable::ERROR {
            return Self::bad(span);
        }
        let is_word = self
            .types
            .as_scalar(word)
            .is_some_and(|scalar| !scalar.is_float() && matches!(scalar.bytes(), 4 | 8));
        let mask = self.types.scalar(ScalarType::UnsignedLongLong);
        let (types, ty) = match operation {
            Cooperation::WaveShuffle => (vec![mask, word, TypeTable::INT], word),
            Cooperation::WaveMatch => (vec![mask, word], mask),
            Cooperation::WaveBallot => (vec![mask, TypeTable::BOOL], mask),
            _ => (vec![mask], TypeTable::VOID),
        };
        if !is_word && matches!(operation, Cooperation::WaveShuffle | Cooperation::WaveMatch) {
            self.error(
                span,
                format!("'{name}' works on integers of 32 and 64 bits"),
            );
            return Self::bad(span);
        }
        let values = values
            .into_iter()
            .zip(types)
            .map(|(value, ty)| self.convert(value, ty, Context::Argument))
            .collect();
        Expr {
            kind: ExprKind::Cooperative(operation, values),
            ty,
            span,
        }
    }
}
