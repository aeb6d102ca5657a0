// amdgpu/rocm_dnn.hpp: a part of rocm.hpp. Operations of neural networks with the arguments of MIOpen.
#ifndef AMDGPU_ROCM_DNN_HPP
#define AMDGPU_ROCM_DNN_HPP

#include <algorithm>

#include "ops.h"
#include "rocm_device.hpp"

namespace amdgpu {
namespace rocm {

// Pairs are (along rows, along columns). Empty ones are: padding 0, stride 1, dilation 1.
struct ConvParams {
    std::vector<int> padding{};
    std::vector<int> stride{};
    std::vector<int> dilation{};
    int groups = 1;

    static ConvParams Conv2D(int pad_h, int pad_w, int stride_h = 1, int stride_w = 1, int dilation_h = 1, int dilation_w = 1, int groups = 1) {
        return {{pad_h, pad_w}, {stride_h, stride_w}, {dilation_h, dilation_w}, groups};
    }
};

// Pairs are (along rows, along columns). Empty ones are: padding 0, the stride of the window.
struct PoolParams {
    std::vector<int> kernel_size{};
    std::vector<int> padding{};
    std::vector<int> stride{};
    bool ceil_mode = false;  // a last window may reach beyond the padding, if it begins in the image or in the padding before it

    static PoolParams Pool2D(int kernel_h, int kernel_w, int pad_h = 0, int pad_w = 0, int stride_h = 1, int stride_w = 1) {
        return {{kernel_h, kernel_w}, {pad_h, pad_w}, {stride_h, stride_w}, false};
    }
};

struct BatchNormParams {
    double epsilon = 1e-5;
    double momentum = 0.1;  // share of the batch in the running statistics
    bool training = true;   // false: normalise by the running statistics, and leave them as they are
};

// Arrays are contiguous in row-major order, images NCHW. dtypes are Float32, Float64, Float16 and BFloat16. One thread at a time uses an
// instance. Throws std::invalid_argument for shapes, dtypes, parameters and pointers that cannot be.
class ROCmDNN {
public:
    // For the calling thread's current device. Throws std::runtime_error where there is none.
    ROCmDNN() : device_(detail::current_device()) {}
    ~ROCmDNN() = default;
    ROCmDNN(const ROCmDNN &) = delete;
    ROCmDNN &operator=(const ROCmDNN &) = delete;

    // The stream that later calls take their place in.
    void set_stream(hipStream_t stream) { stream_ = stream; }

    // Names the device that the instance works on; it is no handle for functions of libMIOpen.
    miopenHandle_t handle() const { return reinterpret_cast<miopenHandle_t>(device_); }

    // Images (batch, channels, rows, columns) convolved with weights (outputs, channels / groups, rows, columns). Kernels take what they need
    // beside the workspace, which may be NULL with size 0.
    void conv2d_forward(DType dtype, const std::vector<std::int64_t> &input_shape, const void *input,
                        const std::vector<std::int64_t> &weight_shape, const void *weight, const std::vector<std::int64_t> &output_shape,
                        void *output, const ConvParams &params, void *workspace, std::size_t workspace_size) {
        const char *const name = "conv2d_forward";
        const char *const type = float_name(name, dtype);
        agpu_ops_conv2d_options options = conv2d_options(name, input_shape, weight_shape, output_shape, params);
        check_workspace(name, workspace, workspace_size);
        if (is_empty(output_shape)) return;
        const detail::Array x = at(name, "input", input, type, input_shape), w = at(name, "weight", weight, type, weight_shape);
        const detail::Array out = at(name, "output", output, type, output_shape);
        options.out = out.get();
        run([&](agpu_array *result) { return agpu_ops_conv2d(x.get(), w.get(), &options, result); });
    }

    // Bytes that `conv2d_forward` needs as its workspace: 0.
    std::size_t conv2d_forward_workspace_size(DType dtype, const std::vector<std::int64_t> &input_shape,
                                              const std::vector<std::int64_t> &weight_shape, const std::vector<std::int64_t> &output_shape,
                                              const ConvParams &params) {
        const char *const name = "conv2d_forward_workspace_size";
        float_name(name, dtype);
        conv2d_options(name, input_shape, weight_shape, output_shape, params);
        return 0;
    }

