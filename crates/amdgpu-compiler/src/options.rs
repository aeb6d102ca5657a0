//! What the caller may choose.

use serde::{Deserialize, Serialize};

use crate::profile::{self, Profile};

/// How much work goes into speed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OptimizationLevel {
    None,
    Low,
    #[default]
    High,
    Max,
}

impl OptimizationLevel {
    /// The level of this name: `none`, `low`, `high` or `max`.
    pub fn parse(text: &str) -> Option<Self> {
        Some(match text {
            "none" => Self::None,
            "low" => Self::Low,
            "high" => Self::High,
            "max" => Self::Max,
            _ => return None,
        })
    }

    /// The inverse of [`OptimizationLevel::parse`].
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Low => "low",
            Self::High => "high",
            Self::Max => "max",
        }
    }

    /// The number the code generator takes, 0 to 3.
    pub fn number(self) -> u8 {
        match self {
            Self::None => 0,
            Self::Low => 1,
            Self::High => 2,
            Self::Max => 3,
        }
    }
}

/// Options of one compile.
#[allow(clippy::struct_excessive_bools, reason = "options are switches")]
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct CompileOptions {
    /// File name used in messages.
    pub name: String,
    pub optimization_level: OptimizationLevel,
    /// Macros defined before the source is read, as with `-D name=value`.
    pub defines: Vec<(String, String)>,
    /// Instances of template kernels to compile: `scale<float, 4>`.
    pub name_expressions: Vec<String>,
    /// Allows reordering and approximation of float operations; results then differ between devices.
    pub fast_math: bool,
    /// On the CPU: every access, barrier and loop is checked while the kernel runs; no passes run.
    pub checked: bool,
    /// Names of passes that do not run.
    pub disabled_passes: Vec<String>,
    /// Keeps the text of the IR before the passes and after each of them.
    pub dump_ir: bool,
    /// The kernels count what they do, for a profile.
    pub instrumented: bool,
    /// What instrumented runs of this source counted.
    pub profile: Option<Box<Profile>>,
}

impl CompileOptions {
    /// What a profile of this source must say that it is of.
    pub fn profile_identity(&self, source: &str) -> String {
        profile::identity(source, &self.defines, &self.name_expressions)
    }

    /// Whether the pass of this name is not to run.
    pub(crate) fn disables(&self, pass: &str) -> bool {
        self.disabled_passes.iter().any(|name| name == pass)
    }
}

impl Default for CompileOptions {
    fn default() -> Self {
        Self {
            name: "kernel.hip".to_owned(),
            optimization_level: OptimizationLevel::default(),
            defines: Vec::new(),
            name_expressions: Vec::new(),
            fast_math: false,
            checked: false,
            disabled_passes: Vec::new(),
            dump_ir: false,
            instrumented: false,
            profile: None,
        }
    }
}
