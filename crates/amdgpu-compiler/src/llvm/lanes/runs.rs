//! Addresses of which nothing is known before they are there, but which follow from work-item indices: most often they go up by one
//! element from lane to lane, or do so twice, where a row ends in between (clamped, wrapped and mirrored coordinates, rows of
//! an odd length). Whether they do costs two comparisons; then two loads or stores with masks take the place of a gather or
//! scatter, which take 13 cycles more on a Zen 4 for 16 lanes. Where they do not, the branch is predicted, and the gather hides
//! the comparisons.
//!
//! For 16 lanes only: there accesses with masks are one instruction for elements of every size.

use super::super::text::Text;
use super::Body;
use crate::ir::{CastKind, Op, Type, Value};
use crate::lanes::Shape;

/// Steps when asking where an index comes from.
const MAX_DEPTH: u32 = 12;

/// Index of an element, and what it counts from.
pub(super) struct Runs {
    base: Value,
    index: Value,
    extension: Option<CastKind>,
    bytes: u64,
}

/// Texts of the two runs.
pub(super) struct Found {
    /// Whether all lanes are in one of them.
    pub is_all: Text,
    /// Lanes that follow the first one, and those that come before the last one.
    pub lanes: [Text; 2],
    /// Where the first lane would be in each.
    pub addresses: [Text; 2],
}

impl Body<'_, '_> {
    /// The index behind an address that may lie in runs.
    pub(super) fn runs(&self, pointer: Value, ty: Type) -> Option<Runs> {
        let pointer = self.root(pointer);
        let Op::Offset {
            pointer: base,
            index,
            scale,
        } = *self.function.op(pointer)
        else {
            return None;
        };
        // What an operation of this block takes is at hand in it.
        let is_here = |value: Value| self.plan.divergence.home(value) == Some(self.block);
        let is_candidate = self.lanes() == 16
            && scale == ty.bytes()
            && !self.plan.slots.is_interleaved(pointer)
            && is_here(pointer)
            && self.shape(base).is_uniform()
            && self.shape(index) == Shape::Varying
            && self.is_counted(index, MAX_DEPTH, &mut Vec::new());
        if !is_candidate {
            return None;
        }
        let (index, extension) = match *self.function.op(self.root(index)) {
            Op::Cast(kind @ (CastKind::ExtendSigned | CastKind::ExtendUnsigned), inner)
                if is_here(index) && self.function.ty(inner) == Type::I32 =>
            {
                (inner, Some(kind))
            }
            _ => (index, None),
        };
        Some(Runs {
            base,
            index,
            extension,
            bytes: scale,
        })
    }

    /// Whether a number follows from indices and what all lanes agree on; what was loaded is as good as random.
    fn is_counted(&self, value: Value, depth: u32, phis: &mut Vec<Value>) -> bool {
        let value = self.root(value);
        if self.shape(value).is_scalar() {
            return true;
        }
        if depth == 0 {
            return false;
        }
        let op = self.function.op(value);
        if matches!(op, Op::Phi(_)) {
            if phis.contains(&value) {
                return true;
            }
            phis.push(value);
        } else if !op.is_pure() {
            return false;
        }
        let mut is_counted = true;
        op.for_each_operand(|operand| {
            is_counted = is_counted && self.is_counted(operand, depth - 1, phis);
        });
        is_counted
    }

