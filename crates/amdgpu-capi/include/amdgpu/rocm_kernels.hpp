// amdgpu/rocm_kernels.hpp: a part of rocm.hpp. Kernels on contiguous float32 arrays of one length.
//
// Each takes its place in the order of `stream`. The output may be an input itself; where they overlap otherwise, the call is refused. With 0
// elements nothing happens. Throws std::invalid_argument for lengths, operations and pointers that cannot be.
#ifndef AMDGPU_ROCM_KERNELS_HPP
#define AMDGPU_ROCM_KERNELS_HPP

#include "ops.h"
#include "rocm_device.hpp"

namespace amdgpu {
namespace rocm {

namespace detail {

// An operation on float32 arrays of one length.
class Elementwise {
public:
    Elementwise(const char *function, std::int64_t numel, hipStream_t stream)
        : function_(function), numel_(checked(function, numel)), device_(current_device()), order_(device_, numel > 0 ? stream : nullptr) {}

    Array at(const float *address, const char *name) const {
        require(address, function_, name);
        return array_at(device_, address, "float32", {numel_});
    }

    Array number(float value) const { return detail::number(device_, static_cast<double>(value)); }

    // `operation(inputs...)` into `out`, or into a new array where that is null.
    Array compute(const char *operation, std::initializer_list<agpu_array> inputs, agpu_array out) const {
        const agpu_ops_elementwise_options options = {sizeof(agpu_ops_elementwise_options), out, 0};
        agpu_array result = nullptr;
        check(agpu_ops_elementwise(operation, inputs.begin(), inputs.size(), &options, &result));
        return Array(result);
    }

    void done() const { order_.done(); }

private:
    static std::int64_t checked(const char *function, std::int64_t numel) {
        require_at_least(numel, 0, function, "numel");
        return numel;
    }

    const char *function_;
    std::int64_t numel_;
    agpu_device device_;
    Ordered order_;
};

inline void launch_unary(const char *function, const char *operation, float *output, const float *input, std::int64_t numel, hipStream_t stream) {
    const Elementwise work(function, numel, stream);
    if (numel == 0) return;
    const Array x = work.at(input, "input"), out = work.at(output, "output");
    work.compute(operation, {x.get()}, out.get());
    work.done();
}

[[noreturn]] inline void refuse_operation(const char *function, ir::OpType op, const char *known) {
    refuse(std::string(function) + ": op is " + ir::op_name(op) + "; known are " + known);
}

}  // namespace detail

// Gaussian error linear unit, x / 2 * erfc(-x / sqrt(2)).
inline void launch_gelu_forward(float *output, const float *input, std::int64_t numel, hipStream_t stream) {
    detail::launch_unary("launch_gelu_forward", "gelu", output, input, numel, stream);
}

// Sigmoid linear unit, x * sigmoid(x).
inline void launch_silu_forward(float *output, const float *input, std::int64_t numel, hipStream_t stream) {
    detail::launch_unary("launch_silu_forward", "silu", output, input, numel, stream);
}

// ADD, SUB, MUL, DIV, POW, MAXIMUM, MINIMUM; of the last two NaN is the result where an input is NaN.
inline void launch_elementwise_binary(ir::OpType op, float *output, const float *a, const float *b, std::int64_t numel, hipStream_t stream) {
    const char *const function = "launch_elementwise_binary";
    switch (op) {
        case ir::OpType::ADD:
        case ir::OpType::SUB:
        case ir::OpType::MUL:
        case ir::OpType::DIV:
        case ir::OpType::POW:
        case ir::OpType::MAXIMUM:
        case ir::OpType::MINIMUM: break;
        default: detail::refuse_operation(function, op, "ADD, SUB, MUL, DIV, POW, MAXIMUM, MINIMUM");
    }
    const detail::Elementwise work(function, numel, stream);
    if (numel == 0) return;
    const detail::Array left = work.at(a, "a"), right = work.at(b, "b"), out = work.at(output, "output");
    work.compute(ir::operation_name(op), {left.get(), right.get()}, out.get());
    work.done();
}

// NEG, ABS, SQRT, EXP, LOG, SIN, COS, TANH, SIGMOID, RELU, GELU, SILU, SOFTPLUS. LEAKY_RELU and ELU take a parameter: ROCmDNN has them.
inline void launch_elementwise_unary(ir::OpType op, float *output, const float *input, std::int64_t numel, hipStream_t stream) {
    const char *const function = "launch_elementwise_unary";
    switch (op) {
        case ir::OpType::NEG:
        case ir::OpType::ABS:
        case ir::OpType::SQRT:
        case ir::OpType::EXP:
        case ir::OpType::LOG:
        case ir::OpType::SIN:
        case ir::OpType::COS:
        case ir::OpType::TANH:
        case ir::OpType::SIGMOID:
        case ir::OpType::RELU:
        case ir::OpType::GELU:
        case ir::OpType::SILU:
        case ir::OpType::SOFTPLUS: break;
        default:
            detail::refuse_operation(function, op, "NEG, ABS, SQRT, EXP, LOG, SIN, COS, TANH, SIGMOID, RELU, GELU, SILU, SOFTPLUS");
    }
    detail::launch_unary(function, ir::operation_name(op), output, input, numel, stream);
}

// EQ, NE, LT, LE, GT, GE: 1 where it is true, else 0; with NaN only NE is true.
inline void launch_comparison(ir::OpType op, float *output, const float *a, const float *b, std::int64_t numel, hipStream_t stream) {
    const char *const function = "launch_comparison";
    switch (op) {
        case ir::OpType::EQ:
        case ir::OpType::NE:
        case ir::OpType::LT:
        case ir::OpType::LE:
        case ir::OpType::GT:
        case ir::OpType::GE: break;
        default: detail::refuse_operation(function, op, "EQ, NE, LT, LE, GT, GE");
    }
    const detail::Elementwise work(function, numel, stream);
    if (numel == 0) return;
    const detail::Array left = work.at(a, "a"), right = work.at(b, "b"), out = work.at(output, "output");
    const detail::Array truth = work.compute(ir::operation_name(op), {left.get(), right.get()}, nullptr);
    const detail::Array one = work.number(1), zero = work.number(0);
    work.compute("where", {truth.get(), one.get(), zero.get()}, out.get());
    work.done();
}

// x where the condition is not 0 (NaN is not), else y.
inline void launch_where(float *output, const float *condition, const float *x, const float *y, std::int64_t numel, hipStream_t stream) {
    const detail::Elementwise work("launch_where", numel, stream);
    if (numel == 0) return;
    const detail::Array given = work.at(condition, "condition"), yes = work.at(x, "x"), no = work.at(y, "y"), out = work.at(output, "output");
    const detail::Array zero = work.number(0);
    const detail::Array truth = work.compute("not_equal", {given.get(), zero.get()}, nullptr);
    work.compute("where", {truth.get(), yes.get(), no.get()}, out.get());
    work.done();
}

// The nearest value from min_val to max_val; NaN stays NaN.
inline void launch_clamp(float *output, const float *input, float min_val, float max_val, std::int64_t numel, hipStream_t stream) {
    // Not where either is NaN.
    if (!(min_val <= max_val))
        detail::refuse("launch_clamp: min_val is " + std::to_string(min_val) + " and max_val is " + std::to_string(max_val) +
                       "; the first must not exceed the second");
    const detail::Elementwise work("launch_clamp", numel, stream);
    if (numel == 0) return;
    const detail::Array x = work.at(input, "input"), out = work.at(output, "output");
    const detail::Array least = work.number(min_val), most = work.number(max_val);
    work.compute("clip", {x.get(), least.get(), most.get()}, out.get());
    work.done();
}

namespace detail {

// A loss of floats and targets whose mean goes to `output`.
class Loss {
public:
    Loss(const char *function, float *output, hipStream_t stream)
        : device_(current_device()), order_(device_, stream), out_(scalar(device_, function, output)) {}

