## Tensors of the C ABI, checked once, as matrices and vectors of float32 with any strides.

import agpu_abi, status

type
  Elements = ptr UncheckedArray[float32]

  MatrixView* = object
    ## element (row, column) is elements[row * rowStride + column * columnStride]
    elements*: Elements
    rows*, columns*: int
    rowStride*, columnStride*: int

func shapeText(tensor: Tensor): string =
  let shape = cast[ptr UncheckedArray[int64]](tensor.shape)
  result = "["
  for axis in 0 ..< int(tensor.ndim):
    if axis > 0:
      result.add ", "
    result.add $shape[axis]
  result.add "]"

proc checkTensor(tensor: ptr Tensor; name: string; ndim: int) =
  if tensor == nil:
    raise newFailure(errorInvalidArgument, name & " is NULL")
  if tensor.ndim != int32(ndim):
    raise newFailure(errorShapeMismatch, name & " has " & $tensor.ndim & " dimensions, expected " & $ndim)
  if tensor.dtype.code != dtypeFloat or tensor.dtype.bits != 32 or tensor.dtype.lanes != 1:
    raise newFailure(errorUnsupportedDtype, name & " is not float32 (dtype code " & $tensor.dtype.code & ", " &
                     $tensor.dtype.bits & " bits, " & $tensor.dtype.lanes & " lanes)")
  if tensor.device.deviceType notin [deviceCpu, deviceCudaHost, deviceRocmHost]:
    raise newFailure(errorWrongDevice, name & " lies on device type " & $tensor.device.deviceType &
                     ", expected memory of the host")
  if tensor.shape == nil:
    raise newFailure(errorInvalidArgument, name & " has no shape")
  let shape = cast[ptr UncheckedArray[int64]](tensor.shape)
  var elements = 1'i64
  var isEmpty = false
  for axis in 0 ..< ndim:
    if shape[axis] < 0 or (shape[axis] > 0 and elements > high(int64) div 8 div shape[axis]):
      raise newFailure(errorInvalidArgument, name & " has an impossible shape " & shapeText(tensor[]))
    isEmpty = isEmpty or shape[axis] == 0
    elements *= max(shape[axis], 1)
  if tensor.strides != nil:
    let strides = cast[ptr UncheckedArray[int64]](tensor.strides)
    for axis in 0 ..< ndim:
      # A sixteenth of the address space for each axis: no position computed from these can overflow.
      if shape[axis] > 1 and (strides[axis] == low(int64) or abs(strides[axis]) > high(int64) div 16 div shape[axis]):
        raise newFailure(errorInvalidArgument, name & " has an impossible stride " & $strides[axis])
  if tensor.data == nil and not isEmpty:
    raise newFailure(errorInvalidArgument, name & " has no data")
  if (cast[uint64](tensor.data) + tensor.byteOffset) mod uint64(sizeof(float32)) != 0:
    raise newFailure(errorInvalidArgument, name & " is not aligned to 4 bytes")

proc matrixOf*(tensor: ptr Tensor; name: string): MatrixView =
  ## A two-dimensional tensor.
  checkTensor(tensor, name, 2)
  let shape = cast[ptr UncheckedArray[int64]](tensor.shape)
  let strides = cast[ptr UncheckedArray[int64]](tensor.strides)
  result = MatrixView(
    elements: cast[Elements](cast[uint64](tensor.data) + tensor.byteOffset),
    rows: int(shape[0]), columns: int(shape[1]),
    rowStride: if strides == nil: int(shape[1]) else: int(strides[0]),
    columnStride: if strides == nil: 1 else: int(strides[1]))

proc vectorOf*(tensor: ptr Tensor; name: string): MatrixView =
  ## A one-dimensional tensor, as a matrix of one row.
  checkTensor(tensor, name, 1)
  let shape = cast[ptr UncheckedArray[int64]](tensor.shape)
  let strides = cast[ptr UncheckedArray[int64]](tensor.strides)
  result = MatrixView(
    elements: cast[Elements](cast[uint64](tensor.data) + tensor.byteOffset),
    rows: 1, columns: int(shape[0]), rowStride: 0,
    columnStride: if strides == nil: 1 else: int(strides[0]))

func shapeText*(view: MatrixView): string =
  "[" & $view.rows & ", " & $view.columns & "]"

func extent(view: MatrixView): tuple[first, last: int] =
  ## Addresses of the lowest and highest byte that belong to the view.
  var lowest, highest = 0
  for (count, stride) in [(view.rows, view.rowStride), (view.columns, view.columnStride)]:
    let reach = (count - 1) * stride
    lowest += min(reach, 0)
    highest += max(reach, 0)
  let base = cast[int](view.elements)
  (base + lowest * sizeof(float32), base + highest * sizeof(float32) + sizeof(float32) - 1)

func overlaps*(a, b: MatrixView): bool =
  ## Whether the address ranges meet; views that interleave without sharing an element count as overlapping.
  if a.rows == 0 or a.columns == 0 or b.rows == 0 or b.columns == 0:
    return false
  let (aFirst, aLast) = a.extent
  let (bFirst, bLast) = b.extent
  aFirst <= bLast and bFirst <= aLast
