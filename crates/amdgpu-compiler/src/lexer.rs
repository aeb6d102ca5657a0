//! Text to tokens. Works on bytes, allocates nothing but new names, and always moves forward.

use crate::diagnostics::Diagnostics;
use crate::interner::{Interner, Symbol};
use crate::source::Span;
use crate::token::{Token, TokenKind};

/// A cursor over one source text. Cloning it is how the preprocessor looks ahead.
#[derive(Clone, Debug)]
pub struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    position: usize,
    base: u32,
    at_line_start: bool,
}

/// No symbol: tokens that are not names.
pub const NO_SYMBOL: Symbol = Symbol(u32::MAX);

impl<'a> Lexer<'a> {
    /// A lexer over `text`, whose first byte has the position `base`.
    pub fn new(text: &'a str, base: u32) -> Self {
        // A byte-order mark is what some editors write; it has no meaning.
        let position = if text.starts_with('\u{feff}') { 3 } else { 0 };
        Self {
            text,
            bytes: text.as_bytes(),
            position,
            base,
            at_line_start: true,
        }
    }

    /// The next token; `Eof` again and again at the end.
    pub fn next(&mut self, interner: &mut Interner, diagnostics: &mut Diagnostics) -> Token {
        let after_space = self.skip_blank(diagnostics);
        let starts_line = std::mem::replace(&mut self.at_line_start, false);
        let start = self.position;
        let mut symbol = NO_SYMBOL;
        let kind = match self.peek(0) {
            None => TokenKind::Eof,
            Some(b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$') => {
                while matches!(
                    self.peek(0),
                    Some(b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'$' | b'0'..=b'9')
                ) {
                    self.position += 1;
                }
                match self.peek(0) {
                    Some(b'"') if self.text[start..self.position].ends_with('R') => {
                        self.raw_string(diagnostics)
                    }
                    _ => {
                        symbol = interner.intern(&self.text[start..self.position]);
                        TokenKind::Identifier
                    }
                }
            }
            Some(b'0'..=b'9') => self.number(),
            Some(b'.') if matches!(self.peek(1), Some(b'0'..=b'9')) => self.number(),
            Some(quote @ (b'"' | b'\'')) => self.quoted(quote, diagnostics),
            Some(byte) => self.punctuator(byte, diagnostics),
        };
        let span = Span {
            start: self.base + start as u32,
            len: (self.position - start) as u32,
        };
        Token {
            kind,
            starts_line,
            after_space,
            is_painted: false,
            symbol,
            span,
            site: span,
        }
    }

    /// Skips the rest of the line, for `#error` texts and skipped groups.
    pub fn rest_of_line(&mut self) -> Span {
        let start = self.position;
        loop {
            if let Some(length) = self.bytes[self.position..]
                .iter()
                .position(|&byte| byte == b'\n')
            {
                self.position += length;
                let line = &self.bytes[start..self.position];
                let spliced = line.ends_with(b"\\") || line.ends_with(b"\\\r");
                if !spliced {
                    break;
                }
                self.position += 1;
            } else {
                self.position = self.bytes.len();
                break;
            }
        }
        Span {
            start: self.base + start as u32,
            len: (self.position - start) as u32,
        }
    }

    fn peek(&self, ahead: usize) -> Option<u8> {
        self.bytes.get(self.position + ahead).copied()
    }

    /// Skips white space and comments; tells whether there was any.
    fn skip_blank(&mut self, diagnostics: &mut Diagnostics) -> bool {
        let start = self.position;
        loop {
            match self.peek(0) {
                Some(b'\n') => {
                    self.at_line_start = true;
                    self.position += 1;
                }
                Some(b' ' | b'\t' | b'\r' | 0x0b | 0x0c) => self.position += 1,
                Some(b'\\') if self.splice_length() > 0 => self.position += self.splice_length(),
                Some(b'/') if self.peek(1) == Some(b'/') => {
                    self.rest_of_line();
                }
                Some(b'/') if self.peek(1) == Some(b'*') => self.block_comment(diagnostics),
                _ => return self.position > start,
            }
        }
    }

    fn block_comment(&mut self, diagnostics: &mut Diagnostics) {
        let start = self.position;
        if let Some(length) = self.text[start + 2..].find("*/") {
            self.position = start + 2 + length + 2;
        } else {
            let span = Span {
                start: self.base + start as u32,
                len: 2,
            };
            diagnostics.error(span, "this comment is never closed", Some("end it with */"));
            self.position = self.bytes.len();
        }
    }

