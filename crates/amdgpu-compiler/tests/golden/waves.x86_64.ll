source_filename = "waves.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal <8 x i32> @k.region0.lanes(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i32 %p4, ptr %p5, ptr %p6, ptr %p7, ptr %p8, ptr %p9, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_size.x, i32 %block_size.y, <8 x i1> %active) alwaysinline #0 {
entry:
  %m2 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m2, align 64
  %m3 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m3, align 64
  %pv56 = alloca <8 x float>, align 64
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  br label %b0
b0:
  %v28 = add i32 %block_index.x, 0
  %v29 = add i32 %block_size.x, 0
  %v30 = mul i32 %v28, %v29
  %s31 = add i32 %thread_index.x, 0
  %s32 = add i32 %v30, %s31
  %t1 = insertelement <8 x i32> poison, i32 %s32, i64 0
  %t2 = shufflevector <8 x i32> %t1, <8 x i32> poison, <8 x i32> zeroinitializer
  %t3 = add <8 x i32> %t2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t4 = insertelement <8 x i32> poison, i32 %p4, i64 0
  %t5 = shufflevector <8 x i32> %t4, <8 x i32> poison, <8 x i32> zeroinitializer
  %v33 = icmp slt <8 x i32> %t3, %t5
  %s34 = sext i32 %s32 to i64
  %s35 = getelementptr i32, ptr %p0, i64 %s34
  %v37 = add i32 %block_size.x, 0
  %v38 = add i32 %block_size.y, 0
  %s39 = add i32 %thread_index.x, 0
  %v40 = add i32 %thread_index.y, 0
  %v41 = add i32 %thread_index.z, 0
  %v42 = mul i32 %v41, %v38
  %v43 = add i32 %v42, %v40
  %v44 = mul i32 %v43, %v37
  %s45 = add i32 %v44, %s39
  %t6 = insertelement <8 x i32> poison, i32 %s45, i64 0
  %t7 = shufflevector <8 x i32> %t6, <8 x i32> poison, <8 x i32> zeroinitializer
  %t8 = add <8 x i32> %t7, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v46 = and <8 x i32> %t8, splat (i32 31)
  %v48 = and <8 x i32> %v46, splat (i32 31)
  %v49 = sub <8 x i32> splat (i32 31), %v48
  %t9 = select <8 x i1> %active, <8 x i1> %v33, <8 x i1> zeroinitializer
  store <8 x i1> %t9, ptr %m2, align 64
  %t10 = xor <8 x i1> %v33, splat (i1 true)
  %t11 = select <8 x i1> %active, <8 x i1> %t10, <8 x i1> zeroinitializer
  store <8 x i1> %t11, ptr %m3, align 64
  br label %g2
g2:
  %t12 = load <8 x i1>, ptr %m2, align 64
  %t13 = bitcast <8 x i1> %t12 to i8
  %t14 = icmp ne i8 %t13, 0
  br i1 %t14, label %b2, label %b3
b2:
  %t15 = load <8 x i1>, ptr %m2, align 64
  %v54 = call <8 x i32> @llvm.masked.load.v8i32.p0(ptr align 4 %s35, <8 x i1> %t15, <8 x i32> zeroinitializer)
  %v55 = sitofp <8 x i32> %v54 to <8 x float>
  store <8 x float> %v55, ptr %pv56, align 64
  br label %b3
b3:
  %t16 = load <8 x i1>, ptr %m3, align 64
  %t17 = load <8 x float>, ptr %pv56, align 64
  %t18 = select <8 x i1> %t16, <8 x float> zeroinitializer, <8 x float> %t17
  store <8 x float> %t18, ptr %pv56, align 64
  br label %b4
b4:
  %v56 = load <8 x float>, ptr %pv56, align 64
  %v60 = bitcast <8 x float> %v56 to <8 x i32>
  %v61 = icmp ugt <8 x i32> splat (i32 16), %v49
  %v62 = add <8 x i32> %v46, splat (i32 16)
  %v63 = select <8 x i1> %v61, <8 x i32> %v46, <8 x i32> %v62
  store i32 16, ptr %p9, align 4
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v56, ptr align 4 %p6, <8 x i1> %active)
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v60, ptr align 4 %p7, <8 x i1> %active)
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v63, ptr align 4 %p8, <8 x i1> %active)
  %t19 = load <8 x i32>, ptr %result, align 64
  %t20 = select <8 x i1> %active, <8 x i32> splat (i32 1), <8 x i32> %t19
  store <8 x i32> %t20, ptr %result, align 64
  br label %end
end:
  %t21 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t21
}

