source_filename = "tiled_gemm.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal i32 @tiled_gemm.region2(ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i32 %p3, i32 %p4, i32 %p5, ptr %p6, i32 %p7, ptr %p8) alwaysinline #0 {
b0:
  %v8 = add i32 %p7, 16
  %v10 = icmp slt i32 %v8, %p5
  br i1 %v10, label %b3, label %b4
b3:
  store i32 %v8, ptr %p8, align 4, !llvm.access.group !0
  ret i32 3
b4:
  ret i32 4
}

define internal <8 x i32> @tiled_gemm.region0.lanes(ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i32 %p3, i32 %p4, i32 %p5, ptr %p6, ptr %p7, ptr %p8, <8 x i1> %active) alwaysinline #0 {
entry:
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  br label %b0
b0:
  %v11 = icmp slt i32 0, %p5
  br i1 %v11, label %e0.0, label %e0.1
e0.0:
  br label %b3
e0.1:
  br label %b4
b3:
  store i32 0, ptr %p8, align 4
  call void @llvm.masked.store.v8f32.p0(<8 x float> zeroinitializer, ptr align 4 %p7, <8 x i1> %active)
  %t1 = load <8 x i32>, ptr %result, align 64
  %t2 = select <8 x i1> %active, <8 x i32> splat (i32 3), <8 x i32> %t1
  store <8 x i32> %t2, ptr %result, align 64
  br label %end
b4:
  call void @llvm.masked.store.v8f32.p0(<8 x float> zeroinitializer, ptr align 4 %p7, <8 x i1> %active)
  %t3 = load <8 x i32>, ptr %result, align 64
  %t4 = select <8 x i1> %active, <8 x i32> splat (i32 4), <8 x i32> %t3
  store <8 x i32> %t4, ptr %result, align 64
  br label %end
end:
  %t5 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t5
}

