//! Statements.

use super::{Exits, Lowering};
use crate::hir::{CaseGroup, Expr, Stmt, StmtKind};
use crate::ir::{Terminator, Type};

impl Lowering<'_> {
    pub(super) fn statements(&mut self, statements: &[Stmt]) {
        for statement in statements {
            self.statement(statement);
        }
    }

    fn statement(&mut self, statement: &Stmt) {
        self.at(statement.span);
        match &statement.kind {
            StmtKind::Expr(expr) => self.effect(expr),
            StmtKind::Declare(local, initial) => {
                let ty = self.local_type(*local);
                self.declare(*local, ty, initial);
            }
            StmtKind::Block(inner) => self.statements(inner),
            StmtKind::If(condition, then, otherwise) => {
                self.if_statement(condition, then, otherwise.as_deref());
            }
            StmtKind::Loop {
                condition,
                step,
                body,
            } => self.loop_statement(condition.as_ref(), step.as_ref(), body),
            StmtKind::DoWhile { body, condition } => self.do_while(body, condition),
            StmtKind::Switch { value, groups } => self.switch(value, groups),
            StmtKind::Break => {
                if let Some(exits) = self.exits.last() {
                    self.jump(exits.on_break);
                    self.continue_unreachable();
                }
            }
            StmtKind::Continue => {
                if let Some(target) = self.exits.iter().rev().find_map(|exits| exits.on_continue) {
                    self.jump(target);
                    self.continue_unreachable();
                }
            }
            StmtKind::Return(value) => self.return_statement(value.as_ref()),
            StmtKind::Unrolled(unroll, inner) => {
                self.unroll = Some(*unroll);
                self.statement(inner);
            }
        }
    }

    fn local_type(&self, local: crate::hir::LocalId) -> Option<crate::types::TypeId> {
        self.local_types.get(local.0 as usize).copied()
    }

    fn if_statement(&mut self, condition: &Expr, then: &Stmt, otherwise: Option<&Stmt>) {
        let (yes, join) = (self.new_block(), self.new_block());
        let no = if otherwise.is_some() {
            self.new_block()
        } else {
            join
        };
        self.branch_on(condition, yes, no);
        self.continue_in(yes);
        self.statement(then);
        self.jump(join);
        if let Some(otherwise) = otherwise {
            self.continue_in(no);
            self.statement(otherwise);
            self.jump(join);
        }
        self.continue_in(join);
    }

    fn loop_statement(&mut self, condition: Option<&Expr>, step: Option<&Expr>, body: &Stmt) {
        let (header, inside, latch, exit) = (
            self.new_block(),
            self.new_block(),
            self.new_block(),
            self.new_block(),
        );
        self.jump(header);
        self.current = header;
        self.function.blocks[header.0 as usize].unroll = self.unroll.take();
        match condition {
            Some(condition) => self.branch_on(condition, inside, exit),
            None => self.jump(inside),
        }
        self.continue_in(inside);
        self.exits.push(Exits {
            on_break: exit,
            on_continue: Some(latch),
        });
        self.statement(body);
        self.exits.pop();
        self.jump(latch);
        self.continue_in(latch);
        if let Some(step) = step {
            self.at(step.span);
            self.effect(step);
        }
        self.jump(header);
        self.seal(header);
        self.continue_in(exit);
    }

    fn do_while(&mut self, body: &Stmt, condition: &Expr) {
        let (inside, latch, exit) = (self.new_block(), self.new_block(), self.new_block());
        self.jump(inside);
        self.current = inside;
        self.function.blocks[inside.0 as usize].unroll = self.unroll.take();
        self.exits.push(Exits {
            on_break: exit,
            on_continue: Some(latch),
        });
        self.statement(body);
        self.exits.pop();
        self.jump(latch);
        self.continue_in(latch);
        self.branch_on(condition, inside, exit);
        self.seal(inside);
        self.continue_in(exit);
    }

    fn switch(&mut self, value: &Expr, groups: &[CaseGroup]) {
        let exit = self.new_block();
        let blocks: Vec<_> = groups.iter().map(|_| self.new_block()).collect();
        let value = self.value(value);
        let ty = self.function.ty(value);
        let mask = if ty.bits() >= 64 {
            u64::MAX
        } else {
            (1 << ty.bits()) - 1
        };
        let mut cases = Vec::new();
        let mut default = exit;
        for (group, &block) in groups.iter().zip(&blocks) {
            cases.extend(
                group
                    .values
                    .iter()
                    .map(|number| (*number as u64 & mask, block)),
            );
            if group.is_default {
                default = block;
            }
        }
        self.terminate(Terminator::Switch {
            value,
            cases,
            default,
        });
        self.exits.push(Exits {
            on_break: exit,
            on_continue: None,
        });
        for (index, (group, &block)) in groups.iter().zip(&blocks).enumerate() {
            // Two ways lead here: the label, and falling through from the group before.
            self.continue_in(block);
            self.statements(&group.body);
            self.jump(blocks.get(index + 1).copied().unwrap_or(exit));
        }
        self.exits.pop();
        if groups.is_empty() {
            self.current = exit;
        }
        self.continue_in(exit);
    }

    fn return_statement(&mut self, value: Option<&Expr>) {
        let result = match (value, self.return_pointer) {
            (Some(value), Some(pointer)) => {
                self.value_into(value, pointer);
                None
            }
            (Some(value), None) => {
                let value = self.value(value);
                (self.function.result != Type::Void).then_some(value)
            }
            (None, _) => None,
        };
        self.terminate(Terminator::Return(result));
        self.continue_unreachable();
    }
}
