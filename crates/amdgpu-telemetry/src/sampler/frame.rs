//! Frames for dashboards: a matrix of devices and metrics, copied from the board.

use amdgpu_abi::metrics::CATALOGUE;

use super::board::Board;
use crate::sources::SeriesKey;

/// A metric as a frame asks for it: name, and labels that must have these values.
#[derive(Clone, Debug)]
struct Column {
    metric: String,
    labels: Vec<(String, String)>,
}

impl Column {
    fn fits(&self, key: &SeriesKey, device: &str) -> bool {
        key.metric.metric().name == self.metric
            && key.label("device") == Some(device)
            && self
                .labels
                .iter()
                .all(|(name, value)| key.label(name) == Some(value))
    }
}

/// Which series stand where in a frame; looked up again when new series have come.
#[derive(Clone, Debug)]
pub struct FramePlan {
    devices: Vec<String>,
    columns: Vec<Column>,
    places: Vec<Option<usize>>,
    series_known: usize,
    /// What stands behind the sensors of each device, of equal length for all.
    tails: Vec<u8>,
}

impl FramePlan {
    /// Rows are `devices`, columns `metrics`: a name, and values of labels other than `device`. Labels left out may have any value; the
    /// first series that fits counts.
    ///
    /// # Errors
    ///
    /// The name that is not in the catalogue.
    pub fn new(
        devices: Vec<String>,
        metrics: Vec<(String, Vec<(String, String)>)>,
    ) -> Result<Self, String> {
        for (name, _) in &metrics {
            if CATALOGUE.iter().all(|row| row.name != name) {
                return Err(name.clone());
            }
        }
        Ok(Self {
            devices,
            columns: metrics
                .into_iter()
                .map(|(metric, labels)| Column { metric, labels })
                .collect(),
            places: Vec::new(),
            series_known: usize::MAX,
            tails: Vec::new(),
        })
    }

    /// Values that others know, as they are to stand behind the sensors of each device: the same number of bytes for each.
    ///
    /// # Errors
    ///
    /// The number of devices that the bytes cannot be shared out to.
    pub fn set_tails(&mut self, tails: &[u8]) -> Result<(), usize> {
        if !tails.len().is_multiple_of(self.devices.len().max(1)) {
            return Err(self.devices.len());
        }
        self.tails.clear();
        self.tails.extend_from_slice(tails);
        Ok(())
    }

    fn look_up(&mut self, board: &Board) {
        let (columns, series) = (&self.columns, board.series());
        let place = |device: &String, column: &Column| {
            series
                .iter()
                .position(|info| column.fits(&info.key, device))
        };
        self.places = self
            .devices
            .iter()
            .flat_map(|device| columns.iter().map(move |column| place(device, column)))
            .collect();
        self.series_known = series.len();
    }

    pub(super) fn write(&mut self, board: &Board, out: &mut Vec<u8>) {
        if self.series_known != board.series().len() {
            self.look_up(board);
        }
        let values = board.values();
        out.reserve(self.places.len() * size_of::<f32>() + self.tails.len());
        let tail_bytes = self.tails.len() / self.devices.len().max(1);
        for device in 0..self.devices.len() {
            let (columns, tail) = (self.columns.len(), device * tail_bytes);
            for place in &self.places[device * columns..(device + 1) * columns] {
                let value = place.map_or(f32::NAN, |place| values[place] as f32);
                out.extend_from_slice(&value.to_le_bytes());
            }
            out.extend_from_slice(&self.tails[tail..tail + tail_bytes]);
        }
    }
}
