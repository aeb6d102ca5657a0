source_filename = "tiled_gemm.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal i32 @tiled_gemm.region0(ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i32 %p3, i32 %p4, i32 %p5, ptr %p6, ptr %p7, ptr %p8, i32 %p9, ptr %p10, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
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
  br label %b1
b1:
  br label %b2
b2:
  %v43 = phi float [ 0x0000000000000000, %b1 ]
  %v44 = phi i32 [ 0, %b1 ]
  store float %v43, ptr %v13, align 4
  store i32 %v44, ptr %v12, align 4
  %v69 = load i32, ptr %v12, align 4
  %v45 = icmp slt i32 %v69, %p5
  br i1 %v45, label %b3, label %b10
b3:
  %v70 = load i32, ptr %v12, align 4
  %v46 = add i32 %v70, %v21
  %v47 = icmp slt i32 %v46, %p5
  %v48 = and i1 %v29, %v47
  br i1 %v48, label %b4, label %b5
b4:
  %v71 = load i32, ptr %v12, align 4
  %v49 = add i32 %v30, %v71
  %v50 = add i32 %v49, %v21
  %v51 = sext i32 %v50 to i64
  %v52 = getelementptr inbounds i32, ptr %p0, i64 %v51
  %v53 = load float, ptr %v52, align 4, !llvm.access.group !0
  br label %b6
b5:
  br label %b6
b6:
  %v54 = phi float [ %v53, %b4 ], [ 0x0000000000000000, %b5 ]
  store float %v54, ptr %v34, align 4, !llvm.access.group !0
  %v72 = load i32, ptr %v12, align 4
  %v56 = add i32 %v72, %v22
  %v57 = icmp slt i32 %v56, %p5
  %v58 = and i1 %v57, %v35
  br i1 %v58, label %b7, label %b8
b7:
  %v59 = mul i32 %v56, %p4
  %v60 = add i32 %v59, %v28
  %v61 = sext i32 %v60 to i64
  %v62 = getelementptr inbounds i32, ptr %p1, i64 %v61
  %v63 = load float, ptr %v62, align 4, !llvm.access.group !0
  br label %b9
b8:
  br label %b9
b9:
  %v64 = phi float [ %v63, %b7 ], [ 0x0000000000000000, %b8 ]
  store float %v64, ptr %v37, align 4, !llvm.access.group !0
  %v73 = load i32, ptr %v12, align 4
  store i32 %v73, ptr %p10, align 4, !llvm.access.group !0
  %v75 = load float, ptr %v13, align 4
  store float %v75, ptr %p7, align 4, !llvm.access.group !0
  ret i32 1
b10:
  br i1 %v38, label %b11, label %b12
b11:
  %v78 = load float, ptr %v13, align 4
  store float %v78, ptr %v42, align 4, !llvm.access.group !0
  br label %b12
b12:
  ret i32 3
}