define internal <8 x i32> @tiled_gemm.region1.lanes(ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i32 %p3, i32 %p4, i32 %p5, ptr %p6, ptr %p7, i32 %thread_index.x, i32 %thread_index.y, <8 x i1> %active) alwaysinline #0 {
entry:
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  br label %b0
b0:
  %v24 = getelementptr inbounds i8, ptr %p6, i64 1024
  %s25 = add i32 %thread_index.x, 0
  %v26 = add i32 %thread_index.y, 0
  %v27 = sext i32 %v26 to i64
  %v28 = getelementptr inbounds [64 x i8], ptr %p6, i64 %v27
  %s29 = sext i32 %s25 to i64
  %s30 = getelementptr i32, ptr %v24, i64 %s29
  %v31 = getelementptr inbounds i32, ptr %v28, i64 1
  %s32 = getelementptr [64 x i8], ptr %s30, i64 1
  %v33 = getelementptr inbounds i32, ptr %v28, i64 2
  %s34 = getelementptr [64 x i8], ptr %s30, i64 2
  %v35 = getelementptr inbounds i32, ptr %v28, i64 3
  %s36 = getelementptr [64 x i8], ptr %s30, i64 3
  %v37 = getelementptr inbounds i32, ptr %v28, i64 4
  %s38 = getelementptr [64 x i8], ptr %s30, i64 4
  %v39 = getelementptr inbounds i32, ptr %v28, i64 5
  %s40 = getelementptr [64 x i8], ptr %s30, i64 5
  %v41 = getelementptr inbounds i32, ptr %v28, i64 6
  %s42 = getelementptr [64 x i8], ptr %s30, i64 6
  %v43 = getelementptr inbounds i32, ptr %v28, i64 7
  %s44 = getelementptr [64 x i8], ptr %s30, i64 7
  %v45 = getelementptr inbounds i32, ptr %v28, i64 8
  %s46 = getelementptr [64 x i8], ptr %s30, i64 8
  %v47 = getelementptr inbounds i32, ptr %v28, i64 9
  %s48 = getelementptr [64 x i8], ptr %s30, i64 9
  %v49 = getelementptr inbounds i32, ptr %v28, i64 10
  %s50 = getelementptr [64 x i8], ptr %s30, i64 10
  %v51 = getelementptr inbounds i32, ptr %v28, i64 11
  %s52 = getelementptr [64 x i8], ptr %s30, i64 11
  %v53 = getelementptr inbounds i32, ptr %v28, i64 12
  %s54 = getelementptr [64 x i8], ptr %s30, i64 12
  %v55 = getelementptr inbounds i32, ptr %v28, i64 13
  %s56 = getelementptr [64 x i8], ptr %s30, i64 13
  %v57 = getelementptr inbounds i32, ptr %v28, i64 14
  %s58 = getelementptr [64 x i8], ptr %s30, i64 14
  %v59 = getelementptr inbounds i32, ptr %v28, i64 15
  %s60 = getelementptr [64 x i8], ptr %s30, i64 15
  %v61 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %p7, <8 x i1> %active, <8 x float> zeroinitializer)
  %v63 = load float, ptr %v28, align 4, !llvm.access.group !0
  %v64 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s30, <8 x i1> %active, <8 x float> zeroinitializer)
  %t1 = insertelement <8 x float> poison, float %v63, i64 0
  %t2 = shufflevector <8 x float> %t1, <8 x float> poison, <8 x i32> zeroinitializer
  %v65 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t2, <8 x float> %v64, <8 x float> %v61)
  %v66 = load float, ptr %v31, align 4, !llvm.access.group !0
  %v67 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s32, <8 x i1> %active, <8 x float> zeroinitializer)
  %t3 = insertelement <8 x float> poison, float %v66, i64 0
  %t4 = shufflevector <8 x float> %t3, <8 x float> poison, <8 x i32> zeroinitializer
  %v68 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t4, <8 x float> %v67, <8 x float> %v65)
  %v69 = load float, ptr %v33, align 4, !llvm.access.group !0
  %v70 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s34, <8 x i1> %active, <8 x float> zeroinitializer)
  %t5 = insertelement <8 x float> poison, float %v69, i64 0
  %t6 = shufflevector <8 x float> %t5, <8 x float> poison, <8 x i32> zeroinitializer
  %v71 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t6, <8 x float> %v70, <8 x float> %v68)
  %v72 = load float, ptr %v35, align 4, !llvm.access.group !0
  %v73 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s36, <8 x i1> %active, <8 x float> zeroinitializer)
  %t7 = insertelement <8 x float> poison, float %v72, i64 0
  %t8 = shufflevector <8 x float> %t7, <8 x float> poison, <8 x i32> zeroinitializer
  %v74 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t8, <8 x float> %v73, <8 x float> %v71)
  %v75 = load float, ptr %v37, align 4, !llvm.access.group !0
  %v76 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s38, <8 x i1> %active, <8 x float> zeroinitializer)
  %t9 = insertelement <8 x float> poison, float %v75, i64 0
  %t10 = shufflevector <8 x float> %t9, <8 x float> poison, <8 x i32> zeroinitializer
  %v77 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t10, <8 x float> %v76, <8 x float> %v74)
  %v78 = load float, ptr %v39, align 4, !llvm.access.group !0
  %v79 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s40, <8 x i1> %active, <8 x float> zeroinitializer)
  %t11 = insertelement <8 x float> poison, float %v78, i64 0
  %t12 = shufflevector <8 x float> %t11, <8 x float> poison, <8 x i32> zeroinitializer
  %v80 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t12, <8 x float> %v79, <8 x float> %v77)
  %v81 = load float, ptr %v41, align 4, !llvm.access.group !0
  %v82 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s42, <8 x i1> %active, <8 x float> zeroinitializer)
  %t13 = insertelement <8 x float> poison, float %v81, i64 0
  %t14 = shufflevector <8 x float> %t13, <8 x float> poison, <8 x i32> zeroinitializer
  %v83 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t14, <8 x float> %v82, <8 x float> %v80)
  %v84 = load float, ptr %v43, align 4, !llvm.access.group !0
  %v85 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s44, <8 x i1> %active, <8 x float> zeroinitializer)
  %t15 = insertelement <8 x float> poison, float %v84, i64 0
  %t16 = shufflevector <8 x float> %t15, <8 x float> poison, <8 x i32> zeroinitializer
  %v86 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t16, <8 x float> %v85, <8 x float> %v83)
  %v87 = load float, ptr %v45, align 4, !llvm.access.group !0
  %v88 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s46, <8 x i1> %active, <8 x float> zeroinitializer)
  %t17 = insertelement <8 x float> poison, float %v87, i64 0
  %t18 = shufflevector <8 x float> %t17, <8 x float> poison, <8 x i32> zeroinitializer
  %v89 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t18, <8 x float> %v88, <8 x float> %v86)
  %v90 = load float, ptr %v47, align 4, !llvm.access.group !0
  %v91 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s48, <8 x i1> %active, <8 x float> zeroinitializer)
  %t19 = insertelement <8 x float> poison, float %v90, i64 0
  %t20 = shufflevector <8 x float> %t19, <8 x float> poison, <8 x i32> zeroinitializer
  %v92 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t20, <8 x float> %v91, <8 x float> %v89)
  %v93 = load float, ptr %v49, align 4, !llvm.access.group !0
  %v94 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s50, <8 x i1> %active, <8 x float> zeroinitializer)
  %t21 = insertelement <8 x float> poison, float %v93, i64 0
  %t22 = shufflevector <8 x float> %t21, <8 x float> poison, <8 x i32> zeroinitializer
  %v95 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t22, <8 x float> %v94, <8 x float> %v92)
  %v96 = load float, ptr %v51, align 4, !llvm.access.group !0
  %v97 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s52, <8 x i1> %active, <8 x float> zeroinitializer)
  %t23 = insertelement <8 x float> poison, float %v96, i64 0
  %t24 = shufflevector <8 x float> %t23, <8 x float> poison, <8 x i32> zeroinitializer
  %v98 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t24, <8 x float> %v97, <8 x float> %v95)
  %v99 = load float, ptr %v53, align 4, !llvm.access.group !0
  %v100 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s54, <8 x i1> %active, <8 x float> zeroinitializer)
  %t25 = insertelement <8 x float> poison, float %v99, i64 0
  %t26 = shufflevector <8 x float> %t25, <8 x float> poison, <8 x i32> zeroinitializer
  %v101 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t26, <8 x float> %v100, <8 x float> %v98)
  %v102 = load float, ptr %v55, align 4, !llvm.access.group !0
  %v103 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s56, <8 x i1> %active, <8 x float> zeroinitializer)
  %t27 = insertelement <8 x float> poison, float %v102, i64 0
  %t28 = shufflevector <8 x float> %t27, <8 x float> poison, <8 x i32> zeroinitializer
  %v104 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t28, <8 x float> %v103, <8 x float> %v101)
  %v105 = load float, ptr %v57, align 4, !llvm.access.group !0
  %v106 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s58, <8 x i1> %active, <8 x float> zeroinitializer)
  %t29 = insertelement <8 x float> poison, float %v105, i64 0
  %t30 = shufflevector <8 x float> %t29, <8 x float> poison, <8 x i32> zeroinitializer
  %v107 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t30, <8 x float> %v106, <8 x float> %v104)
  %v108 = load float, ptr %v59, align 4, !llvm.access.group !0
  %v109 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s60, <8 x i1> %active, <8 x float> zeroinitializer)
  %t31 = insertelement <8 x float> poison, float %v108, i64 0
  %t32 = shufflevector <8 x float> %t31, <8 x float> poison, <8 x i32> zeroinitializer
  %v110 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t32, <8 x float> %v109, <8 x float> %v107)
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v110, ptr align 4 %p7, <8 x i1> %active)
  %t33 = load <8 x i32>, ptr %result, align 64
  %t34 = select <8 x i1> %active, <8 x i32> splat (i32 2), <8 x i32> %t33
  store <8 x i32> %t34, ptr %result, align 64
  br label %end
