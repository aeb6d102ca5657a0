/* The tuning database, warm-up and pools of one kind of memory, from C. The first argument is a folder for files. */
#include <amdgpu/tuning.h>

#include "check.h"

static void write_text(const char *path, const char *text) {
    FILE *file = fopen(path, "w");
    CHECK(file != NULL);
    fputs(text, file);
    fclose(file);
}

static agpu_tuning_statistics statistics_of(agpu_device device) {
    agpu_tuning_statistics found = AGPU_TUNING_STATISTICS_INIT;
    DO(agpu_tuning_get_statistics(device, &found));
    return found;
}

static void find(agpu_device device, const char *subject, const char *wanted, double wanted_seconds) {
    agpu_text way = NULL;
    double seconds = -1;
    DO(agpu_tuning_find(device, subject, &way, &seconds));
    CHECK(seconds == wanted_seconds);
    CHECK((way == NULL) == (wanted == NULL));
    if (way == NULL) return;
    const char *data = NULL;
    DO(agpu_text_get(way, &data, NULL));
    CHECK(strcmp(data, wanted) == 0);
    DO(agpu_release(way));
}

static void database(agpu_device device, const char *folder) {
    char file[512], other[512], damaged[600];
    snprintf(file, sizeof file, "%s/kept.json", folder);
    snprintf(other, sizeof other, "%s/exported.json", folder);
    snprintf(damaged, sizeof damaged, "%s.damaged-0", file);
    uint64_t count = 99;

    DO(agpu_tuning_clear(device, NULL));
    find(device, "my product 64", NULL, 0);
    DO(agpu_tuning_add(device, "my product 64", "tiles=8", 2e-5));
    DO(agpu_tuning_add(device, "my product 64", "tiles=16", 1e-5));
    find(device, "my product 64", "tiles=16", 1e-5);
    agpu_tuning_statistics found = statistics_of(device);
    CHECK(found.hits == 1 && found.misses == 1 && found.entries == 1 && found.shipped == 0);

    /* Nothing is asked while it is off. */
    DO(agpu_tuning_set_caching(false));
    find(device, "my product 64", NULL, 0);
    DO(agpu_tuning_set_caching(true));
    CHECK(statistics_of(device).misses == 2);
    DO(agpu_tuning_set_measuring(false));

    /* A file that is damaged is kept aside, and what is known goes into the file. */
    write_text(file, "{\"schema\": ");
    DO(agpu_tuning_set_file(device, file, &count));
    CHECK(count == 0);
    FILE *kept = fopen(damaged, "r");
    char text[64] = "";
    CHECK(kept != NULL && fgets(text, sizeof text, kept) != NULL && strcmp(text, "{\"schema\": ") == 0);
    fclose(kept);

    DO(agpu_tuning_export(device, other, &count));
    CHECK(count == 1);
    DO(agpu_tuning_clear(device, &count));
    CHECK(count == 1);
    found = statistics_of(device);
    CHECK(found.hits == 0 && found.misses == 0 && found.entries == 0);
    find(device, "my product 64", NULL, 0);
    DO(agpu_tuning_import(other, &count));
    CHECK(count == 1);
    find(device, "my product 64", "tiles=16", 1e-5);
    /* The file of before is the process's again, and gets what is known. */
    DO(agpu_tuning_set_file(device, NULL, NULL));
    find(device, "my product 64", "tiles=16", 1e-5);
}

