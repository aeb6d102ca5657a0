## Dense layers and the Hebbian rule against numbers worked out by hand.

import std/unittest
import ../src/[agpu_abi, dense, plasticity, status]

type
  Held = object
    ## A tensor with the memory that it points to.
    values: seq[float32]
    shape, strides: seq[int64]

func held(values: openArray[float32]; shape: openArray[int64]; strides: openArray[int64] = []): Held =
  Held(values: @values, shape: @shape, strides: @strides)

proc tensor(memory: var Held; offset = 0): Tensor =
  Tensor(data: (if memory.values.len == 0: nil else: addr memory.values[0]), device: DeviceRef(deviceType: deviceCpu),
         ndim: int32(memory.shape.len), dtype: Dtype(code: dtypeFloat, bits: 32, lanes: 1), shape: addr memory.shape[0],
         strides: (if memory.strides.len == 0: nil else: addr memory.strides[0]), byteOffset: uint64(offset * 4))

proc forward(x, weight, bias: Held; outputs: int; kind: uint32; alpha = 0.0'f32; beta = 0.0'f32): seq[float32] =
  var (x, weight, bias) = (x, weight, bias)
  var output = held(newSeq[float32](int(x.shape[0]) * outputs), [x.shape[0], int64(outputs)])
  var (xTensor, weightTensor, outputTensor) = (x.tensor, weight.tensor, output.tensor)
  var activation = Activation(kind: kind, alpha: alpha, beta: beta)
  if bias.shape.len > 0:
    var biasTensor = bias.tensor
    denseForward(addr xTensor, addr weightTensor, addr biasTensor, addr outputTensor, addr activation)
  else:
    denseForward(addr xTensor, addr weightTensor, nil, addr outputTensor, addr activation)
  output.values

