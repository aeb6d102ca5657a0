// fallback.cpp: the boxed CPU fallback, and the refusal of sparse and quantised tensors.
#include "fallback.h"

#include "core.h"
#include "generator.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/native/CPUFallback.h>
#include <torch/library.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <optional>
#include <sstream>
#include <string_view>

namespace amdgpu_torch {
namespace {

enum class Mode { warn, silent, error };

Mode parse_mode(std::string_view name) {
    if (name == "warn") return Mode::warn;
    if (name == "silent") return Mode::silent;
    if (name == "error") return Mode::error;
    TORCH_CHECK_VALUE(false, "the fallback is \"", name, "\"; known are warn, silent, error (AMDGPU_TORCH_FALLBACK)");
}

struct Fallbacks {
    std::mutex mutex;
    // Not known before the first use, so that a wrong name in the environment is told by a call and not by the import.
    std::optional<Mode> mode;
    std::map<std::string, FallbackCount> counts;
};

Fallbacks &fallbacks() {
    static auto *made = new Fallbacks();
    return *made;
}

Mode mode_locked() {
    auto &mode = fallbacks().mode;
    if (!mode) {
        const char *named = std::getenv("AMDGPU_TORCH_FALLBACK");
        mode = named == nullptr || *named == '\0' ? Mode::warn : parse_mode(named);
    }
    return *mode;
}

// The tensors among the arguments, those of lists included.
template <typename Visit>
void each_tensor(c10::ArrayRef<c10::IValue> arguments, const Visit &visit) {
    for (const auto &argument : arguments) {
        if (argument.isTensor()) {
            if (argument.toTensor().defined()) visit(argument.toTensor());
        } else if (argument.isTensorList()) {
            for (const at::Tensor &tensor : argument.toTensorVector())
                if (tensor.defined()) visit(tensor);
        } else if (argument.isOptionalTensorList()) {
            for (const auto &tensor : argument.toOptionalTensorVector())
                if (tensor && tensor->defined()) visit(*tensor);
        }
    }
}

std::string describe(c10::ArrayRef<c10::IValue> arguments) {
    std::ostringstream text;
    int told = 0;
    each_tensor(arguments, [&](const at::Tensor &tensor) {
        if (told++ >= 4) return;
        text << (told == 1 ? " for " : ", ") << tensor.scalar_type() << tensor.sizes();
    });
    return std::move(text).str();
}

uint64_t bytes_on_device(c10::ArrayRef<c10::IValue> arguments) {
    uint64_t bytes = 0;
    each_tensor(arguments, [&](const at::Tensor &tensor) {
        if (tensor.device().type() == device_type) bytes += static_cast<uint64_t>(tensor.numel()) * tensor.element_size();
    });
    return bytes;
}

// Counts the call; throws where the CPU is forbidden, and says so once for each operator.
void account(const std::string &name, c10::ArrayRef<c10::IValue> arguments) {
    bool is_first = false;
    const uint64_t bytes = bytes_on_device(arguments);
    {
        auto &all = fallbacks();
        const std::lock_guard<std::mutex> lock(all.mutex);
        const Mode mode = mode_locked();
        if (mode == Mode::error) {
            C10_THROW_ERROR(
                NotImplementedError,
                name + " has no rdna kernel" + describe(arguments) +
                    ", and AMDGPU_TORCH_FALLBACK=error forbids to run it on the CPU");
        }
        auto &count = all.counts[name];
        count.name = name;
        is_first = count.calls == 0 && mode == Mode::warn;
        ++count.calls;
        count.bytes += bytes;
    }
    if (is_first) {
        TORCH_WARN(
            name,
            " has no rdna kernel",
            describe(arguments),
            "; it runs on the CPU, with ",
            bytes,
            " bytes copied there. This is told once for each operator; torch.rdna.fallback_report() counts, AMDGPU_TORCH_FALLBACK=silent or error says otherwise.");
    }
}

std::optional<c10::DeviceIndex> first_device(c10::ArrayRef<c10::IValue> arguments) {
    std::optional<c10::DeviceIndex> found;
    each_tensor(arguments, [&](const at::Tensor &tensor) {
        if (!found && tensor.device().type() == device_type) found = tensor.device().index();
    });
    for (const auto &argument : arguments)
        if (!found && argument.isDevice() && argument.toDevice().type() == device_type) found = index_of(argument.toDevice());
    return found;
}

// Operators of the CPU draw from generators of the CPU: one that begins where the generator of rdna stands, which then goes on.
void replace_generator(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
    const auto &parameters = op.schema().arguments();
    const auto begin = stack->size() - parameters.size();
    for (size_t place = 0; place < parameters.size(); ++place) {
        auto &argument = (*stack)[begin + place];
        const auto &type = parameters[place].type();
        const bool takes_generator = type->kind() == c10::TypeKind::GeneratorType ||
            (type->kind() == c10::TypeKind::OptionalType &&
             type->castRaw<c10::OptionalType>()->getElementType()->kind() == c10::TypeKind::GeneratorType);
        if (!takes_generator) continue;
        TORCH_CHECK(
            !argument.isGenerator() || argument.toGenerator().device().type() == device_type,
            c10::toString(op.schema().operator_name()),
            ": a generator of rdna is expected, not one of ",
            argument.isGenerator() ? argument.toGenerator().device() : c10::Device(device_type));
        const auto index = first_device(torch::jit::last(*stack, parameters.size()));
        const auto range = take_random(
            argument.isGenerator() ? argument.toGenerator() : default_generator(index.value_or(current_device())), 4);
        argument = at::detail::createCPUGenerator(range.key ^ (range.position * 0x9e3779b97f4a7c15ULL));
    }
}

// Convolutions reach other devices under names that the CPU has no kernels for; these are its own.
c10::OperatorHandle operator_of_cpu(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
    const std::string &name = op.schema().operator_name().name;
    auto &dispatcher = c10::Dispatcher::singleton();
    if (name == "aten::convolution_overrideable") return dispatcher.findSchemaOrThrow("aten::convolution", "");
    if (name != "aten::convolution_backward_overrideable") return op;
    // grad_output, input, weight, stride, padding, dilation, transposed, output_padding, groups, output_mask
    const auto begin = stack->end() - 10;
    const at::Tensor &weight = (begin + 2)->toTensor();
    const int64_t groups = (begin + 8)->toInt();
    const bool is_transposed = (begin + 6)->toBool();
    const int64_t channels = is_transposed ? weight.size(1) * groups : weight.size(0);
    const c10::IValue bias_sizes = (begin + 9)->toBoolList().get(2) ? c10::IValue(c10::List<int64_t>({channels})) : c10::IValue();
    stack->insert(begin + 3, bias_sizes);
    return dispatcher.findSchemaOrThrow("aten::convolution_backward", "");
}

constexpr std::string_view kind_of(c10::DispatchKey key) {
    switch (key) {
    case c10::DispatchKey::SparsePrivateUse1: return "sparse tensors; make them dense";
    case c10::DispatchKey::SparseCsrPrivateUse1: return "compressed sparse tensors; make them dense";
    case c10::DispatchKey::NestedTensorPrivateUse1: return "nested tensors of this layout; take torch.jagged";
    default: return "quantised tensors; make them dense";
    }
}

template <c10::DispatchKey key>
void refuse(const c10::OperatorHandle &op, torch::jit::Stack *) {
    C10_THROW_ERROR(
        NotImplementedError,
        c10::toString(op.schema().operator_name()) + ": rdna has no " + std::string(kind_of(key)) + ", or keep them on the CPU");
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&run_on_cpu>()); }

#define AMDGPU_REFUSED(KEY) \
    TORCH_LIBRARY_IMPL(_, KEY, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&refuse<c10::DispatchKey::KEY>>()); }
