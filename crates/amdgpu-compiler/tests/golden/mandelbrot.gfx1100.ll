source_filename = "mandelbrot.hip"
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @mandelbrot(ptr addrspace(1) %p0, i32 %p1, i32 %p2, float %p3, float %p4, float %p5, i32 %p6) #0 "amdgpu-flat-work-group-size"="1,1024" {
b0:
  %v8 = call i32 @llvm.amdgcn.workgroup.id.x()
  %v9.a = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %v9.p = getelementptr inbounds i8, ptr addrspace(4) %v9.a, i64 12
  %v9.w = load i16, ptr addrspace(4) %v9.p, align 2
  %v9 = zext i16 %v9.w to i32
  %v10 = mul i32 %v8, %v9
  %v11 = call i32 @llvm.amdgcn.workitem.id.x()
  %v12 = add i32 %v10, %v11
  %v13 = call i32 @llvm.amdgcn.workgroup.id.y()
  %v14.a = call ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr()
  %v14.p = getelementptr inbounds i8, ptr addrspace(4) %v14.a, i64 14
  %v14.w = load i16, ptr addrspace(4) %v14.p, align 2
  %v14 = zext i16 %v14.w to i32
  %v15 = mul i32 %v13, %v14
  %v16 = call i32 @llvm.amdgcn.workitem.id.y()
  %v17 = add i32 %v15, %v16
  %v18 = icmp sge i32 %v12, %p1
  %v19 = icmp sge i32 %v17, %p2
  %v20 = or i1 %v18, %v19
  br i1 %v20, label %b1, label %b2
b1:
  ret void
b2:
  %v25 = sitofp i32 %v12 to float
  %v27 = call float @llvm.fma.f32(float %v25, float %p5, float %p3)
  %v30 = sitofp i32 %v17 to float
  %v31 = call float @llvm.fma.f32(float %v30, float %p5, float %p4)
  br label %b4
b4:
  %v38 = phi float [ 0x0000000000000000, %b2 ], [ %v52, %b5 ]
  %v37 = phi float [ 0x0000000000000000, %b2 ], [ %v48, %b5 ]
  %v34 = phi i32 [ 0, %b2 ], [ %v54, %b5 ]
  %v36 = icmp slt i32 %v34, %p6
  %v39 = fmul float %v38, %v38
  %v40 = call float @llvm.fma.f32(float %v37, float %v37, float %v39)
  %v42 = fcmp olt float %v40, 0x4010000000000000
  %v43 = and i1 %v36, %v42
  br i1 %v43, label %b5, label %b7
b5:
  %v45 = fneg float %v39
  %v46 = call float @llvm.fma.f32(float %v37, float %v37, float %v45)
  %v48 = fadd float %v46, %v27
  %v50 = fmul float 0x4000000000000000, %v37
  %v52 = call float @llvm.fma.f32(float %v50, float %v38, float %v31)
  %v54 = add i32 %v34, 1
  br label %b4
b7:
  %v62 = mul i32 %v17, %p1
  %v64 = add i32 %v62, %v12
  %v65 = sext i32 %v64 to i64
  %v68 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v65
  store i32 %v34, ptr addrspace(1) %v68, align 4
  ret void
}

declare float @llvm.fma.f32(float, float, float) #1
declare i32 @llvm.amdgcn.workgroup.id.x() #1
declare i32 @llvm.amdgcn.workgroup.id.y() #1
declare i32 @llvm.amdgcn.workitem.id.x() #1
declare i32 @llvm.amdgcn.workitem.id.y() #1
declare ptr addrspace(4) @llvm.amdgcn.implicitarg.ptr() #1
attributes #0 = { nounwind "target-cpu"="gfx1100" "uniform-work-group-size"="true" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }
