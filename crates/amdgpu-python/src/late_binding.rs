//! Python's symbols, for a process that loaded `libamdgpu.so` before Python.
//!
//! The library is for programs without Python too, so Python's symbols are weak in it (`tools/x/core_library.py`): where nothing defined
//! them when it was loaded, their addresses are 0. When Python comes later and imports the module, they are looked up here.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::sync::OnceLock;

#[cfg(target_arch = "x86_64")]
const RELOCATIONS: [u32; 3] = [1, 6, 7]; // R_X86_64_64, R_X86_64_GLOB_DAT, R_X86_64_JUMP_SLOT (psABI, table 4.9)
#[cfg(target_arch = "aarch64")]
const RELOCATIONS: [u32; 3] = [257, 1025, 1026]; // R_AARCH64_ABS64, R_AARCH64_GLOB_DAT, R_AARCH64_JUMP_SLOT (aaelf64)

const DT_STRTAB: i64 = 5;
const DT_SYMTAB: i64 = 6;
const DT_RELA: i64 = 7;
const DT_RELASZ: i64 = 8;
const DT_JMPREL: i64 = 23;
const DT_PLTRELSZ: i64 = 2;

/// An entry of the dynamic section (gABI, chapter 5).
#[repr(C)]
struct Dynamic {
    tag: i64,
    value: u64,
}

/// A relocation with addend.
#[repr(C)]
struct Relocation {
    offset: u64,
    info: u64,
    addend: i64,
}

static PROBLEM: OnceLock<Option<CString>> = OnceLock::new();

/// Bind what was not bound when the library was loaded. Null, or a sentence that says what is missing.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_python_bind() -> *const c_char {
    let problem = PROBLEM.get_or_init(|| {
        let missing = bind_all()?;
        let text = format!("libamdgpu.so was loaded before Python, and Python's `{missing}` is not visible to it: load libpython with RTLD_GLOBAL");
        CString::new(text).ok()
    });
    problem
        .as_ref()
        .map_or(std::ptr::null(), |text| text.as_ptr())
}

/// The first symbol that nobody defines.
fn bind_all() -> Option<String> {
    let mut missing = None;
    // SAFETY: the callback gets `missing` back, which outlives the call.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut missing).cast()) };
    missing
}

/// Handles the object that this code is in; others are passed over.
unsafe extern "C" fn visit(
    info: *mut libc::dl_phdr_info,
    _bytes: usize,
    found: *mut c_void,
) -> c_int {
    // SAFETY: the loader hands out a valid description, whose headers live as long as the object.
    let (base, headers) = unsafe {
        let info = &*info;
        (
            info.dlpi_addr,
            std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()),
        )
    };
    let own = agpu_python_bind as *const () as u64;
    let holds = |header: &libc::Elf64_Phdr| {
        let start = base + header.p_vaddr;
        header.p_type == libc::PT_LOAD && (start..start + header.p_memsz).contains(&own)
    };
    if !headers.iter().any(holds) {
        return 0;
    }
    if let Some(dynamic) = headers
        .iter()
        .find(|header| header.p_type == libc::PT_DYNAMIC)
    {
        // SAFETY: `found` is the place that `bind_all` passed; the dynamic section is that of this object.
        unsafe {
            let entries = (base + dynamic.p_vaddr) as *const Dynamic;
            *found.cast::<Option<String>>() = bind_object(base, entries);
        }
    }
    1
}

/// # Safety
///
/// `entries` is the dynamic section of a loaded object at `base`.
unsafe fn bind_object(base: u64, entries: *const Dynamic) -> Option<String> {
    let value = |tag: i64| {
        let mut entry = entries;
        // SAFETY: the section ends with an entry whose tag is 0.
        unsafe {
            while (*entry).tag != 0 {
                if (*entry).tag == tag {
                    return (*entry).value;
                }
                entry = entry.add(1);
            }
        }
        0
    };
    // glibc writes addresses into the section, other loaders leave offsets there.
    let address = |tag: i64| match value(tag) {
        offset if offset < base => base + offset,
        address => address,
    };
    let (symbols, names) = (
        address(DT_SYMTAB) as *const libc::Elf64_Sym,
        address(DT_STRTAB) as *const c_char,
    );
    for (table, bytes) in [(DT_RELA, DT_RELASZ), (DT_JMPREL, DT_PLTRELSZ)] {
        let count = value(bytes) as usize / size_of::<Relocation>();
        for index in 0..count {
            // SAFETY: the table has `count` entries; each names a symbol of the object's table, and that a text.
            let missing = unsafe {
                let relocation = &*(address(table) as *const Relocation).add(index);
                let symbol = &*symbols.add((relocation.info >> 32) as usize);
                let name = CStr::from_ptr(names.add(symbol.st_name as usize));
                bind_one(base, relocation, symbol, name)
            };
            if missing.is_some() {
                return missing;
            }
        }
    }
    None
}

/// # Safety
///
/// The relocation and the symbol are of a loaded object at `base`.
unsafe fn bind_one(
    base: u64,
    relocation: &Relocation,
    symbol: &libc::Elf64_Sym,
    name: &CStr,
) -> Option<String> {
    let is_python = [&b"Py"[..], b"_Py"]
        .iter()
        .any(|start| name.to_bytes().starts_with(start));
    let is_address = RELOCATIONS.contains(&(relocation.info as u32));
    if symbol.st_shndx != 0 || !is_python || !is_address {
        return None;
    }
    let slot = (base + relocation.offset) as *mut u64;
    // SAFETY: the slot is a word of the object, which the loader filled; the name ends with a null byte.
    let target = unsafe {
        if slot.read() != 0 {
            return None;
        }
        libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) as u64
    };
    if target == 0 {
        return Some(name.to_string_lossy().into_owned());
    }
    // SAFETY: the page belongs to the object; it is as read-only afterwards as the loader leaves it.
    unsafe {
        let page_bytes = libc::sysconf(libc::_SC_PAGESIZE) as u64;
        let page = (slot as u64 & !(page_bytes - 1)) as *mut c_void;
        if libc::mprotect(
            page,
            page_bytes as usize,
            libc::PROT_READ | libc::PROT_WRITE,
        ) != 0
        {
            return Some(name.to_string_lossy().into_owned());
        }
        slot.write(target.wrapping_add_signed(relocation.addend));
        libc::mprotect(page, page_bytes as usize, libc::PROT_READ);
    }
    None
}