    /// Compares the lanes of an index with the first and the last one.
    pub(super) fn find_runs(&mut self, runs: &Runs) -> Found {
        let ty = self.function.ty(runs.index);
        let (index, base, mask) = (self.vector(runs.index), self.scalar(runs.base), self.mask());
        let (vector, scalar, lanes) = (self.vector_type(ty), self.scalar_type(ty), self.lanes());
        let mask_type = self.mask_type();
        let ahead = lanes - 1;
        let steps = self.steps(scalar, 1);
        let starts = self.emit(format_args!("sub {vector} {index}, {steps}"));
        let runs_of = [0, ahead].map(|lane| {
            let all = self.emit(format_args!(
                "shufflevector {vector} {starts}, {vector} poison, <{lanes} x i32> splat (i32 {lane})"
            ));
            let same = self.emit(format_args!("icmp eq {vector} {starts}, {all}"));
            self.emit(format_args!(
                "select {mask_type} {mask}, {mask_type} {same}, {mask_type} zeroinitializer"
            ))
        });
        let any = self.emit(format_args!(
            "or {mask_type} {}, {}",
            runs_of[0], runs_of[1]
        ));
        let left = self.emit(format_args!("xor {mask_type} {mask}, {any}"));
        let bits = self.bits(&left);
        let is_all = self.emit(format_args!("icmp eq i{lanes} {bits}, 0"));
        let first = self.emit(format_args!("extractelement {vector} {index}, i64 0"));
        let end = self.emit(format_args!("extractelement {vector} {index}, i64 {ahead}"));
        // As with indices that go up evenly: the lane that a start is taken from may not exist and be on the other side of zero.
        let wide = match runs.extension {
            None => {
                let last = self.emit(format_args!("sub {scalar} {end}, {ahead}"));
                [first, last]
            }
            Some(CastKind::ExtendUnsigned) => {
                let first = self.emit(format_args!("add {scalar} {first}, {ahead}"));
                [first, end].map(|end| {
                    let wide = self.emit(format_args!("zext {scalar} {end} to i64"));
                    self.emit(format_args!("sub i64 {wide}, {ahead}"))
                })
            }
            Some(_) => {
                let first = self.emit(format_args!("sext {scalar} {first} to i64"));
                let end = self.emit(format_args!("sext {scalar} {end} to i64"));
                [first, self.emit(format_args!("sub i64 {end}, {ahead}"))]
            }
        };
        let element = format!("[{} x i8]", runs.bytes);
        let addresses = wide.map(|start| {
            self.emit(format_args!(
                "getelementptr {element}, ptr {base}, i64 {start}"
            ))
        });
        Found {
            is_all,
            lanes: runs_of,
            addresses,
        }
    }

    /// A load through two runs, or else what `gather` says.
    pub(super) fn load_runs(
        &mut self,
        value: Value,
        result: &str,
        runs: &Runs,
        vector @ [memory, _]: [&str; 2],
        gather: &str,
    ) {
        let number = value.0;
        let found = self.find_runs(runs);
        self.branch_runs(number, &found.is_all);
        let ([first, last], [one, other]) = (&found.lanes, &found.addresses);
        let call = self.masked_load(vector, one, first, runs.bytes, "zeroinitializer");
        let loaded = self.emit(format_args!("{call}"));
        let call = self.masked_load(vector, other, last, runs.bytes, &loaded);
        let loaded = self.emit(format_args!("{call}"));
        self.print(format_args!("  br label %r{number}.done\nr{number}.else:"));
        let gathered = self.emit(format_args!("{gather}"));
        self.end_runs(number);
        self.print(format_args!(
            "  {result} = phi {memory} [ {loaded}, %r{number}.two ], [ {gathered}, %r{number}.else ]"
        ));
    }

    /// A store through two runs, or else what `scatter` says. Of lanes that go to one address the last one stays, so that the first
    /// run must be of lanes before all others.
    pub(super) fn store_runs(
        &mut self,
        value: Value,
        runs: &Runs,
        [memory, suffix, new]: [&str; 3],
        scatter: &str,
    ) {
        let number = value.0;
        let found = self.find_runs(runs);
        let [first, last] = &found.lanes;
        let mask_type = self.mask_type();
        let rest = self.emit(format_args!(
            "select {mask_type} {first}, {mask_type} zeroinitializer, {mask_type} {last}"
        ));
        let (integer, bits) = (format!("i{}", self.lanes()), self.bits(first));
        let rest_bits = self.bits(&rest);
        let negative = self.emit(format_args!("sub {integer} 0, {rest_bits}"));
        let lowest = self.emit(format_args!("and {integer} {rest_bits}, {negative}"));
        let below = self.emit(format_args!("sub {integer} {lowest}, 1"));
        let is_ordered = self.emit(format_args!("icmp ule {integer} {bits}, {below}"));
        let both = self.emit(format_args!("and i1 {}, {is_ordered}", found.is_all));
        self.branch_runs(number, &both);
        let [one, other] = &found.addresses;
        self.masked_store(memory, suffix, new, one, first, runs.bytes);
        self.masked_store(memory, suffix, new, other, &rest, runs.bytes);
        self.print(format_args!(
            "  br label %r{number}.done\nr{number}.else:\n  {scatter}"
        ));
        self.end_runs(number);
    }

    fn branch_runs(&mut self, number: u32, condition: &str) {
        self.print(format_args!(
            "  br i1 {condition}, label %r{number}.two, label %r{number}.else\nr{number}.two:"
        ));
    }

    fn end_runs(&mut self, number: u32) {
        self.print(format_args!("  br label %r{number}.done\nr{number}.done:"));
        self.label = format!("r{number}.done");
    }
}
