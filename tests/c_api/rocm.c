/* Every function of amdgpu/rocm.h, with the CPU in place of an AMD GPU. */
#define _POSIX_C_SOURCE 200809L
#include "check.h"

#include <pthread.h>

#include <amdgpu/rocm.h>

static void current_is(const char *wanted) {
    agpu_text text = NULL;
    const char *data = NULL;
    DO(agpu_get_current_device(&text));
    DO(agpu_text_get(text, &data, NULL));
    CHECK(strcmp(data, wanted) == 0);
    DO(agpu_release(text));
}

static void without_a_device(void) {
    setenv("AMDGPU_ROCM_DEVICES", "hip:4095", 1);
    uint32_t count = 7;
    int32_t id = 7;
    agpu_rocm_device_facts facts = AGPU_ROCM_DEVICE_FACTS_INIT;
    DO(agpu_rocm_device_count(&count));
    DO(agpu_rocm_get_device(&id));
    CHECK(count == 0 && id == -1);
    REFUSED(agpu_rocm_device_info(0, &facts), AGPU_ERROR_DEVICE_NOT_FOUND, "AMDGPU_ROCM_DEVICES=cpu");
    REFUSED(agpu_rocm_set_device(0), AGPU_ERROR_DEVICE_NOT_FOUND, "ROCm is not available");
    REFUSED(agpu_rocm_synchronize(), AGPU_ERROR_DEVICE_NOT_FOUND, "rocm:0");
    setenv("AMDGPU_ROCM_DEVICES", "quantum", 1);
    REFUSED(agpu_rocm_device_count(&count), AGPU_ERROR_INVALID_ARGUMENT, "AMDGPU_ROCM_DEVICES is `quantum`");
}

static void by_id(void) {
    setenv("AMDGPU_ROCM_DEVICES", "cpu,null:gfx1100", 1);
    uint32_t count = 0;
    int32_t id = 7;
    DO(agpu_rocm_device_count(&count));
    CHECK(count == 2);
    agpu_rocm_device_facts facts = AGPU_ROCM_DEVICE_FACTS_INIT;
    DO(agpu_rocm_device_info(1, &facts));
    CHECK(facts.device_id == 1 && strcmp(facts.device, "null:gfx1100") == 0 && strcmp(facts.architecture, "gfx1100") == 0);
    DO(agpu_rocm_device_info(0, &facts));
    CHECK(facts.device_id == 0 && strcmp(facts.device, "cpu:0") == 0 && facts.name[0] != 0 && facts.compute_units > 0);
    CHECK(facts.total_memory_bytes > 0 && facts.free_memory_bytes > 0 && facts.free_memory_bytes <= facts.total_memory_bytes);
    for (int32_t wrong = -1; wrong <= 2; wrong += 3) {
        REFUSED(agpu_rocm_device_info(wrong, &facts), AGPU_ERROR_DEVICE_NOT_FOUND, "0 is cpu:0, 1 is null:gfx1100");
        REFUSED(agpu_rocm_set_device(wrong), AGPU_ERROR_DEVICE_NOT_FOUND, "0 is cpu:0, 1 is null:gfx1100");
    }
    DO(agpu_rocm_get_device(&id));
    CHECK(id == -1);
    DO(agpu_rocm_synchronize());
    DO(agpu_rocm_set_device(1));
    DO(agpu_rocm_get_device(&id));
    CHECK(id == 1);
    current_is("rocm:1");
    DO(agpu_rocm_synchronize());
    agpu_device device = NULL;
    DO(agpu_device_open("rocm:1", NULL, &device));
    agpu_device_facts opened = AGPU_DEVICE_FACTS_INIT;
    DO(agpu_device_info(device, &opened));
    CHECK(strcmp(opened.name, "null:gfx1100") == 0);
    DO(agpu_release(device));
    facts.size_bytes = 3;
    REFUSED(agpu_rocm_device_info(0, &facts), AGPU_ERROR_INVALID_ARGUMENT, "size_bytes");
    REFUSED(agpu_rocm_device_info(0, NULL), AGPU_ERROR_INVALID_ARGUMENT, "info is NULL");
    REFUSED(agpu_rocm_device_count(NULL), AGPU_ERROR_INVALID_ARGUMENT, "count is NULL");
    REFUSED(agpu_rocm_get_device(NULL), AGPU_ERROR_INVALID_ARGUMENT, "device_id is NULL");
}

static void by_text(void) {
    int32_t id = 7;
    DO(agpu_set_current_device("rocm"));
    DO(agpu_rocm_get_device(&id));
    CHECK(id == 0);
    current_is("rocm:0");
    DO(agpu_synchronize_current_device());
    DO(agpu_set_current_device("cpu:0"));
    DO(agpu_rocm_get_device(&id));
    CHECK(id == -1);
    current_is("cpu");
    DO(agpu_synchronize_current_device());
    REFUSED(agpu_set_current_device("rocm:2"), AGPU_ERROR_DEVICE_NOT_FOUND, "0 is cpu:0");
    REFUSED(agpu_set_current_device("cerebras"), AGPU_ERROR_DEVICE_NOT_FOUND, "Cerebras");
    REFUSED(agpu_set_current_device("cerebras:simulator"), AGPU_ERROR_DEVICE_NOT_FOUND, "Cerebras");
    REFUSED(agpu_set_current_device("hip:4095"), AGPU_ERROR_DEVICE_NOT_FOUND, "hip:4095");
    REFUSED(agpu_set_current_device("toaster"), AGPU_ERROR_INVALID_ARGUMENT, "known are cpu, rocm, rocm:N");
    REFUSED(agpu_set_current_device("rocm:x"), AGPU_ERROR_INVALID_ARGUMENT, "device is \"rocm:x\"");
    REFUSED(agpu_set_current_device(NULL), AGPU_ERROR_INVALID_ARGUMENT, "device is NULL");
    REFUSED(agpu_get_current_device(NULL), AGPU_ERROR_INVALID_ARGUMENT, "device is NULL");
    current_is("cpu");
}

static void *elsewhere(void *found) {
    DO(agpu_rocm_get_device(found));
    DO(agpu_rocm_set_device(1));
    current_is("rocm:1");
    return NULL;
}

int main(void) {
    without_a_device();
    by_id();
    by_text();
    /* Each thread has its own. */
    DO(agpu_rocm_set_device(0));
    int32_t id = 7;
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, elsewhere, &id) == 0 && pthread_join(thread, NULL) == 0);
    CHECK(id == -1);
    current_is("rocm:0");
    check_no_handles();
    puts("ok");
    return 0;
}
