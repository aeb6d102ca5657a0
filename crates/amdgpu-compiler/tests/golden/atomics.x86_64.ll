source_filename = "atomics.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal void @k.lanes(ptr %p0, ptr %p1, ptr %p2, ptr %p3, ptr %p4, ptr %p5, ptr %p6, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> %active) alwaysinline #0 {
entry:
  %m1 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m1, align 64
  %pv88 = alloca <8 x i32>, align 64
  %n0 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %n0, align 64
  br label %b0
b0:
  %v95 = getelementptr inbounds i8, ptr %p6, i64 0
  %v12 = add i32 %block_index.x, 0
  %v13 = add i32 %block_size.x, 0
  %v14 = mul i32 %v12, %v13
  %s15 = add i32 %thread_index.x, 0
  %s16 = add i32 %v14, %s15
  %t1 = insertelement <8 x i32> poison, i32 %s16, i64 0
  %t2 = shufflevector <8 x i32> %t1, <8 x i32> poison, <8 x i32> zeroinitializer
  %t3 = add <8 x i32> %t2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t4 = select <8 x i1> %active, <8 x i32> %t3, <8 x i32> splat (i32 0)
  %t5 = call i32 @llvm.vector.reduce.add.v8i32(<8 x i32> %t4)
  %v19 = atomicrmw add ptr %p0, i32 %t5 monotonic
  %v102 = getelementptr inbounds i32, ptr %p0, i64 1
  %t6 = select <8 x i1> %active, <8 x i32> %t3, <8 x i32> splat (i32 0)
  %t7 = call i32 @llvm.vector.reduce.add.v8i32(<8 x i32> %t6)
  %v22 = atomicrmw sub ptr %v102, i32 %t7 monotonic
  %v103 = getelementptr inbounds i32, ptr %p0, i64 2
  %s26 = sub i32 0, %s16
  %t8 = insertelement <8 x i32> poison, i32 %s26, i64 0
  %t9 = shufflevector <8 x i32> %t8, <8 x i32> poison, <8 x i32> zeroinitializer
  %t10 = add <8 x i32> %t9, <i32 0, i32 -1, i32 -2, i32 -3, i32 -4, i32 -5, i32 -6, i32 -7>
  %t11 = select <8 x i1> %active, <8 x i32> %t10, <8 x i32> splat (i32 2147483647)
  %t12 = call i32 @llvm.vector.reduce.smin.v8i32(<8 x i32> %t11)
  %v27 = atomicrmw min ptr %v103, i32 %t12 monotonic
  %v104 = getelementptr inbounds i32, ptr %p0, i64 3
  %t13 = select <8 x i1> %active, <8 x i32> %t3, <8 x i32> splat (i32 -2147483648)
  %t14 = call i32 @llvm.vector.reduce.smax.v8i32(<8 x i32> %t13)
  %v30 = atomicrmw max ptr %v104, i32 %t14 monotonic
  %v105 = getelementptr inbounds i32, ptr %p0, i64 4
  %v35 = srem <8 x i32> %t3, splat (i32 31)
  %t15 = and <8 x i32> %v35, splat (i32 31)
  %v36 = shl <8 x i32> splat (i32 1), %t15
  %v38 = xor <8 x i32> %v36, splat (i32 -1)
  %t16 = select <8 x i1> %active, <8 x i32> %v38, <8 x i32> splat (i32 -1)
  %t17 = call i32 @llvm.vector.reduce.and.v8i32(<8 x i32> %t16)
  %v39 = atomicrmw and ptr %v105, i32 %t17 monotonic
  %v106 = getelementptr inbounds i32, ptr %p0, i64 5
  %t18 = select <8 x i1> %active, <8 x i32> %v36, <8 x i32> splat (i32 0)
  %t19 = call i32 @llvm.vector.reduce.or.v8i32(<8 x i32> %t18)
  %v44 = atomicrmw or ptr %v106, i32 %t19 monotonic
  %v107 = getelementptr inbounds i32, ptr %p0, i64 6
  %t20 = select <8 x i1> %active, <8 x i32> %t3, <8 x i32> splat (i32 0)
  %t21 = call i32 @llvm.vector.reduce.xor.v8i32(<8 x i32> %t20)
  %v47 = atomicrmw xor ptr %v107, i32 %t21 monotonic
  %s50 = sub i32 -294967296, %s16
  %t22 = insertelement <8 x i32> poison, i32 %s50, i64 0
  %t23 = shufflevector <8 x i32> %t22, <8 x i32> poison, <8 x i32> zeroinitializer
  %t24 = add <8 x i32> %t23, <i32 0, i32 -1, i32 -2, i32 -3, i32 -4, i32 -5, i32 -6, i32 -7>
  %t25 = select <8 x i1> %active, <8 x i32> %t24, <8 x i32> splat (i32 -1)
  %t26 = call i32 @llvm.vector.reduce.umin.v8i32(<8 x i32> %t25)
  %v51 = atomicrmw umin ptr %p1, i32 %t26 monotonic
  %v108 = getelementptr inbounds i32, ptr %p1, i64 1
  %s54 = add i32 %s16, -1294967296
  %t27 = insertelement <8 x i32> poison, i32 %s54, i64 0
  %t28 = shufflevector <8 x i32> %t27, <8 x i32> poison, <8 x i32> zeroinitializer
  %t29 = add <8 x i32> %t28, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t30 = select <8 x i1> %active, <8 x i32> %t29, <8 x i32> splat (i32 0)
  %t31 = call i32 @llvm.vector.reduce.umax.v8i32(<8 x i32> %t30)
  %v55 = atomicrmw umax ptr %v108, i32 %t31 monotonic
  %v109 = getelementptr inbounds i32, ptr %p1, i64 2
  %t32 = bitcast <8 x i1> %active to i8
  br label %o58
