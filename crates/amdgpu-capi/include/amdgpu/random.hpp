// amdgpu/random.hpp: random numbers for C++20, a part of amdgpu.hpp. The rules of amdgpu/random.h hold.
#ifndef AMDGPU_RANDOM_HPP
#define AMDGPU_RANDOM_HPP

#include "amdgpu.hpp"

namespace amdgpu {

class Random : public Object<agpu_random> {
public:
    using Object::Object;
    explicit Random(std::initializer_list<std::uint32_t> seed) : Object(create(seed)) {}

    agpu_random_state state() const {
        agpu_random_state state = AGPU_RANDOM_STATE_INIT;
        check(agpu_random_get_state(get(), &state));
        return state;
    }
    void set_state(const agpu_random_state &state) const { check(agpu_random_set_state(get(), &state)); }
    void advance(std::int64_t words) const { check(agpu_random_advance(get(), words)); }
    Random jumped(std::uint32_t jumps = 1) const {
        agpu_random result = nullptr;
        check(agpu_random_jumped(get(), jumps, &result));
        return Random(result);
    }
    std::vector<Random> spawn(std::uint32_t count) const {
        std::vector<agpu_random> handles(count);
        check(agpu_random_spawn(get(), count, handles.data()));
        return {handles.begin(), handles.end()};
    }
    void draw(const std::string &distribution, const Array &out, double a, double b = 1) const {
        check(agpu_random_draw(get(), distribution.c_str(), a, b, out.get()));
    }
    void integers(const Array &out, std::int64_t low, std::uint64_t span) const { check(agpu_random_integers(get(), low, span, out.get())); }
    Array permutation(const Device &device, std::int64_t count) const {
        agpu_array result = nullptr;
        check(agpu_random_permutation(get(), device.get(), count, &result));
        return Array(result);
    }

private:
    static agpu_random create(std::initializer_list<std::uint32_t> seed) {
        agpu_random generator = nullptr;
        check(agpu_random_create(seed.begin(), seed.size(), &generator));
        return generator;
    }
};

// x with elements set to zero that a chance of p hits.
inline Array dropout(const Array &x, double p, const agpu_random_state &state, const Array &out = {}) {
    const agpu_ops_options options = {sizeof(agpu_ops_options), out.get()};
    agpu_array result = nullptr;
    check(agpu_random_dropout(x.get(), p, &state, &options, &result));
    return Array(result);
}

// Words in the order in which TensorFlow draws them for a key and a counter.
inline Array tensorflow_bits(const Device &device, std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high, std::int64_t count) {
    agpu_array result = nullptr;
    check(agpu_random_tensorflow_bits(device.get(), key, counter_low, counter_high, count, &result));
    return Array(result);
}

// Fills memory at an address with the standard normal numbers that TensorFlow draws for a key and a counter.
inline void tensorflow_normal_at(const Device &device, std::uint64_t key, std::uint64_t counter_low, std::uint64_t counter_high, bool is_truncated,
                                 const agpu_operand &out) {
    check(agpu_random_tensorflow_normal_at(device.get(), key, counter_low, counter_high, is_truncated, &out));
}

}  // namespace amdgpu

#endif
