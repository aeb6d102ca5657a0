/* Layered networks on devices: forward passes of arrays, and training (amdgpu/network.h). */
#include "arrays.h"

#include <amdgpu/network.h>

static const char *const LINEAR =
    "neuralNetwork linear:\n"
    "  layer input(3, activation: identity)\n"
    "  layer output(2, activation: identity)\n"
    "  connect input -> output (weight: 0.5)\n";

static const char *const CLASSES =
    "neuralNetwork classes:\n"
    "  seed = 3\n"
    "  layer input(2)\n"
    "  layer hidden(8, activation: tanh)\n"
    "  layer output(2, activation: softmax)\n"
    "  connect input -> hidden\n"
    "  connect hidden -> output\n";

static const char *const STEPS =
    "neuralNetwork steps:\n"
    "  layer input(2)\n"
    "  layer hidden(4, activation: lif)\n"
    "  layer output(1, activation: identity)\n"
    "  connect input -> hidden\n"
    "  connect hidden -> output\n";

static const char *const HEBBIAN =
    "neuralNetwork rule:\n"
    "  layer input(2, activation: identity)\n"
    "  layer output(1, activation: identity)\n"
    "  connect input -> output (weight: 1)\n"
    "  plasticity hebbian(learning_rate: 0.5)\n";

static const float INPUT[6] = {1, 2, 3, 4, 5, 6};
/* Exclusive or. */
static const float CORNERS[8] = {0, 0, 0, 1, 1, 0, 1, 1};
static const uint32_t ODD[4] = {0, 1, 1, 0};

static agpu_network build(const char *text) {
    agpu_network network = NULL;
    DO(agpu_network_build(text, NULL, &network));
    return network;
}

static uint64_t parameters_of(agpu_network network) {
    agpu_network_facts facts = AGPU_NETWORK_FACTS_INIT;
    DO(agpu_network_info(network, &facts));
    return facts.parameters;
}

static void forward_of_arrays(agpu_device device) {
    agpu_network network = build(LINEAR);
    const float weights[6] = {0.5f, -1, 2, 0.25f, -0.125f, 3};
    DO(agpu_network_set_weights(network, "input -> output", weights, 6));
    float wanted[4], found[4];
    DO(agpu_network_forward(network, INPUT, 2, 1, wanted, 4));
    agpu_network_forward_options kernels = AGPU_NETWORK_FORWARD_OPTIONS_INIT;
    kernels.uses_kernels = 1;
    const agpu_network_forward_options *const options[2] = {NULL, &kernels};
    agpu_array x = ARRAY(device, "float32", INPUT, 2, 3), output = NULL;
    for (int i = 0; i < 2; i++) {
        DO(agpu_network_forward_array(network, x, options[i], &output));
        agpu_array_facts facts = AGPU_ARRAY_FACTS_INIT;
        DO(agpu_array_info(output, &facts));
        CHECK(facts.dimensions == 2 && facts.shape[0] == 2 && facts.shape[1] == 2 && strcmp(facts.dtype, "float32") == 0);
        CHECK(strcmp(facts.device, "cpu:0") == 0);
        DO(agpu_array_read(output, found, sizeof found));
        /* Products and sums of these numbers are exact. */
        CHECK(memcmp(found, wanted, sizeof wanted) == 0);
        DO(agpu_release(output));
    }
    /* One row, which lies with a gap between its values. */
    agpu_array spread = ARRAY(device, "float32", INPUT, 6), row = NULL;
    DO(agpu_array_view(spread, 1, (int64_t[]){3}, (int64_t[]){2}, &row));
    DO(agpu_network_forward_array(network, row, NULL, &output));
    DO(agpu_network_forward(network, (float[]){1, 3, 5}, 1, 1, wanted, 2));
    CHECK_BYTES(output, "float32", ((float[]){wanted[0], wanted[1]}));

    output = NULL;
    REFUSED(agpu_network_forward_array(network, spread, NULL, &output), AGPU_ERROR_SHAPE_MISMATCH, "the network takes (3,)");
    agpu_array whole = NULL;
    DO(agpu_ops_cast(x, "int32", &whole));
    REFUSED(agpu_network_forward_array(network, whole, NULL, &output), AGPU_ERROR_UNSUPPORTED_DTYPE, "x is int32");
    REFUSED(agpu_network_forward_array(network, NULL, NULL, &output), AGPU_ERROR_INVALID_HANDLE, "input");
    CHECK(output == NULL);
    DO(agpu_array_fill(x, &(float){NAN}, sizeof(float)));
    REFUSED(agpu_network_forward_array(network, x, NULL, &output), AGPU_ERROR_WEIGHTS_NOT_FINITE, "the input");
    REFUSED(agpu_network_forward_array(network, x, &kernels, &output), AGPU_ERROR_WEIGHTS_NOT_FINITE, "the input");
    const agpu_handle all[] = {whole, row, spread, x, network};
    for (int i = 0; i < 5; i++) DO(agpu_release(all[i]));
}

