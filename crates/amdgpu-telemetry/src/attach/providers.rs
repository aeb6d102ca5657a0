//! What upper layers tell about themselves.

use once_cell::race::OnceBox;
use serde_json::Value;

/// What can be asked for beside what the bus knows itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Topic {
    /// The kernels that are loaded.
    Kernels,
    /// Everything about one kernel.
    Kernel,
    /// Pools, segments, blocks.
    Memory,
    /// Networks with what they do now.
    Networks,
    /// What the lanes of checked launches did.
    Lanes,
    /// Graphs of operations that are ready to run.
    Graphs,
}

impl Topic {
    pub(super) const ALL: [Self; 6] = [
        Self::Kernels,
        Self::Kernel,
        Self::Memory,
        Self::Networks,
        Self::Lanes,
        Self::Graphs,
    ];

    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Kernels => "kernels",
            Self::Kernel => "kernel",
            Self::Memory => "memory",
            Self::Networks => "networks",
            Self::Lanes => "lanes",
            Self::Graphs => "graphs",
        }
    }
}

/// What is asked.
#[derive(Clone, Debug, Default)]
pub struct Question {
    /// Of the kernel that is meant.
    pub handle: Option<String>,
    /// An allocation of so many bytes, of which pools say what it would find.
    pub size_bytes: Option<u64>,
}

/// Answers with JSON, or says in a sentence why not. Called on a client's thread; must not wait for the program's work.
pub type Provider = fn(&Question) -> Result<Value, String>;

/// Set once each, without a lock that a fork could leave held.
static PROVIDERS: [OnceBox<Provider>; Topic::ALL.len()] =
    [const { OnceBox::new() }; Topic::ALL.len()];

/// Say who answers about a topic. The first one stays.
pub fn provide(topic: Topic, provider: Provider) {
    let _ = PROVIDERS[topic as usize].set(Box::new(provider));
}

/// What the topic's provider says; nothing where there is none in this process.
pub(super) fn ask(topic: Topic, question: &Question) -> Result<Value, String> {
    match PROVIDERS[topic as usize].get() {
        Some(provider) => provider(question),
        None => Ok(Value::Null),
    }
}