define internal <8 x i32> @k.region1.lanes(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i32 %p4, ptr %p5, ptr %p6, ptr %p7, ptr %p8, ptr %p9, i32 %p10, ptr %p11, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_size.x, i32 %block_size.y, <8 x i1> %active) alwaysinline #0 {
entry:
  %m5 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m5, align 64
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  br label %b0
b0:
  %s27 = add i32 %thread_index.x, 0
  %v29 = add i32 %block_size.x, 0
  %v30 = add i32 %block_size.y, 0
  %s31 = add i32 %thread_index.x, 0
  %v32 = add i32 %thread_index.y, 0
  %v33 = add i32 %thread_index.z, 0
  %v34 = mul i32 %v33, %v30
  %v35 = add i32 %v34, %v32
  %v36 = mul i32 %v35, %v29
  %s37 = add i32 %v36, %s31
  %t1 = insertelement <8 x i32> poison, i32 %s37, i64 0
  %t2 = shufflevector <8 x i32> %t1, <8 x i32> poison, <8 x i32> zeroinitializer
  %t3 = add <8 x i32> %t2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v38 = and <8 x i32> %t3, splat (i32 31)
  %v40 = and <8 x i32> %v38, splat (i32 31)
  %v41 = sub <8 x i32> splat (i32 31), %v40
  %v42 = icmp eq <8 x i32> %v38, zeroinitializer
  %t4 = insertelement <8 x i32> poison, i32 %s27, i64 0
  %t5 = shufflevector <8 x i32> %t4, <8 x i32> poison, <8 x i32> zeroinitializer
  %t6 = add <8 x i32> %t5, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v43 = udiv <8 x i32> %t6, splat (i32 32)
  %v44 = zext <8 x i32> %v43 to <8 x i64>
  %v45 = getelementptr i32, ptr %p5, <8 x i64> %v44
  %v47 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %p6, <8 x i1> %active, <8 x float> zeroinitializer)
  %v49 = call <8 x i32> @llvm.masked.load.v8i32.p0(ptr align 4 %p7, <8 x i1> %active, <8 x i32> zeroinitializer)
  %v51 = bitcast <8 x i32> %v49 to <8 x float>
  %v52 = fadd <8 x float> %v47, %v51
  %v53 = sdiv i32 %p10, 2
  %v56 = icmp sgt i32 %v53, 0
  br i1 %v56, label %e0.0, label %e0.1
e0.0:
  br label %b3
e0.1:
  br label %b4
b3:
  %v57 = bitcast <8 x float> %v52 to <8 x i32>
  %t7 = insertelement <8 x i32> poison, i32 %v53, i64 0
  %t8 = shufflevector <8 x i32> %t7, <8 x i32> poison, <8 x i32> zeroinitializer
  %v58 = icmp ugt <8 x i32> %t8, %v41
  %v59 = add <8 x i32> %v38, %t8
  %v60 = select <8 x i1> %v58, <8 x i32> %v38, <8 x i32> %v59
  store i32 %v53, ptr %p11, align 4
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v52, ptr align 4 %p6, <8 x i1> %active)
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v57, ptr align 4 %p8, <8 x i1> %active)
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v60, ptr align 4 %p9, <8 x i1> %active)
  %t9 = load <8 x i32>, ptr %result, align 64
  %t10 = select <8 x i1> %active, <8 x i32> splat (i32 1), <8 x i32> %t9
  store <8 x i32> %t10, ptr %result, align 64
  br label %end
b4:
  %t11 = select <8 x i1> %active, <8 x i1> %v42, <8 x i1> zeroinitializer
  store <8 x i1> %t11, ptr %m5, align 64
  %t12 = xor <8 x i1> %v42, splat (i1 true)
  br label %g5
g5:
  %t13 = load <8 x i1>, ptr %m5, align 64
  %t14 = bitcast <8 x i1> %t13 to i8
  %t15 = icmp ne i8 %t14, 0
  br i1 %t15, label %b5, label %b6
b5:
  %t16 = load <8 x i1>, ptr %m5, align 64
  call void @llvm.masked.scatter.v8f32.v8p0(<8 x float> %v52, <8 x ptr> align 4 %v45, <8 x i1> %t16)
  br label %b6
b6:
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v52, ptr align 4 %p6, <8 x i1> %active)
  %t17 = load <8 x i32>, ptr %result, align 64
  %t18 = select <8 x i1> %active, <8 x i32> splat (i32 8), <8 x i32> %t17
  store <8 x i32> %t18, ptr %result, align 64
  br label %end
end:
  %t19 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t19
}

define internal <8 x i32> @k.region2.lanes(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i32 %p4, ptr %p5, ptr %p6, i64 %p7, ptr %p8, i32 %thread_index.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %active) alwaysinline #0 {
entry:
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  br label %b0
b0:
  %v18 = add i32 %block_index.x, 0
  %v19 = add i32 %block_size.x, 0
  %v20 = mul i32 %v18, %v19
  %s21 = add i32 %thread_index.x, 0
  %s22 = add i32 %v20, %s21
  %s23 = sext i32 %s22 to i64
  %s24 = getelementptr i32, ptr %p0, i64 %s23
  %v26 = and i64 %p7, 4294967295
  %v27 = call <8 x i32> @llvm.masked.load.v8i32.p0(ptr align 4 %s24, <8 x i1> %active, <8 x i32> zeroinitializer)
  store i64 %v26, ptr %p8, align 8
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v27, ptr align 4 %p6, <8 x i1> %active)
  %t1 = load <8 x i32>, ptr %result, align 64
  %t2 = select <8 x i1> %active, <8 x i32> splat (i32 3), <8 x i32> %t1
  store <8 x i32> %t2, ptr %result, align 64
  br label %end
end:
  %t3 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t3
}

