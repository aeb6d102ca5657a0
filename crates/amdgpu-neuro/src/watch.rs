//! What watchers of this process are told about networks.
//!
//! A network writes on its own [`Board`] now and then; whoever asks reads the boards. Nobody waits for a network that is being stepped, and
//! a network never waits for a reader longer than it takes to copy a few numbers.

mod board;
mod raster;

use std::sync::{Arc, Mutex, PoisonError, Weak};

use amdgpu_hal::ForkLocal;
use amdgpu_telemetry::attach::{Question, Topic, provide};
use serde_json::Value;

pub(crate) use board::{Board, Population, Stretch, WeightSample};
pub(crate) use raster::RasterSample;

/// Networks of one answer.
const MAX_NETWORKS: usize = 64;

static BOARDS: ForkLocal<Mutex<Vec<Weak<Board>>>> = ForkLocal::new(Mutex::default);

/// Lets watchers see a network as long as it lives.
pub(crate) fn register(board: &Arc<Board>) {
    provide(Topic::Networks, all_networks);
    let mut boards = BOARDS.lock().unwrap_or_else(PoisonError::into_inner);
    boards.retain(|other| other.strong_count() > 0);
    boards.push(Arc::downgrade(board));
}

/// The networks that did something last come first.
#[expect(clippy::unnecessary_wraps, reason = "the type of every provider")]
fn all_networks(_: &Question) -> Result<Value, String> {
    let mut boards: Vec<Arc<Board>> = {
        let boards = BOARDS.lock().unwrap_or_else(PoisonError::into_inner);
        boards.iter().filter_map(Weak::upgrade).collect()
    };
    boards.sort_by_key(|board| std::cmp::Reverse(board.last_change_ns()));
    boards.truncate(MAX_NETWORKS);
    Ok(boards.iter().map(|board| board.to_json()).collect())
}
