source_filename = "atomics.hip"
target triple = "nvptx64-nvidia-cuda"

@local$shared$0 = internal addrspace(3) global [4 x i8] poison, align 4
define ptx_kernel void @k(ptr addrspace(1) %p0, ptr addrspace(1) %p1, ptr addrspace(1) %p2, ptr addrspace(1) %p3, ptr addrspace(1) %p4, ptr addrspace(1) %p5) #0 {
b0:
  %v12 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v13 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %v14 = mul i32 %v12, %v13
  %v15 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v16 = add i32 %v14, %v15
  %v19 = atomicrmw add ptr addrspace(1) %p0, i32 %v16 syncscope("device") monotonic
  %v102 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 1
  %v22 = atomicrmw sub ptr addrspace(1) %v102, i32 %v16 syncscope("device") monotonic
  %v103 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 2
  %v26 = sub i32 0, %v16
  %v27 = atomicrmw min ptr addrspace(1) %v103, i32 %v26 syncscope("device") monotonic
  %v104 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 3
  %v30 = atomicrmw max ptr addrspace(1) %v104, i32 %v16 syncscope("device") monotonic
  %v105 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 4
  %v35 = srem i32 %v16, 31
  %v36.c = and i32 %v35, 31
  %v36 = shl i32 1, %v36.c
  %v38 = xor i32 %v36, -1
  %v39 = atomicrmw and ptr addrspace(1) %v105, i32 %v38 syncscope("device") monotonic
  %v106 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 5
  %v44 = atomicrmw or ptr addrspace(1) %v106, i32 %v36 syncscope("device") monotonic
  %v107 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 6
  %v47 = atomicrmw xor ptr addrspace(1) %v107, i32 %v16 syncscope("device") monotonic
  %v50 = sub i32 -294967296, %v16
  %v51 = atomicrmw umin ptr addrspace(1) %p1, i32 %v50 syncscope("device") monotonic
  %v108 = getelementptr inbounds i32, ptr addrspace(1) %p1, i64 1
  %v54 = add i32 %v16, -1294967296
  %v55 = atomicrmw umax ptr addrspace(1) %v108, i32 %v54 syncscope("device") monotonic
  %v109 = getelementptr inbounds i32, ptr addrspace(1) %p1, i64 2
  %v58 = atomicrmw uinc_wrap ptr addrspace(1) %v109, i32 9 syncscope("device") monotonic
  %v110 = getelementptr inbounds i32, ptr addrspace(1) %p1, i64 3
  %v60 = atomicrmw udec_wrap ptr addrspace(1) %v110, i32 9 syncscope("device") monotonic
  %v63 = atomicrmw add ptr addrspace(1) %p2, i64 1099511627776 syncscope("device") monotonic
  %v111 = getelementptr inbounds i64, ptr addrspace(1) %p2, i64 1
  %v65 = sext i32 %v16 to i64
  %v67 = shl i64 %v65, 33
  %v68 = atomicrmw umax ptr addrspace(1) %v111, i64 %v67 syncscope("device") monotonic
  %v112 = getelementptr inbounds i64, ptr addrspace(1) %p2, i64 2
  %v71 = atomicrmw xchg ptr addrspace(1) %v112, i64 77 syncscope("device") monotonic
  %v73 = atomicrmw fadd ptr addrspace(1) %p3, float 0x3FF0000000000000 syncscope("device") monotonic
  %v75 = atomicrmw fadd ptr addrspace(1) %p4, double 0x3FE0000000000000 syncscope("device") monotonic
  %v113 = getelementptr inbounds i32, ptr addrspace(1) %p3, i64 1
  %v78 = atomicrmw xchg ptr addrspace(1) %v113, float 0x4004000000000000 syncscope("device") monotonic
  %v114 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 7
  %v81 = atomicrmw add ptr addrspace(1) %v114, i32 1 syncscope("device") monotonic
  %v115 = getelementptr inbounds i32, ptr addrspace(1) %p5, i64 %v65
  store i32 %v81, ptr addrspace(1) %v115, align 4
  %v116 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 8
  %v87 = load i32, ptr addrspace(1) %v116, align 4
  br label %b1
b1:
  %v88 = phi i32 [ %v87, %b0 ], [ %v93, %b1 ]
  %v92 = add i32 %v88, 3
  %v93.c = cmpxchg ptr addrspace(1) %v116, i32 %v88, i32 %v92 syncscope("device") monotonic monotonic
  %v93 = extractvalue { i32, i1 } %v93.c, 0
  %v94 = icmp ne i32 %v93, %v88
  br i1 %v94, label %b1, label %b3
b3:
  %v98 = atomicrmw max ptr addrspace(3) @local$shared$0, i32 %v16 syncscope("block") monotonic
  fence syncscope("device") seq_cst
  fence syncscope("block") seq_cst
  fence seq_cst
  ret void
}

declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1
attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind willreturn }
