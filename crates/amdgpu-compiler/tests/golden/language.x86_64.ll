source_filename = "language.hip"
target triple = "x86_64-unknown-linux-gnu"

@weights = dso_local externally_initialized global [16 x i8] c"\00\00\80\3E\00\00\00\3F\00\00\40\3F\00\00\80\3F", align 4
@__agpu_two_over_pi.1 = internal unnamed_addr constant [40 x i8] c"\00\00\00\00\6E\83\F9\A2\29\15\44\4E\D1\57\27\FC\C0\DD\34\F5\99\95\62\DB\41\90\43\3C\AB\63\51\FE\61\C5\BB\DE\00\00\00\00", align 4
define internal i32 @factorial.5(i32 %p0) #0 {
b0:
  %v2 = icmp sle i32 %p0, 1
  br i1 %v2, label %b1, label %b2
b1:
  br label %b3
b2:
  %v3 = add i32 %p0, -1
  %v4 = call i32 @factorial.5(i32 %v3)
  %v5 = mul i32 %p0, %v4
  br label %b3
b3:
  %v6 = phi i32 [ 1, %b1 ], [ %v5, %b2 ]
  ret i32 %v6
}

define internal void @language.lanes(ptr noalias %p0, ptr noalias %p1, ptr %p2, i32 %p3, i8 %p4, double %p5, i8 %p6, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> %active) alwaysinline #0 {
entry:
  %m1 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m1, align 64
  %m2 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m2, align 64
  %m14 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m14, align 64
  %pv746 = alloca <8 x float>, align 64
  %c746 = alloca <8 x float>, align 64
  %ps111 = alloca i32, align 64
  %c112 = alloca <8 x i32>, align 64
  %m19 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m19, align 64
  %m22 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m22, align 64
  %pv123 = alloca <8 x i32>, align 64
  %m25 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m25, align 64
  %m29 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m29, align 64
  %pv749 = alloca <8 x float>, align 64
  %pv750 = alloca <8 x float>, align 64
  %m75 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m75, align 64
  %m80 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m80, align 64
  %m82 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m82, align 64
  %m89 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m89, align 64
  %m86 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m86, align 64
  %pv465 = alloca <8 x float>, align 64
  %pv463 = alloca <8 x i32>, align 64
  %m81 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m81, align 64
  %pv415 = alloca <8 x float>, align 64
  %pv416 = alloca <8 x float>, align 64
  %n0 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %n0, align 64
  %n1 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %n1, align 64
  %s16 = alloca [128 x i8], align 64
  br label %b0
b0:
  %v9 = icmp ne i8 %p4, 0
  %v316 = add i32 %block_index.x, 0
  %v317 = add i32 %block_size.x, 0
  %v318 = mul i32 %v316, %v317
  %s319 = add i32 %thread_index.x, 0
  %s320 = add i32 %v318, %s319
  %t1 = insertelement <8 x i32> poison, i32 %s320, i64 0
  %t2 = shufflevector <8 x i32> %t1, <8 x i32> poison, <8 x i32> zeroinitializer
  %t3 = add <8 x i32> %t2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t4 = insertelement <8 x i32> poison, i32 %p3, i64 0
  %t5 = shufflevector <8 x i32> %t4, <8 x i32> poison, <8 x i32> zeroinitializer
  %v23 = icmp uge <8 x i32> %t3, %t5
  %t6 = select <8 x i1> %active, <8 x i1> %v23, <8 x i1> zeroinitializer
  store <8 x i1> %t6, ptr %m1, align 64
  %t7 = xor <8 x i1> %v23, splat (i1 true)
  %t8 = select <8 x i1> %active, <8 x i1> %t7, <8 x i1> zeroinitializer
  store <8 x i1> %t8, ptr %m2, align 64
  br label %b1
b1:
  br label %g2
g2:
  %t9 = load <8 x i1>, ptr %m2, align 64
  %t10 = bitcast <8 x i1> %t9 to i8
  %t11 = icmp ne i8 %t10, 0
  br i1 %t11, label %b2, label %end
