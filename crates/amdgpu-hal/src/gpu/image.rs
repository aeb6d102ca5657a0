//! What a module image holds, read before the driver sees it.
//!
//! Drivers are given an address without a length and read as far as the image itself says, so an image that is cut off must not reach them.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::functions::Dialect;
use crate::elf::{self, Object};

/// `EM_CUDA`, the machine of a cubin.
const MACHINE_CUDA: u16 = 190;
/// Each kernel of a cubin has its parameters in a section of this name.
const CUBIN_PARAMETER_SECTION: &str = ".nv.constant0.";
/// Ending of the symbol that holds an AMD kernel's descriptor.
const DESCRIPTOR_SUFFIX: &str = ".kd";

type Parsed<T> = Result<T, String>;

/// The kernels of an image, and the image as the driver wants it.
pub(super) fn inspect(dialect: Dialect, image: &[u8]) -> Parsed<(BTreeSet<String>, Cow<'_, [u8]>)> {
    match (dialect, Object::is_elf(image)) {
        (Dialect::Cuda, false) => {
            let text = ptx_text(image)?;
            let mut terminated = text.as_bytes().to_vec();
            terminated.push(0);
            Ok((ptx_kernels(text), Cow::Owned(terminated)))
        }
        (Dialect::Cuda, true) => {
            let object = parse_for(image, MACHINE_CUDA, "an NVIDIA GPU")?;
            let names = object
                .sections
                .iter()
                .filter_map(|section| section.name.strip_prefix(CUBIN_PARAMETER_SECTION));
            Ok((names.map(str::to_string).collect(), Cow::Borrowed(image)))
        }
        (Dialect::Hip, _) => {
            let object = parse_for(image, elf::MACHINE_AMDGPU, "an AMD GPU")?;
            if object.file_type != elf::TYPE_SHARED {
                return Err(format!(
                    "ELF files of type {} are not code objects; the object has to be linked first",
                    object.file_type
                ));
            }
            Ok((kernel_descriptors(&object)?, Cow::Borrowed(image)))
        }
    }
}

fn parse_for<'a>(image: &'a [u8], machine: u16, whose: &str) -> Parsed<Object<'a>> {
    let object = Object::parse(image)?;
    if object.machine != machine {
        return Err(format!(
            "it is machine code for ELF machine {}, {whose} has {machine}",
            object.machine
        ));
    }
    Ok(object)
}

/// The names of the kernels of an AMD object: `foo` has a descriptor `foo.kd`.
pub(crate) fn kernel_descriptors(object: &Object<'_>) -> Parsed<BTreeSet<String>> {
    let mut kernels = BTreeSet::new();
    for section in &object.sections {
        if section.kind != elf::SECTION_SYMBOLS && section.kind != elf::SECTION_DYNAMIC_SYMBOLS {
            continue;
        }
        for symbol in object.symbols(section)? {
            let defined =
                symbol.kind == elf::SYMBOL_OBJECT && symbol.section != elf::INDEX_UNDEFINED;
            if let Some(name) = symbol
                .name
                .strip_suffix(DESCRIPTOR_SUFFIX)
                .filter(|_| defined)
            {
                kernels.insert(name.to_string());
            }
        }
    }
    Ok(kernels)
}

/// The variables of an AMD object that the host can reach, with their sizes: data that is no kernel descriptor.
pub(crate) fn variables(object: &Object<'_>) -> Parsed<BTreeMap<String, u64>> {
    let mut variables = BTreeMap::new();
    for section in &object.sections {
        if section.kind != elf::SECTION_SYMBOLS && section.kind != elf::SECTION_DYNAMIC_SYMBOLS {
            continue;
        }
        for symbol in object.symbols(section)? {
            let is_variable = symbol.kind == elf::SYMBOL_OBJECT
                && symbol.binding != elf::BINDING_LOCAL
                && symbol.section != elf::INDEX_UNDEFINED
                && !symbol.name.ends_with(DESCRIPTOR_SUFFIX);
            if is_variable {
                variables.insert(symbol.name.to_string(), symbol.size_bytes);
            }
        }
    }
    Ok(variables)
}

