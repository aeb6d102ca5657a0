source_filename = "tiled_gemm.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal i32 @tiled_gemm.region0(ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i32 %p3, i32 %p4, i32 %p5, ptr %p6, ptr %p7, i32 %p8, ptr %p9, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v11 = alloca [4 x i8], align 4
  %v12 = alloca [4 x i8], align 4
  %v13 = alloca [4 x i8], align 4
  %v18 = getelementptr inbounds i8, ptr %p6, i64 0
  %v19 = getelementptr inbounds i8, ptr %p6, i64 1024
  %v20 = add i32 %thread_index.x, 0
  %v21 = add i32 %thread_index.y, 0
  %v22 = add i32 %block_index.y, 0
  %v23 = shl i32 %v22, 4
  %v24 = add i32 %v23, %v21
  %v25 = add i32 %block_index.x, 0
  %v26 = shl i32 %v25, 4
  %v27 = add i32 %v26, %v20
  %v28 = icmp slt i32 %v24, %p3
  %v29 = mul i32 %v24, %p5
  %v30 = sext i32 %v21 to i64
  %v31 = getelementptr inbounds [64 x i8], ptr %v18, i64 %v30
  %v32 = sext i32 %v20 to i64
  %v33 = getelementptr inbounds i32, ptr %v31, i64 %v32
  %v34 = icmp slt i32 %v27, %p4
  %v35 = getelementptr inbounds [64 x i8], ptr %v19, i64 %v30
  %v36 = getelementptr inbounds i32, ptr %v35, i64 %v32
  %v37 = and i1 %v28, %v34
  %v38 = mul i32 %v24, %p4
  %v39 = add i32 %v38, %v27
  %v40 = sext i32 %v39 to i64
  %v41 = getelementptr inbounds i32, ptr %p2, i64 %v40
  br label %b1
b1:
  br label %b2
b2:
  %v42 = phi float [ 0x0000000000000000, %b1 ]
  %v43 = phi i32 [ 0, %b1 ]
  store float %v42, ptr %v12, align 4
  store i32 %v43, ptr %v11, align 4
  %v68 = load i32, ptr %v11, align 4
  %v44 = icmp slt i32 %v68, %p5
  br i1 %v44, label %b3, label %b10
b3:
  %v69 = load i32, ptr %v11, align 4
  %v45 = add i32 %v69, %v20
  %v46 = icmp slt i32 %v45, %p5
  %v47 = and i1 %v28, %v46
  br i1 %v47, label %b4, label %b5
b4:
  %v70 = load i32, ptr %v11, align 4
  %v48 = add i32 %v29, %v70
  %v49 = add i32 %v48, %v20
  %v50 = sext i32 %v49 to i64
  %v51 = getelementptr inbounds i32, ptr %p0, i64 %v50
  %v52 = load float, ptr %v51, align 4, !llvm.access.group !0
  br label %b6
b5:
  br label %b6
b6:
  %v53 = phi float [ %v52, %b4 ], [ 0x0000000000000000, %b5 ]
  store float %v53, ptr %v33, align 4, !llvm.access.group !0
  %v71 = load i32, ptr %v11, align 4
  %v55 = add i32 %v71, %v21
  %v56 = icmp slt i32 %v55, %p5
  %v57 = and i1 %v56, %v34
  br i1 %v57, label %b7, label %b8
b7:
  %v58 = mul i32 %v55, %p4
  %v59 = add i32 %v58, %v27
  %v60 = sext i32 %v59 to i64
  %v61 = getelementptr inbounds i32, ptr %p1, i64 %v60
  %v62 = load float, ptr %v61, align 4, !llvm.access.group !0
  br label %b9
b8:
  br label %b9
b9:
  %v63 = phi float [ %v62, %b7 ], [ 0x0000000000000000, %b8 ]
  store float %v63, ptr %v36, align 4, !llvm.access.group !0
  %v72 = load i32, ptr %v11, align 4
  store i32 %v72, ptr %p9, align 4, !llvm.access.group !0
  %v74 = load float, ptr %v12, align 4
  store float %v74, ptr %p7, align 4, !llvm.access.group !0
  ret i32 1
b10:
  br i1 %v37, label %b11, label %b12
