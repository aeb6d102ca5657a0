//! Texts to graphs.

mod steps;

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::{Array, Dims};
use amdgpu_ops::Scalar;
use amdgpu_ops::fused::Region;
use smallvec::SmallVec;

use crate::attributes::{Attributes, Value, operation_of};
use crate::{Error, Graph, Input, Kind, Layout, Node, NodeId, Result};

/// The graph that a text describes; `constants` are its constants, in order.
///
/// # Errors
///
/// `invalid-argument`, with the line, for what is no graph: unknown operations, nodes that are read before they are there, shapes that do not
/// fit; as [`Graph::verify`].
pub fn parse(text: &str, constants: &[Array]) -> Result<Graph> {
    let mut graph = Graph::new();
    let mut left = constants.iter();
    let mut has_outputs = false;
    for (number, line) in text.lines().enumerate() {
        let line = line.split("//").next().unwrap_or_default().trim();
        if line.is_empty() {
            continue;
        }
        let mut reader = Reader { line, at: 0 };
        let outcome = if reader.takes("return") {
            has_outputs = true;
            reader.outputs(&mut graph)
        } else {
            reader.node(&mut graph, &mut left)
        };
        outcome.map_err(|error| {
            Error::refused(
                ErrorCode::InvalidArgument,
                format!("line {}: {error}\n  {line}", number + 1),
            )
        })?;
    }
    if !has_outputs {
        return refused(
            "the text names no outputs: it ends with a line like `return %3`".to_owned(),
        );
    }
    graph.verify()?;
    Ok(graph)
}

/// Options as they stand between the braces of a text: `axes = [1], keepdims = true`.
///
/// # Errors
///
/// `invalid-argument` for what are no options.
pub fn parse_attributes(text: &str) -> Result<Attributes> {
    if text.trim().is_empty() {
        return Ok(Attributes::new());
    }
    let line = format!("{{{text}}}");
    let mut reader = Reader { line: &line, at: 0 };
    let made = reader.attributes()?;
    reader.end()?;
    Ok(made)
}

/// Elementwise steps as they stand between the braces of a text, on inputs of these dtypes: `multiply(i0, i1) float32; add(s0, 0.5 float32) float32`.
///
/// # Errors
///
/// `invalid-argument` for what are no steps.
pub fn parse_steps(text: &str, inputs: &[Dtype]) -> Result<Region> {
    let line = format!("{text}}}");
    let mut reader = Reader { line: &line, at: 0 };
    let steps = reader.steps(inputs.len())?;
    reader.end()?;
    Ok(Region::new(inputs.iter().copied().collect(), steps))
}

fn refused<T>(message: String) -> Result<T> {
    Err(Error::refused(ErrorCode::InvalidArgument, message))
}

/// Another result of the operation that is read.
fn result_of(graph: &mut Graph, attributes: &Attributes, inputs: &[Input]) -> Result<NodeId> {
    let mut options = attributes.iter();
    match (options.next(), options.next(), inputs) {
        (Some(("index", Value::Int(index))), None, [Input::Node(of)]) if *index > 0 => {
            graph.add_result(*of, *index as usize)
        }
        _ => refused(
            "result takes a node and the position of one of its results behind the first: `result(%1) {index = 1}`"
                .to_owned(),
        ),
    }
}

struct Reader<'a> {
    line: &'a str,
    at: usize,
}

