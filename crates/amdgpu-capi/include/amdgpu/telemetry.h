/* amdgpu/telemetry.h: what this process did, in the words of docs/telemetry.md. The rules of amdgpu/runtime.h hold. */
#ifndef AMDGPU_TELEMETRY_H
#define AMDGPU_TELEMETRY_H

#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Counters, histograms, names and the newest records, as JSON. */
agpu_status agpu_telemetry_snapshot(agpu_text *text);

/* The metrics (docs/metrics.md) as a page for Prometheus. */
agpu_status agpu_telemetry_prometheus(agpu_text *text);

/* Switch records on or off; counters go on. */
agpu_status agpu_telemetry_set_enabled(bool is_enabled);

/* Whether somebody takes all records now, so that it is worth telling more than totals. */
bool agpu_telemetry_is_watched(void);

/* A piece of work of the calling thread, as a record of the kind "marker": `duration_ns` from `start_ns` on, of CLOCK_MONOTONIC. */
agpu_status agpu_telemetry_mark(const char *name, uint64_t start_ns, uint64_t duration_ns);

#ifdef __cplusplus
}
#endif

#endif
