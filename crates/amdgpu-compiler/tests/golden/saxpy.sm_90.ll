source_filename = "saxpy.hip"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @saxpy(float %p0, ptr addrspace(1) %p1, ptr addrspace(1) %p2, i32 %p3) #0 {
b0:
  %v6 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v7 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %v8 = mul i32 %v6, %v7
  %v9 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v10 = add i32 %v8, %v9
  %v11 = icmp uge i32 %v10, %p3
  br i1 %v11, label %b1, label %b2
b1:
  ret void
b2:
  %v18 = zext i32 %v10 to i64
  %v29 = getelementptr inbounds i32, ptr addrspace(1) %p1, i64 %v18
  %v20 = load float, ptr addrspace(1) %v29, align 4
  %v30 = getelementptr inbounds i32, ptr addrspace(1) %p2, i64 %v18
  %v24 = load float, ptr addrspace(1) %v30, align 4
  %v25 = call float @llvm.fma.f32(float %p0, float %v20, float %v24)
  store float %v25, ptr addrspace(1) %v30, align 4
  ret void
}

declare float @llvm.fma.f32(float, float, float) #1
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1
attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind willreturn }