impl<'a> Reader<'a> {
    fn rest(&self) -> &'a str {
        &self.line[self.at..]
    }

    fn skip_space(&mut self) {
        self.at = self.line.len() - self.rest().trim_start().len();
    }

    fn takes(&mut self, token: &str) -> bool {
        self.skip_space();
        let found = self.rest().starts_with(token);
        if found {
            self.at += token.len();
        }
        found
    }

    fn expect(&mut self, token: &str) -> Result<()> {
        if self.takes(token) {
            return Ok(());
        }
        refused(format!(
            "column {}: `{token}` is missing before {:?}",
            self.at + 1,
            self.rest()
        ))
    }

    fn while_is(&mut self, is_part: impl Fn(char) -> bool) -> &'a str {
        self.skip_space();
        let rest = self.rest();
        let end = rest
            .find(|character| !is_part(character))
            .unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    fn word(&mut self) -> Result<&'a str> {
        let word = self.while_is(|character| character.is_ascii_alphanumeric() || character == '_');
        if word.is_empty() {
            return refused(format!(
                "column {}: a name is missing before {:?}",
                self.at + 1,
                self.rest()
            ));
        }
        Ok(word)
    }

    /// Digits with what may stand in a number; `inf` and `NaN` as well.
    fn number(&mut self) -> Result<Value> {
        let text = self
            .while_is(|character| character.is_ascii_alphanumeric() || "+-.".contains(character));
        if let Ok(value) = text.parse::<i64>() {
            return Ok(Value::Int(value));
        }
        match text.parse::<f64>() {
            Ok(value) => Ok(Value::Float(value)),
            Err(_) => refused(format!("{text:?} is no number")),
        }
    }

    fn id(&mut self, graph: &Graph) -> Result<NodeId> {
        self.expect("%")?;
        let text = self.word()?;
        match text.parse::<u32>() {
            Ok(number) if (number as usize) < graph.nodes().len() => Ok(NodeId(number)),
            Ok(number) => refused(format!(
                "%{number} does not come before this line: nodes are written in the order of their computation, without cycles"
            )),
            Err(_) => refused(format!("%{text} is no node")),
        }
    }

    fn outputs(&mut self, graph: &mut Graph) -> Result<()> {
        let mut outputs = Vec::new();
        loop {
            outputs.push(self.id(graph)?);
            if !self.takes(",") {
                break;
            }
        }
        graph.set_outputs(outputs);
        self.end()
    }

    fn end(&mut self) -> Result<()> {
        self.skip_space();
        if self.rest().is_empty() {
            return Ok(());
        }
        refused(format!(
            "column {}: {:?} is too much",
            self.at + 1,
            self.rest()
        ))
    }

    fn node<'b>(
        &mut self,
        graph: &mut Graph,
        constants: &mut impl Iterator<Item = &'b Array>,
    ) -> Result<()> {
        self.expect("%")?;
        let expected = graph.nodes().len().to_string();
        let own = self.word()?;
        if own != expected {
            return refused(format!("the next node is %{expected}, not %{own}"));
        }
        self.expect("=")?;
        let name = self.word()?;
        match name {
            "input" => {
                self.expect(":")?;
                let (dtype, shape) = self.typed()?;
                graph.add_input("", &shape, dtype);
            }
            "constant" => {
                self.expect(":")?;
                let (dtype, shape) = self.typed()?;
                let Some(array) = constants.next() else {
                    return refused("there is no array for this constant".to_owned());
                };
                if array.dtype != dtype || array.shape != shape {
                    return refused(format!(
                        "the array for this constant is {}{:?}",
                        array.dtype.name().unwrap_or("?"),
                        array.shape.as_slice()
                    ));
                }
                graph.add_constant("", array);
            }
            _ => self.computed(graph, name)?,
        }
        self.end()
    }

    fn computed(&mut self, graph: &mut Graph, name: &str) -> Result<()> {
        let mut inputs: SmallVec<[Input; 4]> = SmallVec::new();
        self.expect("(")?;
        loop {
            inputs.push(self.input(graph)?);
            if !self.takes(",") {
                break;
            }
        }
        self.expect(")")?;
        match name {
            "fused" => return self.fused(graph, inputs),
            "rows" => return self.rows(graph, inputs),
            "fused_rows" => return self.fused_rows(graph, inputs),
            "view" | "assign" => return self.seen(graph, name, inputs),
            _ => {}
        }
        let attributes = self.attributes()?;
        let id = if name == "result" {
            result_of(graph, &attributes, &inputs)?
        } else {
            graph.add(operation_of(name, &attributes)?, &inputs)?
        };
        if self.takes(":") {
            let (dtype, shape) = self.typed()?;
            let node = graph.node(id);
            if node.dtype != dtype || node.shape != shape {
                return refused(format!(
                    "{name} gives {}{:?}",
                    node.dtype.name().unwrap_or("?"),
                    node.shape.as_slice()
                ));
            }
        }
        Ok(())
    }

    fn input(&mut self, graph: &Graph) -> Result<Input> {
        self.skip_space();
        if self.rest().starts_with('%') {
            return self.id(graph).map(Input::Node);
        }
        let (number, dtype) = self.typed_number()?;
        Ok(Input::Number(number, dtype))
    }

    fn typed_number(&mut self) -> Result<(Scalar, Dtype)> {
        let number = match self.number()? {
            Value::Int(value) => Scalar::Int(i128::from(value)),
            Value::Float(value) => Scalar::Float(value),
            _ => return refused("a number is missing".to_owned()),
        };
        let dtype = self.dtype()?;
        Ok((number, dtype))
    }

    fn dtype(&mut self) -> Result<Dtype> {
        let name = self.word()?;
        match Dtype::from_name(name) {
            Some(dtype) => Ok(dtype),
            None => refused(format!("no dtype is called {name:?}")),
        }
    }

    fn typed(&mut self) -> Result<(Dtype, Dims)> {
        let dtype = self.dtype()?;
        let shape = self.ints()?;
        match shape.iter().find(|extent| **extent < 0) {
            Some(extent) => refused(format!("the extent {extent} is negative")),
            None => Ok((dtype, shape)),
        }
    }

    fn ints(&mut self) -> Result<Dims> {
        self.expect("[")?;
        let mut values = Dims::new();
        if self.takes("]") {
            return Ok(values);
        }
        loop {
            match self.number()? {
                Value::Int(value) => values.push(value),
                other => return refused(format!("{other:?} is no integer")),
            }
            if !self.takes(",") {
                break;
            }
        }
        self.expect("]")?;
        Ok(values)
    }

    fn attributes(&mut self) -> Result<Attributes> {
        let mut made = Attributes::new();
        if !self.takes("{") {
            return Ok(made);
        }
        loop {
            let name = self.word()?;
            self.expect("=")?;
            self.skip_space();
            let value = match self.rest().chars().next() {
                Some('[') => Value::Ints(self.ints()?),
                Some('"') => self.text()?,
                _ if self.takes("true") => Value::Flag(true),
                _ if self.takes("false") => Value::Flag(false),
                _ => self.number()?,
            };
            made = made.with(name, value);
            if !self.takes(",") {
                break;
            }
        }
        self.expect("}")?;
        Ok(made)
    }

    fn text(&mut self) -> Result<Value> {
        self.expect("\"")?;
        let Some(end) = self.rest().find('"') else {
            return refused("a text has no end".to_owned());
        };
        let text = self.rest()[..end].to_owned();
        self.at += end + 1;
        Ok(Value::Text(text))
    }

    fn seen(&mut self, graph: &mut Graph, name: &str, inputs: SmallVec<[Input; 4]>) -> Result<()> {
        let attributes = self.attributes()?;
        let mut layout = Layout::dense(&[]);
        for (option, value) in attributes.iter() {
            match (option, value) {
                ("offset", Value::Int(offset)) => layout.offset_bytes = *offset,
                ("strides", Value::Ints(strides)) => layout.strides = strides.clone(),
                ("shape", Value::Ints(shape)) if name == "assign" => layout.shape = shape.clone(),
                _ => return refused(format!("{name} has no such option {option} = {value:?}")),
            }
        }
        self.expect(":")?;
        let (dtype, shape) = self.typed()?;
        let kind = if name == "view" {
            layout.shape = shape.clone();
            Kind::View(layout.clone())
        } else {
            Kind::Assign(layout.clone())
        };
        let wanted = if name == "view" { 1 } else { 2 };
        if inputs.len() != wanted
            || inputs[0].node().is_none()
            || layout.shape.len() != layout.strides.len()
        {
            return refused(format!(
                "{name} takes {wanted} inputs, a node first, and a stride for each axis"
            ));
        }
        graph.push(Node {
            kind,
            inputs,
            shape,
            dtype,
            name: String::new(),
        });
        Ok(())
    }
}
