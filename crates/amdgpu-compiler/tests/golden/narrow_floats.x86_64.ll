source_filename = "narrow_floats.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal void @narrow_floats.lanes(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i16 %p4, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> %active) alwaysinline #0 {
entry:
  %pv48 = alloca <8 x i16>, align 64
  %m1 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m1, align 64
  %s12 = alloca [32 x i8], align 64
  %s18 = alloca [32 x i8], align 64
  %s23 = alloca [32 x i8], align 64
  %s30 = alloca [32 x i8], align 64
  br label %b0
b0:
  %s9 = add i32 %thread_index.x, 0
  %s20 = sext i32 %s9 to i64
  %s219 = getelementptr i32, ptr %p1, i64 %s20
  %t1 = getelementptr i8, ptr %s219, <8 x i64> <i64 0, i64 4, i64 8, i64 12, i64 16, i64 20, i64 24, i64 28>
  %v280 = call <8 x i16> @llvm.masked.gather.v8i16.v8p0(<8 x ptr> align 2 %t1, <8 x i1> %active, <8 x i16> zeroinitializer)
  store <8 x i16> %v280, ptr %s18, align 2
  %s283 = getelementptr i8, ptr %s219, i64 2
  %t2 = getelementptr i8, ptr %s283, <8 x i64> <i64 0, i64 4, i64 8, i64 12, i64 16, i64 20, i64 24, i64 28>
  %v284 = call <8 x i16> @llvm.masked.gather.v8i16.v8p0(<8 x ptr> align 2 %t2, <8 x i1> %active, <8 x i16> zeroinitializer)
  %s286 = getelementptr i64, ptr %s18, i64 2
  store <8 x i16> %v284, ptr %s286, align 2
  %s220 = getelementptr i32, ptr %p2, i64 %s20
  %t3 = getelementptr i8, ptr %s220, <8 x i64> <i64 0, i64 4, i64 8, i64 12, i64 16, i64 20, i64 24, i64 28>
  %v288 = call <8 x i16> @llvm.masked.gather.v8i16.v8p0(<8 x ptr> align 2 %t3, <8 x i1> %active, <8 x i16> zeroinitializer)
  store <8 x i16> %v288, ptr %s23, align 2
  %s291 = getelementptr i8, ptr %s220, i64 2
  %t4 = getelementptr i8, ptr %s291, <8 x i64> <i64 0, i64 4, i64 8, i64 12, i64 16, i64 20, i64 24, i64 28>
  %v292 = call <8 x i16> @llvm.masked.gather.v8i16.v8p0(<8 x ptr> align 2 %t4, <8 x i1> %active, <8 x i16> zeroinitializer)
  %s294 = getelementptr i64, ptr %s23, i64 2
  store <8 x i16> %v292, ptr %s294, align 2
  %v238 = load <8 x i16>, ptr %s18, align 2
  %s241 = getelementptr i64, ptr %s18, i64 2
  %v242 = load <8 x i16>, ptr %s241, align 2
  %v246 = load <8 x i16>, ptr %s23, align 2
  %s249 = getelementptr i64, ptr %s23, i64 2
  %v250 = load <8 x i16>, ptr %s249, align 2
  %t5 = bitcast <8 x i16> %v238 to <8 x half>
  %v100 = fpext <8 x half> %t5 to <8 x float>
  %t6 = bitcast <8 x i16> %v246 to <8 x half>
  %v102 = fpext <8 x half> %t6 to <8 x float>
  %v103 = fmul <8 x float> %v100, %v102
  %t7 = fptrunc <8 x float> %v103 to <8 x half>
  %v104 = bitcast <8 x half> %t7 to <8 x i16>
  %t8 = bitcast <8 x i16> %v242 to <8 x half>
  %v110 = fpext <8 x half> %t8 to <8 x float>
  %t9 = bitcast <8 x i16> %v250 to <8 x half>
  %v113 = fpext <8 x half> %t9 to <8 x float>
  %v114 = fmul <8 x float> %v110, %v113
  %t10 = fptrunc <8 x float> %v114 to <8 x half>
  %v115 = bitcast <8 x half> %t10 to <8 x i16>
  %s223 = getelementptr i32, ptr %p0, i64 %s20
  %t11 = getelementptr i8, ptr %s223, <8 x i64> <i64 0, i64 4, i64 8, i64 12, i64 16, i64 20, i64 24, i64 28>
  %v296 = call <8 x i16> @llvm.masked.gather.v8i16.v8p0(<8 x ptr> align 2 %t11, <8 x i1> %active, <8 x i16> zeroinitializer)
  store <8 x i16> %v296, ptr %s30, align 2
  %s299 = getelementptr i8, ptr %s223, i64 2
  %t12 = getelementptr i8, ptr %s299, <8 x i64> <i64 0, i64 4, i64 8, i64 12, i64 16, i64 20, i64 24, i64 28>
  %v300 = call <8 x i16> @llvm.masked.gather.v8i16.v8p0(<8 x ptr> align 2 %t12, <8 x i1> %active, <8 x i16> zeroinitializer)
  %s302 = getelementptr i64, ptr %s30, i64 2
  store <8 x i16> %v300, ptr %s302, align 2
  %v270 = load <8 x i16>, ptr %s30, align 2
  %s273 = getelementptr i64, ptr %s30, i64 2
  %v274 = load <8 x i16>, ptr %s273, align 2
  %t13 = bitcast <8 x i16> %v104 to <8 x half>
  %v131 = fpext <8 x half> %t13 to <8 x float>
  %t14 = bitcast <8 x i16> %v270 to <8 x half>
  %v133 = fpext <8 x half> %t14 to <8 x float>
  %v134 = fadd <8 x float> %v131, %v133
  %t15 = fptrunc <8 x float> %v134 to <8 x half>
  %v135 = bitcast <8 x half> %t15 to <8 x i16>
  store <8 x i16> %v135, ptr %s12, align 2
  %s231 = getelementptr i64, ptr %s12, i64 2
  %t16 = bitcast <8 x i16> %v115 to <8 x half>
  %v141 = fpext <8 x half> %t16 to <8 x float>
  %t17 = bitcast <8 x i16> %v274 to <8 x half>
  %v144 = fpext <8 x half> %t17 to <8 x float>
  %v145 = fadd <8 x float> %v141, %v144
  %t18 = fptrunc <8 x float> %v145 to <8 x half>
  %v146 = bitcast <8 x half> %t18 to <8 x i16>
  store <8 x i16> %v146, ptr %s231, align 2
  %v304 = load <8 x i16>, ptr %s12, align 2
  %t19 = getelementptr i8, ptr %s223, <8 x i64> <i64 0, i64 4, i64 8, i64 12, i64 16, i64 20, i64 24, i64 28>
  call void @llvm.masked.scatter.v8i16.v8p0(<8 x i16> %v304, <8 x ptr> align 2 %t19, <8 x i1> %active)
  %s307 = getelementptr i64, ptr %s12, i64 2
  %v308 = load <8 x i16>, ptr %s307, align 2
  %s310 = getelementptr i8, ptr %s223, i64 2
  %t20 = getelementptr i8, ptr %s310, <8 x i64> <i64 0, i64 4, i64 8, i64 12, i64 16, i64 20, i64 24, i64 28>
  call void @llvm.masked.scatter.v8i16.v8p0(<8 x i16> %v308, <8 x ptr> align 2 %t20, <8 x i1> %active)
  %t21 = getelementptr i8, ptr %s219, <8 x i64> <i64 0, i64 4, i64 8, i64 12, i64 16, i64 20, i64 24, i64 28>
  %v42 = call <8 x i16> @llvm.masked.gather.v8i16.v8p0(<8 x ptr> align 2 %t21, <8 x i1> %active, <8 x i16> zeroinitializer)
  %s230 = getelementptr i8, ptr %s220, i64 2
  %t22 = getelementptr i8, ptr %s230, <8 x i64> <i64 0, i64 4, i64 8, i64 12, i64 16, i64 20, i64 24, i64 28>
  %v47 = call <8 x i16> @llvm.masked.gather.v8i16.v8p0(<8 x ptr> align 2 %t22, <8 x i1> %active, <8 x i16> zeroinitializer)
  br i1 true, label %e0.0, label %e0.1