static void numbers(void) {
    agpu_network network = build(LINEAR);
    uint64_t needed = 99;
    float biases[2] = {0.5f, -1}, found[2] = {0}, output[2];
    DO(agpu_network_set_biases(network, "output", biases, 2));
    DO(agpu_network_biases(network, "output", NULL, 0, &needed));
    DO(agpu_network_biases(network, "output", found, 2, NULL));
    CHECK(needed == 2 && found[0] == 0.5f && found[1] == -1);
    DO(agpu_network_forward(network, INPUT, 1, 1, output, 2));
    CHECK(output[0] == 3.5f && output[1] == 2);
    REFUSED(agpu_network_biases(network, "absent", NULL, 0, &needed), AGPU_ERROR_INVALID_ARGUMENT, "absent");
    REFUSED(agpu_network_biases(network, "output", found, 1, NULL), AGPU_ERROR_SHAPE_MISMATCH, "there are 2");
    REFUSED(agpu_network_set_biases(network, "output", biases, 1), AGPU_ERROR_SHAPE_MISMATCH, "1 were given");
    REFUSED(agpu_network_hebbian_step(network, INPUT, 1, output, 2), AGPU_ERROR_INVALID_ARGUMENT, "has no plasticity");
    DO(agpu_release(network));

    network = build(HEBBIAN);
    float weights[2];
    DO(agpu_network_hebbian_step(network, (float[]){1, 2}, 1, output, 1));
    DO(agpu_network_weights(network, "input -> output", weights, 2, NULL, NULL));
    /* learning_rate * input * output is added to each weight; the output is of before. */
    CHECK(output[0] == 3 && weights[0] == 1 + 0.5f * 1 * 3 && weights[1] == 1 + 0.5f * 2 * 3);
    REFUSED(agpu_network_hebbian_step(network, INPUT, 1, output, 2), AGPU_ERROR_SHAPE_MISMATCH, "output has 2 values");
    DO(agpu_release(network));
}

/* One step by the gradient of the mean squared error, which for a linear network is 2 / outputs * (output - value) * input. */
static void one_step(agpu_device device, uint32_t uses_kernels) {
    agpu_network network = build(LINEAR);
    agpu_trainer_options options = AGPU_TRAINER_OPTIONS_INIT;
    options.device = device;
    options.optimizer = "sgd";
    options.uses_kernels = uses_kernels;
    agpu_trainer trainer = NULL;
    DO(agpu_trainer_create(network, &options, &trainer));
    agpu_trainer_facts facts = AGPU_TRAINER_FACTS_INIT;
    DO(agpu_trainer_info(trainer, &facts));
    CHECK(strcmp(facts.loss, "mean_squared_error") == 0 && facts.epochs == 0 && facts.state_count == 0);

    agpu_training_samples samples = AGPU_TRAINING_SAMPLES_INIT;
    const float values[2] = {1, 4};
    samples.x = INPUT;
    samples.values = values;
    samples.count = 1;
    agpu_training_report report = AGPU_TRAINING_REPORT_INIT;
    DO(agpu_trainer_evaluate(trainer, &samples, &report));
    /* Both outputs are 3. */
    CHECK(report.loss == (4 + 1) / 2.0 && isnan(report.accuracy) && report.samples == 1);
    float gradients[8], weights[6];
    const uint64_t count = parameters_of(network);
    CHECK(count == 6 || count == 8);
    DO(agpu_trainer_gradients(trainer, &samples, gradients, count, NULL));
    for (int i = 0; i < 6; i++) CHECK(gradients[i] == (i % 2 == 0 ? 2.0f : -1.0f) * INPUT[i / 2]);
    DO(agpu_trainer_epoch(trainer, &samples, 0.125, &report));
    CHECK(report.loss == 2.5);
    DO(agpu_network_weights(network, "input -> output", weights, 6, NULL, NULL));
    for (int i = 0; i < 6; i++) CHECK(weights[i] == 0.5f - 0.125f * gradients[i]);
    DO(agpu_trainer_info(trainer, &facts));
    CHECK(facts.epochs == 1 && facts.batches == 1);
    DO(agpu_release(network));
    DO(agpu_release(trainer));
}

