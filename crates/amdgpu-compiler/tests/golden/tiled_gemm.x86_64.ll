source_filename = "tiled_gemm.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal i32 @tiled_gemm.region0(ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i32 %p3, i32 %p4, i32 %p5, ptr %p6, ptr %p7, ptr %p8, i32 %p9, ptr %p10, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v13 = alloca [4 x i8], align 4
  %v14 = alloca [4 x i8], align 4
  %v15 = alloca [4 x i8], align 4
  %v19 = getelementptr inbounds i8, ptr %p6, i64 0
  %v20 = getelementptr inbounds i8, ptr %p6, i64 1024
  %v21 = add i32 %thread_index.x, 0
  %v22 = add i32 %thread_index.y, 0
  %v23 = add i32 %block_index.y, 0
  %v24 = mul i32 %v23, 16
  %v25 = add i32 %v24, %v22
  %v26 = add i32 %block_index.x, 0
  %v27 = mul i32 %v26, 16
  %v28 = add i32 %v27, %v21
  %v29 = icmp slt i32 %v25, %p3
  %v30 = mul i32 %v25, %p5
  %v31 = sext i32 %v22 to i64
  %v32 = getelementptr inbounds [64 x i8], ptr %v19, i64 %v31
  %v33 = sext i32 %v21 to i64
  %v34 = getelementptr inbounds i32, ptr %v32, i64 %v33
  %v35 = icmp slt i32 %v28, %p4
  %v36 = getelementptr inbounds [64 x i8], ptr %v20, i64 %v31
  %v37 = getelementptr inbounds i32, ptr %v36, i64 %v33
  %v38 = icmp slt i32 %v25, %p3
  %v39 = icmp slt i32 %v28, %p4
  %v40 = and i1 %v38, %v39
  %v41 = mul i32 %v25, %p4
  %v42 = add i32 %v41, %v28
  %v43 = sext i32 %v42 to i64
  %v44 = getelementptr inbounds i32, ptr %p2, i64 %v43
  br label %b1
b1:
  br label %b2
b2:
  %v45 = phi float [ 0x0000000000000000, %b1 ]
  %v46 = phi i32 [ 0, %b1 ]
  store float %v45, ptr %v15, align 4
  store i32 %v46, ptr %v13, align 4
  %v71 = load i32, ptr %v13, align 4
  %v47 = icmp slt i32 %v71, %p5
  br i1 %v47, label %b3, label %b10
b3:
  %v72 = load i32, ptr %v13, align 4
  %v48 = add i32 %v72, %v21
  %v49 = icmp slt i32 %v48, %p5
  %v50 = and i1 %v29, %v49
  br i1 %v50, label %b4, label %b5
b4:
  %v73 = load i32, ptr %v13, align 4
  %v51 = add i32 %v30, %v73
  %v52 = add i32 %v51, %v21
  %v53 = sext i32 %v52 to i64
  %v54 = getelementptr inbounds i32, ptr %p0, i64 %v53
  %v55 = load float, ptr %v54, align 4, !llvm.access.group !0
  br label %b6
b5:
  br label %b6
b6:
  %v56 = phi float [ %v55, %b4 ], [ 0x0000000000000000, %b5 ]
  store float %v56, ptr %v34, align 4, !llvm.access.group !0
  %v74 = load i32, ptr %v13, align 4
  %v58 = add i32 %v74, %v22
  %v59 = icmp slt i32 %v58, %p5
  %v60 = and i1 %v59, %v35
  br i1 %v60, label %b7, label %b8
b7:
  %v61 = mul i32 %v58, %p4
  %v62 = add i32 %v61, %v28
  %v63 = sext i32 %v62 to i64
  %v64 = getelementptr inbounds i32, ptr %p1, i64 %v63
  %v65 = load float, ptr %v64, align 4, !llvm.access.group !0
  br label %b9
b8:
  br label %b9
b9:
  %v66 = phi float [ %v65, %b7 ], [ 0x0000000000000000, %b8 ]
  store float %v66, ptr %v37, align 4, !llvm.access.group !0
  %v75 = load i32, ptr %v13, align 4
  store i32 %v75, ptr %p10, align 4, !llvm.access.group !0
  %v77 = load float, ptr %v15, align 4
  store float %v77, ptr %p7, align 4, !llvm.access.group !0
  ret i32 1
b10:
  br i1 %v40, label %b11, label %b12
b11:
  %v80 = load float, ptr %v15, align 4
  store float %v80, ptr %v44, align 4, !llvm.access.group !0
  br label %b12
b12:
  ret i32 3
}