e0.0:
  br label %b18
e0.1:
  br label %b17
b18:
  %t23 = bitcast <8 x i16> %v42 to <8 x half>
  %v155 = fpext <8 x half> %t23 to <8 x float>
  %v157.h = bitcast i16 %p4 to half
  %v157 = fpext half %v157.h to float
  %t24 = insertelement <8 x float> poison, float %v157, i64 0
  %t25 = shufflevector <8 x float> %t24, <8 x float> poison, <8 x i32> zeroinitializer
  %v158 = fmul <8 x float> %v155, %t25
  %t26 = bitcast <8 x i16> %v47 to <8 x half>
  %v160 = fpext <8 x half> %t26 to <8 x float>
  %v166 = fadd <8 x float> %v158, %v160
  %v167 = fsub <8 x float> %v166, %v158
  %v168 = fsub <8 x float> %v166, %v167
  %v169 = fsub <8 x float> %v158, %v168
  %v170 = fsub <8 x float> %v160, %v167
  %v171 = fadd <8 x float> %v169, %v170
  %v172 = bitcast <8 x float> %v166 to <8 x i32>
  %v174 = fcmp olt <8 x float> %v171, zeroinitializer
  %v175 = fcmp ogt <8 x float> %v171, zeroinitializer
  %v176 = or <8 x i1> %v174, %v175
  %v178 = zext <8 x i1> %v175 to <8 x i32>
  %v179 = fcmp ogt <8 x float> %v166, zeroinitializer
  %v180 = zext <8 x i1> %v179 to <8 x i32>
  %v181 = icmp eq <8 x i32> %v178, %v180
  %v183 = add <8 x i32> %v172, splat (i32 1)
  %v184 = add <8 x i32> %v172, splat (i32 -1)
  %v185 = select <8 x i1> %v181, <8 x i32> %v183, <8 x i32> %v184
  %v186 = and <8 x i32> %v172, splat (i32 1)
  %v188 = icmp eq <8 x i32> %v186, zeroinitializer
  %v189 = and <8 x i1> %v176, %v188
  %v190 = select <8 x i1> %v189, <8 x i32> %v185, <8 x i32> %v172
  %v191 = bitcast <8 x i32> %v190 to <8 x float>
  %t27 = fptrunc <8 x float> %v191 to <8 x half>
  %v162 = bitcast <8 x half> %t27 to <8 x i16>
  store <8 x i16> %v162, ptr %pv48, align 64
  br label %b15