    // MAX_POOL2D, or AVG_POOL2D, whose averages are over the image alone, without its padding.
    void pooling2d_forward(ir::OpType pool_type, DType dtype, const std::vector<std::int64_t> &input_shape, const void *input,
                           const std::vector<std::int64_t> &output_shape, void *output, const PoolParams &params) {
        const char *const name = "pooling2d_forward";
        if (pool_type != ir::OpType::MAX_POOL2D && pool_type != ir::OpType::AVG_POOL2D)
            detail::refuse(std::string(name) + ": pool_type is " + ir::op_name(pool_type) + "; known are MAX_POOL2D, AVG_POOL2D");
        const char *const type = float_name(name, dtype);
        agpu_ops_pool_options options = pool_options(name, input_shape, output_shape, params);
        if (is_empty(output_shape)) return;
        const detail::Array x = at(name, "input", input, type, input_shape), out = at(name, "output", output, type, output_shape);
        options.out = out.get();
        run([&](agpu_array *result) { return agpu_ops_pool(ir::operation_name(pool_type), x.get(), &options, result); });
    }

    // Normalises each channel, the second axis, by its mean and variance in this batch, then scales and shifts it. Values of channels are
    // float64 for Float64, else float32. Statistics may be NULL: `running_mean` and `running_var` (unbiased) move by the momentum towards
    // those of the batch; `saved_mean` and `saved_inv_var` (1 / sqrt(variance + epsilon)) are for the gradient.
    void batchnorm_forward_training(DType dtype, const std::vector<std::int64_t> &shape, const void *input, void *output, const void *scale,
                                    const void *bias, void *running_mean, void *running_var, void *saved_mean, void *saved_inv_var,
                                    const BatchNormParams &params) {
        const char *const name = "batchnorm_forward_training";
        if (!params.training) {
            batchnorm_forward_inference(dtype, shape, input, output, scale, bias, running_mean, running_var, params);
            return;
        }
        const BatchNorm norm(*this, name, dtype, shape, scale, bias, params);
        if (!(params.momentum >= 0 && params.momentum <= 1))
            detail::refuse(std::string(name) + ": momentum is " + std::to_string(params.momentum) + "; it is from 0 to 1");
        if ((running_mean == nullptr) != (running_var == nullptr))
            detail::refuse(std::string(name) + ": one of running_mean and running_var is NULL; pass both or none");
        if (is_empty(shape)) return;
        const detail::Array x = at(name, "input", input, norm.type, shape), out = at(name, "output", output, norm.type, shape);
        const detail::Ordered order(device_, stream_);
        agpu_array result = nullptr, mean = nullptr, variance = nullptr;
        detail::check(agpu_ops_batch_norm_training(x.get(), 1, &norm.options, &result, &mean, &variance));
        const detail::Array made(result), batch_mean(mean), batch_variance(variance);
        detail::check(agpu_array_copy(out.get(), made.get()));
        norm.save(saved_mean, batch_mean, saved_inv_var, batch_variance);
        norm.run_on(running_mean, batch_mean, running_var, batch_variance);
        order.done();
    }

    // Normalises each channel, the second axis, by statistics that were estimated before.
    void batchnorm_forward_inference(DType dtype, const std::vector<std::int64_t> &shape, const void *input, void *output, const void *scale,
                                     const void *bias, const void *running_mean, const void *running_var, const BatchNormParams &params) {
        const char *const name = "batchnorm_forward_inference";
        const BatchNorm norm(*this, name, dtype, shape, scale, bias, params);
        if (is_empty(shape)) return;
        const detail::Array x = at(name, "input", input, norm.type, shape), out = at(name, "output", output, norm.type, shape);
        const detail::Array mean = norm.channels("running_mean", running_mean), variance = norm.channels("running_var", running_var);
        const detail::Ordered order(device_, stream_);
        agpu_array result = nullptr;
        detail::check(agpu_ops_batch_norm(x.get(), mean.get(), variance.get(), 1, &norm.options, &result));
        const detail::Array made(result);
        detail::check(agpu_array_copy(out.get(), made.get()));
        order.done();
    }

