//! network.h: layered networks.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use amdgpu_abi::ErrorCode;
use amdgpu_aura::OpenDevice;
use amdgpu_neuro::backend::preferred;
use amdgpu_neuro::{BuildOptions, LayeredNetwork, NetworkPlan};
use amdgpu_ops::DeviceOps;

use crate::array::ArrayObject;
use crate::borrowed::{Described, Items, ItemsOut, Options, Out, Text, Versioned, fixed_text};
use crate::handles::{self, Handle, Object};
use crate::status::{Answer, Failure, Status, answer};
use crate::toolchain;

pub struct NetworkObject(pub LayeredNetwork);

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
        let (input, output) = rows(network, (input, samples, steps), (output, output_count))?;
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

/// `agpu_network_forward_options`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ForwardOptions {
    size_bytes: u64,
    uses_kernels: u32,
    reserved: u32,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for ForwardOptions {
    const NAME: &'static str = "agpu_network_forward_options";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// Operations of the device for networks; with `uses_kernels` by kernels on a CPU device, too.
pub fn ops_for(device: &Arc<OpenDevice>, uses_kernels: u32) -> Answer<Arc<DeviceOps>> {
    // Before the first kernel is generated.
    toolchain::of_process();
    Ok(if uses_kernels == 0 {
        DeviceOps::of(device)?
    } else {
        DeviceOps::of_kernels(device)?
    })
}

/// The network's answers to samples in an array, where the array is.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_network_forward_array(
    network: Handle,
    input: Handle,
    options: Options<ForwardOptions>,
    output: Out<Handle>,
) -> Status {
    answer(|| {
        let place = output.required("output")?;
        let network = &handles::get::<NetworkObject>(network, "network")?.0;
        let input = ArrayObject::alive("input", input)?;
        let ops = ops_for(&input.open_device()?, options.read()?.uses_kernels)?;
        let made = network.forward_array(&ops, &input.array)?;
        place.write(ArrayObject::insert(made, input.device().cloned()));
        Ok(())
    })
}

/// The network's answers to samples before its plasticity rules change the weights once.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_network_hebbian_step(
    network: Handle,
    input: Items<f32>,
    samples: u64,
    output: ItemsOut<f32>,
    output_count: u64,
) -> Status {
    answer(|| {
        let network = &handles::get::<NetworkObject>(network, "network")?.0;
        let (input, output) = rows(network, (input, samples, 1), (output, output_count))?;
        let result = network.hebbian_step(input, samples as usize, preferred()?.as_ref())?;
        output.copy_from_slice(&result);
        Ok(())
    })
}

/// The caller's rows of inputs, and the place for those of outputs.
fn rows<'a>(
    network: &LayeredNetwork,
    (input, samples, steps): (Items<f32>, u64, u64),
    (output, output_count): (ItemsOut<f32>, u64),
) -> Answer<(&'a [f32], &'a mut [f32])> {
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
    Ok((
        input.slice(values as usize, "input")?,
        output.slice(output_count as usize, "output")?,
    ))
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

/// The biases of a layer, one for each of its values.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_network_biases(
    network: Handle,
    layer: Text,
    values: ItemsOut<f32>,
    count: u64,
    needed: Out<u64>,
) -> Status {
    answer(|| {
        let network = &handles::get::<NetworkObject>(network, "network")?.0;
        let biases = network
            .biases(layer.required("layer")?)?
            .unwrap_or_default();
        if let Some(place) = needed.optional() {
            place.write(biases.len() as u64);
        }
        if values.is_null() && count == 0 {
            return Ok(());
        }
        check_count("values", count, biases.len())?;
        values
            .slice(count as usize, "values")?
            .copy_from_slice(&biases);
        Ok(())
    })
}

/// Other biases for a layer.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_network_set_biases(
    network: Handle,
    layer: Text,
    values: Items<f32>,
    count: u64,
) -> Status {
    answer(|| {
        let network = &handles::get::<NetworkObject>(network, "network")?.0;
        let layer = layer.required("layer")?;
        Ok(network.set_biases(layer, values.slice(count as usize, "values")?)?)
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

pub fn mismatch(message: String) -> Failure {
    Failure::new(ErrorCode::ShapeMismatch, message)
}
