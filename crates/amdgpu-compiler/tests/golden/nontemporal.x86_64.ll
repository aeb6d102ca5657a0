source_filename = "nontemporal.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal void @stream.lanes(ptr %p0, ptr %p1, ptr %p2, ptr %p3, ptr %p4, ptr %p5, i32 %p6, ptr %p7, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> %active) alwaysinline #0 {
entry:
  %m1 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m1, align 64
  %m2 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m2, align 64
  %m9 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m9, align 64
  br label %b0
b0:
  %v61 = getelementptr inbounds i8, ptr %p7, i64 0
  %v13 = add i32 %block_index.x, 0
  %v14 = add i32 %block_size.x, 0
  %v15 = mul i32 %v13, %v14
  %s16 = add i32 %thread_index.x, 0
  %s17 = add i32 %v15, %s16
  %t1 = insertelement <8 x i32> poison, i32 %s17, i64 0
  %t2 = shufflevector <8 x i32> %t1, <8 x i32> poison, <8 x i32> zeroinitializer
  %t3 = add <8 x i32> %t2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t4 = insertelement <8 x i32> poison, i32 %p6, i64 0
  %t5 = shufflevector <8 x i32> %t4, <8 x i32> poison, <8 x i32> zeroinitializer
  %v18 = icmp uge <8 x i32> %t3, %t5
  %t6 = select <8 x i1> %active, <8 x i1> %v18, <8 x i1> zeroinitializer
  store <8 x i1> %t6, ptr %m1, align 64
  %t7 = xor <8 x i1> %v18, splat (i1 true)
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
  %t12 = add i32 %s17, 7
  %t13 = zext i32 %t12 to i64
  %s23 = sub i64 %t13, 7
  %s80 = getelementptr i32, ptr %p0, i64 %s23
  %t14 = load <8 x i1>, ptr %m2, align 64
  %v25 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s80, <8 x i1> %t14, <8 x float> zeroinitializer)
  %v27 = fmul <8 x float> %v25, splat (float 0x4000000000000000)
  %s81 = getelementptr i32, ptr %p1, i64 %s23
  %t15 = bitcast <8 x i1> %t14 to i8
  %t16 = icmp eq i8 %t15, -1
  %t17 = ptrtoint ptr %s81 to i64
  %t18 = and i64 %t17, 31
  %t19 = icmp eq i64 %t18, 0
  %t20 = and i1 %t16, %t19
  br i1 %t20, label %s31.past, label %s31.through
s31.past:
  store <8 x float> %v27, ptr %s81, align 32, !nontemporal !{i32 1}
  br label %s31.done
s31.through:
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v27, ptr align 4 %s81, <8 x i1> %t14)
  br label %s31.done
s31.done:
  %s82 = getelementptr i8, ptr %p2, i64 %s23
  %v36 = call <8 x i8> @llvm.masked.load.v8i8.p0(ptr align 1 %s82, <8 x i1> %t14, <8 x i8> zeroinitializer)
  %v38 = icmp ne <8 x i8> %v36, zeroinitializer
  %s83 = getelementptr i8, ptr %p3, i64 %s23
  %v42 = zext <8 x i1> %v38 to <8 x i8>
  %t21 = bitcast <8 x i1> %t14 to i8
  %t22 = icmp eq i8 %t21, -1
  %t23 = ptrtoint ptr %s83 to i64
  %t24 = and i64 %t23, 7
  %t25 = icmp eq i64 %t24, 0
  %t26 = and i1 %t22, %t25
  br i1 %t26, label %s43.past, label %s43.through
s43.past:
  store <8 x i8> %v42, ptr %s83, align 8, !nontemporal !{i32 1}
  br label %s43.done
s43.through:
  call void @llvm.masked.store.v8i8.p0(<8 x i8> %v42, ptr align 1 %s83, <8 x i1> %t14)
  br label %s43.done
