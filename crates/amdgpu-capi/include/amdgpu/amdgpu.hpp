// amdgpu.hpp: the C interface for C++20, in this header alone. The rules of amdgpu/runtime.h hold.
//
// Objects own one reference: copying one takes another, destroying it gives it back. Failures are `amdgpu::Error`, with the status, the message
// and the hint of the library. Arrays come in as std::span. Every function may be called from every thread.
#ifndef AMDGPU_HPP
#define AMDGPU_HPP

#include <array>
#include <chrono>
#include <concepts>
#include <cstring>
#include <exception>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "array.h"
#include "kernel.h"
#include "network.h"
#include "graph.h"
#include "ops.h"
#include "random.h"
#include "runtime.h"
#include "telemetry.h"

namespace amdgpu {

// A call that failed.
class Error : public std::runtime_error {
public:
    Error(agpu_status status, const agpu_error_info &info)
        : std::runtime_error(info.message), status_(status), name_(info.name), hint_(info.hint) {}

    // A code of amdgpu/errors.h.
    agpu_status status() const noexcept { return status_; }
    // In kebab-case, stable: "out-of-memory".
    const std::string &name() const noexcept { return name_; }
    // What to do; empty where the message says it.
    const std::string &hint() const noexcept { return hint_; }

private:
    agpu_status status_;
    std::string name_, hint_;
};

// Throws what the last call left, unless it succeeded.
inline void check(agpu_status status) {
    if (status == AGPU_OK) return;
    agpu_error_info info = AGPU_ERROR_INFO_INIT;
    agpu_last_error(&info);
    throw Error(status, info);
}

inline std::string version() { return agpu_version(); }
inline std::string status_name(agpu_status status) { return agpu_status_name(status); }

// How many handles of this process are alive.
inline std::uint64_t handle_count() {
    std::uint64_t count = 0;
    check(agpu_handle_count(&count));
    return count;
}

// One reference to an object of the library.
template <typename Handle>
class Object {
public:
    Object() = default;
    // Takes over a reference that the caller has.
    explicit Object(Handle handle) noexcept : handle_(handle) {}
    Object(const Object &other) : handle_(other.handle_) {
        if (handle_) check(agpu_retain(handle_));
    }
    Object(Object &&other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    Object &operator=(Object other) noexcept {
        std::swap(handle_, other.handle_);
        return *this;
    }
    ~Object() {
        // A destructor has nobody to tell: the handle is alive, or of before a fork, which leaves it to the parent.
        if (handle_) agpu_release(handle_);
    }

    // The handle, for functions of the C interface; the object keeps its reference.
    Handle get() const noexcept { return handle_; }
    explicit operator bool() const noexcept { return handle_ != nullptr; }

private:
    Handle handle_ = nullptr;
};

// A text of the library, copied.
inline std::string take_text(agpu_text handle) {
    Object<agpu_text> text(handle);
    const char *data = nullptr;
    std::uint64_t length = 0;
    check(agpu_text_get(text.get(), &data, &length));
    return std::string(data, length);
}

class Stream;

class Event : public Object<agpu_event> {
public:
    using Object::Object;
    inline void record(const Stream &stream);
    void synchronize() const { check(agpu_event_synchronize(get())); }
    bool is_complete() const {
        bool result = false;
        check(agpu_event_is_complete(get(), &result));
        return result;
    }
    // From this event to a later one; both have happened.
    std::chrono::nanoseconds until(const Event &end) const {
        std::int64_t elapsed = 0;
        check(agpu_event_elapsed_ns(get(), end.get(), &elapsed));
        return std::chrono::nanoseconds(elapsed);
    }
};

class Stream : public Object<agpu_stream> {
public:
    using Object::Object;
    void synchronize() const { check(agpu_stream_synchronize(get())); }
    bool is_idle() const {
        bool result = false;
        check(agpu_stream_is_idle(get(), &result));
        return result;
    }
    void wait(const Event &event) const { check(agpu_stream_wait_event(get(), event.get())); }
    // Calls `work` with the driver's own stream (CUstream, hipStream_t), to which it may submit; false, and no call, on the CPU.
    template <typename Work>
    bool lend(Work &&work) const {
        struct Loan {
            Work &work;
            std::exception_ptr error;
        } loan{work, nullptr};
        const agpu_native_work call = [](void *native_stream, void *data) -> int {
            auto &lent = *static_cast<Loan *>(data);
            try {
                lent.work(native_stream);
                return 0;
            } catch (...) {
                lent.error = std::current_exception();
                return 1;
            }
        };
        bool was_lent = false;
        const agpu_status status = agpu_stream_lend(get(), call, &loan, &was_lent);
        if (loan.error) std::rethrow_exception(loan.error);
        check(status);
        return was_lent;
    }
};

inline void Event::record(const Stream &stream) { check(agpu_event_record(get(), stream.get())); }

// Functions that take a stream do their work in it and return at once; with a default-constructed one they wait.
inline const Stream wait_for_it{};

class Memory : public Object<agpu_memory> {
public:
    using Object::Object;
    std::uint64_t size_bytes() const {
        std::uint64_t bytes = 0;
        check(agpu_memory_size(get(), &bytes));
        return bytes;
    }
    void *address() const {
        void *result = nullptr;
        check(agpu_memory_address(get(), &result, nullptr));
        return result;
    }
    bool is_host_visible() const {
        void *ignored = nullptr;
        bool result = false;
        check(agpu_memory_address(get(), &ignored, &result));
        return result;
    }
    // Copies from the host, and waits.
    template <typename T>
        requires std::is_trivially_copyable_v<T>
    void write(std::span<const T> data, std::uint64_t offset_bytes = 0, const Stream &stream = wait_for_it) const {
        check(agpu_memory_write(get(), offset_bytes, data.data(), data.size_bytes(), stream.get()));
    }
    // Copies to the host, and waits.
    template <typename T>
        requires std::is_trivially_copyable_v<T>
    void read(std::span<T> data, std::uint64_t offset_bytes = 0, const Stream &stream = wait_for_it) const {
        check(agpu_memory_read(get(), offset_bytes, data.data(), data.size_bytes(), stream.get()));
    }
    template <typename T>
        requires std::is_trivially_copyable_v<T>
    std::vector<T> read(std::size_t count, std::uint64_t offset_bytes = 0) const {
        std::vector<T> result(count);
        read(std::span<T>(result), offset_bytes);
        return result;
    }
    void copy_from(const Memory &source, std::uint64_t bytes, std::uint64_t offset_bytes = 0, std::uint64_t source_offset_bytes = 0,
                   const Stream &stream = wait_for_it) const {
        check(agpu_memory_copy(get(), offset_bytes, source.get(), source_offset_bytes, bytes, stream.get()));
    }
    void fill(std::uint8_t value, const Stream &stream = wait_for_it) const {
        check(agpu_memory_fill(get(), 0, size_bytes(), value, stream.get()));
    }
};

class Array;

// An argument of a launch. Numbers, memory, arrays and structs convert by themselves; addresses are given as a span.
class Argument {
public:
    // A contiguous array of the kernel's device.
    inline Argument(const Array &array);
    Argument(const Memory &memory, std::uint64_t offset_bytes = 0) : value_(agpu_argument_memory(memory.get(), offset_bytes)) {}
    Argument(bool value) : value_(agpu_argument_boolean(value)) {}
    template <std::signed_integral T>
    Argument(T value) : value_(agpu_argument_integer(value)) {}
    template <std::unsigned_integral T>
    Argument(T value) : value_(agpu_argument_unsigned(value)) {}
    template <std::floating_point T>
    Argument(T value) : value_(agpu_argument_real(static_cast<double>(value))) {}
    // Memory that the device reaches by itself, kept by the caller until the launch has run.
    template <typename T>
    Argument(std::span<T> data) : value_(agpu_argument_pointer(data.data(), data.size_bytes())) {}
    // A struct by value, alive until the call returns.
    template <typename T>
        requires(std::is_class_v<T> && std::is_trivially_copyable_v<T> && !std::is_base_of_v<Object<agpu_memory>, T>)
    Argument(const T &value) : value_(agpu_argument_struct(&value, sizeof value)) {}

