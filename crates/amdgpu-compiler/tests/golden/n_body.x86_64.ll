source_filename = "n_body.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal void @n_body.item(ptr noalias %p0, ptr noalias %p1, i32 %p2, float %p3, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v6 = alloca [16 x i8], align 16
  %v8 = alloca [16 x i8], align 16
  %v72 = alloca [16 x i8], align 16
  %v10 = add i32 %block_index.x, 0
  %v11 = add i32 %block_size.x, 0
  %v12 = mul i32 %v10, %v11
  %v13 = add i32 %thread_index.x, 0
  %v14 = add i32 %v12, %v13
  %v15 = icmp sge i32 %v14, %p2
  br i1 %v15, label %b1, label %b2
b1:
  ret void
b2:
  %v20 = sext i32 %v14 to i64
  %v102 = getelementptr inbounds [16 x i8], ptr %p0, i64 %v20
  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %v6, ptr align 16 %v102, i64 16, i1 false)
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
  %v103 = getelementptr inbounds [16 x i8], ptr %p0, i64 %v29
  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %v8, ptr align 16 %v103, i64 16, i1 false)
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
  %v85 = fdiv float 0x3FF0000000000000, %v84
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
  %v109 = getelementptr inbounds [16 x i8], ptr %p1, i64 %v20
  call void @llvm.memcpy.p0.p0.i64(ptr align 16 %v109, ptr align 16 %v72, i64 16, i1 false)
  ret void
}

define void @n_body(ptr noalias readonly %arguments, ptr noalias readonly %launch, i64 %begin, i64 %end) #0 {
entry:
  %grid_size.x.p = getelementptr inbounds i8, ptr %launch, i64 0
  %grid_size.x = load i32, ptr %grid_size.x.p, align 4
  %grid_size.y.p = getelementptr inbounds i8, ptr %launch, i64 4
  %grid_size.y = load i32, ptr %grid_size.y.p, align 4
  %grid_size.z.p = getelementptr inbounds i8, ptr %launch, i64 8
  %grid_size.z = load i32, ptr %grid_size.z.p, align 4
  %block_size.x.p = getelementptr inbounds i8, ptr %launch, i64 12
  %block_size.x = load i32, ptr %block_size.x.p, align 4
  %block_size.y.p = getelementptr inbounds i8, ptr %launch, i64 16
  %block_size.y = load i32, ptr %block_size.y.p, align 4
  %block_size.z.p = getelementptr inbounds i8, ptr %launch, i64 20
  %block_size.z = load i32, ptr %block_size.z.p, align 4
  %a0.p = getelementptr inbounds i8, ptr %arguments, i64 0
  %a0 = load ptr, ptr %a0.p, align 8
  %a1.p = getelementptr inbounds i8, ptr %arguments, i64 8
  %a1 = load ptr, ptr %a1.p, align 8
  %a2.p = getelementptr inbounds i8, ptr %arguments, i64 16
  %a2 = load i32, ptr %a2.p, align 4
  %a3.p = getelementptr inbounds i8, ptr %arguments, i64 20
  %a3 = load float, ptr %a3.p, align 4
  %some = icmp ult i64 %begin, %end
  br i1 %some, label %start, label %done
start:
  %grid.x64 = zext i32 %grid_size.x to i64
  %grid.y64 = zext i32 %grid_size.y to i64
  %first.x64 = urem i64 %begin, %grid.x64
  %rows = udiv i64 %begin, %grid.x64
  %first.y64 = urem i64 %rows, %grid.y64
  %first.z64 = udiv i64 %rows, %grid.y64
  %first.x = trunc i64 %first.x64 to i32
  %first.y = trunc i64 %first.y64 to i32
  %first.z = trunc i64 %first.z64 to i32
  br label %block
block:
  %linear = phi i64 [ %begin, %start ], [ %linear.next, %block.end ]
  %block_index.x = phi i32 [ %first.x, %start ], [ %block.x.next, %block.end ]
  %block_index.y = phi i32 [ %first.y, %start ], [ %block.y.next, %block.end ]
  %block_index.z = phi i32 [ %first.z, %start ], [ %block.z.next, %block.end ]
  br label %plane
plane:
  %thread_index.z = phi i32 [ 0, %block ], [ %z.next, %plane.end ]
  br label %row
row:
  %thread_index.y = phi i32 [ 0, %plane ], [ %y.next, %row.end ]
  br label %item
item:
  %thread_index.x = phi i32 [ 0, %row ], [ %x.next, %item ]
  call void @n_body.item(ptr %a0, ptr %a1, i32 %a2, float %a3, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
  %x.next = add nuw nsw i32 %thread_index.x, 1
  %x.more = icmp ult i32 %x.next, %block_size.x
  br i1 %x.more, label %item, label %row.end, !llvm.loop !1
row.end:
  %y.next = add nuw nsw i32 %thread_index.y, 1
  %y.more = icmp ult i32 %y.next, %block_size.y
  br i1 %y.more, label %row, label %plane.end
plane.end:
  %z.next = add nuw nsw i32 %thread_index.z, 1
  %z.more = icmp ult i32 %z.next, %block_size.z
  br i1 %z.more, label %plane, label %block.end
block.end:
  %linear.next = add nuw i64 %linear, 1
  %block.x.plus = add nuw i32 %block_index.x, 1
  %x.wraps = icmp eq i32 %block.x.plus, %grid_size.x
  %block.x.next = select i1 %x.wraps, i32 0, i32 %block.x.plus
  %carry.y = zext i1 %x.wraps to i32
  %block.y.plus = add nuw i32 %block_index.y, %carry.y
  %y.wraps = icmp eq i32 %block.y.plus, %grid_size.y
  %block.y.next = select i1 %y.wraps, i32 0, i32 %block.y.plus
  %carry.z = zext i1 %y.wraps to i32
  %block.z.next = add nuw i32 %block_index.z, %carry.z
  %more = icmp ult i64 %linear.next, %end
  br i1 %more, label %block, label %done
done:
  ret void
}

!1 = distinct !{!1, !2}
!2 = !{!"llvm.loop.parallel_accesses", !0}

declare float @llvm.fma.f32(float, float, float) #1
declare float @llvm.sqrt.f32(float) #1
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
