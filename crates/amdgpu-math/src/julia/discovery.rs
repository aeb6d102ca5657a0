//! Which Julia the Math core uses.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use amdgpu_abi::environment;

use crate::Error;
use crate::julia::{probe, probe_cache};

/// Oldest version that the kernels and the embedding are written for.
const MINIMUM_VERSION: (u32, u32) = (1, 5);

/// Value of `AMDGPU_JULIA` that switches the Math core off.
const OFF: &str = "off";

/// A Julia that can be embedded, as it describes itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Installation {
    pub executable: PathBuf,
    pub version: String,
    pub library: PathBuf,
    pub image: PathBuf,
    pub bindir: PathBuf,
    /// The stack unwinder that this Julia loads, where it is a library of its own.
    pub unwinder: Option<PathBuf>,
}

/// Whether the Math core can start, without starting it.
#[derive(Clone, Debug)]
pub struct Availability {
    pub found: bool,
    /// Julia's version, for example `1.10.4`.
    pub version: Option<String>,
    /// The shared library that would be opened.
    pub path: Option<PathBuf>,
    /// Why it cannot start; `None` when it can.
    pub reason: Option<String>,
}

pub(crate) fn availability() -> Availability {
    match find() {
        Ok(installation) => Availability {
            found: true,
            version: Some(installation.version),
            path: Some(installation.library),
            reason: None,
        },
        Err(reason) => Availability {
            found: false,
            version: None,
            path: None,
            reason: Some(reason),
        },
    }
}

/// The Julia to use.
pub(crate) fn installation() -> Result<Installation, Error> {
    find().map_err(|reason| Error::JuliaMissing { reason })
}

fn find() -> Result<Installation, String> {
    let executable = executable(
        environment::read(environment::JULIA).as_deref(),
        environment::read("PATH").as_deref(),
        environment::read("HOME").as_deref(),
    )?;
    let installation = describe(&executable)?;
    check_version(&installation)?;
    Ok(installation)
}

/// The executable that the environment names, by the values of `AMDGPU_JULIA`, `PATH` and `HOME`.
fn executable(
    chosen: Option<&str>,
    path: Option<&str>,
    home: Option<&str>,
) -> Result<PathBuf, String> {
    let on_path = |name: &str| {
        std::env::split_paths(path.unwrap_or_default())
            .map(|directory| directory.join(name))
            .find(|candidate| is_executable(candidate))
    };
    match chosen {
        Some(OFF) => Err(format!(
            "it is switched off by {}={OFF}",
            environment::JULIA
        )),
        Some(name) if name.contains('/') => {
            let candidate = PathBuf::from(name);
            if is_executable(&candidate) {
                Ok(candidate)
            } else {
                Err(format!(
                    "{}={name} is not an executable file",
                    environment::JULIA
                ))
            }
        }
        Some(name) => {
            on_path(name).ok_or_else(|| format!("{}={name} is not on PATH", environment::JULIA))
        }
        None => on_path("julia")
            .or_else(|| {
                home.map(|home| Path::new(home).join(".juliaup/bin/julia"))
                    .filter(|candidate| is_executable(candidate))
            })
            .ok_or_else(|| "no `julia` is on PATH or in ~/.juliaup/bin".to_owned()),
    }
}

fn is_executable(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

/// What `executable` says of itself: remembered by this process, then on disk, else asked.
fn describe(executable: &Path) -> Result<Installation, String> {
    static LAST: Mutex<Option<Installation>> = Mutex::new(None);
    // A panic while the lock is held leaves a whole value or none. It is not held while Julia answers: a fork in that time would leave
    // it locked in the child.
    let lock = || LAST.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = lock()
        .as_ref()
        .filter(|known| known.executable == executable)
    {
        return Ok(known.clone());
    }
    let installation = if let Some(remembered) = probe_cache::load(executable) {
        remembered
    } else {
        let answered = probe::ask(executable)?;
        probe_cache::store(&answered);
        answered
    };
    *lock() = Some(installation.clone());
    Ok(installation)
}

fn check_version(installation: &Installation) -> Result<(), String> {
    let mut numbers = installation
        .version
        .split(['.', '-', '+'])
        .map_while(|part| part.parse::<u32>().ok());
    let found = (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0));
    if found >= MINIMUM_VERSION {
        return Ok(());
    }
    Err(format!(
        "{} is version {}, but {}.{} or newer is needed",
        installation.executable.display(),
        installation.version,
        MINIMUM_VERSION.0,
        MINIMUM_VERSION.1
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_version(version: &str) -> Installation {
        Installation {
            executable: "/opt/julia/bin/julia".into(),
            version: version.into(),
            library: "/opt/julia/lib/libjulia.so".into(),
            image: "/opt/julia/lib/julia/sys.so".into(),
            bindir: "/opt/julia/bin".into(),
            unwinder: None,
        }
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        for version in ["1.5.3", "1.10.4", "1.12.0-rc1", "2.0.0"] {
            assert_eq!(check_version(&with_version(version)), Ok(()));
        }
        for version in ["1.4.2", "0.7.0", "strange"] {
            assert!(
                check_version(&with_version(version))
                    .unwrap_err()
                    .contains("1.5 or newer")
            );
        }
    }

    #[test]
    fn the_variable_wins_over_path_and_off_switches_off() {
        let here = std::env::current_exe().unwrap();
        let folder = here.parent().unwrap().to_str().unwrap();
        let name = here.file_name().unwrap().to_str().unwrap();
        assert_eq!(
            executable(Some(here.to_str().unwrap()), None, None),
            Ok(here.clone())
        );
        assert_eq!(
            executable(Some(name), Some(&format!("/nowhere:{folder}")), None),
            Ok(here.clone())
        );
        assert!(
            executable(Some("off"), Some(folder), None)
                .unwrap_err()
                .contains("switched off")
        );
        assert!(
            executable(Some("/nowhere/julia"), None, None)
                .unwrap_err()
                .contains("/nowhere/julia")
        );
        assert!(
            executable(Some("no-such-julia"), Some(folder), None)
                .unwrap_err()
                .contains("not on PATH")
        );
        assert!(
            executable(None, Some("/nowhere"), Some("/nowhere"))
                .unwrap_err()
                .contains("juliaup")
        );
    }
}
