//! Lists of tensors, which `tf.TensorArray` and loops of Keras use. A plug-in cannot read them, and TensorFlow's kernels for any device would read memory of the
//! device on the host: nodes that look into a list go to the CPU, where TensorFlow copies its tensors.

use super::rewrite::{Graph, is_on_rdna};

const OPERATIONS: &[&str] = &[
    "TensorListStack",
    "TensorListFromTensor",
    "TensorListGather",
    "TensorListConcat",
    "TensorListConcatV2",
    "TensorListSplit",
    "TensorListScatterIntoExistingList",
    "TensorListScatter",
    "TensorListScatterV2",
];

/// Moves them, and says how many were moved.
pub fn join(graph: &mut Graph) -> (u64, u64) {
    let mut moved = 0;
    for place in 0..graph.len() {
        let node = graph.node(place);
        if OPERATIONS.contains(&node.operation.as_str()) && is_on_rdna(&node.device) {
            let device = cpu_beside(&node.device);
            graph.move_to(place, &device);
            moved += 1;
        }
    }
    (moved, moved)
}

/// The CPU of the process whose device this is.
fn cpu_beside(device: &str) -> String {
    let process = device.split("/device:").next().unwrap_or_default();
    format!("{process}/device:CPU:0")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cpu_is_that_of_the_same_process() {
        let device = "/job:worker/replica:0/task:1/device:RDNA:0";
        assert_eq!(
            cpu_beside(device),
            "/job:worker/replica:0/task:1/device:CPU:0"
        );
    }
}
