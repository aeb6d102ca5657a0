//! Which call into another language was made inside of which: exact stacks, for the flame of language boundaries.
//!
//! Each thread keeps a tree of the crossings that it made, and a pointer to the one that it is in. Only its thread writes to a tree, so a
//! crossing costs a comparison and a few plain stores; a snapshot adds the trees up by path. Calls are counted here and nowhere else. Work that
//! a call hands to other threads begins at the root there: nobody knows who waits for it.

use std::cell::{Cell, OnceCell};
use std::collections::HashMap;
use std::marker::PhantomData;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard};

use serde::{Deserialize, Serialize};

use crate::boundary::{SECONDS_PER_NS, Site};
use crate::hub::{self, lock};
use crate::sampling::{FIRST_TIMED, is_in_sample};

/// Different stacks that one thread's tree holds, 64 bytes each: a program has a few dozen. Calls past the limit are in the sums of their
/// functions alone.
pub const MAX_CROSSINGS: u32 = 4096;
/// Calls inside of calls: languages that call each other in a circle end here.
const MAX_DEPTH: u32 = 32;

/// A call inside of others; the root of a tree is no call.
pub(crate) struct Node {
    site: Option<&'static Site>,
    depth: u32,
    count: AtomicU64,
    total_ns: AtomicU64,
    timed: AtomicU64,
    /// Brief calls that were not timed since one of them was. The next one that is stands for them, too.
    untimed: AtomicU64,
    /// Newest child, and the child of the same parent before this one.
    newest_child: AtomicPtr<Node>,
    sibling: AtomicPtr<Node>,
    tree: &'static Tree,
}

/// What one thread called. Given to another thread when it ends.
pub(crate) struct Tree {
    root: AtomicPtr<Node>,
    nodes: AtomicU64,
}

/// The trees of all threads.
#[derive(Default)]
pub(crate) struct Crossings {
    trees: Mutex<Trees>,
}

#[derive(Default)]
pub(crate) struct Trees {
    all: Vec<&'static Tree>,
    free: Vec<&'static Tree>,
}

/// A call that has not come back: which one it is, and which one the thread was in before. Belongs to its thread.
pub(crate) struct Inside {
    node: &'static Node,
    caller: &'static Node,
    of_thread: PhantomData<*const ()>,
}

/// One call inside of others, over all threads.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CrossingSummary {
    /// Place in the list of the call that it was made inside of, which comes before it; `None` where there was none.
    pub parent: Option<usize>,
    pub from: String,
    pub to: String,
    pub name: String,
    /// Calls that came back, and their time; where fewer were timed, the others are taken to last as long.
    pub count: u64,
    pub total_seconds: f64,
    #[serde(default)]
    pub timed_count: u64,
}

thread_local! {
    /// The call that the thread is in; null before its first one. Has no destructor, so that it costs one access.
    static CURRENT: Cell<*const Node> = const { Cell::new(ptr::null()) };
    static OWNED: OnceCell<Owned> = const { OnceCell::new() };
}

