source_filename = "block_reduction.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal <8 x i32> @block_reduction.region0.lanes(ptr noalias %p0, ptr noalias %p1, ptr %p2, i32 %p3, ptr %p4, i32 %thread_index.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %active) alwaysinline #0 {
entry:
  %m2 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m2, align 64
  %m3 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m3, align 64
  %pv19 = alloca <8 x float>, align 64
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  br label %b0
b0:
  %v7 = getelementptr inbounds i8, ptr %p4, i64 0
  %s8 = add i32 %thread_index.x, 0
  %v9 = add i32 %block_index.x, 0
  %v10 = add i32 %block_size.x, 0
  %v11 = mul i32 %v9, %v10
  %s12 = add i32 %v11, %s8
  %t1 = insertelement <8 x i32> poison, i32 %s12, i64 0
  %t2 = shufflevector <8 x i32> %t1, <8 x i32> poison, <8 x i32> zeroinitializer
  %t3 = add <8 x i32> %t2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t4 = insertelement <8 x i32> poison, i32 %p3, i64 0
  %t5 = shufflevector <8 x i32> %t4, <8 x i32> poison, <8 x i32> zeroinitializer
  %v13 = icmp slt <8 x i32> %t3, %t5
  %s14 = sext i32 %s12 to i64
  %s15 = getelementptr i32, ptr %p0, i64 %s14
  %s16 = sext i32 %s8 to i64
  %s17 = getelementptr i32, ptr %v7, i64 %s16
  br label %b1
b1:
  %t6 = select <8 x i1> %active, <8 x i1> %v13, <8 x i1> zeroinitializer
  store <8 x i1> %t6, ptr %m2, align 64
  %t7 = xor <8 x i1> %v13, splat (i1 true)
  %t8 = select <8 x i1> %active, <8 x i1> %t7, <8 x i1> zeroinitializer
  store <8 x i1> %t8, ptr %m3, align 64
  br label %g2
g2:
  %t9 = load <8 x i1>, ptr %m2, align 64
  %t10 = bitcast <8 x i1> %t9 to i8
  %t11 = icmp ne i8 %t10, 0
  br i1 %t11, label %b2, label %b3
b2:
  %t12 = load <8 x i1>, ptr %m2, align 64
  %v18 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s15, <8 x i1> %t12, <8 x float> zeroinitializer)
  store <8 x float> %v18, ptr %pv19, align 64
  br label %b3
b3:
  %t13 = load <8 x i1>, ptr %m3, align 64
  %t14 = load <8 x float>, ptr %pv19, align 64
  %t15 = select <8 x i1> %t13, <8 x float> zeroinitializer, <8 x float> %t14
  store <8 x float> %t15, ptr %pv19, align 64
  br label %b4
b4:
  %v19 = load <8 x float>, ptr %pv19, align 64
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v19, ptr align 4 %s17, <8 x i1> %active)
  %t16 = load <8 x i32>, ptr %result, align 64
  %t17 = select <8 x i1> %active, <8 x i32> splat (i32 1), <8 x i32> %t16
  store <8 x i32> %t17, ptr %result, align 64
  br label %end
end:
  %t18 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t18
}

define internal <8 x i32> @block_reduction.region1.lanes(ptr noalias %p0, ptr noalias %p1, ptr %p2, i32 %p3, ptr %p4, ptr %p5, i32 %thread_index.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %active) alwaysinline #0 {
entry:
  %ps20 = alloca i32, align 64
  %m4 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m4, align 64
  %pv41 = alloca <8 x i32>, align 64
  %m7 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m7, align 64
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  %s4 = alloca [32 x i8], align 64
  br label %b0
b0:
  %v9 = getelementptr inbounds i8, ptr %p4, i64 0
  %s11 = add i32 %thread_index.x, 0
  %v12 = add i32 %block_index.x, 0
  %v13 = add i32 %block_size.x, 0
  %s14 = sext i32 %s11 to i64
  %s15 = getelementptr i32, ptr %v9, i64 %s14
  %v16 = lshr i32 %v13, 1
  %t1 = insertelement <8 x i32> poison, i32 %s11, i64 0
  %t2 = shufflevector <8 x i32> %t1, <8 x i32> poison, <8 x i32> zeroinitializer
  %t3 = add <8 x i32> %t2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v17 = icmp eq <8 x i32> %t3, zeroinitializer
  %v18 = zext i32 %v12 to i64
  %v19 = getelementptr inbounds i32, ptr %p1, i64 %v18
  br label %b1
