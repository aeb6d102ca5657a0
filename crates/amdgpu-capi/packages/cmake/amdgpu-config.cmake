# find_package(amdgpu): the target amdgpu::amdgpu. This file stands in cmake/ beside libamdgpu.so.
get_filename_component(_amdgpu_folder "${CMAKE_CURRENT_LIST_DIR}/.." ABSOLUTE)
if(NOT TARGET amdgpu::amdgpu)
  add_library(amdgpu::amdgpu SHARED IMPORTED)
  set_target_properties(amdgpu::amdgpu PROPERTIES
    IMPORTED_LOCATION "${_amdgpu_folder}/libamdgpu.so"
    IMPORTED_SONAME "libamdgpu.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_amdgpu_folder}/include")
endif()
unset(_amdgpu_folder)
