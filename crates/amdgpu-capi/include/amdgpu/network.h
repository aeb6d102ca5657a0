/* amdgpu/network.h: networks from their text (docs/network_language.md). The rules of amdgpu/runtime.h hold.
 *
 * A network may be used by several threads: forward passes run side by side, changes of weights and runs of a spiking network take turns.
 * A trainer may be, too: its calls take turns.
 */
#ifndef AMDGPU_NETWORK_H
#define AMDGPU_NETWORK_H

#include "array.h"
#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct agpu_network_object *agpu_network;
typedef struct agpu_trainer_object *agpu_trainer;
typedef struct agpu_spiking_object *agpu_spiking;
typedef struct agpu_run_object *agpu_run;

typedef struct agpu_network_options {
    uint64_t size_bytes;
    const char *base_directory; /* where relative paths of file("...") start; NULL: the working directory */
    uint64_t seed;              /* in place of the text's, where has_seed is 1 */
    uint32_t has_seed;
    uint32_t threads;           /* of a spiking network on the CPU; 0: those of the device */
} agpu_network_options;
#define AGPU_NETWORK_OPTIONS_INIT {sizeof(agpu_network_options), NULL, 0, 0, 0}

/* Build a layered network; `options` may be NULL. The message of AGPU_ERROR_NETWORK_INVALID lists all errors of the text. */
agpu_status agpu_network_build(const char *text, const agpu_network_options *options, agpu_network *network);

typedef struct agpu_network_facts {
    uint64_t size_bytes;
    char name[64];
    uint64_t inputs;
    uint64_t outputs;
    uint64_t parameters;
    uint32_t has_steps; /* 1: a layer has a state, so samples have steps */
    uint32_t reserved;
} agpu_network_facts;
#define AGPU_NETWORK_FACTS_INIT {sizeof(agpu_network_facts), {0}, 0, 0, 0, 0, 0}

/* Facts of a layered network. */
agpu_status agpu_network_info(agpu_network network, agpu_network_facts *info);

/* `input` is row-major [samples, inputs], or [samples, steps, inputs] for a network that has steps (`steps` counts only there); `output` is
 * [samples, outputs], and `output_count` says how many values it has. */
agpu_status agpu_network_forward(agpu_network network, const float *input, uint64_t samples, uint64_t steps, float *output,
                                 uint64_t output_count);

typedef struct agpu_network_forward_options {
    uint64_t size_bytes;
    uint32_t uses_kernels; /* 1: the kernels that GPUs run, on a CPU device too */
    uint32_t reserved;
} agpu_network_forward_options;
#define AGPU_NETWORK_FORWARD_OPTIONS_INIT {sizeof(agpu_network_forward_options), 0, 0}

/* The same where an array lies, with the weights in the memory of its device: `input` is float32 of shape [samples, inputs] or [inputs], for a
 * network that has steps [samples, steps, inputs] or [steps, inputs]. `output` is an array of the same device, [samples, outputs] or [outputs].
 * `options` may be NULL. On a CPU device the bits are those of `agpu_network_forward`; kernels give sums another order. */
agpu_status agpu_network_forward_array(agpu_network network, agpu_array input, const agpu_network_forward_options *options,
                                       agpu_array *output);

/* The weights of a connection ("input -> output"), row-major [rows, columns]. With NULL and 0 only the shape is answered; `rows` and `columns`
 * may be NULL. */
agpu_status agpu_network_weights(agpu_network network, const char *connection, float *values, uint64_t count, uint64_t *rows,
                                 uint64_t *columns);

/* Other weights; NaN and infinity are refused. */
agpu_status agpu_network_set_weights(agpu_network network, const char *connection, const float *values, uint64_t count);

/* The biases of a layer, as many as it has values; a layer without has 0. With NULL and 0 only their number is answered in `needed`, which may
 * be NULL. */
agpu_status agpu_network_biases(agpu_network network, const char *layer, float *values, uint64_t count, uint64_t *needed);

/* Other biases; a layer without gets some. NaN and infinity are refused. */
agpu_status agpu_network_set_biases(agpu_network network, const char *layer, const float *values, uint64_t count);

/* Compute the outputs of `samples` rows of inputs as `agpu_network_forward` does, then apply the plasticity rules of the text once. */
agpu_status agpu_network_hebbian_step(agpu_network network, const float *input, uint64_t samples, float *output, uint64_t output_count);

/* A parameter of an optimizer. */
typedef struct agpu_optimizer_parameter {
    const char *name;
    double value;
} agpu_optimizer_parameter;

typedef struct agpu_trainer_options {
    uint64_t size_bytes;
    agpu_device device;    /* where weights, gradients and what the optimizer keeps lie; NULL, as a CPU device: this machine's cores */
    const char *loss;      /* cross_entropy or mean_squared_error; NULL: the former where every output layer is softmax */
    const char *optimizer; /* sgd, momentum, adam or adaptive; NULL is adam */
    const agpu_optimizer_parameter *parameters; /* momentum (0.9); of adam beta_1 (0.9), beta_2 (0.999), epsilon (1e-8); of adaptive decay (0.9) */
    uint64_t parameter_count;
    uint64_t batch_size;   /* samples of a step; 0 is 32 */
    uint64_t steps;        /* of each sample, for a network that has steps; 0 is 1 */
    double l2_penalty;     /* l2_penalty / 2 * sum(weight^2) is added to the loss */
    uint64_t seed;         /* chooses the order of the samples in each epoch */
    uint32_t keeps_order;  /* 1: samples are learnt in the order in which they are given */
    uint32_t uses_kernels; /* 1: the kernels that GPUs run, on a CPU device too */
} agpu_trainer_options;
#define AGPU_TRAINER_OPTIONS_INIT {sizeof(agpu_trainer_options), NULL, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0, 0}

