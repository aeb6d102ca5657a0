//! Templates: declared, given arguments, made into functions and types.

use std::rc::Rc;

use super::instances::Argument;
use super::specialisations::Specialisation;
use super::{Entity, Environment, Sema};
use crate::ast::{self, TemplateParameterKind};
use crate::hir::FunctionId;
use crate::interner::Symbol;
use crate::source::Span;
use crate::types::{TypeId, TypeTable};

/// A template of functions.
#[derive(Debug)]
pub(super) struct FunctionTemplate<'a> {
    pub parameters: &'a [ast::TemplateParameter],
    pub function: &'a ast::Function,
    pub owner: Option<TypeId>,
    pub environment: Environment,
    pub has_instance: bool,
}

/// A template of structs or an alias template.
#[derive(Debug)]
pub(super) struct TypeTemplate<'a> {
    pub name: Symbol,
    pub parameters: &'a [ast::TemplateParameter],
    pub item: &'a ast::Item,
    pub is_library: bool,
    /// Structs written out for certain arguments.
    pub specialisations: Vec<Specialisation<'a>>,
    pub environment: Environment,
}

impl<'a> Sema<'a> {
    pub(super) fn declare_template(&mut self, template: &'a ast::Template, owner: Option<TypeId>) {
        match &template.item {
            ast::Item::Function(function) if template.specialisation.is_some() => {
                self.specialise_function(template, function);
            }
            ast::Item::Variable(variable) => self.declare_variable_template(template, variable),
            ast::Item::Function(function) => {
                let environment = self.snapshot();
                let entry = FunctionTemplate {
                    parameters: &template.parameters,
                    function,
                    owner,
                    environment,
                    has_instance: false,
                };
                self.add_function_template(entry);
            }
            ast::Item::Struct(structure) => self.declare_type_template(template, structure.name),
            ast::Item::Alias { ty, .. } if ty.has_volatile() => {
                self.refuse(ty.span, "a template of names for volatile types");
            }
            ast::Item::Alias { name, .. } => self.declare_type_template(template, *name),
            _ => {}
        }
    }

    pub(super) fn add_function_template(&mut self, entry: FunctionTemplate<'a>) {
        let name = entry.function.name;
        let set = match entry
            .owner
            .filter(|_| entry.function.role != ast::Role::Free)
        {
            Some(owner) => Some(self.member_set(owner, name, entry.function.role)),
            None => self.global_set(name, entry.function.span),
        };
        let Some(set) = set else { return };
        let index = self.function_templates.len();
        // A later definition of a template that was only declared takes its place.
        let declared = self.templates_of.get(&set).and_then(|templates| {
            templates.iter().copied().find(|&other| {
                let other = &self.function_templates[other];
                other.function.body.is_none()
                    && other.function.parameters.len() == entry.function.parameters.len()
                    && other.parameters.len() == entry.parameters.len()
            })
        });
        if let Some(declared) = declared {
            self.function_templates[declared] = entry;
            return;
        }
        self.function_templates.push(entry);
        self.templates_of.entry(set).or_default().push(index);
    }

    fn declare_type_template(&mut self, template: &'a ast::Template, name: Symbol) {
        let known = match &template.specialisation {
            Some(_) => self.scopes.find(name),
            None => self.scopes.find_here(name),
        };
        let existing = match known {
            Some(Entity::TypeTemplate(index)) => Some(*index),
            _ => None,
        };
        if let Some(arguments) = &template.specialisation {
            let ast::Item::Struct(structure) = &template.item else {
                return;
            };
            let Some(index) = existing else {
                let text = self.text(name);
                self.error_hint(
                    template.span,
                    format!("there is no template '{text}' to specialise"),
                    "declare it before: template <typename T> struct …;",
                );
                return;
            };
            self.specialise_type(index, template, arguments, structure);
            return;
        }
        let entry = TypeTemplate {
            name,
            parameters: &template.parameters,
            item: &template.item,
            is_library: self.in_library,
            specialisations: Vec::new(),
            environment: self.snapshot(),
        };
        match existing {
            Some(index) if matches!(self.type_templates[index].item, ast::Item::Struct(known) if known.is_declaration) =>
            {
                self.type_templates[index].item = entry.item;
                self.type_templates[index].parameters = entry.parameters;
            }
            Some(_) if matches!(&template.item, ast::Item::Struct(again) if again.is_declaration) =>
                {}
            // The user's own version of a template of the library wins.
            Some(index) if self.type_templates[index].is_library && !self.in_library => {
                self.type_templates[index] = entry;
            }
            Some(_) => {
                let text = self.text(name);
                self.error(
                    template.span,
                    format!("the template '{text}' is defined twice"),
                );
            }
            None => {
                let index = self.type_templates.len();
                self.type_templates.push(entry);
                self.scopes.bind(name, Entity::TypeTemplate(index));
            }
        }
    }

