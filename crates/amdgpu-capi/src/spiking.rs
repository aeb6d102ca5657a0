//! network.h: spiking networks and what their runs leave.

use std::sync::Arc;

use amdgpu_abi::ErrorCode;
use amdgpu_hal::attention;
use amdgpu_neuro::spiking::{RunResult, SpikingNetwork, SpikingOptions};

use crate::borrowed::{Described, Items, ItemsOut, Options, Out, Text, Versioned, fixed_text};
use crate::handles::{self, Handle, Object};
use crate::network::{NetworkOptions, check_count};
use crate::objects::DeviceObject;
use crate::status::{Answer, Failure, Status, answer};
use crate::toolchain;

pub struct SpikingObject {
    // First: the device goes after the network's memory.
    network: SpikingNetwork,
    _device: Arc<DeviceObject>,
}

impl Object for SpikingObject {
    const KIND: u8 = 9;
}

pub struct RunObject(RunResult);

impl Object for RunObject {
    const KIND: u8 = 10;
}

/// `agpu_spiking_facts`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct SpikingFacts {
    size_bytes: u64,
    name: [u8; 64],
    step_seconds: f64,
    step_number: u64,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for SpikingFacts {
    const NAME: &'static str = "agpu_spiking_facts";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// `agpu_run_facts`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RunFacts {
    size_bytes: u64,
    first_step: u64,
    steps: u64,
    wall_seconds: f64,
    spike_hash: u64,
    populations: u64,
    records: u64,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for RunFacts {
    const NAME: &'static str = "agpu_run_facts";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// `agpu_run_item`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct RunItem {
    size_bytes: u64,
    name: [u8; 64],
    neurons: u64,
    spikes: u64,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for RunItem {
    const NAME: &'static str = "agpu_run_item";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// Build a spiking network on a device.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_spiking_build(
    device: Handle,
    text: Text,
    options: Options<NetworkOptions>,
    network: Out<Handle>,
) -> Status {
    answer(|| {
        let place = network.required("network")?;
        let device = handles::get::<DeviceObject>(device, "device")?;
        let text = text.required("text")?;
        let given = options.read()?;
        let options = SpikingOptions {
            base_directory: given.base_directory()?,
            threads: (given.threads > 0).then_some(given.threads as usize),
            ..SpikingOptions::default()
        };
        let plan = given.plan(text, &options.base_directory)?;
        let network =
            SpikingNetwork::build(&plan, &device.context, toolchain::of_process(), &options)?;
        place.write(handles::insert(Arc::new(SpikingObject {
            network,
            _device: device,
        })));
        Ok(())
    })
}

/// Facts of a spiking network.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_spiking_info(network: Handle, info: Described<SpikingFacts>) -> Status {
    answer(|| {
        let place = info.required("info")?;
        let network = &handles::get::<SpikingObject>(network, "network")?.network;
        place.set(&SpikingFacts {
            size_bytes: size_of::<SpikingFacts>() as u64,
            name: fixed_text(network.name()),
            step_seconds: network.plan().dt_seconds,
            step_number: network.step_number(),
        });
        Ok(())
    })
}

/// Make steps.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_spiking_run(network: Handle, steps: u64, run: Out<Handle>) -> Status {
    answer(|| {
        let network = &handles::get::<SpikingObject>(network, "network")?.network;
        // The network is whole between two steps: a signal handler of Python has to wait until then.
        let _deferral = attention::defer();
        let result = network.run(steps, &mut |_| true)?;
        if let Some(place) = run.optional() {
            place.write(handles::insert(Arc::new(RunObject(result))));
        }
        Ok(())
    })
}

/// The values of a variable, `population.variable`, one for each neuron.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_spiking_state(
    network: Handle,
    name: Text,
    values: ItemsOut<f32>,
    count: u64,
    needed: Out<u64>,
) -> Status {
    answer(|| {
        let network = &handles::get::<SpikingObject>(network, "network")?.network;
        let state = network.state(name.required("name")?)?;
        if let Some(place) = needed.optional() {
            place.write(state.len() as u64);
        }
        if values.is_null() && count == 0 {
            return Ok(());
        }
        check_count("values", count, state.len())?;
        values
            .slice(count as usize, "values")?
            .copy_from_slice(&state);
        Ok(())
    })
}

/// Other values for a variable.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_spiking_set_state(
    network: Handle,
    name: Text,
    values: Items<f32>,
    count: u64,
) -> Status {
    answer(|| {
        let network = &handles::get::<SpikingObject>(network, "network")?.network;
        Ok(network.set_state(
            name.required("name")?,
            values.slice(count as usize, "values")?,
        )?)
    })
}

/// What a run did.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_run_info(run: Handle, info: Described<RunFacts>) -> Status {
    answer(|| {
        let place = info.required("info")?;
        let run = &handles::get::<RunObject>(run, "run")?.0;
        place.set(&RunFacts {
            size_bytes: size_of::<RunFacts>() as u64,
            first_step: run.first_step,
            steps: run.steps,
            wall_seconds: run.wall_seconds,
            spike_hash: run.spike_hash,
            populations: run.counts.len() as u64,
            records: run.spikes.len() as u64,
        });
        Ok(())
    })
}

/// Name, size and number of spikes of a population of the run.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_run_population(run: Handle, index: u64, item: Described<RunItem>) -> Status {
    answer(|| {
        let place = item.required("item")?;
        let run = &handles::get::<RunObject>(run, "run")?.0;
        let (name, neurons, spikes) = at(&run.counts, index, "populations")?;
        place.set(&RunItem {
            size_bytes: size_of::<RunItem>() as u64,
            name: fixed_text(name),
            neurons: *neurons as u64,
            spikes: *spikes,
        });
        Ok(())
    })
}

/// The spikes that a `record` of the text kept: times in seconds and indices of neurons, and how many there are.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_run_spikes(
    run: Handle,
    index: u64,
    times_seconds: ItemsOut<f64>,
    neurons: ItemsOut<u32>,
    count: u64,
    needed: Out<u64>,
) -> Status {
    answer(|| {
        let run = &handles::get::<RunObject>(run, "run")?.0;
        let record = at(&run.spikes, index, "records of spikes")?;
        if let Some(place) = needed.optional() {
            place.write(record.indices.len() as u64);
        }
        if times_seconds.is_null() && neurons.is_null() && count == 0 {
            return Ok(());
        }
        check_count("times_seconds and neurons", count, record.indices.len())?;
        times_seconds
            .slice(count as usize, "times_seconds")?
            .copy_from_slice(&record.times_seconds);
        neurons
            .slice(count as usize, "neurons")?
            .copy_from_slice(&record.indices);
        Ok(())
    })
}

fn at<'a, T>(items: &'a [T], index: u64, what: &str) -> Answer<&'a T> {
    items.get(index as usize).ok_or_else(|| {
        Failure::new(
            ErrorCode::InvalidArgument,
            format!("index is {index}; the run has {} {what}", items.len()),
        )
    })
}