/// The tree of this thread, handed on when the thread ends.
struct Owned(&'static Tree);

impl Drop for Owned {
    fn drop(&mut self) {
        CURRENT.set(ptr::null());
        lock(&hub::global().crossings.trees).free.push(self.0);
    }
}

impl Node {
    fn leak(
        site: Option<&'static Site>,
        depth: u32,
        sibling: *mut Self,
        tree: &'static Tree,
    ) -> &'static Self {
        // Leaked on purpose: at most MAX_CROSSINGS for each thread that lives at the same time, and guards must not count references.
        Box::leak(Box::new(Self {
            site,
            depth,
            count: AtomicU64::new(0),
            total_ns: AtomicU64::new(0),
            timed: AtomicU64::new(0),
            untimed: AtomicU64::new(0),
            newest_child: AtomicPtr::new(ptr::null_mut()),
            sibling: AtomicPtr::new(sibling),
            tree,
        }))
    }

    fn children(&self) -> impl Iterator<Item = &'static Self> {
        let next = |pointer: &AtomicPtr<Self>| {
            // SAFETY: nodes are leaked, and published whole by the store that this load acquires.
            unsafe { pointer.load(Ordering::Acquire).cast_const().as_ref() }
        };
        std::iter::successors(next(&self.newest_child), move |node| next(&node.sibling))
    }

    /// The call of `site` inside of this one; `None` past a limit. Called by the tree's thread alone.
    #[inline]
    fn child(&'static self, site: &'static Site) -> Option<&'static Self> {
        self.children()
            .find(|child| child.site.is_some_and(|known| ptr::eq(known, site)))
            .or_else(|| self.add_child(site))
    }

    #[cold]
    fn add_child(&'static self, site: &'static Site) -> Option<&'static Self> {
        let known = self.tree.nodes.load(Ordering::Relaxed);
        if self.depth >= MAX_DEPTH || known >= u64::from(MAX_CROSSINGS) {
            return None;
        }
        self.tree.nodes.store(known + 1, Ordering::Relaxed);
        let newest = self.newest_child.load(Ordering::Relaxed);
        let node = Self::leak(Some(site), self.depth + 1, newest, self.tree);
        self.newest_child
            .store(ptr::from_ref(node).cast_mut(), Ordering::Release);
        Some(node)
    }

    /// A call came back that was timed. Returns for how many calls its time stands.
    #[inline]
    fn add(&self, duration_ns: u64, is_brief: bool) -> u64 {
        let mut calls = 1;
        if is_brief {
            calls += self.untimed.load(Ordering::Relaxed);
            self.untimed.store(0, Ordering::Relaxed);
        }
        raise(&self.total_ns, duration_ns.saturating_mul(calls));
        // In this order, so that nobody sees more timed than came back.
        raise(&self.count, 1);
        raise(&self.timed, 1);
        calls
    }

    /// A brief call came back that was not timed.
    #[inline]
    fn count_untimed(&self) {
        raise(&self.untimed, 1);
        raise(&self.count, 1);
    }

    fn numbers(&self) -> [&AtomicU64; 4] {
        [&self.count, &self.total_ns, &self.timed, &self.untimed]
    }

    fn reset(&self) {
        for number in self.numbers() {
            number.store(0, Ordering::Relaxed);
        }
        self.children().for_each(Self::reset);
    }
}

/// Adds to a number of a tree. Called by the tree's thread alone, so nothing is added in between.
#[inline]
fn raise(number: &AtomicU64, by: u64) {
    let before = number.load(Ordering::Relaxed);
    number.store(before.saturating_add(by), Ordering::Relaxed);
}

/// The call that this thread is in, or the root of its tree; `None` where the thread is ending.
#[inline]
fn current() -> Option<&'static Node> {
    // SAFETY: what is stored there is leaked.
    unsafe { CURRENT.get().as_ref() }.or_else(first_of_thread)
}

#[cold]
fn first_of_thread() -> Option<&'static Node> {
    let tree = OWNED
        .try_with(|owned| {
            owned
                .get_or_init(|| Owned(hub::global().crossings.acquire()))
                .0
        })
        .ok()?;
    let root = tree.root();
    CURRENT.set(root);
    Some(root)
}

/// The thread makes a call.
#[inline]
pub(crate) fn enter(site: &'static Site) -> Option<Inside> {
    let caller = current()?;
    let node = caller.child(site)?;
    CURRENT.set(node);
    Some(Inside {
        node,
        caller,
        of_thread: PhantomData,
    })
}

impl Inside {
    /// Whether the call is timed, if it is a brief one.
    #[inline]
    pub(crate) fn is_in_sample(&self) -> bool {
        let number = self.node.count.load(Ordering::Relaxed);
        number < FIRST_TIMED || is_in_sample(number as u32)
    }

    /// The call came back and was timed. Returns for how many calls its time stands.
    #[inline]
    pub(crate) fn leave(&self, duration_ns: u64, is_brief: bool) -> u64 {
        // Guards that are dropped in another order than they were made must not leave the thread inside of a call that is over.
        CURRENT.set(self.caller);
        self.node.add(duration_ns, is_brief)
    }

    /// A brief call came back that was not timed.
    #[inline]
    pub(crate) fn leave_untimed(&self) {
        CURRENT.set(self.caller);
        self.node.count_untimed();
    }
}

