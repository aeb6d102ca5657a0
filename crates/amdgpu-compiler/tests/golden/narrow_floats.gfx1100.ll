source_filename = "narrow_floats.hip"
target triple = "amdgcn-amd-amdhsa"

define amdgpu_kernel void @narrow_floats(ptr addrspace(1) %p0, ptr addrspace(1) %p1, ptr addrspace(1) %p2, ptr addrspace(1) %p3, i16 %p4) #0 "amdgpu-flat-work-group-size"="1,1024" {
b0:
  %v10 = alloca [4 x i8], align 4, addrspace(5)
  %v12 = alloca [4 x i8], align 4, addrspace(5)
  %v13 = addrspacecast ptr addrspace(5) %v12 to ptr
  %v14 = alloca [4 x i8], align 4, addrspace(5)
  %v15 = addrspacecast ptr addrspace(5) %v14 to ptr
  %v16 = alloca [4 x i8], align 4, addrspace(5)
  %v17 = addrspacecast ptr addrspace(5) %v16 to ptr
  %v18 = alloca [4 x i8], align 4, addrspace(5)
  %v19 = addrspacecast ptr addrspace(5) %v18 to ptr
  %v23 = alloca [4 x i8], align 4, addrspace(5)
  %v24 = addrspacecast ptr addrspace(5) %v23 to ptr
  %v30 = alloca [4 x i8], align 4, addrspace(5)
  %v31 = addrspacecast ptr addrspace(5) %v30 to ptr
  %v9 = call i32 @llvm.amdgcn.workitem.id.x()
  %v20 = sext i32 %v9 to i64
  %v86 = getelementptr inbounds i32, ptr addrspace(1) %p1, i64 %v20
  call void @llvm.memcpy.p5.p1.i64(ptr addrspace(5) align 4 %v18, ptr addrspace(1) align 4 %v86, i64 4, i1 false)
  %v87 = getelementptr inbounds i32, ptr addrspace(1) %p2, i64 %v20
  call void @llvm.memcpy.p5.p1.i64(ptr addrspace(5) align 4 %v23, ptr addrspace(1) align 4 %v87, i64 4, i1 false)
  call void @operator$P.1(ptr %v17, ptr %v19, ptr %v24)
  call void @llvm.memcpy.p5.p5.i64(ptr addrspace(5) align 4 %v14, ptr addrspace(5) align 4 %v16, i64 4, i1 false)
  %v88 = getelementptr inbounds i32, ptr addrspace(1) %p0, i64 %v20
  call void @llvm.memcpy.p5.p1.i64(ptr addrspace(5) align 4 %v30, ptr addrspace(1) align 4 %v88, i64 4, i1 false)
  call void @operator$2b$.2(ptr %v13, ptr %v15, ptr %v31)
  call void @llvm.memcpy.p1.p5.i64(ptr addrspace(1) align 4 %v88, ptr addrspace(5) align 4 %v12, i64 4, i1 false)
  call void @llvm.memcpy.p5.p5.i64(ptr addrspace(5) align 4 %v10, ptr addrspace(5) align 4 %v12, i64 4, i1 false)
  %v42 = load i16, ptr addrspace(1) %v86, align 2
  %v92 = getelementptr inbounds i8, ptr addrspace(1) %v87, i64 2
  %v47 = load i16, ptr addrspace(1) %v92, align 2
  %v48 = call i16 @__hfma.3(i16 %v42, i16 %p4, i16 %v47)
  store i16 %v48, ptr addrspace(1) %v88, align 2
  %v94 = getelementptr inbounds i16, ptr addrspace(1) %p3, i64 %v20
  %v54 = load i16, ptr addrspace(1) %v94, align 2
  %v55 = zext i16 %v54 to i32
  %v57 = shl i32 %v55, 16
  %v58 = bitcast i32 %v57 to float
  %v60 = fadd float %v58, 0x3FF8000000000000
  %v61.b = bitcast float %v60 to i32
  %v61.s = lshr i32 %v61.b, 16
  %v61.l = and i32 %v61.s, 1
  %v61.r = add i32 %v61.l, 32767
  %v61.t = add i32 %v61.b, %v61.r
  %v61.u = lshr i32 %v61.t, 16
  %v61.n = fcmp uno float %v60, %v60
  %v61.c = select i1 %v61.n, i32 32704, i32 %v61.u
  %v61 = trunc i32 %v61.c to i16
  store i16 %v61, ptr addrspace(1) %v94, align 2
  %v63 = call i16 @__int2bfloat16_rn.4(i32 %v9)
  %v65 = add i32 %v9, 1
  %v66 = sext i32 %v65 to i64
  %v95 = getelementptr inbounds i16, ptr addrspace(1) %p3, i64 %v66
  store i16 %v63, ptr addrspace(1) %v95, align 2
  %v71 = load i16, ptr addrspace(1) %v86, align 2
  %v72 = call i1 @__hgt.5(i16 %v71, i16 %p4)
  br i1 %v72, label %b1, label %b2
