//! Loads and stores: scalars for one address, vectors for neighbouring ones, gathers and scatters for the rest.

use super::super::function::NONTEMPORAL;
use super::super::text::Text;
use super::{Body, vector_of};
use crate::ir::{Type, Value};
use crate::lanes::Shape;

/// Of a cache line, and of the widest store of any CPU.
const LINE_BYTES: u64 = 64;

/// How the addresses of lanes lie.
enum Access {
    One,
    Neighbours,
    /// Each lane's before that of the lane before it.
    Backwards,
    Scattered,
}

impl Body<'_, '_> {
    fn access(&self, pointer: Value, ty: Type) -> Access {
        match self.shape(pointer) {
            Shape::Uniform => Access::One,
            Shape::Affine { stride, .. } if stride == ty.bytes() as i64 => Access::Neighbours,
            Shape::Affine { stride, .. } if stride == -(ty.bytes() as i64) => Access::Backwards,
            _ => Access::Scattered,
        }
    }

    /// Memory of the function for all lanes.
    pub(super) fn slot(&mut self, value: Value) {
        let bytes = self.plan.slots.bytes(value) * u64::from(self.lanes());
        let name = self.scalar_name(value);
        self.variable(&name, &format!("[{bytes} x i8]"), false);
    }

    pub(super) fn load(&mut self, value: Value, pointer: Value) {
        let ty = self.function.ty(value);
        let name = Text::numbered("%v", value.0);
        let access = self.access(pointer, ty);
        if let Access::One = access {
            return self.plain(value, "%v");
        }
        // A bool is a byte in memory.
        let memory = vector_of(
            self.lanes(),
            if ty == Type::I1 {
                "i8"
            } else {
                self.scalar_type(ty)
            },
        );
        let result = if ty == Type::I1 {
            self.fresh()
        } else {
            name.clone()
        };
        let align = ty.bytes();
        let suffix = self.suffix(ty);
        match access {
            Access::Neighbours if self.plan.slots.is_private(self.root(pointer)) => {
                let address = self.scalar(pointer);
                self.print(format_args!(
                    "  {result} = load {memory}, ptr {address}, align {align}"
                ));
            }
            Access::Neighbours => {
                let (address, mask) = (self.scalar(pointer), self.mask());
                let call = self.masked_load(
                    [&memory, &suffix],
                    &address,
                    &mask,
                    align,
                    "zeroinitializer",
                );
                self.print(format_args!("  {result} = {call}"));
            }
            Access::Backwards => {
                let address = self.last_address(pointer, align);
                let mask = self.mask();
                let mask = self.reversed("i1", &mask);
                let call = self.masked_load(
                    [&memory, &suffix],
                    &address,
                    &mask,
                    align,
                    "zeroinitializer",
                );
                let loaded = self.emit(format_args!("{call}"));
                let text = self.reverse_text(&memory, &loaded);
                self.print(format_args!("  {result} = {text}"));
            }
            _ => {
                let (addresses, mask) = (self.address(pointer), self.mask());
                let lanes = self.lanes();
                let call = format!(
                    "call {memory} @llvm.masked.gather.{suffix}.v{lanes}p0(<{lanes} x ptr> align {align} {addresses}, <{lanes} x i1> {mask}, {memory} zeroinitializer)"
                );
                self.emitter.declarations.insert(format!(
                    "declare {memory} @llvm.masked.gather.{suffix}.v{lanes}p0(<{lanes} x ptr>, <{lanes} x i1>, {memory})"
                ));
                match self.runs(pointer, ty) {
                    Some(runs) => {
                        self.load_runs(value, &result, &runs, [&*memory, &*suffix], &call);
                    }
                    None => self.print(format_args!("  {result} = {call}")),
                }
            }
        }
        if ty == Type::I1 {
            let mask_type = self.mask_type();
            self.print(format_args!(
                "  {name} = trunc {memory} {result} to {mask_type}"
            ));
        }
    }