b1:
  store i32 %v16, ptr %ps20, align 64
  br label %b2
b2:
  %v20 = load i32, ptr %ps20, align 64
  %v21 = icmp sgt i32 %v20, 0
  br i1 %v21, label %e2.0, label %e2.1
e2.0:
  br label %b3
e2.1:
  br label %b6
b3:
  %t4 = insertelement <8 x i32> poison, i32 %s11, i64 0
  %t5 = shufflevector <8 x i32> %t4, <8 x i32> poison, <8 x i32> zeroinitializer
  %t6 = add <8 x i32> %t5, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t7 = insertelement <8 x i32> poison, i32 %v20, i64 0
  %t8 = shufflevector <8 x i32> %t7, <8 x i32> poison, <8 x i32> zeroinitializer
  %v22 = icmp slt <8 x i32> %t6, %t8
  %t9 = select <8 x i1> %active, <8 x i1> %v22, <8 x i1> zeroinitializer
  store <8 x i1> %t9, ptr %m4, align 64
  %t10 = xor <8 x i1> %v22, splat (i1 true)
  store <8 x i32> %t8, ptr %pv41, align 64
  br label %g4
g4:
  %t11 = load <8 x i1>, ptr %m4, align 64
  %t12 = bitcast <8 x i1> %t11 to i8
  %t13 = icmp ne i8 %t12, 0
  br i1 %t13, label %b4, label %b5
b4:
  %t14 = load <8 x i1>, ptr %m4, align 64
  %v23 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s15, <8 x i1> %t14, <8 x float> zeroinitializer)
  %s24 = add i32 %s11, %v20
  %s25 = sext i32 %s24 to i64
  %s26 = getelementptr i32, ptr %v9, i64 %s25
  %v27 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s26, <8 x i1> %t14, <8 x float> zeroinitializer)
  %v28 = fadd <8 x float> %v23, %v27
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v28, ptr align 4 %s15, <8 x i1> %t14)
  %t15 = insertelement <8 x i32> poison, i32 %v20, i64 0
  %t16 = shufflevector <8 x i32> %t15, <8 x i32> poison, <8 x i32> zeroinitializer
  %t17 = load <8 x i32>, ptr %pv41, align 64
  %t18 = select <8 x i1> %t14, <8 x i32> %t16, <8 x i32> %t17
  store <8 x i32> %t18, ptr %pv41, align 64
  br label %b5
b5:
  %v41 = load <8 x i32>, ptr %pv41, align 64
  %t19 = bitcast <8 x i1> %active to i8
  %t20 = call i8 @llvm.ctlz.i8(i8 %t19, i1 false)
  %t21 = sub i8 7, %t20
  %t22 = extractelement <8 x i32> %v41, i8 %t21
  store i32 %t22, ptr %p5, align 4
  %t23 = load <8 x i32>, ptr %result, align 64
  %t24 = select <8 x i1> %active, <8 x i32> splat (i32 2), <8 x i32> %t23
  store <8 x i32> %t24, ptr %result, align 64
  br label %end
b6:
  %t25 = select <8 x i1> %active, <8 x i1> %v17, <8 x i1> zeroinitializer
  store <8 x i1> %t25, ptr %m7, align 64
  %t26 = xor <8 x i1> %v17, splat (i1 true)
  br label %g7
g7:
  %t27 = load <8 x i1>, ptr %m7, align 64
  %t28 = bitcast <8 x i1> %t27 to i8
  %t29 = icmp ne i8 %t28, 0
  br i1 %t29, label %b7, label %b8
b7:
  %v30 = load float, ptr %v9, align 4, !llvm.access.group !0
  store float %v30, ptr %v19, align 4
  %t30 = load <8 x i1>, ptr %m7, align 64
  %t31 = bitcast <8 x i1> %t30 to i8
  br label %o32