b2:
  %t12 = add i32 %s320, 7
  %t13 = zext i32 %t12 to i64
  %s28 = sub i64 %t13, 7
  %s614 = getelementptr i32, ptr %p0, i64 %s28
  %t14 = load <8 x i1>, ptr %m2, align 64
  %v30 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s614, <8 x i1> %t14, <8 x float> zeroinitializer)
  %v323 = fmul <8 x float> %v30, %v30
  %v35 = fadd <8 x float> %v323, splat (float 0x3FF0000000000000)
  %t15 = load <8 x i32>, ptr %s16, align 4
  %t16 = select <8 x i1> %t14, <8 x i32> zeroinitializer, <8 x i32> %t15
  store <8 x i32> %t16, ptr %s16, align 4
  %s777 = getelementptr i64, ptr %s16, i64 4
  %t17 = load <8 x i32>, ptr %s777, align 4
  %t18 = select <8 x i1> %t14, <8 x i32> zeroinitializer, <8 x i32> %t17
  store <8 x i32> %t18, ptr %s777, align 4
  %s781 = getelementptr i64, ptr %s16, i64 8
  %t19 = load <8 x i32>, ptr %s781, align 4
  %t20 = select <8 x i1> %t14, <8 x i32> zeroinitializer, <8 x i32> %t19
  store <8 x i32> %t20, ptr %s781, align 4
  %s785 = getelementptr i64, ptr %s16, i64 12
  %t21 = load <8 x i32>, ptr %s785, align 4
  %t22 = select <8 x i1> %t14, <8 x i32> zeroinitializer, <8 x i32> %t21
  store <8 x i32> %t22, ptr %s785, align 4
  %t23 = load <8 x float>, ptr %s16, align 4
  %t24 = select <8 x i1> %t14, <8 x float> splat (float 0x3FF0000000000000), <8 x float> %t23
  store <8 x float> %t24, ptr %s16, align 4
  %s621 = getelementptr i64, ptr %s16, i64 4
  %t25 = load <8 x float>, ptr %s621, align 4
  %t26 = select <8 x i1> %t14, <8 x float> splat (float 0x4000000000000000), <8 x float> %t25
  store <8 x float> %t26, ptr %s621, align 4
  %v644 = load float, ptr @weights, align 4, !llvm.access.group !0
  %t27 = insertelement <8 x float> poison, float %v644, i64 0
  %t28 = shufflevector <8 x float> %t27, <8 x float> poison, <8 x i32> zeroinitializer
  %v645 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v30, <8 x float> %t28, <8 x float> splat (float 0x3FF0000000000000))
  %t29 = load <8 x float>, ptr %s16, align 4
  %t30 = select <8 x i1> %t14, <8 x float> %v645, <8 x float> %t29
  store <8 x float> %t30, ptr %s16, align 4
  %s651 = getelementptr [32 x i8], ptr %s16, i64 1
  %v654 = getelementptr inbounds i32, ptr @weights, i64 1
  %v655 = load float, ptr %v654, align 4, !llvm.access.group !0
  %t31 = insertelement <8 x float> poison, float %v655, i64 0
  %t32 = shufflevector <8 x float> %t31, <8 x float> poison, <8 x i32> zeroinitializer
  %v656 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v30, <8 x float> %t32, <8 x float> splat (float 0x4000000000000000))
  %t33 = load <8 x float>, ptr %s651, align 4
  %t34 = select <8 x i1> %t14, <8 x float> %v656, <8 x float> %t33
  store <8 x float> %t34, ptr %s651, align 4
  %s662 = getelementptr [32 x i8], ptr %s16, i64 2
  %v663 = load <8 x float>, ptr %s662, align 4
  %v665 = getelementptr inbounds i32, ptr @weights, i64 2
  %v666 = load float, ptr %v665, align 4, !llvm.access.group !0
  %t35 = insertelement <8 x float> poison, float %v666, i64 0
  %t36 = shufflevector <8 x float> %t35, <8 x float> poison, <8 x i32> zeroinitializer
  %v667 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v30, <8 x float> %t36, <8 x float> %v663)
  %t37 = load <8 x float>, ptr %s662, align 4
  %t38 = select <8 x i1> %t14, <8 x float> %v667, <8 x float> %t37
  store <8 x float> %t38, ptr %s662, align 4
  %s615 = getelementptr [12 x i8], ptr %p2, i64 %s28
  %t39 = getelementptr i8, ptr %s615, <8 x i64> <i64 0, i64 12, i64 24, i64 36, i64 48, i64 60, i64 72, i64 84>
  %v712 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %t39, <8 x i1> %t14, <8 x float> zeroinitializer)
  %s715 = getelementptr i8, ptr %s615, i64 4
  %t40 = getelementptr i8, ptr %s715, <8 x i64> <i64 0, i64 12, i64 24, i64 36, i64 48, i64 60, i64 72, i64 84>
  %v716 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %t40, <8 x i1> %t14, <8 x float> zeroinitializer)
  %v329 = fadd <8 x float> %v712, %v35
  %v334 = fsub <8 x float> %v716, %v35
  %t41 = getelementptr i8, ptr %s615, <8 x i64> <i64 0, i64 12, i64 24, i64 36, i64 48, i64 60, i64 72, i64 84>
  call void @llvm.masked.scatter.v8f32.v8p0(<8 x float> %v329, <8 x ptr> align 4 %t41, <8 x i1> %t14)
  %v98 = fneg <8 x float> %v334
  %v770 = select i1 %v9, <8 x float> %v334, <8 x float> %v98
  %t42 = getelementptr i8, ptr %s715, <8 x i64> <i64 0, i64 12, i64 24, i64 36, i64 48, i64 60, i64 72, i64 84>
  call void @llvm.masked.scatter.v8f32.v8p0(<8 x float> %v770, <8 x ptr> align 4 %t42, <8 x i1> %t14)
  %s711 = getelementptr i8, ptr %s615, i64 8
  %t43 = getelementptr i8, ptr %s711, <8 x i64> <i64 0, i64 12, i64 24, i64 36, i64 48, i64 60, i64 72, i64 84>
  %v106 = call <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr> align 4 %t43, <8 x i1> %t14, <8 x i32> zeroinitializer)
  %v107 = xor <8 x i32> %v106, splat (i32 90)
  %t44 = getelementptr i8, ptr %s711, <8 x i64> <i64 0, i64 12, i64 24, i64 36, i64 48, i64 60, i64 72, i64 84>
  call void @llvm.masked.scatter.v8i32.v8p0(<8 x i32> %v107, <8 x ptr> align 4 %t44, <8 x i1> %t14)
  store <8 x i1> %t14, ptr %m14, align 64
  store <8 x float> %v35, ptr %pv746, align 64
  store i32 0, ptr %ps111, align 64
  br label %b14
