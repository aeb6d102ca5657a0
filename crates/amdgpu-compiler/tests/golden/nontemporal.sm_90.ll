source_filename = "nontemporal.hip"
target triple = "nvptx64-nvidia-cuda"

@last$shared$0 = internal addrspace(3) global [4 x i8] poison, align 4
define ptx_kernel void @stream(ptr addrspace(1) %p0, ptr addrspace(1) %p1, ptr addrspace(1) %p2, ptr addrspace(1) %p3, ptr addrspace(1) %p4, ptr addrspace(1) %p5, i32 %p6) #0 {
b0:
  %v13 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v14 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %v15 = mul i32 %v13, %v14
  %v16 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v17 = add i32 %v15, %v16
  %v18 = icmp uge i32 %v17, %p6
  br i1 %v18, label %b1, label %b2
b1:
  ret void
b2:
  %v23 = zext i32 %v17 to i64
  %v80 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v23
  %v25 = load float, ptr addrspace(1) %v80, align 4, !nontemporal !{i32 1}
  %v27 = fmul float %v25, 0x4000000000000000
  %v81 = getelementptr inbounds i32, ptr addrspace(1) %p1, i64 %v23
  store float %v27, ptr addrspace(1) %v81, align 4, !nontemporal !{i32 1}
  %v82 = getelementptr inbounds i8, ptr addrspace(1) %p2, i64 %v23
  %v36 = load i8, ptr addrspace(1) %v82, align 1, !nontemporal !{i32 1}
  %v38 = icmp ne i8 %v36, 0
  %v83 = getelementptr inbounds i8, ptr addrspace(1) %p3, i64 %v23
  %v42 = zext i1 %v38 to i8
  store i8 %v42, ptr addrspace(1) %v83, align 1, !nontemporal !{i32 1}
  %v44.h = fptrunc float %v25 to half
  %v44 = bitcast half %v44.h to i16
  %v84 = getelementptr inbounds i16, ptr addrspace(1) %p4, i64 %v23
  store i16 %v44, ptr addrspace(1) %v84, align 2, !nontemporal !{i32 1}
  %v50 = mul i32 %v17, 2
  %v52 = add i32 %v50, %p6
  %v53 = zext i32 %v52 to i64
  %v85 = getelementptr inbounds i32, ptr addrspace(1) %p1, i64 %v53
  store float %v25, ptr addrspace(1) %v85, align 4, !nontemporal !{i32 1}
  %v56 = icmp eq i32 %v17, 0
  br i1 %v56, label %b9, label %b5
b5:
  store float %v25, ptr addrspace(3) @last$shared$0, align 4, !nontemporal !{i32 1}
  ret void
b9:
  store ptr null, ptr addrspace(1) %p5, align 8, !nontemporal !{i32 1}
  br label %b5
}

declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1
attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind willreturn }