o58:
  %o58.left = phi i8 [ %t32, %b0 ], [ %o58.rest, %o58.next ]
  %t33 = call i8 @llvm.cttz.i8(i8 %o58.left, i1 true)
  %o.v58 = atomicrmw uinc_wrap ptr %v109, i32 9 monotonic
  br label %o58.next
o58.next:
  %o58.less = add i8 %o58.left, -1
  %o58.rest = and i8 %o58.left, %o58.less
  %o58.more = icmp ne i8 %o58.rest, 0
  br i1 %o58.more, label %o58, label %o58.done
o58.done:
  %v110 = getelementptr inbounds i32, ptr %p1, i64 3
  %t34 = bitcast <8 x i1> %active to i8
  br label %o60
o60:
  %o60.left = phi i8 [ %t34, %o58.done ], [ %o60.rest, %o60.next ]
  %t35 = call i8 @llvm.cttz.i8(i8 %o60.left, i1 true)
  %o.v60 = atomicrmw udec_wrap ptr %v110, i32 9 monotonic
  br label %o60.next
o60.next:
  %o60.less = add i8 %o60.left, -1
  %o60.rest = and i8 %o60.left, %o60.less
  %o60.more = icmp ne i8 %o60.rest, 0
  br i1 %o60.more, label %o60, label %o60.done
o60.done:
  %t36 = select <8 x i1> %active, <8 x i64> splat (i64 1099511627776), <8 x i64> splat (i64 0)
  %t37 = call i64 @llvm.vector.reduce.add.v8i64(<8 x i64> %t36)
  %v63 = atomicrmw add ptr %p2, i64 %t37 monotonic
  %v111 = getelementptr inbounds i64, ptr %p2, i64 1
  %s65 = sext i32 %s16 to i64
  %v65 = sext <8 x i32> %t3 to <8 x i64>
  %v67 = shl <8 x i64> %v65, splat (i64 33)
  %t38 = select <8 x i1> %active, <8 x i64> %v67, <8 x i64> splat (i64 0)
  %t39 = call i64 @llvm.vector.reduce.umax.v8i64(<8 x i64> %t38)
  %v68 = atomicrmw umax ptr %v111, i64 %t39 monotonic
  %v112 = getelementptr inbounds i64, ptr %p2, i64 2
  %t40 = bitcast <8 x i1> %active to i8
  br label %o71
o71:
  %o71.left = phi i8 [ %t40, %o60.done ], [ %o71.rest, %o71.next ]
  %t41 = call i8 @llvm.cttz.i8(i8 %o71.left, i1 true)
  %o.v71 = atomicrmw xchg ptr %v112, i64 77 monotonic
  br label %o71.next
o71.next:
  %o71.less = add i8 %o71.left, -1
  %o71.rest = and i8 %o71.left, %o71.less
  %o71.more = icmp ne i8 %o71.rest, 0
  br i1 %o71.more, label %o71, label %o71.done