b11:
  %v77 = load float, ptr %v12, align 4
  store float %v77, ptr %v41, align 4, !llvm.access.group !0
  br label %b12
b12:
  ret i32 3
}

define internal i32 @tiled_gemm.region1(ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i32 %p3, i32 %p4, i32 %p5, ptr %p6, ptr %p7, i32 %p8, ptr %p9, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v3 = alloca [4 x i8], align 4
  %v4 = alloca [4 x i8], align 4
  %v23 = getelementptr inbounds i8, ptr %p6, i64 0
  %v24 = getelementptr inbounds i8, ptr %p6, i64 1024
  %v25 = add i32 %thread_index.x, 0
  %v26 = add i32 %thread_index.y, 0
  %v27 = sext i32 %v26 to i64
  %v28 = getelementptr inbounds [64 x i8], ptr %v23, i64 %v27
  %v29 = sext i32 %v25 to i64
  %v30 = getelementptr inbounds i32, ptr %v24, i64 %v29
  %v31 = getelementptr inbounds i32, ptr %v28, i64 1
  %v32 = getelementptr inbounds [64 x i8], ptr %v30, i64 1
  %v33 = getelementptr inbounds i32, ptr %v28, i64 2
  %v34 = getelementptr inbounds [64 x i8], ptr %v30, i64 2
  %v35 = getelementptr inbounds i32, ptr %v28, i64 3
  %v36 = getelementptr inbounds [64 x i8], ptr %v30, i64 3
  %v37 = getelementptr inbounds i32, ptr %v28, i64 4
  %v38 = getelementptr inbounds [64 x i8], ptr %v30, i64 4
  %v39 = getelementptr inbounds i32, ptr %v28, i64 5
  %v40 = getelementptr inbounds [64 x i8], ptr %v30, i64 5
  %v41 = getelementptr inbounds i32, ptr %v28, i64 6
  %v42 = getelementptr inbounds [64 x i8], ptr %v30, i64 6
  %v43 = getelementptr inbounds i32, ptr %v28, i64 7
  %v44 = getelementptr inbounds [64 x i8], ptr %v30, i64 7
  %v45 = getelementptr inbounds i32, ptr %v28, i64 8
  %v46 = getelementptr inbounds [64 x i8], ptr %v30, i64 8
  %v47 = getelementptr inbounds i32, ptr %v28, i64 9
  %v48 = getelementptr inbounds [64 x i8], ptr %v30, i64 9
  %v49 = getelementptr inbounds i32, ptr %v28, i64 10
  %v50 = getelementptr inbounds [64 x i8], ptr %v30, i64 10
  %v51 = getelementptr inbounds i32, ptr %v28, i64 11
  %v52 = getelementptr inbounds [64 x i8], ptr %v30, i64 11
  %v53 = getelementptr inbounds i32, ptr %v28, i64 12
  %v54 = getelementptr inbounds [64 x i8], ptr %v30, i64 12
  %v55 = getelementptr inbounds i32, ptr %v28, i64 13
  %v56 = getelementptr inbounds [64 x i8], ptr %v30, i64 13
  %v57 = getelementptr inbounds i32, ptr %v28, i64 14
  %v58 = getelementptr inbounds [64 x i8], ptr %v30, i64 14
  %v59 = getelementptr inbounds i32, ptr %v28, i64 15
  %v60 = getelementptr inbounds [64 x i8], ptr %v30, i64 15
  %v61 = load float, ptr %p7, align 4, !llvm.access.group !0
  store float %v61, ptr %v3, align 4
  br label %b1
b1:
  %v63 = load float, ptr %v28, align 4, !llvm.access.group !0
  %v64 = load float, ptr %v30, align 4, !llvm.access.group !0
  %v111 = load float, ptr %v3, align 4
  %v65 = call float @llvm.fma.f32(float %v63, float %v64, float %v111)
  %v66 = load float, ptr %v31, align 4, !llvm.access.group !0
  %v67 = load float, ptr %v32, align 4, !llvm.access.group !0
  %v68 = call float @llvm.fma.f32(float %v66, float %v67, float %v65)
  %v69 = load float, ptr %v33, align 4, !llvm.access.group !0
  %v70 = load float, ptr %v34, align 4, !llvm.access.group !0
  %v71 = call float @llvm.fma.f32(float %v69, float %v70, float %v68)
  %v72 = load float, ptr %v35, align 4, !llvm.access.group !0
  %v73 = load float, ptr %v36, align 4, !llvm.access.group !0
  %v74 = call float @llvm.fma.f32(float %v72, float %v73, float %v71)
  %v75 = load float, ptr %v37, align 4, !llvm.access.group !0
  %v76 = load float, ptr %v38, align 4, !llvm.access.group !0
  %v77 = call float @llvm.fma.f32(float %v75, float %v76, float %v74)
  %v78 = load float, ptr %v39, align 4, !llvm.access.group !0
  %v79 = load float, ptr %v40, align 4, !llvm.access.group !0
  %v80 = call float @llvm.fma.f32(float %v78, float %v79, float %v77)
  %v81 = load float, ptr %v41, align 4, !llvm.access.group !0
  %v82 = load float, ptr %v42, align 4, !llvm.access.group !0
  %v83 = call float @llvm.fma.f32(float %v81, float %v82, float %v80)
  %v84 = load float, ptr %v43, align 4, !llvm.access.group !0
  %v85 = load float, ptr %v44, align 4, !llvm.access.group !0
  %v86 = call float @llvm.fma.f32(float %v84, float %v85, float %v83)
  %v87 = load float, ptr %v45, align 4, !llvm.access.group !0
  %v88 = load float, ptr %v46, align 4, !llvm.access.group !0
  %v89 = call float @llvm.fma.f32(float %v87, float %v88, float %v86)
  %v90 = load float, ptr %v47, align 4, !llvm.access.group !0
  %v91 = load float, ptr %v48, align 4, !llvm.access.group !0
  %v92 = call float @llvm.fma.f32(float %v90, float %v91, float %v89)
  %v93 = load float, ptr %v49, align 4, !llvm.access.group !0
  %v94 = load float, ptr %v50, align 4, !llvm.access.group !0
  %v95 = call float @llvm.fma.f32(float %v93, float %v94, float %v92)
  %v96 = load float, ptr %v51, align 4, !llvm.access.group !0
  %v97 = load float, ptr %v52, align 4, !llvm.access.group !0
  %v98 = call float @llvm.fma.f32(float %v96, float %v97, float %v95)
  %v99 = load float, ptr %v53, align 4, !llvm.access.group !0
  %v100 = load float, ptr %v54, align 4, !llvm.access.group !0
  %v101 = call float @llvm.fma.f32(float %v99, float %v100, float %v98)
  %v102 = load float, ptr %v55, align 4, !llvm.access.group !0
  %v103 = load float, ptr %v56, align 4, !llvm.access.group !0
  %v104 = call float @llvm.fma.f32(float %v102, float %v103, float %v101)
  %v105 = load float, ptr %v57, align 4, !llvm.access.group !0
  %v106 = load float, ptr %v58, align 4, !llvm.access.group !0
  %v107 = call float @llvm.fma.f32(float %v105, float %v106, float %v104)
  %v108 = load float, ptr %v59, align 4, !llvm.access.group !0
  %v109 = load float, ptr %v60, align 4, !llvm.access.group !0
  %v110 = call float @llvm.fma.f32(float %v108, float %v109, float %v107)
  store float %v110, ptr %v4, align 4
  %v113 = load float, ptr %v4, align 4
  store float %v113, ptr %p7, align 4, !llvm.access.group !0
  ret i32 2
}

