source_filename = "tiled_gemm.hip"
target triple = "amdgcn-amd-amdhsa"

@as$shared$0 = internal addrspace(3) global [1024 x i8] poison, align 4
@bs$shared$1 = internal addrspace(3) global [1024 x i8] poison, align 4
define amdgpu_kernel void @tiled_gemm(ptr addrspace(1) noalias %p0, ptr addrspace(1) noalias %p1, ptr addrspace(1) noalias %p2, i32 %p3, i32 %p4, i32 %p5) #0 "amdgpu-flat-work-group-size"="1,1024" {
b0:
  %v9 = call i32 @llvm.amdgcn.workitem.id.x()
  %v10 = call i32 @llvm.amdgcn.workitem.id.y()
  %v11 = call i32 @llvm.amdgcn.workgroup.id.y()
  %v13 = shl i32 %v11, 4
  %v14 = add i32 %v13, %v10
  %v15 = call i32 @llvm.amdgcn.workgroup.id.x()
  %v16 = shl i32 %v15, 4
  %v17 = add i32 %v16, %v9
  %v25 = icmp slt i32 %v14, %p3
  %v31 = mul i32 %v14, %p5
  %v42 = sext i32 %v10 to i64
  %v136 = getelementptr inbounds [64 x i8], ptr addrspace(3) @as$shared$0, i64 %v42
  %v45 = sext i32 %v9 to i64
  %v137 = getelementptr inbounds i32, ptr addrspace(3) %v136, i64 %v45
  %v56 = icmp slt i32 %v17, %p4
  %v139 = getelementptr inbounds [64 x i8], ptr addrspace(3) @bs$shared$1, i64 %v42
  %v140 = getelementptr inbounds i32, ptr addrspace(3) %v139, i64 %v45
  %v151 = getelementptr inbounds i32, ptr addrspace(3) @bs$shared$1, i64 %v45
  br label %b1
b1:
  %v101 = phi float [ 0x0000000000000000, %b0 ], [ %v288, %b10 ]
  %v20 = phi i32 [ 0, %b0 ], [ %v105, %b10 ]
  %v22 = icmp slt i32 %v20, %p5
  br i1 %v22, label %b2, label %b4
b2:
  %v27 = add i32 %v20, %v9
  %v28 = icmp slt i32 %v27, %p5
  %v29 = and i1 %v25, %v28
  br i1 %v29, label %b5, label %b6
b4:
  %v125 = and i1 %v25, %v56
  br i1 %v125, label %b15, label %b16
b5:
  %v32 = add i32 %v31, %v20
  %v33 = add i32 %v32, %v9
  %v34 = sext i32 %v33 to i64
  %v135 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v34
  %v36 = load float, ptr addrspace(1) %v135, align 4
  br label %b7
b6:
  br label %b7
b7:
  %v37 = phi float [ %v36, %b5 ], [ 0x0000000000000000, %b6 ]
  store float %v37, ptr addrspace(3) %v137, align 4
  %v49 = add i32 %v20, %v10
  %v51 = icmp slt i32 %v49, %p5
  %v57 = and i1 %v51, %v56
  br i1 %v57, label %b8, label %b9
b8:
  %v61 = mul i32 %v49, %p4
  %v62 = add i32 %v61, %v17
  %v63 = sext i32 %v62 to i64
  %v138 = getelementptr inbounds i32, ptr addrspace(1) %p1, i64 %v63
  %v65 = load float, ptr addrspace(1) %v138, align 4
  br label %b10
b9:
  br label %b10
