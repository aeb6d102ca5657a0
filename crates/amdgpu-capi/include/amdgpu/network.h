/* amdgpu/network.h: networks from their text (docs/network_language.md). The rules of amdgpu/runtime.h hold.
 *
 * A network may be used by several threads: forward passes run side by side, changes of weights and runs of a spiking network take turns.
 */
#ifndef AMDGPU_NETWORK_H
#define AMDGPU_NETWORK_H

#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct agpu_network_object *agpu_network;
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

/* The weights of a connection ("input -> output"), row-major [rows, columns]. With NULL and 0 only the shape is answered; `rows` and `columns`
 * may be NULL. */
agpu_status agpu_network_weights(agpu_network network, const char *connection, float *values, uint64_t count, uint64_t *rows,
                                 uint64_t *columns);

/* Other weights; NaN and infinity are refused. */
agpu_status agpu_network_set_weights(agpu_network network, const char *connection, const float *values, uint64_t count);

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