b17:
  br label %o152
o152:
  %o152.left = phi i8 [ -1, %b17 ], [ %o152.rest, %o152.next ]
  %o152.old = phi <8 x i16> [ zeroinitializer, %b17 ], [ %v152, %o152.next ]
  %t28 = call i8 @llvm.cttz.i8(i8 %o152.left, i1 true)
  %t29 = extractelement <8 x i16> %v42, i8 %t28
  %t30 = extractelement <8 x i16> %v47, i8 %t28
  %o.v152.0 = bitcast i16 %t29 to half
  %o.v152.1 = bitcast i16 %p4 to half
  %o.v152.2 = bitcast i16 %t30 to half
  %o.v152.h = call half @llvm.fma.f16(half %o.v152.0, half %o.v152.1, half %o.v152.2)
  %o.v152 = bitcast half %o.v152.h to i16
  %v152 = insertelement <8 x i16> %o152.old, i16 %o.v152, i8 %t28
  br label %o152.next
o152.next:
  %o152.less = add i8 %o152.left, -1
  %o152.rest = and i8 %o152.left, %o152.less
  %o152.more = icmp ne i8 %o152.rest, 0
  br i1 %o152.more, label %o152, label %o152.done
o152.done:
  store <8 x i16> %v152, ptr %pv48, align 64
  br label %b15
b15:
  %v48 = load <8 x i16>, ptr %pv48, align 64
  %t31 = getelementptr i8, ptr %s223, <8 x i64> <i64 0, i64 4, i64 8, i64 12, i64 16, i64 20, i64 24, i64 28>
  call void @llvm.masked.scatter.v8i16.v8p0(<8 x i16> %v48, <8 x ptr> align 2 %t31, <8 x i1> %active)
  %s235 = getelementptr i16, ptr %p3, i64 %s20
  %v54 = call <8 x i16> @llvm.masked.load.v8i16.p0(ptr align 2 %s235, <8 x i1> %active, <8 x i16> zeroinitializer)
  %v55 = zext <8 x i16> %v54 to <8 x i32>
  %v57 = shl <8 x i32> %v55, splat (i32 16)
  %v58 = bitcast <8 x i32> %v57 to <8 x float>
  %v60 = fadd <8 x float> %v58, splat (float 0x3FF8000000000000)
  br label %o61
