//! Asks a Julia executable once where its runtime lies. Layouts differ (tarballs, Debian, juliaup's launcher), and whether a runtime
//! survives an exception cannot be seen from outside; so the executable itself answers.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::julia::discovery::Installation;

/// A first start of juliaup may unpack a version; a plain start takes 0.2 s.
const TIME_LIMIT: Duration = Duration::from_secs(60);
const POLL_INTERVAL: Duration = Duration::from_millis(2);

/// The exception is thrown from compiled code and caught: a runtime whose unwinder does not fit (libunwind 1.6 under a Julia built
/// for 1.3) dies here instead of in the user's process.
const QUESTIONS: &str = r#"
caught() = try; error("probe"); catch; true; end
caught() || exit(1)
using Libdl
loaded(start) = (hits = filter(path -> startswith(basename(path), start), Libdl.dllist()); isempty(hits) ? "" : first(hits))
println("version=", VERSION)
println("library=", loaded("libjulia."))
println("image=", unsafe_string(Base.JLOptions().image_file))
println("bindir=", Sys.BINDIR)
println("unwinder=", loaded("libunwind."))
"#;

pub(crate) fn ask(executable: &Path) -> Result<Installation, String> {
    let answer = run(executable)?;
    let value = |name: &str| {
        answer
            .lines()
            .find_map(|line| line.strip_prefix(name)?.strip_prefix('='))
            .filter(|value| !value.is_empty())
    };
    let file = |name: &str| {
        let text = value(name)
            .ok_or_else(|| format!("{} does not name its {name}", executable.display()))?;
        // Julia's own spelling goes through `..`; canonical paths are the same however it was found.
        PathBuf::from(text)
            .canonicalize()
            .map_err(|error| format!("{name} {text} of {}: {error}", executable.display()))
    };
    Ok(Installation {
        executable: executable.to_owned(),
        version: value("version")
            .ok_or_else(|| format!("{} does not tell its version", executable.display()))?
            .to_owned(),
        library: file("library")?,
        image: file("image")?,
        bindir: file("bindir")?,
        unwinder: value("unwinder").and_then(|text| Path::new(text).canonicalize().ok()),
    })
}

fn run(executable: &Path) -> Result<String, String> {
    let shown = executable.display();
    let mut child = Command::new(executable)
        .args([
            "--startup-file=no",
            "--history-file=no",
            "-O0",
            "-e",
            QUESTIONS,
        ])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|error| format!("{shown} cannot be run: {error}"))?;
    let started = Instant::now();
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break status,
            Ok(None) if started.elapsed() < TIME_LIMIT => std::thread::sleep(POLL_INTERVAL),
            Ok(None) => {
                // Both fail only when the process is gone, which is what is wanted.
                let _ = child.kill();
                let _ = child.wait();
                return Err(format!(
                    "{shown} did not answer within {} s",
                    TIME_LIMIT.as_secs()
                ));
            }
            Err(error) => return Err(format!("{shown} cannot be waited for: {error}")),
        }
    };
    if !status.success() {
        return Err(refusal(executable, status));
    }
    let mut answer = String::new();
    // A few lines, far below the capacity of the pipe, so the child never waited for a reader.
    if let Some(mut output) = child.stdout.take() {
        output
            .read_to_string(&mut answer)
            .map_err(|error| format!("the answer of {shown} cannot be read: {error}"))?;
    }
    Ok(answer)
}

fn refusal(executable: &Path, status: std::process::ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    let shown = executable.display();
    match status.signal() {
        Some(signal) => format!(
            "{shown} dies with signal {signal} when an exception is thrown; its libunwind does not fit (Debian's Julia 1.5 needs \
             libunwind8 1.3: apt-get install --allow-downgrades libunwind8/bullseye)"
        ),
        None => format!("{shown} failed with {status} when asked for its runtime"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::sync::{Mutex, MutexGuard};

    /// A script that another thread's child still holds open for writing cannot be run: one test at a time starts processes.
    fn alone() -> MutexGuard<'static, ()> {
        static ALONE: Mutex<()> = Mutex::new(());
        ALONE.lock().unwrap()
    }

    fn script(name: &str, text: &str) -> PathBuf {
        let path = std::env::temp_dir().join(format!("agpu-probe-{name}-{}", std::process::id()));
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path
    }

    #[test]
    fn answers_are_read_by_name_and_paths_made_canonical() {
        let _alone = alone();
        let folder = std::env::temp_dir().canonicalize().unwrap();
        let shown = folder.display();
        let fake = script(
            "good",
            &format!(
                "#!/bin/sh\necho version=1.9.0; echo library={shown}/.; echo image={shown}; echo bindir={shown}; echo unwinder=\n"
            ),
        );
        let installation = ask(&fake).unwrap();
        std::fs::remove_file(&fake).unwrap();
        assert_eq!(installation.version, "1.9.0");
        assert_eq!(installation.library, folder);
        assert_eq!(installation.unwinder, None);
    }

    #[test]
    fn a_crash_a_failure_and_a_missing_answer_are_told_apart() {
        let _alone = alone();
        for (name, text, expected) in [
            ("crash", "#!/bin/sh\nkill -SEGV $$\n", "libunwind"),
            ("failure", "#!/bin/sh\nexit 3\n", "exit status: 3"),
            ("silent", "#!/bin/sh\n", "does not tell its version"),
            (
                "moved",
                "#!/bin/sh\necho version=1.9.0; echo library=/nowhere/libjulia.so\n",
                "/nowhere/libjulia.so",
            ),
        ] {
            let fake = script(name, text);
            let message = ask(&fake).unwrap_err();
            std::fs::remove_file(&fake).unwrap();
            assert!(message.contains(expected), "{message}");
        }
    }
}