b1:
  %v75 = load i16, ptr addrspace(1) %v94, align 2
  %v76 = zext i16 %v75 to i32
  %v77 = shl i32 %v76, 16
  %v78 = bitcast i32 %v77 to float
  %v79 = fneg float %v78
  %v80.b = bitcast float %v79 to i32
  %v80.s = lshr i32 %v80.b, 16
  %v80.l = and i32 %v80.s, 1
  %v80.r = add i32 %v80.l, 32767
  %v80.t = add i32 %v80.b, %v80.r
  %v80.u = lshr i32 %v80.t, 16
  %v80.n = fcmp uno float %v79, %v79
  %v80.c = select i1 %v80.n, i32 32704, i32 %v80.u
  %v80 = trunc i32 %v80.c to i16
  %v82 = add i32 %v9, 2
  %v83 = sext i32 %v82 to i64
  %v98 = getelementptr inbounds i16, ptr addrspace(1) %p3, i64 %v83
  store i16 %v80, ptr addrspace(1) %v98, align 2
  br label %b2
b2:
  ret void
}

define internal void @operator$P.1(ptr %p0, ptr %p1, ptr %p2) alwaysinline #0 {
b0:
  %v3 = alloca [4 x i8], align 4, addrspace(5)
  %v4 = addrspacecast ptr addrspace(5) %v3 to ptr
  %v6 = alloca [4 x i8], align 4, addrspace(5)
  %v7 = addrspacecast ptr addrspace(5) %v6 to ptr
  call void @llvm.memcpy.p5.p0.i64(ptr addrspace(5) align 4 %v3, ptr align 4 %p1, i64 4, i1 false)
  call void @llvm.memcpy.p5.p0.i64(ptr addrspace(5) align 4 %v6, ptr align 4 %p2, i64 4, i1 false)
  call void @__hmul2.6(ptr %p0, ptr %v4, ptr %v7)
  ret void
}

define internal void @operator$2b$.2(ptr %p0, ptr %p1, ptr %p2) alwaysinline #0 {
b0:
  %v3 = alloca [4 x i8], align 4, addrspace(5)
  %v4 = addrspacecast ptr addrspace(5) %v3 to ptr
  %v6 = alloca [4 x i8], align 4, addrspace(5)
  %v7 = addrspacecast ptr addrspace(5) %v6 to ptr
  call void @llvm.memcpy.p5.p0.i64(ptr addrspace(5) align 4 %v3, ptr align 4 %p1, i64 4, i1 false)
  call void @llvm.memcpy.p5.p0.i64(ptr addrspace(5) align 4 %v6, ptr align 4 %p2, i64 4, i1 false)
  call void @__hadd2.7(ptr %p0, ptr %v4, ptr %v7)
  ret void
}

