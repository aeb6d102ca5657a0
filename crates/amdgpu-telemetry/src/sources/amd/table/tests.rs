//! The offsets of `decode` against the structures of the header, declared once more in its order and laid out by the compiler.

#![allow(clippy::float_cmp)] // The arithmetic is written down twice.

use proptest::prelude::*;

use super::*;

/// A structure as C lays it out, whose every byte is one until it is set.
macro_rules! tables {
    ($($name:ident $revision:expr => { $($field:ident: $kind:ty,)* })*) => {
        $(
            #[derive(Clone, Copy)]
            #[repr(C)]
            pub(in crate::sources::amd) struct $name { $(pub $field: $kind,)* }

            impl $name {
                /// As the kernel begins it: ones everywhere, and the head.
                pub(in crate::sources::amd) fn blank() -> Self {
                    let mut table = std::mem::MaybeUninit::<Self>::uninit();
                    // SAFETY: all fields are integers, for which every pattern of bits is a value.
                    let mut table = unsafe {
                        table.as_mut_ptr().write_bytes(0xff, 1);
                        table.assume_init()
                    };
                    table.head = Head { bytes: size_of::<Self>() as u16, format: $revision.0, content: $revision.1 };
                    table
                }

                pub(in crate::sources::amd) fn bytes(&self) -> Vec<u8> {
                    // SAFETY: the structure was made from bytes that were all written, padding included.
                    unsafe { std::slice::from_raw_parts((&raw const *self).cast::<u8>(), size_of::<Self>()) }.to_vec()
                }
            }
        )*
    };
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(in crate::sources::amd) struct Head {
    bytes: u16,
    format: u8,
    content: u8,
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(in crate::sources::amd) struct Partition {
    pub gfx_busy_inst: [u32; 8],
    pub jpeg_busy: [u16; 32],
    pub vcn_busy: [u16; 4],
    gfx_busy_acc: [u64; 8],
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(in crate::sources::amd) struct Partition1 {
    pub gfx_busy_inst: [u32; 8],
    jpeg_busy: [u16; 32],
    vcn_busy: [u16; 4],
    gfx_busy_acc: [u64; 8],
    gfx_below_host_limit_acc: [u64; 8],
}

#[derive(Clone, Copy)]
#[repr(C)]
pub(in crate::sources::amd) struct Partition2 {
    gfx_busy_inst: [u32; 8],
    jpeg_busy: [u16; 40],
    vcn_busy: [u16; 4],
    accumulated: [[u64; 8]; 5],
}

tables! {
    V1_0 (1, 0) => {
        head: Head, system_clock_counter: u64, temperature: [u16; 6],
        gfx: u16, umc: u16, mm: u16, socket_power: u16, energy: u32, average_clocks: [u16; 7], current_clocks: [u16; 7],
        throttle_status: u32, fan: u16, link_width: u8, link_speed: u8,
    }
    V1_1 (1, 1) => {
        head: Head, temperature: [u16; 6], gfx: u16, umc: u16, mm: u16, socket_power: u16, energy: u64, system_clock_counter: u64,
        average_clocks: [u16; 7], current_clocks: [u16; 7], throttle_status: u32, fan: u16, link_width: u16, link_speed: u16, padding: u16,
        gfx_acc: u32, mem_acc: u32, hbm: [u16; 4],
    }
    V1_2 (1, 2) => {
        head: Head, temperature: [u16; 6], gfx: u16, umc: u16, mm: u16, socket_power: u16, energy: u64, system_clock_counter: u64,
        average_clocks: [u16; 7], current_clocks: [u16; 7], throttle_status: u32, fan: u16, link_width: u16, link_speed: u16, padding: u16,
        gfx_acc: u32, mem_acc: u32, hbm: [u16; 4], firmware_timestamp: u64,
    }
    V1_3 (1, 3) => {
        head: Head, temperature: [u16; 6], gfx: u16, umc: u16, mm: u16, socket_power: u16, energy: u64, system_clock_counter: u64,
        average_clocks: [u16; 7], current_clocks: [u16; 7], throttle_status: u32, fan: u16, link_width: u16, link_speed: u16, padding: u16,
        gfx_acc: u32, mem_acc: u32, hbm: [u16; 4], firmware_timestamp: u64,
        voltage_soc: u16, voltage_gfx: u16, voltage_mem: u16, padding1: u16, indep_throttle_status: u64,
    }
    V1_4 (1, 4) => {
        head: Head, hotspot: u16, mem: u16, vrsoc: u16, socket_power: u16, gfx: u16, umc: u16, vcn: [u16; 4],
        energy: u64, system_clock_counter: u64, throttle_status: u32, gfxclk_lock_status: u32, links: [u16; 4],
        gfx_acc: u32, mem_acc: u32, pcie_bandwidth: [u64; 2], l0_to_recov: u64, replays: u64, replay_rover: u64,
        xgmi_read: [u64; 8], xgmi_write: [u64; 8], firmware_timestamp: u64,
        gfxclk: [u16; 8], socclk: [u16; 4], vclk: [u16; 4], dclk: [u16; 4], uclk: u16, padding: u16,
    }
    V1_5 (1, 5) => {
        head: Head, hotspot: u16, mem: u16, vrsoc: u16, socket_power: u16, gfx: u16, umc: u16, vcn: [u16; 4], jpeg: [u16; 32],
        energy: u64, system_clock_counter: u64, throttle_status: u32, gfxclk_lock_status: u32, links: [u16; 4],
        gfx_acc: u32, mem_acc: u32, pcie_bandwidth: [u64; 2], l0_to_recov: u64, replays: u64, replay_rover: u64, naks: [u32; 2],
        xgmi_read: [u64; 8], xgmi_write: [u64; 8], firmware_timestamp: u64,
        gfxclk: [u16; 8], socclk: [u16; 4], vclk: [u16; 4], dclk: [u16; 4], uclk: u16, padding: u16,
    }
    V1_6 (1, 6) => {
        head: Head, hotspot: u16, mem: u16, vrsoc: u16, socket_power: u16, gfx: u16, umc: u16,
        energy: u64, system_clock_counter: u64, accumulation_counter: u32, prochot: u32, ppt: u32, socket_thm: u32, vr_thm: u32, hbm_thm: u32,
        gfxclk_lock_status: u32, links: [u16; 4],
        gfx_acc: u32, mem_acc: u32, pcie_bandwidth: [u64; 2], l0_to_recov: u64, replays: u64, replay_rover: u64, naks: [u32; 2],
        xgmi_read: [u64; 8], xgmi_write: [u64; 8], firmware_timestamp: u64,
        gfxclk: [u16; 8], socclk: [u16; 4], vclk: [u16; 4], dclk: [u16; 4], uclk: u16, partitions: u16,
        xcp: [Partition; 8], other_end_recovery: u32,
    }
    V1_7 (1, 7) => {
        head: Head, hotspot: u16, mem: u16, vrsoc: u16, socket_power: u16, gfx: u16, umc: u16, mem_max_bandwidth: u64,
        energy: u64, system_clock_counter: u64, accumulation_counter: u32, prochot: u32, ppt: u32, socket_thm: u32, vr_thm: u32, hbm_thm: u32,
        gfxclk_lock_status: u32, links: [u16; 4],
        gfx_acc: u32, mem_acc: u32, pcie_bandwidth: [u64; 2], l0_to_recov: u64, replays: u64, replay_rover: u64, naks: [u32; 2],
        xgmi_read: [u64; 8], xgmi_write: [u64; 8], xgmi_status: [u16; 8], padding: u16, firmware_timestamp: u64,
        gfxclk: [u16; 8], socclk: [u16; 4], vclk: [u16; 4], dclk: [u16; 4], uclk: u16, partitions: u16,
        xcp: [Partition1; 8], other_end_recovery: u32,
    }
    V1_8 (1, 8) => {
        head: Head, hotspot: u16, mem: u16, vrsoc: u16, socket_power: u16, gfx: u16, umc: u16, mem_max_bandwidth: u64,
        energy: u64, system_clock_counter: u64, accumulation_counter: u32, prochot: u32, ppt: u32, socket_thm: u32, vr_thm: u32, hbm_thm: u32,
        gfxclk_lock_status: u32, links: [u16; 4],
        gfx_acc: u32, mem_acc: u32, pcie_bandwidth: [u64; 2], l0_to_recov: u64, replays: u64, replay_rover: u64, naks: [u32; 2],
        xgmi_read: [u64; 8], xgmi_write: [u64; 8], xgmi_status: [u16; 8], padding: u16, firmware_timestamp: u64,
        gfxclk: [u16; 8], socclk: [u16; 4], vclk: [u16; 4], dclk: [u16; 4], uclk: u16, partitions: u16,
        xcp: [Partition2; 8], other_end_recovery: u32,
    }
    V2_0 (2, 0) => {
        head: Head, system_clock_counter: u64, gfx_temperature: u16, soc_temperature: u16, core_temperature: [u16; 8], l3_temperature: [u16; 2],
        gfx: u16, mm: u16, powers: [u16; 4], core_power: [u16; 8], average_clocks: [u16; 6], current_clocks: [u16; 6],
        core_clocks: [u16; 8], l3_clocks: [u16; 2], throttle_status: u32, fan_pwm: u16, padding: u16,
    }
    V2_1 (2, 1) => {
        head: Head, gfx_temperature: u16, soc_temperature: u16, core_temperature: [u16; 8], l3_temperature: [u16; 2],
        gfx: u16, mm: u16, system_clock_counter: u64, powers: [u16; 4], core_power: [u16; 8], average_clocks: [u16; 6], current_clocks: [u16; 6],
        core_clocks: [u16; 8], l3_clocks: [u16; 2], throttle_status: u32, fan_pwm: u16, padding: [u16; 3],
    }
    V2_2 (2, 2) => {
        head: Head, gfx_temperature: u16, soc_temperature: u16, core_temperature: [u16; 8], l3_temperature: [u16; 2],
        gfx: u16, mm: u16, system_clock_counter: u64, powers: [u16; 4], core_power: [u16; 8], average_clocks: [u16; 6], current_clocks: [u16; 6],
        core_clocks: [u16; 8], l3_clocks: [u16; 2], throttle_status: u32, fan_pwm: u16, padding: [u16; 3], indep_throttle_status: u64,
    }
    V2_3 (2, 3) => {
        head: Head, gfx_temperature: u16, soc_temperature: u16, core_temperature: [u16; 8], l3_temperature: [u16; 2],
        gfx: u16, mm: u16, system_clock_counter: u64, powers: [u16; 4], core_power: [u16; 8], average_clocks: [u16; 6], current_clocks: [u16; 6],
        core_clocks: [u16; 8], l3_clocks: [u16; 2], throttle_status: u32, fan_pwm: u16, padding: [u16; 3], indep_throttle_status: u64,
        average_temperatures: [u16; 12],
    }
    V2_4 (2, 4) => {
        head: Head, gfx_temperature: u16, soc_temperature: u16, core_temperature: [u16; 8], l3_temperature: [u16; 2],
        gfx: u16, mm: u16, system_clock_counter: u64, powers: [u16; 4], core_power: [u16; 8], average_clocks: [u16; 6], current_clocks: [u16; 6],
        core_clocks: [u16; 8], l3_clocks: [u16; 2], throttle_status: u32, fan_pwm: u16, padding: [u16; 3], indep_throttle_status: u64,
        average_temperatures: [u16; 12], voltages: [u16; 3], currents: [u16; 3],
    }
    V3_0 (3, 0) => {
        head: Head, gfx_temperature: u16, soc_temperature: u16, core_temperature: [u16; 16], skin_temperature: u16,
        gfx: u16, vcn: u16, ipu: [u16; 8], core_c0: [u16; 16], dram: [u16; 2], ipu_traffic: [u16; 2], system_clock_counter: u64,
        socket_power: u32, ipu_power: u16, apu_power: u32, gfx_power: u32, dgpu_power: u32, all_core_power: u32, core_power: [u16; 16],
        sys_power: u16, stapm_limit: u16, current_stapm_limit: u16,
        gfxclk: u16, socclk: u16, vpeclk: u16, ipuclk: u16, fclk: u16, vclk: u16, uclk: u16, mpipuclk: u16,
        core_clocks: [u16; 16], core_maxfreq: u16, gfx_maxfreq: u16, residencies: [u32; 7], alpha: u32,
    }
}

fn decoded(table: &[u8]) -> Vec<(Quantity, f64)> {
    let mut shown = Vec::new();
    decode(table, |quantity, number| shown.push((quantity, number))).unwrap();
    shown
}

fn of(shown: &[(Quantity, f64)], quantity: Quantity) -> f64 {
    let found: Vec<f64> = shown
        .iter()
        .filter(|(known, _)| *known == quantity)
        .map(|(_, number)| *number)
        .collect();
    assert_eq!(found.len(), 1, "{quantity:?} in {shown:?}");
    found[0]
}

macro_rules! fill_card {
    ($table:ident) => {
        $table.temperature = [41, 52, 63, 70, 71, 72];
        (
            $table.gfx,
            $table.umc,
            $table.mm,
            $table.socket_power,
            $table.energy,
        ) = (87, 34, 5, 293, 123_456);
        $table.current_clocks = [2480, 1200, 1250, 700, 600, 0, 0];
        $table.fan = 1723;
    };
}

fn assert_card(bytes: &[u8]) {
    let shown = decoded(bytes);
    for (sensor, celsius) in [
        "edge",
        "junction",
        "memory",
        "vr_graphics",
        "vr_soc",
        "vr_memory",
    ]
    .into_iter()
    .zip([41.0, 52.0, 63.0, 70.0, 71.0, 72.0])
    {
        assert_eq!(of(&shown, Celsius(sensor)), celsius);
    }
    assert_eq!(of(&shown, Busy), 0.87);
    assert_eq!(of(&shown, MemoryBusy), 0.34);
    assert_eq!(of(&shown, Engine("video")), 0.05);
    assert_eq!(of(&shown, Watts), 293.0);
    assert_eq!(of(&shown, UnknownEnergy), 123_456.0);
    for (domain, hertz) in ["graphics", "soc", "memory", "video"]
        .into_iter()
        .zip([2.48e9, 1.2e9, 1.25e9, 7e8])
    {
        assert_eq!(of(&shown, Hertz(domain)), hertz);
    }
    assert_eq!(of(&shown, FanRpm), 1723.0);
}

#[test]
fn tables_of_graphics_cards_are_read_where_the_header_puts_them() {
    let mut table = V1_0::blank();
    fill_card!(table);
    assert_card(&table.bytes());
    let mut table = V1_1::blank();
    fill_card!(table);
    table.hbm = [60, 61, 62, 63];
    assert_card(&table.bytes());
    assert_eq!(of(&decoded(&table.bytes()), Celsius("hbm_3")), 63.0);
    let mut table = V1_2::blank();
    fill_card!(table);
    assert_card(&table.bytes());
    let mut table = V1_3::blank();
    fill_card!(table);
    (table.voltage_soc, table.voltage_gfx, table.voltage_mem) = (906, 1043, 1350);
    table.indep_throttle_status = 1 << 36 | 1;
    assert_card(&table.bytes());
    let shown = decoded(&table.bytes());
    assert_eq!(of(&shown, Volts("soc")), 0.906);
    assert_eq!(of(&shown, Volts("graphics")), 1.043);
    assert_eq!(of(&shown, Volts("memory")), 1.35);
    assert_eq!(of(&shown, ThrottleBits) as u64, 1 << 36 | 1);
}

macro_rules! fill_accelerator {
    ($table:ident) => {
        (
            $table.hotspot,
            $table.mem,
            $table.vrsoc,
            $table.socket_power,
            $table.gfx,
            $table.umc,
        ) = (55, 48, 50, 742, 99, 61);
        ($table.energy, $table.replays) = (65_536 * 1000, 3);
        $table.xgmi_read = [10, 11, 12, 13, 14, 15, 16, 17];
        $table.xgmi_write = [20, 21, 22, 23, 24, 25, 26, 27];
        $table.gfxclk[..6].copy_from_slice(&[2100, 2000, 2100, 2000, 2100, 2000]);
        $table.socclk[..2].copy_from_slice(&[900, 1100]);
        ($table.vclk[0], $table.uclk) = (30, 1300);
    };
}

fn assert_accelerator(bytes: &[u8]) -> Vec<(Quantity, f64)> {
    let shown = decoded(bytes);
    assert_eq!(of(&shown, Celsius("junction")), 55.0);
    assert_eq!(of(&shown, Celsius("memory")), 48.0);
    assert_eq!(of(&shown, Celsius("vr_soc")), 50.0);
    assert_eq!(of(&shown, Watts), 742.0);
    assert_eq!(of(&shown, Busy), 0.99);
    assert_eq!(of(&shown, MemoryBusy), 0.61);
    assert_eq!(of(&shown, Joules), 1000.0);
    assert_eq!(of(&shown, PcieReplays), 3.0);
    assert_eq!(of(&shown, LinkReceivedBytes(0)), 10_000.0);
    assert_eq!(of(&shown, LinkReceivedBytes(7)), 17_000.0);
    assert_eq!(of(&shown, LinkSentBytes(3)), 23_000.0);
    // The mean of the dies that there are.
    assert_eq!(of(&shown, Hertz("graphics")), 2.05e9);
    assert_eq!(of(&shown, Hertz("soc")), 1e9);
    assert_eq!(of(&shown, Hertz("video")), 3e7);
    assert_eq!(of(&shown, Hertz("memory")), 1.3e9);
    shown
}

fn thermal_steps(shown: &[(Quantity, f64)]) -> f64 {
    shown
        .iter()
        .filter(|(quantity, _)| *quantity == ThrottledSteps("thermal"))
        .map(|(_, number)| number)
        .sum()
}

#[test]
fn tables_of_accelerators_are_read_where_the_header_puts_them() {
    let mut table = V1_4::blank();
    fill_accelerator!(table);
    table.vcn = [10, 30, 0xffff, 0xffff];
    assert_eq!(
        of(&assert_accelerator(&table.bytes()), Engine("video")),
        0.2
    );
    let mut table = V1_5::blank();
    fill_accelerator!(table);
    table.jpeg[0] = 40;
    assert_eq!(of(&assert_accelerator(&table.bytes()), Engine("jpeg")), 0.4);

    let mut table = V1_6::blank();
    fill_accelerator!(table);
    (table.accumulation_counter, table.prochot, table.ppt) = (1000, 1, 200);
    (
        table.socket_thm,
        table.vr_thm,
        table.hbm_thm,
        table.partitions,
    ) = (30, 40, 50, 2);
    table.xcp[0].gfx_busy_inst[..3].copy_from_slice(&[90, 80, 70]);
    table.xcp[1].gfx_busy_inst[0] = 10;
    table.xcp[1].vcn_busy[0] = 50;
    table.xcp[1].jpeg_busy[31] = 6;
    table.xcp[2].gfx_busy_inst[0] = 99;
    let shown = assert_accelerator(&table.bytes());
    assert_eq!(of(&shown, Steps), 1000.0);
    assert_eq!(of(&shown, ThrottledSteps("external")), 1.0);
    assert_eq!(of(&shown, ThrottledSteps("power")), 200.0);
    assert_eq!(thermal_steps(&shown), 120.0);
    assert_eq!(of(&shown, Quantity::Partition(0)), 0.8);
    assert_eq!(of(&shown, Quantity::Partition(1)), 0.1);
    assert_eq!(of(&shown, Engine("video")), 0.5);
    assert_eq!(of(&shown, Engine("jpeg")), 0.06);
    assert!(
        shown
            .iter()
            .all(|(quantity, _)| *quantity != Quantity::Partition(2))
    );

    let mut table = V1_7::blank();
    fill_accelerator!(table);
    (
        table.accumulation_counter,
        table.ppt,
        table.hbm_thm,
        table.partitions,
    ) = (1000, 200, 50, 8);
    table.xcp[7].gfx_busy_inst[0] = 25;
    let shown = assert_accelerator(&table.bytes());
    assert_eq!((of(&shown, Steps), thermal_steps(&shown)), (1000.0, 50.0));
    assert_eq!(of(&shown, Quantity::Partition(7)), 0.25);

    let mut table = V1_8::blank();
    fill_accelerator!(table);
    table.partitions = 60_000;
    table.xcp[7].gfx_busy_inst[7] = 25;
    table.xcp[7].vcn_busy[3] = 12;
    table.xcp[7].jpeg_busy[39] = 34;
    let shown = assert_accelerator(&table.bytes());
    assert_eq!(of(&shown, Quantity::Partition(7)), 0.25);
    assert_eq!(
        (of(&shown, Engine("video")), of(&shown, Engine("jpeg"))),
        (0.12, 0.34)
    );
}

macro_rules! apu {
    ($table:ident) => {{
        let mut table = $table::blank();
        table.current_clocks = [2700, 1000, 1600, 1800, 400, 300];
        (table.gfx_temperature, table.gfx, table.powers) = (4512, 5025, [15_250; 4]);
        (table.soc_temperature, table.mm) = (4400, 1000);
        let shown = decoded(&table.bytes());
        for (domain, hertz) in ["graphics", "soc", "memory", "fabric", "video"]
            .into_iter()
            .zip([2.7e9, 1e9, 1.6e9, 1.8e9, 4e8])
        {
            assert_eq!(of(&shown, Hertz(domain)), hertz);
        }
        shown
    }};
}

#[test]
fn tables_of_apus_are_read_where_the_header_puts_them_and_units_are_not_guessed() {
    for shown in [apu!(V2_0), apu!(V2_1), apu!(V2_2), apu!(V2_3)] {
        assert_eq!(shown.len(), 5, "{shown:?}");
    }
    let shown = apu!(V2_4);
    assert_eq!(of(&shown, Celsius("edge")), 45.12);
    assert_eq!(of(&shown, Celsius("soc")), 44.0);
    assert!((of(&shown, Busy) - 0.5025).abs() < 1e-12);
    assert_eq!(of(&shown, Engine("video")), 0.1);
    assert_eq!(of(&shown, Watts), 15.25);
    let mut table = V2_2::blank();
    table.indep_throttle_status = 1 << 20;
    assert_eq!(
        of(&decoded(&table.bytes()), ThrottleBits),
        f64::from(1 << 20)
    );

    let mut table = V3_0::blank();
    (table.gfx, table.vcn, table.socket_power) = (63, 20, 28_500);
    table.ipu[0] = 50;
    (
        table.gfxclk,
        table.socclk,
        table.fclk,
        table.vclk,
        table.uclk,
    ) = (2900, 1100, 2000, 1200, 2800);
    let shown = decoded(&table.bytes());
    assert_eq!(
        (
            of(&shown, Busy),
            of(&shown, Engine("video")),
            of(&shown, Engine("npu"))
        ),
        (0.63, 0.2, 0.5)
    );
    assert_eq!(of(&shown, Watts), 28.5);
    for (domain, hertz) in ["graphics", "soc", "fabric", "video", "memory"]
        .into_iter()
        .zip([2.9e9, 1.1e9, 2e9, 1.2e9, 2.8e9])
    {
        assert_eq!(of(&shown, Hertz(domain)), hertz);
    }
}

#[test]
fn a_table_of_ones_says_nothing() {
    for bytes in [
        V1_0::blank().bytes(),
        V1_3::blank().bytes(),
        V1_8::blank().bytes(),
        V2_4::blank().bytes(),
        V3_0::blank().bytes(),
    ] {
        // A count of partitions that is not there, and none of their loads.
        assert_eq!(decoded(&bytes), []);
    }
}

#[test]
fn damaged_tables_have_a_reason() {
    let whole = V1_3::blank().bytes();
    for (bytes, expected) in [
        (vec![], "less than its head"),
        (vec![4, 0, 1], "less than its head"),
        (whole[..100].to_vec(), "ends after 100 of 120"),
        (vec![8, 0, 1, 9, 0, 0, 0, 0], "revision 1.9"),
        (vec![0; 200], "revision 0.0"),
        (
            [&[96, 0, 1, 3], &whole[4..]].concat(),
            "states 96 bytes instead of 120",
        ),
    ] {
        let reason = decode(&bytes, |_, _| ()).unwrap_err();
        assert!(reason.contains(expected), "{reason}");
    }
}

proptest! {
    #[test]
    fn any_bytes_are_numbers_or_a_reason(
        revision in prop::sample::select(LAYOUTS.iter().map(|layout| (layout.revision, layout.bytes)).collect::<Vec<_>>()),
        mut bytes in prop::collection::vec(any::<u8>(), 0..3900),
        is_whole in any::<bool>(),
    ) {
        let ((format, content), size) = revision;
        if is_whole && bytes.len() >= 4 {
            bytes.resize(size, 0x5a);
            bytes[..2].copy_from_slice(&(size as u16).to_le_bytes());
            (bytes[2], bytes[3]) = (format, content);
        }
        let mut shown = 0;
        let told = decode(&bytes, |_, number| {
            assert!(number.is_finite());
            shown += 1;
        });
        prop_assert_eq!(told.is_ok(), shown > 0 || (is_whole && bytes.len() == size));
    }
}
