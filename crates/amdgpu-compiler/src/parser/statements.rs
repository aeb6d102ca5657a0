//! Statements.

use super::{Parse, Parser};
use crate::ast::{Bindings, Condition, ExprKind, Item, Stmt, StmtKind, TypeKind};
use crate::interner::words;
use crate::token::TokenKind;

impl Parser<'_> {
    /// A block after which the names of types are what they were before it.
    pub(super) fn scoped_block(&mut self) -> Parse<Vec<Stmt>> {
        let start = self.type_changes.len();
        let body = self.block();
        self.leave_type_scope(start);
        body
    }

    /// `{ … }`: after an error in one statement the next one is tried.
    pub(super) fn block(&mut self) -> Parse<Vec<Stmt>> {
        let open = self.expect(TokenKind::LeftBrace, "here")?;
        self.nested(|parser| {
            let mut statements = Vec::new();
            loop {
                match parser.kind() {
                    TokenKind::RightBrace => {
                        parser.hints_before_nothing();
                        parser.bump();
                        return Ok(statements);
                    }
                    TokenKind::Eof => {
                        return parser.fail(
                            open.site,
                            "this '{' is never closed",
                            Some("add the missing '}'"),
                        );
                    }
                    _ => {}
                }
                let before = parser.next;
                match parser.statement() {
                    Ok(statement) => statements.push(statement),
                    Err(failed) => {
                        // A kernel starting here means that a '}' is missing above: let the top level go on with it.
                        if parser.at_word(words::GLOBAL) {
                            return Err(failed);
                        }
                        parser.angle_closes = false;
                        parser.skip_to_statement_end();
                        if parser.next == before {
                            parser.bump();
                        }
                    }
                }
            }
        })
    }

    pub(super) fn statement(&mut self) -> Parse<Stmt> {
        self.nested(Self::statement_inner)
    }

    fn statement_inner(&mut self) -> Parse<Stmt> {
        let start = self.next;
        self.skip_attributes()?;
        if !self.pragmas.is_empty()
            && let Some(unrolling) = self.loop_hint(start)
        {
            let body = Box::new(self.plain_statement()?);
            return Ok(Stmt {
                span: body.span,
                kind: StmtKind::Hinted { unrolling, body },
            });
        }
        self.plain_statement()
    }

    fn plain_statement(&mut self) -> Parse<Stmt> {
        let token = *self.peek();
        let span = token.site;
        let done = |kind| Ok(Stmt { kind, span });
        match token.kind {
            TokenKind::LeftBrace => {
                let body = self.scoped_block()?;
                return done(StmtKind::Block(body));
            }
            TokenKind::Semicolon => {
                self.bump();
                return done(StmtKind::Empty);
            }
            TokenKind::Identifier => {}
            _ => return self.expression_statement(),
        }
        match token.symbol {
            words::IF => {
                self.bump();
                let is_constexpr = self.accept_word(words::CONSTEXPR);
                self.if_statement(span, is_constexpr)
            }
            words::FOR => {
                self.bump();
                self.for_statement(span)
            }
            words::WHILE => {
                self.bump();
                self.expect(TokenKind::LeftParen, "after 'while'")?;
                let changes = self.type_changes.len();
                let condition = self.condition()?;
                self.expect(TokenKind::RightParen, "after the condition")?;
                let body = Box::new(self.statement()?);
                self.leave_type_scope(changes);
                done(StmtKind::While { condition, body })
            }
            words::DO => {
                self.bump();
                let body = Box::new(self.statement()?);
                if !self.accept_word(words::WHILE) {
                    let found = self.shown(self.peek());
                    return self.fail(
                        self.peek().site,
                        format!("expected 'while' after the body of 'do', found {found}"),
                        None,
                    );
                }
                self.expect(TokenKind::LeftParen, "after 'while'")?;
                let condition = self.expression()?;
                self.expect(TokenKind::RightParen, "after the condition")?;
                self.expect(TokenKind::Semicolon, "after 'do … while (…)'")?;
                done(StmtKind::DoWhile { body, condition })
            }
            words::SWITCH => {
                self.bump();
                self.expect(TokenKind::LeftParen, "after 'switch'")?;
                let value = self.expression()?;
                self.expect(TokenKind::RightParen, "after the value")?;
                let body = self.block()?;
                done(StmtKind::Switch { value, body })
            }
            words::CASE => {
                self.bump();
                let value = self.conditional()?;
                self.expect(TokenKind::Colon, "after the case")?;
                done(StmtKind::Case(Some(value)))
            }
            words::DEFAULT => {
                self.bump();
                self.expect(TokenKind::Colon, "after 'default'")?;
                done(StmtKind::Case(None))
            }
            words::BREAK => {
                self.bump();
                self.expect(TokenKind::Semicolon, "after 'break'")?;
                done(StmtKind::Break)
            }
            words::CONTINUE => {
                self.bump();
                self.expect(TokenKind::Semicolon, "after 'continue'")?;
                done(StmtKind::Continue)
            }
            words::RETURN => {
                self.bump();
                let value = if self.at(TokenKind::Semicolon) {
                    None
                } else {
                    Some(self.initialiser()?)
                };
                self.expect(TokenKind::Semicolon, "after 'return'")?;
                done(StmtKind::Return(value))
            }
            words::STATIC_ASSERT => {
                let item = self.static_assert()?;
                done(StmtKind::Item(Box::new(item)))
            }
            words::USING if self.peek_at(2).kind == TokenKind::Equal => {
                let item = self.alias()?;
                done(StmtKind::Item(Box::new(item)))
            }
            words::USING | words::NAMESPACE => {
                let mut items = Vec::new();
                if token.symbol == words::USING {
                    self.using(&mut items)?;
                } else {
                    self.namespace(&mut items)?;
                }
                let statements = items.into_iter().map(|item| Stmt {
                    kind: StmtKind::Item(Box::new(item)),
                    span,
                });
                done(StmtKind::Sequence(statements.collect()))
            }
            words::GOTO => self.refuse(span, "goto", Some("use loops, break and flags")),
            words::ASM | words::ASM2 => self.refuse(span, "inline assembly", None),
            words::TRY | words::THROW | words::CATCH => self.refuse(span, "an exception", None),
            words::DELETE => self.refuse(
                span,
                "memory allocation in device code",
                Some("allocate on the host and pass a pointer"),
            ),
            words::ELSE => self.fail(
                span,
                "'else' without 'if'",
                Some("a ';' or '}' may stand too early"),
            ),
            words::GLOBAL => self.fail(
                span,
                "a kernel cannot be defined inside a function",
                Some("a '}' may be missing above"),
            ),
            _ if self.at_type() => self.declaration_statement(),
            _ => self.expression_statement(),
        }
    }

    fn if_statement(&mut self, span: crate::source::Span, is_constexpr: bool) -> Parse<Stmt> {
        self.expect(TokenKind::LeftParen, "after 'if'")?;
        let changes = self.type_changes.len();
        let condition = self.condition()?;
        self.expect(TokenKind::RightParen, "after the condition")?;
        let then = Box::new(self.statement()?);
        let otherwise = if self.accept_word(words::ELSE) {
            Some(Box::new(self.statement()?))
        } else {
            None
        };
        self.leave_type_scope(changes);
        Ok(Stmt {
            kind: StmtKind::If {
                condition,
                then,
                otherwise,
                is_constexpr,
            },
            span,
        })
    }

    /// `value`, `declaration; value` or a declaration whose variable is the value.
    fn condition(&mut self) -> Parse<Condition> {
        if !self.at_type() {
            let mut value = self.expression()?;
            let mut start = None;
            if self.accept(TokenKind::Semicolon) {
                start = Some(Box::new(Stmt {
                    span: value.span,
                    kind: StmtKind::Expr(value),
                }));
                value = self.expression()?;
            }
            return Ok(Condition { start, value });
        }
        let statement = self.declaration_list()?;
        if self.accept(TokenKind::Semicolon) {
            let value = self.expression()?;
            return Ok(Condition {
                start: Some(Box::new(statement)),
                value,
            });
        }
        let named = match &statement.kind {
            StmtKind::Variables(variables) => variables.last(),
            _ => None,
        };
        let Some(variable) = named else {
            return self.fail(
                statement.span,
                "this declaration cannot be a condition",
                Some("write a ';' and the condition after it"),
            );
        };
        let value = self.make(ExprKind::Name(variable.name), variable.span, 1)?;
        Ok(Condition {
            start: Some(Box::new(statement)),
            value,
        })
    }

    fn for_statement(&mut self, span: crate::source::Span) -> Parse<Stmt> {
        let changes = self.type_changes.len();
        let statement = self.for_parts(span);
        self.leave_type_scope(changes);
        statement
    }

    fn for_parts(&mut self, span: crate::source::Span) -> Parse<Stmt> {
        self.expect(TokenKind::LeftParen, "after 'for'")?;
        let start = if self.at(TokenKind::Semicolon) {
            Stmt {
                kind: StmtKind::Empty,
                span: self.peek().site,
            }
        } else if self.at_type() {
            self.declaration_list()?
        } else {
            let value = self.expression()?;
            Stmt {
                span: value.span,
                kind: StmtKind::Expr(value),
            }
        };
        if self.at(TokenKind::Colon) {
            let colon = self.bump();
            let StmtKind::Variables(variables) = start.kind else {
                return self.fail(
                    colon.site,
                    "a range-based for loop declares one variable",
                    Some("write for (auto value : array)"),
                );
            };
            let Some(variable) = variables.into_iter().next() else {
                return Err(super::Failed);
            };
            let range = self.initialiser()?;
            self.expect(TokenKind::RightParen, "after the range")?;
            let body = Box::new(self.statement()?);
            return Ok(Stmt {
                kind: StmtKind::RangeFor {
                    variable,
                    range,
                    body,
                },
                span,
            });
        }
        self.expect(TokenKind::Semicolon, "after the start of 'for'")?;
        let condition = if self.at(TokenKind::Semicolon) {
            None
        } else {
            Some(self.expression()?)
        };
        self.expect(TokenKind::Semicolon, "after the condition of 'for'")?;
        let step = if self.at(TokenKind::RightParen) {
            None
        } else {
            Some(self.expression()?)
        };
        self.expect(TokenKind::RightParen, "after the step of 'for'")?;
        let body = Box::new(self.statement()?);
        Ok(Stmt {
            kind: StmtKind::For {
                start: Box::new(start),
                condition,
                step,
                body,
            },
            span,
        })
    }

    fn declaration_statement(&mut self) -> Parse<Stmt> {
        let statement = self.declaration_list()?;
        if !matches!(statement.kind, StmtKind::Item(_)) || self.at(TokenKind::Semicolon) {
            self.expect(TokenKind::Semicolon, "after the declaration")?;
        }
        Ok(statement)
    }

    /// A declaration without its `;`. Structs defined in it become statements of their own.
    fn declaration_list(&mut self) -> Parse<Stmt> {
        let span = self.peek().site;
        let specifiers = self.specifiers(true)?;
        let mut statements: Vec<Stmt> = self
            .side_items
            .drain(..)
            .map(|item| Stmt {
                kind: StmtKind::Item(Box::new(item)),
                span,
            })
            .collect();
        if !self.at(TokenKind::Semicolon) {
            let Some(base) = specifiers.ty.clone() else {
                let found = self.shown(self.peek());
                return self.fail(
                    self.peek().site,
                    format!("expected a type, found {found}"),
                    None,
                );
            };
            if matches!(base.kind, TypeKind::Auto)
                && let Some(ahead) = self.bindings_ahead()
            {
                let bindings = self.bindings(base.is_const, ahead)?;
                return Ok(Stmt {
                    kind: StmtKind::Bindings(bindings),
                    span,
                });
            }
            let declared = self.declarator(base)?;
            if self.at(TokenKind::LeftParen) && declared.name.is_some() && self.is_parameter_list()
            {
                return self.refuse(declared.span, "a function declared inside a function", None);
            }
            if specifiers.is_typedef {
                let Some(name) = declared.name else {
                    return self.fail(declared.span, "a typedef needs a name", None);
                };
                self.add_alias(name, &declared.ty);
                statements.push(Stmt {
                    kind: StmtKind::Item(Box::new(Item::Alias {
                        name,
                        ty: declared.ty,
                    })),
                    span,
                });
            } else {
                let variables = self.variables(&specifiers, declared)?;
                statements.push(Stmt {
                    kind: StmtKind::Variables(variables),
                    span,
                });
            }
        }
        match (statements.len(), statements.pop()) {
            (1, Some(only)) => Ok(only),
            (_, Some(last)) => {
                statements.push(last);
                // The names belong to the surrounding scope; `Items` is not a block.
                Ok(Stmt {
                    kind: StmtKind::Sequence(statements),
                    span,
                })
            }
            _ => Ok(Stmt {
                kind: StmtKind::Empty,
                span,
            }),
        }
    }

    /// Tokens before the `[` of `auto& [a, b]`, if that stands here.
    fn bindings_ahead(&self) -> Option<usize> {
        let ahead = usize::from(matches!(self.kind(), TokenKind::Amp | TokenKind::AmpAmp));
        (self.peek_at(ahead).kind == TokenKind::LeftBracket).then_some(ahead)
    }

    fn bindings(&mut self, is_const: bool, ahead: usize) -> Parse<Bindings> {
        let is_reference = ahead > 0;
        if is_reference {
            self.bump();
        }
        self.bump();
        let mut names = Vec::new();
        while !self.at(TokenKind::RightBracket) {
            let name = self.expect(TokenKind::Identifier, "as a name")?;
            self.hide_type_name(name.symbol);
            names.push((name.symbol, name.site));
            if !self.accept(TokenKind::Comma) {
                break;
            }
        }
        self.expect(TokenKind::RightBracket, "after the names")?;
        let value = match self.kind() {
            TokenKind::LeftParen | TokenKind::LeftBrace => {
                let open = self.bump();
                let value = self.nested(|parser| parser.bracketed(Self::initialiser))?;
                let close = match open.kind {
                    TokenKind::LeftParen => TokenKind::RightParen,
                    _ => TokenKind::RightBrace,
                };
                self.expect(close, "after the value")?;
                value
            }
            _ => {
                self.expect(TokenKind::Equal, "after the names")?;
                self.initialiser()?
            }
        };
        Ok(Bindings {
            names,
            value,
            is_reference,
            is_const,
        })
    }

    fn is_parameter_list(&self) -> bool {
        let next = self.peek_at(1);
        next.kind == TokenKind::RightParen
            || (next.kind == TokenKind::Identifier
                && matches!(
                    next.symbol,
                    words::INT
                        | words::FLOAT
                        | words::VOID
                        | words::CONST
                        | words::DOUBLE
                        | words::HALF
                        | words::BFLOAT16
                        | words::UNSIGNED
                ))
    }

    fn expression_statement(&mut self) -> Parse<Stmt> {
        let first = *self.peek();
        let next = *self.peek_at(1);
        if first.kind == TokenKind::Identifier && next.kind == TokenKind::Colon {
            return self.refuse(first.site, "a label", Some("use loops, break and flags"));
        }
        // `vec3 a = …` with an unknown vec3, told as what it is.
        if first.kind == TokenKind::Identifier
            && (next.kind == TokenKind::Identifier || self.is_foreign_type(first.symbol))
        {
            return self.declaration_statement();
        }
        let value = self.expression()?;
        self.expect(TokenKind::Semicolon, "after the statement")?;
        Ok(Stmt {
            span: value.span,
            kind: StmtKind::Expr(value),
        })
    }
}