    // RELU, SIGMOID, TANH, GELU, SILU, SOFTPLUS; LEAKY_RELU with slope `alpha` and ELU with scale `alpha`. The output may be the input.
    void activation_forward(ir::OpType activation_type, DType dtype, const std::vector<std::int64_t> &shape, const void *input, void *output,
                            float alpha = 0.0f) {
        const char *const name = "activation_forward";
        switch (activation_type) {
            case ir::OpType::RELU:
            case ir::OpType::LEAKY_RELU:
            case ir::OpType::SIGMOID:
            case ir::OpType::TANH:
            case ir::OpType::GELU:
            case ir::OpType::SILU:
            case ir::OpType::SOFTPLUS:
            case ir::OpType::ELU: break;
            default:
                detail::refuse(std::string(name) + ": activation_type is " + ir::op_name(activation_type) +
                               "; known are RELU, LEAKY_RELU, SIGMOID, TANH, GELU, SILU, SOFTPLUS, ELU");
        }
        const char *const type = float_name(name, dtype);
        check_shape(name, "shape", shape);
        if (is_empty(shape)) return;
        const detail::Array x = at(name, "input", input, type, shape), out = at(name, "output", output, type, shape);
        const agpu_array inputs[] = {x.get()};
        const agpu_ops_elementwise_options options = {sizeof(agpu_ops_elementwise_options), out.get(), static_cast<double>(alpha)};
        run([&](agpu_array *result) { return agpu_ops_elementwise(ir::operation_name(activation_type), inputs, 1, &options, result); });
    }

    // Along one axis, which counts from the end where it is negative. The output may be the input.
    void softmax_forward(DType dtype, const std::vector<std::int64_t> &shape, const void *input, void *output, int axis = -1,
                         bool log_softmax = false) {
        const char *const name = "softmax_forward";
        const char *const type = float_name(name, dtype);
        check_shape(name, "shape", shape);
        const std::int64_t axes[] = {resolved_axis(name, "axis", axis, shape)};
        if (is_empty(shape)) return;
        const detail::Array x = at(name, "input", input, type, shape), out = at(name, "output", output, type, shape);
        agpu_ops_normalize_options options = AGPU_OPS_NORMALIZE_OPTIONS_INIT;
        options.out = out.get();
        options.axes = axes;
        options.axis_count = 1;
        run([&](agpu_array *result) { return agpu_ops_normalize(log_softmax ? "log_softmax" : "softmax", x.get(), &options, result); });
    }

    // REDUCE_SUM, REDUCE_MEAN, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD over axes, over all where none are named. The output has the reduced axes with
    // extent 1, or not at all. The workspace may be NULL with size 0.
    void reduce(ir::OpType reduce_type, DType dtype, const std::vector<std::int64_t> &input_shape, const void *input,
                const std::vector<std::int64_t> &output_shape, void *output, const std::vector<int> &reduce_dims, void *workspace,
                std::size_t workspace_size) {
        const char *const name = "reduce";
        switch (reduce_type) {
            case ir::OpType::REDUCE_SUM:
            case ir::OpType::REDUCE_MEAN:
            case ir::OpType::REDUCE_MAX:
            case ir::OpType::REDUCE_MIN:
            case ir::OpType::REDUCE_PROD: break;
            default:
                detail::refuse(std::string(name) + ": reduce_type is " + ir::op_name(reduce_type) +
                               "; known are REDUCE_SUM, REDUCE_MEAN, REDUCE_MAX, REDUCE_MIN, REDUCE_PROD");
        }
        const char *const type = float_name(name, dtype);
        check_workspace(name, workspace, workspace_size);
        std::vector<std::int64_t> axes;
        const std::vector<std::int64_t> kept = reduced_shape(name, input_shape, output_shape, reduce_dims, axes);
        if (is_empty(output_shape)) return;
        // Without values there is nothing at the input's address.
        const detail::Array x = is_empty(input_shape) ? detail::array_at(device_, input, type, input_shape) : at(name, "input", input, type, input_shape);
        const detail::Array out = at(name, "output", output, type, kept);
        agpu_ops_reduce_options options = AGPU_OPS_REDUCE_OPTIONS_INIT;
        options.out = out.get();
        options.axes = axes.data();
        options.axis_count = axes.size();
        options.keeps_axes = 1;
        run([&](agpu_array *result) { return agpu_ops_reduce(ir::operation_name(reduce_type), x.get(), &options, result); });
    }

private:
    using Shape = std::vector<std::int64_t>;

