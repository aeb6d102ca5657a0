//! Estimates the registers of each kernel from what is alive at once, and where. It only reports; unrolling uses the same estimate to
//! stop where a loop would no longer fit.

use super::cost::registers;
use super::{Pass, Unit};
use crate::ir::cfg::Cfg;

pub struct RegisterPressure;

impl Pass for RegisterPressure {
    fn name(&self) -> &'static str {
        "register-pressure"
    }

    fn run(&self, unit: &mut Unit<'_>) -> u64 {
        unit.each_function(|function, _, findings| {
            if function.is_kernel {
                let cfg = Cfg::new(function);
                let most = registers::most_live(function, &cfg);
                findings.add(function, function.line, || {
                    format!("about {most} registers of 32 bits are live at most")
                });
            }
            0
        })
    }
}
