## One dense layer: the reference implementation that the other cores are compared with. Plain loops, float64 inside, float32 outside.

import std/math
import agpu_abi, status, tensor_view

proc log1p(x: float): float {.importc, header: "<math.h>", noSideEffect.}
proc expm1(x: float): float {.importc, header: "<math.h>", noSideEffect.}
proc cMalloc(bytes: csize_t): pointer {.importc: "malloc", header: "<stdlib.h>".}
proc cFree(memory: pointer) {.importc: "free", header: "<stdlib.h>".}

type
  Row* = ptr UncheckedArray[float]
    ## One row of float64 accumulators.

func activate(x: float; activation: Activation): float =
  ## Every activation that looks at one value only.
  case activation.kind
  of activationRelu: (if x < 0: 0.0 else: x)
  of activationLeakyRelu: (if x < 0: float(activation.alpha) * x else: x)
  of activationSigmoid:
    # Both forms stay finite: exp is taken of what is not positive.
    (if x >= 0: 1 / (1 + exp(-x)) else: exp(x) / (1 + exp(x)))
  of activationTanh: tanh(x)
  # Hendrycks and Gimpel 2016, the exact form; erfc keeps its digits where 1 + erf would cancel.
  of activationGelu: 0.5 * x * erfc(-x / sqrt(2.0))
  of activationSilu: (if x >= 0: x / (1 + exp(-x)) else: x * exp(x) / (1 + exp(x)))
  of activationSoftplus: max(x, 0.0) + log1p(exp(-abs(x)))
  of activationElu: (if x < 0: float(activation.alpha) * expm1(x) else: x)
  of activationNeuromorphic: tanh(float(activation.alpha) * x) + float(activation.beta) * x * exp(-x * x)
  else: x

func softmax(row: Row; len: int) =
  ## Shifted by the largest value, so that exp cannot overflow.
  var largest = NegInf
  for idx in 0 ..< len:
    largest = max(largest, row[idx])
  var sum = 0.0
  for idx in 0 ..< len:
    row[idx] = exp(row[idx] - largest)
    sum += row[idx]
  for idx in 0 ..< len:
    row[idx] = row[idx] / sum

proc allocateRow*(len: int): Row =
  ## Freed with `freeRow`. Memory of malloc, because Nim's own allocation cannot fail softly.
  result = cast[Row](cMalloc(csize_t(max(len, 1) * sizeof(float))))
  if result == nil:
    raise newFailure(errorOutOfMemory, "no memory for a row of " & $len & " values")

proc freeRow*(row: Row) =
  cFree(row)

# Strides were bounded when the view was made, so no position can overflow.
{.push checks: off.}

func accumulate*(row: Row; factor: float; source: MatrixView; sourceRow: int) =
  ## row += factor * source[sourceRow, :]
  let first = sourceRow * source.rowStride
  if source.columnStride == 1:
    for column in 0 ..< source.columns:
      row[column] += factor * float(source.elements[first + column])
  else:
    for column in 0 ..< source.columns:
      row[column] += factor * float(source.elements[first + column * source.columnStride])

{.pop.}

proc checkShapes(x, weight, bias, output: MatrixView; hasBias: bool) =
  if weight.rows != x.columns:
    raise newFailure(errorShapeMismatch, "x" & x.shapeText & " and weight" & weight.shapeText &
                     " do not fit: the inputs differ")
  if output.rows != x.rows or output.columns != weight.columns:
    raise newFailure(errorShapeMismatch, "out" & output.shapeText & " should be [" & $x.rows & ", " & $weight.columns & "]")
  if hasBias and bias.columns != weight.columns:
    raise newFailure(errorShapeMismatch, "bias[" & $bias.columns & "] should be [" & $weight.columns & "]")
  if output.overlaps(x) or output.overlaps(weight) or (hasBias and output.overlaps(bias)):
    raise newFailure(errorInvalidArgument, "out overlaps an input of the layer")

proc denseForward*(xTensor, weightTensor, biasTensor, outTensor: ptr Tensor; activationOrNil: ptr Activation) =
  ## out = activation(x @ weight + bias); `biasTensor` and `activationOrNil` may be nil.
  let x = matrixOf(xTensor, "x")
  let weight = matrixOf(weightTensor, "weight")
  let output = matrixOf(outTensor, "out")
  let hasBias = biasTensor != nil
  let bias = if hasBias: vectorOf(biasTensor, "bias") else: MatrixView()
  let activation = if activationOrNil == nil: Activation(kind: activationIdentity) else: activationOrNil[]
  if activation.kind > activationNeuromorphic:
    raise newFailure(errorInvalidArgument, "unknown activation " & $activation.kind)
  checkShapes(x, weight, bias, output, hasBias)
  let row = allocateRow(output.columns)
  for batch in 0 ..< x.rows:
    for column in 0 ..< output.columns:
      row[column] = if hasBias: float(bias.elements[column * bias.columnStride]) else: 0.0
    for input in 0 ..< x.columns:
      row.accumulate(float(x.elements[batch * x.rowStride + input * x.columnStride]), weight, input)
    if activation.kind == activationSoftmax:
      softmax(row, output.columns)
    elif activation.kind != activationIdentity:
      for column in 0 ..< output.columns:
        row[column] = activate(row[column], activation)
    for column in 0 ..< output.columns:
      output.elements[batch * output.rowStride + column * output.columnStride] = float32(row[column])
  freeRow(row)