s43.done:
  %t27 = fptrunc <8 x float> %v25 to <8 x half>
  %v44 = bitcast <8 x half> %t27 to <8 x i16>
  %s84 = getelementptr i16, ptr %p4, i64 %s23
  %t28 = bitcast <8 x i1> %t14 to i8
  %t29 = icmp eq i8 %t28, -1
  %t30 = ptrtoint ptr %s84 to i64
  %t31 = and i64 %t30, 15
  %t32 = icmp eq i64 %t31, 0
  %t33 = and i1 %t29, %t32
  br i1 %t33, label %s66.past, label %s66.through
s66.past:
  store <8 x i16> %v44, ptr %s84, align 16, !nontemporal !{i32 1}
  br label %s66.done
s66.through:
  call void @llvm.masked.store.v8i16.p0(<8 x i16> %v44, ptr align 2 %s84, <8 x i1> %t14)
  br label %s66.done
s66.done:
  %s50 = mul i32 %s17, 2
  %s52 = add i32 %s50, %p6
  %t34 = add i32 %s52, 14
  %t35 = zext i32 %t34 to i64
  %s53 = sub i64 %t35, 14
  %s85 = getelementptr i32, ptr %p1, i64 %s53
  %t36 = getelementptr i8, ptr %s85, <8 x i64> <i64 0, i64 8, i64 16, i64 24, i64 32, i64 40, i64 48, i64 56>
  call void @llvm.masked.scatter.v8f32.v8p0(<8 x float> %v25, <8 x ptr> align 4 %t36, <8 x i1> %t14)
  %t37 = insertelement <8 x i32> poison, i32 %s17, i64 0
  %t38 = shufflevector <8 x i32> %t37, <8 x i32> poison, <8 x i32> zeroinitializer
  %t39 = add <8 x i32> %t38, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %v56 = icmp eq <8 x i32> %t39, zeroinitializer
  %t40 = select <8 x i1> %t14, <8 x i1> %v56, <8 x i1> zeroinitializer
  store <8 x i1> %t40, ptr %m9, align 64
  %t41 = xor <8 x i1> %v56, splat (i1 true)
  br label %g9
g9:
  %t42 = load <8 x i1>, ptr %m9, align 64
  %t43 = bitcast <8 x i1> %t42 to i8
  %t44 = icmp ne i8 %t43, 0
  br i1 %t44, label %b9, label %g5
b9:
  store ptr null, ptr %p5, align 8
  br label %g5
g5:
  %t45 = load <8 x i1>, ptr %m2, align 64
  %t46 = bitcast <8 x i1> %t45 to i8
  %t47 = icmp ne i8 %t46, 0
  br i1 %t47, label %b5, label %end
b5:
  %t48 = load <8 x i1>, ptr %m2, align 64
  %t49 = bitcast <8 x i1> %t48 to i8
  %t50 = call i8 @llvm.ctlz.i8(i8 %t49, i1 false)
  %t51 = sub i8 7, %t50
  %t52 = extractelement <8 x float> %v25, i8 %t51
  store float %t52, ptr %v61, align 4
  br label %end
end:
  ret void
}

define void @stream(ptr noalias readonly %arguments, ptr noalias readonly %launch, i64 %begin, i64 %end) #0 {
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
  %a6.p = getelementptr inbounds i8, ptr %arguments, i64 48
  %a6 = load i32, ptr %a6.p, align 4
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
  call void @stream.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, ptr %a4, ptr %a5, i32 %a6, ptr %scratch, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> splat (i1 true))
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
  call void @stream.lanes(ptr %a0, ptr %a1, ptr %a2, ptr %a3, ptr %a4, ptr %a5, i32 %a6, ptr %scratch, i32 %whole.end, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> %part.active)
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
  fence seq_cst
  ret void
}

declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare <8 x i8> @llvm.masked.load.v8i8.p0(ptr, <8 x i1>, <8 x i8>)
declare i8 @llvm.ctlz.i8(i8, i1) #1
declare void @llvm.masked.scatter.v8f32.v8p0(<8 x float>, <8 x ptr>, <8 x i1>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
declare void @llvm.masked.store.v8i16.p0(<8 x i16>, ptr, <8 x i1>)
declare void @llvm.masked.store.v8i8.p0(<8 x i8>, ptr, <8 x i1>)
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
