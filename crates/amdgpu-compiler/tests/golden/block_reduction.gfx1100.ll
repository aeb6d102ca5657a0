source_filename = "block_reduction.hip"
target triple = "amdgcn-amd-amdhsa"

@tile$shared$0 = internal addrspace(3) global [1024 x i8] poison, align 4
define amdgpu_kernel void @block_reduction(ptr addrspace(1) noalias %p0, ptr addrspace(1) noalias %p1, ptr addrspace(1) %p2, i32 %p3) #0 "amdgpu-flat-work-group-size"="1,1024" {
b0:
  %v7 = call i32 @llvm.amdgcn.workitem.id.x()
  %v8 = call i32 @llvm.amdgcn.workgroup.id.x()
  %v9.a = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %v9.p = getelementptr inbounds i8, ptr addrspace(4) %v9.a, i64 12
  %v9.w = load i16, ptr addrspace(4) %v9.p, align 2
  %v9 = zext i16 %v9.w to i32
  %v10 = mul i32 %v8, %v9
  %v11 = add i32 %v10, %v7
  %v12 = icmp slt i32 %v11, %p3
  br i1 %v12, label %b1, label %b2
b1:
  %v13 = sext i32 %v11 to i64
  %v72 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v13
  %v15 = load float, ptr addrspace(1) %v72, align 4
  br label %b3
b2:
  br label %b3
b3:
  %v17 = phi float [ %v15, %b1 ], [ 0x0000000000000000, %b2 ]
  %v21 = sext i32 %v7 to i64
  %v73 = getelementptr inbounds i32, ptr addrspace(3) @tile$shared$0, i64 %v21
  store float %v17, ptr addrspace(3) %v73, align 4
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %v27 = lshr i32 %v9, 1
  br label %b4
b4:
  %v28 = phi i32 [ %v27, %b3 ], [ %v49, %b9 ]
  %v30 = icmp sgt i32 %v28, 0
  br i1 %v30, label %b5, label %b7
b5:
  %v32 = icmp slt i32 %v7, %v28
  br i1 %v32, label %b8, label %b9
b7:
  %v51 = icmp eq i32 %v7, 0
  br i1 %v51, label %b10, label %b11
b8:
  %v37 = load float, ptr addrspace(3) %v73, align 4
  %v40 = add i32 %v7, %v28
  %v41 = sext i32 %v40 to i64
  %v75 = getelementptr inbounds i32, ptr addrspace(3) @tile$shared$0, i64 %v41
  %v43 = load float, ptr addrspace(3) %v75, align 4
  %v44 = fadd float %v37, %v43
  store float %v44, ptr addrspace(3) %v73, align 4
  br label %b9
b9:
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %v49 = ashr i32 %v28, 1
  br label %b4
b10:
  %v56 = load float, ptr addrspace(3) @tile$shared$0, align 4
  %v61 = zext i32 %v8 to i64
  %v76 = getelementptr inbounds i32, ptr addrspace(1) %p1, i64 %v61
  store float %v56, ptr addrspace(1) %v76, align 4
  %v71 = atomicrmw fadd ptr addrspace(1) %p2, float %v56 syncscope("agent") monotonic
  br label %b11
b11:
  ret void
}

declare i32 @llvm.amdgcn.workgroup.id.x() #1
declare i32 @llvm.amdgcn.workitem.id.x() #1
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr() #1
declare void @llvm.amdgcn.s.barrier() #2
attributes #0 = { nounwind "target-cpu"="gfx1100" "uniform-work-group-size"="true" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }
attributes #2 = { convergent nocallback nounwind willreturn }