o71.done:
  %t42 = bitcast <8 x i1> %active to i8
  br label %o73
o73:
  %o73.left = phi i8 [ %t42, %o71.done ], [ %o73.rest, %o73.next ]
  %t43 = call i8 @llvm.cttz.i8(i8 %o73.left, i1 true)
  %o.v73 = atomicrmw fadd ptr %p3, float 0x3FF0000000000000 monotonic
  br label %o73.next
o73.next:
  %o73.less = add i8 %o73.left, -1
  %o73.rest = and i8 %o73.left, %o73.less
  %o73.more = icmp ne i8 %o73.rest, 0
  br i1 %o73.more, label %o73, label %o73.done
o73.done:
  %t44 = bitcast <8 x i1> %active to i8
  br label %o75
o75:
  %o75.left = phi i8 [ %t44, %o73.done ], [ %o75.rest, %o75.next ]
  %t45 = call i8 @llvm.cttz.i8(i8 %o75.left, i1 true)
  %o.v75 = atomicrmw fadd ptr %p4, double 0x3FE0000000000000 monotonic
  br label %o75.next
o75.next:
  %o75.less = add i8 %o75.left, -1
  %o75.rest = and i8 %o75.left, %o75.less
  %o75.more = icmp ne i8 %o75.rest, 0
  br i1 %o75.more, label %o75, label %o75.done
o75.done:
  %v113 = getelementptr inbounds i32, ptr %p3, i64 1
  %t46 = bitcast <8 x i1> %active to i8
  br label %o78
o78:
  %o78.left = phi i8 [ %t46, %o75.done ], [ %o78.rest, %o78.next ]
  %t47 = call i8 @llvm.cttz.i8(i8 %o78.left, i1 true)
  %o.v78 = atomicrmw xchg ptr %v113, float 0x4004000000000000 monotonic
  br label %o78.next
o78.next:
  %o78.less = add i8 %o78.left, -1
  %o78.rest = and i8 %o78.left, %o78.less
  %o78.more = icmp ne i8 %o78.rest, 0
  br i1 %o78.more, label %o78, label %o78.done
o78.done:
  %v114 = getelementptr inbounds i32, ptr %p0, i64 7
  %t48 = bitcast <8 x i1> %active to i8
  br label %o81
o81:
  %o81.left = phi i8 [ %t48, %o78.done ], [ %o81.rest, %o81.next ]
  %o81.old = phi <8 x i32> [ zeroinitializer, %o78.done ], [ %v81, %o81.next ]
  %t49 = call i8 @llvm.cttz.i8(i8 %o81.left, i1 true)
  %o.v81 = atomicrmw add ptr %v114, i32 1 monotonic
  %v81 = insertelement <8 x i32> %o81.old, i32 %o.v81, i8 %t49
  br label %o81.next
o81.next:
  %o81.less = add i8 %o81.left, -1
  %o81.rest = and i8 %o81.left, %o81.less
  %o81.more = icmp ne i8 %o81.rest, 0
  br i1 %o81.more, label %o81, label %o81.done
o81.done:
  %s115 = getelementptr i32, ptr %p5, i64 %s65
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %v81, ptr align 4 %s115, <8 x i1> %active)
  %v116 = getelementptr inbounds i32, ptr %p0, i64 8
  %v87 = load i32, ptr %v116, align 4, !llvm.access.group !0
  store <8 x i1> %active, ptr %m1, align 64
  %t50 = insertelement <8 x i32> poison, i32 %v87, i64 0
  %t51 = shufflevector <8 x i32> %t50, <8 x i32> poison, <8 x i32> zeroinitializer
  store <8 x i32> %t51, ptr %pv88, align 64
  br label %b1
b1:
  store <8 x i1> zeroinitializer, ptr %n0, align 64
  %v88 = load <8 x i32>, ptr %pv88, align 64
  %v92 = add <8 x i32> %v88, splat (i32 3)
  %t52 = load <8 x i1>, ptr %m1, align 64
  %t53 = bitcast <8 x i1> %t52 to i8
  br label %o93