    /// Arguments as written, resolved here; of wrong ones something that fits everything.
    pub(super) fn written_arguments(
        &mut self,
        arguments: &'a [ast::TemplateArgument],
    ) -> Vec<Argument> {
        let mut out = Vec::with_capacity(arguments.len());
        for argument in arguments {
            match argument {
                ast::TemplateArgument::Expansion(pattern, names) => {
                    let pattern: &'a ast::TemplateArgument = pattern;
                    let span = self.origin_span();
                    out.extend(self.expand(names, span, |sema| sema.written_argument(pattern)));
                }
                other => out.push(self.written_argument(other)),
            }
        }
        out
    }

    fn written_argument(&mut self, argument: &'a ast::TemplateArgument) -> Argument {
        match argument {
            ast::TemplateArgument::Type(ty) => {
                if ty.has_volatile() {
                    self.refuse(ty.span, "a volatile type as a template argument");
                }
                let is_const = self.is_const(ty);
                Argument::Type(self.resolve(ty), is_const)
            }
            ast::TemplateArgument::Value(expr) => {
                // The parser cannot know what the name of a pack of types stands for.
                if let ast::ExprKind::Name(name) = &expr.kind
                    && let Some(entity) = self.scopes.find(*name)
                {
                    match *entity {
                        Entity::Type(ty) => return Argument::Type(ty, false),
                        Entity::ConstType(ty) => return Argument::Type(ty, true),
                        _ => {}
                    }
                }
                if let Some(ty) = self.type_of_member(expr) {
                    return Argument::Type(ty, false);
                }
                let checked = self.value(expr);
                let ty = checked.ty;
                match self.evaluate(&checked) {
                    Some(crate::hir::Constant::Integer(value)) => Argument::Value(value, ty),
                    Some(crate::hir::Constant::Float(_)) => {
                        self.error_hint(
                            expr.span,
                            "the argument of a template is a type or an integer",
                            "pass a floating-point value as an argument of the function",
                        );
                        Argument::Type(TypeTable::ERROR, false)
                    }
                    None => {
                        if ty != TypeTable::ERROR {
                            self.not_constant(expr.span, "the argument of a template");
                        }
                        Argument::Type(TypeTable::ERROR, false)
                    }
                }
            }
            ast::TemplateArgument::Expansion(..) => Argument::Type(TypeTable::ERROR, false),
        }
    }