define internal <8 x i32> @k.region3.lanes(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i32 %p4, ptr %p5, ptr %p6, ptr %p7, ptr %p8, i64 %p9, i32 %thread_index.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %active) alwaysinline #0 {
entry:
  %m3 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m3, align 64
  %m4 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m4, align 64
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  br label %b0
b0:
  %v26 = add i32 %block_index.x, 0
  %v27 = add i32 %block_size.x, 0
  %v28 = mul i32 %v26, %v27
  %s29 = add i32 %thread_index.x, 0
  %s30 = add i32 %v28, %s29
  %s31 = sext i32 %s30 to i64
  %s32 = getelementptr i32, ptr %p0, i64 %s31
  %s33 = getelementptr i64, ptr %p2, i64 %s31
  %s34 = getelementptr i64, ptr %p3, i64 %s31
  %v36 = call <8 x i64> @llvm.masked.load.v8i64.p0(ptr align 8 %p7, <8 x i1> %active, <8 x i64> zeroinitializer)
  %v38 = and <8 x i64> %v36, splat (i64 4294967295)
  %t1 = insertelement <8 x i64> poison, i64 %p9, i64 0
  %t2 = shufflevector <8 x i64> %t1, <8 x i64> poison, <8 x i32> zeroinitializer
  %v39 = add <8 x i64> %t2, %v38
  call void @llvm.masked.store.v8i64.p0(<8 x i64> %v39, ptr align 8 %s33, <8 x i1> %active)
  %v42 = call <8 x i32> @llvm.masked.load.v8i32.p0(ptr align 4 %s32, <8 x i1> %active, <8 x i32> zeroinitializer)
  %v43 = icmp slt <8 x i32> zeroinitializer, %v42
  %t3 = select <8 x i1> %active, <8 x i1> %v43, <8 x i1> zeroinitializer
  store <8 x i1> %t3, ptr %m3, align 64
  %t4 = xor <8 x i1> %v43, splat (i1 true)
  %t5 = select <8 x i1> %active, <8 x i1> %t4, <8 x i1> zeroinitializer
  store <8 x i1> %t5, ptr %m4, align 64
  br label %g3
g3:
  %t6 = load <8 x i1>, ptr %m3, align 64
  %t7 = bitcast <8 x i1> %t6 to i8
  %t8 = icmp ne i8 %t7, 0
  br i1 %t8, label %b3, label %g4
b3:
  %t9 = load <8 x i1>, ptr %m3, align 64
  %v44 = call <8 x double> @llvm.masked.load.v8f64.p0(ptr align 8 %s34, <8 x i1> %t9, <8 x double> zeroinitializer)
  call void @llvm.masked.store.v8i32.p0(<8 x i32> zeroinitializer, ptr align 4 %p6, <8 x i1> %t9)
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v44, ptr align 8 %p7, <8 x i1> %t9)
  %t10 = zext <8 x i1> splat (i1 true) to <8 x i8>
  call void @llvm.masked.store.v8i8.p0(<8 x i8> %t10, ptr align 1 %p8, <8 x i1> %t9)
  %t11 = load <8 x i32>, ptr %result, align 64
  %t12 = select <8 x i1> %t9, <8 x i32> splat (i32 4), <8 x i32> %t11
  store <8 x i32> %t12, ptr %result, align 64
  br label %g4
g4:
  %t13 = load <8 x i1>, ptr %m4, align 64
  %t14 = bitcast <8 x i1> %t13 to i8
  %t15 = icmp ne i8 %t14, 0
  br i1 %t15, label %b4, label %end
b4:
  %t16 = load <8 x i1>, ptr %m4, align 64
  %t17 = load <8 x i32>, ptr %result, align 64
  %t18 = select <8 x i1> %t16, <8 x i32> splat (i32 6), <8 x i32> %t17
  store <8 x i32> %t18, ptr %result, align 64
  br label %end
end:
  %t19 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t19
}

define internal <8 x i32> @k.region4.lanes(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i32 %p4, ptr %p5, ptr %p6, ptr %p7, ptr %p8, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_size.x, i32 %block_size.y, <8 x i1> %active) alwaysinline #0 {
entry:
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  br label %b0
b0:
  %v20 = add i32 %block_index.x, 0
  %v21 = add i32 %block_size.x, 0
  %v22 = mul i32 %v20, %v21
  %s23 = add i32 %thread_index.x, 0
  %s24 = add i32 %v22, %s23
  %v25 = add i32 %block_size.x, 0
  %v26 = add i32 %block_size.y, 0
  %s27 = add i32 %thread_index.x, 0
  %v28 = add i32 %thread_index.y, 0
  %v29 = add i32 %thread_index.z, 0
  %v30 = mul i32 %v29, %v26
  %v31 = add i32 %v30, %v28
  %v32 = mul i32 %v31, %v25
  %s33 = add i32 %v32, %s27
  %t1 = insertelement <8 x i32> poison, i32 %s33, i64 0
  %t2 = shufflevector <8 x i32> %t1, <8 x i32> poison, <8 x i32> zeroinitializer
  %t3 = add <8 x i32> %t2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v34 = and <8 x i32> %t3, splat (i32 31)
  %s36 = sext i32 %s24 to i64
  %s37 = getelementptr i64, ptr %p3, i64 %s36
  %v39 = xor <8 x i32> %v34, splat (i32 1)
  %v40 = add <8 x i32> %v34, splat (i32 32)
  %v42 = and <8 x i32> %v40, splat (i32 -32)
  %v43 = icmp sge <8 x i32> %v39, %v42
  %v44 = select <8 x i1> %v43, <8 x i32> %v34, <8 x i32> %v39
  %v47 = call <8 x double> @llvm.masked.load.v8f64.p0(ptr align 8 %s37, <8 x i1> %active, <8 x double> zeroinitializer)
  %v48 = bitcast <8 x double> %v47 to <8 x i64>
  call void @llvm.masked.store.v8i64.p0(<8 x i64> %v48, ptr align 8 %p8, <8 x i1> %active)
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v44, ptr align 4 %p7, <8 x i1> %active)
  %t4 = load <8 x i32>, ptr %result, align 64
  %t5 = select <8 x i1> %active, <8 x i32> splat (i32 5), <8 x i32> %t4
  store <8 x i32> %t5, ptr %result, align 64
  br label %end
