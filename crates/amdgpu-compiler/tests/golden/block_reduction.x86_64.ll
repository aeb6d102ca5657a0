source_filename = "block_reduction.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal i32 @block_reduction.region1(ptr noalias %p0, ptr noalias %p1, ptr %p2, i32 %p3, ptr %p4, ptr %p5, ptr %p6, i32 %block_size.x) alwaysinline #0 {
b0:
  %v5 = add i32 %block_size.x, 0
  %v6 = lshr i32 %v5, 1
  %v8 = icmp sgt i32 %v6, 0
  br i1 %v8, label %b3, label %b4
b3:
  store i32 %v6, ptr %p6, align 4, !llvm.access.group !0
  ret i32 3
b4:
  ret i32 4
}

define internal i32 @block_reduction.region2(ptr noalias %p0, ptr noalias %p1, ptr %p2, i32 %p3, ptr %p4, ptr %p5, i32 %p6, ptr %p7) alwaysinline #0 {
b0:
  %v8 = ashr i32 %p6, 1
  %v10 = icmp sgt i32 %v8, 0
  br i1 %v10, label %b3, label %b4
b3:
  store i32 %v8, ptr %p7, align 4, !llvm.access.group !0
  ret i32 3
b4:
  ret i32 4
}

define internal i32 @block_reduction.region3(ptr noalias %p0, ptr noalias %p1, ptr %p2, i32 %p3, ptr %p4, ptr %p5, i32 %p6, i32 %thread_index.x) alwaysinline #0 {
b0:
  %v6 = add i32 %thread_index.x, 0
  %v7 = sext i32 %v6 to i64
  %v8 = getelementptr inbounds i32, ptr %p4, i64 %v7
  %v10 = icmp slt i32 %v6, %p6
  br label %b2
b2:
  %v11 = load float, ptr %v8, align 4, !llvm.access.group !0
  %v12 = add i32 %v6, %p6
  %v13 = sext i32 %v12 to i64
  %v14 = getelementptr inbounds i32, ptr %p4, i64 %v13
  %v15 = load float, ptr %v14, align 4, !llvm.access.group !0
  %v16 = fadd float %v11, %v15
  store float %v16, ptr %v8, align 4, !llvm.access.group !0
  br label %b3
b3:
  ret i32 2
}

define internal i32 @block_reduction.region4(ptr noalias %p0, ptr noalias %p1, ptr %p2, i32 %p3, ptr %p4, ptr %p5, i32 %thread_index.x, i32 %block_index.x) alwaysinline #0 {
b0:
  %v8 = add i32 %thread_index.x, 0
  %v9 = add i32 %block_index.x, 0
  %v10 = icmp eq i32 %v8, 0
  %v11 = zext i32 %v9 to i64
  %v12 = getelementptr inbounds i32, ptr %p1, i64 %v11
  br label %b2
b2:
  %v13 = load float, ptr %p4, align 4, !llvm.access.group !0
  store float %v13, ptr %v12, align 4, !llvm.access.group !0
  %v15 = load float, ptr %p5, align 4
  %v15.s = fadd float %v15, %v13
  store float %v15.s, ptr %p5, align 4
  br label %b3
b3:
  ret i32 5
}

define internal i32 @block_reduction.region3.bound(ptr noalias %p0, ptr noalias %p1, ptr %p2, i32 %p3, ptr %p4, ptr %p5, i32 %p6, i32 %block_size.x) alwaysinline #0 {
b0:
  %v0 = add i32 %block_size.x, 0
  %v1 = zext i32 %v0 to i64
  %v3 = sext i32 0 to i64
  %v5 = sext i32 %p6 to i64
  %v7 = add i64 %v5, 0
  %v8 = sub i64 %v7, %v3
  %v10 = icmp slt i64 %v8, 0
  %v11 = select i1 %v10, i64 0, i64 %v8
  %v12 = icmp slt i64 %v11, %v1
  %v13 = select i1 %v12, i64 %v11, i64 %v1
  %v14 = add i64 %v3, %v1
  %v16 = icmp sgt i64 %v14, 2147483648
  %v17 = select i1 %v16, i64 %v1, i64 %v13
  %v18 = trunc i64 %v17 to i32
  ret i32 %v18
}

