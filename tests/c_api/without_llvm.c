/* Compiles a kernel where no Python can run LLVM, and prints the failure. */
#include "check.h"

#include <amdgpu/kernel.h>

int main(void) {
    agpu_device device = NULL;
    agpu_kernel kernel = NULL;
    DO(agpu_device_open("cpu", NULL, &device));
    CHECK(agpu_kernel_compile(device, "__global__ void f(int *x) { x[0] = 1; }", NULL, &kernel) == AGPU_ERROR_CODE_GENERATOR_MISSING);
    agpu_error_info error = AGPU_ERROR_INFO_INIT;
    DO(agpu_last_error(&error));
    printf("%s: %s\n", error.name, error.message);
    DO(agpu_release(device));
    return 0;
}
