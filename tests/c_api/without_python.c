/* The library in a process that has no Python. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

extern const char *agpu_version(void);

int main(void) {
    if (dlsym(RTLD_DEFAULT, "Py_Initialize") != NULL) {
        fprintf(stderr, "Python is loaded\n");
        return 1;
    }
    printf("%s\n", agpu_version());
    return strlen(agpu_version()) > 0 ? 0 : 1;
}
