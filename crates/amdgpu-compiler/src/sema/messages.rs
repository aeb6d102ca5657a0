//! `printf`, `assert`, `abort` and `__trap`: calls that become calls of `device_lib/messages.hip`, and entries of the table
//! of messages.

use super::expressions::Checked;
use super::{Entity, Sema};
use crate::ast::{self, BinaryOp, ExprKind as A};
use crate::hir::{Expr, ExprKind, FunctionId, Global, GlobalId, Place, PlaceKind};
use crate::interner::{Symbol, words};
use crate::ir::GlobalKind;
use crate::messages::{Amount, Conversion, Message, Piece, parse_format};
use crate::source::Span;
use crate::types::{ScalarType, Type, TypeId, TypeTable};

/// What a conversion takes.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wanted {
    Integer(u8),
    Float,
    Text,
    Pointer,
}

impl<'a> Sema<'a> {
    /// A call of a name that the table of messages knows; `None` for any other name.
    pub(super) fn message_call(
        &mut self,
        name: Symbol,
        arguments: &'a [ast::Expr],
        span: Span,
    ) -> Option<Expr> {
        Some(match name {
            words::PRINTF => self.print(arguments, span),
            words::ASSERTION_FAILED => {
                let what = match arguments {
                    [
                        ast::Expr {
                            kind: A::String(text),
                            ..
                        },
                    ] => {
                        format!("assertion '{}' failed", String::from_utf8_lossy(text))
                    }
                    _ => "an assertion failed".to_owned(),
                };
                self.failure(what, span)
            }
            words::ABORT if arguments.is_empty() => {
                self.failure("abort() was called".to_owned(), span)
            }
            words::TRAP if arguments.is_empty() => {
                self.failure("__trap() was called".to_owned(), span)
            }
            _ => return None,
        })
    }

    fn failure(&mut self, what: String, span: Span) -> Expr {
        let number = self.add_message(
            Message::Failure {
                what,
                file: String::new(),
                line: 0,
            },
            span,
        );
        let number = Self::unsigned(number, span);
        self.library_call(words::FAIL, vec![number], span)
    }

    /// The number of a message, from 1.
    fn add_message(&mut self, message: Message, span: Span) -> i64 {
        self.program.messages.push((message, span));
        self.program.messages.len() as i64
    }

    fn unsigned(number: i64, span: Span) -> Expr {
        Expr {
            kind: ExprKind::Integer(number),
            ty: TypeTable::UNSIGNED_INT,
            span,
        }
    }

    fn library_call(&mut self, name: Symbol, arguments: Vec<Expr>, span: Span) -> Expr {
        let function = match self.scopes.find(name) {
            Some(Entity::Functions(set)) => self.overloads[*set].first().copied(),
            _ => None,
        };
        let Some(function): Option<FunctionId> = function else {
            self.error(span, "the device library lacks a function of messages");
            return Self::bad(span);
        };
        let arguments = arguments.into_iter().map(Checked::Value).collect();
        let call = self.call_of(function, arguments, span);
        self.loaded(call)
    }

    fn print(&mut self, arguments: &'a [ast::Expr], span: Span) -> Expr {
        let Some((format, values)) = arguments.split_first() else {
            self.error(span, "printf needs a format");
            return Self::bad(span);
        };
        let A::String(text) = &format.kind else {
            self.check_arguments(arguments);
            self.error_hint(
                format.span,
                "the format of printf must be a string in quotes",
                "write printf(\"%s\", text)",
            );
            return Self::bad(span);
        };
        let checked = self.check_arguments(values);
        let spans: Vec<Span> = values.iter().map(|value| value.span).collect();
        let values: Vec<Expr> = checked
            .into_iter()
            .map(|value| self.loaded(value))
            .collect();
        let pieces = match parse_format(text) {
            Ok(pieces) => pieces,
            Err((_, message)) => {
                self.error_hint(
                    format.span,
                    message,
                    "conversions are those of C: %d %u %x %f %e %g %s %c %p",
                );
                return Self::bad(span);
            }
        };
        let wanted = wanted(&pieces);
        if wanted.len() != values.len() {
            let message = format!(
                "the format takes {} argument(s), and {} are given",
                wanted.len(),
                values.len()
            );
            let place = spans.get(wanted.len()).copied().unwrap_or(format.span);
            self.error_hint(
                place,
                message,
                "each conversion takes one, and each * one more",
            );
            return Self::bad(span);
        }
        let mut is_good = true;
        for ((value, (wanted, conversion)), place) in values.iter().zip(&wanted).zip(&spans) {
            is_good &= self.suits(value, *wanted, conversion, *place);
        }
        if !is_good {
            return Self::bad(span);
        }
        let number = self.add_message(Message::Print(pieces), span);
        self.print_calls(number, values, &wanted, span)
    }