end:
  %t6 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t6
}

define internal <8 x i32> @k.region5.lanes(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i32 %p4, ptr %p5, ptr %p6, ptr %p7, ptr %p8, ptr %p9, i32 %thread_index.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %active) alwaysinline #0 {
entry:
  %m3 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m3, align 64
  %m4 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m4, align 64
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  br label %b0
b0:
  %v24 = add i32 %block_index.x, 0
  %v25 = add i32 %block_size.x, 0
  %v26 = mul i32 %v24, %v25
  %s27 = add i32 %thread_index.x, 0
  %s28 = add i32 %v26, %s27
  %s29 = sext i32 %s28 to i64
  %s30 = getelementptr i32, ptr %p0, i64 %s29
  %s31 = getelementptr i64, ptr %p3, i64 %s29
  %v32 = call <8 x i32> @llvm.masked.load.v8i32.p0(ptr align 4 %p6, <8 x i1> %active, <8 x i32> zeroinitializer)
  %v34 = call <8 x double> @llvm.masked.load.v8f64.p0(ptr align 8 %p7, <8 x i1> %active, <8 x double> zeroinitializer)
  %v36 = call <8 x i64> @llvm.masked.load.v8i64.p0(ptr align 8 %p8, <8 x i1> %active, <8 x i64> zeroinitializer)
  %v38 = bitcast <8 x i64> %v36 to <8 x double>
  %v39 = fadd <8 x double> %v34, %v38
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v39, ptr align 8 %s31, <8 x i1> %active)
  %v41 = add <8 x i32> %v32, splat (i32 1)
  %v43 = call <8 x i32> @llvm.masked.load.v8i32.p0(ptr align 4 %s30, <8 x i1> %active, <8 x i32> zeroinitializer)
  %v44 = icmp slt <8 x i32> %v41, %v43
  %t1 = select <8 x i1> %active, <8 x i1> %v44, <8 x i1> zeroinitializer
  store <8 x i1> %t1, ptr %m3, align 64
  %t2 = xor <8 x i1> %v44, splat (i1 true)
  %t3 = select <8 x i1> %active, <8 x i1> %t2, <8 x i1> zeroinitializer
  store <8 x i1> %t3, ptr %m4, align 64
  br label %g3
g3:
  %t4 = load <8 x i1>, ptr %m3, align 64
  %t5 = bitcast <8 x i1> %t4 to i8
  %t6 = icmp ne i8 %t5, 0
  br i1 %t6, label %b3, label %g4
b3:
  %t7 = load <8 x i1>, ptr %m3, align 64
  %v45 = call <8 x double> @llvm.masked.load.v8f64.p0(ptr align 8 %s31, <8 x i1> %t7, <8 x double> zeroinitializer)
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v41, ptr align 4 %p6, <8 x i1> %t7)
  call void @llvm.masked.store.v8f64.p0(<8 x double> %v45, ptr align 8 %p7, <8 x i1> %t7)
  %t8 = zext <8 x i1> splat (i1 true) to <8 x i8>
  call void @llvm.masked.store.v8i8.p0(<8 x i8> %t8, ptr align 1 %p9, <8 x i1> %t7)
  %t9 = load <8 x i32>, ptr %result, align 64
  %t10 = select <8 x i1> %t7, <8 x i32> splat (i32 4), <8 x i32> %t9
  store <8 x i32> %t10, ptr %result, align 64
  br label %g4
g4:
  %t11 = load <8 x i1>, ptr %m4, align 64
  %t12 = bitcast <8 x i1> %t11 to i8
  %t13 = icmp ne i8 %t12, 0
  br i1 %t13, label %b4, label %end
b4:
  %t14 = load <8 x i1>, ptr %m4, align 64
  %t15 = load <8 x i32>, ptr %result, align 64
  %t16 = select <8 x i1> %t14, <8 x i32> splat (i32 6), <8 x i32> %t15
  store <8 x i32> %t16, ptr %result, align 64
  br label %end
end:
  %t17 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t17
}

define internal <8 x i32> @k.region6.lanes(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i32 %p4, ptr %p5, ptr %p6, i32 %thread_index.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %active) alwaysinline #0 {
entry:
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  br label %b0
b0:
  %v16 = add i32 %block_index.x, 0
  %v17 = add i32 %block_size.x, 0
  %v18 = mul i32 %v16, %v17
  %s19 = add i32 %thread_index.x, 0
  %s20 = add i32 %v18, %s19
  %s21 = sext i32 %s20 to i64
  %s22 = getelementptr i64, ptr %p3, i64 %s21
  %v23 = call <8 x double> @llvm.masked.load.v8f64.p0(ptr align 8 %s22, <8 x i1> %active, <8 x double> zeroinitializer)
  %v24 = bitcast <8 x double> %v23 to <8 x i64>
  call void @llvm.masked.store.v8i64.p0(<8 x i64> %v24, ptr align 8 %p6, <8 x i1> %active)
  %t1 = load <8 x i32>, ptr %result, align 64
  %t2 = select <8 x i1> %active, <8 x i32> splat (i32 7), <8 x i32> %t1
  store <8 x i32> %t2, ptr %result, align 64
  br label %end
end:
  %t3 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t3
}