define internal i32 @block_reduction.region4.bound(ptr noalias %p0, ptr noalias %p1, ptr %p2, i32 %p3, ptr %p4, ptr %p5, i32 %block_size.x) alwaysinline #0 {
b0:
  %v0 = add i32 %block_size.x, 0
  %v1 = zext i32 %v0 to i64
  %v3 = sext i32 0 to i64
  %v5 = sext i32 0 to i64
  %v7 = add i64 %v5, 1
  %v8 = sub i64 %v7, %v3
  %v10 = icmp slt i64 %v8, 0
  %v11 = select i1 %v10, i64 0, i64 %v8
  %v12 = icmp slt i64 %v11, %v1
  %v13 = select i1 %v12, i64 %v11, i64 %v1
  %v14 = add i64 %v3, %v1
  %v16 = icmp sgt i64 %v14, 2147483648
  %v17 = select i1 %v16, i64 %v1, i64 %v13
  %v18 = trunc i64 %v17 to i32
  ret i32 %v18
}

define internal <8 x i32> @block_reduction.region0.lanes(ptr noalias %p0, ptr noalias %p1, ptr %p2, i32 %p3, ptr %p4, ptr %p5, i32 %thread_index.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %active) alwaysinline #0 {
entry:
  %m2 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m2, align 64
  %m3 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m3, align 64
  %pv19 = alloca <8 x float>, align 64
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  br label %b0
b0:
  %s8 = add i32 %thread_index.x, 0
  %v9 = add i32 %block_index.x, 0
  %v10 = add i32 %block_size.x, 0
  %v11 = mul i32 %v9, %v10
  %s12 = add i32 %v11, %s8
  %t1 = insertelement <8 x i32> poison, i32 %s12, i64 0
  %t2 = shufflevector <8 x i32> %t1, <8 x i32> poison, <8 x i32> zeroinitializer
  %t3 = add <8 x i32> %t2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t4 = insertelement <8 x i32> poison, i32 %p3, i64 0
  %t5 = shufflevector <8 x i32> %t4, <8 x i32> poison, <8 x i32> zeroinitializer
  %v13 = icmp slt <8 x i32> %t3, %t5
  %s14 = sext i32 %s12 to i64
  %s15 = getelementptr i32, ptr %p0, i64 %s14
  %s16 = sext i32 %s8 to i64
  %s17 = getelementptr i32, ptr %p4, i64 %s16
  %t6 = select <8 x i1> %active, <8 x i1> %v13, <8 x i1> zeroinitializer
  store <8 x i1> %t6, ptr %m2, align 64
  %t7 = xor <8 x i1> %v13, splat (i1 true)
  %t8 = select <8 x i1> %active, <8 x i1> %t7, <8 x i1> zeroinitializer
  store <8 x i1> %t8, ptr %m3, align 64
  br label %g2
g2:
  %t9 = load <8 x i1>, ptr %m2, align 64
  %t10 = bitcast <8 x i1> %t9 to i8
  %t11 = icmp ne i8 %t10, 0
  br i1 %t11, label %b2, label %b3
b2:
  %t12 = load <8 x i1>, ptr %m2, align 64
  %v18 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s15, <8 x i1> %t12, <8 x float> zeroinitializer)
  store <8 x float> %v18, ptr %pv19, align 64
  br label %b3
b3:
  %t13 = load <8 x i1>, ptr %m3, align 64
  %t14 = load <8 x float>, ptr %pv19, align 64
  %t15 = select <8 x i1> %t13, <8 x float> zeroinitializer, <8 x float> %t14
  store <8 x float> %t15, ptr %pv19, align 64
  br label %b4
