//! A Python process that runs LLVM for a program without Python: the same code generator, with the same limits, that the Python package uses
//! (`python/amdgpu/codegen/remote.py` is the other end).

use std::io::{BufReader, Read, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use amdgpu_aura::Toolchain;
use amdgpu_compiler::{CodeGenerator, CodegenRequest, Error, Target};
use amdgpu_hal::ForkLocal;
use serde_json::{Value, json};

use crate::interpreter;

/// How an answer begins.
const RESULT: u8 = 0;
const REFUSAL: u8 = 1;
/// No code comes near this; a length beyond it is no answer of ours.
const MAX_ANSWER_BYTES: u64 = 1 << 32;
/// Of what the process wrote on its standard error, for messages.
const SHOWN_CHARACTERS: usize = 500;

static CHILD: ForkLocal<Mutex<Option<Connection>>> = ForkLocal::new(Mutex::default);

pub struct PythonProcess {
    /// Asked for once: it goes into every cache key.
    identity: OnceLock<String>,
}

struct Connection {
    child: Child,
    requests: Requests,
    answers: BufReader<ChildStdout>,
    errors: ChildStderr,
    interpreter: String,
}

/// Our end of the process's standard input: a socket, since writing to a pipe that nobody reads sends SIGPIPE, which ends a C program.
struct Requests(UnixStream);

impl Write for Requests {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        // SAFETY: the socket is open and the bytes live until the call returns.
        let sent = unsafe {
            libc::send(
                self.0.as_raw_fd(),
                bytes.as_ptr().cast(),
                bytes.len(),
                libc::MSG_NOSIGNAL,
            )
        };
        usize::try_from(sent).map_err(|_| std::io::Error::last_os_error())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl PythonProcess {
    pub const fn new() -> Self {
        Self {
            identity: OnceLock::new(),
        }
    }
}

impl CodeGenerator for PythonProcess {
    fn generate(&self, llvm_ir: &str, request: &CodegenRequest) -> Result<Vec<u8>, Error> {
        let request = json!({"ask": "code", "request": request});
        ask(&request, llvm_ir)
    }

    fn identity(&self) -> String {
        if let Some(identity) = self.identity.get() {
            return identity.clone();
        }
        match ask(&json!({"ask": "identity"}), "") {
            Ok(name) => self
                .identity
                .get_or_init(|| String::from_utf8_lossy(&name).into_owned())
                .clone(),
            // Without LLVM nothing can be compiled, and what is cached under this name is never found.
            Err(_) => "none".to_owned(),
        }
    }
}

impl Toolchain for PythonProcess {
    fn host(&self) -> Result<Target, Error> {
        let answer = ask(&json!({"ask": "host"}), "")?;
        let [triple, cpu, features]: [String; 3] =
            serde_json::from_slice(&answer).map_err(|error| Error::CodeGenerationFailed {
                message: format!("the process that runs LLVM answered nonsense: {error}"),
            })?;
        Ok(Target::host(&triple, &cpu, &features))
    }
}

/// One request and its answer. The process is started when it is first needed and anew when it has ended.
fn ask(request: &Value, text: &str) -> Result<Vec<u8>, Error> {
    let mut slot: MutexGuard<'_, _> = CHILD.lock().unwrap_or_else(PoisonError::into_inner);
    let mut connection = match slot.take() {
        Some(connection) => connection,
        None => start()?,
    };
    match connection.ask(request, text) {
        Ok((RESULT, answer)) => {
            *slot = Some(connection);
            Ok(answer)
        }
        Ok((kind, message)) => {
            *slot = Some(connection);
            let message = String::from_utf8_lossy(&message).into_owned();
            Err(if kind == REFUSAL {
                Error::CodeGenerationFailed { message }
            } else {
                Error::CodeGeneratorMissing { message }
            })
        }
        Err(error) => Err(connection.obituary(&error)),
    }
}

fn start() -> Result<Connection, Error> {
    let interpreter = interpreter::find();
    let shown = interpreter.display().to_string();
    let missing = |reason: String| Error::CodeGeneratorMissing {
        message: format!("{reason}; {}", interpreter::advice()),
    };
    let (requests, stdin) = UnixStream::pair()
        .map_err(|error| missing(format!("{shown} cannot be given an input: {error}")))?;
    let mut command = Command::new(&interpreter);
    command
        .args(["-c", interpreter::PROGRAM])
        .args(interpreter::package_folder())
        .stdin(OwnedFd::from(stdin))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    // Ctrl-C is meant for the program that asks.
    command.process_group(0);
    let mut child = command.spawn().map_err(|error| {
        missing(format!(
            "the Python that runs LLVM, {shown}, does not start: {error}"
        ))
    })?;
    let pipes = (child.stdout.take(), child.stderr.take());
    let (Some(answers), Some(errors)) = pipes else {
        return Err(missing(format!("{shown} has no pipes")));
    };
    Ok(Connection {
        child,
        requests: Requests(requests),
        answers: BufReader::new(answers),
        errors,
        interpreter: shown,
    })
}

impl Connection {
    fn ask(&mut self, request: &Value, text: &str) -> std::io::Result<(u8, Vec<u8>)> {
        let header = request.to_string();
        self.requests
            .write_all(&(header.len() as u64).to_le_bytes())?;
        self.requests
            .write_all(&(text.len() as u64).to_le_bytes())?;
        self.requests.write_all(header.as_bytes())?;
        self.requests.write_all(text.as_bytes())?;
        self.requests.flush()?;
        let mut head = [0; 9];
        self.answers.read_exact(&mut head)?;
        let length = head[1..]
            .iter()
            .rev()
            .fold(0_u64, |sum, byte| sum << 8 | u64::from(*byte));
        if length > MAX_ANSWER_BYTES {
            return Err(std::io::Error::other("an answer of impossible length"));
        }
        let mut answer = vec![0; length as usize];
        self.answers.read_exact(&mut answer)?;
        Ok((head[0], answer))
    }

    /// Why the process ended, from what it wrote last.
    fn obituary(mut self, error: &std::io::Error) -> Error {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let mut written = String::new();
        let _ = self.errors.read_to_string(&mut written);
        let last = written.trim().lines().last().unwrap_or_default();
        let shown: String = last.chars().take(SHOWN_CHARACTERS).collect();
        let reason = if shown.is_empty() {
            error.to_string()
        } else {
            shown
        };
        Error::CodeGeneratorMissing {
            message: format!(
                "{} cannot run LLVM for this process: {reason}; {}",
                self.interpreter,
                interpreter::advice()
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_to_a_process_that_is_gone_is_an_error_and_no_signal() {
        // SAFETY: the disposition that C programs start with; nothing else in these tests writes to pipes.
        unsafe { libc::signal(libc::SIGPIPE, libc::SIG_DFL) };
        let (ours, theirs) = UnixStream::pair().unwrap();
        drop(theirs);
        let error = Requests(ours).write_all(b"request").unwrap_err();
        assert_eq!(error.kind(), std::io::ErrorKind::BrokenPipe);
    }
}
