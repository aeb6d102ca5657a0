source_filename = "variables.hip"
target triple = "nvptx64-nvidia-cuda"

@taps =  addrspace(4) externally_initialized global [16 x i8] zeroinitializer, align 4
@limits =  addrspace(4) externally_initialized global [12 x i8] c"\00\00\C0\3F\07\00\00\00\08\00\00\00", align 4
@calls =  addrspace(1) externally_initialized global [4 x i8] zeroinitializer, align 4
@start =  addrspace(1) externally_initialized global [20 x i8] c"\01\00\00\00\02\00\00\00\00\00\00\00\00\00\00\00\00\00\00\00", align 4
@number.4 = internal addrspace(1) externally_initialized global [4 x i8] c"\28\00\00\00", align 4
define ptx_kernel void @use(ptr addrspace(1) %p0) #0 {
b0:
  %v5 = atomicrmw add ptr addrspace(1) @calls, i32 1 syncscope("device") monotonic
  %v37 = getelementptr inbounds i8, ptr addrspace(4) @limits, i64 8
  %v12 = load i32, ptr addrspace(4) %v37, align 4
  %v38 = getelementptr inbounds i32, ptr addrspace(1) @start, i64 1
  store i32 %v12, ptr addrspace(1) %v38, align 4
  %v39 = getelementptr inbounds i32, ptr addrspace(4) @taps, i64 1
  %v20 = load float, ptr addrspace(4) %v39, align 4
  %v23 = load float, ptr addrspace(4) @limits, align 4
  %v24 = fadd float %v20, %v23
  %v34 = atomicrmw add ptr addrspace(1) @number.4, i32 1 syncscope("device") monotonic
  %v26 = sitofp i32 %v34 to float
  %v27 = fadd float %v24, %v26
  store float %v27, ptr addrspace(1) %p0, align 4
  ret void
}

attributes #0 = { nounwind }
attributes #1 = { nocallback nofree nosync nounwind willreturn }
