//! Specifiers: the words before the first declarator.

use super::{Parse, Parser};
use crate::ast::{Expr, TypeExpr, TypeKind};
use crate::interner::{Symbol, words};
use crate::token::TokenKind;
use crate::types::ScalarType;

/// Everything before the first declarator.
#[allow(clippy::struct_excessive_bools)] // One for each word that may stand there.
#[derive(Default)]
pub(super) struct Specifiers {
    pub ty: Option<TypeExpr>,
    pub is_typedef: bool,
    pub is_static: bool,
    pub is_constexpr: bool,
    pub is_constant_memory: bool,
    pub is_extern: bool,
    pub is_kernel: bool,
    pub is_device: bool,
    pub is_never_inlined: bool,
    pub launch_bounds: Option<(Expr, Option<Expr>)>,
    pub align: Option<Expr>,
    pub is_shared: bool,
    pub is_explicit: bool,
    /// Namespaces before the name that is declared.
    pub qualifier: Vec<Symbol>,
}

/// Counts of the words that make up a scalar type.
#[derive(Default)]
struct ScalarWords {
    signed: bool,
    unsigned: bool,
    longs: u8,
    short: bool,
    base: Option<Symbol>,
}

impl Parser<'_> {
    pub(super) fn specifiers(&mut self, allows_definition: bool) -> Parse<Specifiers> {
        let mut specifiers = Specifiers::default();
        let mut scalar = ScalarWords::default();
        let (mut is_const, mut is_volatile) = (false, false);
        let mut has_typename = false;
        let mut named: Option<TypeKind> = None;
        let (mut qualifier, mut is_absolute) = (Vec::new(), false);
        let start = self.peek().site;
        let mut end = start;
        loop {
            let token = *self.peek();
            if self.at_attribute() {
                self.skip_attributes()?;
                continue;
            }
            if token.kind == TokenKind::ColonColon && named.is_none() && !scalar.is_used() {
                self.bump();
                is_absolute = true;
                continue;
            }
            if token.kind != TokenKind::Identifier {
                break;
            }
            match token.symbol {
                words::CONST => is_const = true,
                words::VOLATILE => is_volatile = true,
                words::REGISTER
                | words::INLINE
                | words::INLINE2
                | words::INLINE3
                | words::FORCEINLINE
                | words::HOST
                | words::FRIEND
                | words::MUTABLE
                | words::MANAGED
                | words::RESTRICT
                | words::RESTRICT2 => {}
                words::EXPLICIT => {
                    specifiers.is_explicit = true;
                    if self.peek_at(1).kind == TokenKind::LeftParen {
                        return self.refuse(token.site, "explicit with a condition", None);
                    }
                }
                words::THREAD_LOCAL => {
                    return self.refuse(
                        token.site,
                        "thread_local",
                        Some("variables of a kernel belong to its work-item anyway"),
                    );
                }
                words::OPERATOR => break,
                words::TYPENAME => has_typename = true,
                words::EXTERN => specifiers.is_extern = true,
                words::STATIC => specifiers.is_static = true,
                words::CONSTEXPR => {
                    specifiers.is_constexpr = true;
                    is_const = true;
                }
                words::TYPEDEF => specifiers.is_typedef = true,
                words::GLOBAL => specifiers.is_kernel = true,
                words::DEVICE => specifiers.is_device = true,
                words::NOINLINE => specifiers.is_never_inlined = true,
                words::SHARED => specifiers.is_shared = true,
                words::CONSTANT => specifiers.is_constant_memory = true,
                words::LAUNCH_BOUNDS => {
                    self.bump();
                    specifiers.launch_bounds = Some(self.launch_bounds()?);
                    continue;
                }
                words::ALIGN | words::ALIGNAS => {
                    self.bump();
                    self.expect(TokenKind::LeftParen, "after the alignment word")?;
                    specifiers.align = Some(self.assignment()?);
                    self.expect(TokenKind::RightParen, "after the alignment")?;
                    continue;
                }
                words::ATTRIBUTE => {
                    self.bump();
                    self.skip_parens()?;
                    continue;
                }
                words::SIGNED => scalar.signed = true,
                words::UNSIGNED => scalar.unsigned = true,
                words::SHORT => scalar.short = true,
                words::LONG => scalar.longs += 1,
                words::INT
                | words::CHAR
                | words::BOOL
                | words::FLOAT
                | words::DOUBLE
                | words::HALF
                | words::BFLOAT16 => {
                    if scalar.base.is_some() || named.is_some() {
                        return self.fail(
                            token.site,
                            "two types in one declaration",
                            Some("a ';' or ',' may be missing before"),
                        );
                    }
                    scalar.base = Some(token.symbol);
                }
                words::VOID => named = Some(TypeKind::Void),
                words::AUTO => named = Some(TypeKind::Auto),
                words::DECLTYPE => {
                    named = Some(self.decltype()?);
                    end = self.previous_span();
                    continue;
                }
                words::STRUCT | words::CLASS | words::UNION => {
                    named = Some(self.structure(&mut specifiers, allows_definition)?);
                    end = self.previous_span();
                    continue;
                }
                words::ENUM => {
                    named = Some(self.enumeration()?);
                    end = self.previous_span();
                    continue;
                }
                _ if self.namespace_prefix(0) > 0 => {
                    qualifier = self.qualifier();
                    continue;
                }
                symbol => {
                    let has_type = named.is_some() || scalar.is_used();
                    if has_type {
                        break;
                    }
                    if !self.type_names.contains(&symbol) {
                        let name = self.text(symbol).to_owned();
                        if self.host_types.contains(&symbol) {
                            return self.refuse(
                                token.site,
                                "a struct with member functions, bases or types of the standard library",
                                Some("use a plain struct and __device__ functions that take it"),
                            );
                        }
                        let hint = known_foreign_type(&name);
                        if hint.is_some()
                            || matches!(
                                self.peek_at(1).kind,
                                TokenKind::Identifier
                                    | TokenKind::Star
                                    | TokenKind::Amp
                                    | TokenKind::Less
                                    | TokenKind::ColonColon
                            )
                        {
                            if let Some(feature) = hint {
                                self.diagnostics.unsupported(
                                    token.site,
                                    format!("{feature} is not supported"),
                                    Some("docs/language.md lists what is supported"),
                                );
                            } else {
                                self.diagnostics.error(token.site, format!("unknown type '{name}'"), Some("declare it with typedef, using, struct or enum before this line"));
                            }
                            // Going on finds the other mistakes of the declaration.
                            named = Some(self.unknown_type()?);
                            end = self.previous_span();
                            continue;
                        }
                        break;
                    }
                    let is_plain = self.peek_at(1).kind != TokenKind::ColonColon;
                    is_volatile |= is_plain && self.volatile_types.contains(&symbol);
                    let mut ty = self.named_type(has_typename)?;
                    self.qualify_type(&mut ty.kind, &std::mem::take(&mut qualifier), is_absolute);
                    named = Some(ty.kind);
                    end = self.previous_span();
                    continue;
                }
            }
            end = token.site;
            self.bump();
        }
        let kind = match (named, scalar.is_used()) {
            (Some(_), true) => {
                return self.fail(
                    start,
                    "two types in one declaration",
                    Some("a ';' or ',' may be missing before"),
                );
            }
            (Some(kind), false) => Some(kind),
            (None, true) => match scalar.resolve() {
                Some(scalar) => Some(TypeKind::Scalar(scalar)),
                None => {
                    return self.fail(
                        start,
                        "these words do not make a type",
                        Some("for example: unsigned int, long long, unsigned char"),
                    );
                }
            },
            (None, false) => None,
        };
        specifiers.qualifier = qualifier;
        specifiers.ty = kind.map(|kind| TypeExpr {
            kind,
            is_const,
            is_volatile,
            span: start.to(end),
        });
        Ok(specifiers)
    }

    /// `name`, `name<arguments>` and types inside of them: `typename name<arguments>::type`.
    fn named_type(&mut self, has_typename: bool) -> Parse<TypeExpr> {
        let mut ty = if self.at_template_name(0) {
            self.template_type()?
        } else {
            let name = self.bump();
            TypeExpr {
                kind: TypeKind::Named(name.symbol),
                is_const: false,
                is_volatile: false,
                span: name.site,
            }
        };
        let mut depth = 0;
        while self.at(TokenKind::ColonColon)
            && self.peek_at(1).kind == TokenKind::Identifier
            && (has_typename || self.peek_at(2).kind == TokenKind::Identifier)
            && depth < 16
        {
            self.bump();
            let name = self.bump();
            ty = TypeExpr {
                kind: TypeKind::Member {
                    scope: Box::new(ty),
                    name: name.symbol,
                },
                is_const: false,
                is_volatile: false,
                span: name.site,
            };
            depth += 1;
        }
        Ok(ty)
    }

    /// `decltype(expression)`, and `decltype(auto)`, which is `auto` here.
    fn decltype(&mut self) -> Parse<TypeKind> {
        self.bump();
        self.expect(TokenKind::LeftParen, "after 'decltype'")?;
        let kind = if self.accept_word(words::AUTO) {
            TypeKind::Auto
        } else {
            let value = self.nested(|parser| parser.bracketed(Self::expression))?;
            TypeKind::Decltype(Box::new(value))
        };
        self.expect(TokenKind::RightParen, "after the expression")?;
        Ok(kind)
    }

    /// Past a name that is unknown, with its arguments and what stands inside of it.
    fn unknown_type(&mut self) -> Parse<TypeKind> {
        loop {
            self.bump();
            if self.at(TokenKind::Less) {
                let Some(after) = self.after_angles(0) else {
                    return Err(super::Failed);
                };
                for _ in 0..after {
                    self.bump();
                }
            }
            if !self.at(TokenKind::ColonColon) || self.peek_at(1).kind != TokenKind::Identifier {
                return Ok(TypeKind::Unknown);
            }
            self.bump();
        }
    }

    /// Whether this is a type of HIP or CUDA that is refused by name.
    pub(super) fn is_foreign_type(&self, name: Symbol) -> bool {
        !self.type_names.contains(&name) && known_foreign_type(self.text(name)).is_some()
    }

    fn launch_bounds(&mut self) -> Parse<(Expr, Option<Expr>)> {
        self.expect(TokenKind::LeftParen, "after '__launch_bounds__'")?;
        let threads = self.assignment()?;
        let mut blocks = None;
        while self.accept(TokenKind::Comma) {
            blocks = Some(self.assignment()?);
        }
        self.expect(TokenKind::RightParen, "after the launch bounds")?;
        Ok((threads, blocks))
    }

    pub(super) fn skip_parens(&mut self) -> Parse<()> {
        self.expect(TokenKind::LeftParen, "here")?;
        let mut depth = 1;
        while depth > 0 {
            match self.bump().kind {
                TokenKind::LeftParen => depth += 1,
                TokenKind::RightParen => depth -= 1,
                TokenKind::Eof => {
                    return self.fail(
                        self.end.site,
                        "expected ')' before the end of the source",
                        None,
                    );
                }
                _ => {}
            }
        }
        Ok(())
    }
}