define internal i32 @tiled_gemm.region1(ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i32 %p3, i32 %p4, i32 %p5, ptr %p6, ptr %p7, ptr %p8, i32 %p9, ptr %p10, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v4 = alloca [4 x i8], align 4
  %v5 = alloca [4 x i8], align 4
  %v24 = getelementptr inbounds i8, ptr %p6, i64 0
  %v25 = getelementptr inbounds i8, ptr %p6, i64 1024
  %v26 = add i32 %thread_index.x, 0
  %v27 = add i32 %thread_index.y, 0
  %v28 = sext i32 %v27 to i64
  %v29 = getelementptr inbounds [64 x i8], ptr %v24, i64 %v28
  %v30 = sext i32 %v26 to i64
  %v31 = getelementptr inbounds i32, ptr %v25, i64 %v30
  %v32 = getelementptr inbounds i32, ptr %v29, i64 1
  %v33 = getelementptr inbounds [64 x i8], ptr %v31, i64 1
  %v34 = getelementptr inbounds i32, ptr %v29, i64 2
  %v35 = getelementptr inbounds [64 x i8], ptr %v31, i64 2
  %v36 = getelementptr inbounds i32, ptr %v29, i64 3
  %v37 = getelementptr inbounds [64 x i8], ptr %v31, i64 3
  %v38 = getelementptr inbounds i32, ptr %v29, i64 4
  %v39 = getelementptr inbounds [64 x i8], ptr %v31, i64 4
  %v40 = getelementptr inbounds i32, ptr %v29, i64 5
  %v41 = getelementptr inbounds [64 x i8], ptr %v31, i64 5
  %v42 = getelementptr inbounds i32, ptr %v29, i64 6
  %v43 = getelementptr inbounds [64 x i8], ptr %v31, i64 6
  %v44 = getelementptr inbounds i32, ptr %v29, i64 7
  %v45 = getelementptr inbounds [64 x i8], ptr %v31, i64 7
  %v46 = getelementptr inbounds i32, ptr %v29, i64 8
  %v47 = getelementptr inbounds [64 x i8], ptr %v31, i64 8
  %v48 = getelementptr inbounds i32, ptr %v29, i64 9
  %v49 = getelementptr inbounds [64 x i8], ptr %v31, i64 9
  %v50 = getelementptr inbounds i32, ptr %v29, i64 10
  %v51 = getelementptr inbounds [64 x i8], ptr %v31, i64 10
  %v52 = getelementptr inbounds i32, ptr %v29, i64 11
  %v53 = getelementptr inbounds [64 x i8], ptr %v31, i64 11
  %v54 = getelementptr inbounds i32, ptr %v29, i64 12
  %v55 = getelementptr inbounds [64 x i8], ptr %v31, i64 12
  %v56 = getelementptr inbounds i32, ptr %v29, i64 13
  %v57 = getelementptr inbounds [64 x i8], ptr %v31, i64 13
  %v58 = getelementptr inbounds i32, ptr %v29, i64 14
  %v59 = getelementptr inbounds [64 x i8], ptr %v31, i64 14
  %v60 = getelementptr inbounds i32, ptr %v29, i64 15
  %v61 = getelementptr inbounds [64 x i8], ptr %v31, i64 15
  %v62 = load float, ptr %p7, align 4, !llvm.access.group !0
  store float %v62, ptr %v4, align 4
  br label %b1
b1:
  %v64 = load float, ptr %v29, align 4, !llvm.access.group !0
  %v65 = load float, ptr %v31, align 4, !llvm.access.group !0
  %v112 = load float, ptr %v4, align 4
  %v66 = call float @llvm.fma.f32(float %v64, float %v65, float %v112)
  %v67 = load float, ptr %v32, align 4, !llvm.access.group !0
  %v68 = load float, ptr %v33, align 4, !llvm.access.group !0
  %v69 = call float @llvm.fma.f32(float %v67, float %v68, float %v66)
  %v70 = load float, ptr %v34, align 4, !llvm.access.group !0
  %v71 = load float, ptr %v35, align 4, !llvm.access.group !0
  %v72 = call float @llvm.fma.f32(float %v70, float %v71, float %v69)
  %v73 = load float, ptr %v36, align 4, !llvm.access.group !0
  %v74 = load float, ptr %v37, align 4, !llvm.access.group !0
  %v75 = call float @llvm.fma.f32(float %v73, float %v74, float %v72)
  %v76 = load float, ptr %v38, align 4, !llvm.access.group !0
  %v77 = load float, ptr %v39, align 4, !llvm.access.group !0
  %v78 = call float @llvm.fma.f32(float %v76, float %v77, float %v75)
  %v79 = load float, ptr %v40, align 4, !llvm.access.group !0
  %v80 = load float, ptr %v41, align 4, !llvm.access.group !0
  %v81 = call float @llvm.fma.f32(float %v79, float %v80, float %v78)
  %v82 = load float, ptr %v42, align 4, !llvm.access.group !0
  %v83 = load float, ptr %v43, align 4, !llvm.access.group !0
  %v84 = call float @llvm.fma.f32(float %v82, float %v83, float %v81)
  %v85 = load float, ptr %v44, align 4, !llvm.access.group !0
  %v86 = load float, ptr %v45, align 4, !llvm.access.group !0
  %v87 = call float @llvm.fma.f32(float %v85, float %v86, float %v84)
  %v88 = load float, ptr %v46, align 4, !llvm.access.group !0
  %v89 = load float, ptr %v47, align 4, !llvm.access.group !0
  %v90 = call float @llvm.fma.f32(float %v88, float %v89, float %v87)
  %v91 = load float, ptr %v48, align 4, !llvm.access.group !0
  %v92 = load float, ptr %v49, align 4, !llvm.access.group !0
  %v93 = call float @llvm.fma.f32(float %v91, float %v92, float %v90)
  %v94 = load float, ptr %v50, align 4, !llvm.access.group !0
  %v95 = load float, ptr %v51, align 4, !llvm.access.group !0
  %v96 = call float @llvm.fma.f32(float %v94, float %v95, float %v93)
  %v97 = load float, ptr %v52, align 4, !llvm.access.group !0
  %v98 = load float, ptr %v53, align 4, !llvm.access.group !0
  %v99 = call float @llvm.fma.f32(float %v97, float %v98, float %v96)
  %v100 = load float, ptr %v54, align 4, !llvm.access.group !0
  %v101 = load float, ptr %v55, align 4, !llvm.access.group !0
  %v102 = call float @llvm.fma.f32(float %v100, float %v101, float %v99)
  %v103 = load float, ptr %v56, align 4, !llvm.access.group !0
  %v104 = load float, ptr %v57, align 4, !llvm.access.group !0
  %v105 = call float @llvm.fma.f32(float %v103, float %v104, float %v102)
  %v106 = load float, ptr %v58, align 4, !llvm.access.group !0
  %v107 = load float, ptr %v59, align 4, !llvm.access.group !0
  %v108 = call float @llvm.fma.f32(float %v106, float %v107, float %v105)
  %v109 = load float, ptr %v60, align 4, !llvm.access.group !0
  %v110 = load float, ptr %v61, align 4, !llvm.access.group !0
  %v111 = call float @llvm.fma.f32(float %v109, float %v110, float %v108)
  store float %v111, ptr %v5, align 4
  %v114 = load float, ptr %v5, align 4
  store float %v114, ptr %p8, align 4, !llvm.access.group !0
  ret i32 2
}

