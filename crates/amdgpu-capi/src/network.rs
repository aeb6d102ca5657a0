//! network.h: layered networks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use amdgpu_abi::ErrorCode;
use amdgpu_neuro::backend::preferred;
use amdgpu_neuro::{BuildOptions, LayeredNetwork, NetworkPlan};

use crate::borrowed::{Described, Items, ItemsOut, Options, Out, Text, Versioned, fixed_text};
use crate::handles::{self, Handle, Object};
use crate::status::{Answer, Failure, Status, answer};

pub struct NetworkObject(LayeredNetwork);

impl Object for NetworkObject {
    const KIND: u8 = 8;
}

/// `agpu_network_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NetworkOptions {
    size_bytes: u64,
    pub base_directory: Text,
    seed: u64,
    has_seed: u32,
    pub threads: u32,
}

// SAFETY: plain numbers and pointers; all zeros is a valid value.
unsafe impl Versioned for NetworkOptions {
    const NAME: &'static str = "agpu_network_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

impl NetworkOptions {
    /// The plan of a text, with the seed of these options where they have one.
    pub fn plan(&self, text: &str, base_directory: &Path) -> Answer<NetworkPlan> {
        let plan = NetworkPlan::compile(text, base_directory)?;
        Ok(if self.has_seed != 0 {
            plan.with_seed(self.seed)
        } else {
            plan
        })
    }

    pub fn base_directory(&self) -> Answer<PathBuf> {
        let folder = self.base_directory.optional("base_directory")?;
        Ok(folder.map(PathBuf::from).unwrap_or_default())
    }
}

/// `agpu_network_facts`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct NetworkFacts {
    size_bytes: u64,
    name: [u8; 64],
    inputs: u64,
    outputs: u64,
    parameters: u64,
    has_steps: u32,
    reserved: u32,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for NetworkFacts {
    const NAME: &'static str = "agpu_network_facts";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// Build a layered network from its text.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_network_build(
    text: Text,
    options: Options<NetworkOptions>,
    network: Out<Handle>,
) -> Status {
    answer(|| {
        let place = network.required("network")?;
        let text = text.required("text")?;
        let options = options.read()?;
        crate::prepare();
        let build = BuildOptions {
            base_directory: options.base_directory()?,
            ..BuildOptions::default()
        };
        let plan = options.plan(text, &build.base_directory)?;
        let network = LayeredNetwork::build(&plan, &build)?;
        place.write(handles::insert(Arc::new(NetworkObject(network))));
        Ok(())
    })
}

/// Facts of a network.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_network_info(network: Handle, info: Described<NetworkFacts>) -> Status {
    answer(|| {
        let place = info.required("info")?;
        let network = handles::get::<NetworkObject>(network, "network")?;
        place.set(&NetworkFacts {
            size_bytes: size_of::<NetworkFacts>() as u64,
            name: fixed_text(network.0.name()),
            inputs: network.0.input_size() as u64,
            outputs: network.0.output_size() as u64,
            parameters: network.0.parameter_count() as u64,
            has_steps: u32::from(network.0.is_temporal()),
            reserved: 0,
        });
        Ok(())
    })
}

/// The network's answers to samples.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_network_forward(
    network: Handle,
    input: Items<f32>,
    samples: u64,
    steps: u64,
    output: ItemsOut<f32>,
    output_count: u64,
) -> Status {
    answer(|| {
        let network = &handles::get::<NetworkObject>(network, "network")?.0;
        let steps = if network.is_temporal() { steps } else { 1 };
        let wanted = samples.checked_mul(network.output_size() as u64);
        if wanted != Some(output_count) {
            return Err(mismatch(format!(
                "output has {output_count} values; {samples} samples have {} each",
                network.output_size()
            )));
        }
        let values = samples
            .checked_mul(steps)
            .and_then(|rows| rows.checked_mul(network.input_size() as u64));
        let values = values
            .ok_or_else(|| mismatch(format!("{samples} samples of {steps} steps are too many")))?;
        let input = input.slice(values as usize, "input")?;
        let output = output.slice(output_count as usize, "output")?;
        let result = network.forward_steps(
            input,
            samples as usize,
            steps as usize,
            preferred()?.as_ref(),
        )?;
        output.copy_from_slice(&result);
        Ok(())
    })
}

/// The weights of a connection, row-major `[inputs, outputs]`, and their shape.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_network_weights(
    network: Handle,
    connection: Text,
    values: ItemsOut<f32>,
    count: u64,
    rows: Out<u64>,
    columns: Out<u64>,
) -> Status {
    answer(|| {
        let network = &handles::get::<NetworkObject>(network, "network")?.0;
        let connection = connection.required("connection")?;
        let shape = network.weight_shape(connection)?;
        for (place, extent) in [rows, columns].into_iter().zip(shape) {
            if let Some(place) = place.optional() {
                place.write(extent as u64);
            }
        }
        if values.is_null() && count == 0 {
            return Ok(());
        }
        let (weights, _) = network.weights(connection)?;
        check_count("values", count, weights.len())?;
        values
            .slice(count as usize, "values")?
            .copy_from_slice(&weights);
        Ok(())
    })
}

/// Other weights for a connection.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_network_set_weights(
    network: Handle,
    connection: Text,
    values: Items<f32>,
    count: u64,
) -> Status {
    answer(|| {
        let network = &handles::get::<NetworkObject>(network, "network")?.0;
        let connection = connection.required("connection")?;
        let [rows, columns] = network.weight_shape(connection)?;
        check_count("values", count, rows * columns)?;
        Ok(network.set_weights(connection, values.slice(count as usize, "values")?)?)
    })
}

pub fn check_count(name: &str, given: u64, wanted: usize) -> Answer {
    if given == wanted as u64 {
        return Ok(());
    }
    Err(mismatch(format!(
        "{name} has {given} values; there are {wanted}"
    )))
}

fn mismatch(message: String) -> Failure {
    Failure::new(ErrorCode::ShapeMismatch, message)
}