/* Train a layered network by back-propagation; `options` may be NULL. The trainer keeps the network alive. */
agpu_status agpu_trainer_create(agpu_network network, const agpu_trainer_options *options, agpu_trainer *trainer);

typedef struct agpu_trainer_facts {
    uint64_t size_bytes;
    char loss[32];
    uint64_t epochs;      /* that are done */
    uint64_t batches;     /* that are done */
    uint64_t state_count; /* numbers that the optimizer keeps */
} agpu_trainer_facts;
#define AGPU_TRAINER_FACTS_INIT {sizeof(agpu_trainer_facts), {0}, 0, 0, 0}

/* Facts of a trainer. */
agpu_status agpu_trainer_info(agpu_trainer trainer, agpu_trainer_facts *info);

/* Samples with what the outputs should be: either `values` or `labels`. */
typedef struct agpu_training_samples {
    uint64_t size_bytes;
    const float *x;         /* [count, inputs], or [count, steps, inputs] */
    const float *values;    /* [count, outputs] */
    const uint32_t *labels; /* the right class of each sample, from 0; for a network with one output layer */
    uint64_t count;
    const uint32_t *chosen; /* which samples are used, by number; NULL: all */
    uint64_t chosen_count;
} agpu_training_samples;
#define AGPU_TRAINING_SAMPLES_INIT {sizeof(agpu_training_samples), NULL, NULL, NULL, 0, NULL, 0}

typedef struct agpu_training_report {
    uint64_t size_bytes;
    double loss;     /* mean over the samples */
    double accuracy; /* share of right classes; NaN without classes */
    uint64_t samples;
} agpu_training_report;
#define AGPU_TRAINING_REPORT_INIT {sizeof(agpu_training_report), 0, 0, 0}

/* Learn from the samples once, batch after batch; `report` may be NULL. The network is whole after every batch: one that would leave a number
 * that is not finite is refused with AGPU_ERROR_WEIGHTS_NOT_FINITE and changes nothing. */
agpu_status agpu_trainer_epoch(agpu_trainer trainer, const agpu_training_samples *samples, double learning_rate, agpu_training_report *report);

/* Loss and accuracy over the samples; nothing is learnt. */
agpu_status agpu_trainer_evaluate(agpu_trainer trainer, const agpu_training_samples *samples, agpu_training_report *report);

/* The gradient of the loss of all samples, one batch at most, by every number of the network: the weights of each connection in the order of
 * the text, then the biases of each layer that has some. `count` is the number of parameters; `report` may be NULL. Nothing is learnt. */
agpu_status agpu_trainer_gradients(agpu_trainer trainer, const agpu_training_samples *samples, float *values, uint64_t count,
                                   agpu_training_report *report);

/* What the optimizer keeps, `state_count` numbers. With the weights and biases of the network it is all that a training needs to go on. */
agpu_status agpu_trainer_state(agpu_trainer trainer, float *values, uint64_t count);

/* Go on where a trainer with the same options was after so many epochs and batches. */
agpu_status agpu_trainer_restore(agpu_trainer trainer, const float *values, uint64_t count, uint64_t epochs, uint64_t batches);

/* Build a spiking network on a device; `options` may be NULL. */
agpu_status agpu_spiking_build(agpu_device device, const char *text, const agpu_network_options *options, agpu_spiking *network);

typedef struct agpu_spiking_facts {
    uint64_t size_bytes;
    char name[64];
    double step_seconds;
    uint64_t step_number; /* of the next step */
} agpu_spiking_facts;
#define AGPU_SPIKING_FACTS_INIT {sizeof(agpu_spiking_facts), {0}, 0, 0}

/* Facts of a spiking network. */
agpu_status agpu_spiking_info(agpu_spiking network, agpu_spiking_facts *info);

/* Make steps. `run` may be NULL for those who do not want to know what happened. */
agpu_status agpu_spiking_run(agpu_spiking network, uint64_t steps, agpu_run *run);

/* The values of a variable ("population.variable"), one for each neuron. With NULL and 0 only their number is answered in `needed`, which may
 * be NULL. */
agpu_status agpu_spiking_state(agpu_spiking network, const char *name, float *values, uint64_t count, uint64_t *needed);

/* Other values for a variable. */
agpu_status agpu_spiking_set_state(agpu_spiking network, const char *name, const float *values, uint64_t count);

typedef struct agpu_run_facts {
    uint64_t size_bytes;
    uint64_t first_step;
    uint64_t steps;
    double wall_seconds;
    uint64_t spike_hash;  /* the same for the same spikes, on every device */
    uint64_t populations;
    uint64_t records;     /* of spikes, as the text asks for them */
} agpu_run_facts;
#define AGPU_RUN_FACTS_INIT {sizeof(agpu_run_facts), 0, 0, 0, 0, 0, 0}

/* Facts of a run. */
agpu_status agpu_run_info(agpu_run run, agpu_run_facts *info);

typedef struct agpu_run_item {
    uint64_t size_bytes;
    char name[64];
    uint64_t neurons;
    uint64_t spikes;
} agpu_run_item;
#define AGPU_RUN_ITEM_INIT {sizeof(agpu_run_item), {0}, 0, 0}

/* Name, size and number of spikes of a population. */
agpu_status agpu_run_population(agpu_run run, uint64_t index, agpu_run_item *item);

/* Spikes of one record: times in seconds and indices of neurons, `count` of each. With NULL, NULL and 0 only their number is answered in
 * `needed`, which may be NULL. */
agpu_status agpu_run_spikes(agpu_run run, uint64_t index, double *times_seconds, uint32_t *neurons, uint64_t count, uint64_t *needed);

#ifdef __cplusplus
}
#endif

#endif
