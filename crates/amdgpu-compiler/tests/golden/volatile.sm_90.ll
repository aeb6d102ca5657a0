source_filename = "volatile.hip"
target triple = "nvptx64-nvidia-cuda"

@counter =  addrspace(1) externally_initialized global [4 x i8] zeroinitializer, align 4
@sums$shared$0 = internal addrspace(3) global [256 x i8] poison, align 4
define ptx_kernel void @poll(ptr addrspace(1) %p0, ptr addrspace(1) %p1, ptr addrspace(1) %p2) #0 {
b0:
  %v6 = alloca [4 x i8], align 4
  store i32 3, ptr %v6, align 4
  %v13 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v14 = zext i32 %v13 to i64
  %v94 = getelementptr inbounds i32, ptr addrspace(3) @sums$shared$0, i64 %v14
  store volatile float 0x3FF0000000000000, ptr addrspace(3) %v94, align 4
  %v76 = load volatile float, ptr addrspace(3) %v94, align 4
  %v78 = add i32 %v13, 16
  %v79 = zext i32 %v78 to i64
  %v101 = getelementptr inbounds i32, ptr addrspace(3) @sums$shared$0, i64 %v79
  %v81 = load volatile float, ptr addrspace(3) %v101, align 4
  %v82 = fadd float %v76, %v81
  store volatile float %v82, ptr addrspace(3) %v94, align 4
  %v86 = load volatile float, ptr addrspace(3) %v94, align 4
  %v88 = add i32 %v13, 8
  %v89 = zext i32 %v88 to i64
  %v103 = getelementptr inbounds i32, ptr addrspace(3) @sums$shared$0, i64 %v89
  %v91 = load volatile float, ptr addrspace(3) %v103, align 4
  %v92 = fadd float %v86, %v91
  store volatile float %v92, ptr addrspace(3) %v94, align 4
  br label %b1
b1:
  %v22 = load volatile i32, ptr addrspace(1) %p0, align 4
  %v24 = icmp eq i32 %v22, 0
  br i1 %v24, label %b1, label %b4
b4:
  %v25 = load volatile i32, ptr addrspace(1) %p0, align 4
  %v95 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 1
  store volatile i32 1, ptr addrspace(1) %v95, align 4
  store volatile i32 1, ptr addrspace(1) %v95, align 4
  %v32 = load volatile i32, ptr %v6, align 4
  %v33 = load volatile i32, ptr %v6, align 4
  %v34 = add i32 %v32, %v33
  store volatile i32 %v34, ptr %v6, align 4
  br label %b5
b5:
  %v97 = getelementptr inbounds i8, ptr addrspace(1) %p2, i64 4
  %v39 = load volatile i32, ptr addrspace(1) %v97, align 4
  %v40 = icmp eq i32 %v39, 0
  br i1 %v40, label %b5, label %b8
b8:
  %v98 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 2
  %v45 = load volatile i32, ptr addrspace(1) %v98, align 4
  %v46 = add i32 %v45, 1
  store volatile i32 %v46, ptr addrspace(1) %v98, align 4
  store volatile i32 2, ptr addrspace(1) @counter, align 4
  store volatile i32 2, ptr addrspace(1) @counter, align 4
  %v55 = load i32, ptr addrspace(1) %p2, align 4
  %v56 = load volatile i32, ptr %v6, align 4
  %v57 = add i32 %v55, %v56
  %v62 = load volatile float, ptr addrspace(3) @sums$shared$0, align 4
  %v63 = call i32 @llvm.fptosi.sat.i32.f32(float %v62)
  %v64 = add i32 %v57, %v63
  %v99 = getelementptr inbounds i32, ptr addrspace(1) %p1, i64 1
  %v68 = load volatile i32, ptr addrspace(1) %v99, align 4
  %v69 = add i32 %v64, %v68
  store i32 %v69, ptr addrspace(1) %p1, align 4
  ret void
}

declare i32 @llvm.fptosi.sat.i32.f32(float) #1
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1
attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind willreturn }
