source_filename = "mandelbrot.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal void @mandelbrot.lanes(ptr %p0, i32 %p1, i32 %p2, float %p3, float %p4, float %p5, i32 %p6, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> %active) alwaysinline #0 {
entry:
  %m1 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m1, align 64
  %m2 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m2, align 64
  %m4 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m4, align 64
  %pv38 = alloca <8 x float>, align 64
  %pv37 = alloca <8 x float>, align 64
  %ps34 = alloca i32, align 64
  %c34 = alloca <8 x i32>, align 64
  %m5 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m5, align 64
  %n0 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %n0, align 64
  br label %b0
b0:
  %v8 = add i32 %block_index.x, 0
  %v9 = add i32 %block_size.x, 0
  %v10 = mul i32 %v8, %v9
  %s11 = add i32 %thread_index.x, 0
  %s12 = add i32 %v10, %s11
  %v13 = add i32 %block_index.y, 0
  %v14 = add i32 %block_size.y, 0
  %v15 = mul i32 %v13, %v14
  %v16 = add i32 %thread_index.y, 0
  %v17 = add i32 %v15, %v16
  %t1 = insertelement <8 x i32> poison, i32 %s12, i64 0
  %t2 = shufflevector <8 x i32> %t1, <8 x i32> poison, <8 x i32> zeroinitializer
  %t3 = add <8 x i32> %t2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t4 = insertelement <8 x i32> poison, i32 %p1, i64 0
  %t5 = shufflevector <8 x i32> %t4, <8 x i32> poison, <8 x i32> zeroinitializer
  %v18 = icmp sge <8 x i32> %t3, %t5
  %v19 = icmp sge i32 %v17, %p2
  %t6 = insertelement <8 x i1> poison, i1 %v19, i64 0
  %t7 = shufflevector <8 x i1> %t6, <8 x i1> poison, <8 x i32> zeroinitializer
  %v20 = or <8 x i1> %v18, %t7
  %t8 = select <8 x i1> %active, <8 x i1> %v20, <8 x i1> zeroinitializer
  store <8 x i1> %t8, ptr %m1, align 64
  %t9 = xor <8 x i1> %v20, splat (i1 true)
  %t10 = select <8 x i1> %active, <8 x i1> %t9, <8 x i1> zeroinitializer
  store <8 x i1> %t10, ptr %m2, align 64
  br label %b1
b1:
  br label %g2
g2:
  %t11 = load <8 x i1>, ptr %m2, align 64
  %t12 = bitcast <8 x i1> %t11 to i8
  %t13 = icmp ne i8 %t12, 0
  br i1 %t13, label %b2, label %end
b2:
  %t14 = insertelement <8 x i32> poison, i32 %s12, i64 0
  %t15 = shufflevector <8 x i32> %t14, <8 x i32> poison, <8 x i32> zeroinitializer
  %t16 = add <8 x i32> %t15, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v25 = sitofp <8 x i32> %t16 to <8 x float>
  %t17 = insertelement <8 x float> poison, float %p5, i64 0
  %t18 = shufflevector <8 x float> %t17, <8 x float> poison, <8 x i32> zeroinitializer
  %t19 = insertelement <8 x float> poison, float %p3, i64 0
  %t20 = shufflevector <8 x float> %t19, <8 x float> poison, <8 x i32> zeroinitializer
  %v27 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v25, <8 x float> %t18, <8 x float> %t20)
  %v30 = sitofp i32 %v17 to float
  %v31 = call float @llvm.fma.f32(float %v30, float %p5, float %p4)
  %t21 = load <8 x i1>, ptr %m2, align 64
  store <8 x i1> %t21, ptr %m4, align 64
  store <8 x float> zeroinitializer, ptr %pv38, align 64
  store <8 x float> zeroinitializer, ptr %pv37, align 64
  store i32 0, ptr %ps34, align 64
  br label %b4
