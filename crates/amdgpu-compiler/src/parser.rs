//! Tokens to syntax tree. Recursive descent with a bound on nesting; after an error it goes on at the next statement or
//! declaration, so that all errors of a source are found in one run.

mod aggregates;
mod declarations;
mod declarators;
mod expressions;
mod host;
mod lambdas;
pub mod literals;
mod loop_hints;
mod members;
mod namespaces;
mod packs;
mod specifiers;
mod statements;
mod templates;

use crate::ast::{Expr, Item};
use crate::diagnostics::Diagnostics;
use crate::interner::{Interner, Symbol, words};
use crate::preprocessor::Pragma;
use crate::source::{SourceMap, Span};
use crate::token::{Token, TokenKind};
use rustc_hash::{FxHashMap, FxHashSet};

/// Nesting of statements, parentheses, initialisers and declarators. Stack use is measured against this in `compiler.rs`.
pub const MAX_NESTING: usize = 500;
/// Height of an expression tree: `a + b + c …` grows one level a term without nesting.
pub const MAX_EXPRESSION_HEIGHT: u32 = 2000;

/// The error was told; the caller recovers or passes it on.
#[derive(Debug)]
pub struct Failed;

type Parse<T> = Result<T, Failed>;

/// Names that stand for types where the parser is; the typedefs of the device library are there from the start.
#[derive(Clone, Debug, Default)]
pub struct TypeNames {
    types: FxHashSet<Symbol>,
    templates: FxHashSet<Symbol>,
}

/// The syntax of a whole source.
#[derive(Clone, Debug, Default)]
pub struct Program {
    pub items: Vec<Item>,
    /// Functions and variables of the host part, which was skipped.
    pub host_names: FxHashSet<Symbol>,
    /// What names with namespaces before them mean.
    pub qualified_names: FxHashMap<Symbol, QualifiedName>,
}

/// `a::b::name`, which is one name to the syntax tree.
#[derive(Clone, Debug)]
pub struct QualifiedName {
    pub path: Vec<Symbol>,
    /// It begins with `::`.
    pub is_absolute: bool,
    pub name: Symbol,
}

/// A change of the names that stand for types or templates.
#[derive(Clone, Copy, Debug)]
enum NameChange {
    TypeAdded,
    TypeHidden,
    TemplateAdded,
    TemplateHidden,
    VolatileAdded,
    VolatileHidden,
}

/// The parser of one token list.
#[allow(clippy::struct_excessive_bools)] // Each is a fact of its own.
pub struct Parser<'a> {
    tokens: &'a [Token],
    next: usize,
    /// In the order of their places.
    pragmas: &'a [Pragma],
    sources: &'a SourceMap,
    interner: &'a mut Interner,
    diagnostics: &'a mut Diagnostics,
    type_names: FxHashSet<Symbol>,
    /// Those of the library that the source has not made its own.
    library_types: FxHashSet<Symbol>,
    /// Those of them that are names for volatile types.
    volatile_types: FxHashSet<Symbol>,
    /// For leaving a scope.
    type_changes: Vec<(Symbol, NameChange)>,
    /// Names of templates, which a `<` makes into instances.
    template_names: FxHashSet<Symbol>,
    /// Names of namespaces, also of other namespaces inside of them.
    namespaces: FxHashSet<Symbol>,
    /// Those of the library and of C++, whose names are not kept apart.
    transparent_namespaces: FxHashSet<Symbol>,
    /// The source has namespaces of its own.
    has_namespaces: bool,
    qualified_names: FxHashMap<Symbol, QualifiedName>,
    /// What is left of a `>>` whose first `>` closed template arguments, and its place.
    split: Option<(usize, Token)>,
    /// Inside of template arguments, where `>` is not an operator.
    angle_closes: bool,
    depth: usize,
    /// Nothing more is parsed; errors from here on would be echoes.
    is_stopped: bool,
    /// `<arguments>` after the name that was declared last: of a specialisation.
    name_arguments: Option<Vec<crate::ast::TemplateArgument>>,
    /// After `template <>`, where any name may have arguments.
    is_specialising: bool,
    /// Names of packs, of all templates.
    packs: FxHashSet<Symbol>,
    /// Names of member templates of all structs.
    member_templates: FxHashSet<Symbol>,
    /// Structs and enums defined inside of other declarations.
    side_items: Vec<Item>,
    host_names: FxHashSet<Symbol>,
    /// Structs of the host part.
    host_types: FxHashSet<Symbol>,
    host_span: Option<Span>,
    end: Token,
}

