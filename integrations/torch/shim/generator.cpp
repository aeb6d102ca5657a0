// generator.cpp: c10::GeneratorImpl that stands at a position of the numbers of a key, as the generators of libamdgpu do.
#include "generator.h"

#include "core.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <amdgpu/random.h>

#include <array>
#include <cstring>
#include <mutex>
#include <vector>

namespace amdgpu_torch {
namespace {

// Seed and position.
using State = std::array<uint64_t, 2>;

// The key of a seed is that of `amdgpu.random`: a seed gives the same numbers there and here.
uint64_t key_of(uint64_t seed) {
    const std::array<uint32_t, 2> words{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)};
    agpu_random made = nullptr;
    check(agpu_random_create(words.data(), words[1] == 0 ? 1 : 2, &made));
    agpu_random_state state = AGPU_RANDOM_STATE_INIT;
    const auto status = agpu_random_get_state(made, &state);
    (void)agpu_release(made);
    check(status);
    return state.key;
}

struct RdnaGenerator final : c10::GeneratorImpl {
    explicit RdnaGenerator(c10::DeviceIndex index)
        : GeneratorImpl(c10::Device(device_type, index), c10::DispatchKeySet(c10::DispatchKey::PrivateUse1)) {
        set_current_seed(c10::default_rng_seed_val);
    }

    void set_current_seed(uint64_t seed) override {
        key_ = key_of(seed);
        seed_ = seed;
        position_ = 0;
    }

    void set_offset(uint64_t offset) override { position_ = offset; }
    uint64_t get_offset() const override { return position_; }
    uint64_t current_seed() const override { return seed_; }

    uint64_t seed() override {
        set_current_seed(c10::detail::getNonDeterministicRandom());
        return seed_;
    }

    void set_state(const c10::TensorImpl &given) override {
        TORCH_CHECK(
            given.device_type() == c10::DeviceType::CPU && given.dtype().toScalarType() == c10::ScalarType::Byte &&
                given.is_contiguous() && given.numel() == static_cast<int64_t>(sizeof(State)),
            "the state of an rdna generator is a contiguous CPU tensor of ",
            sizeof(State),
            " bytes, as get_state gives it");
        State state{};
        std::memcpy(state.data(), given.data(), sizeof state);
        set_current_seed(state[0]);
        position_ = state[1];
    }

    c10::intrusive_ptr<c10::TensorImpl> get_state() const override {
        const State state{seed_, position_};
        at::Tensor result = at::empty({static_cast<int64_t>(sizeof state)}, at::TensorOptions().dtype(at::kByte).device(at::kCPU));
        std::memcpy(result.mutable_data_ptr(), state.data(), sizeof state);
        return result.getIntrusivePtr();
    }

    PhiloxRange take(uint64_t words) {
        const PhiloxRange range{key_, position_};
        position_ += (words + 3) / 4 * 4;
        return range;
    }

private:
    RdnaGenerator *clone_impl() const override {
        auto *copy = new RdnaGenerator(device_.index());
        copy->seed_ = seed_;
        copy->key_ = key_;
        copy->position_ = position_;
        return copy;
    }

    uint64_t seed_ = 0;
    uint64_t key_ = 0;
    uint64_t position_ = 0;
};

} // namespace

at::Generator new_generator(c10::DeviceIndex index) {
    const auto chosen = index < 0 ? current_device() : index;
    check_index(chosen);
    return at::make_generator<RdnaGenerator>(chosen);
}

const at::Generator &default_generator(c10::DeviceIndex index) {
    const auto chosen = index < 0 ? current_device() : index;
    check_index(chosen);
    static auto *all = [] {
        auto *made = new std::vector<at::Generator>();
        for (c10::DeviceIndex each = 0; each < device_count(); ++each) made->push_back(new_generator(each));
        return made;
    }();
    return (*all)[chosen];
}

PhiloxRange take_random(const at::Generator &generator, uint64_t words) {
    TORCH_CHECK(
        generator.device().type() == device_type, "a generator of rdna is expected, not one of ", generator.device());
    at::Generator shared = generator;
    const std::lock_guard<std::mutex> lock(shared.mutex());
    return shared.get<RdnaGenerator>()->take(words);
}

} // namespace amdgpu_torch