b14:
  store <8 x i1> zeroinitializer, ptr %m19, align 64
  store <8 x i1> zeroinitializer, ptr %n1, align 64
  %v746 = load <8 x float>, ptr %pv746, align 64
  %v111 = load i32, ptr %ps111, align 64
  %t45 = load <8 x i1>, ptr %m14, align 64
  %t46 = load <8 x float>, ptr %c746, align 64
  %t47 = select <8 x i1> %t45, <8 x float> %v746, <8 x float> %t46
  store <8 x float> %t47, ptr %c746, align 64
  %v112 = add i32 %v111, 1
  %t48 = insertelement <8 x i32> poison, i32 %v112, i64 0
  %t49 = shufflevector <8 x i32> %t48, <8 x i32> poison, <8 x i32> zeroinitializer
  %t50 = load <8 x i32>, ptr %c112, align 64
  %t51 = select <8 x i1> %t45, <8 x i32> %t49, <8 x i32> %t50
  store <8 x i32> %t51, ptr %c112, align 64
  %v114 = icmp sgt i32 %v112, 7
  br i1 %v114, label %e14.0, label %e14.1
e14.0:
  br label %l1
e14.1:
  br label %b20
b20:
  %v117 = fcmp ogt <8 x float> %v746, splat (float 0x412E848000000000)
  %t52 = xor <8 x i1> %v117, splat (i1 true)
  %t53 = load <8 x i1>, ptr %m14, align 64
  %t54 = select <8 x i1> %t53, <8 x i1> %t52, <8 x i1> zeroinitializer
  store <8 x i1> %t54, ptr %m19, align 64
  br label %g19
g19:
  %t55 = load <8 x i1>, ptr %m19, align 64
  %t56 = bitcast <8 x i1> %t55 to i8
  %t57 = icmp ne i8 %t56, 0
  br i1 %t57, label %b19, label %l1
b19:
  %v120 = fmul <8 x float> %v746, splat (float 0x3FF8000000000000)
  %t58 = load <8 x i1>, ptr %m19, align 64
  store <8 x i1> %t58, ptr %n1, align 64
  store <8 x float> %v120, ptr %pv746, align 64
  store i32 %v112, ptr %ps111, align 64
  br label %l1
l1:
  %t59 = load <8 x i1>, ptr %n1, align 64
  store <8 x i1> %t59, ptr %m14, align 64
  %t60 = bitcast <8 x i1> %t59 to i8
  %t61 = icmp ne i8 %t60, 0
  br i1 %t61, label %b14, label %g18
g18:
  %t62 = load <8 x i1>, ptr %m2, align 64
  %t63 = bitcast <8 x i1> %t62 to i8
  %t64 = icmp ne i8 %t63, 0
  br i1 %t64, label %b18, label %end
b18:
  %v128 = fcmp olt <8 x float> %v30, splat (float 0x4059000000000000)
  %t65 = load <8 x i1>, ptr %m2, align 64
  store <8 x i1> %t65, ptr %m22, align 64
  %t66 = load <8 x i32>, ptr %c112, align 64
  store <8 x i32> %t66, ptr %pv123, align 64
  br label %b22
b22:
  store <8 x i1> zeroinitializer, ptr %m25, align 64
  store <8 x i1> zeroinitializer, ptr %n0, align 64
  %v123 = load <8 x i32>, ptr %pv123, align 64
  %v124 = add <8 x i32> %v123, splat (i32 -1)
  %v125 = icmp sgt <8 x i32> %v124, zeroinitializer
  %t67 = load <8 x i1>, ptr %m22, align 64
  %t68 = select <8 x i1> %t67, <8 x i1> %v125, <8 x i1> zeroinitializer
  store <8 x i1> %t68, ptr %m25, align 64
  %t69 = xor <8 x i1> %v125, splat (i1 true)
  br label %g25
g25:
  %t70 = load <8 x i1>, ptr %m25, align 64
  %t71 = bitcast <8 x i1> %t70 to i8
  %t72 = icmp ne i8 %t71, 0
  br i1 %t72, label %b25, label %l0
b25:
  %t73 = load <8 x i1>, ptr %m25, align 64
  %t74 = select <8 x i1> %t73, <8 x i1> %v128, <8 x i1> zeroinitializer
  store <8 x i1> %t74, ptr %n0, align 64
  store <8 x i32> %v124, ptr %pv123, align 64
  %t75 = xor <8 x i1> %v128, splat (i1 true)
  br label %l0
l0:
  %t76 = load <8 x i1>, ptr %n0, align 64
  store <8 x i1> %t76, ptr %m22, align 64
  %t77 = bitcast <8 x i1> %t76 to i8
  %t78 = icmp ne i8 %t77, 0
  br i1 %t78, label %b22, label %g24
g24:
  %t79 = load <8 x i1>, ptr %m2, align 64
  %t80 = bitcast <8 x i1> %t79 to i8
  %t81 = icmp ne i8 %t80, 0
  br i1 %t81, label %b24, label %end
b24:
  %v143 = zext i8 %p6 to i32
  switch i32 %v143, label %e24.3 [ i32 0, label %e24.0 i32 2, label %e24.1 i32 3, label %e24.1 i32 4, label %e24.2 ]
e24.0:
  br label %b27
e24.1:
  br label %b28
e24.2:
  %t82 = load <8 x i1>, ptr %m2, align 64
  %t83 = load <8 x i1>, ptr %m29, align 64
  %t84 = or <8 x i1> %t83, %t82
  store <8 x i1> %t84, ptr %m29, align 64
  store <8 x float> %v30, ptr %pv749, align 64
  br label %b29
