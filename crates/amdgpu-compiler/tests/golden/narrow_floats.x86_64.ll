source_filename = "narrow_floats.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal void @narrow_floats.item(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i16 %p4, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v120 = alloca [4 x i8], align 4
  %v123 = alloca [4 x i8], align 4
  %v89 = alloca [4 x i8], align 4
  %v92 = alloca [4 x i8], align 4
  %v12 = alloca [4 x i8], align 4
  %v14 = alloca [4 x i8], align 4
  %v16 = alloca [4 x i8], align 4
  %v18 = alloca [4 x i8], align 4
  %v23 = alloca [4 x i8], align 4
  %v30 = alloca [4 x i8], align 4
  %v9 = add i32 %thread_index.x, 0
  %v20 = sext i32 %v9 to i64
  %v219 = getelementptr inbounds i32, ptr %p1, i64 %v20
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %v18, ptr align 4 %v219, i64 4, i1 false)
  %v220 = getelementptr inbounds i32, ptr %p2, i64 %v20
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %v23, ptr align 4 %v220, i64 4, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %v89, ptr align 4 %v18, i64 4, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %v92, ptr align 4 %v23, i64 4, i1 false)
  %v99 = load i16, ptr %v89, align 2
  %v100.h = bitcast i16 %v99 to half
  %v100 = fpext half %v100.h to float
  %v101 = load i16, ptr %v92, align 2
  %v102.h = bitcast i16 %v101 to half
  %v102 = fpext half %v102.h to float
  %v103 = fmul float %v100, %v102
  %v104.h = fptrunc float %v103 to half
  %v104 = bitcast half %v104.h to i16
  store i16 %v104, ptr %v16, align 2
  %v224 = getelementptr inbounds i8, ptr %v16, i64 2
  %v225 = getelementptr inbounds i8, ptr %v89, i64 2
  %v109 = load i16, ptr %v225, align 2
  %v110.h = bitcast i16 %v109 to half
  %v110 = fpext half %v110.h to float
  %v226 = getelementptr inbounds i8, ptr %v92, i64 2
  %v112 = load i16, ptr %v226, align 2
  %v113.h = bitcast i16 %v112 to half
  %v113 = fpext half %v113.h to float
  %v114 = fmul float %v110, %v113
  %v115.h = fptrunc float %v114 to half
  %v115 = bitcast half %v115.h to i16
  store i16 %v115, ptr %v224, align 2
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %v14, ptr align 4 %v16, i64 4, i1 false)
  %v223 = getelementptr inbounds i32, ptr %p0, i64 %v20
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %v30, ptr align 4 %v223, i64 4, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %v120, ptr align 4 %v14, i64 4, i1 false)
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %v123, ptr align 4 %v30, i64 4, i1 false)
  %v130 = load i16, ptr %v120, align 2
  %v131.h = bitcast i16 %v130 to half
  %v131 = fpext half %v131.h to float
  %v132 = load i16, ptr %v123, align 2
  %v133.h = bitcast i16 %v132 to half
  %v133 = fpext half %v133.h to float
  %v134 = fadd float %v131, %v133
  %v135.h = fptrunc float %v134 to half
  %v135 = bitcast half %v135.h to i16
  store i16 %v135, ptr %v12, align 2
  %v231 = getelementptr inbounds i8, ptr %v12, i64 2
  %v232 = getelementptr inbounds i8, ptr %v120, i64 2
  %v140 = load i16, ptr %v232, align 2
  %v141.h = bitcast i16 %v140 to half
  %v141 = fpext half %v141.h to float
  %v233 = getelementptr inbounds i8, ptr %v123, i64 2
  %v143 = load i16, ptr %v233, align 2
  %v144.h = bitcast i16 %v143 to half
  %v144 = fpext half %v144.h to float
  %v145 = fadd float %v141, %v144
  %v146.h = fptrunc float %v145 to half
  %v146 = bitcast half %v146.h to i16
  store i16 %v146, ptr %v231, align 2
  call void @llvm.memcpy.p0.p0.i64(ptr align 4 %v223, ptr align 4 %v12, i64 4, i1 false)
  %v42 = load i16, ptr %v219, align 2, !llvm.access.group !0
  %v230 = getelementptr inbounds i8, ptr %v220, i64 2
  %v47 = load i16, ptr %v230, align 2, !llvm.access.group !0
  br i1 true, label %b18, label %b17
b1:
  %v75 = load i16, ptr %v235, align 2, !llvm.access.group !0
  %v76 = zext i16 %v75 to i32
  %v77 = shl i32 %v76, 16
  %v78 = bitcast i32 %v77 to float
  %v79 = fneg float %v78
  %v80.b = bitcast float %v79 to i32
  %v80.s = lshr i32 %v80.b, 16
  %v80.l = and i32 %v80.s, 1
  %v80.r = add i32 %v80.l, 32767
  %v80.t = add i32 %v80.b, %v80.r
  %v80.u = lshr i32 %v80.t, 16
  %v80.n = fcmp uno float %v79, %v79
  %v80.c = select i1 %v80.n, i32 32704, i32 %v80.u
  %v80 = trunc i32 %v80.c to i16
  %v82 = add i32 %v9, 2
  %v83 = sext i32 %v82 to i64
  %v222 = getelementptr inbounds i16, ptr %p3, i64 %v83
  store i16 %v80, ptr %v222, align 2, !llvm.access.group !0
  br label %b2
b2:
  ret void
