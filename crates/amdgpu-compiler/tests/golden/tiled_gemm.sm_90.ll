source_filename = "tiled_gemm.hip"
target triple = "nvptx64-nvidia-cuda"

@as$shared$0 = internal addrspace(3) global [1024 x i8] poison, align 4
@bs$shared$1 = internal addrspace(3) global [1024 x i8] poison, align 4
define ptx_kernel void @tiled_gemm(ptr addrspace(1) noalias %p0, ptr addrspace(1) noalias %p1, ptr addrspace(1) noalias %p2, i32 %p3, i32 %p4, i32 %p5) #0 {
b0:
  %v9 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v10 = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
  %v11 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %v13 = mul i32 %v11, 16
  %v14 = add i32 %v13, %v10
  %v15 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v16 = mul i32 %v15, 16
  %v17 = add i32 %v16, %v9
  br label %b1
b1:
  %v101 = phi float [ 0x0000000000000000, %b0 ], [ %v79, %b3 ]
  %v20 = phi i32 [ 0, %b0 ], [ %v105, %b3 ]
  %v22 = icmp slt i32 %v20, %p5
  br i1 %v22, label %b2, label %b4
b2:
  %v25 = icmp slt i32 %v14, %p3
  %v27 = add i32 %v20, %v9
  %v28 = icmp slt i32 %v27, %p5
  %v29 = and i1 %v25, %v28
  br i1 %v29, label %b5, label %b6
b3:
  %v105 = add i32 %v20, 16
  br label %b1
b4:
  %v123 = icmp slt i32 %v14, %p3
  %v124 = icmp slt i32 %v17, %p4
  %v125 = and i1 %v123, %v124
  br i1 %v125, label %b15, label %b16
b5:
  %v31 = mul i32 %v14, %p5
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
  %v42 = sext i32 %v10 to i64
  %v136 = getelementptr inbounds [64 x i8], ptr addrspace(3) @as$shared$0, i64 %v42
  %v45 = sext i32 %v9 to i64
  %v137 = getelementptr inbounds i32, ptr addrspace(3) %v136, i64 %v45
  store float %v37, ptr addrspace(3) %v137, align 4
  %v49 = add i32 %v20, %v10
  %v51 = icmp slt i32 %v49, %p5
  %v56 = icmp slt i32 %v17, %p4
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
  %v139 = getelementptr inbounds [64 x i8], ptr addrspace(3) @bs$shared$1, i64 %v42
  %v140 = getelementptr inbounds i32, ptr addrspace(3) %v139, i64 %v45
  store float %v66, ptr addrspace(3) %v140, align 4
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %b11
b11:
  %v79 = phi float [ %v101, %b10 ], [ %v96, %b13 ]
  %v77 = phi i32 [ 0, %b10 ], [ %v98, %b13 ]
  %v78 = icmp slt i32 %v77, 16
  br i1 %v78, label %b12, label %b14
b12:
  %v141 = getelementptr inbounds [64 x i8], ptr addrspace(3) @as$shared$0, i64 %v42
  %v85 = sext i32 %v77 to i64
  %v142 = getelementptr inbounds i32, ptr addrspace(3) %v141, i64 %v85
  %v87 = load float, ptr addrspace(3) %v142, align 4
  %v143 = getelementptr inbounds [64 x i8], ptr addrspace(3) @bs$shared$1, i64 %v85
  %v144 = getelementptr inbounds i32, ptr addrspace(3) %v143, i64 %v45
  %v95 = load float, ptr addrspace(3) %v144, align 4
  %v96 = call float @llvm.fma.f32(float %v87, float %v95, float %v79)
  br label %b13
b13:
  %v98 = add i32 %v77, 1
  br label %b11
b14:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  br label %b3
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
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y() #1
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y() #1
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #2
attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind willreturn }
attributes #2 = { convergent nocallback nounwind willreturn }
