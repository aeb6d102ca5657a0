//! Declarations: specifiers, declarators, functions, structs, enums, aliases.

use super::{Parse, Parser};
use crate::ast::{Enum, Expr, Function, Item, Parameter, Struct, TypeExpr, TypeKind, Variable};
use crate::interner::{Symbol, words};
use crate::source::Span;
use crate::token::TokenKind;
use crate::types::ScalarType;

/// Everything before the first declarator.
#[derive(Default)]
pub(super) struct Specifiers {
    pub ty: Option<TypeExpr>,
    pub is_typedef: bool,
    pub is_static: bool,
    pub is_constexpr: bool,
    pub is_constant_memory: bool,
    pub is_kernel: bool,
    pub is_device: bool,
    pub is_never_inlined: bool,
    pub launch_bounds: Option<(Expr, Option<Expr>)>,
    pub align: Option<Expr>,
    pub shared: Option<Span>,
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

/// A name with the type it declares.
pub(super) struct Declared {
    pub name: Option<Symbol>,
    pub span: Span,
    pub ty: TypeExpr,
}

impl Parser<'_> {
    /// A declaration at file level; structs defined inside come before it.
    pub(super) fn declaration(&mut self, items: &mut Vec<Item>) -> Parse<()> {
        let first = *self.peek();
        if self.at_word(words::STATIC_ASSERT) {
            let item = self.static_assert()?;
            items.push(item);
            return Ok(());
        }
        if self.at_word(words::USING) {
            let item = self.alias()?;
            items.push(item);
            return Ok(());
        }
        let specifiers = self.specifiers(true)?;
        items.append(&mut self.side_items);
        if let Some(span) = specifiers.shared {
            return self.refuse(span, "__shared__ memory", None);
        }
        if self.accept(TokenKind::Semicolon) {
            return Ok(());
        }
        let Some(base) = specifiers.ty.clone() else {
            let found = self.shown(self.peek());
            return self.fail(self.peek().site, format!("expected a type, found {found}"), None);
        };
        let declared = self.declarator(base.clone())?;
        if specifiers.is_typedef {
            return self.typedefs(&specifiers, declared, items);
        }
        if self.at(TokenKind::LeftParen) {
            let function = self.function(specifiers, declared)?;
            items.push(Item::Function(function));
            return Ok(());
        }
        if specifiers.is_kernel {
            return self.fail(first.site, "__global__ belongs to a function", Some("write __global__ void name(parameters) { … }"));
        }
        let variables = self.variables(&specifiers, declared)?;
        self.expect(TokenKind::Semicolon, "after the declaration")?;
        items.extend(variables.into_iter().map(Item::Variable));
        Ok(())
    }

    fn typedefs(&mut self, specifiers: &Specifiers, first: Declared, items: &mut Vec<Item>) -> Parse<()> {
        let mut declared = first;
        loop {
            let Some(name) = declared.name else {
                return self.fail(declared.span, "a typedef needs a name", None);
            };
            if self.at(TokenKind::LeftParen) {
                return self.refuse(declared.span, "a function type", None);
            }
            self.add_type_name(name);
            items.push(Item::Alias { name, ty: declared.ty });
            if !self.accept(TokenKind::Comma) {
                break;
            }
            let Some(base) = specifiers.ty.clone() else { break };
            declared = self.declarator(base)?;
        }
        self.expect(TokenKind::Semicolon, "after the typedef")?;
        Ok(())
    }

    pub(super) fn alias(&mut self) -> Parse<Item> {
        self.bump();
        let name = self.expect(TokenKind::Identifier, "after 'using'")?;
        self.expect(TokenKind::Equal, "after the new name")?;
        let ty = self.type_name()?;
        self.expect(TokenKind::Semicolon, "after the alias")?;
        self.add_type_name(name.symbol);
        Ok(Item::Alias { name: name.symbol, ty })
    }

    pub(super) fn static_assert(&mut self) -> Parse<Item> {
        let word = self.bump();
        self.expect(TokenKind::LeftParen, "after 'static_assert'")?;
        let condition = self.assignment()?;
        if self.accept(TokenKind::Comma) {
            self.expect(TokenKind::String, "as the message")?;
        }
        self.expect(TokenKind::RightParen, "after the condition")?;
        self.expect(TokenKind::Semicolon, "after static_assert")?;
        Ok(Item::StaticAssert { condition, span: word.site })
    }

