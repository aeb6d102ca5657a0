// storage.cpp: operators that make tensors and views, and copies.
#include "storage.h"

#include "copy.h"
#include "core.h"
#include "memory.h"

#include <ATen/EmptyTensor.h>
#include <ATen/InferSize.h>
#include <ATen/native/Resize.h>
#include <ATen/native/TensorFactories.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/_to_copy_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/is_set_to_native.h>
#include <ATen/ops/set_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/DeviceGuard.h>
#include <torch/library.h>

#include <optional>

namespace amdgpu_torch {
namespace {

constexpr c10::DispatchKeySet keys(c10::DispatchKey::PrivateUse1);

void check_options(std::optional<at::Layout> layout, std::optional<bool> is_pinned_memory) {
    TORCH_CHECK_NOT_IMPLEMENTED(
        !layout || *layout == at::kStrided,
        "rdna has no tensors of the layout ",
        layout.value_or(at::kStrided),
        "; make them dense, or keep them on the CPU");
    TORCH_CHECK(!is_pinned_memory || !*is_pinned_memory, "only tensors of the CPU can be pinned, not those of rdna");
}

c10::Device device_of(std::optional<at::Device> device) {
    return {device_type, index_of(device.value_or(c10::Device(device_type)))};
}

at::Tensor empty(
    c10::IntArrayRef sizes,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> is_pinned_memory,
    std::optional<at::MemoryFormat> format) {
    check_options(layout, is_pinned_memory);
    const c10::DeviceGuard guard(device_of(device));
    return at::detail::empty_generic(sizes, device_allocator(), keys, c10::dtype_or_default(dtype), format);
}

at::Tensor empty_strided(
    c10::IntArrayRef sizes,
    c10::IntArrayRef strides,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> is_pinned_memory) {
    check_options(layout, is_pinned_memory);
    const c10::DeviceGuard guard(device_of(device));
    return at::detail::empty_strided_generic(sizes, strides, device_allocator(), keys, c10::dtype_or_default(dtype));
}

// Zeros that forward gradients multiply with: they have no memory.
at::Tensor zeros_without_memory(
    c10::IntArrayRef sizes,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> is_pinned_memory) {
    check_options(layout, is_pinned_memory);
    at::native::ZeroTensorAllocator nothing(device_of(device));
    const auto with_zero = keys | c10::DispatchKeySet(c10::DispatchKey::ZeroTensor);
    return at::detail::empty_generic(sizes, &nothing, with_zero, c10::dtype_or_default(dtype), std::nullopt);
}

// Lets the storage of a tensor have room for its sizes and strides. torch's own helpers for this write with the host.
void grow_storage(const at::Tensor &self) {
    if (self.numel() == 0) return;
    const size_t wanted = at::detail::computeStorageNbytes(
        self.sizes(), self.strides(), self.dtype().itemsize(), static_cast<size_t>(self.storage_offset()));
    if (wanted > self.storage().nbytes())
        at::native::resize_bytes_nocuda(self.storage(), c10::SymInt(static_cast<int64_t>(wanted)));
}

const at::Tensor &resize(const at::Tensor &self, c10::IntArrayRef sizes, std::optional<at::MemoryFormat> format) {
    at::detail::check_size_nonnegative(sizes);
    auto *kept = self.unsafeGetTensorImpl();
    if (self.sizes() != sizes) {
        kept->set_sizes_contiguous(sizes);
        grow_storage(self);
    }
    if (format) {
        TORCH_CHECK(*format != at::MemoryFormat::Preserve, "resize_ takes no memory format Preserve");
        kept->empty_tensor_restride(*format);
    }
    return self;
}

at::Tensor &set_storage_at(
    at::Tensor &self, at::Storage storage, int64_t offset, c10::IntArrayRef sizes, c10::IntArrayRef strides) {
    // `set_(storage, offset, sizes)` without strides means row-major order.
    const bool is_row_major = strides.empty() && !sizes.empty();
    const auto chosen = is_row_major ? c10::IntArrayRef(nullptr, size_t{0}) : strides;
    at::native::checkSetStorage<int64_t>(self, storage, offset, sizes, chosen);
    auto *kept = self.unsafeGetTensorImpl();
    kept->set_storage_offset(offset);
    if (is_row_major)
        kept->set_sizes_contiguous(sizes);
    else
        kept->set_sizes_and_strides(sizes, strides);
    grow_storage(self);
    return self;
}

at::Tensor &set_storage(at::Tensor &self, at::Storage storage) {
    const auto count = static_cast<int64_t>(storage.nbytes() / self.dtype().itemsize());
    return set_storage_at(self, std::move(storage), 0, count, {});
}

at::Tensor &set_tensor(at::Tensor &self, const at::Tensor &source) {
    if (self.unsafeGetTensorImpl() == source.unsafeGetTensorImpl()) return self;
    return set_storage_at(self, source.storage(), source.storage_offset(), source.sizes(), source.strides());
}

at::Tensor &set_nothing(at::Tensor &self) {
    const c10::DeviceGuard guard(self.device());
    at::Storage nothing(at::Storage::use_byte_size_t(), 0, device_allocator(), true);
    return set_storage_at(self, std::move(nothing), 0, {0}, {});
}

at::Tensor copy_from(const at::Tensor &self, const at::Tensor &target, bool is_non_blocking) {
    copy_tensor(self, target, is_non_blocking);
    return target;
}

// Conversions as autocast and gradients ask for them. torch's own way to the same tensor calls three operators more.
at::Tensor to_copy(
    const at::Tensor &self,
    std::optional<at::ScalarType> dtype,
    std::optional<at::Layout> layout,
    std::optional<at::Device> device,
    std::optional<bool> is_pinned_memory,
    bool is_non_blocking,
    std::optional<at::MemoryFormat> format) {
    const auto wanted = dtype.value_or(self.scalar_type());
    const bool is_usual = at::isFloatingType(self.scalar_type()) && at::isFloatingType(wanted) && dtype_name(self.scalar_type()) != nullptr &&
        dtype_name(wanted) != nullptr && !self.is_neg() && self.is_non_overlapping_and_dense() && (!device || *device == self.device()) &&
        layout.value_or(at::kStrided) == at::kStrided && !is_pinned_memory.value_or(false) &&
        format.value_or(at::MemoryFormat::Preserve) == at::MemoryFormat::Preserve;
    if (!is_usual) return at::native::_to_copy(self, dtype, layout, device, is_pinned_memory, is_non_blocking, format);
    at::Tensor made = new_tensor(self.sizes(), self.strides(), wanted, self.device().index());
    copy_tensor(self, made, is_non_blocking);
    return made;
}

at::Tensor copy_from_and_resize(const at::Tensor &self, const at::Tensor &target) {
    if (self.sizes() != target.sizes()) target.resize_(self.sizes());
    copy_tensor(self, target, false);
    return target;
}

at::Scalar local_scalar(const at::Tensor &self) {
    const at::Tensor host = at::empty({}, self.options().device(at::kCPU).pinned_memory(false));
    copy_tensor(self.reshape({}), host, false);
    return host.item();
}

// Whether one tensor may take over the memory of the other. torch answers this for its own devices; dense tensors of rdna are such as theirs, so that
// `module.to("rdna")` keeps its parameters, those that several modules share included, and `parameter.data = tensor` works.
bool has_compatible_shallow_copy_type(const at::Tensor &self, const at::Tensor &from) {
    using Bit = c10::BackendComponent;
    const auto is_dense = [](const at::Tensor &tensor) {
        constexpr c10::DispatchKeySet dense(c10::DispatchKey::Dense);
        constexpr c10::DispatchKeySet backends({Bit::CPUBit, Bit::CUDABit, Bit::HIPBit, Bit::PrivateUse1Bit});
        return tensor.key_set().has_any(dense) && tensor.key_set().has_any(backends);
    };
    return self.key_set() == from.key_set() || (is_dense(self) && is_dense(from));
}

void record_stream(at::Tensor &self, c10::Stream stream) { device_allocator()->recordStream(self.storage().data_ptr(), stream); }

at::Tensor as_strided(const at::Tensor &self, c10::IntArrayRef sizes, c10::IntArrayRef strides, std::optional<int64_t> offset) {
    return at::native::as_strided_tensorimpl(self, sizes, strides, offset);
}

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("empty.memory_format", empty);
    m.impl("empty_strided", empty_strided);
    m.impl("_efficientzerotensor", zeros_without_memory);
    m.impl("as_strided", as_strided);
    m.impl("_reshape_alias", at::native::_reshape_alias);
    m.impl("view", at::native::view);
    m.impl("view_as_real", at::native::view_as_real);
    m.impl("view_as_complex", at::native::view_as_complex);
    m.impl("unfold", at::native::unfold);
    m.impl("is_set_to", at::native::is_set_to);
    m.impl("resize_", resize);
    m.impl("set_", set_nothing);
    m.impl("set_.source_Tensor", set_tensor);
    m.impl("set_.source_Storage", set_storage);
    m.impl("set_.source_Storage_storage_offset", set_storage_at);
    m.impl("_copy_from", copy_from);
    m.impl("_to_copy", to_copy);
    m.impl("_copy_from_and_resize", copy_from_and_resize);
    m.impl("_local_scalar_dense", local_scalar);
    m.impl("record_stream", record_stream);
    m.impl("_has_compatible_shallow_copy_type", has_compatible_shallow_copy_type);
}

// Without these a copy of a conjugated view asks for its own copy, without end.
TORCH_LIBRARY_IMPL(aten, Conjugate, m) { m.impl("_copy_from", torch::CppFunction::makeFallthrough()); }
TORCH_LIBRARY_IMPL(aten, Negative, m) { m.impl("_copy_from", torch::CppFunction::makeFallthrough()); }

} // namespace

at::Tensor new_tensor_like(const at::Tensor &tensor) {
    const OnDevice chosen(tensor.device().index());
    if (tensor.is_contiguous())
        return at::detail::empty_generic(tensor.sizes(), device_allocator(), keys, tensor.scalar_type(), std::nullopt);
    return at::detail::empty_strided_generic(tensor.sizes(), tensor.strides(), device_allocator(), keys, tensor.scalar_type());
}

at::Tensor new_tensor(c10::IntArrayRef sizes, c10::IntArrayRef strides, at::ScalarType dtype, c10::DeviceIndex index) {
    const OnDevice chosen(index);
    return at::detail::empty_strided_generic(sizes, strides, device_allocator(), keys, dtype);
}

} // namespace amdgpu_torch