    pub(super) fn store(&mut self, value: Value, pointer: Value, stored: Value) {
        let ty = self.function.ty(stored);
        let access = self.access(pointer, ty);
        let align = ty.bytes();
        if let Access::One = access {
            return self.store_one(pointer, stored, ty);
        }
        let memory_type = if ty == Type::I1 {
            "i8"
        } else {
            self.scalar_type(ty)
        };
        let memory = vector_of(self.lanes(), memory_type);
        let mut new = self.vector(stored);
        if ty == Type::I1 {
            let mask_type = self.mask_type();
            new = self.emit(format_args!("zext {mask_type} {new} to {memory}"));
        }
        let suffix = self.suffix(ty);
        let mask_type = self.mask_type();
        match access {
            Access::Neighbours if self.plan.slots.is_private(self.root(pointer)) => {
                let address = self.scalar(pointer);
                // Nothing belongs to lanes that do not exist.
                if !self.has_all_lanes() {
                    let mask = self.mask();
                    let old =
                        self.emit(format_args!("load {memory}, ptr {address}, align {align}"));
                    new = self.emit(format_args!(
                        "select {mask_type} {mask}, {memory} {new}, {memory} {old}"
                    ));
                }
                self.print(format_args!(
                    "  store {memory} {new}, ptr {address}, align {align}"
                ));
            }
            Access::Neighbours => {
                let (address, mask) = (self.scalar(pointer), self.mask());
                self.masked_store(&memory, &suffix, &new, &address, &mask, align);
            }
            Access::Backwards => {
                let address = self.last_address(pointer, align);
                let mask = self.mask();
                let (mask, new) = (self.reversed("i1", &mask), self.reversed(memory_type, &new));
                self.masked_store(&memory, &suffix, &new, &address, &mask, align);
            }
            _ => {
                let (addresses, mask) = (self.address(pointer), self.mask());
                let lanes = self.lanes();
                self.emitter.declarations.insert(format!(
                    "declare void @llvm.masked.scatter.{suffix}.v{lanes}p0({memory}, <{lanes} x ptr>, <{lanes} x i1>)"
                ));
                let call = format!(
                    "call void @llvm.masked.scatter.{suffix}.v{lanes}p0({memory} {new}, <{lanes} x ptr> align {align} {addresses}, <{lanes} x i1> {mask})"
                );
                match self.runs(pointer, ty) {
                    Some(runs) => {
                        self.store_runs(value, &runs, [&memory, &suffix, &new], &call);
                    }
                    None => self.print(format_args!("  {call}")),
                }
            }
        }
    }

    /// Whole vectors at addresses that are multiples of their size bypass the caches; targets write anything else past them in pieces, which is
    /// slower than through them.
    pub(super) fn nontemporal_store(&mut self, value: Value, pointer: Value, stored: Value) {
        let ty = self.function.ty(stored);
        let is_private = self.plan.slots.is_private(self.root(pointer));
        if !matches!(self.access(pointer, ty), Access::Neighbours) || is_private || ty == Type::I1 {
            return self.store(value, pointer, stored);
        }
        let (new, address, mask) = (self.vector(stored), self.scalar(pointer), self.mask());
        let (number, lanes) = (value.0, self.lanes());
        let align = (u64::from(lanes) * ty.bytes()).min(LINE_BYTES);
        let memory = self.vector_type(ty);
        let bits = self.bits(&mask);
        let is_whole = self.emit(format_args!("icmp eq i{lanes} {bits}, -1"));
        let integer = self.emit(format_args!("ptrtoint ptr {address} to i64"));
        let beyond = self.emit(format_args!("and i64 {integer}, {}", align - 1));
        let is_aligned = self.emit(format_args!("icmp eq i64 {beyond}, 0"));
        let streams = self.emit(format_args!("and i1 {is_whole}, {is_aligned}"));
        self.print(format_args!(
            "  br i1 {streams}, label %s{number}.past, label %s{number}.through
s{number}.past:
  store {memory} {new}, ptr {address}, align {align}{NONTEMPORAL}
  br label %s{number}.done
s{number}.through:"
        ));
        let suffix = self.suffix(ty);
        self.masked_store(&memory, &suffix, &new, &address, &mask, ty.bytes());
        self.print(format_args!("  br label %s{number}.done\ns{number}.done:"));
        self.label = format!("s{number}.done");
    }