static agpu_training_samples corners(void) {
    agpu_training_samples samples = AGPU_TRAINING_SAMPLES_INIT;
    samples.x = CORNERS;
    samples.labels = ODD;
    samples.count = 4;
    return samples;
}

/* Weights of the hidden layer after some epochs. */
static void learn(agpu_device device, uint32_t uses_kernels, int epochs, float weights[16], agpu_training_report *report) {
    agpu_network network = build(CLASSES);
    const agpu_optimizer_parameter parameters[1] = {{"beta_2", 0.99}};
    agpu_trainer_options options = AGPU_TRAINER_OPTIONS_INIT;
    options.device = device;
    options.uses_kernels = uses_kernels;
    options.parameters = parameters;
    options.parameter_count = 1;
    options.batch_size = 2;
    options.l2_penalty = 1e-4;
    agpu_trainer trainer = NULL;
    DO(agpu_trainer_create(network, &options, &trainer));
    agpu_training_samples samples = corners();
    for (int epoch = 0; epoch < epochs; epoch++) DO(agpu_trainer_epoch(trainer, &samples, 0.05, NULL));
    DO(agpu_trainer_evaluate(trainer, &samples, report));
    DO(agpu_network_weights(network, "input -> hidden", weights, 16, NULL, NULL));
    DO(agpu_release(trainer));
    DO(agpu_release(network));
}

static void learning(agpu_device device) {
    float weights[16], others[16];
    agpu_training_report report = AGPU_TRAINING_REPORT_INIT, other = AGPU_TRAINING_REPORT_INIT;
    learn(NULL, 0, 200, weights, &report);
    CHECK(report.accuracy == 1 && report.loss < 0.1 && report.samples == 4);
    learn(NULL, 0, 3, weights, &report);
    learn(device, 0, 3, others, &other);
    CHECK(memcmp(weights, others, sizeof weights) == 0 && report.loss == other.loss);
    learn(device, 1, 3, others, &other);
    for (int i = 0; i < 16; i++) CHECK(fabs(weights[i] - others[i]) < 1e-5);
    CHECK(fabs(report.loss - other.loss) < 1e-5 && report.accuracy == other.accuracy);
}

