source_filename = "vector_add.hip"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @vector_add(ptr addrspace(1) noalias %p0, ptr addrspace(1) noalias %p1, ptr addrspace(1) noalias %p2, i32 %p3) #0 {
b0:
  %v7 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v8 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %v9 = mul i32 %v7, %v8
  %v10 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v11 = add i32 %v9, %v10
  %v12 = icmp slt i32 %v11, %p3
  br i1 %v12, label %b1, label %b2
b1:
  %v13 = sext i32 %v11 to i64
  %v23 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v13
  %v15 = load float, ptr addrspace(1) %v23, align 4
  %v24 = getelementptr inbounds i32, ptr addrspace(1) %p1, i64 %v13
  %v18 = load float, ptr addrspace(1) %v24, align 4
  %v19 = fadd float %v15, %v18
  %v25 = getelementptr inbounds i32, ptr addrspace(1) %p2, i64 %v13
  store float %v19, ptr addrspace(1) %v25, align 4
  br label %b2
b2:
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1
attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind willreturn }
