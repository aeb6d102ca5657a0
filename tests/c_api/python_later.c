/* A program that uses the library first, and opens libpython (its first argument) afterwards to run the second argument. */
#include <dlfcn.h>
#include <stdio.h>

extern const char *agpu_version(void);

typedef void (*initialise)(int);
typedef int (*run)(const char *);

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    printf("%s\n", agpu_version());
    fflush(stdout);
    void *python = dlopen(argv[1], RTLD_NOW | RTLD_GLOBAL);
    if (python == NULL) {
        fprintf(stderr, "%s\n", dlerror());
        return 3;
    }
    /* ISO C has no cast from an object pointer to a function pointer; POSIX does it this way. */
    initialise start;
    run execute;
    *(void **)&start = dlsym(python, "Py_InitializeEx");
    *(void **)&execute = dlsym(python, "PyRun_SimpleString");
    start(0);
    return execute(argv[2]) == 0 ? 0 : 4;
}