    // What both batch norms have in common: parameters of channels, and what is computed with them.
    struct BatchNorm {
        const ROCmDNN &dnn;
        const char *name;
        const char *type;
        DType channel_type;
        std::int64_t count, values;
        double momentum, epsilon;
        detail::Array weight, bias;
        agpu_ops_batch_norm_options options;

        BatchNorm(const ROCmDNN &owner, const char *function, DType dtype, const Shape &shape, const void *scale, const void *shift,
                  const BatchNormParams &params)
            : dnn(owner), name(function), type(float_name(function, dtype)), channel_type(dtype == DType::Float64 ? dtype : DType::Float32),
              count(channel_count(function, shape)), values(product(shape) / std::max<std::int64_t>(count, 1)), momentum(params.momentum),
              epsilon(params.epsilon), weight(channels("scale", scale)), bias(channels("bias", shift)),
              options(AGPU_OPS_BATCH_NORM_OPTIONS_INIT) {
            options.weight = weight.get();
            options.bias = bias.get();
            options.epsilon = params.epsilon;
            options.has_epsilon = 1;
            if (!(epsilon >= 0)) detail::refuse(std::string(name) + ": epsilon is " + std::to_string(epsilon) + "; it is 0 or more");
        }

        static std::int64_t channel_count(const char *function, const Shape &shape) {
            check_shape(function, "shape", shape);
            if (shape.size() < 2) detail::refuse(std::string(function) + ": shape is " + detail::text_of(shape) + "; it has a batch and channels at least");
            return shape[1];
        }

        detail::Array channels(const char *what, const void *address) const {
            return dnn.at(name, what, address, dtype_name(channel_type), {count});
        }

        detail::Array compute(const char *operation, std::initializer_list<agpu_array> inputs, agpu_array out = nullptr) const {
            const agpu_ops_elementwise_options with_out = {sizeof(agpu_ops_elementwise_options), out, 0};
            agpu_array result = nullptr;
            detail::check(agpu_ops_elementwise(operation, inputs.begin(), inputs.size(), &with_out, &result));
            return detail::Array(result);
        }

        detail::Array number(double value) const { return detail::number(dnn.device_, value, channel_type); }

        void save(void *saved_mean, const detail::Array &mean, void *saved_inv_var, const detail::Array &variance) const {
            if (saved_mean != nullptr) detail::check(agpu_array_copy(channels("saved_mean", saved_mean).get(), mean.get()));
            if (saved_inv_var == nullptr) return;
            const detail::Array added = compute("add", {variance.get(), number(epsilon).get()}), root = compute("sqrt", {added.get()});
            compute("reciprocal", {root.get()}, channels("saved_inv_var", saved_inv_var).get());
        }

        void run_on(void *running_mean, const detail::Array &mean, void *running_var, const detail::Array &variance) const {
            if (running_mean == nullptr) return;
            // The variance of the batch is divided by the number of values, that of the running statistics by one less.
            const double unbiased = values > 1 ? static_cast<double>(values) / static_cast<double>(values - 1) : 1;
            move(channels("running_mean", running_mean), mean, momentum);
            move(channels("running_var", running_var), variance, momentum * unbiased);
        }

        void move(const detail::Array &running, const detail::Array &of_batch, double share) const {
            const detail::Array part = compute("multiply", {of_batch.get(), number(share).get()});
            const detail::Array rest = compute("multiply", {running.get(), number(1 - momentum).get()});
            compute("add", {rest.get(), part.get()}, running.get());
        }
    };

    static const char *float_name(const char *function, DType dtype) {
        switch (dtype) {
            case DType::Float32:
            case DType::Float64:
            case DType::Float16:
            case DType::BFloat16: return dtype_name(dtype);
            default: break;
        }
        detail::refuse(std::string(function) + ": dtype is " + dtype_name(dtype) + "; known are float32, float64, float16, bfloat16");
    }

