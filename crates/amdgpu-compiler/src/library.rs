//! The device library: HIP-C source that comes with the compiler, read once and shared by all compiles.

use std::sync::Arc;

use crate::diagnostics::{Diagnostics, Severity};
use crate::interner::Interner;
use crate::parser::{Parser, Program, TypeNames};
use crate::preprocessor::{MacroTable, Preprocessor};
use crate::source::{SourceMap, Span};

/// Files of the library, in the order they build on each other.
const FILES: &[(&str, &str)] = &[
    (
        "device_lib/types.hip",
        include_str!("../device_lib/types.hip"),
    ),
    (
        "device_lib/limits.hip",
        include_str!("../device_lib/limits.hip"),
    ),
    (
        "device_lib/traits.hip",
        include_str!("../device_lib/traits.hip"),
    ),
    (
        "device_lib/basic.hip",
        include_str!("../device_lib/basic.hip"),
    ),
    (
        "device_lib/exponential.hip",
        include_str!("../device_lib/exponential.hip"),
    ),
    (
        "device_lib/trigonometric.hip",
        include_str!("../device_lib/trigonometric.hip"),
    ),
    (
        "device_lib/narrow_floats.hip",
        include_str!("../device_lib/narrow_floats.hip"),
    ),
    (
        "device_lib/conversions.hip",
        include_str!("../device_lib/conversions.hip"),
    ),
    (
        "device_lib/atomics.hip",
        include_str!("../device_lib/atomics.hip"),
    ),
    (
        "device_lib/integers.hip",
        include_str!("../device_lib/integers.hip"),
    ),
    (
        "device_lib/double_exponential.hip",
        include_str!("../device_lib/double_exponential.hip"),
    ),
    (
        "device_lib/double_trigonometric.hip",
        include_str!("../device_lib/double_trigonometric.hip"),
    ),
    (
        "device_lib/double_special.hip",
        include_str!("../device_lib/double_special.hip"),
    ),
    (
        "device_lib/number_parts.hip",
        include_str!("../device_lib/number_parts.hip"),
    ),
    (
        "device_lib/single_precision.hip",
        include_str!("../device_lib/single_precision.hip"),
    ),
    (
        "device_lib/libcalls.hip",
        include_str!("../device_lib/libcalls.hip"),
    ),
    (
        "device_lib/messages.hip",
        include_str!("../device_lib/messages.hip"),
    ),
    (
        "device_lib/barriers.hip",
        include_str!("../device_lib/barriers.hip"),
    ),
    (
        "device_lib/waves.hip",
        include_str!("../device_lib/waves.hip"),
    ),
];

/// The library after parsing, with the state a user's source starts from.
pub(crate) struct Library {
    pub program: Program,
    pub sources: SourceMap,
    pub interner: Interner,
    pub macros: MacroTable,
    pub type_names: TypeNames,
}

impl Library {
    /// Reads the library; the message is for us, since only our own mistakes can cause it.
    pub fn load() -> Result<Self, String> {
        let mut sources = SourceMap::default();
        let mut interner = Interner::new();
        let mut diagnostics = Diagnostics::default();
        let mut preprocessor = Preprocessor::new(
            &mut sources,
            &mut interner,
            &mut diagnostics,
            MacroTable::new(),
        );
        for (name, text) in FILES {
            let text: Arc<str> = (*text).into();
            preprocessor.run(name, &text);
        }
        let (tokens, pragmas, macros) = preprocessor.finish();
        let parser = Parser::new(
            &tokens,
            &pragmas,
            Span::default(),
            &sources,
            &mut interner,
            &mut diagnostics,
            TypeNames::default(),
        );
        let (program, type_names) = parser.program();
        let errors: Vec<String> = diagnostics
            .resolve(&sources)
            .iter()
            .filter(|message| message.severity == Severity::Error)
            .map(ToString::to_string)
            .collect();
        if errors.is_empty() {
            Ok(Self {
                program,
                sources,
                interner,
                macros,
                type_names,
            })
        } else {
            Err(errors.join("\n"))
        }
    }
}
