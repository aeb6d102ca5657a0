//! The preprocessor: directives, macros, and the headers people include, which are built in.
//!
//! Works on tokens. Every loop is bounded by the source or by the tokens that macros may expand to, every recursion by [`MAX_DEPTH`].

mod condition;
mod headers;
mod macros;
mod pragmas;

use std::collections::HashSet;
use std::sync::Arc;

pub use macros::Macro;
pub use pragmas::{Pragma, PragmaKind};

use crate::diagnostics::Diagnostics;
use crate::interner::{Interner, Symbol, words};
use crate::lexer::{Lexer, NO_SYMBOL};
use crate::source::{SourceMap, Span};
use crate::token::{Token, TokenKind};

/// Tokens that the macros of any source may expand to; headers of macros that describe a machine stay below a tenth.
const BASE_EXPANDED_TOKENS: usize = 1024 * 1024;
/// Tokens more for each byte of the source.
const EXPANDED_TOKENS_PER_BYTE: usize = 8;
/// Tokens that macros expand to at most: enough for 64 MiB of text, small enough for memory.
const MAX_EXPANDED_TOKENS: usize = 16 * 1024 * 1024;
/// Nesting of macro calls inside macro arguments, of parentheses in `#if`, and of `#if` groups.
pub const MAX_DEPTH: usize = 200;

/// Macros by name.
pub type MacroTable = Vec<Option<Arc<Macro>>>;

/// One open `#if`.
#[derive(Clone, Copy, Debug)]
struct Group {
    opened_at: Span,
    /// Some group of this `#if` was taken.
    is_taken: bool,
    has_else: bool,
}

/// Turns source text into the tokens the parser reads.
pub struct Preprocessor<'a> {
    pub sources: &'a mut SourceMap,
    pub interner: &'a mut Interner,
    pub diagnostics: &'a mut Diagnostics,
    pub macros: MacroTable,
    active: Vec<bool>,
    groups: Vec<Group>,
    output: Vec<Token>,
    pragmas: Vec<Pragma>,
    expanded: usize,
    /// What macros may expand to.
    most_expanded: usize,
    is_over_limit: bool,
    counter: u32,
    /// Headers that were read.
    included: HashSet<&'static str>,
}

/// What the tokens of a macro call come from: macro bodies being replayed, then the text.
struct Input<'t> {
    frames: Vec<Frame>,
    bottom: Bottom<'t>,
}

enum Bottom<'t> {
    Lexer(Lexer<'t>),
    Tokens(Vec<Token>, usize),
}

struct Frame {
    tokens: Vec<Token>,
    next: usize,
    name: Symbol,
}

impl<'a> Preprocessor<'a> {
    pub fn new(
        sources: &'a mut SourceMap,
        interner: &'a mut Interner,
        diagnostics: &'a mut Diagnostics,
        macros: MacroTable,
    ) -> Self {
        Self {
            sources,
            interner,
            diagnostics,
            macros,
            active: Vec::new(),
            groups: Vec::new(),
            output: Vec::new(),
            pragmas: Vec::new(),
            expanded: 0,
            most_expanded: BASE_EXPANDED_TOKENS,
            is_over_limit: false,
            counter: 0,
            included: HashSet::new(),
        }
    }

    /// Defines `name` as the text `value`, as `-D` does.
    pub fn define_text(&mut self, name: &str, value: &str) {
        let text: Arc<str> = format!("#define {name} {value}\n").into();
        self.run("<defines>", &text);
    }

    /// Preprocesses one text and appends its tokens (without `Eof`) to the output.
    /// Returns the position of the end of the text.
    pub fn run(&mut self, file: &str, text: &Arc<str>) -> u32 {
        self.most_expanded = text
            .len()
            .saturating_mul(EXPANDED_TOKENS_PER_BYTE)
            .saturating_add(self.most_expanded)
            .min(MAX_EXPANDED_TOKENS);
        let base = self.read_text(file, text);
        if self.is_over_limit {
            // What came so far makes no sense without the rest.
            self.output.clear();
            self.pragmas.clear();
            self.groups.clear();
        }
        while let Some(group) = self.groups.pop() {
            self.diagnostics.error(
                group.opened_at,
                "this #if is never closed",
                Some("add #endif"),
            );
        }
        self.active.iter_mut().for_each(|active| *active = false);
        base + text.len() as u32
    }

