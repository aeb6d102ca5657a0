## Generated from agpu.h and errors.toml by ./x generate. Do not edit.

import std/strutils

const
  packageVersion* = "0.1.0"
  abiHash* = 0x7f383dc046aea64b'u64
  statusOk* = 0'i32
  errorInvalidArgument* = 100'i32 ## An argument has a value the operation does not accept.
  errorInvalidType* = 101'i32 ## An argument has a type the operation does not accept.
  errorShapeMismatch* = 102'i32 ## The shapes of two arguments do not fit together.
  errorUnsupportedDtype* = 103'i32 ## The operation has no implementation for this dtype.
  errorNotContiguous* = 104'i32 ## A kernel argument is an array whose memory is not contiguous.
  errorInvalidLaunch* = 105'i32 ## The grid, block or shared memory of a launch is outside the limits of the device.
  errorArgumentCount* = 106'i32 ## A kernel was launched with another number of arguments than it has parameters.
  errorReadOnly* = 107'i32 ## The operation would write to an array that is read-only.
  errorIndexOutOfRange* = 108'i32 ## An index is not one of the axis that it is for.
  errorNumberOutOfRange* = 109'i32 ## A Python integer is outside of the range of the dtype that it would take.
  errorDeviceNotFound* = 200'i32 ## No device has the index or name that was asked for.
  errorDeviceLost* = 201'i32 ## The device stopped answering.
  errorUnknownCoreType* = 202'i32 ## A core type is not one of aura, matrix, neuromorphic.
  errorClosed* = 203'i32 ## The object was closed and cannot be used any more.
  errorWrongDevice* = 204'i32 ## An array or kernel belongs to another device than the one it is used on.
  errorDriverFault* = 205'i32 ## The driver of the device reported a failure.
  errorForked* = 206'i32 ## A device opened before fork() was used in the child process.
  errorCoreNotEnabled* = 207'i32 ## The device was initialised without the core type that the operation needs.
  errorOutOfMemory* = 300'i32 ## The device has no room for the allocation, even after cached blocks were given back.
  errorUseAfterFree* = 301'i32 ## A block of memory was used or freed after it had been freed.
  errorCompileFailed* = 400'i32 ## The kernel source has errors.
  errorKernelNotFound* = 401'i32 ## The source or module has no kernel of that name.
  errorUnsupportedFeature* = 402'i32 ## The source uses a language feature that this version does not compile.
  errorCodeGeneratorMissing* = 403'i32 ## LLVM, which turns kernels into machine code, cannot be loaded.
  errorCodeGenerationFailed* = 404'i32 ## LLVM refused the code that the compiler produced, or its output could not be loaded.
  errorInvalidHandle* = 405'i32 ## A handle is not known: it was released, it is of another kind or device, or it never was one.
  errorGlobalNotFound* = 406'i32 ## The module has no __device__ or __constant__ variable of that name.
  errorNotCapturable* = 407'i32 ## Something was asked for while a graph is recorded that a graph cannot hold.
  errorTimeout* = 500'i32 ## The operation did not end within its time limit.
  errorKernelFault* = 501'i32 ## A kernel failed while running.
  errorAssertionFailed* = 502'i32 ## An assert() in a kernel failed, or a kernel called abort() or __trap().
  errorMemoryFault* = 503'i32 ## A kernel compiled with checked=True reached outside of its arrays, through a null, misaligned or freed pointer.
  errorDataRace* = 504'i32 ## Work-items of a kernel compiled with checked=True reached the same memory without a barrier or atomics between them.
  errorDivergentBarrier* = 505'i32 ## Work-items of one block waited at different barriers.
  errorLibraryMissing* = 600'i32 ## A native library of amdgpu is not where it is looked for.
  errorLibraryStale* = 601'i32 ## A native library was built from another version of amdgpu.
  errorJuliaMissing* = 602'i32 ## No Julia runtime was found for the Math core.
  errorForeignError* = 603'i32 ## Code in another language of the package raised an error.
  errorNetworkInvalid* = 700'i32 ## A network description has errors.
  errorWeightsNotFinite* = 701'i32 ## Weights, biases or inputs of a network hold NaN or infinity.
  errorNoImplementation* = 800'i32 ## No implementation is registered for this operation, core type and device kind.
  errorInternal* = 900'i32 ## Something happened that should be impossible.
  errorConnectionFailed* = 1000'i32 ## A server or a process could not be reached, or the connection to it broke.
  errorRequestTimeout* = 1001'i32 ## No answer came in the time that was allowed.
  errorNotPermitted* = 1002'i32 ## The server does not allow this.
  errorLimitExceeded* = 1003'i32 ## A request is past a limit that protects the server or the program that is watched.
  errorInvalidMessage* = 1004'i32 ## A message does not have the form that the protocol gives it.
  errorDamagedFile* = 1005'i32 ## A file is not what its name says, or is damaged.
  errorWriteFailed* = 1006'i32 ## A file could not be written.
  errorProcessGone* = 1007'i32 ## The process that was watched has ended.
  dtypeInt* = 0'u8
  dtypeUint* = 1'u8
  dtypeFloat* = 2'u8
  dtypeBfloat* = 4'u8
  dtypeComplex* = 5'u8
  dtypeBool* = 6'u8
  activationIdentity* = 0'u32
  activationRelu* = 1'u32
  activationLeakyRelu* = 2'u32
  activationSigmoid* = 3'u32
  activationTanh* = 4'u32
  activationGelu* = 5'u32
  activationSilu* = 6'u32
  activationSoftplus* = 7'u32
  activationElu* = 8'u32
  activationSoftmax* = 9'u32
  activationNeuromorphic* = 10'u32
  elementwiseIdentity* = 0'u32
  elementwiseNegative* = 1'u32
  elementwiseAbsolute* = 2'u32
  elementwiseSign* = 3'u32
  elementwiseSquare* = 4'u32
  elementwiseReciprocal* = 5'u32
  elementwiseSqrt* = 6'u32
  elementwiseExp* = 7'u32
  elementwiseExpm1* = 8'u32
  elementwiseLog* = 9'u32
  elementwiseLog1p* = 10'u32
  elementwiseErf* = 11'u32
  elementwiseTanh* = 12'u32
  elementwiseSigmoid* = 13'u32
  elementwiseRelu* = 14'u32
  elementwiseLeakyRelu* = 15'u32
  elementwiseElu* = 16'u32
  elementwiseGelu* = 17'u32
  elementwiseGeluTanh* = 18'u32
  elementwiseSilu* = 19'u32
  elementwiseSoftplus* = 20'u32
  elementwiseFloor* = 21'u32
  elementwiseCeil* = 22'u32
  elementwiseTrunc* = 23'u32
  elementwiseRint* = 24'u32
  elementwiseIsnan* = 25'u32
  elementwiseIsinf* = 26'u32
  elementwiseIsfinite* = 27'u32
  elementwiseLogicalNot* = 28'u32
  elementwiseAdd* = 29'u32
  elementwiseSubtract* = 30'u32
  elementwiseMultiply* = 31'u32
  elementwiseDivide* = 32'u32
  elementwiseMaximum* = 33'u32
  elementwiseMinimum* = 34'u32
  elementwiseEqual* = 35'u32
  elementwiseNotEqual* = 36'u32
  elementwiseLess* = 37'u32
  elementwiseLessEqual* = 38'u32
  elementwiseGreater* = 39'u32
  elementwiseGreaterEqual* = 40'u32
  elementwiseLogicalAnd* = 41'u32
  elementwiseLogicalOr* = 42'u32
  elementwiseWhere* = 43'u32
  elementwiseClip* = 44'u32
  elementwiseStandardize* = 45'u32
  elementwisePower* = 46'u32
  elementwiseRemainder* = 47'u32
  elementwiseFmod* = 48'u32
  elementwiseFloorDivide* = 49'u32
  elementwiseSin* = 50'u32
  elementwiseCos* = 51'u32
  elementwiseExp2* = 52'u32
  elementwiseLog2* = 53'u32
  elementwiseLog10* = 54'u32
  elementwiseBitwiseAnd* = 55'u32
  elementwiseBitwiseOr* = 56'u32
  elementwiseBitwiseXor* = 57'u32
  elementwiseInvert* = 58'u32
  elementwiseLogicalXor* = 59'u32
  elementwiseReluGradient* = 60'u32
  elementwiseLeakyReluGradient* = 61'u32
  elementwiseEluGradient* = 62'u32
  elementwiseGeluGradient* = 63'u32
  elementwiseGeluTanhGradient* = 64'u32
  elementwiseSiluGradient* = 65'u32
  elementwiseSoftplusGradient* = 66'u32
  elementwiseSigmoidGradient* = 67'u32
  elementwiseTanhGradient* = 68'u32
  elementwiseTan* = 69'u32
  elementwiseAsin* = 70'u32
  elementwiseAcos* = 71'u32
  elementwiseAtan* = 72'u32
  elementwiseAtan2* = 73'u32
  elementwiseSinh* = 74'u32
  elementwiseCosh* = 75'u32
  elementwiseAsinh* = 76'u32
  elementwiseAcosh* = 77'u32
  elementwiseAtanh* = 78'u32
  elementwiseHypot* = 79'u32
  elementwiseCopysign* = 80'u32
  elementwiseLogaddexp* = 81'u32
  elementwiseNextafter* = 82'u32
  elementwiseNextafterHalf* = 83'u32
  elementwiseNextafterBfloat* = 84'u32
  elementwiseSignbit* = 85'u32
  elementwiseLeftShift* = 86'u32
  elementwiseRightShift* = 87'u32
  elementwiseLinearCombination* = 88'u32
  elementwiseSquaredError* = 89'u32
  elementwiseSquaredErrorGradient* = 90'u32
  elementwiseBce* = 91'u32
  elementwiseBceGradient* = 92'u32
  elementwiseBceWithLogits* = 93'u32
  elementwiseBceWithLogitsGradient* = 94'u32
  complexIdentity* = 0'u32
  complexNegative* = 1'u32
  complexAbsolute* = 2'u32
  complexSign* = 3'u32
  complexSquare* = 4'u32
  complexReciprocal* = 5'u32
  complexSqrt* = 6'u32
  complexExp* = 7'u32
  complexExpm1* = 8'u32
  complexLog* = 9'u32
  complexLog1p* = 10'u32
  complexLog2* = 11'u32
  complexLog10* = 12'u32
  complexSin* = 13'u32
  complexCos* = 14'u32
  complexTan* = 15'u32
  complexSinh* = 16'u32
  complexCosh* = 17'u32
  complexTanh* = 18'u32
  complexAsin* = 19'u32
  complexAcos* = 20'u32
  complexAtan* = 21'u32
  complexAsinh* = 22'u32
  complexAcosh* = 23'u32
  complexAtanh* = 24'u32
  complexConj* = 25'u32
  complexAngle* = 26'u32
  complexIsnan* = 27'u32
  complexIsinf* = 28'u32
  complexIsfinite* = 29'u32
  complexLogicalNot* = 30'u32
  complexAdd* = 31'u32
  complexSubtract* = 32'u32
  complexMultiply* = 33'u32
  complexDivide* = 34'u32
  complexPower* = 35'u32
  complexEqual* = 36'u32
  complexNotEqual* = 37'u32
  complexLogicalAnd* = 38'u32
  complexLogicalOr* = 39'u32
  complexLogicalXor* = 40'u32
  complexWhere* = 41'u32
  reduceSum* = 0'u32
  reduceProduct* = 1'u32
  reduceMaximum* = 2'u32
  reduceMinimum* = 3'u32
  reduceAny* = 4'u32
  reduceAll* = 5'u32
  reduceVariance* = 6'u32
  reduceDeviation* = 7'u32
  reduceArgmax* = 8'u32
  reduceArgmin* = 9'u32
  abiVersion* = 1'u32
  deviceCpu* = 1'i32
  deviceCuda* = 2'i32
  deviceCudaHost* = 3'i32
  deviceRocm* = 10'i32
  deviceRocmHost* = 11'i32
  allocatorSlab* = 0'u32
  allocatorBuddy* = 1'u32
  allocatorArena* = 2'u32
  hostMemoryPlain* = 0'u32
  hostMemoryAdvised* = 1'u32
  hostMemoryPool* = 2'u32
  precisionOperands* = 0'u32
  precisionBf16* = 1'u32
  precisionF16* = 2'u32
  normalizeSoftmax* = 0'u32
  normalizeLogSoftmax* = 1'u32
  normalizeLayerNorm* = 2'u32
  normalizeRmsNorm* = 3'u32
  scatterAssign* = 0'u32
  scatterAdd* = 1'u32
  scatterMultiply* = 2'u32
  scatterMaximum* = 3'u32
  scatterMinimum* = 4'u32
  segmentsSum* = 0'u32
  segmentsProduct* = 1'u32
  segmentsMean* = 2'u32
  segmentsMaximum* = 3'u32
  segmentsMinimum* = 4'u32
  segmentsFill* = 0'u32
  segmentsKeep* = 1'u32
  segmentsInclude* = 2'u32
  scanSum* = 0'u32
  scanProduct* = 1'u32
  scanMaximum* = 2'u32
  scanMinimum* = 3'u32
  convolveForward* = 0'u32
  convolveImageGradient* = 1'u32
  convolveWeightGradient* = 2'u32
  classLossCrossEntropy* = 0'u32
  classLossNegativeLogLikelihood* = 1'u32
  lossNone* = 0'u32
  lossMean* = 1'u32
  lossSum* = 2'u32
  poolMaximum* = 0'u32
  poolAverage* = 1'u32
  poolMaximumGradient* = 2'u32
  poolAverageGradient* = 3'u32
  poolAddAtIndices* = 4'u32
  poolSetAtIndices* = 5'u32
  randomUniform* = 0'u32
  randomNormal* = 1'u32
  randomExponential* = 2'u32
  randomIntegers* = 3'u32
  randomBernoulli* = 4'u32
  randomDropout* = 5'u32
  randomGamma* = 6'u32
  randomBeta* = 7'u32
  randomPoisson* = 8'u32
  randomBinomial* = 9'u32
  randomInterleavedBits* = 10'u32
  randomGroupedNormal* = 11'u32