    fn suits(&mut self, value: &Expr, wanted: Wanted, conversion: &str, span: Span) -> bool {
        if value.ty == TypeTable::ERROR {
            return false;
        }
        let scalar = self.types.representation(value.ty);
        let is_pointer = matches!(self.types.get(value.ty), Type::Pointer { .. } | Type::Null);
        let (fits, what) = match wanted {
            Wanted::Integer(_) => (
                scalar.is_some_and(|scalar| !scalar.is_float()),
                "an integer",
            ),
            Wanted::Float => (
                scalar.is_some_and(ScalarType::is_float),
                "a float or double",
            ),
            Wanted::Text => (self.is_text(value.ty), "a string"),
            Wanted::Pointer => (is_pointer, "a pointer"),
        };
        if !fits {
            let message = format!(
                "'{conversion}' prints {what}, and this is '{}'",
                self.types.text(value.ty)
            );
            let hint = match (scalar, is_pointer) {
                (Some(scalar), _) if scalar.is_float() => "%f, %e and %g print it",
                (Some(scalar), _) if scalar.bytes() == 8 => "%lld and %llu print it",
                (Some(_), _) => "%d and %u print it",
                (None, true) => "%p prints it",
                (None, false) => "print its fields one by one",
            };
            self.error_hint(span, message, hint);
        }
        fits
    }

    fn is_text(&self, ty: TypeId) -> bool {
        match self.types.get(ty) {
            Type::Pointer { pointee, .. } => matches!(
                self.types.get(pointee),
                Type::Scalar(ScalarType::Char | ScalarType::SignedChar | ScalarType::UnsignedChar)
            ),
            _ => false,
        }
    }

    /// Arguments are kept first, since their strings are looked at twice.
    fn print_calls(
        &mut self,
        number: i64,
        values: Vec<Expr>,
        wanted: &[(Wanted, String)],
        span: Span,
    ) -> Expr {
        let count = values.len() as i64;
        let mut fixed_words = 1;
        let mut kept = Vec::new();
        let mut steps = Vec::new();
        let char_type = self.types.scalar(ScalarType::Char);
        let text_type = self.types.pointer(char_type, true);
        let long_type = self.types.scalar(ScalarType::UnsignedLongLong);
        let double_type = self.types.scalar(ScalarType::Double);
        for (value, (wanted, _)) in values.into_iter().zip(wanted) {
            let (ty, words) = match wanted {
                Wanted::Integer(64) | Wanted::Pointer => (long_type, 2),
                Wanted::Integer(_) => (TypeTable::UNSIGNED_INT, 1),
                Wanted::Float => (double_type, 2),
                Wanted::Text => (text_type, 1),
            };
            fixed_words += words;
            let value = match wanted {
                Wanted::Integer(_) => self.promoted(value),
                _ => value,
            };
            let value = self.cast_to(value, ty);
            let value = self.keep_value(value, &mut steps, span);
            let bytes = (*wanted == Wanted::Text).then(|| {
                let bytes = self.library_call(words::STRING_BYTES, vec![value.clone()], span);
                self.keep_value(bytes, &mut steps, span)
            });
            kept.push((value, bytes));
        }
        let binary = |operation, left: Expr, right: Expr| Expr {
            kind: ExprKind::Binary(operation, Box::new(left), Box::new(right)),
            ty: TypeTable::UNSIGNED_INT,
            span,
        };
        let mut words_needed = Self::unsigned(fixed_words, span);
        for bytes in kept.iter().filter_map(|(_, bytes)| bytes.clone()) {
            let up = binary(BinaryOp::Add, bytes, Self::unsigned(3, span));
            let part = binary(BinaryOp::Divide, up, Self::unsigned(4, span));
            words_needed = binary(BinaryOp::Add, words_needed, part);
        }
        let number = Self::unsigned(number, span);
        let mut at = self.library_call(words::PRINT_BEGIN, vec![number, words_needed], span);
        for (value, bytes) in kept {
            let function = match (self.types.get(value.ty), &bytes) {
                (_, Some(_)) => words::PRINT_STRING,
                (Type::Scalar(ScalarType::Double), _) => words::PRINT_DOUBLE,
                (Type::Scalar(ScalarType::UnsignedLongLong), _) => words::PRINT_LONG,
                _ => words::PRINT_WORD,
            };
            let mut arguments = vec![at, value];
            arguments.extend(bytes);
            at = self.library_call(function, arguments, span);
        }
        let count = Expr {
            kind: ExprKind::Integer(count),
            ty: TypeTable::INT,
            span,
        };
        let end = self.library_call(words::PRINT_END, vec![at, count], span);
        steps.into_iter().rev().fold(end, |rest, step| Expr {
            ty: rest.ty,
            kind: ExprKind::Comma(Box::new(step), Box::new(rest)),
            span,
        })
    }