    /// Preprocesses a text or a header and returns the position of its start.
    fn read_text(&mut self, file: &str, text: &Arc<str>) -> u32 {
        let base = self.sources.add(file, text.clone());
        self.output.reserve(text.len() / 4);
        let mut input = Input {
            frames: Vec::new(),
            bottom: Bottom::Lexer(Lexer::new(text, base)),
        };
        loop {
            let token = self.read(&mut input);
            match token.kind {
                TokenKind::Eof => break,
                TokenKind::Stray => {}
                TokenKind::Hash if token.starts_line && input.frames.is_empty() => {
                    if let Bottom::Lexer(lexer) = &mut input.bottom {
                        self.directive(lexer);
                    }
                }
                TokenKind::Identifier => {
                    if !self.expand(token, &mut input, 0) {
                        self.output.push(self.painted(token));
                    }
                }
                TokenKind::RightParen if self.ends_pragma() => self.pragma_operator(),
                _ => self.output.push(token),
            }
            if self.is_over_limit || self.diagnostics.is_full() {
                break;
            }
        }
        base
    }

    /// The tokens, the pragmas between them, and the macros.
    pub fn finish(self) -> (Vec<Token>, Vec<Pragma>, MacroTable) {
        (self.output, self.pragmas, self.macros)
    }

    fn read(&mut self, input: &mut Input<'_>) -> Token {
        while let Some(frame) = input.frames.last_mut() {
            if let Some(&token) = frame.tokens.get(frame.next) {
                frame.next += 1;
                return token;
            }
            let name = frame.name;
            input.frames.pop();
            self.set_active(name, false);
        }
        match &mut input.bottom {
            Bottom::Lexer(lexer) => lexer.next(self.interner, self.diagnostics),
            Bottom::Tokens(tokens, next) => {
                let token = tokens
                    .get(*next)
                    .copied()
                    .unwrap_or(end_token(Span::default()));
                *next += 1;
                token
            }
        }
    }

    /// Whether the next token is `(`; macro bodies that end before it are left, as the standard has it.
    fn next_is_paren(&mut self, input: &mut Input<'_>) -> bool {
        while let Some(frame) = input.frames.last() {
            if let Some(token) = frame.tokens.get(frame.next) {
                return token.kind == TokenKind::LeftParen;
            }
            let name = frame.name;
            input.frames.pop();
            self.set_active(name, false);
        }
        match &mut input.bottom {
            Bottom::Lexer(lexer) => {
                let mut ahead = lexer.clone();
                // Messages about this token come when it is really read.
                let token = ahead.next(self.interner, &mut Diagnostics::default());
                token.kind == TokenKind::LeftParen
            }
            Bottom::Tokens(tokens, next) => tokens
                .get(*next)
                .is_some_and(|token| token.kind == TokenKind::LeftParen),
        }
    }

    fn macro_of(&self, symbol: Symbol) -> Option<&Arc<Macro>> {
        self.macros.get(symbol.0 as usize).and_then(Option::as_ref)
    }

    fn is_active(&self, symbol: Symbol) -> bool {
        self.active.get(symbol.0 as usize).copied().unwrap_or(false)
    }

    fn set_active(&mut self, symbol: Symbol, active: bool) {
        if symbol == NO_SYMBOL {
            return;
        }
        let index = symbol.0 as usize;
        if index >= self.active.len() {
            self.active.resize(index + 1, false);
        }
        self.active[index] = active;
    }

    fn painted(&self, mut token: Token) -> Token {
        token.is_painted = token.is_painted || self.is_active(token.symbol);
        token
    }

