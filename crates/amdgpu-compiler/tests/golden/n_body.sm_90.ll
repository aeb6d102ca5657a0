source_filename = "n_body.hip"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @n_body(ptr addrspace(1) noalias %p0, ptr addrspace(1) noalias %p1, i32 %p2, float %p3) #0 {
b0:
  %v6 = alloca [16 x i8], align 16
  %v8 = alloca [16 x i8], align 16
  %v72 = alloca [16 x i8], align 16
  %v10 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v11 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %v12 = mul i32 %v10, %v11
  %v13 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v14 = add i32 %v12, %v13
  %v15 = icmp sge i32 %v14, %p2
  br i1 %v15, label %b1, label %b2
b1:
  ret void
b2:
  %v20 = sext i32 %v14 to i64
  %v102 = getelementptr inbounds [16 x i8], ptr addrspace(1) %p0, i64 %v20
  call void @llvm.memcpy.p0.p1.i64(ptr align 16 %v6, ptr addrspace(1) align 16 %v102, i64 16, i1 false)
  br label %b4
b4:
  %v63 = phi float [ 0x0000000000000000, %b2 ], [ %v64, %b5 ]
  %v61 = phi float [ 0x0000000000000000, %b2 ], [ %v62, %b5 ]
  %v59 = phi float [ 0x0000000000000000, %b2 ], [ %v60, %b5 ]
  %v25 = phi i32 [ 0, %b2 ], [ %v66, %b5 ]
  %v27 = icmp slt i32 %v25, %p2
  br i1 %v27, label %b5, label %b12
b5:
  %v29 = sext i32 %v25 to i64
  %v103 = getelementptr inbounds [16 x i8], ptr addrspace(1) %p0, i64 %v29
  call void @llvm.memcpy.p0.p1.i64(ptr align 16 %v8, ptr addrspace(1) align 16 %v103, i64 16, i1 false)
  %v32 = load float, ptr %v8, align 4
  %v33 = load float, ptr %v6, align 4
  %v34 = fsub float %v32, %v33
  %v104 = getelementptr inbounds i8, ptr %v8, i64 4
  %v37 = load float, ptr %v104, align 4
  %v105 = getelementptr inbounds i8, ptr %v6, i64 4
  %v39 = load float, ptr %v105, align 4
  %v40 = fsub float %v37, %v39
  %v106 = getelementptr inbounds i8, ptr %v8, i64 8
  %v43 = load float, ptr %v106, align 4
  %v107 = getelementptr inbounds i8, ptr %v6, i64 8
  %v45 = load float, ptr %v107, align 4
  %v46 = fsub float %v43, %v45
  %v47 = fmul float %v40, %v40
  %v48 = call float @llvm.fma.f32(float %v34, float %v34, float %v47)
  %v49 = call float @llvm.fma.f32(float %v46, float %v46, float %v48)
  %v51 = fadd float %v49, %p3
  %v84 = call float @llvm.sqrt.f32(float %v51)
  %v85 = call float @agpu.reciprocal_square_root(float %v51)
  %v108 = getelementptr inbounds i8, ptr %v8, i64 12
  %v55 = load float, ptr %v108, align 4
  %v56 = fmul float %v55, %v85
  %v57 = fmul float %v56, %v85
  %v58 = fmul float %v57, %v85
  %v60 = call float @llvm.fma.f32(float %v58, float %v34, float %v59)
  %v62 = call float @llvm.fma.f32(float %v58, float %v40, float %v61)
  %v64 = call float @llvm.fma.f32(float %v58, float %v46, float %v63)
  %v66 = add i32 %v25, 1
  br label %b4
b12:
  store float %v59, ptr %v72, align 4
  %v110 = getelementptr inbounds i8, ptr %v72, i64 4
  store float %v61, ptr %v110, align 4
  %v111 = getelementptr inbounds i8, ptr %v72, i64 8
  store float %v63, ptr %v111, align 4
  %v112 = getelementptr inbounds i8, ptr %v72, i64 12
  store float 0x0000000000000000, ptr %v112, align 4
  %v109 = getelementptr inbounds [16 x i8], ptr addrspace(1) %p1, i64 %v20
  call void @llvm.memcpy.p1.p0.i64(ptr addrspace(1) align 16 %v109, ptr align 16 %v72, i64 16, i1 false)
  ret void
}

define internal float @agpu.reciprocal_square_root(float %x) alwaysinline #0 {
  %small = fcmp olt float %x, 0x39B0000000000000
  %enlarged = fmul float %x, 0x45F0000000000000
  %a = select i1 %small, float %enlarged, float %x
  %y = call float @llvm.nvvm.rsqrt.approx.ftz.f(float %a)
  %g = fmul float %a, %y
  %h = fmul float %y, 5.000000e-01
  %minus.g = fneg float %g
  %rest = call float @llvm.fma.f32(float %minus.g, float %g, float %a)
  %root = call float @llvm.fma.f32(float %rest, float %h, float %g)
  %minus.root = fneg float %root
  %error = call float @llvm.fma.f32(float %minus.root, float %y, float 1.000000e+00)
  %correction = call float @llvm.nvvm.fma.rp.f(float %error, float %error, float %error)
  %refined = call float @llvm.fma.f32(float %y, float %correction, float %y)
  %is.number = fcmp ord float %error, %error
  %result = select i1 %is.number, float %refined, float %y
  %reduced = fmul float %result, 0x42F0000000000000
  %scaled = select i1 %small, float %reduced, float %result
  ret float %scaled
}

declare float @llvm.fma.f32(float, float, float) #1
declare float @llvm.nvvm.fma.rp.f(float, float, float) #1
declare float @llvm.nvvm.rsqrt.approx.ftz.f(float) #1
declare float @llvm.sqrt.f32(float) #1
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1
declare void @llvm.memcpy.p0.p1.i64(ptr, ptr addrspace(1), i64, i1)
declare void @llvm.memcpy.p1.p0.i64(ptr addrspace(1), ptr, i64, i1)
attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind willreturn }
