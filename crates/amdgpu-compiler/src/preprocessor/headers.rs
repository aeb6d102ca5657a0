//! Headers whose contents the compiler knows, or that concern host code only.

const BUILT_IN_FOLDERS: &[&str] = &["hip/", "cuda/", "rocm/", "thrust/", "hipcub/", "cub/"];

const BUILT_IN: &[&str] = &[
    "cuda.h", "cuda_runtime.h", "cuda_runtime_api.h", "cuda_fp16.h", "cuda_bf16.h", "device_launch_parameters.h", "math_constants.h",
    "vector_types.h", "vector_functions.h", "helper_cuda.h", "math.h", "stdint.h", "stddef.h", "stdbool.h", "stdio.h", "stdlib.h",
    "string.h", "limits.h", "float.h", "assert.h", "time.h", "cmath", "cstdint", "cstddef", "cstdio", "cstdlib", "cstring",
    "climits", "cfloat", "cassert", "ctime", "iostream", "iomanip", "fstream", "sstream", "string", "vector", "array", "map",
    "set", "unordered_map", "unordered_set", "algorithm", "numeric", "random", "chrono", "limits", "memory", "utility", "tuple",
    "functional", "type_traits", "thread", "mutex", "atomic", "stdexcept", "exception", "cinttypes", "inttypes.h", "sys/time.h",
    "unistd.h", "complex", "optional", "initializer_list", "bit", "span", "getopt.h", "omp.h",
];

/// Whether `#include <name>` needs no file.
pub fn is_built_in(name: &str) -> bool {
    BUILT_IN.contains(&name) || BUILT_IN_FOLDERS.iter().any(|folder| name.starts_with(folder))
}
