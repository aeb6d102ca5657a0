source_filename = "narrow_floats.hip"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @narrow_floats(ptr addrspace(1) %p0, ptr addrspace(1) %p1, ptr addrspace(1) %p2, ptr addrspace(1) %p3, i16 %p4) #0 {
b0:
  %v12 = alloca [4 x i8], align 4
  %v18 = alloca [4 x i8], align 4
  %v23 = alloca [4 x i8], align 4
  %v30 = alloca [4 x i8], align 4
  %v9 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v20 = sext i32 %v9 to i64
  %v219 = getelementptr inbounds i32, ptr addrspace(1) %p1, i64 %v20
  call void @llvm.memcpy.p0.p1.i64(ptr align 4 %v18, ptr addrspace(1) align 4 %v219, i64 4, i1 false)
  %v220 = getelementptr inbounds i32, ptr addrspace(1) %p2, i64 %v20
  call void @llvm.memcpy.p0.p1.i64(ptr align 4 %v23, ptr addrspace(1) align 4 %v220, i64 4, i1 false)
  %v238 = load i16, ptr %v18, align 2
  %v241 = getelementptr inbounds i8, ptr %v18, i64 2
  %v242 = load i16, ptr %v241, align 2
  %v246 = load i16, ptr %v23, align 2
  %v249 = getelementptr inbounds i8, ptr %v23, i64 2
  %v250 = load i16, ptr %v249, align 2
  %v100.h = bitcast i16 %v238 to half
  %v100 = fpext half %v100.h to float
  %v102.h = bitcast i16 %v246 to half
  %v102 = fpext half %v102.h to float
  %v103 = fmul float %v100, %v102
  %v104.h = fptrunc float %v103 to half
  %v104 = bitcast half %v104.h to i16
  %v110.h = bitcast i16 %v242 to half
  %v110 = fpext half %v110.h to float
  %v113.h = bitcast i16 %v250 to half
  %v113 = fpext half %v113.h to float
  %v114 = fmul float %v110, %v113
  %v115.h = fptrunc float %v114 to half
  %v115 = bitcast half %v115.h to i16
  %v223 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v20
  call void @llvm.memcpy.p0.p1.i64(ptr align 4 %v30, ptr addrspace(1) align 4 %v223, i64 4, i1 false)
  %v270 = load i16, ptr %v30, align 2
  %v273 = getelementptr inbounds i8, ptr %v30, i64 2
  %v274 = load i16, ptr %v273, align 2
  %v131.h = bitcast i16 %v104 to half
  %v131 = fpext half %v131.h to float
  %v133.h = bitcast i16 %v270 to half
  %v133 = fpext half %v133.h to float
  %v134 = fadd float %v131, %v133
  %v135.h = fptrunc float %v134 to half
  %v135 = bitcast half %v135.h to i16
  store i16 %v135, ptr %v12, align 2
  %v231 = getelementptr inbounds i8, ptr %v12, i64 2
  %v141.h = bitcast i16 %v115 to half
  %v141 = fpext half %v141.h to float
  %v144.h = bitcast i16 %v274 to half
  %v144 = fpext half %v144.h to float
  %v145 = fadd float %v141, %v144
  %v146.h = fptrunc float %v145 to half
  %v146 = bitcast half %v146.h to i16
  store i16 %v146, ptr %v231, align 2
  call void @llvm.memcpy.p1.p0.i64(ptr addrspace(1) align 4 %v223, ptr align 4 %v12, i64 4, i1 false)
  %v42 = load i16, ptr addrspace(1) %v219, align 2
  %v230 = getelementptr inbounds i8, ptr addrspace(1) %v220, i64 2
  %v47 = load i16, ptr addrspace(1) %v230, align 2
  br i1 false, label %b18, label %b17
b1:
  %v75 = load i16, ptr addrspace(1) %v235, align 2
  %v76 = zext i16 %v75 to i32
  %v77 = shl i32 %v76, 16
  %v78 = bitcast i32 %v77 to float
  %v79 = fneg float %v78
  %v80.h = fptrunc float %v79 to bfloat
  %v80 = bitcast bfloat %v80.h to i16
  %v82 = add i32 %v9, 2
  %v83 = sext i32 %v82 to i64
  %v222 = getelementptr inbounds i16, ptr addrspace(1) %p3, i64 %v83
  store i16 %v80, ptr addrspace(1) %v222, align 2
  br label %b2
b2:
  ret void
b15:
  %v48 = phi i16 [ %v152, %b17 ], [ %v162, %b18 ]
  store i16 %v48, ptr addrspace(1) %v223, align 2
  %v235 = getelementptr inbounds i16, ptr addrspace(1) %p3, i64 %v20
  %v54 = load i16, ptr addrspace(1) %v235, align 2
  %v55 = zext i16 %v54 to i32
  %v57 = shl i32 %v55, 16
  %v58 = bitcast i32 %v57 to float
  %v60 = fadd float %v58, 0x3FF8000000000000
  %v61.h = fptrunc float %v60 to bfloat
  %v61 = bitcast bfloat %v61.h to i16
  store i16 %v61, ptr addrspace(1) %v235, align 2
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
  %v211.h = fptrunc float %v210 to bfloat
  %v211 = bitcast bfloat %v211.h to i16
  %v65 = add i32 %v9, 1
  %v66 = sext i32 %v65 to i64
  %v236 = getelementptr inbounds i16, ptr addrspace(1) %p3, i64 %v66
  store i16 %v211, ptr addrspace(1) %v236, align 2
  %v71 = load i16, ptr addrspace(1) %v219, align 2
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

declare double @llvm.fabs.f64(double) #1
declare half @llvm.fma.f16(half, half, half) #1
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1
declare void @llvm.memcpy.p0.p1.i64(ptr, ptr addrspace(1), i64, i1)
declare void @llvm.memcpy.p1.p0.i64(ptr addrspace(1), ptr, i64, i1)
attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind willreturn }
