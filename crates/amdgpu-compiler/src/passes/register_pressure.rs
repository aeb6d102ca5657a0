//! Estimates the registers of each kernel from what is alive at once, and where. It only reports; unrolling uses the same estimate to
//! stop where a loop would no longer fit.

use super::cost::registers;
use super::{Context, Pass};
use crate::ir::Function;

pub struct RegisterPressure;

impl Pass for RegisterPressure {
    fn name(&self) -> &'static str {
        "register-pressure"
    }

    fn run(&self, function: &mut Function, ctx: &mut Context<'_>) -> u64 {
        if function.is_kernel {
            let cfg = ctx.cfg(function);
            let most = registers::most_live(function, &cfg);
            ctx.findings.add(function, function.line, || {
                format!("about {most} registers of 32 bits are live at most")
            });
        }
        0
    }
}
