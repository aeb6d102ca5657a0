source_filename = "volatile.hip"
target triple = "x86_64-unknown-linux-gnu"

@counter = dso_local externally_initialized global [4 x i8] zeroinitializer, align 4
define internal void @poll.item(ptr %p0, ptr %p1, ptr %p2, ptr %p3, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v11 = getelementptr inbounds i8, ptr %p3, i64 0
  %v6 = alloca [4 x i8], align 4
  store i32 3, ptr %v6, align 4
  %v13 = add i32 %thread_index.x, 0
  %v14 = zext i32 %v13 to i64
  %v94 = getelementptr inbounds i32, ptr %v11, i64 %v14
  store volatile float 0x3FF0000000000000, ptr %v94, align 4
  %v76 = load volatile float, ptr %v94, align 4
  %v78 = add i32 %v13, 16
  %v79 = zext i32 %v78 to i64
  %v101 = getelementptr inbounds i32, ptr %v11, i64 %v79
  %v81 = load volatile float, ptr %v101, align 4
  %v82 = fadd float %v76, %v81
  store volatile float %v82, ptr %v94, align 4
  %v86 = load volatile float, ptr %v94, align 4
  %v88 = add i32 %v13, 8
  %v89 = zext i32 %v88 to i64
  %v103 = getelementptr inbounds i32, ptr %v11, i64 %v89
  %v91 = load volatile float, ptr %v103, align 4
  %v92 = fadd float %v86, %v91
  store volatile float %v92, ptr %v94, align 4
  br label %b1
b1:
  %v22 = load volatile i32, ptr %p0, align 4
  %v24 = icmp eq i32 %v22, 0
  br i1 %v24, label %b1, label %b4
b4:
  %v25 = load volatile i32, ptr %p0, align 4
  %v95 = getelementptr inbounds i32, ptr %p0, i64 1
  store volatile i32 1, ptr %v95, align 4
  store volatile i32 1, ptr %v95, align 4
  %v32 = load volatile i32, ptr %v6, align 4
  %v33 = load volatile i32, ptr %v6, align 4
  %v34 = add i32 %v32, %v33
  store volatile i32 %v34, ptr %v6, align 4
  br label %b5
b5:
  %v97 = getelementptr inbounds i8, ptr %p2, i64 4
  %v39 = load volatile i32, ptr %v97, align 4
  %v40 = icmp eq i32 %v39, 0
  br i1 %v40, label %b5, label %b8
b8:
  %v98 = getelementptr inbounds i32, ptr %p0, i64 2
  %v45 = load volatile i32, ptr %v98, align 4
  %v46 = add i32 %v45, 1
  store volatile i32 %v46, ptr %v98, align 4
  store volatile i32 2, ptr @counter, align 4
  store volatile i32 2, ptr @counter, align 4
  %v55 = load i32, ptr %p2, align 4, !llvm.access.group !0
  %v56 = load volatile i32, ptr %v6, align 4
  %v57 = add i32 %v55, %v56
  %v62 = load volatile float, ptr %v11, align 4
  %v63 = call i32 @llvm.fptosi.sat.i32.f32(float %v62)
  %v64 = add i32 %v57, %v63
  %v99 = getelementptr inbounds i32, ptr %p1, i64 1
  %v68 = load volatile i32, ptr %v99, align 4
  %v69 = add i32 %v64, %v68
  store i32 %v69, ptr %p1, align 4, !llvm.access.group !0
  ret void
}

define void @poll(ptr noalias readonly %arguments, ptr noalias readonly %launch, i64 %begin, i64 %end) #0 {
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
  %a2 = load ptr, ptr %a2.p, align 8
  %scratch.p = getelementptr inbounds i8, ptr %launch, i64 24
  %scratch = load ptr, ptr %scratch.p, align 8
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
  call void @poll.item(ptr %a0, ptr %a1, ptr %a2, ptr %scratch, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
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

declare i32 @llvm.fptosi.sat.i32.f32(float) #1
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
