//! The memory of messages as a kernel would leave it, in the memory of the CPU device.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};

use amdgpu_compiler::messages::{
    MESSAGE_HEADER_WORDS, MESSAGE_VARIABLE, Message, MessageTable, Piece,
};
use amdgpu_hal::{
    Device, DevicePointer, Error as HalError, Event, Function, GlobalMemory, Module, Result,
    Stream, registry,
};

use super::{PrintfBuffer, flush_printf, set_output};
use crate::error::Error;

/// What all tests here print; each looks for words of its own.
static PRINTED: Mutex<String> = Mutex::new(String::new());

fn note(text: &str) {
    PRINTED.lock().unwrap().push_str(text);
}

fn printed(word: &str) -> usize {
    PRINTED.lock().unwrap().matches(word).count()
}

const WORDS: usize = 64;

/// The variable of messages and nothing else.
#[derive(Debug)]
struct Memory(Mutex<Box<[u32; WORDS]>>);

impl Memory {
    fn words(&self) -> [u32; WORDS] {
        **self.0.lock().unwrap()
    }

    fn leave(&self, header: &[u32], messages: &[u32]) {
        let mut words = self.0.lock().unwrap();
        words[..header.len()].copy_from_slice(header);
        words[MESSAGE_HEADER_WORDS..][..messages.len()].copy_from_slice(messages);
    }
}

impl Module for Memory {
    fn function(&self, name: &str) -> Result<Arc<dyn Function>> {
        Err(HalError::InvalidModule {
            reason: format!("no kernel {name}"),
        })
    }

    fn function_names(&self) -> Vec<String> {
        Vec::new()
    }

    fn global(&self, name: &str) -> Result<GlobalMemory> {
        assert_eq!(name, MESSAGE_VARIABLE);
        let mut words = self.0.lock().unwrap();
        Ok(GlobalMemory {
            ptr: DevicePointer::from_host(words.as_mut_ptr()),
            size_bytes: 4 * WORDS as u64,
        })
    }
}

struct Scene {
    device: Arc<dyn Device>,
    memory: Arc<Memory>,
    buffer: Arc<PrintfBuffer>,
}

/// Message 1 prints `word`, message 2 is a failed assertion.
fn scene(word: &str) -> Scene {
    set_output(note);
    let device = registry::open_device("cpu:0").unwrap();
    let memory = Arc::new(Memory(Mutex::new(Box::new([0; WORDS]))));
    let table = MessageTable {
        messages: vec![
            Message::Print(vec![Piece::Text(format!("{word}\n").into_bytes())]),
            Message::Failure {
                what: "assertion 'x > 0' failed".to_owned(),
                file: "kernel.hip".to_owned(),
                line: 7,
            },
        ],
        kernels: vec!["first".to_owned(), "second".to_owned()],
    };
    let module: Arc<dyn Module> = Arc::clone(&memory) as Arc<dyn Module>;
    let buffer = PrintfBuffer::of(&table, &module, &device).unwrap();
    Scene {
        device,
        memory,
        buffer,
    }
}

/// Occupies a stream, and notes a launch behind that.
fn launch(scene: &Scene) -> (Arc<dyn Stream>, Sender<()>, Arc<dyn Event>) {
    let stream = scene.device.create_stream().unwrap();
    let (release, held) = channel::<()>();
    let wait = move || {
        let _ = held.recv();
        Ok(())
    };
    stream.call(Box::new(wait)).unwrap();
    let end = scene.device.create_event().unwrap();
    stream.record(&end).unwrap();
    scene.buffer.launched(stream.id(), &end);
    (stream, release, end)
}

#[test]
fn modules_that_have_nothing_to_say_have_no_port() {
    let Scene { device, memory, .. } = scene("unused");
    let module: Arc<dyn Module> = memory;
    assert!(PrintfBuffer::of(&MessageTable::default(), &module, &device).is_none());
}

