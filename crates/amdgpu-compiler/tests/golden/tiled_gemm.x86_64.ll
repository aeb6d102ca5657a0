source_filename = "tiled_gemm.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal <8 x i32> @tiled_gemm.region0.lanes(ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i32 %p3, i32 %p4, i32 %p5, ptr %p6, ptr %p7, ptr %p8, i32 %thread_index.x, i32 %thread_index.y, i32 %block_index.x, i32 %block_index.y, <8 x i1> %active) alwaysinline #0 {
entry:
  %ps42 = alloca float, align 64
  %ps43 = alloca i32, align 64
  %m4 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m4, align 64
  %m5 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m5, align 64
  %pv82 = alloca <8 x float>, align 64
  %pv79 = alloca <8 x i32>, align 64
  %pv53 = alloca <8 x float>, align 64
  %m7 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m7, align 64
  %m8 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m8, align 64
  %pv81 = alloca <8 x float>, align 64
  %pv80 = alloca <8 x i32>, align 64
  %pv63 = alloca <8 x float>, align 64
  %m11 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m11, align 64
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  %s11 = alloca [32 x i8], align 64
  %s12 = alloca [32 x i8], align 64
  %s13 = alloca [32 x i8], align 64
  br label %b0
b0:
  %v18 = getelementptr inbounds i8, ptr %p6, i64 0
  %v19 = getelementptr inbounds i8, ptr %p6, i64 1024
  %s20 = add i32 %thread_index.x, 0
  %v21 = add i32 %thread_index.y, 0
  %v22 = add i32 %block_index.y, 0
  %v23 = shl i32 %v22, 4
  %v24 = add i32 %v23, %v21
  %v25 = add i32 %block_index.x, 0
  %v26 = shl i32 %v25, 4
  %s27 = add i32 %v26, %s20
  %v28 = icmp slt i32 %v24, %p3
  %v29 = mul i32 %v24, %p5
  %v30 = sext i32 %v21 to i64
  %v31 = getelementptr inbounds [64 x i8], ptr %v18, i64 %v30
  %s32 = sext i32 %s20 to i64
  %s33 = getelementptr i32, ptr %v31, i64 %s32
  %t1 = insertelement <8 x i32> poison, i32 %s27, i64 0
  %t2 = shufflevector <8 x i32> %t1, <8 x i32> poison, <8 x i32> zeroinitializer
  %t3 = add <8 x i32> %t2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t4 = insertelement <8 x i32> poison, i32 %p4, i64 0
  %t5 = shufflevector <8 x i32> %t4, <8 x i32> poison, <8 x i32> zeroinitializer
  %v34 = icmp slt <8 x i32> %t3, %t5
  %v35 = getelementptr inbounds [64 x i8], ptr %v19, i64 %v30
  %s36 = getelementptr i32, ptr %v35, i64 %s32
  %t6 = insertelement <8 x i1> poison, i1 %v28, i64 0
  %t7 = shufflevector <8 x i1> %t6, <8 x i1> poison, <8 x i32> zeroinitializer
  %v37 = and <8 x i1> %t7, %v34
  %v38 = mul i32 %v24, %p4
  %s39 = add i32 %v38, %s27
  %s40 = sext i32 %s39 to i64
  %s41 = getelementptr i32, ptr %p2, i64 %s40
  br label %b1
b1:
  store float 0x0000000000000000, ptr %ps42, align 64
  store i32 0, ptr %ps43, align 64
  br label %b2
b2:
  %v42 = load float, ptr %ps42, align 64
  %v43 = load i32, ptr %ps43, align 64
  %v44 = icmp slt i32 %v43, %p5
  br i1 %v44, label %e2.0, label %e2.1
e2.0:
  br label %b3
e2.1:
  br label %b10
