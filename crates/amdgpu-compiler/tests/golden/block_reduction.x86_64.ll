source_filename = "block_reduction.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal i32 @block_reduction.region0(ptr noalias %p0, ptr noalias %p1, ptr %p2, i32 %p3, ptr %p4, i32 %p5, ptr %p6, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v7 = getelementptr inbounds i8, ptr %p4, i64 0
  %v8 = add i32 %thread_index.x, 0
  %v9 = add i32 %block_index.x, 0
  %v10 = add i32 %block_size.x, 0
  %v11 = mul i32 %v9, %v10
  %v12 = add i32 %v11, %v8
  %v13 = icmp slt i32 %v12, %p3
  %v14 = sext i32 %v12 to i64
  %v15 = getelementptr inbounds i32, ptr %p0, i64 %v14
  %v16 = sext i32 %v8 to i64
  %v17 = getelementptr inbounds i32, ptr %v7, i64 %v16
  br label %b1
b1:
  br i1 %v13, label %b2, label %b3
b2:
  %v18 = load float, ptr %v15, align 4, !llvm.access.group !0
  br label %b4
b3:
  br label %b4
b4:
  %v19 = phi float [ %v18, %b2 ], [ 0x0000000000000000, %b3 ]
  store float %v19, ptr %v17, align 4, !llvm.access.group !0
  ret i32 1
}

define internal i32 @block_reduction.region1(ptr noalias %p0, ptr noalias %p1, ptr %p2, i32 %p3, ptr %p4, i32 %p5, ptr %p6, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v4 = alloca [4 x i8], align 4
  %v9 = getelementptr inbounds i8, ptr %p4, i64 0
  %v11 = add i32 %thread_index.x, 0
  %v12 = add i32 %block_index.x, 0
  %v13 = add i32 %block_size.x, 0
  %v14 = sext i32 %v11 to i64
  %v15 = getelementptr inbounds i32, ptr %v9, i64 %v14
  %v16 = lshr i32 %v13, 1
  %v17 = icmp eq i32 %v11, 0
  %v18 = zext i32 %v12 to i64
  %v19 = getelementptr inbounds i32, ptr %p1, i64 %v18
  br label %b1
b1:
  br label %b2
b2:
  %v20 = phi i32 [ %v16, %b1 ]
  store i32 %v20, ptr %v4, align 4
  %v34 = load i32, ptr %v4, align 4
  %v21 = icmp sgt i32 %v34, 0
  br i1 %v21, label %b3, label %b6
b3:
  %v35 = load i32, ptr %v4, align 4
  %v22 = icmp slt i32 %v11, %v35
  br i1 %v22, label %b4, label %b5
b4:
  %v23 = load float, ptr %v15, align 4, !llvm.access.group !0
  %v36 = load i32, ptr %v4, align 4
  %v24 = add i32 %v11, %v36
  %v25 = sext i32 %v24 to i64
  %v26 = getelementptr inbounds i32, ptr %v9, i64 %v25
  %v27 = load float, ptr %v26, align 4, !llvm.access.group !0
  %v28 = fadd float %v23, %v27
  store float %v28, ptr %v15, align 4, !llvm.access.group !0
  br label %b5
b5:
  %v37 = load i32, ptr %v4, align 4
  store i32 %v37, ptr %p6, align 4, !llvm.access.group !0
  ret i32 2
b6:
  br i1 %v17, label %b7, label %b8
b7:
  %v30 = load float, ptr %v9, align 4, !llvm.access.group !0
  store float %v30, ptr %v19, align 4, !llvm.access.group !0
  %v32 = atomicrmw fadd ptr %p2, float %v30 monotonic
  br label %b8
b8:
  ret i32 3
}

