//! Operations of a wave on GPUs. On the CPU kernels were cut at them ([`crate::regions`]).

use super::Emitter;
use crate::ir::{Cooperation, Special, SpecialKind, Type};
use crate::target::TargetKind;

/// LLVM's names of the values of one operation.
pub(super) struct Operation<'a> {
    pub name: &'a str,
    pub kind: Cooperation,
    /// The mask first.
    pub operands: &'a [String],
    /// Mask 0: those lanes that arrive together.
    pub has_no_mask: bool,
    /// Of the value that lanes exchange.
    pub word: Type,
}

impl Emitter<'_> {
    pub(super) fn wave_operation(&mut self, operation: &Operation<'_>) {
        match self.kind {
            TargetKind::Amd => self.amd_wave(operation),
            TargetKind::Nvidia => self.nvidia_wave(operation),
            TargetKind::Host => {}
        }
    }

    /// Calls an intrinsic that must not move to where other lanes are active; its result, if any, gets a name.
    fn convergent(&mut self, name: &str, result: &str, intrinsic: &str, arguments: &[&str]) {
        let types: Vec<&str> = arguments
            .iter()
            .map(|argument| argument.split(' ').next().unwrap_or_default())
            .collect();
        self.declarations.insert(format!(
            "declare {result} @{intrinsic}({}) #2",
            types.join(", ")
        ));
        let target = if result == "void" {
            String::new()
        } else {
            format!("{name} = ")
        };
        let arguments = arguments.join(", ");
        self.print(format_args!(
            "  {target}call {result} @{intrinsic}({arguments})"
        ));
    }

    fn nvidia_wave(&mut self, operation: &Operation<'_>) {
        let Operation { name, operands, .. } = *operation;
        let mask = format!("{name}.m");
        if operation.has_no_mask {
            self.convergent(&mask, "i32", "llvm.nvvm.activemask", &[]);
        } else {
            self.print(format_args!("  {mask} = trunc i64 {} to i32", operands[0]));
        }
        let mask = format!("i32 {mask}");
        match operation.kind {
            Cooperation::WaveShuffle => self.words(operation, |emitter, result, word| {
                let lane = format!("i32 {}", operands[2]);
                let arguments = [&mask, &format!("i32 {word}"), &lane, "i32 31"];
                emitter.convergent(result, "i32", "llvm.nvvm.shfl.sync.idx.i32", &arguments);
            }),
            Cooperation::WaveBallot => {
                let arguments = [mask.as_str(), &format!("i1 {}", operands[1])];
                let intrinsic = "llvm.nvvm.vote.ballot.sync";
                self.convergent(&format!("{name}.b"), "i32", intrinsic, &arguments);
                self.print(format_args!("  {name} = zext i32 {name}.b to i64"));
            }
            Cooperation::WaveMatch => {
                let ty = self.type_text(operation.word);
                let intrinsic = format!("llvm.nvvm.match.any.sync.{ty}");
                let arguments = [mask.as_str(), &format!("{ty} {}", operands[1])];
                self.convergent(&format!("{name}.b"), "i32", &intrinsic, &arguments);
                self.print(format_args!("  {name} = zext i32 {name}.b to i64"));
            }
            _ => self.convergent(name, "void", "llvm.nvvm.bar.warp.sync", &[&mask]),
        }
    }

    fn amd_wave(&mut self, operation: &Operation<'_>) {
        let Operation { name, operands, .. } = *operation;
        match operation.kind {
            Cooperation::WaveShuffle => {
                // The lane is addressed in bytes.
                self.print(format_args!("  {name}.a = shl i32 {}, 2", operands[2]));
                self.words(operation, |emitter, result, word| {
                    let arguments = [&format!("i32 {name}.a"), &format!("i32 {word}")[..]];
                    emitter.convergent(result, "i32", "llvm.amdgcn.ds.bpermute", &arguments);
                });
            }
            Cooperation::WaveBallot => self.amd_ballot(name, &operands[1]),
            Cooperation::WaveMatch => self.amd_match(operation),
            _ => {
                self.line("  fence syncscope(\"wavefront\") release");
                self.convergent(name, "void", "llvm.amdgcn.wave.barrier", &[]);
                self.line("  fence syncscope(\"wavefront\") acquire");
            }
        }
    }

    fn amd_ballot(&mut self, name: &str, condition: &str) {
        let condition = format!("i1 {condition}");
        if self.wave_size == 64 {
            self.convergent(name, "i64", "llvm.amdgcn.ballot.i64", &[&condition]);
        } else {
            let narrow = format!("{name}.b");
            self.convergent(&narrow, "i32", "llvm.amdgcn.ballot.i32", &[&condition]);
            self.print(format_args!("  {name} = zext i32 {narrow} to i64"));
        }
    }

    /// In iterations: each takes the value of the first lane that is left, and the lanes that have it leave.
    fn amd_match(&mut self, operation: &Operation<'_>) {
        let ty = self.type_text(operation.word);
        let helper = format!("agpu.wave.match.{ty}");
        self.print(format_args!(
            "  {} = call i64 @{helper}({ty} {}) #2",
            operation.name, operation.operands[1]
        ));
        let out = std::mem::take(&mut self.out);
        self.print(format_args!(
            "define internal i64 @{helper}({ty} %value) alwaysinline convergent #0 {{\nentry:\n  br label %turn\nturn:"
        ));
        let whole = Operation {
            name: "%first",
            operands: &[String::new(), "%value".to_owned()],
            ..*operation
        };
        self.words(&whole, |emitter, result, word| {
            let intrinsic = "llvm.amdgcn.readfirstlane.i32";
            emitter.convergent(result, "i32", intrinsic, &[&format!("i32 {word}")]);
        });
        self.print(format_args!("  %same = icmp eq {ty} %value, %first"));
        self.amd_ballot("%lanes", "%same");
        self.line("  br i1 %same, label %done, label %turn\ndone:\n  ret i64 %lanes\n}\n");
        let text = std::mem::replace(&mut self.out, out);
        self.helpers.insert(text);
    }

    /// Does with each 32 bits of the second operand what `each` does, given names of a result and an operand.
    fn words(&mut self, operation: &Operation<'_>, each: impl Fn(&mut Self, &str, &str)) {
        let (name, value) = (operation.name, &operation.operands[1]);
        if operation.word == Type::I32 {
            return each(self, name, value);
        }
        self.print(format_args!("  {name}.l = trunc i64 {value} to i32"));
        self.print(format_args!("  {name}.u = lshr i64 {value}, 32"));
        self.print(format_args!("  {name}.h = trunc i64 {name}.u to i32"));
        each(self, &format!("{name}.lr"), &format!("{name}.l"));
        each(self, &format!("{name}.hr"), &format!("{name}.h"));
        self.print(format_args!("  {name}.lw = zext i32 {name}.lr to i64"));
        self.print(format_args!("  {name}.hw = zext i32 {name}.hr to i64"));
        self.print(format_args!("  {name}.hs = shl i64 {name}.hw, 32"));
        self.print(format_args!(
            "  {name} = or disjoint i64 {name}.hs, {name}.lw"
        ));
    }

    /// The number of lanes, and that of the own lane; on the CPU both were resolved before.
    pub(super) fn wave_special(&mut self, name: &str, special: Special) {
        if special.kind == SpecialKind::WaveSize {
            let wave_size = self.wave_size;
            return self.print(format_args!("  {name} = add i32 {wave_size}, 0"));
        }
        if self.kind == TargetKind::Nvidia {
            let call = self.call_text("i32", "llvm.nvvm.read.ptx.sreg.laneid", &[]);
            return self.print(format_args!("  {name} = {call}"));
        }
        let arguments = [("i32", "-1"), ("i32", "0")];
        let low = self.call_text("i32", "llvm.amdgcn.mbcnt.lo", &arguments);
        if self.wave_size == 32 {
            return self.print(format_args!("  {name} = {low}"));
        }
        self.print(format_args!("  {name}.l = {low}"));
        let low = format!("{name}.l");
        let arguments = [("i32", "-1"), ("i32", low.as_str())];
        let call = self.call_text("i32", "llvm.amdgcn.mbcnt.hi", &arguments);
        self.print(format_args!("  {name} = {call}"));
    }
}