define internal i32 @tiled_gemm.region2(ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i32 %p3, i32 %p4, i32 %p5, ptr %p6, ptr %p7, i32 %p8, ptr %p9, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v12 = alloca [4 x i8], align 4
  %v13 = alloca [4 x i8], align 4
  %v14 = alloca [4 x i8], align 4
  %v19 = getelementptr inbounds i8, ptr %p6, i64 0
  %v20 = getelementptr inbounds i8, ptr %p6, i64 1024
  %v21 = add i32 %thread_index.x, 0
  %v22 = add i32 %thread_index.y, 0
  %v23 = add i32 %block_index.y, 0
  %v24 = shl i32 %v23, 4
  %v25 = add i32 %v24, %v22
  %v26 = add i32 %block_index.x, 0
  %v27 = shl i32 %v26, 4
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
  %v38 = and i1 %v29, %v35
  %v39 = mul i32 %v25, %p4
  %v40 = add i32 %v39, %v28
  %v41 = sext i32 %v40 to i64
  %v42 = getelementptr inbounds i32, ptr %p2, i64 %v41
  store i32 %p8, ptr %v12, align 4
  %v44 = load float, ptr %p7, align 4, !llvm.access.group !0
  store float %v44, ptr %v14, align 4
  br label %b1
b1:
  %v71 = load i32, ptr %v12, align 4
  %v46 = add i32 %v71, 16
  %v85 = load float, ptr %v14, align 4
  br label %b2
b2:
  %v47 = phi float [ %v85, %b1 ]
  %v48 = phi i32 [ %v46, %b1 ]
  store float %v47, ptr %v13, align 4
  store i32 %v48, ptr %v12, align 4
  %v74 = load i32, ptr %v12, align 4
  %v49 = icmp slt i32 %v74, %p5
  br i1 %v49, label %b3, label %b10
b3:
  %v75 = load i32, ptr %v12, align 4
  %v50 = add i32 %v75, %v21
  %v51 = icmp slt i32 %v50, %p5
  %v52 = and i1 %v29, %v51
  br i1 %v52, label %b4, label %b5
b4:
  %v76 = load i32, ptr %v12, align 4
  %v53 = add i32 %v30, %v76
  %v54 = add i32 %v53, %v21
  %v55 = sext i32 %v54 to i64
  %v56 = getelementptr inbounds i32, ptr %p0, i64 %v55
  %v57 = load float, ptr %v56, align 4, !llvm.access.group !0
  br label %b6
b5:
  br label %b6
b6:
  %v58 = phi float [ %v57, %b4 ], [ 0x0000000000000000, %b5 ]
  store float %v58, ptr %v34, align 4, !llvm.access.group !0
  %v77 = load i32, ptr %v12, align 4
  %v60 = add i32 %v77, %v22
  %v61 = icmp slt i32 %v60, %p5
  %v62 = and i1 %v61, %v35
  br i1 %v62, label %b7, label %b8
b7:
  %v63 = mul i32 %v60, %p4
  %v64 = add i32 %v63, %v28
  %v65 = sext i32 %v64 to i64
  %v66 = getelementptr inbounds i32, ptr %p1, i64 %v65
  %v67 = load float, ptr %v66, align 4, !llvm.access.group !0
  br label %b9
b8:
  br label %b9
b9:
  %v68 = phi float [ %v67, %b7 ], [ 0x0000000000000000, %b8 ]
  store float %v68, ptr %v37, align 4, !llvm.access.group !0
  %v78 = load i32, ptr %v12, align 4
  store i32 %v78, ptr %p9, align 4, !llvm.access.group !0
  %v80 = load float, ptr %v13, align 4
  store float %v80, ptr %p7, align 4, !llvm.access.group !0
  ret i32 1
b10:
  br i1 %v38, label %b11, label %b12
b11:
  %v83 = load float, ptr %v13, align 4
  store float %v83, ptr %v42, align 4, !llvm.access.group !0
  br label %b12
b12:
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
  %states.o = mul nuw nsw i64 %stride, 4
  %states = getelementptr inbounds i8, ptr %scratch, i64 %states.o
  %shared.o = mul nuw nsw i64 %stride, 8
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
  %r0.next = call i32 @tiled_gemm.region0(ptr %a0, ptr %a1, ptr %a2, i32 %a3, i32 %a4, i32 %a5, ptr %shared, ptr %r0.c0, i32 %r0.u0, ptr %u0, i32 %r0.x, i32 %r0.y, i32 %r0.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
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
  %r1.next = call i32 @tiled_gemm.region1(ptr %a0, ptr %a1, ptr %a2, i32 %a3, i32 %a4, i32 %a5, ptr %shared, ptr %r1.c0, i32 %r1.u0, ptr %u0, i32 %r1.x, i32 %r1.y, i32 %r1.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
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
  %r2.next = call i32 @tiled_gemm.region2(ptr %a0, ptr %a1, ptr %a2, i32 %a3, i32 %a4, i32 %a5, ptr %shared, ptr %r2.c0, i32 %r2.u0, ptr %u0, i32 %r2.x, i32 %r2.y, i32 %r2.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
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
