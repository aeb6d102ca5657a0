/* Every function of amdgpu/network.h and amdgpu/telemetry.h. */
#include "check.h"

#include <math.h>

#include <amdgpu/network.h>
#include <amdgpu/telemetry.h>

static const char *const LAYERED =
    "neuralNetwork tiny:\n"
    "  layer input(3, activation: identity)\n"
    "  layer output(2, activation: identity)\n"
    "  connect input -> output (weight: 0.5)\n";

static const char *const SPIKING =
    "neuralNetwork driven:\n"
    "  dt = 0.1.ms\n"
    "  neuron cell:\n"
    "    params(tau = 10.ms)\n"
    "    dv/dt = (2.0 - v) / tau\n"
    "    threshold: v > 1\n"
    "    reset: v = 0\n"
    "  population cells(5, model: cell)\n"
    "  record spikes(cells)\n";

static void layered(void) {
    agpu_network_options options = AGPU_NETWORK_OPTIONS_INIT;
    options.seed = 7;
    options.has_seed = 1;
    agpu_network network = NULL;
    DO(agpu_network_build(LAYERED, &options, &network));
    agpu_network_facts facts = AGPU_NETWORK_FACTS_INIT;
    DO(agpu_network_info(network, &facts));
    CHECK(strcmp(facts.name, "tiny") == 0 && facts.inputs == 3 && facts.outputs == 2 && facts.has_steps == 0);
    CHECK(facts.parameters >= 6);

    const float input[6] = {1, 2, 3, 4, 5, 6};
    float output[4] = {0};
    DO(agpu_network_forward(network, input, 2, 1, output, 4));
    CHECK(output[0] == 3 && output[1] == 3 && output[2] == 7.5f && output[3] == 7.5f);
    REFUSED(agpu_network_forward(network, input, 2, 1, output, 3), AGPU_ERROR_SHAPE_MISMATCH, "output has 3 values");
    REFUSED(agpu_network_forward(network, NULL, 2, 1, output, 4), AGPU_ERROR_INVALID_ARGUMENT, "input is NULL");
    REFUSED(agpu_network_forward(network, input, UINT64_MAX, 1, output, 4), AGPU_ERROR_SHAPE_MISMATCH, "");

    uint64_t rows = 0, columns = 0;
    DO(agpu_network_weights(network, "input -> output", NULL, 0, &rows, &columns));
    CHECK(rows == 3 && columns == 2);
    float weights[6];
    DO(agpu_network_weights(network, "input -> output", weights, 6, NULL, NULL));
    CHECK(weights[0] == 0.5f && weights[5] == 0.5f);
    for (int i = 0; i < 6; i++) weights[i] = (float)i;
    DO(agpu_network_set_weights(network, "input -> output", weights, 6));
    DO(agpu_network_forward(network, input, 1, 1, output, 2));
    CHECK(output[0] == 0 * 1 + 2 * 2 + 4 * 3 && output[1] == 1 * 1 + 3 * 2 + 5 * 3);
    weights[2] = NAN;
    REFUSED(agpu_network_set_weights(network, "input -> output", weights, 6), AGPU_ERROR_WEIGHTS_NOT_FINITE, "");
    REFUSED(agpu_network_set_weights(network, "input -> output", weights, 5), AGPU_ERROR_SHAPE_MISMATCH, "there are 6");
    DO(agpu_release(network));
    network = NULL;
    REFUSED(agpu_network_build("neuralNetwork broken:\n  layer input(0)\n", NULL, &network), AGPU_ERROR_NETWORK_INVALID, "2");
    CHECK(network == NULL);
}

