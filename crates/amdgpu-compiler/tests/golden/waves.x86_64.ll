source_filename = "waves.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal i32 @k.region0(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i32 %p4, ptr %p5, ptr %p6, ptr %p7, ptr %p8, ptr %p9, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v18 = alloca [4 x i8], align 4
  %v20 = alloca [4 x i8], align 4
  %v27 = getelementptr inbounds i8, ptr %p5, i64 0
  %v28 = add i32 %block_index.x, 0
  %v29 = add i32 %block_size.x, 0
  %v30 = mul i32 %v28, %v29
  %v31 = add i32 %thread_index.x, 0
  %v32 = add i32 %v30, %v31
  %v33 = icmp slt i32 %v32, %p4
  %v34 = sext i32 %v32 to i64
  %v35 = getelementptr inbounds i32, ptr %p0, i64 %v34
  %v36 = lshr i32 32, 1
  %v37 = add i32 %block_size.x, 0
  %v38 = add i32 %block_size.y, 0
  %v39 = add i32 %thread_index.x, 0
  %v40 = add i32 %thread_index.y, 0
  %v41 = add i32 %thread_index.z, 0
  %v42 = mul i32 %v41, %v38
  %v43 = add i32 %v42, %v40
  %v44 = mul i32 %v43, %v37
  %v45 = add i32 %v44, %v39
  %v46 = and i32 %v45, 31
  %v47 = add i32 32, -1
  %v48 = and i32 %v46, %v47
  %v49 = sub i32 %v47, %v48
  %v50 = icmp eq i32 %v46, 0
  %v51 = udiv i32 %v31, 32
  %v52 = zext i32 %v51 to i64
  %v53 = getelementptr inbounds i32, ptr %v27, i64 %v52
  br label %b1
b1:
  br i1 %v33, label %b2, label %b3
b2:
  %v54 = load i32, ptr %v35, align 4, !llvm.access.group !0
  %v55 = sitofp i32 %v54 to float
  br label %b4
b3:
  br label %b4
b4:
  %v56 = phi float [ %v55, %b2 ], [ 0x0000000000000000, %b3 ]
  br label %b5
b5:
  %v57 = phi float [ %v56, %b4 ]
  %v58 = phi i32 [ %v36, %b4 ]
  %v59 = icmp sgt i32 %v58, 0
  br i1 %v59, label %b6, label %b7
b6:
  %v60 = bitcast float %v57 to i32
  %v61 = icmp ugt i32 %v58, %v49
  %v62 = add i32 %v46, %v58
  %v63 = select i1 %v61, i32 %v46, i32 %v62
  store i32 %v58, ptr %p9, align 4, !llvm.access.group !0
  store float %v57, ptr %p6, align 4, !llvm.access.group !0
  store i32 %v60, ptr %p7, align 4, !llvm.access.group !0
  store i32 %v63, ptr %p8, align 4, !llvm.access.group !0
  ret i32 1
b7:
  br i1 %v50, label %b8, label %b9
b8:
  store float %v57, ptr %v53, align 4, !llvm.access.group !0
  br label %b9
b9:
  %v82 = phi float [ %v57, %b7 ], [ %v57, %b8 ]
  store float %v82, ptr %p6, align 4, !llvm.access.group !0
  ret i32 8
}

define internal i32 @k.region1(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i32 %p4, ptr %p5, ptr %p6, ptr %p7, ptr %p8, ptr %p9, i32 %p10, ptr %p11, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v16 = alloca [4 x i8], align 4
  %v18 = alloca [4 x i8], align 4
  %v21 = alloca [4 x i8], align 4
  %v26 = getelementptr inbounds i8, ptr %p5, i64 0
  %v27 = add i32 %thread_index.x, 0
  %v28 = lshr i32 32, 1
  %v29 = add i32 %block_size.x, 0
  %v30 = add i32 %block_size.y, 0
  %v31 = add i32 %thread_index.x, 0
  %v32 = add i32 %thread_index.y, 0
  %v33 = add i32 %thread_index.z, 0
  %v34 = mul i32 %v33, %v30
  %v35 = add i32 %v34, %v32
  %v36 = mul i32 %v35, %v29
  %v37 = add i32 %v36, %v31
  %v38 = and i32 %v37, 31
  %v39 = add i32 32, -1
  %v40 = and i32 %v38, %v39
  %v41 = sub i32 %v39, %v40
  %v42 = icmp eq i32 %v38, 0
  %v43 = udiv i32 %v27, 32
  %v44 = zext i32 %v43 to i64
  %v45 = getelementptr inbounds i32, ptr %v26, i64 %v44
  %v47 = load float, ptr %p6, align 4, !llvm.access.group !0
  %v49 = load i32, ptr %p7, align 4, !llvm.access.group !0
  br label %b1
b1:
  %v51 = bitcast i32 %v49 to float
  %v52 = fadd float %v47, %v51
  %v53 = sdiv i32 %p10, 2
  br label %b2
b2:
  %v54 = phi float [ %v52, %b1 ]
  %v55 = phi i32 [ %v53, %b1 ]
  %v56 = icmp sgt i32 %v55, 0
  br i1 %v56, label %b3, label %b4
b3:
  %v57 = bitcast float %v54 to i32
  %v58 = icmp ugt i32 %v55, %v41
  %v59 = add i32 %v38, %v55
  %v60 = select i1 %v58, i32 %v38, i32 %v59
  store i32 %v55, ptr %p11, align 4, !llvm.access.group !0
  store float %v54, ptr %p6, align 4, !llvm.access.group !0
  store i32 %v57, ptr %p8, align 4, !llvm.access.group !0
  store i32 %v60, ptr %p9, align 4, !llvm.access.group !0
  ret i32 1
b4:
  br i1 %v42, label %b5, label %b6
b5:
  store float %v54, ptr %v45, align 4, !llvm.access.group !0
  br label %b6
b6:
  %v82 = phi float [ %v54, %b4 ], [ %v54, %b5 ]
  store float %v82, ptr %p6, align 4, !llvm.access.group !0
  ret i32 8
}

define internal i32 @k.region2(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i32 %p4, ptr %p5, ptr %p6, i64 %p7, ptr %p8, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v16 = alloca [8 x i8], align 8
  %v17 = alloca [8 x i8], align 8
  %v18 = add i32 %block_index.x, 0
  %v19 = add i32 %block_size.x, 0
  %v20 = mul i32 %v18, %v19
  %v21 = add i32 %thread_index.x, 0
  %v22 = add i32 %v20, %v21
  %v23 = sext i32 %v22 to i64
  %v24 = getelementptr inbounds i32, ptr %p0, i64 %v23
  br label %b1
b1:
  %v26 = and i64 %p7, 4294967295
  %v27 = load i32, ptr %v24, align 4, !llvm.access.group !0
  store i64 %v26, ptr %p8, align 8, !llvm.access.group !0
  store i32 %v27, ptr %p6, align 4, !llvm.access.group !0
  ret i32 3
}

define internal i32 @k.region3(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i32 %p4, ptr %p5, ptr %p6, ptr %p7, ptr %p8, i64 %p9, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v20 = alloca [4 x i8], align 4
  %v21 = alloca [8 x i8], align 8
  %v23 = alloca [8 x i8], align 8
  %v25 = alloca [8 x i8], align 8
  %v26 = add i32 %block_index.x, 0
  %v27 = add i32 %block_size.x, 0
  %v28 = mul i32 %v26, %v27
  %v29 = add i32 %thread_index.x, 0
  %v30 = add i32 %v28, %v29
  %v31 = sext i32 %v30 to i64
  %v32 = getelementptr inbounds i32, ptr %p0, i64 %v31
  %v33 = getelementptr inbounds i64, ptr %p2, i64 %v31
  %v34 = getelementptr inbounds i64, ptr %p3, i64 %v31
  %v36 = load i64, ptr %p7, align 8, !llvm.access.group !0
  br label %b1
b1:
  %v38 = and i64 %v36, 4294967295
  %v39 = add i64 %p9, %v38
  store i64 %v39, ptr %v33, align 8, !llvm.access.group !0
  br label %b2
b2:
  %v41 = phi i32 [ 0, %b1 ]
  %v42 = load i32, ptr %v32, align 4, !llvm.access.group !0
  %v43 = icmp slt i32 %v41, %v42
  br i1 %v43, label %b3, label %b4
b3:
  %v44 = load double, ptr %v34, align 8, !llvm.access.group !0
  store i32 %v41, ptr %p6, align 4, !llvm.access.group !0
  store double %v44, ptr %p7, align 8, !llvm.access.group !0
  store i1 true, ptr %p8, align 1, !llvm.access.group !0
  ret i32 4
b4:
  ret i32 6
}

