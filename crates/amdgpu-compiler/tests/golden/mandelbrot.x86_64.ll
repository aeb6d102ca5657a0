source_filename = "mandelbrot.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal void @mandelbrot.item(ptr %p0, i32 %p1, i32 %p2, float %p3, float %p4, float %p5, i32 %p6, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v8 = add i32 %block_index.x, 0
  %v9 = add i32 %block_size.x, 0
  %v10 = mul i32 %v8, %v9
  %v11 = add i32 %thread_index.x, 0
  %v12 = add i32 %v10, %v11
  %v13 = add i32 %block_index.y, 0
  %v14 = add i32 %block_size.y, 0
  %v15 = mul i32 %v13, %v14
  %v16 = add i32 %thread_index.y, 0
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
  %v68 = getelementptr inbounds i32, ptr %p0, i64 %v65
  store i32 %v34, ptr %v68, align 4, !llvm.access.group !0
  ret void
}

define void @mandelbrot(ptr noalias readonly %arguments, ptr noalias readonly %launch, i64 %begin, i64 %end) #0 {
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
  %a1 = load i32, ptr %a1.p, align 4
  %a2.p = getelementptr inbounds i8, ptr %arguments, i64 12
  %a2 = load i32, ptr %a2.p, align 4
  %a3.p = getelementptr inbounds i8, ptr %arguments, i64 16
  %a3 = load float, ptr %a3.p, align 4
  %a4.p = getelementptr inbounds i8, ptr %arguments, i64 20
  %a4 = load float, ptr %a4.p, align 4
  %a5.p = getelementptr inbounds i8, ptr %arguments, i64 24
  %a5 = load float, ptr %a5.p, align 4
  %a6.p = getelementptr inbounds i8, ptr %arguments, i64 28
  %a6 = load i32, ptr %a6.p, align 4
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
  call void @mandelbrot.item(ptr %a0, i32 %a1, i32 %a2, float %a3, float %a4, float %a5, i32 %a6, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
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
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