    // Memory of one shape; an address is looked at where there are elements.
    Array at(const char *function, const char *name, const void *address, const char *dtype, const std::vector<std::int64_t> &shape) const {
        const bool is_empty = shape.front() == 0;
        if (!is_empty) require(address, function, name);
        return array_at(device_, address, dtype, shape);
    }

    template <typename Call>
    void compute(Call &&call) const {
        const agpu_ops_loss_options options = AGPU_OPS_LOSS_OPTIONS_INIT;
        agpu_array result = nullptr;
        check(call(&options, &result));
        const Array made(result);
        check(agpu_array_copy(out_.get(), made.get()));
        order_.done();
    }

private:
    static Array scalar(agpu_device device, const char *function, float *output) {
        require(output, function, "output");
        return array_at(device, output, "float32", {});
    }

    agpu_device device_;
    Ordered order_;
    Array out_;
};

using LossFunction = agpu_status (*)(agpu_array, agpu_array, const agpu_ops_loss_options *, agpu_array *);

inline void launch_loss(const char *function, LossFunction loss, float *output, const float *predictions, const float *targets, std::int64_t numel,
                        hipStream_t stream) {
    require_at_least(numel, 0, function, "numel");
    const Loss work(function, output, stream);
    const Array x = work.at(function, "predictions", predictions, "float32", {numel});
    const Array wanted = work.at(function, "targets", targets, "float32", {numel});
    work.compute([&](const agpu_ops_loss_options *options, agpu_array *result) { return loss(x.get(), wanted.get(), options, result); });
}

}  // namespace detail

// The mean of (prediction - target)^2, one number. Of no elements it is NaN.
inline void launch_mse_loss(float *output, const float *predictions, const float *targets, std::int64_t numel, hipStream_t stream) {
    detail::launch_loss("launch_mse_loss", agpu_ops_mse_loss, output, predictions, targets, numel, stream);
}

// The mean of -(target log(prediction) + (1 - target) log(1 - prediction)), one number, with logarithms of at least -100. Of no elements it is
// NaN.
inline void launch_bce_loss(float *output, const float *predictions, const float *targets, std::int64_t numel, hipStream_t stream) {
    detail::launch_loss("launch_bce_loss", agpu_ops_bce_loss, output, predictions, targets, numel, stream);
}

// The mean over N rows of -log(softmax(row of C logits)[target]), one number. Targets are from 0 to C - 1; rows whose target is -100 do not
// count. Of no rows it is NaN. Waits for the targets.
inline void launch_cross_entropy_loss(float *output, const float *logits, const std::int32_t *targets, std::int64_t N, std::int64_t C,
                                      hipStream_t stream) {
    const char *const function = "launch_cross_entropy_loss";
    detail::require_at_least(N, 0, function, "N");
    detail::require_at_least(C, 1, function, "C");
    const detail::Loss work(function, output, stream);
    const detail::Array x = work.at(function, "logits", logits, "float32", {N, C});
    const detail::Array classes = work.at(function, "targets", targets, "int32", {N});
    work.compute([&](const agpu_ops_loss_options *options, agpu_array *result) {
        return agpu_ops_cross_entropy_loss(x.get(), classes.get(), options, result);
    });
}

}  // namespace rocm
}  // namespace amdgpu

#endif
