//! What the devices of a driver can do. Code above this layer asks for these, not for the kind of a device.

/// Facts in which devices differ for whoever uses them. A new driver fills them in, and nothing above needs to know its name.
///
/// The default is that of a driver which promises nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is an independent fact, none excludes another"
)]
pub struct Capabilities {
    /// Device memory is host memory: the host reads and writes it at its address.
    pub host_visible: bool,
    /// Kernels may be given addresses of ordinary host memory.
    pub reads_host_memory: bool,
    /// Runs code that is compiled for this machine's own processor rather than for a named target.
    pub compiles_natively: bool,
    /// Kernels keep what outlives a barrier in the shared memory of their block, which must be large enough for it.
    pub context_in_shared_memory: bool,
    /// Streams are queues of the hardware: a launch takes no thread of the host, and timing it takes two events in the queue.
    pub hardware_queues: bool,
    /// Graphs may hold copies from and to ordinary (pageable) host memory.
    pub graph_host_copies: bool,
    /// How the driver numbers the stream that its own libraries use when none is named.
    pub default_stream_handle: u64,
}

impl Capabilities {
    /// Of a GPU behind a vendor's driver.
    pub(crate) const GPU: Self = Self {
        host_visible: false,
        reads_host_memory: false,
        compiles_natively: false,
        context_in_shared_memory: false,
        hardware_queues: true,
        graph_host_copies: false,
        default_stream_handle: 0,
    };
}
