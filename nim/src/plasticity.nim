## Learning rules on the weights of one connection.

import std/math
import agpu_abi, dense, status, tensor_view

proc hebbianUpdate*(weightTensor, preTensor, postTensor: ptr Tensor; learningRate: float) =
  ## weight += learningRate / batch * pre^T @ post (Hebb 1949, the mean over the batch). Sums in float64. An empty batch changes nothing.
  let weight = matrixOf(weightTensor, "weight")
  let pre = matrixOf(preTensor, "pre")
  let post = matrixOf(postTensor, "post")
  if classify(learningRate) in {fcNan, fcInf, fcNegInf}:
    raise newFailure(errorInvalidArgument, "the learning rate is not finite")
  if pre.rows != post.rows:
    raise newFailure(errorShapeMismatch, "pre" & pre.shapeText & " and post" & post.shapeText & " differ in the batch")
  if weight.rows != pre.columns or weight.columns != post.columns:
    raise newFailure(errorShapeMismatch, "weight" & weight.shapeText & " should be [" & $pre.columns & ", " &
                     $post.columns & "]")
  if weight.overlaps(pre) or weight.overlaps(post):
    raise newFailure(errorInvalidArgument, "weight overlaps pre or post")
  if pre.rows == 0:
    return
  let row = allocateRow(weight.columns)
  let scale = learningRate / float(pre.rows)
  for input in 0 ..< weight.rows:
    for column in 0 ..< weight.columns:
      row[column] = 0.0
    for batch in 0 ..< pre.rows:
      let value = float(pre.elements[batch * pre.rowStride + input * pre.columnStride])
      if value != 0:
        row.accumulate(value, post, batch)
    for column in 0 ..< weight.columns:
      let position = input * weight.rowStride + column * weight.columnStride
      weight.elements[position] = float32(float(weight.elements[position]) + scale * row[column])
  freeRow(row)
