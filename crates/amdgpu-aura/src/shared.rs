//! What an opening of a device shares with its kernels.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use amdgpu_hal::{Device, DeviceInfo, Stream};
use amdgpu_memory::Allocator;

use crate::error::{Error, Result};
use crate::open_device::OpenDevice;

/// Kinds of work, counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CoreType {
    Aura,
    Matrix,
    Neuromorphic,
}

impl CoreType {
    pub const ALL: [Self; 3] = [Self::Aura, Self::Matrix, Self::Neuromorphic];

    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aura => "aura",
            Self::Matrix => "matrix",
            Self::Neuromorphic => "neuromorphic",
        }
    }

    /// The core type of a name.
    ///
    /// # Errors
    ///
    /// `unknown-core-type`, listing the known ones.
    pub fn from_name(name: &str) -> Result<Self> {
        Self::ALL
            .into_iter()
            .find(|core| core.name() == name)
            .ok_or_else(|| Error::UnknownCoreType {
                name: name.to_owned(),
            })
    }
}

/// Which launches write records and histograms; all are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaunchRecords {
    None,
    /// Of short ones that are waited for, and of those in a stream of a GPU, a sample; see `kernel::launches`.
    Sampled,
    All,
}

impl LaunchRecords {
    /// off, standard or detailed.
    ///
    /// # Errors
    ///
    /// Any other name.
    pub fn from_name(name: &str) -> Result<Self> {
        match name {
            "off" => Ok(Self::None),
            "standard" => Ok(Self::Sampled),
            "detailed" => Ok(Self::All),
            _ => Err(Error::UnknownTelemetryLevel {
                name: name.to_owned(),
            }),
        }
    }
}

/// What kernels keep alive of their context.
pub(crate) struct Shared {
    device: Arc<OpenDevice>,
    launch_records: LaunchRecords,
    is_closed: AtomicBool,
}

impl Shared {
    pub fn new(device: Arc<OpenDevice>, launch_records: LaunchRecords) -> Self {
        Self {
            device,
            launch_records,
            is_closed: AtomicBool::new(false),
        }
    }

    pub fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Closes it; whether it was open until now.
    pub fn close(&self) -> bool {
        !self.is_closed.swap(true, Ordering::AcqRel)
    }

    pub fn open_device(&self) -> &Arc<OpenDevice> {
        &self.device
    }

    pub fn device(&self) -> &Arc<dyn Device> {
        self.device.device()
    }

    pub fn allocator(&self) -> &Allocator {
        self.device.allocator()
    }

    pub fn info(&self) -> &DeviceInfo {
        self.device.info()
    }

    pub fn name(&self) -> &str {
        self.device.name()
    }

    pub fn index(&self) -> u16 {
        self.device.index()
    }

    pub fn launch_records(&self) -> LaunchRecords {
        self.launch_records
    }

    /// Lets what `stream` gets from now on wait for what the default stream was given without a wait.
    pub fn hold_back(&self, stream: &dyn Stream) -> Result<()> {
        self.device.hold_back(stream)
    }

    /// A stream that nobody else uses: one given back earlier, or a new one.
    pub fn take_stream(&self) -> Result<Arc<dyn Stream>> {
        self.check_open()?;
        self.device.take_stream()
    }

    /// Keep an idle stream for the next caller of [`Shared::take_stream`].
    pub fn give_stream_back(&self, stream: Arc<dyn Stream>) {
        if self.check_open().is_ok() {
            self.device.give_stream_back(stream);
        }
    }

    pub fn check_open(&self) -> Result<()> {
        if self.is_closed() {
            return Err(Error::Closed {
                device: self.name().to_owned(),
            });
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn core_types_and_levels_are_known_by_name() {
        for core in CoreType::ALL {
            assert_eq!(CoreType::from_name(core.name()).unwrap(), core);
        }
        let names = CoreType::ALL.map(CoreType::name);
        assert_eq!(names, ["aura", "matrix", "neuromorphic"]);
        assert!(CoreType::from_name("Aura").is_err());
        for (name, level) in [
            ("off", LaunchRecords::None),
            ("standard", LaunchRecords::Sampled),
            ("detailed", LaunchRecords::All),
        ] {
            assert_eq!(LaunchRecords::from_name(name).unwrap(), level);
        }
        assert!(LaunchRecords::from_name("on").is_err());
    }
}