type
  Status* = int32
  Allocator* = pointer
  NetworkPlan* = pointer
  TaskFn* = proc(data: pointer; begin: uint64; `end`: uint64) {.cdecl, gcsafe, raises: [].}
  ParallelForFn* = proc(context: pointer; count: uint64; task: TaskFn; data: pointer): Status {.cdecl, gcsafe, raises: [].}
  MathActivationFn* = proc(x: ptr float32; y: ptr float32; len: uint64; activation: ptr Activation): Status {.cdecl, gcsafe, raises: [].}
  MathSoftmaxFn* = proc(x: ptr float32; y: ptr float32; rows: uint64; cols: uint64): Status {.cdecl, gcsafe, raises: [].}
  MathDenseForwardFn* = proc(x: ptr float32; weight: ptr float32; bias: ptr float32; y: ptr float32; batch: uint64; inputs: uint64; outputs: uint64; activation: ptr Activation): Status {.cdecl, gcsafe, raises: [].}
  MathAdaptiveLearningRateFn* = proc(gradients: ptr float32; momentum: ptr float32; rates: ptr float32; len: uint64; learningRate: float32; decay: float32): Status {.cdecl, gcsafe, raises: [].}
  MathMomentumUpdateFn* = proc(weights: ptr float32; gradients: ptr float32; velocity: ptr float32; len: uint64; learningRate: float32; momentum: float32): Status {.cdecl, gcsafe, raises: [].}
  MathLastErrorFn* = proc(buffer: pointer; capacity: uint64): uint64 {.cdecl, gcsafe, raises: [].}
  Str* {.bycopy.} = object ## `agpu_str`
    `ptr`*: pointer
    len*: uint64
  LibraryInfo* {.bycopy.} = object ## `agpu_library_info` What a library says of itself; all text lives as long as the process.
    sizeBytes*: uint64
    abiVersion*: uint32
    reserved*: uint32
    abiHash*: uint64
    name*: Str
    version*: Str
    language*: Str
    layoutManifest*: Str
  LastError* {.bycopy.} = object ## `agpu_error` The last failure on this thread.
    sizeBytes*: uint64
    code*: int32
    reserved*: uint32
    message*: Str
  DeviceRef* {.bycopy.} = object ## `agpu_device_ref`
    deviceType*: int32
    deviceId*: int32
  Dtype* {.bycopy.} = object ## `agpu_dtype`
    code*: uint8
    bits*: uint8
    lanes*: uint16
  Tensor* {.bycopy.} = object ## `agpu_tensor` Same layout as DLPack's DLTensor.
    data*: pointer
    device*: DeviceRef
    ndim*: int32
    dtype*: Dtype
    shape*: ptr int64
    strides*: ptr int64
    byteOffset*: uint64
  Executor* {.bycopy.} = object ## `agpu_executor` The thread pool of the process, handed down so that no library starts threads of its own.
    sizeBytes*: uint64
    context*: pointer
    threadCount*: uint32
    reserved*: uint32
    parallelFor*: ParallelForFn
  Activation* {.bycopy.} = object ## `agpu_activation`
    kind*: uint32
    alpha*: float32
    beta*: float32
    reserved*: uint32
  MatmulOptions* {.bycopy.} = object ## `agpu_matmul_options` out = activation(alpha * (a @ b) + beta * out + bias + residual). `executor` may be NULL: one thread. `bias` [n], `residual` [..., m, n] and `activation` may be NULL; both tensors are of the type that is summed in. Softmax is no activation of a product.
    sizeBytes*: uint64
    alpha*: float64
    beta*: float64
    executor*: ptr Executor
    bias*: ptr Tensor
    residual*: ptr Tensor
    activation*: ptr Activation
    precision*: uint32
    reserved*: uint32
  ElementwiseOptions* {.bycopy.} = object ## `agpu_elementwise_options` `compute` is the type that is computed in: float32, float64, int32, int64 or uint64, and complex64 or complex128 for operations AGPU_COMPLEX_*. `alpha`: slope of leaky_relu, scale of elu, and so of their gradients, whose inputs are x (for sigmoid and tanh the result) and the gradient of the result. Exponents of integers are not negative.
    sizeBytes*: uint64
    operation*: uint32
    compute*: Dtype
    alpha*: float64
    executor*: ptr Executor
  NormalizeOptions* {.bycopy.} = object ## `agpu_normalize_options` The last `row_axes` axes are normalised together. Where asked for, a layer norm of a matrix writes the mean of each row and one over its deviation, in the dtype that is computed in.
    sizeBytes*: uint64
    operation*: uint32
    compute*: Dtype
    rowAxes*: uint64
    epsilon*: float64
    executor*: ptr Executor
    means*: pointer
    inverseDeviations*: pointer
  ReduceOptions* {.bycopy.} = object ## `agpu_reduce_options` The last `reduced_axes` axes are folded; sums are divided by `divisor`, of the squares of distances from the mean for variance and deviation, whose root is taken for the latter.
    sizeBytes*: uint64
    operation*: uint32
    compute*: Dtype
    reducedAxes*: uint64
    divisor*: float64
    executor*: ptr Executor
  TransposeOptions* {.bycopy.} = object ## `agpu_transpose_options`
    sizeBytes*: uint64
    executor*: ptr Executor
  EmbeddingOptions* {.bycopy.} = object ## `agpu_embedding_options`
    sizeBytes*: uint64
    executor*: ptr Executor
  CastOptions* {.bycopy.} = object ## `agpu_cast_options`
    sizeBytes*: uint64
    executor*: ptr Executor
  OffsetsOptions* {.bycopy.} = object ## `agpu_offsets_options` For each array of indices: the axis that messages name, its extent, and the distance of its elements.
    sizeBytes*: uint64
    axes*: ptr int64
    extents*: ptr int64
    strides*: ptr int64
    executor*: ptr Executor
  BlocksOptions* {.bycopy.} = object ## `agpu_blocks_options` At every offset lies a block of elements. An offset outside of [`lowest`, `highest`] is refused. Only scatter has a `mode`.
    sizeBytes*: uint64
    blockRank*: uint64
    blockShape*: ptr int64
    blockStrides*: ptr int64
    lowest*: int64
    highest*: int64
    mode*: uint32
    reserved*: uint32
    executor*: ptr Executor
  SegmentsOptions* {.bycopy.} = object ## `agpu_segments_options` `has_offsets` is 1 where segments are given by where they begin, and where the last one ends; else every value has the row that it belongs to. Values of the row `skipped` are left out. `wraps` is 1 where negative rows count from the end.
    sizeBytes*: uint64
    operation*: uint32
    start*: uint32
    hasOffsets*: uint32
    wraps*: uint32
    skipped*: int64
    executor*: ptr Executor
  NonzeroOptions* {.bycopy.} = object ## `agpu_nonzero_options` `counts` has `piece_count` numbers: those of the elements that are not zero in pieces of nearly the same length.
    sizeBytes*: uint64
    pieceCount*: uint64
    counts*: ptr uint64
    executor*: ptr Executor
  SortOptions* {.bycopy.} = object ## `agpu_sort_options` `gives_places` is 1 where the result is int64 places instead of values.
    sizeBytes*: uint64
    isDescending*: uint32
    givesPlaces*: uint32
    executor*: ptr Executor
  SearchSortedOptions* {.bycopy.} = object ## `agpu_search_sorted_options` `is_right` is 1 for the place behind equal values, 0 for the one before them.
    sizeBytes*: uint64
    isRight*: uint32
    reserved*: uint32
    executor*: ptr Executor
  ScanOptions* {.bycopy.} = object ## `agpu_scan_options`
    sizeBytes*: uint64
    operation*: uint32
    compute*: Dtype
    executor*: ptr Executor
  TopKOptions* {.bycopy.} = object ## `agpu_top_k_options` `is_largest` is 1 for the largest values, 0 for the smallest.
    sizeBytes*: uint64
    isLargest*: uint32
    compute*: Dtype
    executor*: ptr Executor
  ConvolveOptions* {.bycopy.} = object ## `agpu_convolve_options` Padding is what precedes the first row and column; what follows the last is told by the extents of the result.
    sizeBytes*: uint64
    pass*: uint32
    compute*: Dtype
    groups*: uint64
    rowStride*: uint64
    columnStride*: uint64
    rowPadding*: uint64
    columnPadding*: uint64
    rowDilation*: uint64
    columnDilation*: uint64
    depthStride*: uint64
    depthPadding*: uint64
    depthDilation*: uint64
    executor*: ptr Executor
  ClassLossOptions* {.bycopy.} = object ## `agpu_class_loss_options` `has_shares` is 1 where targets are the shares of all classes, else they are classes, of which `ignored` counts for nothing.
    sizeBytes*: uint64
    operation*: uint32
    reduction*: uint32
    compute*: Dtype
    hasShares*: uint32
    hasWeight*: uint32
    isGradient*: uint32
    ignored*: int64
    smoothing*: float64
    executor*: ptr Executor
  AttentionOptions* {.bycopy.} = object ## `agpu_attention_options` `is_causal` is 1 where query i sees keys 0 to i alone.
    sizeBytes*: uint64
    scale*: float64
    compute*: Dtype
    isCausal*: uint32
    hasMask*: uint32
    reserved*: uint32
    executor*: ptr Executor
  PoolOptions* {.bycopy.} = object ## `agpu_pool_options` Padding is what precedes the first pixel; windows may reach as far behind the last, or farther. Adaptive windows are told by the extents of image and result alone. `divisor` is that of averages, 0 the number of values; where the largest values stand in their planes is written to `indices`, int64 of the shape of the result, if that is not NULL.
    sizeBytes*: uint64
    operation*: uint32
    compute*: Dtype
    rowWindow*: uint64
    columnWindow*: uint64
    rowStride*: uint64
    columnStride*: uint64
    rowPadding*: uint64
    columnPadding*: uint64
    rowDilation*: uint64
    columnDilation*: uint64
    depthWindow*: uint64
    depthStride*: uint64
    depthPadding*: uint64
    depthDilation*: uint64
    countsPadding*: uint32
    isAdaptive*: uint32
    divisor*: int64
    indices*: ptr Tensor
    executor*: ptr Executor
  RandomOptions* {.bycopy.} = object ## `agpu_random_options` Philox4x32-10 with this key, from word `skip` of the block at the counter (block, high) on. `a`, `b`: lowest value and extent (uniform), mean and standard deviation (normal), scale in `b` (exponential), chance (bernoulli), chance to stay and factor (dropout). Integers are `low` + [0, `span`), 0 for 2^64; for interleaved bits `span` is the number of threads. Grouped normal numbers are those of TensorFlow: group g, as many elements as a block makes, takes numbers whose absolute value is below `a` from block g * `span` on, the counter of 128 bits.
    sizeBytes*: uint64
    distribution*: uint32
    skip*: uint32
    key*: uint64
    `block`*: uint64
    high*: uint64
    a*: float64
    b*: float64
    low*: uint64
    span*: uint64
    executor*: ptr Executor
  AllocatorOptions* {.bycopy.} = object ## `agpu_allocator_options` A range of `capacity_bytes` is managed as offsets; the memory itself is never touched, so it may be a device's.
    sizeBytes*: uint64
    kind*: uint32
    reserved*: uint32
    capacityBytes*: uint64
    minBlockBytes*: uint64
  AllocatorStats* {.bycopy.} = object ## `agpu_allocator_stats`
    sizeBytes*: uint64
    capacityBytes*: uint64
    usedBytes*: uint64
    peakUsedBytes*: uint64
    largestFreeBytes*: uint64
    liveBlocks*: uint64
    allocationsTotal*: uint64
    freesTotal*: uint64
    failuresTotal*: uint64
  HostMemory* {.bycopy.} = object ## `agpu_host_memory` `bytes` is a multiple of 2 MiB, and so is the address.
    sizeBytes*: uint64
    data*: pointer
    bytes*: uint64
    kind*: uint32
    reserved*: uint32
  HostMemoryStats* {.bycopy.} = object ## `agpu_host_memory_stats` Of the library in this process, its workspaces included: bytes that are held, by kind of page.
    sizeBytes*: uint64
    plainBytes*: uint64
    advisedBytes*: uint64
    poolBytes*: uint64
    allocationsTotal*: uint64
    freesTotal*: uint64
    failuresTotal*: uint64
  MathTable* {.bycopy.} = object ## `agpu_math_table` Only the thread that owns the Julia runtime may call through this table.
    sizeBytes*: uint64
    abiVersion*: uint32
    reserved*: uint32
    abiHash*: uint64
    activation*: MathActivationFn
    softmax*: MathSoftmaxFn
    denseForward*: MathDenseForwardFn
    adaptiveLearningRate*: MathAdaptiveLearningRateFn
    momentumUpdate*: MathMomentumUpdateFn
    lastError*: MathLastErrorFn