end:
  %t35 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t35
}

define internal <8 x i32> @tiled_gemm.region3.lanes(ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i32 %p3, i32 %p4, i32 %p5, ptr %p6, i32 %p7, i32 %thread_index.x, i32 %thread_index.y, i32 %block_index.x, i32 %block_index.y, <8 x i1> %active) alwaysinline #0 {
entry:
  %m2 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m2, align 64
  %m3 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m3, align 64
  %pv42 = alloca <8 x float>, align 64
  %m5 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m5, align 64
  %m6 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m6, align 64
  %pv52 = alloca <8 x float>, align 64
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  br label %b0
b0:
  %v15 = getelementptr inbounds i8, ptr %p6, i64 1024
  %s16 = add i32 %thread_index.x, 0
  %v17 = add i32 %thread_index.y, 0
  %v18 = add i32 %block_index.y, 0
  %v19 = shl i32 %v18, 4
  %v20 = add i32 %v19, %v17
  %v21 = add i32 %block_index.x, 0
  %v22 = shl i32 %v21, 4
  %s23 = add i32 %v22, %s16
  %v24 = icmp slt i32 %v20, %p3
  %v25 = mul i32 %v20, %p5
  %v26 = sext i32 %v17 to i64
  %v27 = getelementptr inbounds [64 x i8], ptr %p6, i64 %v26
  %s28 = sext i32 %s16 to i64
  %s29 = getelementptr i32, ptr %v27, i64 %s28
  %t1 = insertelement <8 x i32> poison, i32 %s23, i64 0
  %t2 = shufflevector <8 x i32> %t1, <8 x i32> poison, <8 x i32> zeroinitializer
  %t3 = add <8 x i32> %t2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t4 = insertelement <8 x i32> poison, i32 %p4, i64 0
  %t5 = shufflevector <8 x i32> %t4, <8 x i32> poison, <8 x i32> zeroinitializer
  %v30 = icmp slt <8 x i32> %t3, %t5
  %v31 = getelementptr inbounds [64 x i8], ptr %v15, i64 %v26
  %s32 = getelementptr i32, ptr %v31, i64 %s28
  %s34 = add i32 %p7, %s16
  %t6 = insertelement <8 x i32> poison, i32 %s34, i64 0
  %t7 = shufflevector <8 x i32> %t6, <8 x i32> poison, <8 x i32> zeroinitializer
  %t8 = add <8 x i32> %t7, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t9 = insertelement <8 x i32> poison, i32 %p5, i64 0
  %t10 = shufflevector <8 x i32> %t9, <8 x i32> poison, <8 x i32> zeroinitializer
  %v35 = icmp slt <8 x i32> %t8, %t10
  %t11 = insertelement <8 x i1> poison, i1 %v24, i64 0
  %t12 = shufflevector <8 x i1> %t11, <8 x i1> poison, <8 x i32> zeroinitializer
  %v36 = and <8 x i1> %t12, %v35
  %t13 = select <8 x i1> %active, <8 x i1> %v36, <8 x i1> zeroinitializer
  store <8 x i1> %t13, ptr %m2, align 64
  %t14 = xor <8 x i1> %v36, splat (i1 true)
  %t15 = select <8 x i1> %active, <8 x i1> %t14, <8 x i1> zeroinitializer
  store <8 x i1> %t15, ptr %m3, align 64
  br label %g2
