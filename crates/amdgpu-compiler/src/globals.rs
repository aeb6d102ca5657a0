//! Variables of a module that the host reaches by name: `__device__` and `__constant__`.

use serde::{Deserialize, Serialize};

use crate::hir;
use crate::ir::GlobalKind;
use crate::signature::Dtype;
use crate::types::{Type, TypeTable};

#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct GlobalVariable {
    /// As the user wrote it, and in machine code.
    pub name: String,
    pub type_name: String,
    /// Of the elements; absent for structs and pointers.
    pub dtype: Option<Dtype>,
    /// Empty for a single value.
    pub shape: Vec<u64>,
    pub size_bytes: u64,
    /// `__constant__`: kernels only read it.
    pub is_constant: bool,
}

/// Those of a program, in source order.
pub(crate) fn global_variables(program: &hir::Program, types: &TypeTable) -> Vec<GlobalVariable> {
    let is_wanted = |global: &&hir::Global| global.is_exported && !global.is_library;
    let exported = program.globals.iter().filter(is_wanted);
    exported
        .map(|global| {
            let (mut element, mut shape) = (global.ty, Vec::new());
            while let Type::Array {
                element: inner,
                length,
            } = types.get(element)
            {
                shape.push(length);
                element = inner;
            }
            GlobalVariable {
                name: global.name.clone(),
                type_name: types.text(global.ty),
                dtype: types.representation(element).map(Dtype::of),
                shape,
                size_bytes: types.bytes(global.ty),
                is_constant: global.kind == GlobalKind::Constant,
            }
        })
        .collect()
}