proc layoutManifest*(): string =
  ## Sizes and offsets as this library was compiled: one line per struct.
  result.add ["agpu_str size=", $sizeof(Str), " ptr@", $offsetOf(Str, `ptr`), " len@", $offsetOf(Str, len)].join & "\n"
  result.add ["agpu_library_info size=", $sizeof(LibraryInfo), " size_bytes@", $offsetOf(LibraryInfo, sizeBytes), " abi_version@", $offsetOf(LibraryInfo, abiVersion), " reserved@", $offsetOf(LibraryInfo, reserved), " abi_hash@", $offsetOf(LibraryInfo, abiHash), " name@", $offsetOf(LibraryInfo, name), " version@", $offsetOf(LibraryInfo, version), " language@", $offsetOf(LibraryInfo, language), " layout_manifest@", $offsetOf(LibraryInfo, layoutManifest)].join & "\n"
  result.add ["agpu_error size=", $sizeof(LastError), " size_bytes@", $offsetOf(LastError, sizeBytes), " code@", $offsetOf(LastError, code), " reserved@", $offsetOf(LastError, reserved), " message@", $offsetOf(LastError, message)].join & "\n"
  result.add ["agpu_device_ref size=", $sizeof(DeviceRef), " device_type@", $offsetOf(DeviceRef, deviceType), " device_id@", $offsetOf(DeviceRef, deviceId)].join & "\n"
  result.add ["agpu_dtype size=", $sizeof(Dtype), " code@", $offsetOf(Dtype, code), " bits@", $offsetOf(Dtype, bits), " lanes@", $offsetOf(Dtype, lanes)].join & "\n"
  result.add ["agpu_tensor size=", $sizeof(Tensor), " data@", $offsetOf(Tensor, data), " device@", $offsetOf(Tensor, device), " ndim@", $offsetOf(Tensor, ndim), " dtype@", $offsetOf(Tensor, dtype), " shape@", $offsetOf(Tensor, shape), " strides@", $offsetOf(Tensor, strides), " byte_offset@", $offsetOf(Tensor, byteOffset)].join & "\n"
  result.add ["agpu_executor size=", $sizeof(Executor), " size_bytes@", $offsetOf(Executor, sizeBytes), " context@", $offsetOf(Executor, context), " thread_count@", $offsetOf(Executor, threadCount), " reserved@", $offsetOf(Executor, reserved), " parallel_for@", $offsetOf(Executor, parallelFor)].join & "\n"
  result.add ["agpu_activation size=", $sizeof(Activation), " kind@", $offsetOf(Activation, kind), " alpha@", $offsetOf(Activation, alpha), " beta@", $offsetOf(Activation, beta), " reserved@", $offsetOf(Activation, reserved)].join & "\n"
  result.add ["agpu_matmul_options size=", $sizeof(MatmulOptions), " size_bytes@", $offsetOf(MatmulOptions, sizeBytes), " alpha@", $offsetOf(MatmulOptions, alpha), " beta@", $offsetOf(MatmulOptions, beta), " executor@", $offsetOf(MatmulOptions, executor), " bias@", $offsetOf(MatmulOptions, bias), " residual@", $offsetOf(MatmulOptions, residual), " activation@", $offsetOf(MatmulOptions, activation), " precision@", $offsetOf(MatmulOptions, precision), " reserved@", $offsetOf(MatmulOptions, reserved)].join & "\n"
  result.add ["agpu_elementwise_options size=", $sizeof(ElementwiseOptions), " size_bytes@", $offsetOf(ElementwiseOptions, sizeBytes), " operation@", $offsetOf(ElementwiseOptions, operation), " compute@", $offsetOf(ElementwiseOptions, compute), " alpha@", $offsetOf(ElementwiseOptions, alpha), " executor@", $offsetOf(ElementwiseOptions, executor)].join & "\n"
  result.add ["agpu_normalize_options size=", $sizeof(NormalizeOptions), " size_bytes@", $offsetOf(NormalizeOptions, sizeBytes), " operation@", $offsetOf(NormalizeOptions, operation), " compute@", $offsetOf(NormalizeOptions, compute), " row_axes@", $offsetOf(NormalizeOptions, rowAxes), " epsilon@", $offsetOf(NormalizeOptions, epsilon), " executor@", $offsetOf(NormalizeOptions, executor), " means@", $offsetOf(NormalizeOptions, means), " inverse_deviations@", $offsetOf(NormalizeOptions, inverseDeviations)].join & "\n"
  result.add ["agpu_reduce_options size=", $sizeof(ReduceOptions), " size_bytes@", $offsetOf(ReduceOptions, sizeBytes), " operation@", $offsetOf(ReduceOptions, operation), " compute@", $offsetOf(ReduceOptions, compute), " reduced_axes@", $offsetOf(ReduceOptions, reducedAxes), " divisor@", $offsetOf(ReduceOptions, divisor), " executor@", $offsetOf(ReduceOptions, executor)].join & "\n"
  result.add ["agpu_transpose_options size=", $sizeof(TransposeOptions), " size_bytes@", $offsetOf(TransposeOptions, sizeBytes), " executor@", $offsetOf(TransposeOptions, executor)].join & "\n"
  result.add ["agpu_embedding_options size=", $sizeof(EmbeddingOptions), " size_bytes@", $offsetOf(EmbeddingOptions, sizeBytes), " executor@", $offsetOf(EmbeddingOptions, executor)].join & "\n"
  result.add ["agpu_cast_options size=", $sizeof(CastOptions), " size_bytes@", $offsetOf(CastOptions, sizeBytes), " executor@", $offsetOf(CastOptions, executor)].join & "\n"
  result.add ["agpu_offsets_options size=", $sizeof(OffsetsOptions), " size_bytes@", $offsetOf(OffsetsOptions, sizeBytes), " axes@", $offsetOf(OffsetsOptions, axes), " extents@", $offsetOf(OffsetsOptions, extents), " strides@", $offsetOf(OffsetsOptions, strides), " executor@", $offsetOf(OffsetsOptions, executor)].join & "\n"
  result.add ["agpu_blocks_options size=", $sizeof(BlocksOptions), " size_bytes@", $offsetOf(BlocksOptions, sizeBytes), " block_rank@", $offsetOf(BlocksOptions, blockRank), " block_shape@", $offsetOf(BlocksOptions, blockShape), " block_strides@", $offsetOf(BlocksOptions, blockStrides), " lowest@", $offsetOf(BlocksOptions, lowest), " highest@", $offsetOf(BlocksOptions, highest), " mode@", $offsetOf(BlocksOptions, mode), " reserved@", $offsetOf(BlocksOptions, reserved), " executor@", $offsetOf(BlocksOptions, executor)].join & "\n"
  result.add ["agpu_segments_options size=", $sizeof(SegmentsOptions), " size_bytes@", $offsetOf(SegmentsOptions, sizeBytes), " operation@", $offsetOf(SegmentsOptions, operation), " start@", $offsetOf(SegmentsOptions, start), " has_offsets@", $offsetOf(SegmentsOptions, hasOffsets), " wraps@", $offsetOf(SegmentsOptions, wraps), " skipped@", $offsetOf(SegmentsOptions, skipped), " executor@", $offsetOf(SegmentsOptions, executor)].join & "\n"
  result.add ["agpu_nonzero_options size=", $sizeof(NonzeroOptions), " size_bytes@", $offsetOf(NonzeroOptions, sizeBytes), " piece_count@", $offsetOf(NonzeroOptions, pieceCount), " counts@", $offsetOf(NonzeroOptions, counts), " executor@", $offsetOf(NonzeroOptions, executor)].join & "\n"
  result.add ["agpu_sort_options size=", $sizeof(SortOptions), " size_bytes@", $offsetOf(SortOptions, sizeBytes), " is_descending@", $offsetOf(SortOptions, isDescending), " gives_places@", $offsetOf(SortOptions, givesPlaces), " executor@", $offsetOf(SortOptions, executor)].join & "\n"
  result.add ["agpu_search_sorted_options size=", $sizeof(SearchSortedOptions), " size_bytes@", $offsetOf(SearchSortedOptions, sizeBytes), " is_right@", $offsetOf(SearchSortedOptions, isRight), " reserved@", $offsetOf(SearchSortedOptions, reserved), " executor@", $offsetOf(SearchSortedOptions, executor)].join & "\n"
  result.add ["agpu_scan_options size=", $sizeof(ScanOptions), " size_bytes@", $offsetOf(ScanOptions, sizeBytes), " operation@", $offsetOf(ScanOptions, operation), " compute@", $offsetOf(ScanOptions, compute), " executor@", $offsetOf(ScanOptions, executor)].join & "\n"
  result.add ["agpu_top_k_options size=", $sizeof(TopKOptions), " size_bytes@", $offsetOf(TopKOptions, sizeBytes), " is_largest@", $offsetOf(TopKOptions, isLargest), " compute@", $offsetOf(TopKOptions, compute), " executor@", $offsetOf(TopKOptions, executor)].join & "\n"
  result.add ["agpu_convolve_options size=", $sizeof(ConvolveOptions), " size_bytes@", $offsetOf(ConvolveOptions, sizeBytes), " pass@", $offsetOf(ConvolveOptions, pass), " compute@", $offsetOf(ConvolveOptions, compute), " groups@", $offsetOf(ConvolveOptions, groups), " row_stride@", $offsetOf(ConvolveOptions, rowStride), " column_stride@", $offsetOf(ConvolveOptions, columnStride), " row_padding@", $offsetOf(ConvolveOptions, rowPadding), " column_padding@", $offsetOf(ConvolveOptions, columnPadding), " row_dilation@", $offsetOf(ConvolveOptions, rowDilation), " column_dilation@", $offsetOf(ConvolveOptions, columnDilation), " depth_stride@", $offsetOf(ConvolveOptions, depthStride), " depth_padding@", $offsetOf(ConvolveOptions, depthPadding), " depth_dilation@", $offsetOf(ConvolveOptions, depthDilation), " executor@", $offsetOf(ConvolveOptions, executor)].join & "\n"
  result.add ["agpu_class_loss_options size=", $sizeof(ClassLossOptions), " size_bytes@", $offsetOf(ClassLossOptions, sizeBytes), " operation@", $offsetOf(ClassLossOptions, operation), " reduction@", $offsetOf(ClassLossOptions, reduction), " compute@", $offsetOf(ClassLossOptions, compute), " has_shares@", $offsetOf(ClassLossOptions, hasShares), " has_weight@", $offsetOf(ClassLossOptions, hasWeight), " is_gradient@", $offsetOf(ClassLossOptions, isGradient), " ignored@", $offsetOf(ClassLossOptions, ignored), " smoothing@", $offsetOf(ClassLossOptions, smoothing), " executor@", $offsetOf(ClassLossOptions, executor)].join & "\n"
  result.add ["agpu_attention_options size=", $sizeof(AttentionOptions), " size_bytes@", $offsetOf(AttentionOptions, sizeBytes), " scale@", $offsetOf(AttentionOptions, scale), " compute@", $offsetOf(AttentionOptions, compute), " is_causal@", $offsetOf(AttentionOptions, isCausal), " has_mask@", $offsetOf(AttentionOptions, hasMask), " reserved@", $offsetOf(AttentionOptions, reserved), " executor@", $offsetOf(AttentionOptions, executor)].join & "\n"
  result.add ["agpu_pool_options size=", $sizeof(PoolOptions), " size_bytes@", $offsetOf(PoolOptions, sizeBytes), " operation@", $offsetOf(PoolOptions, operation), " compute@", $offsetOf(PoolOptions, compute), " row_window@", $offsetOf(PoolOptions, rowWindow), " column_window@", $offsetOf(PoolOptions, columnWindow), " row_stride@", $offsetOf(PoolOptions, rowStride), " column_stride@", $offsetOf(PoolOptions, columnStride), " row_padding@", $offsetOf(PoolOptions, rowPadding), " column_padding@", $offsetOf(PoolOptions, columnPadding), " row_dilation@", $offsetOf(PoolOptions, rowDilation), " column_dilation@", $offsetOf(PoolOptions, columnDilation), " depth_window@", $offsetOf(PoolOptions, depthWindow), " depth_stride@", $offsetOf(PoolOptions, depthStride), " depth_padding@", $offsetOf(PoolOptions, depthPadding), " depth_dilation@", $offsetOf(PoolOptions, depthDilation), " counts_padding@", $offsetOf(PoolOptions, countsPadding), " is_adaptive@", $offsetOf(PoolOptions, isAdaptive), " divisor@", $offsetOf(PoolOptions, divisor), " indices@", $offsetOf(PoolOptions, indices), " executor@", $offsetOf(PoolOptions, executor)].join & "\n"
  result.add ["agpu_random_options size=", $sizeof(RandomOptions), " size_bytes@", $offsetOf(RandomOptions, sizeBytes), " distribution@", $offsetOf(RandomOptions, distribution), " skip@", $offsetOf(RandomOptions, skip), " key@", $offsetOf(RandomOptions, key), " block@", $offsetOf(RandomOptions, `block`), " high@", $offsetOf(RandomOptions, high), " a@", $offsetOf(RandomOptions, a), " b@", $offsetOf(RandomOptions, b), " low@", $offsetOf(RandomOptions, low), " span@", $offsetOf(RandomOptions, span), " executor@", $offsetOf(RandomOptions, executor)].join & "\n"
  result.add ["agpu_allocator_options size=", $sizeof(AllocatorOptions), " size_bytes@", $offsetOf(AllocatorOptions, sizeBytes), " kind@", $offsetOf(AllocatorOptions, kind), " reserved@", $offsetOf(AllocatorOptions, reserved), " capacity_bytes@", $offsetOf(AllocatorOptions, capacityBytes), " min_block_bytes@", $offsetOf(AllocatorOptions, minBlockBytes)].join & "\n"
  result.add ["agpu_allocator_stats size=", $sizeof(AllocatorStats), " size_bytes@", $offsetOf(AllocatorStats, sizeBytes), " capacity_bytes@", $offsetOf(AllocatorStats, capacityBytes), " used_bytes@", $offsetOf(AllocatorStats, usedBytes), " peak_used_bytes@", $offsetOf(AllocatorStats, peakUsedBytes), " largest_free_bytes@", $offsetOf(AllocatorStats, largestFreeBytes), " live_blocks@", $offsetOf(AllocatorStats, liveBlocks), " allocations_total@", $offsetOf(AllocatorStats, allocationsTotal), " frees_total@", $offsetOf(AllocatorStats, freesTotal), " failures_total@", $offsetOf(AllocatorStats, failuresTotal)].join & "\n"
  result.add ["agpu_host_memory size=", $sizeof(HostMemory), " size_bytes@", $offsetOf(HostMemory, sizeBytes), " data@", $offsetOf(HostMemory, data), " bytes@", $offsetOf(HostMemory, bytes), " kind@", $offsetOf(HostMemory, kind), " reserved@", $offsetOf(HostMemory, reserved)].join & "\n"
  result.add ["agpu_host_memory_stats size=", $sizeof(HostMemoryStats), " size_bytes@", $offsetOf(HostMemoryStats, sizeBytes), " plain_bytes@", $offsetOf(HostMemoryStats, plainBytes), " advised_bytes@", $offsetOf(HostMemoryStats, advisedBytes), " pool_bytes@", $offsetOf(HostMemoryStats, poolBytes), " allocations_total@", $offsetOf(HostMemoryStats, allocationsTotal), " frees_total@", $offsetOf(HostMemoryStats, freesTotal), " failures_total@", $offsetOf(HostMemoryStats, failuresTotal)].join & "\n"
  result.add ["agpu_math_table size=", $sizeof(MathTable), " size_bytes@", $offsetOf(MathTable, sizeBytes), " abi_version@", $offsetOf(MathTable, abiVersion), " reserved@", $offsetOf(MathTable, reserved), " abi_hash@", $offsetOf(MathTable, abiHash), " activation@", $offsetOf(MathTable, activation), " softmax@", $offsetOf(MathTable, softmax), " dense_forward@", $offsetOf(MathTable, denseForward), " adaptive_learning_rate@", $offsetOf(MathTable, adaptiveLearningRate), " momentum_update@", $offsetOf(MathTable, momentumUpdate), " last_error@", $offsetOf(MathTable, lastError)].join & "\n"
