//! The shapes that TensorFlow infers for the nodes of a graph.

use std::collections::HashMap;
use std::ffi::{CString, c_int};

use super::node::shape_of;
use super::wire::{Fields, Value};
use crate::failure::{Failure, Outcome};
use crate::tensorflow::{self, Buffer, Opaque, Status};

/// What tells the shape of a node's first result, where that is known.
pub trait Shapes {
    fn shape(&mut self, name: &str) -> Option<Vec<i64>>;
}

/// Those of TensorFlow, inferred when the first is asked for.
pub struct Inferred {
    item: Opaque,
    properties: Option<Outcome<Properties>>,
    known: HashMap<String, Option<Vec<i64>>>,
}

impl Inferred {
    /// Of what TensorFlow gives an optimizer, which stays while it runs.
    pub fn of(item: Opaque) -> Self {
        Self {
            item,
            properties: None,
            known: HashMap::new(),
        }
    }
}

impl Shapes for Inferred {
    fn shape(&mut self, name: &str) -> Option<Vec<i64>> {
        if let Some(known) = self.known.get(name) {
            return known.clone();
        }
        let item = self.item;
        let properties = self
            .properties
            .get_or_insert_with(|| Properties::inferred(item));
        let found = match properties {
            Ok(properties) => properties.shape(name).unwrap_or(None),
            Err(_) => None,
        };
        self.known.insert(name.to_owned(), found.clone());
        found
    }
}

struct Properties(Opaque);

impl Properties {
    fn inferred(item: Opaque) -> Outcome<Self> {
        let (graphs, status) = (tensorflow::graphs()?, Status::new()?);
        // SAFETY: TensorFlow's item, which outlives the properties; no feeds are assumed valid, and no values are asked for.
        unsafe {
            let properties = Self((graphs.TF_NewGraphProperties)(item));
            (graphs.TF_InferStatically)(properties.0, 0, 0, 0, 0, status.0);
            status.done()?;
            Ok(properties)
        }
    }

    fn shape(&self, name: &str) -> Outcome<Option<Vec<i64>>> {
        let (graphs, status) = (tensorflow::graphs()?, Status::new()?);
        let name = CString::new(name).map_err(|_| Failure::refused("a name has a null byte"))?;
        let mut count: c_int = 0;
        // SAFETY: live properties, a text that ends with a null byte, and a place for the number.
        unsafe {
            (graphs.TF_GetOutputPropertiesListSize)(
                self.0,
                name.as_ptr(),
                &raw mut count,
                status.0,
            );
        }
        status.done()?;
        if count < 1 {
            return Ok(None);
        }
        let buffers = Buffers::new(count as usize)?;
        // SAFETY: as above, with as many empty buffers as there are results.
        unsafe {
            (graphs.TF_GetOutputPropertiesList)(
                self.0,
                name.as_ptr(),
                buffers.0.as_ptr(),
                count,
                status.0,
            );
        }
        status.done()?;
        Ok(shape_of_properties(buffers.bytes(0)))
    }
}

impl Drop for Properties {
    fn drop(&mut self) {
        if let Ok(graphs) = tensorflow::graphs() {
            // SAFETY: properties that this owns.
            unsafe { (graphs.TF_DeleteGraphProperties)(self.0) };
        }
    }
}

/// Buffers of TensorFlow's that are empty at first.
struct Buffers(Vec<*mut Buffer>);

impl Buffers {
    fn new(count: usize) -> Outcome<Self> {
        let tensorflow = tensorflow::get()?;
        // SAFETY: gives new buffers.
        Ok(Self(
            (0..count)
                .map(|_| unsafe { (tensorflow.TF_NewBuffer)() })
                .collect(),
        ))
    }

    fn bytes(&self, place: usize) -> &[u8] {
        // SAFETY: a live buffer, whose bytes live as long as it.
        unsafe { (*self.0[place]).bytes() }
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        if let Ok(tensorflow) = tensorflow::get() {
            for buffer in &self.0 {
                // SAFETY: buffers that this owns.
                unsafe { (tensorflow.TF_DeleteBuffer)(*buffer) };
            }
        }
    }
}

/// The shape of `OpInfo.TensorProperties` (`tensorflow/core/grappler/costs/op_performance_data.proto`).
fn shape_of_properties(bytes: &[u8]) -> Option<Vec<i64>> {
    const SHAPE: u64 = 2;
    let shape = Fields(bytes).flatten().find(|field| field.number == SHAPE);
    match shape.map(|field| field.value) {
        Some(Value::Bytes(shape)) => shape_of(shape),
        // A message without fields is not written: a scalar.
        None => Some(Vec::new()),
        _ => None,
    }
}
