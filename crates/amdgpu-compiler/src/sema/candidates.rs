//! Choosing the function a call means: overloads and templates.

use super::Sema;
use super::calls::type_of;
use super::conversions::Fit;
use super::expressions::Checked;
use super::instances::Argument;
use crate::hir::FunctionId;
use crate::interner::Symbol;
use crate::source::Span;
use crate::types::{ScalarType, TypeTable};

/// A function that takes the arguments.
struct Candidate {
    function: FunctionId,
    fits: Vec<Fit>,
}

impl Sema<'_> {
    /// The call of the best function of some overload sets; `written` are template arguments that the call names.
    pub(super) fn resolve_call(
        &mut self,
        name: Symbol,
        sets: &[usize],
        written: Option<&[Argument]>,
        checked: Vec<Checked>,
        span: Span,
    ) -> Checked {
        let has_bad_argument = checked
            .iter()
            .any(|argument| type_of(argument) == TypeTable::ERROR);
        if has_bad_argument {
            return Checked::Value(Self::bad(span));
        }
        let (functions, templates) = self.candidates(sets, written, &checked, span);
        if let (Some([Argument::Type(ty, _)]), true) = (written, templates.is_empty())
            && sets.iter().all(|&set| self.is_library_set(set))
        {
            // `min<int>(a, b)`: the library has overloads where C++ has a template.
            let ty = *ty;
            let converted = checked
                .into_iter()
                .map(|argument| {
                    let value = self.loaded(argument);
                    Checked::Value(self.explicit_cast(value, ty, span))
                })
                .collect();
            return self.resolve_call(name, sets, None, converted, span);
        }
        let viable: Vec<Candidate> = functions
            .iter()
            .filter_map(|&function| {
                let fits = self.fits_of(function, &checked)?;
                Some(Candidate { function, fits })
            })
            .collect();
        let best: Vec<FunctionId> = viable
            .iter()
            .filter(|candidate| {
                viable.iter().all(|other| {
                    candidate
                        .fits
                        .iter()
                        .zip(&other.fits)
                        .all(|(one, two)| one <= two)
                })
            })
            .map(|candidate| candidate.function)
            .collect();
        let best = self.most_special(best);
        if let [only] = best.as_slice() {
            return self.call_of(*only, checked, span);
        }
        let is_library = sets.iter().all(|&set| self.is_library_set(set));
        if best.len() > 1 && is_library {
            // sqrt(2) of the C++ library computes in double.
            let is_double = |function: &FunctionId| {
                self.signatures[function.0 as usize]
                    .parameters
                    .iter()
                    .all(|parameter| self.types.as_scalar(parameter.ty) == Some(ScalarType::Double))
            };
            if let Some(function) = best.iter().copied().find(is_double) {
                return self.call_of(function, checked, span);
            }
        }
        if self.is_over_limit() {
            return Checked::Value(Self::bad(span));
        }
        let text = self.text(name);
        if viable.is_empty()
            && let Some(call) = super::cooperation::find(text)
        {
            // Overloads of atomics for more types stand beside those the compiler knows.
            return Checked::Value(self.cooperative(text, call, checked, span));
        }
        self.no_candidate(
            name,
            &functions,
            &templates,
            viable.is_empty(),
            written,
            &checked,
            span,
        );
        Checked::Value(Self::bad(span))
    }

    /// The plain functions of the sets, then what their templates make of these arguments.
    fn candidates(
        &mut self,
        sets: &[usize],
        written: Option<&[Argument]>,
        checked: &[Checked],
        span: Span,
    ) -> (Vec<FunctionId>, Vec<usize>) {
        let mut functions = Vec::new();
        let mut templates = Vec::new();
        for set in sets {
            if written.is_none() {
                functions.extend(self.overloads[*set].iter().copied());
            }
            if let Some(of_set) = self.templates_of.get(set) {
                templates.extend(of_set.iter().copied());
            }
        }
        for &template in &templates {
            if !self.takes_count(template, checked.len()) {
                continue;
            }
            let hidden = self.hidden_parameters(template);
            let Some(given) = self.deduce(template, written.unwrap_or(&[]), &checked[hidden..])
            else {
                continue;
            };
            functions.extend(self.function_instance(template, &given, span, false));
        }
        (functions, templates)
    }

    /// Parameters of a template's functions that the source does not write: the object of a member function.
    fn hidden_parameters(&self, template: usize) -> usize {
        use crate::ast::Role;
        let role = self.function_templates[template].function.role;
        usize::from(matches!(role, Role::Method | Role::ConstMethod))
    }

    fn takes_count(&self, template: usize, count: usize) -> bool {
        let hidden = self.hidden_parameters(template);
        let parameters = &self.function_templates[template].function.parameters;
        let needed = parameters
            .iter()
            .filter(|parameter| parameter.start.is_none() && parameter.pack.is_none())
            .count();
        let is_open = parameters.iter().any(|parameter| parameter.pack.is_some());
        let most = if is_open {
            usize::MAX
        } else {
            parameters.len() + hidden
        };
        (needed + hidden..=most).contains(&count)
    }

    /// Of functions that fit alike: plain ones before templates, special templates before general ones, references to what may
    /// be written before references to const.
    fn most_special(&self, best: Vec<FunctionId>) -> Vec<FunctionId> {
        if best.len() < 2 {
            return best;
        }
        let rank = |function: &FunctionId| {
            let signature = &self.signatures[function.0 as usize];
            let const_references = signature
                .parameters
                .iter()
                .filter(|parameter| parameter.is_reference && parameter.is_const)
                .count();
            match signature.template {
                None => (0, 0, false, const_references),
                Some(template) => {
                    let parameters = &self.function_templates[template].function.parameters;
                    let is_open = parameters.iter().any(|parameter| parameter.pack.is_some());
                    let speciality = u32::MAX - self.speciality(template);
                    (1, speciality, is_open, const_references)
                }
            }
        };
        let Some(first) = best.iter().map(rank).min() else {
            return best;
        };
        best.into_iter()
            .filter(|function| rank(function) == first)
            .collect()
    }

    #[allow(clippy::too_many_arguments)] // All of what the call was found to be.
    fn no_candidate(
        &mut self,
        name: Symbol,
        functions: &[FunctionId],
        templates: &[usize],
        is_none_viable: bool,
        written: Option<&[Argument]>,
        checked: &[Checked],
        span: Span,
    ) {
        let text = self.text(name);
        let given: Vec<String> = checked
            .iter()
            .map(|argument| self.types.text(type_of(argument)))
            .collect();
        let mut shown: Vec<String> = functions
            .iter()
            .take(6)
            .map(|&function| self.signature_text(function))
            .collect();
        if functions.is_empty() {
            let texts = templates.iter().take(6).map(|&template| {
                let count = self.function_templates[template].function.parameters.len();
                format!("a template '{text}' of {count} parameter(s)")
            });
            shown.extend(texts);
        }
        let hint = format!("there is {}", shown.join("; "));
        match (functions, is_none_viable) {
            ([only], true) => {
                let wanted = self.signatures[only.0 as usize].parameters.len();
                if wanted == checked.len() {
                    self.explain_argument(*only, checked, span, &hint);
                } else {
                    let hidden = self.signatures[only.0 as usize].hidden_count();
                    self.error_hint(
                        span,
                        format!(
                            "'{text}' takes {} argument(s), and is given {}",
                            wanted - hidden,
                            checked.len().saturating_sub(hidden)
                        ),
                        &hint,
                    );
                }
            }
            ([], _) if templates.len() == 1 && self.takes_count(templates[0], checked.len()) => {
                // Made once more, so that it says what is wrong.
                let template = templates[0];
                let mark = self.diagnostics.mark();
                let hidden = self.hidden_parameters(template);
                if let Some(given) =
                    self.deduce(template, written.unwrap_or(&[]), &checked[hidden..])
                {
                    self.function_instance(template, &given, span, true);
                }
                if !self.diagnostics.has_errors_since(mark) {
                    self.error_hint(
                        span,
                        format!("the template '{text}' does not fit ({})", given.join(", ")),
                        &format!("name its arguments: {text}<…>(…)"),
                    );
                }
            }
            ([], _) if templates.is_empty() && written.is_some() => {
                self.error_hint(
                    span,
                    format!("'{text}' is not a template"),
                    "leave out the <…>",
                );
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
    }
}
