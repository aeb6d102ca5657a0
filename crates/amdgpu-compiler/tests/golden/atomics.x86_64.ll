source_filename = "atomics.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal void @k.item(ptr %p0, ptr %p1, ptr %p2, ptr %p3, ptr %p4, ptr %p5, ptr %p6, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z) alwaysinline #0 {
b0:
  %v95 = getelementptr inbounds i8, ptr %p6, i64 0
  %v12 = add i32 %block_index.x, 0
  %v13 = add i32 %block_size.x, 0
  %v14 = mul i32 %v12, %v13
  %v15 = add i32 %thread_index.x, 0
  %v16 = add i32 %v14, %v15
  %v19 = atomicrmw add ptr %p0, i32 %v16 monotonic
  %v102 = getelementptr inbounds i32, ptr %p0, i64 1
  %v22 = atomicrmw sub ptr %v102, i32 %v16 monotonic
  %v103 = getelementptr inbounds i32, ptr %p0, i64 2
  %v26 = sub i32 0, %v16
  %v27 = atomicrmw min ptr %v103, i32 %v26 monotonic
  %v104 = getelementptr inbounds i32, ptr %p0, i64 3
  %v30 = atomicrmw max ptr %v104, i32 %v16 monotonic
  %v105 = getelementptr inbounds i32, ptr %p0, i64 4
  %v35 = srem i32 %v16, 31
  %v36.c = and i32 %v35, 31
  %v36 = shl i32 1, %v36.c
  %v38 = xor i32 %v36, -1
  %v39 = atomicrmw and ptr %v105, i32 %v38 monotonic
  %v106 = getelementptr inbounds i32, ptr %p0, i64 5
  %v44 = atomicrmw or ptr %v106, i32 %v36 monotonic
  %v107 = getelementptr inbounds i32, ptr %p0, i64 6
  %v47 = atomicrmw xor ptr %v107, i32 %v16 monotonic
  %v50 = sub i32 -294967296, %v16
  %v51 = atomicrmw umin ptr %p1, i32 %v50 monotonic
  %v108 = getelementptr inbounds i32, ptr %p1, i64 1
  %v54 = add i32 %v16, -1294967296
  %v55 = atomicrmw umax ptr %v108, i32 %v54 monotonic
  %v109 = getelementptr inbounds i32, ptr %p1, i64 2
  %v58 = atomicrmw uinc_wrap ptr %v109, i32 9 monotonic
  %v110 = getelementptr inbounds i32, ptr %p1, i64 3
  %v60 = atomicrmw udec_wrap ptr %v110, i32 9 monotonic
  %v63 = atomicrmw add ptr %p2, i64 1099511627776 monotonic
  %v111 = getelementptr inbounds i64, ptr %p2, i64 1
  %v65 = sext i32 %v16 to i64
  %v67 = shl i64 %v65, 33
  %v68 = atomicrmw umax ptr %v111, i64 %v67 monotonic
  %v112 = getelementptr inbounds i64, ptr %p2, i64 2
  %v71 = atomicrmw xchg ptr %v112, i64 77 monotonic
  %v73 = atomicrmw fadd ptr %p3, float 0x3FF0000000000000 monotonic
  %v75 = atomicrmw fadd ptr %p4, double 0x3FE0000000000000 monotonic
  %v113 = getelementptr inbounds i32, ptr %p3, i64 1
  %v78 = atomicrmw xchg ptr %v113, float 0x4004000000000000 monotonic
  %v114 = getelementptr inbounds i32, ptr %p0, i64 7
  %v81 = atomicrmw add ptr %v114, i32 1 monotonic
  %v115 = getelementptr inbounds i32, ptr %p5, i64 %v65
  store i32 %v81, ptr %v115, align 4, !llvm.access.group !0
  %v116 = getelementptr inbounds i32, ptr %p0, i64 8
  %v87 = load i32, ptr %v116, align 4, !llvm.access.group !0
  br label %b1
b1:
  %v88 = phi i32 [ %v87, %b0 ], [ %v93, %b1 ]
  %v92 = add i32 %v88, 3
  %v93.c = cmpxchg ptr %v116, i32 %v88, i32 %v92 monotonic monotonic
  %v93 = extractvalue { i32, i1 } %v93.c, 0
  %v94 = icmp ne i32 %v93, %v88
  br i1 %v94, label %b1, label %b3
b3:
  %v98 = atomicrmw max ptr %v95, i32 %v16 monotonic
  fence seq_cst
  fence seq_cst
  fence seq_cst
  ret void
}

define void @k(ptr noalias readonly %arguments, ptr noalias readonly %launch, i64 %begin, i64 %end) #0 {
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
  %a3.p = getelementptr inbounds i8, ptr %arguments, i64 24
  %a3 = load ptr, ptr %a3.p, align 8
  %a4.p = getelementptr inbounds i8, ptr %arguments, i64 32
  %a4 = load ptr, ptr %a4.p, align 8
  %a5.p = getelementptr inbounds i8, ptr %arguments, i64 40
  %a5 = load ptr, ptr %a5.p, align 8
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
  call void @k.item(ptr %a0, ptr %a1, ptr %a2, ptr %a3, ptr %a4, ptr %a5, ptr %scratch, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z)
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

attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