impl<'a> Parser<'a> {
    pub fn new(
        tokens: &'a [Token],
        pragmas: &'a [Pragma],
        end: Span,
        sources: &'a SourceMap,
        interner: &'a mut Interner,
        diagnostics: &'a mut Diagnostics,
        names: TypeNames,
    ) -> Self {
        let end = Token {
            kind: TokenKind::Eof,
            starts_line: true,
            after_space: true,
            is_painted: false,
            symbol: crate::lexer::NO_SYMBOL,
            span: end,
            site: end,
        };
        Self {
            tokens,
            next: 0,
            pragmas,
            sources,
            interner,
            diagnostics,
            library_types: names.types.clone(),
            type_names: names.types,
            volatile_types: FxHashSet::default(),
            type_changes: Vec::new(),
            template_names: names.templates,
            namespaces: FxHashSet::from_iter([words::STD]),
            transparent_namespaces: FxHashSet::from_iter([words::STD, words::COOPERATIVE_GROUPS]),
            has_namespaces: false,
            qualified_names: FxHashMap::default(),
            split: None,
            angle_closes: false,
            depth: 0,
            is_stopped: false,
            name_arguments: None,
            is_specialising: false,
            packs: FxHashSet::default(),
            member_templates: FxHashSet::default(),
            side_items: Vec::new(),
            host_names: FxHashSet::default(),
            host_types: FxHashSet::default(),
            host_span: None,
            end,
        }
    }

    /// Parses everything.
    pub fn program(mut self) -> (Program, TypeNames) {
        let mut items = Vec::new();
        while self.peek().kind != TokenKind::Eof && !self.diagnostics.is_full() {
            let before = self.next;
            if self.top_level(&mut items).is_err() {
                self.recover_item(before);
            }
            if self.next == before {
                self.next += 1;
            }
        }
        if let Some(span) = self.host_span {
            let names = self.host_names.len();
            self.diagnostics.note(span, format!("host code is skipped ({names} function(s) or variable(s)); only kernels and __device__ code are compiled"));
        }
        (
            Program {
                items,
                host_names: self.host_names,
                qualified_names: self.qualified_names,
            },
            TypeNames {
                types: self.type_names,
                templates: self.template_names,
            },
        )
    }

    fn peek(&self) -> &Token {
        match &self.split {
            Some((place, token)) if *place == self.next => token,
            _ => self.tokens.get(self.next).unwrap_or(&self.end),
        }
    }

    fn peek_at(&self, ahead: usize) -> &Token {
        self.tokens.get(self.next + ahead).unwrap_or(&self.end)
    }

    fn kind(&self) -> TokenKind {
        self.peek().kind
    }

    fn bump(&mut self) -> Token {
        crate::effort::spend(1);
        let token = *self.peek();
        self.split = None;
        if self.next < self.tokens.len() {
            self.next += 1;
        }
        token
    }

    /// Tokens from `ahead` on that only name namespaces: `std::`, `math::detail::`.
    fn namespace_prefix(&self, ahead: usize) -> usize {
        let mut count = 0;
        while self.peek_at(ahead + count).kind == TokenKind::Identifier
            && self.peek_at(ahead + count + 1).kind == TokenKind::ColonColon
            && self
                .namespaces
                .contains(&self.peek_at(ahead + count).symbol)
        {
            count += 2;
        }
        count
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.kind() == kind
    }

    fn at_word(&self, word: Symbol) -> bool {
        self.peek().is_word(word)
    }