    /// Handles the directive after a `#` that starts a line.
    fn directive(&mut self, lexer: &mut Lexer<'_>) {
        let mut ahead = lexer.clone();
        let name = ahead.next(self.interner, self.diagnostics);
        if name.starts_line || name.kind == TokenKind::Eof {
            return; // A lone `#` is the null directive.
        }
        *lexer = ahead;
        match name.symbol {
            words::INCLUDE => {
                let line = lexer.rest_of_line();
                self.include(line);
            }
            words::ERROR | words::WARNING => {
                let line = lexer.rest_of_line();
                let text = self.sources.text(line).trim().to_owned();
                if name.symbol == words::ERROR {
                    self.diagnostics
                        .error(name.span, format!("#error {text}"), None);
                } else {
                    self.diagnostics
                        .warning(name.span, format!("#warning {text}"), None);
                }
            }
            words::PRAGMA => {
                let line = lexer.rest_of_line();
                self.pragma(line, None);
            }
            words::LINE => {
                lexer.rest_of_line();
            }
            words::DEFINE => {
                let line = self.line_tokens(lexer);
                self.define(name.span, &line);
            }
            words::UNDEF => {
                let line = self.line_tokens(lexer);
                match line.first() {
                    Some(token) if token.kind == TokenKind::Identifier => {
                        if let Some(entry) = self.macros.get_mut(token.symbol.0 as usize) {
                            *entry = None;
                        }
                    }
                    _ => {
                        self.diagnostics
                            .error(name.span, "#undef needs the name of a macro", None);
                    }
                }
            }
            words::IF | words::IFDEF | words::IFNDEF => self.open_group(name, lexer),
            words::ELIF | words::ELIFDEF | words::ELIFNDEF | words::ELSE => {
                self.next_group(name, lexer);
            }
            words::ENDIF => {
                lexer.rest_of_line();
                if self.groups.pop().is_none() {
                    self.diagnostics
                        .error(name.span, "#endif without #if", Some("remove it"));
                }
            }
            _ => {
                lexer.rest_of_line();
                let text = self.sources.text(name.span).to_owned();
                self.diagnostics.error(name.span, format!("unknown directive #{text}"), Some("known are define, undef, if, ifdef, ifndef, elif, else, endif, include, error, warning, pragma, line"));
            }
        }
    }

    fn line_tokens(&mut self, lexer: &mut Lexer<'_>) -> Vec<Token> {
        let mut tokens = Vec::new();
        loop {
            let mut ahead = lexer.clone();
            let mut silent = Diagnostics::default();
            let token = ahead.next(self.interner, &mut silent);
            if token.kind == TokenKind::Eof || token.starts_line {
                return tokens;
            }
            if silent.has_errors() {
                lexer.next(self.interner, self.diagnostics);
            } else {
                *lexer = ahead;
            }
            tokens.push(token);
        }
    }

    fn open_group(&mut self, name: Token, lexer: &mut Lexer<'_>) {
        if self.groups.len() >= MAX_DEPTH {
            self.diagnostics.error(
                name.span,
                format!("#if is nested more than {MAX_DEPTH} deep"),
                None,
            );
            self.is_over_limit = true;
            return;
        }
        let is_taken = self.group_condition(name, lexer);
        self.groups.push(Group {
            opened_at: name.span,
            is_taken,
            has_else: false,
        });
        if !is_taken {
            self.skip_group(lexer);
        }
    }

    /// `#elif` or `#else` met while the group before it was compiled: skip to the end.
    fn next_group(&mut self, name: Token, lexer: &mut Lexer<'_>) {
        lexer.rest_of_line();
        let Some(group) = self.groups.last_mut() else {
            let text = self.interner.text_of(name.symbol).to_owned();
            self.diagnostics
                .error(name.span, format!("#{text} without #if"), None);
            return;
        };
        group.is_taken = true;
        self.note_else(name);
        self.skip_group(lexer);
    }

    /// Says what is wrong about another group behind `#else`, and remembers that there is one.
    fn note_else(&mut self, name: Token) {
        let Some(group) = self.groups.last_mut() else {
            return;
        };
        let is_else = name.symbol == words::ELSE;
        if group.has_else {
            let text = self.interner.text_of(name.symbol);
            let message = if is_else {
                "a second #else".to_owned()
            } else {
                format!("#{text} after #else")
            };
            self.diagnostics.error(name.span, message, None);
        }
        group.has_else |= is_else;
    }

