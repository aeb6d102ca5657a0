// amdgpu/ops.hpp: operations on arrays for C++20, a part of amdgpu.hpp. The rules of amdgpu/ops.h hold.
#ifndef AMDGPU_OPS_HPP
#define AMDGPU_OPS_HPP

#include "amdgpu.hpp"

namespace amdgpu {

// (along rows, along columns)
using Pair = std::array<std::int64_t, 2>;
using Shape4 = std::array<std::int64_t, 4>;
// (along depth, along rows, along columns)
using Triple = std::array<std::int64_t, 3>;

struct ReduceOptions {
    std::vector<std::int64_t> axes{};
    bool keeps_axes = false;
    double correction = 0;
    Array out{};
    std::optional<std::string> dtype{};
};

struct MatmulOptions {
    Array out{}, bias{}, residual{};
    std::optional<std::string> activation{}, precision{};
    bool transpose_a = false, transpose_b = false;
    double alpha = 1, beta = 0;
};

// Without axes the last one; without epsilon that of the operation.
struct NormalizeOptions {
    Array scale{}, shift{};
    std::vector<std::int64_t> axes{};
    std::optional<double> epsilon{};
    Array out{};

    agpu_ops_normalize_options to_c() const {
        return {sizeof(agpu_ops_normalize_options), out.get(),   scale.get(),           shift.get(),
                axes.empty() ? nullptr : axes.data(), axes.size(), epsilon.value_or(0), epsilon ? 1U : 0U, 0};
    }
};

struct BatchNormOptions {
    Array weight{}, bias{};
    std::optional<double> epsilon{};

    agpu_ops_batch_norm_options to_c() const {
        agpu_ops_batch_norm_options made = AGPU_OPS_BATCH_NORM_OPTIONS_INIT;
        made.weight = weight.get();
        made.bias = bias.get();
        made.epsilon = epsilon.value_or(0);
        made.has_epsilon = epsilon ? 1U : 0U;
        return made;
    }
};

struct Conv2dOptions {
    Array bias{};
    Pair stride{1, 1}, padding{0, 0}, dilation{1, 1};
    std::int64_t groups = 1;
    std::optional<std::string> layout{}, precision{};
    Array out{};
    std::int64_t stride_depth = 1, padding_depth = 0, dilation_depth = 1;
    Triple output_padding{0, 0, 0};
    bool pads_same = false;

    agpu_ops_conv2d_options to_c() const {
        return {sizeof(agpu_ops_conv2d_options), out.get(),
                bias.get(),                      {stride[0], stride[1]},
                {padding[0], padding[1]},        {dilation[0], dilation[1]},
                groups,                          layout ? layout->c_str() : nullptr,
                precision ? precision->c_str() : nullptr,
                stride_depth,                    padding_depth,
                dilation_depth,                  {output_padding[0], output_padding[1], output_padding[2]},
                pads_same ? 1U : 0U,             0};
    }
};

// Without stride that of the window.
struct PoolOptions {
    Pair window{};
    std::optional<Pair> stride{};
    Pair padding{0, 0}, dilation{1, 1};
    std::optional<std::string> layout{};
    bool excludes_padding = false;
    Array out{};
    std::int64_t window_depth = 0, stride_depth = 0, padding_depth = 0, dilation_depth = 1;
    // Of adaptive pooling; 0 is the extent of the images.
    Triple output_size{0, 0, 0};
    // 0 divides sums by the number of values.
    std::int64_t divisor_override = 0;
    bool ceil_mode = false;

    agpu_ops_pool_options to_c() const {
        const Pair step = stride.value_or(window);
        return {sizeof(agpu_ops_pool_options), out.get(),
                {window[0], window[1]},        {step[0], step[1]},
                {padding[0], padding[1]},      {dilation[0], dilation[1]},
                layout ? layout->c_str() : nullptr, excludes_padding ? 1U : 0U,
                0,                             window_depth,
                stride_depth,                  padding_depth,
                dilation_depth,                {output_size[0], output_size[1], output_size[2]},
                divisor_override,              ceil_mode ? 1U : 0U,
                0};
    }
};

struct LossOptions {
    Array weight{};
    std::optional<std::string> reduction{};
    double label_smoothing = 0;
    std::optional<std::int64_t> ignored_class{};
    bool with_logits = false;