define internal i32 @block_reduction.region2(ptr noalias %p0, ptr noalias %p1, ptr %p2, i32 %p3, ptr %p4, i32 %p5, ptr %p6, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v4 = alloca [4 x i8], align 4
  %v9 = getelementptr inbounds i8, ptr %p4, i64 0
  %v11 = add i32 %thread_index.x, 0
  %v12 = add i32 %block_index.x, 0
  %v13 = add i32 %block_size.x, 0
  %v14 = sext i32 %v11 to i64
  %v15 = getelementptr inbounds i32, ptr %v9, i64 %v14
  %v16 = lshr i32 %v13, 1
  %v17 = icmp eq i32 %v11, 0
  %v18 = zext i32 %v12 to i64
  %v19 = getelementptr inbounds i32, ptr %p1, i64 %v18
  store i32 %p5, ptr %v4, align 4
  br label %b1
b1:
  %v35 = load i32, ptr %v4, align 4
  %v21 = ashr i32 %v35, 1
  br label %b2
b2:
  %v22 = phi i32 [ %v21, %b1 ]
  store i32 %v22, ptr %v4, align 4
  %v37 = load i32, ptr %v4, align 4
  %v23 = icmp sgt i32 %v37, 0
  br i1 %v23, label %b3, label %b6
b3:
  %v38 = load i32, ptr %v4, align 4
  %v24 = icmp slt i32 %v11, %v38
  br i1 %v24, label %b4, label %b5
b4:
  %v25 = load float, ptr %v15, align 4, !llvm.access.group !0
  %v39 = load i32, ptr %v4, align 4
  %v26 = add i32 %v11, %v39
  %v27 = sext i32 %v26 to i64
  %v28 = getelementptr inbounds i32, ptr %v9, i64 %v27
  %v29 = load float, ptr %v28, align 4, !llvm.access.group !0
  %v30 = fadd float %v25, %v29
  store float %v30, ptr %v15, align 4, !llvm.access.group !0
  br label %b5
b5:
  %v40 = load i32, ptr %v4, align 4
  store i32 %v40, ptr %p6, align 4, !llvm.access.group !0
  ret i32 2
b6:
  br i1 %v17, label %b7, label %b8
b7:
  %v32 = load float, ptr %v9, align 4, !llvm.access.group !0
  store float %v32, ptr %v19, align 4, !llvm.access.group !0
  %v34 = atomicrmw fadd ptr %p2, float %v32 monotonic
  br label %b8
b8:
  ret i32 3
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
  %u0 = alloca i32, align 8
  store i32 zeroinitializer, ptr %u0, align 8
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
  br label %dispatch
dispatch:
  %state = phi i32 [ 0, %block ], [ 1, %r0.end ], [ %r1.state, %r1.end ], [ %r2.state, %r2.end ]
  switch i32 %state, label %block.end [ i32 0, label %r0.begin i32 1, label %r1.begin i32 2, label %r2.begin ]
r0.begin:
  %r0.u0 = load i32, ptr %u0, align 8
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
  %r0.x = phi i32 [ 0, %r0.row ], [ %r0.x.next, %r0.item ]
  %r0.x64 = zext nneg i32 %r0.x to i64
  %r0.i = add nuw nsw i64 %r0.first, %r0.x64
  %r0.next = call i32 @block_reduction.region0(ptr %a0, ptr %a1, ptr %a2, i32 %a3, ptr %shared, i32 %r0.u0, ptr %u0, i32 %r0.x, i32 %r0.y, i32 %r0.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
  %r0.x.next = add nuw nsw i32 %r0.x, 1
  %r0.x.more = icmp ult i32 %r0.x.next, %block_size.x
  br i1 %r0.x.more, label %r0.item, label %r0.row.end, !llvm.loop !1
r0.row.end:
  %r0.y.next = add nuw nsw i32 %r0.y, 1
  %r0.y.more = icmp ult i32 %r0.y.next, %block_size.y
  br i1 %r0.y.more, label %r0.row, label %r0.plane.end
r0.plane.end:
  %r0.z.next = add nuw nsw i32 %r0.z, 1
  %r0.z.more = icmp ult i32 %r0.z.next, %block_size.z
  br i1 %r0.z.more, label %r0.plane, label %r0.end
r0.end:
  br label %dispatch
r1.begin:
  %r1.u0 = load i32, ptr %u0, align 8
  br label %r1.plane
r1.plane:
  %r1.z = phi i32 [ 0, %r1.begin ], [ %r1.z.next, %r1.plane.end ]
  %r1.plane.y = mul nuw nsw i32 %r1.z, %block_size.y
  br label %r1.row
r1.row:
  %r1.y = phi i32 [ 0, %r1.plane ], [ %r1.y.next, %r1.row.end ]
  %r1.zy = add nuw nsw i32 %r1.plane.y, %r1.y
  %r1.zy64 = zext nneg i32 %r1.zy to i64
  %r1.first = mul nuw nsw i64 %r1.zy64, %size.x
  br label %r1.item
r1.item:
  %r1.x = phi i32 [ 0, %r1.row ], [ %r1.x.next, %r1.item ]
  %r1.x64 = zext nneg i32 %r1.x to i64
  %r1.i = add nuw nsw i64 %r1.first, %r1.x64
  %r1.next = call i32 @block_reduction.region1(ptr %a0, ptr %a1, ptr %a2, i32 %a3, ptr %shared, i32 %r1.u0, ptr %u0, i32 %r1.x, i32 %r1.y, i32 %r1.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
  store i32 %r1.next, ptr %next.u, align 4, !llvm.access.group !0
  %r1.x.next = add nuw nsw i32 %r1.x, 1
  %r1.x.more = icmp ult i32 %r1.x.next, %block_size.x
  br i1 %r1.x.more, label %r1.item, label %r1.row.end, !llvm.loop !3
r1.row.end:
  %r1.y.next = add nuw nsw i32 %r1.y, 1
  %r1.y.more = icmp ult i32 %r1.y.next, %block_size.y
  br i1 %r1.y.more, label %r1.row, label %r1.plane.end
r1.plane.end:
  %r1.z.next = add nuw nsw i32 %r1.z, 1
  %r1.z.more = icmp ult i32 %r1.z.next, %block_size.z
  br i1 %r1.z.more, label %r1.plane, label %r1.end
r1.end:
  %r1.state = load i32, ptr %next.u, align 4
  br label %dispatch
r2.begin:
  %r2.u0 = load i32, ptr %u0, align 8
  br label %r2.plane
r2.plane:
  %r2.z = phi i32 [ 0, %r2.begin ], [ %r2.z.next, %r2.plane.end ]
  %r2.plane.y = mul nuw nsw i32 %r2.z, %block_size.y
  br label %r2.row
r2.row:
  %r2.y = phi i32 [ 0, %r2.plane ], [ %r2.y.next, %r2.row.end ]
  %r2.zy = add nuw nsw i32 %r2.plane.y, %r2.y
  %r2.zy64 = zext nneg i32 %r2.zy to i64
  %r2.first = mul nuw nsw i64 %r2.zy64, %size.x
  br label %r2.item
r2.item:
  %r2.x = phi i32 [ 0, %r2.row ], [ %r2.x.next, %r2.item ]
  %r2.x64 = zext nneg i32 %r2.x to i64
  %r2.i = add nuw nsw i64 %r2.first, %r2.x64
  %r2.next = call i32 @block_reduction.region2(ptr %a0, ptr %a1, ptr %a2, i32 %a3, ptr %shared, i32 %r2.u0, ptr %u0, i32 %r2.x, i32 %r2.y, i32 %r2.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
  store i32 %r2.next, ptr %next.u, align 4, !llvm.access.group !0
  %r2.x.next = add nuw nsw i32 %r2.x, 1
  %r2.x.more = icmp ult i32 %r2.x.next, %block_size.x
  br i1 %r2.x.more, label %r2.item, label %r2.row.end, !llvm.loop !5
r2.row.end:
  %r2.y.next = add nuw nsw i32 %r2.y, 1
  %r2.y.more = icmp ult i32 %r2.y.next, %block_size.y
  br i1 %r2.y.more, label %r2.row, label %r2.plane.end
r2.plane.end:
  %r2.z.next = add nuw nsw i32 %r2.z, 1
  %r2.z.more = icmp ult i32 %r2.z.next, %block_size.z
  br i1 %r2.z.more, label %r2.plane, label %r2.end
r2.end:
  %r2.state = load i32, ptr %next.u, align 4
  br label %dispatch
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
  ret void
}

!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.parallel_accesses", !0}

!3 = distinct !{!3, !4}
!4 = !{!"llvm.loop.parallel_accesses", !0}

!5 = distinct !{!5, !6}
!6 = !{!"llvm.loop.parallel_accesses", !0}

attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