    /// What C passes for an integer argument: nothing below `int`.
    fn promoted(&mut self, value: Expr) -> Expr {
        let scalar = self.types.representation(value.ty);
        match scalar.map(ScalarType::promoted) {
            Some(ty) => {
                let ty = self.types.scalar(ty);
                self.cast_to(value, ty)
            }
            None => value,
        }
    }

    /// Puts a value into a variable of its own; the result reads it.
    fn keep_value(&mut self, value: Expr, steps: &mut Vec<Expr>, span: Span) -> Expr {
        let ty = value.ty;
        let local = self.temporary(ty);
        let place = Place {
            kind: PlaceKind::Local(local),
            ty,
            is_const: false,
            span,
        };
        steps.push(Expr {
            kind: ExprKind::Assign(Box::new(place.clone()), Box::new(value)),
            ty,
            span,
        });
        Expr {
            kind: ExprKind::Load(Box::new(place)),
            ty,
            span,
        }
    }

    /// `"text"`: an array in the memory of the module.
    pub(super) fn string(&mut self, text: &[u8], span: Span) -> Checked {
        let element = self.types.scalar(ScalarType::Char);
        let ty = self.types.intern(Type::Array {
            element,
            length: text.len() as u64 + 1,
        });
        let global = GlobalId(self.program.globals.len() as u32);
        self.program.globals.push(Global {
            name: "string".to_owned(),
            ty,
            kind: GlobalKind::Table,
            bytes: text.to_vec(),
            align: 1,
            is_volatile: false,
            is_exported: false,
            is_library: false,
        });
        Checked::Place(Place {
            kind: PlaceKind::Global(global),
            ty,
            is_const: true,
            span,
        })
    }
}

/// What the conversions of a format take, with their texts.
fn wanted(pieces: &[Piece]) -> Vec<(Wanted, String)> {
    let mut list = Vec::new();
    for piece in pieces {
        let Piece::Conversion(conversion) = piece else {
            continue;
        };
        for amount in [conversion.width, conversion.precision] {
            if amount == Amount::Argument {
                list.push((Wanted::Integer(32), "*".to_owned()));
            }
        }
        list.push((
            kind_of(conversion),
            format!("%{}", conversion.letter as char),
        ));
    }
    list
}

fn kind_of(conversion: &Conversion) -> Wanted {
    match conversion.letter {
        b'd' | b'u' | b'x' | b'X' | b'o' | b'c' => Wanted::Integer(conversion.bits),
        b's' => Wanted::Text,
        b'p' => Wanted::Pointer,
        _ => Wanted::Float,
    }
}