    const agpu_argument &get() const noexcept { return value_; }

private:
    agpu_argument value_;
};

struct Extent {
    std::uint32_t x = 1, y = 1, z = 1;
};

inline agpu_launch_shape launch_shape(Extent grid, Extent block, std::uint64_t shared_bytes) {
    return {sizeof(agpu_launch_shape), {grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared_bytes};
}

inline std::vector<agpu_argument> to_c(std::initializer_list<Argument> arguments) {
    std::vector<agpu_argument> result;
    for (const Argument &argument : arguments) result.push_back(argument.get());
    return result;
}

// A launch whose shape and arguments are checked once.
class Launch : public Object<agpu_launch> {
public:
    using Object::Object;
    void operator()(const Stream &stream = wait_for_it) const { check(agpu_launch_run(get(), stream.get())); }
};

class Kernel : public Object<agpu_kernel> {
public:
    using Object::Object;
    agpu_kernel_facts info() const {
        agpu_kernel_facts facts = AGPU_KERNEL_FACTS_INIT;
        check(agpu_kernel_info(get(), &facts));
        return facts;
    }
    void launch(Extent grid, Extent block, std::initializer_list<Argument> arguments, const Stream &stream = wait_for_it,
                std::uint64_t shared_bytes = 0) const {
        const agpu_launch_shape shape = launch_shape(grid, block, shared_bytes);
        const auto list = to_c(arguments);
        check(agpu_kernel_launch(get(), &shape, list.data(), list.size(), stream.get()));
    }
    Launch prepare(Extent grid, Extent block, std::initializer_list<Argument> arguments, std::uint64_t shared_bytes = 0) const {
        const agpu_launch_shape shape = launch_shape(grid, block, shared_bytes);
        const auto list = to_c(arguments);
        agpu_launch launch = nullptr;
        check(agpu_launch_prepare(get(), &shape, list.data(), list.size(), &launch));
        return Launch(launch);
    }
};

class CapturedGraph : public Object<agpu_captured_graph> {
public:
    using Object::Object;
    std::uint64_t node_count() const {
        std::uint64_t count = 0;
        check(agpu_captured_graph_node_count(get(), &count));
        return count;
    }
    void replay(const Stream &stream = wait_for_it) const { check(agpu_captured_graph_replay(get(), stream.get())); }
};

struct MemoryOptions {
    std::uint32_t kind = AGPU_MEMORY_DEVICE;
    const Stream &stream = wait_for_it;
};

struct CompileOptions {
    std::optional<std::string> kernel_name{}, file_name{}, core_type{}, optimization_level{};
    std::vector<std::pair<std::string, std::string>> defines{};
    bool fast_math = false;
    bool checked = false;
};

struct DeviceOptions {
    std::optional<std::string> optimization_level{}, telemetry{};
};

inline const char *or_null(const std::optional<std::string> &text) { return text ? text->c_str() : nullptr; }

// Facts of the devices of this machine.
inline std::vector<agpu_device_facts> list_devices() {
    std::uint32_t count = 0;
    check(agpu_device_count(&count));
    std::vector<agpu_device_facts> result;
    for (std::uint32_t index = 0; index < count; index++) {
        agpu_device_facts facts = AGPU_DEVICE_FACTS_INIT;
        check(agpu_device_info_at(index, &facts));
        result.push_back(facts);
    }
    return result;
}

class Device : public Object<agpu_device> {
public:
    using Object::Object;
    // By name ("cpu", "hip:0"); without one, the best device.
    explicit Device(const std::optional<std::string> &name = std::nullopt, const DeviceOptions &options = {})
        : Object(open(name, options)) {}

    agpu_device_facts info() const {
        agpu_device_facts facts = AGPU_DEVICE_FACTS_INIT;
        check(agpu_device_info(get(), &facts));
        return facts;
    }
    agpu_memory_info memory() const {
        agpu_memory_info info = AGPU_MEMORY_INFO_INIT;
        check(agpu_device_memory(get(), &info));
        return info;
    }
    agpu_memory_statistics memory_statistics(std::uint32_t kind = AGPU_MEMORY_DEVICE) const {
        agpu_memory_statistics statistics = AGPU_MEMORY_STATISTICS_INIT;
        check(agpu_device_memory_statistics(get(), kind, &statistics));
        return statistics;
    }
    void reset_memory_peaks() const { check(agpu_device_reset_memory_peaks(get())); }
    std::uint64_t empty_cache() const {
        std::uint64_t freed = 0;
        check(agpu_device_empty_cache(get(), &freed));
        return freed;
    }
    // Gives cached memory of one kind back to the system.
    std::uint64_t empty_pool(std::uint32_t kind) const {
        std::uint64_t freed = 0;
        check(agpu_device_empty_pool(get(), kind, &freed));
        return freed;
    }
    // Reserves a block for each size in advance; by how many bytes what is reserved grew.
    std::uint64_t warm_up(std::span<const std::uint64_t> sizes, std::uint32_t kind = AGPU_MEMORY_DEVICE) const {
        std::uint64_t reserved = 0;
        check(agpu_device_warm_up(get(), kind, sizes.data(), sizes.size(), &reserved));
        return reserved;
    }
    void synchronize() const { check(agpu_device_synchronize(get())); }
    Stream create_stream() const {
        agpu_stream stream = nullptr;
        check(agpu_stream_create(get(), &stream));
        return Stream(stream);
    }
    // The stream in which operations on arrays run.
    Stream default_stream() const {
        agpu_stream stream = nullptr;
        check(agpu_device_default_stream(get(), &stream));
        return Stream(stream);
    }
    Event create_event() const {
        agpu_event event = nullptr;
        check(agpu_event_create(get(), &event));
        return Event(event);
    }
    Memory allocate(std::uint64_t bytes, const MemoryOptions &options = {}) const {
        const agpu_memory_options c_options = {sizeof(agpu_memory_options), options.kind, 0, options.stream.get()};
        agpu_memory memory = nullptr;
        check(agpu_memory_allocate(get(), bytes, &c_options, &memory));
        return Memory(memory);
    }
    // Memory that holds a copy of the data.
    template <typename T>
    Memory upload(std::span<const T> data) const {
        Memory memory = allocate(data.size_bytes());
        memory.write(data);
        return memory;
    }
    Kernel compile(const std::string &source, const CompileOptions &options = {}) const {
        std::vector<agpu_define> defines;
        for (const auto &[name, value] : options.defines) defines.push_back({name.c_str(), value.c_str()});
        const agpu_compile_options c_options = {
            sizeof(agpu_compile_options),   or_null(options.kernel_name), or_null(options.file_name), or_null(options.core_type),
            or_null(options.optimization_level), defines.data(),          defines.size(),             options.fast_math ? 1U : 0U,
            options.checked ? 1U : 0U,
        };
        agpu_kernel kernel = nullptr;
        check(agpu_kernel_compile(get(), source.c_str(), &c_options, &kernel));
        return Kernel(kernel);
    }
    // Records what `work` submits on this thread; an exception gives the recording up.
    template <std::invocable Work>
    CapturedGraph record(Work &&work) const {
        agpu_captured_graph handle = nullptr;
        check(agpu_captured_graph_begin(get(), &handle));
        CapturedGraph graph(handle);
        try {
            std::forward<Work>(work)();
        } catch (...) {
            agpu_captured_graph_abandon(handle);
            throw;
        }
        check(agpu_captured_graph_end(handle));
        return graph;
    }

private:
    static agpu_device open(const std::optional<std::string> &name, const DeviceOptions &options) {
        const agpu_device_options c_options = {sizeof(agpu_device_options), or_null(options.optimization_level), or_null(options.telemetry)};
        agpu_device device = nullptr;
        check(agpu_device_open(or_null(name), &c_options, &device));
        return device;
    }
};

struct NetworkOptions {
    std::optional<std::string> base_directory{};
    std::optional<std::uint64_t> seed{};
    std::uint32_t threads = 0;

    agpu_network_options to_c() const {
        return {sizeof(agpu_network_options), or_null(base_directory), seed.value_or(0), seed ? 1U : 0U, threads};
    }
};

// A layered network.
class Network : public Object<agpu_network> {
public:
    explicit Network(const std::string &text, const NetworkOptions &options = {}) : Object(build(text, options)) {}

    agpu_network_facts info() const {
        agpu_network_facts facts = AGPU_NETWORK_FACTS_INIT;
        check(agpu_network_info(get(), &facts));
        return facts;
    }
    // Rows of inputs (of `steps` rows each, for a network that has steps) to rows of outputs.
    std::vector<float> forward(std::span<const float> input, std::uint64_t steps = 1) const {
        const agpu_network_facts facts = info();
        const std::uint64_t row = facts.inputs * (facts.has_steps ? steps : 1);
        if (row == 0 || input.size() % row != 0) throw std::invalid_argument("the input is not made of whole samples");
        const std::uint64_t samples = input.size() / row;
        std::vector<float> output(samples * facts.outputs);
        check(agpu_network_forward(get(), input.data(), samples, steps, output.data(), output.size()));
        return output;
    }
    // Where the array lies, with the weights in the memory of its device; with `uses_kernels` by the kernels that GPUs run, on a CPU device too.
    inline Array forward(const Array &input, bool uses_kernels = false) const;
    // Outputs of rows of inputs, behind which the plasticity rules of the text are applied once.
    std::vector<float> hebbian_step(std::span<const float> input) const {
        const agpu_network_facts facts = info();
        if (input.size() % facts.inputs != 0) throw std::invalid_argument("the input is not made of whole samples");
        const std::uint64_t samples = input.size() / facts.inputs;
        std::vector<float> output(samples * facts.outputs);
        check(agpu_network_hebbian_step(get(), input.data(), samples, output.data(), output.size()));
        return output;
    }
    // Of a layer; empty for one without.
    std::vector<float> biases(const std::string &layer) const {
        std::uint64_t count = 0;
        check(agpu_network_biases(get(), layer.c_str(), nullptr, 0, &count));
        std::vector<float> values(count);
        check(agpu_network_biases(get(), layer.c_str(), values.data(), count, nullptr));
        return values;
    }
    void set_biases(const std::string &layer, std::span<const float> values) const {
        check(agpu_network_set_biases(get(), layer.c_str(), values.data(), values.size()));
    }
    // Row-major, and how many columns a row has.
    std::pair<std::vector<float>, std::uint64_t> weights(const std::string &connection) const {
        std::uint64_t rows = 0, columns = 0;
        check(agpu_network_weights(get(), connection.c_str(), nullptr, 0, &rows, &columns));
        std::vector<float> values(rows * columns);
        check(agpu_network_weights(get(), connection.c_str(), values.data(), values.size(), nullptr, nullptr));
        return {std::move(values), columns};
    }
    void set_weights(const std::string &connection, std::span<const float> values) const {
        check(agpu_network_set_weights(get(), connection.c_str(), values.data(), values.size()));
    }

private:
    static agpu_network build(const std::string &text, const NetworkOptions &options) {
        const agpu_network_options c_options = options.to_c();
        agpu_network network = nullptr;
        check(agpu_network_build(text.c_str(), &c_options, &network));
        return network;
    }
};

struct TrainerOptions {
    std::optional<std::string> loss{};
    std::optional<std::string> optimizer{};
    std::vector<std::pair<std::string, double>> parameters{};
    std::uint64_t batch_size = 0, steps = 0;
    double l2_penalty = 0;
    std::uint64_t seed = 0;
    bool keeps_order = false, uses_kernels = false;
};

// Samples with what the outputs should be, either values or labels; `chosen` empty is all of them.
struct TrainingSamples {
    std::span<const float> x;
    std::span<const float> values{};
    std::span<const std::uint32_t> labels{};
    std::span<const std::uint32_t> chosen{};
};

// Trains a layered network by back-propagation.
class Trainer : public Object<agpu_trainer> {
public:
    // On this machine's cores.
    explicit Trainer(const Network &network, const TrainerOptions &options = {}) : Trainer(network, nullptr, options) {}
    // On a device.
    Trainer(const Network &network, const Device &device, const TrainerOptions &options = {}) : Trainer(network, device.get(), options) {}

    agpu_trainer_facts info() const {
        agpu_trainer_facts facts = AGPU_TRAINER_FACTS_INIT;
        check(agpu_trainer_info(get(), &facts));
        return facts;
    }
    agpu_training_report epoch(const TrainingSamples &samples, double learning_rate = 1e-3) const {
        const agpu_training_samples c_samples = to_c(samples);
        agpu_training_report report = AGPU_TRAINING_REPORT_INIT;
        check(agpu_trainer_epoch(get(), &c_samples, learning_rate, &report));
        return report;
    }
    agpu_training_report evaluate(const TrainingSamples &samples) const {
        const agpu_training_samples c_samples = to_c(samples);
        agpu_training_report report = AGPU_TRAINING_REPORT_INIT;
        check(agpu_trainer_evaluate(get(), &c_samples, &report));
        return report;
    }
    // By the weights of each connection in the order of the text, then by the biases of each layer that has some.
    std::vector<float> gradients(const TrainingSamples &samples) const {
        const agpu_training_samples c_samples = to_c(samples);
        std::vector<float> values(parameters_);
        check(agpu_trainer_gradients(get(), &c_samples, values.data(), values.size(), nullptr));
        return values;
    }
    std::vector<float> state() const {
        std::vector<float> values(info().state_count);
        check(agpu_trainer_state(get(), values.data(), values.size()));
        return values;
    }
    // Go on where a trainer with the same options was.
    void restore(std::span<const float> state, const agpu_trainer_facts &facts) const {
        check(agpu_trainer_restore(get(), state.data(), state.size(), facts.epochs, facts.batches));
    }

private:
    Trainer(const Network &network, agpu_device device, const TrainerOptions &options)
        : Object(create(network, device, options)), inputs_(network.info().inputs * (options.steps > 0 ? options.steps : 1)),
          parameters_(network.info().parameters) {}

    static agpu_trainer create(const Network &network, agpu_device device, const TrainerOptions &options) {
        std::vector<agpu_optimizer_parameter> parameters;
        for (const auto &[name, value] : options.parameters) parameters.push_back({name.c_str(), value});
        const agpu_trainer_options c_options = {
            sizeof(agpu_trainer_options), device,        or_null(options.loss), or_null(options.optimizer), parameters.data(),
            parameters.size(),            options.batch_size, options.steps,    options.l2_penalty,         options.seed,
            options.keeps_order ? 1U : 0U, options.uses_kernels ? 1U : 0U,
        };
        agpu_trainer trainer = nullptr;
        check(agpu_trainer_create(network.get(), &c_options, &trainer));
        return trainer;
    }
    agpu_training_samples to_c(const TrainingSamples &samples) const {
        if (samples.x.size() % inputs_ != 0) throw std::invalid_argument("x is not made of whole samples");
        return {sizeof(agpu_training_samples), samples.x.data(),     samples.values.data(),      samples.labels.data(),
                samples.x.size() / inputs_,    samples.chosen.data(), samples.chosen.size()};
    }

    std::uint64_t inputs_, parameters_;
};

struct Spikes {
    std::vector<double> times_seconds;
    std::vector<std::uint32_t> neurons;
};

// What a run of a spiking network left.
class Run : public Object<agpu_run> {
public:
    using Object::Object;
    agpu_run_facts info() const {
        agpu_run_facts facts = AGPU_RUN_FACTS_INIT;
        check(agpu_run_info(get(), &facts));
        return facts;
    }
    agpu_run_item population(std::uint64_t index) const {
        agpu_run_item item = AGPU_RUN_ITEM_INIT;
        check(agpu_run_population(get(), index, &item));
        return item;
    }
    // Of one `record` of the text.
    Spikes spikes(std::uint64_t index) const {
        std::uint64_t count = 0;
        check(agpu_run_spikes(get(), index, nullptr, nullptr, 0, &count));
        Spikes spikes{std::vector<double>(count), std::vector<std::uint32_t>(count)};
        check(agpu_run_spikes(get(), index, spikes.times_seconds.data(), spikes.neurons.data(), count, nullptr));
        return spikes;
    }
};

class SpikingNetwork : public Object<agpu_spiking> {
public:
    SpikingNetwork(const Device &device, const std::string &text, const NetworkOptions &options = {})
        : Object(build(device, text, options)) {}

    agpu_spiking_facts info() const {
        agpu_spiking_facts facts = AGPU_SPIKING_FACTS_INIT;
        check(agpu_spiking_info(get(), &facts));
        return facts;
    }
    Run run(std::uint64_t steps) const {
        agpu_run run = nullptr;
        check(agpu_spiking_run(get(), steps, &run));
        return Run(run);
    }
    // One value for each neuron of `population.variable`.
    std::vector<float> state(const std::string &name) const {
        std::uint64_t count = 0;
        check(agpu_spiking_state(get(), name.c_str(), nullptr, 0, &count));
        std::vector<float> values(count);
        check(agpu_spiking_state(get(), name.c_str(), values.data(), count, nullptr));
        return values;
    }
    void set_state(const std::string &name, std::span<const float> values) const {
        check(agpu_spiking_set_state(get(), name.c_str(), values.data(), values.size()));
    }

private:
    static agpu_spiking build(const Device &device, const std::string &text, const NetworkOptions &options) {
        const agpu_network_options c_options = options.to_c();
        agpu_spiking network = nullptr;
        check(agpu_spiking_build(device.get(), text.c_str(), &c_options, &network));
        return network;
    }
};

class Array : public Object<agpu_array> {
public:
    using Object::Object;
    // Its elements are not set.
    Array(const Device &device, const std::string &dtype, std::span<const std::int64_t> shape, std::uint32_t kind = AGPU_MEMORY_DEVICE)
        : Object(create(device, dtype, shape, kind)) {}
    Array(const Device &device, const std::string &dtype, std::initializer_list<std::int64_t> shape)
        : Array(device, dtype, std::span<const std::int64_t>(shape.begin(), shape.size())) {}

    // Takes over a DLPack tensor.
    static Array from_dlpack(void *managed, bool is_versioned = true) {
        agpu_array array = nullptr;
        check(agpu_array_from_dlpack(managed, is_versioned, &array));
        return Array(array);
    }
    void *to_dlpack(bool is_versioned = true) const {
        void *managed = nullptr;
        check(agpu_array_to_dlpack(get(), is_versioned, &managed));
        return managed;
    }
    agpu_array_facts info() const {
        agpu_array_facts facts = AGPU_ARRAY_FACTS_INIT;
        check(agpu_array_info(get(), &facts));
        return facts;
    }
    std::vector<std::int64_t> shape() const {
        const agpu_array_facts facts = info();
        return {facts.shape, facts.shape + facts.dimensions};
    }
    template <typename T>
        requires std::is_trivially_copyable_v<T>
    void write(std::span<const T> data) const {
        check(agpu_array_write(get(), data.data(), data.size_bytes()));
    }
    template <typename T>
        requires std::is_trivially_copyable_v<T>
    std::vector<T> read() const {
        std::vector<T> values(info().elements);
        check(agpu_array_read(get(), values.data(), values.size() * sizeof(T)));
        return values;
    }
    template <typename T>
        requires std::is_trivially_copyable_v<T>
    void fill(T element) const {
        check(agpu_array_fill(get(), &element, sizeof element));
    }
    void copy_from(const Array &source) const { check(agpu_array_copy(get(), source.get())); }
    Array reshape(std::initializer_list<std::int64_t> shape) const {
        agpu_array view = nullptr;
        check(agpu_array_reshape(get(), static_cast<std::uint32_t>(shape.size()), shape.begin(), &view));
        return Array(view);
    }
    // Strides in elements, as many as extents.
    Array view(std::initializer_list<std::int64_t> shape, std::initializer_list<std::int64_t> strides) const {
        if (shape.size() != strides.size()) throw std::invalid_argument("a view has as many strides as extents");
        agpu_array view = nullptr;
        check(agpu_array_view(get(), static_cast<std::uint32_t>(shape.size()), shape.begin(), strides.begin(), &view));
        return Array(view);
    }
    void synchronize() const { check(agpu_array_synchronize(get())); }

private:
    static agpu_array create(const Device &device, const std::string &dtype, std::span<const std::int64_t> shape, std::uint32_t kind) {
        const agpu_array_options options = {sizeof(agpu_array_options), kind, 0};
        agpu_array array = nullptr;
        check(agpu_array_create(device.get(), dtype.c_str(), static_cast<std::uint32_t>(shape.size()), shape.data(), &options, &array));
        return array;
    }
};

inline Array Network::forward(const Array &input, bool uses_kernels) const {
    const agpu_network_forward_options options = {sizeof(agpu_network_forward_options), uses_kernels ? 1U : 0U, 0};
    agpu_array output = nullptr;
    check(agpu_network_forward_array(get(), input.get(), &options, &output));
    return Array(output);
}

inline Argument::Argument(const Array &array) : value_(agpu_argument_array(array.get())) {}

namespace telemetry {

// Everything that the process counted and recorded, as JSON.
inline std::string snapshot() {
    agpu_text text = nullptr;
    check(agpu_telemetry_snapshot(&text));
    return take_text(text);
}

// The metrics as a page for Prometheus.
inline std::string prometheus() {
    agpu_text text = nullptr;
    check(agpu_telemetry_prometheus(&text));
    return take_text(text);
}

inline void set_enabled(bool is_enabled) { check(agpu_telemetry_set_enabled(is_enabled)); }

// Whether somebody takes all records now.
inline bool is_watched() { return agpu_telemetry_is_watched(); }

// A piece of work of the calling thread, in nanoseconds of CLOCK_MONOTONIC.
inline void mark(const std::string &name, std::uint64_t start_ns, std::uint64_t duration_ns) {
    check(agpu_telemetry_mark(name.c_str(), start_ns, duration_ns));
}

}  // namespace telemetry

}  // namespace amdgpu

#include "graph.hpp"
#include "ops.hpp"
#include "random.hpp"

#endif