o32:
  %o32.left = phi i8 [ %t31, %b7 ], [ %o32.rest, %o32.next ]
  %o32.old = phi <8 x float> [ zeroinitializer, %b7 ], [ %v32, %o32.next ]
  %t32 = call i8 @llvm.cttz.i8(i8 %o32.left, i1 true)
  %o.v32 = atomicrmw fadd ptr %p2, float %v30 monotonic
  %v32 = insertelement <8 x float> %o32.old, float %o.v32, i8 %t32
  br label %o32.next
o32.next:
  %o32.less = add i8 %o32.left, -1
  %o32.rest = and i8 %o32.left, %o32.less
  %o32.more = icmp ne i8 %o32.rest, 0
  br i1 %o32.more, label %o32, label %o32.done
o32.done:
  br label %b8
b8:
  %t33 = load <8 x i32>, ptr %result, align 64
  %t34 = select <8 x i1> %active, <8 x i32> splat (i32 3), <8 x i32> %t33
  store <8 x i32> %t34, ptr %result, align 64
  br label %end
end:
  %t35 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t35
}

define internal <8 x i32> @block_reduction.region2.lanes(ptr noalias %p0, ptr noalias %p1, ptr %p2, i32 %p3, ptr %p4, i32 %p5, ptr %p6, i32 %thread_index.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %active) alwaysinline #0 {
entry:
  %ps22 = alloca i32, align 64
  %m4 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m4, align 64
  %pv44 = alloca <8 x i32>, align 64
  %m7 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m7, align 64
  %result = alloca <8 x i32>, align 64
  store <8 x i32> zeroinitializer, ptr %result, align 64
  %s4 = alloca [32 x i8], align 64
  br label %b0
b0:
  %v9 = getelementptr inbounds i8, ptr %p4, i64 0
  %s11 = add i32 %thread_index.x, 0
  %v12 = add i32 %block_index.x, 0
  %v13 = add i32 %block_size.x, 0
  %s14 = sext i32 %s11 to i64
  %s15 = getelementptr i32, ptr %v9, i64 %s14
  %v16 = lshr i32 %v13, 1
  %t1 = insertelement <8 x i32> poison, i32 %s11, i64 0
  %t2 = shufflevector <8 x i32> %t1, <8 x i32> poison, <8 x i32> zeroinitializer
  %t3 = add <8 x i32> %t2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v17 = icmp eq <8 x i32> %t3, zeroinitializer
  %v18 = zext i32 %v12 to i64
  %v19 = getelementptr inbounds i32, ptr %p1, i64 %v18
  br label %b1
b1:
  %v21 = ashr i32 %p5, 1
  store i32 %v21, ptr %ps22, align 64
  br label %b2
b2:
  %v22 = load i32, ptr %ps22, align 64
  %v23 = icmp sgt i32 %v22, 0
  br i1 %v23, label %e2.0, label %e2.1
e2.0:
  br label %b3
e2.1:
  br label %b6
b3:
  %t4 = insertelement <8 x i32> poison, i32 %s11, i64 0
  %t5 = shufflevector <8 x i32> %t4, <8 x i32> poison, <8 x i32> zeroinitializer
  %t6 = add <8 x i32> %t5, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t7 = insertelement <8 x i32> poison, i32 %v22, i64 0
  %t8 = shufflevector <8 x i32> %t7, <8 x i32> poison, <8 x i32> zeroinitializer
  %v24 = icmp slt <8 x i32> %t6, %t8
  %t9 = select <8 x i1> %active, <8 x i1> %v24, <8 x i1> zeroinitializer
  store <8 x i1> %t9, ptr %m4, align 64
  %t10 = xor <8 x i1> %v24, splat (i1 true)
  store <8 x i32> %t8, ptr %pv44, align 64
  br label %g4
g4:
  %t11 = load <8 x i1>, ptr %m4, align 64
  %t12 = bitcast <8 x i1> %t11 to i8
  %t13 = icmp ne i8 %t12, 0
  br i1 %t13, label %b4, label %b5