b4:
  %v19 = load <8 x float>, ptr %pv19, align 64
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v19, ptr align 4 %s17, <8 x i1> %active)
  %t16 = load <8 x i32>, ptr %result, align 64
  %t17 = select <8 x i1> %active, <8 x i32> splat (i32 1), <8 x i32> %t16
  store <8 x i32> %t17, ptr %result, align 64
  br label %end
end:
  %t18 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t18
}

define internal <8 x i32> @block_reduction.region3.lanes(ptr noalias %p0, ptr noalias %p1, ptr %p2, i32 %p3, ptr %p4, ptr %p5, i32 %p6, i32 %thread_index.x, <8 x i1> %active) alwaysinline #0 {
entry:
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  br label %b0
b0:
  %s6 = add i32 %thread_index.x, 0
  %s7 = sext i32 %s6 to i64
  %s8 = getelementptr i32, ptr %p4, i64 %s7
  %t1 = insertelement <8 x i32> poison, i32 %s6, i64 0
  %t2 = shufflevector <8 x i32> %t1, <8 x i32> poison, <8 x i32> zeroinitializer
  %t3 = add <8 x i32> %t2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t4 = insertelement <8 x i32> poison, i32 %p6, i64 0
  %t5 = shufflevector <8 x i32> %t4, <8 x i32> poison, <8 x i32> zeroinitializer
  %v10 = icmp slt <8 x i32> %t3, %t5
  br label %b2
b2:
  %v11 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s8, <8 x i1> %active, <8 x float> zeroinitializer)
  %s12 = add i32 %s6, %p6
  %s13 = sext i32 %s12 to i64
  %s14 = getelementptr i32, ptr %p4, i64 %s13
  %v15 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s14, <8 x i1> %active, <8 x float> zeroinitializer)
  %v16 = fadd <8 x float> %v11, %v15
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v16, ptr align 4 %s8, <8 x i1> %active)
  br label %b3
b3:
  %t6 = load <8 x i32>, ptr %result, align 64
  %t7 = select <8 x i1> %active, <8 x i32> splat (i32 2), <8 x i32> %t6
  store <8 x i32> %t7, ptr %result, align 64
  br label %end
end:
  %t8 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t8
}

define internal <4 x i32> @block_reduction.region3.lanes4(ptr noalias %p0, ptr noalias %p1, ptr %p2, i32 %p3, ptr %p4, ptr %p5, i32 %p6, i32 %thread_index.x, <4 x i1> %active) alwaysinline #0 {
entry:
  %result = alloca <4 x i32>, align 64
  store <4 x i32> zeroinitializer, ptr %result, align 64
  br label %b0
b0:
  %s6 = add i32 %thread_index.x, 0
  %s7 = sext i32 %s6 to i64
  %s8 = getelementptr i32, ptr %p4, i64 %s7
  %t1 = insertelement <4 x i32> poison, i32 %s6, i64 0
  %t2 = shufflevector <4 x i32> %t1, <4 x i32> poison, <4 x i32> zeroinitializer
  %t3 = add <4 x i32> %t2, <i32 0, i32 1, i32 2, i32 3>
  %t4 = insertelement <4 x i32> poison, i32 %p6, i64 0
  %t5 = shufflevector <4 x i32> %t4, <4 x i32> poison, <4 x i32> zeroinitializer
  %v10 = icmp slt <4 x i32> %t3, %t5
  br label %b2
b2:
  %v11 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %s8, <4 x i1> %active, <4 x float> zeroinitializer)
  %s12 = add i32 %s6, %p6
  %s13 = sext i32 %s12 to i64
  %s14 = getelementptr i32, ptr %p4, i64 %s13
  %v15 = call <4 x float> @llvm.masked.load.v4f32.p0(ptr align 4 %s14, <4 x i1> %active, <4 x float> zeroinitializer)
  %v16 = fadd <4 x float> %v11, %v15
  call void @llvm.masked.store.v4f32.p0(<4 x float> %v16, ptr align 4 %s8, <4 x i1> %active)
  br label %b3