b10:
  %v66 = phi float [ %v65, %b8 ], [ 0x0000000000000000, %b9 ]
  store float %v66, ptr addrspace(3) %v140, align 4
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %v149 = load float, ptr addrspace(3) %v136, align 4
  %v152 = load float, ptr addrspace(3) %v151, align 4
  %v153 = call float @llvm.fma.f32(float %v149, float %v152, float %v101)
  %v157 = getelementptr inbounds i32, ptr addrspace(3) %v136, i64 1
  %v158 = load float, ptr addrspace(3) %v157, align 4
  %v160 = getelementptr inbounds [64 x i8], ptr addrspace(3) %v151, i64 1
  %v161 = load float, ptr addrspace(3) %v160, align 4
  %v162 = call float @llvm.fma.f32(float %v158, float %v161, float %v153)
  %v166 = getelementptr inbounds i32, ptr addrspace(3) %v136, i64 2
  %v167 = load float, ptr addrspace(3) %v166, align 4
  %v169 = getelementptr inbounds [64 x i8], ptr addrspace(3) %v151, i64 2
  %v170 = load float, ptr addrspace(3) %v169, align 4
  %v171 = call float @llvm.fma.f32(float %v167, float %v170, float %v162)
  %v175 = getelementptr inbounds i32, ptr addrspace(3) %v136, i64 3
  %v176 = load float, ptr addrspace(3) %v175, align 4
  %v178 = getelementptr inbounds [64 x i8], ptr addrspace(3) %v151, i64 3
  %v179 = load float, ptr addrspace(3) %v178, align 4
  %v180 = call float @llvm.fma.f32(float %v176, float %v179, float %v171)
  %v184 = getelementptr inbounds i32, ptr addrspace(3) %v136, i64 4
  %v185 = load float, ptr addrspace(3) %v184, align 4
  %v187 = getelementptr inbounds [64 x i8], ptr addrspace(3) %v151, i64 4
  %v188 = load float, ptr addrspace(3) %v187, align 4
  %v189 = call float @llvm.fma.f32(float %v185, float %v188, float %v180)
  %v193 = getelementptr inbounds i32, ptr addrspace(3) %v136, i64 5
  %v194 = load float, ptr addrspace(3) %v193, align 4
  %v196 = getelementptr inbounds [64 x i8], ptr addrspace(3) %v151, i64 5
  %v197 = load float, ptr addrspace(3) %v196, align 4
  %v198 = call float @llvm.fma.f32(float %v194, float %v197, float %v189)
  %v202 = getelementptr inbounds i32, ptr addrspace(3) %v136, i64 6
  %v203 = load float, ptr addrspace(3) %v202, align 4
  %v205 = getelementptr inbounds [64 x i8], ptr addrspace(3) %v151, i64 6
  %v206 = load float, ptr addrspace(3) %v205, align 4
  %v207 = call float @llvm.fma.f32(float %v203, float %v206, float %v198)
  %v211 = getelementptr inbounds i32, ptr addrspace(3) %v136, i64 7
  %v212 = load float, ptr addrspace(3) %v211, align 4
  %v214 = getelementptr inbounds [64 x i8], ptr addrspace(3) %v151, i64 7
  %v215 = load float, ptr addrspace(3) %v214, align 4
  %v216 = call float @llvm.fma.f32(float %v212, float %v215, float %v207)
  %v220 = getelementptr inbounds i32, ptr addrspace(3) %v136, i64 8
  %v221 = load float, ptr addrspace(3) %v220, align 4
  %v223 = getelementptr inbounds [64 x i8], ptr addrspace(3) %v151, i64 8
  %v224 = load float, ptr addrspace(3) %v223, align 4
  %v225 = call float @llvm.fma.f32(float %v221, float %v224, float %v216)
  %v229 = getelementptr inbounds i32, ptr addrspace(3) %v136, i64 9
  %v230 = load float, ptr addrspace(3) %v229, align 4
  %v232 = getelementptr inbounds [64 x i8], ptr addrspace(3) %v151, i64 9
  %v233 = load float, ptr addrspace(3) %v232, align 4
  %v234 = call float @llvm.fma.f32(float %v230, float %v233, float %v225)
  %v238 = getelementptr inbounds i32, ptr addrspace(3) %v136, i64 10
  %v239 = load float, ptr addrspace(3) %v238, align 4
  %v241 = getelementptr inbounds [64 x i8], ptr addrspace(3) %v151, i64 10
  %v242 = load float, ptr addrspace(3) %v241, align 4
  %v243 = call float @llvm.fma.f32(float %v239, float %v242, float %v234)
  %v247 = getelementptr inbounds i32, ptr addrspace(3) %v136, i64 11
  %v248 = load float, ptr addrspace(3) %v247, align 4
  %v250 = getelementptr inbounds [64 x i8], ptr addrspace(3) %v151, i64 11
  %v251 = load float, ptr addrspace(3) %v250, align 4
  %v252 = call float @llvm.fma.f32(float %v248, float %v251, float %v243)
  %v256 = getelementptr inbounds i32, ptr addrspace(3) %v136, i64 12
  %v257 = load float, ptr addrspace(3) %v256, align 4
  %v259 = getelementptr inbounds [64 x i8], ptr addrspace(3) %v151, i64 12
  %v260 = load float, ptr addrspace(3) %v259, align 4
  %v261 = call float @llvm.fma.f32(float %v257, float %v260, float %v252)
  %v265 = getelementptr inbounds i32, ptr addrspace(3) %v136, i64 13
  %v266 = load float, ptr addrspace(3) %v265, align 4
  %v268 = getelementptr inbounds [64 x i8], ptr addrspace(3) %v151, i64 13
  %v269 = load float, ptr addrspace(3) %v268, align 4
  %v270 = call float @llvm.fma.f32(float %v266, float %v269, float %v261)
  %v274 = getelementptr inbounds i32, ptr addrspace(3) %v136, i64 14
  %v275 = load float, ptr addrspace(3) %v274, align 4
  %v277 = getelementptr inbounds [64 x i8], ptr addrspace(3) %v151, i64 14
  %v278 = load float, ptr addrspace(3) %v277, align 4
  %v279 = call float @llvm.fma.f32(float %v275, float %v278, float %v270)
  %v283 = getelementptr inbounds i32, ptr addrspace(3) %v136, i64 15
  %v284 = load float, ptr addrspace(3) %v283, align 4
  %v286 = getelementptr inbounds [64 x i8], ptr addrspace(3) %v151, i64 15
  %v287 = load float, ptr addrspace(3) %v286, align 4
  %v288 = call float @llvm.fma.f32(float %v284, float %v287, float %v279)
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %v105 = add i32 %v20, 16
  br label %b1
b15:
  %v130 = mul i32 %v14, %p4
  %v131 = add i32 %v130, %v17
  %v132 = sext i32 %v131 to i64
  %v145 = getelementptr inbounds i32, ptr addrspace(1) %p2, i64 %v132
  store float %v101, ptr addrspace(1) %v145, align 4
  br label %b16
b16:
  ret void
}

declare float @llvm.fma.f32(float, float, float) #1
declare i32 @llvm.amdgcn.workgroup.id.x() #1
declare i32 @llvm.amdgcn.workgroup.id.y() #1
declare i32 @llvm.amdgcn.workitem.id.x() #1
declare i32 @llvm.amdgcn.workitem.id.y() #1
declare void @llvm.amdgcn.s.barrier() #2
attributes #0 = { nounwind "target-cpu"="gfx1100" "uniform-work-group-size"="true" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }
attributes #2 = { convergent nocallback nounwind willreturn }
