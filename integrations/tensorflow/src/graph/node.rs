//! Graphs as TensorFlow gives them to an optimizer: `GraphDef` of `tensorflow/core/framework/graph.proto` and what it holds.

use std::collections::BTreeMap;

use super::wire::{Field, Fields, Message, Value, number};
use crate::call::half_value;
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};

/// A graph: its nodes, and all other fields as they stand.
#[derive(Default)]
pub struct GraphDef {
    pub nodes: Vec<Node>,
    rest: Vec<u8>,
}

/// A node (`node_def.proto`).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Node {
    pub name: String,
    pub operation: String,
    /// `name`, `name:output` or, of a node that only has to run before, `^name`.
    pub inputs: Vec<String>,
    pub device: String,
    /// Values as they stand, by name (`attr_value.proto`).
    attributes: BTreeMap<String, Vec<u8>>,
    rest: Vec<u8>,
}

/// Fields of `AttrValue`.
mod attribute {
    pub const TEXT: u64 = 2;
    pub const INT: u64 = 3;
    pub const FLOAT: u64 = 4;
    pub const FLAG: u64 = 5;
    pub const TYPE: u64 = 6;
    pub const TENSOR: u64 = 8;
}

fn text(field: &Field) -> Outcome<String> {
    let Value::Bytes(bytes) = field.value else {
        return Err(Failure::refused("a text of the graph is no text"));
    };
    let text = std::str::from_utf8(bytes);
    text.map(str::to_owned)
        .map_err(|_| Failure::refused("a text of the graph is not UTF-8"))
}

impl GraphDef {
    pub fn read(bytes: &[u8]) -> Outcome<Self> {
        const NODE: u64 = 1;
        let mut graph = Self::default();
        for field in Fields(bytes) {
            let field = field?;
            match (field.number, field.value) {
                (NODE, Value::Bytes(node)) => graph.nodes.push(Node::read(node)?),
                _ => graph.rest.extend(field.whole),
            }
        }
        Ok(graph)
    }

    pub fn written(&self) -> Vec<u8> {
        let mut message = Message::default();
        for node in &self.nodes {
            message.bytes(1, &node.written());
        }
        message.0.extend(&self.rest);
        message.0
    }
}

impl Node {
    fn read(bytes: &[u8]) -> Outcome<Self> {
        let mut node = Self::default();
        for field in Fields(bytes) {
            let field = field?;
            match (field.number, field.value) {
                (1, _) => node.name = text(&field)?,
                (2, _) => node.operation = text(&field)?,
                (3, _) => node.inputs.push(text(&field)?),
                (4, _) => node.device = text(&field)?,
                (5, Value::Bytes(entry)) => {
                    let (mut name, mut value) = (String::new(), Vec::new());
                    for field in Fields(entry) {
                        let field = field?;
                        match (field.number, field.value) {
                            (1, _) => name = text(&field)?,
                            (2, Value::Bytes(bytes)) => value = bytes.to_vec(),
                            _ => {}
                        }
                    }
                    node.attributes.insert(name, value);
                }
                _ => node.rest.extend(field.whole),
            }
        }
        Ok(node)
    }

    fn written(&self) -> Vec<u8> {
        let mut message = Message::default();
        message.bytes(1, self.name.as_bytes());
        message.bytes(2, self.operation.as_bytes());
        for input in &self.inputs {
            message.bytes(3, input.as_bytes());
        }
        message.bytes(4, self.device.as_bytes());
        for (name, value) in &self.attributes {
            let mut entry = Message::default();
            entry.bytes(1, name.as_bytes());
            entry.bytes(2, value);
            message.bytes(5, &entry.0);
        }
        message.0.extend(&self.rest);
        message.0
    }

    /// A node with that name on that device, without attributes.
    pub fn new(name: &str, operation: &str, inputs: Vec<String>, device: &str) -> Self {
        Self {
            name: name.to_owned(),
            operation: operation.to_owned(),
            inputs,
            device: device.to_owned(),
            ..Self::default()
        }
    }

    /// The node with another operation and inputs; nodes that have to run before it stay.
    pub fn replaced(&self, operation: &str, inputs: Vec<String>) -> Self {
        Self::new(&self.name, operation, inputs, &self.device)
    }

    pub fn with_type(self, name: &str, dtype: Dtype) -> Self {
        self.with(name, |value| value.number(attribute::TYPE, dtype.0 as u64))
    }

    pub fn with_int(self, name: &str, number: i64) -> Self {
        self.with(name, |value| value.number(attribute::INT, number as u64))
    }

    pub fn with_flag(self, name: &str, flag: bool) -> Self {
        self.with(name, |value| value.number(attribute::FLAG, u64::from(flag)))
    }

