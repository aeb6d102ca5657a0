//! What keeps memory alive.

/// Whatever keeps memory in place until it is dropped.
pub type Owner = Box<dyn Send>;
