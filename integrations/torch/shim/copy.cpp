// copy.cpp: bytes between host and device go by agpu_raw_copy; copies and conversions on a device by kernels, so that nothing waits for them; dtypes
// that libamdgpu does not have by the host.
#include "copy.h"

#include "core.h"
#include "memory.h"

#include <ATen/MemoryOverlap.h>
#include <ATen/ops/_conj.h>
#include <ATen/ops/_neg_view.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/empty_like.h>
#include <ATen/ops/empty_strided.h>
#include <amdgpu/ops.h>
#include <c10/core/DeviceGuard.h>

#include <cstring>
#include <string_view>
#include <utility>

namespace amdgpu_torch {
namespace {

bool is_rdna(const at::Tensor &tensor) { return tensor.device().type() == device_type; }

uint64_t bytes_of(const at::Tensor &tensor) { return static_cast<uint64_t>(tensor.numel()) * tensor.element_size(); }

bool has_bits(const at::Tensor &tensor) { return tensor.is_conj() || tensor.is_neg(); }

// Both hold the same elements at the same places of one piece of memory.
bool is_same_layout(const at::Tensor &one, const at::Tensor &other) {
    return one.scalar_type() == other.scalar_type() && one.sizes() == other.sizes() && one.strides() == other.strides() &&
        one.is_non_overlapping_and_dense() && !has_bits(one) && !has_bits(other);
}

// Whether the bytes that they span have some in common.
bool may_overlap(const at::Tensor &one, const at::Tensor &other) {
    return one.storage().data() == other.storage().data();
}

// A tensor of the host with the layout of a dense one.
at::Tensor host_like(const at::Tensor &tensor, bool is_pinned_memory = false) {
    return at::empty_strided(
        tensor.sizes(), tensor.strides(), at::TensorOptions().dtype(tensor.scalar_type()).pinned_memory(is_pinned_memory));
}

// The elements as they lie in memory, without the bits that say how they are read.
at::Tensor without_bits(at::Tensor tensor) {
    if (tensor.is_conj()) tensor = at::_conj(tensor);
    if (tensor.is_neg()) tensor = at::_neg_view(tensor);
    return tensor;
}

// Unsigned numbers, or of 16 bytes pairs of floats, that elements of this size are copied as whatever they mean; NULL where there is no such dtype.
const char *copied_as(size_t item_bytes) {
    switch (item_bytes) {
    case 1: return "uint8";
    case 2: return "uint16";
    case 4: return "uint32";
    case 8: return "uint64";
    case 16: return "complex128";
    default: return nullptr;
    }
}

// Both are dense and have one layout. Waits for the device.
void copy_bytes(const at::Tensor &source, const at::Tensor &target) {
    const auto index = target.device().index();
    check(agpu_raw_copy(
        open_device(index),
        real_address(target.data_ptr()),
        real_address(source.data_ptr()),
        bytes_of(target),
        AGPU_COPY_DEVICE_TO_DEVICE,
        current_stream_or_null(index)));
}

void copy_through_host(const at::Tensor &source, const at::Tensor &target) {
    const at::Tensor host = at::empty(source.sizes(), source.options().device(at::kCPU).pinned_memory(false));
    copy_tensor(source, host, false);
    copy_tensor(host, target, false);
}

bool is_same_device(const at::Tensor &one, const at::Tensor &other) {
    return std::string_view(device_facts(one.device().index()).name) == device_facts(other.device().index()).name;
}

bool can_convert(c10::ScalarType from, c10::ScalarType to) {
    if (dtype_name(from) == nullptr || dtype_name(to) == nullptr) return false;
    // Conversions between complex and real numbers are torch's own.
    return c10::isComplexType(from) == c10::isComplexType(to);
}

// Memory of a tensor as functions of amdgpu/ops.h take it; the tensor outlives it.
agpu_operand operand_of(const at::Tensor &tensor, const char *dtype) {
    return {
        AGPU_OPERAND_MEMORY,
        static_cast<uint32_t>(tensor.dim()),
        dtype,
        real_address(tensor.data_ptr()),
        tensor.sizes().data(),
        tensor.strides().data(),
        0,
        0,
        0};
}

// By a kernel, which nothing waits for.
void copy_elements(const at::Tensor &source, const at::Tensor &target) {
    const auto index = target.device().index();
    const InCurrentStream ordered(index);
    const bool is_same_dtype = source.scalar_type() == target.scalar_type();
    const char *from = is_same_dtype ? copied_as(source.itemsize()) : dtype_name(source.scalar_type());
    const char *to = is_same_dtype ? from : dtype_name(target.scalar_type());
    const agpu_operand given = operand_of(source, from), out = operand_of(target, to);
    check(agpu_ops_elementwise_at(open_device(index), "cast", &given, 1, 0, &out));
}

// Both are dense and have one layout.
void copy_dense(const at::Tensor &source, const at::Tensor &target) {
    const auto index = target.device().index();
    const InCurrentStream ordered(index);
    const char *dtype = copied_as(target.itemsize());
    const int64_t count = target.numel(), step = 1;
    const auto operand = [&](const at::Tensor &tensor) {
        return agpu_operand{AGPU_OPERAND_MEMORY, 1, dtype, real_address(tensor.data_ptr()), &count, &step, 0, 0, 0};
    };
    const agpu_operand given = operand(source), out = operand(target);
    check(agpu_ops_elementwise_at(open_device(index), "cast", &given, 1, 0, &out));
}

void copy_on_device(const at::Tensor &source, const at::Tensor &target) {
    if (has_bits(source) || !is_same_device(source, target)) return copy_through_host(source, target);
    if (may_overlap(source, target)) {
        if (source.is_same(target) || (is_same_layout(source, target) && source.data_ptr() == target.data_ptr())) return;
        const at::Tensor apart = at::empty(source.sizes(), source.options());
        copy_on_device(source, apart);
        return copy_on_device(apart, target);
    }
    if (is_same_layout(source, target)) return copied_as(target.itemsize()) == nullptr ? copy_bytes(source, target) : copy_dense(source, target);
    if (!can_convert(source.scalar_type(), target.scalar_type())) return copy_through_host(source, target);
    copy_elements(source, target);
}

void write_to_device(const at::Tensor &source, const at::Tensor &target, bool is_non_blocking) {
    if (!target.is_non_overlapping_and_dense()) {
        const at::Tensor dense = at::empty(target.sizes(), target.options());
        write_to_device(source, dense, is_non_blocking);
        return copy_on_device(dense, target);
    }
    at::Tensor host = source;
    if (!is_same_layout(source, target)) {
        host = host_like(target);
        host.copy_(source);
    }
    const auto index = target.device().index();
    const bool is_async = is_non_blocking && is_pinned(host.data_ptr());
    const auto stream = is_async ? stream_handle(index, current_stream(index)) : current_stream_or_null(index);
    check(agpu_raw_copy(
        open_device(index), real_address(target.data_ptr()), host.data_ptr(), bytes_of(target), AGPU_COPY_HOST_TO_DEVICE, stream));
    if (is_async) return use_pinned(host.data_ptr(), stream_of(index, current_stream(index)));
    if (stream != nullptr) check(agpu_stream_synchronize(stream));
}

void read_from_device(const at::Tensor &source, const at::Tensor &target, bool is_non_blocking) {
    if (has_bits(source)) {
        const at::Tensor plain = without_bits(source);
        at::Tensor host = at::empty(plain.sizes(), plain.options().device(at::kCPU).pinned_memory(false));
        read_from_device(plain, host, false);
        if (source.is_conj()) host = at::_conj(host);
        if (source.is_neg()) host = at::_neg_view(host);
        target.copy_(host);
        return;
    }
    if (!source.is_non_overlapping_and_dense()) {
        const at::Tensor dense = at::empty(source.sizes(), source.options());
        copy_on_device(source, dense);
        return read_from_device(dense, target, is_non_blocking);
    }
    const bool is_direct = is_same_layout(source, target);
    const at::Tensor host = is_direct ? target : host_like(source);
    const auto index = source.device().index();
    const bool is_async = is_non_blocking && is_direct && is_pinned(host.data_ptr());
    const auto stream = is_async ? stream_handle(index, current_stream(index)) : current_stream_or_null(index);
    check(agpu_raw_copy(
        open_device(index), host.data_ptr(), real_address(source.data_ptr()), bytes_of(source), AGPU_COPY_DEVICE_TO_HOST, stream));
    if (is_async) return use_pinned(host.data_ptr(), stream_of(index, current_stream(index)));
    if (stream != nullptr) check(agpu_stream_synchronize(stream));
    check_indices(index);
    if (!is_direct) target.copy_(host);
}

} // namespace

void copy_tensor(const at::Tensor &source, const at::Tensor &target, bool is_non_blocking) {
    TORCH_CHECK(
        source.layout() == at::kStrided && target.layout() == at::kStrided,
        "sparse tensors have no copies to or from rdna; make them dense first");
    if (target.numel() == 0) return;
    if (has_bits(target)) {
        // What is read with the bits is written with them.
        at::Tensor plain = source;
        if (target.is_conj()) plain = at::_conj(plain);
        if (target.is_neg()) plain = at::_neg_view(plain);
        return copy_tensor(plain, without_bits(target), is_non_blocking);
    }
    at::assert_no_internal_overlap(target);
    const at::Tensor spread = source.sizes() == target.sizes() ? source : source.expand(target.sizes());
    const c10::DeviceGuard guard(is_rdna(target) ? target.device() : source.device());
    if (is_rdna(spread) && is_rdna(target)) return copy_on_device(spread, target);
    if (is_rdna(target)) return write_to_device(spread, target, is_non_blocking);
    read_from_device(spread, target, is_non_blocking);
}

} // namespace amdgpu_torch