g2:
  %t16 = load <8 x i1>, ptr %m2, align 64
  %t17 = bitcast <8 x i1> %t16 to i8
  %t18 = icmp ne i8 %t17, 0
  br i1 %t18, label %b2, label %b3
b2:
  %v37 = add i32 %v25, %p7
  %s38 = add i32 %v37, %s16
  %s39 = sext i32 %s38 to i64
  %s40 = getelementptr i32, ptr %p0, i64 %s39
  %t19 = load <8 x i1>, ptr %m2, align 64
  %v41 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s40, <8 x i1> %t19, <8 x float> zeroinitializer)
  store <8 x float> %v41, ptr %pv42, align 64
  br label %b3
b3:
  %t20 = load <8 x i1>, ptr %m3, align 64
  %t21 = load <8 x float>, ptr %pv42, align 64
  %t22 = select <8 x i1> %t20, <8 x float> zeroinitializer, <8 x float> %t21
  store <8 x float> %t22, ptr %pv42, align 64
  br label %b4
b4:
  %v42 = load <8 x float>, ptr %pv42, align 64
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v42, ptr align 4 %s29, <8 x i1> %active)
  %v44 = add i32 %p7, %v17
  %v45 = icmp slt i32 %v44, %p5
  %t23 = insertelement <8 x i1> poison, i1 %v45, i64 0
  %t24 = shufflevector <8 x i1> %t23, <8 x i1> poison, <8 x i32> zeroinitializer
  %v46 = and <8 x i1> %t24, %v30
  %t25 = select <8 x i1> %active, <8 x i1> %v46, <8 x i1> zeroinitializer
  store <8 x i1> %t25, ptr %m5, align 64
  %t26 = xor <8 x i1> %v46, splat (i1 true)
  %t27 = select <8 x i1> %active, <8 x i1> %t26, <8 x i1> zeroinitializer
  store <8 x i1> %t27, ptr %m6, align 64
  br label %g5
