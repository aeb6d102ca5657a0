//! Functions in LLVM IR that do for one wave on the CPU what a GPU does in one instruction. Of the arrays with an element for
//! every work-item they take the part of the wave, which has elements for lanes that the block does not have too. `SIZE` stands
//! for the lanes of a wave, `TYPE` for the type of what they exchange.

/// The lowest region of some lanes.
pub(super) const LOWEST: &str =
    "define internal i32 @agpu.wave.lowest(ptr %states, i64 %lanes) #0 {
  %all = load <SIZE x i32>, ptr %states, align 4
  %bits = trunc i64 %lanes to iSIZE
  %some = bitcast iSIZE %bits to <SIZE x i1>
  %states.some = select <SIZE x i1> %some, <SIZE x i32> %all, <SIZE x i32> splat (i32 -1)
  %lowest = call i32 @llvm.vector.reduce.umin.vSIZEi32(<SIZE x i32> %states.some)
  ret i32 %lowest
}
";

/// Which of some lanes have a region before them.
pub(super) const SAME: &str =
    "define internal i64 @agpu.wave.same(ptr %states, i64 %lanes, i32 %state) #0 {
  %all = load <SIZE x i32>, ptr %states, align 4
  %first = insertelement <SIZE x i32> poison, i32 %state, i64 0
  %wanted = shufflevector <SIZE x i32> %first, <SIZE x i32> poison, <SIZE x i32> zeroinitializer
  %same = icmp eq <SIZE x i32> %all, %wanted
  %bits = bitcast <SIZE x i1> %same to iSIZE
  %wide = zext iSIZE %bits to i64
  %some = and i64 %wide, %lanes
  ret i64 %some
}
";

pub(super) const FILL: &str =
    "define internal void @agpu.wave.fill(ptr %states, i64 %lanes, i32 %state) #0 {
  %all = load <SIZE x i32>, ptr %states, align 4
  %first = insertelement <SIZE x i32> poison, i32 %state, i64 0
  %new = shufflevector <SIZE x i32> %first, <SIZE x i32> poison, <SIZE x i32> zeroinitializer
  %bits = trunc i64 %lanes to iSIZE
  %some = bitcast iSIZE %bits to <SIZE x i1>
  %filled = select <SIZE x i1> %some, <SIZE x i32> %new, <SIZE x i32> %all
  store <SIZE x i32> %filled, ptr %states, align 4
  ret void
}
";

/// The two registers that hold the words of a wave, by 32 indices.
pub(super) const PERMUTATION: &str = "llvm.x86.avx512.vpermi2var.d.512";
pub(super) const PERMUTE: &str = "all:
  %w.high.p = getelementptr inbounds i32, ptr %words, i64 16
  %w.low = load <16 x i32>, ptr %words, align 4
  %w.high = load <16 x i32>, ptr %w.high.p, align 4
  %s.high.p = getelementptr inbounds i32, ptr %sources, i64 16
  %s.low = load <16 x i32>, ptr %sources, align 4
  %s.high = load <16 x i32>, ptr %s.high.p, align 4
  %is.low = icmp ult <16 x i32> %s.low, splat (i32 SIZE)
  %is.high = icmp ult <16 x i32> %s.high, splat (i32 SIZE)
  %p.low = call <16 x i32> @llvm.x86.avx512.vpermi2var.d.512(<16 x i32> %w.low, <16 x i32> %s.low, <16 x i32> %w.high)
  %p.high = call <16 x i32> @llvm.x86.avx512.vpermi2var.d.512(<16 x i32> %w.low, <16 x i32> %s.high, <16 x i32> %w.high)
  %r.low = select <16 x i1> %is.low, <16 x i32> %p.low, <16 x i32> %w.low
  %r.high = select <16 x i1> %is.high, <16 x i32> %p.high, <16 x i32> %w.high
  %r.high.p = getelementptr inbounds i32, ptr %results, i64 16
  store <16 x i32> %r.low, ptr %results, align 4
  store <16 x i32> %r.high, ptr %r.high.p, align 4
  br label %done
";

pub(super) const GATHER: &str = "all:
  %a = phi i64 [ 0, %entry ], [ %a.next, %all ]
  %a.s = getelementptr inbounds i32, ptr %sources, i64 %a
  %a.source = load i32, ptr %a.s, align 4
  %a.source64 = zext i32 %a.source to i64
  %a.is_there = icmp ult i64 %a.source64, SIZE
  %a.from = select i1 %a.is_there, i64 %a.source64, i64 %a
  %a.w = getelementptr inbounds TYPE, ptr %words, i64 %a.from
  %a.word = load TYPE, ptr %a.w, align 4
  %a.r = getelementptr inbounds TYPE, ptr %results, i64 %a
  store TYPE %a.word, ptr %a.r, align 4
  %a.next = add nuw nsw i64 %a, 1
  %a.more = icmp ult i64 %a.next, SIZE
  br i1 %a.more, label %all, label %done
