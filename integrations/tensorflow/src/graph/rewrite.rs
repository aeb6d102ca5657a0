//! A graph that is being rewritten: who reads whom, which nodes must stay, and nodes that take the place of several.

use std::collections::{HashMap, HashSet};

use super::node::{Constant, GraphDef, Node};
use super::shapes::Shapes;
use crate::dtype::Dtype;

pub const T: &str = "T";

/// A node by its position.
pub type Place = usize;

/// The name, the number of the output, and whether it is nothing but an order, of an input of a node.
pub fn parts_of(input: &str) -> (&str, u32, bool) {
    if let Some(name) = input.strip_prefix('^') {
        return (name, 0, true);
    }
    match input.rsplit_once(':') {
        Some((name, output)) if !output.is_empty() => match output.parse() {
            Ok(output) => (name, output, false),
            Err(_) => (input, 0, false),
        },
        _ => (input, 0, false),
    }
}

pub struct Graph<'s> {
    nodes: Vec<Node>,
    /// What the graph has beside its nodes.
    others: GraphDef,
    places: HashMap<String, Place>,
    /// Of each node those that read it or wait for it, once for each input that says so.
    readers: Vec<Vec<Place>>,
    kept: HashSet<String>,
    is_gone: Vec<bool>,
    pub shapes: &'s mut dyn Shapes,
}

impl<'s> Graph<'s> {
    /// `kept` names nodes whose results are asked for from outside.
    pub fn new(mut graph: GraphDef, kept: HashSet<String>, shapes: &'s mut dyn Shapes) -> Self {
        let nodes = std::mem::take(&mut graph.nodes);
        let named = nodes.iter().enumerate();
        let places: HashMap<_, _> = named
            .map(|(place, node)| (node.name.clone(), place))
            .collect();
        let mut made = Self {
            readers: vec![Vec::new(); nodes.len()],
            is_gone: vec![false; nodes.len()],
            nodes,
            others: graph,
            places,
            kept,
            shapes,
        };
        for place in 0..made.nodes.len() {
            made.add_reader(place);
        }
        made
    }

    /// The graph as it is now.
    pub fn finished(mut self) -> GraphDef {
        let mut gone = self.is_gone.iter();
        self.nodes
            .retain(|_| !gone.next().copied().unwrap_or(false));
        self.others.nodes = self.nodes;
        self.others
    }

    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    pub fn node(&self, place: Place) -> &Node {
        &self.nodes[place]
    }

    pub fn is_gone(&self, place: Place) -> bool {
        self.is_gone[place]
    }

    /// Whether a node is such an operation on RDNA.
    pub fn is(&self, place: Place, operation: &str) -> bool {
        let node = self.node(place);
        node.operation == operation && is_on_rdna(&node.device)
    }

    /// The node whose first output an input is.
    pub fn input(&self, place: Place, index: usize) -> Option<Place> {
        let (name, output, is_order) = parts_of(self.node(place).inputs.get(index)?);
        if output != 0 || is_order {
            return None;
        }
        self.places.get(name).copied()
    }

    /// An input that is the result of such an operation on the same device.
    pub fn input_that_is(&self, place: Place, index: usize, operation: &str) -> Option<Place> {
        let found = self.input(place, index)?;
        let is_near = self.node(found).device == self.node(place).device;
        (is_near && self.is(found, operation)).then_some(found)
    }

    /// An input as it is written.
    pub fn input_name(&self, place: Place, index: usize) -> Option<&str> {
        self.node(place).inputs.get(index).map(String::as_str)
    }

    /// The constant that an input is.
    pub fn constant(&self, place: Place, index: usize) -> Option<Constant> {
        self.node(self.input(place, index)?).constant()
    }

    /// Of an operation of two arguments that may be exchanged: the input that is a constant of one element, and the position of the other one.
    pub fn scalar_operand(&self, place: Place) -> Option<(f64, usize)> {
        (0..2).find_map(|index| {
            let value = self.constant(place, index)?.scalar()?;
            Some((value, 1 - index))
        })
    }