g5:
  %t28 = load <8 x i1>, ptr %m5, align 64
  %t29 = bitcast <8 x i1> %t28 to i8
  %t30 = icmp ne i8 %t29, 0
  br i1 %t30, label %b5, label %b6
b5:
  %v47 = mul i32 %v44, %p4
  %s48 = add i32 %v47, %s23
  %s49 = sext i32 %s48 to i64
  %s50 = getelementptr i32, ptr %p1, i64 %s49
  %t31 = load <8 x i1>, ptr %m5, align 64
  %v51 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s50, <8 x i1> %t31, <8 x float> zeroinitializer)
  store <8 x float> %v51, ptr %pv52, align 64
  br label %b6
b6:
  %t32 = load <8 x i1>, ptr %m6, align 64
  %t33 = load <8 x float>, ptr %pv52, align 64
  %t34 = select <8 x i1> %t32, <8 x float> zeroinitializer, <8 x float> %t33
  store <8 x float> %t34, ptr %pv52, align 64
  br label %b7
b7:
  %v52 = load <8 x float>, ptr %pv52, align 64
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v52, ptr align 4 %s32, <8 x i1> %active)
  %t35 = load <8 x i32>, ptr %result, align 64
  %t36 = select <8 x i1> %active, <8 x i32> splat (i32 1), <8 x i32> %t35
  store <8 x i32> %t36, ptr %result, align 64
  br label %end
end:
  %t37 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t37
}

