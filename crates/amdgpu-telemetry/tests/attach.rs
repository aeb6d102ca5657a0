//! Processes that are watched: each is this test program again, in a role. The sockets stand in a folder of the test's own.

// Clippy knows tests by the harness, which this one does without.
#![allow(clippy::unwrap_used)]

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

use amdgpu_telemetry::attach::{
    self, Client, Error, MAX_CLIENTS, MAX_REQUEST_BYTES, ProcessInfo, ProcessState, RecordStream,
    SubscribeOptions, Topic, Watcher,
};
use amdgpu_telemetry::frames::FrameKind;
use amdgpu_telemetry::{Kind, Record, emit, intern, now_ns};
use serde_json::{Value, json};

const ROLE: &str = "AGPU_TEST_ROLE";
/// Longer than anything here takes on a machine that does other things too.
const PATIENCE: Duration = Duration::from_secs(20);

fn runtime_folder() -> PathBuf {
    std::env::temp_dir().join(format!("agpu-attach-test-{}", std::process::id()))
}

/// The folder of sockets is the environment's, which only a test with a single thread may change: the tests are one after the other.
fn main() {
    if let Ok(role) = std::env::var(ROLE) {
        play(&role);
        return;
    }
    let folder = runtime_folder();
    std::fs::create_dir_all(&folder).unwrap();
    // SAFETY: no other thread runs yet.
    unsafe { std::env::set_var("XDG_RUNTIME_DIR", &folder) };
    let tests: [(&str, fn()); 12] = [
        (
            "answers_are_those_of_the_process",
            answers_are_those_of_the_process,
        ),
        (
            "records_arrive_with_their_names",
            records_arrive_with_their_names,
        ),
        ("lines_can_be_read_by_hand", lines_can_be_read_by_hand),
        ("kinds_can_be_chosen", kinds_can_be_chosen),
        (
            "a_slow_reader_loses_records_which_is_counted",
            a_slow_reader_loses_records_which_is_counted,
        ),
        (
            "garbage_is_answered_and_the_process_goes_on",
            garbage_is_answered_and_the_process_goes_on,
        ),
        ("clients_have_a_limit", clients_have_a_limit),
        (
            "a_killed_process_is_told_and_its_socket_removed",
            a_killed_process_is_told_and_its_socket_removed,
        ),
        (
            "a_stopped_process_is_listed_and_does_not_hold_up",
            a_stopped_process_is_listed_and_does_not_hold_up,
        ),
        (
            "a_child_of_a_fork_listens_on_its_own",
            a_child_of_a_fork_listens_on_its_own,
        ),
        (
            "a_watcher_sees_processes_come_and_go",
            a_watcher_sees_processes_come_and_go,
        ),
        (
            "what_prevents_listening_is_said_and_the_process_goes_on",
            what_prevents_listening_is_said_and_the_process_goes_on,
        ),
    ];
    let wanted: Vec<String> = std::env::args()
        .skip(1)
        .filter(|word| !word.starts_with('-'))
        .collect();
    println!("running {} tests", tests.len());
    let mut passed = 0;
    for (name, test) in tests {
        if wanted.is_empty() || wanted.iter().any(|word| name.contains(word.as_str())) {
            print!("test {name} ... ");
            let _ = std::io::stdout().flush();
            test();
            println!("ok");
            passed += 1;
        }
    }
    println!(
        "\ntest result: ok. {passed} passed; 0 failed; 0 ignored; 0 measured; {} filtered out",
        tests.len() - passed
    );
    let _ = std::fs::remove_dir_all(folder);
}

// The watched process: obeys words on standard input, one a line.