b4:
  %t14 = load <8 x i1>, ptr %m4, align 64
  %v25 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s15, <8 x i1> %t14, <8 x float> zeroinitializer)
  %s26 = add i32 %s11, %v22
  %s27 = sext i32 %s26 to i64
  %s28 = getelementptr i32, ptr %v9, i64 %s27
  %v29 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s28, <8 x i1> %t14, <8 x float> zeroinitializer)
  %v30 = fadd <8 x float> %v25, %v29
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v30, ptr align 4 %s15, <8 x i1> %t14)
  %t15 = insertelement <8 x i32> poison, i32 %v22, i64 0
  %t16 = shufflevector <8 x i32> %t15, <8 x i32> poison, <8 x i32> zeroinitializer
  %t17 = load <8 x i32>, ptr %pv44, align 64
  %t18 = select <8 x i1> %t14, <8 x i32> %t16, <8 x i32> %t17
  store <8 x i32> %t18, ptr %pv44, align 64
  br label %b5
b5:
  %v44 = load <8 x i32>, ptr %pv44, align 64
  %t19 = bitcast <8 x i1> %active to i8
  %t20 = call i8 @llvm.ctlz.i8(i8 %t19, i1 false)
  %t21 = sub i8 7, %t20
  %t22 = extractelement <8 x i32> %v44, i8 %t21
  store i32 %t22, ptr %p6, align 4
  %t23 = load <8 x i32>, ptr %result, align 64
  %t24 = select <8 x i1> %active, <8 x i32> splat (i32 2), <8 x i32> %t23
  store <8 x i32> %t24, ptr %result, align 64
  br label %end
b6:
  %t25 = select <8 x i1> %active, <8 x i1> %v17, <8 x i1> zeroinitializer
  store <8 x i1> %t25, ptr %m7, align 64
  %t26 = xor <8 x i1> %v17, splat (i1 true)
  br label %g7
g7:
  %t27 = load <8 x i1>, ptr %m7, align 64
  %t28 = bitcast <8 x i1> %t27 to i8
  %t29 = icmp ne i8 %t28, 0
  br i1 %t29, label %b7, label %b8
b7:
  %v32 = load float, ptr %v9, align 4, !llvm.access.group !0
  store float %v32, ptr %v19, align 4
  %t30 = load <8 x i1>, ptr %m7, align 64
  %t31 = bitcast <8 x i1> %t30 to i8
  br label %o34
o34:
  %o34.left = phi i8 [ %t31, %b7 ], [ %o34.rest, %o34.next ]
  %o34.old = phi <8 x float> [ zeroinitializer, %b7 ], [ %v34, %o34.next ]
  %t32 = call i8 @llvm.cttz.i8(i8 %o34.left, i1 true)
  %o.v34 = atomicrmw fadd ptr %p2, float %v32 monotonic
  %v34 = insertelement <8 x float> %o34.old, float %o.v34, i8 %t32
  br label %o34.next
o34.next:
  %o34.less = add i8 %o34.left, -1
  %o34.rest = and i8 %o34.left, %o34.less
  %o34.more = icmp ne i8 %o34.rest, 0
  br i1 %o34.more, label %o34, label %o34.done
o34.done:
  br label %b8
b8:
  %t33 = load <8 x i32>, ptr %result, align 64
  %t34 = select <8 x i1> %active, <8 x i32> splat (i32 3), <8 x i32> %t33
  store <8 x i32> %t34, ptr %result, align 64
  br label %end
end:
  %t35 = load <8 x i32>, ptr %result, align 64
  ret <8 x i32> %t35
}

define void @block_reduction(ptr noalias readonly %arguments, ptr noalias readonly %launch, i64 %begin, i64 %end) #0 {
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
  %a3 = load i32, ptr %a3.p, align 4
  %scratch.p = getelementptr inbounds i8, ptr %launch, i64 24
  %scratch = load ptr, ptr %scratch.p, align 8
  %size.x = zext i32 %block_size.x to i64
  %size.y = zext i32 %block_size.y to i64
  %size.z = zext i32 %block_size.z to i64
  %size.xy = mul nuw nsw i64 %size.x, %size.y
  %items = mul nuw nsw i64 %size.xy, %size.z
  %items.up = add nuw nsw i64 %items, 63
  %stride = and i64 %items.up, -64
  %states.o = mul nuw nsw i64 %stride, 0
  %states = getelementptr inbounds i8, ptr %scratch, i64 %states.o
  %shared.o = mul nuw nsw i64 %stride, 4
  %shared = getelementptr inbounds i8, ptr %scratch, i64 %shared.o
  %u0 = alloca i32, align 8
  store i32 zeroinitializer, ptr %u0, align 8
  %next.u = alloca i32, align 4
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
  br label %dispatch