b3:
  %t6 = load <4 x i32>, ptr %result, align 64
  %t7 = select <4 x i1> %active, <4 x i32> splat (i32 2), <4 x i32> %t6
  store <4 x i32> %t7, ptr %result, align 64
  br label %end
end:
  %t8 = load <4 x i32>, ptr %result, align 64
  ret <4 x i32> %t8
}

define void @block_reduction(ptr noalias readonly %arguments, ptr noalias readonly %launch, i64 %begin, i64 %end) #0 {
entry:
  %grid_size.x.p = getelementptr inbounds i8, ptr %launch, i64 0
  %grid_size.x = load i32, ptr %grid_size.x.p, align 4
  %grid_size.y.p = getelementptr inbounds i8, ptr %launch, i64 4
  %grid_size.y = load i32, ptr %grid_size.y.p, align 4
  %grid_size.z.p = getelementptr inbounds i8, ptr %launch, i64 8
  %grid_size.z = load i32, ptr %grid_size.z.p, align 4
  %block_size.x.p = getelementptr inbounds i8, ptr %launch, i64 12
  %block_size.x = load i32, ptr %block_size.x.p, align 4
  %block_size.y.p = getelementptr inbounds i8, ptr %launch, i64 16
  %block_size.y = load i32, ptr %block_size.y.p, align 4
  %block_size.z.p = getelementptr inbounds i8, ptr %launch, i64 20
  %block_size.z = load i32, ptr %block_size.z.p, align 4
  %a0.p = getelementptr inbounds i8, ptr %arguments, i64 0
  %a0 = load ptr, ptr %a0.p, align 8
  %a1.p = getelementptr inbounds i8, ptr %arguments, i64 8
  %a1 = load ptr, ptr %a1.p, align 8
  %a2.p = getelementptr inbounds i8, ptr %arguments, i64 16
  %a2 = load ptr, ptr %a2.p, align 8
  %a3.p = getelementptr inbounds i8, ptr %arguments, i64 24
  %a3 = load i32, ptr %a3.p, align 4
  %scratch.p = getelementptr inbounds i8, ptr %launch, i64 24
  %scratch = load ptr, ptr %scratch.p, align 8
  %size.x = zext i32 %block_size.x to i64
  %size.y = zext i32 %block_size.y to i64
  %size.z = zext i32 %block_size.z to i64
  %size.xy = mul nuw nsw i64 %size.x, %size.y
  %items = mul nuw nsw i64 %size.xy, %size.z
  %items.up = add nuw nsw i64 %items, 63
  %stride = and i64 %items.up, -64
  %states.o = mul nuw nsw i64 %stride, 0
  %states = getelementptr inbounds i8, ptr %scratch, i64 %states.o
  %shared.o = mul nuw nsw i64 %stride, 4
  %shared = getelementptr inbounds i8, ptr %scratch, i64 %shared.o
  %sum0 = alloca float, align 8
  store float -0.0, ptr %sum0, align 8
  %u0 = alloca i32, align 8
  %next.u = alloca i32, align 4
  %some = icmp ult i64 %begin, %end
  br i1 %some, label %start, label %done
start:
  %grid.x64 = zext i32 %grid_size.x to i64
  %grid.y64 = zext i32 %grid_size.y to i64
  %first.x64 = urem i64 %begin, %grid.x64
  %rows = udiv i64 %begin, %grid.x64
  %first.y64 = urem i64 %rows, %grid.y64
  %first.z64 = udiv i64 %rows, %grid.y64
  %first.x = trunc i64 %first.x64 to i32
  %first.y = trunc i64 %first.y64 to i32
  %first.z = trunc i64 %first.z64 to i32
  br label %block
block:
  %linear = phi i64 [ %begin, %start ], [ %linear.next, %block.end ]
  %block_index.x = phi i32 [ %first.x, %start ], [ %block.x.next, %block.end ]
  %block_index.y = phi i32 [ %first.y, %start ], [ %block.y.next, %block.end ]
  %block_index.z = phi i32 [ %first.z, %start ], [ %block.z.next, %block.end ]
  store i32 zeroinitializer, ptr %u0, align 8
  br label %r0.begin