impl ScalarWords {
    fn is_used(&self) -> bool {
        self.signed || self.unsigned || self.short || self.longs > 0 || self.base.is_some()
    }

    fn resolve(&self) -> Option<ScalarType> {
        use ScalarType as S;
        if self.signed && self.unsigned || self.short && self.longs > 0 || self.longs > 2 {
            return None;
        }
        let has_modifier = self.signed || self.unsigned;
        let has_width = self.short || self.longs > 0;
        let signed = match self.base {
            Some(words::BOOL) => return (!has_modifier && !has_width).then_some(S::Bool),
            Some(words::HALF) => return (!has_modifier && !has_width).then_some(S::Half),
            Some(words::BFLOAT16) => return (!has_modifier && !has_width).then_some(S::BFloat16),
            Some(words::FLOAT) => return (!has_modifier && !has_width).then_some(S::Float),
            // `long double` has no meaning on a GPU; nvcc and hipcc make it double as well.
            Some(words::DOUBLE) => return (!has_modifier && !self.short).then_some(S::Double),
            Some(words::CHAR) if has_width => return None,
            Some(words::CHAR) if self.signed => S::SignedChar,
            Some(words::CHAR) => S::Char,
            _ if self.short => S::Short,
            _ if self.longs == 1 => S::Long,
            _ if self.longs == 2 => S::LongLong,
            _ => S::Int,
        };
        Some(if self.unsigned {
            signed.to_unsigned()
        } else {
            signed
        })
    }
}