    /// Skips to the group that is to be compiled, or to the `#endif`.
    fn skip_group(&mut self, lexer: &mut Lexer<'_>) {
        let mut depth = 0usize;
        loop {
            // Text that is not compiled may hold anything, so nothing is said about it.
            let mut silent = Diagnostics::default();
            let token = lexer.next(self.interner, &mut silent);
            if token.kind == TokenKind::Eof {
                return;
            }
            if token.kind != TokenKind::Hash || !token.starts_line {
                lexer.rest_of_line();
                continue;
            }
            let mut ahead = lexer.clone();
            let name = ahead.next(self.interner, &mut silent);
            if name.starts_line {
                continue;
            }
            *lexer = ahead;
            match name.symbol {
                words::IF | words::IFDEF | words::IFNDEF => depth += 1,
                words::ENDIF if depth > 0 => depth -= 1,
                words::ENDIF => {
                    lexer.rest_of_line();
                    self.groups.pop();
                    return;
                }
                words::ELSE if depth == 0 => {
                    lexer.rest_of_line();
                    let Some(group) = self.groups.last_mut() else {
                        return;
                    };
                    let was_taken = std::mem::replace(&mut group.is_taken, true);
                    self.note_else(name);
                    if !was_taken {
                        return;
                    }
                    continue;
                }
                words::ELIF | words::ELIFDEF | words::ELIFNDEF if depth == 0 => {
                    self.note_else(name);
                    let is_open = self
                        .groups
                        .last()
                        .is_some_and(|group| !group.is_taken && !group.has_else);
                    if is_open && self.group_condition(name, lexer) {
                        if let Some(group) = self.groups.last_mut() {
                            group.is_taken = true;
                        }
                        return;
                    }
                    if is_open {
                        continue;
                    }
                }
                _ => {}
            }
            lexer.rest_of_line();
        }
    }

    fn group_condition(&mut self, name: Token, lexer: &mut Lexer<'_>) -> bool {
        let line = self.line_tokens(lexer);
        if matches!(name.symbol, words::IF | words::ELIF) {
            return self.evaluate_condition(name.span, &line);
        }
        let wants_defined = matches!(name.symbol, words::IFDEF | words::ELIFDEF);
        match line.first() {
            Some(token) if token.kind == TokenKind::Identifier => {
                self.macro_of(token.symbol).is_some() == wants_defined
            }
            _ => {
                let text = self.interner.text_of(name.symbol).to_owned();
                self.diagnostics
                    .error(name.span, format!("#{text} needs a name"), None);
                false
            }
        }
    }

    fn include(&mut self, line: Span) {
        let text = self.sources.text(line).trim();
        let name = text
            .strip_prefix('<')
            .and_then(|rest| rest.split_once('>'))
            .or_else(|| text.strip_prefix('"').and_then(|rest| rest.split_once('"')));
        let span = Span {
            start: line.start
                + (self.sources.text(line).len() - self.sources.text(line).trim_start().len())
                    as u32,
            len: text.len() as u32,
        };
        match name {
            None => self
                .diagnostics
                .error(span, "#include needs <name> or \"name\"", None),
            Some((name, _)) if headers::is_built_in(name) => {
                if let Some((file, text)) = headers::text_of(name)
                    && self.included.insert(file)
                {
                    let text: Arc<str> = text.into();
                    self.read_text(file, &text);
                }
            }
            Some((name, _)) => {
                let message = format!("the header {name} is not known");
                self.diagnostics.error(span, message, Some("the usual HIP, CUDA and C/C++ headers are built in; paste the text of your own headers into the source"));
            }
        }
    }
}

fn end_token(site: Span) -> Token {
    Token {
        kind: TokenKind::Eof,
        starts_line: true,
        after_space: false,
        is_painted: false,
        symbol: NO_SYMBOL,
        span: site,
        site,
    }
}