r0.begin:
  br label %r0.plane
r0.plane:
  %r0.z = phi i32 [ 0, %r0.begin ], [ %r0.z.next, %r0.plane.end ]
  %r0.plane.y = mul nuw nsw i32 %r0.z, %block_size.y
  br label %r0.row
r0.row:
  %r0.y = phi i32 [ 0, %r0.plane ], [ %r0.y.next, %r0.row.end ]
  %r0.zy = add nuw nsw i32 %r0.plane.y, %r0.y
  %r0.zy64 = zext nneg i32 %r0.zy to i64
  %r0.first = mul nuw nsw i64 %r0.zy64, %size.x
  br label %r0.item
r0.item:
  %r0.x = phi i32 [ 0, %r0.row ], [ %r0.x.next, %r0.latch ]
  %r0.x64 = zext nneg i32 %r0.x to i64
  %r0.i = add nuw nsw i64 %r0.first, %r0.x64
  %r0.rest = sub nuw i32 %block_size.x, %r0.x
  %r0.is.whole = icmp uge i32 %r0.rest, 8
  br i1 %r0.is.whole, label %r0.whole, label %r0.part
r0.whole:
  %r0.whole.next = call <8 x i32> @block_reduction.region0.lanes(ptr %a0, ptr %a1, ptr %a2, i32 %a3, ptr %shared, ptr %sum0, i32 %r0.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> splat (i1 true))
  br label %r0.both
r0.part:
  %r0.space = sub nuw i32 %block_size.x, %r0.x
  %r0.space.one = insertelement <8 x i32> poison, i32 %r0.space, i64 0
  %r0.space.all = shufflevector <8 x i32> %r0.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %r0.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %r0.space.all
  %r0.part.next = call <8 x i32> @block_reduction.region0.lanes(ptr %a0, ptr %a1, ptr %a2, i32 %a3, ptr %shared, ptr %sum0, i32 %r0.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %r0.active)
  br label %r0.both
r0.both:
  br label %r0.latch
r0.latch:
  %r0.x.next = add nuw nsw i32 %r0.x, 8
  %r0.x.more = icmp ult i32 %r0.x.next, %block_size.x
  br i1 %r0.x.more, label %r0.item, label %r0.row.end
r0.row.end:
  %r0.y.next = add nuw nsw i32 %r0.y, 1
  %r0.y.more = icmp ult i32 %r0.y.next, %block_size.y
  br i1 %r0.y.more, label %r0.row, label %r0.plane.end
r0.plane.end:
  %r0.z.next = add nuw nsw i32 %r0.z, 1
  %r0.z.more = icmp ult i32 %r0.z.next, %block_size.z
  br i1 %r0.z.more, label %r0.plane, label %r0.end
r0.end:
  br label %r1.begin
r1.begin:
  %r1.next = call i32 @block_reduction.region1(ptr %a0, ptr %a1, ptr %a2, i32 %a3, ptr %shared, ptr %sum0, ptr %u0, i32 %block_size.x)
  switch i32 %r1.next, label %block.end [ i32 3, label %r3.begin i32 4, label %r4.begin ]
r2.begin:
  %r2.u0 = load i32, ptr %u0, align 8
  %r2.next = call i32 @block_reduction.region2(ptr %a0, ptr %a1, ptr %a2, i32 %a3, ptr %shared, ptr %sum0, i32 %r2.u0, ptr %u0)
  switch i32 %r2.next, label %block.end [ i32 3, label %r3.begin i32 4, label %r4.begin ]
r3.begin:
  %r3.u0 = load i32, ptr %u0, align 8
  br label %r3.plane
r3.plane:
  %r3.z = phi i32 [ 0, %r3.begin ], [ %r3.z.next, %r3.plane.end ]
  %r3.plane.y = mul nuw nsw i32 %r3.z, %block_size.y
  br label %r3.row
