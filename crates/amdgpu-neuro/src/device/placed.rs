//! A network's numbers in the memory of devices, uploaded again only after they changed.

use std::sync::Arc;

use amdgpu_ops::DeviceOps;

use super::keepers::{Placed, PlacedNetworks};
use super::tensor::upload;
use crate::error::Result;
use crate::layered_network::LayeredNetwork;
use crate::training::tensors::Tensors;

/// The numbers of a network as they are now, on a device.
pub(crate) fn placed(ops: &DeviceOps, network: &LayeredNetwork) -> Result<Arc<Placed>> {
    let table = ops.device().cache(PlacedNetworks::default);
    let id = network.keepers.id;
    let found = table.lock().get(&id).cloned();
    if let Some(found) = found.filter(|found| found.version == network.version()) {
        return Ok(found);
    }
    // Uploaded without the lock of the table: other networks are used meanwhile.
    let parameters = network.read()?;
    let version = network.version();
    let weights = parameters.weights.iter();
    let weights = weights.map(|weight| upload(ops, weight, [weight.len()]));
    let biases = parameters.biases.iter().map(|bias| {
        let bias = bias.as_ref();
        bias.map(|bias| upload(ops, bias, [bias.len()])).transpose()
    });
    let made = Arc::new(Placed {
        version,
        tensors: Tensors {
            weights: weights.collect::<Result<_>>()?,
            biases: biases.collect::<Result<_>>()?,
        },
    });
    drop(parameters);
    network.keepers.note(&table);
    table.lock().insert(id, Arc::clone(&made));
    Ok(made)
}

/// Puts other numbers of a network into a device's table; returns what was there.
pub(crate) fn replace(
    ops: &DeviceOps,
    network: &LayeredNetwork,
    next: Arc<Placed>,
) -> Option<Arc<Placed>> {
    let table = ops.device().cache(PlacedNetworks::default);
    network.keepers.note(&table);
    table.lock().insert(network.keepers.id, next)
}
