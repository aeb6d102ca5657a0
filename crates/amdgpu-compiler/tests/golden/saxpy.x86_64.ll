source_filename = "saxpy.hip"
target triple = "x86_64-unknown-linux-gnu"

define internal void @saxpy.lanes(float %p0, ptr %p1, ptr %p2, i32 %p3, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> %active) alwaysinline #0 {
entry:
  %m1 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m1, align 64
  %m2 = alloca <8 x i1>, align 64
  store <8 x i1> zeroinitializer, ptr %m2, align 64
  br label %b0
b0:
  %v6 = add i32 %block_index.x, 0
  %v7 = add i32 %block_size.x, 0
  %v8 = mul i32 %v6, %v7
  %s9 = add i32 %thread_index.x, 0
  %s10 = add i32 %v8, %s9
  %t1 = insertelement <8 x i32> poison, i32 %s10, i64 0
  %t2 = shufflevector <8 x i32> %t1, <8 x i32> poison, <8 x i32> zeroinitializer
  %t3 = add <8 x i32> %t2, <i32 0, i32 1, i32 2, i32 3, i32 4, i32 5, i32 6, i32 7>
  %t4 = insertelement <8 x i32> poison, i32 %p3, i64 0
  %t5 = shufflevector <8 x i32> %t4, <8 x i32> poison, <8 x i32> zeroinitializer
  %v11 = icmp uge <8 x i32> %t3, %t5
  %t6 = select <8 x i1> %active, <8 x i1> %v11, <8 x i1> zeroinitializer
  store <8 x i1> %t6, ptr %m1, align 64
  %t7 = xor <8 x i1> %v11, splat (i1 true)
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
  %t12 = add i32 %s10, 7
  %t13 = zext i32 %t12 to i64
  %s18 = sub i64 %t13, 7
  %s29 = getelementptr i32, ptr %p1, i64 %s18
  %t14 = load <8 x i1>, ptr %m2, align 64
  %v20 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s29, <8 x i1> %t14, <8 x float> zeroinitializer)
  %s30 = getelementptr i32, ptr %p2, i64 %s18
  %v24 = call <8 x float> @llvm.masked.load.v8f32.p0(ptr align 4 %s30, <8 x i1> %t14, <8 x float> zeroinitializer)
  %t15 = insertelement <8 x float> poison, float %p0, i64 0
  %t16 = shufflevector <8 x float> %t15, <8 x float> poison, <8 x i32> zeroinitializer
  %v25 = call <8 x float> @llvm.fma.v8f32(<8 x float> %t16, <8 x float> %v20, <8 x float> %v24)
  call void @llvm.masked.store.v8f32.p0(<8 x float> %v25, ptr align 4 %s30, <8 x i1> %t14)
  br label %end
end:
  ret void
}

define void @saxpy(ptr noalias readonly %arguments, ptr noalias readonly %launch, i64 %begin, i64 %end) #0 {
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
  %a0 = load float, ptr %a0.p, align 4
  %a1.p = getelementptr inbounds i8, ptr %arguments, i64 8
  %a1 = load ptr, ptr %a1.p, align 8
  %a2.p = getelementptr inbounds i8, ptr %arguments, i64 16
  %a2 = load ptr, ptr %a2.p, align 8
  %a3.p = getelementptr inbounds i8, ptr %arguments, i64 24
  %a3 = load i32, ptr %a3.p, align 4
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
  call void @saxpy.lanes(float %a0, ptr %a1, ptr %a2, i32 %a3, i32 %thread_index.x, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> splat (i1 true))
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
  call void @saxpy.lanes(float %a0, ptr %a1, ptr %a2, i32 %a3, i32 %whole.end, i32 %thread_index.y, i32 %thread_index.z, i32 %block_index.x, i32 %block_index.y, i32 %block_index.z, i32 %block_size.x, i32 %block_size.y, i32 %block_size.z, i32 %grid_size.x, i32 %grid_size.y, i32 %grid_size.z, <8 x i1> %part.active)
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
declare <8 x float> @llvm.masked.load.v8f32.p0(ptr, <8 x i1>, <8 x float>)
declare void @llvm.masked.store.v8f32.p0(<8 x float>, ptr, <8 x i1>)
attributes #0 = { nounwind "target-cpu"="x86-64-v3" }
attributes #1 = { nocallback nofree nosync nounwind willreturn }

!0 = distinct !{}