fn ptx_text(image: &[u8]) -> Parsed<&str> {
    let text = std::str::from_utf8(image)
        .map_err(|_| "it is neither ELF nor PTX text".to_string())?
        .trim_end_matches('\0');
    if text.contains('\0') {
        return Err("it has a zero byte in the middle of its text".to_string());
    }
    for directive in [".version", ".target"] {
        if !text.contains(directive) {
            return Err(format!("it is not PTX: it has no {directive} directive"));
        }
    }
    Ok(text)
}

/// The names behind `.entry`. Declarations are rare in PTX of whole programs and harmless: the driver does not find them.
fn ptx_kernels(text: &str) -> BTreeSet<String> {
    text.lines()
        .map(|line| line.split("//").next().unwrap_or(line))
        .filter_map(|line| line.split_once(".entry"))
        .filter(|(_, rest)| rest.starts_with([' ', '\t']))
        .map(|(_, rest)| {
            rest.trim_start()
                .chars()
                .take_while(|&letter| letter.is_ascii_alphanumeric() || "_$%".contains(letter))
                .collect::<String>()
        })
        .filter(|name| !name.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PTX: &str = ".version 7.8\n.target sm_90\n.address_size 64\n// .entry comment(\n.visible .entry first(\n\t.param .u64 a\n)\n\
                       {\n\tret;\n}\n.entry\tsecond_2 ()\n{\n\tret;\n}\n.func helper()\n{\n\tret;\n}\n";

    fn names(dialect: Dialect, image: &[u8]) -> Parsed<Vec<String>> {
        inspect(dialect, image).map(|(names, _)| names.into_iter().collect())
    }

    #[test]
    fn kernels_of_ptx_are_the_entries() {
        assert_eq!(
            names(Dialect::Cuda, PTX.as_bytes()).unwrap(),
            ["first", "second_2"]
        );
    }

    #[test]
    fn ptx_reaches_the_driver_with_one_zero_at_its_end() {
        for text in [PTX.to_string(), format!("{PTX}\0"), format!("{PTX}\0\0")] {
            let (_, image) = inspect(Dialect::Cuda, text.as_bytes()).unwrap();
            assert_eq!(image.iter().position(|&byte| byte == 0), Some(PTX.len()));
            assert_eq!(image.len(), PTX.len() + 1);
        }
    }

    #[test]
    fn what_is_no_image_is_refused_with_a_reason() {
        let cut = format!("{PTX}\0.entry");
        let cases: [(&[u8], &str); 5] = [
            (b"", ".version"),
            (b"\x7fELF", "cut off"),
            (b"void f() {}", ".version"),
            (b"\xff\xfe", "neither"),
            (cut.as_bytes(), "zero byte"),
        ];
        for (image, reason) in cases {
            let error = names(Dialect::Cuda, image).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
        assert!(
            names(Dialect::Hip, PTX.as_bytes())
                .unwrap_err()
                .contains("ELF")
        );
    }

    /// An ELF file of `machine` and `file_type` with one empty section of each name.
    fn elf_file(machine: u16, file_type: u16, sections: &[&str]) -> Vec<u8> {
        let mut names = vec![0_u8];
        let mut offsets = vec![0_u32];
        for section in sections {
            offsets.push(names.len() as u32);
            names.extend(section.bytes().chain([0]));
        }
        let mut file = vec![0_u8; 64];
        file[..7].copy_from_slice(b"\x7fELF\x02\x01\x01");
        file[16..18].copy_from_slice(&file_type.to_le_bytes());
        file[18..20].copy_from_slice(&machine.to_le_bytes());
        file[40..48].copy_from_slice(&(64 + names.len() as u64).to_le_bytes());
        file[58..60].copy_from_slice(&64_u16.to_le_bytes());
        file[60..62].copy_from_slice(&(offsets.len() as u16 + 1).to_le_bytes());
        file[62..64].copy_from_slice(&(offsets.len() as u16).to_le_bytes());
        let len = names.len() as u64;
        file.extend(names);
        for offset in offsets {
            let mut header = [0_u8; 64];
            header[..4].copy_from_slice(&offset.to_le_bytes());
            file.extend(header);
        }
        let mut table = [0_u8; 64];
        table[4] = 3;
        table[24..32].copy_from_slice(&64_u64.to_le_bytes());
        table[32..40].copy_from_slice(&len.to_le_bytes());
        file.extend(table);
        file
    }

    #[test]
    fn kernels_of_a_cubin_have_a_parameter_section() {
        let sections = [
            ".text.scale",
            ".nv.constant0.scale",
            ".nv.info.scale",
            ".nv.constant0.add",
            ".text.helper",
        ];
        let image = elf_file(MACHINE_CUDA, 2, &sections);
        assert_eq!(names(Dialect::Cuda, &image).unwrap(), ["add", "scale"]);
        assert!(names(Dialect::Hip, &image).unwrap_err().contains("190"));
    }

    #[test]
    fn amd_objects_have_to_be_linked() {
        let object = elf_file(elf::MACHINE_AMDGPU, elf::TYPE_RELOCATABLE, &[]);
        assert!(names(Dialect::Hip, &object).unwrap_err().contains("linked"));
        let linked = elf_file(elf::MACHINE_AMDGPU, elf::TYPE_SHARED, &[]);
        assert_eq!(names(Dialect::Hip, &linked).unwrap(), Vec::<String>::new());
    }

    /// One entry of a table of symbols: place of the name, kind and binding, section, size.
    fn symbol(name: u32, kind: u8, binding: u8, section: u16, size_bytes: u64) -> [u8; 24] {
        let mut entry = [0; 24];
        entry[..4].copy_from_slice(&name.to_le_bytes());
        entry[4] = binding << 4 | kind;
        entry[6..8].copy_from_slice(&section.to_le_bytes());
        entry[16..].copy_from_slice(&size_bytes.to_le_bytes());
        entry
    }

    /// A linked AMD file with a table of symbols of this kind of section.
    fn file_with_symbols(section_kind: u32) -> Vec<u8> {
        const NAMES: &[u8] = b"\0scale\0scale.kd\0counter\0own\0missing\0";
        let symbols: Vec<u8> = [
            symbol(0, 0, 0, 0, 0),
            symbol(1, 2, 1, 1, 64),
            symbol(7, 1, 1, 1, 64),
            symbol(16, 1, 1, 1, 12),
            symbol(24, 1, 0, 1, 8),
            symbol(28, 1, 1, 0, 8),
        ]
        .concat();
        let mut file = elf_file(elf::MACHINE_AMDGPU, elf::TYPE_SHARED, &[]);
        let mut headers = Vec::new();
        for (kind, link, bytes, entry_bytes) in [
            (section_kind, 3_u32, symbols.as_slice(), 24_u64),
            (3, 0, NAMES, 0),
        ] {
            let mut header = [0_u8; 64];
            header[4..8].copy_from_slice(&kind.to_le_bytes());
            header[24..32].copy_from_slice(&(file.len() as u64).to_le_bytes());
            header[32..40].copy_from_slice(&(bytes.len() as u64).to_le_bytes());
            header[40..44].copy_from_slice(&link.to_le_bytes());
            header[56..64].copy_from_slice(&entry_bytes.to_le_bytes());
            headers.extend(header);
            file.extend(bytes);
        }
        // The table of sections moves behind the rest: the first two, then these.
        let begin = u64::from_le_bytes(file[40..48].try_into().unwrap()) as usize;
        let table = [&file[begin..begin + 128], headers.as_slice()].concat();
        let end = file.len() as u64;
        file[40..48].copy_from_slice(&end.to_le_bytes());
        file[60..62].copy_from_slice(&4_u16.to_le_bytes());
        file.extend(table);
        file
    }

    #[test]
    fn kernels_and_variables_are_told_apart_by_their_symbols() {
        for kind in [elf::SECTION_SYMBOLS, elf::SECTION_DYNAMIC_SYMBOLS] {
            let file = file_with_symbols(kind);
            let object = Object::parse(&file).unwrap();
            let kernels = kernel_descriptors(&object).unwrap();
            assert_eq!(kernels.into_iter().collect::<Vec<_>>(), ["scale"]);
            let variables = variables(&object).unwrap();
            assert_eq!(variables, BTreeMap::from([("counter".to_string(), 12)]));
        }
        let file = file_with_symbols(7);
        let object = Object::parse(&file).unwrap();
        assert!(kernel_descriptors(&object).unwrap().is_empty());
        assert!(variables(&object).unwrap().is_empty());
    }
}