b3:
  %s45 = add i32 %v43, %s20
  %t8 = insertelement <8 x i32> poison, i32 %s45, i64 0
  %t9 = shufflevector <8 x i32> %t8, <8 x i32> poison, <8 x i32> zeroinitializer
  %t10 = add <8 x i32> %t9, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t11 = insertelement <8 x i32> poison, i32 %p5, i64 0
  %t12 = shufflevector <8 x i32> %t11, <8 x i32> poison, <8 x i32> zeroinitializer
  %v46 = icmp slt <8 x i32> %t10, %t12
  %t13 = insertelement <8 x i1> poison, i1 %v28, i64 0
  %t14 = shufflevector <8 x i1> %t13, <8 x i1> poison, <8 x i32> zeroinitializer
  %v47 = and <8 x i1> %t14, %v46
  %t15 = select <8 x i1> %active, <8 x i1> %v47, <8 x i1> zeroinitializer
  store <8 x i1> %t15, ptr %m4, align 64
  %t16 = xor <8 x i1> %v47, splat (i1 true)
  %t17 = select <8 x i1> %active, <8 x i1> %t16, <8 x i1> zeroinitializer
  store <8 x i1> %t17, ptr %m5, align 64
  br label %g4
g4:
  %t18 = load <8 x i1>, ptr %m4, align 64
  %t19 = bitcast <8 x i1> %t18 to i8
  %t20 = icmp ne i8 %t19, 0
  br i1 %t20, label %b4, label %b5
b4:
  %v48 = add i32 %v29, %v43
  %s49 = add i32 %v48, %s20
  %s50 = sext i32 %s49 to i64
  %s51 = getelementptr i32, ptr %p0, i64 %s50
  %t21 = load <8 x i1>, ptr %m4, align 64
  %v52 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s51, <8 x i1> %t21, <8 x float> zeroinitializer)
  %t22 = insertelement <8 x float> poison, float %v42, i64 0
  %t23 = shufflevector <8 x float> %t22, <8 x float> poison, <8 x i32> zeroinitializer
  store <8 x float> %t23, ptr %pv82, align 64
  %t24 = insertelement <8 x i32> poison, i32 %v43, i64 0
  %t25 = shufflevector <8 x i32> %t24, <8 x i32> poison, <8 x i32> zeroinitializer
  store <8 x i32> %t25, ptr %pv79, align 64
  store <8 x float> %v52, ptr %pv53, align 64
  br label %b5
b5:
  %t26 = insertelement <8 x float> poison, float %v42, i64 0
  %t27 = shufflevector <8 x float> %t26, <8 x float> poison, <8 x i32> zeroinitializer
  %t28 = load <8 x i1>, ptr %m5, align 64
  %t29 = load <8 x float>, ptr %pv82, align 64
  %t30 = select <8 x i1> %t28, <8 x float> %t27, <8 x float> %t29
  store <8 x float> %t30, ptr %pv82, align 64
  %t31 = insertelement <8 x i32> poison, i32 %v43, i64 0
  %t32 = shufflevector <8 x i32> %t31, <8 x i32> poison, <8 x i32> zeroinitializer
  %t33 = load <8 x i32>, ptr %pv79, align 64
  %t34 = select <8 x i1> %t28, <8 x i32> %t32, <8 x i32> %t33
  store <8 x i32> %t34, ptr %pv79, align 64
  %t35 = load <8 x float>, ptr %pv53, align 64
  %t36 = select <8 x i1> %t28, <8 x float> zeroinitializer, <8 x float> %t35
  store <8 x float> %t36, ptr %pv53, align 64
  br label %b6
