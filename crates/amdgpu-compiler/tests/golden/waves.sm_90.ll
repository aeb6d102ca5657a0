source_filename = "waves.hip"
target triple = "nvptx64-nvidia-cuda"

@partial$shared$0 = internal addrspace(3) global [128 x i8] poison, align 4
define ptx_kernel void @k(ptr addrspace(1) %p0, ptr addrspace(1) %p1, ptr addrspace(1) %p2, ptr addrspace(1) %p3, i32 %p4) #0 {
b0:
  %v9 = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %v10 = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %v11 = mul i32 %v9, %v10
  %v12 = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v13 = add i32 %v11, %v12
  %v14 = icmp slt i32 %v13, %p4
  br i1 %v14, label %b1, label %b2
b1:
  %v15 = sext i32 %v13 to i64
  %v182 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v15
  %v17 = load i32, ptr addrspace(1) %v182, align 4
  %v18 = sitofp i32 %v17 to float
  br label %b3
b2:
  br label %b3
b3:
  %v20 = phi float [ %v18, %b1 ], [ 0x0000000000000000, %b2 ]
  %v21 = add i32 32, 0
  %v23 = lshr i32 %v21, 1
  %v156 = call i32 @llvm.nvvm.read.ptx.sreg.laneid()
  %v158 = add i32 %v21, -1
  %v160 = and i32 %v156, %v158
  %v161 = sub i32 %v158, %v160
  br label %b4
b4:
  %v27 = phi float [ %v20, %b3 ], [ %v30, %b15 ]
  %v24 = phi i32 [ %v23, %b3 ], [ %v31, %b15 ]
  %v26 = icmp sgt i32 %v24, 0
  br i1 %v26, label %b15, label %b35
b8:
  %v38.z = icmp eq i32 %v21, 0
  %v38.d = select i1 %v38.z, i32 1, i32 %v21
  %v38.q = udiv i32 %v12, %v38.d
  %v38 = select i1 %v38.z, i32 0, i32 %v38.q
  %v39 = zext i32 %v38 to i64
  %v183 = getelementptr inbounds i32, ptr addrspace(3) @partial$shared$0, i64 %v39
  store float %v27, ptr addrspace(3) %v183, align 4
  br label %b9
b9:
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %v47 = load float, ptr addrspace(3) @partial$shared$0, align 4
  %v54 = sext i32 %v13 to i64
  %v184 = getelementptr inbounds i32, ptr addrspace(1) %p1, i64 %v54
  store float %v47, ptr addrspace(1) %v184, align 4
  %v60 = fcmp ogt float %v27, 0x4008000000000000
  %v126.m = trunc i64 4294967295 to i32
  %v126.b = call i32 @llvm.nvvm.vote.ballot.sync(i32 %v126.m, i1 %v60)
  %v126 = zext i32 %v126.b to i64
  %v127 = and i64 %v126, 4294967295
  %v187 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v54
  %v68 = load i32, ptr addrspace(1) %v187, align 4
  %v136.m = trunc i64 4294967295 to i32
  %v136.b = call i32 @llvm.nvvm.match.any.sync.i32(i32 %v136.m, i32 %v68)
  %v136 = zext i32 %v136.b to i64
  %v137 = and i64 %v136, 4294967295
  %v70 = add i64 %v127, %v137
  %v191 = getelementptr inbounds i64, ptr addrspace(1) %p2, i64 %v54
  store i64 %v70, ptr addrspace(1) %v191, align 8
  %v186 = getelementptr inbounds i64, ptr addrspace(1) %p3, i64 %v54
  %v172 = and i32 %v158, 1
  %v173 = xor i32 %v156, %v172
  %v174 = add i32 %v156, %v21
  %v177 = xor i32 %v158, -1
  %v178 = and i32 %v174, %v177
  %v179 = icmp sge i32 %v173, %v178
  %v180 = select i1 %v179, i32 %v156, i32 %v173
  br label %b10
b10:
  %v77 = phi i32 [ 0, %b9 ], [ %v97, %b11 ]
  %v82 = load i32, ptr addrspace(1) %v187, align 4
  %v83 = icmp slt i32 %v77, %v82
  br i1 %v83, label %b11, label %b24
b11:
  %v87 = load double, ptr addrspace(1) %v186, align 8
  %v131.m = call i32 @llvm.nvvm.activemask()
  %v131.b = call i32 @llvm.nvvm.vote.ballot.sync(i32 %v131.m, i1 true)
  %v131 = zext i32 %v131.b to i64
  %v91 = load double, ptr addrspace(1) %v186, align 8
  %v143 = bitcast double %v91 to i64
  %v145.m = trunc i64 %v131 to i32
  %v145.l = trunc i64 %v143 to i32
  %v145.u = lshr i64 %v143, 32
  %v145.h = trunc i64 %v145.u to i32
  %v145.lr = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %v145.m, i32 %v145.l, i32 %v180, i32 31)
  %v145.hr = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %v145.m, i32 %v145.h, i32 %v180, i32 31)
  %v145.lw = zext i32 %v145.lr to i64
  %v145.hw = zext i32 %v145.hr to i64
  %v145.hs = shl i64 %v145.hw, 32
  %v145 = or disjoint i64 %v145.hs, %v145.lw
  %v146 = bitcast i64 %v145 to double
  %v95 = fadd double %v87, %v146
  store double %v95, ptr addrspace(1) %v186, align 8
  %v97 = add i32 %v77, 1
  br label %b10
b15:
  %v117 = bitcast float %v27 to i32
  %v162 = icmp ugt i32 %v24, %v161
  %v163 = add i32 %v156, %v24
  %v164 = select i1 %v162, i32 %v156, i32 %v163
  %v119.m = call i32 @llvm.nvvm.activemask()
  %v119 = call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 %v119.m, i32 %v117, i32 %v164, i32 31)
  %v120 = bitcast i32 %v119 to float
  %v30 = fadd float %v27, %v120
  %v31 = sdiv i32 %v24, 2
  br label %b4
b24:
  %v133.m = trunc i64 -1 to i32
  call void @llvm.nvvm.bar.warp.sync(i32 %v133.m)
  %v108 = load double, ptr addrspace(1) %v186, align 8
  %v150 = bitcast double %v108 to i64
  %v151.m = call i32 @llvm.nvvm.activemask()
  %v151.b = call i32 @llvm.nvvm.match.any.sync.i64(i32 %v151.m, i64 %v150)
  %v151 = zext i32 %v151.b to i64
  %v110 = load i64, ptr addrspace(1) %v191, align 8
  %v111 = add i64 %v110, %v151
  store i64 %v111, ptr addrspace(1) %v191, align 8
  ret void
b35:
  %v33 = icmp eq i32 %v156, 0
  br i1 %v33, label %b8, label %b9
}

declare i32 @llvm.nvvm.activemask() #2
declare i32 @llvm.nvvm.match.any.sync.i32(i32, i32) #2
declare i32 @llvm.nvvm.match.any.sync.i64(i32, i64) #2
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.laneid() #1
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x() #1
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x() #1
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32) #2
declare i32 @llvm.nvvm.vote.ballot.sync(i32, i1) #2
declare void @llvm.nvvm.bar.warp.sync(i32) #2
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32) #2
attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind willreturn }
attributes #2 = { convergent nocallback nounwind willreturn }