    /// Fills in defaults and gives values the types of their parameters. Called where names mean what they mean at the template.
    pub(super) fn complete_arguments(
        &mut self,
        parameters: &'a [ast::TemplateParameter],
        given: &[Option<Argument>],
        name: Symbol,
        span: Span,
        is_told: bool,
    ) -> Option<Vec<Argument>> {
        let text = self.text(name);
        let has_pack = parameters.last().is_some_and(|last| last.is_pack);
        if given.len() > parameters.len() && !has_pack {
            if is_told {
                let wanted = parameters.len();
                let count = given.len();
                self.error(
                    span,
                    format!("'{text}' has {wanted} template parameter(s), and {count} arguments are given"),
                );
            }
            return None;
        }
        let mut complete = Vec::with_capacity(parameters.len());
        self.scopes.enter();
        for (index, parameter) in parameters.iter().enumerate() {
            if parameter.is_pack {
                let pack = self.complete_pack(parameter, given.get(index..).unwrap_or_default());
                let Some(pack) = pack else {
                    if is_told {
                        let message = format!("the pack of '{text}' takes arguments of one kind");
                        self.error_hint(span, message, &format!("write {text}<…>"));
                    }
                    self.scopes.leave();
                    return None;
                };
                complete.extend(pack);
                continue;
            }
            let argument = self.complete_argument(parameter, given.get(index).copied().flatten());
            let Some(argument) = argument else {
                if is_told {
                    let shown = parameter.name.map_or_else(
                        || format!("{}", index + 1),
                        |name| self.text(name).to_owned(),
                    );
                    let has_value = given.get(index).copied().flatten().is_some();
                    let wants = match (&parameter.kind, has_value) {
                        (_, false) => format!(
                            "the template parameter '{shown}' of '{text}' has no argument and cannot be deduced"
                        ),
                        (TemplateParameterKind::Type { .. }, _) => format!(
                            "the template parameter '{shown}' of '{text}' is a type, and a value is given"
                        ),
                        _ => format!(
                            "the template parameter '{shown}' of '{text}' is a value, and a type is given"
                        ),
                    };
                    self.error_hint(span, wants, &format!("write {text}<…>"));
                }
                self.scopes.leave();
                return None;
            };
            if let Some(name) = parameter.name {
                self.scopes.bind(name, argument.entity());
            }
            complete.push(argument);
        }
        self.scopes.leave();
        let is_good = |argument: &Argument| !matches!(argument, Argument::Type(ty, _) if *ty == TypeTable::ERROR);
        complete.iter().all(is_good).then_some(complete)
    }

    fn complete_pack(
        &mut self,
        parameter: &'a ast::TemplateParameter,
        given: &[Option<Argument>],
    ) -> Option<Vec<Argument>> {
        let pack = given
            .iter()
            .map(|argument| self.complete_argument(parameter, Some((*argument)?)))
            .collect::<Option<Vec<Argument>>>()?;
        if let Some(name) = parameter.name {
            let entities = pack.iter().map(|argument| argument.entity()).collect();
            self.scopes.bind(name, Entity::Pack(Rc::new(entities)));
        }
        Some(pack)
    }

    fn complete_argument(
        &mut self,
        parameter: &'a ast::TemplateParameter,
        given: Option<Argument>,
    ) -> Option<Argument> {
        match (&parameter.kind, given) {
            (TemplateParameterKind::Type { .. }, Some(argument @ Argument::Type(..))) => {
                Some(argument)
            }
            (TemplateParameterKind::Type { default: Some(ty) }, None) => {
                if ty.has_volatile() {
                    self.refuse(ty.span, "a volatile type as a template argument");
                }
                let is_const = self.is_const(ty);
                Some(Argument::Type(self.resolve(ty), is_const))
            }
            (TemplateParameterKind::Value { .. }, Some(Argument::Type(ty, _)))
                if ty == TypeTable::ERROR =>
            {
                Some(Argument::Type(ty, false))
            }
            (TemplateParameterKind::Value { ty, .. }, Some(Argument::Value(value, from))) => {
                let target = if matches!(ty.kind, ast::TypeKind::Auto) {
                    from
                } else {
                    self.resolve(ty)
                };
                let scalar = self.types.representation(target)?;
                Some(Argument::Value(scalar.wrap(value), target))
            }
            (
                TemplateParameterKind::Value {
                    ty,
                    default: Some(default),
                },
                None,
            ) => {
                let target = self.resolve(ty);
                let value = self.constant_integer(default)?;
                let scalar = self.types.representation(target)?;
                Some(Argument::Value(scalar.wrap(value), target))
            }
            _ => None,
        }
    }

    /// `Matrix<float, 4>` as a type.
    pub(super) fn template_type(
        &mut self,
        name: Symbol,
        arguments: &'a [ast::TemplateArgument],
        span: Span,
    ) -> TypeId {
        let given = self.written_arguments(arguments);
        let index = match self.scopes.find(name) {
            Some(Entity::TypeTemplate(index)) => Some(*index),
            // Inside of an instance its template's name alone means the instance.
            Some(Entity::Type(ty)) => self.instances.arguments.get(ty).map(|(index, _)| *index),
            _ => None,
        };
        let Some(index) = index else {
            let text = self.text(name);
            self.error(span, format!("'{text}' is not a template of types"));
            return TypeTable::ERROR;
        };
        let given: Vec<Option<Argument>> = given.into_iter().map(Some).collect();
        self.type_instance(index, &given, span)
    }

