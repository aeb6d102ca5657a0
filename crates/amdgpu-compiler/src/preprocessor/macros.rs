//! Macro definitions and their expansion: arguments expanded first, `#`, `##`, `__VA_ARGS__`, no macro inside itself.

use std::sync::Arc;

use super::{Bottom, Frame, Input, MAX_DEPTH, Preprocessor, end_token};
use crate::interner::{Symbol, words};
use crate::lexer::{Lexer, NO_SYMBOL};
use crate::source::Span;
use crate::token::{Token, TokenKind};

/// Longest token that `#` and `##` may make: nested calls could double it without end.
const MAX_MADE_TOKEN_BYTES: usize = 64 * 1024;

/// Work that a token of an expansion makes, the reading of it included.
const TOKEN_UNITS: usize = 4;

/// A macro.
#[derive(Debug)]
pub struct Macro {
    /// `None` for object-like macros.
    parameters: Option<Vec<Symbol>>,
    is_variadic: bool,
    body: Vec<Token>,
}

impl Preprocessor<'_> {
    /// `#define` with the tokens after it.
    pub(super) fn define(&mut self, at: Span, line: &[Token]) {
        let Some((name, rest)) = line
            .split_first()
            .filter(|(name, _)| name.kind == TokenKind::Identifier)
        else {
            self.diagnostics.error(at, "#define needs a name", None);
            return;
        };
        if name.symbol == words::DEFINED {
            self.diagnostics
                .error(name.span, "'defined' cannot be a macro", None);
            return;
        }
        let is_function_like = rest
            .first()
            .is_some_and(|token| token.kind == TokenKind::LeftParen && !token.after_space);
        let definition = if is_function_like {
            match self.macro_parameters(name, &rest[1..]) {
                Some(definition) => definition,
                None => return,
            }
        } else {
            Macro {
                parameters: None,
                is_variadic: false,
                body: rest.to_vec(),
            }
        };
        let index = name.symbol.0 as usize;
        if index >= self.macros.len() {
            self.macros.resize(index + 1, None);
        }
        self.macros[index] = Some(Arc::new(definition));
    }

    fn macro_parameters(&mut self, name: &Token, tokens: &[Token]) -> Option<Macro> {
        let mut parameters = Vec::new();
        let mut is_variadic = false;
        let mut index = 0;
        loop {
            let token = tokens.get(index).copied();
            index += 1;
            match token.map(|token| (token.kind, token.symbol)) {
                Some((TokenKind::RightParen, _)) => break,
                Some((TokenKind::Comma, _)) if index > 1 => {}
                Some((TokenKind::Ellipsis, _)) => {
                    is_variadic = true;
                    parameters.push(words::VA_ARGS);
                }
                Some((TokenKind::Identifier, symbol)) if !is_variadic => parameters.push(symbol),
                _ => {
                    self.diagnostics.error(
                        name.span,
                        "the parameter list of this macro is malformed",
                        Some("write #define NAME(a, b) body"),
                    );
                    return None;
                }
            }
        }
        Some(Macro {
            parameters: Some(parameters),
            is_variadic,
            body: tokens[index..].to_vec(),
        })
    }

    /// Expands the macro named by `token`, if it names one that may be expanded here. The result is read next from `input`.
    pub(super) fn expand(&mut self, token: Token, input: &mut Input<'_>, depth: usize) -> bool {
        if token.is_painted {
            return false;
        }
        if matches!(
            token.symbol,
            words::LINE_MACRO | words::FILE_MACRO | words::COUNTER_MACRO
        ) {
            let replacement = self.dynamic_macro(token);
            input.frames.push(Frame {
                tokens: vec![replacement],
                next: 0,
                name: NO_SYMBOL,
            });
            return true;
        }
        // C decides where <assert.h> is included; here the place of use counts, since the header is always there.
        let is_switched_off =
            token.symbol == words::ASSERT && self.macro_of(words::NDEBUG).is_some();
        let name = if is_switched_off {
            words::NO_ASSERT
        } else {
            token.symbol
        };
        let Some(definition) = self.macro_of(name) else {
            return false;
        };
        if self.is_active(token.symbol) {
            return false;
        }
        let definition = definition.clone();
        let mut tokens = match &definition.parameters {
            None => self.substitute(&definition, &[], token, depth),
            Some(parameters) => {
                if !self.next_is_paren(input) {
                    return false;
                }
                let Some(arguments) =
                    self.arguments(token, input, parameters.len(), definition.is_variadic)
                else {
                    return true;
                };
                self.substitute(&definition, &arguments, token, depth)
            }
        };
        if let Some(first) = tokens.first_mut() {
            first.after_space = token.after_space;
        }
        crate::effort::spend(TOKEN_UNITS * tokens.len());
        self.expanded += tokens.len();
        if self.expanded > self.most_expanded {
            self.over_limit(
                token.site,
                format!("macros expand to more than {} tokens", self.most_expanded),
            );
            return true;
        }
        self.set_active(token.symbol, true);
        input.frames.push(Frame {
            tokens,
            next: 0,
            name: token.symbol,
        });
        true
    }

    fn over_limit(&mut self, site: Span, message: String) {
        if !self.is_over_limit {
            self.diagnostics.error(
                site,
                message,
                Some("look for macros that double their argument"),
            );
        }
        self.is_over_limit = true;
    }

    fn dynamic_macro(&mut self, token: Token) -> Token {
        let (kind, text) = match token.symbol {
            words::LINE_MACRO => (
                TokenKind::Number,
                self.sources.line(token.site.start).to_string(),
            ),
            words::COUNTER_MACRO => {
                self.counter += 1;
                (TokenKind::Number, (self.counter - 1).to_string())
            }
            _ => (
                TokenKind::String,
                format!("{:?}", self.sources.location(token.site.start).file),
            ),
        };
        self.scratch(kind, &text, token)
    }

    /// A token whose spelling is nowhere in the source.
    fn scratch(&mut self, kind: TokenKind, text: &str, like: Token) -> Token {
        if text.len() > MAX_MADE_TOKEN_BYTES {
            self.over_limit(
                like.site,
                format!("# or ## makes a token of more than {MAX_MADE_TOKEN_BYTES} bytes"),
            );
            return like;
        }
        crate::effort::spend(text.len());
        self.expanded += text.len();
        let start = self.sources.add("<macro>", text.into());
        let symbol = if kind == TokenKind::Identifier {
            self.interner.intern(text)
        } else {
            NO_SYMBOL
        };
        Token {
            kind,
            symbol,
            span: Span {
                start,
                len: text.len() as u32,
            },
            ..like
        }
    }

    /// Reads the arguments of a macro call, `(` included.
    fn arguments(
        &mut self,
        name: Token,
        input: &mut Input<'_>,
        wanted: usize,
        is_variadic: bool,
    ) -> Option<Vec<Vec<Token>>> {
        self.read(input);
        let mut arguments = vec![Vec::new()];
        let mut depth = 0usize;
        loop {
            let token = self.read(input);
            let splits = depth == 0 && !(is_variadic && arguments.len() == wanted);
            match token.kind {
                TokenKind::Eof => {
                    self.diagnostics.error(
                        name.site,
                        "this macro call is never closed",
                        Some("add the missing )"),
                    );
                    return None;
                }
                TokenKind::RightParen if depth == 0 => break,
                TokenKind::Comma if splits => {
                    arguments.push(Vec::new());
                    continue;
                }
                TokenKind::LeftParen => depth += 1,
                TokenKind::RightParen => depth -= 1,
                _ => {}
            }
            let token = self.painted(token);
            if let Some(argument) = arguments.last_mut() {
                argument.push(token);
            }
        }
        if wanted == 0 && arguments.len() == 1 && arguments[0].is_empty() {
            arguments.clear();
        }
        if is_variadic && arguments.len() + 1 == wanted {
            arguments.push(Vec::new());
        }
        if arguments.len() != wanted {
            let text = self.interner.text_of(name.symbol).to_owned();
            let message = format!(
                "the macro {text} takes {wanted} argument(s), and is given {}",
                arguments.len()
            );
            self.diagnostics.error(name.site, message, None);
            return None;
        }
        Some(arguments)
    }

    /// The body with its parameters replaced.
    fn substitute(
        &mut self,
        definition: &Macro,
        arguments: &[Vec<Token>],
        call: Token,
        depth: usize,
    ) -> Vec<Token> {
        let parameters = definition.parameters.as_deref().unwrap_or(&[]);
        let parameter_of = |token: &Token| match token.kind {
            TokenKind::Identifier => parameters
                .iter()
                .position(|&parameter| parameter == token.symbol),
            _ => None,
        };
        let mut expanded: Vec<Option<Vec<Token>>> = vec![None; arguments.len()];
        let body = &definition.body;
        let mut result: Vec<Token> = Vec::with_capacity(body.len());
        let mut index = 0;
        while index < body.len() {
            let token = body[index];
            let pastes_next = body
                .get(index + 1)
                .is_some_and(|next| next.kind == TokenKind::HashHash);
            if token.kind == TokenKind::HashHash && index > 0 && index + 1 < body.len() {
                let right = body[index + 1];
                let right_tokens = parameter_of(&right)
                    .map_or_else(|| vec![right], |parameter| arguments[parameter].clone());
                self.paste(&mut result, right_tokens, call);
                index += 2;
                continue;
            }
            let hash_parameter = body
                .get(index + 1)
                .and_then(parameter_of)
                .filter(|_| token.kind == TokenKind::Hash && definition.parameters.is_some());
            if let Some(parameter) = hash_parameter {
                let text = self.stringified(&arguments[parameter]);
                let string = self.scratch(TokenKind::String, &text, call);
                result.push(string);
                index += 2;
                continue;
            }
            match parameter_of(&token) {
                Some(parameter) if pastes_next => result.extend(&arguments[parameter]),
                Some(parameter) => {
                    if expanded[parameter].is_none() {
                        expanded[parameter] =
                            Some(self.expand_all(&arguments[parameter], call, depth + 1));
                    }
                    let tokens = expanded[parameter].as_deref().unwrap_or(&[]);
                    if result.len() + tokens.len() > self.most_expanded {
                        self.over_limit(
                            call.site,
                            format!("macros expand to more than {} tokens", self.most_expanded),
                        );
                        return Vec::new();
                    }
                    crate::effort::spend(TOKEN_UNITS * tokens.len());
                    let first = result.len();
                    result.extend(tokens);
                    // The space before an argument is that before the parameter, which # of an outer macro shows.
                    if let Some(first) = result.get_mut(first) {
                        first.after_space = token.after_space;
                    }
                }
                None => result.push(token),
            }
            index += 1;
        }
        for token in &mut result {
            token.site = call.site;
            token.starts_line = false;
        }
        result
    }

    /// Expands a token list completely, on its own.
    pub(super) fn expand_all(&mut self, tokens: &[Token], call: Token, depth: usize) -> Vec<Token> {
        let is_plain = tokens.iter().all(|token| {
            token.kind != TokenKind::Identifier || self.macro_of(token.symbol).is_none()
        });
        if is_plain {
            return tokens.to_vec();
        }
        if depth > MAX_DEPTH {
            self.over_limit(
                call.site,
                format!("macro calls are nested more than {MAX_DEPTH} deep"),
            );
            return Vec::new();
        }
        let mut input = Input {
            frames: Vec::new(),
            bottom: Bottom::Tokens(tokens.to_vec(), 0),
        };
        let mut result = Vec::with_capacity(tokens.len());
        loop {
            let token = self.read(&mut input);
            if token.kind == TokenKind::Eof || self.is_over_limit {
                for frame in &input.frames {
                    self.set_active(frame.name, false);
                }
                return result;
            }
            if token.kind != TokenKind::Identifier || !self.expand(token, &mut input, depth) {
                result.push(self.painted(token));
            }
        }
    }

    fn paste(&mut self, result: &mut Vec<Token>, right: Vec<Token>, call: Token) {
        let mut right = right.into_iter();
        let Some(first) = right.next() else { return };
        let Some(left) = result.pop() else {
            result.push(first);
            result.extend(right);
            return;
        };
        let text = format!(
            "{}{}",
            self.sources.text(left.span),
            self.sources.text(first.span)
        );
        let mut lexer = Lexer::new(&text, 0);
        let mut silent = crate::diagnostics::Diagnostics::default();
        let joined = lexer.next(self.interner, &mut silent);
        if joined.span.len as usize == text.len() && !silent.has_errors() {
            let token = self.scratch(joined.kind, &text, call);
            result.push(token);
        } else {
            self.diagnostics.error(
                call.site,
                format!("## makes '{text}', which is not one token"),
                None,
            );
            result.push(left);
            result.push(first);
        }
        result.extend(right);
    }

    fn stringified(&self, tokens: &[Token]) -> String {
        let mut text = String::from("\"");
        for (index, token) in tokens.iter().enumerate() {
            if index > 0 && token.after_space {
                text.push(' ');
            }
            let spelling = self.sources.text(token.span);
            if matches!(token.kind, TokenKind::String | TokenKind::Character) {
                text.push_str(&spelling.replace('\\', "\\\\").replace('"', "\\\""));
            } else {
                text.push_str(spelling);
            }
        }
        text.push('"');
        text
    }
}

/// Ends a token list for readers that look one ahead.
pub(super) fn terminated(mut tokens: Vec<Token>, at: Span) -> Vec<Token> {
    tokens.push(end_token(at));
    tokens
}