/// Words that start or continue a declaration.
pub(super) fn is_specifier(word: Symbol) -> bool {
    matches!(
        word,
        words::VOID
            | words::BOOL
            | words::CHAR
            | words::SHORT
            | words::INT
            | words::LONG
            | words::FLOAT
            | words::DOUBLE
            | words::HALF
            | words::BFLOAT16
            | words::SIGNED
            | words::UNSIGNED
            | words::AUTO
            | words::CONST
            | words::VOLATILE
            | words::STATIC
            | words::EXTERN
            | words::INLINE
            | words::INLINE2
            | words::INLINE3
            | words::CONSTEXPR
            | words::STRUCT
            | words::CLASS
            | words::UNION
            | words::ENUM
            | words::TYPEDEF
            | words::USING
            | words::TYPENAME
            | words::REGISTER
            | words::GLOBAL
            | words::DEVICE
            | words::HOST
            | words::SHARED
            | words::CONSTANT
            | words::MANAGED
            | words::RESTRICT
            | words::RESTRICT2
            | words::LAUNCH_BOUNDS
            | words::FORCEINLINE
            | words::NOINLINE
            | words::ATTRIBUTE
            | words::ALIGN
            | words::ALIGNAS
            | words::STATIC_ASSERT
            | words::DECLTYPE
            | words::THREAD_LOCAL
    )
}

pub(super) fn is_specifier_with_arguments(word: Symbol) -> bool {
    matches!(
        word,
        words::LAUNCH_BOUNDS
            | words::ATTRIBUTE
            | words::ALIGN
            | words::ALIGNAS
            | words::STATIC_ASSERT
            | words::DECLTYPE
    )
}

/// Types of HIP and CUDA that are not there yet, so that they are refused by name.
fn known_foreign_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "texture" | "textureReference" | "cudaTextureObject_t" | "hipTextureObject_t" => {
            "a texture"
        }
        "surface" | "surfaceReference" | "cudaSurfaceObject_t" | "hipSurfaceObject_t" => {
            "a surface"
        }
        "cudaArray_t" | "hipArray_t" | "cudaArray" | "hipArray" => "an array for textures",
        "cudaStream_t" | "hipStream_t" | "cudaError_t" | "hipError_t" => {
            "a host type in device code"
        }
        "__int128" | "__int128_t" | "__uint128_t" => "the 128-bit integer",
        _ => return None,
    })
}