dispatch:
  %state = phi i32 [ 0, %block ], [ 1, %r0.end ], [ %r1.state, %r1.end ], [ %r2.state, %r2.end ]
  switch i32 %state, label %block.end [ i32 0, label %r0.begin i32 1, label %r1.begin i32 2, label %r2.begin ]
r0.begin:
  br label %r0.plane
r0.plane:
  %r0.z = phi i32 [ 0, %r0.begin ], [ %r0.z.next, %r0.plane.end ]
  %r0.plane.y = mul nuw nsw i32 %r0.z, %block_size.y
  br label %r0.row
r0.row:
  %r0.y = phi i32 [ 0, %r0.plane ], [ %r0.y.next, %r0.row.end ]
  %r0.zy = add nuw nsw i32 %r0.plane.y, %r0.y
  %r0.zy64 = zext nneg i32 %r0.zy to i64
  %r0.first = mul nuw nsw i64 %r0.zy64, %size.x
  br label %r0.item
r0.item:
  %r0.x = phi i32 [ 0, %r0.row ], [ %r0.x.next, %r0.latch ]
  %r0.x64 = zext nneg i32 %r0.x to i64
  %r0.i = add nuw nsw i64 %r0.first, %r0.x64
  %r0.space = sub nuw i32 %block_size.x, %r0.x
  %r0.space.one = insertelement <8 x i32> poison, i32 %r0.space, i64 0
  %r0.space.all = shufflevector <8 x i32> %r0.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %r0.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %r0.space.all
  %r0.all = call <8 x i32> @block_reduction.region0.lanes(ptr %a0, ptr %a1, ptr %a2, i32 %a3, ptr %shared, i32 %r0.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %r0.active)
  %r0.next = extractelement <8 x i32> %r0.all, i64 0
  br label %r0.latch
r0.latch:
  %r0.x.next = add nuw nsw i32 %r0.x, 8
  %r0.x.more = icmp ult i32 %r0.x.next, %block_size.x
  br i1 %r0.x.more, label %r0.item, label %r0.row.end
r0.row.end:
  %r0.y.next = add nuw nsw i32 %r0.y, 1
  %r0.y.more = icmp ult i32 %r0.y.next, %block_size.y
  br i1 %r0.y.more, label %r0.row, label %r0.plane.end
r0.plane.end:
  %r0.z.next = add nuw nsw i32 %r0.z, 1
  %r0.z.more = icmp ult i32 %r0.z.next, %block_size.z
  br i1 %r0.z.more, label %r0.plane, label %r0.end
r0.end:
  br label %dispatch
r1.begin:
  br label %r1.plane
r1.plane:
  %r1.z = phi i32 [ 0, %r1.begin ], [ %r1.z.next, %r1.plane.end ]
  %r1.plane.y = mul nuw nsw i32 %r1.z, %block_size.y
  br label %r1.row
r1.row:
  %r1.y = phi i32 [ 0, %r1.plane ], [ %r1.y.next, %r1.row.end ]
  %r1.zy = add nuw nsw i32 %r1.plane.y, %r1.y
  %r1.zy64 = zext nneg i32 %r1.zy to i64
  %r1.first = mul nuw nsw i64 %r1.zy64, %size.x
  br label %r1.item