b6:
  %v82 = load <8 x float>, ptr %pv82, align 64
  %v79 = load <8 x i32>, ptr %pv79, align 64
  %v53 = load <8 x float>, ptr %pv53, align 64
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v53, ptr align 4 %s33, <8 x i1> %active)
  %t37 = insertelement <8 x i32> poison, i32 %v21, i64 0
  %t38 = shufflevector <8 x i32> %t37, <8 x i32> poison, <8 x i32> zeroinitializer
  %v55 = add <8 x i32> %v79, %t38
  %t39 = insertelement <8 x i32> poison, i32 %p5, i64 0
  %t40 = shufflevector <8 x i32> %t39, <8 x i32> poison, <8 x i32> zeroinitializer
  %v56 = icmp slt <8 x i32> %v55, %t40
  %v57 = and <8 x i1> %v56, %v34
  %t41 = select <8 x i1> %active, <8 x i1> %v57, <8 x i1> zeroinitializer
  store <8 x i1> %t41, ptr %m7, align 64
  %t42 = xor <8 x i1> %v57, splat (i1 true)
  %t43 = select <8 x i1> %active, <8 x i1> %t42, <8 x i1> zeroinitializer
  store <8 x i1> %t43, ptr %m8, align 64
  br label %g7
g7:
  %t44 = load <8 x i1>, ptr %m7, align 64
  %t45 = bitcast <8 x i1> %t44 to i8
  %t46 = icmp ne i8 %t45, 0
  br i1 %t46, label %b7, label %b8
b7:
  %t47 = insertelement <8 x i32> poison, i32 %p4, i64 0
  %t48 = shufflevector <8 x i32> %t47, <8 x i32> poison, <8 x i32> zeroinitializer
  %v58 = mul <8 x i32> %v55, %t48
  %t49 = insertelement <8 x i32> poison, i32 %s27, i64 0
  %t50 = shufflevector <8 x i32> %t49, <8 x i32> poison, <8 x i32> zeroinitializer
  %t51 = add <8 x i32> %t50, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v59 = add <8 x i32> %v58, %t51
  %v60 = sext <8 x i32> %v59 to <8 x i64>
  %v61 = getelementptr i32, ptr %p1, <8 x i64> %v60
  %t52 = load <8 x i1>, ptr %m7, align 64
  %v62 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %v61, <8 x i1> %t52, <8 x float> zeroinitializer)
  store <8 x float> %v82, ptr %pv81, align 64
  store <8 x i32> %v79, ptr %pv80, align 64
  store <8 x float> %v62, ptr %pv63, align 64
  br label %b8
b8:
  %t53 = load <8 x i1>, ptr %m8, align 64
  %t54 = load <8 x float>, ptr %pv81, align 64
  %t55 = select <8 x i1> %t53, <8 x float> %v82, <8 x float> %t54
  store <8 x float> %t55, ptr %pv81, align 64
  %t56 = load <8 x i32>, ptr %pv80, align 64
  %t57 = select <8 x i1> %t53, <8 x i32> %v79, <8 x i32> %t56
  store <8 x i32> %t57, ptr %pv80, align 64
  %t58 = load <8 x float>, ptr %pv63, align 64
  %t59 = select <8 x i1> %t53, <8 x float> zeroinitializer, <8 x float> %t58
  store <8 x float> %t59, ptr %pv63, align 64
  br label %b9
b9:
  %v81 = load <8 x float>, ptr %pv81, align 64
  %v80 = load <8 x i32>, ptr %pv80, align 64
  %v63 = load <8 x float>, ptr %pv63, align 64
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v63, ptr align 4 %s36, <8 x i1> %active)
  %t60 = bitcast <8 x i1> %active to i8
  %t61 = call i8 @llvm.ctlz.i8(i8 %t60, i1 false)
  %t62 = sub i8 7, %t61
  %t63 = extractelement <8 x i32> %v80, i8 %t62
  store i32 %t63, ptr %p8, align 4
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v81, ptr align 4 %p7, <8 x i1> %active)
  %t64 = load <8 x i32>, ptr %result, align 64
  %t65 = select <8 x i1> %active, <8 x i32> splat (i32 1), <8 x i32> %t64
  store <8 x i32> %t65, ptr %result, align 64
  br label %end
b10:
  %t66 = select <8 x i1> %active, <8 x i1> %v37, <8 x i1> zeroinitializer
  store <8 x i1> %t66, ptr %m11, align 64
  %t67 = xor <8 x i1> %v37, splat (i1 true)
  br label %g11