r3.row:
  %r3.y = phi i32 [ 0, %r3.plane ], [ %r3.y.next, %r3.row.end ]
  %r3.zy = add nuw nsw i32 %r3.plane.y, %r3.y
  %r3.zy64 = zext nneg i32 %r3.zy to i64
  %r3.first = mul nuw nsw i64 %r3.zy64, %size.x
  %r3.count = call i32 @block_reduction.region3.bound(ptr %a0, ptr %a1, ptr %a2, i32 %a3, ptr %shared, ptr %sum0, i32 %r3.u0, i32 %block_size.x)
  %r3.some = icmp ne i32 %r3.count, 0
  br i1 %r3.some, label %r3.item, label %r3.row.end
r3.item:
  %r3.x = phi i32 [ 0, %r3.row ], [ %r3.x.next, %r3.latch ]
  %r3.x64 = zext nneg i32 %r3.x to i64
  %r3.i = add nuw nsw i64 %r3.first, %r3.x64
  %r3.rest = sub nuw i32 %r3.count, %r3.x
  %r3.is.whole = icmp uge i32 %r3.rest, 8
  br i1 %r3.is.whole, label %r3.whole, label %r3.part
r3.whole:
  %r3.whole.next = call <8 x i32> @block_reduction.region3.lanes(ptr %a0, ptr %a1, ptr %a2, i32 %a3, ptr %shared, ptr %sum0, i32 %r3.u0, i32 %r3.x, <8 x i1> splat (i1 true))
  br label %r3.both
r3.part:
  %r3.n4.bit = and i32 %r3.rest, 4
  %r3.n4.is = icmp ne i32 %r3.n4.bit, 0
  br i1 %r3.n4.is, label %r3.n4, label %r3.n4.end
r3.n4:
  %r3.n4.done = and i32 %r3.rest, 0
  %r3.n4.x = add nuw nsw i32 %r3.x, %r3.n4.done
  %r3.n4.x64 = zext nneg i32 %r3.n4.x to i64
  %r3.n4.i = add nuw nsw i64 %r3.first, %r3.n4.x64
  %r3.n4.next = call <4 x i32> @block_reduction.region3.lanes4(ptr %a0, ptr %a1, ptr %a2, i32 %a3, ptr %shared, ptr %sum0, i32 %r3.u0, i32 %r3.n4.x, <4 x i1> splat (i1 true))
  br label %r3.n4.end
r3.n4.end:
  %r3.o.done = and i32 %r3.rest, 4
  %r3.o.start = add nuw nsw i32 %r3.x, %r3.o.done
  %r3.o.some = icmp ult i32 %r3.o.start, %r3.count
  br i1 %r3.o.some, label %r3.o.enter, label %r3.both
r3.o.enter:
  br label %r3.o
r3.o:
  %r3.o.x = phi i32 [ %r3.o.start, %r3.o.enter ], [ %r3.o.x.next, %r3.o ]
  %r3.o.x64 = zext nneg i32 %r3.o.x to i64
  %r3.o.i = add nuw nsw i64 %r3.first, %r3.o.x64
  %r3.o.next = call i32 @block_reduction.region3(ptr %a0, ptr %a1, ptr %a2, i32 %a3, ptr %shared, ptr %sum0, i32 %r3.u0, i32 %r3.o.x)
  %r3.o.x.next = add nuw nsw i32 %r3.o.x, 1
  %r3.o.more = icmp ult i32 %r3.o.x.next, %r3.count
  br i1 %r3.o.more, label %r3.o, label %r3.both
r3.both:
  br label %r3.latch
r3.latch:
  %r3.x.next = add nuw nsw i32 %r3.x, 8
  %r3.x.more = icmp ult i32 %r3.x.next, %r3.count
  br i1 %r3.x.more, label %r3.item, label %r3.row.end
r3.row.end:
  %r3.y.next = add nuw nsw i32 %r3.y, 1
  %r3.y.more = icmp ult i32 %r3.y.next, %block_size.y
  br i1 %r3.y.more, label %r3.row, label %r3.plane.end
