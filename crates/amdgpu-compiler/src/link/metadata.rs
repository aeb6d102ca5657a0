//! What kernels occupy, from the metadata note of an AMD object ("User Guide for AMDGPU Backend", "Code Object Metadata").

use serde::{Deserialize, Serialize};

use super::LinkError;
use super::messagepack::Value;
use super::object::{Object, SECTION_NOTE, read_u32};

/// `NT_AMDGPU_METADATA`.
const NOTE_METADATA: u32 = 32;
const NOTE_OWNER: &[u8] = b"AMDGPU\0";
const NOTE_HEADER_BYTES: usize = 12;
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
fn find_note(mut notes: &[u8]) -> Result<Option<&[u8]>, LinkError> {
    let cut_off = || LinkError::malformed("a note is cut off");
    // Every round takes a header at least.
    while !notes.is_empty() {
        let owner_bytes = read_u32(notes, 0)? as usize;
        let description_bytes = read_u32(notes, 4)? as usize;
        let kind = read_u32(notes, 8)?;
        let rest = notes.get(NOTE_HEADER_BYTES..).ok_or_else(cut_off)?;
        let owner = rest.get(..owner_bytes).ok_or_else(cut_off)?;
        let rest = rest
            .get(owner_bytes.next_multiple_of(4)..)
            .ok_or_else(cut_off)?;
        let description = rest.get(..description_bytes).ok_or_else(cut_off)?;
        if kind == NOTE_METADATA && owner == NOTE_OWNER {
            return Ok(Some(description));
        }
        // The padding behind the last note may be missing.
        notes = rest
            .get(description_bytes.next_multiple_of(4)..)
            .unwrap_or(&[]);
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