define internal i32 @k.region4(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i32 %p4, ptr %p5, ptr %p6, ptr %p7, ptr %p8, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v17 = alloca [8 x i8], align 8
  %v20 = add i32 %block_index.x, 0
  %v21 = add i32 %block_size.x, 0
  %v22 = mul i32 %v20, %v21
  %v23 = add i32 %thread_index.x, 0
  %v24 = add i32 %v22, %v23
  %v25 = add i32 %block_size.x, 0
  %v26 = add i32 %block_size.y, 0
  %v27 = add i32 %thread_index.x, 0
  %v28 = add i32 %thread_index.y, 0
  %v29 = add i32 %thread_index.z, 0
  %v30 = mul i32 %v29, %v26
  %v31 = add i32 %v30, %v28
  %v32 = mul i32 %v31, %v25
  %v33 = add i32 %v32, %v27
  %v34 = and i32 %v33, 31
  %v35 = add i32 32, -1
  %v36 = sext i32 %v24 to i64
  %v37 = getelementptr inbounds i64, ptr %p3, i64 %v36
  %v38 = and i32 %v35, 1
  %v39 = xor i32 %v34, %v38
  %v40 = add i32 %v34, 32
  %v41 = xor i32 %v35, -1
  %v42 = and i32 %v40, %v41
  %v43 = icmp sge i32 %v39, %v42
  %v44 = select i1 %v43, i32 %v34, i32 %v39
  %v45 = load i64, ptr %p6, align 8, !llvm.access.group !0
  br label %b1
b1:
  %v47 = load double, ptr %v37, align 8, !llvm.access.group !0
  %v48 = bitcast double %v47 to i64
  store i64 %v48, ptr %p8, align 8, !llvm.access.group !0
  store i32 %v44, ptr %p7, align 4, !llvm.access.group !0
  ret i32 5
}

define internal i32 @k.region5(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i32 %p4, ptr %p5, ptr %p6, ptr %p7, ptr %p8, ptr %p9, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v18 = alloca [4 x i8], align 4
  %v19 = alloca [8 x i8], align 8
  %v23 = alloca [8 x i8], align 8
  %v24 = add i32 %block_index.x, 0
  %v25 = add i32 %block_size.x, 0
  %v26 = mul i32 %v24, %v25
  %v27 = add i32 %thread_index.x, 0
  %v28 = add i32 %v26, %v27
  %v29 = sext i32 %v28 to i64
  %v30 = getelementptr inbounds i32, ptr %p0, i64 %v29
  %v31 = getelementptr inbounds i64, ptr %p3, i64 %v29
  %v32 = load i32, ptr %p6, align 4, !llvm.access.group !0
  %v34 = load double, ptr %p7, align 8, !llvm.access.group !0
  %v36 = load i64, ptr %p8, align 8, !llvm.access.group !0
  br label %b1
b1:
  %v38 = bitcast i64 %v36 to double
  %v39 = fadd double %v34, %v38
  store double %v39, ptr %v31, align 8, !llvm.access.group !0
  %v41 = add i32 %v32, 1
  br label %b2
b2:
  %v42 = phi i32 [ %v41, %b1 ]
  %v43 = load i32, ptr %v30, align 4, !llvm.access.group !0
  %v44 = icmp slt i32 %v42, %v43
  br i1 %v44, label %b3, label %b4
b3:
  %v45 = load double, ptr %v31, align 8, !llvm.access.group !0
  store i32 %v42, ptr %p6, align 4, !llvm.access.group !0
  store double %v45, ptr %p7, align 8, !llvm.access.group !0
  store i1 true, ptr %p9, align 1, !llvm.access.group !0
  ret i32 4
b4:
  ret i32 6
}

define internal i32 @k.region6(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i32 %p4, ptr %p5, ptr %p6, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v16 = add i32 %block_index.x, 0
  %v17 = add i32 %block_size.x, 0
  %v18 = mul i32 %v16, %v17
  %v19 = add i32 %thread_index.x, 0
  %v20 = add i32 %v18, %v19
  %v21 = sext i32 %v20 to i64
  %v22 = getelementptr inbounds i64, ptr %p3, i64 %v21
  br label %b1
b1:
  %v23 = load double, ptr %v22, align 8, !llvm.access.group !0
  %v24 = bitcast double %v23 to i64
  store i64 %v24, ptr %p6, align 8, !llvm.access.group !0
  ret i32 7
}

define internal i32 @k.region7(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i32 %p4, ptr %p5, ptr %p6, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v15 = alloca [8 x i8], align 8
  %v16 = add i32 %block_index.x, 0
  %v17 = add i32 %block_size.x, 0
  %v18 = mul i32 %v16, %v17
  %v19 = add i32 %thread_index.x, 0
  %v20 = add i32 %v18, %v19
  %v21 = sext i32 %v20 to i64
  %v22 = getelementptr inbounds i64, ptr %p2, i64 %v21
  %v23 = load i64, ptr %p6, align 8, !llvm.access.group !0
  br label %b1
b1:
  %v25 = load i64, ptr %v22, align 8, !llvm.access.group !0
  %v26 = add i64 %v25, %v23
  store i64 %v26, ptr %v22, align 8, !llvm.access.group !0
  ret i32 9
}

define internal i32 @k.region8(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i32 %p4, ptr %p5, ptr %p6, ptr %p7, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v15 = alloca [4 x i8], align 4
  %v20 = getelementptr inbounds i8, ptr %p5, i64 0
  %v21 = add i32 %block_index.x, 0
  %v22 = add i32 %block_size.x, 0
  %v23 = mul i32 %v21, %v22
  %v24 = add i32 %thread_index.x, 0
  %v25 = add i32 %v23, %v24
  %v26 = sext i32 %v25 to i64
  %v27 = getelementptr inbounds i32, ptr %p1, i64 %v26
  %v28 = load float, ptr %p6, align 4, !llvm.access.group !0
  br label %b1
b1:
  %v30 = load float, ptr %v20, align 4, !llvm.access.group !0
  store float %v30, ptr %v27, align 4, !llvm.access.group !0
  %v32 = fcmp ogt float %v28, 0x4008000000000000
  store i1 %v32, ptr %p7, align 1, !llvm.access.group !0
  ret i32 2
}

define void @k(ptr noalias readonly %arguments, ptr noalias readonly %launch, i64 %begin, i64 %end) #0 {
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
  %a3 = load ptr, ptr %a3.p, align 8
  %a4.p = getelementptr inbounds i8, ptr %arguments, i64 32
  %a4 = load i32, ptr %a4.p, align 4
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
  %c2.o = mul nuw nsw i64 %stride, 8
  %c2 = getelementptr inbounds i8, ptr %scratch, i64 %c2.o
  %c3.o = mul nuw nsw i64 %stride, 16
  %c3 = getelementptr inbounds i8, ptr %scratch, i64 %c3.o
  %c4.o = mul nuw nsw i64 %stride, 24
  %c4 = getelementptr inbounds i8, ptr %scratch, i64 %c4.o
  %c5.o = mul nuw nsw i64 %stride, 28
  %c5 = getelementptr inbounds i8, ptr %scratch, i64 %c5.o
  %c6.o = mul nuw nsw i64 %stride, 32
  %c6 = getelementptr inbounds i8, ptr %scratch, i64 %c6.o
  %c7.o = mul nuw nsw i64 %stride, 33
  %c7 = getelementptr inbounds i8, ptr %scratch, i64 %c7.o
  %states.o = mul nuw nsw i64 %stride, 41
  %states = getelementptr inbounds i8, ptr %scratch, i64 %states.o
  %cells.o = mul nuw nsw i64 %stride, 45
  %cells = getelementptr inbounds i8, ptr %scratch, i64 %cells.o
  %shared.o = mul nuw nsw i64 %stride, 46
  %shared = getelementptr inbounds i8, ptr %scratch, i64 %shared.o
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
  br label %round
round:
  %is_first = phi i1 [ true, %block ], [ false, %round.end ]
  br label %wave.begin
wave.begin:
  %w.first = phi i64 [ 0, %round ], [ %w.first.next, %wave.end ]
  %w.left = phi i1 [ false, %round ], [ %w.left.next, %wave.end ]
  %w.rest = sub nuw nsw i64 %items, %w.first
  %w.count = call i64 @llvm.umin.i64(i64 %w.rest, i64 32)
  %w.unused = sub nuw nsw i64 64, %w.count
  %w.full = lshr i64 -1, %w.unused
  %w.number = udiv exact i64 %w.first, 32
  %w.cell.o = mul nuw nsw i64 %w.number, 32
  %w.cell = getelementptr inbounds i8, ptr %cells, i64 %w.cell.o
  %w.states = getelementptr inbounds i32, ptr %states, i64 %w.first
  %w.first32 = trunc i64 %w.first to i32
  %w.row = udiv i32 %w.first32, %block_size.x
  %w.x = urem i32 %w.first32, %block_size.x
  %w.y = urem i32 %w.row, %block_size.y
  %w.z = udiv i32 %w.row, %block_size.y
  %w.c0 = getelementptr inbounds [4 x i8], ptr %c0, i64 %w.first
  %w.c1 = getelementptr inbounds [4 x i8], ptr %c1, i64 %w.first
  %w.c2 = getelementptr inbounds [8 x i8], ptr %c2, i64 %w.first
  %w.c3 = getelementptr inbounds [8 x i8], ptr %c3, i64 %w.first
  %w.c4 = getelementptr inbounds [4 x i8], ptr %c4, i64 %w.first
  %w.c5 = getelementptr inbounds [4 x i8], ptr %c5, i64 %w.first
  %w.c6 = getelementptr inbounds [1 x i8], ptr %c6, i64 %w.first
  %w.c7 = getelementptr inbounds [8 x i8], ptr %c7, i64 %w.first
  %w.u0 = getelementptr inbounds i8, ptr %w.cell, i64 8
  %w.u1 = getelementptr inbounds i8, ptr %w.cell, i64 16
  %w.u2 = getelementptr inbounds i8, ptr %w.cell, i64 24
  br i1 %is_first, label %wave, label %wave.again
