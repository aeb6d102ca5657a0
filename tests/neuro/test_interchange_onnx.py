"""ONNX models of dense layers, against ONNX's own reference evaluator."""

import amdgpu
import numpy as np
import pytest
from amdgpu import errors, interchange

onnx = pytest.importorskip("onnx", reason="needs the package onnx: pip install amdgpu-framework[interchange]")
from onnx import TensorProto, helper, numpy_helper  # noqa: E402
from onnx.reference import ReferenceEvaluator  # noqa: E402

RANDOM = np.random.default_rng(4)


def model(nodes, constants, inputs=4, outputs=None):
    last = nodes[-1].output[0]
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["batch", inputs])],
        [helper.make_tensor_value_info(last, TensorProto.FLOAT, ["batch", outputs])],
        [numpy_helper.from_array(np.asarray(values, np.float32), name) for name, values in constants.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)])


def dense(size_in, size_out):
    return RANDOM.standard_normal((size_in, size_out))


def test_gemm_matmul_and_add_give_what_onnx_says(tmp_path):
    nodes = [
        helper.make_node("Flatten", ["x"], ["flat"], name="flat"),
        helper.make_node("Gemm", ["flat", "w1", "b1"], ["h1"], name="fc1", transB=1, alpha=0.5, beta=2.0),
        helper.make_node("Relu", ["h1"], ["a1"], name="act1"),
        helper.make_node("MatMul", ["a1", "w2"], ["h2"], name="fc2"),
        helper.make_node("Add", ["b2", "h2"], ["h3"], name="add2"),
        helper.make_node("Dropout", ["h3"], ["h4"], name="drop"),
        helper.make_node("MatMul", ["h4", "w3"], ["h5"], name="fc3"),
        helper.make_node("Softmax", ["h5"], ["y"], name="soft", axis=-1),
    ]
    made = model(
        nodes, {"w1": dense(6, 4), "b1": dense(1, 6), "w2": dense(6, 5), "b2": dense(1, 5)[0], "w3": dense(5, 3)}
    )
    path = tmp_path / "net.onnx"
    onnx.save(made, path)
    x = RANDOM.standard_normal((7, 4)).astype(np.float32)
    expected = ReferenceEvaluator(made).run(None, {"x": x})[0]
    for source in (made, str(path), path):
        network = interchange.from_onnx(source, device="cpu:0")
        assert np.allclose(network.forward(x, backend="matrix"), expected, atol=1e-5)
    assert [layer["activation"]["kind"] for layer in network.plan["layers"]] == [
        "identity",
        "relu",
        "identity",
        "softmax",
    ]
    assert network.biases.keys() == ["layer1", "layer2"]


@pytest.mark.parametrize(
    ("kind", "attributes"),
    [
        ("Sigmoid", {}),
        ("Tanh", {}),
        ("LeakyRelu", {"alpha": 0.2}),
        ("Elu", {"alpha": 0.7}),
        ("Softplus", {}),
        ("Gelu", {}),
    ],
)
def test_every_activation_agrees(kind, attributes):
    nodes = [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node(kind, ["h"], ["y"], **attributes)]
    made = model(nodes, {"w": dense(4, 5)})
    x = RANDOM.standard_normal((3, 4)).astype(np.float32)
    found = interchange.from_onnx(made, device="cpu:0").forward(x, backend="matrix")
    assert np.allclose(found, ReferenceEvaluator(made).run(None, {"x": x})[0], atol=1e-5)


def test_the_node_that_does_not_fit_is_named(tmp_path):
    weights = {"w": dense(4, 4)}
    product = helper.make_node("MatMul", ["x", "w"], ["h"], name="fc")
    for nodes, words in [
        ([product, helper.make_node("Sin", ["h"], ["y"], name="wave")], r"'wave' \(Sin\) does not fit"),
        (
            [product, helper.make_node("Relu", ["h"], ["g"]), helper.make_node("Tanh", ["g"], ["y"], name="two")],
            "'two'",
        ),
        ([helper.make_node("Relu", ["x"], ["y"], name="lone")], "'lone'"),
        ([product, helper.make_node("Add", ["h", "x"], ["y"], name="skip")], "only a chain"),
        ([product, helper.make_node("Mul", ["h", "h"], ["y"], name="square")], "'square'"),
        ([helper.make_node("MatMul", ["w", "x"], ["y"], name="left")], "left of the weights"),
        ([helper.make_node("Gemm", ["x", "w"], ["y"], name="turned", transA=1)], "transA"),
        ([helper.make_node("Identity", ["x"], ["y"])], "no dense layer"),
    ]:
        with pytest.raises(errors.NetworkError, match=words):
            interchange.from_onnx(model(nodes, weights))
    (tmp_path / "bad.onnx").write_bytes(b"\x00no model")
    with pytest.raises(errors.NetworkError, match=r"bad\.onnx"):
        interchange.from_onnx(tmp_path / "bad.onnx")
    with pytest.raises(FileNotFoundError):
        interchange.from_onnx(tmp_path / "none.onnx")
    with pytest.raises(errors.InvalidTypeError, match="model is 3; an `onnx"):
        interchange.from_onnx(3)
    assert issubclass(errors.NetworkError, amdgpu.AmdgpuError)