define internal i16 @__hfma.3(i16 %p0, i16 %p1, i16 %p2) alwaysinline #0 {
b0:
  br i1 false, label %b2, label %b1
b1:
  %v4.0 = bitcast i16 %p0 to half
  %v4.1 = bitcast i16 %p1 to half
  %v4.2 = bitcast i16 %p2 to half
  %v4.h = call half @llvm.fma.f16(half %v4.0, half %v4.1, half %v4.2)
  %v4 = bitcast half %v4.h to i16
  ret i16 %v4
b2:
  %v7.h = bitcast i16 %p0 to half
  %v7 = fpext half %v7.h to float
  %v9.h = bitcast i16 %p1 to half
  %v9 = fpext half %v9.h to float
  %v10 = fmul float %v7, %v9
  %v12.h = bitcast i16 %p2 to half
  %v12 = fpext half %v12.h to float
  %v13 = call float @__agpu_odd_sum.8(float %v10, float %v12)
  %v14.h = fptrunc float %v13 to half
  %v14 = bitcast half %v14.h to i16
  ret i16 %v14
}

define internal i16 @__int2bfloat16_rn.4(i32 %p0) alwaysinline #0 {
b0:
  %v1 = sitofp i32 %p0 to double
  %v2 = fptrunc double %v1 to float
  %v3 = fpext float %v2 to double
  %v4 = bitcast float %v2 to i32
  %v6 = and i32 %v4, 1
  %v8 = icmp eq i32 %v6, 0
  %v9 = fcmp une double %v3, %v1
  %v10 = and i1 %v8, %v9
  %v11 = call double @llvm.fabs.f64(double %v1)
  %v12 = call double @llvm.fabs.f64(double %v3)
  %v13 = fcmp olt double %v12, %v11
  %v14 = add i32 %v4, 1
  %v15 = sub i32 %v4, 1
  %v16 = select i1 %v13, i32 %v14, i32 %v15
  %v17 = select i1 %v10, i32 %v16, i32 %v4
  %v18 = bitcast i32 %v17 to float
  %v19.b = bitcast float %v18 to i32
  %v19.s = lshr i32 %v19.b, 16
  %v19.l = and i32 %v19.s, 1
  %v19.r = add i32 %v19.l, 32767
  %v19.t = add i32 %v19.b, %v19.r
  %v19.u = lshr i32 %v19.t, 16
  %v19.n = fcmp uno float %v18, %v18
  %v19.c = select i1 %v19.n, i32 32704, i32 %v19.u
  %v19 = trunc i32 %v19.c to i16
  ret i16 %v19
}

define internal i1 @__hgt.5(i16 %p0, i16 %p1) alwaysinline #0 {
b0:
  %v2.h = bitcast i16 %p0 to half
  %v2 = fpext half %v2.h to float
  %v3.h = bitcast i16 %p1 to half
  %v3 = fpext half %v3.h to float
  %v4 = fcmp ogt float %v2, %v3
  ret i1 %v4
}

define internal void @__hmul2.6(ptr %p0, ptr %p1, ptr %p2) alwaysinline #0 {
b0:
  %v3 = load i16, ptr %p1, align 2
  %v4.h = bitcast i16 %v3 to half
  %v4 = fpext half %v4.h to float
  %v5 = load i16, ptr %p2, align 2
  %v6.h = bitcast i16 %v5 to half
  %v6 = fpext half %v6.h to float
  %v7 = fmul float %v4, %v6
  %v8.h = fptrunc float %v7 to half
  %v8 = bitcast half %v8.h to i16
  store i16 %v8, ptr %p0, align 2
  %v11 = getelementptr inbounds i8, ptr %p0, i64 2
  %v12 = getelementptr inbounds i8, ptr %p1, i64 2
  %v13 = load i16, ptr %v12, align 2
  %v14.h = bitcast i16 %v13 to half
  %v14 = fpext half %v14.h to float
  %v15 = getelementptr inbounds i8, ptr %p2, i64 2
  %v16 = load i16, ptr %v15, align 2
  %v17.h = bitcast i16 %v16 to half
  %v17 = fpext half %v17.h to float
  %v18 = fmul float %v14, %v17
  %v19.h = fptrunc float %v18 to half
  %v19 = bitcast half %v19.h to i16
  store i16 %v19, ptr %v11, align 2
  ret void
}

