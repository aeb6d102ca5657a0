//! How often a kernel ran, how long it took, and which of its launches are timed.
//!
//! All launches are counted. Timing one costs two looks at the clock, a histogram entry and a record: nothing beside a launch of ten
//! microseconds, much beside one of a tenth. So of short launches that are waited for, and of all in streams of a GPU, where events
//! around each would cost more than the launch, a sample is timed; busy times are estimated from it, for each kernel by itself.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use amdgpu_abi::{Language, MetricId};
use amdgpu_hal::LaunchConfig;
use amdgpu_telemetry::{
    Core, Counter, FIRST_TIMED, KernelIdentity, KernelMeter, KernelSums, SAMPLED_EVERY, counter,
    is_enabled, is_in_sample, wants_every_record,
};

use crate::shared::{CoreType, LaunchRecords, Shared};

/// Launches that take this long on average are all timed: timing takes 60 ns (`docs/telemetry.md`), less than 1 % of it.
const SHORT_NS: u64 = 8_000;
/// Weight of the newest duration in the running mean, as a shift: one long launch in eight shows for a while.
const MEAN_SHIFT: u32 = 3;

/// Reports launches: as records and histograms, or as a bare count where the device was opened without telemetry.
enum Meter {
    Records(KernelMeter),
    Count(Counter),
}

/// What is done about one launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Timing {
    /// Counted.
    Untimed,
    /// Timed, for so many launches, itself included.
    Timed { launches: u64 },
}

impl Timing {
    /// Timed, and stands for itself.
    pub const ALONE: Self = Self::Timed { launches: 1 };
}

/// The launches of one kernel.
pub(super) struct Launches {
    meter: Meter,
    records: LaunchRecords,
    has_hardware_queues: bool,
    /// Launches that were sampled so far. Two threads may take one number, which only moves the sample.
    sampled: AtomicU32,
    /// Launches through this handle that were timed, and a running mean of their durations: what decides whether the next one is.
    timed: AtomicU64,
    mean_ns: AtomicU64,
}

impl Launches {
    pub fn new(shared: &Shared, core: CoreType, kernel: KernelIdentity<'_>) -> Self {
        let core = match core {
            CoreType::Aura => Core::Aura,
            CoreType::Matrix => Core::Matrix,
            CoreType::Neuromorphic => Core::Neuromorphic,
        };
        let (device, records) = (shared.name(), shared.launch_records());
        let meter = if records == LaunchRecords::None {
            let labels = [device, core.name(), Language::Rust.name()];
            Meter::Count(counter(MetricId::KernelLaunchesTotal, &labels))
        } else {
            let index = shared.index();
            let meter = KernelMeter::new(device, index, core, Language::Rust, kernel);
            Meter::Records(meter)
        };
        Self {
            meter,
            records,
            has_hardware_queues: shared.info().capabilities.hardware_queues,
            sampled: AtomicU32::new(0),
            timed: AtomicU64::new(0),
            mean_ns: AtomicU64::new(0),
        }
    }

    /// About a launch that is waited for.
    #[inline]
    pub fn next_waited_for(&self) -> Timing {
        if !is_enabled() {
            return Timing::Untimed;
        }
        match self.records {
            LaunchRecords::None => Timing::Untimed,
            LaunchRecords::All => Timing::ALONE,
            LaunchRecords::Sampled
                if self.mean_ns.load(Ordering::Relaxed) >= SHORT_NS
                    || self.timed.load(Ordering::Relaxed) < FIRST_TIMED
                    || wants_every_record() =>
            {
                Timing::ALONE
            }
            LaunchRecords::Sampled => self.sample(),
        }
    }

    /// About a launch in a stream.
    pub fn next_in_stream(&self) -> Timing {
        match self.records {
            LaunchRecords::None => Timing::Untimed,
            LaunchRecords::Sampled if self.has_hardware_queues => self.sample(),
            LaunchRecords::Sampled | LaunchRecords::All => Timing::ALONE,
        }
    }

    #[inline]
    fn sample(&self) -> Timing {
        let number = self.sampled.load(Ordering::Relaxed);
        self.sampled
            .store(number.wrapping_add(1), Ordering::Relaxed);
        if is_in_sample(number) {
            Timing::Timed {
                launches: SAMPLED_EVERY,
            }
        } else {
            Timing::Untimed
        }
    }

    /// The time of a launch, which is counted by itself.
    pub fn time(
        &self,
        timing: Timing,
        stream: u32,
        start_ns: u64,
        duration_ns: u64,
        config: &LaunchConfig,
    ) {
        let (Timing::Timed { launches }, Meter::Records(meter), true) =
            (timing, &self.meter, is_enabled())
        else {
            return;
        };
        let blocks = config.block_count().unwrap_or(u64::MAX);
        let items = blocks.saturating_mul(config.threads_per_block());
        meter.time(launches, stream, start_ns, duration_ns, [items, blocks]);
        self.timed.fetch_add(1, Ordering::Relaxed);
        let mean = self.mean_ns.load(Ordering::Relaxed);
        let moved = mean - (mean >> MEAN_SHIFT) + (duration_ns >> MEAN_SHIFT);
        self.mean_ns.store(moved, Ordering::Relaxed);
    }