    pub fn dtype(&self, place: Place) -> Option<Dtype> {
        self.node(place).dtype(T)
    }

    /// The shape of a node's first result; negative extents that are equal are the same unknown ones, but for -1.
    pub fn shape(&mut self, place: Place) -> Option<Vec<i64>> {
        let name = &self.nodes[place].name;
        self.shapes.shape(name)
    }

    /// Whether nodes within a pattern may go when `root` takes their place: nobody else reads them, waits for them or asks for them.
    pub fn may_go(&self, root: Place, inner: &[Place]) -> bool {
        let device = &self.node(root).device;
        inner.iter().all(|place| {
            let node = self.node(*place);
            let mut readers = self.readers[*place].iter();
            !self.is_gone[*place]
                && !self.kept.contains(&node.name)
                && node.device == *device
                && readers.all(|reader| *reader == root || inner.contains(reader))
        })
    }

    /// Puts a node in the place of `root` and lets those within the pattern go. What these waited for is waited for still.
    pub fn replace(&mut self, root: Place, mut node: Node, inner: &[Place]) {
        let orders = self.orders(root, inner);
        node.inputs.extend(orders);
        for place in inner.iter().chain([&root]) {
            self.remove_reader(*place);
        }
        for place in inner {
            self.is_gone[*place] = true;
            let name = self.node(*place).name.clone();
            self.places.remove(&name);
        }
        self.nodes[root] = node;
        self.add_reader(root);
    }

    /// What nodes of a pattern wait for outside of it.
    pub fn orders(&self, root: Place, inner: &[Place]) -> Vec<String> {
        let whole = || inner.iter().chain([&root]).map(|place| self.node(*place));
        let among: HashSet<&str> = whole().map(|node| node.name.as_str()).collect();
        let mut orders: Vec<String> = Vec::new();
        for input in whole().flat_map(|node| &node.inputs) {
            let (name, _, is_order) = parts_of(input);
            if is_order && !among.contains(name) && !orders.contains(input) {
                orders.push(input.clone());
            }
        }
        orders
    }

    /// Adds a node, whose name nobody has yet.
    pub fn add(&mut self, node: Node) -> Place {
        let place = self.nodes.len();
        self.places.insert(node.name.clone(), place);
        self.nodes.push(node);
        self.readers.push(Vec::new());
        self.is_gone.push(false);
        self.add_reader(place);
        place
    }

    /// A name for a node beside another one.
    pub fn free_name(&self, beside: Place) -> String {
        let own = &self.node(beside).name;
        let mut name = format!("{own}/rdna");
        while self.places.contains_key(&name) {
            name.push('_');
        }
        name
    }

    /// Moves a node to another device.
    pub fn move_to(&mut self, place: Place, device: &str) {
        device.clone_into(&mut self.nodes[place].device);
    }

    fn add_reader(&mut self, reader: Place) {
        for input in &self.nodes[reader].inputs {
            if let Some(read) = self.places.get(parts_of(input).0) {
                self.readers[*read].push(reader);
            }
        }
    }

    fn remove_reader(&mut self, reader: Place) {
        for input in &self.nodes[reader].inputs {
            if let Some(read) = self.places.get(parts_of(input).0) {
                self.readers[*read].retain(|one| *one != reader);
            }
        }
    }

    /// All places, each behind those whose nodes read it, but for loops.
    pub fn readers_first(&self) -> Vec<Place> {
        let mut order = Vec::with_capacity(self.len());
        let mut is_seen = vec![false; self.len()];
        for start in 0..self.len() {
            // A stack of its own, as graphs are deeper than that of a thread.
            let mut open = vec![(start, 0)];
            while let Some((place, next)) = open.pop() {
                if next == 0 && std::mem::replace(&mut is_seen[place], true) {
                    continue;
                }
                match self.readers[place].get(next) {
                    Some(reader) => {
                        open.push((place, next + 1));
                        if !is_seen[*reader] {
                            open.push((*reader, 0));
                        }
                    }
                    None => order.push(place),
                }
            }
        }
        order
    }
}