    fn accept(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.bump();
        }
        found
    }

    fn accept_word(&mut self, word: Symbol) -> bool {
        let found = self.at_word(word);
        if found {
            self.bump();
        }
        found
    }

    /// The token before the current one: where something that is missing should have been.
    fn previous_span(&self) -> Span {
        self.next
            .checked_sub(1)
            .and_then(|index| self.tokens.get(index))
            .map_or(self.end.site, |token| token.site)
    }

    /// Takes a token of this kind or says what is missing.
    fn expect(&mut self, kind: TokenKind, context: &str) -> Parse<Token> {
        if self.at(kind) {
            return Ok(self.bump());
        }
        if self.is_stopped {
            return Err(Failed);
        }
        let found = self.shown(self.peek());
        let token = *self.peek();
        // A missing `;` or `)` belongs to the end of what came before, not to the start of the next line.
        if token.starts_line
            && self.next > 0
            && matches!(
                kind,
                TokenKind::Semicolon | TokenKind::RightParen | TokenKind::RightBracket
            )
        {
            let before = self.previous_span();
            let span = Span {
                start: before.start + before.len.saturating_sub(1),
                len: 1,
            };
            self.diagnostics.error(
                span,
                format!("expected '{}' {context}", kind.text()),
                Some(&format!("add '{}' here", kind.text())),
            );
            if kind == TokenKind::Semicolon {
                // Going on as if it were there saves what was declared from looking undeclared.
                return Ok(token);
            }
        } else if kind == TokenKind::Semicolon && token.kind == TokenKind::RightBrace {
            self.diagnostics.error(
                token.site,
                format!("expected ';' {context}, found '}}'"),
                Some("add ';' before it"),
            );
            return Ok(token);
        } else {
            let wanted = match kind {
                TokenKind::Identifier | TokenKind::String => kind.text().to_owned(),
                _ => format!("'{}'", kind.text()),
            };
            self.diagnostics.error(
                token.site,
                format!("expected {wanted} {context}, found {found}"),
                None,
            );
        }
        Err(Failed)
    }

    fn shown(&self, token: &Token) -> String {
        match token.kind {
            TokenKind::Eof => "the end of the source".to_owned(),
            TokenKind::Identifier
            | TokenKind::Number
            | TokenKind::Character
            | TokenKind::String => {
                let text = self.sources.text(token.span);
                let short: String = text.chars().take(40).collect();
                format!("'{short}'")
            }
            kind => format!("'{}'", kind.text()),
        }
    }

    fn fail<T>(&mut self, span: Span, message: impl Into<String>, hint: Option<&str>) -> Parse<T> {
        if !self.is_stopped {
            self.diagnostics.error(span, message, hint);
        }
        Err(Failed)
    }

    fn refuse<T>(&mut self, span: Span, feature: &str, hint: Option<&str>) -> Parse<T> {
        self.diagnostics.unsupported(
            span,
            format!("{feature} is not supported"),
            hint.or(Some("docs/language.md lists what is supported")),
        );
        Err(Failed)
    }

    /// Runs `parse` one nesting level deeper.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parse<T>) -> Parse<T> {
        if self.depth >= MAX_NESTING {
            let span = self.peek().site;
            let result = self.fail(
                span,
                format!("nested more than {MAX_NESTING} levels deep"),
                Some("split the expression or statement"),
            );
            // What follows is the rest of the same nest; its errors would be echoes.
            self.next = self.tokens.len();
            self.is_stopped = true;
            return result;
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// From here on the name stands for a type.
    fn add_type_name(&mut self, name: Symbol) {
        if self.type_names.insert(name) {
            self.type_changes.push((name, NameChange::TypeAdded));
        }
    }

    /// From here on the name stands for this type.
    fn add_alias(&mut self, name: Symbol, ty: &crate::ast::TypeExpr) {
        self.add_type_name(name);
        if ty.has_volatile() {
            if self.volatile_types.insert(name) {
                self.type_changes.push((name, NameChange::VolatileAdded));
            }
        } else if self.volatile_types.remove(&name) {
            self.type_changes.push((name, NameChange::VolatileHidden));
        }
    }

    /// A function of the source may have the name of a type of the library, and means more.
    fn name_function(&mut self, name: Symbol) {
        if self.library_types.remove(&name) {
            self.type_names.remove(&name);
        }
    }

    /// From here on `name<` starts template arguments.
    fn add_template_name(&mut self, name: Symbol) {
        if self.template_names.insert(name) {
            self.type_changes.push((name, NameChange::TemplateAdded));
        }
    }

    /// Takes back what changed since there were so many changes.
    fn leave_type_scope(&mut self, changes: usize) {
        while self.type_changes.len() > changes {
            match self.type_changes.pop() {
                Some((name, NameChange::TypeAdded)) => self.type_names.remove(&name),
                Some((name, NameChange::TypeHidden)) => self.type_names.insert(name),
                Some((name, NameChange::TemplateAdded)) => self.template_names.remove(&name),
                Some((name, NameChange::TemplateHidden)) => self.template_names.insert(name),
                Some((name, NameChange::VolatileAdded)) => self.volatile_types.remove(&name),
                Some((name, NameChange::VolatileHidden)) => self.volatile_types.insert(name),
                None => false,
            };
        }
    }

    /// From here on the name stands for a variable.
    fn hide_type_name(&mut self, name: Symbol) {
        if self.type_names.remove(&name) {
            self.type_changes.push((name, NameChange::TypeHidden));
        }
        if self.template_names.remove(&name) {
            self.type_changes.push((name, NameChange::TemplateHidden));
        }
    }

    fn text(&self, symbol: Symbol) -> &str {
        self.interner.text_of(symbol)
    }

    fn make(&mut self, kind: crate::ast::ExprKind, span: Span, height: u32) -> Parse<Expr> {
        if height > MAX_EXPRESSION_HEIGHT {
            let result = self.fail(
                span,
                format!("this expression is more than {MAX_EXPRESSION_HEIGHT} operators deep"),
                Some("split it over several statements"),
            );
            self.skip_to_statement_end();
            return result;
        }
        Ok(Expr { kind, span, height })
    }

    /// After an error inside a declaration: go to its end. `start` is where it began.
    fn recover_item(&mut self, start: usize) {
        // Whatever braces were open at the error are found again from the start of the declaration.
        let reached = self.next;
        self.next = start;
        self.split = None;
        self.angle_closes = false;
        self.skip_declaration();
        if self.next < reached {
            self.next = reached;
        }
    }

    /// Skips to after the `;` or the balanced `{…}` that ends the declaration here.
    fn skip_declaration(&mut self) {
        let mut parens = 0usize;
        loop {
            match self.kind() {
                TokenKind::Eof => return,
                TokenKind::LeftParen | TokenKind::LeftBracket => parens += 1,
                TokenKind::RightParen | TokenKind::RightBracket => {
                    parens = parens.saturating_sub(1);
                }
                TokenKind::LeftBrace => {
                    self.skip_braces();
                    if parens == 0
                        && !matches!(
                            self.kind(),
                            TokenKind::Semicolon
                                | TokenKind::Comma
                                | TokenKind::Equal
                                | TokenKind::Identifier
                        )
                    {
                        return;
                    }
                    if parens == 0 {
                        self.accept(TokenKind::Semicolon);
                        return;
                    }
                    continue;
                }
                TokenKind::Semicolon | TokenKind::RightBrace if parens == 0 => {
                    self.bump();
                    return;
                }
                _ => {}
            }
            self.bump();
        }
    }

    /// Skips a balanced `{…}`.
    fn skip_braces(&mut self) {
        let mut depth = 0usize;
        loop {
            match self.bump().kind {
                TokenKind::LeftBrace => depth += 1,
                TokenKind::RightBrace => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return;
                    }
                }
                TokenKind::Eof => return,
                _ => {}
            }
            if depth == 0 {
                return;
            }
        }
    }

    /// After an error inside a statement: go past its `;`, or to the `}` that ends the block.
    fn skip_to_statement_end(&mut self) {
        loop {
            match self.kind() {
                TokenKind::Eof | TokenKind::RightBrace => return,
                TokenKind::Semicolon => {
                    self.bump();
                    return;
                }
                TokenKind::LeftBrace => {
                    self.skip_braces();
                    return;
                }
                _ => {
                    self.bump();
                }
            }
        }
    }
}