g11:
  %t68 = load <8 x i1>, ptr %m11, align 64
  %t69 = bitcast <8 x i1> %t68 to i8
  %t70 = icmp ne i8 %t69, 0
  br i1 %t70, label %b11, label %b12
b11:
  %t71 = insertelement <8 x float> poison, float %v42, i64 0
  %t72 = shufflevector <8 x float> %t71, <8 x float> poison, <8 x i32> zeroinitializer
  %t73 = load <8 x i1>, ptr %m11, align 64
  call void @llvm.masked.store.v8f32.p0(<8 x float> %t72, ptr align 4 %s41, <8 x i1> %t73)
  br label %b12
b12:
  %t74 = load <8 x i32>, ptr %result, align 64
  %t75 = select <8 x i1> %active, <8 x i32> splat (i32 3), <8 x i32> %t74
  store <8 x i32> %t75, ptr %result, align 64
  br label %end
end:
  %t76 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t76
}

define internal <8 x i32> @tiled_gemm.region1.lanes(ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i32 %p3, i32 %p4, i32 %p5, ptr %p6, ptr %p7, i32 %thread_index.x, i32 %thread_index.y, <8 x i1> %active) alwaysinline #0 {
entry:
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  %s3 = alloca [32 x i8], align 64
  %s4 = alloca [32 x i8], align 64
  br label %b0
b0:
  %v23 = getelementptr inbounds i8, ptr %p6, i64 0
  %v24 = getelementptr inbounds i8, ptr %p6, i64 1024
  %s25 = add i32 %thread_index.x, 0
  %v26 = add i32 %thread_index.y, 0
  %v27 = sext i32 %v26 to i64
  %v28 = getelementptr inbounds [64 x i8], ptr %v23, i64 %v27
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
  br label %b1
b1:
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

define internal <8 x i32> @tiled_gemm.region2.lanes(ptr noalias %p0, ptr noalias %p1, ptr noalias %p2, i32 %p3, i32 %p4, i32 %p5, ptr %p6, ptr %p7, i32 %p8, ptr %p9, i32 %thread_index.x, i32 %thread_index.y, i32 %block_index.x, i32 %block_index.y, <8 x i1> %active) alwaysinline #0 {
entry:
  %pv47 = alloca <8 x float>, align 64
  %ps48 = alloca i32, align 64
  %m4 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m4, align 64
  %m5 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m5, align 64
  %pv89 = alloca <8 x float>, align 64
  %pv86 = alloca <8 x i32>, align 64
  %pv58 = alloca <8 x float>, align 64
  %m7 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m7, align 64
  %m8 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m8, align 64
  %pv88 = alloca <8 x float>, align 64
  %pv87 = alloca <8 x i32>, align 64
  %pv68 = alloca <8 x float>, align 64
  %m11 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m11, align 64
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  %s12 = alloca [32 x i8], align 64
  %s13 = alloca [32 x i8], align 64
  %s14 = alloca [32 x i8], align 64
  br label %b0
b0:
  %v19 = getelementptr inbounds i8, ptr %p6, i64 0
  %v20 = getelementptr inbounds i8, ptr %p6, i64 1024
  %s21 = add i32 %thread_index.x, 0
  %v22 = add i32 %thread_index.y, 0
  %v23 = add i32 %block_index.y, 0
  %v24 = shl i32 %v23, 4
  %v25 = add i32 %v24, %v22
  %v26 = add i32 %block_index.x, 0
  %v27 = shl i32 %v26, 4
  %s28 = add i32 %v27, %s21
  %v29 = icmp slt i32 %v25, %p3
  %v30 = mul i32 %v25, %p5
  %v31 = sext i32 %v22 to i64
  %v32 = getelementptr inbounds [64 x i8], ptr %v19, i64 %v31
  %s33 = sext i32 %s21 to i64
  %s34 = getelementptr i32, ptr %v32, i64 %s33
  %t1 = insertelement <8 x i32> poison, i32 %s28, i64 0
  %t2 = shufflevector <8 x i32> %t1, <8 x i32> poison, <8 x i32> zeroinitializer
  %t3 = add <8 x i32> %t2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t4 = insertelement <8 x i32> poison, i32 %p4, i64 0
  %t5 = shufflevector <8 x i32> %t4, <8 x i32> poison, <8 x i32> zeroinitializer
  %v35 = icmp slt <8 x i32> %t3, %t5
  %v36 = getelementptr inbounds [64 x i8], ptr %v20, i64 %v31
  %s37 = getelementptr i32, ptr %v36, i64 %s33
  %t6 = insertelement <8 x i1> poison, i1 %v29, i64 0
  %t7 = shufflevector <8 x i1> %t6, <8 x i1> poison, <8 x i32> zeroinitializer
  %v38 = and <8 x i1> %t7, %v35
  %v39 = mul i32 %v25, %p4
  %s40 = add i32 %v39, %s28
  %s41 = sext i32 %s40 to i64
  %s42 = getelementptr i32, ptr %p2, i64 %s41
  %v44 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %p7, <8 x i1> %active, <8 x float> zeroinitializer)
  br label %b1