define internal <8 x i32> @k.region7.lanes(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i32 %p4, ptr %p5, ptr %p6, i32 %thread_index.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %active) alwaysinline #0 {
entry:
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  br label %b0
b0:
  %v16 = add i32 %block_index.x, 0
  %v17 = add i32 %block_size.x, 0
  %v18 = mul i32 %v16, %v17
  %s19 = add i32 %thread_index.x, 0
  %s20 = add i32 %v18, %s19
  %s21 = sext i32 %s20 to i64
  %s22 = getelementptr i64, ptr %p2, i64 %s21
  %v23 = call <8 x i64> @llvm.masked.load.v8i64.p0(ptr align 8 %p6, <8 x i1> %active, <8 x i64> zeroinitializer)
  %v25 = call <8 x i64> @llvm.masked.load.v8i64.p0(ptr align 8 %s22, <8 x i1> %active, <8 x i64> zeroinitializer)
  %v26 = add <8 x i64> %v25, %v23
  call void @llvm.masked.store.v8i64.p0(<8 x i64> %v26, ptr align 8 %s22, <8 x i1> %active)
  %t1 = load <8 x i32>, ptr %result, align 64
  %t2 = select <8 x i1> %active, <8 x i32> splat (i32 9), <8 x i32> %t1
  store <8 x i32> %t2, ptr %result, align 64
  br label %end
end:
  %t3 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t3
}

define internal <8 x i32> @k.region8.lanes(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i32 %p4, ptr %p5, ptr %p6, ptr %p7, i32 %thread_index.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %active) alwaysinline #0 {
entry:
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  br label %b0
b0:
  %v21 = add i32 %block_index.x, 0
  %v22 = add i32 %block_size.x, 0
  %v23 = mul i32 %v21, %v22
  %s24 = add i32 %thread_index.x, 0
  %s25 = add i32 %v23, %s24
  %s26 = sext i32 %s25 to i64
  %s27 = getelementptr i32, ptr %p1, i64 %s26
  %v28 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %p6, <8 x i1> %active, <8 x float> zeroinitializer)
  %v30 = load float, ptr %p5, align 4, !llvm.access.group !0
  %t1 = insertelement <8 x float> poison, float %v30, i64 0
  %t2 = shufflevector <8 x float> %t1, <8 x float> poison, <8 x i32> zeroinitializer
  call void @llvm.masked.store.v8f32.p0(<8 x float> %t2, ptr align 4 %s27, <8 x i1> %active)
  %v32 = fcmp ogt <8 x float> %v28, splat (float 0x4008000000000000)
  %t3 = zext <8 x i1> %v32 to <8 x i8>
  call void @llvm.masked.store.v8i8.p0(<8 x i8> %t3, ptr align 1 %p7, <8 x i1> %active)
  %t4 = load <8 x i32>, ptr %result, align 64
  %t5 = select <8 x i1> %active, <8 x i32> splat (i32 2), <8 x i32> %t4
  store <8 x i32> %t5, ptr %result, align 64
  br label %end
end:
  %t6 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t6
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
  %r0.j = phi i32 [ 0, %r0.row ], [ %r0.j.next, %r0.latch ]
  %r0.x = add nuw nsw i32 %r0.x0, %r0.j
  %r0.j64 = zext nneg i32 %r0.j to i64
  %r0.i = add nuw nsw i64 %r0.f, %r0.j64
  %r0.c0 = getelementptr inbounds [4 x i8], ptr %c0, i64 %r0.i
  %r0.c4 = getelementptr inbounds [4 x i8], ptr %c4, i64 %r0.i
  %r0.c5 = getelementptr inbounds [4 x i8], ptr %c5, i64 %r0.i
  %r0.space = sub nuw i32 %r0.count, %r0.j
  %r0.space.one = insertelement <8 x i32> poison, i32 %r0.space, i64 0
  %r0.space.all = shufflevector <8 x i32> %r0.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %r0.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %r0.space.all
  %r0.is.whole = icmp uge i32 %r0.space, 8
  br i1 %r0.is.whole, label %r0.vector, label %r0.part
r0.vector:
  %r0.all.vector = call <8 x i32> @k.region0.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r0.c0, ptr %r0.c4, ptr %r0.c5, ptr %w.u0, i32 %r0.x, i32 %r0.y, i32 %r0.z, i32 %block_index.x, i32 %block_size.x, i32 %block_size.y, <8 x i1> splat (i1 true))
  br label %r0.kept
r0.part:
  %r0.all.part = call <8 x i32> @k.region0.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r0.c0, ptr %r0.c4, ptr %r0.c5, ptr %w.u0, i32 %r0.x, i32 %r0.y, i32 %r0.z, i32 %block_index.x, i32 %block_size.x, i32 %block_size.y, <8 x i1> %r0.active) noinline
  br label %r0.kept
r0.kept:
  %r0.all = phi <8 x i32> [ %r0.all.vector, %r0.vector ], [ %r0.all.part, %r0.part ]
  %r0.next = extractelement <8 x i32> %r0.all, i64 0
  %r0.s = getelementptr inbounds i32, ptr %states, i64 %r0.i
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %r0.all, ptr align 4 %r0.s, <8 x i1> %r0.active)
  br label %r0.latch
r0.latch:
  %r0.j.next = add nuw nsw i32 %r0.j, 8
  %r0.j.more = icmp ult i32 %r0.j.next, %r0.count
  br i1 %r0.j.more, label %r0.item, label %r0.row.end
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
  %r1.j = phi i32 [ 0, %r1.row ], [ %r1.j.next, %r1.latch ]
  %r1.x = add nuw nsw i32 %r1.x0, %r1.j
  %r1.j64 = zext nneg i32 %r1.j to i64
  %r1.i = add nuw nsw i64 %r1.f, %r1.j64
  %r1.c0 = getelementptr inbounds [4 x i8], ptr %c0, i64 %r1.i
  %r1.c1 = getelementptr inbounds [4 x i8], ptr %c1, i64 %r1.i
  %r1.c4 = getelementptr inbounds [4 x i8], ptr %c4, i64 %r1.i
  %r1.c5 = getelementptr inbounds [4 x i8], ptr %c5, i64 %r1.i
  %r1.space = sub nuw i32 %r1.count, %r1.j
  %r1.space.one = insertelement <8 x i32> poison, i32 %r1.space, i64 0
  %r1.space.all = shufflevector <8 x i32> %r1.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %r1.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %r1.space.all
  %r1.is.whole = icmp uge i32 %r1.space, 8
  br i1 %r1.is.whole, label %r1.vector, label %r1.part
