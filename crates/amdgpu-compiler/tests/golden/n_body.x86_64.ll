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
  %s6 = alloca [128 x i8], align 64
  %s8 = alloca [128 x i8], align 64
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
  %v113 = call <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr> align 4 %t12, <8 x i1> %t13, <8 x i32> zeroinitializer)
  %t14 = load <8 x i32>, ptr %s6, align 4
  %t15 = select <8 x i1> %t13, <8 x i32> %v113, <8 x i32> %t14
  store <8 x i32> %t15, ptr %s6, align 4
  %s116 = getelementptr i8, ptr %s102, i64 4
  %t16 = getelementptr i8, ptr %s116, <8 x i64> <i64 0, i64 16, i64 32, i64 48, i64 64, i64 80, i64 96, i64 112>
  %v117 = call <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr> align 4 %t16, <8 x i1> %t13, <8 x i32> zeroinitializer)
  %s119 = getelementptr i64, ptr %s6, i64 4
  %t17 = load <8 x i32>, ptr %s119, align 4
  %t18 = select <8 x i1> %t13, <8 x i32> %v117, <8 x i32> %t17
  store <8 x i32> %t18, ptr %s119, align 4
  %s122 = getelementptr i8, ptr %s102, i64 8
  %t19 = getelementptr i8, ptr %s122, <8 x i64> <i64 0, i64 16, i64 32, i64 48, i64 64, i64 80, i64 96, i64 112>
  %v123 = call <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr> align 4 %t19, <8 x i1> %t13, <8 x i32> zeroinitializer)
  %s125 = getelementptr i64, ptr %s6, i64 8
  %t20 = load <8 x i32>, ptr %s125, align 4
  %t21 = select <8 x i1> %t13, <8 x i32> %v123, <8 x i32> %t20
  store <8 x i32> %t21, ptr %s125, align 4
  %s128 = getelementptr i8, ptr %s102, i64 12
  %t22 = getelementptr i8, ptr %s128, <8 x i64> <i64 0, i64 16, i64 32, i64 48, i64 64, i64 80, i64 96, i64 112>
  %v129 = call <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr> align 4 %t22, <8 x i1> %t13, <8 x i32> zeroinitializer)
  %s131 = getelementptr i64, ptr %s6, i64 12
  %t23 = load <8 x i32>, ptr %s131, align 4
  %t24 = select <8 x i1> %t13, <8 x i32> %v129, <8 x i32> %t23
  store <8 x i32> %t24, ptr %s131, align 4
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
  %v133 = load i32, ptr %v103, align 4, !llvm.access.group !0
  %t25 = insertelement <8 x i32> poison, i32 %v133, i64 0
  %t26 = shufflevector <8 x i32> %t25, <8 x i32> poison, <8 x i32> zeroinitializer
  %t27 = load <8 x i1>, ptr %m2, align 64
  %t28 = load <8 x i32>, ptr %s8, align 4
  %t29 = select <8 x i1> %t27, <8 x i32> %t26, <8 x i32> %t28
  store <8 x i32> %t29, ptr %s8, align 4
  %v136 = getelementptr inbounds i8, ptr %v103, i64 4
  %v137 = load i32, ptr %v136, align 4, !llvm.access.group !0
  %s139 = getelementptr i64, ptr %s8, i64 4
  %t30 = insertelement <8 x i32> poison, i32 %v137, i64 0
  %t31 = shufflevector <8 x i32> %t30, <8 x i32> poison, <8 x i32> zeroinitializer
  %t32 = load <8 x i32>, ptr %s139, align 4
  %t33 = select <8 x i1> %t27, <8 x i32> %t31, <8 x i32> %t32
  store <8 x i32> %t33, ptr %s139, align 4
  %v142 = getelementptr inbounds i8, ptr %v103, i64 8
  %v143 = load i32, ptr %v142, align 4, !llvm.access.group !0
  %s145 = getelementptr i64, ptr %s8, i64 8
  %t34 = insertelement <8 x i32> poison, i32 %v143, i64 0
  %t35 = shufflevector <8 x i32> %t34, <8 x i32> poison, <8 x i32> zeroinitializer
  %t36 = load <8 x i32>, ptr %s145, align 4
  %t37 = select <8 x i1> %t27, <8 x i32> %t35, <8 x i32> %t36
  store <8 x i32> %t37, ptr %s145, align 4
  %v148 = getelementptr inbounds i8, ptr %v103, i64 12
  %v149 = load i32, ptr %v148, align 4, !llvm.access.group !0
  %s151 = getelementptr i64, ptr %s8, i64 12
  %t38 = insertelement <8 x i32> poison, i32 %v149, i64 0
  %t39 = shufflevector <8 x i32> %t38, <8 x i32> poison, <8 x i32> zeroinitializer
  %t40 = load <8 x i32>, ptr %s151, align 4
  %t41 = select <8 x i1> %t27, <8 x i32> %t39, <8 x i32> %t40
  store <8 x i32> %t41, ptr %s151, align 4
  %v32 = load <8 x float>, ptr %s8, align 4
  %v33 = load <8 x float>, ptr %s6, align 4
  %v34 = fsub <8 x float> %v32, %v33
  %s104 = getelementptr i64, ptr %s8, i64 4
  %v37 = load <8 x float>, ptr %s104, align 4
  %s105 = getelementptr i64, ptr %s6, i64 4
  %v39 = load <8 x float>, ptr %s105, align 4
  %v40 = fsub <8 x float> %v37, %v39
  %s106 = getelementptr i64, ptr %s8, i64 8
  %v43 = load <8 x float>, ptr %s106, align 4
  %s107 = getelementptr i64, ptr %s6, i64 8
  %v45 = load <8 x float>, ptr %s107, align 4
  %v46 = fsub <8 x float> %v43, %v45
  %v47 = fmul <8 x float> %v40, %v40
  %v48 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v34, <8 x float> %v34, <8 x float> %v47)
  %v49 = call <8 x float> @llvm.fma.v8f32(<8 x float> %v46, <8 x float> %v46, <8 x float> %v48)
  %t42 = insertelement <8 x float> poison, float %p3, i64 0
  %t43 = shufflevector <8 x float> %t42, <8 x float> poison, <8 x i32> zeroinitializer
  %v51 = fadd <8 x float> %v49, %t43
  %v84 = call <8 x float> @llvm.sqrt.v8f32(<8 x float> %v51)
  %v85 = fdiv <8 x float> splat (float 0x3FF0000000000000), %v84
  %s108 = getelementptr i64, ptr %s8, i64 12
  %v55 = load <8 x float>, ptr %s108, align 4
  %v56 = fmul <8 x float> %v55, %v85
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
  %t44 = load <8 x i1>, ptr %m2, align 64
  %t45 = load <8 x float>, ptr %s72, align 4
  %t46 = select <8 x i1> %t44, <8 x float> %v59, <8 x float> %t45
  store <8 x float> %t46, ptr %s72, align 4
  %s110 = getelementptr i64, ptr %s72, i64 4
  %t47 = load <8 x float>, ptr %s110, align 4
  %t48 = select <8 x i1> %t44, <8 x float> %v61, <8 x float> %t47
  store <8 x float> %t48, ptr %s110, align 4
  %s111 = getelementptr i64, ptr %s72, i64 8
  %t49 = load <8 x float>, ptr %s111, align 4
  %t50 = select <8 x i1> %t44, <8 x float> %v63, <8 x float> %t49
  store <8 x float> %t50, ptr %s111, align 4
  %s112 = getelementptr i64, ptr %s72, i64 12
  %t51 = load <8 x float>, ptr %s112, align 4
  %t52 = select <8 x i1> %t44, <8 x float> zeroinitializer, <8 x float> %t51
  store <8 x float> %t52, ptr %s112, align 4
  %s109 = getelementptr [16 x i8], ptr %p1, i64 %s20
  %v153 = load <8 x i32>, ptr %s72, align 4
  %t53 = getelementptr i8, ptr %s109, <8 x i64> <i64 0, i64 16, i64 32, i64 48, i64 64, i64 80, i64 96, i64 112>
  call void @llvm.masked.scatter.v8i32.v8p0(<8 x i32> %v153, <8 x ptr> align 4 %t53, <8 x i1> %t44)
  %s156 = getelementptr i64, ptr %s72, i64 4
  %v157 = load <8 x i32>, ptr %s156, align 4
  %s159 = getelementptr i8, ptr %s109, i64 4
  %t54 = getelementptr i8, ptr %s159, <8 x i64> <i64 0, i64 16, i64 32, i64 48, i64 64, i64 80, i64 96, i64 112>
  call void @llvm.masked.scatter.v8i32.v8p0(<8 x i32> %v157, <8 x ptr> align 4 %t54, <8 x i1> %t44)
  %s162 = getelementptr i64, ptr %s72, i64 8
  %v163 = load <8 x i32>, ptr %s162, align 4
  %s165 = getelementptr i8, ptr %s109, i64 8
  %t55 = getelementptr i8, ptr %s165, <8 x i64> <i64 0, i64 16, i64 32, i64 48, i64 64, i64 80, i64 96, i64 112>
  call void @llvm.masked.scatter.v8i32.v8p0(<8 x i32> %v163, <8 x ptr> align 4 %t55, <8 x i1> %t44)
  %s168 = getelementptr i64, ptr %s72, i64 12
  %v169 = load <8 x i32>, ptr %s168, align 4
  %s171 = getelementptr i8, ptr %s109, i64 12
  %t56 = getelementptr i8, ptr %s171, <8 x i64> <i64 0, i64 16, i64 32, i64 48, i64 64, i64 80, i64 96, i64 112>
  call void @llvm.masked.scatter.v8i32.v8p0(<8 x i32> %v169, <8 x ptr> align 4 %t56, <8 x i1> %t44)
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
declare <8 x float> @llvm.sqrt.v8f32(<8 x float>) #1
declare <8 x i32> @llvm.masked.gather.v8i32.v8p0(<8 x ptr>, <8 x i1>, <8 x i32>)
declare void @llvm.masked.scatter.v8i32.v8p0(<8 x i32>, <8 x ptr>, <8 x i1>)
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