wave.again:
  %w.kept = load i32, ptr %w.cell, align 8
  %w.mixed = icmp eq i32 %w.kept, 10
  br i1 %w.mixed, label %again, label %wave
wave:
  %w.state = phi i32 [ 0, %wave.begin ], [ %w.kept, %wave.again ]
  br label %enter
again:
  %g.state = call i32 @agpu.wave.lowest(ptr %w.states, i64 %w.full)
  %g.lanes = call i64 @agpu.wave.same(ptr %w.states, i64 %w.full, i32 %g.state)
  br label %enter
enter:
  %enter.state = phi i32 [ %w.state, %wave ], [ %g.state, %again ], [ %v.state, %resolve ], [ %a.state, %after.whole ]
  %enter.lanes = phi i64 [ %w.full, %wave ], [ %g.lanes, %again ], [ %v.lanes, %resolve ], [ %w.full, %after.whole ]
  switch i32 %enter.state, label %wave.end [ i32 0, label %r0.begin i32 1, label %r1.begin i32 2, label %r2.begin i32 3, label %r3.begin i32 4, label %r4.begin i32 5, label %r5.begin i32 6, label %r6.begin i32 7, label %r7.begin i32 8, label %r8.begin ]
r0.begin:
  %r0.lanes = phi i64 [ %enter.lanes, %enter ]
  br label %r0.run
r0.run:
  %r0.rest = phi i64 [ %r0.lanes, %r0.begin ], [ %r0.rest.next, %r0.run.end ]
  %r0.from = call i64 @llvm.cttz.i64(i64 %r0.rest, i1 true)
  %r0.bit = shl nuw i64 1, %r0.from
  %r0.sum = add nuw i64 %r0.rest, %r0.bit
  %r0.to = call i64 @llvm.cttz.i64(i64 %r0.sum, i1 true)
  %r0.rest.next = and i64 %r0.rest, %r0.sum
  %r0.first = add nuw nsw i64 %w.first, %r0.from
  %r0.last = add nuw nsw i64 %w.first, %r0.to
  %r0.at.start = icmp eq i64 %r0.from, 0
  br i1 %r0.at.start, label %r0.row, label %r0.seek
r0.seek:
  %r0.first32 = trunc i64 %r0.first to i32
  %r0.seek.row = udiv i32 %r0.first32, %block_size.x
  %r0.seek.x = urem i32 %r0.first32, %block_size.x
  %r0.seek.y = urem i32 %r0.seek.row, %block_size.y
  %r0.seek.z = udiv i32 %r0.seek.row, %block_size.y
  br label %r0.row
r0.row:
  %r0.f = phi i64 [ %r0.first, %r0.run ], [ %r0.first, %r0.seek ], [ %r0.f.next, %r0.row.end ]
  %r0.x0 = phi i32 [ %w.x, %r0.run ], [ %r0.seek.x, %r0.seek ], [ 0, %r0.row.end ]
  %r0.y = phi i32 [ %w.y, %r0.run ], [ %r0.seek.y, %r0.seek ], [ %r0.y.next, %r0.row.end ]
  %r0.z = phi i32 [ %w.z, %r0.run ], [ %r0.seek.z, %r0.seek ], [ %r0.z.next, %r0.row.end ]
  %r0.left64 = sub nuw nsw i64 %r0.last, %r0.f
  %r0.left = trunc i64 %r0.left64 to i32
  %r0.room = sub nuw nsw i32 %block_size.x, %r0.x0
  %r0.fits = icmp ult i32 %r0.left, %r0.room
  %r0.count = select i1 %r0.fits, i32 %r0.left, i32 %r0.room
  br label %r0.item
