//! What pragmas say about unrolling: the number of iterations at once is a constant expression.

use super::Sema;
use crate::ast;
use crate::hir::Constant;
use crate::ir::Unroll;
use crate::types::TypeTable;

impl<'a> Sema<'a> {
    /// As CUDA has it: 1 forbids unrolling, and a number that makes no sense is warned of and ignored.
    pub(super) fn unroll(&mut self, hint: &'a ast::Unrolling) -> Option<Unroll> {
        let times = match hint {
            ast::Unrolling::Full => return Some(Unroll::Full),
            ast::Unrolling::Never => return Some(Unroll::Never),
            ast::Unrolling::Times(times) => times,
        };
        let value = self.value(times);
        if value.ty == TypeTable::ERROR {
            return None;
        }
        match self.evaluate(&value) {
            Some(Constant::Integer(1)) => Some(Unroll::Never),
            Some(Constant::Integer(number)) => {
                let number = u32::try_from(number).ok();
                let number = number.filter(|number| (2..=i32::MAX as u32).contains(number));
                if number.is_none() {
                    self.diagnostics.warning(
                        times.span,
                        "the number of iterations to unroll is not between 1 and 2147483647; this pragma is ignored",
                        None,
                    );
                }
                number.map(Unroll::Times)
            }
            Some(Constant::Float(_)) => {
                self.error(
                    times.span,
                    "the number of iterations to unroll is an integer",
                );
                None
            }
            None => {
                self.not_constant(times.span, "the number of iterations to unroll");
                None
            }
        }
    }
}