static uint64_t spikes_of(agpu_spiking network, uint64_t steps) {
    agpu_run run = NULL;
    DO(agpu_spiking_run(network, steps, &run));
    agpu_run_facts facts = AGPU_RUN_FACTS_INIT;
    DO(agpu_run_info(run, &facts));
    CHECK(facts.steps == steps && facts.populations == 1 && facts.records == 1 && facts.wall_seconds > 0);
    agpu_run_item item = AGPU_RUN_ITEM_INIT;
    DO(agpu_run_population(run, 0, &item));
    CHECK(strcmp(item.name, "cells") == 0 && item.neurons == 5);
    REFUSED(agpu_run_population(run, 1, &item), AGPU_ERROR_INVALID_ARGUMENT, "the run has 1 populations");
    uint64_t needed = 0;
    DO(agpu_run_spikes(run, 0, NULL, NULL, 0, &needed));
    CHECK(needed == item.spikes && needed > 0);
    double *times = calloc(needed, sizeof *times);
    uint32_t *neurons = calloc(needed, sizeof *neurons);
    DO(agpu_run_spikes(run, 0, times, neurons, needed, NULL));
    for (uint64_t i = 0; i < needed; i++) CHECK(neurons[i] < 5 && times[i] >= 0 && (i == 0 || times[i] >= times[i - 1]));
    REFUSED(agpu_run_spikes(run, 0, times, neurons, needed + 1, NULL), AGPU_ERROR_SHAPE_MISMATCH, "there are");
    free(times);
    free(neurons);
    DO(agpu_release(run));
    return needed;
}

static void spiking(agpu_device device) {
    agpu_spiking network = NULL;
    DO(agpu_spiking_build(device, SPIKING, NULL, &network));
    agpu_spiking_facts facts = AGPU_SPIKING_FACTS_INIT;
    DO(agpu_spiking_info(network, &facts));
    CHECK(strcmp(facts.name, "driven") == 0 && fabs(facts.step_seconds - 1e-4) < 1e-12 && facts.step_number == 0);
    /* Each neuron reaches 1 after 10 ms * ln 2 = 6.93 ms, so twice in 20 ms. */
    CHECK(spikes_of(network, 200) == 10);
    DO(agpu_spiking_info(network, &facts));
    CHECK(facts.step_number == 200);
    uint64_t count = 0;
    DO(agpu_spiking_state(network, "cells.v", NULL, 0, &count));
    CHECK(count == 5);
    float state[5];
    DO(agpu_spiking_state(network, "cells.v", state, 5, NULL));
    CHECK(state[0] > 0 && state[0] < 1 && state[0] == state[4]);
    for (int i = 0; i < 5; i++) state[i] = 0.25f;
    DO(agpu_spiking_set_state(network, "cells.v", state, 5));
    memset(state, 0, sizeof state);
    DO(agpu_spiking_state(network, "cells.v", state, 5, NULL));
    CHECK(state[3] == 0.25f);
    DO(agpu_spiking_run(network, 1, NULL));
    REFUSED(agpu_spiking_state(network, "cells.absent", state, 5, NULL), AGPU_ERROR_INVALID_ARGUMENT, "absent");
    DO(agpu_release(network));
}

static void telemetry(void) {
    agpu_text text = NULL;
    const char *data = NULL;
    uint64_t length = 0;
    DO(agpu_telemetry_set_enabled(false));
    DO(agpu_telemetry_set_enabled(true));
    CHECK(!agpu_telemetry_is_watched());
    DO(agpu_telemetry_mark("a piece of work", 1, 2));
    REFUSED(agpu_telemetry_mark(NULL, 1, 2), AGPU_ERROR_INVALID_ARGUMENT, "name is NULL");
    DO(agpu_telemetry_snapshot(&text));
    DO(agpu_text_get(text, &data, &length));
    CHECK(data[0] == '{' && strlen(data) == length);
    CHECK(strstr(data, "a piece of work") != NULL);
    DO(agpu_release(text));
    DO(agpu_telemetry_prometheus(&text));
    DO(agpu_text_get(text, &data, NULL));
    CHECK(strstr(data, "# TYPE amdgpu_") != NULL);
    DO(agpu_release(text));
}

int main(void) {
    agpu_device device = NULL;
    layered();
    DO(agpu_device_open("cpu", NULL, &device));
    spiking(device);
    telemetry();
    DO(agpu_release(device));
    check_no_handles();
    puts("ok");
    return 0;
}