define internal i32 @tiled_gemm.region2(ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i32 %p3, i32 %p4, i32 %p5, ptr %p6, ptr %p7, ptr %p8, i32 %p9, ptr %p10, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v13 = alloca [4 x i8], align 4
  %v14 = alloca [4 x i8], align 4
  %v15 = alloca [4 x i8], align 4
  %v20 = getelementptr inbounds i8, ptr %p6, i64 0
  %v21 = getelementptr inbounds i8, ptr %p6, i64 1024
  %v22 = add i32 %thread_index.x, 0
  %v23 = add i32 %thread_index.y, 0
  %v24 = add i32 %block_index.y, 0
  %v25 = shl i32 %v24, 4
  %v26 = add i32 %v25, %v23
  %v27 = add i32 %block_index.x, 0
  %v28 = shl i32 %v27, 4
  %v29 = add i32 %v28, %v22
  %v30 = icmp slt i32 %v26, %p3
  %v31 = mul i32 %v26, %p5
  %v32 = sext i32 %v23 to i64
  %v33 = getelementptr inbounds [64 x i8], ptr %v20, i64 %v32
  %v34 = sext i32 %v22 to i64
  %v35 = getelementptr inbounds i32, ptr %v33, i64 %v34
  %v36 = icmp slt i32 %v29, %p4
  %v37 = getelementptr inbounds [64 x i8], ptr %v21, i64 %v32
  %v38 = getelementptr inbounds i32, ptr %v37, i64 %v34
  %v39 = and i1 %v30, %v36
  %v40 = mul i32 %v26, %p4
  %v41 = add i32 %v40, %v29
  %v42 = sext i32 %v41 to i64
  %v43 = getelementptr inbounds i32, ptr %p2, i64 %v42
  store i32 %p9, ptr %v13, align 4
  %v45 = load float, ptr %p8, align 4, !llvm.access.group !0
  store float %v45, ptr %v15, align 4
  br label %b1
b1:
  %v72 = load i32, ptr %v13, align 4
  %v47 = add i32 %v72, 16
  %v86 = load float, ptr %v15, align 4
  br label %b2
b2:
  %v48 = phi float [ %v86, %b1 ]
  %v49 = phi i32 [ %v47, %b1 ]
  store float %v48, ptr %v14, align 4
  store i32 %v49, ptr %v13, align 4
  %v75 = load i32, ptr %v13, align 4
  %v50 = icmp slt i32 %v75, %p5
  br i1 %v50, label %b3, label %b10
b3:
  %v76 = load i32, ptr %v13, align 4
  %v51 = add i32 %v76, %v22
  %v52 = icmp slt i32 %v51, %p5
  %v53 = and i1 %v30, %v52
  br i1 %v53, label %b4, label %b5
b4:
  %v77 = load i32, ptr %v13, align 4
  %v54 = add i32 %v31, %v77
  %v55 = add i32 %v54, %v22
  %v56 = sext i32 %v55 to i64
  %v57 = getelementptr inbounds i32, ptr %p0, i64 %v56
  %v58 = load float, ptr %v57, align 4, !llvm.access.group !0
  br label %b6
b5:
  br label %b6
b6:
  %v59 = phi float [ %v58, %b4 ], [ 0x0000000000000000, %b5 ]
  store float %v59, ptr %v35, align 4, !llvm.access.group !0
  %v78 = load i32, ptr %v13, align 4
  %v61 = add i32 %v78, %v23
  %v62 = icmp slt i32 %v61, %p5
  %v63 = and i1 %v62, %v36
  br i1 %v63, label %b7, label %b8
b7:
  %v64 = mul i32 %v61, %p4
  %v65 = add i32 %v64, %v29
  %v66 = sext i32 %v65 to i64
  %v67 = getelementptr inbounds i32, ptr %p1, i64 %v66
  %v68 = load float, ptr %v67, align 4, !llvm.access.group !0
  br label %b9
b8:
  br label %b9
b9:
  %v69 = phi float [ %v68, %b7 ], [ 0x0000000000000000, %b8 ]
  store float %v69, ptr %v38, align 4, !llvm.access.group !0
  %v79 = load i32, ptr %v13, align 4
  store i32 %v79, ptr %p10, align 4, !llvm.access.group !0
  %v81 = load float, ptr %v14, align 4
  store float %v81, ptr %p7, align 4, !llvm.access.group !0
  ret i32 1
b10:
  br i1 %v39, label %b11, label %b12
b11:
  %v84 = load float, ptr %v14, align 4
  store float %v84, ptr %v43, align 4, !llvm.access.group !0
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
