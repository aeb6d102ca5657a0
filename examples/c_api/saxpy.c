/* out = 2 * x + y with the C interface.
 *
 * cc saxpy.c $(pkg-config --cflags --libs amdgpu) -o saxpy && ./saxpy
 */
#include <stdio.h>

#include <amdgpu/kernel.h>

static const char *const SOURCE =
    "extern \"C\" __global__ void saxpy(float a, const float *x, const float *y, float *out, int n) {\n"
    "    int i = blockIdx.x * blockDim.x + threadIdx.x;\n"
    "    if (i < n) out[i] = a * x[i] + y[i];\n"
    "}\n";

/* Says what went wrong; the caller goes on to its clean-up. */
static int failed(agpu_status status) {
    if (status == AGPU_OK) return 0;
    agpu_error_info error = AGPU_ERROR_INFO_INIT;
    agpu_last_error(&error);
    fprintf(stderr, "%s: %s\n%s\n", error.name, error.message, error.hint);
    return 1;
}

int main(void) {
    enum { COUNT = 1000 };
    float x[COUNT], y[COUNT], out[COUNT];
    for (int i = 0; i < COUNT; i++) {
        x[i] = (float)i;
        y[i] = 1;
    }
    agpu_device device = NULL;
    agpu_kernel kernel = NULL;
    agpu_memory memory[3] = {NULL, NULL, NULL};
    int is_wrong = failed(agpu_device_open(NULL, NULL, &device)) || failed(agpu_kernel_compile(device, SOURCE, NULL, &kernel));
    for (int i = 0; i < 3 && !is_wrong; i++) is_wrong = failed(agpu_memory_allocate(device, sizeof x, NULL, &memory[i]));
    if (!is_wrong) {
        const agpu_argument arguments[] = {
            agpu_argument_real(2),          agpu_argument_memory(memory[0], 0), agpu_argument_memory(memory[1], 0),
            agpu_argument_memory(memory[2], 0), agpu_argument_integer(COUNT),
        };
        agpu_launch_shape shape = AGPU_LAUNCH_SHAPE_INIT;
        shape.grid[0] = (COUNT + 255) / 256;
        shape.block[0] = 256;
        is_wrong = failed(agpu_memory_write(memory[0], 0, x, sizeof x, NULL)) || failed(agpu_memory_write(memory[1], 0, y, sizeof y, NULL)) ||
                   failed(agpu_kernel_launch(kernel, &shape, arguments, 5, NULL)) ||
                   failed(agpu_memory_read(memory[2], 0, out, sizeof out, NULL));
    }
    if (!is_wrong) printf("2 * 10 + 1 = %g\n", (double)out[10]);
    for (int i = 0; i < 3; i++)
        if (memory[i] != NULL) agpu_release(memory[i]);
    if (kernel != NULL) agpu_release(kernel);
    if (device != NULL) agpu_release(device);
    return is_wrong;
}