b1:
  %v46 = add i32 %p8, 16
  store <8 x float> %v44, ptr %pv47, align 64
  store i32 %v46, ptr %ps48, align 64
  br label %b2
b2:
  %v47 = load <8 x float>, ptr %pv47, align 64
  %v48 = load i32, ptr %ps48, align 64
  %v49 = icmp slt i32 %v48, %p5
  br i1 %v49, label %e2.0, label %e2.1
e2.0:
  br label %b3
e2.1:
  br label %b10
b3:
  %s50 = add i32 %v48, %s21
  %t8 = insertelement <8 x i32> poison, i32 %s50, i64 0
  %t9 = shufflevector <8 x i32> %t8, <8 x i32> poison, <8 x i32> zeroinitializer
  %t10 = add <8 x i32> %t9, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t11 = insertelement <8 x i32> poison, i32 %p5, i64 0
  %t12 = shufflevector <8 x i32> %t11, <8 x i32> poison, <8 x i32> zeroinitializer
  %v51 = icmp slt <8 x i32> %t10, %t12
  %t13 = insertelement <8 x i1> poison, i1 %v29, i64 0
  %t14 = shufflevector <8 x i1> %t13, <8 x i1> poison, <8 x i32> zeroinitializer
  %v52 = and <8 x i1> %t14, %v51
  %t15 = select <8 x i1> %active, <8 x i1> %v52, <8 x i1> zeroinitializer
  store <8 x i1> %t15, ptr %m4, align 64
  %t16 = xor <8 x i1> %v52, splat (i1 true)
  %t17 = select <8 x i1> %active, <8 x i1> %t16, <8 x i1> zeroinitializer
  store <8 x i1> %t17, ptr %m5, align 64
  br label %g4
g4:
  %t18 = load <8 x i1>, ptr %m4, align 64
  %t19 = bitcast <8 x i1> %t18 to i8
  %t20 = icmp ne i8 %t19, 0
  br i1 %t20, label %b4, label %b5
b4:
  %v53 = add i32 %v30, %v48
  %s54 = add i32 %v53, %s21
  %s55 = sext i32 %s54 to i64
  %s56 = getelementptr i32, ptr %p0, i64 %s55
  %t21 = load <8 x i1>, ptr %m4, align 64
  %v57 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s56, <8 x i1> %t21, <8 x float> zeroinitializer)
  store <8 x float> %v47, ptr %pv89, align 64
  %t22 = insertelement <8 x i32> poison, i32 %v48, i64 0
  %t23 = shufflevector <8 x i32> %t22, <8 x i32> poison, <8 x i32> zeroinitializer
  store <8 x i32> %t23, ptr %pv86, align 64
  store <8 x float> %v57, ptr %pv58, align 64
  br label %b5
