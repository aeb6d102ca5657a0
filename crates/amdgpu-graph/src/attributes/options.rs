//! Options as they are given: by name, taken out one after the other so that those nobody knows are left.

use amdgpu_abi::{Dtype, ErrorCode};
use amdgpu_array::Dims;
use amdgpu_ops::{ImageLayout, SPATIAL, Sliding};

use crate::{Error, Result};

/// The value of an option.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Flag(bool),
    Int(i64),
    Float(f64),
    Ints(Dims),
    Text(String),
}

/// Options by name. Options that are not given have their defaults.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Attributes {
    values: Vec<(String, Value)>,
}

pub(super) fn refused<T>(message: String) -> Result<T> {
    Err(Error::refused(ErrorCode::InvalidArgument, message))
}

impl Attributes {
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Self {
        self.values.push((name.to_owned(), value));
        self
    }

    pub(super) fn with_if(self, is_wanted: bool, name: &str, value: Value) -> Self {
        if is_wanted {
            self.with(name, value)
        } else {
            self
        }
    }

    pub(super) fn with_layout(self, layout: ImageLayout) -> Self {
        let is_last = layout == ImageLayout::Nhwc;
        self.with_if(is_last, "layout", Value::Text("NHWC".to_owned()))
    }

    pub fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.values
            .iter()
            .map(|(name, value)| (name.as_str(), value))
    }

    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.values.is_empty()
    }
}

/// Takes options out, so that those nobody knows are left.
pub(super) struct Taken<'a> {
    pub(super) operation: &'a str,
    left: Vec<(String, Value)>,
    known: Vec<&'static str>,
}

impl<'a> Taken<'a> {
    pub(super) fn of(operation: &'a str, attributes: &Attributes) -> Self {
        Self {
            operation,
            left: attributes.values.clone(),
            known: Vec::new(),
        }
    }

    pub(super) fn take(&mut self, name: &'static str) -> Option<Value> {
        self.known.push(name);
        let place = self.left.iter().position(|(known, _)| known == name)?;
        Some(self.left.remove(place).1)
    }

    pub(super) fn wrong<T>(&self, name: &str, wanted: &str, value: &Value) -> Result<T> {
        refused(format!(
            "{}: {name} is {wanted}, not {value:?}",
            self.operation
        ))
    }

    pub(super) fn flag(&mut self, name: &'static str, default: bool) -> Result<bool> {
        match self.take(name) {
            None => Ok(default),
            Some(Value::Flag(value)) => Ok(value),
            Some(value) => self.wrong(name, "true or false", &value),
        }
    }

    pub(super) fn int(&mut self, name: &'static str, default: i64) -> Result<i64> {
        match self.take(name) {
            None => Ok(default),
            Some(Value::Int(value)) => Ok(value),
            Some(value) => self.wrong(name, "an integer", &value),
        }
    }

    pub(super) fn float(&mut self, name: &'static str, default: f64) -> Result<f64> {
        match self.take(name) {
            None => Ok(default),
            Some(Value::Float(value)) => Ok(value),
            Some(Value::Int(value)) => Ok(value as f64),
            Some(value) => self.wrong(name, "a number", &value),
        }
    }

    pub(super) fn ints(&mut self, name: &'static str) -> Result<Option<Dims>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Ints(values)) => Ok(Some(values)),
            Some(Value::Int(value)) => Ok(Some(Dims::from_slice(&[value]))),
            Some(value) => self.wrong(name, "a list of integers", &value),
        }
    }

    /// A number for each of the axes that windows slide along; those that images lack have the default.
    pub(super) fn along(
        &mut self,
        name: &'static str,
        spatial: usize,
        default: i64,
    ) -> Result<[i64; SPATIAL]> {
        let mut values = [default; SPATIAL];
        let own = &mut values[SPATIAL - spatial..];
        match self.take(name) {
            None => {}
            Some(Value::Int(value)) => own.fill(value),
            Some(Value::Ints(given)) if given.len() == spatial => own.copy_from_slice(&given),
            Some(value) => {
                return self.wrong(name, &format!("an integer or {spatial} of them"), &value);
            }
        }
        Ok(values)
    }

    pub(super) fn text(&mut self, name: &'static str) -> Result<Option<String>> {
        match self.take(name) {
            None => Ok(None),
            Some(Value::Text(value)) => Ok(Some(value)),
            Some(value) => self.wrong(name, "a text", &value),
        }
    }

    pub(super) fn dtype(&mut self, name: &'static str) -> Result<Option<Dtype>> {
        let Some(text) = self.text(name)? else {
            return Ok(None);
        };
        match Dtype::from_name(&text) {
            Some(dtype) => Ok(Some(dtype)),
            None => refused(format!("{}: no dtype is called {text:?}", self.operation)),
        }
    }

    pub(super) fn sliding(&mut self, spatial: usize) -> Result<Sliding> {
        Ok(Sliding {
            stride: self.along("stride", spatial, 1)?,
            padding: self.along("padding", spatial, 0)?,
            dilation: self.along("dilation", spatial, 1)?,
        })
    }

    pub(super) fn layout(&mut self) -> Result<ImageLayout> {
        match self.text("layout")?.as_deref() {
            None | Some("NCHW") => Ok(ImageLayout::Nchw),
            Some("NHWC") => Ok(ImageLayout::Nhwc),
            Some(other) => refused(format!(
                "{}: layout is NCHW or NHWC, not {other:?}",
                self.operation
            )),
        }
    }

    pub(super) fn end<T>(self, made: T) -> Result<T> {
        match self.left.first() {
            None => Ok(made),
            Some((name, _)) if self.known.is_empty() => {
                refused(format!("{} has no options, so no {name}", self.operation))
            }
            Some((name, _)) => refused(format!(
                "{} has no option {name}; there are {}",
                self.operation,
                self.known.join(", ")
            )),
        }
    }
}