r1.vector:
  %r1.all.vector = call <8 x i32> @k.region1.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r1.c0, ptr %r1.c1, ptr %r1.c4, ptr %r1.c5, i32 %r1.u0, ptr %w.u0, i32 %r1.x, i32 %r1.y, i32 %r1.z, i32 %block_size.x, i32 %block_size.y, <8 x i1> splat (i1 true))
  br label %r1.kept
r1.part:
  %r1.all.part = call <8 x i32> @k.region1.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r1.c0, ptr %r1.c1, ptr %r1.c4, ptr %r1.c5, i32 %r1.u0, ptr %w.u0, i32 %r1.x, i32 %r1.y, i32 %r1.z, i32 %block_size.x, i32 %block_size.y, <8 x i1> %r1.active) noinline
  br label %r1.kept
r1.kept:
  %r1.all = phi <8 x i32> [ %r1.all.vector, %r1.vector ], [ %r1.all.part, %r1.part ]
  %r1.next = extractelement <8 x i32> %r1.all, i64 0
  store i32 %r1.next, ptr %next.u, align 4, !llvm.access.group !0
  br label %r1.latch
r1.latch:
  %r1.j.next = add nuw nsw i32 %r1.j, 8
  %r1.j.more = icmp ult i32 %r1.j.next, %r1.count
  br i1 %r1.j.more, label %r1.item, label %r1.row.end
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
  %r2.j = phi i32 [ 0, %r2.row ], [ %r2.j.next, %r2.latch ]
  %r2.x = add nuw nsw i32 %r2.x0, %r2.j
  %r2.j64 = zext nneg i32 %r2.j to i64
  %r2.i = add nuw nsw i64 %r2.f, %r2.j64
  %r2.c4 = getelementptr inbounds [4 x i8], ptr %c4, i64 %r2.i
  %r2.space = sub nuw i32 %r2.count, %r2.j
  %r2.space.one = insertelement <8 x i32> poison, i32 %r2.space, i64 0
  %r2.space.all = shufflevector <8 x i32> %r2.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %r2.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %r2.space.all
  %r2.is.whole = icmp uge i32 %r2.space, 8
  br i1 %r2.is.whole, label %r2.vector, label %r2.part
r2.vector:
  %r2.all.vector = call <8 x i32> @k.region2.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r2.c4, i64 %r2.u1, ptr %w.u2, i32 %r2.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> splat (i1 true))
  br label %r2.kept
r2.part:
  %r2.all.part = call <8 x i32> @k.region2.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r2.c4, i64 %r2.u1, ptr %w.u2, i32 %r2.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %r2.active) noinline
  br label %r2.kept
r2.kept:
  %r2.all = phi <8 x i32> [ %r2.all.vector, %r2.vector ], [ %r2.all.part, %r2.part ]
  %r2.next = extractelement <8 x i32> %r2.all, i64 0
  br label %r2.latch
r2.latch:
  %r2.j.next = add nuw nsw i32 %r2.j, 8
  %r2.j.more = icmp ult i32 %r2.j.next, %r2.count
  br i1 %r2.j.more, label %r2.item, label %r2.row.end
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
  %r3.j = phi i32 [ 0, %r3.row ], [ %r3.j.next, %r3.latch ]
  %r3.x = add nuw nsw i32 %r3.x0, %r3.j
  %r3.j64 = zext nneg i32 %r3.j to i64
  %r3.i = add nuw nsw i64 %r3.f, %r3.j64
  %r3.c0 = getelementptr inbounds [4 x i8], ptr %c0, i64 %r3.i
  %r3.c2 = getelementptr inbounds [8 x i8], ptr %c2, i64 %r3.i
  %r3.c6 = getelementptr inbounds [1 x i8], ptr %c6, i64 %r3.i
  %r3.space = sub nuw i32 %r3.count, %r3.j
  %r3.space.one = insertelement <8 x i32> poison, i32 %r3.space, i64 0
  %r3.space.all = shufflevector <8 x i32> %r3.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %r3.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %r3.space.all
  %r3.is.whole = icmp uge i32 %r3.space, 8
  br i1 %r3.is.whole, label %r3.vector, label %r3.part
r3.vector:
  %r3.all.vector = call <8 x i32> @k.region3.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r3.c0, ptr %r3.c2, ptr %r3.c6, i64 %r3.u2, i32 %r3.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> splat (i1 true))
  br label %r3.kept
r3.part:
  %r3.all.part = call <8 x i32> @k.region3.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r3.c0, ptr %r3.c2, ptr %r3.c6, i64 %r3.u2, i32 %r3.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %r3.active) noinline
  br label %r3.kept
r3.kept:
  %r3.all = phi <8 x i32> [ %r3.all.vector, %r3.vector ], [ %r3.all.part, %r3.part ]
  %r3.next = extractelement <8 x i32> %r3.all, i64 0
  %r3.s = getelementptr inbounds i32, ptr %states, i64 %r3.i
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %r3.all, ptr align 4 %r3.s, <8 x i1> %r3.active)
  br label %r3.latch
