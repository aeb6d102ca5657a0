source_filename = "vector_add.hip"
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @vector_add(ptr addrspace(1) noalias %p0, ptr addrspace(1) noalias %p1, ptr addrspace(1) noalias %p2, i32 %p3) #0 "amdgpu-flat-work-group-size"="1,1024" {
b0:
  %v7 = call i32 @llvm.amdgcn.workgroup.id.x()
  %v8.a = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %v8.p = getelementptr inbounds i8, ptr addrspace(4) %v8.a, i64 12
  %v8.w = load i16, ptr addrspace(4) %v8.p, align 2
  %v8 = zext i16 %v8.w to i32
  %v9 = mul i32 %v7, %v8
  %v10 = call i32 @llvm.amdgcn.workitem.id.x()
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

declare i32 @llvm.amdgcn.workgroup.id.x() #1
declare i32 @llvm.amdgcn.workitem.id.x() #1
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr() #1
attributes #0 = { nounwind "target-cpu"="gfx1100" "uniform-work-group-size"="true" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }
