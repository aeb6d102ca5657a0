//! The backends under test and what they can show.

use std::process::Command;
use std::sync::{Arc, OnceLock};

use amdgpu_hal::{Device, MemoryKind, registry};

/// What a case needs from its backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Need {
    Nothing,
    /// Memory keeps what is written to it.
    Results,
    /// The opposite: the case is about the backend that keeps nothing.
    NoResults,
    /// Streams run behind their submitter.
    Asynchrony,
    /// An idle default stream runs its command on the calling thread.
    CallingThread,
    /// Graphs hold host code.
    HostGraphs,
    /// A GPU, for what only its driver does.
    Gpu,
    /// An object file to load.
    Module,
    /// An object file, and kernels that run.
    Execution,
}

/// A backend as the cases see it.
pub struct Backend {
    pub name: &'static str,
    /// An object with the kernels `index` and `shared`, if there is one.
    pub image: Option<Vec<u8>>,
    executes: bool,
    is_gpu: bool,
}

impl Backend {
    /// The first NVIDIA GPU; the error says why there is none.
    pub fn cuda() -> Result<Self, String> {
        Self::gpu("cuda:0", Some(include_bytes!("kernels.ptx").to_vec()))
    }

    /// The first AMD GPU, without kernels: nothing here makes a linked code object.
    pub fn hip() -> Result<Self, String> {
        Self::gpu("hip:0", None)
    }

    fn gpu(name: &'static str, image: Option<Vec<u8>>) -> Result<Self, String> {
        registry::open_device(name)
            .map(|_| Self {
                name,
                image,
                executes: true,
                is_gpu: true,
            })
            .map_err(|error| error.to_string())
    }

    /// The kinds of memory to try. Managed memory is left out on GPUs: a program that uses too much of it can hang the GPU for everybody
    /// who shares it.
    pub fn memory_kinds(&self) -> &'static [MemoryKind] {
        if self.is_gpu {
            &[MemoryKind::Device, MemoryKind::PinnedHost]
        } else {
            &MemoryKind::ALL
        }
    }

    pub fn cpu() -> Self {
        Self {
            name: "cpu:0",
            image: cpu_image(),
            executes: true,
            is_gpu: false,
        }
    }

    pub fn null() -> Self {
        Self {
            name: "null:gfx1100",
            image: Some(amd_image()),
            executes: false,
            is_gpu: false,
        }
    }

    pub fn open(&self) -> Arc<dyn Device> {
        registry::open_device(self.name).unwrap()
    }

    /// Why a case cannot be shown here; `None` when it can.
    pub fn lacks(&self, need: Need) -> Option<&'static str> {
        let no_image = self
            .image
            .is_none()
            .then_some("nothing here makes an object for it");
        match need {
            Need::Results if !self.executes => Some("the backend keeps no data"),
            Need::NoResults if self.executes => Some("the backend keeps data"),
            Need::Asynchrony if !self.executes => Some("the backend finishes commands at once"),
            Need::Execution if !self.executes => Some("the backend runs nothing"),
            Need::HostGraphs if self.is_gpu => Some("its graphs hold no host code"),
            Need::HostGraphs if !self.executes => Some("its graphs do nothing"),
            Need::CallingThread if self.is_gpu => Some("its default stream is asynchronous"),
            Need::Gpu if !self.is_gpu => Some("it is no GPU"),
            Need::Gpu | Need::Module | Need::Execution => no_image,
            Need::Nothing
            | Need::Results
            | Need::NoResults
            | Need::Asynchrony
            | Need::CallingThread
            | Need::HostGraphs => None,
        }
    }
}

/// `index` writes its linear thread number to each element, once more each time; `shared` sums over a block through shared memory.
const CPU_SOURCE: &str = r"
typedef unsigned long long u64;
struct launch { unsigned grid[3], block[3]; void *shared; u64 shared_bytes; };
struct index_arguments { u64 *out; u64 offset; };
void index(const struct index_arguments *arguments, const struct launch *launch, u64 begin, u64 end) {
    u64 threads = (u64)launch->block[0] * launch->block[1] * launch->block[2];
    for (u64 block = begin; block < end; block++)
        for (u64 thread = 0; thread < threads; thread++)
            arguments->out[block * threads + thread] += block * threads + thread + arguments->offset;
}
void shared(u64 *const *arguments, const struct launch *launch, u64 begin, u64 end) {
    u64 *scratch = launch->shared, count = launch->shared_bytes / sizeof(u64);
    for (u64 block = begin; block < end; block++) {
        for (u64 i = 0; i < count; i++) scratch[i] = block + i;
        u64 sum = 0;
        for (u64 round = 0; round < 50; round++)
            for (u64 i = 0; i < count; i++) sum += scratch[i];
        (*arguments)[block] = sum;
    }
}
";

fn cpu_image() -> Option<Vec<u8>> {
    static IMAGE: OnceLock<Option<Vec<u8>>> = OnceLock::new();
    IMAGE
        .get_or_init(|| {
            let folder =
                std::env::temp_dir().join(format!("agpu-conformance-{}", std::process::id()));
            std::fs::create_dir_all(&folder).unwrap();
            let (source, object) = (folder.join("kernel.c"), folder.join("kernel.o"));
            std::fs::write(&source, CPU_SOURCE).unwrap();
            let status = Command::new("cc")
                .args([
                    "-c",
                    "-O2",
                    "-fPIC",
                    "-ffreestanding",
                    "-fno-stack-protector",
                ])
                .arg(&source)
                .arg("-o")
                .arg(&object)
                .status();
            let image = status
                .is_ok_and(|status| status.success())
                .then(|| std::fs::read(&object));
            let image = image.transpose().unwrap();
            std::fs::remove_dir_all(folder).unwrap();
            image
        })
        .clone()
}

/// A relocatable AMD object for gfx1100 with the kernel descriptors `index.kd` and `shared.kd`.
fn amd_image() -> Vec<u8> {
    const NAMES: &[u8; 24] = b"\0index.kd\0shared.kd\0\0\0\0\0";
    let mut file = vec![0_u8; 64];
    file[..8].copy_from_slice(b"\x7fELF\x02\x01\x01\x40");
    file[16..20].copy_from_slice(&[1, 0, 224, 0]);
    file[40..48].copy_from_slice(&(64_u64 + 72 + 24).to_le_bytes());
    file[48] = 0x41;
    file[58] = 64;
    file[60] = 4;
    file[62] = 3;
    file.extend([0; 24]);
    for name in [1_u8, 10] {
        let mut symbol = [0_u8; 24];
        symbol[0] = name;
        symbol[4] = (1 << 4) | 1;
        symbol[6] = 1;
        file.extend(symbol);
    }
    file.extend(NAMES);
    for (kind, offset, size, link) in [
        (0_u8, 0_u64, 0_u64, 0_u8),
        (1, 64, 0, 0),
        (2, 64, 72, 3),
        (3, 136, 24, 0),
    ] {
        let mut header = [0_u8; 64];
        header[4] = kind;
        header[24..32].copy_from_slice(&offset.to_le_bytes());
        header[32..40].copy_from_slice(&size.to_le_bytes());
        header[40] = link;
        file.extend(header);
    }
    file
}