r3.latch:
  %r3.j.next = add nuw nsw i32 %r3.j, 8
  %r3.j.more = icmp ult i32 %r3.j.next, %r3.count
  br i1 %r3.j.more, label %r3.item, label %r3.row.end
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
  %r4.j = phi i32 [ 0, %r4.row ], [ %r4.j.next, %r4.latch ]
  %r4.x = add nuw nsw i32 %r4.x0, %r4.j
  %r4.j64 = zext nneg i32 %r4.j to i64
  %r4.i = add nuw nsw i64 %r4.f, %r4.j64
  %r4.c3 = getelementptr inbounds [8 x i8], ptr %c3, i64 %r4.i
  %r4.c5 = getelementptr inbounds [4 x i8], ptr %c5, i64 %r4.i
  %r4.c7 = getelementptr inbounds [8 x i8], ptr %c7, i64 %r4.i
  %r4.space = sub nuw i32 %r4.count, %r4.j
  %r4.space.one = insertelement <8 x i32> poison, i32 %r4.space, i64 0
  %r4.space.all = shufflevector <8 x i32> %r4.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %r4.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %r4.space.all
  %r4.is.whole = icmp uge i32 %r4.space, 8
  br i1 %r4.is.whole, label %r4.vector, label %r4.part
r4.vector:
  %r4.all.vector = call <8 x i32> @k.region4.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r4.c3, ptr %r4.c5, ptr %r4.c7, i32 %r4.x, i32 %r4.y, i32 %r4.z, i32 %block_index.x, i32 %block_size.x, i32 %block_size.y, <8 x i1> splat (i1 true))
  br label %r4.kept
r4.part:
  %r4.all.part = call <8 x i32> @k.region4.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r4.c3, ptr %r4.c5, ptr %r4.c7, i32 %r4.x, i32 %r4.y, i32 %r4.z, i32 %block_index.x, i32 %block_size.x, i32 %block_size.y, <8 x i1> %r4.active) noinline
  br label %r4.kept
r4.kept:
  %r4.all = phi <8 x i32> [ %r4.all.vector, %r4.vector ], [ %r4.all.part, %r4.part ]
  %r4.next = extractelement <8 x i32> %r4.all, i64 0
  br label %r4.latch
r4.latch:
  %r4.j.next = add nuw nsw i32 %r4.j, 8
  %r4.j.more = icmp ult i32 %r4.j.next, %r4.count
  br i1 %r4.j.more, label %r4.item, label %r4.row.end
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
  %r5.j = phi i32 [ 0, %r5.row ], [ %r5.j.next, %r5.latch ]
  %r5.x = add nuw nsw i32 %r5.x0, %r5.j
  %r5.j64 = zext nneg i32 %r5.j to i64
  %r5.i = add nuw nsw i64 %r5.f, %r5.j64
  %r5.c0 = getelementptr inbounds [4 x i8], ptr %c0, i64 %r5.i
  %r5.c2 = getelementptr inbounds [8 x i8], ptr %c2, i64 %r5.i
  %r5.c3 = getelementptr inbounds [8 x i8], ptr %c3, i64 %r5.i
  %r5.c6 = getelementptr inbounds [1 x i8], ptr %c6, i64 %r5.i
  %r5.space = sub nuw i32 %r5.count, %r5.j
  %r5.space.one = insertelement <8 x i32> poison, i32 %r5.space, i64 0
  %r5.space.all = shufflevector <8 x i32> %r5.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %r5.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %r5.space.all
  %r5.is.whole = icmp uge i32 %r5.space, 8
  br i1 %r5.is.whole, label %r5.vector, label %r5.part
r5.vector:
  %r5.all.vector = call <8 x i32> @k.region5.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r5.c0, ptr %r5.c2, ptr %r5.c3, ptr %r5.c6, i32 %r5.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> splat (i1 true))
  br label %r5.kept
r5.part:
  %r5.all.part = call <8 x i32> @k.region5.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r5.c0, ptr %r5.c2, ptr %r5.c3, ptr %r5.c6, i32 %r5.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %r5.active) noinline
  br label %r5.kept
r5.kept:
  %r5.all = phi <8 x i32> [ %r5.all.vector, %r5.vector ], [ %r5.all.part, %r5.part ]
  %r5.next = extractelement <8 x i32> %r5.all, i64 0
  %r5.s = getelementptr inbounds i32, ptr %states, i64 %r5.i
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %r5.all, ptr align 4 %r5.s, <8 x i1> %r5.active)
  br label %r5.latch
r5.latch:
  %r5.j.next = add nuw nsw i32 %r5.j, 8
  %r5.j.more = icmp ult i32 %r5.j.next, %r5.count
  br i1 %r5.j.more, label %r5.item, label %r5.row.end
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
  %r6.j = phi i32 [ 0, %r6.row ], [ %r6.j.next, %r6.latch ]
  %r6.x = add nuw nsw i32 %r6.x0, %r6.j
  %r6.j64 = zext nneg i32 %r6.j to i64
  %r6.i = add nuw nsw i64 %r6.f, %r6.j64
  %r6.c7 = getelementptr inbounds [8 x i8], ptr %c7, i64 %r6.i
  %r6.space = sub nuw i32 %r6.count, %r6.j
  %r6.space.one = insertelement <8 x i32> poison, i32 %r6.space, i64 0
  %r6.space.all = shufflevector <8 x i32> %r6.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %r6.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %r6.space.all
  %r6.is.whole = icmp uge i32 %r6.space, 8
  br i1 %r6.is.whole, label %r6.vector, label %r6.part
