//! Specialisations of templates, full and partial, and templates of variables.

use super::deduction::argument_speciality;
use super::expressions::Checked;
use super::instances::Argument;
use super::{Entity, Environment, ParameterType, Sema};
use std::rc::Rc;

use crate::ast;
use crate::hir::FunctionId;
use crate::interner::Symbol;
use crate::source::Span;

/// A struct written out for certain arguments.
#[derive(Clone, Debug)]
pub(super) struct Specialisation<'a> {
    pub parameters: &'a [ast::TemplateParameter],
    pub pattern: &'a [ast::TemplateArgument],
    pub structure: &'a ast::Struct,
    pub environment: Environment,
}

/// What a specialisation is for.
struct Form<'a, 's> {
    parameters: &'a [ast::TemplateParameter],
    pattern: &'a [ast::TemplateArgument],
    environment: &'s Environment,
    /// Of the template that is specialised.
    primary: &'a [ast::TemplateParameter],
    name: Symbol,
}

/// A template of variables.
#[derive(Debug)]
pub(super) struct VariableTemplate<'a> {
    pub name: Symbol,
    pub parameters: &'a [ast::TemplateParameter],
    pub variable: &'a ast::Variable,
    pub environment: Environment,
    specialisations: Vec<VariableSpecialisation<'a>>,
}

/// A variable for arguments of a certain form.
#[derive(Clone, Debug)]
struct VariableSpecialisation<'a> {
    parameters: &'a [ast::TemplateParameter],
    pattern: &'a [ast::TemplateArgument],
    variable: &'a ast::Variable,
    environment: Environment,
}

impl<'a> Sema<'a> {
    pub(super) fn specialise_type(
        &mut self,
        index: usize,
        template: &'a ast::Template,
        pattern: &'a [ast::TemplateArgument],
        structure: &'a ast::Struct,
    ) {
        let entry = Specialisation {
            parameters: &template.parameters,
            pattern,
            structure,
            environment: self.snapshot(),
        };
        if template.parameters.is_empty() {
            // Wrong arguments are told where they are written.
            let given = self.written_arguments(pattern);
            let given: Vec<Option<Argument>> = given.into_iter().map(Some).collect();
            let primary = &self.type_templates[index];
            let (parameters, name) = (primary.parameters, primary.name);
            if self
                .complete_arguments(parameters, &given, name, template.span, true)
                .is_none()
            {
                return;
            }
        }
        // A definition takes the place of its declaration.
        self.type_templates[index].specialisations.push(entry);
    }

