//! The top level of a source: which declarations are device code and are parsed, which are host code and are skipped.

use super::{Parse, Parser};
use crate::ast::Item;
use crate::interner::{Symbol, words};
use crate::source::Span;
use crate::token::TokenKind;

/// What the first tokens of a declaration show.
#[allow(clippy::struct_excessive_bools)] // Each is a fact of its own.
#[derive(Default)]
pub(super) struct Head {
    pub is_device: bool,
    pub is_constant: bool,
    pub is_constexpr: bool,
    pub is_operator: bool,
    pub has_function_shape: bool,
    pub ends_with_body: bool,
    pub starts_value: bool,
    pub mentions_std: bool,
    pub name: Option<(Symbol, Span)>,
}

impl Parser<'_> {
    pub(super) fn top_level(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        self.skip_attributes()?;
        let first = *self.peek();
        match first.kind {
            TokenKind::Semicolon => {
                self.bump();
                return Ok(());
            }
            TokenKind::RightBrace => {
                return self.fail(
                    first.site,
                    "this '}' closes nothing",
                    Some("remove it, or look for a missing '{' above"),
                );
            }
            _ => {}
        }
        match first.symbol {
            words::EXTERN if self.peek_at(1).kind == TokenKind::String => {
                self.bump();
                self.bump();
                if self.at(TokenKind::LeftBrace) {
                    self.scope(items)
                } else {
                    self.top_level(items)
                }
            }
            words::NAMESPACE => self.namespace(items),
            words::INLINE if self.peek_at(1).is_word(words::NAMESPACE) => self.namespace(items),
            words::USING
                if self.peek_at(1).is_word(words::NAMESPACE)
                    || self.peek_at(2).kind != TokenKind::Equal =>
            {
                self.using(items)
            }
            words::TEMPLATE => self.template(items),
            words::INSTANTIATE => self.requested_instance(items),
            words::STATIC_ASSERT | words::TYPEDEF | words::USING | words::ENUM => {
                self.declaration(items)
            }
            words::STRUCT | words::CLASS | words::UNION => {
                if self.is_host_struct() {
                    self.skip_host_struct();
                    return Ok(());
                }
                self.declaration(items)
            }
            _ => self.function_or_variable(items),
        }
    }

    /// `{ … }` of a namespace or `extern "C"`.
    pub(super) fn scope(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        let open = self.expect(TokenKind::LeftBrace, "here")?;
        self.nested(|parser| {
            while !matches!(parser.kind(), TokenKind::RightBrace | TokenKind::Eof) {
                let before = parser.next;
                if parser.top_level(items).is_err() {
                    parser.recover_item(before);
                }
                if parser.next == before {
                    parser.bump();
                }
            }
            Ok(())
        })?;
        if !self.accept(TokenKind::RightBrace) {
            return self.fail(
                open.site,
                "this '{' is never closed",
                Some("add the missing '}'"),
            );
        }
        Ok(())
    }

    fn function_or_variable(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        let head = self.head();
        let start = self.peek().site;
        if head.is_device {
            return self.declaration(items);
        }
        let is_host = head.has_function_shape || head.mentions_std || !head.is_constant;
        if !is_host {
            let before = self.next;
            let mark = self.diagnostics.mark();
            let result = self.declaration(items);
            if result.is_ok() || head.is_constexpr {
                return result;
            }
            // A constant of the host, with a type or a value that only the host has.
            self.diagnostics.forget(mark);
            self.angle_closes = false;
            self.split = None;
            self.next = before;
        }
        let looks_like_code = head.name.is_some() || head.has_function_shape || head.mentions_std;
        if !looks_like_code {
            let found = self.shown(self.peek());
            return self.fail(
                start,
                format!("expected a declaration, found {found}"),
                Some("kernels start with __global__ void name(...)"),
            );
        }
        self.note_host(head.name, start);
        self.skip_declaration();
        Ok(())
    }

    /// Whether the struct here has parts that only host code can use: member functions, the standard library, bases. With
    /// `__device__` in it, it is meant for kernels, and is refused where it is parsed.
    pub(super) fn is_host_struct(&self) -> bool {
        let mut index = 1;
        let mut depth = 0usize;
        let mut brackets = 0usize;
        let (mut is_host, mut has_bases) = (false, false);
        loop {
            let token = self.peek_at(index);
            match token.kind {
                TokenKind::Eof => return false,
                TokenKind::Semicolon if depth == 0 => return false,
                TokenKind::LeftBrace => depth += 1,
                TokenKind::RightBrace => {
                    depth = depth.saturating_sub(1);
                    if depth == 0 {
                        return is_host;
                    }
                }
                TokenKind::LeftBracket => brackets += 1,
                TokenKind::RightBracket => brackets = brackets.saturating_sub(1),
                TokenKind::LeftParen if depth > 0 && brackets == 0 => {
                    is_host |= !is_attribute_word(self.peek_at(index - 1).symbol);
                }
                TokenKind::Colon if depth == 0 => has_bases = true,
                // A base of the host makes a struct of the host.
                TokenKind::Identifier
                    if depth == 0 && has_bases && self.host_types.contains(&token.symbol) =>
                {
                    is_host = true;
                }
                TokenKind::Identifier => match token.symbol {
                    words::DEVICE | words::HOST | words::CONSTEXPR => return false,
                    words::VIRTUAL | words::OPERATOR => is_host = true,
                    words::STD => is_host |= !self.is_known_of_std(index),
                    _ => {}
                },
                _ => {}
            }
            index += 1;
        }
    }

    fn skip_host_struct(&mut self) {
        let name = *self.peek_at(1);
        if name.kind == TokenKind::Identifier {
            self.host_types.insert(name.symbol);
            self.note_host(Some((name.symbol, name.site)), name.site);
        }
        self.skip_declaration();
    }

    pub(super) fn note_host(&mut self, name: Option<(Symbol, Span)>, start: Span) {
        if let Some((name, _)) = name {
            self.host_names.insert(name);
        }
        if self.host_span.is_none() {
            self.host_span = Some(start);
        }
    }

    /// Looks at the declaration here up to its body, its value or its end, without taking anything.
    pub(super) fn head(&self) -> Head {
        let mut head = Head::default();
        let mut parens = 0usize;
        // Nothing is compared before the value, so that these enclose arguments of templates.
        let mut angles = 0usize;
        let mut index = 0;
        let mut last_name = None;
        let mut points_to_constant = false;
        loop {
            let token = self.peek_at(index);
            match token.kind {
                TokenKind::Eof => break,
                TokenKind::Semicolon if parens == 0 => break,
                TokenKind::LeftBrace if parens == 0 => {
                    head.ends_with_body = true;
                    break;
                }
                TokenKind::Equal if parens == 0 && !head.is_operator => {
                    head.starts_value = true;
                    break;
                }
                TokenKind::LeftParen => {
                    // `__launch_bounds__(256)` and `__attribute__((x))` have parentheses without being functions.
                    let follows_attribute =
                        index > 0 && is_attribute_word(self.peek_at(index - 1).symbol);
                    if parens == 0 && !follows_attribute && !head.has_function_shape {
                        head.has_function_shape = true;
                        head.name = last_name;
                    }
                    parens += 1;
                }
                TokenKind::Less => angles += 1,
                TokenKind::Greater => angles = angles.saturating_sub(1),
                TokenKind::ShiftRight => angles = angles.saturating_sub(2),
                // `const char* name` may change.
                TokenKind::Star if parens + angles == 0 => points_to_constant = true,
                TokenKind::LeftBracket => parens += 1,
                TokenKind::RightParen | TokenKind::RightBracket => {
                    parens = parens.saturating_sub(1);
                }
                TokenKind::Identifier => {
                    match token.symbol {
                        words::GLOBAL
                        | words::DEVICE
                        | words::CONSTANT
                        | words::SHARED
                        | words::MANAGED => head.is_device = true,
                        words::CONSTEXPR => {
                            (head.is_constant, head.is_constexpr) = (true, true);
                            // A constexpr function may be called on the device.
                            head.is_device |= self.is_function_ahead(index);
                        }
                        words::CONST => {
                            head.is_constant = true;
                            points_to_constant = false;
                        }
                        words::OPERATOR => head.is_operator = true,
                        words::STD if parens == 0 => {
                            head.mentions_std |= !self.is_known_of_std(index);
                        }
                        _ => {}
                    }
                    if parens == 0 {
                        last_name = Some((token.symbol, token.site));
                    }
                }
                _ => {}
            }
            index += 1;
        }
        head.is_constant &= !points_to_constant;
        if head.name.is_none() {
            head.name = last_name.filter(|_| index > 1);
        }
        head
    }

    /// Whether the name after the `std::` at a token is one the compiler has.
    fn is_known_of_std(&self, index: usize) -> bool {
        let name = self.peek_at(index + 2);
        name.kind == TokenKind::Identifier
            && (self.type_names.contains(&name.symbol)
                || self.template_names.contains(&name.symbol)
                || self.text(name.symbol).ends_with("_v")
                || matches!(name.symbol, words::FORWARD | words::MOVE))
    }

    /// Whether the declaration after token `index` has `name(` before any `=`, `;` or `{`.
    fn is_function_ahead(&self, index: usize) -> bool {
        let mut index = index;
        loop {
            match self.peek_at(index).kind {
                TokenKind::LeftParen => return true,
                TokenKind::Identifier
                | TokenKind::Star
                | TokenKind::Amp
                | TokenKind::ColonColon => index += 1,
                _ => return false,
            }
        }
    }
}

fn is_attribute_word(word: Symbol) -> bool {
    matches!(
        word,
        words::LAUNCH_BOUNDS | words::ATTRIBUTE | words::ALIGN | words::ALIGNAS
    )
}