o61:
  %o61.left = phi i8 [ -1, %b15 ], [ %o61.rest, %o61.next ]
  %o61.old = phi <8 x i16> [ zeroinitializer, %b15 ], [ %v61, %o61.next ]
  %t32 = call i8 @llvm.cttz.i8(i8 %o61.left, i1 true)
  %t33 = extractelement <8 x float> %v60, i8 %t32
  %o.v61.b = bitcast float %t33 to i32
  %o.v61.s = lshr i32 %o.v61.b, 16
  %o.v61.l = and i32 %o.v61.s, 1
  %o.v61.r = add i32 %o.v61.l, 32767
  %o.v61.t = add i32 %o.v61.b, %o.v61.r
  %o.v61.u = lshr i32 %o.v61.t, 16
  %o.v61.n = fcmp uno float %t33, %t33
  %o.v61.c = select i1 %o.v61.n, i32 32704, i32 %o.v61.u
  %o.v61 = trunc i32 %o.v61.c to i16
  %v61 = insertelement <8 x i16> %o61.old, i16 %o.v61, i8 %t32
  br label %o61.next
o61.next:
  %o61.less = add i8 %o61.left, -1
  %o61.rest = and i8 %o61.left, %o61.less
  %o61.more = icmp ne i8 %o61.rest, 0
  br i1 %o61.more, label %o61, label %o61.done
o61.done:
  call void @llvm.masked.store.v8i16.p0(<8 x i16> %v61, ptr align 2 %s235, <8 x i1> %active)
  %t34 = insertelement <8 x i32> poison, i32 %s9, i64 0
  %t35 = shufflevector <8 x i32> %t34, <8 x i32> poison, <8 x i32> zeroinitializer
  %t36 = add <8 x i32> %t35, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v193 = sitofp <8 x i32> %t36 to <8 x double>
  %v194 = fptrunc <8 x double> %v193 to <8 x float>
  %v195 = fpext <8 x float> %v194 to <8 x double>
  %v196 = bitcast <8 x float> %v194 to <8 x i32>
  %v198 = and <8 x i32> %v196, splat (i32 1)
  %v200 = icmp eq <8 x i32> %v198, zeroinitializer
  %v201 = fcmp une <8 x double> %v195, %v193
  %v202 = and <8 x i1> %v200, %v201
  %v203 = call <8 x double> @llvm.fabs.v8f64(<8 x double> %v193)
  %v204 = call <8 x double> @llvm.fabs.v8f64(<8 x double> %v195)
  %v205 = fcmp olt <8 x double> %v204, %v203
  %v206 = add <8 x i32> %v196, splat (i32 1)
  %v207 = add <8 x i32> %v196, splat (i32 -1)
  %v208 = select <8 x i1> %v205, <8 x i32> %v206, <8 x i32> %v207
  %v209 = select <8 x i1> %v202, <8 x i32> %v208, <8 x i32> %v196
  %v210 = bitcast <8 x i32> %v209 to <8 x float>
  br label %o211
o211:
  %o211.left = phi i8 [ -1, %o61.done ], [ %o211.rest, %o211.next ]
  %o211.old = phi <8 x i16> [ zeroinitializer, %o61.done ], [ %v211, %o211.next ]
  %t37 = call i8 @llvm.cttz.i8(i8 %o211.left, i1 true)
  %t38 = extractelement <8 x float> %v210, i8 %t37
  %o.v211.b = bitcast float %t38 to i32
  %o.v211.s = lshr i32 %o.v211.b, 16
  %o.v211.l = and i32 %o.v211.s, 1
  %o.v211.r = add i32 %o.v211.l, 32767
  %o.v211.t = add i32 %o.v211.b, %o.v211.r
  %o.v211.u = lshr i32 %o.v211.t, 16
  %o.v211.n = fcmp uno float %t38, %t38
  %o.v211.c = select i1 %o.v211.n, i32 32704, i32 %o.v211.u
  %o.v211 = trunc i32 %o.v211.c to i16
  %v211 = insertelement <8 x i16> %o211.old, i16 %o.v211, i8 %t37
  br label %o211.next
o211.next:
  %o211.less = add i8 %o211.left, -1
  %o211.rest = and i8 %o211.left, %o211.less
  %o211.more = icmp ne i8 %o211.rest, 0
  br i1 %o211.more, label %o211, label %o211.done
