// amdgpu/ir.hpp: element types and operations by name, for the ROCm layer and graphs. C++17.
#ifndef AMDGPU_IR_HPP
#define AMDGPU_IR_HPP

#include <cstddef>
#include <cstdint>

namespace amdgpu {

enum class DType : std::int32_t { Float32, Float64, Float16, BFloat16, Int8, Int16, Int32, Int64, UInt8, UInt16, UInt32, UInt64, Bool };

// The name that amdgpu/array.h takes: "float32".
constexpr const char *dtype_name(DType dtype) {
    switch (dtype) {
        case DType::Float32: return "float32";
        case DType::Float64: return "float64";
        case DType::Float16: return "float16";
        case DType::BFloat16: return "bfloat16";
        case DType::Int8: return "int8";
        case DType::Int16: return "int16";
        case DType::Int32: return "int32";
        case DType::Int64: return "int64";
        case DType::UInt8: return "uint8";
        case DType::UInt16: return "uint16";
        case DType::UInt32: return "uint32";
        case DType::UInt64: return "uint64";
        case DType::Bool: return "bool";
    }
    return "unknown";
}

// Bytes of an element; 0 for what is no type.
constexpr std::size_t dtype_size(DType dtype) {
    switch (dtype) {
        case DType::Float64:
        case DType::Int64:
        case DType::UInt64: return 8;
        case DType::Float32:
        case DType::Int32:
        case DType::UInt32: return 4;
        case DType::Float16:
        case DType::BFloat16:
        case DType::Int16:
        case DType::UInt16: return 2;
        case DType::Int8:
        case DType::UInt8:
        case DType::Bool: return 1;
    }
    return 0;
}

namespace ir {

// X(name, operation of amdgpu/ops.h that computes it)
#define AMDGPU_OP_TYPES(X)                  \
    X(MATMUL, "matmul")                     \
    X(ADD, "add")                           \
    X(SUB, "subtract")                      \
    X(MUL, "multiply")                      \
    X(DIV, "divide")                        \
    X(POW, "power")                         \
    X(MAXIMUM, "maximum")                   \
    X(MINIMUM, "minimum")                   \
    X(NEG, "negative")                      \
    X(ABS, "absolute")                      \
    X(SQRT, "sqrt")                         \
    X(EXP, "exp")                           \
    X(LOG, "log")                           \
    X(SIN, "sin")                           \
    X(COS, "cos")                           \
    X(TANH, "tanh")                         \
    X(SIGMOID, "sigmoid")                   \
    X(RELU, "relu")                         \
    X(LEAKY_RELU, "leaky_relu")             \
    X(GELU, "gelu")                         \
    X(SILU, "silu")                         \
    X(SOFTPLUS, "softplus")                 \
    X(ELU, "elu")                           \
    X(EQ, "equal")                          \
    X(NE, "not_equal")                      \
    X(LT, "less")                           \
    X(LE, "less_equal")                     \
    X(GT, "greater")                        \
    X(GE, "greater_equal")                  \
    X(WHERE, "where")                       \
    X(CLAMP, "clip")                        \
    X(CONV2D, "conv2d")                     \
    X(MAX_POOL2D, "max_pool2d")             \
    X(AVG_POOL2D, "avg_pool2d")             \
    X(BATCH_NORM, "batch_norm")             \
    X(LAYER_NORM, "layer_norm")             \
    X(SOFTMAX, "softmax")                   \
    X(LOG_SOFTMAX, "log_softmax")           \
    X(REDUCE_SUM, "sum")                    \
    X(REDUCE_MEAN, "mean")                  \
    X(REDUCE_MAX, "max")                    \
    X(REDUCE_MIN, "min")                    \
    X(REDUCE_PROD, "prod")                  \
    X(RESHAPE, "reshape")                   \
    X(TRANSPOSE, "transpose")               \
    X(EMBEDDING, "embedding")               \
    X(CAST, "cast")                         \
    X(MSE_LOSS, "mse_loss")                 \
    X(BCE_LOSS, "bce_loss")                 \
    X(CROSS_ENTROPY_LOSS, "cross_entropy_loss")

#define AMDGPU_OP_TYPE(name, operation) name,
enum class OpType : std::int32_t { AMDGPU_OP_TYPES(AMDGPU_OP_TYPE) };
#undef AMDGPU_OP_TYPE

// "MATMUL"; "unknown" for what is no operation.
constexpr const char *op_name(OpType op) {
    switch (op) {
#define AMDGPU_OP_TYPE(name, operation) \
    case OpType::name: return #name;
        AMDGPU_OP_TYPES(AMDGPU_OP_TYPE)
#undef AMDGPU_OP_TYPE
    }
    return "unknown";
}

// The name of the operation in amdgpu/ops.h: "power" of POW.
constexpr const char *operation_name(OpType op) {
    switch (op) {
#define AMDGPU_OP_TYPE(name, operation) \
    case OpType::name: return operation;
        AMDGPU_OP_TYPES(AMDGPU_OP_TYPE)
#undef AMDGPU_OP_TYPE
    }
    return "unknown";
}

}  // namespace ir

}  // namespace amdgpu

#endif