fn play(role: &str) {
    if role == "unlucky" {
        attach::start();
        println!("{}", attach::is_listening());
        return;
    }
    attach::provide(Topic::Memory, |_| Ok(json!({"devices": []})));
    attach::provide(Topic::Kernel, |question| match question.handle.as_deref() {
        Some("here") => Ok(json!({"name": "here"})),
        other => Err(format!("there is no kernel {other:?}")),
    });
    attach::start();
    println!("{}", attach::is_listening());
    let mut forked = None;
    for line in std::io::stdin().lines() {
        let line = line.unwrap();
        match line.split_once(' ') {
            Some(("emit", count)) => {
                for number in 0..count.parse().unwrap() {
                    let record = Record::new(Kind::Marker, intern(&format!("name {}", number % 7)));
                    emit(record.value(number).at(now_ns(), 0));
                    // As fast as a program that does something between two records.
                    std::hint::spin_loop();
                }
                emit(Record::new(Kind::Launch, intern("last")).at(now_ns(), 5));
                println!("emitted");
            }
            Some(("fork", _)) => forked = Some(fork()),
            _ => println!("{line}?"),
        }
    }
    if let Some(child) = forked {
        // SAFETY: the number of a child that was not waited for yet.
        unsafe { libc::kill(child, libc::SIGKILL) };
    }
}

/// A child that listens too, and stays until it is killed.
fn fork() -> i32 {
    // SAFETY: the child calls this crate and the standard library only; that the crate works there is what is tested.
    let pid = unsafe { libc::fork() };
    if pid == 0 {
        let before = attach::is_listening();
        attach::start();
        println!(
            "{} {} {}",
            std::process::id(),
            before,
            attach::is_listening()
        );
        loop {
            std::thread::park();
        }
    }
    pid
}

struct Watched {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<std::process::ChildStdout>,
}

impl Watched {
    fn start() -> Self {
        let mut watched = Self::spawn("watched", &[]);
        assert_eq!(watched.line(), "true");
        watched
    }

    fn spawn(role: &str, variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .env(ROLE, role)
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let output = BufReader::new(child.stdout.take().unwrap());
        Self {
            input: child.stdin.take(),
            child,
            output,
        }
    }

    fn pid(&self) -> u32 {
        self.child.id()
    }

