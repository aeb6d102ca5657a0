/* amdgpu/tuning.h: what was measured (docs/tuning.md). The rules of amdgpu/runtime.h hold.
 *
 * Devices of one architecture share a database: how long each way to compute a matrix product took, and the same of subjects that programs
 * name. It is kept in a file of the cache folder, which several processes may write. A damaged file is kept under another name, with a warning.
 */
#ifndef AMDGPU_TUNING_H
#define AMDGPU_TUNING_H

#include "runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct agpu_tuning_statistics {
    uint64_t size_bytes;
    uint64_t hits;    /* questions that a measurement answered, since the process began or the database was cleared */
    uint64_t misses;  /* questions that none answered */
    uint64_t entries; /* measurements made or imported here */
    uint64_t shipped; /* measurements that came with the package */
} agpu_tuning_statistics;
#define AGPU_TUNING_STATISTICS_INIT {sizeof(agpu_tuning_statistics), 0, 0, 0, 0}

/* What the database of a device holds, and how often it was asked. */
agpu_status agpu_tuning_get_statistics(agpu_device device, agpu_tuning_statistics *statistics);

/* Forget what was measured or imported here, in memory and in the file, and count from zero; `removed` may be NULL. What came with the package
 * stays. */
agpu_status agpu_tuning_clear(agpu_device device, uint64_t *removed);

/* Keep measurements in another file from now on; NULL is the file of the cache folder. What the file holds is taken in, and it gets what is
 * known. `taken`, how many measurements of the file changed what was known, may be NULL. */
agpu_status agpu_tuning_set_file(agpu_device device, const char *path, uint64_t *taken);

/* Write everything that is known of a device's architecture to a file; `count` may be NULL. */
agpu_status agpu_tuning_export(agpu_device device, const char *path, uint64_t *count);

/* Merge a file into the database of its architecture; of two measurements the later one counts. `changed` may be NULL. A file that is no
 * tuning database is AGPU_ERROR_INVALID_ARGUMENT, and nothing changes. */
agpu_status agpu_tuning_import(const char *path, uint64_t *changed);

/* The fastest way of a subject as a text, which the caller releases, and its time, which may be NULL; without a measurement NULL and 0.
 * Counted as a hit or a miss. */
agpu_status agpu_tuning_find(agpu_device device, const char *subject, agpu_text *way, double *seconds);

/* Note the time of one way of a subject; both are one line of text. A subject names everything that the best way depends on. */
agpu_status agpu_tuning_add(agpu_device device, const char *subject, const char *way, double seconds);

/* Whether databases are asked (the default), or every question is a miss; of the whole process. */
agpu_status agpu_tuning_set_caching(bool is_enabled);

/* Whether shapes of matrix products are measured as they come, whatever AMDGPU_TUNE says; of the whole process. Measuring needs the Python
 * package in the process; without it nothing is measured. */
agpu_status agpu_tuning_set_measuring(bool is_enabled);

#ifdef __cplusplus
}
#endif

#endif
