//! tuning.h.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use amdgpu_abi::ErrorCode;
use amdgpu_ops::tuning::{self, Database, ImportError, settings};

use crate::borrowed::{Described, Out, Text, Versioned};
use crate::handles::{self, Handle};
use crate::objects::DeviceObject;
use crate::status::{Answer, Failure, Status, answer};
use crate::text::TextObject;

/// `agpu_tuning_statistics`.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct TuningStatistics {
    size_bytes: u64,
    hits: u64,
    misses: u64,
    entries: u64,
    shipped: u64,
}

// SAFETY: plain numbers; all zeros is a valid value.
unsafe impl Versioned for TuningStatistics {
    const NAME: &'static str = "agpu_tuning_statistics";
    const FIRST_BYTES: usize = size_of::<Self>();
}

/// The database that choices for a device use.
fn database(device: Handle) -> Answer<(Arc<Database>, Arc<DeviceObject>)> {
    let device = handles::get::<DeviceObject>(device, "device")?;
    let database = tuning::database_of(&device.context.info().architecture);
    Ok((database, device))
}

fn not_written(path: Option<&Path>, error: &std::io::Error) -> Failure {
    let path = path.unwrap_or(Path::new("the tuning database")).display();
    Failure::new(
        ErrorCode::WriteFailed,
        format!("{path} cannot be written: {error}"),
    )
}

fn path_of<'a>(path: Text) -> Answer<&'a Path> {
    match path.required("path")? {
        "" => Err(Failure::invalid("path is empty; pass the path of a file")),
        text => Ok(Path::new(text)),
    }
}

fn name_of<'a>(text: Text, name: &str) -> Answer<&'a str> {
    let given = text.required(name)?;
    if tuning::is_name(given) {
        return Ok(given);
    }
    Err(Failure::invalid(format!(
        "{name} is {given:?}; it must be one line of at most 512 bytes"
    )))
}

/// What the database of a device holds, and how often it was asked.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_tuning_get_statistics(
    device: Handle,
    statistics: Described<TuningStatistics>,
) -> Status {
    answer(|| {
        let place = statistics.required("statistics")?;
        let found = database(device)?.0.statistics();
        place.set(&TuningStatistics {
            size_bytes: size_of::<TuningStatistics>() as u64,
            hits: found.hits,
            misses: found.misses,
            entries: found.entries,
            shipped: found.shipped,
        });
        Ok(())
    })
}

/// Forget what was measured here.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_tuning_clear(device: Handle, removed: Out<u64>) -> Status {
    answer(|| {
        let (database, _) = database(device)?;
        let count = database
            .clear()
            .map_err(|error| not_written(database.path().as_deref(), &error))?;
        if let Some(place) = removed.optional() {
            place.write(count);
        }
        Ok(())
    })
}

/// Keep measurements in another file.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_tuning_set_file(device: Handle, path: Text, taken: Out<u64>) -> Status {
    answer(|| {
        let (database, _) = database(device)?;
        let file = match path.optional("path")? {
            None => None,
            Some(_) => Some(PathBuf::from(path_of(path)?)),
        };
        let shown = file.clone();
        let count = database
            .set_file(file)
            .map_err(|error| not_written(shown.as_deref(), &error))?;
        if let Some(place) = taken.optional() {
            place.write(count as u64);
        }
        Ok(())
    })
}

/// Write what is known to a file.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_tuning_export(device: Handle, path: Text, count: Out<u64>) -> Status {
    answer(|| {
        let (database, _) = database(device)?;
        let path = path_of(path)?;
        let written = database
            .export(path)
            .map_err(|error| not_written(Some(path), &error))?;
        if let Some(place) = count.optional() {
            place.write(written as u64);
        }
        Ok(())
    })
}

/// Merge a file into the database of its architecture.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_tuning_import(path: Text, changed: Out<u64>) -> Status {
    answer(|| {
        let path = path_of(path)?;
        let (_, count) = tuning::import(path).map_err(|error| {
            let reason = match error {
                ImportError::File(error) => error.to_string(),
                ImportError::Content(reason) => reason,
            };
            Failure::invalid(format!("{} is not imported: {reason}", path.display()))
        })?;
        if let Some(place) = changed.optional() {
            place.write(count as u64);
        }
        Ok(())
    })
}

/// The fastest way of a subject.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_tuning_find(
    device: Handle,
    subject: Text,
    way: Out<Handle>,
    seconds: Out<f64>,
) -> Status {
    answer(|| {
        let place = way.required("way")?;
        let subject = name_of(subject, "subject")?;
        let found = database(device)?.0.find_record(subject);
        let best = found
            .as_ref()
            .and_then(|one| one.ranking().first().copied());
        place.write(best.map_or(Handle::NULL, |(name, _)| TextObject::insert(name)));
        if let Some(place) = seconds.optional() {
            place.write(best.map_or(0.0, |(_, seconds)| seconds));
        }
        Ok(())
    })
}

/// Note the time of a way.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_tuning_add(
    device: Handle,
    subject: Text,
    way: Text,
    seconds: f64,
) -> Status {
    answer(|| {
        let (subject, way) = (name_of(subject, "subject")?, name_of(way, "way")?);
        if !(seconds > 0.0 && seconds.is_finite()) {
            return Err(Failure::invalid(format!(
                "seconds is {seconds}; a time is above 0 and finite"
            )));
        }
        let (database, device) = database(device)?;
        let product = &device.context.info().product_name;
        database
            .add_way(subject, way, seconds, product)
            .map_err(|error| not_written(database.path().as_deref(), &error))
    })
}

/// Whether databases are asked.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_tuning_set_caching(is_enabled: bool) -> Status {
    answer(|| {
        settings::set_caching(is_enabled);
        Ok(())
    })
}

/// Whether shapes are measured as they come.
#[unsafe(no_mangle)]
pub extern "C" fn agpu_tuning_set_measuring(is_enabled: bool) -> Status {
    answer(|| {
        settings::set_measuring(Some(is_enabled));
        Ok(())
    })
}