proc activated(value: float32; kind: uint32; alpha = 0.0'f32; beta = 0.0'f32): float =
  float(forward(held([value], [1'i64, 1]), held([1'f32], [1'i64, 1]), Held(), 1, kind, alpha, beta)[0])

template failsWith(expected: int32; body: untyped) =
  var code = 0'i32
  try:
    body
  except Failure as failure:
    code = failure.code
    check failure.msg.len > 0
  check code == expected

let
  x = held([1'f32, 2, 3, 4, 5, 6], [2'i64, 3])
  weight = held([1'f32, 0, 0, 1, 1, 1], [3'i64, 2])
  bias = held([10'f32, -20], [2'i64])

suite "dense layers":
  test "product and bias":
    check forward(x, weight, bias, 2, activationIdentity) == @[14'f32, -15, 20, -9]
    check forward(x, weight, Held(), 2, activationIdentity) == @[4'f32, 5, 10, 11]

  test "relu cuts what is negative":
    check forward(x, weight, bias, 2, activationRelu) == @[14'f32, 0, 20, 0]

  test "any strides: columns first, backwards, with gaps":
    check forward(held([1'f32, 4, 2, 5, 3, 6], [2'i64, 3], [1'i64, 2]), weight, Held(), 2, activationIdentity) ==
      @[4'f32, 5, 10, 11]
    check forward(held([1'f32, 9, 2, 9, 3, 9, 4, 9, 5, 9, 6, 9], [2'i64, 3], [6'i64, 2]), weight, Held(), 2,
                  activationIdentity) == @[4'f32, 5, 10, 11]
    var reversed = held([6'f32, 5, 4, 3, 2, 1], [2'i64, 3], [-3'i64, -1])
    var weights = weight
    var output = held(newSeq[float32](8), [2'i64, 2], [4'i64, 2])
    var (a, b, c) = (reversed.tensor(offset = 5), weights.tensor, output.tensor)
    denseForward(addr a, addr b, nil, addr c, nil)
    check output.values == @[4'f32, 0, 5, 0, 10, 0, 11, 0]

  test "softmax rows sum to one, also for large values":
    let rows = forward(held([1000'f32, 1001, 1002, -5, 0, 5], [2'i64, 3]), held([1'f32, 0, 0, 0, 1, 0, 0, 0, 1], [3'i64, 3]),
                       Held(), 3, activationSoftmax)
    check abs(rows[0] + rows[1] + rows[2] - 1) < 1e-6
    check abs(rows[3] + rows[4] + rows[5] - 1) < 1e-6
    check abs(rows[2] - 0.66524094'f32) < 1e-7

  test "every activation at a point worked out by hand":
    check abs(activated(-2, activationLeakyRelu, 0.1) + 0.2) < 1e-7
    check abs(activated(1, activationSigmoid) - 0.7310585786) < 1e-7
    check abs(activated(-90, activationSigmoid) - 8.194e-40) < 1e-42
    check abs(activated(0.5, activationTanh) - 0.4621171573) < 1e-7
    check abs(activated(1, activationGelu) - 0.8413447461) < 1e-7
    check abs(activated(-1, activationGelu) + 0.1586552539) < 1e-7
    check abs(activated(1, activationSilu) - 0.7310585786) < 1e-7
    check abs(activated(-1, activationSilu) + 0.2689414214) < 1e-7
    check abs(activated(0, activationSoftplus) - 0.6931471806) < 1e-7
    check activated(100, activationSoftplus) == 100
    check abs(activated(-1, activationElu, 2) + 1.2642411177) < 1e-7
    check abs(activated(1, activationNeuromorphic, 1.2, 0.3) - (0.8336546070 + 0.3 * 0.3678794412)) < 1e-7

  test "an empty batch and no inputs":
    check forward(held([], [0'i64, 3]), weight, bias, 2, activationRelu) == newSeq[float32]()
    check forward(held([], [2'i64, 0]), held([], [0'i64, 2]), bias, 2, activationIdentity) == @[10'f32, -20, 10, -20]

  test "shapes that do not fit are refused by name":
    failsWith errorShapeMismatch:
      discard forward(x, held([1'f32, 2], [1'i64, 2]), Held(), 2, activationRelu)
    failsWith errorShapeMismatch:
      discard forward(x, weight, Held(), 3, activationRelu)
    failsWith errorShapeMismatch:
      discard forward(x, weight, held([1'f32], [1'i64]), 2, activationRelu)
    failsWith errorInvalidArgument:
      discard forward(x, weight, bias, 2, 11)

  test "wrong tensors are refused":
    var memory = x
    var weights = weight
    var output = held(newSeq[float32](4), [2'i64, 2])
    var (a, b, c) = (memory.tensor, weights.tensor, output.tensor)
    failsWith errorInvalidArgument:
      denseForward(nil, addr b, nil, addr c, nil)
    var wrong = a
    wrong.dtype.bits = 64
    failsWith errorUnsupportedDtype:
      denseForward(addr wrong, addr b, nil, addr c, nil)
    wrong = a
    wrong.device.deviceType = deviceRocm
    failsWith errorWrongDevice:
      denseForward(addr wrong, addr b, nil, addr c, nil)
    wrong = a
    wrong.ndim = 1
    failsWith errorShapeMismatch:
      denseForward(addr wrong, addr b, nil, addr c, nil)
    wrong = a
    wrong.data = nil
    failsWith errorInvalidArgument:
      denseForward(addr wrong, addr b, nil, addr c, nil)
    wrong = a
    wrong.byteOffset = 2
    failsWith errorInvalidArgument:
      denseForward(addr wrong, addr b, nil, addr c, nil)
    wrong = a
    wrong.shape = addr output.shape[0]
    failsWith errorInvalidArgument:
      denseForward(addr wrong, addr wrong, nil, addr wrong, nil)

suite "the Hebbian rule":
  test "weights grow by the mean product of what fires together":
    var weights = held([1'f32, 1, 1, 1, 1, 1], [3'i64, 2])
    var pre = x
    var post = held([1'f32, 0, 0, 2], [2'i64, 2])
    var (w, a, b) = (weights.tensor, pre.tensor, post.tensor)
    hebbianUpdate(addr w, addr a, addr b, 0.5)
    # 0.5 / 2 * [[1, 4], [2, 5], [3, 6]] @ diag(1, 2)
    check weights.values == @[1.25'f32, 3, 1.5, 3.5, 1.75, 4]

  test "an empty batch changes nothing":
    var weights = held([1'f32, 2], [1'i64, 2])
    var pre = held([], [0'i64, 1])
    var post = held([], [0'i64, 2])
    var (w, a, b) = (weights.tensor, pre.tensor, post.tensor)
    hebbianUpdate(addr w, addr a, addr b, 0.5)
    check weights.values == @[1'f32, 2]

  test "wrong batches, shapes and rates are refused":
    var weights = weight
    var pre = x
    var post = held([1'f32, 0, 0, 2], [2'i64, 2])
    var single = held([1'f32, 2], [1'i64, 2])
    var (w, a, b, s) = (weights.tensor, pre.tensor, post.tensor, single.tensor)
    failsWith errorShapeMismatch:
      hebbianUpdate(addr w, addr a, addr s, 0.5)
    failsWith errorShapeMismatch:
      hebbianUpdate(addr w, addr b, addr b, 0.5)
    failsWith errorInvalidArgument:
      hebbianUpdate(addr w, addr a, addr b, NaN)