r1.item:
  %r1.x = phi i32 [ 0, %r1.row ], [ %r1.x.next, %r1.latch ]
  %r1.x64 = zext nneg i32 %r1.x to i64
  %r1.i = add nuw nsw i64 %r1.first, %r1.x64
  %r1.space = sub nuw i32 %block_size.x, %r1.x
  %r1.space.one = insertelement <8 x i32> poison, i32 %r1.space, i64 0
  %r1.space.all = shufflevector <8 x i32> %r1.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %r1.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %r1.space.all
  %r1.all = call <8 x i32> @block_reduction.region1.lanes(ptr %a0, ptr %a1, ptr %a2, i32 %a3, ptr %shared, ptr %u0, i32 %r1.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %r1.active)
  %r1.next = extractelement <8 x i32> %r1.all, i64 0
  store i32 %r1.next, ptr %next.u, align 4, !llvm.access.group !0
  br label %r1.latch
r1.latch:
  %r1.x.next = add nuw nsw i32 %r1.x, 8
  %r1.x.more = icmp ult i32 %r1.x.next, %block_size.x
  br i1 %r1.x.more, label %r1.item, label %r1.row.end
r1.row.end:
  %r1.y.next = add nuw nsw i32 %r1.y, 1
  %r1.y.more = icmp ult i32 %r1.y.next, %block_size.y
  br i1 %r1.y.more, label %r1.row, label %r1.plane.end
r1.plane.end:
  %r1.z.next = add nuw nsw i32 %r1.z, 1
  %r1.z.more = icmp ult i32 %r1.z.next, %block_size.z
  br i1 %r1.z.more, label %r1.plane, label %r1.end
r1.end:
  %r1.state = load i32, ptr %next.u, align 4
  br label %dispatch
r2.begin:
  %r2.u0 = load i32, ptr %u0, align 8
  br label %r2.plane
r2.plane:
  %r2.z = phi i32 [ 0, %r2.begin ], [ %r2.z.next, %r2.plane.end ]
  %r2.plane.y = mul nuw nsw i32 %r2.z, %block_size.y
  br label %r2.row
r2.row:
  %r2.y = phi i32 [ 0, %r2.plane ], [ %r2.y.next, %r2.row.end ]
  %r2.zy = add nuw nsw i32 %r2.plane.y, %r2.y
  %r2.zy64 = zext nneg i32 %r2.zy to i64
  %r2.first = mul nuw nsw i64 %r2.zy64, %size.x
  br label %r2.item
r2.item:
  %r2.x = phi i32 [ 0, %r2.row ], [ %r2.x.next, %r2.latch ]
  %r2.x64 = zext nneg i32 %r2.x to i64
  %r2.i = add nuw nsw i64 %r2.first, %r2.x64
  %r2.space = sub nuw i32 %block_size.x, %r2.x
  %r2.space.one = insertelement <8 x i32> poison, i32 %r2.space, i64 0
  %r2.space.all = shufflevector <8 x i32> %r2.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %r2.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %r2.space.all
  %r2.all = call <8 x i32> @block_reduction.region2.lanes(ptr %a0, ptr %a1, ptr %a2, i32 %a3, ptr %shared, i32 %r2.u0, ptr %u0, i32 %r2.x, i32 %block_index.x, i32 %block_size.x, <8 x i1> %r2.active)
  %r2.next = extractelement <8 x i32> %r2.all, i64 0
  store i32 %r2.next, ptr %next.u, align 4, !llvm.access.group !0
  br label %r2.latch
r2.latch:
  %r2.x.next = add nuw nsw i32 %r2.x, 8
  %r2.x.more = icmp ult i32 %r2.x.next, %block_size.x
  br i1 %r2.x.more, label %r2.item, label %r2.row.end
r2.row.end:
  %r2.y.next = add nuw nsw i32 %r2.y, 1
  %r2.y.more = icmp ult i32 %r2.y.next, %block_size.y
  br i1 %r2.y.more, label %r2.row, label %r2.plane.end
r2.plane.end:
  %r2.z.next = add nuw nsw i32 %r2.z, 1
  %r2.z.more = icmp ult i32 %r2.z.next, %block_size.z
  br i1 %r2.z.more, label %r2.plane, label %r2.end
r2.end:
  %r2.state = load i32, ptr %next.u, align 4
  br label %dispatch
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

declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare i8 @llvm.ctlz.i8(i8, i1) #1
declare i8 @llvm.cttz.i8(i8, i1) #1
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
