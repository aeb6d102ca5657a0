//! Load from `/proc/stat`: shares of the time since the look before.

use amdgpu_abi::MetricId;

use super::DEVICE;
use crate::sources::{Absence, FIRST_SAMPLE, Sink, Tree, Value, tree};

/// Processors of the largest machine that Linux supports.
const MAX_PROCESSORS: usize = 8192;

/// Times since the system started, in the kernel's ticks.
#[derive(Clone, Copy, Debug, Default)]
struct Ticks {
    total: u64,
    idle: u64,
}

impl Ticks {
    /// `user nice system idle iowait irq softirq steal …`; guests are part of user.
    fn parse(fields: &str) -> Option<Self> {
        let mut ticks = Self::default();
        let mut count = 0;
        for (place, field) in fields.split_ascii_whitespace().take(8).enumerate() {
            let value: u64 = field.parse().ok()?;
            ticks.total = ticks.total.checked_add(value)?;
            if place == 3 || place == 4 {
                ticks.idle += value;
            }
            count += 1;
        }
        (count >= 4).then_some(ticks)
    }

    /// Some counters of the kernel step back a little now and then; that is no time.
    fn busy_since(self, before: Self) -> Value {
        let total = self.total.saturating_sub(before.total);
        let idle = self.idle.saturating_sub(before.idle).min(total);
        if total == 0 {
            return Err(Absence::new(
                "the kernel counted no time since the last look",
            ));
        }
        Ok((total - idle) as f64 / total as f64)
    }
}

#[derive(Default)]
pub(super) struct Load {
    whole: Option<Ticks>,
    processors: Vec<Option<Ticks>>,
    names: Vec<String>,
}

impl Load {
    pub(super) fn read(&mut self, tree: &Tree, buf: &mut Vec<u8>, sink: &mut Sink<'_>) {
        let whole = [DEVICE, "all"];
        if let Err(reason) = tree::bytes_into(&tree.join("proc/stat"), buf) {
            sink.put(MetricId::BusyRatio, &whole, Err(reason));
            return;
        }
        let text = String::from_utf8_lossy(buf);
        // Lines of processors come first.
        for line in text.lines().map_while(|line| line.strip_prefix("cpu")) {
            let (name, fields) = line.split_once(' ').unwrap_or((line, ""));
            let ticks = Ticks::parse(fields);
            if name.is_empty() {
                let value = busy(ticks, &mut self.whole);
                sink.put(MetricId::BusyRatio, &whole, value);
            } else if let Ok(number) = name.parse::<usize>()
                && number < MAX_PROCESSORS
            {
                while self.names.len() <= number {
                    self.names.push(self.names.len().to_string());
                    self.processors.push(None);
                }
                let value = busy(ticks, &mut self.processors[number]);
                let labels = [DEVICE, &self.names[number]];
                sink.put(MetricId::ProcessorBusyRatio, &labels, value);
            }
        }
    }
}

fn busy(ticks: Option<Ticks>, before: &mut Option<Ticks>) -> Value {
    let Some(ticks) = ticks else {
        return Err(Absence::new(
            "/proc/stat has a line that is none of its form",
        ));
    };
    match *before {
        // Looks closer together than a tick keep the older one, so that readers in turn do not take each other's time away.
        Some(last) if last.total == ticks.total => ticks.busy_since(last),
        last => {
            *before = Some(ticks);
            last.map_or(Err(FIRST_SAMPLE), |last| ticks.busy_since(last))
        }
    }
}