    /// Bytes of a backslash-newline at the cursor.
    fn splice_length(&self) -> usize {
        match (self.peek(1), self.peek(2)) {
            (Some(b'\n'), _) => 2,
            (Some(b'\r'), Some(b'\n')) => 3,
            _ => 0,
        }
    }

    /// A preprocessing number: anything that starts like one, judged when it is used.
    fn number(&mut self) -> TokenKind {
        self.position += 1;
        while let Some(byte) = self.peek(0) {
            let is_exponent = matches!(self.bytes[self.position - 1], b'e' | b'E' | b'p' | b'P');
            match byte {
                b'0'..=b'9' | b'a'..=b'z' | b'A'..=b'Z' | b'_' | b'.' => self.position += 1,
                b'\'' if matches!(self.peek(1), Some(b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F')) => {
                    self.position += 2;
                }
                b'+' | b'-' if is_exponent && !self.is_hexadecimal_integer() => self.position += 1,
                _ => break,
            }
        }
        TokenKind::Number
    }

    /// `0xe+1` is three tokens to every reader; C's grammar makes it one. Readers win.
    fn is_hexadecimal_integer(&self) -> bool {
        let bytes = &self.bytes[..self.position];
        let start = bytes
            .iter()
            .rposition(|byte| !(byte.is_ascii_alphanumeric() || *byte == b'.'))
            .map_or(0, |index| index + 1);
        let number = &bytes[start..];
        number.len() > 2
            && number[0] == b'0'
            && matches!(number[1], b'x' | b'X')
            && matches!(number.last(), Some(b'e' | b'E'))
    }

    fn quoted(&mut self, quote: u8, diagnostics: &mut Diagnostics) -> TokenKind {
        let start = self.position;
        self.position += 1;
        loop {
            match self.peek(0) {
                Some(b'\\') if self.splice_length() > 0 => self.position += self.splice_length(),
                Some(b'\\') if self.peek(1).is_some() => self.position += 2,
                Some(byte) if byte == quote => {
                    self.position += 1;
                    break;
                }
                None | Some(b'\n') => {
                    let span = Span {
                        start: self.base + start as u32,
                        len: 1,
                    };
                    let what = if quote == b'"' { "string" } else { "character" };
                    diagnostics.error(
                        span,
                        format!("this {what} is not closed on its line"),
                        Some("add the closing quote"),
                    );
                    break;
                }
                Some(_) => self.position += 1,
            }
        }
        // An escape may have ended in the middle of a character.
        while !self.text.is_char_boundary(self.position) {
            self.position += 1;
        }
        if quote == b'"' {
            TokenKind::String
        } else {
            TokenKind::Character
        }
    }

    fn raw_string(&mut self, diagnostics: &mut Diagnostics) -> TokenKind {
        let start = self.position;
        let end = self.text[start + 1..]
            .find('(')
            .filter(|&length| length <= 16)
            .and_then(|length| {
                let close = format!("){}\"", &self.text[start + 1..start + 1 + length]);
                self.text[start..]
                    .find(&close)
                    .map(|offset| start + offset + close.len())
            });
        if let Some(end) = end {
            self.position = end;
        } else {
            let span = Span {
                start: self.base + start as u32,
                len: 1,
            };
            diagnostics.error(span, "this raw string is never closed", None);
            self.position = self.bytes.len();
        }
        TokenKind::String
    }

    fn punctuator(&mut self, byte: u8, diagnostics: &mut Diagnostics) -> TokenKind {
        use TokenKind as K;
        let second = self.peek(1).unwrap_or(0);
        let third = self.peek(2).unwrap_or(0);
        let (kind, length) = match (byte, second, third) {
            (b'<', b'<', b'<') => (K::TripleLess, 3),
            (b'>', b'>', b'>') => (K::TripleGreater, 3),
            (b'<', b'<', b'=') => (K::ShiftLeftEqual, 3),
            (b'>', b'>', b'=') => (K::ShiftRightEqual, 3),
            (b'.', b'.', b'.') => (K::Ellipsis, 3),
            (b'<', b'<', _) => (K::ShiftLeft, 2),
            (b'>', b'>', _) => (K::ShiftRight, 2),
            (b'<', b'=', _) => (K::LessEqual, 2),
            (b'>', b'=', _) => (K::GreaterEqual, 2),
            (b'=', b'=', _) => (K::EqualEqual, 2),
            (b'!', b'=', _) => (K::BangEqual, 2),
            (b'&', b'&', _) => (K::AmpAmp, 2),
            (b'|', b'|', _) => (K::PipePipe, 2),
            (b'+', b'+', _) => (K::PlusPlus, 2),
            (b'-', b'-', _) => (K::MinusMinus, 2),
            (b'-', b'>', _) => (K::Arrow, 2),
            (b'+', b'=', _) => (K::PlusEqual, 2),
            (b'-', b'=', _) => (K::MinusEqual, 2),
            (b'*', b'=', _) => (K::StarEqual, 2),
            (b'/', b'=', _) => (K::SlashEqual, 2),
            (b'%', b'=', _) => (K::PercentEqual, 2),
            (b'&', b'=', _) => (K::AmpEqual, 2),
            (b'|', b'=', _) => (K::PipeEqual, 2),
            (b'^', b'=', _) => (K::CaretEqual, 2),
            (b':', b':', _) => (K::ColonColon, 2),
            (b'#', b'#', _) => (K::HashHash, 2),
            _ => (single_punctuator(byte), 1),
        };
        if kind == K::Stray {
            return self.stray(diagnostics);
        }
        self.position += length;
        kind
    }

    /// A run of characters that mean nothing here is told once.
    fn stray(&mut self, diagnostics: &mut Diagnostics) -> TokenKind {
        let start = self.position;
        let first = self.text[start..].chars().next().unwrap_or(' ');
        while let Some(character) = self.text[self.position..].chars().next() {
            if character.is_ascii() && character != first {
                break;
            }
            self.position += character.len_utf8();
        }
        let span = Span {
            start: self.base + start as u32,
            len: (self.position - start) as u32,
        };
        let shown = first.escape_debug();
        diagnostics.error(
            span,
            format!("the character '{shown}' has no meaning in HIP-C"),
            Some("remove it; names are ASCII letters, digits and _"),
        );
        TokenKind::Stray
    }
}

fn single_punctuator(byte: u8) -> TokenKind {
    use TokenKind as K;
    match byte {
        b'(' => K::LeftParen,
        b')' => K::RightParen,
        b'[' => K::LeftBracket,
        b']' => K::RightBracket,
        b'{' => K::LeftBrace,
        b'}' => K::RightBrace,
        b';' => K::Semicolon,
        b',' => K::Comma,
        b':' => K::Colon,
        b'?' => K::Question,
        b'.' => K::Dot,
        b'+' => K::Plus,
        b'-' => K::Minus,
        b'*' => K::Star,
        b'/' => K::Slash,
        b'%' => K::Percent,
        b'&' => K::Amp,
        b'|' => K::Pipe,
        b'^' => K::Caret,
        b'~' => K::Tilde,
        b'!' => K::Bang,
        b'<' => K::Less,
        b'>' => K::Greater,
        b'=' => K::Equal,
        b'#' => K::Hash,
        _ => K::Stray,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kinds(text: &str) -> Vec<TokenKind> {
        let mut interner = Interner::new();
        let mut diagnostics = Diagnostics::default();
        let mut lexer = Lexer::new(text, 0);
        let mut kinds = Vec::new();
        loop {
            let token = lexer.next(&mut interner, &mut diagnostics);
            if token.kind == TokenKind::Eof {
                return kinds;
            }
            kinds.push(token.kind);
        }
    }

    #[test]
    fn longest_punctuator_wins() {
        use TokenKind as K;
        assert_eq!(
            kinds("a>>=b->c<<<d"),
            [
                K::Identifier,
                K::ShiftRightEqual,
                K::Identifier,
                K::Arrow,
                K::Identifier,
                K::TripleLess,
                K::Identifier
            ]
        );
    }

    #[test]
    fn numbers_take_their_exponent_and_suffix() {
        assert_eq!(
            kinds("1.5e-3f .5 0x1.8p+3 1'000ull"),
            [TokenKind::Number; 4]
        );
        assert_eq!(kinds("0xe+1").len(), 3);
    }

    #[test]
    fn comments_and_spliced_lines_are_blank() {
        assert_eq!(
            kinds("a // b \\\n c\n/* d */ e"),
            [TokenKind::Identifier; 2]
        );
    }

    #[test]
    fn unclosed_things_end_at_the_end() {
        assert_eq!(kinds("/* abc"), []);
        assert_eq!(
            kinds("\"abc\nx"),
            [TokenKind::String, TokenKind::Identifier]
        );
        assert_eq!(kinds("R\"x(abc"), [TokenKind::String]);
    }
}
