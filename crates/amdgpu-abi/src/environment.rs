//! Names of the environment variables that amdgpu reads, and the one way to read them.

// Text of the tables becomes doc comments here; it is written for every language.
#![allow(clippy::doc_markdown)]

include!("generated/environment.rs");

/// The value of a variable; unset, empty and non-Unicode values count as absent.
#[must_use]
pub fn read(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}