/* A training that is taken up by another trainer goes on with the same bits. */
static void going_on(void) {
    agpu_network networks[2] = {build(CLASSES), build(CLASSES)};
    agpu_trainer trainers[2] = {NULL, NULL};
    agpu_training_samples samples = corners();
    for (int i = 0; i < 2; i++) DO(agpu_trainer_create(networks[i], NULL, &trainers[i]));
    for (int epoch = 0; epoch < 3; epoch++) DO(agpu_trainer_epoch(trainers[0], &samples, 0.01, NULL));
    agpu_trainer_facts facts = AGPU_TRAINER_FACTS_INIT;
    DO(agpu_trainer_info(trainers[0], &facts));
    /* Two numbers of Adam for each of the network. */
    CHECK(facts.epochs == 3 && facts.batches == 3 && facts.state_count == 2 * parameters_of(networks[0]));
    float *state = calloc(facts.state_count, sizeof *state);
    DO(agpu_trainer_state(trainers[0], state, facts.state_count));
    REFUSED(agpu_trainer_state(trainers[0], state, 1), AGPU_ERROR_SHAPE_MISMATCH, "values has 1 values");
    const char *const connections[2] = {"input -> hidden", "hidden -> output"}, *const layers[2] = {"hidden", "output"};
    float values[16];
    for (int i = 0; i < 2; i++) {
        uint64_t count = 0;
        DO(agpu_network_weights(networks[0], connections[i], values, 16, NULL, NULL));
        DO(agpu_network_set_weights(networks[1], connections[i], values, 16));
        DO(agpu_network_biases(networks[0], layers[i], NULL, 0, &count));
        DO(agpu_network_biases(networks[0], layers[i], values, count, NULL));
        if (count > 0) DO(agpu_network_set_biases(networks[1], layers[i], values, count));
    }
    REFUSED(agpu_trainer_restore(trainers[1], state, 3, 3, 3), AGPU_ERROR_SHAPE_MISMATCH, "values has 3 values");
    REFUSED(agpu_trainer_restore(trainers[1], state, facts.state_count, UINT64_MAX, 3), AGPU_ERROR_INVALID_ARGUMENT, "epochs is");
    DO(agpu_trainer_restore(trainers[1], state, facts.state_count, facts.epochs, facts.batches));
    float weights[2][16];
    for (int i = 0; i < 2; i++) {
        DO(agpu_trainer_epoch(trainers[i], &samples, 0.01, NULL));
        DO(agpu_network_weights(networks[i], "input -> hidden", weights[i], 16, NULL, NULL));
        DO(agpu_release(trainers[i]));
        DO(agpu_release(networks[i]));
    }
    CHECK(memcmp(weights[0], weights[1], sizeof weights[0]) == 0);
    free(state);
}

static void samples_with_steps(void) {
    agpu_network network = build(STEPS);
    agpu_trainer_options options = AGPU_TRAINER_OPTIONS_INIT;
    options.steps = 2;
    agpu_trainer trainer = NULL;
    DO(agpu_trainer_create(network, &options, &trainer));
    agpu_training_samples samples = AGPU_TRAINING_SAMPLES_INIT;
    const float values[2] = {0, 1};
    samples.x = CORNERS;
    samples.values = values;
    samples.count = 2;
    agpu_training_report report = AGPU_TRAINING_REPORT_INIT;
    DO(agpu_trainer_epoch(trainer, &samples, 0.01, &report));
    CHECK(report.samples == 2 && isfinite(report.loss));
    DO(agpu_release(trainer));
    DO(agpu_release(network));
}