impl Tree {
    fn root(&self) -> &'static Node {
        // SAFETY: set once, to a leaked node, before anybody sees the tree.
        unsafe { &*self.root.load(Ordering::Acquire) }
    }
}

impl Crossings {
    pub(crate) fn lock(&self) -> MutexGuard<'_, Trees> {
        lock(&self.trees)
    }

    fn acquire(&self) -> &'static Tree {
        let mut trees = self.lock();
        if let Some(tree) = trees.free.pop() {
            return tree;
        }
        let tree: &'static Tree = Box::leak(Box::new(Tree {
            root: AtomicPtr::new(ptr::null_mut()),
            nodes: AtomicU64::new(0),
        }));
        let root = Node::leak(None, 0, ptr::null_mut(), tree);
        tree.root
            .store(ptr::from_ref(root).cast_mut(), Ordering::Release);
        trees.all.push(tree);
        tree
    }

    /// The calls of each site, over all threads.
    pub(crate) fn sums(&self) -> HashMap<*const Site, Sums> {
        let trees = self.lock().all.clone();
        let mut sums = HashMap::new();
        for tree in trees {
            add_up(tree.root(), &mut sums);
        }
        sums
    }

    /// Every call that was made, callers before what they called.
    pub(crate) fn summaries(&self) -> Vec<CrossingSummary> {
        let trees = self.lock().all.clone();
        let mut found = Vec::new();
        let mut places = HashMap::new();
        for tree in trees {
            collect(tree.root(), None, &mut places, &mut found);
        }
        found
    }
}

/// Calls that came back.
#[derive(Clone, Copy, Default)]
pub(crate) struct Sums {
    pub count: u64,
    pub timed: u64,
    pub total_ns: u64,
}

fn add_up(node: &Node, sums: &mut HashMap<*const Site, Sums>) {
    if let Some(site) = node.site {
        let sum = sums.entry(ptr::from_ref(site)).or_default();
        sum.timed += node.timed.load(Ordering::Relaxed);
        sum.count += node.count.load(Ordering::Relaxed);
        let total_ns = node.total_ns.load(Ordering::Relaxed);
        sum.total_ns = sum.total_ns.saturating_add(total_ns);
    }
    node.children().for_each(|child| add_up(child, sums));
}

type Places = HashMap<(Option<usize>, *const Site), usize>;

fn collect(
    node: &Node,
    parent: Option<usize>,
    places: &mut Places,
    found: &mut Vec<CrossingSummary>,
) {
    for child in node.children() {
        let Some(site) = child.site else { continue };
        if !was_used(child) {
            continue;
        }
        let place = *places
            .entry((parent, ptr::from_ref(site)))
            .or_insert_with(|| {
                let (from, to) = site.languages();
                found.push(CrossingSummary {
                    parent,
                    from: from.name().to_owned(),
                    to: to.name().to_owned(),
                    name: site.text().to_owned(),
                    count: 0,
                    total_seconds: 0.0,
                    timed_count: 0,
                });
                found.len() - 1
            });
        found[place].timed_count += child.timed.load(Ordering::Relaxed);
        found[place].count += child.count.load(Ordering::Relaxed);
        found[place].total_seconds +=
            child.total_ns.load(Ordering::Relaxed) as f64 * SECONDS_PER_NS;
        collect(child, Some(place), places, found);
    }
}

/// Whether a call, or one inside of it, has come back since the process began.
fn was_used(node: &Node) -> bool {
    node.count.load(Ordering::Relaxed) > 0 || node.children().any(was_used)
}

impl Trees {
    /// In the child of a fork: nothing was called, and of the threads only this one is left.
    pub(crate) fn reset(&mut self) {
        self.all.iter().for_each(|tree| tree.root().reset());
        let own = OWNED
            .try_with(|owned| owned.get().map(|owned| ptr::from_ref(owned.0)))
            .ok()
            .flatten();
        self.free = self.all.clone();
        self.free.retain(|tree| Some(ptr::from_ref(*tree)) != own);
    }
}

#[cfg(test)]
mod tests {
    use amdgpu_abi::Language::{Nim, Python, Rust, Zig};

