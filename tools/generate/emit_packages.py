"""What other build systems read to use libamdgpu.so: the file of pkg-config, and the version of the CMake package."""

from __future__ import annotations


def emit_pkg_config(version: str) -> str:
    """`amdgpu.pc`, which stands in a folder beside the library."""
    return "\n".join(
        [
            "# Generated from Cargo.toml by ./x generate. Do not edit.",
            "libdir=${pcfiledir}/..",
            "includedir=${libdir}/include",
            "",
            "Name: amdgpu",
            "Description: Kernels, arrays and networks on AMD and NVIDIA GPUs and any CPU",
            f"Version: {version}",
            "Cflags: -I${includedir}",
            "Libs: -L${libdir} -lamdgpu -Wl,-rpath,${libdir}",
            "",
        ]
    )


def emit_cmake_version(version: str) -> str:
    """`amdgpu-config-version.cmake`: before 1.0 a minor version may change the interface."""
    return "\n".join(
        [
            "# Generated from Cargo.toml by ./x generate. Do not edit.",
            f'set(PACKAGE_VERSION "{version}")',
            'string(REGEX MATCH "^[0-9]+\\\\.[0-9]+" _wanted "${PACKAGE_FIND_VERSION}")',
            f'if(PACKAGE_FIND_VERSION VERSION_GREATER PACKAGE_VERSION OR NOT _wanted STREQUAL "{".".join(version.split(".")[:2])}")',
            "  set(PACKAGE_VERSION_COMPATIBLE FALSE)",
            "else()",
            "  set(PACKAGE_VERSION_COMPATIBLE TRUE)",
            "  if(PACKAGE_FIND_VERSION VERSION_EQUAL PACKAGE_VERSION)",
            "    set(PACKAGE_VERSION_EXACT TRUE)",
            "  endif()",
            "endif()",
            "unset(_wanted)",
            "",
        ]
    )