AMDGPU_REFUSED(SparsePrivateUse1)
AMDGPU_REFUSED(SparseCsrPrivateUse1)
AMDGPU_REFUSED(NestedTensorPrivateUse1)
AMDGPU_REFUSED(QuantizedPrivateUse1)
#undef AMDGPU_REFUSED

} // namespace

void run_on_cpu(const c10::OperatorHandle &op, torch::jit::Stack *stack) {
    account(c10::toString(op.schema().operator_name()), torch::jit::last(*stack, op.schema().arguments().size()));
    replace_generator(op, stack);
    at::native::cpu_fallback(operator_of_cpu(op, stack), stack);
}

std::vector<FallbackCount> fallback_counts() {
    auto &all = fallbacks();
    const std::lock_guard<std::mutex> lock(all.mutex);
    std::vector<FallbackCount> result;
    for (const auto &[name, count] : all.counts) result.push_back(count);
    std::ranges::stable_sort(result, [](const auto &one, const auto &other) { return one.calls > other.calls; });
    return result;
}

void reset_fallback_counts() {
    auto &all = fallbacks();
    const std::lock_guard<std::mutex> lock(all.mutex);
    all.counts.clear();
}

std::string fallback_mode() {
    const std::lock_guard<std::mutex> lock(fallbacks().mutex);
    switch (mode_locked()) {
    case Mode::warn: return "warn";
    case Mode::silent: return "silent";
    default: return "error";
    }
}

void set_fallback_mode(const std::string &mode) {
    const Mode parsed = parse_mode(mode);
    const std::lock_guard<std::mutex> lock(fallbacks().mutex);
    fallbacks().mode = parsed;
}

} // namespace amdgpu_torch
