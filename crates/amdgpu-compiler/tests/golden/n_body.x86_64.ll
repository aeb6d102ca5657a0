source_filename = "n_body.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal void @n_body.lanes(ptr noalias %p0, ptr noalias %p1, i32 %p2, float %p3, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> %active) alwaysinline #0 {
entry:
  %m1 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m1, align 64
  %m2 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m2, align 64
  %pv63 = alloca <8 x float>, align 64
  %pv61 = alloca <8 x float>, align 64
  %pv59 = alloca <8 x float>, align 64
  %ps25 = alloca i32, align 64
  %s72 = alloca [128 x i8], align 64
  br label %b0
b0:
  %v10 = add i32 %block_index.x, 0
  %v11 = add i32 %block_size.x, 0
  %v12 = mul i32 %v10, %v11
  %s13 = add i32 %thread_index.x, 0
  %s14 = add i32 %v12, %s13
  %t1 = insertelement <8 x i32> poison, i32 %s14, i64 0
  %t2 = shufflevector <8 x i32> %t1, <8 x i32> poison, <8 x i32> zeroinitializer
  %t3 = add <8 x i32> %t2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t4 = insertelement <8 x i32> poison, i32 %p2, i64 0
  %t5 = shufflevector <8 x i32> %t4, <8 x i32> poison, <8 x i32> zeroinitializer
  %v15 = icmp sge <8 x i32> %t3, %t5
  %t6 = select <8 x i1> %active, <8 x i1> %v15, <8 x i1> zeroinitializer
  store <8 x i1> %t6, ptr %m1, align 64
  %t7 = xor <8 x i1> %v15, splat (i1 true)
  %t8 = select <8 x i1> %active, <8 x i1> %t7, <8 x i1> zeroinitializer
  store <8 x i1> %t8, ptr %m2, align 64
  br label %b1
b1:
  br label %g2
g2:
  %t9 = load <8 x i1>, ptr %m2, align 64
  %t10 = bitcast <8 x i1> %t9 to i8
  %t11 = icmp ne i8 %t10, 0
  br i1 %t11, label %b2, label %end
b2:
  %s20 = sext i32 %s14 to i64
  %s102 = getelementptr [16 x i8], ptr %p0, i64 %s20
  %t12 = getelementptr i8, ptr %s102, <8 x i64> <i64 0, i64 16, i64 32, i64 48, i64 64, i64 80, i64 96, i64 112>
  %t13 = load <8 x i1>, ptr %m2, align 64
  %v113 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %t12, <8 x i1> %t13, <8 x float> zeroinitializer)
  %s116 = getelementptr i8, ptr %s102, i64 4
  %t14 = getelementptr i8, ptr %s116, <8 x i64> <i64 0, i64 16, i64 32, i64 48, i64 64, i64 80, i64 96, i64 112>
  %v117 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %t14, <8 x i1> %t13, <8 x float> zeroinitializer)
  %s122 = getelementptr i8, ptr %s102, i64 8
  %t15 = getelementptr i8, ptr %s122, <8 x i64> <i64 0, i64 16, i64 32, i64 48, i64 64, i64 80, i64 96, i64 112>
  %v123 = call <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr> align 4 %t15, <8 x i1> %t13, <8 x float> zeroinitializer)
  store <8 x float> zeroinitializer, ptr %pv63, align 64
  store <8 x float> zeroinitializer, ptr %pv61, align 64
  store <8 x float> zeroinitializer, ptr %pv59, align 64
  store i32 0, ptr %ps25, align 64
  br label %b4
b4:
  %v63 = load <8 x float>, ptr %pv63, align 64
  %v61 = load <8 x float>, ptr %pv61, align 64
  %v59 = load <8 x float>, ptr %pv59, align 64
  %v25 = load i32, ptr %ps25, align 64
  %v27 = icmp slt i32 %v25, %p2
  br i1 %v27, label %e4.0, label %e4.1
e4.0:
  br label %b5
e4.1:
  br label %b12
b5:
  %v29 = sext i32 %v25 to i64
  %v103 = getelementptr inbounds [16 x i8], ptr %p0, i64 %v29
  %v127 = load float, ptr %v103, align 4, !llvm.access.group !0
  %v130 = getelementptr inbounds i8, ptr %v103, i64 4
  %v131 = load float, ptr %v130, align 4, !llvm.access.group !0
  %v136 = getelementptr inbounds i8, ptr %v103, i64 8
  %v137 = load float, ptr %v136, align 4, !llvm.access.group !0
  %v142 = getelementptr inbounds i8, ptr %v103, i64 12
  %v143 = load float, ptr %v142, align 4, !llvm.access.group !0
  %t16 = insertelement <8 x float> poison, float %v127, i64 0
  %t17 = shufflevector <8 x float> %t16, <8 x float> poison, <8 x i32> zeroinitializer
  %v34 = fsub <8 x float> %t17, %v113
  %t18 = insertelement <8 x float> poison, float %v131, i64 0
  %t19 = shufflevector <8 x float> %t18, <8 x float> poison, <8 x i32> zeroinitializer
  %v40 = fsub <8 x float> %t19, %v117
  %t20 = insertelement <8 x float> poison, float %v137, i64 0
  %t21 = shufflevector <8 x float> %t20, <8 x float> poison, <8 x i32> zeroinitializer
  %v46 = fsub <8 x float> %t21, %v123
  %v47 = fmul <8 x float> %v40, %v40
  %v48 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v34, <8 x float> %v34, <8 x float> %v47)
  %v49 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v46, <8 x float> %v46, <8 x float> %v48)
  %t22 = insertelement <8 x float> poison, float %p3, i64 0
  %t23 = shufflevector <8 x float> %t22, <8 x float> poison, <8 x i32> zeroinitializer
  %v51 = fadd <8 x float> %v49, %t23
  %v84 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %v51)
  %v85 = fdiv <8 x float> splat (float 0x3FF0000000000000), %v84
  %t24 = insertelement <8 x float> poison, float %v143, i64 0
  %t25 = shufflevector <8 x float> %t24, <8 x float> poison, <8 x i32> zeroinitializer
  %v56 = fmul <8 x float> %t25, %v85
  %v57 = fmul <8 x float> %v56, %v85
  %v58 = fmul <8 x float> %v57, %v85
  %v60 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v58, <8 x float> %v34, <8 x float> %v59)
  %v62 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v58, <8 x float> %v40, <8 x float> %v61)
  %v64 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v58, <8 x float> %v46, <8 x float> %v63)
  %v66 = add i32 %v25, 1
  store <8 x float> %v64, ptr %pv63, align 64
  store <8 x float> %v62, ptr %pv61, align 64
  store <8 x float> %v60, ptr %pv59, align 64
  store i32 %v66, ptr %ps25, align 64
  br label %l0