    static std::int64_t product(const Shape &shape) {
        std::int64_t count = 1;
        for (const std::int64_t extent : shape) count *= extent;
        return count;
    }

    static bool is_empty(const Shape &shape) { return std::find(shape.begin(), shape.end(), 0) != shape.end(); }

    static void check_shape(const char *function, const char *name, const Shape &shape) {
        std::int64_t left = INT64_MAX;
        for (const std::int64_t extent : shape) {
            if (extent < 0) detail::refuse(std::string(function) + ": " + name + " is " + detail::text_of(shape) + "; extents are not negative");
            if (extent > left) detail::refuse(std::string(function) + ": " + name + " is " + detail::text_of(shape) + "; no memory is that large");
            left /= std::max<std::int64_t>(extent, 1);
        }
        if (shape.size() > AGPU_MAX_DIMENSIONS)
            detail::refuse(std::string(function) + ": " + name + " has " + std::to_string(shape.size()) + " axes; arrays have at most " +
                           std::to_string(AGPU_MAX_DIMENSIONS));
    }

    static void check_images(const char *function, const char *name, const Shape &shape) {
        check_shape(function, name, shape);
        if (shape.size() != 4) detail::refuse(std::string(function) + ": " + name + " is " + detail::text_of(shape) + "; it has four axes");
    }

    static void check_workspace(const char *function, const void *workspace, std::size_t workspace_size) {
        if (workspace == nullptr && workspace_size > 0)
            detail::refuse(std::string(function) + ": workspace is NULL and workspace_size is " + std::to_string(workspace_size) +
                           "; pass the address of as many bytes, or 0");
    }

    static std::int64_t resolved_axis(const char *function, const char *name, int axis, const Shape &shape) {
        const std::int64_t rank = static_cast<std::int64_t>(shape.size()), resolved = axis < 0 ? axis + rank : axis;
        if (resolved < 0 || resolved >= rank)
            detail::refuse(std::string(function) + ": " + name + " is " + std::to_string(axis) + "; the shape " + detail::text_of(shape) + " has " +
                           std::to_string(rank) + " axes");
        return resolved;
    }

    // A pair of a parameter, each `least` or more; `fallback` where it is empty.
    static void set_pair(std::int64_t (&to)[2], const char *function, const char *name, const std::vector<int> &pair, int fallback, int least) {
        if (!pair.empty() && pair.size() != 2)
            detail::refuse(std::string(function) + ": " + name + " has " + std::to_string(pair.size()) +
                           " numbers; it has two, along rows and along columns, or none");
        for (std::size_t i = 0; i < 2; i++) {
            to[i] = pair.empty() ? fallback : pair[i];
            detail::require_at_least(to[i], least, function, name);
        }
    }

    static void check_output(const char *function, const Shape &output_shape, const Shape &wanted) {
        check_shape(function, "output_shape", output_shape);
        if (output_shape != wanted)
            detail::refuse(std::string(function) + ": output_shape is " + detail::text_of(output_shape) + "; the other arguments give " +
                           detail::text_of(wanted));
    }

    static agpu_ops_conv2d_options conv2d_options(const char *function, const Shape &input, const Shape &weight, const Shape &output,
                                                  const ConvParams &params) {
        agpu_ops_conv2d_options options = AGPU_OPS_CONV2D_OPTIONS_INIT;
        set_pair(options.padding, function, "padding", params.padding, 0, 0);
        set_pair(options.stride, function, "stride", params.stride, 1, 1);
        set_pair(options.dilation, function, "dilation", params.dilation, 1, 1);
        detail::require_at_least(params.groups, 1, function, "groups");
        options.groups = params.groups;
        check_images(function, "input_shape", input);
        check_images(function, "weight_shape", weight);
        if (input[1] != weight[1] * params.groups || weight[0] % params.groups != 0)
            detail::refuse(std::string(function) + ": weight_shape is " + detail::text_of(weight) + " and groups is " +
                           std::to_string(params.groups) + "; the outputs divide into the groups, and each group takes its share of the " +
                           std::to_string(input[1]) + " channels of input_shape " + detail::text_of(input));
        Shape wanted = {input[0], weight[0], 0, 0};
        for (std::size_t i = 0; i < 2; i++) {
            const std::int64_t padded = input[2 + i] + 2 * options.padding[i], window = options.dilation[i] * (weight[2 + i] - 1) + 1;
            if (weight[2 + i] < 1 || window > padded)
                detail::refuse(std::string(function) + ": weights " + detail::text_of(weight) + " are larger than the padded images " +
                               detail::text_of(input));
            wanted[2 + i] = (padded - window) / options.stride[i] + 1;
        }
        check_output(function, output, wanted);
        return options;
    }