    /// All lanes to one address: the last one is what work-items one after the other would leave there.
    fn store_one(&mut self, pointer: Value, stored: Value, ty: Type) {
        let value = if self.shape(stored).is_uniform() {
            self.scalar(stored)
        } else {
            let (vector, mask) = (self.typed_vector(stored), self.mask());
            let (bits, lanes) = (self.bits(&mask), self.lanes());
            let integer = format!("i{lanes}");
            let zeros = self.emitter.call_text(
                &integer,
                &format!("llvm.ctlz.{integer}"),
                &[(&integer, &bits), ("i1", "false")],
            );
            let zeros = self.emit(format_args!("{zeros}"));
            let last = self.emit(format_args!("sub {integer} {}, {zeros}", lanes as i32 - 1));
            self.emit(format_args!("extractelement {vector}, {integer} {last}"))
        };
        let address = self.scalar(pointer);
        let scalar_type = self.scalar_type(ty);
        self.print(format_args!(
            "  store {scalar_type} {value}, ptr {address}, align {}",
            ty.bytes()
        ));
    }

    /// `others` are what lanes get that are not in the mask.
    pub(super) fn masked_load(
        &mut self,
        [memory, suffix]: [&str; 2],
        address: &str,
        mask: &str,
        align: u64,
        others: &str,
    ) -> String {
        let mask_type = self.mask_type();
        self.emitter.declarations.insert(format!(
            "declare {memory} @llvm.masked.load.{suffix}.p0(ptr, {mask_type}, {memory})"
        ));
        format!(
            "call {memory} @llvm.masked.load.{suffix}.p0(ptr align {align} {address}, {mask_type} {mask}, {memory} {others})"
        )
    }

    pub(super) fn masked_store(
        &mut self,
        memory: &str,
        suffix: &str,
        new: &str,
        address: &str,
        mask: &str,
        align: u64,
    ) {
        let mask_type = self.mask_type();
        self.emitter.declarations.insert(format!(
            "declare void @llvm.masked.store.{suffix}.p0({memory}, ptr, {mask_type})"
        ));
        self.print(format_args!(
            "  call void @llvm.masked.store.{suffix}.p0({memory} {new}, ptr align {align} {address}, {mask_type} {mask})"
        ));
    }

    /// The address of the last lane, where addresses go down.
    fn last_address(&mut self, pointer: Value, bytes: u64) -> Text {
        let address = self.scalar(pointer);
        let back = (i64::from(self.lanes()) - 1) * bytes as i64;
        self.emit(format_args!("getelementptr i8, ptr {address}, i64 -{back}"))
    }

    fn reversed(&mut self, ty: &str, vector: &str) -> Text {
        let text = self.reverse_text(&vector_of(self.lanes(), ty), vector);
        self.emit(format_args!("{text}"))
    }

    fn reverse_text(&self, ty: &str, vector: &str) -> String {
        let lanes = self.lanes();
        let order: Vec<String> = (0..lanes).rev().map(|lane| format!("i32 {lane}")).collect();
        format!(
            "shufflevector {ty} {vector}, {ty} poison, <{lanes} x i32> <{}>",
            order.join(", ")
        )
    }

    /// A vector in memory, as names of intrinsics have it.
    fn suffix(&self, ty: Type) -> String {
        let lanes = self.lanes();
        match ty {
            Type::I1 => format!("v{lanes}i8"),
            Type::Pointer(_) => format!("v{lanes}p0"),
            ty if ty.is_float() => format!("v{lanes}f{}", ty.bits()),
            ty => format!("v{lanes}i{}", ty.bits()),
        }
    }
}