    fn tell(&mut self, line: &str) {
        writeln!(self.input.as_ref().unwrap(), "{line}").unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn signal(&self, signal: i32) {
        // SAFETY: the number of a child that was not waited for yet.
        unsafe { libc::kill(self.pid() as i32, signal) };
    }

    fn socket(&self) -> PathBuf {
        runtime_folder().join(format!("amdgpu/{}.sock", self.pid()))
    }

    fn client(&self) -> Client {
        Client::connect(self.pid()).unwrap()
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        drop(self.input.take());
        self.signal(libc::SIGKILL);
        let _ = self.child.wait();
    }
}

fn ask(client: &mut Client, request: &Value) -> Value {
    client.request(request, PATIENCE).unwrap()
}

/// Records until one of this name has come; fails after a long time.
fn until(stream: &mut RecordStream, name: &str) -> Vec<(String, Record)> {
    let deadline = Instant::now() + PATIENCE;
    let mut all = Vec::new();
    while Instant::now() < deadline {
        let batch = stream.recv(Duration::from_millis(100)).unwrap();
        all.extend(
            batch
                .records
                .iter()
                .map(|record| (stream.names().get(record.name).to_owned(), *record)),
        );
        if all.iter().any(|(known, _)| known == name) {
            return all;
        }
    }
    panic!("no record {name:?} among {} after {PATIENCE:?}", all.len());
}

fn answers_are_those_of_the_process() {
    let mut watched = Watched::start();
    let mut client = watched.client();
    assert_eq!(
        ask(&mut client, &json!({"op": "process"}))["pid"],
        watched.pid()
    );
    watched.tell("emit 10");
    assert_eq!(watched.line(), "emitted");
    let snapshot = ask(&mut client, &json!({"op": "snapshot"}));
    assert_eq!(snapshot["records_emitted"], 11);
    assert_eq!(snapshot["records"].as_array().map(Vec::len), Some(11));
    let short = ask(&mut client, &json!({"op": "snapshot", "records": 2}));
    assert_eq!(
        short["records"],
        json!(snapshot["records"].as_array().unwrap()[9..])
    );
    assert_eq!(
        ask(&mut client, &json!({"op": "totals"}))["records_emitted"],
        11
    );
    assert_eq!(
        ask(&mut client, &json!({"op": "memory"})),
        json!({"devices": []})
    );
    assert_eq!(
        ask(&mut client, &json!({"op": "kernel", "handle": "here"}))["name"],
        "here"
    );
    let refused = client.request(&json!({"op": "kernel", "handle": "gone"}), PATIENCE);
    assert!(refused.unwrap_err().to_string().contains("no kernel"));
    assert_eq!(ask(&mut client, &json!({"op": "networks"})), Value::Null);
    let mode = std::fs::metadata(watched.socket().parent().unwrap()).unwrap();
    assert_eq!(std::os::unix::fs::MetadataExt::mode(&mode) & 0o777, 0o700);
    // It ends when its input does, and takes its socket with it.
    drop(watched.input.take());
    watched.child.wait().unwrap();
    assert!(!watched.socket().exists());
}

fn records_arrive_with_their_names() {
    let mut watched = Watched::start();
    let options = SubscribeOptions {
        totals_every: Some(Duration::from_millis(20)),
        ..SubscribeOptions::default()
    };
    let mut first = RecordStream::connect(watched.pid(), &options).unwrap();
    let mut second = RecordStream::connect(watched.pid(), &SubscribeOptions::default()).unwrap();
    watched.tell("emit 1000");
    for stream in [&mut first, &mut second] {
        let records = until(stream, "last");
        let markers: Vec<_> = records
            .iter()
            .filter(|(_, record)| record.kind == Kind::Marker)
            .collect();
        assert_eq!(markers.len() as u64 + stream.dropped(), 1000);
        for (name, record) in markers {
            assert_eq!(*name, format!("name {}", record.value % 7));
        }
    }
    watched.tell("emit 1");
    let more = until(&mut first, "last");
    let text = first.lines(&[more[0].1]);
    assert!(
        text.starts_with(&format!("{{\"schema\":1,\"pid\":{}", watched.pid())),
        "{text}"
    );
}

fn lines_can_be_read_by_hand() {
    let mut watched = Watched::start();
    let mut stream = UnixStream::connect(watched.socket()).unwrap();
    stream
        .write_all(b"{\"op\":\"subscribe\",\"encoding\":\"lines\"}\n")
        .unwrap();
    let mut lines = BufReader::new(stream).lines();
    assert!(lines.next().unwrap().unwrap().contains("answer"));
    watched.tell("emit 3");
    let mut names = Vec::new();
    while names.last().is_none_or(|name| name != "last") {
        let line: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
        let records = line["records"].as_array().unwrap();
        names.extend(
            records
                .iter()
                .map(|record| record["name"].as_str().unwrap().to_owned()),
        );
        assert_eq!(line["dropped"], 0);
    }
    assert_eq!(names, ["name 0", "name 1", "name 2", "last"]);
}

fn kinds_can_be_chosen() {
    let mut watched = Watched::start();
    let options = SubscribeOptions {
        kinds: Some(vec![Kind::Launch]),
        interval: Duration::from_millis(2),
        with_networks: true,
        ..SubscribeOptions::default()
    };
    let mut stream = RecordStream::connect(watched.pid(), &options).unwrap();
    watched.tell("emit 50");
    let records = until(&mut stream, "last");
    assert!(
        records
            .iter()
            .all(|(_, record)| record.kind == Kind::Launch)
    );
}

fn a_slow_reader_loses_records_which_is_counted() {
    let mut watched = Watched::start();
    let options = SubscribeOptions {
        capacity: 64,
        ..SubscribeOptions::default()
    };
    let mut slow = RecordStream::connect(watched.pid(), &options).unwrap();
    let mut fast = RecordStream::connect(watched.pid(), &SubscribeOptions::default()).unwrap();
    // More than the socket's buffer holds. The process goes through it at its own pace: nobody has read anything yet.
    watched.tell("emit 200000");
    assert_eq!(watched.line(), "emitted");
    let quick = until(&mut fast, "last");
    let late = until(&mut slow, "last");
    for (records, stream) in [(late.len(), &slow), (quick.len(), &fast)] {
        assert_eq!(records as u64 + stream.dropped(), 200_001);
    }
    assert!(slow.dropped() > 0);
}

fn garbage_is_answered_and_the_process_goes_on() {
    let watched = Watched::start();
    let mut stream = UnixStream::connect(watched.socket()).unwrap();
    stream
        .write_all(b"\x00\xff\xfe nothing\n{\"op\":\"process\"}\n")
        .unwrap();
    let mut lines = BufReader::new(stream.try_clone().unwrap()).lines();
    assert!(lines.next().unwrap().unwrap().contains("error"));
    assert!(lines.next().unwrap().unwrap().contains("version"));
    // A line without an end is refused, and the connection closed.
    let mut endless = UnixStream::connect(watched.socket()).unwrap();
    let _ = endless.write_all(&vec![b'x'; MAX_REQUEST_BYTES + 10_000]);
    let mut answer = String::new();
    let _ = endless.read_to_string(&mut answer);
    assert!(answer.contains("at most"), "{answer}");
    // Half a line and a hang-up.
    UnixStream::connect(watched.socket())
        .unwrap()
        .write_all(b"{\"op\":")
        .unwrap();
    assert_eq!(
        ask(&mut watched.client(), &json!({"op": "process"}))["pid"],
        watched.pid()
    );
}

fn clients_have_a_limit() {
    let watched = Watched::start();
    let mut clients: Vec<Client> = (0..MAX_CLIENTS).map(|_| watched.client()).collect();
    for client in &mut clients {
        ask(client, &json!({"op": "process"}));
    }
    let refused = watched
        .client()
        .request(&json!({"op": "process"}), PATIENCE)
        .unwrap_err();
    assert!(
        refused.to_string().contains("watch this process already"),
        "{refused}"
    );
    assert!(RecordStream::connect(watched.pid(), &SubscribeOptions::default()).is_err());
    clients.pop();
    let deadline = Instant::now() + PATIENCE;
    while watched
        .client()
        .request(&json!({"op": "process"}), PATIENCE)
        .is_err()
    {
        assert!(
            Instant::now() < deadline,
            "the place of a client that left is free again"
        );
    }
}

fn a_killed_process_is_told_and_its_socket_removed() {
    let mut watched = Watched::start();
    let pid = watched.pid();
    let mut client = watched.client();
    let mut stream = RecordStream::connect(pid, &SubscribeOptions::default()).unwrap();
    watched.tell("emit 5");
    until(&mut stream, "last");
    watched.signal(libc::SIGKILL);
    watched.child.wait().unwrap();
    let deadline = Instant::now() + PATIENCE;
    let end = loop {
        match stream.recv(Duration::from_millis(100)) {
            Ok(_) => assert!(Instant::now() < deadline, "the end is told"),
            Err(error) => break error,
        }
    };
    assert_eq!(end, Error::Gone { pid });
    assert_eq!(
        client.request(&json!({"op": "totals"}), PATIENCE),
        Err(Error::Gone { pid })
    );
    assert!(watched.socket().exists());
    assert!(
        attach::processes(PATIENCE)
            .iter()
            .all(|info| info.pid != pid)
    );
    assert!(!watched.socket().exists());
    assert_eq!(Client::connect(pid).unwrap_err(), Error::Gone { pid });
}

fn a_stopped_process_is_listed_and_does_not_hold_up() {
    let (stopped, mut runs) = (Watched::start(), Watched::start());
    stopped.signal(libc::SIGSTOP);
    let mut status = 0;
    // SAFETY: a child of this process; `status` is a valid place for the answer.
    unsafe { libc::waitpid(stopped.pid() as i32, &raw mut status, libc::WUNTRACED) };
    let listed = attach::processes(Duration::from_millis(300));
    let state_of = |pid| {
        listed
            .iter()
            .find(|info| info.pid == pid)
            .map(|info| info.state)
    };
    assert_eq!(state_of(stopped.pid()), Some(ProcessState::Stopped));
    assert_eq!(state_of(runs.pid()), Some(ProcessState::Running));
    let silent = stopped
        .client()
        .request(&json!({"op": "snapshot"}), Duration::from_millis(50));
    assert!(silent.unwrap_err().to_string().contains("it is stopped"));
    let mut watcher = Watcher::new(SubscribeOptions::default());
    find(&mut watcher, runs.pid());
    runs.tell("emit 3");
    watch_until(&mut watcher, runs.pid(), "last");
    stopped.signal(libc::SIGCONT);
    assert_eq!(
        ask(&mut stopped.client(), &json!({"op": "process"}))["pid"],
        stopped.pid()
    );
}

fn a_child_of_a_fork_listens_on_its_own() {
    let mut watched = Watched::start();
    let mut inherited = watched.client();
    ask(&mut inherited, &json!({"op": "process"}));
    watched.tell("fork now");
    let line = watched.line();
    let words: Vec<&str> = line.split(' ').collect();
    let child: u32 = words[0].parse().unwrap();
    assert_eq!(words[1..], ["false", "true"]);
    let mut of_child = Client::connect(child).unwrap();
    assert_eq!(ask(&mut of_child, &json!({"op": "process"}))["pid"], child);
    assert_eq!(
        ask(&mut watched.client(), &json!({"op": "process"}))["pid"],
        watched.pid()
    );
    // The child holds none of the parent's connections: the parent's end is seen although the child lives.
    watched.signal(libc::SIGKILL);
    watched.child.wait().unwrap();
    let pid = watched.pid();
    assert_eq!(
        inherited.request(&json!({"op": "process"}), PATIENCE),
        Err(Error::Gone { pid })
    );
    assert_eq!(Client::connect(pid).unwrap_err(), Error::Gone { pid });
    // SAFETY: the number of a process that this test's child made and that waits for its end.
    unsafe { libc::kill(child as i32, libc::SIGKILL) };
}

/// Polls until a process has answered the watcher: what it tells before is not for the watcher.
fn find(watcher: &mut Watcher, pid: u32) {
    let deadline = Instant::now() + PATIENCE;
    let has_answered = |info: &ProcessInfo| info.pid == pid && info.version.is_some();
    while !watcher.processes().iter().any(has_answered) {
        watcher.poll(Duration::from_millis(20));
        assert!(Instant::now() < deadline, "process {pid} is found");
    }
}

fn watch_until(watcher: &mut Watcher, pid: u32, name: &str) -> Vec<FrameKind> {
    let deadline = Instant::now() + PATIENCE;
    let mut kinds = Vec::new();
    while Instant::now() < deadline {
        for watched in watcher.poll(Duration::from_millis(50)) {
            kinds.extend(watched.batch.documents.iter().map(|(kind, _)| *kind));
            let Some(stream) = watcher.stream(watched.pid) else {
                continue;
            };
            let mut records = watched.batch.records.iter();
            if watched.pid == pid && records.any(|record| stream.names().get(record.name) == name) {
                return kinds;
            }
        }
    }
    panic!("no record {name:?} of {pid}");
}

fn a_watcher_sees_processes_come_and_go() {
    let mut early = Watched::start();
    let options = SubscribeOptions {
        totals_every: Some(Duration::from_millis(20)),
        ..SubscribeOptions::default()
    };
    let mut watcher = Watcher::new(options);
    find(&mut watcher, early.pid());
    early.tell("emit 2");
    watch_until(&mut watcher, early.pid(), "last");
    let mut late = Watched::start();
    let changes = watcher.changes();
    find(&mut watcher, late.pid());
    assert!(watcher.changes() > changes);
    late.tell("emit 2");
    watch_until(&mut watcher, late.pid(), "last");
    let gone = early.pid();
    drop(early);
    // Other programs of this user may come and go meanwhile.
    let is_watched =
        |watcher: &Watcher, pid: u32| watcher.processes().iter().any(|info| info.pid == pid);
    let deadline = Instant::now() + PATIENCE;
    while is_watched(&watcher, gone) {
        watcher.poll(Duration::from_millis(20));
        assert!(
            Instant::now() < deadline,
            "a process that went is forgotten"
        );
    }
    assert!(is_watched(&watcher, late.pid()));
    let stream = watcher.stream(late.pid());
    assert_eq!(stream.map(attach::RecordStream::dropped), Some(0));
}

fn what_prevents_listening_is_said_and_the_process_goes_on() {
    let file = runtime_folder().join("file");
    std::fs::write(&file, "").unwrap();
    let long = format!("/{}", "long/".repeat(40));
    for (variables, said) in [
        // A path that sockets cannot have, and one that is no folder: the other candidate is taken.
        (vec![("AMDGPU_ATTACH", "off")], "false"),
        (vec![("XDG_RUNTIME_DIR", long.as_str())], "true"),
        (vec![("XDG_RUNTIME_DIR", path(&file))], "true"),
    ] {
        let mut unlucky = Watched::spawn("unlucky", &variables);
        assert_eq!(unlucky.line(), said, "{variables:?}");
        assert!(unlucky.child.wait().unwrap().success());
    }
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}