    /// Count launches.
    #[inline]
    pub fn count(&self, launches: u64) {
        match &self.meter {
            Meter::Records(meter) => meter.count(launches),
            Meter::Count(counter) => counter.add(launches),
        }
    }

    /// Launches whose time is estimated.
    pub fn count_untimed(&self, launches: u64, each_ns: u64) {
        match &self.meter {
            Meter::Records(meter) => meter.count_untimed(launches, each_ns),
            Meter::Count(counter) => counter.add(launches),
        }
    }

    /// A running mean of the launches through this handle that were timed; 0 where none was.
    pub fn typical_ns(&self) -> u64 {
        self.mean_ns.load(Ordering::Relaxed)
    }

    /// Launches inside of something that is measured as a whole; of some of them the time is known, the others are taken to have lasted as long.
    pub fn count_inside(&self, launches: u64, timed: u64, duration_ns: u64) {
        match &self.meter {
            Meter::Records(meter) => meter.count_inside(launches, timed, duration_ns),
            Meter::Count(counter) => counter.add(launches),
        }
    }

    /// Of all handles of the kernel; nothing where the device was opened without telemetry.
    pub fn sums(&self) -> Option<KernelSums> {
        match &self.meter {
            Meter::Records(meter) => Some(meter.sums()),
            Meter::Count(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use amdgpu_hal::registry;
    use amdgpu_memory::AllocatorOptions;

    use super::*;
    use crate::open_device::OpenDevice;

    const CONFIG: LaunchConfig = LaunchConfig {
        grid: [1; 3],
        block: [1; 3],
        shared_bytes: 0,
    };

    fn launches(device: &str, records: LaunchRecords) -> Launches {
        // Names that no other test counts under.
        static NUMBER: AtomicU64 = AtomicU64::new(1 << 40);
        let device = registry::open_device(device).unwrap();
        let device = OpenDevice::alone(device, 0, AllocatorOptions::default()).unwrap();
        let identity = KernelIdentity {
            name: "sampled",
            id: NUMBER.fetch_add(1, Ordering::Relaxed),
        };
        Launches::new(&Shared::new(device, records), CoreType::Aura, identity)
    }

    fn time(launches: &Launches, count: u64, duration_ns: u64) {
        for _ in 0..count {
            launches.time(Timing::ALONE, 1, 1, duration_ns, &CONFIG);
        }
    }

    /// How many of as many launches as make up ten samples are timed.
    fn timed(next: impl Fn() -> Timing) -> usize {
        let all = (0..10 * SAMPLED_EVERY).map(|_| next());
        all.filter(|timing| *timing != Timing::Untimed).count()
    }

    #[test]
    fn of_short_launches_a_sample_is_timed_once_many_were() {
        let every = 10 * SAMPLED_EVERY as usize;
        let short = launches("cpu:0", LaunchRecords::Sampled);
        let next = || short.next_waited_for();
        assert_eq!(next(), Timing::ALONE);
        time(&short, FIRST_TIMED - 1, SHORT_NS / 2);
        assert_eq!(timed(next), every);
        time(&short, 1, SHORT_NS / 2);
        assert!((5..=15).contains(&timed(next)), "{}", timed(next));
        // Each of the sample stands for all that were not.
        let weights = (0..every).map(|_| next());
        let sampled = Timing::Timed {
            launches: SAMPLED_EVERY,
        };
        assert!(weights.clone().any(|timing| timing == sampled));
        assert!(weights.clone().all(|timing| timing != Timing::ALONE));
        // Long ones are all timed again, however many there were.
        time(&short, 100, 2 * SHORT_NS);
        assert_eq!(timed(next), every);
        // In streams, the CPU device times all of them.
        assert_eq!(short.next_in_stream(), Timing::ALONE);
    }

    #[test]
    fn the_level_of_telemetry_decides_before_any_time_does() {
        let every = 10 * SAMPLED_EVERY as usize;
        let (none, all) = (
            launches("cpu:0", LaunchRecords::None),
            launches("cpu:0", LaunchRecords::All),
        );
        for launches in [&none, &all] {
            time(launches, 2 * FIRST_TIMED, 1);
        }
        assert_eq!(timed(|| none.next_waited_for()), 0);
        assert_eq!(timed(|| none.next_in_stream()), 0);
        assert_eq!(timed(|| all.next_waited_for()), every);
        assert_eq!(timed(|| all.next_in_stream()), every);
        assert!(none.sums().is_none() && none.typical_ns() == 0);
        assert_eq!(all.sums().unwrap().timed_calls as u64, 2 * FIRST_TIMED);
    }

    #[test]
    fn the_mean_follows_the_newest_launches() {
        let launches = launches("cpu:0", LaunchRecords::All);
        launches.time(Timing::Untimed, 1, 1, 80_000, &CONFIG);
        assert_eq!(launches.typical_ns(), 0);
        time(&launches, 1, 80_000);
        assert_eq!(launches.typical_ns(), 10_000);
        time(&launches, 1, 80_000);
        assert_eq!(launches.typical_ns(), 18_750);
        time(&launches, 200, 80_000);
        assert!((79_990..=80_000).contains(&launches.typical_ns()));
        launches.count(202 + 3);
        launches.count_untimed(4, 1000);
        launches.count_inside(5, 2, 1000);
        let sums = launches.sums().unwrap();
        assert_eq!((sums.calls as u64, sums.timed_calls as u64), (214, 204));
    }
}
