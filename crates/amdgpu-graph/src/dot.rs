//! Pictures of graphs in the language of Graphviz.

use std::fmt::Write as _;

use crate::{Graph, Input, Kind};

impl Graph {
    /// The graph in the DOT language: arguments and outputs are boxes, constants grey, fused nodes list their steps.
    #[must_use]
    pub fn to_dot(&self) -> String {
        let mut text = String::from(
            "digraph {\n  node [shape=box, style=rounded, fontname=\"sans-serif\", fontsize=10];\n",
        );
        for (id, node) in self.ids().zip(self.nodes()) {
            let title = match &node.kind {
                Kind::Fused(_) | Kind::Rows(_) | Kind::FusedRows(_) => {
                    format!("{}: {}", node.operation_name(), node.steps().join(", "))
                }
                Kind::Result(index) => format!("result {index}"),
                _ if node.name.is_empty() => node.operation_name().to_owned(),
                _ => format!("{} {}", node.operation_name(), node.name),
            };
            let dtype = node.dtype.name().unwrap_or("?");
            let style = match &node.kind {
                Kind::Input(_) => ", style=\"rounded,filled\", fillcolor=\"#d0e4ff\"",
                Kind::Constant(_) => ", style=\"rounded,filled\", fillcolor=\"#eeeeee\"",
                Kind::Fused(_) | Kind::Rows(_) | Kind::FusedRows(_) => {
                    ", style=\"rounded,filled\", fillcolor=\"#ffe9b0\""
                }
                _ => "",
            };
            let title = title.replace('\\', "\\\\").replace('"', "\\\"");
            let _ = writeln!(
                text,
                "  n{} [label=\"{title}\\n{dtype}{:?}\"{style}];",
                id.0,
                node.shape.as_slice()
            );
            for input in &node.inputs {
                if let Input::Node(read) = input {
                    let _ = writeln!(text, "  n{} -> n{};", read.0, id.0);
                }
            }
        }
        for (position, id) in self.outputs().iter().enumerate() {
            let _ = writeln!(
                text,
                "  out{position} [label=\"output {position}\", style=\"rounded,filled\", fillcolor=\"#d8f5d0\"];\n  n{} -> out{position};",
                id.0
            );
        }
        text + "}\n"
    }
}