l0:
  br label %b4
b12:
  %t26 = load <8 x i1>, ptr %m2, align 64
  %t27 = load <8 x float>, ptr %s72, align 4
  %t28 = select <8 x i1> %t26, <8 x float> %v59, <8 x float> %t27
  store <8 x float> %t28, ptr %s72, align 4
  %s110 = getelementptr i64, ptr %s72, i64 4
  %t29 = load <8 x float>, ptr %s110, align 4
  %t30 = select <8 x i1> %t26, <8 x float> %v61, <8 x float> %t29
  store <8 x float> %t30, ptr %s110, align 4
  %s111 = getelementptr i64, ptr %s72, i64 8
  %t31 = load <8 x float>, ptr %s111, align 4
  %t32 = select <8 x i1> %t26, <8 x float> %v63, <8 x float> %t31
  store <8 x float> %t32, ptr %s111, align 4
  %s112 = getelementptr i64, ptr %s72, i64 12
  %t33 = load <8 x float>, ptr %s112, align 4
  %t34 = select <8 x i1> %t26, <8 x float> zeroinitializer, <8 x float> %t33
  store <8 x float> %t34, ptr %s112, align 4
  %s109 = getelementptr [16 x i8], ptr %p1, i64 %s20
  %v150 = load <8 x i32>, ptr %s72, align 4
  %t35 = getelementptr i8, ptr %s109, <8 x i64> <i64 0, i64 16, i64 32, i64 48, i64 64, i64 80, i64 96, i64 112>
  call void @llvm.masked.scatter.v8i32.v8p0(<8 x i32> %v150, <8 x ptr> align 4 %t35, <8 x i1> %t26)
  %s153 = getelementptr i64, ptr %s72, i64 4
  %v154 = load <8 x i32>, ptr %s153, align 4
  %s156 = getelementptr i8, ptr %s109, i64 4
  %t36 = getelementptr i8, ptr %s156, <8 x i64> <i64 0, i64 16, i64 32, i64 48, i64 64, i64 80, i64 96, i64 112>
  call void @llvm.masked.scatter.v8i32.v8p0(<8 x i32> %v154, <8 x ptr> align 4 %t36, <8 x i1> %t26)
  %s159 = getelementptr i64, ptr %s72, i64 8
  %v160 = load <8 x i32>, ptr %s159, align 4
  %s162 = getelementptr i8, ptr %s109, i64 8
  %t37 = getelementptr i8, ptr %s162, <8 x i64> <i64 0, i64 16, i64 32, i64 48, i64 64, i64 80, i64 96, i64 112>
  call void @llvm.masked.scatter.v8i32.v8p0(<8 x i32> %v160, <8 x ptr> align 4 %t37, <8 x i1> %t26)
  %s165 = getelementptr i64, ptr %s72, i64 12
  %v166 = load <8 x i32>, ptr %s165, align 4
  %s168 = getelementptr i8, ptr %s109, i64 12
  %t38 = getelementptr i8, ptr %s168, <8 x i64> <i64 0, i64 16, i64 32, i64 48, i64 64, i64 80, i64 96, i64 112>
  call void @llvm.masked.scatter.v8i32.v8p0(<8 x i32> %v166, <8 x ptr> align 4 %t38, <8 x i1> %t26)
  br label %end
end:
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
  %item.space = sub nuw i32 %block_size.x, %thread_index.x
  %item.space.one = insertelement <8 x i32> poison, i32 %item.space, i64 0
  %item.space.all = shufflevector <8 x i32> %item.space.one, <8 x i32> poison, <8 x i32> zeroinitializer
  %item.active = icmp ult <8 x i32> <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>, %item.space.all
  call void @n_body.lanes(ptr %a0, ptr %a1, i32 %a2, float %a3, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> %item.active)
  %x.next = add nuw nsw i32 %thread_index.x, 8
  %x.more = icmp ult i32 %x.next, %block_size.x
  br i1 %x.more, label %item, label %row.end
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
declare <8 x float> @llvm.masked.gather.v8f32.v8p0(<8 x ptr>, <8 x i1>, <8 x float>)
declare <8 x float> @llvm.sqrt.v8f32(<8 x float>) #1
declare void @llvm.masked.scatter.v8i32.v8p0(<8 x i32>, <8 x ptr>, <8 x i1>)
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