    agpu_ops_loss_options to_c() const {
        return {sizeof(agpu_ops_loss_options), weight.get(),           reduction ? reduction->c_str() : nullptr, label_smoothing,
                ignored_class.value_or(0),     ignored_class ? 1U : 0U, with_logits ? 1U : 0U};
    }
};

// Without scale one over the root of the size of a query.
struct AttentionOptions {
    Array mask{};
    std::optional<double> scale{};
    bool is_causal = false;

    agpu_ops_attention_options to_c() const {
        return {sizeof(agpu_ops_attention_options), mask.get(), scale.value_or(0), scale ? 1U : 0U, is_causal ? 1U : 0U};
    }
};

struct AttentionGradients {
    Array by_q{}, by_k{}, by_v{};
};

struct GeamOptions {
    double alpha = 1, beta = 1;
    bool transpose_a = false, transpose_b = false;
    Array out{};
};

// Functions of amdgpu/ops.h.
namespace ops {

namespace detail {

// Calls a function with a place for its result.
template <typename Call>
Array made(Call &&call) {
    agpu_array result = nullptr;
    check(call(&result));
    return Array(result);
}

inline agpu_ops_options with_out(const Array &out) { return {sizeof(agpu_ops_options), out.get()}; }

}  // namespace detail

inline Array elementwise(const std::string &operation, std::initializer_list<Array> inputs, double alpha = 0, const Array &out = {}) {
    std::vector<agpu_array> handles;
    for (const Array &input : inputs) handles.push_back(input.get());
    const agpu_ops_elementwise_options options = {sizeof(agpu_ops_elementwise_options), out.get(), alpha};
    return detail::made([&](agpu_array *result) {
        return agpu_ops_elementwise(operation.c_str(), handles.data(), handles.size(), &options, result);
    });
}

inline Array cast(const Array &x, const std::string &dtype) {
    return detail::made([&](agpu_array *result) { return agpu_ops_cast(x.get(), dtype.c_str(), result); });
}

inline Array reduce(const std::string &operation, const Array &x, const ReduceOptions &options = {}) {
    const agpu_ops_reduce_options c_options = {
        sizeof(agpu_ops_reduce_options), options.out.get(),    options.axes.data(), options.axes.size(), options.correction,
        options.keeps_axes ? 1U : 0U,    0,                    or_null(options.dtype),
    };
    return detail::made([&](agpu_array *result) { return agpu_ops_reduce(operation.c_str(), x.get(), &c_options, result); });
}

// "cumsum", "cumprod", "cummax", "cummin", "cumulative_any", "cumulative_all".
inline Array scan(const std::string &operation, const Array &x, std::int64_t axis = -1, const Array &out = {}, bool is_exclusive = false,
                  bool is_reversed = false) {
    const agpu_ops_scan_options options = {sizeof(agpu_ops_scan_options), out.get(), is_exclusive ? 1U : 0U, is_reversed ? 1U : 0U};
    return detail::made([&](agpu_array *result) { return agpu_ops_scan(operation.c_str(), x.get(), axis, &options, result); });
}

struct CumulativeBest {
    Array values, indices;
};

inline CumulativeBest cumulative_best(const std::string &operation, const Array &x, std::int64_t axis = -1) {
    agpu_array values = nullptr, indices = nullptr;
    check(agpu_ops_cumulative_best(operation.c_str(), x.get(), axis, &values, &indices));
    return {Array(values), Array(indices)};
}

inline Array masked_select(const Array &x, const Array &mask) {
    return detail::made([&](agpu_array *result) { return agpu_ops_masked_select(x.get(), mask.get(), result); });
}

// The rows of each of `count` segments joined: "sum", "prod", "mean", "amax", "amin".
inline Array segment_reduce(const std::string &reduce, const Array &x, const Array &segments, std::int64_t count, std::int64_t axis = 0) {
    const agpu_ops_segment_options options = {sizeof(agpu_ops_segment_options), axis, count, 0, 0};
    return detail::made([&](agpu_array *result) { return agpu_ops_segment_reduce(reduce.c_str(), x.get(), segments.get(), &options, result); });
}

// With segments that are given by where each begins, and where the last one ends.
inline Array segment_reduce_offsets(const std::string &reduce, const Array &x, const Array &offsets, std::int64_t axis = 0) {
    const agpu_ops_segment_options options = {sizeof(agpu_ops_segment_options), axis, 0, 1, 0};
    return detail::made([&](agpu_array *result) { return agpu_ops_segment_reduce(reduce.c_str(), x.get(), offsets.get(), &options, result); });
}

inline Array index_add(const Array &x, std::int64_t axis, const Array &indices, const Array &values) {
    return detail::made([&](agpu_array *result) { return agpu_ops_index_add(x.get(), axis, indices.get(), values.get(), result); });
}

inline Array scatter_reduce(const std::string &reduce, const Array &x, std::int64_t axis, const Array &indices, const Array &values,
                            bool includes_self = true) {
    const agpu_ops_scatter_reduce_options options = {sizeof(agpu_ops_scatter_reduce_options), includes_self ? 0U : 1U, 0};
    return detail::made([&](agpu_array *result) {
        return agpu_ops_scatter_reduce(reduce.c_str(), x.get(), axis, indices.get(), values.get(), &options, result);
    });
}

struct TopK {
    Array values, indices;
};

inline TopK top_k(const Array &x, std::int64_t k, std::int64_t axis = -1, bool is_smallest = false) {
    const agpu_ops_top_k_options options = {sizeof(agpu_ops_top_k_options), is_smallest ? 1U : 0U, 0};
    agpu_array values = nullptr, indices = nullptr;
    check(agpu_ops_top_k(x.get(), k, axis, &options, &values, &indices));
    return {Array(values), Array(indices)};
}

inline Array nonzero(const Array &x) {
    return detail::made([&](agpu_array *result) { return agpu_ops_nonzero(x.get(), result); });
}

struct Sorted {
    Array values, indices;
};

inline Sorted sort(const Array &x, std::int64_t axis = -1, bool is_descending = false) {
    const agpu_ops_sort_options options = {sizeof(agpu_ops_sort_options), is_descending ? 1U : 0U, 0};
    agpu_array values = nullptr, indices = nullptr;
    check(agpu_ops_sort(x.get(), axis, &options, &values, &indices));
    return {Array(values), Array(indices)};
}

// operation(inputs...) of memory at addresses and numbers, with the result at `out`; no arrays are made. "cast" converts its one input.
inline void elementwise_at(const Device &device, const std::string &operation, const std::vector<agpu_operand> &inputs, const agpu_operand &out,
                           double alpha = 0) {
    check(agpu_ops_elementwise_at(device.get(), operation.c_str(), inputs.data(), inputs.size(), alpha, &out));
}

// The last of several elementwise steps of memory at addresses, with the result at `out`.
inline void fused_at(const Device &device, const std::string &steps, const std::vector<agpu_operand> &inputs, const agpu_operand &out) {
    check(agpu_ops_fused_at(device.get(), steps.c_str(), inputs.data(), inputs.size(), &out));
}

// a @ b of memory at addresses, with the result at `out`; no arrays are made.
inline void matmul_at(const Device &device, const agpu_operand &a, const agpu_operand &b, const agpu_operand &out) {
    check(agpu_ops_matmul_at(device.get(), &a, &b, nullptr, nullptr, &out));
}

// An operation for all items by one launch; without numbers each item has its own.
inline void list_at(const Device &device, const std::string &operation, const std::vector<const char *> &dtypes, const std::vector<agpu_list_item> &items,
                    const std::vector<double> &numbers = {}) {
    check(agpu_ops_list_at(device.get(), operation.c_str(), dtypes.data(), items.data(), items.size(), numbers.empty() ? nullptr : numbers.data(),
                           numbers.size()));
}

// The elements at arrays of indices, one for each of the axes.
inline Array pick(const Array &x, const std::vector<std::int64_t> &axes, const std::vector<Array> &indices) {
    std::vector<agpu_array> given;
    for (const Array &one : indices) given.push_back(one.get());
    given.resize(axes.size(), nullptr);
    return detail::made([&](agpu_array *result) { return agpu_ops_pick(x.get(), axes.data(), given.data(), axes.size(), result); });
}

// Values to the elements that pick reads: "assign", "add", "multiply", "maximum", "minimum".
inline void put(const Array &x, const std::vector<std::int64_t> &axes, const std::vector<Array> &indices, const Array &values,
                const std::string &how = "assign") {
    std::vector<agpu_array> given;
    for (const Array &one : indices) given.push_back(one.get());
    given.resize(axes.size(), nullptr);
    check(agpu_ops_put(x.get(), axes.data(), given.data(), axes.size(), values.get(), how.c_str()));
}

inline Array matmul(const Array &a, const Array &b, const MatmulOptions &options = {}) {
    const agpu_ops_matmul_options c_options = {
        sizeof(agpu_ops_matmul_options),  options.out.get(),           options.bias.get(),           options.residual.get(),
        or_null(options.activation),  or_null(options.precision),  options.alpha,                options.beta,
        1,                            options.transpose_a ? 1U : 0U, options.transpose_b ? 1U : 0U, 0,
    };
    return detail::made([&](agpu_array *result) { return agpu_ops_matmul(a.get(), b.get(), &c_options, result); });
}

inline Array normalize(const std::string &operation, const Array &x, const NormalizeOptions &options = {}) {
    const agpu_ops_normalize_options c_options = options.to_c();
    return detail::made([&](agpu_array *result) { return agpu_ops_normalize(operation.c_str(), x.get(), &c_options, result); });
}

// By the argument; of layer_norm and rms_norm also by the scale, of layer_norm by the shift.
struct NormalizeGradients {
    Array by_x, by_scale, by_shift;
};

inline NormalizeGradients normalize_gradient(const std::string &operation, const Array &x, const Array &gradient,
                                             const NormalizeOptions &options = {}) {
    const agpu_ops_normalize_options c_options = options.to_c();
    const bool is_layer_norm = operation == "layer_norm", has_scale = is_layer_norm || operation == "rms_norm";
    agpu_array by_x = nullptr, by_scale = nullptr, by_shift = nullptr;
    check(agpu_ops_normalize_gradient(operation.c_str(), x.get(), gradient.get(), &c_options, &by_x, has_scale ? &by_scale : nullptr,
                                      is_layer_norm ? &by_shift : nullptr));
    return {Array(by_x), Array(by_scale), Array(by_shift)};
}

// Layer norm of memory at addresses with what training keeps; scale and shift may be nullptr.
inline void layer_norm_training_at(const Device &device, const agpu_operand &x, const agpu_operand *scale, const agpu_operand *shift,
                                   std::uint64_t row_axes, double epsilon, const agpu_operand &result, const agpu_operand &mean,
                                   const agpu_operand &inverse) {
    check(agpu_ops_layer_norm_training_at(device.get(), &x, scale, shift, row_axes, epsilon, &result, &mean, &inverse));
}

// Its gradients; those that are nullptr are not computed.
inline void layer_norm_training_gradient_at(const Device &device, const agpu_operand &x, const agpu_operand &gradient, const agpu_operand &mean,
                                            const agpu_operand &inverse, const agpu_operand *scale, std::uint64_t row_axes, const agpu_operand *by_x,
                                            const agpu_operand *by_scale, const agpu_operand *by_shift) {
    check(agpu_ops_layer_norm_training_gradient_at(device.get(), &x, &gradient, &mean, &inverse, scale, row_axes, by_x, by_scale, by_shift));
}

inline Array batch_norm(const Array &x, const Array &mean, const Array &variance, const BatchNormOptions &options = {},
                        std::int64_t channel_axis = 1) {
    const agpu_ops_batch_norm_options c_options = options.to_c();
    return detail::made([&](agpu_array *result) {
        return agpu_ops_batch_norm(x.get(), mean.get(), variance.get(), channel_axis, &c_options, result);
    });
}

struct BatchNormResult {
    Array result, mean, variance;
};

inline BatchNormResult batch_norm_training(const Array &x, const BatchNormOptions &options = {}, std::int64_t channel_axis = 1) {
    const agpu_ops_batch_norm_options c_options = options.to_c();
    agpu_array result = nullptr, mean = nullptr, variance = nullptr;
    check(agpu_ops_batch_norm_training(x.get(), channel_axis, &c_options, &result, &mean, &variance));
    return {Array(result), Array(mean), Array(variance)};
}

struct BatchNormGradients {
    Array by_x, by_weight, by_bias;
};

inline BatchNormGradients batch_norm_gradient(const Array &x, const Array &gradient, const BatchNormOptions &options = {},
                                              std::int64_t channel_axis = 1) {
    const agpu_ops_batch_norm_options c_options = options.to_c();
    agpu_array by_x = nullptr, by_weight = nullptr, by_bias = nullptr;
    check(agpu_ops_batch_norm_gradient(x.get(), gradient.get(), channel_axis, &c_options, &by_x, &by_weight, &by_bias));
    return {Array(by_x), Array(by_weight), Array(by_bias)};
}

inline Array conv2d(const Array &x, const Array &weight, const Conv2dOptions &options = {}) {
    const agpu_ops_conv2d_options c_options = options.to_c();
    return detail::made([&](agpu_array *result) { return agpu_ops_conv2d(x.get(), weight.get(), &c_options, result); });
}

// By the images, which have this shape.
inline Array conv2d_input_gradient(const Array &gradient, const Array &weight, const Shape4 &shape, const Conv2dOptions &options = {}) {
    const agpu_ops_conv2d_options c_options = options.to_c();
    return detail::made([&](agpu_array *result) {
        return agpu_ops_conv2d_input_gradient(gradient.get(), weight.get(), shape.data(), &c_options, result);
    });
}

// By the weights, which have this shape.
inline Array conv2d_weight_gradient(const Array &x, const Array &gradient, const Shape4 &shape, const Conv2dOptions &options = {}) {
    const agpu_ops_conv2d_options c_options = options.to_c();
    return detail::made([&](agpu_array *result) {
        return agpu_ops_conv2d_weight_gradient(x.get(), gradient.get(), shape.data(), &c_options, result);
    });
}

// "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d" or "conv_transpose3d".
inline Array convolve(const std::string &operation, const Array &x, const Array &weight, const Conv2dOptions &options = {}) {
    const agpu_ops_conv2d_options c_options = options.to_c();
    return detail::made(
        [&](agpu_array *result) { return agpu_ops_convolve(operation.c_str(), x.get(), weight.get(), &c_options, result); });
}

// By the images, which have this shape.
inline Array convolve_input_gradient(const std::string &operation, const Array &gradient, const Array &weight,
                                     const std::vector<std::int64_t> &shape, const Conv2dOptions &options = {}) {
    const agpu_ops_conv2d_options c_options = options.to_c();
    return detail::made([&](agpu_array *result) {
        return agpu_ops_convolve_input_gradient(operation.c_str(), gradient.get(), weight.get(), static_cast<std::uint32_t>(shape.size()), shape.data(), &c_options, result);
    });
}

// By the weights, which have this shape.
inline Array convolve_weight_gradient(const std::string &operation, const Array &x, const Array &gradient,
                                      const std::vector<std::int64_t> &shape, const Conv2dOptions &options = {}) {
    const agpu_ops_conv2d_options c_options = options.to_c();
    return detail::made([&](agpu_array *result) {
        return agpu_ops_convolve_weight_gradient(operation.c_str(), x.get(), gradient.get(), static_cast<std::uint32_t>(shape.size()), shape.data(), &c_options, result);
    });
}

// "max_pool2d", "avg_pool2d", "adaptive_max_pool2d" or "adaptive_avg_pool2d", or the same of one or three axes.
inline Array pool(const std::string &operation, const Array &x, const PoolOptions &options) {
    const agpu_ops_pool_options c_options = options.to_c();
    return detail::made([&](agpu_array *result) { return agpu_ops_pool(operation.c_str(), x.get(), &c_options, result); });
}

inline Array pool_gradient(const std::string &operation, const Array &x, const Array &gradient, const PoolOptions &options) {
    const agpu_ops_pool_options c_options = options.to_c();
    return detail::made([&](agpu_array *result) {
        return agpu_ops_pool_gradient(operation.c_str(), x.get(), gradient.get(), &c_options, result);
    });
}

struct PoolWithIndices {
    Array values, indices;
};

inline PoolWithIndices pool_with_indices(const std::string &operation, const Array &x, const PoolOptions &options) {
    const agpu_ops_pool_options c_options = options.to_c();
    agpu_array values = nullptr, indices = nullptr;
    check(agpu_ops_pool_with_indices(operation.c_str(), x.get(), &c_options, &values, &indices));
    return {Array(values), Array(indices)};
}

// By the images, which have this shape.
inline Array pool_indices_gradient(const std::string &operation, const Array &gradient, const Array &indices,
                                   const std::vector<std::int64_t> &shape, const PoolOptions &options) {
    const agpu_ops_pool_options c_options = options.to_c();
    return detail::made([&](agpu_array *result) {
        return agpu_ops_pool_indices_gradient(operation.c_str(), gradient.get(), indices.get(), static_cast<std::uint32_t>(shape.size()), shape.data(), &c_options, result);
    });
}

// Images of this shape.
inline Array max_unpool(const Array &x, const Array &indices, const std::vector<std::int64_t> &shape, const PoolOptions &options = {}) {
    const agpu_ops_pool_options c_options = options.to_c();
    return detail::made(
        [&](agpu_array *result) { return agpu_ops_max_unpool(x.get(), indices.get(), static_cast<std::uint32_t>(shape.size()), shape.data(), &c_options, result); });
}

// Index checks of the calling thread on GPUs are left to `check_indices` for as long as this lives.
class DeferredIndexChecks {
public:
    DeferredIndexChecks() { check(agpu_ops_defer_index_checks(true, &before_)); }
    ~DeferredIndexChecks() { (void)agpu_ops_defer_index_checks(before_, nullptr); }
    DeferredIndexChecks(const DeferredIndexChecks &) = delete;
    DeferredIndexChecks &operator=(const DeferredIndexChecks &) = delete;

private:
    bool before_ = false;
};

inline void check_indices(const Device &device) { check(agpu_ops_check_indices(device.get())); }

inline Array embedding(const Array &indices, const Array &table, const Array &out = {}) {
    const agpu_ops_options options = detail::with_out(out);
    return detail::made([&](agpu_array *result) { return agpu_ops_embedding(indices.get(), table.get(), &options, result); });
}

inline Array embedding_gradient(const Array &gradient, const Array &indices, std::int64_t rows,
                                std::optional<std::int64_t> padding_index = std::nullopt, bool scales_by_frequency = false) {
    const agpu_ops_embedding_gradient_options options = {sizeof(agpu_ops_embedding_gradient_options), padding_index.value_or(0),
                                                         padding_index ? 1U : 0U, scales_by_frequency ? 1U : 0U};
    return detail::made([&](agpu_array *result) {
        return agpu_ops_embedding_gradient(gradient.get(), indices.get(), rows, &options, result);
    });
}

inline Array mse_loss(const Array &x, const Array &target, const LossOptions &options = {}) {
    const agpu_ops_loss_options c_options = options.to_c();
    return detail::made([&](agpu_array *result) { return agpu_ops_mse_loss(x.get(), target.get(), &c_options, result); });
}

inline Array mse_loss_gradient(const Array &x, const Array &target, const Array &gradient, const LossOptions &options = {}) {
    const agpu_ops_loss_options c_options = options.to_c();
    return detail::made([&](agpu_array *result) {
        return agpu_ops_mse_loss_gradient(x.get(), target.get(), gradient.get(), &c_options, result);
    });
}

inline Array bce_loss(const Array &x, const Array &target, const LossOptions &options = {}) {
    const agpu_ops_loss_options c_options = options.to_c();
    return detail::made([&](agpu_array *result) { return agpu_ops_bce_loss(x.get(), target.get(), &c_options, result); });
}

inline Array bce_loss_gradient(const Array &x, const Array &target, const Array &gradient, const LossOptions &options = {}) {
    const agpu_ops_loss_options c_options = options.to_c();
    return detail::made([&](agpu_array *result) {
        return agpu_ops_bce_loss_gradient(x.get(), target.get(), gradient.get(), &c_options, result);
    });
}

inline Array cross_entropy_loss(const Array &x, const Array &target, const LossOptions &options = {}) {
    const agpu_ops_loss_options c_options = options.to_c();
    return detail::made([&](agpu_array *result) { return agpu_ops_cross_entropy_loss(x.get(), target.get(), &c_options, result); });
}

inline Array cross_entropy_loss_gradient(const Array &x, const Array &target, const Array &gradient, const LossOptions &options = {}) {
    const agpu_ops_loss_options c_options = options.to_c();
    return detail::made([&](agpu_array *result) {
        return agpu_ops_cross_entropy_loss_gradient(x.get(), target.get(), gradient.get(), &c_options, result);
    });
}

inline Array nll_loss(const Array &x, const Array &target, const LossOptions &options = {}) {
    const agpu_ops_loss_options c_options = options.to_c();
    return detail::made([&](agpu_array *result) { return agpu_ops_nll_loss(x.get(), target.get(), &c_options, result); });
}

inline Array nll_loss_gradient(const Array &x, const Array &target, const Array &gradient, const LossOptions &options = {}) {
    const agpu_ops_loss_options c_options = options.to_c();
    return detail::made([&](agpu_array *result) {
        return agpu_ops_nll_loss_gradient(x.get(), target.get(), gradient.get(), &c_options, result);
    });
}

inline Array scaled_dot_product_attention(const Array &q, const Array &k, const Array &v, const AttentionOptions &options = {}) {
    const agpu_ops_attention_options c_options = options.to_c();
    return detail::made([&](agpu_array *result) {
        return agpu_ops_scaled_dot_product_attention(q.get(), k.get(), v.get(), &c_options, result);
    });
}

inline AttentionGradients scaled_dot_product_attention_gradient(const Array &q, const Array &k, const Array &v, const Array &gradient,
                                                                const AttentionOptions &options = {}) {
    const agpu_ops_attention_options c_options = options.to_c();
    agpu_array by_q = nullptr, by_k = nullptr, by_v = nullptr;
    check(agpu_ops_scaled_dot_product_attention_gradient(q.get(), k.get(), v.get(), gradient.get(), &c_options, &by_q, &by_k, &by_v));
    return {Array(by_q), Array(by_k), Array(by_v)};
}

// Attention of memory at addresses; the mask may be nullptr, and the options have none.
inline void scaled_dot_product_attention_at(const Device &device, const agpu_operand &q, const agpu_operand &k, const agpu_operand &v,
                                            const agpu_operand *mask, const agpu_operand &result, const AttentionOptions &options = {}) {
    const agpu_ops_attention_options c_options = options.to_c();
    check(agpu_ops_scaled_dot_product_attention_at(device.get(), &q, &k, &v, mask, &c_options, &result));
}

inline void scaled_dot_product_attention_gradient_at(const Device &device, const agpu_operand &q, const agpu_operand &k, const agpu_operand &v,
                                                     const agpu_operand *mask, const agpu_operand &gradient, const agpu_operand &by_q,
                                                     const agpu_operand &by_k, const agpu_operand &by_v, const AttentionOptions &options = {}) {
    const agpu_ops_attention_options c_options = options.to_c();
    check(agpu_ops_scaled_dot_product_attention_gradient_at(device.get(), &q, &k, &v, mask, &gradient, &c_options, &by_q, &by_k, &by_v));
}

inline Array geam(const Array &a, const Array &b, const GeamOptions &options = {}) {
    const agpu_ops_geam_options c_options = {sizeof(agpu_ops_geam_options), options.out.get(),
                                             options.alpha,                 options.beta,
                                             1U,                            options.transpose_a ? 1U : 0U,
                                             options.transpose_b ? 1U : 0U, 0U};
    return detail::made([&](agpu_array *result) { return agpu_ops_geam(a.get(), b.get(), &c_options, result); });
}

// Without axes they are reversed.
inline Array transpose(const Array &x, const std::vector<std::int64_t> &axes = {}, const Array &out = {}) {
    const agpu_ops_options options = detail::with_out(out);
    return detail::made([&](agpu_array *result) { return agpu_ops_transpose(x.get(), axes.data(), axes.size(), &options, result); });
}

inline Array contiguous(const Array &x, const Array &out = {}) {
    const agpu_ops_options options = detail::with_out(out);
    return detail::made([&](agpu_array *result) { return agpu_ops_contiguous(x.get(), &options, result); });
}

}  // namespace ops

}  // namespace amdgpu

#endif
