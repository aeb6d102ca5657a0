//! The driver's binary table `gpu_metrics`: one read for most of what a card tells.
//!
//! Source: `drivers/gpu/drm/amd/include/kgd_pp_interface.h` of Linux, structures `gpu_metrics_v1_0` to `v1_8`, `v2_0` to `v2_4` and `v3_0`. The
//! revisions are not extensions of each other: each has its own offsets, and one that is not listed here is not guessed at. The kernel
//! fills a table with ones before it writes to it, so a field of ones is one that the card does not have.
//!
//! Units of `v1_0` to `v1_3`, which the header does not state, are those of `rsmi_gpu_metrics_t` in AMD's `rocm_smi.h`. Left out on purpose is what
//! no document states a unit of: temperatures, loads and powers of `v2_0` to `v2_3`, energy before `v1_4`, the throttle times of `v3_0`.
//! `v1_9` has no fixed layout.

/// What a field says, in units of ours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Quantity {
    /// Share of time.
    Busy,
    MemoryBusy,
    /// Share of time of an engine beside the compute units.
    Engine(&'static str),
    /// Share of time of a compute partition.
    Partition(usize),
    Celsius(&'static str),
    Watts,
    /// Joules, or a counter of unknown unit.
    Joules,
    UnknownEnergy,
    Hertz(&'static str),
    Volts(&'static str),
    FanRpm,
    /// Bits of the throttlers, the same on every card that has the field.
    ThrottleBits,
    /// Accumulated steps in which a reason held the clocks down, of [`Quantity::Steps`].
    ThrottledSteps(&'static str),
    Steps,
    PcieReplays,
    LinkReceivedBytes(usize),
    LinkSentBytes(usize),
}

/// `count` numbers of `width` bytes at `offset`, a `stride` apart; what they say is the mean of those that are there.
#[derive(Clone, Copy, Debug)]
struct Field {
    quantity: Quantity,
    offset: usize,
    width: usize,
    count: usize,
    scale: f64,
}

const fn field(quantity: Quantity, offset: usize, width: usize, scale: f64) -> Field {
    array(quantity, offset, width, 1, scale)
}

const fn array(quantity: Quantity, offset: usize, width: usize, count: usize, scale: f64) -> Field {
    Field {
        quantity,
        offset,
        width,
        count,
        scale,
    }
}

struct Layout {
    revision: (u8, u8),
    bytes: usize,
    fields: &'static [&'static [Field]],
    partitions: Option<Partitions>,
}

/// Statistics of compute partitions, each with the loads of up to eight dies and of its video and JPEG engines.
struct Partitions {
    count_offset: usize,
    offset: usize,
    stride: usize,
    jpeg_count: usize,
    video_offset: usize,
}

/// Partitions of a card, at most.
const MAX_PARTITIONS: usize = 8;
const DIES: usize = 8;
const JPEG_OFFSET: usize = 32;
const VIDEO_ENGINES: usize = 4;

const PERCENT: f64 = 0.01;
const CENTI_PERCENT: f64 = 0.0001;
const MEGAHERTZ: f64 = 1e6;
const MILLI: f64 = 1e-3;
const CENTI: f64 = 0.01;
/// "15.259uJ (2^-16) units"
const ENERGY_UNIT: f64 = 1.0 / 65_536.0;
const KILOBYTES: f64 = 1000.0;

use Quantity::{
    Busy, Celsius, Engine, FanRpm, Hertz, Joules, LinkReceivedBytes, LinkSentBytes, MemoryBusy,
    PcieReplays, Steps, ThrottleBits, ThrottledSteps, UnknownEnergy, Volts, Watts,
};

/// `v1_0`, whose clock counter stands in front.
const CARD_0: &[Field] = &[
    field(Celsius("edge"), 16, 2, 1.0),
    field(Celsius("junction"), 18, 2, 1.0),
    field(Celsius("memory"), 20, 2, 1.0),
    field(Celsius("vr_graphics"), 22, 2, 1.0),
    field(Celsius("vr_soc"), 24, 2, 1.0),
    field(Celsius("vr_memory"), 26, 2, 1.0),
    field(Busy, 28, 2, PERCENT),
    field(MemoryBusy, 30, 2, PERCENT),
    field(Engine("video"), 32, 2, PERCENT),
    field(Watts, 34, 2, 1.0),
    field(UnknownEnergy, 36, 4, 1.0),
    field(Hertz("graphics"), 54, 2, MEGAHERTZ),
    field(Hertz("soc"), 56, 2, MEGAHERTZ),
    field(Hertz("memory"), 58, 2, MEGAHERTZ),
    field(Hertz("video"), 60, 2, MEGAHERTZ),
    field(FanRpm, 72, 2, 1.0),
];

/// What `v1_1` to `v1_3` begin with.
const CARD: &[Field] = &[
    field(Celsius("edge"), 4, 2, 1.0),
    field(Celsius("junction"), 6, 2, 1.0),
    field(Celsius("memory"), 8, 2, 1.0),
    field(Celsius("vr_graphics"), 10, 2, 1.0),
    field(Celsius("vr_soc"), 12, 2, 1.0),
    field(Celsius("vr_memory"), 14, 2, 1.0),
    field(Busy, 16, 2, PERCENT),
    field(MemoryBusy, 18, 2, PERCENT),
    field(Engine("video"), 20, 2, PERCENT),
    field(Watts, 22, 2, 1.0),
    field(UnknownEnergy, 24, 8, 1.0),
    field(Hertz("graphics"), 54, 2, MEGAHERTZ),
    field(Hertz("soc"), 56, 2, MEGAHERTZ),
    field(Hertz("memory"), 58, 2, MEGAHERTZ),
    field(Hertz("video"), 60, 2, MEGAHERTZ),
    field(FanRpm, 72, 2, 1.0),
    field(Celsius("hbm_0"), 88, 2, 1.0),
    field(Celsius("hbm_1"), 90, 2, 1.0),
    field(Celsius("hbm_2"), 92, 2, 1.0),
    field(Celsius("hbm_3"), 94, 2, 1.0),
];

/// What `v1_3` adds.
const CARD_3: &[Field] = &[
    field(Volts("soc"), 104, 2, MILLI),
    field(Volts("graphics"), 106, 2, MILLI),
    field(Volts("memory"), 108, 2, MILLI),
    field(ThrottleBits, 112, 8, 1.0),
];

/// What `v1_4` to `v1_8` begin with.
const ACCELERATOR: &[Field] = &[
    field(Celsius("junction"), 4, 2, 1.0),
    field(Celsius("memory"), 6, 2, 1.0),
    field(Celsius("vr_soc"), 8, 2, 1.0),
    field(Watts, 10, 2, 1.0),
    field(Busy, 12, 2, PERCENT),
    field(MemoryBusy, 14, 2, PERCENT),
];

const fn link(index: usize, received: usize, sent: usize) -> [Field; 2] {
    [
        field(LinkReceivedBytes(index), received + 8 * index, 8, KILOBYTES),
        field(LinkSentBytes(index), sent + 8 * index, 8, KILOBYTES),
    ]
}

/// The eight XGMI links, whose counters stand in two arrays.
const fn links(received: usize, sent: usize) -> [Field; 16] {
    let mut fields = [field(Steps, 0, 0, 0.0); 16];
    let mut index = 0;
    while index < 8 {
        let [one, other] = link(index, received, sent);
        fields[2 * index] = one;
        fields[2 * index + 1] = other;
        index += 1;
    }
    fields
}

/// Clocks of the dies, of the parts of the chip and of the memory, in the order in which all of `v1_4` to `v1_8` have them.
const fn clocks(offset: usize) -> [Field; 4] {
    [
        array(Hertz("graphics"), offset, 2, 8, MEGAHERTZ),
        array(Hertz("soc"), offset + 16, 2, 4, MEGAHERTZ),
        array(Hertz("video"), offset + 24, 2, 4, MEGAHERTZ),
        field(Hertz("memory"), offset + 40, 2, MEGAHERTZ),
    ]
}

/// Accumulated throttling of `v1_6` to `v1_8`.
const fn residencies(offset: usize) -> [Field; 6] {
    [
        field(Steps, offset, 4, 1.0),
        field(ThrottledSteps("external"), offset + 4, 4, 1.0),
        field(ThrottledSteps("power"), offset + 8, 4, 1.0),
        field(ThrottledSteps("thermal"), offset + 12, 4, 1.0),
        field(ThrottledSteps("thermal"), offset + 16, 4, 1.0),
        field(ThrottledSteps("thermal"), offset + 20, 4, 1.0),
    ]
}

const ACCELERATOR_4: &[Field] = &[
    array(Engine("video"), 16, 2, VIDEO_ENGINES, PERCENT),
    field(Joules, 24, 8, ENERGY_UNIT),
    field(PcieReplays, 88, 8, 1.0),
];
const ACCELERATOR_5: &[Field] = &[
    array(Engine("video"), 16, 2, VIDEO_ENGINES, PERCENT),
    array(Engine("jpeg"), 24, 2, 32, PERCENT),
    field(Joules, 88, 8, ENERGY_UNIT),
    field(PcieReplays, 152, 8, 1.0),
];
const ACCELERATOR_6: &[Field] = &[
    field(Joules, 16, 8, ENERGY_UNIT),
    field(PcieReplays, 104, 8, 1.0),
];
const ACCELERATOR_7: &[Field] = &[
    field(Joules, 24, 8, ENERGY_UNIT),
    field(PcieReplays, 112, 8, 1.0),
];

const APU_0: &[Field] = &[
    field(Hertz("graphics"), 80, 2, MEGAHERTZ),
    field(Hertz("soc"), 82, 2, MEGAHERTZ),
    field(Hertz("memory"), 84, 2, MEGAHERTZ),
    field(Hertz("fabric"), 86, 2, MEGAHERTZ),
    field(Hertz("video"), 88, 2, MEGAHERTZ),
];

/// What `v2_1` to `v2_4` have in common.
const APU: &[Field] = &[
    field(Hertz("graphics"), 76, 2, MEGAHERTZ),
    field(Hertz("soc"), 78, 2, MEGAHERTZ),
    field(Hertz("memory"), 80, 2, MEGAHERTZ),
    field(Hertz("fabric"), 82, 2, MEGAHERTZ),
    field(Hertz("video"), 84, 2, MEGAHERTZ),
];
const APU_THROTTLE: &[Field] = &[field(ThrottleBits, 120, 8, 1.0)];
/// The only one of its family that states its units.
const APU_4: &[Field] = &[
    field(Celsius("edge"), 4, 2, CENTI),
    field(Celsius("soc"), 6, 2, CENTI),
    field(Busy, 28, 2, CENTI_PERCENT),
    field(Engine("video"), 30, 2, CENTI_PERCENT),
    field(Watts, 40, 2, MILLI),
];
const APU_3_0: &[Field] = &[
    field(Busy, 42, 2, PERCENT),
    field(Engine("video"), 44, 2, PERCENT),
    array(Engine("npu"), 46, 2, 8, PERCENT),
    field(Watts, 112, 4, MILLI),
    field(Hertz("graphics"), 174, 2, MEGAHERTZ),
    field(Hertz("soc"), 176, 2, MEGAHERTZ),
    field(Hertz("fabric"), 182, 2, MEGAHERTZ),
    field(Hertz("video"), 184, 2, MEGAHERTZ),
    field(Hertz("memory"), 186, 2, MEGAHERTZ),
];

const LAYOUTS: [Layout; 15] = [
    layout((1, 0), 80, &[CARD_0]),
    layout((1, 1), 96, &[CARD]),
    layout((1, 2), 104, &[CARD]),
    layout((1, 3), 120, &[CARD, CARD_3]),
    layout(
        (1, 4),
        288,
        &[ACCELERATOR, ACCELERATOR_4, &links(104, 168), &clocks(240)],
    ),
    layout(
        (1, 5),
        360,
        &[ACCELERATOR, ACCELERATOR_5, &links(176, 240), &clocks(312)],
    ),
    Layout {
        partitions: Some(Partitions {
            count_offset: 306,
            offset: 312,
            stride: 168,
            jpeg_count: 32,
            video_offset: 96,
        }),
        ..layout(
            (1, 6),
            1664,
            &[
                ACCELERATOR,
                ACCELERATOR_6,
                &residencies(32),
                &links(128, 192),
                &clocks(264),
            ],
        )
    },
    Layout {
        partitions: Some(Partitions {
            count_offset: 338,
            offset: 344,
            stride: 232,
            jpeg_count: 32,
            video_offset: 96,
        }),
        ..layout(
            (1, 7),
            2208,
            &[
                ACCELERATOR,
                ACCELERATOR_7,
                &residencies(40),
                &links(136, 200),
                &clocks(296),
            ],
        )
    },
    Layout {
        partitions: Some(Partitions {
            count_offset: 338,
            offset: 344,
            stride: 440,
            jpeg_count: 40,
            video_offset: 112,
        }),
        ..layout(
            (1, 8),
            3872,
            &[
                ACCELERATOR,
                ACCELERATOR_7,
                &residencies(40),
                &links(136, 200),
                &clocks(296),
            ],
        )
    },
    layout((2, 0), 120, &[APU_0]),
    layout((2, 1), 120, &[APU]),
    layout((2, 2), 128, &[APU, APU_THROTTLE]),
    layout((2, 3), 152, &[APU, APU_THROTTLE]),
    layout((2, 4), 168, &[APU, APU_THROTTLE, APU_4]),
    layout((3, 0), 264, &[APU_3_0]),
];

const fn layout(revision: (u8, u8), bytes: usize, fields: &'static [&'static [Field]]) -> Layout {
    Layout {
        revision,
        bytes,
        fields,
        partitions: None,
    }
}

/// Calls `show` for everything that the table says.
///
/// # Errors
///
/// Why the table cannot be read, for people.
pub(super) fn decode(table: &[u8], mut show: impl FnMut(Quantity, f64)) -> Result<(), String> {
    let [low, high, format, content, ..] = *table else {
        return Err(format!(
            "gpu_metrics holds {} bytes, less than its head",
            table.len()
        ));
    };
    let layout = LAYOUTS
        .iter()
        .find(|layout| layout.revision == (format, content));
    let stated = usize::from(u16::from_le_bytes([low, high]));
    let Some(layout) = layout else {
        return Err(format!(
            "gpu_metrics has the revision {format}.{content}, which this version does not know"
        ));
    };
    if stated != layout.bytes {
        return Err(format!(
            "gpu_metrics {format}.{content} states {stated} bytes instead of {}",
            layout.bytes
        ));
    }
    if table.len() < stated {
        return Err(format!(
            "gpu_metrics ends after {} of {stated} bytes",
            table.len()
        ));
    }
    for field in layout.fields.iter().copied().flatten() {
        if let Some(number) = mean(table, field.offset, field.width, field.count) {
            show(field.quantity, number * field.scale);
        }
    }
    if let Some(partitions) = &layout.partitions {
        partitions.decode(table, &mut show);
    }
    Ok(())
}

impl Partitions {
    fn decode(&self, table: &[u8], show: &mut impl FnMut(Quantity, f64)) {
        let count = mean(table, self.count_offset, 2, 1).unwrap_or(0.0) as usize;
        let (mut video, mut jpeg) = (Vec::new(), Vec::new());
        for number in 0..count.min(MAX_PARTITIONS) {
            let begin = self.offset + number * self.stride;
            if let Some(busy) = mean(table, begin, 4, DIES) {
                show(Quantity::Partition(number), busy * PERCENT);
            }
            video.extend(mean(table, begin + self.video_offset, 2, VIDEO_ENGINES));
            jpeg.extend(mean(table, begin + JPEG_OFFSET, 2, self.jpeg_count));
        }
        for (engine, loads) in [("video", video), ("jpeg", jpeg)] {
            if !loads.is_empty() {
                show(
                    Engine(engine),
                    loads.iter().sum::<f64>() / loads.len() as f64 * PERCENT,
                );
            }
        }
    }
}

/// The mean of `count` little-endian numbers, without those whose bits are all ones.
fn mean(table: &[u8], offset: usize, width: usize, count: usize) -> Option<f64> {
    let (mut sum, mut present) = (0.0, 0_u32);
    for bytes in table
        .get(offset..offset + width * count)?
        .chunks_exact(width)
    {
        if bytes.iter().any(|&byte| byte != 0xff) {
            let number = bytes
                .iter()
                .rev()
                .fold(0_u64, |number, &byte| number << 8 | u64::from(byte));
            sum += number as f64;
            present += 1;
        }
    }
    (present > 0).then(|| sum / f64::from(present))
}

#[cfg(test)]
pub(super) mod tests;