r3.plane.end:
  %r3.z.next = add nuw nsw i32 %r3.z, 1
  %r3.z.more = icmp ult i32 %r3.z.next, %block_size.z
  br i1 %r3.z.more, label %r3.plane, label %r3.end
r3.end:
  br label %r2.begin
r4.begin:
  br label %r4.plane
r4.plane:
  %r4.z = phi i32 [ 0, %r4.begin ], [ %r4.z.next, %r4.plane.end ]
  %r4.plane.y = mul nuw nsw i32 %r4.z, %block_size.y
  br label %r4.row
r4.row:
  %r4.y = phi i32 [ 0, %r4.plane ], [ %r4.y.next, %r4.row.end ]
  %r4.zy = add nuw nsw i32 %r4.plane.y, %r4.y
  %r4.zy64 = zext nneg i32 %r4.zy to i64
  %r4.first = mul nuw nsw i64 %r4.zy64, %size.x
  %r4.count = call i32 @block_reduction.region4.bound(ptr %a0, ptr %a1, ptr %a2, i32 %a3, ptr %shared, ptr %sum0, i32 %block_size.x)
  %r4.some = icmp ne i32 %r4.count, 0
  br i1 %r4.some, label %r4.item, label %r4.row.end
r4.item:
  %r4.x = phi i32 [ 0, %r4.row ], [ %r4.x.next, %r4.latch ]
  %r4.x64 = zext nneg i32 %r4.x to i64
  %r4.i = add nuw nsw i64 %r4.first, %r4.x64
  %r4.next = call i32 @block_reduction.region4(ptr %a0, ptr %a1, ptr %a2, i32 %a3, ptr %shared, ptr %sum0, i32 %r4.x, i32 %block_index.x)
  br label %r4.latch
r4.latch:
  %r4.x.next = add nuw nsw i32 %r4.x, 1
  %r4.x.more = icmp ult i32 %r4.x.next, %r4.count
  br i1 %r4.x.more, label %r4.item, label %r4.row.end
r4.row.end:
  %r4.y.next = add nuw nsw i32 %r4.y, 1
  %r4.y.more = icmp ult i32 %r4.y.next, %block_size.y
  br i1 %r4.y.more, label %r4.row, label %r4.plane.end
r4.plane.end:
  %r4.z.next = add nuw nsw i32 %r4.z, 1
  %r4.z.more = icmp ult i32 %r4.z.next, %block_size.z
  br i1 %r4.z.more, label %r4.plane, label %r4.end
r4.end:
  br label %block.end
block.end:
  %linear.next = add nuw i64 %linear, 1
  %block.x.plus = add nuw i32 %block_index.x, 1
  %x.wraps = icmp eq i32 %block.x.plus, %grid_size.x
  %block.x.next = select i1 %x.wraps, i32 0, i32 %block.x.plus
  %carry.y = zext i1 %x.wraps to i32
  %block.y.plus = add nuw i32 %block_index.y, %carry.y
  %y.wraps = icmp eq i32 %block.y.plus, %grid_size.y
  %block.y.next = select i1 %y.wraps, i32 0, i32 %block.y.plus
  %carry.z = zext i1 %y.wraps to i32
  %block.z.next = add nuw i32 %block_index.z, %carry.z
  %more = icmp ult i64 %linear.next, %end
  br i1 %more, label %block, label %done
done:
  %sum0.bits = load i32, ptr %sum0, align 8
  %sum0.is = icmp ne i32 %sum0.bits, 2147483648
  br i1 %sum0.is, label %sum0.add, label %sum0.end
sum0.add:
  %sum0.all = load float, ptr %sum0, align 8
  %sum0.old = atomicrmw fadd ptr %a2, float %sum0.all monotonic
  br label %sum0.end
sum0.end:
  ret void
}

declare <4 x float> @llvm.masked.load.v4f32.p0(ptr, <4 x i1>, <4 x float>)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v4f32.p0(<4 x float>, ptr, <4 x i1>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