e24.3:
  br label %b30
b27:
  %v145 = fadd <8 x float> %v30, splat (float 0x3FF0000000000000)
  store <8 x float> %v145, ptr %pv750, align 64
  br label %b26
b28:
  %v148 = fsub <8 x float> %v30, splat (float 0x3FF0000000000000)
  %t85 = load <8 x i1>, ptr %m2, align 64
  %t86 = load <8 x i1>, ptr %m29, align 64
  %t87 = or <8 x i1> %t86, %t85
  store <8 x i1> %t87, ptr %m29, align 64
  store <8 x float> %v148, ptr %pv749, align 64
  br label %b29
b29:
  %v749 = load <8 x float>, ptr %pv749, align 64
  %v151 = fmul <8 x float> %v749, splat (float 0x4000000000000000)
  store <8 x float> %v151, ptr %pv750, align 64
  br label %b26
b30:
  store <8 x float> zeroinitializer, ptr %pv750, align 64
  br label %b26
b26:
  %v750 = load <8 x float>, ptr %pv750, align 64
  %t88 = insertelement <8 x i32> poison, i32 %s320, i64 0
  %t89 = shufflevector <8 x i32> %t88, <8 x i32> poison, <8 x i32> zeroinitializer
  %t90 = add <8 x i32> %t89, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v166 = and <8 x i32> %t90, splat (i32 1)
  %v167 = icmp ne <8 x i32> %v166, zeroinitializer
  %v169 = select <8 x i1> %v167, <8 x i8> splat (i8 3), <8 x i8> zeroinitializer
  %v170 = icmp eq <8 x i8> %v169, splat (i8 3)
  %v172 = fneg <8 x float> %v750
  %v771 = select <8 x i1> %v170, <8 x float> %v172, <8 x float> %v750
  %s175 = shl i32 %s320, 3
  %t91 = insertelement <8 x i32> poison, i32 %s175, i64 0
  %t92 = shufflevector <8 x i32> %t91, <8 x i32> poison, <8 x i32> zeroinitializer
  %t93 = add <8 x i32> %t92, <i32 0, i32 8, i32 16, i32 24, i32 32, i32 40, i32 48, i32 56>
  %v176 = lshr <8 x i32> %t93, splat (i32 1)
  %v193 = icmp slt i32 %p3, 3
  %v194 = select i1 %v193, i32 %p3, i32 3
  %t94 = insertelement <8 x i32> poison, i32 %v194, i64 0
  %t95 = shufflevector <8 x i32> %t94, <8 x i32> poison, <8 x i32> zeroinitializer
  %t96 = icmp eq <8 x i32> %t95, zeroinitializer
  %t97 = icmp eq <8 x i32> %t95, splat (i32 -1)
  %t98 = or <8 x i1> %t96, %t97
  %t99 = select <8 x i1> %t98, <8 x i32> splat (i32 1), <8 x i32> %t95
  %t100 = sitofp <8 x i32> %t90 to <8 x double>
  %t101 = sitofp <8 x i32> %t99 to <8 x double>
  %t102 = fdiv <8 x double> %t100, %t101
  %t103 = fptosi <8 x double> %t102 to <8 x i32>
  %t104 = sub <8 x i32> zeroinitializer, %t90
  %t105 = select <8 x i1> %t97, <8 x i32> %t104, <8 x i32> %t103
  %v195 = select <8 x i1> %t96, <8 x i32> zeroinitializer, <8 x i32> %t105
  %v197 = srem <8 x i32> %v195, splat (i32 5)
  %v199 = xor <8 x i32> %v197, splat (i32 -1)
  %v201 = and <8 x i32> %v199, splat (i32 255)
  %v202 = or <8 x i32> %v176, %v201
  %v203 = sext <8 x i32> %v202 to <8 x i64>
  %v206 = mul <8 x i64> %v203, splat (i64 6)
  %v207 = trunc <8 x i64> %v206 to <8 x i16>
  %v208 = sext <8 x i16> %v207 to <8 x i64>
  %v209 = add <8 x i64> %v206, %v208
  %v211 = add <8 x i64> %v209, splat (i64 -12)
  %v212 = and <8 x i32> %t90, splat (i32 3)
  %v213 = zext <8 x i32> %v212 to <8 x i64>
  %t106 = getelementptr i8, ptr %s16, <8 x i64> <i64 0, i64 4, i64 8, i64 12, i64 16, i64 20, i64 24, i64 28>
  %v624 = getelementptr [32 x i8], <8 x ptr> %t106, <8 x i64> %v213
  %t107 = load <8 x i1>, ptr %m2, align 64
  %v215 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %v624, <8 x i1> %t107, <8 x float> zeroinitializer)
  %v218 = sitofp <8 x i64> %v211 to <8 x float>
  %t108 = load <8 x float>, ptr %c746, align 64
  %v355 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t108, <8 x float> %v771, <8 x float> %v218)
  %v220 = fadd <8 x float> %v215, %v355
  %v361 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %t108)
  %v364 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %v361)
  %v224 = fadd <8 x float> %v220, %v364
  %v368 = call <8 x float> @llvm.minimumnum.v8f32(<8 x float> %t108, <8 x float> %v771)
  %v228 = fadd <8 x float> %v224, %v368
  %v230 = fneg <8 x float> %t108
  %v232 = fmul <8 x float> %v230, %t108
  %v372 = fcmp ogt <8 x float> %v232, splat (float 0x4056400000000000)
  %v373 = select <8 x i1> %v372, <8 x float> splat (float 0x4056400000000000), <8 x float> %v232
  %v375 = fcmp olt <8 x float> %v373, splat (float 0xC05A000000000000)
  %v376 = select <8 x i1> %v375, <8 x float> splat (float 0xC05A000000000000), <8 x float> %v373
  %v379 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v376, <8 x float> splat (float 0x3FF7154760000000), <8 x float> splat (float 0x4168000000000000))
  %v380 = fsub <8 x float> %v379, splat (float 0x4168000000000000)
  %v382 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v380, <8 x float> splat (float 0xBFE62E4300000000), <8 x float> %v376)
  %v384 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v380, <8 x float> splat (float 0x3E205C6100000000), <8 x float> %v382)
  %v387 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3F56A1A720000000), <8 x float> %v384, <8 x float> splat (float 0x3F8123FC60000000))
  %v389 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v387, <8 x float> %v384, <8 x float> splat (float 0x3FA5559160000000))
  %v391 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v389, <8 x float> %v384, <8 x float> splat (float 0x3FC55548A0000000))
  %v393 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v391, <8 x float> %v384, <8 x float> splat (float 0x3FDFFFFFC0000000))
  %v394 = fmul <8 x float> %v384, %v384
  %v395 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v394, <8 x float> %v393, <8 x float> %v384)
  %v396 = bitcast <8 x float> %v379 to <8 x i32>
  %v398 = ashr <8 x i32> %v396, splat (i32 1)
  %v400 = shl <8 x i32> %v398, splat (i32 23)
  %v402 = add <8 x i32> %v400, splat (i32 1065353216)
  %v403 = bitcast <8 x i32> %v402 to <8 x float>
  %v404 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v395, <8 x float> %v403, <8 x float> %v403)
  %v405 = sub <8 x i32> %v396, %v398
  %v406 = shl <8 x i32> %v405, splat (i32 23)
  %v407 = add <8 x i32> %v406, splat (i32 1065353216)
  %v408 = bitcast <8 x i32> %v407 to <8 x float>
  %v409 = fmul <8 x float> %v404, %v408
  %v234 = fadd <8 x float> %v228, %v409
  %v413 = fcmp oeq <8 x float> %v771, zeroinitializer
  %t109 = select <8 x i1> %t107, <8 x i1> %v413, <8 x i1> zeroinitializer
  store <8 x i1> %t109, ptr %m75, align 64
  %t110 = xor <8 x i1> %v413, splat (i1 true)
  %t111 = select <8 x i1> %t107, <8 x i1> %t110, <8 x i1> zeroinitializer
  store <8 x i1> %t111, ptr %m80, align 64
  br label %b75