b5:
  %t24 = load <8 x i1>, ptr %m5, align 64
  %t25 = load <8 x float>, ptr %pv89, align 64
  %t26 = select <8 x i1> %t24, <8 x float> %v47, <8 x float> %t25
  store <8 x float> %t26, ptr %pv89, align 64
  %t27 = insertelement <8 x i32> poison, i32 %v48, i64 0
  %t28 = shufflevector <8 x i32> %t27, <8 x i32> poison, <8 x i32> zeroinitializer
  %t29 = load <8 x i32>, ptr %pv86, align 64
  %t30 = select <8 x i1> %t24, <8 x i32> %t28, <8 x i32> %t29
  store <8 x i32> %t30, ptr %pv86, align 64
  %t31 = load <8 x float>, ptr %pv58, align 64
  %t32 = select <8 x i1> %t24, <8 x float> zeroinitializer, <8 x float> %t31
  store <8 x float> %t32, ptr %pv58, align 64
  br label %b6
b6:
  %v89 = load <8 x float>, ptr %pv89, align 64
  %v86 = load <8 x i32>, ptr %pv86, align 64
  %v58 = load <8 x float>, ptr %pv58, align 64
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v58, ptr align 4 %s34, <8 x i1> %active)
  %t33 = insertelement <8 x i32> poison, i32 %v22, i64 0
  %t34 = shufflevector <8 x i32> %t33, <8 x i32> poison, <8 x i32> zeroinitializer
  %v60 = add <8 x i32> %v86, %t34
  %t35 = insertelement <8 x i32> poison, i32 %p5, i64 0
  %t36 = shufflevector <8 x i32> %t35, <8 x i32> poison, <8 x i32> zeroinitializer
  %v61 = icmp slt <8 x i32> %v60, %t36
  %v62 = and <8 x i1> %v61, %v35
  %t37 = select <8 x i1> %active, <8 x i1> %v62, <8 x i1> zeroinitializer
  store <8 x i1> %t37, ptr %m7, align 64
  %t38 = xor <8 x i1> %v62, splat (i1 true)
  %t39 = select <8 x i1> %active, <8 x i1> %t38, <8 x i1> zeroinitializer
  store <8 x i1> %t39, ptr %m8, align 64
  br label %g7
g7:
  %t40 = load <8 x i1>, ptr %m7, align 64
  %t41 = bitcast <8 x i1> %t40 to i8
  %t42 = icmp ne i8 %t41, 0
  br i1 %t42, label %b7, label %b8
b7:
  %t43 = insertelement <8 x i32> poison, i32 %p4, i64 0
  %t44 = shufflevector <8 x i32> %t43, <8 x i32> poison, <8 x i32> zeroinitializer
  %v63 = mul <8 x i32> %v60, %t44
  %t45 = insertelement <8 x i32> poison, i32 %s28, i64 0
  %t46 = shufflevector <8 x i32> %t45, <8 x i32> poison, <8 x i32> zeroinitializer
  %t47 = add <8 x i32> %t46, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v64 = add <8 x i32> %v63, %t47
  %v65 = sext <8 x i32> %v64 to <8 x i64>
  %v66 = getelementptr i32, ptr %p1, <8 x i64> %v65
  %t48 = load <8 x i1>, ptr %m7, align 64
  %v67 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %v66, <8 x i1> %t48, <8 x float> zeroinitializer)
  store <8 x float> %v89, ptr %pv88, align 64
  store <8 x i32> %v86, ptr %pv87, align 64
  store <8 x float> %v67, ptr %pv68, align 64
  br label %b8
b8:
  %t49 = load <8 x i1>, ptr %m8, align 64
  %t50 = load <8 x float>, ptr %pv88, align 64
  %t51 = select <8 x i1> %t49, <8 x float> %v89, <8 x float> %t50
  store <8 x float> %t51, ptr %pv88, align 64
  %t52 = load <8 x i32>, ptr %pv87, align 64
  %t53 = select <8 x i1> %t49, <8 x i32> %v86, <8 x i32> %t52
  store <8 x i32> %t53, ptr %pv87, align 64
  %t54 = load <8 x float>, ptr %pv68, align 64
  %t55 = select <8 x i1> %t49, <8 x float> zeroinitializer, <8 x float> %t54
  store <8 x float> %t55, ptr %pv68, align 64
  br label %b9
