//! Operations of the plug-in's own: those that graphs get from its optimizer, several operations of TensorFlow as one, and collectives.

use std::ffi::CStr;

use crate::failure::Outcome;
use crate::tensorflow::{self, Opaque, Status};

/// An operation in the language of `REGISTER_OP` (`tensorflow/core/framework/op_def_builder.h`).
struct Definition {
    name: &'static CStr,
    attributes: &'static [&'static CStr],
    inputs: &'static [&'static CStr],
    output: &'static CStr,
}

const FLOATS: &CStr = c"T: {half, bfloat16, float, double}";
const NUMBERS: &CStr = c"T: {half, bfloat16, float, double, int32, int64}";
const ACTIVATION: &CStr = c"activation: string = ''";

const DEFINITIONS: &[Definition] = &[
    Definition {
        name: c"RdnaElementwise",
        attributes: &[FLOATS, c"N: int >= 1", c"steps: string"],
        inputs: &[c"inputs: N * T"],
        output: c"result: T",
    },
    Definition {
        name: c"RdnaMatMul",
        attributes: &[
            FLOATS,
            c"transpose_a: bool = false",
            c"transpose_b: bool = false",
            ACTIVATION,
        ],
        inputs: &[c"a: T", c"b: T", c"bias: T"],
        output: c"product: T",
    },
    Definition {
        name: c"RdnaConv2D",
        attributes: &[
            FLOATS,
            c"N: int >= 0",
            c"strides: list(int)",
            c"padding: string",
            c"explicit_paddings: list(int) = []",
            c"data_format: string = 'NHWC'",
            c"dilations: list(int) = [1, 1, 1, 1]",
            c"parts: string = ''",
            c"epsilon: float = 0.0",
            ACTIVATION,
        ],
        inputs: &[c"input: T", c"filter: T", c"args: N * T"],
        output: c"output: T",
    },
    Definition {
        name: c"RdnaAttention",
        attributes: &[FLOATS, c"M: int >= 0", c"scale: float", c"axes: string"],
        inputs: &[c"q: T", c"k: T", c"v: T", c"mask: M * T"],
        output: c"result: T",
    },
    Definition {
        name: c"RdnaLayerNorm",
        attributes: &[FLOATS, c"epsilon: float"],
        inputs: &[c"x: T", c"scale: T", c"shift: T"],
        output: c"result: T",
    },
    // Tokens are int32, which TensorFlow keeps in memory of the host wherever it is. The number makes operations of different collectives different, so that no optimizer of graphs takes two for one.
    Definition {
        name: c"RdnaAllReduceStart",
        attributes: &[NUMBERS, c"N: int >= 1", c"collective: int"],
        inputs: &[c"tensors: N * T"],
        output: c"token: int32",
    },
    Definition {
        name: c"RdnaAllReduceDone",
        attributes: &[
            NUMBERS,
            c"N: int >= 1",
            c"ranks: int >= 2",
            c"rank: int >= 0",
            c"reduction: {'sum', 'mean'}",
        ],
        inputs: &[c"tokens: ranks * int32"],
        output: c"results: N * T",
    },
];

/// Tells TensorFlow of every operation.
pub fn define_all() -> Outcome {
    DEFINITIONS.iter().try_for_each(define)
}

fn define(definition: &Definition) -> Outcome {
    let (tensorflow, status) = (tensorflow::get()?, Status::new()?);
    // SAFETY: texts that end with null bytes, a function of that type, and a live status; the registration takes the builder over.
    unsafe {
        let builder = (tensorflow.TF_NewOpDefinitionBuilder)(definition.name.as_ptr());
        for attribute in definition.attributes {
            (tensorflow.TF_OpDefinitionBuilderAddAttr)(builder, attribute.as_ptr());
        }
        for input in definition.inputs {
            (tensorflow.TF_OpDefinitionBuilderAddInput)(builder, input.as_ptr());
        }
        (tensorflow.TF_OpDefinitionBuilderAddOutput)(builder, definition.output.as_ptr());
        (tensorflow.TF_OpDefinitionBuilderSetShapeInferenceFunction)(builder, leave_unknown);
        (tensorflow.TF_RegisterOpDefinition)(builder, status.0);
    }
    status.done()
}

/// Shapes matter to optimizers only, which have seen the nodes that such a node replaces.
extern "C" fn leave_unknown(context: Opaque, status: Opaque) {
    if let Ok(tensorflow) = tensorflow::get() {
        // SAFETY: TensorFlow's context and status.
        unsafe { (tensorflow.TF_ShapeInferenceContextSetUnknownShape)(context, status) };
    }
}