static void bad_training(void) {
    agpu_network network = build(CLASSES);
    agpu_trainer trainer = NULL;
    agpu_trainer_options options = AGPU_TRAINER_OPTIONS_INIT;
    options.optimizer = "newton";
    REFUSED(agpu_trainer_create(network, &options, &trainer), AGPU_ERROR_INVALID_ARGUMENT, "known are sgd, momentum, adam, adaptive");
    const agpu_optimizer_parameter parameters[1] = {{"momentum", 0.5}};
    options = (agpu_trainer_options)AGPU_TRAINER_OPTIONS_INIT;
    options.parameters = parameters;
    options.parameter_count = 1;
    REFUSED(agpu_trainer_create(network, &options, &trainer), AGPU_ERROR_INVALID_ARGUMENT, "adam has no parameter \"momentum\"");
    options = (agpu_trainer_options)AGPU_TRAINER_OPTIONS_INIT;
    options.loss = "hinge";
    REFUSED(agpu_trainer_create(network, &options, &trainer), AGPU_ERROR_INVALID_ARGUMENT, "known are cross_entropy");
    options.loss = NULL;
    options.steps = 3;
    REFUSED(agpu_trainer_create(network, &options, &trainer), AGPU_ERROR_SHAPE_MISMATCH, "samples of 3 steps");
    options.size_bytes = 4;
    REFUSED(agpu_trainer_create(network, &options, &trainer), AGPU_ERROR_INVALID_ARGUMENT, "size_bytes of agpu_trainer_options");
    CHECK(trainer == NULL);
    REFUSED(agpu_trainer_create(NULL, NULL, &trainer), AGPU_ERROR_INVALID_HANDLE, "network");

    DO(agpu_trainer_create(network, NULL, &trainer));
    agpu_training_samples samples = corners();
    agpu_training_report report = AGPU_TRAINING_REPORT_INIT;
    float gradients[64];
    samples.count = 0;
    REFUSED(agpu_trainer_epoch(trainer, &samples, 0.1, NULL), AGPU_ERROR_INVALID_ARGUMENT, "count 0");
    samples = corners();
    samples.values = CORNERS;
    REFUSED(agpu_trainer_epoch(trainer, &samples, 0.1, NULL), AGPU_ERROR_INVALID_ARGUMENT, "either values or labels");
    samples = corners();
    samples.x = NULL;
    REFUSED(agpu_trainer_epoch(trainer, &samples, 0.1, NULL), AGPU_ERROR_INVALID_ARGUMENT, "x is NULL");
    samples = corners();
    REFUSED(agpu_trainer_epoch(trainer, &samples, NAN, NULL), AGPU_ERROR_INVALID_ARGUMENT, "learning_rate");
    REFUSED(agpu_trainer_evaluate(trainer, &samples, NULL), AGPU_ERROR_INVALID_ARGUMENT, "report is NULL");
    REFUSED(agpu_trainer_gradients(trainer, &samples, gradients, 5, NULL), AGPU_ERROR_SHAPE_MISMATCH, "values has 5 values");
    const uint32_t chosen[2] = {1, 4}, classes[4] = {0, 1, 2, 0};
    samples.chosen = chosen;
    samples.chosen_count = 2;
    REFUSED(agpu_trainer_evaluate(trainer, &samples, &report), AGPU_ERROR_SHAPE_MISMATCH, "sample 4 was chosen of 4");
    REFUSED(agpu_trainer_gradients(trainer, &samples, gradients, parameters_of(network), NULL), AGPU_ERROR_INVALID_ARGUMENT, "chosen");
    samples.chosen_count = 1;
    DO(agpu_trainer_evaluate(trainer, &samples, &report));
    CHECK(report.samples == 1);
    samples = corners();
    samples.labels = classes;
    REFUSED(agpu_trainer_evaluate(trainer, &samples, &report), AGPU_ERROR_INVALID_ARGUMENT, "the label of sample 2 is 2");
    float broken[8] = {NAN};
    samples = corners();
    samples.x = broken;
    REFUSED(agpu_trainer_epoch(trainer, &samples, 0.1, NULL), AGPU_ERROR_WEIGHTS_NOT_FINITE, "");
    agpu_trainer_facts facts = AGPU_TRAINER_FACTS_INIT;
    DO(agpu_trainer_info(trainer, &facts));
    CHECK(facts.batches == 0);
    DO(agpu_release(trainer));
    DO(agpu_release(network));
    REFUSED(agpu_trainer_info(trainer, &facts), AGPU_ERROR_INVALID_HANDLE, "");
}

/* A device that computes nothing: kernels are compiled for its architecture, shapes and handles are those of a GPU. */
static void gpu_that_computes_nothing(void) {
    agpu_device device = NULL;
    DO(agpu_device_open("null:gfx1100", NULL, &device));
    agpu_network network = build(LINEAR);
    agpu_array x = ARRAY(device, "float32", INPUT, 2, 3), output = NULL;
    DO(agpu_network_forward_array(network, x, NULL, &output));
    agpu_array_facts facts = AGPU_ARRAY_FACTS_INIT;
    DO(agpu_array_info(output, &facts));
    CHECK(strcmp(facts.device, "null:gfx1100") == 0 && facts.dimensions == 2 && facts.shape[0] == 2 && facts.shape[1] == 2);
    agpu_trainer_options options = AGPU_TRAINER_OPTIONS_INIT;
    options.device = device;
    agpu_trainer trainer = NULL;
    DO(agpu_trainer_create(network, &options, &trainer));
    agpu_trainer_facts trained = AGPU_TRAINER_FACTS_INIT;
    DO(agpu_trainer_info(trainer, &trained));
    CHECK(trained.state_count == 2 * parameters_of(network));
    const agpu_handle all[] = {trainer, output, x, network, device};
    for (int i = 0; i < 5; i++) DO(agpu_release(all[i]));
}

int main(void) {
    agpu_device device = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    forward_of_arrays(device);
    numbers();
    one_step(NULL, 0);
    one_step(device, 1);
    learning(device);
    going_on();
    samples_with_steps();
    bad_training();
    gpu_that_computes_nothing();
    DO(agpu_release(device));
    check_no_handles();
    puts("ok");
    return 0;
}