";

/// The value of the source; the own one where the source is not there.
pub(super) const SHUFFLE: &str = "define internal void @agpu.wave.shuffle.TYPE(ptr noalias %words, ptr noalias %sources, ptr noalias %results, i64 %lanes) #0 {
entry:
  %unused = sub nuw nsw i64 64, SIZE
  %full = lshr i64 -1, %unused
  %is_full = icmp eq i64 %lanes, %full
  br i1 %is_full, label %all, label %some
ALLsome:
  %rest = phi i64 [ %lanes, %entry ], [ %rest.next, %some ]
  %s = call i64 @llvm.cttz.i64(i64 %rest, i1 true)
  %s.s = getelementptr inbounds i32, ptr %sources, i64 %s
  %s.source = load i32, ptr %s.s, align 4
  %s.source64 = zext i32 %s.source to i64
  %s.is_lane = icmp ult i64 %s.source64, SIZE
  %s.lane = select i1 %s.is_lane, i64 %s.source64, i64 %s
  %s.shifted = lshr i64 %lanes, %s.lane
  %s.is_there = trunc i64 %s.shifted to i1
  %s.from = select i1 %s.is_there, i64 %s.lane, i64 %s
  %s.w = getelementptr inbounds TYPE, ptr %words, i64 %s.from
  %s.word = load TYPE, ptr %s.w, align 4
  %s.r = getelementptr inbounds TYPE, ptr %results, i64 %s
  store TYPE %s.word, ptr %s.r, align 4
  %less = sub i64 %rest, 1
  %rest.next = and i64 %rest, %less
  %s.more = icmp ne i64 %rest.next, 0
  br i1 %s.more, label %some, label %done
done:
  ret void
}
";

pub(super) const BALLOT: &str =
    "define internal i64 @agpu.wave.ballot(ptr %conditions, i64 %lanes) #0 {
  %bytes = load <SIZE x i8>, ptr %conditions, align 1
  %bools = trunc <SIZE x i8> %bytes to <SIZE x i1>
  %bits = bitcast <SIZE x i1> %bools to iSIZE
  %wide = zext iSIZE %bits to i64
  %some = and i64 %wide, %lanes
  ret i64 %some
}
";

pub(super) const SPREAD: &str =
    "define internal void @agpu.wave.spread(ptr %results, i64 %lanes, i64 %value) #0 {
entry:
  br label %lane
lane:
  %rest = phi i64 [ %lanes, %entry ], [ %rest.next, %lane ]
  %s = call i64 @llvm.cttz.i64(i64 %rest, i1 true)
  %r = getelementptr inbounds i64, ptr %results, i64 %s
  store i64 %value, ptr %r, align 8
  %less = sub i64 %rest, 1
  %rest.next = and i64 %rest, %less
  %more = icmp ne i64 %rest.next, 0
  br i1 %more, label %lane, label %done
done:
  ret void
}
";

pub(super) const MATCH: &str = "define internal void @agpu.wave.match.TYPE(ptr noalias %words, ptr noalias %results, i64 %lanes) #0 {
entry:
  %all = load <SIZE x TYPE>, ptr %words, align 4
  br label %lane
lane:
  %rest = phi i64 [ %lanes, %entry ], [ %rest.next, %lane ]
  %s = call i64 @llvm.cttz.i64(i64 %rest, i1 true)
  %w = getelementptr inbounds TYPE, ptr %words, i64 %s
  %word = load TYPE, ptr %w, align 4
  %first = insertelement <SIZE x TYPE> poison, TYPE %word, i64 0
  %wanted = shufflevector <SIZE x TYPE> %first, <SIZE x TYPE> poison, <SIZE x i32> zeroinitializer
  %same = icmp eq <SIZE x TYPE> %all, %wanted
  %bits = bitcast <SIZE x i1> %same to iSIZE
  %wide = zext iSIZE %bits to i64
  %some = and i64 %wide, %lanes
  %r = getelementptr inbounds i64, ptr %results, i64 %s
  store i64 %some, ptr %r, align 8
  %less = sub i64 %rest, 1
  %rest.next = and i64 %rest, %less
  %more = icmp ne i64 %rest.next, 0
  br i1 %more, label %lane, label %done
done:
  ret void
}
";