b15:
  %v48 = phi i16 [ %v152, %b17 ], [ %v162, %b18 ]
  store i16 %v48, ptr %v223, align 2, !llvm.access.group !0
  %v235 = getelementptr inbounds i16, ptr %p3, i64 %v20
  %v54 = load i16, ptr %v235, align 2, !llvm.access.group !0
  %v55 = zext i16 %v54 to i32
  %v57 = shl i32 %v55, 16
  %v58 = bitcast i32 %v57 to float
  %v60 = fadd float %v58, 0x3FF8000000000000
  %v61.b = bitcast float %v60 to i32
  %v61.s = lshr i32 %v61.b, 16
  %v61.l = and i32 %v61.s, 1
  %v61.r = add i32 %v61.l, 32767
  %v61.t = add i32 %v61.b, %v61.r
  %v61.u = lshr i32 %v61.t, 16
  %v61.n = fcmp uno float %v60, %v60
  %v61.c = select i1 %v61.n, i32 32704, i32 %v61.u
  %v61 = trunc i32 %v61.c to i16
  store i16 %v61, ptr %v235, align 2, !llvm.access.group !0
  %v193 = sitofp i32 %v9 to double
  %v194 = fptrunc double %v193 to float
  %v195 = fpext float %v194 to double
  %v196 = bitcast float %v194 to i32
  %v198 = and i32 %v196, 1
  %v200 = icmp eq i32 %v198, 0
  %v201 = fcmp une double %v195, %v193
  %v202 = and i1 %v200, %v201
  %v203 = call double @llvm.fabs.f64(double %v193)
  %v204 = call double @llvm.fabs.f64(double %v195)
  %v205 = fcmp olt double %v204, %v203
  %v206 = add i32 %v196, 1
  %v207 = add i32 %v196, -1
  %v208 = select i1 %v205, i32 %v206, i32 %v207
  %v209 = select i1 %v202, i32 %v208, i32 %v196
  %v210 = bitcast i32 %v209 to float
  %v211.b = bitcast float %v210 to i32
  %v211.s = lshr i32 %v211.b, 16
  %v211.l = and i32 %v211.s, 1
  %v211.r = add i32 %v211.l, 32767
  %v211.t = add i32 %v211.b, %v211.r
  %v211.u = lshr i32 %v211.t, 16
  %v211.n = fcmp uno float %v210, %v210
  %v211.c = select i1 %v211.n, i32 32704, i32 %v211.u
  %v211 = trunc i32 %v211.c to i16
  %v65 = add i32 %v9, 1
  %v66 = sext i32 %v65 to i64
  %v236 = getelementptr inbounds i16, ptr %p3, i64 %v66
  store i16 %v211, ptr %v236, align 2, !llvm.access.group !0
  %v71 = load i16, ptr %v219, align 2, !llvm.access.group !0
  %v215.h = bitcast i16 %v71 to half
  %v215 = fpext half %v215.h to float
  %v216.h = bitcast i16 %p4 to half
  %v216 = fpext half %v216.h to float
  %v217 = fcmp ogt float %v215, %v216
  br i1 %v217, label %b1, label %b2
b17:
  %v152.0 = bitcast i16 %v42 to half
  %v152.1 = bitcast i16 %p4 to half
  %v152.2 = bitcast i16 %v47 to half
  %v152.h = call half @llvm.fma.f16(half %v152.0, half %v152.1, half %v152.2)
  %v152 = bitcast half %v152.h to i16
  br label %b15
b18:
  %v155.h = bitcast i16 %v42 to half
  %v155 = fpext half %v155.h to float
  %v157.h = bitcast i16 %p4 to half
  %v157 = fpext half %v157.h to float
  %v158 = fmul float %v155, %v157
  %v160.h = bitcast i16 %v47 to half
  %v160 = fpext half %v160.h to float
  %v166 = fadd float %v158, %v160
  %v167 = fsub float %v166, %v158
  %v168 = fsub float %v166, %v167
  %v169 = fsub float %v158, %v168
  %v170 = fsub float %v160, %v167
  %v171 = fadd float %v169, %v170
  %v172 = bitcast float %v166 to i32
  %v174 = fcmp olt float %v171, 0x0000000000000000
  %v175 = fcmp ogt float %v171, 0x0000000000000000
  %v176 = or i1 %v174, %v175
  %v178 = zext i1 %v175 to i32
  %v179 = fcmp ogt float %v166, 0x0000000000000000
  %v180 = zext i1 %v179 to i32
  %v181 = icmp eq i32 %v178, %v180
  %v183 = add i32 %v172, 1
  %v184 = add i32 %v172, -1
  %v185 = select i1 %v181, i32 %v183, i32 %v184
  %v186 = and i32 %v172, 1
  %v188 = icmp eq i32 %v186, 0
  %v189 = and i1 %v176, %v188
  %v190 = select i1 %v189, i32 %v185, i32 %v172
  %v191 = bitcast i32 %v190 to float
  %v162.h = fptrunc float %v191 to half
  %v162 = bitcast half %v162.h to i16
  br label %b15
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
  call void @narrow_floats.item(ptr %a0, ptr %a1, ptr %a2, ptr %a3, i16 %a4, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
  %x.next = add nuw nsw i32 %thread_index.x, 1
  %x.more = icmp ult i32 %x.next, %block_size.x
  br i1 %x.more, label %item, label %row.end, !llvm.loop !1
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

!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.parallel_accesses", !0}

declare double @llvm.fabs.f64(double) #1
declare half @llvm.fma.f16(half, half, half) #1
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
