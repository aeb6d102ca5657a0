/* Losses, attention, sums of matrices, and gradients. */
#include "arrays.h"

#define SCALAR(device, value) array_of((device), "float32", 0, NULL, (value))

static void elements(agpu_device device) {
    const float values[2] = {1, 2}, targets[2] = {0, 4}, upper = 3, chances[2] = {0.5f, 0}, truths[2] = {1, 1}, factors[1] = {2};
    agpu_array x = ARRAY(device, "float32", values, 2), target = ARRAY(device, "float32", targets, 2), result = NULL;
    agpu_array gradient = SCALAR(device, &upper);
    agpu_ops_loss_options options = AGPU_OPS_LOSS_OPTIONS_INIT;
    const float mean[1] = {2.5f}, terms[2] = {1, 4}, slopes[2] = {3, -6};
    DO(agpu_ops_mse_loss(x, target, NULL, &result));
    CHECK_BYTES(result, "float32", mean);
    options.reduction = "none";
    DO(agpu_ops_mse_loss(x, target, &options, &result));
    CHECK_BYTES(result, "float32", terms);
    DO(agpu_ops_mse_loss_gradient(x, target, gradient, NULL, &result));
    CHECK_BYTES(result, "float32", slopes);
    DO(agpu_release(x));
    DO(agpu_release(target));
    x = ARRAY(device, "float32", chances, 2);
    target = ARRAY(device, "float32", truths, 2);
    options.weight = ARRAY(device, "float32", factors, 1);
    const double binary[2] = {2 * log(2), 200}, logits[1] = {log(1 + exp(-0.5)) + log(2)}, logit_slopes[2] = {3 * (1 / (1 + exp(-0.5)) - 1), -1.5};
    DO(agpu_ops_bce_loss(x, target, &options, &result));
    CHECK_NEAR(result, binary, 2);
    DO(agpu_release(options.weight));
    options.weight = NULL;
    options.reduction = "sum";
    options.with_logits = 1;
    DO(agpu_ops_bce_loss(x, target, &options, &result));
    CHECK_NEAR(result, logits, 1);
    DO(agpu_ops_bce_loss_gradient(x, target, gradient, &options, &result));
    CHECK_NEAR(result, logit_slopes, 2);
    DO(agpu_release(gradient));
    DO(agpu_release(target));
    DO(agpu_release(x));
}

static void classes(agpu_device device) {
    const float values[4] = {0, 0, 1, 1}, upper = 2;
    const int64_t labels[2] = {1, 7};
    const int32_t narrow[2] = {0, 1};
    agpu_array x = ARRAY(device, "float32", values, 2, 2), target = ARRAY(device, "int64", labels, 2), result = NULL;
    agpu_array gradient = SCALAR(device, &upper);
    agpu_ops_loss_options options = AGPU_OPS_LOSS_OPTIONS_INIT;
    options.has_ignored_class = 1;
    options.ignored_class = 7;
    const double mean[1] = {log(2)}, slopes[4] = {1, -1, 0, 0}, smoothed[1] = {log(2)};
    DO(agpu_ops_cross_entropy_loss(x, target, &options, &result));
    CHECK_NEAR(result, mean, 1);
    DO(agpu_ops_cross_entropy_loss_gradient(x, target, gradient, &options, &result));
    CHECK_NEAR(result, slopes, 4);
    options.label_smoothing = 0.5;
    DO(agpu_ops_cross_entropy_loss(x, target, &options, &result));
    CHECK_NEAR(result, smoothed, 1);
    REFUSED(agpu_ops_cross_entropy_loss(x, target, NULL, &result), AGPU_ERROR_INDEX_OUT_OF_RANGE, "class 7 at place 1 of the targets");
    DO(agpu_release(target));
    target = ARRAY(device, "int32", narrow, 2);
    const float likelihood[1] = {-0.5f}, likelihood_slopes[4] = {-1, 0, 0, -1};
    DO(agpu_ops_nll_loss(x, target, NULL, &result));
    CHECK_BYTES(result, "float32", likelihood);
    DO(agpu_ops_nll_loss_gradient(x, target, gradient, NULL, &result));
    CHECK_BYTES(result, "float32", likelihood_slopes);
    DO(agpu_release(gradient));
    DO(agpu_release(target));
    DO(agpu_release(x));
}

static void attention(agpu_device device) {
    const float queries[2] = {0, 0}, keys[2] = {1, 2}, values[2] = {4, 8}, upper[2] = {1, 1};
    const unsigned char seen[2] = {0, 1};
    agpu_array q = ARRAY(device, "float32", queries, 2, 1), k = ARRAY(device, "float32", keys, 2, 1), v = ARRAY(device, "float32", values, 2, 1);
    agpu_array gradient = ARRAY(device, "float32", upper, 2, 1), result = NULL, by_q = NULL, by_k = NULL, by_v = NULL;
    agpu_ops_attention_options options = AGPU_OPS_ATTENTION_OPTIONS_INIT;
    options.is_causal = 1;
    const float causal[2] = {4, 6}, masked[2] = {8, 8}, slopes_q[2] = {0, 2}, slopes_k[2] = {0, 0}, slopes_v[2] = {1.5f, 0.5f};
    DO(agpu_ops_scaled_dot_product_attention(q, k, v, &options, &result));
    CHECK_BYTES(result, "float32", causal);
    options.has_scale = 1;
    options.scale = 2;
    DO(agpu_ops_scaled_dot_product_attention_gradient(q, k, v, gradient, &options, &by_q, &by_k, &by_v));
    CHECK_BYTES(by_q, "float32", slopes_q);
    CHECK_BYTES(by_k, "float32", slopes_k);
    CHECK_BYTES(by_v, "float32", slopes_v);
    options.is_causal = 0;
    options.mask = ARRAY(device, "bool", seen, 2);
    DO(agpu_ops_scaled_dot_product_attention(q, k, v, &options, &result));
    CHECK_BYTES(result, "float32", masked);
    DO(agpu_release(options.mask));
    DO(agpu_release(gradient));
    DO(agpu_release(v));
    DO(agpu_release(k));
    DO(agpu_release(q));
}

static void sums(agpu_device device) {
    const double values[2] = {1, 2}, turned[2] = {10, 20}, plain[2] = {11, 22}, scaled[2] = {12, 24}, in_place[2] = {3, 6};
    agpu_array a = ARRAY(device, "float64", values, 1, 2), b = ARRAY(device, "float64", turned, 2, 1), result = NULL;
    agpu_ops_geam_options options = AGPU_OPS_GEAM_OPTIONS_INIT;
    options.transpose_b = 1;
    DO(agpu_ops_geam(a, b, &options, &result));
    CHECK_BYTES(result, "float64", plain);
    options.has_factors = 1;
    options.alpha = 2;
    options.beta = 1;
    DO(agpu_ops_geam(a, b, &options, &result));
    CHECK_BYTES(result, "float64", scaled);
    options.alpha = 3;
    options.beta = 0;
    options.out = a;
    DO(agpu_ops_geam(a, b, &options, &result));
    CHECK_BYTES(result, "float64", in_place);
    DO(agpu_release(b));
    DO(agpu_release(a));
}

int main(void) {
    agpu_device device = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    elements(device);
    classes(device);
    attention(device);
    sums(device);
    DO(agpu_release(device));
    check_no_handles();
    puts("ok");
    return 0;
}