    pub fn with_float(self, name: &str, number: f32) -> Self {
        self.with(name, |value| value.float(attribute::FLOAT, number))
    }

    pub fn with_text(self, name: &str, text: &str) -> Self {
        self.with(name, |value| value.bytes(attribute::TEXT, text.as_bytes()))
    }

    /// With a tensor of one number.
    #[cfg(test)]
    pub fn with_scalar(self, name: &str, number: f32) -> Self {
        let mut tensor = Message::default();
        tensor.number(1, Dtype::F32.0 as u64);
        tensor.float(5, number);
        self.with(name, |value| value.bytes(attribute::TENSOR, &tensor.0))
    }

    /// With an attribute of another node, as it stands there.
    pub fn with_copied(mut self, name: &str, other: &Self) -> Self {
        if let Some(value) = other.attributes.get(name) {
            self.attributes.insert(name.to_owned(), value.clone());
        }
        self
    }

    fn with(mut self, name: &str, write: impl FnOnce(&mut Message)) -> Self {
        let mut value = Message::default();
        write(&mut value);
        self.attributes.insert(name.to_owned(), value.0);
        self
    }

    fn attribute(&self, name: &str, field: u64) -> Option<Value<'_>> {
        let fields = Fields(self.attributes.get(name)?);
        fields
            .flatten()
            .find(|one| one.number == field)
            .map(|one| one.value)
    }

    pub fn dtype(&self, name: &str) -> Option<Dtype> {
        match self.attribute(name, attribute::TYPE)? {
            Value::Number(number) => Some(Dtype(number as i32)),
            _ => None,
        }
    }

    /// A flag; one that does not stand there is false.
    pub fn flag(&self, name: &str) -> bool {
        matches!(
            self.attribute(name, attribute::FLAG),
            Some(Value::Number(1))
        )
    }

    pub fn float(&self, name: &str) -> Option<f32> {
        match self.attribute(name, attribute::FLOAT)? {
            Value::Float(number) => Some(number),
            _ => None,
        }
    }

    pub fn text(&self, name: &str) -> Option<&str> {
        match self.attribute(name, attribute::TEXT)? {
            Value::Bytes(bytes) => std::str::from_utf8(bytes).ok(),
            _ => None,
        }
    }

    /// The tensor of a constant.
    pub fn constant(&self) -> Option<Constant> {
        if self.operation != "Const" {
            return None;
        }
        match self.attribute("value", attribute::TENSOR)? {
            Value::Bytes(bytes) => Constant::read(bytes),
            _ => None,
        }
    }
}

/// The tensor of a constant, of floats or int32 (`tensor.proto`): what matching looks at.
#[derive(Clone, Debug, PartialEq)]
pub struct Constant {
    pub shape: Vec<i64>,
    /// The elements; one stands for all where there are no more.
    pub values: Vec<f64>,
}

impl Constant {
    fn read(bytes: &[u8]) -> Option<Self> {
        let (mut dtype, mut shape, mut values) = (Dtype(0), Vec::new(), Vec::new());
        let (mut content, mut halves): (&[u8], Vec<u16>) = (&[], Vec::new());
        for field in Fields(bytes) {
            let field = field.ok()?;
            match (field.number, field.value) {
                (1, Value::Number(number)) => dtype = Dtype(number as i32),
                (2, Value::Bytes(bytes)) => shape = shape_of(bytes)?,
                (4, Value::Bytes(bytes)) => content = bytes,
                (5, Value::Float(value)) => values.push(f64::from(value)),
                (5, Value::Bytes(bytes)) => values.extend(floats(bytes)),
                (6, Value::Double(value)) => values.push(value),
                (6, Value::Bytes(bytes)) => values.extend(doubles(bytes)),
                (7, Value::Number(value)) => values.push(f64::from(value as i32)),
                (7, Value::Bytes(mut bytes)) => {
                    while !bytes.is_empty() {
                        values.push(f64::from(number(&mut bytes).ok()? as i32));
                    }
                }
                (13, Value::Number(bits)) => halves.push(bits as u16),
                (13, Value::Bytes(mut bytes)) => {
                    while !bytes.is_empty() {
                        halves.push(number(&mut bytes).ok()? as u16);
                    }
                }
                _ => {}
            }
        }
        halves
            .extend({ content.as_chunks::<2>().0.iter() }.map(|bytes| u16::from_le_bytes(*bytes)));
        match dtype {
            Dtype::F16 => values.extend(halves.iter().map(|bits| half_value(*bits))),
            Dtype::BF16 => values.extend(
                { halves.iter() }.map(|bits| f64::from(f32::from_bits(u32::from(*bits) << 16))),
            ),
            Dtype::F32 => values.extend(floats(content)),
            Dtype::F64 => values.extend(doubles(content)),
            Dtype::I32 => values.extend(ints(content)),
            _ => return None,
        }
        Some(Self { shape, values })
    }