    pub(super) fn type_instance(
        &mut self,
        index: usize,
        given: &[Option<Argument>],
        span: Span,
    ) -> TypeId {
        if self.is_over_limit() {
            return TypeTable::ERROR;
        }
        let template = &self.type_templates[index];
        let (name, parameters, item) = (template.name, template.parameters, template.item);
        let environment = Rc::clone(&template.environment);
        let origin = self.origin.clone();
        let arguments = self.apart(origin, |sema| {
            sema.scopes.enter();
            sema.bind_all(&environment);
            let arguments = sema.complete_arguments(parameters, given, name, span, true);
            sema.scopes.leave();
            arguments
        });
        let Some(arguments) = arguments else {
            return TypeTable::ERROR;
        };
        let key = (index, arguments);
        if let Some(&known) = self.instances.types.get(&key) {
            return known;
        }
        let text = self.instance_text(&self.shown_name(name, &environment), &key.1);
        let Some(origin) = self.new_origin(&text, span) else {
            return TypeTable::ERROR;
        };
        let special = self.special_struct(index, &key.1, span);
        let mark = self.diagnostics.mark();
        let id = self.apart(Some(origin), |sema| {
            sema.scopes.enter();
            sema.bind_all(&environment);
            match &special {
                None => sema.bind_parameters(parameters, &key.1),
                Some((special, arguments)) => {
                    sema.bind_all(&special.environment);
                    sema.bind_parameters(special.parameters, arguments);
                }
            }
            let special = special.map(|(special, _)| special.structure);
            let id = match (special, item) {
                (Some(structure), _) | (None, ast::Item::Struct(structure)) => {
                    if structure.is_declaration {
                        sema.error_hint(
                            span,
                            format!("'{text}' is declared but never defined"),
                            "define the template, or a specialisation for these arguments",
                        );
                        TypeTable::ERROR
                    } else {
                        let id = sema.new_struct(text.clone());
                        // Known before its fields are, which may point to it.
                        sema.instances.types.insert(key.clone(), id);
                        sema.instances.arguments.insert(id, key.clone());
                        sema.scopes.bind(name, Entity::Type(id));
                        sema.define_struct(id, structure, true);
                        id
                    }
                }
                (None, ast::Item::Alias { ty, .. }) => sema.resolve(ty),
                _ => TypeTable::ERROR,
            };
            sema.scopes.leave();
            id
        });
        if self.diagnostics.has_errors_since(mark) {
            // Tried again, and told again, where it is asked for next.
            self.instances.types.remove(&key);
        } else {
            self.instances.types.insert(key, id);
        }
        id
    }

    pub(super) fn bind_all(&mut self, environment: &[(Symbol, Entity)]) {
        for (name, entity) in environment {
            self.scopes.bind(*name, entity.clone());
        }
    }

    pub(super) fn bind_parameters(
        &mut self,
        parameters: &'a [ast::TemplateParameter],
        arguments: &[Argument],
    ) {
        for (index, parameter) in parameters.iter().enumerate() {
            let Some(name) = parameter.name else { continue };
            if parameter.is_pack {
                let pack = arguments.get(index..).unwrap_or_default();
                let entities = pack.iter().map(|argument| argument.entity()).collect();
                self.scopes.bind(name, Entity::Pack(Rc::new(entities)));
            } else if let Some(argument) = arguments.get(index) {
                self.scopes.bind(name, argument.entity());
            }
        }
    }