define internal <8 x i32> @tiled_gemm.region4.lanes(ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i32 %p3, i32 %p4, i32 %p5, ptr %p6, ptr %p7, i32 %thread_index.x, i32 %thread_index.y, i32 %block_index.x, i32 %block_index.y, <8 x i1> %active) alwaysinline #0 {
entry:
  %m2 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m2, align 64
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  br label %b0
b0:
  %s8 = add i32 %thread_index.x, 0
  %v9 = add i32 %thread_index.y, 0
  %v10 = add i32 %block_index.y, 0
  %v11 = shl i32 %v10, 4
  %v12 = add i32 %v11, %v9
  %v13 = add i32 %block_index.x, 0
  %v14 = shl i32 %v13, 4
  %s15 = add i32 %v14, %s8
  %v16 = icmp slt i32 %v12, %p3
  %t1 = insertelement <8 x i32> poison, i32 %s15, i64 0
  %t2 = shufflevector <8 x i32> %t1, <8 x i32> poison, <8 x i32> zeroinitializer
  %t3 = add <8 x i32> %t2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t4 = insertelement <8 x i32> poison, i32 %p4, i64 0
  %t5 = shufflevector <8 x i32> %t4, <8 x i32> poison, <8 x i32> zeroinitializer
  %v17 = icmp slt <8 x i32> %t3, %t5
  %t6 = insertelement <8 x i1> poison, i1 %v16, i64 0
  %t7 = shufflevector <8 x i1> %t6, <8 x i1> poison, <8 x i32> zeroinitializer
  %v18 = and <8 x i1> %t7, %v17
  %v19 = mul i32 %v12, %p4
  %s20 = add i32 %v19, %s15
  %s21 = sext i32 %s20 to i64
  %s22 = getelementptr i32, ptr %p2, i64 %s21
  %v23 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %p7, <8 x i1> %active, <8 x float> zeroinitializer)
  %t8 = select <8 x i1> %active, <8 x i1> %v18, <8 x i1> zeroinitializer
  store <8 x i1> %t8, ptr %m2, align 64
  %t9 = xor <8 x i1> %v18, splat (i1 true)
  br label %g2
g2:
  %t10 = load <8 x i1>, ptr %m2, align 64
  %t11 = bitcast <8 x i1> %t10 to i8
  %t12 = icmp ne i8 %t11, 0
  br i1 %t12, label %b2, label %b3
b2:
  %t13 = load <8 x i1>, ptr %m2, align 64
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v23, ptr align 4 %s22, <8 x i1> %t13)
  br label %b3
b3:
  %t14 = load <8 x i32>, ptr %result, align 64
  %t15 = select <8 x i1> %active, <8 x i32> splat (i32 5), <8 x i32> %t14
  store <8 x i32> %t15, ptr %result, align 64
  br label %end
end:
  %t16 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t16
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
  %r0.c0 = getelementptr inbounds [4 x i8], ptr %c0, i64 %r0.i
  %r0.space = sub nuw i32 %block_size.x, %r0.x
  %r0.space.one = insertelement <8 x i32> poison, i32 %r0.space, i64 0
  %r0.space.all = shufflevector <8 x i32> %r0.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %r0.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %r0.space.all
  %r0.all = call <8 x i32> @tiled_gemm.region0.lanes(ptr %a0, ptr %a1, ptr %a2, i32 %a3, i32 %a4, i32 %a5, ptr %shared, ptr %r0.c0, ptr %u0, <8 x i1> %r0.active)
  %r0.next = extractelement <8 x i32> %r0.all, i64 0
  store i32 %r0.next, ptr %next.u, align 4, !llvm.access.group !0
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
  %r0.state = load i32, ptr %next.u, align 4
  switch i32 %r0.state, label %block.end [ i32 3, label %r3.begin i32 4, label %r4.begin ]
r1.begin:
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
  %r1.x = phi i32 [ 0, %r1.row ], [ %r1.x.next, %r1.latch ]
  %r1.x64 = zext nneg i32 %r1.x to i64
  %r1.i = add nuw nsw i64 %r1.first, %r1.x64
  %r1.c0 = getelementptr inbounds [4 x i8], ptr %c0, i64 %r1.i
  %r1.space = sub nuw i32 %block_size.x, %r1.x
  %r1.space.one = insertelement <8 x i32> poison, i32 %r1.space, i64 0
  %r1.space.all = shufflevector <8 x i32> %r1.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %r1.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %r1.space.all
  %r1.all = call <8 x i32> @tiled_gemm.region1.lanes(ptr %a0, ptr %a1, ptr %a2, i32 %a3, i32 %a4, i32 %a5, ptr %shared, ptr %r1.c0, i32 %r1.x, i32 %r1.y, <8 x i1> %r1.active)
  %r1.next = extractelement <8 x i32> %r1.all, i64 0
  br label %r1.latch