define internal i32 @tiled_gemm.region1(ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i32 %p3, i32 %p4, i32 %p5, ptr %p6, ptr %p7, ptr %p8, i32 %p9, ptr %p10, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v6 = alloca [4 x i8], align 4
  %v8 = alloca [4 x i8], align 4
  %v12 = getelementptr inbounds i8, ptr %p6, i64 0
  %v13 = getelementptr inbounds i8, ptr %p6, i64 1024
  %v14 = add i32 %thread_index.x, 0
  %v15 = add i32 %thread_index.y, 0
  %v16 = sext i32 %v15 to i64
  %v17 = sext i32 %v14 to i64
  %v18 = getelementptr inbounds [64 x i8], ptr %v12, i64 %v16
  %v19 = load float, ptr %p7, align 4, !llvm.access.group !0
  store float %v19, ptr %v8, align 4
  br label %b1
b1:
  %v37 = load float, ptr %v8, align 4
  br label %b2
b2:
  %v21 = phi float [ %v37, %b1 ], [ %v30, %b4 ]
  %v22 = phi i32 [ 0, %b1 ], [ %v31, %b4 ]
  store float %v21, ptr %v6, align 4
  %v23 = icmp slt i32 %v22, 16
  br i1 %v23, label %b3, label %b5
b3:
  %v24 = sext i32 %v22 to i64
  %v25 = getelementptr inbounds i32, ptr %v18, i64 %v24
  %v26 = load float, ptr %v25, align 4, !llvm.access.group !0
  %v27 = getelementptr inbounds [64 x i8], ptr %v13, i64 %v24
  %v28 = getelementptr inbounds i32, ptr %v27, i64 %v17
  %v29 = load float, ptr %v28, align 4, !llvm.access.group !0
  %v33 = load float, ptr %v6, align 4
  %v30 = call float @llvm.fma.f32(float %v26, float %v29, float %v33)
  br label %b4
b4:
  %v31 = add i32 %v22, 1
  br label %b2
b5:
  %v34 = load float, ptr %v6, align 4
  store float %v34, ptr %p8, align 4, !llvm.access.group !0
  ret i32 2
}

define internal i32 @tiled_gemm.region2(ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i32 %p3, i32 %p4, i32 %p5, ptr %p6, ptr %p7, ptr %p8, i32 %p9, ptr %p10, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v13 = alloca [4 x i8], align 4
  %v14 = alloca [4 x i8], align 4
  %v15 = alloca [4 x i8], align 4
  %v19 = getelementptr inbounds i8, ptr %p6, i64 0
  %v20 = getelementptr inbounds i8, ptr %p6, i64 1024
  %v21 = add i32 %thread_index.x, 0
  %v22 = add i32 %thread_index.y, 0
  %v23 = add i32 %block_index.y, 0
  %v24 = mul i32 %v23, 16
  %v25 = add i32 %v24, %v22
  %v26 = add i32 %block_index.x, 0
  %v27 = mul i32 %v26, 16
  %v28 = add i32 %v27, %v21
  %v29 = icmp slt i32 %v25, %p3
  %v30 = mul i32 %v25, %p5
  %v31 = sext i32 %v22 to i64
  %v32 = getelementptr inbounds [64 x i8], ptr %v19, i64 %v31
  %v33 = sext i32 %v21 to i64
  %v34 = getelementptr inbounds i32, ptr %v32, i64 %v33
  %v35 = icmp slt i32 %v28, %p4
  %v36 = getelementptr inbounds [64 x i8], ptr %v20, i64 %v31
  %v37 = getelementptr inbounds i32, ptr %v36, i64 %v33
  %v38 = icmp slt i32 %v25, %p3
  %v39 = icmp slt i32 %v28, %p4
  %v40 = and i1 %v38, %v39
  %v41 = mul i32 %v25, %p4
  %v42 = add i32 %v41, %v28
  %v43 = sext i32 %v42 to i64
  %v44 = getelementptr inbounds i32, ptr %p2, i64 %v43
  store i32 %p9, ptr %v13, align 4
  %v46 = load float, ptr %p8, align 4, !llvm.access.group !0
  store float %v46, ptr %v14, align 4
  br label %b1
b1:
  br label %b10
b2:
  %v48 = phi float [ %v87, %b10 ]
  %v49 = phi i32 [ %v71, %b10 ]
  store float %v48, ptr %v15, align 4
  store i32 %v49, ptr %v13, align 4
  %v75 = load i32, ptr %v13, align 4
  %v50 = icmp slt i32 %v75, %p5
  br i1 %v50, label %b3, label %b11
b3:
  %v76 = load i32, ptr %v13, align 4
  %v51 = add i32 %v76, %v21
  %v52 = icmp slt i32 %v51, %p5
  %v53 = and i1 %v29, %v52
  br i1 %v53, label %b4, label %b5
b4:
  %v77 = load i32, ptr %v13, align 4
  %v54 = add i32 %v30, %v77
  %v55 = add i32 %v54, %v21
  %v56 = sext i32 %v55 to i64
  %v57 = getelementptr inbounds i32, ptr %p0, i64 %v56
  %v58 = load float, ptr %v57, align 4, !llvm.access.group !0
  br label %b6
b5:
  br label %b6
b6:
  %v59 = phi float [ %v58, %b4 ], [ 0x0000000000000000, %b5 ]
  store float %v59, ptr %v34, align 4, !llvm.access.group !0
  %v78 = load i32, ptr %v13, align 4
  %v61 = add i32 %v78, %v22
  %v62 = icmp slt i32 %v61, %p5
  %v63 = and i1 %v62, %v35
  br i1 %v63, label %b7, label %b8
b7:
  %v64 = mul i32 %v61, %p4
  %v65 = add i32 %v64, %v28
  %v66 = sext i32 %v65 to i64
  %v67 = getelementptr inbounds i32, ptr %p1, i64 %v66
  %v68 = load float, ptr %v67, align 4, !llvm.access.group !0
  br label %b9
b8:
  br label %b9
b9:
  %v69 = phi float [ %v68, %b7 ], [ 0x0000000000000000, %b8 ]
  store float %v69, ptr %v37, align 4, !llvm.access.group !0
  %v79 = load i32, ptr %v13, align 4
  store i32 %v79, ptr %p10, align 4, !llvm.access.group !0
  %v81 = load float, ptr %v15, align 4
  store float %v81, ptr %p7, align 4, !llvm.access.group !0
  ret i32 1
b10:
  %v84 = load i32, ptr %v13, align 4
  %v71 = add i32 %v84, 16
  %v87 = load float, ptr %v14, align 4
  br label %b2
b11:
  br i1 %v40, label %b12, label %b13
b12:
  %v85 = load float, ptr %v15, align 4
  store float %v85, ptr %v44, align 4, !llvm.access.group !0
  br label %b13
b13:
  ret i32 3
}