    /// The function a template makes of these arguments. With `is_told` it says why there is none.
    pub(super) fn function_instance(
        &mut self,
        index: usize,
        given: &[Option<Argument>],
        span: Span,
        is_told: bool,
    ) -> Option<FunctionId> {
        if self.is_over_limit() {
            return None;
        }
        let template = &self.function_templates[index];
        let (parameters, function, owner) =
            (template.parameters, template.function, template.owner);
        let environment = Rc::clone(&template.environment);
        let name = function.name;
        let origin = self.origin.clone();
        let mark = self.diagnostics.mark();
        let arguments = self.apart(origin, |sema| {
            sema.scopes.enter();
            sema.bind_all(&environment);
            let arguments = sema.complete_arguments(parameters, given, name, span, is_told);
            sema.scopes.leave();
            arguments
        });
        if !is_told && self.diagnostics.has_errors_since(mark) && !self.is_over_limit() {
            self.diagnostics.forget(mark);
            return None;
        }
        let key = (index, arguments?);
        if let Some(&known) = self.instances.functions.get(&key)
            && (known.is_some() || !is_told)
        {
            return known;
        }
        let text = self.instance_text(self.text(name), &key.1);
        let origin = self.new_origin(&text, span)?;
        let mark = self.diagnostics.mark();
        let signature = self.apart(Some(Rc::clone(&origin)), |sema| {
            sema.scopes.enter();
            sema.bind_all(&environment);
            sema.bind_parameters(parameters, &key.1);
            let mut signature = sema.signature_of(function, owner);
            signature.environment = sema.snapshot();
            sema.scopes.leave();
            signature.is_lazy = true;
            signature.shown = Some(text);
            signature.template = Some(index);
            signature.origin = Some(Rc::clone(&origin));
            signature
        });
        if self.diagnostics.has_errors_since(mark) {
            if !is_told && !self.is_over_limit() {
                self.diagnostics.forget(mark);
            }
            self.instances.functions.insert(key, None);
            return None;
        }
        let id = FunctionId(self.signatures.len() as u32);
        self.signatures.push(signature);
        self.instances.functions.insert(key, Some(id));
        self.function_templates[index].has_instance = true;
        Some(id)
    }

    /// A kernel asked for by name, or instantiated in the source.
    pub(super) fn instantiate_kernel(
        &mut self,
        name: Symbol,
        arguments: &'a [ast::TemplateArgument],
        expression: Option<&str>,
        span: Span,
    ) {
        let given: Vec<Option<Argument>> = self
            .written_arguments(arguments)
            .into_iter()
            .map(Some)
            .collect();
        let text = self.text(name);
        let found = match self.scopes.find(name) {
            Some(&Entity::Functions(set)) => Some(set),
            _ => expression.and_then(|_| self.only_functions(name)),
        };
        let Some(set) = found else {
            self.error(span, format!("there is no template '{text}'"));
            return;
        };
        let templates = self.templates_of.get(&set).cloned().unwrap_or_default();
        if templates.is_empty() {
            self.error(span, format!("'{text}' is not a template"));
        }
        let is_told = templates.len() == 1;
        let mut found = false;
        for index in templates {
            let template = &self.function_templates[index];
            if expression.is_some() && !template.function.is_kernel {
                self.error_hint(
                    span,
                    format!("'{text}' is not a kernel"),
                    "kernels start with __global__",
                );
                return;
            }
            if template.function.body.is_none() {
                self.error(span, format!("'{text}' is declared but never defined"));
                return;
            }
            let Some(id) = self.function_instance(index, &given, span, is_told) else {
                continue;
            };
            found = true;
            self.signatures[id.0 as usize]
                .aliases
                .extend(expression.map(str::to_owned));
            if self.signatures[id.0 as usize].is_kernel {
                self.want(id);
            }
            break;
        }
        if !found && !is_told {
            self.error(span, format!("no template '{text}' takes these arguments"));
        }
    }

    /// Templates of kernels, as one would ask for them.
    pub(super) fn template_kernels(&self) -> Vec<String> {
        self.function_templates
            .iter()
            .filter(|template| template.function.is_kernel)
            .map(|template| {
                let parameters: Vec<String> = template
                    .parameters
                    .iter()
                    .map(|parameter| {
                        parameter
                            .name
                            .map_or_else(|| "…".to_owned(), |name| self.text(name).to_owned())
                    })
                    .collect();
                format!(
                    "{}<{}>",
                    self.text(template.function.name),
                    parameters.join(", ")
                )
            })
            .collect()
    }
}
