//! Operations of libamdgpu on lists of tensors: one call, and on a GPU one launch, for all of them.

use std::ffi::{CStr, c_char, c_void};

use crate::amdgpu::{LIST_NUMBERS, LIST_SLOTS, ListItem, agpu};
use crate::dtype::Dtype;
use crate::failure::{Failure, Outcome};
use crate::host;
use crate::tensor::{Place, View};

/// What an item has in a slot.
#[derive(Clone, Copy)]
pub enum Slot<'a> {
    Each(&'a View),
    /// A tensor with one element, for all elements.
    One(&'a View),
    /// Left out.
    None,
}

impl<'a> Slot<'a> {
    pub fn one_or_none(view: Option<&'a View>) -> Self {
        view.map_or(Self::None, Self::One)
    }

    fn view(self) -> Option<&'a View> {
        match self {
            Self::Each(view) | Self::One(view) => Some(view),
            Self::None => None,
        }
    }
}

/// Items of one call. What does not go together has no kernel, which is known before anything is written.
pub struct Lists {
    operation: &'static CStr,
    place: Place,
    dtypes: Option<[Option<Dtype>; LIST_SLOTS]>,
    items: Vec<ListItem>,
}

impl Lists {
    pub fn of(operation: &'static CStr, place: Place, count: usize) -> Self {
        Self {
            operation,
            place,
            dtypes: None,
            items: Vec::with_capacity(count),
        }
    }

    /// Adds an item, with numbers of its own or none where all share them.
    pub fn push(&mut self, slots: &[Slot<'_>], numbers: &[f64]) -> Outcome {
        let mut dtypes = [None; LIST_SLOTS];
        let mut memory = [std::ptr::null_mut::<c_void>(); LIST_SLOTS];
        let mut first: Option<&View> = None;
        for (place, slot) in slots.iter().enumerate() {
            let Some(view) = slot.view() else { continue };
            if view.place != self.place || !view.dtype.is_float() {
                return Err(self.mixed("devices or dtypes"));
            }
            if let Slot::Each(view) = slot {
                let first = *first.get_or_insert(view);
                if !view.is_laid_out_like(first) {
                    return Err(self.mixed("layouts"));
                }
            } else if view.len() != 1 {
                return Err(self.mixed("lengths"));
            }
            dtypes[place] = Some(view.dtype);
            memory[place] = view.real_address()?;
        }
        let Some(first) = first.filter(|view| view.is_dense()) else {
            return Err(self.mixed("layouts"));
        };
        if *self.dtypes.get_or_insert(dtypes) != dtypes {
            return Err(self.mixed("dtypes"));
        }
        let mut own = [0.0; LIST_NUMBERS];
        own[..numbers.len()].copy_from_slice(numbers);
        self.items.push(ListItem {
            elements: first.len() as u64,
            memory,
            numbers: own,
        });
        Ok(())
    }

    fn mixed(&self, what: &str) -> Failure {
        Failure::no_kernel(format!(
            "{} of lists with several {what} has no kernel",
            self.operation.to_string_lossy()
        ))
    }

    /// Computes; `numbers` are those that all items share, `None` where each has its own.
    pub fn run(&self, numbers: Option<&[f64]>) -> Outcome {
        let Some(dtypes) = self.dtypes else {
            return Ok(());
        };
        let mut names: [*const c_char; LIST_SLOTS] = [std::ptr::null(); LIST_SLOTS];
        for (name, dtype) in names.iter_mut().zip(dtypes) {
            if let Some(dtype) = dtype {
                *name = dtype.name()?.as_ptr();
            }
        }
        let Place::Rdna(index) = self.place else {
            return Err(self.mixed("devices"));
        };
        agpu!(agpu_ops_list_at(
            host::get()?.device(index)?,
            self.operation.as_ptr(),
            names.as_ptr(),
            self.items.as_ptr(),
            self.items.len(),
            numbers.map_or(std::ptr::null(), <[f64]>::as_ptr),
            numbers.map_or(0, <[f64]>::len),
        ))
    }
}