b9:
  %v88 = load <8 x float>, ptr %pv88, align 64
  %v87 = load <8 x i32>, ptr %pv87, align 64
  %v68 = load <8 x float>, ptr %pv68, align 64
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v68, ptr align 4 %s37, <8 x i1> %active)
  %t56 = bitcast <8 x i1> %active to i8
  %t57 = call i8 @llvm.ctlz.i8(i8 %t56, i1 false)
  %t58 = sub i8 7, %t57
  %t59 = extractelement <8 x i32> %v87, i8 %t58
  store i32 %t59, ptr %p9, align 4
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v88, ptr align 4 %p7, <8 x i1> %active)
  %t60 = load <8 x i32>, ptr %result, align 64
  %t61 = select <8 x i1> %active, <8 x i32> splat (i32 1), <8 x i32> %t60
  store <8 x i32> %t61, ptr %result, align 64
  br label %end
b10:
  %t62 = select <8 x i1> %active, <8 x i1> %v38, <8 x i1> zeroinitializer
  store <8 x i1> %t62, ptr %m11, align 64
  %t63 = xor <8 x i1> %v38, splat (i1 true)
  br label %g11
g11:
  %t64 = load <8 x i1>, ptr %m11, align 64
  %t65 = bitcast <8 x i1> %t64 to i8
  %t66 = icmp ne i8 %t65, 0
  br i1 %t66, label %b11, label %b12
b11:
  %t67 = load <8 x i1>, ptr %m11, align 64
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v47, ptr align 4 %s42, <8 x i1> %t67)
  br label %b12
b12:
  %t68 = load <8 x i32>, ptr %result, align 64
  %t69 = select <8 x i1> %active, <8 x i32> splat (i32 3), <8 x i32> %t68
  store <8 x i32> %t69, ptr %result, align 64
  br label %end
end:
  %t70 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t70
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
  %r0.all = call <8 x i32> @tiled_gemm.region0.lanes(ptr %a0, ptr %a1, ptr %a2, i32 %a3, i32 %a4, i32 %a5, ptr %shared, ptr %r0.c0, ptr %u0, i32 %r0.x, i32 %r0.y, i32 %block_index.x, i32 %block_index.y, <8 x i1> %r0.active)
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
  br label %dispatch
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
  %r2.x = phi i32 [ 0, %r2.row ], [ %r2.x.next, %r2.latch ]
  %r2.x64 = zext nneg i32 %r2.x to i64
  %r2.i = add nuw nsw i64 %r2.first, %r2.x64
  %r2.c0 = getelementptr inbounds [4 x i8], ptr %c0, i64 %r2.i
  %r2.space = sub nuw i32 %block_size.x, %r2.x
  %r2.space.one = insertelement <8 x i32> poison, i32 %r2.space, i64 0
  %r2.space.all = shufflevector <8 x i32> %r2.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %r2.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %r2.space.all
  %r2.all = call <8 x i32> @tiled_gemm.region2.lanes(ptr %a0, ptr %a1, ptr %a2, i32 %a3, i32 %a4, i32 %a5, ptr %shared, ptr %r2.c0, i32 %r2.u0, ptr %u0, i32 %r2.x, i32 %r2.y, i32 %block_index.x, i32 %block_index.y, <8 x i1> %r2.active)
  %r2.next = extractelement <8 x i32> %r2.all, i64 0
  store i32 %r2.next, ptr %next.u, align 4, !llvm.access.group !0
  br label %r2.latch
r2.latch:
  %r2.x.next = add nuw nsw i32 %r2.x, 8
  %r2.x.more = icmp ult i32 %r2.x.next, %block_size.x
  br i1 %r2.x.more, label %r2.item, label %r2.row.end
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

declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>) #1
declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, <8 x i1>, <8 x float>)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare i8 @llvm.ctlz.i8(i8, i1) #1
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