b75:
  store <8 x float> %v771, ptr %pv416, align 64
  br label %g80
g80:
  %t112 = load <8 x i1>, ptr %m80, align 64
  %t113 = bitcast <8 x i1> %t112 to i8
  %t114 = icmp ne i8 %t113, 0
  br i1 %t114, label %b80, label %g77
b80:
  %v419 = call <8 x float> @llvm.fabs.v8f32(<8 x float> %v771)
  %v422 = fcmp olt <8 x float> %v419, splat (float 0x7FF0000000000000)
  %t115 = load <8 x i1>, ptr %m80, align 64
  %t116 = select <8 x i1> %t115, <8 x i1> %v422, <8 x i1> zeroinitializer
  store <8 x i1> %t116, ptr %m82, align 64
  %t117 = xor <8 x i1> %v422, splat (i1 true)
  %t118 = select <8 x i1> %t115, <8 x i1> %t117, <8 x i1> zeroinitializer
  store <8 x i1> %t118, ptr %m81, align 64
  br label %g82
g82:
  %t119 = load <8 x i1>, ptr %m82, align 64
  %t120 = bitcast <8 x i1> %t119 to i8
  %t121 = icmp ne i8 %t120, 0
  br i1 %t121, label %b82, label %b81
b82:
  %v430 = fcmp ogt <8 x float> %v419, splat (float 0x40F0000000000000)
  %t122 = load <8 x i1>, ptr %m82, align 64
  %t123 = select <8 x i1> %t122, <8 x i1> %v430, <8 x i1> zeroinitializer
  store <8 x i1> %t123, ptr %m89, align 64
  %t124 = xor <8 x i1> %v430, splat (i1 true)
  %t125 = select <8 x i1> %t122, <8 x i1> %t124, <8 x i1> zeroinitializer
  store <8 x i1> %t125, ptr %m86, align 64
  br label %g89
g89:
  %t126 = load <8 x i1>, ptr %m89, align 64
  %t127 = bitcast <8 x i1> %t126 to i8
  %t128 = icmp ne i8 %t127, 0
  br i1 %t128, label %b89, label %b86