/// Whether a device of a node is one of RDNA.
pub fn is_on_rdna(device: &str) -> bool {
    device.contains("device:RDNA:")
}

#[cfg(test)]
pub mod tests {
    use super::*;

    pub const DEVICE: &str = "/job:localhost/replica:0/task:0/device:RDNA:0";

    /// Shapes that nobody knows, or those of a table.
    #[derive(Default)]
    pub struct Table(pub HashMap<&'static str, Vec<i64>>);

    impl Shapes for Table {
        fn shape(&mut self, name: &str) -> Option<Vec<i64>> {
            self.0.get(name).cloned()
        }
    }

    /// Nodes of float32 on RDNA: name, operation, inputs by spaces.
    pub fn nodes(lines: &[(&str, &str, &str)]) -> GraphDef {
        let mut graph = GraphDef::default();
        for (name, operation, inputs) in lines {
            let inputs = inputs.split_whitespace().map(str::to_owned).collect();
            let node = Node::new(name, operation, inputs, DEVICE);
            graph.nodes.push(node.with_type(T, Dtype::F32));
        }
        graph
    }

    pub fn shown(graph: &GraphDef) -> Vec<String> {
        let line = |node: &Node| {
            format!(
                "{} = {} {}",
                node.name,
                node.operation,
                node.inputs.join(" ")
            )
        };
        graph.nodes.iter().map(line).collect()
    }

    #[test]
    fn inputs_have_a_name_an_output_and_an_order() {
        assert_eq!(parts_of("a/b"), ("a/b", 0, false));
        assert_eq!(parts_of("a/b:2"), ("a/b", 2, false));
        assert_eq!(parts_of("^a/b"), ("a/b", 0, true));
    }

    #[test]
    fn what_others_read_wait_for_or_ask_for_stays() {
        let lines = [
            ("x", "Placeholder", ""),
            ("y", "Exp", "x"),
            ("z", "Neg", "y"),
            ("other", "NoOp", "^y"),
        ];
        let mut table = Table::default();
        let graph = Graph::new(nodes(&lines), HashSet::new(), &mut table);
        assert!(!graph.may_go(2, &[1]));
        let mut table = Table::default();
        let graph = Graph::new(nodes(&lines[..3]), HashSet::new(), &mut table);
        assert!(graph.may_go(2, &[1]));
        let mut table = Table::default();
        let graph = Graph::new(
            nodes(&lines[..3]),
            HashSet::from(["y".to_owned()]),
            &mut table,
        );
        assert!(!graph.may_go(2, &[1]));
    }

    #[test]
    fn a_node_in_the_place_of_several_waits_for_what_they_waited_for() {
        let lines = [
            ("x", "Placeholder", ""),
            ("first", "NoOp", ""),
            ("y", "Exp", "x ^first"),
            ("z", "Neg", "y ^y"),
        ];
        let mut table = Table::default();
        let mut graph = Graph::new(nodes(&lines), HashSet::new(), &mut table);
        let node = graph.node(3).replaced("Both", vec!["x".to_owned()]);
        graph.replace(3, node, &[2]);
        assert_eq!(graph.readers[0], [3]);
        let wanted = ["x = Placeholder ", "first = NoOp ", "z = Both x ^first"];
        assert_eq!(shown(&graph.finished()), wanted);
    }

    #[test]
    fn readers_come_first_also_in_loops() {
        let lines = [
            ("enter", "Enter", ""),
            ("merge", "Merge", "enter next"),
            ("body", "Exp", "merge"),
            ("next", "NextIteration", "body"),
        ];
        let mut table = Table::default();
        let graph = Graph::new(nodes(&lines), HashSet::new(), &mut table);
        let order = graph.readers_first();
        assert_eq!(order.len(), 4);
        assert_eq!(order.last(), Some(&0));
    }
}