static void wrong_input(agpu_device device, const char *folder) {
    agpu_text way = NULL;
    char path[512];
    snprintf(path, sizeof path, "%s/nothing.json", folder);
    REFUSED(agpu_tuning_get_statistics(device, NULL), AGPU_ERROR_INVALID_ARGUMENT, "statistics is NULL");
    REFUSED(agpu_tuning_find(device, NULL, &way, NULL), AGPU_ERROR_INVALID_ARGUMENT, "subject is NULL");
    REFUSED(agpu_tuning_find(device, "", &way, NULL), AGPU_ERROR_INVALID_ARGUMENT, "one line of at most 512 bytes");
    REFUSED(agpu_tuning_find(device, "x", NULL, NULL), AGPU_ERROR_INVALID_ARGUMENT, "way is NULL");
    REFUSED(agpu_tuning_add(device, "x", "two\nlines", 1), AGPU_ERROR_INVALID_ARGUMENT, "way is \"two\\nlines\"");
    REFUSED(agpu_tuning_add(device, "x", "y", 0), AGPU_ERROR_INVALID_ARGUMENT, "seconds is 0; a time is above 0");
    REFUSED(agpu_tuning_add(NULL, "x", "y", 1), AGPU_ERROR_INVALID_HANDLE, "");
    REFUSED(agpu_tuning_import(path, NULL), AGPU_ERROR_INVALID_ARGUMENT, "nothing.json is not imported: No such file");
    write_text(path, "[]");
    REFUSED(agpu_tuning_import(path, NULL), AGPU_ERROR_INVALID_ARGUMENT, "the schema is None");
    REFUSED(agpu_tuning_export(device, "", NULL), AGPU_ERROR_INVALID_ARGUMENT, "path is empty");
    REFUSED(agpu_tuning_export(device, "/nowhere/at/all", NULL), AGPU_ERROR_WRITE_FAILED, "/nowhere/at/all cannot be written");
    REFUSED(agpu_tuning_set_file(device, "/proc/nowhere/x.json", NULL), AGPU_ERROR_WRITE_FAILED, "cannot be written");
    /* What cannot be written changes nothing. */
    DO(agpu_tuning_add(device, "x", "y", 1));
}

static void warm_up(agpu_device device) {
    const uint64_t sizes[] = {24 << 20, 24 << 20, 4096};
    for (uint32_t kind = AGPU_MEMORY_DEVICE; kind <= AGPU_MEMORY_PINNED; kind++) {
        agpu_memory_statistics before = AGPU_MEMORY_STATISTICS_INIT, after = AGPU_MEMORY_STATISTICS_INIT;
        uint64_t reserved = 0, again = 1, freed = 0;
        DO(agpu_device_warm_up(device, kind, sizes, 3, &reserved));
        CHECK(reserved == (48 << 20) + (2 << 20));
        DO(agpu_device_warm_up(device, kind, sizes, 3, &again));
        CHECK(again == 0);
        DO(agpu_device_memory_statistics(device, kind, &before));
        agpu_memory_options options = AGPU_MEMORY_OPTIONS_INIT;
        options.kind = kind;
        agpu_memory memory[2];
        for (int i = 0; i < 2; i++) DO(agpu_memory_allocate(device, sizes[i], &options, &memory[i]));
        DO(agpu_device_memory_statistics(device, kind, &after));
        CHECK(after.cache_hits == before.cache_hits + 2 && after.cache_misses == before.cache_misses);
        for (int i = 0; i < 2; i++) DO(agpu_release(memory[i]));
        DO(agpu_device_empty_pool(device, kind, &freed));
        CHECK(freed == reserved);
    }
    REFUSED(agpu_device_warm_up(device, 9, sizes, 3, NULL), AGPU_ERROR_INVALID_ARGUMENT, "kind of memory is 9");
    REFUSED(agpu_device_warm_up(device, 0, NULL, 3, NULL), AGPU_ERROR_INVALID_ARGUMENT, "sizes is NULL, with 3 items");
    REFUSED(agpu_device_empty_pool(device, 3, NULL), AGPU_ERROR_INVALID_ARGUMENT, "kind of memory is 3");
    DO(agpu_device_warm_up(device, 0, NULL, 0, NULL));
    const uint64_t huge[] = {4096, UINT64_C(1) << 60};
    REFUSED(agpu_device_warm_up(device, 0, huge, 2, NULL), AGPU_ERROR_OUT_OF_MEMORY, "");
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    agpu_device device = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    database(device, arguments[1]);
    wrong_input(device, arguments[1]);
    warm_up(device);
    DO(agpu_release(device));
    check_no_handles();
    puts("ok");
    return 0;
}