b89:
  %v478 = bitcast <8 x float> %v419 to <8 x i32>
  %v480 = and <8 x i32> %v478, splat (i32 8388607)
  %v482 = or <8 x i32> %v480, splat (i32 8388608)
  %v483 = sext <8 x i32> %v482 to <8 x i64>
  %v485 = ashr <8 x i32> %v478, splat (i32 23)
  %v489 = add <8 x i32> %v485, splat (i32 -120)
  %v491 = ashr <8 x i32> %v489, splat (i32 5)
  %v493 = and <8 x i32> %v489, splat (i32 31)
  %v496 = sext <8 x i32> %v491 to <8 x i64>
  %v626 = getelementptr i32, ptr @__agpu_two_over_pi.1, <8 x i64> %v496
  %t129 = load <8 x i1>, ptr %m89, align 64
  %v498 = call <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr> align 4 %v626, <8 x i1> %t129, <8 x i32> zeroinitializer)
  %v499 = zext <8 x i32> %v498 to <8 x i64>
  %v501 = shl <8 x i64> %v499, splat (i64 32)
  %v505 = add <8 x i32> %v491, splat (i32 1)
  %v506 = sext <8 x i32> %v505 to <8 x i64>
  %v627 = getelementptr i32, ptr @__agpu_two_over_pi.1, <8 x i64> %v506
  %v508 = call <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr> align 4 %v627, <8 x i1> %t129, <8 x i32> zeroinitializer)
  %v509 = zext <8 x i32> %v508 to <8 x i64>
  %v510 = or <8 x i64> %v501, %v509
  %v511 = sext <8 x i32> %v493 to <8 x i64>
  %t130 = and <8 x i64> %v511, splat (i64 63)
  %v512 = shl <8 x i64> %v510, %t130
  %v513 = lshr <8 x i64> %v512, splat (i64 32)
  %v521 = shl <8 x i64> %v509, splat (i64 32)
  %v525 = add <8 x i32> %v491, splat (i32 2)
  %v526 = sext <8 x i32> %v525 to <8 x i64>
  %v629 = getelementptr i32, ptr @__agpu_two_over_pi.1, <8 x i64> %v526
  %v528 = call <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr> align 4 %v629, <8 x i1> %t129, <8 x i32> zeroinitializer)
  %v529 = zext <8 x i32> %v528 to <8 x i64>
  %v530 = or <8 x i64> %v521, %v529
  %t131 = and <8 x i64> %v511, splat (i64 63)
  %v532 = shl <8 x i64> %v530, %t131
  %v533 = lshr <8 x i64> %v532, splat (i64 32)
  %v541 = shl <8 x i64> %v529, splat (i64 32)
  %v545 = add <8 x i32> %v491, splat (i32 3)
  %v546 = sext <8 x i32> %v545 to <8 x i64>
  %v631 = getelementptr i32, ptr @__agpu_two_over_pi.1, <8 x i64> %v546
  %v548 = call <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr> align 4 %v631, <8 x i1> %t129, <8 x i32> zeroinitializer)
  %v549 = zext <8 x i32> %v548 to <8 x i64>
  %v550 = or <8 x i64> %v541, %v549
  %t132 = and <8 x i64> %v511, splat (i64 63)
  %v552 = shl <8 x i64> %v550, %t132
  %v553 = lshr <8 x i64> %v552, splat (i64 32)
  %v554 = mul <8 x i64> %v483, %v553
  %v555 = lshr <8 x i64> %v554, splat (i64 32)
  %v556 = mul <8 x i64> %v483, %v533
  %v557 = add <8 x i64> %v555, %v556
  %v558 = lshr <8 x i64> %v557, splat (i64 32)
  %v559 = mul <8 x i64> %v483, %v513
  %v560 = add <8 x i64> %v558, %v559
  %v561 = shl <8 x i64> %v560, splat (i64 32)
  %v563 = and <8 x i64> %v557, splat (i64 4294967295)
  %v564 = or <8 x i64> %v561, %v563
  %v433 = add <8 x i64> %v564, splat (i64 2305843009213693952)
  %v435 = lshr <8 x i64> %v433, splat (i64 62)
  %v436 = shl <8 x i64> %v435, splat (i64 62)
  %v437 = sub <8 x i64> %v564, %v436
  %v438 = sitofp <8 x i64> %v437 to <8 x double>
  %v440 = fmul <8 x double> %v438, splat (double 0x3C1921FB54442D18)
  %v441 = fptrunc <8 x double> %v440 to <8 x float>
  %v442 = trunc <8 x i64> %v435 to <8 x i32>
  %v444 = fcmp olt <8 x float> %v771, zeroinitializer
  %v445 = fneg <8 x float> %v441
  %v446 = select <8 x i1> %v444, <8 x float> %v445, <8 x float> %v441
  %v448 = sub <8 x i32> zeroinitializer, %v442
  %v449 = select <8 x i1> %v444, <8 x i32> %v448, <8 x i32> %v442
  store <8 x float> %v446, ptr %pv465, align 64
  store <8 x i32> %v449, ptr %pv463, align 64
  br label %b86
