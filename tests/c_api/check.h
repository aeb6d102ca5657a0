/* What the programs of this folder check with. A check that fails says where and ends the program with 1. */
#ifndef CHECK_H
#define CHECK_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <amdgpu/runtime.h>

#define CHECK(condition)                                                          \
    do {                                                                          \
        if (!(condition)) {                                                       \
            fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
            exit(1);                                                              \
        }                                                                         \
    } while (0)

/* The call answers AGPU_OK. */
#define DO(call) check_status((call), AGPU_OK, "", #call, __FILE__, __LINE__)

/* The call answers this status, with a message that has these words. */
#define REFUSED(call, status, words) check_status((call), (status), (words), #call, __FILE__, __LINE__)

static inline void check_status(agpu_status found, agpu_status wanted, const char *words, const char *call, const char *file, int line) {
    agpu_error_info error = AGPU_ERROR_INFO_INIT;
    if (agpu_last_error(&error) != AGPU_OK) {
        fprintf(stderr, "%s:%d: there is no description of an error\n", file, line);
        exit(1);
    }
    const char *message = found == AGPU_OK ? "" : error.message;
    if (found != wanted || strstr(message, words) == NULL) {
        fprintf(stderr, "%s:%d: %s\n  answered %s: %s\n  wanted %s: ... %s ...\n", file, line, call, agpu_status_name(found), message,
                agpu_status_name(wanted), words);
        exit(1);
    }
    if (found != AGPU_OK && (error.status != found || strcmp(error.name, agpu_status_name(found)) != 0 || error.class_name[0] == 0)) {
        fprintf(stderr, "%s:%d: the description is of %s (%s)\n", file, line, error.name, error.class_name);
        exit(1);
    }
}

/* Nothing that a program made is left. */
static inline void check_no_handles(void) {
    uint64_t count = 1;
    DO(agpu_handle_count(&count));
    if (count != 0) {
        fprintf(stderr, "%llu handles were not released\n", (unsigned long long)count);
        exit(1);
    }
}

#endif