    /// The specialisation for these arguments, with the arguments of its own parameters.
    pub(super) fn special_struct(
        &mut self,
        index: usize,
        arguments: &[Argument],
        span: Span,
    ) -> Option<(Specialisation<'a>, Vec<Argument>)> {
        let specialisations = self.type_templates[index].specialisations.clone();
        let mut best: Option<(u32, Specialisation<'a>, Vec<Argument>)> = None;
        let mut is_ambiguous = false;
        for special in specialisations.into_iter().rev() {
            let Some(own) = self.match_special(index, &special, arguments) else {
                continue;
            };
            let rank = if special.parameters.is_empty() {
                u32::MAX
            } else {
                let parts = special.pattern.iter();
                let is_open = |one| matches!(one, &ast::TemplateArgument::Expansion(..));
                2 * parts.map(argument_speciality).sum::<u32>()
                    + u32::from(!special.pattern.iter().any(is_open))
            };
            match &best {
                Some((other, known, _)) if rank <= *other => {
                    is_ambiguous |= rank == *other
                        && rank != u32::MAX
                        && !known.structure.is_declaration
                        && !special.structure.is_declaration;
                }
                _ => {
                    is_ambiguous = false;
                    best = Some((rank, special, own));
                }
            }
        }
        if is_ambiguous {
            let text = self.instance_text(self.text(self.type_templates[index].name), arguments);
            self.error_hint(
                span,
                format!("several partial specialisations fit '{text}' alike"),
                "write one for these very arguments",
            );
        }
        best.map(|(_, special, own)| (special, own))
    }

    fn match_special(
        &mut self,
        index: usize,
        special: &Specialisation<'a>,
        given: &[Argument],
    ) -> Option<Vec<Argument>> {
        let primary = &self.type_templates[index];
        let form = Form {
            parameters: special.parameters,
            pattern: special.pattern,
            environment: &special.environment,
            primary: primary.parameters,
            name: primary.name,
        };
        self.match_form(&form, given, special.structure.span)
    }

    /// The arguments of a specialisation's own parameters, when its form fits what is given.
    fn match_form(
        &mut self,
        form: &Form<'a, '_>,
        given: &[Argument],
        span: Span,
    ) -> Option<Vec<Argument>> {
        let known = self.deduce_special(form.parameters, form.pattern, given)?;
        let mark = self.diagnostics.mark();
        let origin = self.origin.clone();
        let environment = Environment::clone(form.environment);
        let own = self.apart(origin, |sema| {
            sema.scopes.enter();
            sema.bind_all(&environment);
            let own = sema.complete_arguments(form.parameters, &known, form.name, span, false);
            let fits = own.as_ref().is_some_and(|own| {
                sema.scopes.enter();
                sema.bind_parameters(form.parameters, own);
                let again = sema.written_arguments(form.pattern);
                sema.scopes.leave();
                let again: Vec<Option<Argument>> = again.into_iter().map(Some).collect();
                sema.complete_arguments(form.primary, &again, form.name, span, false)
                    .is_some_and(|again| again == given)
            });
            sema.scopes.leave();
            own.filter(|_| fits)
        });
        if self.diagnostics.has_errors_since(mark) && !self.is_over_limit() {
            // What does not make sense for these arguments is not meant for them.
            self.diagnostics.forget(mark);
            return None;
        }
        own
    }

    /// `template <> __device__ float f<float>(float x) { … }`
    pub(super) fn specialise_function(
        &mut self,
        template: &'a ast::Template,
        function: &'a ast::Function,
    ) {
        let text = self.text(function.name);
        let written = self.written_arguments(template.specialisation.as_deref().unwrap_or(&[]));
        let templates = match self.scopes.find(function.name) {
            Some(Entity::Functions(set)) => self.templates_of.get(set).cloned().unwrap_or_default(),
            _ => Vec::new(),
        };
        let mut signature = self.signature_of(function, None);
        let types: Vec<_> = signature
            .parameters
            .iter()
            .map(|parameter| (parameter.ty, parameter.is_const))
            .collect();
        let mut best: Option<(u32, usize, Vec<Argument>)> = None;
        for index in templates {
            let entry = &self.function_templates[index];
            if entry.function.parameters.len() != types.len() {
                continue;
            }
            let parameters = entry.parameters;
            let rank = self.speciality(index);
            let Some(given) = self.deduce_from(index, &written, &types) else {
                continue;
            };
            let given =
                self.complete_arguments(parameters, &given, function.name, template.span, false);
            if let Some(given) = given
                && self.has_parameters(index, &given, &signature.parameters)
                && best.as_ref().is_none_or(|(other, ..)| rank >= *other)
            {
                best = Some((rank, index, given));
            }
        }
        let Some((_, index, arguments)) = best else {
            self.error_hint(
                template.span,
                format!("there is no template '{text}' that this specialises"),
                "declare it before, with the same parameters: template <typename T> …",
            );
            return;
        };
        signature.environment = self.snapshot();
        signature.is_lazy = true;
        signature.shown = Some(self.instance_text(text, &arguments));
        signature.template = Some(index);
        let key = (index, arguments);
        if let Some(Some(known)) = self.instances.functions.get(&key).copied() {
            let declared = self.signatures[known.0 as usize].declaration;
            if declared.is_some_and(|declared| {
                std::ptr::eq(declared, self.function_templates[index].function)
            }) {
                self.error_hint(
                    template.span,
                    format!("'{text}' was used for these arguments before this specialisation"),
                    "move the specialisation up, to right after the template",
                );
                return;
            }
            if self.signatures[known.0 as usize].definition.is_none() {
                self.signatures[known.0 as usize] = signature;
            } else if function.body.is_some() {
                self.error(
                    template.span,
                    format!("'{text}' is specialised twice for this"),
                );
            }
            return;
        }
        let id = FunctionId(self.signatures.len() as u32);
        self.signatures.push(signature);
        self.instances.functions.insert(key, Some(id));
    }

    /// Whether the instance of a template for these arguments takes these types.
    fn has_parameters(
        &mut self,
        index: usize,
        arguments: &[Argument],
        wanted: &[ParameterType],
    ) -> bool {
        let template = &self.function_templates[index];
        let (parameters, function, owner) =
            (template.parameters, template.function, template.owner);
        let environment = Rc::clone(&template.environment);
        let origin = self.origin.clone();
        let mark = self.diagnostics.mark();
        let found = self.apart(origin, |sema| {
            sema.scopes.enter();
            sema.bind_all(&environment);
            sema.bind_parameters(parameters, arguments);
            let signature = sema.signature_of(function, owner);
            sema.scopes.leave();
            signature.parameters
        });
        if self.diagnostics.has_errors_since(mark) && !self.is_over_limit() {
            self.diagnostics.forget(mark);
            return false;
        }
        found.len() == wanted.len()
            && found
                .iter()
                .zip(wanted)
                .all(|(one, other)| one.ty == other.ty && one.is_reference == other.is_reference)
    }

    pub(super) fn declare_variable_template(
        &mut self,
        template: &'a ast::Template,
        variable: &'a ast::Variable,
    ) {
        let text = self.text(variable.name);
        let Some(arguments) = &template.specialisation else {
            let entry = VariableTemplate {
                name: variable.name,
                parameters: &template.parameters,
                variable,
                environment: self.snapshot(),
                specialisations: Vec::new(),
            };
            let index = self.variable_templates.len();
            self.variable_templates.push(entry);
            self.scopes
                .bind(variable.name, Entity::VariableTemplate(index));
            return;
        };
        let Some(Entity::VariableTemplate(index)) = self.scopes.find(variable.name) else {
            self.error(
                template.span,
                format!("there is no template '{text}' to specialise"),
            );
            return;
        };
        let index = *index;
        if !template.parameters.is_empty() {
            let special = VariableSpecialisation {
                parameters: &template.parameters,
                pattern: arguments,
                variable,
                environment: self.snapshot(),
            };
            self.variable_templates[index].specialisations.push(special);
            return;
        }
        let given = self.written_arguments(arguments);
        if let Some(key) = self.variable_key(index, &given, template.span)
            && let Some(entity) = self.made_variable(variable)
        {
            self.instances.variables.insert(key, entity);
        }
    }

    fn variable_key(
        &mut self,
        index: usize,
        given: &[Argument],
        span: Span,
    ) -> Option<(usize, Vec<Argument>)> {
        let entry = &self.variable_templates[index];
        let (parameters, name) = (entry.parameters, entry.name);
        let environment = Environment::clone(&entry.environment);
        let given: Vec<Option<Argument>> = given.iter().copied().map(Some).collect();
        let origin = self.origin.clone();
        let arguments = self.apart(origin, |sema| {
            sema.scopes.enter();
            sema.bind_all(&environment);
            let arguments = sema.complete_arguments(parameters, &given, name, span, true);
            sema.scopes.leave();
            arguments
        })?;
        Some((index, arguments))
    }

    /// Makes a constant, and gives what its name stands for.
    fn made_variable(&mut self, variable: &'a ast::Variable) -> Option<Entity> {
        self.scopes.enter();
        self.global_variable(variable);
        let entity = self.scopes.find_here(variable.name).cloned();
        self.scopes.leave();
        entity
    }

    /// The most special form that fits these arguments, with the arguments of its own parameters.
    fn special_variable(
        &mut self,
        index: usize,
        given: &[Argument],
    ) -> Option<(VariableSpecialisation<'a>, Vec<Argument>)> {
        let template = &self.variable_templates[index];
        let (primary, name) = (template.parameters, template.name);
        let mut best: Option<(u32, VariableSpecialisation<'a>, Vec<Argument>)> = None;
        for special in template.specialisations.clone() {
            let form = Form {
                parameters: special.parameters,
                pattern: special.pattern,
                environment: &special.environment,
                primary,
                name,
            };
            let rank = special.pattern.iter().map(argument_speciality).sum();
            if let Some(own) = self.match_form(&form, given, special.variable.span)
                && best.as_ref().is_none_or(|(other, ..)| rank > *other)
            {
                best = Some((rank, special, own));
            }
        }
        best.map(|(_, special, own)| (special, own))
    }

    /// `pi<float>`.
    pub(super) fn variable_instance(
        &mut self,
        index: usize,
        arguments: &'a [ast::TemplateArgument],
        span: Span,
    ) -> Checked {
        let given = self.written_arguments(arguments);
        let Some(key) = self.variable_key(index, &given, span) else {
            return Checked::Value(Self::bad(span));
        };
        let entry = &self.variable_templates[index];
        let (parameters, name, variable) = (entry.parameters, entry.name, entry.variable);
        if let Some(known) = self.instances.variables.get(&key).cloned() {
            return self.entity(Some(&known), name, span);
        }
        let environment = Environment::clone(&entry.environment);
        let (parameters, variable, environment, arguments) =
            match self.special_variable(index, &key.1) {
                Some((special, own)) => (
                    special.parameters,
                    special.variable,
                    special.environment,
                    own,
                ),
                None => (parameters, variable, environment, key.1.clone()),
            };
        let text = self.instance_text(self.text(name), &key.1);
        let Some(origin) = self.new_origin(&text, span) else {
            return Checked::Value(Self::bad(span));
        };
        let entity = self.apart(Some(origin), |sema| {
            sema.scopes.enter();
            sema.bind_all(&environment);
            sema.bind_parameters(parameters, &arguments);
            let entity = sema.made_variable(variable);
            sema.scopes.leave();
            entity
        });
        let Some(entity) = entity else {
            return Checked::Value(Self::bad(span));
        };
        self.instances.variables.insert(key, entity.clone());
        self.entity(Some(&entity), name, span)
    }
}
