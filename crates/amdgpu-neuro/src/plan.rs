//! The network plan: schema `amdgpu.network_plan`, described in `docs/plan_schema.md`.

mod check;
pub mod expression;
pub mod inline_or_file;
mod layered;
mod network_plan;
pub mod positions;
pub(crate) mod resolve;
pub mod spiking;

use std::sync::Arc;

use amdgpu_abi::Activation;
use amdgpu_abi::ops::ActivationRow;
use serde::{Deserialize, Serialize};

use crate::error::Error;
use crate::external_inputs::Array;
use crate::temporal::Temporal;

pub use layered::{
    ConnectionPlan, LayerPlan, LayeredNetworkPlan, PLASTICITY_RULES, PlasticityPlan,
};
pub use network_plan::{NetworkPlan, PlanKind};

pub const SCHEMA: &str = "amdgpu.network_plan";
/// Of layered networks.
pub const VERSION: u64 = 1;
/// Of spiking networks.
pub const SPIKING_VERSION: u64 = 2;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ActivationPlan {
    pub kind: String,
    pub alpha: f64,
    pub beta: f64,
}

impl ActivationPlan {
    /// What a dense product applies, as the C ABI writes it: nothing where the layer has a state. `None` for a name that is no activation.
    #[must_use]
    pub fn to_abi(&self) -> Option<Activation> {
        if Temporal::of(self).is_some() {
            return Some(crate::forward::IDENTITY);
        }
        let kind = ActivationRow::of_name(&self.kind)?.number?;
        Some(Activation {
            kind,
            alpha: self.alpha as f32,
            beta: self.beta as f32,
            reserved: 0,
        })
    }
}

/// How values start.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Initializer {
    Constant {
        value: f64,
    },
    Random {
        low: f64,
        high: f64,
    },
    Normal {
        mean: f64,
        standard_deviation: f64,
    },
    /// Values beyond a limit become the limit.
    ClippedNormal {
        mean: f64,
        standard_deviation: f64,
        low: f64,
        high: f64,
    },
    Xavier {},
    He {},
    File {
        path: String,
    },
    /// An array that the program gives.
    Array {
        name: String,
        /// Once it was found.
        #[serde(skip)]
        values: Option<Arc<Array>>,
    },
    /// Of a parameter: where neurons are on an axis.
    Position {
        axis: usize,
    },
    /// Of the positions of a synapse's two neurons.
    Expression {
        code: Vec<expression::Token>,
    },
}

/// Something in the text that is allowed and probably not meant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Warning {
    pub line: u64,
    pub column: u64,
    pub message: String,
    pub hint: String,
}

fn refuse(message: impl Into<String>) -> Error {
    Error::InvalidDescription(format!("the network plan {}", message.into()))
}