define internal void @__hadd2.7(ptr %p0, ptr %p1, ptr %p2) alwaysinline #0 {
b0:
  %v3 = load i16, ptr %p1, align 2
  %v4.h = bitcast i16 %v3 to half
  %v4 = fpext half %v4.h to float
  %v5 = load i16, ptr %p2, align 2
  %v6.h = bitcast i16 %v5 to half
  %v6 = fpext half %v6.h to float
  %v7 = fadd float %v4, %v6
  %v8.h = fptrunc float %v7 to half
  %v8 = bitcast half %v8.h to i16
  store i16 %v8, ptr %p0, align 2
  %v11 = getelementptr inbounds i8, ptr %p0, i64 2
  %v12 = getelementptr inbounds i8, ptr %p1, i64 2
  %v13 = load i16, ptr %v12, align 2
  %v14.h = bitcast i16 %v13 to half
  %v14 = fpext half %v14.h to float
  %v15 = getelementptr inbounds i8, ptr %p2, i64 2
  %v16 = load i16, ptr %v15, align 2
  %v17.h = bitcast i16 %v16 to half
  %v17 = fpext half %v17.h to float
  %v18 = fadd float %v14, %v17
  %v19.h = fptrunc float %v18 to half
  %v19 = bitcast half %v19.h to i16
  store i16 %v19, ptr %v11, align 2
  ret void
}

define internal float @__agpu_odd_sum.8(float %p0, float %p1) alwaysinline #0 {
b0:
  %v2 = fadd float %p0, %p1
  %v3 = fsub float %v2, %p0
  %v4 = fsub float %v2, %v3
  %v5 = fsub float %p0, %v4
  %v6 = fsub float %p1, %v3
  %v7 = fadd float %v5, %v6
  %v8 = bitcast float %v2 to i32
  %v10 = fcmp olt float %v7, 0x0000000000000000
  %v11 = fcmp ogt float %v7, 0x0000000000000000
  %v12 = or i1 %v10, %v11
  %v14 = zext i1 %v11 to i32
  %v15 = fcmp ogt float %v2, 0x0000000000000000
  %v16 = zext i1 %v15 to i32
  %v17 = icmp eq i32 %v14, %v16
  %v19 = add i32 %v8, 1
  %v20 = sub i32 %v8, 1
  %v21 = select i1 %v17, i32 %v19, i32 %v20
  %v22 = and i32 %v8, 1
  %v24 = icmp eq i32 %v22, 0
  %v25 = and i1 %v12, %v24
  %v26 = select i1 %v25, i32 %v21, i32 %v8
  %v27 = bitcast i32 %v26 to float
  ret float %v27
}

declare double @llvm.fabs.f64(double) #1
declare half @llvm.fma.f16(half, half, half) #1
declare i32 @llvm.amdgcn.workitem.id.x() #1
declare void @llvm.memcpy.p1.p5.i64(ptr addrspace(1), ptr addrspace(5), i64, i1)
declare void @llvm.memcpy.p5.p0.i64(ptr addrspace(5), ptr, i64, i1)
declare void @llvm.memcpy.p5.p1.i64(ptr addrspace(5), ptr addrspace(1), i64, i1)
declare void @llvm.memcpy.p5.p5.i64(ptr addrspace(5), ptr addrspace(5), i64, i1)
attributes #0 = { nounwind "target-cpu"="gfx1100" "uniform-work-group-size"="true" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }
