source_filename = "mandelbrot.hip"
target triple = "nvptx64-nvidia-cuda"

define ptx_kernel void @mandelbrot(ptr addrspace(1) %p0, i32 %p1, i32 %p2, float %p3, float %p4, float %p5, i32 %p6) #0 {
b0:
  %v8 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v9 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %v10 = mul i32 %v8, %v9
  %v11 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v12 = add i32 %v10, %v11
  %v13 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.y()
  %v14 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.y()
  %v15 = mul i32 %v13, %v14
  %v16 = call i32 @llvm.nvvm.read.ptx.sreg.tid.y()
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
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.y() #1
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.y() #1
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.tid.y() #1
attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind willreturn }