    static agpu_ops_pool_options pool_options(const char *function, const Shape &input, const Shape &output, const PoolParams &params) {
        agpu_ops_pool_options options = AGPU_OPS_POOL_OPTIONS_INIT;
        if (params.kernel_size.empty()) detail::refuse(std::string(function) + ": kernel_size is empty; it has two numbers, along rows and along columns");
        set_pair(options.window, function, "kernel_size", params.kernel_size, 1, 1);
        set_pair(options.padding, function, "padding", params.padding, 0, 0);
        set_pair(options.stride, function, "stride", params.stride.empty() ? params.kernel_size : params.stride, 1, 1);
        options.excludes_padding = 1;
        options.ceil_mode = params.ceil_mode ? 1 : 0;
        check_images(function, "input_shape", input);
        Shape wanted = {input[0], input[1], 0, 0};
        for (std::size_t i = 0; i < 2; i++) {
            const std::int64_t padded = input[2 + i] + 2 * options.padding[i];
            if (2 * options.padding[i] > options.window[i])
                detail::refuse(std::string(function) + ": padding is " + std::to_string(options.padding[i]) + "; it is at most half of the window, " +
                               std::to_string(options.window[i]));
            if (options.window[i] > padded)
                detail::refuse(std::string(function) + ": kernel_size is larger than the padded images " + detail::text_of(input));
            const std::int64_t rest = padded - options.window[i], step = options.stride[i];
            wanted[2 + i] = rest / step + 1;
            if (params.ceil_mode && rest % step != 0 && wanted[2 + i] * step < input[2 + i] + options.padding[i]) wanted[2 + i]++;
        }
        check_output(function, output, wanted);
        return options;
    }

    // The shape with reduced axes of extent 1; `axes` are those that are reduced.
    static Shape reduced_shape(const char *function, const Shape &input, const Shape &output, const std::vector<int> &reduce_dims, Shape &axes) {
        check_shape(function, "input_shape", input);
        std::vector<bool> is_reduced(input.size(), reduce_dims.empty());
        for (const int dim : reduce_dims) {
            const std::size_t axis = static_cast<std::size_t>(resolved_axis(function, "an axis of reduce_dims", dim, input));
            if (is_reduced[axis]) detail::refuse(std::string(function) + ": reduce_dims names axis " + std::to_string(axis) + " twice");
            is_reduced[axis] = true;
        }
        Shape kept = input, dropped;
        for (std::size_t axis = 0; axis < input.size(); axis++) {
            if (!is_reduced[axis]) {
                dropped.push_back(input[axis]);
                continue;
            }
            kept[axis] = 1;
            axes.push_back(static_cast<std::int64_t>(axis));
        }
        if (output != kept) check_output(function, output, dropped);
        return kept;
    }

    detail::Array at(const char *function, const char *name, const void *address, const char *type, const Shape &shape) const {
        if (!is_empty(shape)) detail::require(address, function, name);
        return detail::array_at(device_, address, type, shape);
    }

    // Calls an operation that writes to `out`, in the order of the stream.
    template <typename Call>
    void run(Call &&call) const {
        const detail::Ordered order(device_, stream_);
        agpu_array result = nullptr;
        detail::check(call(&result));
        detail::check(agpu_release(result));
        order.done();
    }

    agpu_device device_;
    hipStream_t stream_ = nullptr;
};

// An instance for the calling thread's current device: each thread has one for each device.
inline ROCmDNN &get_dnn() {
    thread_local std::map<agpu_device, ROCmDNN> instances;
    return instances[detail::current_device()];
}

}  // namespace rocm
}  // namespace amdgpu

#endif