o93:
  %o93.left = phi i8 [ %t53, %b1 ], [ %o93.rest, %o93.next ]
  %o93.old = phi <8 x i32> [ zeroinitializer, %b1 ], [ %v93, %o93.next ]
  %t54 = call i8 @llvm.cttz.i8(i8 %o93.left, i1 true)
  %t55 = extractelement <8 x i32> %v88, i8 %t54
  %t56 = extractelement <8 x i32> %v92, i8 %t54
  %o.v93.c = cmpxchg ptr %v116, i32 %t55, i32 %t56 monotonic monotonic
  %o.v93 = extractvalue { i32, i1 } %o.v93.c, 0
  %v93 = insertelement <8 x i32> %o93.old, i32 %o.v93, i8 %t54
  br label %o93.next
o93.next:
  %o93.less = add i8 %o93.left, -1
  %o93.rest = and i8 %o93.left, %o93.less
  %o93.more = icmp ne i8 %o93.rest, 0
  br i1 %o93.more, label %o93, label %o93.done
o93.done:
  %v94 = icmp ne <8 x i32> %v93, %v88
  %t57 = select <8 x i1> %t52, <8 x i1> %v94, <8 x i1> zeroinitializer
  store <8 x i1> %t57, ptr %n0, align 64
  store <8 x i32> %v93, ptr %pv88, align 64
  %t58 = xor <8 x i1> %v94, splat (i1 true)
  br label %l0
l0:
  %t59 = load <8 x i1>, ptr %n0, align 64
  store <8 x i1> %t59, ptr %m1, align 64
  %t60 = bitcast <8 x i1> %t59 to i8
  %t61 = icmp ne i8 %t60, 0
  br i1 %t61, label %b1, label %b3
b3:
  %t62 = insertelement <8 x i32> poison, i32 %s16, i64 0
  %t63 = shufflevector <8 x i32> %t62, <8 x i32> poison, <8 x i32> zeroinitializer
  %t64 = add <8 x i32> %t63, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t65 = select <8 x i1> %active, <8 x i32> %t64, <8 x i32> splat (i32 -2147483648)
  %t66 = call i32 @llvm.vector.reduce.smax.v8i32(<8 x i32> %t65)
  %v98 = load i32, ptr %v95, align 4
  %v98.t = icmp sgt i32 %v98, %t66
  %v98.s = select i1 %v98.t, i32 %v98, i32 %t66
  store i32 %v98.s, ptr %v95, align 4
  fence seq_cst
  fence seq_cst
  fence seq_cst
  br label %end
end:
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
  %whole.end = and i32 %block_size.x, -8
  %whole.some = icmp ne i32 %whole.end, 0
  br i1 %whole.some, label %item, label %part.test
item:
  %thread_index.x = phi i32 [ 0, %row ], [ %x.next, %item ]
  call void @k.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, ptr %a4, ptr %a5, ptr %scratch, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> splat (i1 true))
  %x.next = add nuw nsw i32 %thread_index.x, 8
  %x.more = icmp ult i32 %x.next, %whole.end
  br i1 %x.more, label %item, label %part.test
part.test:
  %part.some = icmp ult i32 %whole.end, %block_size.x
  br i1 %part.some, label %part, label %row.end
part:
  %part.space = sub nuw i32 %block_size.x, %whole.end
  %part.space.one = insertelement <8 x i32> poison, i32 %part.space, i64 0
  %part.space.all = shufflevector <8 x i32> %part.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %part.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %part.space.all
  call void @k.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, ptr %a4, ptr %a5, ptr %scratch, i32 %whole.end, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> %part.active)
  br label %row.end
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

declare i32 @llvm.vector.reduce.add.v8i32(<8 x i32>) #1
declare i32 @llvm.vector.reduce.and.v8i32(<8 x i32>) #1
declare i32 @llvm.vector.reduce.or.v8i32(<8 x i32>) #1
declare i32 @llvm.vector.reduce.smax.v8i32(<8 x i32>) #1
declare i32 @llvm.vector.reduce.smin.v8i32(<8 x i32>) #1
declare i32 @llvm.vector.reduce.umax.v8i32(<8 x i32>) #1
declare i32 @llvm.vector.reduce.umin.v8i32(<8 x i32>) #1
declare i32 @llvm.vector.reduce.xor.v8i32(<8 x i32>) #1
declare i64 @llvm.vector.reduce.add.v8i64(<8 x i64>) #1
declare i64 @llvm.vector.reduce.umax.v8i64(<8 x i64>) #1
declare i8 @llvm.cttz.i8(i8, i1) #1
declare void @llvm.masked.store.v8i32.p0(<8 x i32>, ptr, <8 x i1>)
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