r1.latch:
  %r1.x.next = add nuw nsw i32 %r1.x, 8
  %r1.x.more = icmp ult i32 %r1.x.next, %block_size.x
  br i1 %r1.x.more, label %r1.item, label %r1.row.end
r1.row.end:
  %r1.y.next = add nuw nsw i32 %r1.y, 1
  %r1.y.more = icmp ult i32 %r1.y.next, %block_size.y
  br i1 %r1.y.more, label %r1.row, label %r1.plane.end
r1.plane.end:
  %r1.z.next = add nuw nsw i32 %r1.z, 1
  %r1.z.more = icmp ult i32 %r1.z.next, %block_size.z
  br i1 %r1.z.more, label %r1.plane, label %r1.end
r1.end:
  br label %r2.begin
r2.begin:
  %r2.u0 = load i32, ptr %u0, align 8
  %r2.next = call i32 @tiled_gemm.region2(ptr %a0, ptr %a1, ptr %a2, i32 %a3, i32 %a4, i32 %a5, ptr %shared, i32 %r2.u0, ptr %u0)
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
  br label %r3.item
r3.item:
  %r3.x = phi i32 [ 0, %r3.row ], [ %r3.x.next, %r3.latch ]
  %r3.x64 = zext nneg i32 %r3.x to i64
  %r3.i = add nuw nsw i64 %r3.first, %r3.x64
  %r3.space = sub nuw i32 %block_size.x, %r3.x
  %r3.space.one = insertelement <8 x i32> poison, i32 %r3.space, i64 0
  %r3.space.all = shufflevector <8 x i32> %r3.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %r3.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %r3.space.all
  %r3.all = call <8 x i32> @tiled_gemm.region3.lanes(ptr %a0, ptr %a1, ptr %a2, i32 %a3, i32 %a4, i32 %a5, ptr %shared, i32 %r3.u0, i32 %r3.x, i32 %r3.y, i32 %block_index.x, i32 %block_index.y, <8 x i1> %r3.active)
  %r3.next = extractelement <8 x i32> %r3.all, i64 0
  br label %r3.latch
r3.latch:
  %r3.x.next = add nuw nsw i32 %r3.x, 8
  %r3.x.more = icmp ult i32 %r3.x.next, %block_size.x
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
  br label %r1.begin
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
  br label %r4.item
r4.item:
  %r4.x = phi i32 [ 0, %r4.row ], [ %r4.x.next, %r4.latch ]
  %r4.x64 = zext nneg i32 %r4.x to i64
  %r4.i = add nuw nsw i64 %r4.first, %r4.x64
  %r4.c0 = getelementptr inbounds [4 x i8], ptr %c0, i64 %r4.i
  %r4.space = sub nuw i32 %block_size.x, %r4.x
  %r4.space.one = insertelement <8 x i32> poison, i32 %r4.space, i64 0
  %r4.space.all = shufflevector <8 x i32> %r4.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %r4.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %r4.space.all
  %r4.all = call <8 x i32> @tiled_gemm.region4.lanes(ptr %a0, ptr %a1, ptr %a2, i32 %a3, i32 %a4, i32 %a5, ptr %shared, ptr %r4.c0, i32 %r4.x, i32 %r4.y, i32 %block_index.x, i32 %block_index.y, <8 x i1> %r4.active)
  %r4.next = extractelement <8 x i32> %r4.all, i64 0
  br label %r4.latch
r4.latch:
  %r4.x.next = add nuw nsw i32 %r4.x, 8
  %r4.x.more = icmp ult i32 %r4.x.next, %block_size.x
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
  ret void
}

declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>) #1
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