o211.done:
  %s65 = add i32 %s9, 1
  %s66 = sext i32 %s65 to i64
  %s236 = getelementptr i16, ptr %p3, i64 %s66
  call void @llvm.masked.store.v8i16.p0(<8 x i16> %v211, ptr align 2 %s236, <8 x i1> %active)
  %t39 = getelementptr i8, ptr %s219, <8 x i64> <i64 0, i64 4, i64 8, i64 12, i64 16, i64 20, i64 24, i64 28>
  %v71 = call <8 x i16> @llvm.masked.gather.v8i16.v8p0(<8 x ptr> align 2 %t39, <8 x i1> %active, <8 x i16> zeroinitializer)
  %t40 = bitcast <8 x i16> %v71 to <8 x half>
  %v215 = fpext <8 x half> %t40 to <8 x float>
  %v216.h = bitcast i16 %p4 to half
  %v216 = fpext half %v216.h to float
  %t41 = insertelement <8 x float> poison, float %v216, i64 0
  %t42 = shufflevector <8 x float> %t41, <8 x float> poison, <8 x i32> zeroinitializer
  %v217 = fcmp ogt <8 x float> %v215, %t42
  %t43 = select <8 x i1> %active, <8 x i1> %v217, <8 x i1> zeroinitializer
  store <8 x i1> %t43, ptr %m1, align 64
  %t44 = xor <8 x i1> %v217, splat (i1 true)
  br label %g1
g1:
  %t45 = load <8 x i1>, ptr %m1, align 64
  %t46 = bitcast <8 x i1> %t45 to i8
  %t47 = icmp ne i8 %t46, 0
  br i1 %t47, label %b1, label %b2
b1:
  %t48 = load <8 x i1>, ptr %m1, align 64
  %v75 = call <8 x i16> @llvm.masked.load.v8i16.p0(ptr align 2 %s235, <8 x i1> %t48, <8 x i16> zeroinitializer)
  %v76 = zext <8 x i16> %v75 to <8 x i32>
  %v77 = shl <8 x i32> %v76, splat (i32 16)
  %v78 = bitcast <8 x i32> %v77 to <8 x float>
  %v79 = fneg <8 x float> %v78
  br label %o80
o80:
  %o80.left = phi i8 [ -1, %b1 ], [ %o80.rest, %o80.next ]
  %o80.old = phi <8 x i16> [ zeroinitializer, %b1 ], [ %v80, %o80.next ]
  %t49 = call i8 @llvm.cttz.i8(i8 %o80.left, i1 true)
  %t50 = extractelement <8 x float> %v79, i8 %t49
  %o.v80.b = bitcast float %t50 to i32
  %o.v80.s = lshr i32 %o.v80.b, 16
  %o.v80.l = and i32 %o.v80.s, 1
  %o.v80.r = add i32 %o.v80.l, 32767
  %o.v80.t = add i32 %o.v80.b, %o.v80.r
  %o.v80.u = lshr i32 %o.v80.t, 16
  %o.v80.n = fcmp uno float %t50, %t50
  %o.v80.c = select i1 %o.v80.n, i32 32704, i32 %o.v80.u
  %o.v80 = trunc i32 %o.v80.c to i16
  %v80 = insertelement <8 x i16> %o80.old, i16 %o.v80, i8 %t49
  br label %o80.next
o80.next:
  %o80.less = add i8 %o80.left, -1
  %o80.rest = and i8 %o80.left, %o80.less
  %o80.more = icmp ne i8 %o80.rest, 0
  br i1 %o80.more, label %o80, label %o80.done
o80.done:
  %s82 = add i32 %s9, 2
  %s83 = sext i32 %s82 to i64
  %s222 = getelementptr i16, ptr %p3, i64 %s83
  call void @llvm.masked.store.v8i16.p0(<8 x i16> %v80, ptr align 2 %s222, <8 x i1> %t48)
  br label %b2
b2:
  br label %end
end:
  ret void
}

define void @narrow_floats(ptr noalias readonly %arguments, ptr noalias readonly %launch, i64 %begin, i64 %end) #0 {
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
  %a4 = load i16, ptr %a4.p, align 2
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
  call void @narrow_floats.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i16 %a4, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> %item.active)
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

declare <8 x double> @llvm.fabs.v8f64(<8 x double>) #1
declare <8 x i16> @llvm.masked.gather.v8i16.v8p0(<8 x ptr>, <8 x i1>, <8 x i16>)
declare <8 x i16> @llvm.masked.load.v8i16.p0(ptr, <8 x i1>, <8 x i16>)
declare half @llvm.fma.f16(half, half, half) #1
declare i8 @llvm.cttz.i8(i8, i1) #1
declare void @llvm.masked.scatter.v8i16.v8p0(<8 x i16>, <8 x ptr>, <8 x i1>)
declare void @llvm.masked.store.v8i16.p0(<8 x i16>, ptr, <8 x i1>)
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