b4:
  store <8 x i1> zeroinitializer, ptr %m5, align 64
  store <8 x i1> zeroinitializer, ptr %n0, align 64
  %v38 = load <8 x float>, ptr %pv38, align 64
  %v37 = load <8 x float>, ptr %pv37, align 64
  %v34 = load i32, ptr %ps34, align 64
  %t22 = insertelement <8 x i32> poison, i32 %v34, i64 0
  %t23 = shufflevector <8 x i32> %t22, <8 x i32> poison, <8 x i32> zeroinitializer
  %t24 = load <8 x i1>, ptr %m4, align 64
  %t25 = load <8 x i32>, ptr %c34, align 64
  %t26 = select <8 x i1> %t24, <8 x i32> %t23, <8 x i32> %t25
  store <8 x i32> %t26, ptr %c34, align 64
  %v36 = icmp slt i32 %v34, %p6
  %v39 = fmul <8 x float> %v38, %v38
  %v40 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v37, <8 x float> %v37, <8 x float> %v39)
  %v42 = fcmp olt <8 x float> %v40, splat (float 0x4010000000000000)
  %t27 = insertelement <8 x i1> poison, i1 %v36, i64 0
  %t28 = shufflevector <8 x i1> %t27, <8 x i1> poison, <8 x i32> zeroinitializer
  %v43 = and <8 x i1> %t28, %v42
  %t29 = select <8 x i1> %t24, <8 x i1> %v43, <8 x i1> zeroinitializer
  store <8 x i1> %t29, ptr %m5, align 64
  %t30 = xor <8 x i1> %v43, splat (i1 true)
  br label %g5
g5:
  %t31 = load <8 x i1>, ptr %m5, align 64
  %t32 = bitcast <8 x i1> %t31 to i8
  %t33 = icmp ne i8 %t32, 0
  br i1 %t33, label %b5, label %l0
b5:
  %v45 = fneg <8 x float> %v39
  %v46 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v37, <8 x float> %v37, <8 x float> %v45)
  %v48 = fadd <8 x float> %v46, %v27
  %v50 = fmul <8 x float> splat (float 0x4000000000000000), %v37
  %t34 = insertelement <8 x float> poison, float %v31, i64 0
  %t35 = shufflevector <8 x float> %t34, <8 x float> poison, <8 x i32> zeroinitializer
  %v52 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v50, <8 x float> %v38, <8 x float> %t35)
  %v54 = add i32 %v34, 1
  %t36 = load <8 x i1>, ptr %m5, align 64
  store <8 x i1> %t36, ptr %n0, align 64
  store <8 x float> %v52, ptr %pv38, align 64
  store <8 x float> %v48, ptr %pv37, align 64
  store i32 %v54, ptr %ps34, align 64
  br label %l0
l0:
  %t37 = load <8 x i1>, ptr %n0, align 64
  store <8 x i1> %t37, ptr %m4, align 64
  %t38 = bitcast <8 x i1> %t37 to i8
  %t39 = icmp ne i8 %t38, 0
  br i1 %t39, label %b4, label %g7
g7:
  %t40 = load <8 x i1>, ptr %m2, align 64
  %t41 = bitcast <8 x i1> %t40 to i8
  %t42 = icmp ne i8 %t41, 0
  br i1 %t42, label %b7, label %end
b7:
  %v62 = mul i32 %v17, %p1
  %s64 = add i32 %v62, %s12
  %s65 = sext i32 %s64 to i64
  %s68 = getelementptr i32, ptr %p0, i64 %s65
  %t43 = load <8 x i32>, ptr %c34, align 64
  %t44 = load <8 x i1>, ptr %m2, align 64
  call void @llvm.masked.store.v8i32.p0(<8 x i32> %t43, ptr align 4 %s68, <8 x i1> %t44)
  br label %end
end:
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
  %whole.end = and i32 %block_size.x, -8
  %whole.some = icmp ne i32 %whole.end, 0
  br i1 %whole.some, label %item, label %part.test
item:
  %thread_index.x = phi i32 [ 0, %row ], [ %x.next, %item ]
  call void @mandelbrot.lanes(ptr %a0, i32 %a1, i32 %a2, float %a3, float %a4, float %a5, i32 %a6, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> splat (i1 true))
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
  call void @mandelbrot.lanes(ptr %a0, i32 %a1, i32 %a2, float %a3, float %a4, float %a5, i32 %a6, i32 %whole.end, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> %part.active)
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

declare <8 x float> @llvm.fma.v8f32(<8 x float>, <8 x float>, <8 x float>) #1
declare float @llvm.fma.f32(float, float, float) #1
declare void @llvm.masked.store.v8i32.p0(<8 x i32>, ptr, <8 x i1>)
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