    /// Whether a declaration starts here, and not an expression.
    pub(super) fn at_type(&self) -> bool {
        let token = self.peek();
        if token.kind != TokenKind::Identifier {
            return false;
        }
        if is_specifier(token.symbol) {
            // `float(x)` at the start of a statement is an expression.
            return self.peek_at(1).kind != TokenKind::LeftParen || is_specifier_with_arguments(token.symbol);
        }
        if token.symbol == words::STD && self.peek_at(1).kind == TokenKind::ColonColon {
            return self.type_names.contains(&self.peek_at(2).symbol) && self.peek_at(3).kind != TokenKind::LeftParen;
        }
        if self.type_names.contains(&token.symbol) {
            return !matches!(self.peek_at(1).kind, TokenKind::LeftParen | TokenKind::ColonColon | TokenKind::LeftBrace);
        }
        false
    }

    pub(super) fn specifiers(&mut self, allows_definition: bool) -> Parse<Specifiers> {
        let mut specifiers = Specifiers::default();
        let mut scalar = ScalarWords::default();
        let mut is_const = false;
        let mut named: Option<TypeKind> = None;
        let start = self.peek().site;
        let mut end = start;
        loop {
            let token = *self.peek();
            if token.kind != TokenKind::Identifier {
                break;
            }
            match token.symbol {
                words::CONST => is_const = true,
                words::VOLATILE | words::REGISTER | words::EXTERN | words::INLINE | words::INLINE2 | words::INLINE3 | words::FORCEINLINE | words::HOST | words::TYPENAME | words::MANAGED => {}
                words::RESTRICT | words::RESTRICT2 => {}
                words::STATIC => specifiers.is_static = true,
                words::CONSTEXPR => {
                    specifiers.is_constexpr = true;
                    is_const = true;
                }
                words::TYPEDEF => specifiers.is_typedef = true,
                words::GLOBAL => specifiers.is_kernel = true,
                words::DEVICE => specifiers.is_device = true,
                words::NOINLINE => specifiers.is_never_inlined = true,
                words::SHARED => specifiers.shared = Some(token.site),
                words::CONSTANT => {
                    specifiers.is_constant_memory = true;
                    is_const = true;
                }
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
                words::INT | words::CHAR | words::BOOL | words::FLOAT | words::DOUBLE => {
                    if scalar.base.is_some_and(|base| base != words::INT) || named.is_some() {
                        return self.fail(token.site, "two types in one declaration", Some("a ';' or ',' may be missing before"));
                    }
                    scalar.base = Some(token.symbol);
                }
                words::VOID => named = Some(TypeKind::Void),
                words::AUTO => named = Some(TypeKind::Auto),
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
                words::STD if self.peek_at(1).kind == TokenKind::ColonColon => {
                    self.bump();
                    self.bump();
                    continue;
                }
                symbol => {
                    let has_type = named.is_some() || scalar.is_used();
                    if has_type {
                        break;
                    }
                    if !self.type_names.contains(&symbol) {
                        let name = self.text(symbol).to_owned();
                        let hint = known_foreign_type(&name);
                        if hint.is_some() || matches!(self.peek_at(1).kind, TokenKind::Identifier | TokenKind::Star | TokenKind::Amp | TokenKind::Less | TokenKind::ColonColon) {
                            return match hint {
                                Some(feature) => self.refuse(token.site, feature, None),
                                None => self.fail(token.site, format!("unknown type '{name}'"), Some("declare it with typedef, using, struct or enum before this line")),
                            };
                        }
                        break;
                    }
                    named = Some(TypeKind::Named(symbol));
                }
            }
            end = token.site;
            self.bump();
        }
        let kind = match (named, scalar.is_used()) {
            (Some(_), true) => return self.fail(start, "two types in one declaration", Some("a ';' or ',' may be missing before")),
            (Some(kind), false) => Some(kind),
            (None, true) => match scalar.resolve() {
                Some(scalar) => Some(TypeKind::Scalar(scalar)),
                None => return self.fail(start, "these words do not make a type", Some("for example: unsigned int, long long, unsigned char")),
            },
            (None, false) => None,
        };
        specifiers.ty = kind.map(|kind| TypeExpr { kind, is_const, span: start.to(end) });
        Ok(specifiers)
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

    fn skip_parens(&mut self) -> Parse<()> {
        self.expect(TokenKind::LeftParen, "here")?;
        let mut depth = 1;
        while depth > 0 {
            match self.bump().kind {
                TokenKind::LeftParen => depth += 1,
                TokenKind::RightParen => depth -= 1,
                TokenKind::Eof => return self.fail(self.end.site, "expected ')' before the end of the source", None),
                _ => {}
            }
        }
        Ok(())
    }

    /// `struct name`, `struct name { … }`, `struct { … }`.
    fn structure(&mut self, specifiers: &mut Specifiers, allows_definition: bool) -> Parse<TypeKind> {
        let word = self.bump();
        while matches!(self.peek().symbol, words::ALIGN | words::ALIGNAS | words::ATTRIBUTE) && self.at(TokenKind::Identifier) {
            if self.bump().symbol == words::ATTRIBUTE {
                self.skip_parens()?;
            } else {
                self.expect(TokenKind::LeftParen, "after the alignment word")?;
                specifiers.align = Some(self.assignment()?);
                self.expect(TokenKind::RightParen, "after the alignment")?;
            }
        }
        let name = if self.at(TokenKind::Identifier) { Some(self.bump()) } else { None };
        let span = name.map_or(word.site, |name| name.site);
        let symbol = match name {
            Some(name) => name.symbol,
            None => {
                let text = format!("(unnamed struct at {})", span.start);
                self.interner.intern(&text)
            }
        };
        self.add_type_name(symbol);
        if self.at(TokenKind::Colon) {
            return self.refuse(self.peek().site, "inheritance", None);
        }
        if !self.at(TokenKind::LeftBrace) {
            if name.is_none() {
                return self.fail(word.site, "a struct needs a name or a body", None);
            }
            if self.at(TokenKind::Semicolon) {
                self.side_items.push(Item::Struct(Struct { name: symbol, span, fields: Vec::new(), align: None, is_declaration: true }));
            }
            return Ok(TypeKind::Named(symbol));
        }
        if word.symbol == words::UNION {
            return self.refuse(word.site, "a union", Some("use __float_as_int and its relatives, or two variables"));
        }
        if !allows_definition {
            return self.fail(word.site, "a struct cannot be defined here", None);
        }
        let fields = self.nested(Self::fields)?;
        let item = Item::Struct(Struct { name: symbol, span, fields, align: specifiers.align.take(), is_declaration: false });
        self.side_items.push(item);
        Ok(TypeKind::Named(symbol))
    }

    fn fields(&mut self) -> Parse<Vec<Variable>> {
        let open = self.bump();
        let mut fields = Vec::new();
        while !self.at(TokenKind::RightBrace) {
            if self.at(TokenKind::Eof) {
                return self.fail(open.site, "this '{' is never closed", Some("add the missing '}'"));
            }
            if matches!(self.peek().symbol, words::PUBLIC | words::PRIVATE) && self.peek_at(1).kind == TokenKind::Colon {
                self.bump();
                self.bump();
                continue;
            }
            if matches!(self.peek().symbol, words::TEMPLATE | words::VIRTUAL | words::OPERATOR) && self.at(TokenKind::Identifier) {
                return self.refuse(self.peek().site, "a member function", Some("write a __device__ function that takes the struct"));
            }
            let specifiers = self.specifiers(true)?;
            let Some(base) = specifiers.ty.clone() else {
                let found = self.shown(self.peek());
                return self.fail(self.peek().site, format!("expected the type of a field, found {found}"), None);
            };
            if self.at(TokenKind::LeftParen) {
                return self.refuse(self.peek().site, "a constructor", Some("use P{a, b} to make a struct"));
            }
            let declared = self.declarator(base)?;
            if self.at(TokenKind::LeftParen) {
                return self.refuse(declared.span, "a member function", Some("write a __device__ function that takes the struct"));
            }
            if self.at(TokenKind::Colon) {
                return self.refuse(self.peek().site, "a bit field", Some("use shifts and masks"));
            }
            fields.append(&mut self.variables(&specifiers, declared)?);
            self.expect(TokenKind::Semicolon, "after the field")?;
        }
        self.bump();
        Ok(fields)
    }

    fn enumeration(&mut self) -> Parse<TypeKind> {
        let word = self.bump();
        let is_scoped = self.accept_word(words::CLASS) || self.accept_word(words::STRUCT);
        let name = if self.at(TokenKind::Identifier) { Some(self.bump()) } else { None };
        let underlying = if self.accept(TokenKind::Colon) { self.specifiers(false)?.ty } else { None };
        if let Some(name) = name {
            self.add_type_name(name.symbol);
        }
        let as_type = |name: Symbol| TypeKind::Named(name);
        if !self.at(TokenKind::LeftBrace) {
            return match name {
                Some(name) => Ok(as_type(name.symbol)),
                None => self.fail(word.site, "an enum needs a name or a body", None),
            };
        }
        self.bump();
        let mut values = Vec::new();
        while !self.at(TokenKind::RightBrace) {
            let value = self.expect(TokenKind::Identifier, "as the name of an enum value")?;
            let number = if self.accept(TokenKind::Equal) { Some(self.conditional()?) } else { None };
            values.push((value.symbol, value.site, number));
            if !self.accept(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RightBrace, "after the values of the enum")?;
        let span = name.map_or(word.site, |name| name.site);
        let symbol = match name {
            Some(name) => name.symbol,
            None => {
                let text = format!("(unnamed enum at {})", span.start);
                self.interner.intern(&text)
            }
        };
        self.side_items.push(Item::Enum(Enum { name: Some(symbol), span, is_scoped, underlying, values }));
        Ok(as_type(symbol))
    }

    /// Pointers, the name, and array lengths.
    pub(super) fn declarator(&mut self, base: TypeExpr) -> Parse<Declared> {
        let mut ty = base;
        let mut levels = 0usize;
        loop {
            let token = *self.peek();
            let span = ty.span.to(token.site);
            match token.kind {
                TokenKind::Star => {
                    self.bump();
                    let mut is_const = false;
                    let mut is_restrict = false;
                    while self.at(TokenKind::Identifier) {
                        match self.peek().symbol {
                            words::CONST => is_const = true,
                            words::RESTRICT | words::RESTRICT2 => is_restrict = true,
                            words::VOLATILE => {}
                            _ => break,
                        }
                        self.bump();
                    }
                    ty = TypeExpr { kind: TypeKind::Pointer { pointee: Box::new(ty), is_restrict }, is_const, span };
                }
                TokenKind::Amp => {
                    self.bump();
                    ty = TypeExpr { kind: TypeKind::Reference(Box::new(ty)), is_const: false, span };
                }
                TokenKind::AmpAmp => return self.refuse(token.site, "an rvalue reference", None),
                _ => break,
            }
            levels += 1;
            if levels > 16 {
                return self.fail(token.site, "more than 16 levels of pointers", None);
            }
        }
        if self.at(TokenKind::LeftParen) && self.peek_at(1).kind == TokenKind::Star {
            return self.refuse(self.peek().site, "a pointer to a function or array", None);
        }
        let (name, span) = if self.at(TokenKind::Identifier) && !is_specifier(self.peek().symbol) {
            let token = self.bump();
            (Some(token.symbol), token.site)
        } else {
            (None, self.peek().site)
        };
        let mut lengths = Vec::new();
        while self.at(TokenKind::LeftBracket) {
            self.bump();
            let length = if self.at(TokenKind::RightBracket) { None } else { Some(self.assignment()?) };
            self.expect(TokenKind::RightBracket, "after the array length")?;
            lengths.push(length);
            if lengths.len() > 16 {
                return self.fail(span, "more than 16 array dimensions", None);
            }
        }
        for length in lengths.into_iter().rev() {
            let span = ty.span;
            let is_const = ty.is_const;
            ty = TypeExpr { kind: TypeKind::Array { element: Box::new(ty), length: length.map(Box::new) }, is_const, span };
        }
        Ok(Declared { name, span, ty })
    }

    /// The declarators after the first, with their initialisers.
    pub(super) fn variables(&mut self, specifiers: &Specifiers, first: Declared) -> Parse<Vec<Variable>> {
        let mut variables = Vec::new();
        let mut declared = first;
        loop {
            let Some(name) = declared.name else {
                let found = self.shown(self.peek());
                return self.fail(declared.span, format!("expected a name, found {found}"), None);
            };
            // A variable may hide a type of the same name from here on.
            self.hide_type_name(name);
            let start = match self.kind() {
                TokenKind::Equal => {
                    self.bump();
                    Some(self.initialiser()?)
                }
                TokenKind::LeftBrace => Some(self.initialiser()?),
                TokenKind::LeftParen => {
                    self.bump();
                    let value = self.assignment()?;
                    self.expect(TokenKind::RightParen, "after the initial value")?;
                    Some(value)
                }
                _ => None,
            };
            variables.push(Variable {
                name,
                span: declared.span,
                ty: declared.ty,
                start,
                is_constexpr: specifiers.is_constexpr,
                is_static: specifiers.is_static,
                is_constant_memory: specifiers.is_constant_memory,
            });
            if !self.accept(TokenKind::Comma) {
                return Ok(variables);
            }
            let Some(base) = specifiers.ty.clone() else { return Ok(variables) };
            declared = self.declarator(base)?;
        }
    }

    fn function(&mut self, specifiers: Specifiers, declared: Declared) -> Parse<Function> {
        let Some(name) = declared.name else {
            return self.fail(declared.span, "a function needs a name", None);
        };
        self.bump();
        let mut parameters = Vec::new();
        if self.at_word(words::VOID) && self.peek_at(1).kind == TokenKind::RightParen {
            self.bump();
        }
        while !self.at(TokenKind::RightParen) {
            if self.at(TokenKind::Ellipsis) {
                return self.refuse(self.peek().site, "a variable number of arguments", None);
            }
            let start = self.peek().site;
            let parameter = self.specifiers(false)?;
            let Some(base) = parameter.ty else {
                let found = self.shown(self.peek());
                return self.fail(start, format!("expected the type of a parameter, found {found}"), None);
            };
            let declared = self.declarator(base)?;
            if self.at(TokenKind::Equal) {
                return self.refuse(self.peek().site, "a default argument", Some("write a second function with fewer parameters"));
            }
            parameters.push(Parameter { name: declared.name, span: declared.span, ty: declared.ty });
            if !self.accept(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RightParen, "after the parameters")?;
        while matches!(self.peek().symbol, words::NOEXCEPT | words::ATTRIBUTE | words::CONST) && self.at(TokenKind::Identifier) {
            if self.bump().symbol == words::ATTRIBUTE {
                self.skip_parens()?;
            }
        }
        let body = if self.accept(TokenKind::Semicolon) {
            None
        } else if self.at(TokenKind::LeftBrace) {
            Some(self.scoped_block()?)
        } else {
            let found = self.shown(self.peek());
            return self.fail(self.peek().site, format!("expected '{{' or ';' after the parameters, found {found}"), None);
        };
        Ok(Function {
            name,
            span: declared.span,
            is_kernel: specifiers.is_kernel,
            launch_bounds: specifiers.launch_bounds,
            return_type: declared.ty,
            parameters,
            body,
            is_never_inlined: specifiers.is_never_inlined,
        })
    }

    /// A type in a cast, in `sizeof`, in an alias.
    pub(super) fn type_name(&mut self) -> Parse<TypeExpr> {
        let start = self.peek().site;
        let specifiers = self.specifiers(false)?;
        let Some(base) = specifiers.ty else {
            let found = self.shown(self.peek());
            return self.fail(start, format!("expected a type, found {found}"), None);
        };
        let declared = self.declarator(base)?;
        if declared.name.is_some() {
            return self.fail(declared.span, "a name cannot stand here, only a type", None);
        }
        Ok(declared.ty)
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
        Some(if self.unsigned { signed.to_unsigned() } else { signed })
    }
}

/// Words that start or continue a declaration.
fn is_specifier(word: Symbol) -> bool {
    matches!(
        word,
        words::VOID | words::BOOL | words::CHAR | words::SHORT | words::INT | words::LONG | words::FLOAT | words::DOUBLE | words::SIGNED | words::UNSIGNED | words::AUTO | words::CONST
            | words::VOLATILE | words::STATIC | words::EXTERN | words::INLINE | words::INLINE2 | words::INLINE3 | words::CONSTEXPR | words::STRUCT | words::CLASS | words::UNION
            | words::ENUM | words::TYPEDEF | words::USING | words::TYPENAME | words::REGISTER | words::GLOBAL | words::DEVICE | words::HOST | words::SHARED | words::CONSTANT | words::MANAGED
            | words::RESTRICT | words::RESTRICT2 | words::LAUNCH_BOUNDS | words::FORCEINLINE | words::NOINLINE | words::ATTRIBUTE | words::ALIGN | words::ALIGNAS | words::STATIC_ASSERT
    )
}

fn is_specifier_with_arguments(word: Symbol) -> bool {
    matches!(word, words::LAUNCH_BOUNDS | words::ATTRIBUTE | words::ALIGN | words::ALIGNAS | words::STATIC_ASSERT)
}

/// Types of HIP and CUDA that are not there yet, so that they are refused by name.
fn known_foreign_type(name: &str) -> Option<&'static str> {
    Some(match name {
        "half" | "__half" | "half2" | "__half2" | "_Float16" => "the type half",
        "hip_bfloat16" | "__nv_bfloat16" | "__hip_bfloat16" | "bfloat16" => "the type bfloat16",
        "texture" | "cudaTextureObject_t" | "hipTextureObject_t" | "surface" => "a texture",
        "cudaStream_t" | "hipStream_t" | "cudaError_t" | "hipError_t" => "a host type in device code",
        "__int128" | "__int128_t" | "__uint128_t" => "the 128-bit integer",
        _ => return None,
    })
}