b86:
  %v451 = fmul <8 x float> %v771, splat (float 0x3FE45F3060000000)
  %v452 = call <8 x float> @llvm.roundeven.v8f32(<8 x float> %v451)
  %v454 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v452, <8 x float> splat (float 0xBFF921FB60000000), <8 x float> %v771)
  %v456 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v452, <8 x float> splat (float 0x3E6777A5C0000000), <8 x float> %v454)
  %v458 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v452, <8 x float> splat (float 0x3CDEE59DA0000000), <8 x float> %v456)
  %t133 = fcmp oge <8 x float> %v452, splat (float 0xC1E0000000000000)
  %t134 = fcmp olt <8 x float> %v452, splat (float 0x41E0000000000000)
  %t135 = and <8 x i1> %t133, %t134
  %t136 = select <8 x i1> %t135, <8 x float> %v452, <8 x float> zeroinitializer
  %t137 = fptosi <8 x float> %t136 to <8 x i32>
  %t138 = fcmp ogt <8 x float> %v452, zeroinitializer
  %t139 = fcmp olt <8 x float> %v452, zeroinitializer
  %t140 = select <8 x i1> %t139, <8 x i32> splat (i32 -2147483648), <8 x i32> zeroinitializer
  %t141 = select <8 x i1> %t138, <8 x i32> splat (i32 2147483647), <8 x i32> %t140
  %v459 = select <8 x i1> %t135, <8 x i32> %t137, <8 x i32> %t141
  %t142 = load <8 x i1>, ptr %m86, align 64
  %t143 = load <8 x float>, ptr %pv465, align 64
  %t144 = select <8 x i1> %t142, <8 x float> %v458, <8 x float> %t143
  store <8 x float> %t144, ptr %pv465, align 64
  %t145 = load <8 x i32>, ptr %pv463, align 64
  %t146 = select <8 x i1> %t142, <8 x i32> %v459, <8 x i32> %t145
  store <8 x i32> %t146, ptr %pv463, align 64
  br label %g85
g85:
  %t147 = load <8 x i1>, ptr %m82, align 64
  %t148 = bitcast <8 x i1> %t147 to i8
  %t149 = icmp ne i8 %t148, 0
  br i1 %t149, label %b85, label %b81
b85:
  %v465 = load <8 x float>, ptr %pv465, align 64
  %v463 = load <8 x i32>, ptr %pv463, align 64
  %v567 = fmul <8 x float> %v465, %v465
  %v570 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0x3EC6CCCC80000000), <8 x float> %v567, <8 x float> splat (float 0xBF2A00F6A0000000))
  %v572 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v570, <8 x float> %v567, <8 x float> splat (float 0x3F81111080000000))
  %v574 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v572, <8 x float> %v567, <8 x float> splat (float 0xBFC5555560000000))
  %v575 = fmul <8 x float> %v465, %v567
  %v576 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v575, <8 x float> %v574, <8 x float> %v465)
  %v582 = call <8 x float> @llvm.fma.v8f32(<8 x float> splat (float 0xBE9241AB60000000), <8 x float> %v567, <8 x float> splat (float 0x3EFA010CC0000000))
  %v584 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v582, <8 x float> %v567, <8 x float> splat (float 0xBF56C16B80000000))
  %v586 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v584, <8 x float> %v567, <8 x float> splat (float 0x3FA5555560000000))
  %v587 = fmul <8 x float> %v567, %v567
  %v590 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v567, <8 x float> splat (float 0xBFE0000000000000), <8 x float> splat (float 0x3FF0000000000000))
  %v591 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v587, <8 x float> %v586, <8 x float> %v590)
  %v469 = and <8 x i32> %v463, splat (i32 1)
  %v470 = icmp ne <8 x i32> %v469, zeroinitializer
  %v471 = select <8 x i1> %v470, <8 x float> %v591, <8 x float> %v576
  %v473 = and <8 x i32> %v463, splat (i32 2)
  %v474 = icmp ne <8 x i32> %v473, zeroinitializer
  %v475 = fneg <8 x float> %v471
  %v476 = select <8 x i1> %v474, <8 x float> %v475, <8 x float> %v471
  store <8 x float> %v476, ptr %pv415, align 64
  br label %b81
b81:
  %t150 = load <8 x i1>, ptr %m81, align 64
  %t151 = load <8 x float>, ptr %pv415, align 64
  %t152 = select <8 x i1> %t150, <8 x float> splat (float 0x7FF8000000000000), <8 x float> %t151
  store <8 x float> %t152, ptr %pv415, align 64
  br label %g79
g79:
  %t153 = load <8 x i1>, ptr %m80, align 64
  %t154 = bitcast <8 x i1> %t153 to i8
  %t155 = icmp ne i8 %t154, 0
  br i1 %t155, label %b79, label %g77
b79:
  %v415 = load <8 x float>, ptr %pv415, align 64
  %t156 = load <8 x i1>, ptr %m80, align 64
  %t157 = load <8 x float>, ptr %pv416, align 64
  %t158 = select <8 x i1> %t156, <8 x float> %v415, <8 x float> %t157
  store <8 x float> %t158, ptr %pv416, align 64
  br label %g77
g77:
  %t159 = load <8 x i1>, ptr %m2, align 64
  %t160 = bitcast <8 x i1> %t159 to i8
  %t161 = icmp ne i8 %t160, 0
  br i1 %t161, label %b77, label %end
b77:
  %v416 = load <8 x float>, ptr %pv416, align 64
  %v237 = fadd <8 x float> %v234, %v416
  %t162 = load <8 x i1>, ptr %m2, align 64
  %t163 = bitcast <8 x i1> %t162 to i8
  br label %o238
o238:
  %o238.left = phi i8 [ %t163, %b77 ], [ %o238.rest, %o238.next ]
  %o238.old = phi <8 x i32> [ zeroinitializer, %b77 ], [ %v238, %o238.next ]
  %t164 = call i8 @llvm.cttz.i8(i8 %o238.left, i1 true)
  %o.v238 = call i32 @factorial.5(i32 3)
  %v238 = insertelement <8 x i32> %o238.old, i32 %o.v238, i8 %t164
  br label %o238.next
