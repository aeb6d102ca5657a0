//! Headers whose contents the compiler knows, or that concern host code only.

const BUILT_IN_FOLDERS: &[&str] = &[
    "hip/",
    "cuda/",
    "rocm/",
    "thrust/",
    "hipcub/",
    "cub/",
    "cooperative_groups/",
];

/// Random numbers of `amdgpu.random` in kernels.
const PHILOX: &str = "amdgpu_philox.h";

const BUILT_IN: &[&str] = &[
    PHILOX,
    "cuda.h",
    "cuda_runtime.h",
    "cuda_runtime_api.h",
    "cooperative_groups.h",
    "cuda_fp16.h",
    "cuda_bf16.h",
    "device_launch_parameters.h",
    "math_constants.h",
    "vector_types.h",
    "vector_functions.h",
    "helper_cuda.h",
    "math.h",
    "stdint.h",
    "stddef.h",
    "stdbool.h",
    "stdio.h",
    "stdlib.h",
    "string.h",
    "limits.h",
    "float.h",
    "assert.h",
    "time.h",
    "inttypes.h",
    "sys/time.h",
    "unistd.h",
    "getopt.h",
    "omp.h",
    "errno.h",
    "signal.h",
    "ctype.h",
    "locale.h",
    "setjmp.h",
    "wchar.h",
    "fenv.h",
    "complex.h",
    "stdarg.h",
    "stdalign.h",
    "pthread.h",
    "fcntl.h",
    "dirent.h",
    "sys/types.h",
    "sys/stat.h",
    "sys/mman.h",
    "sys/resource.h",
    "malloc.h",
    "mpi.h",
    "cooperative_groups.h",
    "cuda_profiler_api.h",
    "cuComplex.h",
    "cublas_v2.h",
    "cufft.h",
    "curand.h",
    "curand_kernel.h",
    "helper_functions.h",
    "helper_math.h",
    "nvToolsExt.h",
];

/// Whether `#include <name>` needs no file.
pub fn is_built_in(name: &str) -> bool {
    // Headers of the C++ library have neither an extension nor a folder.
    let is_standard = !name.is_empty()
        && name
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
    is_standard
        || BUILT_IN.contains(&name)
        || BUILT_IN_FOLDERS
            .iter()
            .any(|folder| name.starts_with(folder))
}

/// File and text of a header whose declarations are not always there.
pub fn text_of(name: &str) -> Option<(&'static str, &'static str)> {
    if name == PHILOX {
        return Some((
            "device_lib/philox.hip",
            include_str!("../../device_lib/philox.hip"),
        ));
    }
    let is_groups = name == "cooperative_groups.h"
        || name == "hip/hip_cooperative_groups.h"
        || name == "hip/amd_detail/amd_hip_cooperative_groups.h"
        || name.starts_with("cooperative_groups/");
    is_groups.then_some((
        "device_lib/cooperative_groups.hip",
        include_str!("../../device_lib/cooperative_groups.hip"),
    ))
}
