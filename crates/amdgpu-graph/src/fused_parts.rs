//! The joined elementwise steps of a graph, each as a graph of its own: what the tuner measures.

use amdgpu_ops::fused::Region;

use crate::{Graph, Input, Kind, Node};

impl Graph {
    /// A graph for each node of joined steps, in order: its inputs, the node, and nothing else.
    #[must_use]
    pub fn fused_parts(&self) -> Vec<Self> {
        let nodes = self.nodes().iter();
        let fused = nodes.filter(|node| matches!(node.kind, Kind::Fused(_)));
        fused.map(|node| self.part(node)).collect()
    }

    fn part(&self, node: &Node) -> Self {
        let mut part = Self::new();
        let inputs = node.inputs.iter().map(|input| match input {
            Input::Node(id) => {
                let read = self.node(*id);
                Input::Node(part.add_input("", &read.shape, read.dtype))
            }
            number @ Input::Number(..) => *number,
        });
        let inputs = inputs.collect();
        let made = part.push(Node {
            inputs,
            name: String::new(),
            ..node.clone()
        });
        part.set_outputs(vec![made]);
        part
    }

    /// The steps of a graph that is nothing but its inputs and one node of joined steps, all of whose inputs are arrays.
    #[must_use]
    pub fn only_fused(&self) -> Option<&Region> {
        let (last, inputs) = self.nodes().split_last()?;
        let are_inputs = inputs
            .iter()
            .all(|node| matches!(node.kind, Kind::Input(_)));
        let reads: Vec<_> = last.reads().collect();
        match &last.kind {
            Kind::Fused(region) if are_inputs && reads == self.inputs() => Some(region),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::parse;

    const TEXT: &str = "%0 = input : float32[64, 1024]
%1 = input : float32[1024]
%2 = fused(%0, %1) {multiply(i0, i1) float32; add(s0, 0.5 float32) float32} : float32[64, 1024]
%3 = sum(%2) {axes = [1]} : float32[64]
%4 = fused(%3) {absolute(i0) float32; add(s0, 1.0 float32) float32} : float32[64]
return %4
";

    #[test]
    fn every_node_of_joined_steps_is_a_part() {
        let parts = parse(TEXT, &[]).expect("a graph").fused_parts();
        let texts: Vec<String> = parts.iter().map(ToString::to_string).collect();
        let expected = [
            "%0 = input : float32[64, 1024]
%1 = input : float32[1024]
%2 = fused(%0, %1) {multiply(i0, i1) float32; add(s0, 0.5 float32) float32} : float32[64, 1024]
return %2
",
            "%0 = input : float32[64]
%1 = fused(%0) {absolute(i0) float32; add(s0, 1.0 float32) float32} : float32[64]
return %1
",
        ];
        assert_eq!(
            texts.iter().map(|text| text.trim()).collect::<Vec<_>>(),
            expected.map(str::trim)
        );
        for (part, text) in parts.iter().zip(texts) {
            let steps = part.only_fused().map(|region| region.steps.len());
            assert_eq!(steps, Some(2));
            assert_eq!(parse(&text, &[]).expect("a graph").to_string(), text);
        }
    }

    #[test]
    fn other_graphs_are_no_steps_alone() {
        let whole = parse(TEXT, &[]).expect("a graph");
        assert!(whole.only_fused().is_none());
        let swapped = TEXT.split("%3").next().unwrap_or_default();
        let swapped = swapped.replace("fused(%0, %1)", "fused(%1, %0)") + "return %2\n";
        let swapped = parse(&swapped, &[]).expect("a graph");
        assert!(swapped.only_fused().is_none());
    }
}
