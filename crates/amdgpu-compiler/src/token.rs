//! Tokens of HIP-C.

use crate::interner::Symbol;
use crate::source::Span;

macro_rules! token_kinds {
    ($($name:ident $text:literal)*) => {
        /// What a token is. Punctuators by name; everything with a spelling of its own by class.
        #[derive(Clone, Copy, PartialEq, Eq, Debug, Hash)]
        #[repr(u8)]
        pub enum TokenKind {
            Eof, Identifier, Number, Character, String, Stray,
            $($name),*
        }

        impl TokenKind {
            /// How the token is written; for classes, what it is called.
            pub fn text(self) -> &'static str {
                match self {
                    Self::Eof => "the end of the source",
                    Self::Identifier => "a name",
                    Self::Number => "a number",
                    Self::Character => "a character",
                    Self::String => "a string",
                    Self::Stray => "a stray character",
                    $(Self::$name => $text),*
                }
            }
        }
    };
}

token_kinds! {
    LeftParen "(" RightParen ")" LeftBracket "[" RightBracket "]" LeftBrace "{" RightBrace "}"
    Semicolon ";" Comma "," Colon ":" ColonColon "::" Question "?" Dot "." Arrow "->" Ellipsis "..."
    Plus "+" Minus "-" Star "*" Slash "/" Percent "%" PlusPlus "++" MinusMinus "--"
    Amp "&" Pipe "|" Caret "^" Tilde "~" Bang "!" AmpAmp "&&" PipePipe "||"
    Less "<" Greater ">" LessEqual "<=" GreaterEqual ">=" EqualEqual "==" BangEqual "!=" ShiftLeft "<<" ShiftRight ">>"
    TripleLess "<<<" TripleGreater ">>>"
    Equal "=" PlusEqual "+=" MinusEqual "-=" StarEqual "*=" SlashEqual "/=" PercentEqual "%="
    AmpEqual "&=" PipeEqual "|=" CaretEqual "^=" ShiftLeftEqual "<<=" ShiftRightEqual ">>="
    Hash "#" HashHash "##"
}

/// A token; its text is found through `span` (where it is spelled), messages about it point at `site` (where it is used:
/// for tokens of a macro the place of the macro's call).
#[derive(Clone, Copy, Debug)]
pub struct Token {
    pub kind: TokenKind,
    /// First of its line.
    pub starts_line: bool,
    /// White space before it.
    pub after_space: bool,
    /// A macro's own name inside its expansion: never expanded again.
    pub is_painted: bool,
    /// Of identifiers.
    pub symbol: Symbol,
    pub span: Span,
    pub site: Span,
}

impl Token {
    /// Whether the token is this word.
    pub fn is_word(&self, word: Symbol) -> bool {
        self.kind == TokenKind::Identifier && self.symbol == word
    }
}