#[test]
fn lines_are_written_once_and_their_memory_is_cleared() {
    let scene = scene("once");
    scene.buffer.flush().unwrap();
    assert_eq!(printed("once"), 0);
    // Twice the first message; 0 ends the text.
    scene.memory.leave(&[3, 0, 0], &[1, 1, 0]);
    scene.buffer.flush().unwrap();
    assert_eq!(printed("once"), 2);
    assert_eq!(scene.memory.words(), [0; WORDS]);
    scene.buffer.flush().unwrap();
    assert_eq!(printed("once"), 2);
}

#[test]
fn lines_that_found_no_room_are_counted() {
    let scene = scene("crowded");
    scene.memory.leave(&[1, 41, 0], &[1]);
    scene.buffer.flush().unwrap();
    assert_eq!(printed("crowded"), 1);
    assert_eq!(
        printed("41 lines of printf were lost: a launch has room for 1024 KiB"),
        1
    );
}

#[test]
fn a_failed_assertion_names_kernel_place_and_thread() {
    let scene = scene("before it failed");
    scene.memory.leave(&[1, 0, 3, 2, 1, 4, 5, 6, 7, 8, 9], &[1]);
    let error = scene.buffer.flush().unwrap_err();
    assert_eq!(printed("before it failed"), 1);
    let Error::Assertion {
        kernel,
        what,
        place,
        block,
        thread,
        others,
    } = error
    else {
        panic!("{error}");
    };
    assert_eq!(
        (kernel.as_str(), what.as_str()),
        ("second", "assertion 'x > 0' failed")
    );
    assert_eq!((place.as_str(), others), ("kernel.hip:7", 2));
    assert_eq!((block, thread), ([4, 5, 6], [7, 8, 9]));
    assert_eq!(scene.memory.words(), [0; WORDS]);
    scene.buffer.flush().unwrap();
    // A fault that says nothing of itself is one all the same, and the only one has no others.
    scene.memory.leave(&[0, 0, 1, 0, 9], &[]);
    let text = scene.buffer.flush().unwrap_err().to_string();
    assert!(
        text.contains("a work-item failed") && text.contains('?'),
        "{text}"
    );
}

#[test]
fn what_launches_in_streams_leave_is_fetched_when_the_last_is_over() {
    let scene = scene("in a stream");
    let (stream, release, end) = launch(&scene);
    scene.memory.leave(&[1, 0, 0], &[1]);
    // Still on its way.
    scene.buffer.flush().unwrap();
    flush_printf(Some(stream.id())).unwrap();
    assert_eq!(printed("in a stream"), 0);
    drop(release);
    end.synchronize().unwrap();
    // Other streams have left nothing here.
    flush_printf(Some(stream.id() + 1_000_000)).unwrap();
    assert_eq!(printed("in a stream"), 0);
    flush_printf(Some(stream.id())).unwrap();
    assert_eq!(printed("in a stream"), 1);
    scene.memory.leave(&[1, 0, 0], &[1]);
    // Nothing was launched since.
    flush_printf(Some(stream.id())).unwrap();
    assert_eq!(printed("in a stream"), 1);
    scene.buffer.launched(stream.id(), &end);
    flush_printf(None).unwrap();
    assert_eq!(printed("in a stream"), 2);
}

#[test]
fn one_launch_under_way_keeps_the_messages_of_all() {
    let scene = scene("together");
    let (first, release_first, first_end) = launch(&scene);
    let (second, release_second, second_end) = launch(&scene);
    scene.memory.leave(&[1, 0, 0], &[1]);
    drop(release_first);
    first_end.synchronize().unwrap();
    flush_printf(Some(first.id())).unwrap();
    assert_eq!(printed("together"), 0);
    drop(release_second);
    second_end.synchronize().unwrap();
    flush_printf(Some(second.id())).unwrap();
    assert_eq!(printed("together"), 1);
}