define void @tiled_gemm(ptr noalias readonly %arguments, ptr noalias readonly %launch, i64 %begin, i64 %end) #0 {
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
  %a4.p = getelementptr inbounds i8, ptr %arguments, i64 28
  %a4 = load i32, ptr %a4.p, align 4
  %a5.p = getelementptr inbounds i8, ptr %arguments, i64 32
  %a5 = load i32, ptr %a5.p, align 4
  %scratch.p = getelementptr inbounds i8, ptr %launch, i64 24
  %scratch = load ptr, ptr %scratch.p, align 8
  %size.x = zext i32 %block_size.x to i64
  %size.y = zext i32 %block_size.y to i64
  %size.z = zext i32 %block_size.z to i64
  %size.xy = mul nuw nsw i64 %size.x, %size.y
  %items = mul nuw nsw i64 %size.xy, %size.z
  %items.up = add nuw nsw i64 %items, 63
  %stride = and i64 %items.up, -64
  %c0.o = mul nuw nsw i64 %stride, 0
  %c0 = getelementptr inbounds i8, ptr %scratch, i64 %c0.o
  %c1.o = mul nuw nsw i64 %stride, 4
  %c1 = getelementptr inbounds i8, ptr %scratch, i64 %c1.o
  %states.o = mul nuw nsw i64 %stride, 8
  %states = getelementptr inbounds i8, ptr %scratch, i64 %states.o
  %shared.o = mul nuw nsw i64 %stride, 12
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
  %state = phi i32 [ 0, %block ], [ %r0.state, %r0.end ], [ 2, %r1.end ], [ %r2.state, %r2.end ]
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
  %r0.c0 = getelementptr inbounds [4 x i8], ptr %c0, i64 %r0.i
  %r0.c1 = getelementptr inbounds [4 x i8], ptr %c1, i64 %r0.i
  %r0.next = call i32 @tiled_gemm.region0(ptr %a0, ptr %a1, ptr %a2, i32 %a3, i32 %a4, i32 %a5, ptr %shared, ptr %r0.c0, ptr %r0.c1, i32 %r0.u0, ptr %u0, i32 %r0.x, i32 %r0.y, i32 %r0.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
  store i32 %r0.next, ptr %next.u, align 4, !llvm.access.group !0
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
  %r0.state = load i32, ptr %next.u, align 4
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
  %r1.c0 = getelementptr inbounds [4 x i8], ptr %c0, i64 %r1.i
  %r1.c1 = getelementptr inbounds [4 x i8], ptr %c1, i64 %r1.i
  %r1.next = call i32 @tiled_gemm.region1(ptr %a0, ptr %a1, ptr %a2, i32 %a3, i32 %a4, i32 %a5, ptr %shared, ptr %r1.c0, ptr %r1.c1, i32 %r1.u0, ptr %u0, i32 %r1.x, i32 %r1.y, i32 %r1.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
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
  %r2.c0 = getelementptr inbounds [4 x i8], ptr %c0, i64 %r2.i
  %r2.c1 = getelementptr inbounds [4 x i8], ptr %c1, i64 %r2.i
  %r2.next = call i32 @tiled_gemm.region2(ptr %a0, ptr %a1, ptr %a2, i32 %a3, i32 %a4, i32 %a5, ptr %shared, ptr %r2.c0, ptr %r2.c1, i32 %r2.u0, ptr %u0, i32 %r2.x, i32 %r2.y, i32 %r2.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
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

declare float @llvm.fma.f32(float, float, float) #1
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