    use super::*;
    use crate::{Boundary, SAMPLED_EVERY};

    static RUN: Boundary = Boundary::new(Python, Rust, "crossings.run");
    static TRAIN: Boundary = Boundary::new(Python, Rust, "crossings.train");
    static PRODUCT: Boundary = Boundary::new(Rust, Zig, "crossings.product");
    static COMPILE: Boundary = Boundary::new(Rust, Nim, "crossings.compile");

    /// Paths of this module's calls, with their counts.
    fn paths() -> Vec<(String, u64)> {
        let found = hub::global().crossings.summaries();
        let path = |mut place: usize| {
            let mut names = vec![found[place].name.clone()];
            while let Some(parent) = found[place].parent {
                assert!(parent < place, "callers come first");
                names.insert(0, found[parent].name.clone());
                place = parent;
            }
            names.join("/").replace("crossings.", "")
        };
        let mut paths: Vec<_> = (0..found.len())
            .filter(|place| found[*place].name.starts_with("crossings."))
            .map(|place| (path(place), found[place].count))
            .collect();
        paths.sort();
        paths
    }

    #[test]
    fn a_call_is_told_under_who_made_it_and_nobody_else() {
        let calls = || {
            for _ in 0..3 {
                let _run = RUN.enter();
                drop(COMPILE.enter());
            }
            let train = TRAIN.enter();
            drop(PRODUCT.enter());
            drop(PRODUCT.enter());
            assert!(train.leave() > 0);
            drop(PRODUCT.enter());
        };
        calls();
        std::thread::spawn(calls).join().unwrap();
        let expected = [
            ("product", 2),
            ("run", 6),
            ("run/compile", 6),
            ("train", 2),
            ("train/product", 4),
        ];
        let expected = expected.map(|(path, count)| (path.to_owned(), count));
        assert_eq!(paths(), expected);
    }

    #[test]
    fn of_brief_calls_a_sample_is_timed_and_all_are_counted() {
        static BRIEF: Boundary = Boundary::new(Rust, Zig, "brief.product");
        const CALLS: u64 = 100_000;
        const LONG_EVERY: u64 = 1000;
        for number in 0..CALLS {
            let mut guard = BRIEF.enter_brief();
            if number % LONG_EVERY == 0 {
                guard.expect_long();
                assert!(guard.start_ns().is_some());
            }
            if number < FIRST_TIMED {
                assert!(guard.leave() > 0);
            }
        }
        let all = hub::global().boundary_summaries();
        let found = all.iter().find(|one| &*one.name == "brief.product");
        let found = found.unwrap();
        assert_eq!(found.count, CALLS);
        let expected = FIRST_TIMED + (CALLS - FIRST_TIMED) / SAMPLED_EVERY + CALLS / LONG_EVERY;
        assert!(
            (expected * 9 / 10..expected * 11 / 10).contains(&found.timed_count),
            "{} of {CALLS}",
            found.timed_count
        );
        let row = hub::global().crossings.summaries();
        let row = row.iter().find(|one| one.name == "brief.product").unwrap();
        assert_eq!(
            (row.count, row.timed_count),
            (found.count, found.timed_count)
        );
    }

    #[test]
    fn a_brief_call_that_is_timed_stands_for_those_that_were_not() {
        static STANDS: Boundary = Boundary::new(Rust, Zig, "brief.weight");
        drop(STANDS.enter_brief());
        let is_own = |node: &&Node| node.site.is_some_and(|site| site.text() == "brief.weight");
        let node = current().unwrap().children().find(is_own).unwrap();
        let timed = |duration_ns, is_brief| node.add(duration_ns, is_brief);
        let before_ns = node.total_ns.load(Ordering::Relaxed);
        node.count_untimed();
        node.count_untimed();
        assert_eq!(timed(1000, false), 1);
        assert_eq!(timed(10, true), 3);
        assert_eq!(timed(10, true), 1);
        let total_ns = node.total_ns.load(Ordering::Relaxed) - before_ns;
        assert_eq!(total_ns, 1000 + 30 + 10);
        assert_eq!(node.count.load(Ordering::Relaxed), 6);
        assert_eq!(node.timed.load(Ordering::Relaxed), 4);
    }
}