o238.next:
  %o238.less = add i8 %o238.left, -1
  %o238.rest = and i8 %o238.left, %o238.less
  %o238.more = icmp ne i8 %o238.rest, 0
  br i1 %o238.more, label %o238, label %o238.done
o238.done:
  %v239 = sitofp <8 x i32> %v238 to <8 x float>
  %v240 = fadd <8 x float> %v237, %v239
  %v594 = fmul double %p5, %p5
  %v260 = fcmp ogt double %v594, 0x4000000000000000
  %v261 = select i1 %v260, i32 1, i32 0
  %v262 = sitofp i32 %v261 to float
  %t165 = insertelement <8 x float> poison, float %v262, i64 0
  %t166 = shufflevector <8 x float> %t165, <8 x float> poison, <8 x i32> zeroinitializer
  %v263 = fadd <8 x float> %v240, %t166
  %t167 = load <8 x float>, ptr %c746, align 64
  %v270 = fadd <8 x float> splat (float 0x4000000000000000), %t167
  %v274 = fadd <8 x float> %v263, %v270
  %v277 = fcmp olt <8 x float> %t167, %v771
  %v772 = select <8 x i1> %v277, <8 x float> %t167, <8 x float> %v771
  %v281 = fsub <8 x float> %v274, %v772
  %v300 = sext i32 %p3 to i64
  %v620 = getelementptr inbounds i32, ptr %p1, i64 %v300
  %v302 = icmp ugt ptr %v620, %p1
  %v303 = select i1 %v302, i32 1, i32 0
  %v304 = sitofp i32 %v303 to float
  %t168 = insertelement <8 x float> poison, float %v304, i64 0
  %t169 = shufflevector <8 x float> %t168, <8 x float> poison, <8 x i32> zeroinitializer
  %v305 = fadd <8 x float> %v281, %t169
  %t170 = insertelement <8 x i32> poison, i32 %s320, i64 0
  %t171 = shufflevector <8 x i32> %t170, <8 x i32> poison, <8 x i32> zeroinitializer
  %t172 = add <8 x i32> %t171, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v349 = icmp ugt <8 x i32> %t172, splat (i32 7)
  %v350 = select <8 x i1> %v349, <8 x i32> %t172, <8 x i32> splat (i32 7)
  %v308 = uitofp <8 x i32> %v350 to <8 x float>
  %v309 = fadd <8 x float> %v305, %v308
  %v358 = call <8 x i32> @llvm.ctpop.v8i32(<8 x i32> %t172)
  %v311 = sitofp <8 x i32> %v358 to <8 x float>
  %v312 = fadd <8 x float> %v309, %v311
  %s625 = getelementptr i32, ptr %p1, i64 %s28
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v312, ptr align 4 %s625, <8 x i1> %t162)
  br label %end
end:
  ret void
}

define void @language(ptr noalias readonly %arguments, ptr noalias readonly %launch, i64 %begin, i64 %end) #0 {
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
  %a4 = load i8, ptr %a4.p, align 1
  %a5.p = getelementptr inbounds i8, ptr %arguments, i64 32
  %a5 = load double, ptr %a5.p, align 8
  %a6.p = getelementptr inbounds i8, ptr %arguments, i64 40
  %a6 = load i8, ptr %a6.p, align 1
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
  br label %plane
plane:
  %thread_index.z = phi i32 [ 0, %block ], [ %z.next, %plane.end ]
  br label %row
row:
  %thread_index.y = phi i32 [ 0, %plane ], [ %y.next, %row.end ]
  br label %item
item:
  %thread_index.x = phi i32 [ 0, %row ], [ %x.next, %item ]
  %item.space = sub nuw i32 %block_size.x, %thread_index.x
  %item.space.one = insertelement <8 x i32> poison, i32 %item.space, i64 0
  %item.space.all = shufflevector <8 x i32> %item.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %item.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %item.space.all
  call void @language.lanes(ptr %a0, ptr %a1, ptr %a2, i32 %a3, i8 %a4, double %a5, i8 %a6, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> %item.active)
  %x.next = add nuw nsw i32 %thread_index.x, 8
  %x.more = icmp ult i32 %x.next, %block_size.x
  br i1 %x.more, label %item, label %row.end
row.end:
  %y.next = add nuw nsw i32 %thread_index.y, 1
  %y.more = icmp ult i32 %y.next, %block_size.y
  br i1 %y.more, label %row, label %plane.end
plane.end:
  %z.next = add nuw nsw i32 %thread_index.z, 1
  %z.more = icmp ult i32 %z.next, %block_size.z
  br i1 %z.more, label %plane, label %block.end
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

declare <8 x float> @llvm.fabs.v8f32(<8 x float>) #1
declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>) #1
declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, <8 x i1>, <8 x float>)
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare <8 x float> @llvm.minimumnum.v8f32(<8 x float>, <8 x float>) #1
declare <8 x float> @llvm.roundeven.v8f32(<8 x float>) #1
declare <8 x float> @llvm.sqrt.v8f32(<8 x float>) #1
declare <8 x i32> @llvm.ctpop.v8i32(<8 x i32>) #1
declare <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr>, <8 x i1>, <8 x i32>)
declare i8 @llvm.cttz.i8(i8, i1) #1
declare void @llvm.masked.scatter.v8f32.v8p0(<8 x float>, <8 x ptr>, <8 x i1>)
declare void @llvm.masked.scatter.v8i32.v8p0(<8 x i32>, <8 x ptr>, <8 x i1>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