    /// The only number of a tensor of one element.
    pub fn scalar(&self) -> Option<f64> {
        match (self.shape.iter().product::<i64>(), self.values.as_slice()) {
            // Zero, as other defaults, need not be written.
            (1, []) => Some(0.0),
            (1, [value]) => Some(*value),
            _ => None,
        }
    }

    pub fn whole_numbers(&self) -> Vec<i64> {
        let count = self.shape.iter().product::<i64>().max(0) as usize;
        let mut numbers: Vec<i64> = self.values.iter().map(|value| *value as i64).collect();
        let last = numbers.last().copied().unwrap_or(0);
        numbers.resize(count, last);
        numbers
    }
}

fn floats(bytes: &[u8]) -> impl Iterator<Item = f64> {
    { bytes.as_chunks::<4>().0.iter() }.map(|bytes| f64::from(f32::from_le_bytes(*bytes)))
}

fn doubles(bytes: &[u8]) -> impl Iterator<Item = f64> {
    { bytes.as_chunks::<8>().0.iter() }.map(|bytes| f64::from_le_bytes(*bytes))
}

fn ints(bytes: &[u8]) -> impl Iterator<Item = f64> {
    { bytes.as_chunks::<4>().0.iter() }.map(|bytes| f64::from(i32::from_le_bytes(*bytes)))
}

/// The extents of a `TensorShapeProto`, negative ones of which are not known; `None` where not even their number is.
pub fn shape_of(bytes: &[u8]) -> Option<Vec<i64>> {
    const EXTENT: u64 = 2;
    const HAS_NO_RANK: u64 = 3;
    let mut shape = Vec::new();
    for field in Fields(bytes) {
        let field = field.ok()?;
        match (field.number, field.value) {
            (EXTENT, Value::Bytes(extent)) => {
                let size = Fields(extent).flatten().find(|one| one.number == 1);
                shape.push(match size.map(|one| one.value) {
                    Some(Value::Number(size)) => size as i64,
                    _ => 0,
                });
            }
            (HAS_NO_RANK, Value::Number(1)) => return None,
            _ => {}
        }
    }
    Some(shape)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_are_read_and_written_as_they_are() {
        let node = Node::new(
            "y",
            "MatMul",
            vec!["a".into(), "b:1".into(), "^c".into()],
            "/device:RDNA:0",
        )
        .with_type("T", Dtype::F32)
        .with_flag("transpose_a", true)
        .with_float("alpha", 0.25)
        .with_int("N", 3)
        .with_text("data_format", "NHWC");
        let mut graph = Message::default();
        graph.bytes(1, &node.written());
        graph.bytes(4, b"\x08\x01");
        let read = GraphDef::read(&graph.0).unwrap();
        assert_eq!(read.nodes, [node]);
        assert_eq!(read.written(), graph.0);
        let node = &read.nodes[0];
        assert_eq!(node.dtype("T"), Some(Dtype::F32));
        assert!(node.flag("transpose_a") && !node.flag("transpose_b"));
        assert_eq!(node.float("alpha"), Some(0.25));
        assert_eq!(node.text("data_format"), Some("NHWC"));
        assert!(GraphDef::read(&graph.0[..9]).is_err());
    }

    #[test]
    fn constants_are_read_in_each_way_in_which_they_are_written() {
        let constant = |write: &dyn Fn(&mut Message)| {
            let mut tensor = Message::default();
            write(&mut tensor);
            Constant::read(&tensor.0)
        };
        let half = constant(&|tensor| {
            tensor.number(1, 1);
            tensor.bytes(2, b"");
            tensor.bytes(5, &0.5_f32.to_le_bytes());
        });
        assert_eq!(half.and_then(|one| one.scalar()), Some(0.5));
        let zero = constant(&|tensor| tensor.number(1, 2));
        assert_eq!(zero.and_then(|one| one.scalar()), Some(0.0));
        let axes = constant(&|tensor| {
            tensor.number(1, 3);
            tensor.bytes(2, b"\x12\x02\x08\x02");
            tensor.bytes(4, &[0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff]);
        });
        assert_eq!(axes.map(|one| one.whole_numbers()), Some(vec![0, -1]));
        let halves = constant(&|tensor| {
            tensor.number(1, 19);
            tensor.bytes(13, &[0x80, 0x70]);
        });
        assert_eq!(halves.and_then(|one| one.scalar()), Some(0.5));
        assert_eq!(constant(&|tensor| tensor.number(1, 7)), None);
    }
}
