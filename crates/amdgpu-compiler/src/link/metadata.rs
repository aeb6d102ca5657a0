//! What kernels occupy, from the metadata note of an AMD object ("User Guide for AMDGPU Backend", "Code Object Metadata").

use ::object::LittleEndian;
use ::object::elf::FileHeader64;
use ::object::read::elf::NoteIterator;
use serde::{Deserialize, Serialize};

use super::error::LinkError;
use super::messagepack::Value;
use super::object::{Object, SECTION_NOTE};

/// `NT_AMDGPU_METADATA`.
const NOTE_METADATA: u32 = 32;
const NOTE_OWNER: &[u8] = b"AMDGPU";
/// Of descriptions and notes, whatever the section says.
const NOTE_ALIGNMENT: u64 = 4;
/// Kernels of one object; far more than any source has.
const MAX_KERNELS: usize = 1 << 16;

/// What one kernel occupies. Registers are per work-item (`vgpr`) or per wave (`sgpr`).
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct KernelResources {
    pub kernel: String,
    pub sgpr_count: u32,
    /// With the accumulation registers on processors that have them in the same file.
    pub vgpr_count: u32,
    /// Accumulation registers; 0 on processors without them.
    pub agpr_count: u32,
    pub sgpr_spill_count: u32,
    pub vgpr_spill_count: u32,
    /// Local data share that a work-group takes, without what a launch adds.
    pub lds_bytes: u32,
    /// Private memory per work-item.
    pub scratch_bytes: u32,
    /// Argument buffer, with the hidden arguments.
    pub kernarg_bytes: u32,
    pub wavefront_size: u32,
    pub max_flat_workgroup_size: u32,
}

/// The resources of all kernels of an object or code object, in the order of its metadata.
pub fn resources(object: &[u8]) -> Result<Vec<KernelResources>, LinkError> {
    let object = Object::parse(object)?;
    for section in &object.sections {
        if section.kind != SECTION_NOTE {
            continue;
        }
        if let Some(description) = find_note(section.data)? {
            return kernels(&Value::parse(description)?);
        }
    }
    Err(LinkError::malformed("it has no metadata note"))
}

/// The description of the metadata note among the notes of a section.
fn find_note(notes: &[u8]) -> Result<Option<&[u8]>, LinkError> {
    let cut_off = |_| LinkError::malformed("a note is cut off");
    let mut notes: NoteIterator<'_, FileHeader64<LittleEndian>> =
        NoteIterator::new(LittleEndian, NOTE_ALIGNMENT, notes).map_err(cut_off)?;
    while let Some(note) = notes.next().map_err(cut_off)? {
        if note.n_type(LittleEndian) == NOTE_METADATA && note.name() == NOTE_OWNER {
            return Ok(Some(note.desc()));
        }
    }
    Ok(None)
}

fn kernels(metadata: &Value<'_>) -> Result<Vec<KernelResources>, LinkError> {
    let Some(kernels) = metadata.get("amdhsa.kernels").and_then(Value::as_array) else {
        return Err(LinkError::malformed("its metadata has no list of kernels"));
    };
    if kernels.len() > MAX_KERNELS {
        return Err(LinkError::malformed(format!(
            "its metadata has {} kernels, the limit is {MAX_KERNELS}",
            kernels.len()
        )));
    }
    kernels.iter().map(kernel).collect()
}

fn kernel(entry: &Value<'_>) -> Result<KernelResources, LinkError> {
    let number = |key: &str| -> Result<Option<u32>, LinkError> {
        let Some(value) = entry.get(key) else {
            return Ok(None);
        };
        let value = value.as_u64().and_then(|value| u32::try_from(value).ok());
        value
            .map(Some)
            .ok_or_else(|| LinkError::malformed(format!("its metadata has no number as {key}")))
    };
    let required = |key: &str| {
        number(key)?.ok_or_else(|| LinkError::malformed(format!("its metadata has no {key}")))
    };
    let name = entry.get(".name").and_then(Value::as_text);
    Ok(KernelResources {
        kernel: name
            .ok_or_else(|| LinkError::malformed("its metadata has a kernel without a name"))?
            .to_owned(),
        sgpr_count: required(".sgpr_count")?,
        vgpr_count: required(".vgpr_count")?,
        agpr_count: number(".agpr_count")?.unwrap_or(0),
        sgpr_spill_count: number(".sgpr_spill_count")?.unwrap_or(0),
        vgpr_spill_count: number(".vgpr_spill_count")?.unwrap_or(0),
        lds_bytes: required(".group_segment_fixed_size")?,
        scratch_bytes: required(".private_segment_fixed_size")?,
        kernarg_bytes: required(".kernarg_segment_size")?,
        wavefront_size: required(".wavefront_size")?,
        max_flat_workgroup_size: required(".max_flat_workgroup_size")?,
    })
}
