// What the C++ programs of this folder check with. A check that fails says where and ends the program with 1.
#ifndef CHECK_HPP
#define CHECK_HPP

#include <amdgpu/amdgpu.hpp>

#include <cmath>
#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                                  \
    do {                                                                                  \
        if (!(condition)) {                                                               \
            std::fprintf(stderr, "%s:%d: %s is false\n", __FILE__, __LINE__, #condition); \
            std::exit(1);                                                                 \
        }                                                                                 \
    } while (0)

// The work throws an error of this status, with a message that has these words.
template <typename Work>
void expect(agpu_status status, const char *words, Work work) {
    try {
        work();
    } catch (const amdgpu::Error &error) {
        CHECK(error.status() == status && error.name() == amdgpu::status_name(status));
        CHECK(std::string_view(error.what()).find(words) != std::string_view::npos);
        return;
    }
    std::fprintf(stderr, "nothing was thrown instead of %s\n", agpu_status_name(status));
    std::exit(1);
}

// An array with these extents that holds a copy of the values.
template <typename T>
amdgpu::Array array_of(const amdgpu::Device &device, const std::string &dtype, std::initializer_list<std::int64_t> shape,
                       const std::vector<T> &values) {
    amdgpu::Array array(device, dtype, shape);
    array.write(std::span<const T>(values));
    return array;
}

// Whether float32 values differ from these by rounding alone.
inline bool is_near(const amdgpu::Array &array, const std::vector<double> &wanted) {
    const std::vector<float> found = array.read<float>();
    if (found.size() != wanted.size()) return false;
    for (std::size_t i = 0; i < found.size(); i++)
        if (!(std::abs(found[i] - wanted[i]) <= 1e-6 + 1e-5 * std::abs(wanted[i]))) return false;
    return true;
}

#endif