r6.vector:
  %r6.all.vector = call <8 x i32> @k.region6.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r6.c7, i32 %r6.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> splat (i1 true))
  br label %r6.kept
r6.part:
  %r6.all.part = call <8 x i32> @k.region6.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r6.c7, i32 %r6.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %r6.active) noinline
  br label %r6.kept
r6.kept:
  %r6.all = phi <8 x i32> [ %r6.all.vector, %r6.vector ], [ %r6.all.part, %r6.part ]
  %r6.next = extractelement <8 x i32> %r6.all, i64 0
  br label %r6.latch
r6.latch:
  %r6.j.next = add nuw nsw i32 %r6.j, 8
  %r6.j.more = icmp ult i32 %r6.j.next, %r6.count
  br i1 %r6.j.more, label %r6.item, label %r6.row.end
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
  %r7.j = phi i32 [ 0, %r7.row ], [ %r7.j.next, %r7.latch ]
  %r7.x = add nuw nsw i32 %r7.x0, %r7.j
  %r7.j64 = zext nneg i32 %r7.j to i64
  %r7.i = add nuw nsw i64 %r7.f, %r7.j64
  %r7.c2 = getelementptr inbounds [8 x i8], ptr %c2, i64 %r7.i
  %r7.space = sub nuw i32 %r7.count, %r7.j
  %r7.space.one = insertelement <8 x i32> poison, i32 %r7.space, i64 0
  %r7.space.all = shufflevector <8 x i32> %r7.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %r7.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %r7.space.all
  %r7.is.whole = icmp uge i32 %r7.space, 8
  br i1 %r7.is.whole, label %r7.vector, label %r7.part
r7.vector:
  %r7.all.vector = call <8 x i32> @k.region7.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r7.c2, i32 %r7.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> splat (i1 true))
  br label %r7.kept
r7.part:
  %r7.all.part = call <8 x i32> @k.region7.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r7.c2, i32 %r7.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %r7.active) noinline
  br label %r7.kept
r7.kept:
  %r7.all = phi <8 x i32> [ %r7.all.vector, %r7.vector ], [ %r7.all.part, %r7.part ]
  %r7.next = extractelement <8 x i32> %r7.all, i64 0
  br label %r7.latch
r7.latch:
  %r7.j.next = add nuw nsw i32 %r7.j, 8
  %r7.j.more = icmp ult i32 %r7.j.next, %r7.count
  br i1 %r7.j.more, label %r7.item, label %r7.row.end
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
  %r8.j = phi i32 [ 0, %r8.row ], [ %r8.j.next, %r8.latch ]
  %r8.x = add nuw nsw i32 %r8.x0, %r8.j
  %r8.j64 = zext nneg i32 %r8.j to i64
  %r8.i = add nuw nsw i64 %r8.f, %r8.j64
  %r8.c0 = getelementptr inbounds [4 x i8], ptr %c0, i64 %r8.i
  %r8.c6 = getelementptr inbounds [1 x i8], ptr %c6, i64 %r8.i
  %r8.space = sub nuw i32 %r8.count, %r8.j
  %r8.space.one = insertelement <8 x i32> poison, i32 %r8.space, i64 0
  %r8.space.all = shufflevector <8 x i32> %r8.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %r8.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %r8.space.all
  %r8.is.whole = icmp uge i32 %r8.space, 8
  br i1 %r8.is.whole, label %r8.vector, label %r8.part
r8.vector:
  %r8.all.vector = call <8 x i32> @k.region8.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r8.c0, ptr %r8.c6, i32 %r8.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> splat (i1 true))
  br label %r8.kept
r8.part:
  %r8.all.part = call <8 x i32> @k.region8.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i32 %a4, ptr %shared, ptr %r8.c0, ptr %r8.c6, i32 %r8.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %r8.active) noinline
  br label %r8.kept
r8.kept:
  %r8.all = phi <8 x i32> [ %r8.all.vector, %r8.vector ], [ %r8.all.part, %r8.part ]
  %r8.next = extractelement <8 x i32> %r8.all, i64 0
  br label %r8.latch
r8.latch:
  %r8.j.next = add nuw nsw i32 %r8.j, 8
  %r8.j.more = icmp ult i32 %r8.j.next, %r8.count
  br i1 %r8.j.more, label %r8.item, label %r8.row.end
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

declare <8 x double> @llvm.masked.load.v8f64.p0(ptr, <8 x i1>, <8 x double>)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare <8 x i32> @llvm.masked.load.v8i32.p0(ptr, <8 x i1>, <8 x i32>)
declare <8 x i64> @llvm.masked.load.v8i64.p0(ptr, <8 x i1>, <8 x i64>)
declare i32 @llvm.vector.reduce.umin.v32i32(<32 x i32>) #1
declare i64 @llvm.cttz.i64(i64, i1) #1
declare i64 @llvm.umin.i64(i64, i64) #1
declare void @llvm.masked.scatter.v8f32.v8p0(<8 x float>, <8 x ptr>, <8 x i1>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
declare void @llvm.masked.store.v8f64.p0(<8 x double>, ptr, <8 x i1>)
declare void @llvm.masked.store.v8i32.p0(<8 x i32>, ptr, <8 x i1>)
declare void @llvm.masked.store.v8i64.p0(<8 x i64>, ptr, <8 x i1>)
declare void @llvm.masked.store.v8i8.p0(<8 x i8>, ptr, <8 x i1>)
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