r0.item:
  %r0.j = phi i32 [ 0, %r0.row ], [ %r0.j.next, %r0.item ]
  %r0.x = add nuw nsw i32 %r0.x0, %r0.j
  %r0.j64 = zext nneg i32 %r0.j to i64
  %r0.i = add nuw nsw i64 %r0.f, %r0.j64
  %r0.c0 = getelementptr inbounds [4 x i8], ptr %c0, i64 %r0.i
  %r0.c4 = getelementptr inbounds [4 x i8], ptr %c4, i64 %r0.i
  %r0.c5 = getelementptr inbounds [4 x i8], ptr %c5, i64 %r0.i
  %r0.next = call i32 @k.region0(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r0.c0, ptr %r0.c4, ptr %r0.c5, ptr %w.u0, i32 %r0.x, i32 %r0.y, i32 %r0.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
  %r0.s = getelementptr inbounds i32, ptr %states, i64 %r0.i
  store i32 %r0.next, ptr %r0.s, align 4, !llvm.access.group !0
  %r0.j.next = add nuw nsw i32 %r0.j, 1
  %r0.j.more = icmp ult i32 %r0.j.next, %r0.count
  br i1 %r0.j.more, label %r0.item, label %r0.row.end, !llvm.loop !1
r0.row.end:
  %r0.count64 = zext nneg i32 %r0.count to i64
  %r0.f.next = add nuw nsw i64 %r0.f, %r0.count64
  %r0.y.plus = add nuw nsw i32 %r0.y, 1
  %r0.y.wraps = icmp eq i32 %r0.y.plus, %block_size.y
  %r0.y.next = select i1 %r0.y.wraps, i32 0, i32 %r0.y.plus
  %r0.carry.z = zext i1 %r0.y.wraps to i32
  %r0.z.next = add nuw nsw i32 %r0.z, %r0.carry.z
  %r0.row.more = icmp ult i64 %r0.f.next, %r0.last
  br i1 %r0.row.more, label %r0.row, label %r0.run.end
r0.run.end:
  %r0.run.more = icmp ne i64 %r0.rest.next, 0
  br i1 %r0.run.more, label %r0.run, label %r0.done
r0.done:
  br label %resolve
r1.begin:
  %r1.lanes = phi i64 [ %enter.lanes, %enter ]
  call void @agpu.wave.shuffle.i32(ptr %w.c4, ptr %w.c5, ptr %w.c1, i64 %r1.lanes)
  %r1.u0 = load i32, ptr %w.u0, align 8
  br label %r1.run
r1.run:
  %r1.rest = phi i64 [ %r1.lanes, %r1.begin ], [ %r1.rest.next, %r1.run.end ]
  %r1.from = call i64 @llvm.cttz.i64(i64 %r1.rest, i1 true)
  %r1.bit = shl nuw i64 1, %r1.from
  %r1.sum = add nuw i64 %r1.rest, %r1.bit
  %r1.to = call i64 @llvm.cttz.i64(i64 %r1.sum, i1 true)
  %r1.rest.next = and i64 %r1.rest, %r1.sum
  %r1.first = add nuw nsw i64 %w.first, %r1.from
  %r1.last = add nuw nsw i64 %w.first, %r1.to
  %r1.at.start = icmp eq i64 %r1.from, 0
  br i1 %r1.at.start, label %r1.row, label %r1.seek
r1.seek:
  %r1.first32 = trunc i64 %r1.first to i32
  %r1.seek.row = udiv i32 %r1.first32, %block_size.x
  %r1.seek.x = urem i32 %r1.first32, %block_size.x
  %r1.seek.y = urem i32 %r1.seek.row, %block_size.y
  %r1.seek.z = udiv i32 %r1.seek.row, %block_size.y
  br label %r1.row
r1.row:
  %r1.f = phi i64 [ %r1.first, %r1.run ], [ %r1.first, %r1.seek ], [ %r1.f.next, %r1.row.end ]
  %r1.x0 = phi i32 [ %w.x, %r1.run ], [ %r1.seek.x, %r1.seek ], [ 0, %r1.row.end ]
  %r1.y = phi i32 [ %w.y, %r1.run ], [ %r1.seek.y, %r1.seek ], [ %r1.y.next, %r1.row.end ]
  %r1.z = phi i32 [ %w.z, %r1.run ], [ %r1.seek.z, %r1.seek ], [ %r1.z.next, %r1.row.end ]
  %r1.left64 = sub nuw nsw i64 %r1.last, %r1.f
  %r1.left = trunc i64 %r1.left64 to i32
  %r1.room = sub nuw nsw i32 %block_size.x, %r1.x0
  %r1.fits = icmp ult i32 %r1.left, %r1.room
  %r1.count = select i1 %r1.fits, i32 %r1.left, i32 %r1.room
  br label %r1.item
r1.item:
  %r1.j = phi i32 [ 0, %r1.row ], [ %r1.j.next, %r1.item ]
  %r1.x = add nuw nsw i32 %r1.x0, %r1.j
  %r1.j64 = zext nneg i32 %r1.j to i64
  %r1.i = add nuw nsw i64 %r1.f, %r1.j64
  %r1.c0 = getelementptr inbounds [4 x i8], ptr %c0, i64 %r1.i
  %r1.c1 = getelementptr inbounds [4 x i8], ptr %c1, i64 %r1.i
  %r1.c4 = getelementptr inbounds [4 x i8], ptr %c4, i64 %r1.i
  %r1.c5 = getelementptr inbounds [4 x i8], ptr %c5, i64 %r1.i
  %r1.next = call i32 @k.region1(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r1.c0, ptr %r1.c1, ptr %r1.c4, ptr %r1.c5, i32 %r1.u0, ptr %w.u0, i32 %r1.x, i32 %r1.y, i32 %r1.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
  store i32 %r1.next, ptr %next.u, align 4, !llvm.access.group !0
  %r1.j.next = add nuw nsw i32 %r1.j, 1
  %r1.j.more = icmp ult i32 %r1.j.next, %r1.count
  br i1 %r1.j.more, label %r1.item, label %r1.row.end, !llvm.loop !3
r1.row.end:
  %r1.count64 = zext nneg i32 %r1.count to i64
  %r1.f.next = add nuw nsw i64 %r1.f, %r1.count64
  %r1.y.plus = add nuw nsw i32 %r1.y, 1
  %r1.y.wraps = icmp eq i32 %r1.y.plus, %block_size.y
  %r1.y.next = select i1 %r1.y.wraps, i32 0, i32 %r1.y.plus
  %r1.carry.z = zext i1 %r1.y.wraps to i32
  %r1.z.next = add nuw nsw i32 %r1.z, %r1.carry.z
  %r1.row.more = icmp ult i64 %r1.f.next, %r1.last
  br i1 %r1.row.more, label %r1.row, label %r1.run.end
r1.run.end:
  %r1.run.more = icmp ne i64 %r1.rest.next, 0
  br i1 %r1.run.more, label %r1.run, label %r1.done
r1.done:
  %r1.state = load i32, ptr %next.u, align 4
  br label %after
r2.begin:
  %r2.lanes = phi i64 [ %enter.lanes, %enter ], [ %w.full, %r8.done ]
  %r2.ballot = call i64 @agpu.wave.ballot(ptr %w.c6, i64 %r2.lanes)
  store i64 %r2.ballot, ptr %w.u1, align 8
  %r2.u1 = load i64, ptr %w.u1, align 8
  br label %r2.run
r2.run:
  %r2.rest = phi i64 [ %r2.lanes, %r2.begin ], [ %r2.rest.next, %r2.run.end ]
  %r2.from = call i64 @llvm.cttz.i64(i64 %r2.rest, i1 true)
  %r2.bit = shl nuw i64 1, %r2.from
  %r2.sum = add nuw i64 %r2.rest, %r2.bit
  %r2.to = call i64 @llvm.cttz.i64(i64 %r2.sum, i1 true)
  %r2.rest.next = and i64 %r2.rest, %r2.sum
  %r2.first = add nuw nsw i64 %w.first, %r2.from
  %r2.last = add nuw nsw i64 %w.first, %r2.to
  %r2.at.start = icmp eq i64 %r2.from, 0
  br i1 %r2.at.start, label %r2.row, label %r2.seek
r2.seek:
  %r2.first32 = trunc i64 %r2.first to i32
  %r2.seek.row = udiv i32 %r2.first32, %block_size.x
  %r2.seek.x = urem i32 %r2.first32, %block_size.x
  %r2.seek.y = urem i32 %r2.seek.row, %block_size.y
  %r2.seek.z = udiv i32 %r2.seek.row, %block_size.y
  br label %r2.row
r2.row:
  %r2.f = phi i64 [ %r2.first, %r2.run ], [ %r2.first, %r2.seek ], [ %r2.f.next, %r2.row.end ]
  %r2.x0 = phi i32 [ %w.x, %r2.run ], [ %r2.seek.x, %r2.seek ], [ 0, %r2.row.end ]
  %r2.y = phi i32 [ %w.y, %r2.run ], [ %r2.seek.y, %r2.seek ], [ %r2.y.next, %r2.row.end ]
  %r2.z = phi i32 [ %w.z, %r2.run ], [ %r2.seek.z, %r2.seek ], [ %r2.z.next, %r2.row.end ]
  %r2.left64 = sub nuw nsw i64 %r2.last, %r2.f
  %r2.left = trunc i64 %r2.left64 to i32
  %r2.room = sub nuw nsw i32 %block_size.x, %r2.x0
  %r2.fits = icmp ult i32 %r2.left, %r2.room
  %r2.count = select i1 %r2.fits, i32 %r2.left, i32 %r2.room
  br label %r2.item
r2.item:
  %r2.j = phi i32 [ 0, %r2.row ], [ %r2.j.next, %r2.item ]
  %r2.x = add nuw nsw i32 %r2.x0, %r2.j
  %r2.j64 = zext nneg i32 %r2.j to i64
  %r2.i = add nuw nsw i64 %r2.f, %r2.j64
  %r2.c4 = getelementptr inbounds [4 x i8], ptr %c4, i64 %r2.i
  %r2.next = call i32 @k.region2(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r2.c4, i64 %r2.u1, ptr %w.u2, i32 %r2.x, i32 %r2.y, i32 %r2.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
  %r2.j.next = add nuw nsw i32 %r2.j, 1
  %r2.j.more = icmp ult i32 %r2.j.next, %r2.count
  br i1 %r2.j.more, label %r2.item, label %r2.row.end, !llvm.loop !5
r2.row.end:
  %r2.count64 = zext nneg i32 %r2.count to i64
  %r2.f.next = add nuw nsw i64 %r2.f, %r2.count64
  %r2.y.plus = add nuw nsw i32 %r2.y, 1
  %r2.y.wraps = icmp eq i32 %r2.y.plus, %block_size.y
  %r2.y.next = select i1 %r2.y.wraps, i32 0, i32 %r2.y.plus
  %r2.carry.z = zext i1 %r2.y.wraps to i32
  %r2.z.next = add nuw nsw i32 %r2.z, %r2.carry.z
  %r2.row.more = icmp ult i64 %r2.f.next, %r2.last
  br i1 %r2.row.more, label %r2.row, label %r2.run.end
r2.run.end:
  %r2.run.more = icmp ne i64 %r2.rest.next, 0
  br i1 %r2.run.more, label %r2.run, label %r2.done
r2.done:
  %r2.whole = icmp eq i64 %r2.lanes, %w.full
  br i1 %r2.whole, label %r3.begin, label %after
r3.begin:
  %r3.lanes = phi i64 [ %enter.lanes, %enter ], [ %w.full, %r2.done ]
  call void @agpu.wave.match.i32(ptr %w.c4, ptr %w.c2, i64 %r3.lanes)
  %r3.u2 = load i64, ptr %w.u2, align 8
  br label %r3.run
r3.run:
  %r3.rest = phi i64 [ %r3.lanes, %r3.begin ], [ %r3.rest.next, %r3.run.end ]
  %r3.from = call i64 @llvm.cttz.i64(i64 %r3.rest, i1 true)
  %r3.bit = shl nuw i64 1, %r3.from
  %r3.sum = add nuw i64 %r3.rest, %r3.bit
  %r3.to = call i64 @llvm.cttz.i64(i64 %r3.sum, i1 true)
  %r3.rest.next = and i64 %r3.rest, %r3.sum
  %r3.first = add nuw nsw i64 %w.first, %r3.from
  %r3.last = add nuw nsw i64 %w.first, %r3.to
  %r3.at.start = icmp eq i64 %r3.from, 0
  br i1 %r3.at.start, label %r3.row, label %r3.seek
r3.seek:
  %r3.first32 = trunc i64 %r3.first to i32
  %r3.seek.row = udiv i32 %r3.first32, %block_size.x
  %r3.seek.x = urem i32 %r3.first32, %block_size.x
  %r3.seek.y = urem i32 %r3.seek.row, %block_size.y
  %r3.seek.z = udiv i32 %r3.seek.row, %block_size.y
  br label %r3.row
r3.row:
  %r3.f = phi i64 [ %r3.first, %r3.run ], [ %r3.first, %r3.seek ], [ %r3.f.next, %r3.row.end ]
  %r3.x0 = phi i32 [ %w.x, %r3.run ], [ %r3.seek.x, %r3.seek ], [ 0, %r3.row.end ]
  %r3.y = phi i32 [ %w.y, %r3.run ], [ %r3.seek.y, %r3.seek ], [ %r3.y.next, %r3.row.end ]
  %r3.z = phi i32 [ %w.z, %r3.run ], [ %r3.seek.z, %r3.seek ], [ %r3.z.next, %r3.row.end ]
  %r3.left64 = sub nuw nsw i64 %r3.last, %r3.f
  %r3.left = trunc i64 %r3.left64 to i32
  %r3.room = sub nuw nsw i32 %block_size.x, %r3.x0
  %r3.fits = icmp ult i32 %r3.left, %r3.room
  %r3.count = select i1 %r3.fits, i32 %r3.left, i32 %r3.room
  br label %r3.item
r3.item:
  %r3.j = phi i32 [ 0, %r3.row ], [ %r3.j.next, %r3.item ]
  %r3.x = add nuw nsw i32 %r3.x0, %r3.j
  %r3.j64 = zext nneg i32 %r3.j to i64
  %r3.i = add nuw nsw i64 %r3.f, %r3.j64
  %r3.c0 = getelementptr inbounds [4 x i8], ptr %c0, i64 %r3.i
  %r3.c2 = getelementptr inbounds [8 x i8], ptr %c2, i64 %r3.i
  %r3.c6 = getelementptr inbounds [1 x i8], ptr %c6, i64 %r3.i
  %r3.next = call i32 @k.region3(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r3.c0, ptr %r3.c2, ptr %r3.c6, i64 %r3.u2, i32 %r3.x, i32 %r3.y, i32 %r3.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
  %r3.s = getelementptr inbounds i32, ptr %states, i64 %r3.i
  store i32 %r3.next, ptr %r3.s, align 4, !llvm.access.group !0
  %r3.j.next = add nuw nsw i32 %r3.j, 1
  %r3.j.more = icmp ult i32 %r3.j.next, %r3.count
  br i1 %r3.j.more, label %r3.item, label %r3.row.end, !llvm.loop !7
r3.row.end:
  %r3.count64 = zext nneg i32 %r3.count to i64
  %r3.f.next = add nuw nsw i64 %r3.f, %r3.count64
  %r3.y.plus = add nuw nsw i32 %r3.y, 1
  %r3.y.wraps = icmp eq i32 %r3.y.plus, %block_size.y
  %r3.y.next = select i1 %r3.y.wraps, i32 0, i32 %r3.y.plus
  %r3.carry.z = zext i1 %r3.y.wraps to i32
  %r3.z.next = add nuw nsw i32 %r3.z, %r3.carry.z
  %r3.row.more = icmp ult i64 %r3.f.next, %r3.last
  br i1 %r3.row.more, label %r3.row, label %r3.run.end
r3.run.end:
  %r3.run.more = icmp ne i64 %r3.rest.next, 0
  br i1 %r3.run.more, label %r3.run, label %r3.done
r3.done:
  br label %resolve
r4.begin:
  %r4.lanes = phi i64 [ %enter.lanes, %enter ]
  %r4.ballot = call i64 @agpu.wave.ballot(ptr %w.c6, i64 %r4.lanes)
  call void @agpu.wave.spread(ptr %w.c3, i64 %r4.lanes, i64 %r4.ballot)
  br label %r4.run
r4.run:
  %r4.rest = phi i64 [ %r4.lanes, %r4.begin ], [ %r4.rest.next, %r4.run.end ]
  %r4.from = call i64 @llvm.cttz.i64(i64 %r4.rest, i1 true)
  %r4.bit = shl nuw i64 1, %r4.from
  %r4.sum = add nuw i64 %r4.rest, %r4.bit
  %r4.to = call i64 @llvm.cttz.i64(i64 %r4.sum, i1 true)
  %r4.rest.next = and i64 %r4.rest, %r4.sum
  %r4.first = add nuw nsw i64 %w.first, %r4.from
  %r4.last = add nuw nsw i64 %w.first, %r4.to
  %r4.at.start = icmp eq i64 %r4.from, 0
  br i1 %r4.at.start, label %r4.row, label %r4.seek
r4.seek:
  %r4.first32 = trunc i64 %r4.first to i32
  %r4.seek.row = udiv i32 %r4.first32, %block_size.x
  %r4.seek.x = urem i32 %r4.first32, %block_size.x
  %r4.seek.y = urem i32 %r4.seek.row, %block_size.y
  %r4.seek.z = udiv i32 %r4.seek.row, %block_size.y
  br label %r4.row
r4.row:
  %r4.f = phi i64 [ %r4.first, %r4.run ], [ %r4.first, %r4.seek ], [ %r4.f.next, %r4.row.end ]
  %r4.x0 = phi i32 [ %w.x, %r4.run ], [ %r4.seek.x, %r4.seek ], [ 0, %r4.row.end ]
  %r4.y = phi i32 [ %w.y, %r4.run ], [ %r4.seek.y, %r4.seek ], [ %r4.y.next, %r4.row.end ]
  %r4.z = phi i32 [ %w.z, %r4.run ], [ %r4.seek.z, %r4.seek ], [ %r4.z.next, %r4.row.end ]
  %r4.left64 = sub nuw nsw i64 %r4.last, %r4.f
  %r4.left = trunc i64 %r4.left64 to i32
  %r4.room = sub nuw nsw i32 %block_size.x, %r4.x0
  %r4.fits = icmp ult i32 %r4.left, %r4.room
  %r4.count = select i1 %r4.fits, i32 %r4.left, i32 %r4.room
  br label %r4.item
r4.item:
  %r4.j = phi i32 [ 0, %r4.row ], [ %r4.j.next, %r4.item ]
  %r4.x = add nuw nsw i32 %r4.x0, %r4.j
  %r4.j64 = zext nneg i32 %r4.j to i64
  %r4.i = add nuw nsw i64 %r4.f, %r4.j64
  %r4.c3 = getelementptr inbounds [8 x i8], ptr %c3, i64 %r4.i
  %r4.c5 = getelementptr inbounds [4 x i8], ptr %c5, i64 %r4.i
  %r4.c7 = getelementptr inbounds [8 x i8], ptr %c7, i64 %r4.i
  %r4.next = call i32 @k.region4(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r4.c3, ptr %r4.c5, ptr %r4.c7, i32 %r4.x, i32 %r4.y, i32 %r4.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
  %r4.j.next = add nuw nsw i32 %r4.j, 1
  %r4.j.more = icmp ult i32 %r4.j.next, %r4.count
  br i1 %r4.j.more, label %r4.item, label %r4.row.end, !llvm.loop !9
r4.row.end:
  %r4.count64 = zext nneg i32 %r4.count to i64
  %r4.f.next = add nuw nsw i64 %r4.f, %r4.count64
  %r4.y.plus = add nuw nsw i32 %r4.y, 1
  %r4.y.wraps = icmp eq i32 %r4.y.plus, %block_size.y
  %r4.y.next = select i1 %r4.y.wraps, i32 0, i32 %r4.y.plus
  %r4.carry.z = zext i1 %r4.y.wraps to i32
  %r4.z.next = add nuw nsw i32 %r4.z, %r4.carry.z
  %r4.row.more = icmp ult i64 %r4.f.next, %r4.last
  br i1 %r4.row.more, label %r4.row, label %r4.run.end
r4.run.end:
  %r4.run.more = icmp ne i64 %r4.rest.next, 0
  br i1 %r4.run.more, label %r4.run, label %r4.done
r4.done:
  %r4.whole = icmp eq i64 %r4.lanes, %w.full
  br i1 %r4.whole, label %r5.begin, label %after
r5.begin:
  %r5.lanes = phi i64 [ %enter.lanes, %enter ], [ %w.full, %r4.done ]
  call void @agpu.wave.shuffle.i64(ptr %w.c7, ptr %w.c5, ptr %w.c3, i64 %r5.lanes)
  br label %r5.run
r5.run:
  %r5.rest = phi i64 [ %r5.lanes, %r5.begin ], [ %r5.rest.next, %r5.run.end ]
  %r5.from = call i64 @llvm.cttz.i64(i64 %r5.rest, i1 true)
  %r5.bit = shl nuw i64 1, %r5.from
  %r5.sum = add nuw i64 %r5.rest, %r5.bit
  %r5.to = call i64 @llvm.cttz.i64(i64 %r5.sum, i1 true)
  %r5.rest.next = and i64 %r5.rest, %r5.sum
  %r5.first = add nuw nsw i64 %w.first, %r5.from
  %r5.last = add nuw nsw i64 %w.first, %r5.to
  %r5.at.start = icmp eq i64 %r5.from, 0
  br i1 %r5.at.start, label %r5.row, label %r5.seek
r5.seek:
  %r5.first32 = trunc i64 %r5.first to i32
  %r5.seek.row = udiv i32 %r5.first32, %block_size.x
  %r5.seek.x = urem i32 %r5.first32, %block_size.x
  %r5.seek.y = urem i32 %r5.seek.row, %block_size.y
  %r5.seek.z = udiv i32 %r5.seek.row, %block_size.y
  br label %r5.row
r5.row:
  %r5.f = phi i64 [ %r5.first, %r5.run ], [ %r5.first, %r5.seek ], [ %r5.f.next, %r5.row.end ]
  %r5.x0 = phi i32 [ %w.x, %r5.run ], [ %r5.seek.x, %r5.seek ], [ 0, %r5.row.end ]
  %r5.y = phi i32 [ %w.y, %r5.run ], [ %r5.seek.y, %r5.seek ], [ %r5.y.next, %r5.row.end ]
  %r5.z = phi i32 [ %w.z, %r5.run ], [ %r5.seek.z, %r5.seek ], [ %r5.z.next, %r5.row.end ]
  %r5.left64 = sub nuw nsw i64 %r5.last, %r5.f
  %r5.left = trunc i64 %r5.left64 to i32
  %r5.room = sub nuw nsw i32 %block_size.x, %r5.x0
  %r5.fits = icmp ult i32 %r5.left, %r5.room
  %r5.count = select i1 %r5.fits, i32 %r5.left, i32 %r5.room
  br label %r5.item
r5.item:
  %r5.j = phi i32 [ 0, %r5.row ], [ %r5.j.next, %r5.item ]
  %r5.x = add nuw nsw i32 %r5.x0, %r5.j
  %r5.j64 = zext nneg i32 %r5.j to i64
  %r5.i = add nuw nsw i64 %r5.f, %r5.j64
  %r5.c0 = getelementptr inbounds [4 x i8], ptr %c0, i64 %r5.i
  %r5.c2 = getelementptr inbounds [8 x i8], ptr %c2, i64 %r5.i
  %r5.c3 = getelementptr inbounds [8 x i8], ptr %c3, i64 %r5.i
  %r5.c6 = getelementptr inbounds [1 x i8], ptr %c6, i64 %r5.i
  %r5.next = call i32 @k.region5(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r5.c0, ptr %r5.c2, ptr %r5.c3, ptr %r5.c6, i32 %r5.x, i32 %r5.y, i32 %r5.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
  %r5.s = getelementptr inbounds i32, ptr %states, i64 %r5.i
  store i32 %r5.next, ptr %r5.s, align 4, !llvm.access.group !0
  %r5.j.next = add nuw nsw i32 %r5.j, 1
  %r5.j.more = icmp ult i32 %r5.j.next, %r5.count
  br i1 %r5.j.more, label %r5.item, label %r5.row.end, !llvm.loop !11
r5.row.end:
  %r5.count64 = zext nneg i32 %r5.count to i64
  %r5.f.next = add nuw nsw i64 %r5.f, %r5.count64
  %r5.y.plus = add nuw nsw i32 %r5.y, 1
  %r5.y.wraps = icmp eq i32 %r5.y.plus, %block_size.y
  %r5.y.next = select i1 %r5.y.wraps, i32 0, i32 %r5.y.plus
  %r5.carry.z = zext i1 %r5.y.wraps to i32
  %r5.z.next = add nuw nsw i32 %r5.z, %r5.carry.z
  %r5.row.more = icmp ult i64 %r5.f.next, %r5.last
  br i1 %r5.row.more, label %r5.row, label %r5.run.end
r5.run.end:
  %r5.run.more = icmp ne i64 %r5.rest.next, 0
  br i1 %r5.run.more, label %r5.run, label %r5.done
r5.done:
  br label %resolve
r6.begin:
  %r6.lanes = phi i64 [ %enter.lanes, %enter ]
  br label %r6.run
r6.run:
  %r6.rest = phi i64 [ %r6.lanes, %r6.begin ], [ %r6.rest.next, %r6.run.end ]
  %r6.from = call i64 @llvm.cttz.i64(i64 %r6.rest, i1 true)
  %r6.bit = shl nuw i64 1, %r6.from
  %r6.sum = add nuw i64 %r6.rest, %r6.bit
  %r6.to = call i64 @llvm.cttz.i64(i64 %r6.sum, i1 true)
  %r6.rest.next = and i64 %r6.rest, %r6.sum
  %r6.first = add nuw nsw i64 %w.first, %r6.from
  %r6.last = add nuw nsw i64 %w.first, %r6.to
  %r6.at.start = icmp eq i64 %r6.from, 0
  br i1 %r6.at.start, label %r6.row, label %r6.seek
r6.seek:
  %r6.first32 = trunc i64 %r6.first to i32
  %r6.seek.row = udiv i32 %r6.first32, %block_size.x
  %r6.seek.x = urem i32 %r6.first32, %block_size.x
  %r6.seek.y = urem i32 %r6.seek.row, %block_size.y
  %r6.seek.z = udiv i32 %r6.seek.row, %block_size.y
  br label %r6.row
r6.row:
  %r6.f = phi i64 [ %r6.first, %r6.run ], [ %r6.first, %r6.seek ], [ %r6.f.next, %r6.row.end ]
  %r6.x0 = phi i32 [ %w.x, %r6.run ], [ %r6.seek.x, %r6.seek ], [ 0, %r6.row.end ]
  %r6.y = phi i32 [ %w.y, %r6.run ], [ %r6.seek.y, %r6.seek ], [ %r6.y.next, %r6.row.end ]
  %r6.z = phi i32 [ %w.z, %r6.run ], [ %r6.seek.z, %r6.seek ], [ %r6.z.next, %r6.row.end ]
  %r6.left64 = sub nuw nsw i64 %r6.last, %r6.f
  %r6.left = trunc i64 %r6.left64 to i32
  %r6.room = sub nuw nsw i32 %block_size.x, %r6.x0
  %r6.fits = icmp ult i32 %r6.left, %r6.room
  %r6.count = select i1 %r6.fits, i32 %r6.left, i32 %r6.room
  br label %r6.item
r6.item:
  %r6.j = phi i32 [ 0, %r6.row ], [ %r6.j.next, %r6.item ]
  %r6.x = add nuw nsw i32 %r6.x0, %r6.j
  %r6.j64 = zext nneg i32 %r6.j to i64
  %r6.i = add nuw nsw i64 %r6.f, %r6.j64
  %r6.c7 = getelementptr inbounds [8 x i8], ptr %c7, i64 %r6.i
  %r6.next = call i32 @k.region6(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r6.c7, i32 %r6.x, i32 %r6.y, i32 %r6.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
  %r6.j.next = add nuw nsw i32 %r6.j, 1
  %r6.j.more = icmp ult i32 %r6.j.next, %r6.count
  br i1 %r6.j.more, label %r6.item, label %r6.row.end, !llvm.loop !13
r6.row.end:
  %r6.count64 = zext nneg i32 %r6.count to i64
  %r6.f.next = add nuw nsw i64 %r6.f, %r6.count64
  %r6.y.plus = add nuw nsw i32 %r6.y, 1
  %r6.y.wraps = icmp eq i32 %r6.y.plus, %block_size.y
  %r6.y.next = select i1 %r6.y.wraps, i32 0, i32 %r6.y.plus
  %r6.carry.z = zext i1 %r6.y.wraps to i32
  %r6.z.next = add nuw nsw i32 %r6.z, %r6.carry.z
  %r6.row.more = icmp ult i64 %r6.f.next, %r6.last
  br i1 %r6.row.more, label %r6.row, label %r6.run.end
r6.run.end:
  %r6.run.more = icmp ne i64 %r6.rest.next, 0
  br i1 %r6.run.more, label %r6.run, label %r6.done
r6.done:
  %r6.whole = icmp eq i64 %r6.lanes, %w.full
  br i1 %r6.whole, label %r7.begin, label %after
r7.begin:
  %r7.lanes = phi i64 [ %enter.lanes, %enter ], [ %w.full, %r6.done ]
  call void @agpu.wave.match.i64(ptr %w.c7, ptr %w.c2, i64 %r7.lanes)
  br label %r7.run
r7.run:
  %r7.rest = phi i64 [ %r7.lanes, %r7.begin ], [ %r7.rest.next, %r7.run.end ]
  %r7.from = call i64 @llvm.cttz.i64(i64 %r7.rest, i1 true)
  %r7.bit = shl nuw i64 1, %r7.from
  %r7.sum = add nuw i64 %r7.rest, %r7.bit
  %r7.to = call i64 @llvm.cttz.i64(i64 %r7.sum, i1 true)
  %r7.rest.next = and i64 %r7.rest, %r7.sum
  %r7.first = add nuw nsw i64 %w.first, %r7.from
  %r7.last = add nuw nsw i64 %w.first, %r7.to
  %r7.at.start = icmp eq i64 %r7.from, 0
  br i1 %r7.at.start, label %r7.row, label %r7.seek
r7.seek:
  %r7.first32 = trunc i64 %r7.first to i32
  %r7.seek.row = udiv i32 %r7.first32, %block_size.x
  %r7.seek.x = urem i32 %r7.first32, %block_size.x
  %r7.seek.y = urem i32 %r7.seek.row, %block_size.y
  %r7.seek.z = udiv i32 %r7.seek.row, %block_size.y
  br label %r7.row
r7.row:
  %r7.f = phi i64 [ %r7.first, %r7.run ], [ %r7.first, %r7.seek ], [ %r7.f.next, %r7.row.end ]
  %r7.x0 = phi i32 [ %w.x, %r7.run ], [ %r7.seek.x, %r7.seek ], [ 0, %r7.row.end ]
  %r7.y = phi i32 [ %w.y, %r7.run ], [ %r7.seek.y, %r7.seek ], [ %r7.y.next, %r7.row.end ]
  %r7.z = phi i32 [ %w.z, %r7.run ], [ %r7.seek.z, %r7.seek ], [ %r7.z.next, %r7.row.end ]
  %r7.left64 = sub nuw nsw i64 %r7.last, %r7.f
  %r7.left = trunc i64 %r7.left64 to i32
  %r7.room = sub nuw nsw i32 %block_size.x, %r7.x0
  %r7.fits = icmp ult i32 %r7.left, %r7.room
  %r7.count = select i1 %r7.fits, i32 %r7.left, i32 %r7.room
  br label %r7.item
r7.item:
  %r7.j = phi i32 [ 0, %r7.row ], [ %r7.j.next, %r7.item ]
  %r7.x = add nuw nsw i32 %r7.x0, %r7.j
  %r7.j64 = zext nneg i32 %r7.j to i64
  %r7.i = add nuw nsw i64 %r7.f, %r7.j64
  %r7.c2 = getelementptr inbounds [8 x i8], ptr %c2, i64 %r7.i
  %r7.next = call i32 @k.region7(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r7.c2, i32 %r7.x, i32 %r7.y, i32 %r7.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
  %r7.j.next = add nuw nsw i32 %r7.j, 1
  %r7.j.more = icmp ult i32 %r7.j.next, %r7.count
  br i1 %r7.j.more, label %r7.item, label %r7.row.end, !llvm.loop !15
r7.row.end:
  %r7.count64 = zext nneg i32 %r7.count to i64
  %r7.f.next = add nuw nsw i64 %r7.f, %r7.count64
  %r7.y.plus = add nuw nsw i32 %r7.y, 1
  %r7.y.wraps = icmp eq i32 %r7.y.plus, %block_size.y
  %r7.y.next = select i1 %r7.y.wraps, i32 0, i32 %r7.y.plus
  %r7.carry.z = zext i1 %r7.y.wraps to i32
  %r7.z.next = add nuw nsw i32 %r7.z, %r7.carry.z
  %r7.row.more = icmp ult i64 %r7.f.next, %r7.last
  br i1 %r7.row.more, label %r7.row, label %r7.run.end
r7.run.end:
  %r7.run.more = icmp ne i64 %r7.rest.next, 0
  br i1 %r7.run.more, label %r7.run, label %r7.done
r7.done:
  br label %after
r8.begin:
  %r8.lanes = phi i64 [ %enter.lanes, %enter ]
  br label %r8.run
r8.run:
  %r8.rest = phi i64 [ %r8.lanes, %r8.begin ], [ %r8.rest.next, %r8.run.end ]
  %r8.from = call i64 @llvm.cttz.i64(i64 %r8.rest, i1 true)
  %r8.bit = shl nuw i64 1, %r8.from
  %r8.sum = add nuw i64 %r8.rest, %r8.bit
  %r8.to = call i64 @llvm.cttz.i64(i64 %r8.sum, i1 true)
  %r8.rest.next = and i64 %r8.rest, %r8.sum
  %r8.first = add nuw nsw i64 %w.first, %r8.from
  %r8.last = add nuw nsw i64 %w.first, %r8.to
  %r8.at.start = icmp eq i64 %r8.from, 0
  br i1 %r8.at.start, label %r8.row, label %r8.seek
r8.seek:
  %r8.first32 = trunc i64 %r8.first to i32
  %r8.seek.row = udiv i32 %r8.first32, %block_size.x
  %r8.seek.x = urem i32 %r8.first32, %block_size.x
  %r8.seek.y = urem i32 %r8.seek.row, %block_size.y
  %r8.seek.z = udiv i32 %r8.seek.row, %block_size.y
  br label %r8.row
r8.row:
  %r8.f = phi i64 [ %r8.first, %r8.run ], [ %r8.first, %r8.seek ], [ %r8.f.next, %r8.row.end ]
  %r8.x0 = phi i32 [ %w.x, %r8.run ], [ %r8.seek.x, %r8.seek ], [ 0, %r8.row.end ]
  %r8.y = phi i32 [ %w.y, %r8.run ], [ %r8.seek.y, %r8.seek ], [ %r8.y.next, %r8.row.end ]
  %r8.z = phi i32 [ %w.z, %r8.run ], [ %r8.seek.z, %r8.seek ], [ %r8.z.next, %r8.row.end ]
  %r8.left64 = sub nuw nsw i64 %r8.last, %r8.f
  %r8.left = trunc i64 %r8.left64 to i32
  %r8.room = sub nuw nsw i32 %block_size.x, %r8.x0
  %r8.fits = icmp ult i32 %r8.left, %r8.room
  %r8.count = select i1 %r8.fits, i32 %r8.left, i32 %r8.room
  br label %r8.item
r8.item:
  %r8.j = phi i32 [ 0, %r8.row ], [ %r8.j.next, %r8.item ]
  %r8.x = add nuw nsw i32 %r8.x0, %r8.j
  %r8.j64 = zext nneg i32 %r8.j to i64
  %r8.i = add nuw nsw i64 %r8.f, %r8.j64
  %r8.c0 = getelementptr inbounds [4 x i8], ptr %c0, i64 %r8.i
  %r8.c6 = getelementptr inbounds [1 x i8], ptr %c6, i64 %r8.i
  %r8.next = call i32 @k.region8(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r8.c0, ptr %r8.c6, i32 %r8.x, i32 %r8.y, i32 %r8.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
  %r8.j.next = add nuw nsw i32 %r8.j, 1
  %r8.j.more = icmp ult i32 %r8.j.next, %r8.count
  br i1 %r8.j.more, label %r8.item, label %r8.row.end, !llvm.loop !17
r8.row.end:
  %r8.count64 = zext nneg i32 %r8.count to i64
  %r8.f.next = add nuw nsw i64 %r8.f, %r8.count64
  %r8.y.plus = add nuw nsw i32 %r8.y, 1
  %r8.y.wraps = icmp eq i32 %r8.y.plus, %block_size.y
  %r8.y.next = select i1 %r8.y.wraps, i32 0, i32 %r8.y.plus
  %r8.carry.z = zext i1 %r8.y.wraps to i32
  %r8.z.next = add nuw nsw i32 %r8.z, %r8.carry.z
  %r8.row.more = icmp ult i64 %r8.f.next, %r8.last
  br i1 %r8.row.more, label %r8.row, label %r8.run.end
r8.run.end:
  %r8.run.more = icmp ne i64 %r8.rest.next, 0
  br i1 %r8.run.more, label %r8.run, label %r8.done
r8.done:
  %r8.whole = icmp eq i64 %r8.lanes, %w.full
  br i1 %r8.whole, label %r2.begin, label %after
after:
  %a.state = phi i32 [ %r1.state, %r1.done ], [ 3, %r2.done ], [ 5, %r4.done ], [ 7, %r6.done ], [ 9, %r7.done ], [ 2, %r8.done ]
  %a.lanes = phi i64 [ %r1.lanes, %r1.done ], [ %r2.lanes, %r2.done ], [ %r4.lanes, %r4.done ], [ %r6.lanes, %r6.done ], [ %r7.lanes, %r7.done ], [ %r8.lanes, %r8.done ]
  %a.whole = icmp eq i64 %a.lanes, %w.full
  br i1 %a.whole, label %after.whole, label %after.part
after.whole:
  %a.runs = icmp ult i32 %a.state, 8
  br i1 %a.runs, label %enter, label %after.stop
after.stop:
  store i32 %a.state, ptr %w.cell, align 8
  br label %wave.end
after.part:
  call void @agpu.wave.fill(ptr %w.states, i64 %a.lanes, i32 %a.state)
  br label %resolve
resolve:
  %v.state = call i32 @agpu.wave.lowest(ptr %w.states, i64 %w.full)
  %v.lanes = call i64 @agpu.wave.same(ptr %w.states, i64 %w.full, i32 %v.state)
  %v.whole = icmp eq i64 %v.lanes, %w.full
  %v.kept = select i1 %v.whole, i32 %v.state, i32 10
  store i32 %v.kept, ptr %w.cell, align 8
  %v.runs = icmp ult i32 %v.state, 8
  br i1 %v.runs, label %enter, label %wave.end
wave.end:
  %e.kept = load i32, ptr %w.cell, align 8
  %e.more = icmp ne i32 %e.kept, 9
  %w.left.next = or i1 %w.left, %e.more
  %w.first.next = add nuw nsw i64 %w.first, 32
  %w.more = icmp ult i64 %w.first.next, %items
  br i1 %w.more, label %wave.begin, label %round.end
round.end:
  br i1 %w.left.next, label %round, label %block.end
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

!1 = distinct !{!1, !2, !{!"llvm.loop.interleave.count", i32 1}}
!2 = !{!"llvm.loop.parallel_accesses", !0}

!3 = distinct !{!3, !4, !{!"llvm.loop.interleave.count", i32 1}}
!4 = !{!"llvm.loop.parallel_accesses", !0}

!5 = distinct !{!5, !6, !{!"llvm.loop.interleave.count", i32 1}}
!6 = !{!"llvm.loop.parallel_accesses", !0}

!7 = distinct !{!7, !8, !{!"llvm.loop.interleave.count", i32 1}}
!8 = !{!"llvm.loop.parallel_accesses", !0}

!9 = distinct !{!9, !10, !{!"llvm.loop.interleave.count", i32 1}}
!10 = !{!"llvm.loop.parallel_accesses", !0}

!11 = distinct !{!11, !12, !{!"llvm.loop.interleave.count", i32 1}}
!12 = !{!"llvm.loop.parallel_accesses", !0}

!13 = distinct !{!13, !14, !{!"llvm.loop.interleave.count", i32 1}}
!14 = !{!"llvm.loop.parallel_accesses", !0}

!15 = distinct !{!15, !16, !{!"llvm.loop.interleave.count", i32 1}}
!16 = !{!"llvm.loop.parallel_accesses", !0}

!17 = distinct !{!17, !18, !{!"llvm.loop.interleave.count", i32 1}}
!18 = !{!"llvm.loop.parallel_accesses", !0}

define internal i32 @agpu.wave.lowest(ptr %states, i64 %lanes) #0 {
  %all = load <32 x i32>, ptr %states, align 4
  %bits = trunc i64 %lanes to i32
  %some = bitcast i32 %bits to <32 x i1>
  %states.some = select <32 x i1> %some, <32 x i32> %all, <32 x i32> splat (i32 -1)
  %lowest = call i32 @llvm.vector.reduce.umin.v32i32(<32 x i32> %states.some)
  ret i32 %lowest
}

define internal i64 @agpu.wave.ballot(ptr %conditions, i64 %lanes) #0 {
  %bytes = load <32 x i8>, ptr %conditions, align 1
  %bools = trunc <32 x i8> %bytes to <32 x i1>
  %bits = bitcast <32 x i1> %bools to i32
  %wide = zext i32 %bits to i64
  %some = and i64 %wide, %lanes
  ret i64 %some
}

define internal i64 @agpu.wave.same(ptr %states, i64 %lanes, i32 %state) #0 {
  %all = load <32 x i32>, ptr %states, align 4
  %first = insertelement <32 x i32> poison, i32 %state, i64 0
  %wanted = shufflevector <32 x i32> %first, <32 x i32> poison, <32 x i32> zeroinitializer
  %same = icmp eq <32 x i32> %all, %wanted
  %bits = bitcast <32 x i1> %same to i32
  %wide = zext i32 %bits to i64
  %some = and i64 %wide, %lanes
  ret i64 %some
}

define internal void @agpu.wave.fill(ptr %states, i64 %lanes, i32 %state) #0 {
  %all = load <32 x i32>, ptr %states, align 4
  %first = insertelement <32 x i32> poison, i32 %state, i64 0
  %new = shufflevector <32 x i32> %first, <32 x i32> poison, <32 x i32> zeroinitializer
  %bits = trunc i64 %lanes to i32
  %some = bitcast i32 %bits to <32 x i1>
  %filled = select <32 x i1> %some, <32 x i32> %new, <32 x i32> %all
  store <32 x i32> %filled, ptr %states, align 4
  ret void
}

define internal void @agpu.wave.match.i32(ptr noalias %words, ptr noalias %results, i64 %lanes) #0 {
entry:
  %all = load <32 x i32>, ptr %words, align 4
  br label %lane
lane:
  %rest = phi i64 [ %lanes, %entry ], [ %rest.next, %lane ]
  %s = call i64 @llvm.cttz.i64(i64 %rest, i1 true)
  %w = getelementptr inbounds i32, ptr %words, i64 %s
  %word = load i32, ptr %w, align 4
  %first = insertelement <32 x i32> poison, i32 %word, i64 0
  %wanted = shufflevector <32 x i32> %first, <32 x i32> poison, <32 x i32> zeroinitializer
  %same = icmp eq <32 x i32> %all, %wanted
  %bits = bitcast <32 x i1> %same to i32
  %wide = zext i32 %bits to i64
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

define internal void @agpu.wave.match.i64(ptr noalias %words, ptr noalias %results, i64 %lanes) #0 {
entry:
  %all = load <32 x i64>, ptr %words, align 4
  br label %lane
lane:
  %rest = phi i64 [ %lanes, %entry ], [ %rest.next, %lane ]
  %s = call i64 @llvm.cttz.i64(i64 %rest, i1 true)
  %w = getelementptr inbounds i64, ptr %words, i64 %s
  %word = load i64, ptr %w, align 4
  %first = insertelement <32 x i64> poison, i64 %word, i64 0
  %wanted = shufflevector <32 x i64> %first, <32 x i64> poison, <32 x i32> zeroinitializer
  %same = icmp eq <32 x i64> %all, %wanted
  %bits = bitcast <32 x i1> %same to i32
  %wide = zext i32 %bits to i64
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

define internal void @agpu.wave.shuffle.i32(ptr noalias %words, ptr noalias %sources, ptr noalias %results, i64 %lanes) #0 {
entry:
  %unused = sub nuw nsw i64 64, 32
  %full = lshr i64 -1, %unused
  %is_full = icmp eq i64 %lanes, %full
  br i1 %is_full, label %all, label %some
all:
  %a = phi i64 [ 0, %entry ], [ %a.next, %all ]
  %a.s = getelementptr inbounds i32, ptr %sources, i64 %a
  %a.source = load i32, ptr %a.s, align 4
  %a.source64 = zext i32 %a.source to i64
  %a.is_there = icmp ult i64 %a.source64, 32
  %a.from = select i1 %a.is_there, i64 %a.source64, i64 %a
  %a.w = getelementptr inbounds i32, ptr %words, i64 %a.from
  %a.word = load i32, ptr %a.w, align 4
  %a.r = getelementptr inbounds i32, ptr %results, i64 %a
  store i32 %a.word, ptr %a.r, align 4
  %a.next = add nuw nsw i64 %a, 1
  %a.more = icmp ult i64 %a.next, 32
  br i1 %a.more, label %all, label %done
some:
  %rest = phi i64 [ %lanes, %entry ], [ %rest.next, %some ]
  %s = call i64 @llvm.cttz.i64(i64 %rest, i1 true)
  %s.s = getelementptr inbounds i32, ptr %sources, i64 %s
  %s.source = load i32, ptr %s.s, align 4
  %s.source64 = zext i32 %s.source to i64
  %s.is_lane = icmp ult i64 %s.source64, 32
  %s.lane = select i1 %s.is_lane, i64 %s.source64, i64 %s
  %s.shifted = lshr i64 %lanes, %s.lane
  %s.is_there = trunc i64 %s.shifted to i1
  %s.from = select i1 %s.is_there, i64 %s.lane, i64 %s
  %s.w = getelementptr inbounds i32, ptr %words, i64 %s.from
  %s.word = load i32, ptr %s.w, align 4
  %s.r = getelementptr inbounds i32, ptr %results, i64 %s
  store i32 %s.word, ptr %s.r, align 4
  %less = sub i64 %rest, 1
  %rest.next = and i64 %rest, %less
  %s.more = icmp ne i64 %rest.next, 0
  br i1 %s.more, label %some, label %done
done:
  ret void
}

define internal void @agpu.wave.shuffle.i64(ptr noalias %words, ptr noalias %sources, ptr noalias %results, i64 %lanes) #0 {
entry:
  %unused = sub nuw nsw i64 64, 32
  %full = lshr i64 -1, %unused
  %is_full = icmp eq i64 %lanes, %full
  br i1 %is_full, label %all, label %some
all:
  %a = phi i64 [ 0, %entry ], [ %a.next, %all ]
  %a.s = getelementptr inbounds i32, ptr %sources, i64 %a
  %a.source = load i32, ptr %a.s, align 4
  %a.source64 = zext i32 %a.source to i64
  %a.is_there = icmp ult i64 %a.source64, 32
  %a.from = select i1 %a.is_there, i64 %a.source64, i64 %a
  %a.w = getelementptr inbounds i64, ptr %words, i64 %a.from
  %a.word = load i64, ptr %a.w, align 4
  %a.r = getelementptr inbounds i64, ptr %results, i64 %a
  store i64 %a.word, ptr %a.r, align 4
  %a.next = add nuw nsw i64 %a, 1
  %a.more = icmp ult i64 %a.next, 32
  br i1 %a.more, label %all, label %done
some:
  %rest = phi i64 [ %lanes, %entry ], [ %rest.next, %some ]
  %s = call i64 @llvm.cttz.i64(i64 %rest, i1 true)
  %s.s = getelementptr inbounds i32, ptr %sources, i64 %s
  %s.source = load i32, ptr %s.s, align 4
  %s.source64 = zext i32 %s.source to i64
  %s.is_lane = icmp ult i64 %s.source64, 32
  %s.lane = select i1 %s.is_lane, i64 %s.source64, i64 %s
  %s.shifted = lshr i64 %lanes, %s.lane
  %s.is_there = trunc i64 %s.shifted to i1
  %s.from = select i1 %s.is_there, i64 %s.lane, i64 %s
  %s.w = getelementptr inbounds i64, ptr %words, i64 %s.from
  %s.word = load i64, ptr %s.w, align 4
  %s.r = getelementptr inbounds i64, ptr %results, i64 %s
  store i64 %s.word, ptr %s.r, align 4
  %less = sub i64 %rest, 1
  %rest.next = and i64 %rest, %less
  %s.more = icmp ne i64 %rest.next, 0
  br i1 %s.more, label %some, label %done
done:
  ret void
}

define internal void @agpu.wave.spread(ptr %results, i64 %lanes, i64 %value) #0 {
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

declare i32 @llvm.vector.reduce.umin.v32i32(<32 x i32>) #1
declare i64 @llvm.cttz.i64(i64, i1) #1
declare i64 @llvm.umin.i64(i64, i64) #1
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
